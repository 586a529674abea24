//! SSA form there and back, on random functions: runs store the same, uses see the same definitions, and code that nothing
//! has changed comes out as it went in.

use super::origins::OriginsOf;
use super::{build_ssa, leave_ssa};
use crate::check::ssa;
use crate::check::testing::{Built, Random, labelled, solved};
use ptxopt_components::code_object::{CodeFlags, Room};
use ptxopt_components::ids::{BlockId, CodeId, Id, InstId, VRegId};
use ptxopt_components::instruction::{InstHead, Marks};
use ptxopt_components::operand::{Operand, OperandKind, definitions};
use ptxopt_components::operation::Operation;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::edit::PlainEditor;
use ptxopt_engine::run::log::RemarkKind;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::phis::{incoming, phis_of};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const CODE: CodeId = CodeId(0);

/// A kernel of up to nine blocks with six registers and three predicates, all of which its first block writes.
fn random_body(random: &mut Random, guards: bool) -> String {
    let mut body = ".reg .b32 %r<7>; .reg .pred %p<4>;".to_owned();
    for register in 1..=6 {
        write!(body, " mov.u32 %r{register}, {register}0;").unwrap();
    }
    for predicate in 1..=3 {
        write!(body, " setp.lt.u32 %p{predicate}, %r{predicate}, %r6;").unwrap();
    }
    let count = 2 + random.below(8);
    for block in 0..count {
        write!(body, " {}:", label(block)).unwrap();
        for _ in 0..random.below(5) {
            let [to, one, other] = [(); 3].map(|()| 1 + random.below(6));
            let predicate = 1 + random.below(3);
            let guard =
                if guards && random.below(6) == 0 { format!("@%p{predicate} ") } else { String::new() };
            match random.below(8) {
                0..3 => write!(body, " {guard}mov.u32 %r{to}, %r{one};").unwrap(),
                3..5 => write!(body, " {guard}add.u32 %r{to}, %r{one}, %r{other};").unwrap(),
                5 => write!(body, " {guard}mov.u32 %r{to}, {one};").unwrap(),
                6 => write!(body, " {guard}setp.lt.u32 %p{predicate}, %r{one}, %r{other};").unwrap(),
                _ => write!(body, " {guard}st.global.u32 [g], %r{one};").unwrap(),
            }
        }
        let target = label(random.below(count));
        let predicate = 1 + random.below(3);
        match random.below(6) {
            0 => write!(body, " bra {target};").unwrap(),
            1..5 => write!(body, " @%p{predicate} bra {target};").unwrap(),
            _ => {}
        }
    }
    for register in 1..=6 {
        write!(body, " st.global.u32 [g], %r{register};").unwrap();
    }
    body + " ret;"
}

fn label(block: usize) -> char {
    (b'A' + block as u8) as char
}

/// What stands for an unknown number that two others make.
fn mix(one: u64, other: u64) -> u64 {
    Random(one.wrapping_mul(31).wrapping_add(other)).below(1 << 40) as u64
}

/// Runs a function on symbols: an operation gives a number that its operands alone decide. Gives what is stored.
fn run(built: &Built) -> Vec<u64> {
    let function = built.function();
    let mut values: Vec<u64> = vec![0; function.vregs.len()];
    let mut stored = Vec::new();
    let (mut block, mut from) = (BlockId(0), BlockId(0));
    for _ in 0..60 {
        let arriving: Vec<(VRegId, u64)> = phis_of(&function, block)
            .map(|(_, operands)| {
                let (_, value) =
                    incoming(operands).find(|&(pred, _)| pred == from).expect("it names the way here");
                (operands[0].vreg().unwrap(), value_of(value, &values))
            })
            .collect();
        arriving.into_iter().for_each(|(vreg, value)| values[vreg.index()] = value);
        let succs = function.succs(block);
        let mut next = succs.last().copied();
        for (_, head, operands) in function.rows_of(block).filter(|(_, head, _)| !head.is_phi()) {
            let is_guarded = head.opcode.is_guarded();
            let guard = operands.last().filter(|_| is_guarded).map(|operand| {
                let OperandKind::Predicate { vreg, negated } = operand.kind() else { panic!("a guard") };
                (mix(values[vreg.index()], 7) & 1 == 0) != negated
            });
            if guard == Some(false) {
                continue;
            }
            let count = operands.len() - usize::from(is_guarded);
            let read = |at: usize| value_of(operands[at], &values);
            let form = built.forms.get(head.form);
            match form.operation {
                Operation::Mov => values[operands[0].vreg().unwrap().index()] = read(1),
                Operation::St => stored.push(read(count - 1)),
                Operation::Bra => next = operands[0].as_block(),
                Operation::Ret => return stored,
                _ => {
                    let inputs = (1..count).map(read);
                    let value = inputs.fold(u64::from(form.root), mix);
                    values[operands[0].vreg().unwrap().index()] = value;
                }
            }
        }
        (from, block) = (block, next.expect("a block goes on or returns"));
    }
    stored
}

fn value_of(operand: Operand, values: &[u64]) -> u64 {
    match operand.kind() {
        OperandKind::Int(value) => value as u64,
        _ => values[operand.vreg().expect("a register or a literal").index()],
    }
}

fn make_ready(body: &str) -> Built {
    let mut built = labelled(body);
    // What the labels of `labelled` put after the end is unreachable.
    built.tables.make_room(200);
    built.analyze();
    built
}

fn build(built: &mut Built) -> OriginsOf {
    let mut editor = PlainEditor::default();
    let Built { tables, forms, .. } = &mut *built;
    let mut origins = OriginsOf::default();
    build_ssa::build(&mut editor.edit(tables, forms, CODE), &mut origins, &mut build_ssa::Scratch::default());
    built.analyze();
    assert_eq!(ssa::verify(&built.function(), true, &mut ssa::Scratch::default()), Ok(()));
    assert!(built.function().state.flags.contains(CodeFlags::SSA));
    origins
}

fn leave(built: &mut Built, origins: &OriginsOf) {
    let mut editor = PlainEditor::default();
    let Built { tables, forms, .. } = &mut *built;
    leave_ssa::leave(&mut editor.edit(tables, forms, CODE), origins, &mut leave_ssa::Scratch::default());
    built.analyze();
    assert_eq!(ssa::verify(&built.function(), true, &mut ssa::Scratch::default()), Ok(()));
    assert!(!built.function().state.flags.intersects(CodeFlags::SSA | CodeFlags::LEFT));
}

/// What reaches each operand that reads a register: the instructions that defined it last on some way. None stands for the
/// entry. The plain way: sets for each block until they stay, phis replaced by what reaches them.
fn reaching(function: &FunctionView<'_>) -> BTreeMap<(InstId, usize), BTreeSet<Option<InstId>>> {
    type Reaching = BTreeMap<VRegId, BTreeSet<Option<InstId>>>;
    let step = |state: &mut Reaching, inst: InstId, operands: &[Operand], is_guarded: bool| {
        for (vreg, is_partial) in definitions(operands) {
            let defs = state.entry(vreg).or_insert_with(|| BTreeSet::from([None]));
            if !is_guarded && !is_partial {
                defs.clear();
            }
            defs.insert(Some(inst));
        }
    };
    let mut ends: Vec<Option<Reaching>> = vec![None; function.blocks.len()];
    let start = |ends: &[Option<Reaching>], block: BlockId| -> Option<Reaching> {
        let mut state = Reaching::new();
        if block == BlockId(0) {
            return Some(state);
        }
        let preds: Vec<&Reaching> =
            function.preds(block).iter().filter_map(|pred| ends[pred.index()].as_ref()).collect();
        (!preds.is_empty()).then(|| {
            for vreg in function.vreg_ids() {
                let entry = BTreeSet::from([None]);
                let all = preds.iter().flat_map(|pred| pred.get(&vreg).unwrap_or(&entry).iter().copied());
                state.insert(vreg, all.collect());
            }
            state
        })
    };
    loop {
        let before = ends.clone();
        for block in function.block_ids() {
            let Some(mut state) = start(&ends, block) else { continue };
            // Phis read what their predecessors leave.
            let arriving: Vec<(VRegId, BTreeSet<Option<InstId>>)> = phis_of(function, block)
                .map(|(_, operands)| {
                    let all = incoming(operands).filter_map(|(pred, value)| {
                        ends[pred.index()].as_ref()?.get(&value.vreg()?).cloned()
                    });
                    (operands[0].vreg().unwrap(), all.flatten().collect())
                })
                .collect();
            state.extend(arriving);
            for (inst, head, operands) in function.rows_of(block).filter(|(_, head, _)| !head.is_phi()) {
                step(&mut state, inst, operands, head.opcode.is_guarded());
            }
            ends[block.index()] = Some(state);
        }
        if before == ends {
            break;
        }
    }
    let mut found = BTreeMap::new();
    for block in function.block_ids() {
        let Some(mut state) = start(&ends, block) else { continue };
        for (_, operands) in phis_of(function, block) {
            let to = operands[0].vreg().unwrap();
            let values = incoming(operands);
            let all =
                values.filter_map(|(pred, value)| ends[pred.index()].as_ref()?.get(&value.vreg()?).cloned());
            let all: BTreeSet<_> = all.flatten().collect();
            state.insert(to, all);
        }
        for (inst, head, operands) in function.rows_of(block).filter(|(_, head, _)| !head.is_phi()) {
            for (position, operand) in operands.iter().enumerate().filter(|(_, operand)| operand.is_use()) {
                let Some(vreg) = operand.vreg() else { continue };
                let reaches = state.get(&vreg).cloned().unwrap_or_else(|| BTreeSet::from([None]));
                found.insert((inst, position), reaches);
            }
            step(&mut state, inst, operands, head.opcode.is_guarded());
        }
    }
    found
}

#[test]
fn uses_see_the_definitions_that_they_saw_before() {
    let mut phi_count = 0;
    for seed in 0..400 {
        let body = random_body(&mut Random(seed), seed % 3 == 0);
        let mut built = make_ready(&body);
        let (before, stored) = (reaching(&built.function()), run(&built));
        build(&mut built);
        assert_eq!(reaching(&built.function()), before, "seed {seed}: {body}");
        assert_eq!(run(&built), stored, "seed {seed}: {body}");
        let function = built.function();
        let live = solved(&built);
        for block in function.block_ids() {
            for (_, operands) in phis_of(&function, block) {
                phi_count += 1;
                let to = operands[0].vreg().unwrap();
                let read_here = function.rows_of(block).any(|(_, head, operands)| {
                    !head.is_phi()
                        && operands.iter().any(|operand| operand.is_use() && operand.vreg() == Some(to))
                });
                assert!(read_here || live.is_live_out(block, to), "seed {seed}: nothing reads {to:?}");
            }
        }
    }
    assert!(phi_count > 700, "{phi_count} phis");
}

/// Every instruction with what it names.
fn rows(built: &Built) -> Vec<(InstId, Vec<Operand>)> {
    built.function().rows().map(|(inst, _, operands)| (inst, operands.to_vec())).collect()
}

#[test]
fn code_that_nothing_has_changed_comes_back_as_it_was() {
    for seed in 0..400 {
        let body = random_body(&mut Random(seed), seed % 3 == 0);
        let mut built = make_ready(&body);
        let (before, stored) = (rows(&built), run(&built));
        let origins = build(&mut built);
        leave(&mut built, &origins);
        assert_eq!(run(&built), stored, "seed {seed}: {body}");
        assert_eq!(rows(&built), before, "seed {seed}: {body}");
    }
}

/// Reads the sources of moves of values in their places, those of phis among them, and puts constants into phis: in some of the
/// operands by chance, in all without it.
fn propagate(built: &mut Built, mut random: Option<&mut Random>) {
    let mut is_chosen = |of: usize| random.as_mut().is_none_or(|random| random.below(of) > 0);
    let function = built.function();
    let mut source_of: BTreeMap<VRegId, Operand> = BTreeMap::new();
    let is_value = |vreg: VRegId| !function.vregs[vreg.index()].flags.contains(VRegFlags::VARIABLE);
    for (_, head, operands) in function.rows() {
        if built.forms.get(head.form).operation == Operation::Mov && !head.opcode.is_guarded() {
            let (to, from) = (operands[0].vreg().unwrap(), operands[1]);
            if is_value(to) && from.vreg().is_none_or(is_value) {
                source_of.insert(to, from);
            }
        }
    }
    let mut changes: Vec<(InstId, usize, Operand)> = Vec::new();
    for (inst, head, operands) in function.rows() {
        for (position, operand) in operands.iter().enumerate().filter(|(_, operand)| operand.is_use()) {
            let Some(mut vreg) = operand.vreg() else { continue };
            while is_chosen(4)
                && let Some(source) = source_of.get(&vreg)
            {
                if let Some(from) = source.vreg() {
                    vreg = from;
                } else {
                    if head.is_phi() && is_chosen(2) {
                        changes.push((inst, position, *source));
                    }
                    break;
                }
            }
            if Some(vreg) != operand.vreg()
                && changes.last().is_none_or(|last| (last.0, last.1) != (inst, position))
            {
                changes.push((inst, position, operand.with_vreg(vreg)));
            }
        }
    }
    let mut editor = PlainEditor::default();
    let mut f = editor.edit(&mut built.tables, &mut built.forms, CODE);
    let mut change = f.required_change();
    changes.into_iter().for_each(|(inst, position, operand)| change.set_operand(inst, position, operand));
    drop(f);
    built.analyze();
}

#[test]
fn what_was_propagated_through_phis_comes_back_right() {
    let (mut moves_made, mut changed) = (0, 0);
    for seed in 0..3000 {
        let mut random = Random(seed);
        let body = random_body(&mut random, seed % 5 == 0);
        let mut built = make_ready(&body);
        let stored = run(&built);
        let origins = build(&mut built);
        for _ in 0..2 {
            propagate(&mut built, Some(&mut random));
        }
        assert_eq!(run(&built), stored, "seed {seed}: the test's own propagation: {body}");
        let count = built.function().rows().filter(|(_, head, _)| !head.is_phi()).count();
        leave(&mut built, &origins);
        assert_eq!(run(&built), stored, "seed {seed}: {body}");
        moves_made += built.function().live_inst_count() - count;
        changed += usize::from(built.function().live_inst_count() > count);
    }
    assert!(changed > 300, "{changed} functions needed moves, {moves_made} in all");
}

/// A kernel with this body in SSA form, all of whose copies are propagated; and what it stores.
fn propagated(body: &str) -> (Built, OriginsOf, Vec<u64>) {
    let mut built = make_ready(&format!(".reg .b32 %r<9>, %a<600>; .reg .pred %p<4>; {body}"));
    let stored = run(&built);
    let origins = build(&mut built);
    propagate(&mut built, None);
    assert_eq!(run(&built), stored, "the test's own propagation: {body}");
    (built, origins, stored)
}

/// Takes such a kernel out of SSA form; gives the number of moves that come into each of its blocks.
fn moves_of(body: &str) -> Vec<usize> {
    let (mut built, origins, stored) = propagated(body);
    let counts = |built: &Built| -> Vec<usize> {
        let function = built.function();
        let count = |block| function.rows_of(block).filter(|(_, head, _)| !head.is_phi()).count();
        function.block_ids().map(count).collect()
    };
    let before = counts(&built);
    leave(&mut built, &origins);
    assert_eq!(run(&built), stored, "{body}");
    counts(&built).iter().zip(before).map(|(after, before)| after - before).collect()
}

/// Two phis that read each other's results: three moves and one more register.
const SWAP: &str = "add.u32 %r1, %r7, %r7; add.u32 %r2, %r1, %r7; \
                    A: st.global.u32 [g], %r1; mov.u32 %r3, %r1; mov.u32 %r1, %r2; mov.u32 %r2, %r3; \
                    setp.eq.u32 %p1, %r1, %r7; @%p1 bra A; B: st.global.u32 [g], %r2; ";

/// The values of the round before are read after the loop, so each phi has a register of its own. From the entry both get 5.
/// Both values of %r4 are read after the loop as well: new registers are none of these.
const APART: &str = "add.u32 %r4, %r7, %r7; mov.u32 %r1, %r4; mov.u32 %r2, 5; mov.u32 %r3, 5; \
     A: mov.u32 %r5, %r2; mov.u32 %r6, %r3; mov.u32 %r2, 7; mov.u32 %r3, 8; add.u32 %r4, %r7, 1; \
     mov.u32 %r8, %r4; st.global.u32 [g], %r5; @%p1 bra A; \
     B: st.global.u32 [g], %r1; st.global.u32 [g], %r8; st.global.u32 [g], %r5; st.global.u32 [g], %r6; ret;";

#[test]
fn phis_of_two_webs_stay_apart_where_they_begin_alike() {
    assert_eq!(moves_of(APART)[..3], [2, 4, 0]);
}

/// %r5 lives to the end, and comes from B to the phis of B and of C. They get one register, so B has one move; and A has one,
/// since %r1 and %r2 live at the same time.
#[test]
fn a_value_that_comes_to_two_phis_is_moved_once() {
    let moves = moves_of(
        "add.u32 %r5, %r7, %r7; add.u32 %r1, %r5, %r7; add.u32 %r2, %r1, %r7; mov.u32 %r3, %r1; @%p1 bra B; \
         A: mov.u32 %r4, %r2; bra C; \
         B: st.global.u32 [g], %r3; mov.u32 %r3, %r5; mov.u32 %r4, %r5; @%p2 bra B; \
         C: st.global.u32 [g], %r4; st.global.u32 [g], %r5; ret;",
    );
    assert_eq!(moves[..4], [0, 1, 1, 0]);
}

/// Five hundred values of one register live at the same time: they stay apart. The web that was seen before
/// comes together as ever.
#[test]
fn a_web_with_too_many_pairs_stays_apart_alone() {
    let values: String =
        (0..500).map(|at| format!("add.u32 %r4, %r7, {at}; mov.u32 %a{at}, %r4; ")).collect();
    let stores: String = (0..500).map(|at| format!("st.global.u32 [g], %a{at}; ")).collect();
    let body = format!("{SWAP}{values}{stores}ret;");
    assert_eq!(moves_of(&body)[..3], [0, 3, 0]);
    let (mut built, origins, _) = propagated(&body);
    let mut editor = PlainEditor::default();
    let mut f = editor.edit(&mut built.tables, &mut built.forms, CODE);
    leave_ssa::leave(&mut f, &origins, &mut leave_ssa::Scratch::default());
    assert_eq!(f.stats().limits_hit, 1);
}

/// Fifty values that live through 4,500 branches: for each of them, a look at 9,000 blocks.
#[test]
fn values_that_live_through_many_blocks_come_together() {
    let each = |text: fn(usize) -> String| (0..50).map(text).collect::<String>();
    let early = each(|at| format!("add.u32 %a{at}, %r7, {at}; "));
    let late = each(|at| format!("add.u32 %b{at}, %r7, 1{at}; mov.u32 %a{at}, %b{at}; "));
    let name = |at: usize| [at / 676, at / 26, at].map(|letter| char::from(b'A' + (letter % 26) as u8));
    let name = |at: usize| name(at).iter().collect::<String>();
    let branches: String = (0..4500)
        .map(|at| format!("@%p1 bra T{0}; E{0}: st.global.u32 [g], {at}; T{0}: ", name(at)))
        .collect();
    let stores = each(|at| format!("st.global.u32 [g], %a{at}; "));
    let body = format!(".reg .b32 %b<50>; {early} @%p1 bra A; B: {late} A: {branches}{stores}ret;");
    assert_eq!(moves_of(&body).iter().sum::<usize>(), 0);
}

/// Deletes the moves of values that nothing reads.
fn delete_dead_moves(built: &mut Built) {
    let function = built.function();
    let uses = |(_, _, operands): (InstId, _, &[Operand])| {
        operands
            .iter()
            .filter(|operand| operand.is_use())
            .filter_map(|operand| operand.vreg())
            .collect::<Vec<_>>()
    };
    let read: BTreeSet<VRegId> = function.rows().flat_map(uses).collect();
    let is_dead = |&(_, head, operands): &(InstId, &InstHead, &[Operand])| {
        let is_move = built.forms.get(head.form).operation == Operation::Mov && !head.opcode.is_guarded();
        is_move && operands[0].vreg().is_some_and(|to| !read.contains(&to))
    };
    let dead: Vec<InstId> = function.rows().filter(is_dead).map(|(inst, ..)| inst).collect();
    let mut editor = PlainEditor::default();
    let mut f = editor.edit(&mut built.tables, &mut built.forms, CODE);
    let mut change = f.required_change();
    dead.into_iter().for_each(|inst| change.delete(inst));
    drop(f);
    built.analyze();
}

/// A loop that keeps the values of so many rounds before in `%a1`, `%a2` and so on, stores all of them, and computes the next one in
/// `%a0`: what comes between stands before that, what comes after behind it. Gives what one run stores, with the kernel in SSA form,
/// its copies propagated and gone.
fn rounds(count: usize, between: &str, after: &str) -> (Built, OriginsOf, Vec<u64>) {
    let each = |text: fn(usize) -> String| (1..=count).rev().map(text).collect::<String>();
    let before = each(|at| format!("mov.u32 %a{at}, {at}; "));
    let passed = each(|at| format!("mov.u32 %a{at}, %a{}; ", at - 1));
    let stores = each(|at| format!("st.global.u32 [g], %a{at}; "));
    let (mut built, origins, stored) = propagated(&format!(
        "mov.u32 %r7, 3; mov.u32 %r6, 0; mov.u32 %a0, 0; {before} \
         L: {stores} {passed} {between} add.u32 %a0, %a0, %r7; {after} add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r7, %r6; \
         @%p1 bra L; ret;"
    ));
    delete_dead_moves(&mut built);
    assert_eq!(run(&built), stored, "the test's own deletion");
    (built, origins, stored)
}

/// Copies that such a loop has in the end.
fn copies_of_rounds(count: usize, between: &str, after: &str) -> usize {
    let (mut built, origins, stored) = rounds(count, between, after);
    let moves = |built: &Built| {
        let is_move = |head: &InstHead| built.forms.get(head.form).operation == Operation::Mov;
        let function = built.function();
        function.rows_of(BlockId(1)).filter(|(_, head, _)| is_move(head) && !head.is_phi()).count()
    };
    assert_eq!(moves(&built), 0, "all copies were propagated");
    leave(&mut built, &origins);
    assert_eq!(run(&built), stored);
    moves(&built)
}

#[test]
fn a_loop_that_keeps_the_values_of_rounds_has_a_copy_for_each() {
    for count in 1..=5 {
        assert_eq!(copies_of_rounds(count, "", ""), count, "the next value is computed where it goes");
        assert_eq!(
            copies_of_rounds(count, "st.global.u32 [g], %a0;", ""),
            count,
            "copies move past what reads"
        );
        // The next value has a register of its own where something else reads it, or the value before when it is there.
        assert_eq!(copies_of_rounds(count, "", "st.global.u32 [g], %a0;"), count + 1);
        assert_eq!(copies_of_rounds(count, "", "st.global.u32 [g], %a1;"), count + 1);
    }
}

#[test]
fn loops_that_keep_the_values_of_rounds_come_back_right() {
    let mut moves_made = 0;
    for seed in 0..3000 {
        let mut random = Random(seed);
        let mut lines = Vec::new();
        for at in (1..2 + random.below(4)).rev() {
            lines.push(format!("mov.u32 %r{}, %r{at};", at + 1));
        }
        for _ in 0..1 + random.below(2) {
            let [to, one, other] = [(); 3].map(|()| 1 + random.below(3));
            lines.insert(random.below(lines.len() + 1), format!("add.u32 %r{to}, %r{one}, %r{other};"));
        }
        for _ in 0..random.below(4) {
            let read = 1 + random.below(6);
            lines.insert(random.below(lines.len() + 1), format!("st.global.u32 [g], %r{read};"));
        }
        let values: String = (1..=7).map(|at| format!("mov.u32 %r{at}, {at}0; ")).collect();
        let stores: String = (1..=6).map(|at| format!("st.global.u32 [g], %r{at}; ")).collect();
        let (one, other) = (1 + random.below(6), 1 + random.below(6));
        let (mut built, origins, stored) = propagated(&format!(
            "{values} L: {} setp.lt.u32 %p1, %r{one}, %r{other}; @%p1 bra L; {stores} ret;",
            lines.join(" ")
        ));
        delete_dead_moves(&mut built);
        assert_eq!(run(&built), stored, "seed {seed}: the test's own deletion: {lines:?}");
        let count = built.function().rows().filter(|(_, head, _)| !head.is_phi()).count();
        leave(&mut built, &origins);
        assert_eq!(run(&built), stored, "seed {seed}: {lines:?}");
        moves_made += built.function().live_inst_count() - count;
    }
    assert!(moves_made > 3000, "{moves_made} moves");
}

#[test]
fn values_that_are_kept_for_too_many_rounds_are_counted_and_remarked() {
    let limits_hit = |count: usize| {
        let (mut built, origins, _) = rounds(count, "", "");
        let mut editor = PlainEditor::default();
        editor.remarks.wanted = true;
        let mut f = editor.edit(&mut built.tables, &mut built.forms, CODE);
        leave_ssa::leave(&mut f, &origins, &mut leave_ssa::Scratch::default());
        let limits_hit = f.stats().limits_hit;
        drop(f);
        let mut missed = editor.remarks.all.iter().filter(|remark| remark.kind == RemarkKind::Missed);
        assert_eq!(missed.any(|remark| remark.reason.contains("copies may stay")), limits_hit > 0);
        limits_hit
    };
    // Sixteen walks find what sixteen phis pass on, and the last of them does not know that it is; sixteen copies move.
    assert_eq!([limits_hit(15), limits_hit(16), limits_hit(17)], [0, 1, 2]);
}

#[test]
fn a_function_without_room_for_its_copies_is_left_and_counted() {
    for (vregs, insts) in (0..4).flat_map(|vregs| (0..8).map(move |insts| (vregs, insts))) {
        let (mut built, origins, _) = propagated(APART);
        built.tables.code_spans[0].room = Room { insts, vregs, ..built.tables.code_spans[0].room };
        let mut editor = PlainEditor::default();
        let mut f = editor.edit(&mut built.tables, &mut built.forms, CODE);
        leave_ssa::leave(&mut f, &origins, &mut leave_ssa::Scratch::default());
        let limits_hit = f.stats().limits_hit;
        drop(f);
        let is_left = built.function().state.flags.contains(CodeFlags::LEFT);
        let has_room = vregs >= 2 && insts >= 6;
        assert_eq!(
            (is_left, limits_hit),
            (!has_room, u64::from(!has_room)),
            "{vregs} registers, {insts} rows"
        );
    }
}

#[test]
fn what_a_register_holds_before_it_is_written_gets_a_name() {
    let mut built = make_ready(
        ".reg .b32 %r<9>; .reg .pred %p<2>; mov.u32 %r2, %tid.x; A: setp.eq.u32 %p1, %r2, 0; @%p1 bra C; \
         B: add.u32 %r2, %r1, %r2; mov.u32 %r1, %r2; bra A; C: st.global.u32 [g], %r1; ret;",
    );
    let origins = build(&mut built);
    let function = built.function();
    let is_defined = |vreg: VRegId| {
        function.rows().any(|(_, _, operands)| definitions(operands).any(|(defined, _)| defined == vreg))
    };
    let phis = function.rows().filter(|(_, head, _)| head.is_phi());
    let undefined =
        phis.flat_map(|(_, _, operands)| incoming(operands)).filter_map(|(_, value)| value.vreg());
    assert_eq!(undefined.filter(|&vreg| !is_defined(vreg)).count(), 1);
    leave(&mut built, &origins);
    let controls = built.function().rows().filter(|(_, head, _)| head.marks.contains(Marks::CONTROL)).count();
    assert_eq!(built.function().live_inst_count() - controls, 5, "no move was needed");
}

#[test]
fn what_may_keep_its_old_value_stays_a_variable() {
    let mut built = make_ready(
        ".reg .b32 %r<9>; .reg .v2 .b32 %v; .reg .pred %p<2>; setp.eq.u32 %p1, 1, 0; mov.u32 %r1, 1; \
         @%p1 mov.u32 %r1, 2; mov.u32 %v.x, 3; mov.u32 %r2, 4; mov.u32 %r2, 5; mov.b64 {%r3, %r3}, 6; \
         st.global.u32 [g], %r1; ret;",
    );
    build(&mut built);
    let function = built.function();
    let is_variable = |vreg: VRegId| function.vregs[vreg.index()].flags.contains(VRegFlags::VARIABLE);
    assert!(is_variable(built.vreg("%r", 1)) && !is_variable(built.vreg("%r", 2)));
    assert!(
        !function.vregs[built.vreg("%r", 3).index()].is_value(),
        "what one instruction writes twice is pinned"
    );
    let variables = function.vreg_ids().filter(|&vreg| is_variable(vreg)).count();
    assert_eq!(variables, 2, "the vector too");
}

/// Number of phis, of registers that came, and of registers that a limit leaves as variables.
fn counts_of(built: &mut Built) -> (usize, usize, u64) {
    let before = built.function().vregs.len();
    let mut editor = PlainEditor::default();
    let Built { tables, forms, .. } = &mut *built;
    let mut f = editor.edit(tables, forms, CODE);
    build_ssa::build(&mut f, &mut OriginsOf::default(), &mut build_ssa::Scratch::default());
    let limits_hit = f.stats().limits_hit;
    drop(f);
    built.analyze();
    let function = built.function();
    assert_eq!(ssa::verify(&function, true, &mut ssa::Scratch::default()), Ok(()));
    (function.rows().filter(|(_, head, _)| head.is_phi()).count(), function.vregs.len() - before, limits_hit)
}

#[test]
fn a_register_is_a_variable_where_its_names_or_its_phis_have_no_room() {
    let body = ".reg .b32 %r<2>; .reg .pred %p<2>; setp.eq.u32 %p1, 1, 0; mov.u32 %r1, 1; @%p1 bra B; \
                A: mov.u32 %r1, 2; B: st.global.u32 [g], %r1; @%p1 bra D; C: mov.u32 %r1, 3; \
                D: st.global.u32 [g], %r1; ret;";
    for (vregs, insts) in (0..10).flat_map(|vregs| (0..10).map(move |insts| (vregs, insts))) {
        let mut built = make_ready(body);
        built.tables.code_spans[0].room = Room { insts, vregs, ..built.tables.code_spans[0].room };
        // Two phis, and two of three definitions get a new name. From 8 rows on an eighth is left to others.
        let has_room = vregs - vregs / 8 >= 4 && insts - insts / 8 >= 2;
        let wanted = if has_room { (2, 4, 0) } else { (0, 0, 1) };
        assert_eq!(counts_of(&mut built), wanted, "room for {vregs} registers and {insts} instructions");
    }
}

#[test]
fn no_phi_stands_where_too_many_ways_meet() {
    // One more way leads there from the last definition.
    let with_ways = |count: usize| {
        let label =
            |at: usize| [17_576, 676, 26, 1].map(|digit| label(at / digit % 26)).iter().collect::<String>();
        let ways: String = (0..count - 1).map(|at| format!(" {}: @%p1 bra END;", label(at))).collect();
        let body = format!(
            ".reg .b32 %r<2>; .reg .pred %p<2>; setp.eq.u32 %p1, 1, 0; mov.u32 %r1, 1;{ways} LAST: mov.u32 %r1, 2; \
             END: st.global.u32 [g], %r1; ret;"
        );
        counts_of(&mut make_ready(&body))
    };
    assert_eq!(with_ways(build_ssa::PREDS_MAX), (1, 2, 0));
    assert_eq!(with_ways(build_ssa::PREDS_MAX + 1), (0, 0, 1));
}

#[test]
fn a_definition_in_an_arm_meets_what_was_there_before() {
    let arm = ".reg .b32 %r<2>; .reg .pred %p<2>; setp.eq.u32 %p1, 1, 0; @%p1 bra B; A: mov.u32 %r1, 7; \
               B: st.global.u32 [g], %r1;";
    for after in ["", " mov.u32 %r1, 8; st.global.u32 [g], %r1;"] {
        let body = format!("{arm}{after} ret;");
        let mut built = make_ready(&body);
        let stored = run(&built);
        build(&mut built);
        assert_eq!(run(&built), stored, "{body}");
        assert_eq!(built.function().rows().filter(|(_, head, _)| head.is_phi()).count(), 1, "{body}");
    }
}
