//! Carries: what an instruction of a carry chain makes of a carry that is known.
//!
//! The carry register holds one bit. Additions leave the carry out of their sum in it, and subtractions that of `a + ~b + 1`,
//! which is set where nothing is borrowed: so chains cross as they do in the machine (docs/JUDGE.md).
//!
//! ```text
//! add.cc.u32  r1, r2, 0;     // no carry, whatever r2 is
//! addc.cc.u32 r3, r4, r5;    // add.cc.u32 r3, r4, r5
//! addc.u32    r6, 0, 0;      // stays: the carry of r3
//! ```
//! The first link of a chain, whose carry nothing reads any more then, loses its `.cc` in
//! [dead-code elimination](crate::values::eliminate_dead), and is a copy.

use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::rewrite::{New, Rewrite};
use crate::values::known_bits::Known;
use ptxopt_components::description::Description;
use ptxopt_components::form::Form;
use ptxopt_components::ids::InstId;
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Modifiers, Part};
use ptxopt_components::types::truncate;
use ptxopt_engine::values::reaching::Value;

pub(super) const RULES: &[Rule] = &[Rule {
    name: "known-carry",
    operations: &[Operation::Addc, Operation::Subc, Operation::Madc],
    pattern: "addc y, z -> add y, z, where no carry comes in; addc y, c -> add y, c + 1, where one does; subc and madc likewise",
    reason: "the carry that comes in is known",
    guards: &[
        Guard {
            needs: "a carry that is the same for all operands that are possible",
            without: "add.cc.u32 %r1, %r2, 1; addc.u32 %r3, 0, 0 is 1 where %r2 = 0xFFFFFFFF",
        },
        Guard {
            needs: "a carry that was written whether a guard held or not",
            without: "add.cc.u32 %r1, %r2, %r3; @%p1 add.cc.u32 %r4, %r5, 0; addc.u32 %r6, 0, 0 is 1 where %p1 is false and %r2 + %r3 carries",
        },
        Guard {
            needs: "a literal that can be counted up without a carry of its own, if the carry that comes out is read",
            without: "addc.cc.u32 %r1, %r2, 0xFFFFFFFF with a carry leaves one, and add.cc.u32 %r1, %r2, 0 none",
        },
    ],
    when: Clues::ALWAYS,
    apply: Apply::Any(known_carry),
}];

fn known_carry(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let carry = walk.f.carry_of(inst)?;
    let Value::Of(writer) = walk.value(carry, inst) else { return None };
    let is_set = carry_out(walk, writer)?;
    let description = *walk.f.description_of(inst);
    // What the carry is where the instruction is like one that reads none, and which source is a literal that takes the other one.
    let (operation, plain, literals): (_, _, &[usize]) = match description.operation {
        Operation::Addc => (Operation::Add, false, &[1, 2]),
        Operation::Subc => (Operation::Sub, true, &[1, 2]),
        Operation::Madc => (Operation::Mad, false, &[3]),
        _ => return None,
    };
    let ty = description.types[0]?;
    let count = walk.f.slots_of(inst).len();
    let mut operands = [New::Constant(0, ty); 4];
    for (new, &operand) in operands.iter_mut().zip(&walk.f.operands_of(inst)[..count]) {
        *new = New::Operand(operand);
    }
    if is_set != plain {
        let has_literal = |&&at: &&usize| walk.literal(walk.f.operands_of(inst)[at]).is_some();
        let &at = literals.iter().find(has_literal)?;
        let bits = walk.literal(walk.f.operands_of(inst)[at])?;
        // One more is taken away where the second source counts up, or the first one counts down.
        let is_minuend = operation == Operation::Sub && at == 1;
        let step = if is_minuend { u64::MAX } else { 1 };
        let stepped = truncate(bits.wrapping_add(step), ty.bits());
        let last = if is_minuend { 0 } else { truncate(u64::MAX, ty.bits()) };
        let wraps = truncate(bits, ty.bits()) == last;
        if wraps && description.qualifiers.has(Modifiers::CARRY_OUT) {
            return None;
        }
        operands[at] = New::Constant(stepped, ty);
    }
    walk.instead(inst, operation, description.qualifiers, &[ty], &operands[..count])
}

/// The carry that an instruction leaves, where it is the same for all operands that are possible.
fn carry_out(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<bool> {
    let Form { effects, .. } = *walk.f.form_of(inst);
    if walk.f.guard_of(inst).is_some() {
        return None;
    }
    let description = *walk.f.description_of(inst);
    let &[_, one, other, ref rest @ ..] = walk.f.operands_of(inst) else { return None };
    let (addend, width) = (rest.first().copied(), description.types[0]?.bits());
    let mut known = |operand| walk.known(operand, width, inst);
    let (one, other) = (known(one), known(other));
    let (terms, of_none) = match description.operation {
        Operation::Add | Operation::Addc => ([one, other], 0),
        Operation::Sub | Operation::Subc => ([one, other.not()], 1),
        Operation::Mad | Operation::Madc => ([product(&description, one, other)?, known(addend?)], 0),
        _ => return None,
    };
    let (least, most) = if effects.contains(Effects::CARRY_IN) { (0, 1) } else { (of_none, of_none) };
    let carry = |of: fn(Known) -> u64, carry: u128| {
        (terms.iter().map(|&term| u128::from(of(term))).sum::<u128>() + carry) >> width
    };
    let (low, high) = (carry(Known::low, least), carry(Known::high, most));
    (low == high).then_some(low != 0)
}

/// The half of a product that is added.
fn product(description: &Description, one: Known, other: Known) -> Option<Known> {
    Some(match description.qualifiers.part? {
        Part::Low => one.mul(other),
        Part::High if description.types[0]?.is_signed() => one.mul_high_signed(other),
        Part::High => one.mul_high(other),
        Part::Wide => return None,
    })
}
