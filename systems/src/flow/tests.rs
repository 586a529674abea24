//! The phases on branches and loops by what they promise, on random functions: every run stores the same, and what the
//! header of the phase says it leaves is left.

use super::{nested_branches, optimize_branches, predicate, simplify_loops, split_at_control_flow};
use crate::check::testing::{Random, mixed};
use crate::check::tests::run;
use crate::ssa::{build_ssa, leave_ssa};
use crate::upkeep::sweep;
use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id};
use ptxopt_engine::edit::Editor;
use ptxopt_engine::graph::nest::LoopNests;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::log::{Remark, RemarkKind, Remarks, StepLog};
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::run::shard::BatchOutput;
use ptxopt_engine::store::columns::Code;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A kernel of up to 14 blocks, most of them empty, and a second one that is nothing. Each store stores another number;
/// nothing writes the predicates.
fn random_kernel(seed: u64) -> String {
    let mut random = Random(mixed(seed));
    let mut text = ".version 8.6\n.target sm_90\n.global .u32 g;\n.entry k() {\n\
                    .reg .pred %p<3>; .reg .b32 %r<2>;\n"
        .to_owned();
    let count = 1 + random.below(14);
    for block in 0..count {
        writeln!(text, "B{block}:").unwrap();
        let guard = format!("@{}%p{} ", if random.below(2) == 0 { "!" } else { "" }, random.below(3));
        if random.below(5) < 2 {
            let guard = if random.below(4) == 0 { &guard } else { "" };
            writeln!(text, "{guard}st.global.u32 [g], {block};").unwrap();
        }
        let mut target = || {
            let near = (block + random.below(5)).saturating_sub(1).min(count - 1);
            if random.below(3) == 0 { random.below(count) } else { near }
        };
        let targets = [target(), target()];
        match random.below(16) {
            0..4 => writeln!(text, "{guard}bra B{};", targets[0]).unwrap(),
            4 => writeln!(text, "{guard}bra.uni B{};", targets[0]).unwrap(),
            5..9 => writeln!(text, "bra B{};", targets[0]).unwrap(),
            9 => writeln!(text, "bra.uni B{};", targets[0]).unwrap(),
            10 => writeln!(text, "ret;").unwrap(),
            11 => writeln!(text, "{guard}exit;").unwrap(),
            12 => {
                let [one, other] = targets;
                writeln!(text, "T{block}: .branchtargets B{one}, B{other};\nbrx.idx %r0, T{block};").unwrap();
            }
            _ => {}
        }
    }
    text + "ret;\n}\n.entry last() {\nret;\n}\n"
}

/// What stands at the end of a run that ends, and of one that never stores again.
const ENDS: u64 = 1000;
const SPINS: u64 = 1001;

/// What a line does.
#[derive(Debug)]
enum Does {
    Stores(u64),
    Ends,
    /// Goes on at one of these labels.
    Jumps(Vec<String>),
}

/// A line, and the predicate that guards it: its number, and the value with which the line does nothing.
#[derive(Debug)]
struct Line {
    guard: Option<(u64, bool)>,
    does: Does,
}

/// The first kernel of a text.
struct Program {
    lines: Vec<Line>,
    /// The line after each label.
    labels: BTreeMap<String, usize>,
    /// The first label before each line.
    first_label: BTreeMap<usize, String>,
}

impl Program {
    fn of(text: &str) -> Self {
        let body = text.split(['{', '}']).nth(1).expect("the kernel's body");
        let mut program = Self { lines: Vec::new(), labels: BTreeMap::new(), first_label: BTreeMap::new() };
        let mut tables: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut label = "";
        for statement in body.split_inclusive([';', ':']).map(str::trim) {
            if let Some(name) = statement.strip_suffix(':') {
                label = name;
                program.labels.insert(label.to_owned(), program.lines.len());
                continue;
            }
            let Some(statement) = statement.strip_suffix(';') else { continue };
            let (guard, rest) = match statement.strip_prefix('@') {
                Some(guarded) => guarded.split_once(' ').map(|(guard, rest)| (Some(guard), rest)).unwrap(),
                None => (None, statement),
            };
            let guard = guard.map(|guard| {
                let number = guard.trim_start_matches('!').trim_start_matches("%p").parse().unwrap();
                (number, guard.starts_with('!'))
            });
            let (mnemonic, operands) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            let last = operands.rsplit(',').next().unwrap().trim();
            let does = match mnemonic {
                ".branchtargets" => {
                    let targets = operands.split(',').map(|target| target.trim().to_owned()).collect();
                    tables.insert(label, targets);
                    continue;
                }
                "bra" | "bra.uni" => Does::Jumps(vec![last.to_owned()]),
                "brx.idx" => Does::Jumps(tables[last].clone()),
                ".reg" => continue,
                "st.global.u32" => Does::Stores(last.parse().unwrap()),
                "ret" | "exit" => Does::Ends,
                _ => panic!("{statement} in\n{text}"),
            };
            program.lines.push(Line { guard, does });
        }
        program
    }

    /// The numbers that a run stores, and how it ends. What predicates and indices hold depends on what was stored alone.
    fn run(&self, seed: u64) -> Vec<u64> {
        let mut stored = Vec::new();
        let mut at = 0;
        // Without a store in between, what comes to a line twice comes there for ever.
        let mut seen = BTreeSet::new();
        while stored.len() < 30 {
            if !seen.insert(at) {
                stored.push(SPINS);
                break;
            }
            let Line { guard, does } = &self.lines[at];
            let state =
                mixed(seed ^ mixed(stored.len() as u64) ^ stored.last().map_or(0, |&last| mixed(last + 99)));
            if guard.is_some_and(|(number, skips)| (mixed(state + number) & 1 == 1) == skips) {
                at += 1;
                continue;
            }
            match does {
                Does::Stores(number) => {
                    stored.push(*number);
                    seen.clear();
                    at += 1;
                }
                Does::Ends => {
                    stored.push(ENDS);
                    break;
                }
                Does::Jumps(targets) => at = self.labels[&targets[(state >> 32) as usize % targets.len()]],
            }
        }
        stored
    }

    /// The lines that some run may come to, if guards hold anything.
    fn reachable(&self) -> BTreeSet<usize> {
        let mut reachable = BTreeSet::new();
        let mut open = vec![0];
        while let Some(at) = open.pop() {
            if !reachable.insert(at) {
                continue;
            }
            let Line { guard, does } = &self.lines[at];
            if guard.is_some() || matches!(does, Does::Stores(_)) {
                open.push(at + 1);
            }
            if let Does::Jumps(targets) = does {
                open.extend(targets.iter().map(|target| self.labels[target]));
            }
        }
        reachable
    }
}

/// The text of the functions, none of which is left.
fn text_of(output: &BatchOutput) -> String {
    for function in &output.functions {
        assert_eq!(function.left, None);
    }
    String::from_utf8(output.text.clone()).unwrap()
}

/// Compares runs of two kernels.
fn assert_alike(before: &str, after: &str) {
    let programs = [before, after].map(Program::of);
    for seed in 0..12 {
        let [one, other] = [&programs[0], &programs[1]].map(|program| program.run(seed));
        assert_eq!(one, other, "{before}\nbecomes\n{after}");
    }
}

#[test]
fn runs_store_the_same_with_fewer_branches() {
    let phases: &[&Phase] =
        &[&split_at_control_flow::PHASE, &sweep::PHASE, &optimize_branches::PHASE, &sweep::PHASE];
    let mut change_count = 0;
    for seed in 0..500 {
        let before = random_kernel(seed);
        let output = run(before.as_bytes(), phases);
        let changed = text_of(&output);
        assert_alike(&before, &changed);
        change_count += output.steps[2].changes;
        assert_eq!(output.steps[2].limits_hit, 0, "{before}");
        let program = Program::of(&changed);
        assert_eq!(
            program.reachable().len(),
            program.lines.len(),
            "nothing unreachable is left:\n{before}\nbecomes\n{changed}"
        );
        for (at, line) in program.lines.iter().enumerate() {
            let Does::Jumps(targets) = &line.does else { continue };
            let is_idle = program.first_label.get(&(at + 1)) == Some(&targets[0]) && targets.len() == 1;
            assert!(!is_idle, "a branch to the next line:\n{before}\nbecomes\n{changed}");
        }
    }
    assert!(change_count > 1_000, "{change_count} changes");
}

const LACKS_PREHEADER: &str = "no preheader";
const LACKS_LATCH: &str = "several latches";
const IRREDUCIBLE: &str = "a cycle with several entries is no natural loop";

/// Tells what loops lack, and where, as remarks of its own.
static TELLS: Phase = Phase {
    name: "tells_what_loops_lack",
    needs: &[Fact::Loops],
    install: |slot| {
        slot.init_resource::<LoopNests>();
        slot.add(tell);
    },
    ..Phase::NOTHING
};

fn tell(code: Code, nests: Res<LoopNests>, log: Res<StepLog>, mut remarks: ResMut<Remarks>) {
    for function in code.view().functions() {
        let nest = nests.get(function.code).expect("the phase needs loops");
        let mut push = |block: BlockId, reason: &'static str| {
            let offset = function.labels[block.index()].offset;
            let (kind, step, code, reason) = (RemarkKind::Analysis, log.step, function.code, reason.into());
            remarks.push(Remark { kind, step, code, offset, reason });
        };
        for id in nest.ids() {
            let row = nest.row(id);
            if row.preheader.is_none() {
                push(row.header, LACKS_PREHEADER);
            }
            if nest.latch(id).is_none() {
                push(row.header, LACKS_LATCH);
            }
        }
        nest.irreducible_regions().for_each(|region| push(region[0], IRREDUCIBLE));
    }
}

#[test]
fn loops_have_a_preheader_and_a_latch_or_a_remark() {
    let phases: &[&Phase] = &[&split_at_control_flow::PHASE, &TELLS, &simplify_loops::PHASE, &TELLS];
    let (mut change_count, mut excuse_count) = (0, 0);
    for seed in 0..500 {
        let before = random_kernel(seed);
        let output = run(before.as_bytes(), phases);
        let changed = text_of(&output);
        assert_alike(&before, &changed);
        // Offsets, sorted.
        let told = |step: usize, is_wanted: &dyn Fn(&str) -> bool| -> Vec<u32> {
            let remarks = output.remarks.iter().filter(|remark| remark.step == step);
            let wanted =
                remarks.filter(|remark| remark.kind != RemarkKind::Passed && is_wanted(&remark.reason));
            let mut offsets: Vec<u32> = wanted.map(|remark| remark.offset).collect();
            offsets.sort_unstable();
            offsets
        };
        let is_irreducible = |reason: &str| reason == IRREDUCIBLE;
        let lacks = |reason: &str| !is_irreducible(reason);
        assert_eq!(told(2, &is_irreducible), told(1, &is_irreducible), "{before}");
        assert_eq!(told(2, &lacks), told(3, &lacks), "{before}\nbecomes\n{changed}");
        change_count += output.steps[2].changes;
        excuse_count += told(2, &lacks).len();
    }
    assert!(change_count > 100 && excuse_count > 50, "{change_count} changes, {excuse_count} excuses");
}

/// A jump back that is all of its block is the latch for the others, and nothing is made.
#[test]
fn a_jump_back_becomes_the_only_latch() {
    let text = ".version 8.6\n.target sm_90\n.global .u32 g;\n.entry k() {\n.reg .pred %p<3>;\nst.global.u32 [g], 1;\n\
                H:\nst.global.u32 [g], 2;\n@%p0 bra H;\n@%p1 bra LATCH;\nret;\nLATCH:\nbra H;\n}\n";
    let output = run(text.as_bytes(), &[&split_at_control_flow::PHASE, &simplify_loops::PHASE, &TELLS]);
    let changed = text_of(&output);
    assert_alike(text, &changed);
    assert_eq!(changed.matches("bra LATCH").count(), 2, "{changed}");
    assert!(output.remarks.iter().all(|remark| remark.reason != LACKS_LATCH), "{:?}", output.remarks);
}

/// Each round finds that the last branch of those that are left leads to the next line.
#[test]
fn rounds_are_bounded_and_a_function_with_more_is_counted() {
    for count in 0..12_usize {
        let branches = "@%p1 bra END;\n".repeat(count);
        let text = format!(
            ".version 8.6\n.target sm_90\n.global .u32 g;\n.entry k() {{\n.reg .pred %p<3>;\n{branches}END:\n\
             st.global.u32 [g], 1;\nret;\n}}\n"
        );
        let output = run(text.as_bytes(), &[&split_at_control_flow::PHASE, &optimize_branches::PHASE]);
        assert_eq!(text_of(&output).matches("bra END").count(), count.saturating_sub(8));
        assert_eq!(output.steps[1].limits_hit, u64::from(count >= 8), "{count} branches");
    }
}

/// Of the arms that lead to one join each round takes one. The other registers are there so that the function has room.
#[test]
fn rounds_of_predication_are_bounded_and_counted() {
    for count in 6..11_usize {
        let labels: Vec<String> = (0..count).map(|case| format!("C{case}")).collect();
        let case = |case: usize| {
            format!(
                "C{case}: add.u32 %y{case}, %r2, {case};\nmov.u32 %r1, %y{case};\n@%p1 bra J;\n\
                 xor.b32 %r1, %y{case}, 7;\nbra J;\n"
            )
        };
        let cases: String = (0..count).map(case).collect();
        let other =
            |n: usize| format!("ld.volatile.global.u32 %z{n}, [g];\nst.volatile.global.u32 [g], %z{n};\n");
        let others: String = (0..100).map(other).collect();
        let text = format!(
            ".version 8.6\n.target sm_90\n.global .u32 g;\n.entry k() {{\n.reg .pred %p<3>;\n.reg .b32 %r<3>, %y<{count}>, %z<100>;\n\
             ld.volatile.global.u32 %r2, [g];\n{}setp.eq.u32 %p1, %r2, 3;\nT: .branchtargets {};\nbrx.idx %r2, T;\n{cases}\
             J:\nst.global.u32 [g], %r1;\nret;\n}}\n",
            others,
            labels.join(", ")
        );
        let phases = [&split_at_control_flow::PHASE, &build_ssa::PHASE, &predicate::PHASE, &leave_ssa::PHASE];
        let output = run(text.as_bytes(), &phases);
        assert_eq!(text_of(&output).matches("@%p1 bra J").count(), count.saturating_sub(8), "{count} arms");
        assert_eq!(output.steps[2].limits_hit, u64::from(count >= 8), "{count} arms");
        let is_told = |remark: &Remark| remark.reason.starts_with("the last round has joined arms");
        assert_eq!(output.remarks.iter().any(is_told), count >= 8, "{count} arms");
    }
}

/// Takes back that control flow ends its block.
pub(super) static FORGETS: Phase =
    Phase { name: "forgets_where_blocks_end", install: |slot| slot.add(forget), ..Phase::NOTHING };

fn forget(mut editor: Editor) {
    editor.each(CodeFlags::empty(), |mut f| f.set_flags(CodeFlags::TERMINATORS_LAST, false));
}

#[test]
fn branches_are_left_alone_until_blocks_end_at_them() {
    let text = b".version 8.6\n.target sm_90\n.entry k() {\nbra END;\nEND:\nret;\n}\n";
    for phase in [&optimize_branches::PHASE, &simplify_loops::PHASE] {
        assert_eq!(run(text, &[&FORGETS, phase]).steps[1].changes, 0);
    }
    let split = run(text, &[&FORGETS, &split_at_control_flow::PHASE, &optimize_branches::PHASE]);
    assert_eq!(split.steps[2].changes, 2, "the branch goes, and the blocks are merged");
}

/// Where %p1 does not hold, the store needs no guard; that is found where blocks end at their branches.
#[test]
fn questions_are_left_alone_until_blocks_end_at_them() {
    let text =
        b".version 8.6\n.target sm_90\n.global .u32 g;\n.entry k() {\n.reg .pred %p<2>;\n@%p1 bra END;\n\
                 @!%p1 st.global.u32 [g], 1;\nEND:\nret;\n}\n";
    let split = &split_at_control_flow::PHASE;
    assert_eq!(run(text, &[split, &FORGETS, &nested_branches::PHASE]).steps[2].changes, 0);
    assert_eq!(run(text, &[split, &nested_branches::PHASE]).steps[1].changes, 1);
}
