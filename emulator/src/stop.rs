//! Why a run ended before its kernel did.

use ptxopt_components::types::StateSpace;
use std::fmt;

/// A thread of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Thread {
    /// Its CTA: x, y, z.
    pub ctaid: [u32; 3],
    /// Itself within the CTA: x, y, z.
    pub tid: [u32; 3],
}

/// A thread and the line that it executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Place {
    /// The thread; of several, the one with the lowest lane.
    pub thread: Thread,
    /// Line of the PTX text, from 1.
    pub line: u32,
}

/// An access to memory that went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The space that was addressed, generic addresses resolved.
    pub space: StateSpace,
    /// The address, in its space.
    pub address: u64,
    /// Number of bytes.
    pub bytes: u32,
}

/// Why a run ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A `trap` or `brkpt`. It ends its thread, and the run when all others have ended, too: what these leave
    /// does not depend on who came first.
    Trap {
        /// Where.
        place: Place,
    },
    /// A failed device-side assertion, which ends a run as a trap does.
    Assertion {
        /// Where.
        place: Place,
        /// What the program says about it.
        message: String,
    },
    /// An access outside every allocation, or a write to what is read-only.
    OutOfBounds {
        /// Where.
        place: Place,
        /// What was accessed.
        access: Access,
    },
    /// An access off its natural alignment.
    Misaligned {
        /// Where.
        place: Place,
        /// What was accessed.
        access: Access,
    },
    /// An instruction that is not modelled.
    NotSupported {
        /// Its mnemonic, perhaps with what about it is not modelled.
        mnemonic: String,
        /// Line of the PTX text, from 1.
        line: u32,
    },
    /// A barrier whose number is none of the 16 that a CTA has.
    BadBarrier {
        /// Where.
        place: Place,
        /// Its number.
        id: u64,
    },
    /// A call or indexed branch to what is no function or no entry of the table.
    BadTarget {
        /// Where.
        place: Place,
        /// The function's address or the index.
        value: u64,
    },
    /// Threads wait for one another for ever.
    Deadlock {
        /// One that waits.
        place: Place,
    },
    /// More instructions than the limit.
    StepLimit,
    /// More memory than the limit.
    MemoryLimit,
    /// More log entries than the limit.
    LogLimit,
    /// A launch that does not fit the kernel.
    BadLaunch(String),
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([bx, by, bz], [x, y, z]) = (self.ctaid, self.tid);
        write!(f, "thread ({x},{y},{z}) of CTA ({bx},{by},{bz})")
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, {}", self.line, self.thread)
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let space = format!("{:?}", self.space).to_lowercase();
        write!(f, "{} bytes at {space} address {:#x}", self.bytes, self.address)
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trap { place } => write!(f, "trap: {place}"),
            Self::Assertion { place, message } => write!(f, "assertion failed: {message}: {place}"),
            Self::OutOfBounds { place, access } => write!(f, "access out of bounds: {access}: {place}"),
            Self::Misaligned { place, access } => write!(f, "misaligned access: {access}: {place}"),
            Self::NotSupported { mnemonic, line } => write!(f, "not supported: {mnemonic}, line {line}"),
            Self::BadBarrier { place, id } => write!(f, "barrier {id}, and a CTA has 0 to 15: {place}"),
            Self::BadTarget { place, value } => {
                write!(f, "call or branch to {value:#x}, which is no target: {place}")
            }
            Self::Deadlock { place } => write!(f, "deadlock: threads wait for ever: {place}"),
            Self::StepLimit => f.write_str("instruction limit reached"),
            Self::MemoryLimit => f.write_str("memory limit reached"),
            Self::LogLimit => f.write_str("log limit reached"),
            Self::BadLaunch(reason) => write!(f, "launch does not fit the kernel: {reason}"),
        }
    }
}
