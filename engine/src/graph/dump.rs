//! Dumps of the flow graph: the four of the documents, in their format to the byte, and two in the same spirit.
//!
//! Source  basic-blocks-and-cfg, "CFG Visualization", "RPO Debug Dump", "Key CFG Functions"
//!
//! Blocks print as `bix%d`, and in DOT with their label id `L%x`: here the byte offset of the block in its module. Dead
//! blocks are left out. Blocks without a path from the entry have no rank: they are left out where ranks are printed.
//!
//! Every dump is as long as the graph, whatever its shape: below a fixed depth a line says its depth as a number and is not
//! indented further, a loop lists the blocks and exits that no inner loop lists, and counts the others.

use super::nest::LoopNest;
use crate::store::view::FunctionView;
use ptxopt_components::block::{BlockFlags, BlockOrder};
use ptxopt_components::ids::{BlockId, Id, LoopId};
use std::fmt::{self, Write};

/// Levels of a tree that are shown by indentation. Deeper than this, nobody can see the level, and the blanks of a chain
/// of blocks would be its length squared.
const INDENTED_LEVELS_MAX: usize = 32;

/// The blanks before a line that many levels below the root.
fn indent(level: usize) -> &'static str {
    const BLANKS: &str = match std::str::from_utf8(&[b' '; 2 * INDENTED_LEVELS_MAX]) {
        Ok(blanks) => blanks,
        Err(_) => unreachable!(),
    };
    &BLANKS[..2 * level.min(INDENTED_LEVELS_MAX)]
}

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
    let mut level_of = vec![0; orders.len()];
    for block in blocks {
        if let Some(idom) = orders[block.index()].idom.get() {
            level_of[block.index()] = level_of[idom.index()] + 1;
        }
        let level = level_of[block.index()];
        out.write_str(indent(level))?;
        if level > INDENTED_LEVELS_MAX {
            write!(out, "depth {level}: ")?;
        }
        writeln!(out, "bix{}", block.0)?;
    }
    Ok(())
}

/// The loop nest, a loop a line, inner loops indented below, and irreducible regions. `nest` is that of the function.
pub fn loop_nest(function: &FunctionView<'_>, nest: &LoopNest, out: &mut impl Write) -> fmt::Result {
    writeln!(out, "Showing loop nest:")?;
    let inst_counts = inst_counts(function, nest);
    for id in nest.ids() {
        loop_line(nest, id, inst_counts[id.index()], out)?;
    }
    for region in nest.irreducible_regions() {
        writeln!(out, "irreducible: {}", list(region))?;
    }
    Ok(())
}

/// By loop: its instructions, those of inner loops among them.
fn inst_counts(function: &FunctionView<'_>, nest: &LoopNest) -> Vec<usize> {
    let of_blocks = |blocks: &[BlockId]| blocks.iter().map(|&block| function.insts_of(block).count()).sum();
    let mut counts: Vec<usize> = nest.ids().map(|id| of_blocks(nest.own_blocks(id))).collect();
    // Inner loops follow those around them, so each is complete before it is added.
    for id in nest.ids().rev() {
        if let Some(parent) = nest.row(id).parent.get() {
            counts[parent.index()] += counts[id.index()];
        }
    }
    counts
}

fn loop_line(nest: &LoopNest, id: LoopId, inst_count: usize, out: &mut impl Write) -> fmt::Result {
    let row = nest.row(id);
    write!(out, "{}loop of bix{}: depth {}", indent(row.depth as usize - 1), row.header.0, row.depth)?;
    let own = nest.own_blocks(id);
    write!(out, ", blocks {}", list(own))?;
    let inner_count = nest.blocks(id).len() - own.len();
    if inner_count > 0 {
        write!(out, " and {inner_count} in inner loops")?;
    }
    write!(out, ", latches {}", list(nest.latches(id)))?;
    let exits: Vec<String> = nest.own_exits(id).map(|edge| exit(nest, id, edge)).collect();
    write!(out, ", exits [{}]", exits.join(", "))?;
    if let Some(preheader) = row.preheader.get() {
        write!(out, ", preheader bix{}", preheader.0)?;
    }
    writeln!(out, ", {inst_count} instructions")
}

/// An edge out of a loop and perhaps out of others around it.
fn exit(nest: &LoopNest, id: LoopId, (from, to): (BlockId, BlockId)) -> String {
    // The target is in a loop that holds the source, or the header of one that does not: the walk takes one step.
    let mut around = nest.loop_of(to);
    while let Some(outer) = around
        && !nest.holds(outer, from)
    {
        around = nest.row(outer).parent.get();
    }
    let left_count = nest.row(id).depth - around.map_or(0, |around| nest.row(around).depth);
    let edge = format!("bix{} -> bix{}", from.0, to.0);
    if left_count > 1 { format!("{edge} out of {left_count} loops") } else { edge }
}

fn list(blocks: &[BlockId]) -> String {
    let blocks: Vec<String> = blocks.iter().map(|block| block.0.to_string()).collect();
    format!("[{}]", blocks.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::analyze::{AnalysisScratch, bring_up_to_date};
    use super::super::edges::Graph;
    use super::super::nest::{NestScratch, build_nest};
    use super::*;
    use crate::forms::FormTable;
    use crate::ptx::reader::{ReaderScratch, read};
    use crate::ptx::scan::Module;
    use crate::run::facts::CodeFacts;
    use crate::store::tables::CodeTables;
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
        built("@%p1 bra D; B: bra C; C: @%p2 bra B; D: ret;")
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
        let tables = built("A: @%p1 bra D; C: bra A; D: bra C;");
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
        assert_eq!(
            dump(|out| loop_nest(&function, &nest_of(&function), out)),
            "Showing loop nest:\nloop of bix1: depth 1, blocks [1, 2], latches [2], exits [bix2 -> bix3], 2 instructions\n"
        );
    }

    fn nest_of(function: &FunctionView<'_>) -> LoopNest {
        let graph = Graph { edges: function.edges, pool: &function.pools.edges };
        let mut nest = LoopNest::default();
        build_nest(graph, function.blocks, function.orders, &mut NestScratch::default(), &mut nest);
        nest
    }

    /// What an inner loop lists is counted outside, and an edge out of several loops stands at the innermost.
    #[test]
    fn blocks_and_exits_of_inner_loops_are_listed_once() {
        let tables =
            built("A: mov.pred %p1, %p2; B: @%p1 bra D; C: @%p2 bra B; E: @%p1 bra A; F: ret; D: ret;");
        let function = tables.view().function(CodeId(0));
        let wanted = "Showing loop nest:\n\
            loop of bix1: depth 1, blocks [1, 4] and 2 in inner loops, latches [4], exits [bix4 -> bix5], \
            preheader bix0, 4 instructions\n\
            \x20 loop of bix2: depth 2, blocks [2, 3], latches [3], exits [bix2 -> bix6 out of 2 loops, bix3 -> bix4], \
            preheader bix1, 2 instructions\n";
        assert_eq!(dump(|out| loop_nest(&function, &nest_of(&function), out)), wanted);
    }

    /// Blocks each of which dominates the next.
    fn chain(size: usize) -> String {
        let blocks: String = (0..size).map(|at| format!("L{at}: @%p1 bra L{}; ", at + 1)).collect();
        format!("{blocks} L{size}: ret;")
    }

    #[test]
    fn deep_levels_are_numbers() {
        let tables = built(&chain(INDENTED_LEVELS_MAX + 2));
        let function = tables.view().function(CodeId(0));
        let tree = dump(|out| dominator_tree(&function, out));
        let line = |block: usize| {
            let end = format!("bix{block}");
            tree.lines().find(|line| line.ends_with(&end)).unwrap_or_else(|| panic!("no {end} in {tree}"))
        };
        assert_eq!(line(32), format!("{:64}bix32", ""));
        assert_eq!(line(33), format!("{:64}depth 33: bix33", ""));
    }

    /// Each level once cost a line of its length, and past 65,535 columns the formatter panicked.
    #[test]
    fn the_text_is_as_long_as_the_graph() {
        let lengths = [10_000, 80_000].map(|size| {
            let chain = built(&chain(size));
            let heads: String = (0..size).map(|at| format!("L{at}: mov.pred %p1, %p2; ")).collect();
            let latches: String = (0..size).rev().map(|at| format!("K{at}: @%p1 bra L{at}; ")).collect();
            let loops = built(&(heads + &latches + "ret;"));
            let function = loops.view().function(CodeId(0));
            let nest = nest_of(&function);
            assert_eq!(nest.rows().len(), size);
            let chain = chain.view().function(CodeId(0));
            [
                dump(|out| dominator_tree(&chain, out)).len(),
                dump(|out| loop_nest(&function, &nest, out)).len(),
            ]
        });
        for (short, long) in lengths[0].into_iter().zip(lengths[1]) {
            // Numbers get a digit longer.
            assert!(long < 10 * short, "{long} bytes for 8 times what takes {short}");
        }
    }
}
