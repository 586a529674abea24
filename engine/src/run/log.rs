//! What a run says about itself: remarks, times, counts, violations, dumps.

use crate::dataflow::print::Lines;
use crate::run::clock::Began;
use bevy_ecs::resource::Resource;
use ptxopt_components::ids::CodeId;
use std::borrow::Cow;
use std::sync::OnceLock;
use std::time::Instant;

/// What a remark tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemarkKind {
    /// A change was made.
    Passed,
    /// A change was possible and not made.
    Missed,
    /// Something was found out.
    Analysis,
}

/// One remark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// What it tells.
    pub kind: RemarkKind,
    /// Index of the step that made it.
    pub step: usize,
    /// The function.
    pub code: CodeId,
    /// Byte offset in the module of the instruction it is about.
    pub offset: u32,
    /// What was done, or why not.
    pub reason: Cow<'static, str>,
}

/// The remarks of a batch, when they are wanted.
#[derive(Resource, Default)]
pub struct Remarks {
    /// Whether remarks are kept.
    pub wanted: bool,
    /// What was remarked.
    pub all: Vec<Remark>,
}

impl Remarks {
    /// Keeps a remark, if any are wanted.
    #[inline]
    pub fn push(&mut self, remark: Remark) {
        if self.wanted {
            self.all.push(remark);
        }
    }
}

/// What one step did, summed over batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepStats {
    /// Wall time in nanoseconds, facts it needed and checks after it included.
    pub ns: u64,
    /// Changes made.
    pub changes: u64,
    /// Facts computed for it, in functions.
    pub facts_computed: u64,
    /// Times a named limit kept it from working on a function.
    pub limits_hit: u64,
    /// Functions for which it was undone.
    pub undone: u64,
}

/// The step that is running, and what the steps did.
#[derive(Resource)]
pub struct StepLog {
    /// Index of the running step.
    pub step: usize,
    /// By step.
    pub stats: Vec<StepStats>,
    /// By module of the batch and step: changes made.
    changes: Vec<u64>,
    /// When the running step began.
    pub(crate) began: Instant,
    /// When the batch began.
    pub(super) batch_began: Began,
}

impl StepLog {
    /// A log for `step_count` steps of a batch with functions of `module_count` modules.
    #[must_use]
    pub fn new(step_count: usize, module_count: usize) -> Self {
        let batch_began = Began::now();
        Self {
            step: 0,
            stats: vec![StepStats::default(); step_count],
            changes: vec![0; step_count * module_count],
            began: batch_began.at(),
            batch_began,
        }
    }

    /// Counts a change of a function of module number `module`.
    pub(crate) fn count_change(&mut self, module: u32) {
        self.current().changes += 1;
        self.changes[module as usize * self.stats.len() + self.step] += 1;
    }

    /// By step: the changes made in module number `module`.
    pub(crate) fn changes_of(&self, module: usize) -> &[u64] {
        &self.changes[module * self.stats.len()..][..self.stats.len()]
    }

    /// The stats of the running step.
    pub fn current(&mut self) -> &mut StepStats {
        &mut self.stats[self.step]
    }
}

/// What verifiers found after the running step.
#[derive(Resource, Default)]
pub struct Violations {
    /// Function, check, and what is wrong.
    pub all: Vec<(CodeId, &'static str, String)>,
}

/// Why a function is emitted as it came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The function.
    pub code: CodeId,
    /// The cause; equal causes have equal texts.
    pub reason: String,
}

/// The functions of the batch that are left as they came in.
#[derive(Resource, Default)]
pub struct LeftFunctions {
    /// In the order found.
    pub all: Vec<Left>,
}

/// A step that was undone for a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// The function.
    pub code: CodeId,
    /// Index of the step.
    pub step: usize,
    /// The cause.
    pub reason: String,
}

/// What was undone in the batch.
#[derive(Resource, Default)]
pub struct UndoneSteps {
    /// In the order of the steps.
    pub all: Vec<Undone>,
}

/// Text written by dump steps.
#[derive(Resource, Default)]
pub struct Dumps {
    /// The module's text; empty unless dumps or remarks are wanted.
    pub source: Vec<u8>,
    /// What was dumped.
    pub text: Vec<u8>,
    lines: OnceLock<Lines>,
}

impl Dumps {
    /// Takes the text of a module over, unless it has it already.
    pub fn set_source(&mut self, text: &[u8]) {
        if self.source != text {
            self.source = text.to_vec();
            self.lines = OnceLock::new();
        }
    }

    /// The lines of the module's text, which are looked for when they are first asked for.
    pub fn lines(&self) -> &Lines {
        self.lines.get_or_init(|| Lines::of(&self.source))
    }
}
