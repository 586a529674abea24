//! The kernels that mistakes are tried on, with what each of them does.

use super::line::{Line, parse};
use crate::generated::{generated, launch_of};
use crate::modules::{ModuleFile, corpus, mistakes};
use ptxopt::check::{CheckOptions, Reference, Verdict, launches, phases};
use ptxopt::{OptLevel, Options};
use ptxopt_emulator::LoadError;
use std::sync::OnceLock;

/// Generated kernels, seeds counted from 0.
const GENERATED: usize = 800;

/// Thread-instructions of one launch; the kernels take a tenth at most. A mistake that never ends costs twice as many.
const STEPS_MAX: u64 = 5_000_000;

/// A module and what its kernels do.
pub struct Judged {
    /// Where it is from: a file, or a seed.
    pub name: String,
    /// The module as the writer prints it.
    pub lines: Vec<Line>,
    reference: Reference,
}

impl Judged {
    /// Nothing where no launch judges a kernel of the module.
    fn new(name: String, text: &[u8], reference: Result<Reference, LoadError>) -> Option<Self> {
        let reference = reference.unwrap_or_else(|error| panic!("{name}: {error}"));
        if reference.judged_count() == 0 {
            return None;
        }
        let options = Options { level: OptLevel::O0, ..Options::default() };
        let printed = ptxopt::optimize(text, &options).unwrap_or_else(|error| panic!("{name}: {error}")).text;
        let judged = Self { name, lines: parse(&String::from_utf8_lossy(&printed)), reference };
        // The judge must not cry wolf.
        let verdict = judged.differs(&super::line::print(&judged.lines));
        assert_eq!(verdict, None, "{} differs without a mistake", judged.name);
        Some(judged)
    }

    /// What the kernels of `text` do otherwise.
    ///
    /// # Panics
    /// When `text` is no module: then it is the mistake that is wrong.
    #[must_use]
    pub fn differs(&self, text: &str) -> Option<String> {
        let kernels = self.reference.compare(text.as_bytes());
        let kernels = kernels.unwrap_or_else(|error| panic!("{}: {error}\n{text}", self.name));
        let difference = kernels.iter().find_map(|kernel| match &kernel.verdict {
            Verdict::Different(what) => Some(format!("{}: {what}", kernel.entry)),
            _ => None,
        });
        assert_eq!(difference.is_some(), phases::is_different(&kernels));
        difference
    }
}

/// The kernels, each judged when it is first asked for.
pub struct Kernels {
    files: Vec<ModuleFile>,
    corpus: Vec<OnceLock<Option<Judged>>>,
    generated: Vec<OnceLock<Option<Judged>>>,
}

impl Kernels {
    /// The corpus, modules written by hand before compiled ones; those for mistakes alone; generated kernels.
    #[must_use]
    pub fn new() -> Self {
        let rank = |file: &ModuleFile| {
            ["/ptx/", "/O3/", "/O0/"].iter().position(|folder| file.name.contains(folder))
        };
        let mut files: Vec<ModuleFile> = corpus().into_iter().filter(|file| rank(file).is_some()).collect();
        files.sort_by_key(rank);
        files.extend(mistakes());
        let unknown = |count: usize| std::iter::repeat_with(OnceLock::new).take(count).collect();
        Self { corpus: unknown(files.len()), generated: unknown(GENERATED), files }
    }

    /// The modules of the corpus that a launch judges.
    pub fn corpus(&self) -> impl Iterator<Item = &Judged> {
        self.corpus
            .iter()
            .zip(&self.files)
            .filter_map(|(cell, file)| cell.get_or_init(|| of_file(file)).as_ref())
    }

    /// The generated kernels that a launch judges.
    pub fn generated(&self) -> impl Iterator<Item = &Judged> {
        self.generated.iter().zip(0..).filter_map(|(cell, seed)| cell.get_or_init(|| of_seed(seed)).as_ref())
    }
}

impl Default for Kernels {
    fn default() -> Self {
        Self::new()
    }
}

fn of_file(file: &ModuleFile) -> Option<Judged> {
    let text = file.text();
    let lines = launches::find(&file.path, &text).unwrap_or_else(|error| panic!("{}: {error}", file.name));
    // A module without a launch line needs a host.
    if lines.is_empty() {
        return None;
    }
    let options = CheckOptions { steps_max: STEPS_MAX, ..CheckOptions::default() };
    Judged::new(file.name.clone(), &text, Reference::new(&text, &lines, options))
}

fn of_seed(seed: u64) -> Option<Judged> {
    let kernel = generated(seed);
    let options = CheckOptions { seeds: 1, steps_max: STEPS_MAX, races: true };
    let reference = Reference::of_launch(kernel.text().as_bytes(), launch_of(&kernel), options);
    Judged::new(format!("seed {seed}"), kernel.text().as_bytes(), reference)
}
