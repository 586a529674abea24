//! Variants of the corpus: modules that real ones nearly are, before and after the optimizer.
//!
//! `cargo run --release -p ptxopt-tests --bin judge -- --variants FOLDER` judges as many as one likes, of any modules.

use ptxopt::{OptLevel, Options};
use ptxopt_tests::modules::{corpus, expect_none, in_parallel};
use ptxopt_tests::ptxas::{Flags, Mode, Ptxas};
use ptxopt_tests::say::say;
use ptxopt_tests::variants::{Judgement, Variants};

/// Variants that are judged.
const COUNT: u64 = 1_000;

/// Every so many of them the assembler is asked about.
const ASSEMBLED_EVERY: usize = 8;

#[test]
fn variants_leave_the_same_before_and_after() {
    let variants = Variants::new(corpus());
    let seeds: Vec<u64> = (0..COUNT).collect();
    let judged = in_parallel(&seeds, |&seed| {
        let level = if seed % 2 == 0 { OptLevel::O2 } else { OptLevel::O3 };
        let options = Options { level, threads: 1, ..Options::default() };
        let variant = variants.variant(seed);
        variant.judge(&options).map_err(|error| format!("seed {seed}, {}: {error}", variant.module()))
    });
    let (mut same, mut aside, mut wrong) = (0, 0, Vec::new());
    for judgement in judged {
        match judgement {
            Ok(Judgement::Same(same_here, aside_here)) => {
                (same, aside) = (same + same_here, aside + aside_here)
            }
            Ok(Judgement::Wrong(story)) | Err(story) => wrong.push(story),
        }
    }
    say(&format!("variants: {same} kernels of {COUNT} variants leave the same, {aside} are set aside"));
    expect_none("variants are wrong", &wrong);
    assert!(same as u64 > COUNT, "only {same} kernels are judged, and {aside} are not");
}

#[test]
fn the_assembler_takes_variants() {
    let Some(ptxas) = Ptxas::find() else { return };
    let variants = Variants::new(corpus());
    let seeds: Vec<u64> = (0..COUNT).step_by(ASSEMBLED_EVERY).collect();
    let refused: Vec<String> = in_parallel(&seeds, |&seed| {
        let text = variants.variant(seed).text();
        let taken = ptxas.accepts(text.as_bytes(), &Flags::of(text.as_bytes()), Mode::Check);
        taken.err().map(|words| format!("seed {seed}: {words}"))
    })
    .into_iter()
    .flatten()
    .collect();
    expect_none("variants are refused", &refused);
}
