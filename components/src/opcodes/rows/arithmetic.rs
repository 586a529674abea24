//! Integer and floating-point arithmetic on `.u16` to `.s64`, `.f32` and `.f64`, and the carry chains.
//!
//! All of it is speculatable: a GPU neither faults on a division by zero nor has floating-point traps. Packed
//! and half types have rows of their own in `half.rs`, because they take no literals.

use super::super::row::{Effects, Row, row};

const PURE: Effects = Effects::SPECULATABLE;
/// The first two sources may change places. Of two NaN inputs of an `.f64` instruction the ISA does not say whose
/// payload survives, so swapping is legal for floats too.
const SWAPS: Effects = PURE.and(Effects::COMMUTES);
/// Carry chains stay where they are: only the form of the instruction shows the carry register, so a row that
/// may write it is not speculatable.
const CHAIN: Effects = Effects::PURE;
const CHAIN_SWAPS: Effects = Effects::COMMUTES;
const CHAIN_IN: Effects = Effects::CARRY_IN;
const CHAIN_IN_SWAPS: Effects = Effects::CARRY_IN.and(Effects::COMMUTES);

pub(super) const ROWS: &[Row] = &[
    // Add and subtract.
    row("add", "=t .t/i .t/i", SWAPS),
    row("sub", "=t .t/i .t/i", PURE),
    row("add.cc", "=t .t/i .t/i", CHAIN_SWAPS),
    row("sub.cc", "=t .t/i .t/i", CHAIN),
    row("addc", "=t .t/i .t/i", CHAIN_IN_SWAPS),
    row("subc", "=t .t/i .t/i", CHAIN_IN),
    // Multiply. `mul.wide` and `mad.wide` write twice the width they read; mad.wide also adds at that width.
    row("mul", "=t .t/i .t/i", SWAPS),
    row("mul*.wide", "=w .t/i .t/i", SWAPS),
    row("mul24", "=t .t/i .t/i", SWAPS),
    row("mad", "=t .t/i .t/i .t/i", SWAPS),
    row("mad*.wide", "=w .t/i .t/i .w/i", SWAPS),
    row("mad*.cc", "=t .t/i .t/i .t/i", CHAIN_SWAPS),
    row("madc", "=t .t/i .t/i .t/i", CHAIN_IN_SWAPS),
    row("mad24", "=t .t/i .t/i .t/i", SWAPS),
    row("fma", "=t .t/i .t/i .t/i", SWAPS),
    // Products of polynomials over one bit: the lower or upper half, and the third source is added.
    row("clmad", "=t .t .t .t", SWAPS),
    row("sad", "=t .t/i .t/i .t/i", SWAPS),
    // Dot products: four bytes by four bytes, or two halves by two bytes. The two factors may differ in
    // signedness, so swapping them would need the type suffixes swapped as well; where the types of `dp4a` are the
    // same, the form says that it commutes.
    row("dp4a", "=b32 .u32/i .u32/i .u32/i", PURE),
    row("dp2a", "=b32 .u32/i .u32/i .u32/i", PURE),
    // Divide. The result of an integer division by zero is unspecified, but it is a result.
    row("div", "=t .t/i .t/i", PURE),
    row("rem", "=t .t/i .t/i", PURE),
    // One operand.
    row("abs", "=t .t/i", PURE),
    row("neg", "=t .t/i", PURE),
    row("rcp", "=t .t/i", PURE),
    row("sqrt", "=t .t/i", PURE),
    row("rsqrt", "=t .t/i", PURE),
    row("sin", "=t .t/i", PURE),
    row("cos", "=t .t/i", PURE),
    row("lg2", "=t .t/i", PURE),
    row("ex2", "=t .t/i", PURE),
    row("tanh", "=t .t/i", PURE),
    // Select by magnitude. The three-input form is `.f32` on sm_100 and up.
    row("min", "=t .t/i .t/i .t/i?", SWAPS),
    row("max", "=t .t/i .t/i .t/i?", SWAPS),
    // Sign and class.
    row("copysign", "=t .t/i .t/i", PURE),
    row("testp", "=pred .t/i", PURE),
];
