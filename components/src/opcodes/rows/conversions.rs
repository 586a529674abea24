//! `cvt`: one result type, one source type, and the packing forms.
//!
//! The register may be wider than `.u8` to `.u32` say: `cvt.u8.u32` writes a register of any width that holds
//! it. Alternate formats (`.e4m3x2`, `.ue8m0x2`, `.tf32`, ...) have no registers of their own, so those rows
//! name the bit type that carries them.

use super::super::row::{Effects, Row, row};

const PURE: Effects = Effects::SPECULATABLE;

pub(super) const ROWS: &[Row] = &[
    row("cvt", "=t .t2/i", PURE),
    // A half or brain-float source takes no literal; a half result of another source does.
    row("cvt*.f16", "=t .t2", PURE),
    row("cvt*.bf16", "=t .t2", PURE),
    row("cvt*.f16.u8", "=t .t2/i", PURE),
    row("cvt*.f16.s8", "=t .t2/i", PURE),
    row("cvt*.f16.u16", "=t .t2/i", PURE),
    row("cvt*.f16.s16", "=t .t2/i", PURE),
    row("cvt*.f16.u32", "=t .t2/i", PURE),
    row("cvt*.f16.s32", "=t .t2/i", PURE),
    row("cvt*.f16.u64", "=t .t2/i", PURE),
    row("cvt*.f16.s64", "=t .t2/i", PURE),
    row("cvt*.f16.f32", "=t .t2/i", PURE),
    row("cvt*.f16.f64", "=t .t2/i", PURE),
    row("cvt*.bf16.u8", "=t .t2/i", PURE),
    row("cvt*.bf16.s8", "=t .t2/i", PURE),
    row("cvt*.bf16.u16", "=t .t2/i", PURE),
    row("cvt*.bf16.s16", "=t .t2/i", PURE),
    row("cvt*.bf16.u32", "=t .t2/i", PURE),
    row("cvt*.bf16.s32", "=t .t2/i", PURE),
    row("cvt*.bf16.u64", "=t .t2/i", PURE),
    row("cvt*.bf16.s64", "=t .t2/i", PURE),
    row("cvt*.bf16.f32", "=t .t2/i", PURE),
    row("cvt*.bf16.f64", "=t .t2/i", PURE),
    // Two floats into a pair; the first source lands in the upper half.
    row("cvt*.f16x2.f32", "=b32 .f32/i .f32/i", PURE),
    row("cvt*.bf16x2.f32", "=b32 .f32/i .f32/i", PURE),
    row("cvt*.e4m3x2.f32", "=b16 .f32/i .f32/i .x?", PURE),
    row("cvt*.e5m2x2.f32", "=b16 .f32/i .f32/i .x?", PURE),
    row("cvt*.e2m3x2.f32", "=b16 .f32/i .f32/i .x?", PURE),
    row("cvt*.e3m2x2.f32", "=b16 .f32/i .f32/i .x?", PURE),
    row("cvt*.ue8m0x2.f32", "=b16 .f32/i .f32/i", PURE),
    // Four-bit pairs live in `.b8` registers.
    row("cvt*.e2m1x2.f32", "=b8 .f32/i .f32/i .x?", PURE),
    // A pair into a pair of another format.
    row("cvt*.e4m3x2.f16x2", "=b16 .b32 .x?", PURE),
    row("cvt*.e5m2x2.f16x2", "=b16 .b32 .x?", PURE),
    row("cvt*.e2m1x2.f16x2", "=b8 .b32 .x?", PURE),
    row("cvt*.ue8m0x2.bf16x2", "=b16 .b32", PURE),
    row("cvt*.f16x2.e4m3x2", "=b32 .b16", PURE),
    row("cvt*.f16x2.e5m2x2", "=b32 .b16", PURE),
    row("cvt*.f16x2.e2m3x2", "=b32 .b16", PURE),
    row("cvt*.f16x2.e3m2x2", "=b32 .b16", PURE),
    row("cvt*.f16x2.e2m1x2", "=b32 .b8", PURE),
    row("cvt*.bf16x2.ue8m0x2", "=b32 .b16", PURE),
    // Since ISA 9.1, with a factor for the scale as the last operand where the mnemonic says `.scaled`.
    row("cvt*.e2m3x2.f16x2", "=b16 .b32 .x?", PURE),
    row("cvt*.e3m2x2.f16x2", "=b16 .b32 .x?", PURE),
    row("cvt*.ue5m3x2.f16x2", "=b16 .b32 .x?", PURE),
    row("cvt*.s2f6x2.f16x2", "=b16 .b32 .x?", PURE),
    row("cvt*.e4m3x2.bf16x2", "=b16 .b32 .x?", PURE),
    row("cvt*.e5m2x2.bf16x2", "=b16 .b32 .x?", PURE),
    row("cvt*.e2m3x2.bf16x2", "=b16 .b32 .x?", PURE),
    row("cvt*.e3m2x2.bf16x2", "=b16 .b32 .x?", PURE),
    row("cvt*.ue5m3x2.bf16x2", "=b16 .b32 .x?", PURE),
    row("cvt*.s2f6x2.bf16x2", "=b16 .b32 .x?", PURE),
    row("cvt*.e2m1x2.bf16x2", "=b8 .b32 .x?", PURE),
    row("cvt*.ue5m3x2.f32", "=b16 .f32/i .f32/i .x?", PURE),
    row("cvt*.s2f6x2.f32", "=b16 .f32/i .f32/i .x?", PURE),
    row("cvt*.bf16x2.e4m3x2", "=b32 .b16 .x?", PURE),
    row("cvt*.bf16x2.e5m2x2", "=b32 .b16 .x?", PURE),
    row("cvt*.bf16x2.e2m3x2", "=b32 .b16 .x?", PURE),
    row("cvt*.bf16x2.e3m2x2", "=b32 .b16 .x?", PURE),
    row("cvt*.bf16x2.ue5m3x2", "=b32 .b16 .x?", PURE),
    row("cvt*.bf16x2.s2f6x2", "=b32 .b16 .x?", PURE),
    row("cvt*.bf16x2.e2m1x2", "=b32 .b8 .x?", PURE),
    row("cvt*.f16x2.ue5m3x2", "=b32 .b16 .x?", PURE),
    row("cvt*.f16x2.s2f6x2", "=b32 .b16 .x?", PURE),
    // Stochastic rounding: the last source holds the random bits.
    row("cvt.rs*.f16x2.f32", "=b32 .f32/i .f32/i .b32", PURE),
    row("cvt.rs*.bf16x2.f32", "=b32 .f32/i .f32/i .b32", PURE),
    row("cvt.rs*.e4m3x4.f32", "=b32 .f32/v .b32", PURE),
    row("cvt.rs*.e5m2x4.f32", "=b32 .f32/v .b32", PURE),
    row("cvt.rs*.e2m3x4.f32", "=b32 .f32/v .b32", PURE),
    row("cvt.rs*.e3m2x4.f32", "=b32 .f32/v .b32", PURE),
    row("cvt.rs*.e2m1x4.f32", "=b16 .f32/v .b32", PURE),
    // TensorFloat-32 is carried in 32 untyped bits.
    row("cvt*.tf32.f32", "=b32 .f32/i", PURE),
    // Saturating pack. The third source supplies the upper bits for results of two to eight bits.
    row("cvt.pack", "=b32 .s32/i .s32/i .b32/i?", PURE),
];
