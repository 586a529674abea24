//! `ptxopt run`: one launch of one kernel on the emulator.

use super::arguments::{Flags, RunArguments};
use super::launch_file::{BytesFile, CountFile, LaunchFile, OutcomeFile};
use super::{FAILED, MISFIT, SUCCESS, USAGE, complain, say_what_was_done, statistics, warn_of_filter};
use crate::files::STANDARD_STREAM;
use crate::options::Options;
use crate::report::Summary;
use crate::{batch, files};
use anyhow::{Context, Result, anyhow};
use ptxopt_emulator::{Limits, Module, Options as RunOptions, Stop, run as run_kernel, run_counted};
use std::path::Path;
use std::time::Instant;

/// Runs the kernel; the module goes through the optimizer first where a level is given.
pub fn run(arguments: &RunArguments, flags: &Flags, options: &Options) -> Result<u8> {
    let RunArguments { input, steps, count, launch, output } = arguments;
    if input == launch && input == Path::new(STANDARD_STREAM) {
        complain("error", "the module and the launch would both be read from standard input");
        return Ok(USAGE);
    }
    let name = files::shown(input);
    if let Some(read) = [input, launch].into_iter().find(|read| files::are_same(read, output)) {
        complain("error", format!("the output would be written over `{}`", read.display()));
        return Ok(USAGE);
    }
    let mut text = files::read(input).with_context(|| format!("cannot read `{name}`"))?;
    if flags.is_level_given() {
        text = optimized(&name, &text, flags, options)?;
    }
    let launch_text = files::read(launch).with_context(|| format!("cannot read `{}`", launch.display()))?;
    let parsed = match LaunchFile::parse(&launch_text) {
        Ok(parsed) => parsed,
        Err(error) => {
            complain("error", format!("`{}`: {error:#}", launch.display()));
            return Ok(MISFIT);
        }
    };
    let module = Module::load(&text).map_err(|error| anyhow!(error.summary(&name, &text)))?;
    let limits = Limits { steps: *steps, ..Limits::default() };
    let run_options = RunOptions { limits, ..RunOptions::default() };
    let (outcome, count) = if *count {
        let (outcome, count) = run_counted(&module, &parsed, &run_options);
        (outcome, Some(CountFile { warp_instructions: count.issued, active_lanes: count.lanes }))
    } else {
        (run_kernel(&module, &parsed, &run_options), None)
    };
    let trap = match outcome.stop {
        Some(Stop::BadLaunch(reason)) => {
            complain("error", format!("`{}` does not fit the kernel: {reason}", launch.display()));
            return Ok(MISFIT);
        }
        Some(Stop::StepLimit) => {
            Some(format!("step limit: not at its end after {steps} thread-instructions, see `--steps`"))
        }
        stop => stop.map(|stop| stop.to_string()),
    };
    let status = if trap.is_some() { FAILED } else { SUCCESS };
    let buffers = outcome.buffers.iter().map(|bytes| BytesFile::new(bytes)).collect();
    let mut json = serde_json::to_vec(&OutcomeFile { buffers, trap, count })?;
    json.push(b'\n');
    files::write(output, &json).with_context(|| format!("cannot write `{}`", output.display()))?;
    Ok(status)
}

fn optimized(name: &str, text: &[u8], flags: &Flags, options: &Options) -> Result<Vec<u8>> {
    let start = Instant::now();
    let output = batch::optimize_alone(text, options)?;
    let output = output.map_err(|diagnostics| anyhow!(diagnostics.summary(name, text)))?;
    say_what_was_done(name, &output, flags.verbose);
    let mut summary = Summary::default();
    summary.add(&output.report);
    warn_of_filter(options, &summary);
    statistics::print(&flags.stat, &summary, start.elapsed());
    Ok(output.text)
}
