//! A half of a register beside zeros.
//!
//! ```text
//! mov.b32 {h1, h2}, r1;  mov.b32 r2, {0, h1};  mov.b32 r3, {0, h2};   ->   shl.b32 r2, r1, 16;  and.b32 r3, r1, -65536;
//! cvt.u16.u32 h1, r1;  mov.b32 r2, {h1, 0};                           ->   and.b32 r2, r1, 65535;
//! cvt.u64.u32 d1, r1;  shl.b64 d2, d1, 32;                            ->   mov.b64 d2, {0, r1};
//! ```
//! So floats are made of those of 16 bits that are the upper half of one (bfloat16). Of two halves that are read once each the first one
//! leaves a sink where it was unpacked, and with the second one that goes.

use super::super::general_optimize::rewrite::{New, Rewrite, instruction};
use super::{Fused, GOES_MAX, Walk};
use ptxopt_components::form::{Accepts, FormFlags, shape};
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Qualifiers;
use ptxopt_components::types::{PtxType, TypeKind, truncate};

/// What made a half of a register.
struct Origin {
    /// The register of 32 bits.
    whole: Operand,
    is_upper: bool,
    maker: InstId,
    /// Where the maker has a sink from now on; it goes where that would leave it nothing.
    sink: Option<usize>,
}

impl Walk<'_, '_> {
    /// What packing a half and zeros becomes with what made the half.
    pub(super) fn take_in_half(&mut self, inst: InstId) -> Option<Fused> {
        let &[result, low, high] = self.operands(inst) else { return None };
        let is_zero = |half: Operand| self.literal(half).is_some_and(|bits| truncate(bits, 16) == 0);
        let (half, is_upper) = match (is_zero(low), is_zero(high)) {
            (true, false) => (high, true),
            (false, true) => (low, false),
            _ => return None,
        };
        self.width_of(result).filter(|&width| width == 32)?;
        let origin = self.origin_of_half(half)?;
        let (operation, ty, number) = match (origin.is_upper, is_upper) {
            (false, true) => (Operation::Shl, PtxType::B32, New::Constant(16, PtxType::U32)),
            (true, false) => (Operation::Shr, PtxType::U32, New::Constant(16, PtxType::U32)),
            (false, false) => (Operation::And, PtxType::B32, New::Constant(0xFFFF, PtxType::B32)),
            (true, true) => (Operation::And, PtxType::B32, New::Constant(0xFFFF_0000, PtxType::B32)),
        };
        let operands = [New::Operand(result), New::Operand(origin.whole), number];
        let shape = shape::plain(operands.len());
        let rewrite = instruction(self.f, inst, operation, Qualifiers::default(), &[ty], shape, &operands)?;
        const REASON: &str = "half of a register is moved or kept";
        Some(match origin.sink {
            None => Fused::pair(inst, rewrite, origin.maker, REASON),
            Some(position) => {
                let sink = Rewrite::Operand(position, New::Operand(Operand::sink()));
                Fused {
                    also: Some((origin.maker, sink)),
                    ..Fused::new(inst, rewrite, [None; GOES_MAX], REASON)
                }
            }
        })
    }

    /// What a shift to the upper half of 64 bits becomes with the extension of what is shifted.
    pub(super) fn take_in_extension(&mut self, inst: InstId) -> Option<Fused> {
        let &[result, extended, amount] = self.operands(inst) else { return None };
        let is_by_half = self.literal(amount).is_some_and(|bits| truncate(bits, 32) == 32);
        let maker = self.maker(extended).filter(|&maker| is_by_half && self.converts(maker, 64, 32))?;
        let &[_, half] = self.f.operands_of(maker) else { return None };
        let operands = [New::Operand(result), New::Constant(0, PtxType::B32), New::Operand(half)];
        let (qualifiers, types) = (Qualifiers::default(), [PtxType::B64]);
        let rewrite = instruction(self.f, inst, Operation::Mov, qualifiers, &types, b"#,{#,#}", &operands)?;
        Some(Fused::pair(inst, rewrite, maker, "a register is the upper half of another one"))
    }

    /// What made a half that is read once, and what it is half of, where that is still there.
    fn origin_of_half(&self, half: Operand) -> Option<Origin> {
        let vreg =
            half.vreg().filter(|&vreg| self.is_own(vreg) && self.names[vreg.index()].is_one_of_each())?;
        self.width_of(half).filter(|&width| width == 16)?;
        let maker = self.recent.maker(vreg).filter(|&maker| !self.f.head(maker).opcode.is_guarded())?;
        let origin = match *self.f.operands_of(maker) {
            [_, whole] if self.converts(maker, 16, 32) => {
                Origin { whole, is_upper: false, maker, sink: None }
            }
            [low, high, whole] if self.f.form_of(maker).operation == Operation::Mov => {
                let is_upper = high.vreg() == Some(vreg);
                let (other, position) = if is_upper { (low, 1) } else { (high, 0) };
                Origin { whole, is_upper, maker, sink: self.sink_beside(maker, other, position)? }
            }
            _ => return None,
        };
        let is_there = |read: VRegId| self.is_own(read) && self.recent.is_unchanged_since(read, vreg);
        let is_word = self.width_of(origin.whole) == Some(32);
        (is_word && origin.whole.vreg().is_some_and(is_there)).then_some(origin)
    }

    /// Whether an instruction converts integers of `from` bits to `to` bits.
    fn converts(&self, inst: InstId, to: u32, from: u32) -> bool {
        let form = self.f.form_of(inst);
        let is_integer = |ty: Option<PtxType>, bits: u32| {
            ty.is_some_and(|ty| ty.kind() == TypeKind::Integer && ty.bits() == bits)
        };
        form.operation == Operation::Cvt
            && form.flags.contains(FormFlags::PLAIN)
            && is_integer(form.types[0], to)
            && is_integer(form.types[1], from)
    }

    /// Where an instruction that unpacks gets a sink once one half is not read any more: nowhere if it goes, since nothing reads the
    /// other half either. None where that is read for good.
    fn sink_beside(&self, inst: InstId, other: Operand, position: usize) -> Option<Option<usize>> {
        if self.is_unread(other) {
            return Some(None);
        }
        let takes_sink = self.f.slots_of(inst)[position].accepts.contains(Accepts::SINK_ELEMENT);
        let may_go = other.vreg().is_some_and(|vreg| self.names[vreg.index()].is_one_of_each());
        (takes_sink && may_go).then_some(Some(position))
    }

    /// The width of the register that an operand names.
    fn width_of(&self, operand: Operand) -> Option<u32> {
        operand.vreg().map(|vreg| self.f.vreg(vreg).ty.element().bits())
    }
}
