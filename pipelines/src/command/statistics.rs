//! The figures of `--stat`.

use std::fs;
use std::io::{self, Write};
use std::time::Duration;

use super::arguments::Stat;
use crate::report::Summary;

/// Prints the figures asked for on standard error, each once, in the order in which they were asked for.
pub fn print(stats: &[Stat], summary: &Summary, wall: Duration) {
    let mut stderr = io::stderr().lock();
    let is_first = |(index, stat): &(usize, &Stat)| !stats[..*index].contains(stat);
    for (_, stat) in stats.iter().enumerate().filter(is_first) {
        let text = match stat {
            Stat::Time => summary.render_time(wall),
            Stat::Memory => memory(),
            Stat::PhaseWise => summary.render_phases(),
        };
        // Nobody is left to tell when standard error is closed.
        let _ = writeln!(stderr, "{text}");
    }
}

fn memory() -> String {
    match peak_bytes() {
        Some(bytes) => format!("memory at the peak  {:.1} MB\n", bytes as f64 / 1e6),
        None => "memory at the peak  not known on this system\n".to_owned(),
    }
}

/// The most memory that this process has held at one time, where the system tells.
fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_at_least_a_little() {
        assert!(peak_bytes().is_some_and(|bytes| bytes > 100_000));
    }
}
