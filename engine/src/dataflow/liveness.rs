//! Liveness: which registers may still be read at each block boundary.
//!
//! ```text
//! live_out(b) = union of live_in(s) over successors s
//! live_in(b)  = gens(b) | (live_out(b) & !kills(b))
//! ```
//!
//! Only registers that live across a block boundary get a bit (Briggs's global names): those with a use that no
//! unguarded definition of the same block precedes. The sets of a function lie in two matrices, blocks x words.
//!
//! # Guarded writes do not kill
//! ```text
//! @p mov r1, 7;      // p false: the old r1 flows through
//! add r2, r1, 1;
//! ```
//! Neither do writes of one component of a vector register, nor definitions that read the old value.
//!
//! # Convergence
//! The sets only grow, so the rounds end. Blocks are visited against reverse postorder; without a retreating edge
//! one round is the solution, with them d + 2 rounds are, d being the most retreating edges on a path without
//! repetition (Hecht and Ullman 1975).

use crate::bits::{self, BitMatrix};
use crate::forms::FormTable;
use crate::view::FunctionView;
use bevy_ecs::resource::Resource;
use ptxopt_components::block::{BlockFlags, BlockOrder};
use ptxopt_components::ids::{BlockId, Id, VRegId};
use ptxopt_components::instruction::{InstHead, Marks};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::Operand;
use ptxopt_components::vreg::VRegFlags;

/// Most words of one set of a function, blocks x words: 32 MiB. Above, the sets would be quadratic in the size of
/// the function, and [`LiveSet::is_solved`] is false.
pub const WORDS_MAX: usize = 1 << 22;

/// No bit: the register does not live across a block boundary.
const NO_BIT: u32 = u32::MAX;

/// The live sets of one function.
#[derive(Default)]
pub struct LiveSet {
    /// By block.
    pub live_in: BitMatrix,
    /// By block.
    pub live_out: BitMatrix,
    /// By register: its bit, or `u32::MAX`.
    bit_of: Vec<u32>,
    /// By bit: its register.
    pub vreg_of: Vec<VRegId>,
    /// Whether the sets were solved; they are not where they would be too large.
    pub is_solved: bool,
    /// Rounds that the solver took.
    pub round_count: u32,
}

/// The live sets of a batch, by function.
#[derive(Resource, Default)]
pub struct LiveSets {
    /// By function; longer than the batch where an earlier one was.
    pub functions: Vec<LiveSet>,
}

impl LiveSets {
    /// The sets of function number `code`, made if they do not exist.
    pub fn of(&mut self, code: usize) -> &mut LiveSet {
        if self.functions.len() <= code {
            self.functions.resize_with(code + 1, LiveSet::default);
        }
        &mut self.functions[code]
    }
}

/// Memory that the solver uses again.
#[derive(Default)]
pub struct LivenessScratch {
    /// By register: one more than the last block that defined it unguarded.
    defined_in: Vec<u32>,
    /// By register: one more than the last block that has it among its gens.
    exposed_in: Vec<u32>,
    gens: Vec<(BlockId, VRegId)>,
    kills: Vec<(BlockId, VRegId)>,
    gen_sets: BitMatrix,
    kill_sets: BitMatrix,
    /// Reachable blocks in reverse postorder.
    order: Vec<BlockId>,
}

/// Registers that something outside the function reads when it is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boundary {
    /// Has registers that are live at every return.
    pub has_outputs: bool,
    /// Has registers of the module: live at calls, returns and exits.
    pub has_module: bool,
}

impl Boundary {
    /// The boundary of a function.
    #[must_use]
    pub fn of(function: &FunctionView<'_>) -> Self {
        let any = |flag| function.vregs.iter().any(|vreg| vreg.flags.contains(flag));
        Self { has_outputs: any(VRegFlags::OUTPUT), has_module: any(VRegFlags::MODULE) }
    }

    /// Whether nothing crosses the boundary in a register, which is so in nearly every function.
    #[must_use]
    pub fn is_empty(self) -> bool {
        !self.has_outputs && !self.has_module
    }

    /// Which registers `head` reads without naming them.
    #[must_use]
    pub fn read_by(self, head: &InstHead, forms: &FormTable) -> VRegFlags {
        if self.is_empty() || !head.marks.intersects(Marks::KEPT | Marks::CONTROL) {
            return VRegFlags::empty();
        }
        let effects = forms.get(head.form).effects;
        let mut read = VRegFlags::empty();
        if effects.contains(Effects::RETURN) {
            read |= VRegFlags::OUTPUT;
        }
        if effects.intersects(Effects::RETURN | Effects::EXIT | Effects::CALL | Effects::UNKNOWN) {
            read |= VRegFlags::MODULE;
        }
        read
    }
}

/// Whether a definition under `guarded` ends the life of the value before it.
#[inline]
#[must_use]
pub fn kills(operand: &Operand, guarded: bool) -> bool {
    operand.is_definition() && !guarded && !operand.is_partial()
}

/// Solves the liveness of a function whose control-flow facts hold and whose blocks end at control flow.
pub fn solve(
    function: &FunctionView<'_>,
    forms: &FormTable,
    scratch: &mut LivenessScratch,
    set: &mut LiveSet,
) {
    collect(function, forms, scratch);
    number_globals(function, scratch, set);
    let (block_count, bit_count) = (function.blocks.len(), set.vreg_of.len());
    set.is_solved = block_count * bits::words_for(bit_count) <= WORDS_MAX;
    if !set.is_solved {
        return;
    }
    set.live_in.reset(block_count, bit_count);
    set.live_out.reset(block_count, bit_count);
    fill(&mut scratch.gen_sets, &scratch.gens, block_count, set);
    fill(&mut scratch.kill_sets, &scratch.kills, block_count, set);
    let has_retreating_edge = order_blocks(function, &mut scratch.order);
    iterate(function, scratch, set, has_retreating_edge);
}

/// Collects gens and kills of every block in one forward sweep.
fn collect(function: &FunctionView<'_>, forms: &FormTable, scratch: &mut LivenessScratch) {
    let LivenessScratch { defined_in, exposed_in, gens, kills: killed, .. } = scratch;
    for stamps in [&mut *defined_in, &mut *exposed_in] {
        stamps.clear();
        stamps.resize(function.vregs.len(), 0);
    }
    gens.clear();
    killed.clear();
    let boundary = Boundary::of(function);
    for block in function.block_ids() {
        let stamp = block.0 + 1;
        let mut expose = |vreg: VRegId, defined_in: &[u32]| {
            let at = vreg.index();
            if defined_in[at] != stamp && exposed_in[at] != stamp {
                exposed_in[at] = stamp;
                gens.push((block, vreg));
            }
        };
        for inst in function.insts_of(block) {
            let head = &function.heads[inst.index()];
            let operands = function.operands_of(inst);
            for operand in operands.iter().filter(|operand| operand.is_use()) {
                if let Some(vreg) = operand.vreg() {
                    expose(vreg, defined_in);
                }
            }
            let read = boundary.read_by(head, forms);
            if !read.is_empty() {
                for vreg in function.vreg_ids() {
                    if function.vregs[vreg.index()].flags.intersects(read) {
                        expose(vreg, defined_in);
                    }
                }
            }
            let guarded = head.opcode.is_guarded();
            for operand in operands.iter().filter(|operand| kills(operand, guarded)) {
                if let Some(vreg) = operand.vreg()
                    && defined_in[vreg.index()] != stamp
                {
                    defined_in[vreg.index()] = stamp;
                    killed.push((block, vreg));
                }
            }
        }
        // Running off the end of the function returns.
        let falls_off = function.succs(block).is_empty() && !boundary.is_empty();
        if falls_off {
            for vreg in function.vreg_ids() {
                if function.vregs[vreg.index()].flags.intersects(VRegFlags::OUTPUT | VRegFlags::MODULE) {
                    expose(vreg, defined_in);
                }
            }
        }
    }
}

fn number_globals(function: &FunctionView<'_>, scratch: &LivenessScratch, set: &mut LiveSet) {
    set.bit_of.clear();
    set.bit_of.resize(function.vregs.len(), NO_BIT);
    set.vreg_of.clear();
    for &(_, vreg) in &scratch.gens {
        let bit = &mut set.bit_of[vreg.index()];
        if *bit == NO_BIT {
            *bit = set.vreg_of.len() as u32;
            set.vreg_of.push(vreg);
        }
    }
}

fn fill(sets: &mut BitMatrix, members: &[(BlockId, VRegId)], block_count: usize, set: &LiveSet) {
    sets.reset(block_count, set.vreg_of.len());
    for &(block, vreg) in members {
        let bit = set.bit_of[vreg.index()];
        if bit != NO_BIT {
            sets.set(block.index(), bit as usize);
        }
    }
}

/// Lists the reachable blocks in reverse postorder; says whether some edge retreats.
fn order_blocks(function: &FunctionView<'_>, order: &mut Vec<BlockId>) -> bool {
    let is_reachable = |&block: &BlockId| {
        function.orders[block.index()].rpo != BlockOrder::UNREACHABLE
            && !function.blocks[block.index()].flags.contains(BlockFlags::DEAD)
    };
    order.clear();
    order.extend(function.block_ids().filter(is_reachable));
    order.sort_unstable_by_key(|block| function.orders[block.index()].rpo);
    let rpo = |block: BlockId| function.orders[block.index()].rpo;
    order.iter().any(|&block| function.succs(block).iter().any(|&succ| rpo(succ) <= rpo(block)))
}

fn iterate(
    function: &FunctionView<'_>,
    scratch: &LivenessScratch,
    set: &mut LiveSet,
    has_retreating_edge: bool,
) {
    set.round_count = 0;
    let mut changed = true;
    while changed {
        changed = false;
        set.round_count += 1;
        for &block in scratch.order.iter().rev() {
            for succ in function.succs(block) {
                bits::or(set.live_out.row_mut(block.index()), set.live_in.row(succ.index()));
            }
            changed |= bits::transfer_if_changed(
                set.live_in.row_mut(block.index()),
                scratch.gen_sets.row(block.index()),
                set.live_out.row(block.index()),
                scratch.kill_sets.row(block.index()),
            );
        }
        changed &= has_retreating_edge;
    }
}

impl LiveSet {
    /// Whether `vreg` lives across some block boundary.
    #[must_use]
    pub fn is_global(&self, vreg: VRegId) -> bool {
        self.bit_of[vreg.index()] != NO_BIT
    }

    /// Whether `vreg` may be read after the end of `block`.
    #[must_use]
    pub fn is_live_out(&self, block: BlockId, vreg: VRegId) -> bool {
        let bit = self.bit_of[vreg.index()];
        bit != NO_BIT && self.live_out.test(block.index(), bit as usize)
    }

    /// Whether `vreg` may be read from the start of `block` on.
    #[must_use]
    pub fn is_live_in(&self, block: BlockId, vreg: VRegId) -> bool {
        let bit = self.bit_of[vreg.index()];
        bit != NO_BIT && self.live_in.test(block.index(), bit as usize)
    }

    /// The registers that may be read after the end of `block`.
    pub fn live_out_vregs(&self, block: BlockId) -> impl Iterator<Item = VRegId> + '_ {
        self.live_out.ones(block.index()).map(|bit| self.vreg_of[bit])
    }
}
