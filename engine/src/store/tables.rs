//! The rows and pools of a batch outside a World.
//!
//! The reader fills these; a shard copies the columns into its own and takes the pools over. The same tables serve
//! tests and benches that want an algorithm without a World.

use crate::run::facts::CodeFacts;
use crate::store::left::LeftReason;
use crate::store::names::Names;
use ptxopt_components::anchor::{Anchor, Decl, Table};
use ptxopt_components::block::{BlockEdges, BlockHead, BlockLabel, BlockOrder};
use ptxopt_components::code_object::{CodeSpans, CodeState, CodeText};
use ptxopt_components::ids::{BlockId, CodeId};
use ptxopt_components::instruction::{InstHead, InstLinks, InstOperands, InstPlace};
use ptxopt_components::operand::{Literal, Operand};
use ptxopt_components::vreg::{VRegHead, VRegName};

/// Rows and pools of a batch. Ids inside are relative to their function; spans of [`CodeSpans`] give the rows.
#[derive(Clone, Default)]
pub struct CodeTables {
    /// Code objects: where their rows are.
    pub code_spans: Vec<CodeSpans>,
    /// Code objects: state and epochs.
    pub code_states: Vec<CodeState>,
    /// Code objects: their text.
    pub code_texts: Vec<CodeText>,
    /// Code objects: the facts that hold.
    pub code_facts: Vec<CodeFacts>,
    /// Blocks: instructions and flags.
    pub block_heads: Vec<BlockHead>,
    /// Blocks: successors and predecessors.
    pub block_edges: Vec<BlockEdges>,
    /// Blocks: ranks, loops and dominators.
    pub block_orders: Vec<BlockOrder>,
    /// Blocks: labels.
    pub block_labels: Vec<BlockLabel>,
    /// Instructions: opcode, form, block, marks.
    pub inst_heads: Vec<InstHead>,
    /// Instructions: operands.
    pub inst_operands: Vec<InstOperands>,
    /// Instructions: place in the text.
    pub inst_places: Vec<InstPlace>,
    /// Instructions: neighbours in chained blocks.
    pub inst_links: Vec<InstLinks>,
    /// Virtual registers: class, type, facts.
    pub vreg_heads: Vec<VRegHead>,
    /// Virtual registers: names.
    pub vreg_names: Vec<VRegName>,
    /// Code objects that the reader leaves as they came in, with its reasons.
    pub left: Vec<(CodeId, LeftReason)>,
    /// Functions, and byte offsets in their module of the words that stand where an instruction does and are none that the opcode table
    /// knows, in the order of the text. One that stands twice is here twice.
    pub unknown_words: Vec<(CodeId, u32)>,
    /// What is not one row an entity.
    pub pools: Pools,
}

/// Flat pools that rows point into.
#[derive(Clone, Default)]
pub struct Pools {
    /// Operand lists that do not fit a row.
    pub operands: Vec<Operand>,
    /// Literals and text spans that do not fit an operand.
    pub literals: Vec<Literal>,
    /// Successor and predecessor lists.
    pub edges: Vec<BlockId>,
    /// Targets of branch tables.
    pub targets: Vec<BlockId>,
    /// Anchors.
    pub anchors: Vec<Anchor>,
    /// Declarations of bodies.
    pub decls: Vec<Decl>,
    /// Jump tables, call-target lists and prototypes.
    pub tables: Vec<Table>,
    /// Names.
    pub names: Names,
}

impl CodeTables {
    /// Empties every table and keeps the memory.
    pub fn clear(&mut self) {
        let Self {
            code_spans,
            code_states,
            code_texts,
            code_facts,
            block_heads,
            block_edges,
            block_orders,
            block_labels,
            inst_heads,
            inst_operands,
            inst_places,
            inst_links,
            vreg_heads,
            vreg_names,
            left,
            unknown_words,
            pools,
        } = self;
        code_spans.clear();
        code_states.clear();
        code_texts.clear();
        code_facts.clear();
        block_heads.clear();
        block_edges.clear();
        block_orders.clear();
        block_labels.clear();
        inst_heads.clear();
        inst_operands.clear();
        inst_places.clear();
        inst_links.clear();
        vreg_heads.clear();
        vreg_names.clear();
        left.clear();
        unknown_words.clear();
        pools.clear();
    }
}

impl Pools {
    /// Empties every pool and keeps the memory.
    pub fn clear(&mut self) {
        let Self { operands, literals, edges, targets, anchors, decls, tables, names } = self;
        operands.clear();
        literals.clear();
        edges.clear();
        targets.clear();
        anchors.clear();
        decls.clear();
        tables.clear();
        names.clear();
    }
}
