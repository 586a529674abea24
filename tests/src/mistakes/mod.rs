//! Deliberate mistakes: what a wrong optimizer would do to a module, each under the belief that leads to it.
//!
//! They prove that the judge bites: each must be caught by kernels of the corpus or by generated ones. A mistake is made
//! at every place where its belief suggests it, on the text that the writer prints, so that no hook for mistakes
//! stands in the code that ships.

mod arithmetic;
mod edges;
mod flow;
mod kernels;
pub mod line;
mod liveness;
mod memory;
mod page;
mod predicates;
mod ranges;
mod registers;
mod structure;
pub mod text;
mod threads;

pub use kernels::{Judged, Kernels};
pub use page::{OF_PHASES, markdown};

use line::Line;

/// A mistake.
pub struct Mistake {
    /// Its name.
    pub name: &'static str,
    /// The wrong belief.
    pub story: &'static str,
    /// The module with the mistake at all its places; nothing where there is none.
    pub apply: fn(&[Line]) -> text::Mutated,
    /// Corpus modules with a place for it, in order, among which one must catch it; none where the corpus has no
    /// kernel that does.
    pub corpus_max: Option<u32>,
    /// Likewise generated kernels.
    pub generated_max: Option<u32>,
}

impl Mistake {
    const fn new(
        name: &'static str,
        story: &'static str,
        [corpus_max, generated_max]: [u32; 2],
        apply: fn(&[Line]) -> text::Mutated,
    ) -> Self {
        const fn some(limit: u32) -> Option<u32> {
            if limit == 0 { None } else { Some(limit) }
        }
        Self { name, story, apply, corpus_max: some(corpus_max), generated_max: some(generated_max) }
    }
}

/// All mistakes, by family.
#[must_use]
pub fn all() -> Vec<&'static Mistake> {
    let families: [&'static [Mistake]; 10] = [
        &arithmetic::MISTAKES,
        &predicates::MISTAKES,
        &registers::MISTAKES,
        &liveness::MISTAKES,
        &ranges::MISTAKES,
        &memory::MISTAKES,
        &flow::MISTAKES,
        &edges::MISTAKES,
        &threads::MISTAKES,
        &structure::MISTAKES,
    ];
    families.into_iter().flatten().collect()
}
