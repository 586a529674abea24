//! What reader and writer do to a module when no phase stands between them: nothing that matters.
//!
//! Each module is read and written by the engine alone, and by the facade at `-O0`. What came in and what went out are
//! then compared by [`Plain`], which shares no code with the reader.

use ptxopt::{OptLevel, Options, Status, VerifyLevel};
use ptxopt_tests::modules::{ModuleFile, all, corpus, expect_none, forms, in_parallel};
use ptxopt_tests::plain::{Body, Plain, Statement};
use ptxopt_tests::ptxas::{Flags, Ptxas};
use ptxopt_tests::rewrite::rewrite;
use ptxopt_tests::say::say;
use std::collections::BTreeSet;

/// Forms that the opcode table does not describe, and why that is right.
const UNMODELLED: &[(&str, &str)] = &[
    ("cvt.rn.bf16x2.relu.f32 #,#,#", "the ISA wants `.relu` before the type; the assembler takes both"),
    ("ld.global.u32 \"#####", "an array index that is a register: its scale is the assembler's knowledge"),
    ("st.shared.b64 \"####", "an array index that is a register: its scale is the assembler's knowledge"),
];

#[test]
fn writing_again_changes_nothing() {
    let modules = all();
    let failures = in_parallel(&modules, |module| {
        let once = rewrite(&module.text()).map_err(|error| format!("{}: {error:?}", module.name))?;
        let twice = rewrite(&once.text).map_err(|error| format!("{}, written: {error:?}", module.name))?;
        if once.text == twice.text { Ok(()) } else { Err(difference(&module.name, &once.text, &twice.text)) }
    });
    say(&format!("round trip: {} modules written twice", modules.len()));
    expect_none("modules are not stable", &errors(failures));
}

#[test]
fn nothing_is_left_or_unmodelled() {
    let modules = all();
    let failures = in_parallel(&modules, |module| {
        let rewritten = rewrite(&module.text()).map_err(|error| format!("{}: {error:?}", module.name))?;
        let is_new = |form: &&String| UNMODELLED.iter().all(|(known, _)| known != form);
        let unmodelled: Vec<_> = rewritten.unmodelled.iter().filter(is_new).collect();
        if unmodelled.is_empty() && rewritten.left.is_empty() {
            Ok(rewritten.unmodelled)
        } else {
            Err(format!("{}: unmodelled {unmodelled:?}, left {:?}", module.name, rewritten.left))
        }
    });
    let seen: Vec<String> = failures.iter().flatten().flatten().cloned().collect();
    expect_none("modules hold what is not modelled", &errors(failures));
    for (form, _) in UNMODELLED {
        assert!(seen.iter().any(|seen| seen == form), "{form} is modelled now: take it off the list");
    }
}

#[test]
fn nothing_is_lost() {
    let modules = all();
    let failures = in_parallel(&modules, |module| {
        let text = module.text();
        let rewritten = rewrite(&text).map_err(|error| format!("{}: {error:?}", module.name))?;
        let counts =
            Plain::of(&text).bodies.iter().map(|body| body.instructions().count()).collect::<Vec<_>>();
        if counts != rewritten.instruction_counts {
            return Err(format!(
                "{}: {counts:?} instructions, {:?} rows",
                module.name, rewritten.instruction_counts
            ));
        }
        compare(module, &text, &rewritten.text)
    });
    expect_none("modules lost something", &errors(failures));
}

#[test]
fn nothing_is_lost_at_the_lowest_level() {
    let modules = all();
    let options = Options { level: OptLevel::O0, verify: VerifyLevel::Full, ..Options::default() };
    let failures = in_parallel(&modules, |module| {
        let text = module.text();
        let output =
            ptxopt::optimize(&text, &options).map_err(|error| format!("{}: {error}", module.name))?;
        let report = &output.report;
        let count =
            Plain::of(&text).bodies.iter().map(|body| body.instructions().count() as u64).sum::<u64>();
        if report.status != Status::Ok || (report.instructions_in, report.instructions_out) != (count, count)
        {
            return Err(format!("{}: {count} instructions, but {report:?}", module.name));
        }
        compare(module, &text, &output.text)
    });
    expect_none("modules lost something", &errors(failures));
}

/// Registers are declared in another order and branch tables stand elsewhere, and yet the assembler makes the same
/// code of both texts. Modules for debugging are exempt: there it gives out registers in the order of declarations.
#[test]
fn the_machine_code_is_the_same() {
    let Some(ptxas) = Ptxas::find() else { return };
    let modules = [corpus(), forms()].concat();
    let verdicts = in_parallel(&modules, |module| {
        let text = module.text();
        let rewritten = rewrite(&text).map_err(|error| format!("{}: {error:?}", module.name))?;
        match ptxas.makes_same_code(&text, &rewritten.text, &Flags::of(&text)) {
            Err(said) => Err(format!("{}: {said}", module.name)),
            Ok(false) if !is_for_debugging(&text) => Err(format!("{}: other code", module.name)),
            Ok(is_same) => Ok(is_same),
        }
    });
    let same = verdicts.iter().filter(|verdict| **verdict == Ok(true)).count();
    say(&format!("round trip: {same} of {} modules give the same machine code", modules.len()));
    expect_none("modules give other machine code", &errors(verdicts));
}

fn is_for_debugging(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    text.lines().any(|line| line.starts_with(".target") && line.contains("debug"))
}

/// At `-O2` instructions go away, and what was bound to them moves to the next place that is left.
#[test]
fn lines_and_debug_labels_survive_optimization() {
    let modules = all();
    let options = Options { force_debug: true, ..Options::default() };
    let verdicts = in_parallel(&modules, |module| {
        let text = module.text();
        let output =
            ptxopt::optimize(&text, &options).map_err(|error| format!("{}: {error}", module.name))?;
        let report = &output.report;
        let (before, after) = (Plain::of(&text), Plain::of(&output.text));
        if before.outside() != after.outside() {
            return Err(format!("{}: the text between bodies differs", module.name));
        }
        let mut locs = (0, 0);
        for (index, (one, other)) in before.bodies.iter().zip(&after.bodies).enumerate() {
            let wrong = |what: String| Err(format!("{}, body {index}: {what}", module.name));
            let labels = [one, other].map(|body| debug_labels(&before, body));
            if labels[0] != labels[1] {
                return wrong(format!("debug labels {:?} became {:?}", labels[0], labels[1]));
            }
            let [lines, lines_left] = [one, other].map(lines_of);
            locs = (locs.0 + lines.len(), locs.1 + lines_left.len());
            if let Some(site) =
                site_before_its_line(&lines_left).filter(|_| site_before_its_line(&lines).is_none())
            {
                return wrong(format!("no line of this place stands before its user: {site}"));
            }
            // Only what stands in an unreachable block has no place left.
            if report.blocks_in == report.blocks_out && lines != lines_left {
                return wrong(format!("{} lines became {}", lines.len(), lines_left.len()));
            }
            let mut rest = lines.iter();
            if let Some(line) = lines_left.iter().find(|line| !rest.any(|before| before == *line)) {
                return wrong(format!("out of order, or new: {line}"));
            }
        }
        Ok((locs, report.instructions_in - report.instructions_out))
    });
    let sums = verdicts
        .iter()
        .flatten()
        .fold((0, 0, 0), |sums, ((lines, left), removed)| (sums.0 + lines, sums.1 + left, sums.2 + removed));
    say(&format!("round trip: {} instructions removed at -O2, {} of {} lines kept", sums.2, sums.1, sums.0));
    assert!(sums.2 > 0, "nothing was optimized");
    expect_none("modules lost lines or labels", &errors(verdicts));
}

/// The labels of a body that a section names, sorted.
fn debug_labels<'b>(module: &Plain<'_>, body: &'b Body) -> Vec<&'b str> {
    let labels = body.statements.iter().filter_map(|statement| match statement {
        Statement::Label(label) if module.is_named_in_section(label) => Some(label.as_str()),
        _ => None,
    });
    let mut labels: Vec<&str> = labels.collect();
    labels.sort_unstable();
    labels
}

/// The `.loc` lines of a body.
fn lines_of(body: &Body) -> Vec<&str> {
    let lines = body.statements.iter().filter_map(|statement| match statement {
        Statement::Loc(line) => Some(line.as_str()),
        _ => None,
    });
    lines.collect()
}

/// The first line that is inlined at a place which no line before it has.
fn site_before_its_line<'l>(lines: &[&'l str]) -> Option<&'l str> {
    let place = |line: &str, words_before: &str| {
        let words = line.split_once(words_before)?.1.split_whitespace().take(3);
        Some(words.map(str::to_owned).collect::<Vec<String>>())
    };
    let mut seen = BTreeSet::new();
    lines.iter().copied().find(|line| {
        let is_early = place(line, "inlined_at").is_some_and(|site| !seen.contains(&site));
        seen.extend(place(line, ". loc"));
        is_early
    })
}

#[test]
fn a_site_that_comes_too_late_is_seen() {
    let lines = [". loc 1 2 3", ". loc 1 5 1 , function_name A , inlined_at 1 2 3"];
    assert_eq!(site_before_its_line(&lines), None);
    assert_eq!(site_before_its_line(&lines[1..]), Some(lines[1]));
}

fn errors<T>(results: Vec<Result<T, String>>) -> Vec<String> {
    results.into_iter().filter_map(Result::err).collect()
}

/// What must be the same in `before` and `after`, where no instruction was changed.
fn compare(module: &ModuleFile, before: &[u8], after: &[u8]) -> Result<(), String> {
    let (before, after) = (Plain::of(before), Plain::of(after));
    if before.outside() != after.outside() {
        return Err(format!("{}: the text between bodies differs", module.name));
    }
    for (index, (one, other)) in before.bodies.iter().zip(&after.bodies).enumerate() {
        let differs = |what: &str, one: String, other: String| {
            Err(format!("{}, body {index}: {what} differ: {one} against {other}", module.name))
        };
        if let Some(at) = one.instructions().zip(other.instructions()).position(|(one, other)| one != other) {
            let at_of = |body: &Body| body.instructions().nth(at).unwrap_or_default().to_owned();
            return differs("instructions", at_of(one), at_of(other));
        }
        if one.instructions().count() != other.instructions().count() {
            return differs(
                "counts",
                one.instructions().count().to_string(),
                other.instructions().count().to_string(),
            );
        }
        for is_wanted in [is_loc as fn(&Statement) -> bool, is_pragma] {
            if one.places(is_wanted) != other.places(is_wanted) {
                let places = (one.places(is_wanted), other.places(is_wanted));
                let at = places.0.iter().zip(&places.1).position(|(one, other)| one != other);
                let at = at.unwrap_or(places.0.len().min(places.1.len()));
                return differs(
                    "places",
                    format!("{:?}", places.0.get(at)),
                    format!("{:?}", places.1.get(at)),
                );
            }
        }
        let is_debug_label = |statement: &Statement| matches!(statement, Statement::Label(label) if before.is_named_in_section(label));
        let mut labels = (one.places(is_debug_label), other.places(is_debug_label));
        labels.0.sort();
        labels.1.sort();
        if labels.0 != labels.1 {
            return differs("debug labels", format!("{:?}", labels.0), format!("{:?}", labels.1));
        }
    }
    Ok(())
}

fn is_loc(statement: &Statement) -> bool {
    matches!(statement, Statement::Loc(_))
}

fn is_pragma(statement: &Statement) -> bool {
    matches!(statement, Statement::Pragma(_))
}

/// The first line in which two texts differ.
fn difference(name: &str, one: &[u8], other: &[u8]) -> String {
    let (one, other) = (String::from_utf8_lossy(one), String::from_utf8_lossy(other));
    let lines = one.lines().zip(other.lines()).enumerate().find(|(_, (one, other))| one != other);
    format!("{name}: {lines:?}")
}

/// A label that no branch names any more does not read back.
#[test]
fn labels_that_nothing_names_go() {
    let text = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
.reg .b64 %d<2>; .reg .b32 %r<2>; .reg .pred %p<2>;
ld.param.u64 %d1, [out]; mov.u32 %r1, 0;
S: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 50; @%p1 bra S;
T: @!%p1 bra U; bra T;
U: st.global.u32 [%d1], %r1; ret;
}
";
    let run = |text: &str, level| {
        let options = Options { level, ..Options::default() };
        let output = ptxopt::optimize(text.as_bytes(), &options).expect("the module is valid");
        String::from_utf8(output.text).expect("text in, text out")
    };
    let once = run(text, OptLevel::O2);
    let twice = run(&once, OptLevel::O0);
    assert_eq!(once, twice);
    assert!(!once.contains("T:") && once.contains("S:"), "{once}");
}
