//! Differences: terms that are added and taken away again, negations, and literals on the left.

use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::pattern::{Binary, plain, signed_of};
use crate::values::general_optimize::rewrite::{New, Rewrite, bits_of};
use ptxopt_components::form::FormFlags;
use ptxopt_components::ids::InstId;
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Qualifiers;
use ptxopt_components::types::{TypeKind, truncate};

/// What a sum or difference may stand on.
const OF_A_SUM: Clues = Clues::SUM.union(Clues::ADDED);

const STILL: Guard = Guard {
    needs: "all sources are what they were",
    without: "add.s32 %r3, %r1, %r2; mov.u32 %r1, %r9; sub.s32 %r4, %r3, %r1 is not %r2",
};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "terms-that-cancel",
        operations: &[Operation::Add, Operation::Sub],
        pattern: "(y + z) - y, y - (y - z) -> z; (y - z) + z -> y; (y - z) - y, y - (y + z) -> neg z",
        reason: "what was added is taken away, or the other way round",
        guards: &[
            STILL,
            Guard {
                needs: "sums that wrap around",
                without: "add.sat.s32 %r3, %r1, %r2; sub.s32 %r4, %r3, %r1 with %r1 = %r2 = 0x7FFFFFFF is 0",
            },
        ],
        when: OF_A_SUM,
        apply: Apply::Binary(terms_that_cancel),
    },
    Rule {
        name: "sum-with-a-negation",
        operations: &[Operation::Add, Operation::Sub],
        pattern: "x = neg y; z + x -> z - y; z - x -> z + y",
        reason: "a negation is added",
        guards: &[STILL],
        when: Clues::ADDED,
        apply: Apply::Binary(sum_with_a_negation),
    },
    Rule {
        name: "literal-minus",
        operations: &[Operation::Add, Operation::Sub],
        pattern: "d - (y + c) -> (d - c) - y; d - (c - y) -> y + (d - c); (c - y) + d -> (c + d) - y",
        reason: "two literals around a difference are added at once",
        guards: &[STILL],
        when: OF_A_SUM,
        apply: Apply::Binary(literal_minus),
    },
    Rule {
        name: "difference-with-its-bits",
        operations: &[Operation::Sub],
        pattern: "y - (y & m) -> y & ~m; (y & n) - (y & m) -> y & (n & ~m), where n has all bits of m",
        reason: "some bits are taken away",
        guards: &[
            STILL,
            Guard {
                needs: "bits that are there to be taken away",
                without: "and.b32 %r2, %r1, 3; and.b32 %r3, %r1, 4; sub.s32 %r4, %r2, %r3 with %r1 = 4 is -4",
            },
        ],
        when: Clues::WITH_LITERAL,
        apply: Apply::Binary(difference_with_its_bits),
    },
];

/// A sum or difference that some source was computed by.
#[derive(Clone, Copy)]
struct Sum {
    definition: InstId,
    binary: Binary,
}

impl Sum {
    fn is(&self, operation: Operation) -> bool {
        self.binary.operation == operation
    }
}

/// The instruction that computed `operand` with one of `operations`, on integers or bits of `width`.
fn computed(
    walk: &mut Walk<'_, '_>,
    operand: Operand,
    inst: InstId,
    operations: &[Operation],
    width: u32,
) -> Option<Sum> {
    let definition = walk.computed_by(operand, inst)?;
    if !operations.contains(&walk.f.form_of(definition).operation) {
        return None;
    }
    let binary = walk.binary(definition)?;
    let is_whole = binary.width() == width && walk.width(binary.result) == width;
    is_whole.then_some(Sum { definition, binary })
}

fn sum(walk: &mut Walk<'_, '_>, operand: Operand, inst: InstId, width: u32) -> Option<Sum> {
    computed(walk, operand, inst, &[Operation::Add, Operation::Sub], width)
}

/// Whether a source of a sum is a source of `inst` as well: the same literal, or a register that still holds the same.
fn is_same(walk: &mut Walk<'_, '_>, sum: &Sum, source: Operand, inst: InstId, other: Operand) -> bool {
    let width = sum.binary.width();
    match (walk.literal(source), walk.literal(other)) {
        (Some(one), Some(other)) => truncate(one, width) == truncate(other, width),
        (None, None) => {
            source == plain(source) && source == other && walk.is_still(source, sum.definition, inst)
        }
        _ => false,
    }
}

/// A source of a sum in the place of `inst`, or its negation.
fn left_over(
    walk: &mut Walk<'_, '_>,
    inst: InstId,
    binary: &Binary,
    sum: &Sum,
    source: Operand,
    is_negated: bool,
) -> Option<Rewrite> {
    if let Some(literal) = walk.literal(source) {
        let bits = if is_negated { literal.wrapping_neg() } else { literal };
        return walk.move_of_constant(inst, binary.result, truncate(bits, binary.width()));
    }
    let is_there = source == plain(source)
        && walk.width(source.vreg()?) == binary.width()
        && walk.is_still(source, sum.definition, inst);
    if !is_there {
        return None;
    }
    if !is_negated {
        return walk.move_of(inst, binary.result, source);
    }
    let operands = [New::register(binary.result), New::Operand(source)];
    walk.instead(inst, Operation::Neg, Qualifiers::default(), &[signed_of(binary.ty)], &operands)
}

fn terms_that_cancel(walk: &mut Walk<'_, '_>, inst: InstId, binary: Binary) -> Option<Rewrite> {
    use Operation::{Add, Sub};
    let Binary { one, other, .. } = binary;
    if binary.ty.kind() != TypeKind::Integer {
        return None;
    }
    // A source that is a sum, the other source, and whether the sum is what is taken away.
    let ways = [(one, other, false), (other, one, true)];
    for (source, term, is_second) in ways {
        let Some(sum) = sum(walk, source, inst, binary.width()) else { continue };
        let [first, second] = [sum.binary.one, sum.binary.other];
        let is_first = is_same(walk, &sum, first, inst, term);
        let found = match binary.operation {
            Sub if sum.is(Add) && is_first => Some((second, is_second)),
            Sub if sum.is(Add) && is_same(walk, &sum, second, inst, term) => Some((first, is_second)),
            Sub if sum.is(Sub) && is_first => Some((second, !is_second)),
            Add if sum.is(Sub) && is_same(walk, &sum, second, inst, term) => Some((first, false)),
            _ => None,
        };
        if let Some((left, is_negated)) = found {
            return left_over(walk, inst, &binary, &sum, left, is_negated);
        }
    }
    None
}

fn sum_with_a_negation(walk: &mut Walk<'_, '_>, inst: InstId, binary: Binary) -> Option<Rewrite> {
    let Binary { one, other, .. } = binary;
    let is_sum = binary.operation == Operation::Add;
    let ways = if is_sum { &[(one, other), (other, one)][..] } else { &[(other, one)] };
    ways.iter().find_map(|&(negation, term)| {
        let definition = walk.computed_by(negation, inst)?;
        let form = walk.f.form_of(definition);
        let is_negation = form.operation == Operation::Neg && form.flags.contains(FormFlags::PLAIN);
        let ty = walk.f.description_of(definition).types[0].filter(|_| is_negation)?;
        let &[_, source] = walk.f.operands_of(definition) else { return None };
        let is_there = ty.kind() == TypeKind::Integer
            && ty.bits() == binary.width()
            && source == plain(source)
            && walk.width(source.vreg()?) == binary.width()
            && walk.is_still(source, definition, inst);
        let operation = if is_sum { Operation::Sub } else { Operation::Add };
        let operands = [New::register(binary.result), New::Operand(term), New::Operand(source)];
        is_there.then(|| walk.instead(inst, operation, Qualifiers::default(), &[binary.ty], &operands))?
    })
}

fn literal_minus(walk: &mut Walk<'_, '_>, inst: InstId, binary: Binary) -> Option<Rewrite> {
    use Operation::{Add, Sub};
    let (one, other) = (walk.literal(binary.one), walk.literal(binary.other));
    let (source, literal, is_taken) = match (binary.operation, one, other) {
        (Sub, Some(literal), None) => (binary.other, literal, true),
        (Sub, None, Some(literal)) => (binary.one, literal.wrapping_neg(), false),
        (Add, None, Some(literal)) => (binary.one, literal, false),
        _ => return None,
    };
    let sum = sum(walk, source, inst, binary.width())?;
    let (first, second) = (walk.literal(sum.binary.one), walk.literal(sum.binary.other));
    // What the sum is: a constant, and a register that is added or taken away.
    let (constant, term, is_negated) = match (sum.binary.operation, first, second) {
        (Sub, Some(constant), None) => (constant, sum.binary.other, true),
        (Sub, None, Some(constant)) => (constant.wrapping_neg(), sum.binary.one, false),
        (Add, None, Some(constant)) => (constant, sum.binary.one, false),
        _ => return None,
    };
    let vreg = term.vreg().filter(|_| term == plain(term) && is_taken | is_negated)?;
    if walk.width(vreg) != binary.width() || !walk.is_still(term, sum.definition, inst) {
        return None;
    }
    let constant = if is_taken { literal.wrapping_sub(constant) } else { literal.wrapping_add(constant) };
    let constant = New::Constant(truncate(constant, binary.width()), signed_of(binary.ty));
    let (result, term) = (New::register(binary.result), New::register(vreg));
    match is_taken != is_negated {
        true => walk.instead(inst, Sub, Qualifiers::default(), &[binary.ty], &[result, constant, term]),
        false => walk.instead(inst, Add, Qualifiers::default(), &[binary.ty], &[result, term, constant]),
    }
}

fn difference_with_its_bits(walk: &mut Walk<'_, '_>, inst: InstId, binary: Binary) -> Option<Rewrite> {
    let part = computed(walk, binary.other, inst, &[Operation::And], binary.width())?;
    let mask = walk.literal(part.binary.other)?;
    let (base, left) = match is_same(walk, &part, part.binary.one, inst, binary.one) {
        true => (binary.one, !mask),
        false => {
            let whole = computed(walk, binary.one, inst, &[Operation::And], binary.width())?;
            let base = whole.binary.one;
            let all =
                walk.literal(whole.binary.other).filter(|all| truncate(mask & !all, binary.width()) == 0)?;
            let is_of_one = is_same(walk, &part, part.binary.one, inst, base)
                && walk.is_still(base, whole.definition, inst);
            is_of_one.then_some((base, all & !mask))?
        }
    };
    let ty = bits_of(binary.width())?;
    let operands = [
        New::register(binary.result),
        New::register(base.vreg()?),
        New::Constant(truncate(left, binary.width()), ty),
    ];
    walk.instead(inst, Operation::And, Qualifiers::default(), &[ty], &operands)
}
