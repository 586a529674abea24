//! Uniformity before the emulator: no register that is called uniform is seen with two values in one dynamic instance of an
//! instruction, and no branch that is called uniform is seen to go two ways. And it is not called divergent needlessly.
//!
//! The oracle follows each thread of each warp through blocks and rounds of loops by itself, and compares threads whether
//! or not they run together. What it needs of the analysis is the verdicts, blocks and loops alone.

use bevy_ecs::prelude::Res;
use ptxopt::check::launches;
use ptxopt::{Options, Status, VerifyLevel, standard};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id, LoopId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::operand::Operand;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_emulator::{Launch, Limits, Module, Observer, Options as RunOptions, Step, run_observed};
use ptxopt_engine::dataflow::uniformity::{Counts, Uniformities, Uniformity, count};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::nest::{LoopNest, LoopNests};
use ptxopt_engine::ptx::scan;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::{Phase, Plan, Step as PlanStep};
use ptxopt_engine::run::shard::Shard;
use ptxopt_engine::store::columns::Code;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_systems::flow::split_at_control_flow;
use ptxopt_tests::generated::{generated, launch_of};
use ptxopt_tests::modules::{ModuleFile, corpus, expect_none, in_parallel};
use ptxopt_tests::random_code;
use ptxopt_tests::say::say;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

/// Generated kernels that each run of the tests watches.
const GENERATED: u64 = 400;
/// Thread-instructions of a kernel that are watched.
const STEPS_MAX: u64 = 100_000;
const WARP_SIZE: u32 = 32;

/// Slots of the emulator's frame that a register takes.
type Slots = std::ops::Range<usize>;

/// What the oracle needs of an instruction.
struct Inst {
    block: usize,
    is_control: bool,
    goes_alike: bool,
    /// Uniform registers that it reads, and those that it writes.
    reads: Vec<Slots>,
    writes: Vec<Slots>,
}

/// What it needs of a function.
struct Function {
    name: String,
    /// Verdicts exist: the function is not left as it came in.
    is_solved: bool,
    counts: Counts,
    /// By byte offset in the text.
    insts: HashMap<u32, Inst>,
    succs: Vec<Vec<usize>>,
    is_empty: Vec<bool>,
    /// By block: the loops around it, outermost first.
    loops: Vec<Vec<usize>>,
    /// By loop.
    headers: Vec<usize>,
}

thread_local! {
    static FOUND: RefCell<Vec<Function>> = const { RefCell::new(Vec::new()) };
}

/// Gives what the analysis says to the thread that asked.
static LISTEN: Phase = Phase {
    name: "listen",
    needs: &[Fact::ControlFlow, Fact::Loops, Fact::Uniformity],
    install: |slot| {
        slot.init_resource::<LoopNests>();
        slot.init_resource::<Uniformities>();
        slot.add(listen);
    },
    ..Phase::NOTHING
};

fn listen(code: Code, forms: Res<FormTable>, nests: Res<LoopNests>, verdicts: Res<Uniformities>) {
    let heard = |function: FunctionView<'_>| {
        let solved = verdicts.get(function.code).zip(nests.get(function.code));
        solved.filter(|_| !function.state.flags.contains(CodeFlags::LEFT)).map_or_else(
            || Function::left(&function),
            |(verdicts, nest)| Function::hear(&function, &forms, nest, verdicts),
        )
    };
    FOUND.set(code.view().functions().map(heard).collect());
}

impl Function {
    fn left(function: &FunctionView<'_>) -> Self {
        Self {
            name: function.text.name.first.to_string(),
            is_solved: false,
            counts: Counts::default(),
            insts: HashMap::new(),
            succs: Vec::new(),
            is_empty: Vec::new(),
            loops: Vec::new(),
            headers: Vec::new(),
        }
    }

    fn hear(function: &FunctionView<'_>, forms: &FormTable, nest: &LoopNest, verdicts: &Uniformity) -> Self {
        let mut slots: Vec<Slots> = Vec::new();
        let mut next = 0;
        for vreg in function.vregs {
            let cells = usize::from(vreg.ty.lanes) * if vreg.ty.element().bits() > 64 { 2 } else { 1 };
            slots.push(next..next + cells);
            next += cells;
        }
        let is_carry = |at: usize| function.vregs[at].flags.contains(VRegFlags::CARRY);
        let named = |operands: &[Operand], wanted: &dyn Fn(&Operand) -> bool| -> Vec<Slots> {
            let vregs =
                operands.iter().filter(|operand| wanted(operand)).filter_map(|operand| operand.vreg());
            let uniform = vregs.filter(|&vreg| verdicts.is_uniform(vreg) && !is_carry(vreg.index()));
            uniform.map(|vreg| slots[vreg.index()].clone()).collect()
        };
        let mut insts = HashMap::new();
        for block in function.block_ids() {
            for inst in function.insts_of(block) {
                let operands = function.operands_of(inst);
                let row = Inst {
                    block: block.index(),
                    is_control: function.heads[inst.index()].marks.contains(Marks::CONTROL),
                    goes_alike: verdicts.branch_is_uniform(function, inst),
                    reads: named(operands, &|operand| operand.is_use()),
                    writes: named(operands, &|operand| operand.is_definition()),
                };
                insts.insert(function.places[inst.index()].offset, row);
            }
        }
        let loops_of = |block: BlockId| {
            let mut around: Vec<usize> =
                std::iter::successors(nest.loop_of(block), |&id: &LoopId| nest.row(id).parent.get())
                    .map(Id::index)
                    .collect();
            around.reverse();
            around
        };
        Self {
            name: String::new(),
            is_solved: true,
            counts: count(function, forms, verdicts),
            insts,
            succs: function
                .block_ids()
                .map(|block| function.succs(block).iter().map(|succ| succ.index()).collect())
                .collect(),
            is_empty: function.block_ids().map(|block| function.insts_of(block).next().is_none()).collect(),
            loops: function.block_ids().map(loops_of).collect(),
            headers: nest.rows().iter().map(|row| row.header.index()).collect(),
        }
    }

    /// The blocks from after `from` to `to`: empty ones between, which no step is seen in.
    fn way(&self, from: usize, to: usize) -> Vec<usize> {
        let mut before: HashMap<usize, usize> = HashMap::new();
        let mut waiting = VecDeque::from([from]);
        while let Some(block) = waiting.pop_front() {
            for &succ in &self.succs[block] {
                if succ == to {
                    let back = std::iter::successors(Some(block), |at| before.get(at).copied());
                    let mut way: Vec<usize> = back.take_while(|&at| at != from).collect();
                    way.reverse();
                    way.push(to);
                    return way;
                }
                if self.is_empty[succ] && !before.contains_key(&succ) {
                    before.insert(succ, block);
                    waiting.push_back(succ);
                }
            }
        }
        panic!("no way from bix{from} to bix{to}");
    }
}

/// The functions of a module, in the order of their bodies.
fn functions_of(text: &[u8]) -> Result<Vec<Function>, String> {
    static SPLIT: Phase = split_at_control_flow::PHASE;
    let step = |number, phase: &'static Phase| PlanStep::new(number, phase);
    let plan = Plan {
        steps: vec![step(6, &SPLIT), step(PlanStep::OBSERVERS, &LISTEN)],
        ..standard::plan(&Options::default(), false)
    };
    let module = scan::Module::scan(text).map_err(|diagnostic| format!("{diagnostic:?}"))?;
    Shard::new(&plan).run(&module, &module.functions).map_err(|error| format!("{error:?}"))?;
    let mut functions = FOUND.take();
    for (function, scanned) in functions.iter_mut().zip(&module.functions) {
        function.name = String::from_utf8_lossy(&text[scanned.name.range()]).into_owned();
    }
    Ok(functions)
}

/// A call that a thread is in.
struct Frame {
    function: usize,
    base: u32,
    /// The instance of the call.
    caller: u64,
    block: Option<usize>,
    offset: u32,
    /// By loop: the round.
    rounds: Vec<u32>,
    /// The instance that the thread executed last.
    instance: u64,
}

/// Watches a run.
struct Watch<'a> {
    functions: &'a [Function],
    threads: HashMap<([u32; 3], u32), Vec<Frame>>,
    /// By warp, instance, and what is looked at: the value that the first thread had.
    seen: HashMap<u64, u64>,
    compared: u64,
    wrong: Vec<String>,
}

/// What is compared at an instance.
#[derive(Hash)]
enum Look {
    Before(usize),
    Behind(usize),
    Guard,
    Next,
}

fn hash_of(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

impl Watch<'_> {
    fn compare(&mut self, warp: ([u32; 3], u32), instance: u64, look: Look, value: u64, at: (usize, u32)) {
        let key = hash_of((warp, instance, &look));
        self.compared += 1;
        if *self.seen.entry(key).or_insert(value) != value {
            let what = match look {
                Look::Before(slot) => format!("slot {slot} is read with two values"),
                Look::Behind(slot) => format!("slot {slot} is written with two values"),
                Look::Guard | Look::Next => "a branch goes two ways".to_owned(),
            };
            self.wrong.push(format!("{} at byte {}: {what}", self.functions[at.0].name, at.1));
        }
    }

    /// One thread is about to execute an instruction.
    fn thread(&mut self, step: &Step<'_>, lane: u32) {
        let function = step.function as usize;
        let facts = &self.functions[function];
        let warp = (step.ctaid, step.first_thread);
        let mut frames = self.threads.remove(&(step.ctaid, step.first_thread + lane)).unwrap_or_default();
        while frames.last().is_some_and(|top| top.base > step.base) {
            frames.pop();
        }
        if frames.last().is_none_or(|top| top.base < step.base || top.function != function) {
            let caller = frames.last().map_or(0, |top| top.instance);
            let rounds = vec![0; facts.headers.len()];
            let (block, offset, instance) = (None, u32::MAX, 0);
            frames.push(Frame { function, base: step.base, caller, block, offset, rounds, instance });
        }
        if let (true, Some(inst)) = (facts.is_solved, facts.insts.get(&step.offset)) {
            let frame = frames.last_mut().expect("a frame was pushed");
            // An operation that waited is shown again.
            if frame.offset != step.offset || inst.is_control {
                self.look_behind(step, lane, frame, warp);
                follow(facts, frame, step.offset, inst.block);
                self.look_before(step, lane, frame, warp, inst);
            }
        }
        self.threads.insert((step.ctaid, step.first_thread + lane), frames);
    }

    /// Looks at what the last instruction of the frame left.
    fn look_behind(&mut self, step: &Step<'_>, lane: u32, frame: &Frame, warp: ([u32; 3], u32)) {
        let functions = self.functions;
        let Some(last) = functions[frame.function].insts.get(&frame.offset) else { return };
        let at = (frame.function, frame.offset);
        for slot in last.writes.iter().flat_map(Clone::clone) {
            let value = step.registers[slot][lane as usize];
            self.compare(warp, frame.instance, Look::Behind(slot), value, at);
        }
        if last.is_control && last.goes_alike {
            self.compare(warp, frame.instance, Look::Next, u64::from(step.offset), at);
        }
    }

    fn look_before(
        &mut self,
        step: &Step<'_>,
        lane: u32,
        frame: &mut Frame,
        warp: ([u32; 3], u32),
        inst: &Inst,
    ) {
        let facts = &self.functions[frame.function];
        let rounds: Vec<u32> = facts.loops[inst.block].iter().map(|&id| frame.rounds[id]).collect();
        frame.instance = hash_of((frame.caller, step.offset, rounds));
        let at = (frame.function, step.offset);
        for slot in inst.reads.iter().flat_map(Clone::clone) {
            let value = step.registers[slot][lane as usize];
            self.compare(warp, frame.instance, Look::Before(slot), value, at);
        }
        if inst.is_control && inst.goes_alike {
            let holds = u64::from(step.guarded >> lane & 1);
            self.compare(warp, frame.instance, Look::Guard, holds, at);
        }
    }
}

/// Takes a thread to the instruction at `offset` of `block`, through the rounds of loops.
fn follow(facts: &Function, frame: &mut Frame, offset: u32, block: usize) {
    let is_on = frame.block == Some(block) && offset > frame.offset;
    let way = match frame.block {
        _ if is_on => Vec::new(),
        None if block == 0 => vec![0],
        None => [vec![0], facts.way(0, block)].concat(),
        Some(from) => facts.way(from, block),
    };
    let mut from = frame.block;
    for to in way {
        for &id in &facts.loops[to] {
            if facts.headers[id] == to {
                let is_inside = from.is_some_and(|from| facts.loops[from].contains(&id));
                frame.rounds[id] = if is_inside { frame.rounds[id] + 1 } else { 0 };
            }
        }
        from = Some(to);
    }
    frame.block = Some(block);
    frame.offset = offset;
}

impl Observer for Watch<'_> {
    fn step(&mut self, step: Step<'_>) {
        for lane in (0..WARP_SIZE).filter(|lane| step.lanes >> lane & 1 != 0) {
            self.thread(&step, lane);
        }
    }
}

/// Watches a launch; gives how often something was compared, and what was wrong.
fn watch(module: &Module, functions: &[Function], launch: &Launch) -> (u64, Vec<String>) {
    let limits = Limits { steps: STEPS_MAX, ..Limits::default() };
    let options = RunOptions { limits, ..RunOptions::default() };
    let (threads, seen) = (HashMap::new(), HashMap::new());
    let mut watch = Watch { functions, threads, seen, compared: 0, wrong: Vec::new() };
    let _ = run_observed(module, launch, &options, &mut watch);
    watch.wrong.dedup();
    (watch.compared, watch.wrong)
}

#[test]
fn generated_kernels_contradict_no_verdict() {
    let seeds: Vec<u64> = (0..GENERATED).collect();
    let (compared, branches, alike) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let wrong = in_parallel(&seeds, |&seed| {
        let kernel = generated(seed);
        let text = kernel.text().as_bytes();
        let (functions, module) = match (functions_of(text), Module::load(text)) {
            (Ok(functions), Ok(module)) => (functions, module),
            (Err(story), _) => return vec![format!("seed {seed}: {story}")],
            (_, Err(error)) => return vec![format!("seed {seed}: {error}")],
        };
        for function in &functions {
            branches.fetch_add(function.counts.branches[0] as u64, Ordering::Relaxed);
            alike.fetch_add(function.counts.branches[1] as u64, Ordering::Relaxed);
        }
        let (count, wrong) = watch(&module, &functions, &launch_of(&kernel));
        compared.fetch_add(count, Ordering::Relaxed);
        wrong.into_iter().map(|story| format!("seed {seed}: {story}")).collect()
    });
    let (compared, branches, alike) = (compared.into_inner(), branches.into_inner(), alike.into_inner());
    say(&format!(
        "uniformity: {GENERATED} generated kernels, {compared} values compared, {alike} of {branches} branches uniform"
    ));
    expect_none("verdicts are contradicted", &wrong.concat());
    assert!(compared > GENERATED * 1_000, "{compared} values were compared: the oracle sees next to nothing");
}

/// Watches the kernels of a module that have launch lines.
fn watch_module(file: &ModuleFile) -> (Vec<Function>, u64, Vec<String>) {
    let text = file.text();
    let story = |story: String| format!("{}: {story}", file.name);
    let functions = match functions_of(&text) {
        Ok(functions) => functions,
        Err(error) => return (Vec::new(), 0, vec![story(error)]),
    };
    let (Ok(module), Ok(lines)) = (Module::load(&text), launches::find(&file.path, &text)) else {
        return (functions, 0, vec![story("it cannot be run".to_owned())]);
    };
    let mut all = (0, Vec::new());
    for line in lines {
        let (compared, wrong) = watch(&module, &functions, &line.launch(1));
        all.0 += compared;
        all.1.extend(wrong.into_iter().map(story));
    }
    (functions, all.0, all.1)
}

#[test]
fn corpus_kernels_contradict_no_verdict() {
    let (mut compared, mut branches, mut registers) = (0, [0; 2], [0; 2]);
    let mut stories = Vec::new();
    let files = corpus();
    for (file, (functions, count, wrong)) in files.iter().zip(in_parallel(&files, watch_module)) {
        for function in functions.iter().filter(|_| file.name.starts_with("corpus/O3/")) {
            for at in 0..2 {
                branches[at] += function.counts.branches[at];
                registers[at] += function.counts.registers[at];
            }
        }
        compared += count;
        stories.extend(wrong);
    }
    say(&format!(
        "uniformity: {compared} values of the corpus compared; at -O3 {} of {} branches, {} of {} registers uniform",
        branches[1], branches[0], registers[1], registers[0]
    ));
    expect_none("verdicts are contradicted", &stories);
    // At -O0 everything passes through memory of the thread, where nothing is known. In optimized kernels one branch
    // in four or five is a loop or test over parameters and constants; the others test threads and data.
    assert!(branches[1] * 5 > branches[0], "{branches:?}: fewer than a fifth of the branches are uniform");
    assert!(compared > 1_000_000, "{compared} values were compared: the oracle sees next to nothing");
}

/// Runs the analysis of a module after phase 6 and at its places in the pipeline, and every verifier.
fn verify(text: &[u8]) -> Result<(), String> {
    let options = Options { verify: VerifyLevel::Full, threads: 1, ..Options::default() };
    let output = ptxopt::optimize(text, &options).map_err(|error| format!("{error:?}"))?;
    if output.report.status == Status::Ok {
        Ok(())
    } else {
        Err(format!("{:?} {:?}", output.report.left, output.report.undone))
    }
}

#[test]
fn verdicts_are_at_least_as_cautious_as_the_definitions() {
    let seeds: Vec<u64> = (0..GENERATED).collect();
    let failures = in_parallel(&seeds, |&seed| {
        let made = verify(generated(seed).text().as_bytes()).err();
        let graph = verify(random_code::module(seed, 20, 20).as_bytes()).err();
        [made, graph].into_iter().flatten().map(|story| format!("seed {seed}: {story}")).collect::<Vec<_>>()
    });
    expect_none("functions fail", &failures.concat());
}

#[test]
fn the_command_prints_verdicts() {
    // The loop counts to a parameter; the branch after it asks who the thread is, and joins at E.
    let text = "\
.version 8.0
.target sm_80
.address_size 64
.entry k(.param .u32 n)
{
    .reg .b32 %r<4>;
    .reg .pred %p<3>;
    ld.param.u32 %r1, [n];
    mov.u32 %r2, 0;
L:  add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, %r1;
    @%p1 bra L;
    mov.u32 %r3, %tid.x;
    setp.eq.u32 %p2, %r3, 0;
    @%p2 bra E;
    st.shared.u32 [4], %r2;
E:  bar.sync 0;
    ret;
}
";
    let expected = "\
uniformity of k: 3 of 5 registers, 1 of 2 branches uniform
uniform: %r1 %r2 %p1
divergent: %r3 %p2
bix1: line 12, bra, uniform
bix2: line 15, bra, divergent
bix3 is executed by some
";
    assert_eq!(printed(text), expected);
}

/// The trap has no edge of its own, but it is a way: what comes after it belongs to the arm as well. It was once taken for
/// common to all, and barriers in it for meetings of all.
#[test]
fn a_block_after_a_guarded_trap_in_an_arm_is_not_for_all() {
    let text = "\
.version 8.0
.target sm_80
.address_size 64
.entry k(.param .u32 n)
{
    .reg .b32 %r<3>;
    .reg .pred %p<3>;
    mov.u32 %r1, %tid.x;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra E;
    ld.param.u32 %r2, [n];
    setp.eq.u32 %p2, %r2, 0;
    @%p2 trap;
    st.shared.u32 [4], %r2;
E:  st.shared.u32 [8], %r1;
    ret;
}
";
    let printed = printed(text);
    for block in ["bix1", "bix2"] {
        assert!(printed.contains(&format!("{block} is executed by some\n")), "{block}: {printed}");
    }
}

/// Threads come to the latch of the outer loop in different rounds of the inner one, but with the same definition of what
/// the outer one counts. The full verifier once took it for a merge with the definition before the loop.
#[test]
fn a_counter_of_an_outer_loop_is_alike_whenever_the_inner_one_is_left() {
    let text = "\
.version 8.0
.target sm_80
.address_size 64
.entry k()
{
    .reg .b32 %r<3>;
    .reg .pred %p<3>;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, 0;
A:  add.u32 %r2, %r2, 3;
    st.shared.u32 [4], %r2;
B:  add.u32 %r1, %r1, 1;
    setp.eq.u32 %p1, %r1, 40;
    @%p1 bra A;
    add.u32 %r1, %r1, 2;
    setp.lt.u32 %p2, %r1, 100;
    @%p2 bra B;
    st.shared.u32 [8], %r1;
    ret;
}
";
    assert_eq!(verify(text.as_bytes()), Ok(()));
    assert!(printed(text).contains("\nuniform: %r2\n"), "{}", printed(text));
}

/// What `ptxopt analyze --print uniformity` prints of a module.
fn printed(text: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("k.ptx");
    std::fs::write(&path, text).expect("the folder can be written");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_ptxopt-under-test"))
        .args(["analyze", "--print", "uniformity"])
        .arg(&path)
        .output()
        .expect("the command starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}
