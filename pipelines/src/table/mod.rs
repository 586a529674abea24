//! The pipeline table: 159 phases, the levels at which they run, and what each of them does here.
//!
//! The table is the whole truth about the pipeline's contents: the `phases` command prints it,
//! `docs/PHASES.md` is generated from it, and the pipeline asks it before every phase. The order in which
//! systems run, with the reason of every edge, is the business of the list of steps.
//!
//! # Names
//! A name may stand for several rows: the tail of the pipeline exists twice (118 and 143 are both
//! `MercExpandInstructions`), and a family name (`OriPerformLiveDead`) stands for all its instances. So a
//! look-up by name gives a list. Some names mean a part of a phase ([`Part`]): leaving it out leaves the rest
//! of its phase in.

mod page;
mod rows;

pub use page::markdown;
pub use rows::{NOT_YET, PASSES, PHASES};

use std::fmt;

use crate::level::OptLevel;
use ptxopt_engine::run::phase::Phase;

/// How many phases the pipeline has.
pub const PHASE_COUNT: usize = 159;

/// The phase that looks at the code as it is written.
const FINAL_INSPECTION: usize = 94;

/// The number of a phase in the source pipeline, 0 to 158.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhaseNumber(pub u8);

impl fmt::Display for PhaseNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What kind of work a phase does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    /// Checks the code and changes nothing.
    Validation,
    /// Makes the code cheaper.
    Optimization,
    /// Replaces what the target does not have.
    Lowering,
    /// Computes facts.
    Analysis,
    /// A place where a target back end may add work of its own.
    Gate,
    /// Prints figures.
    Reporting,
    /// Puts the code in order.
    Cleanup,
    /// Orders machine instructions.
    Scheduling,
    /// Allocates machine registers.
    RegAlloc,
    /// Writes machine code.
    Encoding,
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{self:?}"))
    }
}

/// The optimization levels at which a phase may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LevelGate {
    /// At every level.
    Any,
    /// At levels above this one.
    Above(u8),
    /// At this level alone.
    Exactly(u8),
}

impl LevelGate {
    /// Whether the gate is open at this level.
    pub const fn admits(self, level: OptLevel) -> bool {
        match self {
            LevelGate::Any => true,
            LevelGate::Above(low) => level.number() > low,
            LevelGate::Exactly(only) => level.number() == only,
        }
    }
}

impl fmt::Display for LevelGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LevelGate::Any => f.pad(""),
            LevelGate::Above(low) => f.pad(&format!(">{low}")),
            LevelGate::Exactly(only) => f.pad(&format!("=={only}")),
        }
    }
}

/// What a phase does here.
#[derive(Clone, Copy)]
pub enum Does {
    /// Runs this one. Several rows may share one.
    Runs(&'static Phase),
    /// Nothing, for this reason.
    Nothing(&'static str),
}

/// One row of the pipeline table.
#[derive(Clone, Copy)]
pub struct PhaseRow {
    /// Its number in the source pipeline.
    pub number: PhaseNumber,
    /// Its name there.
    pub name: &'static str,
    /// What kind of work it does there.
    pub category: Category,
    /// The levels at which it may run.
    pub gate: LevelGate,
    /// What it does here.
    pub does: Does,
}

impl PhaseRow {
    /// What runs, if anything does.
    pub const fn phase(&self) -> Option<&'static Phase> {
        match self.does {
            Does::Runs(phase) => Some(phase),
            Does::Nothing(_) => None,
        }
    }

    /// Whether the row runs the phase of this name.
    pub fn is(&self, phase: &Phase) -> bool {
        self.phase().is_some_and(|own| own.name == phase.name)
    }

    /// Whether its system runs at this level. The lowest level changes layout only, whatever the gates say.
    pub fn runs_at(&self, level: OptLevel) -> bool {
        self.gate.admits(level) && self.phase().is_some_and(|phase| level > OptLevel::O0 || phase.layout_only)
    }
}

/// A part of a phase that has a name of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Forward copy propagation inside the GeneralOptimize bundles that work in SSA form.
    OriCopyProp,
    /// Loop canonical form inside OriLoopSimplification.
    LoopMakeSingleEntry,
}

impl Part {
    /// Every part.
    pub const ALL: [Part; 2] = [Part::OriCopyProp, Part::LoopMakeSingleEntry];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Part::OriCopyProp => "OriCopyProp",
            Part::LoopMakeSingleEntry => "LoopMakeSingleEntry",
        }
    }

    /// The phases that it is a part of.
    pub const fn phases(self) -> &'static [PhaseNumber] {
        match self {
            Part::OriCopyProp => {
                &[PhaseNumber(29), PhaseNumber(37), PhaseNumber(46), PhaseNumber(58), PhaseNumber(65)]
            }
            Part::LoopMakeSingleEntry => &[PhaseNumber(18)],
        }
    }
}

/// A name that stands for several instances of one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Family {
    /// The common name.
    pub name: &'static str,
    /// The instances.
    pub phases: &'static [PhaseNumber],
}

/// The families.
pub const FAMILIES: [Family; 1] = [Family {
    name: "OriPerformLiveDead",
    phases: &[PhaseNumber(16), PhaseNumber(33), PhaseNumber(61), PhaseNumber(84)],
}];

/// Those of the late phases that change code: what the final inspection has not seen is not written.
const CHANGING: [PhaseNumber; 2] = [PhaseNumber(97), PhaseNumber(138)];

/// The rows in the order in which they run: passes stand before the final inspection, and before them what changes code after it in
/// the sources.
pub fn in_order() -> impl Iterator<Item = &'static PhaseRow> {
    let (before, after) = PHASES.split_at(FINAL_INSPECTION);
    let early = after.iter().filter(|row| CHANGING.contains(&row.number));
    let late = after.iter().filter(|row| !CHANGING.contains(&row.number));
    before.iter().chain(early).chain(&PASSES).chain(late)
}

/// The row of a phase or pass; `None` where there is none.
pub fn row(number: PhaseNumber) -> Option<&'static PhaseRow> {
    PHASES.get(usize::from(number.0)).or_else(|| PASSES.iter().find(|row| row.number == number))
}

/// The rows of this name or family, whatever its case. Empty where there are none.
pub fn named(name: &str) -> Vec<&'static PhaseRow> {
    if let Some(family) = FAMILIES.iter().find(|family| family.name.eq_ignore_ascii_case(name)) {
        return family.phases.iter().filter_map(|&number| row(number)).collect();
    }
    in_order().filter(|row| row.name.eq_ignore_ascii_case(name)).collect()
}

/// Every name that addresses something: rows, families, parts. Rows that share a name give it more than once.
pub fn names() -> impl Iterator<Item = &'static str> {
    let families = FAMILIES.iter().map(|family| family.name);
    let parts = Part::ALL.into_iter().map(Part::name);
    in_order().map(|row| row.name).chain(families).chain(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn numbers(rows: &[&PhaseRow]) -> Vec<u8> {
        rows.iter().map(|row| row.number.0).collect()
    }

    #[test]
    fn index_is_the_number() {
        assert_eq!(PHASES.len(), PHASE_COUNT);
        for (index, row) in PHASES.iter().enumerate() {
            assert_eq!(usize::from(row.number.0), index, "{}", row.name);
        }
        assert_eq!(row(PhaseNumber(158)).map(|row| row.name), Some("NOP"));
        assert!(row(PhaseNumber(159)).is_none());
    }

    #[test]
    fn gates_are_the_sources() {
        let gated = |gate| {
            let rows = PHASES.iter().filter(|row| row.gate == gate);
            rows.map(|row| row.number.0).collect::<Vec<_>>()
        };
        assert_eq!(gated(LevelGate::Above(0)), [3, 14, 15, 30, 38, 110, 115]);
        let above_one = [22, 24, 26, 28, 49, 63, 64, 71, 95, 99, 100];
        assert_eq!(gated(LevelGate::Above(1)), above_one);
        // In the sources 72 alone. Hoisting, sinking, rematerialization and splits of ranges wait for -O3 for the reasons in their headers; 50, 56
        // and 82 until they are measured.
        assert_eq!(gated(LevelGate::Above(2)), [19, 35, 50, 54, 56, 66, 69, 72, 79, 82, 138]);
        assert_eq!(gated(LevelGate::Exactly(0)), [116, 139]);
    }

    #[test]
    fn categories_count_as_in_the_sources() {
        let count = |category| PHASES.iter().filter(|row| row.category == category).count();
        assert_eq!(count(Category::Validation), 3);
        assert_eq!(count(Category::Optimization), 56);
        assert_eq!(count(Category::Lowering), 22);
        assert_eq!(count(Category::Analysis), 9);
        assert_eq!(count(Category::Gate), 17);
        assert_eq!(count(Category::Reporting), 9);
        assert_eq!(count(Category::Cleanup), 15);
        assert_eq!(count(Category::Scheduling), 6);
        assert_eq!(count(Category::RegAlloc), 7);
        assert_eq!(count(Category::Encoding), 15);
    }

    #[test]
    fn rows_that_share_a_name_share_a_phase() {
        let phases = || PHASES.iter().filter_map(PhaseRow::phase);
        for (phase, other) in phases().flat_map(|phase| phases().map(move |other| (phase, other))) {
            let is_one = std::ptr::fn_addr_eq(phase.install, other.install);
            assert!(is_one || phase.name != other.name, "two phases are called {}", phase.name);
        }
    }

    #[test]
    fn required_phases_run_wherever_code_changes() {
        for row in PHASES.iter().filter(|row| row.phase().is_some_and(|phase| phase.required)) {
            assert!(row.runs_at(OptLevel::O1) && row.runs_at(OptLevel::O3), "{}", row.name);
        }
    }

    #[test]
    fn reasons_are_sentences_in_the_house_form() {
        for row in &PHASES {
            if let Does::Nothing(reason) = row.does {
                assert!(reason.len() > 20 && !reason.ends_with('.'), "{}: {reason}", row.name);
            }
        }
    }

    #[test]
    fn a_name_gives_all_its_rows() {
        assert_eq!(numbers(&named("mercexpandinstructions")), [118, 143]);
        assert_eq!(numbers(&named("ORIPERFORMLIVEDEAD")), [16, 33, 61, 84]);
        assert_eq!(numbers(&named("OriPerformLiveDeadSecond")), [33]);
        assert!(named("OriPerformLiveDeadFifth").is_empty());
    }

    #[test]
    fn families_and_parts_address_existing_rows() {
        for family in FAMILIES {
            for &number in family.phases {
                assert!(row(number).is_some_and(|row| row.name.starts_with(family.name)));
            }
        }
        for part in Part::ALL {
            assert!(part.phases().iter().all(|&number| row(number).is_some()));
            assert!(named(part.name()).is_empty(), "a part's name is no row's");
        }
    }

    #[test]
    fn lowest_level_changes_layout_only() {
        let running = |level| {
            let rows = PHASES.iter().filter(|row| row.runs_at(level));
            rows.map(|row| row.number.0).collect::<Vec<_>>()
        };
        assert_eq!(running(OptLevel::O0), [0, 6, 9, 76, 83, 94, 96, 102, 125, 126, 128, 132, 150, 151, 154]);
        let more = [
            0, 3, 6, 9, 10, 13, 15, 16, 18, 23, 27, 29, 30, 32, 33, 37, 38, 45, 46, 52, 53, 58, 61, 62, 65,
            70, 73, 75, 76, 81, 83, 84, 89, 92, 94, 96, 97, 102, 125, 126, 128, 132, 150, 151, 154,
        ];
        assert_eq!(running(OptLevel::O1), more);
        let above_one = more
            .iter()
            .copied()
            .chain([19, 22, 35, 49, 50, 54, 56, 63, 64, 66, 69, 79, 82, 95, 138])
            .collect::<BTreeSet<u8>>();
        assert!(running(OptLevel::O3).into_iter().eq(above_one), "these run above -O1 alone");
    }
}
