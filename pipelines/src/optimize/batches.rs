//! What runs a batch, and what becomes of functions on which a phase fails.
//!
//! A phase is undone for the function on which it failed, and the pipeline goes on from there. What a verifier finds, and growth
//! beyond the allowance, is undone in the shard. A panic or the time limit costs the batch its shard: its functions run again
//! one by one, the guilty one without the phase that failed. A function on which several phases fail is passed through
//! unchanged.

use super::join::append;
use super::pool::SHARDS;
use crate::options::Limits;
use crate::table::PASSES;
use ptxopt_components::ids::{CodeId, Id};
use ptxopt_engine::diagnostics::Diagnostic;
use ptxopt_engine::ptx::scan::{FunctionText, Module};
use ptxopt_engine::run::guard::TIME_LIMIT;
use ptxopt_engine::run::log::{Remark, RemarkKind, StepStats};
use ptxopt_engine::run::phase::{Phase, Plan, Step};
use ptxopt_engine::run::shard::{BatchError, BatchOutput, FunctionOutput, Shard};

/// Phases that are left out for one function because they failed on it, before the function is passed through unchanged.
const FAILURES_MAX: usize = 4;

/// Times that one function may run into the time limit: each run takes as long.
const TIMEOUTS_MAX: usize = 1;

/// Runs a batch; where a phase fails, its functions one by one.
pub(super) fn run_batch(
    module: &Module<'_>,
    functions: &[FunctionText],
    plan: &Plan,
    key: Option<u64>,
    fuel: &mut Option<u64>,
) -> Result<BatchOutput, Diagnostic> {
    match try_batch(module, functions, plan, key, fuel) {
        Ok(output) => Ok(output),
        Err(BatchError::Diagnostic(diagnostic)) => Err(diagnostic),
        Err(BatchError::Failed { step, reason }) if functions.len() == 1 => {
            run_without_failures(module, functions, plan, fuel, (step, reason))
        }
        Err(BatchError::Failed { .. }) => {
            let mut whole = BatchOutput::default();
            for function in functions {
                append(&mut whole, run_batch(module, std::slice::from_ref(function), plan, key, fuel)?);
            }
            Ok(whole)
        }
    }
}

fn try_batch(
    module: &Module<'_>,
    functions: &[FunctionText],
    plan: &Plan,
    key: Option<u64>,
    fuel: &mut Option<u64>,
) -> Result<BatchOutput, BatchError> {
    let left = *fuel;
    let make = || match left {
        Some(_) => Shard::new(&Plan { fuel: left, ..plan.clone() }),
        None => Shard::new(plan),
    };
    SHARDS.run(key, make, |shard| {
        let mut output = shard.run(module, functions)?;
        if let Some(fuel) = fuel {
            *fuel -= shard.fuel_taken();
        }
        // What the first half of a pair of changes made larger would hide that half from a bisection.
        if !shard.fuel_ran_out() {
            mend_grown(module, functions, plan, fuel, &mut output);
        }
        Ok(output)
    })
}

/// Runs one function without the phases that fail on it. Each is named; where there are too many, or one that is required, the
/// function is passed through unchanged.
fn run_without_failures(
    module: &Module<'_>,
    function: &[FunctionText],
    plan: &Plan,
    fuel: &mut Option<u64>,
    first: (usize, String),
) -> Result<BatchOutput, Diagnostic> {
    let mut plan = plan.clone();
    let mut failures = vec![first];
    while failures.len() <= FAILURES_MAX {
        let failed = failures.last().expect("it holds the first one").0;
        // What comes later relies on it: without phase 73, phis would be written.
        if plan.steps[failed].phase.required {
            break;
        }
        plan.steps[failed].phase = &Phase::NOTHING;
        match try_batch(module, function, &plan, None, fuel) {
            Ok(mut output) => {
                for (step, reason) in failures {
                    output.steps[step].undone += 1;
                    output.functions[0].undone.push((step, cause(reason)));
                }
                return Ok(output);
            }
            Err(BatchError::Diagnostic(diagnostic)) => return Err(diagnostic),
            // Without its phase the step still has facts, verifiers and limits that may fail.
            Err(BatchError::Failed { step, reason }) if step == failed => {
                return Ok(as_it_came_in(module, &function[0], &plan, reason));
            }
            Err(BatchError::Failed { step, reason }) => failures.push((step, reason)),
        }
        if failures.iter().filter(|(_, reason)| reason == TIME_LIMIT).count() > TIMEOUTS_MAX {
            break;
        }
    }
    let (_, reason) = failures.pop().expect("it holds the first one");
    Ok(as_it_came_in(module, &function[0], &plan, reason))
}

/// The text of a function on which a phase failed, with what a plain reading of it counts.
fn as_it_came_in(module: &Module<'_>, function: &FunctionText, plan: &Plan, reason: String) -> BatchOutput {
    let untouched = Plan { steps: Vec::new(), ..plan.clone() };
    let counted = Shard::new(&untouched).run(module, std::slice::from_ref(function));
    let counted = counted.unwrap_or_default();
    let counts = counted.functions.into_iter().next();
    let (insts, blocks) = counts.map_or((0, 0), |counts| (counts.insts_in, counts.blocks_in));
    let text = module.text[function.header.first as usize..function.body.end()].to_vec();
    BatchOutput {
        functions: vec![FunctionOutput {
            text: 0..text.len(),
            left: Some(cause(reason)),
            undone: Vec::new(),
            insts_in: insts,
            insts_out: insts,
            blocks_in: blocks,
            blocks_out: blocks,
            fingerprint: None,
        }],
        text,
        unknown_words: counted.unknown_words,
        steps: vec![StepStats::default(); plan.steps.len()],
        ..BatchOutput::default()
    }
}

/// Why a phase failed, in one line.
fn cause(reason: String) -> String {
    if reason == TIME_LIMIT { reason } else { format!("a phase failed: {}", reason.replace('\n', " ")) }
}

/// Runs functions again that came out larger than the growth limit allows, with the plan's careful settings. What does not come
/// out smaller then is taken back.
pub(super) fn mend_grown(
    module: &Module<'_>,
    functions: &[FunctionText],
    plan: &Plan,
    fuel: &mut Option<u64>,
    output: &mut BatchOutput,
) {
    if plan.keep_grown {
        return;
    }
    let growth_percent = growth_percent_max(plan);
    let has_grown = |out: &FunctionOutput| {
        out.left.is_none() && out.insts_out as u64 * 100 > out.insts_in as u64 * growth_percent
    };
    for (at, function) in functions.iter().enumerate() {
        if !has_grown(&output.functions[at]) {
            continue;
        }
        let careful = plan.settings.clone().and(&plan.careful);
        let mut shard = Shard::new(&Plan { settings: careful, fuel: *fuel, ..plan.clone() });
        if let Ok(again) = shard.run(module, std::slice::from_ref(function)) {
            if let Some(fuel) = fuel {
                *fuel -= shard.fuel_taken();
            }
            if plan.remarks {
                output.remarks.push(ran_again(plan, at, function));
            }
            // What the steps did and remarked is kept of both runs: each change counts for a bisection.
            append(output, again);
            let first = output.functions.swap_remove(at);
            output.functions[at].undone.splice(..0, first.undone);
        }
        let out = &output.functions[at];
        if out.left.is_none() && out.insts_out >= out.insts_in && !shard.fuel_ran_out() {
            let first = output.text.len();
            let source = &module.text[function.header.first as usize..function.body.end()];
            output.text.extend_from_slice(source);
            let out = &mut output.functions[at];
            out.text = first..output.text.len();
            (out.insts_out, out.blocks_out) = (out.insts_in, out.blocks_in);
            out.left = Some("grew".to_owned());
        }
    }
}

/// What a function may have in the end, in percent of what it came with. Passes that were asked for add blocks.
fn growth_percent_max(plan: &Plan) -> u64 {
    let is_pass = |step: &Step| PASSES.iter().any(|row| u16::from(row.number.0) == step.number);
    let of_passes = if plan.steps.iter().any(is_pass) { u64::from(Limits::GROWTH_OF_PASSES) } else { 0 };
    plan.limits.growth_percent.max(of_passes)
}

/// Says that a function ran again; no step says so.
fn ran_again(plan: &Plan, at: usize, function: &FunctionText) -> Remark {
    Remark {
        kind: RemarkKind::Analysis,
        step: plan.steps.len(),
        code: CodeId::new(at),
        offset: function.name.first,
        reason: "it came out larger, and ran again with copies read in their own blocks only".into(),
    }
}
