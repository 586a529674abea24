//! A warp: 32 threads, their registers and stacks, and the groups in which they run.
//!
//! Threads at the same place of the same call run as one group. A branch that splits them makes two groups; groups
//! that come to the same place become one. The group that is furthest behind runs first, so that threads meet where
//! control flow joins; one that waits in a loop for another group of its warp loses its turn after a while.

pub mod calls;
pub mod schedule;

use crate::lanes::{Lanes, WARP_SIZE};
use crate::memory::Local;
use crate::stop::Thread;
use calls::CallTree;

/// Threads that run together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Group {
    /// Its lanes.
    pub mask: u32,
    /// The next operation.
    pub pc: u32,
    /// The function that runs.
    pub function: u32,
    /// First register slot of the frame.
    pub base: u32,
    /// First byte of the frame in local memory.
    pub local: u64,
    /// The call that led here.
    pub call: u32,
    /// What it waits for.
    pub wait: Wait,
    /// When it last ran, counted in turns of the warp.
    pub turn: u64,
}

/// What a group waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Wait {
    /// Nothing.
    #[default]
    Ready,
    /// Other lanes at an instruction with these qualifiers and this membermask.
    Members {
        /// Number of the mnemonic.
        qualifiers: u32,
        /// The membermask.
        members: u32,
    },
    /// The other threads of the warp, at this very place.
    WholeWarp,
    /// A barrier of the CTA to complete.
    Barrier {
        /// Its number.
        id: u8,
        /// Which of its phases.
        phase: u64,
    },
}

/// A copy that was started and is not done.
#[derive(Clone, Copy, Debug)]
pub struct PendingCopy {
    /// The lane that started it.
    pub lane: u8,
    /// Its group, counted by the lane's commits.
    pub group: u32,
    /// Shared address.
    pub to: u64,
    /// Global address.
    pub from: u64,
    /// Bytes written.
    pub bytes: u32,
    /// Bytes read; zeros after them.
    pub source_bytes: u32,
    /// Byte offset of the instruction in the text.
    pub offset: u32,
}

/// Threads of a warp at an aligned barrier, without the others so far.
#[derive(Clone, Copy, Debug)]
pub struct PartialArrival {
    /// The barrier's number.
    pub id: u8,
    /// Which of its phases.
    pub phase: u64,
    /// The instruction.
    pub pc: u32,
    /// The call that led there.
    pub call: u32,
    /// Lanes that have come.
    pub mask: u32,
    /// Byte offset of the instruction in the text.
    pub offset: u32,
}

/// A warp.
pub struct Warp {
    /// Number of its first thread in the CTA.
    pub first_thread: u32,
    /// Lanes that have not exited.
    pub live: u32,
    /// Register slots, frame upon frame.
    pub registers: Vec<Lanes>,
    /// By slot: lanes that have written it; empty where nothing asks.
    pub written: Vec<u32>,
    /// Groups, in no order.
    pub groups: Vec<Group>,
    /// Calls that were made.
    pub calls: CallTree,
    /// By lane.
    pub locals: Vec<Local>,
    /// By lane.
    pub threads: Vec<Thread>,
    /// Copies that were started.
    pub copies: Vec<PendingCopy>,
    /// By lane: groups of copies that were committed.
    pub commits: [u32; WARP_SIZE],
    /// Aligned barriers at which a part of the warp is, or was; where divergence is looked for.
    pub arrivals: Vec<PartialArrival>,
    /// Reads of a clock so far: a clock counts its own reads, so that no other instruction changes what it says.
    pub clock: u64,
    /// Turns so far.
    pub turns: u64,
    /// What a group did in front of others that are ready, see [`schedule`].
    pub patience: u32,
    /// The lane whose group has the turn out of order.
    pub favoured: Option<u32>,
}

/// The lanes of a mask, lowest first.
pub fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            lane
        })
    })
}
