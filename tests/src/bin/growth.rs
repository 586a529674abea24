//! What large kernels of one shape cost, by phase.
//!
//! ```text
//! cargo run --release -p ptxopt-tests --bin growth
//! cargo run --release -p ptxopt-tests --bin growth -- --shape slots --phases 10
//! ```
//!
//! For each shape of the generator, at the size that is large and an eighth of it: CPU nanoseconds an instruction, the least of
//! some runs, and of the phases that take most, how much more an instruction costs them in the large kernel. Where that is much
//! more than 1, they are not linear.

use anyhow::{Result, anyhow};
use clap::Parser;
use ptxopt::{ModuleReport, OptLevel, Options, optimize};
use ptxopt_generate::shapes::{SHAPES, Shape};

/// Measures large kernels.
#[derive(Parser)]
struct Arguments {
    /// Only this shape
    #[arg(long)]
    shape: Option<String>,
    /// Optimization level
    #[arg(short = 'O', default_value = "2")]
    level: OptLevel,
    /// Phases to list
    #[arg(long, default_value_t = 3)]
    phases: usize,
    /// Runs of which the fastest counts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    println!(
        "{:<12} {:>12} {:>9} {:>9} {:>6}  phases",
        "shape", "instructions", "ns small", "ns large", "ratio"
    );
    for shape in SHAPES {
        if arguments.shape.as_ref().is_none_or(|name| name == shape.name) {
            measure(&shape, &arguments)?;
        }
    }
    Ok(())
}

fn measure(shape: &Shape, arguments: &Arguments) -> Result<()> {
    let [small, large] = [shape.large / 8, shape.large].map(|size| fastest((shape.text)(size), arguments));
    let (small, large) = (small?, large?);
    let (before, after) = (each(&small, small.phases_ns), each(&large, large.phases_ns));
    let count = large.instructions_in;
    print!("{:<12} {count:>12} {before:>9.0} {after:>9.0} {:>6.2} ", shape.name, after / before);
    let mut phases: Vec<_> = small.phases.iter().zip(&large.phases).collect();
    phases.sort_by_key(|(_, phase)| std::cmp::Reverse(phase.ns));
    for (before, after) in phases.into_iter().take(arguments.phases) {
        let (own_before, own) = (each(&small, before.ns), each(&large, after.ns));
        print!(" {} {}: {own:.0} ns, {:.1} times;", after.number, after.name, own / own_before.max(0.1));
    }
    println!();
    Ok(())
}

/// Nanoseconds an instruction.
fn each(report: &ModuleReport, ns: u64) -> f64 {
    ns as f64 / report.instructions_in.max(1) as f64
}

/// The report of a run, with the least time that each phase has taken in some: the clock of a phase counts what else runs on
/// the machine.
fn fastest(text: String, arguments: &Arguments) -> Result<ModuleReport> {
    let options = Options { level: arguments.level, threads: 1, ..Options::default() };
    let mut best: Option<ModuleReport> = None;
    for _ in 0..arguments.runs {
        let report = optimize(text.as_bytes(), &options).map_err(|error| anyhow!("{error}"))?.report;
        if let Some(left) = report.left.first() {
            return Err(anyhow!("`{}` is left as it was: {}", left.name, left.reason));
        }
        let Some(best) = &mut best else {
            best = Some(report);
            continue;
        };
        best.phases_ns = best.phases_ns.min(report.phases_ns);
        for (best, phase) in best.phases.iter_mut().zip(&report.phases) {
            best.ns = best.ns.min(phase.ns);
        }
    }
    Ok(best.expect("there is a run"))
}
