//! Spaces, initialisers, addresses, vectors.

use super::{HEADER, each, kernel, load, run_plain, words};
use ptxopt_emulator::{Argument, Launch, Module, Options, StateSpace, Stop, run};

#[test]
fn narrow_loads_extend_into_wide_registers() {
    let body = "st.global.u32 [%out], 0x8081FF7F; bar.warp.sync 1;
        ld.global.s8 %r1, [%out+1]; st.global.u32 [%out+4], %r1;
        ld.global.u8 %r2, [%out+1]; st.global.u32 [%out+8], %r2;
        ld.global.s16 %r3, [%out+2]; st.global.u32 [%out+12], %r3;
        ld.global.s8 %h1, [%out+3]; mov.b32 %r4, {%h1, %h1}; st.global.u32 [%out+16], %r4;
        ld.global.b8 %rd1, [%out]; st.global.u8 [%out+20], %rd1; ret;";
    let expected = [0x8081_FF7F, 0xFFFF_FFFF, 0xFF, 0xFFFF_8081, 0xFF80_FF80, 0x7F];
    assert_eq!(words(&kernel(body), 1, 6), expected);
}

#[test]
fn vectors_leave_out_what_is_sunk() {
    let body = "st.global.v4.u32 [%out], {1, 2, 3, 4}; ld.global.v4.u32 {%r1, _, _, %r2}, [%out];
        ld.global.v2.u64 {_, %rd1}, [%out]; st.global.u32 [%out+16], %r1; st.global.u32 [%out+20], %r2;
        st.global.u64 [%out+24], %rd1; ret;";
    assert_eq!(words(&kernel(body), 1, 8), [1, 2, 3, 4, 1, 4, 3, 4]);
}

#[test]
fn vector_registers_have_components() {
    let body = ".reg .v4 .u32 %v; ld.global.v4.u32 %v, [%out]; mov.u32 %v.y, 5; add.u32 %v.w, %v.y, 2;
        st.global.v4.u32 [%out], %v; mov.v4.u32 %v, {9, 8, 7, 6}; st.global.u32 [%out+16], %v.z; ret;";
    assert_eq!(words(&kernel(body), 1, 5), [0, 5, 0, 7, 7]);
}

#[test]
fn values_are_packed_and_taken_apart() {
    let body = "mov.b16 %h1, 0x1234; mov.b16 %h2, 0xABCD; mov.b32 %r1, {%h1, %h2}; mov.b32 {_, %h3}, %r1;
        mov.b64 %rd1, {%r1, %t}; mov.b64 {%r2, %r3}, %rd1; mov.b64 {%h4, %h5, %h6, %h7}, %rd1;
        mov.b32 %r4, {%h3, %h5}; st.global.u32 [%out], %r1; st.global.u32 [%out+4], %r2;
        st.global.u32 [%out+8], %r4; ret;";
    assert_eq!(words(&kernel(body), 1, 3), [0xABCD_1234, 0xABCD_1234, 0xABCD_ABCD]);
}

#[test]
fn initialisers_of_every_kind() {
    let functions = ".const .align 4 .u32 c[2][3] = { {1, 2}, {4} };
        .global .align 4 .f32 reals[3] = { 1.5, -0f40000000, 2 };
        .global .align 8 .f64 double = 0.25;
        .global .align 4 .u32 base[4] = { 10, 20, 30, 40 };
        .global .align 8 .u64 pointers[2] = { base+8, generic(c)+4 };
        .global .align 1 .b8 parts[3] = { 0xFF(pointers), 0xFF00(base), -1 };
        .global .align 4 .b32 unsized[] = { 7, 8, 9 };
        .global .v2 .u32 pair = { 5, 6 };\n";
    let body = "ld.const.u32 %r1, [c+4]; st.global.u32 [%out], %r1; ld.const.u32 %r1, [c+8]; st.global.u32 [%out+4], %r1;
        ld.const.u32 %r1, [c+12]; st.global.u32 [%out+8], %r1; ld.global.u32 %r1, [reals+4]; st.global.u32 [%out+12], %r1;
        ld.global.u64 %rd1, [double]; st.global.u64 [%out+16], %rd1;
        ld.global.u64 %rd2, [pointers]; ld.u32 %r1, [%rd2]; st.global.u32 [%out+24], %r1;
        ld.global.u64 %rd3, [pointers+8]; ld.u32 %r1, [%rd3]; st.global.u32 [%out+28], %r1;
        ld.global.u32 %r1, [unsized+8]; st.global.u32 [%out+32], %r1; ld.global.u32 %r1, [pair+4];
        st.global.u32 [%out+36], %r1; ld.global.s8 %r1, [parts+2]; st.global.u32 [%out+40], %r1;
        mov.u64 %rd4, base; cvt.u32.u64 %r2, %rd4; shr.u32 %r2, %r2, 8; and.b32 %r2, %r2, 255;
        ld.global.u8 %r1, [parts+1]; sub.u32 %r1, %r1, %r2; st.global.u32 [%out+44], %r1;
        ld.global.u32 %r1, [base[3]]; st.global.u32 [%out+48], %r1; ret;";
    let body = body.replace("[base[3]]", "[base+12]");
    let all = words(&(functions.to_owned() + &kernel(&body)), 1, 13);
    let quarter = 0.25f64.to_bits();
    let expected =
        [2, 4, 0, (-2.0f32).to_bits(), quarter as u32, (quarter >> 32) as u32, 30, 2, 9, 6, u32::MAX, 0, 40];
    assert_eq!(all, expected);
}

#[test]
fn reals_are_written_with_a_point_or_with_an_exponent() {
    let variable = ".global .align 8 .f64 d[4] = { 1.5, 5e-1, 25E1, 1.25e+2 };\n";
    let body = "ld.global.v2.u64 {%rd1, %rd2}, [d]; ld.global.v2.u64 {%rd3, %rd4}, [d+16];
        st.global.v2.u64 [%out], {%rd1, %rd2}; st.global.v2.u64 [%out+16], {%rd3, %rd4}; ret;";
    let expected: Vec<u8> = [1.5f64, 0.5, 250.0, 125.0].iter().flat_map(|real| real.to_le_bytes()).collect();
    assert_eq!(run_plain(&(variable.to_owned() + &kernel(body)), 1, 8).buffers[0], expected);
}

#[test]
fn a_variable_may_be_announced_before_it_is_declared_and_again() {
    let variables = ".extern .global .align 4 .u32 g; .extern .const .align 4 .u32 c[2];
        .visible .global .align 4 .u32 g = 6; .visible .const .align 4 .u32 c[2] = { 7, 8 };
        .extern .global .align 4 .u32 g;\n";
    let body = "ld.global.u32 %r1, [g]; ld.const.u32 %r2, [c+4]; st.global.v2.u32 [%out], {%r1, %r2}; ret;";
    assert_eq!(words(&(variables.to_owned() + &kernel(body)), 1, 2), [6, 8]);
}

/// What only a host could use is declared and not in the way.
#[test]
fn textures_and_managed_variables_are_declared() {
    let functions = ".global .texref t;
        .global .samplerref s = { addr_mode_0 = clamp_to_edge, filter_mode = nearest };
        .visible .global .attribute(.managed) .align 4 .u32 m = 3;
        .weak .global .align 4 .b8 w[4] = { 1, 2, 3, 4 };\n";
    let body = "ld.global.u32 %r1, [m]; ld.global.u32 %r2, [w]; st.global.v2.u32 [%out], {%r1, %r2}; ret;";
    assert_eq!(words(&(functions.to_owned() + &kernel(body)), 1, 2), [3, 0x0403_0201]);
}

#[test]
fn globals_come_out_by_name() {
    let functions = ".visible .global .align 4 .u32 counter = 5;\n";
    let body = "atom.global.add.u32 %r1, [counter], 1; ret;";
    let outcome = run_plain(&(functions.to_owned() + &kernel(body)), 8, 1);
    assert_eq!(outcome.globals, [("counter".to_owned(), 13u32.to_le_bytes().to_vec())]);
}

#[test]
fn generic_addresses_say_where_they_point() {
    let functions = ".const .align 4 .u32 c = 11;\n";
    let body = ".shared .align 4 .b32 s; .local .align 4 .b32 l;
        mov.u64 %rd1, s; cvta.shared.u64 %rd1, %rd1; mov.u64 %rd2, l; cvta.local.u64 %rd2, %rd2;
        mov.u64 %rd3, c; cvta.const.u64 %rd3, %rd3;
        st.u32 [%rd1], 22; st.u32 [%rd2], 33; ld.shared.u32 %r1, [s]; ld.local.u32 %r2, [l]; ld.u32 %r3, [%rd3];
        isspacep.shared %p1, %rd1; isspacep.local %p2, %rd2; isspacep.const %p3, %rd3; isspacep.global %p4, %out;
        isspacep.global %p5, %rd1;
        selp.u32 %r4, 1, 0, %p1; selp.u32 %r5, 2, 0, %p2; selp.u32 %r6, 4, 0, %p3; selp.u32 %r7, 8, 0, %p4;
        selp.u32 %r8, 16, 0, %p5; add.u32 %r4, %r4, %r5; add.u32 %r4, %r4, %r6; add.u32 %r4, %r4, %r7;
        add.u32 %r4, %r4, %r8; cvta.to.shared.u64 %rd4, %rd1; ld.shared.u32 %r9, [%rd4];
        st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4}; st.global.u32 [%out+16], %r9; ret;";
    assert_eq!(words(&(functions.to_owned() + &kernel(body)), 1, 5), [22, 33, 11, 15, 22]);
}

/// The high half of a clock is none in a run as short as this.
#[test]
fn clocks_go_on() {
    let body = "mov.u32 %r1, %clock; mov.u64 %rd1, %clock64; mov.u32 %r2, %clock_hi; cvt.u64.u32 %rd2, %r1;
        setp.gt.u64 %p1, %rd1, %rd2; selp.u32 %r3, 1, 0, %p1; st.global.v2.u32 [%out], {%r2, %r3}; ret;";
    assert_eq!(words(&kernel(body), 1, 2), [0, 1]);
}

#[test]
fn local_memory_is_each_threads_own() {
    let body =
        ".local .align 4 .b8 l[64]; and.b32 %r1, %t, 15; mov.u64 %rd1, l; mad.wide.u32 %rd2, %r1, 4, %rd1;
        st.local.u32 [%rd2], %t; bar.sync 0; ld.local.u32 %r2, [%rd2]; st.global.u32 [%own], %r2; ret;";
    assert_eq!(words(&kernel(body), 64, 64), each(64, |t| t));
}

/// What a frame holds is found there, in a callee's and from a callee, too; what lies past a variable is nobody's.
#[test]
fn variables_that_lie_apart_are_not_reached_from_one_another() {
    let callee = ".local .align 4 .b32 m[2]; .shared .align 4 .b32 s[2]; .const .align 4 .b32 c[2] = {20, 30}; .const .b32 d = 40;
        .extern .shared .align 4 .b32 x[];
        .func (.param .b32 sum) f(.param .align 16 .b8 a[12], .param .b64 p) {
            .local .align 4 .b32 l[2]; .reg .b32 %r<6>; .reg .b64 %rd<3>;
            ld.param.v4.b32 {%r1, %r2, %r3, %r4}, [a]; ld.param.b64 %rd1, [p]; ld.b32 %r4, [%rd1+4];
            st.local.b32 [l+4], %r4; ld.local.b32 %r5, [l+4]; add.u32 %r5, %r5, %r1; st.param.b32 [sum], %r5; ret; }\n";
    let body = |access: &str| {
        kernel(&format!(
            ".local .align 4 .b32 v[2]; .local .align 4 .b32 w[2]; mov.u64 %rd1, v; cvta.local.u64 %rd1, %rd1;
            .shared .align 4 .b32 u[2]; st.shared.b32 [u], 50; st.shared.b32 [s+4], 60; st.shared.b32 [x+4], 70;
            st.local.b32 [m+4], 3; st.local.b32 [v+4], 4; st.local.b32 [w], 5; st.local.b32 [w+4], 6;
            alloca.u64 %rd2, 16, 8; st.local.b32 [%rd2+12], 7;
            {{ .param .align 16 .b8 p[12]; .param .b64 q; .param .b32 z; st.param.b32 [p], 8; st.param.b64 [q], %rd1;
            call (z), f, (p, q); ld.param.b32 %r1, [z]; }}
            {access} add.u32 %r1, %r1, %r2; st.global.u32 [%out], %r1; ret;"
        ))
    };
    let launch = Launch {
        entry: "k".to_owned(),
        grid: [1; 3],
        block: [1; 3],
        shared_bytes: 8,
        args: vec![Argument::Buffer(vec![0; 4])],
    };
    for (access, result) in [
        ("ld.shared.b32 %r2, [s+4];", Ok(72)),
        ("ld.shared.b32 %r2, [u];", Ok(62)),
        ("ld.shared.b32 %r2, [x+4];", Ok(82)),
        ("ld.const.b32 %r2, [c+4];", Ok(42)),
        ("ld.const.b32 %r2, [d];", Ok(52)),
        ("ld.shared.b32 %r2, [s+8];", Err(StateSpace::Shared)),
        ("st.shared.b32 [s+4100], 1;", Err(StateSpace::Shared)),
        ("ld.shared.b32 %r2, [u+8];", Err(StateSpace::Shared)),
        ("ld.shared.b32 %r2, [x+8];", Err(StateSpace::Shared)),
        ("ld.const.b32 %r2, [c+8];", Err(StateSpace::Const)),
        ("ld.const.b32 %r2, [d+4];", Err(StateSpace::Const)),
        ("ld.local.b32 %r2, [m+8];", Err(StateSpace::Local)),
        ("ld.local.b32 %r2, [v+4];", Ok(16)),
        ("ld.b32 %r2, [%rd1+4];", Ok(16)),
        ("ld.local.b32 %r2, [m+4];", Ok(15)),
        ("ld.local.b32 %r2, [%rd2+12];", Ok(19)),
        ("ld.local.b32 %r2, [%rd2];", Ok(12)),
        ("ld.local.b32 %r2, [v+8];", Err(StateSpace::Local)),
        ("ld.b32 %r2, [%rd1+8];", Err(StateSpace::Local)),
        ("st.local.b32 [v+4100], 1;", Err(StateSpace::Local)),
        ("ld.local.b32 %r2, [w+-4];", Err(StateSpace::Local)),
        ("ld.local.b32 %r2, [w+8];", Err(StateSpace::Local)),
    ] {
        let text = format!("{HEADER}{callee}{}", body(access));
        let apart = Module::load_apart(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        let outcome = run(&apart, &launch, &Options::default());
        match (result, outcome.stop.clone()) {
            (Ok(sum), None) => assert_eq!(super::words_of(&outcome), [sum], "{access}"),
            (Err(space), Some(Stop::OutOfBounds { access: found, .. })) => {
                assert_eq!((found.space, found.bytes), (space, 4), "{access}");
            }
            (_, stop) => panic!("{access}: {stop:?}"),
        }
    }
}

#[test]
fn dynamic_shared_memory_lies_after_the_static() {
    let functions = ".extern .shared .align 16 .b8 dynamic[];\n";
    let body = ".shared .align 4 .b32 s[3]; mov.u32 %r1, dynamic; mov.u32 %r2, %dynamic_smem_size;
        mad.lo.u32 %r3, %t, 4, %r1; st.shared.u32 [%r3], %t; st.shared.u32 [s+8], 9; bar.sync 0;
        ld.shared.u32 %r4, [%r3]; add.u32 %r4, %r4, %r2; st.global.u32 [%own], %r4; ret;";
    let launch = Launch {
        entry: "k".to_owned(),
        grid: [1; 3],
        block: [32, 1, 1],
        shared_bytes: 128,
        args: vec![Argument::Buffer(vec![0; 128])],
    };
    let outcome = run(&load(&(functions.to_owned() + &kernel(body))), &launch, &Options::default());
    assert_eq!(outcome.stop, None);
    assert_eq!(super::words_of(&outcome), each(32, |t| t + 128));
    // Added to the 64 bytes of its own, that would be nothing.
    let launch = Launch { shared_bytes: u64::MAX - 63, ..launch };
    let outcome = run(&load(&(functions.to_owned() + &kernel(body))), &launch, &Options::default());
    assert!(matches!(outcome.stop, Some(Stop::BadLaunch(_))), "{:?}", outcome.stop);
}

#[test]
fn parameters_are_read_by_name_and_by_address() {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 out, .param .align 4 .b8 s[12], .param .u16 h) {{
            .reg .b64 %rd<4>; .reg .b32 %r<4>;
            ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [s+4]; mov.b64 %rd2, s; ld.param.u32 %r2, [%rd2+8];
            cvta.param.u64 %rd3, %rd2; ld.u32 %r3, [%rd3]; st.global.v2.u32 [%rd1], {{%r1, %r2}};
            st.global.u32 [%rd1+8], %r3; ld.param.u16 %r1, [h]; st.global.u32 [%rd1+12], %r1; ret; }}"
    );
    let module = Module::load(text.as_bytes()).unwrap();
    let entry = &module.entries()[0];
    let shapes: Vec<_> = entry.parameters.iter().map(|one| (one.ty, one.size, one.align)).collect();
    assert_eq!(shapes, [("u64", 8, 8), ("b8", 12, 4), ("u16", 2, 2)]);
    let structure = [1u32, 2, 3].iter().flat_map(|word| word.to_le_bytes()).collect();
    let launch = Launch {
        entry: "k".to_owned(),
        grid: [1; 3],
        block: [1; 3],
        shared_bytes: 0,
        args: vec![Argument::Buffer(vec![0; 16]), Argument::Scalar(structure), Argument::Scalar(vec![4, 1])],
    };
    let outcome = run(&module, &launch, &Options::default());
    assert_eq!(outcome.stop, None);
    assert_eq!(super::words_of(&outcome), [2, 3, 1, 260]);
}

#[test]
fn a_structure_holds_addresses_of_buffers() {
    let text = ".version 8.0 .target sm_90 .address_size 64
        .visible .entry k(.param .u64 out, .param .align 8 .b8 s[24]) { .reg .b64 %rd<4>; .reg .b32 %r<6>;
        ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [s+8]; ld.param.u32 %r1, [s+16]; ld.global.u32 %r2, [%rd2+4];
        st.global.v2.u32 [%rd1], {%r1, %r2}; st.global.u32 [%rd2], 9; ret; }";
    let module = Module::load(text.as_bytes()).unwrap();
    let launch = |at: usize| {
        let mut bytes = vec![0; 24];
        bytes[16] = 7;
        let buffer = [1u32, 2].iter().flat_map(|word| word.to_le_bytes()).collect();
        let args = vec![Argument::Buffer(vec![0; 8]), Argument::Structure(bytes, vec![(at, buffer)])];
        Launch { entry: "k".to_owned(), grid: [1; 3], block: [1; 3], shared_bytes: 0, args }
    };
    let outcome = run(&module, &launch(8), &Options::default());
    assert_eq!((outcome.stop.clone(), super::words_of(&outcome)), (None, vec![7, 2]));
    assert_eq!(outcome.buffers[1], [9, 0, 0, 0, 2, 0, 0, 0]);
    let outcome = run(&module, &launch(17), &Options::default());
    assert!(matches!(outcome.stop, Some(Stop::BadLaunch(_))), "{:?}", outcome.stop);
}

#[test]
fn a_structure_is_read_as_far_as_its_alignment_goes() {
    let text = ".version 8.0 .target sm_90 .address_size 64 .global .align 4 .u32 g = 8;
        .visible .entry k(.param .u64 out, .param .align 16 .b8 s[12]) { .reg .b64 %rd<2>; .reg .b32 %r<6>;
        ld.param.u64 %rd1, [out]; ld.param.v4.u32 {%r1, %r2, %r3, %r4}, [s]; ld.global.u32 %r5, [g];
        st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r5}; ret; }";
    let module = Module::load(text.as_bytes()).unwrap();
    let structure = [1u32, 2, 3].iter().flat_map(|word| word.to_le_bytes()).collect();
    let args = vec![Argument::Buffer(vec![0; 16]), Argument::Scalar(structure)];
    let launch = Launch { entry: "k".to_owned(), grid: [1; 3], block: [1; 3], shared_bytes: 0, args };
    let outcome = run(&module, &launch, &Options::default());
    assert_eq!((outcome.stop.clone(), super::words_of(&outcome)), (None, vec![1, 2, 3, 8]));
}

#[test]
fn addresses_of_32_bits() {
    let text = ".version 4.0\n.target sm_20\n.address_size 32\n.global .u32 g[2] = { 5, 6 };
        .visible .entry k(.param .u32 out) { .reg .u32 %r<5>; .shared .u32 s;
        ld.param.u32 %r1, [out]; mov.u32 %r2, g; cvta.global.u32 %r2, %r2; ld.u32 %r3, [%r2+4]; st.shared.u32 [s], %r3;
        mov.u32 %r4, s; cvta.shared.u32 %r4, %r4; ld.u32 %r3, [%r4]; st.global.u32 [%r1], %r3; ret; }";
    let module = Module::load(text.as_bytes()).unwrap();
    assert_eq!(module.address_bits(), 32);
    let args = vec![Argument::Buffer(vec![0; 4])];
    let launch = Launch { entry: "k".to_owned(), grid: [1; 3], block: [1; 3], shared_bytes: 0, args };
    let outcome = run(&module, &launch, &Options::default());
    assert_eq!((outcome.stop.clone(), super::words_of(&outcome)), (None, vec![6]));
}

#[test]
fn the_stack_grows_and_goes_back() {
    let body =
        "stacksave.u64 %rd1; alloca.u64 %rd2, 16, 8; st.local.u32 [%rd2+12], %t; ld.local.u32 %r1, [%rd2+12];
        stackrestore.u64 %rd1; alloca.u64 %rd3, 32, 8; sub.u64 %rd4, %rd3, %rd2; cvt.u32.u64 %r2, %rd4;
        mad.lo.u32 %r1, %r2, 1000, %r1; st.global.u32 [%own], %r1; ret;";
    assert_eq!(words(&kernel(body), 4, 4), each(4, |t| t));
}

/// As the assembler (13.0) lays them out: the braces of rows say how many there are, and nothing about where a value stands.
#[test]
fn values_of_nested_braces_follow_one_another() {
    let text = format!(
        "{HEADER}.global .b32 rows[][3] = {{{{1, 2}}, {{4}}}};
        .visible .entry k(.param .u64 out) {{ .reg .b32 %r<7>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [out];
            ld.global.u32 %r1, [rows]; ld.global.u32 %r2, [rows+4]; ld.global.u32 %r3, [rows+8];
            ld.global.u32 %r4, [rows+12]; ld.global.u32 %r5, [rows+20]; st.global.v4.u32 [%rd1], {{%r1, %r2, %r3, %r4}};
            st.global.u32 [%rd1+16], %r5; ret; }}"
    );
    let module = Module::load(text.as_bytes()).unwrap();
    let args = vec![Argument::Buffer(vec![0xFF; 20])];
    let launch = Launch { entry: "k".to_owned(), grid: [1, 1, 1], block: [1, 1, 1], shared_bytes: 0, args };
    let outcome = run(&module, &launch, &Options::default());
    assert_eq!((outcome.stop.clone(), super::words_of(&outcome)), (None, vec![1, 2, 4, 0, 0]));
}

#[test]
fn a_grid_has_ids_in_three_dimensions() {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 out) {{ .reg .b32 %r<12>; .reg .b64 %rd<4>;
            ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z;
            mov.u32 %r4, %tid.x; mov.u32 %r5, %tid.y; mov.u32 %r6, %tid.z; mov.u32 %r7, %nctaid.x;
            mad.lo.u32 %r8, %r3, 2, %r2; mad.lo.u32 %r8, %r8, %r7, %r1;
            mad.lo.u32 %r9, %r6, 3, %r5; mad.lo.u32 %r9, %r9, %ntid.x, %r4;
            mad.lo.u32 %r10, %r8, 24, %r9; mad.wide.u32 %rd2, %r10, 4, %rd1; add.u32 %r10, %r10, 1;
            st.global.u32 [%rd2], %r10; ret; }}"
    )
    .replace("mad.lo.u32 %r9, %r9, %ntid.x, %r4;", "mov.u32 %r11, %ntid.x; mad.lo.u32 %r9, %r9, %r11, %r4;");
    let module = Module::load(text.as_bytes()).unwrap();
    let args = vec![Argument::Buffer(vec![0; 4 * 3 * 2 * 2 * 24])];
    let launch = Launch { entry: "k".to_owned(), grid: [3, 2, 2], block: [4, 3, 2], shared_bytes: 0, args };
    let outcome = run(&module, &launch, &Options::default());
    assert_eq!((outcome.stop.clone(), super::words_of(&outcome)), (None, each(288, |at| at + 1)));
}

/// The second CTA waits for what the first writes, and the first for the second: both run.
#[test]
fn ctas_that_wait_for_one_another_take_turns() {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 out) {{ .reg .pred %p1; .reg .b32 %r<6>; .reg .b64 %rd<4>;
            ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; mad.wide.u32 %rd2, %r1, 4, %rd1;
            xor.b32 %r2, %r1, 1; mad.wide.u32 %rd3, %r2, 4, %rd1; st.release.gpu.global.u32 [%rd2], 1;
            again: ld.acquire.gpu.global.u32 %r3, [%rd3]; setp.eq.u32 %p1, %r3, 0; @%p1 bra again;
            st.release.gpu.global.u32 [%rd2+8], %r3; ret; }}"
    );
    let module = Module::load(text.as_bytes()).unwrap();
    let args = vec![Argument::Buffer(vec![0; 16])];
    let launch = Launch { entry: "k".to_owned(), grid: [2, 1, 1], block: [1; 3], shared_bytes: 0, args };
    let outcome = run(&module, &launch, &Options::default());
    assert_eq!((outcome.stop.clone(), super::words_of(&outcome)), (None, vec![1, 1, 1, 1]));
}

/// The number in brackets after a name counts elements, vectors whole.
#[test]
fn elements_of_arrays_are_named() {
    let variables =
        ".global .align 4 .u32 g[3] = { 10, 20, 30 }; .global .align 2 .u16 h[4] = { 1, 2, 3, 4 };
        .const .v2 .u32 c[2] = { {5, 6}, {7, 8} };\n";
    let body = "ld.global.u32 %r1, g[2]; ld.global.u16 %r2, h[3]; ld.const.u32 %r3, c[1]; mov.u64 %rd1, g[1];
        ld.global.u32 %r4, [%rd1]; st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4}; ret;";
    assert_eq!(words(&(variables.to_owned() + &kernel(body)), 1, 4), [30, 4, 7, 20]);
}
