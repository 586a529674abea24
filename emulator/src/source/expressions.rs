//! Constant expressions of initialisers and dimensions (PTX ISA 9.0, sections 4.5 and 5.4.4).

use super::tokens::{Token, Tokens};
use crate::load_error::LoadError;

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
    /// Bytes after it.
    pub addend: i64,
    /// Whether its generic address is meant and not that in its own space.
    pub is_generic: bool,
    /// The bits that are taken.
    pub mask: u64,
}

/// Operators, signs and parentheses of one expression that wait for an operand: as many as `ptxas` holds symbols.
const WAITING_MAX: usize = 10_000;

/// The expression that starts here.
///
/// # Errors
/// What is no constant expression.
pub fn expression(tokens: &mut Tokens<'_>) -> Result<Value, LoadError> {
    let mut waiting = Vec::new();
    loop {
        if waiting.len() > WAITING_MAX {
            return Err(tokens.error("expression too deep"));
        }
        let operand = match start(tokens)? {
            Start::Waits(one) => {
                waiting.push(one);
                continue;
            }
            Start::Operand(operand) => operand,
        };
        if let Some(value) = after_operand(tokens, &mut waiting, operand)? {
            return Ok(value.value);
        }
    }
}

/// A value, and whether it is an integer without sign: by a cast, by its suffix, or because it has no signed 64-bit form.
#[derive(Clone)]
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

/// What waits for the operand that follows. A stack of them stands in for recursion: text may nest as it likes.
enum Waiting {
    /// `+`, `-`, `!` or `~`.
    Sign(u8),
    /// `(.s64)` or, where true, `(.u64)`.
    Cast(bool),
    /// An operator with its strength and left operand.
    Operator(&'static str, u32, Typed),
    /// `(`
    Parenthesis,
    /// `generic(`
    Generic,
    /// `0xFF(`
    Mask(u64),
    /// `condition ?`
    Question(bool),
    /// `condition ? value :`
    Otherwise(bool, Typed),
}

/// What an expression goes on with where an operand is expected.
enum Start {
    Waits(Waiting),
    Operand(Typed),
}

fn start(tokens: &mut Tokens<'_>) -> Result<Start, LoadError> {
    let is_parenthesis = |tokens: &Tokens<'_>| Ok::<_, LoadError>(tokens.peek()? == Token::Mark(b'('));
    Ok(match tokens.next()? {
        Token::Integer(mask) | Token::Unsigned(mask) if is_parenthesis(tokens)? => {
            tokens.expect(b'(')?;
            Start::Waits(Waiting::Mask(mask))
        }
        Token::Integer(value) => Start::Operand(Typed::new(Value::Integer(value))),
        Token::Unsigned(value) => Start::Operand(Typed { value: Value::Integer(value), is_unsigned: true }),
        Token::Single(bits) => Start::Operand(Typed::new(Value::Single(bits))),
        Token::Double(value) => Start::Operand(Typed::new(Value::Double(value))),
        Token::Word(b"generic") if is_parenthesis(tokens)? => {
            tokens.expect(b'(')?;
            Start::Waits(Waiting::Generic)
        }
        Token::Word(b"WARP_SZ") => Start::Operand(Typed::new(Value::Integer(32))),
        Token::Word(name) => Start::Operand(Typed::new(Value::Address(Address {
            name: String::from_utf8_lossy(name).into_owned(),
            addend: 0,
            is_generic: false,
            mask: u64::MAX,
        }))),
        Token::Mark(b'(') => match tokens.peek()? {
            Token::Directive(ty @ (b"s64" | b"u64")) => {
                tokens.next()?;
                tokens.expect(b')')?;
                Start::Waits(Waiting::Cast(ty == b"u64"))
            }
            Token::Directive(_) => return Err(tokens.error("expected a cast to `.s64` or `.u64`")),
            _ => Start::Waits(Waiting::Parenthesis),
        },
        Token::Mark(sign @ (b'+' | b'-' | b'!' | b'~')) => Start::Waits(Waiting::Sign(sign)),
        found => return Err(tokens.error(format!("found {found}, expected a constant"))),
    })
}

/// Takes what follows an operand, up to an operator that waits for the next one; gives the value where the expression
/// ends.
fn after_operand(
    tokens: &mut Tokens<'_>,
    waiting: &mut Vec<Waiting>,
    operand: Typed,
) -> Result<Option<Typed>, LoadError> {
    let mut value = operand;
    loop {
        if let Some((symbol, strength, end)) = operator(tokens)? {
            value = settle(tokens, waiting, value, strength)?;
            tokens.jump(end);
            waiting.push(Waiting::Operator(symbol, strength, value));
            return Ok(None);
        }
        value = settle(tokens, waiting, value, 0)?;
        if tokens.eat(b'?')? {
            let Value::Integer(condition) = value.value else {
                return Err(tokens.error("expected an integer before `?`"));
            };
            waiting.push(Waiting::Question(condition != 0));
            return Ok(None);
        }
        value = match waiting.pop() {
            None => return Ok(Some(value)),
            Some(Waiting::Question(condition)) => {
                tokens.expect(b':')?;
                waiting.push(Waiting::Otherwise(condition, value));
                return Ok(None);
            }
            // The value has the type of the side that is taken, whatever the other is.
            Some(Waiting::Otherwise(condition, then)) => {
                if condition {
                    then
                } else {
                    value
                }
            }
            Some(parenthesis) => {
                tokens.expect(b')')?;
                in_parentheses(tokens, &parenthesis, value)?
            }
        };
    }
}

/// Applies to `value` the signs and casts that wait for it, and operators of at least this strength.
fn settle(
    tokens: &Tokens<'_>,
    waiting: &mut Vec<Waiting>,
    mut value: Typed,
    strength: u32,
) -> Result<Typed, LoadError> {
    loop {
        value = match waiting.pop() {
            Some(Waiting::Sign(sign)) => {
                signed(sign, value).ok_or_else(|| tokens.error("a sign before what has none"))?
            }
            Some(Waiting::Cast(is_unsigned)) => match value.value {
                Value::Integer(_) | Value::Address(_) => Typed { is_unsigned, ..value },
                _ => return Err(tokens.error("a cast of what is no integer")),
            },
            Some(Waiting::Operator(symbol, own, left)) if own >= strength => {
                apply(symbol, left, value).ok_or_else(|| tokens.error("expression without a value"))?
            }
            other => {
                waiting.extend(other);
                return Ok(value);
            }
        }
    }
}

fn signed(sign: u8, of: Typed) -> Option<Typed> {
    let Typed { value, is_unsigned } = of;
    let value = match (sign, value) {
        (b'+', value) => value,
        (b'-', Value::Integer(value)) => Value::Integer(value.wrapping_neg()),
        (b'-', Value::Single(bits)) => Value::Single(bits ^ 1 << 31),
        (b'-', Value::Double(value)) => Value::Double(-value),
        (b'!', Value::Integer(value)) => Value::Integer(u64::from(value == 0)),
        (b'~', Value::Integer(value)) => Value::Integer(!value),
        _ => return None,
    };
    // `ptxas` has truths signed and complements unsigned, whatever they are of.
    let is_unsigned = sign == b'~' || (sign != b'!' && is_unsigned);
    Some(Typed { value, is_unsigned })
}

/// The value of a parenthesis that has closed.
fn in_parentheses(tokens: &Tokens<'_>, opened: &Waiting, inner: Typed) -> Result<Typed, LoadError> {
    match (opened, inner.value) {
        (Waiting::Parenthesis, value) => Ok(Typed { value, ..inner }),
        (Waiting::Generic, Value::Address(address)) => {
            Ok(Typed::new(Value::Address(Address { is_generic: true, ..address })))
        }
        (&Waiting::Mask(mask), Value::Address(address)) => {
            Ok(Typed::new(Value::Address(Address { mask, ..address })))
        }
        _ => Err(tokens.error("expected the address of a variable")),
    }
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

/// Symbol and strength of the operator here, and where the text after it starts.
fn operator(tokens: &Tokens<'_>) -> Result<Option<(&'static str, u32, usize)>, LoadError> {
    let mut after = tokens.clone();
    let Token::Mark(first) = after.next()? else { return Ok(None) };
    let mut further = after.clone();
    let second = match further.next()? {
        Token::Mark(byte) if further.first == after.position() => byte,
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
    let end = if symbol.len() == 2 { further.position() } else { after.position() };
    Ok(Some((symbol, strength, end)))
}

/// What an operator computes, as `ptxas` does where the ISA leaves doubt: `%` knows no signs, neither in its operands nor
/// in its result; a shift counts modulo 64 and keeps the type of what it shifts.
fn apply(symbol: &str, left: Typed, right: Typed) -> Option<Typed> {
    let is_unsigned = match symbol {
        "<<" | ">>" => left.is_unsigned,
        "%" => true,
        _ => left.is_unsigned || right.is_unsigned,
    };
    // Moved by half the range, signed values compare as unsigned ones do.
    let ordered = |value: u64| if is_unsigned { value } else { value ^ 1 << 63 };
    let value = match (left.value, right.value) {
        (Value::Integer(a), Value::Integer(b)) => Value::Integer(match symbol {
            "+" => a.wrapping_add(b),
            "-" => a.wrapping_sub(b),
            "*" => a.wrapping_mul(b),
            "/" if is_unsigned => a.checked_div(b)?,
            "%" => a.checked_rem(b)?,
            "/" => (a as i64).checked_div(b as i64)? as u64,
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
        (Value::Double(a), Value::Double(b)) => match symbol {
            "+" => Value::Double(a + b),
            "-" => Value::Double(a - b),
            "*" => Value::Double(a * b),
            "/" if b != 0.0 => Value::Double(a / b),
            "==" => Value::Integer(u64::from(a == b)),
            "!=" => Value::Integer(u64::from(a != b)),
            "<" => Value::Integer(u64::from(a < b)),
            "<=" => Value::Integer(u64::from(a <= b)),
            ">" => Value::Integer(u64::from(a > b)),
            ">=" => Value::Integer(u64::from(a >= b)),
            _ => return None,
        },
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
            ("-1 >> 60U", u64::MAX),
            ("-1U >> 60", 15),
            ("(3 >= 3) + 2 * (2 >= 3)", 1),
            ("2.5 - 1.0 == 3.0 / 2.0", 1),
            ("1.5 == 2.5", 0),
            ("-1.5 < 0.5", 1),
            ("(1.5 < 2.5) + 2 * (2.5 < 1.5)", 1),
            ("(1.5 != 2.5) + 2 * (1.5 >= 2.5) + 4 * (1.5 * 2.0 > 2.5) + 8 * (0.5 + 1.0 <= 1.5)", 13),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }
}
