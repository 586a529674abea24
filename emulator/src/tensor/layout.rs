//! The fragment layouts of `mma`.
//!
//! In every shape but the oldest, lane `l` belongs to group `g = l / 4` and is number `t = l % 4` in it. With `e`
//! elements in a register (one where an element fills it), element `i` of register `r`
//!
//! - of A is at row `g + 8 * (r % b)`, column `t * e + i + 4 * e * (r / b)`, where `b` is the number of 8-row blocks,
//! - of B is at row `t * e + i + 4 * e * r`, column `g`.
//!
//! Element `i` of C and D is at row `g + 8 * (i / 2)`, column `2 * t + i % 2`.
//!
//! `m8n8k4` of `f16` computes four products at once, one for each four lanes and the four that are 16 further.

use super::fragment::{Filling, Fragment};

/// A of `rows` by `depth`.
#[must_use]
pub fn left(rows: usize, depth: usize, filling: Filling) -> Fragment {
    let (blocks, per) = (rows / 8, filling.per_register);
    Fragment::new(rows, depth, filling, |lane, index| {
        let (register, element) = (index / per, index % per);
        let row = lane / 4 + 8 * (register % blocks);
        (row, lane % 4 * per + element + 4 * per * (register / blocks))
    })
}

/// B of `depth` by eight.
#[must_use]
pub fn right(depth: usize, filling: Filling) -> Fragment {
    let per = filling.per_register;
    Fragment::new(depth, 8, filling, |lane, index| {
        let (register, element) = (index / per, index % per);
        (lane % 4 * per + element + 4 * per * register, lane / 4)
    })
}

/// C or D of `rows` by eight.
#[must_use]
pub fn sum(rows: usize, filling: Filling) -> Fragment {
    Fragment::new(rows, 8, filling, |lane, index| (lane / 4 + 8 * (index / 2), 2 * (lane % 4) + index % 2))
}

/// Products that `m8n8k4` of `f16` computes.
pub const QUAD_PAIRS: usize = 4;

/// The product that `lane` belongs to in `m8n8k4` of `f16`, its number in its four lanes, and 4 in the upper half
/// of the warp.
fn quad_pair(lane: usize) -> (usize, usize, usize) {
    (lane % 16 / 4, lane % 4, if lane < 16 { 0 } else { 4 })
}

/// The four matrices A of `m8n8k4`, below one another.
#[must_use]
pub fn left_quad_pairs(filling: Filling, column_major: bool) -> Fragment {
    Fragment::new(8 * QUAD_PAIRS, 4, filling, |lane, index| {
        let (pair, number, upper) = quad_pair(lane);
        let (row, column) = if column_major { (index + upper, number) } else { (number + upper, index) };
        (8 * pair + row, column)
    })
}

/// The four matrices B of `m8n8k4`, below one another.
#[must_use]
pub fn right_quad_pairs(filling: Filling, column_major: bool) -> Fragment {
    Fragment::new(4 * QUAD_PAIRS, 8, filling, |lane, index| {
        let (pair, number, upper) = quad_pair(lane);
        let (row, column) = if column_major { (index, number + upper) } else { (number, index + upper) };
        (4 * pair + row, column)
    })
}

/// The four matrices C or D of `m8n8k4`, below one another; their layout hangs on the width of the elements.
#[must_use]
pub fn sum_quad_pairs(filling: Filling) -> Fragment {
    Fragment::new(8 * QUAD_PAIRS, 8, filling, |lane, index| {
        let (pair, number, upper) = quad_pair(lane);
        let (row, column) = if filling.stride == 16 {
            (number + upper, index)
        } else {
            ((number & 1) + (index & 2) + upper, (index & 4) + (number & 2) + (index & 1))
        };
        (8 * pair + row, column)
    })
}
