//! Folding: what has constant operands only is a constant.

use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::constants::literal_at;
use crate::values::general_optimize::copies::Source;
use crate::values::general_optimize::evaluate::{SOURCES_MAX, evaluate, in_register};
use crate::values::general_optimize::pattern::plain;
use crate::values::general_optimize::rewrite::Rewrite;
use ptxopt_components::ids::InstId;
use ptxopt_components::operation::Operation;

pub(super) const RULES: &[Rule] = &[Rule {
    name: "fold",
    operations: &[
        Operation::Mov,
        Operation::Add,
        Operation::Sub,
        Operation::Mul,
        Operation::Mad,
        Operation::Mul24,
        Operation::Mad24,
        Operation::Dp4a,
        Operation::Dp2a,
        Operation::Div,
        Operation::Rem,
        Operation::And,
        Operation::Or,
        Operation::Xor,
        Operation::Not,
        Operation::Neg,
        Operation::Abs,
        Operation::Shl,
        Operation::Shr,
        Operation::Min,
        Operation::Max,
        Operation::Popc,
        Operation::Clz,
        Operation::Cvt,
        Operation::Fma,
        Operation::Rcp,
        Operation::Sqrt,
        Operation::Copysign,
        Operation::Testp,
        Operation::Setp,
        Operation::Set,
        Operation::Slct,
        Operation::Bfe,
        Operation::Bfi,
        Operation::Bfind,
        Operation::Bmsk,
        Operation::Brev,
        Operation::Clmad,
        Operation::Cnot,
        Operation::Fns,
        Operation::Lop3,
        Operation::Prmt,
        Operation::Sad,
        Operation::Shf,
        Operation::Szext,
    ],
    pattern: "x = op c, d -> mov x, (c op d); x = mov {c, d} -> mov x, (c | d << n)",
    reason: "its operands are constants",
    guards: &[
        Guard {
            needs: "the quotient is defined",
            without: "div.s32 %r1, 7, 0 gives what the machine gives, and no constant is known to be that",
        },
        Guard {
            needs: "no qualifier that is not evaluated, such as .oob",
            without: "fma.rn.oob.f16 with a factor 0xFFFF, which stands for what is out of bounds, is 0, and without .oob no number",
        },
        Guard {
            needs: "a float result of which the ISA says each bit: no NaN, no approximation",
            without: "sub.f32 %f1, 0f7F800000, 0f7F800000 is some NaN, and st.global.f32 shows which one",
        },
    ],
    when: Clues::ALL_CONSTANT,
    apply: Apply::Any(fold),
}];

fn fold(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let mut sources = [0; SOURCES_MAX];
    let count = walk.f.operands_of(inst).len().checked_sub(1)?;
    if !(1..=SOURCES_MAX).contains(&count) {
        return None;
    }
    for (at, source) in sources.iter_mut().enumerate().take(count) {
        *source = constant_at(walk, inst, at + 1)?;
    }
    // A guard and a hidden carry are operands, too, and no constants.
    if !walk.f.form_of(inst).is_pure() {
        return None;
    }
    let result = walk.only_result(inst)?;
    let description = walk.f.description_of(inst);
    let bits = evaluate(description, &sources[..count])?;
    let whole = in_register(description, bits, walk.width(result))?;
    walk.move_of_constant(inst, result, whole)
}

/// The bits of a source that is a constant: of a literal, in the type of its slot.
fn constant_at(walk: &mut Walk<'_, '_>, inst: InstId, position: usize) -> Option<u64> {
    let operand = walk.f.operands_of(inst)[position];
    let Some(vreg) = operand.vreg() else {
        return literal_at(walk.f.form_of(inst), walk.f.slots_of(inst), position, operand, walk.f.literals());
    };
    match walk.source_of(vreg, inst).filter(|_| operand == plain(operand)) {
        Some(Source::Constant(bits)) => Some(bits),
        _ => None,
    }
}
