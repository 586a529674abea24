//! Walks for 64 registers at once, a bit each: where the walks for single registers cost too much.
//!
//! Where thousands of registers live through thousands of blocks that form no closed [groups](super::groups), as the states of an interpreter
//! do behind one `brx.idx`, a walk for each of them is quadratic. A bundle costs about what one walk does where its registers live in the
//! same blocks.

use super::Places;
use super::ranges::{Ranges, Run};
use crate::bits::WORD_BITS;
use crate::dataflow::liveness::each_run_of;
use crate::dataflow::waiting::{Flow, Waiting};
use crate::store::view::FunctionView;
use ptxopt_components::ids::{BlockId, Id};
use std::ops::Range;

/// Registers of a bundle.
pub(super) const BUNDLE: usize = WORD_BITS;

/// The walk for one bundle, and memory that it uses again. Between two walks all words are clear.
#[derive(Default)]
pub(super) struct Bundle {
    /// By block: a bit a register.
    live_in: Vec<u64>,
    live_out: Vec<u64>,
    kills: Vec<u64>,
    /// Blocks into which registers are live of which their predecessors have not heard.
    waiting: Waiting,
    /// The blocks from the first to the last one that a register is live into or out of.
    touched: Range<usize>,
    /// Runs in the order in which they end, by their bits in the bundle.
    runs: Vec<Run>,
}

impl Bundle {
    /// Makes room for a function.
    pub(super) fn reset(&mut self, function: &FunctionView<'_>) {
        for words in [&mut self.live_in, &mut self.live_out, &mut self.kills] {
            words.clear();
            words.resize(function.blocks.len(), 0);
        }
        self.waiting.reset(function, Flow::Backward);
    }

    /// Walks for the registers of `bits`, [`BUNDLE`] at most, and appends where they live to the runs, as those of the next bits.
    pub(super) fn solve(
        &mut self,
        function: &FunctionView<'_>,
        places: &Places,
        bits: Range<usize>,
        [live_in, live_out]: [&mut Ranges; 2],
    ) {
        let Places { gens, kills, ends } = places;
        let members = || bits.clone().enumerate().map(|(at, bit)| (1 << at, bit));
        for (mask, bit) in members() {
            kills.of(bit).iter().for_each(|block| self.kills[block.index()] |= mask);
        }
        self.touched = 0..0;
        for (mask, bit) in members() {
            ends.of(bit).iter().for_each(|&block| self.leave(block, mask));
            gens.of(bit).iter().for_each(|&block| self.enter(block, mask));
        }
        while let Some(block) = self.waiting.pop() {
            let live = self.live_in[block.index()];
            for &pred in function.preds(block) {
                if self.waiting.is_reachable(pred) {
                    self.leave(pred, live);
                }
            }
        }
        for bit in bits.clone() {
            kills.of(bit).iter().for_each(|block| self.kills[block.index()] = 0);
        }
        for (words, ranges) in [(&mut self.live_in, live_in), (&mut self.live_out, live_out)] {
            take(words, self.touched.clone(), &mut self.runs, bits.len(), ranges);
        }
    }

    /// The registers of `live` are live out of `block`.
    fn leave(&mut self, block: BlockId, live: u64) {
        let new = live & !self.live_out[block.index()];
        if new != 0 {
            self.touch(block);
            self.live_out[block.index()] |= new;
            self.enter(block, new & !self.kills[block.index()]);
        }
    }

    /// The registers of `live` are live into `block`.
    fn enter(&mut self, block: BlockId, live: u64) {
        let new = live & !self.live_in[block.index()];
        if new != 0 {
            self.touch(block);
            self.live_in[block.index()] |= new;
            self.waiting.push(block);
        }
    }

    fn touch(&mut self, block: BlockId) {
        let Range { start, end } = self.touched;
        let at = block.index();
        self.touched = if start == end { at..at + 1 } else { start.min(at)..end.max(at + 1) };
    }
}

/// Appends the runs that `words` say, which are by block and become clear, to `ranges` by bit.
fn take(
    words: &mut [u64],
    touched: Range<usize>,
    runs: &mut Vec<Run>,
    bit_count: usize,
    ranges: &mut Ranges,
) {
    runs.clear();
    let (start, words) = (touched.start as u32, &mut words[touched]);
    each_run_of(words.chunks_exact(1), 1, |run, bit| {
        runs.push(Run { first: start + run.start, last: start + run.end - 1, bit: bit as u32 });
    });
    words.fill(0);
    runs.sort_unstable_by_key(|run| (run.bit, run.first));
    let mut runs = runs.iter().peekable();
    for bit in 0..bit_count as u32 {
        ranges.next_bit();
        while let Some(run) = runs.next_if(|run| run.bit == bit) {
            ranges.push(run.first..run.last + 1);
        }
    }
}
