//! `batch`: many modules at once.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use super::{BROKEN, KERNEL, Place};

#[test]
fn batch_keeps_the_tree_and_reports_in_the_order_of_the_inputs() {
    let place = Place::new(&[
        ("in/b.ptx", KERNEL),
        ("in/deep/er/a.ptx", KERNEL),
        ("in/readme.txt", "no module"),
        ("one.ptx", KERNEL),
    ]);
    let outcome = place.run("batch one.ptx in -o out/put -j 4 --report out/report.jsonl").expect(0);
    assert_eq!(place.files("out"), ["put/b.ptx", "put/deep/er/a.ptx", "put/one.ptx", "report.jsonl"]);
    place.run("opt one.ptx -o alone.ptx").expect(0);
    for file in place.files("out/put") {
        assert_eq!(place.text(&format!("out/put/{file}")), place.text("alone.ptx"));
    }
    let reports = place.reports("out/report.jsonl");
    let inputs: Vec<_> = reports.iter().map(|report| report.input.as_str()).collect();
    assert_eq!(inputs, ["one.ptx", "in/b.ptx", "in/deep/er/a.ptx"]);
    for report in &reports {
        assert_eq!(report.status, ptxopt::Status::Ok);
        assert_eq!((report.functions, report.functions_left), (1, 0));
        assert_eq!((report.instructions_in, report.instructions_out), (6, 5));
        assert_eq!(report.bytes_in, KERNEL.len() as u64);
        assert!(report.read_ns > 0 && report.phases_ns > 0 && report.write_ns > 0);
    }
    outcome.says("instructions a second").says("-16.7 %");
}

#[test]
fn batch_goes_on_after_a_broken_module() {
    let place = Place::new(&[("in/a.ptx", KERNEL), ("in/b.ptx", BROKEN), ("in/c.ptx", KERNEL)]);
    let outcome = place.run("batch in -o out --report report.jsonl").expect(1);
    assert_eq!(place.files("out"), ["a.ptx", "c.ptx"]);
    let reports = place.reports("report.jsonl");
    assert_eq!(reports.len(), 3);
    assert_eq!(reports[1].status, ptxopt::Status::Error);
    let error = reports[1].error.as_deref().unwrap();
    assert!(error.starts_with("in/b.ptx:2:") && !error.contains('\n'), "{error}");
    assert!(outcome.stderr.contains(".tarpit"), "{outcome:?}");
    assert!(outcome.stdout.contains("1 failed") && outcome.stdout.contains(error), "{outcome:?}");
}

#[test]
fn batch_gives_the_same_bytes_on_any_number_of_threads_and_again() {
    let names: Vec<String> = (0..40).map(|index| format!("in/{index}.ptx")).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), KERNEL)).collect();
    let place = Place::new(&files);
    place.run("batch in -o one -j 1").expect(0);
    place.run("batch in -o four -j 4").expect(0);
    place.run("batch in -o four -j 3").expect(0);
    assert_eq!(place.files("one").len(), 40);
    assert_eq!(place.files("one"), place.files("four"));
    for file in place.files("one") {
        assert_eq!(place.text(&format!("one/{file}")), place.text(&format!("four/{file}")));
    }
}

/// The largest module goes first, and threads end in any order: what is said stands in the order of the inputs.
#[test]
fn batch_says_things_in_the_order_of_the_inputs() {
    let names: Vec<String> = (10..40).map(|index| format!("in/{index}.ptx")).collect();
    let texts: Vec<String> = (0..30)
        .map(|index| if index % 3 == 0 { BROKEN.to_owned() } else { "\n".repeat(index) + KERNEL })
        .collect();
    let files: Vec<_> = names.iter().zip(&texts).map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let place = Place::new(&files);
    let said = |threads: u32| place.run(&format!("batch in -o out -v -j {threads}")).expect(1).stderr;
    let stderr = said(4);
    let mut mentioned: Vec<&str> = Vec::new();
    for word in stderr.split(|c: char| c.is_whitespace() || c == ':') {
        if word.starts_with("in/") && mentioned.last() != Some(&word) {
            mentioned.push(word);
        }
    }
    assert_eq!(mentioned, names);
    assert_eq!(stderr, said(1));
}

#[test]
fn batch_refuses_before_anything_runs() {
    let place = Place::new(&[("x/a.ptx", KERNEL), ("y/a.ptx", KERNEL), ("z/none.txt", "")]);
    place.run("batch x y -o out").expect(2).says("would both become");
    place.run("batch x -o x").expect(2).says("over an input");
    place.run("batch x -o new/../x").expect(2).says("over an input");
    place.run("batch x -o out --report x/a.ptx").expect(2).says("over an input");
    place.run("batch x -o out --report new/../x/a.ptx").expect(2).says("over an input");
    place.run("batch nowhere -o out").expect(2).says("cannot open `nowhere`");
    place.run("batch z -o out").expect(2).says("found no `.ptx` file");
    assert_eq!(place.files("."), ["x/a.ptx", "y/a.ptx", "z/none.txt"]);
    assert_eq!(place.text("x/a.ptx"), KERNEL);
}

#[test]
fn batch_reports_an_output_that_cannot_be_written() {
    let place = Place::new(&[("in/a.ptx", KERNEL), ("in/b/c.ptx", KERNEL), ("out/b", "in the way")]);
    place.run("batch in -o out").expect(1).says("in/b/c.ptx: cannot write the output of it");
    assert_eq!(place.files("out"), ["a.ptx", "b"]);
}

#[cfg(unix)]
#[test]
fn batch_stays_inside_its_folders() {
    let place = Place::new(&[("around.ptx", KERNEL), ("in/a.ptx", KERNEL), ("elsewhere/x", "")]);
    std::os::unix::fs::symlink("..", place.path("in/up")).unwrap();
    std::os::unix::fs::symlink(".", place.path("in/self")).unwrap();
    let outcome = place.run("batch in -o out").expect(1);
    outcome
        .says("`in/up` is a link to a folder that holds it")
        .says("`in/self` is a link to a folder that holds it");
    assert_eq!(place.files("out"), ["a.ptx"]);
    fs::remove_file(place.path("out/a.ptx")).unwrap();
    std::os::unix::fs::symlink("../elsewhere/a.ptx", place.path("out/a.ptx")).unwrap();
    place.run("batch in -o out").expect(2).says("out of the output folder");
    assert_eq!(place.files("elsewhere"), ["x"]);
}

/// The input is a pipe: opening its other end tells us that the module has begun, and the module cannot end
/// before we feed it.
#[cfg(unix)]
#[test]
fn interrupted_batch_finishes_what_has_begun_and_starts_nothing() {
    use std::io::{BufRead, BufReader, Read};

    let place = Place::new(&[]);
    for pipe in ["first.ptx", "second.ptx"] {
        assert!(Command::new("mkfifo").arg(place.path(pipe)).status().unwrap().success());
    }
    let mut child = place
        .command("batch first.ptx second.ptx -o out -j 1 --report report.jsonl")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = fs::File::options().write(true).open(place.path("first.ptx")).unwrap();
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("interrupted"), "{line}");
    first.write_all(KERNEL.as_bytes()).unwrap();
    drop(first);

    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    assert!(stdout.contains("1 not started"), "{stdout}");
    assert_eq!(place.files("out"), ["first.ptx"]);
    assert_eq!(place.reports("report.jsonl").len(), 1);
}
