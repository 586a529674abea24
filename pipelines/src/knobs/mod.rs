//! Knobs: named, typed settings of single phases.
//!
//! `--knob NAME=VALUE` sets a knob by name, `--knob NUMBER=VALUE` by number, and a bare `--knob NAME` sets a
//! yes-or-no knob to yes. Names ignore case. A number may belong to several knobs (487 is asked at three
//! gates): it sets them all. A wrong name, a wrong number and a value of the wrong kind are errors that say
//! what would be right.
//!
//! Every knob of the sources is accepted. One whose phase has no system in this release says so in its row,
//! and the command passes that on: a setting is never ignored in silence.

mod rows;
pub mod settings;

pub use rows::KNOBS;

use std::collections::BTreeMap;
use std::fmt;

use crate::names::{self, Hint, NameError};
use ptxopt_engine::run::phase::Phase;
use settings::Field;

/// A knob; its place in [`KNOBS`].
#[allow(missing_docs, reason = "each row of the table documents its knob")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Knob {
    Knob210,
    Knob235,
    EnableGvnCsePerInstr,
    NamedPhases,
    EnableGvnCseMode,
    Knob456,
    Knob464,
    Knob474,
    ForceLateCommoning,
    LoopMakeSingleEntry,
    OriCopyProp,
    BackCopyPropBudget,
    Knob843,
    Knob844,
    EnableGvnCse,
    AllowReassociateCse,
    ReassociateCseBudget,
    ReassociateCseWindow,
    ReassociateCseSkip,
    ReassociateLargeImmInUIADD64,
    DistributeAndReassociateMulBudget,
    DisableMoveCommoning,
    CopyPropBudget,
    CopyPropGlobalBudget,
    CopyPropForceGlobal,
    CopyPropAddr,
    CopyPropConstantBank,
    CopyPropUseReachingDefs,
    CopyPropPreAllocReg,
    CopyPropNoWriteNonRR,
    CopyPropNonRegMultiDef,
    CopyPropNoMmaCb,
    LateCopyPropComplPred,
    SpeculativeHoistCommonInsts,
    FatPointSoftConstraintSkip,
    DumpIr,
    DumpCfg,
    DumpRpo,
    DisablePhases,
    Sh,
    OptionFlag20,
    OptionFlag24,
    DontMergeBasicBlocks,
    NamedPhasesFlag,
    OptLevelFlag,
    StructurizeCfg,
    SkipUniformRegions,
    RelaxedUniformRegions,
    EnableShrinkWrap,
    EhFuncletContinue,
    FixIrreducible,
    BranchRounds,
    BranchHops,
    RegisterBudget,
    SinkRematEnable,
}

impl Knob {
    /// The knob's row.
    pub const fn row(self) -> &'static KnobRow {
        &KNOBS[self as usize]
    }
}

/// What values a knob takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Yes or no.
    Bool,
    /// A whole number.
    Int,
    /// How many: a whole number from 0 on.
    Count,
    /// A number.
    Float,
    /// One of a few variants, from 0 to this one.
    Mode(u8),
    /// Text.
    Text,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Kind::Bool => "bool",
            Kind::Int => "int",
            Kind::Count => "count",
            Kind::Float => "float",
            Kind::Mode(_) => "mode",
            Kind::Text => "string",
        })
    }
}

impl Kind {
    /// The values of this kind, in words, for an error.
    fn values(self) -> String {
        match self {
            Kind::Bool => "`true` or `false`".to_owned(),
            Kind::Int => "a whole number".to_owned(),
            Kind::Count => format!("0 to {}", u32::MAX),
            Kind::Float => "a number".to_owned(),
            Kind::Mode(highest) => format!("0 to {highest}"),
            Kind::Text => "text that is not empty".to_owned(),
        }
    }

    /// Reads a value of this kind.
    fn parse(self, text: &str) -> Option<Value> {
        match self {
            Kind::Bool => parse_bool(text).map(Value::Bool),
            Kind::Int => parse_int(text).map(Value::Int),
            Kind::Count => {
                let number = parse_int(text).and_then(|number| u32::try_from(number).ok());
                number.map(Value::Count)
            }
            Kind::Float => text.parse().ok().filter(|number: &f64| number.is_finite()).map(Value::Float),
            Kind::Mode(highest) => text.parse().ok().filter(|&mode| mode <= highest).map(Value::Mode),
            Kind::Text => (!text.is_empty()).then(|| Value::Text(text.to_owned())),
        }
    }
}

fn parse_bool(text: &str) -> Option<bool> {
    const YES: [&str; 4] = ["true", "1", "on", "yes"];
    const NO: [&str; 4] = ["false", "0", "off", "no"];
    let is_in = |words: [&str; 4]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    if is_in(YES) {
        Some(true)
    } else if is_in(NO) {
        Some(false)
    } else {
        None
    }
}

fn parse_int(text: &str) -> Option<i64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) if !digits.starts_with(['+', '-']) => i64::from_str_radix(digits, 16).ok(),
        Some(_) => None,
        None => text.parse().ok(),
    }
}

/// The value that a knob has when it is not set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Preset {
    /// None: the phase's own choice, which the sources do not give.
    Unset,
    /// Yes or no.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// How many.
    Count(u32),
    /// A number.
    Float(f64),
    /// A variant.
    Mode(u8),
}

impl Preset {
    /// The default as a value.
    pub fn value(self) -> Option<Value> {
        match self {
            Preset::Unset => None,
            Preset::Bool(value) => Some(Value::Bool(value)),
            Preset::Int(value) => Some(Value::Int(value)),
            Preset::Count(value) => Some(Value::Count(value)),
            Preset::Float(value) => Some(Value::Float(value)),
            Preset::Mode(value) => Some(Value::Mode(value)),
        }
    }
}

/// Which phases ask a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// The pipeline as a whole.
    All,
    /// These, by number.
    Phases(&'static [u8]),
    /// The structurizer, which stands outside the pipeline.
    Structurize,
    /// The sources do not say.
    Unsaid,
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reach::All => f.pad("all"),
            Reach::Phases(numbers) => f.pad(&numbers.iter().map(u8::to_string).collect::<Vec<_>>().join(",")),
            Reach::Structurize => f.pad("structurize"),
            Reach::Unsaid => f.pad(""),
        }
    }
}

/// What a knob changes in this release.
#[derive(Clone, Copy)]
pub enum Acts {
    /// An option of the whole run.
    OnTheRun,
    /// The phase runs only where the knob is on.
    Opens(&'static Phase),
    /// The phase does not run where the knob is on.
    Vetoes(&'static Phase),
    /// A field of a phase's settings.
    Sets(Field),
    /// It is accepted and changes nothing, for this reason.
    No(&'static str),
}

/// One row of the knob table.
#[derive(Clone, Copy)]
pub struct KnobRow {
    /// The knob.
    pub knob: Knob,
    /// Its name.
    pub name: &'static str,
    /// Its number, if it has one. Several knobs may share one.
    pub number: Option<u16>,
    /// Which phases ask it.
    pub reach: Reach,
    /// What values it takes.
    pub kind: Kind,
    /// Its value when it is not set.
    pub default: Preset,
    /// What it changes in this release.
    pub acts: Acts,
    /// What it does.
    pub effect: &'static str,
}

/// The value of a knob.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Yes or no.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// How many.
    Count(u32),
    /// A number; finite.
    Float(f64),
    /// A variant.
    Mode(u8),
    /// Text; not empty.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(value) => value.fmt(f),
            Value::Int(value) => value.fmt(f),
            Value::Count(value) => value.fmt(f),
            Value::Float(value) => value.fmt(f),
            Value::Mode(value) => value.fmt(f),
            Value::Text(value) => value.fmt(f),
        }
    }
}

/// A setting that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnobError {
    /// There is no knob of this name.
    UnknownName {
        /// What was typed.
        name: String,
        /// The nearest right name, where one is near.
        nearest: Option<&'static str>,
    },
    /// There is no knob of this number.
    UnknownNumber {
        /// What was typed.
        number: String,
        /// The nearest number that a knob has.
        nearest: u16,
    },
    /// The value is not of the knob's kind.
    WrongKind {
        /// The knob.
        knob: Knob,
        /// What was typed.
        value: String,
    },
    /// The text is none of those that the knob takes.
    NotOneOf {
        /// The knob.
        knob: Knob,
        /// What was typed.
        value: String,
        /// What it takes.
        expected: &'static [&'static str],
    },
    /// A bare name, of a knob that is not a yes-or-no one.
    MissingValue {
        /// The knob.
        knob: Knob,
    },
    /// The value names something that does not exist.
    BadName {
        /// The knob.
        knob: Knob,
        /// What is wrong with the name.
        error: NameError,
    },
}

impl fmt::Display for KnobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KnobError::UnknownName { name, nearest } => {
                write!(f, "no knob is called `{name}`; {}", Hint { nearest: *nearest, listed_by: "knobs" })
            }
            KnobError::UnknownNumber { number, nearest } => {
                write!(f, "no knob has the number {number}; the nearest is {nearest}")
            }
            KnobError::WrongKind { knob, value } => {
                let KnobRow { name, kind, .. } = knob.row();
                write!(
                    f,
                    "`{value}` is no value for `{name}`, a knob of kind {kind}; expected {}",
                    kind.values()
                )
            }
            KnobError::NotOneOf { knob, value, expected } => {
                let expected = expected.iter().map(|text| format!("`{text}`")).collect::<Vec<_>>();
                write!(
                    f,
                    "`{value}` is no value for `{}`; expected {}",
                    knob.row().name,
                    expected.join(" or ")
                )
            }
            KnobError::MissingValue { knob } => {
                let KnobRow { name, kind, .. } = knob.row();
                write!(
                    f,
                    "`{name}` is a knob of kind {kind} and needs a value: `{name}=VALUE`, {}",
                    kind.values()
                )
            }
            KnobError::BadName { knob, error } => write!(f, "in `{}`: {error}", knob.row().name),
        }
    }
}

impl std::error::Error for KnobError {}

/// One knob and the value that it is to have.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The knob.
    pub knob: Knob,
    /// The value, of the knob's kind.
    pub value: Value,
}

impl Setting {
    /// Reads `NAME=VALUE`, `NUMBER=VALUE` or a bare `NAME`. A number that several knobs share gives them all.
    pub fn parse(text: &str) -> Result<Vec<Setting>, KnobError> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (text.trim(), None),
        };
        find(name)?.into_iter().map(|row| Setting::of(row, value)).collect()
    }

    fn of(row: &KnobRow, text: Option<&str>) -> Result<Setting, KnobError> {
        let knob = row.knob;
        let value = match text {
            Some(text) => {
                let wrong_kind = || KnobError::WrongKind { knob, value: text.to_owned() };
                row.kind.parse(text).ok_or_else(wrong_kind)?
            }
            None if row.kind == Kind::Bool => Value::Bool(true),
            None => return Err(KnobError::MissingValue { knob }),
        };
        Ok(Setting { knob, value })
    }
}

/// The rows of a name or number.
fn find(name: &str) -> Result<Vec<&'static KnobRow>, KnobError> {
    if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()) {
        return find_number(name);
    }
    match KNOBS.iter().find(|row| row.name.eq_ignore_ascii_case(name)) {
        Some(row) => Ok(vec![row]),
        None => {
            let nearest = names::nearest(name, KNOBS.iter().map(|row| row.name));
            Err(KnobError::UnknownName { name: name.to_owned(), nearest })
        }
    }
}

fn find_number(digits: &str) -> Result<Vec<&'static KnobRow>, KnobError> {
    // A number too long to read is past every knob's: the largest one stands for it.
    let number = digits.parse().unwrap_or(u16::MAX);
    let rows: Vec<_> = KNOBS.iter().filter(|row| row.number == Some(number)).collect();
    if rows.is_empty() {
        let numbers = KNOBS.iter().filter_map(|row| row.number);
        let nearest = numbers.min_by_key(|other| other.abs_diff(number)).expect("some knobs have numbers");
        return Err(KnobError::UnknownNumber { number: digits.to_owned(), nearest });
    }
    Ok(rows)
}

/// The knobs that have been set, and the defaults of the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Knobs {
    values: BTreeMap<Knob, Value>,
}

impl Knobs {
    /// Gives a knob its value. The last setting of a knob stands.
    pub fn set(&mut self, setting: Setting) {
        self.values.insert(setting.knob, setting.value);
    }

    /// Whether the knob was set.
    pub fn is_set(&self, knob: Knob) -> bool {
        self.values.contains_key(&knob)
    }

    /// The knob's value: what it was set to, or its default; `None` where it has none.
    pub fn value(&self, knob: Knob) -> Option<Value> {
        self.values.get(&knob).cloned().or_else(|| knob.row().default.value())
    }

    /// Whether the knob is on. One that is unset is off.
    pub fn is_on(&self, knob: Knob) -> bool {
        debug_assert_eq!(knob.row().kind, Kind::Bool, "{}", knob.row().name);
        self.value(knob) == Some(Value::Bool(true))
    }

    /// The knobs that were set, in the order of the table.
    pub fn settings(&self) -> impl Iterator<Item = (Knob, &Value)> {
        self.values.iter().map(|(&knob, value)| (knob, value))
    }
}

#[cfg(test)]
mod tests;
