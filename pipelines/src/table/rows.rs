//! The rows of the pipeline table, in the order of their numbers: the registry of phases. A phase that is named here runs,
//! and nothing else has to know it.
//!
//! A row that has nothing to do here says why. The reasons are few and are named constants, so that a reader
//! sees at a glance which rows share one.

use super::Does::{Nothing, Runs};
use super::LevelGate::{Above, Any, Exactly};
use super::{Category, Does, LevelGate, PHASE_COUNT, PhaseNumber, PhaseRow};
use Category::{
    Analysis, Cleanup, Encoding, Gate, Lowering, Optimization, RegAlloc, Reporting, Scheduling, Validation,
};
use ptxopt_systems::analyze::{control_flow, uniformity};
use ptxopt_systems::flow::{
    guard_accesses, nested_branches, optimize_branches, optimize_switches, predicate, simplify_loops,
    split_at_control_flow, unroll_loops,
};
use ptxopt_systems::ranges::{rematerialize, split_high_pressure, split_ranges};
use ptxopt_systems::report::code;
use ptxopt_systems::ssa::{build_ssa, leave_ssa, promote_locals};
use ptxopt_systems::structurize::{self, irreducible};
use ptxopt_systems::upkeep::{advance_progress, inspect, sweep};
use ptxopt_systems::values::{
    eliminate_dead, fuse, general_optimize, gvn_cse, hoist_common, hoist_invariants, propagate_back_copies,
    reassociate, remove_held_moves, remove_redundant_moves, replace_equivalent_moves, sink,
};

/// The phase has a meaning for PTX, and this release does not have it.
pub const NOT_YET: &str = "no system for it in this release";
const COLD: &str =
    "blocks that end in a trap are cold for certain, and one module of a hundred has any (decision 10)";
const DEBUGGER: &str = "stops in the debugger of the source compiler's authors";
const ENCODING: &str = "PTX is the output: there is no machine code to encode";
const GRAPHICS: &str = "serves graphics shaders: a PTX module holds compute code only";
const HOOK: &str = "a hook that the source compiler gives its target back ends: there are none here";
const LAID_OUT: &str =
    "the assembler orders blocks by itself: its code is mostly the same for any order (decision 10)";
const MACHINE: &str = "prepares machine instructions: the assembler that reads the PTX does that";
const MATRIX: &str =
    "arranges asynchronous matrix instructions for the machine: they stay in their places here";
const MERGED: &str =
    "the assembler merges branches to one place by itself: its code is the same without (decision 10)";
const NOP: &str = "does nothing in the source compiler either";
const NO_NOPS: &str = "PTX has no instruction that does nothing";
const PROFILE: &str = "no profile comes with a PTX module";
const RECIPES: &str = "the recipes that it applies are not public";
const REGISTERS: &str = "PTX registers are virtual: the assembler that reads the PTX allocates the machine's";
const SCHEDULING: &str = "the assembler that reads the PTX schedules the machine instructions";
const UNIFORM: &str = "PTX does not name uniform registers: the assembler that reads it chooses them";
const SEEN_LATER: &str =
    "its second run, where values are known, finds all that it would find: 35 ns an instruction for nothing";
const HOISTED: &str = "its third run, a few phases before, leaves one invariant in 860 to it";
const SUNK_LATER: &str = "before GvnCse it takes apart what is computed twice: after it, OriDoRematEarly sinks the same for fewer registers";
const UNSAID: &str = "the sources name it without saying what it does";

const fn row(number: u8, name: &'static str, category: Category, gate: LevelGate, does: Does) -> PhaseRow {
    PhaseRow { number: PhaseNumber(number), name, category, gate, does }
}

/// The 159 phases. A row's index is its number.
#[rustfmt::skip]
pub static PHASES: [PhaseRow; PHASE_COUNT] = [
    row(0, "OriCheckInitialProgram", Validation, Any, Runs(&inspect::INITIAL)),
    row(1, "ApplyNvOptRecipes", Optimization, Any, Nothing(RECIPES)),
    row(2, "PromoteFP16", Lowering, Any, Nothing(MACHINE)),
    row(3, "AnalyzeControlFlow", Analysis, Above(0), Runs(&control_flow::PHASE)),
    row(4, "AdvancedPhaseBeforeConvUnSup", Gate, Any, Nothing(HOOK)),
    row(5, "ConvertUnsupportedOps", Lowering, Any, Nothing(MACHINE)),
    row(6, "SetControlFlowOpLastInBB", Cleanup, Any, Runs(&split_at_control_flow::PHASE)),
    row(7, "AdvancedPhaseAfterConvUnSup", Gate, Any, Nothing(HOOK)),
    row(8, "OriCreateMacroInsts", Lowering, Any, Nothing(MACHINE)),
    row(9, "ReportInitialRepresentation", Reporting, Any, Runs(&code::INITIAL)),
    row(10, "EarlyOriSimpleLiveDead", Optimization, Any, Runs(&eliminate_dead::SIMPLE)),
    row(11, "ReplaceUniformsWithImm", Optimization, Any, Nothing(UNSAID)),
    row(12, "OriSanitize", Validation, Any, Nothing(UNSAID)),
    row(13, "GeneralOptimizeEarly", Optimization, Any, Runs(&promote_locals::PHASE)),
    row(14, "DoSwitchOptFirst", Optimization, Above(0), Nothing(SEEN_LATER)),
    row(15, "OriBranchOpt", Optimization, Above(0), Runs(&optimize_branches::PHASE)),
    row(16, "OriPerformLiveDeadFirst", Analysis, Any, Runs(&eliminate_dead::QUICK)),
    row(17, "OptimizeBindlessHeaderLoads", Optimization, Any, Nothing(MACHINE)),
    row(18, "OriLoopSimplification", Optimization, Any, Runs(&simplify_loops::PHASE)),
    row(19, "OriSplitLiveRanges", Optimization, Above(2), Runs(&split_ranges::PHASE)),
    row(20, "PerformPGO", Optimization, Any, Nothing(PROFILE)),
    row(21, "OriStrengthReduce", Optimization, Any, Nothing(NOT_YET)),
    row(22, "OriLoopUnrolling", Optimization, Above(1), Runs(&unroll_loops::PHASE)),
    row(23, "GenerateMovPhi", Lowering, Any, Runs(&build_ssa::PHASE)),
    row(24, "OriPipelining", Optimization, Above(1), Nothing(NOT_YET)),
    row(25, "StageAndFence", Lowering, Any, Nothing(UNSAID)),
    row(26, "OriRemoveRedundantBarriers", Optimization, Above(1), Nothing(NOT_YET)),
    row(27, "AnalyzeUniformsForSpeculation", Analysis, Any, Runs(&uniformity::PHASE)),
    row(28, "SinkRemat", Optimization, Above(1), Nothing(SUNK_LATER)),
    row(29, "GeneralOptimize", Optimization, Any, Runs(&general_optimize::PHASE)),
    row(30, "DoSwitchOptSecond", Optimization, Above(0), Runs(&optimize_switches::PHASE)),
    row(31, "OriLinearReplacement", Optimization, Any, Nothing(UNSAID)),
    row(32, "CompactLocalMemory", Optimization, Any, Runs(&promote_locals::PHASE)),
    row(33, "OriPerformLiveDeadSecond", Analysis, Any, Runs(&eliminate_dead::EARLY)),
    row(34, "ExtractShaderConstsFirst", Optimization, Any, Nothing(GRAPHICS)),
    row(35, "OriHoistInvariantsEarly", Optimization, Above(2), Runs(&hoist_invariants::PHASE)),
    row(36, "EmitPSI", Lowering, Any, Nothing(UNSAID)),
    row(37, "GeneralOptimizeMid", Optimization, Any, Runs(&general_optimize::PHASE)),
    row(38, "OptimizeNestedCondBranches", Optimization, Above(0), Runs(&nested_branches::PHASE)),
    row(39, "ConvertVTGReadWrite", Lowering, Any, Nothing(GRAPHICS)),
    row(40, "DoVirtualCTAExpansion", Lowering, Any, Nothing(MACHINE)),
    row(41, "MarkAdditionalColdBlocks", Analysis, Any, Nothing(COLD)),
    row(42, "ExpandMbarrier", Lowering, Any, Nothing(MACHINE)),
    row(43, "ForwardProgress", Lowering, Any, Nothing(UNSAID)),
    row(44, "OptimizeUniformAtomic", Optimization, Any, Nothing(NOT_YET)),
    row(45, "MidExpansion", Lowering, Any, Runs(&general_optimize::narrow::PHASE)),
    row(46, "GeneralOptimizeMid2", Optimization, Any, Runs(&general_optimize::PHASE)),
    row(47, "AdvancedPhaseEarlyEnforceArgs", Gate, Any, Nothing(HOOK)),
    row(48, "EnforceArgumentRestrictions", Lowering, Any, Nothing(MACHINE)),
    row(49, "GvnCse", Optimization, Above(1), Runs(&gvn_cse::PHASE)),
    row(50, "OriReassociateAndCommon", Optimization, Above(2), Runs(&reassociate::PHASE)),
    row(51, "ExtractShaderConstsFinal", Optimization, Any, Nothing(GRAPHICS)),
    row(52, "OriReplaceEquivMultiDefMov", Optimization, Any, Runs(&replace_equivalent_moves::PHASE)),
    row(53, "OriPropagateVaryingFirst", Optimization, Any, Runs(&uniformity::PHASE)),
    row(54, "OriDoRematEarly", Optimization, Above(2), Runs(&sink::PHASE)),
    row(55, "LateExpansion", Lowering, Any, Nothing(MACHINE)),
    row(56, "SpeculativeHoistComInsts", Optimization, Above(2), Runs(&hoist_common::PHASE)),
    row(57, "RemoveASTToDefaultValues", Cleanup, Any, Nothing(GRAPHICS)),
    row(58, "GeneralOptimizeLate", Optimization, Any, Runs(&general_optimize::PHASE)),
    row(59, "OriLoopFusion", Optimization, Any, Nothing(NOT_YET)),
    row(60, "DoVTGMultiViewExpansion", Lowering, Any, Nothing(GRAPHICS)),
    row(61, "OriPerformLiveDeadThird", Analysis, Any, Runs(&eliminate_dead::EARLY)),
    row(62, "OriRemoveRedundantMultiDefMov", Optimization, Any, Runs(&remove_redundant_moves::PHASE)),
    row(63, "OriDoPredication", Optimization, Above(1), Runs(&predicate::PHASE)),
    row(64, "LateOriCommoning", Optimization, Above(1), Runs(&gvn_cse::late::PHASE)),
    row(65, "GeneralOptimizeLate2", Optimization, Any, Runs(&general_optimize::PHASE)),
    row(66, "OriHoistInvariantsLate", Optimization, Above(2), Runs(&hoist_invariants::PHASE)),
    row(67, "DoKillMovement", Optimization, Any, Nothing(GRAPHICS)),
    row(68, "DoTexMovement", Optimization, Any, Nothing(SCHEDULING)),
    row(69, "OriDoRemat", Optimization, Above(2), Runs(&rematerialize::PHASE)),
    row(70, "OriPropagateVaryingSecond", Optimization, Any, Runs(&uniformity::PHASE)),
    row(71, "OptimizeSyncInstructions", Optimization, Above(1), Nothing(NOT_YET)),
    row(72, "LateExpandSyncInstructions", Lowering, Above(2), Nothing(MACHINE)),
    row(73, "ConvertAllMovPhiToMov", Lowering, Any, Runs(&leave_ssa::PHASE)),
    row(74, "ConvertToUniformReg", Optimization, Any, Nothing(UNIFORM)),
    row(75, "LateArchOptimizeFirst", Optimization, Any, Runs(&fuse::PHASE)),
    row(76, "UpdateAfterOptimize", Cleanup, Any, Runs(&sweep::PHASE)),
    row(77, "AdvancedPhaseLateConvUnSup", Gate, Any, Nothing(HOOK)),
    row(78, "LateExpansionUnsupportedOps", Lowering, Any, Nothing(MACHINE)),
    row(79, "OriHoistInvariantsLate2", Optimization, Above(2), Runs(&hoist_invariants::PHASE)),
    row(80, "ExpandJmxComputation", Lowering, Any, Nothing(MACHINE)),
    row(81, "LateArchOptimizeSecond", Optimization, Any, Runs(&remove_held_moves::PHASE)),
    row(82, "AdvancedPhaseBackPropVReg", Gate, Above(2), Runs(&propagate_back_copies::PHASE)),
    row(83, "OriBackCopyPropagate", Optimization, Any, Runs(&advance_progress::BACK_COPIES)),
    row(84, "OriPerformLiveDeadFourth", Analysis, Any, Runs(&eliminate_dead::FULL)),
    row(85, "OriPropagateGmma", Optimization, Any, Nothing(MATRIX)),
    row(86, "InsertPseudoUseDefForConvUR", Lowering, Any, Nothing(UNIFORM)),
    row(87, "FixupGmmaSequence", Lowering, Any, Nothing(MATRIX)),
    row(88, "OriHoistInvariantsLate3", Optimization, Any, Nothing(HOISTED)),
    row(89, "AdvancedPhaseSetRegAttr", Gate, Any, Runs(&optimize_branches::PHASE)),
    row(90, "OriSetRegisterAttr", Analysis, Any, Nothing(REGISTERS)),
    row(91, "OriCalcDependantTex", Analysis, Any, Nothing(SCHEDULING)),
    row(92, "AdvancedPhaseAfterSetRegAttr", Gate, Any, Runs(&eliminate_dead::FULL)),
    row(93, "LateExpansionUnsupportedOps2", Lowering, Any, Nothing(MACHINE)),
    row(94, "FinalInspectionPass", Validation, Any, Runs(&inspect::FINAL)),
    row(95, "SetAfterLegalization", Cleanup, Above(1), Runs(&advance_progress::LEGALIZATION)),
    row(96, "ReportBeforeScheduling", Reporting, Any, Runs(&code::PHASE)),
    row(97, "AdvancedPhasePreSched", Gate, Any, Runs(&guard_accesses::PHASE)),
    row(98, "BackPropagateVEC2D", Optimization, Any, Nothing(UNSAID)),
    row(99, "OriDoSyncronization", Scheduling, Above(1), Nothing(SCHEDULING)),
    row(100, "ApplyPostSyncronizationWars", Scheduling, Above(1), Nothing(SCHEDULING)),
    row(101, "AdvancedPhaseAllocReg", Gate, Any, Nothing(NOT_YET)),
    row(102, "ReportAfterRegisterAllocation", Reporting, Any, Runs(&code::PHASE)),
    row(103, "Get64bRegComponents", RegAlloc, Any, Nothing(REGISTERS)),
    row(104, "AdvancedPhasePostExpansion", Gate, Any, Nothing(HOOK)),
    row(105, "ApplyPostRegAllocWars", RegAlloc, Any, Nothing(MACHINE)),
    row(106, "AdvancedPhasePostSched", Gate, Any, Nothing(HOOK)),
    row(107, "OriRemoveNopCode", Cleanup, Any, Nothing(NO_NOPS)),
    row(108, "OptimizeHotColdInLoop", Optimization, Any, Nothing(LAID_OUT)),
    row(109, "OptimizeHotColdFlow", Optimization, Any, Nothing(COLD)),
    row(110, "PostSchedule", Scheduling, Above(0), Nothing(SCHEDULING)),
    row(111, "AdvancedPhasePostFixUp", Gate, Any, Nothing(HOOK)),
    row(112, "PlaceBlocksInSourceOrder", Cleanup, Any, Nothing(LAID_OUT)),
    row(113, "PostFixForMercTargets", Encoding, Any, Nothing(ENCODING)),
    row(114, "FixUpTexDepBarAndSync", Scheduling, Any, Nothing(SCHEDULING)),
    row(115, "AdvancedScoreboardsAndOpexes", Gate, Above(0), Nothing(SCHEDULING)),
    row(116, "ProcessO0WaitsAndSBs", Scheduling, Exactly(0), Nothing(SCHEDULING)),
    row(117, "MercEncodeAndDecode", Encoding, Any, Nothing(ENCODING)),
    row(118, "MercExpandInstructions", Encoding, Any, Nothing(ENCODING)),
    row(119, "MercGenerateWARs1", Encoding, Any, Nothing(ENCODING)),
    row(120, "MercGenerateOpex", Encoding, Any, Nothing(ENCODING)),
    row(121, "MercGenerateWARs2", Encoding, Any, Nothing(ENCODING)),
    row(122, "MercGenerateSassUCode", Encoding, Any, Nothing(ENCODING)),
    row(123, "ComputeVCallRegUse", RegAlloc, Any, Nothing(REGISTERS)),
    row(124, "CalcRegisterMap", RegAlloc, Any, Nothing(REGISTERS)),
    row(125, "UpdateAfterPostRegAlloc", Cleanup, Any, Runs(&sweep::PHASE)),
    row(126, "ReportFinalMemoryUsage", Reporting, Any, Runs(&code::PHASE)),
    row(127, "AdvancedPhaseOriPhaseEncoding", Gate, Any, Nothing(HOOK)),
    row(128, "UpdateAfterFormatCodeList", Cleanup, Any, Runs(&sweep::PHASE)),
    row(129, "DumpNVuCodeText", Reporting, Any, Nothing(ENCODING)),
    row(130, "DumpNVuCodeHex", Reporting, Any, Nothing(ENCODING)),
    row(131, "DebuggerBreak", Cleanup, Any, Nothing(DEBUGGER)),
    row(132, "UpdateAfterConvertUnsupportedOps", Cleanup, Any, Runs(&sweep::PHASE)),
    row(133, "MergeEquivalentConditionalFlow", Optimization, Any, Nothing(MERGED)),
    row(134, "AdvancedPhaseAfterMidExpansion", Gate, Any, Nothing(HOOK)),
    row(135, "AdvancedPhaseLateExpandSyncInstructions", Gate, Any, Nothing(HOOK)),
    row(136, "LateMergeEquivalentConditionalFlow", Optimization, Any, Nothing(MERGED)),
    row(137, "LateExpansionUnsupportedOpsMid", Lowering, Any, Nothing(MACHINE)),
    row(138, "OriSplitHighPressureLiveRanges", RegAlloc, Above(2), Runs(&split_high_pressure::PHASE)),
    row(139, "ProcessO0WaitsAndSBs", Scheduling, Exactly(0), Nothing(SCHEDULING)),
    row(140, "PostFixUp", Cleanup, Any, Nothing(MACHINE)),
    row(141, "MercConverter", Encoding, Any, Nothing(ENCODING)),
    row(142, "MercEncodeAndDecode", Encoding, Any, Nothing(ENCODING)),
    row(143, "MercExpandInstructions", Encoding, Any, Nothing(ENCODING)),
    row(144, "MercGenerateWARs1", Encoding, Any, Nothing(ENCODING)),
    row(145, "MercGenerateOpex", Encoding, Any, Nothing(ENCODING)),
    row(146, "MercGenerateWARs2", Encoding, Any, Nothing(ENCODING)),
    row(147, "MercGenerateSassUCode", Encoding, Any, Nothing(ENCODING)),
    row(148, "ComputeVCallRegUse", RegAlloc, Any, Nothing(REGISTERS)),
    row(149, "CalcRegisterMap", RegAlloc, Any, Nothing(REGISTERS)),
    row(150, "UpdateAfterPostRegAlloc", Cleanup, Any, Runs(&sweep::PHASE)),
    row(151, "ReportFinalMemoryUsage", Reporting, Any, Runs(&code::PHASE)),
    row(152, "AdvancedPhaseOriPhaseEncoding", Gate, Any, Nothing(HOOK)),
    row(153, "FormatCodeList", Encoding, Any, Nothing(ENCODING)),
    row(154, "UpdateAfterFormatCodeList", Cleanup, Any, Runs(&sweep::PHASE)),
    row(155, "DumpNVuCodeText", Reporting, Any, Nothing(ENCODING)),
    row(156, "DumpNVuCodeHex", Reporting, Any, Nothing(ENCODING)),
    row(157, "DebuggerBreak", Cleanup, Any, Nothing(DEBUGGER)),
    row(158, "NOP", Cleanup, Any, Nothing(NOP)),
];

/// Passes outside the pipeline, which run on request before the final inspection. Their numbers are of no source.
pub static PASSES: [PhaseRow; 2] = [
    row(200, "fix-irreducible", Lowering, Any, Runs(&irreducible::PHASE)),
    row(201, "structurizecfg", Lowering, Any, Runs(&structurize::PHASE)),
];
