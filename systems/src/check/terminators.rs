//! Terminators: control leaves a block only at its end.
//!
//! Fast. One pass over instruction heads, of functions in which TERMINATORS_LAST is set and which the
//! [first look](super::first_look) does not settle.
//!
//! A live control-flow instruction is the last live one of its block. Live sets are kept at block boundaries, so a
//! branch in mid-block would leave with a set that no boundary has.

use super::first_look::Passed;
use super::{Verdict, each_function, wrong_at};
use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::Id;
use ptxopt_components::instruction::Marks;
use ptxopt_engine::run::log::Violations;
use ptxopt_engine::run::phase::{Check, Verify};
use ptxopt_engine::store::columns::Code;
use ptxopt_engine::store::view::FunctionView;

/// The verifier of terminators.
pub const CHECK: Check = Check { name: "terminators", from: Verify::Fast, install: |slot| slot.add(run) };

/// Verifies every function of the batch.
pub fn run(code: Code, passed: Res<Passed>, mut violations: ResMut<Violations>) {
    each_function(&code, CHECK.name, &mut violations, |function| {
        if passed.has(function.code) { Ok(()) } else { verify(function) }
    });
}

/// Verifies one function.
pub fn verify(function: &FunctionView<'_>) -> Verdict {
    if !function.state.flags.contains(CodeFlags::TERMINATORS_LAST) {
        return Ok(());
    }
    for block in function.block_ids() {
        let mut control = None;
        for inst in function.insts_of(block) {
            if let Some(row) = control {
                return wrong_at(
                    block,
                    row,
                    format_args!("control leaves the block before {inst:?}, which is live"),
                );
            }
            if function.heads[inst.index()].marks.contains(Marks::CONTROL) {
                control = Some(inst.index());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::{Built, kernel};

    fn built(body: &str) -> Built {
        let mut built = kernel(body);
        built.tables.code_states[0].flags |= CodeFlags::TERMINATORS_LAST;
        built
    }

    #[test]
    fn the_unbroken_function_passes() {
        let built =
            built(".reg .pred %p<2>; .reg .b32 %r<2>; @%p1 bra L; L: mov.u32 %r1, 1; @%p1 exit; M: bra M;");
        assert_eq!(verify(&built.function()), Ok(()));
    }

    #[test]
    fn a_branch_in_mid_block_is_seen() {
        let mut built = built(".reg .pred %p<2>; .reg .b32 %r<2>; L: @%p1 bra L; mov.u32 %r1, 1; ret;");
        let found = verify(&built.function()).unwrap_err();
        assert_eq!(found, "bix1 i0: control leaves the block before i1, which is live");
        // What is deleted after it does not count, and neither does anything before the phase that splits.
        built.tables.inst_heads[1].marks |= Marks::TOMBSTONE;
        built.tables.inst_heads[2].marks |= Marks::TOMBSTONE;
        assert_eq!(verify(&built.function()), Ok(()));
        built.tables.inst_heads[2].marks -= Marks::TOMBSTONE;
        built.tables.code_states[0].flags -= CodeFlags::TERMINATORS_LAST;
        assert_eq!(verify(&built.function()), Ok(()));
    }
}
