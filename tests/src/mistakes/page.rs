//! The page about the mistakes.

use super::Mistake;
use std::fmt::Write;

const HEAD: &str = "# Deliberate mistakes

What a wrong optimizer would do, and within how many kernels the judge notices. The table is made from the one that
the test `mistakes` runs (`tests/src/mistakes`); `BLESS=1 cargo test -p ptxopt-tests mistakes` writes it.

Each mistake is made on the text that the writer prints, at every place that its belief suggests. Only modules with such
a place count. Corpus modules come in a fixed order, those written by hand first; generated kernels by seed, from 0.
A number is the limit that the test asserts: twice what was needed when the row was written, and eight more for
generated kernels, which change whenever the generator does (`MEASURE=1` shows what is needed). A dash says that
this source of kernels is not asked, because it has no place for the mistake, or too few.

What running cannot show is not in the table: fences and memory orders (the emulator runs threads in one order),
`bra.uni`, and copies of registers that are still written asynchronously. Those are facts for static checks.

";

/// The phases that change something, and the mistakes that are typical of each: those that follow from its own rules.
/// Phases 0, 3, 9 and 94, and the reports, change nothing: 3 stands after the mistakes of 15 and 18.
pub const OF_PHASES: [(&str, &[&str]); 22] = [
    (
        "6 SetControlFlowOpLastInBB",
        &["branch-crossed", "guarded-end", "exit-removed", "call-guarded", "return-exits"],
    ),
    (
        "10 EarlyOriSimpleLiveDead",
        &["live-out", "guarded-write-kills", "carry-flag-dead", "atomic-result-dead", "volatile-load"],
    ),
    (
        "13 GeneralOptimizeEarly and 32 CompactLocalMemory, promote_locals",
        &[
            "local-array-as-slots",
            "local-halves",
            "store-truncates",
            "store-guarded",
            "narrow-load",
            "vector-order",
            "generic-store",
        ],
    ),
    (
        "15 OriBranchOpt",
        &[
            "branch-negated",
            "arms-swapped",
            "branch-dropped",
            "threaded-condition",
            "parallel-edges",
            "table-entry",
            "fall-through-lost",
        ],
    ),
    ("22 OriLoopUnrolling, unroll_loops", &["loop-bound", "round-early", "round-forgets"]),
    (
        "29 GeneralOptimize and 37 GeneralOptimizeMid, general_optimize",
        &[
            "lost-copy",
            "operand-redefined",
            "guarded-value-reused",
            "wrong-dominator",
            "constant-width",
            "signed-conversion",
            "wide-product-narrow",
            "shift-masked",
            "sub-operands",
            "source-negation",
            "carry-ignored",
            "saturation-ignored",
            "funnel-sources",
        ],
    ),
    (
        "49 GvnCse and 64 LateOriCommoning, gvn_cse",
        &[
            "start-alike",
            "operand-redefined",
            "value-redefined",
            "second-result",
            "type-ignored",
            "sub-operands",
            "remainder-of-another",
            "guarded-value-reused",
            "wrong-dominator",
            "load-across-store",
            "load-across-barrier",
            "generic-store",
            "volatile-load",
            "store-forwarded",
            "store-truncates",
            "store-before-load",
            "store-before-barrier",
        ],
    ),
    (
        "50 OriReassociateAndCommon",
        &[
            "difference-reassociated",
            "float-reassociated",
            "sub-operands",
            "saturation-ignored",
            "carry-ignored",
        ],
    ),
    (
        "54 OriDoRematEarly, sink",
        &["sunk-past-branch", "preheader-edge", "branch-crossed", "guarded-value-reused", "carry-ignored"],
    ),
    (
        "56 SpeculativeHoistComInsts",
        &["load-hoisted", "load-across-barrier", "volatile-load", "guard-dropped", "type-ignored"],
    ),
    (
        "19 OriSplitLiveRanges",
        &[
            "guarded-web",
            "guarded-write-kills",
            "live-out",
            "back-edge-liveness",
            "coalesced-copies",
            "operand-redefined",
        ],
    ),
    (
        "138 OriSplitHighPressureLiveRanges",
        &[
            "load-again-elsewhere",
            "load-again-in-loop",
            "load-again-after-loop",
            "load-across-store",
            "load-across-barrier",
            "operand-redefined",
            "volatile-load",
            "wrong-dominator",
        ],
    ),
    (
        "69 OriDoRemat, rematerialize",
        &["operand-redefined", "guarded-value-reused", "carry-ignored", "wrong-dominator", "branch-crossed"],
    ),
    (
        "63 OriDoPredication",
        &["select-arms", "guard-negation", "guard-dropped", "arms-swapped", "guarded-write-kills"],
    ),
    (
        "97 AdvancedPhasePreSched, guard_accesses",
        &["guard-negation", "guard-dropped", "branch-crossed", "volatile-load", "guarded-write-kills"],
    ),
    (
        "75 LateArchOptimizeFirst, fuse",
        &[
            "mad-operands",
            "wide-product-signed",
            "combination-operator",
            "unordered-comparison",
            "field-into-itself",
            "permuted-sources",
            "operand-redefined",
            "guarded-value-reused",
        ],
    ),
    (
        "81 LateArchOptimizeSecond, remove_held_moves",
        &["move-repeated", "operand-redefined", "back-edge-liveness", "guarded-write-kills"],
    ),
    (
        "82 AdvancedPhaseBackPropVReg and 83 OriBackCopyPropagate",
        &["backward-copy", "lost-copy", "swapped-phi", "coalesced-copies", "guarded-write-kills"],
    ),
    (
        "35, 66, 79 OriHoistInvariants, hoist_invariants",
        &["load-hoisted", "preheader-edge", "guarded-value-reused", "load-across-barrier", "volatile-load"],
    ),
    (
        "16, 33, 61, 84 OriPerformLiveDead, the sweeps",
        &[
            "back-edge-liveness",
            "dead-cycle",
            "carry-producer",
            "first-result-dead",
            "second-result",
            "sink-live",
            "formal-result-dead",
            "parameter-store-dead",
            "store-dead",
            "call-dead",
            "barrier-ignored",
            "trap-removed",
            "table-target",
            "carry-flag-dead",
        ],
    ),
    (
        "18 OriLoopSimplification",
        &["preheader-edge", "latch-guard", "latch-skipped", "loop-entries", "loop-exits", "loop-bound"],
    ),
    (
        "201 structurizecfg and 200 fix-irreducible",
        &[
            "flow-inverted",
            "flow-number",
            "flow-value-missing",
            "flow-value-hoisted",
            "flow-threaded",
            "loop-exits",
            "loop-entries",
            "branch-negated",
        ],
    ),
];

/// The page, in Markdown.
#[must_use]
pub fn markdown(mistakes: &[&Mistake]) -> String {
    let mut page = HEAD.to_owned();
    page.push_str("| mistake | the wrong belief | corpus | generated |\n|---|---|---:|---:|\n");
    let limit = |limit: Option<u32>| limit.map_or_else(|| "-".to_owned(), |limit| limit.to_string());
    for Mistake { name, story, corpus_max, generated_max, .. } in mistakes {
        let _ = writeln!(page, "| {name} | {story} | {} | {} |", limit(*corpus_max), limit(*generated_max));
    }
    page.push_str("\nThe mistakes that the phases are closest to:\n\n| phase | mistakes |\n|---|---|\n");
    for (phase, names) in OF_PHASES {
        let _ = writeln!(page, "| {phase} | {} |", names.join(", "));
    }
    page
}
