//! Low halves: what is computed in 64 bits, and of which only the lower 32 are read, is computed in 32.
//!
//! ```text
//! cvt.u64.u32 d1, r1;
//! cvt.s64.s32 d2, r2;
//! xor.b64 d3, d1, d2;
//! cvt.u32.u64 r3, d3;     ->     xor.b32 r3, r1, r2;
//! ```
//! C that mixes `int` with `size_t` or `long` is full of that. A machine of 32 bits computes both halves; `ptxas` drops the upper one, but
//! other readers of PTX do not, and the code is longer.
//!
//! # How it works
//! Of sums, products, logic, shifts to the left and selections, the lower half of the result takes the lower halves of the sources. So
//! does that of a load and that of a phi. A register is *whole* where something else reads it than these and what takes a lower half
//! alone: a truncation, an extension of a lower part, a store of few bits. What a whole register is computed of is whole, too. All others
//! that are computed of one another are a *group*, which is computed in 32 bits if that takes fewer instructions:
//! - A truncation goes, and so does what extended 32 bits for nothing else. Where a phi reads the one or the other, a copy stays in its
//!   place, as a rule, and it does not count.
//! - The lower half of a register that stays is cut off for each reader. Literals are cut for nothing, and so is what was extended from 32
//!   bits. But where the extension stays, its source lives longer than it did. A copy of the source counts where a phi reads it, or where
//!   the next value of its variable is computed before it is read.
//!
//! # What it leaves alone
//! - Loads from parameters, of several numbers, volatile ones and those with a pragma.
//! - A phi into which a register comes whole: no place is for the truncation.
//! - A phi of a loop. `ptxas` 13.0.88 unrolls a loop whose counter has 32 bits and is compared, and not one whose counter is cut off: with
//!   them, the loops of CuPy's `upfirdn` take up to 26 more registers and 4,800 more machine instructions (`--bin compared`), for 24
//!   instructions of PTX in the wild set.
//!
//! The whole function is decided by passes over its operands, and nothing is asked twice.

use super::super::Walk;
use super::super::constants;
use super::super::groups::Groups;
use super::super::pattern::{Extension, integer_of, plain};
use super::super::rules::{stored_bits, type_of_mask};
use super::form;
use ptxopt_components::anchor::AnchorKind;
use ptxopt_components::block::BlockFlags;
use ptxopt_components::code_object::Room;
use ptxopt_components::description::Description;
use ptxopt_components::form::{Form, FormFlags, Role, shape};
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Part, Qualifiers};
use ptxopt_components::types::{PtxType, StateSpace, TypeKind, truncate};
use ptxopt_engine::store::view::FunctionView;

const REASON: &str = "only the lower half is read";

/// In the place of an entry: a register that has none.
const NONE: u32 = u32::MAX;

/// Memory of the step.
#[derive(Default)]
pub(super) struct LowHalves {
    /// What computes registers of 64 bits that may be narrow.
    candidates: Vec<InstId>,
    /// Whether a part of a register of 64 bits is read.
    is_cut: bool,
    /// By register: its entry in `entries`.
    entry: Vec<u32>,
    /// In program order.
    entries: Vec<Entry>,
    groups: Groups,
    reads: Vec<Read>,
    /// By register that was there before the form was built: the value of it that was computed last.
    latest: Vec<Option<VRegId>>,
    /// By register: the row in which the next value of the same register is computed.
    next: Vec<u32>,
    /// An entry that a phi reads, and that of the phi; sorted.
    joined: Vec<(u32, u32)>,
    /// Whole entries that are to be followed.
    open: Vec<u32>,
    /// By entry, for the first one of a group that of all.
    gains: Vec<Gain>,
    /// Each group's first entry, with one of its entries.
    members: Vec<(u32, u32)>,
}

/// What comes of computing in 32 bits.
#[derive(Clone, Copy, Default)]
struct Gain {
    /// Instructions that go, once nothing is dead.
    gone: u32,
    /// Lower halves that are cut off.
    cut: u32,
    /// Whether anything is computed.
    computes: bool,
}

/// A register of 64 bits whose lower half can be had without it.
#[derive(Clone, Copy)]
struct Entry {
    inst: InstId,
    /// The place of the instruction in the order of the code.
    row: u32,
    result: VRegId,
    made: Made,
    is_whole: bool,
    /// Whether a phi reads it.
    is_joined: bool,
    /// What holds the lower half, once there is a register for it.
    low: Option<VRegId>,
}

/// How a lower half can be had.
#[derive(Clone, Copy)]
enum Made {
    /// By what computes all of it, in 32 bits, of the lower halves of the operands from the first of these positions up to the second.
    Computed(usize, usize),
    /// By the phi that joins all of it, of the lower halves of its values.
    Joined,
    /// A register that is read as one of this type is extended to it.
    Extended { from: PtxType, source: VRegId },
}

impl Made {
    /// Where among the operands those are of which lower halves are taken.
    fn positions(self, operands: &[Operand]) -> impl Iterator<Item = usize> + use<> {
        match self {
            Self::Computed(first, end) => (first..end).step_by(1),
            Self::Joined => (2..operands.len()).step_by(2),
            Self::Extended { .. } => (0..0).step_by(1),
        }
    }
}

/// An operand that reads nothing but the lower half of a register.
#[derive(Clone, Copy)]
struct Read {
    /// The first entry of the register's group.
    group: u32,
    inst: InstId,
    /// The place of the instruction in the order of the code.
    row: u32,
    position: usize,
    entry: u32,
    /// Whether its instruction does nothing but cut it off.
    truncates: bool,
}

/// Where a lower half comes from.
#[derive(Clone, Copy)]
enum Low {
    /// A register that has it.
    In(VRegId),
    /// An entry that is to get a register for it.
    Of(u32),
    /// A register that stays, of which it is cut off.
    CutOff(VRegId),
}

impl LowHalves {
    /// Forgets the function before.
    pub(super) fn start(&mut self) {
        self.candidates.clear();
        self.is_cut = false;
    }

    /// Notes an instruction, of which all are shown.
    #[inline]
    pub(super) fn look_at(&mut self, function: &FunctionView<'_>, inst: InstId, form: &Form) {
        let first = form.types[0].map_or(0, PtxType::bits);
        let extends = matches!(form.operation, Operation::Ld | Operation::Mad | Operation::Mul);
        if form.is_phi() || may_be_narrow(form.operation) && (first == 64 || extends) {
            self.candidates.push(inst);
        }
        let may_cut = matches!(form.operation, Operation::Cvt | Operation::St)
            && form.types.iter().flatten().any(|ty| ty.bits() <= 32);
        let is_wide = |operand: &Operand| {
            operand.vreg().is_some_and(|vreg| function.vregs[vreg.index()].ty.element().bits() == 64)
        };
        self.is_cut = self.is_cut || may_cut && function.operands_of(inst).iter().skip(1).any(is_wide);
    }

    /// Whether something may be computed in 32 bits, and a part of anything of 64 bits is read.
    pub(super) fn has_some(&self) -> bool {
        self.is_cut && !self.candidates.is_empty()
    }

    /// Notes nothing of the registers of a function yet, of which there are so many.
    fn start_entries(&mut self, vreg_count: usize) {
        self.entry.clear();
        self.entry.resize(vreg_count, NONE);
        self.entries.clear();
        self.groups.clear();
        self.reads.clear();
        self.latest.clear();
        self.latest.resize(vreg_count, None);
        self.next.clear();
        self.next.resize(vreg_count, NONE);
        self.joined.clear();
    }

    /// The entry of a register; those that have been made since have none.
    fn entry_of(&self, vreg: VRegId) -> Option<u32> {
        self.entry.get(vreg.index()).copied().filter(|&entry| entry != NONE)
    }

    /// Where the lower half of a register comes from.
    fn low(&self, walk: &Walk<'_, '_>, vreg: VRegId) -> Low {
        let Some(number) = self.entry_of(vreg) else { return Low::CutOff(vreg) };
        let Entry { made, is_whole, .. } = self.entries[number as usize];
        match made {
            Made::Extended { from, source } if from.bits() == 32 && walk.width(source) == 32 => {
                Low::In(source)
            }
            _ if is_whole => Low::CutOff(vreg),
            Made::Extended { from, source } if from.bits() == 32 => self.low(walk, source),
            _ => Low::Of(number),
        }
    }

    /// Notes that an entry takes the lower half of a register, which is read in `row`; by a phi, if there is none.
    fn take(&mut self, walk: &Walk<'_, '_>, vreg: VRegId, taker: u32, row: Option<u32>) {
        let entry = self.entry_of(vreg);
        let stays = entry.is_none_or(|entry| self.entries[entry as usize].is_whole);
        if let Some(entry) = entry.filter(|_| !stays) {
            self.groups.join(entry, taker);
        }
        let counts = match self.low(walk, vreg) {
            Low::In(source) => stays && row.is_none_or(|row| self.next[source.index()] < row),
            Low::Of(_) => false,
            Low::CutOff(_) => true,
        };
        self.gains[taker as usize].cut += u32::from(counts);
    }

    /// What a register is computed of must be whole where it is, and so must a phi: nothing cuts off halves where it stands.
    fn spread(&mut self, walk: &Walk<'_, '_>) {
        let Self { entries, entry, joined, open, .. } = self;
        joined.sort_unstable();
        open.clear();
        open.extend((0..entries.len() as u32).filter(|&at| entries[at as usize].is_whole));
        while let Some(at) = open.pop() {
            let Entry { inst, made, .. } = entries[at as usize];
            let mut make_whole = |entry: u32| {
                if !std::mem::replace(&mut entries[entry as usize].is_whole, true) {
                    open.push(entry);
                }
            };
            if type_of_mask(walk, inst).is_none() {
                let operands = walk.f.operands_of(inst);
                let sources = made.positions(operands).filter_map(|position| operands[position].vreg());
                sources
                    .map(|source| entry[source.index()])
                    .filter(|&entry| entry != NONE)
                    .for_each(&mut make_whole);
            }
            let phis = joined.partition_point(|&(source, _)| source < at)..;
            joined[phis].iter().take_while(|pair| pair.0 == at).for_each(|pair| make_whole(pair.1));
        }
    }

    /// Finds out what each group gains.
    fn weigh(&mut self, walk: &mut Walk<'_, '_>) {
        self.gains.clear();
        self.gains.resize(self.entries.len(), Gain::default());
        for at in 0..self.entries.len() {
            let Entry { inst, row, made, is_whole, is_joined, .. } = self.entries[at];
            if is_whole {
                continue;
            }
            match made {
                Made::Computed(..) | Made::Joined => {
                    self.gains[at].computes = true;
                    let row = Some(row).filter(|_| !matches!(made, Made::Joined));
                    let operands = walk.f.operands_of(inst);
                    for source in made.positions(operands).filter_map(|position| operands[position].vreg()) {
                        self.take(walk, source, at as u32, row);
                    }
                }
                Made::Extended { from, source } if from.bits() == 32 => {
                    self.gains[at].gone += u32::from(!is_joined);
                    if let Low::Of(entry) = self.low(walk, source) {
                        self.groups.join(entry, at as u32);
                    }
                }
                Made::Extended { .. } => {}
            }
        }
        self.reads.retain(|read| !self.entries[read.entry as usize].is_whole);
        for at in 0..self.reads.len() {
            let Read { inst, row, entry, truncates, .. } = self.reads[at];
            // What a phi reads is copied, as a rule.
            let cut = walk.only_result(inst).filter(|_| truncates);
            let goes = cut.is_some_and(|cut| !walk.is_read_by_phi(cut));
            self.gains[entry as usize].gone += u32::from(goes);
            self.take(walk, self.entries[entry as usize].result, entry, Some(row));
        }
        self.members.clear();
        for at in 0..self.entries.len() as u32 {
            if self.entries[at as usize].is_whole {
                continue;
            }
            let first = self.groups.first_of(at);
            self.members.push((first, at));
            if first != at {
                let Gain { gone, cut, computes } = self.gains[at as usize];
                let all = &mut self.gains[first as usize];
                *all = Gain { gone: all.gone + gone, cut: all.cut + cut, computes: all.computes || computes };
            }
        }
        self.members.sort_unstable();
        for read in &mut self.reads {
            read.group = self.groups.first_of(read.entry);
        }
        self.reads.sort_by_key(|read| read.group);
    }
}

impl Walk<'_, '_> {
    /// Computes in 32 bits what takes fewer instructions so; gives nothing where the bisect limit is reached.
    pub(super) fn compute_low_halves(&mut self, halves: &mut LowHalves) -> Option<()> {
        halves.start_entries(self.f.view().vregs.len());
        self.find_entries(halves);
        if halves.entries.is_empty() {
            return Some(());
        }
        self.find_reads(halves);
        halves.spread(self);
        halves.weigh(self);
        let members = std::mem::take(&mut halves.members);
        let mut is_all = Some(());
        for group in members.chunk_by(|one, other| one.0 == other.0) {
            let gain = halves.gains[group[0].0 as usize];
            if is_all.is_some() && gain.computes && gain.gone > gain.cut {
                is_all = self.compute_group(halves, group, gain);
            }
        }
        halves.members = members;
        is_all
    }

    fn find_entries(&mut self, halves: &mut LowHalves) {
        let has_pragmas = self.f.view().anchors.iter().any(|anchor| anchor.kind == AnchorKind::InstPragma);
        for at in 0..halves.candidates.len() {
            let inst = halves.candidates[at];
            let Some((result, made)) = self.made(inst, has_pragmas) else { continue };
            halves.entry[result.index()] = halves.groups.add();
            let entry = Entry { inst, row: 0, result, made, is_whole: false, is_joined: false, low: None };
            halves.entries.push(entry);
        }
    }

    /// How the lower half of what an instruction computes can be had.
    fn made(&mut self, inst: InstId, has_pragmas: bool) -> Option<(VRegId, Made)> {
        let result = self.only_result(inst)?;
        let ty = self.f.vreg(result).ty.element();
        if !ty.is_of_integers() || ty.bits() != 64 || !self.is_value(result) {
            return None;
        }
        let form = *self.f.form_of(inst);
        if form.is_phi() {
            let block = self.f.head(inst).block;
            if self.f.view().blocks[block.index()].flags.contains(BlockFlags::LOOP_HEADER) {
                return None;
            }
            let operands = self.f.operands_of(inst);
            let mut values = Made::Joined.positions(operands).map(|position| operands[position].vreg());
            let is_wide = values.all(|value| value.is_some_and(|value| self.width(value) == 64));
            return is_wide.then_some((result, Made::Joined));
        }
        let description = *self.f.description_of(inst);
        let first = description.types[0].filter(|ty| ty.is_of_integers())?;
        let made = match (form.operation, description.qualifiers.part) {
            (Operation::Ld, _) => {
                let is_plain = form.effects == Effects::READ
                    && form.space != StateSpace::Param
                    && description.lanes() == 1
                    && !has_pragmas;
                is_plain.then_some(Made::Computed(1, 1))?
            }
            _ if !form.flags.contains(FormFlags::PLAIN) => return None,
            (Operation::Cvt, _) => {
                let extension = self.conversion(inst).filter(|found| found.from.bits() <= 32)?;
                let source = extension.source.vreg().filter(|&source| self.is_value(source))?;
                let definition = self.reaching.only_definition(source)?;
                // No chain of extensions is followed: rules make one of two.
                let is_first =
                    self.f.form_of(definition).operation != Operation::Cvt || self.width(source) < 64;
                let is_still = is_first && self.is_still(extension.source, inst, inst);
                is_still.then_some(Made::Extended { from: extension.from, source })?
            }
            (Operation::Mov, _) if self.f.operands_of(inst).len() == 2 => Made::Computed(1, 2),
            (Operation::Mov, _) => {
                let &[_, low, _] = self.f.operands_of(inst) else { return None };
                let is_pack = self.f.slots_of(inst)[1].role == Role::Use;
                let source = low.vreg().filter(|&source| is_pack && self.is_value(source))?;
                // No instruction on integers takes a register of floats.
                let is_integer = self.f.vreg(source).ty.element().is_of_integers();
                let is_half = is_integer && self.width(source) == 32 && low == plain(low);
                let is_still = is_half && self.is_still(low, inst, inst);
                is_still.then_some(Made::Extended { from: PtxType::U32, source })?
            }
            (Operation::Mul, Some(Part::Wide)) => Made::Computed(1, 1),
            (Operation::Mad, Some(Part::Wide)) => Made::Computed(3, 4),
            (Operation::Mad, Some(Part::Low)) => Made::Computed(1, 4),
            (Operation::Mul, Some(Part::Low)) => Made::Computed(1, 3),
            (Operation::Mul | Operation::Mad, _) => return None,
            (Operation::Not | Operation::Neg | Operation::Shl, _) => Made::Computed(1, 2),
            _ => Made::Computed(1, 3),
        };
        let Made::Computed(..) = made else { return Some((result, made)) };
        let is_wide = first.bits() == 64 || description.qualifiers.part == Some(Part::Wide);
        let operands = self.f.operands_of(inst);
        let is_whole = |at: usize| match operands[at].vreg() {
            Some(vreg) => {
                let ty = self.f.vreg(vreg).ty.element();
                operands[at] == plain(operands[at]) && ty.is_of_integers() && ty.bits() == 64
            }
            None => self.literal(operands[at]).is_some(),
        };
        let is_known = form.operation == Operation::Ld || is_wide && made.positions(operands).all(is_whole);
        is_known.then_some((result, made))
    }

    /// Notes the operands that read lower halves only, and what else is read as whole.
    fn find_reads(&self, halves: &mut LowHalves) {
        for ((inst, head, operands), row) in self.f.view().rows().zip(0..) {
            for value in
                operands.iter().filter(|operand| operand.is_definition()).filter_map(|operand| operand.vreg())
            {
                let latest = &mut halves.latest[self.origins.origin(value).index()];
                if let Some(before) = latest.replace(value) {
                    halves.next[before.index()] = row;
                }
            }
            let result = operands.first().and_then(|result| result.vreg());
            let reader = result.and_then(|result| halves.entry_of(result));
            let reader = reader.filter(|&reader| halves.entries[reader as usize].inst == inst);
            if let Some(reader) = reader {
                halves.entries[reader as usize].row = row;
            }
            for (position, operand) in operands.iter().enumerate().filter(|(_, operand)| operand.is_use()) {
                let Some(vreg) = operand.vreg() else { continue };
                let entry = halves.entry_of(vreg);
                match (entry, reader) {
                    (_, Some(reader)) if head.is_phi() => self.find_joined(halves, entry, reader),
                    (Some(entry), _) => {
                        let made = reader.map(|reader| halves.entries[reader as usize].made);
                        let is_taken =
                            made.is_some_and(|made| made.positions(operands).any(|at| at == position));
                        if let Some(truncates) = self.reads_low(inst, position) {
                            halves.reads.push(Read { group: entry, inst, row, position, entry, truncates });
                        } else if !is_taken {
                            halves.entries[entry as usize].is_whole = true;
                        }
                    }
                    (None, _) => {}
                }
            }
        }
    }

    /// Notes what a phi reads. It is whole where that has no entry, or where its lower half is that of something else.
    fn find_joined(&self, halves: &mut LowHalves, entry: Option<u32>, phi: u32) {
        let found = entry.map(|entry| (entry, halves.entries[entry as usize].made));
        match found {
            Some((entry, Made::Extended { from, source })) if from.bits() == 32 => {
                halves.entries[entry as usize].is_joined = true;
                halves.entries[phi as usize].is_whole |= self.width(source) != 32;
            }
            Some((entry, _)) => halves.joined.push((entry, phi)),
            None => halves.entries[phi as usize].is_whole = true,
        }
    }

    /// Whether an operand reads no more than 32 bits of a register of 64, and then whether all that its instruction does is to cut them off.
    fn reads_low(&self, inst: InstId, position: usize) -> Option<bool> {
        let is_low = match self.f.form_of(inst).operation {
            Operation::Cvt => {
                let found = self.conversion(inst)?;
                if found.from.bits() == 64 && found.to.bits() == 32 {
                    return Some(true);
                }
                found.from.bits().min(found.to.bits()) <= 32
            }
            Operation::St => {
                let (stored, bits) = stored_bits(self, inst)?;
                stored == position && bits <= 32
            }
            Operation::And => type_of_mask(self, inst).is_some(),
            _ => false,
        };
        is_low.then_some(false)
    }

    /// Computes the lower halves of a group, and lets those read them who read nothing else.
    fn compute_group(&mut self, halves: &mut LowHalves, group: &[(u32, u32)], gain: Gain) -> Option<()> {
        let first = group[0].0;
        let offset = self.f.offset_of(halves.entries[first as usize].inst);
        let room = Room { insts: gain.cut, vregs: group.len() as u32 + gain.cut, ..Room::default() };
        self.f.change_with_room(offset, REASON, room)?;
        for &(_, at) in group {
            let entry = &mut halves.entries[at as usize];
            if !matches!(entry.made, Made::Extended { from, .. } if from.bits() == 32) {
                entry.low = Some(self.f.required_change().new_vreg(PtxType::B32));
            }
        }
        for &(_, at) in group {
            self.compute(halves, halves.entries[at as usize]);
        }
        let reads = halves.reads.partition_point(|read| read.group < first)..;
        for read in halves.reads[reads].iter().take_while(|read| read.group == first) {
            self.read_low(halves, read);
        }
        Some(())
    }

    /// Computes the lower half of a register in the place of all of it.
    fn compute(&mut self, halves: &LowHalves, entry: Entry) {
        let Entry { inst, made, .. } = entry;
        let Some(low) = entry.low.map(Operand::register) else { return };
        let form = self.f.head(inst).form;
        let description = *self.f.description_of(inst);
        let mut operands = self.f.operands_of(inst).to_vec();
        operands[0] = low;
        let ty = description.types[0].map_or(PtxType::B32, narrow);
        for position in made.positions(&operands) {
            operands[position] = match operands[position].vreg() {
                Some(vreg) => self.low_register(halves, vreg, inst),
                None => {
                    let bits = self.literal(operands[position]).expect("it is an integer");
                    constants::operand(&mut self.f.required_change(), truncate(bits, 32), ty)
                }
            };
        }
        let mut change = self.f.required_change();
        let form = if let Made::Joined = made {
            Some(change.forms().phi(ty, operands.len() / 2))
        } else if description.qualifiers.part == Some(Part::Wide) {
            let part = Some(Part::Low);
            let qualifiers = Qualifiers { part, ..description.qualifiers };
            change.forms().build(&Description { qualifiers, ..description }, shape::plain(operands.len()))
        } else if description.types[0].is_some_and(|ty| ty.bits() < 64) {
            Some(form)
        } else {
            change.forms().with_type(form, 0, ty)
        };
        change.set_form(inst, form.expect("all integers have it"), &operands);
    }

    /// Lets an operand that reads the lower half of a register read that of 32 bits.
    fn read_low(&mut self, halves: &LowHalves, read: &Read) {
        let &Read { inst, position, entry, .. } = read;
        let whole = halves.entries[entry as usize].result;
        let operands = self.f.operands_of(inst);
        let result = operands[0];
        if operands[position].vreg() != Some(whole) {
            // A mask that is computed in 32 bits.
            return;
        }
        let mask = type_of_mask(self, inst);
        let truncated = self.conversion(inst).filter(|found| found.from.bits() == 64);
        let low = self.low_register(halves, whole, inst);
        let mut change = self.f.required_change();
        let form = match (mask, truncated) {
            (Some(bits), _) => form(&mut change, Operation::Cvt, &[PtxType::U64, integer_of(bits, false)], 2),
            (_, Some(Extension { to, .. })) if to.bits() == 32 => {
                form(&mut change, Operation::Mov, &[PtxType::B32], 2)
            }
            (_, Some(Extension { to, .. })) => form(&mut change, Operation::Cvt, &[to, PtxType::U32], 2),
            (None, None) => return change.set_operand(inst, position, low),
        };
        change.set_form(inst, form, &[result, low]);
    }

    /// The lower half of a register, for an instruction, before which it may be cut off.
    fn low_register(&mut self, halves: &LowHalves, vreg: VRegId, inst: InstId) -> Operand {
        Operand::register(match halves.low(self, vreg) {
            Low::In(source) => source,
            Low::Of(entry) => halves.entries[entry as usize].low.expect("it is of the group"),
            Low::CutOff(whole) => {
                let mut change = self.f.required_change();
                let low = change.new_vreg(PtxType::B32);
                let form = form(&mut change, Operation::Cvt, &[PtxType::U32, PtxType::U64], 2);
                change.insert_before(inst, form, &[low, whole].map(Operand::register), None);
                low
            }
        })
    }
}

/// Whether the lower half of a result may be computed without the upper one.
fn may_be_narrow(operation: Operation) -> bool {
    use Operation::{Add, And, Cvt, Ld, Mad, Mov, Mul, Neg, Not, Or, Selp, Shl, Sub, Xor};
    matches!(operation, Add | And | Cvt | Ld | Mad | Mov | Mul | Neg | Not | Or | Selp | Shl | Sub | Xor)
}

/// The type of 32 bits that computes the lower half of what one of 64 computes.
fn narrow(ty: PtxType) -> PtxType {
    match ty.kind() {
        TypeKind::Bits => PtxType::B32,
        _ => integer_of(32, ty.is_signed()),
    }
}
