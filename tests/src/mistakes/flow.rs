//! Mistakes about where control goes.

use super::Mistake;
use super::line::{Inst, Line};
use super::text::{Change, Mutated, each, each_function, insts, pairs, remove};

pub const MISTAKES: [Mistake; 12] = [
    Mistake::new("branch-negated", "a condition may be negated and its arms kept", [2, 10], |lines| {
        each(lines, |inst| {
            let is_branch = inst.is(&["bra"]);
            let Some(guard) = inst.guard.as_mut().filter(|_| is_branch) else { return false };
            *guard = guard.strip_prefix('!').map_or_else(|| format!("!{guard}"), str::to_owned);
            true
        })
    }),
    Mistake::new(
        "branch-dropped",
        "the block that comes next in the text is the one that was meant",
        [2, 12],
        |lines| each_function(lines, drop_branches),
    ),
    Mistake::new("loop-bound", "a loop runs to its bound, the bound included", [2, 16], |lines| {
        pairs(lines, |pair| {
            let bounds = [("lt", "le"), ("le", "lt"), ("ge", "gt"), ("gt", "ge")];
            let compared = pair.first.result().filter(|_| pair.first.is(&["setp"]))?;
            let guard = pair.second.guard.as_deref()?.trim_start_matches('!');
            let mut first = pair.first.clone();
            let is_bound = pair.second.is(&["bra"]) && guard == compared && pair.keeps(&[compared]);
            let is_changed = is_bound && bounds.iter().any(|(from, to)| first.replace(from, to));
            is_changed.then(|| Change::First(vec![first]))
        })
    }),
    Mistake::new("round-early", "a loop that counts to a constant has a round less", [2, 10], |lines| {
        pairs(lines, |pair| {
            let compared = pair.first.result().filter(|_| pair.first.is(&["setp"]))?;
            let guard = pair.second.guard.as_deref()?.trim_start_matches('!');
            let bound: u32 =
                pair.first.operands.get(2)?.parse().ok().filter(|bound| (2..64).contains(bound))?;
            let is_bound = pair.second.is(&["bra"]) && guard == compared && pair.keeps(&[compared]);
            let mut first = pair.first.clone();
            first.operands[2] = (bound - 1).to_string();
            is_bound.then(|| Change::First(vec![first]))
        })
    }),
    Mistake::new(
        "round-forgets",
        "what is written under a guard has a name of its own in each round",
        [2, 10],
        |lines| {
            remove(lines, |inst| {
                inst.guard.is_some() && inst.result().is_some() && inst.is_pure() && !inst.is(&["setp"])
            })
        },
    ),
    Mistake::new("table-entry", "a jump table ends with its first target again", [2, 30], |lines| {
        each_function(lines, |function| {
            let out: Vec<Line> = function.iter().map(table_without_last).collect();
            (out != function).then_some(out)
        })
    }),
    Mistake::new("table-target", "a block that no branch names is unreachable", [2, 12], |lines| {
        each_function(lines, drop_targets)
    }),
    Mistake::new("trap-removed", "a trap has no result, so it is dead", [28, 22], |lines| {
        remove(lines, |inst| inst.is(&["trap"]))
    }),
    Mistake::new("exit-removed", "a thread that leaves early may as well run on", [2, 12], |lines| {
        remove(lines, |inst| inst.is(&["exit", "ret"]) && inst.guard.is_some())
    }),
    Mistake::new("return-exits", "the end of a function is the end of its thread", [2, 12], |lines| {
        each_function(lines, |function| {
            let is_device =
                function.iter().any(|line| matches!(line, Line::Other(text) if text.contains(".func ")));
            if is_device { each(function, |inst| inst.replace("ret", "exit")) } else { None }
        })
    }),
    Mistake::new("call-guarded", "a call of a guarded sequence needs no guard", [2, 20], |lines| {
        each(lines, |inst| inst.is(&["call"]) && inst.guard.take().is_some())
    }),
    Mistake::new("call-dead", "a call whose result nothing reads is dead", [2, 22], |lines| {
        each_function(lines, |function| {
            remove(function, |inst| inst.is(&["call"]) && !is_result_loaded(function, inst))
        })
    }),
];

fn drop_branches(function: &[Line]) -> Mutated {
    let mut out: Vec<Line> = Vec::with_capacity(function.len());
    for line in function {
        if let (Line::Label(label), Some(Line::Inst(inst))) = (line, out.last())
            && inst.is(&["bra"])
            && inst.guard.is_none()
            && inst.operands[0] != *label
        {
            out.pop();
        }
        out.push(line.clone());
    }
    (out.len() < function.len()).then_some(out)
}

const TABLE: &str = ".branchtargets ";

fn table_without_last(line: &Line) -> Line {
    let Line::Other(text) = line else { return line.clone() };
    let Some((head, targets)) = text.split_once(TABLE) else { return line.clone() };
    let mut targets: Vec<&str> = targets.trim_end_matches(';').split(", ").collect();
    let last = targets.len() - 1;
    targets[last] = targets[0];
    Line::Other(format!("{head}{TABLE}{};", targets.join(", ")))
}

/// Empties the blocks that only a table leads to.
fn drop_targets(function: &[Line]) -> Mutated {
    let is_named = |label: &str| insts(function).any(|inst| inst.is(&["bra"]) && inst.operands[0] == label);
    let mut out: Vec<Line> = Vec::with_capacity(function.len());
    let mut is_dropped = false;
    for line in function {
        match line {
            Line::Label(label) => {
                let falls_through = match out.last() {
                    Some(Line::Inst(last)) => {
                        !last.is(&["bra", "brx", "ret", "exit"]) || last.guard.is_some()
                    }
                    // Behind a label or a table comes what came before it.
                    _ => !is_dropped,
                };
                is_dropped = !falls_through && !is_named(label);
            }
            Line::Inst(_) if is_dropped => continue,
            Line::Other(text) if text.starts_with('}') => is_dropped = false,
            _ => {}
        }
        out.push(line.clone());
    }
    (out.len() < function.len()).then_some(out)
}

/// Whether `call` has a result that is loaded.
fn is_result_loaded(function: &[Line], call: &Inst) -> bool {
    let Some(results) = call.operands.first().filter(|_| call.operands.len() > 1) else { return false };
    let Some(names) = results.strip_prefix('(').and_then(|names| names.strip_suffix(')')) else {
        return false;
    };
    // `call f, (a)` has arguments only.
    names.split(", ").any(|name| {
        let is_there =
            |operand: &String| operand.strip_prefix('[').is_some_and(|address| address.starts_with(name));
        insts(function).any(|inst| inst.is(&["ld"]) && inst.operands.iter().any(is_there))
            || name.starts_with('%')
    })
}
