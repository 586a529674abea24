//! The record as a page of Markdown.

use super::{Against, Mismatch, Record};
use crate::gpu::folder::Assembly;
use crate::gpu::results::How;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Explained differences of one cause that are listed; all are counted.
const LISTED_MAX: usize = 20;

/// The page.
pub fn page(record: &Record) -> String {
    let results = &record.results;
    let (major, minor) = (results.driver / 1000, results.driver % 1000 / 10);
    let mut text = format!(
        "# Kernels on a GPU\n\n{}, sm_{}, driver for CUDA {major}.{minor}, {}.\n\n",
        results.device, results.arch, results.date
    );
    if !results.is_whole {
        text.push_str("**The host did not come to its end: what follows is incomplete.**\n\n");
    }
    runs(record, &mut text);
    assembly(record, &mut text);
    aside(record, &mut text);
    differences(record, &mut text);
    text
}

/// The first part of a module's name.
fn set_of(name: &str) -> &str {
    name.split('/').next().unwrap_or_default()
}

fn runs(record: &Record, text: &mut String) {
    let mut counts: BTreeMap<&str, BTreeMap<How, usize>> = BTreeMap::new();
    for run in &record.results.runs {
        let set = set_of(&record.prepared.codes[run.code].name);
        *counts.entry(set).or_default().entry(run.how).or_insert(0) += 1;
    }
    let hows: Vec<(How, &str)> =
        How::ALL.into_iter().filter(|(how, _)| counts.values().any(|row| row.contains_key(how))).collect();
    let names: Vec<&str> = hows.iter().map(|(_, name)| *name).collect();
    let _ = writeln!(text, "## Runs\n\n| set | {} |\n|---|{}", names.join(" | "), "---|".repeat(hows.len()));
    for (set, row) in &counts {
        let cells: Vec<String> =
            hows.iter().map(|(how, _)| row.get(how).copied().unwrap_or(0).to_string()).collect();
        let _ = writeln!(text, "| {set} | {} |", cells.join(" | "));
    }
    let of = |against| {
        let found = record.mismatches.iter().filter(move |mismatch| mismatch.against == against);
        let (explained, faults): (Vec<_>, Vec<_>) = found.partition(|mismatch| mismatch.is_explained);
        (explained.len(), faults.len())
    };
    let ((explained, faults), (as_before, other)) = (of(Against::Emulator), of(Against::Before));
    let _ = writeln!(
        text,
        "\nAgainst the emulator: {faults} unexplained differences, {explained} explained.\n\
         Against the kernel before: {} runs compared, {other} unexplained differences, {as_before} explained.",
        record.compared
    );
    if !record.results.missing.is_empty() {
        let count = record.results.missing.len();
        let _ = writeln!(text, "Variables that the driver did not find: {count}.");
    }
}

fn assembly(record: &Record, text: &mut String) {
    let count = |assembly| record.prepared.codes.iter().filter(|code| code.assembly == assembly).count();
    let loaded = |how: &str| record.results.runs.iter().filter(|run| run.loaded == how).count();
    let _ = writeln!(
        text,
        "\n## Assembly\n\nWithout contraction. Of {} modules, each level counted, `ptxas` assembled {}, {} only with its \
         -O0, failed at {} and was not asked about {}.\nRuns loaded {} as machine code, {} through the driver's \
         assembler, {} of it at its lowest level.",
        record.prepared.codes.len(),
        count(Assembly::Full),
        count(Assembly::Plain),
        count(Assembly::Failed),
        count(Assembly::Driver),
        loaded("cubin"),
        loaded("ptx") + loaded("ptx-O0"),
        loaded("ptx-O0")
    );
}

fn aside(record: &Record, text: &mut String) {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (set, reason) in &record.prepared.aside {
        *counts.entry((set, reason)).or_insert(0) += 1;
    }
    text.push_str("\n## Set aside\n\n");
    if counts.is_empty() {
        text.push_str("No kernel.\n");
        return;
    }
    text.push_str("| set | reason | kernels |\n|---|---|---|\n");
    for ((set, reason), count) in counts {
        let _ = writeln!(text, "| {set} | {} | {count} |", cell(reason));
    }
}

fn differences(record: &Record, text: &mut String) {
    text.push_str("\n## Differences\n\n");
    if record.mismatches.is_empty() {
        text.push_str("None.\n");
        return;
    }
    text.push_str("| kernel | level | against | place | expected | GPU | elements | cause |\n");
    text.push_str("|---|---|---|---|---|---|---|---|\n");
    record.unexplained().for_each(|mismatch| row(mismatch, text));
    let mut by_cause: BTreeMap<&str, Vec<&Mismatch>> = BTreeMap::new();
    for mismatch in record.mismatches.iter().filter(|mismatch| mismatch.is_explained) {
        by_cause.entry(&mismatch.cause).or_default().push(mismatch);
    }
    for mismatches in by_cause.values() {
        mismatches.iter().take(LISTED_MAX).for_each(|mismatch| row(mismatch, text));
    }
    text.push('\n');
    for (cause, mismatches) in by_cause {
        let count = mismatches.len();
        let more = count.saturating_sub(LISTED_MAX);
        let _ = writeln!(text, "- {count} explained by: {cause} ({more} of them not listed)");
    }
}

fn row(mismatch: &Mismatch, text: &mut String) {
    let Mismatch { kernel, level, against, place, expected, actual, count, cause, .. } = mismatch;
    let against = if *against == Against::Emulator { "emulator" } else { "before" };
    let cells = [kernel, level, against, place, expected, actual, &count.to_string(), cause].map(cell);
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

/// Text inside a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
