//! What the assembler makes of two folders of modules: registers, spills and machine code, kernel by kernel.
//!
//! ```text
//! ptxopt batch FOLDER -o OUT -O3
//! cargo run --release -p ptxopt-tests --bin compared -- FOLDER OUT
//!
//! ptxopt batch FOLDER -o OUT -O3 --knob RegisterBudget=32
//! cargo run --release -p ptxopt-tests --bin compared -- FOLDER OUT --maxrregcount 32
//! ```
//!
//! Modules are compared by their paths inside the folders. The exit status is 1 where the assembler refuses a module of the second
//! folder and not that of the first, and where no module can be compared.

use anyhow::{Context, Result, bail};
use clap::Parser;
use ptxopt_tests::comparison::Folders;
use ptxopt_tests::ptxas::Ptxas;
use std::path::PathBuf;

/// Compares what the assembler makes of two folders of modules.
#[derive(Parser)]
struct Arguments {
    /// Modules as they come
    before: PathBuf,
    /// The same, as the optimizer leaves them
    after: PathBuf,
    /// Registers that a thread may take at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    maxrregcount: Option<u32>,
    /// Take every Nth of the modules that are in both
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,
}

fn main() -> Result<()> {
    let Arguments { before, after, maxrregcount, every } = Arguments::parse();
    for folder in [&before, &after] {
        if !folder.is_dir() {
            bail!("`{}` is no folder", folder.display());
        }
    }
    let ptxas = Ptxas::find().context("there is no assembler")?;
    let comparison = Folders::new(&before, &after, every as usize).compare(&ptxas, maxrregcount);
    println!("{}", comparison.text());
    match (comparison.spoilt().len(), comparison.is_empty()) {
        (0, false) => Ok(()),
        (0, true) => bail!("there is nothing to compare"),
        (count, _) => bail!("{count} modules are refused after only"),
    }
}
