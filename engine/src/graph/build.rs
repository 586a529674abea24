//! Edges: what each block's control-flow instructions and its end lead to.

use crate::store::tables::CodeTables;
use crate::store::view::{FunctionView, RowIds};
use ptxopt_components::anchor::Table;
use ptxopt_components::block::{BlockEdges, BlockFlags, BlockHead};
use ptxopt_components::code_object::CodeSpans;
use ptxopt_components::ids::{BlockId, Id, Span};
use ptxopt_components::instruction::{InstHead, InstLinks, InstOperands, Marks};
use ptxopt_components::operand::Operand;

/// What an edge walk needs of a function.
#[derive(Clone, Copy)]
pub struct EdgeSource<'a> {
    /// Instruction heads of the function.
    pub heads: &'a [InstHead],
    /// Instruction operands of the function.
    pub operands: &'a [InstOperands],
    /// Neighbours of the instructions of chained blocks.
    pub links: &'a [InstLinks],
    /// The operand pool.
    pub pool: &'a [Operand],
    /// Tables of the function.
    pub tables: &'a [Table],
    /// The target pool.
    pub targets: &'a [BlockId],
}

impl<'a> EdgeSource<'a> {
    /// What an edge walk needs of `function`.
    #[must_use]
    pub fn of(function: &FunctionView<'a>) -> Self {
        Self {
            heads: function.heads,
            operands: function.operands,
            links: function.links,
            pool: &function.pools.operands,
            tables: function.tables,
            targets: &function.pools.targets,
        }
    }

    /// Calls `edge` for each successor of `block`, in order; says whether control runs off its end.
    ///
    /// What follows an unguarded branch, return, exit or trap in the block is never reached.
    #[inline]
    pub fn successors(&self, block: &BlockHead, mut edge: impl FnMut(BlockId)) -> bool {
        for inst in RowIds::of(block, self.links).map(Id::index) {
            let head = &self.heads[inst];
            if !head.marks.contains(Marks::CONTROL) || !head.is_live() {
                continue;
            }
            for operand in self.operands[inst].get(head.operand_count, self.pool) {
                if let Some(block) = operand.as_block() {
                    edge(block);
                } else if let Some(table) = operand.as_table() {
                    self.targets[self.tables[table.index()].targets.range()]
                        .iter()
                        .copied()
                        .for_each(&mut edge);
                }
            }
            if !head.opcode.is_guarded() {
                return false;
            }
        }
        true
    }
}

/// Whether control may leave the function in a block: by a return, an exit or a trap, guarded or not, or off its end.
#[must_use]
pub fn leaves_function(function: &FunctionView<'_>, block: BlockId) -> bool {
    for inst in function.insts_of(block) {
        let head = function.heads[inst.index()];
        if !head.marks.contains(Marks::CONTROL) {
            continue;
        }
        // Control flow that names neither a block nor a table ends the function.
        let leads_on = |operand: &Operand| operand.as_block().is_some() || operand.as_table().is_some();
        if !function.operands_of(inst).iter().any(leads_on) {
            return true;
        }
        if !head.opcode.is_guarded() {
            return false;
        }
    }
    next_living(function.blocks, block).is_none()
}

/// The block that comes after `block` when dead ones are swept: what it falls through to.
#[must_use]
pub fn next_living(blocks: &[BlockHead], block: BlockId) -> Option<BlockId> {
    let later = blocks.iter().enumerate().skip(block.index() + 1);
    later.filter(|(_, head)| !head.flags.contains(BlockFlags::DEAD)).map(|(at, _)| BlockId::new(at)).next()
}

/// Builds successor and predecessor lists of the function `spans` from its instructions.
///
/// Parallel edges are kept. The fall-through successor comes last.
pub fn connect(tables: &mut CodeTables, spans: &CodeSpans) {
    let CodeTables { inst_heads, inst_operands, inst_links, block_heads, block_edges, pools, .. } = tables;
    let source = EdgeSource {
        heads: &inst_heads[spans.insts.range()],
        operands: &inst_operands[spans.insts.range()],
        links: inst_links.get(spans.insts.range()).unwrap_or_default(),
        pool: &pools.operands,
        tables: &pools.tables[spans.tables.range()],
        targets: &pools.targets,
    };
    let (blocks, edges) = (&block_heads[spans.blocks.range()], &mut block_edges[spans.blocks.range()]);
    connect_blocks(source, blocks, edges, &mut pools.edges);
}

/// As [`connect`], over plain slices: appends to `pool` and points `edges` at it. Dead blocks have no edges, and control
/// falls past them.
pub fn connect_blocks(
    source: EdgeSource<'_>,
    blocks: &[BlockHead],
    edges: &mut [BlockEdges],
    pool: &mut Vec<BlockId>,
) {
    connect_in_order(source, blocks, |block| next_living(blocks, block), edges, pool);
}

/// As [`connect_blocks`], where `next` says which living block comes after a block in the text.
pub fn connect_in_order(
    source: EdgeSource<'_>,
    blocks: &[BlockHead],
    next: impl Fn(BlockId) -> Option<BlockId>,
    edges: &mut [BlockEdges],
    pool: &mut Vec<BlockId>,
) {
    for row in edges.iter_mut() {
        *row = BlockEdges::default();
    }
    for (block, head) in blocks.iter().enumerate() {
        if head.flags.contains(BlockFlags::DEAD) {
            continue;
        }
        let first = pool.len();
        let runs_off = source.successors(head, |target| pool.push(target));
        if runs_off {
            pool.extend(next(BlockId::new(block)));
        }
        edges[block].succs = Span::between(first, pool.len());
        for target in &pool[first..] {
            edges[target.index()].preds.count += 1;
        }
    }
    let mut end = pool.len() as u32;
    for row in edges.iter_mut() {
        row.preds.first = end;
        end += std::mem::take(&mut row.preds.count);
    }
    pool.resize(end as usize, BlockId(0));
    for block in 0..edges.len() {
        for at in edges[block].succs.range() {
            let preds = &mut edges[pool[at].index()].preds;
            let slot = preds.end();
            preds.count += 1;
            pool[slot] = BlockId::new(block);
        }
    }
}
