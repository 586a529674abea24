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
        (
            "opt in.ptx -o out.ptx --named-phases 159",
            "no phase has the number 159; `ptxopt phases` lists them",
        ),
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
fn a_name_that_is_like_no_other_leads_to_the_list() {
    let place = Place::new(&[("in.ptx", KERNEL)]);
    place.run("opt in.ptx -o out.ptx --named-phases dce").expect(2).says("`ptxopt phases` lists them");
    place.run("opt in.ptx -o out.ptx --knob xyz").expect(2).says("`ptxopt knobs` lists them");
}

#[test]
fn what_a_value_may_be_is_said() {
    let place = Place::new(&[("in.ptx", KERNEL)]);
    let opt = |option: &str| place.run(&format!("opt in.ptx -o out.ptx {option}")).expect(2);
    opt("--knob structurizecfg=foo").says("expected `on` or `skip-uniform-regions`");
    opt("--knob SH=").says("expected text that is not empty");
    opt("--bisect -1").says("invalid value '-1' for '--bisect");
    opt("-j -1").says("invalid value '-1' for '--threads");
}

#[test]
fn what_changes_nothing_is_said() {
    let place = Place::new(&[("in.ptx", KERNEL)]);
    place.run("opt in.ptx -o out.ptx --knob 464=9").expect(0).says("changes nothing");
}

#[test]
fn a_phase_of_ssa_form_that_is_named_alone_asks_for_it() {
    let place = Place::new(&[("in.ptx", KERNEL)]);
    let note = "phase 49 `GvnCse` does nothing outside SSA form: name `GenerateMovPhi`, too";
    place.run("opt in.ptx -o out.ptx --named-phases GvnCse").expect(0).says(note);
    for quiet in ["--named-phases GvnCse+23", "--named-phases GvnCse -O1", "--named-phases 29", ""] {
        let outcome = place.run(&format!("opt in.ptx -o out.ptx {quiet}")).expect(0);
        assert!(!outcome.stderr.contains("SSA form"), "{quiet}: {outcome:?}");
    }
}

#[test]
fn options_of_which_no_notice_would_be_taken_are_refused() {
    let place = Place::new(&[("in.ptx", KERNEL)]);
    for (line, option) in [
        ("analyze in.ptx --print cfg -O3", "`-O`"),
        ("analyze in.ptx --print cfg -v --knob 235", "`--knob`"),
        ("check in.ptx --against in.ptx -v --named-phases 3", "`--named-phases`"),
        ("check in.ptx --stat=time", "`--stat`"),
        ("profile in.ptx --flamegraph out.svg --stat=time", "`--stat`"),
        ("phases --stat=time", "`--stat`"),
        ("knobs --stat=memory", "`--stat`"),
        ("run in.ptx --launch l.json --output out.json --bisect 3", "`--bisect`"),
    ] {
        place.run(line).expect(2).says(&format!("{option} would change nothing: "));
    }
    for line in ["analyze in.ptx --print cfg -v --verify --limit time=9 -j 1", "phases -O3 --knob 235"] {
        place.run(line).expect(0);
    }
    assert_eq!(place.files("."), ["in.ptx"]);
}

#[test]
fn a_batch_does_not_take_a_stream_for_a_folder() {
    let place = Place::new(&[("in.ptx", KERNEL)]);
    place.run("batch in.ptx -o -").expect(2).says("`-o -`: a batch is written into a folder");
    place.run("batch in.ptx -o out --report -").expect(2).says("`--report -`");
    place.run("batch in.ptx -o out --report x --remarks x").expect(2).says("`x` would be written twice");
    assert_eq!(place.files("."), ["in.ptx"]);
}

#[test]
fn one_stream_is_not_taken_for_two() {
    let place = Place::new(&[("in.ptx", KERNEL)]);
    place.run("profile in.ptx --seconds 0 --flamegraph -").expect(2).says("`--flamegraph -`");
    let both = "the module and the launch would both be read from standard input";
    place.run("run - --launch - --output out.json").expect(2).says(both);
    assert_eq!(place.files("."), ["in.ptx"]);
}

#[test]
fn a_fingerprint_that_no_function_has_is_said() {
    let place = Place::new(&[("in.ptx", KERNEL)]);
    let said = "warning: no function has the code fingerprint 0000000000000123";
    place.run("opt in.ptx -o out.ptx --knob SH=123").expect(0).says(said);
    place.run("batch in.ptx -o out --knob SH=123").expect(0).says(said);
    let remarks = place.run("opt in.ptx -o out.ptx -v").expect(0).stderr;
    let fingerprint =
        remarks.split("fingerprint ").nth(1).expect("a remark tells it").split_whitespace().next();
    let own = place.run(&format!("opt in.ptx -o out.ptx --knob SH={}", fingerprint.unwrap())).expect(0);
    assert_eq!(own.stderr, "");
}

#[test]
fn figures_that_are_asked_for_twice_are_printed_once() {
    let place = Place::new(&[("in.ptx", KERNEL)]);
    let outcome = place.run("opt in.ptx -o out.ptx --stat=time,memory,time").expect(0);
    assert_eq!(outcome.stderr.matches("reading, CPU").count(), 1, "{outcome:?}");
    assert_eq!(outcome.stderr.matches("memory at the peak").count(), 1, "{outcome:?}");
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

/// A message for the user, not for the author of the verifier.
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
