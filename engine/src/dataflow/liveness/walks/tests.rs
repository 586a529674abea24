//! The parts of the walks against their definitions. Whole sets are compared in `dataflow::tests::liveness`.

use super::groups::Groups;
use super::tree::{GROUP, Tree, group_of};
use super::*;
use crate::dataflow::liveness::{Representation, Side, solve_by_walks, solve_on};
use crate::dataflow::tests::{Built, Random, Style, chain, random};

/// Numbers of blocks with which levels have one node, an odd number of them, or a last one that is not full.
const BLOCK_COUNTS: [usize; 8] = [1, 64, 65, 192, 640, 1000, 4096, 4097];

#[test]
fn a_node_stands_for_the_groups_that_name_it() {
    for block_count in BLOCK_COUNTS {
        let mut tree = Tree::default();
        tree.reset(block_count);
        assert_eq!(tree.group_count(), block_count.div_ceil(GROUP));
        assert_eq!(tree.nodes(tree.level_count() - 1).len(), 1, "one root");
        for group in 0..tree.group_count() {
            for (level, node) in tree.nodes_of(group).enumerate() {
                assert!(tree.nodes(level).contains(&node));
                let naming = |other: &usize| tree.node(level, *other) == node;
                let groups: Vec<usize> = (0..tree.group_count()).filter(naming).collect();
                assert_eq!(tree.groups(level, group).collect::<Vec<_>>(), groups, "{block_count}: {level}");
            }
        }
        let all = tree.groups(tree.level_count() - 1, 0);
        assert_eq!(tree.last_block(&all).index(), block_count - 1);
    }
}

#[test]
fn groups_are_covered_once_by_two_nodes_a_level() {
    let mut random = Random::new(1);
    for block_count in BLOCK_COUNTS {
        let mut tree = Tree::default();
        tree.reset(block_count);
        for _ in 0..50 {
            let mut ends = [0; 2].map(|_| random.below(tree.group_count() + 1));
            ends.sort_unstable();
            let mut nodes = Vec::new();
            tree.cover(ends[0]..ends[1], |node| nodes.push(node));
            assert!(nodes.len() <= 2 * tree.level_count());
            for group in 0..tree.group_count() {
                let count = tree.nodes_of(group).filter(|node| nodes.contains(node)).count();
                assert_eq!(count, usize::from((ends[0]..ends[1]).contains(&group)), "{ends:?} {group}");
            }
        }
    }
}

/// Whether each reachable block of `groups` reaches their last one without leaving them.
fn is_closed(function: &FunctionView<'_>, groups: Range<usize>) -> bool {
    let blocks = groups.start * GROUP..(groups.end * GROUP).min(function.blocks.len());
    let last = BlockId::new(blocks.end - 1);
    let mut is_reaching = vec![false; function.blocks.len()];
    is_reaching[last.index()] = true;
    let mut waiting = vec![last];
    while let Some(block) = waiting.pop() {
        for &pred in function.preds(block) {
            if blocks.contains(&pred.index()) && !std::mem::replace(&mut is_reaching[pred.index()], true) {
                waiting.push(pred);
            }
        }
    }
    is_reachable(function, last)
        && blocks.clone().all(|at| is_reaching[at] || !is_reachable(function, BlockId::new(at)))
}

/// Nodes that are taken as a whole are closed, and their entries are all there are. Groups are found exactly.
#[test]
fn closed_nodes_are_closed() {
    let mut noticed = 0;
    for seed in 0..40 {
        let block_count = 130 + seed as usize * 20;
        let built =
            if seed % 2 == 0 { chain(seed, block_count) } else { random(seed, Style::Calm, block_count) };
        let (function, mut groups) = (built.function(), Groups::default());
        groups.compute(&function);
        let counts = vec![0; groups.tree.node_count()];
        for level in 0..groups.tree.level_count() {
            for number in 0..groups.tree.nodes(level).len() {
                let range = groups.tree.groups(level, number << level);
                let last = groups.tree.last_block(&range);
                let is_taken = groups.largest_ending_with(last, &counts).is_some_and(|found| found >= level);
                let closed = is_closed(&function, range.clone());
                assert!(closed || !is_taken, "seed {seed} {range:?}");
                assert!(level > 0 || closed == is_taken, "seed {seed} {range:?}");
                if !is_taken {
                    continue;
                }
                noticed += usize::from(level > 0);
                let is_outside =
                    |pred: &BlockId| !range.contains(&group_of(*pred)) && is_reachable(&function, *pred);
                let inside = function
                    .block_ids()
                    .filter(|&block| range.contains(&group_of(block)) && is_reachable(&function, block));
                let mut wanted: Vec<BlockId> = inside
                    .flat_map(|block| function.preds(block).iter().copied().filter(is_outside))
                    .collect();
                let mut entries = groups.entries(groups.tree.node(level, range.start)).to_vec();
                entries.sort_unstable();
                wanted.sort_unstable();
                assert_eq!(entries, wanted, "seed {seed} {range:?}");
            }
        }
    }
    assert!(noticed > 20, "of several groups: {noticed}");
}

/// A definition anywhere in a node keeps it from being taken as a whole.
#[test]
fn no_node_with_a_definition_is_taken() {
    let built = Built::kernel(&(0..600).map(|at| format!("B{at}:\n")).collect::<String>());
    let (function, mut groups) = (built.function(), Groups::default());
    groups.compute(&function);
    let last = BlockId::new(8 * GROUP - 1);
    let mut counts = vec![0; groups.tree.node_count()];
    assert_eq!(groups.largest_ending_with(last, &counts), Some(3));
    for (group, level) in [(0, Some(2)), (4, Some(1)), (6, Some(0)), (7, None), (8, Some(3))] {
        counts.fill(0);
        groups.tree.nodes_of(group).for_each(|node| counts[node] = 1);
        assert_eq!(groups.largest_ending_with(last, &counts), level, "group {group}");
    }
    assert_eq!(groups.largest_ending_with(BlockId::new(8 * GROUP - 2), &counts), None);
}

/// What lives through a long function costs the logarithm of its blocks, in the walk and in the lists by node.
#[test]
fn long_lives_cost_little() {
    let blocks: String = (0..4000).map(|at| format!("B{at}: @%p1 bra B{};\n", at + 1)).collect();
    let built = Built::kernel(&format!("mov.u32 %r1, 7;\n{blocks}B4000: st.global.u32 [g], %r1;"));
    let function = built.function();
    let (mut scratch, mut set) = (LivenessScratch::default(), LiveSet::default());
    solve_on(Representation::Walks, &function, &built.forms, &mut scratch, &mut set);
    let (mut runs, mut listed) = (Vec::new(), 0);
    set.each_run(Side::In, |run, vreg| runs.extend((vreg == built.vreg("%r1")).then_some(run)));
    assert_eq!(runs, vec![built.block("B0").0..built.block("B4000").0 + 1]);
    let bit = set.bit_of(built.vreg("%r1")).expect("it lives long");
    let tree = scratch.walks.groups.tree.clone();
    for node in 0..tree.node_count() {
        listed += set.live_in.ranges.listed(node).filter(|&found| found == bit).count();
    }
    assert!((2..=2 * tree.level_count()).contains(&listed), "{listed} lists");
    let WalkScratch { groups, places, walk, .. } = &mut scratch.walks;
    walk.run(&function, groups, places, bit);
    assert!(walk.touched.len() <= 3 && walk.taken.len() <= 2 * tree.level_count(), "{:?}", walk.taken);
}

/// Each of many states that come back to one dispatching block changes a register of its own, and all live through all of them: no
/// group is closed, single walks stop at their limit, and bundles say the same as a row of bits a block.
#[test]
fn registers_of_many_states_are_taken_together() {
    const STATES: usize = 200;
    let targets: Vec<String> = (0..STATES).map(|state| format!("S{state}")).collect();
    let each = |text: fn(usize) -> String| (0..STATES).map(text).collect::<String>();
    let built = Built::of_module(format!(
        ".version 8.6\n.target sm_90\n.global .u32 g;\n.entry k() {{ .reg .b32 %r<{STATES}>; .reg .b32 %i;\n\
         T: .branchtargets {}, END;\n{}\nD: ld.global.u32 %i, [g];\nbrx.idx %i, T;\n{}END:\n{}\nret; }}\n",
        targets.join(", "),
        each(|state| format!("mov.u32 %r{state}, 7;\n")),
        each(|state| format!("S{state}: add.u32 %r{state}, %r{state}, 1; bra D;\n")),
        each(|state| format!("st.global.u32 [g], %r{state};\n")),
    ));
    let function = built.function();
    let (mut scratch, mut set, mut dense) =
        (LivenessScratch::default(), LiveSet::default(), LiveSet::default());
    let limit = steps_max(function.blocks.len(), STATES);
    solve_by_walks(&function, &built.forms, &mut scratch, &mut set, limit);
    assert!((limit..limit + 2 * function.blocks.len()).contains(&scratch.walks.walk.steps));
    solve_on(Representation::Dense, &function, &built.forms, &mut scratch, &mut dense);
    for block in function.block_ids() {
        let [walked, wanted] = [&set, &dense].map(|set| {
            let mut vregs: Vec<_> = set.live_in_vregs(block).chain(set.live_out_vregs(block)).collect();
            vregs.sort_unstable();
            vregs
        });
        assert_eq!(walked, wanted, "{block:?}");
    }
    assert_eq!(dense.live_in_vregs(built.block("D")).count(), STATES);
}
