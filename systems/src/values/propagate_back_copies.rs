//! Backward copy propagation: what is computed to be copied is computed where the copy goes.
//!
//! Source phase  82 AdvancedPhaseBackPropVReg, which has the body of 83 OriBackCopyPropagate (copy-prop-and-cse, "Phase 83")
//! Reads         Blocks, Insts, VRegs
//! Writes        results of instructions, tombstones
//! Needs         control flow ends its block; no SSA form
//! Leaves        no move of the result of an instruction of its block, read by nothing else, to a register that nothing in
//!               between names
//! Breaks        liveness, uniformity, definitions
//! Cost          a look at each instruction; where there is such a move, a pass over all operands
//! Papers        Muchnick 1997, 12.5 (copy propagation, forwards)
//! Checked by    check/definitions.rs, check/operand_types.rs; its tests on the emulator; the judge
//!
//! # How it works
//! ```text
//! add.s32 t, r1, 1;               add.s32 d, r1, 1;
//! st.global.u32 [rd1], r2;   ->   st.global.u32 [rd1], r2;
//! mov.b32 d, t;
//! ```
//! Moves are visited from the end of a block to its start, so that a chain of them goes in one pass. The old value of `d` is
//! dead between the two: nothing there reads it, control leaves the block at its end only, and the move overwrites it. Both
//! have the same guard, of the same value, or none.
//!
//! # Why at -O3 alone
//! Leaving SSA form coalesces copies: on real modules none is left for it, of unoptimized code 5 in 34,000 instructions. The
//! source has it off.
//!
//! # What stays
//! ```text
//! add.s32 t, r1, 1;               @p add.s32 t, r1, 1;
//! st.global.u32 [rd1], d;         mov.b32 d, t;              // d is written always
//! mov.b32 d, t;
//! ```
//! Registers of other types; those that are in flight, or that something beside the instructions that name them reads.

use super::names::Names;
use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::edit::{Editor, FunctionEditor};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;

/// Phase 82.
pub const PHASE: Phase = Phase {
    name: "propagate_back_copies",
    breaks: Fact::OF_INSTRUCTIONS,
    install: |slot| {
        slot.init_resource::<Settings>();
        slot.add(run);
    },
    ..Phase::NOTHING
};

/// How much is propagated.
#[derive(Resource, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Most moves that go in a function (knob 808).
    pub moves_max: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { moves_max: 1 << 16 }
    }
}

/// Rows before a move among which its source is looked for. What leaving SSA form makes stands at the end of a block, and its
/// source a few instructions before.
const WINDOW: usize = 64;

/// Works on every function that is not in SSA form.
pub fn run(mut editor: Editor, settings: Res<Settings>, mut scratch: Local<Scratch>) {
    editor.each(CodeFlags::WORKED_ON, |mut f| {
        if !f.state().flags.contains(CodeFlags::SSA) {
            propagate(&mut f, *settings, &mut scratch);
        }
    });
}

/// Memory of the phase.
#[derive(Default)]
pub struct Scratch {
    moves: Vec<InstId>,
    names: Vec<Names>,
}

/// Works on one function, as far as the bisect limit allows.
fn propagate(f: &mut FunctionEditor<'_>, settings: Settings, scratch: &mut Scratch) {
    let Scratch { moves, names } = scratch;
    find_moves(f, moves);
    if moves.is_empty() {
        return;
    }
    Names::count(&f.view(), names);
    let mut left = settings.moves_max;
    for &inst in moves.iter().rev() {
        let Some(found) = source_of(f, names, inst) else { continue };
        if left == 0 {
            f.stats().limits_hit += 1;
            return;
        }
        left -= 1;
        let Some(mut change) = f.change_in_place(inst, "its source can be computed here") else { return };
        let operand = change.operands_of(found.inst)[found.position].with_vreg(found.to);
        change.set_operand(found.inst, found.position, operand);
        change.delete(inst);
        names[found.from.index()] = Names::default();
    }
}

/// Lists the moves from register to register, block by block.
fn find_moves(f: &FunctionEditor<'_>, moves: &mut Vec<InstId>) {
    moves.clear();
    let function = f.view();
    for block in function.block_ids() {
        moves.extend(function.insts_of(block).filter(|&inst| moved(f, inst).is_some()));
    }
}

/// The two registers of a move between registers of one type.
fn moved(f: &FunctionEditor<'_>, inst: InstId) -> Option<(VRegId, VRegId)> {
    let form = f.form_of(inst);
    if form.operation != Operation::Mov || form.lanes != 1 {
        return None;
    }
    let &[to, from, ..] = f.operands_of(inst) else { return None };
    let is_whole = !to.is_partial()
        && match from.kind() {
            OperandKind::Register { minus: false, .. } => !from.has_payload(),
            OperandKind::Predicate { negated: false, .. } => true,
            _ => false,
        };
    let (to, from) = (to.vreg()?, from.vreg()?);
    let [one, other] = [to, from].map(|vreg| f.vreg(vreg));
    let is_alike = one.ty == other.ty && !one.flags.union(other.flags).intersects(VRegFlags::SHARED);
    (is_whole && is_alike && to != from).then_some((to, from))
}

/// Where what a move reads is computed.
struct Found {
    inst: InstId,
    /// The position of the result.
    position: usize,
    to: VRegId,
    from: VRegId,
}

/// The instruction that computes what a move reads, if it can compute it where the move goes.
fn source_of(f: &FunctionEditor<'_>, names: &[Names], inst: InstId) -> Option<Found> {
    let (to, from) = moved(f, inst)?;
    if !names[from.index()].is_one_of_each() {
        return None;
    }
    let function = f.view();
    let guard = function.guard_of(inst);
    let writes = |operands: &[Operand], vreg: Option<VRegId>| {
        operands.iter().any(|operand| operand.is_definition() && operand.vreg() == vreg && vreg.is_some())
    };
    let mut row = inst;
    for _ in 0..WINDOW {
        row = function.row_before(row)?;
        if !function.heads[row.index()].is_live() {
            continue;
        }
        let operands = function.operands_of(row);
        let is_source = |operand: &Operand| operand.is_definition() && operand.vreg() == Some(from);
        let position = operands.iter().position(is_source);
        if writes(operands, guard.and_then(|guard| guard.vreg())) || writes(operands, Some(to)) {
            return None;
        }
        if let Some(position) = position {
            let is_whole = !operands[position].is_partial();
            let has_guard = function.guard_of(row) == guard;
            return (is_whole && has_guard).then_some(Found { inst: row, position, to, from });
        }
        if operands.iter().any(|operand| operand.vreg() == Some(to)) {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::Random;
    use crate::values::gvn_cse::tests::kernel;
    use crate::values::move_tests::{after_alone, left_by};
    use std::fmt::Write;

    /// Results of a kernel that go to a register of their own first, and are moved a few lines later.
    fn with_moves(text: &str, random: &mut Random) -> String {
        let (mut moved, mut waiting, mut count) = (String::new(), Vec::new(), 0);
        for line in text.lines() {
            let ends_block = line.ends_with(':') || line.contains("bra ");
            waiting.retain(|(after, text): &(usize, String)| {
                let is_due = ends_block || *after == 0;
                if is_due {
                    moved += text;
                }
                !is_due
            });
            waiting.iter_mut().for_each(|(after, _)| *after -= 1);
            let (guard, rest) = match line.split_once(' ') {
                Some((guard, rest)) if guard.starts_with('@') => (guard, rest),
                _ => ("", line.trim_start()),
            };
            let is_sum = ["add.", "sub.", "mul.", "min.", "shl."].iter().any(|name| rest.starts_with(name));
            match rest.split_once(" %r").and_then(|(name, rest)| Some((name, rest.split_once(',')?))) {
                Some((name, (result, sources))) if is_sum => {
                    writeln!(moved, "{guard} {name} %z{count}, {sources}").unwrap();
                    let guard = if random.below(6) == 0 { "" } else { guard };
                    waiting.push((random.below(4), format!("{guard} mov.b32 %r{result}, %z{count};\n")));
                    count += 1;
                }
                _ => writeln!(moved, "{line}").unwrap(),
            }
        }
        moved.replacen('{', &format!("{{ .reg .b32 %z<{}>; ", count + 1), 1)
    }

    /// Random kernels that move what they have computed, on the emulator.
    #[test]
    fn what_is_computed_to_be_moved_is_computed_there() {
        let (mut without, mut with) = (0, 0);
        for seed in 0..150 {
            let text = with_moves(&kernel(6000 + seed), &mut Random(seed));
            let changed = after_alone(&text, &[&PHASE]);
            assert!(left_by(&text) == left_by(&changed), "seed {seed}\n{text}\nbecomes\n{changed}");
            without += after_alone(&text, &[]).matches("mov.").count();
            with += changed.matches("mov.").count();
        }
        println!("{without} without, {with} with");
        assert!(without > with + 1140, "{without} without, {with} with");
    }
}
