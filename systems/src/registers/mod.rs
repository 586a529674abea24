//! Registers: how many a kernel will take, whether it will spill, and how many warps will run.
//!
//! Source phase  none of its own: what the estimator of `ptxas` answers (liveness), for reports and for phases that ask
//! Reads         Blocks, Insts, VRegs, the loop nest
//! Writes        nothing
//! Needs         control-flow facts; SSA form or none
//! Leaves        everything as it is
//! Breaks        nothing
//! Cost          four walks over the instructions, and rounds over rows of bits
//! Paper         none: fitted to what `ptxas` reports; Friedman 2001 for the trees
//! Checked by    tests here, and `docs/FORECAST.md`
//!
//! `machine` says which values take a register at all, `walks` how many do at the same time, [`fat_point`] which slots they
//! get, `mix` what the code does, `targets` what the processor has, and `forecast` what follows, with the help of `trees`.

pub mod fat_point;
mod forecast;
mod lives;
mod machine;
mod mix;
mod settings;
mod targets;
mod trees;
mod walks;

#[cfg(test)]
mod tests;

pub use forecast::{COEFFICIENTS, Callees, Features, Forecast, forecast};
pub use mix::Mix;
pub(crate) use settings::has_more_slots;
pub use settings::{Settings, budget_of, promises_of};
pub use targets::{Promises, REGISTERS_MAX, Target, WARP_THREADS, budget};

use fat_point::Allocator;
use forecast::{UNROLL_FACTOR, UNROLLED_ROWS_MAX};
use lives::Lives;
use machine::{Machine, Place};
use ptxopt_components::ids::{BlockId, Id, InstId, NameId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::types::RegClass;
use ptxopt_components::vreg::VRegHead;
use ptxopt_engine::bits::BitMatrix;
use ptxopt_engine::dataflow::liveness::{DENSE_WORDS_MAX, LiveSet, LivenessScratch, solve};
use ptxopt_engine::dataflow::pressure::{Pressure, place_of};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::nest::LoopNest;
use ptxopt_engine::store::view::FunctionView;
use walks::{UNIFORM_FILE, Walks};

/// A call, and the slots that live across it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The call.
    pub inst: InstId,
    /// What the instruction names: parameters, and the function where it is not called through a register.
    pub names: Vec<NameId>,
    /// Slots that live across.
    pub across: u32,
}

/// Looks at functions, one after the other.
#[derive(Default)]
pub struct Estimator {
    machine: Machine,
    lives: Lives,
    walks: Walks,
    allocator: Allocator,
    is_too_large: bool,
    /// Whether the uniform values of the function that was looked at last fit their file.
    has_uniform_file: bool,
    /// The calls of the function that was looked at last.
    pub calls: Vec<Call>,
    /// Functions that were too large for rows of bits: their registers are counted as they stand in PTX.
    pub too_large_count: u64,
}

impl Estimator {
    /// What is known of a function.
    pub fn look_at(&mut self, function: &FunctionView<'_>, forms: &FormTable, nest: &LoopNest) -> Features {
        let Self { machine, lives, walks, calls, too_large_count, is_too_large, has_uniform_file, .. } = self;
        calls.clear();
        machine.look_at(function, forms);
        let mut features = Features {
            insts: machine.rows.len() as u32,
            blocks: function.blocks.len() as u32,
            depth: nest.rows().iter().map(|row| row.depth).max().unwrap_or(0),
            has_long_subroutine: machine.has_long_subroutine,
            sets_limit: machine.sets_limit,
            ..Features::default()
        };
        *is_too_large = !lives.solve(function, machine);
        if *is_too_large {
            *too_large_count += 1;
            let slots = peak_as_it_stands(function, forms);
            return Features { need: slots, with_uniform: slots, hoisted: slots, held: slots, ..features };
        }
        let peaks = walks.walk(function, machine, lives);
        // The source tries again without uniform registers where these are too few.
        *has_uniform_file = peaks.uniform <= UNIFORM_FILE;
        features.need = if *has_uniform_file { peaks.need } else { peaks.with_uniform };
        features.with_uniform = peaks.with_uniform;
        features.hoisted = peaks.hoisted;
        features.held = peaks.held;
        features.unrolled = unrolled(nest, walks);
        features.mean = peaks.mean;
        features.rows_max = peaks.rows_max;
        features.loaded_max = peaks.loaded_max;
        (features.loop_need, features.loop_rows) = in_loops(nest, walks);
        features.mix = Mix::of(function, forms, machine);
        for &(row, across) in &walks.across_calls {
            let inst = machine.rows[row as usize].inst;
            let operands = function.operands_of(inst);
            let symbol = |operand: &Operand| match operand.kind() {
                OperandKind::Symbol(name) => Some(name),
                _ => None,
            };
            calls.push(Call { inst, names: operands.iter().filter_map(symbol).collect(), across });
        }
        features
    }

    /// Slots that a block of the function that was looked at last needs at its peak, without uniform values; nothing where that
    /// was too large.
    #[must_use]
    pub fn need_of(&self, block: BlockId) -> Option<u32> {
        self.walks.blocks.get(block.index()).filter(|_| !self.is_too_large).map(|peak| peak.need)
    }

    /// Whether a register of the function that was looked at last takes one of the machine that is not uniform.
    #[must_use]
    pub fn takes_register(&self, vreg: VRegId) -> bool {
        matches!(self.machine.places[vreg.index()], Place::Own | Place::Shared(_))
    }

    /// Whether a register of the function that was looked at last takes one of the machine that no other has.
    #[must_use]
    pub fn has_own_register(&self, vreg: VRegId) -> bool {
        self.machine.places[vreg.index()] == Place::Own
    }

    /// Slots up to the last one that the [allocator](fat_point) gives to a value of the function that was looked at last;
    /// none where that was too large.
    pub fn allocated(&mut self, function: &FunctionView<'_>) -> Option<u32> {
        let Self { machine, lives, walks, allocator, is_too_large, has_uniform_file, .. } = self;
        allocator.takes_uniform = !*has_uniform_file;
        (!*is_too_large).then(|| allocator.allocate(function, machine, lives, walks))
    }
}

/// The most that an innermost loop takes when its loads are under way in several rounds.
fn unrolled(nest: &LoopNest, walks: &Walks) -> u32 {
    let innermost = nest.ids().filter(|&id| nest.row(id).last == id);
    let of_loop = |id| {
        let blocks = || nest.blocks(id).iter().map(|block| walks.blocks[block.index()]);
        let rows: u32 = blocks().map(|block| block.row_count).sum();
        let loaded: u32 = blocks().map(|block| block.loaded).sum();
        let need = blocks().map(|block| block.need).max().unwrap_or(0);
        need + if rows <= UNROLLED_ROWS_MAX { (UNROLL_FACTOR - 1) * loaded } else { 0 }
    };
    innermost.map(of_loop).max().unwrap_or(0)
}

/// The highest pressure in an innermost loop, and the instructions of the largest one.
fn in_loops(nest: &LoopNest, walks: &Walks) -> (u32, u32) {
    let innermost = nest.ids().filter(|&id| nest.row(id).last == id);
    innermost.fold((0, 0), |(need, rows), id| {
        let blocks = || nest.blocks(id).iter().map(|block| walks.blocks[block.index()]);
        let need_here = blocks().map(|block| block.need).max().unwrap_or(0);
        (need.max(need_here), rows.max(blocks().map(|block| block.row_count).sum()))
    })
}

/// Words of live sets up to which the registers of a function that is too large for the estimator are counted where they live. Live sets
/// grow with blocks times registers, whatever finds them.
const PEAK_WORDS_MAX: usize = 4 * DENSE_WORDS_MAX;

/// Slots at the peak of the registers of PTX; those of all registers where even that is too much to find.
fn peak_as_it_stands(function: &FunctionView<'_>, forms: &FormTable) -> u32 {
    if function.blocks.len() * BitMatrix::stride_for(function.vregs.len()) > PEAK_WORDS_MAX {
        let registers = function.vregs.iter().filter(|vreg| vreg.class() == RegClass::R);
        return registers.map(VRegHead::slots).sum();
    }
    let (mut set, mut pressure) = (LiveSet::default(), Pressure::default());
    solve(function, forms, &mut LivenessScratch::default(), &mut set);
    pressure.build(function, forms, &set);
    pressure.peaks(function)[place_of(RegClass::R)].count.slots
}
