//! Instructions without a model.

use super::{kernel, run_with, words_of};
use ptxopt_emulator::{Effect, Options, Outcome, Stop};

fn outcome(body: &str) -> Outcome {
    let options = Options { uninterpreted: true, ..Options::default() };
    let outcome = run_with(&kernel(body), 4, 8, &options);
    assert_eq!(outcome.stop, None);
    outcome
}

const BODY: &str = "UNRELATED frobnicate.b32 %r1, %t; frobnicate.b32 %r2, %t; frobnicate.b32 %r3, 7;
    st.global.u32 [%own], %r1; xor.b32 %r4, %r2, %r3; st.global.u32 [%own+16], %r4;
    quiesce.global [%out], %r1; ret;";

#[test]
fn results_depend_on_values_and_occurrence() {
    let all = words_of(&outcome(&BODY.replace("UNRELATED", "")));
    let mut distinct = all.clone();
    distinct.sort_unstable();
    distinct.dedup();
    // Different inputs, and the same input a second time, give different results.
    assert_eq!(distinct.len(), all.len());
}

#[test]
fn a_texture_shows_the_same_again() {
    for root in ["tex", "tld4.r"] {
        let read = |first: &str| {
            format!(
                "{root}.2d.v4.u32.f32 {{{first}, %r2, %r3, %r4}}, [%out, {{%f1, %f1}}]; st.global.u32 [%own], {first};"
            )
        };
        let twice = outcome(&format!("cvt.rn.f32.u32 %f1, %t; {} {} ret;", read("%r1"), read("%r5")));
        let once = outcome(&format!("cvt.rn.f32.u32 %f1, %t; {} ret;", read("%r1")));
        assert_eq!(twice.buffers, once.buffers, "{root}");
        assert!(once.log.is_empty() && words_of(&once)[..4].iter().all(|&word| word != 0), "{root}");
    }
}

/// Some formats have no model.
#[test]
fn a_conversion_gives_the_same_again() {
    let read = |result: &str| format!("cvt.rn.bf16x2.e4m3x2 {result}, %h; st.global.u32 [%own], {result};");
    let given = ".reg .b16 %h; cvt.u16.u32 %h, %t;";
    let twice = outcome(&format!("{given} {} {} ret;", read("%r1"), read("%r2")));
    let once = outcome(&format!("{given} {} ret;", read("%r1")));
    assert_eq!(twice.buffers, once.buffers);
}

/// Both were removed as equal, which the judge must not see.
#[test]
fn sums_without_a_model_give_the_same_again() {
    let read = |result: &str| {
        format!(
            "add.rn.f32x2.f16x2.f32x2 {result}, %t, %own; cvt.u32.u64 %r1, {result}; st.global.u32 [%own], %r1;"
        )
    };
    let twice = outcome(&format!("{} {} ret;", read("%rd1"), read("%rd2")));
    let once = outcome(&format!("{} ret;", read("%rd1")));
    assert_eq!(twice.buffers, once.buffers);
}

#[test]
fn compression_has_two_results() {
    let body = "spcompress.b8.b2.sp::2:4.x1 {%r1}, {%r2}, {%t, %t}, 5;
        st.global.u32 [%own], %r1; st.global.u32 [%own+16], %r2; ret;";
    let mut all = words_of(&outcome(body));
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 8);
}

/// What copied text does to a variable that it names is not known, and others may look.
#[test]
fn text_that_names_a_variable_is_not_run() {
    let options = Options { uninterpreted: true, ..Options::default() };
    let run = |statement: &str| {
        let body = format!(".local .b32 depot[4]; and.b32 %r1, %t, 3; {statement} ret;");
        run_with(&kernel(&body), 4, 4, &options).stop
    };
    for access in ["st.local.u32 depot[%r1], 5;", "ld.local.u32 %r2, depot[%r1+1];"] {
        let stop = run(access);
        assert!(matches!(stop, Some(Stop::NotSupported { .. })), "{access}: {stop:?}");
    }
    assert_eq!(run("frob => %r1;"), None);
}

#[test]
fn unrelated_instructions_change_nothing() {
    let plain = outcome(&BODY.replace("UNRELATED", ""));
    let more = BODY.replace(
        "UNRELATED",
        "other.b32 %r20, %t; mul.lo.u32 %r21, %t, 3;\n.reg .b32 %extra; mov.u32 %extra, 1;",
    );
    let more = outcome(&more.replace("%r1,", "%r11,").replace("%r1;", "%r11;"));
    assert_eq!((&plain.buffers, &plain.log), (&more.buffers, &more.log));
}

#[test]
fn what_has_no_result_is_an_effect() {
    let outcome = outcome(&BODY.replace("UNRELATED", ""));
    let effects: Vec<&Effect> = outcome.log.iter().map(|entry| &entry.effect).collect();
    assert_eq!(effects.len(), 4);
    for (entry, effect) in outcome.log.iter().zip(effects) {
        let Effect::Instruction { mnemonic, inputs } = effect else { panic!("{effect:?}") };
        assert_eq!(mnemonic, "quiesce.global");
        assert_eq!(inputs[1], u64::from(words_of(&outcome)[entry.thread.tid[0] as usize]));
    }
}

#[test]
fn functions_without_a_body_give_a_hash_of_their_arguments() {
    let functions = ".extern .func (.param .b32 r) mystery(.param .b32 a);\n";
    let body = "and.b32 %r1, %t, 1; { .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call.uni (r), mystery, (a);
        ld.param.b32 %r2, [r]; } st.global.u32 [%own], %r2; ret;";
    let options = Options { uninterpreted: true, ..Options::default() };
    let outcome = run_with(&(functions.to_owned() + &kernel(body)), 4, 4, &options);
    assert_eq!(outcome.stop, None);
    let all = words_of(&outcome);
    assert_eq!((all[0], all[1]), (all[2], all[3]));
    assert_ne!(all[0], all[1]);
    assert_eq!(outcome.log.len(), 4);
}

/// It may do anything, though it gives a result.
#[test]
fn a_call_of_what_is_no_function_is_an_effect() {
    let outcome = outcome(".shared .b32 s; call (%r1), s, (%t); ret;");
    let inputs: Vec<&[u64]> = outcome
        .log
        .iter()
        .map(|entry| match &entry.effect {
            Effect::Instruction { mnemonic, inputs } if mnemonic == "call" => &inputs[..],
            effect => panic!("{effect:?}"),
        })
        .collect();
    assert_eq!(inputs.len(), 4);
    assert!(
        inputs.iter().enumerate().all(|(thread, inputs)| inputs.contains(&(thread as u64))),
        "{inputs:?}"
    );
}

/// Every other thread calls: what it would store after the call stays as it was.
#[test]
fn a_call_that_never_returns_ends_the_thread() {
    let functions = ".extern .func leave(.param .b32 a) .noreturn;\n";
    let body = "and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 0; @%p1 bra AFTER;
        { .param .b32 a; st.param.b32 [a], %t; call.uni leave, (a); }
        AFTER: st.global.u32 [%own], 7; ret;";
    let options = Options { uninterpreted: true, ..Options::default() };
    let outcome = run_with(&(functions.to_owned() + &kernel(body)), 4, 4, &options);
    assert_eq!(outcome.stop, None);
    let all = words_of(&outcome);
    assert_eq!([all[0], all[2]], [7, 7]);
    assert!(all[1] != 7 && all[3] != 7, "{all:?}");
    assert_eq!(outcome.log.len(), 2);
}

/// Vectors of more elements than an instruction has in the table, and copies of sizes that there are not.
#[test]
fn what_no_instruction_has_is_not_modelled() {
    let registers = |count: usize| vec!["%r1"; count].join(", ");
    let many = registers(65);
    for statement in [
        format!("mov.b32 {{{many}}}, {{{many}}};"),
        format!("vote.sync.ballot.b32 {{{many}}}, %p1, -1;"),
        format!("shfl.sync.idx.b32 {{{}}}, %r2, 0, 31, -1;", registers(3)),
        "mov.b32 {%h1, %h2, %h3}, %r1;".to_owned(),
        "mov.b32 %r1, {%h1, %h2, %h3};".to_owned(),
        "cp.async.ca.shared.global [%r1], [%out], 64;".to_owned(),
        "cp.async.ca.shared.global [%r1], [%out], 4294967300;".to_owned(),
    ] {
        let stop = run_with(&kernel(&format!("{statement} ret;")), 4, 4, &Options::default()).stop;
        assert!(matches!(stop, Some(Stop::NotSupported { .. })), "{statement}: {stop:?}");
    }
}

/// Accumulators of products are read and written; other results are written alone.
#[test]
fn an_accumulator_is_an_input() {
    let result = |instruction: &str, before: u32| {
        let body =
            format!("mov.u32 %r1, {before}; mov.u64 %rd1, 1; {instruction} st.global.u32 [%own], %r1; ret;");
        outcome(&body).buffers
    };
    let product = "wgmma.frob {%r1, %r2}, %rd1, %rd1;";
    assert_ne!(result(product, 5), result(product, 6));
    assert_eq!(result("frobnicate.b32 %r1, %t;", 5), result("frobnicate.b32 %r1, %t;", 6));
}

#[test]
fn what_copied_text_names_is_an_input() {
    let outcome = outcome("add.u32 %r1, %t, 1000; frob => %r1; ret;");
    for (thread, entry) in outcome.log.iter().enumerate() {
        let Effect::Instruction { inputs, .. } = &entry.effect else { panic!("{entry:?}") };
        assert!(inputs.contains(&(1000 + thread as u64)), "{inputs:?}");
    }
    assert_eq!(outcome.log.len(), 4);
}

/// A constant is added to registers of one integer alone.
#[test]
fn a_sum_with_a_register_of_several_cells_is_not_modelled() {
    for statement in ["add.u32 %r1, v+1, 2;", "mov.b128 q, q+1;", "mov.f32 %f1, %f2+1;"] {
        let body = format!(".reg .v2 .u32 v; .reg .b128 q; {statement} ret;");
        let stop = run_with(&kernel(&body), 4, 4, &Options::default()).stop;
        assert!(matches!(stop, Some(Stop::NotSupported { .. })), "{statement}: {stop:?}");
    }
}
