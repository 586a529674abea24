//! Writes a module of kernels made to size.
//!
//! ```text
//! cargo run --release -p ptxopt-bench --bin kernels -- FUNCTIONS INSTRUCTIONS > OUT.ptx
//! ```

use anyhow::Result;
use clap::Parser;
use ptxopt_bench::kernels;
use std::io::{Write, stdout};

/// Writes a module of kernels made to size to standard output.
#[derive(Parser)]
struct Arguments {
    /// Number of functions
    functions: usize,
    /// Instructions of each
    #[arg(value_parser = clap::value_parser!(u32).range(10..))]
    instructions: u32,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    stdout().write_all(&kernels::module(arguments.functions, arguments.instructions as usize))?;
    Ok(())
}
