//! Webs: the definitions of a register that meet in some read, and those reads.
//!
//! A register that is written several times may hold values that have nothing to do with each other. Two definitions are of
//! one web where a read can see either; a guarded one is of the web of what it may leave standing.
//!
//! # How it works
//! For one register: a walk backward from the reads that no definition of their block comes before finds the blocks in which
//! it lives at the start. Each of those is a node, and so is each definition. A walk forward through each block knows which
//! node the register holds; a guarded definition unites the two, and the end of a block is united with the start of each
//! successor in which the register lives. What is united is a web (Muchnick 1997, 16.3.3, without reaching definitions).

use ptxopt_components::ids::{BlockId, Id, InstId};
use ptxopt_engine::store::view::FunctionView;

/// What an operand does to its register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    Reads,
    /// Ends what the register held.
    Writes,
    /// Under a guard: the register may keep what it held.
    MayWrite,
}

/// An operand that names the register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named {
    pub block: BlockId,
    pub inst: InstId,
    pub position: u32,
    pub does: Does,
}

/// No node: the register holds nothing that is read.
const NOTHING: u32 = u32::MAX;

/// What is known of a block for the register at hand.
#[derive(Clone, Copy, Default)]
struct OfBlock {
    /// The register to which the rest belongs.
    number: u32,
    /// Its part of the list of operands.
    first: u32,
    end: u32,
    /// Some operand ends what the register held at the start.
    is_ended: bool,
    /// It lives at the start: the node of what it holds there.
    live_in: Option<u32>,
}

/// Finds webs, one register after the other.
#[derive(Default)]
pub(super) struct Webs {
    number: u32,
    blocks: Vec<OfBlock>,
    /// Blocks at whose start the register lives; the walk backward goes on from those after `walked`.
    live_in: Vec<BlockId>,
    /// By node: another one of its web.
    parents: Vec<u32>,
    /// By operand: the node that it reads or makes, then the number of its web.
    pub web_of: Vec<u32>,
    /// By node that stands for a web: its number.
    numbers: Vec<u32>,
    /// Blocks that may still be looked at.
    pub looks_left: usize,
}

impl Webs {
    /// Starts with a function, in which `looks` blocks may be looked at.
    pub fn start(&mut self, function: &FunctionView<'_>, looks: usize) {
        self.number = 0;
        self.blocks.clear();
        self.blocks.resize(function.blocks.len(), OfBlock::default());
        self.looks_left = looks;
    }

    /// Finds the webs of a register whose operands are `named`, in the order of the text, those of an instruction with the
    /// reads first. Gives how many webs something reads; they are numbered from 0 on, and all that nothing reads is of
    /// number 0, too. Nothing where there are too many blocks to look at.
    pub fn find(&mut self, function: &FunctionView<'_>, named: &[Named]) -> Option<u32> {
        self.number += 1;
        self.live_in.clear();
        self.parents.clear();
        self.web_of.clear();
        self.note_blocks(named);
        self.find_live_in(function)?;
        self.walk_blocks(function, named)?;
        Some(self.number_webs(named))
    }

    fn of(&mut self, block: BlockId) -> &mut OfBlock {
        let row = &mut self.blocks[block.index()];
        if row.number != self.number {
            *row = OfBlock { number: self.number, ..OfBlock::default() };
        }
        row
    }

    fn new_node(&mut self) -> u32 {
        self.parents.push(self.parents.len() as u32);
        self.parents.len() as u32 - 1
    }

    fn root(&mut self, mut node: u32) -> u32 {
        while self.parents[node as usize] != node {
            let next = self.parents[node as usize];
            self.parents[node as usize] = self.parents[next as usize];
            node = self.parents[node as usize];
        }
        node
    }

    fn unite(&mut self, one: u32, other: u32) {
        let (one, other) = (self.root(one), self.root(other));
        self.parents[one.max(other) as usize] = one.min(other);
    }

    /// Notes the operands of each block, and where the register is read before it is written.
    fn note_blocks(&mut self, named: &[Named]) {
        let mut first = 0;
        for of_block in named.chunk_by(|one, other| one.block == other.block) {
            let block = of_block[0].block;
            let ends = of_block.iter().position(|named| named.does == Does::Writes);
            let reads = of_block.iter().position(|named| named.does == Does::Reads);
            let end = first + of_block.len() as u32;
            let row = self.of(block);
            (row.first, row.end, row.is_ended) = (first, end, ends.is_some());
            if reads.is_some_and(|read| ends.is_none_or(|end| read < end)) {
                self.enter(block);
            }
            first = end;
        }
    }

    fn enter(&mut self, block: BlockId) {
        if self.of(block).live_in.is_none() {
            let node = self.new_node();
            self.of(block).live_in = Some(node);
            self.live_in.push(block);
        }
    }

    /// The walk backward.
    fn find_live_in(&mut self, function: &FunctionView<'_>) -> Option<()> {
        let mut walked = 0;
        while let Some(&block) = self.live_in.get(walked) {
            walked += 1;
            let preds = function.preds(block);
            self.looks_left = self.looks_left.checked_sub(1 + preds.len())?;
            for &pred in preds {
                if !self.of(pred).is_ended {
                    self.enter(pred);
                }
            }
        }
        Some(())
    }

    /// The walk forward through every block that names the register or starts with it live.
    fn walk_blocks(&mut self, function: &FunctionView<'_>, named: &[Named]) -> Option<()> {
        for of_block in named.chunk_by(|one, other| one.block == other.block) {
            self.walk_block(function, of_block[0].block, of_block)?;
        }
        for at in 0..self.live_in.len() {
            let block = self.live_in[at];
            let row = self.of(block);
            if row.first == row.end {
                self.walk_block(function, block, &[])?;
            }
        }
        Some(())
    }

    fn walk_block(&mut self, function: &FunctionView<'_>, block: BlockId, named: &[Named]) -> Option<()> {
        let mut holds = self.of(block).live_in.unwrap_or(NOTHING);
        for operand in named {
            if operand.does != Does::Reads {
                let written = self.new_node();
                if operand.does == Does::MayWrite && holds != NOTHING {
                    self.unite(holds, written);
                }
                holds = written;
            }
            debug_assert!(holds != NOTHING, "the walk backward comes here from a read");
            self.web_of.push(holds);
        }
        let succs = function.succs(block);
        self.looks_left = self.looks_left.checked_sub(1 + succs.len())?;
        for &succ in succs {
            if let Some(live_in) = self.of(succ).live_in {
                self.unite(holds, live_in);
            }
        }
        Some(())
    }

    /// Numbers the webs that something reads in the order in which the text names them.
    fn number_webs(&mut self, named: &[Named]) -> u32 {
        const UNREAD: u32 = u32::MAX;
        const READ: u32 = u32::MAX - 1;
        self.numbers.clear();
        self.numbers.resize(self.parents.len(), UNREAD);
        for (at, named) in named.iter().enumerate() {
            let root = self.root(self.web_of[at]);
            self.web_of[at] = root;
            if named.does == Does::Reads {
                self.numbers[root as usize] = READ;
            }
        }
        let Self { web_of, numbers, .. } = self;
        let mut count = 0;
        for web in web_of {
            let number = &mut numbers[*web as usize];
            if *number == READ {
                *number = count;
                count += 1;
            }
            *web = if *number == UNREAD { 0 } else { *number };
        }
        count
    }
}
