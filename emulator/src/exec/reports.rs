//! Places, stops and reports.

use super::Exec;
use crate::checks::{Finding, Report};
use crate::program::Source;
use crate::stop::{Place, Stop};

impl Exec<'_, '_> {
    /// Lane `lane` at the operation that runs.
    #[cold]
    pub(super) fn place(&self, lane: u32) -> Place {
        let thread = self.warp.threads.get(lane as usize).copied().unwrap_or_default();
        Place { thread, line: self.program.line(self.offset) }
    }

    /// The stop that `what` is not modelled.
    #[cold]
    pub(super) fn not_supported(&self, what: impl Into<String>) -> Stop {
        Stop::NotSupported { mnemonic: what.into(), line: self.program.line(self.offset) }
    }

    /// Keeps a report, or counts it.
    #[cold]
    pub(super) fn report(&mut self, finding: Finding, lane: u32) {
        let report = Report { finding, place: self.place(lane) };
        if self.world.reports.len() < self.world.options.limits.reports {
            self.world.reports.push(report);
        } else {
            self.world.reports_dropped += 1;
        }
    }

    /// Reports registers among `sources` that a lane of `mask` has not written.
    #[cold]
    pub(super) fn check_registers(&mut self, sources: &[Source], mask: u32) {
        for source in sources {
            let slot = match *source {
                Source::Slot(slot) => Some(slot),
                Source::Sum(sum) => Some(self.program.sums[sum as usize].slot),
                _ => None,
            };
            if let Some(slot) = slot {
                let at = (self.group.base + slot) as usize;
                let unwritten = mask & !self.warp.written.get(at).copied().unwrap_or(u32::MAX);
                if unwritten != 0 {
                    self.report(Finding::UninitialisedRegister, unwritten.trailing_zeros());
                }
            }
        }
    }
}
