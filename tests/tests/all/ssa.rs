//! SSA form from outside: only the phases between the one that builds it and the one that leaves it see phis.

use bevy_ecs::change_detection::ResMut;
use bevy_ecs::resource::Resource;
use ptxopt::{Options, Status, optimize_with_plan, standard};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_engine::ptx::scan::Module;
use ptxopt_engine::run::phase::{Phase, Slot, Step};
use ptxopt_engine::store::columns::Code;
use ptxopt_tests::modules::{corpus, expect_none, in_parallel};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The steps that build SSA form and leave it.
const SECTION: std::ops::Range<u16> = 23..73;

/// Panics where it sees SSA form. Stands after each step outside of the section.
static OUTSIDE: Phase =
    Phase { name: "outside", install: |slot: &mut Slot<'_>| slot.add(sees_no_phi), ..Phase::NOTHING };

/// Counts phis, and panics where a function that phases work on is not in SSA form. Stands after each step inside.
static INSIDE: Phase = Phase {
    name: "inside",
    install: |slot: &mut Slot<'_>| {
        slot.init_resource::<Seen>();
        slot.add(sees_ssa_form);
    },
    ..Phase::NOTHING
};

/// Phis that were seen, each as often as a step left it.
static PHIS: AtomicUsize = AtomicUsize::new(0);

#[derive(Resource, Default)]
struct Seen(usize);

fn sees_no_phi(code: Code) {
    for function in code.view().functions() {
        assert!(
            !function.state.flags.contains(CodeFlags::SSA),
            "a function in SSA form outside of the section"
        );
        assert!(function.rows().all(|(_, head, _)| !head.is_phi()), "a phi outside of the section");
    }
}

fn sees_ssa_form(code: Code, mut seen: ResMut<Seen>) {
    for function in code.view().functions() {
        let flags = function.state.flags;
        let is_worked_on = flags.contains(CodeFlags::SELECTED | CodeFlags::TERMINATORS_LAST);
        let is_in_ssa = flags.contains(CodeFlags::SSA);
        assert!(is_in_ssa || !is_worked_on || flags.contains(CodeFlags::LEFT), "not in SSA form");
        seen.0 += function.rows().filter(|(_, head, _)| head.is_phi()).count();
    }
    PHIS.fetch_add(std::mem::take(&mut seen.0), Ordering::Relaxed);
}

#[test]
fn nothing_outside_of_the_section_sees_a_phi() {
    let modules = corpus();
    let options = Options::default();
    let verdicts = in_parallel(&modules, |module| {
        let text = module.text();
        let is_debug = Module::scan(&text).expect("the corpus is well-formed").is_debug;
        let mut plan = standard::plan(&options, is_debug);
        let observed = plan.steps.iter().flat_map(|&step| {
            let phase = if !is_debug && SECTION.contains(&step.number) { &INSIDE } else { &OUTSIDE };
            let number = Step::OBSERVERS + step.number;
            [step, Step::new(number, phase)]
        });
        plan.steps = observed.collect();
        let output = optimize_with_plan(&text, &plan).map_err(|error| error.to_string())?;
        let report = &output.report;
        let is_right = report.status == Status::Ok && report.undone.is_empty();
        is_right
            .then_some(())
            .ok_or_else(|| format!("{}: {:?} {:?}", module.name, report.left, report.undone))
    });
    expect_none("modules", &verdicts.into_iter().filter_map(Result::err).collect::<Vec<_>>());
    assert!(PHIS.load(Ordering::Relaxed) > 10_000, "{} phis", PHIS.load(Ordering::Relaxed));
}

/// A maze of blocks that read what some way has not written: more phis than instructions. Some registers stay variables then,
/// and the others become values.
const MAZE: &str = "\
.version 8.0
.target sm_80
.address_size 64
.entry k(.param .u64 out)
{
.reg .pred %p<10>; .reg .b32 %r<26>; .reg .b64 %d<3>;
ld.param.u64 %d1, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; setp.lt.s32 %p0, %r0, 0;
@%p0 bra L2;
L1: shl.b32 %r2, %r0, 28; fma.rn.f32 %r3, %r0, %r2, 0f3F800000; mad.lo.s32 %r4, %r1, %r0, %r1;
setp.lt.s32 %p1, %r0, 8; @%p1 bra L3;
L2: fma.rn.f32 %r5, %r2, %r1, 0f3F800000; and.b32 %r6, %r2, %r2; and.b32 %r7, %r6, %r6;
setp.lt.s32 %p2, %r7, 16; @%p2 bra L5;
L3: ld.global.u32 %r8, [%d1+3592]; st.global.u32 [%d1+692], %r0; add.s32 %r9, %r6, %r5;
setp.lt.s32 %p3, %r6, 24; @%p3 bra L5;
L4: sub.s32 %r9, %r9, %r7; cvt.rn.f32.s32 %r10, %r5; and.b32 %r11, %r5, %r5;
setp.lt.s32 %p4, %r11, 32; @%p4 bra L6;
L5: cvt.rn.f32.s32 %r12, %r7; and.b32 %r13, %r7, %r7; and.b32 %r14, %r13, %r12;
setp.lt.s32 %p5, %r14, 40; @%p5 bra L1;
L6: and.b32 %r15, %r9, %r10; and.b32 %r16, %r15, %r11; mad.lo.s32 %r17, %r11, %r15, %r1;
setp.lt.s32 %p6, %r9, 48; @%p6 bra L8;
L7: mad.lo.s32 %r18, %r16, %r16, %r1; and.b32 %r19, %r12, %r15;
fma.rn.f32 %r20, %r14, %r14, 0f3F800000; setp.lt.s32 %p7, %r16, 56; @%p7 bra L9;
L8: xor.b32 %r21, %r18, -1; cvt.rn.f32.s32 %r22, %r20; mad.lo.s32 %r23, %r20, %r19, %r1;
setp.lt.s32 %p8, %r23, 64; @%p8 bra L3;
L9: add.s32 %r24, %r21, %r19; sub.s32 %r23, %r23, %r24; mul.wide.s32 %d2, %r24, 4;
ld.global.u32 %r25, [%d1+692]; ret;
}
";

#[test]
fn a_function_with_room_for_few_phis_is_brought_into_ssa_form_all_the_same() {
    let output = ptxopt::optimize(MAZE.as_bytes(), &Options::default()).expect("the module is valid");
    assert_eq!((output.report.status, &output.report.undone[..]), (Status::Ok, &[][..]));
}
