//! The facade: a module's text in, the text of an equivalent module out.
//!
//! A module is scanned, its functions are cut into batches, and each batch goes through a shard, on as many threads
//! as the current thread pool has. Results are put back by position, so the output never depends on the threads.
//!
//! Small modules that come together ([`Optimizer::optimize_together`]) share batches. Each comes out as it would alone: where
//! anything goes wrong in a batch of several modules, each runs again by itself.
//!
//! [`batches`] says what becomes of a function on which a phase fails.

mod batches;
mod join;
mod pool;
#[cfg(test)]
mod tests;

use crate::options::Options;
use crate::remarks::Remark;
use crate::report::ModuleReport;
use crate::standard::{self, ORDER};
use ptxopt_engine::diagnostics::{Diagnostic, Diagnostics};
use ptxopt_engine::ptx::scan::{Module, Part};
use ptxopt_engine::run::batches::{BATCH_INSTS, cut};
use ptxopt_engine::run::phase::Plan;
use ptxopt_engine::run::shard::{BatchOutput, Shard};
use rayon::prelude::*;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use batches::{mend_grown, run_batch};
use join::join;
use pool::SHARDS;

/// What comes out of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The module's text.
    pub text: Vec<u8>,
    /// What was done.
    pub report: ModuleReport,
    /// Remarks, if the options ask for them, each without the name of its module.
    pub remarks: Vec<Remark>,
    /// Dumps, if the options ask for them.
    pub dumps: Vec<u8>,
}

/// Optimizes a module.
///
/// Runs on the current rayon thread pool where the module has more than one batch.
///
/// # Errors
/// What is wrong with the text, when no assembler would take it.
pub fn optimize(input: &[u8], options: &Options) -> Result<Output, Diagnostics> {
    Optimizer::new(options).optimize(input)
}

/// Options with what follows from them, for many modules: of a small module, working that out anew would take a good
/// part of the time.
pub struct Optimizer<'a> {
    options: &'a Options,
    pipelines: Arc<Pipelines>,
}

/// For modules without debug sections that name registers, and for those with them; made when the first one comes.
type Pipelines = [OnceLock<Pipeline>; 2];

/// What the last optimizer was made with: a caller who optimizes one kernel after the other makes one for each.
static RECENT: Mutex<Option<(Options, Arc<Pipelines>)>> = Mutex::new(None);

/// A plan, and what a shard must have been made for to serve it.
struct Pipeline {
    plan: Plan,
    key: Option<u64>,
}

impl<'a> Optimizer<'a> {
    /// An optimizer with these options.
    #[must_use]
    pub fn new(options: &'a Options) -> Self {
        let mut recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, pipelines)) = &*recent
            && known == options
        {
            return Self { options, pipelines: Arc::clone(pipelines) };
        }
        let pipelines = Arc::new([const { OnceLock::new() }; 2]);
        *recent = Some((options.clone(), Arc::clone(&pipelines)));
        Self { options, pipelines }
    }

    /// Optimizes a module, as [`optimize`] does.
    ///
    /// # Errors
    /// What is wrong with the text, when no assembler would take it.
    pub fn optimize(&self, input: &[u8]) -> Result<Output, Diagnostics> {
        self.run(&Module::scan(input)?)
    }

    /// Optimizes modules, each as [`optimize`] does. Small ones share batches, so that many of them cost what a large one of
    /// their size costs.
    ///
    /// # Errors
    /// For each module, what is wrong with its text.
    pub fn optimize_together(&self, inputs: &[&[u8]]) -> Vec<Result<Output, Diagnostics>> {
        let modules: Vec<Result<Module<'_>, Diagnostic>> =
            inputs.iter().map(|input| Module::scan(input)).collect();
        let mut results: Vec<Option<Result<Output, Diagnostics>>> = inputs.iter().map(|_| None).collect();
        for is_debug in [false, true] {
            let pipeline = self.pipeline(is_debug);
            if !pipeline.plan.takes_modules_together() {
                continue;
            }
            let small: Vec<(usize, &Module<'_>)> = modules
                .iter()
                .enumerate()
                .filter_map(|(at, module)| Some((at, module.as_ref().ok()?)))
                .filter(|(_, module)| module.is_debug == is_debug && inst_count_max(module) < BATCH_INSTS)
                .collect();
            for batch in cut_modules(&small) {
                for ((at, _), output) in batch.iter().zip(run_together(batch, pipeline)) {
                    results[*at] = Some(Ok(output));
                }
            }
        }
        let alone = |(module, result): (Result<Module<'_>, Diagnostic>, Option<_>)| {
            result.unwrap_or_else(|| self.run(&module?))
        };
        modules.into_iter().zip(results).map(alone).collect()
    }

    /// Whether small modules gain anything from being optimized together.
    #[must_use]
    pub fn takes_modules_together(&self) -> bool {
        self.pipeline(false).plan.takes_modules_together()
    }

    fn pipeline(&self, is_debug: bool) -> &Pipeline {
        self.pipelines[usize::from(is_debug)].get_or_init(|| Pipeline {
            plan: standard::plan(self.options, is_debug),
            key: pool_key(self.options, is_debug),
        })
    }

    fn run(&self, module: &Module<'_>) -> Result<Output, Diagnostics> {
        let Pipeline { plan, key } = self.pipeline(module.is_debug);
        let mut output = run(module, plan, *key)?;
        if self.options.remarks && module.is_debug && !self.options.force_debug {
            let remark = "debug module: layout only, because its debug sections name registers";
            output.remarks.insert(0, Remark::of_no_phase(None, remark.to_owned()));
        }
        Ok(output)
    }
}

/// Instructions that a module has at most.
fn inst_count_max(module: &Module<'_>) -> usize {
    module.functions.iter().map(|function| function.inst_count_max).sum()
}

/// Cuts modules into batches as [`cut`] does functions. What would be alone is left out.
fn cut_modules<'s, 'm>(modules: &'s [(usize, &'m Module<'m>)]) -> Vec<&'s [(usize, &'m Module<'m>)]> {
    let (mut batches, mut first, mut insts) = (Vec::new(), 0, 0);
    for (at, (_, module)) in modules.iter().enumerate() {
        let count = inst_count_max(module);
        if insts + count > BATCH_INSTS {
            batches.push(&modules[first..at]);
            (first, insts) = (at, 0);
        }
        insts += count;
    }
    batches.push(&modules[first..]);
    batches.retain(|batch| batch.len() > 1);
    batches
}

/// Optimizes modules in one batch. Gives nothing where anything is wrong with one of them.
fn run_together(modules: &[(usize, &Module<'_>)], Pipeline { plan, key }: &Pipeline) -> Vec<Output> {
    let parts: Vec<Part<'_>> =
        modules.iter().map(|&(_, module)| Part { module, functions: &module.functions }).collect();
    let result = SHARDS.run(*key, || Shard::new(plan), |shard| shard.run_parts(&parts));
    let together = result.unwrap_or_default().into_iter().zip(modules);
    together
        .map(|(mut output, (_, module))| {
            mend_grown(module, &module.functions, plan, &mut None, &mut output);
            join(module, plan, vec![output])
        })
        .collect()
}

/// Optimizes a module with a plan of the caller's own: the standard one with steps added or taken away.
///
/// # Errors
/// What is wrong with the text.
///
/// # Panics
/// When the plan is invalid, see [`Plan::check`].
pub fn optimize_with_plan(input: &[u8], plan: &Plan) -> Result<Output, Diagnostics> {
    plan.check(ORDER).unwrap_or_else(|error| panic!("{error}"));
    run(&Module::scan(input)?, plan, None)
}

/// What a shard must have been made for to serve again; none where its state is this run's own.
fn pool_key(options: &Options, is_debug: bool) -> Option<u64> {
    let is_plain = options.bisect.is_none() && !options.dumps();
    is_plain.then(|| options.fingerprint() ^ u64::from(is_debug) ^ u64::from(options.remarks) << 1)
}

fn run(module: &Module<'_>, plan: &Plan, key: Option<u64>) -> Result<Output, Diagnostics> {
    let batches = cut(&module.functions);
    let results: Vec<Result<BatchOutput, Diagnostic>> = if plan.fuel.is_some() {
        // One count of changes over the whole module, in its order.
        let mut fuel = plan.fuel;
        batches.iter().map(|functions| run_batch(module, functions, plan, None, &mut fuel)).collect()
    } else if batches.len() > 1 {
        batches.par_iter().map(|functions| run_batch(module, functions, plan, key, &mut None)).collect()
    } else {
        batches.iter().map(|functions| run_batch(module, functions, plan, key, &mut None)).collect()
    };
    let mut outputs = Vec::with_capacity(results.len());
    for result in results {
        outputs.push(result?);
    }
    Ok(join(module, plan, outputs))
}
