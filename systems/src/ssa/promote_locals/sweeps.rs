//! Sweeps: what is in each cell of [`indices`](super::indices), found by visiting blocks until nothing changes.

use super::asks::{Ask, literal_truth};
use super::indices::{Action, Branch, Cell, Event, Held, Indices, KnownLeaves};
use super::numbers::{Leaf, Leaves, Sources};
use crate::flow::conditions::comparison::{Order, Outcomes};
use crate::values::known_bits::Known;
use ahash::AHashMap;
use ptxopt_components::ids::{BlockId, Id, InstId};
use ptxopt_engine::values::def_use::OperandRef;
use std::collections::BTreeSet;

/// How often blocks are visited, a block: in a nest of three loops each is visited about ten times.
const VISITS_MAX: usize = 40;

/// How often what is known of a cell at a block changes before what grows grows to the next constant of the function.
const NEXT_AFTER: u8 = 2;

/// How often it changes before what grows grows to the end.
const WIDE_AFTER: u8 = 10;

/// Leaves while it is being found out what they are.
struct Partial<'a> {
    known: &'a KnownLeaves,
    /// All leaves, and whether they read a cell.
    leaves: &'a AHashMap<(InstId, usize), bool>,
}

impl Leaves for Partial<'_> {
    fn known(&mut self, leaf: Leaf) -> Option<Known> {
        let key = (leaf.at.inst, leaf.at.position);
        let is_tracked = self.leaves.get(&key).is_some_and(|&is_tracked| is_tracked);
        match self.known.0.get(&key) {
            Some(&known) => Some(known),
            None => (!is_tracked).then(|| Known::unknown(leaf.width)),
        }
    }
}

/// How a visit to a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Visit {
    Done,
    /// With something that depends on what nothing has reached.
    Waits,
}

/// The walk over a function.
pub struct Sweeps<'a> {
    indices: &'a Indices,
    sources: Sources<'a>,
    known: KnownLeaves,
    /// By row and cell: what is known at the start of a block. A block has the row of its number; one that
    /// [asks](super::asks) has that where the answer is no, and one after those of all blocks where it is yes.
    states: Vec<Known>,
    /// By row.
    is_reached: Vec<bool>,
    /// By row and cell: how often what is known has changed. Cells of one row do not share a count: what an outer loop counts
    /// is all known before the inner ones have settled.
    changes: Vec<u8>,
    /// Blocks whose start has changed since they were visited.
    changed: BTreeSet<BlockId>,
    /// What is known at the place of the walk, by cell; of a block that asks, for each of the answers that are possible.
    here: Vec<Known>,
    /// Whether a leaf is known to be something else than before.
    has_changed: bool,
    visits_left: usize,
}

impl<'a> Sweeps<'a> {
    /// What is known of the leaves that read cells; none where it is not found in time.
    pub fn solve(indices: &'a Indices, sources: Sources<'a>) -> Option<KnownLeaves> {
        let block_count = sources.view.blocks.len();
        let row_count = block_count + indices.asks.len();
        let anything: Vec<Known> = indices.cells.iter().map(|cell| Known::unknown(cell.width)).collect();
        let mut sweeps = Self {
            indices,
            sources,
            known: KnownLeaves::default(),
            states: anything.repeat(row_count),
            is_reached: vec![false; row_count],
            changes: vec![0; row_count * indices.cells.len()],
            changed: BTreeSet::from([BlockId(0)]),
            here: anything,
            has_changed: true,
            visits_left: VISITS_MAX * row_count,
        };
        for row in sweeps.rows_of(BlockId(0)) {
            sweeps.is_reached[row] = true;
        }
        let mut waits = false;
        // Registers are read in other blocks than those that define them: what is found out at last holds everywhere.
        while sweeps.has_changed || !sweeps.changed.is_empty() {
            while let Some(block) = sweeps.changed.pop_first() {
                sweeps.visit(block)?;
            }
            (sweeps.has_changed, waits) = (false, false);
            for block in sources.view.block_ids() {
                if sweeps.rows_of(block).any(|row| sweeps.is_reached[row]) {
                    waits |= sweeps.visit(block)? == Visit::Waits;
                }
            }
        }
        (!waits).then_some(sweeps.known)
    }

    /// Lets happen what happens in a block; none where blocks have been visited too often.
    fn visit(&mut self, block: BlockId) -> Option<Visit> {
        self.visits_left = self.visits_left.checked_sub(1)?;
        let events = &self.indices.events[..];
        let events = &events[events.partition_point(|event| event.block < block)..];
        self.here.clear();
        for row in self.rows_of(block) {
            if self.is_reached[row] {
                let states = self.states_of(row);
                self.here.extend_from_slice(&self.states[states]);
            }
        }
        let mut own = events.iter().take_while(|event| event.block == block);
        let is_done = own.all(|event| self.pass(event).is_some()) && self.leave(block).is_some();
        Some(if is_done { Visit::Done } else { Visit::Waits })
    }

    /// The rows of a block: by the answer, if it asks.
    fn rows_of(&self, block: BlockId) -> impl Iterator<Item = usize> + use<> {
        let asks = self.indices.asks.get(&block);
        let second = asks.map(|ask| self.sources.view.blocks.len() + ask.number);
        std::iter::once(block.index()).chain(second)
    }

    /// The places of a row in what there is by row and cell.
    fn states_of(&self, row: usize) -> std::ops::Range<usize> {
        let count = self.indices.cells.len();
        row * count..(row + 1) * count
    }

    /// Lets an event happen; none where it reads what nothing has reached so far.
    fn pass(&mut self, event: &Event) -> Option<()> {
        let Self { indices, sources, known, here, .. } = self;
        let Cell { width, .. } = indices.cells[event.cell];
        let held = here.iter_mut().skip(event.cell).step_by(indices.cells.len());
        let at = event.action.at();
        let mut leaves = Partial { known, leaves: &indices.leaves };
        match event.action {
            Action::Read(at) => {
                let all = held.map(|held| *held).reduce(Known::join)?;
                let before = known.0.insert((at.inst, at.position), all);
                self.has_changed |= before != Some(all);
            }
            Action::Store(_) | Action::Define(_) => {
                let value = match event.action {
                    Action::Define(_) if width == 1 => truth(*sources, at),
                    Action::Define(_) => sources.result(&mut leaves, at, width)?,
                    _ => sources.number(&mut leaves, at, width)?,
                };
                let is_guarded = sources.view.heads[at.inst.index()].opcode.is_guarded();
                held.for_each(|held| *held = if is_guarded { held.join(value) } else { value });
            }
        }
        Some(())
    }

    /// Goes to the blocks after `block`; none where a comparison waits for what nothing has reached so far.
    fn leave(&mut self, block: BlockId) -> Option<()> {
        if let Some(&Ask { ways, .. }) = self.indices.asks.get(&block) {
            let states = std::mem::take(&mut self.here);
            let reached = self.rows_of(block).zip(ways).filter(|&(row, _)| self.is_reached[row]);
            let reached: Vec<BlockId> = reached.map(|(_, to)| to).collect();
            for (to, state) in reached.into_iter().zip(states.chunks(self.indices.cells.len())) {
                self.here.clear();
                self.here.extend_from_slice(state);
                self.enter(to, &[]);
            }
            return Some(());
        }
        let Some(Some(branch)) = self.indices.branches.get(&block) else {
            for &to in self.sources.view.succs(block) {
                self.enter(to, &[]);
            }
            return Some(());
        };
        let mut leaves = Partial { known: &self.known, leaves: &self.indices.leaves };
        let width = branch.test.ty.bits();
        let mut sides = [Known::unknown(width); 2];
        for (side, known) in sides.iter_mut().enumerate() {
            *known = match branch.held[side].first() {
                Some(&held) => held.value(&self.here),
                None => self.sources.number(&mut leaves, branch.sides[side], width)?,
            };
        }
        let holds = branch.test.holds;
        for (to, outcomes) in [(branch.when_true, holds), (branch.when_false, Outcomes::ORDERED - holds)] {
            if let Some(limits) = limits(branch, sides, outcomes, &self.here) {
                self.enter(to, &limits);
            }
        }
        Some(())
    }

    /// Adds what is known here to what is known at the start of a block, with limits of some cells.
    fn enter(&mut self, to: BlockId, limits: &[(usize, Known)]) {
        let asked = self.indices.asks.get(&to).map(|ask| self.here[ask.cell]);
        for (answer, row) in (0..).zip(self.rows_of(to)) {
            if asked.is_none_or(|known| known.contains(answer)) {
                self.enter_row(row, to, limits);
            }
        }
    }

    fn enter_row(&mut self, row: usize, to: BlockId, limits: &[(usize, Known)]) {
        let states = self.states_of(row);
        let is_first = !std::mem::replace(&mut self.is_reached[row], true);
        let mut has_changed = is_first;
        let changes = &mut self.changes[states.clone()];
        for (cell, (state, changes)) in self.states[states].iter_mut().zip(changes).enumerate() {
            let limit = limits.iter().find(|(limited, _)| *limited == cell);
            let known = limit.map_or(self.here[cell], |&(_, known)| known);
            if *state == known {
                continue;
            }
            let joined = if is_first { known } else { state.join(known) };
            if joined != *state {
                *state = match *changes {
                    0..=NEXT_AFTER => joined,
                    changes => widened(*state, joined, &self.indices.constants, changes > WIDE_AFTER),
                };
                *changes = changes.saturating_add(1);
                has_changed = true;
            }
        }
        if has_changed {
            self.changed.insert(to);
        }
    }
}

/// What is known of the predicate that is defined at `at`.
fn truth(sources: Sources<'_>, at: OperandRef) -> Known {
    literal_truth(sources, at).map_or(Known::unknown(1), |truth| Known::constant(u64::from(truth), 1))
}

impl Held {
    fn addend(self, width: u32) -> Known {
        Known::constant(self.addend, width)
    }

    /// What is compared.
    fn value(self, here: &[Known]) -> Known {
        let known = here[self.cell];
        if self.addend == 0 { known } else { known.add(self.addend(known.width())) }
    }
}

/// What cells are where a branch goes one way; none where it never does.
fn limits(
    branch: &Branch,
    sides: [Known; 2],
    outcomes: Outcomes,
    here: &[Known],
) -> Option<Vec<(usize, Known)>> {
    let mut limits = Vec::new();
    for (side, outcomes) in [(0, outcomes), (1, outcomes.mirrored())] {
        for &held in &branch.held[side] {
            let compared = limited(held.value(here), sides[1 - side], branch.test.order, outcomes)?;
            let known = here[held.cell];
            let part = compared.sub(held.addend(known.width()));
            let known = known.limited(part.low(), part.high())?.limited_signed(part.least(), part.most())?;
            limits.push((held.cell, known));
        }
    }
    Some(limits)
}

/// What is left of a number of which it is known what comes out when it is compared with another.
pub(super) fn limited(known: Known, other: Known, order: Order, outcomes: Outcomes) -> Option<Known> {
    let has = |outcome| outcomes.contains(outcome);
    let (has_less, has_equal, has_greater) =
        (has(Outcomes::LESS), has(Outcomes::EQUAL), has(Outcomes::GREATER));
    if let (true, false, true) = (has_less, has_equal, has_greater) {
        let Some(bits) = other.only() else { return Some(known) };
        let low = if known.low() == bits { bits.checked_add(1)? } else { known.low() };
        let high = if known.high() == bits { bits.checked_sub(1)? } else { known.high() };
        return known.limited(low, high);
    }
    if order == Order::Signed {
        let high = if has_greater { i64::MAX } else { other.most().checked_sub(i64::from(!has_equal))? };
        let low = if has_less { i64::MIN } else { other.least().checked_add(i64::from(!has_equal))? };
        return known.limited_signed(low, high);
    }
    let high = if has_greater { u64::MAX } else { other.high().checked_sub(u64::from(!has_equal))? };
    let low = if has_less { 0 } else { other.low().checked_add(u64::from(!has_equal))? };
    known.limited(low, high)
}

/// A set that holds `joined`, of which growing any more comes to an end soon.
pub(super) fn widened(before: Known, joined: Known, constants: &[i64], is_last: bool) -> Known {
    let any = Known::unknown(joined.width());
    let below = |value: i64, end: i64| {
        let next = constants.partition_point(|&constant| constant <= value);
        let constant = next.checked_sub(1).map(|at| constants[at]);
        constant.filter(|&constant| !is_last && constant >= end).unwrap_or(end)
    };
    let above = |value: i64, end: i64| {
        let next = constants.partition_point(|&constant| constant < value);
        constants.get(next).copied().filter(|&constant| !is_last && constant <= end).unwrap_or(end)
    };
    // Constants above the largest signed number are not looked for.
    let small = |value: u64| i64::try_from(value).ok();
    let low = match small(joined.low()) {
        _ if joined.low() >= before.low() => joined.low(),
        Some(low) => below(low, 0) as u64,
        None => 0,
    };
    let high = match (small(joined.high()), small(any.high())) {
        _ if joined.high() <= before.high() => joined.high(),
        (Some(high), Some(end)) => above(high, end) as u64,
        _ => any.high(),
    };
    let least =
        if joined.least() >= before.least() { joined.least() } else { below(joined.least(), any.least()) };
    let most = if joined.most() <= before.most() { joined.most() } else { above(joined.most(), any.most()) };
    let clear = (1u64 << joined.zeros().trailing_ones().min(63)) - 1;
    let bits = Known::bits(clear & any.high(), 0, joined.width());
    let ranged = bits.limited(low, high).and_then(|known| known.limited_signed(least, most));
    ranged.unwrap_or(any)
}
