//! What the fuzz tests share: where their inputs come from, and what is kept of a finding.
//!
//! `cargo test` runs a fixed list of seeds for a few seconds. With `PTXOPT_FUZZ_SECONDS` a run starts from random seeds
//! and lasts that long. A finding is made small and written to a file whose path is printed; it belongs into
//! `tests/regress/`, with its story in the first comment.

use bolero::bolero_engine::input::Bytes;
use bolero::bolero_engine::{Engine, Test};
use bolero::generator::bolero_generator::{Driver, ValueGenerator};
use ptxopt::ModuleReport;
use ptxopt::report::PhaseUndone;
use ptxopt_tests::clock::cpu_time;
use ptxopt_tests::say::say;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Random bytes that one input of a run in `cargo test` is made of; zeros follow.
const FIXED_BYTES: usize = 4096;

/// An input that takes more CPU time is a finding: they are of a few kilobytes. What the assembler takes is its own, and
/// what a busy machine takes is nobody's. An input is a single batch, which runs on the thread that asks.
const TIME_MAX: Duration = Duration::from_secs(5);

/// Time spent on making one finding small.
const SHRINK_TIME_MAX: Duration = Duration::from_secs(30);

/// What the verifier says of a module that no phase has touched yet. Mutants are often ill-typed; such functions are
/// left as they were, which is right.
const FIRST_CHECK: &str = "failed after OriCheckInitialProgram";

/// The number in an environment variable.
pub(crate) fn environment(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name} wants a number, not `{value}`")))
}

/// Gives every input to `check`: `fixed_count` of them, or as many as there is time for.
pub(crate) fn run<G: ValueGenerator<Output: Clone + Debug>>(
    generator: G,
    fixed_count: u64,
    check: impl Fn(&G::Output) + RefUnwindSafe,
) {
    let check = |input: &G::Output| check(input);
    match environment("PTXOPT_FUZZ_SECONDS") {
        Some(seconds) => bolero::check!()
            .with_generator(generator)
            .with_test_time(Duration::from_secs(seconds))
            .with_iterations(usize::MAX)
            .with_shrink_time(Duration::ZERO)
            .for_each(check),
        None => {
            bolero::TestTarget::new(FixedSeeds(fixed_count)).with_generator(generator).for_each(check);
        }
    }
}

/// A roll of the driver's dice: a number below `below`, which is taken for at least 1.
pub(crate) fn roll<D: Driver>(driver: &mut D, below: usize) -> usize {
    let number = driver.gen_u32(Bound::Included(&0), Bound::Excluded(&(below.max(1) as u32)));
    number.map_or(0, |number| number as usize)
}

/// An engine that runs the same inputs each time: as many as it says.
struct FixedSeeds(u64);

impl<T: Test> Engine<T> for FixedSeeds {
    type Output = ();

    fn run(self, mut test: T, options: bolero::bolero_engine::driver::Options) {
        let mut state = 0u64;
        for _ in 0..self.0 {
            let words = (0..FIXED_BYTES / 8).map(|_| next(&mut state).to_le_bytes());
            let bytes = words.flatten().collect::<Vec<u8>>();
            if let Err(error) = test.test(&mut Bytes::new(&bytes, &options)) {
                panic!("{error}");
            }
        }
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// The fault that `work` finds, or that it panics, or that it takes too long.
pub(crate) fn guarded(work: impl FnOnce() -> Option<String>) -> Option<String> {
    let start = cpu_time();
    let fault = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|cause| {
        let text = cause.downcast_ref::<&str>().map(|text| (*text).to_owned());
        Some(format!("panic: {:?}", text.or_else(|| cause.downcast_ref::<String>().cloned())))
    });
    let seconds = cpu_time() - start;
    fault.or_else(|| (seconds > TIME_MAX).then(|| format!("takes {seconds:?}")))
}

/// What a report admits: the reason for which the first check refuses a function, if it refuses one.
///
/// # Errors
/// A phase failed, whether it was undone or its function left.
pub(crate) fn refusal(report: &ModuleReport) -> Result<Option<&str>, String> {
    // A function of a few instructions a block can need more phis than it has room for.
    let has_no_room =
        |undone: &&PhaseUndone| undone.phase == "GenerateMovPhi" && undone.reason.starts_with("it grew");
    if let Some(undone) = report.undone.iter().find(|undone| !has_no_room(undone)) {
        return Err(format!("undone: {}: {}", undone.phase, undone.reason));
    }
    let mut refused = None;
    for left in report.left.iter().filter(|left| left.reason.contains("failed")) {
        if !left.reason.contains(FIRST_CHECK) {
            return Err(format!("left: {}", left.reason));
        }
        refused = Some(left.reason.as_str());
    }
    Ok(refused)
}

/// What a run found: by what went wrong, without numbers and names, the first input that showed it, made small.
#[derive(Default)]
pub(crate) struct Findings {
    files: Mutex<BTreeMap<String, PathBuf>>,
}

impl Findings {
    /// Keeps `text`, with which `fault` is wrong, unless the same was found before. `again` says what is wrong with
    /// another text.
    pub(crate) fn keep(&self, fault: &str, text: &[u8], again: &dyn Fn(&[u8]) -> Option<String>) {
        let key = without_numbers(fault);
        if self.files.lock().expect("no holder panics").contains_key(&key) {
            return;
        }
        let small = made_small(text, &key, again);
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let number = self.files.lock().expect("no holder panics").len();
        let path = folder.join(format!("finding-{}-{number}.ptx", std::process::id()));
        std::fs::write(&path, &small).expect("the target folder can be written");
        say(&format!("finding: {fault}\n  in {}", path.display()));
        self.files.lock().expect("no holder panics").insert(key, path);
    }

    /// Fails where anything was found.
    pub(crate) fn report(&self) {
        let files = self.files.lock().expect("no holder panics");
        assert!(files.is_empty(), "{} findings: {files:#?}", files.len());
    }
}

/// Leaves out lines, then bytes, as long as the same goes wrong.
fn made_small(text: &[u8], key: &str, again: &dyn Fn(&[u8]) -> Option<String>) -> Vec<u8> {
    let start = Instant::now();
    let mut parts: Vec<Vec<u8>> = text.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    for round in 0..2 {
        let mut size = parts.len().div_ceil(2).max(1);
        loop {
            let mut at = 0;
            while at < parts.len() && start.elapsed() < SHRINK_TIME_MAX {
                let without = [&parts[..at], &parts[(at + size).min(parts.len())..]].concat();
                if again(&without.concat()).is_some_and(|fault| without_numbers(&fault) == key) {
                    parts = without;
                } else {
                    at += size;
                }
            }
            if size == 1 {
                break;
            }
            size = size.div_ceil(2);
        }
        if round == 0 {
            parts = parts.concat().iter().map(|&byte| vec![byte]).collect();
        }
    }
    parts.concat()
}

/// What is left of a message when mutants differ only in places and names.
fn without_numbers(fault: &str) -> String {
    let mut key = String::new();
    let mut quoted = false;
    for character in fault.lines().next().unwrap_or_default().chars() {
        quoted ^= matches!(character, '`' | '"' | '\'');
        if !quoted && !character.is_ascii_digit() {
            key.push(character);
        }
    }
    key
}

#[test]
fn faults_are_told_apart_by_their_words() {
    assert_eq!(without_numbers("panic: at 17 `x1`"), without_numbers("panic: at 5 `y`"));
    assert_ne!(without_numbers("panic: at 17"), without_numbers("left: at 17"));
}

#[test]
fn what_goes_wrong_is_kept_small() {
    let fault = |text: &[u8]| text.windows(2).any(|two| two == b"xy").then(|| "a pair 7".to_owned());
    assert_eq!(made_small(b"one\ntwo xy three\nfour\n", "a pair ", &fault), b"xy");
}

/// A phase that fails is undone for its function: nothing else tells of it.
#[test]
fn an_undone_phase_is_a_fault_and_a_refused_function_is_none() {
    use ptxopt::FunctionLeft;
    let left = |reason: &str| FunctionLeft { name: "k".to_owned(), reason: reason.to_owned() };
    let refused = "a phase failed: check forms failed after OriCheckInitialProgram: i0";
    let report = |reasons: &[&str]| ModuleReport {
        left: reasons.iter().map(|reason| left(reason)).collect(),
        ..ModuleReport::default()
    };
    assert_eq!(refusal(&report(&[])), Ok(None));
    assert_eq!(refusal(&report(&["grew", refused])), Ok(Some(refused)));
    assert!(
        refusal(&report(&[refused, "a phase failed: check rows failed after OriBranchOpt: i0"])).is_err()
    );
    let undone = |phase: &str, reason: &str| {
        let undone =
            PhaseUndone { function: "k".to_owned(), phase: phase.to_owned(), reason: reason.to_owned() };
        refusal(&ModuleReport { undone: vec![undone], ..report(&[refused]) }).is_err()
    };
    let grew = "it grew from 45 to 94 instructions";
    assert!(undone("p", "r") && undone("OriBranchOpt", grew) && undone("GenerateMovPhi", "r"));
    assert!(!undone("GenerateMovPhi", grew));
}
