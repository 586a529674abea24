//! From block to block: which registers are live into one of two neighbouring blocks and not into the other.
//!
//! Code is laid out so that neighbours share most of what is live. One that walks all blocks of a large function follows
//! the few that change instead of listing every set anew, which is quadratic where registers live long.

use super::walks::counts_to_ends;
use super::{LiveSet, Representation};
use crate::bits;
use ptxopt_components::ids::{BlockId, Id, VRegId};

/// The changes of the live-in sets of a function, and the memory to find them.
#[derive(Default)]
pub struct Changes {
    /// By block: where its changes start in `vregs`; one more entry at the end.
    starts: Vec<u32>,
    vregs: Vec<VRegId>,
    /// Block and register, in the order found.
    pairs: Vec<(u32, VRegId)>,
    /// Dense sets: the difference of two rows.
    changed: Vec<u64>,
}

impl Changes {
    /// Lists the changes between the live-in sets of each block and the next one; nothing is live after the last.
    pub fn collect(&mut self, set: &LiveSet) {
        let Self { starts, vregs, pairs, changed } = self;
        pairs.clear();
        match set.representation {
            Representation::Dense => {
                let rows = &set.live_in.rows;
                changed.resize(rows.stride(), 0);
                for block in 0..set.block_count {
                    bits::copy(changed, rows.row(block));
                    if block + 1 < set.block_count {
                        bits::xor(changed, rows.row(block + 1));
                    }
                    pairs.extend(bits::ones(changed).map(|bit| (block as u32, set.vreg_of[bit])));
                }
            }
            Representation::Walks => {
                for run in set.live_in.ranges.runs() {
                    let vreg = set.vreg_of[run.bit as usize];
                    pairs.extend(run.first.checked_sub(1).map(|before| (before, vreg)));
                    pairs.push((run.last, vreg));
                }
            }
        }
        starts.clear();
        starts.resize(set.block_count + 1, 0);
        for &(block, _) in pairs.iter() {
            starts[block as usize] += 1;
        }
        let count = counts_to_ends(starts);
        vregs.clear();
        vregs.resize(count, VRegId(0));
        // Filling backwards turns each end into a start.
        for &(block, vreg) in pairs.iter().rev() {
            starts[block as usize] -= 1;
            vregs[starts[block as usize] as usize] = vreg;
        }
    }

    /// The registers that are live into `block` or into the next one, and not into both.
    #[must_use]
    pub fn after(&self, block: BlockId) -> &[VRegId] {
        &self.vregs[self.starts[block.index()] as usize..self.starts[block.index() + 1] as usize]
    }
}
