//! CPU time and how to print it. Other programs on the machine take wall time from a run, but hardly CPU time.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// CPU time of the calling thread.
#[must_use]
pub fn thread_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// CPU time of all threads of the process.
#[must_use]
pub fn process_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// The least and the median of some measurements.
///
/// # Panics
/// When there are none.
#[must_use]
pub fn minimum_and_median(values: &[f64]) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    (sorted[0], sorted[sorted.len() / 2])
}

/// Runs `work` on a thread pool of one, whose thread's CPU time is that of the work.
///
/// # Panics
/// When no thread can be started.
pub fn on_one_thread(work: impl FnOnce() + Send) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread can be started");
    pool.install(work);
}
