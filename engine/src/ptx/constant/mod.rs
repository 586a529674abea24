//! Numbers and constant expressions (PTX ISA 9.0, section 4.5), as `ptxas` computes them.
//!
//! Integers are 64-bit, signed unless they carry a `U`, are cast, or do not fit; floats are doubles or bit patterns.
//! Where the ISA leaves doubt, the values that `ptxas` puts into its output decide: `%` and `~` are unsigned whatever
//! their operands are, a shift counts modulo 64, and `?:` has the type of the value that it chooses.
//!
//! Operators that wait for an operand lie on a stack of their own, so that no nesting overflows that of the thread.

mod number;
mod operators;

use super::cursor::Cursor;
use crate::diagnostics::{Diagnostic, ExpressionFault, NumberFault, Problem};
use operators::{Unary, apply, binary_operator, is_true, negated, unary_operator};

/// Operators and parentheses of one expression that wait for an operand. `ptxas` holds 10,000 symbols.
const PENDING_MAX: usize = 10_000;

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

    fn truth(value: bool) -> Self {
        Self::Signed(i64::from(value))
    }

    /// The integer's bits and whether it is unsigned; none for floats.
    pub(super) fn integer(self) -> Option<(u64, bool)> {
        match self {
            Self::Signed(value) => Some((value as u64, false)),
            Self::Unsigned(value) => Some((value, true)),
            Self::F32(_) | Self::F64(_) => None,
        }
    }
}

/// The one constant that has a name: the threads of a warp, 32.
pub(super) const WARP_SIZE: &[u8] = b"WARP_SZ";

/// What waits for the operand after it.
#[derive(Clone, Copy)]
enum Pending {
    Unary(Unary),
    Binary {
        symbol: &'static str,
        strength: u8,
        left: Constant,
    },
    Parenthesis,
    /// `condition ?`
    Condition(bool),
    /// `condition ? then :`
    Choice {
        condition: bool,
        then: Constant,
    },
}

/// Operators that wait, and the byte where the expression starts.
struct Expression {
    pending: Vec<Pending>,
    first: usize,
}

impl Cursor<'_> {
    /// Whether the word here is [`WARP_SIZE`].
    pub(super) fn is_at_warp_size(&self) -> bool {
        let mut after = *self;
        let first = after.name();
        &self.text[first..after.pos] == WARP_SIZE
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
        let problem = Problem::MalformedNumber(NumberFault::NotAnInteger);
        let bits = constant.integer().map(|(bits, _)| bits as i64);
        bits.ok_or_else(|| Diagnostic::new(first, self.pos - first, problem))
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
            if matches!(self.peek(), b',' | b';' | b']' | b'}' | b')') {
                return Ok(if is_negative { negated(number) } else { number });
            }
        }
        *self = start;
        self.expression()
    }

    #[cold]
    fn expression(&mut self) -> Result<Constant, Diagnostic> {
        let mut expression = Expression { pending: Vec::new(), first: self.pos };
        loop {
            self.skip_blank()?;
            if let Some(opening) = self.opening()? {
                expression.push(opening, self)?;
                continue;
            }
            let operand = self.operand_of_expression()?;
            if let Some(value) = self.after_operand(&mut expression, operand)? {
                return Ok(value);
            }
        }
    }

    /// A sign, a cast or a parenthesis before an operand.
    fn opening(&mut self) -> Result<Option<Pending>, Diagnostic> {
        if let Some(unary) = unary_operator(self.peek()) {
            self.pos += 1;
            return Ok(Some(Pending::Unary(unary)));
        }
        if self.peek() != b'(' {
            return Ok(None);
        }
        self.pos += 1;
        self.skip_blank()?;
        if self.peek() != b'.' || !Cursor::starts_name(self.peek_at(1)) {
            return Ok(Some(Pending::Parenthesis));
        }
        self.pos += 1;
        let first = self.name();
        let cast = match &self.text[first..self.pos] {
            b"u64" => Unary::Cast { unsigned: true },
            b"s64" => Unary::Cast { unsigned: false },
            _ => {
                let problem = Problem::MalformedExpression(ExpressionFault::Cast);
                return Err(Diagnostic::new(first - 1, self.pos - first + 1, problem));
            }
        };
        self.expect(b')', "`)`")?;
        Ok(Some(Pending::Unary(cast)))
    }

    fn operand_of_expression(&mut self) -> Result<Constant, Diagnostic> {
        if self.peek() == b'W' && self.is_at_warp_size() {
            self.pos += WARP_SIZE.len();
            return Ok(Constant::Signed(32));
        }
        self.number()
    }

    /// What comes after an operand: closing parentheses, then an operator that waits for the next operand, or the end
    /// and the expression's value.
    fn after_operand(
        &mut self,
        expression: &mut Expression,
        mut value: Constant,
    ) -> Result<Option<Constant>, Diagnostic> {
        loop {
            self.skip_blank()?;
            let byte = self.peek();
            if let Some((symbol, strength)) = binary_operator(byte, self.peek_at(1))
                && !(byte == b'%' && Self::continues_name(self.peek_at(1)))
            {
                value = expression.reduce(value, strength, self)?;
                self.pos += symbol.len();
                expression.push(Pending::Binary { symbol, strength, left: value }, self)?;
                return Ok(None);
            }
            if byte == b'?' {
                value = expression.reduce(value, 0, self)?;
                let condition =
                    is_true(value).ok_or_else(|| expression.fault(ExpressionFault::Real, self))?;
                self.pos += 1;
                expression.push(Pending::Condition(condition), self)?;
                return Ok(None);
            }
            value = expression.reduce(value, 0, self)?;
            match (byte, expression.pending.last().copied()) {
                (b')', Some(Pending::Parenthesis)) => {
                    self.pos += 1;
                    expression.pending.pop();
                }
                (b':', Some(Pending::Condition(condition))) => {
                    self.pos += 1;
                    expression.pending.pop();
                    expression.push(Pending::Choice { condition, then: value }, self)?;
                    return Ok(None);
                }
                (_, Some(Pending::Choice { condition, then })) => {
                    expression.pending.pop();
                    value = if condition { then } else { value };
                }
                (_, Some(Pending::Parenthesis)) => return Err(self.unexpected("`)`")),
                (_, Some(_)) => return Err(self.unexpected("`:`")),
                (_, None) => return Ok(Some(value)),
            }
        }
    }
}

impl Expression {
    fn push(&mut self, pending: Pending, at: &Cursor<'_>) -> Result<(), Diagnostic> {
        if self.pending.len() >= PENDING_MAX {
            return Err(self.fault(ExpressionFault::TooDeep, at));
        }
        self.pending.push(pending);
        Ok(())
    }

    /// Applies what waits for `value` and binds at least as tightly as an operator of this strength.
    fn reduce(&mut self, mut value: Constant, strength: u8, at: &Cursor<'_>) -> Result<Constant, Diagnostic> {
        while let Some(&pending) = self.pending.last() {
            let applied = match pending {
                Pending::Unary(unary) => operators::apply_unary(unary, value),
                Pending::Binary { symbol, strength: own, left } if own >= strength => {
                    apply(symbol, left, value)
                }
                _ => break,
            };
            value = applied.map_err(|fault| self.fault(fault, at))?;
            self.pending.pop();
        }
        Ok(value)
    }

    #[cold]
    fn fault(&self, fault: ExpressionFault, at: &Cursor<'_>) -> Diagnostic {
        let length = at.text[self.first..at.pos].trim_ascii_end().len();
        Diagnostic::new(self.first, length.max(1), Problem::MalformedExpression(fault))
    }
}
