//! Fuzzing of the pipeline, on stable Rust, with bolero.
//!
//! Random functions ([`random_code`]), generated kernels and mutants of the corpus, half of them with statements moved,
//! copied and dropped, go through the facade at any level and with any of the options that change what phases do, with
//! every fact verified between phases. Whatever the code: nothing panics; no phase is undone, and no function left, unless
//! the first check finds that it came in wrong; verifying changes no byte; what comes out is accepted, and the first
//! check finds nothing wrong with it either.
//!
//! What kernels compute is for the judge. A long run starts from random seeds, in which a second counts some hundred inputs:
//!
//! ```text
//! PTXOPT_FUZZ_SECONDS=1800 cargo test --release -p ptxopt-tests fuzz_pipeline -- --nocapture
//! ```
//!
//! Findings are kept as [`super::fuzz`] says; the message names the options.

use crate::fuzz::{Findings, guarded, refusal, roll, run};
use bolero::generator::bolero_generator::{Driver, ValueGenerator};
use ptxopt::{OptLevel, Options, VerifyLevel};
use ptxopt_tests::generated::generated;
use ptxopt_tests::modules::corpus;
use ptxopt_tests::mutate::{Seeds, changed};
use ptxopt_tests::random_code;
use ptxopt_tests::rewrite::rewrite;
use ptxopt_tests::say::say;
use std::sync::atomic::{AtomicU64, Ordering};

/// Inputs of a run in `cargo test`: some seconds.
const FIXED_COUNT: u64 = 400;

/// Most blocks of a random function: such a function is verified in a millisecond, and has every shape of a larger one.
const BLOCK_COUNT_MAX: usize = 40;

/// Knobs that let more phases run, each in one of so many inputs.
const KNOBS: [(usize, &str); 5] = [
    (2, "Knob487.LoopMakeSingleEntry"),
    (3, "structurizecfg=on"),
    (3, "fix-irreducible"),
    (8, "structurizecfg-skip-uniform-regions"),
    (3, "RegisterBudget=24"),
];

/// Changes after which the bisect limit may end a run.
const FUEL_MAX: usize = 24;

#[test]
fn phases_do_no_harm_to_any_code() {
    let findings = Findings::default();
    let [checked, accepted, changed] = [const { AtomicU64::new(0) }; 3];
    let seeds = Seeds::new(corpus().iter().map(|module| module.text()));
    run(Inputs(seeds), FIXED_COUNT, |input: &Input| {
        let outcome = guarded_fault(input);
        checked.fetch_add(1, Ordering::Relaxed);
        match outcome {
            Ok(Treated::Refused) => {}
            Ok(Treated::Accepted { has_changed }) => {
                accepted.fetch_add(1, Ordering::Relaxed);
                changed.fetch_add(u64::from(has_changed), Ordering::Relaxed);
            }
            Err(fault) => findings.keep(&format!("{fault} (with {})", input.how()), &input.text, &|text| {
                guarded_fault(&Input { text: text.to_vec(), ..input.clone() }).err()
            }),
        }
    });
    let [checked, accepted, changed] = [checked, accepted, changed].map(AtomicU64::into_inner);
    say(&format!("fuzz: {checked} inputs, {accepted} accepted, {changed} of them changed by phases"));
    assert!(accepted * 3 > checked, "most inputs are refused: {accepted} of {checked} are accepted");
    assert!(changed * 3 > accepted, "phases leave most as it is: {changed} of {accepted} are changed");
    findings.report();
}

/// A module and the options to optimize it with.
#[derive(Clone)]
struct Input {
    text: Vec<u8>,
    options: Options,
    /// The knobs that are set in the options.
    knobs: Vec<&'static str>,
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "// {}\n{}", self.how(), String::from_utf8_lossy(&self.text))
    }
}

impl Input {
    /// The options that vary.
    fn how(&self) -> String {
        let Options { level, bisect, force_debug, dont_merge_blocks, no_unroll, remarks, .. } = &self.options;
        format!(
            "level {level} bisect {bisect:?} force_debug {force_debug} dont_merge_blocks {dont_merge_blocks} no_unroll {no_unroll} \
             remarks {remarks} knobs {:?}",
            self.knobs
        )
    }
}

/// Makes inputs out of a driver's decisions; holds the modules that mutants start from.
struct Inputs(Seeds);

impl ValueGenerator for Inputs {
    type Output = Input;

    fn generate<D: Driver>(&self, driver: &mut D) -> Option<Input> {
        let dice = &mut |below: usize| roll(driver, below);
        let seed = dice(1 << 30) as u64;
        let text = match dice(8) {
            0 => random_code::module(seed, 1 + dice(3), BLOCK_COUNT_MAX).into_bytes(),
            1..3 => defined(&random_code::module(seed, 1 + dice(3), BLOCK_COUNT_MAX)).into_bytes(),
            3 => random_code::module_of_hubs(seed, 1, BLOCK_COUNT_MAX).into_bytes(),
            4..7 => generated(seed).text().as_bytes().to_vec(),
            _ => self.0.mutant(dice),
        };
        let text = if dice(2) == 0 { changed(&text, dice) } else { text };
        let mut options = Options {
            level: OptLevel::ALL[dice(OptLevel::ALL.len())],
            threads: 1,
            verify: VerifyLevel::Full,
            bisect: (dice(4) == 0).then(|| dice(FUEL_MAX) as u64),
            force_debug: dice(2) == 0,
            dont_merge_blocks: dice(8) == 0,
            no_unroll: dice(8) == 0,
            remarks: dice(8) == 0,
            ..Options::default()
        };
        let mut knobs = Vec::new();
        for (one_in, knob) in KNOBS {
            if dice(one_in) == 0 {
                options.set_knob(knob).expect("there is such a knob");
                knobs.push(knob);
            }
        }
        Some(Input { text, options, knobs })
    }
}

/// A random module in which registers hold something at the start of each function, some of them the same in all threads:
/// what nothing has written is divergent, and much would be.
fn defined(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        lines.push(line.to_owned());
        let Some((_, rest)) = line.split_once(".reg .b32 %r<") else { continue };
        let count = rest.split('>').next().and_then(|count| count.parse().ok()).unwrap_or(0);
        let sources = ["%tid.x", "%ctaid.x", "5"];
        lines.extend((0..count).map(|number: usize| format!("mov.u32 %r{number}, {};", sources[number % 3])));
        lines.extend((0..4).map(|number| format!("setp.lt.u32 %p{number}, %r{}, 9;", number % 2)));
    }
    lines.join("\n") + "\n"
}

/// What became of an input with which nothing is wrong.
enum Treated {
    /// The reader does not take it.
    Refused,
    /// The reader takes it.
    Accepted { has_changed: bool },
}

fn guarded_fault(input: &Input) -> Result<Treated, String> {
    let mut treated = Ok(Treated::Refused);
    let fault = guarded(|| {
        treated = fault(input);
        None
    });
    fault.map_or(treated, Err)
}

/// Treats an input.
///
/// # Errors
/// What is wrong with how it is treated.
fn fault(input: &Input) -> Result<Treated, String> {
    let Input { text, options, .. } = input;
    let Ok(as_read) = rewrite(text) else { return Ok(Treated::Refused) };
    let optimize = |text: &[u8], options: &Options| {
        ptxopt::optimize(text, options).map_err(|error| format!("refused: {error}"))
    };
    let output = optimize(text, options)?;
    let refused = refusal(&output.report)?.is_some();
    let plain = optimize(text, &Options { verify: VerifyLevel::Off, ..options.clone() })?;
    if let Some(undone) = plain.report.undone.first() {
        return Err(format!("undone where nothing verifies: {}", undone.reason));
    }
    // What came in wrong is left as it was only where it was looked at.
    if !refused && plain.text != output.text {
        return Err("verifying changes the output".to_owned());
    }
    let again = optimize(&output.text, options).map_err(|fault| format!("output is {fault}"))?;
    match refusal(&again.report) {
        Err(fault) => return Err(format!("output, optimized again: {fault}")),
        Ok(Some(reason)) if !refused => return Err(format!("output came out wrong: {reason}")),
        Ok(_) => {}
    }
    Ok(Treated::Accepted { has_changed: as_read.text != output.text })
}

/// The run above may find nothing because it looks at nothing: what came in wrong is refused, not changed.
#[test]
fn what_came_in_wrong_is_no_fault() {
    let text = b".version 8.0\n.target sm_90\n.entry k() { .reg .b64 %d; add.u32 %d, %d, 1; ret; }\n";
    let options = Options { verify: VerifyLevel::Full, ..Options::default() };
    let report = ptxopt::optimize(text, &options).expect("the reader takes it").report;
    assert!(matches!(refusal(&report), Ok(Some(_))), "{report:?}");
    assert!(fault(&Input { text: text.to_vec(), options, knobs: Vec::new() }).is_ok());
}
