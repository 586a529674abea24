//! Video instructions, scalar and SIMD.
//!
//! Selectors pick a byte or half (`.b2`, `.h1`) in the scalar forms, several in the SIMD forms (`.h10`,
//! `.b3210`). A destination with a selector is merged into the last source and written whole, so it is not
//! tied. All operands are integers: `ptxas` refuses a register of floats.

use super::super::row::{Effects, Row, row};

const PURE: Effects = Effects::SPECULATABLE;

pub(super) const ROWS: &[Row] = &[
    // Two sources, and a third for a second operation or a merge.
    row("vadd", "=u32/s .u32/is .u32/is .u32/i?", PURE),
    row("vsub", "=u32/s .u32/is .u32/is .u32/i?", PURE),
    row("vabsdiff", "=u32/s .u32/is .u32/is .u32/i?", PURE),
    row("vmin", "=u32/s .u32/is .u32/is .u32/i?", PURE),
    row("vmax", "=u32/s .u32/is .u32/is .u32/i?", PURE),
    row("vshl", "=u32/s .u32/is .u32/is .u32/i?", PURE),
    row("vshr", "=u32/s .u32/is .u32/is .u32/i?", PURE),
    row("vset", "=u32/s .u32/is .u32/is .u32/i?", PURE),
    // The only instruction with a minus in front of a source.
    row("vmad", "=u32 .u32/ins .u32/ins .u32/in", PURE),
    // SIMD forms always name the third source and take no literals.
    row("vadd2", "=u32/s .u32/s .u32/s .u32", PURE),
    row("vsub2", "=u32/s .u32/s .u32/s .u32", PURE),
    row("vavrg2", "=u32/s .u32/s .u32/s .u32", PURE),
    row("vabsdiff2", "=u32/s .u32/s .u32/s .u32", PURE),
    row("vmin2", "=u32/s .u32/s .u32/s .u32", PURE),
    row("vmax2", "=u32/s .u32/s .u32/s .u32", PURE),
    row("vset2", "=u32/s .u32/s .u32/s .u32", PURE),
    row("vadd4", "=u32/s .u32/s .u32/s .u32", PURE),
    row("vsub4", "=u32/s .u32/s .u32/s .u32", PURE),
    row("vavrg4", "=u32/s .u32/s .u32/s .u32", PURE),
    row("vabsdiff4", "=u32/s .u32/s .u32/s .u32", PURE),
    row("vmin4", "=u32/s .u32/s .u32/s .u32", PURE),
    row("vmax4", "=u32/s .u32/s .u32/s .u32", PURE),
    row("vset4", "=u32/s .u32/s .u32/s .u32", PURE),
];
