//! Numbers: what is known of an integer that is added to an address.
//!
//! Compilers index arrays with numbers that are extended to 64 bits, masked or shifted. A look at the few instructions
//! that made the number often bounds it on one side, and then the bytes on the other side of an array are safe from it:
//! ```text
//! cvt.u64.u32 %rd1, %r1;      // 0 to 2^32 - 1
//! shl.b64 %rd2, %rd1, 2;      // 0 to 2^34 - 4
//! add.s64 %rd3, %SP, %rd2;    // not before %SP
//! ```
//! A walk ends at *leaves*: what is loaded, and registers that several instructions write. Who asks says what those are.

use super::ranges::Range;
use crate::values::known_bits::{Known, in_register, of_special_register, result_of, slot_width};
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::operand::{LiteralKind, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::types::PtxType;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::def_use::{DefUse, OperandRef};

/// Operands that are looked at for one number: an index is made by a few instructions of two sources.
const LOOKS_MAX: u32 = 24;

/// The most values of a leaf that are tried one by one: as many as a counter of a small array has.
const VALUES_MAX: u64 = 64;

/// A range that holds more numbers says nothing of a place in a variable.
const SPAN_MAX: u64 = 1 << 16;

/// What the walks read.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// The function.
    pub view: &'a FunctionView<'a>,
    /// Its forms.
    pub forms: &'a FormTable,
    /// Its def-use lists.
    pub def_use: &'a DefUse,
    /// By instruction: its place among the rows of the function, in the order of the text.
    pub positions: &'a [u32],
}

/// Where a walk ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The operand: the address of a load, or a register that is read.
    pub at: OperandRef,
    /// The register; none for a load.
    pub vreg: Option<VRegId>,
    /// Number of bits.
    pub width: u32,
}

/// What is known of leaves.
pub trait Leaves {
    /// What is known of a leaf; none where nothing has reached it so far.
    fn known(&mut self, leaf: Leaf) -> Option<Known>;
}

/// Leaves, and which was asked for.
struct Watched<'a, L> {
    leaves: &'a mut L,
    /// The first, and what is known of it.
    first: Option<(Leaf, Known)>,
    is_only: bool,
}

impl<L: Leaves> Leaves for Watched<'_, L> {
    fn known(&mut self, leaf: Leaf) -> Option<Known> {
        let known = self.leaves.known(leaf)?;
        let (first, _) = *self.first.get_or_insert((leaf, known));
        self.is_only &= first == leaf;
        Some(known)
    }
}

/// All leaves are this one.
struct Exactly(Known);

impl Leaves for Exactly {
    fn known(&mut self, _: Leaf) -> Option<Known> {
        Some(self.0)
    }
}

/// Leaves may be anything.
pub struct Anything;

impl Leaves for Anything {
    fn known(&mut self, leaf: Leaf) -> Option<Known> {
        Some(Known::unknown(leaf.width))
    }
}

impl Sources<'_> {
    /// The numbers that an operand may be as an addend of type `ty`, if their bounds are known: one number of 32 bits, a
    /// range of 64, for which sums do not wrap around.
    pub fn addend(&self, leaves: &mut impl Leaves, at: OperandRef, ty: PtxType) -> Option<Range> {
        let known = self.number_or_each(leaves, at, ty.bits())?;
        match ty.bits() {
            64 => Range { low: known.least(), high: known.most() }.counted(),
            _ => known.only().map(|bits| Range::exact(i64::from(bits as u32 as i32))),
        }
    }

    /// What is known of a source. Where that is next to nothing and comes from one leaf of few values, they are tried one by
    /// one: of a remainder that is made by multiplication and shifts, ranges do not tell.
    /// ```text
    /// mul.hi.u32 %r2, %r1, 1321528399;     // %r1 is 0 to 39
    /// shr.u32 %r3, %r2, 2;
    /// mul.lo.s32 %r4, %r3, 13;
    /// sub.s32 %r5, %r1, %r4;               // %r1 % 13: 0 to 12
    /// ```
    /// Each register read has one definition, which runs before it on every way: so all of them are of one round of a loop.
    fn number_or_each(&self, leaves: &mut impl Leaves, at: OperandRef, width: u32) -> Option<Known> {
        let mut watched = Watched { leaves, first: None, is_only: true };
        let mut walk = self.walk(&mut watched);
        let known = walk.number(at, width)?;
        let is_near =
            known.high() - known.low() <= SPAN_MAX || known.most().abs_diff(known.least()) <= SPAN_MAX;
        let few = |(leaf, known): (Leaf, Known)| {
            (known.high() - known.low() < VALUES_MAX).then_some((leaf.width, known.low()..=known.high()))
        };
        let Some((leaf_width, values)) = watched.first.filter(|_| watched.is_only && !is_near).and_then(few)
        else {
            return Some(known);
        };
        let each =
            values.map(|value| self.number(&mut Exactly(Known::constant(value, leaf_width)), at, width));
        each.reduce(|one, other| Some(one?.join(other?))).unwrap_or(Some(known))
    }

    /// What is known of a source, read as `width` bits; none where nothing has reached it so far.
    pub fn number(&self, leaves: &mut impl Leaves, at: OperandRef, width: u32) -> Option<Known> {
        self.walk(leaves).number(at, width)
    }

    /// What a definition leaves in all of its register, which has `width` bits.
    pub fn result(&self, leaves: &mut impl Leaves, at: OperandRef, width: u32) -> Option<Known> {
        self.walk(leaves).result(at, width)
    }

    /// The place of a row in the order of the text.
    pub fn position(&self, inst: InstId) -> u32 {
        self.positions[inst.index()]
    }

    /// Whether an instruction is in the same block as another, before it.
    pub fn is_above(&self, inst: InstId, other: InstId) -> bool {
        let block = |inst: InstId| self.view.heads[inst.index()].block;
        block(inst) == block(other) && self.position(inst) < self.position(other)
    }

    /// Whether an instruction has run on every way to another one.
    pub fn is_before(&self, inst: InstId, other: InstId) -> bool {
        let block = |inst: InstId| self.view.heads[inst.index()].block;
        let order = |inst: InstId| &self.view.orders[block(inst).index()];
        match block(inst) == block(other) {
            true => self.position(inst) < self.position(other),
            false => order(inst).dominates(order(other)),
        }
    }

    fn walk<'a, L>(&'a self, leaves: &'a mut L) -> Walk<'a, L> {
        Walk { sources: self, leaves, looks_left: LOOKS_MAX }
    }

    /// The register that is all of an operand.
    pub fn whole_register(&self, at: OperandRef) -> Option<VRegId> {
        let operand = self.view.operands_of(at.inst)[at.position];
        match operand.kind() {
            OperandKind::Register { vreg, minus: false } if !operand.has_payload() => {
                (self.view.vregs[vreg.index()].ty.lanes == 1).then_some(vreg)
            }
            _ => None,
        }
    }
}

struct Walk<'a, L> {
    sources: &'a Sources<'a>,
    leaves: &'a mut L,
    looks_left: u32,
}

impl<L: Leaves> Walk<'_, L> {
    fn number(&mut self, at: OperandRef, width: u32) -> Option<Known> {
        let view = self.sources.view;
        let Some(left) = self.looks_left.checked_sub(1) else { return Some(Known::unknown(width)) };
        self.looks_left = left;
        let known = match view.operands_of(at.inst)[at.position].kind() {
            OperandKind::Int(value) => return Some(Known::constant(i64::from(value) as u64, width)),
            OperandKind::Literal(id) => {
                let literal = view.pools.literals[id.index()];
                let is_integer = matches!(literal.kind(), LiteralKind::Signed | LiteralKind::Unsigned);
                is_integer.then(|| Known::constant(literal.bits, width))
            }
            OperandKind::Special(row) => {
                let component =
                    view.operands_of(at.inst)[at.position].selector().map(|selector| selector.text());
                of_special_register(row as usize, component.as_deref().unwrap_or(""), &view.text.launch)
            }
            OperandKind::Register { .. } => match self.sources.whole_register(at) {
                Some(vreg) => Some(self.register(at, vreg)?),
                None => None,
            },
            _ => None,
        };
        // A conversion reads the lowest bits of a register that is wider than its type.
        let known = known.filter(|known| known.width() >= width);
        Some(known.map_or(Known::unknown(width), |known| known.truncate(width)))
    }

    fn register(&mut self, at: OperandRef, vreg: VRegId) -> Option<Known> {
        let head = &self.sources.view.vregs[vreg.index()];
        let width = head.ty.element().bits().min(64);
        match self.sources.def_use.only_def(vreg) {
            _ if head.flags.intersects(VRegFlags::UNKNOWN_AT_START) => Some(Known::unknown(width)),
            Some(def) if self.sources.is_before(def.inst, at.inst) => self.result(def, width),
            // On some way nothing has written it: it may hold anything.
            Some(_) => Some(Known::unknown(width)),
            None => self.leaves.known(Leaf { at, vreg: Some(vreg), width }),
        }
    }

    fn result(&mut self, at: OperandRef, width: u32) -> Option<Known> {
        let unknown = Known::unknown(width);
        let Sources { view, forms, .. } = *self.sources;
        let head = &view.heads[at.inst.index()];
        let operands = view.operands_of(at.inst);
        let is_whole = at.position == 0 && !operands[0].is_partial() && !head.opcode.is_guarded();
        let form = forms.get(head.form);
        let description = forms.describe(head.form);
        let Some(ty) = description.types[0].filter(|ty| is_whole && ty.bits() <= 64) else {
            return Some(unknown);
        };
        let count = operands.len() - 1;
        let mut sources = [Known::unknown(1); 3];
        let result = if description.operation == Operation::Ld && count == 1 {
            let at = OperandRef { inst: at.inst, position: 1 };
            Some(self.leaves.known(Leaf { at, vreg: None, width: ty.bits() })?)
        } else if form.is_pure() && form.slots.len() == operands.len() && count <= sources.len() {
            for (number, source) in sources[..count].iter_mut().enumerate() {
                let Some(width) = slot_width(description, number).filter(|&width| width <= 64) else {
                    return Some(unknown);
                };
                *source = self.number(OperandRef { inst: at.inst, position: number + 1 }, width)?;
            }
            result_of(description, &sources[..count])
        } else {
            None
        };
        let known = result.and_then(|result| in_register(description, result, width));
        Some(known.unwrap_or(unknown))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::kernel;

    /// What is known of the last register that `body` names as `%d9`, as an addend of 64 bits.
    fn range(body: &str) -> Option<(i64, i64)> {
        let built = kernel(&format!(
            ".reg .b64 %d<10>; .reg .b32 %r<10>; .reg .b16 %h<10>; .reg .f32 %f<10>; .reg .pred %p<2>; {body} \
             mov.b64 %d8, %d9; ret;"
        ));
        let view = built.function();
        let mut def_use = DefUse::default();
        def_use.build(&view);
        let positions: Vec<u32> = (0..view.heads.len() as u32).collect();
        let sources = Sources { view: &view, forms: &built.forms, def_use: &def_use, positions: &positions };
        let inst = InstId::new(view.heads.len() - 2);
        let found = sources.addend(&mut Anything, OperandRef { inst, position: 1 }, PtxType::B64);
        found.map(|range| (range.low, range.high))
    }

    const WORD: i64 = u32::MAX as i64;

    #[test]
    fn what_is_extended_has_bounds() {
        assert_eq!(range("cvt.u64.u32 %d9, %r1;"), Some((0, WORD)));
        assert_eq!(range("cvt.s64.s32 %d9, %r1;"), Some((i64::from(i32::MIN), i64::from(i32::MAX))));
        assert_eq!(range("cvt.u64.s16 %d9, %r1;"), Some((-32768, 32767)));
        assert_eq!(range("cvt.u64.u32 %d9, %tid.x;"), Some((0, 1023)));
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
        assert_eq!(range("cvt.u64.u32 %d1, %r1; shl.b64 %d9, %d1, 2;"), Some((0, WORD << 2)));
        assert_eq!(range("cvt.u64.u32 %d1, %r1; mul.lo.s64 %d9, %d1, 12;"), Some((0, WORD * 12)));
        assert_eq!(range("shr.u32 %r1, %r2, 28; cvt.u64.u32 %d9, %r1;"), Some((0, 15)));
        assert_eq!(range("rem.u32 %r1, %r2, 10; cvt.u64.u32 %d9, %r1;"), Some((0, 9)));
        assert_eq!(range("and.b32 %r1, %r2, 7; cvt.s64.s32 %d1, %r1; sub.s64 %d9, %d1, 9;"), Some((-9, -2)));
        let of_three = "and.b32 %r1, %r2, 3; mad.lo.u32 %r3, %r1, 4, 5; cvt.u64.u32 %d9, %r3;";
        assert_eq!(range(of_three), Some((5, 17)));
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
        assert_eq!(range("shl.b32 %r1, %r2, 4; cvt.u64.u32 %d9, %r1;"), Some((0, WORD - 15)));
        assert_eq!(range("mul.lo.s32 %r1, %r2, 16; cvt.u64.u32 %d9, %r1;"), Some((0, WORD - 15)));
        assert_eq!(range("cvt.u64.u32 %d1, %r1; shl.b64 %d9, %d1, 40;"), None);
        assert_eq!(range("add.f32 %r1, %f1, %f2; cvt.u64.u32 %d9, %r1;"), Some((0, WORD)));
    }

    /// A literal that needs more than 32 bits is one.
    #[test]
    fn what_a_wide_literal_masks_has_bounds() {
        assert_eq!(range("and.b64 %d9, %d1, 0x1FFFFFFFF;"), Some((0, (1 << 33) - 1)));
    }

    /// In the first round nothing has written what is read, and in another one the round before has.
    #[test]
    fn what_is_written_after_it_is_read_is_anything() {
        assert_eq!(range("and.b64 %d1, %d2, 12; add.s64 %d9, %d1, 4;"), Some((4, 16)));
        assert_eq!(range("add.s64 %d9, %d1, 4; and.b64 %d1, %d2, 12;"), None);
        // By its own instruction, too: a shift moves by 30 in the first round.
        assert_eq!(range("shr.u64 %d9, %d9, 30;"), Some((0, (1 << 34) - 1)));
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
