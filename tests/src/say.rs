//! What a test tells its user whether it passes or fails.
//!
//! The test harness swallows what a passing test prints with `println!`. Counts and skips go round it, straight to
//! standard error: a check that did not run must not look like one that passed.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Mutex;

/// Environment variable that turns a skip into a failure: for runs that installed everything.
pub const SKIP_NOTHING: &str = "PTXOPT_SKIP_NOTHING";

/// What is said where the assembler is absent.
pub const NO_PTXAS: &str =
    "ptxas is absent, so nothing was assembled; `tests/tools/install-ptxas` fetches it";

/// What is said where the compiler is absent.
pub const NO_CLANG: &str =
    "clang is absent, so nothing was compared with the processor; `tests/tools/install-clang` fetches it";

/// What is said where the wild set is absent.
pub const NO_WILD_SET: &str =
    "the wild set is absent, so only this repository's modules were tried; `tests/wild/make` makes it";

/// Prints a line.
pub fn say(line: &str) {
    // Nobody is left to tell when standard error is closed.
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Prints that something is skipped, once a process.
///
/// # Panics
/// When the environment forbids skips.
pub fn skipped(what: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    assert!(std::env::var_os(SKIP_NOTHING).is_none(), "{SKIP_NOTHING} is set, and this is not here: {what}");
    let is_new = SAID.lock().is_ok_and(|mut said| said.insert(what.to_owned()));
    if is_new {
        say(&format!("skipped: {what}"));
    }
}
