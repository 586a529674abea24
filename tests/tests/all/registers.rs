//! The table of `ptxopt analyze --print registers` of modules of the corpus, as text that a change of the estimator shows in.
//!
//! `BLESS=1` writes `tests/analyzed/registers.txt` again. What the forecast is worth is in `docs/FORECAST.md`.

use ptxopt_tests::blessed::expect_blessed;
use ptxopt_tests::modules::tests_folder;
use std::fmt::Write;
use std::process::Command;

/// Straight code, loops, calls, tensor cores, double precision, limits in the header.
const MODULES: [&str; 8] = [
    "O0/saxpy",
    "O3/saxpy",
    "O3/matmul_tiled",
    "O3/fft_registers",
    "O3/register_pressure",
    "O3/softmax",
    "ptx/lines_and_pragmas",
    "ptx/indirect_calls",
];

fn table(module: &str, more: &[&str]) -> String {
    let path = tests_folder().join("corpus").join(format!("{module}.ptx"));
    let output = Command::new(env!("CARGO_BIN_EXE_ptxopt-under-test"))
        .args(["analyze", "--print", "registers"])
        .args(more)
        .arg(&path)
        .output()
        .expect("the command starts");
    assert!(output.status.success(), "{module}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn tables_are_as_blessed() {
    let mut text = String::new();
    for module in MODULES {
        write!(text, "{module}\n{}\n", table(module, &[])).expect("a string takes everything");
    }
    let tight = MODULES[4];
    write!(text, "{tight} --maxrregcount 32\n{}", table(tight, &["--maxrregcount", "32"]))
        .expect("a string takes everything");
    expect_blessed("analyzed/registers.txt", &text);
}

#[test]
fn one_kernel_alone() {
    let all = table("O3/softmax", &[]);
    let name = all.lines().nth(1).and_then(|line| line.split_whitespace().next()).expect("a kernel");
    let alone = table("O3/softmax", &["--function", name]);
    assert_eq!(alone.lines().count(), 2, "{alone}");
}
