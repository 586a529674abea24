//! The simple form: one walk against program order, block by block, without facts.

use super::ALWAYS_LIVE;
use ptxopt_components::ids::{Id, InstId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::operand::{reads, writes};
use ptxopt_engine::dataflow::liveness::kills;
use ptxopt_engine::store::view::FunctionView;

/// Memory of the simple form.
#[derive(Default)]
pub struct SimpleScratch {
    /// By register.
    vregs: Vec<VReg>,
    /// What was found.
    pub dead: Vec<InstId>,
}

/// What the walk knows of a register.
#[derive(Clone, Copy)]
struct VReg {
    /// Reads in the function by instructions that are not dead; [`NEVER_DEAD`] more where something else reads it.
    use_count: u32,
    /// One more than the block in whose rest the next event is an unguarded definition; or [`READ`] and the instruction
    /// that reads it.
    next: u32,
}

/// The next event is a read. Blocks and instructions have fewer bits than are left.
const READ: u32 = 1 << 31;

/// More reads than a function has operands.
const NEVER_DEAD: u32 = 1 << 31;

impl VReg {
    fn is_dead_in(self, stamp: u32) -> bool {
        self.use_count == 0 || (self.next == stamp && self.use_count < NEVER_DEAD)
    }
}

/// One walk against program order: removes what is overwritten in its block before any read, or read nowhere.
pub fn find_dead_simply(function: &FunctionView<'_>, scratch: &mut SimpleScratch) {
    let SimpleScratch { vregs, dead } = scratch;
    dead.clear();
    count_uses(function, vregs);
    for block in function.block_ids().rev() {
        let stamp = block.0 + 1;
        for (inst, head, operands) in function.rows_of(block).rev() {
            let is_kept = head.marks.contains(Marks::KEPT);
            if !is_kept && writes(operands).all(|vreg| vregs[vreg.index()].is_dead_in(stamp)) {
                reads(operands).for_each(|vreg| vregs[vreg.index()].use_count -= 1);
                dead.push(inst);
                continue;
            }
            // What is read and overwritten is read first, in whatever order the operands stand.
            let (read, is_guarded) = (READ | inst.0, head.opcode.is_guarded());
            for operand in operands {
                let Some(vreg) = operand.vreg() else { continue };
                let next = &mut vregs[vreg.index()].next;
                if operand.is_use() {
                    *next = read;
                } else if kills(operand, is_guarded) && *next != read {
                    *next = stamp;
                }
            }
        }
    }
}

fn count_uses(function: &FunctionView<'_>, vregs: &mut Vec<VReg>) {
    vregs.clear();
    vregs.extend(function.vregs.iter().map(|vreg| {
        let use_count = if vreg.flags.intersects(ALWAYS_LIVE) { NEVER_DEAD } else { 0 };
        VReg { use_count, next: 0 }
    }));
    for (.., operands) in function.rows() {
        reads(operands).for_each(|vreg| vregs[vreg.index()].use_count += 1);
    }
}
