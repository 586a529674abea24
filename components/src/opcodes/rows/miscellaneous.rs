//! Debugger and profiler events, and sleep.

use super::super::row::{Effects, Row, row};

const PINNED: Effects = Effects::PINNED;

pub(super) const ROWS: &[Row] = &[
    // A debugger may look at memory here, and change it.
    row("brkpt", "", PINNED.and(Effects::ORDER)),
    row("pmevent", ".b32/i", PINNED),
    row("pmevent.mask", ".b32/i", PINNED),
    row("trace.mark", ".b32/i .x/i?", PINNED.and(Effects::ORDER)),
    row("nanosleep", ".u32/i", PINNED),
];
