//! Overflow checks: a sum or difference compared with what it was made of.
//!
//! ```text
//! add.u32 %r2, %r1, 1; setp.lt.u32 %p1, %r2, %r1;     // whether the sum has wrapped around
//! ```
//! What is known of the terms tells whether it can, and then which of the two is less.

use super::{Apply, Guard, Rule};
use crate::flow::conditions::comparison::{Order, Outcomes, Test};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::pattern::plain;
use crate::values::general_optimize::rewrite::Rewrite;
use crate::values::known_bits::Known;
use ptxopt_components::ids::InstId;
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;

pub(super) const RULES: &[Rule] = &[Rule {
    name: "sum-against-its-term",
    operations: &[Operation::Setp],
    pattern: "x = y + z; setp.lt x, y -> p = true or false, where the sum never wraps around, or always; x = y - z likewise",
    reason: "the sum cannot wrap around",
    guards: &[
        Guard {
            needs: "terms whose sums all wrap around, or none of them",
            without: "add.u32 %r2, %r1, 1; setp.lt.u32 %p1, %r2, %r1 is true where %r1 is 2^32 - 1",
        },
        Guard {
            needs: "the order of the comparison: a sum that does not wrap around without a sign may with one",
            without: "add.s32 %r2, %r1, 1; setp.lt.s32 %p1, %r2, %r1 is true where %r1 is 2^31 - 1",
        },
        Guard {
            needs: "a term that is not 0, where equality counts",
            without: "add.u32 %r2, %r1, %r3; setp.gt.u32 %p1, %r2, %r1 is false where %r3 is 0",
        },
        Guard {
            needs: "y still holds what was added",
            without: "add.u32 %r2, %r1, 1; mov.u32 %r1, 9; setp.lt.u32 %p1, %r2, %r1 is of another %r1",
        },
    ],
    when: Clues::SUM.union(Clues::ADDED),
    apply: Apply::Any(sum_against_its_term),
}];

fn sum_against_its_term(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let &[_, one, other] = walk.f.operands_of(inst) else { return None };
    let (result, description) = (walk.only_result(inst)?, *walk.f.description_of(inst));
    let test = Test::of(&description).filter(|test| !matches!(test.order, Order::Float { .. }))?;
    let outcomes = outcomes(walk, inst, one, other, test).or_else(|| {
        let mirrored = outcomes(walk, inst, other, one, test)?;
        Some(mirrored.mirrored())
    })?;
    let holds = test.decided(outcomes)?;
    walk.move_of_constant(inst, result, if holds { u64::MAX } else { 0 })
}

/// How a sum or difference compares with its first term; none where `sum` is none of `term`.
fn outcomes(
    walk: &mut Walk<'_, '_>,
    inst: InstId,
    sum: Operand,
    term: Operand,
    test: Test,
) -> Option<Outcomes> {
    let width = test.ty.bits();
    let compared = term.vreg().filter(|_| term == plain(term))?;
    let definition = walk.computed_by(sum, inst)?;
    let binary = walk.binary(definition)?;
    let added = match binary.operation {
        Operation::Add if binary.other == term => binary.one,
        Operation::Add | Operation::Sub if binary.one == term => binary.other,
        _ => return None,
    };
    let is_whole =
        binary.width() == width && walk.width(binary.result) == width && walk.width(compared) == width;
    // A call between the two may write what is not the function's own.
    let is_same = walk.is_own(compared) && walk.value(compared, definition) == walk.value(compared, inst);
    if !is_whole || !is_same {
        return None;
    }
    let [term, added] = [term, added].map(|operand| walk.known(operand, width, definition));
    let is_sum = binary.operation == Operation::Add;
    Some(if test.order == Order::Signed {
        signed(term, added, is_sum)
    } else {
        unsigned(term, added, is_sum)
    })
}

/// How `term + added`, or `term - added`, compares with `term` as a number without a sign.
fn unsigned(term: Known, added: Known, is_sum: bool) -> Outcomes {
    let end = u64::MAX >> (64 - term.width());
    // What may be added before it wraps around.
    let (least_place, most_place) =
        if is_sum { (end - term.high(), end - term.low()) } else { (term.low(), term.high()) };
    let (without_wrap, with_wrap) =
        if is_sum { (Outcomes::GREATER, Outcomes::LESS) } else { (Outcomes::LESS, Outcomes::GREATER) };
    let mut outcomes = Outcomes::empty();
    outcomes.set(without_wrap, added.low() <= most_place && added.high() > 0);
    outcomes.set(with_wrap, added.high() > least_place);
    outcomes.set(Outcomes::EQUAL, added.contains(0));
    outcomes
}

/// How `term + added`, or `term - added`, compares with `term` as a number with a sign.
fn signed(term: Known, added: Known, is_sum: bool) -> Outcomes {
    let (most, least) =
        (i128::from(i64::MAX >> (64 - term.width())), i128::from(i64::MIN >> (64 - term.width())));
    let ends = [added.least(), added.most()].map(i128::from);
    let [low, high] = if is_sum { ends } else { [-ends[1], -ends[0]] };
    let sums = [i128::from(term.least()) + low, i128::from(term.most()) + high];
    let may_wrap = sums[0] < least || sums[1] > most;
    let mut outcomes = Outcomes::empty();
    outcomes.set(Outcomes::LESS, low < 0 || may_wrap);
    outcomes.set(Outcomes::GREATER, high > 0 || may_wrap);
    outcomes.set(Outcomes::EQUAL, added.contains(0));
    outcomes
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: u32 = 4;

    fn extend(value: u64) -> i64 {
        ((value << 60) as i64) >> 60
    }

    fn ranges() -> Vec<Known> {
        let ends =
            |least: i64, end: i64| (least..end).flat_map(move |low| (low..end).map(move |high| (low, high)));
        let unsigned = ends(0, 16).map(|(low, high)| Known::range(low as u64, high as u64, WIDTH));
        unsigned.chain(ends(-8, 8).map(|(least, most)| Known::signed_range(least, most, WIDTH))).collect()
    }

    fn outcome(order: std::cmp::Ordering) -> Outcomes {
        match order {
            std::cmp::Ordering::Less => Outcomes::LESS,
            std::cmp::Ordering::Equal => Outcomes::EQUAL,
            std::cmp::Ordering::Greater => Outcomes::GREATER,
        }
    }

    /// Against all sums and differences of all values of all ranges of four bits. Of ranges without a sign nothing is said that
    /// does not come out.
    #[test]
    fn what_comes_out_of_all_values_is_said() {
        let ranges: Vec<_> = ranges()
            .into_iter()
            .map(|range| (range, (0..16).filter(|&value| range.contains(value)).collect::<Vec<u64>>()))
            .collect();
        for ((term, terms), (added, all_added)) in
            ranges.iter().flat_map(|one| ranges.iter().map(move |other| (one, other)))
        {
            for is_sum in [true, false] {
                let [mut without_sign, mut with_sign] = [Outcomes::empty(); 2];
                for (&term, &added) in
                    terms.iter().flat_map(|term| all_added.iter().map(move |added| (term, added)))
                {
                    let sum = if is_sum { term + added } else { term.wrapping_sub(added) } & 15;
                    without_sign |= outcome(sum.cmp(&term));
                    with_sign |= outcome(extend(sum).cmp(&extend(term)));
                }
                assert!(
                    unsigned(*term, *added, is_sum).contains(without_sign),
                    "{term:?} {added:?} {is_sum}"
                );
                assert!(signed(*term, *added, is_sum).contains(with_sign), "{term:?} {added:?} {is_sum}");
                if let Some(added) = added.only() {
                    let all = [without_sign, with_sign];
                    let said = [
                        unsigned(*term, Known::constant(added, WIDTH), is_sum),
                        signed(*term, Known::constant(added, WIDTH), is_sum),
                    ];
                    let is_whole = |said: Outcomes, all: Outcomes| {
                        said == all || added != 0 && said == Outcomes::UNEQUAL
                    };
                    assert!(
                        is_whole(said[0], all[0]) && is_whole(said[1], all[1]),
                        "{term:?} {added} {is_sum}: {said:?} {all:?}"
                    );
                }
            }
        }
    }
}
