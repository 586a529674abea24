//! Puts gates into the code: blocks that edges lead through, and that lead on by what was set on the way.
//!
//! A **gate** tests what threads *carry*: a predicate, or a number that stands for the block that they go to. Edges
//! that lead to gates are **detours**; what a thread carries is set in the block from which the detour leaves. No block of
//! the function is executed between there and the last gate, so two detours of a block with one target each need no
//! guard for that, and a number is set once for a whole chain of gates:
//! ```text
//!     @p bra E;                      mov.pred r, -1;            // r: E is still to run
//!     @q bra E;                      @p bra Flow;
//!     ...                            @q bra Flow;
//!     bra J;                         ...
//! E:  ...                            mov.pred r, 0;
//! J:                           Flow: @!r bra J;
//!                              E:    ...
//!                              J:
//! ```
//! The predicate of a lone gate is set to what most detours carry before the branch from which they come, and again on the
//! others. That is one instruction less than setting it on each, and the gate holds nothing but its branch.
//!
//! # Text
//! A gate stands right before the block to which it falls through, or after a latch. Then each block's end is written
//! again from where it leads and what comes next in the text: a jump to the next block goes, a branch is negated where that
//! saves a jump, and a jump is added where nothing else helps.

use super::shape::{Edge, End, Shape, Way};
use ptxopt_components::block::BlockFlags;
use ptxopt_components::code_object::Room;
use ptxopt_components::description::{Description, Dialect};
use ptxopt_components::form::shape as form_shape;
use ptxopt_components::ids::{BlockId, FormId, Id, InstId, TableId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Comparison, Qualifiers};
use ptxopt_components::types::PtxType;
use ptxopt_engine::edit::{Change, FunctionEditor};
use ptxopt_engine::forms::FormTable;

/// Where a gate leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// To a block of the function.
    Block(BlockId),
    /// To another gate.
    Gate(u32),
}

/// Where a gate stands.
#[derive(Clone, Copy, Debug)]
pub enum Stands {
    /// Before the block.
    Before(BlockId),
    /// After the block, and after the gates that stand there.
    After(BlockId),
}

/// What threads carry to gates that follow one another.
#[derive(Clone, Copy, Debug)]
pub enum Carrier {
    /// A predicate, set at the end of a block to what most carry, where one is given.
    Predicate(Option<(BlockId, bool)>),
    /// A number.
    Number,
}

/// A gate.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    /// What it tests, as a place in the list of carriers.
    pub carrier: u32,
    /// The number for which it is true; nothing of a predicate.
    pub number: u32,
    /// Whether it is true for all numbers but that one.
    pub is_negated: bool,
    /// Where it leads if it is true.
    pub then: To,
    /// Where it leads if it is false.
    pub otherwise: To,
    /// Where it stands.
    pub stands: Stands,
    /// Its flags.
    pub flags: BlockFlags,
}

/// An edge that leads to a gate.
#[derive(Clone, Copy, Debug)]
pub struct Detour {
    /// The edge.
    pub edge: u32,
    /// The gate.
    pub gate: u32,
    /// What threads carry: a number, or 0 or 1.
    pub carries: u32,
}

/// Registers that all carriers share.
pub const SHARED_REGISTERS: u32 = 2;

/// What is to be put into a function.
#[derive(Default)]
pub struct Gates {
    /// The gates.
    pub gates: Vec<Gate>,
    /// What they test.
    pub carriers: Vec<Carrier>,
    /// Sorted by edge.
    pub detours: Vec<Detour>,
}

impl Gates {
    /// The rows that it takes at most.
    #[must_use]
    pub fn room(&self, shape: &Shape) -> Room {
        let (gates, detours) = (self.gates.len() as u32, self.detours.len() as u32);
        let stub = |detour: &&Detour| matches!(shape.edge(detour.edge).way, Way::Entry(_));
        let stubs = self.detours.iter().filter(stub).count() as u32;
        // A gate takes a test, a branch and a jump; a detour a move and a jump; where a gate stands, a block before it may
        // have to jump past it.
        let own =
            self.carriers.iter().filter(|carrier| matches!(carrier, Carrier::Predicate(Some(_)))).count()
                as u32;
        Room {
            insts: 4 * gates + 2 * detours + stubs + own,
            blocks: 3 * gates + detours + stubs,
            vregs: own + SHARED_REGISTERS,
        }
    }

    /// Puts everything into the code.
    pub fn apply(
        &self,
        f: &mut FunctionEditor<'_>,
        shape: &Shape,
        offset: u32,
        reason: &'static str,
    ) -> bool {
        let room = self.room(shape);
        let dialect = shape.ends.iter().find_map(|end| match *end {
            End::Branches { inst } | End::Indexed { inst, .. } | End::Jumps { inst } => {
                Some(f.description_of(inst).dialect)
            }
            _ => None,
        });
        let forms = Forms::make(f.forms(), dialect.unwrap_or_default());
        let Some(mut change) = f.change_with_room(offset, reason, room) else { return false };
        let carried = make_registers(&mut change, &self.carriers);
        let mut writer = Writer { change, shape, gates: self, forms, carried, blocks: Vec::new() };
        writer.stand();
        writer.set_defaults();
        writer.lead_away();
        writer.write_gates();
        true
    }
}

/// The forms that are inserted.
#[derive(Clone, Copy)]
struct Forms {
    bra: FormId,
    move_predicate: FormId,
    move_number: FormId,
    equal: FormId,
    not_equal: FormId,
}

impl Forms {
    fn make(forms: &mut FormTable, dialect: Dialect) -> Self {
        let mut form = |operation, comparison, types: &[PtxType], count| {
            let qualifiers = Qualifiers { comparison, ..Qualifiers::default() };
            let description = Description { dialect, ..Description::new(operation, qualifiers, types) };
            forms.build(&description, form_shape::plain(count)).expect("every target has the instruction")
        };
        Self {
            bra: form(Operation::Bra, None, &[], 1),
            move_predicate: form(Operation::Mov, None, &[PtxType::Pred], 2),
            move_number: form(Operation::Mov, None, &[PtxType::B32], 2),
            equal: form(Operation::Setp, Some(Comparison::Equal), &[PtxType::U32], 3),
            not_equal: form(Operation::Setp, Some(Comparison::NotEqual), &[PtxType::U32], 3),
        }
    }
}

/// The registers of a carrier.
#[derive(Clone, Copy)]
struct Carried {
    predicate: VRegId,
    number: Option<VRegId>,
}

/// Makes the registers of the carriers.
///
/// What is set on every detour is read before any block of the function is executed, so all numbers share one register, and
/// all predicates that are set so, and those that test a number, another one. A predicate that is set before threads part has its own.
fn make_registers(change: &mut Change<'_, '_>, carriers: &[Carrier]) -> Vec<Carried> {
    let (mut shared, mut number) = (None, None);
    let of = |carrier: &Carrier| {
        let is_own = matches!(carrier, Carrier::Predicate(Some(_)));
        let predicate = match shared {
            Some(shared) if !is_own => shared,
            _ => change.new_vreg(PtxType::Pred),
        };
        if !is_own {
            shared = Some(predicate);
        }
        let has_number = matches!(carrier, Carrier::Number);
        let number = has_number.then(|| *number.get_or_insert_with(|| change.new_vreg(PtxType::U32)));
        Carried { predicate, number }
    };
    carriers.iter().map(of).collect()
}

struct Writer<'w, 'e, 'a> {
    change: Change<'e, 'a>,
    shape: &'w Shape,
    gates: &'w Gates,
    forms: Forms,
    carried: Vec<Carried>,
    /// By gate.
    blocks: Vec<BlockId>,
}

impl Writer<'_, '_, '_> {
    /// Makes the blocks of the gates.
    fn stand(&mut self) {
        for gate in &self.gates.gates {
            let block = match gate.stands {
                Stands::Before(block) => self.change.insert_block_before(block),
                Stands::After(block) => self.block_after(block),
            };
            if gate.flags.contains(BlockFlags::FLOW) {
                self.change.label_flow(block);
            }
            self.change.set_block_flags(block, gate.flags);
            self.blocks.push(block);
        }
    }

    fn block_after(&mut self, block: BlockId) -> BlockId {
        match self.change.next_in_text(block) {
            Some(next) => self.change.insert_block_before(next),
            None => {
                let last = self.change.function().insts_of(block).next_back();
                self.change.split_after(last.expect("the last block holds what ends the function"))
            }
        }
    }

    fn block_of(&self, to: To) -> BlockId {
        match to {
            To::Block(block) => block,
            To::Gate(gate) => self.blocks[gate as usize],
        }
    }

    /// The instruction at which a block ends, if one does.
    fn end_of(&self, block: BlockId) -> Option<InstId> {
        match self.shape.ends[block.index()] {
            End::Falls { before } => before,
            End::Jumps { inst } | End::Branches { inst } | End::Indexed { inst, .. } => Some(inst),
            End::Ends => None,
        }
    }

    /// Sets what is carried at the end of a block, before it branches.
    fn set(&mut self, block: BlockId, carrier: u32, value: u32, guard: Option<Operand>) {
        let end = self.end_of(block);
        let (form, operands) = self.setting(carrier, value);
        match end {
            Some(end) => self.change.insert_before(end, form, &operands, guard),
            None => self.change.insert_at_end(block, form, &operands, guard),
        };
    }

    fn setting(&self, carrier: u32, value: u32) -> (FormId, [Operand; 2]) {
        let Carried { predicate, number } = self.carried[carrier as usize];
        match number {
            Some(number) => (self.forms.move_number, [Operand::register(number), Operand::int(value as i32)]),
            None => {
                let truth = if value == 0 { 0 } else { -1 };
                (self.forms.move_predicate, [Operand::predicate(predicate, false), Operand::int(truth)])
            }
        }
    }

    fn set_defaults(&mut self) {
        for (carrier, kind) in self.gates.carriers.iter().enumerate() {
            if let Carrier::Predicate(Some((block, value))) = *kind {
                self.set(block, carrier as u32, u32::from(value), None);
            }
        }
    }

    /// What is set before the gate of a detour, if anything is.
    fn default_of(&self, detour: &Detour) -> Option<u32> {
        let carrier = self.gates.gates[detour.gate as usize].carrier;
        match self.gates.carriers[carrier as usize] {
            Carrier::Predicate(set_before) => set_before.map(|(_, value)| u32::from(value)),
            _ => None,
        }
    }

    /// Whether a detour carries what is set before.
    fn carries_default(&self, detour: &Detour) -> bool {
        self.default_of(detour) == Some(detour.carries)
    }

    /// Leads every block where it now goes.
    fn lead_away(&mut self) {
        let mut at = 0;
        for block in (0..self.shape.ends.len()).map(BlockId::new) {
            let edges = self.shape.edges_of(block);
            let first = at;
            while self.gates.detours.get(at).is_some_and(|detour| detour.edge < edges.end) {
                at += 1;
            }
            let detours = &self.gates.detours[first..at];
            match self.shape.ends[block.index()] {
                End::Ends => {}
                End::Indexed { table, .. } => self.lead_table(block, table, detours),
                end => self.lead_direct(block, end, detours),
            }
        }
    }

    fn lead_direct(&mut self, block: BlockId, end: End, detours: &[Detour]) {
        let find = |way: Way| detours.iter().find(|detour| self.shape.edge(detour.edge).way == way).copied();
        let (taken, falls) = (find(Way::Taken), find(Way::Fall));
        let guard = match end {
            End::Branches { inst } => self.change.function().guard_of(inst),
            _ => None,
        };
        self.set_detours(block, guard, taken, falls);
        let original = |way: Way| {
            let mut edges = self.shape.edges_of(block).map(|edge| self.shape.edge(edge));
            edges.find(|edge| edge.way == way).map(|Edge { to, .. }| to)
        };
        let lead = |way, detour: Option<Detour>| match detour {
            Some(detour) => Some(self.blocks[detour.gate as usize]),
            None => original(way),
        };
        let (taken_to, falls_to) = (lead(Way::Taken, taken), lead(Way::Fall, falls));
        match (end, taken_to, falls_to) {
            (End::Falls { before }, _, Some(to)) => self.fall(block, before.is_some(), to),
            (End::Jumps { inst }, Some(to), _) => {
                if taken.is_some() && self.change.next_in_text(block) == Some(to) {
                    self.change.delete_branch(inst);
                } else if taken.is_some() {
                    self.change.redirect(inst, to);
                }
            }
            (End::Branches { inst }, Some(to), Some(falls_to)) => {
                self.lead_branch(block, inst, taken.is_some(), to, falls_to);
            }
            _ => unreachable!("an end has the ways out that it has"),
        }
    }

    /// Sets what the detours of a block carry.
    fn set_detours(
        &mut self,
        block: BlockId,
        guard: Option<Operand>,
        taken: Option<Detour>,
        falls: Option<Detour>,
    ) {
        let carrier_of = |gates: &Gates, detour: Detour| gates.gates[detour.gate as usize].carrier;
        let same = |one: Detour, other: Detour| {
            one.carries == other.carries && carrier_of(self.gates, one) == carrier_of(self.gates, other)
        };
        if let (Some(one), Some(other)) = (taken, falls)
            && same(one, other)
        {
            if !self.carries_default(&one) {
                self.set(block, carrier_of(self.gates, one), one.carries, None);
            }
            return;
        }
        let mut is_free = true;
        for (detour, is_taken) in [(falls, false), (taken, true)] {
            let Some(detour) = detour else { continue };
            if self.carries_default(&detour) {
                is_free = false;
                continue;
            }
            // Nothing else reads it on the other way out, unless it holds what was set before.
            let needs_guard = guard.filter(|_| self.default_of(&detour).is_some() || !is_free);
            let needs_guard = needs_guard.map(|guard| if is_taken { guard } else { negated(guard) });
            self.set(block, carrier_of(self.gates, detour), detour.carries, needs_guard);
            is_free = false;
        }
    }

    fn lead_branch(
        &mut self,
        block: BlockId,
        inst: InstId,
        is_changed: bool,
        to: BlockId,
        falls_to: BlockId,
    ) {
        let next = self.change.next_in_text(block);
        if next == Some(falls_to) && self.only_jumps_to(falls_to) == Some(to) {
            self.change.delete_branch(inst);
        } else if to == falls_to {
            self.change.delete_branch(inst);
            self.fall(block, false, to);
        } else if next == Some(falls_to) {
            if is_changed {
                self.change.redirect(inst, to);
            }
        } else if next == Some(to) {
            self.change.negate_guard(inst);
            self.change.redirect(inst, falls_to);
        } else {
            if is_changed {
                self.change.redirect(inst, to);
            }
            self.fall(block, true, falls_to);
        }
    }

    /// Where an unguarded jump leads that is all that a block of the function holds, and will hold.
    fn only_jumps_to(&self, block: BlockId) -> Option<BlockId> {
        let End::Jumps { inst } = *self.shape.ends.get(block.index())? else { return None };
        if !self.change.function().insts_of(block).eq([inst]) {
            return None;
        }
        let edge = self.shape.edges_of(block).start;
        match self.gates.detours.binary_search_by_key(&edge, |detour| detour.edge) {
            Err(_) => Some(self.shape.edge(edge).to),
            Ok(at) => {
                let detour = self.gates.detours[at];
                self.carries_default(&detour).then(|| self.blocks[detour.gate as usize])
            }
        }
    }

    /// Lets a block go on at `to` at its end; `ends` says that control flow stands there.
    fn fall(&mut self, block: BlockId, ends: bool, to: BlockId) {
        if self.change.next_in_text(block) == Some(to) {
            return;
        }
        let block = if ends { self.block_after(block) } else { block };
        self.branch(block, to, None);
    }

    fn branch(&mut self, block: BlockId, to: BlockId, guard: Option<Operand>) {
        let bra = self.change.insert_at_end(block, self.forms.bra, &[Operand::block(to)], guard);
        self.change.redirect(bra, to);
    }

    /// Leads the entries of a table where they now go. What threads carry is set in a block of its own for each.
    fn lead_table(&mut self, block: BlockId, table: TableId, detours: &[Detour]) {
        let mut stubs: Vec<(Detour, BlockId)> = Vec::new();
        let mut last = block;
        let mut by_target: Vec<Detour> = detours.to_vec();
        by_target.sort_by_key(|detour| (detour.gate, detour.carries));
        for detour in by_target {
            let Way::Entry(position) = self.shape.edge(detour.edge).way else {
                unreachable!("an indexed branch has entries")
            };
            let gate = self.blocks[detour.gate as usize];
            let to = if self.carries_default(&detour) {
                gate
            } else if let Some((known, stub)) = stubs.last()
                && (known.gate, known.carries) == (detour.gate, detour.carries)
            {
                *stub
            } else {
                last = self.block_after(last);
                let carrier = self.gates.gates[detour.gate as usize].carrier;
                let (form, operands) = self.setting(carrier, detour.carries);
                self.change.insert_at_end(last, form, &operands, None);
                stubs.push((detour, last));
                last
            };
            self.change.set_target(table, position as usize, to);
        }
        for (detour, stub) in stubs {
            self.fall(stub, false, self.blocks[detour.gate as usize]);
        }
    }

    /// Writes tests and branches of the gates.
    fn write_gates(&mut self) {
        for (at, gate) in self.gates.gates.iter().enumerate() {
            let block = self.blocks[at];
            let Carried { predicate, number } = self.carried[gate.carrier as usize];
            if let Some(number) = number {
                let form = if gate.is_negated { self.forms.not_equal } else { self.forms.equal };
                let operands = [
                    Operand::predicate(predicate, false),
                    Operand::register(number),
                    Operand::int(gate.number as i32),
                ];
                self.change.insert_at_end(block, form, &operands, None);
            }
            let (then, otherwise) = (self.block_of(gate.then), self.block_of(gate.otherwise));
            let next = self.change.next_in_text(block);
            if next == Some(otherwise) {
                self.branch(block, then, Some(Operand::predicate(predicate, false)));
            } else {
                self.branch(block, otherwise, Some(Operand::predicate(predicate, true)));
                self.fall(block, true, then);
            }
        }
    }
}

fn negated(guard: Operand) -> Operand {
    match guard.kind() {
        OperandKind::Predicate { vreg, negated } => Operand::predicate(vreg, !negated),
        _ => unreachable!("branches with other guards are not taken"),
    }
}
