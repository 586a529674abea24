//! What the tensor instructions of a warp compute: matrix products, and where matrix elements lie in registers and
//! memory.
//!
//! # Numbers
//! - Floating-point products but those of `f64` are exact; the sum starts with the element of C, takes the products by
//!   ascending k, is kept in `f64`, and is rounded once, to nearest even, into D. The ISA asks for at least the precision
//!   of `f32` and leaves the order open.
//! - `f64` products are a chain of fused multiply-adds by ascending k, each rounded as the instruction says.
//! - Integer sums wrap, or clamp to 32 bits at the end with `.satfinite`.
//! - `tf32` sources ignore the 13 low bits of their registers. NaN results are canonical.

mod element;
mod fragment;
mod layout;
mod mma;
mod moves;
mod multiply;
mod scale;
mod shape;
#[cfg(test)]
mod tests;
mod wmma;

use crate::lanes::Lanes;

pub use mma::mma;
pub use moves::{MatrixMove, MatrixPiece, matrix_move, movmatrix};
pub use wmma::{WmmaFragment, wmma, wmma_fragment};

/// An evaluator of a whole warp: the registers of the sources in textual order in, those of the result out.
///
/// Every lane takes part. Registers narrower than 64 bits are zero-extended in their cells.
pub type WarpEvaluator = Box<dyn Fn(&[&Lanes], &mut [Lanes]) + Send + Sync>;
