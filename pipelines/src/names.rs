//! Names that users type: phases, the parts of phases, knobs, code fingerprints.
//!
//! A name is found whatever its case. A wrong one is an error that says which right one is nearest.

use std::collections::BTreeSet;
use std::fmt;

use crate::table::{self, Part, PhaseNumber};

/// The shortest piece of a name that counts as a hint when it stands inside a longer one.
///
/// Four letters are the shortest that mean something in the tables (`Dead`, `Loop`); shorter pieces stand in
/// dozens of names.
const PIECE_LENGTH_MIN: usize = 4;

/// The least likeness of a name that counts as a hint: `gvn` is half of `GvnCse`, and `dce` a third of it.
const LIKENESS_MIN: f64 = 0.5;

/// A name that addresses nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameError {
    /// There is no such phase.
    UnknownPhase {
        /// What was typed.
        name: String,
        /// The nearest right name, where one is near.
        nearest: Option<&'static str>,
    },
    /// A number is past the end of the table.
    UnknownNumber {
        /// What was typed.
        number: u64,
    },
    /// A list of names has an empty entry.
    EmptyEntry,
    /// A code fingerprint is not a hexadecimal number of at most 16 digits.
    BadFingerprint {
        /// What was typed.
        text: String,
    },
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NameError::UnknownPhase { name, nearest } => {
                write!(f, "no phase is called `{name}`; {}", Hint { nearest: *nearest, listed_by: "phases" })
            }
            NameError::UnknownNumber { number } => {
                write!(f, "no phase has the number {number}; `ptxopt phases` lists them")
            }
            NameError::EmptyEntry => {
                f.write_str("an empty name in a list of phases; write them as `First+Second`")
            }
            NameError::BadFingerprint { text } => {
                write!(f, "`{text}` is no code fingerprint; expected 1 to 16 hexadecimal digits")
            }
        }
    }
}

impl std::error::Error for NameError {}

/// What an error says of a wrong name.
pub(crate) struct Hint {
    /// The nearest right one, where one is near.
    pub(crate) nearest: Option<&'static str>,
    /// The subcommand that lists the right ones.
    pub(crate) listed_by: &'static str,
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nearest {
            Some(name) => write!(f, "the nearest name is `{name}`"),
            None => write!(f, "`ptxopt {}` lists them", self.listed_by),
        }
    }
}

/// The candidate most like `word`, whatever the case of either; the first of several that are equally near. None where
/// the two have less than half of their letters in common, and neither is a part of the other.
///
/// A candidate that contains the word, or is contained in it, is nearer than any that does not: who types
/// `LiveDead` means `OriPerformLiveDead` and not `LateLoad`. Within each group the edit distance decides,
/// relative to the length of the longer name, with a swap of neighbours counted as one edit.
pub fn nearest(word: &str, candidates: impl IntoIterator<Item = &'static str>) -> Option<&'static str> {
    let word = word.to_ascii_lowercase();
    let mut best: Option<(f64, &'static str)> = None;
    for candidate in candidates {
        let score = likeness(&word, &candidate.to_ascii_lowercase());
        if best.is_none_or(|(highest, _)| score > highest) {
            best = Some((score, candidate));
        }
    }
    best.filter(|&(highest, _)| highest >= LIKENESS_MIN).map(|(_, candidate)| candidate)
}

fn likeness(word: &str, candidate: &str) -> f64 {
    let contained = word.len() >= PIECE_LENGTH_MIN
        && candidate.len() >= PIECE_LENGTH_MIN
        && (candidate.contains(word) || word.contains(candidate));
    f64::from(u8::from(contained)) + strsim::normalized_damerau_levenshtein(word, candidate)
}

/// Phases, and parts of phases, that a user has named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    phases: BTreeSet<PhaseNumber>,
    parts: BTreeSet<Part>,
}

impl Selection {
    /// Reads a list such as `OriPerformLiveDead+GvnCse`. An entry is a phase's name or number, a family or a
    /// part.
    pub fn parse(list: &str) -> Result<Selection, NameError> {
        let mut selection = Selection::default();
        for entry in list.split('+') {
            selection.add(entry.trim())?;
        }
        Ok(selection)
    }

    fn add(&mut self, entry: &str) -> Result<(), NameError> {
        if entry.is_empty() {
            return Err(NameError::EmptyEntry);
        }
        if let Ok(number) = entry.parse::<u64>() {
            let row = u8::try_from(number).ok().and_then(|number| table::row(PhaseNumber(number)));
            self.phases.insert(row.ok_or(NameError::UnknownNumber { number })?.number);
            return Ok(());
        }
        if let Some(part) = Part::ALL.into_iter().find(|part| part.name().eq_ignore_ascii_case(entry)) {
            self.parts.insert(part);
            return Ok(());
        }
        let rows = table::named(entry);
        if rows.is_empty() {
            let nearest = nearest(entry, table::names());
            return Err(NameError::UnknownPhase { name: entry.to_owned(), nearest });
        }
        self.phases.extend(rows.iter().map(|row| row.number));
        Ok(())
    }

    /// Adds what another selection names.
    pub fn extend(&mut self, other: Selection) {
        self.phases.extend(other.phases);
        self.parts.extend(other.parts);
    }

    /// Adds one phase.
    pub fn insert(&mut self, phase: PhaseNumber) {
        self.phases.insert(phase);
    }

    /// Whether nothing is named.
    pub fn is_empty(&self) -> bool {
        self.phases.is_empty() && self.parts.is_empty()
    }

    /// Whether the phase as a whole is named.
    pub fn contains(&self, phase: PhaseNumber) -> bool {
        self.phases.contains(&phase)
    }

    /// Whether the part is named.
    pub fn contains_part(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }

    /// The phases named as a whole, in the order of their numbers.
    pub fn phases(&self) -> impl Iterator<Item = PhaseNumber> + '_ {
        self.phases.iter().copied()
    }

    /// The parts named.
    pub fn parts(&self) -> impl Iterator<Item = Part> + '_ {
        self.parts.iter().copied()
    }
}

/// The selection in the form that [`Selection::parse`] reads, the same text for the same selection.
impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phases = self.phases.iter().map(PhaseNumber::to_string);
        let parts = self.parts.iter().map(|part| part.name().to_owned());
        f.write_str(&phases.chain(parts).collect::<Vec<_>>().join("+"))
    }
}

/// Reads a code fingerprint: hexadecimal, with or without `0x`.
pub fn parse_fingerprint(text: &str) -> Result<u64, NameError> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let error = || NameError::BadFingerprint { text: text.to_owned() };
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(error());
    }
    u64::from_str_radix(digits, 16).map_err(|_| error())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phases(list: &str) -> Vec<u8> {
        Selection::parse(list).unwrap().phases().map(|phase| phase.0).collect()
    }

    #[test]
    fn lists_ignore_case_and_take_names_numbers_and_families() {
        assert_eq!(phases("gvncse+ANALYZECONTROLFLOW"), [3, 49]);
        assert_eq!(phases("oriperformlivedead + 6"), [6, 16, 33, 61, 84]);
        assert_eq!(phases("NOP"), [158]);
        assert_eq!(phases("MercConverter+CalcRegisterMap"), [124, 141, 149]);
    }

    #[test]
    fn a_part_does_not_name_its_phase() {
        let selection = Selection::parse("OriCopyProp").unwrap();
        assert!(selection.contains_part(Part::OriCopyProp));
        assert!(!selection.contains(PhaseNumber(29)));
        assert!(!selection.is_empty());
    }

    #[test]
    fn selections_print_as_they_parse() {
        let selection = Selection::parse("OriCopyProp+84+GvnCse").unwrap();
        assert_eq!(selection.to_string(), "49+84+OriCopyProp");
        assert_eq!(Selection::parse(&selection.to_string()), Ok(selection));
    }

    #[test]
    fn unknown_phase_gives_the_nearest() {
        let nearest_of = |name: &str| match Selection::parse(name) {
            Err(NameError::UnknownPhase { nearest, .. }) => nearest,
            other => panic!("{other:?}"),
        };
        assert_eq!(nearest_of("GvnCes"), Some("GvnCse"));
        assert_eq!(nearest_of("gvn"), Some("GvnCse"));
        assert_eq!(nearest_of("LiveDead"), Some("OriPerformLiveDead"));
        assert_eq!(nearest_of("oricopyprob"), Some("OriCopyProp"));
        assert_eq!(nearest_of("AnalyseControlFlow"), Some("AnalyzeControlFlow"));
        assert_eq!(nearest_of("dce"), None);
    }

    #[test]
    fn numbers_end_with_the_table() {
        for number in [159, 256, 1 << 40] {
            assert_eq!(Selection::parse(&number.to_string()), Err(NameError::UnknownNumber { number }));
        }
    }

    #[test]
    fn empty_entries_are_errors() {
        assert_eq!(Selection::parse(""), Err(NameError::EmptyEntry));
        assert_eq!(Selection::parse("GvnCse+"), Err(NameError::EmptyEntry));
    }

    #[test]
    fn fingerprints_are_hexadecimal() {
        assert_eq!(parse_fingerprint("0xFFffFFffFFffFFff"), Ok(u64::MAX));
        assert_eq!(parse_fingerprint("1a"), Ok(26));
        for wrong in ["", "0x", "+1", "g", "10000000000000000"] {
            let error = NameError::BadFingerprint { text: wrong.to_owned() };
            assert_eq!(parse_fingerprint(wrong), Err(error));
        }
    }
}
