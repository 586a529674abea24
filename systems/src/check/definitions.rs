//! Definitions: where [`Fact::Definitions`] holds, they are those of the live instructions.
//!
//! Full. They are collected anew and compared register by register. In SSA form the kept ones may hold, beside those, values
//! that are gone.

use super::{Verdict, each_function};
use bevy_ecs::prelude::*;
use ptxopt_components::ids::Id;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::log::Violations;
use ptxopt_engine::run::phase::{Check, Verify};
use ptxopt_engine::store::columns::{Code, CodeObjects};
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::definitions::{Defined, Definition, Definitions};
use ptxopt_engine::values::reaching::ReachingValues;

/// The verifier of definitions.
pub const CHECK: Check = Check { name: "definitions", from: Verify::Full, install: |slot| slot.add(run) };

/// Verifies every function of the batch for which the fact holds.
pub fn run(
    code: Code,
    codes: CodeObjects,
    values: Res<ReachingValues>,
    mut collected: Local<Definitions>,
    mut violations: ResMut<Violations>,
) {
    let (_, facts, ..) = codes.columns();
    each_function(&code, CHECK.name, &mut violations, |function| {
        let holds = facts[function.code.index()].holds(Fact::Definitions, &function.state);
        match values.get(function.code).filter(|_| holds) {
            Some(kept) => verify(function, kept.definitions(), &mut collected),
            None => Ok(()),
        }
    });
}

/// Verifies the definitions of one function.
pub fn verify(function: &FunctionView<'_>, kept: &Definitions, collected: &mut Definitions) -> Verdict {
    collected.collect(function);
    for vreg in function.vreg_ids() {
        let is_live = |definition: &&Definition| function.heads[definition.inst().index()].is_live();
        let living: Vec<Definition> = kept.of(vreg).iter().filter(is_live).copied().collect();
        let (wanted, is_gone) = (collected.of(vreg), kept.of(vreg).len() > living.len());
        let is_value_gone = wanted.is_empty() && kept.of(vreg).len() == 1;
        if living != wanted || is_gone && !is_value_gone {
            return Err(format!("{vreg:?} is defined by {wanted:?}, and {:?} is kept", kept.of(vreg)));
        }
        if let (Defined::Once(_, block), false) = (kept.defined(vreg), is_gone)
            && kept.defined(vreg) != collected.defined(vreg)
        {
            return Err(format!("{vreg:?} is not defined in {block:?}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::{Built, kernel};
    use ptxopt_components::instruction::{Marks, OpcodeWord};
    use ptxopt_components::operand::Operand;

    fn built() -> Built {
        kernel(".reg .b32 %r<4>; mov.u32 %r1, 1; mov.u32 %r2, 2; mov.u32 %r2, 3; add.u32 %r3, %r2, %r1; ret;")
    }

    /// What is found after `change`.
    fn verdict(change: impl FnOnce(&mut Built)) -> Verdict {
        let mut built = built();
        let mut kept = Definitions::default();
        kept.collect(&built.function());
        change(&mut built);
        verify(&built.function(), &kept, &mut Definitions::default())
    }

    #[test]
    fn definitions_are_those_of_the_instructions() {
        assert_eq!(verdict(|_| ()), Ok(()));
        let other = verdict(|built| {
            let r3 = built.vreg("%r", 3);
            built.tables.inst_operands[0].get_mut(2, &mut [])[0] = Operand::register(r3).as_definition(false);
        });
        assert!(other.unwrap_err().contains("is defined by []"));
        let guarded = verdict(|built| {
            let root = built.tables.inst_heads[0].opcode.root();
            built.tables.inst_heads[0].opcode = OpcodeWord::new(root, true);
        });
        assert!(guarded.unwrap_err().contains("is kept"), "the value before lives on");
    }

    #[test]
    fn a_value_may_be_gone_and_one_of_several_definitions_may_not() {
        let delete =
            |inst: usize| move |built: &mut Built| built.tables.inst_heads[inst].marks |= Marks::TOMBSTONE;
        assert_eq!(verdict(delete(0)), Ok(()));
        assert!(verdict(delete(1)).unwrap_err().contains("is kept"));
    }

    #[test]
    fn a_definition_is_in_its_block() {
        let moved = verdict(|built| built.tables.inst_heads[0].block.0 += 1);
        assert!(moved.unwrap_err().contains("is not defined in"));
    }
}
