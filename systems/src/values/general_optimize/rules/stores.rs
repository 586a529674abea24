//! Stores of bits: what is stored as a number of one type may have been copied from a register of another.
//!
//! nvcc copies floats to registers of integers (`__float_as_uint`) and stores them from there.

use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::copies::Source;
use crate::values::general_optimize::pattern::plain;
use crate::values::general_optimize::rewrite::{Rewrite, bits_of};
use ptxopt_components::form::Role;
use ptxopt_components::ids::InstId;
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;

pub(super) const RULES: &[Rule] = &[Rule {
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
}];

fn store_what_was_copied(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let description = walk.f.description_of(inst);
    let stored = description.types[0].filter(|_| description.lanes() == 1)?;
    let position = walk.f.slots_of(inst).iter().position(|slot| slot.role == Role::Use)?;
    let value = walk.f.operands_of(inst)[position];
    let vreg = value.vreg().filter(|&vreg| value == Operand::register(vreg))?;
    let Source::Register(from, _) = walk.source_of(vreg, inst)? else { return None };
    let is_whole = from == plain(from) && walk.width(from.vreg()?) == stored.bits();
    let bits = bits_of(stored.bits()).filter(|&bits| is_whole && bits != stored)?;
    let form = walk.f.head(inst).form;
    let form = walk.f.forms().with_type(form, 0, bits)?;
    walk.in_another_form(inst, form, (position, from))
}
