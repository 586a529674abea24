//! Stores whose bytes are stored again in the same block, before anything can look at them.
//!
//! ```text
//! st.shared.u32 [%r1], %r2;        // goes
//! ld.shared.u32 %r4, [%r1+4];      // other bytes
//! st.shared.u32 [%r1], %r3;
//! ```
//! Who may look: a load that is not apart from the bytes, whatever reads memory in another way, and other threads, once
//! something orders memory. A weak load of another thread in between would be a race, of which PTX says nothing.

use super::places::{Bytes, are_apart, covers};
use ptxopt_components::ids::InstId;
use ptxopt_components::types::StateSpace;

/// Stores that are remembered: those before are taken for looked at.
const PENDING_MAX: usize = 16;

/// The stores of a block that nothing has looked at, and those that were overwritten.
#[derive(Default)]
pub(super) struct Overwritten {
    pending: Vec<(InstId, Bytes)>,
    pub(super) found: Vec<InstId>,
    /// Stores and loads that were found to be apart, where somebody wants to know.
    pub(super) apart: Option<Vec<(InstId, InstId)>>,
    /// Whether no generic address of local memory exists in the function.
    pub(super) local_is_private: bool,
}

impl Overwritten {
    /// Forgets the function before.
    pub(super) fn start(&mut self) {
        self.pending.clear();
        self.found.clear();
    }

    /// Whether no store of the block is waiting.
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Goes past what may look at anything, or to another block.
    pub(super) fn look_at_all(&mut self) {
        self.pending.clear();
    }

    /// Goes past a load.
    pub(super) fn look_at(&mut self, load: InstId, bytes: Bytes) {
        let Self { pending, apart, local_is_private: is_private, .. } = self;
        let is_private = *is_private;
        let may_meet = |space: StateSpace| {
            let spaces = [space, bytes.space];
            let is_apart = is_private && spaces.contains(&StateSpace::Local);
            space == bytes.space || spaces.contains(&StateSpace::Generic) && !is_apart
        };
        pending.retain(|&(store, stored)| {
            let is_apart = are_apart(stored, bytes);
            if is_apart && let Some(apart) = apart {
                apart.push((store, load));
            }
            is_apart || !may_meet(stored.space)
        });
    }

    /// Goes past a load or store of a parameter.
    pub(super) fn look_at_parameter(&mut self) {
        let may_meet = |space| matches!(space, StateSpace::Local | StateSpace::Generic);
        self.pending.retain(|&(_, stored)| !may_meet(stored.space));
    }

    /// Goes past a store. One with a guard overwrites nothing for sure.
    pub(super) fn store(&mut self, inst: InstId, bytes: Bytes, is_guarded: bool) {
        let Self { pending, found, .. } = self;
        let is_gone = |&(_, stored): &(InstId, Bytes)| covers(bytes, stored);
        if !is_guarded && pending.iter().any(is_gone) {
            found.extend(pending.extract_if(.., |store| is_gone(store)).map(|(inst, _)| inst));
        }
        if pending.len() == PENDING_MAX {
            pending.remove(0);
        }
        pending.push((inst, bytes));
    }
}
