//! Narrowed divisions on the emulator: operands at the edges of what is known of them, zeros among the divisors.

use super::super::offset_tests::{THREADS, left_by, pick};
use crate::check::testing::Random;
use crate::ssa::{build_ssa, leave_ssa};
use crate::values::eliminate_dead;
use crate::values::general_optimize::{self, narrow};
use crate::values::move_tests::after_alone;

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

/// A kernel after the phase.
fn narrowed(text: &str) -> String {
    let phases = [
        &eliminate_dead::QUICK,
        &build_ssa::PHASE,
        &general_optimize::PHASE,
        &eliminate_dead::FULL,
        &narrow::PHASE,
        &leave_ssa::PHASE,
    ];
    after_alone(text, &phases)
}

/// The division that is left of the one in `body`, which writes `%d3`, beside so many instructions that nothing reads.
fn left_of(body: &str, spare: usize) -> String {
    let spare = "add.u32 %r5, %r1, 1;".repeat(spare);
    let text = format!(
        ".entry k(.param .u64 p) {{ .reg .b16 %h<3>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .b64 %e<9>; .reg .pred %p;\n\
         ld.param.u64 %d7, [p]; ld.global.u32 %r1, [%d7]; ld.global.u32 %r2, [%d7+4]; ld.global.u16 %h1, [%d7+24]; {spare}\n\
         ld.global.u64 %e1, [%d7+8]; ld.global.u64 %e2, [%d7+16];\n\
         {body} st.global.u64 [%d7+32], %d3; ret; }}\n"
    );
    let after = narrowed(&text);
    let mut words = after.split_whitespace();
    words.find(|word| word.starts_with("div.") || word.starts_with("rem.")).expect("it divides").to_owned()
}

#[test]
fn what_is_known_of_the_operands_decides() {
    let [one, other] = ["shr.s32 %r3, %r1, 1; cvt.s64.s32 %d1, %r3;", "cvt.s64.s32 %d2, %r2;"];
    let least = "cvt.s64.s32 %d1, %r1;";
    let [small, positive] =
        ["shr.u32 %r3, %r1, 1; cvt.u64.u32 %d1, %r3;", "shr.u32 %r4, %r2, 1; cvt.u64.u32 %d2, %r4;"];
    let [word, odd] = ["cvt.u64.u32 %d1, %r1;", "or.b32 %r4, %r2, 1; cvt.u64.u32 %d2, %r4;"];
    let cases = [
        // The least number by -1 does not fit.
        (format!("{one} {other} div.s64 %d3, %d1, %d2;"), "div.s32"),
        (format!("{least} {other} div.s64 %d3, %d1, %d2;"), "div.s64"),
        (format!("{least} {positive} div.s64 %d3, %d1, %d2;"), "div.s32"),
        // Divisors that may be 0.
        (format!("{one} {other} rem.s64 %d3, %d1, %d2;"), "rem.s64"),
        (format!("{word} {odd} rem.u64 %d3, %d1, %d2;"), "rem.u32"),
        (format!("{word} {odd} rem.s64 %d3, %d1, %d2;"), "rem.u32"),
        (format!("{word} {other} rem.u64 %d3, %d1, %d2;"), "rem.u64"),
        (format!("{small} {positive} div.u64 %d3, %d1, %d2;"), "div.s32"),
        (format!("{small} {positive} div.s64 %d3, %d1, %d2;"), "div.s32"),
        (format!("{word} {positive} div.u64 %d3, %d1, %d2;"), "div.u64"),
        (format!("{small} cvt.u64.u32 %d2, %r2; div.u64 %d3, %d1, %d2;"), "div.u64"),
        // Of 64 bits without a sign, negative numbers are large.
        (format!("{one} {positive} div.u64 %d3, %d1, %d2;"), "div.u64"),
        (format!("{one} {positive} div.s64 %d3, %d1, %d2;"), "div.s32"),
        // Literals at the edges.
        (format!("{odd} div.u64 %d3, 4294967295, %d2;"), "div.u32"),
        (format!("{odd} div.u64 %d3, 4294967296, %d2;"), "div.u64"),
        (format!("{other} div.s64 %d3, 2147483647, %d2;"), "div.s32"),
        (format!("{other} div.s64 %d3, 2147483648, %d2;"), "div.s64"),
        (format!("{other} div.s64 %d3, -2147483647, %d2;"), "div.s32"),
        (format!("{other} div.s64 %d3, -2147483648, %d2;"), "div.s64"),
        (format!("{positive} div.s64 %d3, -2147483648, %d2;"), "div.s32"),
        (format!("{positive} div.s64 %d3, -2147483649, %d2;"), "div.s64"),
        // Under a guard the old value may stay, and 32 bits are narrow.
        (
            format!("{one} {other} setp.eq.u32 %p, %r1, 3; mov.b64 %d3, 5; @%p div.s64 %d3, %d1, %d2;"),
            "div.s64",
        ),
        ("or.b32 %r4, %r2, 1; div.u32 %r3, %r1, %r4; cvt.u64.u32 %d3, %r3;".to_owned(), "div.u32"),
        ("mov.b64 %d1, %e1; mov.b64 %d2, %e2; div.u64 %d3, %d1, %d2;".to_owned(), "div.u64"),
    ];
    for (body, expected) in cases {
        // Three more instructions is the most that a division becomes.
        let spare = usize::from(expected.ends_with("32")) * 3;
        assert_eq!(left_of(&body, spare), expected, "{body}");
        assert!(expected.ends_with("32") || left_of(&body, 3) == expected, "{body}");
    }
}

/// Extended operands are taken as they were, and others cut off.
#[test]
fn lower_halves_are_those_of_the_operands() {
    let cut = |make_one: &str| {
        let text = format!(
            ".entry k(.param .u64 p) {{ .reg .b16 %h<3>; .reg .b32 %r<9>; .reg .b64 %d<9>;\n\
             ld.param.u64 %d7, [p]; ld.global.u32 %r1, [%d7]; ld.global.u64 %d8, [%d7+8]; ld.global.u16 %h1, [%d7+16];\n\
             add.u32 %r5, %r1, 1; add.u32 %r5, %r1, 1; add.u32 %r5, %r1, 1; or.b32 %r2, %r1, 1; cvt.u64.u32 %d2, %r2;\n\
             {make_one} div.u64 %d3, %d1, %d2; st.global.u64 [%d7+32], %d3; st.global.u64 [%d7+40], %d8; ret; }}\n"
        );
        let after = narrowed(&text);
        assert!(after.contains("div.u32"), "{after}");
        after.matches("cvt.u32.u64").count()
    };
    assert_eq!(cut("cvt.u64.u32 %d1, %r1;"), 0);
    // Of a wider register the type takes the lower half, and a narrower one is no half.
    assert_eq!(cut("cvt.u64.u32 %d1, %d8;"), 1);
    assert_eq!(cut("cvt.u64.u16 %d1, %h1;"), 1);
    assert_eq!(cut("and.b64 %d1, %d8, 1023;"), 1);
}

/// What goes makes room for what comes: a function does not come out longer than it came in.
#[test]
fn a_division_becomes_no_more_than_there_is_room_for() {
    let odd = "or.b32 %r4, %r2, 1; cvt.u64.u32 %d2, %r4;";
    let read_twice = format!("{odd} st.global.u64 [%d7+40], %d2;");
    let masked = "and.b64 %d1, %e1, 1023;";
    // The body, and how much longer it gets.
    let cases = [
        (format!("cvt.u64.u32 %d1, %r1; {odd} div.u64 %d3, %d1, %d2;"), -1),
        (format!("{odd} div.u64 %d3, 7, %d2;"), 0),
        (format!("{read_twice} div.u64 %d3, 7, %d2;"), 1),
        (format!("{masked} {odd} div.u64 %d3, %d1, %d2;"), 1),
        (format!("{masked} {read_twice} div.u64 %d3, %d1, %d2;"), 2),
        (format!("{masked} and.b64 %d2, %e2, 255; or.b64 %d2, %d2, 1; div.u64 %d3, %d1, %d2;"), 3),
    ];
    for (body, growth) in cases {
        for spare in 0..4 {
            let expected = if growth <= spare { "div.u32" } else { "div.u64" };
            // What nothing else reads is no room.
            let used = "st.global.v2.u32 [%d7+48], {%r1, %r2}; st.global.u64 [%d7+56], %e1; st.global.u64 [%d7+64], %e2; \
                        st.global.u16 [%d7+72], %h1;";
            assert_eq!(left_of(&format!("{used} {body}"), spare as usize), expected, "{body} with {spare}");
        }
    }
}

#[test]
fn narrowed_divisions_leave_the_same() {
    let (mut narrow, mut wide) = ([0; 4], [0; 4]);
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
        let optimized = narrowed(&text);
        for (at, operation) in operations.iter().enumerate() {
            narrow[at] += usize::from(optimized.contains(&format!("{operation}32")));
            wide[at] += usize::from(optimized.contains(&format!("{operation}64")));
        }
        let (before, after) = (left_by(&text, &buffer), left_by(&optimized, &buffer));
        assert!(before == after, "{text}\nbecomes\n{optimized}");
    }
    assert!(narrow.iter().all(|&count| count > 20), "{narrow:?} narrowed");
    assert!(wide.iter().all(|&count| count > 50), "{wide:?} not");
}
