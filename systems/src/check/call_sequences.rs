//! Call sequences: what stores a call's arguments and loads its results stays with its call.
//!
//! Fast. One pass over the instructions of functions that call with `.param` variables, as read and as they are.
//!
//! The ISA wants the `st.param` and `ld.param` that pass arguments and results in the basic block of their call, with
//! nothing in between that passes others in the same variables. So:
//!
//! - Of a call that is there, every store to its arguments is there: in its block, before it, with the same variable,
//!   offset and width, under a guard only if it had one. What it stores may have become another register or a literal.
//! - A store to an argument whose call is gone is gone.
//! - A load of a result stands in the block of a call that gives it, after it. A load may be gone: nothing read it.
//!
//! # Only what is new
//! A call or load that came in otherwise stays otherwise. Calls are matched by their place in the text, so nothing is
//! said where no copy of the function as read is kept.
//!
//! Declarations need no check: variables are never deleted, and they are written at the function's start.

use super::{Verdict, each_function, wrong_at};
use ahash::{AHashMap, AHashSet};
use bevy_ecs::prelude::*;
use ptxopt_components::form::Role;
use ptxopt_components::ids::{Id, InstId, NameId};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::types::StateSpace;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::run::log::Violations;
use ptxopt_engine::run::phase::{Check, Verify};
use ptxopt_engine::store::as_read::AsRead;
use ptxopt_engine::store::columns::Code;
use ptxopt_engine::store::view::FunctionView;

/// The verifier of call sequences.
pub const CHECK: Check = Check { name: "call_sequences", from: Verify::Fast, install: |slot| slot.add(run) };

/// Verifies every function of the batch of which a copy as read is kept.
pub fn run(code: Code, forms: Res<FormTable>, as_read: Res<AsRead>, mut violations: ResMut<Violations>) {
    each_function(&code, CHECK.name, &mut violations, |function| {
        as_read.function(function.code).map_or(Ok(()), |before| verify(function, &before, &forms))
    });
}

/// Verifies one function against itself as it was read.
pub fn verify(function: &FunctionView<'_>, before: &FunctionView<'_>, forms: &FormTable) -> Verdict {
    if function.decls.is_empty() {
        return Ok(());
    }
    let passed = Passed::of(before, forms);
    if passed.arguments.is_empty() && passed.results.is_empty() {
        return Ok(());
    }
    let wanted = Sequences::of(before, forms, &passed);
    let found = Sequences::of(function, forms, &passed);
    let place = |inst: InstId| function.places[inst.index()].offset;
    let came_in: AHashMap<u32, &Vec<Store>> =
        wanted.calls.iter().map(|(call, stores)| (before.places[call.index()].offset, stores)).collect();
    for (inst, stores) in &found.calls {
        let Some(came_in) = came_in.get(&place(*inst)) else { continue };
        if let Some(store) = came_in.iter().find(|store| !stores.contains(store)) {
            let what = format_args!("the store of {:?} is not with its call", store.target);
            return wrong_at(function.heads[inst.index()].block, inst.index(), what);
        }
    }
    let strays_of = |sequences: &Sequences, view: &FunctionView<'_>| -> AHashSet<u32> {
        sequences.strays.iter().map(|inst| view.places[inst.index()].offset).collect()
    };
    let came_in = strays_of(&wanted, before);
    match found.strays.iter().find(|inst| !came_in.contains(&place(**inst))) {
        Some(inst) => wrong_at(
            function.heads[inst.index()].block,
            inst.index(),
            "it is not with the call that it passes to",
        ),
        None => Ok(()),
    }
}

/// A store to an argument.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Store {
    /// Variable and offset.
    target: Operand,
    /// Bits that it writes.
    bits: u32,
    is_guarded: bool,
}

/// The calls of a function.
#[derive(Default)]
struct Sequences {
    /// Each call with the stores to its arguments that its block has in front of it.
    calls: Vec<(InstId, Vec<Store>)>,
    /// Stores to arguments and loads of results that stand with no call.
    strays: Vec<InstId>,
}

impl Sequences {
    fn of(function: &FunctionView<'_>, forms: &FormTable, passed: &Passed) -> Self {
        let mut all = Self::default();
        for block in function.block_ids() {
            let mut waiting: Vec<(InstId, NameId, Store)> = Vec::new();
            let mut given: AHashSet<NameId> = AHashSet::new();
            for inst in function.insts_of(block) {
                let form = forms.get(function.heads[inst.index()].form);
                if form.effects.contains(Effects::CALL) {
                    let names: AHashMap<NameId, Role> = names_of(function, forms, inst).collect();
                    let is_argument = |name: &NameId| names.get(name).is_some_and(|role| *role != Role::Def);
                    let own = waiting.extract_if(.., |(_, name, _)| is_argument(name));
                    all.calls.push((inst, own.map(|(.., store)| store).collect()));
                    let results = names.iter().filter(|(_, role)| **role == Role::Def);
                    given.extend(results.map(|(name, _)| *name));
                    continue;
                }
                if form.space != StateSpace::Param {
                    continue;
                }
                let Some((target, name)) = address_of(function, forms, inst) else { continue };
                if form.effects.contains(Effects::WRITE) && passed.arguments.contains(&name) {
                    let bits = form.types[0].map_or(0, |ty| ty.bits()) * u32::from(form.lanes);
                    let is_guarded = function.heads[inst.index()].opcode.is_guarded();
                    waiting.push((inst, name, Store { target, bits, is_guarded }));
                } else if form.effects.contains(Effects::READ)
                    && passed.results.contains(&name)
                    && !given.contains(&name)
                {
                    all.strays.push(inst);
                }
            }
            all.strays.extend(waiting.into_iter().map(|(inst, ..)| inst));
        }
        all
    }
}

/// The variables of the body that calls take arguments from, and those that they leave results in.
#[derive(Default)]
struct Passed {
    arguments: AHashSet<NameId>,
    results: AHashSet<NameId>,
}

impl Passed {
    fn of(function: &FunctionView<'_>, forms: &FormTable) -> Self {
        let mut passed = Self::default();
        let declared: AHashSet<NameId> = function.decls.iter().map(|decl| decl.name).collect();
        let has_families = function.decls.iter().any(|decl| decl.is_family);
        let live =
            (0..function.heads.len()).map(InstId::new).filter(|inst| function.heads[inst.index()].is_live());
        for inst in live {
            if !forms.get(function.heads[inst.index()].form).effects.contains(Effects::CALL) {
                continue;
            }
            for (name, role) in names_of(function, forms, inst) {
                // A name may be of a family, unless it is that of a function.
                if declared.contains(&name) || has_families && role != Role::Name {
                    let is_result = role == Role::Def;
                    if is_result { &mut passed.results } else { &mut passed.arguments }.insert(name);
                }
            }
        }
        passed
    }
}

/// The names in a call, each with its role.
fn names_of<'a>(
    function: &FunctionView<'a>,
    forms: &'a FormTable,
    inst: InstId,
) -> impl Iterator<Item = (NameId, Role)> + use<'a> {
    let slots = forms.slots(function.heads[inst.index()].form);
    function.operands_of(inst).iter().zip(slots).filter_map(|(operand, slot)| match operand.kind() {
        OperandKind::Symbol(name) => Some((name, slot.role)),
        _ => None,
    })
}

/// The address of an access to a variable by its name.
fn address_of(function: &FunctionView<'_>, forms: &FormTable, inst: InstId) -> Option<(Operand, NameId)> {
    let slots = forms.slots(function.heads[inst.index()].form);
    let (operand, _) =
        function.operands_of(inst).iter().zip(slots).find(|(_, slot)| slot.role == Role::Address)?;
    match operand.kind() {
        OperandKind::Symbol(name) => Some((*operand, name)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::{Built, module};
    use ptxopt_components::code_object::CodeFlags;
    use ptxopt_components::instruction::Marks;

    /// Rows: two stores, call, load, use; after a label a store that no call takes.
    fn built() -> Built {
        let head = ".version 8.6\n.target sm_90\n.address_size 64\n.global .u32 g;\n.func (.param .b32 out) f(.param .b64 a, .param .b32 b);";
        let body = ".reg .b32 %r<9>; .reg .b64 %d<3>; .reg .pred %p<2>; \
             { .param .b64 a; .param .b32 b; .param .b32 r; st.param.b64 [a+0], %d1; st.param.b32 [b], %r1; \
             call (r), f, (a, b); ld.param.b32 %r2, [r]; } st.global.b32 [g], %r2; @%p1 bra END; \
             mov.b32 %r4, 1; END: ret;";
        module(format!("{head}\n.entry k(.param .u64 p) {{{body}}}"))
    }

    #[track_caller]
    fn reports(message: &str, damage: impl FnOnce(&mut Built)) {
        let (before, mut after) = (built(), built());
        damage(&mut after);
        match verify(&after.function(), &before.function(), &after.forms) {
            Ok(()) => assert_eq!(message, ""),
            Err(found) => assert!(!message.is_empty() && found.contains(message), "{found}"),
        }
    }

    fn delete(built: &mut Built, row: usize) {
        built.tables.inst_heads[row].marks |= Marks::TOMBSTONE;
        built.tables.code_states[0].flags |= CodeFlags::HAS_TOMBSTONES;
    }

    fn swap(built: &mut Built, a: usize, b: usize) {
        built.tables.inst_heads.swap(a, b);
        built.tables.inst_operands.swap(a, b);
        built.tables.inst_places.swap(a, b);
    }

    #[test]
    fn a_whole_sequence_passes() {
        reports("", |_| {});
    }

    #[test]
    fn a_store_that_is_gone_or_late_is_seen() {
        for row in [0, 1] {
            reports("bix0 i2: the store of", |built| delete(built, row));
        }
        reports("bix0 i1: the store of", |built| swap(built, 1, 2));
    }

    #[test]
    fn another_place_or_width_is_seen() {
        reports("the store of", |built| {
            let operands = built.tables.inst_operands[0].get_mut(2, &mut []);
            operands[0] = operands[0].with_offset(4).unwrap();
        });
        reports("the store of", |built| built.tables.inst_heads[0].form = built.tables.inst_heads[1].form);
    }

    #[test]
    fn a_store_without_its_call_is_seen() {
        reports("bix0 i3: it is not with the call", |built| delete(built, 2));
        reports("bix0 i0: it is not with the call", |built| {
            delete(built, 2);
            delete(built, 3);
        });
    }

    #[test]
    fn a_call_may_pass_arguments_or_results_alone() {
        let head = ".version 8.6\n.target sm_90\n.address_size 64\n.func f(.param .b32 a);\n.func (.param .b32 r) h();";
        let [store, call, load] = ["st.param.b32 [a], %r1;", "call f, (a);", "ld.param.b32 %r1, [r];"];
        let kernel = |body: &str| {
            module(format!(
                "{head}\n.entry k() {{ .reg .b32 %r<2>; .param .b32 a; .param .b32 r; {body} ret; }}"
            ))
        };
        let cases = [
            (format!("{store} {call}"), "bix0 i0: the store of"),
            (format!("call (r), h; {load}"), "bix0 i0: it is not with the call"),
        ];
        for (body, message) in cases {
            let (before, mut after) = (kernel(&body), kernel(&body));
            assert_eq!(verify(&after.function(), &before.function(), &after.forms), Ok(()));
            swap(&mut after, 0, 1);
            let found = verify(&after.function(), &before.function(), &after.forms).expect_err("it is wrong");
            assert!(found.contains(message), "{found}");
        }
    }

    #[test]
    fn a_load_after_no_call_is_seen_and_may_be_gone() {
        reports("", |built| delete(built, 3));
        reports("bix0 i2: it is not with the call", |built| swap(built, 2, 3));
    }
}
