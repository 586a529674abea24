//! What the pass asks of a strategy: which functions it takes, which joins get Flow blocks, which edges count.
//!
//! The source asks a target for an object with these five questions. The default answers are those of this target,
//! [`Standard`]. A function of which some answer left a part as it was is not marked as structurized.

use super::shape::Edge;
use ptxopt_components::ids::BlockId;
use ptxopt_engine::store::view::FunctionView;

/// What becomes of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeClass {
    /// No thread waits for those that take it.
    Skip,
    /// It leads through Flow blocks where it crosses others.
    Reroute,
}

/// The questions, with the default answers.
pub trait Strategy {
    /// Whether the pass takes the function, where nothing else decides that.
    fn wants(&mut self, _function: &FunctionView<'_>) -> bool {
        true
    }

    /// Whether an open join gets a Flow block, where no other Flow block leads to it.
    fn should_split(&mut self, _join: BlockId) -> bool {
        true
    }

    /// Whether what a Flow block leads to past its join gets another one. Each takes one target from those that are left, so
    /// there is an end to it. A no leaves the function as it is: threads that carry a number need a place to go.
    fn should_split_child(&mut self, _join: BlockId) -> bool {
        true
    }

    /// What becomes of an edge; `ends` says that threads which take it end at once. Those lead nowhere else, whatever the
    /// answer.
    fn classify_edge(&mut self, _edge: Edge, ends: bool) -> EdgeClass {
        if ends { EdgeClass::Skip } else { EdgeClass::Reroute }
    }

    /// An edge leads to a Flow block from here on.
    fn update_divergence(&mut self, _edge: Edge) {}
}

/// The default.
#[derive(Default)]
pub struct Standard;

impl Strategy for Standard {}

#[cfg(test)]
mod tests {
    use super::super::{PHASE, Settings, install};
    use super::{Edge, EdgeClass, FunctionView, Strategy};
    use crate::check::tests::{plan, run_plan};
    use crate::flow::split_at_control_flow::PHASE as SPLIT;
    use ptxopt_components::ids::BlockId;
    use ptxopt_engine::run::phase::Phase;
    use ptxopt_engine::run::shard::BatchOutput;
    use std::sync::atomic::{AtomicU32, Ordering};

    const HEAD: &str = ".version 8.6\n.target sm_90\n.address_size 64\n";

    /// Threads come to A and to B from two branches each, and pass both: two Flow blocks, the second for what the first
    /// leads to past A. Those that go to T end.
    const TWO_TARGETS: &str = ".entry k() { .reg .pred %p<6>; .reg .b32 %r1; mov.u32 %r1, %tid.x;\n\
        setp.eq.u32 %p1, %r1, 1; setp.eq.u32 %p2, %r1, 2; setp.eq.u32 %p3, %r1, 3; setp.eq.u32 %p4, %r1, 4;\n\
        @%p1 bra A; @%p2 bra B; pmevent 1; @%p3 bra A; @%p4 bra B; pmevent 2; @%p1 bra T; bra J;\n\
        A: pmevent 3; bra J;\nB: pmevent 4;\nJ: pmevent 5; ret;\nT: trap; }\n";

    /// A condition with `||`: one Flow block.
    const ONE_TARGET: &str = ".entry k() { .reg .pred %p<6>; .reg .b32 %r1; mov.u32 %r1, %tid.x;\n\
        setp.eq.u32 %p1, %r1, 1; setp.eq.u32 %p2, %r1, 2;\n\
        @%p1 bra A; @%p2 bra A; pmevent 1; bra J;\nA: pmevent 2;\nJ: pmevent 3; ret; }\n";

    const fn phase<S: Strategy + Default + 'static>() -> Phase {
        Phase { install: install::<S>, ..PHASE }
    }

    fn run_with(phase: &'static Phase, function: &str, shrink_wrap: u8) -> BatchOutput {
        let mut plan = plan(&[&SPLIT, phase]);
        plan.settings = plan.settings.with(Settings { shrink_wrap, ..Settings::default() });
        let output = run_plan((HEAD.to_owned() + function).as_bytes(), plan);
        let function = &output.functions[0];
        assert_eq!((&function.left, &function.undone[..]), (&None, &[][..]));
        output
    }

    fn has_changed(output: &BatchOutput) -> bool {
        output.steps[1].changes > 0
    }

    /// Takes no function.
    #[derive(Default)]
    struct Declines;

    impl Strategy for Declines {
        fn wants(&mut self, _: &FunctionView<'_>) -> bool {
            false
        }
    }

    #[test]
    fn a_strategy_declines_unless_it_is_overridden() {
        static DECLINES: Phase = phase::<Declines>();
        let output = run_with(&DECLINES, ONE_TARGET, 0);
        assert!(!has_changed(&output) && output.remarks.is_empty());
        assert!(has_changed(&run_with(&DECLINES, ONE_TARGET, 1)));
    }

    /// Splits nothing.
    #[derive(Default)]
    struct Keeps;

    impl Strategy for Keeps {
        fn should_split(&mut self, _: BlockId) -> bool {
            false
        }
    }

    /// The verifier would find that ways of branches meet in several places, if the function were marked.
    #[test]
    fn joins_that_a_strategy_keeps_stay_and_the_function_is_not_marked() {
        static KEEPS: Phase = phase::<Keeps>();
        for function in [ONE_TARGET, TWO_TARGETS] {
            assert!(!has_changed(&run_with(&KEEPS, function, 0)));
        }
    }

    /// Splits no Flow block.
    #[derive(Default)]
    struct KeepsChildren;

    impl Strategy for KeepsChildren {
        fn should_split_child(&mut self, _: BlockId) -> bool {
            false
        }
    }

    #[test]
    fn without_its_second_flow_block_a_function_stays() {
        static KEEPS_CHILDREN: Phase = phase::<KeepsChildren>();
        assert!(has_changed(&run_with(&KEEPS_CHILDREN, ONE_TARGET, 0)));
        let output = run_with(&KEEPS_CHILDREN, TWO_TARGETS, 0);
        assert!(!has_changed(&output));
        let missed: Vec<&str> = output.remarks.iter().map(|remark| &*remark.reason).collect();
        assert_eq!(missed, ["the strategy does not let a Flow block be split"]);
    }

    /// Takes every edge out of account.
    #[derive(Default)]
    struct SkipsEdges;

    impl Strategy for SkipsEdges {
        fn classify_edge(&mut self, _: Edge, _: bool) -> EdgeClass {
            EdgeClass::Skip
        }
    }

    #[test]
    fn skipped_edges_stay_and_the_function_is_not_marked() {
        static SKIPS: Phase = phase::<SkipsEdges>();
        assert!(!has_changed(&run_with(&SKIPS, TWO_TARGETS, 0)));
    }

    /// Wants, splits, splits of children, edges that were asked about, edges to ends among them, and edges that were led away.
    static ASKED: [AtomicU32; 6] = [const { AtomicU32::new(0) }; 6];

    fn ask(question: usize) {
        ASKED[question].fetch_add(1, Ordering::Relaxed);
    }

    /// Answers like the standard, but leads even threads that end through Flow blocks, if it could.
    #[derive(Default)]
    struct Counts;

    impl Strategy for Counts {
        fn wants(&mut self, _: &FunctionView<'_>) -> bool {
            ask(0);
            true
        }

        fn should_split(&mut self, _: BlockId) -> bool {
            ask(1);
            true
        }

        fn should_split_child(&mut self, _: BlockId) -> bool {
            ask(2);
            true
        }

        fn classify_edge(&mut self, _: Edge, ends: bool) -> EdgeClass {
            ask(3);
            if ends {
                ask(4);
            }
            EdgeClass::Reroute
        }

        fn update_divergence(&mut self, _: Edge) {
            ask(5);
        }
    }

    /// Each edge is asked about once where there are no loops, and each child is split for a target of its own.
    #[test]
    fn every_question_is_asked() {
        static COUNTS: Phase = phase::<Counts>();
        assert!(has_changed(&run_with(&COUNTS, TWO_TARGETS, 0)));
        let asked = ASKED.each_ref().map(|count| count.load(Ordering::Relaxed));
        // Of the six edges that reach A, B and J before A, five are led away at A; the one from A to J at B.
        assert_eq!(asked, [1, 1, 1, 13, 1, 6]);
    }
}
