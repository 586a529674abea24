//! What dead-code elimination takes out of each module of the corpus, and that a second run takes nothing.
//!
//! `removed.tsv` is the golden table; `BLESS=1` writes it anew.

use ptxopt::{Options, optimize};
use ptxopt_tests::blessed::expect_blessed;
use ptxopt_tests::modules::{ModuleFile, corpus, expect_none, forms, in_parallel, wild};
use ptxopt_tests::say::say;
use std::fmt::Write;

/// The phases whose changes are counted, as columns of the table: the early one, and the four that share a name.
const COLUMNS: [(&str, &[u8]); 2] = [("early", &[10]), ("full", &[16, 33, 61, 84])];

/// Runs the phases of dead code alone, so that the table says nothing of others.
fn options() -> Options {
    let mut options = Options::default();
    options
        .set_knob("NamedPhases=SetControlFlowOpLastInBB+EarlyOriSimpleLiveDead+OriPerformLiveDead")
        .expect("a knob");
    options
}

fn row(module: &ModuleFile) -> String {
    let output =
        optimize(&module.text(), &options()).unwrap_or_else(|error| panic!("{}: {error}", module.name));
    let report = output.report;
    let mut row = format!("{}\t{}\t{}", module.name, report.instructions_in, report.instructions_out);
    for (_, numbers) in COLUMNS {
        let changes: u64 = report
            .phases
            .iter()
            .filter(|phase| numbers.contains(&phase.number))
            .map(|phase| phase.changes)
            .sum();
        write!(row, "\t{changes}").expect("a string takes everything");
    }
    row
}

#[test]
fn the_table_says_what_is_removed() {
    let mut table = "module\tinstructions in\tinstructions out".to_owned();
    for (name, _) in COLUMNS {
        write!(table, "\tchanges {name}").expect("a string takes everything");
    }
    for row in in_parallel(&corpus(), row) {
        write!(table, "\n{row}").expect("a string takes everything");
    }
    table.push('\n');
    expect_blessed("removed.tsv", &table);
}

#[test]
fn a_second_run_removes_nothing() {
    let modules = [corpus(), forms(), wild()].concat();
    let failures = in_parallel(&modules, |module| {
        let run =
            |text: &[u8]| optimize(text, &options()).map_err(|error| format!("{}: {error}", module.name));
        let again = run(&run(&module.text())?.text)?.report;
        let changes: u64 = again.phases.iter().map(|phase| phase.changes).sum();
        if changes == 0 {
            Ok(())
        } else {
            Err(format!("{}: {changes} changes in the second run", module.name))
        }
    });
    say(&format!("removed: {} modules are run twice", modules.len()));
    expect_none("modules change twice", &failures.into_iter().filter_map(Result::err).collect::<Vec<_>>());
}
