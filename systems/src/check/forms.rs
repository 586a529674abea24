//! Forms: every instruction is what its form says.
//!
//! Fast. One pass over the live instructions and their operands, where the [first look](super::first_look) does not settle
//! them.
//!
//! - The opcode word holds the form's root; its guard bit is set exactly when the last operand is a guard.
//! - The operands are one for each slot of the form, the carry register where the form reads or writes it, the guard.
//! - An operand is a definition exactly where its slot is written, and also read exactly where its slot says so.
//! - The marks KEPT, CONTROL, CONVERGENT and PINNED are those of the form's effects.
//! - Where the form is modelled: a sink, a literal, a negated predicate stands only where the slot takes one, and a
//!   predicate register exactly where the slot's type is `pred`.
//!
//! # What is not checked
//! Operands of an address, whose slots say nothing of what else they take; types beside `pred`, as real code reads
//! `.b32` registers in `.u32`, `.f32` and half slots alike; the class of what stands in a slot without a type.
//!
//! Nor literals in a vector whose slot has no type: [`Slot::takes`] says why.

use super::first_look::Passed;
use super::{Verdict, each_function, each_inst};
use bevy_ecs::prelude::*;
use ptxopt_components::form::{Form, FormFlags, Kinds, Role, Slot};
use ptxopt_components::ids::{Id, InstId};
use ptxopt_components::instruction::{InstHead, Marks, OpcodeWord};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::types::PtxType;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::run::log::Violations;
use ptxopt_engine::run::phase::{Check, Verify};
use ptxopt_engine::store::columns::Code;
use ptxopt_engine::store::view::FunctionView;

/// The verifier of forms.
pub const CHECK: Check = Check { name: "forms", from: Verify::Fast, install: |slot| slot.add(run) };

/// Verifies every function of the batch.
pub fn run(code: Code, forms: Res<FormTable>, passed: Res<Passed>, mut violations: ResMut<Violations>) {
    each_function(&code, CHECK.name, &mut violations, |function| {
        if passed.has(function.code) { Ok(()) } else { verify(function, &forms) }
    });
}

/// Effects of which the instruction reads or writes the carry register.
const CARRIES: Effects = Effects::CARRY_IN.union(Effects::CARRY_OUT);

/// The marks that follow from effects: each is set exactly when the form has one of these.
const MARKS: [(Marks, Effects); 4] = [
    (Marks::KEPT, Effects::KEEPS),
    (Marks::CONTROL, Effects::CONTROL),
    (Marks::CONVERGENT, Effects::CONVERGENT),
    (Marks::PINNED, Effects::PINNED.union(Effects::ASYNC).union(Effects::UNKNOWN)),
];

/// Verifies one function.
pub fn verify(function: &FunctionView<'_>, forms: &FormTable) -> Verdict {
    each_inst(function, |inst| verify_inst(function, forms, inst))
}

/// Verifies one instruction, whose operands are known to exist.
pub(super) fn verify_inst(function: &FunctionView<'_>, forms: &FormTable, inst: InstId) -> Verdict {
    let head = &function.heads[inst.index()];
    if head.form.index() >= forms.len() {
        return Err(format!("{:?} does not exist", head.form));
    }
    verify_known(function, forms, inst, head).map_err(|what| {
        let mnemonic = String::from_utf8_lossy(forms.mnemonic_text(head.form));
        format!("`{mnemonic}`: {what}")
    })
}

fn verify_known(function: &FunctionView<'_>, forms: &FormTable, inst: InstId, head: &InstHead) -> Verdict {
    let (form, slots) = (forms.get(head.form), forms.slots(head.form));
    let is_guarded = head.opcode.is_guarded();
    if head.opcode != OpcodeWord::new(form.root, is_guarded) {
        return Err(format!("its opcode word is {:#x}, its form's root {:#x}", head.opcode.0, form.root));
    }
    verify_marks(head, form, slots)?;
    let operands = function.operands_of(inst);
    let hidden_count = usize::from(form.effects.intersects(CARRIES));
    let wanted = slots.len() + hidden_count + usize::from(is_guarded);
    if operands.len() != wanted {
        return Err(format!("it has {} operands, not {wanted}", operands.len()));
    }
    let is_modelled = form.flags.contains(FormFlags::MODELLED);
    for (at, (operand, slot)) in operands.iter().zip(slots).enumerate() {
        if let Err(what) = verify_operand(*operand, slot, is_modelled) {
            return Err(format!("operand {at}, {operand}, {what}"));
        }
    }
    if hidden_count > 0 {
        verify_carry(function, operands[slots.len()], form.effects)?;
    }
    match operands.last() {
        Some(guard) if is_guarded => verify_guard(*guard),
        _ => Ok(()),
    }
}

fn verify_marks(head: &InstHead, form: &Form, slots: &[Slot]) -> Verdict {
    let wanted = marks_of(form, slots);
    let wrong = (head.marks & MARKS_OF_FORMS) ^ wanted;
    match wrong.iter().next() {
        None => Ok(()),
        Some(mark) => {
            let is_set = head.marks.contains(mark);
            Err(format!("{mark:?} is {}, against its form", if is_set { "set" } else { "not set" }))
        }
    }
}

/// Every mark that follows from the form.
pub(super) const MARKS_OF_FORMS: Marks =
    MARKS[0].0.union(MARKS[1].0).union(MARKS[2].0).union(MARKS[3].0).union(Marks::MORE_RESULTS);

/// The marks that follow from a form.
pub(super) fn marks_of(form: &Form, slots: &[Slot]) -> Marks {
    let is_set = |(_, effects): &(Marks, Effects)| form.effects.intersects(*effects);
    let of_effects = MARKS.into_iter().filter(is_set).fold(Marks::empty(), |all, (mark, _)| all | mark);
    let last_result = slots.iter().rposition(|slot| matches!(slot.role, Role::Def | Role::DefUse));
    let has_more = last_result.is_some_and(|at| at > 0) || form.effects.contains(Effects::CARRY_OUT);
    if has_more { of_effects | Marks::MORE_RESULTS } else { of_effects }
}

/// Verifies that an operand may stand in a slot. Its id and payload do not matter.
pub(super) fn verify_operand(operand: Operand, slot: &Slot, is_modelled: bool) -> Verdict {
    verify_role(operand, slot.role)?;
    if is_modelled { verify_slot(operand, slot) } else { Ok(()) }
}

/// Verifies the definition bits of an operand. What is no register is never a definition.
fn verify_role(operand: Operand, role: Role) -> Verdict {
    let is_register = operand.vreg().is_some();
    let is_written = is_register && matches!(role, Role::Def | Role::DefUse);
    let is_read = !is_written || role == Role::DefUse;
    if (operand.is_definition(), operand.is_use()) == (is_written, is_read) {
        return Ok(());
    }
    let wanted = match role {
        Role::Use => "a source",
        Role::Def => "a result",
        Role::DefUse => "a result that is read too",
        Role::Address => "an address",
        Role::Target => "a branch target",
        Role::Name => "a name",
    };
    Err(format!("stands where its form has {wanted}"))
}

/// Verifies that a slot of a modelled form takes the operand.
fn verify_slot(operand: Operand, slot: &Slot) -> Verdict {
    let kinds = operand.kinds();
    if slot.takes().contains(kinds) {
        return Ok(());
    }
    if kinds == Kinds::BLOCK || slot.role == Role::Target {
        return Err("is a block, or stands where one is wanted".to_owned());
    }
    let is_predicate = kinds.intersects(Kinds::PREDICATE | Kinds::NEGATED);
    let what = match slot.ty {
        _ if kinds == Kinds::SINK && slot.in_vector => "the sink `_` as an element",
        _ if kinds == Kinds::SINK => "the sink `_`",
        _ if kinds == Kinds::NUMBER => "a number",
        _ if kinds == Kinds::SYMBOL => "a symbol",
        Some(ty) if (ty == PtxType::Pred) != is_predicate => {
            return Err(format!("stands where the type is {}", ty.name()));
        }
        _ => "a negated predicate",
    };
    Err(format!("stands where {what} is not accepted"))
}

fn verify_carry(function: &FunctionView<'_>, operand: Operand, effects: Effects) -> Verdict {
    let is_carry =
        operand.vreg().is_some_and(|vreg| function.vregs[vreg.index()].flags.contains(VRegFlags::CARRY));
    let is_written = effects.contains(Effects::CARRY_OUT);
    let is_read = effects.contains(Effects::CARRY_IN);
    if is_carry && (operand.is_definition(), operand.is_use()) == (is_written, is_read) {
        return Ok(());
    }
    Err(format!("{operand} stands where its form reads or writes the carry register"))
}

/// Verifies that an operand is a guard.
pub(super) fn verify_guard(guard: Operand) -> Verdict {
    if matches!(guard.kind(), OperandKind::Predicate { .. }) && !guard.is_definition() {
        return Ok(());
    }
    Err(format!("its guard is {guard}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::{Built, kernel};
    use ptxopt_components::ids::{BlockId, FormId, VRegId};

    /// One block: add, guarded setp with a pair, load with a sink, carry chain, store of a literal, ret.
    fn built() -> Built {
        kernel(
            ".reg .b32 %r<9>; .reg .pred %p<4>; .reg .b64 %rd<2>; add.s32 %r1, %r2, 3; \
             @!%p1 setp.lt.and.s32 %p2|%p3, %r1, %r2, !%p1; ld.global.v2.b32 {%r1, _}, [%rd1]; \
             add.cc.u32 %r1, %r2, %r3; addc.cc.u32 %r1, %r2, %r3; addc.u32 %r1, %r2, %r3; \
             st.global.v2.b32 [%rd1], {7, %r1}; selp.b32 %r4, %r1, %r2, %p2; ret;",
        )
    }

    fn verdict(built: &Built) -> Verdict {
        verify(&built.function(), &built.forms)
    }

    #[track_caller]
    fn reports(message: &str, damage: impl FnOnce(&mut Built)) {
        let mut built = built();
        damage(&mut built);
        let found = verdict(&built).expect_err("nothing was found");
        assert!(found.contains(message), "{found}");
    }

    /// Changes an operand of an instruction.
    fn change(built: &mut Built, inst: usize, slot: usize, change: impl FnOnce(Operand) -> Operand) {
        let count = built.tables.inst_heads[inst].operand_count;
        let operands = built.tables.inst_operands[inst].get_mut(count, &mut built.tables.pools.operands);
        operands[slot] = change(operands[slot]);
    }

    fn puts(inst: usize, slot: usize, operand: Operand) -> impl FnOnce(&mut Built) {
        move |built| change(built, inst, slot, |_| operand)
    }

    #[test]
    fn the_unbroken_function_passes() {
        assert_eq!(verdict(&built()), Ok(()));
    }

    #[test]
    fn the_opcode_word_is_that_of_the_form() {
        reports("bix0 i0: form9999 does not exist", |built| built.tables.inst_heads[0].form = FormId(9999));
        reports("`add.s32`: its opcode word is", |built| {
            let other = built.tables.inst_heads[8].opcode;
            built.tables.inst_heads[0].opcode = other;
        });
    }

    #[test]
    fn a_guard_is_a_predicate_after_the_slots() {
        let set_guarded = |built: &mut Built, inst: usize, guarded: bool| {
            let head = &mut built.tables.inst_heads[inst];
            head.opcode = OpcodeWord::new(head.opcode.masked() as u16, guarded);
        };
        reports("`add.s32`: it has 3 operands, not 4", |built| set_guarded(built, 0, true));
        reports("`setp.lt.and.s32`: it has 6 operands, not 5", |built| set_guarded(built, 1, false));
        reports("its guard is register v0", |built| change(built, 1, 5, |_| Operand::register(VRegId(0))));
        reports("its guard is negated predicate v2, written", |built| {
            change(built, 1, 5, |guard| guard.as_definition(false))
        });
    }

    #[test]
    fn operands_are_as_many_as_slots() {
        reports("`add.s32`: it has 2 operands, not 3", |built| built.tables.inst_heads[0].operand_count = 2);
    }

    #[test]
    fn definitions_stand_where_the_form_writes() {
        reports("stands where its form has a source", |built| {
            change(built, 0, 1, |o| o.as_definition(false))
        });
        reports("stands where its form has a result", |built| change(built, 0, 0, |o| o.as_definition(true)));
        reports("stands where its form has an address", |built| {
            change(built, 2, 2, |o| o.as_definition(false))
        });
        reports("stands where its form has a result", |built| {
            change(built, 0, 0, |operand| Operand::register(operand.vreg().unwrap()));
        });
        reports("stands where its form has a result", puts(2, 1, Operand::sink().as_definition(false)));
    }

    #[test]
    fn the_carry_register_is_named_where_the_form_says() {
        let carry = built().tables.inst_operands[3].get(4, &[])[3].vreg().unwrap();
        reports("carry register", puts(3, 3, Operand::register(VRegId(0)).as_definition(false)));
        reports("carry register", puts(3, 3, Operand::register(carry)));
        reports("carry register", puts(4, 3, Operand::register(carry).as_definition(false)));
        reports("carry register", puts(5, 3, Operand::register(carry).as_definition(true)));
        reports("it has 3 operands, not 4", |built| built.tables.inst_heads[3].operand_count = 3);
    }

    #[test]
    fn marks_follow_from_effects() {
        for (mark, name) in [
            (Marks::KEPT, "KEPT"),
            (Marks::CONTROL, "CONTROL"),
            (Marks::CONVERGENT, "CONVERGENT"),
            (Marks::PINNED, "PINNED"),
            (Marks::MORE_RESULTS, "MORE_RESULTS"),
        ] {
            reports(&format!("`add.s32`: Marks({name}) is set"), |built| {
                built.tables.inst_heads[0].marks |= mark
            });
        }
        reports("`ret`: Marks(CONTROL) is not set", |built| {
            built.tables.inst_heads[8].marks -= Marks::CONTROL
        });
        let mut built = built();
        built.tables.inst_heads[0].marks |= Marks::UNIFORM;
        assert_eq!(verdict(&built), Ok(()));
    }

    #[test]
    fn slots_take_only_what_they_accept() {
        reports("stands where the sink `_` is not accepted", puts(0, 0, Operand::sink()));
        reports("stands where the sink `_` as an element is not accepted", |built| {
            *built =
                kernel(".reg .b32 %r<3>; stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r1], {%r1, %r2}; ret;");
            change(built, 0, 1, |_| Operand::sink());
        });
        reports("stands where a number is not accepted", puts(0, 0, Operand::int(1)));
        reports("stands where a number is not accepted", |built| {
            *built =
                kernel(".reg .b32 %r<3>; stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r1], {%r1, %r2}; ret;");
            change(built, 0, 1, |_| Operand::int(0));
        });
        reports("stands where a negated predicate is not accepted", |built| {
            let predicate = built.vreg("%p", 1);
            change(built, 1, 0, |_| Operand::predicate(predicate, true).as_definition(false));
        });
        reports("stands where one is wanted", puts(0, 1, Operand::block(BlockId(0))));
    }

    #[test]
    fn predicates_stand_where_the_type_is_pred() {
        let (register, predicate) = (built().vreg("%r", 1), built().vreg("%p", 1));
        reports("stands where the type is s32", puts(0, 1, Operand::predicate(predicate, false)));
        reports("stands where the type is pred", puts(7, 3, Operand::register(register)));
    }

    #[test]
    fn what_is_not_modelled_takes_anything_and_writes_all() {
        let mut built = kernel(".reg .b32 %r<3>; frobnicate %r1, _, 7; ret;");
        assert_eq!(verdict(&built), Ok(()));
        change(&mut built, 0, 0, |operand| Operand::register(operand.vreg().unwrap()));
        assert!(verdict(&built).unwrap_err().contains("stands where its form has a result that is read too"));
    }
}
