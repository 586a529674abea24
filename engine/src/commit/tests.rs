//! Commits of small functions: what each edit does. [`random`] holds a property over random ones.

use super::*;
use crate::cfg::build::{EdgeSource, next_living};
use crate::forms::FormTable;
use crate::ptx::reader::{ReaderScratch, read};
use crate::ptx::scan::Module;
use crate::ptx::writer::{WriterScratch, write_function};
use crate::view::FunctionView;
use std::fmt::Write;

mod graph;
mod random;

/// A module's rows, the edits to be made, and what is needed to write it again.
struct Fixture {
    text: String,
    forms: FormTable,
    tables: CodeTables,
    edits: EditLog,
}

impl Fixture {
    fn of_module(text: String) -> Self {
        let (mut forms, mut tables) = (FormTable::default(), CodeTables::default());
        let module =
            Module::scan(text.as_bytes()).unwrap_or_else(|diagnostic| panic!("{diagnostic:?} in\n{text}"));
        read(&module, &module.functions, &mut forms, &mut ReaderScratch::default(), &mut tables)
            .unwrap_or_else(|diagnostic| panic!("{diagnostic:?} in\n{text}"));
        Self { text, forms, tables, edits: EditLog::default() }
    }

    /// A module with a kernel for each body.
    fn of_bodies(bodies: &[&str]) -> Self {
        let mut text = String::from(".version 8.3\n.target sm_90\n.address_size 64\n.file 1 \"a.cu\"\n");
        text.push_str(".section .debug_ranges { .b64 MARK }\n");
        for (number, body) in bodies.iter().enumerate() {
            text.push_str(&format!(
                ".entry k{number}(.param .u64 out)\n{{\n.reg .b32 %r<9>; .reg .pred %p<3>; .reg .b64 %rd<3>;\n{body}\n}}\n"
            ));
        }
        Self::of_module(text)
    }

    /// A kernel with `body`.
    fn of(body: &str) -> Self {
        Self::of_bodies(&[body])
    }

    fn function(&self, code: usize) -> FunctionView<'_> {
        self.tables.view().function(CodeId::new(code))
    }

    fn inst(&mut self, code: usize, inst: usize) -> &mut InstHead {
        let first = self.tables.code_spans[code].insts.first as usize;
        &mut self.tables.inst_heads[first + inst]
    }

    fn delete(&mut self, code: usize, inst: usize) {
        self.inst(code, inst).marks |= Marks::TOMBSTONE;
        self.tables.code_states[code].flags |= CodeFlags::HAS_TOMBSTONES;
    }

    fn kill_block(&mut self, code: usize, block: usize) {
        let row = self.tables.code_spans[code].blocks.first as usize + block;
        self.tables.block_heads[row].flags |= BlockFlags::DEAD;
        for inst in self.tables.block_heads[row].insts.range() {
            self.delete(code, inst);
        }
    }

    fn split_after(&mut self, code: usize, inst: usize) {
        self.edits.splits.push((CodeId::new(code), InstId::new(inst)));
    }

    /// Inserts a copy of instruction `model`, with `place` as its place.
    fn insert(&mut self, code: usize, (block, before): (usize, usize), model: usize, place: u32) {
        let function = self.function(code);
        let insertion = Insertion {
            code: function.code,
            before: InstId::new(before),
            block: BlockId::new(block),
            head: function.heads[model],
            operands: function.operands_of(InstId::new(model)).to_vec(),
            place: InstPlace { offset: place },
        };
        self.edits.insertions.push(insertion);
    }

    fn commit(&mut self) {
        let pools = std::mem::take(&mut self.tables.pools);
        let mut new = CodeTables::default();
        commit(self.tables.view(), pools, &self.edits, &mut CommitScratch::default(), &mut new);
        new.code_facts = std::mem::take(&mut self.tables.code_facts);
        self.tables = new;
        self.edits.clear();
    }

    fn sweep(&mut self) {
        self.edits.sweep = true;
        self.commit();
    }

    /// One line a block: its label, its successors, its rows by mnemonic; a deleted row in parentheses.
    fn listing(&self, code: usize) -> Vec<String> {
        let function = self.function(code);
        let line = |block: BlockId| {
            let mut line = String::new();
            if let Some(name) = function.labels[block.index()].name.get() {
                let name = function.pools.names.bytes(self.text.as_bytes(), name);
                write!(line, "{}: ", String::from_utf8_lossy(name)).unwrap();
            }
            for inst in function.blocks[block.index()].insts.range() {
                let head = function.heads[inst];
                let mnemonic = String::from_utf8_lossy(self.forms.mnemonic_text(head.form)).into_owned();
                let mnemonic = if head.opcode.is_guarded() { format!("@{mnemonic}") } else { mnemonic };
                line.push_str(&if head.is_live() {
                    format!("{mnemonic} ")
                } else {
                    format!("({mnemonic}) ")
                });
            }
            line.push_str("->");
            function.succs(block).iter().for_each(|succ| write!(line, " {}", succ.0).unwrap());
            line
        };
        function.block_ids().map(line).collect()
    }

    fn written(&self, code: usize) -> String {
        let mut out = Vec::new();
        let function = self.function(code);
        write_function(&function, &self.forms, self.text.as_bytes(), &mut WriterScratch::default(), &mut out);
        String::from_utf8(out).unwrap()
    }

    /// The module, written.
    fn written_module(&self) -> String {
        let head = self.text.find(".entry").expect("it has a function");
        let functions = (0..self.tables.code_spans.len()).map(|code| self.written(code) + "\n");
        self.text[..head].to_owned() + &functions.collect::<String>()
    }

    /// Each anchor: its kind, the place that it stands before, its block.
    fn anchors(&self, code: usize) -> Vec<(AnchorKind, u32, u32)> {
        let anchors = self.function(code).anchors;
        anchors.iter().map(|anchor| (anchor.kind, anchor.before.0, anchor.block.0)).collect()
    }

    fn state(&self, code: usize) -> (u32, u32) {
        (self.tables.code_states[code].inst_epoch, self.tables.code_states[code].cfg_epoch)
    }

    /// Asserts what holds after every commit.
    fn assert_is_dense(&self) {
        for function in self.tables.view().functions() {
            let mut next = 0;
            for block in function.block_ids() {
                let insts = function.blocks[block.index()].insts;
                assert_eq!(insts.first as usize, next, "{block:?} does not start where the one before ends");
                assert!(insts.range().all(|inst| function.heads[inst].block == block), "{block:?}");
                next = insts.end();
            }
            assert_eq!(next, function.heads.len());
            assert_edges_are_those_of_the_instructions(&function);
            let places: Vec<_> =
                function.anchors.iter().map(|anchor| (anchor.block, anchor.before)).collect();
            assert!(places.is_sorted(), "{places:?}");
            for (block, before) in places {
                let insts = function.blocks[block.index()].insts;
                assert!(
                    (insts.first..=insts.end() as u32).contains(&before.0),
                    "{before:?} is not in {block:?}"
                );
            }
        }
        for pair in self.tables.code_spans.windows(2) {
            assert_eq!(pair[0].insts.end(), pair[1].insts.first as usize);
            assert_eq!(pair[0].blocks.end(), pair[1].blocks.first as usize);
            assert_eq!(pair[0].vregs.end(), pair[1].vregs.first as usize);
            assert_eq!(pair[0].anchors.end(), pair[1].anchors.first as usize);
        }
    }
}

fn assert_edges_are_those_of_the_instructions(function: &FunctionView<'_>) {
    let FunctionView { heads, operands, tables, pools, .. } = *function;
    let source = EdgeSource { heads, operands, pool: &pools.operands, tables, targets: &pools.targets };
    let mut preds = vec![Vec::new(); function.blocks.len()];
    for block in function.block_ids() {
        let mut succs = Vec::new();
        if function.blocks[block.index()].flags.contains(BlockFlags::DEAD) {
            assert!(function.succs(block).is_empty());
            continue;
        }
        let runs_off = source.successors(function.blocks[block.index()].insts, |target| succs.push(target));
        if runs_off {
            succs.extend(next_living(function.blocks, block));
        }
        assert_eq!(function.succs(block), succs);
        succs.iter().for_each(|succ| preds[succ.index()].push(block));
    }
    for block in function.block_ids() {
        let mut listed = function.preds(block).to_vec();
        listed.sort();
        assert_eq!(listed, preds[block.index()], "predecessors of {block:?}");
    }
}

#[test]
fn a_split_keeps_the_taken_edge_and_gains_the_fall_through() {
    let mut fixture = Fixture::of("setp.lt.u32 %p1, %r1, 9; @%p1 bra END; bar.sync 0; END: ret;");
    assert_eq!(fixture.listing(0), ["setp.lt.u32 @bra bar.sync -> 1 1", "END: ret ->"]);
    fixture.split_after(0, 1);
    fixture.commit();
    assert_eq!(fixture.listing(0), ["setp.lt.u32 @bra -> 2 1", "bar.sync -> 2", "END: ret ->"]);
    assert_eq!(fixture.function(0).preds(BlockId(2)), [BlockId(0), BlockId(1)]);
    fixture.assert_is_dense();
}

#[test]
fn a_block_splits_as_often_as_asked() {
    let mut fixture = Fixture::of("@%p1 ret; @%p2 bra END; @%p1 exit; bra.uni END; trap; END: ret;");
    for inst in 0..4 {
        fixture.split_after(0, inst);
    }
    fixture.commit();
    let listing = fixture.listing(0);
    assert_eq!(listing, ["@ret -> 1", "@bra -> 5 2", "@exit -> 3", "bra.uni -> 5", "trap ->", "END: ret ->"]);
    fixture.assert_is_dense();
}

#[test]
fn a_split_behind_the_last_row_makes_an_empty_block() {
    let mut fixture = Fixture::of("bar.sync 0; bra.uni END; END: ret;");
    fixture.split_after(0, 1);
    fixture.commit();
    assert_eq!(fixture.listing(0), ["bar.sync bra.uni -> 2", "-> 2", "END: ret ->"]);
    fixture.assert_is_dense();
}

/// The new half starts with nothing that was said about the old block as a loop header.
#[test]
fn flags_and_marks_stay_with_the_first_half() {
    let mut fixture = Fixture::of("bar.sync 0; bar.sync 1; ret;");
    fixture.tables.block_heads[0].flags |= BlockFlags::LOOP_HEADER;
    fixture.tables.block_heads[0].marks = ptxopt_components::block::BlockMarks::NOUNROLL;
    fixture.split_after(0, 0);
    fixture.commit();
    let blocks = fixture.function(0).blocks;
    assert!(blocks[0].flags.contains(BlockFlags::LOOP_HEADER) && !blocks[0].marks.is_empty());
    assert!(blocks[1].flags.is_empty() && blocks[1].marks.is_empty());
}

/// The byte offsets of the instructions of a function: inserted ones bear the number that the test gave them.
fn places(fixture: &Fixture) -> Vec<u32> {
    fixture.function(0).places.iter().map(|place| place.offset).collect()
}

#[test]
fn insertions_go_before_between_and_behind_in_the_order_given() {
    let mut fixture = Fixture::of("bar.sync 0; bar.sync 1; @%p1 bra END; END: ret;");
    let [a, b, bra, ret] = places(&fixture)[..] else { panic!("four instructions") };
    for (place, at) in
        [(1, (0, 3)), (2, (0, 1)), (3, (0, 0)), (4, (0, 1)), (5, (1, 3)), (6, (1, 4)), (7, (0, 1))]
    {
        fixture.insert(0, at, 0, place);
    }
    fixture.commit();
    assert_eq!(places(&fixture), [3, a, 2, 4, 7, b, bra, 1, 5, ret, 6]);
    let blocks: Vec<u32> = fixture.function(0).heads.iter().map(|head| head.block.0).collect();
    assert_eq!(blocks, [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1]);
    fixture.assert_is_dense();
}

#[test]
fn an_insertion_joins_the_half_that_its_instruction_lies_in() {
    let mut fixture = Fixture::of("bar.sync 0; @%p1 ret; bar.sync 1; ret;");
    fixture.insert(0, (0, 2), 0, 1);
    fixture.split_after(0, 1);
    fixture.commit();
    assert_eq!(fixture.listing(0), ["bar.sync @ret -> 1", "bar.sync bar.sync ret ->"]);
    assert_eq!(places(&fixture)[2], 1);
    fixture.assert_is_dense();
}

#[test]
fn an_empty_block_takes_insertions() {
    let mut fixture = Fixture::of("L: bar.sync 0; @%p1 bra L; ret;");
    assert_eq!(fixture.listing(0)[0], "-> 1", "an entry that is jumped to gets an empty block in front");
    fixture.insert(0, (0, 0), 0, 1);
    fixture.commit();
    assert_eq!(fixture.listing(0), ["bar.sync -> 1", "L: bar.sync @bra ret -> 1"]);
    fixture.assert_is_dense();
}

#[test]
fn more_than_four_operands_go_to_the_pool() {
    let mut fixture =
        Fixture::of("st.global.v4.u32 [%rd1+16], {%r1, %r2, %r3, %r4}; @%p1 mov.u32 %r5, 7; ret;");
    fixture.insert(0, (0, 2), 0, 1);
    fixture.insert(0, (0, 2), 1, 2);
    let pooled = fixture.tables.pools.operands.len();
    fixture.commit();
    assert_eq!(fixture.tables.pools.operands.len(), pooled + 5);
    let function = fixture.function(0);
    let operands_of = |inst: u32| function.operands_of(InstId(inst)).to_vec();
    assert_eq!((operands_of(2), operands_of(3)), (operands_of(0), operands_of(1)));
    assert_eq!(
        fixture.written(0).matches("\tst.global.v4.u32 [%rd1+16], {%r1, %r2, %r3, %r4};\n").count(),
        2
    );
    assert_eq!(fixture.written(0).matches("\t@%p1 mov.u32 %r5, 7;\n").count(), 2);
}

/// Changed operands of an inserted instruction are its own.
#[test]
fn an_insertion_is_no_alias_of_its_model() {
    let mut fixture = Fixture::of("st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4}; ret;");
    fixture.insert(0, (0, 0), 0, 1);
    let register = fixture.function(0).operands_of(InstId(0))[4];
    fixture.edits.insertions[0].operands[1] = register;
    fixture.commit();
    let text = fixture.written(0);
    let (first, second) =
        (text.find("{%r4, %r2, %r3, %r4}").unwrap(), text.find("{%r1, %r2, %r3, %r4}").unwrap());
    assert!(first < second);
}

#[test]
fn a_sweep_moves_anchors_to_the_next_place_that_is_left() {
    let body = ".loc 1 1 0\nmov.u32 %r1, 1; .loc 1 2 0\nmov.u32 %r2, 2; .loc 1 3 0\nret;";
    let mut fixture = Fixture::of(body);
    fixture.delete(0, 0);
    fixture.delete(0, 1);
    fixture.sweep();
    let loc = |before| (AnchorKind::Loc, before, 0);
    assert_eq!(fixture.anchors(0), [loc(0), loc(0), loc(0)]);
    let text = fixture.written(0);
    assert!(text.contains("\t.loc 1 1 0\n\t.loc 1 2 0\n\t.loc 1 3 0\n\tret;\n"), "{text}");
    fixture.assert_is_dense();
}

/// Behind the last instruction that is left, the end of the function is a place, too.
#[test]
fn anchors_of_a_dead_end_stand_at_the_end() {
    let mut fixture = Fixture::of("bar.sync 0; bra.uni L; L: .loc 1 1 0\nmov.u32 %r1, 1; .loc 1 2 0\n");
    fixture.delete(0, 2);
    fixture.sweep();
    assert_eq!(fixture.anchors(0), [(AnchorKind::Loc, 2, 1), (AnchorKind::Loc, 2, 1)]);
    fixture.assert_is_dense();
}

#[test]
fn a_pragma_goes_with_its_block_and_a_mask_with_its_load() {
    let body = ".pragma \"used_bytes_mask 0xf\"; ld.global.v2.u32 {%r1, %r2}, [%rd1]; \
                .pragma \"used_bytes_mask 0x3\"; ld.global.v2.u32 {%r3, %r4}, [%rd1]; ret; \
                A: .pragma \"nounroll\"; bra.uni A; B: .pragma \"nounroll\"; MARK: bra.uni B;";
    let mut fixture = Fixture::of(body);
    fixture.delete(0, 0);
    fixture.kill_block(0, 1);
    fixture.sweep();
    let (mask, nounroll) = ((AnchorKind::InstPragma, 0, 0), (AnchorKind::BlockPragma, 2, 1));
    assert_eq!(fixture.anchors(0), [mask, nounroll, (AnchorKind::DebugLabel, 2, 1)]);
    assert_eq!(fixture.listing(0), ["ld.global.v2.u32 ret ->", "B: bra.uni -> 1"]);
    let text = fixture.written(0);
    assert!(text.contains("\t.pragma \"used_bytes_mask 0x3\";\n\tld.global.v2.u32 {%r3, %r4}"), "{text}");
    fixture.assert_is_dense();
}

/// A debug label outlives its block; without a sweep, everything stays where it is.
#[test]
fn a_debug_label_moves_out_of_a_dead_block() {
    let body = "bra.uni END; MARK: .loc 1 1 0\ntrap; END: ret;";
    let mut fixture = Fixture::of(body);
    fixture.split_after(0, 0);
    fixture.commit();
    fixture.kill_block(0, 1);
    fixture.edits.reconnect = true;
    fixture.commit();
    assert_eq!(fixture.anchors(0), [(AnchorKind::DebugLabel, 1, 1), (AnchorKind::Loc, 1, 1)]);
    fixture.sweep();
    assert_eq!(fixture.anchors(0), [(AnchorKind::DebugLabel, 1, 1), (AnchorKind::Loc, 1, 1)]);
    assert_eq!(fixture.listing(0), ["bra.uni -> 1", "END: ret ->"]);
    fixture.assert_is_dense();
}

#[test]
fn branches_and_tables_follow_their_blocks() {
    let body = "ways: .branchtargets A, B, A; brx.idx %r1, ways; bar.sync 0; A: @%p1 bra B; bar.sync 1; B: @%p2 bra A; ret;";
    let mut fixture = Fixture::of(body);
    assert_eq!(fixture.listing(0)[0], "brx.idx bar.sync -> 1 2 1");
    for inst in [0, 2, 4] {
        fixture.split_after(0, inst);
    }
    fixture.commit();
    let listing = fixture.listing(0);
    let split =
        ["brx.idx -> 2 4 2", "bar.sync -> 2", "A: @bra -> 4 3", "bar.sync -> 4", "B: @bra -> 2 5", "ret ->"];
    assert_eq!(listing, split);
    fixture.kill_block(0, 1);
    fixture.sweep();
    let swept = ["brx.idx -> 1 3 1", "A: @bra -> 3 2", "bar.sync -> 3", "B: @bra -> 1 4", "ret ->"];
    assert_eq!(fixture.listing(0), swept);
    assert!(fixture.written(0).contains("ways: .branchtargets A, B, A;\n"));
    fixture.assert_is_dense();
}

#[test]
fn dead_blocks_go_from_the_middle_and_from_the_end() {
    let body = "@%p1 bra C; ret; A: bar.sync 0; bra.uni A; B: bar.sync 1; bra.uni B; C: ret; D: bra.uni D;";
    let mut fixture = Fixture::of(body);
    for block in [1, 2, 4] {
        fixture.kill_block(0, block);
    }
    fixture.sweep();
    assert_eq!(fixture.listing(0), ["@bra ret -> 1", "C: ret ->"]);
    assert!(!fixture.tables.code_states[0].flags.contains(CodeFlags::HAS_TOMBSTONES));
    fixture.assert_is_dense();
}

/// What was to happen in a block that dies in the same commit happens no more, and keeps nothing else from happening.
#[test]
fn edits_of_a_dead_block_die_with_it() {
    let mut fixture = Fixture::of("ret; A: bar.sync 0; bra.uni A; B: bar.sync 1; @%p1 bra B; ret;");
    fixture.kill_block(0, 1);
    fixture.split_after(0, 1);
    fixture.split_after(0, 4);
    fixture.insert(0, (1, 2), 1, 1);
    fixture.insert(0, (2, 4), 3, 2);
    fixture.sweep();
    assert_eq!(fixture.listing(0), ["ret ->", "B: bar.sync bar.sync @bra -> 1 2", "ret ->"]);
    fixture.assert_is_dense();
}

#[test]
fn nothing_to_do_leaves_the_rows_as_they_are() {
    let body =
        ".loc 1 1 0\nL: mov.u32 %r1, 1; @%p1 bra L; st.global.v4.u32 [%rd1], {%r1, %r1, %r1, %r1}; ret;";
    let mut fixture = Fixture::of_bodies(&[body, "ret;", body]);
    let rows = |fixture: &Fixture| {
        let CodeTables { inst_heads, inst_operands, inst_places, block_heads, block_orders, .. } =
            &fixture.tables;
        let CodeTables { block_labels, vreg_heads, vreg_names, code_spans, code_states, pools, .. } =
            &fixture.tables;
        let insts = (inst_heads.clone(), inst_operands.clone(), inst_places.clone());
        let blocks = (block_heads.clone(), block_orders.clone(), block_labels.clone());
        let rest = (vreg_heads.clone(), vreg_names.clone(), code_spans.clone(), code_states.clone());
        let pools =
            (pools.operands.clone(), pools.anchors.clone(), pools.tables.clone(), pools.targets.clone());
        (insts, blocks, rest, pools)
    };
    let before = (rows(&fixture), fixture.written_module());
    for (sweep, reconnect) in [(false, false), (true, false), (false, true)] {
        (fixture.edits.sweep, fixture.edits.reconnect) = (sweep, reconnect);
        fixture.commit();
        assert_eq!((rows(&fixture), fixture.written_module()), before);
        fixture.assert_is_dense();
    }
}

#[test]
fn epochs_count_what_changed() {
    let body = "mov.u32 %r1, 1; @%p1 bra END; bar.sync 0; END: ret;";
    let mut fixture = Fixture::of_bodies(&[body, body]);
    let start = fixture.state(0);
    fixture.commit();
    assert_eq!(fixture.state(0), start, "nothing was done");
    fixture.split_after(0, 1);
    fixture.commit();
    assert_eq!(fixture.state(0), (start.0, start.1 + 1), "a split changes blocks");
    fixture.insert(0, (0, 0), 2, 1);
    fixture.commit();
    assert_eq!(fixture.state(0), (start.0 + 1, start.1 + 1), "an insertion changes instructions");
    fixture.delete(0, 1);
    fixture.sweep();
    assert_eq!(fixture.state(0), (start.0 + 1, start.1 + 1), "what was deleted was counted then");
    fixture.kill_block(0, 1);
    fixture.sweep();
    assert_eq!(fixture.state(0), (start.0 + 1, start.1 + 2), "blocks get other numbers");
    assert_eq!(fixture.state(1), start, "the other function was not touched");
}

/// As many rows as before are not the same rows.
#[test]
fn epochs_count_what_keeps_the_number_of_rows() {
    let mut fixture = Fixture::of("mov.u32 %r1, 1; bar.sync 0; ret; A: bra.uni A;");
    let start = fixture.state(0);
    fixture.delete(0, 0);
    fixture.insert(0, (0, 2), 1, 1);
    fixture.kill_block(0, 1);
    fixture.split_after(0, 1);
    fixture.insert(0, (0, 2), 1, 2);
    fixture.sweep();
    assert_eq!(fixture.listing(0), ["bar.sync -> 1", "bar.sync bar.sync ret ->"]);
    assert_eq!(fixture.state(0), (start.0 + 1, start.1 + 1));
}
