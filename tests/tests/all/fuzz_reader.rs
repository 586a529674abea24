//! Fuzzing of the reader, on stable Rust, with bolero.
//!
//! Mutants of corpus and forms ([`ptxopt_tests::mutate`]) go through reader, writer and facade. Whatever the text:
//! nothing panics; what is accepted is written as text that is accepted again and written the same; the facade takes
//! it at `-O2`, its verifier finds nothing that was not wrong before, and what comes out is accepted.
//!
//! `cargo test` runs a fixed list of seeds for a few seconds. A long run starts from random seeds:
//!
//! ```text
//! PTXOPT_FUZZ_SECONDS=1800 cargo test --release -p ptxopt-tests fuzz_reader -- --nocapture
//! ```
//!
//! `PTXOPT_FUZZ_PTXAS=64` with it asks the assembler about one mutant of 64, too: what it takes, we take, and it takes
//! what we make of it. `PTXOPT_FUZZ_FILE=x.ptx` checks one file. A finding is made small and written to a file whose
//! path is printed; it belongs into `tests/regress/`, with its story in the first comment.

use bolero::bolero_engine::input::Bytes;
use bolero::bolero_engine::{Engine, Test};
use bolero::generator::bolero_generator::{Driver, ValueGenerator};
use ptxopt::{Options, VerifyLevel};
use ptxopt_tests::clock::cpu_time;
use ptxopt_tests::modules::{corpus, forms, regress};
use ptxopt_tests::mutate::Seeds;
use ptxopt_tests::ptxas::{Flags, Mode, Ptxas};
use ptxopt_tests::rewrite::{Rewriter, rewrite};
use ptxopt_tests::say::say;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Mutants of a run in `cargo test`: some seconds.
const FIXED_COUNT: u64 = 6_000;

/// Random bytes that one mutant of a run in `cargo test` is made of; zeros follow.
const FIXED_BYTES: usize = 4096;

/// A mutant that takes more CPU time is a finding: they are of a few kilobytes. What the assembler takes is its own, and
/// what a busy machine takes is nobody's. A mutant is a single batch, which runs on the thread that asks.
const TIME_MAX: Duration = Duration::from_secs(5);

/// What the verifier says of a module that no phase has touched yet. Mutants are often ill-typed; such functions are
/// left as they were, which is right.
const FIRST_CHECK: &str = "failed after OriCheckInitialProgram";

/// Time spent on making one finding small.
const SHRINK_TIME_MAX: Duration = Duration::from_secs(30);

#[test]
fn mutants_do_no_harm() {
    let seeds = Seeds::new([corpus(), forms(), regress()].concat().iter().map(|module| module.text()));
    let findings = Findings::default();
    let mutants = Mutants(seeds);
    let check = |text: &Text| findings.check(&text.0);
    match environment("PTXOPT_FUZZ_SECONDS") {
        Some(seconds) => bolero::check!()
            .with_generator(mutants)
            .with_test_time(Duration::from_secs(seconds))
            .with_iterations(usize::MAX)
            .with_shrink_time(Duration::ZERO)
            .for_each(check),
        None => bolero::TestTarget::new(FixedSeeds).with_generator(mutants).for_each(check),
    }
    findings.report();
}

#[test]
fn a_file_of_the_users_does_no_harm() {
    let Some(path) = std::env::var_os("PTXOPT_FUZZ_FILE") else { return };
    let text = std::fs::read(path).expect("the file can be read");
    assert_eq!(Findings::default().fault(&text), None);
}

/// Each file is a module that something was wrong with once; its first comment says what.
#[test]
fn what_was_found_before_stays_mended() {
    let findings = Findings::default();
    for module in regress() {
        assert_eq!(findings.fault(&module.text()), None, "{}", module.name);
    }
}

fn environment(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name} wants a number, not `{value}`")))
}

/// A mutant, shown as text.
#[derive(Clone)]
struct Text(Vec<u8>);

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

/// Makes mutants out of a driver's decisions.
struct Mutants(Seeds);

impl ValueGenerator for Mutants {
    type Output = Text;

    fn generate<D: Driver>(&self, driver: &mut D) -> Option<Text> {
        let mut roll = |below: usize| {
            let number = driver.gen_u32(Bound::Included(&0), Bound::Excluded(&(below.max(1) as u32)));
            number.map_or(0, |number| number as usize)
        };
        Some(Text(self.0.mutant(&mut roll)))
    }
}

/// An engine that runs the same mutants each time.
struct FixedSeeds;

impl<T: Test> Engine<T> for FixedSeeds {
    type Output = ();

    fn run(self, mut test: T, options: bolero::bolero_engine::driver::Options) {
        let mut state = 0u64;
        for _ in 0..FIXED_COUNT {
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

/// What a run found.
struct Findings {
    /// By what went wrong, without numbers and names: the first mutant that showed it, made small.
    files: Mutex<BTreeMap<String, PathBuf>>,
    counts: Mutex<Counts>,
    options: Options,
    ptxas: Option<(Ptxas, u64)>,
}

#[derive(Default)]
struct Counts {
    checked: u64,
    accepted: u64,
    asked: u64,
    taken: u64,
}

impl Default for Findings {
    fn default() -> Self {
        let ptxas = environment("PTXOPT_FUZZ_PTXAS").and_then(|one_of| Some((Ptxas::find()?, one_of.max(1))));
        Self {
            files: Mutex::default(),
            counts: Mutex::default(),
            options: Options { verify: VerifyLevel::Full, ..Options::default() },
            ptxas,
        }
    }
}

impl Findings {
    fn check(&self, text: &[u8]) {
        let Some(fault) = self.fault(text) else { return };
        let key = without_numbers(&fault);
        if self.files.lock().expect("no holder panics").contains_key(&key) {
            return;
        }
        let small = self.made_small(text, &key);
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let number = self.files.lock().expect("no holder panics").len();
        let path = folder.join(format!("finding-{}-{number}.ptx", std::process::id()));
        std::fs::write(&path, &small).expect("the target folder can be written");
        say(&format!("finding: {fault}\n  in {}", path.display()));
        self.files.lock().expect("no holder panics").insert(key, path);
    }

    fn report(&self) {
        let counts = self.counts.lock().expect("no holder panics");
        let Counts { checked, accepted, asked, taken } = *counts;
        say(&format!(
            "fuzz: {checked} mutants, {accepted} accepted; ptxas asked about {asked}, took {taken}"
        ));
        let files = self.files.lock().expect("no holder panics");
        assert!(files.is_empty(), "{} findings: {files:#?}", files.len());
    }

    /// What is wrong with how `text` is treated.
    fn fault(&self, text: &[u8]) -> Option<String> {
        let start = cpu_time();
        let fault = catch_unwind(AssertUnwindSafe(|| self.fault_or_panic(text))).unwrap_or_else(|cause| {
            let text = cause.downcast_ref::<&str>().map(|text| (*text).to_owned());
            Some(format!("panic: {:?}", text.or_else(|| cause.downcast_ref::<String>().cloned())))
        });
        let seconds = cpu_time() - start;
        fault.or_else(|| (seconds > TIME_MAX).then(|| format!("takes {seconds:?}")))
    }

    fn fault_or_panic(&self, text: &[u8]) -> Option<String> {
        let checked = {
            let mut counts = self.counts.lock().expect("no holder panics");
            counts.checked += 1;
            counts.checked
        };
        let mut rewriter = Rewriter::default();
        let once = match rewriter.rewrite(text) {
            Ok(once) => once,
            Err(diagnostic) => return self.fault_of_refusal(text, &diagnostic, checked),
        };
        self.counts.lock().expect("no holder panics").accepted += 1;
        match rewriter.rewrite(&once.text) {
            Err(diagnostic) => return Some(format!("written text is refused: {:?}", diagnostic.problem)),
            Ok(twice) if twice.text != once.text => {
                return Some(format!("not stable: {}", difference(&once.text, &twice.text)));
            }
            Ok(_) => {}
        }
        let output = match ptxopt::optimize(text, &self.options) {
            Ok(output) => output,
            Err(diagnostics) => return Some(format!("facade refuses what the reader takes: {diagnostics}")),
        };
        let mut refused = None;
        for left in output.report.left.iter().filter(|left| left.reason.contains("failed")) {
            if !left.reason.contains(FIRST_CHECK) {
                return Some(format!("left: {}", left.reason));
            }
            refused = Some(left.reason.as_str());
        }
        if let Err(diagnostic) = rewriter.rewrite(&output.text) {
            return Some(format!("optimized text is refused: {:?}", diagnostic.problem));
        }
        self.fault_by_assembler(text, refused, &[&once.text, &output.text], checked)
    }

    fn fault_of_refusal(
        &self,
        text: &[u8],
        diagnostic: &ptxopt_engine::diagnostics::Diagnostic,
        checked: u64,
    ) -> Option<String> {
        if diagnostic.offset > text.len() {
            return Some(format!("place past the end: {diagnostic:?}"));
        }
        let Err(diagnostics) = ptxopt::optimize(text, &self.options) else {
            return Some("facade takes what the reader refuses".to_owned());
        };
        let rendered = diagnostics.render("mutant.ptx", text, false);
        if !rendered.contains('^') {
            return Some(format!("no caret: {rendered}"));
        }
        let (ptxas, one_of) = self.ptxas.as_ref()?;
        if !checked.is_multiple_of(*one_of) {
            return None;
        }
        self.counts.lock().expect("no holder panics").asked += 1;
        let verdict = ptxas.accepts(text, &Flags::of(text), Mode::Check);
        verdict.is_ok().then(|| format!("the assembler takes what we refuse: {}", diagnostic.problem))
    }

    /// `refused` says what the verifier has against the module as it came in: nothing, where the assembler takes it.
    fn fault_by_assembler(
        &self,
        text: &[u8],
        refused: Option<&str>,
        written: &[&[u8]],
        checked: u64,
    ) -> Option<String> {
        let (ptxas, one_of) = self.ptxas.as_ref()?;
        if !checked.is_multiple_of(*one_of) {
            return None;
        }
        let flags = Flags::of(text);
        self.counts.lock().expect("no holder panics").asked += 1;
        ptxas.accepts(text, &flags, Mode::Check).ok()?;
        self.counts.lock().expect("no holder panics").taken += 1;
        if let Some(reason) = refused {
            return Some(format!("the assembler takes what the verifier refuses: {reason}"));
        }
        let said = written.iter().find_map(|text| ptxas.accepts(text, &flags, Mode::Check).err())?;
        Some(format!("the assembler refuses what we make of what it takes: {said}"))
    }

    /// Leaves out lines, then bytes, as long as the same goes wrong.
    fn made_small(&self, text: &[u8], key: &str) -> Vec<u8> {
        let start = Instant::now();
        let mut parts: Vec<Vec<u8>> =
            text.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
        for round in 0..2 {
            let mut size = parts.len().div_ceil(2).max(1);
            loop {
                let mut at = 0;
                while at < parts.len() && start.elapsed() < SHRINK_TIME_MAX {
                    let without = [&parts[..at], &parts[(at + size).min(parts.len())..]].concat();
                    let text = without.concat();
                    // The number of the mutant decides whether the assembler is asked: ask always.
                    let fault = self.always_asking(|| self.fault(&text));
                    if fault.is_some_and(|fault| without_numbers(&fault) == key) {
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

    /// Calls `work` with a count that every rate divides.
    fn always_asking<T>(&self, work: impl FnOnce() -> T) -> T {
        let Some((_, one_of)) = &self.ptxas else { return work() };
        let before = self.counts.lock().map(|mut counts| std::mem::replace(&mut counts.checked, one_of - 1));
        let result = work();
        if let (Ok(before), Ok(mut counts)) = (before, self.counts.lock()) {
            counts.checked = before;
        }
        result
    }
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

/// The first line in which two texts differ.
fn difference(one: &[u8], other: &[u8]) -> String {
    let (one, other) = (String::from_utf8_lossy(one), String::from_utf8_lossy(other));
    let lines = one.lines().zip(other.lines()).find(|(one, other)| one != other);
    lines.map_or_else(|| "length".to_owned(), |(one, other)| format!("`{one}` becomes `{other}`"))
}

/// The checks can fail: a text that was written wrong would not pass for one that was written right.
#[test]
fn a_difference_is_seen() {
    assert_eq!(difference(b"a\nb\n", b"a\nc\n"), "`b` becomes `c`");
    assert_eq!(without_numbers("panic: at 17 `x1`"), without_numbers("panic: at 5 `y`"));
    assert!(rewrite(b"nothing").is_err());
}
