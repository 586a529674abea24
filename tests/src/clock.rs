//! Time that a thread or a program was given: what other programs take on a busy machine does not count.

use nix::sys::resource::{UsageWho, getrusage};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// CPU time of this thread.
#[must_use]
pub fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// CPU time, user and system, of all programs that this process started and saw end.
///
/// # Panics
/// Never on a system that knows the call.
#[must_use]
pub fn children_time() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("a process may ask for its own usage");
    let time = usage.user_time() + usage.system_time();
    Duration::new(time.tv_sec() as u64, 1_000 * time.tv_usec() as u32)
}
