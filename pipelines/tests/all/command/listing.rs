//! What the command says of itself: its version, its phases and its knobs.

use super::Place;

#[test]
fn version_is_one_line_and_with_options_a_cache_key() {
    let place = Place::new(&[]);
    let version = |line: &str| place.run(line).expect(0).stdout;
    let plain = format!("ptxopt {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(version("--version"), plain);
    assert_eq!(version("-V"), plain);
    let keys = ["--version -v", "--version -O3", "--version -O3 --knob 464=2", "--version --verify"];
    let keys: std::collections::BTreeSet<_> = keys.into_iter().map(version).collect();
    assert_eq!(keys.len(), 4);
    assert!(keys.iter().all(|key| key.starts_with(plain.trim_end()) && key.lines().count() == 1));
    assert_eq!(version("--version -v"), version("--version -O2 -j 7"));
}

#[test]
fn phases_and_knobs_are_listed() {
    let place = Place::new(&[]);
    let phases = place.run("phases -O0 --knob DisablePhases=76").expect(0).stdout;
    let line = |name: &str| phases.lines().find(|line| line.contains(name)).unwrap();
    assert!(line("UpdateAfterOptimize").contains("disabled"), "{phases}");
    assert!(line("OriPerformLiveDeadFirst").contains("not at this level"), "{phases}");
    assert_eq!(phases.lines().filter(|line| line.contains("NOP")).count(), 1);
    let knobs = place.run("knobs --knob 474=0.5").expect(0).stdout;
    assert!(knobs.lines().any(|line| line.contains("Knob474") && line.contains("0.5")), "{knobs}");
}
