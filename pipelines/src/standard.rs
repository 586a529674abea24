//! The standard pipeline: which system each row of the table runs, and what must come before what.

use crate::knobs::{Knob, settings};
use crate::level::OptLevel;
use crate::options::{Options, VerifyLevel};
use crate::table::{self, PhaseNumber, PhaseRow};
use ptxopt_engine::run::phase::{Edge, Limits, Phase, Plan, Step, Verify, Wanted};
use ptxopt_systems::analyze::{control_flow, def_use, liveness, loops, post_dominators, uniformity};
use ptxopt_systems::check;
use ptxopt_systems::report::{code, graph};
use ptxopt_systems::ssa::promote_locals;
use ptxopt_systems::structurize;
use ptxopt_systems::upkeep::sweep;
use ptxopt_systems::values::eliminate_dead;

/// What computes each fact.
static ANALYSES: &[&Phase] = &[
    &control_flow::ANALYSIS,
    &liveness::PHASE,
    &uniformity::ANALYSIS,
    &def_use::ANALYSIS,
    &loops::ANALYSIS,
    &post_dominators::ANALYSIS,
];

/// What must come before what, and why. Checked whenever a plan is made.
pub const ORDER: &[Edge] = &[
    Edge {
        before: "SetControlFlowOpLastInBB",
        after: "EarlyOriSimpleLiveDead",
        reason: "the block walk takes the end of a block for the only way out of it",
    },
    Edge {
        before: "SetControlFlowOpLastInBB",
        after: "OriPerformLiveDeadFirst",
        reason: "live sets are kept at block boundaries, so control may leave a block only there",
    },
    Edge {
        before: "SetControlFlowOpLastInBB",
        after: "OriBranchOpt",
        reason: "a branch in mid-block is not the end of its block",
    },
    Edge {
        before: "OriBranchOpt",
        after: "OriPerformLiveDeadFirst",
        reason: "predicates of deleted branches, and blocks that nothing leads to, are left to dead-code elimination",
    },
    Edge {
        before: "SetControlFlowOpLastInBB",
        after: "AnalyzeUniformsForSpeculation",
        reason: "live sets are kept at block boundaries, and a split of the warp is the end of its block",
    },
    Edge {
        before: "SetControlFlowOpLastInBB",
        after: "GeneralOptimizeEarly",
        reason: "a store that dominates a read of local memory is told by blocks, which control leaves at the end only",
    },
    Edge {
        before: "GeneralOptimizeEarly",
        after: "OriPerformLiveDeadFirst",
        reason: "addresses of promoted local memory, and stores that are never read, are left to dead-code elimination",
    },
    Edge {
        before: "GeneralOptimizeEarly",
        after: "GenerateMovPhi",
        reason: "local memory has to be in registers when registers are given one definition each",
    },
    Edge {
        before: "OriPerformLiveDeadFirst",
        after: "GenerateMovPhi",
        reason: "definitions that nothing reads, and unreachable ones, would get registers of their own",
    },
    Edge {
        before: "OriSplitLiveRanges",
        after: "GenerateMovPhi",
        reason: "a register with a guarded definition stays a variable with all that it holds",
    },
    Edge {
        before: "SetControlFlowOpLastInBB",
        after: "OriSplitLiveRanges",
        reason: "webs are found at block boundaries, so control may leave a block only there",
    },
    Edge {
        before: "ConvertAllMovPhiToMov",
        after: "OriSplitHighPressureLiveRanges",
        reason: "what is loaded twice would be common again, and a phi is no instruction whose registers can be counted",
    },
    Edge {
        before: "OriSplitHighPressureLiveRanges",
        after: "structurizecfg",
        reason: "Flow blocks hold no computation",
    },
    Edge {
        before: "OriSplitHighPressureLiveRanges",
        after: "FinalInspectionPass",
        reason: "the inspection sees the code that is written",
    },
    Edge {
        before: "OriReplaceEquivMultiDefMov",
        after: "GeneralOptimizeLate",
        reason: "a phi that is equal to another one becomes a move, which copy propagation takes away",
    },
    Edge {
        before: "OriPerformLiveDeadSecond",
        after: "OriHoistInvariantsEarly",
        reason: "what nothing needs would take registers of a loop",
    },
    Edge {
        before: "OriPerformLiveDeadThird",
        after: "ConvertAllMovPhiToMov",
        reason: "a phi that nothing reads would become moves",
    },
    Edge {
        before: "ConvertAllMovPhiToMov",
        after: "OriPerformLiveDeadFourth",
        reason: "what comes after it writes the code down, and no text has phis",
    },
    Edge {
        before: "GvnCse",
        after: "OriReassociateAndCommon",
        reason: "leaves are the same where they are one register",
    },
    Edge {
        before: "OriReassociateAndCommon",
        after: "GeneralOptimizeLate",
        reason: "constants that come last become offsets of accesses, and roots that are known are moves",
    },
    Edge {
        before: "OriDoPredication",
        after: "LateOriCommoning",
        reason: "what stood in two arms stands in one block then",
    },
    Edge {
        before: "ConvertAllMovPhiToMov",
        after: "AdvancedPhaseBackPropVReg",
        reason: "results are given registers that have other definitions, which values have not",
    },
    Edge {
        before: "CompactLocalMemory",
        after: "OriPerformLiveDeadSecond",
        reason: "addresses of promoted local memory are left to dead-code elimination",
    },
    Edge {
        before: "GeneralOptimize",
        after: "DoSwitchOptSecond",
        reason: "numbers that are tested are found through copies that general optimization takes away",
    },
    Edge {
        before: "GeneralOptimizeMid",
        after: "OptimizeNestedCondBranches",
        reason: "predicates that were numbers in between are predicates again",
    },
    Edge {
        before: "OptimizeNestedCondBranches",
        after: "OriPerformLiveDeadThird",
        reason: "predicates of branches that were decided are left to dead-code elimination",
    },
    Edge {
        before: "ConvertAllMovPhiToMov",
        after: "LateArchOptimizeSecond",
        reason: "moves that are left of phis write what is there already",
    },
    Edge {
        before: "LateArchOptimizeSecond",
        after: "AdvancedPhaseSetRegAttr",
        reason: "a block that is left empty is branched past",
    },
    Edge {
        before: "OriPerformLiveDeadFourth",
        after: "AdvancedPhaseSetRegAttr",
        reason: "blocks that lose their last instruction are branched past once nothing more is deleted",
    },
    Edge {
        before: "AdvancedPhaseSetRegAttr",
        after: "AdvancedPhaseAfterSetRegAttr",
        reason: "predicates of the branches that were deleted last are dead then",
    },
    Edge {
        before: "AdvancedPhaseAfterSetRegAttr",
        after: "FinalInspectionPass",
        reason: "the inspection sees the code that is written",
    },
    Edge {
        before: "AdvancedPhaseAfterSetRegAttr",
        after: "structurizecfg",
        reason: "phases that thread and merge branches would lead threads past Flow blocks",
    },
    Edge {
        before: "ConvertAllMovPhiToMov",
        after: "AdvancedPhasePreSched",
        reason: "what is defined under a guard is no value",
    },
    Edge {
        before: "AdvancedPhaseAfterSetRegAttr",
        after: "AdvancedPhasePreSched",
        reason: "an arm has one access once nothing more is deleted in it, and no branch is led elsewhere",
    },
    Edge {
        before: "AdvancedPhasePreSched",
        after: "structurizecfg",
        reason: "Flow blocks stand between a branch and where it led",
    },
    Edge {
        before: "AdvancedPhasePreSched",
        after: "FinalInspectionPass",
        reason: "the inspection sees the code that is written",
    },
    Edge {
        before: "fix-irreducible",
        after: "structurizecfg",
        reason: "the structurizer takes no function with a cycle of several entries",
    },
    Edge {
        before: "structurizecfg",
        after: "FinalInspectionPass",
        reason: "the inspection sees the code that is written",
    },
    Edge {
        before: "OriPerformLiveDeadFourth",
        after: "FinalInspectionPass",
        reason: "the inspection sees the code that is written",
    },
];

/// The step that dumps the graph after a phase, whether or not that runs, if it was asked for. Flags 20 and 24 of the
/// options stand for phase 3.
fn graph_dump(row: &PhaseRow, options: &Options) -> Option<Step> {
    let is_flagged = |flag| row.number == PhaseNumber(3) && options.knobs.is_on(flag);
    let wants_dot = options.dump_cfg_after.contains(row.number) || is_flagged(Knob::OptionFlag20);
    let wants_ranks = options.dump_rpo_after.contains(row.number) || is_flagged(Knob::OptionFlag24);
    let phase = match (wants_dot, wants_ranks) {
        (false, false) => return None,
        (true, false) => &graph::DOT,
        (false, true) => &graph::RANKS,
        (true, true) => &graph::DOT_AND_RANKS,
    };
    let number = Step::OBSERVERS + u16::from(row.number.0);
    Some(Step::new(number, phase))
}

/// The plan for a module under `options`. A module whose debug sections name registers gets layout only, unless
/// forced.
#[must_use]
pub fn plan(options: &Options, is_debug_module: bool) -> Plan {
    let layout_only = is_debug_module && !options.force_debug;
    let of_layout = layout_only.then(|| Options { level: OptLevel::O0, ..options.clone() });
    let options = of_layout.as_ref().unwrap_or(options);
    // Entering a step costs a module of fifty instructions as much as a phase does, so steps that can do nothing are left
    // out: those that are there for verifiers, and those that mark what only dumps show.
    let shows_steps = options.dumps() || options.verify != VerifyLevel::Off;
    let is_wanted = |phase: &Phase| match phase.wanted {
        Wanted::Always => true,
        Wanted::ForRemarks => options.remarks,
        Wanted::WhenLookedAt => options.remarks || options.verify != VerifyLevel::Off,
        Wanted::WhenShown => shows_steps,
    };
    let own_step = |row: &PhaseRow| {
        let dump = options.dump_after.contains(row.number);
        let own = row.phase().filter(|_| options.runs(row.number)).map(|phase| chosen(row, phase, options));
        let phase = match own.filter(|phase| is_wanted(phase)) {
            Some(phase) => phase,
            // The code is shown as it is at the place of a phase that does not run.
            None if dump => &Phase::NOTHING,
            None => return None,
        };
        Some(Step { number: u16::from(row.number.0), name: row.name, phase, dump, verified: phase.verified })
    };
    let steps = |row: &'static PhaseRow| own_step(row).into_iter().chain(graph_dump(row, options));
    let mut steps: Vec<Step> = table::in_order().flat_map(steps).collect();
    if !shows_steps {
        drop_repeated_sweeps(&mut steps);
    }
    Plan {
        steps,
        analyses: ANALYSES,
        checks: check::ALL,
        verify: match options.verify {
            VerifyLevel::Off => Verify::Off,
            VerifyLevel::Fast => Verify::Fast,
            VerifyLevel::Full => Verify::Full,
        },
        fuel: options.bisect,
        remarks: options.remarks,
        fingerprint: options.fingerprint_filter,
        limits: Limits {
            time_ms: options.limits.function_time_ms,
            memory: options.limits.memory,
            growth_percent: u64::from(options.limits.growth),
        },
        settings: settings::of(options),
        careful: settings::careful(options),
        keep_rolled: options.no_unroll,
        keep_grown: options.keep_grown,
    }
}

/// The phase of a row that runs, in the form that the options ask for.
fn chosen(row: &PhaseRow, phase: &'static Phase, options: &Options) -> &'static Phase {
    if row.is(&structurize::PHASE) {
        structurizer(options)
    } else if row.is(&promote_locals::PHASE) {
        promotion(options)
    } else if row.number == PhaseNumber(16) {
        first_dead_code(options)
    } else {
        phase
    }
}

/// The promotion of local variables, of which none wait for loops that nothing unrolls.
fn promotion(options: &Options) -> &'static Phase {
    let unrolls = options.runs(PhaseNumber(22));
    if unrolls { &promote_locals::PHASE } else { &promote_locals::WITHOUT_UNROLLING }
}

/// Phase 16: a walk where phases 23 and 33 search in SSA form, which tells what reaches a read, for what is left.
fn first_dead_code(options: &Options) -> &'static Phase {
    let searches_in_ssa = options.runs(PhaseNumber(23)) && options.runs(PhaseNumber(33));
    if searches_in_ssa { &eliminate_dead::QUICK } else { &eliminate_dead::EARLY }
}

/// The structurizer, with the facts that it marks blocks by where something asks for the marks.
fn structurizer(options: &Options) -> &'static Phase {
    let asks = options.remarks || options.dumps() || options.knobs.is_on(Knob::SkipUniformRegions);
    if asks { &structurize::TAGGING } else { &structurize::PHASE }
}

/// Drops sweeps that follow another one with nothing but reports between.
fn drop_repeated_sweeps(steps: &mut Vec<Step>) {
    let mut is_swept = false;
    steps.retain(|step| {
        let is_sweep = step.phase.name == sweep::PHASE.name;
        let is_repeated = is_sweep && is_swept;
        is_swept = is_sweep || is_swept && step.phase.name == code::PHASE.name;
        !is_repeated
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_of_every_level_is_a_pipeline() {
        for level in OptLevel::ALL {
            let options = Options { level, ..Options::default() };
            for is_debug in [false, true] {
                plan(&options, is_debug).check(ORDER).unwrap();
            }
        }
    }

    #[test]
    fn graph_dumps_stand_after_their_phases() {
        let mut options = Options::default();
        for knob in ["DumpCFG=OriBranchOpt+3", "OptionFlag24", "DumpRPO=GvnCse"] {
            options.set_knob(knob).unwrap();
        }
        let plan = plan(&options, false);
        plan.check(ORDER).unwrap();
        let steps: Vec<u16> = plan.steps.iter().map(|step| step.number).collect();
        let observers: Vec<u16> = steps.iter().copied().filter(|&number| number >= Step::OBSERVERS).collect();
        assert_eq!(observers, [1003, 1015, 1049]);
        let dump = steps.iter().position(|&number| number == 1015).unwrap();
        assert_eq!(steps[dump - 1], 15);
    }

    #[test]
    fn a_dump_after_a_phase_that_does_not_run_shows_its_place() {
        let mut options = Options { level: OptLevel::O0, ..Options::default() };
        options.set_knob("DUMPIR=3+GvnCse").unwrap();
        let plan = plan(&options, false);
        plan.check(ORDER).unwrap();
        let dumped: Vec<u16> = plan.steps.iter().filter(|step| step.dump).map(|step| step.number).collect();
        assert_eq!(dumped, [3, 49]);
    }

    #[test]
    fn the_first_dead_code_searches_where_nothing_does_so_in_ssa_form() {
        let first = |knob: &str| {
            let mut options = Options::default();
            options.set_knob(knob).unwrap();
            plan(&options, false).steps.iter().find(|step| step.number == 16).map(|step| step.phase.name)
        };
        assert_eq!(first("DisablePhases=GvnCse"), Some("eliminate_dead_quick"));
        assert_eq!(first("DisablePhases=GenerateMovPhi"), Some("eliminate_dead_early"));
        assert_eq!(first("DisablePhases=OriPerformLiveDeadSecond"), Some("eliminate_dead_early"));
        assert_eq!(first("DisablePhases=OriPerformLiveDeadFirst"), None);
    }

    #[test]
    fn steps_that_can_do_nothing_are_left_out() {
        let numbers = |options: &Options| -> Vec<u16> {
            plan(options, false).steps.iter().map(|step| step.number).collect()
        };
        assert_eq!(
            numbers(&Options::default()),
            [
                3, 6, 10, 13, 15, 16, 22, 23, 29, 30, 32, 33, 37, 38, 45, 46, 49, 52, 58, 61, 62, 63, 64, 65,
                73, 75, 76, 81, 84, 89, 92, 97, 94, 125
            ]
        );
        let verified = Options { verify: VerifyLevel::Fast, ..Options::default() };
        let mut dumped = Options::default();
        dumped.set_knob("DUMPIR=3").unwrap();
        for options in [verified, dumped] {
            let found = numbers(&options);
            assert!([0, 83, 95, 128, 132, 150, 154].iter().all(|number| found.contains(number)), "{found:?}");
        }
        let remarks = Options { remarks: true, ..Options::default() };
        assert!(numbers(&remarks).ends_with(&[125, 126, 151]));
    }

    #[test]
    fn every_name_in_the_order_is_a_phase() {
        for edge in ORDER {
            for name in [edge.before, edge.after] {
                assert!(!table::named(name).is_empty(), "{name}");
            }
        }
    }

    #[test]
    fn debug_modules_get_layout_only_unless_forced() {
        let options = Options::default();
        let removes = |plan: Plan| plan.steps.iter().any(|step| step.phase.name == "eliminate_dead");
        assert!(removes(plan(&options, false)));
        assert!(!removes(plan(&options, true)));
        assert!(removes(plan(&Options { force_debug: true, ..options }, true)));
    }
}
