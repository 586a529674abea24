//! Sites: the blocks where the value of a register can change, found without a walk over the blocks between.
//!
//! A site of a register is a block that defines it, or a block where definitions meet: one of the iterated dominance
//! frontier of those (the blocks that would hold a phi). Everywhere else the value at the start of a block is the
//! value at the end of its immediate dominator, so the value at the end of a block is that of the innermost site that
//! dominates it. This is SSA form without its names, made for one register when a use first asks.
//!
//! Paper: Cytron et al. 1991, sections 4 and 5.

use super::definitions::Definition;
use crate::graph::dominator_tree::{DominatorTree, Interval};
use crate::graph::iterated_frontier::{IteratedFrontier, steps_max};
use crate::graph::way::{Node, OUTSIDE, Way};
use crate::store::view::FunctionView;
use ptxopt_components::ids::{BlockId, Id, Span, VRegId};

/// A block where the value of a register can change.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// The block.
    pub block: BlockId,
    /// Its places in the dominator tree.
    interval: Interval,
    /// Definitions meet at its start.
    pub is_join: bool,
    /// The block defines the register.
    pub defines: bool,
    /// The values that meet here were asked for.
    pub is_demanded: bool,
}

/// Sites that a function may have, and those for each of its rows. Each loop of a nest has a site of each register that the
/// loops inside it change: where they change one each, there are half as many as the square of the depth. Real code has less
/// than one site a row.
const SITES_LEAST: usize = 1 << 12;
const SITES_PER_ROW_MAX: usize = 16;

/// The sites of the registers that were asked about.
#[derive(Default)]
pub struct Sites {
    /// By register: its sites, by place in the dominator tree; no entry before it is asked about. Empty before any is, which
    /// is so for whole functions where each register has one definition.
    of_vreg: Vec<Span>,
    vreg_count: usize,
    all: Vec<Site>,
    /// From each site, whose node is one more than its number, over those of the register that are around it.
    around: Way,
    /// Where there are as many, no other register gets sites.
    most: usize,
    /// Where none is left, no other register gets sites.
    steps_left: usize,
    /// Some register has none because of that, and nothing has asked yet.
    is_cut_short: bool,
    frontier: IteratedFrontier,
    incoming: Incoming,
    /// By site of one register: the predecessors of a join around which it is the innermost site.
    pred_counts: Vec<u32>,
    /// By block: one more than the register whose site it is, and the number of the site.
    noted: Vec<(u32, u32)>,
    /// Blocks that define the register.
    defining: Vec<BlockId>,
    open: Vec<u32>,
}

impl Sites {
    /// Lists no frontiers from now on, however small: what compares the two ways.
    pub fn walk_always(&mut self) {
        self.frontier.walk_always();
    }

    /// Forgets the sites of the function before.
    pub fn start(&mut self, function: &FunctionView<'_>) {
        self.of_vreg.clear();
        self.vreg_count = function.vregs.len();
        self.all.clear();
        self.around.clear();
        self.most = SITES_LEAST + SITES_PER_ROW_MAX * function.heads.len();
        self.steps_left = steps_max(function);
        self.is_cut_short = false;
        self.frontier.start();
        self.noted.clear();
        self.incoming.start();
    }

    /// Whether a register has been left without sites since this was asked last, because there were too many.
    pub fn take_cut_short(&mut self) -> bool {
        std::mem::take(&mut self.is_cut_short)
    }

    /// Makes the sites of `vreg`, unless it has been asked about before. Says whether it has them: it has none where the
    /// registers before it have too many or were searched too long, and its values may meet at the start of any block then.
    #[must_use]
    pub fn make(
        &mut self,
        function: &FunctionView<'_>,
        tree: &DominatorTree,
        vreg: VRegId,
        definitions: &[Definition],
    ) -> bool {
        if self.of_vreg.is_empty() {
            self.of_vreg.resize(self.vreg_count, Span::default());
        }
        if !self.of_vreg[vreg.index()].is_empty() || definitions.is_empty() {
            return true;
        }
        if self.all.len() >= self.most || self.steps_left == 0 {
            self.is_cut_short = true;
            return false;
        }
        if self.noted.is_empty() {
            self.noted.resize(function.blocks.len(), (0, 0));
        }
        let first = self.all.len();
        let Self { all, noted, defining, frontier, .. } = self;
        defining.clear();
        for definition in definitions {
            let block = function.heads[definition.inst().index()].block;
            if tree.is_reachable(block) {
                note(all, noted, vreg, tree, block).defines = true;
                defining.push(block);
            }
        }
        let steps = frontier.find(function, tree, defining.iter().copied(), |join| {
            note(all, noted, vreg, tree, join).is_join = true;
            true
        });
        self.steps_left = self.steps_left.saturating_sub(steps);
        self.nest(first);
        self.of_vreg[vreg.index()] = Span::between(first, self.all.len());
        true
    }

    /// Sorts the sites from `first` on and links each to the innermost around it.
    fn nest(&mut self, first: usize) {
        let sites = &mut self.all[first..];
        sites.sort_unstable_by_key(|site| site.interval.first);
        self.open.clear();
        for at in 0..sites.len() {
            while let Some(&outer) = self.open.last()
                && !sites[outer as usize].interval.contains(sites[at].interval)
            {
                self.open.pop();
            }
            self.around.push(self.open.last().map_or(OUTSIDE, |&outer| node_at(first + outer as usize)));
            self.open.push(at as u32);
        }
    }

    /// Number of the innermost site of `vreg` that dominates `block`, `block` itself included.
    pub fn innermost(&self, tree: &DominatorTree, vreg: VRegId, block: BlockId) -> Option<usize> {
        let span = self.of_vreg[vreg.index()];
        let sites = &self.all[span.range()];
        let place = tree.interval(block);
        let at = sites.partition_point(|site| site.interval.first <= place.first).checked_sub(1)?;
        let at = span.first as usize + at;
        if self.all[at].interval.contains(place) {
            return Some(at);
        }
        let is_beside =
            |node: Node| site_at(node).is_some_and(|site| !self.all[site].interval.contains(place));
        site_at(self.around.up(self.around.last(node_at(at), is_beside)))
    }

    /// Number of sites of `vreg`.
    pub fn count(&self, vreg: VRegId) -> usize {
        self.of_vreg[vreg.index()].len()
    }

    /// Calls `found` with the block of each site of `vreg` that is the innermost around some predecessor of `join`.
    ///
    /// A loop around a switch has a predecessor for each case and carries many registers, most of which few cases
    /// change: this looks at the sites of the register, where asking for each predecessor would be quadratic.
    pub fn around_preds(
        &mut self,
        function: &FunctionView<'_>,
        tree: &DominatorTree,
        vreg: VRegId,
        join: BlockId,
        mut found: impl FnMut(BlockId),
    ) {
        let places = self.incoming.places(function, tree, join);
        let span = self.of_vreg[vreg.index()].range();
        let sites = &self.all[span.clone()];
        self.pred_counts.clear();
        // A site comes before those inside it, whose predecessors are not its own.
        for (number, site) in span.clone().zip(sites) {
            let before = |end: u32| places.partition_point(|&place| place < end) as u32;
            let count = before(site.interval.end) - before(site.interval.first);
            self.pred_counts.push(count);
            if let Some(outer) = site_at(self.around.up(node_at(number))) {
                self.pred_counts[outer - span.start] -= count;
            }
        }
        let is_innermost = sites.iter().zip(&self.pred_counts).filter(|&(_, &count)| count > 0);
        is_innermost.for_each(|(site, _)| found(site.block));
    }

    /// Site number `site`.
    pub fn get(&self, site: usize) -> &Site {
        &self.all[site]
    }

    /// Notes that the values which meet at a site are asked for; says whether they were not before.
    pub fn demand(&mut self, site: usize) -> bool {
        !std::mem::replace(&mut self.all[site].is_demanded, true)
    }
}

/// The node of the ways that stands for a site.
fn node_at(site: usize) -> Node {
    site as Node + 1
}

/// The site for which a node stands.
fn site_at(node: Node) -> Option<usize> {
    node.checked_sub(1).map(|site| site as usize)
}

/// The new site of `vreg` at `block`, added if there was none.
fn note<'a>(
    all: &'a mut Vec<Site>,
    noted: &mut [(u32, u32)],
    vreg: VRegId,
    tree: &DominatorTree,
    block: BlockId,
) -> &'a mut Site {
    let noted = &mut noted[block.index()];
    if noted.0 != vreg.0 + 1 {
        *noted = (vreg.0 + 1, all.len() as u32);
        let interval = tree.interval(block);
        all.push(Site { block, interval, is_join: false, defines: false, is_demanded: false });
    }
    &mut all[noted.1 as usize]
}

/// The predecessors of joins as sorted places in the dominator tree, listed for a join when first asked for.
#[derive(Default)]
struct Incoming {
    /// By block: its places; no entry before it is asked about.
    of_block: Vec<Span>,
    places: Vec<u32>,
}

impl Incoming {
    /// Forgets the joins of the function before.
    fn start(&mut self) {
        self.of_block.clear();
        self.places.clear();
    }

    /// The places of the reachable predecessors of `join`.
    fn places(&mut self, function: &FunctionView<'_>, tree: &DominatorTree, join: BlockId) -> &[u32] {
        let Self { of_block, places } = self;
        if of_block.is_empty() {
            of_block.resize(function.blocks.len(), Span::default());
        }
        let span = &mut of_block[join.index()];
        if span.is_empty() {
            let first = places.len();
            let preds = function.preds(join).iter().filter(|&&pred| tree.is_reachable(pred));
            places.extend(preds.map(|&pred| tree.interval(pred).first));
            places[first..].sort_unstable();
            *span = Span::between(first, places.len());
        }
        &places[span.range()]
    }
}
