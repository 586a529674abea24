//! The same bytes in, the same bytes out: on one thread and on four, alone and among others, and again.

use ptxopt::{Diagnostics, OptLevel, Optimizer, Options, Output};
use ptxopt_tests::modules::{ModuleFile, corpus, expect_none, forms, wild};
use ptxopt_tests::say::say;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// One module of so many of the wild set, and of those that fill several batches every one.
const WILD_STEP: usize = 9;

/// Modules from here on are cut into batches, which run on all threads.
const LARGE: usize = 400 << 10;

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started")
}

fn modules() -> Vec<ModuleFile> {
    let wild = wild().into_iter().enumerate().filter(|(index, module)| {
        index % WILD_STEP == 0 || module.path.metadata().is_ok_and(|file| file.len() as usize > LARGE)
    });
    [corpus(), forms()].concat().into_iter().chain(wild.map(|(_, module)| module)).collect()
}

fn optimized(text: &[u8], options: &Options) -> Vec<u8> {
    text_of(ptxopt::optimize(text, options))
}

/// The output, or what is wrong with the input.
fn text_of(result: Result<Output, Diagnostics>) -> Vec<u8> {
    result.map_or_else(|error| error.to_string().into_bytes(), |output| output.text)
}

#[test]
fn threads_company_and_repetition_change_nothing() {
    let modules = modules();
    let (one, four) = (pool(1), pool(4));
    let mut failures = Vec::new();
    for level in [OptLevel::O0, OptLevel::O2] {
        let options = Options { level, ..Options::default() };
        let texts: Vec<Vec<u8>> = modules.iter().map(ModuleFile::text).collect();
        let alone: Vec<Vec<u8>> =
            texts.iter().map(|text| one.install(|| optimized(text, &options))).collect();
        // Many modules at once: shards are handed from one to the next, and go to what comes first.
        let together: Vec<Vec<u8>> =
            four.install(|| texts.par_iter().map(|text| optimized(text, &options)).collect());
        // The other way round, so that each shard has seen other modules before.
        let again: Vec<Vec<u8>> =
            texts.iter().rev().map(|text| four.install(|| optimized(text, &options))).collect();
        // Small modules in batches of several.
        let inputs: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        let shared: Vec<Vec<u8>> = one.install(|| {
            let results = Optimizer::new(&options).optimize_together(&inputs);
            results.into_iter().map(text_of).collect()
        });
        for (index, module) in modules.iter().enumerate() {
            if alone[index] != shared[index] {
                failures.push(format!("{} at -{level}: in one batch with others", module.name));
            }
            if alone[index] != together[index] {
                failures.push(format!("{} at -{level}: four threads", module.name));
            }
            if alone[index] != again[texts.len() - 1 - index] {
                failures.push(format!("{} at -{level}: again", module.name));
            }
        }
    }
    say(&format!("determinism: {} modules", modules.len()));
    expect_none("outputs differ", &failures);
}
