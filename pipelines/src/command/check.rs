//! `ptxopt check`: kernels before and after, on the same inputs.

use super::arguments::CheckArguments;
use super::{FAILED, SUCCESS, USAGE, complain, print};
use crate::batch;
use crate::check::{CheckOptions, KernelVerdict, Reference, Verdict, launches, phases};
use crate::files;
use crate::options::Options;
use anyhow::{Context, Result, anyhow, bail};
use ptxopt_emulator::Count;
use rayon::prelude::*;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// What became of one module.
struct Checked {
    kernels: Vec<KernelVerdict>,
    /// Of a check of every phase: the first guilty one and change.
    guilty: Option<phases::Guilty>,
    /// What the kernels that are judged issue before and after, where that is asked for.
    counts: Vec<(String, [Count; 2])>,
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
        complain("error", "`--against` compares one module with one other");
        return Ok(USAGE);
    }
    if inputs.is_empty() {
        complain("error", "found no `.ptx` file");
        return Ok(USAGE);
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
                complain("error", format!("{error:#}"));
            }
        }
    }
    print(&counts.render())?;
    Ok(if counts.different + counts.failed > 0 { FAILED } else { SUCCESS })
}

fn check(path: &Path, arguments: &CheckArguments, options: &Options) -> Result<Checked> {
    let name = path.display().to_string();
    let text = files::read(path).with_context(|| format!("cannot read `{name}`"))?;
    let lines = launches::find(path, &text).with_context(|| name.clone())?;
    let how = CheckOptions { seeds: arguments.seeds, steps_max: arguments.steps, ..CheckOptions::default() };
    let reference =
        Reference::new(&text, &lines, how).map_err(|error| anyhow!(error.summary(&name, &text)))?;
    for line in lines.iter().filter(|line| !reference.has_kernel(&line.entry)) {
        complain(
            "warning",
            format!("{name}: no kernel has the name of the launch line for `{}`", line.entry),
        );
    }
    if let Some((entry, reason)) = reference.misfit() {
        bail!("{name}: `{entry}`: {reason}");
    }
    if arguments.each_phase {
        let phases::PhaseCheck { kernels, guilty, .. } =
            phases::check(&text, &reference, options).with_context(|| name.clone())?;
        let counts = match guilty {
            None if options.remarks => counts(&reference, &text, &optimized(&name, &text, options)?)?,
            _ => Vec::new(),
        };
        return Ok(Checked { kernels, guilty, counts });
    }
    let (after_name, after) = match &arguments.against {
        Some(other) => {
            let other_name = other.display().to_string();
            let after = files::read(other).with_context(|| format!("cannot read `{other_name}`"))?;
            (other_name, after)
        }
        None => {
            let after = optimized(&name, &text, options)?;
            (format!("{name}, optimized"), after)
        }
    };
    let kernels = reference.compare(&after).map_err(|error| anyhow!(error.summary(&after_name, &after)))?;
    let counts = if options.remarks { counts(&reference, &text, &after)? } else { Vec::new() };
    Ok(Checked { kernels, guilty: None, counts })
}

fn optimized(name: &str, text: &[u8], options: &Options) -> Result<Vec<u8>> {
    let output = crate::optimize(text, options);
    output.map(|output| output.text).map_err(|diagnostics| anyhow!(diagnostics.summary(name, text)))
}

/// What the kernels that are judged issue with either text.
fn counts(reference: &Reference, before: &[u8], after: &[u8]) -> Result<Vec<(String, [Count; 2])>> {
    let of = |text| reference.counts(text).map_err(|error| anyhow!(error.summary("the module", text)));
    let pairs = of(before)?.into_iter().zip(of(after)?);
    Ok(pairs.map(|((entry, before), (_, after))| (entry.to_owned(), [before, after])).collect())
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
    for (entry, [before, after]) in &checked.counts {
        let lanes = |count: &Count| count.lanes_per_issue().unwrap_or_default();
        complain(
            "note",
            format!(
                "{}: `{entry}` issues {} warp instructions with {:.1} lanes, before {} with {:.1}",
                path.display(),
                after.issued,
                lanes(after),
                before.issued,
                lanes(before)
            ),
        );
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
