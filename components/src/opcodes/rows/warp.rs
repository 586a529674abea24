//! Exchange between the threads of a warp.
//!
//! Convergent, although most of these only compute a value: the value depends on which threads take part.

use super::super::row::{Effects, Row, row};

const WARP: Effects = Effects::CONVERGENT;

pub(super) const ROWS: &[Row] = &[
    // Without `.sync` (before PTX 6.4) the member mask is absent.
    row("vote", "=t .pred/i! .b32/i?", WARP),
    // Value, lane or delta, clamp and segment mask, member mask. The pair has a sink on its right side only.
    row("shfl", "=t|=pred/_ .t/i .b32/i .b32/i .b32/i?", WARP),
    row("match.any", "=b32 .t/i .b32/i", WARP),
    row("match.all", "=b32/_|=pred/_ .t/i .b32/i", WARP),
    // The second source is the member mask.
    row("redux", "=t .t/i .b32/i", WARP),
    row("activemask", "=b32", WARP.and(Effects::VOLATILE)),
    row("elect", "=b32/_|=pred .b32/i", WARP),
];
