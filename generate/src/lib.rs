//! generator
pub mod catalogue;
pub mod grow;
pub mod launch;
pub mod options;
pub mod random;
pub mod tree;
pub mod print;

use launch::Launch;
use options::Options;
use tree::Program;

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
