//! The modules of `tests/forms`, which `ptxas` accepts: every floating-point instruction in them has an evaluator.

use super::evaluator;
use crate::arith::Request;
use std::{fs, path::Path};

/// Operands in the text, braces flattened.
fn count(operands: &str) -> usize {
    operands.split([',', '|']).count()
}

/// Whether the instruction computes with floats in lanes of its own; choices and `oob` belong elsewhere.
fn is_ours(mnemonic: &str) -> bool {
    let mut words = mnemonic.split('.');
    let known = [
        "add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh",
        "min", "max", "abs", "neg", "copysign", "testp", "setp", "set", "cvt",
    ];
    let root = words.next().is_some_and(|root| known.contains(&root));
    let rest: Vec<&str> = words.collect();
    let float = |word: &&str| {
        ["f16", "bf16", "f32", "f64", "tf32", "e4m3", "e5m2"].iter().any(|it| word.starts_with(it))
    };
    // Comparisons of integers that write floats are integer arithmetic.
    let source = if mnemonic.starts_with("set.") { &rest[rest.len() - 1..] } else { &rest[..] };
    root && source.iter().any(float) && !rest.contains(&"oob")
}

#[track_caller]
fn all_known(file: &str, at_least: usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/forms").join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let instructions: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| line.trim().strip_suffix(';')?.split_once(' '))
        .filter(|(mnemonic, _)| is_ours(mnemonic))
        .collect();
    assert!(instructions.len() >= at_least, "{file} has {} instructions", instructions.len());
    for (mnemonic, operands) in instructions {
        let (result, sources) = operands.split_once(", ").unwrap();
        let negated: Vec<bool> = sources.split(',').map(|source| source.trim().starts_with('!')).collect();
        let plain = Request::plain(mnemonic, count(result), count(sources));
        let request = Request { negated: &negated, ..plain };
        assert!(evaluator(&request).is_some(), "{file}: {mnemonic} {operands}");
    }
}

#[test]
fn single_and_double() {
    all_known("float.ptx", 190);
}

#[test]
fn half() {
    all_known("half.ptx", 100);
}

#[test]
fn comparisons() {
    all_known("compare.ptx", 100);
}

#[test]
fn conversions() {
    all_known("conversions.ptx", 200);
    all_known("conversions-100.ptx", 40);
}

#[test]
fn newest_and_oldest() {
    all_known("arithmetic-100.ptx", 60);
    all_known("legacy-1.0.ptx", 15);
    all_known("legacy-1.4.ptx", 12);
    all_known("legacy-2.0.ptx", 5);
}
