//! Stores of bits: what is stored as a number of one type may have been copied from a register of another, or cut and extended.
//!
//! nvcc copies floats to registers of integers (`__float_as_uint`) and stores them from there. C extends what it computes, and stores
//! the lower bits of it.

use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::copies::Source;
use crate::values::general_optimize::pattern::plain;
use crate::values::general_optimize::rewrite::{New, Rewrite, bits_of};
use ptxopt_components::form::Role;
use ptxopt_components::ids::{InstId, VRegId};
use ptxopt_components::operation::Operation;
use ptxopt_components::types::{PtxType, truncate};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "store-what-was-copied",
        operations: &[Operation::St],
        pattern: "x = mov.b32 y; st.u32 [a], x -> st.b32 [a], y, where y is a float",
        reason: "bits are stored from any register",
        guards: &[
            Guard {
                needs: "a store of all bits",
                without: "mov.b32 %r1, %f1; st.global.u16 [%rd1], %r1 stores the lower half: st.global.b16 takes no float of 32 bits",
            },
            Guard {
                needs: "a store of one number",
                without: "mov.b32 %r1, %f1; st.global.v2.u32 [%rd1], {%r1, %r2}: a vector takes no float beside an integer",
            },
            Guard {
                needs: "y still holds what was copied",
                without: "mov.b32 %r1, %f1; mov.f32 %f1, 0f40E00000; st.global.u32 [%rd1], %r1 stores the old %f1",
            },
        ],
        when: Clues::COPY,
        apply: Apply::Any(store_what_was_copied),
    },
    Rule {
        name: "store-low-bits",
        operations: &[Operation::St],
        pattern: "x = cvt.T.U y; st.V [a], x -> st.V [a], y, where neither T nor U is narrower than V; also x = and y, 2^K - 1",
        reason: "bits are stored that were not converted",
        guards: &[
            Guard {
                needs: "bits that the conversion leaves as they are",
                without: "cvt.u32.u8 %r2, %r1; st.global.u16 [%rd1], %r2 with %r1 = 256 stores 0",
            },
            Guard {
                needs: "a mask of all bits that are stored",
                without: "and.b32 %r2, %r1, 127; st.global.u8 [%rd1], %r2 with %r1 = 128 stores 0",
            },
            Guard {
                needs: "an integer that is stored as an integer",
                without: "and.b32 %r2, %f1, 255; st.global.u8 [%rd1], %r2: no store of a byte takes %f1",
            },
            Guard {
                needs: "y still holds what was converted",
                without: "cvt.u64.u32 %rd2, %r1; mov.u32 %r1, %r9; st.global.u32 [%rd1], %rd2 stores the old %r1",
            },
        ],
        when: Clues::CONVERTED.union(Clues::WITH_LITERAL),
        apply: Apply::Any(store_low_bits),
    },
];

/// Where a store of one number has it, with the register and the type that it is stored as.
fn stored_number(walk: &Walk<'_, '_>, inst: InstId) -> Option<(usize, VRegId, PtxType)> {
    let description = walk.f.description_of(inst);
    let stored = description.types[0].filter(|_| description.lanes() == 1)?;
    let position = walk.f.slots_of(inst).iter().position(|slot| slot.role == Role::Use)?;
    let value = walk.f.operands_of(inst)[position];
    value.vreg().filter(|_| value == plain(value)).map(|vreg| (position, vreg, stored))
}

/// Where a store has its number, if it stores the lowest bits of a register, and how many.
pub(in crate::values::general_optimize) fn stored_bits(
    walk: &Walk<'_, '_>,
    inst: InstId,
) -> Option<(usize, u32)> {
    let (position, _, stored) = stored_number(walk, inst)?;
    stored.is_of_integers().then_some((position, stored.bits()))
}

fn store_low_bits(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let (position, bits) = stored_bits(walk, inst)?;
    let definition = walk.computed_by(walk.f.operands_of(inst)[position], inst)?;
    let source = if let Some(conversion) = walk.conversion(definition) {
        let is_as_before = bits <= conversion.from.bits().min(conversion.to.bits());
        is_as_before.then_some(conversion.source)?
    } else {
        let mask = walk.binary(definition).filter(|mask| mask.operation == Operation::And)?;
        let keeps = truncate(!walk.literal(mask.other)?, bits) == 0;
        keeps.then_some(mask.one)?
    };
    // A mask takes a register of floats.
    let is_integer = walk.f.vreg(source.vreg()?).ty.element().is_of_integers();
    let may_stand = is_integer && source == plain(source) && walk.is_still(source, definition, inst);
    may_stand.then_some(Rewrite::Operand(position, New::Operand(source)))
}

fn store_what_was_copied(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let (position, vreg, stored) = stored_number(walk, inst)?;
    let Source::Register(from, _) = walk.source_of(vreg, inst)? else { return None };
    let is_whole = from == plain(from) && walk.width(from.vreg()?) == stored.bits();
    let bits = bits_of(stored.bits()).filter(|&bits| is_whole && bits != stored)?;
    let form = walk.f.head(inst).form;
    let form = walk.f.forms().with_type(form, 0, bits)?;
    walk.in_another_form(inst, form, (position, from))
}
