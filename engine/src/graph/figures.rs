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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms::FormTable;
    use crate::graph::analyze::{AnalysisScratch, bring_up_to_date};
    use crate::ptx::reader::{ReaderScratch, read};
    use crate::ptx::scan::Module;
    use crate::run::facts::CodeFacts;
    use crate::store::tables::CodeTables;
    use ptxopt_components::ids::CodeId;

    /// The figures of a loop A around a loop B, before which `body` stands.
    fn figures(body: &str) -> Figures {
        let text = format!(
            ".version 8.0\n.target sm_90\n.entry k() {{ .reg .pred p; .reg .b32 r, q; \
             {body} A: mov.b32 r, 2; B: @p bra B; @p bra A; ret; }}\n"
        );
        let (mut tables, mut forms) = (CodeTables::default(), FormTable::default());
        let module = Module::scan(text.as_bytes()).unwrap();
        read(&module, &module.functions, &mut forms, &mut ReaderScratch::default(), &mut tables).unwrap();
        tables.code_facts = vec![CodeFacts::default()];
        bring_up_to_date(tables.annotated(CodeId(0)), &forms, &mut AnalysisScratch::default());
        Figures::of(&tables.view().function(CodeId(0)))
    }

    #[test]
    fn loops_are_counted_by_depth_and_rows_by_size() {
        let short = figures("mov.b32 r, 1;");
        let text = "5 blocks, 6 edges, 2 loops (1 at depth 1, 1 at depth 2), 5 instructions, 3 in loops, ";
        assert!(short.to_string().starts_with(text), "{short}");
        assert_eq!(short.loops_by_depth, [1, 1]);
        // A head of 16 bytes, four operands of 8, and its place; and eight operands in the pool, where four have no room.
        let row = 16 + 4 * 8 + size_of::<InstPlace>();
        let longer = figures("mov.b32 r, 1; mov.b32 r, 1;");
        assert_eq!(longer.row_bytes - short.row_bytes, row);
        let wide =
            figures("mov.b32 r, 1; mma.sync.aligned.m8n8k4.row.col.f32.f32 {r, r}, {r, r}, {r, r}, {r, r};");
        assert_eq!(wide.row_bytes - short.row_bytes, row + 8 * 8);
        let named = figures("mov.b32 q, 1;");
        assert_eq!(named.row_bytes - short.row_bytes, size_of::<VRegHead>() + size_of::<VRegName>());
        // One more block, and an edge, which is listed at both ends.
        let block = [
            size_of::<BlockHead>(),
            size_of::<BlockEdges>(),
            size_of::<BlockOrder>(),
            size_of::<BlockLabel>(),
        ];
        let split = figures("@p exit; mov.b32 r, 1;");
        assert_eq!(split.row_bytes - longer.row_bytes, block.iter().sum::<usize>() + 2 * 4);
    }
}
