//! What a variant does otherwise at one instruction.

use super::Place;
use crate::mistakes::line::{Inst, registers, renamed};
use crate::random_code::Random;

/// A change: the instructions that stand for one. Nothing where it has no place there.
pub(super) type Change = fn(&Inst, &Place<'_>, &mut Random) -> Option<Vec<Inst>>;

/// All changes.
pub(super) const CHANGES: [Change; 9] =
    [compare, count, exchange, fix, guard, invert, move_on, operate, repeat];

/// Comparisons that signed and unsigned integers and floats have.
const COMPARISONS: [&str; 6] = ["lt", "le", "gt", "ge", "eq", "ne"];

/// What stands for one another with the same operands, and for what types: the letters that these start with.
const OPERATIONS: [(&[&str], &[char]); 4] = [
    (&["add", "sub"], &['s', 'u', 'f']),
    (&["and", "or", "xor"], &['b', 'p']),
    (&["max", "min"], &['s', 'u', 'f']),
    (&["add", "mul"], &['f']),
];

/// What takes any integer as an operand.
const TAKES_LITERALS: [&str; 12] =
    ["add", "sub", "and", "or", "xor", "setp", "shl", "shr", "min", "max", "selp", "mov"];

/// Integers at which something ends.
const EDGES: [i64; 10] = [0, 1, -1, 2, 4, 16, 31, 32, 127, 255];

/// Amounts of a shift.
const AMOUNTS: [i64; 8] = [0, 1, 2, 8, 15, 16, 31, 33];

/// Qualifiers that only some types have.
const OF_SOME_TYPES: [&str; 4] = ["cc", "relu", "sat", "satfinite"];

/// One of several.
fn one_of<T: Copy>(all: &[T], random: &mut Random) -> Option<T> {
    (!all.is_empty()).then(|| all[random.below(all.len())])
}

/// Another comparison, or a sign where there was none.
fn compare(inst: &Inst, _: &Place<'_>, random: &mut Random) -> Option<Vec<Inst>> {
    let mut inst = inst.clone();
    if inst.is(&["setp"]) && random.one_in(2) {
        let old = COMPARISONS.into_iter().find(|comparison| inst.has(comparison))?;
        let is_of_bits = ["b16", "b32", "b64"].contains(&inst.last_part());
        let all = if is_of_bits { &COMPARISONS[4..] } else { &COMPARISONS[..] };
        inst.replace(old, one_of(all, random)?);
        return Some(vec![inst]);
    }
    let has_sign = ["setp", "min", "max", "shr", "div", "rem", "mul", "mad", "cvt", "ld", "bfe"];
    let is_for_any = !OF_SOME_TYPES.into_iter().any(|qualifier| inst.has(qualifier))
        && (!inst.is(&["setp"]) || COMPARISONS.into_iter().any(|comparison| inst.has(comparison)));
    let ty = inst.last_part().to_owned();
    let other = match ty.split_at_checked(1)? {
        ("s", bits @ ("8" | "16" | "32" | "64")) => format!("u{bits}"),
        ("u", bits @ ("8" | "16" | "32" | "64")) => format!("s{bits}"),
        _ => return None,
    };
    // The last part alone: a conversion may have the same type twice.
    let stem = inst.mnemonic.strip_suffix(&ty)?.to_owned();
    (inst.is(&has_sign) && is_for_any).then(|| {
        inst.mnemonic = stem + &other;
        vec![inst]
    })
}

/// Another literal.
fn count(inst: &Inst, _: &Place<'_>, random: &mut Random) -> Option<Vec<Inst>> {
    if !inst.is(&TAKES_LITERALS) && !inst.is(&["mul", "mad"]) || inst.last_part() == "pred" {
        return None;
    }
    let first = usize::from(inst.has_result());
    let literals: Vec<(usize, i64)> =
        (first..inst.operands.len()).filter_map(|at| Some((at, inst.operands[at].parse().ok()?))).collect();
    let (at, old) = one_of(&literals, random)?;
    let is_amount = inst.is(&["shl", "shr"]) && at == 2;
    let near = [old - i64::from(old > 0), old / 2, old ^ 1];
    let new = if is_amount {
        one_of(&AMOUNTS, random)?
    } else if random.one_in(2) {
        one_of(&near, random)?
    } else {
        one_of(&EDGES, random)?
    };
    let mut inst = inst.clone();
    inst.operands[at] = new.to_string();
    Some(vec![inst])
}

/// Another register in the place of one that is read.
fn exchange(inst: &Inst, place: &Place<'_>, random: &mut Random) -> Option<Vec<Inst>> {
    let (at, old) = source(inst, random)?;
    let mut inst = inst.clone();
    inst.operands[at] = place.like(&old, random)?.to_owned();
    Some(vec![inst])
}

/// A literal in the place of a register that is read.
fn fix(inst: &Inst, _: &Place<'_>, random: &mut Random) -> Option<Vec<Inst>> {
    let (at, _) = source(inst, random)?;
    if !inst.is(&TAKES_LITERALS) && !inst.is(&["mul", "mad", "fma"]) {
        return None;
    }
    // Of a selection the last operand is one, and of `setp` those behind the two that it compares.
    let is_predicate = inst.is(&["selp", "setp"]) && at > 2;
    let is_amount = inst.is(&["shl", "shr"]) && at == 2;
    let literal = match inst.last_part() {
        _ if is_predicate || inst.has("cc") => return None,
        _ if is_amount => one_of(&AMOUNTS, random)?.to_string(),
        "s16" | "u16" | "b16" | "s32" | "u32" | "b32" | "s64" | "u64" | "b64" => {
            one_of(&EDGES, random)?.to_string()
        }
        "f32" => one_of(&["0f00000000", "0f80000000", "0f3F800000", "0fBF000000"], random)?.to_owned(),
        "f64" => {
            one_of(&["0d0000000000000000", "0d8000000000000000", "0d3FF0000000000000"], random)?.to_owned()
        }
        _ => return None,
    };
    let mut inst = inst.clone();
    inst.operands[at] = literal;
    Some(vec![inst])
}

/// A guard before what has none: what it writes has a value already.
fn guard(inst: &Inst, place: &Place<'_>, random: &mut Random) -> Option<Vec<Inst>> {
    let keeps_values = inst.writes().iter().all(|written| place.is_written(written));
    // What is stored for a call is stored always.
    let may_have_one = inst.is(&["st"]) && !inst.has("param") || inst.is_pure() && keeps_values;
    if inst.guard.is_some() || !may_have_one {
        return None;
    }
    let predicate = place.of_type("pred", random)?;
    let opposite = if random.one_in(2) { "!" } else { "" };
    Some(vec![Inst { guard: Some(format!("{opposite}{predicate}")), ..inst.clone() }])
}

/// The other way at a branch.
fn invert(inst: &Inst, _: &Place<'_>, _: &mut Random) -> Option<Vec<Inst>> {
    let guard = inst.guard.as_ref().filter(|_| inst.is(&["bra"]))?;
    let inverted = guard.strip_prefix('!').map_or_else(|| format!("!{guard}"), str::to_owned);
    Some(vec![Inst { guard: Some(inverted), ..inst.clone() }])
}

/// The result in another register, too.
fn move_on(inst: &Inst, place: &Place<'_>, random: &mut Random) -> Option<Vec<Inst>> {
    let result = inst.result().filter(|_| inst.is_pure() && inst.guard.is_none())?;
    let (other, ty) = (place.like(result, random)?, place.types.copied_as(result)?);
    Some(vec![inst.clone(), Inst::new(&format!("mov.{ty}"), &[other, result])])
}

/// Another operation with the same operands.
fn operate(inst: &Inst, _: &Place<'_>, random: &mut Random) -> Option<Vec<Inst>> {
    let fits = |&(names, types): &(&[&str], &[char])| {
        names.contains(&inst.base()) && inst.last_part().starts_with(types) && !inst.has("cc")
    };
    let groups: Vec<_> = OPERATIONS.into_iter().filter(fits).collect();
    let (names, _) = one_of(&groups, random)?;
    let mut inst = inst.clone();
    let old = inst.base().to_owned();
    inst.replace(&old, one_of(names, random)?);
    Some(vec![inst])
}

/// The same computation once more, into the same register or another one.
fn repeat(inst: &Inst, place: &Place<'_>, random: &mut Random) -> Option<Vec<Inst>> {
    let result = inst.result().filter(|_| inst.is_pure())?;
    let mut again = inst.clone();
    let other = place.like(result, random).filter(|_| random.one_in(2));
    again.operands[0] = renamed(&again.operands[0], result, other.unwrap_or(result));
    Some(vec![inst.clone(), again])
}

/// A register that something computes with, or that is stored, and its place among the operands.
fn source(inst: &Inst, random: &mut Random) -> Option<(usize, String)> {
    if !inst.is_pure() && !inst.is(&["st", "mov"]) {
        return None;
    }
    let first = usize::from(inst.has_result());
    let is_register = |at: &usize| registers(&inst.operands[*at]) == [inst.operands[*at].as_str()];
    let all: Vec<usize> = (first..inst.operands.len()).filter(is_register).collect();
    let at = one_of(&all, random)?;
    Some((at, inst.operands[at].clone()))
}
