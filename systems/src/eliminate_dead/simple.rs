//! The simple form: one walk against program order, block by block, without facts.

use super::ALWAYS_LIVE;
use ptxopt_components::ids::{Id, InstId};
use ptxopt_components::instruction::Marks;
use ptxopt_engine::dataflow::liveness::kills;
use ptxopt_engine::view::FunctionView;

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
