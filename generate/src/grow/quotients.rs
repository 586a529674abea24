//! Digits of a number: quotients and remainders of the same operands, and of quotients.

use super::Grower;
use crate::options::Feature;
use crate::tree::{Class, Operand, Statement};

/// Divisors; any two have a product of 64 bits.
const DIVISORS: [u64; 4] = [7, 11, 1001, 0x7FFF_FFFF];

impl Grower<'_> {
    /// Digits of a register: each time what a division leaves, and the quotient, which is divided next; in either order, now and then
    /// one of them under a guard. Then perhaps the quotient by two divisors at once.
    pub fn digits(&mut self, into: &mut Vec<Statement>) {
        let types =
            [(Class::L, "u64"), (Class::L, "u64"), (Class::L, "s64"), (Class::R, "u32"), (Class::R, "s32")];
        let (class, ty) = *self.random.pick(&types);
        let mut number = self.reg(class);
        let (first, literal) = (number, *self.random.pick(&DIVISORS));
        let divisor =
            if self.random.chance(65) { Operand::Imm(literal) } else { Operand::Reg(self.reg(class)) };
        for _ in 0..self.random.between(1, 3) {
            let quotient = self.new_def(class);
            let mut pair = [("div", quotient), ("rem", self.new_def(class))];
            if self.random.chance(50) {
                pair.swap(0, 1);
            }
            for (operation, def) in pair {
                let (name, operands) = (format!("{operation}.{ty}"), [Operand::Reg(number), divisor]);
                let guard = self.random.chance(8).then(|| self.guard());
                into.push(self.named_if(guard, &name, &[def], &operands));
                if self.random.chance(25) {
                    self.instruction(Feature::Integer, into);
                }
            }
            number = quotient;
        }
        if self.random.chance(50) {
            let product = Operand::Imm(literal * self.random.pick(&DIVISORS));
            let quotient = self.new_def(class);
            into.push(self.named(&format!("div.{ty}"), &[quotient], &[Operand::Reg(first), product]));
        }
    }
}
