//! Clues: what tells, before any definition is looked for, that most rules cannot apply to an instruction.
//!
//! A rule that folds two sums needs a source that a sum computed. Which operations computed a register is noted in its row as
//! the walk passes them, so the rows of what an instruction reads say whether there may be one. All that reaches an
//! instruction was passed before: what a clue denies is not so, and what it says is for the rule to find out.

use ptxopt_components::form::Kinds;
use ptxopt_components::ids::{Id, VRegId};
use ptxopt_components::operand::{Operand, reads};
use ptxopt_components::operation::Operation;

bitflags::bitflags! {
    /// What may be so of an instruction. The first ones are of a register as well, one that it reads.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(super) struct Clues: u16 {
        /// A copy defines it.
        const COPY = 1 << 0;
        /// A copy of a constant defines it.
        const CONSTANT = 1 << 1;
        /// It is a sum or difference with a literal.
        const SUM = 1 << 2;
        /// It was computed by another operation with a literal.
        const WITH_LITERAL = 1 << 3;
        /// It was converted.
        const CONVERTED = 1 << 4;
        /// It was selected.
        const SELECTED = 1 << 5;
        /// It was packed of several elements.
        const PACKED = 1 << 6;
        /// So it is of every instruction.
        const ALWAYS = 1 << 7;
        /// The first of two sources is a literal.
        const LITERAL_FIRST = 1 << 8;
        /// The last operand is a literal.
        const LITERAL_LAST = 1 << 9;
        /// The first two sources are one operand, or a predicate and its negation.
        const EQUAL_SOURCES = 1 << 10;
        /// Copies of constants define all registers that it reads, and it is more than a move of one constant.
        const ALL_CONSTANT = 1 << 11;
        /// It is a sum or difference of registers, a difference from a literal, or a negation. Of a register as well.
        const ADDED = 1 << 12;
        /// `or` with a literal computed it: a sum, if they have no bit in common. Of a register as well.
        const BITS_SET = 1 << 13;
    }
}

impl Clues {
    /// These clues where that is so, else none.
    #[inline]
    fn where_is(self, is_so: bool) -> Self {
        if is_so { self } else { Self::empty() }
    }

    /// What a register may be that an instruction with this operation defines; of copies see
    /// [`Copies`](super::copies::Copies).
    #[inline]
    fn of_result(operation: Operation, operands: &[Operand]) -> Self {
        use Operation::{Add, And, Cvt, Div, Max, Min, Mov, Mul, Neg, Or, Selp, Shl, Shr, Sub, Xor};
        let has_literal = || operands.last().is_some_and(is_number);
        match operation {
            Add | Sub if has_literal() => Self::SUM,
            Add | Sub | Neg => Self::ADDED,
            Or if has_literal() => Self::WITH_LITERAL | Self::BITS_SET,
            And | Xor | Mul | Div | Min | Max | Shl | Shr if has_literal() => Self::WITH_LITERAL,
            Cvt => Self::CONVERTED,
            Selp => Self::SELECTED,
            Mov if operands.len() > 2 => Self::PACKED,
            _ => Self::empty(),
        }
    }
}

fn is_number(operand: &Operand) -> bool {
    operand.kinds() == Kinds::NUMBER
}

/// What copies and operations that the walk has passed define each register.
#[derive(Default)]
pub(super) struct Made {
    by: Vec<Clues>,
}

impl Made {
    /// Forgets the function before; this one has `vreg_count` registers.
    pub(super) fn start(&mut self, vreg_count: usize) {
        self.by.clear();
        self.by.resize(vreg_count, Clues::empty());
    }

    /// What defines a register.
    #[inline]
    pub(super) fn by(&self, vreg: VRegId) -> Clues {
        self.by[vreg.index()]
    }

    /// Notes what defines a register.
    #[inline]
    pub(super) fn note(&mut self, vreg: VRegId, clues: Clues) {
        self.by[vreg.index()] |= clues;
    }

    /// Notes what an operation leaves in its first result.
    #[inline]
    pub(super) fn note_result(&mut self, operation: Operation, operands: &[Operand]) {
        let clues = Clues::of_result(operation, operands);
        if !clues.is_empty()
            && let Some(vreg) = operands[0].vreg()
        {
            self.note(vreg, clues);
        }
    }

    /// The clues to an instruction that is no phi.
    #[inline]
    pub(super) fn clues(&self, operation: Operation, operands: &[Operand]) -> Clues {
        let (mut any, mut all) = (Clues::ALWAYS, Clues::CONSTANT);
        for vreg in reads(operands) {
            let by = self.by(vreg);
            any |= by;
            all &= by;
        }
        let is_move_of_one = operation == Operation::Mov && operands.len() == 2;
        any |= Clues::ALL_CONSTANT.where_is(!all.is_empty() && !is_move_of_one);
        if let &[_, one, other, ..] = operands {
            let last = operands[operands.len() - 1];
            let is_one_register = one.vreg().is_some() && one.vreg() == other.vreg();
            any |= Clues::LITERAL_FIRST.where_is(is_number(&one))
                | Clues::LITERAL_LAST.where_is(is_number(&last))
                | Clues::EQUAL_SOURCES.where_is(one == other || is_one_register);
        }
        any
    }
}
