//! Guard accesses: a branch around one access to memory becomes the guard of the access.
//!
//! Source phase  97 AdvancedPhasePreSched, a gate where a back end may add work of its own; it runs here before the final inspection
//! Reads         Blocks, Insts
//! Writes        branches, guards
//! Needs         control flow ends its block; no SSA form
//! Leaves        no branch around a block that nothing else leads to and that holds one plain access to memory, but for those under
//!               "What is left alone"
//! Breaks        control flow, loops, post-dominators, liveness, uniformity, definitions
//! Cost          a look at the end of each block
//! Papers        Allen, Kennedy, Porterfield and Warren 1983 (if-conversion)
//! Checked by    check/edges.rs, check/operand_types.rs; the judge
//!
//! # What it does
//! ```text
//!     @p bra L;                          @!p ld.global.f32 f1, [rd1];
//!     ld.global.f32 f1, [rd1];       L:  ...
//! L:  ...
//!
//!     @p bra L;                          @!p st.global.f32 [rd1], f1;
//!     st.global.f32 [rd1], f1;           bra L;
//!     bra L;                             ...
//!     ...
//! ```
//! The same threads execute the access, and a register that it does not write keeps what it held. Predication leaves loads alone, since a
//! value that is defined under a guard is a variable, which phases about values do not see; so this one comes after them.
//!
//! A jump after the access stays, though what it leads over might stand elsewhere now: blocks are placed by phase 89, and what that leaves are
//! the arms here.
//!
//! # What the assembler makes of it
//! `ptxas` 13.0.88 at -O3 makes the same machine code of both, since it takes such branches out by itself: with single loads under a guard,
//! 57 modules of the wild set, of faiss and of XLA have 331,592 machine instructions, as before; with single atomics 12 modules of the wild
//! set and of cuBLASLt 181,454 for 181,453 (`--bin compared`). So the gain is for those who read or run the PTX otherwise. Of arms that
//! compute it makes more: the header of [`predicate`](super::predicate) has the figures.
//!
//! # What is left alone
//! - A branch with `.uni`, which promises that all threads go one way.
//! - A jump back: of two latches of a loop one would be left.
//! - Blocks that a directive belongs to.
//! - Accesses of arguments and results of calls, for which the assembler takes no guard; volatile, ordered, asynchronous and convergent
//!   ones; those that have a guard.

use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::form::{Form, FormFlags};
use ptxopt_components::ids::{BlockId, Id, InstId};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::types::StateSpace;
use ptxopt_engine::edit::{Editor, FunctionEditor};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::store::view::FunctionView;

/// Phase 97.
pub const PHASE: Phase =
    Phase { name: "guard_accesses", breaks: Fact::OF_EDGES, install: |slot| slot.add(run), ..Phase::NOTHING };

/// Works on every function that is not in SSA form.
pub fn run(mut editor: Editor, mut scratch: Local<Scratch>) {
    editor.each(CodeFlags::WORKED_ON, |mut f| {
        // Past the bisect limit there is nothing more to do.
        let _ = guard_accesses(&mut f, &mut scratch);
    });
}

/// Memory of the phase.
#[derive(Default)]
pub struct Scratch {
    /// Blocks that a directive belongs to, sorted.
    pinned: Vec<BlockId>,
    arms: Vec<Arm>,
}

/// Works on one function. No arm is the block before another one, so all are found first.
fn guard_accesses(f: &mut FunctionEditor<'_>, scratch: &mut Scratch) -> Option<()> {
    let Scratch { pinned, arms } = scratch;
    let (function, forms) = f.view_and_forms();
    pinned.clear();
    pinned.extend(function.anchors.iter().filter(|anchor| anchor.pins_block()).map(|anchor| anchor.block));
    pinned.sort_unstable();
    arms.clear();
    arms.extend(function.block_ids().filter_map(|head| Arm::after(&function, forms, head, pinned)));
    for &Arm { branch, access, guard } in &*arms {
        let mut change = f.change_in_place(branch, "a branch around one access to memory")?;
        change.add_guard(access, guard);
        change.delete_branch(branch);
    }
    Some(())
}

/// A block that a branch leads around.
#[derive(Clone, Copy)]
struct Arm {
    branch: InstId,
    /// All that the block does.
    access: InstId,
    /// What holds where control goes through the block.
    guard: Operand,
}

impl Arm {
    /// The arm that `head` falls into unless its branch is taken.
    fn after(
        function: &FunctionView<'_>,
        forms: &FormTable,
        head: BlockId,
        pinned: &[BlockId],
    ) -> Option<Self> {
        let &[join, block] = function.succs(head) else { return None };
        if function.preds(block) != [head] || function.succs(block) != [join] || join <= block {
            return None;
        }
        let form_of = |inst: InstId| forms.get(function.heads[inst.index()].form);
        let branch = function.control_of(head)?;
        let OperandKind::Predicate { vreg, negated } = function.guard_of(branch)?.kind() else { return None };
        let leads_around = function.operands_of(branch).first()?.as_block() == Some(join)
            && !form_of(branch).flags.contains(FormFlags::UNIFORM);
        let mut insts = function.insts_of(block);
        let access = insts.next()?;
        let is_jump =
            |inst: InstId| form_of(inst).operation == Operation::Bra && function.guard_of(inst).is_none();
        let is_alone = function.guard_of(access).is_none() && insts.all(is_jump);
        let is_arm = leads_around && is_alone && is_plain_access(form_of(access));
        (is_arm && pinned.binary_search(&block).is_err()).then(|| Self {
            branch,
            access,
            guard: Operand::predicate(vreg, !negated),
        })
    }
}

/// Whether instructions of a form access memory and do nothing beside that keeps them from a guard.
fn is_plain_access(form: &Form) -> bool {
    let plain = Effects::READ | Effects::WRITE | Effects::ATOMIC | Effects::SPECULATABLE | Effects::COMMUTES;
    matches!(form.operation, Operation::Ld | Operation::St | Operation::Atom | Operation::Red)
        && form.flags.contains(FormFlags::MODELLED)
        && plain.contains(form.effects)
        && form.space != StateSpace::Param
}
