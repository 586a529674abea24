//! Memory for lists of lists that die with a function: allocated one by one, in an arena, or as runs of one list.
//!
//! The lists are like those of `simplify_loops`: for each loop what leads to its header from outside and from inside, one
//! or two blocks each. Time is CPU time a loop. `docs/decisions/0007-an-arena-for-lists-of-lists.md` draws the conclusion.

use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ptxopt_bench::cpu_time::{CpuTime, group};
use std::hint::black_box;
use std::ops::Range;

/// For each loop of a function, the predecessors of its header, and whether each lies inside.
type Headers = Vec<Vec<(u32, bool)>>;

/// Made functions of so many loops each.
fn headers(function_count: usize, loop_count: usize) -> Vec<Headers> {
    let mut state = 1u64;
    let mut next = move || {
        // Xorshift: the same lists on every machine.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % 1000) as u32
    };
    let mut header = || {
        let side = |is_inside: bool, next: &mut dyn FnMut() -> u32| -> Vec<(u32, bool)> {
            (0..=next() % 2).map(|_| (next(), is_inside)).collect()
        };
        [side(false, &mut next), side(true, &mut next)].concat()
    };
    (0..function_count).map(|_| (0..loop_count).map(|_| header()).collect()).collect()
}

/// A list of its own for each list.
fn one_by_one(headers: &Headers) {
    let mut plans: Vec<(Vec<u32>, Vec<u32>)> = Vec::new();
    for preds in headers {
        let (inside, outside): (Vec<_>, Vec<_>) = preds.iter().partition(|&&(_, is_inside)| is_inside);
        let ids = |list: Vec<(u32, bool)>| list.into_iter().map(|(pred, _)| pred).collect();
        plans.push((ids(inside), ids(outside)));
    }
    black_box(&plans);
}

/// The same in an arena that is emptied for each function.
fn in_an_arena(headers: &Headers, bump: &mut Bump) {
    bump.reset();
    let bump = &*bump;
    let mut plans = BumpVec::new_in(bump);
    for preds in headers {
        let (mut inside, mut outside) = (BumpVec::new_in(bump), BumpVec::new_in(bump));
        for &(pred, is_inside) in preds {
            if is_inside { &mut inside } else { &mut outside }.push((pred, is_inside));
        }
        let ids = |list: BumpVec<'_, (u32, bool)>| {
            BumpVec::from_iter_in(list.into_iter().map(|(pred, _)| pred), bump)
        };
        plans.push((ids(inside), ids(outside)));
    }
    black_box(&plans);
}

/// Memory that is cleared for each function: the lists are runs of `ids`.
#[derive(Default)]
struct Runs {
    plans: Vec<[Range<u32>; 2]>,
    ids: Vec<u32>,
}

impl Runs {
    fn fill(&mut self, headers: &Headers) {
        self.plans.clear();
        self.ids.clear();
        for preds in headers {
            let mut run = |wanted: bool| {
                let first = self.ids.len() as u32;
                let chosen = preds.iter().filter(|&&(_, is_inside)| is_inside == wanted);
                self.ids.extend(chosen.map(|&(pred, _)| pred));
                first..self.ids.len() as u32
            };
            let plan = [run(true), run(false)];
            self.plans.push(plan);
        }
        black_box((&self.plans, &self.ids));
    }
}

fn lists(criterion: &mut Criterion<CpuTime>) {
    for (name, function_count, loop_count) in [("5,000 of 2 loops", 5_000, 2), ("one of 10,000", 1, 10_000)] {
        let functions = headers(function_count, loop_count);
        let mut group = group(criterion, name, 3);
        group.throughput(Throughput::Elements((function_count * loop_count) as u64));
        group.bench_function("one by one", |bencher| {
            bencher.iter(|| functions.iter().for_each(one_by_one));
        });
        let mut bump = Bump::new();
        group.bench_function("arena", |bencher| {
            bencher.iter(|| functions.iter().for_each(|headers| in_an_arena(headers, &mut bump)));
        });
        let mut runs = Runs::default();
        group.bench_function("runs of one list", |bencher| {
            bencher.iter(|| functions.iter().for_each(|headers| runs.fill(headers)));
        });
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CpuTime);
    targets = lists
}
criterion_main!(benches);
