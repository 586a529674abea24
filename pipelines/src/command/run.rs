//! `ptxopt run`: one launch of one kernel on the emulator.

use super::arguments::RunArguments;
use super::launch_file::{BytesFile, LaunchFile, OutcomeFile};
use super::{FAILED, SUCCESS};
use crate::files;
use crate::options::Options;
use anyhow::{Context, Result, anyhow};
use ptxopt_emulator::{Module, Options as RunOptions, run as run_kernel};

/// Runs the kernel; the module goes through the optimizer first where there are options.
pub fn run(arguments: &RunArguments, options: Option<&Options>) -> Result<u8> {
    let RunArguments { input, launch, output } = arguments;
    let name = input.display().to_string();
    let mut text = files::read(input).with_context(|| format!("cannot read `{name}`"))?;
    if let Some(options) = options {
        let output = crate::optimize(&text, options);
        text = output.map_err(|diagnostics| anyhow!(diagnostics.summary(&name, &text)))?.text;
    }
    let launch_text = files::read(launch).with_context(|| format!("cannot read `{}`", launch.display()))?;
    let parsed = LaunchFile::parse(&launch_text).with_context(|| format!("`{}`", launch.display()))?;
    let module = Module::load(&text).map_err(|error| anyhow!(error.summary(&name, &text)))?;
    let outcome = run_kernel(&module, &parsed, &RunOptions::default());
    let trap = outcome.stop.map(|stop| stop.to_string());
    let status = if trap.is_some() { FAILED } else { SUCCESS };
    let buffers = outcome.buffers.iter().map(|bytes| BytesFile::new(bytes)).collect();
    let mut json = serde_json::to_vec(&OutcomeFile { buffers, trap })?;
    json.push(b'\n');
    files::write(output, &json).with_context(|| format!("cannot write `{}`", output.display()))?;
    Ok(status)
}
