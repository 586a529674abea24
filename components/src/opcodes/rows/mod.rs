//! The rows of the opcode table, one file a family.
//!
//! Every root instruction of PTX ISA 1.0 to 9.5 that a program may write. What `ptxas` 13.0.88 accepts was the judge
//! of every accept letter: each operand slot of `tests/forms/` was tried with an immediate, a sink, a negation, a
//! selector, a symbol and a one-element vector. Rows of what is newer than 9.0 were held to what 13.5.37 accepts of
//! `tests/forms/recent-*`; where they say less than it takes, an operand stays as it is.
//!
//! # Starred runs
//! The parts of a run stand together and in order: `cvt*.f16x2.e4m3x2` is not `cvt*.e4m3x2.f16x2`. Several rows
//! rely on it, as the order of two type suffixes tells the result from the source.
//!
//! # What a row leaves out
//! * Some untyped slots (`.b16`, brain floats) take a register in braces, `{a}`, for the register. No row says so.
//! * A literal has the kind of its slot: a `.f32` or `.f64` slot takes `0f`, `0d` and decimal floats and no
//!   integer, an integer slot no float, a `.b32` or `.b64` slot both.
//! * `t` of a load, store, conversion, texture or surface access bounds the register from below: wider ones
//!   are legal.
//! * A slot that only a literal may fill (`cp.async.wait_group N`, the scales of `wgmma`) is a read slot with
//!   `i`: nothing puts a register where a literal stood.
//! * Brackets are seen in the text: `tcgen05.mma` takes `[a]` or a descriptor in one slot, both are read.

mod arithmetic;
mod asynchronous;
mod atomics;
mod bitwise;
mod compare;
mod control;
mod conversions;
mod half;
mod matrix;
mod memory;
mod miscellaneous;
mod moves;
mod synchronization;
mod tensor_core;
mod texture;
mod video;
mod warp;

use super::row::Row;

/// All rows. The order between and inside the groups has no meaning: the longest matching pattern wins.
pub(super) const TABLE: &[&[Row]] = &[
    arithmetic::ROWS,
    half::ROWS,
    bitwise::ROWS,
    compare::ROWS,
    moves::ROWS,
    conversions::ROWS,
    memory::ROWS,
    atomics::ROWS,
    asynchronous::ROWS,
    texture::ROWS,
    control::ROWS,
    synchronization::ROWS,
    warp::ROWS,
    matrix::ROWS,
    tensor_core::ROWS,
    video::ROWS,
    miscellaneous::ROWS,
];
