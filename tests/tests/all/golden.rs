//! Golden tests: one phase alone on one small module.
//!
//! `tests/golden/PHASE/CLAIM.ptx` holds the module. Its first comment gives the claim and why it holds; `// CHECK: `
//! lines must stand in the output in this order, `// CHECK-NOT: ` lines nowhere in it. `CLAIM.diff` is what the phase
//! changed, as a unified diff; it is empty where the claim is that nothing changes. `BLESS=1` writes the diffs again,
//! never a check. `// REMARK: ` lines are all the remarks of the phase, byte for byte, where there is one. `// FORCE-DEBUG` and `// FAITHFUL` in the first comment run with that option, `// KNOB: NAME=VALUE` with that knob, `// PTXAS: REASON` says why the
//! assembler is not asked about a module. `// RULE: NAME` and `// NOT-RULE: NAME` are for the rules of general optimization,
//! whose own test reads them.

use crate::fuzz::refusal;
use bevy_ecs::change_detection::ResMut;
use ptxopt::{
    OptLevel, Options, Output, Remark, Status, VerifyLevel, optimize, optimize_with_plan, standard,
};
use ptxopt_components::block::BlockFlags;
use ptxopt_components::ids::Id;
use ptxopt_engine::ptx::scan::Module;
use ptxopt_engine::run::log::Dumps;
use ptxopt_engine::run::phase::{Phase, Plan, Slot, Step};
use ptxopt_engine::store::columns::Code;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_tests::blessed::is_blessing;
use ptxopt_tests::modules::{expect_none, in_parallel, tests_folder};
use ptxopt_tests::ptxas::{Flags, Mode, Ptxas};
use ptxopt_tests::say::say;
use similar::TextDiff;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A folder of claims about one phase.
struct Golden {
    /// The folder, which has the name of the phase, or of a part of it.
    phase: &'static str,
    /// Numbers of the steps that run before the comparison starts.
    before: &'static [u16],
    /// The step in question.
    step: u16,
    /// Whether the phase is seen in its blocks and rows, which the text does not show.
    is_listed: bool,
}

const GOLDENS: &[Golden] = &[
    Golden { phase: "split_at_control_flow", before: &[], step: 6, is_listed: true },
    Golden { phase: "eliminate_dead_simple", before: &[6, 76], step: 10, is_listed: false },
    Golden { phase: "eliminate_dead_quick", before: &[6, 76], step: 16, is_listed: false },
    Golden { phase: "eliminate_dead_early", before: &[6, 76], step: 33, is_listed: false },
    Golden { phase: "eliminate_dead", before: &[6, 76], step: 84, is_listed: false },
    Golden { phase: "general_optimize", before: &[6], step: 29, is_listed: false },
    Golden { phase: "sweep", before: &[6, 10, 33], step: 76, is_listed: true },
    Golden { phase: "optimize_branches", before: &[6, 76], step: 15, is_listed: false },
    Golden { phase: "guard_accesses", before: &[6, 76], step: 97, is_listed: false },
    Golden { phase: "optimize_switches", before: &[6, 76], step: 30, is_listed: false },
    Golden { phase: "nested_branches", before: &[6, 76], step: 38, is_listed: false },
    Golden { phase: "simplify_loops", before: &[6], step: 18, is_listed: true },
    Golden { phase: "promote_locals", before: &[6, 76], step: 13, is_listed: false },
    Golden { phase: "unroll_loops", before: &[6, 13, 76], step: 22, is_listed: false },
    Golden { phase: "build_ssa", before: &[6, 76], step: 23, is_listed: false },
    Golden { phase: "conditional_constants", before: &[6, 23], step: 29, is_listed: false },
    Golden { phase: "offsets", before: &[6, 23], step: 29, is_listed: false },
    Golden { phase: "passed_branches", before: &[6, 23], step: 29, is_listed: false },
    Golden { phase: "narrow", before: &[6, 23, 29, 33], step: 45, is_listed: false },
    Golden { phase: "gvn_cse", before: &[6, 23, 29, 33], step: 49, is_listed: false },
    Golden { phase: "replace_equivalent_moves", before: &[6, 23, 29, 33], step: 52, is_listed: false },
    Golden { phase: "remove_redundant_moves", before: &[6, 23, 29, 33], step: 62, is_listed: false },
    Golden { phase: "reassociate", before: &[6, 23, 29, 33, 49], step: 50, is_listed: false },
    Golden { phase: "hoist_common", before: &[6, 23, 29, 33], step: 56, is_listed: false },
    Golden { phase: "sink", before: &[6, 23, 29, 33], step: 54, is_listed: false },
    Golden { phase: "late_commoning", before: &[6, 23, 29, 33, 63], step: 64, is_listed: false },
    Golden { phase: "predicate", before: &[6, 23, 29, 33], step: 63, is_listed: false },
    Golden { phase: "hoist_invariants", before: &[6, 23, 29, 33], step: 35, is_listed: false },
    Golden { phase: "structurizecfg", before: &[6, 76], step: 201, is_listed: false },
    Golden { phase: "fix_irreducible", before: &[6, 76], step: 200, is_listed: false },
    Golden { phase: "leave_ssa", before: &[6, 23, 29, 33], step: 73, is_listed: false },
    Golden { phase: "split_ranges", before: &[6, 76], step: 19, is_listed: false },
    Golden { phase: "rematerialize", before: &[6, 23, 29, 33], step: 69, is_listed: false },
    Golden { phase: "split_high_pressure", before: &[6, 76], step: 138, is_listed: false },
    Golden { phase: "fuse", before: &[6, 76], step: 75, is_listed: false },
    Golden { phase: "remove_held_moves", before: &[6, 76], step: 81, is_listed: false },
    Golden { phase: "propagate_back_copies", before: &[6, 76], step: 82, is_listed: false },
];

/// Lists blocks and rows after the last step. A phase of the tests' own, since only a system sees the tables.
static LISTING: Phase =
    Phase { name: "listing", install: |slot: &mut Slot<'_>| slot.add(list), ..Phase::NOTHING };

fn list(code: Code, mut dumps: ResMut<Dumps>) {
    for function in code.view().functions() {
        dumps.text.extend_from_slice(listing(&function).as_bytes());
    }
}

/// One line a block: its number, its successors, its live and deleted rows.
fn listing(function: &FunctionView<'_>) -> String {
    let mut lines = format!("{:?}: {} anchors\n", function.code, function.anchors.len());
    for block in function.block_ids() {
        let head = function.blocks[block.index()];
        let targets: String = function.succs(block).iter().map(|succ| format!(" {succ:?}")).collect();
        let live = function.insts_of(block).count();
        let deleted = head.insts.len() - live;
        let dead = if head.flags.contains(BlockFlags::DEAD) { ", dead" } else { "" };
        lines.push_str(&format!("{block:?} ->{targets}: {live} live, {deleted} deleted{dead}\n"));
    }
    lines
}

/// A test for each phase, of its name, that checks the folder of that name; and `TESTED`, their names.
macro_rules! test_folders {
    ($($phase:ident)*) => {
        const TESTED: &[&str] = &[$(stringify!($phase)),*];
        $(
            #[test]
            fn $phase() {
                check_folder(stringify!($phase));
            }
        )*
    };
}

test_folders! {
    split_at_control_flow
    eliminate_dead_simple
    eliminate_dead_quick
    eliminate_dead_early
    eliminate_dead
    general_optimize
    sweep
    optimize_branches
    guard_accesses
    optimize_switches
    nested_branches
    simplify_loops
    promote_locals
    unroll_loops
    build_ssa
    conditional_constants
    offsets
    passed_branches
    narrow
    gvn_cse
    replace_equivalent_moves
    remove_redundant_moves
    reassociate
    hoist_common
    sink
    late_commoning
    predicate
    hoist_invariants
    structurizecfg
    fix_irreducible
    leave_ssa
    split_ranges
    rematerialize
    split_high_pressure
    fuse
    remove_held_moves
    propagate_back_copies
}

/// A diff without a module, or a folder that no test visits, would claim something that nothing checks.
#[test]
fn every_file_is_checked() {
    let known: BTreeSet<PathBuf> = GOLDENS.iter().map(folder_of).collect();
    let folders: BTreeSet<PathBuf> = entries(&tests_folder().join("golden")).into_iter().collect();
    assert_eq!(folders, known);
    assert_eq!(TESTED, GOLDENS.iter().map(|golden| golden.phase).collect::<Vec<_>>());
    for path in folders.iter().flat_map(|folder| entries(folder)) {
        let is_whole = path.extension().is_some_and(|extension| extension == "ptx" || extension == "diff")
            && path.with_extension("ptx").is_file()
            && path.with_extension("diff").is_file();
        assert!(is_whole, "{} is no half of a claim", path.display());
    }
}

#[test]
fn the_assembler_accepts_inputs_and_outputs() {
    let Some(ptxas) = Ptxas::find() else { return };
    let claims: Vec<(&Golden, PathBuf)> = GOLDENS
        .iter()
        .flat_map(|golden| claims_of(golden).into_iter().map(move |path| (golden, path)))
        .collect();
    let verdicts = in_parallel(&claims, |(golden, path)| {
        let text = read(path);
        if directive(&text, "PTXAS: ").next().is_some() {
            return Ok(0);
        }
        let output = run(golden, &text, true).text;
        for (text, what) in [(text.as_bytes(), "input"), (&output, "output")] {
            let verdict = ptxas.accepts(text, &Flags::of(text), Mode::Assemble);
            verdict.map_err(|said| format!("{}, {what}: {said}", path.display()))?;
        }
        Ok(2)
    });
    let accepted: usize = verdicts.iter().flatten().sum();
    say(&format!("golden: ptxas accepts {accepted} inputs and outputs"));
    expect_none("modules are rejected", &verdicts.into_iter().filter_map(Result::err).collect::<Vec<_>>());
}

/// What a phase does alone with all the room that it wants, users see only if it stays within its limits among the others.
#[test]
fn nothing_is_undone_in_the_whole_pipeline() {
    let claims: Vec<PathBuf> = GOLDENS.iter().flat_map(claims_of).collect();
    let verdicts = in_parallel(&claims, |path| {
        let text = read(path);
        let mut options = Options { level: OptLevel::O3, threads: 1, ..Options::default() };
        for knob in directive(&text, "KNOB: ") {
            options.set_knob(knob).unwrap_or_else(|error| panic!("{error}"));
        }
        let output = optimize(text.as_bytes(), &options).map_err(|error| error.to_string());
        let verdict = output.and_then(|output| refusal(&output.report).map(drop));
        verdict.map_err(|said| format!("{}: {said}", path.display()))
    });
    expect_none("phases fail", &verdicts.into_iter().filter_map(Result::err).collect::<Vec<_>>());
}

/// What a function has left to do is remembered where nothing reads remarks, so what is remembered must be so.
#[test]
fn remarks_change_nothing() {
    let claims: Vec<PathBuf> = GOLDENS.iter().flat_map(claims_of).collect();
    let verdicts = in_parallel(&claims, |path| {
        let text = read(path);
        for level in [OptLevel::O1, OptLevel::O2, OptLevel::O3] {
            let quiet = Options { level, threads: 1, ..Options::default() };
            let [without, with] = [quiet.clone(), Options { remarks: true, ..quiet }]
                .map(|options| optimize(text.as_bytes(), &options).expect("the claim is read").text);
            if without != with {
                return Err(format!("{} at -{level:?}", path.display()));
            }
        }
        Ok(())
    });
    expect_none("outputs differ", &verdicts.into_iter().filter_map(Result::err).collect::<Vec<_>>());
}

fn folder_of(golden: &Golden) -> PathBuf {
    tests_folder().join("golden").join(golden.phase)
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.expect("the folder can be listed").path()).collect()
}

fn claims_of(golden: &Golden) -> Vec<PathBuf> {
    let mut claims = entries(&folder_of(golden));
    claims.retain(|path| path.extension().is_some_and(|extension| extension == "ptx"));
    claims.sort();
    assert!(!claims.is_empty(), "{} makes no claim", golden.phase);
    claims
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn check_folder(phase: &str) {
    let golden = GOLDENS.iter().find(|golden| golden.phase == phase).expect("the table has the folder");
    let claims = claims_of(golden);
    let verdicts = in_parallel(&claims, |path| check(golden, path));
    say(&format!("golden: {} claims about {}", claims.len(), golden.phase));
    expect_none("claims do not hold", &verdicts.into_iter().filter_map(Result::err).collect::<Vec<_>>());
}

/// Checks one claim: its `CHECK` lines, and its diff unless that is to be blessed.
fn check(golden: &Golden, path: &Path) -> Result<(), String> {
    let text = read(path);
    let claim = format!("{}/{}", golden.phase, path.file_stem().unwrap_or_default().to_string_lossy());
    if !text.starts_with("// ") {
        return Err(format!("{claim} starts with no comment that says why"));
    }
    let before = shown(golden, &run(golden, &text, false));
    let after = shown(golden, &run(golden, &text, true));
    check_lines(&text, &after).map_err(|error| format!("{claim}: {error}\n{after}"))?;
    check_remarks(golden, &text).map_err(|error| format!("{claim}: {error}"))?;
    let diff = TextDiff::from_lines(&before, &after);
    let diff = diff.unified_diff().context_radius(3).header("before", golden.phase).to_string();
    let blessed_path = path.with_extension("diff");
    if is_blessing() {
        fs::write(&blessed_path, diff).map_err(|error| format!("{}: {error}", blessed_path.display()))
    } else if diff == fs::read_to_string(&blessed_path).unwrap_or_default() {
        Ok(())
    } else {
        Err(format!("{claim} changes something else than its diff says (BLESS=1 accepts it):\n{diff}"))
    }
}

/// Runs the steps before the one in question, and that one too if `with_step`.
fn run(golden: &Golden, text: &str, with_step: bool) -> Output {
    let mut options = Options {
        level: OptLevel::O3,
        verify: VerifyLevel::Full,
        force_debug: directive(text, "FORCE-DEBUG").next().is_some(),
        faithful: directive(text, "FAITHFUL").next().is_some(),
        ..Options::default()
    };
    // The gate of phase 18.
    options.set_knob("Knob487.LoopMakeSingleEntry").expect("the knob exists");
    // What asks for the passes outside the pipeline.
    for knob in ["structurizecfg=on", "fix-irreducible"].into_iter().chain(directive(text, "KNOB: ")) {
        options.set_knob(knob).unwrap_or_else(|error| panic!("{error}"));
    }
    options.remarks = directive(text, REMARK).next().is_some();
    // What a phase leaves to later ones may be more than was there.
    options.set_limit("growth=1000").expect("it is a limit");
    let module = Module::scan(text.as_bytes()).unwrap_or_else(|error| panic!("{error:?}"));
    let mut plan = standard::plan(&options, module.is_debug);
    plan.steps
        .retain(|step| golden.before.contains(&step.number) || (with_step && step.number == golden.step));
    if golden.is_listed {
        plan.steps.push(Step {
            number: 158,
            name: LISTING.name,
            phase: &LISTING,
            dump: false,
            verified: false,
        });
    }
    let output = run_plan(text, &plan);
    let changes_before = [13, 23].iter().any(|step| golden.before.contains(step));
    if !with_step && !golden.is_listed && !changes_before {
        let lowest = Options { level: OptLevel::O0, ..options };
        let lowest = optimize(text.as_bytes(), &lowest).expect("the module is valid");
        assert_eq!(
            String::from_utf8_lossy(&lowest.text),
            String::from_utf8_lossy(&output.text),
            "-O0 does more"
        );
    }
    output
}

fn run_plan(text: &str, plan: &Plan) -> Output {
    let output = optimize_with_plan(text.as_bytes(), plan).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(output.report.status, Status::Ok, "{:?}", output.report.left);
    output
}

/// What claims are about: the output without comment lines, after the listing where there is one.
fn shown(golden: &Golden, output: &Output) -> String {
    let listing = if golden.is_listed { String::from_utf8_lossy(&output.dumps) } else { "".into() };
    let text = String::from_utf8_lossy(&output.text);
    let lines = listing.lines().chain(text.lines());
    lines.filter(|line| !line.trim_start().starts_with("//")).map(|line| format!("{line}\n")).collect()
}

/// What follows `// NAME` in each line that starts so.
fn directive<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = &'t str> {
    text.lines().filter_map(move |line| line.strip_prefix("// ")?.strip_prefix(name)).map(str::trim)
}

/// What a line with a remark of the phase starts with.
const REMARK: &str = "REMARK: ";

/// Compares what the phase remarks with what the claim says, where it says something.
fn check_remarks(golden: &Golden, text: &str) -> Result<(), String> {
    let wanted: Vec<&str> = directive(text, REMARK).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let own = |remark: &&Remark| remark.phase.as_ref().is_some_and(|phase| phase.number == golden.step);
    let remarks: Vec<String> =
        run(golden, text, true).remarks.iter().filter(own).map(|remark| remark.to_string()).collect();
    if remarks == wanted { Ok(()) } else { Err(format!("remarks are\n{}", remarks.join("\n"))) }
}

fn check_lines(text: &str, output: &str) -> Result<(), String> {
    let mut lines = output.lines();
    let mut count = 0;
    for wanted in directive(text, "CHECK: ") {
        if !lines.any(|line| line.contains(wanted)) {
            return Err(format!("no `{wanted}` at its place in"));
        }
        count += 1;
    }
    for unwanted in directive(text, "CHECK-NOT: ") {
        if output.contains(unwanted) {
            return Err(format!("`{unwanted}` in"));
        }
        count += 1;
    }
    if count == 0 { Err("no CHECK line".to_owned()) } else { Ok(()) }
}
