//! Barriers of a CTA, a cluster or a grid, fences, and register budgets.
//!
//! All are pinned: their effect is on other threads. Barriers are convergent as well.

use super::super::row::{Effects, Row, row};

const BARRIER: Effects = Effects::CONVERGENT.and(Effects::ORDER).and(Effects::PINNED);
const FENCE: Effects = Effects::ORDER.and(Effects::PINNED);

pub(super) const ROWS: &[Row] = &[
    // Barrier number, then perhaps the number of threads. Reductions end with the predicate, so there the
    // optional thread count stands in the middle.
    row("bar.sync", ".b32/i .b32/i?", BARRIER),
    row("bar.arrive", ".b32/i .b32/i", BARRIER),
    row("bar.red", "=t .b32/i .b32/i? .pred/i!", BARRIER),
    row("bar.cta.sync", ".b32/i .b32/i?", BARRIER),
    row("bar.cta.arrive", ".b32/i .b32/i", BARRIER),
    row("bar.cta.red", "=t .b32/i .b32/i? .pred/i!", BARRIER),
    row("barrier.sync", ".b32/i .b32/i?", BARRIER),
    row("barrier.arrive", ".b32/i .b32/i", BARRIER),
    row("barrier.red", "=t .b32/i .b32/i? .pred/i!", BARRIER),
    row("barrier.cta.sync", ".b32/i .b32/i?", BARRIER),
    row("barrier.cta.arrive", ".b32/i .b32/i", BARRIER),
    row("barrier.cta.red", "=t .b32/i .b32/i? .pred/i!", BARRIER),
    // The member mask of a warp.
    row("bar.warp.sync", ".b32/i", BARRIER),
    row("barrier.cluster.arrive", "", BARRIER),
    row("barrier.cluster.wait", "", BARRIER),
    // Fences. The acquiring tensor map fence names the map and its size.
    row("membar", "", FENCE),
    row("fence", "", FENCE),
    row("fence.proxy", "@? .b32/i?", FENCE),
    // Dependent grids: memory of the earlier grid may be read only after the wait.
    row("griddepcontrol", "", BARRIER),
    // Moves registers between the warps of a CTA.
    row("setmaxnreg", ".u32/i", BARRIER),
];
