//! Stores whose bytes are stored again in the same block, before anything can look at them.
//!
//! ```text
//! st.shared.u32 [%r1], %r2;        // goes
//! ld.shared.u32 %r4, [%r1+4];      // other bytes
//! st.shared.u32 [%r1], %r3;
//! ```
//! Who may look: a load that is not apart from the bytes, whatever reads memory in another way, and other threads, once
//! something orders memory. A weak load of another thread in between would be a race, of which PTX says nothing.
//!
//! A load whose value is known, as that of `[%r1]` would be here, looks only if it stays: that is asked in the end.
//!
//! Stores to the [frame](super::frame) are seen by what can reach it alone, and by nothing after the end of the function.

use super::frame::Reach;
use super::places::{Bytes, are_apart, covers};
use ptxopt_components::ids::InstId;
use ptxopt_components::types::StateSpace;

/// Stores that are remembered: those before are taken for looked at.
const PENDING_MAX: usize = 16;

/// A store that nothing has looked at.
#[derive(Clone, Copy)]
struct Pending {
    store: InstId,
    bytes: Bytes,
    reach: Reach,
}

/// The stores of a block that nothing has looked at, and those that were overwritten.
#[derive(Default)]
pub(super) struct Overwritten {
    pending: Vec<Pending>,
    found: Vec<InstId>,
    /// Stores, and the loads of known values that may look at them.
    looks: Vec<(InstId, InstId)>,
    /// Stores and loads that were found to be apart, where they are asked for.
    pub(super) apart: Option<Vec<(InstId, InstId)>>,
    /// Whether no generic address of local memory exists in the function.
    pub(super) local_is_private: bool,
}

impl Overwritten {
    /// Forgets the function before.
    pub(super) fn start(&mut self) {
        self.pending.clear();
        self.found.clear();
        self.looks.clear();
    }

    /// Whether no store of the block is waiting.
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Goes past what may look at all that it can reach.
    pub(super) fn look_at_all(&mut self, reach: Reach) {
        self.pending.retain(|pending| !pending.reach.meets(reach));
    }

    /// Goes to another block, or out of the function: nothing sees its frame any more, unless something else knows where it lies.
    pub(super) fn leave(&mut self, is_end: bool, frame_is_known: bool) {
        if is_end && !frame_is_known {
            let of_frame = self.pending.iter().filter(|pending| pending.reach == Reach::Frame);
            self.found.extend(of_frame.map(|pending| pending.store));
        }
        self.pending.clear();
    }

    /// Goes past a load. `is_known` says whether its value is.
    pub(super) fn look_at(&mut self, load: InstId, bytes: Bytes, reach: Reach, is_known: bool) {
        let Self { pending, looks, apart, local_is_private: is_private, .. } = self;
        let is_private = *is_private;
        let may_meet = |space: StateSpace| {
            let spaces = [space, bytes.space];
            let is_apart = is_private && spaces.contains(&StateSpace::Local);
            space == bytes.space || spaces.contains(&StateSpace::Generic) && !is_apart
        };
        pending.retain(|pending| {
            let is_apart = are_apart(pending.bytes, bytes);
            if is_apart && let Some(apart) = apart {
                apart.push((pending.store, load));
            }
            let looks_at_it = !is_apart && pending.reach.meets(reach) && may_meet(pending.bytes.space);
            if looks_at_it && is_known {
                looks.push((pending.store, load));
            }
            !looks_at_it || is_known
        });
    }

    /// Goes past a load or store of a parameter.
    pub(super) fn look_at_parameter(&mut self, reach: Reach) {
        let may_meet = |space| matches!(space, StateSpace::Local | StateSpace::Generic);
        self.pending.retain(|pending| !pending.reach.meets(reach) || !may_meet(pending.bytes.space));
    }

    /// Goes past a store. One with a guard overwrites nothing for sure.
    pub(super) fn store(&mut self, store: InstId, bytes: Bytes, reach: Reach, is_guarded: bool) {
        let Self { pending, found, .. } = self;
        if !is_guarded {
            found.extend(
                pending.extract_if(.., |pending| covers(bytes, pending.bytes)).map(|pending| pending.store),
            );
        }
        if pending.len() == PENDING_MAX {
            pending.remove(0);
        }
        pending.push(Pending { store, bytes, reach });
    }

    /// The stores that are overwritten, where of the loads of known values only those that `stay` look.
    pub(super) fn found(&mut self, stays: impl Fn(InstId) -> bool) -> &[InstId] {
        let Self { found, looks, .. } = self;
        looks.retain(|&(_, load)| stays(load));
        looks.sort_unstable();
        found.retain(|store| looks.binary_search_by_key(store, |&(seen, _)| seen).is_err());
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::places::{Address, Base};
    use super::*;
    use ptxopt_components::ids::Id;

    /// Four bytes at an offset of a shared place.
    fn at(offset: i64) -> Bytes {
        let address = Address { base: Base::Number(1), offset, width: 32 };
        Bytes { space: StateSpace::Shared, address, size: 4 }
    }

    /// Stores 0 and 1 to two places, which the stores 8 and 9 overwrite; in between, load 2 looks at the first.
    fn found(is_known: bool, stays: bool) -> Vec<InstId> {
        let [one, other, load, last, after] = [0, 1, 2, 8, 9].map(InstId::new);
        let mut overwritten = Overwritten::default();
        overwritten.start();
        overwritten.store(one, at(0), Reach::Anywhere, false);
        overwritten.store(other, at(4), Reach::Anywhere, false);
        overwritten.look_at(load, at(0), Reach::Anywhere, is_known);
        overwritten.store(last, at(0), Reach::Anywhere, false);
        overwritten.store(after, at(4), Reach::Anywhere, false);
        let asked = |inst| {
            assert_eq!(inst, load);
            stays
        };
        overwritten.found(asked).to_vec()
    }

    #[test]
    fn a_load_that_stays_looks_and_one_that_goes_does_not() {
        let [one, other] = [0, 1].map(InstId::new);
        assert_eq!(found(true, false), [one, other]);
        assert_eq!(found(true, true), [other]);
        assert_eq!(found(false, false), [other], "its value is not known");
    }

    #[test]
    fn one_of_several_loads_that_stays_is_enough() {
        let [store, gone, stays, last] = [0, 1, 2, 3].map(InstId::new);
        let mut overwritten = Overwritten::default();
        overwritten.store(store, at(0), Reach::Anywhere, false);
        overwritten.look_at(gone, at(0), Reach::Anywhere, true);
        overwritten.look_at(stays, at(0), Reach::Anywhere, true);
        overwritten.store(last, at(0), Reach::Anywhere, false);
        assert_eq!(overwritten.found(|load| load == stays), []);
        overwritten.start();
        overwritten.store(store, at(0), Reach::Anywhere, false);
        overwritten.store(last, at(0), Reach::Anywhere, false);
        assert_eq!(overwritten.found(|_| true), [store], "the function before is forgotten");
    }
}
