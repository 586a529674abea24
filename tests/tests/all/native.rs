//! The emulator against the processor: corpus kernels compiled by clang both natively and to PTX, at -O0 and -O2 and
//! without contraction, leave the same bytes; a NaN equals a NaN.

use ptxopt_emulator::launch_lines::{Lane, LaunchLine};
use ptxopt_emulator::{Module, Options, run};
use ptxopt_tests::modules::{expect_none, in_parallel, tests_folder};
use ptxopt_tests::native::{Kernel, ORDER_DEPENDENT, Source, clang_or_skip};
use ptxopt_tests::say::say;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Files that speak the GPU's assembly language, which has no native twin.
const NO_TWIN: &[&str] = &[
    "async_copy_pipeline",
    "matmul_mma_f16",
    "matmul_mma_mixed",
    "matmul_wmma",
    "mbarrier_pipeline",
    "quantise",
];

/// Kernels that must be compared, at least.
const COMPARED_MIN: usize = 40;

/// What became of one kernel at one level.
enum Outcome {
    Equal,
    NotCompared,
    Wrong(String),
}

#[test]
fn kernels_leave_the_same_bytes_natively() {
    let Some(clang) = clang_or_skip() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let sources = sources();
    let results = in_parallel(&sources, |path| compare(clang, &Source::read(path), folder.path()));
    let results: Vec<(String, Outcome)> = results.into_iter().flatten().collect();
    let compared: BTreeSet<&String> = results
        .iter()
        .filter(|(_, outcome)| matches!(outcome, Outcome::Equal))
        .map(|(name, _)| name)
        .collect();
    let set_aside = results.iter().filter(|(_, outcome)| matches!(outcome, Outcome::NotCompared)).count() / 2;
    say(&format!("native: {} kernels agree at -O0 and -O2, {set_aside} are not compared", compared.len()));
    let wrong: Vec<String> = results
        .iter()
        .filter_map(|(name, outcome)| match outcome {
            Outcome::Wrong(text) => Some(format!("{name}: {text}")),
            _ => None,
        })
        .collect();
    expect_none("kernels differ", &wrong);
    assert!(compared.len() >= COMPARED_MIN, "only {} kernels were compared", compared.len());
}

fn sources() -> Vec<PathBuf> {
    let entries = fs::read_dir(tests_folder().join("corpus/src")).expect("the corpus is there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        path.extension().is_some_and(|extension| extension == "c") && !NO_TWIN.contains(&stem.as_str())
    });
    paths.sort();
    paths
}

/// Every kernel of a file at both levels.
fn compare(clang: &str, source: &Source, folder: &Path) -> Vec<(String, Outcome)> {
    let program = match source.program(clang, folder) {
        Ok(program) => program,
        Err(error) => return vec![(source.name.clone(), Outcome::Wrong(error))],
    };
    let mut results = Vec::new();
    for level in ["-O0", "-O2"] {
        let module =
            source.ptx(clang, level).and_then(|text| Module::load(&text).map_err(|error| error.to_string()));
        let module = match module {
            Ok(module) => module,
            Err(error) => {
                results.push((source.name.clone(), Outcome::Wrong(format!("{level}: {error}"))));
                continue;
            }
        };
        for kernel in source.kernels() {
            let name = kernel.line.entry.clone();
            let outcome = if ORDER_DEPENDENT.iter().any(|(other, _)| *other == name) {
                Outcome::NotCompared
            } else {
                match difference(kernel, &program, &module) {
                    Ok(true) => Outcome::Equal,
                    Ok(false) => Outcome::NotCompared,
                    Err(error) => Outcome::Wrong(format!("{level}: {error}")),
                }
            };
            results.push((name, outcome));
        }
    }
    results
}

/// Whether the kernel could be compared; the error says what differs.
fn difference(kernel: &Kernel, program: &Path, module: &Module) -> Result<bool, String> {
    const SEED: u64 = 1;
    let Some(native) = kernel.run(program, SEED)? else { return Ok(false) };
    let outcome = run(module, &kernel.line.launch(SEED), &Options::default());
    if let Some(stop) = outcome.stop {
        return Err(stop.to_string());
    }
    assert_eq!(native.len(), outcome.buffers.len());
    let lanes = lanes_of_buffers(&kernel.line);
    for (at, ((native, emulated), lane)) in native.iter().zip(&outcome.buffers).zip(lanes).enumerate() {
        let elements = native.chunks(lane.size()).zip(emulated.chunks(lane.size()));
        for (index, (native, emulated)) in elements.enumerate() {
            if native != emulated && !(is_nan(lane, native) && is_nan(lane, emulated)) {
                return Err(format!("buffer {at}, element {index}: {emulated:02x?}, natively {native:02x?}"));
            }
        }
    }
    Ok(true)
}

fn lanes_of_buffers(line: &LaunchLine) -> Vec<Lane> {
    let buffers = line.arguments.iter().filter(|argument| argument.is_buffer);
    buffers.map(|argument| argument.element.lane).collect()
}

fn is_nan(lane: Lane, bytes: &[u8]) -> bool {
    match lane {
        Lane::Int(_) => false,
        Lane::F16 => u16::from_le_bytes(bytes.try_into().expect("two bytes")) & 0x7fff > 0x7c00,
        Lane::F32 => f32::from_le_bytes(bytes.try_into().expect("four bytes")).is_nan(),
        Lane::F64 => f64::from_le_bytes(bytes.try_into().expect("eight bytes")).is_nan(),
    }
}
