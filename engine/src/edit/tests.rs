//! Edits of small functions: what each does. [`random`] holds random ones against a model.

use super::{FunctionEditor, PlainEditor};
use crate::forms::{Dialect, FormTable};
use crate::graph::build::{EdgeSource, connect_blocks};
use crate::ptx::reader::{ReaderScratch, read};
use crate::ptx::scan::Module;
use crate::ptx::writer::{WriterScratch, write_function};
use crate::run::facts::Fact;
use crate::run::fuel::Fuel;
use crate::run::log::Remarks;
use crate::store::tables::CodeTables;
use crate::store::view::FunctionView;
use crate::values::def_use::{DefUse, OperandRef};
use ptxopt_components::block::{BlockEdges, BlockFlags};
use ptxopt_components::form::Role;
use ptxopt_components::ids::{BlockId, CodeId, FormId, Id, InstId, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_components::types::PtxType;
use std::fmt::Write;

mod graph;
mod phis;
mod random;
mod rows;

/// The tables of a module with room, and what edits of them write to.
pub(super) struct Bench {
    pub text: String,
    pub forms: FormTable,
    pub tables: CodeTables,
    pub editor: PlainEditor,
}

impl Bench {
    pub(super) fn of_module(text: String) -> Self {
        let (mut forms, mut tables) = (FormTable::default(), CodeTables::default());
        let module =
            Module::scan(text.as_bytes()).unwrap_or_else(|diagnostic| panic!("{diagnostic:?} in\n{text}"));
        read(&module, &module.functions, &mut forms, &mut ReaderScratch::default(), &mut tables)
            .unwrap_or_else(|diagnostic| panic!("{diagnostic:?} in\n{text}"));
        tables.make_room(100);
        let mut editor = PlainEditor::default();
        editor.remarks = Remarks { wanted: true, ..Remarks::default() };
        Self { text, forms, tables, editor }
    }

    /// A module with one kernel.
    pub(super) fn of(body: &str) -> Self {
        let head = ".version 8.3\n.target sm_90\n.address_size 64\n.file 1 \"a.cu\"\n";
        let debug = ".section .debug_ranges { .b64 MARK }\n";
        let registers = ".reg .b32 %r<9>; .reg .pred %p<3>; .reg .b64 %rd<3>;";
        Self::of_module(format!("{head}{debug}.entry k(.param .u64 out)\n{{\n{registers}\n{body}\n}}\n"))
    }

    pub(super) fn view(&self) -> FunctionView<'_> {
        self.tables.view().function(CodeId(0))
    }

    /// Computes def-use, so that the next edit keeps it.
    pub(super) fn analyze(&mut self) {
        self.editor.analyze(&mut self.tables, CodeId(0));
    }

    /// Opens the function; it is settled when that is dropped.
    pub(super) fn edit(&mut self) -> FunctionEditor<'_> {
        self.editor.edit(&mut self.tables, &mut self.forms, CodeId(0))
    }

    pub(super) fn undo(&mut self) -> bool {
        self.editor.undo(&mut self.tables, CodeId(0))
    }

    pub(super) fn compact(&mut self) {
        self.editor.compact(&mut self.tables, CodeId(0), |_| true);
    }

    /// The form of `mnemonic` with operands in `shape`.
    pub(super) fn form(&mut self, mnemonic: &str, shape: &[u8]) -> FormId {
        let mnemonic = self.forms.mnemonic(mnemonic.as_bytes(), Dialect::default());
        self.forms.form(mnemonic, shape)
    }

    /// A register of the text.
    pub(super) fn vreg(&self, prefix: &str, number: u32) -> VRegId {
        let names = &self.tables.pools.names;
        let prefix = names.find(self.text.as_bytes(), prefix.as_bytes()).expect("the text names it");
        let is_it = |vreg: &VRegId| {
            let name = self.view().vreg_names[vreg.index()];
            (name.prefix, name.number) == (prefix, number)
        };
        self.view().vreg_ids().find(is_it).expect("the text uses it")
    }

    /// One line a block: its label, its instructions by mnemonic, its successors.
    pub(super) fn listing(&self) -> Vec<String> {
        let function = self.view();
        let line = |block: BlockId| {
            let mut line = String::new();
            if let Some(name) = function.labels[block.index()].name.get() {
                let name = function.pools.names.bytes(self.text.as_bytes(), name);
                write!(line, "{}: ", String::from_utf8_lossy(name)).unwrap();
            }
            for inst in function.insts_of(block) {
                let head = function.heads[inst.index()];
                let mnemonic = String::from_utf8_lossy(self.forms.mnemonic_text(head.form)).into_owned();
                let guard = if head.opcode.is_guarded() { "@" } else { "" };
                write!(line, "{guard}{mnemonic} ").unwrap();
            }
            line.push_str("->");
            function.succs(block).iter().for_each(|succ| write!(line, " {}", succ.0).unwrap());
            line
        };
        function.block_ids().map(line).collect()
    }

    /// The body of the function as it is written, a statement a string.
    pub(super) fn written(&self) -> Vec<String> {
        let mut out = Vec::new();
        write_function(
            &self.view(),
            &self.forms,
            self.text.as_bytes(),
            &mut WriterScratch::default(),
            &mut out,
        );
        let text = String::from_utf8(out).unwrap();
        let body = &text[text.find('{').expect("it has a body") + 1..];
        body.lines()
            .map(|line| line.trim().to_owned())
            .filter(|line| !line.is_empty() && line != "}")
            .collect()
    }

    /// What is written without declarations.
    pub(super) fn code(&self) -> Vec<String> {
        self.written().into_iter().filter(|line| !line.starts_with(".reg")).collect()
    }

    /// Asserts what holds whenever nothing is being edited.
    #[track_caller]
    pub(super) fn assert_is_whole(&self) {
        let function = self.view();
        let mut live = 0;
        for block in function.block_ids() {
            let rows: Vec<InstId> = function.all_rows_of(block).collect();
            let mut backward: Vec<InstId> = function.all_rows_of(block).rev().collect();
            backward.reverse();
            assert_eq!(rows, backward, "{block:?} is another backward");
            assert_eq!(rows.len(), function.blocks[block.index()].insts.len());
            assert!(rows.iter().all(|row| function.heads[row.index()].block == block), "{block:?}");
            assert!(!function.blocks[block.index()].flags.contains(BlockFlags::DEAD));
            live += function.insts_of(block).count();
        }
        for (inst, head, operands) in function.rows() {
            let slots = self.forms.slots(head.form).iter();
            for (slot, operand) in slots.zip(operands).filter(|(_, operand)| operand.vreg().is_some()) {
                let wanted = (matches!(slot.role, Role::Def | Role::DefUse), slot.role != Role::Def);
                assert_eq!((operand.is_definition(), operand.is_use()), wanted, "{inst:?} {operand:?}");
            }
        }
        assert_eq!(live, function.live_inst_count());
        assert_eq!(live, function.state.live_insts as usize);
        let (mut edges, mut pool) = (vec![BlockEdges::default(); function.blocks.len()], Vec::new());
        connect_blocks(EdgeSource::of(&function), function.blocks, &mut edges, &mut pool);
        for block in function.block_ids() {
            assert_eq!(function.succs(block), &pool[edges[block.index()].succs.range()], "{block:?}");
            assert_eq!(function.preds(block), &pool[edges[block.index()].preds.range()], "{block:?}");
        }
        if self.tables.code_facts[0].holds(Fact::DefUse, &self.tables.code_states[0]) {
            assert_def_use_is_rebuilt(&function, self.editor.def_uses.get(CodeId(0)).expect("it holds"));
        }
    }
}

#[track_caller]
fn assert_def_use_is_rebuilt(function: &FunctionView<'_>, kept: &DefUse) {
    let mut rebuilt = DefUse::default();
    rebuilt.build(function);
    let sorted = |list: &mut dyn Iterator<Item = OperandRef>| {
        let mut list: Vec<OperandRef> = list.collect();
        list.sort_unstable();
        list
    };
    for vreg in function.vreg_ids() {
        assert_eq!(sorted(&mut kept.uses(vreg)), sorted(&mut rebuilt.uses(vreg)), "uses of {vreg:?}");
        assert_eq!(sorted(&mut kept.defs(vreg)), sorted(&mut rebuilt.defs(vreg)), "definitions of {vreg:?}");
        assert_eq!(kept.use_count(vreg), kept.uses(vreg).count());
        assert_eq!(kept.def_count(vreg), kept.defs(vreg).count());
    }
}

/// The instruction at `number` among the live ones, in order.
pub(super) fn nth(function: &FunctionView<'_>, number: usize) -> InstId {
    function.block_ids().flat_map(|block| function.insts_of(block)).nth(number).expect("there is one")
}
