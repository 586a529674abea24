//! Loads, stores, the stack, and cache control.
//!
//! Spaces, cache operators and orderings (`.volatile`, `.relaxed`, `.acquire`, `.nc`, ...) are read from the
//! mnemonic by code. The trailing operand of loads and stores is the policy of `.L2::cache_hint`.

use super::super::row::{Effects, Row, row};

const READ: Effects = Effects::READ;
const WRITE: Effects = Effects::WRITE;
const PINNED: Effects = Effects::PINNED;
const BULK: Effects = Effects::ASYNC.and(Effects::ORDER).and(PINNED);

pub(super) const ROWS: &[Row] = &[
    row("ld", "=t/ve @ .b64/i?", READ),
    row("ldu", "=t/ve @", READ),
    // A sink among the elements leaves that part of memory as it is.
    row("st", "@ .t/ive .b64/i?", WRITE),
    // Initialises shared memory: address, size, value (always zero).
    row("st.bulk", "@ .x/i .x/i", WRITE.and(PINNED)),
    // Hints. A prefetch has no result, so PINNED keeps it; `discard` destroys what is in memory.
    row("prefetch", "@", PINNED),
    row("prefetchu", "@", PINNED),
    row("applypriority", "@ .x/i", PINNED),
    // Changes of the priority that join the bulk group of the thread.
    row("applypriority.async.bulk", "@ .b32/i", BULK),
    row("applypriority.async.bulk.tensor", "@", BULK),
    row("discard", "@ .x/i", WRITE),
    // Cache policies are plain values. A fraction, a range or a property that is out of bounds has no defined result,
    // so none of them is speculated.
    row("createpolicy.fractional", "=b64 .f32/i?", Effects::PURE),
    row("createpolicy.range", "=b64 @ .b32/i .b32/i", Effects::PURE),
    row("createpolicy.cvt", "=b64 .b64/i", Effects::PURE),
    // The stack pointer is a hidden operand of these three. What is restored ends the life of what was
    // allocated, so accesses may not cross it.
    row("alloca", "=t .t/i .b32/i?", PINNED),
    row("stacksave", "=t", PINNED),
    row("stackrestore", ".t", PINNED.and(Effects::ORDER)),
];
