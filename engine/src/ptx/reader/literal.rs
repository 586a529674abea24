//! Constants as operands, and the literal pool for those that do not fit one.

use super::Reader;
use crate::diagnostics::{Diagnostic, Problem};
use crate::ptx::constant::Constant;
use ptxopt_components::ids::{Id, LiteralId};
use ptxopt_components::operand::{Literal, LiteralKind, OPERAND_ID_MAX, Operand};

impl Reader<'_, '_> {
    /// The literal or constant expression that starts here, as an operand.
    pub(super) fn literal_operand(&mut self) -> Result<Operand, Diagnostic> {
        let constant = self.cursor.constant()?;
        self.operand_of(constant)
    }

    fn operand_of(&mut self, constant: Constant) -> Result<Operand, Diagnostic> {
        Ok(match constant {
            Constant::Signed(value) => match i32::try_from(value) {
                Ok(small) => Operand::int(small),
                // Its digits without the sign fit no signed integer, so it is spelled by its bits.
                Err(_) if value == i64::MIN => {
                    Operand::literal(self.new_literal(LiteralKind::Unsigned, value as u64)?)
                }
                Err(_) => Operand::literal(self.new_literal(LiteralKind::Signed, value as u64)?),
            },
            Constant::Unsigned(value) => match i32::try_from(value) {
                Ok(small) => Operand::int(small),
                // Whether it was unsigned matters inside expressions only; without a suffix it would read back as signed.
                Err(_) if value <= i64::MAX as u64 => {
                    Operand::literal(self.new_literal(LiteralKind::Signed, value)?)
                }
                Err(_) => Operand::literal(self.new_literal(LiteralKind::Unsigned, value)?),
            },
            Constant::F32(bits) => Operand::f32_bits(bits),
            Constant::F64(value) => Operand::literal(self.new_literal(LiteralKind::F64, value.to_bits())?),
        })
    }

    /// A new entry of the literal pool.
    pub(super) fn new_literal(&mut self, kind: LiteralKind, bits: u64) -> Result<LiteralId, Diagnostic> {
        self.push_literal(Literal::new(kind, bits))
    }

    /// A new entry of the literal pool that holds the text `first..end`.
    pub(super) fn new_text(&mut self, first: usize, end: usize) -> Result<LiteralId, Diagnostic> {
        self.push_literal(Literal::text(first as u32, (end - first) as u32))
    }

    fn push_literal(&mut self, literal: Literal) -> Result<LiteralId, Diagnostic> {
        let literals = &mut self.out.pools.literals;
        if literals.len() > OPERAND_ID_MAX {
            return Err(Diagnostic::new(self.cursor.pos, 1, Problem::TooMany("literals")));
        }
        literals.push(literal);
        Ok(LiteralId::new(literals.len() - 1))
    }
}
