//! A seed gives the same bytes each time, in each process.

use ptxopt_generate::kernel;
use ptxopt_generate::options::Options;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::process::Command;

/// Set in the process that only prints.
const CHILD: &str = "PTXOPT_GENERATE_PRINTS";

fn print_hash() -> u64 {
    // A hasher with fixed keys; both processes are the same program.
    let mut hasher = DefaultHasher::new();
    for seed in 0..60 {
        let kernel = kernel(seed, &Options::for_seed(seed));
        kernel.text().hash(&mut hasher);
        kernel.launch().to_json().hash(&mut hasher);
    }
    hasher.finish()
}

#[test]
fn two_processes_print_the_same() {
    let here = print_hash();
    assert_eq!(here, print_hash());
    let program = std::env::current_exe().expect("tests know their program");
    let mut command = Command::new(program);
    command.args(["--exact", "determinism::child_prints", "--nocapture"]).env(CHILD, "1");
    let output = command.output().expect("the program runs again");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains(&format!("hash {here}")), "{text}");
}

/// What the other process runs.
#[test]
fn child_prints() {
    if std::env::var_os(CHILD).is_some() {
        println!("hash {}", print_hash());
    }
}

#[test]
fn seeds_differ() {
    let texts: std::collections::BTreeSet<String> =
        (0..60).map(|seed| kernel(seed, &Options::for_seed(seed)).text().to_owned()).collect();
    assert_eq!(texts.len(), 60);
}

/// The launch names one argument a parameter.
#[test]
fn launches_fit_signatures() {
    for seed in 0..100 {
        let kernel = kernel(seed, &Options::for_seed(seed));
        let signature =
            kernel.text().lines().find(|line| line.contains(".entry")).expect("there is a kernel");
        assert_eq!(signature.matches(".param").count(), kernel.launch().arguments.len(), "seed {seed}");
    }
}
