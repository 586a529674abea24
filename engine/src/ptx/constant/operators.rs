//! What the operators of constant expressions compute.

use super::Constant;
use crate::diagnostics::ExpressionFault;

/// An operator before its operand.
#[derive(Clone, Copy)]
pub(super) enum Unary {
    Plus,
    Minus,
    /// `~`
    Complement,
    /// `!`
    Not,
    /// `(.s64)`, `(.u64)`
    Cast {
        unsigned: bool,
    },
}

/// The operator that this byte is, before an operand.
pub(super) fn unary_operator(byte: u8) -> Option<Unary> {
    Some(match byte {
        b'+' => Unary::Plus,
        b'-' => Unary::Minus,
        b'~' => Unary::Complement,
        b'!' => Unary::Not,
        _ => return None,
    })
}

/// The binary operator that starts with these two bytes, and how tightly it binds, 1 or more.
pub(super) fn binary_operator(first: u8, second: u8) -> Option<(&'static str, u8)> {
    Some(match (first, second) {
        (b'|', b'|') => ("||", 1),
        (b'&', b'&') => ("&&", 2),
        (b'=', b'=') => ("==", 6),
        (b'!', b'=') => ("!=", 6),
        (b'<', b'<') => ("<<", 8),
        (b'>', b'>') => (">>", 8),
        (b'<', b'=') => ("<=", 7),
        (b'>', b'=') => (">=", 7),
        (b'|', _) => ("|", 3),
        (b'^', _) => ("^", 4),
        (b'&', _) => ("&", 5),
        (b'<', _) => ("<", 7),
        (b'>', _) => (">", 7),
        (b'+', _) => ("+", 9),
        (b'-', _) => ("-", 9),
        (b'*', _) => ("*", 10),
        (b'/', _) => ("/", 10),
        (b'%', _) => ("%", 10),
        _ => return None,
    })
}

pub(super) fn negated(constant: Constant) -> Constant {
    match constant {
        Constant::Signed(value) => Constant::Signed(value.wrapping_neg()),
        Constant::Unsigned(value) => Constant::Unsigned(value.wrapping_neg()),
        Constant::F32(bits) => Constant::F32(bits ^ 1 << 31),
        Constant::F64(value) => Constant::F64(-value),
    }
}

/// Whether an integer is not 0; none for floats.
pub(super) fn is_true(constant: Constant) -> Option<bool> {
    constant.integer().map(|(bits, _)| bits != 0)
}

pub(super) fn apply_unary(unary: Unary, value: Constant) -> Result<Constant, ExpressionFault> {
    let integer = value.integer().ok_or(ExpressionFault::Real);
    Ok(match unary {
        Unary::Plus => value,
        Unary::Minus => negated(value),
        // Unsigned whatever it is of: `~5 >> 63` is 1.
        Unary::Complement => integer.map(|(bits, _)| Constant::Unsigned(!bits))?,
        Unary::Not => integer.map(|(bits, _)| Constant::truth(bits == 0))?,
        Unary::Cast { unsigned } => integer.map(|(bits, _)| Constant::from_bits(bits, unsigned))?,
    })
}

/// `left symbol right`, both integers or both doubles.
pub(super) fn apply(symbol: &str, left: Constant, right: Constant) -> Result<Constant, ExpressionFault> {
    if let (Constant::F64(a), Constant::F64(b)) = (left, right) {
        return apply_real(symbol, a, b);
    }
    let ((a, a_unsigned), (b, b_unsigned)) = match (left.integer(), right.integer()) {
        (Some(left), Some(right)) => (left, right),
        _ => return Err(ExpressionFault::Real),
    };
    let unsigned = a_unsigned || b_unsigned;
    let (sa, sb) = (a as i64, b as i64);
    let value = match symbol {
        "+" => a.wrapping_add(b),
        "-" => a.wrapping_sub(b),
        "*" => a.wrapping_mul(b),
        "/" | "%" if b == 0 => return Err(ExpressionFault::DivisionByZero),
        "/" if unsigned => a / b,
        "/" => sa.checked_div(sb).ok_or(ExpressionFault::Overflow)? as u64,
        // Unsigned in operands and result: `-5 % 3` is 2.
        "%" => return Ok(Constant::Unsigned(a % b)),
        "&" => a & b,
        "|" => a | b,
        "^" => a ^ b,
        // A shift keeps the type of what is shifted, and counts modulo 64.
        "<<" => return Ok(Constant::from_bits(a.wrapping_shl(b as u32), a_unsigned)),
        ">>" if a_unsigned => return Ok(Constant::Unsigned(a.wrapping_shr(b as u32))),
        ">>" => return Ok(Constant::Signed(sa.wrapping_shr(b as u32))),
        "&&" => return Ok(Constant::truth(a != 0 && b != 0)),
        "||" => return Ok(Constant::truth(a != 0 || b != 0)),
        _ if unsigned => return compare(symbol, &a, &b),
        _ => return compare(symbol, &sa, &sb),
    };
    Ok(Constant::from_bits(value, unsigned))
}

fn apply_real(symbol: &str, a: f64, b: f64) -> Result<Constant, ExpressionFault> {
    Ok(Constant::F64(match symbol {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" if b == 0.0 => return Err(ExpressionFault::DivisionByZero),
        "/" => a / b,
        _ => return compare(symbol, &a, &b),
    }))
}

/// A comparison; all that compares reals has integers as its result. Other operators take integers only.
fn compare<T: PartialOrd>(symbol: &str, a: &T, b: &T) -> Result<Constant, ExpressionFault> {
    Ok(Constant::truth(match symbol {
        "==" => a == b,
        "!=" => a != b,
        "<" => a < b,
        "<=" => a <= b,
        ">" => a > b,
        ">=" => a >= b,
        _ => return Err(ExpressionFault::Real),
    }))
}
