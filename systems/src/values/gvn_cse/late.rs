//! Late commoning: value numbering once more, where arms of branches have become one block and below.
//!
//! Source phase  64 LateOriCommoning (copy-prop-and-cse, "Phase 64")
//! Reads         as phase 49
//! Writes        as phase 49
//! Needs         as phase 49; the marks of phase 63
//! Leaves        as phase 49
//! Breaks        as phase 49
//! Cost          a comparison a function in which nothing has been predicated; else what phase 49 costs for the blocks that
//!               it looks at, and tables of its registers
//! Papers        as phase 49
//! Checked by    check/ssa.rs, check/operand_types.rs; gvn_cse/tests.rs on the emulator; the judge
//!
//! # What it finds
//! Predication puts what stood in the two arms of a branch into one block:
//! ```text
//! @p bra L;                          mul.lo.s32 r3, r1, r2;
//! mul.lo.s32 r3, r1, r2; ...   ->    mul.lo.s32 r4, r1, r2;       // gone now: the readers of r4 read r3
//! L: mul.lo.s32 r4, r1, r2; ...
//! ```
//! Where nothing has been predicated there is next to nothing to find: on real modules 6 of 915. So it looks at blocks in which
//! arms were joined and at those that they dominate, whose arms may compute what a joined block has taken from its own:
//! ```text
//! @p bra L;                          mul.lo.s32 r3, r1, r2;
//! mul.lo.s32 r3, r1, r2; ...   ->    ...
//! L: @q bra M;                       @q bra M;
//! ld.global.u32 r5, [rd1];           ld.global.u32 r5, [rd1];     // too much to be computed always
//! mul.lo.s32 r4, r1, r2; ...         ...                          // gone: r3 is read
//! ```
//! What is computed elsewhere is equal to nothing. Against a look at joined blocks alone that takes 3,052 instructions more (0.9 %) out of
//! NCCL and 40 out of the wild set, in the same time there; of NCCL the phase takes 138 ns
//! an instruction where it took 57 (`ptxopt batch WILD -o DIR -j 1 --stat=phase-wise`).
//!
//! # Gates
//! The source asks three knobs: 487 whether it runs at all, 843 whether the function wants it, 844 at each instruction. Here all
//! three are open unless they are closed by name.
//!
//! # Where this differs from the source
//! There an instruction has a mask of its class, and the masks of a path are collected, to tell early that no instruction
//! of its class has been seen: the hash table says that with one probe. Its seven conditions of equivalence ask neither for
//! the operation nor for the sources, and want another block: here equality is that of phase 49, in the same block, too. Its
//! representatives of registers seen through moves are value numbers.

use super::{Mode, Scratch, number_and_replace};
use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_engine::edit::Editor;
use ptxopt_engine::run::facts::Memo;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::values::reaching::ReachingValues;

/// Phase 64.
pub const PHASE: Phase = Phase {
    name: "late_commoning",
    install: |slot| {
        slot.init_resource::<Settings>();
        slot.add(run);
    },
    ..super::PHASE
};

/// What of the phase runs.
#[derive(Resource, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Knob 843: functions want it if this is not zero.
    pub functions: u32,
    /// Knob 844: instructions are looked at.
    pub instructions: bool,
    /// What was moved to another register is not taken for the same.
    pub moves_are_opaque: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { functions: 1, instructions: true, moves_are_opaque: false }
    }
}

/// Works on every function in SSA form in which arms of branches have become one block.
pub fn run(
    mut editor: Editor,
    settings: Res<Settings>,
    mut values: ResMut<ReachingValues>,
    mut scratch: Local<Scratch>,
) {
    if settings.functions == 0 || !settings.instructions {
        return;
    }
    scratch.numbers.see_through_moves(!settings.moves_are_opaque);
    editor.each(CodeFlags::WORKED_ON_IN_SSA, |mut f| {
        if f.remembers(Memo::ArmsAreJoined) {
            // It ends early where the bisect limit is reached.
            let _ = number_and_replace(&mut f, Mode::JoinedArms, &mut values, &mut scratch);
        }
    });
}
