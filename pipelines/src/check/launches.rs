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
    let comments = text.split(|&byte| byte == b'\n').filter_map(|line| line.strip_prefix(COMMENT));
    let comments = comments.filter_map(|line| std::str::from_utf8(line).ok());
    comments.filter(is_launch).map(|line| Ok(LaunchLine::parse(line)?)).collect()
}

/// Whether `line` is meant as a launch line: a comment may be a sentence that starts with the same word.
fn is_launch(line: &&str) -> bool {
    line.split_ascii_whitespace().nth(1) == Some("grid")
}

/// The lines of a file that start with `prefix`, which is cut off.
fn in_file(path: &Path, prefix: &str) -> Result<Vec<LaunchLine>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let lines = text.lines().filter_map(|line| line.strip_prefix(prefix)).filter(is_launch);
    lines
        .map(|line| LaunchLine::parse(line).with_context(|| format!("`{}`: `{line}`", path.display())))
        .collect()
}
