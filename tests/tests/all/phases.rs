//! Choosing what runs: the bisect limit, the fingerprint filter, phases by name, verification, and the options that
//! must not show in the output.

use ptxopt::{OptLevel, Options, Output, Remark, Status, VerifyLevel, optimize};
use ptxopt_emulator::{Argument, Launch};
use ptxopt_engine::fingerprint::Fingerprint;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::ptx::reader::{ReaderScratch, read};
use ptxopt_engine::ptx::scan::Module;
use ptxopt_engine::store::tables::CodeTables;
use ptxopt_tests::modules::{ModuleFile, corpus, expect_none, forms, in_parallel};
use ptxopt_tests::ptxas::{Flags, Mode, Ptxas};
use ptxopt_tests::rewrite::rewrite;
use ptxopt_tests::say::say;

/// Largest module of the corpus that the slow tests take.
const BYTES_MAX: usize = 48 << 10;

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// Two kernels in which each kind of change is made: a write that is overwritten, a chain, a dead cycle, an unreachable
/// block with a table, a value that dies on both paths.
const BUSY: &str = r".visible .entry busy(.param .u64 out)
{
    .reg .b32 %r<9>;
    .reg .b64 %rd<3>;
    .reg .pred %p<3>;
    .reg .f32 %f<2>;
    ld.param.u64 %rd1, [out];
    ld.global.f32 %f1, [%rd1+16];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, 5;
    mov.u32 %r2, 7;
    mul.lo.u32 %r3, %r1, 3;
    add.u32 %r4, %r3, 1;
    mov.u32 %r5, 0;
    mov.u32 %r6, 1;
ROUND:
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p1, %r1, 16;
    @%p1 bra END;
    shl.b32 %r6, %r1, 1;
    add.u32 %r1, %r1, %r6;
    bra.uni ROUND;
    ways: .branchtargets ROUND, END;
    brx.idx %r1, ways;
END:
    mov.u32 %r6, 9;
    st.global.v4.b32 [%rd1], {%r2, %r6, %f1, %f1};
    ret;
}
.visible .entry idle(.param .u64 out)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, 1;
    add.u32 %r2, %r1, 1;
    st.global.u32 [%rd1], 3;
    ret;
}
";

fn with(change: impl FnOnce(&mut Options)) -> Options {
    let mut options = Options::default();
    change(&mut options);
    options
}

fn with_knobs(settings: &[&str]) -> Options {
    with(|options| settings.iter().for_each(|setting| options.set_knob(setting).expect("a knob")))
}

fn run(text: &str, options: &Options) -> Output {
    let output = optimize(text.as_bytes(), options).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(output.report.status, Status::Ok, "{:?}", output.report.left);
    output
}

fn text_of(output: &Output) -> &str {
    std::str::from_utf8(&output.text).expect("text in, text out")
}

fn changes_in(output: &Output) -> u64 {
    output.report.phases.iter().map(|phase| phase.changes).sum()
}

// The bisect limit.

#[test]
fn bisection_adds_one_change_at_a_time() {
    let text = format!("{HEAD}{BUSY}");
    let whole = run(&text, &Options::default());
    let count = changes_in(&whole);
    assert!(count >= 9, "{count} changes");
    let lowest = run(&text, &with(|options| options.level = OptLevel::O0));
    let ptxas = Ptxas::find();
    for limit in 0..=count {
        let options = with(|options| {
            options.bisect = Some(limit);
            options.verify = VerifyLevel::Full;
        });
        let output = run(&text, &options);
        assert_eq!(changes_in(&output), limit);
        assert!(rewrite(&output.text).is_ok(), "{}", text_of(&output));
        if let Some(ptxas) = &ptxas {
            let verdict = ptxas.accepts(&output.text, &Flags::of(&output.text), Mode::Assemble);
            verdict.unwrap_or_else(|said| panic!("{limit} changes: {said}"));
        }
        assert_eq!(output.text == lowest.text, limit == 0);
        if limit == count {
            assert_eq!(text_of(&output), text_of(&whole));
        }
    }
    let beyond = run(&text, &with(|options| options.bisect = Some(count + 1)));
    assert_eq!((changes_in(&beyond), text_of(&beyond)), (count, text_of(&whole)));
}

/// An index with a constant that two accesses take: wherever the limit lies, they read what they read before.
const INDEXED: &str = r".visible .entry indexed(.param .u64 p)
{
    .reg .b32 %r<9>;
    .reg .b64 %d<9>;
    ld.param.u64 %d1, [p];
    ld.global.u32 %r1, [%d1];
    and.b32 %r2, %r1, 3;
    add.s32 %r3, %r2, 5;
    mul.wide.s32 %d2, %r3, 4;
    add.s64 %d3, %d1, %d2;
    ld.global.u32 %r4, [%d3];
    ld.global.u32 %r5, [%d3+4];
    mad.wide.s32 %d4, %r3, 8, %d1;
    ld.global.u32 %r6, [%d4+8];
    mad.lo.s32 %r7, %r4, %r5, %r6;
    st.global.u32 [%d1+4], %r7;
    ret;
}
";

#[test]
fn constants_of_an_index_go_to_all_accesses_or_to_none() {
    let text = format!("{HEAD}{INDEXED}");
    let stored = |text: &[u8]| {
        let numbers = (0..64_u32).flat_map(|number| (number * number + 7).to_le_bytes());
        let launch = Launch {
            entry: "indexed".to_owned(),
            grid: [1; 3],
            block: [1; 3],
            shared_bytes: 0,
            args: vec![Argument::Buffer(numbers.collect())],
        };
        let module = ptxopt_emulator::Module::load(text).unwrap();
        let outcome = ptxopt_emulator::run(&module, &launch, &ptxopt_emulator::Options::default());
        assert_eq!(outcome.stop, None);
        outcome.buffers
    };
    let whole = run(&text, &Options::default());
    assert!(text_of(&whole).contains("+48]"), "{}", text_of(&whole));
    for limit in 0..=changes_in(&whole) {
        let output = run(&text, &with(|options| options.bisect = Some(limit)));
        assert!(stored(&output.text) == stored(text.as_bytes()), "{limit} changes: {}", text_of(&output));
    }
}

/// Value numbering decides two branches here, of which the first cuts a loop off. What nothing reads makes room for moves.
const ASKED_AGAIN: &str = r".visible .entry asked(.param .u64 p, .param .u32 n)
{
    .reg .pred %p<6>;
    .reg .b32 %r<9>;
    .reg .b64 %d1;
    ld.param.u64 %d1, [p];
    ld.param.u32 %r1, [n];
    mov.u32 %r6, 1;
    mov.u32 %r7, 2;
    mov.u32 %r8, 3;
    mov.u32 %r2, %r1;
    ld.global.u32 %r3, [%d1+4];
    setp.lt.u32 %p1, %r3, 4;
    @%p1 bra LAST;
    ld.global.u32 %r4, [%d1+4];
    setp.lt.u32 %p2, %r4, 4;
    @%p2 bra LOOP;
    ld.global.u32 %r5, [%d1+4];
    setp.lt.u32 %p3, %r5, 4;
    @%p3 bra LAST;
    add.u32 %r2, %r2, 5;
    bra LAST;
LOOP:
    add.u32 %r2, %r2, %r2;
    st.global.u32 [%d1+16], %r2;
    setp.lt.u32 %p4, %r2, %r1;
    @%p4 bra LOOP;
LAST:
    st.global.u32 [%d1], %r2;
    ret;
}
";

#[test]
fn what_is_cut_off_goes_wherever_the_limit_lies() {
    let text = format!("{HEAD}{ASKED_AGAIN}");
    let whole = run(&text, &Options::default());
    assert_eq!(text_of(&whole).matches("setp").count(), 1, "{}", text_of(&whole));
    for limit in 0..=changes_in(&whole) {
        let options = with(|options| {
            options.bisect = Some(limit);
            options.verify = VerifyLevel::Full;
        });
        let report = run(&text, &options).report;
        assert!(report.left.is_empty() && report.undone.is_empty(), "{limit} changes: {report:?}");
    }
}

/// Functions that fill a batch of 8,192 instructions each, with a dead product in front of every hundredth sum.
fn two_batches() -> (String, u64) {
    let products = 100;
    let part = format!("    mul.lo.u32 %r2, %r1, 3;\n{}", "    add.u32 %r1, %r1, 1;\n".repeat(100));
    let function = |name: &str| {
        format!(
            ".visible .entry {name}(.param .u64 out)\n{{\n    .reg .b32 %r<3>;\n    .reg .b64 %rd<2>;\n    \
             ld.param.u64 %rd1, [out];\n    mov.u32 %r1, %tid.x;\n{}    st.global.u32 [%rd1], %r1;\n    ret;\n}}\n",
            part.repeat(products)
        )
    };
    (format!("{HEAD}{}{}", function("first"), function("second")), products as u64)
}

#[test]
fn the_bisect_limit_counts_over_the_whole_module() {
    let (text, each) = two_batches();
    let whole = run(&text, &Options::default());
    assert_eq!(changes_in(&whole), 2 * each);
    let products = |text: &str| {
        let second = text.find("second").expect("it has a second function");
        [&text[..second], &text[second..]].map(|part| part.matches("mul.lo.u32").count() as u64)
    };
    for (limit, left) in
        [(0, [each, each]), (3, [each - 3, each]), (each, [0, each]), (each + 3, [0, each - 3])]
    {
        let options = with(|options| options.bisect = Some(limit));
        let outputs = [1, 4].map(|threads| {
            let pool =
                rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
            pool.install(|| run(&text, &options))
        });
        assert_eq!(outputs[0].text, outputs[1].text);
        assert_eq!(products(text_of(&outputs[0])), left);
        assert_eq!(changes_in(&outputs[0]), limit);
    }
}

// Fingerprints.

/// The fingerprints of the functions of a module.
fn fingerprints(text: &str) -> Vec<u64> {
    let module = Module::scan(text.as_bytes()).unwrap_or_else(|error| panic!("{error:?}"));
    let (mut forms, mut tables) = (FormTable::default(), CodeTables::default());
    read(&module, &module.functions, &mut forms, &mut ReaderScratch::default(), &mut tables)
        .unwrap_or_else(|error| panic!("{error:?}"));
    tables.view().functions().map(|function| Fingerprint::of(&function, &forms, module.text)).collect()
}

/// A kernel with one of everything that a fingerprint looks at.
const MARKED: &str = r".visible .entry marked(.param .u64 out)
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<3>;
    .reg .pred %p<2>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 16;
    @%p1 bra DONE;
    add.s32 %r2, %r1, 5;
    mul.wide.u32 %rd2, %r1, 4;
    mov.b64 %rd2, 81985529216486895;
    ld.global.u32 %r3, [%rd1+1073741824];
    st.global.u32 [%rd1+8], %r2;
DONE:
    ret;
}
";

fn fingerprint_of(text: &str) -> u64 {
    fingerprints(&format!("{HEAD}{text}"))[0]
}

#[test]
fn a_fingerprint_ignores_names_lines_and_comments() {
    let original = fingerprint_of(MARKED);
    let spellings = [
        ("%rd", "%address"),
        ("%r", "%word"),
        ("%p1", "%p0"),
        ("DONE", "$L__BB0_2"),
        ("    add.s32", "    // Here it adds.\n\n    add.s32"),
        ("    add.s32", "    .loc 1 7 0\n    add.s32"),
        ("marked", "another"),
        ("%r<5>", "%r<500>"),
        (".visible ", ""),
    ];
    for (from, to) in spellings {
        assert_eq!(fingerprint_of(&MARKED.replace(from, to)), original, "{from} to {to}");
    }
}

#[test]
fn a_fingerprint_sees_what_a_function_does() {
    let original = fingerprint_of(MARKED);
    let others = [
        ("add.s32", "sub.s32"),
        ("add.s32", "add.u32"),
        ("setp.lt", "setp.le"),
        ("%r1, 5;", "%r1, 6;"),
        ("%r2, %r1, 5;", "%r2, %r2, 5;"),
        ("@%p1 bra", "@!%p1 bra"),
        ("@%p1 bra", "bra"),
        ("%tid.x", "%tid.y"),
        ("[%rd1+8]", "[%rd1+12]"),
        ("1073741824", "1073741828"),
        ("81985529216486895", "81985529216486896"),
        (".reg .b32 %r<5>", ".reg .s32 %r<5>"),
        ("DONE:\n    ret;", "    ret;\nDONE:\n    ret;"),
        ("    st.global", "    membar.gl;\n    st.global"),
    ];
    let mut seen = vec![original];
    for (from, to) in others {
        let changed = MARKED.replace(from, to);
        assert_ne!(changed, MARKED, "{from}");
        let fingerprint = fingerprint_of(&changed);
        assert!(!seen.contains(&fingerprint), "{from} to {to}");
        seen.push(fingerprint);
    }
}

/// A prototype says how arguments are passed; a branch table is spelled with labels, which mean nothing.
#[test]
fn a_fingerprint_looks_into_tables() {
    let text = r".func (.param .b32 result) callee(.param .b32 value)
{
    ret;
}
.visible .entry kernel(.param .u64 out)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    mov.u32 %r1, %ctaid.x;
    mov.u64 %rd1, callee;
    {
    .param .b32 argument;
    .param .b32 result;
    st.param.b32 [argument], %r1;
    shape: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (result), %rd1, (argument), shape;
    }
    ways: .branchtargets ONE, TWO;
    brx.idx %r1, ways;
ONE:
    bar.sync 0;
TWO:
    ret;
}
";
    let fingerprint_of = |text: &str| fingerprints(&format!("{HEAD}{text}"))[1];
    let original = fingerprint_of(text);
    for (from, to) in [("ONE", "FIRST"), ("ways", "paths"), ("shape", "form")] {
        assert_eq!(fingerprint_of(&text.replace(from, to)), original, "{from} to {to}");
    }
    for (from, to) in [("_ (.param .b32 _)", "_ (.param .u32 _)"), ("ONE, TWO", "TWO, ONE")] {
        assert_ne!(fingerprint_of(&text.replace(from, to)), original, "{from} to {to}");
    }
}

/// Numbers of names and literals depend on the functions in front, and must not show.
#[test]
fn a_fingerprint_does_not_depend_on_the_functions_around() {
    let (first, second) =
        (BUSY.replace("%r2, 5;", "%r2, 5;\n    mov.b64 %rd2, 1311768467463790320;"), MARKED);
    let alone = fingerprint_of(second);
    let together = fingerprints(&format!("{HEAD}{first}{second}"));
    assert_eq!(together[2], alone);
}

#[test]
fn the_fingerprint_filter_selects_one_function() {
    let text = format!("{HEAD}{BUSY}");
    let [busy, idle] = fingerprints(&text)[..] else { panic!("two functions") };
    let lowest = run(&text, &with(|options| options.level = OptLevel::O0));
    let whole = run(&text, &Options::default());
    let split = |output: &Output| {
        let (busy, idle) = text_of(output).split_once(".visible .entry idle").expect("it has two functions");
        (busy.to_owned(), idle.to_owned())
    };
    let selected = |fingerprint: u64| split(&run(&text, &with_knobs(&[&format!("SH={fingerprint:x}")])));
    assert_eq!(selected(busy), (split(&whole).0, split(&lowest).1));
    assert_eq!(selected(idle), (split(&lowest).0, split(&whole).1));
    assert_eq!(selected(busy ^ idle), split(&lowest));
}

#[test]
fn the_fingerprint_filter_selects_what_is_dumped() {
    let text = format!("{HEAD}{BUSY}");
    let [busy, idle] = fingerprints(&text)[..] else { panic!("two functions") };
    for dump in ["DUMPIR=OriPerformLiveDeadFirst", "DumpCFG=OriPerformLiveDeadFirst", "OptionFlag20"] {
        let of =
            |knobs: &[&str]| String::from_utf8(run(&text, &with_knobs(knobs)).dumps).expect("dumps are text");
        let [of_busy, of_idle] = [busy, idle].map(|wanted| of(&[dump, &format!("SH={wanted:x}")]));
        assert!(of_busy.len() > of_idle.len() && !of_idle.is_empty(), "{dump}: {of_busy}{of_idle}");
        assert_eq!(of(&[dump, &format!("SH={:x}", busy ^ idle)]), "", "{dump}");
    }
}

/// Bisection inside one function: the filter decides which changes are counted.
#[test]
fn the_filter_and_the_limit_work_together() {
    let text = format!("{HEAD}{BUSY}");
    let idle = fingerprints(&text)[1];
    let mut options = with_knobs(&[&format!("SH={idle:x}")]);
    let all = changes_in(&run(&text, &options));
    assert_eq!(all, 2);
    options.bisect = Some(1);
    let output = run(&text, &options);
    assert_eq!(changes_in(&output), 1);
    assert!(text_of(&output).contains("mov.u32 %r2, 5;"), "the other function is not touched");
}

// Phases by name.

/// The phases that made changes.
fn changed_by(output: &Output) -> Vec<&str> {
    output.report.phases.iter().filter(|phase| phase.changes > 0).map(|phase| phase.name.as_ref()).collect()
}

fn ran(output: &Output) -> Vec<u8> {
    output.report.phases.iter().map(|phase| phase.number).collect()
}

#[test]
fn disabled_phases_do_not_run() {
    let text = format!("{HEAD}{BUSY}");
    let whole = run(&text, &Options::default());
    assert_eq!(changed_by(&whole), ["EarlyOriSimpleLiveDead", "OriBranchOpt", "OriPerformLiveDeadSecond"]);
    let without_second = run(&text, &with_knobs(&["DisablePhases=OriPerformLiveDeadSecond"]));
    assert_eq!(
        changed_by(&without_second),
        ["EarlyOriSimpleLiveDead", "OriBranchOpt", "OriPerformLiveDeadFirst"]
    );
    assert!(ran(&whole).contains(&33) && !ran(&without_second).contains(&33));
    assert_eq!(text_of(&without_second), text_of(&whole), "another instance does the same work");
    let family = run(&text, &with_knobs(&["DisablePhases=oriperformlivedead+92"]));
    assert_eq!(changed_by(&family), ["EarlyOriSimpleLiveDead", "OriBranchOpt"]);
    let none = run(
        &text,
        &with_knobs(&[
            "DisablePhases=OriPerformLiveDead+OriBranchOpt",
            "DisablePhases=10+29+30+37+38+46+58+65+75+89+92",
        ]),
    );
    let lowest = run(&text, &with(|options| options.level = OptLevel::O0));
    assert_eq!((changes_in(&none), text_of(&none)), (0, text_of(&lowest)));
}

#[test]
fn disabled_sweeps_leave_the_text_as_it_is() {
    let text = format!("{HEAD}{BUSY}");
    let unswept = with_knobs(&["DisablePhases=76+125+128+132+150+154"]);
    let unswept = run(&text, &Options { verify: VerifyLevel::Full, ..unswept });
    let swept = run(&text, &Options::default());
    assert_eq!((changes_in(&unswept), text_of(&unswept)), (changes_in(&swept), text_of(&swept)));
    assert!(rewrite(&unswept.text).is_ok());
}

/// What later phases rely on stays, and the message says so.
#[test]
fn required_phases_refuse_to_be_switched_off() {
    for name in ["SetControlFlowOpLastInBB", "6", "AnalyzeControlFlow", "FinalInspectionPass", "GvnCse+94"] {
        let error = Options::default().set_knob(&format!("DisablePhases={name}")).expect_err(name);
        assert!(error.to_string().contains("cannot be switched off"), "{name}: {error}");
    }
}

#[test]
fn named_phases_run_alone() {
    let text = format!("{HEAD}{BUSY}");
    let early = run(&text, &with_knobs(&["NamedPhases=SetControlFlowOpLastInBB+EarlyOriSimpleLiveDead"]));
    assert_eq!(changed_by(&early), ["EarlyOriSimpleLiveDead"]);
    assert!([3, 6, 10, 94].iter().all(|number| ran(&early).contains(number)), "{:?}", ran(&early));
    assert!(![16, 33, 61, 84].iter().any(|number| ran(&early).contains(number)));
    let fourth = run(&text, &with_knobs(&["NamedPhases=6+84"]));
    assert_eq!(changed_by(&fourth), ["OriPerformLiveDeadFourth"]);
    assert_eq!(text_of(&fourth), text_of(&run(&text, &Options::default())));
}

#[test]
fn a_named_phase_brings_what_it_relies_on() {
    let output = run(&format!("{HEAD}{BUSY}"), &with_knobs(&["NamedPhases=OriPerformLiveDeadFirst"]));
    assert!(changes_in(&output) > 0);
}

#[test]
fn a_byte_mask_goes_with_its_load_swept_or_not() {
    let text = HEAD.replace("8.0", "8.3")
        + r#".visible .entry masked(.param .u64 out)
{
    .reg .b32 %r<9>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    .pragma "used_bytes_mask 0xff";
    ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];
    ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd1+16];
    st.global.v4.u32 [%rd1+32], {%r5, %r6, %r7, %r8};
    ret;
}
"#;
    assert!(!text_of(&run(&text, &Options::default())).contains("used_bytes_mask"));
    let unswept = run(&text, &with_knobs(&["DisablePhases=76+125+128+132+150+154"]));
    assert!(!text_of(&unswept).contains("used_bytes_mask"));
}

// Verification, and what must not show.

fn small_corpus() -> Vec<ModuleFile> {
    let mut modules = corpus();
    modules.retain(|module| module.text().len() <= BYTES_MAX);
    modules
}

#[test]
fn the_full_verifier_passes_after_every_phase() {
    let modules = [small_corpus(), forms()].concat();
    let full = with(|options| options.verify = VerifyLevel::Full);
    let failures = in_parallel(&modules, |module| {
        let text = module.text();
        let verified = optimize(&text, &full).map_err(|error| format!("{}: {error}", module.name))?;
        let plain =
            optimize(&text, &Options::default()).map_err(|error| format!("{}: {error}", module.name))?;
        if verified.report.status != Status::Ok {
            return Err(format!("{}: {:?}", module.name, verified.report.left));
        }
        if verified.text == plain.text {
            Ok(())
        } else {
            Err(format!("{}: other text when verified", module.name))
        }
    });
    say(&format!("phases: {} modules pass the full verifier", modules.len()));
    expect_none("modules fail", &failures.into_iter().filter_map(Result::err).collect::<Vec<_>>());
}

#[test]
fn reports_do_not_show_in_the_output() {
    let modules = small_corpus();
    let silent = [
        with(|options| options.remarks = true),
        with(|options| options.threads = 1),
        with(|options| options.threads = 7),
        with_knobs(&["DUMPIR=OriPerformLiveDeadFirst+SetControlFlowOpLastInBB"]),
    ];
    let failures = in_parallel(&modules, |module| {
        let text = module.text();
        let run =
            |options: &Options| optimize(&text, options).map_err(|error| format!("{}: {error}", module.name));
        let plain = run(&Options::default())?;
        for options in &silent {
            let output = run(options)?;
            if output.text != plain.text {
                return Err(format!("{}: other text with {options:?}", module.name));
            }
            if output.report.instructions_out != plain.report.instructions_out {
                return Err(format!("{}: other counts with {options:?}", module.name));
            }
        }
        Ok(())
    });
    expect_none("modules show it", &failures.into_iter().filter_map(Result::err).collect::<Vec<_>>());
}

#[test]
fn remarks_and_dumps_say_what_was_done() {
    let text = format!("{HEAD}{BUSY}");
    let mut options = with_knobs(&["DUMPIR=OriPerformLiveDeadSecond"]);
    options.remarks = true;
    let output = run(&text, &options);
    let dead = |remark: &&Remark| {
        remark.to_string().contains("busy: OriPerformLiveDeadSecond: passed: feeds nothing")
    };
    assert!(output.remarks.iter().any(|remark| dead(&remark)), "{:?}", output.remarks);
    let dumps = String::from_utf8_lossy(&output.dumps);
    assert_eq!(dumps.matches("// after phase 33 OriPerformLiveDeadSecond").count(), 2);
    assert!(dumps.contains(".visible .entry busy") && dumps.contains(".visible .entry idle"));
    assert_eq!(
        (run(&text, &Options::default()).remarks.len(), run(&text, &Options::default()).dumps.len()),
        (0, 0)
    );
}
