//! Every phase of -O2, in nanoseconds an instruction on the one thread that runs them, the least of some rounds over each
//! set of modules. It is wall time, as [`PhaseTime`] says: what else runs on the machine is in it.
//!
//! ```text
//! cargo bench -p ptxopt-bench --bench phases
//! ```

use ptxopt::{Options, PhaseTime, optimize};
use ptxopt_bench::clock::on_one_thread;
use ptxopt_bench::modules;
use std::collections::BTreeMap;

const ROUNDS: usize = 7;

/// Nanoseconds by number and name of the phase, and instructions.
fn round(texts: &[Vec<u8>]) -> (BTreeMap<(u8, String), u64>, u64) {
    let (mut times, mut insts) = (BTreeMap::new(), 0);
    for text in texts {
        let report = optimize(text, &Options::default()).unwrap_or_else(|error| panic!("{error}")).report;
        insts += report.instructions_in;
        for PhaseTime { number, name, ns, .. } in report.phases {
            *times.entry((number, name.into_owned())).or_default() += ns;
        }
    }
    (times, insts)
}

fn main() {
    for set in modules::sets() {
        let mut least: BTreeMap<(u8, String), u64> = BTreeMap::new();
        let mut insts = 0;
        on_one_thread(|| {
            for _ in 0..ROUNDS {
                let (times, count) = round(&set.texts);
                insts = count;
                for (phase, ns) in times {
                    least.entry(phase).and_modify(|least| *least = ns.min(*least)).or_insert(ns);
                }
            }
        });
        println!("{}: {insts} instructions", set.name);
        for ((number, name), ns) in &least {
            println!("{number:>5} {name:<36} {:>8.2} ns", *ns as f64 / insts as f64);
        }
        let all: u64 = least.values().sum();
        println!("      {:<36} {:>8.2} ns", "all", all as f64 / insts as f64);
    }
}
