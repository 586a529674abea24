//! Numbers and constant expressions (PTX ISA 9.0, section 4.5).
//!
//! Integers are 64-bit, signed unless they carry a `U` or do not fit; floats are doubles or bit patterns.

use super::cursor::Cursor;
use crate::diagnostics::{Diagnostic, Problem};

/// Nesting of parentheses and unary operators in a constant expression. Each level is a stack frame; producers nest
/// a handful.
const EXPRESSION_DEPTH_MAX: u32 = 256;

/// A constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Constant {
    Signed(i64),
    Unsigned(u64),
    F32(u32),
    F64(f64),
}

impl Constant {
    fn from_bits(bits: u64, unsigned: bool) -> Self {
        if unsigned { Self::Unsigned(bits) } else { Self::Signed(bits as i64) }
    }

    /// The integer's bits and whether it is unsigned; none for floats.
    pub(super) fn integer(self) -> Option<(u64, bool)> {
        match self {
            Self::Signed(value) => Some((value as u64, false)),
            Self::Unsigned(value) => Some((value, true)),
            Self::F32(_) | Self::F64(_) => None,
        }
    }

    fn is_true(self) -> Option<bool> {
        self.integer().map(|(bits, _)| bits != 0)
    }
}

/// The one constant that has a name: the threads of a warp, 32.
pub(super) const WARP_SIZE: &[u8] = b"WARP_SZ";

impl Cursor<'_> {
    /// Whether the word here is [`WARP_SIZE`].
    pub(super) fn is_at_warp_size(&self) -> bool {
        let mut behind = *self;
        let first = behind.name();
        &self.text[first..behind.pos] == WARP_SIZE
    }

    /// The plain integer that starts here.
    pub(super) fn integer(&mut self) -> Result<i64, Diagnostic> {
        let first = self.pos;
        let number = self.number()?;
        self.as_integer(first, number)
    }

    /// The integer that starts here, which may be an expression.
    pub(super) fn integer_expression(&mut self) -> Result<i64, Diagnostic> {
        let first = self.pos;
        let constant = self.constant()?;
        self.as_integer(first, constant)
    }

    fn as_integer(&self, first: usize, constant: Constant) -> Result<i64, Diagnostic> {
        match constant.integer() {
            Some((bits, _)) => Ok(bits as i64),
            None => Err(Diagnostic::new(first, self.pos - first, Problem::MalformedNumber)),
        }
    }

    /// The constant that starts here. A plain number takes the short way.
    pub(super) fn constant(&mut self) -> Result<Constant, Diagnostic> {
        let start = *self;
        let is_negative = self.eat(b'-');
        if is_negative {
            self.skip_blank()?;
        }
        if Cursor::is_digit(self.peek()) || self.peek() == b'.' {
            let number = self.number()?;
            self.skip_blank()?;
            if matches!(self.peek(), b',' | b';' | b']' | b'}' | b')' | b'|') {
                return Ok(if is_negative { negated(number) } else { number });
            }
        }
        *self = start;
        self.conditional(0)
    }

    fn malformed(&self) -> Diagnostic {
        Diagnostic::new(self.pos, 1, Problem::MalformedExpression)
    }

    /// `a ? b : c`, and everything that binds tighter.
    fn conditional(&mut self, depth: u32) -> Result<Constant, Diagnostic> {
        if depth > EXPRESSION_DEPTH_MAX {
            return Err(self.malformed());
        }
        let condition = self.binary(0, depth)?;
        self.skip_blank()?;
        if !self.eat(b'?') {
            return Ok(condition);
        }
        let then = self.conditional(depth + 1)?;
        self.expect(b':', "`:`")?;
        let otherwise = self.conditional(depth + 1)?;
        let chosen = condition.is_true().ok_or_else(|| self.malformed())?;
        Ok(if chosen { then } else { otherwise })
    }

    /// Binary operators of at least `level`, by precedence climbing.
    fn binary(&mut self, level: u8, depth: u32) -> Result<Constant, Diagnostic> {
        let mut left = self.unary(depth)?;
        loop {
            self.skip_blank()?;
            let Some((symbol, precedence)) = operator(self.peek(), self.peek_at(1)) else {
                return Ok(left);
            };
            if precedence < level {
                return Ok(left);
            }
            self.pos += symbol.len();
            self.skip_blank()?;
            let right = self.binary(precedence + 1, depth)?;
            left = apply(symbol, left, right).ok_or_else(|| self.malformed())?;
        }
    }

    fn unary(&mut self, depth: u32) -> Result<Constant, Diagnostic> {
        if depth > EXPRESSION_DEPTH_MAX {
            return Err(self.malformed());
        }
        self.skip_blank()?;
        match self.peek() {
            b'(' => self.parenthesis(depth),
            b'-' => {
                self.pos += 1;
                Ok(negated(self.unary(depth + 1)?))
            }
            b'+' => {
                self.pos += 1;
                self.unary(depth + 1)
            }
            b'~' => {
                self.pos += 1;
                let (bits, unsigned) = self.unary(depth + 1)?.integer().ok_or_else(|| self.malformed())?;
                Ok(Constant::from_bits(!bits, unsigned))
            }
            b'!' => {
                self.pos += 1;
                let truth = self.unary(depth + 1)?.is_true().ok_or_else(|| self.malformed())?;
                Ok(Constant::Signed(i64::from(!truth)))
            }
            b'W' if self.is_at_warp_size() => {
                self.pos += WARP_SIZE.len();
                Ok(Constant::Signed(32))
            }
            _ => self.number(),
        }
    }

    /// `(expression)`, or a cast `(.s64) expression`.
    fn parenthesis(&mut self, depth: u32) -> Result<Constant, Diagnostic> {
        self.pos += 1;
        self.skip_blank()?;
        if self.peek() == b'.' && self.peek_at(2) == b'6' {
            let unsigned = self.peek_at(1) == b'u';
            self.pos += 1;
            self.name();
            self.expect(b')', "`)`")?;
            let (bits, _) = self.unary(depth + 1)?.integer().ok_or_else(|| self.malformed())?;
            return Ok(Constant::from_bits(bits, unsigned));
        }
        let inner = self.conditional(depth + 1)?;
        self.expect(b')', "`)`")?;
        Ok(inner)
    }

    /// A number in one of its spellings.
    fn number(&mut self) -> Result<Constant, Diagnostic> {
        let first = self.pos;
        if !Cursor::is_digit(self.peek()) && self.peek() != b'.' {
            return Err(self.unexpected("an operand"));
        }
        let parsed = match (self.peek(), self.peek_at(1) | 0x20) {
            (b'0', b'x') => self.integer_of_radix(2, 16),
            (b'0', b'b') => self.integer_of_radix(2, 2),
            (b'0', b'f') => self.float_bits(8).map(|bits| Constant::F32(bits as u32)),
            (b'0', b'd') => self.float_bits(16).map(|bits| Constant::F64(f64::from_bits(bits))),
            _ => self.decimal_or_octal(),
        };
        parsed.ok_or_else(|| {
            self.name();
            Diagnostic::new(first, (self.pos - first).max(1), Problem::MalformedNumber)
        })
    }

    fn number_word(&mut self) -> &[u8] {
        let first = self.name();
        &self.text[first..self.pos]
    }

    fn float_bits(&mut self, digits: usize) -> Option<u64> {
        self.pos += 2;
        let word = self.number_word();
        if word.len() != digits { None } else { parse_digits(word, 16) }
    }

    fn integer_of_radix(&mut self, prefix: usize, radix: u32) -> Option<Constant> {
        self.pos += prefix;
        let word = self.number_word();
        let (digits, has_suffix) = match word.strip_suffix(b"U") {
            Some(digits) => (digits, true),
            None => (word, false),
        };
        let value = parse_digits(digits, radix)?;
        Some(Constant::from_bits(value, has_suffix || value > i64::MAX as u64))
    }

    fn decimal_or_octal(&mut self) -> Option<Constant> {
        let first = self.pos;
        self.skip_digits();
        let is_float = matches!(self.peek(), b'.' | b'e' | b'E');
        if is_float {
            return self.decimal_float(first);
        }
        let digits = self.text[first..self.pos].len();
        self.pos = first;
        let is_octal = digits > 1 && self.peek() == b'0';
        if is_octal { self.integer_of_radix(1, 8) } else { self.integer_of_radix(0, 10) }
    }

    fn decimal_float(&mut self, first: usize) -> Option<Constant> {
        if self.eat(b'.') {
            self.skip_digits();
        }
        if self.peek() | 0x20 == b'e' {
            self.pos += 1;
            if matches!(self.peek(), b'+' | b'-') {
                self.pos += 1;
            }
            self.skip_digits();
        }
        let text = std::str::from_utf8(&self.text[first..self.pos]).ok()?;
        text.parse().ok().map(Constant::F64)
    }
}

/// The value of `digits`; none when there are none, one is no digit of the radix, or they exceed 64 bits.
fn parse_digits(digits: &[u8], radix: u32) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, &byte| {
        let digit = char::from(byte).to_digit(radix)?;
        value.checked_mul(u64::from(radix))?.checked_add(u64::from(digit))
    })
}

fn negated(constant: Constant) -> Constant {
    match constant {
        Constant::Signed(value) => Constant::Signed(value.wrapping_neg()),
        Constant::Unsigned(value) => Constant::Unsigned(value.wrapping_neg()),
        Constant::F32(bits) => Constant::F32(bits ^ 1 << 31),
        Constant::F64(value) => Constant::F64(-value),
    }
}

/// The binary operator that starts with these two bytes, and how tightly it binds.
fn operator(first: u8, second: u8) -> Option<(&'static str, u8)> {
    Some(match (first, second) {
        (b'|', b'|') => ("||", 0),
        (b'&', b'&') => ("&&", 1),
        (b'=', b'=') => ("==", 5),
        (b'!', b'=') => ("!=", 5),
        (b'<', b'<') => ("<<", 7),
        (b'>', b'>') => (">>", 7),
        (b'<', b'=') => ("<=", 6),
        (b'>', b'=') => (">=", 6),
        (b'|', _) => ("|", 2),
        (b'^', _) => ("^", 3),
        (b'&', _) => ("&", 4),
        (b'<', _) => ("<", 6),
        (b'>', _) => (">", 6),
        (b'+', _) => ("+", 8),
        (b'-', _) => ("-", 8),
        (b'*', _) => ("*", 9),
        (b'/', _) => ("/", 9),
        (b'%', _) => ("%", 9),
        _ => return None,
    })
}

/// `left symbol right`, both integers or both doubles; none where it has no value.
fn apply(symbol: &str, left: Constant, right: Constant) -> Option<Constant> {
    if let (Constant::F64(a), Constant::F64(b)) = (left, right) {
        return Some(match symbol {
            "+" => Constant::F64(a + b),
            "-" => Constant::F64(a - b),
            "*" => Constant::F64(a * b),
            "/" => Constant::F64(a / b),
            _ => return None,
        });
    }
    let ((a, a_unsigned), (b, b_unsigned)) = (left.integer()?, right.integer()?);
    let unsigned = a_unsigned || b_unsigned;
    let (sa, sb) = (a as i64, b as i64);
    let truth = |value: bool| Some(Constant::Signed(i64::from(value)));
    let value = match symbol {
        "+" => a.wrapping_add(b),
        "-" => a.wrapping_sub(b),
        "*" => a.wrapping_mul(b),
        "/" if unsigned => a.checked_div(b)?,
        "/" => sa.checked_div(sb)? as u64,
        "%" if unsigned => a.checked_rem(b)?,
        "%" => sa.checked_rem(sb)? as u64,
        "&" => a & b,
        "|" => a | b,
        "^" => a ^ b,
        // A shift keeps the type of what is shifted, and counts modulo 64.
        "<<" => return Some(Constant::from_bits(a.wrapping_shl(b as u32), a_unsigned)),
        ">>" if a_unsigned => return Some(Constant::Unsigned(a.wrapping_shr(b as u32))),
        ">>" => return Some(Constant::Signed(sa.wrapping_shr(b as u32))),
        "&&" => return truth(a != 0 && b != 0),
        "||" => return truth(a != 0 || b != 0),
        "==" => return truth(a == b),
        "!=" => return truth(a != b),
        "<" => return truth(if unsigned { a < b } else { sa < sb }),
        "<=" => return truth(if unsigned { a <= b } else { sa <= sb }),
        ">" => return truth(if unsigned { a > b } else { sa > sb }),
        ">=" => return truth(if unsigned { a >= b } else { sa >= sb }),
        _ => return None,
    };
    Some(Constant::from_bits(value, unsigned))
}
