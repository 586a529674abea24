//! What a failure costs: one function one phase, and nothing else.
//!
//! Phases of the tests' own run before the last inspection. Each does something wrong to the function called `guilty` of
//! three, and all must come out as if it had not been there. What is changed past the editor cannot be undone: then the
//! function is passed through unchanged.

use ptxopt::{Optimizer, Options, Output, Status, VerifyLevel, optimize, optimize_with_plan, standard};
use ptxopt_components::block::BlockFlags;
use ptxopt_components::code_object::{CodeText, Room};
use ptxopt_components::ids::{BlockId, CodeId, Id, InstId};
use ptxopt_components::instruction::Marks;
use ptxopt_engine::edit::Editor;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::{Phase, Plan, Step};
use ptxopt_engine::store::columns::{BlocksMut, CodeObjects, InstsMut};
use ptxopt_tests::clock::cpu_time;
use std::process::Command;
use std::time::Duration;

/// Three kernels, each with a dead product. The blanks and the comment in the second are its own.
const THREE: &str = r"// Stands before the first.
.version 8.0
.target sm_80
.address_size 64

.visible .entry first(.param .u64 out)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.lo.u32 %r2, %r1, 11;
    st.global.u32 [%rd1], %r1;
    ret;
}
// Stands before the second.
.visible .entry guilty(.param .u64 out)
{
    .reg .b32   %r<40>;   // more than it needs
    .reg .pred %p<2>;
    .reg .b64 %rd<2>;

    ld.param.u64 %rd1, [ out ];
    mov.u32 %r1, %tid.x;
    mul.lo.u32 %r2, %r1, 22;
    setp.gt.u32 %p1, %r1, 0x10;
    @%p1   bra   DONE;
    st.volatile.global.u32 [%rd1], %r1;
DONE:
    ret;
}
.visible .entry third(.param .u64 out)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.lo.u32 %r2, %r1, 33;
    st.global.u32 [%rd1], %r1;
    ret;
}
";

/// A module without anything guilty.
const INNOCENT: &str = r".version 8.0
.target sm_80
.address_size 64
.visible .entry alone(.param .u64 out)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.lo.u32 %r2, %r1, 44;
    st.global.u32 [%rd1], %r1;
    ret;
}
";

const fn sabotage(name: &'static str, install: fn(&mut ptxopt_engine::run::phase::Slot<'_>)) -> Phase {
    Phase { name, breaks: &Fact::ALL, install, ..Phase::NOTHING }
}

static PANICS: Phase = sabotage("panics", |slot| slot.add(panic_on_guilty));
static TAKES_LONG: Phase = sabotage("takes_long", |slot| slot.add(count_on_guilty));
static WAITS_LONG: Phase = sabotage("waits_long", |slot| slot.add(wait_on_guilty));
static GROWS: Phase = sabotage("grows", |slot| slot.add(grow_guilty));
static LOSES_A_BRANCH: Phase = sabotage("loses_a_branch", |slot| slot.add(lose_branch));
static MISPLACES_A_ROW: Phase = sabotage("misplaces_a_row", |slot| slot.add(misplace_row));
static KILLS_A_TARGET: Phase = sabotage("kills_a_target", |slot| slot.add(kill_target));

/// The functions that are called `guilty`, by number.
fn guilty_ones(codes: &CodeObjects<'_, '_>) -> Vec<CodeId> {
    guilty_among(codes.columns().3)
}

fn guilty_among(texts: &[CodeText]) -> Vec<CodeId> {
    let name_of = |code: &usize| THREE.as_bytes().get(texts[*code].name.range());
    (0..texts.len()).filter(|code| name_of(code) == Some(b"guilty")).map(CodeId::new).collect()
}

fn panic_on_guilty(codes: CodeObjects) {
    assert!(guilty_ones(&codes).is_empty(), "row 7 is lost");
}

/// Longer than the limit that the test sets for the whole batch.
const NAP: Duration = Duration::from_millis(700);
const NAP_LIMIT_MS: u64 = 200;

fn count_on_guilty(codes: CodeObjects) {
    if !guilty_ones(&codes).is_empty() {
        let start = cpu_time();
        while cpu_time() - start < NAP {}
    }
}

/// As a thread does to which a busy machine gives no time.
fn wait_on_guilty(codes: CodeObjects) {
    if !guilty_ones(&codes).is_empty() {
        std::thread::sleep(NAP);
    }
}

/// Puts ten copies of the first instruction in front of it.
fn grow_guilty(mut editor: Editor) {
    for id in guilty_among(editor.view().code_texts) {
        let mut f = editor.edit(id);
        let first = InstId(0);
        let (form, operands) = (f.view().heads[0].form, f.view().operands_of(first).to_vec());
        let room = Room { insts: 10, ..Room::default() };
        let Some(mut change) = f.change_with_room(0, "growth", room) else { continue };
        for _ in 0..10 {
            change.insert_before(first, form, &operands, None);
        }
    }
}

/// Deletes the first branch without a word.
fn lose_branch(codes: CodeObjects, mut insts: InstsMut) {
    let (_, _, spans, _) = codes.columns();
    for code in guilty_ones(&codes) {
        let rows = &mut insts.columns().0[spans[code.index()].insts.range()];
        let branch =
            rows.iter_mut().find(|head| head.marks.contains(Marks::CONTROL)).expect("it has a branch");
        branch.marks |= Marks::TOMBSTONE;
    }
}

/// Says that the first instruction lies in the last block.
fn misplace_row(codes: CodeObjects, mut insts: InstsMut) {
    let (_, _, spans, _) = codes.columns();
    for code in guilty_ones(&codes) {
        let span = spans[code.index()];
        insts.columns().0[span.insts.first as usize].block = BlockId(span.blocks.count - 1);
    }
}

/// Declares the last block dead, to which a branch leads.
fn kill_target(codes: CodeObjects, mut blocks: BlocksMut) {
    let (_, _, spans, _) = codes.columns();
    for code in guilty_ones(&codes) {
        blocks.columns().0[spans[code.index()].blocks.end() - 1].flags |= BlockFlags::DEAD;
    }
}

/// The plan of `options` with `phase` in front of the last inspection.
fn plan_with(phase: &'static Phase, options: &Options) -> Plan {
    let mut plan = standard::plan(options, false);
    let last = plan.steps.iter().position(|step| step.number == 94).expect("every plan is inspected");
    plan.steps.insert(last, Step::new(93, phase));
    plan
}

fn with_verify(verify: VerifyLevel) -> Options {
    Options { verify, ..Options::default() }
}

fn run(phase: &'static Phase, options: &Options) -> Output {
    let plan = plan_with(phase, options);
    let output = optimize_with_plan(THREE.as_bytes(), &plan).expect("the module is valid");
    // Whatever was thrown away, the next modules find everything in order.
    for next in [INNOCENT, THREE] {
        let fresh = optimize(next.as_bytes(), &Options::default()).expect("the module is valid");
        assert_eq!(fresh.report.status, Status::Ok);
    }
    let next = optimize_with_plan(INNOCENT.as_bytes(), &plan).expect("the module is valid");
    assert_eq!((next.report.status, next.report.instructions_out), (Status::Ok, 4));
    output
}

/// The text from a function's header to its closing brace.
fn function_in<'t>(text: &'t str, name: &str) -> &'t str {
    let first = text.find(&format!(".visible .entry {name}(")).expect("the function is there");
    let length = text[first..].find('}').expect("its body ends");
    &text[first..=first + length]
}

/// Checks that the other two functions came out optimized, and that the report counts the guilty one.
fn assert_others_are_optimized(output: &Output, text: &str, undisturbed: &str) {
    for name in ["first", "third"] {
        assert_eq!(function_in(text, name), function_in(undisturbed, name));
        assert!(!function_in(text, name).contains("mul.lo.u32"));
    }
    assert!(text.contains("// Stands before the first.") && text.contains("// Stands before the second."));
    let report = &output.report;
    assert_eq!((report.status, report.functions), (Status::Partly, 3));
    assert_eq!(report.instructions_in, 5 + 7 + 5);
    assert_eq!((report.blocks_in, report.blocks_out), (1 + 3 + 1, 1 + 3 + 1));
}

fn texts_of(output: &Output) -> (String, String) {
    let undisturbed = optimize(THREE.as_bytes(), &Options::default()).expect("the module is valid");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text in, text out");
    (text(&output.text), text(&undisturbed.text))
}

/// Checks that the guilty function came out as it came in, and the other two optimized; gives the reason.
fn reason_of(output: &Output) -> &str {
    let (text, undisturbed) = texts_of(output);
    assert_eq!(function_in(&text, "guilty"), function_in(THREE, "guilty"));
    assert_others_are_optimized(output, &text, &undisturbed);
    let report = &output.report;
    assert_eq!(report.instructions_out, 4 + 7 + 4);
    assert_eq!((report.functions_left, report.left.len(), report.undone.len()), (1, 1, 0));
    assert_eq!(report.left[0].name, "guilty");
    &report.left[0].reason
}

/// Checks that all functions came out as if the phase had never been, which was undone for one of them; gives the reason.
fn undone_reason_of<'o>(output: &'o Output, phase: &Phase) -> &'o str {
    let (text, undisturbed) = texts_of(output);
    assert_eq!(function_in(&text, "guilty"), function_in(&undisturbed, "guilty"));
    assert_others_are_optimized(output, &text, &undisturbed);
    let report = &output.report;
    assert_eq!(report.instructions_out, 4 + 6 + 4);
    assert_eq!((report.functions_left, report.undone.len()), (0, 1));
    let undone = &report.undone[0];
    assert_eq!((undone.function.as_str(), undone.phase.as_str()), ("guilty", phase.name));
    &undone.reason
}

#[test]
fn a_panic_costs_one_function() {
    for verify in [VerifyLevel::Off, VerifyLevel::Full] {
        let output = run(&PANICS, &with_verify(verify));
        let reason = undone_reason_of(&output, &PANICS);
        assert!(reason.starts_with("a phase failed: ") && reason.contains("row 7 is lost"), "{reason}");
        assert!(!reason.contains('\n'), "{reason}");
    }
}

/// Without phase 73 phis would be written, and without the last inspection what nobody has looked at.
#[test]
fn a_panic_in_a_required_phase_leaves_the_function_as_it_came_in() {
    const REQUIRED: Phase = Phase { required: true, ..PANICS };
    for verify in [VerifyLevel::Off, VerifyLevel::Full] {
        let output = run(&REQUIRED, &with_verify(verify));
        let reason = reason_of(&output);
        assert!(reason.starts_with("a phase failed: ") && reason.contains("row 7 is lost"), "{reason}");
    }
}

/// The test before the last runs again as a process of its own, whose standard error is seen.
#[test]
fn a_caught_panic_prints_nothing() {
    let tests = std::env::current_exe().expect("this test is a program");
    let arguments = ["--exact", "fallback::a_panic_costs_one_function", "--nocapture", "--test-threads=1"];
    let run = Command::new(tests).args(arguments).output().expect("the test can be run");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
    assert!(String::from_utf8_lossy(&run.stdout).contains("1 passed"));
    assert_eq!(String::from_utf8_lossy(&run.stderr), "");
}

#[test]
fn damage_that_the_verifier_sees_costs_one_function() {
    for phase in [&LOSES_A_BRANCH, &MISPLACES_A_ROW, &KILLS_A_TARGET] {
        for verify in [VerifyLevel::Fast, VerifyLevel::Full] {
            let output = run(phase, &with_verify(verify));
            let reason = reason_of(&output);
            let is_told =
                reason.starts_with("check ") && reason.contains(&format!("failed after {}: ", phase.name));
            assert!(is_told, "{}: {reason}", phase.name);
        }
    }
}

/// Without being asked, the verifier looks at what is about to be written.
#[test]
fn damage_never_reaches_the_output() {
    for phase in [&LOSES_A_BRANCH, &MISPLACES_A_ROW, &KILLS_A_TARGET] {
        let output = run(phase, &with_verify(VerifyLevel::Off));
        let reason = reason_of(&output);
        assert!(
            reason.starts_with("check ") && reason.contains("failed after FinalInspectionPass: "),
            "{reason}"
        );
    }
}

#[test]
fn the_time_limit_costs_one_function() {
    let mut options = Options::default();
    options.set_limit(&format!("time={NAP_LIMIT_MS}")).expect("a limit");
    let output = run(&TAKES_LONG, &options);
    assert_eq!(undone_reason_of(&output, &TAKES_LONG), "time limit");
    assert!(run(&WAITS_LONG, &options).report.undone.is_empty(), "what others take does not count");
}

#[test]
fn the_growth_limit_costs_one_function() {
    let output = run(&GROWS, &Options::default());
    assert_eq!(undone_reason_of(&output, &GROWS), "it grew from 7 to 16 instructions");
}

/// Twice the size is within a limit of 300 percent, and the copies are there.
#[test]
fn growth_within_the_limit_is_kept() {
    let mut options = with_verify(VerifyLevel::Full);
    options.set_limit("growth=300").expect("a limit");
    let output =
        optimize_with_plan(THREE.as_bytes(), &plan_with(&GROWS, &options)).expect("the module is valid");
    assert_eq!(output.report.status, Status::Ok, "{:?}", output.report.left);
    let text = String::from_utf8(output.text).expect("text in, text out");
    assert_eq!(function_in(&text, "guilty").matches("ld.param.u64 %rd1, [out];").count(), 11);
}

/// A phase that may leave room for later ones is not undone, but what no later phase makes smaller is given back, unless
/// somebody looks at a part of the pipeline: a bisection would miss a wrong change otherwise.
#[test]
fn what_is_larger_in_the_middle_of_the_pipeline_is_kept_for_who_looks_there() {
    static GROWS_FOR_LATER: Phase =
        Phase { room_percent: 200, ..sabotage("grows_for_later", |slot| slot.add(grow_guilty)) };
    let run = |options: &Options| {
        let mut plan = plan_with(&GROWS_FOR_LATER, options);
        let at = plan.steps.iter().position(|step| step.number == 93).expect("the step is there");
        // Something that wants to change more.
        let is_free = |number: &u16| plan.steps.iter().all(|step| step.number != *number);
        let number = (0..).find(is_free).expect("some phase does not run");
        plan.steps.insert(at, Step::new(number, &GROWS_FOR_LATER));
        let output = optimize_with_plan(THREE.as_bytes(), &plan).expect("the module is valid");
        let changes: u64 = output.report.phases.iter().map(|phase| phase.changes).sum();
        (output.report.left.first().map(|left| left.reason.clone()), changes)
    };
    let (left, changes) = run(&Options::default());
    assert_eq!(left.as_deref(), Some("grew"));
    // Its functions ran once, and what grew did not run again.
    let (none, once) = run(&Options { keep_grown: true, ..Options::default() });
    assert!(none.is_none() && once < changes);
    for bisect in [changes, changes - 1] {
        let (left, made) = run(&Options { bisect: Some(bisect), ..Options::default() });
        assert_eq!((left.is_some(), made), (bisect == changes, bisect));
    }
}

/// Two kernels in which copies keep values of a variable apart that live at the same time, before ways that meet.
const APART: &str = r"
.version 8.0
.target sm_80
.address_size 64

.visible .entry first(.param .u64 out)
{
    .reg .b32 %r<10>;
    .reg .b64 %rd<2>;
    .reg .pred %p<3>;
    ld.param.u64 %rd1, [out];
    ld.global.u32 %r2, [%rd1];
    ld.global.u32 %r3, [%rd1+4];
    ld.global.u32 %r8, [%rd1+28];
    ld.global.u32 %r9, [%rd1+32];
L:
    ld.volatile.global.u32 %r4, [%rd1+8];
    setp.eq.u32 %p1, %r4, 0;
    @%p1 bra END;
    ld.volatile.global.u32 %r2, [%rd1+12];
    ld.volatile.global.u32 %r8, [%rd1+36];
    add.u32 %r3, %r3, 4;
    add.u32 %r9, %r9, 4;
    mul.lo.u32 %r7, %r3, 22;
    ld.volatile.global.u32 %r5, [%rd1+16];
    setp.eq.u32 %p1, %r5, 0;
    @%p1 bra END;
    mov.u32 %r2, %r3;
    mov.u32 %r8, %r9;
    ld.volatile.global.u32 %r6, [%rd1+20];
    setp.eq.u32 %p2, %r6, 0;
    @%p2 bra L;
END:
    st.global.u32 [%rd1+24], %r2;
    st.global.u32 [%rd1+40], %r8;
    ret;
}
.visible .entry second(.param .u64 out)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.lo.u32 %r2, %r1, 11;
    st.global.u32 [%rd1], %r1;
    ret;
}
";

/// Alone or in one batch with another module.
#[test]
fn what_comes_out_larger_runs_again_with_copies_read_in_their_own_blocks() {
    let options = Options { remarks: true, ..Options::default() };
    let output = optimize(APART.as_bytes(), &options).expect("the module is valid");
    assert_eq!(output.report.status, Status::Ok, "{:?}", output.report.left);
    let again = output.remarks.iter().filter(|remark| remark.reason.contains("ran again"));
    let functions: Vec<_> = again.map(|remark| remark.function.as_deref()).collect();
    assert_eq!(functions, [Some("first")]);
    let text = std::str::from_utf8(&output.text).expect("text in, text out");
    assert!(text.contains("mov.u32 %r2, %r3;") && !text.contains("mul.lo.u32"), "{text}");
    let plain = Options::default();
    let inputs = [APART.as_bytes(), THREE.as_bytes(), APART.as_bytes()];
    let together = Optimizer::new(&plain).optimize_together(&inputs);
    for at in [0, 2] {
        let alike = together[at].as_ref().expect("the module is valid");
        assert_eq!(alike.text, output.text);
        let insts = |output: &Output| (output.report.instructions_in, output.report.instructions_out);
        assert_eq!(insts(alike), insts(&output));
    }
}

/// The changes of the first run, and then those of the second, which starts from the text.
#[test]
fn each_change_of_a_second_run_counts_for_a_bisection() {
    let run = |bisect| {
        let options = Options { bisect, ..Options::default() };
        let output = optimize(APART.as_bytes(), &options).expect("the module is valid");
        let changes: u64 = output.report.phases.iter().map(|phase| phase.changes).sum();
        (changes, String::from_utf8(output.text).expect("text in, text out"))
    };
    let (all, text) = run(None);
    let products: Vec<usize> = (0..=all)
        .map(|bisect| {
            let (made, text) = run(Some(bisect));
            assert_eq!(made, bisect);
            text.matches("mul.lo.u32").count()
        })
        .collect();
    assert_eq!(run(Some(all)).1, text);
    // There are two of them: they go, that of the first kernel comes back with its text, and goes once more.
    let mut steps = products.clone();
    steps.dedup();
    assert_eq!((steps.first(), steps.last()), (Some(&2), Some(&0)), "{products:?}");
    assert!(steps.windows(2).any(|two| two[0] < two[1]), "{products:?}");
}

/// The limit lies between what the second function takes and what the others take.
#[test]
fn the_memory_limit_costs_one_function() {
    let mut options = Options::default();
    options.set_limit("memory=2400").expect("a limit");
    let output = optimize(THREE.as_bytes(), &options).expect("the module is valid");
    assert_eq!(reason_of(&output), "memory limit");
}

/// The failing batch is one of several that run at once.
#[test]
fn a_panic_costs_one_function_of_several_batches() {
    let filler = |name: &str| {
        let sums = "    add.u32 %r1, %r1, 1;\n".repeat(9000);
        format!(
            ".visible .entry {name}(.param .u64 out)\n{{\n    .reg .b32 %r<3>;\n    .reg .b64 %rd<2>;\n    \
             ld.param.u64 %rd1, [out];\n    mov.u32 %r1, %tid.x;\n    mul.lo.u32 %r2, %r1, 55;\n{sums}    \
             st.global.u32 [%rd1], %r1;\n    ret;\n}}\n"
        )
    };
    let text = format!("{THREE}{}{}", filler("fourth"), filler("fifth"));
    let plan = plan_with(&PANICS, &Options::default());
    let pool = |threads| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started")
    };
    let outputs = [1, 4].map(|threads| {
        pool(threads).install(|| optimize_with_plan(text.as_bytes(), &plan).expect("the module is valid"))
    });
    assert_eq!(outputs[0].text, outputs[1].text);
    for output in &outputs {
        let text = std::str::from_utf8(&output.text).expect("text in, text out");
        assert_eq!(text.matches("mul.lo.u32").count(), 0);
        let undone = &output.report.undone;
        assert_eq!(
            (output.report.functions_left, undone.len(), undone[0].function.as_str()),
            (0, 1, "guilty")
        );
    }
}
