//! Computations that are written a second time, and what is looked for to find them.

use ptxopt_components::code_object::Room;
use ptxopt_components::ids::{BlockId, FormId, Id, InstId, VRegId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::operand::{Operand, writes};
use ptxopt_engine::edit::{Change, FunctionEditor};
use ptxopt_engine::store::view::FunctionView;

/// Registers that the machine needs beside what lives: the pointer to the stack, pairs that start at even registers.
pub(super) const BESIDE: u32 = 4;

/// Blocks and reads that are looked at for each instruction of a function: each value may live through all blocks.
const LOOKS_PER_INST_MAX: usize = 8;

/// Blocks and reads that are looked at in every function.
const LOOKS_LEAST: usize = 1 << 12;

/// Blocks and reads that a phase looks at in a function with so many rows.
pub fn looks_max(row_count: usize) -> usize {
    LOOKS_LEAST + LOOKS_PER_INST_MAX * row_count
}

/// Where a value is made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    Before(InstId),
    AtEnd(BlockId),
}

/// Before an instruction of a block, or at its end, but before what leaves it.
pub(super) fn spot_in(function: &FunctionView<'_>, block: BlockId, first: Option<InstId>) -> Spot {
    let last = function.insts_of(block).next_back();
    let is_control = |&inst: &InstId| function.heads[inst.index()].marks.contains(Marks::CONTROL);
    first.or(last.filter(is_control)).map_or(Spot::AtEnd(block), Spot::Before)
}

/// An instruction that is made again.
#[derive(Clone, Debug)]
pub(super) struct Remade {
    pub form: FormId,
    pub operands: Vec<Operand>,
}

/// A value that is made a second time.
#[derive(Clone, Debug)]
pub(super) struct Again {
    pub definition: InstId,
    pub spot: Spot,
    /// What makes it, in order, itself last.
    pub insts: Vec<Remade>,
    /// What reads the new one: instructions and operands.
    pub reads: Vec<(InstId, u32)>,
}

/// Makes a value a second time, as one change for `reason`; gives nothing where the bisect limit is reached.
pub(super) fn apply<'f, 's>(
    f: &'f mut FunctionEditor<'s>,
    again: &Again,
    reason: &'static str,
) -> Option<Change<'f, 's>> {
    let count = again.insts.len() as u32;
    let room = Room { insts: count, vregs: count, ..Room::default() };
    let at = f.offset_of(again.definition);
    let mut change = f.change_with_room(at, reason, room)?;
    make(&mut change, again);
    Some(change)
}

/// Writes instructions with one result each at a spot, with registers of their own, and gives the reads the register of the last
/// one.
fn make(change: &mut Change<'_, '_>, Again { spot, insts, reads, .. }: &Again) {
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
        match *spot {
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
