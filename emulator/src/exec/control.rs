//! Branches and the end of threads.

use super::{Exec, Next};
use crate::program::Source;
use crate::stop::Stop;
use crate::warp::{Group, lanes_of};

impl Exec<'_, '_> {
    /// `bra`. `mask` is not empty.
    #[inline]
    pub(super) fn branch(&mut self, target: u32, mask: u32, is_alone: bool) -> Next {
        let is_split = self.split_off_unguarded(mask);
        self.group.pc = target;
        if is_split || !is_alone { Next::Choose } else { Next::On }
    }

    /// `brx.idx`.
    pub(super) fn branch_indexed(&mut self, index: Source, targets: &[u32], mask: u32) -> Result<Next, Stop> {
        let index = self.value(index, mask);
        self.split_off_unguarded(mask);
        let mut rest = mask;
        while rest != 0 {
            let lane = rest.trailing_zeros();
            let chosen = index[lane as usize] as u32;
            let same = lanes_of(rest).filter(|&lane| index[lane] as u32 == chosen);
            let taken = same.fold(0, |taken, lane| taken | 1 << lane);
            let Some(&pc) = targets.get(chosen as usize) else {
                return Err(Stop::BadTarget { place: self.place(lane), value: u64::from(chosen) });
            };
            rest &= !taken;
            if rest == 0 {
                (self.group.mask, self.group.pc) = (taken, pc);
            } else {
                self.warp.groups.push(Group { mask: taken, pc, ..self.group });
            }
        }
        Ok(Next::Choose)
    }

    /// The threads of `mask` end.
    pub(super) fn exit(&mut self, mask: u32) -> Result<Next, Stop> {
        self.finish_copies(mask)?;
        self.group.mask &= !mask;
        self.group.pc += 1;
        self.warp.live &= !mask;
        self.cta.live -= mask.count_ones();
        self.complete_barriers();
        Ok(Next::Choose)
    }
}
