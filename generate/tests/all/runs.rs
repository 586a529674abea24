//! Kernels run to their end in the emulator, and its checks find nothing in them.

use ptxopt_emulator::{Argument, Checks, Launch, Limits, Module, Outcome, Stop, run};
use ptxopt_generate::kernel;
use ptxopt_generate::launch::{Argument as Given, Launch as GivenLaunch};
use ptxopt_generate::options::{Feature, Options};
use ptxopt_generate::shapes::SHAPES;

/// Kernels that run.
const SEEDS: u64 = 1000;

/// Thread-instructions of one kernel, at most. The average is about 20,000.
const STEPS_MAX: u64 = 20_000_000;

fn outcome(text: &str, given: &GivenLaunch) -> Outcome {
    let module = Module::load(text.as_bytes()).expect("the emulator reads the module");
    let args = given.arguments.iter().map(|argument| match argument {
        Given::Buffer(bytes) => Argument::Buffer(bytes.clone()),
        Given::Scalar(value) => Argument::Scalar(value.to_le_bytes().to_vec()),
    });
    let launch = Launch {
        entry: given.entry.clone(),
        grid: given.grid,
        block: given.block,
        shared_bytes: given.shared_bytes.into(),
        args: args.collect(),
    };
    let options = ptxopt_emulator::Options {
        limits: Limits { steps: STEPS_MAX, ..Limits::default() },
        checks: Checks { uninitialised: true, races: true, silent_writes: true, barrier_divergence: true },
        uninterpreted: false,
    };
    run(&module, &launch, &options)
}

/// What is wrong with a run. Traps are meant, and so are reads of what nothing wrote where the register says so: their
/// results are dead.
fn complaint(text: &str, outcome: &Outcome) -> Option<String> {
    if let Some(stop) = outcome.stop.as_ref().filter(|stop| !matches!(stop, Stop::Trap { .. })) {
        return Some(stop.to_string());
    }
    let lines: Vec<&str> = text.lines().collect();
    let line = |report: &ptxopt_emulator::Report| lines[report.place.line as usize - 1];
    let report = outcome.reports.iter().find(|report| !line(report).contains("%unwritten"))?;
    Some(format!("{report}: {}", line(report)))
}

#[test]
fn kernels_run_to_their_end_without_a_finding() {
    let mut complaints = Vec::new();
    for seed in 0..SEEDS {
        let kernel = kernel(seed, &Options::for_seed(seed));
        let outcome = outcome(kernel.text(), kernel.launch());
        complaints.extend(complaint(kernel.text(), &outcome).map(|what| format!("seed {seed}: {what}")));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// What a seed leaves out does not matter: each feature works alone, and so do the least options.
#[test]
fn features_run_alone() {
    let nothing = Options {
        statements: 30,
        registers: 2,
        depth: 3,
        functions: 2,
        threads_max: 64,
        weights: vec![0; Feature::ALL.len()],
    };
    let least =
        Options { statements: 0, registers: 1, depth: 0, functions: 0, threads_max: 32, ..nothing.clone() };
    let mut all = vec![("nothing".to_owned(), nothing.clone()), ("least".to_owned(), least)];
    for &feature in Feature::ALL {
        let mut alone = nothing.clone();
        alone.set_weight(feature, 1);
        all.push((format!("{feature:?}"), alone));
    }
    let mut complaints = Vec::new();
    for (name, options) in &all {
        for seed in 0..6 {
            let kernel = kernel(seed, options);
            let outcome = outcome(kernel.text(), kernel.launch());
            complaints.extend(
                complaint(kernel.text(), &outcome).map(|what| format!("{name}, seed {seed}: {what}")),
            );
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// Large kernels of one shape end, and compute only with what was written.
#[test]
fn shapes_run_to_their_end_and_grow_with_their_size() {
    for shape in SHAPES {
        let [short, long] = [400, 1_600].map(shape.text);
        assert!((2..6).contains(&(long.len() / short.len())), "{}: {} bytes", shape.name, long.len());
        let arguments = vec![Given::Buffer(vec![7; 128])];
        let launch = GivenLaunch {
            entry: "k".to_owned(),
            grid: [1; 3],
            block: [32, 1, 1],
            shared_bytes: 0,
            arguments,
        };
        let outcome = outcome(&short, &launch);
        assert_eq!(complaint(&short, &outcome), None, "{}", shape.name);
        assert_ne!(outcome.buffers[0], vec![7; 128], "{}: nothing is written", shape.name);
    }
}

/// The checks see what the generator avoids: without barriers, exchanges race.
#[test]
fn without_barriers_exchanges_race() {
    let (mut with_barriers, mut found) = (0, 0);
    for seed in 0..200 {
        let kernel = kernel(seed, &Options::for_seed(seed));
        let is_barrier = |line: &str| line.contains("bar.sync") || line.contains("barrier.");
        let kept: Vec<&str> = kernel.text().lines().filter(|line| !is_barrier(line)).collect();
        let has_partner = kernel.launch().block.iter().product::<u32>() > 1;
        if kept.len() < kernel.text().lines().count() && has_partner {
            with_barriers += 1;
            let text = kept.join("\n");
            found += u32::from(complaint(&text, &outcome(&text, kernel.launch())).is_some());
        }
    }
    assert!(with_barriers > 60, "only {with_barriers} kernels have barriers");
    assert!(found * 2 > with_barriers, "{found} of {with_barriers} kernels are found");
}

/// Most of the code matters: an instruction left out changes what the kernel writes, often enough.
#[test]
fn kernels_notice_instructions_that_are_missing() {
    let (mut tried, mut noticed) = (0, 0);
    for seed in 0..150 {
        let kernel = kernel(seed, &Options::for_seed(seed));
        let whole = outcome(kernel.text(), kernel.launch());
        let lines: Vec<&str> = kernel.text().lines().collect();
        let start = lines.iter().position(|line| line.contains(".entry")).expect("there is a kernel");
        let computes = |line: &str| {
            line.starts_with("    ")
                && line.ends_with(';')
                && !["    .", "bra ", "ret;", "exit;", "call"].iter().any(|part| line.contains(part))
        };
        let places: Vec<usize> = (start..lines.len()).filter(|&at| computes(lines[at])).collect();
        for part in 1..6 {
            let mut fewer = lines.clone();
            fewer.remove(places[places.len() * part / 6]);
            tried += 1;
            let run = outcome(&fewer.join("\n"), kernel.launch());
            noticed += u32::from(
                run.buffers != whole.buffers || run.globals != whole.globals || run.stop != whole.stop,
            );
        }
    }
    assert!(noticed * 3 > tried, "{noticed} of {tried} are noticed");
}
