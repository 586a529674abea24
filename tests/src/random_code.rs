//! Functions made at random: any graph of blocks, and instructions that read and write a few registers in every way.
//!
//! Graphs are irreducible, have unreachable blocks, self loops, parallel edges and loops without an end. Writes are
//! guarded or not, of one register or two, of a component, of the carry register, of results of the function and of
//! registers of the module. They mean nothing and are never run: what analyses say of them is compared with oracles.

use std::fmt::Write;

/// A linear congruential generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Starts at `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1))
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    /// True once in `count`.
    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}

/// A module of `function_count` functions of up to `block_count_max` blocks, half of them small.
#[must_use]
pub fn module(seed: u64, function_count: usize, block_count_max: usize) -> String {
    let mut random = Random::new(seed);
    let mut text = ".version 3.0\n.target sm_20\n.reg .b32 shared_register;\n".to_owned();
    for number in 0..function_count {
        let bound = if random.one_in(2) { block_count_max.min(9) } else { block_count_max };
        let block_count = 1 + random.below(bound);
        let register_count = 2 + random.below(10);
        let is_function = random.one_in(4);
        let (random, text) = (&mut random, &mut text);
        Function { number, block_count, register_count, is_function, has_hub: false, random, text }.write();
    }
    text
}

/// As [`module`], of functions in which half the blocks lead to one that leads to many of them: it has more predecessors
/// than most registers have definitions.
#[must_use]
pub fn module_of_hubs(seed: u64, function_count: usize, block_count_max: usize) -> String {
    let mut random = Random::new(seed);
    let mut text = ".version 3.0\n.target sm_20\n.reg .b32 shared_register;\n".to_owned();
    for number in 0..function_count {
        let block_count = block_count_max / 2 + random.below(block_count_max / 2);
        let register_count = 2 + random.below(2 * block_count);
        let (random, text) = (&mut random, &mut text);
        Function { number, block_count, register_count, is_function: false, has_hub: true, random, text }
            .write();
    }
    text
}

struct Function<'a> {
    number: usize,
    block_count: usize,
    register_count: usize,
    /// Has a result and an input in registers.
    is_function: bool,
    /// Block 1 is a hub.
    has_hub: bool,
    random: &'a mut Random,
    text: &'a mut String,
}

impl Function<'_> {
    fn write(mut self) {
        let number = self.number;
        if self.is_function {
            self.line(&format!(".func (.reg .b32 out) f{number} (.reg .b32 in)\n{{"));
        } else {
            self.line(&format!(".entry k{number}(.param .u64 p)\n{{"));
        }
        let count = self.register_count;
        self.line(&format!(
            ".reg .b32 %r<{count}>; .reg .pred %p<4>; .reg .b64 %rd<3>; .reg .v2 .b32 %v<2>;"
        ));
        for block in 0..self.block_count {
            self.line(&format!("B{number}_{block}:"));
            for _ in 0..self.random.below(6) {
                let statement = self.statement();
                let guard = self.guard(4);
                self.line(&format!("{guard}{statement};"));
            }
            self.leave(block);
        }
        self.line("}");
    }

    fn line(&mut self, line: &str) {
        writeln!(self.text, "{line}").expect("a string takes everything");
    }

    fn register(&mut self) -> String {
        match self.random.below(12) {
            0 if self.is_function => "out".to_owned(),
            1 if self.is_function => "in".to_owned(),
            2 if self.random.one_in(4) => "shared_register".to_owned(),
            _ => format!("%r{}", self.random.below(self.register_count)),
        }
    }

    fn predicate(&mut self) -> String {
        format!("%p{}", self.random.below(4))
    }

    fn guard(&mut self, once_in: usize) -> String {
        if !self.random.one_in(once_in) {
            return String::new();
        }
        format!("@{}{} ", if self.random.one_in(2) { "!" } else { "" }, self.predicate())
    }

    fn statement(&mut self) -> String {
        let [a, b, c] = std::array::from_fn(|_| self.register());
        let [p, q] = std::array::from_fn(|_| self.predicate());
        let other = format!("%r{}", self.random.below(self.register_count));
        match self.random.below(18) {
            0 => format!("mov.u32 {a}, 7"),
            1..=3 => format!("add.u32 {a}, {b}, {c}"),
            4 => format!("add.u32 {a}, {a}, 1"),
            5 => format!("st.global.u32 [%rd1], {a}"),
            6 => format!("setp.lt.u32 {p}, {a}, {b}"),
            7 if p != q => format!("setp.lt.u32 {p}|{q}, {a}, {b}"),
            8 if a != other => format!("ld.global.v2.u32 {{{a}, {other}}}, [%rd1]"),
            9 => format!("add.cc.u32 {a}, {b}, {c}"),
            10 => format!("addc.u32 {a}, {b}, {c}"),
            11 => format!("selp.u32 {a}, {b}, {c}, {p}"),
            12 => format!("mov.b32 %v{}.x, {a}", self.random.below(2)),
            13 => format!("mov.b32 {a}, %v{}.y", self.random.below(2)),
            14 if a != other => format!("mov.b64 {{{a}, {other}}}, %rd1"),
            15 => format!("ld.volatile.global.u32 {a}, [%rd1]"),
            16 => format!("mov.b64 %rd1, {{{a}, {b}}}"),
            _ => format!("mov.u32 {a}, {b}"),
        }
    }

    /// Where control may go: next to `block`, or anywhere.
    fn target(&mut self, block: usize) -> String {
        let target = if self.random.one_in(3) {
            self.random.below(self.block_count)
        } else {
            (block + self.random.below(6)).saturating_sub(2).min(self.block_count - 1)
        };
        format!("B{}_{target}", self.number)
    }

    fn leave(&mut self, block: usize) {
        let (number, is_last) = (self.number, block + 1 == self.block_count);
        if self.has_hub && block == 1 {
            let targets: Vec<String> = (0..self.block_count)
                .map(|_| format!("B{number}_{}", self.random.below(self.block_count)))
                .collect();
            self.line(&format!("T{number}_{block}: .branchtargets {};", targets.join(", ")));
            self.line(&format!("brx.idx %r0, T{number}_{block};"));
            return;
        }
        if self.has_hub && block > 1 && self.random.one_in(2) {
            let guard = self.guard(4);
            self.line(&format!("{guard}bra B{number}_1;"));
        }
        match self.random.below(16) {
            0..=3 => {
                let (guard, target) = (self.guard(1), self.target(block));
                self.line(&format!("{guard}bra {target};"));
            }
            4..=5 => {
                let target = self.target(block);
                self.line(&format!("bra.uni {target};"));
            }
            6 if !is_last => {
                let guard = self.guard(1);
                self.line(&format!("{guard}bra B{number}_{};", block + 1));
            }
            7 => {
                let targets: Vec<String> =
                    (0..1 + self.random.below(4)).map(|_| self.target(block)).collect();
                self.line(&format!("T{number}_{block}: .branchtargets {};", targets.join(", ")));
                self.line(&format!("brx.idx %r0, T{number}_{block};"));
            }
            8 => {
                let guard = self.guard(2);
                let way = if self.random.one_in(2) { "exit" } else { "trap" };
                self.line(&format!("{guard}{way};"));
            }
            9 => self.line("ret;"),
            _ => {}
        }
        if is_last && self.random.one_in(2) {
            let target = self.target(block);
            self.line(&format!("bra {target};"));
        } else if is_last && !self.is_function {
            self.line("ret;");
        }
    }
}
