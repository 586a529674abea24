//! Arithmetic vectors: every arithmetic instruction of `tests/forms` in a kernel of its own.
//!
//! Each register that the instruction names gets its value from a buffer before it and goes back there after it, so
//! that nothing has to be known about what it reads and writes. A chain of carries stays together. Each runs once as it
//! is, and once under a guard that holds for half of the threads.

use super::elements::{Bound, Kind};
use crate::modules::tests_folder;
use ptxopt_emulator::{Argument, Launch};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The files with arithmetic.
const FILES: &[&str] = &[
    "integer",
    "bitwise",
    "compare",
    "float",
    "half",
    "conversions",
    "conversions-100",
    "arithmetic-100",
    "video",
];

/// Statements of one module, two kernels each: the assembler takes longer than twice for twice as many.
const STATEMENTS_MAX: usize = 32;

/// Threads: every pair of edge cases, and more.
const GRID: [u32; 3] = [3, 1, 1];
const BLOCK: [u32; 3] = [256, 1, 1];
const THREADS: usize = 768;

/// A module with its launches.
pub struct VectorModule {
    /// File of the forms, and a number.
    pub name: String,
    /// The module.
    pub text: String,
    /// A launch for each kernel.
    pub cases: Vec<VectorCase>,
}

/// The launch of a kernel.
pub struct VectorCase {
    /// What is tried.
    pub statement: String,
    /// How it runs.
    pub launch: Launch,
    /// What its buffers hold.
    pub kinds: Vec<Kind>,
    /// How far its results may be off.
    pub bound: Bound,
}

/// Class of a register, by what it is declared as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Predicate,
    Byte,
    Short,
    Word,
    Long,
    Single,
    Double,
}

impl Class {
    fn of(ty: &str) -> Option<Self> {
        Some(match ty {
            "pred" => Self::Predicate,
            "b8" => Self::Byte,
            "b16" => Self::Short,
            "b32" => Self::Word,
            "b64" => Self::Long,
            "f32" => Self::Single,
            "f64" => Self::Double,
            _ => return None,
        })
    }

    /// What declares, loads and stores it; a predicate travels as a word.
    fn ty(self) -> &'static str {
        match self {
            Self::Byte => "b8",
            Self::Short => "b16",
            Self::Word | Self::Predicate => "b32",
            Self::Long => "b64",
            Self::Single => "f32",
            Self::Double => "f64",
        }
    }

    fn size(self) -> usize {
        match self {
            Self::Byte => 1,
            Self::Short => 2,
            Self::Word | Self::Predicate | Self::Single => 4,
            Self::Long | Self::Double => 8,
        }
    }
}

/// A kernel to be: statements that stay together, and the registers that they name, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Statements {
    text: String,
    registers: Vec<(String, Class)>,
}

/// All vectors.
///
/// # Panics
/// When the forms cannot be read.
#[must_use]
pub fn modules() -> Vec<VectorModule> {
    FILES.iter().flat_map(|name| modules_of_file(name)).collect()
}

fn modules_of_file(name: &str) -> Vec<VectorModule> {
    let path = tests_folder().join(format!("forms/{name}.ptx"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let is_head =
        |line: &&str| [".version", ".target", ".address_size"].iter().any(|word| line.starts_with(word));
    let head: String = text.lines().filter(is_head).map(|line| format!("{line}\n")).collect();
    let statements = statements(&text);
    let chunks = statements.chunks(STATEMENTS_MAX).enumerate();
    chunks.map(|(number, chunk)| module(format!("{name}-{number}"), &head, chunk)).collect()
}

fn module(name: String, head: &str, statements: &[Statements]) -> VectorModule {
    let (mut text, mut cases) = (head.to_owned(), Vec::new());
    for (number, one) in statements.iter().enumerate() {
        let seed = xxh3_64_with_seed(one.text.as_bytes(), 0);
        let plain = Some((format!("vector_{number}"), one.text.clone()));
        let guarded = one.guarded().map(|guarded| (format!("guarded_{number}"), guarded));
        for (entry, executed) in [plain, guarded].into_iter().flatten() {
            text.push_str(&kernel(&entry, one, &executed));
            let args = (0..one.registers.len()).map(|register| Argument::Buffer(one.values(register, seed)));
            cases.push(VectorCase {
                statement: executed,
                launch: Launch { entry, grid: GRID, block: BLOCK, shared_bytes: 0, args: args.collect() },
                kinds: one.registers.iter().map(|&(_, class)| one.kind(class)).collect(),
                bound: one.bound(),
            });
        }
    }
    VectorModule { name, text, cases }
}

/// The arithmetic statements of a module of the forms.
fn statements(text: &str) -> Vec<Statements> {
    let mut all: Vec<Statements> = Vec::new();
    let mut classes = BTreeMap::new();
    // Whether the last statement leaves a carry.
    let mut has_carry = false;
    for line in text.lines().map(str::trim) {
        if line.contains(".entry") || line.contains(".func") {
            classes.clear();
        }
        if let Some(declaration) = line.strip_prefix(".reg .").and_then(|line| line.strip_suffix(';')) {
            declare(declaration, &mut classes);
            continue;
        }
        let Some(registers) = registers(line, &classes) else {
            has_carry = false;
            continue;
        };
        let mnemonic = mnemonic(line);
        let reads_carry = ["addc.", "subc.", "madc."].iter().any(|root| mnemonic.starts_with(root));
        let writes_carry = mnemonic.split('.').any(|word| word == "cc");
        if !reads_carry {
            all.push(Statements { text: line.to_owned(), registers });
        } else if let Some(last) = all.last_mut().filter(|_| has_carry) {
            last.text.push(' ');
            last.text.push_str(line);
            let new = |register: &(String, Class)| !last.registers.contains(register);
            let new: Vec<_> = registers.into_iter().filter(new).collect();
            last.registers.extend(new);
        } else {
            continue;
        }
        has_carry = writes_carry;
    }
    all
}

/// Notes the classes of `f32 f<65>` or `pred p, q`.
fn declare(declaration: &str, classes: &mut BTreeMap<String, Option<Class>>) {
    let Some((ty, names)) = declaration.split_once(' ') else { return };
    for name in names.split(',') {
        let name = name.trim();
        classes.insert(name.split('<').next().unwrap_or(name).to_owned(), Class::of(ty));
    }
}

/// The registers of a line that is a plain instruction on registers and literals.
fn registers(line: &str, classes: &BTreeMap<String, Option<Class>>) -> Option<Vec<(String, Class)>> {
    let instruction = line.strip_suffix(';')?;
    if !instruction.starts_with(|c: char| c.is_ascii_lowercase())
        || instruction.contains(['[', '%', ';', ':', '@'])
    {
        return None;
    }
    let (mnemonic, operands) = instruction.split_once(' ')?;
    // What a warp does together is no arithmetic of a lane.
    if mnemonic.contains(".sync") {
        return None;
    }
    let mut registers: Vec<(String, Class)> = Vec::new();
    for token in operands.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.') {
        // After a dot stands a selector.
        let name = token.split('.').next().unwrap_or_default();
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let Some(&class) = classes.get(name).or_else(|| classes.get(stem)) else {
            // A literal, a sink, or a name that is no register.
            let is_literal = name.is_empty() || name == "_" || name.starts_with(|c: char| c.is_ascii_digit());
            if is_literal { continue } else { return None }
        };
        let register = (name.to_owned(), class?);
        if !registers.contains(&register) {
            registers.push(register);
        }
    }
    (!registers.is_empty()).then_some(registers)
}

fn mnemonic(line: &str) -> &str {
    line.split(' ').next().unwrap_or_default()
}

/// Loads every register, executes, stores every register. `%guard` holds for about every other thread.
fn kernel(entry: &str, one: &Statements, executed: &str) -> String {
    let count = one.registers.len();
    let parameters: Vec<String> = (0..count).map(|number| format!(".param .u64 {entry}_{number}")).collect();
    let mut text = format!("\n.visible .entry {entry}({})\n{{\n", parameters.join(", "));
    let _ = writeln!(
        text,
        "    .reg .pred %guard;\n    .reg .b32 %w<{}>;\n    .reg .b64 %a<{}>;",
        count + 4,
        count + 2
    );
    for (name, class) in &one.registers {
        let ty = if *class == Class::Predicate { "pred" } else { class.ty() };
        let _ = writeln!(text, "    .reg .{ty} {name};");
    }
    let (ctaid, tid) = (count, count + 1);
    let _ = writeln!(text, "    mov.u32 %w{ctaid}, %ctaid.x;\n    mov.u32 %w{tid}, %tid.x;");
    let _ = writeln!(text, "    mad.lo.u32 %w{}, %w{ctaid}, {}, %w{tid};", count + 2, BLOCK[0]);
    let _ = writeln!(text, "    mul.lo.u32 %w{}, %w{}, 0x9E3779B1;", count + 3, count + 2);
    let _ = writeln!(text, "    setp.lt.s32 %guard, %w{}, 0;", count + 3);
    for (number, (name, class)) in one.registers.iter().enumerate() {
        let (size, ty) = (class.size(), class.ty());
        let _ = writeln!(text, "    ld.param.u64 %a{number}, [{entry}_{number}];");
        let _ = writeln!(text, "    cvta.to.global.u64 %a{number}, %a{number};");
        let _ = writeln!(text, "    mad.wide.u32 %a{number}, %w{}, {size}, %a{number};", count + 2);
        if *class == Class::Predicate {
            let _ = writeln!(text, "    ld.global.b32 %w{number}, [%a{number}];");
            let _ = writeln!(text, "    setp.ne.u32 {name}, %w{number}, 0;");
        } else {
            let _ = writeln!(text, "    ld.global.{ty} {name}, [%a{number}];");
        }
    }
    let _ = writeln!(text, "    {executed}");
    for (number, (name, class)) in one.registers.iter().enumerate() {
        if *class == Class::Predicate {
            let _ = writeln!(text, "    selp.b32 %w{number}, 1, 0, {name};");
            let _ = writeln!(text, "    st.global.b32 [%a{number}], %w{number};");
        } else {
            let _ = writeln!(text, "    st.global.{} [%a{number}], {name};", class.ty());
        }
    }
    text.push_str("    ret;\n}\n");
    text
}

/// Words of 32 bits at which something can go wrong: limits of integers, and of floats of 32 bits.
const WORDS: &[u32] = &[
    0,
    1,
    2,
    0xFFFF_FFFF,
    0x7FFF_FFFF,
    0x8000_0000,
    0x8000_0001,
    0x0000_8000,
    0x0000_00FF,
    0x00FF_FFFF,
    0x3F80_0000, // 1
    0xBF80_0000,
    0x3F80_0001,
    0x3F00_0000,
    0x4B80_0001, // above 2^24
    0x4F00_0000, // 2^31
    0xCF00_0000,
    0x0080_0000, // the smallest normal number
    0x007F_FFFF, // the largest subnormal one
    0x7F7F_FFFF, // the largest finite one
    0x7F80_0000, // infinity
    0x7FC0_0000, // NaN
    0x3F40_0003, // this times the next is below the smallest normal number by less than rounding sees
    0x00AA_AAA8,
    0x3F7F_FFFF, // 1 less its last place
    0x7E80_0000, // 2^126, and the next number
    0x7E80_0001,
];

/// The same for 16 bits, `f16` and `bf16` together.
const SHORTS: &[u16] = &[
    0, 1, 2, 0xFFFF, 0x7FFF, 0x8000, 0x8001, 0x00FF, 0x0080, 0x3C00, 0xBC00, 0x3C01, 0x3800, 0x0400, 0x03FF,
    0x7BFF, 0x7C00, 0x7E00, 0x3F80, 0xBF80, 0x7F7F, 0x7F80, 0x3BFF, 0x07FF,
];

/// The same for 64 bits.
const LONGS: &[u64] = &[
    0,
    1,
    2,
    u64::MAX,
    i64::MAX as u64,
    1 << 63,
    0xFFFF_FFFF,
    1 << 32,
    0x7FFF_FFFF,
    0xFFFF_FFFF_8000_0000,
    0x3FF0_0000_0000_0000, // 1
    0xBFF0_0000_0000_0000,
    0x3FF0_0000_0000_0001,
    0x3FF0_0000_1000_0000, // a tie in single precision
    0x41E0_0000_0000_0000, // 2^31
    0xC3E0_0000_0000_0000, // -2^63
    0x0010_0000_0000_0000, // the smallest normal number
    0x000F_FFFF_FFFF_FFFF, // the largest subnormal one
    0x7FEF_FFFF_FFFF_FFFF, // the largest finite one
    0x47EF_FFFF_E000_0000, // the largest finite one of single precision
    0x7FF0_0000_0000_0000, // infinity
    0x7FF8_0000_0000_0000, // NaN
    0x380F_FFFF_E000_0000, // below the smallest normal number of single precision, by its last place
    0x380F_FFFF_FFFF_FFFF,
];

impl Statements {
    /// The same under a guard; nothing with a sink, of some of which the assembler (13.0) crashes.
    fn guarded(&self) -> Option<String> {
        let has_sink = self.text.contains(" _");
        let guarded = |statement: &str| format!("@%guard {};", statement.trim());
        let statements = self.text.split(';').filter(|statement| !statement.trim().is_empty());
        (!has_sink).then(|| statements.map(guarded).collect::<Vec<_>>().join(" "))
    }

    fn root(&self) -> &str {
        self.text.split(['.', ' ']).next().unwrap_or_default()
    }

    fn has(&self, part: &str) -> bool {
        mnemonic(&self.text).split('.').any(|word| word == part || word.strip_suffix("x2") == Some(part))
    }

    /// What a register of a class holds here.
    fn kind(&self, class: Class) -> Kind {
        match class {
            Class::Single => Kind::Single,
            Class::Double => Kind::Double,
            Class::Word if self.has("tf32") => Kind::Single,
            Class::Short | Class::Word if self.has("bf16") => Kind::Brain,
            Class::Short | Class::Word if self.has("f16") => Kind::Half,
            _ => Kind::Int(class.size()),
        }
    }

    /// What the ISA states about the error of approximations.
    fn bound(&self) -> Bound {
        let (half, brain, double) = (self.has("f16"), self.has("bf16"), self.has("f64"));
        match self.root() {
            _ if double => Bound::Exact,
            "sin" | "cos" => Bound::Absolute(-20.5),
            "lg2" => Bound::Mixed(-22.0),
            "ex2" if half => Bound::Relative(-9.9),
            "ex2" if brain => Bound::Relative(-7.0),
            "ex2" => Bound::Relative(-22.0),
            "tanh" if half => Bound::Absolute(-10.987),
            "tanh" if brain => Bound::Absolute(-8.0),
            "tanh" => Bound::Relative(-11.0),
            "rsqrt" => Bound::Relative(-22.9),
            "sqrt" if self.has("approx") => Bound::Relative(-23.0),
            "rcp" if self.has("approx") => Bound::Units(1.0),
            "div" if self.has("approx") || self.has("full") => Bound::Units(2.0),
            _ => Bound::Exact,
        }
    }

    /// The bytes of the buffer for register number `register`, one element a thread.
    fn values(&self, register: usize, seed: u64) -> Vec<u8> {
        let (_, class) = self.registers[register];
        let bytes = (0..THREADS).map(|thread| {
            let random =
                xxh3_64_with_seed(&[register as u64, thread as u64].map(u64::to_le_bytes).concat(), seed);
            let value = self.defined(register, any_value(class, register, thread, random), random);
            value.to_le_bytes()[..class.size()].to_vec()
        });
        bytes.flatten().collect()
    }

    /// `value`, or one near it for which the ISA defines the result.
    fn defined(&self, register: usize, value: u64, random: u64) -> u64 {
        let (_, class) = self.registers[register];
        let after = self.registers.len() - 1 - register;
        let top = 1u64 << (8 * class.size() - 1);
        let is_float = matches!(class, Class::Single | Class::Double);
        match self.root() {
            // Neither a division by zero nor the smallest number by -1.
            "div" | "rem" if !is_float && after == 0 => value & (top - 1) | 1,
            // Only the low byte of a position and of a length counts.
            "bfe" | "bfi" if after < 2 => value & 0xFF,
            "fns" if after == 1 => value & 31,
            // The count of bits to find is the distance without its sign, which the smallest number has not.
            "fns" if after == 0 && value == top => 1,
            _ if self.bound() != Bound::Exact && class == Class::Single => self.moderate(random),
            _ => value,
        }
    }

    /// A float for which an approximation has a bound: an angle up to half a turn, or one of no extreme exponent.
    fn moderate(&self, random: u64) -> u64 {
        let unit = (random >> 40) as f32 / (1u64 << 24) as f32;
        let sign = if random & 1 == 0 { 1.0 } else { -1.0 };
        let float = match self.root() {
            "sin" | "cos" => sign * unit * std::f32::consts::PI,
            "ex2" | "tanh" => sign * unit * 16.0,
            _ => sign * (1.0 + unit) * 2f32.powi((random >> 8 & 63) as i32 - 32),
        };
        u64::from(float.to_bits())
    }
}

/// A value for a thread: every pair of edge cases comes up in the first two registers, then anything.
fn any_value(class: Class, register: usize, thread: usize, random: u64) -> u64 {
    let edges: Vec<u64> = match class {
        Class::Byte => vec![0, 1, 0x7F, 0x80, 0xFF],
        Class::Predicate => vec![0, 1],
        Class::Short => SHORTS.iter().map(|&edge| edge.into()).collect(),
        Class::Word | Class::Single => WORDS.iter().map(|&edge| edge.into()).collect(),
        Class::Long | Class::Double => LONGS.to_vec(),
    };
    let count = edges.len();
    let pairs = count * count;
    // The destination comes first in the text, the sources after it.
    match register {
        1 if thread < pairs => edges[thread % count],
        2 if thread < pairs => edges[thread / count % count],
        _ if random & 3 == 0 => edges[(random >> 8) as usize % count],
        _ if class == Class::Predicate => random >> 9 & 1,
        _ => random >> 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_taken_with_their_registers() {
        let text = ".visible .entry k()\n{\n.reg .f32 f<3>;\n.reg .pred p<2>;\n.reg .b128 q<2>;\n\
            add.f32 f1, f2, 0f3F800000;\n@p1 add.f32 f1, f2, f2;\nsetp.eq.f32 p1, f1, f2;\nmov.b128 q1, q1;\n\
            ld.global.f32 f1, [x];\nret;\n}\n";
        let found = statements(text);
        let single = |name: &str| (name.to_owned(), Class::Single);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].registers, [single("f1"), single("f2")]);
        assert_eq!(found[1].registers[0], ("p1".to_owned(), Class::Predicate));
    }

    #[test]
    fn a_chain_of_carries_is_one_kernel() {
        let text = ".visible .entry k()\n{\n.reg .b32 r<5>;\naddc.u32 r1, r2, r3;\nadd.cc.u32 r1, r2, r3;\n\
            addc.cc.u32 r2, r2, r3;\naddc.u32 r4, r2, r3;\naddc.u32 r4, r2, r3;\n}\n";
        let found = statements(text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].text.matches(';').count(), 3);
        let guarded =
            "@%guard add.cc.u32 r1, r2, r3; @%guard addc.cc.u32 r2, r2, r3; @%guard addc.u32 r4, r2, r3;";
        assert_eq!(found[0].guarded().as_deref(), Some(guarded));
        let sink = Statements { text: "setp.lt.s32 _|p2, r2, r3;".to_owned(), registers: Vec::new() };
        assert_eq!(sink.guarded(), None);
        assert_eq!(found[0].registers.len(), 4);
    }

    #[test]
    fn divisors_are_defined_and_edge_cases_come_up_in_pairs() {
        let of = |text: &str, class| Statements {
            text: text.to_owned(),
            registers: ["r1", "r2", "r3"].map(|name| (name.to_owned(), class)).to_vec(),
        };
        let division = of("div.s32 r1, r2, r3;", Class::Word);
        let words = |bytes: Vec<u8>| -> Vec<u32> {
            bytes.chunks(4).map(|four| u32::from_le_bytes(four.try_into().unwrap())).collect()
        };
        assert!(words(division.values(2, 1)).iter().all(|&divisor| divisor as i32 > 0));
        let sum = of("add.f32 r1, r2, r3;", Class::Single);
        let (left, right) = (words(sum.values(1, 1)), words(sum.values(2, 1)));
        let has = |a: u32, b: u32| left.iter().zip(&right).any(|(&left, &right)| (left, right) == (a, b));
        assert!(has(0x7F80_0000, 0) && has(0x7FC0_0000, 0x7F80_0000) && has(0x8000_0000, 0));
    }
}
