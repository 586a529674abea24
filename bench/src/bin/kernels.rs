//! Writes a module of kernels made to size.
//!
//! ```text
//! cargo run --release -p ptxopt-bench --bin kernels -- FUNCTIONS INSTRUCTIONS > OUT.ptx
//! cargo run --release -p ptxopt-bench --bin kernels -- --shape states 1 STATES > OUT.ptx
//! ```

use anyhow::Result;
use clap::{Parser, ValueEnum};
use ptxopt_bench::kernels;
use std::io::{Write, stdout};

/// Writes a module of kernels made to size to standard output.
#[derive(Parser)]
struct Arguments {
    /// Number of functions
    functions: usize,
    /// Instructions of each; states, or registers, of other shapes
    #[arg(value_parser = clap::value_parser!(u32).range(10..))]
    size: u32,
    /// What they look like
    #[arg(long, default_value = "plain")]
    shape: Shape,
}

/// What kernels look like.
#[derive(Clone, Copy, ValueEnum)]
enum Shape {
    /// Array code with a block for every five instructions
    Plain,
    /// One machine of states after one block
    States,
    /// One kernel of registers that live over all blocks
    LongLives,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let size = arguments.size as usize;
    stdout().write_all(&match arguments.shape {
        Shape::Plain => kernels::module(arguments.functions, size),
        Shape::States => kernels::state_machine(size),
        Shape::LongLives => kernels::long_lives(size),
    })?;
    Ok(())
}
