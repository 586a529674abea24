//! From knobs to the settings that phases read.
//!
//! Each phase with settings has a struct of its own, whose defaults are the phase's own choice. The row of a knob names
//! the field that the knob sets; this file alone writes into them.

use super::{Acts, Knobs, Value};
use crate::options::Options;
use ptxopt_engine::run::phase::Settings;
use ptxopt_systems::flow::optimize_branches;
use ptxopt_systems::registers;
use ptxopt_systems::ssa::promote_locals;
use ptxopt_systems::structurize;
use ptxopt_systems::values::general_optimize::{self, Propagation};
use ptxopt_systems::values::gvn_cse::{self, late};
use ptxopt_systems::values::{propagate_back_copies, reassociate};

/// The settings of every phase that has some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseSettings {
    /// Phase 15.
    pub branches: optimize_branches::Settings,
    /// Copy propagation in phases 29, 37, 46, 58 and 65.
    pub copies: Propagation,
    /// Phase 49.
    pub gvn_cse: gvn_cse::Settings,
    /// Phase 50.
    pub reassociation: reassociate::Settings,
    /// Phase 64.
    pub late_commoning: late::Settings,
    /// Phase 82.
    pub back_copies: propagate_back_copies::Settings,
    /// Phases 69 and 138.
    pub registers: registers::Settings,
    /// The structurizer.
    pub structurize: structurize::Settings,
}

/// A field of [`PhaseSettings`], with the kind of its knob.
#[derive(Clone, Copy)]
pub enum Field {
    /// How many: of a knob of kind [`Count`](super::Kind::Count).
    Count(fn(&mut PhaseSettings) -> &mut u32),
    /// The most of something: of a knob of kind [`Int`](super::Kind::Int), of which a negative value is no limit.
    Limit(fn(&mut PhaseSettings) -> &mut u32),
    /// Yes or no.
    Bool(fn(&mut PhaseSettings) -> &mut bool),
    /// A variant, by its number.
    Mode(fn(&mut PhaseSettings, u8)),
}

/// What phases read under these options.
#[must_use]
pub fn of(options: &Options) -> Settings {
    let PhaseSettings {
        branches,
        copies,
        gvn_cse,
        reassociation,
        late_commoning,
        back_copies,
        registers,
        structurize,
    } = fill(&options.knobs);
    let bundles = bundles(options, copies);
    let gvn_cse = gvn_cse::Settings { is_faithful: options.faithful, ..gvn_cse };
    let settings = Settings::default().with(branches).with(bundles).with(gvn_cse);
    settings.with(reassociation).with(late_commoning).with(back_copies).with(registers).with(structurize)
}

/// What differs where a function runs again that came out too large: copies are read in their own blocks only, and local memory becomes
/// registers where the function does not grow. A copy that other blocks read, phis above all, may be where two values of a register
/// part that live at the same time; without it there may be copies on every way there.
#[must_use]
pub fn careful(options: &Options) -> Settings {
    let copies = fill(&options.knobs).copies;
    let copies = Propagation { across_blocks_max: 0, is_forced_across_blocks: false, ..copies };
    let slots = promote_locals::Settings { extra_percent: 0 };
    Settings::default().with(bundles(options, copies)).with(slots)
}

fn bundles(options: &Options, propagation: Propagation) -> general_optimize::Settings {
    general_optimize::Settings { propagation, ..options.bundles() }
}

fn fill(knobs: &Knobs) -> PhaseSettings {
    let mut all = PhaseSettings::default();
    for (knob, value) in knobs.settings() {
        let Acts::Sets(field) = knob.row().acts else { continue };
        match (field, value) {
            (Field::Count(field), Value::Count(count)) => *field(&mut all) = *count,
            (Field::Limit(field), Value::Int(limit)) => {
                *field(&mut all) = u32::try_from(*limit).unwrap_or(u32::MAX);
            }
            (Field::Bool(field), Value::Bool(value)) => *field(&mut all) = *value,
            (Field::Mode(set), Value::Mode(mode)) => set(&mut all, *mode),
            _ => unreachable!("`{}` and its field are of different kinds", knob.row().name),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::{KNOBS, KnobRow, Setting};
    use super::*;

    fn rows() -> impl Iterator<Item = &'static KnobRow> {
        KNOBS.iter().filter(|row| matches!(row.acts, Acts::Sets(_)))
    }

    fn filled(row: &KnobRow, value: Value) -> PhaseSettings {
        let mut knobs = Knobs::default();
        knobs.set(Setting { knob: row.knob, value });
        fill(&knobs)
    }

    /// Also shows that no field is of another kind than its knob.
    #[test]
    fn the_defaults_in_the_table_are_those_of_the_phases() {
        let with_defaults = rows().filter_map(|row| Some((row, row.default.value()?)));
        let all: Vec<_> = with_defaults.map(|(row, value)| filled(row, value)).collect();
        assert!(all.len() > 1);
        assert!(all.iter().all(|settings| *settings == PhaseSettings::default()));
    }

    #[test]
    fn each_knob_sets_a_field_of_its_own() {
        let mut seen = vec![PhaseSettings::default()];
        for row in rows() {
            let Acts::Sets(field) = row.acts else { unreachable!("only such are looked at") };
            let values = match field {
                Field::Count(_) => vec![Value::Count(7)],
                Field::Limit(_) => vec![Value::Int(7)],
                Field::Bool(_) => vec![Value::Bool(true), Value::Bool(false)],
                Field::Mode(_) => vec![Value::Mode(1)],
            };
            let all = values.into_iter().map(|value| filled(row, value));
            let others: Vec<_> = all.filter(|all| *all != PhaseSettings::default()).collect();
            assert_eq!(others.len(), 1, "{}", row.name);
            assert!(!seen.contains(&others[0]), "{}", row.name);
            seen.extend(others);
        }
    }

    #[test]
    fn a_negative_limit_is_none() {
        let row = super::super::Knob::CopyPropBudget.row();
        assert_eq!(filled(row, Value::Int(-1)), PhaseSettings::default());
    }
}
