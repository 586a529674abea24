//! Block scaling: each block of A and B along the depth has a factor.
//!
//! After C stand the register with the factors of A, the number of the first byte and of the thread pair that hold
//! them, and the same for B. The factors of row `r` of A lie in lane `4 * (r % 8) + 2 * pair + r / 8`, those of column
//! `c` of B in lane `4 * c + thread`, one byte a block from the first byte on. The selectors are the same in all lanes
//! and are read from the first.

use super::shape::Shape;
use crate::arith::float::format::Format;
use crate::lanes::Lanes;

/// Types and number of the factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scales {
    /// Blocks along the depth.
    pub blocks: usize,
    /// `ue4m3` rather than `ue8m0`.
    pub fraction: bool,
}

impl Scales {
    /// Sources of an instruction with block scales, after C.
    pub const SOURCES: usize = 6;

    /// The factors of `kind` for a product of `shape`, from the qualifier `.scale_vec` if there is one.
    #[must_use]
    pub fn parse(kind: &str, vector: Option<&str>, factor: &str, shape: Shape) -> Option<Self> {
        let (depth, blocks, fraction) = match (kind, vector, factor) {
            ("mxf8f6f4", None | Some("1X"), "ue8m0") => (32, 1, false),
            ("mxf4", None | Some("2X"), "ue8m0") | ("mxf4nvf4", Some("2X"), "ue8m0") => (64, 2, false),
            ("mxf4nvf4", Some("2X"), "ue4m3") => (64, 2, true),
            ("mxf4nvf4", Some("4X"), "ue4m3") => (64, 4, true),
            ("mxf4nvf4", Some("4X"), "ue8m0") => (64, 4, false),
            _ => return None,
        };
        shape.is(16, 8, depth).then_some(Self { blocks, fraction })
    }

    /// Multiplies the elements of A (row by row) and B (row by row) by their factors, which is exact.
    pub fn apply(self, sources: &[&Lanes], left: &mut [f64], right: &mut [f64], depth: usize) {
        let &[left_data, left_byte, left_pair, right_data, right_byte, right_thread] = sources else {
            return;
        };
        let block = depth / self.blocks;
        let (pair, first) = (left_pair[0] as usize & 1, left_byte[0] as usize);
        for (row, elements) in left.chunks_exact_mut(depth).enumerate() {
            let data = left_data[4 * (row % 8) + 2 * pair + row / 8];
            for (k, element) in elements.iter_mut().enumerate() {
                *element *= self.factor(data, first + k / block);
            }
        }
        let columns = right.len() / depth;
        let (thread, first) = (right_thread[0] as usize & 3, right_byte[0] as usize);
        for (k, elements) in right.chunks_exact_mut(columns).enumerate() {
            for (column, element) in elements.iter_mut().enumerate() {
                *element *= self.factor(right_data[4 * column + thread], first + k / block);
            }
        }
    }

    /// The factor in byte `byte` of `data`.
    fn factor(self, data: u64, byte: usize) -> f64 {
        let bits = data >> (8 * (byte & 3)) & 0xFF;
        match (self.fraction, bits) {
            (true, _) => Format::E4M3.decode(bits & 0x7F),
            (false, 0xFF) => f64::NAN,
            (false, _) => f64::from_bits((bits + 1023 - 127) << 52),
        }
    }
}
