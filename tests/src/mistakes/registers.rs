//! Mistakes about who holds which value: copies, redundant expressions, dead code.

use super::Mistake;
use super::line::{Inst, Line, registers, renamed};
use super::text::{Change, Mutated, Pair, Types, each_function, insts, is_read, pairs, remove};

pub const MISTAKES: [Mistake; 13] = [
    Mistake::new(
        "lost-copy",
        "a copy stands for its source, whatever is written to that since",
        [2, 14],
        |lines| {
            pairs(lines, |pair| {
                let (copy, source) = plain_copy(pair.first)?;
                let is_stale = !pair.keeps(&[source]) && pair.keeps(&[copy]);
                let is_read = pair.second.sources().iter().any(|operand| registers(operand).contains(&copy));
                (is_stale && is_read).then(|| {
                    let first = usize::from(pair.second.has_result());
                    let mut inst = pair.second.clone();
                    for operand in &mut inst.operands[first..] {
                        *operand = renamed(operand, copy, source);
                    }
                    Change::Second(vec![inst])
                })
            })
        },
    ),
    Mistake::new("start-alike", "values that go into a loop alike come around it alike", [2, 18], |lines| {
        each_function(lines, start_alike)
    }),
    Mistake::new(
        "move-repeated",
        "a register holds the number that was moved into it first",
        [2, 14],
        |lines| each_function(lines, move_once),
    ),
    Mistake::new(
        "swapped-phi",
        "copies at the end of a loop may be written in any order",
        [2, 12],
        |lines| each_function(lines, swap_copies),
    ),
    Mistake::new("coalesced-copies", "the two sides of a copy may share a register", [4, 0], |lines| {
        each_function(lines, coalesce)
    }),
    Mistake::new("backward-copy", "a copy may be made as soon as its source is computed", [4, 4], |lines| {
        pairs(lines, copy_early)
    }),
    Mistake::new(
        "operand-redefined",
        "an expression keeps its value when an operand is written again",
        [2, 12],
        |lines| {
            pairs(lines, |pair| {
                let value = same_expression(pair)?;
                let is_stale = !pair.keeps(&pair.first.reads()) || pair.first.reads().contains(&value);
                if is_stale && pair.keeps(&[value]) { pair.reuse(value) } else { None }
            })
        },
    ),
    Mistake::new("value-redefined", "a value stays in its register", [2, 24], |lines| {
        pairs(lines, |pair| {
            let value = same_expression(pair)?;
            let is_overwritten = !pair.keeps(&[value]) && pair.keeps(&pair.first.reads());
            if is_overwritten && !pair.first.reads().contains(&value) { pair.reuse(value) } else { None }
        })
    }),
    Mistake::new(
        "type-ignored",
        "the same operation on the same operands is the same in every type",
        [2, 26],
        |lines| {
            pairs(lines, |pair| {
                let (first, second) = (pair.first, pair.second);
                let value = first.result().filter(|_| first.is_pure() && first.guard.is_none())?;
                let is_near = first.base() == second.base() && first.mnemonic != second.mnemonic;
                let is_kept =
                    pair.keeps(&first.reads()) && pair.keeps(&[value]) && !first.reads().contains(&value);
                if is_near && is_kept && first.sources() == second.sources() {
                    pair.reuse(value)
                } else {
                    None
                }
            })
        },
    ),
    Mistake::new(
        "wrong-dominator",
        "what stands earlier in the text dominates what stands later",
        [6, 18],
        |lines| each_function(lines, reuse_across_blocks),
    ),
    Mistake::new(
        "carry-producer",
        "an addition whose sum nothing reads is dead, carry or not",
        [2, 22],
        |lines| remove_dead(lines, |inst| inst.has("cc")),
    ),
    Mistake::new("first-result-dead", "an instruction is dead when its first result is", [2, 10], |lines| {
        remove_dead(lines, |inst| inst.operands.first().is_some_and(|operand| operand.contains('|')))
    }),
    Mistake::new("atomic-result-dead", "an atomic is dead when nothing reads its result", [2, 14], |lines| {
        remove_dead(lines, |inst| inst.is(&["atom"]))
    }),
];

/// Target and source of an unguarded copy.
fn plain_copy(inst: &Inst) -> Option<(&str, &str)> {
    let copy = inst.result().filter(|_| inst.is(&["mov"]) && inst.guard.is_none())?;
    let source = inst.operands.get(1).filter(|source| source.starts_with('%') && !source.contains('.'))?;
    (source != copy).then_some((copy, source))
}

/// What goes to a copy goes there at once, though something in between names the register of the copy.
fn copy_early(pair: &Pair) -> Option<Change> {
    let (copy, source) = plain_copy(pair.second)?;
    let computed = pair.first.result().filter(|&result| result == source && pair.first.guard.is_none())?;
    let is_named = pair.between.iter().any(|inst| inst.reads().contains(&copy) || inst.writes_any(&[copy]));
    (is_named && pair.keeps(&[computed]))
        .then(|| Change::First(vec![pair.first.clone(), pair.second.clone()]))
}

/// The value of the first of two equal expressions.
fn same_expression<'a>(pair: &Pair<'a>) -> Option<&'a str> {
    let (first, second) = (pair.first, pair.second);
    let value = first.result().filter(|_| first.is_pure() && first.guard.is_none())?;
    (first.mnemonic == second.mnemonic && first.sources() == second.sources()).then_some(value)
}

/// Two neighbouring copies change places where the first reads what the second writes.
fn swap_copies(function: &[Line]) -> Mutated {
    let mut out = function.to_vec();
    let mut has_changed = false;
    for at in 1..out.len() {
        let (Line::Inst(first), Line::Inst(second)) = (&out[at - 1], &out[at]) else { continue };
        let depends = match (plain_copy(first), plain_copy(second)) {
            (Some((one, source)), Some((other, from))) => source == other || one == from,
            _ => false,
        };
        if depends {
            out.swap(at - 1, at);
            has_changed = true;
        }
    }
    has_changed.then_some(out)
}

/// The first copy between two registers of a type: both become one.
fn coalesce(function: &[Line]) -> Mutated {
    let types = Types::of(function);
    let is_loose = |(copy, source): &(&str, &str)| {
        types.copied_as(copy).is_some_and(|ty| types.copied_as(source) == Some(ty))
    };
    // A register that is written once, by this copy, may well share.
    let is_written_again =
        |&(copy, _): &(&str, &str)| insts(function).filter(|inst| inst.writes().contains(&copy)).count() > 1;
    let (copy, source) = insts(function).filter_map(plain_copy).filter(is_loose).find(is_written_again)?;
    let rename = |line: &Line| match line {
        Line::Inst(inst) => {
            let mut inst = inst.clone();
            for operand in inst.operands.iter_mut().chain(&mut inst.guard) {
                *operand = renamed(operand, copy, source);
            }
            Line::Inst(inst)
        }
        _ => line.clone(),
    };
    Some(function.iter().map(rename).collect())
}

/// Reuses the value of an equal expression of an earlier block, where nothing in the text between the two writes the
/// registers concerned.
fn reuse_across_blocks(function: &[Line]) -> Mutated {
    let types = Types::of(function);
    let mut known: Vec<(usize, &Inst)> = Vec::new();
    let mut out = function.to_vec();
    let (mut block, mut has_changed) = (0, false);
    for (at, line) in function.iter().enumerate() {
        let inst = match line {
            Line::Inst(inst) => inst,
            Line::Label(_) => {
                block += 1;
                continue;
            }
            Line::Other(_) => continue,
        };
        let is_leader = inst.is_pure() && inst.guard.is_none();
        let found = known.iter().rev().find(|(home, leader)| {
            *home < block
                && is_leader
                && leader.mnemonic == inst.mnemonic
                && leader.sources() == inst.sources()
        });
        if let Some((_, leader)) = found {
            let pair = Pair { first: leader, between: &[], second: inst, types: &types };
            if let Some(Change::Second(copy)) = leader.result().and_then(|value| pair.reuse(value)) {
                out[at] = Line::Inst(copy.into_iter().next().expect("a copy is one instruction"));
                has_changed = true;
            }
        }
        let written = inst.writes();
        known.retain(|(_, leader)| {
            !leader.writes_any(&written) && !leader.reads().iter().any(|read| written.contains(read))
        });
        if is_leader && !inst.reads().iter().any(|read| written.contains(read)) {
            known.push((block, inst));
        }
        block += usize::from(inst.ends_block());
    }
    has_changed.then_some(out)
}

/// Takes away what writes a first result that its function does not read.
fn remove_dead(lines: &[Line], is_candidate: impl Fn(&Inst) -> bool) -> Mutated {
    each_function(lines, |function| {
        remove(function, |inst| {
            let is_dead = || {
                let first = inst.operands[0].split('|').next().unwrap_or_default();
                !registers(first).iter().any(|register| is_read(function, register))
            };
            is_candidate(inst) && inst.has_result() && is_dead()
        })
    })
}

/// Of two registers that get one literal right after one another, and others later, the second is read as the first.
fn start_alike(function: &[Line]) -> Mutated {
    let moves: Vec<&Inst> = insts(function).collect();
    let written = |register: &str| moves.iter().filter(|inst| inst.writes().contains(&register)).count();
    let is_start = |inst: &Inst| {
        let is_literal = inst.operands.get(1).is_some_and(|source| registers(source).is_empty());
        inst.is(&["mov"])
            && inst.guard.is_none()
            && is_literal
            && inst.result().is_some_and(|to| written(to) > 1)
    };
    let twins = moves.windows(2).find_map(|pair| {
        let [first, second] = [pair[0], pair[1]];
        let are_alike = is_start(first) && is_start(second) && first.mnemonic == second.mnemonic;
        let (one, other) = (first.result()?, second.result()?);
        (are_alike && first.operands[1] == second.operands[1] && one != other).then_some((one, other))
    });
    let (one, other) = twins?;
    let rename = |line: &Line| match line {
        Line::Inst(inst) => {
            let mut inst = inst.clone();
            let first = usize::from(inst.has_result());
            for operand in inst.operands.iter_mut().skip(first) {
                *operand = renamed(operand, other, one);
            }
            Line::Inst(inst)
        }
        _ => line.clone(),
    };
    let out: Vec<Line> = function.iter().map(rename).collect();
    (out != function).then_some(out)
}

/// A move of a literal goes where the same one stands before it, and something else is written to its register in between.
fn move_once(function: &[Line]) -> Mutated {
    let mut out = Vec::with_capacity(function.len());
    // Moves of literals, and whether their registers were written since.
    let mut moves: Vec<(&Inst, bool)> = Vec::new();
    for line in function {
        if let Line::Inst(inst) = line {
            let is_literal = inst.operands.get(1).is_some_and(|source| registers(source).is_empty());
            let is_move = inst.is(&["mov"]) && inst.guard.is_none() && is_literal;
            if is_move && moves.iter().any(|&(first, is_stale)| is_stale && first == inst) {
                continue;
            }
            let written = inst.writes();
            for (first, is_stale) in &mut moves {
                *is_stale |= first.writes_any(&written);
            }
            if is_move {
                moves.push((inst, false));
            }
        }
        out.push(line.clone());
    }
    (out.len() < function.len()).then_some(out)
}
