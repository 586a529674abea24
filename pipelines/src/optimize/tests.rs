use super::*;
use crate::level::OptLevel;
use crate::standard;
use ptxopt_engine::run::phase::{Phase, Step};

static FAILS: Phase =
    Phase { name: "fails", install: |slot| slot.add(|| panic!("row 7 is lost")), ..Phase::NOTHING };

const TEXT: &[u8] = b".version 8.0\n.target sm_80\n.entry k() { ret; }\n.entry l() { ret; }\n";

/// Whether a shard waits after a run of a plan that starts with `phase`; no other run has the key.
fn waits(phase: Option<&'static Phase>, key: u64) -> bool {
    let mut plan = standard::plan(&Options { level: OptLevel::O1, ..Options::default() }, false);
    let own = |phase| Step { number: 0, name: "own", phase, dump: false, verified: false };
    plan.steps.splice(0..0, phase.map(own));
    let module = Module::scan(TEXT).expect("the module is valid");
    let output = run(&module, &plan, Some(key)).expect("the module is valid");
    assert_eq!(output.report.undone.len(), if phase.is_some() { 2 } else { 0 });
    SHARDS.take(Some(key)).is_some()
}

/// A module with a branch that phase 15 gives a new label, and a name that the next one has too.
fn small(kernel: &str) -> Vec<u8> {
    let body = "{ .reg .pred %p<2>; .reg .b32 %r<3>; mov.u32 %r1, %tid.x; setp.eq.s32 %p1, %r1, 0; @%p1 bra L; \
                bra M; L: bra N; M: add.s32 %r2, %r1, %r1; N: exit; }";
    format!(".version 8.0\n.target sm_90\n.entry {kernel}() {body}\n").into_bytes()
}

#[test]
fn a_module_asks_once_that_no_loop_is_unrolled() {
    let options = Options { no_unroll: true, ..Options::default() };
    let heads = [
        (".version 8.0\n.target sm_80", ""),
        (".version 8.0\n.target sm_80, debug // debug\n.address_size 64", "\n"),
        (".version 8.0 .target sm_80 .address_size 64", " .pragma \"used_bytes_mask\";"),
    ];
    let line = "\n.pragma \"nounroll\";";
    let with = |text: &str, options: &Options| {
        let output = optimize(text.as_bytes(), options).expect("the module is valid");
        String::from_utf8(output.text).expect("PTX is ASCII")
    };
    for (head, rest) in heads {
        let plain = with(&format!("{head}{rest}\n.entry k() {{ ret; }}\n"), &Options::default());
        let once = with(&plain, &options);
        assert_eq!(once, plain.replacen(head, &format!("{head}{line}"), 1));
        assert_eq!(with(&once, &options), once, "once is enough");
    }
    let asks = format!(
        "{}{}, \"enable_smem_spilling\"{}\n.entry k()\n{{\n\tret;\n}}\n",
        heads[0].0,
        &line[..line.len() - 1],
        ";"
    );
    assert_eq!(with(&asks, &options), asks);
}

#[test]
fn modules_together_come_out_as_they_do_alone() {
    let options = Options::default();
    let optimizer = Optimizer::new(&options);
    let texts =
        [small("k"), b".version 8.0\n.entry l() { mov }\n".to_vec(), small("k"), Vec::new(), small("m")];
    let inputs: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    let results = optimizer.optimize_together(&inputs);
    let alone = inputs.iter().map(|input| optimizer.optimize(input));
    for (result, alone) in results.iter().zip(alone) {
        let text = |result: &Result<Output, Diagnostics>| match result {
            Ok(output) => (output.text.clone(), counts(&output.report)),
            Err(diagnostics) => (diagnostics.to_string().into_bytes(), Vec::new()),
        };
        assert_eq!(text(result), text(&alone));
    }
    assert_eq!(results.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true, false, true]);
    // None is wrong now, so they do share a batch.
    let pipeline = optimizer.pipeline(false);
    let modules = [0, 2, 4].map(|at| Module::scan(inputs[at]).expect("the module is valid"));
    let numbered: Vec<(usize, &Module<'_>)> = modules.iter().enumerate().collect();
    let outputs = run_together(&numbered, pipeline);
    assert_eq!(outputs.len(), 3);
    for (output, at) in outputs.iter().zip([0, 2, 4]) {
        let alone = results[at].as_ref().expect("the module is valid");
        assert_eq!((&output.text, counts(&output.report)), (&alone.text, counts(&alone.report)));
        assert!(counts(&output.report).iter().any(|&count| count > 0));
    }
}

/// Changes, by phase.
fn counts(report: &ModuleReport) -> Vec<u64> {
    report.phases.iter().map(|phase| phase.changes).collect()
}

#[test]
fn where_a_phase_fails_each_module_runs_alone() {
    let own = Step { number: 0, name: "own", phase: &FAILS, dump: false, verified: false };
    let mut plan = standard::plan(&Options::default(), false);
    plan.steps.insert(0, own);
    let modules = [small("k"), small("l")];
    let modules = modules.each_ref().map(|text| Module::scan(text).expect("the module is valid"));
    let numbered: Vec<(usize, &Module<'_>)> = modules.iter().enumerate().collect();
    assert_eq!(run_together(&numbered, &Pipeline { plan, key: Some(3) }), []);
    assert!(SHARDS.take(Some(3)).is_none(), "the shard is thrown away");
}

#[test]
fn a_shard_in_which_a_phase_failed_is_thrown_away() {
    assert!(waits(None, 1), "one that did its work is kept");
    assert!(!waits(Some(&FAILS), 2));
}
