//! Dead code: where [`Memo::NothingDead`] is remembered, the textbook finds nothing dead.
//!
//! Full. Live sets and a walk with a running set through each block, and marks by register.
//!
//! No block is unreachable. Every reachable instruction without an effect has a result that may be read after it, and
//! a result in a register that, by way of any definition, feeds something with an effect. The phase looks for more than
//! the two together and in another way.

use super::{Verdict, each_function, wrong_at, wrong_in};
use bevy_ecs::prelude::*;
use ptxopt_components::block::{BlockFlags, BlockOrder};
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::operand::{reads, writes};
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::dataflow::liveness::{LiveSet, LivenessScratch, killed, solve};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::run::facts::{Fact, Memo};
use ptxopt_engine::run::log::Violations;
use ptxopt_engine::run::phase::{Check, Verify};
use ptxopt_engine::store::columns::{Code, CodeObjects};
use ptxopt_engine::store::view::FunctionView;

/// The verifier that nothing is dead.
pub const CHECK: Check = Check { name: "dead_code", from: Verify::Full, install: |slot| slot.add(run) };

/// Verifies every function of the batch for which the fact holds.
pub fn run(
    code: Code,
    codes: CodeObjects,
    forms: Res<FormTable>,
    mut scratch: Local<(LivenessScratch, LiveSet)>,
    mut violations: ResMut<Violations>,
) {
    let (_, facts, ..) = codes.columns();
    each_function(&code, CHECK.name, &mut violations, |function| {
        let facts = facts[function.code.index()];
        if !facts.remembers(Memo::NothingDead, &function.state) {
            return Ok(());
        }
        let (solver, set) = &mut *scratch;
        if facts.holds(Fact::ControlFlow, &function.state) {
            solve(function, &forms, solver, set);
            verify_by_sets(function, set)?;
        }
        verify_by_marks(function)
    });
}

/// Verifies that no block is unreachable and that each block, walked backward, has no dead instruction.
pub fn verify_by_sets(function: &FunctionView<'_>, set: &LiveSet) -> Verdict {
    let mut is_live: Vec<bool> = Vec::new();
    for block in function.block_ids() {
        if function.blocks[block.index()].flags.contains(BlockFlags::DEAD) {
            continue;
        }
        if function.orders[block.index()].rpo == BlockOrder::UNREACHABLE {
            return wrong_in(block, "it is unreachable");
        }
        is_live.clear();
        is_live.extend(function.vregs.iter().map(|vreg| vreg.flags.intersects(VRegFlags::READ_ELSEWHERE)));
        let is_always = is_live.clone();
        set.live_out_vregs(block).for_each(|vreg| is_live[vreg.index()] = true);
        for inst in function.insts_of(block).rev() {
            let (head, operands) = (&function.heads[inst.index()], function.operands_of(inst));
            let is_read = writes(operands).any(|vreg| is_live[vreg.index()]);
            if !head.marks.contains(Marks::KEPT) && !is_read {
                return wrong_at(block, inst.index(), "nothing reads its results, and it stays");
            }
            for vreg in killed(operands, head.opcode.is_guarded()) {
                is_live[vreg.index()] = is_always[vreg.index()];
            }
            reads(operands).for_each(|vreg| is_live[vreg.index()] = true);
        }
    }
    Ok(())
}

/// Verifies that every instruction feeds, by register, something with an effect.
pub fn verify_by_marks(function: &FunctionView<'_>) -> Verdict {
    let live = || (0..function.heads.len()).map(InstId::new).filter(|i| function.heads[i.index()].is_live());
    let mut definitions: Vec<Vec<InstId>> = vec![Vec::new(); function.vregs.len()];
    for inst in live() {
        writes(function.operands_of(inst)).for_each(|vreg| definitions[vreg.index()].push(inst));
    }
    let mut is_marked = vec![false; function.heads.len()];
    let always = |vreg: &VRegId| function.vregs[vreg.index()].flags.intersects(VRegFlags::READ_ELSEWHERE);
    let mut waiting: Vec<InstId> =
        function.vreg_ids().filter(always).flat_map(|vreg| definitions[vreg.index()].clone()).collect();
    waiting.extend(live().filter(|inst| function.heads[inst.index()].marks.contains(Marks::KEPT)));
    while let Some(inst) = waiting.pop() {
        if !std::mem::replace(&mut is_marked[inst.index()], true) {
            for vreg in reads(function.operands_of(inst)) {
                waiting.append(&mut definitions[vreg.index()]);
            }
        }
    }
    match live().find(|inst| !is_marked[inst.index()]) {
        Some(inst) => wrong_at(
            function.heads[inst.index()].block,
            inst.index(),
            "it feeds nothing that has an effect, and stays",
        ),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::{analyzed, solved};

    const HEAD: &str = ".reg .b32 %r<9>; .reg .pred %p<2>;";

    #[track_caller]
    fn reports(message: &str, body: &str, verify: impl FnOnce(&FunctionView<'_>, &LiveSet) -> Verdict) {
        let built = analyzed(&format!("{HEAD} {body}"));
        let found = verify(&built.function(), &solved(&built)).expect_err("nothing was found");
        assert!(found.contains(message), "{found}");
    }

    #[test]
    fn code_without_a_dead_instruction_passes() {
        let built = analyzed(&format!(
            "{HEAD} mov.b32 %r1, 1; @%p1 mov.b32 %r1, 2; L: add.s32 %r1, %r1, 1; st.global.b32 [g], %r1; @%p1 bra L; \
             ret;"
        ));
        assert_eq!(verify_by_sets(&built.function(), &solved(&built)), Ok(()));
        assert_eq!(verify_by_marks(&built.function()), Ok(()));
    }

    #[test]
    fn what_is_dead_is_seen() {
        reports("bix0 i0: nothing reads", "mov.b32 %r1, 1; mov.b32 %r1, 2; st.global.b32 [g], %r1; ret;", {
            verify_by_sets
        });
        reports("bix1: it is unreachable", "ret; L: st.global.b32 [g], 1; bra L;", verify_by_sets);
        reports("bix1 i0: it feeds nothing", "L: add.s32 %r1, %r1, 1; bra L;", |function, _| {
            verify_by_marks(function)
        });
    }
}
