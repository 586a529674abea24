//! The tables that `ptxopt phases` and `ptxopt knobs` print.

use comfy_table::{ContentArrangement, Table};

use crate::knobs::{Acts, KNOBS, Kind, Knob, KnobRow};
use crate::options::{Options, Verdict};
use crate::report::{plain_table, right_align, trimmed};
use crate::table::{Does, PASSES, PHASES};

/// The phases, with what becomes of each under the options. Lines are folded to the width, if there is one.
pub fn phases(options: &Options, width: Option<u16>) -> String {
    let level = format!("-{}", options.level);
    let mut table = plain_table(&["phase", "name", "category", "gate", &level, "here"]);
    let mut running = 0;
    for (at, row) in PHASES.iter().chain(&PASSES).enumerate() {
        let verdict = options.verdict(row);
        running += usize::from(at < PHASES.len() && verdict == Verdict::Runs);
        let here = match row.does {
            Does::Runs(phase) => format!("system {}", phase.name),
            Does::Nothing(reason) => reason.to_owned(),
        };
        table.add_row([
            row.number.to_string(),
            row.name.to_owned(),
            row.category.to_string(),
            row.gate.to_string(),
            verdict.to_string(),
            here,
        ]);
    }
    right_align(&mut table, &[0]);
    format!("{}\n{running} of {} phases run\n", fold(table, width), PHASES.len())
}

/// The knobs, with their values under the options.
pub fn knobs(options: &Options, width: Option<u16>) -> String {
    let mut table = plain_table(&["knob", "number", "phases", "kind", "value", "acts", "effect"]);
    for row in &KNOBS {
        let (acts, effect) = match row.acts {
            Acts::No(reason) => ("no", format!("{} ({reason})", row.effect)),
            Acts::OnTheRun | Acts::Opens(_) | Acts::Vetoes(_) | Acts::Sets(_) => {
                ("yes", row.effect.to_owned())
            }
        };
        table.add_row([
            row.name.to_owned(),
            row.number.map(|number| number.to_string()).unwrap_or_default(),
            row.reach.to_string(),
            kind(row),
            value(row.knob, options),
            acts.to_owned(),
            effect,
        ]);
    }
    right_align(&mut table, &[1]);
    fold(table, width)
}

fn kind(row: &KnobRow) -> String {
    match row.kind {
        Kind::Mode(highest) => format!("0..{highest}"),
        kind => kind.to_string(),
    }
}

/// The value that a knob has: some are options under another name.
fn value(knob: Knob, options: &Options) -> String {
    match knob {
        Knob::NamedPhases | Knob::NamedPhasesFlag => options.named_phases.to_string(),
        Knob::DisablePhases => options.disabled_phases.to_string(),
        Knob::DumpIr => options.dump_after.to_string(),
        Knob::DumpCfg => options.dump_cfg_after.to_string(),
        Knob::DumpRpo => options.dump_rpo_after.to_string(),
        Knob::Sh => options.fingerprint_filter.map(|hash| format!("{hash:016x}")).unwrap_or_default(),
        Knob::OptLevelFlag => options.level.number().to_string(),
        Knob::DontMergeBasicBlocks => options.dont_merge_blocks.to_string(),
        _ => options.knobs.value(knob).map(|value| value.to_string()).unwrap_or_default(),
    }
}

/// The table as text, its lines folded to the width, if there is one.
fn fold(mut table: Table, width: Option<u16>) -> String {
    if let Some(width) = width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    trimmed(&table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_is_listed_with_its_verdict() {
        let text = phases(&Options::default(), None);
        assert!(text.contains("49 of 159 phases run"), "{text}");
        let line = text.lines().find(|line| line.contains("OriPerformLiveDeadSecond")).unwrap();
        assert!(line.contains(" 33 ") && line.contains("runs"), "{line}");
    }

    #[test]
    fn the_level_and_knobs_show() {
        let mut options = Options::default();
        options.set_knob("--opt-level=0").unwrap();
        let text = phases(&options, None);
        assert!(text.contains("15 of 159 phases run") && text.contains("-O0"), "{text}");
        options.set_knob("808=12").unwrap();
        options.set_knob("DUMPIR=GvnCse").unwrap();
        let text = knobs(&options, None);
        let line = |name| text.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
        assert!(line("BackCopyPropBudget").contains(" 12 "), "{text}");
        assert!(line("DUMPIR").contains(" 49 "), "{text}");
    }

    #[test]
    fn lines_fold_to_the_width() {
        let text = phases(&Options::default(), Some(100));
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
}
