//! The machine's view, by kernels of a few lines.

use super::{Estimator, Features, Promises, forecast};
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
    let text = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.entry k(.param .u64 p, .param .u32 n) {{\n\
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
    Estimator::default().look_at(&tables.view().function(CodeId::new(0)), &forms, &nest)
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
