//! Bad files: a module that fails has no output, and the others have theirs. Files are whole or not there.

use ptxopt::{ModuleReport, Options, Status};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A kernel with `body`.
fn kernel(body: &str) -> String {
    format!(".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u64 p)\n{{\n{body}\n}}\n")
}

fn optimized(text: &str) -> Vec<u8> {
    ptxopt::optimize(text.as_bytes(), &Options::default()).expect("the module is valid").text
}

/// The command with `arguments`, in `folder`.
fn command(folder: &Path, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptxopt-under-test"));
    command.current_dir(folder).args(arguments.split(' ')).stdin(Stdio::null());
    command
}

/// The files of a folder and the folders in it.
fn files_under(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("the folder can be listed").path();
        names.push(path.file_name().expect("an entry has a name").to_string_lossy().into_owned());
    }
    names.sort();
    names
}

#[test]
fn a_batch_goes_on_and_writes_nothing_for_what_is_bad() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in");
    fs::create_dir(&input).unwrap();
    let good = kernel("\t.reg .b32 %r<2>;\n\tmov.u32 %r1, 1;\n\tst.shared.u32 [0], %r1;\n\tret;");
    let bad: [(&str, Vec<u8>); 8] = [
        ("cut", good.as_bytes()[..good.len() - 12].to_vec()),
        ("empty", Vec::new()),
        ("garbage", (0..=255).cycle().take(10_000).collect()),
        ("comments", b"// nothing\n".to_vec()),
        ("open", kernel(&"{".repeat(10_000)).into_bytes()),
        ("nested", kernel(&format!("\tmov.u32 p, {}1;", "(".repeat(10_000))).into_bytes()),
        ("unknown", kernel("\tmov.u32 %r1, 1;").into_bytes()),
        ("twice", kernel("\tL: ret; L: ret;").into_bytes()),
    ];
    for (name, text) in &bad {
        fs::write(input.join(format!("{name}.ptx")), text).unwrap();
    }
    let good_names = ["a_first", "m_middle", "z_last"];
    for name in good_names {
        fs::write(input.join(format!("{name}.ptx")), &good).unwrap();
    }
    let mut command = command(folder.path(), "batch in -o out -j 2 --report report.jsonl");
    let run = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&run.stderr);

    assert_eq!(run.status.code(), Some(1), "{stderr}");
    assert_eq!(files_under(&folder.path().join("out")), good_names.map(|name| format!("{name}.ptx")));
    assert_eq!(files_under(folder.path()), ["in", "out", "report.jsonl"]);
    let expected = optimized(&good);
    for name in good_names {
        assert_eq!(fs::read(folder.path().join(format!("out/{name}.ptx"))).unwrap(), expected);
    }
    let reports = fs::read_to_string(folder.path().join("report.jsonl")).unwrap();
    let reports: Vec<ModuleReport> =
        reports.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(reports.len(), bad.len() + good_names.len());
    for report in &reports {
        let stem = report.input.trim_start_matches("in/").trim_end_matches(".ptx");
        let is_good = good_names.contains(&stem);
        assert_eq!(report.status == Status::Ok, is_good, "{report:?}");
        assert_eq!(report.status == Status::Error, !is_good, "{report:?}");
        if let Some(error) = &report.error {
            assert!(
                error.starts_with(&format!("in/{stem}.ptx:")) && stderr.contains(&format!("in/{stem}.ptx:")),
                "{error}"
            );
        }
    }
}

#[test]
fn a_single_bad_module_leaves_the_output_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bad.ptx"), kernel("\tbra NOWHERE;")).unwrap();
    fs::write(folder.path().join("out.ptx"), "as it was").unwrap();
    let mut command = command(folder.path(), "opt bad.ptx -o out.ptx");
    let run = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(1), "{stderr}");
    for part in [
        "undefined label `NOWHERE`",
        "expected a label of this function",
        "bad.ptx:6:6",
        "bra NOWHERE;",
        "^^^^^^^",
    ] {
        assert!(stderr.contains(part), "no `{part}` in {stderr}");
    }
    assert_eq!(fs::read(folder.path().join("out.ptx")).unwrap(), b"as it was");
    assert_eq!(files_under(folder.path()), ["bad.ptx", "out.ptx"]);
}

/// Killed in the middle of its work, a batch has no time to tidy up. What it has written is whole even so, and running
/// it again completes it.
#[test]
fn a_killed_batch_leaves_whole_modules_only() {
    const COUNT: usize = 400;
    const PATIENCE: Duration = Duration::from_secs(60);
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    fs::create_dir(&input).unwrap();
    let sums = "\tadd.u32 %r1, %r1, %r2;\n".repeat(2_000);
    let text = kernel(&format!("\t.reg .b32 %r<4>;\n{sums}\tst.shared.u32 [0], %r1;\n\tret;"));
    for number in 0..COUNT {
        fs::write(input.join(format!("{number}.ptx")), &text).unwrap();
    }
    let expected = optimized(&text);
    let modules = || files_under(&output).into_iter().filter(|name| name.ends_with(".ptx"));
    let assert_whole = || {
        for name in modules() {
            assert!(fs::read(output.join(&name)).unwrap() == expected, "{name} is not whole");
        }
    };

    let mut child = command(folder.path(), "batch in -o out -j 2");
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while modules().next().is_none() && start.elapsed() < PATIENCE {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(modules().next().is_some(), "nothing was written in {PATIENCE:?}");
    assert_whole();

    let again = command(folder.path(), "batch in -o out -j 2").output().unwrap();
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    assert_eq!(modules().count(), COUNT);
    assert_whole();
}
