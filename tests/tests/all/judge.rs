//! The judge over everything: corpus, forms and wild set at every level, and generated kernels after each phase.

use ptxopt::check::{CheckOptions, Reference, Verdict, launches};
use ptxopt::{OptLevel, Options, optimize};
use ptxopt_tests::generated::{generated, judge};
use ptxopt_tests::modules::{ModuleFile, corpus, expect_none, forms, in_parallel, wild};
use ptxopt_tests::say::say;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Generated kernels that each run of the tests judges.
const GENERATED: u64 = 2_000;

#[test]
fn corpus_kernels_behave_as_before_at_every_level() {
    let judged = judge_modules("corpus", &corpus(), 2, 4_000_000);
    assert!(judged >= 480, "launch lines judge {judged} kernels of the corpus only");
}

#[test]
fn form_and_wild_kernels_behave_as_before_at_every_level() {
    judge_modules("forms", &forms(), 1, 1_000_000);
    judge_modules("wild", &wild(), 1, 250_000);
}

#[test]
fn generated_kernels_behave_as_before_after_each_phase() {
    let options = Options { threads: 1, ..Options::default() };
    // Every other kernel with the phase that is off unless asked for: loops get one entry.
    let mut with_single_entry = options.clone();
    with_single_entry.set_knob("Knob487.LoopMakeSingleEntry").expect("the knob exists");
    // All with one pipeline, then all with the other: so fewer shards are made.
    let mut wrong = Vec::new();
    for (first, options) in [(0, &options), (1, &with_single_entry)] {
        let seeds: Vec<u64> = (first..GENERATED).step_by(2).collect();
        wrong.extend(in_parallel(&seeds, |&seed| match judge(&generated(seed), options) {
            Ok(None) => None,
            Ok(Some(story)) | Err(story) => Some(format!("seed {seed}: {story}")),
        }));
    }
    expect_none("generated kernels came out wrong", &wrong.into_iter().flatten().collect::<Vec<_>>());
    say(&format!("judge: {GENERATED} generated kernels behave as before after each phase"));
}

/// Runs every kernel before and after, at -O0 to -O3, on `seeds` inputs of at most `steps_max` thread-instructions;
/// gives the number of kernels that could be judged.
fn judge_modules(set: &str, modules: &[ModuleFile], seeds: u64, steps_max: u64) -> usize {
    let (judged, aside) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let failures = in_parallel(modules, |module| {
        let text = module.text();
        let outcome =
            judge_module(module, &text, CheckOptions { seeds, steps_max, ..CheckOptions::default() });
        match outcome {
            Ok((kernels, set_aside)) => {
                judged.fetch_add(kernels, Ordering::Relaxed);
                aside.fetch_add(set_aside, Ordering::Relaxed);
                None
            }
            Err(story) => Some(format!("{}: {story}", module.name)),
        }
    });
    expect_none("modules behave otherwise", &failures.into_iter().flatten().collect::<Vec<_>>());
    let (judged, aside) = (judged.into_inner(), aside.into_inner());
    say(&format!("judge: {judged} kernels of {set} behave as before at -O0 to -O3, {aside} are set aside"));
    judged
}

/// Kernels of the module that were judged, and that were set aside.
fn judge_module(module: &ModuleFile, text: &[u8], how: CheckOptions) -> Result<(usize, usize), String> {
    let lines = launches::find(&module.path, text).map_err(|error| format!("{error:#}"))?;
    let reference = Reference::new(text, &lines, how).map_err(|error| error.to_string())?;
    let mut counts = (0, 0);
    let mut last = Vec::new();
    for level in OptLevel::ALL {
        let options = Options { level, threads: 1, ..Options::default() };
        let after = optimize(text, &options).map_err(|error| error.to_string())?.text;
        if after == last {
            continue;
        }
        let kernels = reference.compare(&after).map_err(|error| error.to_string())?;
        counts = (0, 0);
        for kernel in kernels {
            match kernel.verdict {
                Verdict::Same => counts.0 += 1,
                Verdict::SetAside(_) => counts.1 += 1,
                Verdict::Different(story) => return Err(format!("-{level}, `{}`: {story}", kernel.entry)),
            }
        }
        last = after;
    }
    Ok(counts)
}
