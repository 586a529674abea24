//! Kernels on a GPU, before and after optimization, against the emulator.
//!
//! ```text
//! cargo run --release -p ptxopt-tests --bin gpu -- all          on a machine with all of it
//!
//! cargo run --release -p ptxopt-tests --bin gpu -- prepare      here
//! target/gpu/run                                                where the GPU is: the folder alone is enough
//! cargo run --release -p ptxopt-tests --bin gpu -- report       here, with the folder brought back
//! ```

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, Parser, Subcommand};
use ptxopt::OptLevel;
use ptxopt_tests::gpu::host::{NO_GPU, compiler, device_arch};
use ptxopt_tests::gpu::prepare::{Plan, prepare};
use ptxopt_tests::gpu::record::Record;
use ptxopt_tests::modules::{corpus, forms, wild};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Runs kernels on a GPU and compares what they leave.
#[derive(Parser)]
struct Arguments {
    /// The folder that goes to the machine with the GPU and comes back
    #[arg(long, default_value = "target/gpu", global = true)]
    folder: PathBuf,
    #[command(subcommand)]
    step: Step,
}

#[derive(Subcommand)]
enum Step {
    /// Makes the folder
    Prepare(What),
    /// Runs the folder on the GPU of this machine
    Run(How),
    /// Writes the record of a run
    Report(Where),
    /// All three
    All {
        #[command(flatten)]
        what: What,
        #[command(flatten)]
        how: How,
        #[command(flatten)]
        out: Where,
    },
}

#[derive(Args)]
struct What {
    /// How many generated kernels
    #[arg(long, default_value_t = 1000)]
    generated: u64,
    /// Seed of the first
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Also the wild set, where it was made
    #[arg(long)]
    wild: bool,
    /// Inputs for each kernel that has a launch line
    #[arg(long, default_value_t = 2)]
    seeds: u64,
    /// Levels to optimize at
    #[arg(long, value_delimiter = ',', default_value = "0,1,2,3")]
    levels: Vec<OptLevel>,
    /// Architectures to assemble for with ptxas; 0 leaves it to the driver [default: 90, or the GPU that is here]
    #[arg(long, value_delimiter = ',')]
    archs: Option<Vec<u32>>,
}

#[derive(Args)]
struct How {
    /// Seconds for a kernel
    #[arg(long, default_value_t = 20)]
    seconds: u32,
}

#[derive(Args)]
struct Where {
    /// Where the record goes; beside the results otherwise
    #[arg(long)]
    out: Option<PathBuf>,
}

fn main() -> Result<ExitCode> {
    let Arguments { folder, step } = Arguments::parse();
    match step {
        Step::Prepare(what) => make(&folder, &what, 90).map(|()| ExitCode::SUCCESS),
        Step::Run(how) => run(&folder, &how),
        Step::Report(out) => report(&folder, out.out),
        Step::All { what, how, out } => {
            let compiler = compiler().context("there is no C compiler here")?;
            match device_arch(compiler) {
                Ok(arch) => make(&folder, &what, arch)?,
                Err(reason) if reason.starts_with("skipped") => {
                    println!("{reason}");
                    return Ok(ExitCode::from(NO_GPU as u8));
                }
                Err(error) => bail!(error),
            }
            run(&folder, &how)?;
            report(&folder, out.out)
        }
    }
}

/// Makes the folder, for `arch` where nothing else is asked for.
fn make(folder: &Path, what: &What, arch: u32) -> Result<()> {
    let mut modules = [corpus(), forms()].concat();
    if what.wild {
        modules.extend(wild());
    }
    let archs = what.archs.clone().unwrap_or_else(|| vec![arch]);
    let plan = Plan {
        modules,
        generated: what.first..what.first + what.generated,
        vectors: true,
        levels: what.levels.clone(),
        seeds: what.seeds,
        archs: archs.into_iter().filter(|&arch| arch > 0).collect(),
    };
    let compiler = compiler();
    if compiler.is_none() {
        println!("no C compiler here: `run` compiles the host where the GPU is");
    }
    let prepared = prepare(folder, &plan, compiler).map_err(|error| anyhow!(error))?;
    println!(
        "{}: {} runs of {} launches on {} modules, each level counted; {} kernels are set aside",
        folder.display(),
        prepared.runs,
        prepared.launches,
        prepared.codes,
        prepared.aside
    );
    Ok(())
}

fn run(folder: &Path, how: &How) -> Result<ExitCode> {
    let script = fs::canonicalize(folder.join("run"))?;
    let status = Command::new(script).args(["--seconds", &how.seconds.to_string()]).status()?;
    match status.code() {
        Some(code @ (0 | 1 | NO_GPU)) => Ok(ExitCode::from(code as u8)),
        _ => bail!("the host ends with {status}"),
    }
}

fn report(folder: &Path, out: Option<PathBuf>) -> Result<ExitCode> {
    let record = Record::read(folder).map_err(|error| anyhow!(error))?;
    let path = out.unwrap_or_else(|| folder.join("record.md"));
    fs::write(&path, record.page())?;
    let faults = record.unexplained().count();
    println!("{}: {} differences, {faults} unexplained", path.display(), record.mismatches.len());
    Ok(if faults == 0 && record.results.is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
