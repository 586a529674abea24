//! Reassociation: sums and products of integers in the order in which most of them is known already.
//!
//! Source phase  50 OriReassociateAndCommon (copy-prop-and-cse, "Phase 50")
//! Reads         Blocks, Insts, VRegs, Fact::ControlFlow
//! Writes        instructions that are inserted, rewritten and deleted
//! Needs         SSA form; control-flow facts; instruction ids in program order
//! Leaves        no tree of sums with two constants; in the block of a tree, no two of its leaves that another instruction
//!               before it joins
//! Breaks        liveness, uniformity, definitions, program order
//! Cost          a pass over all operands; where there is a tree, a few look-ups in hash tables each
//! Papers        Briggs and Cooper 1994, "Effective partial redundancy elimination" (ranks); Muchnick 1997, 12.3
//! Checked by    check/ssa.rs, check/operand_types.rs; reassociate/tests.rs on the emulator; the judge
//!
//! # How it works
//! Instructions of one operation that read each other, in one block, each result read once, are a *tree* (`trees`); its
//! *leaves* are what it is computed from. The order in which they are joined is free: integers of one width are added,
//! multiplied, and joined bit by bit in any order. A difference is a sum with a negative leaf. Constants are one.
//!
//! ```text
//! add.s32 r3, r1, 4;                 add.s32 r7, r1, r2;
//! add.s32 r4, r3, r2;                add.s32 r4, r7, 4;
//! add.s32 r5, r1, 8;           ->    add.s32 r6, r7, 8;
//! add.s32 r6, r5, r2;
//! ```
//! Trees are visited in program order. Two leaves that an instruction before the tree has joined are one leaf; then
//! two that most trees of the rest of the block have are joined first; what is left is joined in the order of before. The
//! constant comes last (`choice`).
//!
//! `a*b + a*c` becomes `a*(b + c)` where the two products are read nowhere else (`products`).
//!
//! # The cost rule
//! A tree is changed if it takes fewer instructions then; or as many, and
//! - another tree of the block can read what it joins first,
//! - or the constant comes last of an address of 64 bits, whose accesses take it as their offset,
//! - or leaves that do not change in the innermost loop are joined first, so that their sum leaves it.
//!
//! # Why at -O3 alone
//! On real modules it takes out 6 of 10,000 instructions and costs as much time as value numbering's own walk (docs/PERFORMANCE.md).
//!
//! # What is no tree
//! Floats; what saturates, takes or gives a carry; high and wide products; what has a guard; what reads or writes a variable;
//! results that are read twice: computing them again would cost an instruction.
//!
//! # Where this differs from the source
//! There every tree is rebuilt with its leaves in the order of their numbers, so that equal prefixes become equal: here
//! trees stay where that gains nothing, as it would move what is computed away from where it is needed. Equality of
//! leaves is that of registers, since value numbering ran before. A difference becomes a sum without an instruction that
//! negates.

mod choice;
mod products;
#[cfg(test)]
mod tests;
mod trees;

use super::general_optimize::constants::operand as constant_operand;
use crate::ssa::moves::move_form;
use crate::ssa::origins::{Origins, OriginsOf};
use bevy_ecs::prelude::*;
use choice::{Choice, Final, Other, Rewrite};
use ptxopt_components::code_object::{CodeFlags, Room};
use ptxopt_components::description::Description;
use ptxopt_components::form::shape;
use ptxopt_components::ids::{FormId, Id, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Part, Qualifiers};
use ptxopt_components::types::PtxType;
use ptxopt_engine::edit::{Change, Editor, FunctionEditor};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::values::reaching::ReachingValues;
use trees::{Trees, Value};

/// Phase 50.
pub const PHASE: Phase = Phase {
    name: "reassociate",
    needs: &[Fact::ProgramOrder, Fact::ControlFlow],
    in_ssa: true,
    breaks: Fact::OF_INSTRUCTIONS_AND_ORDER,
    room_percent: 10,
    install: |slot| {
        slot.init_resource::<Settings>();
        slot.init_resource::<Origins>();
        slot.add(run);
    },
    ..Phase::NOTHING
};

/// How much is reassociated.
#[derive(Resource, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Most instructions that are looked at in a function.
    pub insts_max: u32,
    /// Instructions at the start of a function that are left alone.
    pub insts_skipped: u32,
    /// How many instructions back a sum is looked for.
    pub window: u32,
    /// Most rewrites of `a*b + a*c` in a function.
    pub products_max: u32,
    /// Sums of 64 bits with constants that 32 bits do not hold take part.
    pub takes_large_constants: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            insts_max: 1 << 20,
            insts_skipped: 0,
            // What is read again so much later has cost a register in between.
            window: 1024,
            products_max: 1024,
            takes_large_constants: false,
        }
    }
}

/// Works on every function in SSA form.
pub fn run(
    mut editor: Editor,
    settings: Res<Settings>,
    origins: Res<Origins>,
    mut values: ResMut<ReachingValues>,
    mut scratch: Local<Scratch>,
) {
    editor.each(CodeFlags::WORKED_ON_IN_SSA, |mut f| {
        let origins = origins.get(f.code()).unwrap_or(OriginsOf::NONE);
        // It ends early where the bisect limit is reached.
        let _ = reassociate(&mut f, *settings, origins, &mut values, &mut scratch);
    });
}

/// Memory of the phase.
#[derive(Default)]
pub struct Scratch {
    trees: Trees,
    choice: Choice,
    /// By number of a planned instruction: its result.
    made: Vec<VRegId>,
}

/// Works on one function; gives nothing where the bisect limit is reached.
fn reassociate(
    f: &mut FunctionEditor<'_>,
    settings: Settings,
    origins: &OriginsOf,
    values: &mut ReachingValues,
    scratch: &mut Scratch,
) -> Option<()> {
    let Scratch { trees, choice, made } = scratch;
    let (function, forms) = f.view_and_forms();
    if !trees.count(&function, forms) {
        return Some(());
    }
    let reaching = values.of(f);
    let (function, forms) = f.view_and_forms();
    trees.find(&function, forms, reaching);
    choice.choose(&function, trees, reaching, origins, settings);
    let limit_hits = trees.limit_hits + choice.limit_hits;
    f.stats().limits_hit += limit_hits;
    made.clear();
    for rewrite in &choice.rewrites {
        apply(f, trees, choice, rewrite, made)?;
    }
    Some(())
}

/// Puts what was chosen in the place of a tree.
fn apply(
    f: &mut FunctionEditor<'_>,
    trees: &Trees,
    choice: &Choice,
    rewrite: &Rewrite,
    made: &mut Vec<VRegId>,
) -> Option<()> {
    let tree = &trees.all[rewrite.tree];
    let result = f.operands_of(tree.root)[0].vreg().expect("a root has a result");
    let joins = &choice.joins[rewrite.joins.range()];
    let count = joins.len() as u32;
    let offset = f.offset_of(tree.root);
    let room = Room { insts: count, blocks: 0, vregs: count };
    let mut change = f.change_with_room(offset, rewrite.gain.reason(), room)?;
    let register = |made: &[VRegId], value: Value| match value {
        Value::Register(vreg) => vreg,
        Value::Planned(number) => made[number as usize],
    };
    for (position, join) in joins.iter().enumerate() {
        let is_root = rewrite.is == Final::Joined && position + 1 == joins.len();
        let to = if is_root { result } else { change.new_vreg_like(result) };
        made.push(to);
        let form = form_of(&mut change, join.operation, tree.ty);
        let mut other = |other: Other| match other {
            Other::Value(value) => Operand::register(register(made, value)),
            Other::Constant(bits) => constant_operand(&mut change, bits, literal_type(tree.ty)),
        };
        let operands = [Operand::register(to), other(join.one), other(join.other)];
        if is_root {
            change.set_form(tree.root, form, &operands);
        } else {
            change.insert_before(tree.root, form, &operands, None);
        }
    }
    let moved = match rewrite.is {
        Final::Joined => None,
        Final::Value(value) => Some(Operand::register(register(made, value))),
        Final::Constant(bits) => Some(constant_operand(&mut change, bits, literal_type(tree.ty))),
    };
    if let Some(moved) = moved {
        let ty = change.function().vregs[result.index()].ty.element();
        let form = move_form(change.forms(), ty);
        change.set_form(tree.root, form, &[Operand::register(result), moved]);
    }
    for &inst in &trees.inner[tree.inner.range()] {
        change.delete(inst);
    }
    for &inst in &choice.products[rewrite.products.range()] {
        change.delete(inst);
    }
    Some(())
}

/// The form that joins two values of the type of a tree.
fn form_of(change: &mut Change<'_, '_>, operation: Operation, ty: PtxType) -> FormId {
    let part = (operation == Operation::Mul).then_some(Part::Low);
    let description = Description::new(operation, Qualifiers { part, ..Qualifiers::default() }, &[ty]);
    change.forms().build(&description, shape::plain(3)).expect("the operation takes the type")
}

/// The type in which a negative constant is short.
fn literal_type(ty: PtxType) -> PtxType {
    match ty.bits() {
        16 => PtxType::S16,
        32 => PtxType::S32,
        _ => PtxType::S64,
    }
}
