//! What a run on a GPU says: each difference with its cause, and a page of all of it.
//!
//! Two things are judged: the emulator, by whether the GPU leaves its bytes, and the optimizer, by whether the GPU leaves
//! the same before and after. A difference is explained where the bytes themselves say why (NaNs, addresses,
//! approximations within their bound) or the kernel's text does ([`Cause`]); every other one is a fault in somebody.

mod page;

use super::causes::Cause;
use super::elements::{Bound, Difference, difference, number};
use super::folder::{Prepared, PreparedCase};
use super::results::{How, Results, Run};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Something that is not as the emulator says, or not the same before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Module, kernel and seed.
    pub kernel: String,
    /// The level that ran.
    pub level: String,
    /// What it is held against.
    pub against: Against,
    /// The buffer or variable, and the offset of the first such element in it; empty where no memory came out.
    pub place: String,
    /// The first such element, as it should be; or what the run should have done.
    pub expected: String,
    /// The same as it is.
    pub actual: String,
    /// How many elements.
    pub count: usize,
    /// Why.
    pub cause: String,
    /// Whether that is nobody's fault.
    pub is_explained: bool,
}

/// What a run is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Against {
    /// What the emulator leaves.
    Emulator,
    /// What the GPU leaves before optimization.
    Before,
}

/// All that was found.
#[derive(Debug)]
pub struct Record {
    /// What was prepared.
    pub prepared: Prepared,
    /// What the host wrote.
    pub results: Results,
    /// What is not as it should be.
    pub mismatches: Vec<Mismatch>,
    /// Runs that could be held against the run before optimization.
    pub compared: usize,
}

impl Record {
    /// Judges the results in `folder`.
    ///
    /// # Errors
    /// A file of the folder that is missing or is not what it should be.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let (prepared, results) = (Prepared::read(folder)?, Results::read(folder)?);
        let mut record = Self { prepared, results, mismatches: Vec::new(), compared: 0 };
        let mut mismatches = Vec::new();
        let mut by_launch: BTreeMap<usize, Vec<&Run>> = BTreeMap::new();
        for run in &record.results.runs {
            let is_known = run.launch < record.prepared.cases.len() && run.code < record.prepared.codes.len();
            if !is_known {
                return Err(format!("run {} is not in the manifest", run.number));
            }
            by_launch.entry(run.launch).or_default().push(run);
        }
        for (launch, runs) in by_launch {
            let judge = Judge { folder, prepared: &record.prepared, case: &record.prepared.cases[launch] };
            record.compared += judge.runs(&runs, &mut mismatches)?;
        }
        record.mismatches = mismatches;
        Ok(record)
    }

    /// The differences that nothing explains.
    pub fn unexplained(&self) -> impl Iterator<Item = &Mismatch> {
        self.mismatches.iter().filter(|mismatch| !mismatch.is_explained)
    }

    /// Runs of each kind.
    #[must_use]
    pub fn count(&self, how: How) -> usize {
        self.results.runs.iter().filter(|run| run.how == how).count()
    }

    /// The page, in Markdown.
    #[must_use]
    pub fn page(&self) -> String {
        page::page(self)
    }
}

/// Judges the runs of one launch.
struct Judge<'a> {
    folder: &'a Path,
    prepared: &'a Prepared,
    case: &'a PreparedCase,
}

impl Judge<'_> {
    /// Judges the runs; gives how many could be held against the one before optimization.
    fn runs(&self, runs: &[&Run], mismatches: &mut Vec<Mismatch>) -> Result<usize, String> {
        let before = runs.iter().find(|run| self.prepared.codes[run.code].level == "before");
        let emulated = self.emulated()?;
        let mut compared = 0;
        for run in runs {
            match run.how {
                How::Equal | How::Trapped | How::Newer | How::Unknown => {}
                How::Differs => {
                    let emulated = emulated.as_deref().ok_or("a run differs from nothing")?;
                    let actual = self.actual(run)?;
                    self.memory(run, Against::Emulator, Some(emulated), (emulated, &actual), mismatches);
                }
                _ => mismatches.push(self.bad_end(run, before.copied())),
            }
            let Some(before) = before.filter(|before| before.number != run.number) else { continue };
            let memory = |run: &Run| match run.how {
                How::Equal => Ok(emulated.clone()),
                How::Differs | How::Unknown => self.actual(run).map(Some),
                _ => Ok(None),
            };
            if let (Some(old), Some(new)) = (memory(before)?, memory(run)?) {
                compared += 1;
                self.memory(run, Against::Before, emulated.as_deref(), (&old, &new), mismatches);
            } else if before.how == How::Trapped && run.how == How::Trapped {
                compared += 1;
            }
        }
        Ok(compared)
    }

    fn emulated(&self) -> Result<Option<Vec<u8>>, String> {
        self.case.expected.as_deref().map(|path| self.bytes(path)).transpose()
    }

    fn actual(&self, run: &Run) -> Result<Vec<u8>, String> {
        self.bytes(&self.folder.join(format!("actual/{}", run.number)))
    }

    /// The bytes of a file that must hold all outputs.
    fn bytes(&self, path: &Path) -> Result<Vec<u8>, String> {
        let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let size: usize = self.case.outputs.iter().map(|output| output.size).sum();
        if bytes.len() == size { Ok(bytes) } else { Err(format!("{}: not {size} bytes", path.display())) }
    }

    /// The differences between two memories: one for each output and kind.
    fn memory(
        &self,
        run: &Run,
        against: Against,
        emulated: Option<&[u8]>,
        (expected, actual): (&[u8], &[u8]),
        mismatches: &mut Vec<Mismatch>,
    ) {
        let mut first = 0;
        for output in &self.case.outputs {
            let range = first..first + output.size;
            first += output.size;
            let (old, new) = (&expected[range.clone()], &actual[range.clone()]);
            let emulated = emulated.map(|bytes| &bytes[range.clone()]);
            let size = output.kind.size();
            // By kind, and by whether the GPU leaves after optimization what the emulator does: then what differs is before it.
            let mut found: BTreeMap<(Difference, bool), (usize, usize)> = BTreeMap::new();
            for at in 0..output.size.div_ceil(size) {
                let element = at * size..((at + 1) * size).min(output.size);
                if old[element.clone()] != new[element.clone()] {
                    // Between two runs on one device an approximation has no error.
                    let bound = if against == Against::Emulator { self.case.bound } else { Bound::Exact };
                    let kind = difference(output.kind, bound, emulated, (old, new), at);
                    let is_as_emulated = against == Against::Before
                        && emulated.is_some_and(|bytes| bytes[element.clone()] == new[element]);
                    found.entry((kind, is_as_emulated)).or_insert((at * size, 0)).1 += 1;
                }
            }
            for ((kind, is_as_emulated), (offset, count)) in found {
                let value = |bytes: &[u8]| {
                    let end = (offset + size).min(bytes.len());
                    format!("{:#0width$x}", number(&bytes[offset..end]), width = 2 + 2 * (end - offset))
                };
                let (cause, is_explained) = if is_as_emulated {
                    ("after it is as the emulator says".to_owned(), true)
                } else {
                    self.cause(kind, against)
                };
                mismatches.push(Mismatch {
                    place: format!("{}+{offset}", output.name),
                    expected: value(old),
                    actual: value(new),
                    count,
                    cause,
                    is_explained,
                    ..self.mismatch(run, against)
                });
            }
        }
    }

    fn mismatch(&self, run: &Run, against: Against) -> Mismatch {
        Mismatch {
            kernel: self.case.name.clone(),
            level: self.prepared.codes[run.code].level.clone(),
            against,
            place: String::new(),
            expected: String::new(),
            actual: String::new(),
            count: 0,
            cause: String::new(),
            is_explained: false,
        }
    }

    /// Why elements differ, and whether that explains it.
    fn cause(&self, kind: Difference, against: Against) -> (String, bool) {
        let text = match kind {
            Difference::Nan => "bits of a NaN, which the ISA leaves open",
            Difference::Address => "an address",
            Difference::WithinBound => "an approximation within the ISA's bound",
            Difference::Value => return self.cause_of_values(against),
        };
        (text.to_owned(), true)
    }

    fn cause_of_values(&self, against: Against) -> (String, bool) {
        let may_explain = |cause: &&Cause| match against {
            // With a stated bound, what lies outside of it is wrong.
            Against::Emulator => **cause != Cause::Approximate || self.case.bound == Bound::Exact,
            Against::Before => cause.differs_between_runs(),
        };
        let causes: Vec<String> = self.case.causes.iter().filter(may_explain).map(Cause::to_string).collect();
        if causes.is_empty() { ("unexplained".to_owned(), false) } else { (causes.join("; "), true) }
    }

    /// Why the emulator comes to an end where a machine need not: instructions that it does not look at closely.
    fn without_model(&self) -> Option<Cause> {
        [Cause::Uninterpreted, Cause::Hints].into_iter().find(|cause| self.case.causes.contains(cause))
    }

    /// A run that did not come to its end.
    fn bad_end(&self, run: &Run, before: Option<&Run>) -> Mismatch {
        let ends_as_before = before.is_some_and(|before| {
            before.number == run.number || before.how == run.how && before.words == run.words
        });
        let ends_well = |run: &Run| matches!(run.how, How::Equal | How::Differs | How::Unknown);
        // What nothing wrote is an address, perhaps: how that ends is not said.
        let may_end_anyhow =
            self.case.causes.contains(&Cause::Unwritten) && before.is_some_and(|before| !ends_well(before));
        let says = |word: &str| run.words.first().is_some_and(|first| first == word);
        let (cause, is_explained) = match run.how {
            How::Hung | How::Crashed if says("assemble") => ("the driver's assembler".to_owned(), true),
            How::Error if says("cuModuleLoadDataEx") && ends_as_before => {
                ("the driver does not take the code".to_owned(), true)
            }
            How::Error if says("cuLaunchKernel") && ends_as_before => {
                ("the device does not take the launch".to_owned(), true)
            }
            _ => match self.without_model().filter(|_| ends_as_before || may_end_anyhow) {
                Some(cause) => (cause.to_string(), true),
                None => ("unexplained".to_owned(), false),
            },
        };
        let (_, how) = How::ALL[How::ALL.iter().position(|&(how, _)| how == run.how).unwrap_or_default()];
        let actual =
            if run.words.is_empty() { how.to_owned() } else { format!("{how} {}", run.words.join(" ")) };
        let expected = if run.how == How::Untrapped { "a trap" } else { "an end" }.to_owned();
        Mismatch { expected, actual, cause, is_explained, ..self.mismatch(run, Against::Emulator) }
    }
}
