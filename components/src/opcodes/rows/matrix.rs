//! Matrix fragments of a warp: loads, stores, and the synchronous multiply.
//!
//! Fragments are brace vectors whose length and element type follow from the shape, so the slots are
//! unchecked. The result of a multiply is not tied to its accumulator operand, and may have sinks among its
//! elements.

use super::super::row::{Effects, Row, row};

const WARP: Effects = Effects::CONVERGENT;
const LOAD: Effects = WARP.and(Effects::READ);
const STORE: Effects = WARP.and(Effects::WRITE);

pub(super) const ROWS: &[Row] = &[
    row("ldmatrix", "=b32/ve @", LOAD),
    row("stmatrix", "@ .b32/v", STORE),
    row("movmatrix", "=b32 .b32", WARP),
    // Two of four elements, and which, of each thread's own (ISA 9.4).
    row("spcompress", "=b32/v =b32/v .b32/v .b32/i", Effects::PURE),
    row("spdecompress", "=b32/v .b32/v .b32/v", Effects::PURE),
    // The last operand is the stride between rows or columns.
    row("wmma.load.a", "=x/ve @ .b32/i?", LOAD),
    row("wmma.load.b", "=x/ve @ .b32/i?", LOAD),
    row("wmma.load.c", "=x/ve @ .b32/i?", LOAD),
    row("wmma.store.d", "@ .x/v .b32/i?", STORE),
    row("wmma.mma", "=x/ve .x/v .x/v .x/v", WARP),
    // Takes no sinks.
    row("wmma.mma*.tf32", "=x/v .x/v .x/v .x/v", WARP),
    row("mma", "=x/ve .x/v .x/v .x/v", WARP),
    // Scales of the two factors: the scale data, then the byte and the thread that hold it.
    row("mma*.block_scale", "=x/ve .x/v .x/v .x/v .b32 .x/v .b32 .x/v", WARP),
    // Sparse: metadata and the selector of the threads that hold it.
    row("mma.sp", "=x/ve .x/v .x/v .x/v .b32 .b32/i", WARP),
    row("mma.sp::ordered_metadata", "=x/ve .x/v .x/v .x/v .b32 .b32/i", WARP),
    row(
        "mma.sp::ordered_metadata*.block_scale",
        "=x/ve .x/v .x/v .x/v .b32 .b32/i .b32 .x/v .b32 .x/v",
        WARP,
    ),
    // Where a machine lacks a shape or type, the assembler makes other instructions of it, and those take no sinks.
    row("mma*.f64", "=x/v .x/v .x/v .x/v", WARP),
    row("mma*.e4m3", "=x/v .x/v .x/v .x/v", WARP),
    row("mma*.e5m2", "=x/v .x/v .x/v .x/v", WARP),
    row("mma.sp*.e4m3", "=x/v .x/v .x/v .x/v .b32 .b32/i", WARP),
    row("mma.sp*.e5m2", "=x/v .x/v .x/v .x/v .b32 .b32/i", WARP),
    row("mma.sp::ordered_metadata*.e4m3", "=x/v .x/v .x/v .x/v .b32 .b32/i", WARP),
    row("mma.sp::ordered_metadata*.e5m2", "=x/v .x/v .x/v .x/v .b32 .b32/i", WARP),
];
