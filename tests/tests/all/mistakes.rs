//! The judge bites: each deliberate mistake is caught within a stated number of kernels, and none is seen where there is
//! none.

use ptxopt_tests::blessed::expect_blessed;
use ptxopt_tests::mistakes::line::print;
use ptxopt_tests::mistakes::{Judged, Kernels, Mistake, OF_PHASES, all, markdown};
use ptxopt_tests::modules::{expect_none, in_parallel};
use ptxopt_tests::say::say;

/// How far a mistake without a limit is looked for, when the environment asks for measurements.
const MEASURED_MAX: u32 = 60;

/// The number of the kernel that catches the mistake among those with a place for it, and what it saw.
fn caught<'k>(
    mistake: &Mistake,
    kernels: impl Iterator<Item = &'k Judged>,
    limit: u32,
) -> Result<(u32, String), u32> {
    let mut tried = 0;
    for kernel in kernels {
        let Some(lines) = (mistake.apply)(&kernel.lines) else { continue };
        if lines == kernel.lines {
            continue;
        }
        tried += 1;
        if let Some(difference) = kernel.differs(&print(&lines)) {
            return Ok((tried, format!("{}: {difference}", kernel.name)));
        }
        if tried >= limit {
            break;
        }
    }
    Err(tried)
}

#[test]
fn every_mistake_is_caught_within_its_limit() {
    let is_measured = std::env::var_os("MEASURE").is_some();
    let kernels = Kernels::new();
    let failures = in_parallel(&all(), |mistake| {
        let mut failures = Vec::new();
        let mut needed = Vec::new();
        for (source, limit) in [("corpus", mistake.corpus_max), ("generated", mistake.generated_max)] {
            let Some(limit) = (if is_measured { Some(MEASURED_MAX) } else { limit }) else {
                needed.push(format!("{source} -"));
                continue;
            };
            let found = match source {
                "corpus" => caught(mistake, kernels.corpus(), limit),
                _ => caught(mistake, kernels.generated(), limit),
            };
            match found {
                Ok((tried, what)) => needed.push(format!("{source} {tried} ({what})")),
                Err(tried) => {
                    needed.push(format!("{source} none of {tried}"));
                    failures.push(format!("{} is not caught by {tried} kernels: {source}", mistake.name));
                }
            }
        }
        say(&format!("mistake {}: {}", mistake.name, needed.join(", ")));
        failures
    });
    expect_none("mistakes are not caught", &failures.concat());
}

#[test]
fn each_mistake_has_a_name_of_its_own_and_a_limit() {
    let mut names: Vec<&str> = all().iter().map(|mistake| mistake.name).collect();
    assert!(names.len() >= 90, "{}", names.len());
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all().len());
    assert!(all().iter().all(|mistake| mistake.corpus_max.is_some() || mistake.generated_max.is_some()));
}

#[test]
fn phases_name_mistakes_that_exist() {
    let known: Vec<&str> = all().iter().map(|mistake| mistake.name).collect();
    let named = OF_PHASES.into_iter().flat_map(|(_, names)| names);
    let unknown: Vec<&&str> = named.filter(|name| !known.contains(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn page_is_the_table() {
    expect_blessed("../docs/MISTAKES.md", &markdown(&all()));
}
