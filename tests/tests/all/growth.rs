//! Reading, writing and the phases cost what the text is long, whatever the text.
//!
//! Each test makes a text that once took time like the square of its length, or would with a simpler algorithm. It is read
//! and written, or optimized, at one length and at eight times that, and what is compared is CPU time, as a ratio: a
//! linear algorithm takes 8 times as long, a quadratic one 64 times.

use ptxopt::{OptLevel, Options, VerifyLevel, optimize, optimize_with_plan, standard};
use ptxopt_engine::run::phase::{Phase, Plan, Step};
use ptxopt_generate::shapes::SHAPES;
use ptxopt_systems::flow::split_at_control_flow;
use ptxopt_systems::report::{graph, registers};
use ptxopt_tests::clock::cpu_time;
use ptxopt_tests::rewrite::Rewriter;
use ptxopt_tests::say::say;
use std::fmt::Write;
use std::time::Duration;

/// How many times longer the long text is.
const FACTOR: usize = 8;

/// How many times slower it may be: caches are left behind, and machines are shared.
const SLOWER_MAX: u32 = 24;

/// How often a time that is too long is measured.
const ATTEMPTS: usize = 4;

/// Times below are noise.
const NOISE: Duration = Duration::from_millis(1);

const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// The least of three runs.
fn time_of(work: impl Fn()) -> Duration {
    let run = || {
        let start = cpu_time();
        work();
        cpu_time() - start
    };
    (0..3).map(|_| run()).min().unwrap_or_default()
}

fn rewrite(text: &str) {
    if let Err(diagnostic) = Rewriter::default().rewrite(text.as_bytes()) {
        panic!("refused: {diagnostic:?}");
    }
}

fn optimize_all(text: &str) {
    optimize_as(text, &Options { threads: 1, remarks: true, ..Options::default() });
}

fn optimize_as(text: &str, options: &Options) {
    let report = optimize(text.as_bytes(), options).unwrap_or_else(|error| panic!("{error}")).report;
    assert_eq!(report.left.len(), 0, "a function was left");
}

/// Checks that reading and writing the text for `size` things costs what it is long.
#[track_caller]
fn grows_like_its_text(size: usize, text: impl Fn(usize) -> String) {
    work_grows_like_its_text(rewrite, size, text);
}

#[track_caller]
fn work_grows_like_its_text(work: impl Fn(&str), size: usize, text: impl Fn(usize) -> String) {
    let (short, long) = (text(size), text(size * FACTOR));
    assert!(long.len() < short.len() * FACTOR * 2, "the long text is longer than meant");
    assert_linear(|| [&short, &long].map(|text| time_of(|| work(text))));
}

/// Checks the times of the short and the long text. Too long a time is measured again: what else runs may disturb some of the
/// attempts, and a square shows in each.
#[track_caller]
fn assert_linear(times: impl Fn() -> [Duration; 2]) {
    let mut last = [Duration::ZERO; 2];
    let is_linear = (0..ATTEMPTS).any(|_| {
        last = times();
        let [short, long] = last;
        long <= short.max(NOISE) * SLOWER_MAX
    });
    let [short, long] = last;
    assert!(is_linear, "{long:?} for {FACTOR} times what takes {short:?}");
}

fn kernel(body: &str) -> String {
    format!("{HEAD}.entry k()\n{{\n{body}\n}}\n")
}

/// `piece(0)`, `piece(1)`, ... in a row.
fn each(count: usize, piece: impl Fn(&mut String, usize) -> std::fmt::Result) -> String {
    let mut text = String::new();
    (0..count).for_each(|number| piece(&mut text, number).expect("strings take everything"));
    text
}

#[test]
fn operands_among_many_ranges() {
    grows_like_its_text(4_000, |size| {
        let ranges = each(size, |text, n| writeln!(text, ".reg .b32 p{n}_<2>;"));
        kernel(&(ranges + &each(size, |text, n| writeln!(text, "mov.b32 p{n}_1, p0_0;"))))
    });
}

#[test]
fn operands_inside_ranges_that_are_too_small() {
    grows_like_its_text(4_000, |size| {
        let scopes = "{ .reg .b32 %r<3>;\n".repeat(size);
        let uses = "mov.b32 %r5, %r1;\n".repeat(size);
        kernel(&format!(".reg .b32 %r<9>; {scopes}{uses}{}", "}".repeat(size)))
    });
    // Each a little larger than the one inside it.
    grows_like_its_text(2_000, |size| {
        let scopes = each(size, |text, n| writeln!(text, "{{ .reg .b32 %r<{}>;", size - n));
        let uses = format!("mov.b32 %r{}, %r0;\n", size - 1).repeat(size);
        kernel(&format!("{scopes}{uses}{}", "}".repeat(size)))
    });
}

#[test]
fn branches_out_of_many_scopes() {
    grows_like_its_text(4_000, |size| {
        kernel(&format!(".reg .pred q; {}{}OUT: ret;", "{ @q bra OUT;\n".repeat(size), "}".repeat(size)))
    });
}

#[test]
fn registers_of_the_module_in_many_functions() {
    grows_like_its_text(1_000, |size| {
        let registers = each(size, |text, n| writeln!(text, ".reg .b32 m{n}; .reg .b64 n{n}_<5>;"));
        let functions = |text: &mut String, n| {
            writeln!(text, ".func f{n}() {{ mov.b32 m0, m{n}; mov.b64 n{n}_1, 1; ret; }}")
        };
        format!("{HEAD}{registers}{}", each(size, functions))
    });
}

#[test]
fn ranges_after_single_registers() {
    grows_like_its_text(4_000, |size| {
        let singles = each(size, |text, n| writeln!(text, ".reg .b32 s{n};"));
        kernel(&(singles + &each(size, |text, n| writeln!(text, ".reg .b32 p{n}_<2>;"))))
    });
}

#[test]
fn fresh_names_beside_names_of_the_source() {
    grows_like_its_text(2_000, |size| {
        let scope = each(size, |text, n| writeln!(text, ".reg .b32 a{n}; mov.b32 a{n}, 1;"));
        kernel(&format!("{{ {scope} }} {{ {scope} }}"))
    });
}

#[test]
fn one_label_in_many_scopes() {
    grows_like_its_text(4_000, |size| kernel(&"{ L: bra L; }\n".repeat(size)));
}

#[test]
fn labels_whose_fresh_names_the_module_has() {
    grows_like_its_text(500, |size| {
        let words = each(size, |text, n| writeln!(text, ".global .u32 L__{n};"));
        format!(
            "{HEAD}{words}{}",
            each(size, |text, n| writeln!(text, ".func f{n}() {{ L: bra L; {{ L: bra L; }} }}"))
        )
    });
}

#[test]
fn branches_through_one_long_table() {
    grows_like_its_text(4_000, |size| {
        let labels = each(size, |text, n| write!(text, ", L{n}"));
        let code = each(size, |text, n| writeln!(text, "L{n}: brx.idx r, t;"));
        kernel(&format!(".reg .b32 r; t: .branchtargets {};\n{code}", &labels[2..]))
    });
}

#[test]
fn digits_of_one_name() {
    grows_like_its_text(50_000, |size| {
        let (zeros, digits) = ("0".repeat(size), "1".repeat(size));
        kernel(&format!(
            ".reg .b32 x<5>; .reg .b32 y1<5>; .reg .b32 z{digits}; mov.b32 x{zeros}1, z{digits}; frob => q{digits};"
        ))
    });
}

#[test]
fn families_of_variables_in_many_functions() {
    grows_like_its_text(200, |size| {
        HEAD.to_owned()
            + &each(size, |text, n| writeln!(text, ".entry k{n}() {{ .local .b32 v<16000000>; ret; }}"))
    });
}

/// One register that every rung of a ladder changes: all later rungs are in the dominance frontier of each.
#[test]
fn cases_that_fall_through() {
    work_grows_like_its_text(optimize_all, 500, |size| {
        let tests = each(size, |text, n| writeln!(text, "setp.eq.u32 %p1, %r1, {n}; @%p1 bra X{n};"));
        let cases = each(size, |text, n| writeln!(text, "X{n}: add.u32 %r2, %r2, {n};"));
        tangle(&format!("{tests} ret; {cases}"))
    });
}

#[test]
fn loops_inside_loops() {
    work_grows_like_its_text(optimize_all, 500, |size| {
        let heads = each(size, |text, n| writeln!(text, "L{n}: add.u32 %r2, %r2, 1;"));
        let latches = each(size, |text, n| {
            let outer = size - 1 - n;
            writeln!(text, "setp.lt.u32 %p1, %r2, {outer}; @%p1 bra L{outer};")
        });
        tangle(&(heads + &latches))
    });
}

/// Each loop changes a variable of its own, so that each variable has a site in each loop around it.
#[test]
fn loops_inside_loops_with_a_variable_each() {
    let work = |text: &str| optimize_as(text, &Options { threads: 1, ..Options::default() });
    work_grows_like_its_text(work, 100, |size| {
        let registers = format!(".reg .b32 %v<{size}>;");
        let heads =
            each(size, |text, n| writeln!(text, "mov.u32 %v{n}, {n}; L{n}: add.u32 %v{n}, %v{n}, 1;"));
        let latches = each(size, |text, n| {
            let outer = size - 1 - n;
            writeln!(text, "setp.lt.u32 %p1, %v{outer}, %r1; @%p1 bra L{outer};")
        });
        let uses = each(size, |text, n| writeln!(text, "add.u32 %r2, %r2, %v{n};"));
        tangle(&format!("{registers} {heads}{latches}{uses}"))
    });
}

#[test]
fn exits_of_one_loop() {
    work_grows_like_its_text(optimize_all, 500, |size| {
        let exits = each(size, |text, n| writeln!(text, "setp.eq.u32 %p1, %r2, {n}; @%p1 bra X{n};"));
        let after = each(size, |text, n| writeln!(text, "X{n}: add.u32 %r2, %r2, {n};"));
        tangle(&format!("H: add.u32 %r2, %r2, 1; {exits} bra H; {after}"))
    });
}

/// What `analyze` prints.
fn dump(text: &str, phases: &[&'static Phase]) -> usize {
    static SPLIT: Phase = split_at_control_flow::PHASE;
    let step = |number, phase: &'static Phase| Step::new(number, phase);
    let printers = phases.iter().enumerate().map(|(at, &phase)| step(Step::OBSERVERS + at as u16, phase));
    let steps = std::iter::once(step(6, &SPLIT)).chain(printers).collect();
    let plan = Plan { steps, ..standard::plan(&Options::default(), false) };
    let output = optimize_with_plan(text.as_bytes(), &plan).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(output.report.left.len(), 0, "a function was left");
    output.dumps.len()
}

/// Checks that what `analyze` prints of the text for `size` things is as long as the text, and takes as long.
#[track_caller]
fn dumps_grow_like_their_text(phases: &[&'static Phase], size: usize, text: impl Fn(usize) -> String) {
    let lengths = [size, size * FACTOR].map(|size| dump(&text(size), phases));
    assert!(lengths[1] < lengths[0] * FACTOR * 2, "{lengths:?} bytes");
    work_grows_like_its_text(|text| _ = dump(text, phases), size, text);
}

/// Each block dominates the next, for more levels than a line has columns; branches diverge.
#[test]
fn prints_of_a_chain_of_blocks() {
    dumps_grow_like_their_text(&[&graph::DOMINATORS, &registers::UNIFORMITY], 12_500, |size| {
        let blocks = each(size, |text, n| writeln!(text, "A{n}: setp.eq.u32 %p1, %r1, {n}; @%p1 bra END;"));
        tangle(&format!("{blocks}END:"))
    });
}

#[test]
fn prints_of_loops_inside_loops() {
    dumps_grow_like_their_text(&[&graph::LOOPS], 10_000, |size| {
        let heads = each(size, |text, n| writeln!(text, "L{n}: add.u32 %r2, %r2, 1;"));
        let latches = each(size, |text, n| {
            let outer = size - 1 - n;
            writeln!(text, "K{n}: @%p1 bra END; M{n}: @%p1 bra L{outer};")
        });
        tangle(&format!("{heads}{latches}END:"))
    });
}

/// Registers that live in all blocks between the first and the last.
#[test]
fn prints_of_registers_that_live_long() {
    dumps_grow_like_their_text(&[&registers::LIVENESS], 500, |size| {
        let registers = format!(".reg .b32 %v<{size}>;");
        let blocks = each(size, |text, n| writeln!(text, "A{n}: mov.u32 %v{n}, {n}; @%p1 bra END;"));
        let uses = each(size, |text, n| writeln!(text, "B{n}: add.u32 %r2, %r2, %v{n}; @%p1 bra END;"));
        tangle(&format!("{registers}{blocks}{uses}END:"))
    });
}

/// One block leads to every state of a machine and back. Each state has registers that live through it, so a use that asks
/// what reaches it by way of every state is quadratic.
#[test]
fn states_after_one_block() {
    const REGISTERS: usize = 30;
    let work = |text: &str| optimize_as(text, &Options { threads: 1, ..Options::default() });
    work_grows_like_its_text(work, 125, |size| {
        let register = |state: usize, number: usize| state % size * REGISTERS + number % REGISTERS;
        let start = each(size * REGISTERS, |text, n| writeln!(text, "mov.u32 %v{n}, {n};"));
        let labels = each(size, |text, n| write!(text, ", S{n}"));
        let states = each(size, |text, n| {
            write!(text, "S{n}: st.global.u32 [%d1], %v{}; add.u32 %r1, %r1, {n};", register(n + 1, 0))?;
            for own in 0..REGISTERS {
                let (to, from) = (register(n, own), register(7 * n + 1, own + 1));
                write!(text, "add.u32 %v{to}, %v{from}, 1;")?;
            }
            writeln!(text, "bra D;")
        });
        let registers = format!(".reg .b32 %v<{}>;", size * REGISTERS);
        tangle(&format!(
            "{registers} {start} ways: .branchtargets {};\nD: brx.idx %r1, ways; {states}",
            &labels[2..]
        ))
    });
}

/// Slots of their own, all accesses of one slot, and an array between slots.
#[test]
fn slots_in_local_memory() {
    let work = |text: &str| optimize_as(text, &Options { threads: 1, ..Options::default() });
    let frame = |size: usize, body: String| {
        let end = 4 * size + 4;
        kernel(&format!(
            ".local .align 16 .b8 depot[{}]; .reg .b64 %SP; .reg .b64 %d<4>; .reg .b32 %r<{}>; .reg .pred %p;\n\
             mov.b64 %d0, depot; cvta.local.u64 %SP, %d0; mov.u32 %r0, %tid.x; setp.eq.s32 %p, %r0, 0;\n\
             {body}st.volatile.u32 [%SP+{end}], %r{size}; ret;",
            end + 4,
            size + 1
        ))
    };
    let store_and_load = |text: &mut String, n: usize, slot: usize, from: usize| {
        write!(text, "st.b32 [%SP+{}], %r{n};\n@%p bra L{n};\n", 4 * slot)?;
        writeln!(text, "add.s32 %r0, %r0, {n};\nL{n}: ld.b32 %r{}, [%SP+{}];", n + 1, 4 * from)
    };
    work_grows_like_its_text(work, 2_000, |size| {
        frame(size, each(size, |text, n| store_and_load(text, n, n, n * 7919 % (n + 1))))
    });
    work_grows_like_its_text(work, 2_000, |size| {
        frame(size, each(size, |text, n| store_and_load(text, n, 0, 0)))
    });
    work_grows_like_its_text(work, 2_000, |size| {
        let index =
            "and.b32 %r0, %r0, 255; mul.wide.u32 %d1, %r0, 4; add.s64 %d2, %SP, %d1; st.b32 [%d2+64], 1;\n";
        frame(size, index.to_owned() + &each(size, |text, n| store_and_load(text, n, n, n)))
    });
}

/// Blocks that die after the last one that stays: the lines in each look for the place that comes next.
#[test]
fn dead_blocks_at_the_end() {
    let work = |text: &str| optimize_as(text, &Options { threads: 1, ..Options::default() });
    work_grows_like_its_text(work, 5_000, |size| {
        let dead =
            each(size, |text, n| writeln!(text, "D{n}: .loc 1 {n} 0\nst.global.u32 [%d1], %r1; bra D{n};"));
        tangle(&format!("ret; {dead}"))
    });
}

/// Blocks each of which joins the one before, with lines at their ends.
#[test]
fn blocks_that_all_join() {
    let work = |text: &str| optimize_as(text, &Options { threads: 1, ..Options::default() });
    work_grows_like_its_text(work, 5_000, |size| {
        let blocks =
            each(size, |text, n| writeln!(text, ".loc 1 {n} 0\nbra L{n}; L{n}: st.global.u32 [%d1], %r1;"));
        tangle(&blocks)
    });
}

/// Live sets of blocks times registers, which a verifier compares after each phase.
#[test]
fn registers_that_live_long_are_verified() {
    let options = Options { threads: 1, verify: VerifyLevel::Fast, ..Options::default() };
    let work = |text: &str| optimize_as(text, &options);
    work_grows_like_its_text(work, 300, |size| {
        let registers = format!(".reg .b32 %v<{size}>;");
        let start = each(size, |text, n| writeln!(text, "mov.u32 %v{n}, {n};"));
        let blocks = each(size, |text, n| {
            writeln!(text, "setp.eq.u32 %p1, %r1, {n}; @%p1 bra X{n}; add.u32 %r2, %r2, 1; X{n}:")
        });
        let uses = each(size, |text, n| writeln!(text, "st.global.u32 [%d1], %v{n};"));
        tangle(&format!("{registers} {start} {blocks} {uses}"))
    });
}

/// Registers that live through tens of thousands of blocks, of which live sets tell how many there are at most.
#[test]
fn registers_that_live_long_are_counted() {
    work_grows_like_its_text(optimize_all, 10_000, |size| {
        let registers = format!(".reg .b32 %v<{size}>;");
        let start = each(size, |text, n| writeln!(text, "ld.volatile.global.u32 %v{n}, [%d1];"));
        let blocks = each(size, |text, n| {
            writeln!(
                text,
                "setp.eq.u32 %p1, %r1, {n}; @%p1 bra X{n}; st.volatile.global.u32 [%d1], {n}; X{n}:"
            )
        });
        let uses = each(size, |text, n| writeln!(text, "st.volatile.global.u32 [%d1], %v{n};"));
        tangle(&format!("{registers} {start} {blocks} {uses}"))
    });
}

/// Registers that the targets of a table take from two branches each, which uniformity looks for.
#[test]
fn registers_that_meet_at_all_targets_of_a_table() {
    work_grows_like_its_text(optimize_all, 500, |size| {
        let registers = format!(".reg .b32 %v<{size}>;");
        let start = each(size, |text, n| writeln!(text, "add.u32 %v{n}, %r1, {n};"));
        let labels = each(size, |text, n| write!(text, ", X{n}"));
        let again = each(size, |text, n| writeln!(text, "add.u32 %v{n}, %v{n}, %r1;"));
        let targets = each(size, |text, n| writeln!(text, "X{n}: st.global.u32 [%d1], {n}; bra Z;"));
        let uses = each(size, |text, n| writeln!(text, "st.global.u32 [%d1], %v{n};"));
        tangle(&format!(
            "{registers} {start} ways: .branchtargets {}; setp.eq.u32 %p1, %r1, 3; @%p1 bra B; brx.idx %r1, ways; \
             B: {again} brx.idx %r1, ways; {targets} Z: {uses}",
            &labels[2..]
        ))
    });
}

/// Loops that threads leave in different rounds, and registers that live through all of them: what a loop defines is asked for, and not
/// what lives after it.
#[test]
fn loops_beside_registers_that_live_long() {
    work_grows_like_its_text(optimize_all, 2_000, |size| {
        let registers = format!(".reg .b32 %v<{size}>, %i<{size}>;");
        let start = each(size, |text, n| {
            writeln!(text, "ld.param.u32 %v{n}, [out]; @%p1 add.u32 %v{n}, %v{n}, {n};")
        });
        let loops = each(size, |text, n| {
            writeln!(
                text,
                "mov.u32 %i{n}, 0; L{n}: add.u32 %i{n}, %i{n}, 1; st.global.u32 [%d1], %i{n}; \
                 setp.lt.u32 %p1, %i{n}, %r1; @%p1 bra L{n};"
            )
        });
        let uses = each(size, |text, n| writeln!(text, "st.global.u32 [%d1], %v{n};"));
        tangle(&format!("{registers} setp.eq.u32 %p1, %r2, 1; {start} {loops} {uses}"))
    });
}

/// The shapes on which simple algorithms are quadratic, up to the size that is large. `--bin growth` says which phases take how long.
#[test]
fn large_shapes_cost_what_they_are_long() {
    let work = |text: &str| optimize_as(text, &Options { threads: 1, ..Options::default() });
    for shape in SHAPES {
        say(&format!("growth: {} {} ({})", shape.large, shape.of, shape.name));
        work_grows_like_its_text(work, shape.large / FACTOR, shape.text);
    }
}

/// Ways of branches that cross, and loops that are left for many places: Flow blocks are found and written as fast. So are
/// regions that stay. No other phase runs, so that none makes the shapes simpler before.
#[test]
fn structurized_shapes_cost_what_they_are_long() {
    let of = ["nested-ifs", "blocks", "rounds", "nest", "conditions", "cases", "exits"];
    for knob in ["structurizecfg=on", "structurizecfg=skip-uniform-regions"] {
        let mut options = Options { threads: 1, ..Options::default() };
        for knob in [knob, "NamedPhases=structurizecfg"] {
            options.set_knob(knob).expect("the knob exists");
        }
        for shape in SHAPES.iter().filter(|shape| of.contains(&shape.name)) {
            say(&format!("growth: {} {} ({}), {knob}", shape.large, shape.of, shape.name));
            work_grows_like_its_text(|text| optimize_as(text, &options), shape.large / FACTOR, shape.text);
        }
    }
}

/// Phases alone, so that no other one makes the shapes simpler before or hides what these take.
#[test]
fn single_phases_cost_what_the_shapes_are_long() {
    for (phase, shapes) in [
        ("OriSplitLiveRanges", &["webs", "joins", "nested-ifs"][..]),
        ("OriSplitHighPressureLiveRanges", &["preloads", "waits"]),
        ("LateArchOptimizeFirst", &["pairs", "straight"]),
        ("GenerateMovPhi+OriDoRematEarly", &["sinks", "nest", "nested-ifs", "depths"]),
    ] {
        let mut options = Options { level: OptLevel::O3, threads: 1, ..Options::default() };
        options.set_knob(&format!("NamedPhases={phase}")).expect("the knob exists");
        for shape in SHAPES.iter().filter(|shape| shapes.contains(&shape.name)) {
            say(&format!("growth: {} {} ({}), {phase}", shape.large, shape.of, shape.name));
            work_grows_like_its_text(|text| optimize_as(text, &options), shape.large / FACTOR, shape.text);
        }
    }
}

/// Values around loops are told apart at once, however many start alike.
#[test]
fn values_around_loops_cost_what_they_are_long() {
    let mut options = Options { threads: 1, ..Options::default() };
    options.set_knob("EnableGvnCseMode=3").expect("the knob exists");
    for shape in SHAPES.iter().filter(|shape| ["twins", "rounds", "nest", "gotos"].contains(&shape.name)) {
        work_grows_like_its_text(|text| optimize_as(text, &options), shape.large / FACTOR, shape.text);
    }
}

/// Values that wait through what has too few registers, as all of it has.
#[test]
fn values_that_wait_cost_what_they_are_long() {
    let mut options = Options { level: OptLevel::O3, threads: 1, ..Options::default() };
    options.set_knob("RegisterBudget=24").expect("the knob exists");
    for shape in SHAPES.iter().filter(|shape| ["around", "sinks", "joins", "arms"].contains(&shape.name)) {
        work_grows_like_its_text(|text| optimize_as(text, &options), shape.large / FACTOR, shape.text);
    }
}

/// A kernel around code that changes `%r2` as the thread's number `%r1` says.
fn tangle(body: &str) -> String {
    let head = ".reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %d<2>; ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; \
                mov.u32 %r2, 0;";
    format!("{HEAD}.entry k(.param .u64 out)\n{{\n{head}\n{body}\nst.global.u32 [%d1], %r2; ret;\n}}\n")
}

/// The check can fail.
#[test]
#[should_panic(expected = "for 8 times what takes")]
fn a_square_is_seen() {
    assert_linear(|| [Duration::from_millis(5), Duration::from_millis(5 * 64)]);
}
