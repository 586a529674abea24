//! Criterion over CPU time, from which other programs on the machine take less than from wall time.

use crate::clock::process_time;
use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{BenchmarkGroup, Criterion};
use std::time::Duration;

/// CPU time of all threads of the process.
pub struct CpuTime;

impl Measurement for CpuTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        process_time()
    }

    fn end(&self, start: Duration) -> Duration {
        process_time() - start
    }

    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        WallTime.to_f64(value)
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

/// A group of ten samples within about `seconds` seconds.
pub fn group<'a>(
    criterion: &'a mut Criterion<CpuTime>,
    name: &str,
    seconds: u64,
) -> BenchmarkGroup<'a, CpuTime> {
    let mut group = criterion.benchmark_group(name);
    group
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(seconds))
        .sample_size(10);
    group
}
