//! SSA form from outside: only the phases between the one that builds it and the one that leaves it see phis.

use bevy_ecs::change_detection::ResMut;
use bevy_ecs::resource::Resource;
use ptxopt::{Options, Status, optimize_with_plan, standard};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_engine::ptx::scan::Module;
use ptxopt_engine::run::phase::{Phase, Slot, Step};
use ptxopt_engine::store::columns::Code;
use ptxopt_tests::modules::{corpus, expect_none, in_parallel};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The steps that build SSA form and leave it.
const SECTION: std::ops::Range<u16> = 23..73;

/// Panics where it sees SSA form. Stands after each step outside of the section.
static OUTSIDE: Phase =
    Phase { name: "outside", install: |slot: &mut Slot<'_>| slot.add(sees_no_phi), ..Phase::NOTHING };

/// Counts phis, and panics where a function that phases work on is not in SSA form. Stands after each step inside.
static INSIDE: Phase = Phase {
    name: "inside",
    install: |slot: &mut Slot<'_>| {
        slot.init_resource::<Seen>();
        slot.add(sees_ssa_form);
    },
    ..Phase::NOTHING
};

/// Phis that were seen, each as often as a step left it.
static PHIS: AtomicUsize = AtomicUsize::new(0);

#[derive(Resource, Default)]
struct Seen(usize);

fn sees_no_phi(code: Code) {
    for function in code.view().functions() {
        assert!(
            !function.state.flags.contains(CodeFlags::SSA),
            "a function in SSA form outside of the section"
        );
        assert!(function.rows().all(|(_, head, _)| !head.is_phi()), "a phi outside of the section");
    }
}

fn sees_ssa_form(code: Code, mut seen: ResMut<Seen>) {
    for function in code.view().functions() {
        let flags = function.state.flags;
        let is_worked_on = flags.contains(CodeFlags::SELECTED | CodeFlags::TERMINATORS_LAST);
        let is_in_ssa = flags.contains(CodeFlags::SSA);
        assert!(is_in_ssa || !is_worked_on || flags.contains(CodeFlags::LEFT), "not in SSA form");
        seen.0 += function.rows().filter(|(_, head, _)| head.is_phi()).count();
    }
    PHIS.fetch_add(std::mem::take(&mut seen.0), Ordering::Relaxed);
}

#[test]
fn nothing_outside_of_the_section_sees_a_phi() {
    let modules = corpus();
    let options = Options::default();
    let verdicts = in_parallel(&modules, |module| {
        let text = module.text();
        let is_debug = Module::scan(&text).expect("the corpus is well-formed").is_debug;
        let mut plan = standard::plan(&options, is_debug);
        let observed = plan.steps.iter().flat_map(|&step| {
            let phase = if !is_debug && SECTION.contains(&step.number) { &INSIDE } else { &OUTSIDE };
            let number = Step::OBSERVERS + step.number;
            [step, Step::new(number, phase)]
        });
        plan.steps = observed.collect();
        let output = optimize_with_plan(&text, &plan).map_err(|error| error.to_string())?;
        let report = &output.report;
        let is_right = report.status == Status::Ok && report.undone.is_empty();
        is_right
            .then_some(())
            .ok_or_else(|| format!("{}: {:?} {:?}", module.name, report.left, report.undone))
    });
    expect_none("modules", &verdicts.into_iter().filter_map(Result::err).collect::<Vec<_>>());
    assert!(PHIS.load(Ordering::Relaxed) > 10_000, "{} phis", PHIS.load(Ordering::Relaxed));
}
