//! Remarks: what phases changed, what they might have changed and did not, and what they found out.
//!
//! A [`Remark`] is one JSON object, one line of a remarks file. Printed, it is one line of text.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// What a remark tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RemarkKind {
    /// A change was made.
    Passed,
    /// A change was possible and not made.
    Missed,
    /// Something was found out.
    Analysis,
}

impl fmt::Display for RemarkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RemarkKind::Passed => "passed",
            RemarkKind::Missed => "missed",
            RemarkKind::Analysis => "analysis",
        })
    }
}

/// The phase that makes a remark.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RemarkPhase {
    /// Its number.
    pub number: u16,
    /// Its name; borrowed from the table of phases.
    pub name: Cow<'static, str>,
}

/// The place that a remark is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RemarkPlace {
    /// Line of the module as it came in, from 1 on.
    pub line: u64,
    /// Column there, in bytes from 1 on.
    pub column: u64,
}

/// One remark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    /// The input file. What reads the file fills this in.
    pub module: String,
    /// The function; none where the remark is about the module.
    pub function: Option<String>,
    /// The phase; none where the remark comes from none.
    pub phase: Option<RemarkPhase>,
    /// What the remark tells.
    pub kind: RemarkKind,
    /// The instruction, or the label of the block, that the remark is about. A change of a whole function is at its body.
    pub place: Option<RemarkPlace>,
    /// What was done or found out, or why a change was not made.
    pub reason: String,
}

impl Remark {
    /// A remark of no phase, about a function or the whole module.
    pub(crate) fn of_no_phase(function: Option<String>, reason: String) -> Remark {
        let module = String::new();
        Remark { module, function, phase: None, kind: RemarkKind::Analysis, place: None, reason }
    }
}

/// As a line of text, without the module: place, function, phase, what is told.
impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.place {
            write!(f, "line {}: ", place.line)?;
        }
        if let Some(function) = &self.function {
            write!(f, "{function}: ")?;
        }
        if let Some(phase) = &self.phase {
            write!(f, "{}: {}: ", phase.name, self.kind)?;
        }
        f.write_str(&self.reason)
    }
}

/// The remarks of the module in the file `module`, one JSON object a line.
pub(crate) fn lines_of(module: &str, remarks: Vec<Remark>) -> Vec<u8> {
    let mut lines = Vec::new();
    for remark in remarks {
        let remark = Remark { module: module.to_owned(), ..remark };
        serde_json::to_writer(&mut lines, &remark).expect("a remark is text and numbers");
        lines.push(b'\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remark() -> Remark {
        Remark {
            module: "a.ptx".to_owned(),
            function: Some("k".to_owned()),
            phase: Some(RemarkPhase { number: 15, name: "OriBranchOpt".into() }),
            kind: RemarkKind::Missed,
            place: Some(RemarkPlace { line: 7, column: 2 }),
            reason: "the loop has several entries".to_owned(),
        }
    }

    #[test]
    fn a_remark_is_a_line_of_text_and_a_line_of_json() {
        assert_eq!(remark().to_string(), "line 7: k: OriBranchOpt: missed: the loop has several entries");
        let of_module = Remark::of_no_phase(None, "debug module".to_owned());
        assert_eq!(of_module.to_string(), "debug module");
        let json: serde_json::Value = serde_json::from_slice(&lines_of("b.ptx", vec![remark()])).unwrap();
        let expected = serde_json::json!({
            "module": "b.ptx", "function": "k", "phase": {"number": 15, "name": "OriBranchOpt"},
            "kind": "missed", "place": {"line": 7, "column": 2}, "reason": "the loop has several entries",
        });
        assert_eq!(json, expected);
    }

    #[test]
    fn remarks_read_back() {
        for remark in [remark(), Remark::of_no_phase(Some("k".to_owned()), "a \"quote\"\n".to_owned())] {
            let lines = lines_of(&remark.module, vec![remark.clone()]);
            assert_eq!(lines.iter().filter(|&&byte| byte == b'\n').count(), 1);
            assert_eq!(serde_json::from_slice::<Remark>(&lines).unwrap(), remark);
        }
    }
}
