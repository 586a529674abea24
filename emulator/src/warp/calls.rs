//! Calls that led to a place: equal stacks have equal numbers, so that groups are compared by one number.

use super::Group;
use ahash::RandomState;
use std::collections::HashMap;

/// Where a call came from: what the group is again after it returns.
#[derive(Clone, Copy, Debug)]
pub struct CallSite {
    /// The call around the caller.
    pub parent: u32,
    /// The operation after the call.
    pub return_pc: u32,
    /// The caller.
    pub function: u32,
    /// First register slot of the caller's frame.
    pub base: u32,
    /// First byte of the caller's frame in local memory.
    pub local: u64,
    /// Calls around this one.
    pub depth: u32,
}

/// Every call of a warp.
pub struct CallTree {
    sites: Vec<CallSite>,
    known: HashMap<(u32, u32, u32), u32, RandomState>,
}

impl CallTree {
    /// Deepest call that a thread's stack has room for: it has 512 KiB at most, and a call takes 8 bytes at least.
    pub const DEPTH_MAX: u32 = 1 << 16;

    /// The number of the outermost frame, which nothing called.
    pub const ROOT: u32 = 0;

    /// A tree with the outermost frame alone.
    #[must_use]
    pub fn new() -> Self {
        let root = CallSite { parent: 0, return_pc: 0, function: 0, base: 0, local: 0, depth: 0 };
        Self { sites: vec![root], known: HashMap::with_hasher(RandomState::with_seeds(1, 2, 3, 4)) }
    }

    /// The number of a call of `callee` by `caller`, whose pc stands at the call.
    pub fn enter(&mut self, caller: &Group, callee: u32) -> u32 {
        let return_pc = caller.pc + 1;
        let depth = self.sites[caller.call as usize].depth + 1;
        let sites = &mut self.sites;
        *self.known.entry((caller.call, return_pc, callee)).or_insert_with(|| {
            sites.push(CallSite {
                parent: caller.call,
                return_pc,
                function: caller.function,
                base: caller.base,
                local: caller.local,
                depth,
            });
            sites.len() as u32 - 1
        })
    }

    /// Where call `call` came from.
    #[must_use]
    pub fn site(&self, call: u32) -> CallSite {
        self.sites[call as usize]
    }

    /// Whether `a` is further behind than `b`: by the pcs where their calls part, then by depth, the caller first.
    #[must_use]
    pub fn is_behind(&self, a: &Group, b: &Group) -> bool {
        if a.call == b.call {
            return a.pc < b.pc;
        }
        let (mut left, mut right) = ((a.call, a.pc), (b.call, b.pc));
        let up = |(call, _): (u32, u32)| {
            let site = self.site(call);
            (site.parent, site.return_pc - 1)
        };
        while self.site(left.0).depth > self.site(right.0).depth {
            left = up(left);
        }
        while self.site(right.0).depth > self.site(left.0).depth {
            right = up(right);
        }
        while left.0 != right.0 {
            (left, right) = (up(left), up(right));
        }
        let depth = |group: &Group| self.site(group.call).depth;
        (left.1, depth(a), a.pc, a.mask) < (right.1, depth(b), b.pc, b.mask)
    }
}
