//! `mbarrier` objects: 64 bits of shared memory, laid out here as
//!
//! ```text
//! 0-19   arrivals expected in each phase
//! 20-39  arrivals pending in this phase
//! 40-61  bytes pending in this phase, signed
//! 63     parity of the phase
//! ```
//!
//! A phase completes when nothing is pending. A state is the object before an arrival.

use super::Exec;
use super::access::ATOMIC;
use crate::memory::value_of;
use crate::program::{Address, MBarrierAction, MBarrierOp};
use crate::stop::Stop;
use crate::warp::lanes_of;
use ptxopt_components::types::StateSpace;

/// In uninterpreted mode: tests of one phase that fail before one succeeds, because the copy that would complete the
/// phase has no model.
const TESTS_IN_VAIN: u64 = 4;

/// An object, taken apart.
#[derive(Clone, Copy)]
struct Object {
    expected: u64,
    pending: u64,
    bytes: i64,
    parity: u64,
}

impl Object {
    const COUNT: u64 = (1 << 20) - 1;

    fn from_bits(bits: u64) -> Self {
        Self {
            expected: bits & Self::COUNT,
            pending: bits >> 20 & Self::COUNT,
            bytes: (bits << 2) as i64 >> 42,
            parity: bits >> 63,
        }
    }

    fn bits(self) -> u64 {
        let bytes = (self.bytes as u64 & ((1 << 22) - 1)) << 40;
        self.expected & Self::COUNT | (self.pending & Self::COUNT) << 20 | bytes | self.parity << 63
    }

    fn arrive(&mut self, count: u64) {
        self.pending = self.pending.wrapping_sub(count) & Self::COUNT;
    }

    fn complete_if_done(&mut self) {
        if self.pending == 0 && self.bytes == 0 {
            self.pending = self.expected;
            self.parity ^= 1;
        }
    }
}

impl Exec<'_, '_> {
    /// `mbarrier`, lane by lane.
    pub(super) fn mbarrier(&mut self, op: &MBarrierOp, mask: u32) -> Result<(), Stop> {
        let operand = match op.operand {
            Some(source) => self.value(source, mask),
            None => [1; 32],
        };
        if op.action == MBarrierAction::PendingCount {
            self.results[0] = operand.map(|state| Object::from_bits(state).pending);
            self.write(0, op.target, mask);
            return Ok(());
        }
        let addresses = self.addresses(&op.address, mask);
        for lane in lanes_of(mask) {
            let found = self.with_object(op.address.space, addresses[lane], lane, |object| {
                act(op.action, object, operand[lane])
            })?;
            self.results[0][lane] = found;
        }
        if let MBarrierAction::Test { by_parity } = op.action {
            for lane in lanes_of(mask) {
                if self.results[0][lane] == 0 && self.world.options.uninterpreted {
                    let phase = if by_parity { operand[lane] } else { operand[lane] >> 63 };
                    let times = self.occurrence(lane, addresses[lane] << 1 ^ phase);
                    self.results[0][lane] = u64::from(times >= TESTS_IN_VAIN);
                }
            }
        }
        self.write(0, op.target, mask);
        self.event();
        Ok(())
    }

    /// Changes the object at an address; gives what `change` gives.
    fn with_object(
        &mut self,
        space: StateSpace,
        address: u64,
        lane: usize,
        change: impl Fn(&mut Object) -> u64,
    ) -> Result<u64, Stop> {
        let access = self.access(space, address, 8, lane)?;
        let mut object = Object::from_bits(value_of(&self.read(access, lane, ATOMIC)?[..8]));
        let found = change(&mut object);
        self.write_bytes(access, lane, &object.bits().to_le_bytes(), ATOMIC)?;
        Ok(found)
    }

    /// The arrival of `cp.async.mbarrier.arrive`, once the copies of the lane are done.
    pub(super) fn arrive_after_copies(
        &mut self,
        address: &Address,
        adds: bool,
        mask: u32,
    ) -> Result<(), Stop> {
        let addresses = self.addresses(address, mask);
        for lane in lanes_of(mask) {
            self.with_object(address.space, addresses[lane], lane, |object| {
                object.pending += u64::from(adds);
                object.arrive(1);
                object.complete_if_done();
                0
            })?;
        }
        Ok(())
    }
}

/// Does what the instruction does to an object; gives its result.
fn act(action: MBarrierAction, object: &mut Object, operand: u64) -> u64 {
    let before = object.bits();
    match action {
        MBarrierAction::Init => {
            let count = operand & Object::COUNT;
            *object = Object { expected: count, pending: count, bytes: 0, parity: 0 };
        }
        MBarrierAction::Invalidate => *object = Object::from_bits(0),
        MBarrierAction::Arrive { drops, expects_bytes, never_completes } => {
            let count = if expects_bytes { 1 } else { operand & Object::COUNT };
            if expects_bytes {
                object.bytes += (operand & u64::from(u32::MAX)) as i64;
            }
            if drops {
                object.expected = object.expected.wrapping_sub(count) & Object::COUNT;
            }
            object.arrive(count);
            if !never_completes {
                object.complete_if_done();
            }
        }
        MBarrierAction::ExpectBytes => object.bytes += (operand & u64::from(u32::MAX)) as i64,
        MBarrierAction::CompleteBytes => {
            object.bytes -= (operand & u64::from(u32::MAX)) as i64;
            object.complete_if_done();
        }
        MBarrierAction::Test { by_parity } => {
            let phase = if by_parity { operand & 1 } else { operand >> 63 };
            return u64::from(object.parity != phase);
        }
        MBarrierAction::PendingCount => {}
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_completes_when_arrivals_and_bytes_are_in() {
        let mut object = Object::from_bits(0);
        act(MBarrierAction::Init, &mut object, 2);
        let arrive = MBarrierAction::Arrive { drops: false, expects_bytes: false, never_completes: false };
        let state = act(arrive, &mut object, 1);
        let test = |object: &mut Object| act(MBarrierAction::Test { by_parity: false }, object, state);
        assert_eq!(test(&mut object), 0);
        act(MBarrierAction::ExpectBytes, &mut object, 16);
        act(arrive, &mut object, 1);
        assert_eq!(test(&mut object), 0);
        act(MBarrierAction::CompleteBytes, &mut object, 16);
        assert_eq!(test(&mut object), 1);
        assert_eq!((object.pending, object.parity), (2, 1));
    }

    #[test]
    fn bytes_keep_their_sign() {
        let object = Object { expected: 3, pending: 1, bytes: -64, parity: 1 };
        let again = Object::from_bits(object.bits());
        assert_eq!((again.expected, again.pending, again.bytes, again.parity), (3, 1, -64, 1));
    }
}
