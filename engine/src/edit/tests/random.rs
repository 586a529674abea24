//! Random edits of random functions, against a model that knows only lists of instructions.

use super::*;
use crate::graph::analyze::{AnalysisScratch, annotate, bring_up_to_date};
use crate::graph::edges::Graph;
use crate::graph::nest::{LoopNest, NestScratch, build_nest};
use crate::graph::random::Random;
use ptxopt_components::anchor::Anchor;
use ptxopt_components::block::{BlockHead, BlockOrder};
use ptxopt_components::instruction::Marks;

impl Random {
    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        (!from.is_empty()).then(|| from[self.below(from.len())])
    }
}

/// A body of `count` blocks that branch at random, with lines, pragmas and labels that debug sections name.
pub(super) fn body(count: usize, random: &mut Random) -> String {
    let mut text = String::new();
    for block in 0..count {
        writeln!(text, "L{block}:").unwrap();
        for number in 0..random.below(5) {
            if random.below(4) == 0 {
                writeln!(text, ".loc 1 {} 0", block * 10 + number).unwrap();
            }
            match random.below(5) {
                0 => writeln!(text, "st.global.v4.u32 [%rd1+{number}], {{%r1, %r2, %r3, %r4}};"),
                1 => writeln!(text, "@!%p1 ld.global.u32 %r{}, [%rd1+{number}];", 1 + random.below(8)),
                2 => writeln!(text, "setp.eq.u32 %p1, %r{}, {number};", 1 + random.below(8)),
                3 => writeln!(text, ".pragma \"used_bytes_mask {number}\";\nld.global.u32 %r1, [%rd1];"),
                _ => writeln!(text, "add.u32 %r{}, %r{}, {block};", 1 + random.below(8), 1 + random.below(8)),
            }
            .unwrap();
        }
        if random.below(4) == 0 {
            text.push_str(".pragma \"nounroll\";\n");
        }
        let target = random.below(count);
        match random.below(8) {
            0 => writeln!(text, "bra.uni L{target};"),
            1..=3 => writeln!(text, "@%p1 bra L{target};"),
            4 => writeln!(text, "T{block}: .branchtargets L{target}, L{block};\n@%p1 brx.idx %r1, T{block};"),
            5 => writeln!(text, "@%p1 exit;"),
            _ => writeln!(text, ".loc 1 {} 0", block * 10 + 9),
        }
        .unwrap();
    }
    text.push_str("ret;\n");
    text
}

/// The live instructions of each block, in the order of the text. Blocks are named by the id that they have in the edit.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Model(Vec<(BlockId, Vec<InstId>)>);

impl Model {
    fn of(function: &FunctionView<'_>) -> Self {
        Self(function.block_ids().map(|block| (block, function.insts_of(block).collect())).collect())
    }

    /// The lists alone: blocks have new ids once the edit is over.
    fn lists(&self) -> Vec<Vec<InstId>> {
        self.0.iter().map(|(_, insts)| insts.clone()).collect()
    }

    fn place_of(&self, inst: InstId) -> (usize, usize) {
        let find = |(at, (_, insts)): (usize, &(BlockId, Vec<InstId>))| {
            insts.iter().position(|&row| row == inst).map(|position| (at, position))
        };
        self.0.iter().enumerate().find_map(find).expect("the instruction is alive")
    }

    fn remove(&mut self, inst: InstId) {
        let (at, position) = self.place_of(inst);
        self.0[at].1.remove(position);
    }

    fn insert(&mut self, inst: InstId, before: InstId) {
        let (at, position) = self.place_of(before);
        self.0[at].1.insert(position, inst);
    }

    fn push(&mut self, inst: InstId, block: BlockId) {
        self.0.iter_mut().find(|(id, _)| *id == block).expect("the block is alive").1.push(inst);
    }

    fn position(&self, block: BlockId) -> usize {
        self.0.iter().position(|(id, _)| *id == block).expect("the block is alive")
    }

    fn insts(&self) -> Vec<InstId> {
        self.0.iter().flat_map(|(_, insts)| insts.iter().copied()).collect()
    }
}

/// Asserts that rows follow and precede one another as they are listed.
fn check_rows(function: &FunctionView<'_>) {
    for block in function.block_ids() {
        let rows: Vec<InstId> = function.all_rows_of(block).collect();
        assert_eq!(function.all_rows_of(block).size_hint(), (rows.len(), Some(rows.len())));
        assert!(function.all_rows_of(block).rev().eq(rows.iter().rev().copied()));
        for (at, &row) in rows.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| rows[before]);
            assert_eq!(function.row_before(row), before, "{block:?}");
            assert_eq!(function.row_after(row), rows.get(at + 1).copied(), "{block:?}");
        }
    }
}

/// Asserts that anchors are in the order of the rows, and stand at the end of a block where none of its rows follows them.
fn check_anchors(function: &FunctionView<'_>) {
    let rank = |anchor: &Anchor| {
        let rank = function.all_rows_of(anchor.block).position(|row| row == anchor.before);
        (
            anchor.block,
            !anchor.is_of_block(),
            if anchor.is_of_block() { 0 } else { rank.unwrap_or(usize::MAX) },
        )
    };
    assert!(function.anchors.is_sorted_by_key(rank), "{:?}", function.anchors);
    for anchor in function.anchors.iter().filter(|anchor| !anchor.is_of_block()) {
        let mut rows = function.all_rows_of(anchor.block);
        assert_eq!(function.is_at_the_end(anchor), !rows.any(|row| row == anchor.before), "{anchor:?}");
    }
}

/// Forms that the edits use.
#[derive(Clone, Copy)]
struct Forms {
    add: FormId,
    mov: FormId,
}

/// Whether the block's end leads nowhere but into the next block, which nothing else leads to.
fn may_merge(f: &FunctionEditor<'_>, model: &Model, at: usize) -> bool {
    let view = f.view();
    let last = model.0[at - 1].1.last();
    let falls = last.is_none_or(|last| !view.heads[last.index()].marks.contains(Marks::CONTROL));
    falls && view.preds(model.0[at].0) == [model.0[at - 1].0]
}

/// The places of the first and the last block of a run that nothing falls into or out of.
fn random_run(f: &FunctionEditor<'_>, model: &Model, random: &mut Random) -> Option<(usize, usize)> {
    let falls = |at: usize| {
        let last = model.0[at].1.last().map(|last| f.view().heads[last.index()]);
        last.is_none_or(|last| !last.marks.contains(Marks::CONTROL) || last.opcode.is_guarded())
    };
    let count = model.0.len();
    let firsts: Vec<usize> = (1..count).filter(|&at| !falls(at - 1)).collect();
    let first = random.pick(&firsts)?;
    Some((first, (first..count).find(|&at| !falls(at))?))
}

/// Puts a run of blocks elsewhere; says whether there is one.
fn place(f: &mut FunctionEditor<'_>, model: &mut Model, random: &mut Random) -> bool {
    let Some((first, last)) = random_run(f, model, random) else { return false };
    let others: Vec<usize> = (0..model.0.len()).filter(|at| !(first..=last).contains(at)).collect();
    let after = model.0[random.pick(&others).expect("the entry is in no run")].0;
    let Some(mut change) = f.change_in_place_at(0, "place") else { return false };
    change.move_blocks(model.0[first].0, model.0[last].0, after);
    let run: Vec<_> = model.0.drain(first..=last).collect();
    let at = model.position(after) + 1;
    model.0.splice(at..at, run);
    true
}

/// Makes one random change, in the function and in the model. Uses are replaced where def-use is known.
fn change(
    f: &mut FunctionEditor<'_>,
    model: &mut Model,
    forms: Forms,
    random: &mut Random,
    has_def_use: bool,
) {
    let insts = model.insts();
    let is_control =
        |f: &FunctionEditor<'_>, inst: InstId| f.view().heads[inst.index()].marks.contains(Marks::CONTROL);
    let (branches, others): (Vec<InstId>, Vec<InstId>) = insts.iter().partition(|&&inst| is_control(f, inst));
    let blocks: Vec<BlockId> = model.0.iter().map(|(block, _)| *block).collect();
    let narrow = |vreg: &VRegId| f.view().vregs[vreg.index()].ty.element() == PtxType::B32;
    let named =
        |&inst: &InstId| f.view().operands_of(inst).iter().filter_map(|o| o.vreg()).collect::<Vec<_>>();
    let vregs: Vec<VRegId> = others.iter().flat_map(named).filter(narrow).collect();
    let value = |random: &mut Random| random.pick(&vregs).map_or(Operand::int(1), Operand::register);
    let Some(target) = random.pick(&vregs).map(Operand::register) else { return };
    let (a, b) = (value(random), value(random));
    match random.below(14) {
        0 | 1 => {
            let Some(before) = random.pick(&insts) else { return };
            let Some(mut change) = f.change(before, "insert") else { return };
            let inst = change.insert_before(before, forms.add, &[target, a, b], None);
            model.insert(inst, before);
        }
        2 => {
            let Some(block) = random.pick(&blocks) else { return };
            let last = model.0[model.position(block)].1.last().copied();
            if last.is_some_and(|last| is_control(f, last)) {
                return;
            }
            let Some(mut change) = f.change_at(0, "append") else { return };
            let inst = change.insert_at_end(block, forms.mov, &[target, a], None);
            model.push(inst, block);
        }
        3 | 4 => {
            let (Some(inst), Some(before)) = (random.pick(&others), random.pick(&insts)) else { return };
            if inst == before {
                return;
            }
            let Some(mut change) = f.change(inst, "move") else { return };
            change.move_before(inst, before);
            model.remove(inst);
            model.insert(inst, before);
        }
        5 => {
            let Some(inst) = random.pick(&others) else { return };
            let Some(mut change) = f.change_in_place(inst, "delete") else { return };
            change.delete(inst);
            model.remove(inst);
        }
        6 => {
            let Some(inst) =
                random.pick(&others).filter(|inst| f.view().heads[inst.index()].form == forms.add)
            else {
                return;
            };
            let Some(mut change) = f.change_in_place(inst, "operand") else { return };
            change.set_operand(inst, 1 + random.below(2), a);
        }
        7 => {
            let Some(inst) =
                random.pick(&others).filter(|inst| f.view().heads[inst.index()].form == forms.add)
            else {
                return;
            };
            let Some(mut change) = f.change(inst, "form") else { return };
            let vreg = change.new_vreg(PtxType::B32);
            change.set_form(inst, forms.mov, &[Operand::register(vreg), b]);
        }
        8 if !has_def_use => {}
        8 => {
            let (Some(old), Some(at)) = (target.vreg(), random.pick(&insts)) else { return };
            let Some(mut change) = f.change_in_place(at, "uses") else { return };
            change.replace_uses(old, a);
        }
        9 => {
            let Some(after) = random.pick(&insts) else { return };
            let Some(mut change) = f.change(after, "split") else { return };
            let new = change.split_after(after);
            let (at, position) = model.place_of(after);
            let rest = model.0[at].1.split_off(position + 1);
            model.0.insert(at + 1, (new, rest));
        }
        10 => {
            let at = random.below(model.0.len());
            if at == 0 {
                return;
            }
            let Some(mut change) = f.change_at(0, "block") else { return };
            let new = change.insert_block_before(model.0[at].0);
            model.0.insert(at, (new, Vec::new()));
        }
        11 => {
            let Some(branch) = random.pick(&branches) else { return };
            let Some(to) = random.pick(&blocks[1..]) else { return };
            if f.view().operands_of(branch).first().is_none_or(|target| target.as_block().is_none()) {
                return;
            }
            let Some(mut change) = f.change_in_place(branch, "redirect") else { return };
            change.redirect(branch, to);
        }
        12 => {
            let Some(branch) = random.pick(&branches) else { return };
            let is_guarded = f.view().guard_of(branch).is_some();
            let Some(mut change) = f.change_in_place(branch, "guard") else { return };
            match random.below(3) {
                0 if is_guarded => change.negate_guard(branch),
                1 if is_guarded => change.drop_guard(branch),
                _ => {
                    change.delete_branch(branch);
                    model.remove(branch);
                }
            }
        }
        _ => {
            f.refresh_edges();
            let unreachable: Vec<BlockId> =
                blocks[1..].iter().copied().filter(|&block| f.view().preds(block).is_empty()).collect();
            let at = random.below(model.0.len());
            if at > 0 && may_merge(f, model, at) && !is_listed(f, model.0[at].0) {
                let Some(mut change) = f.change_at(0, "merge") else { return };
                change.merge(model.0[at].0);
                let (_, rest) = model.0.remove(at);
                model.0[at - 1].1.extend(rest);
            } else if let Some(block) = random.pick(&unreachable).filter(|&block| !is_listed(f, block)) {
                let Some(mut change) = f.change_at(0, "dead") else { return };
                change.delete_blocks(&[block]);
                model.0.remove(model.position(block));
            }
        }
    }
}

/// Whether a branch table lists a block, or a dead branch names it.
fn is_listed(f: &FunctionEditor<'_>, block: BlockId) -> bool {
    let view = f.view();
    let in_tables =
        view.tables.iter().any(|table| view.pools.targets[table.targets.range()].contains(&block));
    let leads =
        |(_, _, operands): (InstId, _, &[Operand])| operands.iter().any(|o| o.as_block() == Some(block));
    in_tables || view.rows().any(leads)
}

/// The instructions and anchors of a written function in order, a branch target as the number of the instruction that
/// it leads to. Labels that nothing names, and two labels of one place, are the same to it.
fn canonical(lines: &[String]) -> Vec<String> {
    let is_label = |line: &str| line.ends_with(':');
    let (mut targets, mut count) = (Vec::new(), 0);
    for line in lines {
        if is_label(line) {
            targets.push((line.trim_end_matches(':').to_owned(), count));
        }
        count +=
            usize::from(line.ends_with(';') && !line.starts_with('.') && !line.contains(".branchtargets"));
    }
    let resolve = |word: &str| {
        let name = word.trim_matches([',', ';']);
        let target = targets.iter().find(|(label, _)| label == name);
        target.map_or_else(|| word.to_owned(), |(_, inst)| format!("#{inst}"))
    };
    let kept = lines.iter().filter(|line| !is_label(line) && !line.starts_with(".reg"));
    kept.map(|line| line.split_whitespace().map(resolve).collect::<Vec<_>>().join(" ")).collect()
}

/// Reads what is written, and compares: what stands in the tables is what a reader of the text finds.
fn assert_reads_back(bench: &Bench) {
    let head = &bench.text[..bench.text.find(".entry k").unwrap()];
    let text = format!("{head}.entry k(.param .u64 out) {{\n{}\n}}\n", bench.written().join("\n"));
    let again = Bench::of_module(text);
    assert_eq!(canonical(&bench.written()), canonical(&again.written()));
}

/// Brings ranks, dominators and loops up to date, so that the next edit finds them.
fn annotate_blocks(bench: &mut Bench, scratch: &mut AnalysisScratch) {
    let Bench { tables, forms, .. } = bench;
    bring_up_to_date(tables.annotated(CodeId(0)), forms, scratch);
}

/// Where an edit says that ranks, dominators and loops still hold, they are those that its edges give.
fn assert_control_flow_is_rebuilt(bench: &Bench, scratch: &mut AnalysisScratch) -> bool {
    let function = bench.view();
    let holds = bench.tables.code_facts[0].holds(Fact::ControlFlow, &function.state);
    if holds {
        let graph = Graph { edges: function.edges, pool: &function.pools.edges };
        let mut heads = function.blocks.to_vec();
        let mut orders = vec![BlockOrder::default(); heads.len()];
        annotate(graph, &mut heads, &mut orders, scratch);
        assert_eq!(function.orders, orders);
        let flags = |heads: &[BlockHead]| heads.iter().map(|head| head.flags.reset()).collect::<Vec<_>>();
        assert_eq!(flags(function.blocks), flags(&heads));
        let (mut kept, mut rebuilt, mut nests) =
            (LoopNest::default(), LoopNest::default(), NestScratch::default());
        build_nest(graph, function.blocks, function.orders, &mut nests, &mut kept);
        build_nest(graph, &heads, &orders, &mut nests, &mut rebuilt);
        assert_eq!(kept, rebuilt);
    }
    holds
}

/// Edits one random function several times; between the edits it is undone or made dense, or neither.
fn edit_at_random(seed: u64, scratch: &mut AnalysisScratch) -> usize {
    let mut held = 0;
    let mut random = Random(seed);
    let count = 1 + random.below(6);
    let mut bench = Bench::of(&body(count, &mut random));
    let forms = Forms { add: bench.form("add.u32", b"#,#,#"), mov: bench.form("mov.u32", b"#,#") };
    for _ in 0..1 + random.below(4) {
        bench.editor.journal.clear();
        if random.below(4) > 0 {
            bench.analyze();
            annotate_blocks(&mut bench, scratch);
        }
        let (before, listed) = (bench.written(), bench.listing());
        let has_def_use = bench.tables.code_facts[0].holds(Fact::DefUse, &bench.tables.code_states[0]);
        let lines = |bench: &Bench| -> Vec<String> {
            bench.code().into_iter().filter(|line| line.starts_with(".loc")).collect()
        };
        let mut lines_before = lines(&bench);
        let mut has_moved = false;
        let mut model = Model::of(&bench.view());
        let mut f = bench.edit();
        for _ in 0..random.below(12) {
            if random.below(12) == 0 {
                has_moved |= place(&mut f, &mut model, &mut random);
            } else {
                change(&mut f, &mut model, forms, &mut random, has_def_use);
            }
            let seen: Vec<Vec<InstId>> =
                model.0.iter().map(|(block, _)| f.view().insts_of(*block).collect()).collect();
            assert_eq!(seen, model.lists(), "visible at once");
            check_rows(&f.view());
        }
        drop(f);
        bench.assert_is_whole();
        assert_eq!(Model::of(&bench.view()).lists(), model.lists());
        check_rows(&bench.view());
        check_anchors(&bench.view());
        let mut lines = lines(&bench);
        if has_moved {
            lines.sort();
            lines_before.sort();
        }
        assert_eq!(lines, lines_before, "every line has a place, and they keep their order");
        assert_reads_back(&bench);
        held += usize::from(assert_control_flow_is_rebuilt(&bench, scratch));
        match random.below(3) {
            0 => {
                bench.undo();
                bench.assert_is_whole();
                assert_eq!((bench.written(), bench.listing()), (before, listed));
            }
            1 => {
                let written = bench.written();
                bench.compact();
                bench.assert_is_whole();
                assert_eq!(bench.written(), written);
                let ids: Vec<InstId> = Model::of(&bench.view()).insts();
                assert_eq!(
                    ids,
                    (0..ids.len()).map(InstId::new).collect::<Vec<_>>(),
                    "dense, in program order"
                );
            }
            _ => {}
        }
    }
    held
}

#[test]
fn after_random_edits_everything_equals_a_rebuild() {
    let mut scratch = AnalysisScratch::default();
    let held: usize = (0..20_000).map(|seed| edit_at_random(seed, &mut scratch)).sum();
    assert!(held > 2_000, "ranks held after {held} edits only");
}
