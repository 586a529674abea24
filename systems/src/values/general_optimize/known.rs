//! What is known of the integers in registers, worked out where a rule asks and kept for the next one.
//!
//! A register has what the definition that reaches it leaves in it, and in SSA form a phi what is in one of its values; a
//! guarded definition, and values that meet at a join elsewhere, may be anything. So may what a phi gets from around its
//! loop, unless that is known without the phi, or the phi counts (`counters.rs`).

use super::Walk;
use crate::values::known_bits::{Known, in_register, of_special_register, result_of, slot_width, tells};
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_engine::values::reaching::Value;

/// Definitions that one question follows, one after the other. What is farther away may be anything; an answer is kept, so
/// all questions together cost as much as there are instructions.
const CHAIN_MAX: u32 = 4;

/// Values of a phi that are looked at: a join of many is seldom narrow.
const PHI_VALUES_MAX: usize = 4;

/// In the place of the number of an answer: there was no question yet, or nothing is known.
const UNASKED: u32 = u32::MAX;
const NOTHING: u32 = UNASKED - 1;

/// The answers so far.
#[derive(Default)]
pub(super) struct KnownResults {
    /// By instruction: its entry in `results`.
    number: Vec<u32>,
    results: Vec<Known>,
}

impl KnownResults {
    /// Forgets the function before; this one has `inst_count` rows of instructions.
    pub(super) fn start(&mut self, inst_count: usize) {
        self.number.clear();
        self.number.resize(inst_count, UNASKED);
        self.results.clear();
    }

    /// What is known by the number of an answer; none where that is nothing.
    #[inline]
    fn get(&self, number: u32) -> Option<&Known> {
        self.results.get(number as usize)
    }

    /// Keeps the answer for the only result of an instruction, and gives its number.
    fn keep(&mut self, definition: InstId, known: Known) -> u32 {
        let number = self.results.len() as u32;
        self.number[definition.index()] = number;
        self.results.push(known);
        number
    }
}

impl Walk<'_, '_> {
    /// What is known of a source of an instruction of the phase, read as `width` bits.
    pub(super) fn known(&mut self, operand: Operand, width: u32, inst: InstId) -> Known {
        self.known_source(operand, width, inst, CHAIN_MAX)
    }

    fn known_source(&mut self, operand: Operand, width: u32, inst: InstId, chain_left: u32) -> Known {
        let known = if let Some(vreg) = operand.vreg() {
            if operand != Operand::register(vreg) {
                return Known::unknown(width);
            }
            let number = self.known_register(vreg, inst, chain_left);
            let known = self.known_results.get(number).copied();
            let register_width = self.width(vreg);
            let known =
                known.or_else(|| (1..=64).contains(&register_width).then(|| Known::unknown(register_width)));
            known.map(|known| self.known_after_branches(vreg, inst, known, chain_left))
        } else if let OperandKind::Special(row) = operand.kind() {
            let component = operand.selector().map(|selector| selector.text());
            let launch = &self.f.text().launch;
            of_special_register(row as usize, component.as_deref().unwrap_or(""), launch)
        } else {
            let bits = self.literal(operand);
            return bits.map_or_else(|| Known::unknown(width), |bits| Known::constant(bits, width));
        };
        // A conversion reads the lowest bits of a register that is wider than its type.
        match known {
            Some(known) if known.width() >= width => known.truncate(width),
            _ => Known::unknown(width),
        }
    }

    /// The number of what is known of a register before an instruction.
    fn known_register(&mut self, vreg: VRegId, inst: InstId, chain_left: u32) -> u32 {
        let Value::Of(definition) = self.value(vreg, inst) else { return NOTHING };
        // What was asked for once is the only result.
        let number = self.known_results.number[definition.index()];
        if number != UNASKED {
            number
        } else if self.only_result(definition) == Some(vreg) {
            self.find_known(definition, vreg, chain_left).unwrap_or(NOTHING)
        } else {
            NOTHING
        }
    }

    /// The number of what is known of the register that is the only result of an instruction, about which nothing has asked; none
    /// where that is nothing.
    fn find_known(&mut self, definition: InstId, vreg: VRegId, chain_left: u32) -> Option<u32> {
        let chain_left = chain_left.checked_sub(1)?;
        // Until it is known it may be anything: it is asked for again where a phi leads back to it.
        self.known_results.number[definition.index()] = NOTHING;
        let width = self.width(vreg);
        let known = if self.f.head(definition).is_phi() {
            self.known_phi(definition, width, chain_left)
        } else {
            self.known_result(definition, width, chain_left)
        }?;
        Some(self.known_results.keep(definition, known))
    }

    /// What is known of each value of a phi, in registers of `width` bits.
    fn known_phi(&mut self, phi: InstId, width: u32, chain_left: u32) -> Option<Known> {
        let known_start = |walk: &mut Self, start: VRegId| {
            let definition = walk.reaching.only_definition(start)?;
            walk.known_value(definition, start, chain_left)
        };
        let counter = self.known_counter(phi, width, known_start);
        if counter.is_some() {
            return counter;
        }
        let count = self.f.operands_of(phi).len() / 2;
        let mut known: Option<Known> = None;
        for at in 0..count {
            let vreg = self.f.operands_of(phi)[2 * at + 2].vreg().filter(|_| count <= PHI_VALUES_MAX)?;
            let definition = self.reaching.only_definition(vreg)?;
            let value =
                self.known_value(definition, vreg, chain_left).filter(|value| value.width() == width)?;
            known = Some(known.map_or(value, |known| known.join(value)));
        }
        known
    }

    /// What is known of a value that a phi takes, which is the only result of an instruction.
    pub(super) fn known_value(&mut self, definition: InstId, vreg: VRegId, chain_left: u32) -> Option<Known> {
        let is_value = self.is_own(vreg) && self.f.vreg(vreg).is_value();
        (is_value && self.only_result(definition) == Some(vreg)).then_some(())?;
        let number = match self.known_results.number[definition.index()] {
            UNASKED => self.find_known(definition, vreg, chain_left)?,
            number => number,
        };
        self.known_results.get(number).copied()
    }

    /// What is known of the only result of an instruction, in a register of `width` bits.
    fn known_result(&mut self, inst: InstId, width: u32, chain_left: u32) -> Option<Known> {
        use Operation::{Add, Sub, Xor};
        let description = self.f.description_of(inst);
        let ty = description.types[0].filter(|&ty| tells(description.operation) && ty.is_of_integers())?;
        let description = *description;
        let result = match description.operation {
            // What is narrower than the register says by its type what stands above it.
            Operation::Ld if description.lanes() == 1 && ty.bits() < width => Known::unknown(ty.bits()),
            Operation::Ld => return None,
            _ => {
                let count = self.f.operands_of(inst).len() - 1;
                let mut sources = [Known::unknown(1); 3];
                for (at, source) in sources.get_mut(..count)?.iter_mut().enumerate() {
                    let operand = self.f.operands_of(inst)[at + 1];
                    let slot_width = slot_width(&description, at).filter(|&bits| bits <= 64)?;
                    *source = self.known_source(operand, slot_width, inst, chain_left);
                    // Nothing is known of a sum of anything.
                    if matches!(description.operation, Add | Sub | Xor) && source.is_any() {
                        return None;
                    }
                }
                result_of(&description, &sources[..count])?
            }
        };
        in_register(&description, result, width)
    }
}
