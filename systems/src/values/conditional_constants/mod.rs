//! Conditional constants: registers that hold the same whenever they are written, as far as control comes to where that is.
//!
//! No phase: what general optimization starts with in SSA form.
//!
//! Reads         Blocks, Insts, VRegs, dominators
//! Writes        instructions and phis, in their places
//! Needs         SSA form; control flow ends its block; instruction ids in program order
//! Leaves        moves of constants, and phis all of whose values are one register, in the place of what computes a constant;
//!               uses, guards and branches to the rules and to the phases on branches
//! Cost          a look at phis where that finds nothing promising; else linear: def-use lists, and an instruction is looked at
//!               twice for each operand and once more
//! Paper         Wegman and Zadeck 1991, section 3.4
//! Checked by    tests.rs: the plain way to the same, and runs
//!
//! # What folding in program order does not see
//! It asks what a register holds before it has seen what comes around the loop, so a phi of a loop may be anything. Here each
//! register is taken for one that nothing has been written to, and each block for one that control does not come to, until the
//! code says otherwise:
//! ```text
//!     mov.u32 x, 1;
//! L:  phi.b32 y, {A, x}, {M, z};       // 1 from A; M was not reached yet
//!     setp.ne.u32 p, y, 1;             // false
//!     @p bra B;                        // never
//!     bra M;
//! B:  add.u32 w, y, 1;                 // not reached, so nothing was written to w
//! M:  phi.b32 z, {L, y}, {B, w};       // 1 from L: so is y from M
//! ```
//! Neither the branch nor the values could be decided first.
//!
//! # Why it is sound
//! A cell leaves the top by what reaches it, so when nothing changes any more, the cells are true of the start of a run, and each
//! step keeps them true: a value is what its instruction makes of true cells, and control goes only where the ways go.
//! Each replacement stands for itself, since the register holds that constant already.
//!
//! # What may be anything
//! Registers that are no values (`VRegHead::is_value`), among them those with guarded or partial writes; registers without definition,
//! whatever they might be taken for; results of instructions that have several, and those that are not evaluated.
//!
//! # What becomes of a phi
//! Where one of its values dominates it, that is its value from everywhere: a copy, which general optimization knows. Otherwise it
//! becomes a move after the phis of its block, so that no instruction changes its place:
//! ```text
//! phi x, {A, c}, {B, d};               phi y, {A, e}, {B, f};
//! phi y, {A, e}, {B, f};               mov x, 5;
//! ```

mod filter;
pub(crate) mod lattice;
mod solve;
#[cfg(test)]
pub(in crate::values) mod tests;
pub(crate) mod transfer;
mod ways;

use super::general_optimize::constants::{self, literal_in};
use crate::ssa::moves::{moved_as, operand_of};
use lattice::Cell;
use ptxopt_components::description::Description;
use ptxopt_components::form::shape;
use ptxopt_components::ids::{BlockId, FormId, Id, InstId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Qualifiers;
use ptxopt_components::types::{PtxType, truncate};
use ptxopt_components::vreg::VRegHead;
use ptxopt_engine::edit::FunctionEditor;
use ptxopt_engine::graph::dominator_tree::DominatorTree;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::phis::incoming;
use ptxopt_engine::values::reaching::Reaching;
use solve::Solver;
use transfer::Transfer;

/// Memory of the search.
#[derive(Default)]
pub struct Scratch {
    solver: Solver,
    /// Of the filter.
    undecided: Vec<bool>,
    /// The phis of a block.
    phis: Vec<InstId>,
    /// The operands of one of them.
    operands: Vec<Operand>,
}

/// Puts constants in the place of what computes them; says whether anything has changed, and nothing where the bisect limit is
/// reached. Definitions are as `reaching` lists them, and may lie elsewhere afterwards.
pub fn replace(f: &mut FunctionEditor<'_>, reaching: &Reaching, scratch: &mut Scratch) -> Option<bool> {
    let (function, forms) = f.view_and_forms();
    let Some(&entry) = reaching.tree().reverse_postorder().first() else { return Some(false) };
    if !filter::may_find(&function, forms, reaching, &mut scratch.undecided) {
        return Some(false);
    }
    scratch.solver.solve(&function, forms, entry);
    let mut replacer = Replacer { f, tree: reaching.tree(), scratch, has_changed: false };
    for &block in reaching.tree().reverse_postorder() {
        if replacer.scratch.solver.is_reached(block) {
            replacer.replace_phis(block)?;
            replacer.replace_computations(block)?;
        }
    }
    Some(replacer.has_changed)
}

/// What is known of a register before anything has reached it.
fn starts_as(row: VRegHead) -> Cell {
    if !row.is_value() || row.ty.lanes != 1 { Cell::Bottom } else { Cell::Top }
}

/// What is known of one of the values of a phi.
fn phi_source(
    function: &FunctionView<'_>,
    phi: InstId,
    value: Operand,
    cell: &mut impl FnMut(VRegId) -> Cell,
) -> Cell {
    match value.kind() {
        OperandKind::Predicate { vreg, negated } => cell(vreg).negated_if(negated),
        OperandKind::Register { vreg, .. } if value == Operand::register(vreg) => cell(vreg),
        OperandKind::Register { .. } => Cell::Bottom,
        _ => {
            let result = function.operands_of(phi)[0].vreg().expect("a phi has a result");
            let ty = function.vregs[result.index()].ty.element();
            let bits = literal_in(value, ty, &function.pools.literals);
            Cell::of(bits.map(|bits| truncate(bits, ty.bits())))
        }
    }
}

/// Puts constants in their places.
struct Replacer<'r, 'a> {
    f: &'r mut FunctionEditor<'a>,
    tree: &'r DominatorTree,
    scratch: &'r mut Scratch,
    has_changed: bool,
}

/// What becomes of a phi that is a constant.
enum Instead {
    /// Nothing: it is known for a copy.
    Nothing,
    /// All its values are this one.
    Value(Operand),
    /// It is a move of these bits.
    Move(u64),
}

impl Replacer<'_, '_> {
    /// Replaces the phis of a block that are constants; nothing where the bisect limit is reached.
    fn replace_phis(&mut self, block: BlockId) -> Option<()> {
        let mut phis = std::mem::take(&mut self.scratch.phis);
        phis.clear();
        phis.extend(self.f.phis_of(block).map(|(phi, _)| phi));
        let mut end = phis.len();
        for at in (0..phis.len()).rev() {
            match self.instead_of(phis[at]) {
                Instead::Nothing => {}
                Instead::Value(value) => {
                    let mut change = self
                        .f
                        .change_in_place(phis[at], "the value of the phi is the same from everywhere")?;
                    for position in (2..change.operands_of(phis[at]).len()).step_by(2) {
                        change.set_operand(phis[at], position, value);
                    }
                    self.has_changed = true;
                }
                Instead::Move(bits) => {
                    // The last phi that is left comes to its place.
                    if self.move_after(phis[at], phis[end - 1], bits)? {
                        end -= 1;
                    }
                }
            }
        }
        self.scratch.phis = phis;
        Some(())
    }

    fn instead_of(&self, phi: InstId) -> Instead {
        let (block, operands) = (self.f.head(phi).block, self.f.operands_of(phi));
        let solver = &self.scratch.solver;
        let result = operands[0].vreg().expect("a phi has a result");
        let Some(bits) = solver.cell(result).bits() else { return Instead::Nothing };
        // A value from where control does not come may be anything, and need not dominate the phi.
        let is_it = |from: BlockId, value: Operand| {
            let vreg = value.vreg().filter(|&vreg| vreg != result && solver.leads_to(from, block))?;
            let is_above = |inst: InstId| {
                let of = self.f.head(inst).block;
                of != block && self.tree.dominates(of, block)
            };
            (solver.cell(vreg).bits() == Some(bits) && solver.definition(vreg).is_some_and(is_above))
                .then_some(value)
        };
        let Some(value) = incoming(operands).find_map(|(from, value)| is_it(from, value)) else {
            return Instead::Move(bits);
        };
        let is_copy = incoming(operands).all(|(_, other)| other == value || other.vreg() == Some(result));
        if is_copy { Instead::Nothing } else { Instead::Value(value) }
    }

    /// Puts a move of `bits` in the place of `last`, the last phi of its block, and `last` in that of `phi`; says whether there is
    /// such a move.
    fn move_after(&mut self, phi: InstId, last: InstId, bits: u64) -> Option<bool> {
        let result = self.f.operands_of(phi)[0].vreg().expect("a phi has a result");
        let Some((form, ty)) = self.form_of_move(result) else { return Some(false) };
        let form_of_last = self.f.head(last).form;
        let operands = &mut self.scratch.operands;
        operands.clear();
        operands.extend_from_slice(self.f.operands_of(last));
        let mut change = self.f.change_in_place(phi, "all values of the phi are one constant")?;
        if phi != last {
            change.set_form(phi, form_of_last, operands);
        }
        let constant = constants::operand(&mut change, bits, ty);
        change.set_form(last, form, &[operand_of(ty, result), constant]);
        self.has_changed = true;
        Some(true)
    }

    /// Replaces the computations of a block that are constants; nothing where the bisect limit is reached.
    fn replace_computations(&mut self, block: BlockId) -> Option<()> {
        for inst in self.f.view().blocks[block.index()].insts.range().map(InstId::new) {
            let head = self.f.head(inst);
            if !head.is_live() || head.is_phi() || self.f.form_of(inst).operation == Operation::Mov {
                continue;
            }
            let result = self.f.operands_of(inst).first().and_then(|first| first.vreg());
            let Some(result) = result else { continue };
            let Some(bits) = self.scratch.solver.cell(result).bits() else { continue };
            let (function, forms) = self.f.view_and_forms();
            if (Transfer { function: &function, forms, inst }).only_result() != Some(result) {
                continue;
            }
            let Some((form, ty)) = self.form_of_move(result) else { continue };
            let mut change = self.f.change_in_place(inst, "its result is the same whenever it runs")?;
            let constant = constants::operand(&mut change, bits, ty);
            change.set_form(inst, form, &[operand_of(ty, result), constant]);
            self.has_changed = true;
        }
        Some(())
    }

    /// The form of a move of a constant into a register, and its type.
    fn form_of_move(&mut self, result: VRegId) -> Option<(FormId, PtxType)> {
        let ty = moved_as(self.f.vreg(result).ty.element())?;
        let mov = Description::new(Operation::Mov, Qualifiers::default(), &[ty]);
        Some((self.f.forms().build(&mov, shape::plain(2))?, ty))
    }
}
