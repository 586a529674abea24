//! Room: the free rows after those of each function, which edits take.

use crate::store::columns::LiveRows;
use crate::store::tables::CodeTables;
use bytemuck::Zeroable;
use ptxopt_components::code_object::{CodeSpans, Room};
use ptxopt_components::ids::Span;

/// Rows that a function of `rows` rows gets beside them: `percent` of those, and some for every one.
const fn room(rows: u32, percent: u32, least: u32) -> u32 {
    least + (rows as u64 * percent as u64 / 100) as u32
}

/// Room that every function gets, for phases that split a block or put a tombstone somewhere.
const ROOM_LEAST: Room = Room { insts: 16, blocks: 4, vregs: 8 };

/// Gives each function its rows of the columns, with room after them; says how many rows that makes.
pub fn lay_out(spans: &[CodeSpans], out: &mut [CodeSpans], percent: u32) -> LiveRows {
    let mut live = LiveRows { codes: spans.len(), ..LiveRows::default() };
    let place = |next: &mut usize, span: Span, room: u32| {
        let placed = Span { first: *next as u32, ..span };
        *next += span.len() + room as usize;
        placed
    };
    for (from, to) in spans.iter().zip(out) {
        // An eighth for changes here and there, which no phase announces.
        let percent = percent + 12;
        let room = Room {
            insts: room(from.insts.count, percent, ROOM_LEAST.insts),
            blocks: room(from.blocks.count, percent, ROOM_LEAST.blocks),
            vregs: room(from.vregs.count, percent, ROOM_LEAST.vregs),
        };
        *to = CodeSpans {
            insts: place(&mut live.insts, from.insts, room.insts),
            blocks: place(&mut live.blocks, from.blocks, room.blocks),
            vregs: place(&mut live.vregs, from.vregs, room.vregs),
            room,
            ..*from
        };
    }
    live
}

impl CodeTables {
    /// Gives each function room, so that it can be edited outside a World: what tests and benches do.
    pub fn make_room(&mut self, percent: u32) {
        let mut placed = self.code_spans.clone();
        let live = lay_out(&self.code_spans, &mut placed, percent);
        let from: Vec<CodeSpans> = std::mem::replace(&mut self.code_spans, placed);
        let to = &self.code_spans;
        let spread = |span_of: fn(&CodeSpans) -> Span| -> Vec<(Span, Span)> {
            from.iter().zip(to).map(|(from, to)| (span_of(from), span_of(to))).collect()
        };
        let (blocks, insts) = (spread(|spans| spans.blocks), spread(|spans| spans.insts));
        let vregs = spread(|spans| spans.vregs);
        move_rows(&mut self.block_heads, &blocks, live.blocks);
        move_rows(&mut self.block_edges, &blocks, live.blocks);
        move_rows(&mut self.block_orders, &blocks, live.blocks);
        move_rows(&mut self.block_labels, &blocks, live.blocks);
        move_rows(&mut self.inst_heads, &insts, live.insts);
        move_rows(&mut self.inst_operands, &insts, live.insts);
        move_rows(&mut self.inst_places, &insts, live.insts);
        self.inst_links.clear();
        self.inst_links.resize(live.insts, Default::default());
        move_rows(&mut self.vreg_heads, &vregs, live.vregs);
        move_rows(&mut self.vreg_names, &vregs, live.vregs);
        self.code_facts.resize(self.code_spans.len(), Default::default());
    }
}

/// Moves runs of rows, given from where to where, in a column that then has `count` rows.
fn move_rows<T: Copy + Zeroable>(column: &mut Vec<T>, runs: &[(Span, Span)], count: usize) {
    let mut moved = vec![T::zeroed(); count];
    for (from, to) in runs {
        moved[to.range()].copy_from_slice(&column[from.range()]);
    }
    *column = moved;
}
