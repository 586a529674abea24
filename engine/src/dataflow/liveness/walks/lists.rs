//! Blocks by a key, as lists one after the other in one table.

use ptxopt_components::ids::BlockId;

/// Turns counts into ends, and gives the last of them.
pub(super) fn counts_to_ends(counts: &mut [u32]) -> usize {
    let mut end = 0;
    for slot in counts.iter_mut() {
        end += *slot;
        *slot = end;
    }
    end as usize
}

/// Blocks by key.
#[derive(Default)]
pub(super) struct Lists {
    /// By key: where its list starts in `blocks`; one more entry at the end.
    starts: Vec<u32>,
    blocks: Vec<BlockId>,
}

impl Lists {
    /// Takes `members`, whose keys lie below `key_count`.
    pub(super) fn fill(&mut self, key_count: usize, members: impl Iterator<Item = (u32, BlockId)> + Clone) {
        self.starts.clear();
        self.starts.resize(key_count + 1, 0);
        for (key, _) in members.clone() {
            self.starts[key as usize] += 1;
        }
        let count = counts_to_ends(&mut self.starts);
        self.blocks.clear();
        self.blocks.resize(count, BlockId(0));
        for (key, block) in members {
            let slot = &mut self.starts[key as usize];
            *slot -= 1;
            self.blocks[*slot as usize] = block;
        }
    }

    /// The blocks of `key`.
    pub(super) fn of(&self, key: usize) -> &[BlockId] {
        &self.blocks[self.starts[key] as usize..self.starts[key + 1] as usize]
    }
}
