//! The simple form: one walk against program order, block by block, without facts.

use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::instruction::{InstHead, Marks};
use ptxopt_components::operand::{Operand, reads, writes};
use ptxopt_components::vreg::VRegFlags;
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
    /// While reads are counted, one more than the last block that defines it. Then one more than the block in whose rest the
    /// next event is an unguarded definition; or [`READ`] and the instruction that reads it.
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
    if count_uses(function, vregs) {
        find_overwritten(function, vregs, dead);
    } else {
        find_unread(function, vregs, dead);
    }
}

/// Counts the reads of each register; says whether some block defines one twice.
fn count_uses(function: &FunctionView<'_>, vregs: &mut Vec<VReg>) -> bool {
    vregs.clear();
    vregs.extend(function.vregs.iter().map(|vreg| {
        let use_count = if vreg.flags.intersects(VRegFlags::READ_ELSEWHERE) { NEVER_DEAD } else { 0 };
        VReg { use_count, next: 0 }
    }));
    let mut is_any_overwritten = false;
    let vregs = &mut vregs[..];
    function.rows().for_each(|(_, head, operands)| {
        let stamp = head.block.0 + 1;
        for operand in operands {
            let Some(vreg) = operand.vreg() else { continue };
            let row = &mut vregs[vreg.index()];
            if operand.is_definition() {
                is_any_overwritten |= row.next == stamp;
                row.next = stamp;
                row.use_count += u32::from(operand.is_use());
            } else {
                row.use_count += 1;
            }
        }
    });
    is_any_overwritten
}

/// Lists what is dead where no block defines a register twice: what is read nowhere.
fn find_unread(function: &FunctionView<'_>, vregs: &mut [VReg], dead: &mut Vec<InstId>) {
    let mut look = |inst: InstId, head: &InstHead, operands: &[Operand]| {
        let is_kept = head.marks.contains(Marks::KEPT);
        if !is_kept && writes(head.results(operands)).all(|vreg| vregs[vreg.index()].use_count == 0) {
            reads(operands).for_each(|vreg| vregs[vreg.index()].use_count -= 1);
            dead.push(inst);
        }
    };
    if function.state.flags.contains(CodeFlags::OUT_OF_ORDER) {
        for block in function.block_ids().rev() {
            function.rows_of(block).rev().for_each(|(inst, head, operands)| look(inst, head, operands));
        }
    } else {
        function.rows().rev().for_each(|(inst, head, operands)| look(inst, head, operands));
    }
}

/// Lists what is dead.
fn find_overwritten(function: &FunctionView<'_>, vregs: &mut [VReg], dead: &mut Vec<InstId>) {
    vregs.iter_mut().for_each(|vreg| vreg.next = 0);
    for block in function.block_ids().rev() {
        let stamp = block.0 + 1;
        for (inst, head, operands) in function.rows_of(block).rev() {
            let is_kept = head.marks.contains(Marks::KEPT);
            let is_dead = |vreg: VRegId| vregs[vreg.index()].is_dead_in(stamp);
            if !is_kept && writes(head.results(operands)).all(is_dead) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::{Built, modules};
    use ptxopt_engine::ptx::reader::{ReaderScratch, read};
    use ptxopt_engine::ptx::scan::Module;

    /// Where no block defines a register twice, the walk that does not look for that finds the same.
    #[test]
    fn the_short_walk_finds_what_the_long_one_finds() {
        let (mut both, mut found) = (0, 0);
        for path in modules() {
            let mut built = Built { text: std::fs::read(&path).unwrap(), ..Built::default() };
            let Ok(module) = Module::scan(&built.text) else { continue };
            let mut scratch = ReaderScratch::default();
            if read(&module, &module.functions, &mut built.forms, &mut scratch, &mut built.tables).is_err() {
                continue;
            }
            for function in built.tables.view().functions() {
                let mut vregs = Vec::new();
                if count_uses(&function, &mut vregs) {
                    continue;
                }
                let (mut short, mut long) = (Vec::new(), Vec::new());
                find_unread(&function, &mut vregs.clone(), &mut short);
                find_overwritten(&function, &mut vregs, &mut long);
                assert_eq!(short, long, "{}", path.display());
                (both, found) = (both + 1, found + short.len());
            }
        }
        assert!(both > 200 && found > 20, "{both} functions, {found} instructions");
    }
}
