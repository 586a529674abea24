//! From knobs to the settings that phases read.
//!
//! Each phase with settings has a struct of its own, whose defaults are the phase's own choice. The row of a knob names
//! the field that the knob sets; this file alone writes into them.

use super::{Acts, Knobs, Value};
use ptxopt_engine::run::phase::Settings;
use ptxopt_systems::flow::optimize_branches;

/// The settings of every phase that has some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseSettings {
    /// Phase 15.
    pub branches: optimize_branches::Settings,
}

/// A field of [`PhaseSettings`], with the kind of its knob.
#[derive(Clone, Copy)]
pub enum Field {
    /// How many: of a knob of kind [`Count`](super::Kind::Count).
    Count(fn(&mut PhaseSettings) -> &mut u32),
}

/// What phases read under these knobs.
#[must_use]
pub fn of(knobs: &Knobs) -> Settings {
    let PhaseSettings { branches } = fill(knobs);
    Settings::default().with(branches)
}

fn fill(knobs: &Knobs) -> PhaseSettings {
    let mut all = PhaseSettings::default();
    for (knob, value) in knobs.settings() {
        let Acts::Sets(field) = knob.row().acts else { continue };
        match (field, value) {
            (Field::Count(field), Value::Count(count)) => *field(&mut all) = *count,
            _ => unreachable!("`{}` and its field are of different kinds", knob.row().name),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::{KNOBS, Setting};
    use super::*;

    /// Also shows that no field is of another kind than its knob.
    #[test]
    fn the_defaults_in_the_table_are_those_of_the_phases() {
        let mut knobs = Knobs::default();
        for row in KNOBS.iter().filter(|row| matches!(row.acts, Acts::Sets(_))) {
            let value = row.default.value().expect("a limit has a default");
            knobs.set(Setting { knob: row.knob, value });
        }
        assert!(knobs.settings().count() > 1);
        assert_eq!(fill(&knobs), PhaseSettings::default());
    }

    #[test]
    fn each_knob_sets_its_own_field() {
        for row in KNOBS.iter().filter(|row| matches!(row.acts, Acts::Sets(_))) {
            let mut knobs = Knobs::default();
            knobs.set(Setting { knob: row.knob, value: Value::Count(7) });
            let mut all = fill(&knobs);
            assert_ne!(all, PhaseSettings::default(), "{}", row.name);
            let Acts::Sets(Field::Count(field)) = row.acts else { unreachable!("only such are looked at") };
            assert_eq!(*field(&mut all), 7, "{}", row.name);
        }
    }
}
