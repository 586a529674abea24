//! How much of each module of the corpus is left, how much each phase does, and what a second run finds: `optimized.tsv` says what
//! was accepted. A change that lets a phase do less shows here, where no golden file tells of it.

use ptxopt::{OptLevel, Options, optimize};
use ptxopt_tests::blessed::expect_blessed;
use ptxopt_tests::modules::{corpus, in_parallel};
use std::collections::BTreeMap;
use std::fmt::Write;

const LEVELS: [OptLevel; 2] = [OptLevel::O2, OptLevel::O3];

/// Number and name of a phase.
type Phase = (u8, String);

/// What became of a module at a level.
struct Optimized {
    instructions_in: u64,
    instructions_out: u64,
    after_a_second_run: u64,
    changes: Vec<(Phase, u64)>,
}

fn optimized(text: &[u8], level: OptLevel) -> Optimized {
    let options = Options { level, ..Options::default() };
    let output = optimize(text, &options).expect("the corpus is right");
    let again = optimize(&output.text, &options).expect("what was written is right");
    let phases = output.report.phases.into_iter();
    Optimized {
        instructions_in: output.report.instructions_in,
        instructions_out: output.report.instructions_out,
        after_a_second_run: again.report.instructions_out,
        changes: phases.map(|phase| ((phase.number, phase.name.into_owned()), phase.changes)).collect(),
    }
}

#[test]
fn the_table_says_what_is_left() {
    let modules = corpus();
    let rows = in_parallel(&modules, |module| LEVELS.map(|level| optimized(&module.text(), level)));
    let mut table = "module\tinstructions\tat -O2\tsecond run\tat -O3\tsecond run\n".to_owned();
    let mut changes = BTreeMap::<Phase, [u64; 2]>::new();
    for (module, row) in modules.iter().zip(rows) {
        write!(table, "{}\t{}", module.name, row[0].instructions_in).expect("a string takes everything");
        for (level, found) in row.into_iter().enumerate() {
            write!(table, "\t{}\t{}", found.instructions_out, found.after_a_second_run)
                .expect("a string takes everything");
            for (phase, count) in found.changes {
                changes.entry(phase).or_default()[level] += count;
            }
        }
        table.push('\n');
    }
    table += "\nphase\tchanges at -O2\tat -O3\n";
    for ((number, name), [at_2, at_3]) in changes.into_iter().filter(|(_, counts)| *counts != [0; 2]) {
        writeln!(table, "{number} {name}\t{at_2}\t{at_3}").expect("a string takes everything");
    }
    expect_blessed("optimized.tsv", &table);
}
