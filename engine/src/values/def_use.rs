//! Def-use: for each register, the operands that define it and the operands that read it.
//!
//! Every operand of an instruction, the guard included, has a *slot*. The slots that read a register form a doubly linked
//! list, and so do those that define it, so an edit of an operand costs the same whatever the register's lists hold. An
//! operand that does both (an accumulator, a partial write) is in both lists. Lists run in the order of ids when they are
//! built; what an edit adds comes last.
//!
//! The editor keeps the lists true while a function is edited ([`crate::edit`]). New instruction ids make them stale, as
//! the row epoch says.

use crate::store::per_function::PerFunction;
use crate::store::view::FunctionView;
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::operand::Operand;

/// The operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OperandRef {
    /// The instruction.
    pub inst: InstId,
    /// Its operand, counted from 0; the guard is the last.
    pub position: usize,
}

const NONE: u32 = u32::MAX;

/// The neighbours of a slot in one list. The first has no slot before it, and names the last instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Link {
    prev: u32,
    next: u32,
}

impl Link {
    /// Of a slot that is in no list.
    const NONE: Self = Self { prev: NONE, next: NONE };
}

/// The ends of the list of a register.
#[derive(Clone, Copy, Debug)]
struct Ends {
    first: u32,
    last: u32,
    /// Slots in it.
    count: u32,
}

impl Ends {
    /// Of a list of nothing.
    const EMPTY: Self = Self { first: NONE, last: NONE, count: 0 };
}

/// One kind of list for every register.
#[derive(Debug, Default)]
struct Lists {
    /// By register.
    ends: Vec<Ends>,
    /// By slot; without meaning where the slot is in no list.
    links: Vec<Link>,
}

impl Lists {
    fn clear(&mut self, vreg_count: usize) {
        self.ends.clear();
        self.ends.resize(vreg_count, Ends::EMPTY);
        self.links.clear();
    }

    fn add_vreg(&mut self) {
        self.ends.push(Ends::EMPTY);
    }

    #[inline]
    fn push(&mut self, vreg: VRegId, slot: u32) {
        let ends = &mut self.ends[vreg.index()];
        let last = std::mem::replace(&mut ends.last, slot);
        ends.count += 1;
        self.links[slot as usize] = Link { prev: last, next: NONE };
        if last == NONE {
            ends.first = slot;
        } else {
            self.links[last as usize].next = slot;
        }
    }

    fn remove(&mut self, vreg: VRegId, slot: u32) {
        let ends = &mut self.ends[vreg.index()];
        let Link { prev, next } = self.links[slot as usize];
        if prev == NONE {
            debug_assert_eq!(ends.first, slot, "the slot is in another register's list");
            ends.first = next;
        } else {
            self.links[prev as usize].next = next;
        }
        if next == NONE {
            debug_assert_eq!(ends.last, slot, "the slot is in another register's list");
            ends.last = prev;
        } else {
            self.links[next as usize].prev = prev;
        }
        ends.count -= 1;
    }
}

/// The lists of one function.
#[derive(Debug, Default)]
pub struct DefUse {
    /// By instruction: its first slot.
    base: Vec<u32>,
    /// By instruction: its slots.
    slot_count: Vec<u16>,
    /// By slot: its instruction.
    inst_of: Vec<InstId>,
    uses: Lists,
    defs: Lists,
}

impl DefUse {
    /// Builds the lists of a function, without those of its tombstones.
    pub fn build(&mut self, function: &FunctionView<'_>) {
        let vreg_count = function.vregs.len();
        self.base.clear();
        self.base.resize(function.heads.len(), 0);
        self.slot_count.clear();
        self.slot_count.resize(function.heads.len(), 0);
        self.inst_of.clear();
        self.uses.clear(vreg_count);
        self.defs.clear(vreg_count);
        let slot_count = function.rows().map(|(.., operands)| operands.len()).sum();
        self.inst_of.reserve(slot_count);
        self.uses.links.resize(slot_count, Link::NONE);
        self.defs.links.resize(slot_count, Link::NONE);
        for (inst, _, operands) in function.rows() {
            self.base[inst.index()] = self.inst_of.len() as u32;
            self.slot_count[inst.index()] = operands.len() as u16;
            for operand in operands {
                let slot = self.inst_of.len() as u32;
                self.inst_of.push(inst);
                self.enter(slot, *operand);
            }
        }
    }

    /// The operands that read `vreg`. An instruction comes as often as it reads it.
    pub fn uses(&self, vreg: VRegId) -> impl Iterator<Item = OperandRef> + '_ {
        self.list(&self.uses, vreg)
    }

    /// The operands that define `vreg`.
    pub fn defs(&self, vreg: VRegId) -> impl Iterator<Item = OperandRef> + '_ {
        self.list(&self.defs, vreg)
    }

    /// Number of operands that read `vreg`.
    #[must_use]
    pub fn use_count(&self, vreg: VRegId) -> usize {
        self.uses.ends[vreg.index()].count as usize
    }

    /// Number of operands that define `vreg`.
    #[must_use]
    pub fn def_count(&self, vreg: VRegId) -> usize {
        self.defs.ends[vreg.index()].count as usize
    }

    /// The only operand that defines `vreg`; none where there are several or none.
    #[must_use]
    pub fn only_def(&self, vreg: VRegId) -> Option<OperandRef> {
        if self.def_count(vreg) == 1 { self.defs(vreg).next() } else { None }
    }

    fn list<'a>(&'a self, lists: &'a Lists, vreg: VRegId) -> impl Iterator<Item = OperandRef> + use<'a> {
        let mut slot = lists.ends[vreg.index()].first;
        std::iter::from_fn(move || {
            let at = slot;
            (at != NONE).then(|| {
                slot = lists.links[at as usize].next;
                let inst = self.inst_of[at as usize];
                OperandRef { inst, position: (at - self.base[inst.index()]) as usize }
            })
        })
    }

    /// Notes a register without definition or use.
    pub(crate) fn add_vreg(&mut self) {
        self.uses.add_vreg();
        self.defs.add_vreg();
    }

    /// Notes that `inst` has become live with `operands`.
    pub(crate) fn add(&mut self, inst: InstId, operands: &[Operand]) {
        let first = self.inst_of.len();
        if inst.index() >= self.base.len() {
            self.base.resize(inst.index() + 1, 0);
            self.slot_count.resize(inst.index() + 1, 0);
        }
        self.base[inst.index()] = first as u32;
        self.slot_count[inst.index()] = operands.len() as u16;
        let end = first + operands.len();
        self.inst_of.resize(end, inst);
        self.uses.links.resize(end, Link::NONE);
        self.defs.links.resize(end, Link::NONE);
        for (position, operand) in operands.iter().enumerate() {
            self.enter((first + position) as u32, *operand);
        }
    }

    /// Notes that `inst`, whose operands are `operands`, is gone.
    pub(crate) fn remove(&mut self, inst: InstId, operands: &[Operand]) {
        let first = self.base[inst.index()];
        for (slot, operand) in (first..).zip(operands) {
            self.leave(slot, *operand);
        }
    }

    /// Notes that an operand is another one.
    pub(crate) fn replace(&mut self, at: OperandRef, old: Operand, new: Operand) {
        let slot = self.base[at.inst.index()] + at.position as u32;
        self.leave(slot, old);
        self.enter(slot, new);
    }

    #[inline]
    fn enter(&mut self, slot: u32, operand: Operand) {
        let Some(vreg) = operand.vreg() else { return };
        if operand.is_definition() {
            self.defs.push(vreg, slot);
        }
        if operand.is_use() {
            self.uses.push(vreg, slot);
        }
    }

    fn leave(&mut self, slot: u32, operand: Operand) {
        let Some(vreg) = operand.vreg() else { return };
        if operand.is_definition() {
            self.defs.remove(vreg, slot);
        }
        if operand.is_use() {
            self.uses.remove(vreg, slot);
        }
    }
}

/// The lists of the functions of a batch, valid where [`crate::run::facts::Fact::DefUse`] holds.
pub type DefUses = PerFunction<DefUse>;
