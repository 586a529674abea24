//! Compaction: rows of a function dense again, in program order, without tombstones.
//!
//! Cost: nothing where there is nothing to be gained, else one pass over the function's blocks and one over its rows, in
//! runs of rows that stay together. Rows move in place, those that move the rarer way through scratch memory.
//! Instructions get new ids, as the row epoch says. Facts that name no instruction still hold.

use super::Editor;
use super::function::FunctionRows;
use crate::facts::Fact;
use crate::phase::Phase;
use bevy_ecs::system::Local;
use ptxopt_components::anchor::{Anchor, AnchorKind};
use ptxopt_components::block::BlockFlags;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id, InstId, Span};
use ptxopt_components::instruction::{InstHead, InstOperands, InstPlace};

/// What makes [`Fact::ProgramOrder`] hold: every plan has it.
pub static ORDER_ROWS: Phase = Phase {
    name: "order_rows",
    gives: &[Fact::ProgramOrder],
    install: |slot| slot.add(order_rows),
    ..Phase::NOTHING
};

fn order_rows(mut editor: Editor, mut scratch: Local<CompactScratch>) {
    editor.compact(|wear| wear.is_out_of_order, &mut scratch);
}

/// How far a function is from dense rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wear {
    /// Rows in use.
    pub rows: usize,
    /// Rows in use that hold no live instruction.
    pub tombstones: usize,
    /// Whether they are in another order than the program.
    pub is_out_of_order: bool,
}

impl Wear {
    /// Whether the next walks over the rows gain more than making them dense costs: a quarter of them is dead.
    #[must_use]
    pub const fn is_worn(&self) -> bool {
        self.tombstones * 4 > self.rows
    }
}

/// Rows that stay together, in their old order.
#[derive(Clone, Copy)]
struct Run {
    old: usize,
    new: usize,
    count: usize,
}

/// Memory of compaction.
#[derive(Default)]
pub struct CompactScratch {
    /// In the new order; together they are all live rows.
    runs: Vec<Run>,
    /// By old row: its new id, or that of the next row of its block that survived.
    new_of: Vec<InstId>,
    heads: Vec<InstHead>,
    operands: Vec<InstOperands>,
    places: Vec<InstPlace>,
}

/// Makes the rows of a function dense, where `wants` says so.
pub fn compact(mut rows: FunctionRows<'_>, wants: impl Fn(&Wear) -> bool, scratch: &mut CompactScratch) {
    if rows.state.flags.contains(CodeFlags::LEFT) {
        return;
    }
    let count = rows.spans.insts.len();
    let wear = Wear {
        rows: count,
        tombstones: count - rows.state.live_insts as usize,
        is_out_of_order: rows.state.flags.contains(CodeFlags::OUT_OF_ORDER),
    };
    if (wear.tombstones == 0 && !wear.is_out_of_order) || !wants(&wear) {
        return;
    }
    let has_anchors = !rows.spans.anchors.is_empty();
    let live = list(&mut rows, wear.tombstones > 0, has_anchors, scratch);
    if has_anchors {
        // Old rows still say whether they are alive.
        move_anchors(&mut rows, &scratch.new_of);
    }
    let CompactScratch { runs, heads, operands, places, .. } = scratch;
    let count_of =
        |goes: fn(&Run) -> bool| -> usize { runs.iter().filter(|run| goes(run)).map(|run| run.count).sum() };
    let is_upward = count_of(|run| run.new > run.old) >= count_of(|run| run.new < run.old);
    move_rows(rows.heads, runs, is_upward, heads);
    move_rows(rows.operands, runs, is_upward, operands);
    move_rows(rows.places, runs, is_upward, places);
    rows.spans.insts.count = live as u32;
    rows.spans.room.insts += (count - live) as u32;
    rows.state.row_epoch += 1;
    rows.state.flags -= CodeFlags::HAS_TOMBSTONES | CodeFlags::OUT_OF_ORDER;
}

/// Lists the live rows in program order, and gives each block its run of them; says how many there are.
fn list(
    rows: &mut FunctionRows<'_>,
    has_tombstones: bool,
    has_anchors: bool,
    scratch: &mut CompactScratch,
) -> usize {
    let CompactScratch { runs, new_of, .. } = scratch;
    runs.clear();
    new_of.clear();
    if has_anchors {
        new_of.resize(rows.spans.insts.len(), Anchor::END);
    }
    let mut live = 0;
    let mut run = Run { old: 0, new: 0, count: 0 };
    let mut append = |old: usize, count: usize, live: &mut usize| {
        if run.old + run.count == old {
            run.count += count;
        } else {
            runs.push(std::mem::replace(&mut run, Run { old, new: *live, count }));
        }
        *live += count;
    };
    for block in (0..rows.spans.blocks.len()).map(BlockId::new) {
        let (first, head) = (live, rows.blocks[block.index()]);
        if has_tombstones || head.flags.contains(BlockFlags::CHAINED) {
            for inst in rows.rows_of(block) {
                if rows.heads[inst.index()].is_live() {
                    append(inst.index(), 1, &mut live);
                }
            }
        } else {
            append(head.insts.first as usize, head.insts.len(), &mut live);
        }
        if has_anchors {
            let (mut next, mut at) = (Anchor::END, live);
            for inst in rows.rows_of(block).rev() {
                if rows.heads[inst.index()].is_live() {
                    at -= 1;
                    next = InstId::new(at);
                }
                new_of[inst.index()] = next;
            }
        }
        let head = &mut rows.blocks[block.index()];
        head.insts = Span::between(first, live);
        head.flags -= BlockFlags::CHAINED;
    }
    runs.push(run);
    live
}

/// Moves the rows of a column. Those that go towards the end, where `is_upward`, else those that go towards the front, move
/// in place: in that order of runs, a run writes over no row that is yet to move. The others are saved before.
fn move_rows<T: Copy>(rows: &mut [T], runs: &[Run], is_upward: bool, saved: &mut Vec<T>) {
    let is_saved = |run: &&Run| if is_upward { run.new < run.old } else { run.new > run.old };
    let is_in_place = |run: &&Run| if is_upward { run.new > run.old } else { run.new < run.old };
    saved.clear();
    for run in runs.iter().filter(is_saved) {
        saved.extend_from_slice(&rows[run.old..run.old + run.count]);
    }
    if is_upward {
        for &Run { old, new, count } in runs.iter().rev().filter(is_in_place) {
            if count > COPIED_ONE_BY_ONE {
                rows.copy_within(old..old + count, new);
            } else {
                (0..count).rev().for_each(|at| rows[new + at] = rows[old + at]);
            }
        }
    } else {
        for &Run { old, new, count } in runs.iter().filter(is_in_place) {
            if count > COPIED_ONE_BY_ONE {
                rows.copy_within(old..old + count, new);
            } else {
                (0..count).for_each(|at| rows[new + at] = rows[old + at]);
            }
        }
    }
    let mut at = 0;
    for run in runs.iter().filter(is_saved) {
        let from = &saved[at..at + run.count];
        rows[run.new..run.new + run.count].iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        at += run.count;
    }
}

/// Rows of a run for which a call that copies costs more than a loop.
const COPIED_ONE_BY_ONE: usize = 4;

/// Moves anchors with the row that they stand before, or to the next one of their block. A pragma of a dead instruction
/// goes.
fn move_anchors(rows: &mut FunctionRows<'_>, new_of: &[InstId]) {
    let span = rows.spans.anchors;
    let anchors = &mut rows.pools.anchors[span.range()];
    let mut kept = 0;
    for at in 0..anchors.len() {
        let anchor = anchors[at];
        let head = &rows.blocks[anchor.block.index()];
        let before = match new_of.get(anchor.before.index()) {
            // Past the rows, or the first row of what comes after the block.
            None => Anchor::END,
            Some(&new) if new == Anchor::END || head.insts.range().contains(&new.index()) => new,
            Some(_) => Anchor::END,
        };
        let is_own = before != Anchor::END && rows.heads[anchor.before.index()].is_live();
        if anchor.kind == AnchorKind::InstPragma && !is_own {
            continue;
        }
        anchors[kept] = Anchor { before, ..anchor };
        kept += 1;
    }
    rows.spans.anchors.count = kept as u32;
}
