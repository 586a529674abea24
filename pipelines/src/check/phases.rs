//! Phase by phase: the first phase whose output differs, and the first change.

use super::{KernelVerdict, Reference, Verdict};
use crate::names::Selection;
use crate::options::Options;
use crate::table::{PASSES, PHASES, PhaseNumber};
use anyhow::{Result, anyhow};

/// What a check of every phase found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseCheck {
    /// The kernels, as the last phase that was run left them.
    pub kernels: Vec<KernelVerdict>,
    /// The first phase after which a kernel differs.
    pub guilty: Option<Guilty>,
    /// Phases whose output was run: those that changed something.
    pub phases_run: usize,
}

/// The first phase after which a kernel differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guilty {
    /// Its number.
    pub number: PhaseNumber,
    /// Its name.
    pub name: &'static str,
    /// The smallest `--bisect` limit with which the module differs: the number of the first wrong change.
    pub change: u64,
}

/// Phases that change code without counting it: no user asks to make fewer of such changes.
const UNCOUNTED: [PhaseNumber; 3] = [PhaseNumber(6), PhaseNumber(23), PhaseNumber(73)];

/// Runs the module `text`, which `reference` was made of, after each phase that changes it, and stops at the first that
/// makes a kernel differ. A phase that makes no change when all run is taken to make none after those before it alone, and
/// the module is not optimized up to there once more. Where that was wrong (a later pass can leave more room than an earlier
/// phase has without it), the phases are run again, all of them.
///
/// # Errors
/// Text that is no module, before or after.
pub fn check(text: &[u8], reference: &Reference, options: &Options) -> Result<PhaseCheck> {
    let full = optimize(text, options)?;
    let is_idle = |number: PhaseNumber| {
        let mut own = full.report.phases.iter().filter(|phase| phase.number == number.0);
        own.all(|phase| phase.changes == 0) && full.report.undone.is_empty() && !UNCOUNTED.contains(&number)
    };
    for skipped in [&is_idle as &dyn Fn(PhaseNumber) -> bool, &|_| false] {
        let (check, last) = walk(text, reference, options, skipped)?;
        if check.guilty.is_some() || last == full.text {
            return Ok(check);
        }
    }
    Err(anyhow!("all phases by their names leave another text than the level that has them"))
}

/// Runs the module after each phase that is not `skipped` and changes it, up to the first that makes a kernel differ. The
/// second result is the text that the last one left.
fn walk(
    text: &[u8],
    reference: &Reference,
    options: &Options,
    skipped: &dyn Fn(PhaseNumber) -> bool,
) -> Result<(PhaseCheck, Vec<u8>)> {
    let mut last = Vec::new();
    let mut check = PhaseCheck { kernels: Vec::new(), guilty: None, phases_run: 0 };
    let mut selection = Selection::default();
    // Passes outside of the pipeline have no place among the phases: they run each time, as where a knob asks for them.
    let passes = PASSES.iter().filter(|row| options.named_phases.contains(row.number));
    passes.for_each(|row| selection.insert(row.number));
    let last_phase = PHASES.iter().rfind(|row| options.runs(row.number)).map(|row| row.number);
    for row in PHASES.iter().filter(|row| options.runs(row.number)) {
        selection.insert(row.number);
        // Reading and writing alone is the first thing to judge.
        if !last.is_empty() && skipped(row.number) {
            continue;
        }
        // What one phase makes larger, a later one may shrink: until then it would go unjudged.
        let keep_grown = Some(row.number) != last_phase;
        let prefix = Options { named_phases: selection.clone(), keep_grown, ..options.clone() };
        let after = optimize(text, &prefix)?.text;
        if after == last {
            continue;
        }
        check.phases_run += 1;
        check.kernels = reference.compare(&after)?;
        if is_different(&check.kernels) {
            let optimized = |options: &Options| optimize(text, options).map(|output| output.text);
            let change = first_change(reference, &prefix, &optimized)?;
            check.guilty = Some(Guilty { number: row.number, name: row.name, change });
            break;
        }
        last = after;
    }
    Ok((check, last))
}

fn optimize(text: &[u8], options: &Options) -> Result<crate::Output> {
    crate::optimize(text, options).map_err(|error| anyhow!("{error}"))
}

/// Whether some kernel differs.
#[must_use]
pub fn is_different(kernels: &[KernelVerdict]) -> bool {
    kernels.iter().any(|kernel| matches!(kernel.verdict, Verdict::Different(_)))
}

/// The smallest bisect limit with which a kernel differs, by bisection; the whole run is known to differ.
fn first_change(
    reference: &Reference,
    options: &Options,
    optimized: &impl Fn(&Options) -> Result<Vec<u8>>,
) -> Result<u64> {
    let differs = |limit: u64| -> Result<bool> {
        let after = optimized(&Options { bisect: Some(limit), ..options.clone() })?;
        Ok(is_different(&reference.compare(&after)?))
    };
    let mut good = 0;
    let mut bad = 1;
    while !differs(bad)? {
        good = bad;
        bad *= 2;
        if bad > 1 << 40 {
            // Only without a limit does it differ: the limit itself keeps it from happening.
            return Ok(u64::MAX);
        }
    }
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if differs(middle)? {
            bad = middle;
        } else {
            good = middle;
        }
    }
    Ok(bad)
}
