//! Parts: of which bits of which registers an integer is made.
//!
//! ```text
//! shl.b32 r2, r1, 8;  cvt.u32.u8 r4, r3;  or.b32 r5, r2, r4;     r5: bits 0 to 7 of r3, and then bits 0 to 23 of r1
//! ```
//! The question is followed through shifts, masks, fields, extensions, permutations and packs to what computes in any other way. Only as far
//! as a register still holds, where the answer is wanted, what it held then.

use super::Walk;
use super::clues::Clues;
use super::pattern::{Binary, plain};
use ptxopt_components::form::{FormFlags, Role};
use ptxopt_components::ids::{InstId, VRegId};
use ptxopt_components::operand::{Operand, definitions};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Part as ProductPart;
use ptxopt_components::types::{PtxType, truncate};
use ptxopt_engine::values::reaching::Value;

/// Parts that are told apart.
const PARTS_MAX: usize = 8;

/// Instructions that one question follows.
const STEPS_MAX: u32 = 40;

/// How many instructions are followed one after the other.
#[derive(Clone, Copy)]
pub(super) enum Depth {
    /// The one that is asked about, and those that its operands come from: what is taken apart there may be put together, and is made of too
    /// many parts itself.
    Two,
    /// As many as there are.
    Any,
}

impl Depth {
    fn steps(self) -> u32 {
        match self {
            Self::Two => 2,
            Self::Any => STEPS_MAX,
        }
    }
}

/// Where bits come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bits {
    /// These, from the lowest one on.
    Constant(u64),
    /// Those of a register, from this position on.
    Of(VRegId, u32),
}

/// Bits beside each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) bits: Bits,
    pub(super) count: u32,
}

impl Bits {
    /// Those that many places above.
    fn above(self, places: u32) -> Self {
        match self {
            Self::Constant(bits) => Self::Constant(bits >> places),
            Self::Of(vreg, at) => Self::Of(vreg, at + places),
        }
    }

    /// The first ones alone.
    fn lowest(self, count: u32) -> Self {
        match self {
            Self::Constant(bits) => Self::Constant(truncate(bits, count)),
            of @ Self::Of(..) => of,
        }
    }
}

/// The parts of an integer, from its lowest bits on, of two registers at most; two beside each other are not of one piece.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    parts: [Part; PARTS_MAX],
    len: usize,
}

impl Parts {
    const fn new() -> Self {
        Self { parts: [Part { bits: Bits::Constant(0), count: 0 }; PARTS_MAX], len: 0 }
    }

    pub(super) fn as_slice(&self) -> &[Part] {
        &self.parts[..self.len]
    }

    /// Adds bits above.
    fn push(&mut self, bits: Bits, count: u32) -> Result<(), Stop> {
        if count == 0 {
            return Ok(());
        }
        if let Some(last) = self.parts[..self.len].last_mut() {
            let joined = match (last.bits, bits) {
                (Bits::Constant(low), Bits::Constant(high)) => Some(Bits::Constant(low | high << last.count)),
                (Bits::Of(vreg, at), Bits::Of(other, from)) if (vreg, at + last.count) == (other, from) => {
                    Some(last.bits)
                }
                _ => None,
            };
            if let Some(bits) = joined {
                *last = Part { bits, count: last.count + count };
                return Ok(());
            }
        }
        if let Bits::Of(vreg, _) = bits
            && self.is_of_two_others(vreg)
        {
            return Err(Stop::TooMany);
        }
        *self.parts.get_mut(self.len).ok_or(Stop::TooMany)? = Part { bits, count };
        self.len += 1;
        Ok(())
    }

    fn is_of_two_others(&self, vreg: VRegId) -> bool {
        let mut registers = self.as_slice().iter().filter_map(|part| match part.bits {
            Bits::Of(vreg, _) => Some(vreg),
            Bits::Constant(_) => None,
        });
        let Some(first) = registers.next().filter(|&first| first != vreg) else { return false };
        registers.find(|&other| other != first).is_some_and(|second| second != vreg)
    }

    /// Where it ends: what [`cut`](Self::cut) goes back to.
    fn end(&self) -> (usize, Option<Part>) {
        (self.len, self.as_slice().last().copied())
    }

    /// Takes off what was added.
    fn cut(&mut self, (len, last): (usize, Option<Part>)) {
        self.len = len;
        if let Some(last) = last {
            self.parts[len - 1] = last;
        }
    }
}

/// Why a question is not followed.
enum Stop {
    /// There are too many parts, or parts of too many registers.
    TooMany,
    /// The instruction does more than to move bits, or what it read is gone.
    Here,
}

/// A stretch of bits: the first one, and how many.
#[derive(Clone, Copy)]
struct Stretch {
    from: u32,
    count: u32,
}

impl Stretch {
    /// As much of it as lies between two positions.
    fn within(self, first: u32, end: u32) -> Self {
        let from = self.from.clamp(first, end);
        Self { from, count: (self.from + self.count).clamp(from, end) - from }
    }

    /// The bits that many places above or, where that is negative, below.
    fn moved(self, by: i32) -> Self {
        Self { from: self.from.wrapping_add_signed(by), ..self }
    }
}

/// A question about one instruction.
struct Question<'q, 'w, 'a> {
    walk: &'q mut Walk<'w, 'a>,
    /// Where the answer is wanted.
    at: InstId,
    /// Instructions that have been followed.
    steps: u32,
    /// How many more may be, one after the other.
    depth: u32,
}

impl Walk<'_, '_> {
    /// The only register that an instruction leaves, with its parts and its width; if it only moves bits, and does not mix them. No
    /// instruction on integers takes more than 64 of them.
    pub(super) fn parts_of_result(&mut self, inst: InstId, depth: Depth) -> Option<(VRegId, Parts, u32)> {
        let result = {
            let mut results = definitions(self.f.operands_of(inst));
            let (Some((result, false)), None) = (results.next(), results.next()) else { return None };
            result
        };
        let (width, mut parts) = (self.width(result), Parts::new());
        if width > u64::BITS {
            return None;
        }
        let mut question = Question { walk: self, at: inst, steps: 0, depth: depth.steps() };
        question.follow(inst, result, Stretch { from: 0, count: width }, &mut parts).ok()?;
        let is_mixed = |part: &Part| matches!(part.bits, Bits::Of(vreg, _) if vreg == result);
        if parts.as_slice().iter().any(is_mixed) {
            return None;
        }
        // Of `xor` nothing else tells: few of them put parts together.
        self.made.note(result, Clues::OF_PARTS);
        Some((result, parts, width))
    }

    /// The parts of the lowest bits of an operand of an instruction.
    pub(super) fn parts_of(&mut self, operand: Operand, count: u32, inst: InstId) -> Option<Parts> {
        let mut parts = Parts::new();
        let mut question = Question { walk: self, at: inst, steps: 0, depth: STEPS_MAX };
        question.ask(operand, inst, Stretch { from: 0, count }, &mut parts).ok()?;
        Some(parts)
    }
}

impl Question<'_, '_, '_> {
    /// Adds the parts of bits of an operand that `reader` reads.
    fn ask(
        &mut self,
        operand: Operand,
        reader: InstId,
        bits: Stretch,
        parts: &mut Parts,
    ) -> Result<(), Stop> {
        if bits.count == 0 {
            return Ok(());
        }
        if let Some(literal) = self.walk.literal(operand) {
            return parts.push(Bits::Constant(truncate(literal >> bits.from, bits.count)), bits.count);
        }
        let vreg = operand.vreg().filter(|_| operand == plain(operand)).ok_or(Stop::Here)?;
        // No instruction on integers takes more.
        let is_wide = self.walk.width(vreg) > u64::BITS;
        if is_wide || reader != self.at && !self.walk.is_still(operand, reader, self.at) {
            return Err(Stop::Here);
        }
        if self.steps < STEPS_MAX
            && self.depth > 0
            && let Value::Of(definition) = self.walk.value(vreg, reader)
        {
            let end = parts.end();
            let ended = self.follow(definition, vreg, bits, parts);
            match ended {
                Err(Stop::Here) => parts.cut(end),
                _ => return ended,
            }
        }
        parts.push(Bits::Of(vreg, bits.from), bits.count)
    }

    /// Adds the parts of bits of a register that an instruction computes, if it moves them.
    fn follow(&mut self, inst: InstId, vreg: VRegId, bits: Stretch, parts: &mut Parts) -> Result<(), Stop> {
        self.steps += 1;
        self.depth -= 1;
        let ended = self.follow_operation(inst, vreg, bits, parts);
        self.depth += 1;
        ended
    }

    fn follow_operation(
        &mut self,
        inst: InstId,
        vreg: VRegId,
        bits: Stretch,
        parts: &mut Parts,
    ) -> Result<(), Stop> {
        let form = self.walk.f.form_of(inst);
        if form.operation == Operation::Mov {
            return self.follow_move(inst, vreg, bits, parts);
        }
        if self.walk.only_result(inst) != Some(vreg) {
            return Err(Stop::Here);
        }
        if form.operation == Operation::Ld {
            return self.follow_load(inst, vreg, bits, parts);
        }
        if !form.flags.contains(FormFlags::PLAIN) {
            return Err(Stop::Here);
        }
        match form.operation {
            Operation::Cvt => self.follow_conversion(inst, bits, parts),
            Operation::Bfe => self.follow_field(inst, bits, parts),
            Operation::Bfi => self.follow_insertion(inst, bits, parts),
            Operation::Prmt => self.follow_permutation(inst, bits, parts),
            Operation::Shl
            | Operation::Shr
            | Operation::Mul
            | Operation::And
            | Operation::Or
            | Operation::Xor => {
                let binary = self.walk.binary(inst).ok_or(Stop::Here)?;
                self.follow_binary(inst, binary, bits, parts)
            }
            _ => Err(Stop::Here),
        }
    }

    fn follow_binary(
        &mut self,
        inst: InstId,
        binary: Binary,
        bits: Stretch,
        parts: &mut Parts,
    ) -> Result<(), Stop> {
        let Binary { one, other, operation, part, ty, .. } = binary;
        let width = ty.bits();
        let zeros = Bits::Constant(0);
        match (operation, self.walk.literal(other)) {
            (Operation::Shl, Some(amount)) => {
                let amount = truncate(amount, 32).min(u64::from(width)) as u32;
                parts.push(zeros, bits.within(0, amount).count)?;
                self.ask(one, inst, bits.within(amount, width).moved(-(amount as i32)), parts)
            }
            // A shift of what is extended.
            (Operation::Mul, Some(factor))
                if part == Some(ProductPart::Wide)
                    && !ty.is_signed()
                    && truncate(factor, width).is_power_of_two() =>
            {
                let amount = factor.trailing_zeros();
                let (end, all) = (amount + width, 2 * width);
                parts.push(zeros, bits.within(0, amount).count)?;
                self.ask(one, inst, bits.within(amount, end).moved(-(amount as i32)), parts)?;
                parts.push(zeros, bits.within(end, all).count)
            }
            (Operation::Shr, Some(amount)) => {
                let amount = truncate(amount, 32).min(u64::from(width)) as u32;
                let (inside, above) = (bits.within(0, width - amount), bits.within(width - amount, width));
                if ty.is_signed() && above.count > 0 {
                    return Err(Stop::Here);
                }
                self.ask(one, inst, inside.moved(amount as i32), parts)?;
                parts.push(zeros, above.count)
            }
            (Operation::And, Some(mask)) => {
                let mut rest = bits;
                while rest.count > 0 {
                    let mask = mask >> rest.from;
                    let is_kept = mask & 1 == 1;
                    let length = if is_kept { mask.trailing_ones() } else { mask.trailing_zeros() };
                    let run = Stretch { count: length.min(rest.count), ..rest };
                    if is_kept {
                        self.ask(one, inst, run, parts)?;
                    } else {
                        parts.push(zeros, run.count)?;
                    }
                    rest = Stretch { from: run.from + run.count, count: rest.count - run.count };
                }
                Ok(())
            }
            (Operation::Or | Operation::Xor, _) => {
                let mut of_both = [Parts::new(); 2];
                for (source, parts) in [one, other].into_iter().zip(&mut of_both) {
                    self.ask(source, inst, bits, parts)?;
                }
                put_together(&of_both, operation, binary.result, bits, parts)
            }
            _ => Err(Stop::Here),
        }
    }

    fn follow_conversion(&mut self, inst: InstId, bits: Stretch, parts: &mut Parts) -> Result<(), Stop> {
        let conversion = self.walk.conversion(inst).ok_or(Stop::Here)?;
        let (from, to) = (conversion.from.bits(), conversion.to.bits());
        let above = bits.within(from.min(to), to);
        if conversion.from.is_signed() && above.count > 0 {
            return Err(Stop::Here);
        }
        self.ask(conversion.source, inst, bits.within(0, from.min(to)), parts)?;
        parts.push(Bits::Constant(0), above.count)
    }

    /// Follows a field that is taken out without a sign.
    fn follow_field(&mut self, inst: InstId, bits: Stretch, parts: &mut Parts) -> Result<(), Stop> {
        let &[_, source, position, length] = self.walk.f.operands_of(inst) else { return Err(Stop::Here) };
        let field = self.field(inst, position, length).filter(|(ty, ..)| !ty.is_signed());
        let (ty, position, length) = field.ok_or(Stop::Here)?;
        self.ask(source, inst, bits.within(0, length).moved(position as i32), parts)?;
        parts.push(Bits::Constant(0), bits.within(length, ty.bits()).count)
    }

    /// Follows a field that is put in.
    fn follow_insertion(&mut self, inst: InstId, bits: Stretch, parts: &mut Parts) -> Result<(), Stop> {
        let &[_, source, rest, position, length] = self.walk.f.operands_of(inst) else {
            return Err(Stop::Here);
        };
        let (ty, position, length) = self.field(inst, position, length).ok_or(Stop::Here)?;
        let end = position + length;
        self.ask(rest, inst, bits.within(0, position), parts)?;
        self.ask(source, inst, bits.within(position, end).moved(-(position as i32)), parts)?;
        self.ask(rest, inst, bits.within(end, ty.bits()), parts)
    }

    /// The type of an instruction on a field, and the position and the length of that, if it ends within the type.
    fn field(&self, inst: InstId, position: Operand, length: Operand) -> Option<(PtxType, u32, u32)> {
        let ty = self.walk.f.description_of(inst).types[0]?;
        let [position, length] = [position, length].map(|operand| self.walk.literal(operand));
        let (position, length) = (u32::try_from(position?).ok()?, u32::try_from(length?).ok()?);
        let is_inside = position.checked_add(length).is_some_and(|end| end <= ty.bits());
        is_inside.then_some((ty, position, length))
    }

    fn follow_permutation(&mut self, inst: InstId, bits: Stretch, parts: &mut Parts) -> Result<(), Stop> {
        let &[_, low, high, selector] = self.walk.f.operands_of(inst) else { return Err(Stop::Here) };
        let selector = self.walk.literal(selector).ok_or(Stop::Here)?;
        for at in 0..4 {
            let inside = bits.within(8 * at, 8 * at + 8);
            let number = (selector >> (4 * at) & 0xF) as u32;
            let source = if number & 4 == 0 { low } else { high };
            if number & 8 != 0 && inside.count > 0 {
                return Err(Stop::Here);
            }
            self.ask(source, inst, inside.moved(8 * ((number & 3) as i32 - at as i32)), parts)?;
        }
        Ok(())
    }

    /// Follows a copy, and what packs registers or unpacks one.
    fn follow_move(
        &mut self,
        inst: InstId,
        vreg: VRegId,
        bits: Stretch,
        parts: &mut Parts,
    ) -> Result<(), Stop> {
        let (head, operands) = self.walk.f.row(inst);
        let results = self.walk.f.slots(head.form).iter().filter(|slot| slot.role == Role::Def).count();
        let (results, sources) = operands.split_at(results);
        let mut positions = (0..).zip(results).filter(|(_, result)| result.vreg() == Some(vreg));
        let (Some((position, _)), None) = (positions.next(), positions.next()) else {
            return Err(Stop::Here);
        };
        let width = self.walk.width(vreg);
        let (result_count, source_count) = (results.len() as u32, sources.len() as u32);
        let moved = width * result_count;
        let part = moved.checked_div(source_count).ok_or(Stop::Here)?;
        let is_part =
            |source: &Operand| source.vreg().map_or(source_count > 1, |vreg| self.walk.width(vreg) == part);
        let is_whole = part * source_count == moved && sources.iter().all(is_part);
        let is_guarded = head.opcode.is_guarded();
        if is_guarded || !is_whole || result_count.min(source_count) != 1 || !self.walk.is_own(vreg) {
            return Err(Stop::Here);
        }
        let first = results.len();
        for at in 0..source_count {
            let source = self.walk.f.operands_of(inst)[first + at as usize];
            let inside = bits.moved((position * width) as i32).within(at * part, (at + 1) * part);
            self.ask(source, inst, inside.moved(-((at * part) as i32)), parts)?;
        }
        Ok(())
    }

    /// Follows the zeros above what is loaded without a sign.
    fn follow_load(&self, inst: InstId, vreg: VRegId, bits: Stretch, parts: &mut Parts) -> Result<(), Stop> {
        let description = self.walk.f.description_of(inst);
        let ty =
            description.types[0].filter(|ty| ty.is_of_integers() && !ty.is_signed()).ok_or(Stop::Here)?;
        if description.lanes() != 1 {
            return Err(Stop::Here);
        }
        let loaded = bits.within(0, ty.bits());
        parts.push(Bits::Of(vreg, loaded.from), loaded.count)?;
        parts.push(Bits::Constant(0), bits.count - loaded.count)
    }
}

/// Adds the parts of the sum without carries of two. Where both have bits that are not known these are the result's own.
fn put_together(
    [one, other]: &[Parts; 2],
    operation: Operation,
    result: VRegId,
    bits: Stretch,
    parts: &mut Parts,
) -> Result<(), Stop> {
    let (mut done, mut at) = (0, [(0, 0); 2]);
    while done < bits.count {
        let [first, second] = [(one, at[0]), (other, at[1])].map(|(parts, (part, cut))| {
            let part = parts.parts[part];
            Part { bits: part.bits.above(cut), count: part.count - cut }
        });
        let count = first.count.min(second.count);
        let [one, other] = [first, second].map(|part| part.bits.lowest(count));
        let ones = Bits::Constant(truncate(u64::MAX, count));
        let is_or = operation == Operation::Or;
        let sum = match (one, other) {
            (Bits::Constant(0), bits) | (bits, Bits::Constant(0)) => bits,
            (Bits::Constant(one), Bits::Constant(other)) if is_or => Bits::Constant(one | other),
            (Bits::Constant(one), Bits::Constant(other)) => Bits::Constant(one ^ other),
            _ if is_or && (one == ones || other == ones) => ones,
            _ if is_or && one == other => one,
            _ => Bits::Of(result, bits.from + done),
        };
        parts.push(sum, count)?;
        done += count;
        for ((part, cut), from) in at.iter_mut().zip([first, second]) {
            (*part, *cut) = if from.count == count { (*part + 1, 0) } else { (*part, *cut + count) };
        }
    }
    Ok(())
}
