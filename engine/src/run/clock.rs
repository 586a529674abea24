//! Time that a thread was given: what other programs take on a busy machine does not count.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// CPU time of the calling thread.
pub(super) fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// When something began on a thread, by the clock and by what the thread was given until then.
#[derive(Clone, Copy)]
pub(super) struct Began {
    at: Instant,
    cpu: Duration,
}

impl Began {
    /// On the calling thread.
    pub(super) fn now() -> Self {
        Self { at: Instant::now(), cpu: cpu_time() }
    }

    pub(super) fn at(&self) -> Instant {
        self.at
    }

    /// Whether it has taken more than `most` milliseconds of CPU time at `now`, on the same thread. The system is asked for CPU time only
    /// where that much has gone by: it costs more than to look at the clock.
    pub(super) fn has_taken_more(&self, now: Instant, most: u64) -> bool {
        let is_more = |taken: Duration| taken.as_millis() > u128::from(most);
        is_more(now - self.at) && is_more(cpu_time() - self.cpu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_waited_does_not_count() {
        let hour = Duration::from_secs(3600);
        let waited = Began::now();
        assert!(!waited.has_taken_more(waited.at + hour, 60_000));
        let worked = Began { at: Instant::now(), cpu: cpu_time() };
        while (cpu_time() - worked.cpu).as_millis() < 6 {}
        assert!(worked.has_taken_more(worked.at + hour, 5));
        assert!(!worked.has_taken_more(worked.at + hour, 60_000));
        // Nor does more than has gone by.
        assert!(!worked.has_taken_more(worked.at, 5));
        assert!(!worked.has_taken_more(worked.at + Duration::from_millis(5), 5));
    }
}
