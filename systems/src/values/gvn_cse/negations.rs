//! Comparisons that are the opposite of one before them: their readers read the other predicate, negated.
//!
//! ```text
//! setp.lt.s32 p1, r1, r2;                       setp.lt.s32 p1, r1, r2;
//! setp.ge.s32 p2, r1, r2;                       // gone
//! @p2 bra L;                                    @!p1 bra L;
//! selp.b32 r3, 1, 2, p2;                        selp.b32 r3, 2, 1, p1;
//! ```
//! Where one of them cannot, `not.pred p2, p1` stands in the place of the comparison. One that only logic reads, once, stays, since phase
//! 75 makes both one instruction: unless that does so with another comparison.

use crate::ssa::moves::operand_of;
use ptxopt_components::description::Description;
use ptxopt_components::form::{FormFlags, Kinds, shape};
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::{Operand, OperandKind, reads};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Qualifiers;
use ptxopt_components::types::PtxType;
use ptxopt_engine::edit::{Change, FunctionEditor};
use ptxopt_engine::values::reaching::Reaching;

/// The comparisons of a function that are the opposite of one before them.
#[derive(Default)]
pub(super) struct Negations {
    found: Vec<Negation>,
    /// By register: one more than the position in `found`, if it is the result of one of these.
    numbers: Vec<u32>,
    /// Where those are read, by the position in `found`.
    reads: Vec<(u32, Read)>,
    /// By register: how often it is read.
    read_counts: Vec<u32>,
}

/// Where a predicate is read.
#[derive(Clone, Copy)]
struct Read {
    inst: InstId,
    position: usize,
    /// How its negation can be read there, if it can.
    how: Option<How>,
}

/// How the negation of a predicate is read.
#[derive(Clone, Copy)]
enum How {
    /// As it is, negated.
    Negated,
    /// By a selection whose sources change places.
    Swapped,
}

/// A comparison that is the opposite of one before it.
struct Negation {
    inst: InstId,
    /// What both leave.
    result: VRegId,
    opposite: VRegId,
}

impl Negations {
    /// Forgets those of the function before.
    pub(super) fn start(&mut self) {
        self.found.clear();
    }

    /// Notes a comparison, and the register that holds the opposite.
    pub(super) fn note(&mut self, f: &FunctionEditor<'_>, inst: InstId, opposite: VRegId) {
        let result = f.operands_of(inst)[0].vreg().expect("comparisons in the table leave registers");
        self.found.push(Negation { inst, result, opposite });
    }

    /// Takes the comparisons away, adds the predicates that branches ask instead to `asked`, and says whether nothing is left for copy
    /// propagation to do; gives nothing where the bisect limit is reached.
    pub(super) fn replace(
        &mut self,
        f: &mut FunctionEditor<'_>,
        reaching: &Reaching,
        asked: &mut Vec<VRegId>,
    ) -> Option<bool> {
        self.find_reads(f);
        let mut is_settled = true;
        let mut reads = &*self.reads;
        for (&Negation { inst, result, opposite }, number) in self.found.iter().zip(0..) {
            let (own, others) = reads.split_at(reads.partition_point(|read| read.0 == number));
            reads = others;
            if let &[(_, read)] = own
                && self.is_fused(f, reaching, result, read.inst)
            {
                continue;
            }
            let can_all = own.iter().all(|(_, read)| read.how.is_some());
            let mut change =
                f.change_in_place(inst, "is false where what has been computed before is true")?;
            if can_all {
                for &(_, read) in own {
                    if change.function().heads[read.inst.index()].marks.contains(Marks::CONTROL) {
                        asked.push(opposite);
                    }
                    is_settled &= read_negated(&mut change, read, opposite);
                }
                change.delete(inst);
            } else {
                let description = Description::new(Operation::Not, Qualifiers::default(), &[PtxType::Pred]);
                let form =
                    change.forms().build(&description, shape::plain(2)).expect("predicates can be negated");
                let result = Operand::predicate(result, false);
                change.set_form(inst, form, &[result, operand_of(PtxType::Pred, opposite)]);
                is_settled = false;
            }
        }
        Some(is_settled)
    }

    /// Lists where their results are read.
    fn find_reads(&mut self, f: &FunctionEditor<'_>) {
        let Self { found, numbers: by_vreg, reads, read_counts } = self;
        reads.clear();
        if found.is_empty() {
            return;
        }
        let function = f.view();
        by_vreg.clear();
        by_vreg.resize(function.vregs.len(), 0);
        for (negation, number) in found.iter().zip(1..) {
            by_vreg[negation.result.index()] = number;
        }
        read_counts.clear();
        read_counts.resize(function.vregs.len(), 0);
        for (inst, _, operands) in function.rows() {
            for (position, operand) in operands.iter().enumerate().filter(|(_, operand)| operand.is_use()) {
                let Some(vreg) = operand.vreg() else { continue };
                read_counts[vreg.index()] += 1;
                if let Some(number) = by_vreg[vreg.index()].checked_sub(1) {
                    reads.push((number, Read { inst, position, how: how(f, inst, position) }));
                }
            }
        }
        reads.sort_unstable_by_key(|&(number, Read { inst, position, .. })| (number, inst, position));
    }

    /// Whether `reader` alone reads a comparison and becomes one instruction with it: it is logic, and no other comparison is there for
    /// it alone.
    fn is_fused(&self, f: &FunctionEditor<'_>, reaching: &Reaching, result: VRegId, reader: InstId) -> bool {
        let operation = |inst| (!f.head(inst).is_phi()).then(|| f.form_of(inst).operation);
        let is_logic = matches!(operation(reader), Some(Operation::And | Operation::Or | Operation::Xor));
        is_logic
            && reads(f.operands_of(reader)).all(|vreg| {
                let is_other = vreg != result && self.read_counts[vreg.index()] == 1;
                let computed_by = reaching.only_definition(vreg).filter(|_| is_other);
                computed_by.and_then(operation) != Some(Operation::Setp)
            })
    }
}

/// How an instruction can read the negation of the predicate at `position`, if it can.
fn how(f: &FunctionEditor<'_>, inst: InstId, position: usize) -> Option<How> {
    let head = f.head(inst);
    if head.is_phi() {
        return None;
    }
    let Some(slot) = f.slots_of(inst).get(position) else {
        return head.opcode.is_guarded().then_some(How::Negated);
    };
    let form = f.form_of(inst);
    match form.operation {
        Operation::Selp => Some(How::Swapped),
        // The assembler takes `mov.pred p, !q`; the ISA does not say so.
        Operation::Mov => None,
        // Arguments are what their callee takes.
        _ if !form.flags.contains(FormFlags::MODELLED) || form.effects.contains(Effects::CALL) => None,
        _ => slot.takes().contains(Kinds::NEGATED).then_some(How::Negated),
    }
}

/// Lets an instruction read the negation of `opposite`. Says whether that changes nothing but the name for the rules of general
/// optimization, which ask whether two operands are one register.
fn read_negated(change: &mut Change<'_, '_>, Read { inst, position, how }: Read, opposite: VRegId) -> bool {
    let operands = change.operands_of(inst);
    let is_alone = operands.iter().all(|operand| operand.vreg() != Some(opposite));
    let OperandKind::Predicate { negated, .. } = operands[position].kind() else {
        unreachable!("a comparison leaves a predicate")
    };
    let is_swapped = matches!(how, Some(How::Swapped));
    if is_swapped {
        let (one, other) = (operands[1], operands[2]);
        change.set_operand(inst, 1, other);
        change.set_operand(inst, 2, one);
    }
    change.set_operand(inst, position, Operand::predicate(opposite, negated == is_swapped));
    is_alone
}
