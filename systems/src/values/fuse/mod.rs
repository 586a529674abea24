//! Fuse: two instructions become one that does the work of both, and some three or more.
//!
//! Source phase  75 LateArchOptimizeFirst (the sources give its name and place only)
//! Reads         Blocks, Insts, VRegs
//! Writes        forms, operands, tombstones
//! Needs         control flow ends its block; no SSA form
//! Leaves        no product or comparison that is read once, in its block, by a sum or an operation on predicates that can do its work;
//!               no shifts and masks that one `prmt`, `bfi` or `bfe` of bytes stands for
//! Breaks        liveness, uniformity, definitions
//! Cost          a pass over all operands, one over results, and a few questions where an instruction may take another one in
//! Papers        Davidson and Fraser 1980 (pairs of instructions that have one for both)
//! Checked by    check/definitions.rs, check/operand_types.rs; every pair against the emulator, in fuse/tests.rs; the judge
//!
//! # How it works
//! ```text
//! shl.b32 r4, r1, 4;
//! ...                         ->   ...
//! add.s32 r5, r4, r2;              mad.lo.s32 r5, r1, 16, r2;
//! ```
//! The first one is unguarded, and what it computes is read once, by the second one, in the same block: nothing is left for it
//! to do. What it reads is still there at the second one. The families are `sums`, `comparisons`, `selections`, `halves`, `lone_halves`, and `fields` and
//! `permutations`, which take in up to four.
//!
//! # Why so late
//! What is two instructions has more equals: the shift may be computed elsewhere, too, and rules look through it. When this
//! phase runs, value numbers and rules have seen all of it.
//!
//! # What the machine makes of it
//! `ptxas` 13.0 makes as many machine instructions of the one as of the two (sm_75, sm_90, sm_100), mostly the same ones. Who
//! executes the PTX itself, a simulator or a translator, has one less to execute; for everybody the text is shorter. Of bytes it makes
//! fewer: `fields` has the figures.
//!
//! # Tried and dropped
//! - `mul.wide` and `add.s64` as `mad.wide`, `shl.b64` and `add.s64` as `mad.lo.s64`: one or two machine instructions more.
//! - Two operations on bits as `lop3`, 7,062 pairs in the modules of the wild set that are not for debuggers. `ptxas` ends with
//!   a segmentation fault where such a result is compared with 0 and a guard reads the outcome, through moves and negations,
//!   too: `lop3.b32 r5, ...; setp.eq.s32 p1, r5, 0; @p1 bra L`. Where what reads it cannot be such a test, 3,725 pairs are left, and
//!   machine code is 0.15 % longer: the assembler knows less about the bits of a `lop3` than about those of a mask.

mod comparisons;
mod fields;
mod halves;
mod lone_halves;
mod permutations;
mod recent;
mod selections;
mod sums;
#[cfg(test)]
mod tests;

use super::general_optimize::rewrite::Rewrite;
use super::names::Names;
use bevy_ecs::prelude::*;
use halves::Half;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_engine::edit::{Editor, FunctionEditor};
use ptxopt_engine::run::facts::{Fact, Memo};
use ptxopt_engine::run::phase::Phase;
use recent::Recent;

/// Phase 75.
pub const PHASE: Phase =
    Phase { name: "fuse", breaks: Fact::OF_INSTRUCTIONS, install: |slot| slot.add(run), ..Phase::NOTHING };

/// Works on every function that is not in SSA form.
pub fn run(mut editor: Editor, mut scratch: Local<Scratch>) {
    editor.each(CodeFlags::WORKED_ON, |mut f| {
        if !f.state().flags.contains(CodeFlags::SSA) {
            // It ends early where the bisect limit is reached.
            let _ = fuse(&mut f, &mut scratch);
        }
    });
}

/// Memory of the phase.
#[derive(Default)]
pub struct Scratch {
    names: Vec<Names>,
    recent: Recent,
    halves: Vec<Half>,
    rows: Vec<InstId>,
}

/// Fuses what can be fused in a function; gives nothing where the bisect limit is reached.
fn fuse(f: &mut FunctionEditor<'_>, scratch: &mut Scratch) -> Option<()> {
    let Scratch { names, recent, halves, rows } = scratch;
    // What goes was read by what stays, and what it read is read there.
    let has_nothing_dead = f.remembers(Memo::NothingDead);
    Names::count(&f.view(), names);
    recent.start(f.view().vregs.len());
    for block in f.view().block_ids() {
        recent.enter_block();
        halves.clear();
        rows.clear();
        rows.extend(f.insts_of(block));
        for (at, &inst) in rows.iter().enumerate() {
            let mut walk = Walk { f, names, recent };
            let fused = match walk.f.form_of(inst).operation {
                Operation::And => walk.take_in_comparison(inst).or_else(|| walk.take_in_shift(inst)),
                Operation::Or | Operation::Xor => {
                    walk.take_in_comparison(inst).or_else(|| walk.take_in_parts(inst))
                }
                Operation::Add => walk.take_in_parts(inst).or_else(|| walk.take_in_product(inst)),
                Operation::Sub => walk.take_in_product(inst),
                Operation::Mov => walk.complete(halves, rows, at).or_else(|| walk.take_in_half(inst)),
                Operation::Shl => walk.take_in_extension(inst),
                Operation::Prmt => walk.take_in_moves(inst),
                Operation::Selp => walk.take_in_selection(inst),
                _ => None,
            };
            let stays = fused.as_ref().map_or(inst, |fused| fused.stays);
            if let Some(fused) = fused {
                fused.carry_out(f)?;
            }
            recent.note(stays, f.head(stays), f.operands_of(stays));
        }
    }
    if has_nothing_dead {
        f.remember(Memo::NothingDead);
    }
    Some(())
}

/// Instructions that go at once: two parts of registers are shifted and masked each.
const GOES_MAX: usize = 4;

/// What two instructions become, or more.
struct Fused {
    /// The one that stays.
    stays: InstId,
    /// What it becomes.
    rewrite: Rewrite,
    /// Another one that stays, with the same result, and what it becomes.
    also: Option<(InstId, Rewrite)>,
    /// Those that go.
    goes: [Option<InstId>; GOES_MAX],
    reason: &'static str,
}

impl Fused {
    /// One instruction becomes another one that does the work of those that go, too.
    fn new(stays: InstId, rewrite: Rewrite, goes: [Option<InstId>; GOES_MAX], reason: &'static str) -> Self {
        Self { stays, rewrite, also: None, goes, reason }
    }

    /// The same for the only one that goes.
    fn pair(stays: InstId, rewrite: Rewrite, goes: InstId, reason: &'static str) -> Self {
        Self::new(stays, rewrite, [Some(goes), None, None, None], reason)
    }

    /// Gives nothing where the bisect limit is reached.
    fn carry_out(&self, f: &mut FunctionEditor<'_>) -> Option<()> {
        let mut change = f.change_in_place(self.stays, self.reason)?;
        self.rewrite.carry_out(&mut change, self.stays);
        if let Some((inst, rewrite)) = &self.also {
            rewrite.carry_out(&mut change, *inst);
        }
        self.goes.iter().flatten().for_each(|&inst| change.delete(inst));
        Some(())
    }
}

/// The walk over a function, at one instruction.
struct Walk<'w, 'a> {
    f: &'w mut FunctionEditor<'a>,
    names: &'w [Names],
    recent: &'w Recent,
}

impl Walk<'_, '_> {
    /// The operands of an instruction without the guard.
    fn operands(&self, inst: InstId) -> &[Operand] {
        let operands = self.f.operands_of(inst);
        let is_guarded = self.f.head(inst).opcode.is_guarded();
        &operands[..operands.len() - usize::from(is_guarded)]
    }

    /// The instruction that computed what an operand of `inst`, a register without anything else or a predicate, holds, if
    /// nothing else reads it and it could be computed at `inst` as well.
    fn maker(&self, operand: Operand) -> Option<InstId> {
        let vreg = operand.vreg().filter(|&vreg| self.names[vreg.index()].is_one_of_each())?;
        let maker = self.recent.maker(vreg)?;
        let (result, sources) = self.f.operands_of(maker).split_first()?;
        let is_whole = result.vreg() == Some(vreg) && result.is_definition() && !result.is_partial();
        let is_there = |&source: &Operand| match source.vreg() {
            Some(read) => self.is_own(read) && self.recent.is_unchanged_since(read, vreg),
            None => is_literal(source),
        };
        let is_plain = !operand.has_payload() && !self.f.head(maker).opcode.is_guarded();
        (is_plain && is_whole && self.is_own(vreg) && sources.iter().all(is_there)).then_some(maker)
    }

    /// Whether only the function's own instructions write and read a register.
    fn is_own(&self, vreg: VRegId) -> bool {
        self.f.vreg(vreg).is_own_scalar()
    }

    /// The bits of an operand that is an integer literal.
    fn literal(&self, operand: Operand) -> Option<u64> {
        operand.integer_bits(self.f.literals())
    }
}

fn is_literal(operand: Operand) -> bool {
    matches!(operand.kind(), OperandKind::Int(_) | OperandKind::F32(_) | OperandKind::Literal(_))
}
