//! Moves, addresses as values, and queries about addresses.

use super::super::row::{Effects, Row, row};

const PURE: Effects = Effects::SPECULATABLE;

pub(super) const ROWS: &[Row] = &[
    // `mov` also packs and unpacks (`mov.b64 {a, b}, c`), takes the address of a variable, label or function,
    // and reads special registers; code tells these apart by the operand.
    row("mov", "=t/ve .t/iave", PURE),
    row("mov.pred", "=pred .pred/i!", PURE),
    // `cvta` with a symbol takes its address first. The conversion to a space is undefined for an address
    // outside of it, so neither direction is speculated: a load that would be legal after it must not move
    // above its guard.
    row("cvta", "=t .t/ia", Effects::PURE),
    row("cvta.to", "=t .t/i", Effects::PURE),
    // The address is 32 or 64 bits wide whatever `.address_size` says.
    row("isspacep", "=pred .x/i", PURE),
    row("istypep", "=pred .b64/i", PURE),
    // Cluster addresses: a rank outside the cluster gives an undefined address, hence no speculation.
    // `getctarank` names the width of its address, not of its result.
    row("mapa", "=t .t/ia .u32/i", Effects::PURE),
    row("getctarank", "=u32 .t/ia", Effects::PURE),
];
