//! The lines of a module as the writer prints it: one instruction, label or declaration a line.
//!
//! Owes nothing to the reader under test: it knows brackets, commas and dots, and a register by its `%`.

use crate::plain::tokens;
use std::fmt;

/// Instructions that write no register, by the first part of their mnemonic.
const WRITE_NOTHING: [&str; 24] = [
    "st",
    "red",
    "bra",
    "brx",
    "ret",
    "exit",
    "bar",
    "barrier",
    "call",
    "trap",
    "brkpt",
    "membar",
    "fence",
    "prefetch",
    "prefetchu",
    "discard",
    "cp",
    "stmatrix",
    "sust",
    "nanosleep",
    "pmevent",
    "applypriority",
    "griddepcontrol",
    "setmaxnreg",
];

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inst {
    /// `%p`, or `!%p`.
    pub guard: Option<String>,
    /// With its dots.
    pub mnemonic: String,
    /// What stands between the commas that no bracket encloses.
    pub operands: Vec<String>,
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// An instruction that fills its line.
    Inst(Inst),
    /// A label without its colon.
    Label(String),
    /// Everything else, as it stands.
    Other(String),
}

impl Inst {
    /// An instruction without a guard.
    #[must_use]
    pub fn new(mnemonic: &str, operands: &[&str]) -> Self {
        let operands = operands.iter().map(|&operand| operand.to_owned()).collect();
        Self { guard: None, mnemonic: mnemonic.to_owned(), operands }
    }

    /// The same, guarded as `other` is.
    #[must_use]
    pub fn guarded_like(mut self, other: &Self) -> Self {
        self.guard.clone_from(&other.guard);
        self
    }

    fn parse(line: &str) -> Option<Self> {
        let mut rest = line.strip_prefix('\t')?.strip_suffix(';')?;
        let mut guard = None;
        if let Some(guarded) = rest.strip_prefix('@') {
            let (name, after) = guarded.split_once(' ')?;
            guard = Some(name.to_owned());
            rest = after;
        }
        if rest.contains(';') || !rest.starts_with(|first: char| first.is_ascii_lowercase()) {
            return None;
        }
        let (mnemonic, operands) = rest.split_once(' ').unwrap_or((rest, ""));
        let is_mnemonic = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b':' | b'_');
        let operands = split_commas(operands);
        mnemonic.bytes().all(is_mnemonic).then(|| Self { guard, mnemonic: mnemonic.to_owned(), operands })
    }

    /// The first part of the mnemonic.
    #[must_use]
    pub fn base(&self) -> &str {
        self.mnemonic.split('.').next().unwrap_or_default()
    }

    /// Whether `part` is one of the parts between the dots.
    #[must_use]
    pub fn has(&self, part: &str) -> bool {
        self.mnemonic.split('.').any(|other| other == part)
    }

    /// Whether the first part is one of `bases`.
    #[must_use]
    pub fn is(&self, bases: &[&str]) -> bool {
        bases.contains(&self.base())
    }

    /// The last part: the type, of most instructions.
    #[must_use]
    pub fn last_part(&self) -> &str {
        self.mnemonic.rsplit('.').next().unwrap_or_default()
    }

    /// Puts another part in the place of every `part`; an empty one takes it away. False when there is none.
    pub fn replace(&mut self, part: &str, by: &str) -> bool {
        if !self.has(part) {
            return false;
        }
        let parts = self.mnemonic.split('.').map(|old| if old == part { by } else { old });
        self.mnemonic = parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".");
        true
    }

    /// Signed for unsigned in every type of the mnemonic.
    pub fn make_unsigned(&mut self) -> bool {
        let mut has_changed = false;
        for bits in ["8", "16", "32", "64"] {
            has_changed |= self.replace(&format!("s{bits}"), &format!("u{bits}"));
        }
        has_changed
    }

    /// Whether the first operand is written.
    #[must_use]
    pub fn has_result(&self) -> bool {
        let writes_nothing =
            WRITE_NOTHING.contains(&self.base()) && !(self.is(&["bar", "barrier"]) && self.has("red"));
        !writes_nothing && self.operands.first().is_some_and(|operand| !operand.starts_with('['))
    }

    /// The registers that it writes.
    #[must_use]
    pub fn writes(&self) -> Vec<&str> {
        if self.has_result() { registers(&self.operands[0]) } else { Vec::new() }
    }

    /// The only operand that it writes, when that is one register.
    #[must_use]
    pub fn result(&self) -> Option<&str> {
        let operand = self.has_result().then(|| self.operands[0].as_str())?;
        (registers(operand) == [operand]).then_some(operand)
    }

    /// The registers that it reads, its guard's among them.
    #[must_use]
    pub fn reads(&self) -> Vec<&str> {
        let sources = self.operands.iter().skip(usize::from(self.has_result()));
        sources.chain(&self.guard).flat_map(|operand| registers(operand)).collect()
    }

    /// The operands after the result.
    #[must_use]
    pub fn sources(&self) -> &[String] {
        &self.operands[usize::from(self.has_result()).min(self.operands.len())..]
    }

    /// Whether it writes one of `registers`.
    #[must_use]
    pub fn writes_any(&self, registers: &[&str]) -> bool {
        self.writes().iter().any(|written| registers.contains(written))
    }

    /// Whether it computes one result from registers and literals alone.
    #[must_use]
    pub fn is_pure(&self) -> bool {
        const PURE: [&str; 26] = [
            "add", "sub", "mul", "mad", "fma", "div", "rem", "and", "or", "xor", "not", "shl", "shr", "min",
            "max", "neg", "abs", "cvt", "selp", "setp", "bfe", "bfi", "prmt", "lop3", "popc", "clz",
        ];
        self.is(&PURE) && !self.has("cc") && self.result().is_some()
    }

    /// Whether it may go elsewhere than to the next line, or run code that is not here.
    #[must_use]
    pub fn ends_block(&self) -> bool {
        self.is(&["bra", "brx", "ret", "exit", "trap", "call"])
    }
}

impl fmt::Display for Inst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\t")?;
        if let Some(guard) = &self.guard {
            write!(f, "@{guard} ")?;
        }
        f.write_str(&self.mnemonic)?;
        if !self.operands.is_empty() {
            write!(f, " {}", self.operands.join(", "))?;
        }
        f.write_str(";")
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inst(inst) => inst.fmt(f),
            Self::Label(label) => write!(f, "{label}:"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

/// The words of an operand that start with `%`.
#[must_use]
pub fn registers(operand: &str) -> Vec<&str> {
    let words = tokens(operand.as_bytes()).into_iter().map(|token| &operand[token.first..token.end]);
    words.filter(|word| word.starts_with('%')).collect()
}

/// The operand with one register in the place of another.
#[must_use]
pub fn renamed(operand: &str, from: &str, to: &str) -> String {
    let words = tokens(operand.as_bytes());
    let mut text = String::new();
    let mut at = 0;
    for token in words {
        let word = &operand[token.first..token.end];
        text.push_str(&operand[at..token.first]);
        text.push_str(if word == from { to } else { word });
        at = token.end;
    }
    text + &operand[at..]
}

fn split_commas(text: &str) -> Vec<String> {
    let mut depth = 0;
    let mut parts: Vec<String> = Vec::new();
    for (at, part) in text.split_inclusive(|byte: char| ",[](){}".contains(byte)).enumerate() {
        if at == 0 {
            parts.push(String::new());
        }
        let last = part.chars().next_back().unwrap_or(' ');
        depth += i32::from("[({".contains(last)) - i32::from("])}".contains(last));
        let is_end = last == ',' && depth == 0;
        let current = parts.last_mut().expect("one was pushed");
        current.push_str(if is_end { &part[..part.len() - 1] } else { part });
        if is_end {
            parts.push(String::new());
        }
    }
    parts.into_iter().map(|part| part.trim().to_owned()).collect()
}

/// The lines of a module.
#[must_use]
pub fn parse(text: &str) -> Vec<Line> {
    let line = |line: &str| {
        if let Some(inst) = Inst::parse(line) {
            return Line::Inst(inst);
        }
        let is_name = |name: &str| !name.is_empty() && !name.contains([' ', '\t', ':', '/']);
        match line.strip_suffix(':').filter(|name| is_name(name)) {
            Some(name) => Line::Label(name.to_owned()),
            None => Line::Other(line.to_owned()),
        }
    };
    text.lines().map(line).collect()
}

/// The text of lines.
#[must_use]
pub fn print(lines: &[Line]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_apart_and_printed_as_they_were() {
        let text = "\t@!%p ld.global.v2.u32 {%a, _}, [%b+-16];\n$L1:\n\t.reg .b32 %r<2>;\n\tcall (r), f, (a, b);\n\
            \tsetp.lt.s32 %p|%q, %a, 5;\n\tret;\n}\n";
        let lines = parse(text);
        assert_eq!(print(&lines), text);
        let Line::Inst(load) = &lines[0] else { panic!("an instruction") };
        assert_eq!((load.writes(), load.reads()), (vec!["%a"], vec!["%b", "%p"]));
        assert_eq!(load.operands, ["{%a, _}", "[%b+-16]"]);
        assert_eq!(lines[1], Line::Label("$L1".to_owned()));
        let Line::Inst(compare) = &lines[4] else { panic!("an instruction") };
        assert_eq!((compare.writes(), compare.result()), (vec!["%p", "%q"], None));
        assert_eq!(renamed("{%a, %ab}", "%a", "%c"), "{%c, %ab}");
    }
}
