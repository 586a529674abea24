//! Uniformity as a fact: which registers and branches are the same for all threads of a warp.
//!
//! Source phase  27 AnalyzeUniformsForSpeculation, 53 and 70 OriPropagateVarying (structurize-cfg, "Uniform Branch
//!               Classification"); the sources of divergence are those of the textbook
//! Reads         Blocks, Insts, VRegs, LoopNests, LiveSets
//! Writes        Uniformities; `UNIFORM` on registers and on ways out of the straight line
//! Needs         control flow ends its block; control-flow facts, loops, live sets
//! Leaves        Fact::Uniformity
//! Breaks        nothing
//! Cost          a pass over the instructions and one over the operands that diverge;
//!               searches for joins and for what lives after loops up to a limit of steps, past which
//!               all that lives across blocks diverges; a comparison where the fact holds
//! Paper         Rosemann, Moll, Hack 2021
//! Checked by    check/uniformity.rs, check/uniformity_full.rs
//!
//! The analysis is [`ptxopt_engine::dataflow::uniformity`].

use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{CodeId, Id};
use ptxopt_components::instruction::Marks;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::dataflow::liveness::LiveSets;
use ptxopt_engine::dataflow::uniformity::{Scratch, Uniformities, count, solve};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::nest::LoopNests;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::log::{Remark, RemarkKind, Remarks, StepLog};
use ptxopt_engine::run::phase::{Phase, Slot, Wanted};
use ptxopt_engine::store::columns::{Code, CodeObjectsMut, InstsMut, VRegsMut};

/// What gives [`Fact::Uniformity`] wherever it is asked for.
pub const ANALYSIS: Phase = Phase {
    name: "analyze_uniformity",
    needs: &[Fact::ProgramOrder, Fact::ControlFlow, Fact::Loops, Fact::Liveness],
    gives: &[Fact::Uniformity],
    install: |slot| {
        init(slot);
        slot.add((run, note).chain());
    },
    ..Phase::NOTHING
};

/// Phases 27, 53 and 70: the analysis, and a remark about each function.
pub const PHASE: Phase = Phase {
    wanted: Wanted::WhenLookedAt,
    install: |slot| {
        init(slot);
        slot.add((run, note, remark).chain());
    },
    ..ANALYSIS
};

fn init(slot: &mut Slot<'_>) {
    slot.init_resource::<LoopNests>();
    slot.init_resource::<LiveSets>();
    slot.init_resource::<Uniformities>();
}

/// Solves the functions of the batch whose verdicts are not current.
pub fn run(
    code: Code,
    forms: Res<FormTable>,
    nests: Res<LoopNests>,
    sets: Res<LiveSets>,
    mut verdicts: ResMut<Uniformities>,
    mut scratch: Local<Scratch>,
) {
    for function in code.view().functions() {
        let id = function.code;
        let is_left = function.state.flags.contains(CodeFlags::LEFT);
        if is_left || code.fact_holds(id, Fact::Uniformity) || !code.fact_holds(id, Fact::Liveness) {
            continue;
        }
        if let (Some(nest), Some(set)) = (nests.get(id), sets.get(id)) {
            solve(&function, &forms, nest, set, &mut scratch, verdicts.of(id));
        }
    }
}

/// Writes the verdicts to the rows, and notes that they are current.
fn note(
    mut codes: CodeObjectsMut,
    mut insts: InstsMut,
    mut vregs: VRegsMut,
    verdicts: Res<Uniformities>,
    mut log: ResMut<StepLog>,
) {
    let (states, facts, spans, _) = codes.columns();
    let (inst_heads, ..) = insts.columns_for_facts();
    let (vreg_heads, _) = vregs.columns_for_facts();
    for (code, span) in spans.iter().enumerate() {
        let state = &states[code];
        let is_fresh = !state.flags.contains(CodeFlags::LEFT)
            && !facts[code].holds(Fact::Uniformity, state)
            && facts[code].holds(Fact::Liveness, state);
        let Some(verdicts) = verdicts.get(CodeId::new(code)).filter(|_| is_fresh) else { continue };
        for (at, head) in vreg_heads[span.vregs.range()].iter_mut().enumerate() {
            head.flags.set(VRegFlags::UNIFORM, verdicts.is_uniform(Id::new(at)));
        }
        for head in &mut inst_heads[span.insts.range()] {
            if head.marks.contains(Marks::CONTROL) {
                head.marks.set(Marks::UNIFORM, verdicts.block_goes_alike(head.block));
            }
        }
        facts[code].computed(Fact::Uniformity, state);
        log.current().facts_computed += 1;
    }
}

/// Says of each function how much of it is uniform.
fn remark(
    code: Code,
    forms: Res<FormTable>,
    verdicts: Res<Uniformities>,
    log: Res<StepLog>,
    mut remarks: ResMut<Remarks>,
) {
    if !remarks.wanted {
        return;
    }
    for function in code.view().functions() {
        let is_left = function.state.flags.contains(CodeFlags::LEFT);
        if is_left || !code.fact_holds(function.code, Fact::Uniformity) {
            continue;
        }
        let Some(verdicts) = verdicts.get(function.code) else { continue };
        remarks.push(Remark {
            kind: RemarkKind::Analysis,
            step: log.step,
            code: function.code,
            offset: function.text.name.first,
            reason: count(&function, &forms, verdicts).to_string().into(),
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::{Built, labelled, module, verdicts, verdicts as verdicts_of};
    use ptxopt_components::ids::{BlockId, Id, InstId};
    use ptxopt_engine::dataflow::uniformity::SameThreads;

    const REGISTERS: &str = ".reg .b32 %r<30>; .reg .b64 %d<9>; .reg .pred %p<9>; .shared .b32 s; .local .b32 l; \
        mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 5; mov.u32 %r2, %ctaid.x; setp.lt.u32 %p2, %r2, 5; ";

    /// Reads a kernel in which %r1 and %p1 are divergent, %r2 and %p2 uniform.
    fn kernel(body: &str) -> Built {
        labelled(&format!("{REGISTERS}{body}"))
    }

    /// Asserts which of the registers `%r3` up are uniform; those below 3 are given.
    #[track_caller]
    fn expect(body: &str, uniform: &[u32], divergent: &[u32]) {
        let built = kernel(body);
        let (.., verdicts) = verdicts(&built);
        for (numbers, is_uniform) in [(uniform, true), (divergent, false)] {
            for &number in numbers {
                let found = verdicts.is_uniform(built.vreg("%r", number));
                assert_eq!(found, is_uniform, "%r{number} is uniform: {found}");
            }
        }
    }

    #[test]
    fn special_registers_are_of_the_thread_of_the_warp_or_of_the_moment() {
        expect(
            "mov.u32 %r3, %laneid; mov.u32 %r4, %lanemask_lt; mov.u32 %r5, %clock; mov.u32 %r6, %ntid.x; \
             mov.u32 %r7, %smid; mov.u32 %r8, %warpid; mov.u32 %r9, %tid.y; @%p1 bra J; A: mov.u32 %r10, 1; \
             J: mov.u32 %r11, %smid; mov.u32 %r12, %nctaid.x; ret;",
            &[6, 7, 8, 10, 12],
            &[3, 4, 5, 9, 11],
        );
    }

    #[test]
    fn memory_is_shared_read_only_or_of_the_thread() {
        expect(
            "ld.param.u64 %d1, [p]; ld.param.u32 %r3, [p]; ld.global.u32 %r4, [%d1]; ld.shared.u32 %r5, [s]; \
             ld.local.u32 %r6, [l]; ld.u32 %r7, [%d1]; ld.volatile.global.u32 %r8, [%d1]; \
             ld.acquire.gpu.global.u32 %r9, [%d1]; atom.global.add.u32 %r10, [%d1], 1; ld.global.nc.u32 %r11, [%d1]; \
             cvt.u64.u32 %d2, %r1; ld.global.nc.u32 %r12, [%d2]; mov.u32 %r13, l; mov.u32 %r14, s; ret;",
            &[3, 4, 5, 11, 14],
            &[6, 7, 8, 9, 10, 12, 13],
        );
    }

    #[test]
    fn a_divergent_guard_merges_with_the_old_value() {
        expect(
            "mov.u32 %r3, 7; @%p1 mov.u32 %r3, 8; mov.u32 %r4, 7; @%p2 mov.u32 %r4, 8; selp.u32 %r5, 1, 2, %p1; \
             selp.u32 %r6, 1, 2, %p2; ret;",
            &[4, 6],
            &[3, 5],
        );
    }

    #[test]
    fn ways_that_join_choose_what_lives_on() {
        // %r3 is chosen; %r4 is the same on both ways and not looked into; %r5 lives in an arm; %r6 by a uniform branch.
        expect(
            "mov.u32 %r3, 1; @%p1 bra E; A: mov.u32 %r3, 2; mov.u32 %r5, 1; st.global.u32 [g], %r5; \
             E: st.global.u32 [g], %r3; mov.u32 %r6, 1; @%p2 bra F; B: mov.u32 %r6, 2; F: st.global.u32 [g], %r6; ret;",
            &[5, 6],
            &[3],
        );
    }

    #[test]
    fn a_divergent_arm_of_a_uniform_branch_leaves_the_join_after_it_alone() {
        // The divergent diamond in the arm joins at M; at J all threads come from the same side.
        expect(
            "mov.u32 %r3, 1; @%p2 bra J; A: mov.u32 %r3, 2; @%p1 bra M; B: st.global.u32 [g], 1; M: bra J; \
             J: st.global.u32 [g], %r3; ret;",
            &[3],
            &[],
        );
    }

    #[test]
    fn what_leaves_a_loop_in_different_rounds_is_of_different_age() {
        // Both loops end by %r1; %r3 is read after the first, %r4 nowhere after the second, nor is %r5 changed there.
        expect(
            "mov.u32 %r3, 0; mov.u32 %r5, 3; L: add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, %r1; @%p3 bra L; \
             X: st.global.u32 [g], %r3; mov.u32 %r4, 0; M: add.u32 %r4, %r4, %r5; setp.lt.u32 %p4, %r4, %r1; \
             @%p4 bra M; Y: st.global.u32 [g], %r5; ret;",
            &[4, 5],
            &[3],
        );
    }

    #[test]
    fn a_round_cut_short_hides_the_test_after_it() {
        // "continue" in front of a uniform test: the threads that skip it stay longer, though all of them pass it some day.
        expect(
            "mov.u32 %r3, 0; H: add.u32 %r3, %r3, 1; and.b32 %r4, %r3, %r1; setp.eq.u32 %p3, %r4, 0; @%p3 bra L; \
             M: setp.gt.u32 %p4, %r3, 5; @%p4 bra X; L: bra H; X: st.global.u32 [g], %r3; ret;",
            &[],
            &[3],
        );
    }

    #[test]
    fn threads_that_return_early_disturb_nobody() {
        let built = kernel(
            "mov.u32 %r3, 0; @%p1 bra E; L: add.u32 %r3, %r3, 1; ld.global.u32 %r4, [g]; setp.lt.u32 %p3, %r3, %r4; \
             @%p3 bra L; X: st.global.u32 [g], %r3; E: ret;",
        );
        let (.., verdicts) = verdicts(&built);
        for (prefix, number) in [("%r", 3), ("%r", 4), ("%p", 3)] {
            assert!(verdicts.is_uniform(built.vreg(prefix, number)), "{prefix}{number}");
        }
        assert!((0..4).all(|block| verdicts.is_executed_by_all(BlockId(block))));
    }

    #[test]
    fn loads_after_a_join_wait_for_a_barrier() {
        expect(
            "ld.global.u32 %r3, [g]; @%p1 bra J; A: ld.global.u32 %r4, [g]; J: ld.global.u32 %r5, [g]; bar.sync 0; \
             ld.global.u32 %r6, [g]; ret;",
            &[3, 4, 6],
            &[5],
        );
        // A barrier where only some threads go: they may meet others at the one after.
        expect("@%p1 bra J; A: barrier.sync 0; J: barrier.sync 0; ld.global.u32 %r6, [g]; ret;", &[], &[6]);
        expect("@%p1 bra J; A: mov.u32 %r3, 1; J: bar.warp.sync -1; ld.global.u32 %r6, [g]; ret;", &[6], &[]);
        expect("@%p1 bra J; A: mov.u32 %r3, 1; J: bar.warp.sync 15; ld.global.u32 %r6, [g]; ret;", &[], &[6]);
    }

    #[test]
    fn those_who_vote_together_hear_the_same() {
        let votes = "vote.sync.ballot.b32 %r3, %p1, -1; shfl.sync.idx.b32 %r4, %r1, 0, 31, -1; \
            shfl.sync.idx.b32 %r5, %r1, %r1, 31, -1; shfl.sync.bfly.b32 %r6, %r1, 1, 31, -1; \
            shfl.sync.bfly.b32 %r7, %r2, 1, 31, -1; redux.sync.add.s32 %r8, %r1, -1; match.any.sync.b32 %r9, %r1, -1; \
            match.all.sync.b32 %r10, %r1, -1; activemask.b32 %r11; vote.sync.ballot.b32 %r12, %p1, %r1; \
            shfl.sync.idx.b32 %r13, %r1, 0, 15, -1; ";
        let divergent = [5, 6, 9, 11, 12, 13];
        expect(&format!("{votes} ret;"), &[3, 4, 7, 8, 10], &divergent);
        // After a join all threads meet in order, since no meeting lies in the arm.
        let arm = "@%p1 bra J; A: mov.u32 %r20, 1; J: ";
        expect(&format!("{arm}{votes} ret;"), &[3, 4, 7, 8, 10], &divergent);
        // With one in the arm its threads may meet those after it.
        let arm = "@%p1 bra J; A: bar.warp.sync -1; J: ";
        expect(&format!("{arm}{votes} ret;"), &[], &[3, 4, 7, 8, 10]);
        expect(
            "@%p1 vote.sync.ballot.b32 %r3, %p2, 31; vote.sync.ballot.b32 %r4, %p1, -1; ret;",
            &[],
            &[3, 4],
        );
    }

    /// A callee may have meetings of its own, and threads come back from it one after the other.
    #[test]
    fn threads_meet_again_after_a_call() {
        expect(
            "ld.global.u32 %r3, [g]; call f; ld.global.u32 %r4, [g]; bar.sync 0; ld.global.u32 %r5, [g]; ret;",
            &[3, 5],
            &[4],
        );
        let vote = "vote.sync.ballot.b32 %r3, %p1, -1; ret;";
        expect(&format!("call f; {vote}"), &[3], &[]);
        expect(&format!("@%p2 call f; {vote}"), &[3], &[]);
        expect(&format!("@%p1 call f; {vote}"), &[], &[3]);
        expect(&format!("@%p1 bra J; A: call f; J: {vote}"), &[], &[3]);
        // Once a meeting is found where only some go, those before it are no places to wait for all, either.
        let early = "call f; bar.sync 0; ld.global.u32 %r6, [g]; @%p1 bra J;";
        expect(&format!("{early} A: barrier.sync 0; J: st.global.u32 [g], %r6; ret;"), &[], &[6]);
        expect(&format!("{early} A: mov.u32 %r7, 1; J: st.global.u32 [g], %r6; ret;"), &[6], &[]);
    }

    #[test]
    fn tables_split_warps() {
        let built = kernel(
            "mov.u32 %r3, 1; t: .branchtargets A, B; brx.idx %r1, t; A: mov.u32 %r3, 2; B: st.global.u32 [g], %r3; \
             u: .branchtargets C, D; brx.idx %r2, u; C: st.global.u32 [g], 1; D: ret;",
        );
        let (.., verdicts) = verdicts(&built);
        let function = built.function();
        let is_table =
            |inst: &InstId| function.operands_of(*inst).iter().any(|operand| operand.as_table().is_some());
        let tables: Vec<InstId> = (0..function.heads.len()).map(Id::new).filter(is_table).collect();
        let found: Vec<bool> =
            tables.iter().map(|&inst| verdicts.branch_is_uniform(&function, inst)).collect();
        assert_eq!(found, [false, true]);
        assert!(!verdicts.is_uniform(built.vreg("%r", 3)));
    }

    #[test]
    fn what_a_called_function_is_given_is_divergent() {
        let mut built = module(
            ".version 8.6\n.target sm_90\n.address_size 64\n.func (.param .b32 q) f(.param .b32 a) \
             {.reg .b32 %r<9>; ld.param.u32 %r1, [a]; mov.u32 %r2, %ctaid.x; st.param.b32 [q], %r1; ret;}"
                .to_owned(),
        );
        built.analyze();
        let (.., verdicts) = verdicts(&built);
        assert!(!verdicts.is_uniform(built.vreg("%r", 1)));
        assert!(verdicts.is_uniform(built.vreg("%r", 2)));
    }

    #[test]
    fn irreducible_regions_are_taken_for_the_worst() {
        let built = kernel(
            "mov.u32 %r3, 0; @%p2 bra B; A: add.u32 %r3, %r3, 1; B: add.u32 %r3, %r3, 2; setp.lt.u32 %p3, %r3, 9; \
             @%p3 bra A; X: mov.u32 %r4, 1; st.global.u32 [g], %r4; ret;",
        );
        let (.., verdicts) = verdicts(&built);
        assert!(!verdicts.is_uniform(built.vreg("%r", 3)) && !verdicts.is_uniform(built.vreg("%p", 3)));
        assert!(verdicts.is_uniform(built.vreg("%r", 4)));
        // Of the region, only the branch leads threads apart.
        let alike: Vec<bool> = (0..4).map(|block| verdicts.block_goes_alike(BlockId(block))).collect();
        assert_eq!(alike, [true, true, false, true]);
    }

    #[test]
    fn a_convergent_instruction_moves_where_the_same_threads_go() {
        // 0 -> {1 by some, 2 = join} -> 2; 2 -> {3 by all or none, 4}.
        let built = kernel(
            "@%p1 bra J; A: mov.u32 %r3, 1; J: mov.u32 %r4, 1; @%p2 bra K; B: mov.u32 %r5, 1; K: mov.u32 %r6, 1; ret;",
        );
        let (nest, _, verdicts) = verdicts(&built);
        let function = built.function();
        let mut same = SameThreads::default();
        same.compute(&function, &nest);
        let may = |from: usize, to: usize| {
            let inst = function.insts_of(BlockId::new(from)).next().unwrap();
            verdicts.may_move_convergent(&function, &nest, &same, inst, BlockId::new(to))
        };
        assert!(may(0, 2) && may(2, 0) && may(2, 4) && may(3, 4));
        assert!(!may(0, 1) && !may(1, 2) && !may(1, 4));
        let executed: Vec<bool> = (0..5).map(|block| verdicts.is_executed_by_all(BlockId(block))).collect();
        assert_eq!(executed, [true, false, true, true, true]);
        // The same with an early return: after it fewer threads are alive.
        let built = kernel("@%p1 bra E; A: mov.u32 %r4, 1; bra K; K: mov.u32 %r5, 1; E: ret;");
        let (nest, _, verdicts) = verdicts_of(&built);
        let function = built.function();
        same.compute(&function, &nest);
        let inst = function.insts_of(BlockId(1)).next().unwrap();
        assert!(!verdicts.may_move_convergent(&function, &nest, &same, inst, BlockId(0)));
        assert!(verdicts.may_move_convergent(&function, &nest, &same, inst, BlockId(2)));
    }
}
