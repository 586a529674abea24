//! Computations that are written a second time.

use ptxopt_components::ids::{BlockId, FormId, InstId, VRegId};
use ptxopt_components::operand::{Operand, writes};
use ptxopt_engine::edit::Change;

/// Where a value is made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    Before(InstId),
    AtEnd(BlockId),
}

/// An instruction that is made again.
#[derive(Clone, Debug)]
pub(super) struct Again {
    pub form: FormId,
    pub operands: Vec<Operand>,
}

/// Writes instructions with one result each at a spot, with registers of their own, and gives `reads` the register of the last
/// one.
pub(super) fn make(change: &mut Change<'_, '_>, insts: &[Again], spot: Spot, reads: &[(InstId, u32)]) {
    let mut renamed: Vec<(VRegId, VRegId)> = Vec::new();
    for again in insts {
        let mut operands = again.operands.clone();
        for operand in operands.iter_mut().filter(|operand| !operand.is_definition()) {
            let new = operand.vreg().and_then(|old| renamed.iter().find(|(from, _)| *from == old));
            if let Some(&(_, new)) = new {
                *operand = operand.with_vreg(new);
            }
        }
        let old = writes(&again.operands).next().expect("it has a result");
        let new = change.new_vreg_like(old);
        for operand in operands.iter_mut().filter(|operand| operand.is_definition()) {
            *operand = Operand::register(new);
        }
        renamed.push((old, new));
        match spot {
            Spot::Before(before) => change.insert_before(before, again.form, &operands, None),
            Spot::AtEnd(block) => change.insert_at_end(block, again.form, &operands, None),
        };
    }
    let &(_, new) = renamed.last().expect("a value is made by an instruction");
    for &(inst, position) in reads {
        let operand = change.operands_of(inst)[position as usize].with_vreg(new);
        change.set_operand(inst, position as usize, operand);
    }
}
