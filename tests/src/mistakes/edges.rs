//! Mistakes about the edges of the graph: loops, their entries, latches and exits, and what falls through.

use super::Mistake;
use super::line::{Inst, Line, registers};
use super::text::{Mutated, each_function};
use std::collections::BTreeSet;

pub const MISTAKES: [Mistake; 12] = [
    Mistake::new(
        "preheader-edge",
        "what stands before a loop may stand where every edge to its header passes",
        [2, 10],
        |lines| each_function(lines, preheader_in_loop),
    ),
    Mistake::new("latch-guard", "back edges that become one are all taken", [2, 12], |lines| {
        each_function(lines, drop_latch_guards)
    }),
    Mistake::new("latch-skipped", "a jump to the latch is a jump to the header", [2, 16], |lines| {
        each_function(lines, skip_latches)
    }),
    Mistake::new("loop-exits", "all exits of a loop lead to one place", [2, 24], |lines| {
        each_function(lines, merge_exits)
    }),
    Mistake::new("loop-entries", "who enters a loop enters it by its header", [2, 22], |lines| {
        each_function(lines, merge_entries)
    }),
    Mistake::new(
        "threaded-condition",
        "a block that starts with a branch hands everybody on to its target",
        [6, 40],
        |lines| each_function(lines, thread_conditions),
    ),
    Mistake::new("arms-swapped", "the arms may be swapped and the condition kept", [2, 14], |lines| {
        each_function(lines, swap_arms)
    }),
    Mistake::new("parallel-edges", "two edges from one block to another are one", [2, 12], |lines| {
        each_function(lines, |function| {
            let out: Vec<Line> = function.iter().map(table_without_duplicates).collect();
            (out != function).then_some(out)
        })
    }),
    Mistake::new("branch-crossed", "what follows a guarded branch may come before it", [6, 18], |lines| {
        each_function(lines, cross_branches)
    }),
    Mistake::new("sunk-past-branch", "what the next block reads, no other way reads", [2, 12], |lines| {
        each_function(lines, sink_past_branches)
    }),
    Mistake::new("guarded-end", "nothing runs past the end of a thread, guarded or not", [2, 12], |lines| {
        each_function(lines, cut_after_ends)
    }),
    Mistake::new("fall-through-lost", "a block that is moved needs no new branch", [2, 16], |lines| {
        each_function(lines, move_to_the_end)
    }),
];

/// Where a branch goes.
fn target(line: &Line) -> Option<&str> {
    match line {
        Line::Inst(inst) if inst.is(&["bra"]) => Some(&inst.operands[0]),
        _ => None,
    }
}

fn set_target(line: &mut Line, label: &str) {
    if let Line::Inst(inst) = line {
        inst.operands[0] = label.to_owned();
    }
}

fn inst(line: &Line) -> Option<&Inst> {
    match line {
        Line::Inst(inst) => Some(inst),
        _ => None,
    }
}

fn is_guarded(line: &Line) -> bool {
    inst(line).is_some_and(|inst| inst.guard.is_some())
}

/// Whether control never comes to the next line.
fn is_closed(line: &Line) -> bool {
    inst(line).is_some_and(|inst| inst.is(&["bra", "brx", "ret", "exit", "trap"]) && inst.guard.is_none())
}

/// The lines from the label of a loop's header to its last branch back, as far as the text tells.
fn loops(function: &[Line]) -> Vec<(usize, usize)> {
    let header = |(at, line): (usize, &Line)| {
        let Line::Label(label) = line else { return None };
        let last = function.iter().rposition(|line| target(line) == Some(label)).filter(|&last| last > at)?;
        Some((at, last))
    };
    function.iter().enumerate().filter_map(header).collect()
}

fn label(line: &Line) -> &str {
    match line {
        Line::Label(label) => label,
        _ => "",
    }
}

/// The instruction before a loop moves past the header's label.
fn preheader_in_loop(function: &[Line]) -> Mutated {
    let mut out = function.to_vec();
    for (header, _) in loops(function) {
        let before = header.checked_sub(1).and_then(|before| inst(&function[before]));
        if before.is_some_and(|inst| inst.is_pure() || inst.is(&["mov"])) {
            out.swap(header - 1, header);
        }
    }
    (out != function).then_some(out)
}

/// Of a loop with several branches back, all but the last lose their guards.
fn drop_latch_guards(function: &[Line]) -> Mutated {
    let mut out = function.to_vec();
    for (header, last) in loops(function) {
        for line in &mut out[header..last] {
            if let (true, Line::Inst(inst)) = (target(line) == Some(label(&function[header])), line) {
                inst.guard = None;
            }
        }
    }
    (out != function).then_some(out)
}

/// Branches to a block that ends in the branch back go to the header.
fn skip_latches(function: &[Line]) -> Mutated {
    let mut out = function.to_vec();
    for (header, last) in loops(function) {
        let Some(latch) = (header + 1..last).rev().find(|&at| matches!(function[at], Line::Label(_))) else {
            continue;
        };
        for line in &mut out[header..latch] {
            if target(line) == Some(label(&function[latch])) {
                set_target(line, label(&function[header]));
            }
        }
    }
    (out != function).then_some(out)
}

fn labels(lines: &[Line]) -> BTreeSet<&str> {
    lines.iter().map(label).filter(|label| !label.is_empty()).collect()
}

/// All guarded branches out of a loop go where the first one goes.
fn merge_exits(function: &[Line]) -> Mutated {
    let mut out = function.to_vec();
    for (header, last) in loops(function) {
        let inside = labels(&function[header..last]);
        let leaves = |line: &Line| {
            let to = target(line).filter(|to| !inside.contains(to))?;
            is_guarded(line).then(|| to.to_owned())
        };
        let Some(first) = function[header..last].iter().find_map(leaves) else { continue };
        for line in &mut out[header..last] {
            if leaves(line).is_some() {
                set_target(line, &first);
            }
        }
    }
    (out != function).then_some(out)
}

/// Branches from before a loop into its middle go to its header.
fn merge_entries(function: &[Line]) -> Mutated {
    let mut out = function.to_vec();
    for (header, last) in loops(function) {
        let inside = labels(&function[header + 1..last]);
        for line in &mut out[..header] {
            if target(line).is_some_and(|to| inside.contains(to)) {
                set_target(line, label(&function[header]));
            }
        }
    }
    (out != function).then_some(out)
}

/// Branches to a block that starts with a guarded branch go to the target of that.
fn thread_conditions(function: &[Line]) -> Mutated {
    let mut out = function.to_vec();
    for pair in function.windows(2) {
        let ([Line::Label(from), branch], Some(to)) = (pair, target(&pair[1])) else { continue };
        if is_guarded(branch) && to != from {
            for line in &mut out {
                if target(line) == Some(from) {
                    set_target(line, to);
                }
            }
        }
    }
    (out != function).then_some(out)
}

/// `@p bra a; bra b;` becomes `@p bra b; bra a;`.
fn swap_arms(function: &[Line]) -> Mutated {
    let mut out = function.to_vec();
    for at in 1..function.len() {
        let (Some(one), Some(other)) = (target(&function[at - 1]), target(&function[at])) else { continue };
        if is_guarded(&function[at - 1]) && !is_guarded(&function[at]) {
            set_target(&mut out[at - 1], other);
            set_target(&mut out[at], one);
        }
    }
    (out != function).then_some(out)
}

/// A table names each target once; those after move up, and the last one fills the rest.
fn table_without_duplicates(line: &Line) -> Line {
    const TABLE: &str = ".branchtargets ";
    let Line::Other(text) = line else { return line.clone() };
    let Some((head, targets)) = text.split_once(TABLE) else { return line.clone() };
    let targets: Vec<&str> = targets.trim_end_matches(';').split(", ").collect();
    let mut seen = BTreeSet::new();
    let mut kept: Vec<&str> = targets.iter().copied().filter(|&target| seen.insert(target)).collect();
    let last = kept[kept.len() - 1];
    kept.resize(targets.len(), last);
    Line::Other(format!("{head}{TABLE}{};", kept.join(", ")))
}

/// Computations of the block after a guarded branch move in front of it.
fn cross_branches(function: &[Line]) -> Mutated {
    let mut out = function.to_vec();
    for at in 1..function.len() {
        let (Some(branch), Some(next)) = (inst(&function[at - 1]), inst(&function[at])) else { continue };
        let Some(guard) = branch.guard.as_deref().filter(|_| branch.is(&["bra"])) else { continue };
        let is_moved = next.is_pure() || next.is(&["mov"]);
        if is_moved && next.guard.is_none() && !next.writes_any(&registers(guard)) {
            out.swap(at - 1, at);
        }
    }
    (out != function).then_some(out)
}

/// Computations right before a guarded branch move after it.
fn sink_past_branches(function: &[Line]) -> Mutated {
    let mut out = function.to_vec();
    for at in 1..function.len() {
        let (Some(last), Some(branch)) = (inst(&function[at - 1]), inst(&function[at])) else { continue };
        let Some(guard) = branch.guard.as_deref().filter(|_| branch.is(&["bra"])) else { continue };
        if last.is_pure() && last.guard.is_none() && !last.writes_any(&registers(guard)) {
            out.swap(at - 1, at);
        }
    }
    (out != function).then_some(out)
}

/// What stands between a guarded end and the next label goes.
fn cut_after_ends(function: &[Line]) -> Mutated {
    let mut is_cut = false;
    let mut out = Vec::with_capacity(function.len());
    for line in function {
        match line {
            Line::Inst(inst) => {
                if !is_cut || is_closed(line) {
                    out.push(line.clone());
                }
                is_cut |= inst.is(&["ret", "exit", "trap"]) && inst.guard.is_some();
            }
            _ => {
                is_cut = false;
                out.push(line.clone());
            }
        }
    }
    (out != function).then_some(out)
}

/// The first block that only branches lead to and that falls through moves to the end of its function.
fn move_to_the_end(function: &[Line]) -> Mutated {
    let is_start = |at: usize| matches!(function[at], Line::Label(_)) && is_closed(&function[at - 1]);
    let end_of = |start: usize| {
        let is_end = |line: &Line| !matches!(line, Line::Inst(_));
        function[start + 1..].iter().position(is_end).map(|length| start + 1 + length)
    };
    let is_wanted = |&(start, end): &(usize, usize)| {
        let falls_through = end > start + 1 && !is_closed(&function[end - 1]);
        falls_through && matches!(function[end], Line::Label(_))
    };
    let starts = (1..function.len()).filter(|&at| is_start(at));
    let (start, end) = starts.filter_map(|start| Some((start, end_of(start)?))).find(is_wanted)?;
    let close = function.iter().rposition(|line| matches!(line, Line::Other(text) if text == "}"))?;
    let ret = Line::Inst(Inst::new("ret", &[]));
    let parts: [&[Line]; 5] = [
        &function[..start],
        &function[end..close],
        // What ran off the end before still ends there.
        std::slice::from_ref(&ret),
        &function[start..end],
        &function[close..],
    ];
    Some(parts.concat())
}
