//! Every verifier inside a shard: after a phase that breaks its invariant and no earlier one, the function is left, and the
//! verifier is the one that says why. The unit tests beside each say what it sees; these say that it is asked.

use super::ALL;
use super::tests::run;
use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, CodeId, Id, InstId, Maybe, Span, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::dataflow::liveness::LiveSets;
use ptxopt_engine::dataflow::uniformity::Uniformities;
use ptxopt_engine::edit::Editor;
use ptxopt_engine::run::facts::{Fact, Memo};
use ptxopt_engine::run::phase::{Phase, Slot};
use ptxopt_engine::store::columns::{BlocksMut, CodeObjectsMut, InstsMut, PoolsResource, VRegsMut};
use ptxopt_engine::values::reaching::ReachingValues;

/// A verifier, a body of a kernel, and what breaks that.
struct Case {
    check: &'static str,
    body: &'static str,
    breaks: Phase,
}

const fn case(
    check: &'static str,
    body: &'static str,
    needs: &'static [Fact],
    install: fn(&mut Slot<'_>),
) -> Case {
    Case { check, body, breaks: Phase { name: "breaks", needs, install, ..Phase::NOTHING } }
}

const REGISTERS: &str = ".reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>; .reg .pred %p<9>;";

const MMA: &str = "wgmma.fence.sync.aligned; \
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, %rd1, 1, 1, 1, 0; \
    wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; st.global.f32 [g], %f1; ret;";

/// %r2 is chosen by %p1, which is divergent.
const CHOICE: &str = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 9; mov.u32 %r2, 1; @%p1 bra J; A: mov.u32 %r2, 2; \
    J: st.global.u32 [g], %r2; ret;";

static CASES: [Case; 21] = [
    case("rows", "mov.b32 %r1, 1; ret;", &[], |slot| {
        slot.add(|mut insts: InstsMut| insts.columns().0[0].block = BlockId(7));
    }),
    case("forms", "add.s32 %r1, %r2, 3; sub.s32 %r1, %r2, 3; ret;", &[], |slot| {
        slot.add(|mut insts: InstsMut| {
            let heads = insts.columns().0;
            heads[0].opcode = heads[1].opcode;
        });
    }),
    // Registers are numbered as they are named first.
    case("operand_types", "add.s32 %r1, %r2, 3; st.global.f32 [g], %f1; ret;", &[], |slot| {
        slot.add(|mut insts: InstsMut| put(&mut insts, 0, 1, VRegId(2)));
    }),
    case("ssa", "mov.u32 %r1, 1; mov.u32 %r1, 2; ret;", &[], |slot| {
        slot.add(|mut codes: CodeObjectsMut| codes.columns().0[0].flags |= CodeFlags::SSA);
    }),
    case(
        "structure",
        "@%p1 bra E; @%p2 bra E; mov.b32 %r1, 1; bra J; E: mov.b32 %r1, 2; J: mov.b32 %r1, 3; ret;",
        &[],
        |slot| {
            slot.add(|mut codes: CodeObjectsMut| codes.columns().0[0].flags |= CodeFlags::STRUCTURIZED);
        },
    ),
    case("edges", "bra L; L: ret;", &[], |slot| {
        slot.add(|mut blocks: BlocksMut| blocks.columns().1[0].succs.count = 0);
    }),
    case("terminators", "mov.u32 %r1, 1; @%p1 bra L; L: ret;", &[], |slot| {
        slot.add(|mut insts: InstsMut| swap(&mut insts, 0));
    }),
    case("tables", "fp: .callprototype _ (); mov.b64 %rd1, f; call %rd1, (), fp; ret;", &[], |slot| {
        slot.add(|mut pools: ResMut<PoolsResource>| pools.0.tables[0].text = Span::default());
    }),
    case("async_registers", "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1], {%r2}; ret;", &[], |slot| {
        slot.add(|mut vregs: VRegsMut| {
            vregs.columns().0.iter_mut().for_each(|vreg| vreg.flags -= VRegFlags::PINNED);
        });
    }),
    // The access changes places with the wait.
    case("in_flight", MMA, &[], |slot| slot.add(|mut insts: InstsMut| swap(&mut insts, 3))),
    case("call_sequences", "{ .param .b32 a; st.param.b32 [a], %r1; call h, (a); } ret;", &[], |slot| {
        slot.add(|mut insts: InstsMut| swap(&mut insts, 0))
    }),
    case("anchors", ".loc 1 10 3\n mov.b32 %r1, 1; ret;", &[], |slot| {
        slot.add(|mut pools: ResMut<PoolsResource>| pools.0.anchors[0].text.first += 1);
    }),
    case("control_flow", "@%p1 bra L; L: ret;", &[Fact::ControlFlow], |slot| {
        slot.add(|mut blocks: BlocksMut| blocks.columns().2[1].idom = Maybe::NONE);
    }),
    // A smaller solution of the equation of dominators, which the fast verifier lets pass.
    case(
        "control_flow_full",
        "A: mov.b32 %r1, 1; B: mov.b32 %r1, 1; C: bra B; bra A; bra C;",
        &[Fact::ControlFlow],
        |slot| slot.add(|mut blocks: BlocksMut| blocks.columns().2[2].idom = Maybe::some(BlockId(0))),
    ),
    case("liveness", "L: @%p1 bra L; ret;", &[Fact::ControlFlow, Fact::Liveness], |slot| {
        slot.init_resource::<LiveSets>();
        slot.add(|mut sets: ResMut<LiveSets>| {
            let set = sets.of(CodeId::new(0));
            let vreg = set.globals()[0];
            set.damage(true, BlockId(0), vreg, false);
        });
    }),
    // A larger solution of the equation of live sets: the endless loop A holds what only B reads.
    case(
        "liveness_full",
        "st.global.b32 [g], %r1; B: @%p1 bra B; A: st.global.b32 [g], %r1; bra A;",
        &[Fact::ControlFlow, Fact::Liveness],
        |slot| {
            slot.init_resource::<LiveSets>();
            slot.add(|mut sets: ResMut<LiveSets>| {
                for live_in in [true, false] {
                    sets.of(CodeId::new(0)).damage(live_in, BlockId(2), VRegId(1), true);
                }
            });
        },
    ),
    case("uniformity", CHOICE, &[Fact::Uniformity], |slot| call_uniform(slot, VRegId(0))),
    case("uniformity_full", CHOICE, &[Fact::Uniformity], |slot| call_uniform(slot, VRegId(2))),
    case("dead_code", "mov.b32 %r1, 1; ret;", &[Fact::ControlFlow], |slot| {
        slot.add(|mut codes: CodeObjectsMut| {
            let (states, facts, ..) = codes.columns();
            facts[0].remember(Memo::NothingDead, &states[0]);
        });
    }),
    case("def_use", "mov.u32 %r1, 1; add.u32 %r2, %r1, %r1; ret;", &[Fact::DefUse], |slot| {
        slot.add(|mut insts: InstsMut| put(&mut insts, 1, 2, VRegId(1)));
    }),
    case("definitions", "mov.u32 %r1, 1; mov.u32 %r2, 2; ret;", &[Fact::ControlFlow], |slot| {
        let define = |mut editor: Editor, mut values: ResMut<ReachingValues>| {
            editor.each(CodeFlags::empty(), |mut f| {
                values.of(&mut f);
            });
        };
        let redefine = |mut insts: InstsMut| {
            let (heads, operands, ..) = insts.columns();
            let result = Operand::register(VRegId(0)).as_definition(false);
            operands[1].get_mut(heads[1].operand_count, &mut [])[0] = result;
        };
        slot.add((define, redefine).chain());
    }),
];

/// Puts a register into an operand of an instruction.
fn put(insts: &mut InstsMut, inst: usize, slot: usize, vreg: VRegId) {
    let (heads, operands, ..) = insts.columns();
    operands[inst].get_mut(heads[inst].operand_count, &mut [])[slot] = Operand::register(vreg);
}

/// Lets an instruction and the next one change places.
fn swap(insts: &mut InstsMut, first: usize) {
    let (heads, operands, ..) = insts.columns();
    heads.swap(first, first + 1);
    operands.swap(first, first + 1);
}

/// Makes a divergent register uniform, in the verdicts and in its row.
fn call_uniform(slot: &mut Slot<'_>, vreg: VRegId) {
    slot.init_resource::<Uniformities>();
    slot.add(move |mut verdicts: ResMut<Uniformities>, mut vregs: VRegsMut| {
        verdicts.of(CodeId(0)).damage(vreg, true);
        vregs.columns().0[vreg.index()].flags |= VRegFlags::UNIFORM;
    });
}

#[test]
fn every_verifier_is_asked_and_heard() {
    for Case { check, body, breaks } in &CASES {
        let text = format!(
            ".version 8.6\n.target sm_90a\n.global .u32 g;\n.file 1 \"k.cu\"\n.func f();\n.func h(.param .b32 a);\n\
             .entry k() {{ {REGISTERS} {body} }}\n.entry other() {{ ret; }}\n"
        );
        let reasons = |phases: &[&'static Phase]| {
            let functions = run(text.as_bytes(), phases).functions;
            functions.into_iter().map(|function| function.left).collect::<Vec<_>>()
        };
        assert_eq!(reasons(&[&Phase::NOTHING]), [None, None], "{check}");
        let [left, other] = &reasons(&[breaks])[..] else { panic!("two functions") };
        let reason = left.as_deref().unwrap_or("nothing is wrong");
        assert!(reason.contains(&format!("check {check} failed after breaks: ")), "{check}: {reason}");
        assert_eq!(*other, None, "{check}");
    }
}

/// Both change what they change well, but do not say all that they break.
static SILENT: [Phase; 2] = [
    Phase {
        name: "deletes",
        breaks: &[Fact::Definitions],
        install: |slot| {
            slot.add(|mut editor: Editor| {
                if let Some(mut change) = editor.edit(CodeId(0)).change_in_place(InstId(0), "deleted") {
                    change.delete(InstId(0));
                }
            });
        },
        ..Phase::NOTHING
    },
    Phase {
        name: "moves",
        breaks: Fact::OF_INSTRUCTIONS,
        install: |slot| {
            slot.add(|mut editor: Editor| {
                if let Some(mut change) = editor.edit(CodeId(0)).change(InstId(0), "moved") {
                    change.move_before(InstId(1), InstId(0));
                }
            });
        },
        ..Phase::NOTHING
    },
];

#[test]
fn what_a_phase_does_not_say_is_undone() {
    let text = ".version 8.6\n.target sm_90a\n.entry k() { .reg .b32 %r<3>; mov.b32 %r1, 1; mov.b32 %r2, 2; ret; }\n";
    for (phase, fact) in SILENT.iter().zip(["Liveness", "ProgramOrder"]) {
        let function = &run(text.as_bytes(), &[phase]).functions[0];
        let [(_, reason)] = &function.undone[..] else { panic!("{:?}", function.undone) };
        assert!(reason.contains(&format!("the phase breaks {fact} and does not say so")), "{reason}");
    }
}

#[test]
fn no_verifier_is_forgotten() {
    let heard = |name: &str| CASES.iter().any(|case| case.check == name);
    let mut others: Vec<&str> = ALL.iter().map(|check| check.name).filter(|name| !heard(name)).collect();
    others.sort_unstable();
    // The inspection stands for the others where none runs after each step; the first look says nothing that they do not.
    assert_eq!(others, ["breaks", "first_look", "inspection"]);
}
