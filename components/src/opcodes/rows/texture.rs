//! Textures and surfaces.
//!
//! The brackets hold the texture, perhaps a sampler, and the coordinates; everything named in them is read.
//! After the brackets may follow offsets, a comparison depth, or both, and the text shows which: a vector is
//! an offset. The predicate beside the result tells whether the texels are resident.

use super::super::row::{Effects, Row, row};

const FETCH: Effects = Effects::READ.and(Effects::TEXTURE);
const STORE: Effects = Effects::WRITE.and(Effects::TEXTURE);
const REDUCE: Effects = FETCH.and(STORE).and(Effects::ATOMIC);

pub(super) const ROWS: &[Row] = &[
    row("tex", "=t/ve|=pred @ .x/iv? .x/i?", FETCH),
    row("tex.base", "=t/ve|=pred @ .x/iv? .x/i?", FETCH),
    row("tex.level", "=t/ve|=pred @ .x/i .x/iv? .x/i?", FETCH),
    row("tex.grad", "=t/ve|=pred @ .x/v .x/v .x/iv? .x/i?", FETCH),
    // Pairs of halves take no sinks.
    row("tex*.f16x2", "=t/v|=pred @ .x/iv? .x/i?", FETCH),
    row("tex.base*.f16x2", "=t/v|=pred @ .x/iv? .x/i?", FETCH),
    row("tex.level*.f16x2", "=t/v|=pred @ .x/i .x/iv? .x/i?", FETCH),
    row("tex.grad*.f16x2", "=t/v|=pred @ .x/v .x/v .x/iv? .x/i?", FETCH),
    row("tld4", "=t/ve|=pred @ .x/iv? .x/i?", FETCH),
    // Attributes of a texture or surface do not change while the kernel runs: no memory is read.
    row("txq", "=b32 @", Effects::TEXTURE),
    row("txq.level", "=b32 @ .b32/i", Effects::TEXTURE),
    row("suq", "=b32 @", Effects::TEXTURE),
    // Surfaces. `.trap`, `.clamp` and `.zero` say what happens outside of the surface; `.trap` forbids
    // speculation.
    row("suld", "=t/ve @", FETCH),
    row("sust", "@ .t/iv", STORE),
    row("sured", "@ .t/i", REDUCE),
];
