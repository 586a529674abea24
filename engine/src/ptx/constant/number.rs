//! Numbers in their spellings: decimal, octal, hexadecimal, binary; reals, and reals by their bits.

use super::Constant;
use crate::diagnostics::{Diagnostic, NumberFault, Problem};
use crate::ptx::cursor::Cursor;

impl Cursor<'_> {
    /// A number in one of its spellings.
    pub(super) fn number(&mut self) -> Result<Constant, Diagnostic> {
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
        parsed.map_err(|fault| {
            self.name();
            Diagnostic::new(first, (self.pos - first).max(1), Problem::MalformedNumber(fault))
        })
    }

    fn number_word(&mut self) -> &[u8] {
        let first = self.name();
        &self.text[first..self.pos]
    }

    fn float_bits(&mut self, digits: usize) -> Result<u64, NumberFault> {
        self.pos += 2;
        let word = self.number_word();
        let value = parse_digits(word, 16)?;
        if word.len() == digits { Ok(value) } else { Err(NumberFault::BitCount(digits)) }
    }

    fn integer_of_radix(&mut self, prefix: usize, radix: u32) -> Result<Constant, NumberFault> {
        self.pos += prefix;
        let word = self.number_word();
        let (digits, has_suffix) = match word.strip_suffix(b"U") {
            Some(digits) => (digits, true),
            None => (word, false),
        };
        let value = parse_digits(digits, radix)?;
        Ok(Constant::from_bits(value, has_suffix || value > i64::MAX as u64))
    }

    fn decimal_or_octal(&mut self) -> Result<Constant, NumberFault> {
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

    fn decimal_float(&mut self, first: usize) -> Result<Constant, NumberFault> {
        if self.eat(b'.') {
            self.skip_digits();
        }
        if self.peek() | 0x20 == b'e' {
            self.pos += 1;
            if matches!(self.peek(), b'+' | b'-') {
                self.pos += 1;
            }
            if !Cursor::is_digit(self.peek()) {
                return Err(NumberFault::Exponent);
            }
            self.skip_digits();
        }
        let text = std::str::from_utf8(&self.text[first..self.pos]).map_err(|_| NumberFault::NoDigits)?;
        let value: f64 = text.parse().map_err(|_| NumberFault::NoDigits)?;
        if value.is_finite() { Ok(Constant::F64(value)) } else { Err(NumberFault::RealOverflow) }
    }
}

/// The value of `digits`.
///
/// Digits past 64 bits are an error where `ptxas` has one: when a digit follows a value of 2^63 or more. Below, the
/// high bits are lost: `0x10000000000000001` is 1 and `18446744073709551616` is 0, as there.
fn parse_digits(digits: &[u8], radix: u32) -> Result<u64, NumberFault> {
    if digits.is_empty() {
        return Err(NumberFault::NoDigits);
    }
    digits.iter().try_fold(0u64, |value, &byte| {
        let wrong = NumberFault::Digit { found: char::from(byte), radix };
        let digit = char::from(byte).to_digit(radix).ok_or(wrong)?;
        if value >> 63 != 0 {
            return Err(NumberFault::Overflow);
        }
        Ok(value.wrapping_mul(u64::from(radix)).wrapping_add(u64::from(digit)))
    })
}
