//! `--remarks` and `-v`: what phases say of what they have done.

use ptxopt::{Remark, RemarkKind};

use super::{BROKEN, KERNEL, LOOP, Place};

/// Two phases have one name, and find out the same.
#[test]
fn no_remark_is_printed_twice() {
    let place = Place::new(&[("in.ptx", LOOP)]);
    let stderr = place.run("opt in.ptx -o out.ptx -v").expect(0).stderr;
    let found: Vec<&str> = stderr.lines().filter(|line| line.contains(": analysis: ")).collect();
    let once: std::collections::BTreeSet<&str> = found.iter().copied().collect();
    assert!(found.len() > 4 && found.len() == once.len(), "{stderr}");
    let notes = place
        .run("opt in.ptx -o out.ptx --knob DUMPIR=OriPipelining --named-phases OriPipelining+3+OriPipelining")
        .expect(0);
    assert_eq!(notes.stderr.matches("`OriPipelining` does nothing").count(), 1, "{notes:?}");
}

/// The product is deleted, one slot becomes a register, and the address of the other variable is stored.
const LOCALS: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 data)
{
.reg .b32 %r<4>; .reg .b64 %rd<3>;
.local .align 4 .b8 slot[4];
.local .align 4 .b8 other[4];
ld.param.u64 %rd1, [data];
st.local.u32 [slot], 7;
ld.local.u32 %r1, [slot];
mul.lo.s32 %r3, %r1, 12345;
mov.u64 %rd2, other;
  st.global.u64 [%rd1], %rd2;
st.global.u32 [%rd1+8], %r1;
ret;
}
";

fn remarks(lines: &str) -> Vec<Remark> {
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}")))
        .collect()
}

#[test]
fn remarks_say_what_was_changed_where_and_what_was_not_and_why() {
    let place = Place::new(&[("in.ptx", LOCALS)]);
    let outcome = place.run("opt in.ptx -o out.ptx --remarks notes/of.jsonl").expect(0);
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("", ""), "remarks go to their file only");
    let remarks = remarks(&place.text("notes/of.jsonl"));
    assert!(
        remarks.iter().all(|remark| remark.module == "in.ptx" && remark.function.as_deref() == Some("k"))
    );
    let has = |kind, line: u64, column: u64, number: u16, part: &str| {
        remarks.iter().any(|remark| {
            let place = remark.place.map(|place| (place.line, place.column));
            let phase = remark.phase.as_ref().map(|phase| phase.number);
            let is_there = (remark.kind, place, phase) == (kind, Some((line, column)), Some(number));
            is_there && remark.reason.contains(part)
        })
    };
    assert!(has(RemarkKind::Passed, 10, 1, 13, "local memory becomes registers"), "{remarks:#?}");
    assert!(has(RemarkKind::Passed, 12, 1, 10, "no use"), "{remarks:#?}");
    assert!(has(RemarkKind::Missed, 14, 3, 13, "is stored"), "{remarks:#?}");
    assert!(remarks.iter().any(|remark| remark.kind == RemarkKind::Analysis));
    // The optimized module is the same with and without.
    let text = place.text("out.ptx");
    place.run("opt in.ptx -o out.ptx").expect(0);
    assert_eq!(place.text("out.ptx"), text);
}

#[test]
fn remarks_go_to_standard_output_where_nothing_else_does() {
    let place = Place::new(&[("in.ptx", LOCALS)]);
    let stdout = place.run("opt in.ptx -o out.ptx --remarks -").expect(0).stdout;
    assert!(remarks(&stdout).iter().any(|remark| remark.kind == RemarkKind::Missed), "{stdout}");
    place.run("opt in.ptx -o - --remarks -").expect(2).says("would both become `-`");
    place.run("opt in.ptx -o x.ptx --remarks x.ptx").expect(2).says("would both become `x.ptx`");
    place.run("opt in.ptx -o x.ptx --remarks ./x.ptx").expect(2).says("would both become `x.ptx`");
    place.run("opt in.ptx -o x.ptx --remarks ./in.ptx").expect(2).says("would be written over `in.ptx`");
    place.run("batch in.ptx -o out --remarks -").expect(2).says("summary");
    place.run("batch in.ptx -o out --report n.jsonl --remarks n.jsonl").expect(2);
    assert_eq!(place.files("."), ["in.ptx", "out.ptx"]);
}

/// The largest module goes first, and threads end in any order: remarks stand in the order of the inputs, and in each module
/// in that of its functions and phases.
#[test]
fn remarks_of_a_batch_are_the_same_on_any_number_of_threads() {
    let (head, function) = LOCALS.split_at(LOCALS.find(".visible").unwrap());
    let functions: String = (0..600).map(|index| function.replace("k(", &format!("k{index}("))).collect();
    let large = head.to_owned() + &functions;
    let files = [("in/a.ptx", KERNEL), ("in/b.ptx", BROKEN), ("in/c.ptx", &large), ("in/d.ptx", LOCALS)];
    let place = Place::new(&files);
    let notes = |threads: u32| {
        place.run(&format!("batch in -o out -j {threads} --remarks notes.jsonl")).expect(1);
        place.text("notes.jsonl")
    };
    let once = notes(1);
    assert_eq!((notes(4), notes(3)), (once.clone(), once.clone()));
    let mut modules: Vec<String> = remarks(&once).into_iter().map(|remark| remark.module).collect();
    modules.dedup();
    assert_eq!(modules, ["in/a.ptx", "in/c.ptx", "in/d.ptx"]);
    let missed = remarks(&once).into_iter().filter(|remark| remark.kind == RemarkKind::Missed);
    assert!(missed.count() > 600);
}
