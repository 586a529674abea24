//! Optimize switches: decides branches by tables and the tests around them, and makes tests of tables with two targets.
//!
//! Source phase  30 DoSwitchOptSecond, which finds all that 14 would (analyze-control-flow names
//!               them with OriBranchOpt; they have no document of their own)
//! Reads         Blocks, Insts, Fact::ControlFlow
//! Writes        branches, guards, blocks
//! Needs         control flow ends its block; control-flow facts; instruction ids in program order
//! Leaves        in functions with branches by tables, no guard and no index that the tests on all ways to it decide, as far as
//!               they compare integers with constants; no unreachable block
//! Breaks        control flow, loops, post-dominators, liveness, uniformity, definitions, program order; leaves `setp`s without a
//!               reader behind for dead-code elimination
//! Cost          a comparison where the function has no table; else a pass that lists definitions, where they are not known, and
//!               a walk over guarded instructions
//! Checked by    check/edges.rs, check/control_flow.rs, check/tables.rs
//!
//! # Chains of tests
//! Front ends write a `switch` as a chain of tests or as a table after a test of its range, and an optimizer that has
//! inlined functions leaves several about one number:
//! ```text
//!     setp.eq.s32 p, x, 3; @p bra A;      // here x is not 3
//!     setp.gt.u32 q, x, 7; @q bra B;      // here x is 0 to 7, but not 3
//!     setp.eq.s32 r, x, 3; @r bra C;      // never taken
//!     setp.lt.s32 s, x, 8; @s bra D;      // always taken
//! ```
//! Each block knows the bounds of a number, and numbers that it is not, from the edges that dominate it
//! ([`conditions`](super::conditions)). At the target of an indexed branch the index is known as well, where the table
//! lists the target.
//!
//! # Branches by a table
//! An index that is a constant makes one direct. That of one with two targets becomes a test where that costs nothing: where
//! the test of the range before it leads to one of them.
//! ```text
//!     setp.gt.u32 p, x, 2; @p bra B;
//!     brx.idx x, {B, A, B};               setp.eq.u32 q, x, 1; @q bra A;
//!     B: ...                              B: ...
//! ```
//!
//! # What is left alone
//! - Functions without tables. [Phase 38](super::nested_branches) knows all this and more: to do it twice took 3 % of all phases and
//!   changed no byte of any module of the wild set.
//! - Making tables. A front end that writes a chain knows why: a table costs a load and an indirect jump, which pays for
//!   long, dense chains only, and threads that would have met after a short chain go apart at once.
//! - Other sources of bounds: masks, special registers, narrow loads.
//! - Tables whose two targets no single comparison tells apart.

use super::conditions::comparison::{Order, Outcomes, Test};
use super::conditions::{Conditions, Learns, Memory};
use super::guards;
use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::description::Description;
use ptxopt_components::form::shape;
use ptxopt_components::ids::{BlockId, FormId, Id, InstId};
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Comparison, Qualifiers};
use ptxopt_components::types::PtxType;
use ptxopt_engine::edit::{Editor, FunctionEditor};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::values::reaching::{Reaching, ReachingValues};

/// Phase 30.
pub const PHASE: Phase = Phase {
    name: "optimize_switches",
    needs: &[Fact::ProgramOrder, Fact::ControlFlow],
    breaks: Fact::OF_EDGES_AND_ORDER,
    install: |slot| slot.add(run),
    ..Phase::NOTHING
};

/// Works on every function.
pub fn run(
    mut editor: Editor,
    mut values: ResMut<ReachingValues>,
    mut memory: Local<Memory>,
    mut choices: Local<Vec<Choice>>,
) {
    editor.each(CodeFlags::WORKED_ON, |mut f| {
        if f.view().tables.is_empty() {
            return;
        }
        choices.clear();
        // Without fuel there is nothing more to do; what was done stands.
        let reaching = values.of(&mut f);
        let _ = optimize(&mut f, reaching, &mut memory, &mut choices);
        let _ = guards::delete_unreachable(&mut f);
    });
}

fn optimize(
    f: &mut FunctionEditor<'_>,
    reaching: &mut Reaching,
    memory: &mut Memory,
    choices: &mut Vec<Choice>,
) -> Option<()> {
    let mut conditions = Conditions::start(memory, reaching, &f.view(), Learns::Numbers);
    for at in 0..conditions.preorder().len() {
        let block = conditions.preorder()[at];
        conditions.enter(f, block);
        guards::settle_block(f, &mut conditions, block)?;
        choices.extend(choice_after(f, &mut conditions, block));
    }
    f.stats().limits_hit += u64::from(conditions.has_missed_an_index());
    // New instructions end the program order that the conditions rely on.
    // The walk may have decided a branch after it was found, but no test of a range: that was decided before.
    for choice in choices.iter() {
        if is_indexed(f, choice.branch) {
            make_test(f, choice)?;
        }
    }
    Some(())
}

/// An indexed branch that a comparison may replace.
pub struct Choice {
    /// The test of the range before it, which goes.
    range_test: InstId,
    branch: InstId,
    index: Operand,
    /// What the index is compared with, and how.
    comparison: Comparison,
    constant: u64,
    /// Where control goes if the comparison is true.
    to: BlockId,
    /// Whether control falls through there: then the branch is taken to `otherwise` if the comparison is false.
    falls: bool,
    /// Where control goes otherwise.
    otherwise: BlockId,
}

/// The indexed branch that is all of the block after `before`, if its table has two targets that one comparison tells apart, and the
/// branch at the end of `before` leads to one of them where the index is out of range. What is asked of that way is asked with what
/// `before` knows: in the block after it, the opposite of the branch is known as well, from which anything follows.
fn choice_after(f: &FunctionEditor<'_>, conditions: &mut Conditions<'_>, before: BlockId) -> Option<Choice> {
    let function = f.view();
    let range_test = function.insts_of(before).next_back()?;
    let &[otherwise, _] = f.operands_of(range_test) else { return None };
    let otherwise = otherwise.as_block().filter(|_| f.form_of(range_test).operation == Operation::Bra)?;
    let block = f.next_in_text(before).filter(|&block| block != otherwise)?;
    let branch = function.insts_of(block).next().filter(|&inst| is_indexed(f, inst))?;
    let &[index, table] = f.operands_of(branch) else { return None };
    if function.preds(block) != [before] {
        return None;
    }

    let targets = function.tables[table.as_table()?.index()].targets;
    let targets = &function.pools.targets[targets.range()];
    let (to, comparison, constant) = told_apart(targets, otherwise)?;
    let next = f.next_in_text(block).filter(|&next| next == to || next == otherwise)?;
    let outcomes =
        if comparison == Comparison::Equal { Outcomes::EQUAL } else { Outcomes::LESS | Outcomes::EQUAL };
    let test = Test { ty: PtxType::U32, order: Order::Unsigned, holds: outcomes };
    let end = conditions.end_of(before);
    let sources = [index, Operand::int(i32::try_from(constant).ok()?)];
    let never = conditions.along(f, [before, otherwise], |known| known.succeeds(f, test, sources, end));
    let is_alike = never == Some(false) && f.takes_alike(otherwise, before, block);
    let falls = next == to;
    is_alike.then_some(Choice { range_test, branch, index, comparison, constant, to, falls, otherwise })
}

/// The target of a table that is not `otherwise`, if there is just one, and the comparison that is true for its indices: they
/// are one, or all up to one.
fn told_apart(targets: &[BlockId], otherwise: BlockId) -> Option<(BlockId, Comparison, u64)> {
    let first = targets.iter().position(|&target| target != otherwise)?;
    let last = targets.iter().rposition(|&target| target != otherwise)?;
    let to = targets[first];
    let is_run = targets[first..=last].iter().all(|&target| target == to) && targets.len() > last - first + 1;
    match (first, last) {
        _ if !is_run => None,
        (0, last) if last > 0 => Some((to, Comparison::LessEqual, last as u64)),
        (first, last) => (first == last).then_some((to, Comparison::Equal, first as u64)),
    }
}

fn is_indexed(f: &FunctionEditor<'_>, inst: InstId) -> bool {
    f.form_of(inst).operation == Operation::BrxIdx
}

/// Puts a comparison and a branch in the place of the indexed branch and the test of the range.
fn make_test(f: &mut FunctionEditor<'_>, choice: &Choice) -> Option<()> {
    let &Choice { range_test, branch, index, comparison, constant, to, falls, otherwise } = choice;
    let dialect = f.description_of(branch).dialect;
    let compares = Qualifiers { comparison: Some(comparison), ..Qualifiers::default() };
    let setp = Description { dialect, ..Description::new(Operation::Setp, compares, &[PtxType::U32]) };
    let bra = Description { dialect, ..Description::new(Operation::Bra, Qualifiers::default(), &[]) };
    let mut form =
        |description, count| -> Option<FormId> { f.forms().build(description, shape::plain(count)) };
    let (setp, bra) = (form(&setp, 3)?, form(&bra, 1)?);
    let mut change = f.change(branch, "a comparison tells the two targets of the table apart")?;
    let predicate = change.new_vreg(PtxType::Pred);
    let constant = change.constant(constant, PtxType::U32);
    change.insert_before(branch, setp, &[Operand::predicate(predicate, false), index, constant], None);
    let (target, guard) = if falls { (otherwise, true) } else { (to, false) };
    let guard = Operand::predicate(predicate, guard);
    change.insert_before(branch, bra, &[Operand::block(target)], Some(guard));
    change.delete_branch(branch);
    change.delete_branch(range_test);
    Some(())
}
