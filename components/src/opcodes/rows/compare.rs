//! Comparisons and selections.
//!
//! A predicate source takes `!p` everywhere, and an integer literal unless a brain-float type is named.

use super::super::row::{Effects, Row, row};

/// Whether the sources may change places depends on the comparison, which the form looks at.
const PURE: Effects = Effects::SPECULATABLE;

pub(super) const ROWS: &[Row] = &[
    // The second predicate receives the negated comparison, and either may be the sink. The trailing
    // predicate is there with `.and`, `.or` and `.xor`.
    row("setp", "=pred/_|=pred/_ .t/i .t/i .pred/i!?", PURE),
    row("setp*.f16", "=pred/_|=pred/_ .t .t .pred/i!?", PURE),
    row("setp*.f16x2", "=pred/_|=pred/_ .t .t .pred/i!?", PURE),
    row("setp*.bf16", "=pred/_|=pred/_ .t .t .pred/!?", PURE),
    row("setp*.bf16x2", "=pred/_|=pred/_ .t .t .pred/!?", PURE),
    // `set` names the result type first and the compared type second. Halves take no literals; a half result
    // of a wider comparison does again, so there the run of both types decides.
    row("set", "=t .t2/i .t2/i .pred/i!?", PURE),
    row("set*.f16", "=t .t2 .t2 .pred/i!?", PURE),
    row("set*.f16x2", "=t .t2 .t2 .pred/i!?", PURE),
    row("set*.bf16", "=t .t2 .t2 .pred/!?", PURE),
    row("set*.bf16x2", "=t .t2 .t2 .pred/!?", PURE),
    // Packed integers have one type, of sources and result (ISA 9.4).
    row("set*.u8x4", "=t .t .t", PURE),
    row("set*.s8x4", "=t .t .t", PURE),
    row("set*.u16x2", "=t .t .t", PURE),
    row("set*.s16x2", "=t .t .t", PURE),
    row("set*.f16.u16", "=t .t2/i .t2/i .pred/i!?", PURE),
    row("set*.f16.s16", "=t .t2/i .t2/i .pred/i!?", PURE),
    row("set*.f16.b16", "=t .t2/i .t2/i .pred/i!?", PURE),
    row("set*.f16.u32", "=t .t2/i .t2/i .pred/i!?", PURE),
    row("set*.f16.s32", "=t .t2/i .t2/i .pred/i!?", PURE),
    row("set*.f16.b32", "=t .t2/i .t2/i .pred/i!?", PURE),
    row("set*.f16.f32", "=t .t2/i .t2/i .pred/i!?", PURE),
    row("set*.f16.u64", "=t .t2/i .t2/i .pred/i!?", PURE),
    row("set*.f16.s64", "=t .t2/i .t2/i .pred/i!?", PURE),
    row("set*.f16.b64", "=t .t2/i .t2/i .pred/i!?", PURE),
    row("set*.f16.f64", "=t .t2/i .t2/i .pred/i!?", PURE),
    row("set*.bf16.u16", "=t .t2/i .t2/i .pred/!?", PURE),
    row("set*.bf16.s16", "=t .t2/i .t2/i .pred/!?", PURE),
    row("set*.bf16.b16", "=t .t2/i .t2/i .pred/!?", PURE),
    row("set*.bf16.u32", "=t .t2/i .t2/i .pred/!?", PURE),
    row("set*.bf16.s32", "=t .t2/i .t2/i .pred/!?", PURE),
    row("set*.bf16.b32", "=t .t2/i .t2/i .pred/!?", PURE),
    row("set*.bf16.f32", "=t .t2/i .t2/i .pred/!?", PURE),
    row("set*.bf16.u64", "=t .t2/i .t2/i .pred/!?", PURE),
    row("set*.bf16.s64", "=t .t2/i .t2/i .pred/!?", PURE),
    row("set*.bf16.b64", "=t .t2/i .t2/i .pred/!?", PURE),
    row("set*.bf16.f64", "=t .t2/i .t2/i .pred/!?", PURE),
    // `slct` selects by the sign of its third source, which is `.s32` or `.f32`.
    row("selp", "=t .t/i .t/i .pred/i!", PURE),
    row("slct", "=t .t/i .t/i .t2/i", PURE),
];
