//! Calls: parameters in memory and in registers, recursion, addresses of functions, what devices offer.

use super::{each, kernel, run_plain, run_with, words};
use ptxopt_emulator::{Effect, Limits, Options, PrintArgument, Stop};

/// `t!` modulo 2^32, with a frame for each call.
const FACTORIAL: &str = ".func (.param .b32 result) factorial(.param .b32 n) {
        .reg .pred %p<2>; .reg .b32 %r<6>;
        ld.param.u32 %r1, [n]; setp.le.u32 %p1, %r1, 1; @%p1 bra one;
        sub.u32 %r2, %r1, 1;
        { .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call.uni (b), factorial, (a);
          ld.param.b32 %r3, [b]; }
        mul.lo.u32 %r4, %r3, %r1; st.param.b32 [result], %r4; ret;
        one: st.param.b32 [result], 1; ret; }\n";

#[test]
fn recursion_gives_each_call_its_own_registers() {
    let body = "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %t; call.uni (b), factorial, (a);
        ld.param.b32 %r1, [b]; } st.global.u32 [%own], %r1; ret;";
    let factorial = |t: u32| (1..=t).fold(1, u32::wrapping_mul);
    assert_eq!(words(&(FACTORIAL.to_owned() + &kernel(body)), 32, 32), each(32, factorial));
}

/// What a function has in memory a call may give and take in registers, and the other way around.
#[test]
fn results_go_between_registers_and_memory() {
    let functions = ".func (.param .b32 d) in_memory(.param .b32 a) { .reg .b32 %r<3>;
            ld.param.u32 %r1, [a]; add.u32 %r2, %r1, 5; st.param.b32 [d], %r2; ret; }
        .func (.reg .u32 d) in_register(.reg .u32 a) { add.u32 d, a, 9; ret; }\n";
    let body = "call (%r1), in_memory, (%t);
        { .local .b32 before; .param .b32 b; st.local.b32 [before], 1000; call (b), in_register, (%t);
          ld.param.b32 %r2, [b]; ld.local.b32 %r3, [before]; }
        mad.lo.u32 %r1, %r2, 100, %r1; mad.lo.u32 %r1, %r3, 10, %r1; st.global.u32 [%own], %r1; ret;";
    assert_eq!(
        words(&(functions.to_owned() + &kernel(body)), 8, 8),
        each(8, |t| t + 5 + 100 * (t + 9) + 10_000)
    );
}

#[test]
fn register_parameters_and_nested_calls() {
    let functions = ".func (.reg .u32 d) twice(.reg .u32 a) { add.u32 d, a, a; ret; }
        .func (.reg .u32 d) plus_twice(.reg .u32 a, .reg .u32 b) {
            .reg .u32 x; call (x), twice, (b); add.u32 d, a, x; ret; }\n";
    let body = "call (%r1), plus_twice, (%t, 5); st.global.u32 [%own], %r1; ret;";
    assert_eq!(words(&(functions.to_owned() + &kernel(body)), 8, 8), each(8, |t| t + 10));
}

#[test]
fn function_addresses_in_memory_are_called_lane_by_lane() {
    let functions = ".func (.param .b32 d) add1(.param .b32 a) { .reg .b32 %r<3>;
            ld.param.u32 %r1, [a]; add.u32 %r2, %r1, 1; st.param.b32 [d], %r2; ret; }
        .func (.param .b32 d) add100(.param .b32 a) { .reg .b32 %r<3>;
            ld.param.u32 %r1, [a]; add.u32 %r2, %r1, 100; st.param.b32 [d], %r2; ret; }
        .global .align 8 .u64 table[2] = { add1, add100 };\n";
    let body = "and.b32 %r1, %t, 1; mov.u64 %rd1, table; mad.wide.u32 %rd1, %r1, 8, %rd1; ld.global.u64 %rd2, [%rd1];
        { .param .b32 a; .param .b32 b; st.param.b32 [a], %t;
          prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
          call (b), %rd2, (a), prototype; ld.param.b32 %r2, [b]; }
        st.global.u32 [%own], %r2; ret;";
    let expected = each(32, |t| if t % 2 == 1 { t + 100 } else { t + 1 });
    assert_eq!(words(&(functions.to_owned() + &kernel(body)), 32, 32), expected);
}

#[test]
fn an_address_that_is_no_function_is_no_callee() {
    let body = "mov.u64 %rd1, 4096; prototype: .callprototype _ (); call %rd1, (), prototype; ret;";
    let stop = run_plain(&kernel(body), 1, 1).stop;
    assert!(matches!(stop, Some(Stop::BadTarget { value: 4096, .. })), "{stop:?}");
}

#[test]
fn structures_go_by_value() {
    let functions = ".func change(.param .align 4 .b8 s[12]) { .reg .b32 %r<2>;
            mov.u32 %r1, 99; st.param.b32 [s+4], %r1; ret; }\n";
    let body =
        "{ .param .align 4 .b8 s[12]; st.param.b32 [s], 1; st.param.b32 [s+4], 2; st.param.b32 [s+8], 3;
        call.uni change, (s); ld.param.b32 %r1, [s+4]; } st.global.u32 [%own], %r1; ret;";
    assert_eq!(words(&(functions.to_owned() + &kernel(body)), 2, 2), [2, 2]);
}

#[test]
fn printing_goes_into_the_log_thread_by_thread() {
    let functions = ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
        .global .align 1 .b8 format[7] = { 37, 100, 32, 37, 102, 10, 0 };\n";
    let body = "{ .local .align 8 .b8 list[16]; .param .b64 f; .param .b64 a; .param .b32 r;
        st.local.u32 [list], %t; mov.u64 %rd1, 0x3FF8000000000000; st.local.u64 [list+8], %rd1;
        mov.u64 %rd2, list; cvta.local.u64 %rd2, %rd2; mov.u64 %rd3, format; cvta.global.u64 %rd3, %rd3;
        st.param.b64 [f], %rd3; st.param.b64 [a], %rd2; call.uni (r), vprintf, (f, a); ld.param.b32 %r1, [r]; }
        st.global.u32 [%own], %r1; ret;";
    let outcome = run_plain(&(functions.to_owned() + &kernel(body)), 2, 2);
    assert_eq!(outcome.stop, None);
    assert_eq!(super::words_of(&outcome), [2, 2]);
    let arguments = |t| vec![PrintArgument::Bits(t), PrintArgument::Bits(1.5f64.to_bits())];
    let effects: Vec<Effect> = outcome.log.into_iter().map(|entry| entry.effect).collect();
    let format = b"%d %f\n".to_vec();
    assert_eq!(effects, [0, 1].map(|t| Effect::Print { format: format.clone(), arguments: arguments(t) }));
}

#[test]
fn malloc_gives_memory_that_free_takes_back() {
    let functions = ".extern .func (.param .b64 r) malloc(.param .b64 n);
        .extern .func free(.param .b64 p);\n";
    let body = "{ .param .b64 n; .param .b64 r; st.param.b64 [n], 8; call.uni (r), malloc, (n); ld.param.b64 %rd1, [r]; }
        st.u32 [%rd1+4], 77; ld.u32 %r1, [%rd1+4]; st.global.u32 [%own], %r1;
        { .param .b64 p; st.param.b64 [p], %rd1; call.uni free, (p); }
        setp.eq.u32 %p1, %t, 1; @%p1 ld.u32 %r1, [%rd1]; ret;";
    let outcome = run_plain(&(functions.to_owned() + &kernel(body)), 2, 2);
    assert_eq!(super::words_of(&outcome), [77, 77]);
    assert!(matches!(outcome.stop, Some(Stop::OutOfBounds { .. })), "{:?}", outcome.stop);
}

#[test]
fn variadic_arguments_are_an_array_without_a_size() {
    let functions = ".func (.param .b32 d) second(.param .b32 n, .param .align 8 .b8 list[]) {
        .reg .b32 %r<2>; ld.param.u32 %r1, [list+4]; st.param.b32 [d], %r1; ret; }\n";
    let body = "{ .param .b32 n; .param .align 8 .b8 list[16]; .param .b32 d; st.param.b32 [n], 2;
        st.param.b32 [list], 5; st.param.b32 [list+4], 6; call (d), second, (n, list); ld.param.b32 %r1, [d]; }
        st.global.u32 [%own], %r1; ret;";
    assert_eq!(words(&(functions.to_owned() + &kernel(body)), 1, 1), [6]);
}

#[test]
fn an_alias_is_its_function() {
    let functions = ".func (.reg .u32 d) one() { mov.u32 d, 1; ret; }
        .func (.reg .u32 d) uno();
        .alias uno, one;\n";
    let body = "call (%r1), uno, (); st.global.u32 [%own], %r1; ret;";
    assert_eq!(words(&(functions.to_owned() + &kernel(body)), 1, 1), [1]);
}

/// They have no register in the function, but their place among the arguments.
#[test]
fn parameters_that_the_body_never_names_are_passed_over() {
    let body = ".reg .v2 .u32 v; .reg .b128 q; mov.u32 v.x, 3; mov.u32 v.y, 4; mov.u64 %rd1, 5; mov.b128 q, {%rd1, %rd1};
        setp.eq.u32 %p1, %t, 0;";
    for (ty, argument) in [
        (".u16", "%h1"),
        (".u32", "7"),
        (".f64", "%rd1"),
        (".pred", "%p1"),
        (".v2 .u32", "v"),
        (".b128", "q"),
    ] {
        let function = format!(
            ".func (.reg .u32 d) f(.reg {ty} unused, .reg .u32 a, .reg {ty} last) {{ add.u32 d, a, 1; ret; }}\n"
        );
        let body =
            format!("{body} call (%r1), f, ({argument}, %t, {argument}); st.global.u32 [%own], %r1; ret;");
        assert_eq!(words(&(function + &kernel(&body)), 4, 4), each(4, |t| t + 1), "{ty}");
    }
}

#[test]
fn calls_go_no_deeper_than_a_stack_has_room_for() {
    let limits = Limits { steps: 1 << 20, ..Limits::default() };
    let function = ".func f() { call f, (); ret; }\n";
    let outcome = run_with(
        &(function.to_owned() + &kernel("call f, (); ret;")),
        1,
        1,
        &Options { limits, ..Options::default() },
    );
    assert_eq!(outcome.stop, Some(Stop::MemoryLimit));
}
