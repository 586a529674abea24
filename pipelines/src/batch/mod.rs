//! Batches: many modules, each optimized on its own, into a folder of the same shape.
//!
//! # How it works
//! A [`Plan`] says which file becomes which, and refuses before anything runs if two would become one or an
//! input would be written over. Then one loop runs on each worker thread: it takes the next module from a
//! shared cursor, the largest first so that no large one is left for the end, reads, optimizes, writes and
//! reports it. Reports go back by index, so their order is that of the inputs on any number of threads.
//!
//! Small modules are taken several at a time: on its own, one of fifty instructions costs twice what its instructions do.
//!
//! # Why loops, and not a parallel iterator over the modules
//! Optimizing a module spreads over the same threads. A thread that waits inside a module would take another
//! whole module from a parallel iterator, then another inside that: modules pile up on its stack and in
//! memory. With one loop a thread, all that is there to take are pieces of modules already begun.
//!
//! # Messages
//! Diagnostics and remarks of a module wait until those of all modules before it, in the order of the inputs, are
//! printed: what a batch says is the same on any number of threads.
//!
//! # Interruption
//! A flag stops the loops between modules. A module that has begun, with the small ones beside it, is finished, and files are written whole
//! or not at all, so the folder holds only complete outputs and the batch can be run again.

mod plan;

pub use plan::{Job, Plan, PlanError, plan};

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ptxopt_engine::diagnostics::Diagnostics;
use ptxopt_engine::run::batches::BATCH_INSTS;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use crate::files;
use crate::optimize::{Optimizer, Output};
use crate::options::Options;
use crate::registers;
use crate::remarks;
use crate::report::ModuleReport;

/// Bytes of modules that are taken at a time: a good part of what fills a batch of instructions.
const GROUP_BYTES_MAX: u64 = 128 << 10;

/// Why a module failed.
enum Failure {
    /// It could not be read, or its output not be written.
    Io { doing: &'static str, error: io::Error, bytes_in: u64 },
    /// It is no PTX: the diagnostic in full and in one line.
    Module { rendered: String, summary: String, bytes_in: u64 },
    /// The optimizer failed.
    Internal { message: String },
}

impl Failure {
    fn io(doing: &'static str, error: io::Error, bytes_in: u64) -> Failure {
        Failure::Io { doing, error, bytes_in }
    }
}

/// A pool of worker threads; 0 stands for one a core.
pub fn pool(threads: usize) -> Result<ThreadPool, ThreadPoolBuildError> {
    ThreadPoolBuilder::new().num_threads(threads).thread_name(|index| format!("worker {index}")).build()
}

/// Optimizes one module, in a pool of threads where it may have more than one batch: threads that have nothing to do cost a sixth of
/// what the process takes for a small kernel.
///
/// # Errors
/// A pool that cannot be started. Inside, what is wrong with the text.
pub fn optimize_alone(
    text: &[u8],
    options: &Options,
) -> Result<Result<Output, Diagnostics>, ThreadPoolBuildError> {
    let insts_max = text.iter().filter(|&&byte| byte == b';').count();
    if insts_max <= BATCH_INSTS {
        return Ok(crate::optimize(text, options));
    }
    Ok(pool(options.threads)?.install(|| crate::optimize(text, options)))
}

/// What becomes of the remarks that the options ask for, and what else a report holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// They are printed on standard error.
    pub prints: bool,
    /// They come back with each module.
    pub keeps: bool,
    /// Registers of the kernels come back with each report.
    pub registers: bool,
}

/// What one module came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What was done.
    pub report: ModuleReport,
    /// Its remarks where they are kept, one JSON object a line.
    pub remarks: Vec<u8>,
}

/// Runs a plan. Diagnostics go to standard error in the order of the plan, and remarks where they are to be printed. Gives
/// an outcome for each job, in that order; `None` for those that were not begun before the interruption.
pub fn run(
    plan: &Plan,
    options: &Options,
    wishes: Wishes,
    pool: &ThreadPool,
    interrupted: &AtomicBool,
) -> Vec<Option<Outcome>> {
    let progress = Progress::of(plan);
    let slots: Vec<OnceLock<Outcome>> = plan.jobs.iter().map(|_| OnceLock::new()).collect();
    let messages = Messages::default();
    let optimizer = Optimizer::new(options);
    let order = plan.largest_first();
    let group_bytes = if optimizer.takes_modules_together() { GROUP_BYTES_MAX } else { 0 };
    let groups = plan.groups(&order, group_bytes, pool.current_num_threads());
    let cursor = AtomicUsize::new(0);
    pool.broadcast(|_| {
        while !interrupted.load(Ordering::Relaxed) {
            let Some(&group) = groups.get(cursor.fetch_add(1, Ordering::Relaxed)) else { break };
            let jobs: Vec<&Job> = group.iter().map(|&index| &plan.jobs[index]).collect();
            for (&index, (outcome, text)) in group.iter().zip(run_jobs(&jobs, &optimizer, wishes)) {
                messages.add(index, text, &progress.bar);
                slots[index].set(outcome).expect("the cursor gives each job once");
                progress.advance(&plan.jobs[index]);
            }
        }
    });
    progress.bar.finish_and_clear();
    messages.print_rest();
    slots.into_iter().map(OnceLock::into_inner).collect()
}

/// How far a batch is, shown on a terminal only.
struct Progress {
    /// Counts bytes: the largest modules go first, so a count of modules would promise an end far too late.
    bar: ProgressBar,
    module_count: usize,
    modules_done: AtomicUsize,
}

impl Progress {
    fn of(plan: &Plan) -> Progress {
        let target = if io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bytes = plan.jobs.iter().map(|job| job.size).sum();
        let bar = ProgressBar::with_draw_target(Some(bytes), target).with_style(
            ProgressStyle::with_template(
                "{elapsed_precise} {wide_bar} {msg}, {decimal_bytes_per_sec}, {eta} left",
            )
            .expect("the template is well formed"),
        );
        Progress { bar, module_count: plan.jobs.len(), modules_done: AtomicUsize::new(0) }
    }

    fn advance(&self, job: &Job) {
        let done = self.modules_done.fetch_add(1, Ordering::Relaxed) + 1;
        if !self.bar.is_hidden() {
            self.bar.set_message(format!("{done} of {} modules", self.module_count));
        }
        self.bar.inc(job.size);
    }
}

/// What the modules have to say, on its way to standard error.
#[derive(Default)]
struct Messages(Mutex<Pending>);

#[derive(Default)]
struct Pending {
    /// The job whose messages are printed next.
    next: usize,
    /// Those of later jobs.
    waiting: BTreeMap<usize, String>,
}

impl Messages {
    /// Takes what job number `index` says, which may be nothing, and prints what is due.
    fn add(&self, index: usize, text: String, bar: &ProgressBar) {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Pending { next, waiting } = &mut *pending;
        waiting.insert(index, text);
        while let Some(text) = waiting.remove(next) {
            *next += 1;
            if !text.is_empty() {
                bar.suspend(|| print(&text));
            }
        }
    }

    /// Prints what waits for jobs that were never begun.
    fn print_rest(self) {
        let pending = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        pending.waiting.values().for_each(|text| print(text));
    }
}

fn print(text: &str) {
    // Nobody is left to tell when standard error is closed.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Modules from file to file: of each what it came to, and what is to be said.
fn run_jobs(jobs: &[&Job], optimizer: &Optimizer<'_>, wishes: Wishes) -> Vec<(Outcome, String)> {
    let each_alone = || {
        let alone = |job: &&Job| report_on(job, || try_job(job, optimizer, wishes));
        jobs.iter().map(alone).collect()
    };
    if jobs.len() == 1 {
        return each_alone();
    }
    let texts: Vec<Result<Vec<u8>, Failure>> = jobs.iter().map(|job| read(job)).collect();
    let inputs: Vec<&[u8]> = texts.iter().flatten().map(Vec::as_slice).collect();
    let together = panic::catch_unwind(AssertUnwindSafe(|| optimizer.optimize_together(&inputs)));
    let Ok(results) = together else { return each_alone() };
    let mut results = results.into_iter();
    let mut finish_next = |(job, text): (&&Job, Result<Vec<u8>, Failure>)| {
        let read = text.map(|text| (text, results.next().expect("each text has a result")));
        report_on(job, || read.and_then(|(text, result)| finish(job, &text, result, wishes)))
    };
    jobs.iter().zip(texts).map(&mut finish_next).collect()
}

/// What one module comes to, and what is to be said.
fn report_on(job: &Job, run: impl FnOnce() -> Result<(Outcome, String), Failure>) -> (Outcome, String) {
    let outcome = panic::catch_unwind(AssertUnwindSafe(run));
    let outcome = outcome.unwrap_or_else(|cause| {
        let text = cause.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| cause.downcast_ref::<String>().cloned());
        Err(Failure::Internal { message: text.unwrap_or_default() })
    });
    let input = job.input.display().to_string();
    match outcome {
        Ok((Outcome { report, remarks }, messages)) => {
            (Outcome { report: ModuleReport { input, ..report }, remarks }, messages)
        }
        Err(failure) => {
            let (rendered, summary, bytes_in) = describe(failure, &input);
            let report = ModuleReport::failed(input, bytes_in, summary);
            (Outcome { report, remarks: Vec::new() }, format!("{}\n", rendered.trim_end()))
        }
    }
}

/// A failure in full, in one line, and how many bytes had been read.
fn describe(failure: Failure, input: &str) -> (String, String, u64) {
    match failure {
        Failure::Io { doing, error, bytes_in } => {
            let summary = format!("{input}: cannot {doing} it: {error}");
            (format!("error: {summary}"), summary, bytes_in)
        }
        Failure::Module { rendered, summary, bytes_in } => (rendered, summary, bytes_in),
        Failure::Internal { message } => {
            let summary = format!("{input}: internal error: {message}");
            (format!("error: {summary}"), summary, 0)
        }
    }
}

/// What a module comes to, and what is to be said of it: warnings, then remarks.
fn try_job(job: &Job, optimizer: &Optimizer<'_>, wishes: Wishes) -> Result<(Outcome, String), Failure> {
    let text = read(job)?;
    let result = optimizer.optimize(&text);
    finish(job, &text, result, wishes)
}

/// Writes what a module comes to; gives its outcome, and what is to be said.
fn finish(
    job: &Job,
    text: &[u8],
    result: Result<Output, Diagnostics>,
    wishes: Wishes,
) -> Result<(Outcome, String), Failure> {
    let bytes_in = text.len() as u64;
    let output = result.map_err(|diagnostics| {
        let name = job.input.display().to_string();
        Failure::Module {
            rendered: diagnostics.render(&name, text, wants_color()),
            summary: diagnostics.summary(&name, text),
            bytes_in,
        }
    })?;
    let no_write = |error| Failure::io("write the output of", error, bytes_in);
    files::write(&job.output, &output.text).map_err(no_write)?;
    if !output.dumps.is_empty() {
        files::write(&job.dump(), &output.dumps).map_err(no_write)?;
    }
    let mut messages = String::new();
    let input = job.input.display().to_string();
    for word in &output.report.unknown_words {
        let _ = writeln!(messages, "warning: {}", word.warning(&input));
    }
    if wishes.prints {
        for remark in &output.remarks {
            let _ = writeln!(messages, "{input}: {remark}");
        }
    }
    let remarks = if wishes.keeps { remarks::lines_of(&input, output.remarks) } else { Vec::new() };
    let mut report = output.report;
    if wishes.registers {
        // What was written can be read again; if not, a report without a forecast is better than none.
        report.kernels = registers::registers(&output.text, None).unwrap_or_default();
    }
    Ok((Outcome { report, remarks }, messages))
}

/// Reads a module. Its size is known from the plan, so it is not asked for again; that is a guess only, since
/// the file may have changed, or be a pipe.
fn read(job: &Job) -> Result<Vec<u8>, Failure> {
    let try_read = || -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        // One more byte, so that the end is found without growing.
        text.try_reserve(job.size as usize + 1)?;
        // A file asks the system for its size and place, what is taken from it does not.
        File::open(&job.input)?.take(u64::MAX).read_to_end(&mut text)?;
        Ok(text)
    };
    try_read().map_err(|error| Failure::io("read", error, 0))
}

/// Whether diagnostics are coloured: on a terminal, unless the user asked for no colours anywhere.
pub fn wants_color() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Writes reports as one JSON object a line.
pub fn write_reports<'a>(path: &Path, reports: impl IntoIterator<Item = &'a ModuleReport>) -> io::Result<()> {
    let mut lines = Vec::new();
    for report in reports {
        serde_json::to_writer(&mut lines, report)?;
        lines.push(b'\n');
    }
    files::write(path, &lines)
}
