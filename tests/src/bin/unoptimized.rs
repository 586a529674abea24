//! Writes `docs/UNOPTIMIZED.md`: what is left of code that its compiler has not optimized.
//!
//! ```text
//! tests/tools/unoptimized                                        # with clang, if it is there
//! cargo run --release -p ptxopt-tests --bin unoptimized          # without
//! ```
//!
//! For each C file of the corpus: the instructions that clang makes at -O0, what -O2 of this optimizer leaves of them, and
//! what clang's own optimizer does where it neither inlines, unrolls nor vectorizes. All are counted by the same reader.
//! What clang makes is counted where `--clang` names a folder of it, and kept in `tests/corpus/plain.tsv`.

use anyhow::{Context, Result, anyhow};
use clap::Parser;
use ptxopt::{OptLevel, Options, optimize};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::ptx::reader::{ReaderScratch, read};
use ptxopt_engine::ptx::scan::Module;
use ptxopt_engine::store::tables::CodeTables;
use ptxopt_engine::values::def_use::DefUse;
use ptxopt_systems::ssa::promote_locals::addresses::{Access, Tracer};
use ptxopt_systems::ssa::promote_locals::slots::find_components;
use ptxopt_tests::modules::{ModuleFile, corpus, in_parallel, tests_folder};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the counts of clang's optimized code are kept.
const PLAIN: &str = "corpus/plain.tsv";

/// Compares what is left of unoptimized code with what clang's own optimizer leaves.
#[derive(Parser)]
struct Arguments {
    /// A folder with what clang makes of the corpus with its optimizer on, but without inlining and the like
    #[arg(long)]
    clang: Option<PathBuf>,
}

/// One C file.
struct Row {
    name: String,
    before: u64,
    after: u64,
    /// By function: accesses to local memory, before and after.
    frames: BTreeMap<String, [Frame; 2]>,
}

/// The accesses of a function to its local variables.
#[derive(Clone, Debug, Default)]
struct Frame {
    /// Why a variable stays as a whole.
    escape: Option<&'static str>,
    /// Accesses, by what may keep each in memory.
    accesses: BTreeMap<&'static str, u64>,
}

impl Frame {
    fn count(&mut self, reason: &'static str, accesses: usize) {
        *self.accesses.entry(reason).or_default() += accesses as u64;
    }

    fn total(&self) -> u64 {
        self.accesses.values().sum()
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let modules: Vec<ModuleFile> =
        corpus().into_iter().filter(|module| module.name.starts_with("corpus/O0/")).collect();
    let rows: Vec<Row> = in_parallel(&modules, row).into_iter().collect::<Result<_>>()?;
    let kept = tests_folder().join(PLAIN);
    if let Some(folder) = &arguments.clang {
        fs::write(&kept, count_plain(folder, &rows)?)?;
    }
    let plain = read_plain(&kept)?;
    let path = tests_folder().with_file_name("docs").join("UNOPTIMIZED.md");
    fs::write(&path, page(&rows, &plain)?)?;
    println!("{}", path.display());
    Ok(())
}

fn row(module: &ModuleFile) -> Result<Row> {
    let text = module.text();
    let options = Options { threads: 1, ..Options::default() };
    let output = optimize(&text, &options).map_err(|error| anyhow!("{}: {error}", module.name))?;
    let mut frames: BTreeMap<String, [Frame; 2]> = BTreeMap::new();
    for (at, text) in [&text, &output.text].into_iter().enumerate() {
        for (function, frame) in frames_of(text)? {
            frames.entry(function).or_default()[at] = frame;
        }
    }
    Ok(Row {
        name: module.stem(),
        before: output.report.instructions_in,
        after: output.report.instructions_out,
        frames,
    })
}

/// The accesses to local variables, by function.
fn frames_of(text: &[u8]) -> Result<Vec<(String, Frame)>> {
    let module = Module::scan(text).map_err(|error| anyhow!("{error:?}"))?;
    let (mut forms, mut scratch) = (FormTable::default(), ReaderScratch::default());
    let mut tables = CodeTables::default();
    read(&module, &module.functions, &mut forms, &mut scratch, &mut tables)
        .map_err(|error| anyhow!("{error:?}"))?;
    let (mut tracer, mut def_use, mut components) = (Tracer::default(), DefUse::default(), Vec::new());
    let mut frames = Vec::new();
    for view in tables.view().functions() {
        def_use.build(&view);
        let mut frame = Frame::default();
        match tracer.trace(&view, &forms, &def_use) {
            Ok(()) => {
                frame.escape = tracer.variables.iter().find_map(|variable| Some(variable.escape?.1));
                let is_escaping =
                    |access: &&Access| tracer.variables[access.variable as usize].escape.is_some();
                frame.count(ESCAPES, tracer.accesses.iter().filter(is_escaping).count());
                find_components(&mut tracer, &mut components);
                for component in &components {
                    let shared = if component.verdict.is_err() { BESIDE } else { SLOTS };
                    for access in &tracer.accesses[component.accesses.clone()] {
                        frame.count(access.refusal.unwrap_or(shared), 1);
                    }
                }
            }
            Err((_, reason)) => frame.escape = Some(reason),
        }
        frames.push((String::from_utf8_lossy(&text[view.text.name.range()]).into_owned(), frame));
    }
    Ok(frames)
}

/// What is said of accesses that have no reason of their own.
const ESCAPES: &str = "the variable escapes";
const BESIDE: &str = "at a constant address, to bytes that one of the others may touch";
const SLOTS: &str = "at a constant address, to bytes that only such accesses touch";

/// Why there are two figures.
const WHY_TWO: &str = "\
A register has no address. So what is read or written at a computed address stays in memory, and with it what constant
addresses reach among the same bytes: the elements of an array that a loop fills and straight code uses. Phase 22 unrolls the loop
where its rounds are constant, and what is left then is no more than what came in. What still stays has an index that no number of
rounds makes constant, or a loop that would become too large; where only loads have it, other loads of the same bytes go. The second
figure counts what can be in registers without unrolling.
";

/// Counts what clang makes; one line a file.
fn count_plain(folder: &Path, rows: &[Row]) -> Result<String> {
    let mut table = String::new();
    for Row { name, .. } in rows {
        let path = folder.join(format!("{name}.ptx"));
        let text = fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let options = Options { level: OptLevel::O0, threads: 1, ..Options::default() };
        let output = optimize(&text, &options).map_err(|error| anyhow!("{}: {error}", path.display()))?;
        writeln!(table, "{name}\t{}", output.report.instructions_in)?;
    }
    Ok(table)
}

fn read_plain(path: &Path) -> Result<BTreeMap<String, u64>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let line = |line: &str| {
        let (name, count) = line.split_once('\t').context("a line without a tab")?;
        Ok((name.to_owned(), count.parse()?))
    };
    text.lines().map(line).collect()
}

fn page(rows: &[Row], plain: &BTreeMap<String, u64>) -> Result<String> {
    let mut page = format!(
        "{HEAD}\n| kernels | clang -O0 | ptxopt -O2 | of it | clang's optimizer | of it | ptxopt to clang |\n\
         |---|---:|---:|---:|---:|---:|---:|\n"
    );
    let mut logs = [0.0; 3];
    let mut sums = [0; 3];
    for row in rows {
        let clang = *plain.get(&row.name).with_context(|| format!("clang's count of `{}`", row.name))?;
        let counts = [row.before, row.after, clang];
        let ratios = ratios(counts);
        logs.iter_mut().zip(ratios).for_each(|(log, ratio)| *log += ratio.ln());
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        writeln!(page, "| {} {}", row.name, cells(counts, ratios))?;
    }
    writeln!(page, "| **all together** {}", cells(sums, ratios(sums)))?;
    let [left, left_by_clang, to_clang] = logs.map(|log| (log / rows.len() as f64).exp());
    writeln!(
        page,
        "| **geometric mean** | | | {:.3} | | {left_by_clang:.3} | {to_clang:.2} |\n\n\
         In the geometric mean **{:.1} % of the instructions go**; clang's optimizer takes {:.1} %.\n",
        left,
        100.0 * (1.0 - left),
        100.0 * (1.0 - left_by_clang)
    )?;
    page.push_str(&local_memory(rows)?);
    Ok(page)
}

fn ratios([before, after, clang]: [u64; 3]) -> [f64; 3] {
    let [before, after, clang] = [before, after, clang].map(|count| count as f64);
    [after / before, clang / before, after / clang]
}

fn cells([before, after, clang]: [u64; 3], [left, by_clang, to_clang]: [f64; 3]) -> String {
    format!("| {before} | {after} | {left:.3} | {clang} | {by_clang:.3} | {to_clang:.2} |")
}

/// The section on accesses to local variables.
fn local_memory(rows: &[Row]) -> Result<String> {
    let frames = || rows.iter().flat_map(|row| row.frames.values());
    let mut by_reason: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    let mut escaping: BTreeMap<&str, [u64; 3]> = BTreeMap::new();
    for [before, after] in frames() {
        if let Some(reason) = before.escape {
            let row = escaping.entry(reason).or_default();
            [row[0], row[1], row[2]] = [row[0] + 1, row[1] + before.total(), row[2] + after.total()];
            continue;
        }
        for (at, frame) in [before, after].into_iter().enumerate() {
            for (reason, count) in &frame.accesses {
                by_reason.entry(reason).or_default()[at] += count;
            }
        }
    }
    let gone = |[before, after]: [u64; 2]| 100.0 * (1.0 - after as f64 / before as f64);
    let all = by_reason.values().fold([0; 2], |all, counts| [all[0] + counts[0], all[1] + counts[1]]);
    let slots = by_reason.get(SLOTS).copied().unwrap_or_default();
    let mut text = format!(
        "## Local memory\n\nOf {} loads and stores of local variables that do not escape, {} are left: **{:.1} % are gone**. \
         Of the {} to bytes that only accesses at constant addresses touch, {} are left: **{:.1} %** are gone.\n\n{WHY_TWO}\n\
         | accesses | before | after |\n|---|---:|---:|\n",
        all[0],
        all[1],
        gone(all),
        slots[0],
        slots[1],
        gone(slots)
    );
    let mut rows: Vec<(&str, [u64; 2])> = by_reason.into_iter().collect();
    rows.sort_by_key(|&(reason, [before, _])| (std::cmp::Reverse(before), reason));
    for (reason, [before, after]) in rows.into_iter().filter(|(_, counts)| *counts != [0; 2]) {
        writeln!(text, "| {reason} | {before} | {after} |")?;
    }
    text.push_str(
        "\nClang puts all variables of a function into one frame, and from the address of one all others can be \
         reached. Where an address goes anywhere but into a load or store, all of the frame stays:\n\n\
         | because | functions | accesses before | after |\n|---|---:|---:|---:|\n",
    );
    for (reason, [functions, before, after]) in escaping {
        writeln!(text, "| {reason} | {functions} | {before} | {after} |")?;
    }
    Ok(text)
}

const HEAD: &str = "\
# Unoptimized code

What is left of code that its compiler has not optimized: the C files of the corpus as clang 22 compiles them at -O0, with
debuggers in mind and every variable in memory. Beside it stands what clang's own optimizer leaves of the same files, held to what
an optimizer of single functions can do: `-O2 -fno-inline -fno-unroll-loops -fno-vectorize -fno-slp-vectorize`. Instructions are
counted by `ptxopt`'s reader, in whole files. `tests/tools/unoptimized` makes this page again.
";
