//! Small kernels, one for each mechanism, with results worked out by hand.

mod asynchronous;
mod atomics;
mod barriers;
mod calls;
mod checks;
mod counts;
mod divergence;
mod matrices;
mod memory;
mod operands;
mod stops;
mod uninterpreted;
mod warp;

use ptxopt_emulator::{Argument, Checks, Launch, Module, Options, Outcome, run};

/// What stands before the functions of every module here.
const HEADER: &str = ".version 8.6\n.target sm_90\n.address_size 64\n";

/// A kernel `k` with one parameter, the address of its results in `%out`, and what most bodies need: the thread's
/// number in `%t`, and `%own`, where its own word of the results is.
fn kernel(body: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 out) {{
            .reg .pred %p<10>; .reg .b16 %h<10>; .reg .b32 %r<30>; .reg .b64 %rd<20>; .reg .f32 %f<10>;
            .reg .b32 %t; .reg .b64 %out, %own;
            ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %own, %t, 4, %out;
            {body}
        }}"
    )
}

fn load(functions: &str) -> Module {
    Module::load(format!("{HEADER}{functions}").as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs `k` of a module with one CTA of `threads` threads and a buffer of `words` words of zeros.
fn run_with(functions: &str, threads: u32, words: usize, options: &Options) -> Outcome {
    let launch = Launch {
        entry: "k".to_owned(),
        grid: [1; 3],
        block: [threads, 1, 1],
        shared_bytes: 0,
        args: vec![Argument::Buffer(vec![0; 4 * words])],
    };
    run(&load(functions), &launch, options)
}

fn run_plain(functions: &str, threads: u32, words: usize) -> Outcome {
    run_with(functions, threads, words, &Options::default())
}

/// The words that `k` has written; the run must not stop early.
fn words(functions: &str, threads: u32, count: usize) -> Vec<u32> {
    let outcome = run_plain(functions, threads, count);
    assert_eq!(outcome.stop, None);
    words_of(&outcome)
}

fn words_of(outcome: &Outcome) -> Vec<u32> {
    outcome.buffers[0].chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// What `value` gives for each of `count` threads.
fn each(count: u32, value: impl Fn(u32) -> u32) -> Vec<u32> {
    (0..count).map(value).collect()
}

fn with_checks(checks: Checks) -> Options {
    Options { checks, ..Options::default() }
}
