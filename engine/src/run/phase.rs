//! Phases, steps, and the plan they make.
//!
//! A phase is an algorithm with its declared needs; a step is a place in the pipeline where it runs. One phase may
//! run as several steps. A [`Plan`] is checked when it is built, so a pipeline that cannot be right never starts.

use crate::edit::compact::ORDER_ROWS;
use crate::run::facts::{Fact, Memo};
use bevy_ecs::prelude::*;
use bevy_ecs::system::ScheduleSystem;
use ptxopt_components::code_object::CodeFlags;
use std::fmt;
use std::sync::Arc;

/// Where a phase or check installs its systems.
pub struct Slot<'a> {
    pub(crate) world: &'a mut World,
    pub(crate) schedule: &'a mut Schedule,
}

impl Slot<'_> {
    /// Makes sure that the shard has a resource of the phase's own.
    pub fn init_resource<R: Resource + FromWorld>(&mut self) {
        self.world.init_resource::<R>();
    }

    /// Adds a system, or several in an order of their own.
    pub fn add<M>(&mut self, systems: impl IntoScheduleConfigs<ScheduleSystem, M>) {
        self.schedule.add_systems(systems);
    }
}

/// An algorithm of the pipeline.
pub struct Phase {
    /// Its name: file, flag, statistics and golden folder.
    pub name: &'static str,
    /// Facts that must hold when it runs.
    pub needs: &'static [Fact],
    /// Facts that hold after it. Where they all hold before it, for every function, it does nothing but remark on them; then it
    /// is passed over where no remarks are kept.
    pub gives: &'static [Fact],
    /// What it remembers of a function in which it found nothing more to do: it is not run where that holds for all.
    pub memo: Option<Memo>,
    /// It works on functions with these flags only: it is not run, and nothing is computed for it, where no function has them.
    pub only: CodeFlags,
    /// It does nothing where functions are not in SSA form.
    pub in_ssa: bool,
    /// Facts that it may break; epochs say whether it did.
    pub breaks: &'static [Fact],
    /// Later phases are wrong without it: it cannot be switched off.
    pub required: bool,
    /// It changes no instruction: it runs at -O0 and in debug modules too.
    pub layout_only: bool,
    /// When it is part of a pipeline whose level it runs at.
    pub wanted: Wanted,
    /// Whether the verifiers of `Verify::Off` run after it when none are asked for.
    pub verified: bool,
    /// Rows that it may add to a function, in percent of those that the function came with. What adds none, or a few where
    /// it also takes some away, says 0.
    pub room_percent: u32,
    /// Installs its systems.
    pub install: fn(&mut Slot<'_>),
}

impl Phase {
    /// A phase that does nothing: what a phase does not say of itself.
    pub const NOTHING: Self = Self {
        name: "nothing",
        needs: &[],
        gives: &[],
        memo: None,
        only: CodeFlags::empty(),
        in_ssa: false,
        breaks: &[],
        required: false,
        layout_only: false,
        wanted: Wanted::Always,
        verified: false,
        room_percent: 0,
        install: |_| {},
    };
}

/// The phase of each step of the running pipeline.
#[derive(Resource, Default)]
pub struct StepPhases(pub Vec<&'static Phase>);

/// When a phase is part of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Always.
    Always,
    /// Where remarks are kept: it makes nothing else.
    ForRemarks,
    /// Where remarks or verifiers look at the fact that it computes. Phases that need the fact get it anyway.
    WhenLookedAt,
    /// Where verifiers or dumps show what it does: it makes nothing else.
    WhenShown,
}

/// A verifier: one invariant, checked after every step when asked for.
pub struct Check {
    /// The fact or table it checks.
    pub name: &'static str,
    /// From which level on it runs after every step: `Full` where it computes again what it checks, in the slow, obvious
    /// way. `Off` stands for the end of a pipeline after whose steps nothing is verified.
    pub from: Verify,
    /// Installs its system.
    pub install: fn(&mut Slot<'_>),
}

/// How much is verified after each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Verify {
    /// Nothing.
    #[default]
    Off,
    /// What a linear pass can see.
    Fast,
    /// Every fact against its slow twin too.
    Full,
}

/// A place in the pipeline.
#[derive(Clone, Copy)]
pub struct Step {
    /// Phase number in the source list.
    pub number: u16,
    /// Phase name in the source list.
    pub name: &'static str,
    /// What runs.
    pub phase: &'static Phase,
    /// Whether the code is dumped after it.
    pub dump: bool,
    /// Whether the verifiers of `Verify::Off` run after it when none are asked for.
    pub verified: bool,
}

impl Step {
    /// Numbers from here on belong to steps that are no phases of the source: they look, and write to the dumps.
    pub const OBSERVERS: u16 = 1000;

    /// A step for a phase, under the phase's own name: nothing is dumped, and nothing verified unasked.
    #[must_use]
    pub const fn new(number: u16, phase: &'static Phase) -> Self {
        Self { number, name: phase.name, phase, dump: false, verified: false }
    }

    /// Whether the step may write to the dumps.
    #[must_use]
    pub const fn dumps(&self) -> bool {
        self.dump || self.number >= Self::OBSERVERS
    }
}

/// "`before` runs before `after`, because."
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// Name of the earlier step.
    pub before: &'static str,
    /// Name of the later step.
    pub after: &'static str,
    /// Why.
    pub reason: &'static str,
}

/// Everything that a shard runs.
#[derive(Clone)]
pub struct Plan {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// What computes each fact.
    pub analyses: &'static [&'static Phase],
    /// The verifiers.
    pub checks: &'static [Check],
    /// How much of them runs.
    pub verify: Verify,
    /// Most changes that a run may make.
    pub fuel: Option<u64>,
    /// Whether remarks are kept.
    pub remarks: bool,
    /// Only functions with this fingerprint are worked on.
    pub fingerprint: Option<u64>,
    /// What one function may cost.
    pub limits: Limits,
    /// What phases read of the options.
    pub settings: Settings,
    /// What stands in place of some of them where a function runs again that came out larger than its limit.
    pub careful: Settings,
    /// Whether the assembler is asked to unroll no loop.
    pub keep_rolled: bool,
    /// Whether functions stay that come out larger than the growth limit allows.
    pub keep_grown: bool,
}

/// Values that phases read as resources of their own types: knobs and limits, once for a shard.
#[derive(Clone, Default)]
pub struct Settings {
    all: Vec<InstallSettings>,
}

/// Puts the settings of one phase into a World.
type InstallSettings = Arc<dyn Fn(&mut World) + Send + Sync>;

impl Settings {
    /// Adds the settings of a phase. A type that is added again replaces what was there.
    #[must_use]
    pub fn with(mut self, settings: impl Resource + Clone) -> Self {
        self.all.push(Arc::new(move |world| world.insert_resource(settings.clone())));
        self
    }

    /// These settings, with others in place of those of the same type.
    #[must_use]
    pub fn and(mut self, others: &Settings) -> Self {
        self.all.extend_from_slice(&others.all);
        self
    }

    /// Puts all of them into a World.
    pub(crate) fn install(&self, world: &mut World) {
        self.all.iter().for_each(|install| install(world));
    }
}

/// What one function may cost before it is passed through unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// CPU time of its phases in milliseconds.
    pub time_ms: u64,
    /// Bytes of its tables.
    pub memory: u64,
    /// Instructions it may have at the end, in percent of those it came with.
    pub growth_percent: u64,
}

/// Why a plan is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// Two steps share a number.
    DuplicateStep(u16),
    /// A step needs a fact that nothing computes.
    NoAnalysis {
        /// The step.
        step: &'static str,
        /// The fact.
        fact: Fact,
    },
    /// A step runs before one that has to precede it.
    OutOfOrder {
        /// Name of the step that must come first.
        before: &'static str,
        /// Name of the step that must come second.
        after: &'static str,
        /// Why.
        reason: &'static str,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateStep(number) => write!(f, "step {number} stands twice in the pipeline"),
            Self::NoAnalysis { step, fact } => {
                write!(f, "step `{step}` needs {fact:?}, which nothing computes")
            }
            Self::OutOfOrder { before, after, reason } => {
                write!(f, "`{before}` must run before `{after}`: {reason}")
            }
        }
    }
}

impl std::error::Error for PlanError {}

impl Plan {
    /// Checks the plan against itself and against `order`. Edges whose steps do not both run say nothing.
    ///
    /// # Errors
    /// The first thing that makes it invalid.
    pub fn check(&self, order: &[Edge]) -> Result<(), PlanError> {
        for (at, step) in self.steps.iter().enumerate() {
            if self.steps[..at].iter().any(|earlier| earlier.number == step.number) {
                return Err(PlanError::DuplicateStep(step.number));
            }
            if let Some(&fact) =
                self.facts_for(step.phase).iter().find(|&&fact| self.analysis(fact).is_none())
            {
                return Err(PlanError::NoAnalysis { step: step.name, fact });
            }
        }
        let position = |name| self.steps.iter().position(|step| step.name == name);
        for &Edge { before, after, reason } in order {
            if let (Some(first), Some(second)) = (position(before), position(after))
                && first > second
            {
                return Err(PlanError::OutOfOrder { before, after, reason });
            }
        }
        Ok(())
    }

    /// Whether one batch may hold functions of several modules: nothing is counted over a module, and nothing looks at its
    /// text between reading and writing.
    #[must_use]
    pub fn takes_modules_together(&self) -> bool {
        let looks = self.remarks || self.fingerprint.is_some() || self.steps.iter().any(Step::dumps);
        self.verify == Verify::Off && self.fuel.is_none() && !looks
    }

    /// The facts that must hold when `phase` runs, those first on which the analyses of others rely.
    #[must_use]
    pub fn facts_for(&self, phase: &Phase) -> Vec<Fact> {
        let mut facts = Vec::new();
        self.add_facts(phase, &mut facts);
        // It gives instructions new ids, so whatever names them comes after it.
        if let Some(at) = facts.iter().position(|&fact| fact == Fact::ProgramOrder) {
            facts[..=at].rotate_right(1);
        }
        facts
    }

    fn add_facts(&self, phase: &Phase, facts: &mut Vec<Fact>) {
        for &fact in phase.needs {
            if facts.contains(&fact) {
                continue;
            }
            if let Some(analysis) = self.analysis(fact) {
                self.add_facts(analysis, facts);
            }
            facts.push(fact);
        }
    }

    /// What computes `fact`.
    #[must_use]
    pub fn analysis(&self, fact: Fact) -> Option<&'static Phase> {
        let analyses = self.analyses.iter().copied().chain([&ORDER_ROWS]);
        analyses.into_iter().find(|phase| phase.gives.contains(&fact))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests;

    static NOTHING: Phase = Phase::NOTHING;
    static HUNGRY: Phase = Phase { name: "hungry", needs: &[Fact::Liveness], ..NOTHING };

    static MAKES_LOOPS: Phase = Phase { needs: &[Fact::ControlFlow], gives: &[Fact::Loops], ..NOTHING };
    static MAKES_FLOW: Phase = Phase { gives: &[Fact::ControlFlow], ..NOTHING };
    static NEEDS_LOOPS: Phase = Phase { needs: &[Fact::Loops], ..NOTHING };

    #[test]
    fn an_analysis_gets_what_it_needs_first() {
        static BOTH: &[&Phase] = &[&MAKES_LOOPS, &MAKES_FLOW];
        let mut plan = plan(&[(1, "a", &NEEDS_LOOPS)]);
        plan.analyses = BOTH;
        assert_eq!(plan.facts_for(&NEEDS_LOOPS), [Fact::ControlFlow, Fact::Loops]);
        assert_eq!(plan.check(&[]), Ok(()));
        plan.analyses = &BOTH[..1];
        let error = PlanError::NoAnalysis { step: "a", fact: Fact::ControlFlow };
        assert_eq!(plan.check(&[]), Err(error));
    }

    fn plan(steps: &[(u16, &'static str, &'static Phase)]) -> Plan {
        let step = |&(number, name, phase): &_| Step { name, ..Step::new(number, phase) };
        Plan { steps: steps.iter().map(step).collect(), ..tests::plan(&[], tests::LIMITS) }
    }

    #[test]
    fn plans_that_cannot_be_right_are_refused() {
        let order = [Edge { before: "a", after: "b", reason: "b eats what a makes" }];
        assert_eq!(plan(&[(1, "a", &NOTHING), (2, "b", &NOTHING)]).check(&order), Ok(()));
        assert_eq!(
            plan(&[(1, "a", &NOTHING), (1, "b", &NOTHING)]).check(&order),
            Err(PlanError::DuplicateStep(1))
        );
        assert_eq!(
            plan(&[(1, "a", &HUNGRY)]).check(&order),
            Err(PlanError::NoAnalysis { step: "a", fact: Fact::Liveness })
        );
        let error = plan(&[(2, "b", &NOTHING), (1, "a", &NOTHING)]).check(&order).unwrap_err();
        assert_eq!(error.to_string(), "`a` must run before `b`: b eats what a makes");
    }
}
