//! The `ptxopt` command.
//!
//! Exit status: 0, all is well; 1, a module failed; 2, the command line is wrong, or a batch was refused
//! before it began; 3, a launch does not fit its kernel; 130, interrupted.

mod analyze;
mod arguments;
mod check;
mod launch_file;
mod listing;
mod profile;
mod run;
mod statistics;

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result};
use clap::{CommandFactory, Parser};

use self::arguments::{Action, Arguments, BatchArguments, CheckArguments, Flags, OptArguments};
use crate::batch::Wishes;
use crate::files::STANDARD_STREAM;
use crate::options::Options;
use crate::remarks;
use crate::report::{ModuleReport, PhaseUndone, Status, Summary};
use crate::{Output, batch, files};

/// All is well.
const SUCCESS: u8 = 0;
/// A module failed.
const FAILED: u8 = 1;
/// The command line is wrong, or a batch was refused before it began.
const USAGE: u8 = 2;
/// A launch is wrong, or does not fit its kernel.
const MISFIT: u8 = 3;
/// What a shell reports for a program that an interrupt stopped: 128 and the number of the signal.
const INTERRUPTED: u8 = 130;

/// Runs the command with these arguments, the program's name first.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments::long_forms(arguments)) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help that was asked for comes this way, too, with a status of its own. Nobody is left to tell
            // when the stream is closed.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(USAGE));
        }
    };
    let options = match arguments.flags.options() {
        Ok(options) => Options { remarks: options.remarks || wants_remarks(&arguments), ..options },
        Err(error) => {
            complain("error", error);
            return ExitCode::from(USAGE);
        }
    };
    ExitCode::from(match run(&arguments, &options) {
        Ok(status) => status,
        Err(error) => {
            complain("error", format!("{error:#}"));
            FAILED
        }
    })
}

fn wants_remarks(arguments: &Arguments) -> bool {
    arguments.action.as_ref().is_some_and(|action| action.remarks().is_some())
}

fn run(arguments: &Arguments, options: &Options) -> Result<u8> {
    if arguments.version {
        return print(&version(arguments, options));
    }
    let Some(action) = &arguments.action else {
        // Nobody is left to tell when the stream is closed.
        let _ = write!(io::stderr(), "{}", Arguments::command().render_help());
        return Ok(USAGE);
    };
    if let Some(reason) = unheeded(action, &arguments.flags) {
        complain("error", reason);
        return Ok(USAGE);
    }
    for note in options.notes() {
        complain("note", note);
    }
    match action {
        Action::Opt(opt) => run_opt(opt, &arguments.flags, options),
        Action::Batch(batch) => run_batch(batch, &arguments.flags, options),
        Action::Run(run) => run::run(run, &arguments.flags, options),
        Action::Check(check) => check::run(check, options),
        Action::Analyze(arguments) => analyze::run(arguments, options),
        Action::Profile(arguments) => profile::run(arguments, options),
        Action::Phases => print(&listing::phases(options, terminal_width())),
        Action::Knobs => print(&listing::knobs(options, terminal_width())),
    }
}

/// Names an option that is given and of which the subcommand would take no notice.
fn unheeded(action: &Action, flags: &Flags) -> Option<String> {
    let given = flags.of_optimizer();
    let all_but = |heeded: &[&str]| given.iter().copied().find(|option| !heeded.contains(option));
    let stat = || given.iter().copied().find(|option| *option == "--stat");
    let (option, reason) = match action {
        Action::Opt(_) | Action::Batch(_) => return None,
        Action::Run(_) if flags.is_level_given() => return None,
        Action::Run(_) => (all_but(&[]), "`run` optimizes only with a level such as `-O2`"),
        Action::Check(CheckArguments { against: Some(_), .. }) => {
            (all_but(&["--verbose"]), "`check --against` optimizes nothing")
        }
        Action::Check(_) => (stat(), "`check` prints no figures of the optimizer"),
        Action::Analyze(_) => (all_but(&["--verbose", "--verify", "--limit"]), "`analyze` optimizes nothing"),
        Action::Profile(_) => (stat(), "`profile` prints figures of its own"),
        Action::Phases | Action::Knobs => (stat(), "nothing is optimized"),
    };
    Some(format!("`{}` would change nothing: {reason}", option?))
}

/// The name and version; with any option given, the options' fingerprint, too. That line is the key of a
/// result cache.
fn version(arguments: &Arguments, options: &Options) -> String {
    let version = format!("ptxopt {}", env!("CARGO_PKG_VERSION"));
    if arguments.flags.are_given() {
        format!("{version}, options {:016x}\n", options.fingerprint())
    } else {
        format!("{version}\n")
    }
}

fn run_opt(arguments: &OptArguments, flags: &Flags, options: &Options) -> Result<u8> {
    let OptArguments { input, output: output_path, remarks } = arguments;
    let name = files::shown(input);
    let are_one = |remarks: &Path| remarks == output_path || files::are_same(remarks, output_path);
    if remarks.as_deref().is_some_and(are_one) {
        complain(
            "error",
            format!("the output and the remarks would both become `{}`", output_path.display()),
        );
        return Ok(USAGE);
    }
    if remarks.as_ref().is_some_and(|remarks| files::are_same(remarks, input)) {
        complain("error", format!("the remarks would be written over `{name}`"));
        return Ok(USAGE);
    }
    let start = Instant::now();
    let text = files::read(input).with_context(|| format!("cannot read `{name}`"))?;
    let output = match batch::optimize_alone(&text, options)? {
        Ok(output) => output,
        Err(diagnostics) => {
            let mut stderr = io::stderr().lock();
            let _ = writeln!(stderr, "{}", diagnostics.render(&name, &text, batch::wants_color()).trim_end());
            return Ok(FAILED);
        }
    };
    files::write(output_path, &output.text)
        .with_context(|| format!("cannot write `{}`", output_path.display()))?;
    say_what_was_done(&name, &output, flags.verbose);
    let mut summary = Summary::default();
    summary.add(&output.report);
    if let Some(path) = remarks {
        write_remarks(path, &remarks::lines_of(&name, output.remarks))?;
    }
    warn_of_filter(options, &summary);
    statistics::print(&flags.stat, &summary, start.elapsed());
    Ok(SUCCESS)
}

fn write_remarks(path: &Path, lines: &[u8]) -> Result<()> {
    files::write(path, lines).with_context(|| format!("cannot write `{}`", path.display()))
}

/// Prints dumps, remarks if they are wanted, and what was left, on standard error.
fn say_what_was_done(name: &str, output: &Output, wants_remarks: bool) {
    let mut text = output.dumps.clone();
    if wants_remarks {
        for remark in &output.remarks {
            writeln!(text, "{remark}").expect("memory takes every text");
        }
    }
    // Nobody is left to tell when standard error is closed.
    let _ = io::stderr().lock().write_all(&text);
    for word in &output.report.unknown_words {
        complain("warning", word.warning(name));
    }
    for undone in &output.report.undone {
        let PhaseUndone { function, phase, reason } = undone;
        complain("warning", format!("{name}: {phase} was undone for `{function}`: {reason}"));
    }
    for function in &output.report.left {
        complain("warning", format!("{name}: `{}` is left as it was: {}", function.name, function.reason));
    }
}

/// Says that no function was worked on, where that is so because of the fingerprint that was asked for.
fn warn_of_filter(options: &Options, summary: &Summary) {
    if let Some(fingerprint) = options.fingerprint_filter.filter(|_| summary.functions_selected() == 0) {
        complain("warning", format!("no function has the code fingerprint {fingerprint:016x}"));
    }
}

fn run_batch(arguments: &BatchArguments, flags: &Flags, options: &Options) -> Result<u8> {
    let BatchArguments { paths, output, report, remarks } = arguments;
    let is_stream = |path: &Option<PathBuf>| path.as_deref() == Some(Path::new(STANDARD_STREAM));
    if let Some(option) =
        [("--remarks", remarks), ("--report", report)].into_iter().find(|(_, path)| is_stream(path))
    {
        complain("error", format!("`{} -`: the summary of a batch goes to standard output", option.0));
        return Ok(USAGE);
    }
    if output == Path::new(STANDARD_STREAM) {
        complain("error", "`-o -`: a batch is written into a folder; `opt` writes to standard output");
        return Ok(USAGE);
    }
    let beside: Vec<&Path> = [report, remarks].into_iter().filter_map(Option::as_deref).collect();
    let plan = match batch::plan(paths, output, &beside, options.dumps()) {
        Ok(plan) => plan,
        Err(error) => {
            complain("error", error);
            return Ok(USAGE);
        }
    };
    let pool = batch::pool(options.threads)?;
    let interrupted = interruption_flag()?;
    let start = Instant::now();
    let wishes = Wishes { prints: flags.verbose, keeps: remarks.is_some(), registers: report.is_some() };
    let outcomes = batch::run(&plan, options, wishes, &pool, &interrupted);
    let wall = start.elapsed();

    let mut summary = Summary::default();
    summary.add_not_started(outcomes.iter().filter(|outcome| outcome.is_none()).count() as u64);
    let unreadable = plan.unreadable.iter().map(|(path, reason)| {
        complain("error", reason);
        ModuleReport::failed(path.display().to_string(), 0, reason.clone())
    });
    let (reports, lines): (Vec<ModuleReport>, Vec<Vec<u8>>) =
        outcomes.into_iter().flatten().map(|outcome| (outcome.report, outcome.remarks)).unzip();
    let reports: Vec<ModuleReport> = reports.into_iter().chain(unreadable).collect();
    if let Some(path) = remarks {
        write_remarks(path, &lines.concat())?;
    }
    for report in &reports {
        summary.add(report);
    }
    if let Some(path) = report {
        batch::write_reports(path, &reports).with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    print(&summary.render(wall))?;
    warn_of_filter(options, &summary);
    statistics::print(&flags.stat, &summary, wall);
    Ok(if interrupted.load(Ordering::Relaxed) {
        INTERRUPTED
    } else if reports.iter().any(|report| report.status == Status::Error) {
        FAILED
    } else {
        SUCCESS
    })
}

/// A flag that the first interrupt, or request to end, sets.
fn interruption_flag() -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let shared = Arc::clone(&flag);
    ctrlc::set_handler(move || {
        if !shared.swap(true, Ordering::Relaxed) {
            complain("note", "interrupted: the modules that have begun are finished first");
        }
    })
    .context("cannot listen for interrupts")?;
    Ok(flag)
}

/// One line on standard error.
fn complain(what: &str, text: impl Display) {
    // Nobody is left to tell when standard error is closed.
    let _ = writeln!(io::stderr(), "{what}: {text}");
}

fn print(text: &str) -> Result<u8> {
    files::print(text.as_bytes())?;
    Ok(SUCCESS)
}

/// The width of the terminal that standard output is, if it is one.
fn terminal_width() -> Option<u16> {
    let size = io::stdout().is_terminal().then(terminal_size::terminal_size).flatten();
    size.map(|(terminal_size::Width(width), _)| width)
}
