//! What mistakes have in common: going over the instructions of a module and the pairs of a block.

use super::line::{Inst, Line};
use std::collections::BTreeMap;

/// How far the second instruction of a pair may be after the first: blocks are unrolled loops at times.
const PAIR_DISTANCE_MAX: usize = 120;

/// A module with the mistake in it; nothing where the mistake has no place.
pub type Mutated = Option<Vec<Line>>;

/// Lets `change` change each instruction; it says whether it did.
pub fn each(lines: &[Line], change: impl Fn(&mut Inst) -> bool) -> Mutated {
    expand(lines, |inst| {
        let mut changed = inst.clone();
        change(&mut changed).then(|| vec![changed])
    })
}

/// Takes the instructions away that `is_unwanted` picks.
pub fn remove(lines: &[Line], is_unwanted: impl Fn(&Inst) -> bool) -> Mutated {
    expand(lines, |inst| is_unwanted(inst).then(Vec::new))
}

/// Puts other instructions in the place of each one for which there are some.
pub fn expand(lines: &[Line], instead: impl Fn(&Inst) -> Option<Vec<Inst>>) -> Mutated {
    let mut has_changed = false;
    let mut out = Vec::with_capacity(lines.len());
    for line in lines {
        match line {
            Line::Inst(inst) => match instead(inst) {
                Some(insts) => {
                    has_changed = true;
                    out.extend(insts.into_iter().map(Line::Inst));
                }
                None => out.push(line.clone()),
            },
            _ => out.push(line.clone()),
        }
    }
    has_changed.then_some(out)
}

/// What becomes of a pair.
pub enum Change {
    /// The first of the two becomes these.
    First(Vec<Inst>),
    /// The second of the two becomes these.
    Second(Vec<Inst>),
}

/// Two instructions of a block.
pub struct Pair<'a> {
    /// The earlier one.
    pub first: &'a Inst,
    /// Those between the two.
    pub between: &'a [&'a Inst],
    /// The later one.
    pub second: &'a Inst,
    /// Types of the function's registers.
    pub types: &'a Types,
}

impl Pair<'_> {
    /// Whether nothing between the two writes one of `registers`.
    #[must_use]
    pub fn keeps(&self, registers: &[&str]) -> bool {
        !self.between.iter().any(|inst| inst.writes_any(registers))
    }

    /// The second becomes a copy of a register.
    #[must_use]
    pub fn reuse(&self, from: &str) -> Option<Change> {
        let to = self.second.result()?;
        let ty = self.types.copied_as(to)?;
        if self.types.copied_as(from)? != ty {
            return None;
        }
        let copy = Inst::new(&format!("mov.{ty}"), &[to, from]).guarded_like(self.second);
        Some(Change::Second(vec![copy]))
    }
}

/// Lets `change` change pairs of instructions of one block; a line is changed once at most.
pub fn pairs(lines: &[Line], change: impl Fn(&Pair) -> Option<Change>) -> Mutated {
    let mut changed: BTreeMap<usize, Vec<Inst>> = BTreeMap::new();
    let mut types = Types::default();
    let mut block: Vec<(usize, &Inst)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        match line {
            Line::Inst(inst) => block.push((at, inst)),
            Line::Other(text) if text.starts_with('{') => types = Types::of(&lines[at..]),
            _ => {}
        }
        let is_end = match line {
            Line::Inst(inst) => inst.ends_block(),
            Line::Label(_) => true,
            Line::Other(text) => is_brace(text),
        };
        if is_end {
            change_block(&block, &types, &change, &mut changed);
            block.clear();
        }
    }
    (!changed.is_empty()).then(|| replaced(lines, &mut changed))
}

fn change_block(
    block: &[(usize, &Inst)],
    types: &Types,
    change: &impl Fn(&Pair) -> Option<Change>,
    changed: &mut BTreeMap<usize, Vec<Inst>>,
) {
    let insts: Vec<&Inst> = block.iter().map(|&(_, inst)| inst).collect();
    for first in 0..insts.len() {
        for second in first + 1..insts.len().min(first + PAIR_DISTANCE_MAX) {
            let (first_line, second_line) = (block[first].0, block[second].0);
            if changed.contains_key(&first_line) {
                break;
            }
            if changed.contains_key(&second_line) {
                continue;
            }
            let between = &insts[first + 1..second];
            match change(&Pair { first: insts[first], between, second: insts[second], types }) {
                Some(Change::First(insts)) => changed.insert(first_line, insts),
                Some(Change::Second(insts)) => changed.insert(second_line, insts),
                None => continue,
            };
        }
    }
}

fn replaced(lines: &[Line], changed: &mut BTreeMap<usize, Vec<Inst>>) -> Vec<Line> {
    let line = |(at, line): (usize, &Line)| match changed.remove(&at) {
        Some(insts) => insts.into_iter().map(Line::Inst).collect(),
        None => vec![line.clone()],
    };
    lines.iter().enumerate().flat_map(line).collect()
}

/// The lines of each function, and those between functions.
pub fn functions(lines: &[Line]) -> impl Iterator<Item = &[Line]> {
    lines.split_inclusive(|line| matches!(line, Line::Other(text) if text == "}"))
}

/// Lets `change` change each function.
pub fn each_function(lines: &[Line], change: impl Fn(&[Line]) -> Mutated) -> Mutated {
    let mut has_changed = false;
    let mut out = Vec::with_capacity(lines.len());
    for function in functions(lines) {
        match change(function) {
            Some(changed) => {
                has_changed = true;
                out.extend(changed);
            }
            None => out.extend_from_slice(function),
        }
    }
    has_changed.then_some(out)
}

/// The instructions among lines.
pub fn insts(lines: &[Line]) -> impl Iterator<Item = &Inst> {
    lines.iter().filter_map(|line| match line {
        Line::Inst(inst) => Some(inst),
        _ => None,
    })
}

/// Whether an instruction of `lines` reads `register`.
#[must_use]
pub fn is_read(lines: &[Line], register: &str) -> bool {
    insts(lines).any(|inst| inst.reads().contains(&register))
}

fn is_brace(text: &str) -> bool {
    text.starts_with(['{', '}'])
}

/// The declared types of a function's registers.
#[derive(Default)]
pub struct Types {
    types: BTreeMap<String, String>,
}

impl Types {
    /// Of the registers declared up to the next closing brace.
    #[must_use]
    pub fn of(lines: &[Line]) -> Self {
        let mut types = BTreeMap::new();
        for line in lines {
            let Line::Other(text) = line else { continue };
            if text == "}" {
                break;
            }
            let Some(declaration) = text.strip_prefix("\t.reg .") else { continue };
            let mut words =
                declaration.trim_end_matches(';').split([' ', ',']).filter(|word| !word.is_empty());
            let Some(ty) = words.next() else { continue };
            for name in words {
                types.insert(name.split('<').next().unwrap_or(name).to_owned(), ty.to_owned());
            }
        }
        Self { types }
    }

    /// The type with which a register is declared.
    #[must_use]
    pub fn declared_as(&self, register: &str) -> Option<&str> {
        let numbered = || self.types.get(register.trim_end_matches(|last: char| last.is_ascii_digit()));
        self.types.get(register).or_else(numbered).map(String::as_str)
    }

    /// The type with which a register is copied: `b32`, `pred`.
    #[must_use]
    pub fn copied_as(&self, register: &str) -> Option<String> {
        let ty = self.declared_as(register)?;
        let bits: String = ty.chars().filter(char::is_ascii_digit).collect();
        match ty {
            "pred" => Some("pred".to_owned()),
            "f16x2" => Some("b32".to_owned()),
            _ => (bits != "128" && bits != "8").then(|| format!("b{bits}")),
        }
    }
}
