//! Compaction: rows of a function dense again, in program order, without tombstones.
//!
//! Cost: nothing where there is nothing to be gained, else one pass over the function's rows; two where blocks are chained.
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

/// Memory of compaction.
#[derive(Default)]
pub struct CompactScratch {
    /// By new row: the old one.
    order: Vec<u32>,
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
    list(&mut rows, has_anchors, scratch);
    if wear.is_out_of_order {
        gather(&mut rows, scratch)
    } else {
        slide(&mut rows, scratch)
    }
    if has_anchors {
        move_anchors(&mut rows, scratch);
    }
    let live = scratch.order.len();
    rows.spans.insts.count = live as u32;
    rows.spans.room.insts += (count - live) as u32;
    rows.state.row_epoch += 1;
    rows.state.flags -= CodeFlags::HAS_TOMBSTONES | CodeFlags::OUT_OF_ORDER;
}

/// Lists the live rows in program order, and gives each block its run of them.
fn list(rows: &mut FunctionRows<'_>, has_anchors: bool, scratch: &mut CompactScratch) {
    let CompactScratch { order, new_of, .. } = scratch;
    order.clear();
    new_of.clear();
    if has_anchors {
        new_of.resize(rows.spans.insts.len(), Anchor::END);
    }
    for block in (0..rows.spans.blocks.len()).map(BlockId::new) {
        let first = order.len();
        for inst in rows.rows_of(block) {
            if rows.heads[inst.index()].is_live() {
                order.push(inst.0);
            }
        }
        if has_anchors {
            let (mut next, mut at) = (Anchor::END, order.len());
            for inst in rows.rows_of(block).rev() {
                if rows.heads[inst.index()].is_live() {
                    at -= 1;
                    next = InstId::new(at);
                }
                new_of[inst.index()] = next;
            }
        }
        let head = &mut rows.blocks[block.index()];
        head.insts = Span::between(first, order.len());
        head.flags -= BlockFlags::CHAINED;
    }
}

/// Moves rows towards the front, where none moves past another.
fn slide(rows: &mut FunctionRows<'_>, scratch: &CompactScratch) {
    for (new, &old) in scratch.order.iter().enumerate() {
        let old = old as usize;
        if new != old {
            rows.heads[new] = rows.heads[old];
            rows.operands[new] = rows.operands[old];
            rows.places[new] = rows.places[old];
        }
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

/// Moves anchors with the row that they stand before, or to the next one of their block. A pragma of a dead instruction
/// goes. The rows still say of old ids whether they are alive: in [`CompactScratch::new_of`], a live row's id is its own.
fn move_anchors(rows: &mut FunctionRows<'_>, scratch: &CompactScratch) {
    let CompactScratch { order, new_of, .. } = scratch;
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
        let is_own = order.get(before.index()) == Some(&anchor.before.0);
        if anchor.kind == AnchorKind::InstPragma && !is_own {
            continue;
        }
        anchors[kept] = Anchor { before, ..anchor };
        kept += 1;
    }
    rows.spans.anchors.count = kept as u32;
}
