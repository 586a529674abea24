//! Split ranges: a register that holds values which have nothing to do with each other becomes one register for each.
//!
//! Source phase  19 OriSplitLiveRanges (liveness, "Phase 19"), knob 456
//! Reads         Blocks, Insts, VRegs
//! Writes        registers of operands
//! Needs         control flow ends its block; no SSA form
//! Leaves        no register with a guarded definition, several webs that are read, and room for more registers
//! Breaks        liveness, uniformity, definitions
//! Cost          a look at the heads of instructions; where a guarded one writes a register that is written elsewhere too, a
//!               pass over all operands, and the blocks in which those registers live, as far as a limit allows
//! Papers        Muchnick 1997, 16.3.3 (webs)
//! Checked by    check/definitions.rs; the symbolic checker of ranges/tests.rs; the judge
//!
//! # How it works
//! SSA form gives each definition a name of its own by itself, but not those of a register with a guarded one: where the guard is
//! false the old value has to stand in the same register, so all of the register stays a variable, and nothing that works on
//! values looks at it. Most such registers hold other values at other places. Those become registers of their own:
//!
//! ```text
//! mov.b32 r1, 0;                  mov.b32 r1, 0;
//! @p mov.b32 r1, 7;               @p mov.b32 r1, 7;
//! st.global.b32 [rd1], r1;   ->   st.global.b32 [rd1], r1;
//! add.s32 r1, r2, r3;             add.s32 r8, r2, r3;          // a value
//! st.global.b32 [rd2], r1;        st.global.b32 [rd2], r8;
//! ```
//! The webs (`webs`) of a register share no read. The first one in the text keeps the register. No instruction is made,
//! deleted or moved.
//!
//! # What the source does beside it
//! It puts copies before and after loops, around calls and at edges, so that its own allocator may use several registers for one
//! value. PTX has no machine registers: the assembler takes such copies out before it looks at lives, and its code is the
//! same, byte for byte (`docs/LIVE_RANGES.md` has the figures). So none is made. Its work structures (records by block, a hash
//! of interference) choose places for copies; webs need none.
//!
//! # What stays
//! - Registers without a guarded definition: SSA form splits them.
//! - Registers with a partial definition, vector registers, and those that something beside the instructions reads or writes:
//!   formals, registers of the module, the carry, and what is in flight.
//! - What a guard may leave standing, in the web of what writes it:
//!   ```text
//!   mov.b32 r1, 0;
//!   @p mov.b32 r1, 7;      // another name here would lose the 0
//!   ```
//! - Definitions that nothing reads keep the register: no other web lives where they stand, or they would end it.

use super::chains::looks_max;
use super::webs::{Does, Named, Webs};
use bevy_ecs::prelude::*;
use ptxopt_components::code_object::{CodeFlags, Room};
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::operand::{Operand, writes};
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::edit::{Editor, FunctionEditor};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::store::view::FunctionView;

/// Phase 19.
pub const PHASE: Phase = Phase {
    name: "split_ranges",
    breaks: Fact::OF_INSTRUCTIONS,
    room_percent: 25,
    install: |slot| slot.add(run),
    ..Phase::NOTHING
};

/// The part of the registers that a function may still get which is left to other phases, as a divisor.
const ROOM_LEFT: u32 = 2;

/// Registers that are not split.
const KEPT: VRegFlags = VRegFlags::NO_VALUE.union(VRegFlags::INITIALISED);

/// Works on every function that is not in SSA form.
pub fn run(mut editor: Editor, mut scratch: Local<Scratch>) {
    editor.each(CodeFlags::WORKED_ON, |mut f| {
        if !f.state().flags.contains(CodeFlags::SSA) {
            split(&mut f, &mut scratch);
        }
    });
}

/// No register that is looked at.
const OTHER: u32 = u32::MAX;

/// Memory of the phase.
#[derive(Default)]
pub struct Scratch {
    /// By register: its place in the list of candidates.
    candidate_of: Vec<u32>,
    candidates: Vec<Candidate>,
    /// Operands that name candidates, by candidate, then in the order of the text.
    named: Vec<Named>,
    unsorted: Vec<(u32, Named)>,
    webs: Webs,
    /// Operands that get another register, by web.
    renamed: Vec<(u32, InstId, u32)>,
}

/// A register with a guarded definition.
#[derive(Clone, Copy)]
struct Candidate {
    vreg: VRegId,
    definitions: u32,
    is_kept: bool,
    /// Operands that name it, then where they end in the list.
    names: u32,
}

/// Works on one function, as far as the bisect limit allows.
pub fn split(f: &mut FunctionEditor<'_>, scratch: &mut Scratch) {
    if !scratch.find_candidates(&f.view()) {
        return;
    }
    scratch.list_operands(&f.view());
    let Scratch { candidates, named, webs, renamed, .. } = scratch;
    webs.start(&f.view(), looks_max(f.view().heads.len()));
    let registers_left = f.room().vregs / ROOM_LEFT;
    let mut first = 0;
    for candidate in candidates.iter() {
        let named = &named[first..candidate.names as usize];
        first = candidate.names as usize;
        if candidate.is_kept || candidate.definitions < 2 {
            continue;
        }
        let Some(count) = webs.find(&f.view(), named) else {
            f.stats().limits_hit += 1;
            f.missed(f.offset_of(named[0].inst), "its registers live in too many blocks");
            return;
        };
        if count < 2 {
            continue;
        }
        renamed.clear();
        let with_webs = named.iter().zip(&webs.web_of).filter(|&(_, &web)| web > 0);
        renamed.extend(with_webs.map(|(named, &web)| (web, named.inst, named.position)));
        renamed.sort_by_key(|&(web, ..)| web);
        for of_web in renamed.chunk_by(|(one, ..), (other, ..)| one == other) {
            let at = f.offset_of(of_web[0].1);
            let room = Room { vregs: registers_left + 1, ..Room::default() };
            let reason = "a value that has nothing to do with others of its register";
            let Some(mut change) = f.change_with_room(at, reason, room) else { return };
            let new = change.new_vreg_like(candidate.vreg);
            change.rename_each(of_web.iter().map(|&(_, inst, position)| (inst, position as usize, new)));
        }
    }
}

impl Scratch {
    /// Lists the registers that a guarded instruction writes; says whether one of them may be split.
    fn find_candidates(&mut self, function: &FunctionView<'_>) -> bool {
        let Self { candidate_of, candidates, .. } = self;
        candidates.clear();
        for (inst, head) in function.heads.iter().enumerate() {
            if !head.is_live() || !head.opcode.is_guarded() {
                continue;
            }
            for vreg in writes(function.operands_of(InstId::new(inst))) {
                let head = function.vregs[vreg.index()];
                if head.flags.intersects(KEPT) || head.ty.lanes != 1 {
                    continue;
                }
                if candidates.is_empty() {
                    candidate_of.clear();
                    candidate_of.resize(function.vregs.len(), OTHER);
                }
                let number = &mut candidate_of[vreg.index()];
                if *number == OTHER {
                    *number = candidates.len() as u32;
                    candidates.push(Candidate { vreg, definitions: 0, is_kept: false, names: 0 });
                }
            }
        }
        !candidates.is_empty()
    }

    /// Lists the operands that name candidates.
    fn list_operands(&mut self, function: &FunctionView<'_>) {
        let Self { candidate_of, candidates, named, unsorted, .. } = self;
        unsorted.clear();
        for block in function.block_ids() {
            for (inst, head, operands) in function.rows_of(block) {
                // Sources come after results, and are read before.
                for (position, operand) in operands.iter().enumerate().rev() {
                    let Some(vreg) = operand.vreg() else { continue };
                    let number = candidate_of[vreg.index()];
                    if number != OTHER {
                        let does = does(operand, head.opcode.is_guarded());
                        let candidate = &mut candidates[number as usize];
                        candidate.names += 1;
                        candidate.definitions += u32::from(does != Does::Reads);
                        candidate.is_kept |= does != Does::Reads && operand.is_partial();
                        unsorted.push((number, Named { block, inst, position: position as u32, does }));
                    }
                }
            }
        }
        sort_by_candidate(candidates, unsorted, named);
    }
}

/// Sorts the operands by candidate, each candidate's in the order in which they came, and notes where they end.
fn sort_by_candidate(candidates: &mut [Candidate], unsorted: &[(u32, Named)], named: &mut Vec<Named>) {
    let mut next = 0;
    for candidate in &mut *candidates {
        next += std::mem::replace(&mut candidate.names, next);
    }
    named.clear();
    let nowhere = Named { block: BlockId::new(0), inst: InstId::new(0), position: 0, does: Does::Reads };
    named.resize(unsorted.len(), nowhere);
    for &(number, operand) in unsorted {
        let place = &mut candidates[number as usize].names;
        named[*place as usize] = operand;
        *place += 1;
    }
}

fn does(operand: &Operand, is_guarded: bool) -> Does {
    match (operand.is_definition(), is_guarded) {
        (false, _) => Does::Reads,
        (true, false) => Does::Writes,
        (true, true) => Does::MayWrite,
    }
}
