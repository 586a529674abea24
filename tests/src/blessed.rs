//! Texts that were looked at and accepted: they stand in files, and a change shows as a difference. `BLESS=1` in the environment
//! writes them again.

use crate::modules::tests_folder;
use similar::TextDiff;
use std::fs;

/// Whether what is found is to be accepted.
#[must_use]
pub fn is_blessing() -> bool {
    std::env::var_os("BLESS").is_some_and(|value| value == "1")
}

/// Compares a text with the one in a file, or writes it there; the path starts at the folder of the tests.
///
/// # Panics
/// When they differ, with the lines that do, or when the file cannot be written.
pub fn expect_blessed(path: &str, text: &str) {
    let path = tests_folder().join(path);
    if is_blessing() {
        fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("the folder can be made");
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    let blessed = fs::read_to_string(&path).unwrap_or_default();
    if blessed != text {
        let diff = TextDiff::from_lines(&*blessed, text);
        let diff = diff.unified_diff().context_radius(0).header("blessed", "found").to_string();
        panic!("{} (BLESS=1 accepts it)\n{diff}", path.display());
    }
}
