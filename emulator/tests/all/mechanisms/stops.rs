//! How runs end early: traps, accesses, limits, launches that do not fit.

use super::{kernel, load, run_plain, run_with, words};
use ptxopt_emulator::{Argument, Launch, Limits, Module, Options, StateSpace, Stop, run};

#[test]
fn a_trap_says_who_and_where() {
    let stop = run_plain(&kernel("setp.eq.u32 %p1, %t, 37;\n@%p1 trap; ret;"), 64, 1).stop;
    let Some(Stop::Trap { place }) = stop else { panic!("{stop:?}") };
    assert_eq!((place.thread.tid, place.line), ([37, 0, 0], 9));
    assert_eq!(Stop::Trap { place }.to_string(), "trap: line 9, thread (37,0,0) of CTA (0,0,0)");
}

/// What is left does not depend on which thread came first, and a barrier does not wait for one that has trapped.
#[test]
fn a_trap_lets_other_threads_end() {
    for barrier in ["", "bar.sync 0;"] {
        let body = format!("setp.eq.u32 %p1, %t, 37;\n@%p1 trap; {barrier} st.global.u32 [%own], 1; ret;");
        let outcome = run_plain(&kernel(&body), 64, 64);
        assert!(matches!(outcome.stop, Some(Stop::Trap { .. })), "{:?}", outcome.stop);
        for (thread, word) in outcome.buffers[0].chunks(4).enumerate() {
            assert_eq!(word[0], u8::from(thread != 37), "thread {thread}");
        }
    }
}

#[test]
fn accesses_past_the_end() {
    for (body, space) in [
        ("ld.global.u32 %r1, [%own];", StateSpace::Global),
        ("ld.u32 %r1, [%own];", StateSpace::Global),
        (".shared .align 4 .b32 s; ld.shared.u32 %r1, [s+4];", StateSpace::Shared),
        (".local .align 4 .b32 l; ld.local.u32 %r1, [l+16];", StateSpace::Local),
        (".local .align 4 .b32 l; ld.local.u32 %r1, [l+-4];", StateSpace::Local),
        ("mov.u32 %r2, -16; ld.shared.u32 %r1, [%r2+16];", StateSpace::Shared),
        ("mov.u64 %rd1, 0; ld.u32 %r1, [%rd1];", StateSpace::Global),
    ] {
        let stop = run_plain(&kernel(&format!("{body} ret;")), 2, 1).stop;
        let Some(Stop::OutOfBounds { access, .. }) = stop else { panic!("{body}: {stop:?}") };
        assert_eq!((access.space, access.bytes), (space, 4), "{body}");
    }
    let constant = ".const .align 4 .u32 c = 1;\n".to_owned();
    let body = "mov.u64 %rd1, c; cvta.const.u64 %rd1, %rd1; st.u32 [%rd1], 1; ret;";
    let stop = run_plain(&(constant + &kernel(body)), 1, 1).stop;
    assert!(matches!(stop, Some(Stop::OutOfBounds { .. })), "{stop:?}");
    let parameter =
        "mov.b64 %rd1, out; cvta.param.u64 %rd1, %rd1; ld.u64 %rd2, [%rd1]; st.u64 [%rd1], %rd2; ret;";
    let stop = run_plain(&kernel(parameter), 1, 1).stop;
    let Some(Stop::OutOfBounds { access, .. }) = stop else { panic!("{stop:?}") };
    assert_eq!((access.space, access.bytes), (StateSpace::Param, 8));
}

/// Where a callee's frame was, its caller has nothing.
#[test]
fn accesses_past_the_frame_after_a_call() {
    let callee = ".func f() { .local .align 4 .b32 m[64]; st.local.u32 [m+252], 1; ret; }\n".to_owned();
    let body = ".local .align 4 .b32 l; st.local.u32 [l], 1; call f; ld.local.u32 %r1, [l+128]; ret;";
    let stop = run_plain(&(callee + &kernel(body)), 1, 1).stop;
    assert!(matches!(stop, Some(Stop::OutOfBounds { .. })), "{stop:?}");
}

#[test]
fn accesses_off_their_alignment() {
    let stop = run_plain(&kernel("ld.global.v2.u32 {%r1, %r2}, [%out+4]; ret;"), 1, 4).stop;
    let Some(Stop::Misaligned { access, .. }) = stop else { panic!("{stop:?}") };
    assert_eq!((access.bytes, access.address % 8), (8, 4));
}

#[test]
fn limits_end_what_does_not_end() {
    let limits = Limits { steps: 10_000, ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let outcome = run_with(&kernel("again: bra again;"), 32, 1, &options);
    assert_eq!(outcome.stop, Some(Stop::StepLimit));
    assert!((10_000..10_064).contains(&outcome.steps), "{}", outcome.steps);
    let functions = ".func f() { .reg .b32 x<100>; .local .b8 l[4096]; mov.u32 x99, 1; call f, (); ret; }\n";
    let limits = Limits { memory_bytes: 8 << 20, ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let outcome = run_with(&(functions.to_owned() + &kernel("call f, (); ret;")), 32, 1, &options);
    assert_eq!(outcome.stop, Some(Stop::MemoryLimit));
}

#[test]
fn memory_of_ctas_that_are_done_is_given_back() {
    let functions = ".func f() { .reg .b32 x<100>; .local .b8 l[4096]; mov.u32 x99, 1; ret; }\n";
    let module = load(&(functions.to_owned() + &kernel("call f, (); ret;")));
    let launch = Launch {
        entry: "k".to_owned(),
        grid: [200, 1, 1],
        block: [32, 1, 1],
        shared_bytes: 1 << 16,
        args: vec![Argument::Buffer(vec![0; 4])],
    };
    let limits = Limits { memory_bytes: 1 << 20, ..Limits::default() };
    let outcome = run(&module, &launch, &Options { limits, ..Options::default() });
    assert_eq!(outcome.stop, None);
}

/// What lies after a variable is no other one, so far as a mistake goes.
#[test]
fn variables_lie_apart() {
    let variables = ".global .align 4 .b8 a[256]; .global .align 4 .b8 b[256];\n";
    for beyond in [256, 1024, 65_536] {
        let body = format!("mov.u64 %rd1, a; ld.global.u32 %r1, [%rd1+{beyond}]; ret;");
        let stop = run_plain(&(variables.to_owned() + &kernel(&body)), 1, 1).stop;
        assert!(matches!(stop, Some(Stop::OutOfBounds { .. })), "{beyond}: {stop:?}");
    }
}

#[test]
fn the_log_has_a_limit() {
    let run = |log_entries| {
        let limits = Limits { log_entries, ..Limits::default() };
        let options = Options { limits, uninterpreted: true, ..Options::default() };
        let outcome = run_with(&kernel("quiesce.global [%out], %t; ret;"), 4, 1, &options);
        (outcome.stop, outcome.log.len())
    };
    assert_eq!((run(4), run(3)), ((None, 4), (Some(Stop::LogLimit), 3)));
}

/// Nobody frees it, so it is still there when its CTA is done.
#[test]
fn memory_that_is_allocated_stays() {
    let functions = ".extern .func (.param .b64 r) malloc(.param .b64 n);\n";
    let body = "{ .param .b64 n; .param .b64 r; st.param.b64 [n], 65536; call.uni (r), malloc, (n); } ret;";
    let module = load(&(functions.to_owned() + &kernel(body)));
    let stop = |ctas| {
        let args = vec![Argument::Buffer(vec![0; 4])];
        let launch =
            Launch { entry: "k".to_owned(), grid: [ctas, 1, 1], block: [1; 3], shared_bytes: 0, args };
        let limits = Limits { memory_bytes: 1 << 20, ..Limits::default() };
        run(&module, &launch, &Options { limits, ..Options::default() }).stop
    };
    assert_eq!((stop(12), stop(20)), (None, Some(Stop::MemoryLimit)));
}

#[test]
fn what_is_not_modelled_is_named() {
    let stop = run_plain(
        &kernel("setp.ne.u32 %p1, %t, %t;\n@%p1 frobnicate.b32 %r1, %t;\nfrobnicate.b32 %r1, %t; ret;"),
        1,
        1,
    )
    .stop;
    let expected = Stop::NotSupported { mnemonic: "frobnicate.b32".to_owned(), line: 10 };
    assert_eq!(stop, Some(expected.clone()));
    assert_eq!(expected.to_string(), "not supported: frobnicate.b32, line 10");
}

#[test]
fn an_assertion_says_what_failed() {
    let functions = ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);
        .global .align 1 .b8 message[6] = { 120, 32, 62, 32, 48, 0 };\n";
    let body = "{ .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 c;
        mov.u64 %rd1, message; cvta.global.u64 %rd1, %rd1; st.param.b64 [m], %rd1; st.param.b64 [f], %rd1;
        st.param.b32 [l], 3; st.param.b64 [n], %rd1; st.param.b64 [c], 1; call.uni __assertfail, (m, f, l, n, c); } ret;";
    for trap in ["", "setp.eq.u32 %p1, %t, 0; @%p1 trap;"] {
        let stop = run_plain(&(functions.to_owned() + &kernel(&format!("{trap} {body}"))), 2, 1).stop;
        let Some(Stop::Assertion { message, .. }) = stop else { panic!("{stop:?}") };
        assert_eq!(message, "x > 0");
    }
}

/// Its frames hold no register, so that only their number ends it.
#[test]
fn a_recursion_without_end_overflows_the_stack() {
    let stop =
        run_plain(&(".func f() { call f, (); ret; }\n".to_owned() + &kernel("call f, (); ret;")), 32, 1).stop;
    assert_eq!(stop, Some(Stop::MemoryLimit));
}

#[test]
fn a_cta_has_sixteen_barriers() {
    let wait_at =
        |number: u32| run_plain(&kernel(&format!("mov.u32 %r1, {number}; barrier.sync %r1; ret;")), 32, 1);
    assert_eq!(wait_at(15).stop, None);
    for number in [16, 17, u32::MAX] {
        let stop = wait_at(number).stop;
        assert!(matches!(stop, Some(Stop::BadBarrier { id, .. }) if id == u64::from(number)), "{stop:?}");
    }
}

#[test]
fn no_device_takes_an_impossible_extent() {
    let module = load(".visible .entry k() { ret; }");
    let stop = |grid, block| {
        let launch = Launch { entry: "k".to_owned(), grid, block, shared_bytes: 0, args: Vec::new() };
        run(&module, &launch, &Options::default()).stop
    };
    assert_eq!(stop([1, 2, 3], [4, 4, 64]), None);
    // The product of the third block is 1,024 in 64 bits.
    for (grid, block) in [
        ([1, 65_536, 1], [1; 3]),
        ([1, 0, 1], [1; 3]),
        ([1; 3], [1, 0, 1]),
        ([1; 3], [1, 1, 65]),
        ([1; 3], [1_024, 134_201_345, 134_234_113]),
        ([1 << 31, 1, 1], [1; 3]),
    ] {
        assert!(matches!(stop(grid, block), Some(Stop::BadLaunch(_))), "{grid:?} {block:?}");
    }
}

#[test]
fn braces_without_end_are_refused() {
    let nested = |depth: usize| {
        let text =
            format!(".global .u32 g[1] = {}1{};\n{}", "{".repeat(depth), "}".repeat(depth), kernel("ret;"));
        Module::load(format!(".version 8.0\n.target sm_80\n.address_size 64\n{text}").as_bytes())
    };
    assert!(nested(1).is_ok());
    assert!(nested(2).is_err() && nested(100_000).is_err());
}

#[test]
fn an_index_past_the_table_is_no_target() {
    let body = "table: .branchtargets a, a; brx.idx %t, table; a: ret;";
    let stop = run_plain(&kernel(body), 3, 1).stop;
    assert!(matches!(stop, Some(Stop::BadTarget { value: 2, .. })), "{stop:?}");
}

#[test]
fn a_launch_must_fit() {
    let module = load(".visible .entry k(.param .u32 x) .reqntid 32 { ret; }");
    let launch = |block, args| Launch { entry: "k".to_owned(), grid: [1; 3], block, shared_bytes: 0, args };
    let stop = |launch: &Launch| run(&module, launch, &Options::default()).stop;
    assert_eq!(stop(&launch([32, 1, 1], vec![Argument::Scalar(vec![0; 4])])), None);
    for wrong in [
        launch([64, 1, 1], vec![Argument::Scalar(vec![0; 4])]),
        launch([32, 1, 1], vec![]),
        launch([32, 1, 1], vec![Argument::Scalar(vec![0; 8])]),
        Launch { entry: "other".to_owned(), ..launch([32, 1, 1], vec![]) },
    ] {
        assert!(matches!(stop(&wrong), Some(Stop::BadLaunch(_))), "{wrong:?}");
    }
}

#[test]
fn text_that_is_no_module_is_refused() {
    assert!(Module::load(b"int main() {}").is_err());
    assert!(Module::load(b".version 8.0\n.target sm_90\n.global .u32 x = { nonsense").is_err());
}

/// The assembler takes none either.
#[test]
fn an_external_variable_in_a_body_is_refused() {
    let load = |linking: &str| {
        let body = kernel(&format!("{linking} .shared .align 4 .b32 x; ret;"));
        Module::load(format!(".version 8.0\n.target sm_80\n.address_size 64\n{body}").as_bytes())
    };
    assert!(load("").is_ok());
    assert!(load(".extern").is_err());
}

#[test]
fn parameters_of_an_impossible_size_are_refused() {
    let is_taken = |parameter: &str| {
        let text = format!(".version 8.0\n.target sm_90\n.extern .func f(.param {parameter});\n");
        Module::load(text.as_bytes()).is_ok()
    };
    assert!(is_taken(".align 4 .b8 s[1048576]"));
    assert!(!is_taken(".align 4 .b8 s[1048577]") && !is_taken(".b64 s[4294967296][4294967296]"));
    assert!(!is_taken(".align 3 .b8 s[4]"));
}

#[test]
fn functions_kept_as_text_are_not_run() {
    // The last word would get a meaning once scopes are flattened: rows cannot say this function.
    let stop = run_plain(&kernel("{ .reg .b32 from; } frob => from; ret;"), 1, 1).stop;
    let Some(Stop::NotSupported { mnemonic, .. }) = stop else { panic!("{stop:?}") };
    assert_eq!(mnemonic, "a function that the reader keeps as text");
}

#[test]
fn registers_that_functions_share_are_refused() {
    let shares = ".reg .u32 shared;\n.func increment() { add.u32 shared, shared, 1; ret; }\n";
    let body = "mov.u32 shared, 5; call increment; st.global.u32 [%own], shared; ret;";
    let stop = run_plain(&(shares.to_owned() + &kernel(body)), 1, 1).stop;
    let Some(Stop::NotSupported { mnemonic, .. }) = stop else { panic!("{stop:?}") };
    assert_eq!(mnemonic, "a register that functions share");
    // In a module of one function it is like any other.
    let alone =
        ".reg .u32 alone;\n".to_owned() + &kernel("mov.u32 alone, 5; st.global.u32 [%own], alone; ret;");
    assert_eq!(words(&alone, 1, 1), [5]);
}
