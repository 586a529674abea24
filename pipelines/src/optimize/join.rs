//! What batches put out becomes the text of a module, its report, and remarks in words.

use super::Output;
use crate::remarks::{Remark, RemarkKind, RemarkPhase, RemarkPlace};
use crate::report::{FunctionLeft, PhaseTime, PhaseUndone, Status, UnknownWord};
use ptxopt_engine::diagnostics::word_at;
use ptxopt_engine::ptx::scan::{FunctionText, Module};
use ptxopt_engine::ptx::writer::assemble;
use ptxopt_engine::run::log::{self, StepStats};
use ptxopt_engine::run::phase::{Plan, Step};
use ptxopt_engine::run::shard::{BatchOutput, FunctionOutput};
use std::collections::HashSet;

/// Adds the output of one batch to that of another.
pub(super) fn append(whole: &mut BatchOutput, part: BatchOutput) {
    let shift = whole.text.len();
    whole.text.extend_from_slice(&part.text);
    whole.functions.extend(part.functions.into_iter().map(|function| FunctionOutput {
        text: function.text.start + shift..function.text.end + shift,
        ..function
    }));
    add_steps(&mut whole.steps, &part.steps);
    whole.remarks.extend(part.remarks);
    whole.dumps.extend(part.dumps);
    whole.unknown_words.extend(part.unknown_words);
    whole.read += part.read;
    whole.phases += part.phases;
    whole.write += part.write;
}

fn add_steps(sum: &mut Vec<StepStats>, steps: &[StepStats]) {
    sum.resize(sum.len().max(steps.len()), StepStats::default());
    for (sum, step) in sum.iter_mut().zip(steps) {
        sum.ns += step.ns;
        sum.changes += step.changes;
        sum.facts_computed += step.facts_computed;
        sum.limits_hit += step.limits_hit;
        sum.undone += step.undone;
    }
}

/// Puts the module together and adds up its report.
pub(super) fn join(module: &Module<'_>, plan: &Plan, outputs: Vec<BatchOutput>) -> Output {
    let mut output = Output::default();
    let size: usize = outputs.iter().map(|batch| batch.text.len()).sum();
    output.text.reserve(size + module.text.len() / 4);
    let texts = outputs.iter().flat_map(|batch| batch.functions.iter().map(|f| &batch.text[f.text.clone()]));
    assemble(module, texts, plan.keep_rolled, &mut output.text);
    let report = &mut output.report;
    report.bytes_in = module.text.len() as u64;
    report.functions = module.functions.len() as u64;
    let mut steps = vec![StepStats::default(); plan.steps.len()];
    let mut functions = module.functions.iter();
    let wants_lines = plan.remarks || outputs.iter().any(|batch| !batch.unknown_words.is_empty());
    let line_starts = if wants_lines { line_starts(module.text) } else { Vec::new() };
    for batch in outputs {
        for (function, text) in batch.functions.iter().zip(functions.by_ref()) {
            add_function(&mut output, function, || name_of(module, text), plan);
        }
        let report = &mut output.report;
        report.unknown_words.extend(unknown_words(&batch.unknown_words, module, &line_starts));
        add_steps(&mut steps, &batch.steps);
        report.read_ns += batch.read.as_nanos() as u64;
        report.phases_ns += batch.phases.as_nanos() as u64;
        report.write_ns += batch.write.as_nanos() as u64;
        // Two phases of one name may find out the same, and rounds of one phase. A change is never left out: each counts
        // for `--bisect`.
        let mut known = HashSet::new();
        for remark in &batch.remarks {
            let remark = describe(remark, module, plan, &line_starts);
            if remark.kind == RemarkKind::Passed || known.insert(remark.to_string()) {
                output.remarks.push(remark);
            }
        }
        output.dumps.extend(batch.dumps);
    }
    let report = &mut output.report;
    report.functions_left = report.left.len() as u64;
    let is_whole = report.left.is_empty() && report.undone.is_empty();
    report.status = if is_whole { Status::Ok } else { Status::Partly };
    report.phases = plan
        .steps
        .iter()
        .zip(steps)
        .filter(|(step, _)| step.number < Step::OBSERVERS)
        .map(|(step, stats)| PhaseTime {
            number: step.number as u8,
            name: step.name.into(),
            ns: stats.ns,
            changes: stats.changes,
        })
        .collect();
    output
}

/// Adds what became of a function.
fn add_function(output: &mut Output, function: &FunctionOutput, name: impl Fn() -> String, plan: &Plan) {
    let report = &mut output.report;
    let is_selected = |wanted| function.fingerprint.is_none_or(|own| own == wanted);
    report.functions_selected += u64::from(plan.fingerprint.is_none_or(is_selected));
    report.instructions_in += function.insts_in as u64;
    report.instructions_out += function.insts_out as u64;
    report.blocks_in += function.blocks_in as u64;
    report.blocks_out += function.blocks_out as u64;
    let undone = function.undone.iter().map(|(step, reason)| PhaseUndone {
        function: name(),
        phase: plan.steps[*step].name.to_owned(),
        reason: reason.clone(),
    });
    report.undone.extend(undone);
    let left = function.left.iter().map(|reason| FunctionLeft { name: name(), reason: reason.clone() });
    report.left.extend(left);
    if let Some(fingerprint) = function.fingerprint.filter(|_| plan.remarks) {
        let reason = format!("fingerprint {fingerprint:016x}");
        output.remarks.push(Remark::of_no_phase(Some(name()), reason));
    }
}

fn name_of(module: &Module<'_>, function: &FunctionText) -> String {
    String::from_utf8_lossy(&module.text[function.name.range()]).into_owned()
}

/// Byte offset of each line.
fn line_starts(text: &[u8]) -> Vec<usize> {
    let after_breaks = text.iter().enumerate().filter(|&(_, &byte)| byte == b'\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(after_breaks).collect()
}

/// The words at these offsets, each once a function. Two that differ after the first dot are one word.
fn unknown_words(offsets: &[u32], module: &Module<'_>, line_starts: &[usize]) -> Vec<UnknownWord> {
    let mut known = HashSet::new();
    let mut words = Vec::new();
    for offset in offsets.iter().map(|&offset| offset as usize) {
        let word = word_at(module.text, offset);
        let (at, name) = function_at(module, offset);
        let root = word.split('.').next().unwrap_or_default().to_owned();
        if known.insert((at, root)) {
            let RemarkPlace { line, column } = place_of(offset, line_starts);
            words.push(UnknownWord { word, function: name, line, column });
        }
    }
    words
}

/// The function in which a byte of the module lies: its position, and its name.
fn function_at(module: &Module<'_>, offset: usize) -> (usize, String) {
    let at = module.functions.partition_point(|function| function.body.end() <= offset);
    let function = module.functions.get(at);
    (at, function.map_or_else(String::new, |function| name_of(module, function)))
}

/// Line and column of a byte of the module.
fn place_of(offset: usize, line_starts: &[usize]) -> RemarkPlace {
    let line = line_starts.partition_point(|&start| start <= offset);
    RemarkPlace { line: line as u64, column: (offset - line_starts[line - 1] + 1) as u64 }
}

/// A remark in words: place, function, phase, what was done or why not.
fn describe(remark: &log::Remark, module: &Module<'_>, plan: &Plan, line_starts: &[usize]) -> Remark {
    let offset = remark.offset as usize;
    let (_, function) = function_at(module, offset);
    let phase_of = |step: &Step| RemarkPhase { number: step.number, name: step.name.into() };
    Remark {
        module: String::new(),
        function: Some(function),
        phase: plan.steps.get(remark.step).map(phase_of),
        kind: match remark.kind {
            log::RemarkKind::Passed => RemarkKind::Passed,
            log::RemarkKind::Missed => RemarkKind::Missed,
            log::RemarkKind::Analysis => RemarkKind::Analysis,
        },
        place: Some(place_of(offset, line_starts)),
        reason: remark.reason.clone().into_owned(),
    }
}
