//! Words that are no instruction come through unchanged, with a warning.

use crate::command::Place;
use ptxopt::{ModuleReport, Options, UnknownWord, optimize};
use std::fs;

/// `frobnicate` stands twice in one function and once in another, each time with other words joined to it.
const KERNELS: &str = "\
.version 8.0
.target sm_80
.address_size 64

.visible .entry first()
{
\t.reg .pred %p<2>;
\t.reg .b32 %r<3>;
\tmov.u32 %r1, 0;
\tfrobnicate %r1, %r2;
\tsetp.eq.u32 %p1, %r2, 0;
\t@%p1 frobnicate.b32 %r1, %r2; twiddle [%r1] -> 7;
\tret;
}

.visible .entry second()
{
\t.reg .b32 %r<3>;
\tfrobnicate.u32 %r1, %r2;
\tret;
}
";

fn words() -> Vec<UnknownWord> {
    let word = |word: &str, function: &str, line, column| UnknownWord {
        word: word.to_owned(),
        function: function.to_owned(),
        line,
        column,
    };
    vec![
        word("frobnicate", "first", 10, 2),
        word("twiddle", "first", 12, 32),
        word("frobnicate.u32", "second", 19, 2),
    ]
}

#[test]
fn the_report_names_each_word_once_a_function() {
    let output = optimize(KERNELS.as_bytes(), &Options::default()).unwrap();
    assert_eq!(output.report.unknown_words, words());
    let text = String::from_utf8(output.text).unwrap();
    for kept in ["frobnicate %r1, %r2;", "@%p1 frobnicate.b32 %r1, %r2;", "twiddle [%r1] -> 7;"] {
        assert!(text.contains(kept), "{text}");
    }
    let known = KERNELS.replace("frobnicate.u32", "not.b32").replace("frobnicate", "not");
    let known = known.replace("twiddle [%r1] -> 7;", "").replace("not %r1", "not.b32 %r1");
    assert_eq!(optimize(known.as_bytes(), &Options::default()).unwrap().report.unknown_words, []);
}

#[test]
fn opt_warns_with_the_place() {
    let place = Place::new(&[("in.ptx", KERNELS)]);
    let outcome = place.run("opt in.ptx -o out.ptx").expect(0);
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    let starts = [
        "warning: in.ptx:10:2: `frobnicate` in `first` is no instruction",
        "warning: in.ptx:12:32: `twiddle` in `first` is no instruction",
        "warning: in.ptx:19:2: `frobnicate.u32` in `second` is no instruction",
    ];
    assert_eq!(lines.len(), starts.len(), "{outcome:?}");
    for (line, start) in lines.iter().zip(starts) {
        assert!(line.starts_with(start), "{line}");
    }
}

#[test]
fn batch_warns_and_reports() {
    let place = Place::new(&[("in/a.ptx", KERNELS)]);
    let outcome = place.run("batch in -o out --report report.jsonl").expect(0);
    let warnings = outcome.stderr.lines().filter(|line| line.starts_with("warning: in/a.ptx:"));
    assert_eq!(warnings.count(), 3, "{outcome:?}");
    let report = fs::read_to_string(place.path("report.jsonl")).unwrap();
    let report: ModuleReport = serde_json::from_str(report.trim()).unwrap();
    assert_eq!(report.unknown_words, words());
}
