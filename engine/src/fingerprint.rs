//! Function fingerprints: a hash of forms, types and operands that names what a function does, not how it is spelled.
//!
//! Register and label names, source lines and comments do not enter; the numbering of registers and blocks does, so
//! two functions that differ only in names have one fingerprint. It is stable over runs, machines and versions of
//! the hash crate: XXH3 is a fixed algorithm.

use crate::forms::FormTable;
use crate::store::view::FunctionView;
use ptxopt_components::anchor::TableKind;
use ptxopt_components::ids::{BlockId, Id, InstId};
use ptxopt_components::operand::{LiteralKind, Operand, OperandKind};
use xxhash_rust::xxh3::Xxh3;

/// A fingerprint that grows instruction by instruction.
#[derive(Clone, Default)]
pub struct Fingerprint {
    state: Xxh3,
}

impl Fingerprint {
    /// The fingerprint of a whole function. `text` is its module's text.
    #[must_use]
    pub fn of(function: &FunctionView<'_>, forms: &FormTable, text: &[u8]) -> u64 {
        let mut fingerprint = Self::default();
        for vreg in function.vregs {
            fingerprint.state.update(&[vreg.ty.element() as u8, vreg.ty.lanes]);
        }
        for block in function.block_ids() {
            fingerprint.block(function, block, forms, text);
        }
        fingerprint.finish()
    }

    /// Adds a block with its instructions.
    pub fn block(&mut self, function: &FunctionView<'_>, block: BlockId, forms: &FormTable, text: &[u8]) {
        self.state.update(&block.0.to_le_bytes());
        for inst in function.insts_of(block) {
            self.inst(function, inst, forms, text);
        }
    }

    /// Adds one instruction.
    pub fn inst(&mut self, function: &FunctionView<'_>, inst: InstId, forms: &FormTable, text: &[u8]) {
        let head = function.heads[inst.index()];
        self.state.update(forms.mnemonic_text(head.form));
        self.state.update(forms.shape(head.form));
        self.state.update(&[u8::from(head.opcode.is_guarded())]);
        for &operand in function.operands_of(inst) {
            self.operand(function, operand, text);
        }
    }

    fn operand(&mut self, function: &FunctionView<'_>, operand: Operand, text: &[u8]) {
        match operand.kind() {
            // Numbers of names and literals depend on what else is in the batch: hash what they stand for.
            OperandKind::Symbol(name) => self.state.update(function.pools.names.bytes(text, name)),
            OperandKind::Literal(literal) | OperandKind::Text(literal) => {
                let literal = function.pools.literals[literal.index()];
                match literal.kind() {
                    LiteralKind::Text => {
                        let first = literal.bits as usize;
                        self.state.update(&text[first..first + literal.length as usize]);
                    }
                    _ => self.state.update(&literal.bits.to_le_bytes()),
                }
            }
            OperandKind::Table(table) => {
                let table = function.tables[table.index()];
                for target in &function.pools.targets[table.targets.range()] {
                    self.state.update(&target.0.to_le_bytes());
                }
                // The text of a branch table names labels; that of a prototype or a list of callees does not.
                if table.kind != TableKind::Branch {
                    self.state.update(&text[table.text.range()]);
                }
            }
            _ => {
                self.state.update(&operand.word().to_le_bytes());
                // Those of a wide offset hold a literal's number; its value follows below.
                if operand.wide_offset().is_none() {
                    self.state.update(&operand.modifiers().to_le_bytes());
                }
            }
        }
        if let Some(literal) = operand.wide_offset() {
            self.state.update(&function.pools.literals[literal.index()].bits.to_le_bytes());
        } else if let Some(offset) = operand.offset() {
            self.state.update(&offset.to_le_bytes());
        }
    }

    /// The fingerprint so far.
    #[must_use]
    pub fn finish(&self) -> u64 {
        self.state.digest()
    }
}
