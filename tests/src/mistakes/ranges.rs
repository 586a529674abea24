//! Mistakes about live ranges: who shares a register, and what is loaded again instead of kept.

use super::Mistake;
use super::line::{Inst, Line, registers, renamed};
use super::memory::{is_plain_load, is_write};
use super::text::{Change, Mutated, Pair, Types, each_function, insts, is_read, pairs};

pub const MISTAKES: [Mistake; 4] = [
    Mistake::new("guarded-web", "a guarded write starts a value of its own", [2, 24], |lines| {
        each_function(lines, split_at_guards)
    }),
    Mistake::new(
        "load-again-elsewhere",
        "a value loaded again comes from where its address points by then",
        [2, 0],
        |lines| pairs(lines, load_from_there),
    ),
    Mistake::new(
        "load-again-in-loop",
        "no round of a loop writes what was loaded before it",
        [4, 70],
        |lines| each_function(lines, |function| load_again(function, true)),
    ),
    Mistake::new("load-again-after-loop", "no loop writes what was loaded before it", [2, 0], |lines| {
        each_function(lines, |function| load_again(function, false))
    }),
];

/// What a register gets before a guarded write, and who reads that before it, goes to a register of its own: where the guard is
/// false, the old register holds what it held before both.
fn split_at_guards(function: &[Line]) -> Mutated {
    let types = Types::of(function);
    let mut out = function.to_vec();
    let mut declarations: Vec<Line> = Vec::new();
    for (first, line) in function.iter().enumerate() {
        let Line::Inst(inst) = line else { continue };
        let Some(value) = inst.result().filter(|_| inst.guard.is_none()) else { continue };
        let block = block_after(function, first);
        let writes = |line: &Line| matches!(line, Line::Inst(inst) if inst.writes().contains(&value));
        let Some(second) = block.iter().position(writes) else { continue };
        let Line::Inst(guarded) = &block[second] else { continue };
        let is_place = guarded.guard.is_some()
            && guarded.result() == Some(value)
            && is_read(&block[..second], value)
            && function[..first].iter().any(writes);
        let Some(ty) = types.copied_as(value).filter(|_| is_place) else { continue };
        let web = format!("%web{}", declarations.len());
        declarations.push(Line::Other(format!("\t.reg .{ty} {web};")));
        for (at, line) in out.iter_mut().enumerate().skip(first).take(second + 2) {
            let Line::Inst(inst) = line else { continue };
            // The first one writes what it reads, if it does, and the guarded one reads what came before it.
            let operands =
                if at == first { 0..1 } else { usize::from(inst.has_result())..inst.operands.len() };
            let guard = inst.guard.iter_mut().filter(|_| at > first);
            for operand in inst.operands[operands].iter_mut().chain(guard) {
                *operand = renamed(operand, value, &web);
            }
        }
    }
    let is_declared = |line: &Line| matches!(line, Line::Other(text) if text.starts_with("\t.reg ."));
    let at = out.iter().position(is_declared).filter(|_| !declarations.is_empty())?;
    out.splice(at..at, declarations);
    Some(out)
}

/// A value that is still there is loaded again, though something has written the register of its address since.
fn load_from_there(pair: &Pair) -> Option<Change> {
    let (load, reader) = (pair.first, pair.second);
    let value = loaded(load)?;
    let has_moved = !pair.keeps(&registers(&load.operands[1]));
    let is_read = reader.reads().contains(&value) && pair.keeps(&[value]);
    (has_moved && is_read).then(|| Change::Second(vec![load.clone(), reader.clone()]))
}

/// What is loaded before a loop that writes memory is loaded again where it is read: in the loop, or right after it.
fn load_again(function: &[Line], is_inside: bool) -> Mutated {
    let mut again: Vec<(usize, Line)> = Vec::new();
    for (at, line) in function.iter().enumerate() {
        let Line::Label(label) = line else { continue };
        let is_back =
            |line: &Line| matches!(line, Line::Inst(inst) if inst.is(&["bra"]) && inst.operands[0] == *label);
        let Some(last) = function.iter().rposition(is_back).filter(|&last| last > at) else { continue };
        let in_loop = &function[at + 1..last];
        if !insts(in_loop).any(is_write) {
            continue;
        }
        let is_end = |line: &Line| !matches!(line, Line::Inst(inst) if !inst.ends_block());
        let start = function[..at].iter().rposition(is_end).map_or(0, |end| end + 1);
        for (place, line) in function[start..at].iter().enumerate() {
            let Line::Inst(load) = line else { continue };
            let Some(value) = loaded(load) else { continue };
            let named: Vec<&str> = load.reads().into_iter().chain([value]).collect();
            if insts(&function[start + place + 1..last]).any(|inst| inst.writes_any(&named)) {
                continue;
            }
            let from = if is_inside { at } else { last };
            let readers = if is_inside { in_loop } else { block_after(function, last) };
            let reads = |line: &Line| matches!(line, Line::Inst(inst) if inst.reads().contains(&value));
            if let Some(reader) = readers.iter().position(reads) {
                again.push((from + 1 + reader, Line::Inst(load.clone())));
            }
        }
    }
    let mut out = function.to_vec();
    again.sort_by_key(|&(at, _)| at);
    for (at, load) in again.iter().rev() {
        out.insert(*at, load.clone());
    }
    (!again.is_empty()).then_some(out)
}

/// The register that a load fills, where loading again would read the same register as its address.
fn loaded(load: &Inst) -> Option<&str> {
    let value = load.result().filter(|_| is_plain_load(load) && load.guard.is_none())?;
    (!load.reads().contains(&value)).then_some(value)
}

/// The lines from one on up to the end of its block, without itself.
fn block_after(function: &[Line], at: usize) -> &[Line] {
    let rest = &function[at + 1..];
    let ends = |line: &Line| !matches!(line, Line::Inst(inst) if !inst.ends_block());
    &rest[..rest.iter().position(ends).unwrap_or(rest.len())]
}
