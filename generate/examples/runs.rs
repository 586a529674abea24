//! Runs kernels in the emulator with all checks: `runs FIRST COUNT`. Prints what is wrong with each, and totals.

use ptxopt_emulator::{Argument, Checks, Launch, Limits, Module, Options as RunOptions, run};
use ptxopt_generate::launch::Argument as Given;
use ptxopt_generate::options::Options;
use ptxopt_generate::{Kernel, kernel, shrink};
use std::collections::BTreeMap;

fn complaint(kernel: &Kernel) -> Option<String> {
    let module = match Module::load(kernel.text().as_bytes()) {
        Ok(module) => module,
        Err(error) => return Some(format!("load: {error:?}").chars().take(400).collect()),
    };
    let given = kernel.launch();
    let args = given.arguments.iter().map(|argument| match argument {
        Given::Buffer(bytes) => Argument::Buffer(bytes.clone()),
        Given::Scalar(value) => Argument::Scalar(value.to_le_bytes().to_vec()),
    });
    let launch = Launch {
        entry: given.entry.clone(),
        grid: given.grid,
        block: given.block,
        shared_bytes: given.shared_bytes.into(),
        args: args.collect(),
    };
    let checks = Checks { uninitialised: true, races: true, barrier_divergence: true };
    let limits = Limits { steps: 200_000_000, ..Limits::default() };
    let outcome = run(&module, &launch, &RunOptions { limits, checks, uninterpreted: false });
    if let Some(stop) = outcome.stop {
        return Some(format!("stop: {stop}"));
    }
    let lines: Vec<&str> = kernel.text().lines().collect();
    outcome
        .reports
        .iter()
        .map(|report| (report, lines[report.place.line as usize - 1]))
        .find(|(_, line)| !line.contains("%unwritten"))
        .map(|(report, line)| format!("report: {report}: {line}"))
}

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).map(|text| text.parse().expect("a number")).collect();
    let mut kinds: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for seed in numbers[0]..numbers[0] + numbers[1] {
        let made = kernel(seed, &Options::for_seed(seed));
        if let Some(what) = complaint(&made) {
            let kind: String = what.chars().filter(|c| !c.is_ascii_digit()).take(60).collect();
            let entry = kinds.entry(kind).or_insert((seed, 0));
            entry.1 += 1;
            if entry.1 == 1 {
                println!("seed {seed}: {what}");
            }
        }
    }
    for (kind, (seed, count)) in &kinds {
        println!("{count} x {kind} (first {seed})");
    }
    if numbers.len() > 2 {
        for (kind, (seed, _)) in &kinds {
            let made = kernel(*seed, &Options::for_seed(*seed));
            let prefix: String = kind.chars().take(22).collect();
            let small = shrink(&made, &mut |candidate| {
                complaint(candidate).is_some_and(|what| {
                    what.chars().filter(|c| !c.is_ascii_digit()).take(60).collect::<String>().starts_with(&prefix)
                })
            });
            println!("=== {kind}\n{:?}\n{}", complaint(&small), small.text());
        }
    }
}
