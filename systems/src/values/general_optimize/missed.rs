//! What one would expect to be simplified and is not, with the reason: remarks of kind `missed`.
//!
//! Nothing here is asked unless remarks are wanted, and then of instructions to which no rule applies any more.

use super::Walk;
use super::rules::sum_of;
use ptxopt_components::form::Role;
use ptxopt_components::ids::{Id, InstId};
use ptxopt_components::operand::{LiteralKind, Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::types::{PtxType, TypeKind};

/// `y + 0.0` of the smaller zero is the larger one, and a NaN comes out as another one.
const FLOAT_SUM: &str = "a float sum with 0 is no copy of -0 or a NaN: that takes fast math";
/// A NaN comes out as another one, and of `.ftz` a subnormal as 0.
const FLOAT_PRODUCT: &str = "a float product with 1 is no copy of a NaN: that takes fast math";
const FLOAT_ZERO: &str = "a float product with 0 is not 0 of an infinity or a NaN: that takes fast math";
const FLOAT_DIFFERENCE: &str =
    "the difference of equal floats is not 0 of an infinity or a NaN: that takes fast math";
const FLOAT_RATIO: &str =
    "the ratio of equal floats is not 1 of 0, an infinity or a NaN: that takes fast math";
const ADDRESS_WRAPS: &str = "an address of 32 bits with an offset may not wrap around where its sum does";
const ADDRESS_IS_FAR: &str = "the offset of the address would have more than 24 bits";
const QUOTIENT: &str = "a division by this constant would take several instructions";
/// A copy whose register does not fit where the copy is read: by its type, or because the instruction names it as it is.
pub(super) const COPY_STAYS: &str = "what was copied does not fit in the place of the copy";

impl Walk<'_, '_> {
    /// Says why an instruction stays as it is, where there is something to say.
    #[cold]
    pub(super) fn note_missed(&mut self, inst: InstId) {
        let reason = match self.f.form_of(inst).operation {
            Operation::Ld | Operation::St | Operation::Atom | Operation::Red => self.missed_address(inst),
            Operation::Div | Operation::Rem if !self.is_float(inst) => self.missed_quotient(inst),
            _ => self.missed_identity(inst),
        };
        if let Some(reason) = reason {
            self.miss(inst, reason);
        }
    }

    /// Makes a remark at an instruction.
    pub(super) fn miss(&mut self, inst: InstId, reason: &'static str) {
        let offset = self.f.offset_of(inst);
        self.f.missed(offset, reason);
    }

    fn is_float(&self, inst: InstId) -> bool {
        self.f.description_of(inst).types[0].is_some_and(|ty| ty.kind() == TypeKind::Float)
    }

    /// An identity of numbers that floats do not have.
    fn missed_identity(&self, inst: InstId) -> Option<&'static str> {
        let &[_, one, other] = self.f.operands_of(inst) else { return None };
        if !self.is_float(inst) {
            return None;
        }
        let is_either =
            |number: f64| [one, other].into_iter().any(|operand| self.float(operand) == Some(number));
        let is_last = |number: f64| self.float(other) == Some(number);
        let are_equal = one == other && one.vreg().is_some();
        match self.f.form_of(inst).operation {
            Operation::Add if is_either(0.0) => Some(FLOAT_SUM),
            Operation::Sub if is_last(0.0) => Some(FLOAT_SUM),
            Operation::Sub if are_equal => Some(FLOAT_DIFFERENCE),
            Operation::Mul if is_either(1.0) => Some(FLOAT_PRODUCT),
            Operation::Mul if is_either(0.0) => Some(FLOAT_ZERO),
            Operation::Div if is_last(1.0) => Some(FLOAT_PRODUCT),
            Operation::Div if are_equal => Some(FLOAT_RATIO),
            _ => None,
        }
    }

    /// A float literal of 32 or 64 bits.
    fn float(&self, operand: Operand) -> Option<f64> {
        match operand.kind() {
            OperandKind::F32(bits) => Some(f64::from(f32::from_bits(bits))),
            OperandKind::Literal(literal) => {
                let literal = self.f.literals()[literal.index()];
                (literal.kind() == LiteralKind::F64).then(|| f64::from_bits(literal.bits))
            }
            _ => None,
        }
    }

    /// A sum with a constant that the address does not hold.
    fn missed_address(&mut self, inst: InstId) -> Option<&'static str> {
        let position = self.f.slots_of(inst).iter().position(|slot| slot.role == Role::Address)?;
        let operand = self.f.operands_of(inst)[position];
        let vreg = operand.vreg().filter(|_| operand.selector().is_none())?;
        sum_of(self, vreg, inst)?;
        Some(if self.width(vreg) == PtxType::B64.bits() { ADDRESS_IS_FAR } else { ADDRESS_WRAPS })
    }

    fn missed_quotient(&self, inst: InstId) -> Option<&'static str> {
        let binary = self.binary(inst)?;
        self.literal(binary.other).filter(|&divisor| divisor != 0).map(|_| QUOTIENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::run;
    use crate::flow::split_at_control_flow;
    use crate::values::general_optimize::PHASE;
    use ptxopt_engine::run::log::RemarkKind;

    /// What is said of `body` that was not done.
    fn missed(body: &str) -> Vec<String> {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.shared .b32 s[9];\n.visible .entry k(.param .u64 p) {{ \
             .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .f64 %g<9>; .reg .b64 %d<9>; ld.param.u64 %d1, [p]; \
             ld.global.u32 %r1, [%d1]; ld.global.f32 %f1, [%d1]; ld.global.f64 %g1, [%d1]; {body} ret; }}\n"
        );
        let output = run(text.as_bytes(), &[&split_at_control_flow::PHASE, &PHASE]);
        let is_missed = |kind: RemarkKind| matches!(kind, RemarkKind::Missed);
        let missed = output.remarks.iter().filter(|remark| is_missed(remark.kind));
        missed.map(|remark| remark.reason.clone().into_owned()).collect()
    }

    #[test]
    fn what_floats_do_not_allow_is_said() {
        for (inst, reason) in [
            ("add.f32 %f2, %f1, 0f00000000;", FLOAT_SUM),
            ("add.f32 %f2, 0f80000000, %f1;", FLOAT_SUM),
            ("sub.f64 %g2, %g1, 0d0000000000000000;", FLOAT_SUM),
            ("mul.f32 %f2, %f1, 0f3F800000;", FLOAT_PRODUCT),
            ("mul.f64 %g2, %g1, 0d0000000000000000;", FLOAT_ZERO),
            ("sub.f32 %f2, %f1, %f1;", FLOAT_DIFFERENCE),
            ("div.rn.f32 %f2, %f1, 0f3F800000;", FLOAT_PRODUCT),
            ("div.rn.f64 %g2, %g1, %g1;", FLOAT_RATIO),
        ] {
            assert_eq!(missed(inst), [reason], "{inst}");
        }
        for inst in ["add.f32 %f2, %f1, %f1;", "mul.f32 %f2, %f1, 0f40000000;", "sub.s32 %r2, %r1, %r1;"] {
            assert_eq!(missed(inst), [""; 0], "{inst}");
        }
    }

    #[test]
    fn addresses_that_do_not_hold_the_sum_are_named() {
        let narrow =
            "mov.u32 %r2, s; add.s32 %r3, %r1, %r2; add.s32 %r4, %r3, 8; ld.shared::cluster.u32 %r5, [%r4];";
        assert_eq!(missed(narrow), [ADDRESS_WRAPS]);
        assert_eq!(missed("add.s64 %d2, %d1, 16777216; ld.global.u32 %r2, [%d2];"), [ADDRESS_IS_FAR]);
        assert_eq!(missed("add.s64 %d2, %d1, 16; ld.global.u32 %r2, [%d2];"), [""; 0]);
    }

    #[test]
    fn divisions_that_stay_are_named() {
        assert_eq!(missed("div.u32 %r2, %r1, 7;"), [QUOTIENT]);
        assert_eq!(missed("rem.s32 %r2, %r1, 8;"), [QUOTIENT]);
        assert_eq!(missed("div.u32 %r2, %r1, 8;"), [""; 0]);
    }

    #[test]
    fn copies_that_stay_are_named() {
        // A float register in the place of bits, where the sum is one of integers.
        assert_eq!(missed("mov.b32 %r2, %f1; add.s32 %r3, %r2, %r1;"), [COPY_STAYS]);
        assert_eq!(missed("mov.b32 %r2, %r1; add.s32 %r3, %r2, %r1;"), [""; 0]);
    }
}
