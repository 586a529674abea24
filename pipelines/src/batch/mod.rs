//! Batches: many modules, each optimized on its own, into a folder of the same shape.
//!
//! # How it works
//! A [`Plan`] says which file becomes which, and refuses before anything runs if two would become one or an
//! input would be written over. Then one loop runs on each worker thread: it takes the next module from a
//! shared cursor, the largest first so that no large one is left for the end, reads, optimizes, writes and
//! reports it. Reports go back by index, so their order is that of the inputs on any number of threads.
//!
//! # Why loops, and not a parallel iterator over the modules
//! Optimizing a module spreads over the same threads. A thread that waits inside a module would take another
//! whole module from a parallel iterator, then another inside that: modules pile up on its stack and in
//! memory. With one loop a thread, all that is there to take are pieces of modules already begun.
//!
//! # Interruption
//! A flag stops the loops between modules. A module that has begun is finished, and files are written whole
//! or not at all, so the folder holds only complete outputs and the batch can be run again.

mod plan;

pub use plan::{Job, Plan, PlanError, plan};

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use crate::files;
use crate::options::Options;
use crate::report::ModuleReport;

/// What the name of a dump ends in; what stands before it is the name of the module's output.
pub const DUMP_SUFFIX: &str = ".dump";

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

/// Runs a plan. Diagnostics and remarks go to standard error as they come. Gives a report for each job, in
/// the order of the plan; `None` for those that were not begun before the interruption.
pub fn run(
    plan: &Plan,
    options: &Options,
    pool: &ThreadPool,
    interrupted: &AtomicBool,
) -> Vec<Option<ModuleReport>> {
    let progress = Progress::of(plan);
    let slots: Vec<OnceLock<ModuleReport>> = plan.jobs.iter().map(|_| OnceLock::new()).collect();
    let order = plan.largest_first();
    let cursor = AtomicUsize::new(0);
    pool.broadcast(|_| {
        while !interrupted.load(Ordering::Relaxed) {
            let Some(&index) = order.get(cursor.fetch_add(1, Ordering::Relaxed)) else { break };
            let job = &plan.jobs[index];
            let report = run_job(job, options, &progress.bar);
            slots[index].set(report).expect("the cursor gives each job once");
            progress.advance(job);
        }
    });
    progress.bar.finish_and_clear();
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

/// One module, from file to file.
fn run_job(job: &Job, options: &Options, bar: &ProgressBar) -> ModuleReport {
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| try_job(job, options, bar)));
    let outcome = outcome.unwrap_or_else(|cause| {
        let text = cause.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| cause.downcast_ref::<String>().cloned());
        Err(Failure::Internal { message: text.unwrap_or_default() })
    });
    let input = job.input.display().to_string();
    match outcome {
        Ok(report) => ModuleReport { input, ..report },
        Err(failure) => {
            let (rendered, summary, bytes_in) = describe(failure, &input);
            bar.suspend(|| eprintln!("{}", rendered.trim_end()));
            ModuleReport::failed(input, bytes_in, summary)
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

fn try_job(job: &Job, options: &Options, bar: &ProgressBar) -> Result<ModuleReport, Failure> {
    let text = fs::read(&job.input).map_err(|error| Failure::io("read", error, 0))?;
    let bytes_in = text.len() as u64;
    let name = job.input.display().to_string();
    let output = crate::optimize(&text, options).map_err(|diagnostics| Failure::Module {
        rendered: diagnostics.render(&name, &text, wants_color()),
        summary: diagnostics.summary(&name, &text),
        bytes_in,
    })?;
    let no_write = |error| Failure::io("write the output of", error, bytes_in);
    if let Some(folder) = job.output.parent() {
        fs::create_dir_all(folder).map_err(no_write)?;
    }
    files::write(&job.output, &output.text).map_err(no_write)?;
    if !output.dumps.is_empty() {
        let mut dump = job.output.clone().into_os_string();
        dump.push(DUMP_SUFFIX);
        files::write(Path::new(&dump), &output.dumps).map_err(no_write)?;
    }
    if options.remarks && !output.remarks.is_empty() {
        bar.suspend(|| {
            let mut stderr = io::stderr().lock();
            for remark in &output.remarks {
                // Nobody is left to tell when standard error is closed.
                let _ = writeln!(stderr, "{name}: {remark}");
            }
        });
    }
    Ok(output.report)
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
