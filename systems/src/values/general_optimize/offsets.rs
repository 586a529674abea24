//! Offsets: constants that are added to an index become the offsets of the accesses.
//!
//! ```text
//! add.s32 r2, r1, 5;                        mul.wide.s32 d3, r1, 4;
//! mul.wide.s32 d3, r2, 4;           ->      add.s64 d4, d3, d1;
//! add.s64 d4, d3, d1;                       ld.global.u32 r3, [d4+20];
//! ld.global.u32 r3, [d4];
//! ```
//! What computes the address is the same for all constants then, and value numbering leaves one of it.
//!
//! # How it works
//! A register is *moved* if it would be less by a constant without a sum before it: the result of the sum, and what is
//! computed of that by sums, products with literals, shifts to the left, extensions and copies, even dead ones. One walk in
//! reverse postorder follows moved registers to all who read them. Those that are joined are a *group*. Where only accesses read a group in the end, its
//! sums are passed over, and the offsets take the constants. Nothing is inserted, and the sums are dead: each group makes
//! the code shorter.
//!
//! # What it costs
//! The walk of the phase notes whether it has seen an access whose address comes of a sum with a constant: without one, nothing
//! is followed.
//!
//! # Guards
//! - All who read the sum go along. Otherwise it stays, and its source lives beside it:
//!   ```text
//!   add.s32 r2, r1, 5; mul.wide.s32 d3, r2, 4; setp.lt.s32 p1, r2, r9;    // r2 is needed
//!   ```
//! - All equal sums go together: value numbering leaves one of them.
//! - A sum that is extended must not wrap around at its own width. Bits and ranges tell:
//!   ```text
//!   add.s32 r2, r1, 5; mul.wide.s32 d3, r2, 4;      // r1 = 0x7FFFFFFF: d3 is negative, and r1 * 4 + 20 is not
//!   ```
//!   Within one width nothing has to be known, as addresses wrap around at the width of their sums.
//! - No offset leaves what every access takes.
//! - The sum is not the next value of its source, as in `i = i + 1`: both would live at once.

use super::Walk;
use super::clues::Clues;
use super::groups::Groups;
use super::pattern::plain;
use super::rules::{ACCESSES, with_more};
use ahash::AHashMap;
use ptxopt_components::form::{FormFlags, Kinds};
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::operand::{Operand, reads};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Part;
use ptxopt_components::types::{PtxType, extend, truncate};
use ptxopt_engine::values::phis::phis_of;

/// In the place of an entry: a register that is not moved, and one that cannot be.
const NOT_MOVED: u32 = u32::MAX;
const STAYS: u32 = NOT_MOVED - 1;

const REASON: &str = "the offset of the access takes a constant that was added to the index";

/// Memory of the step.
#[derive(Default)]
pub(super) struct Offsets {
    /// By register: its entry in `moved`.
    entry: Vec<u32>,
    moved: Vec<Moved>,
    groups: Groups,
    reads: Vec<Read>,
    /// By source and constant: the entry of a sum.
    sums: AHashMap<(VRegId, u64), u32>,
}

/// A register that would be less by a constant.
#[derive(Clone, Copy)]
struct Moved {
    /// What it would be less by, cut to its width.
    by: u64,
    /// Its source, where it is the sum itself.
    base: Option<VRegId>,
    /// Of the first entry of a group: whether something needs a register of the group as it is.
    is_needed: bool,
    /// Of the first entry of a group: whether one of its reads was changed.
    has_begun: bool,
}

/// An operand that reads a moved register.
struct Read {
    inst: InstId,
    position: usize,
    /// The entry of the register.
    entry: u32,
    /// Whether it is the address of an access.
    is_address: bool,
}

impl Offsets {
    /// Forgets the function before; this one has `vreg_count` registers.
    fn start(&mut self, vreg_count: usize) {
        self.entry.clear();
        self.entry.resize(vreg_count, NOT_MOVED);
        self.moved.clear();
        self.groups.clear();
        self.reads.clear();
        self.sums.clear();
    }

    /// The entry of a register that is moved.
    #[inline]
    fn entry_of(&self, vreg: VRegId) -> Option<u32> {
        Some(self.entry[vreg.index()]).filter(|&entry| entry < STAYS)
    }

    /// What an operand would be less by: nothing, if it is no moved register.
    fn by(&self, operand: Operand) -> u64 {
        self.moved_as(operand).map_or(0, |moved| moved.by)
    }

    /// The entry of a moved register that is all of an operand.
    fn moved_as(&self, operand: Operand) -> Option<&Moved> {
        let entry = self.entry_of(operand.vreg()?)?;
        Some(&self.moved[entry as usize])
    }

    /// Makes two groups one.
    fn join(&mut self, one: u32, other: u32) {
        let (first, second) = self.groups.join(one, other);
        let is_needed = self.moved[second as usize].is_needed;
        self.moved[first as usize].is_needed |= is_needed;
    }

    /// Notes that a register is needed as it is.
    fn need(&mut self, entry: u32) {
        let first = self.groups.first_of(entry);
        self.moved[first as usize].is_needed = true;
    }

    fn add(&mut self, vreg: VRegId, by: u64, base: Option<VRegId>) -> u32 {
        let entry = self.groups.add();
        self.entry[vreg.index()] = entry;
        self.moved.push(Moved { by, base, is_needed: false, has_begun: false });
        entry
    }
}

/// Whether an instruction with these clues is an access whose address may be computed of a sum with a constant. An address that is
/// such a sum is one for the [rules](super::rules).
pub(super) fn may_take(operation: Operation, clues: Clues) -> bool {
    clues.intersects(Clues::INDEXED | Clues::BITS_SET) && ACCESSES.contains(&operation)
}

impl Walk<'_, '_> {
    /// Moves the constants of a function in SSA form whose blocks come in reverse postorder; gives nothing where the bisect limit
    /// is reached.
    pub(super) fn move_into_offsets(&mut self, offsets: &mut Offsets, order: &[BlockId]) -> Option<()> {
        offsets.start(self.f.view().vregs.len());
        self.keep_what_phis_read(offsets, order);
        for &block in order {
            for inst in self.reaching.rows_of(block).range().map(InstId::new) {
                let (head, operands) = self.f.row(inst);
                if !head.is_live() {
                    continue;
                }
                if !offsets.moved.is_empty() && reads(operands).any(|vreg| offsets.entry_of(vreg).is_some()) {
                    self.follow(offsets, inst);
                } else if let &[_, _, last] = operands
                    && last.kinds() == Kinds::NUMBER
                    && matches!(
                        self.f.form(head.form).operation,
                        Operation::Add | Operation::Sub | Operation::Or
                    )
                {
                    self.start_at_sum(offsets, inst);
                }
            }
        }
        self.change_reads(offsets)
    }

    /// What phis read stays: it is copied at the ends of blocks.
    fn keep_what_phis_read(&self, offsets: &mut Offsets, order: &[BlockId]) {
        let function = self.f.view();
        let phis = order.iter().flat_map(|&block| phis_of(&function, block));
        phis.flat_map(|(_, phi)| reads(phi)).for_each(|vreg| offsets.entry[vreg.index()] = STAYS);
    }

    /// The register that alone is written by an instruction, where that is a value which may be moved.
    fn movable_result(&self, offsets: &Offsets, inst: InstId) -> Option<VRegId> {
        let result = self.only_result(inst)?;
        (offsets.entry[result.index()] == NOT_MOVED && self.is_value(result)).then_some(result)
    }

    /// Whether a register has one definition, which dominates all that read it.
    pub(super) fn is_value(&self, vreg: VRegId) -> bool {
        self.is_own(vreg) && self.f.vreg(vreg).is_value() && self.reaching.only_definition(vreg).is_some()
    }

    /// Begins a group, where an instruction adds a literal.
    fn start_at_sum(&mut self, offsets: &mut Offsets, inst: InstId) -> Option<()> {
        let result = self.movable_result(offsets, inst)?;
        let sum = self.binary(inst)?;
        let literal = truncate(self.literal(sum.other)?, sum.width());
        let base = sum.one.vreg().filter(|&base| sum.one == plain(sum.one) && self.is_value(base))?;
        let is_whole = self.width(result) == sum.width() && self.width(base) == sum.width();
        if !is_whole || !matches!(sum.width(), 32 | 64) || !self.is_still(sum.one, inst, inst) {
            return None;
        }
        let by = match sum.operation {
            Operation::Sub => truncate(literal.wrapping_neg(), sum.width()),
            // Where no bit is in both, it is a sum.
            Operation::Or if self.known(sum.one, sum.width(), inst).possible() & literal != 0 => return None,
            _ => literal,
        };
        let entry = offsets.add(result, by, Some(base));
        let equal = *offsets.sums.entry((base, by)).or_insert(entry);
        offsets.join(equal, entry);
        Some(())
    }

    /// Follows the moved registers that an instruction reads to its result, or notes that they are needed.
    fn follow(&mut self, offsets: &mut Offsets, inst: InstId) {
        if self.follow_to_result(offsets, inst).is_some() {
            return;
        }
        for position in 0..self.f.operands_of(inst).len() {
            let operand = self.f.operands_of(inst)[position];
            let Some(entry) = operand.vreg().and_then(|vreg| offsets.entry_of(vreg)) else { continue };
            if with_more(self, inst, position, offsets.moved[entry as usize].by).is_some() {
                offsets.reads.push(Read { inst, position, entry, is_address: true });
            } else {
                offsets.need(entry);
            }
        }
    }

    fn follow_to_result(&mut self, offsets: &mut Offsets, inst: InstId) -> Option<()> {
        let result = self.movable_result(offsets, inst)?;
        let by = self.result_by(offsets, inst)?;
        let all = offsets.add(result, truncate(by, self.width(result)), None);
        for position in 1..self.f.operands_of(inst).len() {
            let operand = self.f.operands_of(inst)[position];
            if let Some(entry) = operand.vreg().and_then(|vreg| offsets.entry_of(vreg)) {
                offsets.join(entry, all);
                offsets.reads.push(Read { inst, position, entry, is_address: false });
            }
        }
        Some(())
    }

    /// What the result of an instruction would be less by, if that is certain.
    fn result_by(&mut self, offsets: &Offsets, inst: InstId) -> Option<u64> {
        let (head, operands) = self.f.row(inst);
        if !self.f.form(head.form).flags.contains(FormFlags::PLAIN) || operands.len() > 4 {
            return None;
        }
        let mut sources = [Operand::sink(); 3];
        let count = operands.len() - 1;
        sources[..count].copy_from_slice(&operands[1..]);
        let description = *self.f.description_of(inst);
        let ty = description.types[0].filter(|&ty| ty.is_of_integers())?;
        let is_whole = |operand: &Operand| operand.vreg().is_none() || *operand == plain(*operand);
        if !sources[..count].iter().all(is_whole) {
            return None;
        }
        let by = |operand: Operand| offsets.by(operand);
        let part = description.qualifiers.part;
        Some(match (description.operation, part, &sources[..count]) {
            (Operation::Mov, _, &[one]) => by(one),
            (Operation::Add, _, &[one, other]) => by(one).wrapping_add(by(other)),
            (Operation::Sub, _, &[one, other]) => by(one).wrapping_sub(by(other)),
            (Operation::Shl, _, &[one, amount]) => {
                let amount = self.literal(amount).filter(|&amount| amount < u64::from(ty.bits()))?;
                by(one) << amount
            }
            (Operation::Mul, Some(Part::Low), &[one, other]) => self.product_by(offsets, one, other)?,
            (Operation::Mad, Some(Part::Low), &[one, other, addend]) => {
                self.product_by(offsets, one, other)?.wrapping_add(by(addend))
            }
            (Operation::Mul, Some(Part::Wide), &[one, other]) => {
                self.wide_by(offsets, inst, ty, one, other)?
            }
            (Operation::Mad, Some(Part::Wide), &[one, other, addend]) => {
                self.wide_by(offsets, inst, ty, one, other)?.wrapping_add(by(addend))
            }
            (Operation::Cvt, ..) => {
                let found = self.conversion(inst)?;
                let is_extension = found.to.bits() == 64 && found.from.bits() == 32;
                is_extension.then(|| self.extended_by(offsets, inst, found.from, found.source))??
            }
            _ => return None,
        })
    }

    /// What a product would be less by: one factor is a literal, or neither is moved.
    fn product_by(&self, offsets: &Offsets, one: Operand, other: Operand) -> Option<u64> {
        match (offsets.moved_as(one), offsets.moved_as(other)) {
            (None, None) => Some(0),
            (Some(moved), None) => Some(moved.by.wrapping_mul(self.literal(other)?)),
            (None, Some(moved)) => Some(moved.by.wrapping_mul(self.literal(one)?)),
            (Some(_), Some(_)) => None,
        }
    }

    /// What a wide product of factors of type `ty` would be less by.
    fn wide_by(
        &mut self,
        offsets: &Offsets,
        inst: InstId,
        ty: PtxType,
        one: Operand,
        other: Operand,
    ) -> Option<u64> {
        let (factor, literal) = match (offsets.moved_as(one), offsets.moved_as(other)) {
            (None, None) => return Some(0),
            (Some(_), None) => (one, self.literal(other)?),
            (None, Some(_)) => (other, self.literal(one)?),
            (Some(_), Some(_)) => return None,
        };
        let literal = truncate(literal, ty.bits());
        let literal = if ty.is_signed() { extend(literal, ty.bits()) as u64 } else { literal };
        let by = self.extended_by(offsets, inst, ty, factor)?;
        Some(by.wrapping_mul(literal))
    }

    /// What a register of 32 bits would be less by when it is extended to 64 as one of type `ty`: as much as before, if the
    /// sum that it is did not wrap around.
    fn extended_by(&mut self, offsets: &Offsets, inst: InstId, ty: PtxType, source: Operand) -> Option<u64> {
        let Moved { by, base, .. } = *offsets.moved_as(source)?;
        let base = Operand::register(base.filter(|_| ty.bits() == 32)?);
        let by = extend(by, 32);
        let known = self.known(base, 32, inst);
        let (least, most, width) = if ty.is_signed() {
            (known.least() + by >= i64::from(i32::MIN), known.most() + by <= i64::from(i32::MAX), 31)
        } else {
            (known.low() as i64 + by >= 0, known.high() as i64 + by <= i64::from(u32::MAX), 32)
        };
        // Where the lowest bits take the sum, it carries nothing into those above.
        let is_taken = |bits: u32| truncate(known.possible(), bits) + (by as u64) < 1 << bits;
        let is_exact = least && most || by >= 0 && (1..=width).any(is_taken);
        is_exact.then_some(by as u64)
    }

    /// Changes the operands that read registers of groups which nothing needs as they are. A group is one change: the sum that is
    /// passed over and the offset that takes the constant go together, or neither. Gives nothing where the bisect limit is
    /// reached, and the groups that have begun are whole all the same.
    fn change_reads(&mut self, offsets: &mut Offsets) -> Option<()> {
        let mut is_all = Some(());
        for at in 0..offsets.reads.len() {
            let Read { inst, position, entry, is_address } = offsets.reads[at];
            let Moved { by, base, .. } = offsets.moved[entry as usize];
            let first = offsets.groups.first_of(entry) as usize;
            if offsets.moved[first].is_needed || !is_address && base.is_none() {
                continue;
            }
            if !std::mem::replace(&mut offsets.moved[first].has_begun, true)
                && self.f.change_in_place(inst, REASON).is_none()
            {
                offsets.moved[first].is_needed = true;
                is_all = None;
                continue;
            }
            let operand = self.f.operands_of(inst)[position];
            let moved = match is_address {
                true => with_more(self, inst, position, by).expect("the access takes the offset"),
                false => operand,
            };
            let new = base.map_or(moved, |base| moved.with_vreg(base));
            self.f.required_change().set_operand(inst, position, new);
        }
        is_all
    }
}
