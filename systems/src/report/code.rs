//! Report code: the figures of the graph and of its memory, register pressure at its peak, and registers that may be
//! read before they are written. Remarks alone.
//!
//! Source phase  9 ReportInitialRepresentation, 96 ReportBeforeScheduling, 102 ReportAfterRegisterAllocation,
//!               126 and 151 ReportFinalMemoryUsage (basic-blocks-and-cfg; analyze-control-flow; liveness)
//! Reads         Blocks, Insts, VRegs, Fact::ControlFlow, Fact::Liveness
//! Writes        remarks
//! Needs         control flow ends its block; live sets
//! Leaves        everything as it is
//! Breaks        nothing
//! Cost          a pass over the instructions and one over each block's live set; not part of a plan without remarks
//! Paper         Chaitin et al. 1981
//! Checked by    nothing: it changes nothing
//!
//! Registers without a value are looked for in the first of these phases only: later ones see the code that phases made
//! of the module, and a warning is about the module.

use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::Id;
use ptxopt_engine::dataflow::liveness::{LiveSet, LiveSets};
use ptxopt_engine::dataflow::pressure::Pressure;
use ptxopt_engine::dataflow::{print, uninitialised};
use ptxopt_engine::edit::Editor;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::figures::Figures;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::log::Dumps;
use ptxopt_engine::run::phase::{Phase, Wanted};
use ptxopt_engine::store::view::FunctionView;

/// Phases 96, 102, 126 and 151.
pub const PHASE: Phase = Phase {
    name: "report_code",
    layout_only: true,
    wanted: Wanted::ForRemarks,
    needs: &[Fact::ProgramOrder, Fact::ControlFlow, Fact::Liveness],
    install: |slot| {
        slot.init_resource::<LiveSets>();
        slot.add(run);
    },
    ..Phase::NOTHING
};

/// Phase 9.
pub const INITIAL: Phase = Phase {
    name: "report_initial_code",
    install: |slot| {
        slot.init_resource::<LiveSets>();
        slot.add((run_uninitialised, run).chain());
    },
    ..PHASE
};

/// A remark: its place in the module, and what it says.
type Finding = (u32, String);

/// Reports figures and pressure of every function.
pub fn run(editor: Editor, sets: Res<LiveSets>, texts: Res<Dumps>, mut pressure: Local<Pressure>) {
    report(editor, &sets, |function, forms, set| {
        pressure.build(function, forms, set);
        let mut lines = String::new();
        print::peaks(function, texts.lines(), &pressure, &mut lines);
        let offset = function.text.name.first;
        let figures = std::iter::once(Figures::of(function).to_string());
        let peaks = lines.lines().map(|line| format!("live registers: {line}"));
        figures.chain(peaks).map(|what| (offset, what)).collect()
    });
}

/// Reports the registers of every function that may be read before they are written.
pub fn run_uninitialised(editor: Editor, sets: Res<LiveSets>, texts: Res<Dumps>) {
    report(editor, &sets, |function, _, set| uninitialised_in(function, set, &texts.source));
}

/// What there is to say of one function: the documented line, then one a register.
#[must_use]
pub fn uninitialised_in(function: &FunctionView<'_>, set: &LiveSet, text: &[u8]) -> Vec<Finding> {
    let found = uninitialised::find(function, set);
    if found.is_empty() {
        return Vec::new();
    }
    let name = String::from_utf8_lossy(&text[function.text.name.range()]);
    let count = found.len();
    let head = format!("Found {count} potentially uninitialized register(s) in function {name}");
    let of_register = |found: &uninitialised::Uninitialised| {
        let register = print::register(function, text, found.vreg);
        (function.places[found.inst.index()].offset, format!("{register} may be read before it is written"))
    };
    std::iter::once((function.text.name.first, head)).chain(found.iter().map(of_register)).collect()
}

/// Remarks on every function that phases work on.
fn report(
    mut editor: Editor,
    sets: &LiveSets,
    mut findings_of: impl FnMut(&FunctionView<'_>, &FormTable, &LiveSet) -> Vec<Finding>,
) {
    editor.each(CodeFlags::TERMINATORS_LAST, |mut f| {
        let Some(set) = sets.get(f.code()).filter(|_| f.remarks_are_wanted()) else {
            return;
        };
        let (function, forms) = f.view_and_forms();
        for (offset, what) in findings_of(&function, forms, set) {
            f.analysis(offset, what);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::{analyzed, solved};
    use ptxopt_components::ids::InstId;
    use ptxopt_components::types::RegClass;
    use ptxopt_engine::dataflow::pressure::{Count, Counts, place_of};

    const HEAD: &str = ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>;\n";

    /// Registers and lines that are reported for a body whose first line is line 7.
    fn found(body: &str) -> Vec<(String, usize)> {
        let built = analyzed(&format!("{HEAD}{body}"));
        let function = built.function();
        let of = |found: uninitialised::Uninitialised| {
            let line = print::line(&function, &built.text, found.inst);
            (print::register(&function, &built.text, found.vreg), line)
        };
        uninitialised::find(&function, &solved(&built)).into_iter().map(of).collect()
    }

    fn is(register: &str, line: usize) -> Vec<(String, usize)> {
        vec![(register.to_owned(), line)]
    }

    #[test]
    fn a_register_that_nothing_writes_is_found() {
        assert_eq!(
            found("mov.b32 %r1, 1;\nadd.s32 %r1, %r1, %r2;\nst.global.b32 [g], %r1; ret;"),
            is("%r2", 8)
        );
        assert_eq!(found("@%p1 mov.b32 %r1, 1;\nret;"), is("%p1", 7));
        assert_eq!(found("mov.b32 %r1, 1;\nst.global.b32 [g], %r1; ret;"), []);
    }

    #[test]
    fn one_path_without_a_write_is_enough() {
        let body = |then: &str| {
            format!(
                "setp.eq.s32 %p1, 1, 2; @%p1 bra L; @!%p1 bra M; M:\n{then}\nL: st.global.b32 [g], %r1;\nst.global.b32 [g], %r1; ret;"
            )
        };
        assert_eq!(found(&body("mov.b32 %r1, 1;")), is("%r1", 9));
        assert_eq!(found(&body("mov.b32 %r1, 1; ret;")), is("%r1", 9));
        let both = "setp.eq.s32 %p1, 1, 2; mov.b32 %r1, 3; @%p1 bra L; @!%p1 bra M; M: mov.b32 %r1, 1; L: st.global.b32 [g], %r1; ret;";
        assert_eq!(found(both), []);
    }

    #[test]
    fn two_opposite_guards_are_a_write() {
        let body = |between: &str| {
            format!(
                "setp.eq.s32 %p1, 1, 2; @%p1 mov.b32 %r1, 1;\n{between} @!%p1 mov.b32 %r1, 2;\n\
                 st.global.b32 [g], %r1; ret;"
            )
        };
        assert_eq!(found(&body("")), []);
        assert_eq!(found(&body("setp.eq.s32 %p1, 3, 4;")), is("%r1", 9));
        assert_eq!(found(&body("@%p1 setp.eq.s32 %p1, 3, 4;")), is("%r1", 9));
        assert_eq!(found(&body("setp.eq.s32 %p2, 3, 4;")), []);
    }

    #[test]
    fn a_read_under_the_guard_of_the_write_has_a_value() {
        let body = |read: &str, guard: &str| {
            format!("setp.eq.s32 %p1, 1, 2; {guard} mov.b32 %r1, 1;\n{read} st.global.b32 [g], %r1; ret;")
        };
        assert_eq!(found(&body("@%p1", "@%p1")), []);
        assert_eq!(found(&body("@!%p1", "@%p1")), is("%r1", 8));
        assert_eq!(found(&body("", "@%p1")), is("%r1", 8));
    }

    #[test]
    fn the_first_read_in_the_text_is_named_once() {
        let body = "bra M;\nL: st.global.b32 [g], %r1; ret;\nM: st.global.b32 [g], %r1; bra L;";
        assert_eq!(found(body), is("%r1", 8));
    }

    #[test]
    fn the_line_is_the_documented_one() {
        let built = analyzed(&format!("{HEAD}st.global.b32 [g], %r1;\nst.global.b32 [g], %r2; ret;"));
        let said = uninitialised_in(&built.function(), &solved(&built), &built.text);
        let texts: Vec<&str> = said.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "Found 2 potentially uninitialized register(s) in function k",
                "%r1 may be read before it is written",
                "%r2 may be read before it is written",
            ]
        );
    }

    fn measured(body: &str) -> (crate::check::testing::Built, Pressure) {
        let built = analyzed(&format!("{HEAD}{body}"));
        let mut pressure = Pressure::default();
        pressure.build(&built.function(), &built.forms, &solved(&built));
        (built, pressure)
    }

    /// Registers and slots of R and P.
    fn counts(counts: Counts) -> [(u32, u32); 2] {
        [RegClass::R, RegClass::P].map(place_of).map(|class| (counts[class].registers, counts[class].slots))
    }

    #[test]
    fn registers_are_counted_where_they_live() {
        let (built, pressure) = measured(
            "mov.b32 %r1, 1; mov.b64 %rd1, 2; setp.eq.s32 %p1|%p2, %r1, 3; @%p1 add.s64 %rd1, %rd1, 1; \
             st.global.b64 [g], %rd1; ret;",
        );
        let function = built.function();
        let before: Vec<_> = (0..6).map(|inst| counts(pressure.before(&function, InstId(inst)))).collect();
        let wanted = [
            [(0, 0), (0, 0)],
            [(1, 1), (0, 0)],
            [(2, 3), (0, 0)],
            [(1, 2), (1, 1)],
            [(1, 2), (0, 0)],
            [(0, 0), (0, 0)],
        ];
        assert_eq!(before, wanted);
        assert_eq!(
            counts(pressure.after(&function, InstId(2))),
            [(1, 2), (2, 2)],
            "nothing reads the second predicate"
        );
        let [general, predicates] =
            [RegClass::R, RegClass::P].map(|class| pressure.peaks(&function)[place_of(class)]);
        assert_eq!((general.inst, predicates.inst), (Some(InstId(1)), Some(InstId(2))));
        assert_eq!(general.count, Count { registers: 2, slots: 3 });
        let last = |inst: u32, vreg| {
            let operands = built.function().operands_of(InstId(inst)).iter().enumerate();
            let is_it = |&(at, operand): &(usize, &ptxopt_components::operand::Operand)| {
                operand.is_use() && operand.vreg() == Some(vreg) && pressure.is_last_use(InstId(inst), at)
            };
            operands.filter(is_it).count()
        };
        assert_eq!(last(2, built.vreg("%r", 1)), 1);
        assert_eq!(
            (last(3, built.vreg("%rd", 1)), last(4, built.vreg("%rd", 1))),
            (0, 1),
            "a guarded write lets it through"
        );
        assert_eq!(last(3, built.vreg("%p", 1)), 1);
    }

    #[test]
    fn loops_make_spilling_dear_and_length_makes_it_cheap() {
        let (built, pressure) = measured(
            "mov.b32 %r1, 1; mov.b32 %r2, 1; bra.uni L; L: add.s32 %r2, %r2, 1; setp.eq.s32 %p1, %r2, 9; @%p1 bra L; @!%p1 bra M; \
             M: st.global.b32 [g], %r1; st.global.b32 [g], %r2; ret;",
        );
        let (r1, r2) = (built.vreg("%r", 1), built.vreg("%r", 2));
        // Written and read once, from instruction 0 to 7.
        assert_eq!((pressure.weight(r1), pressure.length(r1)), (2, 7));
        // In the loop three accesses of weight ten, outside two; from 1 to 3 and from 3 to 8.
        assert_eq!((pressure.weight(r2), pressure.length(r2)), (32, 7));
        assert!(pressure.spill_cost(&built.function(), r2) > pressure.spill_cost(&built.function(), r1));
    }

    #[test]
    fn figures_tell_loops_by_depth() {
        // A is the header of a loop around B, which is one of its own. Blocks are not split at their branches yet.
        let of = |stores: &str| {
            let built = analyzed(&format!(
                "{HEAD}mov.b32 %r1, 1; setp.eq.s32 %p1, %r1, 9; A: add.s32 %r1, %r1, 1; B: add.s32 %r1, %r1, 2; \
                 @%p1 bra B; @!%p1 bra A; {stores} ret;"
            ));
            Figures::of(&built.function())
        };
        let figures = of("st.global.b32 [g], %r1;");
        let text = "3 blocks, 4 edges, 2 loops (1 at depth 1, 1 at depth 2), 8 instructions, 6 in loops, ";
        assert!(figures.to_string().starts_with(text), "{figures}");
        // An instruction is a head of 16 bytes, four operands of 8, and its place.
        let place = size_of::<ptxopt_components::instruction::InstPlace>();
        let longer = of("st.global.b32 [g], %r1; st.global.b32 [g], %r1;");
        assert_eq!(longer.row_bytes - figures.row_bytes, 16 + 4 * 8 + place);
    }

    #[test]
    fn text_shows_sets_and_pressure() {
        let (built, pressure) = measured("mov.b32 %r1, 1;\nL: st.global.b32 [g], %r1;\nbra L;");
        let (mut sets, mut counts) = (String::new(), String::new());
        print::liveness(&built.function(), &built.text, &solved(&built), &mut sets);
        let wanted = "liveness of k: 1 of 1 registers live across blocks\nbix0 in:\nbix0 out: %r1\nbix1 in: %r1\nbix1 out: %r1\n";
        assert_eq!(sets, wanted);
        let source = (&built.text[..], &print::Lines::of(&built.text));
        print::pressure(&built.function(), &built.forms, source, &pressure, &mut counts);
        let lines: Vec<&str> = counts.lines().collect();
        assert_eq!(lines[..3], ["pressure of k", "R at most 1 in 1 slots, line 7", "bix0 depth 0"]);
        assert_eq!(lines[3], "  line 7: R 0 (0) P 0 (0) before, R 1 (1) P 0 (0) after, mov.b32");
    }
}
