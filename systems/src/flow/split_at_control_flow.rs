//! Split at control flow: makes every control-flow instruction the last of its block.
//!
//! Source phase  6 SetControlFlowOpLastInBB (basic-blocks-and-cfg, "Phase 6")
//! Reads         Blocks, Insts
//! Writes        blocks, CodeState
//! Needs         nothing
//! Leaves        a control-flow instruction is the last of its block; TERMINATORS_LAST is set
//! Breaks        block ids; control flow, loops, post-dominators, liveness, uniformity, definitions
//! Cost          a comparison where blocks end at control flow; else a pass over heads, and the blocks numbered again
//! Checked by    check/terminators.rs
//!
//! # Who splits
//! The reader already ends blocks at control flow: cutting them again would cost a pass over every function. So this phase
//! finds work only where a phase before it has put an instruction after control flow and cleared TERMINATORS_LAST.
//!
//! # How it works
//! ```text
//! bix1:  setp  p, r1, 0        bix1:  setp  p, r1, 0
//!        @p bra L                     @p bra L          // keeps the taken edge, gains the fall-through
//!        add   r1, r1, 1       bix2:  add   r1, r1, 1   // keeps the rest
//! ```
//! The source's pseudocode moves all successors to the second half, which loses the taken edge of the first; here
//! edges are built from the instructions of each half.

use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{Id, InstId};
use ptxopt_components::instruction::Marks;
use ptxopt_engine::edit::{Editor, FunctionEditor};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::store::view::FunctionView;

/// Phase 6.
pub const PHASE: Phase = Phase {
    name: "split_at_control_flow",
    breaks: Fact::OF_EDGES,
    required: true,
    layout_only: true,
    install: |slot| slot.add(run),
    ..Phase::NOTHING
};

/// Splits the blocks of every function.
pub fn run(mut editor: Editor, mut splits: Local<Vec<InstId>>) {
    editor.each(CodeFlags::empty(), |mut f| split(&mut f, &mut splits));
}

/// Splits the blocks of a function after each control-flow instruction in mid-block. The reader has done so already: this
/// costs a comparison, unless a phase has put something after control flow since and said so.
pub fn split(f: &mut FunctionEditor<'_>, splits: &mut Vec<InstId>) {
    if f.state().flags.contains(CodeFlags::TERMINATORS_LAST) {
        return;
    }
    splits.clear();
    find_splits(&f.view(), splits);
    // From the end: a split moves what comes after it.
    for &inst in splits.iter().rev() {
        f.required_change().split_after(inst);
    }
    f.set_flags(CodeFlags::TERMINATORS_LAST, true);
}

/// The control-flow instructions that are not the last row of their block, in order.
fn find_splits(function: &FunctionView<'_>, splits: &mut Vec<InstId>) {
    for block in function.block_ids() {
        let mut rows = function.all_rows_of(block).peekable();
        while let Some(inst) = rows.next() {
            let head = &function.heads[inst.index()];
            if head.marks.contains(Marks::CONTROL) && head.is_live() && rows.peek().is_some() {
                splits.push(inst);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::kernel;
    use ptxopt_components::ids::{BlockId, CodeId};
    use ptxopt_engine::edit::PlainEditor;

    #[test]
    fn control_flow_in_mid_block_ends_it() {
        // The kernel of tests is read with control flow in mid-block.
        let mut built = kernel(
            ".reg .pred %p<3>; .reg .b32 %r<3>; @%p1 bra L; add.u32 %r1, %r2, 1; .loc 1 2 0\n@%p2 exit; \
             L: sub.u32 %r1, %r2, 1; ret;",
        );
        built.tables.make_room(100);
        assert_eq!(built.function().blocks.len(), 2);
        split(
            &mut PlainEditor::default().edit(&mut built.tables, &mut built.forms, CodeId(0)),
            &mut Vec::new(),
        );
        let function = built.function();
        assert!(function.state.flags.contains(CodeFlags::TERMINATORS_LAST));
        let counts: Vec<usize> = function.block_ids().map(|block| function.insts_of(block).count()).collect();
        assert_eq!(counts, [1, 2, 2]);
        assert_eq!(
            function.succs(BlockId(0)),
            [BlockId(2), BlockId(1)],
            "the taken edge, and the fall-through"
        );
        assert_eq!(function.succs(BlockId(1)), [BlockId(2)]);
        assert_eq!(function.anchors[0].block, BlockId(1), "the line goes with its instruction");
    }
}
