//! Keys: what an expression computes, in words. Expressions with one key have one value.
//!
//! The first word is the class of the form, the widths of the results, and the lowest bit says whether a guard comes last. The
//! address of a load is three words: the version of memory that it sees, a base and a distance. The others stand for an operand
//! each. Where an integer is compared with a constant, the order is one of two: `a < c` or `c <= a`.

use super::look_up::Results;
use super::meanings::{Meaning, Source as From};
use super::memory::{Chain, Seen};
use super::numbers::{Constant, Other, Source};
use super::places::Base;
use super::walk::Walk;
use crate::values::literals::is_cut;
use crate::values::movable::varies;
use ptxopt_components::ids::{InstId, VRegId};
use ptxopt_components::operand::{OPERAND_ID_MAX, Operand, OperandKind};
use ptxopt_components::operation::Operation;

/// The bit of a version in a key that is a store of just the bytes that are read.
pub(super) const STORED: u64 = 1 << 32;

/// The class of phis in a key: above those of forms.
pub(super) const PHI: u64 = 1 << 63;

/// That of phis by what comes into a loop alone.
pub(super) const LOOP: u64 = PHI | 1 << 62;

/// What a word of a key is that is no operand's: a constant (with the width, if it is a float), the number of a long one, a name.
pub(super) const CONSTANT: u64 = 1 << 62;
const LONG: u64 = 1 << 61;
const SYMBOL: u64 = 1 << 60;

/// In the place of a base: the word of the address follows, or what names a texture.
const ALIKE: u64 = 1 << 59;
const TEXTURE: u64 = 1 << 58;

impl Walk<'_, '_> {
    /// Appends the key of an instruction, but for its guard.
    pub(super) fn push_key(
        &mut self,
        inst: InstId,
        meaning: &Meaning,
        results: Results,
        operands: &[Operand],
    ) -> Option<()> {
        let Results { count: result_count, widths, .. } = results;
        self.numbers.table.words.push(widths << 32 | u64::from(meaning.class) << 1);
        let sources = self.numbers.table.words.len();
        let mut rest = result_count;
        if let From::Load(chain) = meaning.source {
            let words = self.load_words(inst, chain, operands[result_count], result_count)?;
            self.numbers.table.words.extend_from_slice(&words);
            rest += 1;
        }
        for (&operand, position) in operands[rest..].iter().zip(rest..) {
            if operand.is_definition() {
                return None;
            }
            let word = match self.word_of_value(operand) {
                Some(word) => word,
                None => self.word(inst, operand, position)?,
            };
            self.numbers.table.words.push(word);
        }
        let at = |position: u8| sources + usize::from(position) - result_count;
        if let Some(first) = meaning.mirrored {
            self.numbers.table.words.swap(at(first), at(first) + 1);
        } else if let Some(first) = meaning.commutes {
            self.numbers.table.words[at(first)..=at(first) + 1].sort_unstable();
        }
        if let Some(comparison) = meaning.comparison {
            self.take_next_constant(comparison, sources);
        }
        Some(())
    }

    /// What stands in a key for the address of a load and the memory that it sees.
    fn load_words(
        &mut self,
        inst: InstId,
        chain: Chain,
        operand: Operand,
        position: usize,
    ) -> Option<[u64; 3]> {
        let form = self.form(inst);
        if !matches!(form.operation, Operation::Ld | Operation::Ldu) {
            // What names a texture is no address.
            let word = self.word(inst, operand, position)?;
            return Some([u64::from(self.numbers.chains.current(chain).0), TEXTURE, word]);
        }
        let bytes = self.bytes(inst, form.space, operand)?;
        let chain = self.numbers.frame.chain(chain, operand, form.space);
        let seen = match self.numbers.chains.seen(inst, chain, bytes) {
            Seen::Version(version) => u64::from(version.0),
            Seen::Stored(store) => STORED | u64::from(store.0),
        };
        let address = bytes.address;
        let (base, offset) = match address.base {
            // Sums of 32 bits wrap where those of the access may not: only what is written alike is one address.
            _ if address.width < 64 => (ALIKE, self.word(inst, operand, position)?),
            Base::Number(number) => (u64::from(number), address.offset as u64),
            Base::Symbol(name, _) => (SYMBOL | u64::from(name.0), address.offset as u64),
            Base::Zero => (CONSTANT, address.offset as u64),
        };
        Some([seen, base, offset])
    }

    /// What stands in a key for a register with the number of a register, as nearly all operands are; none for others.
    #[inline]
    fn word_of_value(&self, operand: Operand) -> Option<u64> {
        let number = self.numbers.of(operand.vreg()?);
        let is_whole = (number as usize) < self.numbers.numbers.len() && !operand.has_long_payload();
        is_whole.then(|| word(operand.with_vreg(VRegId(number))))
    }

    /// What stands for an operand in a key: that at `position`, or the guard.
    pub(super) fn word(&mut self, inst: InstId, operand: Operand, position: usize) -> Option<u64> {
        if let Some(vreg) = operand.vreg() {
            let number = self.register(vreg, inst)?;
            if number as usize >= self.numbers.numbers.len() {
                let is_plain = operand == Operand::register(vreg);
                if let Some(Source::Constant(constant)) = self.numbers.source(number).filter(|_| is_plain) {
                    return Some(self.constant_word(constant));
                }
            }
            let is_whole = number as usize <= OPERAND_ID_MAX && operand.wide_offset().is_none();
            return is_whole.then(|| word(operand.with_vreg(VRegId(number))));
        }
        match operand.kind() {
            OperandKind::Int(_) | OperandKind::F32(_) | OperandKind::Literal(_) => {
                let constant = self.constant(operand, self.slots(inst).get(position)?.ty?)?;
                // A register with the same number moves by another amount.
                (!is_cut(self.form(inst), position, constant.bits)).then(|| self.constant_word(constant))
            }
            OperandKind::Special(_) => (!varies(&operand)).then(|| word(operand)),
            OperandKind::Symbol(_) => operand.wide_offset().is_none().then(|| word(operand)),
            _ => None,
        }
    }

    /// What stands for a constant in a key.
    fn constant_word(&mut self, constant: Constant) -> u64 {
        let Constant { bits, is_float, width } = constant;
        match (i32::try_from(bits as i64), u32::try_from(bits)) {
            (Ok(value), _) if !is_float => CONSTANT | u64::from(value as u32),
            (_, Ok(bits)) if is_float => CONSTANT | u64::from(width) << 32 | u64::from(bits),
            _ => CONSTANT | LONG | u64::from(self.numbers.number_of(Other::Constant(constant))),
        }
    }
}

/// An operand as a word.
fn word(operand: Operand) -> u64 {
    u64::from(operand.modifiers()) << 32 | u64::from(operand.word())
}
