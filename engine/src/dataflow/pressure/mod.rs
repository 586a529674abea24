//! Register pressure: how many registers of each class live at each point, which uses are the last, and what it would
//! cost to keep a register in memory.
//!
//! A register counts as one, and as so many 32-bit slots of the machine: two for 64 bits, four for 128, one for anything
//! smaller and for a predicate. The carry register is none. Registers that an asynchronous instruction goes on writing are
//! counted where the text says they live.
//!
//! # One walk
//! Each block is walked backward once (`walk`): counts of all classes change by one addition of words, and are kept relative
//! to the end of the block. What lives there comes from the runs of blocks through which registers live, and costs what these
//! begin and end. A register is looked for in the live sets where the walk meets it first; one that the block does not name
//! is not looked at.
//!
//! # Edits
//! A phase that edits lets it [follow](Pressure::follow), says which blocks it [touched](Pressure::touch), and asks for an [update](Pressure::update) before it reads on.
//! Blocks and edges stay as they are between the two, and rows are not made dense: after either, the phase
//! [builds](Pressure::build) anew. A touched block is walked again. Where it then does something else to live sets, these are
//! brought up to date (`update`); a block to which a register comes, or from which it goes, is walked again where it
//! names the register, and changes one number elsewhere.
//!
//! # SSA form
//! What a phi reads lives out of the predecessors. It is counted before the phi as well, as if the phi read where it stands:
//! a value and what it is copied to may need two registers. No update follows edits, since a phi is no instruction of the
//! machine.
//!
//! Costs of spilling are those of Chaitin et al. 1981 and Briggs 1992: accesses, each weighted with ten to the depth of
//! its loops, over the length of the range.

mod blocks;
mod counts;
mod sets;
mod update;
mod walk;

pub use counts::{CLASSES, Count, Counts, place_of};

use super::liveness::{Boundary, LiveSet, Side};
use crate::forms::FormTable;
use crate::store::view::FunctionView;
use blocks::{Blocks, Named};
use counts::{Words, count_of, minus, plus, words_of};
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::instruction::InstHead;
use ptxopt_components::types::PackedType;
use ptxopt_components::vreg::{VRegFlags, VRegHead};
use sets::Sets;
use std::collections::BTreeSet;

/// Deepest loop that counts: a weight of a million.
const DEPTH_MAX: u32 = 6;

/// Positions of which a word says whether they are last uses; instructions with more operands are rare.
const NEAR_POSITIONS: usize = u64::BITS as usize;

/// Where most slots of a class are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// How many.
    pub count: Count,
    /// The first instruction where it is so; none where no register of the class lives.
    pub inst: Option<InstId>,
}

/// The manager of one function: pressure at each point, last uses and costs of spilling.
#[derive(Default)]
pub struct Pressure {
    vregs: Vec<VReg>,
    kinds: Vec<Kind>,
    /// By bit of the live sets: its register.
    globals: Vec<VRegId>,
    live_in: Sets,
    live_out: Sets,
    outside: Outside,
    blocks: Blocks,
    /// By instruction; of use for live ones.
    points: Vec<Point>,
    /// Last uses at the positions from [`NEAR_POSITIONS`] on.
    far_last_uses: BTreeSet<(InstId, u32)>,
    /// What the block that was walked last names, and room for all registers.
    named: Vec<Named>,
    changes: update::Changes,
    /// By block: instructions of the blocks before it; one more entry at the end. Of use while it is built.
    starts: Vec<u32>,
    /// Live sets were taken over.
    follows: bool,
    /// Epochs of graph and rows for which all this was built.
    epochs: (u32, u32),
    /// Blocks walked since it was made.
    pub walk_count: u64,
}

/// What is kept of a register.
#[derive(Clone, Copy)]
struct VReg {
    /// Accesses, each weighted with ten to the depth of its loops.
    weight: u64,
    /// Instructions that it lives across, or is written by.
    length: u32,
    /// Its bit in the live sets, or [`NO_BIT`].
    bit: u32,
    /// Its place in the list of what a block names, if that is the register's own there.
    place: u32,
    kind: u32,
}

/// Registers that count for the same.
#[derive(Clone, Copy)]
struct Kind {
    /// Their type, which gives their class, and whether they are the carry register.
    what: (PackedType, bool),
    words: Words,
}

const NO_BIT: u32 = u32::MAX;

/// Counts before and after an instruction, relative to the end of its block.
#[derive(Clone, Copy, Default)]
struct Point {
    before: Words,
    after: Words,
    /// Positions of last uses below [`NEAR_POSITIONS`], as bits.
    last_uses: u64,
}

/// Registers that are read where control leaves the function.
#[derive(Default)]
struct Outside {
    boundary: Boundary,
    vregs: Vec<VRegId>,
}

impl Outside {
    /// Those that `head` reads without naming them.
    fn read_by<'a>(
        &'a self,
        function: &FunctionView<'a>,
        forms: &FormTable,
        head: &InstHead,
    ) -> impl Iterator<Item = VRegId> + use<'a> {
        let (read, vregs) = (self.boundary.read_by(head, forms), function.vregs);
        self.vregs.iter().copied().filter(move |vreg| vregs[vreg.index()].flags.intersects(read))
    }

    /// Those that are read after the end of `block` without being live out of it: control leaves there.
    fn at_end_of(&self, function: &FunctionView<'_>, block: BlockId) -> &[VRegId] {
        if function.succs(block).is_empty() { &self.vregs } else { &[] }
    }
}

impl Pressure {
    /// Looks at a function whose live sets are `set`. Who is to [follow](Self::follow) edits says so next.
    pub fn build(&mut self, function: &FunctionView<'_>, forms: &FormTable, set: &LiveSet) {
        self.epochs = (function.state.cfg_epoch, function.state.row_epoch);
        self.kinds.clear();
        self.vregs.clear();
        self.far_last_uses.clear();
        self.changes.clear();
        self.outside.vregs.clear();
        self.globals.clear();
        self.globals.extend_from_slice(set.globals());
        self.follows = false;
        self.grow(function);
        for (bit, vreg) in self.globals.iter().enumerate() {
            self.vregs[vreg.index()].bit = bit as u32;
        }
        self.find_outside(function);
        self.blocks.start(function.blocks.len());
        for block in function.block_ids() {
            let count = self.walk(function, forms, block, |bit| set.has_out(block, bit as usize));
            self.add_named(function, block, count);
            self.blocks.store(block, &self.named[..count]);
        }
        self.add_runs(function, set);
    }

    /// Takes over the live sets for which it was built: what edits change of them is found from now on.
    pub fn follow(&mut self, set: &LiveSet) {
        self.live_in.copy(set, Side::In);
        self.live_out.copy(set, Side::Out);
        self.follows = true;
    }

    fn find_outside(&mut self, function: &FunctionView<'_>) {
        let Outside { boundary, vregs } = &mut self.outside;
        *boundary = Boundary::of(function);
        if !boundary.is_empty() {
            let is_read = VRegFlags::OUTPUT | VRegFlags::MODULE;
            vregs.extend(
                function.vreg_ids().filter(|vreg| function.vregs[vreg.index()].flags.intersects(is_read)),
            );
        }
    }

    /// Adds what the block that was walked does to the sums of the `count` registers that it names.
    fn add_named(&mut self, function: &FunctionView<'_>, block: BlockId, count: usize) {
        let weight = weight_in(function, block);
        for named in &self.named[..count] {
            let vreg = &mut self.vregs[named.vreg().index()];
            vreg.length = vreg.length.wrapping_add(named.length);
            vreg.weight += u64::from(named.access_count) * weight;
        }
    }

    /// Adds what lives out of blocks: to the counts at their ends, and to the lengths of the registers.
    fn add_runs(&mut self, function: &FunctionView<'_>, set: &LiveSet) {
        let Self { vregs, kinds, blocks, outside, starts, .. } = self;
        starts.clear();
        starts.push(0);
        let mut start = 0;
        starts.extend(blocks.rows.iter().map(|row| {
            start += row.inst_count;
            start
        }));
        // First the difference from the block before.
        set.each_run(Side::Out, |run, vreg| {
            let (first, end) = (run.start as usize, run.end as usize);
            let vreg = &mut vregs[vreg.index()];
            vreg.length = vreg.length.wrapping_add(starts[end] - starts[first]);
            let words = kinds[vreg.kind as usize].words;
            blocks.rows[first].out = plus(blocks.rows[first].out, words);
            if let Some(row) = blocks.rows.get_mut(end) {
                row.out = minus(row.out, words);
            }
        });
        let mut out = Words::default();
        for row in &mut blocks.rows {
            out = plus(out, row.out);
            row.out = out;
        }
        if !outside.vregs.is_empty() {
            for block in function.block_ids() {
                let row = &mut blocks.rows[block.index()];
                for vreg in outside.at_end_of(function, block) {
                    row.out = plus(row.out, kinds[vregs[vreg.index()].kind as usize].words);
                }
            }
        }
    }

    /// Makes room for what the function has now.
    fn grow(&mut self, function: &FunctionView<'_>) {
        let Self { vregs, kinds, points, named, .. } = self;
        vregs.extend(function.vregs[vregs.len()..].iter().map(|head| {
            let what = (head.ty, head.flags.contains(VRegFlags::CARRY));
            // Few types come in one function.
            let kind = kinds.iter().position(|kind| kind.what == what).unwrap_or(kinds.len());
            if kind == kinds.len() {
                kinds.push(Kind { what, words: words_of(head) });
            }
            VReg { weight: 0, length: 0, bit: NO_BIT, place: 0, kind: kind as u32 }
        }));
        if named.len() < function.vregs.len() {
            named.resize(function.vregs.len(), Named::new(VRegId(0), false));
        }
        if points.len() < function.heads.len() {
            points.resize(function.heads.len(), Point::default());
        }
    }
}

/// What an access of a block counts for.
fn weight_in(function: &FunctionView<'_>, block: BlockId) -> u64 {
    10_u64.pow(function.orders[block.index()].depth.min(DEPTH_MAX))
}

/// What is known, as far as nothing was touched since the last update.
impl Pressure {
    /// Whether blocks and ids of the function are those that it was built for.
    #[must_use]
    pub fn is_for(&self, function: &FunctionView<'_>) -> bool {
        self.epochs == (function.state.cfg_epoch, function.state.row_epoch)
    }

    /// What lives before a live instruction of `function`.
    #[must_use]
    pub fn before(&self, function: &FunctionView<'_>, inst: InstId) -> Counts {
        self.counts(function, inst, self.points[inst.index()].before)
    }

    /// What lives after a live instruction of `function`, and what it writes though nothing reads it.
    #[must_use]
    pub fn after(&self, function: &FunctionView<'_>, inst: InstId) -> Counts {
        self.counts(function, inst, self.points[inst.index()].after)
    }

    fn counts(&self, function: &FunctionView<'_>, inst: InstId, words: Words) -> Counts {
        let block = function.heads[inst.index()].block;
        plus(self.blocks.rows[block.index()].out, words).map(count_of)
    }

    /// Where most slots of each class are taken. Costs the blocks, and the instructions of one of them a class.
    #[must_use]
    pub fn peaks(&self, function: &FunctionView<'_>) -> [Peak; CLASSES.len()] {
        std::array::from_fn(|class| {
            let (mut most, mut at) = (0, None);
            for (block, row) in self.blocks.rows.iter().enumerate().filter(|(_, row)| row.inst_count > 0) {
                let words = row.out[class].wrapping_add(row.peaks[class]);
                if words > most {
                    (most, at) = (words, Some((BlockId::new(block), row.peaks[class])));
                }
            }
            let inst = at.and_then(|(block, words)| {
                function.insts_of(block).find(|inst| {
                    let point = &self.points[inst.index()];
                    point.before[class] == words || point.after[class] == words
                })
            });
            Peak { count: count_of(most), inst }
        })
    }

    /// Whether the register of an operand is dead after the instruction. Of two uses of one register by one instruction, the
    /// first is the last use.
    #[must_use]
    pub fn is_last_use(&self, inst: InstId, position: usize) -> bool {
        if position < NEAR_POSITIONS {
            self.points[inst.index()].last_uses >> position & 1 == 1
        } else {
            self.far_last_uses.contains(&(inst, position as u32))
        }
    }

    /// Positions of the last uses of an instruction.
    pub fn last_uses_of(&self, inst: InstId) -> impl Iterator<Item = usize> + '_ {
        let near = self.points[inst.index()].last_uses;
        let near = (0..NEAR_POSITIONS).filter(move |position| near >> position & 1 == 1);
        let far = self.far_last_uses.range((inst, 0)..=(inst, u32::MAX));
        near.chain(far.map(|&(_, position)| position as usize))
    }

    /// Number of instructions that a register lives across, or is written by.
    #[must_use]
    pub fn length(&self, vreg: VRegId) -> u32 {
        self.vregs[vreg.index()].length
    }

    /// Accesses of a register, each weighted with ten to the depth of its loops.
    #[must_use]
    pub fn weight(&self, vreg: VRegId) -> u64 {
        self.vregs[vreg.index()].weight
    }

    /// What keeping `vreg` in memory would cost, for an instruction that it lives across; infinite where it may not be.
    #[must_use]
    pub fn spill_cost(&self, function: &FunctionView<'_>, vreg: VRegId) -> f64 {
        let head: &VRegHead = &function.vregs[vreg.index()];
        if head.flags.intersects(VRegFlags::WRITTEN_ELSEWHERE) {
            return f64::INFINITY;
        }
        self.weight(vreg) as f64 / f64::from(self.length(vreg).max(1))
    }
}
