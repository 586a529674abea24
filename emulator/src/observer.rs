//! Looking on while a kernel runs: what oracles of analyses are made of.

use crate::lanes::Lanes;

/// What lanes of a warp are about to execute together.
///
/// An operation that waits for other threads may be seen again when they have come.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// The CTA's number in the grid.
    pub ctaid: [u32; 3],
    /// Number of the warp's first thread in its CTA.
    pub first_thread: u32,
    /// The function, counted among those with bodies in the order of the text.
    pub function: u32,
    /// First slot of its frame: deeper calls have larger ones.
    pub base: u32,
    /// Number of the operation in the program.
    pub pc: u32,
    /// Byte offset of the statement in the module's text.
    pub offset: u32,
    /// The lanes that are here.
    pub lanes: u32,
    /// Those of them in which the guard holds.
    pub guarded: u32,
    /// The register slots of the frame, as they are before.
    pub registers: &'a [Lanes],
}

/// What hears of the events of a run.
pub trait Observer {
    /// Lanes are about to execute an operation.
    fn step(&mut self, step: Step<'_>);

    /// An operation, the one of the last step, accesses memory: the address of each lane in which its guard holds.
    fn addresses(&mut self, _addresses: &Lanes) {}
}
