//! Mistakes about Flow blocks: what threads carry to them, and where they lead.

use super::Mistake;
use super::line::{Inst, Line};
use super::text::{Mutated, each_function};

pub const MISTAKES: [Mistake; 5] = [
    Mistake::new(
        "flow-inverted",
        "the predicate of a Flow block says that its part has run",
        [2, 0],
        |lines| {
            each_function(lines, |function| {
                in_flows(function, |inst| {
                    let Some(guard) = inst.guard.as_mut() else { return false };
                    *guard = guard.strip_prefix('!').map_or_else(|| format!("!{guard}"), str::to_owned);
                    true
                })
            })
        },
    ),
    Mistake::new("flow-number", "numbers of targets count from one", [2, 0], |lines| {
        each_function(lines, |function| {
            in_flows(function, |inst| {
                let number = inst.operands.get(2).and_then(|number| number.parse::<u32>().ok());
                let Some(number) = number else { return false };
                inst.operands[2] = (number + 1).to_string();
                true
            })
        })
    }),
    Mistake::new(
        "flow-value-missing",
        "what was set for a Flow block on one edge is set on all",
        [2, 0],
        |lines| each_function(lines, drop_settings),
    ),
    Mistake::new(
        "flow-value-hoisted",
        "a value for a Flow block costs nothing, so it may be set on all ways",
        [2, 0],
        |lines| each_function(lines, |function| in_settings(function, |inst| inst.guard.take().is_some())),
    ),
    Mistake::new(
        "flow-threaded",
        "a branch to a Flow block may go where that branches to",
        [2, 0],
        |lines| each_function(lines, thread_flows),
    ),
];

fn is_flow(line: &Line) -> bool {
    matches!(line, Line::Label(label) if label.starts_with("Flow"))
}

/// Lets `change` change the instructions of Flow blocks: all up to the first branch.
fn in_flows(function: &[Line], change: impl Fn(&mut Inst) -> bool) -> Mutated {
    let mut out = function.to_vec();
    let (mut is_inside, mut has_changed) = (false, false);
    for line in &mut out {
        is_inside |= is_flow(line);
        if let (true, Line::Inst(inst)) = (is_inside, line) {
            has_changed |= change(inst);
            is_inside = !inst.is(&["bra"]);
        }
    }
    has_changed.then_some(out)
}

/// The registers that threads carry to Flow blocks: what those test.
fn carriers(function: &[Line]) -> Vec<&str> {
    let tested = function.windows(2).filter_map(|pair| match &pair[1] {
        Line::Inst(inst) if is_flow(&pair[0]) => match &inst.guard {
            Some(guard) => Some(guard.trim_start_matches('!')),
            None => inst.operands.get(1).map(String::as_str),
        },
        _ => None,
    });
    tested.collect()
}

/// Lets `change` change what sets them.
fn in_settings(function: &[Line], change: impl Fn(&mut Inst) -> bool) -> Mutated {
    let carriers = carriers(function);
    let mut out = function.to_vec();
    let mut has_changed = false;
    for line in &mut out {
        if let Line::Inst(inst) = line
            && sets(inst, &carriers)
        {
            has_changed |= change(inst);
        }
    }
    has_changed.then_some(out)
}

fn sets(inst: &Inst, carriers: &[&str]) -> bool {
    inst.is(&["mov"]) && carriers.contains(&inst.operands[0].as_str())
}

/// Takes every setting but the first of each register away.
fn drop_settings(function: &[Line]) -> Mutated {
    let carriers = carriers(function);
    let mut seen: Vec<&str> = Vec::new();
    let mut out = Vec::with_capacity(function.len());
    for line in function {
        if let Line::Inst(inst) = line
            && sets(inst, &carriers)
        {
            let carrier = inst.operands[0].as_str();
            if seen.contains(&carrier) {
                continue;
            }
            seen.push(carrier);
        }
        out.push(line.clone());
    }
    (out.len() < function.len()).then_some(out)
}

/// Branches to a Flow block go where its branch goes.
fn thread_flows(function: &[Line]) -> Mutated {
    let mut out = function.to_vec();
    for (at, label) in function.iter().enumerate().filter(|(_, line)| is_flow(line)) {
        let Line::Label(label) = label else { continue };
        let to = function[at..].iter().find_map(|line| match line {
            Line::Inst(inst) if inst.is(&["bra"]) => Some(&inst.operands[0]),
            _ => None,
        });
        let Some(to) = to else { continue };
        for line in &mut out {
            if let Line::Inst(inst) = line
                && inst.is(&["bra"])
                && inst.operands[0] == *label
            {
                inst.operands[0].clone_from(to);
            }
        }
    }
    (out != function).then_some(out)
}
