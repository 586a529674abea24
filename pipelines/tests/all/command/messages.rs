//! What the command says where something is not as it should be.

use super::{KERNEL, Place};

#[test]
fn wrong_names_are_answered_with_the_nearest_right_one() {
    let place = Place::new(&[("in.ptx", KERNEL)]);
    for (line, nearest) in [
        ("opt in.ptx -o out.ptx --knob EnableGvnCes", "`EnableGvnCse`"),
        ("opt in.ptx -o out.ptx --knob 486=1", "487"),
        ("opt in.ptx -o out.ptx --knob DUMPIR=AnalyseControlFlow", "`AnalyzeControlFlow`"),
        ("opt in.ptx -o out.ptx --named-phases OriPerfromLiveDead", "`OriPerformLiveDead`"),
        ("opt in.ptx -o out.ptx --verfy", "--verify"),
        ("btach in.ptx -o out", "batch"),
    ] {
        place.run(line).expect(2).says(nearest);
    }
    assert_eq!(place.files("."), ["in.ptx"]);
}

#[test]
fn wrong_values_are_refused() {
    let place = Place::new(&[("in.ptx", KERNEL)]);
    place.run("opt in.ptx -o out.ptx -O7").expect(2).says("expected 0 to 5");
    place.run("opt in.ptx -o out.ptx --knob 464=many").expect(2).says("a knob of kind int");
    place.run("opt in.ptx -o out.ptx --limit speed=1").expect(2).says("time=MILLISECONDS");
    place.run("opt in.ptx").expect(2);
    place.run("").expect(2).says("Usage");
}

#[test]
fn what_changes_nothing_is_said() {
    let place = Place::new(&[("in.ptx", KERNEL)]);
    place.run("opt in.ptx -o out.ptx --knob 464=9").expect(0).says("changes nothing");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let place = Place::new(&[("in/a.ptx", KERNEL)]);
    for line in [
        "opt no.ptx -o out.ptx",
        "batch no.ptx -o out",
        "run no.ptx --launch l.json --output out.json",
        "check no.ptx",
        "check in/a.ptx --against no.ptx",
        "analyze no.ptx --print cfg",
        "profile no.ptx --flamegraph out.svg",
    ] {
        let outcome = place.run(line);
        assert!(outcome.status == Some(1) || outcome.status == Some(2), "{line}: {outcome:?}");
        assert!(outcome.stderr.contains("`no.ptx`"), "{line}: {outcome:?}");
        assert!(!outcome.stderr.contains("entity not found"), "{line}: {outcome:?}");
    }
}

/// A message for the user, not for whoever wrote the verifier.
#[test]
fn what_a_verifier_finds_is_said_in_words() {
    let text = KERNEL.replace("mul.lo.s32 %r3, %r1, 12345;", "add.s32 %r3, %r1, 0f3F800000;");
    let place = Place::new(&[("in.ptx", text.as_str())]);
    let outcome = place.run("opt in.ptx -o out.ptx -O0 --verify=fast").expect(0);
    outcome.says("is a float of 32 bits where the type is s32");
}

/// Without a verifier too.
#[test]
fn an_operand_that_is_not_taken_leaves_its_function() {
    let text = KERNEL.replace("mul.lo.s32 %r3, %r1, 12345;", "add.s32 %r3, %r1, _;");
    let place = Place::new(&[("in.ptx", text.as_str())]);
    let outcome = place.run("opt in.ptx -o out.ptx").expect(0);
    outcome.says("is left as it was: an operand is of a kind that its instruction does not take");
    assert!(place.text("out.ptx").contains("add.s32 %r3, %r1, _;"));
}

#[test]
fn what_the_emulator_cannot_read_is_said_in_words() {
    let broken = KERNEL.replace(".visible", ".global .u32 table[2] = { 1, ; };\n.visible");
    let place = Place::new(&[("in.ptx", broken.as_str())]);
    place.run("check in.ptx").expect(1).says("in.ptx:5").says("found `;`, expected a constant");
}
