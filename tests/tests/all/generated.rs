//! Generated kernels are what they promise to be: the assembler takes them, and so does the project's own reader.

use ptxopt::{OptLevel, Options};
use ptxopt_generate::kernel;
use ptxopt_generate::options::Options as Sizes;
use ptxopt_tests::modules::{expect_none, in_parallel};
use ptxopt_tests::ptxas::{Flags, Mode, Ptxas};
use ptxopt_tests::say::say;

/// Kernels that the assembler checks.
const CHECKED: u64 = 300;
/// Every so many of them it makes code of, too.
const ASSEMBLED_EVERY: u64 = 10;
/// Kernels that our own reader reads.
const READ: u64 = 600;

fn text_of(seed: u64) -> String {
    kernel(seed, &Sizes::for_seed(seed)).text().to_owned()
}

#[test]
fn the_assembler_takes_generated_kernels() {
    let Some(ptxas) = Ptxas::find() else { return };
    let seeds: Vec<u64> = (0..CHECKED).collect();
    let verdicts = in_parallel(&seeds, |&seed| {
        let text = text_of(seed);
        let mut flags = Flags::of(text.as_bytes());
        let mut said = ptxas.accepts(text.as_bytes(), &flags, Mode::Check).err();
        if said.is_none() && seed % ASSEMBLED_EVERY == 0 {
            // Its own optimizer dies of, or never ends on, one in some hundred of these modules.
            flags.others.push("-O0".to_owned());
            said = ptxas.accepts(text.as_bytes(), &flags, Mode::Assemble).err();
        }
        said.map(|said| format!("seed {seed}: {said}"))
    });
    let rejected: Vec<String> = verdicts.into_iter().flatten().collect();
    say(&format!("ptxas accepts {} of {CHECKED} generated kernels", CHECKED as usize - rejected.len()));
    expect_none("generated kernels are rejected", &rejected);
}

#[test]
fn our_reader_takes_generated_kernels() {
    let seeds: Vec<u64> = (0..READ).collect();
    let failures = in_parallel(&seeds, |&seed| {
        let text = text_of(seed);
        let options = Options { level: OptLevel::O2, ..Options::default() };
        match ptxopt::optimize(text.as_bytes(), &options) {
            Ok(_) => None,
            Err(diagnostics) => Some(diagnostics.summary(&format!("seed {seed}"), text.as_bytes())),
        }
    });
    expect_none("generated kernels are not read", &failures.into_iter().flatten().collect::<Vec<String>>());
}
