//! `ptxopt analyze`: what is known of the functions of a module.
//!
//! Each function is read, split at control flow, and looked at; nothing is optimized. Where several things or several
//! functions are printed, a comment line tells them apart; one thing of one function is printed as it is, so that the
//! DOT of a kernel goes straight into `dot`. The table of registers is one of the whole module, and comes first.

use std::io::{self, Write};

use anyhow::{Context, Result, anyhow};
use ptxopt_engine::ptx::scan::{FunctionText, Module};
use ptxopt_engine::run::phase::{Phase, Plan, Step};
use ptxopt_engine::run::shard::{BatchError, Shard};
use ptxopt_systems::flow::split_at_control_flow;
use ptxopt_systems::report::{divergence, graph, registers as live_registers};

use super::arguments::{AnalyzeArguments, Print};
use super::{FAILED, SUCCESS};
use crate::options::Options;
use crate::{Diagnostics, batch, files, registers, standard};

/// Prints what was asked for on standard output.
pub fn run(arguments: &AnalyzeArguments, options: &Options) -> Result<u8> {
    let name = files::shown(&arguments.input);
    let text = files::read(&arguments.input).with_context(|| format!("cannot read `{name}`"))?;
    match analyze(&text, arguments, options)? {
        Ok(out) => {
            files::print(&out)?;
            Ok(SUCCESS)
        }
        Err(diagnostics) => {
            let rendered = diagnostics.render(&name, &text, batch::wants_color());
            let _ = writeln!(io::stderr(), "{}", rendered.trim_end());
            Ok(FAILED)
        }
    }
}

fn analyze(
    text: &[u8],
    arguments: &AnalyzeArguments,
    options: &Options,
) -> Result<Result<Vec<u8>, Diagnostics>> {
    let module = match Module::scan(text) {
        Ok(module) => module,
        Err(diagnostic) => return Ok(Err(diagnostic.into())),
    };
    let name_of =
        |function: &FunctionText| String::from_utf8_lossy(&text[function.name.range()]).into_owned();
    let wanted =
        |function: &&FunctionText| arguments.function.as_ref().is_none_or(|name| *name == name_of(function));
    let functions: Vec<&FunctionText> = module.functions.iter().filter(wanted).collect();
    if let Some(name) = arguments.function.as_ref().filter(|_| functions.is_empty()) {
        return Err(anyhow!("no function is called `{name}`"));
    }
    let mut out = Vec::new();
    if arguments.print.contains(&Print::Registers) {
        let kernels = match registers::registers(text, arguments.maxrregcount) {
            Ok(kernels) => kernels,
            Err(diagnostic) => return Ok(Err(diagnostic.into())),
        };
        let is_wanted = |name: &str| arguments.function.as_ref().is_none_or(|wanted| wanted == name);
        let kernels = kernels.iter().filter(|kernel| is_wanted(&kernel.name));
        out.extend_from_slice(registers::table(kernels).as_bytes());
    }
    let is_alone = functions.len() == 1 && arguments.print.len() == 1;
    let of_functions = arguments.print.iter().filter_map(|&print| Some((print, phase_of(print)?)));
    let mut shards: Vec<(Print, Shard)> =
        of_functions.map(|(print, phase)| (print, Shard::new(&plan(phase, options)))).collect();
    for function in functions {
        for (print, shard) in &mut shards {
            let output = match shard.run(&module, std::slice::from_ref(function)) {
                Ok(output) => output,
                Err(BatchError::Diagnostic(diagnostic)) => return Ok(Err(diagnostic.into())),
                Err(BatchError::Failed { reason, .. }) => {
                    return Err(anyhow!("`{}` cannot be analyzed: {reason}", name_of(function)));
                }
            };
            if let Some(reason) = output.functions.iter().find_map(|function| function.left.as_ref()) {
                return Err(anyhow!("`{}` cannot be analyzed: {reason}", name_of(function)));
            }
            if !is_alone {
                writeln!(out, "// {}: {}", name_of(function), title(*print))?;
            }
            out.extend_from_slice(&output.dumps);
        }
    }
    Ok(Ok(out))
}

/// What stands in the comment line.
fn title(print: Print) -> &'static str {
    match print {
        Print::Cfg => "cfg",
        Print::Rpo => "rpo",
        Print::Dominators => "dominators",
        Print::Loops => "loops",
        Print::Liveness => "liveness",
        Print::Pressure => "pressure",
        Print::Registers => "registers",
        Print::Uniformity => "uniformity",
        Print::Divergence => "divergence",
        Print::Dot => "dot",
        Print::Ori => "ori",
    }
}

/// The phase that prints it of a function; none for what is known of a module only.
fn phase_of(print: Print) -> Option<&'static Phase> {
    Some(match print {
        Print::Cfg => &graph::EDGES,
        Print::Rpo => &graph::RANKS,
        Print::Dominators => &graph::DOMINATORS,
        Print::Loops => &graph::LOOPS,
        Print::Liveness => &live_registers::LIVENESS,
        Print::Pressure => &live_registers::PRESSURE,
        Print::Registers => return None,
        Print::Uniformity => &live_registers::UNIFORMITY,
        Print::Divergence => &divergence::PHASE,
        Print::Dot => &graph::DOT,
        Print::Ori => &graph::CODE,
    })
}

/// Splits at control flow and prints.
fn plan(phase: &'static Phase, options: &Options) -> Plan {
    static SPLIT: Phase = split_at_control_flow::PHASE;
    Plan {
        steps: vec![Step::new(6, &SPLIT), Step::new(Step::OBSERVERS, phase)],
        ..standard::plan(options, false)
    }
}
