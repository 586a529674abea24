//! Def-use: where [`Fact::DefUse`] holds, the lists are those that the operands make.
//!
//! Full. The lists are built anew, and each register's are compared as sets: their order is what edits left.

use super::{Verdict, each_function};
use bevy_ecs::prelude::*;
use ptxopt_components::ids::{Id, VRegId};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::log::Violations;
use ptxopt_engine::run::phase::{Check, Verify};
use ptxopt_engine::store::columns::{Code, CodeObjects};
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::def_use::{DefUse, DefUses, OperandRef};

/// The verifier of def-use.
pub const CHECK: Check = Check { name: "def_use", from: Verify::Full, install: |slot| slot.add(run) };

/// Verifies every function of the batch for which the fact holds.
pub fn run(
    code: Code,
    codes: CodeObjects,
    lists: Res<DefUses>,
    mut rebuilt: Local<DefUse>,
    mut violations: ResMut<Violations>,
) {
    let (_, facts, ..) = codes.columns();
    each_function(&code, CHECK.name, &mut violations, |function| {
        let holds = facts[function.code.index()].holds(Fact::DefUse, &function.state);
        match lists.get(function.code).filter(|_| holds) {
            Some(kept) => verify(function, kept, &mut rebuilt),
            None => Ok(()),
        }
    });
}

/// Verifies the lists of one function.
pub fn verify(function: &FunctionView<'_>, kept: &DefUse, rebuilt: &mut DefUse) -> Verdict {
    rebuilt.build(function);
    for vreg in function.vreg_ids() {
        let (kept, wanted) = (sorted(kept, vreg), sorted(rebuilt, vreg));
        if kept != wanted {
            return Err(format!("{vreg:?} is defined and read by {wanted:?}, and its lists hold {kept:?}"));
        }
    }
    Ok(())
}

/// Definitions and uses of a register, each in the order of the instructions.
fn sorted(lists: &DefUse, vreg: VRegId) -> [Vec<OperandRef>; 2] {
    let mut both = [lists.defs(vreg).collect::<Vec<_>>(), lists.uses(vreg).collect()];
    both.iter_mut().for_each(|list| list.sort_unstable());
    both
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::kernel;
    use ptxopt_components::operand::Operand;

    #[test]
    fn lists_are_those_of_the_operands() {
        let mut built =
            kernel(".reg .b32 %r<4>; mov.u32 %r1, 1; add.u32 %r2, %r1, %r1; add.u32 %r3, %r2, %r1; ret;");
        let mut kept = DefUse::default();
        kept.build(&built.function());
        assert_eq!(verify(&built.function(), &kept, &mut DefUse::default()), Ok(()));
        let (r1, r2) = (built.vreg("%r", 1), built.vreg("%r", 2));
        let operands = built.tables.inst_operands[2].get_mut(3, &mut []);
        operands[2] = Operand::register(r2);
        let found =
            verify(&built.function(), &kept, &mut DefUse::default()).expect_err("one use is another's");
        assert!(found.starts_with(&format!("{r1:?} is defined and read by")), "{found}");
    }
}
