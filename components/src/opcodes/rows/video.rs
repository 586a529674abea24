//! Video instructions, scalar and SIMD.
//!
//! Selectors pick a byte or half (`.b2`, `.h1`) in the scalar forms, several in the SIMD forms (`.h10`,
//! `.b3210`). A destination with a selector is merged into the last source and written whole, so it is not
//! tied.

use super::super::row::{Effects, Row, row};

const PURE: Effects = Effects::SPECULATABLE;

pub(super) const ROWS: &[Row] = &[
    // Two sources, and a third for a second operation or a merge.
    row("vadd", "=b32/s .b32/is .b32/is .b32/i?", PURE),
    row("vsub", "=b32/s .b32/is .b32/is .b32/i?", PURE),
    row("vabsdiff", "=b32/s .b32/is .b32/is .b32/i?", PURE),
    row("vmin", "=b32/s .b32/is .b32/is .b32/i?", PURE),
    row("vmax", "=b32/s .b32/is .b32/is .b32/i?", PURE),
    row("vshl", "=b32/s .b32/is .b32/is .b32/i?", PURE),
    row("vshr", "=b32/s .b32/is .b32/is .b32/i?", PURE),
    row("vset", "=b32/s .b32/is .b32/is .b32/i?", PURE),
    // The only instruction with a minus in front of a source.
    row("vmad", "=b32 .b32/ins .b32/ins .b32/in", PURE),
    // SIMD forms always name the third source and take no literals.
    row("vadd2", "=b32/s .b32/s .b32/s .b32", PURE),
    row("vsub2", "=b32/s .b32/s .b32/s .b32", PURE),
    row("vavrg2", "=b32/s .b32/s .b32/s .b32", PURE),
    row("vabsdiff2", "=b32/s .b32/s .b32/s .b32", PURE),
    row("vmin2", "=b32/s .b32/s .b32/s .b32", PURE),
    row("vmax2", "=b32/s .b32/s .b32/s .b32", PURE),
    row("vset2", "=b32/s .b32/s .b32/s .b32", PURE),
    row("vadd4", "=b32/s .b32/s .b32/s .b32", PURE),
    row("vsub4", "=b32/s .b32/s .b32/s .b32", PURE),
    row("vavrg4", "=b32/s .b32/s .b32/s .b32", PURE),
    row("vabsdiff4", "=b32/s .b32/s .b32/s .b32", PURE),
    row("vmin4", "=b32/s .b32/s .b32/s .b32", PURE),
    row("vmax4", "=b32/s .b32/s .b32/s .b32", PURE),
    row("vset4", "=b32/s .b32/s .b32/s .b32", PURE),
];
