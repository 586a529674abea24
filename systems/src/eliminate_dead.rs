//! Eliminate dead code: instructions whose results nothing reads, and blocks that nothing reaches.
//!
//! Source phase  10 EarlyOriSimpleLiveDead; 16, 33, 61, 84 OriPerformLiveDead First to Fourth (liveness)
//! Reads         Blocks, Insts, VRegs, Fact::ControlFlow (full form)
//! Writes        tombstones, dead blocks
//! Needs         control flow ends its block; control-flow facts (full form)
//! Gives         liveness, and that nothing is dead (full form)
//! Leaves        full form: no reachable instruction is dead by liveness, none is part of a dead cycle, no block
//!               is unreachable
//! Breaks        liveness (simple form); control-flow facts where blocks died
//! Cost          simple: one backward pass. Full: definition lists, one mark walk, and liveness with a backward walk
//!               as often as the walk finds something and once more; a comparison where nothing changed
//! Paper         Cytron et al. 1991, section 7.1, for mark and sweep
//! Checked by    check/liveness.rs, check/rows.rs
//!
//! # What stays
//! An instruction with an effect beside its results (`Marks::KEPT`, from the opcode table: stores, atomics, barriers,
//! convergent, asynchronous and volatile operations, calls, control flow, everything unknown). A definition of a
//! register that something outside the function may read: results, module registers, registers that an asynchronous
//! instruction goes on using. A dead `ld` goes: an access that the ISA leaves undefined may lose its fault.
//!
//! # Guarded writes
//! ```text
//! mov r1, 5;         // stays: where p is false, this is what the add reads
//! @p mov r1, 7;
//! add r2, r1, 1;
//! ```
//! A guarded write neither ends the life of the value before it nor keeps that value alive.
//!
//! # Why mark and sweep as well
//! ```text
//! L: add i, i, 1;    // live by liveness: the next round reads it
//!    bra L;
//! ```
//! The walk on live sets can never remove a cycle that feeds only itself. Marking from the instructions that stay
//! does: a register is needed when a needed instruction reads it, and then all its definitions are.
//!
//! # Cascades
//! The walk does not add the operands of what it removes to the live set. A register that was live into the block
//! on their account alone stays in the solved sets, so the walk repeats with new sets until it finds nothing.

use bevy_ecs::prelude::*;
use ptxopt_components::block::{BlockFlags, BlockOrder};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, CodeId, Id, InstId, VRegId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::dataflow::liveness::{LiveSet, LiveSets, LivenessScratch, kills, solve};
use ptxopt_engine::edits::Editor;
use ptxopt_engine::facts::Fact;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::phase::Phase;
use ptxopt_engine::view::FunctionView;

/// Phase 10.
pub const SIMPLE: Phase = Phase {
    name: "eliminate_dead_simple",
    needs: &[],
    gives: &[],
    breaks: &[Fact::Liveness],
    required: false,
    install: |slot| slot.add(run_simple),
};

/// Phases 16, 33, 61 and 84.
pub const FULL: Phase = Phase {
    name: "eliminate_dead",
    needs: &[Fact::ControlFlow],
    gives: &[Fact::Liveness, Fact::NoDeadCode],
    breaks: &[Fact::ControlFlow],
    required: false,
    install: |slot| {
        slot.init_resource::<LiveSets>();
        slot.add(run_full);
    },
};

/// Times that liveness is solved for one function. Each round removes one more link of a chain that runs against the
/// blocks, so without a bound the work would be blocks times rounds; real code takes two.
const ROUNDS_MAX: u32 = 16;

/// Registers that something beside the function's own reads may look at.
const ALWAYS_LIVE: VRegFlags = VRegFlags::OUTPUT.union(VRegFlags::MODULE).union(VRegFlags::PINNED);

/// Functions that the phase works on.
fn is_worked_on(flags: CodeFlags) -> bool {
    flags.contains(CodeFlags::SELECTED | CodeFlags::TERMINATORS_LAST) && !flags.contains(CodeFlags::LEFT)
}

/// Runs the simple form over the batch.
pub fn run_simple(mut editor: Editor, mut scratch: Local<SimpleScratch>) {
    for code in 0..editor.code_count() {
        let function = editor.view().function(Id::new(code));
        if !is_worked_on(function.state.flags) {
            continue;
        }
        let code = function.code;
        find_dead_simply(&function, &mut scratch);
        editor.delete(
            code,
            &scratch.dead,
            "no use in the function, or overwritten in the block before any use",
        );
    }
}

/// Runs the full form over the batch. A function that nothing has changed since the last time costs a comparison.
pub fn run_full(
    mut editor: Editor,
    forms: Res<FormTable>,
    mut live_sets: ResMut<LiveSets>,
    mut scratch: Local<FullScratch>,
) {
    for code in 0..editor.code_count() {
        let function = editor.view().function(Id::new(code));
        let (code, flags) = (function.code, function.state.flags);
        if is_worked_on(flags) && !editor.fact_holds(code, Fact::NoDeadCode) {
            eliminate(code, &mut editor, &forms, live_sets.of(code.index()), &mut scratch);
        }
    }
}

/// Removes what is dead in one function until nothing is.
fn eliminate(
    code: CodeId,
    editor: &mut Editor,
    forms: &FormTable,
    live: &mut LiveSet,
    scratch: &mut FullScratch,
) {
    let FullScratch { blocks, dead, mark: marked, walk, solver } = scratch;
    let function = editor.view().function(code);
    find_unreachable(&function, blocks);
    editor.delete_blocks(code, blocks, "unreachable block");
    let function = editor.view().function(code);
    mark(&function, marked);
    sweep(&function, marked, dead);
    editor.delete(code, dead, "feeds nothing that has an effect");
    for _ in 0..ROUNDS_MAX {
        let function = editor.view().function(code);
        solve(&function, forms, solver, live);
        if !live.is_solved {
            editor.log.current().limits_hit += 1;
            let offset = editor.view().function(code).text.name.first;
            editor.missed(code, offset, "function too large for live sets: only dead cycles were looked for");
            return;
        }
        find_dead_by_liveness(&function, live, walk, dead);
        if dead.is_empty() {
            editor.fact_computed(code, Fact::Liveness);
            editor.fact_computed(code, Fact::NoDeadCode);
            return;
        }
        if editor.delete(code, dead, "results are not read again") < dead.len() {
            return;
        }
    }
    editor.log.current().limits_hit += 1;
    let offset = editor.view().function(code).text.name.first;
    editor.missed(code, offset, "dead code cascades through more blocks than are followed");
}

/// Memory of the simple form.
#[derive(Default)]
pub struct SimpleScratch {
    /// By register: reads in the function by instructions that are not dead.
    use_count: Vec<u32>,
    /// By register: one more than the block in whose rest the next event is an unguarded definition.
    overwritten_in: Vec<u32>,
    /// What was found.
    pub dead: Vec<InstId>,
}

/// One walk against program order: removes what is overwritten in its block before any read, or read nowhere.
pub fn find_dead_simply(function: &FunctionView<'_>, scratch: &mut SimpleScratch) {
    let SimpleScratch { use_count, overwritten_in, dead } = scratch;
    dead.clear();
    overwritten_in.clear();
    overwritten_in.resize(function.vregs.len(), 0);
    count_uses(function, use_count);
    for block in function.block_ids().rev() {
        let stamp = block.0 + 1;
        for inst in function.insts_of(block).rev() {
            let head = &function.heads[inst.index()];
            let operands = function.operands_of(inst);
            let is_dead = !head.marks.contains(Marks::KEPT)
                && operands.iter().filter(|operand| operand.is_definition()).all(|operand| {
                    operand.vreg().is_none_or(|vreg| {
                        !function.vregs[vreg.index()].flags.intersects(ALWAYS_LIVE)
                            && (use_count[vreg.index()] == 0 || overwritten_in[vreg.index()] == stamp)
                    })
                });
            if is_dead {
                for vreg in operands.iter().filter(|operand| operand.is_use()).filter_map(|o| o.vreg()) {
                    use_count[vreg.index()] -= 1;
                }
                dead.push(inst);
                continue;
            }
            let guarded = head.opcode.is_guarded();
            for operand in operands.iter().filter(|operand| kills(operand, guarded)) {
                if let Some(vreg) = operand.vreg() {
                    overwritten_in[vreg.index()] = stamp;
                }
            }
            for vreg in operands.iter().filter(|operand| operand.is_use()).filter_map(|o| o.vreg()) {
                overwritten_in[vreg.index()] = 0;
            }
        }
    }
}

fn count_uses(function: &FunctionView<'_>, use_count: &mut Vec<u32>) {
    use_count.clear();
    use_count.resize(function.vregs.len(), 0);
    for block in function.block_ids() {
        for inst in function.insts_of(block) {
            for operand in function.operands_of(inst).iter().filter(|operand| operand.is_use()) {
                if let Some(vreg) = operand.vreg() {
                    use_count[vreg.index()] += 1;
                }
            }
        }
    }
}

/// Memory of the full form.
#[derive(Default)]
pub struct FullScratch {
    blocks: Vec<BlockId>,
    dead: Vec<InstId>,
    mark: MarkScratch,
    walk: WalkScratch,
    solver: LivenessScratch,
}

/// Blocks without a rank that are still there.
fn find_unreachable(function: &FunctionView<'_>, blocks: &mut Vec<BlockId>) {
    blocks.clear();
    blocks.extend(function.block_ids().filter(|block| {
        function.orders[block.index()].rpo == BlockOrder::UNREACHABLE
            && !function.blocks[block.index()].flags.contains(BlockFlags::DEAD)
    }));
}

/// Memory of mark and sweep.
#[derive(Default)]
pub struct MarkScratch {
    /// By register: where its definitions start in `definitions`; one more entry at the end.
    definitions_of: Vec<u32>,
    definitions: Vec<InstId>,
    is_needed: Vec<bool>,
    is_vreg_needed: Vec<bool>,
    worklist: Vec<VRegId>,
}

/// Marks the instructions that something with an effect needs.
pub fn mark(function: &FunctionView<'_>, scratch: &mut MarkScratch) {
    list_definitions(function, scratch);
    let MarkScratch { definitions_of, definitions, is_needed, is_vreg_needed, worklist } = scratch;
    is_needed.clear();
    is_needed.resize(function.heads.len(), false);
    is_vreg_needed.clear();
    is_vreg_needed.resize(function.vregs.len(), false);
    worklist.clear();
    let need_uses = |inst: InstId, is_vreg_needed: &mut [bool], worklist: &mut Vec<VRegId>| {
        for operand in function.operands_of(inst).iter().filter(|operand| operand.is_use()) {
            if let Some(vreg) = operand.vreg()
                && !std::mem::replace(&mut is_vreg_needed[vreg.index()], true)
            {
                worklist.push(vreg);
            }
        }
    };
    for vreg in function.vreg_ids() {
        if function.vregs[vreg.index()].flags.intersects(ALWAYS_LIVE) {
            is_vreg_needed[vreg.index()] = true;
            worklist.push(vreg);
        }
    }
    for (inst, head) in function.heads.iter().enumerate() {
        if head.is_live() && head.marks.contains(Marks::KEPT) {
            is_needed[inst] = true;
            need_uses(InstId::new(inst), is_vreg_needed, worklist);
        }
    }
    while let Some(vreg) = worklist.pop() {
        let span = definitions_of[vreg.index()] as usize..definitions_of[vreg.index() + 1] as usize;
        for &inst in &definitions[span] {
            if !std::mem::replace(&mut is_needed[inst.index()], true) {
                need_uses(inst, is_vreg_needed, worklist);
            }
        }
    }
}

/// Lists the live definitions of each register.
fn list_definitions(function: &FunctionView<'_>, scratch: &mut MarkScratch) {
    let MarkScratch { definitions_of, definitions, .. } = scratch;
    definitions_of.clear();
    definitions_of.resize(function.vregs.len() + 1, 0);
    for_each_definition(function, |_, vreg| definitions_of[vreg.index()] += 1);
    let mut end = 0;
    for slot in definitions_of.iter_mut() {
        end += *slot;
        *slot = end;
    }
    definitions.clear();
    definitions.resize(end as usize, InstId(0));
    // Filling backwards turns each end into a start.
    for_each_definition(function, |inst, vreg| {
        let slot = &mut definitions_of[vreg.index()];
        *slot -= 1;
        definitions[*slot as usize] = inst;
    });
}

fn for_each_definition(function: &FunctionView<'_>, mut visit: impl FnMut(InstId, VRegId)) {
    for (inst, head) in function.heads.iter().enumerate() {
        if !head.is_live() {
            continue;
        }
        let inst = InstId::new(inst);
        for operand in function.operands_of(inst).iter().filter(|operand| operand.is_definition()) {
            if let Some(vreg) = operand.vreg() {
                visit(inst, vreg);
            }
        }
    }
}

/// Lists the live instructions that were not marked.
pub fn sweep(function: &FunctionView<'_>, scratch: &MarkScratch, dead: &mut Vec<InstId>) {
    dead.clear();
    for (inst, head) in function.heads.iter().enumerate() {
        if head.is_live() && !scratch.is_needed[inst] {
            dead.push(InstId::new(inst));
        }
    }
}

/// Memory of the walk on live sets.
#[derive(Default)]
pub struct WalkScratch {
    /// By register: one more than the block in which it is live at the place of the walk.
    live_in_block: Vec<u32>,
}

/// Walks each block backwards with a running live set, and lists what is dead in it.
pub fn find_dead_by_liveness(
    function: &FunctionView<'_>,
    live: &LiveSet,
    scratch: &mut WalkScratch,
    dead: &mut Vec<InstId>,
) {
    dead.clear();
    let live_in_block = &mut scratch.live_in_block;
    live_in_block.clear();
    live_in_block.resize(function.vregs.len(), 0);
    for block in function.block_ids().rev() {
        let stamp = block.0 + 1;
        for vreg in live.live_out_vregs(block) {
            live_in_block[vreg.index()] = stamp;
        }
        for inst in function.insts_of(block).rev() {
            let head = &function.heads[inst.index()];
            let operands = function.operands_of(inst);
            let is_read = |vreg: VRegId| {
                live_in_block[vreg.index()] == stamp
                    || function.vregs[vreg.index()].flags.intersects(ALWAYS_LIVE)
            };
            let is_dead = !head.marks.contains(Marks::KEPT)
                && operands
                    .iter()
                    .all(|operand| !operand.is_definition() || !operand.vreg().is_some_and(is_read));
            if is_dead {
                dead.push(inst);
                continue;
            }
            let guarded = head.opcode.is_guarded();
            for operand in operands.iter().filter(|operand| kills(operand, guarded)) {
                if let Some(vreg) = operand.vreg() {
                    live_in_block[vreg.index()] = 0;
                }
            }
            for vreg in operands.iter().filter(|operand| operand.is_use()).filter_map(|o| o.vreg()) {
                live_in_block[vreg.index()] = stamp;
            }
        }
    }
}
