//! Mistakes about single operations and about algebra.

use super::Mistake;
use super::line::Inst;
use super::text::{Change, Pair, each, expand, pairs};

pub const MISTAKES: [Mistake; 29] = [
    Mistake::new("signed-shift", "a shift to the right does not depend on the sign", [2, 34], |lines| {
        each(lines, |inst| inst.is(&["shr"]) && inst.make_unsigned())
    }),
    Mistake::new("signed-division", "a quotient does not depend on the sign", [2, 66], |lines| {
        each(lines, |inst| inst.is(&["div", "rem"]) && inst.make_unsigned())
    }),
    Mistake::new("division-by-shift", "a signed quotient by a power of two is a shift", [2, 44], |lines| {
        each(lines, division_by_shift)
    }),
    Mistake::new("signed-comparison", "an order does not depend on the sign", [2, 10], |lines| {
        each(lines, |inst| inst.is(&["setp"]) && inst.make_unsigned())
    }),
    Mistake::new("signed-maximum", "a minimum or maximum does not depend on the sign", [2, 40], |lines| {
        each(lines, |inst| inst.is(&["min", "max"]) && inst.make_unsigned())
    }),
    Mistake::new("signed-conversion", "widening does not depend on the sign", [2, 10], |lines| {
        each(lines, |inst| inst.is(&["cvt"]) && inst.make_unsigned())
    }),
    Mistake::new("signed-field", "an extracted field has no sign", [2, 26], |lines| {
        each(lines, |inst| inst.is(&["bfe"]) && inst.make_unsigned())
    }),
    Mistake::new("wide-product-signed", "a wide product does not depend on the sign", [2, 18], |lines| {
        each(lines, |inst| inst.is(&["mul", "mad"]) && inst.has("wide") && inst.make_unsigned())
    }),
    Mistake::new("wide-product-narrow", "a wide product is the low half, extended", [48, 20], |lines| {
        expand(lines, |inst| {
            let is_wide = inst.is(&["mul"]) && inst.has("wide") && inst.last_part().ends_with("32");
            let result = inst.result().filter(|_| is_wide)?;
            let narrowed = Inst::new("and.b64", &[result, result, "0xFFFFFFFF"]).guarded_like(inst);
            Some(vec![inst.clone(), narrowed])
        })
    }),
    Mistake::new(
        "mad-operands",
        "the three operands of a multiply-add may stand in any order",
        [2, 10],
        |lines| each(lines, |inst| inst.is(&["mad"]) && inst.has("lo") && swap(inst, 2, 3)),
    ),
    Mistake::new("sub-operands", "a difference is commutative", [2, 10], |lines| {
        each(lines, |inst| inst.is(&["sub"]) && swap(inst, 1, 2))
    }),
    Mistake::new("shift-masked", "a shift takes its amount modulo the width", [2, 60], |lines| {
        each(lines, shift_masked)
    }),
    Mistake::new(
        "select-arms",
        "a selection takes its second operand where the predicate holds",
        [2, 10],
        |lines| each(lines, |inst| inst.is(&["selp"]) && swap(inst, 1, 2)),
    ),
    Mistake::new(
        "table-operands",
        "the inputs of a logic table may be swapped and the table kept",
        [2, 76],
        |lines| each(lines, |inst| inst.is(&["lop3"]) && swap(inst, 1, 3)),
    ),
    Mistake::new("funnel-sources", "a funnel shift takes its upper word first", [2, 12], |lines| {
        each(lines, |inst| inst.is(&["shf"]) && swap(inst, 1, 2))
    }),
    Mistake::new(
        "field-into-itself",
        "a bit field goes from the second word into the first",
        [2, 60],
        |lines| each(lines, |inst| inst.is(&["bfi"]) && swap(inst, 1, 2)),
    ),
    Mistake::new("permuted-sources", "`prmt` numbers the bytes of its second word first", [2, 14], |lines| {
        each(lines, |inst| inst.is(&["prmt"]) && swap(inst, 1, 2))
    }),
    Mistake::new("carry-ignored", "an addition with carry is an addition", [2, 52], |lines| {
        each(lines, |inst| inst.replace("addc", "add") || inst.replace("subc", "sub"))
    }),
    Mistake::new("saturation-ignored", "saturation is never reached", [2, 14], |lines| {
        each(lines, |inst| inst.is(&["add", "sub", "mul", "fma", "cvt"]) && inst.replace("sat", ""))
    }),
    Mistake::new("flush-ignored", "`.ftz` changes nothing", [4, 48], |lines| {
        each(lines, |inst| inst.replace("ftz", ""))
    }),
    Mistake::new("rounding-to-zero", "a sum or product rounds one way or another", [4, 10], |lines| {
        each(lines, |inst| inst.is(&["add", "sub", "mul", "fma", "div"]) && inst.replace("rn", "rz"))
    }),
    Mistake::new(
        "conversion-rounding",
        "a conversion to an integer rounds to the nearest",
        [2, 18],
        |lines| {
            each(lines, |inst| {
                inst.is(&["cvt"])
                    && ["rzi", "rmi", "rpi"].iter().any(|rounding| inst.replace(rounding, "rni"))
            })
        },
    ),
    Mistake::new(
        "maximum-of-nan",
        "the maximum of a number and not-a-number is not-a-number",
        [2, 36],
        |lines| {
            each(lines, |inst| inst.is(&["min", "max"]) && !inst.has("NaN") && inst.replace("f32", "NaN.f32"))
        },
    ),
    Mistake::new("float-reassociated", "a float sum may be summed in any order", [2, 28], |lines| {
        pairs(lines, reassociate)
    }),
    Mistake::new("difference-reassociated", "a difference of differences has no order", [2, 0], |lines| {
        pairs(lines, reassociate_differences)
    }),
    Mistake::new("float-contracted", "a rounded product and a sum are one multiply-add", [2, 50], |lines| {
        pairs(lines, contract)
    }),
    Mistake::new("float-quotient", "a quotient is a product with the rounded reciprocal", [2, 26], |lines| {
        expand(lines, reciprocal)
    }),
    Mistake::new(
        "remainder-of-another",
        "a remainder is what any quotient by its divisor leaves",
        [0, 36],
        |lines| pairs(lines, remainder_of_another),
    ),
    Mistake::new(
        "constant-width",
        "an immediate is as wide as the fold that uses it: its upper half is lost",
        [2, 12],
        |lines| each(lines, narrow_constant),
    ),
];

fn swap(inst: &mut Inst, one: usize, other: usize) -> bool {
    let can = inst.operands.len() > one.max(other) && inst.operands[one] != inst.operands[other];
    if can {
        inst.operands.swap(one, other);
    }
    can
}

fn division_by_shift(inst: &mut Inst) -> bool {
    let is_signed = inst.is(&["div"]) && inst.last_part().starts_with('s');
    let divisor = inst.operands.get(2).and_then(|operand| operand.parse::<u64>().ok());
    match divisor.filter(|divisor| is_signed && divisor.is_power_of_two()) {
        Some(divisor) => {
            inst.operands[2] = divisor.trailing_zeros().to_string();
            inst.replace("div", "shr")
        }
        None => false,
    }
}

/// A funnel shift from zeros wraps its amount; a plain one clamps it.
fn shift_masked(inst: &mut Inst) -> bool {
    let is_amount = inst.operands.get(2).is_some_and(|operand| operand.starts_with('%'));
    let zero = "0".to_owned();
    match inst.mnemonic.as_str() {
        "shl.b32" if is_amount => {
            inst.mnemonic = "shf.l.wrap.b32".to_owned();
            inst.operands.insert(1, zero);
            true
        }
        "shr.u32" | "shr.b32" if is_amount => {
            inst.mnemonic = "shf.r.wrap.b32".to_owned();
            inst.operands.insert(2, zero);
            true
        }
        _ => false,
    }
}

fn is_float(inst: &Inst) -> bool {
    matches!(inst.last_part(), "f32" | "f64")
}

/// `t = a + b; d = t + c` becomes `t = a + b; d = b + c; d = a + d`.
fn reassociate(pair: &Pair) -> Option<Change> {
    let (first, second) = (pair.first, pair.second);
    let is_sum = |inst: &Inst| inst.is(&["add"]) && is_float(inst) && inst.operands.len() == 3;
    if !is_sum(first) || !is_sum(second) || first.mnemonic != second.mnemonic || first.guard.is_some() {
        return None;
    }
    let [sum, one, other] = &first.operands[..] else { return None };
    let result = second.result()?;
    let addend = second.sources().iter().find(|operand| *operand != sum)?;
    let is_read = second.sources().contains(sum);
    let is_kept = pair.keeps(&[sum, one, other]) && ![one, other].contains(&sum) && result != one;
    (is_read && is_kept && result != addend).then(|| {
        let inner = Inst::new(&second.mnemonic, &[result, other, addend]).guarded_like(second);
        let outer = Inst::new(&second.mnemonic, &[result, one, result]).guarded_like(second);
        Change::Second(vec![inner, outer])
    })
}

/// `t = a - b; d = t - c` becomes `t = a - b; d = b - c; d = a - d`.
fn reassociate_differences(pair: &Pair) -> Option<Change> {
    let (first, second) = (pair.first, pair.second);
    let is_alike = first.is(&["sub"]) && first.mnemonic == second.mnemonic && first.guard.is_none();
    let ([left, one, other], [result, of, taken]) = (&first.operands[..], &second.operands[..]) else {
        return None;
    };
    let is_kept = pair.keeps(&[left, one, other]) && ![one, other].contains(&left) && result != one;
    let has_registers = [one, other].iter().all(|operand| operand.starts_with('%'));
    (is_alike && !first.has("cc") && of == left && is_kept && has_registers).then(|| {
        let inner = Inst::new(&second.mnemonic, &[result, other, taken]).guarded_like(second);
        let outer = Inst::new(&second.mnemonic, &[result, one, result]).guarded_like(second);
        Change::Second(vec![inner, outer])
    })
}

fn contract(pair: &Pair) -> Option<Change> {
    let (first, second) = (pair.first, pair.second);
    let is_rounded = |inst: &Inst| is_float(inst) && inst.has("rn") && !inst.has("sat") && !inst.has("ftz");
    let is_pair = first.is(&["mul"]) && second.is(&["add"]) && is_rounded(first) && is_rounded(second);
    if !is_pair || first.last_part() != second.last_part() || first.guard.is_some() {
        return None;
    }
    let [product, one, other] = &first.operands[..] else { return None };
    let addend = second.sources().iter().find(|operand| *operand != product)?;
    let is_kept = pair.keeps(&[product, one, other]) && ![one, other].contains(&product);
    (second.sources().contains(product) && is_kept).then(|| {
        let mnemonic = format!("fma.rn.{}", second.last_part());
        let fused = Inst::new(&mnemonic, &[&second.operands[0], one, other, addend]);
        Change::Second(vec![fused.guarded_like(second)])
    })
}

/// `q = a / c; r = b % c` becomes `q = a / c; r = q * c; r = b - r`.
fn remainder_of_another(pair: &Pair) -> Option<Change> {
    let (first, second) = (pair.first, pair.second);
    let is_pair = first.is(&["div"]) && second.is(&["rem"]) && first.last_part() == second.last_part();
    let ([quotient, dividend, divisor], [result, other, again]) = (&first.operands[..], &second.operands[..])
    else {
        return None;
    };
    let is_another = divisor == again && dividend != other;
    let is_kept = pair.keeps(&[quotient, divisor]) && ![quotient, other, divisor].contains(&result);
    (is_pair && first.guard.is_none() && is_another && is_kept).then(|| {
        let ty = second.last_part();
        let product = Inst::new(&format!("mul.lo.{ty}"), &[result, quotient, divisor]).guarded_like(second);
        let rest = Inst::new(&format!("sub.{ty}"), &[result, other, result]).guarded_like(second);
        Change::Second(vec![product, rest])
    })
}

fn reciprocal(inst: &Inst) -> Option<Vec<Inst>> {
    let is_quotient = inst.is(&["div"]) && is_float(inst) && inst.has("rn");
    let [result, dividend, divisor] = &inst.operands[..] else { return None };
    (is_quotient && result != dividend).then(|| {
        let ty = inst.last_part();
        let inverse = Inst::new(&format!("rcp.rn.{ty}"), &[result, divisor]).guarded_like(inst);
        let product = Inst::new(&format!("mul.rn.{ty}"), &[result, dividend, result]).guarded_like(inst);
        vec![inverse, product]
    })
}

fn narrow_constant(inst: &mut Inst) -> bool {
    let is_wide =
        inst.is_pure() && matches!(inst.last_part(), "u64" | "s64" | "b64") || inst.mnemonic == "mov.b64";
    let Some(last) = inst.operands.last_mut().filter(|_| is_wide) else { return false };
    match last.parse::<u64>() {
        Ok(value) if value > u64::from(u32::MAX) => {
            *last = (value & u64::from(u32::MAX)).to_string();
            true
        }
        _ => false,
    }
}
