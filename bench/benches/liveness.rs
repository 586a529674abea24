//! Liveness: the two representations against each other and against a naive solver, the search for dead code, pressure;
//! and uniformity, which asks for live sets.
//!
//! One function of growing size with a block for every five instructions, and the real modules, function by function.
//! Times are CPU time of the thread, the least of some rounds, in nanoseconds an instruction. The naive solver
//! has a set of booleans a block, rounds over all blocks until nothing changes; it stops at 10,000
//! instructions, where it is quadratic.
//!
//! ```text
//! cargo bench -p ptxopt-bench --bench liveness
//! ```

use bevy_ecs::prelude::*;
use ptxopt::{OptLevel, Options, optimize_with_plan, standard};
use ptxopt_bench::clock::{on_one_thread, thread_time};
use ptxopt_bench::{kernels, modules};
use ptxopt_components::ids::{Id, VRegId};
use ptxopt_engine::dataflow::liveness::{LiveSet, LivenessScratch, Representation, kills, solve, solve_on};
use ptxopt_engine::dataflow::pressure::Pressure;
use ptxopt_engine::dataflow::uniformity::{self, Uniformity};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::nest::LoopNests;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::{Phase, Plan, Step};
use ptxopt_engine::store::columns::Code;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::reaching::Reaching;
use ptxopt_systems::registers::Estimator;
use ptxopt_systems::values::eliminate_dead::Needs;
use std::hint::black_box;
use std::sync::Mutex;

/// What is measured, in the order of the columns.
const COLUMNS: [&str; 9] =
    ["dense", "walks", "chosen", "plain", "needs", "pressure", "uniform", "update", "estimate"];

/// Largest function that the plain solver gets.
const PLAIN_INSTS_MAX: usize = 10_000;

/// A function that was measured.
struct Row {
    insts: usize,
    blocks: usize,
    words: usize,
    ns: [f64; COLUMNS.len()],
}

static ROWS: Mutex<Vec<Row>> = Mutex::new(Vec::new());

static MEASURE: Phase = Phase {
    name: "measure",
    needs: &[Fact::ControlFlow, Fact::Loops],
    install: |slot| {
        slot.init_resource::<LoopNests>();
        slot.add(measure_all);
    },
    ..Phase::NOTHING
};

#[derive(Default)]
struct Scratch {
    solver: LivenessScratch,
    set: LiveSet,
    reaching: Reaching,
    needs: Needs,
    pressure: Pressure,
    uniform: uniformity::Scratch,
    verdicts: Uniformity,
    estimator: Estimator,
}

fn measure_all(code: Code, forms: Res<FormTable>, nests: Res<LoopNests>, mut scratch: Local<Scratch>) {
    let Scratch { solver, set, reaching, needs, pressure, uniform, verdicts, estimator } = &mut *scratch;
    for function in code.view().functions() {
        let insts = function.live_inst_count();
        let rounds = (200_000 / insts.max(1)).clamp(3, 40);
        let time = |work: &mut dyn FnMut()| {
            let once = |_| {
                let start = thread_time();
                work();
                (thread_time() - start).as_nanos() as f64
            };
            (0..rounds).map(once).fold(f64::INFINITY, f64::min)
        };
        let mut ns = [f64::NAN; COLUMNS.len()];
        ns[0] = time(&mut || solve_on(Representation::Dense, &function, &forms, solver, set));
        ns[1] = time(&mut || solve_on(Representation::Walks, &function, &forms, solver, set));
        ns[2] = time(&mut || solve(&function, &forms, solver, set));
        if insts <= PLAIN_INSTS_MAX {
            ns[3] = time(&mut || drop(black_box(plain(&function))));
        }
        ns[4] = time(&mut || {
            reaching.start(&function);
            needs.find(&function, reaching);
        });
        ns[5] = time(&mut || {
            pressure.build(&function, &forms, set);
            black_box(pressure.peaks(&function));
        });
        if let Some(nest) = nests.get(function.code) {
            ns[8] = time(&mut || {
                black_box(estimator.look_at(&function, &forms, nest));
            });
            ns[6] = time(&mut || uniformity::solve(&function, &forms, nest, set, uniform, verdicts));
        }
        pressure.follow(set);
        // Every block, one after the other: what an update costs for an instruction of the block that was touched.
        ns[7] = time(&mut || {
            for block in function.block_ids() {
                pressure.touch(block);
                pressure.update(&function, &forms);
            }
        });
        let words = function.blocks.len() * set.globals().len().div_ceil(64);
        let row = Row { insts, blocks: function.blocks.len(), words, ns };
        ROWS.lock().expect("no measurement panics").push(row);
    }
}

/// Live-in sets as one writes them first.
fn plain(function: &FunctionView<'_>) -> Vec<Vec<bool>> {
    let mut live_in = vec![vec![false; function.vregs.len()]; function.blocks.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for block in function.block_ids().rev() {
            let mut live = vec![false; function.vregs.len()];
            for succ in function.succs(block) {
                live.iter_mut().zip(&live_in[succ.index()]).for_each(|(live, of_succ)| *live |= of_succ);
            }
            for inst in function.insts_of(block).rev() {
                let is_guarded = function.heads[inst.index()].opcode.is_guarded();
                let operands = function.operands_of(inst);
                let mut set = |vreg: VRegId, is_live| live[vreg.index()] = is_live;
                operands
                    .iter()
                    .filter(|o| kills(o, is_guarded))
                    .filter_map(|o| o.vreg())
                    .for_each(|v| set(v, false));
                operands.iter().filter(|o| o.is_use()).filter_map(|o| o.vreg()).for_each(|v| set(v, true));
            }
            changed |= live != live_in[block.index()];
            live_in[block.index()] = live;
        }
    }
    live_in
}

fn rows_of(text: &[u8]) -> Vec<Row> {
    let standard = standard::plan(&Options { level: OptLevel::O2, ..Options::default() }, false);
    let split = *standard.steps.iter().find(|step| step.number == 6).expect("it runs at every level");
    let own = Step::new(200, &MEASURE);
    let plan = Plan { steps: vec![split, own], ..standard };
    on_one_thread(|| {
        optimize_with_plan(text, &plan).unwrap_or_else(|error| panic!("{error}"));
    });
    std::mem::take(&mut *ROWS.lock().expect("no measurement panics"))
}

fn print(name: &str, rows: &[Row]) {
    let insts: usize = rows.iter().map(|row| row.insts).sum();
    let blocks: usize = rows.iter().map(|row| row.blocks).sum();
    let words: usize = rows.iter().map(|row| row.words).sum();
    print!("{name:<24} {insts:>9} {blocks:>8} {words:>10}");
    for column in 0..COLUMNS.len() {
        let ns: f64 = rows.iter().map(|row| row.ns[column]).sum();
        print!(" {:>9.1}", ns / insts as f64);
    }
    println!();
}

fn main() {
    print!("{:<24} {:>9} {:>8} {:>10}", "ns an instruction", "insts", "blocks", "words");
    COLUMNS.iter().for_each(|column| print!(" {column:>9}"));
    println!();
    for insts in [100, 300, 1_000, 3_000, 10_000, 30_000, 120_000, 200_000] {
        print("made", &rows_of(&kernels::module(1, insts)));
    }
    for set in modules::sets() {
        let rows: Vec<Row> = set.texts.iter().flat_map(|text| rows_of(text)).collect();
        print(set.name, &rows);
        for bound in [1 << 6, 1 << 8, 1 << 10, 1 << 12, 1 << 14, 1 << 16, usize::MAX] {
            let class: Vec<Row> = rows
                .iter()
                .filter(|row| row.words <= bound && row.words > bound / 4)
                .map(|row| Row { ns: row.ns, ..*row })
                .collect();
            if !class.is_empty() {
                print(&format!("  {} of up to {bound}", class.len()), &class);
            }
        }
    }
}
