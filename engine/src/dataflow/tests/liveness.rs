//! Live sets: a register is live where some path leads to a read of it without a write that ends its life.

use super::{Built, Style, random};
use crate::dataflow::liveness::{Changes, LiveSet, LivenessScratch, Representation, solve_on};
use crate::store::view::FunctionView;
use ptxopt_components::ids::{BlockId, Id, VRegId};

/// What a block does first with a register.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    Reads,
    Ends,
    Nothing,
}

fn first(function: &FunctionView<'_>, block: BlockId, vreg: VRegId) -> First {
    for inst in function.insts_of(block) {
        let operands = function.operands_of(inst).iter().filter(|operand| operand.vreg() == Some(vreg));
        if operands.clone().any(|operand| operand.is_use()) {
            return First::Reads;
        }
        if operands.clone().next().is_some() && !function.heads[inst.index()].opcode.is_guarded() {
            return First::Ends;
        }
    }
    First::Nothing
}

/// By block: whether `vreg` is live into it, found by a search from each block forward.
pub(super) fn live_in(function: &FunctionView<'_>, vreg: VRegId) -> Vec<bool> {
    let firsts: Vec<First> = function.block_ids().map(|block| first(function, block, vreg)).collect();
    let is_live = |start: BlockId| {
        let mut seen = vec![false; firsts.len()];
        let mut waiting = vec![start];
        while let Some(block) = waiting.pop() {
            if std::mem::replace(&mut seen[block.index()], true) {
                continue;
            }
            match firsts[block.index()] {
                First::Reads => return true,
                First::Ends => {}
                First::Nothing => waiting.extend(function.succs(block)),
            }
        }
        false
    };
    function
        .block_ids()
        .map(|block| function.orders[block.index()].is_reachable() && is_live(block))
        .collect()
}

fn compare(built: &Built, scratch: &mut LivenessScratch, sets: &mut [LiveSet; 2]) {
    let function = built.function();
    let wanted: Vec<Vec<bool>> = function.vreg_ids().map(|vreg| live_in(&function, vreg)).collect();
    for (representation, set) in [Representation::Dense, Representation::Walks].into_iter().zip(sets) {
        solve_on(representation, &function, &built.forms, scratch, set);
        assert_eq!((set.representation(), set.block_count()), (representation, function.blocks.len()));
        let reachable = |block: &BlockId| function.orders[block.index()].is_reachable();
        for block in function.block_ids().filter(reachable) {
            let into: Vec<VRegId> = sorted(set.live_in_vregs(block));
            let out_of: Vec<VRegId> = sorted(set.live_out_vregs(block));
            let is_in = |vreg: &VRegId| wanted[vreg.index()][block.index()];
            let is_out =
                |vreg: &VRegId| function.succs(block).iter().any(|succ| wanted[vreg.index()][succ.index()]);
            assert_eq!(
                into,
                function.vreg_ids().filter(is_in).collect::<Vec<_>>(),
                "{representation:?} into {block:?}"
            );
            assert_eq!(
                out_of,
                function.vreg_ids().filter(is_out).collect::<Vec<_>>(),
                "{representation:?} {block:?}"
            );
            for vreg in function.vreg_ids() {
                assert_eq!(
                    set.is_live_in(block, vreg),
                    is_in(&vreg),
                    "{representation:?} {block:?} {vreg:?}"
                );
                assert_eq!(
                    set.is_live_out(block, vreg),
                    is_out(&vreg),
                    "{representation:?} {block:?} {vreg:?}"
                );
            }
        }
        compare_changes(&function, set);
    }
}

fn sorted(vregs: impl Iterator<Item = VRegId>) -> Vec<VRegId> {
    let mut vregs: Vec<VRegId> = vregs.collect();
    vregs.sort_unstable();
    vregs
}

/// What changes from one block to the next is the difference of their sets.
fn compare_changes(function: &FunctionView<'_>, set: &LiveSet) {
    let mut changes = Changes::default();
    changes.collect(set);
    for block in function.block_ids() {
        let next = BlockId(block.0 + 1);
        let is_in_next = |vreg| next.index() < function.blocks.len() && set.is_live_in(next, vreg);
        let differs = |vreg: &VRegId| set.is_live_in(block, *vreg) != is_in_next(*vreg);
        let wanted: Vec<VRegId> = function.vreg_ids().filter(differs).collect();
        assert_eq!(
            sorted(changes.after(block).iter().copied()),
            wanted,
            "{:?} after {block:?}",
            set.representation()
        );
    }
}

#[test]
fn both_roads_find_what_a_search_finds() {
    let (mut scratch, mut sets) = (LivenessScratch::default(), Default::default());
    for seed in 0..150 {
        compare(&random(seed, Style::Wild, 1 + seed as usize % 23), &mut scratch, &mut sets);
    }
}

/// Several groups of 64 blocks: the walks take a whole group at once where nothing in it names the register.
#[test]
fn whole_groups_of_blocks_are_live() {
    let (mut scratch, mut sets) = (LivenessScratch::default(), Default::default());
    for seed in 0..24 {
        compare(&random(seed, Style::Calm, 190 + seed as usize * 5), &mut scratch, &mut sets);
    }
}

/// One register through two groups, of which the first has an unreachable block and an entry from a later block.
#[test]
fn a_group_that_is_entered_in_the_middle_is_live_at_its_entries() {
    let mut body = String::from("mov.u32 %r1, 7; @%p1 bra B70; bra B1;\n");
    for block in 0..200 {
        let statement = match block {
            // Nothing falls into block 31 or branches to it.
            30 => "bra B32;",
            // From the second group back into the first.
            100 => "@%p2 bra B40;",
            150 => "mov.u32 %r2, %r1;",
            190 => "st.global.u32 [g], %r2;",
            _ => "",
        };
        body.push_str(&format!("B{block}: {statement}\n"));
    }
    compare(&Built::kernel(&body), &mut LivenessScratch::default(), &mut Default::default());
}

/// The way over blocks 76 to 78 leaves the function: the register is dead there, though it lives through the rest of the group.
#[test]
fn a_group_with_a_way_out_is_not_live_as_a_whole() {
    let mut body = String::from("mov.u32 %r1, 7; bra B0;\n");
    for block in 0..210 {
        let statement = match block {
            75 => "@%p2 bra B79;",
            78 => "ret;",
            209 => "st.global.u32 [g], %r1;",
            _ => "",
        };
        body.push_str(&format!("B{block}: {statement}\n"));
    }
    let built = Built::kernel(&body);
    compare(&built, &mut LivenessScratch::default(), &mut Default::default());
    let mut set = LiveSet::default();
    solve_on(
        Representation::Walks,
        &built.function(),
        &built.forms,
        &mut LivenessScratch::default(),
        &mut set,
    );
    let live = ["B75", "B76", "B78", "B79"].map(|name| set.is_live_in(built.block(name), built.vreg("%r1")));
    assert_eq!(live, [true, false, false, true]);
}

#[test]
fn guarded_and_partial_writes_end_no_life() {
    let built = Built::kernel(
        ".reg .v2 .b32 %v<2>; mov.u32 %r1, 1; mov.u32 %r2, 1; bra B1; \
         B1: @%p1 mov.u32 %r1, 2; mov.b32 %v1.x, %r2; mov.u32 %r2, 3; bra B2; \
         B2: st.global.u32 [g], %r1; mov.b32 %r4, %v1.y; st.global.u32 [g], %r2; st.global.u32 [g], %r4;",
    );
    let (set, block) = (built.live_set(), built.block("B1"));
    let live = |name| set.is_live_in(block, built.vreg(name));
    assert_eq!(["%r1", "%v1", "%p1", "%r2"].map(live), [true; 4]);
    assert!(!live("%r4"));
    assert_eq!(
        ["%r1", "%v1", "%r2"].map(|name| set.is_live_in(built.block("B2"), built.vreg(name))),
        [true; 3]
    );
}
