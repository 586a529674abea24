//! Sweep: makes rows dense again, without tombstones.
//!
//! Source phase  76, 125, 128, 132, 150, 154 (UpdateAfter...)
//! Reads         CodeObjects, Blocks
//! Writes        rows
//! Needs         nothing
//! Leaves        no tombstone and no chained block in any function
//! Breaks        instruction ids, as the row epoch says
//! Cost          nothing for functions without tombstones and chains, otherwise one pass over their rows
//! Checked by    check/rows.rs
//!
//! The removal itself is the engine's ([`ptxopt_engine::edit::compact`]). Between sweeps a deleted instruction is a row
//! that everyone skips, which costs half a nanosecond where moving the rows costs six; the engine sweeps by itself where a
//! quarter of a function's rows is dead.

use bevy_ecs::prelude::*;
use ptxopt_engine::edit::Editor;
use ptxopt_engine::edit::compact::CompactScratch;
use ptxopt_engine::run::phase::Phase;

/// The sweep.
pub const PHASE: Phase =
    Phase { name: "sweep", layout_only: true, install: |slot| slot.add(run), ..Phase::NOTHING };

/// Sweeps every function.
pub fn run(mut editor: Editor, mut scratch: Local<CompactScratch>) {
    editor.compact(|_| true, &mut scratch);
}
