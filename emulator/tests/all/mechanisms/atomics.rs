//! Atomics: every operation, in every space, vectors and 128 bits.

use super::{each, kernel, run_plain, words, words_of};

/// The word at the start of the results after each of `threads` threads has done `operation` on it, and the old
/// values that they saw.
fn on_word(first: u32, operation: &str, threads: u32) -> (u32, Vec<u32>) {
    let body = format!(
        "setp.eq.u32 %p1, %t, 0; @%p1 st.global.u32 [%out], {first}; bar.warp.sync -1;
         add.u32 %r2, %t, 1; cvt.rn.f32.u32 %f1, %r2;
         {operation} st.global.u32 [%own+4], %r1; ret;"
    );
    let all = words(&kernel(&body), threads, 1 + threads as usize);
    (all[0], all[1..].to_vec())
}

#[test]
fn lanes_take_turns_from_the_lowest() {
    let (last, old) = on_word(100, "atom.global.add.u32 %r1, [%out], %r2;", 32);
    assert_eq!(last, 100 + 32 * 33 / 2);
    assert_eq!(old, each(32, |t| 100 + t * (t + 1) / 2));
}

#[test]
fn integer_operations() {
    let last = |first, operation: &str| on_word(first, operation, 32).0;
    assert_eq!(last(5, "atom.global.min.u32 %r1, [%out], %r2;"), 1);
    assert_eq!(last(0xFFFF_FFFF, "atom.global.min.s32 %r1, [%out], %r2;"), 0xFFFF_FFFF);
    assert_eq!(last(0xFFFF_FFFF, "atom.global.max.s32 %r1, [%out], %r2;"), 32);
    assert_eq!(last(5, "atom.global.max.u32 %r1, [%out], %r2;"), 32);
    assert_eq!(last(0xFF, "atom.global.and.b32 %r1, [%out], 0xF0;"), 0xF0);
    assert_eq!(last(0, "atom.global.or.b32 %r1, [%out], %r2;"), 63);
    // 1 ^ 2 ^ ... ^ 32 = 32.
    assert_eq!(last(0, "atom.global.xor.b32 %r1, [%out], %r2;"), 32);
    assert_eq!(on_word(7, "atom.global.exch.b32 %r1, [%out], %r2;", 4), (4, vec![7, 1, 2, 3]));
    // Counts 0, 1, 2 and wraps after the bound.
    assert_eq!(on_word(0, "atom.global.inc.u32 %r1, [%out], 2;", 7).1, [0, 1, 2, 0, 1, 2, 0]);
    assert_eq!(on_word(2, "atom.global.dec.u32 %r1, [%out], 2;", 7).1, [2, 1, 0, 2, 1, 0, 2]);
    assert_eq!(on_word(0, "atom.global.cas.b32 %r1, [%out], %t, %r2;", 8), (8, each(8, |t| t)));
    assert_eq!(on_word(3, "red.relaxed.gpu.global.add.u32 [%out], 2; mov.u32 %r1, 9;", 4), (11, vec![9; 4]));
}

#[test]
fn reals() {
    let last = |first: f32, operation: &str| f32::from_bits(on_word(first.to_bits(), operation, 4).0);
    assert_eq!(last(0.5, "atom.global.add.f32 %f2, [%out], %f1; mov.b32 %r1, %f2;"), 10.5);
    // Two halves: 1 + 4 * 1 and 2 + 4 * 0.5.
    let (last, _) =
        on_word(0x4000_3C00, "mov.b32 %r3, 0x38003C00; atom.global.add.noftz.f16x2 %r1, [%out], %r3;", 4);
    assert_eq!(last, 0x4400_4500);
    // Bfloats: 1 + 4 * 1.
    let (last, _) =
        on_word(0x3F80, "mov.b32 %r3, 0x00003F80; atom.global.add.noftz.bf16x2 %r1, [%out], %r3;", 4);
    assert_eq!(last, 0x40A0);
}

#[test]
fn doubles_and_long_integers() {
    let body = "mov.b64 %rd1, 0x3FE0000000000000;
        atom.global.add.f64 %rd2, [%out], %rd1; atom.global.add.u64 %rd3, [%out+8], 0x100000000;
        atom.global.min.s64 %rd4, [%out+16], -5; atom.global.cas.b64 %rd5, [%out+24], 0, 9; ret;";
    let outcome = run_plain(&kernel(body), 8, 8);
    assert_eq!(outcome.stop, None);
    let longs: Vec<u64> =
        outcome.buffers[0].chunks_exact(8).map(|long| u64::from_le_bytes(long.try_into().unwrap())).collect();
    assert_eq!(longs, [4.0f64.to_bits(), 8 << 32, -5i64 as u64, 9]);
}

#[test]
fn shared_and_generic_cells() {
    let body = ".shared .align 4 .b32 s; mov.u32 %r2, s; cvt.u64.u32 %rd1, %r2; cvta.shared.u64 %rd2, %rd1;
        st.shared.u32 [s], 0; bar.warp.sync -1; atom.shared.add.u32 %r3, [%r2], 1; atom.add.u32 %r4, [%rd2], 10;
        bar.warp.sync -1; ld.shared.u32 %r1, [s]; st.global.u32 [%own], %r1; ret;";
    assert_eq!(words(&kernel(body), 8, 8), each(8, |_| 88));
}

#[test]
fn narrow_and_wide_cells() {
    let body = "mov.b16 %h1, 0; mov.b16 %h2, 77; atom.global.cas.b16 %h3, [%out+2], %h1, %h2;
        .reg .b128 %q1, %q2, %q3; mov.b64 %rd1, 0; mov.b64 %rd2, 5; mov.b128 %q1, {%rd1, %rd1};
        mov.b128 %q2, {%rd2, %rd1}; atom.global.cas.b128 %q3, [%out+16], %q1, %q2;
        atom.global.cas.b128 %q3, [%out+16], %q1, %q1; mov.b128 {%rd3, %rd4}, %q3;
        st.global.u64 [%out+32], %rd3; ret;";
    let all = words(&kernel(body), 1, 10);
    // The second comparison fails and gives what the first one wrote.
    assert_eq!(all, [77 << 16, 0, 0, 0, 5, 0, 0, 0, 5, 0]);
}

#[test]
fn cells_of_128_bits_are_exchanged_whatever_they_hold() {
    let body = ".reg .b128 q<3>; mov.b64 %rd1, 5; mov.b64 %rd2, 6; mov.b128 q1, {%rd1, %rd2};
        st.global.u64 [%out], 7; atom.global.exch.b128 q2, [%out], q1; mov.b128 {%rd3, %rd4}, q2;
        st.global.v2.u64 [%out+16], {%rd3, %rd4}; ret;";
    assert_eq!(words(&kernel(body), 1, 8), [5, 0, 6, 0, 7, 0, 0, 0]);
}

#[test]
fn vectors_are_atomic_by_element() {
    let body = "mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f40000000;
        atom.global.add.v2.f32 {%f3, %f4}, [%out], {%f1, %f2};
        red.global.add.v2.f32 [%out+8], {%f1, %f2}; ret;";
    let outcome = run_plain(&kernel(body), 4, 4);
    assert_eq!(outcome.stop, None);
    let reals: Vec<f32> = words_of(&outcome).into_iter().map(f32::from_bits).collect();
    assert_eq!(reals, [4.0, 8.0, 4.0, 8.0]);
}
