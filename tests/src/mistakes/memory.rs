//! Mistakes about memory: who may write what is read, and what a load makes of it.

use super::Mistake;
use super::line::{Inst, Line, registers, renamed};
use super::text::{Change, Mutated, Pair, each, each_function, insts, pairs, remove};

pub const MISTAKES: [Mistake; 15] = [
    Mistake::new(
        "load-across-store",
        "a store to another register's address does not alias",
        [2, 26],
        |lines| {
            pairs(
                lines,
                |pair| if pair.between.iter().any(|inst| is_write(inst)) { reload(pair) } else { None },
            )
        },
    ),
    Mistake::new("load-across-barrier", "memory is the same before and after a barrier", [2, 22], |lines| {
        pairs(lines, |pair| {
            let is_wall = pair.between.iter().any(|inst| is_barrier(inst));
            // A store of its own to the same address is seen.
            let from = pair.second.operands.get(1)?;
            let is_own = |inst: &&Inst| is_write(inst) && inst.operands.contains(from);
            if is_wall && !pair.between.iter().any(is_own) { reload(pair) } else { None }
        })
    }),
    Mistake::new("volatile-load", "a volatile load is a load", [4, 10], |lines| {
        pairs(lines, |pair| {
            let is_wanted = pair.first.has("volatile") && pair.first.mnemonic == pair.second.mnemonic;
            if is_wanted { same_place(pair) } else { None }
        })
    }),
    Mistake::new(
        "generic-store",
        "a store without a space misses shared and local memory",
        [2, 14],
        |lines| {
            pairs(lines, |pair| {
                let in_space =
                    |inst: &Inst| ["global", "shared", "local", "param"].iter().any(|space| inst.has(space));
                let is_near = pair.first.has("shared") || pair.first.has("local");
                let is_hidden = pair.between.iter().any(|inst| inst.is(&["st"]) && !in_space(inst));
                if is_near && is_hidden { reload(pair) } else { None }
            })
        },
    ),
    Mistake::new("store-guarded", "a store of a guarded sequence needs no guard", [6, 22], |lines| {
        each(lines, |inst| inst.is(&["st"]) && inst.guard.take().is_some())
    }),
    Mistake::new(
        "store-before-load",
        "a store is dead when a later one covers it, whatever reads between",
        [2, 16],
        |lines| {
            pairs(lines, |pair| {
                let is_read = pair.between.iter().any(|inst| inst.is(&["ld", "atom"]));
                if is_read { overwritten(pair) } else { None }
            })
        },
    ),
    Mistake::new(
        "store-before-barrier",
        "a store is dead when one after a barrier covers it",
        [2, 16],
        |lines| {
            pairs(lines, |pair| {
                let is_wall = pair.between.iter().any(|inst| is_barrier(inst));
                if is_wall { overwritten(pair) } else { None }
            })
        },
    ),
    Mistake::new("store-forwarded", "a stored value is still there after another store", [4, 26], |lines| {
        pairs(lines, |pair| {
            let is_hidden = pair.between.iter().any(|inst| is_write(inst));
            let is_same = pair.first.last_part() == pair.second.last_part();
            if is_hidden && is_same { forward(pair) } else { None }
        })
    }),
    Mistake::new(
        "store-truncates",
        "a load gives back the register that a narrow store wrote",
        [2, 44],
        |lines| {
            pairs(lines, |pair| {
                let value = pair.first.operands.get(1)?;
                let register = bits(&pair.types.copied_as(value)?);
                let is_narrow = bits(pair.first.last_part()).min(bits(pair.second.last_part())) < register;
                if is_narrow { forward(pair) } else { None }
            })
        },
    ),
    Mistake::new("narrow-load", "a narrow load clears the upper bits, signed or not", [2, 14], |lines| {
        each(lines, |inst| inst.is(&["ld"]) && (inst.replace("s8", "u8") || inst.replace("s16", "u16")))
    }),
    Mistake::new("vector-order", "the elements of a vector may stand in any order", [2, 12], |lines| {
        each(lines, |inst| inst.is(&["ld", "st"]) && inst.operands.iter_mut().any(swap_elements))
    }),
    Mistake::new(
        "load-hoisted",
        "a load from an address that a loop does not change is invariant",
        [4, 24],
        |lines| each_function(lines, hoist),
    ),
    Mistake::new("local-slots", "two local variables may share a slot", [4, 24], |lines| {
        each_function(lines, merge_slots)
    }),
    Mistake::new(
        "local-array-as-slots",
        "what lies at a constant offset in local memory is accessed by that offset only",
        [6, 12],
        |lines| each_function(lines, forget_unnamed_reads),
    ),
    Mistake::new("local-halves", "the upper half of a value in local memory comes first", [2, 14], |lines| {
        each_function(lines, swap_halves)
    }),
];

/// What an access to local memory at a constant offset from the frame or a variable names, and its offset.
fn local_place(inst: &Inst) -> Option<(&str, u32)> {
    let at = usize::from(inst.is(&["ld"]));
    let is_access = inst.is(&["ld", "st"]) && !inst.has("volatile");
    let address = inst.operands.get(at).filter(|_| is_access)?.strip_prefix('[')?.strip_suffix(']')?;
    let (base, offset) = address.split_once('+').unwrap_or((address, "0"));
    let is_local = base.starts_with("%SP") || inst.has("local") && !base.starts_with('%');
    Some((base, offset.parse().ok()?)).filter(|_| is_local)
}

/// Stores to local memory go when no load names their bytes.
fn forget_unnamed_reads(function: &[Line]) -> Mutated {
    let width = |inst: &Inst| {
        let lanes = [("v2", 2), ("v4", 4), ("v8", 8)].iter().find(|(lanes, _)| inst.has(lanes));
        bits(inst.last_part()) / 8 * lanes.map_or(1, |&(_, count)| count)
    };
    let place = |inst: &Inst| {
        let (base, offset) = local_place(inst)?;
        Some((base.to_owned(), offset..offset + width(inst)))
    };
    let reads: Vec<_> = insts(function).filter(|inst| inst.is(&["ld"])).filter_map(place).collect();
    remove(function, |inst| {
        let Some((base, bytes)) = place(inst).filter(|_| inst.is(&["st"])) else { return false };
        let is_read = |(other, read): &(String, std::ops::Range<u32>)| {
            *other == base && read.start < bytes.end && bytes.start < read.end
        };
        !reads.iter().any(is_read)
    })
}

/// Loads of one half of what a wide store wrote to local memory take the other half.
fn swap_halves(function: &[Line]) -> Mutated {
    let wide: Vec<(String, u32)> = insts(function)
        .filter(|inst| inst.is(&["st"]) && bits(inst.last_part()) == 64)
        .filter_map(|inst| local_place(inst).map(|(base, offset)| (base.to_owned(), offset)))
        .collect();
    each(function, |inst| {
        let Some((base, offset)) = local_place(inst).filter(|_| inst.is(&["ld"])) else { return false };
        let is_half = bits(inst.last_part()) == 32 && !inst.operands[0].starts_with('{');
        if !is_half || !wide.contains(&(base.to_owned(), offset & !7)) {
            return false;
        }
        let other = format!("[{base}+{}]", offset ^ 4);
        inst.operands[1] = other;
        true
    })
}

pub fn is_write(inst: &Inst) -> bool {
    inst.is(&["st", "atom", "red"])
}

fn is_barrier(inst: &Inst) -> bool {
    inst.is(&["bar", "barrier"])
}

/// A load of memory that others may write.
pub fn is_plain_load(inst: &Inst) -> bool {
    inst.is(&["ld"]) && !["volatile", "param", "relaxed", "acquire"].iter().any(|part| inst.has(part))
}

/// Two equal loads: the second becomes a copy.
fn reload(pair: &Pair) -> Option<Change> {
    let is_same = is_plain_load(pair.first) && pair.first.mnemonic == pair.second.mnemonic;
    if is_same && !pair.first.has("const") { same_place(pair) } else { None }
}

/// Two loads from one address, as its text says: the second becomes a copy.
fn same_place(pair: &Pair) -> Option<Change> {
    let (first, second) = (pair.first, pair.second);
    let value =
        first.result().filter(|_| first.is(&["ld"]) && second.is(&["ld"]) && first.guard.is_none())?;
    let address = registers(&first.operands[1]);
    let is_kept = pair.keeps(&address) && pair.keeps(&[value]) && !address.contains(&value);
    if is_kept && first.operands[1] == second.operands[1] { pair.reuse(value) } else { None }
}

/// Two stores to one address, as its text says: the first goes.
fn overwritten(pair: &Pair) -> Option<Change> {
    let (first, second) = (pair.first, pair.second);
    let is_plain = first.is(&["st"]) && !first.has("param") && !first.has("volatile");
    let covers = first.mnemonic == second.mnemonic
        && first.operands.first() == second.operands.first()
        && second.guard.is_none();
    (is_plain && covers && pair.keeps(&registers(&first.operands[0]))).then(|| Change::First(Vec::new()))
}

/// A store and a load from its address: the load becomes a copy.
fn forward(pair: &Pair) -> Option<Change> {
    let (store, load) = (pair.first, pair.second);
    let is_pair = store.is(&["st"]) && load.is(&["ld"]) && store.guard.is_none() && !store.has("param");
    let [address, value] = &store.operands[..] else { return None };
    let is_kept = pair.keeps(&registers(address)) && pair.keeps(&[value]);
    if is_pair && is_kept && load.operands.get(1) == Some(address) { pair.reuse(value) } else { None }
}

/// Bits of a type.
fn bits(ty: &str) -> u32 {
    ty.trim_start_matches(|first: char| first.is_ascii_alphabetic()).parse().unwrap_or(0)
}

fn swap_elements(operand: &mut String) -> bool {
    let Some(list) = operand.strip_prefix('{').and_then(|list| list.strip_suffix('}')) else { return false };
    let mut elements: Vec<&str> = list.split(", ").collect();
    let can = elements.len() > 1 && elements[0] != elements[1];
    elements.swap(0, usize::from(can));
    *operand = format!("{{{}}}", elements.join(", "));
    can
}

/// The first load of each loop whose address the loop does not change moves before its header.
fn hoist(function: &[Line]) -> Mutated {
    let is_to = |line: &Line, label: &str| match line {
        Line::Inst(inst) => inst.is(&["bra"]) && inst.operands[0] == label,
        _ => false,
    };
    let mut out = function.to_vec();
    let mut has_changed = false;
    for at in 0..function.len() {
        let Line::Label(label) = &out[at] else { continue };
        let Some(last) = out.iter().rposition(|line| is_to(line, label)).filter(|&last| last > at) else {
            continue;
        };
        let in_loop = &out[at + 1..last];
        let is_end = |line: &Line| !matches!(line, Line::Inst(inst) if !inst.ends_block());
        let header = in_loop.iter().position(is_end).unwrap_or(in_loop.len());
        let is_invariant = |line: &Line| match line {
            Line::Inst(inst) => {
                let address = inst.reads();
                let written =
                    |register: &str| insts(in_loop).filter(|inst| inst.writes().contains(&register)).count();
                is_plain_load(inst)
                    && inst.guard.is_none()
                    && !address.iter().any(|register| written(register) > 0)
                    && inst.writes().iter().all(|register| written(register) == 1)
            }
            _ => false,
        };
        let has_writes = insts(in_loop).any(is_write);
        if let Some(load) = in_loop[..header].iter().position(is_invariant).filter(|_| has_writes) {
            let load = out.remove(at + 1 + load);
            out.insert(at, load);
            has_changed = true;
        }
    }
    has_changed.then_some(out)
}

/// The second local variable of a function goes where the first is.
fn merge_slots(function: &[Line]) -> Mutated {
    let name = |line: &Line| match line {
        Line::Other(text) if text.starts_with("\t.local ") => {
            let name = text.rsplit(' ').next()?.split(['[', ';']).next()?;
            Some(name.to_owned())
        }
        _ => None,
    };
    let names: Vec<String> = function.iter().filter_map(name).collect();
    let [first, second, ..] = &names[..] else { return None };
    let rename = |line: &Line| match line {
        Line::Inst(inst) => {
            let mut inst = inst.clone();
            for operand in &mut inst.operands {
                *operand = renamed(operand, second, first);
            }
            Line::Inst(inst)
        }
        _ => line.clone(),
    };
    let out: Vec<Line> = function.iter().map(rename).collect();
    (out != function).then_some(out)
}
