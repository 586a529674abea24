//! Phases of the tests' own, which do what phases about values do: one inserts, replaces, takes registers, splits blocks, makes
//! phis and fails on every third function; the other takes the phis out again. This file and their steps are all that they
//! needed.

use ptxopt::{Options, Output, Remark, VerifyLevel, optimize, optimize_with_plan, standard};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::InstId;
use ptxopt_components::operand::Operand;
use ptxopt_components::types::PtxType;
use ptxopt_engine::edit::{Editor, FunctionEditor};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::{Phase, Plan, Settings, Step};

/// What the phase reads of the options.
#[derive(Clone, Copy, bevy_ecs::prelude::Resource)]
struct CopySettings {
    /// Constants from here on are left alone.
    constants_end: i32,
}

static PHASE: Phase = Phase {
    name: "copy_constants",
    needs: &[Fact::DefUse],
    breaks: &[
        Fact::ControlFlow,
        Fact::Loops,
        Fact::PostDominators,
        Fact::Liveness,
        Fact::Uniformity,
        Fact::Definitions,
        Fact::ProgramOrder,
    ],
    room_percent: 100,
    install: |slot| slot.add(run),
    ..Phase::NOTHING
};

fn run(mut editor: Editor, settings: bevy_ecs::prelude::Res<CopySettings>) {
    editor.each(CodeFlags::SELECTED, |mut f| copy_constants(&mut f, &settings));
}

/// Gives each addition of a constant a register of its own for the constant, and a block of its own for the sum.
fn copy_constants(f: &mut FunctionEditor<'_>, settings: &CopySettings) {
    let view = f.view();
    let additions: Vec<InstId> = view
        .rows()
        .filter(|(.., operands)| matches!(operands, [_, _, constant] if constant.vreg().is_none()))
        .map(|(inst, ..)| inst)
        .collect();
    for inst in additions {
        let operands = f.view().operands_of(inst).to_vec();
        let ptxopt_components::operand::OperandKind::Int(value) = operands[2].kind() else { continue };
        if value >= settings.constants_end {
            let offset = f.view().places[inst.0 as usize].offset;
            f.missed(offset, "the constant is too large");
            continue;
        }
        let mov = f.forms().mnemonic(b"mov.u32", Default::default());
        let mov = f.forms().form(mov, b"#,#");
        let Some(mut change) = f.change(inst, "a register for a constant") else { return };
        let copy = change.new_vreg(PtxType::B32);
        let constant = change.constant(value as u64, PtxType::U32);
        let first = change.insert_before(inst, mov, &[Operand::register(copy), constant], None);
        let before = change.function().heads[first.0 as usize].block;
        let after = change.split_after(first);
        change.set_ssa(true);
        let chosen = change.new_vreg(PtxType::B32);
        change.phi(after, chosen, &[(before, Operand::register(copy))]);
        change.set_operand(inst, 2, Operand::register(chosen));
        assert_eq!(f.def_use().use_count(copy), 1, "def-use follows at once");
        assert_eq!(f.def_use().only_def(chosen).map(|def| def.position), Some(0));
        // Every third kernel adds a multiple of three. What was done to it until here must not be seen.
        assert!(value % 3 != 0, "the third function");
    }
}

static LEAVE_SSA: Phase = Phase {
    name: "drop_phis",
    needs: &[Fact::DefUse],
    breaks: &[Fact::Liveness, Fact::Uniformity, Fact::Definitions],
    install: |slot| slot.add(drop_phis),
    ..Phase::NOTHING
};

/// Replaces each phi, which has one pair here, by its value.
fn drop_phis(mut editor: Editor) {
    editor.each(CodeFlags::SSA, |mut f| {
        let view = f.view();
        let phis: Vec<InstId> =
            view.rows().filter(|(_, head, _)| head.is_phi()).map(|(inst, ..)| inst).collect();
        for phi in phis {
            let operands = f.view().operands_of(phi).to_vec();
            let mut change = f.required_change();
            assert!(change.replace_uses(operands[0].vreg().expect("it has a result"), operands[2]));
            change.delete(phi);
        }
        f.required_change().set_ssa(false);
    });
}

/// `count` kernels, each with two additions of constants.
fn module(count: usize) -> String {
    let mut text = String::from(".version 8.0\n.target sm_80\n.address_size 64\n");
    for number in 0..count {
        text.push_str(&format!(
            ".visible .entry k{number}(.param .u64 out)\n{{\n.reg .b32 %r<5>;\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [out];\n\
             mov.u32 %r1, %tid.x;\nadd.u32 %r2, %r1, {};\nmul.hi.u32 %r4, %r2, %r1;\nadd.u32 %r3, %r4, 1000;\nst.global.u32 [%rd1], %r3;\nret;\n}}\n",
            number + 1
        ));
    }
    text
}

fn plan(options: &Options, constants_end: i32) -> Plan {
    let mut plan = standard::plan(options, false);
    let last = plan.steps.iter().position(|step| step.number == 94).expect("every plan is inspected");
    for (number, phase) in [(93, &LEAVE_SSA), (91, &PHASE)] {
        let step = Step::new(number, phase);
        plan.steps.insert(last, step);
    }
    plan.limits.growth_percent = 200;
    plan.settings = Settings::default().with(CopySettings { constants_end });
    plan
}

fn run_on(count: usize, options: &Options, constants_end: i32) -> Output {
    optimize_with_plan(module(count).as_bytes(), &plan(options, constants_end)).expect("the module is valid")
}

fn full() -> Options {
    Options { verify: VerifyLevel::Full, ..Options::default() }
}

/// The body of a kernel in the output.
fn body(output: &Output, number: usize) -> String {
    let text = String::from_utf8(output.text.clone()).expect("text in, text out");
    let first = text.find(&format!(".visible .entry k{number}(")).expect("the kernel is there");
    let length = text[first..].find('}').expect("its body ends");
    text[first..first + length].to_owned()
}

#[test]
fn a_phase_that_fails_on_every_third_function_is_undone_for_those() {
    let output = run_on(9, &full(), i32::MAX);
    let undisturbed = optimize(module(9).as_bytes(), &Options::default()).expect("the module is valid");
    assert_eq!(output.report.functions_left, 0);
    let undone: Vec<&str> = output.report.undone.iter().map(|undone| undone.function.as_str()).collect();
    assert_eq!(undone, ["k2", "k5", "k8"]);
    for (number, undone) in [2, 5, 8].into_iter().zip(&output.report.undone) {
        assert_eq!(undone.phase, PHASE.name);
        assert!(undone.reason.contains("the third function"), "{}", undone.reason);
        assert_eq!(body(&output, number), body(&undisturbed, number), "the phases before and after it stand");
    }
    for number in [0, 1, 3, 4, 6, 7] {
        let body = body(&output, number);
        assert_eq!(body.matches("mov.u32 %opt0b32_").count(), 2, "{body}");
        assert!(body.contains(".reg .b32 %opt0b32_<"), "{body}");
        assert!(!body.contains("phi"), "{body}");
    }
}

#[test]
fn fuel_counts_its_changes_and_settings_reach_it() {
    let all = run_on(2, &full(), i32::MAX);
    let changes = |output: &Output| {
        let own = output.report.phases.iter().filter(|phase| phase.name == PHASE.name);
        own.map(|phase| phase.changes).sum::<u64>()
    };
    assert_eq!(changes(&all), 4);
    for limit in 0..=4 {
        let bisected = run_on(2, &Options { bisect: Some(limit), ..full() }, i32::MAX);
        assert_eq!(changes(&bisected), limit);
        let copies = (0..2).map(|number| body(&bisected, number).matches("mov.u32 %opt0b32_").count());
        assert_eq!(copies.sum::<usize>() as u64, limit);
    }
    let remarked = run_on(2, &Options { remarks: true, ..full() }, 100);
    assert_eq!(changes(&remarked), 2);
    let of_phase = |kind: &str| {
        let starts = |remark: &&Remark| remark.to_string().contains(&format!("copy_constants: {kind}: "));
        remarked.remarks.iter().filter(starts).count()
    };
    assert_eq!((of_phase("passed"), of_phase("missed")), (2, 2));
}
