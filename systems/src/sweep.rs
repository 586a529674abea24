//! Sweep: removes tombstones and dead blocks from the tables.
//!
//! Source phase  76, 125, 128, 132, 150, 154 (UpdateAfter...)
//! Reads         CodeObjects
//! Writes        EditLog
//! Needs         nothing
//! Leaves        no tombstone and no dead block in any function
//! Breaks        ids; facts about instructions of functions that had tombstones
//! Cost          nothing without tombstones, otherwise one commit of the batch
//! Checked by    check/rows.rs
//!
//! The removal itself is the engine's commit. Between sweeps a deleted instruction is a row that everyone skips,
//! which costs half a nanosecond where moving the rows costs six.

use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_engine::columns::CodeObjects;
use ptxopt_engine::edits::EditLog;
use ptxopt_engine::facts::Fact;
use ptxopt_engine::phase::Phase;

/// The sweep.
pub const PHASE: Phase = Phase {
    name: "sweep",
    needs: &[],
    gives: &[],
    breaks: &[Fact::Liveness, Fact::Uniformity],
    required: true,
    install: |slot| slot.add(run),
};

/// Asks for a sweep when some function holds tombstones.
pub fn run(codes: CodeObjects, mut edits: ResMut<EditLog>) {
    let (states, ..) = codes.columns();
    edits.sweep |= states.iter().any(|state| {
        state.flags.contains(CodeFlags::HAS_TOMBSTONES) && !state.flags.contains(CodeFlags::LEFT)
    });
}
