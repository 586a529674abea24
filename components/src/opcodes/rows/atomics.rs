//! Atomic operations, reductions, and accesses through multicast addresses.
//!
//! Order and scope come from the mnemonic. Vector forms name the lanes before the type:
//! `atom.global.v2.f32.add`.

use super::super::row::{Effects, Row, row};

const ATOMIC: Effects = Effects::READ.and(Effects::WRITE).and(Effects::ATOMIC);
const WRITE: Effects = Effects::WRITE;
/// Performed some time after the instruction has issued, in order.
const LATER: Effects = Effects::ASYNC.and(Effects::ORDER).and(Effects::PINNED);

pub(super) const ROWS: &[Row] = &[
    // Address, value, for `.cas` the value to compare with and the new one, then perhaps a cache policy.
    row("atom", "=t/_ve @ .t/iv .b64/i?", ATOMIC),
    row("atom*.cas", "=t/_ @ .t/i .t/i .b64/i?", ATOMIC),
    // Halves take neither literals nor, for a scalar brain float, the sink as result.
    row("atom*.f16", "=t/_ve @ .t/v .b64/i?", ATOMIC),
    row("atom*.f16x2", "=t/_ve @ .t/v .b64/i?", ATOMIC),
    row("atom*.bf16", "=t/ve @ .t/v .b64/i?", ATOMIC),
    row("atom*.bf16x2", "=t/ve @ .t/v .b64/i?", ATOMIC),
    row("red", "@ .t/iv .b64/i?", ATOMIC),
    row("red*.f16", "@ .t/v .b64/i?", ATOMIC),
    row("red*.f16x2", "@ .t/v .b64/i?", ATOMIC),
    row("red*.bf16", "@ .t/v .b64/i?", ATOMIC),
    row("red*.bf16x2", "@ .t/v .b64/i?", ATOMIC),
    // The asynchronous reduction signals a barrier in shared memory; the `.mmio` form has none.
    row("red.async", "@ .t/i @?", ATOMIC.and(Effects::ASYNC).and(Effects::PINNED)),
    // One address that stands for the same location on several devices.
    row("multimem.ld_reduce", "=t/ve @", Effects::READ),
    row("multimem.st", "@ .t/iv", WRITE),
    row("multimem.red", "@ .t/iv", ATOMIC),
    row("multimem.st.async", "@ .t/iv", WRITE.and(LATER)),
    row("multimem.red.async", "@ .t/iv", ATOMIC.and(LATER)),
];
