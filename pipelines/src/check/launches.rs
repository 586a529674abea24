//! Where launch lines come from: a file beside the module, or comments in its text.

use anyhow::{Context, Result};
use ptxopt_emulator::launch_lines::LaunchLine;
use std::fs;
use std::path::Path;

/// What starts a launch comment in a module's text.
const COMMENT: &[u8] = b"// launch ";

/// The launch lines of the module `text` that stands in `path`, in this order: comments `// launch KERNEL ...` in the
/// text, the file beside it whose name ends in `.launch` instead of `.ptx`, and the lines that start with the
/// module's name in a file `launches` of its folder or of the one above.
///
/// # Errors
/// A line that is none, or a file that cannot be read.
pub fn find(path: &Path, text: &[u8]) -> Result<Vec<LaunchLine>> {
    let mut lines = in_text(text)?;
    let beside = path.with_extension("launch");
    if beside.is_file() {
        lines.extend(in_file(&beside, "")?);
    }
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    // The corpus names its debug modules saxpy.O3.ptx.
    let module = stem.split('.').next().unwrap_or_default();
    for folder in path.ancestors().skip(1).take(2) {
        let shared = folder.join("launches");
        if shared.is_file() {
            lines.extend(in_file(&shared, &format!("{module} "))?);
        }
    }
    lines.dedup();
    Ok(lines)
}

/// The launch comments of a module's text.
///
/// # Errors
/// A comment that is no launch line.
pub fn in_text(text: &[u8]) -> Result<Vec<LaunchLine>> {
    let lines = text.split(|&byte| byte == b'\n').zip(1..);
    let comments = lines
        .filter_map(|(line, number)| Some((std::str::from_utf8(line.strip_prefix(COMMENT)?).ok()?, number)));
    comments
        .filter(|(line, _)| is_launch(line))
        .map(|(line, number)| LaunchLine::parse(line).with_context(|| format!("line {number}: `{line}`")))
        .collect()
}

/// Whether `line` is meant as a launch line: a comment may be a sentence that starts with the same word.
fn is_launch(line: &str) -> bool {
    line.split_ascii_whitespace().nth(1) == Some("grid")
}

/// The lines of a file that start with `prefix`, which is cut off, but for comments and blank ones.
fn in_file(path: &Path, prefix: &str) -> Result<Vec<LaunchLine>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let is_said = |line: &str| !line.trim_start().starts_with("//") && !line.trim().is_empty();
    let lines = text.lines().zip(1..).filter_map(|(line, number)| Some((line.strip_prefix(prefix)?, number)));
    lines
        .filter(|(line, _)| is_said(line))
        .map(|(line, number)| {
            LaunchLine::parse(line).with_context(|| format!("`{}:{number}`: `{line}`", path.display()))
        })
        .collect()
}
