//! Barriers of the CTA and `mbarrier` objects.

use super::copies::named_space;
use super::{Decoder, Instruction, NotModelled};
use crate::program::{BarrierMode, BarrierOp, CLUSTER_BARRIER, Kind, MBarrierAction, MBarrierOp, Target};

impl Decoder<'_> {
    /// `bar`, `barrier`.
    pub(super) fn barrier(&mut self, of: &Instruction<'_>) -> Result<Kind, NotModelled> {
        if of.has("warp") {
            return self.warp_barrier(of);
        }
        if of.has("cluster") {
            return self.cluster_barrier(of);
        }
        let mode = match () {
            () if of.has("sync") => BarrierMode::Sync,
            () if of.has("arrive") => BarrierMode::Arrive,
            () if of.has("popc") => BarrierMode::CountTrue,
            () if of.has("and") => BarrierMode::AllTrue,
            () if of.has("or") => BarrierMode::AnyTrue,
            () => return Err(NotModelled),
        };
        let reduces = matches!(mode, BarrierMode::CountTrue | BarrierMode::AllTrue | BarrierMode::AnyTrue);
        let first = usize::from(reduces);
        let last = of.items.len().checked_sub(first).ok_or(NotModelled)?;
        Ok(Kind::Barrier(Box::new(BarrierOp {
            mode,
            id: self.source(of.single(first)?, None)?,
            count: match last.cmp(&(first + 1)) {
                std::cmp::Ordering::Greater => Some(self.source(of.single(first + 1)?, None)?),
                _ => None,
            },
            predicate: match reduces {
                true => Some(self.predicate(of.single(of.items.len() - 1)?)?),
                false => None,
            },
            target: if reduces { self.target(of.single(0)?)? } else { Target::SINK },
            is_aligned: of.root() == "bar" || of.has("aligned"),
        })))
    }

    /// `barrier.cluster`: in a cluster of one CTA its threads wait for one another where they wait, so that arriving
    /// is nothing of its own.
    fn cluster_barrier(&mut self, of: &Instruction<'_>) -> Result<Kind, NotModelled> {
        if of.has("arrive") {
            return Ok(Kind::Nothing);
        }
        Ok(Kind::Barrier(Box::new(BarrierOp {
            mode: BarrierMode::Sync,
            id: self.constant(CLUSTER_BARRIER),
            count: None,
            predicate: None,
            target: Target::SINK,
            is_aligned: of.has("aligned"),
        })))
    }

    /// `mbarrier`.
    pub(super) fn mbarrier(&mut self, of: &Instruction<'_>) -> Result<Kind, NotModelled> {
        let action = match *of.words.get(1).ok_or(NotModelled)? {
            "init" => MBarrierAction::Init,
            "inval" => MBarrierAction::Invalidate,
            word @ ("arrive" | "arrive_drop") => MBarrierAction::Arrive {
                drops: word == "arrive_drop",
                expects_bytes: of.has("expect_tx"),
                never_completes: of.has("noComplete"),
            },
            "expect_tx" => MBarrierAction::ExpectBytes,
            "complete_tx" => MBarrierAction::CompleteBytes,
            "test_wait" | "try_wait" => MBarrierAction::Test { by_parity: of.has("parity") },
            "pending_count" => MBarrierAction::PendingCount,
            _ => return Err(NotModelled),
        };
        let has_target = !of.items.first().is_some_and(|item| item.is_address);
        let target = if has_target { self.target(of.single(0)?)? } else { Target::SINK };
        let at = usize::from(has_target);
        let space = named_space(of).unwrap_or_default();
        if action == MBarrierAction::PendingCount {
            let state = self.source(of.single(1)?, None)?;
            let address = crate::program::Address { base: state, offset: 0, mask: u64::MAX, space };
            return Ok(Kind::MBarrier(Box::new(MBarrierOp {
                action,
                address,
                operand: Some(state),
                target,
            })));
        }
        let operand = match of.items.len() > at + 1 {
            true => Some(self.source(of.single(at + 1)?, None)?),
            false => None,
        };
        let needs_operand = !matches!(action, MBarrierAction::Invalidate | MBarrierAction::Arrive { .. });
        if needs_operand && operand.is_none() {
            return Err(NotModelled);
        }
        let address = self.address(of, at, space)?;
        Ok(Kind::MBarrier(Box::new(MBarrierOp { action, address, operand, target })))
    }
}
