//! Takes away what is computed again: its readers read what was computed before, or it becomes a move.

use super::Mode;
use super::far::Crowded;
use super::negations::Negations;
use super::scope::Scopes;
use crate::ssa::moves::{move_form, moved_as, operand_of};
use crate::values::general_optimize::constants::operand as constant_operand;
use crate::values::value_numbers::{Again, Known, Opposed, Source, ValueNumbers, bits_of};
use ptxopt_components::ids::{BlockId, Id, InstId, Span, VRegId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::Operand;
use ptxopt_components::types::{PtxType, TypeKind};
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::edit::{AfterPhis, Change, FunctionEditor};
use ptxopt_engine::graph::dominator_tree::DominatorTree;
use ptxopt_engine::values::definitions::Defined;
use ptxopt_engine::values::reaching::Reaching;

/// A result that can be had elsewhere.
#[derive(Clone, Copy)]
struct Copied {
    vreg: VRegId,
    source: Source,
    /// The type of the move that copies it.
    ty: PtxType,
}

/// An instruction all of whose results can be had elsewhere.
struct Redundant {
    inst: InstId,
    /// Its results, in the list.
    results: Span,
    /// Whether its readers can read the others.
    is_renamed: bool,
}

/// What is taken away, and the registers that values can be had from during the walk.
#[derive(Default)]
pub(super) struct Redundancies {
    scopes: Scopes,
    /// By number: the register that holds it, or [`NOWHERE`].
    leaders: Vec<u32>,
    found: Vec<Redundant>,
    results: Vec<Copied>,
    /// By register: one more than its position in `results`, if it is one whose readers read another.
    renamed: Vec<u32>,
    /// Reads of those: the position in `results`, the instruction and the position there.
    reads: Vec<(u32, InstId, usize)>,
    /// What branches read instead of another predicate now.
    asked: Vec<VRegId>,
    crowded: Crowded,
    negations: Negations,
}

const NOWHERE: u32 = u32::MAX;

impl Redundancies {
    /// Takes away all instructions whose results can be had elsewhere, and says whether nothing is left for copy propagation
    /// to do; gives nothing where the bisect limit is reached.
    pub(super) fn replace(
        &mut self,
        f: &mut FunctionEditor<'_>,
        numbers: &ValueNumbers,
        reaching: &Reaching,
        mode: Mode,
    ) -> Option<bool> {
        self.scopes.find(f, reaching.tree(), mode);
        self.crowded.start();
        self.asked.clear();
        self.find(f, numbers, reaching);
        self.find_reads(f);
        let mut is_settled = true;
        let mut reads = &*self.reads;
        let mut after_phis = AfterPhis::default();
        for redundant in &self.found {
            let results = &self.results[redundant.results.range()];
            if !redundant.is_renamed {
                make_moves(f, redundant.inst, results, &mut after_phis)?;
                is_settled = false;
                continue;
            }
            is_settled &= results.iter().all(|result| is_computed_alike(f, reaching, redundant.inst, result));
            let mut change = f.change_in_place(redundant.inst, reason(f, redundant.inst))?;
            let own = reads.partition_point(|read| (read.0 as usize) < redundant.results.range().end);
            for &(result, inst, position) in &reads[..own] {
                is_settled &= rename(&mut change, inst, position, self.results[result as usize].source);
            }
            reads = &reads[own..];
            change.delete(redundant.inst);
        }
        is_settled &= self.negations.replace(f, reaching, &mut self.asked)?;
        Some(is_settled)
    }

    /// Whether a branch asks another predicate since the last call of `replace`, one that has been asked on the way there.
    pub(super) fn asks_again(&mut self, f: &FunctionEditor<'_>, tree: &DominatorTree) -> bool {
        let Self { asked, .. } = self;
        if asked.is_empty() {
            return false;
        }
        asked.sort_unstable();
        asked.dedup();
        let function = f.view();
        let mut last = vec![None; asked.len()];
        let is_decided = |before, block| {
            let is_way = |&way: &BlockId| function.preds(way) == [before] && tree.dominates(way, block);
            function.succs(before).iter().any(is_way)
        };
        tree.preorder().iter().any(|&block| {
            let guard = function.insts_of(block).next_back().and_then(|inst| function.guard_of(inst));
            let asks = guard.and_then(|guard| asked.binary_search(&guard.vreg()?).ok());
            asks.is_some_and(|number| {
                last[number].replace(block).is_some_and(|before| is_decided(before, block))
            })
        })
    }

    fn find(&mut self, f: &FunctionEditor<'_>, numbers: &ValueNumbers, reaching: &Reaching) {
        self.found.clear();
        self.results.clear();
        self.negations.start();
        if numbers.again().is_empty() && numbers.opposites().is_empty() {
            return;
        }
        self.leaders.clear();
        self.leaders.extend((0..numbers.count() as u32).map(|number| match numbers.source(number) {
            Some(Source::Register(vreg)) => vreg.0,
            Some(Source::Constant(_)) | None => NOWHERE,
        }));
        let mut opposites = numbers.opposites().iter().peekable();
        for (number, &again) in numbers.again().iter().enumerate() {
            while let Some(&opposed) = opposites.next_if(|opposed| opposed.known_before <= number) {
                self.find_negation(f, reaching, opposed);
            }
            let first = self.results.len();
            if self.find_results(f, numbers, reaching, again) {
                let results = &self.results[first..];
                let is_renamed = results.iter().all(|result| is_renamed(f, result));
                let results = Span::between(first, self.results.len());
                self.found.push(Redundant { inst: again.inst, results, is_renamed });
            } else {
                self.results.truncate(first);
            }
        }
        opposites.for_each(|&opposed| self.find_negation(f, reaching, opposed));
    }

    /// Notes a comparison whose opposite can be had.
    fn find_negation(&mut self, f: &FunctionEditor<'_>, reaching: &Reaching, opposed: Opposed) {
        if let Some(opposite) = self.leader(f, reaching, opposed.inst, opposed.number) {
            self.negations.note(f, opposed.inst, opposite);
        }
    }

    /// The register that a number can be had from at `inst`.
    fn leader(
        &mut self,
        f: &FunctionEditor<'_>,
        reaching: &Reaching,
        inst: InstId,
        number: u32,
    ) -> Option<VRegId> {
        let Self { scopes, leaders, crowded, .. } = self;
        let block = f.head(inst).block;
        let leader = Some(leaders[number as usize]).filter(|&leader| leader != NOWHERE).map(VRegId)?;
        let Defined::Once(maker, of) = reaching.definitions().defined(leader) else { return None };
        let is_before = if of == block { maker < inst } else { reaching.tree().dominates(of, block) };
        let is_kept =
            is_before && scopes.is_one(of, block) && !crowded.lies_between(f, (maker, leader), inst);
        is_kept.then_some(leader)
    }

    /// Finds where the results of an instruction can be had, and says whether all of them can. If not, they can be had
    /// from it.
    fn find_results(
        &mut self,
        f: &FunctionEditor<'_>,
        numbers: &ValueNumbers,
        reaching: &Reaching,
        again: Again,
    ) -> bool {
        let first = self.results.len();
        let block = f.head(again.inst).block;
        let mut are_known = true;
        let written = f.operands_of(again.inst).iter().take_while(|operand| operand.is_definition());
        for (position, result) in written.enumerate() {
            let Some(vreg) = result.vreg() else { continue };
            let like = |other: InstId| f.operands_of(other)[position].vreg().expect("a result in the table");
            let mut held = |number: u32| match numbers.source(number) {
                Some(Source::Constant(constant)) => Some(Source::Constant(constant)),
                _ => self.leader(f, reaching, again.inst, number).map(Source::Register),
            };
            let (number, source) = match again.known {
                Known::Number(number) => (Some(number), held(number)),
                Known::LikeResultsOf(other) => {
                    let number = numbers.of(like(other));
                    (Some(number), held(number))
                }
                Known::HeldByResultsOf(other) => {
                    let is_near = self.scopes.is_one(f.head(other).block, block);
                    (None, is_near.then(|| Source::Register(like(other))))
                }
            };
            match source.and_then(|source| Some((source, mover(f, vreg, source)?))) {
                Some((source, ty)) => self.results.push(Copied { vreg, source, ty }),
                None => {
                    are_known = false;
                    // A register with guarded writes is no value, however many there are.
                    if let Some(number) = number
                        && f.vreg(vreg).is_value()
                    {
                        self.leaders[number as usize] = vreg.0;
                    }
                }
            }
        }
        // A move may not overwrite what the next one reads, and all have the guard.
        let results = &self.results[first..];
        let guard = f.guard_of(again.inst).and_then(|guard| guard.vreg());
        let is_read = |vreg: VRegId| {
            guard == Some(vreg) || results.iter().any(|result| result.source == Source::Register(vreg))
        };
        are_known && (results.len() == 1 || !results.iter().any(|result| is_read(result.vreg)))
    }

    /// Lists the reads of results whose readers can read others, by result.
    fn find_reads(&mut self, f: &FunctionEditor<'_>) {
        let Self { found, results, renamed, reads, asked, .. } = self;
        reads.clear();
        if !found.iter().any(|redundant| redundant.is_renamed) {
            return;
        }
        let nothing = f.view().vregs.len();
        renamed.clear();
        renamed.resize(nothing + 1, 0);
        for redundant in found.iter().filter(|redundant| redundant.is_renamed) {
            for result in redundant.results.range() {
                renamed[results[result].vreg.index()] = result as u32 + 1;
            }
        }
        let renamed = &renamed[..];
        f.view().padded_rows().for_each(|(inst, head, operands)| {
            // Of most instructions none is read.
            if operands.iter().fold(0, |any, operand| any | renamed[operand.read_or(nothing)]) == 0 {
                return;
            }
            for (position, operand) in operands.iter().enumerate().filter(|(_, operand)| operand.is_use()) {
                if let Some(result) = operand.vreg().and_then(|vreg| renamed[vreg.index()].checked_sub(1)) {
                    reads.push((result, inst, position));
                    if head.marks.contains(Marks::CONTROL)
                        && let Source::Register(source) = results[result as usize].source
                    {
                        asked.push(source);
                    }
                }
            }
        });
        reads.sort_unstable();
    }
}

/// Whether all readers of a result can read its source: two values of one type.
fn is_renamed(f: &FunctionEditor<'_>, result: &Copied) -> bool {
    let Source::Register(source) = result.source else { return false };
    let (one, other) = (f.vreg(result.vreg), f.vreg(source));
    one.ty == other.ty && !one.flags.union(other.flags).intersects(VRegFlags::NO_VALUE)
}

/// Whether what computes the source of a result tells the rules of general optimization nothing that the instruction itself did
/// not: where a load goes, its readers may be looking at a sum for the first time.
fn is_computed_alike(f: &FunctionEditor<'_>, reaching: &Reaching, inst: InstId, result: &Copied) -> bool {
    let Source::Register(source) = result.source else { return true };
    let Defined::Once(other, _) = reaching.definitions().defined(source) else { return true };
    let operation = |inst| (!f.head(inst).is_phi()).then(|| f.form_of(inst).operation);
    operation(inst) == operation(other)
}

/// Lets an instruction read `source`. Says whether that changes nothing but the name for the rules of general optimization,
/// which ask whether two operands are one register.
fn rename(change: &mut Change<'_, '_>, inst: InstId, position: usize, source: Source) -> bool {
    let Source::Register(source) = source else { unreachable!("only registers are renamed") };
    if !change.function().heads[inst.index()].is_live() {
        return true;
    }
    let operands = change.operands_of(inst);
    let is_alone = operands.iter().all(|operand| operand.vreg() != Some(source));
    let operand = operands[position].with_vreg(source);
    change.set_operand(inst, position, operand);
    is_alone
}

/// Puts moves in the place of an instruction.
fn make_moves(
    f: &mut FunctionEditor<'_>,
    inst: InstId,
    results: &[Copied],
    after_phis: &mut AfterPhis,
) -> Option<()> {
    let is_phi = f.head(inst).is_phi();
    let (guard, block, reason) = (f.guard_of(inst), f.head(inst).block, reason(f, inst));
    if let (&[result], false) = (results, is_phi) {
        let mut change = f.change_in_place(inst, reason)?;
        let form = move_form(change.forms(), result.ty);
        let operands = operands(&mut change, result);
        change.set_form(inst, form, &operands);
        return Some(());
    }
    let mut change = f.change(inst, reason)?;
    for &result in results {
        let form = move_form(change.forms(), result.ty);
        let operands = operands(&mut change, result);
        let before = if is_phi { after_phis.of(&change, block) } else { Some(inst) };
        match before {
            Some(before) => change.insert_before(before, form, &operands, guard),
            None => change.insert_at_end(block, form, &operands, guard),
        };
    }
    change.delete(inst);
    Some(())
}

/// The type of the move that gives a register what can be had from `source`, if there is one.
fn mover(f: &FunctionEditor<'_>, vreg: VRegId, source: Source) -> Option<PtxType> {
    let scalar = |vreg: VRegId| {
        let ty = f.vreg(vreg).ty;
        (ty.lanes == 1).then(|| ty.element())
    };
    let ty = scalar(vreg)?;
    let moved = moved_as(ty)?;
    match source {
        Source::Constant(_) => (ty.kind() != TypeKind::Predicate).then_some(moved),
        Source::Register(other) => {
            let other = scalar(other)?;
            if moved_as(other) == Some(moved) {
                return Some(moved);
            }
            // A float in a register of bits, or the reverse: what is equal is as wide.
            Some(bits_of(ty))
        }
    }
}

/// The operands of the move of a result.
fn operands(change: &mut Change<'_, '_>, result: Copied) -> [Operand; 2] {
    let moved = match result.source {
        Source::Register(other) => operand_of(result.ty, other),
        Source::Constant(constant) => constant_operand(change, constant.bits(), result.ty),
    };
    [operand_of(result.ty, result.vreg), moved]
}

/// Why an instruction goes.
fn reason(f: &FunctionEditor<'_>, inst: InstId) -> &'static str {
    if f.head(inst).is_phi() {
        "the values of a phi are what is known"
    } else if f.form_of(inst).effects.contains(Effects::READ) {
        "loads what was loaded or stored before"
    } else {
        "computes what has been computed before"
    }
}
