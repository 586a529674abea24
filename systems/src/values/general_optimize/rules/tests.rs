//! What the table of rules promises: names and golden files.

use super::{FAMILIES, Rule};
use crate::check::tests::run;
use crate::flow::split_at_control_flow::PHASE as SPLIT;
use crate::ssa::build_ssa;
use crate::values::general_optimize::PHASE;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn rules() -> impl Iterator<Item = &'static Rule> {
    FAMILIES.iter().flat_map(|family| family.rules)
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

#[test]
fn rules_have_names_and_reasons_of_their_own() {
    let names: BTreeSet<&str> = rules().map(|rule| rule.name).collect();
    let reasons: BTreeSet<&str> = rules().map(|rule| rule.reason).collect();
    assert_eq!((names.len(), reasons.len()), (rules().count(), rules().count()));
    for rule in rules() {
        let is_kebab = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        assert!(rule.name.bytes().all(is_kebab), "{}", rule.name);
        assert!(!rule.operations.is_empty() && rule.pattern.contains("->"), "{}", rule.name);
    }
}

/// `// RULE: NAME` in a golden file says that the rule changes it, and `// NOT-RULE: NAME` that it does not. Each rule has a file
/// that it changes, and one that it does not if anything guards it.
#[test]
fn every_rule_has_golden_files() {
    let (mut changed, mut left) = (BTreeSet::new(), BTreeSet::new());
    let by_name: BTreeMap<&str, &Rule> = rules().map(|rule| (rule.name, rule)).collect();
    let files = |name| fs::read_dir(folder(name)).unwrap().map(|entry| entry.unwrap().path());
    let as_written = files("tests/golden/general_optimize").map(|path| (path, &[&SPLIT][..]));
    let in_ssa_form =
        files("tests/golden/passed_branches").map(|path| (path, &[&SPLIT, &build_ssa::PHASE][..]));
    for (path, before) in as_written.chain(in_ssa_form) {
        let text = fs::read_to_string(&path).unwrap();
        let named = |directive| text.lines().filter_map(move |line| line.strip_prefix(directive));
        let wanted = named("// RULE: ").map(|name| (name, true));
        let named: Vec<(&str, bool)> =
            wanted.chain(named("// NOT-RULE: ").map(|name| (name, false))).collect();
        if named.is_empty() {
            continue;
        }
        let output = run(text.as_bytes(), &[before, &[&PHASE]].concat());
        let fired: BTreeSet<&str> = output.remarks.iter().map(|remark| &*remark.reason).collect();
        for (name, fires) in named {
            let rule = by_name.get(name).unwrap_or_else(|| panic!("{}: {name} is no rule", path.display()));
            assert_eq!(fired.contains(rule.reason), fires, "{}: {name}", path.display());
            let list = if fires { &mut changed } else { &mut left };
            list.insert(rule.name);
        }
    }
    for Rule { name, guards, .. } in rules() {
        assert!(changed.contains(name), "no golden file says `// RULE: {name}`");
        assert!(guards.is_empty() || left.contains(name), "no golden file says `// NOT-RULE: {name}`");
    }
}
