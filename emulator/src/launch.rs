//! A launch, what limits it, and what comes out of it.

use crate::checks::{Checks, Report};
use crate::stop::Stop;
use crate::uninterpreted::LogEntry;

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A buffer in an allocation of its own: the parameter gets its address, and the outcome its bytes afterwards.
    Buffer(Vec<u8>),
    /// The parameter's bytes themselves.
    Scalar(Vec<u8>),
    /// Bytes passed by value that hold addresses: of each buffer, at its byte offset, in an allocation of its own.
    Structure(Vec<u8>, Vec<(usize, Vec<u8>)>),
}

/// Which kernel runs, how wide, and on what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Name of the entry.
    pub entry: String,
    /// CTAs of the grid.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory of a CTA.
    pub shared_bytes: u64,
    /// One argument a parameter.
    pub args: Vec<Argument>,
}

/// Where a run ends by itself. Both count what the kernel does, never time, so that a run is the same everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Thread-instructions.
    pub steps: u64,
    /// Bytes of memory: arguments, variables, shared memory, stacks and registers together.
    pub memory_bytes: u64,
    /// Reports that are kept; further ones are counted.
    pub reports: usize,
    /// Entries of the log that are kept; one more stops the run.
    pub log_entries: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 10_000_000_000, memory_bytes: 4 << 30, reports: 100, log_entries: 1 << 20 }
    }
}

/// How a launch runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Options {
    /// Where it ends by itself.
    pub limits: Limits,
    /// What is reported beside the outcome.
    pub checks: Checks,
    /// Instructions that are not modelled give a hash of their inputs and enter the log, in place of
    /// [`Stop::NotSupported`].
    pub uninterpreted: bool,
}

/// What comes out of a run. After a stop, memory is as it was at that moment.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Outcome {
    /// The bytes of the buffers, in the order of the arguments and of what these hold.
    pub buffers: Vec<Vec<u8>>,
    /// Module-scope `.global` variables with their bytes, in the module's order.
    pub globals: Vec<(String, Vec<u8>)>,
    /// Effects outside memory, in order: what is printed, and what uninterpreted instructions do.
    pub log: Vec<LogEntry>,
    /// Why the run ended early.
    pub stop: Option<Stop>,
    /// Thread-instructions executed.
    pub steps: u64,
    /// What the checks found.
    pub reports: Vec<Report>,
    /// Reports beyond the limit.
    pub reports_dropped: u64,
}
