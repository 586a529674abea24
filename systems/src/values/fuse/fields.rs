//! Bits of two registers, shifted and masked, as `prmt` or `bfi`; a byte or two of one as `bfe`.
//!
//! ```text
//! and.b32 r4, r1, 0xFFFF;  shl.b32 r5, r2, 16;  or.b32 r6, r4, r5;    ->   prmt.b32 r6, r1, r2, 0x5410;
//! and.b32 r4, r1, 15;  shl.b32 r5, r4, 7;  or.b32 r6, r5, r2;         ->   bfi.b32 r6, r1, r2, 7, 4;
//! shr.u32 r4, r1, 8;  and.b32 r5, r4, 255;                            ->   bfe.u32 r5, r1, 8, 8;
//! ```
//! What is joined has no bit in common, so it is all one whether it is added or combined. Of the second line that holds if bits 7
//! to 10 of `r2` are known to be zero. Of two that are joined at least two instructions go.
//!
//! # What the machine makes of it
//! `ptxas` 13.0 (sm_75 to sm_120) has one instruction for `prmt`, and for `bfe` of whole bytes, where it had two to four. `bfi` is two, as
//! many as before; where the result is compared with 0, one more, since the last `or` compares as well.
//!
//! # Tried and dropped
//! `bfe` of other fields: as many machine instructions where it stands alone, and one more where `or`, a comparison or a sum reads it,
//! which take in the mask.

use super::super::general_optimize::rewrite::{New, instruction};
use super::super::known_bits::{Known, in_register, result_of, slot_width};
use super::{Fused, GOES_MAX, Walk};
use ptxopt_components::form::{FormFlags, shape};
use ptxopt_components::ids::{InstId, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Qualifiers;
use ptxopt_components::types::PtxType;

/// The first target that has these instructions.
const FIELDS_FROM: u32 = 20;

/// Instructions that one question about bits follows.
const DEPTH_MAX: u32 = 4;

/// Sources of an instruction of which something may be known.
const SOURCES_MAX: usize = 3;

/// What an operand has of a register: its bits, moved to the left, or to the right where that is negative, and of these the ones of
/// the mask.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) source: Operand,
    moved: i32,
    mask: u32,
    /// What computed that, and has nothing to do then.
    pub(super) makers: [Option<InstId>; 2],
}

impl Part {
    fn maker_count(&self) -> usize {
        self.makers.iter().flatten().count()
    }

    /// The position and the length of the field that the register's lowest bits fill, if there are no other ones.
    fn field(&self) -> Option<(u32, u32)> {
        let position = self.mask.trailing_zeros();
        let length = (self.mask >> position.min(31)).trailing_ones();
        let is_whole = self.mask != 0 && self.mask >> position == u32::MAX >> (32 - length);
        (is_whole && self.moved == position as i32).then_some((position, length))
    }

    /// Which byte of the register each byte is; a byte that none is has no bit in the mask. None where bytes are mixed.
    pub(super) fn bytes(&self) -> Option<[Option<u32>; 4]> {
        let is_byte = |at: u32| matches!(self.mask >> (8 * at) & 0xFF, 0 | 0xFF);
        let has_bytes = self.moved % 8 == 0 && (0..4).all(is_byte);
        has_bytes.then(|| {
            std::array::from_fn(|at| {
                let from = at as i32 - self.moved / 8;
                (self.mask >> (8 * at) & 0xFF != 0).then_some(from as u32)
            })
        })
    }
}

/// Bits moved to the left, or to the right where that is negative.
const fn moved(bits: u32, by: i32) -> u32 {
    if by < 0 { bits >> -by } else { bits << by }
}

impl Walk<'_, '_> {
    /// What a sum, `or` or `xor` of 32 bits becomes with what computed its operands, where these are parts of registers that have no bit
    /// in common.
    pub(super) fn take_in_parts(&mut self, inst: InstId) -> Option<Fused> {
        let form = self.f.form_of(inst);
        let has_words =
            form.types[0].is_some_and(|ty| matches!(ty, PtxType::B32 | PtxType::U32 | PtxType::S32));
        let &[result, one, other] = self.operands(inst) else { return None };
        if !has_words
            || !form.flags.contains(FormFlags::PLAIN)
            || one.vreg().is_none()
            || other.vreg().is_none()
        {
            return None;
        }
        let parts = [self.part(one), self.part(other)];
        let makers = parts.iter().map(Part::maker_count).sum::<usize>();
        if makers < 2 {
            return None;
        }
        self.permutation(inst, result, parts)
            .or_else(|| self.insertion(inst, result, parts, [one, other]))
            .or_else(|| self.insertion(inst, result, [parts[1], parts[0]], [other, one]))
    }

    /// Two parts that are whole bytes.
    fn permutation(&mut self, inst: InstId, result: Operand, [one, other]: [Part; 2]) -> Option<Fused> {
        let is_one_register = one.source == other.source;
        let is_full = one.mask | other.mask == u32::MAX;
        if one.mask & other.mask != 0 || !is_full && !is_one_register {
            return None;
        }
        let (bytes, others) = (one.bytes()?, other.bytes()?);
        // The first byte of the second source: of the other register, or of zero.
        let second =
            if is_one_register { [4; 4].map(Some) } else { others.map(|byte| byte.map(|byte| byte + 4)) };
        let selector = (0..4).rev().fold(0, |selector, at| {
            let same = if is_one_register { others[at] } else { None };
            selector << 4 | u64::from(bytes[at].or(same).or(second[at]).unwrap_or(0))
        });
        let second =
            if is_one_register { New::Constant(0, PtxType::B32) } else { New::Operand(other.source) };
        let operands =
            [New::Operand(result), New::Operand(one.source), second, New::Constant(selector, PtxType::B32)];
        let makers = [one.makers[0], one.makers[1], other.makers[0], other.makers[1]];
        self.fused(
            inst,
            Operation::Prmt,
            PtxType::B32,
            &operands,
            makers,
            "bytes of two registers are chosen at once",
        )
    }

    /// A part that is put into the bits of the other operand, which has none there.
    fn insertion(
        &mut self,
        inst: InstId,
        result: Operand,
        [part, rest]: [Part; 2],
        [_, other]: [Operand; 2],
    ) -> Option<Fused> {
        let (position, length) = part.field()?;
        // What is masked off is put in.
        let is_bare = rest.moved == 0 && rest.mask & part.mask == 0 && rest.mask | part.mask == u32::MAX;
        let (into, rest_makers) = if is_bare && rest.maker_count() == 1 {
            (rest.source, rest.makers)
        } else {
            let has_none = rest.mask & part.mask == 0
                || self.known(other, u32::BITS, DEPTH_MAX).zeros() & u64::from(part.mask)
                    == u64::from(part.mask);
            has_none.then_some((other, [None; 2]))?
        };
        let makers = [part.makers[0], part.makers[1], rest_makers[0], rest_makers[1]];
        if makers.iter().flatten().count() < 2 {
            return None;
        }
        let number = |number: u32| New::Constant(u64::from(number), PtxType::U32);
        let operands = [
            New::Operand(result),
            New::Operand(part.source),
            New::Operand(into),
            number(position),
            number(length),
        ];
        self.fused(inst, Operation::Bfi, PtxType::B32, &operands, makers, "a bit field is put in at once")
    }

    /// What `and` with a mask of one byte or two becomes with the shift that moved them there.
    pub(super) fn take_in_shift(&mut self, inst: InstId) -> Option<Fused> {
        let form = self.f.form_of(inst);
        let is_word = form.types[0] == Some(PtxType::B32) && form.flags.contains(FormFlags::PLAIN);
        let &[result, shifted, mask] = self.operands(inst) else { return None };
        let length = match self.literal(mask).filter(|_| is_word)? as u32 {
            0xFF => 8,
            0xFFFF => 16,
            _ => return None,
        };
        let maker = self.maker(shifted)?;
        let (_, by) =
            self.mask_and_move(maker).filter(|_| self.f.form_of(maker).operation == Operation::Shr)?;
        let by = by.unsigned_abs();
        if by % 8 != 0 || by == 0 || by + length >= u32::BITS {
            return None;
        }
        let source = self.f.operands_of(maker)[1];
        let number = |number: u32| New::Constant(u64::from(number), PtxType::U32);
        let operands = [New::Operand(result), New::Operand(source), number(by), number(length)];
        let makers = [Some(maker), None, None, None];
        self.fused(inst, Operation::Bfe, PtxType::U32, &operands, makers, "bytes are taken out at once")
    }

    /// The instruction in the place of `inst`, where the target has it.
    fn fused(
        &mut self,
        inst: InstId,
        operation: Operation,
        ty: PtxType,
        operands: &[New],
        goes: [Option<InstId>; GOES_MAX],
        reason: &'static str,
    ) -> Option<Fused> {
        if self.f.text().sm < FIELDS_FROM {
            return None;
        }
        let shape = shape::plain(operands.len());
        let rewrite = instruction(self.f, inst, operation, Qualifiers::default(), &[ty], shape, operands)?;
        Some(Fused::new(inst, rewrite, goes, reason))
    }

    /// What an operand has of a register, through shifts and a mask that nothing else needs.
    pub(super) fn part(&self, operand: Operand) -> Part {
        let mut part = Part { source: operand, moved: 0, mask: u32::MAX, makers: [None; 2] };
        for at in 0..part.makers.len() {
            let Some(maker) = self.maker(part.source) else { break };
            let Some((mask, by)) = self.mask_and_move(maker) else { break };
            part.mask &= moved(mask, part.moved);
            part.moved += by;
            part.makers[at] = Some(maker);
            part.source = self.f.operands_of(maker)[1];
        }
        part
    }

    /// What an instruction leaves of its first source, a word, and how far it moves that to the left, where it does no more.
    fn mask_and_move(&self, inst: InstId) -> Option<(u32, i32)> {
        let form = self.f.form_of(inst);
        let literal = |at: usize| self.literal(*self.f.operands_of(inst).get(at)?).map(|bits| bits as u32);
        let amount = |at: usize| literal(at).filter(|&amount| amount < u32::BITS);
        self.f.operands_of(inst).get(1)?.vreg().filter(|_| form.flags.contains(FormFlags::PLAIN))?;
        Some(match (form.operation, form.types[0]?) {
            (Operation::And, PtxType::B32) => (literal(2)?, 0),
            (Operation::Shl, PtxType::B32) => (u32::MAX << amount(2)?, amount(2)? as i32),
            (Operation::Shr, PtxType::B32 | PtxType::U32) => (u32::MAX >> amount(2)?, -(amount(2)? as i32)),
            (Operation::Bfe, PtxType::U32) => {
                let (by, length) = (amount(2)?, amount(3)?);
                (u32::MAX >> by & !(u32::MAX << length), -(by as i32))
            }
            _ => return None,
        })
    }

    /// What is known of the first `width` bits of a source, through instructions of the block.
    fn known(&self, operand: Operand, width: u32, depth: u32) -> Known {
        if let Some(bits) = self.literal(operand) {
            return Known::constant(bits, width);
        }
        let vreg = operand.vreg().filter(|&vreg| operand == Operand::register(vreg) && self.is_own(vreg));
        match vreg.and_then(|vreg| self.known_result(vreg, depth.checked_sub(1)?)) {
            Some(known) if known.width() >= width => known.truncate(width),
            _ => Known::unknown(width),
        }
    }

    /// What is known of a register that is the only result of an instruction of the block.
    fn known_result(&self, vreg: VRegId, depth: u32) -> Option<Known> {
        let maker = self.recent.maker(vreg)?;
        let (description, operands) = (self.f.description_of(maker), self.f.operands_of(maker));
        let &[result, ref sources @ ..] = operands else { return None };
        let is_only = result.vreg() == Some(vreg) && !result.is_partial() && description.lanes() == 1;
        if !is_only || self.f.head(maker).opcode.is_guarded() {
            return None;
        }
        let width = self.f.vreg(vreg).ty.element().bits();
        let known = if description.operation == Operation::Ld {
            Known::unknown(description.types[0]?.bits())
        } else {
            let mut all = [Known::unknown(1); SOURCES_MAX];
            for (at, (known, &source)) in all.iter_mut().zip(sources).enumerate() {
                let slot = slot_width(description, at).filter(|bits| (1..=64).contains(bits))?;
                // A source that has changed since may have been anything.
                let is_there = source
                    .vreg()
                    .is_none_or(|read| read != vreg && self.recent.is_unchanged_since(read, vreg));
                *known = if is_there { self.known(source, slot, depth) } else { Known::unknown(slot) };
            }
            result_of(description, all.get(..sources.len())?)?
        };
        in_register(description, known, width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn part(moved: i32, mask: u32) -> Part {
        Part { source: Operand::sink(), moved, mask, makers: [None; 2] }
    }

    #[test]
    fn fields_are_filled_by_the_lowest_bits() {
        assert_eq!(part(7, 0x780).field(), Some((7, 4)));
        assert_eq!(part(0, 0x7F).field(), Some((0, 7)));
        assert_eq!(part(31, 1 << 31).field(), Some((31, 1)));
        assert_eq!(part(16, 0xFFFF_0000).field(), Some((16, 16)));
        assert_eq!(part(0, u32::MAX).field(), Some((0, 32)));
        for (moved, mask) in [(7, 0x700), (8, 0x780), (7, 0x580), (0, 0), (-3, 0x7F), (-3, 1)] {
            assert_eq!(part(moved, mask).field(), None, "{moved} {mask:x}");
        }
    }

    #[test]
    fn bytes_are_those_of_the_register() {
        assert_eq!(part(16, 0xFFFF_0000).bytes(), Some([None, None, Some(0), Some(1)]));
        assert_eq!(part(-8, 0xFF00FF).bytes(), Some([Some(1), None, Some(3), None]));
        assert_eq!(part(0, 0).bytes(), Some([None; 4]));
        for (moved, mask) in [(4, 0xFF00), (8, 0x0FF0), (0, 1)] {
            assert_eq!(part(moved, mask).bytes(), None, "{moved} {mask:x}");
        }
    }
}
