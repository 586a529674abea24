//! Compaction: rows of a function dense again, in program order, without tombstones.
//!
//! Cost: nothing where there is nothing to be gained, else one pass over the function's blocks and one over its rows. Where
//! most blocks are not chained, rows move in place, in runs that stay together; else they are copied out and back.
//! Instructions get new ids, as the row epoch says. Facts that name no instruction still hold.

use super::Editor;
use super::function::FunctionRows;
use crate::run::facts::Fact;
use crate::run::phase::Phase;
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

/// Tombstones below which a function is not made dense before the next sweep: skipping them costs 30 ns a walk.
const WORN_ROWS_MIN: usize = 64;

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
    /// Whether the next walks over the rows gain more than making them dense costs: a quarter of them is dead, and so many
    /// that it shows.
    #[must_use]
    pub const fn is_worn(&self) -> bool {
        self.tombstones >= WORN_ROWS_MIN && self.tombstones * 4 > self.rows
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
    /// In the new order; together they are all live rows. Empty where runs are too short.
    runs: Vec<Run>,
    /// By old row: its new id, or that of the next row of its block that survived.
    new_of: Vec<InstId>,
    /// By new row: the old one, where runs are not used.
    order: Vec<u32>,
    heads: Vec<InstHead>,
    operands: Vec<InstOperands>,
    places: Vec<InstPlace>,
}

/// Rows of a run for which a call that copies costs more than a loop.
const COPIED_ONE_BY_ONE: usize = 4;

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
    let by_runs = goes_by_runs(&rows);
    let live = if by_runs {
        let has_tombstones = wear.tombstones > 0;
        list(&mut rows, has_anchors, scratch, |rows, block, scratch, live| {
            list_runs(rows, block, has_tombstones, scratch, live)
        })
    } else {
        list(&mut rows, has_anchors, scratch, list_rows)
    };
    if has_anchors {
        // Old rows still say whether they are alive.
        move_anchors(&mut rows, &scratch.new_of);
    }
    if by_runs {
        move_runs(&mut rows, scratch)
    } else {
        gather(&mut rows, scratch)
    }
    rows.spans.insts.count = live as u32;
    rows.spans.room.insts += (count - live) as u32;
    rows.state.row_epoch += 1;
    rows.state.flags -= CodeFlags::HAS_TOMBSTONES | CodeFlags::OUT_OF_ORDER;
}

/// Whether few rows are in chained blocks. Where many are, runs are so short that finding and moving one costs more, in
/// branches that the processor does not foresee, than copying its rows twice.
fn goes_by_runs(rows: &FunctionRows<'_>) -> bool {
    let blocks = &rows.blocks[..rows.spans.blocks.len()];
    let chained = blocks.iter().filter(|head| head.flags.contains(BlockFlags::CHAINED));
    chained.map(|head| head.insts.len()).sum::<usize>() * 2 < rows.spans.insts.len()
}

/// Lists the live rows in program order by `list_block`, and gives each block its run of them; says how many there are.
fn list(
    rows: &mut FunctionRows<'_>,
    has_anchors: bool,
    scratch: &mut CompactScratch,
    list_block: impl Fn(&FunctionRows<'_>, BlockId, &mut CompactScratch, usize) -> usize,
) -> usize {
    scratch.runs.clear();
    scratch.order.clear();
    scratch.new_of.clear();
    if has_anchors {
        scratch.new_of.resize(rows.spans.insts.len(), Anchor::END);
    }
    let mut live = 0;
    for block in (0..rows.spans.blocks.len()).map(BlockId::new) {
        let first = live;
        live = list_block(rows, block, scratch, live);
        if has_anchors {
            let (mut next, mut at) = (Anchor::END, live);
            for inst in rows.rows_of(block).rev() {
                if rows.heads[inst.index()].is_live() {
                    at -= 1;
                    next = InstId::new(at);
                }
                scratch.new_of[inst.index()] = next;
            }
        }
        let head = &mut rows.blocks[block.index()];
        head.insts = Span::between(first, live);
        head.flags -= BlockFlags::CHAINED;
    }
    live
}

/// Lists the live rows of a block; gives the number of rows listed so far.
fn list_rows(rows: &FunctionRows<'_>, block: BlockId, scratch: &mut CompactScratch, _: usize) -> usize {
    for inst in rows.rows_of(block) {
        if rows.heads[inst.index()].is_live() {
            scratch.order.push(inst.0);
        }
    }
    scratch.order.len()
}

/// As [`list_rows`], in runs.
fn list_runs(
    rows: &FunctionRows<'_>,
    block: BlockId,
    has_tombstones: bool,
    scratch: &mut CompactScratch,
    mut live: usize,
) -> usize {
    let mut append = |old: usize, count: usize| {
        match scratch.runs.last_mut() {
            Some(run) if run.old + run.count == old => run.count += count,
            _ => scratch.runs.push(Run { old, new: live, count }),
        }
        live += count;
    };
    let head = rows.blocks[block.index()];
    if has_tombstones || head.flags.contains(BlockFlags::CHAINED) {
        for inst in rows.rows_of(block) {
            if rows.heads[inst.index()].is_live() {
                append(inst.index(), 1);
            }
        }
    } else {
        append(head.insts.first as usize, head.insts.len());
    }
    live
}

/// Moves runs of rows. Those that go towards the end, or those that go towards the front where they are more, move in place:
/// in that order, a run writes over no row that is yet to move. The others are saved before.
fn move_runs(rows: &mut FunctionRows<'_>, scratch: &mut CompactScratch) {
    let CompactScratch { runs, heads, operands, places, .. } = scratch;
    let sum =
        |goes: fn(&Run) -> bool| -> usize { runs.iter().filter(|run| goes(run)).map(|run| run.count).sum() };
    let is_upward = sum(|run| run.new > run.old) >= sum(|run| run.new < run.old);
    heads.clear();
    operands.clear();
    places.clear();
    for &Run { old, new, count } in &*runs {
        if new != old && (new > old) != is_upward {
            heads.extend_from_slice(&rows.heads[old..old + count]);
            operands.extend_from_slice(&rows.operands[old..old + count]);
            places.extend_from_slice(&rows.places[old..old + count]);
        }
    }
    let mut moved = |run: &Run, saved: usize| {
        let &Run { old, new, count } = run;
        if (new > old) == is_upward {
            move_run(rows.heads, run);
            move_run(rows.operands, run);
            move_run(rows.places, run);
        } else {
            rows.heads[new..new + count].copy_from_slice(&heads[saved..saved + count]);
            rows.operands[new..new + count].copy_from_slice(&operands[saved..saved + count]);
            rows.places[new..new + count].copy_from_slice(&places[saved..saved + count]);
        }
    };
    let is_saved = |run: &Run| (run.new > run.old) != is_upward;
    let moving = runs.iter().filter(|run| run.new != run.old);
    if is_upward {
        let mut saved = heads.len();
        for run in moving.rev() {
            saved -= if is_saved(run) { run.count } else { 0 };
            moved(run, saved);
        }
    } else {
        let mut saved = 0;
        for run in moving {
            moved(run, saved);
            saved += if is_saved(run) { run.count } else { 0 };
        }
    }
}

/// Moves a run of rows of a column, which may overlap itself.
fn move_run<T: Copy>(rows: &mut [T], &Run { old, new, count }: &Run) {
    if count > COPIED_ONE_BY_ONE {
        rows.copy_within(old..old + count, new);
    } else if new > old {
        (0..count).rev().for_each(|at| rows[new + at] = rows[old + at]);
    } else {
        (0..count).for_each(|at| rows[new + at] = rows[old + at]);
    }
}

/// Copies the rows out in their new order, and back.
fn gather(rows: &mut FunctionRows<'_>, scratch: &mut CompactScratch) {
    let CompactScratch { order, heads, operands, places, .. } = scratch;
    heads.clear();
    heads.extend(order.iter().map(|&old| rows.heads[old as usize]));
    operands.clear();
    operands.extend(order.iter().map(|&old| rows.operands[old as usize]));
    places.clear();
    places.extend(order.iter().map(|&old| rows.places[old as usize]));
    rows.heads[..heads.len()].copy_from_slice(heads);
    rows.operands[..operands.len()].copy_from_slice(operands);
    rows.places[..places.len()].copy_from_slice(places);
}

/// Moves anchors with the row that they stand before, or to the next one of their block. A pragma of a dead instruction goes.
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
