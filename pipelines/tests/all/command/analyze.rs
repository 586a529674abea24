//! What is shown of a module and of the time that it takes: `analyze`, `profile`, dumps of graphs.

use std::fs;

use super::{LOOP, Place};

#[test]
fn analyze_prints_one_thing_as_it_is() {
    let place = Place::new(&[("a.ptx", LOOP)]);
    let outcome = place.run("analyze a.ptx --print cfg");
    assert_eq!(
        (outcome.status, outcome.stdout.as_str()),
        (Some(0), "bix0 -> bix1\nbix1 -> bix1\nbix1 -> bix2\n")
    );
    let outcome = place.run("analyze a.ptx --print loops");
    let wanted = "Showing loop nest:\nloop of bix1: depth 1, blocks [1], latches [1], exits [bix1 -> bix2], \
                  preheader bix0, 3 instructions\n";
    assert_eq!(outcome.stdout, wanted);
}

#[test]
fn analyze_tells_several_things_apart() {
    let place = Place::new(&[("a.ptx", LOOP)]);
    let outcome = place.run("analyze a.ptx --function spin --print rpo,dominators,ori");
    let wanted = "// spin: rpo\nShowing RPO state for each basic block:\nbix0 -> RPONum: 0\nbix1 -> RPONum: 1\n\
                  bix2 -> RPONum: 2\nRPO traversal order: [0, 1, 2]\nShowing backedge info:\n\
                  bix1 -> backedge's successor BB: 1\n// spin: dominators\nShowing dominator tree:\nbix0\n  bix1\n    \
                  bix2\n// spin: ori\n.visible .entry spin";
    assert!(outcome.stdout.starts_with(wanted), "{}", outcome.stdout);
    let outcome = place.run("analyze a.ptx --function other --print rpo");
    assert_eq!(outcome.status, Some(1));
    assert!(outcome.stderr.contains("no function is called `other`"), "{}", outcome.stderr);
}

#[test]
fn graph_dumps_come_at_a_point_of_the_pipeline() {
    let place = Place::new(&[("a.ptx", LOOP)]);
    let outcome = place.run("opt a.ptx -o b.ptx --knob OptionFlag20 --knob OptionFlag24");
    assert_eq!(outcome.status, Some(0));
    assert!(outcome.stderr.starts_with("digraph f {\nnode [fontname="), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("}\nShowing RPO state"), "{}", outcome.stderr);
    let outcome = place.run("opt a.ptx -o c.ptx --knob DumpRPO=94");
    assert!(outcome.stderr.starts_with("Showing RPO state"), "{}", outcome.stderr);
    assert_eq!(fs::read(place.path("b.ptx")).unwrap(), fs::read(place.path("c.ptx")).unwrap());
}

#[test]
fn profile_draws_where_the_time_goes() {
    let place = Place::new(&[("in/a.ptx", LOOP), ("in/broken.ptx", "oops")]);
    let outcome = place.run("profile in -j 1 --seconds 1 --flamegraph drawn.svg");
    assert_eq!(outcome.status, Some(1), "one module is broken");
    assert!(outcome.stderr.contains("broken.ptx"), "{}", outcome.stderr);
    assert!(outcome.stdout.starts_with("1 modules "), "{}", outcome.stdout);
    assert!(
        outcome.stdout.contains("\nby file, ") && outcome.stdout.contains("engine/src/"),
        "{}",
        outcome.stdout
    );
    let drawing = fs::read_to_string(place.path("drawn.svg")).unwrap();
    assert!(drawing.contains("<svg") && drawing.contains("optimize"), "no flame graph");
}
