//! The walk over the nodes of a level, which finds open joins.

use super::super::shape::{Edge, Waits};
use super::super::strategy::EdgeClass;
use super::{Asks, Flow, List, NONE, Plan, Segment, Source, TOO_MANY_LEVELS, WAITS_BESIDE_FLOW, place};
use ptxopt_components::ids::{BlockId, Id, LoopId};

/// The level that is walked over.
pub(super) struct Scan<'a> {
    pub(super) source: &'a Source<'a>,
    /// Its loop.
    pub(super) id: Option<LoopId>,
    pub(super) entry: BlockId,
    pub(super) number: u32,
    /// How many nodes it has: the index of BACK. OUT comes after that.
    pub(super) count: u32,
}

/// What leads from a run of nodes to a join and past it.
struct Gathered {
    edges: List,
    flows: List,
    /// The farthest place.
    far: u32,
    /// Some of it comes from a Flow block, which needs a place to lead to.
    is_held: bool,
}

impl Scan<'_> {
    pub(super) fn is_inner_loop(&self, node: BlockId) -> bool {
        self.source.nest.loop_of(node) != self.id
    }
}

impl Plan {
    /// The place to which an edge of the level leads.
    fn target_place(&mut self, scan: &Scan<'_>, to: BlockId) -> u32 {
        match scan.id {
            Some(_) if to == scan.entry => place(scan.count),
            Some(id) if !scan.source.nest.holds(id, to) => place(scan.count + 1),
            _ => self.place_of(to),
        }
    }

    /// The place of the node that holds a block of the level.
    fn place_of(&mut self, block: BlockId) -> u32 {
        let node = self.node(block);
        place(self.index_of[node.index()])
    }

    /// Goes past a node: what leads out of it is pending from here on.
    pub(super) fn pass(
        &mut self,
        scan: &Scan<'_>,
        index: u32,
        node: BlockId,
        asks: &mut Asks<'_>,
    ) -> Result<(), &'static str> {
        let Source { shape, .. } = *scan.source;
        let is_inner = scan.is_inner_loop(node);
        let (first, end) = if is_inner {
            self.exits_of[node.index()]
        } else {
            let own = shape.edges_of(node);
            (own.start, own.end)
        };
        let mut segment = Segment::at(place(index));
        let mut nearest = NONE;
        for at in first..end {
            let edge = if is_inner { self.exits[at as usize] } else { at };
            self.budget = self.budget.checked_sub(1).ok_or(TOO_MANY_LEVELS)?;
            let Edge { to, .. } = shape.edge(edge);
            let ends = shape.is_ending[to.index()];
            let class = asks.strategy.classify_edge(shape.edge(edge), ends);
            if ends || class == EdgeClass::Skip {
                self.is_whole &= ends;
                continue;
            }
            let target = self.target_place(scan, to);
            if target > place(scan.count) {
                self.exits.push(edge);
            }
            self.next_edge[edge as usize] = NONE;
            segment.edges.append(List { first: edge, last: edge }, |last, next| {
                self.next_edge[last as usize] = next;
            });
            segment.far = segment.far.max(target);
            nearest = nearest.min(target);
        }
        let goes_several_ways = nearest != NONE && nearest != segment.far;
        if is_inner {
            let (leaves, inside) = self.loop_divergent[node.index()];
            segment.branches = u32::from(goes_several_ways);
            segment.has_divergent = leaves && goes_several_ways;
            segment.has_divergent_inside = inside;
            segment.waits = self.loop_waits[node.index()];
        } else if shape.branch_of(node).is_some() {
            segment.branches = 1;
            segment.has_divergent = (asks.is_divergent)(node);
        }
        segment.starts_with_wait = !is_inner && shape.waits[node.index()] == Waits::Always;
        self.level.segments.push(segment);
        Ok(())
    }

    /// Looks at a node before it is passed: finds its nearest dominator, and gives it a Flow block where it is an open join.
    pub(super) fn join(
        &mut self,
        scan: &Scan<'_>,
        index: u32,
        node: BlockId,
        asks: &mut Asks<'_>,
    ) -> Result<(), &'static str> {
        let here = place(index);
        let (first, last) = self.preds(scan, index, node);
        let comes_from_flow = self.level.flow_at[last as usize] != NONE;
        let comes_from_loop = !comes_from_flow && scan.is_inner_loop(self.level.order[last as usize / 2]);
        if first == last && !comes_from_flow && !comes_from_loop {
            self.set_dominator(scan, here, last);
            return Ok(());
        }
        let mut dominator = last;
        while dominator > first {
            dominator = self.level.idoms[dominator as usize];
        }
        self.set_dominator(scan, here, dominator);
        let mut run = self.take_run(dominator);
        if run.far > here {
            let gathered = self.gather(scan, &mut run, dominator, here)?;
            let is_open = gathered.far > here;
            let may_stay = is_open && !gathered.is_held;
            let is_skipped = may_stay && self.is_skipped(scan, &run);
            let waits = is_open && run.waits;
            if waits && gathered.is_held {
                return Err(WAITS_BESIDE_FLOW);
            }
            let is_refused = waits || may_stay && !is_skipped && !asks.strategy.should_split(node);
            self.leaves_waits |= waits;
            self.is_whole &= !is_refused;
            if !is_open || is_skipped || is_refused {
                let (next_edge, flows) = (&mut self.next_edge, &mut self.flows);
                run.edges.append(gathered.edges, |last, next| next_edge[last as usize] = next);
                run.open.append(gathered.flows, |last, next| flows[last as usize].next = next);
                run.far = run.far.max(gathered.far);
            } else {
                if gathered.is_held && !asks.strategy.should_split_child(node) {
                    return Err("the strategy does not let a Flow block be split");
                }
                let flow = self.insert(scan, node, here, dominator, &gathered, run, asks);
                let is_divergent = self.flows[flow as usize].is_divergent;
                run.close();
                self.level.segments.push(run);
                self.level.segments.push(Segment {
                    far: gathered.far,
                    open: List { first: flow, last: flow },
                    branches: 1,
                    has_divergent: is_divergent,
                    ..Segment::at(here - 1)
                });
                return Ok(());
            }
        }
        run.close();
        self.level.segments.push(run);
        Ok(())
    }

    /// The first and the last place from which edges lead to a node.
    fn preds(&mut self, scan: &Scan<'_>, index: u32, node: BlockId) -> (u32, u32) {
        let Source { shape, nest, .. } = *scan.source;
        let (mut first, mut last) = (NONE, 0);
        for &edge in shape.edges_into(node) {
            let Edge { from, .. } = shape.edge(edge);
            let counts = match scan.id {
                Some(id) if index == scan.count => nest.holds(id, from),
                // Edges back to the header of an inner loop lie in that.
                _ => self.node(from) != node,
            };
            if !counts {
                continue;
            }
            let mut at = self.place_of(from);
            if self.first[edge as usize] != NONE {
                let holder = self.holder(self.first[edge as usize]) as usize;
                if self.flows[holder].level == scan.number {
                    at = self.flows[holder].position;
                }
            }
            (first, last) = (first.min(at), last.max(at));
        }
        (first, last)
    }

    /// Takes the segments from `dominator` on, as one.
    fn take_run(&mut self, dominator: u32) -> Segment {
        let mut run = self.level.segments.pop().expect("the entry was passed");
        while run.start > dominator {
            let mut before = self.level.segments.pop().expect("the entry was passed");
            let (next_edge, flows) = (&mut self.next_edge, &mut self.flows);
            before.edges.append(run.edges, |last, next| next_edge[last as usize] = next);
            before.open.append(run.open, |last, next| flows[last as usize].next = next);
            before.far = before.far.max(run.far);
            before.branches += run.branches;
            before.has_divergent |= run.has_divergent;
            before.has_divergent_inside |= run.has_divergent_inside;
            before.waits |= run.may_wait();
            run = before;
        }
        run
    }

    /// Takes out of a run what leads from `dominator` on to `here` and past it. What led to earlier nodes goes.
    fn gather(
        &mut self,
        scan: &Scan<'_>,
        run: &mut Segment,
        dominator: u32,
        here: u32,
    ) -> Result<Gathered, &'static str> {
        let mut gathered = Gathered { edges: List::EMPTY, flows: List::EMPTY, far: 0, is_held: false };
        let (mut edges, mut flows) = (run.edges.first, run.open.first);
        (run.edges, run.open, run.far) = (List::EMPTY, List::EMPTY, 0);
        while edges != NONE {
            self.budget = self.budget.checked_sub(1).ok_or(TOO_MANY_LEVELS)?;
            let edge = edges;
            edges = std::mem::replace(&mut self.next_edge[edge as usize], NONE);
            let Edge { from, to, .. } = scan.source.shape.edge(edge);
            let target = self.target_place(scan, to);
            if target < here {
                continue;
            }
            let (list, far) = if self.place_of(from) < dominator {
                (&mut run.edges, &mut run.far)
            } else {
                gathered.is_held |= self.first[edge as usize] != NONE;
                (&mut gathered.edges, &mut gathered.far)
            };
            *far = (*far).max(target);
            let next_edge = &mut self.next_edge;
            list.append(List { first: edge, last: edge }, |last, next| next_edge[last as usize] = next);
        }
        while flows != NONE {
            self.budget = self.budget.checked_sub(1).ok_or(TOO_MANY_LEVELS)?;
            let flow = flows;
            let Flow { far: target, position, .. } = self.flows[flow as usize];
            flows = std::mem::replace(&mut self.flows[flow as usize].next, NONE);
            if target < here {
                continue;
            }
            let (list, far) = if position < dominator {
                (&mut run.open, &mut run.far)
            } else {
                gathered.is_held = true;
                (&mut gathered.flows, &mut gathered.far)
            };
            *far = (*far).max(target);
            let all = &mut self.flows;
            list.append(List { first: flow, last: flow }, |last, next| all[last as usize].next = next);
        }
        Ok(gathered)
    }

    /// Whether the run stays as it is because its branches are uniform.
    fn is_skipped(&self, scan: &Scan<'_>, run: &Segment) -> bool {
        let rules = scan.source.rules;
        rules.skips_uniform
            && !run.has_divergent
            && (!run.has_divergent_inside || rules.is_relaxed && run.branches <= 1)
    }

    /// Says which place is the nearest dominator of another one.
    fn set_dominator(&mut self, scan: &Scan<'_>, at: u32, dominator: u32) {
        self.level.idoms[at as usize] = dominator;
        let is_flow = self.level.flow_at[at as usize] != NONE;
        let node = self.level.order.get(at as usize / 2).filter(|_| !is_flow);
        let holds_insts = node.is_some_and(|&node| !scan.is_inner_loop(node));
        let start = if holds_insts { at } else { self.level.starts[dominator as usize] };
        self.level.starts[at as usize] = start;
    }

    /// Makes the Flow block of an open join, and leads to it what was gathered.
    #[allow(clippy::too_many_arguments, reason = "what the parent has found out")]
    fn insert(
        &mut self,
        scan: &Scan<'_>,
        node: BlockId,
        here: u32,
        dominator: u32,
        gathered: &Gathered,
        run: Segment,
        asks: &mut Asks<'_>,
    ) -> u32 {
        let number = self.flows.len() as u32;
        let start = self.level.starts[dominator as usize];
        self.flows.push(Flow {
            run: node,
            is_loop: here == place(scan.count),
            skip: NONE,
            rest: None,
            number: 0,
            is_divergent: run.has_divergent || run.has_divergent_inside,
            level: scan.number,
            position: here - 1,
            start: self.level.order[start as usize / 2],
            far: gathered.far,
            next: NONE,
            held_by: number,
        });
        self.level.flow_at[here as usize - 1] = number;
        self.set_dominator(scan, here - 1, dominator);
        self.set_dominator(scan, here, here - 1);
        let mut edge = gathered.edges.first;
        while edge != NONE {
            asks.strategy.update_divergence(scan.source.shape.edge(edge));
            let next = std::mem::replace(&mut self.next_edge[edge as usize], NONE);
            if self.first[edge as usize] == NONE {
                self.first[edge as usize] = number;
            } else {
                let holder = self.holder(self.first[edge as usize]);
                self.hand_over(holder, number);
            }
            edge = next;
        }
        let mut flow = gathered.flows.first;
        while flow != NONE {
            let next = std::mem::replace(&mut self.flows[flow as usize].next, NONE);
            self.hand_over(flow, number);
            flow = next;
        }
        number
    }

    /// Lets what `from` leads to past its join be reached through `to`.
    fn hand_over(&mut self, from: u32, to: u32) {
        if from != to {
            let Flow { skip, held_by, .. } = &mut self.flows[from as usize];
            (*skip, *held_by) = (to, to);
        }
    }
}

impl Segment {
    fn at(start: u32) -> Self {
        Self {
            start,
            far: 0,
            edges: List::EMPTY,
            open: List::EMPTY,
            branches: 0,
            has_divergent: false,
            has_divergent_inside: false,
            starts_with_wait: false,
            waits: false,
        }
    }

    /// Whether threads may wait in it for others.
    pub(super) fn may_wait(&self) -> bool {
        self.starts_with_wait || self.waits
    }

    /// Makes a part of its own of what was a run.
    fn close(&mut self) {
        self.has_divergent_inside |= self.has_divergent;
        (self.has_divergent, self.branches) = (false, 0);
    }
}
