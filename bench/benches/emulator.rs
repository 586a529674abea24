//! The emulator: thread-instructions a second of loops of arithmetic, of memory accesses and of divergent branches, and
//! what the corpus takes with its launch lines, loading included.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ptxopt::check::{CheckOptions, Reference, launches};
use ptxopt_bench::cpu_time::{CpuTime, group};
use ptxopt_bench::modules::corpus_folder;
use ptxopt_emulator::{Argument, Launch, Module, Options, run};
use std::fs;
use std::hint::black_box;
use walkdir::WalkDir;

const LOOPS: &[u8] = include_bytes!("../src/loops.ptx");

fn loops(criterion: &mut Criterion<CpuTime>) {
    let module = Module::load(LOOPS).unwrap_or_else(|error| panic!("{error}"));
    let mut group = group(criterion, "emulator", 3);
    for entry in module.entries() {
        let launch = Launch {
            entry: entry.name.clone(),
            grid: [16, 1, 1],
            block: [128, 1, 1],
            shared_bytes: 0,
            args: vec![Argument::Buffer(vec![0; 512]), Argument::Scalar(2000u32.to_le_bytes().to_vec())],
        };
        let outcome = run(&module, &launch, &Options::default());
        assert_eq!(outcome.stop, None);
        group.throughput(Throughput::Elements(outcome.steps));
        group.bench_function(&entry.name, |bencher| {
            bencher.iter(|| black_box(run(&module, &launch, &Options::default())).steps)
        });
    }
    group.finish();
}

/// Every kernel of the optimized corpus, once.
fn corpus(criterion: &mut Criterion<CpuTime>) {
    let files =
        WalkDir::new(corpus_folder().join("O3")).into_iter().map(|entry| entry.expect("the corpus is there"));
    let modules: Vec<_> = files
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| {
            let text = fs::read(entry.path()).expect("the corpus can be read");
            let lines = launches::find(entry.path(), &text).expect("the corpus has launch lines");
            (text, lines)
        })
        .collect();
    let how = CheckOptions { seeds: 1, races: false, ..CheckOptions::default() };
    let judge = || {
        modules.iter().map(|(text, lines)| Reference::new(text, lines, how).map_or(0, |r| r.judged_count()))
    };
    let mut group = group(criterion, "emulator/corpus", 5);
    group.throughput(Throughput::Elements(judge().sum::<usize>() as u64));
    group.bench_function("kernels", |bencher| bencher.iter(|| judge().sum::<usize>()));
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CpuTime);
    targets = loops, corpus
}
criterion_main!(benches);
