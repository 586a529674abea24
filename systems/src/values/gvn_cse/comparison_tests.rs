//! Random kernels that compare integers with constants near to one another and to the ends of their type, and with one another, and
//! floats among which are NaNs: every run on the emulator leaves the same.

use super::PHASE;
use super::tests::numbered;
use crate::check::testing::Random;
use crate::values::move_tests::{BYTES, left_by};
use std::fmt::Write;

/// Types, and what their values and constants lie near to: the least number, 0, the greatest one, and the greatest that many bits
/// hold as one word of a key.
const TYPES: [(&str, &[i64]); 6] = [
    ("s16", &[-0x8000, 0, 0x7FFF]),
    ("u16", &[0, 0x7FFF, 0xFFFF]),
    ("s32", &[-0x8000_0000, 0, 0x7FFF_FFFF]),
    ("u32", &[0, 0x7FFF_FFFF, 0xFFFF_FFFF]),
    ("s64", &[i64::MIN, 0, 0x7FFF_FFFF, i64::MAX]),
    ("u64", &[0, 0x7FFF_FFFF, -1]),
];

/// How far values and constants lie from these at most.
const NEAR: i64 = 3;

/// Comparisons of a kernel.
const RESULTS: usize = 60;

/// Types of floats, those of their registers, and the bits of 0, 1, a denormal number, infinity and a NaN.
const FLOATS: [(&str, &str, [u64; 5]); 5] = [
    ("f16", "b16", [0, 0x3C00, 1, 0x7C00, 0x7E00]),
    ("bf16", "b16", [0, 0x3F80, 1, 0x7F80, 0x7FC0]),
    ("f32", "b32", [0, 0x3F80_0000, 1, 0x7F80_0000, 0x7FC0_0000]),
    ("ftz.f32", "b32", [0, 0x3F80_0000, 1, 0x7F80_0000, 0x7FC0_0000]),
    ("f64", "b64", [0, 0x3FF0_0000_0000_0000, 1, 0x7FF0_0000_0000_0000, 0x7FF8_0000_0000_0000]),
];

/// Three floats are compared; each thread has others.
fn kernel_of_floats(seed: u64) -> String {
    let mut random = Random(seed);
    let (ty, bits, numbers) = FLOATS[random.below(FLOATS.len())];
    let mut text = format!(
        ".entry k(.param .u64 p) {{ .reg .{bits} %x<3>; .reg .b64 %a<3>; .reg .b32 %t<2>, %r; .reg .pred %p<{RESULTS}>, %q;\n\
         mov.u32 %t1, %tid.x; mul.wide.u32 %a1, %t1, {BYTES}; ld.param.u64 %a2, [p]; add.u64 %a1, %a1, %a2; mov.b32 %r, 2;\n"
    );
    for (value, factor) in [1, 3, 5].into_iter().enumerate() {
        writeln!(text, "mov.{bits} %x{value}, {}; mad.lo.u32 %t0, %t1, {factor}, {value};", numbers[1])
            .unwrap();
        writeln!(text, "and.b32 %t0, %t0, 7;").unwrap();
        for (at, number) in numbers.into_iter().enumerate() {
            writeln!(text, "setp.eq.u32 %q, %t0, {at}; selp.{bits} %x{value}, {number}, %x{value}, %q;")
                .unwrap();
        }
    }
    let names = ["lt", "le", "gt", "ge", "eq", "ne", "ltu", "leu", "gtu", "geu", "equ", "neu", "num", "nan"];
    for result in 0..RESULTS {
        let name = names[random.below(names.len())];
        let (one, other) = (random.below(3), random.below(3));
        writeln!(text, "setp.{name}.{ty} %p{result}, %x{one}, %x{other};").unwrap();
    }
    store(&mut text, &mut random);
    text + "ret; }\n"
}

/// Stores what depends on the comparisons, which are read in all ways.
fn store(text: &mut String, random: &mut Random) {
    for result in 0..RESULTS {
        let other = random.below(RESULTS);
        let place = format!("[%a1+{}]", 4 * result);
        match random.below(5) {
            0 => writeln!(text, "@%p{result} st.global.b32 {place}, 1;"),
            1 => writeln!(text, "@!%p{result} st.global.b32 {place}, 1;"),
            2 => writeln!(text, "xor.pred %q, %p{other}, %p{result}; @%q st.global.b32 {place}, 1;"),
            3 => writeln!(text, "@%p{other} selp.b32 %r, 1, 0, %p{result}; st.global.b32 {place}, %r;"),
            _ => writeln!(text, "selp.b32 %r, 1, 0, %p{result}; st.global.b32 {place}, %r;"),
        }
        .unwrap();
    }
}

fn kernel(seed: u64) -> String {
    let mut random = Random(seed);
    let (ty, places) = TYPES[random.below(TYPES.len())];
    let bits = &ty[1..];
    let is_signed = ty.starts_with('s');
    // As a constant of the type is written: within its bounds.
    let written = |value: i64| match (bits, is_signed) {
        ("16", true) => (value as i16).to_string(),
        ("16", false) => (value as u16).to_string(),
        ("32", true) => (value as i32).to_string(),
        ("32", false) => (value as u32).to_string(),
        (_, true) => value.to_string(),
        _ => (value as u64).to_string(),
    };
    let place = places[random.below(places.len())];
    let near = |random: &mut Random| place.wrapping_add(random.below(2 * NEAR as usize + 1) as i64 - NEAR);
    let mut text = format!(
        ".entry k(.param .u64 p) {{ .reg .b{bits} %x<3>, %n; .reg .b64 %a<3>; .reg .b32 %t<2>, %r; .reg .pred %p<{RESULTS}>, %q;\n\
         mov.u32 %t1, %tid.x; mul.wide.u32 %a1, %t1, {BYTES}; ld.param.u64 %a2, [p]; add.u64 %a1, %a1, %a2;\n\
         mov.b32 %r, 2; and.b32 %t0, %t1, 7; cvt.u{bits}.u32 %n, %t0;\n"
    );
    for value in 0..3 {
        let start = near(&mut random).wrapping_sub(3);
        writeln!(text, "add.{ty} %x{value}, %n, {};", written(start)).unwrap();
    }
    for result in 0..RESULTS {
        let names: &[&str] = if is_signed {
            &["lt", "le", "gt", "ge", "eq", "ne"]
        } else {
            &["lt", "le", "gt", "ge", "eq", "ne", "lo", "ls", "hi", "hs"]
        };
        let name = names[random.below(names.len())];
        let one = format!("%x{}", random.below(3));
        let other = match random.below(4) {
            0 => format!("%x{}", random.below(3)),
            _ => written(near(&mut random)),
        };
        writeln!(text, "setp.{name}.{ty} %p{result}, {one}, {other};").unwrap();
    }
    store(&mut text, &mut random);
    text + "ret; }\n"
}

/// How many comparisons there are in kernels, and how many are left.
fn compared(kernel: fn(u64) -> String) -> (usize, usize) {
    let (mut without, mut with) = (0, 0);
    for seed in 0..400 {
        let text = kernel(seed * 7919 + 5);
        let (unchanged, changed) = (numbered(&text, &[]), numbered(&text, &[&PHASE]));
        assert!(left_by(&text) == left_by(&changed), "{text}\nbecomes\n{changed}");
        without += unchanged.matches("setp.").count();
        with += changed.matches("setp.").count();
    }
    println!("{without} comparisons, of which {with} are left");
    (without, with)
}

#[test]
fn comparisons_that_are_known_hold_where_they_held() {
    let (without, with) = compared(kernel);
    // Of 24,000 stay 16,911 where constants have no next ones. All that were found when this was written are found.
    assert!(without >= with + 8486);
}

#[test]
fn comparisons_of_floats_that_are_known_hold_where_they_held() {
    let (without, with) = compared(kernel_of_floats);
    assert!(without >= with + 11_898);
}

/// Whether two comparisons of one number are found to be one.
fn are_one(ty: &str, one: &str, other: &str) -> bool {
    let text = format!(
        ".entry k(.param .u64 p) {{ .reg .b{0} %x; .reg .b64 %a; .reg .b32 %r; .reg .pred %p<2>;\n\
         ld.param.u64 %a, [p]; ld.global.{ty} %x, [%a]; setp.{one}; setp.{other};\n\
         selp.b32 %r, 1, 0, %p0; st.global.u32 [%a], %r; selp.b32 %r, 1, 0, %p1; st.global.u32 [%a+4], %r; ret; }}\n",
        &ty[1..]
    );
    numbered(&text, &[&PHASE]).matches("setp.").count() == 1
}

/// For each order of numbers and a constant, which stands after the number or in front of it, whether it is one with the other order
/// and the next constant.
fn with_the_next(ty: &str, constant: &str, next: &str) -> Vec<bool> {
    let signless: &[_] = if ty.starts_with('u') { &[["hi", "hs"], ["ls", "lo"]] } else { &[] };
    let after = [["gt", "ge"], ["le", "lt"]].iter().chain(signless).map(|[one, other]| {
        are_one(ty, &format!("{one}.{ty} %p0, %x, {constant}"), &format!("{other}.{ty} %p1, %x, {next}"))
    });
    let in_front = [["lt", "le"], ["ge", "gt"]].iter().map(|[one, other]| {
        are_one(ty, &format!("{one}.{ty} %p0, {constant}, %x"), &format!("{other}.{ty} %p1, {next}, %x"))
    });
    after.chain(in_front).collect()
}

#[test]
fn orders_with_neighbouring_constants_are_one() {
    for (ty, least, next) in [
        ("s16", "5", "6"),
        ("s16", "-1", "0"),
        ("u16", "0", "1"),
        ("s32", "5", "6"),
        ("s32", "-1", "0"),
        ("s32", "-2147483648", "-2147483647"),
        ("s32", "2147483646", "2147483647"),
        ("u32", "0", "1"),
        ("u32", "4294967294", "4294967295"),
        ("s64", "5", "6"),
        ("s64", "-1", "0"),
        ("u64", "5", "6"),
    ] {
        let found = with_the_next(ty, least, next);
        assert!(found.iter().all(|&is_one| is_one), "{ty} {least}: {found:?}");
    }
}

#[test]
fn orders_that_nothing_follows_are_not_the_first_ones() {
    for (ty, greatest, least) in [
        ("s16", "32767", "-32768"),
        ("u16", "65535", "0"),
        ("s32", "2147483647", "-2147483648"),
        ("u32", "4294967295", "0"),
        ("s64", "9223372036854775807", "-9223372036854775808"),
        ("u64", "18446744073709551615", "0"),
    ] {
        let found = with_the_next(ty, greatest, least);
        assert!(found.iter().all(|&is_one| !is_one), "{ty} {greatest}: {found:?}");
    }
}

#[test]
fn orders_with_one_constant_are_two() {
    for (ty, constant) in [("s32", "5"), ("u32", "5"), ("s64", "0")] {
        let found = with_the_next(ty, constant, constant);
        assert!(found.iter().all(|&is_one| !is_one), "{ty} {constant}: {found:?}");
    }
}
