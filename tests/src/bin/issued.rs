//! Writes `docs/ISSUED.md`: what the kernels of the corpus issue, before and after.
//!
//! ```text
//! cargo run --release -p ptxopt-tests --bin issued
//! ```
//!
//! The emulator counts the warp instructions of each launch. A kernel is divergent where fewer than 32 lanes are active at one of
//! its issues. What rises is listed first, each with its cause.

use anyhow::{Result, anyhow};
use ptxopt::check::{CheckOptions, Reference, launches};
use ptxopt::{OptLevel, Options, optimize};
use ptxopt_emulator::Count;
use ptxopt_tests::modules::{ModuleFile, corpus, in_parallel, tests_folder};
use std::fmt::Write;
use std::fs;

/// How modules are optimized.
const WAYS: [&str; 3] = ["-O2", "-O3", "--structurize"];

/// Why kernels issue more, by way.
const CAUSES: [&str; WAYS.len()] = [
    "**not known**",
    "**not known**",
    "the pass sets and asks what a Flow block branches on, and where threads seldom part at branches that cross, that is all it does: \
     the lanes of an issue stay about the same",
];

const HEAD: &str = "\
# Issued warp instructions

Made by `cargo run --release -p ptxopt-tests --bin issued`. A warp that diverges issues the instructions of both ways, one after the
other. The emulator issues a warp's instructions as the ISA says, lanes that diverged meet again at the immediate
post-dominator, and it counts them: launches of the corpus, one seed each. Only kernels are listed at one of whose issues fewer
than 32 lanes are active.
";

/// A kernel.
struct Row {
    module: String,
    entry: String,
    before: Count,
    /// By way.
    after: [Count; WAYS.len()],
}

impl Row {
    fn ratio(&self, way: usize) -> f64 {
        self.after[way].issued as f64 / self.before.issued as f64
    }

    fn is_divergent(&self) -> bool {
        self.before.lanes < 32 * self.before.issued
    }
}

fn main() -> Result<()> {
    let rows: Vec<Vec<Row>> = in_parallel(&corpus(), rows_of).into_iter().collect::<Result<_>>()?;
    let rows: Vec<Row> = rows.into_iter().flatten().filter(Row::is_divergent).collect();
    let path = tests_folder().with_file_name("docs").join("ISSUED.md");
    fs::write(&path, page(&rows)?)?;
    println!("{}", path.display());
    Ok(())
}

fn options(way: usize) -> Options {
    match WAYS[way] {
        "-O3" => Options { level: OptLevel::O3, ..Options::default() },
        "--structurize" => {
            let mut options = Options::default();
            options.set_knob("structurizecfg=on").expect("the knob is there");
            options
        }
        _ => Options::default(),
    }
}

/// The kernels of a module that can be judged.
fn rows_of(module: &ModuleFile) -> Result<Vec<Row>> {
    let text = module.text();
    let Ok(lines) = launches::find(&module.path, &text) else { return Ok(Vec::new()) };
    let how = CheckOptions { seeds: 1, ..CheckOptions::default() };
    let Ok(reference) = Reference::new(&text, &lines, how) else { return Ok(Vec::new()) };
    let counts = |text: &[u8]| {
        let counts = reference.counts(text).map_err(|error| anyhow!(error.summary(&module.name, text)))?;
        Ok::<_, anyhow::Error>(
            counts.into_iter().map(|(entry, count)| (entry.to_owned(), count)).collect::<Vec<_>>(),
        )
    };
    let mut rows: Vec<Row> = counts(&text)?
        .into_iter()
        .map(|(entry, before)| Row {
            module: module.name.clone(),
            entry,
            before,
            after: [Count::default(); WAYS.len()],
        })
        .collect();
    for way in 0..WAYS.len() {
        let output = optimize(&text, &options(way))
            .map_err(|diagnostics| anyhow!(diagnostics.summary(&module.name, &text)))?;
        for (row, (_, count)) in rows.iter_mut().zip(counts(&output.text)?) {
            row.after[way] = count;
        }
    }
    Ok(rows)
}

fn page(rows: &[Row]) -> Result<String> {
    let mut page = format!("{HEAD}\n| kernels | count |");
    WAYS.iter().try_for_each(|way| write!(page, " {way}, geometric mean |"))?;
    page.push_str("\n|---|---:|");
    WAYS.iter().for_each(|_| page.push_str("---:|"));
    page.push('\n');
    for (what, folder) in [("all", ""), ("clang -O0", "corpus/O0/"), ("clang -O3", "corpus/O3/")] {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.module.starts_with(folder)).collect();
        write!(page, "| {what} | {} |", rows.len())?;
        for way in 0..WAYS.len() {
            let sum: f64 = rows.iter().map(|row| row.ratio(way).ln()).sum();
            write!(page, " {:.3} |", (sum / rows.len() as f64).exp())?;
        }
        page.push('\n');
    }
    page.push_str("\n## What rises\n\n");
    page.push_str(&rises(rows)?);
    page.push_str("## By kernel\n\n| kernel | before | lanes |");
    WAYS.iter().try_for_each(|way| write!(page, " {way} | lanes | of it |"))?;
    page.push_str("\n|---|---:|---:|");
    WAYS.iter().for_each(|_| page.push_str("---:|---:|---:|"));
    page.push('\n');
    for row in rows {
        let cells = |count: &Count| {
            format!(" {} | {:.1} |", count.issued, count.lanes_per_issue().unwrap_or_default())
        };
        write!(page, "| {}: `{}` |{}", row.module, row.entry, cells(&row.before))?;
        for (way, count) in row.after.iter().enumerate() {
            write!(page, "{} {:.3} |", cells(count), row.ratio(way))?;
        }
        page.push('\n');
    }
    Ok(page)
}

/// The kernels that issue more than before, with the causes.
fn rises(rows: &[Row]) -> Result<String> {
    let mut text = String::new();
    for (way, (name, cause)) in WAYS.iter().zip(CAUSES).enumerate() {
        let risen: Vec<&Row> = rows.iter().filter(|row| row.after[way].issued > row.before.issued).collect();
        if risen.is_empty() {
            writeln!(text, "{name}: nothing.\n")?;
            continue;
        }
        writeln!(text, "{name}: {} kernels. The cause: {cause}.\n", risen.len())?;
        for row in risen {
            let (before, after) = (row.before.issued, row.after[way].issued);
            writeln!(text, "- {}: `{}`: {before} to {after}", row.module, row.entry)?;
        }
        text.push('\n');
    }
    Ok(text)
}
