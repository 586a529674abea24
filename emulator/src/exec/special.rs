//! Reading special registers.

use super::Exec;
use crate::lanes::{Lanes, WARP_SIZE};
use crate::special::{LaneMask, Special};

/// What a clock moves on by at each read.
const CLOCK_STEP: u64 = 16;

impl Exec<'_, '_> {
    /// The lanes of a special register. Reading a clock moves it.
    pub(super) fn special(&mut self, row: u16, component: u8) -> Lanes {
        let at = usize::from(component);
        // The fourth component is there and holds nothing.
        let part = |extent: [u32; 3]| extent.get(at).map_or(0, |&part| u64::from(part));
        let lanes = |of: &dyn Fn(u32) -> u32| std::array::from_fn(|lane| u64::from(of(lane as u32)));
        let one = match self.world.specials[usize::from(row)] {
            Special::Tid => {
                return std::array::from_fn(|lane| {
                    self.warp.threads.get(lane).map_or(0, |thread| part(thread.tid))
                });
            }
            Special::Lane => return lanes(&|lane| lane),
            Special::LaneMask(mask) => {
                return lanes(&|lane| {
                    let below = (1u32 << lane) - 1;
                    match mask {
                        LaneMask::Equal => 1 << lane,
                        LaneMask::LessEqual => below | 1 << lane,
                        LaneMask::Less => below,
                        LaneMask::GreaterEqual => !below,
                        LaneMask::Greater => !(below | 1 << lane),
                    }
                });
            }
            Special::Ntid => part(self.world.block),
            Special::Ctaid => part(self.cta.id),
            Special::Nctaid => part(self.world.grid),
            Special::Warp => u64::from(self.warp.first_thread) / WARP_SIZE as u64,
            Special::Warps => u64::from(self.world.threads_of_cta().div_ceil(WARP_SIZE as u32)),
            Special::One => 1,
            Special::Clock => {
                self.warp.clock += CLOCK_STEP;
                self.warp.clock
            }
            Special::ClockHigh => self.warp.clock >> 32,
            Special::DynamicShared => self.world.shared_bytes,
            Special::Shared => self.cta.shared.len() as u64 - crate::layout::SPACE_FIRST,
            Special::ReservedEnd => crate::layout::SPACE_FIRST,
            Special::Zero => 0,
        };
        [one; WARP_SIZE]
    }
}
