//! The whole job at -O2, module text in, module text out, all in memory.
//!
//! `one kernel` is a call in a warm process on a kernel of 50 instructions: one that is made, with ten blocks, and in turn those
//! real modules that hold one function of 48 to 52. `growth` is one function of growing size with a block
//! for every five instructions, and shapes on which simpler algorithms are quadratic: a machine of states after one
//! block, registers that live over all blocks, verified after each phase, and those of `ptxopt_generate::shapes`, some of them structurized as well. `batch` runs the sets of modules on one thread, and its rate is instructions a second.
//! These are CPU time of the process, from which other programs on the machine take less than from wall time.
//!
//! `threads`, which is printed last, runs one and two threads in turn, the way the command does: a loop on each
//! thread takes the next module. Its rates are wall time. Where the cores have other work too, wall time says little
//! about how the work divides; the growth of CPU time does.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ptxopt::{Options, VerifyLevel, optimize};
use ptxopt_bench::clock::{minimum_and_median, process_time};
use ptxopt_bench::cpu_time::{CpuTime, group};
use ptxopt_bench::{kernels, modules};
use ptxopt_generate::shapes::SHAPES;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started")
}

/// Optimizes every text; gives the number of instructions that went in.
fn run(texts: &[Vec<u8>], options: &Options, pool: &ThreadPool) -> u64 {
    let cursor = AtomicUsize::new(0);
    let counts = pool.broadcast(|_| {
        let mut inst_count = 0;
        while let Some(text) = texts.get(cursor.fetch_add(1, Ordering::Relaxed)) {
            // A broken module is part of the job as well; it counts for nothing.
            inst_count +=
                black_box(optimize(text, options)).map_or(0, |output| output.report.instructions_in);
        }
        inst_count
    });
    counts.iter().sum()
}

fn one_kernel(criterion: &mut Criterion<CpuTime>) {
    let options = Options::default();
    let is_of_size = |text: &Vec<u8>| {
        optimize(text, &options).is_ok_and(|output| {
            output.report.functions == 1 && (48..=52).contains(&output.report.instructions_in)
        })
    };
    let mut real: Vec<Vec<u8>> = modules::sets().into_iter().flat_map(|set| set.texts).collect();
    real.retain(is_of_size);
    let mut group = group(criterion, "one kernel", 1);
    for (name, texts) in [("made", vec![kernels::module(1, 50)]), ("real", real)] {
        let mut texts = texts.iter().cycle();
        group.bench_function(name, |bencher| {
            bencher.iter(|| optimize(black_box(texts.next().expect("there is one")), &options))
        });
    }
    group.finish();
}

fn growth(criterion: &mut Criterion<CpuTime>) {
    let options = Options::default();
    let mut group = group(criterion, "growth", 3);
    for inst_count in [100, 1_000, 10_000, 120_000, 200_000] {
        let text = kernels::module(1, inst_count);
        group.throughput(Throughput::Elements(inst_count as u64));
        group.bench_function(BenchmarkId::from_parameter(inst_count), |bencher| {
            bencher.iter(|| optimize(black_box(&text), &options))
        });
    }
    let states = [250, 2_000].map(|count| ("states", kernels::state_machine(count), VerifyLevel::Off));
    let lives =
        [1_000, 10_000].map(|count| ("long lives, verified", kernels::long_lives(count), VerifyLevel::Fast));
    let plain = [5_000, 50_000].map(|count| ("verified", kernels::module(1, count), VerifyLevel::Fast));
    let shapes = SHAPES.iter().flat_map(|shape| {
        let sizes = [shape.large / 8, shape.large];
        sizes.map(|size| (shape.name, (shape.text)(size).into_bytes(), VerifyLevel::Off))
    });
    for (name, text, verify) in states.into_iter().chain(lives).chain(plain).chain(shapes) {
        let options = Options { verify, ..Options::default() };
        let report = optimize(&text, &options).unwrap_or_else(|error| panic!("{error}")).report;
        group.throughput(Throughput::Elements(report.instructions_in));
        group.bench_function(BenchmarkId::new(name, report.instructions_in), |bencher| {
            bencher.iter(|| optimize(black_box(&text), &options))
        });
    }
    let mut options = Options::default();
    options.set_knob("structurizecfg=on").expect("the knob exists");
    let tangled = ["nested-ifs", "nest", "conditions", "cases", "exits"];
    for shape in SHAPES.iter().filter(|shape| tangled.contains(&shape.name)) {
        for size in [shape.large / 8, shape.large] {
            let text = (shape.text)(size).into_bytes();
            let report = optimize(&text, &options).unwrap_or_else(|error| panic!("{error}")).report;
            group.throughput(Throughput::Elements(report.instructions_in));
            let name = BenchmarkId::new(format!("structurized {}", shape.name), report.instructions_in);
            group.bench_function(name, |bencher| bencher.iter(|| optimize(black_box(&text), &options)));
        }
    }
    group.finish();
}

fn batch(criterion: &mut Criterion<CpuTime>) {
    let (options, pool) = (Options::default(), pool(1));
    let mut group = group(criterion, "batch", 6);
    for set in modules::sets() {
        let inst_count = run(&set.texts, &options, &pool);
        eprintln!(
            "{}: {} modules, {} bytes, {inst_count} instructions",
            set.name,
            set.texts.len(),
            set.bytes()
        );
        group.throughput(Throughput::Elements(inst_count));
        group.bench_function(set.name, |bencher| bencher.iter(|| run(&set.texts, &options, &pool)));
    }
    group.finish();
}

/// Not a measurement of criterion's, which runs one function to its end before the next.
fn threads(_: &mut Criterion<CpuTime>) {
    const ROUNDS: usize = 20;
    let options = Options::default();
    let pools = [1, 2].map(pool);
    for set in modules::sets() {
        let (mut wall, mut cpu) = ([vec![], vec![]], [vec![], vec![]]);
        // The first round makes the shards.
        let inst_count = run(&set.texts, &options, &pools[1]) as f64;
        for _ in 0..ROUNDS {
            for (at, pool) in pools.iter().enumerate() {
                let (start, cpu_start) = (Instant::now(), process_time());
                black_box(run(&set.texts, &options, pool));
                wall[at].push(start.elapsed().as_secs_f64());
                cpu[at].push((process_time() - cpu_start).as_secs_f64());
            }
        }
        let [one, two] = wall.map(|times| minimum_and_median(&times));
        let [cpu_one, cpu_two] = cpu.map(|times| minimum_and_median(&times));
        println!("threads/{}: least and median of {ROUNDS} rounds", set.name);
        println!("  one thread   {:.0} {:.0} instructions a second", inst_count / one.0, inst_count / one.1);
        println!("  two threads  {:.0} {:.0}", inst_count / two.0, inst_count / two.1);
        println!("  speed-up     {:.2} {:.2}", one.0 / two.0, one.1 / two.1);
        println!(
            "  CPU time     {:.3} {:.3} times as much on two",
            cpu_two.0 / cpu_one.0,
            cpu_two.1 / cpu_one.1
        );
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CpuTime);
    targets = one_kernel, growth, batch, threads
}
criterion_main!(benches);
