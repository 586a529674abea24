//! The search for needed instructions, by both ways of finding joins: listed frontiers, and walks over the tree of dominators.

use super::Needs;
use crate::check::testing::{Built, labelled, modules};
use ptxopt_components::ids::{CodeId, Id, InstId};
use ptxopt_engine::ptx::reader::{ReaderScratch, read};
use ptxopt_engine::ptx::scan::Module;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::reaching::Reaching;

/// Finds what is needed in both ways, checks that they agree, and gives the first.
fn both(function: &FunctionView<'_>) -> Needs {
    let (mut needs, mut by_walks) = (Needs::default(), Needs::default());
    by_walks.walk_always();
    let mut reaching = Reaching::default();
    reaching.start(function);
    needs.find(function, &reaching);
    by_walks.find(function, &reaching);
    for (inst, _, operands) in function.rows() {
        assert_eq!(needs.needs(inst), by_walks.needs(inst), "{inst:?}");
        for vreg in operands.iter().filter(|operand| operand.is_definition()).filter_map(|o| o.vreg()) {
            assert_eq!(
                needs.reads_result(&reaching, inst, vreg),
                by_walks.reads_result(&reaching, inst, vreg),
                "{inst:?} {vreg:?}"
            );
        }
    }
    needs
}

#[test]
fn walks_find_what_frontiers_find_in_the_corpus() {
    let mut count = 0;
    for path in modules().into_iter().filter(|path| path.to_string_lossy().contains("tests/corpus")) {
        let mut built = Built { text: std::fs::read(&path).unwrap(), ..Built::default() };
        let module = Module::scan(&built.text).unwrap();
        read(&module, &module.functions, &mut built.forms, &mut ReaderScratch::default(), &mut built.tables)
            .unwrap();
        built.analyze();
        let view = built.tables.view();
        for code in 0..built.tables.code_spans.len() {
            both(&view.function(CodeId::new(code)));
            count += 1;
        }
    }
    assert!(count > 500);
}

/// Each case falls into the next one, so its value reaches all reads after it.
#[test]
fn what_cases_that_fall_through_hand_on_is_needed() {
    let built = labelled(
        ".reg .b32 %r<9>; .reg .pred %p<9>; mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 1; setp.eq.u32 %p2, %r1, 2; \
         mov.u32 %r2, 0; mov.u32 %r3, 0; @%p1 bra A; L: @%p2 bra B; M: bra C; \
         A: add.u32 %r2, %r2, 1; B: add.u32 %r2, %r2, 2; add.u32 %r3, %r3, 2; C: add.u32 %r2, %r2, 3; \
         st.global.u32 [g], %r2; ret;",
    );
    let function = built.function();
    let needs = both(&function);
    let texts = function.rows().map(|(inst, _, operands)| {
        (inst, operands.iter().any(|operand| operand.vreg() == Some(built.vreg("%r", 3))))
    });
    let unneeded: Vec<InstId> = texts.filter(|&(_, names_r3)| names_r3).map(|(inst, _)| inst).collect();
    for (inst, ..) in function.rows().filter(|(inst, ..)| inst.0 < 15) {
        assert_eq!(needs.needs(inst), !unneeded.contains(&inst), "{inst:?}");
    }
}
