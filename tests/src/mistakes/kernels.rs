//! The kernels that mistakes are tried on, with what each of them does.

use super::line::{Line, parse};
use crate::modules::{ModuleFile, corpus};
use ptxopt::check::{CheckOptions, Reference, Verdict, launches, phases};
use ptxopt::{OptLevel, Options};
use ptxopt_emulator::launch_lines::{ArgumentLine, Element, Fill, Lane, LaunchLine};
use ptxopt_generate::kernel;
use ptxopt_generate::launch::Argument;
use ptxopt_generate::options::Options as Sizes;
use std::sync::OnceLock;

/// Generated kernels, seeds counted from 0.
const GENERATED: usize = 400;

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
    fn new(name: String, text: &[u8], lines: &[LaunchLine], seeds: u64) -> Self {
        let options = CheckOptions { seeds, steps_max: STEPS_MAX, races: true };
        let reference = Reference::new(text, lines, options).unwrap_or_else(|error| panic!("{name}: {error}"));
        let options = Options { level: OptLevel::O0, ..Options::default() };
        let printed = ptxopt::optimize(text, &options).unwrap_or_else(|error| panic!("{name}: {error}")).text;
        let judged = Self { name, lines: parse(&String::from_utf8_lossy(&printed)), reference };
        // The judge must not cry wolf.
        let verdict = judged.differs(&super::line::print(&judged.lines));
        assert_eq!(verdict, None, "{} differs without a mistake", judged.name);
        judged
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
    /// The corpus, modules written by hand before compiled ones, and generated kernels.
    #[must_use]
    pub fn new() -> Self {
        let rank = |file: &ModuleFile| ["/ptx/", "/O3/", "/O0/"].iter().position(|folder| file.name.contains(folder));
        let mut files: Vec<ModuleFile> = corpus().into_iter().filter(|file| rank(file).is_some()).collect();
        files.sort_by_key(rank);
        let unknown = |count: usize| std::iter::repeat_with(OnceLock::new).take(count).collect();
        Self { corpus: unknown(files.len()), generated: unknown(GENERATED), files }
    }

    /// The modules of the corpus that a launch judges.
    pub fn corpus(&self) -> impl Iterator<Item = &Judged> {
        self.corpus.iter().zip(&self.files).filter_map(|(cell, file)| cell.get_or_init(|| of_file(file)).as_ref())
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
    let judged = Judged::new(file.name.clone(), &text, &lines, 2);
    (judged.reference.judged_count() > 0).then_some(judged)
}

fn of_seed(seed: u64) -> Option<Judged> {
    let kernel = kernel(seed, &Sizes::for_seed(seed));
    let launch = kernel.launch();
    let line = LaunchLine {
        entry: launch.entry.clone(),
        grid: launch.grid,
        block: launch.block,
        shared_bytes: launch.shared_bytes,
        arguments: launch.arguments.iter().map(argument_line).collect(),
    };
    let judged = Judged::new(format!("seed {seed}"), kernel.text().as_bytes(), &[line], 1);
    (judged.reference.judged_count() > 0).then_some(judged)
}

fn argument_line(argument: &Argument) -> ArgumentLine {
    let list = |values: Vec<u64>| Fill::List(values.iter().map(|&value| value as f64).collect(), values);
    let element = |bytes| Element { lane: Lane::Int(bytes), lanes: 1 };
    match argument {
        Argument::Buffer(bytes) => ArgumentLine {
            element: element(1),
            count: bytes.len(),
            fill: list(bytes.iter().map(|&byte| byte.into()).collect()),
            is_buffer: true,
        },
        Argument::Scalar(value) => {
            ArgumentLine { element: element(4), count: 1, fill: list(vec![(*value).into()]), is_buffer: false }
        }
    }
}
