//! The verifiers together: against everything that the reader makes of real code, and inside a shard.

use super::testing::{Built, modules};
use super::*;
use crate::analyze;
use crate::flow::split_at_control_flow;
use crate::upkeep::sweep;
use crate::values::eliminate_dead;
use bevy_ecs::prelude::*;
use ptxopt_engine::dataflow::liveness::{LiveSet, LiveSets, LivenessScratch, solve};
use ptxopt_engine::ptx::reader::{ReaderScratch, read};
use ptxopt_engine::ptx::scan::Module;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::{Limits, Phase, Plan, Settings, Step, Verify};
use ptxopt_engine::run::shard::{BatchOutput, Shard};
use ptxopt_engine::store::as_read::AsRead;
use ptxopt_engine::store::columns::InstsMut;
use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Time and findings of one verifier over many functions.
#[derive(Default)]
struct Tally {
    time: Duration,
    found: Vec<String>,
}

/// By verifier.
#[derive(Default)]
struct Tallies {
    all: Vec<(&'static str, Tally)>,
    inst_count: usize,
    function_count: usize,
}

impl Tallies {
    fn of(&mut self, name: &'static str) -> &mut Tally {
        if !self.all.iter().any(|(other, _)| *other == name) {
            self.all.push((name, Tally::default()));
        }
        &mut self.all.iter_mut().find(|(other, _)| *other == name).expect("just pushed").1
    }

    fn time(&mut self, name: &'static str, verify: impl FnOnce() -> Verdict) {
        let start = Instant::now();
        let verdict = verify();
        let tally = self.of(name);
        tally.time += start.elapsed();
        tally.found.extend(verdict.err());
    }
}

/// Runs every verifier over the functions of one module.
fn verify_all(built: &Built, tallies: &mut Tallies) {
    let view = built.tables.view();
    let mut as_read = AsRead::default();
    as_read.keep(&built.tables, &built.text);
    tallies.time("rows", || rows::verify_spans(&view));
    let (mut seen, mut edge_scratch, mut flow_scratch) =
        (rows::SeenNames::default(), edges::Scratch::default(), control_flow::Scratch::default());
    let (mut solver, mut set, mut liveness_scratch) =
        (LivenessScratch::default(), LiveSet::default(), liveness::Scratch::default());
    let forms = &built.forms;
    for function in view.functions() {
        if function.state.flags.contains(CodeFlags::LEFT) {
            continue;
        }
        let function = &function;
        tallies.inst_count += function.heads.len();
        tallies.function_count += 1;
        tallies.time("rows", || rows::verify(function, &mut seen));
        tallies.time("forms", || forms::verify(function, forms));
        tallies.time("operand_types", || operand_types::verify(function, forms));
        tallies.time("edges", || edges::verify(function, &mut edge_scratch));
        tallies.time("terminators", || terminators::verify(function));
        tallies.time("tables", || tables::verify(function, forms));
        tallies.time("async_registers", || async_registers::verify(function, forms));
        let before = &as_read.function(function.code).expect("it is kept");
        tallies.time("in_flight", || in_flight::verify(function, before, forms));
        tallies.time("call_sequences", || call_sequences::verify(function, before, forms));
        tallies.time("anchors", || anchors::verify(function, before, &as_read));
        tallies.time("control_flow", || control_flow::verify(function, &mut flow_scratch));
        if function.blocks.len() <= control_flow_full::BLOCKS_MAX {
            tallies.time("control_flow_full", || control_flow_full::verify(function));
        }
        solve(function, forms, &mut solver, &mut set);
        tallies.time("liveness", || liveness::verify(function, forms, &set, &mut liveness_scratch));
        tallies.time("liveness_full", || liveness_full::verify(function, forms, &set));
    }
}

#[test]
fn nothing_is_wrong_with_what_the_reader_makes() {
    let mut tallies = Tallies::default();
    let (mut reader, mut built) = (ReaderScratch::default(), Built::default());
    let files = modules();
    assert!(files.len() > 250, "the corpus lies beside the workspace");
    for path in files {
        built.text = std::fs::read(&path).unwrap();
        let module = Module::scan(&built.text).unwrap();
        read(&module, &module.functions, &mut built.forms, &mut reader, &mut built.tables).unwrap();
        built.analyze();
        let before: Vec<usize> = tallies.all.iter().map(|(_, tally)| tally.found.len()).collect();
        verify_all(&built, &mut tallies);
        for ((name, tally), before) in tallies.all.iter().zip(before) {
            for found in &tally.found[before..] {
                println!("{}: {name}: {found}", path.display());
            }
        }
    }
    println!("{} functions, {} instructions", tallies.function_count, tallies.inst_count);
    for (name, tally) in &tallies.all {
        let per_inst = tally.time.as_nanos() as f64 / tallies.inst_count as f64;
        println!("{name:18} {per_inst:6.1} ns an instruction, {} findings", tally.found.len());
    }
    assert!(tallies.all.iter().all(|(_, tally)| tally.found.is_empty()));
}

pub(crate) const PLAN_LIMITS: Limits = Limits { time_ms: 60_000, memory: u64::MAX, growth_percent: 400 };

thread_local! {
    /// Shards of this test, by their phases: to make one takes far longer than a kernel of a few lines does.
    static SHARDS: RefCell<HashMap<Vec<*const Phase>, Shard>> = RefCell::default();
}

/// Runs `phases` over a module with every verifier after each.
pub(crate) fn run(text: &[u8], phases: &[&'static Phase]) -> BatchOutput {
    let key: Vec<*const Phase> = phases.iter().map(|&phase| &raw const *phase).collect();
    let made = SHARDS.with_borrow_mut(|shards| shards.remove(&key));
    let mut shard = made.unwrap_or_else(|| {
        let plan = plan(phases);
        plan.check(&[]).unwrap();
        Shard::new(&plan)
    });
    let module = Module::scan(text).unwrap();
    let output = shard.run(&module, &module.functions).unwrap();
    SHARDS.with_borrow_mut(|shards| shards.insert(key, shard));
    output
}

/// A plan of `phases` with every verifier after each.
pub(crate) fn plan(phases: &[&'static Phase]) -> Plan {
    let step = |(number, phase): (usize, &&'static Phase)| Step::new(number as u16, phase);
    Plan {
        steps: phases.iter().enumerate().map(step).collect(),
        analyses: &[
            &analyze::control_flow::ANALYSIS,
            &analyze::loops::ANALYSIS,
            &analyze::post_dominators::ANALYSIS,
            &analyze::liveness::PHASE,
            &analyze::uniformity::ANALYSIS,
            &analyze::def_use::ANALYSIS,
        ],
        checks: ALL,
        verify: Verify::Full,
        fuel: None,
        remarks: true,
        fingerprint: None,
        limits: PLAN_LIMITS,
        settings: Settings::default(),
        careful: Settings::default(),
        keep_rolled: false,
        keep_grown: false,
    }
}

/// Runs a plan over a module.
pub(crate) fn run_plan(text: &[u8], plan: Plan) -> BatchOutput {
    plan.check(&[]).unwrap();
    let module = Module::scan(text).unwrap();
    Shard::new(&plan).run(&module, &module.functions).unwrap()
}

#[test]
fn the_phases_leave_nothing_wrong() {
    let phases: &[&Phase] = &[
        &analyze::control_flow::PHASE,
        &split_at_control_flow::PHASE,
        &eliminate_dead::SIMPLE,
        &eliminate_dead::FULL,
        &sweep::PHASE,
    ];
    for path in modules().into_iter().filter(|path| path.to_string_lossy().contains("tests/corpus")) {
        let text = std::fs::read(&path).unwrap();
        for function in run(&text, phases).functions {
            let reason = function.left.unwrap_or_default();
            assert!(!reason.contains("check"), "{}: {reason}", path.display());
        }
    }
}

/// A phase with a bug: it moves the first row to a block that is not there.
static BREAKS_ROWS: Phase = Phase {
    name: "breaks_rows",
    install: |slot| {
        slot.add(|mut insts: InstsMut| {
            insts.columns().0[0].block = BlockId(7);
        });
    },
    ..Phase::NOTHING
};

#[test]
fn a_function_that_a_phase_breaks_is_left_with_the_reason() {
    let text = b".version 8.0\n.target sm_90\n.entry k() { ret; }\n.entry l() { ret; }\n";
    let output = run(text, &[&BREAKS_ROWS]);
    let reasons: Vec<Option<&str>> =
        output.functions.iter().map(|function| function.left.as_deref()).collect();
    let reason = "check rows failed after breaks_rows: bix0 i0: its row says that it lies in bix7";
    assert_eq!(reasons, [Some(reason), None]);
    assert!(output.text.starts_with(b".entry k() { ret; }"), "as it came in");
}

/// A phase for which live sets are solved.
static NEEDS_LIVENESS: Phase = Phase {
    name: "needs_liveness",
    needs: &[Fact::ControlFlow, Fact::Liveness],
    install: |_| {},
    ..Phase::NOTHING
};

/// A phase with a bug: it changes live sets and leaves the fact as it is.
static BREAKS_LIVENESS: Phase = Phase {
    name: "breaks_liveness",
    needs: &[Fact::ControlFlow],
    install: |slot| {
        slot.add(|mut sets: ResMut<LiveSets>| {
            let set = sets.of(CodeId::new(0));
            let vreg = set.globals()[0];
            set.damage(true, BlockId(0), vreg, false);
        });
    },
    ..Phase::NOTHING
};

#[test]
fn live_sets_are_verified_as_long_as_the_fact_holds() {
    let text = b".version 8.0\n.target sm_90\n.entry k() { .reg .pred p; L: @p bra L; ret; }\n";
    let phases: &[&Phase] = &[&split_at_control_flow::PHASE, &NEEDS_LIVENESS];
    assert_eq!(run(text, phases).functions[0].left, None);
    let broken = run(text, &[phases, &[&BREAKS_LIVENESS]].concat());
    let reason = broken.functions[0].left.as_deref().unwrap_or_default();
    assert!(reason.starts_with("check liveness failed after breaks_liveness: bix"), "{reason}");
}

#[test]
fn names_are_unlike() {
    for (at, check) in ALL.iter().enumerate() {
        assert!(ALL[..at].iter().all(|other| other.name != check.name), "{}", check.name);
    }
}
