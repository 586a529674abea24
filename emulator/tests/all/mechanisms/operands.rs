//! Operands that are more than a register or a number.

use super::{each, kernel, words};

/// `ptxas` adds at the width of the register, wherever a register may stand as a value.
#[test]
fn a_register_and_a_constant_are_a_sum() {
    let body = "mov.u32 %r1, 5; mov.u16 %h1, 0xFFFF; mov.u64 %rd1, 0x1FFFFFFFF; mov.u32 %r9, 0xFFFFFFFF;
        st.global.u32 [%own], %r1+1;
        st.global.u64 [%own+8], %rd1+1;
        add.u32 %r2, %r1+-2, %r1+(2*3); st.global.u32 [%own+16], %r2;
        mov.u32 %r3, %r1 + 100; st.global.u32 [%own+20], %r3;
        mul.wide.u32 %rd2, %r9+2, %r1; st.global.u64 [%own+24], %rd2;
        cvt.u32.u16 %r4, %h1+2; st.global.u32 [%own+32], %r4;
        setp.lt.u32 %p1, %r9+1, %r1; selp.u32 %r5, %r1+1, %r1, %p1; st.global.u32 [%own+36], %r5;
        shl.b32 %r6, %r1, %r1+-4; st.global.u32 [%own+40], %r6;
        mov.b64 {%r7, %r8}, %rd1+1; st.global.u32 [%own+44], %r8;
        st.global.u8 [%own+48], %r9+2;
        st.global.u32 [%own+52], %r1+4294967296;
        atom.global.add.u32 %r10, [%own+56], %r1+1; ret;";
    let expected = [6, 0, 0, 2, 14, 105, 5, 0, 1, 6, 10, 2, 1, 5, 6];
    assert_eq!(words(&kernel(body), 1, 15), expected);
}

/// A component of a vector register is a register of its own; writing one leaves the others.
#[test]
fn vector_registers_have_components() {
    let body = ".reg .v4 .u32 v; .reg .v2 .u32 w<2>; .reg .v2 .b16 h;
        mov.u32 v.x, 1; mov.u32 v.y, 2; mov.u32 v.z, 3; mov.u32 v.w, 4;
        st.global.v4.u32 [%own], v;
        mov.u32 v.g, 20; add.u32 v.b, v.r, v.a;
        st.global.v4.u32 [%own+16], v;
        ld.global.v2.u32 w0, [%own+16]; mov.v2.u32 w1, w0;
        st.global.v2.u32 [%own+32], {w1.y, w1.x};
        mov.b64 %rd1, w0; st.global.u64 [%own+40], %rd1;
        mov.b64 w1, %rd1; st.global.u32 [%own+48], w1.y;
        mov.b16 h.x, 7; mov.b16 h.y, 9; mov.b32 %r1, h; st.global.u32 [%own+52], %r1;
        ld.global.v2.u32 {w1.x, _}, [%own+12]; st.global.v2.u32 [%own+56], w1; ret;";
    let body = body.replace("[%own+12]; st", "[%own+8]; st");
    let expected = [1, 2, 3, 4, 1, 20, 5, 4, 20, 1, 1, 20, 20, 9 << 16 | 7, 3, 20];
    assert_eq!(words(&kernel(&body), 1, 16), expected);
}

/// Vector registers as parameters of functions.
#[test]
fn vector_registers_are_passed() {
    let function =
        ".func (.reg .v2 .u32 q) f (.reg .v2 .u32 a) { add.u32 q.x, a.y, 1; add.u32 q.y, a.x, 2; ret; }";
    let body = ".reg .v2 .u32 v, w; mov.u32 v.x, 10; mov.u32 v.y, 20; call (w), f, (v);
        st.global.v2.u32 [%own], w; ret;";
    assert_eq!(words(&format!("{function}\n{}", kernel(body)), 1, 2), [21, 12]);
}

#[test]
fn the_opposite_of_a_predicate_is_moved() {
    let body = "setp.lt.u32 %p1, %t, 3; mov.pred %p2, !%p1; @!%p1 mov.pred %p3, !%p2; @%p1 mov.pred %p3, %p1;
        selp.u32 %r1, 1, 0, %p2; selp.u32 %r2, 10, 0, %p3; add.u32 %r1, %r1, %r2; st.global.u32 [%own], %r1; ret;";
    assert_eq!(words(&kernel(body), 8, 8), each(8, |t| if t < 3 { 10 } else { 1 }));
}

/// As in the code that `ptxas` 13.0.88 makes: the last element that is loaded stays, and the comparison itself, not its opposite.
#[test]
fn one_register_for_two_results_holds_one_of_them() {
    let twice = kernel(
        "mov.b64 %rd1, 0x700000005; mov.b64 {%r1, %r1}, %rd1; st.global.u32 [%own], %r1;
         setp.lt.u32 %p1|%p1, %t, 1; selp.u32 %r2, 1, 2, %p1; st.global.u32 [%own+4], %r2; ret;",
    );
    assert_eq!(words(&twice, 1, 2), [7, 1]);
}

/// Digits with a point are a double, and become a single where the source is one: `set` and `slct` name two types.
#[test]
fn a_real_literal_has_the_type_of_its_source() {
    let body = "cvt.rn.f64.u32 %rd1, %t; cvt.rn.f32.u32 %f1, %t; mov.b64 %rd2, 0; mov.b64 %rd3, 1;
        set.lt.u32.f64 %r1, %rd1, 1.5; set.lt.f32.f64 %f2, %rd1, 2.5; mov.b32 %r2, %f2;
        slct.f64.f32 %rd4, 1.5, 2.5, %f1; slct.u64.f32 %rd5, %rd2, %rd3, -1.5; slct.f32.s32 %f3, 3.5, 4.5, %t;
        st.global.v2.u32 [%out], {%r1, %r2}; st.global.u64 [%out+8], %rd4; st.global.u64 [%out+16], %rd5;
        st.global.f32 [%out+24], %f3; ret;";
    let one_and_a_half = 1.5f64.to_bits();
    let expected = [
        u32::MAX,
        1.0f32.to_bits(),
        one_and_a_half as u32,
        (one_and_a_half >> 32) as u32,
        1,
        0,
        3.5f32.to_bits(),
    ];
    assert_eq!(words(&kernel(body), 1, 7), expected);
}
