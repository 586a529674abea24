//! Two folders of modules, assembled: what became of each kernel between them.

use crate::assembly::Assembly;
use crate::modules::{ModuleFile, modules_in};
use crate::pairs::{Figure, Pair, mean, pairs};
use crate::ptxas::{Ptxas, is_for_debugger};
use crate::sets::{Fate, Set};
use indicatif::ParallelProgressIterator;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

/// Kernels that a list names.
const LISTED_MAX: usize = 10;

/// Percent of its registers by which a kernel changes more than a little.
const LITTLE_PERCENT: u64 = 5;

/// Two folders of modules.
pub struct Folders {
    /// Modules that are in both, by their path inside.
    both: Vec<(String, [ModuleFile; 2])>,
    /// How many are in one of them only.
    lone: usize,
}

/// A module that was assembled.
struct Row {
    /// Its path inside the folders.
    name: String,
    before: Assembly,
    after: Assembly,
}

/// What became of the kernels of two folders.
pub struct Comparison {
    set: Set<Row>,
    /// Modules that are in one of the folders only.
    lone: usize,
}

impl Folders {
    /// The folders, of which every `every`th module that is in both.
    ///
    /// # Panics
    /// When one of them holds no module.
    #[must_use]
    pub fn new(before: &Path, after: &Path, every: usize) -> Self {
        let modules =
            |folder: &Path| modules_in("", folder).into_iter().map(|module| (module.name.clone(), module));
        let mut after: BTreeMap<_, _> = modules(after).collect();
        let (mut both, mut lone) = (Vec::new(), 0);
        for (name, before) in modules(before) {
            match after.remove(&name) {
                Some(after) => both.push((name.trim_start_matches('/').to_owned(), [before, after])),
                None => lone += 1,
            }
        }
        lone += after.len();
        Self { both: both.into_iter().step_by(every).collect(), lone }
    }

    /// Assembles the modules at -O3, on all cores, with no more registers than `registers_max` where that is given.
    ///
    /// # Panics
    /// When a module cannot be read or the assembler cannot be run.
    #[must_use]
    pub fn compare(&self, ptxas: &Ptxas, registers_max: Option<u32>) -> Comparison {
        let limit = registers_max.map(|registers| registers.to_string());
        let mut options = vec!["-O3"];
        if let Some(limit) = &limit {
            options.extend(["--maxrregcount", limit]);
        }
        let fates: Vec<_> = self
            .both
            .par_iter()
            .progress()
            .map(|(name, modules)| fate(ptxas, name, modules, &options))
            .collect();
        Comparison { set: fates.into_iter().collect(), lone: self.lone }
    }
}

fn fate(ptxas: &Ptxas, name: &str, modules: &[ModuleFile; 2], options: &[&str]) -> Fate<Row> {
    let [before, after] = modules.each_ref().map(ModuleFile::text);
    if is_for_debugger(&before) {
        return Fate::ForDebugger;
    }
    let assembled = |text: &[u8]| Assembly::of(ptxas, text, options);
    let name = name.to_owned();
    let Ok(row) = assembled(&before) else { return Fate::Refused };
    let same = (before == after).then(|| row.clone());
    match same.map_or_else(|| assembled(&after), Ok) {
        Ok(after) => Fate::Assembled(Row { name, before: row, after }),
        Err(words) => Fate::Spoilt(name, words),
    }
}

impl Comparison {
    /// Modules that the assembler refuses after only, with its words.
    #[must_use]
    pub fn spoilt(&self) -> &[(String, String)] {
        &self.set.spoilt
    }

    /// Whether no module was assembled.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.set.rows.is_empty()
    }

    /// What was found.
    #[must_use]
    pub fn text(&self) -> String {
        let Set { rows, for_debuggers, refused, spoilt } = &self.set;
        let pairs: Vec<Pair> =
            rows.iter().flat_map(|row| pairs(&row.name, &row.before, &row.after)).collect();
        let mut lines = vec![format!(
            "modules: {} assembled, {} refused after only; left out: {for_debuggers} for debuggers, {refused} refused before, \
             {} in one folder only",
            rows.len(),
            spoilt.len(),
            self.lone
        )];
        let first_line = |words: &str| words.lines().next().unwrap_or_default().to_owned();
        lines.extend(spoilt.iter().map(|(module, words)| format!("  {module}: {}", first_line(words))));
        lines.push(format!("kernels: {}", pairs.len()));
        if !pairs.is_empty() {
            lines.extend(registers(&pairs));
        }
        let sums = |figure: Figure| {
            [|pair: &Pair| pair.before, |pair: &Pair| pair.after]
                .map(|kernel| pairs.iter().map(|pair| figure(&kernel(pair))).sum::<u64>())
        };
        let bytes = [|row: &Row| row.before.code_bytes, |row: &Row| row.after.code_bytes]
            .map(|bytes| rows.iter().map(bytes).sum());
        for (what, [before, after]) in [
            (SPILLED, sums(SPILLS)),
            ("machine instructions", sums(|kernel| kernel.instructions)),
            ("bytes of machine code, whole modules", bytes),
        ] {
            lines.push(format!("{what}: {before} before, {after} after"));
        }
        for (what, figure) in [("registers", REGISTERS), (SPILLED, SPILLS)] {
            lines.extend(most_changed(&format!("more {what}"), &pairs, figure, |before, after| {
                after.saturating_sub(before)
            }));
            lines.extend(most_changed(&format!("fewer {what}"), &pairs, figure, |before, after| {
                before.saturating_sub(after)
            }));
        }
        lines.join("\n")
    }
}

const REGISTERS: Figure = |kernel| kernel.registers;
const SPILLS: Figure = |kernel| kernel.spills;
const SPILLED: &str = "bytes spilled and loaded again";

/// How registers change: the mean, and how many kernels take more and fewer.
fn registers(pairs: &[Pair]) -> [String; 3] {
    let count = |is_it: &dyn Fn(u64, u64) -> bool| {
        pairs.iter().filter(|pair| is_it(pair.before.registers, pair.after.registers)).count()
    };
    let (little_more, little_fewer) = (100 + LITTLE_PERCENT, 100 - LITTLE_PERCENT);
    [
        format!(
            "registers after / before, geometric mean: {:.4}",
            mean(pairs.iter().map(|pair| pair.ratio(REGISTERS)))
        ),
        format!(
            "kernels with more registers: {} ({} by more than {LITTLE_PERCENT} %)",
            count(&|before, after| after > before),
            count(&|before, after| 100 * after > little_more * before)
        ),
        format!(
            "kernels with fewer registers: {} ({} by more than {LITTLE_PERCENT} %)",
            count(&|before, after| after < before),
            count(&|before, after| 100 * after < little_fewer * before)
        ),
    ]
}

/// The kernels of which a figure changes most in one direction, the largest change first, under a line that says so; nothing
/// where none changes.
fn most_changed(what: &str, pairs: &[Pair], figure: Figure, change: fn(u64, u64) -> u64) -> Vec<String> {
    let mut changed: Vec<(u64, &Pair)> = pairs
        .iter()
        .map(|pair| (change(figure(&pair.before), figure(&pair.after)), pair))
        .filter(|&(change, _)| change > 0)
        .collect();
    if changed.is_empty() {
        return Vec::new();
    }
    changed.sort_by_key(|&(change, pair)| (Reverse(change), pair.module, pair.name));
    let line = |&(_, pair): &(u64, &Pair)| {
        format!("{:>8} -> {:>8}  {}, {}", figure(&pair.before), figure(&pair.after), pair.module, pair.name)
    };
    let head = format!("\nkernels with {what}: {}, the largest changes first", changed.len());
    std::iter::once(head).chain(changed.iter().take(LISTED_MAX).map(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembly::Kernel;
    use std::fs;

    /// An assembly of kernels, by name: registers and bytes spilled.
    fn assembly(code_bytes: u64, kernels: &[(&str, u64, u64)]) -> Assembly {
        let kernel = |&(name, registers, spills): &(&str, u64, u64)| {
            (name.to_owned(), Kernel { registers, spills, instructions: registers, ..Kernel::default() })
        };
        Assembly { code_bytes, kernels: kernels.iter().map(kernel).collect(), ..Assembly::default() }
    }

    fn comparison(rows: Vec<Row>) -> Comparison {
        let fates =
            [Fate::ForDebugger, Fate::Refused, Fate::Spoilt("s.ptx".to_owned(), "first\nsecond".to_owned())];
        Comparison { set: rows.into_iter().map(Fate::Assembled).chain(fates).collect(), lone: 4 }
    }

    #[test]
    fn everything_is_counted_and_added_up() {
        let one = Row {
            name: "one.ptx".to_owned(),
            before: assembly(256, &[("a", 20, 0), ("b", 20, 8), ("c", 20, 16), ("gone", 99, 99)]),
            after: assembly(128, &[("a", 21, 4), ("b", 22, 8), ("c", 10, 0)]),
        };
        let two = Row {
            name: "two.ptx".to_owned(),
            before: assembly(512, &[("a", 40, 0), ("b", 20, 0)]),
            after: assembly(640, &[("a", 39, 24), ("b", 20, 0)]),
        };
        let mean = (1.05 * 1.1 * 0.5 * 0.975_f64).powf(0.2);
        let expected = format!(
            "\
modules: 2 assembled, 1 refused after only; left out: 1 for debuggers, 1 refused before, 4 in one folder only
  s.ptx: first
kernels: 5
registers after / before, geometric mean: {mean:.4}
kernels with more registers: 2 (1 by more than 5 %)
kernels with fewer registers: 2 (1 by more than 5 %)
bytes spilled and loaded again: 24 before, 36 after
machine instructions: 120 before, 112 after
bytes of machine code, whole modules: 768 before, 768 after

kernels with more registers: 2, the largest changes first
      20 ->       22  one.ptx, b
      20 ->       21  one.ptx, a

kernels with fewer registers: 2, the largest changes first
      20 ->       10  one.ptx, c
      40 ->       39  two.ptx, a

kernels with more bytes spilled and loaded again: 2, the largest changes first
       0 ->       24  two.ptx, a
       0 ->        4  one.ptx, a

kernels with fewer bytes spilled and loaded again: 1, the largest changes first
      16 ->        0  one.ptx, c"
        );
        assert_eq!(comparison(vec![one, two]).text(), expected);
    }

    #[test]
    fn lists_end() {
        let names: Vec<String> = (10..30).map(|index| format!("k{index}")).collect();
        let kernels = |registers| names.iter().map(|name| (name.as_str(), registers, 0)).collect::<Vec<_>>();
        let row = Row {
            name: "m.ptx".to_owned(),
            before: assembly(0, &kernels(8)),
            after: assembly(0, &kernels(9)),
        };
        let text = comparison(vec![row]).text();
        assert!(
            text.contains("kernels with more registers: 20, the largest") && text.ends_with("m.ptx, k19"),
            "{text}"
        );
    }

    #[test]
    fn nothing_has_no_mean() {
        let text = comparison(Vec::new()).text();
        assert!(text.contains("kernels: 0\nbytes spilled"), "{text}");
    }

    #[test]
    fn folders_are_compared_by_paths_inside() {
        let place = tempfile::tempdir().expect("a temporary folder can be made");
        let folder = |name: &str, files: &[&str]| {
            for file in files {
                let path = place.path().join(name).join(file);
                fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder can be made");
                fs::write(path, name).expect("a file can be written");
            }
            place.path().join(name)
        };
        let before = folder("before", &["a.ptx", "x/a.ptx", "x/c.ptx", "y/only.ptx", "none.txt"]);
        let after = folder("after", &["x/c.ptx", "a.ptx", "x/a.ptx", "one.ptx", "two.ptx"]);
        let names = |every| {
            let Folders { both, lone } = Folders::new(&before, &after, every);
            let is_right =
                |[before, after]: &[ModuleFile; 2]| before.text() == b"before" && after.text() == b"after";
            assert!(both.iter().all(|(_, modules)| is_right(modules)));
            (both.into_iter().map(|(name, _)| name).collect::<Vec<_>>(), lone)
        };
        assert_eq!(names(1), (["a.ptx", "x/a.ptx", "x/c.ptx"].map(str::to_owned).to_vec(), 3));
        assert_eq!(names(2), (["a.ptx", "x/c.ptx"].map(str::to_owned).to_vec(), 3));
    }
}
