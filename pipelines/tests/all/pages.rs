//! The pages about phases and rules are their tables, word for word.

use ptxopt_systems::values::general_optimize::rules::{FAMILIES, Rule};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Compares a page with what it must be; with `BLESS=1` writes it first. `filter` names its test.
fn check(page: &str, wanted: &str, filter: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(page);
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        fs::write(&path, wanted).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    let stale = found.lines().zip(wanted.lines()).find(|(found, wanted)| found != wanted);
    let help = format!("run `BLESS=1 cargo test -p ptxopt {filter}`");
    assert!(found == wanted, "{page} is stale, first at {stale:?}; {help}");
}

#[test]
fn phases_page_is_the_table() {
    check("docs/PHASES.md", &ptxopt::table::markdown(), "phases_page");
}

#[test]
fn rules_page_is_the_table() {
    check("docs/RULES.md", &rules_page(), "rules_page");
}

/// The text of `docs/RULES.md`.
fn rules_page() -> String {
    let mut page = String::from(
        "# The rules of general optimization\n\n\
         Generated from the tables in `systems/src/values/general_optimize/rules`. Change a table, then run\n\
         `BLESS=1 cargo test -p ptxopt rules_page`.\n\n\
         Each rule rewrites one instruction in place. Beside each guard stands the smallest program that goes wrong\n\
         without it. A remark says the reason where a rule was applied.\n",
    );
    let _ = writeln!(page, "\n{} rules.", FAMILIES.iter().map(|family| family.rules.len()).sum::<usize>());
    for family in FAMILIES {
        let _ = writeln!(page, "\n## {}", family.name);
        family.rules.iter().for_each(|rule| write_rule(&mut page, rule));
    }
    page
}

fn write_rule(page: &mut String, rule: &Rule) {
    let operations: Vec<String> =
        rule.operations.iter().map(|operation| format!("`{}`", operation.name())).collect();
    let _ = writeln!(page, "\n### {}\n\n```text\n{}\n```\n", rule.name, rule.pattern);
    let _ = writeln!(page, "Tried on {}. Reason: \"{}\".", operations.join(", "), rule.reason);
    for (at, guard) in rule.guards.iter().enumerate() {
        let before = if at == 0 { "\n" } else { "" };
        let _ = writeln!(page, "{before}- Needs: {}. Without: {}.", guard.needs, guard.without);
    }
}
