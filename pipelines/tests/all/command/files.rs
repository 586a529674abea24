//! Files and folders that any command writes.

use std::fs;

use super::{KERNEL, Place, launch};

/// A reader of the old file keeps its bytes, whatever command writes a new one.
#[test]
fn no_command_writes_into_a_file_that_is_there() {
    let launch = launch("twice", r#"{"buffer": {"size": 4}}"#);
    let place = Place::new(&[("in/a.ptx", KERNEL), ("l.json", &launch)]);
    for (output, line) in [
        ("out.ptx", "opt in/a.ptx -o out.ptx"),
        ("out/a.ptx", "batch in -o out --report r.jsonl --knob DUMPIR=6"),
        ("out/a.ptx.dump", "batch in -o out --knob DUMPIR=6"),
        ("r.jsonl", "batch in -o out --report r.jsonl"),
        ("out.json", "run in/a.ptx --launch l.json --output out.json"),
        ("drawn.svg", "profile in -j 1 --seconds 1 --flamegraph drawn.svg"),
    ] {
        fs::create_dir_all(place.path("out")).unwrap();
        fs::write(place.path(output), "old").unwrap();
        let _ = fs::remove_file(place.path("other"));
        fs::hard_link(place.path(output), place.path("other")).unwrap();
        place.run(line).expect(0);
        assert_eq!(place.text("other"), "old", "{line}");
        assert_ne!(place.text(output), "old", "{line}");
    }
}

#[test]
fn every_command_makes_the_folders_of_its_output() {
    let launch = launch("twice", r#"{"buffer": {"size": 4}}"#);
    let place = Place::new(&[("in/a.ptx", KERNEL), ("l.json", &launch)]);
    for (output, line) in [
        ("1/x/out.ptx", "opt in/a.ptx -o 1/x/out.ptx"),
        ("2/x/a.ptx", "batch in -o 2/x --report 3/x/r.jsonl"),
        ("3/x/r.jsonl", "batch in -o 2/x --report 3/x/r.jsonl"),
        ("4/x/out.json", "run in/a.ptx --launch l.json --output 4/x/out.json"),
        ("5/x/drawn.svg", "profile in -j 1 --seconds 1 --flamegraph 5/x/drawn.svg"),
    ] {
        place.run(line).expect(0);
        assert!(place.path(output).is_file(), "{line}");
    }
}

/// Under whatever name: each of these was there before, or was written by the same command.
#[cfg(unix)]
#[test]
fn no_command_writes_over_what_it_reads() {
    let launch = launch("twice", r#"{"buffer": {"size": 4}}"#);
    let place = Place::new(&[("in/a.ptx", KERNEL), ("l.json", &launch)]);
    std::os::unix::fs::symlink("later.ptx", place.path("link")).unwrap();
    for (line, what) in [
        ("run in/a.ptx --launch l.json --output ./in/a.ptx", "the output would be written over `in/a.ptx`"),
        ("run in/a.ptx --launch l.json --output in/../l.json", "the output would be written over `l.json`"),
        ("profile in --seconds 1 --flamegraph in/a.ptx", "the flame graph would be written over `in/a.ptx`"),
        ("opt in/a.ptx -o later.ptx --remarks new/../later.ptx", "would both become `later.ptx`"),
        ("opt in/a.ptx -o later.ptx --remarks link", "would both become `later.ptx`"),
    ] {
        place.run(line).expect(2).says(what);
        assert_eq!(
            (place.text("in/a.ptx"), place.text("l.json")),
            (KERNEL.to_owned(), launch.clone()),
            "{line}"
        );
        assert!(!place.path("later.ptx").exists(), "{line}");
    }
}
