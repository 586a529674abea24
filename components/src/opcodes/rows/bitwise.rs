//! Logic, shifts, permutations, bit fields and bit counts.

use super::super::row::{Effects, Row, row};

const PURE: Effects = Effects::SPECULATABLE;
const SWAPS: Effects = PURE.and(Effects::COMMUTES);

pub(super) const ROWS: &[Row] = &[
    // Logic. The `.pred` forms also take negated predicates.
    row("and", "=t .t/i .t/i", SWAPS),
    row("or", "=t .t/i .t/i", SWAPS),
    row("xor", "=t .t/i .t/i", SWAPS),
    row("not", "=t .t/i", PURE),
    row("cnot", "=t .t/i", PURE),
    row("and.pred", "=pred .pred/i! .pred/i!", SWAPS),
    row("or.pred", "=pred .pred/i! .pred/i!", SWAPS),
    row("xor.pred", "=pred .pred/i! .pred/i!", SWAPS),
    row("not.pred", "=pred .pred/i!", PURE),
    // Three-input logic. The last source is the truth table and always a literal, so no two sources swap
    // freely. With `.or` or `.and` a predicate is computed beside the value, which then may be the sink.
    row("lop3", "=b32/_ .b32/i .b32/i .b32/i .u32/i", PURE),
    row("lop3.or", "=b32/_|=pred .b32/i .b32/i .b32/i .u32/i .pred/i!", PURE),
    row("lop3.and", "=b32/_|=pred .b32/i .b32/i .b32/i .u32/i .pred/i!", PURE),
    // Shifts. The amount is 32 bits wide whatever is shifted.
    row("shl", "=t .t/i .u32/i", PURE),
    row("shr", "=t .t/i .u32/i", PURE),
    row("shf", "=b32 .b32/i .b32/i .u32/i", PURE),
    row("prmt", "=b32 .b32/i .b32/i .b32/i", PURE),
    // Bit fields: position and length are 32 bits wide.
    row("bfe", "=t .t/i .u32/i .u32/i", PURE),
    row("bfi", "=t .t/i .t/i .u32/i .u32/i", PURE),
    row("bmsk", "=b32 .u32/i .u32/i", PURE),
    row("szext", "=t .t/i .u32/i", PURE),
    // Counts and searches: 32-bit results of 32- and 64-bit sources.
    row("popc", "=u32 .t/i", PURE),
    row("clz", "=u32 .t/i", PURE),
    row("bfind", "=u32 .t/i", PURE),
    row("fns", "=b32 .b32/i .b32/i .b32/i", PURE),
    row("brev", "=t .t/i", PURE),
];
