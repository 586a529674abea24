//! The service: what it writes on blocks, and what its calls cost.

use super::*;
use crate::graph::build::leaves_function;
use crate::graph::edges::Edges;
use crate::ptx::reader::{ReaderScratch, read};
use crate::ptx::scan::Module;

fn analyzed(succs: &[&[usize]]) -> (Vec<BlockHead>, Vec<BlockOrder>, bool) {
    let edges = Edges::from_succs(succs);
    let mut heads = vec![BlockHead::default(); succs.len()];
    let mut orders = vec![BlockOrder::default(); succs.len()];
    let violates = annotate(edges.graph(), &mut heads, &mut orders, &mut AnalysisScratch::default());
    (heads, orders, violates)
}

fn headers(heads: &[BlockHead]) -> Vec<usize> {
    (0..heads.len()).filter(|&block| heads[block].flags.contains(BlockFlags::LOOP_HEADER)).collect()
}

#[test]
fn the_fall_through_gets_the_next_rank() {
    let (_, orders, _) = analyzed(&[&[2, 1], &[3], &[3], &[]]);
    assert_eq!(orders.iter().map(|order| order.rpo).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(orders[3].idom.get(), Some(BlockId(0)));
}

#[test]
fn nested_loops_have_depths_and_bodies() {
    // 0 -> 1 -> 2 -> 3 -> {2, 4}; 4 -> {1, 5}
    let (heads, orders, violates) = analyzed(&[&[1], &[2], &[3], &[2, 4], &[1, 5], &[]]);
    assert_eq!(headers(&heads), [1, 2]);
    assert_eq!(orders.iter().map(|order| order.depth).collect::<Vec<_>>(), [0, 1, 2, 2, 1, 0]);
    assert_eq!(orders[3].loop_header.get(), Some(BlockId(2)));
    assert_eq!(orders[2].loop_around.get(), Some(BlockId(1)));
    assert_eq!((orders[2].latch_rpo, orders[2].exit_rpo), (3, 3));
    assert_eq!((orders[1].latch_rpo, orders[1].exit_rpo), (4, 4));
    assert!(!violates);
}

#[test]
fn a_self_loop_is_a_loop() {
    let (heads, orders, _) = analyzed(&[&[1], &[1, 2], &[]]);
    assert_eq!(headers(&heads), [1]);
    assert_eq!(orders[1].depth, 1);
}

#[test]
fn a_cycle_with_two_entries_is_irreducible_and_no_loop() {
    let (heads, orders, _) = analyzed(&[&[1, 2], &[2], &[1, 3], &[]]);
    assert_eq!(headers(&heads), Vec::<usize>::new());
    assert!(heads.iter().any(|head| head.flags.contains(BlockFlags::IRREDUCIBLE)));
    assert!(orders.iter().all(|order| order.depth == 0));
}

#[test]
fn unreachable_blocks_have_no_rank_and_dominate_nothing() {
    let (_, orders, _) = analyzed(&[&[2], &[2], &[]]);
    assert_eq!(orders[1].rpo, BlockOrder::UNREACHABLE);
    assert_eq!((orders[2].rpo, orders[2].idom.get()), (1, Some(BlockId(0))));
    assert!(!orders[1].dominates(&orders[1]) && !orders[0].dominates(&orders[1]));
}

#[test]
fn a_break_block_between_header_and_latch_violates_the_interval() {
    // The exit path 2 -> 4 leaves the loop 1,2,3 but gets a rank between them.
    let (_, orders, violates) = analyzed(&[&[1], &[3, 2], &[4], &[1, 4], &[]]);
    assert_eq!(orders[3].loop_header.get(), Some(BlockId(1)));
    assert_eq!(orders[2].loop_header.get(), None);
    assert_eq!(violates, orders[1].exit_rpo - orders[1].rpo != 1);
    assert!(violates);
}

#[test]
fn infinite_loops_and_parallel_edges_are_fine() {
    let (heads, orders, _) = analyzed(&[&[1, 1], &[1, 1]]);
    assert_eq!(headers(&heads), [1]);
    assert_eq!(orders[1].idom.get(), Some(BlockId(0)));
}

/// The ladder of the dominators' documentation: iterating over it is quadratic, so it is given up.
#[test]
fn giving_up_iteration_is_counted() {
    const LENGTH: usize = 10_000;
    let (a, b) = (|at: usize| at, |at: usize| LENGTH + at);
    let left = (0..LENGTH).map(|at| if at + 1 < LENGTH { vec![b(at), a(at + 1)] } else { vec![b(at)] });
    let right = (0..LENGTH).map(|at| if at + 1 < LENGTH { vec![b(at + 1)] } else { vec![] });
    let edges = Edges::from_succs(&left.chain(right).collect::<Vec<_>>());
    let mut heads = vec![BlockHead::default(); 2 * LENGTH];
    let (mut orders, mut scratch) = (vec![BlockOrder::default(); 2 * LENGTH], AnalysisScratch::default());
    annotate(edges.graph(), &mut heads, &mut orders, &mut scratch);
    assert_eq!(scratch.dominator_fallbacks(), 1);
    assert!(orders[LENGTH..].iter().all(|order| order.idom.get() == Some(BlockId(0))));
}

#[test]
fn a_block_leaves_by_what_leads_nowhere_or_off_the_end() {
    let leaving = |last: &str| {
        let text = format!(
            ".version 8.0\n.target sm_90\n.entry k() {{ .reg .pred p; @p exit; A: @p bra A; bra A; ret; {last} }}\n"
        );
        let (mut tables, mut forms) = (CodeTables::default(), FormTable::default());
        let module = Module::scan(text.as_bytes()).unwrap();
        read(&module, &module.functions, &mut forms, &mut ReaderScratch::default(), &mut tables).unwrap();
        let function = tables.view().function(CodeId(0));
        function.block_ids().map(|block| leaves_function(&function, block)).collect::<Vec<_>>()
    };
    // Past the guard lies an empty block.
    assert_eq!(leaving("@p bra A;"), [true, false, false, true, false, true]);
    assert_eq!(leaving("bra A;"), [true, false, false, true, false]);
}

/// A kernel with a loop, an unknown instruction and an early exit.
fn kernel() -> (CodeTables, FormTable) {
    let text =
        b".version 8.0\n.target sm_90\n.entry k() { .reg .pred p; @p exit; L: @p bra L; M: ret; bra M; }\n";
    let (mut tables, mut forms) = (CodeTables::default(), FormTable::default());
    let module = Module::scan(text).unwrap();
    read(&module, &module.functions, &mut forms, &mut ReaderScratch::default(), &mut tables).unwrap();
    tables.code_facts = vec![CodeFacts::default()];
    (tables, forms)
}

#[test]
fn asking_131_times_costs_the_first() {
    let ((mut tables, forms), mut scratch) = (kernel(), AnalysisScratch::default());
    let blocks = tables.block_heads.len() as u64;
    let computed =
        (0..131).filter(|_| bring_up_to_date(tables.annotated(CodeId(0)), &forms, &mut scratch)).count();
    assert_eq!((computed, scratch.blocks_annotated), (1, blocks));
    // A changed instruction moves no edge; a changed edge counts.
    tables.code_states[0].inst_epoch += 1;
    assert!(!bring_up_to_date(tables.annotated(CodeId(0)), &forms, &mut scratch));
    tables.code_states[0].cfg_epoch += 1;
    assert!(bring_up_to_date(tables.annotated(CodeId(0)), &forms, &mut scratch));
    assert_eq!(scratch.blocks_annotated, 2 * blocks);
}

#[test]
fn retagging_takes_nothing_for_granted() {
    // None of the bits that the reset clears.
    const BIT_19: BlockFlags = BlockFlags::from_bits_retain(1 << 19);
    let ((mut tables, forms), mut scratch) = (kernel(), AnalysisScratch::default());
    bring_up_to_date(tables.annotated(CodeId(0)), &forms, &mut scratch);
    let right = (tables.block_heads.clone(), tables.block_orders.clone());
    tables.block_heads[0].flags |= BlockFlags::IN_LOOP | BIT_19;
    tables.block_orders[0].depth = 7;
    assert!(
        !bring_up_to_date(tables.annotated(CodeId(0)), &forms, &mut scratch),
        "the epochs say that it holds"
    );
    retag_everything(tables.annotated(CodeId(0)), &forms, &mut scratch);
    assert_eq!(tables.block_heads[0].flags, right.0[0].flags | BIT_19);
    assert_eq!(tables.block_orders, right.1);
}

#[test]
fn both_entry_points_leave_the_same_facts() {
    let ((mut tables, forms), mut scratch) = (kernel(), AnalysisScratch::default());
    bring_up_to_date(tables.annotated(CodeId(0)), &forms, &mut scratch);
    let flags = tables.code_states[0].flags;
    assert!(flags.contains(CodeFlags::EARLY_EXIT_SEEN));
    retag_everything(tables.annotated(CodeId(0)), &forms, &mut scratch);
    assert_eq!(tables.code_states[0].flags, flags);
}

#[test]
fn the_latch_of_ranks_falls_when_the_cause_is_gone() {
    let text = b".version 8.0\n.target sm_90\n.entry k() { .reg .pred p; .reg .b32 r; \
                 A: @p bra C; B: mov.b32 r, 1; bra D; C: @p bra A; D: ret; bra B; }\n";
    let (mut tables, mut forms) = (CodeTables::default(), FormTable::default());
    let module = Module::scan(text).unwrap();
    read(&module, &module.functions, &mut forms, &mut ReaderScratch::default(), &mut tables).unwrap();
    tables.code_facts = vec![CodeFacts::default()];
    let mut scratch = AnalysisScratch::default();
    bring_up_to_date(tables.annotated(CodeId(0)), &forms, &mut scratch);
    let violates = |tables: &CodeTables| tables.code_states[0].flags.contains(CodeFlags::RPO_VIOLATION);
    assert!(violates(&tables), "B leaves the loop of A and C, and has a rank between them");
    // Without the back edge there is no loop.
    let back = tables.inst_heads.iter().rposition(|head| head.opcode.is_guarded()).unwrap();
    tables.inst_heads[back].marks |= Marks::TOMBSTONE;
    let spans = tables.code_spans[0];
    crate::graph::build::connect(&mut tables, &spans);
    tables.code_states[0].cfg_epoch += 1;
    bring_up_to_date(tables.annotated(CodeId(0)), &forms, &mut scratch);
    assert!(!violates(&tables));
}
