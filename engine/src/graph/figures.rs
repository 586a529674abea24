//! The figures of a function that reports tell: the size of its graph, how much of it loops, what its rows take.

use crate::store::view::FunctionView;
use ptxopt_components::block::{BlockEdges, BlockFlags, BlockHead, BlockLabel, BlockOrder};
use ptxopt_components::ids::{BlockId, Id};
use ptxopt_components::instruction::{InstHead, InstOperands, InstPlace, OPERANDS_INLINE};
use ptxopt_components::operand::Operand;
use ptxopt_components::vreg::{VRegHead, VRegName};
use std::fmt::{self, Display, Formatter};

/// Bytes of an instruction, a block and a register in the tables, without what they keep in pools.
const INST_BYTES: usize = size_of::<InstHead>() + size_of::<InstOperands>() + size_of::<InstPlace>();
const BLOCK_BYTES: usize =
    size_of::<BlockHead>() + size_of::<BlockEdges>() + size_of::<BlockOrder>() + size_of::<BlockLabel>();
const VREG_BYTES: usize = size_of::<VRegHead>() + size_of::<VRegName>();

/// Figures of one function. What is dead counts in its memory alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Instructions.
    pub inst_count: usize,
    /// Instructions inside natural loops.
    pub looping_inst_count: usize,
    /// Blocks.
    pub block_count: usize,
    /// Edges, parallel ones each.
    pub edge_count: usize,
    /// Natural loops by depth, those that lie in no other first.
    pub loops_by_depth: Vec<usize>,
    /// Bytes of its rows: instructions with their operands, blocks with their edges, registers.
    pub row_bytes: usize,
}

impl Figures {
    /// The figures of a function whose control-flow annotations are current.
    #[must_use]
    pub fn of(function: &FunctionView<'_>) -> Self {
        let mut figures = Self { row_bytes: row_bytes(function), ..Self::default() };
        for (block, head) in function.blocks.iter().enumerate() {
            if head.flags.contains(BlockFlags::DEAD) {
                continue;
            }
            let insts = function.insts_of(BlockId::new(block)).count();
            let depth = function.orders[block].depth as usize;
            figures.block_count += 1;
            figures.edge_count += function.succs(BlockId::new(block)).len();
            figures.inst_count += insts;
            if depth > 0 {
                figures.looping_inst_count += insts;
            }
            if head.flags.contains(BlockFlags::LOOP_HEADER) {
                let by_depth = &mut figures.loops_by_depth;
                by_depth.resize(by_depth.len().max(depth), 0);
                by_depth[depth - 1] += 1;
            }
        }
        figures
    }
}

fn row_bytes(function: &FunctionView<'_>) -> usize {
    let pooled_operands = |inst: &InstHead| {
        let count = usize::from(inst.operand_count);
        if count > OPERANDS_INLINE { count } else { 0 }
    };
    let operands: usize = function.heads.iter().map(pooled_operands).sum();
    let ends: usize = function.edges.iter().map(|row| row.succs.len() + row.preds.len()).sum();
    function.heads.len() * INST_BYTES
        + function.blocks.len() * BLOCK_BYTES
        + function.vregs.len() * VREG_BYTES
        + operands * size_of::<Operand>()
        + ends * size_of::<BlockId>()
}

impl Display for Figures {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { inst_count, looping_inst_count, block_count, edge_count, loops_by_depth, row_bytes } =
            self;
        write!(
            f,
            "{block_count} blocks, {edge_count} edges, {} loops",
            loops_by_depth.iter().sum::<usize>()
        )?;
        for (outer, count) in loops_by_depth.iter().enumerate() {
            let before = if outer == 0 { " (" } else { ", " };
            write!(f, "{before}{count} at depth {}", outer + 1)?;
        }
        let close = if loops_by_depth.is_empty() { "" } else { ")" };
        write!(
            f,
            "{close}, {inst_count} instructions, {looping_inst_count} in loops, {row_bytes} bytes of rows"
        )
    }
}
