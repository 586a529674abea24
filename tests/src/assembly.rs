//! What the assembler makes of a module, in figures: time, code, registers, spills.

use crate::clock::children_time;
use crate::cubin::code_sections;
use crate::ptxas::{Flags, Ptxas};
use std::collections::BTreeMap;
use std::time::Duration;

/// CPU time for one module. The largest of the sets takes a third of it.
const SECONDS_MAX: u32 = 300;

/// Bytes of a machine instruction, from `sm_70` on.
const INSTRUCTION_SIZE: usize = 16;

/// The lowest 12 bits of a `NOP`, with which the assembler fills sections up to 128 bytes.
const NOP: u16 = 0x918;

/// What the assembler made of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assembly {
    /// User and system time of the assembler.
    pub cpu: Duration,
    /// Bytes of all code sections, as they are filled up.
    pub code_bytes: u64,
    /// By name.
    pub kernels: BTreeMap<String, Kernel>,
}

/// What the assembler made of a kernel; the functions that it calls and that stay functions are part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// Of 32 bits, each thread.
    pub registers: u64,
    /// Machine instructions, without what fills the section up.
    pub instructions: u64,
    /// Bytes of stack frames.
    pub stack: u64,
    /// Bytes that instructions spill and load again.
    pub spills: u64,
}

impl Assembly {
    /// Assembles `text` with options, `-O3` among them. Time is right where no other thread waits for programs at once.
    ///
    /// # Errors
    /// The messages of the assembler.
    ///
    /// # Panics
    /// When it cannot be run, or writes what is no ELF file.
    pub fn of(ptxas: &Ptxas, text: &[u8], options: &[&str]) -> Result<Self, String> {
        let mut flags = Flags::of(text);
        flags.others.extend(["-v"].iter().chain(options).map(|&option| option.to_owned()));
        let start = children_time();
        let (file, said) = ptxas.assemble(text, &flags, SECONDS_MAX)?;
        let cpu = children_time() - start;
        let sections = code_sections(&file).expect("the assembler writes ELF files");
        let mut kernels = kernels_in(&said);
        for (name, kernel) in &mut kernels {
            kernel.instructions = sections.get(&format!(".text.{name}")).map_or(0, |code| instructions(code));
        }
        Ok(Self { cpu, code_bytes: sections.values().map(|code| code.len() as u64).sum(), kernels })
    }

    /// A figure of all kernels together.
    pub fn sum(&self, figure: impl Fn(&Kernel) -> u64) -> u64 {
        self.kernels.values().map(figure).sum()
    }
}

/// The kernels that the assembler speaks of, without their instructions.
fn kernels_in(said: &str) -> BTreeMap<String, Kernel> {
    let mut kernels = BTreeMap::new();
    let mut name = "";
    for line in said.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            name = rest.split('\'').next().unwrap_or_default();
            kernels.insert(name.to_owned(), Kernel::default());
        }
        // What it says of functions that no kernel holds stands before the first.
        let Some(kernel) = kernels.get_mut(name) else { continue };
        if let Some(registers) = number_before(line, " registers") {
            kernel.registers = registers;
        }
        kernel.stack += number_before(line, " bytes stack frame").unwrap_or(0);
        for spills in [" bytes spill stores", " bytes spill loads"] {
            kernel.spills += number_before(line, spills).unwrap_or(0);
        }
    }
    kernels
}

/// The number that stands right before `words`.
fn number_before(line: &str, words: &str) -> Option<u64> {
    line.split_once(words)?.0.rsplit(' ').next()?.parse().ok()
}

/// Instructions up to those that fill the section up.
fn instructions(code: &[u8]) -> u64 {
    let is_nop = |code: &[u8]| u16::from_le_bytes([code[0], code[1]]) & 0xfff == NOP;
    let code = code.chunks_exact(INSTRUCTION_SIZE);
    (code.len() - code.rev().take_while(|code| is_nop(code)).count()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_from_messages() {
        let said = "\
ptxas info    : 64 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
    56 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 26 registers, used 0 barriers, 80 bytes cumulative stack size
ptxas info    : Function properties for helper
    16 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Compiling entry function 'l' for 'sm_90'
ptxas info    : Used 8 registers";
        let kernel = |registers, stack, spills| Kernel { registers, instructions: 0, stack, spills };
        let expected = [("k".to_owned(), kernel(26, 72, 28)), ("l".to_owned(), kernel(8, 0, 0))];
        assert_eq!(kernels_in(said), BTreeMap::from(expected));
    }

    #[test]
    fn instructions_end_before_the_filling() {
        let nop = || [0x18, 0x79].into_iter().chain([0; 14]);
        let exit = || [0x4d, 0x79].into_iter().chain([0; 14]);
        let code: Vec<u8> = nop().chain(exit()).chain(nop()).chain(nop()).collect();
        assert_eq!(instructions(&code), 2);
    }
}
