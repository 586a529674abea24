//! Blocks and edges.

use super::*;

#[test]
fn a_block_is_split_from_its_end() {
    let mut bench = Bench::of("L: mov.u32 %r1, 1; add.u32 %r2, %r1, 1; sub.u32 %r3, %r2, 1; bra L;");
    let mut f = bench.edit();
    let (mov, add) = (nth(&f.view(), 0), nth(&f.view(), 1));
    let mut change = f.change(mov, "test").unwrap();
    change.split_after(add);
    change.split_after(mov);
    drop(f);
    bench.assert_is_whole();
    assert_eq!(bench.listing(), ["-> 1", "L: mov.u32 -> 2", "add.u32 -> 3", "sub.u32 bra -> 1"]);
}

#[test]
fn a_chained_block_is_split_and_merged() {
    let mut bench = Bench::of("mov.u32 %r1, 1; add.u32 %r2, %r1, 1; sub.u32 %r3, %r2, 1; ret;");
    let not = bench.form("not.b32", b"#,#");
    let r1 = bench.vreg("%r", 1);
    bench.analyze();
    let mut f = bench.edit();
    let add = nth(&f.view(), 1);
    let mut change = f.change(add, "test").unwrap();
    let inserted = change.insert_before(add, not, &[Operand::register(r1), Operand::register(r1)], None);
    let second = change.split_after(inserted);
    assert_eq!(f.view().insts_of(second).count(), 3);
    f.refresh_edges();
    assert_eq!(f.view().succs(BlockId(0)), [second]);
    f.change(add, "test").unwrap().merge(second);
    assert_eq!(f.view().insts_of(second).count(), 0, "the rows of a block that is gone are those of another");
    drop(f);
    bench.assert_is_whole();
    assert_eq!(bench.listing(), ["mov.u32 not.b32 add.u32 sub.u32 ret ->"]);
}

#[test]
fn redirected_branches_lose_their_promise_and_give_a_label() {
    let mut bench = Bench::of("@%p1 bra.uni L; mov.u32 %r1, 1; @%p2 bra L; ret; L: ret;");
    let mut f = bench.edit();
    let first = nth(&f.view(), 0);
    f.change(first, "test").unwrap().redirect(first, BlockId(2));
    drop(f);
    bench.assert_is_whole();
    assert_eq!(bench.code()[0], "@%p1 bra $L__ptxopt_0;");
    assert_eq!(bench.listing()[2], "$L__ptxopt_0: ret ->");
}

#[test]
fn guards_turn_around_and_go() {
    let mut bench = Bench::of("@%p1 bra L; @!%p2 bra L; mov.u32 %r1, 1; L: ret;");
    bench.analyze();
    let mut f = bench.edit();
    let (first, second) = (nth(&f.view(), 0), nth(&f.view(), 1));
    f.change(first, "test").unwrap().negate_guard(first);
    f.change(second, "test").unwrap().drop_guard(second);
    drop(f);
    bench.assert_is_whole();
    assert_eq!(bench.code()[..2], ["@!%p1 bra L;", "bra L;"]);
    assert_eq!(bench.listing()[1], "bra -> 3");
}

#[test]
fn lines_of_dead_blocks_move_on() {
    let mut bench = Bench::of(
        "bra L; .loc 1 1 0\nM: .loc 1 2 0\nmov.u32 %r1, 1; .loc 1 3 0\nbra M; .pragma \"nounroll\"; .loc 1 4 0\nL: .loc 1 5 0\nret;",
    );
    let mut f = bench.edit();
    let dead: Vec<BlockId> = vec![BlockId(1)];
    f.change_at(0, "test").unwrap().delete_blocks(&dead);
    drop(f);
    bench.assert_is_whole();
    let lines: Vec<String> = bench.code().into_iter().filter(|line| line.starts_with(".loc")).collect();
    assert_eq!(lines, [".loc 1 1 0", ".loc 1 2 0", ".loc 1 3 0", ".loc 1 4 0", ".loc 1 5 0"]);
    assert!(!bench.code().contains(&".pragma \"nounroll\";".to_owned()), "it belonged to the dead block");
    bench.compact();
    bench.assert_is_whole();
    assert_eq!(bench.code().iter().filter(|line| line.starts_with(".loc")).count(), 5);
}

/// What stands before all instructions of a block does so when others are put there, and what stands between two of them stays there.
#[test]
fn pragmas_of_a_block_stay_at_its_head() {
    let mut bench = Bench::of(
        ".pragma \"first\"; mov.u32 %r1, 1;\nL: .loc 1 1 0\n.pragma \"head\"; mov.u32 %r1, 2; .loc 1 2 0\n\
         .pragma \"middle\"; mov.u32 %r1, 3; @%p1 bra L; .pragma \"last\"; ret;",
    );
    let mov = bench.form("mov.u32", b"#,#");
    let r1 = bench.vreg("%r", 1);
    let mut f = bench.edit();
    let rows = [0, 1, 2, 4].map(|at| (at, nth(&f.view(), at)));
    for (at, before) in rows {
        let mut change = f.change(before, "test").unwrap();
        change.insert_before(before, mov, &[Operand::register(r1), Operand::int(10 + at as i32)], None);
    }
    drop(f);
    let written = bench.written();
    bench.compact();
    bench.assert_is_whole();
    assert_eq!(bench.written(), written);
    let wanted = [
        ".pragma \"first\";",
        "mov.u32 %r1, 10;",
        "mov.u32 %r1, 1;",
        "L:",
        ".pragma \"head\";",
        ".pragma \"middle\";",
        "mov.u32 %r1, 11;",
        ".loc 1 1 0",
        "mov.u32 %r1, 2;",
        "mov.u32 %r1, 12;",
        ".loc 1 2 0",
        "mov.u32 %r1, 3;",
        "@%p1 bra L;",
        ".pragma \"last\";",
        "mov.u32 %r1, 14;",
        "ret;",
    ];
    assert_eq!(bench.code(), wanted);
}

#[test]
fn a_pragma_goes_with_its_block() {
    let mut bench = Bench::of(
        "mov.u32 %r1, 1;\nL: mov.u32 %r1, 2; @%p1 bra M; .pragma \"next\"; mov.u32 %r1, 3;\n\
         M: .pragma \"joins\"; mov.u32 %r1, 4; @%p1 bra L; ret;",
    );
    let mut f = bench.edit();
    let branch = nth(&f.view(), 2);
    f.change(branch, "test").unwrap().delete_branch(branch);
    drop(f);
    // Nothing tells the block after the branch from that before it now.
    let code = ["mov.u32 %r1, 1;", "L:", "mov.u32 %r1, 2;", "mov.u32 %r1, 3;"];
    let rest = ["mov.u32 %r1, 4;", "@%p1 bra L;", "ret;"];
    let kept = ["M:", ".pragma \"joins\";"];
    assert_eq!(bench.code(), [&code[..], &kept, &rest].concat());
    let mut f = bench.edit();
    let last = nth(&f.view(), 3);
    let block = f.view().heads[last.index()].block;
    f.change(last, "test").unwrap().merge(block);
    drop(f);
    bench.assert_is_whole();
    bench.compact();
    assert_eq!(bench.code(), [&code[..], &rest].concat());
}

#[test]
fn lines_at_the_end_of_a_block_stay_there_when_another_joins() {
    let mut bench =
        Bench::of("mov.u32 %r1, 1; .loc 1 1 0\nL: .loc 1 2 0\nadd.u32 %r2, %r1, 1; .loc 1 3 0\n@%p1 bra L;");
    let mut f = bench.edit();
    let branch = nth(&f.view(), 2);
    let mut change = f.change(branch, "test").unwrap();
    change.delete_branch(branch);
    change.merge(BlockId(1));
    drop(f);
    bench.assert_is_whole();
    let expected = ["mov.u32 %r1, 1;", ".loc 1 1 0", ".loc 1 2 0", "add.u32 %r2, %r1, 1;", ".loc 1 3 0"];
    assert_eq!(bench.code(), expected);
    bench.compact();
    assert_eq!(bench.code(), expected);
}

#[test]
fn lines_of_blocks_that_moved_and_merged_are_in_the_order_of_their_instructions() {
    let mut bench = Bench::of(
        "mov.u32 %r1, 1; bra M; L: .loc 1 2 0\nadd.u32 %r2, %r1, 1; ret; M: .loc 1 1 0\nsub.u32 %r3, %r1, 1; bra L;",
    );
    let mut f = bench.edit();
    let (to_m, to_l) = (nth(&f.view(), 1), nth(&f.view(), 5));
    let mut change = f.change(to_m, "test").unwrap();
    change.move_blocks(BlockId(2), BlockId(2), BlockId(0));
    for (branch, next) in [(to_m, BlockId(2)), (to_l, BlockId(1))] {
        change.delete_branch(branch);
        change.merge(next);
    }
    drop(f);
    bench.assert_is_whole();
    let expected = [
        "mov.u32 %r1, 1;",
        ".loc 1 1 0",
        "sub.u32 %r3, %r1, 1;",
        ".loc 1 2 0",
        "add.u32 %r2, %r1, 1;",
        "ret;",
    ];
    assert_eq!(bench.code(), expected);
}

#[test]
fn a_block_put_before_another_takes_what_fell_through() {
    let mut bench = Bench::of("mov.u32 %r1, 1; L: add.u32 %r1, %r1, 1; @%p1 bra L; ret;");
    let mut f = bench.edit();
    let branch = nth(&f.view(), 2);
    let mut change = f.change(branch, "test").unwrap();
    let new = change.insert_block_before(BlockId(1));
    let jump = f.next_in_text(BlockId(0));
    assert_eq!(jump, Some(new));
    drop(f);
    bench.assert_is_whole();
    assert_eq!(bench.listing(), ["mov.u32 -> 1", "-> 2", "L: add.u32 @bra -> 2 3", "ret ->"]);
}

#[test]
fn a_run_of_blocks_goes_to_another_place_and_back() {
    let text = "@%p1 bra A; .loc 1 1 0\nbra C; A: mov.u32 %r2, 1; B: .loc 1 2 0\nret; C: .loc 1 3 0\nadd.u32 %r2, %r2, 1; \
                @%p1 bra A; sub.u32 %r2, %r2, 1; bra B; D: exit;";
    let mut bench = Bench::of(text);
    let before = (bench.written(), bench.listing());
    let mut f = bench.edit();
    let jump = nth(&f.view(), 1);
    let mut change = f.change_in_place(jump, "test").unwrap();
    change.delete_branch(jump);
    change.move_blocks(BlockId(4), BlockId(5), BlockId(1));
    assert_eq!(change.next_in_text(BlockId(1)), Some(BlockId(4)));
    assert_eq!(change.next_in_text(BlockId(5)), Some(BlockId(2)));
    assert_eq!(change.next_in_text(BlockId(3)), Some(BlockId(6)));
    change.move_blocks(BlockId(4), BlockId(5), BlockId(1));
    drop(f);
    bench.assert_is_whole();
    let after = [
        "@bra -> 4 1",
        "-> 2",
        "C: add.u32 @bra -> 4 3",
        "sub.u32 bra -> 5",
        "A: mov.u32 -> 5",
        "B: ret ->",
        "exit ->",
    ];
    assert_eq!(bench.listing(), after);
    let lines: Vec<String> = bench.code().into_iter().filter(|line| line.starts_with(".loc")).collect();
    assert_eq!(lines, [".loc 1 1 0", ".loc 1 3 0", ".loc 1 2 0"]);
    bench.compact();
    bench.assert_is_whole();
    assert_eq!(bench.listing(), after);

    let mut bench = Bench::of(text);
    let mut f = bench.edit();
    f.change_at(0, "test").unwrap().move_blocks(BlockId(4), BlockId(6), BlockId(1));
    drop(f);
    assert_eq!(bench.listing().last().unwrap(), "B: ret ->");
    assert!(bench.undo());
    bench.assert_is_whole();
    assert_eq!((bench.written(), bench.listing()), before);
}

#[test]
fn tables_follow_their_blocks() {
    let mut bench = Bench::of("T: .branchtargets A, B; brx.idx %r1, T; A: mov.u32 %r2, 1; B: ret;");
    let mut f = bench.edit();
    let mov = nth(&f.view(), 1);
    f.change(mov, "test").unwrap().insert_block_before(BlockId(1));
    drop(f);
    bench.assert_is_whole();
    assert_eq!(bench.listing(), ["brx.idx -> 2 3", "-> 2", "A: mov.u32 -> 3", "B: ret ->"]);
    assert!(bench.undo());
    bench.assert_is_whole();
    assert_eq!(bench.listing(), ["brx.idx -> 1 2", "A: mov.u32 -> 2", "B: ret ->"]);
}

#[test]
fn lines_of_a_dead_block_move_to_where_the_next_one_has_joined() {
    // The jump of the dead block led to the block after it, which then joins the one before.
    let mut bench = Bench::of(
        "mov.u32 %r1, 1; bra L; M: .loc 1 1 0\nbra M; L: .loc 1 2 0\nadd.u32 %r2, %r1, 1; N: .loc 1 3 0\n@%p1 bra N; ret;",
    );
    let mut f = bench.edit();
    let (jump, add) = (nth(&f.view(), 1), nth(&f.view(), 3));
    let mut change = f.change(jump, "test").unwrap();
    change.delete_blocks(&[BlockId(1)]);
    change.delete_branch(jump);
    change.merge(BlockId(2));
    // The first row of what joined moves away, and its place stays.
    change.move_to_end(add, BlockId(3));
    drop(f);
    bench.assert_is_whole();
    let lines: Vec<String> = bench.code().into_iter().filter(|line| !line.ends_with(':')).collect();
    assert_eq!(
        lines,
        [
            "mov.u32 %r1, 1;",
            ".loc 1 1 0",
            ".loc 1 2 0",
            ".loc 1 3 0",
            "@%p1 bra N;",
            "add.u32 %r2, %r1, 1;",
            "ret;"
        ]
    );
}

/// L joins M, whose rows die then, that of the joint too.
#[test]
fn lines_of_a_dead_block_move_on_where_the_block_that_it_joined_has_died() {
    let mut bench = Bench::of(
        "@%p1 bra N; M: .loc 1 1 0\nmov.u32 %r1, 1; bra L; K: .loc 1 2 0\nbra K; L: .loc 1 3 0\nmov.u32 %r2, 1; N: .loc 1 4 0\nret;",
    );
    let mut f = bench.edit();
    let jump = nth(&f.view(), 2);
    let mut change = f.change(jump, "test").unwrap();
    change.delete_blocks(&[BlockId(2)]);
    change.delete_branch(jump);
    change.merge(BlockId(3));
    change.delete_blocks(&[BlockId(1)]);
    drop(f);
    bench.assert_is_whole();
    let lines: Vec<String> = bench.code().into_iter().filter(|line| line.starts_with(".loc")).collect();
    assert_eq!(lines, [".loc 1 1 0", ".loc 1 2 0", ".loc 1 3 0", ".loc 1 4 0"]);
}

#[test]
fn lines_of_a_dead_block_stay_between_those_of_its_neighbours() {
    // An end, a dead block and an empty one, each with a line; then another block joins.
    let mut bench = Bench::of(
        "mov.u32 %r1, 1; bra B; D: .loc 1 12 0\nadd.u32 %r1, %r1, 1; bra D; .loc 1 13 0\nB: .loc 1 14 0\nC: .loc 1 15 0\n\
         add.u32 %r2, %r1, 1; ret; N: @%p1 bra C; bra B;",
    );
    let before: Vec<String> = bench.code().into_iter().filter(|line| line.starts_with(".loc")).collect();
    let mut f = bench.edit();
    let jump = nth(&f.view(), 1);
    let mut change = f.change(jump, "test").unwrap();
    let last = BlockId::new(change.function().blocks.len() - 1);
    change.delete_blocks(&[BlockId(1), BlockId(last.0 - 1), last]);
    change.delete_branch(jump);
    change.merge(BlockId(2));
    change.merge(BlockId(3));
    drop(f);
    bench.assert_is_whole();
    let after: Vec<String> = bench.code().into_iter().filter(|line| line.starts_with(".loc")).collect();
    assert_eq!(after, before);
}

#[test]
fn lines_of_an_instruction_stay_where_it_leaves_though_a_dead_block_lies_between_them() {
    // The line at the end of the first block comes to stand before the instruction when its block joins.
    let mut bench = Bench::of(
        "mov.u32 %r1, 1; bra C; .loc 1 1 0\nD: .loc 1 2 0\nbra D; C: .loc 1 3 0\nadd.u32 %r2, %r1, 1; \
         st.global.u32 [%rd1], %r1; N: @%p1 bra N; ret;",
    );
    let mut f = bench.edit();
    let (jump, add, ret) = (nth(&f.view(), 1), nth(&f.view(), 3), nth(&f.view(), 6));
    let mut change = f.change(jump, "test").unwrap();
    change.delete_blocks(&[BlockId(1)]);
    change.delete_branch(jump);
    change.merge(BlockId(2));
    change.move_before(add, ret);
    drop(f);
    bench.assert_is_whole();
    let lines: Vec<String> = bench.code().into_iter().filter(|line| !line.ends_with(':')).collect();
    assert_eq!(
        lines,
        [
            "mov.u32 %r1, 1;",
            ".loc 1 1 0",
            ".loc 1 2 0",
            ".loc 1 3 0",
            "st.global.u32 [%rd1], %r1;",
            "@%p1 bra N;",
            "add.u32 %r2, %r1, 1;",
            "ret;"
        ]
    );
}

#[test]
fn an_indexed_branch_becomes_a_direct_one_under_its_guard() {
    let mut bench = Bench::of("t: .branchtargets L, M; @%p1 brx.idx.uni %r1, t; M: mov.u32 %r1, 1; L: ret;");
    bench.analyze();
    let mut f = bench.edit();
    let first = nth(&f.view(), 0);
    f.change(first, "test").unwrap().branch_to(first, BlockId(2));
    drop(f);
    bench.assert_is_whole();
    assert_eq!(bench.code()[0], "@%p1 bra L;");
    assert_eq!(bench.listing()[0], "@bra -> 2 1");
    assert!(bench.undo());
    assert_eq!(bench.listing()[0], "@brx.idx.uni -> 2 1 1");
}

#[test]
fn entries_of_tables_lead_elsewhere_and_back() {
    let mut bench = Bench::of("t: .branchtargets L, M; brx.idx %r1, t; M: mov.u32 %r1, 1; bra L; L: ret;");
    let mut f = bench.edit();
    let table = f.view().operands_of(nth(&f.view(), 0))[1].as_table().unwrap();
    f.change_at(0, "test").unwrap().set_target(table, 1, BlockId(2));
    assert_eq!(f.unreachable_now(), [BlockId(1)]);
    drop(f);
    bench.assert_is_whole();
    assert_eq!(bench.listing()[0], "brx.idx -> 2 2");
    assert!(bench.undo());
    assert_eq!(bench.listing()[0], "brx.idx -> 2 1");
}

/// Blocks of a cycle that nothing leads to keep one another's predecessors, and are unreachable all the same.
#[test]
fn what_nothing_leads_to_now_is_unreachable() {
    let mut bench = Bench::of("@%p1 bra L; ret; L: mov.u32 %r1, 1; M: @%p2 bra L; bra M;");
    let mut f = bench.edit();
    assert_eq!(f.unreachable_now(), []);
    let first = nth(&f.view(), 0);
    f.change(first, "test").unwrap().delete_branch(first);
    let dead = f.unreachable_now();
    assert_eq!(dead, [BlockId(2), BlockId(3), BlockId(4)]);
    f.change_at(0, "test").unwrap().delete_blocks(&dead);
    assert_eq!(f.unreachable_now(), [], "dead blocks are no more");
    drop(f);
    bench.assert_is_whole();
    assert_eq!(bench.listing(), ["-> 1", "ret ->"]);
}

/// An instruction that is no branch loses its guard and leaves the edges as they are.
#[test]
fn any_guard_goes() {
    let mut bench = Bench::of("@%p1 mov.u32 %r1, 1; ret;");
    let mut f = bench.edit();
    let first = nth(&f.view(), 0);
    let epoch = f.state().cfg_epoch;
    f.change(first, "test").unwrap().drop_guard(first);
    assert_eq!(f.state().cfg_epoch, epoch);
    drop(f);
    bench.assert_is_whole();
    assert_eq!(bench.code()[0], "mov.u32 %r1, 1;");
}

/// What was found out of definitions while the graph was changing names blocks by their old numbers.
#[test]
fn new_numbers_of_blocks_make_definitions_stale() {
    let mut bench = Bench::of("bra L; M: mov.u32 %r1, 1; bra L; L: mov.u32 %r2, 2; ret;");
    let mut f = bench.edit();
    f.required_change().delete_blocks(&[BlockId(1)]);
    f.refresh_edges();
    f.fact_computed(Fact::Definitions);
    assert!(f.fact_holds(Fact::Definitions));
    drop(f);
    assert!(!bench.edit().fact_holds(Fact::Definitions), "the block after it has its number now");
}
