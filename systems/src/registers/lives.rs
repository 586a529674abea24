//! Live sets of the [machine's view](super::machine): rows of bits, solved by rounds over the blocks.
//!
//! The sets of the engine do not do: values that are in no register, or in that of another one, live elsewhere or not at
//! all. Only values that some block reads before it defines them, or a phi reads, have a bit.

use super::machine::Machine;
use ptxopt_components::ids::{BlockId, Id, VRegId};
use ptxopt_engine::bits::{self, BitMatrix};
use ptxopt_engine::dataflow::liveness::DENSE_WORDS_MAX;
use ptxopt_engine::store::view::FunctionView;

const NO_BIT: u32 = u32::MAX;

/// The live-out sets of a function.
#[derive(Default)]
pub(super) struct Lives {
    bit_of: Vec<u32>,
    vreg_of: Vec<VRegId>,
    /// Block and value that it reads before it defines it; by block.
    exposed: Vec<(BlockId, VRegId)>,
    /// By register: one more than the block in which it was last defined, and last exposed.
    seen: Vec<(u32, u32)>,
    gens: BitMatrix,
    kills: BitMatrix,
    live_in: BitMatrix,
    live_out: BitMatrix,
    order: Vec<BlockId>,
}

impl Lives {
    /// Solves the sets; says whether the function is small enough for them.
    pub(super) fn solve(&mut self, function: &FunctionView<'_>, machine: &Machine) -> bool {
        self.expose(function, machine);
        let (blocks, bit_count) = (function.blocks.len(), self.vreg_of.len());
        if blocks * BitMatrix::stride_for(bit_count) > DENSE_WORDS_MAX {
            return false;
        }
        let Self { bit_of, exposed, gens, kills, live_in, live_out, order, .. } = self;
        for matrix in [&mut *gens, &mut *kills, &mut *live_in, &mut *live_out] {
            matrix.reset(blocks, bit_count);
        }
        for &(block, vreg) in &*exposed {
            gens.set(block.index(), bit_of[vreg.index()] as usize);
        }
        for &(from, vreg) in &machine.incoming {
            live_out.set(from.index(), bit_of[vreg.index()] as usize);
        }
        for block in function.block_ids() {
            for row in machine.rows[machine.rows_of(block)].iter().filter(|row| !row.is_guarded) {
                for vreg in machine.defs(row).iter().filter(|vreg| bit_of[vreg.index()] != NO_BIT) {
                    kills.set(block.index(), bit_of[vreg.index()] as usize);
                }
            }
        }
        order.clear();
        order.extend(function.block_ids().filter(|block| function.orders[block.index()].is_reachable()));
        order.sort_unstable_by_key(|block| std::cmp::Reverse(function.orders[block.index()].rpo));
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for &block in &*order {
                for succ in function.succs(block) {
                    bits::or(live_out.row_mut(block.index()), live_in.row(succ.index()));
                }
                let into = live_in.row_mut(block.index());
                let at = block.index();
                has_changed |= bits::transfer_if_changed(into, gens.row(at), live_out.row(at), kills.row(at));
            }
        }
        true
    }

    fn expose(&mut self, function: &FunctionView<'_>, machine: &Machine) {
        let Self { bit_of, vreg_of, exposed, seen, .. } = self;
        bit_of.clear();
        bit_of.resize(function.vregs.len(), NO_BIT);
        vreg_of.clear();
        exposed.clear();
        seen.clear();
        seen.resize(function.vregs.len(), (0, 0));
        let mut give_bit = |vreg: VRegId| {
            if bit_of[vreg.index()] == NO_BIT {
                bit_of[vreg.index()] = vreg_of.len() as u32;
                vreg_of.push(vreg);
            }
        };
        machine.incoming.iter().for_each(|&(_, vreg)| give_bit(vreg));
        for block in function.block_ids() {
            let stamp = block.0 + 1;
            for row in &machine.rows[machine.rows_of(block)] {
                for &vreg in machine.uses(row) {
                    let (defined, is_exposed) = &mut seen[vreg.index()];
                    if *defined != stamp && std::mem::replace(is_exposed, stamp) != stamp {
                        exposed.push((block, vreg));
                        give_bit(vreg);
                    }
                }
                if !row.is_guarded {
                    machine.defs(row).iter().for_each(|vreg| seen[vreg.index()].0 = stamp);
                }
            }
        }
    }

    /// The values that live at the end of a block.
    pub(super) fn at_end_of(&self, block: BlockId) -> impl Iterator<Item = VRegId> + '_ {
        bits::ones(self.live_out.row(block.index())).map(|bit| self.vreg_of[bit])
    }

    /// The values that live at the start of a block.
    pub(super) fn at_start_of(&self, block: BlockId) -> impl Iterator<Item = VRegId> + '_ {
        bits::ones(self.live_in.row(block.index())).map(|bit| self.vreg_of[bit])
    }
}
