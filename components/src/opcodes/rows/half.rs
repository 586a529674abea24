//! Half precision, brain floats, packed pairs, and the mixed-precision forms of sm_100.
//!
//! Separate rows, because none of these slots takes a literal: there is no literal of such a type, and
//! `ptxas` rejects both integers and floats there. Pairs of floats (`.f32x2`) and of 16-bit integers are the
//! same.

use super::super::row::{Effects, Row, row};

const PURE: Effects = Effects::SPECULATABLE;
const SWAPS: Effects = PURE.and(Effects::COMMUTES);

pub(super) const ROWS: &[Row] = &[
    // Two sources. `.f32x2` and the integer pairs exist for a few roots only.
    row("add*.f16", "=t .t .t", SWAPS),
    row("add*.f16x2", "=t .t .t", SWAPS),
    row("add*.bf16", "=t .t .t", SWAPS),
    row("add*.bf16x2", "=t .t .t", SWAPS),
    row("add*.f32x2", "=t .t .t", SWAPS),
    row("add*.u16x2", "=t .t .t", SWAPS),
    row("add*.s16x2", "=t .t .t", SWAPS),
    row("sub*.f16", "=t .t .t", PURE),
    row("sub*.f16x2", "=t .t .t", PURE),
    row("sub*.bf16", "=t .t .t", PURE),
    row("sub*.bf16x2", "=t .t .t", PURE),
    row("sub*.f32x2", "=t .t .t", PURE),
    row("mul*.f16", "=t .t .t", SWAPS),
    row("mul*.f16x2", "=t .t .t", SWAPS),
    row("mul*.bf16", "=t .t .t", SWAPS),
    row("mul*.bf16x2", "=t .t .t", SWAPS),
    row("mul*.f32x2", "=t .t .t", SWAPS),
    row("min*.f16", "=t .t .t", SWAPS),
    row("min*.f16x2", "=t .t .t", SWAPS),
    row("min*.bf16", "=t .t .t", SWAPS),
    row("min*.bf16x2", "=t .t .t", SWAPS),
    row("min*.u16x2", "=t .t .t", SWAPS),
    row("min*.s16x2", "=t .t .t", SWAPS),
    row("max*.f16", "=t .t .t", SWAPS),
    row("max*.f16x2", "=t .t .t", SWAPS),
    row("max*.bf16", "=t .t .t", SWAPS),
    row("max*.bf16x2", "=t .t .t", SWAPS),
    row("max*.u16x2", "=t .t .t", SWAPS),
    row("max*.s16x2", "=t .t .t", SWAPS),
    // Three sources.
    row("fma*.f16", "=t .t .t .t", SWAPS),
    row("fma*.f16x2", "=t .t .t .t", SWAPS),
    row("fma*.bf16", "=t .t .t .t", SWAPS),
    row("fma*.bf16x2", "=t .t .t .t", SWAPS),
    row("fma*.f32x2", "=t .t .t .t", SWAPS),
    // One source.
    row("abs*.f16", "=t .t", PURE),
    row("abs*.f16x2", "=t .t", PURE),
    row("abs*.bf16", "=t .t", PURE),
    row("abs*.bf16x2", "=t .t", PURE),
    row("neg*.f16", "=t .t", PURE),
    row("neg*.f16x2", "=t .t", PURE),
    row("neg*.bf16", "=t .t", PURE),
    row("neg*.bf16x2", "=t .t", PURE),
    row("tanh*.f16", "=t .t", PURE),
    row("tanh*.f16x2", "=t .t", PURE),
    row("tanh*.bf16", "=t .t", PURE),
    row("tanh*.bf16x2", "=t .t", PURE),
    row("ex2*.f16", "=t .t", PURE),
    row("ex2*.f16x2", "=t .t", PURE),
    row("ex2*.bf16", "=t .t", PURE),
    row("ex2*.bf16x2", "=t .t", PURE),
    // Four integers in one register, and two (ISA 9.2 and 9.4).
    row("add*.u8x4", "=t .t .t", SWAPS),
    row("add*.s8x4", "=t .t .t", SWAPS),
    row("sub*.u8x4", "=t .t .t", PURE),
    row("sub*.s8x4", "=t .t .t", PURE),
    row("sub*.u16x2", "=t .t .t", PURE),
    row("sub*.s16x2", "=t .t .t", PURE),
    row("min*.u8x4", "=t .t .t", SWAPS),
    row("min*.s8x4", "=t .t .t", SWAPS),
    row("max*.u8x4", "=t .t .t", SWAPS),
    row("max*.s8x4", "=t .t .t", SWAPS),
    row("neg*.s8x4", "=t .t", PURE),
    row("neg*.s16x2", "=t .t", PURE),
    // Four small floats (ISA 9.4): the first source of a sum and both of a product have types of their own, so that they do not
    // change places.
    row("add*.e4m3x4", "=t .t2 .t", PURE),
    row("add*.e5m2x4", "=t .t2 .t", PURE),
    row("sub*.e4m3x4", "=t .t2 .t", PURE),
    row("sub*.e5m2x4", "=t .t2 .t", PURE),
    row("mul*.e4m3x4", "=t .t2 .t3", PURE),
    row("mul*.e5m2x4", "=t .t2 .t3", PURE),
    row("fma*.e4m3x4", "=t .t2 .t3 .t", PURE),
    row("fma*.e5m2x4", "=t .t2 .t3 .t", PURE),
    // Mixed precision: the narrow sources are widened to `.f32` before the operation. Only the `.f32` slot
    // takes a literal; the sources of add and sub have different types and do not swap.
    row("add*.f32.f16", "=t .t2 .t/i", PURE),
    row("add*.f32.bf16", "=t .t2 .t/i", PURE),
    row("sub*.f32.f16", "=t .t2 .t/i", PURE),
    row("sub*.f32.bf16", "=t .t2 .t/i", PURE),
    row("fma*.f32.f16", "=t .t2 .t2 .t/i", SWAPS),
    row("fma*.f32.bf16", "=t .t2 .t2 .t/i", SWAPS),
    // Two of them at once (ISA 9.4), of which only the first source is narrow.
    row("add*.f32x2.f16x2", "=t .t2 .t", PURE),
    row("add*.f32x2.bf16x2", "=t .t2 .t", PURE),
    row("sub*.f32x2.f16x2", "=t .t2 .t", PURE),
    row("sub*.f32x2.bf16x2", "=t .t2 .t", PURE),
    row("fma*.f32x2.f16x2", "=t .t2 .t .t", PURE),
    row("fma*.f32x2.bf16x2", "=t .t2 .t .t", PURE),
];
