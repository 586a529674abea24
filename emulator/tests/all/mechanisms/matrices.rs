//! Matrices of a warp, through memory and through their products.

use super::{each, kernel, run_plain, words};
use ptxopt_emulator::Stop;

/// Eight rows of eight halves in `s`, element (r, c) being 8r + c: word t holds 2t and 2t + 1. `%r2` is the address of the
/// row that the lane names, where the rows are named from the last.
const ROWS: &str = ".shared .align 16 .b32 s[32]; mov.u32 %r1, s; mad.lo.u32 %r3, %t, 4, %r1;
    shl.b32 %r4, %t, 1; mad.lo.u32 %r4, %r4, 0x10001, 0x10000; st.shared.u32 [%r3], %r4; bar.sync 0;
    and.b32 %r5, %t, 7; sub.u32 %r5, 7, %r5; mad.lo.u32 %r2, %r5, 16, %r1;";

#[test]
fn rows_of_halves_are_loaded_from_the_addresses_of_lanes() {
    let load = |qualifier: &str| {
        let body = format!(
            "{ROWS} ldmatrix.sync.aligned.m8n8.x1{qualifier}.shared.b16 {{%r6}}, [%r2]; st.global.u32 [%own], %r6; ret;"
        );
        words(&kernel(&body), 32, 32)
    };
    let element = |row: u32, column: u32| 8 * (7 - row) + column;
    // Lane t has two neighbours of row t / 4 and, of the transposed matrix, of column t / 4.
    let plain = |t: u32| element(t / 4, t % 4 * 2) | element(t / 4, t % 4 * 2 + 1) << 16;
    let transposed = |t: u32| element(t % 4 * 2, t / 4) | element(t % 4 * 2 + 1, t / 4) << 16;
    assert_eq!((load(""), load(".trans")), (each(32, plain), each(32, transposed)));
}

#[test]
fn rows_of_halves_are_stored_to_the_addresses_of_lanes() {
    let body = format!(
        "{ROWS} ld.shared.u32 %r6, [%r3]; bar.sync 0;
         stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {{%r6}}; bar.sync 0;
         ld.shared.u32 %r7, [%r3]; st.global.u32 [%own], %r7; ret;"
    );
    // Word t of the last row comes first.
    let word = |t: u32| (2 * t) | ((2 * t + 1) << 16);
    assert_eq!(words(&kernel(&body), 32, 32), each(32, |t| word((7 - t / 4) * 4 + t % 4)));
}

#[test]
fn a_fragment_that_is_stored_by_columns_is_transposed() {
    let registers = "{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}";
    let body = format!(
        "mov.u32 %r1, 0;
         fill: mad.lo.u32 %r2, %r1, 32, %t; mad.wide.u32 %rd1, %r2, 4, %out; cvt.rn.f32.u32 %f8, %r2;
         st.global.f32 [%rd1], %f8; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 8; @%p1 bra fill; bar.sync 0;
         wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {registers}, [%out];
         wmma.store.d.sync.aligned.col.m16n16k16.global.f32 [%out+1024], {registers}, 20; ret;"
    );
    let all = words(&kernel(&body), 32, 256 + 16 * 20);
    for (at, &word) in all[256..].iter().enumerate() {
        let (column, row) = (at / 20, at % 20);
        let expected = if row < 16 { (16 * row + column) as f32 } else { 0.0 };
        assert_eq!(f32::from_bits(word), expected, "row {row}, column {column}");
    }
}

/// Every element of a product of ones is as large as the rows are long.
#[test]
fn a_product_is_added_to_what_stands_in_the_third_matrix() {
    let body =
        ".reg .f64 %d<6>; mov.f64 %d1, 0d3FF0000000000000; cvt.rn.f64.u32 %d2, %t; add.f64 %d3, %d2, %d1;
        mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d4, %d5}, {%d1}, {%d1}, {%d2, %d3};
        cvt.rzi.u32.f64 %r1, %d4; cvt.rzi.u32.f64 %r2, %d5; mad.lo.u32 %r1, %r2, 1000, %r1;
        st.global.u32 [%own], %r1; ret;";
    assert_eq!(words(&kernel(body), 32, 32), each(32, |t| t + 4 + 1000 * (t + 5)));
}

/// One row of addresses after the end is enough.
#[test]
fn rows_lie_within_memory() {
    let body = format!(
        "{ROWS} setp.eq.u32 %p1, %t, 5; @%p1 add.u32 %r2, %r1, 128;
         ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r6}}, [%r2]; ret;"
    );
    let stop = run_plain(&kernel(&body), 32, 1).stop;
    assert!(matches!(stop, Some(Stop::OutOfBounds { .. })), "{stop:?}");
}
