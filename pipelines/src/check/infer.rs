//! Launches for kernels that nobody described: from the signature, from how the code uses each parameter, and from
//! what running shows.
//!
//! A parameter is a pointer where it says so (`.ptr`) or where its value reaches an address; everything else is a
//! number. Buffers start small and grow where the kernel reaches behind their end; numbers start at what fits such
//! buffers. What is found is a launch line, so it can be written down.

use super::{CheckOptions, run_one};
use ptxopt_components::form::Role;
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::operand::OperandKind;
use ptxopt_emulator::launch_lines::{ArgumentLine, Element, Fill, Lane, LaunchLine};
use ptxopt_emulator::{Entry, Module, StateSpace, Stop};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::ptx::reader::{ReaderScratch, read};
use ptxopt_engine::ptx::scan;
use ptxopt_engine::tables::CodeTables;
use ptxopt_engine::view::FunctionView;

/// Bytes of a buffer at first.
const BUFFER_BYTES: usize = 1 << 14;
/// Bytes that a buffer may grow to.
const BUFFER_BYTES_MAX: usize = 1 << 22;
/// Bytes of dynamic shared memory at first, and at most: what an SM has.
const SHARED_BYTES: [u32; 2] = [1 << 12, 227 << 10];
/// Threads of a block where the kernel does not say: two warps, so that warps can get in each other's way.
const BLOCK: [u32; 3] = [64, 1, 1];
/// Blocks of the grid.
const GRID: [u32; 3] = [2, 1, 1];
/// Launches that are tried before a kernel is given up.
const TRIES_MAX: usize = 40;

/// What integers and buffers hold, tried in order: kernels index with both.
const CONTENTS: [(u64, Fill); 4] =
    [(64, Fill::Below(16)), (16, Fill::Below(4)), (1, Fill::Zero), (64, Fill::Real(true))];

/// A launch line under which `entry` runs to its end, or to a trap of its own.
///
/// # Errors
/// Why none was found.
pub fn launch_line(
    module: &Module,
    entry: &Entry,
    text: &[u8],
    options: CheckOptions,
) -> Result<LaunchLine, String> {
    let pointers = pointer_places(text, &entry.name);
    let mut reason = String::new();
    let mut tries = 0;
    for (number, fill) in CONTENTS {
        let mut line = first_line(entry, &pointers, number, &fill);
        while tries < TRIES_MAX {
            tries += 1;
            let outcome = run_one(module, &line.launch(0), false, options.steps_max / 8);
            let Some(stop) = outcome.stop else { return Ok(line) };
            reason = stop.to_string();
            match stop {
                Stop::Trap { .. } | Stop::Assertion { .. } => return Ok(line),
                Stop::OutOfBounds { access, .. } if grow(&mut line, access.space) => {}
                _ => break,
            }
        }
    }
    Err(reason)
}

/// Doubles what an access to `space` may have missed; false when that is as large as it gets.
fn grow(line: &mut LaunchLine, space: StateSpace) -> bool {
    if space == StateSpace::Shared {
        let [_, most] = SHARED_BYTES;
        let grown = (line.shared_bytes * 4).min(most);
        return std::mem::replace(&mut line.shared_bytes, grown) < grown;
    }
    let mut has_grown = false;
    for argument in line.arguments.iter_mut().filter(|argument| argument.is_buffer) {
        if argument.count * argument.element.lane.size() < BUFFER_BYTES_MAX {
            argument.count *= 8;
            has_grown = true;
        }
    }
    has_grown
}

fn first_line(entry: &Entry, pointers: &[String], number: u64, fill: &Fill) -> LaunchLine {
    let is_real = matches!(fill, Fill::Real(_));
    let arguments = entry.parameters.iter().map(|parameter| {
        let size = parameter.size as usize;
        let element = |lane| Element { lane, lanes: 1 };
        let is_pointer = parameter.pointer.is_some() || pointers.contains(&parameter.name);
        if is_pointer && size == 8 {
            let lane = if is_real { Lane::F32 } else { Lane::Int(4) };
            let count = BUFFER_BYTES / lane.size();
            return ArgumentLine { element: element(lane), count, fill: fill.clone(), is_buffer: true };
        }
        let (lane, count) = match (parameter.ty, size) {
            ("f16" | "bf16", 2) => (Lane::F16, 1),
            ("f32", 4) => (Lane::F32, 1),
            ("f64", 8) => (Lane::F64, 1),
            (_, 1 | 2 | 4 | 8) => (Lane::Int(size), 1),
            _ => (Lane::Int(1), size),
        };
        let fill = if count == 1 { Fill::List(vec![number as f64], vec![number]) } else { Fill::Zero };
        ArgumentLine { element: element(lane), count, fill, is_buffer: false }
    });
    LaunchLine {
        entry: entry.name.clone(),
        grid: GRID,
        block: entry.required_block.unwrap_or(BLOCK),
        shared_bytes: SHARED_BYTES[0],
        arguments: arguments.collect(),
    }
}

/// Names of the parameters of `entry` whose value reaches an address in its body.
fn pointer_places(text: &[u8], entry: &str) -> Vec<String> {
    let Ok(module) = scan::Module::scan(text) else { return Vec::new() };
    let (mut forms, mut tables) = (FormTable::default(), CodeTables::default());
    let is_entry = |place: &&scan::FunctionText| text[place.name.range()] == *entry.as_bytes();
    let Some(place) = module.functions.iter().find(is_entry) else { return Vec::new() };
    let functions = std::slice::from_ref(place);
    if read(&module, functions, &mut forms, &mut ReaderScratch::default(), &mut tables).is_err() {
        return Vec::new();
    }
    tables.view().functions().next().map_or_else(Vec::new, |function| pointers_of(&function, &forms, text))
}

/// Follows addresses back to the parameters that they come from: through moves, sums and conversions of addresses.
fn pointers_of(function: &FunctionView<'_>, forms: &FormTable, text: &[u8]) -> Vec<String> {
    let mut is_address = vec![false; function.vregs.len()];
    let mut worklist: Vec<VRegId> = Vec::new();
    let mut reach = |vreg: VRegId, worklist: &mut Vec<VRegId>| {
        if !std::mem::replace(&mut is_address[vreg.index()], true) {
            worklist.push(vreg);
        }
    };
    let mut definitions: Vec<Vec<InstId>> = vec![Vec::new(); function.vregs.len()];
    for inst in (0..function.heads.len()).map(InstId::new) {
        let slots = forms.slots(function.heads[inst.index()].form);
        for (operand, slot) in function.operands_of(inst).iter().zip(slots) {
            let Some(vreg) = operand.vreg() else { continue };
            if slot.role == Role::Address {
                reach(vreg, &mut worklist);
            }
            if operand.is_definition() {
                definitions[vreg.index()].push(inst);
            }
        }
    }
    let mut names = Vec::new();
    while let Some(vreg) = worklist.pop() {
        for &inst in &definitions[vreg.index()] {
            let operands = function.operands_of(inst);
            let mnemonic = forms.mnemonic_text(function.heads[inst.index()].form);
            let root = mnemonic.split(|&byte| byte == b'.').next().unwrap_or_default();
            match root {
                b"ld" | b"ldu" if mnemonic.starts_with(b"ld.param") => {
                    for operand in operands {
                        if let OperandKind::Symbol(name) = operand.kind() {
                            let name = function.pools.names.bytes(text, name);
                            names.push(String::from_utf8_lossy(name).into_owned());
                        }
                    }
                }
                b"mov" | b"add" | b"sub" | b"cvta" | b"selp" => {
                    for operand in operands.iter().filter(|operand| operand.is_use()) {
                        operand.vreg().into_iter().for_each(|vreg| reach(vreg, &mut worklist));
                    }
                }
                // The addend; the product is an offset.
                b"mad" => {
                    if let Some(vreg) = operands.get(3).and_then(|operand| operand.vreg()) {
                        reach(vreg, &mut worklist);
                    }
                }
                _ => {}
            }
        }
    }
    names
}
