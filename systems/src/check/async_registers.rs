//! Asynchronous registers: what hardware goes on using after an instruction has issued is pinned.
//!
//! Fast. One pass over the live instructions, where the [first look](super::first_look) does not settle them.
//!
//! A register that is in flight after an instruction (`Form::leaves_in_flight`), or that an unknown instruction names other than
//! in an address, is PINNED: an accumulator of `wgmma` is written until the wait, so a copy of it taken before would be a copy of
//! nothing. Addresses, guards, sizes and descriptors are read when the instruction issues.

use super::first_look::Passed;
use super::{Verdict, each_function, each_inst};
use bevy_ecs::prelude::*;
use ptxopt_components::ids::{Id, InstId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::opcodes::Effects;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::run::log::Violations;
use ptxopt_engine::run::phase::{Check, Verify};
use ptxopt_engine::store::columns::Code;
use ptxopt_engine::store::view::FunctionView;

/// The verifier of asynchronous registers.
pub const CHECK: Check = Check { name: "async_registers", from: Verify::Fast, install: |slot| slot.add(run) };

/// Verifies every function of the batch.
pub fn run(code: Code, forms: Res<FormTable>, passed: Res<Passed>, mut violations: ResMut<Violations>) {
    each_function(&code, CHECK.name, &mut violations, |function| {
        if passed.has(function.code) { Ok(()) } else { verify(function, &forms) }
    });
}

/// Verifies one function.
pub fn verify(function: &FunctionView<'_>, forms: &FormTable) -> Verdict {
    each_inst(function, |inst| verify_inst(function, forms, inst))
}

/// Verifies one instruction.
pub(super) fn verify_inst(function: &FunctionView<'_>, forms: &FormTable, inst: InstId) -> Verdict {
    let head = &function.heads[inst.index()];
    // Both effects pin the instruction, so most rows need no look at their form.
    let form = forms.get(head.form);
    if !head.marks.contains(Marks::PINNED) || !form.effects.intersects(Effects::ASYNC | Effects::UNKNOWN) {
        return Ok(());
    }
    for (operand, slot) in function.operands_of(inst).iter().zip(forms.slots(head.form)) {
        if let Some(vreg) = operand.vreg()
            && form.may_use_later(slot)
            && !function.vregs[vreg.index()].flags.contains(VRegFlags::PINNED)
        {
            return Err(format!("{vreg:?} is used after it issues, and not pinned"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::{Built, kernel};

    fn built() -> Built {
        kernel(
            ".reg .b32 %r<9>; .reg .b64 %rd<3>; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1], {%r2}; \
             frobnicate %r4, %r5; st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r6, [%r3]; ret;",
        )
    }

    #[test]
    fn the_unbroken_function_passes() {
        let built = built();
        assert_eq!(verify(&built.function(), &built.forms), Ok(()));
        let pinned = |number| {
            built.tables.vreg_heads[built.vreg("%r", number).index()].flags.contains(VRegFlags::PINNED)
        };
        assert_eq!([1, 2, 3, 4, 5, 6].map(pinned), [false, true, false, true, true, false]);
    }

    #[test]
    fn a_register_that_lost_its_pin_is_seen() {
        for (number, row) in [(2, 0), (4, 1), (5, 1)] {
            let mut built = built();
            let vreg = built.vreg("%r", number);
            built.tables.vreg_heads[vreg.index()].flags -= VRegFlags::PINNED;
            let found = verify(&built.function(), &built.forms).unwrap_err();
            assert_eq!(found, format!("bix0 i{row}: {vreg:?} is used after it issues, and not pinned"));
        }
    }
}
