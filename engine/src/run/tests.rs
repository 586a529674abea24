//! Plans of made phases: what growth is undone, which functions are left, and what a batch reports.

use super::facts::{Fact, Memo};
use super::log::Violations;
use super::phase::{Check, Limits, Phase, Plan, Settings, Step, Verify};
use super::shard::{BatchOutput, Shard};
use crate::edit::Editor;
use crate::ptx::scan::Module;
use bevy_ecs::prelude::{Local, ResMut};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, CodeId, Id};
use std::sync::Mutex;

/// Writes the first instruction of each function again, so many times, in one change.
fn repeat(mut editor: Editor, count: usize) {
    editor.each(CodeFlags::SELECTED, |mut f| {
        let view = f.view();
        let first = view.insts_of(BlockId(0)).next().expect("each has some");
        let (form, operands) = (view.heads[first.index()].form, view.operands_of(first).to_vec());
        let Some(mut change) = f.change(first, "repeated") else { return };
        for _ in 0..count {
            change.insert_before(first, form, &operands, None);
        }
    });
}

static ONE: Phase =
    Phase { name: "one", install: |slot| slot.add(|editor: Editor| repeat(editor, 1)), ..Phase::NOTHING };
static TWO: Phase =
    Phase { name: "two", install: |slot| slot.add(|editor: Editor| repeat(editor, 2)), ..Phase::NOTHING };
static THREE: Phase =
    Phase { name: "three", install: |slot| slot.add(|editor: Editor| repeat(editor, 3)), ..Phase::NOTHING };
static SHORTENS: Phase = Phase {
    name: "shortens",
    install: |slot| {
        slot.add(|mut editor: Editor| {
            editor.each(CodeFlags::SELECTED, |mut f| {
                let first_two: Vec<_> = f.view().insts_of(BlockId(0)).take(2).collect();
                let Some(mut change) = f.change(first_two[0], "deleted") else { return };
                first_two.into_iter().for_each(|inst| change.delete(inst));
            });
        });
    },
    ..Phase::NOTHING
};
static ONE_IN_TEN: Phase = Phase { name: "one in ten", room_percent: 10, ..ONE };
static TWO_IN_TEN: Phase = Phase { name: "two in ten", room_percent: 10, ..TWO };
static TWO_IN_FIVE: Phase = Phase { name: "two in five", room_percent: 20, ..TWO };
static THREE_IN_FIVE: Phase = Phase { name: "three in five", room_percent: 20, ..THREE };

pub(super) const LIMITS: Limits = Limits { time_ms: 60_000, memory: u64::MAX, growth_percent: 100 };

/// A plan of these phases, numbered from 0, and of nothing else.
pub(super) fn plan(phases: &[&'static Phase], limits: Limits) -> Plan {
    let step = |(number, &phase): (usize, &&'static Phase)| Step::new(number as u16, phase);
    Plan {
        steps: phases.iter().enumerate().map(step).collect(),
        analyses: &[],
        checks: &[],
        verify: Verify::Off,
        fuel: None,
        remarks: false,
        fingerprint: None,
        limits,
        settings: Settings::default(),
        careful: Settings::default(),
        keep_rolled: false,
        keep_grown: false,
    }
}

/// A module with a kernel for each length.
fn kernels(lengths: &[usize]) -> String {
    let kernel = |(number, &length): (usize, &usize)| {
        format!(".entry k{number}() {{ .reg .b32 r; {} ret; }}\n", "mov.b32 r, 1; ".repeat(length - 1))
    };
    let kernels: String = lengths.iter().enumerate().map(kernel).collect();
    format!(".version 8.0\n.target sm_90\n{kernels}")
}

/// Instructions of a kernel of ten after these phases, and why steps were undone.
fn grown(phases: &[&'static Phase], growth_percent: u64) -> (usize, Vec<(usize, String)>) {
    let text = kernels(&[10]);
    let module = Module::scan(text.as_bytes()).unwrap();
    let plan = plan(phases, Limits { growth_percent, ..LIMITS });
    let output = Shard::new(&plan).run(&module, &module.functions).unwrap();
    (output.functions[0].insts_out, output.functions[0].undone.clone())
}

#[test]
fn what_grows_past_the_limit_is_undone() {
    let reason = |insts: usize| format!("it grew from 10 to {insts} instructions");
    assert_eq!(grown(&[&ONE], 100), (10, vec![(0, reason(11))]));
    assert_eq!(grown(&[&ONE], 110), (11, vec![]));
    assert_eq!(grown(&[&TWO], 110), (10, vec![(0, reason(12))]));
    // A step before the one that grows too much stays.
    assert_eq!(grown(&[&ONE, &ONE], 110), (11, vec![(1, reason(12))]));
}

#[test]
fn a_phase_may_use_its_room_whatever_others_have_used() {
    let reason = |insts: usize| format!("it grew from 10 to {insts} instructions");
    assert_eq!(grown(&[&TWO_IN_FIVE], 100), (12, vec![]));
    assert_eq!(grown(&[&TWO_IN_TEN], 100), (10, vec![(0, reason(12))]));
    // The second adds no more than its own room, and the third more.
    assert_eq!(grown(&[&TWO_IN_FIVE, &ONE_IN_TEN], 100), (13, vec![]));
    assert_eq!(grown(&[&TWO_IN_FIVE, &TWO_IN_TEN], 100), (12, vec![(1, reason(14))]));
    // Without room of its own, one that adds nothing is not to blame, nor one that takes some away.
    assert_eq!(grown(&[&TWO_IN_FIVE, &Phase::NOTHING], 100), (12, vec![]));
    assert_eq!(grown(&[&TWO_IN_FIVE, &TWO_IN_FIVE, &SHORTENS], 100), (12, vec![]));
    // More than its room, where that much is there since others have taken some away.
    assert_eq!(grown(&[&SHORTENS, &THREE_IN_FIVE], 100), (11, vec![]));
    assert_eq!(grown(&[&SHORTENS, &THREE_IN_FIVE, &THREE_IN_FIVE], 100), (11, vec![(2, reason(14))]));
}

#[test]
fn functions_past_the_limit_of_memory_are_left() {
    // 400 bytes an instruction: what nine take.
    let text = kernels(&[9, 10, 3]);
    let module = Module::scan(text.as_bytes()).unwrap();
    let plan = plan(&[&ONE], Limits { memory: 3600, growth_percent: 1000, ..LIMITS });
    let output = Shard::new(&plan).run(&module, &module.functions).unwrap();
    let left: Vec<Option<&str>> = output.functions.iter().map(|function| function.left.as_deref()).collect();
    assert_eq!(left, [None, Some("memory limit"), None]);
    let kept = &output.text[output.functions[1].text.clone()];
    assert_eq!(kept, &module.text[module.functions[1].header.first as usize..module.functions[1].body.end()]);
    let insts: Vec<usize> = output.functions.iter().map(|function| function.insts_out).collect();
    assert_eq!(insts, [10, 10, 4]);
}

#[test]
fn a_filter_selects_functions_by_their_fingerprint() {
    let text = kernels(&[9, 10]);
    let module = Module::scan(text.as_bytes()).unwrap();
    let limits = Limits { growth_percent: 1000, ..LIMITS };
    let run = |fingerprint| {
        let plan = Plan { fingerprint, ..plan(&[&ONE], limits) };
        let output = Shard::new(&plan).run(&module, &module.functions).unwrap();
        let insts: Vec<usize> = output.functions.iter().map(|function| function.insts_out).collect();
        (insts, output.functions.iter().map(|function| function.fingerprint).collect::<Vec<_>>())
    };
    assert_eq!(run(None), (vec![10, 11], vec![None, None]), "nothing asks for them");
    let (insts, fingerprints) = run(Some(0));
    assert_eq!(insts, [9, 10], "no function has that one");
    let [Some(first), Some(second)] = fingerprints[..] else { panic!("the filter asks for them") };
    assert_ne!(first, second);
    assert_eq!(run(Some(second)).0, [9, 11]);
}

#[test]
fn a_bisect_limit_is_counted() {
    let text = kernels(&[9, 10, 11]);
    let module = Module::scan(text.as_bytes()).unwrap();
    let run = |fuel| {
        let mut shard =
            Shard::new(&Plan { fuel, ..plan(&[&ONE], Limits { growth_percent: 1000, ..LIMITS }) });
        let output = shard.run(&module, &module.functions).unwrap();
        assert_eq!(output.steps[0].changes, shard.fuel_taken());
        let rows = shard.pool_rows();
        assert!(rows > 30, "each instruction has a row");
        (shard.fuel_taken(), shard.fuel_ran_out())
    };
    assert_eq!([None, Some(0), Some(2), Some(3)].map(run), [(3, false), (0, true), (2, true), (3, false)]);
}

#[test]
fn modules_share_a_batch_where_nobody_looks_at_one() {
    let plain = || plan(&[&ONE], LIMITS);
    assert!(plain().takes_modules_together());
    assert!(!Plan { remarks: true, ..plain() }.takes_modules_together());
    assert!(!Plan { fingerprint: Some(1), ..plain() }.takes_modules_together());
    assert!(!Plan { verify: Verify::Fast, ..plain() }.takes_modules_together());
    assert!(!Plan { fuel: Some(1), ..plain() }.takes_modules_together());
    let mut dumps = plain();
    dumps.steps[0].dump = true;
    assert!(!dumps.takes_modules_together());
}

/// What ran on this thread, in its order: a shard runs where it is called.
mod heard {
    use std::cell::RefCell;

    thread_local! {
        static WORDS: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    }

    pub fn say(word: &'static str) {
        WORDS.with_borrow_mut(|words| words.push(word));
    }

    pub fn take() -> Vec<&'static str> {
        WORDS.take()
    }
}

static PLAIN: Phase =
    Phase { name: "plain", install: |slot| slot.add(|| heard::say("plain")), ..Phase::NOTHING };
static OF_ENTRIES: Phase = Phase {
    name: "of entries",
    only: CodeFlags::ENTRY,
    install: |slot| slot.add(|| heard::say("of entries")),
    ..Phase::NOTHING
};
static ORDERS: Phase = Phase {
    name: "orders",
    gives: &[Fact::ProgramOrder],
    install: |slot| slot.add(|| heard::say("orders")),
    ..Phase::NOTHING
};
static REMEMBERS: Phase = Phase {
    name: "remembers",
    memo: Some(Memo::NothingDead),
    install: |slot| {
        slot.add(|mut editor: Editor| {
            heard::say("remembers");
            editor.each(CodeFlags::SELECTED, |mut f| f.remember(Memo::NothingDead));
        });
    },
    ..Phase::NOTHING
};

/// What runs of `phases` on a module.
fn runs(text: &str, phases: &[&'static Phase], change: impl FnOnce(&mut Plan)) -> Vec<&'static str> {
    let text = format!(".version 8.0\n.target sm_90\n{text}");
    let module = Module::scan(text.as_bytes()).unwrap();
    let mut plan = plan(phases, Limits { growth_percent: 1000, ..LIMITS });
    change(&mut plan);
    heard::take();
    Shard::new(&plan).run(&module, &module.functions).unwrap();
    heard::take()
}

#[test]
fn phases_run_where_they_have_something_to_do() {
    let (entry, function) = (".entry k() { mov; ret; }", ".func f() { ret; }");
    let phases = [&PLAIN, &OF_ENTRIES];
    assert_eq!(runs(entry, &phases, |_| ()), ["plain", "of entries"]);
    assert_eq!(runs(function, &phases, |_| ()), ["plain"]);
    // An entry that is left is as good as none.
    let too_large = |plan: &mut Plan| plan.limits.memory = 500;
    assert_eq!(runs(&format!("{function}\n{entry}"), &phases, too_large), ["plain"]);
    // What it would give holds already; remarks it would make all the same.
    assert_eq!(runs(entry, &[&ORDERS, &PLAIN], |_| ()), ["plain"]);
    assert_eq!(runs(entry, &[&ORDERS, &PLAIN], |plan| plan.remarks = true), ["orders", "plain"]);
    // Until something is changed.
    let again = [&REMEMBERS, &REMEMBERS, &ONE, &REMEMBERS];
    assert_eq!(runs(entry, &again, |_| ()), ["remembers", "remembers"]);
    // What is left remembers nothing.
    let one_is_left = format!("{function}\n{entry}");
    assert_eq!(runs(&one_is_left, &[&REMEMBERS, &REMEMBERS], too_large), ["remembers"]);
}

/// Counts how often it has run, whichever steps asked.
static COMPUTES: Phase = Phase {
    name: "computes",
    gives: &[Fact::Liveness],
    install: |slot| {
        slot.add(|mut editor: Editor, mut times: Local<usize>| {
            heard::say(["computes", "computes again"][*times]);
            *times += 1;
            editor.each(CodeFlags::SELECTED, |mut f| f.fact_computed(Fact::Liveness));
        });
    },
    ..Phase::NOTHING
};
static NEEDS: Phase = Phase {
    name: "needs",
    needs: &[Fact::Liveness],
    install: |slot| slot.add(|| heard::say("needs")),
    ..Phase::NOTHING
};

#[test]
fn all_steps_share_what_computes_a_fact() {
    static ANALYSES: [&Phase; 1] = [&COMPUTES];
    let steps = [&NEEDS, &NEEDS, &ONE, &PLAIN, &NEEDS];
    let heard = runs(".entry k() { mov; ret; }", &steps, |plan| plan.analyses = &ANALYSES);
    assert_eq!(heard, ["computes", "needs", "needs", "plain", "computes again", "needs"]);
}

const AT_THE_END: Check =
    Check { name: "at the end", from: Verify::Off, install: |slot| slot.add(|| heard::say("at the end")) };
const FAST: Check =
    Check { name: "fast", from: Verify::Fast, install: |slot| slot.add(|| heard::say("fast")) };
const FULL: Check =
    Check { name: "full", from: Verify::Full, install: |slot| slot.add(|| heard::say("full")) };

#[test]
fn verifiers_run_after_the_steps_that_ask_for_them() {
    static CHECKS: [Check; 3] = [AT_THE_END, FAST, FULL];
    let heard = |verify: Verify| {
        runs(".entry k() { ret; }", &[&PLAIN, &PLAIN], |plan| {
            plan.checks = &CHECKS;
            plan.verify = verify;
            plan.steps[1].verified = true;
        })
    };
    assert_eq!(heard(Verify::Off), ["plain", "plain", "at the end"]);
    assert_eq!(heard(Verify::Fast), ["plain", "fast", "plain", "fast"]);
    assert_eq!(heard(Verify::Full), ["plain", "fast", "full", "plain", "fast", "full"]);
}

/// How many instructions verifiers have seen in the first function.
static SEEN: Mutex<Vec<u32>> = Mutex::new(Vec::new());

const COUNTS: Check = Check {
    name: "counts",
    from: Verify::Fast,
    install: |slot| {
        slot.add(|mut editor: Editor| {
            let see = |f: crate::edit::FunctionEditor<'_>| {
                SEEN.lock().unwrap().push(f.view().rows().count() as u32);
            };
            editor.each(CodeFlags::SELECTED, see);
        });
    },
};

#[test]
fn verifiers_see_what_stays() {
    static CHECKS: [Check; 1] = [COUNTS];
    let text = kernels(&[10]);
    let module = Module::scan(text.as_bytes()).unwrap();
    let plan = Plan { checks: &CHECKS, verify: Verify::Fast, ..plan(&[&ONE, &TWO_IN_FIVE], LIMITS) };
    Shard::new(&plan).run(&module, &module.functions).unwrap();
    assert_eq!(*SEEN.lock().unwrap(), [10, 12], "the first step is undone before it is verified");
}

/// Finds two things wrong in the first function.
const FINDS: Check = Check {
    name: "finds",
    from: Verify::Fast,
    install: |slot| {
        slot.add(|mut violations: ResMut<Violations>| {
            let wrong = |what: &str| (CodeId(0), "finds", what.to_owned());
            violations.all.extend([wrong("a row"), wrong("an edge")]);
        });
    },
};

#[test]
fn a_step_after_which_something_is_wrong_is_undone_or_the_function_left() {
    static CHECKS: [Check; 1] = [FINDS];
    let text = kernels(&[10, 10]);
    let module = Module::scan(text.as_bytes()).unwrap();
    let run = |phases: &[&'static Phase]| {
        let limits = Limits { growth_percent: 1000, ..LIMITS };
        let plan = Plan { checks: &CHECKS, verify: Verify::Fast, ..plan(phases, limits) };
        Shard::new(&plan).run(&module, &module.functions).unwrap()
    };
    let reason = |step: &str| format!("check finds failed after {step}: a row");
    let BatchOutput { functions, .. } = run(&[&ONE]);
    assert_eq!((&functions[0].left, &functions[0].undone), (&None, &vec![(0, reason("one"))]));
    assert_eq!([functions[0].insts_out, functions[1].insts_out], [10, 11]);
    // A step that changed nothing has not made it wrong, and nothing is done after it.
    let BatchOutput { functions, text: written, .. } = run(&[&PLAIN, &ONE]);
    assert_eq!((&functions[0].left, &functions[0].undone), (&Some(reason("plain")), &vec![]));
    assert_eq!([functions[0].insts_out, functions[1].insts_out], [10, 11]);
    let as_it_came = text.lines().nth(2).expect("the first kernel is a line");
    assert_eq!(written[functions[0].text.clone()], *as_it_came.as_bytes());
}

#[test]
fn dumps_show_the_code_after_their_step() {
    let text = kernels(&[3]);
    let module = Module::scan(text.as_bytes()).unwrap();
    let mut plan = plan(&[&ONE, &ONE], Limits { growth_percent: 1000, ..LIMITS });
    plan.steps[0].dump = true;
    let output = Shard::new(&plan).run(&module, &module.functions).unwrap();
    let dumps = String::from_utf8(output.dumps).unwrap();
    assert!(dumps.starts_with("// after phase 0 one, progress 0\n.entry k0()"), "{dumps}");
    assert_eq!(
        (dumps.matches("mov.b32 r, 1;").count(), dumps.matches("// after").count()),
        (3, 1),
        "{dumps}"
    );
}
