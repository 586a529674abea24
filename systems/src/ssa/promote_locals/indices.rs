//! Indices: the numbers that local variables hold and that are added to addresses of local variables.
//!
//! Without an optimizer the counter of a loop is a local variable too, and it lies beside the array that it indexes:
//! ```text
//! ld.b32 %r1, [%SP+64];            // k
//! setp.gt.u32 %p1, %r1, 15;
//! @%p1 bra END;
//! ld.b32 %rd1, [%SP+64];           // k is 0 to 15
//! shl.b64 %rd2, %rd1, 2;
//! add.s64 %rd3, %SP, %rd2;
//! st.b32 [%rd3], 0;                // the first 64 bytes
//! ```
//! Whether the store may write `k` depends on what `k` is, and that on whether the store may write it. So the phase
//! *assumes* that stores at computed addresses leave the variables alone that their addresses are computed from, finds out
//! what those are then, and looks where the stores go. Where all stay away, the assumption was right: by induction over
//! the steps of a run, no store can be the first that does not. Where one does not, the variable that it may write is
//! taken out, and it starts again. A load may read what it likes.
//!
//! # What is followed
//! *Cells*: bytes of a variable that whole loads and stores of one width touch, and registers that several instructions
//! write. Only those that addresses depend on, and what they are compared with.
//!
//! # How
//! For each block a [`Known`] for each cell, from the entry along all edges, until nothing changes; a cell that a branch
//! compares is bounded on each of its ways. A block that asks a predicate which the ways to it have written has two states, one for
//! each answer (`asks`). Ranges that still grow after a few `sweeps` grow to the next
//! constant of the function, and then to the end.
//!
//! Paper: Cousot and Cousot 1977 (intervals, widening). Limits: `CELLS_MAX`, `STATES_MAX`, `TRIES_MAX` and those of the
//! sweeps and of what asks.

use super::addresses::{Access, NOT_CONSTANT, Refusal, Tracer, Trust};
use super::asks::Ask;
use super::numbers::{Anything, Leaf, Leaves, Sources};
use super::sweeps::Sweeps;
use crate::flow::conditions::comparison::{Order, Test};
use crate::values::known_bits::Known;
use ahash::{AHashMap, AHashSet};
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::operand::OperandKind;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Qualifiers;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::values::def_use::OperandRef;

/// The most cells of a function: the counters of its loops, and what bounds them.
const CELLS_MAX: usize = 64;

/// The most blocks times cells, 56 bytes each; blocks that ask count twice.
pub(super) const STATES_MAX: usize = 1 << 16;

/// The most instructions for each access that may become a register: where there are more, indices are not bounded. Compilers
/// that keep no counters in memory leave arrays whose accesses are few, and stay whatever is known of their indices: on the
/// wild set the look at them took 31 ns an instruction and found nothing.
const INSTS_PER_GAIN_MAX: usize = 32;

/// How often variables are taken out before nothing is assumed any more.
const TRIES_MAX: u32 = 3;

/// What is known of leaves, by instruction and operand. Others may be anything.
#[derive(Default)]
pub struct KnownLeaves(pub(super) AHashMap<(InstId, usize), Known>);

impl Leaves for &KnownLeaves {
    fn known(&mut self, leaf: Leaf) -> Option<Known> {
        let found = self.0.get(&(leaf.at.inst, leaf.at.position)).copied();
        Some(found.filter(|known| known.width() == leaf.width).unwrap_or(Known::unknown(leaf.width)))
    }
}

/// Where a number lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// Bytes of a variable, from the first to one past the last.
    Memory {
        variable: u32,
        low: u32,
        high: u32,
    },
    Register(VRegId),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    place: Place,
    pub width: u32,
}

/// What an instruction does with a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Reads it: the leaf at this operand.
    Read(OperandRef),
    /// Stores this operand in it.
    Store(OperandRef),
    /// Defines it: a register.
    Define(OperandRef),
}

impl Action {
    pub fn at(self) -> OperandRef {
        match self {
            Self::Read(at) | Self::Store(at) | Self::Define(at) => at,
        }
    }

    fn is_read(self) -> bool {
        matches!(self, Self::Read(_))
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub block: BlockId,
    position: u32,
    pub cell: usize,
    pub action: Action,
}

/// What is compared is the sum of what is in a cell at the end of the block and a constant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub cell: usize,
    pub addend: u64,
}

/// A conditional branch at the end of a block.
#[derive(Debug)]
pub(super) struct Branch {
    pub test: Test,
    /// What is compared.
    pub sides: [OperandRef; 2],
    /// The cells on which each side depends.
    pub held: [Vec<Held>; 2],
    pub when_true: BlockId,
    pub when_false: BlockId,
}

/// What is found out about a function. Its memory is used again.
#[derive(Default)]
pub struct Indices {
    /// The accesses at constant addresses, sorted by their bytes.
    accesses: Vec<Access>,
    /// By instruction: its place among them.
    access_of: AHashMap<InstId, usize>,
    pub(super) cells: Vec<Cell>,
    pub(super) cell_at: AHashMap<Place, usize>,
    /// Cells that were taken out.
    banned: AHashSet<Place>,
    /// What other accesses touch too, as far as is known now: places that are no cells, each looked at once.
    refused: AHashSet<Place>,
    /// What happens to cells, in the order of the text.
    pub(super) events: Vec<Event>,
    /// Leaves that were asked for, and whether they read a cell.
    pub(super) leaves: AHashMap<(InstId, usize), bool>,
    /// By block: its branch, where it has events.
    pub(super) branches: AHashMap<BlockId, Option<Branch>>,
    /// The blocks that [ask](super::asks).
    pub(super) asks: AHashMap<BlockId, Ask>,
    /// Numbers that ranges grow to.
    pub(super) constants: Vec<i64>,
}

impl Indices {
    /// Walks once more with what is known of indices, as long as that holds. The tracer has walked with nothing known.
    pub fn bound(&mut self, sources: Sources<'_>, tracer: &mut Tracer) -> Result<(), Refusal> {
        let escapes = |tracer: &Tracer| -> Vec<bool> {
            tracer.variables.iter().map(|variable| variable.escape.is_some()).collect()
        };
        let mut has_walked = tracer.has_pointers();
        if has_walked {
            tracer.walk(sources, &KnownLeaves::default(), Trust::Computed)?;
        }
        let is_gain = |access: &&Access| {
            access.refusal.is_none() && tracer.variables[access.variable as usize].escape.is_none()
        };
        let gains = tracer.accesses.iter().filter(is_gain).count();
        if gains * INSTS_PER_GAIN_MAX < sources.view.live_inst_count() {
            let walk = |tracer: &mut Tracer| tracer.walk(sources, &KnownLeaves::default(), Trust::Nothing);
            return if has_walked { walk(tracer) } else { Ok(()) };
        }
        self.start(tracer);
        let (addends, escapes_before) = (tracer.addends.clone(), escapes(tracer));
        for _ in 0..TRIES_MAX {
            self.discover(sources, &addends);
            if self.cells.is_empty() {
                break;
            }
            if self.cells.len() * (sources.view.blocks.len() + self.asks.len()) > STATES_MAX {
                tracer.limit =
                    Some((addends[0].inst, "too many blocks to bound the indices of local arrays"));
                break;
            }
            let Some(known) = Sweeps::solve(self, sources) else { break };
            if known.0.values().all(|known| known.is_any()) {
                break;
            }
            tracer.walk(sources, &known, Trust::Nothing)?;
            has_walked = true;
            // What escapes may be written anywhere, cells among it.
            let escapes_now = escapes(tracer);
            let escapes_anew = escapes_now.iter().zip(&escapes_before).any(|(now, before)| *now && !before);
            let is_open = |cell: &Cell| match cell.place {
                Place::Memory { variable, .. } => escapes_now[variable as usize],
                Place::Register(_) => false,
            };
            if escapes_anew || self.cells.iter().any(is_open) || !self.has_same_accesses(tracer) {
                break;
            }
            let banned_before = self.banned.len();
            self.ban_touched(tracer);
            if self.banned.len() == banned_before {
                return Ok(());
            }
        }
        if has_walked { tracer.walk(sources, &KnownLeaves::default(), Trust::Nothing) } else { Ok(()) }
    }

    fn start(&mut self, tracer: &Tracer) {
        self.banned.clear();
        self.accesses.clear();
        let is_free = |access: &&Access| {
            let is_exact = access.refusal != Some(NOT_CONSTANT);
            is_exact && tracer.variables[access.variable as usize].escape.is_none()
        };
        self.accesses.extend(tracer.accesses.iter().filter(is_free));
        self.accesses.sort_unstable_by_key(|access| (access.variable, access.low, access.position));
        self.access_of.clear();
        let inst_of = |(number, access): (usize, &Access)| (access.inst, number);
        self.access_of.extend(self.accesses.iter().enumerate().map(inst_of));
    }

    /// Whether the accesses of the first walk go where they went then. With its index known a store may overwrite an address that the
    /// first walk took to be there, so that what is accessed through it is somewhere else:
    /// ```text
    /// st [P], &A;  st [D+i], &B;  ld p, [P];  ld j, [p];       // i is that of P: j is no longer what lies in A
    /// ```
    fn has_same_accesses(&self, tracer: &Tracer) -> bool {
        let place = |access: &Access| (access.variable, access.low, access.high, access.refusal);
        let now: AHashMap<InstId, _> =
            tracer.accesses.iter().map(|access| (access.inst, place(access))).collect();
        self.accesses.iter().all(|access| now.get(&access.inst) == Some(&place(access)))
    }

    /// Takes cells out that a store touches which was not counted on.
    fn ban_touched(&mut self, tracer: &Tracer) {
        let mut in_order: Vec<(u32, u32, u32)> = Vec::new();
        in_order.extend(self.cells.iter().filter_map(|cell| match cell.place {
            Place::Memory { variable, low, high } => Some((variable, low, high)),
            Place::Register(_) => None,
        }));
        in_order.sort_unstable();
        for access in tracer.accesses.iter().filter(|access| !access.is_load) {
            let (variable, low, high) = (access.variable, access.low, access.high);
            // Cells do not overlap, so their ends are in order as well.
            let first = in_order.partition_point(|&(of, _, end)| (of, end) <= (variable, low));
            let touched =
                in_order[first..].iter().take_while(|&&(of, start, _)| (of, start) < (variable, high));
            for &(of, start, end) in touched {
                let is_counted = (of, start, end) == (variable, low, high)
                    && access.refusal.is_none()
                    && self.access_of.contains_key(&access.inst);
                if !is_counted {
                    self.banned.insert(Place::Memory { variable: of, low: start, high: end });
                }
            }
        }
    }
}

/// Finding the cells.
impl Indices {
    /// Finds the cells that the addends depend on, and all that happens to them.
    fn discover(&mut self, sources: Sources<'_>, addends: &[OperandRef]) {
        let Self { cells, cell_at, events, leaves, branches, asks, constants, .. } = self;
        cells.clear();
        cell_at.clear();
        self.refused.clear();
        events.clear();
        leaves.clear();
        branches.clear();
        asks.clear();
        constants.clear();
        let mut discovery = Discovery { indices: self, sources };
        for &at in addends {
            sources.number(&mut discovery, at, 64);
        }
        let (mut next_cell, mut next_event) = (0, 0);
        loop {
            if next_cell < discovery.indices.cells.len() {
                discovery.explore(next_cell);
                next_cell += 1;
            } else if let Some(event) = discovery.indices.events.get(next_event) {
                let block = event.block;
                discovery.branch(block);
                next_event += 1;
            } else {
                break;
            }
        }
        discovery.find_asks();
        self.events.sort_unstable_by_key(|event| (event.block, event.position, !event.action.is_read()));
        self.name_compared(sources);
        for constant in std::mem::take(&mut self.constants) {
            self.constants.extend([constant.wrapping_sub(1), constant, constant.wrapping_add(1)]);
        }
        self.constants.sort_unstable();
        self.constants.dedup();
    }

    /// Says which cells hold what a branch compares.
    fn name_compared(&mut self, sources: Sources<'_>) {
        for events in self.events.chunk_by(|one, other| one.block == other.block) {
            let Some(Some(branch)) = self.branches.get_mut(&events[0].block) else { continue };
            let width = branch.test.ty.bits();
            for side in 0..2 {
                let at = branch.sides[side];
                let summand = summand_of(sources, at, width);
                for (at, addend) in [Some((at, 0)), summand].into_iter().flatten() {
                    let Some(vreg) = sources.whole_register(at) else { continue };
                    let holders = holders(sources, &self.cells, events, vreg, sources.position(at.inst));
                    let held = holders.into_iter().filter(|&cell| self.cells[cell].width == width);
                    branch.held[side].extend(held.map(|cell| Held { cell, addend }));
                }
            }
        }
    }
}

/// What the number at `at` is the sum of, if that is a register and a literal in the same block.
fn summand_of(sources: Sources<'_>, at: OperandRef, width: u32) -> Option<(OperandRef, u64)> {
    let Sources { view, forms, def_use, .. } = sources;
    let vreg = sources.whole_register(at)?;
    let def = def_use.only_def(vreg)?;
    let head = &view.heads[def.inst.index()];
    let description = forms.describe(head.form);
    let is_sum = description.operation == Operation::Add && description.qualifiers == Qualifiers::default();
    // After it, what is read is the sum of the round before.
    let is_here = sources.is_above(def.inst, at.inst) && !head.opcode.is_guarded();
    let is_wide = description.types[0].is_some_and(|ty| ty.bits() == width);
    let is_shared = view.vregs[vreg.index()].flags.intersects(VRegFlags::UNKNOWN_AT_START);
    if !is_sum || !is_here || !is_wide || is_shared {
        return None;
    }
    let literal = OperandRef { inst: def.inst, position: 2 };
    let is_literal = sources.whole_register(literal).is_none();
    let addend = sources.number(&mut Anything, literal, width).filter(|_| is_literal)?.only()?;
    Some((OperandRef { inst: def.inst, position: 1 }, addend))
}

/// The cells that hold at the end of a block what `vreg` held where it was read, at `position` in the same block.
fn holders(
    sources: Sources<'_>,
    cells: &[Cell],
    events: &[Event],
    vreg: VRegId,
    position: u32,
) -> Vec<usize> {
    let view = sources.view;
    let is_shared = view.vregs[vreg.index()].flags.intersects(VRegFlags::UNKNOWN_AT_START);
    let def = sources.def_use.only_def(vreg).map(|def| def.inst).filter(|_| !is_shared);
    // What was defined before the read, and by the event or before it, and never again: the same in both.
    let is_same = |event: &Event| {
        def.is_some_and(|def| {
            let at = sources.position(def);
            view.heads[def.index()].block != events[0].block || at < position && at <= event.position
        })
    };
    // By cell: what the last event says.
    let mut last: Vec<(usize, bool)> = Vec::new();
    for event in events {
        let holds = match (cells[event.cell].place, event.action) {
            (Place::Register(own), Action::Read(_)) => own == vreg && event.position <= position,
            _ => is_same(event) && holds_after(sources, event, vreg),
        };
        match last.iter_mut().find(|(cell, _)| *cell == event.cell) {
            // A read leaves what was there.
            Some((_, held)) => *held = holds || *held && event.action.is_read(),
            None => last.push((event.cell, holds)),
        }
    }
    last.into_iter().filter(|&(_, holds)| holds).map(|(cell, _)| cell).collect()
}

/// Whether the cell holds the number in `vreg` after an event, which an unguarded move between the two is. A `mov` between
/// registers has two operands: one that takes a number apart writes its halves, and neither is the number of the other.
fn holds_after(sources: Sources<'_>, event: &Event, vreg: VRegId) -> bool {
    let inst = event.action.at().inst;
    let Sources { view, forms, .. } = sources;
    let head = &view.heads[inst.index()];
    let whole = |position| sources.whole_register(OperandRef { inst, position });
    let (register, is_move) = match event.action {
        Action::Read(_) => (whole(0), forms.get(head.form).operation == Operation::Ld),
        Action::Store(at) => (whole(at.position), true),
        Action::Define(_) => {
            let is_mov = forms.get(head.form).operation == Operation::Mov;
            (whole(1), is_mov && view.operands_of(inst).len() == 2)
        }
    };
    is_move && !head.opcode.is_guarded() && register == Some(vreg)
}

/// Asks for leaves, to find them.
pub(super) struct Discovery<'a> {
    pub indices: &'a mut Indices,
    pub sources: Sources<'a>,
}

impl Leaves for Discovery<'_> {
    fn known(&mut self, leaf: Leaf) -> Option<Known> {
        let key = (leaf.at.inst, leaf.at.position);
        if !self.indices.leaves.contains_key(&key) {
            let cell = self.cell_of(leaf);
            self.indices.leaves.insert(key, cell.is_some());
            if let Some(cell) = cell {
                self.note(cell, Action::Read(leaf.at));
            }
        }
        Some(Known::unknown(leaf.width))
    }
}

impl Discovery<'_> {
    pub(super) fn note(&mut self, cell: usize, action: Action) {
        let inst = action.at().inst;
        let (block, position) = (self.sources.view.heads[inst.index()].block, self.sources.position(inst));
        self.indices.events.push(Event { block, position, cell, action });
    }

    /// The cell that a leaf reads, which may be new.
    fn cell_of(&mut self, leaf: Leaf) -> Option<usize> {
        let place = match leaf.vreg {
            Some(vreg) => Place::Register(vreg),
            None => {
                let access = self.indices.accesses[*self.indices.access_of.get(&leaf.at.inst)?];
                Place::Memory { variable: access.variable, low: access.low, high: access.high }
            }
        };
        if let Some(&cell) = self.indices.cell_at.get(&place) {
            return Some(cell).filter(|&cell| self.indices.cells[cell].width == leaf.width);
        }
        self.new_cell(place, leaf.width)
    }

    /// A cell for a place, unless it is none or there is no room.
    pub(super) fn new_cell(&mut self, place: Place, width: u32) -> Option<usize> {
        let is_out = self.indices.banned.contains(&place) || self.indices.refused.contains(&place);
        let has_room = self.indices.cells.len() < CELLS_MAX && !is_out;
        if !has_room {
            return None;
        }
        if !self.is_simple(place, width) {
            self.indices.refused.insert(place);
            return None;
        }
        let cell = self.indices.cells.len();
        self.indices.cells.push(Cell { place, width });
        self.indices.cell_at.insert(place, cell);
        Some(cell)
    }

    /// Whether all that touches a place moves or writes all of it at once.
    fn is_simple(&self, place: Place, width: u32) -> bool {
        let Sources { view, forms, def_use, .. } = self.sources;
        match place {
            Place::Memory { variable, low, high } => {
                8 * (high - low) == width
                    && self.touching(variable, low, high).all(|access| {
                        let is_same = (access.low, access.high) == (low, high) && access.refusal.is_none();
                        is_same && forms.get(view.heads[access.inst.index()].form).lanes == 1
                    })
            }
            Place::Register(vreg) => {
                let is_whole = |at: OperandRef| !view.operands_of(at.inst)[at.position].is_partial();
                !view.vregs[vreg.index()].flags.intersects(VRegFlags::UNKNOWN_AT_START)
                    && def_use.defs(vreg).all(is_whole)
            }
        }
    }

    /// The accesses that touch a place in memory, bytes `low..high` of a variable.
    fn touching(&self, variable: u32, low: u32, high: u32) -> impl Iterator<Item = &Access> {
        // The widest access has 32 bytes.
        let accesses = &self.indices.accesses;
        let first = accesses
            .partition_point(|access| (access.variable, access.low) < (variable, low.saturating_sub(32)));
        let near = accesses[first..].iter();
        let near = near.take_while(move |access| (access.variable, access.low) < (variable, high));
        near.filter(move |access| access.high > low)
    }

    /// Notes all that is written to a cell.
    fn explore(&mut self, number: usize) {
        let cell = self.indices.cells[number];
        let sources = self.sources;
        let Sources { view, forms, def_use, .. } = sources;
        match cell.place {
            Place::Memory { variable, low, high } => {
                let insts: Vec<InstId> =
                    self.touching(variable, low, high).map(|access| access.inst).collect();
                for inst in insts {
                    let at = OperandRef { inst, position: 1 };
                    if forms.get(view.heads[inst.index()].form).operation == Operation::St {
                        self.note(number, Action::Store(at));
                        self.constant(at);
                        sources.number(self, at, cell.width);
                    } else {
                        // A branch may compare what is loaded.
                        self.known(Leaf { at, vreg: None, width: cell.width });
                    }
                }
            }
            Place::Register(vreg) => {
                for at in def_use.defs(vreg) {
                    self.note(number, Action::Define(at));
                    sources.result(self, at, cell.width);
                }
            }
        }
    }

    /// Notes an operand that is a literal.
    fn constant(&mut self, at: OperandRef) {
        let Some(known) = self.sources.number(&mut Anything, at, 64) else { return };
        if let Some(bits) = known.only() {
            self.indices.constants.push(bits as i64);
        }
    }

    /// Notes the branch at the end of a block.
    fn branch(&mut self, block: BlockId) {
        if self.indices.branches.contains_key(&block) {
            return;
        }
        let branch = self.find_branch(block);
        if let Some(branch) = &branch {
            let (sides, width, sources) = (branch.sides, branch.test.ty.bits(), self.sources);
            for at in sides {
                self.constant(at);
                sources.number(self, at, width);
            }
        }
        self.indices.branches.insert(block, branch);
    }

    fn find_branch(&self, block: BlockId) -> Option<Branch> {
        let Sources { view, forms, def_use, .. } = self.sources;
        let inst = view.insts_of(block).next_back()?;
        let &[taken, other] = view.succs(block) else { return None };
        let is_branch = forms.get(view.heads[inst.index()].form).operation == Operation::Bra;
        let OperandKind::Predicate { vreg, negated } = view.guard_of(inst).filter(|_| is_branch)?.kind()
        else {
            return None;
        };
        let def = def_use.only_def(vreg).filter(|_| taken != other)?;
        let head = &view.heads[def.inst.index()];
        let description = forms.describe(head.form);
        // A guard, another predicate or a second result is a fourth operand.
        let is_test = description.operation == Operation::Setp && view.operands_of(def.inst).len() == 3;
        let test = Test::of(description).filter(|_| head.block == block && is_test)?;
        if !matches!(test.order, Order::Signed | Order::Unsigned)
            || view.vregs[vreg.index()].flags.intersects(VRegFlags::UNKNOWN_AT_START)
        {
            return None;
        }
        let side = |position| OperandRef { inst: def.inst, position };
        let (when_true, when_false) = if negated { (other, taken) } else { (taken, other) };
        Some(Branch { test, sides: [side(1), side(2)], held: Default::default(), when_true, when_false })
    }
}
