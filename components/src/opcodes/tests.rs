//! The table against itself, against what the ISA says of whole families, and against a list of its effects.

use super::*;
use std::fmt::Write;
use std::path::Path;

fn pattern(mnemonic: &str) -> &'static str {
    let mut parts = mnemonic.split('.').map(str::as_bytes);
    let root = parts.next().unwrap();
    Opcodes::get().find(root, &parts.collect::<Vec<_>>()).unwrap().1.pattern
}

#[test]
fn every_row_is_what_its_own_pattern_means() {
    for row in Opcodes::rows() {
        assert_eq!(pattern(&row.pattern.replace('*', "")), row.pattern);
    }
}

#[test]
fn the_row_with_most_required_parts_wins() {
    assert_eq!(pattern("mul.wide.s32"), "mul*.wide");
    assert_eq!(pattern("bar.red.popc.u32"), "bar.red");
    assert_eq!(pattern("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"), "wgmma.mma_async");
}

#[test]
fn a_starred_run_is_contiguous_and_in_order() {
    assert_ne!(pattern("cvt.rn.f16x2.e4m3x2"), pattern("cvt.rn.satfinite.e4m3x2.f16x2"));
}

/// ISA 9.4: the first source of such a sum has the second type, the other one the first.
#[test]
fn sources_of_different_types_do_not_change_places() {
    for mnemonic in ["add.rn.e4m3x4.e5m2x4", "add.rn.f32x2.f16x2.f32x2", "mul.rn.e5m2x4.e4m3x4.ue8m0x4"] {
        let (root, words) = mnemonic.split_once('.').unwrap();
        let words: Vec<&[u8]> = words.split('.').map(str::as_bytes).collect();
        let (_, row) = Opcodes::get().find(root.as_bytes(), &words).unwrap();
        assert!(!row.effects.contains(Effects::COMMUTES), "{mnemonic}");
    }
}

fn root(row: &Row) -> &'static str {
    row.pattern.split(['.', '*']).next().unwrap_or_default()
}

/// Whether an instruction with the row writes a register.
fn has_result(row: &Row) -> bool {
    row.signature.split([' ', '|']).any(|part| part.starts_with(['=', '~'])) || row.signature == "call"
}

fn is_kept(row: &Row) -> bool {
    row.effects.intersects(Effects::KEEPS)
}

/// Dead-code elimination removes what has no result that is read, so a row without a result that is not kept would always
/// go.
#[test]
fn what_has_no_result_is_kept() {
    let lost: Vec<&str> =
        Opcodes::rows().filter(|row| !has_result(row) && !is_kept(row)).map(|row| row.pattern).collect();
    assert_eq!(lost, [""; 0]);
}

/// ISA, section 9.7: the threads of a warp, a CTA or a cluster, or grids, meet in these.
#[test]
fn what_threads_do_together_is_convergent() {
    const TOGETHER: &[&str] = &[
        "activemask",
        "bar",
        "barrier",
        "elect",
        "griddepcontrol",
        "ldmatrix",
        "match",
        "mma",
        "movmatrix",
        "redux",
        "setmaxnreg",
        "shfl",
        "stmatrix",
        "tcgen05",
        "vote",
        "wgmma",
        "wmma",
    ];
    // The only instructions of their roots that the whole warp executes.
    const ALONE: &[&str] = &["tensormap.cp_fenceproxy", "fabric.try_pullred"];
    let is_together = |row: &Row| TOGETHER.contains(&root(row)) || ALONE.contains(&row.pattern);
    let wrong: Vec<&str> = Opcodes::rows()
        .filter(|row| row.effects.contains(Effects::CONVERGENT) != is_together(row))
        .map(|row| row.pattern)
        .collect();
    assert_eq!(wrong, [""; 0]);
    assert!(TOGETHER.iter().all(|name| Opcodes::get().root(name).is_some()));
}

/// Memory that other threads see changes, or the order in which they see it.
#[test]
fn what_writes_memory_says_so() {
    const WRITES: &[&str] = &["atom", "discard", "mbarrier", "red", "st", "stmatrix", "sured", "sust"];
    const ATOMIC: &[&str] = &["atom", "mbarrier", "red", "sured"];
    for row in Opcodes::rows().filter(|row| row.pattern != "mbarrier.pending_count") {
        if WRITES.contains(&root(row)) || matches!(row.pattern, "multimem.st" | "multimem.red") {
            assert!(row.effects.contains(Effects::WRITE), "{}", row.pattern);
        }
        if ATOMIC.contains(&root(row)) || row.pattern == "multimem.red" {
            assert!(row.effects.contains(Effects::READ | Effects::ATOMIC), "{}", row.pattern);
        }
        if row.effects.intersects(Effects::WRITE | Effects::ATOMIC | Effects::CONVERGENT) {
            assert!(!row.effects.contains(Effects::SPECULATABLE), "{}", row.pattern);
        }
    }
}

/// Who waits for what was issued, and who is waited for.
#[test]
fn what_is_asynchronous_is_kept_in_order() {
    for row in Opcodes::rows() {
        let (parts, effects) = (row.pattern.split(['.', '*']).collect::<Vec<_>>(), row.effects);
        let waits = parts.iter().any(|part| {
            part.starts_with("wait")
                || part.ends_with("_wait")
                || part.starts_with("fence")
                || *part == "commit"
        });
        if (waits && row.pattern != "clusterlaunchcontrol") || row.pattern.contains("commit_group") {
            assert!(effects.contains(Effects::ORDER | Effects::PINNED), "{}", row.pattern);
        }
        if row.in_flight != InFlight::No {
            assert!(effects.contains(Effects::CONVERGENT | Effects::PINNED), "{}", row.pattern);
        }
        if effects.contains(Effects::ASYNC) {
            assert!(is_kept(row) && !effects.contains(Effects::SPECULATABLE), "{}", row.pattern);
        }
    }
}

/// The effects of each row, in a file that is read in review: a row that changes shows in the diff. `BLESS=1` writes it.
#[test]
fn effects_are_those_of_the_list() {
    let mut list = String::from("row\tremovable\teffects\tregisters in flight\n");
    let mut rows: Vec<&Row> = Opcodes::rows().collect();
    rows.sort_unstable_by_key(|row| row.pattern);
    for row in rows {
        let removable = if is_kept(row) { "no" } else { "yes" };
        let names: Vec<String> =
            row.effects.iter_names().map(|(name, _)| name.to_ascii_lowercase()).collect();
        let effects = if names.is_empty() { "pure".to_owned() } else { names.join(" ") };
        writeln!(list, "{}\t{removable}\t{effects}\t{:?}", row.pattern, row.in_flight).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/opcodes/effects.tsv");
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &list).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let changed: Vec<_> = list.lines().zip(found.lines()).filter(|(now, listed)| now != listed).collect();
    assert!(
        found == list,
        "src/opcodes/effects.tsv says otherwise (BLESS=1 writes it): {} against {} lines, first {:?}",
        list.lines().count(),
        found.lines().count(),
        changed.first()
    );
}
