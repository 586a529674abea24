//! Random flow graphs, and what they must come out as by the definitions.
//!
//! Oracles: dominators and post-dominators by the documents' bit-vector fixpoint; ranks by a recursive search; loops and
//! reachability by their definitions.

use super::analyze::{AnalysisScratch, annotate};
use super::edges::{Edges, Graph};
use super::nest::{LoopNest, NestScratch, build_nest};
use super::post_dominators::{PostDominatorScratch, PostDominators, find_post_dominators};
use ptxopt_components::block::{BlockFlags, BlockHead, BlockOrder};
use ptxopt_components::ids::{BlockId, Id, LoopId};
use std::collections::BTreeSet;

/// Splitmix64: small, and the same everywhere.
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// A graph, and which of its blocks leave the function.
pub struct Sample {
    pub succs: Vec<Vec<usize>>,
    pub leaves: Vec<bool>,
    edges: Edges,
}

impl Sample {
    /// The graph with these successor lists; blocks without successors leave, and those that `also` says.
    pub fn new(succs: Vec<Vec<usize>>, also: impl Fn(usize) -> bool) -> Self {
        let count = succs.len();
        let leaves = (0..count).map(|block| succs[block].is_empty() || also(block)).collect();
        Self { edges: Edges::from_succs(&succs), succs, leaves }
    }

    /// A random graph of `count` blocks. Block 0 is never a target.
    pub fn random(count: usize, random: &mut Random) -> Self {
        let mut succs = vec![Vec::new(); count];
        let shape = random.below(5);
        for (block, succs) in succs.iter_mut().enumerate() {
            // Mostly down and near, as code is; or anywhere.
            let reach = [3, 8, 40, count, count][shape];
            let degree = match random.below(16) {
                0 => 0,
                1..7 => 1,
                7..14 => 2,
                _ => random.below(7),
            };
            for edge in 0..degree {
                if count == 1 {
                    break;
                }
                let forward = block + 1 + random.below(reach.max(1));
                let backward = block.saturating_sub(random.below(reach.max(1)));
                let target = match (shape, edge) {
                    (4, _) => random.below(count),
                    (_, 0) if !random.once_in(8) => block + 1,
                    _ if random.once_in(4) => backward,
                    _ => forward,
                };
                succs.push(1 + (target.max(1) - 1) % (count - 1));
            }
            if random.once_in(20)
                && let Some(&last) = succs.last()
            {
                succs.push(last);
            }
        }
        // Now and then no block leaves: every way ends in an infinite loop.
        if random.once_in(6) && count > 1 {
            for (block, succs) in succs.iter_mut().enumerate() {
                if succs.is_empty() {
                    succs.push(block.max(1));
                }
            }
        }
        let leaving = random.below(count);
        let also = random.once_in(3);
        Self::new(succs, |block| also && block == leaving)
    }

    pub fn graph(&self) -> Graph<'_> {
        self.edges.graph()
    }
}

/// A size from 1 to 2,000: most graphs are small, so that twenty thousand take seconds.
pub fn size(number: usize, random: &mut Random) -> usize {
    1 + match number {
        _ if number.is_multiple_of(100) => random.below(2000),
        _ if number.is_multiple_of(20) => random.below(200),
        _ => random.below(24),
    }
}

/// What the analysis says of a sample.
#[derive(Default)]
pub struct Analyzed {
    pub heads: Vec<BlockHead>,
    pub orders: Vec<BlockOrder>,
    pub violates: bool,
    pub nest: LoopNest,
    pub tree: PostDominators,
}

/// Memory of all analyses.
#[derive(Default)]
pub struct Tools {
    analysis: AnalysisScratch,
    nest: NestScratch,
    post: PostDominatorScratch,
}

impl Tools {
    pub fn analyze(&mut self, sample: &Sample, out: &mut Analyzed) {
        out.heads.clear();
        out.heads.resize(sample.succs.len(), BlockHead::default());
        out.orders.clear();
        out.orders.resize(sample.succs.len(), BlockOrder::default());
        let graph = sample.graph();
        out.violates = annotate(graph, &mut out.heads, &mut out.orders, &mut self.analysis);
        build_nest(graph, &out.heads, &out.orders, &mut self.nest, &mut out.nest);
        let leaves = |block: BlockId| sample.leaves[block.index()];
        find_post_dominators(graph, &out.orders, leaves, &mut self.post, &mut out.tree);
    }
}

/// Sets of blocks as rows of words.
struct Sets {
    words: usize,
    bits: Vec<u64>,
}

impl Sets {
    fn full(count: usize) -> Self {
        let words = count.div_ceil(64);
        Self { words, bits: vec![u64::MAX; words * count] }
    }

    fn row(&self, row: usize) -> &[u64] {
        &self.bits[row * self.words..][..self.words]
    }

    fn has(&self, row: usize, bit: usize) -> bool {
        self.row(row)[bit / 64] >> (bit % 64) & 1 == 1
    }

    fn count(&self, row: usize) -> u32 {
        self.row(row).iter().map(|word| word.count_ones()).sum()
    }
}

/// The documents' fixpoint: by node, the nodes that dominate it. `order` starts with the root and holds all that is
/// reachable from it.
fn dominator_sets(preds: &[Vec<usize>], order: &[usize]) -> Sets {
    let mut sets = Sets::full(preds.len());
    let mut is_reachable = vec![false; preds.len()];
    order.iter().for_each(|&node| is_reachable[node] = true);
    let mut new = vec![0; sets.words];
    let root = order[0];
    let mut changed = true;
    let mut is_first = true;
    while changed {
        changed = false;
        for &node in order {
            new.fill(if node == root { 0 } else { u64::MAX });
            for &pred in preds[node].iter().filter(|&&pred| node != root && is_reachable[pred]) {
                new.iter_mut().zip(sets.row(pred)).for_each(|(new, of_pred)| *new &= of_pred);
            }
            new[node / 64] |= 1 << (node % 64);
            changed |= is_first || sets.row(node) != new;
            sets.bits[node * sets.words..][..sets.words].copy_from_slice(&new);
        }
        is_first = false;
    }
    sets
}

/// The strict dominator with the most dominators: they all lie on one path.
fn nearest(sets: &Sets, order: &[usize], node: usize) -> Option<usize> {
    let strict = order.iter().copied().filter(|&other| other != node && sets.has(node, other));
    strict.max_by_key(|&other| sets.count(other))
}

/// Postorder by recursion.
fn postorder(next: &[Vec<usize>], node: usize, seen: &mut [bool], out: &mut Vec<usize>) {
    seen[node] = true;
    for &other in &next[node] {
        if !seen[other] {
            postorder(next, other, seen, out);
        }
    }
    out.push(node);
}

fn reverse_postorder(next: &[Vec<usize>], root: usize) -> Vec<usize> {
    let mut out = Vec::new();
    postorder(next, root, &mut vec![false; next.len()], &mut out);
    out.reverse();
    out
}

fn inverse(succs: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut preds = vec![Vec::new(); succs.len()];
    for (node, succs) in succs.iter().enumerate() {
        succs.iter().for_each(|&succ| preds[succ].push(node));
    }
    preds
}

/// Pairs to compare: all of a small graph, some of a large one.
fn pairs(count: usize, random: &mut Random) -> Vec<(usize, usize)> {
    if count <= 24 {
        (0..count * count).map(|pair| (pair / count, pair % count)).collect()
    } else {
        (0..300).map(|_| (random.below(count), random.below(count))).collect()
    }
}

fn check_dominators(sample: &Sample, found: &Analyzed, random: &mut Random) {
    let order = reverse_postorder(&sample.succs, 0);
    for block in 0..sample.succs.len() {
        let rank = order.iter().position(|&other| other == block);
        assert_eq!(
            rank,
            Some(found.orders[block].rpo as usize).filter(|_| rank.is_some()),
            "rank of {block}"
        );
        assert_eq!(found.orders[block].is_reachable(), rank.is_some());
    }
    let sets = dominator_sets(&inverse(&sample.succs), &order);
    for &block in &order {
        let wanted = nearest(&sets, &order, block).map(BlockId::new);
        assert_eq!(found.orders[block].idom.get(), wanted, "of {block}");
    }
    for (a, b) in pairs(sample.succs.len(), random) {
        let (row, other) = (&found.orders[a], &found.orders[b]);
        let wanted = row.is_reachable() && other.is_reachable() && sets.has(b, a);
        assert_eq!(row.dominates(other), wanted, "{a} and {b}");
    }
}

fn check_post_dominators(sample: &Sample, found: &Analyzed, random: &mut Random) {
    let count = sample.succs.len();
    let reachable: Vec<bool> = found.orders.iter().map(BlockOrder::is_reachable).collect();
    let preds = inverse(&sample.succs);
    // What reaches a block that leaves.
    let mut gets_out = vec![false; count];
    let mut waiting: Vec<usize> =
        (0..count).filter(|&block| sample.leaves[block] && reachable[block]).collect();
    while let Some(block) = waiting.pop() {
        if !std::mem::replace(&mut gets_out[block], true) {
            waiting.extend(preds[block].iter().filter(|&&pred| reachable[pred]));
        }
    }
    let rank = |block: usize| found.orders[block].rpo;
    let is_connected = |block: usize| {
        reachable[block]
            && !gets_out[block]
            && sample.succs[block].iter().any(|&succ| rank(succ) <= rank(block))
    };
    // The graph turned round, with the virtual exit as node `count`.
    let mut ways_in = vec![Vec::new(); count + 1];
    for block in (0..count).filter(|&block| reachable[block]) {
        ways_in[block].extend(preds[block].iter().copied().filter(|&pred| reachable[pred]));
        if sample.leaves[block] || is_connected(block) {
            ways_in[count].push(block);
        }
    }
    let connected: BTreeSet<usize> = (0..count).filter(|&block| is_connected(block)).collect();
    assert_eq!(found.tree.connected.iter().map(|block| block.index()).collect::<BTreeSet<_>>(), connected);
    let order = reverse_postorder(&ways_in, count);
    assert_eq!(order.len(), 1 + reachable.iter().filter(|&&reachable| reachable).count());
    let sets = dominator_sets(&inverse(&ways_in), &order);
    for &block in &order[1..] {
        let wanted = nearest(&sets, &order, block).filter(|&node| node != count).map(BlockId::new);
        assert_eq!(found.tree.ipdom(BlockId::new(block)), wanted, "of {block}");
    }
    for (a, b) in pairs(count, random) {
        let wanted = reachable[a] && reachable[b] && sets.has(b, a);
        let (block, other) = (BlockId::new(a), BlockId::new(b));
        assert_eq!(found.tree.post_dominates(block, other), wanted, "{a} and {b}");
        if reachable[a] && reachable[b] {
            let common = order.iter().copied().filter(|&node| sets.has(a, node) && sets.has(b, node));
            let wanted = common.max_by_key(|&node| sets.count(node)).filter(|&node| node != count);
            assert_eq!(found.tree.nearest_common(block, other), wanted.map(BlockId::new));
        }
    }
}

/// Blocks that reach `target` without passing `header`.
fn reaching(
    preds: &[Vec<usize>],
    reachable: &[bool],
    target: usize,
    header: usize,
    body: &mut BTreeSet<usize>,
) {
    let mut waiting = vec![target];
    while let Some(block) = waiting.pop() {
        if block != header && reachable[block] && body.insert(block) {
            waiting.extend(&preds[block]);
        }
    }
}

fn check_loops(sample: &Sample, found: &Analyzed) {
    let count = sample.succs.len();
    let (preds, orders) = (inverse(&sample.succs), &found.orders);
    let reachable: Vec<bool> = orders.iter().map(BlockOrder::is_reachable).collect();
    let mut bodies: Vec<(usize, BTreeSet<usize>)> = Vec::new();
    let mut violates = false;
    for header in 0..count {
        let mut body = BTreeSet::from([header]);
        let mut latches = BTreeSet::new();
        let mut is_irreducible = false;
        for &pred in preds[header].iter().filter(|&&pred| reachable[pred]) {
            if orders[header].dominates(&orders[pred]) {
                latches.insert(pred);
                reaching(&preds, &reachable, pred, header, &mut body);
            } else {
                is_irreducible |= orders[pred].rpo >= orders[header].rpo;
            }
        }
        let flags = found.heads[header].flags;
        assert_eq!(flags.contains(BlockFlags::IRREDUCIBLE), is_irreducible && reachable[header]);
        assert_eq!(flags.contains(BlockFlags::LOOP_HEADER), !latches.is_empty());
        if latches.is_empty() {
            continue;
        }
        let id = found.nest.ids().find(|&id| found.nest.row(id).header.index() == header).expect("a loop");
        let ranked = |blocks: &BTreeSet<usize>| {
            let mut blocks: Vec<usize> = blocks.iter().copied().collect();
            blocks.sort_by_key(|&block| orders[block].rpo);
            blocks.into_iter().map(BlockId::new).collect::<Vec<_>>()
        };
        assert_eq!(found.nest.latches(id), ranked(&latches));
        let of_nest: BTreeSet<usize> = found.nest.blocks(id).iter().map(|block| block.index()).collect();
        assert_eq!((of_nest.len(), &of_nest), (found.nest.blocks(id).len(), &body));
        assert_eq!(found.nest.blocks(id)[0].index(), header);
        let mut exits: Vec<_> = found.nest.exits(id).map(|(a, b)| (a.index(), b.index())).collect();
        let edges = body.iter().flat_map(|&block| sample.succs[block].iter().map(move |&succ| (block, succ)));
        let mut wanted: Vec<_> = edges.filter(|(_, succ)| !body.contains(succ)).collect();
        exits.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(exits, wanted);
        let outside: Vec<usize> =
            preds[header].iter().copied().filter(|pred| reachable[*pred] && !body.contains(pred)).collect();
        let preheader = match outside[..] {
            [only] if sample.succs[only].len() == 1 => Some(BlockId::new(only)),
            _ => None,
        };
        assert_eq!(found.nest.row(id).preheader.get(), preheader);
        let last = body.iter().map(|&block| orders[block].rpo).max().unwrap();
        assert_eq!(orders[header].exit_rpo, last);
        assert_eq!(orders[header].latch_rpo, latches.iter().map(|&latch| orders[latch].rpo).max().unwrap());
        violates |= (last - orders[header].rpo + 1) as usize != body.len();
        bodies.push((header, body));
    }
    assert_eq!(found.violates, violates);
    assert_eq!(found.nest.rows().len(), bodies.len());
    check_nesting(count, &bodies, found);
}

fn check_nesting(count: usize, bodies: &[(usize, BTreeSet<usize>)], found: &Analyzed) {
    let header_of = |id: LoopId| found.nest.row(id).header.index();
    for block in 0..count {
        let around = || bodies.iter().filter(|(_, body)| body.contains(&block));
        let innermost = around().min_by_key(|(_, body)| body.len()).map(|&(header, _)| header);
        assert_eq!(found.orders[block].depth as usize, around().count());
        assert_eq!(found.orders[block].loop_header.get().map(|header| header.index()), innermost);
        assert_eq!(found.nest.loop_of(BlockId::new(block)).map(header_of), innermost);
        assert_eq!(found.heads[block].flags.contains(BlockFlags::IN_LOOP), innermost.is_some());
        for id in found.nest.ids() {
            let holds = around().any(|&(header, _)| header == header_of(id));
            assert_eq!(found.nest.holds(id, BlockId::new(block)), holds);
        }
    }
    for id in found.nest.ids() {
        let row = found.nest.row(id);
        let outer = bodies
            .iter()
            .filter(|(header, body)| *header != row.header.index() && body.contains(&row.header.index()));
        let parent = outer.clone().min_by_key(|(_, body)| body.len()).map(|&(header, _)| header);
        assert_eq!(row.parent.get().map(header_of), parent);
        assert_eq!(row.depth as usize, 1 + outer.count());
        let around = found.orders[row.header.index()].loop_around.get();
        assert_eq!(around.map(|header| header.index()), parent);
    }
}

/// Regions by mutual reachability without natural back edges.
fn check_regions(sample: &Sample, found: &Analyzed) {
    let count = sample.succs.len();
    let orders = &found.orders;
    let reach = |start: usize| {
        let mut seen = BTreeSet::new();
        let mut waiting = vec![start];
        while let Some(block) = waiting.pop() {
            for &succ in &sample.succs[block] {
                if !orders[succ].dominates(&orders[block]) && seen.insert(succ) {
                    waiting.push(succ);
                }
            }
        }
        seen
    };
    let reached: Vec<BTreeSet<usize>> = (0..count).map(reach).collect();
    let mut wanted = BTreeSet::new();
    for block in (0..count).filter(|&block| orders[block].is_reachable()) {
        let region: Vec<usize> =
            reached[block].iter().copied().filter(|other| reached[*other].contains(&block)).collect();
        if region.len() > 1 {
            wanted.insert(region);
        }
    }
    let mut regions = BTreeSet::new();
    for region in found.nest.irreducible_regions() {
        let mut blocks: Vec<usize> = region.iter().map(|block| block.index()).collect();
        blocks.sort_unstable();
        assert!(regions.insert(blocks));
    }
    assert_eq!(regions, wanted);
    let marks = found.heads.iter().filter(|head| head.flags.contains(BlockFlags::IRREDUCIBLE)).count();
    assert_eq!(regions.is_empty(), marks == 0);
}

#[test]
fn twenty_thousand_graphs_come_out_by_the_definitions() {
    let (mut tools, mut found) = (Tools::default(), Analyzed::default());
    let mut random = Random(1);
    let (mut loop_count, mut region_count, mut connected_count, mut unreachable_count) = (0, 0, 0, 0);
    for number in 0..20_000 {
        let count = size(number, &mut random);
        let sample = Sample::random(count, &mut random);
        tools.analyze(&sample, &mut found);
        check_dominators(&sample, &found, &mut random);
        check_post_dominators(&sample, &found, &mut random);
        if count <= 200 {
            check_loops(&sample, &found);
        }
        if count <= 60 {
            check_regions(&sample, &found);
        }
        loop_count += found.nest.rows().len();
        region_count += found.nest.irreducible_regions().count();
        connected_count += found.tree.connected.len();
        unreachable_count += found.orders.iter().filter(|order| !order.is_reachable()).count();
    }
    // The generator makes what the claim is about.
    assert!(loop_count > 20_000 && region_count > 2_000, "{loop_count} loops, {region_count} regions");
    assert!(connected_count > 1_000 && unreachable_count > 20_000, "{connected_count}, {unreachable_count}");
}

#[test]
fn iteration_and_the_fallback_agree_on_every_graph() {
    let mut random = Random(2);
    let mut solver = super::dominators::Solver::default();
    for number in 0..5_000 {
        let sample = Sample::random(size(number, &mut random), &mut random);
        let order = reverse_postorder(&sample.succs, 0);
        let preds = inverse(&sample.succs);
        let rank = |block: &usize| order.iter().position(|other| other == block).map(|rank| rank as u32);
        solver.graph.clear();
        order.iter().for_each(|&block| solver.graph.push(preds[block].iter().filter_map(rank)));
        solver.solve();
        let mut other = vec![super::dominators::NONE; order.len()];
        solver.solve_by_fallback(&mut other);
        assert_eq!(solver.idom, other);
    }
}

/// A nest `depth` loops deep, each with a latch and an exit of its own.
fn deep_nest(depth: usize) -> Sample {
    let mut succs: Vec<Vec<usize>> = (0..=depth).map(|block| vec![block + 1]).collect();
    for level in (1..=depth).rev() {
        let block = succs.len();
        succs.push(vec![level, block + 1]);
    }
    succs.push(Vec::new());
    Sample::new(succs, |_| false)
}

#[test]
fn a_deep_nest_costs_its_blocks() {
    let (mut tools, mut found) = (Tools::default(), Analyzed::default());
    let sample = deep_nest(40_000);
    let start = std::time::Instant::now();
    tools.analyze(&sample, &mut found);
    assert_eq!(found.nest.rows().len(), 40_000);
    assert_eq!(found.orders.iter().map(|order| order.depth).max(), Some(40_000));
    assert_eq!(found.nest.blocks(LoopId(0)).len(), 80_000);
    // Depth times blocks would be 3 * 10^9 steps: many seconds.
    assert!(start.elapsed().as_secs() < 2, "{:?}", start.elapsed());
}
