//! Mistakes about predicates, guards and comparisons.

use super::Mistake;
use super::line::Inst;
use super::text::{Change, each, expand, pairs};

/// Comparisons that hold where an operand is not a number, and those that do not.
const UNORDERED: [(&str, &str); 6] =
    [("ltu", "lt"), ("leu", "le"), ("gtu", "gt"), ("geu", "ge"), ("equ", "eq"), ("neu", "ne")];

pub const MISTAKES: [Mistake; 11] = [
    Mistake::new("guard-negation", "`@!p` is `@p`", [2, 10], |lines| each(lines, positive_guard)),
    Mistake::new("guard-dropped", "an instruction without a side effect needs no guard", [4, 10], |lines| {
        each(lines, |inst| (inst.is_pure() || inst.is(&["mov"])) && inst.guard.take().is_some())
    }),
    Mistake::new(
        "guarded-write-kills",
        "a guarded write ends the life of what was there before",
        [2, 14],
        |lines| {
            pairs(lines, |pair| {
                let written =
                    pair.first.result().filter(|_| pair.first.is_pure() || pair.first.is(&["mov"]))?;
                let kills = pair.second.guard.is_some() && pair.second.result() == Some(written);
                let is_dead = !pair
                    .between
                    .iter()
                    .any(|inst| inst.reads().contains(&written) || inst.writes().contains(&written))
                    && !pair.second.reads().contains(&written);
                (kills && is_dead && pair.first.guard.is_none()).then(|| Change::First(Vec::new()))
            })
        },
    ),
    Mistake::new(
        "guarded-value-reused",
        "a value computed under a guard is there for everyone",
        [2, 14],
        |lines| {
            pairs(lines, |pair| {
                let (first, second) = (pair.first, pair.second);
                let value = first.result().filter(|_| first.is_pure() && first.guard.is_some())?;
                let is_same = first.mnemonic == second.mnemonic && first.sources() == second.sources();
                let read = first.reads();
                let is_kept = pair.keeps(&read) && !read.contains(&value) && pair.keeps(&[value]);
                if is_same && is_kept && first.guard != second.guard { pair.reuse(value) } else { None }
            })
        },
    ),
    Mistake::new("second-result", "both results of a comparison are the first", [2, 22], |lines| {
        expand(lines, |inst| {
            let (first, second) = inst.operands.first()?.split_once('|').filter(|_| inst.is(&["setp"]))?;
            let is_read = first.starts_with('%') && second.starts_with('%');
            let copy = Inst::new("mov.pred", &[second, first]).guarded_like(inst);
            is_read.then(|| vec![inst.clone(), copy])
        })
    }),
    Mistake::new(
        "combination-operator",
        "a comparison joined by `.and` is joined by `.or`",
        [2, 12],
        |lines| {
            each(lines, |inst| {
                inst.is(&["setp", "set"]) && (inst.replace("and", "or") || inst.replace("or", "and"))
            })
        },
    ),
    Mistake::new("predicate-operator", "`and` of predicates is `or`", [2, 14], |lines| {
        each(lines, |inst| inst.has("pred") && (inst.replace("and", "or") || inst.replace("or", "and")))
    }),
    Mistake::new("source-negation", "a predicate read as `!p` is `p`", [2, 12], |lines| {
        each(lines, |inst| {
            let is_negated = inst.operands.iter().any(|operand| operand.starts_with('!'));
            for operand in &mut inst.operands {
                *operand = operand.trim_start_matches('!').to_owned();
            }
            is_negated
        })
    }),
    Mistake::new("literal-condition", "a predicate that is a literal is the other one", [2, 12], |lines| {
        each(lines, |inst| {
            let literal = inst.operands.get_mut(1).filter(|_| inst.mnemonic == "mov.pred");
            let other = match literal.as_deref().map(String::as_str) {
                Some("0") => "1",
                Some("1" | "-1") => "0",
                _ => return false,
            };
            literal.expect("it was looked at").replace_range(.., other);
            true
        })
    }),
    Mistake::new("unordered-comparison", "no operand of a comparison is not-a-number", [2, 18], |lines| {
        each(lines, |inst| {
            inst.is(&["setp", "set"])
                && UNORDERED.iter().any(|(unordered, ordered)| inst.replace(unordered, ordered))
        })
    }),
    Mistake::new("comparison-bound", "less-or-equal is less", [2, 22], |lines| {
        each(lines, |inst| {
            let is_integer = inst.last_part().starts_with(['s', 'u']);
            let bounds = [("le", "lt"), ("ge", "gt"), ("ls", "lo"), ("hs", "hi")];
            inst.is(&["setp"])
                && is_integer
                && bounds.iter().any(|(bound, strict)| inst.replace(bound, strict))
        })
    }),
];

fn positive_guard(inst: &mut Inst) -> bool {
    if inst.is(&["bra"]) {
        return false;
    }
    let positive = inst.guard.as_deref().and_then(|guard| guard.strip_prefix('!')).map(str::to_owned);
    let has_changed = positive.is_some();
    if has_changed {
        inst.guard = positive;
    }
    has_changed
}
