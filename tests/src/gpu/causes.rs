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
        for line in body.lines() {
            let code = line.split("//").next().unwrap_or_default();
            causes.extend(
                code.split([';', '{', '}']).flat_map(|statement| of_statement(statement, is_guessed)),
            );
        }
    }
    causes
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
    causes
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
