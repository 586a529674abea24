//! Text in, text out: the scan of a module, its bodies to rows, and rows to text, each alone and on one thread.
//!
//! Rates are bytes of module text (of written text for `write`) and, in a second line that is printed first,
//! instructions; times are CPU time of the process.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ptxopt_bench::clock::process_time;
use ptxopt_bench::cpu_time::{CpuTime, group};
use ptxopt_bench::modules::{Set, sets};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::ptx::reader::{ReaderScratch, read};
use ptxopt_engine::ptx::scan::Module;
use ptxopt_engine::ptx::writer::{WriterScratch, write_function};
use ptxopt_engine::store::tables::CodeTables;
use std::hint::black_box;
use std::time::Duration;

/// What a shard keeps from module to module.
#[derive(Default)]
struct Memory {
    forms: FormTable,
    reader: ReaderScratch,
    writer: WriterScratch,
    tables: CodeTables,
    out: Vec<u8>,
}

impl Memory {
    /// Reads the bodies of `module`; gives its instructions.
    fn read(&mut self, module: &Module<'_>) -> usize {
        let Self { forms, reader, tables, .. } = self;
        read(module, &module.functions, forms, reader, tables).expect("the sets hold no broken module");
        tables.inst_heads.len()
    }

    /// Writes what was read; gives its bytes.
    fn write(&mut self, module: &Module<'_>) -> usize {
        let Self { forms, writer, tables, out, .. } = self;
        out.clear();
        for function in tables.view().functions() {
            write_function(&function, forms, module.text, writer, out);
        }
        out.len()
    }
}

/// CPU time of `work`.
fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = process_time();
    black_box(work());
    process_time() - start
}

fn text(criterion: &mut Criterion<CpuTime>) {
    for set in sets() {
        let modules: Vec<Module<'_>> = scan(&set);
        let mut memory = Memory::default();
        // The first round interns the forms and grows the tables.
        let inst_count: usize = modules.iter().map(|module| memory.read(module)).sum();
        let mut written = 0;
        for module in &modules {
            memory.read(module);
            written += memory.write(module);
        }
        println!("text/{}: {} bytes, {inst_count} instructions", set.name, set.bytes());
        let mut group = group(criterion, &format!("text/{}", set.name), 5);
        group.throughput(Throughput::Bytes(set.bytes() as u64));
        group.bench_function("scan", |bencher| bencher.iter(|| black_box(scan(&set)).len()));
        group.bench_function("read", |bencher| {
            bencher.iter(|| modules.iter().map(|module| memory.read(module)).sum::<usize>())
        });
        group.throughput(Throughput::Elements(inst_count as u64));
        group.bench_function("read, by instruction", |bencher| {
            bencher.iter(|| modules.iter().map(|module| memory.read(module)).sum::<usize>())
        });
        // A module is written when its rows are there: reading it again stays out of the time.
        let mut write_all = |rounds: u64| {
            let mut spent = Duration::ZERO;
            for module in (0..rounds).flat_map(|_| &modules) {
                memory.read(module);
                spent += timed(|| memory.write(module));
            }
            spent
        };
        group.throughput(Throughput::Bytes(written as u64));
        group.bench_function("write", |bencher| bencher.iter_custom(&mut write_all));
        group.throughput(Throughput::Elements(inst_count as u64));
        group.bench_function("write, by instruction", |bencher| bencher.iter_custom(&mut write_all));
        group.finish();
    }
}

fn scan(set: &Set) -> Vec<Module<'_>> {
    set.texts.iter().map(|text| Module::scan(text).expect("the sets hold no broken module")).collect()
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CpuTime);
    targets = text
}
criterion_main!(benches);
