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
    pub(super) struct Clues: u32 {
        /// A copy defines it.
        const COPY = 1 << 0;
        /// A copy of a constant defines it.
        const CONSTANT = 1 << 1;
        /// It is a sum or difference with a literal.
        const SUM = 1 << 2;
        /// It was computed by another operation with a literal.
        const WITH_LITERAL = 1 << 3;
        /// It was converted, from a type or to another space.
        const CONVERTED = 1 << 4;
        /// It was selected, or is a number that says how a comparison came out.
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
        /// It was computed of a sum with a constant as addresses are. Of a register as well.
        const INDEXED = 1 << 14;
        /// It was shifted. Of a register as well.
        const SHIFTED = 1 << 15;
        /// It was put together of parts, or taken from what was. Of a register as well.
        const OF_PARTS = 1 << 16;
    }
}

impl Clues {
    /// Of an index: a sum with a constant, or what was computed of one.
    pub(super) const OF_INDICES: Self = Self::SUM.union(Self::BITS_SET).union(Self::INDEXED);

    /// Of what may have zeros where other bits are put.
    pub(super) const MOVED: Self = Self::WITH_LITERAL.union(Self::CONVERTED).union(Self::OF_PARTS);

    /// These clues where that is so, else none.
    #[inline]
    fn where_is(self, is_so: bool) -> Self {
        if is_so { self } else { Self::empty() }
    }

    /// What a register may be that an instruction with this operation defines; of copies see
    /// [`Copies`](super::copies::Copies).
    #[inline]
    fn of_result(operation: Operation, operands: &[Operand]) -> Self {
        let has_literal = operands.last().is_some_and(is_number);
        let is_pack = (operation == Operation::Mov) & (operands.len() > 2);
        OF_RESULT[usize::from(has_literal)][operation as usize]
            | Self::PACKED.union(Self::OF_PARTS).where_is(is_pack)
    }
}

/// What operations say of their results: without a literal as last operand, and with one; by operation. A table, since a branch
/// on the operation is often mispredicted.
const OF_RESULT: [[Clues; Operation::ALL.len()]; 2] = {
    use Operation::{
        Add, And, Bfe, Bfi, Cvt, Cvta, CvtaTo, Div, Max, Min, Mul, Neg, Or, Prmt, Selp, Set, Shl, Shr, Sub,
        Xor,
    };
    const SETS_BITS: Clues = Clues::WITH_LITERAL.union(Clues::BITS_SET);
    const SHIFTED_BY_LITERAL: Clues = Clues::WITH_LITERAL.union(Clues::SHIFTED);
    let mut clues = [[Clues::empty(); Operation::ALL.len()]; 2];
    let mut at = 0;
    while at < Operation::ALL.len() {
        let (without, with) = match Operation::ALL[at] {
            Add | Sub => (Clues::ADDED, Clues::SUM),
            Neg => (Clues::ADDED, Clues::ADDED),
            Or => (Clues::OF_PARTS, SETS_BITS),
            Bfi | Prmt => (Clues::OF_PARTS, Clues::OF_PARTS),
            And | Bfe | Xor | Mul | Div | Min | Max => (Clues::empty(), Clues::WITH_LITERAL),
            Shl | Shr => (Clues::SHIFTED, SHIFTED_BY_LITERAL),
            Cvt | Cvta | CvtaTo => (Clues::CONVERTED, Clues::CONVERTED),
            Selp | Set => (Clues::SELECTED, Clues::SELECTED),
            _ => (Clues::empty(), Clues::empty()),
        };
        clues[0][at] = without;
        clues[1][at] = with;
        at += 1;
    }
    clues
};

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

    /// Notes what an instruction computes of an index; there are such clues to it.
    pub(super) fn note_index(&mut self, operation: Operation, clues: Clues, operands: &[Operand]) {
        use Operation::{Add, Cvt, Mad, Mul, Shl, Sub};
        let is_sum_again = matches!(operation, Add | Sub) && clues.contains(Clues::LITERAL_LAST);
        if (!is_sum_again || clues.contains(Clues::INDEXED))
            && matches!(operation, Add | Cvt | Mad | Mul | Shl | Sub)
            && let Some(vreg) = operands[0].vreg()
        {
            self.note(vreg, Clues::INDEXED);
        }
    }

    /// Notes what an instruction takes from parts that were put together.
    pub(super) fn note_part(&mut self, operation: Operation, operands: &[Operand]) {
        use Operation::{And, Bfe, Cvt, Shl, Shr};
        if matches!(operation, And | Bfe | Cvt | Shl | Shr)
            && let Some(vreg) = operands[0].vreg()
        {
            self.note(vreg, Clues::OF_PARTS);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::kernel;

    /// Of the last instruction of a body before its `ret`: the clues to it, and those to its first result. What copies registers
    /// and constants is noted as the walk does.
    fn last(made: &mut Made, body: &str) -> (Clues, Clues) {
        let built = kernel(&format!(
            ".reg .b16 %h<4>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<4>; {body} ret;"
        ));
        let function = built.function();
        made.start(function.vregs.len());
        let mut last = None;
        for (_, head, operands) in function.rows() {
            let operation = built.forms.get(head.form).operation;
            let Some(result) = operands.first().and_then(|result| result.vreg()) else { break };
            let clues = made.clues(operation, operands);
            made.note_result(operation, operands);
            match operands {
                [_, source] if operation == Operation::Mov && is_number(source) => {
                    made.note(result, Clues::COPY | Clues::CONSTANT);
                }
                [_, _] if operation == Operation::Mov => made.note(result, Clues::COPY),
                _ => {}
            }
            last = Some((clues, made.by(result)));
        }
        last.expect("something is computed")
    }

    /// No more than the flags say: a clue that is not so costs a look at every instruction that reads the register.
    #[test]
    fn a_register_is_what_its_definition_leaves() {
        let cases = [
            (Clues::SUM, "add.u32 %r3, %r1, 7;"),
            (Clues::SUM, "sub.s64 %d3, %d1, 7;"),
            (Clues::ADDED, "add.u32 %r3, %r1, %r2;"),
            (Clues::ADDED, "sub.u32 %r3, 7, %r1;"),
            (Clues::ADDED, "neg.s32 %r3, %r1;"),
            (Clues::WITH_LITERAL, "and.b32 %r3, %r1, 7;"),
            (Clues::WITH_LITERAL | Clues::BITS_SET, "or.b32 %r3, %r1, 7;"),
            (Clues::WITH_LITERAL, "xor.b32 %r3, %r1, 7;"),
            (Clues::WITH_LITERAL, "bfe.u32 %r3, %r1, 8, 8;"),
            (Clues::WITH_LITERAL, "mul.lo.u32 %r3, %r1, 7;"),
            (Clues::WITH_LITERAL, "div.u32 %r3, %r1, 7;"),
            (Clues::WITH_LITERAL, "min.u32 %r3, %r1, 7;"),
            (Clues::WITH_LITERAL, "max.u32 %r3, %r1, 7;"),
            (Clues::WITH_LITERAL | Clues::SHIFTED, "shl.b32 %r3, %r1, 7;"),
            (Clues::WITH_LITERAL | Clues::SHIFTED, "shr.u32 %r3, %r1, 7;"),
            (Clues::SHIFTED, "shl.b32 %r3, %r1, %r2;"),
            (Clues::SHIFTED, "shr.s64 %d3, %d1, %r2;"),
            (Clues::CONVERTED, "cvt.u64.u32 %d3, %r1;"),
            (Clues::CONVERTED, "cvta.local.u64 %d3, %d1;"),
            (Clues::CONVERTED, "cvta.to.global.u64 %d3, %d1;"),
            (Clues::SELECTED, "selp.b32 %r3, %r1, %r2, %p1;"),
            (Clues::PACKED | Clues::OF_PARTS, "mov.b64 %d3, {%r1, %r2};"),
            (Clues::OF_PARTS, "or.b32 %r3, %r1, %r2;"),
            (Clues::empty(), "xor.b32 %r3, %r1, %r2;"),
            (Clues::OF_PARTS, "bfi.b32 %r3, %r1, %r2, 8, 8;"),
            (Clues::OF_PARTS, "bfi.b32 %r3, %r1, %r2, 8, %r4;"),
            (Clues::OF_PARTS, "prmt.b32 %r3, %r1, %r2, 0x5410;"),
            (Clues::OF_PARTS, "prmt.b32 %r3, %r1, %r2, %r4;"),
            (Clues::COPY, "mov.b32 %r3, %r1;"),
            (Clues::COPY.union(Clues::CONSTANT), "mov.b32 %r3, 7;"),
            (Clues::empty(), "and.b32 %r3, %r1, %r2;"),
            (Clues::SHIFTED, "shl.b32 %r3, 7, %r1;"),
            (Clues::empty(), "not.b32 %r3, %r1;"),
        ];
        let mut made = Made::default();
        for (wanted, body) in cases {
            // What the function before made of the same register is forgotten.
            assert_eq!(last(&mut made, body).1, wanted, "{body}");
        }
        // Two definitions: it may be either.
        let both = last(&mut made, "add.u32 %r3, %r1, 7; and.b32 %r3, %r2, 7;").1;
        assert_eq!(both, Clues::SUM | Clues::WITH_LITERAL);
    }

    /// What moves bits of parts leaves parts; what computes with them does not.
    #[test]
    fn what_is_taken_from_parts_is_of_parts() {
        let cases = [
            (true, "and.b32 %r3, %r1, 7;"),
            (true, "bfe.u32 %r3, %r1, 8, 8;"),
            (true, "cvt.u32.u8 %r3, %r1;"),
            (true, "shl.b32 %r3, %r1, 7;"),
            (true, "shr.u32 %r3, %r1, 7;"),
            (false, "add.u32 %r3, %r1, 7;"),
            (false, "not.b32 %r3, %r1;"),
        ];
        for (wanted, body) in cases {
            let built = kernel(&format!(".reg .b32 %r<9>; {body} ret;"));
            let function = built.function();
            let mut made = Made::default();
            made.start(function.vregs.len());
            let (_, head, operands) = function.rows().next().unwrap();
            made.note_part(built.forms.get(head.form).operation, operands);
            assert_eq!(made.by(operands[0].vreg().unwrap()) == Clues::OF_PARTS, wanted, "{body}");
        }
    }

    #[test]
    fn an_instruction_has_clues_from_what_it_reads() {
        let constants = "mov.u32 %r1, 3; mov.u32 %r2, 4; ";
        let of_literals = Clues::LITERAL_FIRST | Clues::LITERAL_LAST | Clues::ALL_CONSTANT;
        let of_constants = Clues::COPY | Clues::CONSTANT | Clues::ALL_CONSTANT;
        let cases = [
            (Clues::empty(), "and.b32 %r3, %r1, %r2;".to_owned()),
            (Clues::LITERAL_FIRST, "sub.u32 %r3, 7, %r1;".to_owned()),
            (Clues::LITERAL_LAST, "sub.u32 %r3, %r1, 7;".to_owned()),
            (Clues::LITERAL_LAST, "mad.lo.u32 %r3, %r1, %r2, 7;".to_owned()),
            (Clues::EQUAL_SOURCES, "mad.lo.u32 %r3, %r1, %r1, %r2;".to_owned()),
            (Clues::EQUAL_SOURCES, "and.pred %p3, %p1, !%p1;".to_owned()),
            // All of no registers are constants.
            (of_literals | Clues::EQUAL_SOURCES, "sub.u32 %r3, 7, 7;".to_owned()),
            (of_literals, "sub.u32 %r3, 7, 8;".to_owned()),
            (
                Clues::SUM | Clues::CONVERTED,
                "add.u64 %d4, %d1, 7; cvt.u64.u32 %d5, %r1; and.b64 %d3, %d4, %d5;".to_owned(),
            ),
            (of_constants, format!("{constants}and.b32 %r3, %r1, %r2;")),
            // One that is none of a constant.
            (Clues::COPY | Clues::CONSTANT, format!("{constants}and.b32 %r3, %r1, %r4;")),
            // A move of one constant is one already; a pack of two is not.
            (Clues::COPY | Clues::CONSTANT, format!("{constants}mov.u32 %r3, %r1;")),
            (of_constants, format!("{constants}mov.b64 %d3, {{%r1, %r2}};")),
            (of_constants, format!("{constants}not.b32 %r3, %r1;")),
        ];
        for (wanted, body) in cases {
            assert_eq!(last(&mut Made::default(), &body).0, wanted | Clues::ALWAYS, "{body}");
        }
    }
}
