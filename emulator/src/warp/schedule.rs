//! Whose turn it is.

use super::{Group, Wait, Warp};

/// Events that a group may have in front of others before one of them gets its turn: a lane that waits for
/// a lock which a lane that has come less far holds would wait for ever.
pub const PATIENCE: u32 = 256;

impl Warp {
    /// Joins groups that are at the same place, ready or waiting for the whole warp.
    pub fn merge(&mut self) {
        let mut at = 0;
        while at + 1 < self.groups.len() {
            let group = self.groups[at];
            let twin = self.groups[at + 1..].iter().position(|other| is_same_place(&group, other));
            match twin {
                Some(behind) => {
                    let twin = self.groups.swap_remove(at + 1 + behind);
                    self.groups[at].mask |= twin.mask;
                    self.favoured = None;
                }
                None => at += 1,
            }
        }
    }

    /// The group that runs next, if one is ready.
    pub fn pick(&mut self) -> Option<usize> {
        self.turns += 1;
        let groups = &self.groups;
        let ready = || (0..groups.len()).filter(|&at| groups[at].wait == Wait::Ready);
        let mut favoured =
            self.favoured.and_then(|lane| ready().find(|&at| groups[at].mask >> lane & 1 != 0));
        if self.patience >= PATIENCE {
            self.patience = 0;
            favoured = ready().min_by_key(|&at| groups[at].turn);
        }
        let furthest_behind = || {
            ready().reduce(
                |best, at| {
                    if self.calls.is_behind(&groups[at], &groups[best]) { at } else { best }
                },
            )
        };
        let chosen = favoured.or_else(furthest_behind)?;
        self.favoured = favoured.map(|at| groups[at].mask.trailing_zeros());
        self.groups[chosen].turn = self.turns;
        Some(chosen)
    }

    /// The nearest pc in front of group `at` where another group of the same call is: there they join.
    pub fn meeting(&self, at: usize) -> u32 {
        let group = &self.groups[at];
        let others = self
            .groups
            .iter()
            .filter(|other| other.wait == Wait::Ready && other.call == group.call && other.pc > group.pc);
        others.map(|other| other.pc).min().unwrap_or(u32::MAX)
    }
}

fn is_same_place(a: &Group, b: &Group) -> bool {
    let is_here = matches!(a.wait, Wait::Ready | Wait::WholeWarp);
    is_here && a.wait == b.wait && a.pc == b.pc && a.call == b.call
}
