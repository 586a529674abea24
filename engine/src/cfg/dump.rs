//! Dumps of the flow graph: the four of the documents, in their format to the byte, and two in the same spirit.
//!
//! Source  basic-blocks-and-cfg, "CFG Visualization", "RPO Debug Dump", "Key CFG Functions"
//!
//! Blocks print as `bix%d`, and in DOT with their label id `L%x`: here the byte offset of the block in its module. Dead
//! blocks are left out. Blocks without a path from the entry have no rank: they are left out where ranks are printed.

use super::nest::LoopNest;
use crate::view::FunctionView;
use ptxopt_components::block::{BlockFlags, BlockOrder};
use ptxopt_components::ids::{BlockId, Id, LoopId};
use std::fmt::{self, Write};

fn living(function: &FunctionView<'_>) -> impl DoubleEndedIterator<Item = BlockId> {
    let blocks = function.blocks;
    function.block_ids().filter(move |block| !blocks[block.index()].flags.contains(BlockFlags::DEAD))
}

/// Reachable blocks by rank.
fn ranked(function: &FunctionView<'_>) -> Vec<BlockId> {
    let orders = function.orders;
    let mut order: Vec<BlockId> =
        function.block_ids().filter(|block| orders[block.index()].is_reachable()).collect();
    order.sort_unstable_by_key(|block| orders[block.index()].rpo);
    order
}

/// Successors by number, as the documents list them.
fn sorted_succs(function: &FunctionView<'_>, block: BlockId) -> Vec<BlockId> {
    let mut succs = function.succs(block).to_vec();
    succs.sort_unstable();
    succs
}

/// The graph in Graphviz's DOT.
///
/// # Errors
/// Those of `out`; so for the other dumps.
pub fn dot(function: &FunctionView<'_>, out: &mut impl Write) -> fmt::Result {
    writeln!(out, "digraph f {{")?;
    writeln!(out, "node [fontname=\"Courier\",fontsize=10,shape=Mrecord];")?;
    for block in living(function) {
        let bix = block.0;
        writeln!(out, "\"bix{bix}\"")?;
        writeln!(out, "[label=\"bix{bix}(L{:x})\"]", function.labels[block.index()].offset)?;
        for succ in sorted_succs(function, block) {
            writeln!(out, "bix{bix} -> bix{}", succ.0)?;
        }
    }
    writeln!(out, "}}")
}

/// The edges, one a line.
pub fn edges(function: &FunctionView<'_>, out: &mut impl Write) -> fmt::Result {
    for block in living(function) {
        for succ in sorted_succs(function, block) {
            writeln!(out, "bix{} -> bix{}", block.0, succ.0)?;
        }
    }
    Ok(())
}

/// Ranks, the blocks in their order, and back edges. Needs control-flow facts.
pub fn ranks_and_back_edges(function: &FunctionView<'_>, out: &mut impl Write) -> fmt::Result {
    let order = ranked(function);
    writeln!(out, "Showing RPO state for each basic block:")?;
    for block in function.block_ids() {
        let rpo = function.orders[block.index()].rpo;
        if rpo != BlockOrder::UNREACHABLE {
            writeln!(out, "bix{} -> RPONum: {rpo}", block.0)?;
        }
    }
    let traversal: Vec<String> = order.iter().map(|block| block.0.to_string()).collect();
    writeln!(out, "RPO traversal order: [{}]", traversal.join(", "))?;
    writeln!(out, "Showing backedge info:")?;
    for block in function.block_ids() {
        let own = function.orders[block.index()];
        for succ in sorted_succs(function, block) {
            if own.turns_back_to(&function.orders[succ.index()]) {
                writeln!(out, "bix{} -> backedge's successor BB: {}", block.0, succ.0)?;
            }
        }
    }
    Ok(())
}

/// The dominator tree, a block a line, what it dominates indented below it. Needs control-flow facts.
pub fn dominator_tree(function: &FunctionView<'_>, out: &mut impl Write) -> fmt::Result {
    writeln!(out, "Showing dominator tree:")?;
    let orders = function.orders;
    let mut blocks = ranked(function);
    blocks.sort_unstable_by_key(|block| orders[block.index()].dom_first);
    let mut depth = vec![0; orders.len()];
    for block in blocks {
        if let Some(idom) = orders[block.index()].idom.get() {
            depth[block.index()] = depth[idom.index()] + 1;
        }
        writeln!(out, "{:indent$}bix{}", "", block.0, indent = 2 * depth[block.index()])?;
    }
    Ok(())
}

/// The loop nest, a loop a line, inner loops indented below, and irreducible regions. `nest` is that of the function.
pub fn loop_nest(function: &FunctionView<'_>, nest: &LoopNest, out: &mut impl Write) -> fmt::Result {
    writeln!(out, "Showing loop nest:")?;
    for id in nest.ids() {
        loop_line(function, nest, id, out)?;
    }
    for region in nest.irreducible_regions() {
        writeln!(out, "irreducible: {}", list(region))?;
    }
    Ok(())
}

fn loop_line(function: &FunctionView<'_>, nest: &LoopNest, id: LoopId, out: &mut impl Write) -> fmt::Result {
    let row = nest.row(id);
    let indent = 2 * (row.depth as usize - 1);
    write!(out, "{:indent$}loop of bix{}: depth {}", "", row.header.0, row.depth)?;
    write!(out, ", blocks {}", list(nest.blocks(id)))?;
    write!(out, ", latches {}", list(nest.latches(id)))?;
    let exits: Vec<String> =
        nest.exits(id).map(|(from, to)| format!("bix{} -> bix{}", from.0, to.0)).collect();
    write!(out, ", exits [{}]", exits.join(", "))?;
    if let Some(preheader) = row.preheader.get() {
        write!(out, ", preheader bix{}", preheader.0)?;
    }
    let instructions: usize = nest.blocks(id).iter().map(|&block| function.insts_of(block).count()).sum();
    writeln!(out, ", {instructions} instructions")
}

fn list(blocks: &[BlockId]) -> String {
    let blocks: Vec<String> = blocks.iter().map(|block| block.0.to_string()).collect();
    format!("[{}]", blocks.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::analyze::{AnalysisScratch, bring_up_to_date};
    use super::super::graph::Graph;
    use super::super::nest::{NestScratch, build_nest};
    use super::*;
    use crate::facts::CodeFacts;
    use crate::forms::FormTable;
    use crate::ptx::reader::{ReaderScratch, read};
    use crate::ptx::scan::Module;
    use crate::tables::CodeTables;
    use ptxopt_components::ids::CodeId;

    fn built(body: &str) -> CodeTables {
        let text = format!(".version 8.0\n.target sm_90\n.entry k() {{ .reg .pred %p<3>; {body} }}\n");
        let (mut tables, mut forms) = (CodeTables::default(), FormTable::default());
        let module = Module::scan(text.as_bytes()).unwrap();
        read(&module, &module.functions, &mut forms, &mut ReaderScratch::default(), &mut tables).unwrap();
        tables.code_facts = vec![CodeFacts::default()];
        bring_up_to_date(tables.annotated(CodeId(0)), &forms, &mut AnalysisScratch::default());
        tables
    }

    /// The document's DOT example: 0 leads to 1 and 3, 1 to 2, 2 to 1 and 3.
    fn documents_graph() -> CodeTables {
        built("@%p1 bra D; B: bra C; C: @%p2 bra B; D: ret; bra C;")
    }

    fn dump(write: impl FnOnce(&mut String) -> fmt::Result) -> String {
        let mut out = String::new();
        write(&mut out).unwrap();
        out
    }

    #[test]
    fn dot_is_the_documents_format() {
        let mut tables = documents_graph();
        for (block, label) in tables.block_labels.iter_mut().enumerate() {
            label.offset = 16 * block as u32;
        }
        let function = tables.view().function(CodeId(0));
        let wanted = "digraph f {\nnode [fontname=\"Courier\",fontsize=10,shape=Mrecord];\n\
            \"bix0\"\n[label=\"bix0(L0)\"]\nbix0 -> bix1\nbix0 -> bix3\n\
            \"bix1\"\n[label=\"bix1(L10)\"]\nbix1 -> bix2\n\
            \"bix2\"\n[label=\"bix2(L20)\"]\nbix2 -> bix1\nbix2 -> bix3\n\
            \"bix3\"\n[label=\"bix3(L30)\"]\n}\n";
        assert_eq!(dump(|out| dot(&function, out)), wanted);
    }

    #[test]
    fn edges_are_one_a_line() {
        let tables = documents_graph();
        let function = tables.view().function(CodeId(0));
        let wanted = "bix0 -> bix1\nbix0 -> bix3\nbix1 -> bix2\nbix2 -> bix1\nbix2 -> bix3\n";
        assert_eq!(dump(|out| edges(&function, out)), wanted);
    }

    #[test]
    fn ranks_are_the_documents_format() {
        // The document's example: 0 leads to 1, 1 to 3 and 2, 3 to 2, and 2 back to 1.
        let tables = built("A: @%p1 bra D; C: @%p2 bra A; ret; D: bra C;");
        let function = tables.view().function(CodeId(0));
        let wanted = "Showing RPO state for each basic block:\nbix0 -> RPONum: 0\nbix1 -> RPONum: 1\n\
            bix2 -> RPONum: 3\nbix3 -> RPONum: 2\nRPO traversal order: [0, 1, 3, 2]\nShowing backedge info:\n\
            bix2 -> backedge's successor BB: 1\n";
        assert_eq!(dump(|out| ranks_and_back_edges(&function, out)), wanted);
    }

    #[test]
    fn the_tree_and_the_nest_are_indented() {
        let tables = documents_graph();
        let function = tables.view().function(CodeId(0));
        assert_eq!(
            dump(|out| dominator_tree(&function, out)),
            "Showing dominator tree:\nbix0\n  bix1\n    bix2\n  bix3\n"
        );
        let graph = Graph { edges: function.edges, pool: &function.pools.edges };
        let mut nest = LoopNest::default();
        build_nest(graph, function.blocks, function.orders, &mut NestScratch::default(), &mut nest);
        assert_eq!(
            dump(|out| loop_nest(&function, &nest, out)),
            "Showing loop nest:\nloop of bix1: depth 1, blocks [1, 2], latches [2], exits [bix2 -> bix3], 2 instructions\n"
        );
    }
}
