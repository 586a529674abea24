//! Kernels made to size, the same on each call.
//!
//! Those of [`module`] look like what compilers make of array code: loads, arithmetic on values at hand, compares, forward branches
//! and counted loops, a store now and then, and some results that nothing reads. Most operands were computed shortly
//! before, one in eight anywhere before, so the number of registers that live across blocks grows with the number of
//! blocks, as it does in real large functions.

use std::fmt::Write;

/// Instructions of a block. Real functions of a hundred thousand instructions have as many.
pub const BLOCK_INSTS: usize = 5;

/// Blocks of a loop.
const LOOP_BLOCKS: usize = 6;

/// How far back most operands are, in results.
const NEAR: usize = 6;

/// A module of `function_count` kernels of `inst_count` instructions each.
///
/// # Panics
/// When a kernel has less than ten instructions.
#[must_use]
pub fn module(function_count: usize, inst_count: usize) -> Vec<u8> {
    assert!(inst_count >= 10, "a kernel has at least two blocks");
    let mut text = String::from(HEAD);
    for number in 0..function_count {
        let random = Random(number as u64 + 1);
        text.push_str(
            &Kernel { number, random, next: 2, inst_count: 0, code: String::new() }.write(inst_count),
        );
    }
    text.into_bytes()
}

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// Variables of a state of [`state_machine`].
const STATE_VARIABLES: usize = 4;

/// A kernel as a compiler without optimization makes one of a machine with `state_count` states: one block leads to all of
/// them and back from all, and every variable has a register that lives through it. A state has ten blocks.
///
/// # Panics
/// When there is no state.
#[must_use]
pub fn state_machine(state_count: usize) -> Vec<u8> {
    assert!(state_count > 0);
    let (mut random, mut code) = (Random(1), String::new());
    let variable_count = STATE_VARIABLES * state_count;
    let mut write = |statement: String| code += &statement;
    for variable in 0..variable_count {
        write(format!("\tmov.u32 \t%v{variable}, {variable};\n"));
    }
    let labels: Vec<String> = (0..state_count).map(|state| format!("$S{state}")).collect();
    write(format!("$ways: .branchtargets {};\n$D:\n\tbrx.idx \t%s0, $ways;\n", labels.join(", ")));
    for state in 0..state_count {
        write(format!("$S{state}:\n"));
        for part in 0..3 {
            let (a, b, own) =
                (random.below(variable_count), random.below(variable_count), STATE_VARIABLES * state + part);
            for other in 0..3 {
                let from = random.below(variable_count);
                write(format!("\tmov.u32 \t%t3, %v{from};\n\txor.b32 \t%v{own}, %t3, {other};\n"));
            }
            write(format!("\tmov.u32 \t%t0, %v{a};\n\tmov.u32 \t%t1, %v{b};\n\tadd.s32 \t%t2, %t0, %t1;\n"));
            write(format!("\tsetp.lt.s32 \t%p0, %t2, {part};\n\t@%p0 bra \t$E{state}_{part};\n"));
            write(format!(
                "\tmul.lo.s32 \t%t1, %t2, 3;\n\tmov.u32 \t%v{own}, %t1;\n\tbra \t$F{state}_{part};\n"
            ));
            write(format!("$E{state}_{part}:\n\tadd.s32 \t%v{own}, %v{own}, %t2;\n$F{state}_{part}:\n"));
        }
        let last = STATE_VARIABLES * state + 3;
        write(format!("\tst.global.u32 \t[%rd0], %v{last};\n\tadd.s32 \t%s0, %s0, {state};\n\tbra \t$D;\n"));
    }
    format!(
        "{HEAD}.visible .entry machine(\n\t.param .u64 out\n)\n{{\n\t.reg .pred \t%p<1>;\n\t.reg .b32 \t%s<1>;\n\
         \t.reg .b32 \t%t<4>;\n\t.reg .b32 \t%v<{variable_count}>;\n\t.reg .b64 \t%rd<1>;\n\
         \tld.param.u64 \t%rd0, [out];\n\tmov.u32 \t%s0, %tid.x;\n{code}}}\n"
    )
    .into_bytes()
}

/// A kernel of `count` registers that live over twice as many blocks.
#[must_use]
pub fn long_lives(count: usize) -> Vec<u8> {
    let mut code = String::new();
    for register in 0..count {
        code += &format!("\tmov.u32 \t%r{register}, {register};\n");
    }
    for block in 0..count {
        code += &format!("\tsetp.eq.u32 \t%p0, %s0, {block};\n\t@%p0 bra \t$L{block};\n");
        code += &format!("\tst.global.u32 \t[%rd0], {block};\n$L{block}:\n");
    }
    for register in 0..count {
        code += &format!("\tst.global.u32 \t[%rd0], %r{register};\n");
    }
    format!(
        "{HEAD}.visible .entry lives(\n\t.param .u64 out\n)\n{{\n\t.reg .pred \t%p<1>;\n\t.reg .b32 \t%s<1>;\n\
         \t.reg .b32 \t%r<{count}>;\n\t.reg .b64 \t%rd<1>;\n\tld.param.u64 \t%rd0, [out];\n\
         \tmov.u32 \t%s0, %tid.x;\n{code}\tret;\n}}\n"
    )
    .into_bytes()
}

/// A linear congruential generator.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

struct Kernel {
    number: usize,
    random: Random,
    /// Number of the next `%r` register; all below were written.
    next: usize,
    inst_count: usize,
    code: String,
}

impl Kernel {
    fn write(mut self, inst_count: usize) -> String {
        let block_count = inst_count / BLOCK_INSTS;
        let number = self.number;
        self.inst(&format!("ld.param.u64 \t%rd1, [kernel_{number}_param_0]"));
        self.inst("mov.u32 \t%r0, %tid.x");
        self.inst("mov.u32 \t%r1, %ctaid.x");
        for block in 0..block_count {
            if block > 0 {
                self.code += &format!("\n$L__BB{number}_{block}:\n");
            }
            let is_last = block + 1 == block_count;
            let end = if is_last { inst_count - 1 } else { (block + 1) * BLOCK_INSTS - 2 };
            while self.inst_count < end {
                self.arithmetic();
            }
            if is_last {
                self.inst("ret");
            } else {
                self.branch(block, block_count);
            }
        }
        format!(
            "\n.visible .entry kernel_{number}(\n\t.param .u64 kernel_{number}_param_0\n)\n{{\n\
             \t.reg .pred \t%p<{block_count}>;\n\t.reg .b32 \t%r<{}>;\n\t.reg .b64 \t%rd<{}>;\n\n{}}}\n",
            self.next, self.next, self.code
        )
    }

    fn inst(&mut self, statement: &str) {
        writeln!(self.code, "\t{statement};").expect("a string takes everything");
        self.inst_count += 1;
    }

    /// A register that was written before.
    fn value(&mut self) -> usize {
        match self.random.below(8) {
            0 => self.random.below(self.next),
            _ => self.next - 1 - self.random.below(self.next.min(NEAR)),
        }
    }

    fn arithmetic(&mut self) {
        let (a, b, new) = (self.value(), self.value(), self.next);
        let offset = 4 * self.random.below(1024);
        let (statement, defines) = match self.random.below(12) {
            0 | 1 => (format!("add.s32 \t%r{new}, %r{a}, %r{b}"), true),
            2 => (format!("mad.lo.s32 \t%r{new}, %r{a}, %r{b}, %r1"), true),
            3 => (format!("shl.b32 \t%r{new}, %r{a}, {}", offset % 31), true),
            4 => (format!("and.b32 \t%r{new}, %r{a}, %r{b}"), true),
            5 => (format!("fma.rn.f32 \t%r{new}, %r{a}, %r{b}, 0f3F800000"), true),
            6 => (format!("mul.wide.s32 \t%rd2, %r{a}, 4"), false),
            7 => (format!("ld.global.u32 \t%r{new}, [%rd1+{offset}]"), true),
            8 => (format!("st.global.u32 \t[%rd1+{offset}], %r{a}"), false),
            9 => (format!("cvt.rn.f32.s32 \t%r{new}, %r{a}"), true),
            10 => (format!("xor.b32 \t%r{new}, %r{a}, -1"), true),
            _ => (format!("sub.s32 \t%r{a}, %r{a}, %r{b}"), false),
        };
        self.inst(&statement);
        self.next += usize::from(defines);
    }

    /// Ends a block: back to the head of its loop, or over a block or two, never into the middle of another loop.
    fn branch(&mut self, block: usize, block_count: usize) {
        let (a, number) = (self.value(), self.number);
        let next_head = ((block / LOOP_BLOCKS + 1) * LOOP_BLOCKS).min(block_count - 1);
        let target = if block + 1 == next_head {
            (next_head - LOOP_BLOCKS.min(next_head - 1)).max(1)
        } else {
            (block + 2 + self.random.below(2)).min(next_head)
        };
        self.inst(&format!("setp.lt.s32 \t%p{block}, %r{a}, {}", 8 * block));
        self.inst(&format!("@%p{block} bra \t$L__BB{number}_{target}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_have_the_size_that_was_asked_for() {
        for (function_count, inst_count) in [(3, 60), (1, 1_000), (2, 53)] {
            let output =
                ptxopt::optimize(&module(function_count, inst_count), &ptxopt::Options::default()).unwrap();
            let report = output.report;
            assert_eq!(report.instructions_in, (function_count * inst_count) as u64);
            assert!(report.instructions_out < report.instructions_in, "some results are never read");
            assert_eq!(report.functions_left, 0);
        }
    }

    #[test]
    fn shapes_have_the_size_that_was_asked_for() {
        let options = ptxopt::Options::default();
        for (text, insts) in
            [(state_machine(20), 2 + 80 + 1 + 20 * 48), (long_lives(10), 2 + 10 + 30 + 10 + 1)]
        {
            let report = ptxopt::optimize(&text, &options).unwrap().report;
            assert_eq!((report.instructions_in, report.functions_left), (insts, 0));
        }
    }
}
