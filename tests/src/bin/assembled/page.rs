//! The page that the program writes.

use crate::{Arguments, Clang, Row};
use anyhow::{Context, Result};
use ptxopt_tests::assembly::Assembly;
use ptxopt_tests::pairs::{self, Figure, Pair, mean, ratio};
use ptxopt_tests::sets::Set;
use std::cmp::Reverse;
use std::fmt::Write;
use std::time::Duration;

/// Kernels that a list of the worst names.
const WORST_MAX: usize = 20;

/// What the page is about.
pub struct Found<'f> {
    /// Code that no optimizer has seen.
    pub unoptimized: &'f Set<Row>,
    /// The other half of the corpus.
    pub optimized: &'f Set<Row>,
    /// A sample of what other compilers make.
    pub wild: Option<&'f Set<Row>>,
    /// Modules that the sample is taken from.
    pub wild_count: usize,
    /// What clang's optimizer makes.
    pub clang: Option<&'f Clang>,
    /// How it was found.
    pub arguments: &'f Arguments,
}

/// What became of a module in one of the ways to assemble it.
type Way = fn(&Row) -> &Assembly;

/// All of the page.
pub fn page(found: &Found) -> Result<String> {
    let mut page = format!("{HEAD}\n{}\n", times_said(found.arguments));
    page.push_str("## Code that clang has not optimized\n\n");
    summary(&mut page, "`tests/corpus/O0`, what clang 22 makes at -O0", found.unoptimized, true)?;
    lists(&mut page, found.unoptimized)?;
    files(&mut page, &found.unoptimized.rows)?;
    if let Some(clang) = found.clang {
        chains(&mut page, &found.unoptimized.rows, clang)?;
    }
    page.push_str("\n## Code that clang has optimized, and code written by hand\n\n");
    summary(&mut page, "`tests/corpus/O3` and `tests/corpus/ptx`", found.optimized, false)?;
    lists(&mut page, found.optimized)?;
    page.push_str("\n## Code that other compilers make\n\n");
    match found.wild {
        Some(set) => {
            let every = found.arguments.every;
            let what = format!(
                "a sample of the wild set (`tests/wild`), one module in {every} by name, from the first on, of {}",
                found.wild_count
            );
            summary(&mut page, &what, set, false)?;
            lists(&mut page, set)?;
        }
        None => page.push_str("The wild set was not there.\n"),
    }
    Ok(page)
}

fn times_said(arguments: &Arguments) -> String {
    format!(
        "Times are CPU time, user and system, of one run of the program: the least of {} runs, of {} in the wild set. The optimizer's\n\
         is that of its work within a process, on one thread.\n",
        arguments.runs, arguments.wild_runs
    )
}

/// The geometric means of a set, with what the project aims at.
fn summary(page: &mut String, what: &str, set: &Set<Row>, is_unoptimized: bool) -> Result<()> {
    let pairs = pairs(&set.rows);
    let (rows, kernels) = (set.rows.len(), pairs.len());
    writeln!(
        page,
        "What becomes of {what}:\n{rows} modules with {kernels} kernels. Modules for debuggers, left out: {}. Refused by the assembler as \
         they are, left out: {}.\nRefused after the optimizer only: {}.\n",
        set.for_debuggers,
        set.refused,
        set.spoilt.len()
    )?;
    for (module, words) in &set.spoilt {
        writeln!(page, "- `{module}`: {}", words.lines().next().unwrap_or_default())?;
    }
    let of_modules = |ratio: &dyn Fn(&Row) -> f64| mean(set.rows.iter().map(ratio));
    let goal = |of_unoptimized: &'static str, of_others: &'static str| {
        if is_unoptimized { of_unoptimized } else { of_others }
    };
    page.push_str(
        "| after / before, geometric mean | of | after | after, with `--no-unroll` | goal |\n|---|---|---:|---:|---:|\n",
    );
    let ways: [Way; 2] = [|row| &row.after, |row| &row.rolled];
    let of_kernels =
        |figure: Figure| ways.map(|way| mean(pairs_of(&set.rows, way).iter().map(|pair| pair.ratio(figure))));
    let ms_of = |way: Way, optimizer: fn(&Row) -> Duration| {
        of_modules(&|row| ms(way(row).cpu + optimizer(row)) / ms(row.before.cpu))
    };
    let lines = [
        ("registers", "kernels", of_kernels(|kernel| kernel.registers), goal("0.93", "1.00")),
        ("machine instructions", "kernels", of_kernels(|kernel| kernel.instructions), goal("", "1.00")),
        (
            "bytes of code",
            "modules",
            ways.map(|way| of_modules(&|row| ratio(row.before.code_bytes, way(row).code_bytes))),
            goal("0.70", ""),
        ),
        (
            "time of the assembler",
            "modules",
            ways.map(|way| ms_of(way, |_| Duration::ZERO)),
            goal("0.85", ""),
        ),
        ("time of optimizer and assembler", "modules", ways.map(|way| ms_of(way, |row| row.optimizer)), ""),
    ];
    for (name, of, [value, rolled], goal) in lines {
        writeln!(page, "| {name} | {of} | {value:.3} | {rolled:.3} | {goal} |")?;
    }
    writeln!(
        page,
        "\n`ptxas -O1` after the optimizer, beside `ptxas -O3` without it: {:.3} of the time, {:.3} of the bytes of code, {:.3} of the\n\
         registers, in geometric means over modules.\n",
        of_modules(&|row| row.quick.cpu.as_secs_f64() / row.before.cpu.as_secs_f64()),
        of_modules(&|row| ratio(row.before.code_bytes, row.quick.code_bytes)),
        of_modules(&|row| {
            ratio(row.before.sum(|kernel| kernel.registers), row.quick.sum(|kernel| kernel.registers))
        })
    )?;
    sums(page, set, &pairs)
}

/// What a set adds up to, and how many kernels get better and worse.
fn sums(page: &mut String, set: &Set<Row>, pairs: &[Pair]) -> Result<()> {
    page.push_str(
        "The same in sums, and how many kernels have more of it and less:\n\n\
         | | before | after | ptxas -O1 after | kernels with more | with less |\n|---|---:|---:|---:|---:|---:|\n",
    );
    let figures: [(&str, Figure); 4] = [
        ("registers", |kernel| kernel.registers),
        ("machine instructions", |kernel| kernel.instructions),
        ("bytes spilled and loaded again", |kernel| kernel.spills),
        ("bytes of stack frames", |kernel| kernel.stack),
    ];
    for (name, figure) in figures {
        let sum = |assembly: fn(&Row) -> &Assembly| {
            set.rows.iter().map(|row| assembly(row).sum(figure)).sum::<u64>()
        };
        let share = |is_it: fn(u64, u64) -> bool| {
            let count = pairs.iter().filter(|pair| is_it(figure(&pair.before), figure(&pair.after))).count();
            format!("{count} ({:.1} %)", 100.0 * count as f64 / pairs.len().max(1) as f64)
        };
        let [before, after, quick] = [sum(|row| &row.before), sum(|row| &row.after), sum(|row| &row.quick)];
        let (more, less) = (share(|before, after| after > before), share(|before, after| after < before));
        writeln!(page, "| {name} | {before} | {after} | {quick} | {more} | {less} |")?;
    }
    let seconds = |time: fn(&Row) -> Duration| set.rows.iter().map(time).sum::<Duration>().as_secs_f64();
    writeln!(
        page,
        "\nThe assembler takes {:.2} s for all of them before, {:.2} s after, at -O1 {:.2} s; the optimizer {:.2} s.\n",
        seconds(|row| row.before.cpu),
        seconds(|row| row.after.cpu),
        seconds(|row| row.quick.cpu),
        seconds(|row| row.optimizer)
    )?;
    Ok(())
}

/// The kernels that get worse.
fn lists(page: &mut String, set: &Set<Row>) -> Result<()> {
    let pairs = pairs(&set.rows);
    worst(page, "spill more bytes", &pairs, |kernel| kernel.spills, usize::MAX)?;
    worst(page, "take more registers", &pairs, |kernel| kernel.registers, WORST_MAX)?;
    worst(page, "have more machine instructions", &pairs, |kernel| kernel.instructions, WORST_MAX)
}

fn worst(page: &mut String, what: &str, pairs: &[Pair], figure: Figure, count_max: usize) -> Result<()> {
    let mut worse: Vec<&Pair> =
        pairs.iter().filter(|pair| figure(&pair.after) > figure(&pair.before)).collect();
    if worse.is_empty() {
        writeln!(page, "No kernels {what} after the optimizer.\n")?;
        return Ok(());
    }
    worse.sort_by(|one, other| other.ratio(figure).total_cmp(&one.ratio(figure)));
    let shown = if worse.len() > count_max { format!(", the worst {count_max}") } else { String::new() };
    writeln!(
        page,
        "Kernels that {what} after the optimizer, {} in all{shown}:\n\n\
         | kernel | registers | after | instructions | after | bytes spilled | after |\n|---|---:|---:|---:|---:|---:|---:|",
        worse.len()
    )?;
    for pair in worse.into_iter().take(count_max) {
        let Pair { module, name, before, after } = pair;
        writeln!(
            page,
            "| `{module}`, {} | {} | {} | {} | {} | {} | {} |",
            short(name),
            before.registers,
            after.registers,
            before.instructions,
            after.instructions,
            before.spills,
            after.spills
        )?;
    }
    page.push('\n');
    Ok(())
}

/// File by file.
fn files(page: &mut String, rows: &[Row]) -> Result<()> {
    page.push_str(
        "File by file, the largest part of the code left first; registers are those of all kernels together, times are\nmilliseconds:\n\n\
         | file | code bytes | after | ratio | registers | after | ratio | ptxas | after | -O1 after | ratio | ptxopt |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut rows: Vec<&Row> = rows.iter().collect();
    rows.sort_by_key(|row| Reverse(row.after.code_bytes * 1_000 / row.before.code_bytes.max(1)));
    for row in rows {
        let (before, after) = (&row.before, &row.after);
        let registers = |assembly: &Assembly| assembly.sum(|kernel| kernel.registers);
        writeln!(
            page,
            "| {} | {} | {} | {:.3} | {} | {} | {:.3} | {:.1} | {:.1} | {:.1} | {:.3} | {:.2} |",
            stem(&row.name),
            before.code_bytes,
            after.code_bytes,
            ratio(before.code_bytes, after.code_bytes),
            registers(before),
            registers(after),
            ratio(registers(before), registers(after)),
            ms(before.cpu),
            ms(after.cpu),
            ms(row.quick.cpu),
            ms(after.cpu) / ms(before.cpu),
            ms(row.optimizer)
        )?;
    }
    Ok(())
}

/// The way from C to machine code with this optimizer and with clang's.
fn chains(page: &mut String, rows: &[Row], clang: &Clang) -> Result<()> {
    page.push_str(
        "\n## This optimizer and clang's\n\n\
         What `clang -O0 | ptxopt -O2 | ptxas -O3` makes of the C files of the corpus, and what `clang -O2 | ptxas -O3` does, with the\n\
         milliseconds of each stage and the sum of registers of all kernels:\n\n\
         | file | clang -O0 | ptxopt | ptxas | all | clang -O2 | ptxas | all | ratio | code bytes | clang's | ratio | registers | \
         clang's | ratio |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut ratios: [Vec<f64>; 7] = Default::default();
    for row in rows {
        let name = stem(&row.name);
        let full = clang.full.get(name).with_context(|| format!("clang -O2 of `{name}`"))?;
        let plain = clang.plain.get(name).with_context(|| format!("plain code of `{name}`"))?;
        let time = |level: &str| {
            let key = format!("{level}/{name}");
            clang.times.get(&key).copied().with_context(|| format!("clang's time of `{key}`"))
        };
        let (unoptimized, optimized) = (time("O0")?, time("O2")?);
        let ours = unoptimized + row.optimizer + row.after.cpu;
        let theirs = optimized + full.cpu;
        let registers = |assembly: &Assembly| assembly.sum(|kernel| kernel.registers);
        let instructions = |assembly: &Assembly| assembly.sum(|kernel| kernel.instructions);
        let own = [
            ms(ours) / ms(theirs),
            ratio(full.code_bytes, row.after.code_bytes),
            ratio(registers(full), registers(&row.after)),
            ratio(instructions(full), instructions(&row.after)),
            ratio(plain.code_bytes, row.rolled.code_bytes),
            ratio(registers(plain), registers(&row.rolled)),
            ratio(instructions(plain), instructions(&row.rolled)),
        ];
        ratios.iter_mut().zip(own).for_each(|(all, ratio)| all.push(ratio));
        let [ratio_of_time, ratio_of_code, ratio_of_registers, ..] = own;
        writeln!(
            page,
            "| {name} | {:.0} | {:.2} | {:.1} | {:.1} | {:.0} | {:.1} | {:.1} | {ratio_of_time:.2} | {} | {} | {ratio_of_code:.2} | {} | \
             {} | {ratio_of_registers:.2} |",
            ms(unoptimized),
            ms(row.optimizer),
            ms(row.after.cpu),
            ms(ours),
            ms(optimized),
            ms(full.cpu),
            ms(theirs),
            row.after.code_bytes,
            full.code_bytes,
            registers(&row.after),
            registers(full)
        )?;
    }
    let [time, code, registers, instructions, plain_code, plain_registers, plain_instructions] =
        ratios.map(|all| mean(all.into_iter()));
    writeln!(
        page,
        "\nThe first chain beside the second, in geometric means over files. The second line holds clang to what an optimizer of\n\
         single functions can do: `-fno-inline -fno-unroll-loops -fno-vectorize -fno-slp-vectorize`. There clang asks the assembler to\n\
         unroll no loop, and so does this optimizer (`--no-unroll`).\n\n\
         | beside | time of all stages | bytes of code | machine instructions | registers |\n|---|---:|---:|---:|---:|\n\
         | clang -O2 | {time:.3} | {code:.3} | {instructions:.3} | {registers:.3} |\n\
         | the same without inlining and the like | | {plain_code:.3} | {plain_instructions:.3} | {plain_registers:.3} |"
    )?;
    Ok(())
}

fn pairs(rows: &[Row]) -> Vec<Pair<'_>> {
    pairs_of(rows, |row| &row.after)
}

fn pairs_of(rows: &[Row], way: Way) -> Vec<Pair<'_>> {
    rows.iter().flat_map(|row| pairs::pairs(&row.name, &row.before, way(row))).collect()
}

fn ms(time: Duration) -> f64 {
    1e3 * time.as_secs_f64()
}

fn stem(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name).trim_end_matches(".ptx")
}

/// A name that fits a table.
fn short(name: &str) -> String {
    const LENGTH_MAX: usize = 60;
    let start: String = name.chars().take(LENGTH_MAX).collect();
    let end = if start.len() < name.len() { "..." } else { "" };
    format!("`{start}{end}`")
}

const HEAD: &str = "\
# What the assembler makes of it

What `ptxas` 13.0.88 makes of modules as they come and as `ptxopt -O2` leaves them: both at -O3, for the target that the module
names, or for sm_75 where it names an older one, since this release makes no code for those. `tests/tools/assembled` makes this page
again.

`ptxas` unrolls loops that count in registers, and hardly one that counts in memory. So code that was never optimized grows where
the optimizer puts counters into registers, which hides what the optimizer saves; what unrolling does for speed was not measured. With
`--no-unroll` the optimizer asks that loops stay as they are, as clang does under `-fno-unroll-loops`; the goals for code that was never
optimized were taken from clang's output under that option. Modules as they come are assembled as they are in both columns.

Bytes of code are the sizes of the `.text` sections, as the assembler fills them up to 128 bytes; machine instructions are those of 16
bytes up to the filling. Registers, spills and stack frames are what `ptxas -v` says; spills are bytes stored and bytes loaded, a
kernel's together with those of the functions that it calls. Goals are those of the project.
";
