//! `tools/ptxas`: the assembler with the optimizer in front of it.

use super::{BROKEN, KERNEL, Place};
use std::path::Path;
use std::process::{Command, Stdio};

/// An assembler whose code is the module. Where there is a file `picky`, it refuses modules of other folders.
const ASSEMBLER: &str = "#!/bin/sh
input=
for argument; do case $argument in *.ptx | *.s) input=$argument ;; esac; done
case $input in */*) if [ -e picky ]; then echo refused >&2; exit 9; fi ;; esac
if [ -z \"$input\" ]; then echo \"release 13.0 $*\"; else cat \"$input\" >out.cubin; echo assembled >&2; fi
";

/// A place with the assembler in it.
fn place(files: &[(&str, &str)]) -> Place {
    let place = Place::new(files);
    std::fs::write(place.path("script"), ASSEMBLER).unwrap();
    // Another program writes it: what this one has open for writing, a child of another thread may hold open.
    let installed = Command::new("install")
        .args(["-m", "755", "script", "assembler"])
        .current_dir(place.path("."))
        .status();
    assert!(installed.unwrap().success());
    place
}

/// What the tool prints to standard output and standard error, and its status.
fn assemble(place: &Place, arguments: &[&str]) -> (String, String, Option<i32>) {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/ptxas");
    let mut command = Command::new(tool);
    command.args(arguments).current_dir(place.path(".")).stdin(Stdio::null());
    command.env("PTXOPT", env!("CARGO_BIN_EXE_ptxopt")).env("PTXOPT_FLAGS", "-O2 --no-unroll");
    command.env("PTXOPT_PTXAS", place.path("assembler"));
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code())
}

#[test]
fn the_assembler_is_given_what_the_optimizer_makes() {
    let place = place(&[("in.ptx", KERNEL)]);
    assert_eq!(place.run("opt in.ptx -o expected.ptx -O2 --no-unroll").status, Some(0));
    let assembled = assemble(&place, &["-arch=sm_80", "in.ptx", "-o", "out.cubin"]);
    assert_eq!(assembled, (String::new(), "assembled\n".into(), Some(0)));
    assert_eq!(place.text("out.cubin"), place.text("expected.ptx"));
    assert!(!place.text("out.cubin").contains("mul.lo"), "nothing reads the product");
    assert_eq!(place.text("in.ptx"), KERNEL);
}

/// clang's driver writes modules to files that end in `.s`.
#[test]
fn a_module_is_known_by_its_text() {
    let place = place(&[("in.s", KERNEL), ("out.cubin", KERNEL)]);
    let assembled = assemble(&place, &["-o", "out.cubin", "in.s"]);
    assert_eq!(assembled, (String::new(), "assembled\n".into(), Some(0)));
    assert!(!place.text("out.cubin").contains("mul.lo"), "nothing reads the product");
}

#[test]
fn what_is_no_module_goes_through() {
    let place = place(&[]);
    let printed = assemble(&place, &["--help"]);
    assert_eq!(printed, ("release 13.0 --help\n".into(), String::new(), Some(0)));
}

/// Caches of compiled kernels ask for the version of the assembler.
#[test]
fn the_version_names_the_optimizer_and_its_options() {
    let place = place(&[]);
    let (printed, messages, status) = assemble(&place, &["--version"]);
    let own = place.run("--version -O2 --no-unroll").stdout;
    assert_eq!((messages.as_str(), status), ("", Some(0)));
    assert_eq!(printed, format!("release 13.0 --version\n{own}"));
    assert_ne!(own, place.run("--version -O2").stdout);
}

#[test]
fn a_module_that_the_optimizer_refuses_is_assembled_as_it_is() {
    let place = place(&[("in.ptx", BROKEN)]);
    let assembled = assemble(&place, &["in.ptx"]);
    assert_eq!(assembled, (String::new(), "assembled\n".into(), Some(0)));
    assert_eq!(place.text("out.cubin"), BROKEN);
}

#[test]
fn a_module_whose_optimized_form_the_assembler_refuses_is_assembled_as_it_is() {
    let place = place(&[("in.ptx", KERNEL), ("picky", "")]);
    let assembled = assemble(&place, &["in.ptx"]);
    assert_eq!(assembled, (String::new(), "assembled\n".into(), Some(0)));
    assert_eq!(place.text("out.cubin"), KERNEL);
}

#[test]
fn the_status_is_that_of_the_assembler() {
    let place = place(&[("folder/in.ptx", KERNEL), ("picky", "")]);
    assert_eq!(assemble(&place, &["folder/in.ptx"]), (String::new(), "refused\n".into(), Some(9)));
}
