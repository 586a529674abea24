//! Random PTX kernels that stress what optimizers get wrong, and a shrinker for those that fail.
//!
//! [`kernel`] makes a module and its launch from a seed. Kernels are valid by construction: the assembler takes them,
//! they end, no thread races with another, nothing reads what nothing wrote (but for reads whose results are dead),
//! and no result depends on what the ISA leaves open. All values that matter reach the output buffer. So a kernel that
//! behaves otherwise after a transformation has found a mistake, and [`shrink`] makes it small.
//!
//! # How it is valid by construction
//!
//! - Registers live in pools, one for each class, and all that the code uses are set on entry. Any statement may read
//!   and write any of them.
//! - Loops count in registers that nothing else writes; regions of gotos burn fuel on each jump backwards; functions
//!   call earlier functions, and themselves while there is depth left.
//! - A thread touches its own slots of the buffers, read-only tables, and counters that change by one commutative
//!   operation each. Values go from thread to thread through shared memory between two barriers, or by collectives.
//! - The printer tracks which threads are together: all of the CTA, known lanes of each warp, or unknown ones.
//!   Barriers and collectives are printed where the threads that they name are together.
//! - An asynchronous copy is waited for before its bytes are looked at. Matrices hold integers, or floats whose sums are
//!   exact. A trap that may happen ends all threads of the only CTA, or single threads after the last barrier; their
//!   results are stored.
//! - NaNs are made one before their bits are looked at. Float operations carry a rounding, so nothing contracts.
//! - Divisors are made odd or are constants, bit-field positions are bytes, jump-table indices are in range.
//!
//! # Seeds
//!
//! [`options::Options::for_seed`] draws sizes and weights, with about a third of the features left out of each kernel, so
//! that kernels differ in kind. The same seed gives the same bytes on every platform as long as this crate is the same.

mod catalogue;
mod grow;
pub mod launch;
pub mod options;
mod print;
mod random;
pub mod shapes;
mod shrink;
mod tree;

use launch::Launch;
use options::Options;
use tree::Program;

pub use shrink::shrink;

/// A kernel: text, launch, and the tree that it was printed from.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    program: Program,
    text: String,
    launch: Launch,
}

impl Kernel {
    fn new(program: Program) -> Self {
        let (text, launch) = print::print(&program);
        Self { program, text, launch }
    }

    /// The module.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How to launch its kernel.
    #[must_use]
    pub fn launch(&self) -> &Launch {
        &self.launch
    }
}

/// The kernel of a seed.
#[must_use]
pub fn kernel(seed: u64, options: &Options) -> Kernel {
    Kernel::new(grow::grow(seed, options))
}
