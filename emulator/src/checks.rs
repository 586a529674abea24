//! What can be reported beside the outcome.

use crate::stop::{Access, Place};
use std::fmt;

/// Which reports are wanted. Accesses out of bounds and off their alignment always end the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Checks {
    /// Reads of registers and of local or shared memory that nothing has written.
    pub uninitialised: bool,
    /// Two threads of a CTA that access a byte of shared or global memory between the same two barriers, one of them
    /// with a write that is not atomic.
    pub races: bool,
    /// Whether the later of the two counts if it is a plain write of what is there already. What it leaves is the same
    /// in either order.
    pub silent_writes: bool,
    /// Aligned barriers that only some threads of a warp execute.
    pub barrier_divergence: bool,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A register that nothing has written was read.
    UninitialisedRegister,
    /// Memory that nothing has written was read.
    UninitialisedMemory(Access),
    /// Two threads raced.
    Race {
        /// What both accessed.
        access: Access,
        /// The thread that came first.
        other: Place,
    },
    /// Threads of the warp are elsewhere.
    BarrierDivergence,
}

/// A finding and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// What was found.
    pub finding: Finding,
    /// Where.
    pub place: Place,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place;
        match self.finding {
            Finding::UninitialisedRegister => write!(f, "register read before it is written: {place}"),
            Finding::UninitialisedMemory(access) => {
                write!(f, "memory read before it is written: {access}: {place}")
            }
            Finding::Race { access, other } => write!(f, "race: {access}: {place}; before it {other}"),
            Finding::BarrierDivergence => write!(f, "barrier that only a part of the warp executes: {place}"),
        }
    }
}
