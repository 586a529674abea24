//! The GPU harness: rehearsed with a stand-in for the driver library, and run where there is a GPU.

use ptxopt::OptLevel;
use ptxopt_emulator::{Limits, Module, Options, Stop, run};
use ptxopt_tests::gpu::folder::Folder;
use ptxopt_tests::gpu::host::{NO_GPU, compile, compiler, device_arch, install, source};
use ptxopt_tests::gpu::prepare::{Counts, Plan, prepare};
use ptxopt_tests::gpu::record::{Against, Mismatch, Record};
use ptxopt_tests::gpu::results::How;
use ptxopt_tests::gpu::{rounding, vectors};
use ptxopt_tests::modules::{ModuleFile, corpus, expect_none, forms, in_parallel};
use ptxopt_tests::ptxas::{Flags, Mode, Ptxas};
use ptxopt_tests::say::{say, skipped};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;

/// Three kernels: floats through a buffer, a variable of the module with more dynamic shared memory than a block gets
/// unasked, and a trap. Each has something for the optimizer to drop.
const MODULE: &str = r"
.version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 total;
// launch doubled grid 1 block 32 args f32[32]=signed f32[32]=zero
.visible .entry doubled(.param .u64 in, .param .u64 out)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<6>;
    .reg .f32 %f<3>;
    mov.u32 %r1, %tid.x;
    add.u32 %r2, %r1, 1;
    mul.wide.u32 %rd1, %r1, 4;
    ld.param.u64 %rd2, [in];
    ld.param.u64 %rd3, [out];
    add.u64 %rd4, %rd2, %rd1;
    add.u64 %rd5, %rd3, %rd1;
    ld.global.f32 %f1, [%rd4];
    add.f32 %f2, %f1, %f1;
    st.global.f32 [%rd5], %f2;
    ret;
}
// launch counted grid 1 block 32 shared 60000 args u32:5 u32[8]=index
.visible .entry counted(.param .u32 number, .param .u64 out)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 ret;
    ld.param.u32 %r2, [number];
    ld.param.u64 %rd1, [out];
    add.u32 %r3, %r2, 7;
    st.global.u32 [total], %r2;
    st.global.u32 [%rd1], %r2;
    ret;
}
// launch stops grid 1 block 32 args u32[4]=zero
.visible .entry stops(.param .u64 out)
{
    trap;
    ret;
}
";

/// What the driver says after a trap.
const LAUNCH_FAILED: u32 = 719;

/// What the stand-in does with a kernel: kernel, level, action, number.
type Action<'a> = (&'a str, &'a str, &'a str, u32);

/// A run of the host with the stand-in.
struct Rehearsal {
    status: Option<i32>,
    record: Record,
    _folder: TempDir,
}

impl Rehearsal {
    /// Runs [`MODULE`] before and at -O2. The stand-in leaves the emulator's bytes where `actions` say nothing else.
    fn new(compiler: &str, archs: &[u32], actions: &[Action<'_>]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("module.ptx");
        fs::write(&path, MODULE).expect("the temporary folder can be written");
        let plan = Plan {
            modules: vec![ModuleFile { name: "stage/module.ptx".to_owned(), path }],
            generated: 0..0,
            vectors: false,
            levels: vec![OptLevel::O2],
            seeds: 1,
            archs: archs.to_vec(),
        };
        let prepared = folder.path().join("gpu");
        let counts = prepare(&prepared, &plan, Some(compiler)).expect("the folder is prepared");
        assert_eq!(counts, Counts { codes: 2, launches: 3, runs: 6, aside: 0 });
        let script = folder.path().join("script");
        fs::write(&script, answers(&prepared, actions)).expect("the temporary folder can be written");
        let output = Command::new(prepared.join("run"))
            .args(["--seconds", "2"])
            .env("PTXOPT_CUDA_DRIVER", stand_in(compiler))
            .env("STAND_IN", script)
            .output()
            .expect("the host can be run");
        let record = Record::read(&prepared).unwrap_or_else(|error| {
            panic!("{error}\n{}", String::from_utf8_lossy(&[output.stdout, output.stderr].concat()))
        });
        assert!(record.results.is_whole);
        Self { status: output.status.code(), record, _folder: folder }
    }

    /// What became of each run: kernel and level, in the order of the runs.
    fn hows(&self) -> Vec<(String, How)> {
        let runs = self.record.results.runs.iter();
        runs.map(|run| {
            let case = &self.record.prepared.cases[run.launch].name;
            let kernel = case.split(':').nth(1).expect("module, kernel and seed");
            (format!("{kernel} {}", self.record.prepared.codes[run.code].level), run.how)
        })
        .collect()
    }

    /// Everything is as it should be but the runs of `others`.
    #[track_caller]
    fn expect(&self, others: &[(&str, How)]) {
        for (run, how) in self.hows() {
            let usual = if run.starts_with("stops") { How::Trapped } else { How::Equal };
            let wanted = others.iter().find(|(name, _)| *name == run).map_or(usual, |&(_, how)| how);
            assert_eq!(how, wanted, "{run}");
        }
    }
}

/// The stand-in for the driver library, compiled once.
fn stand_in(compiler: &str) -> &'static Path {
    static LIBRARY: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = LIBRARY.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("libcuda.so.1");
        let flags = ["-shared", "-fPIC"];
        compile(compiler, &flags, &[source("stand_in.c")], &path).expect("the stand-in compiles");
        (folder, path)
    });
    path
}

/// The script of the stand-in for a folder: what the manifest says of each run, with the action for it.
fn answers(folder: &Path, actions: &[Action<'_>]) -> String {
    let manifest = fs::read_to_string(folder.join("manifest")).expect("the manifest can be read");
    let of = |word: &str| -> Vec<Vec<&str>> {
        let words = manifest.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        words.filter(|words| words[0] == word).collect()
    };
    let levels: Vec<&str> =
        manifest.lines().filter_map(|line| line.strip_prefix("about code ")?.split(' ').nth(2)).collect();
    let mut script = String::new();
    for run in of("run") {
        let (launch, code) = (run[1], run[2]);
        let index: usize = code.parse().expect("a number");
        let file =
            of("cubin").iter().find(|cubin| cubin[1] == code).map_or(of("code")[index][4], |cubin| cubin[4]);
        let image = fs::read(folder.join(file)).expect("the code can be read");
        let words = of("launch").into_iter().find(|words| words[1] == launch).expect("a launch");
        let mut items = Vec::new();
        for (word, letter) in [("buffer", 'b'), ("value", 'v'), ("variable", 'g')] {
            // Of each kind in the order of the manifest, which the kernels of this test never mix otherwise.
            for item in of(word).into_iter().filter(|item| item[1] == launch) {
                items.push((word, format!("{letter}{}", item[2..].join(":"))));
            }
        }
        items.sort_by_key(|(word, _)| ["value", "buffer", "variable"].iter().position(|other| other == word));
        let items: Vec<String> = items.into_iter().map(|(_, item)| item).collect();
        let usual = if words[10] == "trap" { ("error", LAUNCH_FAILED) } else { ("right", 0) };
        let (action, number) = actions
            .iter()
            .find(|(kernel, level, _, _)| *kernel == words[2] && *level == levels[index])
            .map_or(usual, |&(_, _, action, number)| (action, number));
        let (inputs, outputs) = (folder.join(words[11]), folder.join(words[12]));
        // A trap leaves nothing.
        let outputs = if words[12] == "-" { &inputs } else { &outputs };
        let _ = writeln!(
            script,
            "{:x} {} {} {} {} {} {action} {number}",
            fnv(&image),
            words[2],
            words[3..10].join(" "),
            inputs.display(),
            outputs.display(),
            items.join(",")
        );
    }
    script
}

/// The hash of Fowler, Noll and Vo by which the stand-in knows an image.
fn fnv(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The compiler, or a line that says that there is none.
fn compiler_or_skip() -> Option<&'static str> {
    let compiler = compiler();
    if compiler.is_none() {
        skipped("no C compiler: the GPU host is not rehearsed");
    }
    compiler
}

#[test]
fn equal_bytes_pass_through_text_and_machine_code() {
    let Some(compiler) = compiler_or_skip() else { return };
    let loaded = |rehearsal: &Rehearsal| rehearsal.record.results.runs[0].loaded.clone();
    let rehearsal = Rehearsal::new(compiler, &[], &[]);
    rehearsal.expect(&[]);
    assert_eq!(rehearsal.status, Some(0));
    assert_eq!(loaded(&rehearsal), "ptx");
    assert!(rehearsal.record.mismatches.is_empty(), "{:?}", rehearsal.record.mismatches);
    assert_eq!(rehearsal.record.compared, 3);
    assert_eq!((rehearsal.record.results.arch, rehearsal.record.results.driver), (90, 13000));
    let page = rehearsal.record.page();
    assert!(
        page.contains("Stand-in GPU, sm_90, driver for CUDA 13.0") && page.ends_with("None.\n"),
        "{page}"
    );
    if Ptxas::find().is_some() {
        let rehearsal = Rehearsal::new(compiler, &[90], &[]);
        rehearsal.expect(&[]);
        assert_eq!(loaded(&rehearsal), "cubin");
    }
}

#[test]
fn one_wrong_byte_is_found_where_it_is() {
    let Some(compiler) = compiler_or_skip() else { return };
    // Byte 12 of the second buffer of `doubled`, and the first of the variable of `counted`, which holds 5.
    let actions = [("doubled", "O2", "wrong", 128 + 12), ("counted", "before", "wrong", 32)];
    let rehearsal = Rehearsal::new(compiler, &[], &actions);
    rehearsal.expect(&[("doubled O2", How::Differs), ("counted before", How::Differs)]);
    assert_eq!(rehearsal.status, Some(1));
    let found = |against| -> Vec<&Mismatch> {
        let mismatches = rehearsal.record.mismatches.iter();
        mismatches.filter(|mismatch| mismatch.against == against).collect()
    };
    for (against, doubled) in [(Against::Emulator, 0), (Against::Before, 0)] {
        let mismatch = found(against)[doubled];
        assert_eq!(mismatch.kernel, "stage/module.ptx:doubled:0");
        assert_eq!(
            (mismatch.level.as_str(), mismatch.place.as_str(), mismatch.count),
            ("O2", "buffer 1+12", 1)
        );
        let bits = |text: &str| u32::from_str_radix(&text[2..], 16).expect("hexadecimal");
        assert_eq!(bits(&mismatch.expected) ^ bits(&mismatch.actual), 1);
        assert!(!mismatch.is_explained);
    }
    let counted = found(Against::Emulator)[1];
    assert_eq!((counted.level.as_str(), counted.place.as_str()), ("before", "total+0"));
    assert_eq!((counted.expected.as_str(), counted.actual.as_str()), ("0x00000005", "0x00000004"));
    let counted = found(Against::Before)[1];
    assert_eq!((counted.level.as_str(), counted.expected.as_str()), ("O2", "0x00000004"));
    assert!(rehearsal.record.page().contains(
        "| stage/module.ptx:counted:0 | before | emulator | total+0 | 0x00000005 | 0x00000004 | 1 | unexplained |"
    ));
}

#[test]
fn an_error_a_crash_and_a_hang_cost_one_run_each() {
    let Some(compiler) = compiler_or_skip() else { return };
    let actions = [
        ("doubled", "before", "error", 700),
        ("doubled", "O2", "crash", 0),
        ("counted", "before", "hang", 0),
        ("stops", "before", "right", 0),
    ];
    // A kernel that must trap and does not leaves what it was given.
    let rehearsal = Rehearsal::new(compiler, &[], &actions);
    rehearsal.expect(&[
        ("doubled before", How::Error),
        ("doubled O2", How::Crashed),
        ("counted before", How::Hung),
        ("stops before", How::Untrapped),
    ]);
    assert_eq!(rehearsal.status, Some(1));
    let says: Vec<&str> = rehearsal.record.unexplained().map(|mismatch| mismatch.actual.as_str()).collect();
    assert_eq!(
        says,
        ["error cuCtxSynchronize 700 CUDA_ERROR_700", "crashed run 6", "hung run 2", "untrapped"]
    );
}

#[test]
fn a_write_past_a_buffer_is_found() {
    let Some(compiler) = compiler_or_skip() else { return };
    let rehearsal = Rehearsal::new(compiler, &[], &[("counted", "O2", "stray", 4)]);
    rehearsal.expect(&[("counted O2", How::Stray)]);
    assert_eq!(rehearsal.status, Some(1));
    assert_eq!(rehearsal.record.unexplained().count(), 1);
}

#[test]
fn what_the_driver_cannot_assemble_is_no_fault_of_the_optimizer() {
    let Some(compiler) = compiler_or_skip() else { return };
    // The assembler's optimizer crashes on the code before: it is assembled without.
    let rehearsal = Rehearsal::new(compiler, &[], &[("doubled", "before", "choke", 0)]);
    rehearsal.expect(&[]);
    assert_eq!(rehearsal.status, Some(0));
    let loaded = |kernel: usize| rehearsal.record.results.runs[kernel].loaded.as_str();
    assert_eq!((loaded(0), loaded(1)), ("ptx-O0", "ptx"));
    // Code that the driver refuses before and after is unknown to it; code that it refuses after only is our fault.
    let refused = |levels: &[&'static str]| {
        let actions: Vec<Action<'_>> =
            levels.iter().map(|level| ("doubled", *level, "refuse", 222)).collect();
        Rehearsal::new(compiler, &[], &actions).record.unexplained().count()
    };
    assert_eq!(refused(&["before", "O2"]), 0);
    assert!(refused(&["O2"]) > 0);
}

#[test]
fn without_a_gpu_the_host_says_why() {
    let Some(compiler) = compiler_or_skip() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    Folder::create(folder.path()).and_then(Folder::finish).expect("the temporary folder can be written");
    install(folder.path(), Some(compiler)).expect("the host compiles");
    for (library, reason) in [
        (stand_in(compiler), "the driver finds no GPU"),
        (Path::new("/nowhere/libcuda.so.1"), "no driver library"),
    ] {
        let mut host = Command::new(folder.path().join("run"));
        let host = host.env("PTXOPT_CUDA_DRIVER", library).env_remove("STAND_IN");
        let output = host.output().expect("the host can be run");
        assert_eq!(output.status.code(), Some(NO_GPU));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.starts_with(&format!("skipped: {reason}")), "{said}");
    }
}

#[test]
fn vectors_are_modelled_and_assemble() {
    let modules = vectors::modules();
    let strange = in_parallel(&modules, |module| {
        let loaded = Module::load(module.text.as_bytes()).expect("vectors are PTX");
        let options =
            Options { limits: Limits { steps: 1_000_000, ..Limits::default() }, ..Options::default() };
        let of_case = |case: &vectors::VectorCase| match run(&loaded, &case.launch, &options).stop {
            None => None,
            // The bits of the NaN that it makes are not in the ISA.
            Some(Stop::NotSupported { mnemonic, .. }) if mnemonic.starts_with("fma.rn.oob") => None,
            Some(stop) => Some(format!("{}: {}: {stop}", module.name, case.statement)),
        };
        module.cases.iter().filter_map(of_case).collect::<Vec<_>>()
    });
    expect_none("vectors do not run", &strange.concat());
    let count: usize = modules.iter().map(|module| module.cases.len()).sum();
    assert!(count > 2_000, "{count} vectors");
    let Some(ptxas) = Ptxas::find() else { return };
    let rejected = in_parallel(&modules, |module| {
        let text = rounding::explicit(module.text.as_bytes());
        let said = ptxas.accepts(&text, &Flags::of(&text), Mode::Check).err()?;
        Some(format!("{}: {said}", module.name))
    });
    expect_none("vectors are rejected", &rejected.into_iter().flatten().collect::<Vec<_>>());
    say(&format!("gpu: {count} arithmetic vectors run in the emulator"));
}

#[test]
fn explicit_rounding_is_legal_everywhere() {
    let Some(ptxas) = Ptxas::find() else { return };
    let modules = [corpus(), forms()].concat();
    let rejected = in_parallel(&modules, |module| {
        let (text, flags) = (module.text(), Flags::of(&module.text()));
        let after = rounding::explicit(&text);
        let said = if after == text { None } else { ptxas.accepts(&after, &flags, Mode::Check).err() };
        said.map(|said| format!("{}: {said}", module.name))
    });
    expect_none("modules are rejected", &rejected.into_iter().flatten().collect::<Vec<_>>());
}

/// With a GPU: the corpus, the vectors and some generated kernels, before and at -O2. `--bin gpu` runs more.
#[test]
fn kernels_leave_the_same_bytes_on_a_gpu() {
    const GENERATED: u64 = 100;
    let Some(compiler) = compiler_or_skip() else { return };
    let arch = match device_arch(compiler) {
        Ok(arch) => arch,
        // No machine of the tests is required to have a GPU.
        Err(reason) if reason.starts_with("skipped") => return say(&reason),
        Err(error) => panic!("{error}"),
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gpu");
    let plan = Plan {
        modules: corpus(),
        generated: 0..GENERATED,
        vectors: true,
        levels: vec![OptLevel::O2],
        seeds: 1,
        archs: vec![arch],
    };
    prepare(&folder, &plan, Some(compiler)).expect("the folder is prepared");
    let status = Command::new(folder.join("run")).status().expect("the host can be run");
    assert!(matches!(status.code(), Some(0 | 1)), "the host ends with {status}");
    let record = Record::read(&folder).expect("the results can be read");
    fs::write(folder.join("record.md"), record.page()).expect("the record can be written");
    let unexplained: Vec<String> = record.unexplained().map(|mismatch| format!("{mismatch:?}")).collect();
    expect_none("differences are not explained", &unexplained);
    assert!(record.results.is_whole, "the host did not come to its end");
    say(&format!("gpu: {} runs, {}", record.results.runs.len(), folder.join("record.md").display()));
}
