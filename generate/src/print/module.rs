//! The module: directives, variables, functions, the kernel, and its launch.

use super::calls::function_head;
use super::{COUNTERS, INPUT_BYTES, ModuleNeeds, OWN_BYTES, Writer, threads};
use crate::launch::{Argument, Launch};
use crate::random::Random;
use crate::tree::Program;
use std::collections::BTreeSet;

/// The kernel's name.
const ENTRY: &str = "kernel";

/// The label of the name of the function that some lines are inlined from.
pub(crate) const INLINED: &str = "$L__inlined";

/// The text of a program, and how to launch it.
#[must_use]
pub fn print(program: &Program) -> (String, Launch) {
    let mut needs = ModuleNeeds::default();
    let mut writer = Writer::new(program, None, &mut needs);
    writer.kernel();
    let kernel = writer.finish(&program.body);
    let functions = functions(program, &mut needs);
    let mut lines = head(program);
    lines.extend(variables(program, &needs.variables));
    lines.extend(functions);
    let parameters: Vec<String> = parameters(program, &needs, &kernel);
    lines.push(format!(".visible .entry {ENTRY}({})", parameters.join(", ")));
    lines.push("{".to_owned());
    lines.extend(kernel);
    lines.push("}".to_owned());
    if has_inlined_lines(program) {
        // The name is `f`.
        lines.extend(
            [".section .debug_str", "{", &format!("{INLINED}:"), ".b8 102, 0", "}"].map(str::to_owned),
        );
    }
    (lines.join("\n") + "\n", launch(program, &needs, &parameters))
}

/// Whether some lines are inlined from elsewhere.
pub(crate) fn has_inlined_lines(program: &Program) -> bool {
    program.style.has_lines && program.style.has_inlined_lines
}

fn head(program: &Program) -> Vec<String> {
    let version = if program.arch >= 90 { "8.5" } else { "8.3" };
    let mut lines = vec![
        format!(".version {version}"),
        format!(".target sm_{}", program.arch),
        ".address_size 64".to_owned(),
    ];
    if program.style.has_lines {
        lines.push(".file 1 \"generated.cu\"".to_owned());
    }
    lines
}

/// The functions that are called, in an order in which each is known before it is used.
fn functions(program: &Program, needs: &mut ModuleNeeds) -> Vec<String> {
    let mut bodies: Vec<(usize, Vec<String>)> = Vec::new();
    // Functions call earlier ones, so from the last one down every caller is printed before its callee is looked at.
    for index in (0..program.functions.len()).rev() {
        if !needs.functions.contains(&u8::try_from(index).expect("few functions")) {
            continue;
        }
        let mut writer = Writer::new(program, Some(index), needs);
        writer.function(index);
        bodies.push((index, writer.finish(&program.functions[index].body)));
    }
    let mut lines = Vec::new();
    for (index, body) in bodies.into_iter().rev() {
        lines.push(function_head(program, index));
        lines.push("{".to_owned());
        lines.extend(body);
        lines.push("}".to_owned());
    }
    lines
}

fn variables(program: &Program, names: &BTreeSet<&'static str>) -> Vec<String> {
    let all_threads = threads(program) * program.grid.iter().product::<u32>();
    names
        .iter()
        .map(|&name| match name {
            "constants" => format!(".const .align 16 .b32 constants[16] = {{{}}};", words(program, 3)),
            "table" => format!(".global .align 16 .b32 table[16] = {{{}}};", words(program, 4)),
            "state" => format!(".global .align 16 .b8 state[{}];", all_threads * 16),
            "slots" => format!(".shared .align 16 .b8 slots[{}];", shared_bytes(program)),
            "dynamic_slots" => ".extern .shared .align 16 .b8 dynamic_slots[];".to_owned(),
            "totals" => format!(".shared .align 8 .b8 totals[{}];", COUNTERS * 8),
            other => unreachable!("no variable is named {other}"),
        })
        .collect()
}

fn words(program: &Program, purpose: u64) -> String {
    let mut random = Random::new(program.seed, purpose);
    let words: Vec<String> = (0..16).map(|_| format!("{:#x}", low_word(random.bits()))).collect();
    words.join(", ")
}

fn low_word(bits: u64) -> u32 {
    u32::try_from(bits & 0xFFFF_FFFF).expect("32 bits")
}

fn shared_bytes(program: &Program) -> u32 {
    threads(program) * super::exchange::SLOT_BYTES
}

/// The parameters that the code uses.
fn parameters(program: &Program, needs: &ModuleNeeds, kernel: &[String]) -> Vec<String> {
    let buffers = needs.parameters.iter().map(|name| format!(".param .u64 {name}"));
    let is_used = |number: &usize| {
        let loaded = format!("[scalar_{number}]");
        kernel.iter().any(|line| line.contains(&loaded))
    };
    let scalars =
        (0..program.scalars.len()).filter(is_used).map(|number| format!(".param .u32 scalar_{number}"));
    buffers.chain(scalars).collect()
}

fn launch(program: &Program, needs: &ModuleNeeds, parameters: &[String]) -> Launch {
    let blocks: u32 = program.grid.iter().product();
    let output_bytes = blocks * threads(program) * OWN_BYTES;
    let arguments = parameters.iter().map(|parameter| {
        let name = parameter.rsplit(' ').next().expect("a parameter ends in its name");
        match name {
            "input" => Argument::Buffer(bytes(program, 5, INPUT_BYTES)),
            "output" => Argument::Buffer(bytes(program, 6, output_bytes)),
            "counters" => Argument::Buffer(bytes(program, 7, COUNTERS * 8)),
            scalar => {
                let number: usize = scalar["scalar_".len()..].parse().expect("a scalar ends in its number");
                Argument::Scalar(program.scalars[number])
            }
        }
    });
    Launch {
        entry: ENTRY.to_owned(),
        grid: program.grid,
        block: program.block,
        shared_bytes: if needs.variables.contains("dynamic_slots") { shared_bytes(program) } else { 0 },
        arguments: arguments.collect(),
    }
}

/// Contents of a buffer: random words, every other one a border case.
fn bytes(program: &Program, purpose: u64, count: u32) -> Vec<u8> {
    let mut random = Random::new(program.seed, purpose);
    let mut bytes = Vec::new();
    while bytes.len() < count as usize {
        let word = if bytes.len().is_multiple_of(8) { random.bits() } else { random.long() };
        bytes.extend(low_word(word & 0xFFFF_FFFF).to_le_bytes());
    }
    bytes.truncate(count as usize);
    bytes
}
