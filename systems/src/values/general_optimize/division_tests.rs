//! Narrowed divisions on the emulator: operands at the edges of what is known of them, zeros among the divisors.

use crate::check::testing::Random;
use crate::ssa::{build_ssa, leave_ssa};
use crate::values::eliminate_dead;
use crate::values::general_optimize::{self, divisions};
use crate::values::move_tests::{HEAD, after_alone};
use ptxopt_emulator::{Argument, Launch, Module, Options};

const THREADS: usize = 32;

/// Bytes of a thread: two numbers of 32 bits, two of 64, and the result.
const BYTES: usize = 32;

/// What makes `%dN` of `%rN`, of 32 bits, or of `%eN`, of 64.
const OPERANDS: [&str; 12] = [
    "cvt.s64.s32 %dN, %rN;",
    "cvt.s64.s32 %dN, %rN;",
    "cvt.u64.u32 %dN, %rN;",
    "cvt.u64.u32 %dN, %rN;",
    "cvt.u64.u16 %dN, %rN;",
    "cvt.s64.s8 %dN, %rN;",
    "and.b64 %dN, %eN, 4294967295;",
    "and.b64 %dN, %eN, 2147483647;",
    "and.b64 %dN, %eN, 8589934591;",
    "shr.u64 %dN, %eN, 32;",
    "shr.s64 %dN, %eN, 32;",
    "shr.s64 %dN, %eN, 31;",
];

/// What is done to an operand then. Nothing is 0 any more, or negative, or the least number.
const BOUNDS: [&str; 6] = [
    "",
    "",
    "or.b64 %dN, %dN, 1;",
    "max.s64 %dN, %dN, 1;",
    "max.s64 %dN, %dN, -2147483647;",
    "min.u64 %dN, %dN, 2147483647;",
];

const LITERALS: [i64; 8] = [7, -7, -1, 1 << 31, -(1 << 31), (1 << 32) - 1, 1 << 32, i64::MIN];

fn pick<T: Copy>(random: &mut Random, from: &[T]) -> T {
    from[random.below(from.len())]
}

/// What a kernel leaves in its buffer; it must not stop.
fn left_by(text: &str, buffer: &[u8]) -> Vec<u8> {
    let module = Module::load(format!("{HEAD}{text}").as_bytes()).unwrap();
    let launch = Launch {
        entry: "k".to_owned(),
        grid: [1; 3],
        block: [THREADS as u32, 1, 1],
        shared_bytes: 0,
        args: vec![Argument::Buffer(buffer.to_vec())],
    };
    let outcome = ptxopt_emulator::run(&module, &launch, &Options::default());
    assert_eq!(outcome.stop, None, "{text}");
    outcome.buffers.into_iter().next().unwrap()
}

fn operand(random: &mut Random, number: usize) -> (String, String) {
    if random.below(6) == 0 {
        return (String::new(), pick(random, &LITERALS).to_string());
    }
    let number = number.to_string();
    let made = format!("{} {}\n", pick(random, &OPERANDS), pick(random, &BOUNDS)).replace('N', &number);
    (made, format!("%d{number}"))
}

fn number(random: &mut Random) -> u64 {
    let near =
        pick(random, &[0, 1 << 31, u64::from(u32::MAX), 1 << 63, u64::MAX, 1 << 32, 0xFFFF_FFFF << 31]);
    match random.below(3) {
        0 => random.below(1 << 40) as u64 * 0x0100_0001,
        1 => near.wrapping_add(random.below(3) as u64),
        _ => near.wrapping_sub(random.below(3) as u64),
    }
}

#[test]
fn narrowed_divisions_leave_the_same() {
    let phases = [
        &eliminate_dead::QUICK,
        &build_ssa::PHASE,
        &general_optimize::PHASE,
        &eliminate_dead::FULL,
        &divisions::PHASE,
        &leave_ssa::PHASE,
    ];
    let (mut narrowed, mut wide) = ([0; 4], [0; 4]);
    let operations = ["div.s", "div.u", "rem.s", "rem.u"];
    for seed in 0..3000 {
        let mut random = Random(seed * 7919 + 3);
        let operation = pick(&mut random, &operations);
        let [(make_one, one), (make_other, other)] = [1, 2].map(|number| operand(&mut random, number));
        // What nothing reads leaves room for what a division becomes.
        let spare = "add.u32 %r5, %r1, 1;".repeat(random.below(2) * 8);
        let text = format!(
            ".entry k(.param .u64 p) {{ .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .b64 %e<9>;\n\
             mov.u32 %r4, %tid.x; mul.wide.u32 %d8, %r4, {BYTES}; ld.param.u64 %d7, [p]; add.s64 %d8, %d8, %d7;\n\
             ld.global.u32 %r1, [%d8]; ld.global.u32 %r2, [%d8+4]; {spare}\n\
             ld.global.u64 %e1, [%d8+8]; ld.global.u64 %e2, [%d8+16];\n\
             {make_one}{make_other}{operation}64 %d3, {one}, {other}; st.global.u64 [%d8+24], %d3; ret; }}\n"
        );
        let mut buffer = Vec::new();
        for _ in 0..THREADS {
            let [one, other, third, fourth] = std::array::from_fn(|_| number(&mut random));
            buffer.extend((one as u32).to_le_bytes());
            buffer.extend((other as u32).to_le_bytes());
            buffer.extend([third, fourth, 0].map(u64::to_le_bytes).as_flattened());
        }
        let optimized = after_alone(&text, &phases);
        for (at, operation) in operations.iter().enumerate() {
            narrowed[at] += usize::from(optimized.contains(&format!("{operation}32")));
            wide[at] += usize::from(optimized.contains(&format!("{operation}64")));
        }
        let (before, after) = (left_by(&text, &buffer), left_by(&optimized, &buffer));
        assert!(before == after, "{text}\nbecomes\n{optimized}");
    }
    assert!(narrowed.iter().all(|&count| count > 20), "{narrowed:?} narrowed");
    assert!(wide.iter().all(|&count| count > 50), "{wide:?} not");
}
