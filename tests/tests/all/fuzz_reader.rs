//! Fuzzing of the reader, on stable Rust, with bolero.
//!
//! Mutants of corpus and forms ([`ptxopt_tests::mutate`]) go through reader, writer and facade. Whatever the text:
//! nothing panics; what is accepted is written as text that is accepted again and written the same; the facade takes
//! it at `-O2`, its verifier finds nothing that was not wrong before, no phase is undone, and what comes out is accepted.
//! [`super::fuzz_pipeline`] asks more of the phases, with text that is mostly accepted.
//!
//! `cargo test` runs a fixed list of seeds for a few seconds. A long run starts from random seeds:
//!
//! ```text
//! PTXOPT_FUZZ_SECONDS=1800 cargo test --release -p ptxopt-tests fuzz_reader -- --nocapture
//! ```
//!
//! `PTXOPT_FUZZ_PTXAS=64` with it asks the assembler about one mutant of 64, too: what it takes, we take, and it takes
//! what we make of it. `PTXOPT_FUZZ_FILE=x.ptx` checks one file. Findings are kept as [`super::fuzz`] says.

use crate::fuzz::{Findings, environment, guarded, refusal, roll, run};
use bolero::generator::bolero_generator::{Driver, ValueGenerator};
use ptxopt::{Options, VerifyLevel};
use ptxopt_tests::modules::{corpus, forms, regress};
use ptxopt_tests::mutate::Seeds;
use ptxopt_tests::ptxas::{Flags, Mode, Ptxas};
use ptxopt_tests::rewrite::{Rewriter, rewrite};
use ptxopt_tests::say::say;
use std::sync::Mutex;

/// Mutants of a run in `cargo test`: some seconds.
const FIXED_COUNT: u64 = 6_000;

#[test]
fn mutants_do_no_harm() {
    let seeds = Seeds::new([corpus(), forms(), regress()].concat().iter().map(|module| module.text()));
    let (reader, findings) = (Reader::default(), Findings::default());
    run(Mutants(seeds), FIXED_COUNT, |text: &Text| {
        if let Some(fault) = reader.fault(&text.0) {
            // The number of the mutant decides whether the assembler is asked: ask always.
            findings.keep(&fault, &text.0, &|text| reader.always_asking(|| reader.fault(text)));
        }
    });
    let counts = reader.counts.lock().expect("no holder panics");
    let Counts { checked, accepted, asked, taken } = *counts;
    say(&format!("fuzz: {checked} mutants, {accepted} accepted; ptxas asked about {asked}, took {taken}"));
    findings.report();
}

#[test]
fn a_file_of_the_users_does_no_harm() {
    let Some(path) = std::env::var_os("PTXOPT_FUZZ_FILE") else { return };
    let text = std::fs::read(path).expect("the file can be read");
    assert_eq!(Reader::default().fault(&text), None);
}

/// Each file is a module that something was wrong with once; its first comment says what.
#[test]
fn what_was_found_before_stays_mended() {
    let reader = Reader::default();
    for module in regress() {
        assert_eq!(reader.fault(&module.text()), None, "{}", module.name);
    }
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
        Some(Text(self.0.mutant(&mut |below| roll(driver, below))))
    }
}

/// Treats texts, and counts them.
struct Reader {
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

impl Default for Reader {
    fn default() -> Self {
        let ptxas = environment("PTXOPT_FUZZ_PTXAS").and_then(|one_of| Some((Ptxas::find()?, one_of.max(1))));
        Self {
            counts: Mutex::default(),
            options: Options { verify: VerifyLevel::Full, ..Options::default() },
            ptxas,
        }
    }
}

impl Reader {
    /// What is wrong with how `text` is treated.
    fn fault(&self, text: &[u8]) -> Option<String> {
        guarded(|| self.fault_or_panic(text))
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
        let refused = match refusal(&output.report) {
            Ok(refused) => refused,
            Err(fault) => return Some(fault),
        };
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
    assert!(rewrite(b"nothing").is_err());
}
