//! Bit-set operations: every kernel this machine has, against a plain loop and the `fixedbitset` crate.
//!
//! `fused` is `dst |= gens | (input & !kills)` with the answer whether `dst` changed, in a state where it
//! does not: that is what a fixpoint spends its last round on, and no variant can leave early. The rate is in
//! bytes of result; the limit is the load ports, four loads for each store. `whole call` is the public
//! function, its choice by width included. `loads alone` loads as much and stores nothing: two tests for a subset, none
//! of which may stop early. `clock` is a chain of 1,000 steps of four cycles each, which tells the clock rate.
//!
//! `transfer changes` alternates between two inputs, so that every call changes `dst`.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fixedbitset::FixedBitSet;
use ptxopt_engine::bits::{self, BitMatrix, Kernel};
use std::hint::black_box;
use std::time::Duration;

const BIT_COUNTS: [usize; 8] = [64, 256, 512, 1_024, 4_096, 8_192, 16_384, 65_536];

/// Rows of the matrix that the operations run on.
const DST: usize = 0;
const GENS: usize = 1;
const INPUT: usize = 2;
const KILLS: usize = 3;
const ROW_COUNT: usize = 4;

/// A third of the bits in each row, the same on each run.
fn matrix(bit_count: usize) -> BitMatrix {
    let mut matrix = BitMatrix::with_shape(ROW_COUNT, bit_count);
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for row in 0..ROW_COUNT {
        for bit in 0..bit_count {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if (state >> 33).is_multiple_of(3) {
                matrix.set(row, bit);
            }
        }
    }
    matrix
}

fn fixed_bit_set(matrix: &BitMatrix, row: usize) -> FixedBitSet {
    let mut set = FixedBitSet::with_capacity(matrix.bit_count());
    set.extend(matrix.ones(row));
    set
}

/// What one writes without this library.
#[inline(never)]
fn plain_loop(dst: &mut [u64], gens: &[u64], input: &[u64], kills: &[u64]) -> bool {
    let mut changed = false;
    for index in 0..dst.len() {
        let old = dst[index];
        dst[index] |= gens[index] | (input[index] & !kills[index]);
        changed |= dst[index] != old;
    }
    changed
}

/// The same with the operations that `fixedbitset` has, none of which says whether something changed.
#[inline(never)]
fn with_fixedbitset(dst: &mut FixedBitSet, temporary: &mut FixedBitSet, sources: &[FixedBitSet; 3]) -> bool {
    let [gens, input, kills] = sources;
    temporary.clone_from(input);
    temporary.difference_with(kills);
    temporary.union_with(gens);
    let changed = !temporary.is_subset(dst);
    dst.union_with(temporary);
    changed
}

fn group<'a>(criterion: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group
        .warm_up_time(Duration::from_millis(150))
        .measurement_time(Duration::from_millis(400))
        .sample_size(30);
    group
}

fn fused(criterion: &mut Criterion) {
    let mut group = group(criterion, "fused");
    for bit_count in BIT_COUNTS {
        group.throughput(Throughput::Bytes(bit_count as u64 / 8));
        let mut matrix = matrix(bit_count);
        let sets = [GENS, INPUT, KILLS].map(|row| fixed_bit_set(&matrix, row));
        let mut dst_set = fixed_bit_set(&matrix, DST);
        let [dst, gens, input, kills] = matrix.rows_disjoint_mut([DST, GENS, INPUT, KILLS]);

        group.bench_function(BenchmarkId::new("whole call", bit_count), |bencher| {
            bencher.iter(|| bits::or_and_not_if_changed(black_box(&mut *dst), gens, input, kills))
        });
        for kernel in Kernel::available() {
            group.bench_function(BenchmarkId::new(kernel.name(), bit_count), |bencher| {
                bencher.iter(|| kernel.or_and_not_if_changed(black_box(&mut *dst), gens, input, kills))
            });
            group.bench_function(
                BenchmarkId::new(format!("{} loads alone", kernel.name()), bit_count),
                |bencher| {
                    bencher.iter(|| {
                        let (a, b) = (black_box(&*gens), black_box(&*kills));
                        kernel.is_subset_of(a, a) & kernel.is_subset_of(b, b)
                    })
                },
            );
        }
        group.bench_function(BenchmarkId::new("plain loop", bit_count), |bencher| {
            bencher.iter(|| plain_loop(black_box(&mut *dst), gens, input, kills))
        });
        let mut temporary = dst_set.clone();
        group.bench_function(BenchmarkId::new("fixedbitset", bit_count), |bencher| {
            bencher.iter(|| with_fixedbitset(black_box(&mut dst_set), &mut temporary, &sets))
        });
    }
    group.finish();
}

fn transfer_changes(criterion: &mut Criterion) {
    let mut group = group(criterion, "transfer changes");
    for bit_count in [256, 4_096, 65_536] {
        let mut matrix = matrix(bit_count);
        let [dst, gens, input, kills] = matrix.rows_disjoint_mut([DST, GENS, INPUT, KILLS]);
        let (mut input, mut other) = (&*input, &*gens);
        for kernel in Kernel::available() {
            group.bench_function(BenchmarkId::new(kernel.name(), bit_count), |bencher| {
                bencher.iter(|| {
                    std::mem::swap(&mut input, &mut other);
                    kernel.transfer_if_changed(black_box(&mut *dst), gens, input, kills)
                })
            });
        }
    }
    group.finish();
}

/// The other operations, at a width from the middle, where each is what its kernel makes it.
fn others(criterion: &mut Criterion) {
    const BIT_COUNT: usize = 8_192;
    let mut group = group(criterion, "others at 8192 bits");
    let mut matrix = matrix(BIT_COUNT);
    // The last bit is all that these two share, so that a search for it sees the whole row.
    let mut apart = BitMatrix::with_shape(2, BIT_COUNT);
    bits::copy(apart.row_mut(0), matrix.row(KILLS));
    apart.complement_row(0);
    bits::copy(apart.row_mut(1), matrix.row(KILLS));
    apart.set(0, BIT_COUNT - 1);
    apart.set(1, BIT_COUNT - 1);
    let [dst, gens, input] = matrix.rows_disjoint_mut([DST, GENS, INPUT]);

    for kernel in Kernel::available() {
        let id = |operation| BenchmarkId::new(operation, kernel.name());
        group.bench_function(id("or_if_changed"), |bencher| {
            bencher.iter(|| kernel.or_if_changed(black_box(&mut *dst), gens))
        });
        group.bench_function(id("and_if_changed"), |bencher| {
            bencher.iter(|| kernel.and_if_changed(black_box(&mut *dst), gens))
        });
        group.bench_function(id("assign_and"), |bencher| {
            bencher.iter(|| kernel.assign_and(black_box(&mut *dst), gens, input))
        });
        group.bench_function(id("popcount"), |bencher| {
            bencher.iter(|| kernel.popcount(black_box(&*gens)));
        });
        group.bench_function(id("is_subset_of"), |bencher| {
            bencher.iter(|| kernel.is_subset_of(black_box(&*gens), gens))
        });
        group.bench_function(id("first_common"), |bencher| {
            bencher.iter(|| kernel.first_common(black_box(apart.row(0)), apart.row(1)))
        });
    }
    group.bench_function("ones", |bencher| bencher.iter(|| bits::ones(black_box(&*gens)).sum::<usize>()));
    group.finish();
}

/// A multiplication takes three cycles and an addition one, on every x86-64 core of the last ten years.
fn clock(criterion: &mut Criterion) {
    let mut group = group(criterion, "clock");
    group.throughput(Throughput::Elements(4_000));
    group.bench_function("4,000 cycles", |bencher| {
        bencher
            .iter(|| (0..black_box(1_000)).fold(black_box(3_u64), |x, _| x.wrapping_mul(x).wrapping_add(1)))
    });
    group.finish();
}

criterion_group!(benches, clock, fused, transfer_changes, others);
criterion_main!(benches);
