//! Mistakes about what is alive: dead code that is not.

use super::Mistake;
use super::line::{Inst, Line, registers};
use super::text::{Mutated, each, each_function, insts, remove};

pub const MISTAKES: [Mistake; 8] = [
    Mistake::new("live-out", "what its block does not read is dead", [2, 10], |lines| {
        each_function(lines, |function| {
            remove_at(function, |at, inst| {
                let rest = &function[at + 1..];
                let end = rest.iter().position(ends_block).map_or(rest.len(), |end| end + 1);
                is_computed(inst) && !is_read_by(&rest[..end], inst)
            })
        })
    }),
    Mistake::new("back-edge-liveness", "what nothing further down reads is dead", [4, 20], |lines| {
        each_function(lines, |function| {
            remove_at(function, |at, inst| is_computed(inst) && !is_read_by(&function[at + 1..], inst))
        })
    }),
    Mistake::new("dead-cycle", "what only itself and what has no result reads is dead", [2, 46], |lines| {
        each_function(lines, |function| {
            remove(function, |inst| {
                let Some(value) = inst.result().filter(|_| is_computed(inst)) else { return false };
                let reads = |other: &&Inst| other.reads().contains(&value);
                inst.reads().contains(&value)
                    && insts(function).filter(reads).all(|other| other == inst || !other.has_result())
            })
        })
    }),
    Mistake::new("carry-flag-dead", "no register is read, so the carry flag is dead", [2, 24], |lines| {
        each(lines, |inst| inst.replace("cc", ""))
    }),
    Mistake::new("sink-live", "a result that its block does not read is a sink", [0, 12], |lines| {
        each_function(lines, sink_results)
    }),
    Mistake::new("formal-result-dead", "nothing reads a result after the return", [2, 12], |lines| {
        each_function(lines, |function| {
            let formals = formal_results(function);
            remove(function, |inst| inst.result().is_some_and(|result| formals.contains(&result)))
        })
    }),
    Mistake::new("parameter-store-dead", "a parameter that is not loaded is dead", [2, 12], |lines| {
        each_function(lines, |function| {
            let is_loaded = |name: &str| {
                insts(function)
                    .any(|inst| inst.is(&["ld"]) && inst.has("param") && symbol(&inst.operands[1]) == name)
            };
            remove(function, |inst| {
                inst.is(&["st"]) && inst.has("param") && !is_loaded(symbol(&inst.operands[0]))
            })
        })
    }),
    Mistake::new(
        "store-dead",
        "a store to memory that its function does not load from is dead",
        [2, 10],
        |lines| {
            each_function(lines, |function| {
                let is_loaded = |base: &str| {
                    insts(function).any(|inst| inst.is(&["ld", "atom"]) && symbol(&inst.operands[1]) == base)
                };
                remove(function, |inst| {
                    inst.is(&["st"]) && !inst.has("param") && !is_loaded(symbol(&inst.operands[0]))
                })
            })
        },
    ),
];

/// Whether it has one result and no effect.
fn is_computed(inst: &Inst) -> bool {
    inst.is_pure() || inst.is(&["mov"]) && inst.result().is_some()
}

fn ends_block(line: &Line) -> bool {
    match line {
        Line::Inst(inst) => inst.ends_block(),
        _ => true,
    }
}

/// Whether one of `lines` reads what `inst` writes.
fn is_read_by(lines: &[Line], inst: &Inst) -> bool {
    let written = inst.writes();
    insts(lines).any(|other| other.reads().iter().any(|read| written.contains(read)))
}

/// What stands in the brackets of an address, up to an offset.
fn symbol(address: &str) -> &str {
    address.trim_matches(['[', ']']).split('+').next().unwrap_or_default()
}

fn remove_at(function: &[Line], is_unwanted: impl Fn(usize, &Inst) -> bool) -> Mutated {
    let is_kept = |&(at, line): &(usize, &Line)| match line {
        Line::Inst(inst) => !is_unwanted(at, inst),
        _ => true,
    };
    let out: Vec<Line> = function.iter().enumerate().filter(is_kept).map(|(_, line)| line.clone()).collect();
    (out.len() < function.len()).then_some(out)
}

/// Second results and elements of vectors that the rest of the block does not read become sinks.
fn sink_results(function: &[Line]) -> Mutated {
    let mut out = function.to_vec();
    for at in 0..function.len() {
        let rest = &function[at + 1..];
        let end = rest.iter().position(ends_block).map_or(rest.len(), |end| end + 1);
        let is_read = |name: &str| insts(&rest[..end]).any(|inst| inst.reads().contains(&name));
        let Line::Inst(inst) = &mut out[at] else { continue };
        let Some(result) = inst.operands.first_mut() else { continue };
        if let Some((first, second)) = result.split_once('|') {
            if first != "_" && second.starts_with('%') && !is_read(second) {
                *result = format!("{first}|_");
            }
        } else if let Some(list) = result.strip_prefix('{').and_then(|list| list.strip_suffix('}')) {
            let names: Vec<&str> = list.split(", ").collect();
            let kept: Vec<&str> = names.iter().map(|&name| if is_read(name) { name } else { "_" }).collect();
            if kept.iter().any(|&name| name != "_") {
                *result = format!("{{{}}}", kept.join(", "));
            }
        }
    }
    (out != function).then_some(out)
}

/// The `.reg` results of a function's head.
fn formal_results(function: &[Line]) -> Vec<&str> {
    let heads = function.iter().filter_map(|line| match line {
        Line::Other(text) => text.split_once(".func (").map(|(_, rest)| rest),
        _ => None,
    });
    heads.flat_map(|head| registers(head.split(')').next().unwrap_or_default())).collect()
}
