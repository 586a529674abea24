//! The `ptxopt` command, run as a user runs it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ptxopt::{ModuleReport, Remark, RemarkKind};
use tempfile::TempDir;

/// Six instructions; the product is read by nobody.
const KERNEL: &str = "\
.version 8.0
.target sm_80
.address_size 64

.visible .entry twice(.param .u64 data)
{
\t.reg .b32 %r<4>;
\t.reg .b64 %rd<2>;

\tld.param.u64 %rd1, [data];
\tld.global.u32 %r1, [%rd1];
\tshl.b32 %r2, %r1, 1;
\tmul.lo.s32 %r3, %r1, 12345;
\tst.global.u32 [%rd1], %r2;
\tret;
}
";

/// Not PTX from its second line on.
const BROKEN: &str = ".version 8.0\n.tarpit sm_80\n";

/// A folder of files, and the command run in it.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new(files: &[(&str, &str)]) -> Place {
        let place = Place { folder: tempfile::tempdir().unwrap() };
        for (file, text) in files {
            fs::create_dir_all(place.path(file).parent().unwrap()).unwrap();
            fs::write(place.path(file), text).unwrap();
        }
        place
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptxopt"));
        command.current_dir(self.folder.path()).args(line.split_whitespace());
        command
    }

    pub(crate) fn run(&self, line: &str) -> Outcome {
        Outcome::of(self.command(line).stdin(Stdio::null()).output().unwrap())
    }

    fn text(&self, relative: &str) -> String {
        fs::read_to_string(self.path(relative)).unwrap_or_else(|error| panic!("{relative}: {error}"))
    }

    fn reports(&self, relative: &str) -> Vec<ModuleReport> {
        self.text(relative).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Every file under a folder, relative to it, in the order of their names.
    fn files(&self, relative: &str) -> Vec<String> {
        fn collect(folder: &Path, root: &Path, found: &mut Vec<String>) {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    collect(&path, root, found);
                } else {
                    found.push(path.strip_prefix(root).unwrap().display().to_string());
                }
            }
        }
        let root = self.path(relative);
        let mut found = Vec::new();
        collect(&root, &root, &mut found);
        found.sort();
        found
    }
}

/// What comes out of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    fn of(output: Output) -> Outcome {
        Outcome {
            status: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    pub(crate) fn expect(self, status: i32) -> Outcome {
        assert_eq!(self.status, Some(status), "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn says(self, part: &str) -> Outcome {
        assert!(self.stdout.contains(part) || self.stderr.contains(part), "no `{part}` in {self:?}");
        self
    }
}

#[test]
fn opt_writes_an_optimized_module() {
    let place = Place::new(&[("in.ptx", KERNEL)]);
    place.run("opt in.ptx -o out.ptx").expect(0);
    let text = place.text("out.ptx");
    assert!(text.contains("shl.b32") && !text.contains("12345"), "{text}");
    assert_eq!(place.text("in.ptx"), KERNEL);
    assert_eq!(place.files("."), ["in.ptx", "out.ptx"]);
}

#[test]
fn opt_at_the_lowest_level_keeps_every_instruction() {
    let place = Place::new(&[("in.ptx", KERNEL)]);
    place.run("opt -O0 in.ptx -o out.ptx").expect(0);
    assert!(place.text("out.ptx").contains("12345"));
}

#[test]
fn opt_leaves_out_what_is_disabled() {
    let place = Place::new(&[("in.ptx", KERNEL)]);
    let disable = "--knob disablephases=OriPerformLiveDead+EarlyOriSimpleLiveDead+92";
    place.run(&format!("opt in.ptx -o out.ptx {disable}")).expect(0);
    assert!(place.text("out.ptx").contains("12345"));
}

#[test]
fn opt_stops_at_the_bisect_limit() {
    let place = Place::new(&[("in.ptx", KERNEL)]);
    place.run("opt in.ptx -o out.ptx --bisect 0").expect(0);
    assert!(place.text("out.ptx").contains("12345"));
    place.run("opt in.ptx -o out.ptx --bisect 1").expect(0);
    assert!(!place.text("out.ptx").contains("12345"));
}

#[test]
fn opt_reads_and_writes_the_standard_streams() {
    let place = Place::new(&[("in.ptx", KERNEL)]);
    let mut child = place
        .command("opt - -o - --verify=full")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(KERNEL.as_bytes()).unwrap();
    let outcome = Outcome::of(child.wait_with_output().unwrap()).expect(0);
    place.run("opt in.ptx -o out.ptx").expect(0);
    assert_eq!(outcome.stdout, place.text("out.ptx"));
    assert_eq!(outcome.stderr, "");
}

#[test]
fn opt_is_stable_on_its_own_output() {
    let place = Place::new(&[("in.ptx", KERNEL)]);
    place.run("opt in.ptx -o once.ptx").expect(0);
    place.run("opt once.ptx -o twice.ptx").expect(0);
    assert_eq!(place.text("once.ptx"), place.text("twice.ptx"));
}

#[test]
fn opt_of_a_broken_module_shows_the_place_and_writes_nothing() {
    let place = Place::new(&[("in.ptx", BROKEN), ("out.ptx", "as it was")]);
    place.run("opt in.ptx -o out.ptx").expect(1).says("in.ptx:2:").says(".tarpit").says("^");
    assert_eq!(place.text("out.ptx"), "as it was");
    place.run("opt nowhere.ptx -o new.ptx").expect(1).says("cannot read `nowhere.ptx`");
    assert_eq!(place.files("."), ["in.ptx", "out.ptx"]);
}

#[test]
fn opt_prints_the_figures_asked_for() {
    let place = Place::new(&[("in.ptx", KERNEL)]);
    let outcome = place.run("opt in.ptx -o out.ptx --stat=time,memory,phase-wise").expect(0);
    outcome.says("reading").says("memory at the peak").says("OriPerformLiveDeadFirst");
}

#[test]
fn opt_dumps_after_a_phase() {
    let place = Place::new(&[("in.ptx", KERNEL)]);
    let outcome = place.run("opt in.ptx -o out.ptx --knob DUMPIR=SetControlFlowOpLastInBB").expect(0);
    outcome.says("SetControlFlowOpLastInBB, progress 0\n").says("mul.lo.s32");
    for (phase, progress) in
        [("OriBackCopyPropagate", 9), ("SetAfterLegalization", 19), ("UpdateAfterFormatCodeList", 19)]
    {
        let outcome = place.run(&format!("opt in.ptx -o out.ptx --knob DUMPIR={phase}")).expect(0);
        outcome.says(&format!("{phase}, progress {progress}\n"));
    }
}

#[test]
fn wrong_names_are_answered_with_the_nearest_right_one() {
    let place = Place::new(&[("in.ptx", KERNEL)]);
    for (line, nearest) in [
        ("opt in.ptx -o out.ptx --knob EnableGvnCes", "`EnableGvnCse`"),
        ("opt in.ptx -o out.ptx --knob 486=1", "487"),
        ("opt in.ptx -o out.ptx --knob DUMPIR=AnalyseControlFlow", "`AnalyzeControlFlow`"),
        ("opt in.ptx -o out.ptx --named-phases OriPerfromLiveDead", "`OriPerformLiveDead`"),
        ("opt in.ptx -o out.ptx --verfy", "--verify"),
        ("btach in.ptx -o out", "batch"),
    ] {
        place.run(line).expect(2).says(nearest);
    }
    assert_eq!(place.files("."), ["in.ptx"]);
}

#[test]
fn wrong_values_are_refused() {
    let place = Place::new(&[("in.ptx", KERNEL)]);
    place.run("opt in.ptx -o out.ptx -O7").expect(2).says("expected 0 to 5");
    place.run("opt in.ptx -o out.ptx --knob 464=many").expect(2).says("a knob of kind int");
    place.run("opt in.ptx -o out.ptx --limit speed=1").expect(2).says("time=MILLISECONDS");
    place.run("opt in.ptx").expect(2);
    place.run("").expect(2).says("Usage");
}

#[test]
fn what_changes_nothing_is_said() {
    let place = Place::new(&[("in.ptx", KERNEL)]);
    place.run("opt in.ptx -o out.ptx --knob 464=9").expect(0).says("changes nothing");
}

/// A loop.
const LOOP: &str = "\
.version 8.0
.target sm_80
.address_size 64

.visible .entry spin(.param .u64 data)
{
\t.reg .pred %p<2>;
\t.reg .b32 %r<2>;
\tmov.u32 %r1, 0;
AGAIN:
\tadd.u32 %r1, %r1, 1;
\tsetp.lt.u32 %p1, %r1, 9;
\t@%p1 bra AGAIN;
\tret;
}
";

#[test]
fn analyze_prints_one_thing_as_it_is() {
    let place = Place::new(&[("a.ptx", LOOP)]);
    let outcome = place.run("analyze a.ptx --print cfg");
    assert_eq!(
        (outcome.status, outcome.stdout.as_str()),
        (Some(0), "bix0 -> bix1\nbix1 -> bix1\nbix1 -> bix2\n")
    );
    let outcome = place.run("analyze a.ptx --print loops");
    let wanted = "Showing loop nest:\nloop of bix1: depth 1, blocks [1], latches [1], exits [bix1 -> bix2], \
                  preheader bix0, 3 instructions\n";
    assert_eq!(outcome.stdout, wanted);
}

#[test]
fn analyze_tells_several_things_apart() {
    let place = Place::new(&[("a.ptx", LOOP)]);
    let outcome = place.run("analyze a.ptx --function spin --print rpo,dominators,ori");
    let wanted = "// spin: rpo\nShowing RPO state for each basic block:\nbix0 -> RPONum: 0\nbix1 -> RPONum: 1\n\
                  bix2 -> RPONum: 2\nRPO traversal order: [0, 1, 2]\nShowing backedge info:\n\
                  bix1 -> backedge's successor BB: 1\n// spin: dominators\nShowing dominator tree:\nbix0\n  bix1\n    \
                  bix2\n// spin: ori\n.visible .entry spin";
    assert!(outcome.stdout.starts_with(wanted), "{}", outcome.stdout);
    let outcome = place.run("analyze a.ptx --function other --print rpo");
    assert_eq!(outcome.status, Some(1));
    assert!(outcome.stderr.contains("no function is called `other`"), "{}", outcome.stderr);
}

#[test]
fn profile_draws_where_the_time_goes() {
    let place = Place::new(&[("in/a.ptx", LOOP), ("in/broken.ptx", "oops")]);
    let outcome = place.run("profile in -j 1 --seconds 1 --flamegraph drawn.svg");
    assert_eq!(outcome.status, Some(1), "one module is broken");
    assert!(outcome.stderr.contains("broken.ptx"), "{}", outcome.stderr);
    assert!(outcome.stdout.starts_with("1 modules "), "{}", outcome.stdout);
    assert!(
        outcome.stdout.contains("\nby file, ") && outcome.stdout.contains("engine/src/"),
        "{}",
        outcome.stdout
    );
    let drawing = fs::read_to_string(place.path("drawn.svg")).unwrap();
    assert!(drawing.contains("<svg") && drawing.contains("optimize"), "no flame graph");
}

#[test]
fn graph_dumps_come_at_a_point_of_the_pipeline() {
    let place = Place::new(&[("a.ptx", LOOP)]);
    let outcome = place.run("opt a.ptx -o b.ptx --knob OptionFlag20 --knob OptionFlag24");
    assert_eq!(outcome.status, Some(0));
    assert!(outcome.stderr.starts_with("digraph f {\nnode [fontname="), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("}\nShowing RPO state"), "{}", outcome.stderr);
    let outcome = place.run("opt a.ptx -o c.ptx --knob DumpRPO=94");
    assert!(outcome.stderr.starts_with("Showing RPO state"), "{}", outcome.stderr);
    assert_eq!(fs::read(place.path("b.ptx")).unwrap(), fs::read(place.path("c.ptx")).unwrap());
}

#[test]
fn blocks_are_merged_unless_the_user_forbids_it() {
    let text = LOOP.replace("\tret;", "\tbra.uni END;\nEND:\n\tret;");
    let place = Place::new(&[("a.ptx", text.as_str())]);
    let output = |line: &str| {
        assert_eq!(place.run(line).status, Some(0));
        fs::read_to_string(place.path("b.ptx")).unwrap()
    };
    assert!(!output("opt a.ptx -o b.ptx").contains("END"));
    for forbidden in ["opt a.ptx -o b.ptx -no-bb-merge", "opt a.ptx -o b.ptx --dont-merge-basicblocks"] {
        assert!(output(forbidden).contains("bra.uni END;"));
    }
    assert!(output("opt -O0 a.ptx -o b.ptx").contains("bra.uni END;"));
}

#[test]
fn batch_keeps_the_tree_and_reports_in_the_order_of_the_inputs() {
    let place = Place::new(&[
        ("in/b.ptx", KERNEL),
        ("in/deep/er/a.ptx", KERNEL),
        ("in/readme.txt", "no module"),
        ("one.ptx", KERNEL),
    ]);
    let outcome = place.run("batch one.ptx in -o out/put -j 4 --report out/report.jsonl").expect(0);
    assert_eq!(place.files("out"), ["put/b.ptx", "put/deep/er/a.ptx", "put/one.ptx", "report.jsonl"]);
    place.run("opt one.ptx -o alone.ptx").expect(0);
    for file in place.files("out/put") {
        assert_eq!(place.text(&format!("out/put/{file}")), place.text("alone.ptx"));
    }
    let reports = place.reports("out/report.jsonl");
    let inputs: Vec<_> = reports.iter().map(|report| report.input.as_str()).collect();
    assert_eq!(inputs, ["one.ptx", "in/b.ptx", "in/deep/er/a.ptx"]);
    for report in &reports {
        assert_eq!(report.status, ptxopt::Status::Ok);
        assert_eq!((report.functions, report.functions_left), (1, 0));
        assert_eq!((report.instructions_in, report.instructions_out), (6, 5));
        assert_eq!(report.bytes_in, KERNEL.len() as u64);
        assert!(report.read_ns > 0 && report.phases_ns > 0 && report.write_ns > 0);
    }
    outcome.says("instructions a second").says("-16.7 %");
}

#[test]
fn batch_goes_on_after_a_broken_module() {
    let place = Place::new(&[("in/a.ptx", KERNEL), ("in/b.ptx", BROKEN), ("in/c.ptx", KERNEL)]);
    let outcome = place.run("batch in -o out --report report.jsonl").expect(1);
    assert_eq!(place.files("out"), ["a.ptx", "c.ptx"]);
    let reports = place.reports("report.jsonl");
    assert_eq!(reports.len(), 3);
    assert_eq!(reports[1].status, ptxopt::Status::Error);
    let error = reports[1].error.as_deref().unwrap();
    assert!(error.starts_with("in/b.ptx:2:") && !error.contains('\n'), "{error}");
    assert!(outcome.stderr.contains(".tarpit"), "{outcome:?}");
    assert!(outcome.stdout.contains("1 failed") && outcome.stdout.contains(error), "{outcome:?}");
}

#[test]
fn batch_gives_the_same_bytes_on_any_number_of_threads_and_again() {
    let names: Vec<String> = (0..40).map(|index| format!("in/{index}.ptx")).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), KERNEL)).collect();
    let place = Place::new(&files);
    place.run("batch in -o one -j 1").expect(0);
    place.run("batch in -o four -j 4").expect(0);
    place.run("batch in -o four -j 3").expect(0);
    assert_eq!(place.files("one").len(), 40);
    assert_eq!(place.files("one"), place.files("four"));
    for file in place.files("one") {
        assert_eq!(place.text(&format!("one/{file}")), place.text(&format!("four/{file}")));
    }
}

#[test]
fn batch_refuses_before_anything_runs() {
    let place = Place::new(&[("x/a.ptx", KERNEL), ("y/a.ptx", KERNEL), ("z/none.txt", "")]);
    place.run("batch x y -o out").expect(2).says("would both become");
    place.run("batch x -o x").expect(2).says("over an input");
    place.run("batch x -o out --report x/a.ptx").expect(2).says("over an input");
    place.run("batch nowhere -o out").expect(2).says("cannot open `nowhere`");
    place.run("batch z -o out").expect(2).says("found no `.ptx` file");
    assert_eq!(place.files("."), ["x/a.ptx", "y/a.ptx", "z/none.txt"]);
    assert_eq!(place.text("x/a.ptx"), KERNEL);
}

#[test]
fn batch_reports_an_output_that_cannot_be_written() {
    let place = Place::new(&[("in/a.ptx", KERNEL), ("in/b/c.ptx", KERNEL), ("out/b", "in the way")]);
    place.run("batch in -o out").expect(1).says("in/b/c.ptx: cannot write the output of it");
    assert_eq!(place.files("out"), ["a.ptx", "b"]);
}

/// The input is a pipe: opening its other end tells us that the module has begun, and the module cannot end
/// before we feed it.
#[cfg(unix)]
#[test]
fn interrupted_batch_finishes_what_has_begun_and_starts_nothing() {
    use std::io::{BufRead, BufReader, Read};

    let place = Place::new(&[]);
    for pipe in ["first.ptx", "second.ptx"] {
        assert!(Command::new("mkfifo").arg(place.path(pipe)).status().unwrap().success());
    }
    let mut child = place
        .command("batch first.ptx second.ptx -o out -j 1 --report report.jsonl")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = fs::File::options().write(true).open(place.path("first.ptx")).unwrap();
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("interrupted"), "{line}");
    first.write_all(KERNEL.as_bytes()).unwrap();
    drop(first);

    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    assert!(stdout.contains("1 not started"), "{stdout}");
    assert_eq!(place.files("out"), ["first.ptx"]);
    assert_eq!(place.reports("report.jsonl").len(), 1);
}

#[test]
fn version_is_one_line_and_with_options_a_cache_key() {
    let place = Place::new(&[]);
    let version = |line: &str| place.run(line).expect(0).stdout;
    let plain = format!("ptxopt {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(version("--version"), plain);
    assert_eq!(version("-V"), plain);
    let keys = ["--version -v", "--version -O3", "--version -O3 --knob 464=2", "--version --verify"];
    let keys: std::collections::BTreeSet<_> = keys.into_iter().map(version).collect();
    assert_eq!(keys.len(), 4);
    assert!(keys.iter().all(|key| key.starts_with(plain.trim_end()) && key.lines().count() == 1));
    assert_eq!(version("--version -v"), version("--version -O2 -j 7"));
}

#[test]
fn phases_and_knobs_are_listed() {
    let place = Place::new(&[]);
    let phases = place.run("phases -O0 --knob DisablePhases=76").expect(0).stdout;
    let line = |name: &str| phases.lines().find(|line| line.contains(name)).unwrap();
    assert!(line("UpdateAfterOptimize").contains("disabled"), "{phases}");
    assert!(line("OriPerformLiveDeadFirst").contains("not at this level"), "{phases}");
    assert_eq!(phases.lines().filter(|line| line.contains("NOP")).count(), 1);
    let knobs = place.run("knobs --knob 474=0.5").expect(0).stdout;
    assert!(knobs.lines().any(|line| line.contains("Knob474") && line.contains("0.5")), "{knobs}");
}

/// A kernel without an end, that has stored something first.
const ENDLESS: &str = "\
.version 8.0
.target sm_80
.address_size 64

.visible .entry spin(.param .u64 data)
{
\t.reg .b32 %r<2>;
\t.reg .b64 %rd<2>;
\tld.param.u64 %rd1, [data];
\tmov.u32 %r1, 7;
\tst.global.u32 [%rd1], %r1;
AGAIN:
\tbra AGAIN;
}
";

fn launch(entry: &str, args: &str) -> String {
    format!(r#"{{"entry": "{entry}", "grid": [1, 1, 1], "block": [1, 1, 1], "args": [{args}]}}"#)
}

#[test]
fn run_stops_a_kernel_without_an_end() {
    let launch = launch("spin", r#"{"buffer": {"size": 4}}"#);
    let place = Place::new(&[("a.ptx", ENDLESS), ("l.json", &launch)]);
    for level in ["", "-O2"] {
        place.run(&format!("run a.ptx --launch l.json --output out.json --steps 1000 {level}")).expect(1);
        let outcome = place.text("out.json");
        assert!(outcome.contains("step limit: not at its end after 1000 thread-instructions"), "{outcome}");
        assert!(outcome.contains(r#""bytes_hex":"07000000""#), "{outcome}");
    }
}

/// Threads below 8 go through two instructions more.
const SPLIT: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry split(.param .u64 out) {
    .reg .b32 %r<3>; .reg .b64 %d<3>; .reg .pred %p;
    ld.param.u64 %d1, [out];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %d2, %r1, 4, %d1;
    setp.ge.u32 %p, %r1, 8;
@%p bra DONE;
    st.volatile.global.u32 [%d2], 1;
    st.volatile.global.u32 [%d2], 2;
DONE:
    ret;
}
";

#[test]
fn what_is_issued_is_counted_on_request() {
    let launch =
        r#"{"entry": "split", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [{"buffer": {"size": 128}}]}"#;
    let place = Place::new(&[("a.ptx", SPLIT), ("l.json", launch)]);
    place.run("run a.ptx --launch l.json --output out.json").expect(0);
    assert!(!place.text("out.json").contains("count"));
    place.run("run a.ptx --launch l.json --output out.json --count").expect(0);
    let counted = r#""count":{"warp_instructions":8,"active_lanes":208}"#;
    assert!(place.text("out.json").contains(counted), "{}", place.text("out.json"));
    // Two inputs, two CTAs of two warps each: the first warp of a CTA splits, the second branches.
    let outcome = place.run("check a.ptx -v").expect(0);
    outcome.says("a.ptx: `split` issues ").says(" lanes, before 56 with ");
}

#[test]
fn divergent_branches_are_listed_by_what_they_cost() {
    let place = Place::new(&[("a.ptx", SPLIT)]);
    let listed = place.run("analyze a.ptx --print divergence").expect(0).stdout;
    let line = "bix0: line 10, bra, entry, 2 instructions, reconverges at bix2";
    assert_eq!(listed, format!("divergence of split: 1 of 1 branches\n{line}\n"));
}

#[test]
fn run_of_a_launch_that_does_not_fit_has_a_status_of_its_own() {
    let (other, many) = (launch("nobody", ""), launch("twice", ""));
    let files = [("a.ptx", KERNEL), ("other", other.as_str()), ("many", &many), ("cut", "{")];
    let place = Place::new(&files);
    for (file, reason) in [
        ("other", "`other` does not fit the kernel: no entry `nobody`"),
        ("many", "the kernel takes 1 arguments, 0 are given"),
        ("cut", "`cut`: EOF"),
    ] {
        let outcome = place.run(&format!("run a.ptx --launch {file} --output out.json")).expect(3);
        assert!(outcome.stderr.contains(reason), "{outcome:?}");
    }
    assert!(!place.path("out.json").exists());
}

#[test]
fn run_refuses_options_of_the_optimizer_without_a_level() {
    let launch = launch("twice", r#"{"buffer": {"bytes_hex": "05000000"}}"#);
    let place = Place::new(&[("a.ptx", KERNEL), ("l.json", &launch)]);
    let line = "run a.ptx --launch l.json --output out.json -j 1";
    for option in
        ["--knob 235", "--named-phases 6", "--bisect 0", "--verify", "--limit time=9", "--force-debug", "-v"]
    {
        place.run(&format!("{line} {option}")).expect(2).says("only with a level such as `-O2`");
    }
    assert!(!place.path("out.json").exists());
    place.run(line).expect(0);
    let outcome = place.run(&format!("{line} -O2 -v --knob DUMPIR=6 --stat=time")).expect(0);
    outcome.says("EarlyOriSimpleLiveDead: passed").says("// after phase 6").says("from start to end");
    assert!(place.text("out.json").contains(r#""bytes_hex":"0a000000""#));
    place.run("run --help").expect(0).says("Without `-O` the module runs as it is").says("Exit status");
}

#[test]
fn check_says_which_kernel_the_other_module_lacks() {
    let renamed = KERNEL.replace("twice", "thrice");
    let place = Place::new(&[("a.ptx", KERNEL), ("b.ptx", &renamed)]);
    let outcome = place.run("check a.ptx --against b.ptx").expect(1);
    outcome.says("a.ptx: `twice` differs: the other module has no kernel of this name");
    let wider = KERNEL.replace(".param .u64 data", ".param .u64 data, .param .u32 more");
    fs::write(place.path("b.ptx"), wider).unwrap();
    let outcome = place.run("check a.ptx --against b.ptx").expect(1);
    outcome.says("`twice` differs: it cannot be launched in the same way: the kernel takes 2 arguments");
}

/// Whoever holds the old file keeps its bytes, whatever command writes a new one.
#[test]
fn no_command_writes_into_a_file_that_is_there() {
    let launch = launch("twice", r#"{"buffer": {"size": 4}}"#);
    let place = Place::new(&[("in/a.ptx", KERNEL), ("l.json", &launch)]);
    for (output, line) in [
        ("out.ptx", "opt in/a.ptx -o out.ptx"),
        ("out/a.ptx", "batch in -o out --report r.jsonl --knob DUMPIR=6"),
        ("out/a.ptx.dump", "batch in -o out --knob DUMPIR=6"),
        ("r.jsonl", "batch in -o out --report r.jsonl"),
        ("out.json", "run in/a.ptx --launch l.json --output out.json"),
        ("drawn.svg", "profile in -j 1 --seconds 1 --flamegraph drawn.svg"),
    ] {
        fs::create_dir_all(place.path("out")).unwrap();
        fs::write(place.path(output), "old").unwrap();
        let _ = fs::remove_file(place.path("other"));
        fs::hard_link(place.path(output), place.path("other")).unwrap();
        place.run(line).expect(0);
        assert_eq!(place.text("other"), "old", "{line}");
        assert_ne!(place.text(output), "old", "{line}");
    }
}

#[test]
fn every_command_makes_the_folders_of_its_output() {
    let launch = launch("twice", r#"{"buffer": {"size": 4}}"#);
    let place = Place::new(&[("in/a.ptx", KERNEL), ("l.json", &launch)]);
    for (output, line) in [
        ("1/x/out.ptx", "opt in/a.ptx -o 1/x/out.ptx"),
        ("2/x/a.ptx", "batch in -o 2/x --report 3/x/r.jsonl"),
        ("3/x/r.jsonl", "batch in -o 2/x --report 3/x/r.jsonl"),
        ("4/x/out.json", "run in/a.ptx --launch l.json --output 4/x/out.json"),
        ("5/x/drawn.svg", "profile in -j 1 --seconds 1 --flamegraph 5/x/drawn.svg"),
    ] {
        place.run(line).expect(0);
        assert!(place.path(output).is_file(), "{line}");
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let place = Place::new(&[("in/a.ptx", KERNEL)]);
    for line in [
        "opt no.ptx -o out.ptx",
        "batch no.ptx -o out",
        "run no.ptx --launch l.json --output out.json",
        "check no.ptx",
        "check in/a.ptx --against no.ptx",
        "analyze no.ptx --print cfg",
        "profile no.ptx --flamegraph out.svg",
    ] {
        let outcome = place.run(line);
        assert!(outcome.status == Some(1) || outcome.status == Some(2), "{line}: {outcome:?}");
        assert!(outcome.stderr.contains("`no.ptx`"), "{line}: {outcome:?}");
        assert!(!outcome.stderr.contains("entity not found"), "{line}: {outcome:?}");
    }
}

/// The largest module goes first, and threads end in any order: what is said stands in the order of the inputs.
#[test]
fn batch_says_things_in_the_order_of_the_inputs() {
    let names: Vec<String> = (10..40).map(|index| format!("in/{index}.ptx")).collect();
    let texts: Vec<String> = (0..30)
        .map(|index| if index % 3 == 0 { BROKEN.to_owned() } else { "\n".repeat(index) + KERNEL })
        .collect();
    let files: Vec<_> = names.iter().zip(&texts).map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let place = Place::new(&files);
    let said = |threads: u32| place.run(&format!("batch in -o out -v -j {threads}")).expect(1).stderr;
    let stderr = said(4);
    let mut mentioned: Vec<&str> = Vec::new();
    for word in stderr.split(|c: char| c.is_whitespace() || c == ':') {
        if word.starts_with("in/") && mentioned.last() != Some(&word) {
            mentioned.push(word);
        }
    }
    assert_eq!(mentioned, names);
    assert_eq!(stderr, said(1));
}

#[cfg(unix)]
#[test]
fn batch_stays_inside_its_folders() {
    let place = Place::new(&[("around.ptx", KERNEL), ("in/a.ptx", KERNEL), ("elsewhere/x", "")]);
    std::os::unix::fs::symlink("..", place.path("in/up")).unwrap();
    std::os::unix::fs::symlink(".", place.path("in/self")).unwrap();
    let outcome = place.run("batch in -o out").expect(1);
    outcome
        .says("`in/up` is a link to a folder that holds it")
        .says("`in/self` is a link to a folder that holds it");
    assert_eq!(place.files("out"), ["a.ptx"]);
    fs::remove_file(place.path("out/a.ptx")).unwrap();
    std::os::unix::fs::symlink("../elsewhere/a.ptx", place.path("out/a.ptx")).unwrap();
    place.run("batch in -o out").expect(2).says("out of the output folder");
    assert_eq!(place.files("elsewhere"), ["x"]);
}

#[test]
fn of_flags_that_are_given_twice_the_last_stands() {
    let place = Place::new(&[("in.ptx", KERNEL)]);
    place.run("opt in.ptx -o out.ptx -v -v -O3 -O0").expect(0);
    assert!(place.text("out.ptx").contains("12345"));
}

/// A message for the user, not for whoever wrote the verifier.
#[test]
fn what_a_verifier_finds_is_said_in_words() {
    let text = KERNEL.replace("mul.lo.s32 %r3, %r1, 12345;", "add.s32 %r3, %r1, 0f3F800000;");
    let place = Place::new(&[("in.ptx", text.as_str())]);
    let outcome = place.run("opt in.ptx -o out.ptx -O0 --verify=fast").expect(0);
    outcome.says("is a float of 32 bits where the type is s32");
}

/// Without a verifier too.
#[test]
fn an_operand_that_is_not_taken_leaves_its_function() {
    let text = KERNEL.replace("mul.lo.s32 %r3, %r1, 12345;", "add.s32 %r3, %r1, _;");
    let place = Place::new(&[("in.ptx", text.as_str())]);
    let outcome = place.run("opt in.ptx -o out.ptx").expect(0);
    outcome.says("is left as it was: an operand is of a kind that its instruction does not take");
    assert!(place.text("out.ptx").contains("add.s32 %r3, %r1, _;"));
}

/// Two phases have one name, and find out the same.
#[test]
fn no_remark_is_printed_twice() {
    let place = Place::new(&[("in.ptx", LOOP)]);
    let stderr = place.run("opt in.ptx -o out.ptx -v").expect(0).stderr;
    let found: Vec<&str> = stderr.lines().filter(|line| line.contains(": analysis: ")).collect();
    let once: std::collections::BTreeSet<&str> = found.iter().copied().collect();
    assert!(found.len() > 4 && found.len() == once.len(), "{stderr}");
    let notes =
        place.run("opt in.ptx -o out.ptx --knob DUMPIR=OriLoopUnrolling --named-phases OriLoopUnrolling+3+OriLoopUnrolling").expect(0);
    assert_eq!(notes.stderr.matches("`OriLoopUnrolling` does nothing").count(), 1, "{notes:?}");
}

/// The product is deleted, one slot becomes a register, and the address of the other variable is stored.
const LOCALS: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 data)
{
.reg .b32 %r<4>; .reg .b64 %rd<3>;
.local .align 4 .b8 slot[4];
.local .align 4 .b8 other[4];
ld.param.u64 %rd1, [data];
st.local.u32 [slot], 7;
ld.local.u32 %r1, [slot];
mul.lo.s32 %r3, %r1, 12345;
mov.u64 %rd2, other;
  st.global.u64 [%rd1], %rd2;
st.global.u32 [%rd1+8], %r1;
ret;
}
";

fn remarks(lines: &str) -> Vec<Remark> {
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}")))
        .collect()
}

#[test]
fn remarks_say_what_was_changed_where_and_what_was_not_and_why() {
    let place = Place::new(&[("in.ptx", LOCALS)]);
    let outcome = place.run("opt in.ptx -o out.ptx --remarks notes/of.jsonl").expect(0);
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("", ""), "remarks go to their file only");
    let remarks = remarks(&place.text("notes/of.jsonl"));
    assert!(
        remarks.iter().all(|remark| remark.module == "in.ptx" && remark.function.as_deref() == Some("k"))
    );
    let has = |kind, line: u64, column: u64, number: u16, part: &str| {
        remarks.iter().any(|remark| {
            let place = remark.place.map(|place| (place.line, place.column));
            let phase = remark.phase.as_ref().map(|phase| phase.number);
            let is_there = (remark.kind, place, phase) == (kind, Some((line, column)), Some(number));
            is_there && remark.reason.contains(part)
        })
    };
    assert!(has(RemarkKind::Passed, 10, 1, 13, "local memory becomes registers"), "{remarks:#?}");
    assert!(has(RemarkKind::Passed, 12, 1, 10, "no use"), "{remarks:#?}");
    assert!(has(RemarkKind::Missed, 14, 3, 13, "is stored"), "{remarks:#?}");
    assert!(remarks.iter().any(|remark| remark.kind == RemarkKind::Analysis));
    // The optimized module is the same with and without.
    let text = place.text("out.ptx");
    place.run("opt in.ptx -o out.ptx").expect(0);
    assert_eq!(place.text("out.ptx"), text);
}

#[test]
fn remarks_go_to_standard_output_where_nothing_else_does() {
    let place = Place::new(&[("in.ptx", LOCALS)]);
    let stdout = place.run("opt in.ptx -o out.ptx --remarks -").expect(0).stdout;
    assert!(remarks(&stdout).iter().any(|remark| remark.kind == RemarkKind::Missed), "{stdout}");
    place.run("opt in.ptx -o - --remarks -").expect(2).says("would both become `-`");
    place.run("opt in.ptx -o x.ptx --remarks x.ptx").expect(2).says("would both become `x.ptx`");
    place.run("batch in.ptx -o out --remarks -").expect(2).says("summary");
    place.run("batch in.ptx -o out --report n.jsonl --remarks n.jsonl").expect(2);
    assert_eq!(place.files("."), ["in.ptx", "out.ptx"]);
}

/// The largest module goes first, and threads end in any order: remarks stand in the order of the inputs, and in each module
/// in that of its functions and phases.
#[test]
fn remarks_of_a_batch_are_the_same_on_any_number_of_threads() {
    let (head, function) = LOCALS.split_at(LOCALS.find(".visible").unwrap());
    let functions: String = (0..600).map(|index| function.replace("k(", &format!("k{index}("))).collect();
    let large = head.to_owned() + &functions;
    let files = [("in/a.ptx", KERNEL), ("in/b.ptx", BROKEN), ("in/c.ptx", &large), ("in/d.ptx", LOCALS)];
    let place = Place::new(&files);
    let notes = |threads: u32| {
        place.run(&format!("batch in -o out -j {threads} --remarks notes.jsonl")).expect(1);
        place.text("notes.jsonl")
    };
    let once = notes(1);
    assert_eq!((notes(4), notes(3)), (once.clone(), once.clone()));
    let mut modules: Vec<String> = remarks(&once).into_iter().map(|remark| remark.module).collect();
    modules.dedup();
    assert_eq!(modules, ["in/a.ptx", "in/c.ptx", "in/d.ptx"]);
    let missed = remarks(&once).into_iter().filter(|remark| remark.kind == RemarkKind::Missed);
    assert!(missed.count() > 600);
}

#[test]
fn what_the_emulator_cannot_read_is_said_in_words() {
    let broken = KERNEL.replace(".visible", ".global .u32 table[2] = { 1, ; };\n.visible");
    let place = Place::new(&[("in.ptx", broken.as_str())]);
    place.run("check in.ptx").expect(1).says("in.ptx:5").says("found `;`, expected a constant");
}
