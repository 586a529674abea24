//! Funnel shifts: what is shifted into 32 bits from two sides, a rotation among it.
//!
//! ```text
//! shl.b32 %r3, %r1, 5; shr.u32 %r4, %r2, 27; or.b32 %r5, %r3, %r4;     // shf.l.clamp.b32 %r5, %r2, %r1, 5
//! ```
//! The amounts are literals, or one of them is 32 less the other one, of which it is known that it is not more than 32. Then the two
//! parts have no bit in common, so it is all one whether they are added or combined.
//!
//! # What the machine makes of it
//! `ptxas` 13.0 (sm_75 to sm_120) makes a funnel shift of two shifts by literals itself. Of shifts by registers it makes four
//! machine instructions, where one does (a kernel of 32 such places has 293 and 197).

use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::pattern::{Binary, plain};
use crate::values::general_optimize::rewrite::{New, Rewrite};
use ptxopt_components::ids::InstId;
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Direction, Excess, Qualifiers};
use ptxopt_components::types::{PtxType, truncate};

/// Bits of what is shifted.
const WIDTH: u32 = 32;

/// The first target that has funnel shifts.
const FUNNELS_FROM: u32 = 32;

pub(super) const RULES: &[Rule] = &[Rule {
    name: "funnel-shift",
    operations: &[Operation::Or, Operation::Add, Operation::Xor],
    pattern: "x = y << k; w = z >> (32 - k); x | w -> shf.l z, y, k; with + or ^ for |; x = y << (32 - k); w = z >> k; \
              x | w -> shf.r z, y, k",
    reason: "two shifts are one of both registers",
    guards: &[
        Guard {
            needs: "amounts that are 32 together",
            without: "shl.b32 %r3, %r1, 5; shr.u32 %r4, %r2, 26; or.b32 %r5, %r3, %r4 mixes bit 5",
        },
        Guard {
            needs: "a right shift without a sign",
            without: "shl.b32 %r3, %r1, 5; shr.s32 %r4, -1, 27; or.b32 %r5, %r3, %r4 is -1",
        },
        Guard {
            needs: "an amount of not more than 32",
            without: "sub.u32 %r6, 32, 33; shl.b32 %r3, %r1, 33; shr.u32 %r4, %r2, %r6; or.b32 %r5, %r3, %r4 is 0, and \
                      shf.l.clamp %r5, %r2, %r1, 33 is %r2",
        },
        Guard {
            needs: "the registers still hold what was shifted",
            without: "shl.b32 %r3, %r1, 5; mov.u32 %r1, %r9; shr.u32 %r4, %r2, 27; or.b32 %r5, %r3, %r4 is of the old %r1",
        },
        Guard { needs: "a target that has funnel shifts", without: "shf.l.clamp.b32 on sm_30" },
    ],
    when: Clues::SHIFTED,
    apply: Apply::Binary(funnel_shift),
}];

fn funnel_shift(walk: &mut Walk<'_, '_>, inst: InstId, binary: Binary) -> Option<Rewrite> {
    if binary.width() != WIDTH || walk.f.text().sm < FUNNELS_FROM {
        return None;
    }
    let (one, other) = (shift(walk, binary.one, inst)?, shift(walk, binary.other, inst)?);
    let (left, right) = if one.binary.operation == Operation::Shl { (one, other) } else { (other, one) };
    let is_pair = left.binary.operation == Operation::Shl
        && right.binary.operation == Operation::Shr
        && !right.binary.ty.is_signed();
    let (direction, amount) = amount(walk, &left, &right, inst).filter(|_| is_pair)?;
    let (high, low) = (left.binary.one, right.binary.one);
    if !walk.is_still(high, left.inst, inst) || !walk.is_still(low, right.inst, inst) {
        return None;
    }
    let qualifiers =
        Qualifiers { direction: Some(direction), excess: Some(Excess::Clamp), ..Qualifiers::default() };
    let operands = [New::register(binary.result), New::Operand(low), New::Operand(high), amount];
    walk.instead(inst, Operation::Shf, qualifiers, &[PtxType::B32], &operands)
}

/// A shift of a whole register of 32 bits.
struct Shift {
    inst: InstId,
    binary: Binary,
}

/// The shift that computed an operand of `inst`.
fn shift(walk: &mut Walk<'_, '_>, operand: Operand, inst: InstId) -> Option<Shift> {
    operand.vreg().filter(|&vreg| walk.made.by(vreg).contains(Clues::SHIFTED))?;
    let definition = walk.computed_by(operand, inst)?;
    let binary = walk.binary(definition)?;
    let is_shift = matches!(binary.operation, Operation::Shl | Operation::Shr);
    let moves_a_register = binary.one.vreg().is_some() && binary.one == plain(binary.one);
    (is_shift && moves_a_register).then_some(Shift { inst: definition, binary })
}

/// The direction and the amount of the funnel shift in the place of `inst`, where the amounts of the left and of the right one are 32
/// together.
fn amount(walk: &mut Walk<'_, '_>, left: &Shift, right: &Shift, inst: InstId) -> Option<(Direction, New)> {
    match (walk.literal(left.binary.other), walk.literal(right.binary.other)) {
        (Some(by), Some(back)) => {
            let [by, back] = [by, back].map(|amount| truncate(amount, WIDTH));
            let is_whole = by + back == u64::from(WIDTH) && by != 0 && back != 0;
            is_whole.then_some((Direction::Left, New::Constant(by, PtxType::U32)))
        }
        (None, None) if goes_by_rest(walk, right, left, inst) => {
            Some((Direction::Left, New::Operand(left.binary.other)))
        }
        (None, None) if goes_by_rest(walk, left, right, inst) => {
            Some((Direction::Right, New::Operand(right.binary.other)))
        }
        _ => None,
    }
}

/// Whether `rest` goes by 32 less the amount of `shift`, which is not more than that and still there before `inst`.
fn goes_by_rest(walk: &mut Walk<'_, '_>, rest: &Shift, shift: &Shift, inst: InstId) -> bool {
    let amount = shift.binary.other;
    let Some(definition) = walk.computed_by(rest.binary.other, rest.inst) else { return false };
    let Some(difference) = walk.binary(definition) else { return false };
    let is_from_whole = |walk: &Walk<'_, '_>| {
        walk.literal(difference.one).is_some_and(|whole| truncate(whole, WIDTH) == u64::from(WIDTH))
    };
    difference.operation == Operation::Sub
        && difference.other == amount
        && is_from_whole(walk)
        && amount == plain(amount)
        && amount.vreg().is_some_and(|vreg| walk.width(vreg) == WIDTH)
        && walk.is_still(amount, definition, inst)
        && walk.is_still(amount, shift.inst, inst)
        && walk.known(amount, WIDTH, inst).high() <= u64::from(WIDTH)
}
