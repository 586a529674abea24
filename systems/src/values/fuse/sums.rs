//! Products and sums as `mad`.
//!
//! ```text
//! shl.b32 r4, r1, 4;  add.s32 r5, r4, r2;             ->   mad.lo.s32 r5, r1, 16, r2;
//! mul.lo.s64 rd4, rd1, 24;  sub.s64 rd5, rd2, rd4;    ->   mad.lo.s64 rd5, rd1, -24, rd2;
//! cvt.s64.s32 rd4, r1;  add.s64 rd5, rd4, rd2;        ->   mad.wide.s32 rd5, r1, 1, rd2;
//! ```
//! Of products their lower halves: these are the same with a sign and without. What is subtracted has a literal factor.

use super::super::general_optimize::rewrite::{New, instruction};
use super::{Fused, Walk};
use ptxopt_components::form::{FormFlags, shape};
use ptxopt_components::ids::InstId;
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Part, Qualifiers};
use ptxopt_components::types::PtxType;

/// A product, or a value that is extended, which is one with 1.
struct Product {
    factor: Operand,
    by: New,
    part: Part,
    /// The type of the factors.
    ty: PtxType,
}

impl Walk<'_, '_> {
    /// What a sum or difference becomes with the product that computed an operand of it.
    pub(super) fn take_in_product(&mut self, inst: InstId) -> Option<Fused> {
        let form = self.f.form_of(inst);
        let ty = form.types[0]
            .filter(|ty| matches!(ty, PtxType::S32 | PtxType::U32 | PtxType::S64 | PtxType::U64))?;
        if !form.flags.contains(FormFlags::PLAIN) {
            return None;
        }
        let is_difference = form.operation == Operation::Sub;
        let &[result, one, other] = self.operands(inst) else { return None };
        let places: &[_] = if is_difference { &[(other, one)] } else { &[(other, one), (one, other)] };
        places.iter().find_map(|&(computed, addend)| {
            let maker = self.maker(computed)?;
            let product =
                if is_difference { self.negative_product(maker, ty) } else { self.product(maker, ty) }?;
            let operands =
                [New::Operand(result), New::Operand(product.factor), product.by, New::Operand(addend)];
            let qualifiers = Qualifiers { part: Some(product.part), ..Qualifiers::default() };
            let (types, shape) = ([product.ty], shape::plain(operands.len()));
            let rewrite = instruction(self.f, inst, Operation::Mad, qualifiers, &types, shape, &operands)?;
            Some(Fused::pair(inst, rewrite, maker, "one `mad` is product and sum"))
        })
    }

    /// An instruction as a product that is added to a value of type `sum`.
    fn product(&self, inst: InstId, sum: PtxType) -> Option<Product> {
        let form = self.f.form_of(inst);
        let &[_, factor, by] = self.f.operands_of(inst) else { return self.extension(inst, sum) };
        let is_product = form.operation == Operation::Mul
            && form.flags.contains(FormFlags::PLAIN)
            && self.f.description_of(inst).qualifiers.part == Some(Part::Low)
            && form.types[0].is_some_and(|ty| ty.bits() == sum.bits());
        match factor.vreg() {
            Some(_) if is_product => Some(Product { factor, by: New::Operand(by), part: Part::Low, ty: sum }),
            _ => self.product_with_a_literal(inst, sum, |by| by),
        }
    }

    /// An instruction as a product that is subtracted from a value of type `sum`.
    fn negative_product(&self, inst: InstId, sum: PtxType) -> Option<Product> {
        self.product_with_a_literal(inst, sum, u64::wrapping_neg)
    }

    /// A product with a literal, or a shift by one, with what `change` makes of the factor.
    fn product_with_a_literal(
        &self,
        inst: InstId,
        sum: PtxType,
        change: impl Fn(u64) -> u64,
    ) -> Option<Product> {
        let form = self.f.form_of(inst);
        let &[_, factor, by] = self.f.operands_of(inst) else { return None };
        let by =
            self.literal(by).filter(|_| form.flags.contains(FormFlags::PLAIN) && factor.vreg().is_some())?;
        let is_as_wide = form.types[0].is_some_and(|ty| ty.bits() == sum.bits());
        let is_low = self.f.description_of(inst).qualifiers.part == Some(Part::Low);
        let by = match form.operation {
            Operation::Mul if is_low && is_as_wide => by,
            Operation::Shl if form.types[0] == Some(PtxType::B32) && is_as_wide && by < 32 => 1 << by,
            _ => return None,
        };
        Some(Product { factor, by: New::Constant(change(by), sum), part: Part::Low, ty: sum })
    }

    /// An extension of 32 bits to the 64 of a sum.
    fn extension(&self, inst: InstId, sum: PtxType) -> Option<Product> {
        let &[_, factor] = self.f.operands_of(inst) else { return None };
        let is_conversion = self.f.form_of(inst).operation == Operation::Cvt;
        let ty = match self.f.description_of(inst).types {
            [Some(PtxType::S64), Some(PtxType::S32), ..] => PtxType::S32,
            [Some(PtxType::U64), Some(PtxType::U32), ..] => PtxType::U32,
            _ => return None,
        };
        let by = New::Constant(1, ty);
        (is_conversion && sum.bits() == 64).then_some(Product { factor, by, part: Part::Wide, ty })
    }
}
