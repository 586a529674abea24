//! `ptxopt check`: kernels before and after, on the same inputs.

use super::arguments::CheckArguments;
use super::{FAILED, SUCCESS, complain, print};
use crate::batch;
use crate::check::{CheckOptions, KernelVerdict, Reference, Verdict, launches, phases};
use crate::files;
use crate::options::Options;
use anyhow::{Context, Result, anyhow, bail};
use rayon::prelude::*;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// What became of one module.
struct Checked {
    kernels: Vec<KernelVerdict>,
    /// Of a check of every phase: the first guilty one and change.
    guilty: Option<phases::Guilty>,
}

/// Counts over all modules.
#[derive(Default)]
struct Counts {
    modules: u64,
    same: u64,
    different: u64,
    set_aside: u64,
    failed: u64,
}

/// Checks the modules, on as many threads as the options say; status 1 where a kernel differs or a module fails.
pub fn run(arguments: &CheckArguments, options: &Options) -> Result<u8> {
    let inputs = files::modules(&arguments.paths)?;
    if arguments.against.is_some() && inputs.len() != 1 {
        bail!("`--against` compares one module with one other");
    }
    let pool = batch::pool(options.threads)?;
    let results: Vec<(&PathBuf, Result<Checked>)> =
        pool.install(|| inputs.par_iter().map(|path| (path, check(path, arguments, options))).collect());
    let mut counts = Counts::default();
    for (path, result) in results {
        counts.modules += 1;
        match result {
            Ok(checked) => report(path, &checked, options.remarks, &mut counts),
            Err(error) => {
                counts.failed += 1;
                complain("error", format!("{}: {error:#}", path.display()));
            }
        }
    }
    print(&counts.render())?;
    Ok(if counts.different + counts.failed > 0 { FAILED } else { SUCCESS })
}

fn check(path: &Path, arguments: &CheckArguments, options: &Options) -> Result<Checked> {
    let text = files::read(path).context("cannot read it")?;
    let lines = launches::find(path, &text)?;
    let how = CheckOptions { seeds: arguments.seeds, steps_max: arguments.steps, ..CheckOptions::default() };
    if arguments.each_phase {
        let phases::PhaseCheck { kernels, guilty, .. } =
            phases::check(&text, &Reference::new(&text, &lines, how)?, options)?;
        return Ok(Checked { kernels, guilty });
    }
    let after = match &arguments.against {
        Some(other) => files::read(other).with_context(|| format!("cannot read `{}`", other.display()))?,
        None => crate::optimize(&text, options).map_err(|error| anyhow!("{error}"))?.text,
    };
    let kernels = Reference::new(&text, &lines, how)?.compare(&after)?;
    Ok(Checked { kernels, guilty: None })
}

fn report(path: &Path, checked: &Checked, is_verbose: bool, counts: &mut Counts) {
    for KernelVerdict { entry, verdict } in &checked.kernels {
        match verdict {
            Verdict::Same => counts.same += 1,
            Verdict::Different(difference) => {
                counts.different += 1;
                complain("error", format!("{}: `{entry}` differs: {difference}", path.display()));
            }
            Verdict::SetAside(reason) => {
                counts.set_aside += 1;
                if is_verbose {
                    complain("note", format!("{}: `{entry}` is set aside: {reason}", path.display()));
                }
            }
        }
    }
    if let Some(guilty) = &checked.guilty {
        let (number, name, change) = (guilty.number, guilty.name, guilty.change);
        complain(
            "note",
            format!("{}: first wrong after phase {number} {name}, change {change}", path.display()),
        );
    }
}

impl Counts {
    fn render(&self) -> String {
        let mut text = String::new();
        let rows = [
            ("modules", self.modules),
            ("kernels that agree", self.same),
            ("kernels that differ", self.different),
            ("kernels set aside", self.set_aside),
            ("modules that failed", self.failed),
        ];
        for (name, count) in rows {
            let _ = writeln!(text, " {name:<22} {count:>8}");
        }
        text
    }
}
