//! The page about the phases is the table, word for word.

use std::fs;
use std::path::Path;

#[test]
fn page_is_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/PHASES.md");
    let page = ptxopt::table::markdown();
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        fs::write(&path, &page).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    let stale = found.lines().zip(page.lines()).find(|(found, wanted)| found != wanted);
    assert!(
        found == page,
        "docs/PHASES.md is stale, first at {stale:?}; run `BLESS=1 cargo test -p ptxopt phases_page`"
    );
}
