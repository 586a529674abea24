//! Bits: masks of what is known to be zero.

use super::{Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::constants::truncate;
use crate::values::general_optimize::evaluate::is_signed;
use crate::values::general_optimize::pattern::{is_integer, plain};
use crate::values::general_optimize::rewrite::Rewrite;
use ptxopt_components::ids::InstId;
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Qualifiers;

/// Instructions that bits are followed through. Some have two sources, so that is the depth of a tree.
const DEPTH_MAX: u32 = 4;

pub(super) const RULES: &[Rule] = &[Rule {
    name: "mask-of-zeros",
    operations: &[Operation::And],
    pattern: "and y, m -> y where all bits outside of m are zero, and 0 where all bits of m are",
    reason: "the mask has bits that are zero already",
    guards: &[
        Guard {
            needs: "a load or conversion that extends without a sign",
            without: "ld.global.s8 %r1, [%rd1]; and.b32 %r2, %r1, 255 clears the copies of the sign",
        },
        Guard {
            needs: "the instruction that computed y is unguarded and writes it whole",
            without: "@%p1 and.b32 %r1, %r9, 15; and.b32 %r2, %r1, 15 where %p1 is false and %r1 was 16",
        },
    ],
    apply: mask_of_zeros,
}];

fn mask_of_zeros(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let &[_, one, other] = walk.f.operands_of(inst) else { return None };
    let mask = walk.literal(other)?;
    let binary = walk.binary(inst)?;
    let vreg = one.vreg().filter(|_| one == plain(one))?;
    if walk.width(vreg) != binary.width() {
        return None;
    }
    let possible = possible_bits(walk, one, inst, binary.width(), DEPTH_MAX);
    match (possible & !mask, possible & mask) {
        (0, _) => walk.move_of(inst, binary.result, one),
        (_, 0) => walk.move_of_constant(inst, binary.result, 0),
        _ => None,
    }
}

/// The bits that may be one of the lowest `width` bits of an operand, as it is before `inst`.
pub(super) fn possible_bits(
    walk: &mut Walk<'_, '_>,
    operand: Operand,
    inst: InstId,
    width: u32,
    depth_left: u32,
) -> u64 {
    let all = truncate(u64::MAX, width);
    if let Some(literal) = walk.literal(operand) {
        return truncate(literal, width);
    }
    let Some(depth_left) = depth_left.checked_sub(1) else { return all };
    let Some(definition) = walk.computed_by(operand, inst) else { return all };
    possible_result(walk, definition, depth_left).map_or(all, |bits| bits & all)
}

/// The bits that may be one in the result of an instruction, which has only one; none where nothing is known.
fn possible_result(walk: &mut Walk<'_, '_>, inst: InstId, depth_left: u32) -> Option<u64> {
    let description = walk.f.description_of(inst);
    let (operation, ty) = (description.operation, description.types[0].filter(|ty| is_integer(*ty))?);
    let from = description.types[1];
    let has_qualifiers = description.qualifiers != Qualifiers::default();
    let width = ty.bits();
    let is_extended = !is_signed(ty);
    match (operation, walk.f.operands_of(inst)) {
        (Operation::Ld, _) if is_extended => Some(truncate(u64::MAX, width)),
        _ if has_qualifiers => None,
        (Operation::And, &[_, one, other]) => {
            let bits = possible_bits(walk, one, inst, width, depth_left);
            Some(bits & possible_bits(walk, other, inst, width, depth_left))
        }
        (Operation::Or | Operation::Xor, &[_, one, other]) | (Operation::Selp, &[_, one, other, _]) => {
            let bits = possible_bits(walk, one, inst, width, depth_left);
            Some(bits | possible_bits(walk, other, inst, width, depth_left))
        }
        (Operation::Shl, &[_, one, amount]) => {
            let amount = truncate(walk.literal(amount)?, 32);
            let bits = possible_bits(walk, one, inst, width, depth_left);
            Some(truncate(bits.checked_shl(amount.min(64) as u32).unwrap_or(0), width))
        }
        (Operation::Shr, &[_, one, amount]) if is_extended => {
            let amount = truncate(walk.literal(amount)?, 32);
            let bits = possible_bits(walk, one, inst, width, depth_left);
            Some(bits.checked_shr(amount.min(64) as u32).unwrap_or(0))
        }
        (Operation::Bfe, &[_, _, _, length]) if is_extended => {
            let length = truncate(walk.literal(length)?, 8);
            Some(truncate(u64::MAX, (length as u32).min(width)))
        }
        (Operation::Popc | Operation::Clz, _) => Some(if width == 64 { 127 } else { 63 }),
        (Operation::Cvt, &[_, source]) if is_extended => {
            let from = from.filter(|from| is_integer(*from) && !is_signed(*from))?;
            Some(truncate(possible_bits(walk, source, inst, from.bits(), depth_left), width))
        }
        _ => None,
    }
}
