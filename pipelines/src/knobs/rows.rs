//! The rows of the knob table.

use super::Acts::{No, OnTheRun, Opens, Sets, Vetoes};
use super::Kind::{Bool, Count, Float, Int, Mode, Text};
use super::Reach::{All, Phases, Structurize, Unsaid};
use super::settings::Field;
use super::{Acts, Kind, Knob, KnobRow, Preset, Reach};
use ptxopt_systems::analyze::control_flow;
use ptxopt_systems::flow::{optimize_branches, simplify_loops};
use ptxopt_systems::ranges::split_ranges;
use ptxopt_systems::values::gvn_cse::{self, late};
use ptxopt_systems::values::{hoist_common, reassociate, sink};

/// The phase that the knob steers has no system yet.
const NO_PHASE: Acts = No("the phase that it steers has no system in this release");

/// The knob counts rounds, of which there are none.
const ONE_WALK: Acts =
    No("a bundle is one walk that tries an instruction until no rule changes it; there are no rounds");

const COPY_PROP: Reach = Phases(&[13, 29, 37, 46, 58, 65]);

/// A knob without a number of its own.
const NONE: Option<u16> = None;

#[allow(clippy::too_many_arguments, reason = "one parameter a column, in the order of the columns")]
const fn row(
    knob: Knob,
    name: &'static str,
    number: Option<u16>,
    reach: Reach,
    kind: Kind,
    default: Preset,
    acts: Acts,
    effect: &'static str,
) -> KnobRow {
    KnobRow { knob, name, number, reach, kind, default, acts, effect }
}

/// Every knob: those of the sources, then those that only this program has. A row's index is its [`Knob`].
#[rustfmt::skip]
pub const KNOBS: [KnobRow; 55] = [
    row(Knob::Knob210, "Knob210", Some(210), Phases(&[49]), Bool, Preset::Unset, Sets(Field::Bool(|all| &mut all.gvn_cse.skips_extended_blocks)),
        "under --faithful, on targets with the enhanced scope: GvnCse goes without its pass over extended basic blocks, to which its mode 2 keeps otherwise"),
    row(Knob::Knob235, "Knob235", Some(235), Phases(&[3]), Bool, Preset::Bool(false), Vetoes(&control_flow::PHASE),
        "the pipeline's own AnalyzeControlFlow run is left out; phases that ask for the facts still get them"),
    row(Knob::EnableGvnCsePerInstr, "EnableGvnCsePerInstr", Some(257), Phases(&[49]), Bool, Preset::Unset, Sets(Field::Bool(|all| &mut all.gvn_cse.stops_at_each)),
        "asked at each instruction: true ends GvnCse's work on the block there"),
    row(Knob::NamedPhases, "NamedPhases", Some(298), All, Text, Preset::Unset, OnTheRun,
        "only these phases run, beside checks, analyses and sweeps: names or numbers with `+` between"),
    row(Knob::EnableGvnCseMode, "EnableGvnCseMode", Some(402), Phases(&[49]), Mode(6), Preset::Unset, Sets(Field::Mode(|all, mode| all.gvn_cse.mode = gvn_cse::Mode::of(mode))),
        "how far GvnCse looks: 0 off, 1 block, 2 dominators, 3 to 6 dominators and around loops; under --faithful, 3 to 6 are 2 on targets without the enhanced scope"),
    row(Knob::Knob456, "Knob456", Some(456), Phases(&[19]), Bool, Preset::Bool(true), Opens(&split_ranges::PHASE),
        "asked by OriSplitLiveRanges on entry: it runs only if this is true"),
    row(Knob::Knob464, "Knob464", Some(464), Phases(&[13, 29]), Int, Preset::Unset, ONE_WALK,
        "most rounds of the early GeneralOptimize bundles"),
    row(Knob::Knob474, "Knob474", Some(474), Phases(&[37, 58]), Float, Preset::Float(0.25), ONE_WALK,
        "the later GeneralOptimize bundles stop when a round gains less than this"),
    row(Knob::ForceLateCommoning, "ForceLateCommoning", Some(487), Phases(&[64]), Bool, Preset::Bool(true), Opens(&late::PHASE),
        "LateOriCommoning runs only if this is true"),
    row(Knob::LoopMakeSingleEntry, "Knob487.LoopMakeSingleEntry", Some(487), Phases(&[18]), Bool, Preset::Unset, Opens(&simplify_loops::PHASE),
        "gate of the loop canonical form inside OriLoopSimplification, which runs only if this is true"),
    row(Knob::OriCopyProp, "Knob487.OriCopyProp", Some(487), COPY_PROP, Bool, Preset::Unset, No("nothing depends on what was seen before: each use asks for its reaching definition"),
        "what forward copy propagation takes for granted at the start of a block: that a copy was seen"),
    row(Knob::BackCopyPropBudget, "BackCopyPropBudget", Some(808), Phases(&[82, 83]), Count, Preset::Count(1 << 16),
        Sets(Field::Count(|all| &mut all.back_copies.moves_max)),
        "most backward propagations in a function"),
    row(Knob::Knob843, "Knob843", Some(843), Phases(&[64]), Count, Preset::Count(1),
        Sets(Field::Count(|all| &mut all.late_commoning.functions)),
        "LateOriCommoning runs only if this is not zero"),
    row(Knob::Knob844, "Knob844", Some(844), Phases(&[64]), Bool, Preset::Bool(true),
        Sets(Field::Bool(|all| &mut all.late_commoning.instructions)),
        "asked at each instruction: LateOriCommoning looks at it only if this is true"),
    row(Knob::EnableGvnCse, "EnableGvnCse", NONE, Phases(&[49]), Bool, Preset::Bool(true), Opens(&gvn_cse::PHASE),
        "master switch of GvnCse"),
    row(Knob::AllowReassociateCse, "AllowReassociateCSE", NONE, Phases(&[50]), Bool, Preset::Bool(true), Opens(&reassociate::PHASE),
        "master switch of OriReassociateAndCommon"),
    row(Knob::ReassociateCseBudget, "ReassociateCSEBudget", NONE, Phases(&[50]), Count, Preset::Count(1 << 20),
        Sets(Field::Count(|all| &mut all.reassociation.insts_max)),
        "most instructions that OriReassociateAndCommon looks at in a function"),
    row(Knob::ReassociateCseWindow, "ReassociateCSEWindow", NONE, Phases(&[50]), Count, Preset::Count(1024),
        Sets(Field::Count(|all| &mut all.reassociation.window)),
        "how many instructions back the commoning after reassociation looks"),
    row(Knob::ReassociateCseSkip, "ReassociateCSESkip", NONE, Phases(&[50]), Count, Preset::Count(0),
        Sets(Field::Count(|all| &mut all.reassociation.insts_skipped)),
        "leave this many instructions alone at the start, to bisect"),
    row(Knob::ReassociateLargeImmInUIADD64, "ReassociateLargeImmInUIADD64", NONE, Phases(&[50]), Bool, Preset::Bool(false),
        Sets(Field::Bool(|all| &mut all.reassociation.takes_large_constants)),
        "reassociate 64-bit additions of immediates that are too wide for the short form, too"),
    row(Knob::DistributeAndReassociateMulBudget, "DistributeAndReassociateMulBudget", NONE, Phases(&[50]), Count, Preset::Count(1024),
        Sets(Field::Count(|all| &mut all.reassociation.products_max)),
        "most rewrites of a*b + a*c into a*(b + c)"),
    row(Knob::DisableMoveCommoning, "DisableMoveCommoning", NONE, Phases(&[64]), Bool, Preset::Bool(false),
        Sets(Field::Bool(|all| &mut all.late_commoning.moves_are_opaque)),
        "the commoning walk does not look through moves"),
    row(Knob::CopyPropBudget, "CopyPropBudget", NONE, COPY_PROP, Int, Preset::Unset, Sets(Field::Limit(|all| &mut all.copies.insts_max)),
        "most instructions that read a copy, in one run of forward copy propagation"),
    row(Knob::CopyPropGlobalBudget, "CopyPropGlobalBudget", NONE, COPY_PROP, Int, Preset::Unset, Sets(Field::Limit(|all| &mut all.copies.across_blocks_max)),
        "most propagations from block to block"),
    row(Knob::CopyPropForceGlobal, "CopyPropForceGlobal", NONE, COPY_PROP, Bool, Preset::Unset, Sets(Field::Bool(|all| &mut all.copies.is_forced_across_blocks)),
        "propagate from block to block whatever the budget for it says"),
    row(Knob::CopyPropAddr, "CopyPropAddr", NONE, COPY_PROP, Bool, Preset::Unset, Sets(Field::Bool(|all| &mut all.copies.into_addresses)),
        "propagate into addresses; on unless it is set to false"),
    row(Knob::CopyPropConstantBank, "CopyPropConstantBank", NONE, COPY_PROP, Bool, Preset::Unset, No("PTX has no operands in constant banks: what is there is loaded"),
        "propagate references into constant banks"),
    row(Knob::CopyPropUseReachingDefs, "CopyPropUseReachingDefs", NONE, COPY_PROP, Bool, Preset::Unset, Sets(Field::Bool(|all| &mut all.copies.by_reaching_definitions)),
        "decide by reaching definitions, not by dominance alone, where registers have several; on unless it is set to false"),
    row(Knob::CopyPropPreAllocReg, "CopyPropPreAllocReg", NONE, COPY_PROP, Bool, Preset::Unset, No("PTX has no registers that are fixed beforehand"),
        "propagate registers that are fixed beforehand, too"),
    row(Knob::CopyPropNoWriteNonRR, "CopyPropNoWriteNonRR", NONE, COPY_PROP, Bool, Preset::Unset, Sets(Field::Bool(|all| &mut all.copies.registers_only)),
        "propagate from register to register only"),
    row(Knob::CopyPropNonRegMultiDef, "CopyPropNonRegMultiDef", NONE, COPY_PROP, Bool, Preset::Unset, Sets(Field::Bool(|all| &mut all.copies.constants_of_variables)),
        "handle copies of something other than a register into a register with several definitions; on unless it is set to false"),
    row(Knob::CopyPropNoMmaCb, "CopyPropNoMmaCb", NONE, COPY_PROP, Bool, Preset::Unset, No("matrix instructions take registers only"),
        "propagate no constant-bank operand into a matrix instruction"),
    row(Knob::LateCopyPropComplPred, "LateCopyPropComplPred", NONE, Unsaid, Bool, Preset::Unset, Sets(Field::Bool(|all| &mut all.copies.under_guards)),
        "propagate to readers under a guard what was copied under the same guard, past writes under its complement"),
    row(Knob::SpeculativeHoistCommonInsts, "SpeculativeHoistCommonInsts", NONE, Phases(&[56]), Bool, Preset::Bool(true), Opens(&hoist_common::PHASE),
        "hoist what both arms compute"),
    row(Knob::FatPointSoftConstraintSkip, "unnamed.fatpoint-soft-constraint-skip", NONE, Phases(&[101]), Int, Preset::Unset, NO_PHASE,
        "register estimator: soft constraints under this threshold are skipped, round by round"),
    row(Knob::DumpIr, "DUMPIR", NONE, All, Text, Preset::Unset, OnTheRun,
        "dump the code after the named phases"),
    row(Knob::DumpCfg, "DumpCFG", NONE, All, Text, Preset::Unset, OnTheRun,
        "dump the flow graph as DOT after the named phases"),
    row(Knob::DumpRpo, "DumpRPO", NONE, All, Text, Preset::Unset, OnTheRun,
        "dump reverse postorder and back edges after the named phases, below the DOT if both name one"),
    row(Knob::DisablePhases, "DisablePhases", NONE, All, Text, Preset::Unset, OnTheRun,
        "leave the named phases out"),
    row(Knob::Sh, "SH", NONE, All, Text, Preset::Unset, OnTheRun,
        "knobs, dumps and bisection touch only functions with this code fingerprint"),
    row(Knob::OptionFlag20, "OptionFlag20", NONE, Phases(&[3]), Bool, Preset::Bool(false), OnTheRun,
        "dump the flow graph as DOT after phase 3"),
    row(Knob::OptionFlag24, "OptionFlag24", NONE, Phases(&[3]), Bool, Preset::Bool(false), OnTheRun,
        "dump reverse postorder and back edges after phase 3, below the DOT if both are on"),
    row(Knob::DontMergeBasicBlocks, "--dont-merge-basicblocks", NONE, All, Bool, Preset::Bool(false), Vetoes(&optimize_branches::PHASE),
        "never merge consecutive blocks, for code that is to be debugged: OriBranchOpt is left out"),
    row(Knob::NamedPhasesFlag, "--named-phases", NONE, All, Text, Preset::Unset, OnTheRun,
        "the same as NamedPhases"),
    row(Knob::OptLevelFlag, "--opt-level", NONE, All, Int, Preset::Int(2), OnTheRun,
        "the optimization level, 0 to 5; 4 and 5 are 3"),
    row(Knob::StructurizeCfg, "structurizecfg", NONE, Structurize, Text, Preset::Unset, OnTheRun,
        "run the structurizer; the value `skip-uniform-regions` sets that knob"),
    row(Knob::SkipUniformRegions, "structurizecfg-skip-uniform-regions", NONE, Structurize, Bool, Preset::Bool(false),
        Sets(Field::Bool(|all| &mut all.structurize.skips_uniform_regions)),
        "leave regions alone in which every branch is uniform"),
    row(Knob::RelaxedUniformRegions, "structurizecfg-relaxed-uniform-regions", NONE, Structurize, Bool, Preset::Bool(true),
        Sets(Field::Bool(|all| &mut all.structurize.has_relaxed_uniform_regions)),
        "a region with at most one conditional child may count as uniform although the child has a divergent branch"),
    row(Knob::EnableShrinkWrap, "enable-shrink-wrap", NONE, Structurize, Mode(2), Preset::Mode(0),
        Sets(Field::Mode(|all, mode| all.structurize.shrink_wrap = mode)),
        "0 asks the strategy and the function's attributes, 1 always structurizes, 2 never"),
    row(Knob::EhFuncletContinue, "unnamed.eh-funclet-continue", NONE, Structurize, Bool, Preset::Bool(false),
        Sets(Field::Bool(|all| &mut all.structurize.continues_after_funclets)),
        "after the remark on exception handling, go on with the rest of the function"),
    row(Knob::FixIrreducible, "fix-irreducible", NONE, Structurize, Bool, Preset::Bool(false), OnTheRun,
        "first turn cycles with several entries into loops with one"),
    row(Knob::BranchRounds, "BranchRounds", NONE, Phases(&[15]), Count, Preset::Count(8),
        Sets(Field::Count(|all| &mut all.branches.rounds_max)),
        "most rounds of threading, inverting and falling through that OriBranchOpt makes on a function"),
    row(Knob::BranchHops, "BranchHops", NONE, Phases(&[15]), Count, Preset::Count(32),
        Sets(Field::Count(|all| &mut all.branches.hops_max)),
        "most empty blocks that OriBranchOpt leads one branch through; 0 leaves every branch its target"),
    row(Knob::RegisterBudget, "RegisterBudget", NONE, Phases(&[69, 138]), Count, Preset::Count(0),
        Sets(Field::Count(|all| &mut all.registers.registers_max)),
        "most registers of a thread, as the assembler will be told with --maxrregcount; 0 where it will not be told"),
    row(Knob::SinkRematEnable, "SinkRematEnable", NONE, Phases(&[54]), Bool, Preset::Bool(true), Opens(&sink::PHASE),
        "sink what only some of the ways on read; `ptxas` has a switch of this name"),
];
