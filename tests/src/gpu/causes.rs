//! Why a kernel may rightly leave something else on a GPU than in the emulator.

use ptxopt_engine::ptx::scan::Module;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

macro_rules! causes {
    ($($name:ident, $word:literal, $text:literal;)*) => {
        /// A reason for different results. Expands to the enum, the list of all of it, and both spellings.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Cause { $(#[doc = $text] $name),* }

        impl Cause {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// One word, for the manifest.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $(Self::$name => $word),* }
            }
        }

        impl fmt::Display for Cause {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$name => $text),* })
            }
        }
    };
}

causes! {
    Approximate, "approximate", "approximate instructions";
    Clock, "clock", "reads a clock or a number of the machine";
    Matrix, "matrix", "matrix product of floats: the order and rounding of its sums are open";
    FloatAtomics, "float-atomics", "floats are added in the order of the threads";
    Threads, "threads", "results depend on the order of the threads";
    Together, "together", "asks which threads run together";
    Unwritten, "unwritten", "reads what nothing wrote";
    Uninterpreted, "uninterpreted", "instructions without a model in the emulator";
    Hints, "hints", "hints about a cache, whose addresses the emulator does not look at";
    Assembler, "assembler", "instructions of which the assembler (13.0) makes something else than the ISA says";
}

impl Cause {
    /// Whether two runs of one kernel on one GPU may differ, so that nothing follows from before and after.
    #[must_use]
    pub fn differs_between_runs(self) -> bool {
        matches!(self, Self::Clock | Self::FloatAtomics | Self::Threads | Self::Together | Self::Unwritten)
    }
}

impl FromStr for Cause {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let cause = Self::ALL.iter().find(|cause| cause.word() == text);
        cause.copied().ok_or_else(|| format!("`{text}` is no cause"))
    }
}

/// What the text of `entry`, and of every function that it may call, says about its results. With `is_guessed` the
/// arguments were worked out, not written for the kernel: then atomic results may matter, too.
#[must_use]
pub fn of_text(text: &[u8], entry: &str, is_guessed: bool) -> BTreeSet<Cause> {
    let Ok(module) = Module::scan(text) else { return BTreeSet::new() };
    let mut causes = BTreeSet::new();
    for function in &module.functions {
        if function.is_entry && text[function.name.range()] != *entry.as_bytes() {
            continue;
        }
        let body = String::from_utf8_lossy(&text[function.body.range()]);
        if compares_truths_with_1(&body) {
            causes.insert(Cause::Assembler);
        }
        for line in body.lines() {
            let code = line.split("//").next().unwrap_or_default();
            causes.extend(
                code.split([';', '{', '}']).flat_map(|statement| of_statement(statement, is_guessed)),
            );
        }
    }
    causes
}

/// Whether `set` makes integers and something is compared with 1 for being equal: where that is the same value, the assembler (13.0)
/// takes -1 for 1.
fn compares_truths_with_1(body: &str) -> bool {
    let statements = || body.split([';', '{', '}']).map(str::trim);
    let makes_truth = |statement: &str| {
        let mut words = statement.split_whitespace().skip_while(|word| word.starts_with('@'));
        words.next().is_some_and(|mnemonic| {
            mnemonic.starts_with("set.") && [".u32.", ".s32."].iter().any(|ty| mnemonic.contains(ty))
        })
    };
    let is_compared = |statement: &str| {
        let is_equality = ["setp.eq.", "setp.ne."].iter().any(|mnemonic| statement.contains(mnemonic));
        is_equality && statement.ends_with(", 1")
    };
    statements().any(makes_truth) && statements().any(is_compared)
}

/// Special registers whose values no launch defines.
const MACHINE: &[&str] = &[
    "%clock",
    "%globaltimer",
    "%smid",
    "%nsmid",
    "%warpid",
    "%nwarpid",
    "%gridid",
    "%envreg",
    "%pm",
    "%total_smem_size",
    "%aggr_smem_size",
    "%reserved_smem",
];

fn of_statement(statement: &str, is_guessed: bool) -> Vec<Cause> {
    let mut words =
        statement.split_whitespace().skip_while(|word| word.starts_with('@') || word.ends_with(':'));
    let mnemonic = words.next().unwrap_or_default();
    let root = mnemonic.split('.').next().unwrap_or_default();
    let has = |part: &str| mnemonic.split('.').any(|word| word == part);
    let is_float = mnemonic.split('.').skip(1).any(|word| {
        ["f16", "bf16", "f32", "f64", "tf32", "e4m3", "e5m2", "e2m", "e3m"]
            .iter()
            .any(|ty| word.starts_with(ty))
    });
    let mut causes = Vec::new();
    let is_function = matches!(root, "sin" | "cos" | "lg2" | "ex2" | "tanh" | "rsqrt");
    if is_function || has("approx") || has("full") && root == "div" {
        causes.push(Cause::Approximate);
    }
    if MACHINE.iter().any(|register| statement.contains(register)) {
        causes.push(Cause::Clock);
    }
    if is_float && matches!(root, "mma" | "wmma" | "wgmma" | "tcgen05") && !has("load") && !has("store") {
        causes.push(Cause::Matrix);
    }
    if is_float && has("add") && matches!(root, "atom" | "red" | "multimem") {
        causes.push(Cause::FloatAtomics);
    }
    if root == "atom" && is_guessed {
        causes.push(Cause::Threads);
    }
    if matches!(root, "activemask" | "elect") {
        causes.push(Cause::Together);
    }
    if matches!(root, "prefetch" | "prefetchu" | "applypriority" | "discard") {
        causes.push(Cause::Hints);
    }
    let operands: Vec<&str> = words.map(|word| word.trim_end_matches(',')).collect();
    let is_guarded = statement.trim_start().starts_with('@');
    if is_misread(mnemonic, &operands, is_guarded) {
        causes.push(Cause::Assembler);
    }
    causes
}

/// Whether the assembler (13.0) is known to make something else of an instruction than the ISA says:
///
/// - Scalar video instructions take the upper half of their result for `.h1`, and compare, saturate and shift what has no sign as if
///   it had one.
/// - `testp` loses its guard. So does what `set` does with the truth where it makes no integer, or compares 16 bits.
/// - Of a literal that shifts 16 bits it reads 16 bits.
fn is_misread(mnemonic: &str, operands: &[&str], is_guarded: bool) -> bool {
    const VIDEO: &[&str] = &["vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset", "vmad"];
    let mut words = mnemonic.split('.');
    let root = words.next().unwrap_or_default();
    let words: Vec<&str> = words.collect();
    let has = |part: &str| words.contains(&part);
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    match root {
        "testp" => is_guarded,
        "set" => {
            let (from, to) = (words.last(), words.iter().rev().nth(1));
            let is_plain = matches!(to, Some(&"u32" | &"s32")) && from.is_some_and(|ty| !ty.contains("16"));
            is_guarded && !is_plain
        }
        "shl" | "shr" => {
            let amount = operands.get(2).and_then(|amount| number(amount));
            ["b16", "u16", "s16"].iter().any(|ty| has(ty)) && amount.is_some_and(|amount| amount > 0xFFFF)
        }
        _ if VIDEO.contains(&root) => {
            let is_upper = operands.first().is_some_and(|destination| destination.ends_with(".h1"));
            is_upper || ["sat", "min", "max", "shr7", "shr15"].iter().any(|part| has(part))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: &str) -> Vec<Cause> {
        let text =
            format!(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n{body}\n}}\n");
        of_text(text.as_bytes(), "k", false).into_iter().collect()
    }

    #[test]
    fn causes_come_from_mnemonics_and_special_registers() {
        assert_eq!(of("\t@%p1 ex2.approx.f32 %f1, %f2;"), [Cause::Approximate]);
        assert_eq!(of("div.full.f32 %f1, %f2, %f3; // %clock"), [Cause::Approximate]);
        assert_eq!(of("$L: mov.u32 %r1, %clock;"), [Cause::Clock]);
        assert_eq!(of("red.global.add.f32 [%rd1], %f1;"), [Cause::FloatAtomics]);
        assert_eq!(of("atom.global.add.u32 %r1, [%rd1], 1;"), []);
        assert_eq!(
            of("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1}, {%r1}, {%r2}, {%f1};"),
            [Cause::Matrix]
        );
        assert_eq!(of("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1}, {%r1}, {%r2}, {%r1};"), []);
        assert_eq!(of("add.rn.f32 %f1, %f2, %f3; div.rn.f32 %f1, %f2, %f3;"), []);
        assert_eq!(of("discard.global.L2 [%rd1], 128;"), [Cause::Hints]);
        for misread in [
            "vadd.u32.u32.u32 %r1.h1, %r2, %r3, %r4;",
            "vsub.u32.u32.u32.min %r1, %r2, %r3, %r4;",
            "@!%p1 testp.finite.f32 %p2, %f1;",
            "@%p1 set.lt.f32.s32 %f1, %r1, %r2;",
            "@%p1 set.lt.u32.f16 %r1, %h1, %h2;",
            "shr.u16 %h1, %h2, 0x10000000;",
            "shl.b16 %h1, %h2, 65536;",
        ] {
            assert_eq!(of(misread), [Cause::Assembler], "{misread}");
        }
        for read in [
            "vadd.u32.u32.u32 %r1.h0, %r2, %r3.h1, %r4;",
            "vadd4.u32.u32.u32.sat %r1, %r2, %r3, %r4;",
            "testp.finite.f32 %p2, %f1;",
            "set.lt.f32.s32 %f1, %r1, %r2;",
            "@%p1 set.lt.u32.f32 %r1, %f1, %f2;",
            "shr.u16 %h1, %h2, 65535;",
            "shl.b16 %h1, %h2, %r1;",
            "shl.b32 %r1, %r2, 0x10000000;",
        ] {
            assert_eq!(of(read), [], "{read}");
        }
    }

    #[test]
    fn truths_that_are_compared_with_1_are_a_cause() {
        assert_eq!(of("set.lt.u32.s32 %r1, %r2, %r3;\nsetp.ne.s32 %p1, %r1, 1;"), [Cause::Assembler]);
        assert_eq!(of("@%p2 set.lt.s32.f32 %r1, %f2, %f3;\nsetp.eq.s32 %p1, %r1, 1;"), [Cause::Assembler]);
        assert_eq!(of("set.lt.u32.s32 %r1, %r2, %r3;\nsetp.ne.s32 %p1, %r1, 0;"), []);
        assert_eq!(of("set.lt.f32.s32 %f1, %r2, %r3;\nsetp.ne.s32 %p1, %r1, 1;"), []);
        assert_eq!(of("set.lt.u32.s32 %r1, %r2, %r3;\nsetp.lt.s32 %p1, %r1, 1;"), []);
        assert_eq!(of("setp.ne.s32 %p1, %r1, 1;"), []);
    }

    #[test]
    fn only_the_kernel_and_what_it_may_call_is_looked_at() {
        let text = ".version 8.0\n.target sm_90\n.address_size 64\n.func f()\n{\nret;\n}\n\
            .visible .entry other()\n{\nsin.approx.f32 %f1, %f1;\n}\n.visible .entry k()\n{\nret;\n}\n";
        assert!(of_text(text.as_bytes(), "k", false).is_empty());
        assert_eq!(of_text(text.as_bytes(), "other", false).len(), 1);
    }

    #[test]
    fn words_are_read_as_they_are_written() {
        for &cause in Cause::ALL {
            assert_eq!(cause.word().parse(), Ok(cause));
        }
    }
}
