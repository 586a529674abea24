//! Memory: what one function of growing size takes at the peak, in bytes an instruction beside its text.
//!
//! Each size runs in a process of its own, since a peak does not fall. Its text is made before the first look.
//!
//! ```text
//! cargo bench -p ptxopt-bench --bench memory
//! ```

use ptxopt::{Options, optimize};
use ptxopt_bench::kernels;
use std::hint::black_box;
use std::process::Command;

const CHILD: &str = "--insts";

/// A line of `/proc/self/status`, in bytes.
fn status(line: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let value = status.lines().find_map(|text| text.strip_prefix(line)).expect("the line is there");
    let kilobytes: u64 =
        value.trim_start_matches(':').trim().trim_end_matches(" kB").parse().expect("a number");
    kilobytes * 1024
}

fn child(insts: usize) {
    let text = kernels::module(1, insts);
    // The process itself, its tables of forms, and the pages of the allocator are no part of it.
    black_box(optimize(&kernels::module(1, 100), &Options::default()).is_ok());
    // Forgets the peak so far. Where that is not allowed the figures are too high, and say so by not growing.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let before = status("VmRSS");
    let output = optimize(&text, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let (peak, written) = (status("VmHWM") - before, output.text.len() as u64);
    let each = |bytes: u64| bytes / insts as u64;
    println!(
        "{insts:>8} instructions: {:>6} bytes each at the peak, of which {} are text out; text in {}",
        each(peak),
        each(written),
        each(text.len() as u64)
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == CHILD) {
        return child(arguments[at + 1].parse().expect("a number of instructions"));
    }
    let program = std::env::current_exe().expect("a program knows itself");
    for insts in [1_000, 10_000, 50_000, 120_000, 200_000] {
        let status = Command::new(&program).args([CHILD, &insts.to_string()]).status();
        assert!(status.expect("a program can start itself").success());
    }
}
