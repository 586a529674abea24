//! Folders are compared by what the assembler makes of them: the program as a user runs it.

use ptxopt_tests::ptxas::Ptxas;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// A kernel that loads some values and adds them up; those that it reads late need a register each.
fn kernel(count: usize) -> String {
    let line = |line: &dyn Fn(usize) -> String| (0..count).map(line).collect::<String>();
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 data) {{\n.reg .b32 %r<200>; .reg .b64 %d;\n\
         ld.param.u64 %d, [data];\n{}mov.u32 %r199, 0;\n{}st.global.u32 [%d], %r199;\nret;\n}}\n",
        line(&|index| format!("ld.volatile.global.u32 %r{index}, [%d+{}];\n", 4 * index)),
        line(&|index| format!("mad.lo.u32 %r199, %r199, %r199, %r{};\n", count - 1 - index)),
    )
}

fn compare(place: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_compared"));
    command.current_dir(place).args(line.split(' ')).output().expect("the program runs")
}

#[test]
fn folders_are_assembled_and_compared() {
    if Ptxas::find().is_none() {
        return;
    }
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    let write = |path: &str, text: &str| {
        let path = place.path().join(path);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder can be made");
        fs::write(path, text).expect("a file can be written");
    };
    let (wide, narrow) = (kernel(60), kernel(8));
    for (path, before, after) in [
        ("x/a.ptx", &wide, &narrow),
        ("same.ptx", &narrow, &narrow),
        ("debug.ptx", &wide.replace("sm_80", "sm_80, debug"), &wide),
        ("never.ptx", &"no PTX".to_owned(), &wide),
    ] {
        write(&format!("before/{path}"), before);
        write(&format!("after/{path}"), after);
    }
    write("before/lone.ptx", &wide);
    let said = |line: &str, status: i32| {
        let output = compare(place.path(), line);
        let stdout = String::from_utf8(output.stdout).expect("it writes text");
        assert_eq!(output.status.code(), Some(status), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
        stdout
    };
    let whole = said("before after", 0);
    let modules = "modules: 2 assembled, 0 refused after only; left out: 1 for debuggers, 1 refused before, 1 in one folder only";
    assert!(whole.starts_with(modules), "{whole}");
    assert!(
        whole.contains("kernels: 2\n") && whole.contains("kernels with fewer registers: 1, the"),
        "{whole}"
    );
    assert!(whole.contains("again: 0 before, 0 after") && whole.contains("x/a.ptx, k"), "{whole}");
    let limited = said("before after --maxrregcount 24", 0);
    assert!(limited.contains("kernels with fewer bytes spilled and loaded again: 1, the"), "{limited}");

    write("after/same.ptx", "no PTX");
    let spoilt = said("before after", 1);
    assert!(
        spoilt.contains("1 assembled, 1 refused after only") && spoilt.contains("\n  same.ptx: "),
        "{spoilt}"
    );
    said("before nowhere", 1);
}
