//! Mistakes about threads that meet: barriers, shuffles, votes, matrices, asynchronous copies.

use super::Mistake;
use super::line::{Inst, registers};
use super::text::{Change, each, expand, pairs, remove};

pub const MISTAKES: [Mistake; 8] = [
    Mistake::new("barrier-ignored", "a barrier has no result, so it is dead", [8, 68], |lines| {
        remove(lines, |inst| inst.is(&["bar", "barrier"]) && inst.has("sync") && !inst.has("warp"))
    }),
    Mistake::new("shuffle-guarded", "a shuffle need only run where its result is read", [0, 14], |lines| {
        pairs(lines, |pair| {
            let guard = pair.second.guard.as_deref()?;
            let result = pair.first.writes().first().copied().filter(|_| pair.first.is(&["shfl"]))?;
            let is_kept = pair.keeps(&registers(guard)) && !pair.first.writes_any(&registers(guard));
            let is_only = !pair.between.iter().any(|inst| inst.reads().contains(&result));
            let is_read = pair.second.reads().contains(&result);
            let mut guarded = pair.first.clone();
            guarded.guard = Some(guard.to_owned());
            (is_kept && is_only && is_read && pair.first.guard.is_none())
                .then(|| Change::First(vec![guarded]))
        })
    }),
    Mistake::new("shuffle-uniform", "all lanes of a shuffle hold one value", [2, 22], |lines| {
        expand(lines, |inst| {
            let result = inst.operands.first()?.split('|').next().filter(|_| inst.is(&["shfl"]))?;
            result.starts_with('%').then(|| {
                let copy = Inst::new("mov.b32", &[result, &inst.operands[1]]).guarded_like(inst);
                // The predicate stays: the shuffle still happens.
                if inst.operands[0].contains('|') { vec![inst.clone(), copy] } else { vec![copy] }
            })
        })
    }),
    Mistake::new("vote-quantifier", "a warp votes with one voice", [2, 14], |lines| {
        each(lines, |inst| inst.is(&["vote"]) && (inst.replace("any", "all") || inst.replace("all", "any")))
    }),
    Mistake::new("active-mask", "all threads of a warp are active", [2, 0], |lines| {
        expand(lines, |inst| {
            let result = inst.result().filter(|_| inst.is(&["activemask"]))?;
            Some(vec![Inst::new("mov.b32", &[result, "-1"]).guarded_like(inst)])
        })
    }),
    Mistake::new("lane-number", "a thread's lane is its number in x", [4, 46], |lines| {
        each(lines, |inst| {
            let is_lane = inst.operands.get(1).is_some_and(|operand| operand == "%laneid");
            if is_lane {
                inst.operands[1] = "%tid.x".to_owned();
            }
            is_lane
        })
    }),
    Mistake::new(
        "copy-not-awaited",
        "an asynchronous copy is done when the next instruction starts",
        [2, 12],
        |lines| remove(lines, |inst| inst.is(&["cp"]) && (inst.has("wait_group") || inst.has("wait_all"))),
    ),
    Mistake::new(
        "fragment-order",
        "the registers of a matrix fragment may stand in any order",
        [2, 10],
        |lines| {
            each(lines, |inst| {
                let is_matrix = inst.is(&["mma"]) && inst.operands.len() >= 4;
                let Some(operand) = inst.operands.get_mut(3).filter(|_| is_matrix) else { return false };
                let list = operand.trim_start_matches('{').trim_end_matches('}');
                let mut elements: Vec<&str> = list.split(", ").collect();
                let can = elements.len() > 1;
                elements.swap(0, usize::from(can));
                *operand = format!("{{{}}}", elements.join(", "));
                can
            })
        },
    ),
];
