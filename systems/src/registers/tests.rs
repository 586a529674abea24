//! The machine's view, by kernels of a few lines.

use super::{COEFFICIENTS, Callees, Estimator, Features, Mix, Promises, Target, forecast};
use crate::check::tests::run;
use crate::flow::split_at_control_flow;
use crate::ssa::{build_ssa, leave_ssa};
use bevy_ecs::system::Res;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{CodeId, Id};
use ptxopt_engine::edit::Editor;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::analyze::{AnalysisScratch, annotate};
use ptxopt_engine::graph::edges::Graph;
use ptxopt_engine::graph::nest::{LoopNest, LoopNests, NestScratch, build_nest};
use ptxopt_engine::ptx::reader::{ReaderScratch, read};
use ptxopt_engine::ptx::scan::Module;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::store::tables::CodeTables;
use std::sync::Mutex;

/// The features of a kernel that has read its parameter, a pointer, into `%rd1`, and `%tid.x` into `%r1`.
fn of(body: &str) -> Features {
    let (features, ..) = estimate(body);
    features
}

/// Slots up to the last one that a value of such a kernel gets.
fn allocated(body: &str) -> u32 {
    let (_, slots, _) = estimate(body);
    slots
}

/// Both of these, and what each call names with what lives across it.
fn estimate(body: &str) -> (Features, u32, Vec<(usize, u32)>) {
    let text = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.extern .func f(.param .b32 a);\n\
         .entry k(.param .u64 p, .param .u32 n) {{\n\
         .reg .b16 %h<9>; .reg .b32 %r<99>; .reg .b64 %rd<99>; .reg .f32 %f<99>; .reg .f64 %d<9>; .reg .pred %p<9>;\n\
         ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x;\n{body}\nret;\n}}\n"
    );
    let (mut tables, mut forms) = (CodeTables::default(), FormTable::default());
    let module = Module::scan(text.as_bytes()).unwrap_or_else(|error| panic!("{error:?}"));
    read(&module, &module.functions, &mut forms, &mut ReaderScratch::default(), &mut tables)
        .unwrap_or_else(|error| panic!("{error:?}"));
    let blocks = tables.code_spans[0].blocks.range();
    let graph = Graph { edges: &tables.block_edges[blocks.clone()], pool: &tables.pools.edges };
    let (heads, orders) = (&mut tables.block_heads[blocks.clone()], &mut tables.block_orders[blocks]);
    let mut nest = LoopNest::default();
    annotate(graph, heads, orders, &mut AnalysisScratch::default());
    build_nest(graph, heads, orders, &mut NestScratch::default(), &mut nest);
    let (function, mut estimator) = (tables.view(), Estimator::default());
    let function = function.function(CodeId::new(0));
    let features = estimator.look_at(&function, &forms, &nest);
    let slots = estimator.allocated(&function).expect("the function is small");
    (features, slots, estimator.calls.iter().map(|call| (call.names.len(), call.across)).collect())
}

/// Slots at the peak of the code as it stands.
fn need(body: &str) -> u32 {
    of(body).need
}

#[test]
fn constants_and_parameters_take_no_register() {
    assert_eq!(need("st.global.u32 [%rd1], %r1;"), 1 + 2, "the index, and the address for the store alone");
    let many = "mov.u32 %r2, 2; ld.param.u32 %r3, [n]; mov.u32 %r4, %ntid.x; mad.lo.u32 %r5, %r1, %r4, %r3; \
                add.u32 %r6, %r5, %r2; st.shared.u32 [%r1], %r6;";
    assert_eq!(need(many), 2);
    assert_eq!(of(many).with_uniform, 2, "and no uniform one");
}

#[test]
fn copies_and_offsets_share_a_register() {
    let chain = |between: &str, address: &str| {
        need(&format!(
            "mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; {between} \
             ld.global.u32 %r2, [{address}]; ld.global.u32 %r3, [%rd3]; add.u32 %r4, %r2, %r3; st.global.u32 [%rd3], %r4;"
        ))
    };
    assert_eq!(chain("add.s64 %rd4, %rd3, 16;", "%rd4"), chain("", "%rd3+16"));
    assert_eq!(chain("mov.u64 %rd4, %rd3;", "%rd4"), chain("", "%rd3"));
    // A value that is read otherwise, too, is one of its own.
    let kept = "add.s64 %rd4, %rd3, 16; st.shared.u64 [%r1], %rd4;";
    assert!(chain(kept, "%rd4") > chain("", "%rd3+16"));
}

#[test]
fn what_nothing_reads_takes_no_register() {
    let dead = "add.u32 %r2, %r1, 1; add.u32 %r3, %r1, 2; add.u32 %r4, %r2, %r3;";
    assert_eq!(of(&format!("{dead} st.shared.u32 [%r1], %r1;")).insts, of("st.shared.u32 [%r1], %r1;").insts);
}

#[test]
fn loads_go_early_up_to_the_next_barrier() {
    let pairs = |between: &str| {
        let body: String = (2..10)
            .map(|n| format!("ld.shared.u32 %r{n}, [%r1+{n}]; add.u32 %r20, %r1, %r{n}; {between} ",))
            .enumerate()
            .map(|(at, text)| text.replace("%r20", &format!("%r{}", 20 + at)))
            .collect();
        let sums: String = (21..28).map(|n| format!("add.u32 %r20, %r20, %r{n}; ")).collect();
        of(&format!("{body} {sums} st.shared.u32 [%r1], %r20;"))
    };
    let free = pairs("");
    assert!(free.hoisted >= 9, "all eight loads at the same time: {free:?}");
    let fenced = pairs("bar.sync 0;");
    assert_eq!(fenced.hoisted, fenced.need, "one at a time");
}

#[test]
fn loops_are_unrolled() {
    let body = "mov.u32 %r2, 0; L: ld.shared.u32 %r3, [%r2]; add.u32 %r4, %r4, %r3; add.u32 %r2, %r2, 4; \
                setp.lt.u32 %p1, %r2, 64; @%p1 bra L; st.shared.u32 [%r1], %r4;";
    let features = of(body);
    assert_eq!(features.depth, 1);
    assert_eq!(features.unrolled, features.need + 3);
}

#[test]
fn subroutines_need_registers_of_their_own() {
    let of_operation = |operation: &str| {
        of(&format!(
            "ld.shared.f64 %d1, [%r1]; ld.shared.f64 %d2, [%r1+8]; {operation} %d3, %d1, %d2; st.shared.f64 [%r1], %d3;"
        ))
    };
    let (sum, quotient) = (of_operation("add.f64"), of_operation("div.rn.f64"));
    assert_eq!(quotient.need, sum.need + 16);
    assert!(quotient.has_long_subroutine && !sum.has_long_subroutine);
}

#[test]
fn a_budget_bounds_the_forecast() {
    let loads: String = (10..90).map(|n| format!("ld.volatile.shared.f32 %f{n}, [%r1+{n}]; ")).collect();
    let stores: String = (10..90).map(|n| format!("st.volatile.shared.f32 [%r1+{n}], %f{n}; ")).collect();
    let features = of(&format!("{loads} bar.sync 0; {stores}"));
    assert!(features.need > 80);
    let of_limit = |limit| forecast(&features, Default::default(), 90, Promises::default(), limit);
    let free = of_limit(None);
    assert!(free.registers > 64 && free.spills == 0, "{free:?}");
    let tight = of_limit(Some(32));
    assert!(
        tight.registers == 32 && tight.spills == free.registers - 32 && tight.warps > free.warps,
        "{tight:?}"
    );
}

/// Uniform values have a file of their own, of 63 registers. What does not fit takes registers like any other value.
#[test]
fn too_many_uniform_values_take_registers() {
    let kernel = |count: usize| {
        let make = |at| format!("mul.lo.u32 %r{}, %r98, {}; ", at + 2, 3 + 2 * at);
        let read = |at| format!("mad.lo.u32 %r1, %r1, %r1, %r{}; ", at + 2);
        let body: String = (0..count).map(make).chain((0..count).map(read)).collect();
        of(&format!("mov.u32 %r98, %ctaid.x; {body} st.shared.u32 [%r1], %r1;"))
    };
    // The index has a register, and each product a uniform one.
    let fits = kernel(60);
    assert_eq!((fits.need, fits.with_uniform), (1, 61));
    let spills = kernel(70);
    assert_eq!((spills.need, spills.with_uniform), (71, 71));
}

static SEEN: Mutex<Vec<(u32, u32, u32)>> = Mutex::new(Vec::new());

static LOOK: Phase = Phase {
    name: "look",
    needs: &[Fact::ControlFlow, Fact::Loops],
    install: |slot| {
        slot.init_resource::<LoopNests>();
        slot.add(look);
    },
    ..Phase::NOTHING
};

fn look(mut editor: Editor, nests: Res<LoopNests>) {
    editor.each(CodeFlags::SELECTED, |f| {
        let (function, forms) = f.view_and_forms();
        let features =
            Estimator::default().look_at(&function, forms, nests.get(f.code()).expect("it is needed"));
        SEEN.lock().unwrap().push((features.need, features.with_uniform, features.loop_need));
    });
}

/// What a phi reads lives up to the ends of the blocks from which it comes, and no further.
#[test]
fn in_ssa_form_as_many_live_as_without() {
    let each = |text: &str| (10..30).map(|at| text.replace('#', &at.to_string())).collect::<String>();
    let text = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.entry k(.param .u64 p) {{ .reg .b32 %r<99>; .reg .pred %p<9>;\n\
         mov.u32 %r1, %tid.x; {} mov.u32 %r2, 0; L: {} add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r1; @%p1 bra L;\n\
         @%p2 bra M; mov.u32 %r10, %r11; M: {} ret; }}",
        each("ld.shared.u32 %r#, [%r1+#];"),
        each("mad.lo.u32 %r#, %r#, %r1, %r2;"),
        each("st.shared.u32 [%r1+#], %r#;"),
    );
    let output = run(
        text.as_bytes(),
        &[&split_at_control_flow::PHASE, &build_ssa::PHASE, &LOOK, &leave_ssa::PHASE, &LOOK],
    );
    assert_eq!(output.functions[0].left, None);
    let seen = std::mem::take(&mut *SEEN.lock().unwrap());
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0], seen[1]);
    assert!(seen[0].0 >= 20, "{seen:?}");
}

/// `%rd3` has two slots, `%r1` has one, and so has each value.
#[test]
fn offsets_share_the_register_of_an_address() {
    let sum = "add.u32 %r5, %r2, %r3; add.u32 %r5, %r5, %r4; st.shared.u32 [%r1], %r5;";
    let loads = "add.s64 %rd4, %rd3, 16; add.s64 %rd5, %rd3, 32; ld.global.u32 %r2, [%rd4]; ld.global.u32 %r3, [%rd5];";
    let address = "mul.wide.u32 %rd3, %r1, 4;";
    assert_eq!(need(&format!("{address} {loads} ld.global.u32 %r4, [%rd3]; {sum}")), 2 + 1 + 2);
    // What is written again has another value than its copy.
    let copy = "ld.shared.u32 %r2, [%r1]; mov.u32 %r3, %r2;";
    let stores = "st.shared.u32 [%r1], %r3; st.shared.u32 [%r1+4], %r2;";
    assert_eq!(need(&format!("{copy} {stores}")), 1 + 1);
    assert_eq!(need(&format!("{copy} add.u32 %r2, %r2, 1; {stores}")), 1 + 2);
}

/// A widened integer is its lower half; any other conversion makes a value.
#[test]
fn conversions_make_values_unless_they_widen() {
    let convert = |conversion: &str, to: &str| {
        need(&format!(
            "ld.shared.u32 %r2, [%r1]; {conversion} {to}, %r2; st.shared.b32 [%r1], %r2; st.shared.b{} [%r1+8], {to};",
            if to.starts_with("%rd") { 64 } else { 32 }
        ))
    };
    assert_eq!(convert("cvt.u64.u32", "%rd2"), 1 + 1);
    assert_eq!(convert("cvt.rn.f32.u32", "%f2"), 1 + 1 + 1);
}

/// Registers beside those that live, as measured with the assembler.
#[test]
fn each_subroutine_needs_as_many_registers_as_were_measured() {
    for (operation, plain, prefix, bits, registers) in [
        ("div.rn.f32 %f3, %f1, %f2", "add.f32 %f3, %f1, %f2", "%f", 32, 8),
        ("rcp.rn.f32 %f3, %f1", "neg.f32 %f3, %f1", "%f", 32, 7),
        ("sqrt.rn.f32 %f3, %f1", "neg.f32 %f3, %f1", "%f", 32, 4),
        ("rcp.approx.f32 %f3, %f1", "neg.f32 %f3, %f1", "%f", 32, 0),
        ("rcp.rn.f64 %d3, %d1", "neg.f64 %d3, %d1", "%d", 64, 6),
        ("sqrt.rn.f64 %d3, %d1", "neg.f64 %d3, %d1", "%d", 64, 12),
        ("rem.u64 %rd3, %rd1, %rd2", "add.u64 %rd3, %rd1, %rd2", "%rd", 64, 13),
        ("div.u32 %r3, %r5, %r2", "add.u32 %r3, %r5, %r2", "%r", 32, 5),
        ("div.u32 %r3, %r2, 7", "add.u32 %r3, %r2, 7", "%r", 32, 0),
    ] {
        let one = if prefix == "%r" { 5 } else { 1 };
        let kernel = |operation: &str| {
            of(&format!(
                "ld.shared.b{bits} {prefix}{one}, [%r1]; ld.shared.b{bits} {prefix}2, [%r1+8]; {operation}; \
                 st.shared.b{bits} [%r1], {prefix}3;"
            ))
        };
        let (with, without) = (kernel(operation), kernel(plain));
        assert_eq!((with.need, with.mix.extra), (without.need + registers, registers), "{operation}");
    }
}

/// One of each, and what nothing moves across.
#[test]
fn instructions_are_counted_by_what_they_do() {
    let body = "ld.global.u32 %r2, [%rd1]; ld.shared.u32 %r3, [%r1]; ld.volatile.shared.u32 %r4, [%r1]; bar.sync 0; \
                atom.shared.add.u32 %r5, [%r1], %r2; shfl.sync.bfly.b32 %r6, %r3, 1, 31, -1; mul.lo.u32 %r7, %r6, %r4; \
                setp.lt.u32 %p1, %r7, %r5; @%p1 add.u32 %r7, %r7, %r2; cvt.rn.f32.u32 %f1, %r7; ex2.approx.f32 %f2, %f1; \
                fma.rn.f32 %f3, %f2, %f1, %f2; sqrt.rn.f32 %f4, %f3; cvt.f64.f32 %d1, %f4; add.f64 %d2, %d1, %d1; \
                st.global.f64 [%rd1], %d2;";
    let expected = Mix {
        loads: 1,
        shared_loads: 1,
        stores: 1,
        atomics: 1,
        // The volatile load, the barrier, the atomic, the shuffle, and the return.
        fixed: 5,
        double: 1,
        single: 1,
        products: 1,
        divisions: 1,
        special: 1,
        exchanges: 1,
        choices: 1,
        guarded: 1,
        wide: 2,
        widest: 2,
        extra: 4,
        ..Mix::default()
    };
    assert_eq!(of(body).mix, expected);
}

/// Eight words each of which is the index of another load: the address of that is computed when its turn comes, of two slots, and
/// not for all eight at once.
#[test]
fn an_address_waits_for_the_load_that_it_is_computed_from() {
    let body: String = (2..10)
        .map(|n| {
            format!(
                "ld.shared.u32 %r{n}, [%r1+{n}00]; mul.wide.u32 %rd{n}, %r{n}, 4; ld.global.u32 %r2{n}, [%rd{n}]; \
                 add.u32 %r30, %r30, %r2{n}; "
            )
        })
        .collect();
    let features = of(&format!("mov.u32 %r30, 0; {body} st.shared.u32 [%r1], %r30;"));
    // Beside the address and the words the thread's number and the sum, and one word when its index is not yet gone.
    assert!((8..=8 + 2 + 3).contains(&features.hoisted), "{features:?}");
}

#[test]
fn warps_that_trade_registers_are_noted() {
    let store = "st.shared.u32 [%r1], %r1;";
    assert!(of(&format!("setmaxnreg.inc.sync.aligned.u32 96; {store}")).sets_limit && !of(store).sets_limit);
}

#[test]
fn generations_are_told_apart() {
    let of = |sm: u32| {
        let values = Features::default().values(sm, Callees::default());
        let value = |name: &str| values[COEFFICIENTS.iter().position(|&(other, _)| other == name).unwrap()];
        ["sm_80", "sm_100", "sm_75_constant"].map(value)
    };
    assert_eq!(of(75), [0.0, 0.0, 1.0]);
    assert_eq!([80, 86, 90, 100, 120].map(of).map(|[of_80, ..]| of_80), [1.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!([80, 86, 90, 100, 120].map(of).map(|[_, from_100, _]| from_100), [0.0, 0.0, 0.0, 1.0, 1.0]);
}

/// Where the header says nothing, blocks have 128 threads.
#[test]
fn warps_are_those_of_blocks_of_the_size_that_is_promised() {
    let warps = |threads: u32| {
        let promises = Promises { threads, ..Promises::default() };
        let forecast = forecast(&Features::default(), Callees::default(), 86, promises, None);
        assert_eq!(forecast.warps, Target::of(86).resident_warps(forecast.registers, threads.max(128)));
        forecast.warps
    };
    // 16 blocks of four warps or more are more than the 48 warps of an SM.
    assert_eq!([warps(0), warps(128), warps(1024)], [48, 48, 32]);
}

/// Values that live at the same time have places of their own; one that nothing reads leaves its place at once.
#[test]
fn places_are_taken_as_long_as_a_value_lives() {
    let loads: String = (2..14).map(|n| format!("ld.volatile.shared.u32 %r{n}, [%r1+{n}]; ")).collect();
    let stores: String = (2..14).map(|n| format!("st.volatile.shared.u32 [%r1+{n}], %r{n}; ")).collect();
    assert_eq!(allocated(&format!("{loads} bar.sync 0; {stores}")), 12 + 1);
    let store = "st.volatile.shared.u32 [%r1], %r1;";
    assert_eq!(allocated(&format!("{loads} {store}")), 1 + 1);
}

/// The histograms have 512 slots.
#[test]
fn places_end_where_there_are_no_more() {
    let loads: String = (0..600).map(|n| format!("ld.volatile.shared.u32 %v{n}, [%r1+{n}]; ")).collect();
    let stores: String = (0..600).map(|n| format!("st.volatile.shared.u32 [%r1+{n}], %v{n}; ")).collect();
    assert_eq!(allocated(&format!(".reg .b32 %v<600>; {loads} {stores}")), 512);
}

/// The function and the parameter, while the thread's number lives on.
#[test]
fn calls_are_listed_with_what_they_name() {
    let call = "{ .param .b32 a; st.param.b32 [a], %r1; call f, (a); } st.shared.u32 [%r1], %r1;";
    let (_, _, calls) = estimate(call);
    assert_eq!(calls, [(2, 1)]);
}

/// Of the slots that live after each instruction: one, two, none, and none after the return.
#[test]
fn the_mean_is_of_what_lives_after_each_instruction() {
    assert_eq!(of("ld.shared.u32 %r2, [%r1]; st.shared.u32 [%r1], %r2;").mean, 4 * (1 + 2) / 4);
}

/// Each store needs an operand in registers: once at its place, and once held from the first one on.
#[test]
fn operands_of_stores_may_be_held_in_registers() {
    let features = of("ld.param.u32 %r2, [n]; st.shared.u32 [%r1], %r2; st.global.u32 [%rd1], %r1;");
    assert_eq!((features.need, features.held), (1 + 2, 1 + 2 + 1));
}

/// Both halves of a pair that is packed live on.
#[test]
fn a_pair_of_two_values_is_a_value() {
    let pack = "ld.shared.u32 %r2, [%r1]; ld.shared.u32 %r3, [%r1+4]; mov.b64 %rd2, {%r2, %r3};";
    let stores = "st.shared.u64 [%r1+8], %rd2; st.shared.u32 [%r1+16], %r2; st.shared.u32 [%r1+20], %r3;";
    assert_eq!(need(&format!("{pack} {stores}")), 1 + 1 + 1 + 2);
}

/// Before sm_100 there are no floats in uniform registers.
#[test]
fn a_uniform_float_takes_a_register() {
    let body = "ld.shared.f32 %f2, [%r1]; ld.param.u32 %r2, [n]; cvt.rn.f32.u32 %f1, %r2; add.f32 %f3, %f2, %f1; \
                st.shared.f32 [%r1], %f3;";
    assert_eq!(need(body), 1 + 1 + 1);
}

/// What the block before has computed last is known when a block starts.
#[test]
fn loads_of_a_block_use_what_the_one_before_computed_last() {
    let body = "ld.shared.u32 %r2, [%r1]; L: ld.shared.u32 %r3, [%r2]; st.shared.u32 [%r1], %r3;";
    assert_eq!(of(body).hoisted, 1 + 1);
}

/// Warps that trade registers start with what the header says.
#[test]
fn a_kernel_that_sets_its_limit_takes_what_it_is_given() {
    let features = Features { sets_limit: true, ..Features::default() };
    let of = |registers| {
        let promises = Promises { registers, ..Promises::default() };
        forecast(&features, Callees::default(), 90, promises, None).registers
    };
    assert_eq!(of(168), 168);
    assert!(of(0) < 40, "{}", of(0));
}
