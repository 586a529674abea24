//! The facade: a module's text in, the text of an equivalent module out.
//!
//! A module is scanned, its functions are cut into batches, and each batch goes through a shard, on as many threads
//! as the current thread pool has. Results are put back by position, so the output never depends on the threads.
//!
//! Small modules that come together ([`Optimizer::optimize_together`]) share batches. Each comes out as it would alone: where
//! anything goes wrong in a batch of several modules, each runs again by itself.
//!
//! # When a phase fails
//! It is undone for the function on which it failed, and the pipeline goes on from there. What a verifier finds, and growth
//! beyond the allowance, is undone in the shard. A panic or the time limit costs the batch its shard: its functions run again
//! one by one, the guilty one without the phase that failed. A function on which several phases fail is passed through
//! unchanged.

use crate::options::{Limits, Options};
use crate::remarks::{Remark, RemarkKind, RemarkPhase, RemarkPlace};
use crate::report::{FunctionLeft, ModuleReport, PhaseTime, PhaseUndone, Status, UnknownWord};
use crate::standard::{self, ORDER};
use crate::table::PASSES;
use ptxopt_engine::diagnostics::{Diagnostic, Diagnostics, word_at};
use ptxopt_engine::ptx::scan::{FunctionText, Module, Part};
use ptxopt_engine::ptx::writer::assemble;
use ptxopt_engine::run::batches::{BATCH_INSTS, cut};
use ptxopt_engine::run::guard::TIME_LIMIT;
use ptxopt_engine::run::log::{self, StepStats};
use ptxopt_engine::run::phase::{Phase, Plan, Step};
use ptxopt_engine::run::shard::{BatchError, BatchOutput, FunctionOutput, Shard};
use rayon::prelude::*;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Shards kept for the next call.
const SHARDS_KEPT_MAX: usize = 64;

/// Rows of a shard that is still kept. What a larger function has blown up is given back.
const SHARD_ROWS_KEPT_MAX: usize = 1 << 20;

/// What comes out of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The module's text.
    pub text: Vec<u8>,
    /// What was done.
    pub report: ModuleReport,
    /// Remarks, if the options ask for them, each without the name of its module.
    pub remarks: Vec<Remark>,
    /// Dumps, if the options ask for them.
    pub dumps: Vec<u8>,
}

/// Optimizes a module.
///
/// Runs on the current rayon thread pool where the module has more than one batch.
///
/// # Errors
/// What is wrong with the text, when no assembler would take it.
pub fn optimize(input: &[u8], options: &Options) -> Result<Output, Diagnostics> {
    Optimizer::new(options).optimize(input)
}

/// Options with what follows from them, for many modules: of a small module, working that out anew would take a good
/// part of the time.
pub struct Optimizer<'a> {
    options: &'a Options,
    pipelines: Arc<Pipelines>,
}

/// For modules without debug sections that name registers, and for those with them; made when the first one comes.
type Pipelines = [OnceLock<Pipeline>; 2];

/// What the last optimizer was made with: a caller who optimizes one kernel after the other makes one for each.
static RECENT: Mutex<Option<(Options, Arc<Pipelines>)>> = Mutex::new(None);

/// A plan, and what a shard must have been made for to serve it.
struct Pipeline {
    plan: Plan,
    key: Option<u64>,
}

impl<'a> Optimizer<'a> {
    /// An optimizer with these options.
    #[must_use]
    pub fn new(options: &'a Options) -> Self {
        let mut recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, pipelines)) = &*recent
            && known == options
        {
            return Self { options, pipelines: Arc::clone(pipelines) };
        }
        let pipelines = Arc::new([const { OnceLock::new() }; 2]);
        *recent = Some((options.clone(), Arc::clone(&pipelines)));
        Self { options, pipelines }
    }

    /// Optimizes a module, as [`optimize`] does.
    ///
    /// # Errors
    /// What is wrong with the text, when no assembler would take it.
    pub fn optimize(&self, input: &[u8]) -> Result<Output, Diagnostics> {
        self.run(&Module::scan(input)?)
    }

    /// Optimizes modules, each as [`optimize`] does. Small ones share batches, so that many of them cost what a large one of
    /// their size costs.
    ///
    /// # Errors
    /// For each module, what is wrong with its text.
    pub fn optimize_together(&self, inputs: &[&[u8]]) -> Vec<Result<Output, Diagnostics>> {
        let modules: Vec<Result<Module<'_>, Diagnostic>> =
            inputs.iter().map(|input| Module::scan(input)).collect();
        let mut results: Vec<Option<Result<Output, Diagnostics>>> = inputs.iter().map(|_| None).collect();
        for is_debug in [false, true] {
            let pipeline = self.pipeline(is_debug);
            if !pipeline.plan.takes_modules_together() {
                continue;
            }
            let small: Vec<(usize, &Module<'_>)> = modules
                .iter()
                .enumerate()
                .filter_map(|(at, module)| Some((at, module.as_ref().ok()?)))
                .filter(|(_, module)| module.is_debug == is_debug && inst_count_max(module) < BATCH_INSTS)
                .collect();
            for batch in cut_modules(&small) {
                for ((at, _), output) in batch.iter().zip(run_together(batch, pipeline)) {
                    results[*at] = Some(Ok(output));
                }
            }
        }
        let alone = |(module, result): (Result<Module<'_>, Diagnostic>, Option<_>)| {
            result.unwrap_or_else(|| self.run(&module?))
        };
        modules.into_iter().zip(results).map(alone).collect()
    }

    /// Whether small modules gain anything from being optimized together.
    #[must_use]
    pub fn takes_modules_together(&self) -> bool {
        self.pipeline(false).plan.takes_modules_together()
    }

    fn pipeline(&self, is_debug: bool) -> &Pipeline {
        self.pipelines[usize::from(is_debug)].get_or_init(|| Pipeline {
            plan: standard::plan(self.options, is_debug),
            key: pool_key(self.options, is_debug),
        })
    }

    fn run(&self, module: &Module<'_>) -> Result<Output, Diagnostics> {
        let Pipeline { plan, key } = self.pipeline(module.is_debug);
        let mut output = run(module, plan, *key)?;
        if self.options.remarks && module.is_debug && !self.options.force_debug {
            let remark = "debug module: layout only, because its debug sections name registers";
            output.remarks.insert(0, Remark::of_no_phase(None, remark.to_owned()));
        }
        Ok(output)
    }
}

/// Instructions that a module has at most.
fn inst_count_max(module: &Module<'_>) -> usize {
    module.functions.iter().map(|function| function.inst_count_max).sum()
}

/// Cuts modules into batches as [`cut`] does functions. What would be alone is left out.
fn cut_modules<'s, 'm>(modules: &'s [(usize, &'m Module<'m>)]) -> Vec<&'s [(usize, &'m Module<'m>)]> {
    let (mut batches, mut first, mut insts) = (Vec::new(), 0, 0);
    for (at, (_, module)) in modules.iter().enumerate() {
        let count = inst_count_max(module);
        if insts + count > BATCH_INSTS {
            batches.push(&modules[first..at]);
            (first, insts) = (at, 0);
        }
        insts += count;
    }
    batches.push(&modules[first..]);
    batches.retain(|batch| batch.len() > 1);
    batches
}

/// Optimizes modules in one batch. Gives nothing where anything is wrong with one of them.
fn run_together(modules: &[(usize, &Module<'_>)], Pipeline { plan, key }: &Pipeline) -> Vec<Output> {
    let parts: Vec<Part<'_>> =
        modules.iter().map(|&(_, module)| Part { module, functions: &module.functions }).collect();
    let mut shard = SHARDS.take(*key).unwrap_or_else(|| Shard::new(plan));
    let result = shard.run_parts(&parts);
    // What failed has left the shard in pieces.
    if !matches!(result, Err(BatchError::Failed { .. })) {
        SHARDS.give_back(*key, shard);
    }
    let together = result.unwrap_or_default().into_iter().zip(modules);
    together
        .map(|(mut output, (_, module))| {
            leave_grown(module, &module.functions, plan, &mut output);
            join(module, plan, vec![output])
        })
        .collect()
}

/// Optimizes a module with a plan of the caller's own: the standard one with steps added or taken away.
///
/// # Errors
/// What is wrong with the text.
///
/// # Panics
/// When the plan is invalid, see [`Plan::check`].
pub fn optimize_with_plan(input: &[u8], plan: &Plan) -> Result<Output, Diagnostics> {
    plan.check(ORDER).unwrap_or_else(|error| panic!("{error}"));
    run(&Module::scan(input)?, plan, None)
}

/// What a shard must have been made for to serve again; none where its state is this run's own.
fn pool_key(options: &Options, is_debug: bool) -> Option<u64> {
    let is_plain = options.bisect.is_none() && !options.remarks && !options.dumps();
    is_plain.then(|| options.fingerprint() ^ u64::from(is_debug))
}

fn run(module: &Module<'_>, plan: &Plan, key: Option<u64>) -> Result<Output, Diagnostics> {
    let batches = cut(&module.functions);
    let results: Vec<Result<BatchOutput, Diagnostic>> = if plan.fuel.is_some() {
        // One count of changes over the whole module, in its order.
        let mut fuel = plan.fuel;
        batches.iter().map(|functions| run_batch(module, functions, plan, None, &mut fuel)).collect()
    } else if batches.len() > 1 {
        batches.par_iter().map(|functions| run_batch(module, functions, plan, key, &mut None)).collect()
    } else {
        batches.iter().map(|functions| run_batch(module, functions, plan, key, &mut None)).collect()
    };
    let mut outputs = Vec::with_capacity(results.len());
    for result in results {
        outputs.push(result?);
    }
    Ok(join(module, plan, outputs))
}

/// Phases that are left out for one function because they failed on it, before the function is passed through unchanged.
const FAILURES_MAX: usize = 4;

/// Times that one function may run into the time limit: each run takes as long.
const TIMEOUTS_MAX: usize = 1;

/// Runs a batch; where a phase fails, its functions one by one.
fn run_batch(
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
    let mut shard = SHARDS.take(key).unwrap_or_else(|| match fuel {
        Some(_) => Shard::new(&Plan { fuel: *fuel, ..plan.clone() }),
        None => Shard::new(plan),
    });
    let result = shard.run(module, functions);
    if let (Ok(_), Some(fuel)) = (&result, fuel) {
        *fuel -= shard.fuel_taken();
    }
    // What failed has left the shard in pieces.
    if !matches!(result, Err(BatchError::Failed { .. })) {
        SHARDS.give_back(key, shard);
    }
    result.map(|mut output| {
        leave_grown(module, functions, plan, &mut output);
        output
    })
}

/// Runs one function without the phases that fail on it. Each is named; where there are too many, the function is passed
/// through unchanged.
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

/// Takes functions back that came out larger than the growth limit allows. Passes that were asked for add blocks.
fn leave_grown(module: &Module<'_>, functions: &[FunctionText], plan: &Plan, output: &mut BatchOutput) {
    let is_pass = |step: &Step| PASSES.iter().any(|row| u16::from(row.number.0) == step.number);
    let of_passes = if plan.steps.iter().any(is_pass) { u64::from(Limits::GROWTH_OF_PASSES) } else { 0 };
    let growth_percent = plan.limits.growth_percent.max(of_passes);
    for (function, out) in functions.iter().zip(&mut output.functions) {
        let allowed = out.insts_in as u64 * growth_percent;
        if out.left.is_none() && out.insts_out as u64 * 100 > allowed {
            let first = output.text.len();
            let source = &module.text[function.header.first as usize..function.body.end()];
            output.text.extend_from_slice(source);
            out.text = first..output.text.len();
            (out.insts_out, out.blocks_out) = (out.insts_in, out.blocks_in);
            out.left = Some("grew".to_owned());
        }
    }
}

fn append(whole: &mut BatchOutput, part: BatchOutput) {
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
fn join(module: &Module<'_>, plan: &Plan, outputs: Vec<BatchOutput>) -> Output {
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
            report.instructions_in += function.insts_in as u64;
            report.instructions_out += function.insts_out as u64;
            report.blocks_in += function.blocks_in as u64;
            report.blocks_out += function.blocks_out as u64;
            if let Some(fingerprint) = function.fingerprint
                && plan.remarks
            {
                let reason = format!("fingerprint {fingerprint:016x}");
                output.remarks.push(Remark::of_no_phase(Some(name_of(module, text)), reason));
            }
            for (step, reason) in &function.undone {
                report.undone.push(PhaseUndone {
                    function: name_of(module, text),
                    phase: plan.steps[*step].name.to_owned(),
                    reason: reason.clone(),
                });
            }
            if let Some(reason) = &function.left {
                report.left.push(FunctionLeft { name: name_of(module, text), reason: reason.clone() });
            }
        }
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

/// Shards that wait for the next batch, by what they were made for; the one that has waited longest comes first, and goes
/// first where there are too many.
struct ShardPool(Mutex<Vec<(u64, Shard)>>);

static SHARDS: ShardPool = ShardPool(Mutex::new(Vec::new()));

impl ShardPool {
    fn take(&self, key: Option<u64>) -> Option<Shard> {
        let mut shards = self.0.lock().ok()?;
        let at = shards.iter().rposition(|&(made_for, _)| Some(made_for) == key)?;
        Some(shards.remove(at).1)
    }

    fn give_back(&self, key: Option<u64>, mut shard: Shard) {
        if let Some(key) = key
            && shard.pool_rows() <= SHARD_ROWS_KEPT_MAX
            && let Ok(mut shards) = self.0.lock()
        {
            if shards.len() >= SHARDS_KEPT_MAX {
                shards.remove(0);
            }
            shards.push((key, shard));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::OptLevel;
    use crate::standard;
    use ptxopt_engine::run::phase::{Phase, Step};

    static FAILS: Phase =
        Phase { name: "fails", install: |slot| slot.add(|| panic!("row 7 is lost")), ..Phase::NOTHING };

    const TEXT: &[u8] = b".version 8.0\n.target sm_80\n.entry k() { ret; }\n.entry l() { ret; }\n";

    /// Whether a shard waits after a run of a plan that starts with `phase`; no other run has the key.
    fn waits(phase: Option<&'static Phase>, key: u64) -> bool {
        let mut plan = standard::plan(&Options { level: OptLevel::O1, ..Options::default() }, false);
        let own = |phase| Step { number: 0, name: "own", phase, dump: false, verified: false };
        plan.steps.splice(0..0, phase.map(own));
        let module = Module::scan(TEXT).expect("the module is valid");
        let output = run(&module, &plan, Some(key)).expect("the module is valid");
        assert_eq!(output.report.undone.len(), if phase.is_some() { 2 } else { 0 });
        SHARDS.take(Some(key)).is_some()
    }

    /// What was used last is kept, however many other options came before.
    #[test]
    fn the_shard_that_waits_longest_goes_first() {
        let pool = ShardPool(Mutex::new(Vec::new()));
        let plan = Plan { steps: Vec::new(), ..standard::plan(&Options::default(), false) };
        let give = |key| pool.give_back(Some(key), Shard::new(&plan));
        let waiting = || pool.0.lock().unwrap().iter().map(|&(key, _)| key).collect::<Vec<u64>>();
        let most = SHARDS_KEPT_MAX as u64;
        (0..most).for_each(give);
        let again = pool.take(Some(1)).expect("it waits");
        pool.give_back(Some(1), again);
        assert_eq!(waiting(), std::iter::once(0).chain(2..most).chain([1]).collect::<Vec<_>>());
        give(most);
        assert_eq!(waiting(), (2..most).chain([1, most]).collect::<Vec<_>>());
        assert!(pool.take(Some(0)).is_none() && pool.take(None).is_none());
    }

    /// A module with a branch that phase 15 gives a new label, and a name that the next one has too.
    fn small(kernel: &str) -> Vec<u8> {
        let body = "{ .reg .pred %p<2>; .reg .b32 %r<3>; mov.u32 %r1, %tid.x; setp.eq.s32 %p1, %r1, 0; @%p1 bra L; \
                    bra M; L: bra N; M: add.s32 %r2, %r1, %r1; N: exit; }";
        format!(".version 8.0\n.target sm_90\n.entry {kernel}() {body}\n").into_bytes()
    }

    #[test]
    fn a_module_asks_once_that_no_loop_is_unrolled() {
        let options = Options { no_unroll: true, ..Options::default() };
        let heads = [
            (".version 8.0\n.target sm_80", ""),
            (".version 8.0\n.target sm_80, debug // debug\n.address_size 64", "\n"),
            (".version 8.0 .target sm_80 .address_size 64", " .pragma \"used_bytes_mask\";"),
        ];
        let line = "\n.pragma \"nounroll\";";
        let with = |text: &str, options: &Options| {
            let output = optimize(text.as_bytes(), options).expect("the module is valid");
            String::from_utf8(output.text).expect("PTX is ASCII")
        };
        for (head, rest) in heads {
            let plain = with(&format!("{head}{rest}\n.entry k() {{ ret; }}\n"), &Options::default());
            let once = with(&plain, &options);
            assert_eq!(once, plain.replacen(head, &format!("{head}{line}"), 1));
            assert_eq!(with(&once, &options), once, "once is enough");
        }
        let asks = format!(
            "{}{}, \"enable_smem_spilling\"{}\n.entry k()\n{{\n\tret;\n}}\n",
            heads[0].0,
            &line[..line.len() - 1],
            ";"
        );
        assert_eq!(with(&asks, &options), asks);
    }

    #[test]
    fn modules_together_come_out_as_they_do_alone() {
        let options = Options::default();
        let optimizer = Optimizer::new(&options);
        let texts =
            [small("k"), b".version 8.0\n.entry l() { mov }\n".to_vec(), small("k"), Vec::new(), small("m")];
        let inputs: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        let results = optimizer.optimize_together(&inputs);
        let alone = inputs.iter().map(|input| optimizer.optimize(input));
        for (result, alone) in results.iter().zip(alone) {
            let text = |result: &Result<Output, Diagnostics>| match result {
                Ok(output) => (output.text.clone(), counts(&output.report)),
                Err(diagnostics) => (diagnostics.to_string().into_bytes(), Vec::new()),
            };
            assert_eq!(text(result), text(&alone));
        }
        assert_eq!(results.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true, false, true]);
        // None is wrong now, so they do share a batch.
        let pipeline = optimizer.pipeline(false);
        let modules = [0, 2, 4].map(|at| Module::scan(inputs[at]).expect("the module is valid"));
        let numbered: Vec<(usize, &Module<'_>)> = modules.iter().enumerate().collect();
        let outputs = run_together(&numbered, pipeline);
        assert_eq!(outputs.len(), 3);
        for (output, at) in outputs.iter().zip([0, 2, 4]) {
            let alone = results[at].as_ref().expect("the module is valid");
            assert_eq!((&output.text, counts(&output.report)), (&alone.text, counts(&alone.report)));
            assert!(counts(&output.report).iter().any(|&count| count > 0));
        }
    }

    /// Changes, by phase.
    fn counts(report: &ModuleReport) -> Vec<u64> {
        report.phases.iter().map(|phase| phase.changes).collect()
    }

    #[test]
    fn where_a_phase_fails_each_module_runs_alone() {
        let own = Step { number: 0, name: "own", phase: &FAILS, dump: false, verified: false };
        let mut plan = standard::plan(&Options::default(), false);
        plan.steps.insert(0, own);
        let modules = [small("k"), small("l")];
        let modules = modules.each_ref().map(|text| Module::scan(text).expect("the module is valid"));
        let numbered: Vec<(usize, &Module<'_>)> = modules.iter().enumerate().collect();
        assert_eq!(run_together(&numbered, &Pipeline { plan, key: Some(3) }), []);
        assert!(SHARDS.take(Some(3)).is_none(), "the shard is thrown away");
    }

    #[test]
    fn a_shard_in_which_a_phase_failed_is_thrown_away() {
        assert!(waits(None, 1), "one that did its work is kept");
        assert!(!waits(Some(&FAILS), 2));
    }
}
