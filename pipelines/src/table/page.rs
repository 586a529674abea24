//! The pipeline table as a page of the documentation.

use std::fmt::Write;

use super::{Does, FAMILIES, PASSES, PHASES, Part, PhaseNumber, PhaseRow};
use crate::level::OptLevel;

/// The text of `docs/PHASES.md`.
pub fn markdown() -> String {
    let mut page = String::from(
        "# The phases\n\n\
         Generated from the pipeline table (`pipelines/src/table`). Change the table, then run\n\
         `BLESS=1 cargo test -p ptxopt phases_page`.\n\n\
         A gate says at which -O levels a phase may run. At -O0 only what leaves every instruction as it is\n\
         runs. `ptxopt phases -O1` prints the same table for one level.\n\n",
    );
    write_counts(&mut page);
    write_rows(&mut page);
    write_names(&mut page);
    write_passes(&mut page);
    page
}

fn write_counts(page: &mut String) {
    let working = PHASES.iter().filter(|row| row.phase().is_some()).count();
    let _ = writeln!(page, "{working} of {} phases have a system in this release.\n", PHASES.len());
}

fn write_rows(page: &mut String) {
    page.push_str("| number | name | category | gate | runs at | here |\n|---:|---|---|---|---|---|\n");
    for row in &PHASES {
        let here = match row.does {
            Does::Runs(phase) => format!("system `{}`", phase.name),
            Does::Nothing(reason) => reason.to_owned(),
        };
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {here} |",
            row.number,
            row.name,
            row.category,
            row.gate,
            levels(row)
        );
    }
}

/// The levels at which a row runs, as a range that ends at the highest level: `O1-O3`.
fn levels(row: &PhaseRow) -> String {
    let mut running = OptLevel::ALL.into_iter().filter(|&level| row.runs_at(level));
    match (running.next(), running.next_back()) {
        (Some(low), Some(high)) => format!("{low}-{high}"),
        (Some(only), None) => only.to_string(),
        (None, _) => String::new(),
    }
}

fn write_names(page: &mut String) {
    page.push_str(
        "\n## Names for several phases, and for parts of phases\n\n\
         | name | phases | stands for |\n|---|---|---|\n",
    );
    for family in FAMILIES {
        let _ = writeln!(page, "| {} | {} | each of them |", family.name, list(family.phases));
    }
    for part in Part::ALL {
        let _ = writeln!(page, "| {} | {} | a part of each |", part.name(), list(part.phases()));
    }
}

fn write_passes(page: &mut String) {
    page.push_str(
        "\n## Passes outside the pipeline\n\n\
         They run on request, above -O0, before phase 94: where their knob or their name is given.\n\n\
         | number | name | here |\n|---:|---|---|\n",
    );
    for row in &PASSES {
        let system = row.phase().map_or("", |phase| phase.name);
        let _ = writeln!(page, "| {} | {} | system `{system}` |", row.number, row.name);
    }
}

fn list(numbers: &[PhaseNumber]) -> String {
    numbers.iter().map(PhaseNumber::to_string).collect::<Vec<_>>().join(", ")
}
