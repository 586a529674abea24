//! What is forecast of kernels, and of which features: what `tests/tools/forecast` compares with the assembler.
//!
//! Reads names of files from standard input, one a line, and writes a JSON object a kernel.

use ptxopt::registers::{KernelRegisters, registers};
use std::fs;
use std::io::{self, BufRead, Write};
use std::time::Instant;

/// The command line for which spills are forecast, too.
const TIGHT: u32 = 32;

fn main() -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let (mut ns, mut insts) = (0, 0);
    for name in io::stdin().lock().lines() {
        let name = name?;
        let text = fs::read(&name)?;
        let start = Instant::now();
        let Ok(kernels) = registers(&text, None) else {
            eprintln!("{name}: no PTX");
            continue;
        };
        ns += start.elapsed().as_nanos();
        let tight = registers(&text, Some(TIGHT)).unwrap_or_default();
        for (kernel, tight) in kernels.iter().zip(&tight) {
            let KernelRegisters { features, callees, sm, .. } = kernel;
            insts += features.insts;
            let line = serde_json::json!({
                "file": name, "name": kernel.name, "sm": sm, "registers": kernel.registers, "budget": kernel.budget,
                "spills": kernel.spills, "occupancy": kernel.occupancy, "tight_spills": tight.spills,
                "tight_budget": tight.budget, "values": features.values(*sm, *callees), "asked": &features.asked(*sm, *callees, kernel.promises, 0.0)[1..],
            });
            writeln!(out, "{line}")?;
        }
    }
    eprintln!("{} ns an instruction of the machine's view, reading included", ns / u128::from(insts.max(1)));
    out.flush()
}
