//! The opcode table: every root instruction of PTX ISA 1.0 to 9.5.
//!
//! [`Opcodes::find`] gives the row that a mnemonic means: the row with the most required parts among those whose
//! root is the mnemonic's, whose leading qualifiers lead the mnemonic, and whose starred runs of qualifiers
//! follow, each whole and in order.

mod row;
mod rows;

pub use row::{Effects, InFlight, Row, row};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The table, indexed by root.
pub struct Opcodes {
    roots: Vec<&'static str>,
    by_root: BTreeMap<&'static str, (u16, Vec<Candidate>)>,
}

/// A row with its pattern taken apart.
struct Candidate {
    /// Qualifiers that follow the root, in order.
    leading: Vec<&'static str>,
    /// Runs of qualifiers that follow: each whole, one after the other, anything between.
    runs: Vec<Vec<&'static str>>,
    row: &'static Row,
}

impl Candidate {
    fn parts(&self) -> usize {
        self.leading.len() + self.runs.iter().map(Vec::len).sum::<usize>()
    }

    fn matches(&self, qualifiers: &[&[u8]]) -> bool {
        let starts = |qualifiers: &[&[u8]], run: &[&str]| {
            qualifiers.len() >= run.len()
                && run.iter().zip(qualifiers).all(|(want, have)| want.as_bytes() == *have)
        };
        if !starts(qualifiers, &self.leading) {
            return false;
        }
        let mut rest = &qualifiers[self.leading.len()..];
        self.runs.iter().all(|run| match (0..rest.len()).find(|&at| starts(&rest[at..], run)) {
            Some(at) => {
                rest = &rest[at + run.len()..];
                true
            }
            None => false,
        })
    }
}

static OPCODES: LazyLock<Opcodes> = LazyLock::new(Opcodes::index);

impl Opcodes {
    /// The root number of instructions that are not in the table.
    pub const UNKNOWN_ROOT: u16 = 0xFFF;
    /// The root number of phis, which no text names: they exist between phases 23 and 73 only.
    pub const PHI_ROOT: u16 = 0xFFE;
    /// The root of conversions, whose registers may be wider than its types.
    pub const CONVERSION: &str = "cvt";

    /// The table.
    #[must_use]
    pub fn get() -> &'static Self {
        &OPCODES
    }

    /// Root names in alphabetical order; a root opcode is the position here.
    #[must_use]
    pub fn roots(&self) -> &[&'static str] {
        &self.roots
    }

    /// Every row of the table.
    pub fn rows() -> impl Iterator<Item = &'static Row> {
        rows::TABLE.iter().flat_map(|family| family.iter())
    }

    /// The root opcode and the row of a mnemonic, given as its root and its qualifiers.
    #[must_use]
    pub fn find(&self, root: &[u8], qualifiers: &[&[u8]]) -> Option<(u16, &'static Row)> {
        let (number, candidates) = self.by_root.get(std::str::from_utf8(root).ok()?)?;
        let best = candidates.iter().find(|candidate| candidate.matches(qualifiers))?;
        Some((*number, best.row))
    }

    /// The number of the root called `name`.
    #[must_use]
    pub fn root(&self, name: &str) -> Option<u16> {
        self.by_root.get(name).map(|&(number, _)| number)
    }

    fn index() -> Self {
        let mut by_root: BTreeMap<&'static str, (u16, Vec<Candidate>)> = BTreeMap::new();
        for row in Self::rows() {
            let mut starred = row.pattern.split('*');
            let mut leading: Vec<_> = starred.next().unwrap_or_default().split('.').collect();
            let root = leading.remove(0);
            let runs = starred.map(|run| run.trim_start_matches('.').split('.').collect()).collect();
            by_root.entry(root).or_default().1.push(Candidate { leading, runs, row });
        }
        for (number, (_, (slot, candidates))) in by_root.iter_mut().enumerate() {
            *slot = number as u16;
            // Most required parts first; the sort is stable, so equal rows keep the table's order.
            candidates.sort_by_key(|candidate| std::cmp::Reverse(candidate.parts()));
        }
        Self { roots: by_root.keys().copied().collect(), by_root }
    }
}

#[cfg(test)]
mod tests;
