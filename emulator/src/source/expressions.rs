//! Constant expressions of initialisers and dimensions (PTX ISA 9.0, sections 4.5 and 5.4.4).

use super::tokens::{Token, Tokens};
use crate::module::LoadError;

/// The value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An integer.
    Integer(u64),
    /// The bits of a single.
    Single(u32),
    /// A double.
    Double(f64),
    /// The address of a variable or function.
    Address(Address),
}

/// `generic(name) + addend`, of which `mask` is taken and moved down.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// The variable or function.
    pub name: String,
    /// Bytes behind it.
    pub addend: i64,
    /// Whether its generic address is meant and not that in its own space.
    pub is_generic: bool,
    /// The bits that are taken.
    pub mask: u64,
}

/// Parentheses and signs inside one another, each a stack frame.
const DEPTH_MAX: u32 = 128;

/// The expression that starts here.
///
/// # Errors
/// What is no constant expression.
pub fn expression(tokens: &mut Tokens<'_>) -> Result<Value, LoadError> {
    Ok(choice(tokens, 0)?.value)
}

/// A value, and whether it is an integer without sign: by a cast, by its suffix, or because it has no signed 64-bit form.
struct Typed {
    value: Value,
    is_unsigned: bool,
}

impl Typed {
    fn new(value: Value) -> Self {
        let is_unsigned = matches!(value, Value::Integer(bits) if bits > i64::MAX as u64);
        Self { value, is_unsigned }
    }
}

/// `condition ? value : value`, or what stands where its condition does.
fn choice(tokens: &mut Tokens<'_>, depth: u32) -> Result<Typed, LoadError> {
    let condition = binary(tokens, 0, depth)?;
    if !tokens.eat(b'?')? {
        return Ok(condition);
    }
    let Value::Integer(condition) = condition.value else {
        return Err(tokens.error("expected an integer before `?`"));
    };
    if depth > DEPTH_MAX {
        return Err(tokens.error("expression too deep"));
    }
    let chosen = choice(tokens, depth + 1)?;
    tokens.expect(b':')?;
    let other = choice(tokens, depth + 1)?;
    let is_unsigned = chosen.is_unsigned || other.is_unsigned;
    Ok(Typed { is_unsigned, ..if condition == 0 { other } else { chosen } })
}

/// The integer that starts here.
///
/// # Errors
/// What is no constant integer.
pub fn integer(tokens: &mut Tokens<'_>) -> Result<u64, LoadError> {
    match expression(tokens)? {
        Value::Integer(value) => Ok(value),
        _ => Err(tokens.error("expected an integer")),
    }
}

/// Symbol and strength of the operator here, and where the text behind it starts.
fn operator(tokens: &Tokens<'_>) -> Result<Option<(&'static str, u32, usize)>, LoadError> {
    let mut behind = tokens.clone();
    let Token::Mark(first) = behind.next()? else { return Ok(None) };
    let mut further = behind.clone();
    let second = match further.next()? {
        Token::Mark(byte) if further.first == behind.position() => byte,
        _ => 0,
    };
    let (symbol, strength) = match (first, second) {
        (b'|', b'|') => ("||", 1),
        (b'&', b'&') => ("&&", 2),
        (b'|', _) => ("|", 3),
        (b'^', _) => ("^", 4),
        (b'&', _) => ("&", 5),
        (b'=', b'=') => ("==", 6),
        (b'!', b'=') => ("!=", 6),
        (b'<', b'<') => ("<<", 8),
        (b'>', b'>') => (">>", 8),
        (b'<', b'=') => ("<=", 7),
        (b'>', b'=') => (">=", 7),
        (b'<', _) => ("<", 7),
        (b'>', _) => (">", 7),
        (b'+', _) => ("+", 9),
        (b'-', _) => ("-", 9),
        (b'*', _) => ("*", 10),
        (b'/', _) => ("/", 10),
        (b'%', _) => ("%", 10),
        _ => return Ok(None),
    };
    let end = if symbol.len() == 2 { further.position() } else { behind.position() };
    Ok(Some((symbol, strength, end)))
}

fn binary(tokens: &mut Tokens<'_>, weakest: u32, depth: u32) -> Result<Typed, LoadError> {
    let mut left = unary(tokens, depth)?;
    loop {
        let (symbol, strength) = match operator(tokens)? {
            Some((symbol, strength, end)) if strength > weakest => {
                tokens.jump(end);
                (symbol, strength)
            }
            _ => return Ok(left),
        };
        let right = binary(tokens, strength, depth)?;
        left = apply(symbol, left, right).ok_or_else(|| tokens.error("expression without a value"))?;
    }
}

fn unary(tokens: &mut Tokens<'_>, depth: u32) -> Result<Typed, LoadError> {
    if depth > DEPTH_MAX {
        return Err(tokens.error("expression too deep"));
    }
    match tokens.next()? {
        Token::Integer(mask) | Token::Unsigned(mask) if tokens.peek()? == Token::Mark(b'(') => {
            tokens.expect(b'(')?;
            let inner = choice(tokens, depth + 1)?;
            tokens.expect(b')')?;
            match inner.value {
                Value::Address(address) => Ok(Typed::new(Value::Address(Address { mask, ..address }))),
                _ => Err(tokens.error("expected an address under the mask")),
            }
        }
        Token::Integer(value) => Ok(Typed::new(Value::Integer(value))),
        Token::Unsigned(value) => Ok(Typed { value: Value::Integer(value), is_unsigned: true }),
        Token::Single(bits) => Ok(Typed::new(Value::Single(bits))),
        Token::Double(value) => Ok(Typed::new(Value::Double(value))),
        Token::Word(b"generic") if tokens.peek()? == Token::Mark(b'(') => {
            tokens.expect(b'(')?;
            let inner = choice(tokens, depth + 1)?;
            tokens.expect(b')')?;
            match inner.value {
                Value::Address(address) => {
                    Ok(Typed::new(Value::Address(Address { is_generic: true, ..address })))
                }
                _ => Err(tokens.error("expected a variable in `generic`")),
            }
        }
        Token::Word(b"WARP_SZ") => Ok(Typed::new(Value::Integer(32))),
        Token::Word(name) => Ok(Typed::new(Value::Address(Address {
            name: String::from_utf8_lossy(name).into_owned(),
            addend: 0,
            is_generic: false,
            mask: u64::MAX,
        }))),
        Token::Mark(b'(') if matches!(tokens.peek()?, Token::Directive(_)) => {
            let Token::Directive(ty) = tokens.next()? else { unreachable!("a directive stands here") };
            tokens.expect(b')')?;
            let Typed { value, .. } = unary(tokens, depth + 1)?;
            Ok(Typed { value, is_unsigned: ty == b"u64" })
        }
        Token::Mark(b'(') => {
            let inner = choice(tokens, depth + 1)?;
            tokens.expect(b')')?;
            Ok(inner)
        }
        Token::Mark(b'+') => unary(tokens, depth + 1),
        Token::Mark(sign @ (b'-' | b'!' | b'~')) => {
            let Typed { value, is_unsigned } = unary(tokens, depth + 1)?;
            let value = match (sign, value) {
                (b'-', Value::Integer(value)) => Value::Integer(value.wrapping_neg()),
                (b'-', Value::Single(bits)) => Value::Single(bits ^ 1 << 31),
                (b'-', Value::Double(value)) => Value::Double(-value),
                (b'!', Value::Integer(value)) => Value::Integer(u64::from(value == 0)),
                (b'~', Value::Integer(value)) => Value::Integer(!value),
                _ => return Err(tokens.error("a sign before what has none")),
            };
            Ok(Typed { value, is_unsigned: is_unsigned && sign != b'!' })
        }
        found => Err(tokens.error(format!("found {found}, expected a constant"))),
    }
}

fn apply(symbol: &str, left: Typed, right: Typed) -> Option<Typed> {
    let is_shift = matches!(symbol, "<<" | ">>");
    let is_unsigned = left.is_unsigned || (!is_shift && right.is_unsigned);
    // Moved by half the range, signed values compare as unsigned ones do.
    let ordered = |value: u64| if is_unsigned { value } else { value ^ 1 << 63 };
    let value = match (left.value, right.value) {
        (Value::Integer(a), Value::Integer(b)) => Value::Integer(match symbol {
            "+" => a.wrapping_add(b),
            "-" => a.wrapping_sub(b),
            "*" => a.wrapping_mul(b),
            "/" if is_unsigned => a.checked_div(b)?,
            "%" if is_unsigned => a.checked_rem(b)?,
            "/" => (a as i64).checked_div(b as i64)? as u64,
            "%" => (a as i64).checked_rem(b as i64)? as u64,
            "<<" => a.wrapping_shl(b as u32),
            ">>" if is_unsigned => a.wrapping_shr(b as u32),
            ">>" => (a as i64).wrapping_shr(b as u32) as u64,
            "&" => a & b,
            "|" => a | b,
            "^" => a ^ b,
            "||" => u64::from(a != 0 || b != 0),
            "&&" => u64::from(a != 0 && b != 0),
            "==" => u64::from(a == b),
            "!=" => u64::from(a != b),
            "<" => u64::from(ordered(a) < ordered(b)),
            "<=" => u64::from(ordered(a) <= ordered(b)),
            ">" => u64::from(ordered(a) > ordered(b)),
            ">=" => u64::from(ordered(a) >= ordered(b)),
            _ => return None,
        }),
        (Value::Double(a), Value::Double(b)) => Value::Double(match symbol {
            "+" => a + b,
            "-" => a - b,
            "*" => a * b,
            "/" => a / b,
            _ => return None,
        }),
        (Value::Address(address), Value::Integer(by)) if matches!(symbol, "+" | "-") => {
            let by = if symbol == "+" { by as i64 } else { (by as i64).wrapping_neg() };
            Value::Address(Address { addend: address.addend.wrapping_add(by), ..address })
        }
        (Value::Integer(by), Value::Address(address)) if symbol == "+" => {
            Value::Address(Address { addend: address.addend.wrapping_add(by as i64), ..address })
        }
        _ => return None,
    };
    let is_truth = matches!(symbol, "||" | "&&" | "==" | "!=" | "<" | "<=" | ">" | ">=");
    Some(Typed { value, is_unsigned: is_unsigned && !is_truth })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> u64 {
        integer(&mut Tokens::new(text.as_bytes(), 0, text.len())).unwrap()
    }

    #[test]
    fn operators_bind_as_in_c() {
        for (text, expected) in [
            ("1 + 2 * (3 - 1) / 2 << 4 | 0x10 & ~3 ^ 5", (1 + 2) << 4 | (0x10 & !3) ^ 5),
            ("7 % 4", 3),
            ("1 < 2", 1),
            ("1 >= 2", 0),
            ("5 != 5", 0),
            ("-1 < 0", 1),
            ("!3 || 0 && 1", 0),
            ("2 && 3", 1),
            ("1 < 2 ? 10 : 20", 10),
            ("0 ? 1 : 0 ? 2 : 3", 3),
            ("1 << 2 == 4", 1),
            ("(.s64)0xFFFFFFFF >> 4", 0x0FFF_FFFF),
            ("(.u64)-1 >> 60", 15),
            ("-1 >> 60", u64::MAX),
            ("(.u64)-1 < 0", 0),
            ("- -3 + +4", 7),
            // As `ptxas` has them in the variables of its output.
            ("-1/2U", u64::MAX / 2),
            ("5U-6 >> 60", 15),
            ("1-2<0U", 0),
            ("-1 > 1U", 1),
            ("(5U-6)/2", u64::MAX / 2),
            ("(0?-1:2U)-3 < 0", 0),
            ("-1*1U<0", 0),
            ("~0U>>60", 15),
            ("-1U/2", u64::MAX / 2),
            ("(2U)-3<0", 0),
            ("((2U-3))>>1", u64::MAX / 2),
            ("!(.u64)0 - 2 < 0", 1),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }
}
