//! The program that runs on the machine with the GPU: compiled here, with its sources beside it.

use super::folder::Folder;
use super::results::Results;
use crate::modules::tests_folder;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the program is made of.
const SOURCES: &[&str] = &["host.c", "worker.c", "folder.c", "driver.h", "folder.h", "worker.h"];

/// Compilers that are tried, in this order.
const COMPILERS: &[&str] = &["cc", "clang-22", "clang", "gcc"];

/// Compiles and starts the program where there is a compiler only on the machine with the GPU, or an older C library.
const SCRIPT: &str = r#"#!/bin/sh
# Runs this folder on the GPU of this machine; arguments go to the host.
cd "$(dirname "$0")" || exit 2
if ! ./host --usage 2>&1 | grep -q usage; then
    ${CC:-cc} -std=gnu11 -O1 -o host source/host.c source/worker.c source/folder.c -ldl || exit 2
fi
exec ./host "$@"
"#;

/// What a program ends with when the machine has no GPU.
pub const NO_GPU: i32 = 77;

/// The first compiler that is installed.
#[must_use]
pub fn compiler() -> Option<&'static str> {
    let answers = |name: &&&str| {
        let output = Command::new(name).arg("--version").output();
        output.is_ok_and(|output| output.status.success())
    };
    COMPILERS.iter().find(answers).copied()
}

/// The path of a file in `tests/gpu`.
#[must_use]
pub fn source(name: &str) -> PathBuf {
    tests_folder().join("gpu").join(name)
}

/// Compiles `sources` to `output`.
///
/// # Errors
/// What the compiler says.
pub fn compile(compiler: &str, flags: &[&str], sources: &[PathBuf], output: &Path) -> Result<(), String> {
    let mut command = Command::new(compiler);
    command.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1"]).args(flags).args(sources);
    let run = command.arg("-ldl").arg("-o").arg(output).output().map_err(|error| error.to_string())?;
    if run.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&run.stderr).into_owned()) }
}

/// Puts the host into `folder`: its sources and the script `run`, and the program where `compiler` is given.
///
/// # Errors
/// A file that cannot be written, or what the compiler says.
pub fn install(folder: &Path, compiler: Option<&str>) -> Result<(), String> {
    let words = |error: std::io::Error| error.to_string();
    fs::create_dir_all(folder.join("source")).map_err(words)?;
    for name in SOURCES {
        fs::copy(source(name), folder.join("source").join(name)).map_err(words)?;
    }
    let script = folder.join("run");
    fs::write(&script, SCRIPT).map_err(words)?;
    make_executable(&script).map_err(words)?;
    let units: Vec<PathBuf> =
        SOURCES.iter().filter(|name| name.ends_with(".c")).map(|name| source(name)).collect();
    compiler.map_or(Ok(()), |compiler| compile(compiler, &[], &units, &folder.join("host")))
}

/// What `sm_` the GPU of this machine is.
///
/// # Errors
/// Why there is none: a line that starts with `skipped:` where that is no fault.
pub fn device_arch(compiler: &str) -> Result<u32, String> {
    let words = |error: std::io::Error| error.to_string();
    let folder = tempfile::tempdir().map_err(words)?;
    Folder::create(folder.path()).and_then(Folder::finish).map_err(words)?;
    install(folder.path(), Some(compiler))?;
    let output = Command::new(folder.path().join("run")).output().map_err(words)?;
    match output.status.code() {
        Some(0) => Results::read(folder.path()).map(|results| results.arch),
        Some(NO_GPU) => Err(String::from_utf8_lossy(&output.stdout).trim_end().to_owned()),
        _ => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

#[cfg(unix)]
fn make_executable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> std::io::Result<()> {
    Ok(())
}
