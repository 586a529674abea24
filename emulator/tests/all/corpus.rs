//! Every kernel of the corpus, run once at each level of the front end.

use crate::support::{corpus, launch};
use ptxopt_emulator::{Limits, Module, Options, Outcome, Stop, run};
use std::fs;

fn options() -> Options {
    Options { limits: Limits { steps: 400_000_000, ..Limits::default() }, ..Options::default() }
}

fn load(path: &str) -> Module {
    let text = fs::read(corpus().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    Module::load(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn outcome(path: &str, line: &str) -> Outcome {
    run(&load(path), &launch(line), &options())
}

/// The lines of the launch file: module, and the rest.
fn lines() -> Vec<(String, String)> {
    let text = fs::read_to_string(corpus().join("launches")).unwrap();
    let split = |line: &str| line.split_once(' ').map(|(name, rest)| (name.to_owned(), rest.to_owned()));
    text.lines().filter(|line| !line.starts_with("//")).filter_map(split).collect()
}

/// Modules written by hand that hold what is not modelled, and what that is.
const NOT_SUPPORTED: [(&str, &str); 2] =
    [("clusters_sm_90", "cluster of several CTAs"), ("warpgroup_sm_90a", "wgmma.fence.sync.aligned")];

#[test]
fn modules_written_by_hand_run() {
    let mut problems = Vec::new();
    for (name, rest) in lines() {
        if corpus().join(format!("ptx/{name}.ptx")).exists() {
            let known = NOT_SUPPORTED.iter().find(|(module, _)| *module == name).map(|&(_, what)| what);
            let outcome = outcome(&format!("ptx/{name}.ptx"), &rest);
            let found = match &outcome.stop {
                Some(Stop::NotSupported { mnemonic, .. }) => Some(mnemonic.as_str()),
                Some(stop) => {
                    problems.push(format!("{name} {rest}: {stop}"));
                    continue;
                }
                None => None,
            };
            if found != known {
                problems.push(format!("{name} {rest}: {found:?} is not supported"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn whatever_is_not_modelled_runs_uninterpreted() {
    for (name, _) in NOT_SUPPORTED {
        for (module, rest) in lines() {
            if module == name {
                let options = Options { uninterpreted: true, ..options() };
                let outcome = run(&load(&format!("ptx/{name}.ptx")), &launch(&rest), &options);
                assert_eq!(outcome.stop, None, "{name}");
                assert!(!outcome.log.is_empty(), "{name}");
            }
        }
    }
}

/// Both levels of the front end compute the same, since none of them may change what a program means.
#[test]
fn kernels_compiled_with_and_without_optimisation_agree() {
    let mut problems = Vec::new();
    for (name, rest) in lines() {
        if !corpus().join(format!("O0/{name}.ptx")).exists() {
            continue;
        }
        let plain = outcome(&format!("O0/{name}.ptx"), &rest);
        let optimised = outcome(&format!("O3/{name}.ptx"), &rest);
        for (level, outcome) in [("O0", &plain), ("O3", &optimised)] {
            if let Some(stop) = &outcome.stop {
                problems.push(format!("{level} {name} {rest}: {stop}"));
            }
        }
        if plain.stop.is_none() && optimised.stop.is_none() && plain.buffers != optimised.buffers {
            problems.push(format!("{name}: levels differ: {rest}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
