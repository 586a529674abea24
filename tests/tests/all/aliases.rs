//! Alias answers before the emulator: a store and a load that are said to be apart never meet.
//!
//! An answer is about the last time that a thread executed the store before the load, in one call of the function. The oracle
//! keeps the address of each such store, by thread and call, and compares it with that of the load.

use bevy_ecs::prelude::*;
use ptxopt::check::launches;
use ptxopt::{Options, standard};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{Id, InstId};
use ptxopt_emulator::{
    Argument, Launch, Limits, Module, Observer, Options as RunOptions, Step, run_observed, window_of,
};
use ptxopt_engine::edit::Editor;
use ptxopt_engine::ptx::scan;
use ptxopt_engine::run::phase::{Phase, Plan, Step as PlanStep};
use ptxopt_engine::run::shard::Shard;
use ptxopt_engine::values::reaching::ReachingValues;
use ptxopt_systems::flow::split_at_control_flow;
use ptxopt_systems::ssa::build_ssa;
use ptxopt_systems::values::gvn_cse;
use ptxopt_systems::values::value_numbers::ValueNumbers;
use ptxopt_tests::generated::{generated, launch_of};
use ptxopt_tests::modules::{ModuleFile, corpus, expect_none, in_parallel};
use ptxopt_tests::say::say;
use std::cell::RefCell;
use std::collections::HashMap;

/// Generated kernels that each run of the tests watches.
const GENERATED: u64 = 300;
/// Thread-instructions of a kernel that are watched.
const STEPS_MAX: u64 = 100_000;

/// A function: stores and loads that are apart, by their offsets in the text.
#[derive(Default)]
struct Answers {
    stores_of: HashMap<u32, Vec<u32>>,
    accesses: HashMap<u32, Accessed>,
}

/// What an access takes.
#[derive(Clone, Copy)]
struct Accessed {
    /// How many bytes.
    bytes: u64,
    /// What makes its address a generic one.
    window: u64,
}

thread_local! {
    static FOUND: RefCell<Vec<Answers>> = const { RefCell::new(Vec::new()) };
}

static LISTEN: Phase = Phase { name: "listen", install: |slot| slot.add(listen), ..gvn_cse::PHASE };

fn listen(mut editor: Editor, mut values: ResMut<ReachingValues>) {
    let count = editor.view().functions().count();
    let mut all: Vec<Answers> = (0..count).map(|_| Answers::default()).collect();
    editor.each(CodeFlags::SSA, |mut f| {
        let reaching = values.of(&mut f);
        let (function, forms) = f.view_and_forms();
        let mut numbers = ValueNumbers::default();
        numbers.list_apart();
        numbers.find(&function, forms, reaching, false);
        let answers = &mut all[f.code().index()];
        let mut place = |inst: InstId| {
            let form = forms.get(function.heads[inst.index()].form);
            let bytes = form.types[0].map_or(0, |ty| ty.bits() / 8 * u32::from(form.lanes));
            let offset = function.places[inst.index()].offset;
            let accessed = Accessed { bytes: u64::from(bytes), window: window_of(form.space) };
            answers.accesses.insert(offset, accessed);
            offset
        };
        let pairs: Vec<_> = numbers.apart().map(|(store, load)| (place(store), place(load))).collect();
        for (store, load) in pairs {
            answers.stores_of.entry(load).or_default().push(store);
        }
    });
    FOUND.set(all);
}

/// The answers about the functions of a module, in the order of their bodies.
fn answers_about(text: &[u8]) -> Result<Vec<Answers>, String> {
    let step = |number, phase: &'static Phase| PlanStep::new(number, phase);
    static SPLIT: Phase = split_at_control_flow::PHASE;
    static SSA: Phase = build_ssa::PHASE;
    let plan = Plan {
        steps: vec![step(6, &SPLIT), step(23, &SSA), step(49, &LISTEN)],
        ..standard::plan(&Options::default(), false)
    };
    let module = scan::Module::scan(text).map_err(|diagnostic| format!("{diagnostic:?}"))?;
    Shard::new(&plan).run(&module, &module.functions).map_err(|error| format!("{error:?}"))?;
    Ok(FOUND.take())
}

type Thread = ([u32; 3], u32);

/// What the last step was.
#[derive(Default)]
struct Now {
    ctaid: [u32; 3],
    first_thread: u32,
    function: usize,
    base: u32,
    offset: u32,
    guarded: u32,
}

/// Watches a run.
struct Watch<'a> {
    answers: &'a [Answers],
    now: Now,
    /// By thread, frame, function and place of a store: where it stored last.
    stored: HashMap<(Thread, u32, usize, u32), u64>,
    compared: u64,
    wrong: Vec<String>,
}

impl Watch<'_> {
    fn key(&self, lane: usize, offset: u32) -> (Thread, u32, usize, u32) {
        let Now { ctaid, first_thread, function, base, .. } = self.now;
        ((ctaid, first_thread + lane as u32), base, function, offset)
    }
}

impl Observer for Watch<'_> {
    fn step(&mut self, step: Step<'_>) {
        let Step { ctaid, first_thread, function, base, offset, lanes, guarded, .. } = step;
        self.now = Now { ctaid, first_thread, function: function as usize, base, offset, guarded };
        // A store that is not done is none.
        if lanes != guarded && self.answers[function as usize].accesses.contains_key(&offset) {
            for lane in (0..32).filter(|lane| (lanes & !guarded) >> lane & 1 != 0) {
                self.stored.remove(&self.key(lane, offset));
            }
        }
    }

    fn addresses(&mut self, addresses: &[u64; 32]) {
        let answers = self.answers;
        let Answers { stores_of, accesses } = &answers[self.now.function];
        let offset = self.now.offset;
        let Some(&Accessed { bytes, window }) = accesses.get(&offset) else { return };
        let stores = stores_of.get(&offset);
        for lane in (0..32).filter(|lane| self.now.guarded >> lane & 1 != 0) {
            let address = addresses[lane] + window;
            for &store in stores.into_iter().flatten() {
                let Some(&stored) = self.stored.get(&self.key(lane, store)) else { continue };
                self.compared += 1;
                if stored < address + bytes && address < stored + accesses[&store].bytes {
                    self.wrong.push(format!("the load at byte {offset} meets the store at byte {store}"));
                }
            }
            if stores.is_none() {
                self.stored.insert(self.key(lane, offset), address);
            }
        }
    }
}

/// Watches a launch; gives how often something was compared, and what was wrong.
fn watch(module: &Module, answers: &[Answers], launch: &Launch) -> (u64, Vec<String>) {
    let limits = Limits { steps: STEPS_MAX, ..Limits::default() };
    let options = RunOptions { limits, ..RunOptions::default() };
    let (now, stored) = (Now::default(), HashMap::new());
    let mut watch = Watch { answers, now, stored, compared: 0, wrong: Vec::new() };
    let _ = run_observed(module, launch, &options, &mut watch);
    watch.wrong.dedup();
    (watch.compared, watch.wrong)
}

/// A kernel that stores at `%rd1` plus `stored`, loads where that points to, and stores there again.
fn kernel_that_stores(stored: u32) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n\
         .reg .b32 %r<3>;\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [out];\nmov.u32 %r1, 7;\n\
         st.global.u32 [%rd1+{stored}], %r1;\nld.global.u32 %r2, [%rd1];\n\
         st.global.u32 [%rd1+{stored}], %r2;\nret;\n}}\n"
    )
}

/// Answers about a store four bytes further, held against one that meets the load.
#[test]
fn a_wrong_answer_is_contradicted() {
    let answers = answers_about(kernel_that_stores(4).as_bytes()).expect("the kernel is valid");
    let launch = Launch {
        entry: "k".to_owned(),
        grid: [1, 1, 1],
        block: [32, 1, 1],
        shared_bytes: 0,
        args: vec![Argument::Buffer(vec![0; 64])],
    };
    let watched = |stored| {
        let module = Module::load(kernel_that_stores(stored).as_bytes()).expect("it can be run");
        watch(&module, &answers, &launch)
    };
    let (compared, stories) = watched(4);
    assert!(compared >= 32 && stories.is_empty(), "{compared}: {stories:?}");
    assert!(!watched(0).1.is_empty(), "the bytes that are stored are loaded");
}

#[test]
fn generated_kernels_contradict_no_alias_answer() {
    let seeds: Vec<u64> = (0..GENERATED).collect();
    let (mut compared, mut stories) = (0, Vec::new());
    for (seed, (count, wrong)) in seeds.iter().zip(in_parallel(&seeds, |&seed| {
        let kernel = generated(seed);
        let text = kernel.text().as_bytes();
        let answers = answers_about(text).expect("the kernel is valid");
        watch(&Module::load(text).expect("it can be run"), &answers, &launch_of(&kernel))
    })) {
        compared += count;
        stories.extend(wrong.into_iter().map(|story| format!("seed {seed}: {story}")));
    }
    say(&format!("aliases: {compared} accesses of {GENERATED} generated kernels compared"));
    expect_none("alias answers are contradicted", &stories);
    assert!(compared > 0, "nothing was compared");
}

/// Watches the kernels of a module that have launch lines.
fn watch_module(file: &ModuleFile) -> (u64, Vec<String>) {
    let text = file.text();
    let (Ok(answers), Ok(module)) = (answers_about(&text), Module::load(&text)) else {
        return (0, Vec::new());
    };
    let Ok(lines) = launches::find(&file.path, &text) else { return (0, Vec::new()) };
    let mut all = (0, Vec::new());
    for line in lines {
        let (compared, wrong) = watch(&module, &answers, &line.launch(1));
        all.0 += compared;
        all.1.extend(wrong.into_iter().map(|story| format!("{}: {story}", file.name)));
    }
    all
}

#[test]
fn corpus_kernels_contradict_no_alias_answer() {
    let (mut compared, mut stories) = (0, Vec::new());
    for (count, wrong) in in_parallel(&corpus(), watch_module) {
        compared += count;
        stories.extend(wrong);
    }
    say(&format!("aliases: {compared} accesses of the corpus compared"));
    expect_none("alias answers are contradicted", &stories);
    assert!(compared > 10_000, "{compared} accesses were compared: the oracle sees next to nothing");
}
