//! The last words of a run of the tests: what they could not do here, and the command that changes it.
//!
//! Cargo runs the programs of a package by name and this package after the others, so nothing follows. A program without
//! the test harness, whose output is not kept back.

use ptxopt_tests::modules::wild_folder;
use ptxopt_tests::native::clang;
use ptxopt_tests::ptxas;
use ptxopt_tests::say::{NO_CLANG, NO_PTXAS, NO_WILD_SET};

fn main() {
    // Programs that collect the tests before they run any ask this, and want none named here.
    if std::env::args().any(|argument| argument == "--list") {
        return;
    }
    let parts = [
        (ptxas::binary().is_some(), NO_PTXAS),
        (clang().is_some(), NO_CLANG),
        (wild_folder().is_some(), NO_WILD_SET),
    ];
    if parts.iter().all(|&(is_here, _)| is_here) {
        println!("nothing was skipped: ptxas, clang and the wild set are here");
    }
    for (_, message) in parts.into_iter().filter(|&(is_here, _)| !is_here) {
        println!("skipped: {message}");
    }
}
