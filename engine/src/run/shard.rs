//! A shard: one World and the schedules of its steps, owned by one worker, made once and used for batch after batch.
//!
//! A batch holds functions of one module, or of several small ones: entering the schedules costs as much as all phases on
//! fifty instructions. What becomes of a function does not depend on what else is in its batch.
//!
//! Rows are entities that are spawned to grow the pool and never despawned; loading a batch overwrites the columns of
//! rows `0..live` in place. Whatever goes wrong inside costs the batch its shard and nothing else: the caller throws
//! it away and tries the functions one by one.

use crate::diagnostics::Diagnostic;
use crate::edit::Journal;
use crate::fingerprint::Fingerprint;
use crate::forms::FormTable;
use crate::ptx::reader::{ReaderScratch, read_parts};
use crate::ptx::scan::{FunctionText, Module, Part};
use crate::ptx::writer::{WriterScratch, write_function};
use crate::run::arena::ArenaMemory;
use crate::run::clock::cpu_time;
use crate::run::facts::CodeFacts;
use crate::run::fuel::Fuel;
use crate::run::guard::guarded;
use crate::run::log::{
    Dumps, Left, LeftFunctions, Remark, Remarks, StepLog, StepStats, UndoneSteps, Violations,
};
use crate::run::phase::{Limits, Plan, Step, StepPhases, Verify};
use crate::run::steps::Steps;
use crate::store::as_read::AsRead;
use crate::store::columns::{
    BlocksMut, Code, CodeObjectsMut, InUse, InstsMut, LiveRows, PoolsResource, VRegsMut,
};
use crate::store::room::lay_out;
use crate::store::tables::CodeTables;
use crate::values::def_use::DefUses;
use crate::values::reaching::ReachingValues;
use bevy_ecs::prelude::*;
use bevy_ecs::system::SystemState;
use ptxopt_components::block::{BlockEdges, BlockFlags, BlockHead, BlockLabel, BlockOrder};
use ptxopt_components::code_object::{CodeFlags, CodeSpans, CodeState, CodeText};
use ptxopt_components::ids::{CodeId, Id, NameId};
use ptxopt_components::instruction::{InstHead, InstLinks, InstOperands, InstPlace};
use ptxopt_components::types::{PackedType, PtxType};
use ptxopt_components::vreg::{VRegFlags, VRegHead, VRegName};
use std::time::Duration;

/// Bytes that the tables take for one instruction at the peak, the reader's tables included; what the memory limit
/// is compared with before a function is loaded into the World.
const TABLE_BYTES_PER_INST: u64 = 400;

/// What became of one function.
#[derive(Clone, Debug, Default)]
pub struct FunctionOutput {
    /// Its text, header included: a range of [`BatchOutput::text`].
    pub text: std::ops::Range<usize>,
    /// Why it is left as it came in, if it is.
    pub left: Option<String>,
    /// The steps that were undone for it, and why.
    pub undone: Vec<(usize, String)>,
    /// Instructions as read.
    pub insts_in: usize,
    /// Instructions as written.
    pub insts_out: usize,
    /// Blocks as read.
    pub blocks_in: usize,
    /// Blocks as written.
    pub blocks_out: usize,
    /// Its fingerprint as read, when remarks or a filter ask for it.
    pub fingerprint: Option<u64>,
}

/// What became of a batch.
#[derive(Clone, Debug, Default)]
pub struct BatchOutput {
    /// The functions' texts, one after the other.
    pub text: Vec<u8>,
    /// The functions.
    pub functions: Vec<FunctionOutput>,
    /// By step of the plan.
    pub steps: Vec<StepStats>,
    /// Remarks, when they are wanted.
    pub remarks: Vec<Remark>,
    /// Dumps of the plan's dump steps.
    pub dumps: Vec<u8>,
    /// Byte offsets in the module of the words that stand for instructions and are none.
    pub unknown_words: Vec<u32>,
    /// CPU time of reading.
    pub read: Duration,
    /// CPU time of the phases.
    pub phases: Duration,
    /// CPU time of writing.
    pub write: Duration,
}

/// Why a batch has no output.
#[derive(Clone, Debug)]
pub enum BatchError {
    /// Its text is wrong.
    Diagnostic(Diagnostic),
    /// A phase failed. The shard must not be used again.
    Failed {
        /// The step that was running.
        step: usize,
        /// The message of its panic.
        reason: String,
    },
}

/// A World, the steps that run on it, and the memory around them.
pub struct Shard {
    world: World,
    steps: Steps,
    limits: Limits,
    step_count: usize,
    /// Rows that the phases may add to a function, in percent of those that it has.
    room_percent: u32,
    /// Whether systems look at the module's text: for dumps, and for names in remarks.
    wants_text: bool,
    wants_fingerprints: bool,
    /// Whether verifiers compare with what was read.
    keeps_read: bool,
    takes_modules_together: bool,
    /// Only functions with this fingerprint are worked on.
    selected: Option<u64>,
    /// By function of the batch, when they are wanted.
    fingerprints: Vec<u64>,
    columns: SystemState<ColumnsMut<'static, 'static>>,
    code: SystemState<Code<'static, 'static>>,
    reader: ReaderScratch,
    writer: WriterScratch,
}

type ColumnsMut<'w, 's> = (CodeObjectsMut<'w, 's>, BlocksMut<'w, 's>, InstsMut<'w, 's>, VRegsMut<'w, 's>);

impl Shard {
    /// A shard that runs `plan`, which must have passed [`Plan::check`].
    ///
    /// # Panics
    /// When two systems of one step have no order between them: a bug in the plan's phases.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let mut world = World::new();
        world.init_resource::<InUse>();
        world.init_resource::<PoolsResource>();
        world.init_resource::<FormTable>();
        world.init_resource::<Journal>();
        world.init_resource::<DefUses>();
        world.init_resource::<ReachingValues>();
        world.init_resource::<UndoneSteps>();
        world.init_resource::<Staging>();
        world.init_resource::<Violations>();
        world.init_resource::<LeftFunctions>();
        world.init_resource::<Dumps>();
        world.init_resource::<ArenaMemory>();
        world.init_resource::<AsRead>();
        world.insert_resource(Remarks { wanted: plan.remarks, all: Vec::new() });
        world.insert_resource(StepLog::new(plan.steps.len(), 1));
        world.insert_resource(Fuel::new(plan.fuel));
        world.insert_resource(StepPhases(plan.steps.iter().map(|step| step.phase).collect()));
        plan.settings.install(&mut world);
        let steps = Steps::new(plan, &mut world);
        let columns = SystemState::new(&mut world);
        let code = SystemState::new(&mut world);
        Self {
            world,
            steps,
            limits: plan.limits,
            step_count: plan.steps.len(),
            room_percent: plan.steps.iter().map(|step| step.phase.room_percent).max().unwrap_or(0),
            wants_text: plan.remarks || plan.steps.iter().any(Step::dumps),
            wants_fingerprints: plan.remarks || plan.fingerprint.is_some(),
            keeps_read: plan.verify > Verify::Off,
            takes_modules_together: plan.takes_modules_together(),
            selected: plan.fingerprint,
            fingerprints: Vec::new(),
            columns,
            code,
            reader: ReaderScratch::default(),
            writer: WriterScratch::default(),
        }
    }

    /// Reads, optimizes and writes `functions` of `module`.
    ///
    /// # Errors
    /// Text that no assembler takes, or a phase that failed; after the latter the shard must be thrown away.
    pub fn run(
        &mut self,
        module: &Module<'_>,
        functions: &[FunctionText],
    ) -> Result<BatchOutput, BatchError> {
        let mut outputs = self.run_parts(&[Part { module, functions }])?;
        Ok(outputs.pop().expect("a part has an output"))
    }

    /// Reads, optimizes and writes functions of several modules; an output for each. Times are shared out by instructions.
    ///
    /// # Errors
    /// As [`Shard::run`], whichever module it is.
    ///
    /// # Panics
    /// With more than one module where the plan is none of [`Plan::takes_modules_together`].
    pub fn run_parts(&mut self, parts: &[Part<'_>]) -> Result<Vec<BatchOutput>, BatchError> {
        assert!(parts.len() == 1 || self.takes_modules_together, "the plan looks at the text of a module");
        let start = cpu_time();
        self.read(parts).map_err(BatchError::Diagnostic)?;
        let loaded = cpu_time();
        guarded(|| self.steps.run(&mut self.world))
            .map_err(|reason| BatchError::Failed { step: self.world.resource::<StepLog>().step, reason })?;
        let ran = cpu_time();
        let mut outputs = self.write(parts);
        let written = cpu_time();
        let (read, phases, write) = (loaded - start, ran - loaded, written - ran);
        share_out(&mut outputs, |output, share| {
            output.read = Duration::from_nanos(share(read.as_nanos() as u64));
            output.phases = Duration::from_nanos(share(phases.as_nanos() as u64));
            output.write = Duration::from_nanos(share(write.as_nanos() as u64));
            for step in &mut output.steps {
                step.ns = share(step.ns);
            }
        });
        Ok(outputs)
    }

    /// Number of changes made since the shard was made.
    #[must_use]
    pub fn fuel_taken(&self) -> u64 {
        self.world.resource::<Fuel>().taken()
    }

    /// Whether a change was refused since the shard was made.
    #[must_use]
    pub fn fuel_ran_out(&self) -> bool {
        self.world.resource::<Fuel>().ran_out()
    }

    /// Rows that the pool holds: what a giant function has made it grow to.
    #[must_use]
    pub fn pool_rows(&mut self) -> usize {
        self.world.entities().len() as usize
    }

    fn read(&mut self, parts: &[Part<'_>]) -> Result<(), Diagnostic> {
        let Self { world, reader, .. } = self;
        let mut staging = std::mem::take(&mut *world.resource_mut::<Staging>());
        // The pools come back from the World, so that their memory is used again.
        let tables = &mut staging.tables;
        std::mem::swap(&mut tables.pools, &mut world.resource_mut::<PoolsResource>().0);
        let result = read_parts(parts, &mut world.resource_mut::<FormTable>(), reader, tables);
        if result.is_ok() {
            self.prepare(parts, tables);
            load(&mut self.world, &mut self.columns, tables, self.room_percent);
        }
        *self.world.resource_mut::<Staging>() = staging;
        result
    }

    /// Clears what the batch before left, and decides which functions the phases skip.
    fn prepare(&mut self, parts: &[Part<'_>], staging: &mut CodeTables) {
        let world = &mut self.world;
        // What is wanted for one module is wanted for no batch of several.
        let text = parts.first().map_or(&[][..], |part| part.module.text);
        staging.code_facts.clear();
        staging.code_facts.resize(staging.code_spans.len(), CodeFacts::default());
        world.resource_mut::<Violations>().all.clear();
        world.resource_mut::<Remarks>().all.clear();
        world.resource_mut::<Journal>().clear();
        world.resource_mut::<UndoneSteps>().all.clear();
        *world.resource_mut::<StepLog>() = StepLog::new(self.step_count, parts.len());
        if self.wants_text {
            let mut dumps = world.resource_mut::<Dumps>();
            dumps.text.clear();
            dumps.set_source(text);
        }
        let by_reader = staging.left.drain(..);
        let mut left: Vec<Left> =
            by_reader.map(|(code, reason)| Left { code, reason: reason.to_string() }).collect();
        for (code, state) in staging.code_states.iter_mut().enumerate() {
            let bytes = u64::from(staging.code_texts[code].insts_in) * TABLE_BYTES_PER_INST;
            if bytes > self.limits.memory && !state.flags.contains(CodeFlags::LEFT) {
                state.flags |= CodeFlags::LEFT;
                left.push(Left { code: CodeId::new(code), reason: "memory limit".to_owned() });
            }
        }
        world.resource_mut::<LeftFunctions>().all = left;
        if self.keeps_read {
            world.resource_mut::<AsRead>().keep(staging, text);
        }
        self.fingerprints.clear();
        if self.wants_fingerprints {
            let forms = world.resource::<FormTable>();
            let functions = staging.view().functions();
            self.fingerprints.extend(functions.map(|function| Fingerprint::of(&function, forms, text)));
        }
        if let Some(selected) = self.selected {
            for (state, &fingerprint) in staging.code_states.iter_mut().zip(&self.fingerprints) {
                state.flags.set(CodeFlags::SELECTED, fingerprint == selected);
            }
        }
    }

    fn write(&mut self, parts: &[Part<'_>]) -> Vec<BatchOutput> {
        let Self { world, code, writer, fingerprints, .. } = self;
        let code = code.get(world).expect("reading columns never conflicts");
        let forms = world.resource::<FormTable>();
        let left = &world.resource::<LeftFunctions>().all;
        let undone = &world.resource::<UndoneSteps>().all;
        let log = world.resource::<StepLog>();
        let mut functions = code.view().functions();
        let unknown_words = &world.resource::<Staging>().tables.unknown_words;
        let mut first_code = 0;
        let mut write_part = |(number, part): (usize, &Part<'_>)| {
            let mut output = BatchOutput::default();
            let codes = first_code..first_code + part.functions.len();
            let is_own = |(code, _): &&(CodeId, u32)| codes.contains(&code.index());
            output.unknown_words.extend(unknown_words.iter().filter(is_own).map(|&(_, offset)| offset));
            first_code = codes.end;
            for function in functions.by_ref().take(part.functions.len()) {
                let first = output.text.len();
                write_function(&function, forms, part.module.text, writer, &mut output.text);
                let reason =
                    left.iter().find(|left| left.code == function.code).map(|left| left.reason.clone());
                let insts_in = function.text.insts_in as usize;
                let blocks_in = function.text.blocks_in as usize;
                let live_blocks =
                    function.blocks.iter().filter(|block| !block.flags.contains(BlockFlags::DEAD));
                output.functions.push(FunctionOutput {
                    text: first..output.text.len(),
                    insts_out: if reason.is_some() { insts_in } else { function.live_inst_count() },
                    blocks_out: if reason.is_some() { blocks_in } else { live_blocks.count() },
                    left: reason,
                    undone: undone
                        .iter()
                        .filter(|undone| undone.code == function.code)
                        .map(|undone| (undone.step, undone.reason.clone()))
                        .collect(),
                    insts_in,
                    blocks_in,
                    fingerprint: fingerprints.get(function.code.index()).copied(),
                });
            }
            // What only one module's batch says in full, those of several say together.
            let of_batch = |step: &StepStats| {
                if number == 0 { *step } else { StepStats { ns: step.ns, ..StepStats::default() } }
            };
            output.steps.extend(log.stats.iter().map(of_batch));
            for (step, &changes) in output.steps.iter_mut().zip(log.changes_of(number)) {
                step.changes = changes;
            }
            output
        };
        let mut outputs: Vec<BatchOutput> = parts.iter().enumerate().map(&mut write_part).collect();
        if let [output] = &mut outputs[..] {
            output.remarks.clone_from(&world.resource::<Remarks>().all);
            output.dumps.clone_from(&world.resource::<Dumps>().text);
        }
        outputs
    }
}

/// Gives each output of a batch a share of the times, by its instructions.
fn share_out(outputs: &mut [BatchOutput], give: impl Fn(&mut BatchOutput, &dyn Fn(u64) -> u64)) {
    if outputs.len() == 1 {
        return outputs.iter_mut().for_each(|output| give(output, &|whole| whole));
    }
    let insts = |output: &BatchOutput| output.functions.iter().map(|function| function.insts_in as u64).sum();
    let all: u64 = outputs.iter().map(insts).sum::<u64>().max(1);
    for output in outputs {
        let own: u64 = insts(output);
        give(output, &|whole| (u128::from(whole) * u128::from(own) / u128::from(all)) as u64);
    }
}

/// Copies the staged rows into the columns, growing the pool where it is too small, and moves the pools.
fn load(
    world: &mut World,
    columns: &mut SystemState<ColumnsMut<'static, 'static>>,
    staged: &mut CodeTables,
    room_percent: u32,
) {
    let mut placed = staged.code_spans.clone();
    let live = lay_out(&staged.code_spans, &mut placed, room_percent);
    grow_pool(world, live);
    *world.resource_mut::<InUse>() = InUse::new(live);
    std::mem::swap(&mut staged.pools, &mut world.resource_mut::<PoolsResource>().0);
    let (mut codes, mut blocks, mut insts, mut vregs) =
        columns.get_mut(world).expect("the four archetypes are disjoint");
    let (states, facts, spans, texts) = codes.columns_to_load();
    states.copy_from_slice(&staged.code_states);
    facts.copy_from_slice(&staged.code_facts);
    texts.copy_from_slice(&staged.code_texts);
    let (block_heads, edges, orders, labels) = blocks.columns_to_load();
    let (inst_heads, operands, _, places) = insts.columns_to_load();
    let (vreg_heads, names) = vregs.columns_to_load();
    for (from, to) in staged.code_spans.iter().zip(&placed) {
        let (rows, into) = (from.blocks.range(), to.blocks.range());
        block_heads[into.clone()].copy_from_slice(&staged.block_heads[rows.clone()]);
        edges[into.clone()].copy_from_slice(&staged.block_edges[rows.clone()]);
        orders[into.clone()].copy_from_slice(&staged.block_orders[rows.clone()]);
        labels[into].copy_from_slice(&staged.block_labels[rows]);
        let (rows, into) = (from.insts.range(), to.insts.range());
        inst_heads[into.clone()].copy_from_slice(&staged.inst_heads[rows.clone()]);
        operands[into.clone()].copy_from_slice(&staged.inst_operands[rows.clone()]);
        places[into].copy_from_slice(&staged.inst_places[rows]);
        let (rows, into) = (from.vregs.range(), to.vregs.range());
        vreg_heads[into.clone()].copy_from_slice(&staged.vreg_heads[rows.clone()]);
        names[into].copy_from_slice(&staged.vreg_names[rows]);
    }
    spans.copy_from_slice(&placed);
}

/// Where the reader builds rows before they are copied into the columns.
#[derive(Resource, Default)]
struct Staging {
    tables: CodeTables,
}

/// Rows spawned so far, by archetype.
#[derive(Resource, Default)]
struct PoolRows(LiveRows);

/// Most rows that are spawned beside those in use: a batch of small functions and its successor differ by less, and a
/// giant function has no successor.
const SPARE_ROWS_MAX: usize = 4096;

/// Spawns entities until every archetype has room for `live` rows and some more.
fn grow_pool(world: &mut World, live: LiveRows) {
    world.init_resource::<PoolRows>();
    let mut pool = world.resource::<PoolRows>().0;
    let missing = |have: usize, want: usize| {
        let spare = (want / 4).min(SPARE_ROWS_MAX) + 64;
        if have >= want { 0 } else { want + spare - have }
    };
    let (codes, blocks) = (missing(pool.codes, live.codes), missing(pool.blocks, live.blocks));
    let (insts, vregs) = (missing(pool.insts, live.insts), missing(pool.vregs, live.vregs));
    if codes + blocks + insts + vregs == 0 {
        return;
    }
    let code = (CodeSpans::default(), CodeState::default(), CodeText::default(), CodeFacts::default());
    let block = (BlockHead::default(), BlockEdges::default(), BlockOrder::default(), BlockLabel::default());
    let inst = (InstHead::default(), InstOperands::default(), InstLinks::default(), InstPlace::default());
    let vreg = (
        VRegHead::new(PackedType::new(PtxType::B32, 1), VRegFlags::empty()),
        VRegName { prefix: NameId(0), number: 0 },
    );
    world.spawn_batch(std::iter::repeat_n(code, codes)).for_each(drop);
    world.spawn_batch(std::iter::repeat_n(block, blocks)).for_each(drop);
    world.spawn_batch(std::iter::repeat_n(inst, insts)).for_each(drop);
    world.spawn_batch(std::iter::repeat_n(vreg, vregs)).for_each(drop);
    pool.codes += codes;
    pool.blocks += blocks;
    pool.insts += insts;
    pool.vregs += vregs;
    world.resource_mut::<PoolRows>().0 = pool;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What outputs of functions with so many instructions get of 400.
    fn shares(insts: &[&[usize]]) -> Vec<u64> {
        let function = |&insts_in: &usize| FunctionOutput { insts_in, ..FunctionOutput::default() };
        let output = |insts: &&[usize]| BatchOutput {
            functions: insts.iter().map(function).collect(),
            ..BatchOutput::default()
        };
        let mut outputs: Vec<BatchOutput> = insts.iter().map(output).collect();
        share_out(&mut outputs, |output, share| output.read = Duration::from_nanos(share(400)));
        outputs.iter().map(|output| output.read.as_nanos() as u64).collect()
    }

    #[test]
    fn times_are_shared_by_instructions() {
        assert_eq!(shares(&[&[10], &[10, 20], &[]]), [100, 300, 0]);
        assert_eq!(shares(&[&[]]), [400], "one alone has all of it");
        assert_eq!(shares(&[&[], &[0]]), [0, 0]);
    }
}
