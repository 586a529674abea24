//! The modules of `tests/forms`, which `ptxas` accepts: every integer instruction in them has an evaluator.

use super::super::evaluator;
use crate::arith::{Dialect, Request};
use std::{fs, path::Path};

/// An instruction as its text gives it, with what [`Request`] borrows.
struct Line {
    mnemonic: String,
    results: usize,
    sources: usize,
    selectors: Vec<Option<String>>,
    negated: Vec<bool>,
}

impl Line {
    /// Reads `add.s32 r1, r2, 5;`. Register names in these files begin with their kind: `q` is 128 bits wide.
    fn read(text: &str) -> Option<Self> {
        let (mnemonic, operands) = text.trim().strip_suffix(';')?.split_once(' ')?;
        let mut depth = 0;
        let operands = operands.split(|c: char| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            c == ',' && depth == 0
        });
        let operands: Vec<Vec<&str>> = operands.map(parts).collect();
        let cells = |operands: &[Vec<&str>]| {
            operands.iter().flatten().map(|part| 1 + usize::from(part.starts_with('q'))).sum()
        };
        let all = || operands.iter().flatten();
        Some(Self {
            mnemonic: mnemonic.to_owned(),
            results: cells(&operands[..1]),
            sources: cells(&operands[1..]),
            selectors: all().map(|part| selector(part)).collect(),
            negated: operands[1..].iter().flatten().map(|part| is_negated(part)).collect(),
        })
    }

    fn is_known(&self) -> bool {
        let selectors: Vec<_> = self.selectors.iter().map(Option::as_deref).collect();
        let request = Request {
            mnemonic: &self.mnemonic,
            results: self.results,
            sources: self.sources,
            selectors: &selectors,
            negated: &self.negated,
            dialect: Dialect::default(),
        };
        evaluator(&request).is_some()
    }
}

/// An operand in its parts: elements of a vector, both registers of a pair.
fn parts(operand: &str) -> Vec<&str> {
    operand.trim().trim_matches(['{', '}']).split([',', '|']).map(str::trim).collect()
}

fn selector(part: &str) -> Option<String> {
    let is_register = part.trim_start_matches('-').starts_with(|c: char| c.is_ascii_alphabetic());
    part.split_once('.').filter(|_| is_register).map(|(_, selector)| selector.to_owned())
}

/// A minus before a literal belongs to the literal.
fn is_negated(part: &str) -> bool {
    part.starts_with('!') || part.strip_prefix('-').is_some_and(|rest| rest.starts_with(char::is_alphabetic))
}

/// The instructions of the named kernels of a file.
fn lines(file: &str, kernels: &[&str]) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/forms").join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let bodies = text.split(".visible .entry ").skip(1);
    let chosen = bodies.filter(|body| {
        let name = body.split('(').next().unwrap();
        kernels.is_empty() || kernels.contains(&name)
    });
    let lines: Vec<String> = chosen
        .flat_map(str::lines)
        .filter(|line| line.starts_with("    ") && !line.trim().starts_with('.') && line.contains(", "))
        // Special registers are read elsewhere.
        .filter(|line| !line.contains('%'))
        .map(str::to_owned)
        .collect();
    assert!(!lines.is_empty(), "{file} has instructions");
    lines
}

/// Whether the instruction works on floating-point numbers. Moves and choices only carry them.
fn is_floating_point(mnemonic: &str) -> bool {
    let carries = ["mov.", "selp.", "slct."].iter().any(|root| mnemonic.starts_with(root));
    let source = mnemonic.rsplit('.').next().unwrap();
    !carries && ["f", "bf", "e"].iter().any(|first| source.starts_with(first))
}

#[track_caller]
fn all_known(file: &str, kernels: &[&str]) {
    let unknown: Vec<String> = lines(file, kernels)
        .into_iter()
        .filter_map(|text| Some((Line::read(&text)?, text)))
        .filter(|(line, _)| !is_floating_point(&line.mnemonic) && !line.is_known())
        .map(|(_, text)| text)
        .collect();
    assert!(unknown.is_empty(), "unknown in {file}:\n{}", unknown.join("\n"));
}

#[test]
fn integer_arithmetic() {
    all_known("integer.ptx", &[]);
}

#[test]
fn logic_shifts_and_fields() {
    all_known("bitwise.ptx", &[]);
}

#[test]
fn video() {
    all_known("video.ptx", &[]);
}

#[test]
fn comparisons_and_choices() {
    all_known("compare.ptx", &[]);
}

#[test]
fn moves() {
    all_known("moves.ptx", &["registers", "pack_unpack", "vectors"]);
}

#[test]
fn conversions() {
    all_known("conversions.ptx", &["integers", "packed"]);
}
