//! Ranges: between which bounds a number lies that is added to an address.
//!
//! Compilers index arrays with numbers that are extended to 64 bits, masked or shifted. A look at the few instructions
//! that made the number often bounds it on one side, and then the bytes on the other side of an array are safe from it:
//! ```text
//! cvt.u64.u32 %rd1, %r1;      // 0 to 2^32 - 1
//! shl.b64 %rd2, %rd1, 2;      // 0 to 2^34 - 4
//! add.s64 %rd3, %SP, %rd2;    // not before %SP
//! ```

use ptxopt_components::ids::{Id, VRegId};
use ptxopt_components::operand::{LiteralKind, Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Part;
use ptxopt_components::types::PtxType;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::def_use::DefUse;

/// Instructions that are looked at, one after the other, for one number: an index is made by two or three.
const DEPTH_MAX: u32 = 6;

/// Numbers are smaller than this, or nothing is said of them: sums of a few do not overflow.
const MAGNITUDE_MAX: i64 = 1 << 56;

/// The numbers from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The least.
    pub low: i64,
    /// The greatest.
    pub high: i64,
}

impl Range {
    /// One number.
    #[must_use]
    pub const fn exact(value: i64) -> Self {
        Self { low: value, high: value }
    }

    /// The numbers of an unsigned type of so many bits.
    const fn unsigned(bits: u32) -> Self {
        Self { low: 0, high: (1 << bits) - 1 }
    }

    /// The number, if it is only one.
    #[must_use]
    pub fn value(self) -> Option<i64> {
        (self.low == self.high).then_some(self.low)
    }

    /// The sums.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { low: self.low.saturating_add(other.low), high: self.high.saturating_add(other.high) }
    }

    /// The numbers with the other sign.
    #[must_use]
    pub fn negated(self) -> Self {
        Self { low: self.high.saturating_neg(), high: self.low.saturating_neg() }
    }

    /// The products with a factor that is not negative.
    fn times(self, factor: i64) -> Option<Self> {
        let is_counted = (0..MAGNITUDE_MAX).contains(&factor);
        let product = Self { low: self.low.checked_mul(factor)?, high: self.high.checked_mul(factor)? };
        (is_counted && product.is_small()).then_some(product)
    }

    fn is_small(self) -> bool {
        self.low > -MAGNITUDE_MAX && self.high < MAGNITUDE_MAX
    }

    /// If it lies in `whole`: a result that does not wrap around.
    fn within(self, whole: Self) -> Option<Self> {
        (whole.low <= self.low && self.high <= whole.high).then_some(self)
    }

    /// As signed numbers of `bits` bits, fewer than 64.
    fn reinterpreted(self, bits: u32) -> Self {
        let half = 1i64 << (bits - 1);
        if self.high < half { self } else { Self { low: -half, high: half - 1 } }
    }
}

/// The numbers that `operand` may be as an addend of type `ty`, if anything is known: one number of 32 bits, a range of
/// 64, for which sums do not wrap around.
#[must_use]
pub fn of_addend(
    view: &FunctionView<'_>,
    forms: &FormTable,
    def_use: &DefUse,
    operand: Operand,
    ty: PtxType,
) -> Option<Range> {
    let known = Sources { view, forms, def_use }.number(operand, ty.bits(), DEPTH_MAX)?;
    match ty.bits() {
        64 => Some(known).filter(|known| known.is_small()),
        _ => known.value().map(|value| Range::exact(i64::from(value as i32))),
    }
}

struct Sources<'a> {
    view: &'a FunctionView<'a>,
    forms: &'a FormTable,
    def_use: &'a DefUse,
}

impl Sources<'_> {
    /// What an operand of `bits` bits may be: as a signed number where it has 64 bits, unsigned where it has fewer.
    fn number(&self, operand: Operand, bits: u32, depth: u32) -> Option<Range> {
        let literal = |value: i64| match bits {
            64 => value,
            _ => value & ((1 << bits) - 1),
        };
        match operand.kind() {
            OperandKind::Int(value) => Some(Range::exact(literal(i64::from(value)))),
            OperandKind::Literal(id) => {
                let known = self.view.pools.literals[id.index()];
                let is_integer = matches!(known.kind(), LiteralKind::Signed | LiteralKind::Unsigned);
                is_integer.then(|| Range::exact(literal(known.bits as i64)))
            }
            OperandKind::Register { vreg, minus: false } if !operand.has_payload() => {
                let has_width = self.view.vregs[vreg.index()].ty.element().bits() == bits;
                let whole = (bits < 64).then(|| Range::unsigned(bits));
                let made = if depth > 0 && has_width { self.result(vreg, bits, depth - 1) } else { None };
                made.or(whole)
            }
            _ => None,
        }
    }

    /// What the only instruction that writes `vreg`, which has `bits` bits, makes of it.
    fn result(&self, vreg: VRegId, bits: u32, depth: u32) -> Option<Range> {
        let at = self.def_use.only_def(vreg)?;
        let head = &self.view.heads[at.inst.index()];
        let operands = self.view.operands_of(at.inst);
        let is_whole = at.position == 0 && !operands[0].is_partial() && !head.opcode.is_guarded();
        // Somebody else may write these.
        let shared = VRegFlags::INPUT
            | VRegFlags::OUTPUT
            | VRegFlags::MODULE
            | VRegFlags::PINNED
            | VRegFlags::INITIALISED;
        let form = self.forms.get(head.form);
        let ty = form.types[0].filter(|&ty| is_integer(ty))?;
        let qualifiers = self.forms.describe(head.form).qualifiers;
        let is_plain = qualifiers.modifiers.is_empty() && form.lanes == 1;
        if !is_whole || !is_plain || self.view.vregs[vreg.index()].flags.intersects(shared) {
            return None;
        }
        let source = |at: usize| self.number(operands[at], ty.bits(), depth);
        let amount = || self.number(operands[2], 32, depth).and_then(Range::value);
        match (form.operation, qualifiers.part) {
            (Operation::Ld, _) => extended(ty, bits, None),
            (Operation::Cvt, _) => {
                let from = form.types[1].filter(|&from| is_integer(from) && from.bits() <= bits)?;
                let number = self.number(operands[1], from.bits(), depth);
                if ty.bits() == bits { extended(from, bits, number) } else { None }
            }
            (Operation::Mul, Some(Part::Wide)) => {
                let factor = source(2)?.value().filter(|&factor| factor < 1 << (ty.bits() - 1))?;
                let number = source(1).filter(|_| bits == 2 * ty.bits())?;
                let number = if is_signed(ty) { number.reinterpreted(ty.bits()) } else { number };
                number.times(factor)?.within(numbers_of(bits))
            }
            _ if ty.bits() != bits => None,
            (Operation::Mov, _) if operands.len() == 2 => source(1),
            (Operation::Add, _) => source(1)?.plus(source(2)?).within(numbers_of(bits)),
            (Operation::Sub, _) => source(1)?.plus(source(2)?.negated()).within(numbers_of(bits)),
            (Operation::Mul, Some(Part::Low)) => {
                let (one, other) = (source(1)?, source(2)?);
                let product = match (one.value(), other.value()) {
                    (_, Some(factor)) => one.times(factor),
                    (Some(factor), _) => other.times(factor),
                    _ => None,
                };
                product?.within(numbers_of(bits))
            }
            (Operation::Shl, _) => {
                let amount = amount().filter(|amount| (0..48).contains(amount))?;
                source(1)?.times(1 << amount)?.within(numbers_of(bits))
            }
            (Operation::Shr, _) => {
                let amount = amount().filter(|amount| (1..i64::from(bits)).contains(amount))?;
                let is_positive = |source: &Range| {
                    source.low >= 0 && (!is_signed(ty) || bits == 64 || source.reinterpreted(bits) == *source)
                };
                let source = source(1).filter(is_positive)?;
                Some(Range { low: source.low >> amount, high: source.high >> amount })
            }
            (Operation::And, _) => {
                let mask = |at| source(at).filter(|known| known.low >= 0).map(|known| known.high);
                let high = [mask(1), mask(2)].into_iter().flatten().min()?;
                Some(Range { low: 0, high })
            }
            (Operation::Rem, _) if !is_signed(ty) => {
                let divisor = source(2)?.value().filter(|&divisor| divisor > 0)?;
                Some(Range { low: 0, high: divisor - 1 })
            }
            _ => None,
        }
    }
}

/// The numbers among which a result of `bits` bits has not wrapped around.
fn numbers_of(bits: u32) -> Range {
    match bits {
        64 => Range { low: -MAGNITUDE_MAX, high: MAGNITUDE_MAX },
        _ => Range::unsigned(bits),
    }
}

/// The numbers of `bits` bits that values of type `from` are when they are extended; `known` is what is known of the
/// value without its sign.
fn extended(from: PtxType, bits: u32, known: Option<Range>) -> Option<Range> {
    if !is_integer(from) || from.bits() > 32 && known.is_none() {
        return None;
    }
    let known = known.unwrap_or(Range::unsigned(from.bits().min(32)));
    let value = if is_signed(from) && from.bits() < 64 { known.reinterpreted(from.bits()) } else { known };
    // Of fewer than 64 bits, numbers have no sign here.
    if bits < 64 && value.low < 0 { None } else { Some(value) }
}

fn is_signed(ty: PtxType) -> bool {
    matches!(ty, PtxType::S8 | PtxType::S16 | PtxType::S32 | PtxType::S64)
}

fn is_integer(ty: PtxType) -> bool {
    use PtxType::{B8, B16, B32, B64, U8, U16, U32, U64};
    is_signed(ty) || matches!(ty, B8 | B16 | B32 | B64 | U8 | U16 | U32 | U64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::kernel;
    use ptxopt_components::ids::VRegId;

    /// What is known of the last register that `body` names as `%d9`, as an addend of 64 bits.
    fn range(body: &str) -> Option<(i64, i64)> {
        let built = kernel(&format!(
            ".reg .b64 %d<10>; .reg .b32 %r<10>; .reg .b16 %h<10>; .reg .f32 %f<10>; .reg .pred %p<2>; {body} \
             mov.b64 %d8, %d9; ret;"
        ));
        let view = built.function();
        let mut def_use = DefUse::default();
        def_use.build(&view);
        let vreg: VRegId = built.vreg("%d", 9);
        let found = of_addend(&view, &built.forms, &def_use, Operand::register(vreg), PtxType::B64);
        found.map(|range| (range.low, range.high))
    }

    const WORD: i64 = u32::MAX as i64;

    #[test]
    fn what_is_extended_has_bounds() {
        assert_eq!(range("cvt.u64.u32 %d9, %r1;"), Some((0, WORD)));
        assert_eq!(range("cvt.s64.s32 %d9, %r1;"), Some((i64::from(i32::MIN), i64::from(i32::MAX))));
        assert_eq!(range("cvt.u64.s16 %d9, %r1;"), Some((-32768, 32767)));
        assert_eq!(range("cvt.u64.u32 %d9, %tid.x;"), Some((0, WORD)));
        assert_eq!(range("ld.global.u8 %d9, [%d1];"), Some((0, 255)));
        assert_eq!(range("ld.global.s8 %d9, [%d1];"), Some((-128, 127)));
        assert_eq!(range("ld.global.b32 %d9, [%d1];"), Some((0, WORD)));
        assert_eq!(range("ld.global.u64 %d9, [%d1];"), None);
        assert_eq!(range("cvt.u64.u32 %d9, %d1;"), Some((0, WORD)));
        assert_eq!(range("cvt.rzi.u64.f32 %d9, %f1;"), None);
    }

    #[test]
    fn what_is_masked_scaled_or_shifted_has_bounds() {
        assert_eq!(range("and.b64 %d9, %d1, 12;"), Some((0, 12)));
        assert_eq!(range("and.b64 %d9, %d1, -4;"), None);
        assert_eq!(range("and.b32 %r1, %r2, 3; mul.wide.u32 %d9, %r1, 4;"), Some((0, 12)));
        assert_eq!(range("and.b32 %r1, %r2, 3; mul.wide.s32 %d9, %r1, 4;"), Some((0, 12)));
        assert_eq!(range("mul.wide.s32 %d9, %r1, 4;"), Some((-(1 << 33), (1 << 33) - 4)));
        assert_eq!(range("mul.wide.s32 %d9, %r1, -4;"), None);
        assert_eq!(range("cvt.u64.u32 %d1, %r1; shl.b64 %d9, %d1, 2;"), Some((0, WORD << 2)));
        assert_eq!(range("cvt.u64.u32 %d1, %r1; mul.lo.s64 %d9, %d1, 12;"), Some((0, WORD * 12)));
        assert_eq!(range("shr.u32 %r1, %r2, 28; cvt.u64.u32 %d9, %r1;"), Some((0, 15)));
        assert_eq!(range("rem.u32 %r1, %r2, 10; cvt.u64.u32 %d9, %r1;"), Some((0, 9)));
        assert_eq!(range("and.b32 %r1, %r2, 7; cvt.s64.s32 %d1, %r1; sub.s64 %d9, %d1, 9;"), Some((-9, -2)));
    }

    /// Signed shifts copy the sign, signed remainders have one, and sums of 32 bits wrap around.
    #[test]
    fn what_may_wrap_around_or_have_a_sign_is_anything() {
        assert_eq!(range("shr.s32 %r1, %r2, 28; cvt.u64.u32 %d9, %r1;"), Some((0, WORD)));
        assert_eq!(range("rem.s32 %r1, %r2, 10; cvt.u64.u32 %d9, %r1;"), Some((0, WORD)));
        assert_eq!(
            range("and.b32 %r1, %r2, 7; add.s32 %r3, %r1, -1; cvt.u64.u32 %d9, %r3;"),
            Some((0, WORD))
        );
        assert_eq!(range("and.b32 %r1, %r2, 7; sub.s32 %r3, %r1, 1; cvt.u64.u32 %d9, %r3;"), Some((0, WORD)));
        assert_eq!(range("shl.b32 %r1, %r2, 2; cvt.u64.u32 %d9, %r1;"), Some((0, WORD)));
        assert_eq!(range("mul.lo.s32 %r1, %r2, 4; cvt.u64.u32 %d9, %r1;"), Some((0, WORD)));
        assert_eq!(range("cvt.u64.u32 %d1, %r1; shl.b64 %d9, %d1, 40;"), None);
        assert_eq!(range("add.f32 %r1, %f1, %f2; cvt.u64.u32 %d9, %r1;"), Some((0, WORD)));
    }

    /// A guard, a second definition, a vector, a part: the register holds something else as well.
    #[test]
    fn what_another_instruction_writes_is_anything() {
        assert_eq!(range("@%p1 cvt.u64.u32 %d9, %r1;"), None);
        assert_eq!(range("cvt.u64.u32 %d9, %r1; ld.global.u64 %d9, [%d1];"), None);
        assert_eq!(range("ld.global.v2.u8 {%d1, %d9}, [%d2];"), None);
        assert_eq!(range("mov.b64 {%r1, %r2}, %d1; cvt.u64.u32 %d9, %r2;"), Some((0, WORD)));
        assert_eq!(range("add.cc.s64 %d9, %d1, 4;"), None);
        assert_eq!(range("and.b64 %d1, %d2, 3; add.s64 %d9, %d9, %d1;"), None);
    }
}
