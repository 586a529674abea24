//! The reports inside a shard, without verifiers: what each dump and remark says, and that no function is described that phases
//! do not work on.

use super::{code, graph, registers};
use crate::check::tests::{plan, run_plan};
use crate::flow::split_at_control_flow;
use ptxopt_engine::run::log::RemarkKind;
use ptxopt_engine::run::phase::{Phase, Plan, Verify};
use ptxopt_engine::run::shard::BatchOutput;

/// A loop of one block; and a function that keeps its text, since something that is no branch names its table.
const TEXT: &str = ".version 8.0
.target sm_90
.global .u32 g;
.entry k() {
    .reg .pred %p<3>; .reg .b32 %r<3>;
    mov.u32 %r1, 0;
L:  add.u32 %r1, %r1, 1;
    setp.lt.u32 %p1, %r1, 9;
    @%p1 bra L;
    st.global.u32 [g], %r1;
    ret;
}
.entry left() { .reg .b32 %r<2>; T: .branchtargets N; frobnicate %r1, T; N: ret; }
";

/// Runs a report; the facts that it looks at are those that it needs.
fn report(text: &str, phase: &'static Phase) -> BatchOutput {
    let plan = plan(&[&split_at_control_flow::PHASE, phase]);
    let output = run_plan(text.as_bytes(), Plan { checks: &[], verify: Verify::Off, ..plan });
    assert!(output.text.starts_with(b".entry k()"));
    output
}

fn dump(phase: &'static Phase) -> String {
    String::from_utf8(report(TEXT, phase).dumps).expect("it is text")
}

#[test]
fn graphs_are_dumped_in_each_format() {
    assert_eq!(dump(&graph::EDGES), "bix0 -> bix1\nbix1 -> bix1\nbix1 -> bix2\n");
    let ranks = "Showing RPO state for each basic block:\nbix0 -> RPONum: 0\nbix1 -> RPONum: 1\n\
        bix2 -> RPONum: 2\nRPO traversal order: [0, 1, 2]\nShowing backedge info:\n\
        bix1 -> backedge's successor BB: 1\n";
    assert_eq!(dump(&graph::RANKS), ranks);
    let dot = dump(&graph::DOT);
    let arrows: Vec<&str> = dot.lines().filter(|line| line.contains("->")).collect();
    assert!(dot.starts_with("digraph f {\n") && dot.ends_with("}\n"), "{dot}");
    assert_eq!(arrows, ["bix0 -> bix1", "bix1 -> bix1", "bix1 -> bix2"]);
    assert_eq!(dump(&graph::DOT_AND_RANKS), dot + ranks);
    let tree = "Showing dominator tree:\nbix0\n  bix1\n    bix2\n";
    assert_eq!(dump(&graph::DOMINATORS), tree);
    let nest = "Showing loop nest:\n\
        loop of bix1: depth 1, blocks [1], latches [1], exits [bix1 -> bix2], preheader bix0, 3 instructions\n";
    assert_eq!(dump(&graph::LOOPS), nest);
}

#[test]
fn code_is_dumped_as_it_is_written() {
    let output = report(TEXT, &graph::CODE);
    let texts = output.functions.iter().map(|function| &output.text[function.text.clone()]);
    let wanted: Vec<u8> = texts.flat_map(|text| [text, b"\n"].concat()).collect();
    assert_eq!(String::from_utf8_lossy(&output.dumps), String::from_utf8_lossy(&wanted));
    assert!(wanted.windows(10).any(|bytes| bytes == b"frobnicate"), "functions that are left, too");
}

#[test]
fn live_sets_pressure_and_verdicts_are_dumped() {
    let sets = "liveness of k: 1 of 2 registers live across blocks\nbix0 in:\nbix0 out: %r1\nbix1 in: %r1\n\
        bix1 out: %r1\nbix2 in: %r1\nbix2 out:\n";
    assert_eq!(dump(&registers::LIVENESS), sets);
    let pressure = dump(&registers::PRESSURE);
    let head = "pressure of k\nR at most 1 in 1 slots, line 6\nP at most 1 in 1 slots, line 8\nbix0 depth 0\n  \
        line 6: R 0 (0) P 0 (0) before, R 1 (1) P 0 (0) after, mov.u32\n";
    assert!(pressure.starts_with(head), "{pressure}");
    assert_eq!(pressure.matches("pressure of").count(), 1);
    let verdicts = "uniformity of k: 2 of 2 registers, 1 of 1 branches uniform\nuniform: %r1 %p1\ndivergent:\n\
        bix1: line 9, bra, uniform\n";
    assert_eq!(dump(&registers::UNIFORMITY), verdicts);
}

/// What is remarked, with the line that it is about.
fn remarks(text: &str, phase: &'static Phase) -> Vec<(usize, String)> {
    let remarks = report(text, phase).remarks;
    let found = remarks.iter().filter(|remark| remark.kind == RemarkKind::Analysis);
    let line = |offset: u32| text[..offset as usize].lines().count();
    found.map(|remark| (line(remark.offset), remark.reason.to_string())).collect()
}

#[test]
fn figures_and_peaks_are_remarked_at_the_function() {
    let found = remarks(TEXT, &code::PHASE);
    let said: Vec<(usize, &str)> = found.iter().map(|(line, said)| (*line, said.as_str())).collect();
    let [figures, peaks @ ..] = &said[..] else { panic!("nothing is said") };
    let size = "3 blocks, 3 edges, 1 loops (1 at depth 1), 6 instructions, 3 in loops, ";
    assert!(figures.0 == 4 && figures.1.starts_with(size), "{figures:?}");
    let wanted = [
        (4, "live registers: R at most 1 in 1 slots, line 6"),
        (4, "live registers: P at most 1 in 1 slots, line 8"),
    ];
    assert_eq!(peaks, wanted);
    assert_eq!(remarks(TEXT, &code::INITIAL), found);
}

#[test]
fn registers_without_a_value_are_remarked_in_the_first_report_alone() {
    let text = TEXT.replace("    mov.u32 %r1, 0;\n", "");
    let found = remarks(&text, &code::INITIAL);
    let missing: Vec<(usize, &str)> = found[..2].iter().map(|(line, said)| (*line, said.as_str())).collect();
    let wanted = [
        (4, "Found 1 potentially uninitialized register(s) in function k"),
        (6, "%r1 may be read before it is written"),
    ];
    assert_eq!(missing, wanted);
    assert_eq!(found[2..], remarks(&text, &code::PHASE));
}
