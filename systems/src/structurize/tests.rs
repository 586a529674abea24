//! The pass on random functions: every run on the emulator leaves the same, and the verifier finds what the header promises.
//!
//! Blocks fold their numbers into a value of the thread and branch by it, by the thread, or by an argument. Each branch takes
//! from a budget, without which nothing goes back, so that loops end.

use super::emit::{Carrier, Detour, Gate, Gates, Stands, To};
use super::irreducible;
use super::shape::{Edge, Shape, Way};
use super::{PHASE, Settings, TAGGING, UNSUPPORTED_IRREDUCIBLE_CFG};
use crate::check::testing::Random;
use crate::check::tests::{plan, run, run_plan};
use crate::flow::split_at_control_flow;
use ptxopt_components::block::BlockFlags;
use ptxopt_components::code_object::Room;
use ptxopt_components::ids::BlockId;
use ptxopt_emulator::{Argument, Launch, Module, Options};
use ptxopt_engine::run::log::RemarkKind;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::run::shard::BatchOutput;
use std::fmt::Write;

const THREADS: usize = 64;

const HEAD: &str = ".version 8.6\n.target sm_90\n.address_size 64\n";

/// What kernels hold.
#[derive(Clone, Copy)]
struct Kind {
    blocks: usize,
    /// Loops that jumps enter anywhere.
    is_irreducible: bool,
    /// Threads end before the last block.
    ends_early: bool,
}

struct Kernel {
    random: Random,
    text: String,
    kind: Kind,
    /// First and last block, outer ones first.
    loops: Vec<(usize, usize)>,
}

impl Kernel {
    fn text(seed: u64, kind: Kind) -> String {
        let mut kernel = Self { random: Random(seed), text: HEAD.to_owned(), kind, loops: Vec::new() };
        kernel.make_loops();
        kernel.text.push_str(
            ".entry k(.param .u64 p, .param .u32 n) { .reg .b32 %v, %f, %t, %u, %c, %r<4>; .reg .b64 %a<3>; .reg .pred %p<4>;\n\
             mov.u32 %t, %tid.x; mul.wide.u32 %a1, %t, 8; ld.param.u64 %a2, [p]; add.u64 %a1, %a1, %a2; ld.param.u32 %u, [n];\n\
             ld.global.u32 %v, [%a1]; mov.u32 %f, 40;\n",
        );
        for block in 0..kind.blocks {
            kernel.block(block);
        }
        writeln!(kernel.text, "B{}:", kind.blocks).unwrap();
        if !kind.ends_early {
            kernel
                .text
                .push_str("pmevent 0; shfl.sync.bfly.b32 %r1, %v, 1, 31, -1; mad.lo.u32 %v, %r1, 3, %v;\n");
        }
        kernel.text + "st.global.u32 [%a1+4], %v;\nret; }\n"
    }

    /// Makes loops that lie in one another or apart.
    fn make_loops(&mut self) {
        let mut open = vec![(0, self.kind.blocks - 1, 0)];
        while let Some((first, last, depth)) = open.pop() {
            if last - first < 2 || depth > 4 {
                continue;
            }
            let mut at = first + usize::from(depth > 0);
            while at + 1 < last {
                if self.random.below(3) == 0 {
                    let end = at + 1 + self.random.below(last - at);
                    self.loops.push((at, end));
                    open.push((at, end, depth + 1));
                    at = end + 1;
                } else {
                    at += 1 + self.random.below(3);
                }
            }
        }
    }

    /// A block after `block` to which a jump may lead.
    fn forward(&mut self, block: usize) -> usize {
        let far = if self.random.below(6) == 0 { self.kind.blocks } else { 6 };
        let to = (block + 1 + self.random.below(far)).min(self.kind.blocks);
        if self.kind.is_irreducible {
            return to;
        }
        // Into a loop leads its first block only; outer loops come first.
        let enters = |&&(first, last): &&(usize, usize)| {
            first <= to && to <= last && !(first <= block && block <= last)
        };
        self.loops.iter().find(enters).map_or(to, |&(first, _)| first)
    }

    /// The first block of a loop around `block`.
    fn back(&mut self, block: usize) -> Option<usize> {
        let around: Vec<usize> = self
            .loops
            .iter()
            .filter(|&&(first, last)| first <= block && block <= last)
            .map(|loop_| loop_.0)
            .collect();
        if around.is_empty() { None } else { Some(around[self.random.below(around.len())]) }
    }

    fn condition(&mut self) -> String {
        let bit = 1 << self.random.below(12);
        match self.random.below(4) {
            0 => format!("and.b32 %r1, %u, {bit}; setp.ne.u32 %p1, %r1, 0;"),
            1 => format!("setp.lt.u32 %p1, %t, {};", self.random.below(THREADS)),
            _ => format!("and.b32 %r1, %v, {bit}; setp.ne.u32 %p1, %r1, 0;"),
        }
    }

    fn block(&mut self, block: usize) {
        writeln!(self.text, "B{block}: mad.lo.u32 %v, %v, 1664525, {};", 1_013_904_223 + 2 * block).unwrap();
        let not = ["", "!"][self.random.below(2)];
        match self.random.below(20) {
            0..4 => {}
            4..6 => {
                let to = self.forward(block);
                writeln!(self.text, "bra B{to};").unwrap();
            }
            6..9 => {
                let Some(to) = self.back(block) else { return };
                let condition = self.condition();
                writeln!(
                    self.text,
                    "{condition} sub.u32 %f, %f, 1; setp.gt.and.s32 %p2, %f, 0, {not}%p1; @%p2 bra B{to};"
                )
                .unwrap();
            }
            9 => {
                let to: Vec<String> =
                    (0..2 + self.random.below(4)).map(|_| format!("B{}", self.forward(block))).collect();
                let count = to.len();
                writeln!(
                    self.text,
                    "rem.u32 %c, %v, {count};\nT{block}: .branchtargets {};\nbrx.idx %c, T{block};",
                    to.join(", ")
                )
                .unwrap();
            }
            10 if self.kind.ends_early => {
                let condition = self.condition();
                writeln!(self.text, "{condition} st.global.u32 [%a1+4], %v; @{not}%p1 exit;").unwrap();
            }
            11 if self.kind.ends_early && self.random.below(3) == 0 => {
                writeln!(self.text, "st.global.u32 [%a1+4], %v; ret;").unwrap();
            }
            _ => {
                let (condition, to) = (self.condition(), self.forward(block));
                writeln!(self.text, "{condition} @{not}%p1 bra B{to};").unwrap();
                if self.random.below(5) == 0 {
                    let to = self.forward(block);
                    writeln!(self.text, "bra B{to};").unwrap();
                }
            }
        }
    }
}

/// What a kernel leaves in its buffer.
fn left_by(text: &str) -> Vec<u8> {
    let module = Module::load(text.as_bytes()).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let mut random = Random(1);
    let bytes = (0..8 * THREADS).map(|_| random.below(256) as u8).collect();
    let launch = Launch {
        entry: "k".to_owned(),
        grid: [1; 3],
        block: [THREADS as u32, 1, 1],
        shared_bytes: 0,
        args: vec![Argument::Buffer(bytes), Argument::Scalar(0x5a5_u32.to_le_bytes().to_vec())],
    };
    let outcome = ptxopt_emulator::run(&module, &launch, &Options::default());
    assert_eq!(outcome.stop, None, "{text}");
    outcome.buffers.into_iter().next().unwrap()
}

/// Deletes blocks to which nothing leads.
const CLEANS: [&Phase; 3] =
    [&split_at_control_flow::PHASE, &crate::values::eliminate_dead::FULL, &crate::upkeep::sweep::PHASE];

fn after(text: &str, phases: &[&'static Phase]) -> BatchOutput {
    let output = run(text.as_bytes(), phases);
    let function = &output.functions[0];
    assert_eq!((&function.left, &function.undone[..]), (&None, &[][..]), "{text}");
    output
}

/// Runs of a test: a few, or as many as the environment says.
fn runs(name: &str, few: u64) -> u64 {
    std::env::var(name).ok().and_then(|count| count.parse().ok()).unwrap_or(few)
}

fn size_of(seed: u64) -> usize {
    match seed % 64 {
        0 => 2000,
        1..4 => 200,
        at => 3 + at as usize / 2,
    }
}

#[test]
fn random_reducible_functions_run_the_same() {
    let (mut changed, mut refused) = (0, 0);
    let count = runs("PTXOPT_STRUCTURIZE_RUNS", 300);
    for seed in 0..count {
        let seed = seed + runs("PTXOPT_STRUCTURIZE_FIRST", 1);
        let kind = Kind { blocks: size_of(seed), is_irreducible: false, ends_early: seed.is_multiple_of(2) };
        let text = Kernel::text(seed * 7919, kind);
        let output = after(&text, &[&CLEANS[..], &[&PHASE]].concat());
        let missed = output.remarks.iter().filter(|remark| remark.step == CLEANS.len());
        let missed: Vec<_> = missed.filter(|remark| remark.kind == RemarkKind::Missed).collect();
        refused += usize::from(!missed.is_empty());
        assert!(
            missed.iter().all(|remark| remark.reason != UNSUPPORTED_IRREDUCIBLE_CFG),
            "seed {seed}\n{text}"
        );
        assert!(missed.is_empty(), "seed {seed}: {missed:?}\n{text}");
        changed += usize::from(output.steps[CLEANS.len()].changes > 0);
        let with = HEAD.to_owned() + std::str::from_utf8(&output.text).unwrap();
        assert!(left_by(&text) == left_by(&with), "seed {seed}\n{text}\nbecomes\n{with}");
    }
    println!("{changed} of {count} functions are changed, {refused} refused");
    assert!(changed as u64 > count / 2);
}

#[test]
fn random_irreducible_functions_are_refused() {
    let mut refused = 0;
    let count = runs("PTXOPT_STRUCTURIZE_IRREDUCIBLE_RUNS", 100);
    for seed in 0..count {
        let kind = Kind {
            blocks: size_of(seed + 4).min(60),
            is_irreducible: true,
            ends_early: seed.is_multiple_of(2),
        };
        let text = Kernel::text(seed * 104_729, kind);
        let output = after(&text, &[&CLEANS[..], &[&PHASE]].concat());
        let is_refused = output.remarks.iter().any(|remark| remark.reason == UNSUPPORTED_IRREDUCIBLE_CFG);
        assert!(!is_refused || output.steps[CLEANS.len()].changes == 0);
        refused += usize::from(is_refused);
        let with = HEAD.to_owned() + std::str::from_utf8(&output.text).unwrap();
        assert!(left_by(&text) == left_by(&with), "seed {seed}\n{text}\nbecomes\n{with}");
    }
    println!("{refused} of {count} functions are refused");
    assert!(refused as u64 > count / 4);
}

#[test]
fn random_irreducible_functions_are_fixed() {
    let (mut fixed, mut refused) = (0, 0);
    let count = runs("PTXOPT_STRUCTURIZE_IRREDUCIBLE_RUNS", 100);
    for seed in 0..count {
        let kind = Kind {
            blocks: size_of(seed + 4).min(200),
            is_irreducible: true,
            ends_early: seed.is_multiple_of(2),
        };
        let text = Kernel::text(seed * 15_485_863, kind);
        let output = after(&text, &[&CLEANS[..], &[&irreducible::PHASE, &PHASE]].concat());
        let is_refused = output.remarks.iter().any(|remark| remark.reason == UNSUPPORTED_IRREDUCIBLE_CFG);
        let is_told = output
            .remarks
            .iter()
            .any(|remark| remark.step == CLEANS.len() && remark.kind == RemarkKind::Missed);
        assert_eq!(is_refused, is_told, "seed {seed}\n{text}");
        refused += usize::from(is_refused);
        fixed += usize::from(output.steps[CLEANS.len()].changes > 0);
        let with = HEAD.to_owned() + std::str::from_utf8(&output.text).unwrap();
        assert!(left_by(&text) == left_by(&with), "seed {seed}\n{text}\nbecomes\n{with}");
    }
    println!("{fixed} of {count} functions are fixed, {refused} refused");
    assert!(fixed as u64 > count / 10);
}

/// Whether a function whose blocks are marked is changed.
fn changes(function: &str, settings: Settings) -> bool {
    let mut plan = plan(&[&split_at_control_flow::PHASE, &TAGGING]);
    plan.settings = plan.settings.with(settings);
    let output = run_plan((HEAD.to_owned() + function).as_bytes(), plan);
    assert_eq!((&output.functions[0].left, &output.functions[0].undone[..]), (&None, &[][..]), "{function}");
    output.steps[1].changes > 0
}

/// Two branches lead into an arm, around a part with a branch of its own.
#[test]
fn a_region_stays_where_all_its_branches_are_uniform() {
    let region = |of_region: &str, of_part: &str| {
        format!(
            ".entry k(.param .u32 n) {{ .reg .b32 %uniform, %thread; .reg .pred %p<4>;\n\
             ld.param.u32 %uniform, [n]; mov.u32 %thread, %tid.x; setp.eq.u32 %p1, {of_region}, 1;\n\
             setp.eq.u32 %p2, {of_region}, 2; setp.eq.u32 %p3, {of_part}, 3;\n\
             @%p1 bra A; @%p3 bra X; pmevent 4; X: @%p2 bra A; pmevent 1; bra J; A: pmevent 2; J: pmevent 3; ret; }}\n"
        )
    };
    for has_relaxed_uniform_regions in [false, true] {
        let skips =
            Settings { skips_uniform_regions: true, has_relaxed_uniform_regions, ..Settings::default() };
        let is_changed = |of_region, of_part| changes(&region(of_region, of_part), skips.clone());
        assert!(!is_changed("%uniform", "%uniform"));
        assert!(is_changed("%thread", "%uniform"), "who waits for the others?");
        assert!(is_changed("%uniform", "%thread"), "two branches lie next to the part that is not uniform");
    }
    assert!(changes(&region("%uniform", "%uniform"), Settings::default()));
}

/// An entry of the table would lead both branches through the same Flow block.
#[test]
fn branches_that_share_a_table_are_refused() {
    let text = format!(
        "{HEAD}.entry k(.param .u32 n) {{ .reg .b32 %r<3>; .reg .pred %p<2>;\n\
         ld.param.u32 %r1, [n]; and.b32 %r1, %r1, 1; setp.eq.u32 %p1, %r1, 1; T: .branchtargets A, B;\n\
         @%p1 bra S; pmevent 1; brx.idx %r1, T; S: pmevent 2; brx.idx %r1, T;\n\
         A: pmevent 3; B: pmevent 4; ret; }}\n"
    );
    let output = after(&text, &[&split_at_control_flow::PHASE, &PHASE]);
    assert!(output.remarks.iter().any(|remark| remark.reason == "several branches share a table"));
    assert_eq!(output.steps[1].changes, 0);
}

/// What is asked for is what is written at most: a test, a branch, a jump and a jump past it for a gate, a move and a jump for a
/// detour, one more jump where a table leads there, and the move of what is set before.
#[test]
fn gates_ask_for_the_room_that_they_may_take() {
    let [from, to] = [0, 1].map(BlockId);
    let edge = |way| Edge { from, to, way };
    let mut shape = Shape::default();
    shape.edges.extend([edge(Way::Taken), edge(Way::Fall), edge(Way::Entry(0))]);
    let gate = Gate {
        carrier: 0,
        number: 0,
        is_negated: false,
        then: To::Block(to),
        otherwise: To::Block(from),
        stands: Stands::Before(to),
        flags: BlockFlags::FLOW,
    };
    let detours = (0..3).map(|edge| Detour { edge, gate: 0, carries: 1 }).collect();
    let gates = Gates { gates: vec![gate], carriers: vec![Carrier::Predicate(Some((from, true)))], detours };
    let wanted = Room { insts: 4 + 3 * 2 + 1 + 1, blocks: 3 + 3 + 1, vregs: 1 + 2 };
    assert_eq!(gates.room(&shape), wanted);
    let shared = Gates { carriers: vec![Carrier::Predicate(None)], ..gates };
    assert_eq!(shared.room(&shape), Room { insts: wanted.insts - 1, vregs: wanted.vregs - 1, ..wanted });
}

/// What is said of so many cycles in a row, to the second entry of each of which a table leads; `first` stands before the table.
fn said_of_cycles(count: usize, first: &str) -> Vec<String> {
    let labels = (0..count).map(|at| format!("B{at}")).collect::<Vec<_>>().join(", ");
    let sums = "add.u32 %r1, %r1, 1;\n".repeat(12);
    let cycles: String = (0..count)
        .map(|at| {
            format!(
                "A{at}: {sums}B{at}: add.u32 %r1, %r1, %r2;\nsetp.lt.u32 %p1, %r1, {at};\n@%p1 bra A{at};\n"
            )
        })
        .collect();
    let text = format!(
        "{HEAD}.global .u32 g;\n.entry k() {{ .reg .b32 %r<4>; .reg .pred %p<2>;\nmov.u32 %r1, %tid.x;\n{first}\n\
         ways: .branchtargets A0, {labels};\nbrx.idx %r1, ways;\n{cycles}ret; }}\n"
    );
    let output = after(&text, &[&split_at_control_flow::PHASE, &irreducible::PHASE]);
    output
        .remarks
        .iter()
        .filter(|remark| remark.kind == RemarkKind::Missed)
        .map(|remark| remark.reason.to_string())
        .collect()
}

/// Each walk comes by all cycles before, so that a few are looked at and many are not.
#[test]
fn ways_to_cycles_are_looked_at_as_far_as_the_limit() {
    let poll = "ld.volatile.global.u32 %r2, [g];";
    assert_eq!(said_of_cycles(20, poll), [""; 0]);
    assert_eq!(said_of_cycles(200, poll), ["too many ways lead to cycles"]);
    assert_eq!(said_of_cycles(200, ""), [""; 0], "nobody waits");
}
