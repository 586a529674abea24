//! Reports: what happened to each module, and what happened to all of them together.
//!
//! A [`ModuleReport`] is one JSON object, one line of a batch's report file. A [`Summary`] adds them up and
//! prints as the table at the end of a run.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde::{Deserialize, Serialize};

use crate::registers::KernelRegisters;
use crate::table::PhaseNumber;

/// How many failures a summary lists by name. A screen holds about this many beside the table; the report
/// file has them all, and the summary counts those that it leaves out.
pub const FAILURES_LISTED_MAX: usize = 20;

/// What became of a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Every function went through all phases.
    #[default]
    Ok,
    /// Some function was left as it was, or a phase undone for it.
    Partly,
    /// The module could not be read, or its output not be written.
    Error,
}

/// A function that was left as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionLeft {
    /// Its name.
    pub name: String,
    /// Why: the same words for the same cause, since a summary counts by them.
    pub reason: String,
}

/// A phase that was undone for a function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseUndone {
    /// The function.
    pub function: String,
    /// The name of the phase.
    pub phase: String,
    /// Why.
    pub reason: String,
}

/// A word that stands where an instruction does and is none that this release knows. It is kept as it stands, nothing
/// moves across it, and every register that it names counts as read and written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownWord {
    /// The word, with what is joined to it by dots.
    pub word: String,
    /// The function in which it stands.
    pub function: String,
    /// Line of its first use there, from 1 on.
    pub line: u64,
    /// Column of its first use, in bytes from 1 on.
    pub column: u64,
}

impl UnknownWord {
    /// As one line, for the module in `file`.
    pub(crate) fn warning(&self, file: &str) -> String {
        let UnknownWord { word, function, line, column } = self;
        format!(
            "{file}:{line}:{column}: `{word}` in `{function}` is no instruction that is known: it stays as it stands"
        )
    }
}

/// What one phase did to a module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseTime {
    /// The number of the phase.
    pub number: u8,
    /// Its name; borrowed from the table of phases, as a batch has dozens of phases a module.
    pub name: Cow<'static, str>,
    /// Wall time on the threads that ran it, in nanoseconds: it counts what else ran there, and costs less to ask for.
    pub ns: u64,
    /// Changes made.
    pub changes: u64,
}

/// What became of one module, and what it took. Times are CPU time in nanoseconds; those of single phases are wall
/// time ([`PhaseTime`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleReport {
    /// The input file. What reads the file fills this in.
    pub input: String,
    /// What became of it.
    pub status: Status,
    /// Why it failed, in one line, where it did.
    pub error: Option<String>,
    /// Functions with a body.
    pub functions: u64,
    /// Functions left as they were.
    pub functions_left: u64,
    /// Functions with the code fingerprint that was asked for; all, where none was.
    #[serde(skip)]
    pub functions_selected: u64,
    /// Instructions read.
    pub instructions_in: u64,
    /// Instructions written.
    pub instructions_out: u64,
    /// Blocks read.
    pub blocks_in: u64,
    /// Blocks written.
    pub blocks_out: u64,
    /// Bytes read.
    pub bytes_in: u64,
    /// Time spent reading.
    pub read_ns: u64,
    /// Time spent in phases.
    pub phases_ns: u64,
    /// Time spent writing.
    pub write_ns: u64,
    /// The functions left as they were.
    pub left: Vec<FunctionLeft>,
    /// The phases that were undone for a function.
    #[serde(default)]
    pub undone: Vec<PhaseUndone>,
    /// Words that are no instruction, each once a function.
    #[serde(default)]
    pub unknown_words: Vec<UnknownWord>,
    /// What the assembler will report of the kernels as they were written; where a report file was asked for.
    #[serde(default)]
    pub kernels: Vec<KernelRegisters>,
    /// The phases that ran, in the order of the pipeline.
    pub phases: Vec<PhaseTime>,
}

impl ModuleReport {
    /// The report of a module that failed.
    pub fn failed(input: String, bytes_in: u64, error: String) -> ModuleReport {
        ModuleReport { input, status: Status::Error, error: Some(error), bytes_in, ..ModuleReport::default() }
    }
}

/// Many modules added up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    modules: u64,
    partly: u64,
    failed: u64,
    not_started: u64,
    functions: u64,
    functions_left: u64,
    functions_selected: u64,
    instructions_in: u64,
    instructions_out: u64,
    blocks_in: u64,
    blocks_out: u64,
    bytes_in: u64,
    read_ns: u64,
    phases_ns: u64,
    write_ns: u64,
    /// How many functions were left for each reason.
    left: BTreeMap<String, u64>,
    /// How many functions each phase was undone for.
    undone: BTreeMap<String, u64>,
    /// The first failures, with their reasons.
    failures: Vec<(String, String)>,
    /// Time and changes of each phase.
    phases: BTreeMap<PhaseNumber, (Cow<'static, str>, u64, u64)>,
}

impl Summary {
    /// Adds a module.
    pub fn add(&mut self, report: &ModuleReport) {
        self.modules += 1;
        match report.status {
            Status::Ok => {}
            Status::Partly => self.partly += 1,
            Status::Error => self.add_failure(report),
        }
        self.functions += report.functions;
        self.functions_left += report.functions_left;
        self.functions_selected += report.functions_selected;
        self.instructions_in += report.instructions_in;
        self.instructions_out += report.instructions_out;
        self.blocks_in += report.blocks_in;
        self.blocks_out += report.blocks_out;
        self.bytes_in += report.bytes_in;
        self.read_ns += report.read_ns;
        self.phases_ns += report.phases_ns;
        self.write_ns += report.write_ns;
        for function in &report.left {
            *self.left.entry(function.reason.clone()).or_default() += 1;
        }
        for undone in &report.undone {
            *self.undone.entry(undone.phase.clone()).or_default() += 1;
        }
        for phase in &report.phases {
            let entry = self.phases.entry(PhaseNumber(phase.number));
            let (_, ns, changes) = entry.or_insert_with(|| (phase.name.clone(), 0, 0));
            *ns += phase.ns;
            *changes += phase.changes;
        }
    }

    fn add_failure(&mut self, report: &ModuleReport) {
        self.failed += 1;
        if self.failures.len() < FAILURES_LISTED_MAX {
            let reason = report.error.clone().unwrap_or_default();
            self.failures.push((report.input.clone(), reason));
        }
    }

    /// Counts modules that were never started, because the run was interrupted.
    pub fn add_not_started(&mut self, modules: u64) {
        self.not_started += modules;
    }

    /// Modules that failed.
    pub fn failed(&self) -> u64 {
        self.failed
    }

    /// Functions that were worked on, as far as a code fingerprint was asked for.
    pub fn functions_selected(&self) -> u64 {
        self.functions_selected
    }

    /// Modules seen.
    pub fn modules(&self) -> u64 {
        self.modules
    }

    /// The table at the end of a run, with what follows it: functions left and failures, with their reasons.
    pub fn render(&self, wall: Duration) -> String {
        let mut text = trimmed(&self.table(wall));
        if !self.undone.is_empty() {
            text.push_str("\nphases undone, in functions\n");
            for (phase, count) in by_count(&self.undone) {
                text.push_str(&format!("  {count} {phase}\n"));
            }
        }
        if !self.left.is_empty() {
            text.push_str("\nfunctions left as they were\n");
            for (reason, count) in by_count(&self.left) {
                text.push_str(&format!("  {count:>8}  {reason}\n"));
            }
        }
        if !self.failures.is_empty() {
            text.push_str("\nfailures\n");
            for (input, reason) in &self.failures {
                // The one-line form of a diagnostic starts with the file; do not say it twice.
                let input = if reason.starts_with(input) { "" } else { &format!("{input}: ") };
                text.push_str(&format!("  {input}{reason}\n"));
            }
            let more = self.failed - self.failures.len() as u64;
            if more > 0 {
                text.push_str(&format!("  and {more} more\n"));
            }
        }
        text
    }

    fn table(&self, wall: Duration) -> Table {
        let mut table = plain_table(&["", "", ""]);
        let mut line = |name: &str, value: String, note: String| {
            table.add_row([name.to_owned(), value, note]);
        };
        line("modules", grouped(self.modules), self.module_note());
        line("functions", grouped(self.functions), counted(self.functions_left, "left as they were"));
        line("instructions before", grouped(self.instructions_in), String::new());
        let change = percent_change(self.instructions_in, self.instructions_out);
        line("instructions after", grouped(self.instructions_out), change);
        line("blocks before", grouped(self.blocks_in), String::new());
        let change = percent_change(self.blocks_in, self.blocks_out);
        line("blocks after", grouped(self.blocks_out), change);
        line("bytes read", grouped(self.bytes_in), String::new());
        for (name, ns) in self.stages() {
            let each = each(ns, self.instructions_in);
            let note = if each.is_empty() { each } else { format!("{each} an instruction") };
            line(name, seconds(ns), note);
        }
        line("time", seconds(nanoseconds(wall)), "from start to end".to_owned());
        line("instructions a second", grouped(rate(self.instructions_in, wall)), String::new());
        right_align(&mut table, &[1]);
        table
    }

    fn module_note(&self) -> String {
        let notes = [
            counted(self.partly, "partly optimized"),
            counted(self.failed, "failed"),
            counted(self.not_started, "not started: interrupted"),
        ];
        notes.into_iter().filter(|note| !note.is_empty()).collect::<Vec<_>>().join(", ")
    }

    fn stages(&self) -> [(&'static str, u64); 3] {
        [("reading, CPU", self.read_ns), ("phases, CPU", self.phases_ns), ("writing, CPU", self.write_ns)]
    }

    /// Time by stage.
    pub fn render_time(&self, wall: Duration) -> String {
        let mut table = plain_table(&["stage", "time", "an instruction"]);
        right_align(&mut table, &[1, 2]);
        for (name, ns) in self.stages() {
            table.add_row([name.to_owned(), seconds(ns), each(ns, self.instructions_in)]);
        }
        table.add_row(["from start to end".to_owned(), seconds(nanoseconds(wall)), String::new()]);
        trimmed(&table)
    }

    /// Time and changes by phase.
    pub fn render_phases(&self) -> String {
        let mut table = plain_table(&["phase", "name", "time", "an instruction", "changes"]);
        right_align(&mut table, &[0, 2, 3, 4]);
        for (number, (name, ns, changes)) in &self.phases {
            let each = each(*ns, self.instructions_in);
            table.add_row([number.to_string(), name.to_string(), seconds(*ns), each, grouped(*changes)]);
        }
        trimmed(&table)
    }
}

/// A table without lines, for output that is read by people and cut by programs. Empty headings make no
/// heading row.
pub(crate) fn plain_table<T: Display>(heading: &[T]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let heading: Vec<_> = heading.iter().map(T::to_string).collect();
    if heading.iter().any(|cell| !cell.is_empty()) {
        table.set_header(heading);
    }
    table
}

/// Aligns columns of numbers. They have to be there: a table has the columns of its heading and of its rows
/// so far.
pub(crate) fn right_align(table: &mut Table, columns: &[usize]) {
    for &column in columns {
        let column = table.column_mut(column).expect("the table has the column");
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// The table's lines, each without the blanks at its end.
pub(crate) fn trimmed(table: &Table) -> String {
    let lines = table.lines().map(|line| format!("{}\n", line.trim_end()));
    lines.collect()
}

/// The reasons with the most frequent first, and those of one count by name.
fn by_count(counts: &BTreeMap<String, u64>) -> Vec<(&str, u64)> {
    let mut sorted: Vec<_> = counts.iter().map(|(reason, &count)| (reason.as_str(), count)).collect();
    sorted.sort_by_key(|&(reason, count)| (std::cmp::Reverse(count), reason));
    sorted
}

/// `12 failed`, or nothing for none.
fn counted(count: u64, what: &str) -> String {
    if count == 0 { String::new() } else { format!("{} {what}", grouped(count)) }
}

/// A number with its digits in groups of three: `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `-12.5 %`; nothing where there was nothing.
fn percent_change(before: u64, after: u64) -> String {
    if before == 0 {
        return String::new();
    }
    let percent = (after as f64 - before as f64) / before as f64 * 100.0;
    // Without this, a change of less than half a digit prints as minus zero.
    let percent = if percent.abs() < 0.05 { 0.0 } else { percent };
    format!("{percent:+.1} %")
}

/// Nanoseconds as seconds, with enough digits for a run of microseconds.
fn seconds(ns: u64) -> String {
    format!("{:.6} s", ns as f64 / 1e9)
}

/// Nanoseconds an instruction; nothing where there were none.
fn each(ns: u64, instructions: u64) -> String {
    if instructions == 0 {
        return String::new();
    }
    format!("{:.1} ns", ns as f64 / instructions as f64)
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// How many a second; 0 where no time has passed.
fn rate(count: u64, time: Duration) -> u64 {
    let seconds = time.as_secs_f64();
    if seconds > 0.0 { (count as f64 / seconds) as u64 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partly() -> ModuleReport {
        ModuleReport {
            input: "a.ptx".to_owned(),
            status: Status::Partly,
            functions: 3,
            functions_left: 1,
            instructions_in: 2_000,
            instructions_out: 1_500,
            blocks_in: 10,
            blocks_out: 10,
            bytes_in: 60_000,
            read_ns: 200_000,
            phases_ns: 400_000,
            write_ns: 100_000,
            left: vec![FunctionLeft { name: "k".to_owned(), reason: "time limit".to_owned() }],
            phases: vec![PhaseTime {
                number: 16,
                name: "OriPerformLiveDeadFirst".into(),
                ns: 400_000,
                changes: 500,
            }],
            ..ModuleReport::default()
        }
    }

    #[test]
    fn report_has_the_promised_keys() {
        let json = serde_json::to_value(partly()).unwrap();
        let keys: Vec<_> = json.as_object().unwrap().keys().map(String::as_str).collect();
        for key in [
            "input",
            "status",
            "error",
            "functions",
            "functions_left",
            "instructions_in",
            "instructions_out",
            "blocks_in",
            "blocks_out",
            "bytes_in",
            "read_ns",
            "phases_ns",
            "write_ns",
        ] {
            assert!(keys.contains(&key), "{key}");
        }
        assert_eq!(json["status"], "partly");
        assert_eq!(json["error"], serde_json::Value::Null);
    }

    #[test]
    fn report_reads_back() {
        let failed = ModuleReport::failed("b.ptx".to_owned(), 7, "b.ptx:1:2: no".to_owned());
        for report in [partly(), failed] {
            let json = serde_json::to_string(&report).unwrap();
            assert!(!json.contains('\n'));
            assert_eq!(serde_json::from_str::<ModuleReport>(&json).unwrap(), report);
        }
    }

    #[test]
    fn summary_says_everything() {
        let mut summary = Summary::default();
        summary.add(&partly());
        summary.add(&partly());
        summary.add(&ModuleReport::failed("b.ptx".to_owned(), 7, "b.ptx:1:2: no".to_owned()));
        summary.add(&ModuleReport::failed("c.ptx".to_owned(), 0, "cannot read it".to_owned()));
        summary.add_not_started(4);
        let text = summary.render(Duration::from_millis(2));
        for part in [
            "2 partly optimized, 2 failed, 4 not started",
            "2 left as they were",
            "4,000",
            "3,000",
            "-25.0 %",
            "+0.0 %",
            "0.000800 s",
            "200.0 ns an instruction",
            "2,000,000",
            "2  time limit",
            "  b.ptx:1:2: no\n",
            "  c.ptx: cannot read it\n",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(summary.render_phases().contains("1,000"));
        assert_eq!((summary.modules(), summary.failed()), (4, 2));
    }

    #[test]
    fn failures_past_the_limit_are_counted() {
        let mut summary = Summary::default();
        for index in 0..FAILURES_LISTED_MAX + 3 {
            summary.add(&ModuleReport::failed(format!("{index}.ptx"), 0, "no".to_owned()));
        }
        let text = summary.render(Duration::from_secs(1));
        assert!(text.contains("and 3 more"), "{text}");
    }

    #[test]
    fn numbers_print_in_groups() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(12_345_678), "12,345,678");
        assert_eq!(percent_change(10_000, 9_999), "+0.0 %");
        assert_eq!(percent_change(0, 5), "");
        assert_eq!(rate(5, Duration::ZERO), 0);
    }
}
