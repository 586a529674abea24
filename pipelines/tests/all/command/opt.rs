//! `opt`: one module in, one module out.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use super::place::Outcome;
use super::{BROKEN, KERNEL, LOOP, Place};

#[test]
fn opt_writes_an_optimized_module() {
    let place = Place::new(&[("in.ptx", KERNEL)]);
    place.run("opt in.ptx -o out.ptx").expect(0);
    let text = place.text("out.ptx");
    assert!(text.contains("shl.b32") && !text.contains("12345"), "{text}");
    assert_eq!(place.text("in.ptx"), KERNEL);
    assert_eq!(place.files("."), ["in.ptx", "out.ptx"]);
}

/// Three batches, which are worked on by as many threads as there are; a small module has no threads.
#[test]
fn a_large_module_comes_out_alike_on_any_number_of_threads() {
    let store = "mov.u32 %r1, 1; st.global.u32 [%rd1], %r1; ".repeat(4000);
    let kernel = |number: u32| {
        format!(
            ".visible .entry k{number}(.param .u64 out)\n{{\n.reg .b32 %r<2>; .reg .b64 %rd<2>;\n\
             ld.param.u64 %rd1, [out]; {store} ret;\n}}\n"
        )
    };
    let kernels: String = (0..3).map(kernel).collect();
    let place =
        Place::new(&[("in.ptx", &format!(".version 8.0\n.target sm_90\n.address_size 64\n{kernels}"))]);
    place.run("opt in.ptx -o one.ptx -j 1").expect(0);
    place.run("opt in.ptx -o four.ptx -j 4").expect(0);
    assert_eq!(place.text("one.ptx"), place.text("four.ptx"));
    assert_eq!(place.text("one.ptx").matches("mov.u32").count(), 0, "constants stand in the stores");
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

/// Who reads the output may stop early; what goes into files is none of that reader's business, nor is the status.
#[test]
fn what_nobody_reads_changes_nothing_else() {
    let place = Place::new(&[("in.ptx", KERNEL), ("broken.ptx", BROKEN)]);
    place.run_unread("opt in.ptx -o - --remarks remarks.jsonl").expect(0);
    assert!(place.text("remarks.jsonl").contains("passed"));
    assert_eq!(
        place.run_unread("batch in.ptx broken.ptx -o out").expect(1).stderr.matches("error").count(),
        1
    );
    assert_eq!(place.files("out"), ["in.ptx"]);
    assert_eq!(place.run_unread("phases").expect(0).stderr, "");
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
fn of_flags_that_are_given_twice_the_last_stands() {
    let place = Place::new(&[("in.ptx", KERNEL)]);
    place.run("opt in.ptx -o out.ptx -v -v -O3 -O0").expect(0);
    assert!(place.text("out.ptx").contains("12345"));
}
