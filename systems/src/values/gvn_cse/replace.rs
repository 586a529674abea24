//! Moves in place of what has been computed before.

use super::Mode;
use crate::ssa::moves::{move_form, moved_as, read_of};
use crate::values::general_optimize::constants::operand as constant_operand;
use crate::values::value_numbers::{Again, Known, Source, ValueNumbers, bits_of};
use ptxopt_components::ids::{InstId, VRegId};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::Operand;
use ptxopt_components::types::{PtxType, TypeKind};
use ptxopt_engine::edit::{Change, FunctionEditor};
use ptxopt_engine::values::definitions::Defined;
use ptxopt_engine::values::reaching::Reaching;

/// The registers that values can be had from, during the walk.
#[derive(Default)]
pub(super) struct Leaders {
    /// By number: the register that holds it, or [`NOWHERE`].
    of: Vec<u32>,
    /// The results of one instruction, and where they can be had.
    moves: Vec<(VRegId, Source)>,
}

const NOWHERE: u32 = u32::MAX;

impl Leaders {
    /// Makes moves of all instructions whose results can be had; gives nothing where the bisect limit is reached.
    pub(super) fn replace(
        &mut self,
        f: &mut FunctionEditor<'_>,
        numbers: &ValueNumbers,
        reaching: &Reaching,
        mode: Mode,
    ) -> Option<()> {
        if numbers.again().is_empty() {
            return Some(());
        }
        self.of.clear();
        self.of.extend((0..numbers.count() as u32).map(|number| match numbers.source(number) {
            Some(Source::Register(vreg)) => vreg.0,
            Some(Source::Constant(_)) | None => NOWHERE,
        }));
        for &again in numbers.again() {
            if self.find_moves(f, numbers, reaching, mode, again) {
                self.make_moves(f, again.inst)?;
            }
        }
        Some(())
    }

    /// Finds where the results of an instruction can be had, and says whether all of them can. If not, they can be had
    /// from it.
    fn find_moves(
        &mut self,
        f: &FunctionEditor<'_>,
        numbers: &ValueNumbers,
        reaching: &Reaching,
        mode: Mode,
        again: Again,
    ) -> bool {
        let Self { of, moves } = self;
        moves.clear();
        let block = f.head(again.inst).block;
        let mut is_known = true;
        let results = f.operands_of(again.inst).iter().take_while(|operand| operand.is_definition());
        for (position, result) in results.enumerate() {
            let Some(vreg) = result.vreg() else { continue };
            let like = |other: InstId| f.operands_of(other)[position].vreg().expect("a result in the table");
            let number = match again.known {
                Known::Number(number) => number,
                Known::LikeResultsOf(other) => numbers.of(like(other)),
                Known::HeldByResultsOf(other) => {
                    is_known &= mode != Mode::Block || f.head(other).block == block;
                    moves.push((vreg, Source::Register(like(other))));
                    continue;
                }
            };
            let source = match numbers.source(number) {
                Some(Source::Constant(constant)) => Some(Source::Constant(constant)),
                _ => Some(of[number as usize]).filter(|&leader| leader != NOWHERE).and_then(|leader| {
                    let Defined::Once(inst, defined_in) = reaching.definitions().defined(VRegId(leader)) else {
                        return None;
                    };
                    let is_before = match defined_in == block {
                        true => inst < again.inst,
                        false => mode != Mode::Block && reaching.tree().dominates(defined_in, block),
                    };
                    is_before.then_some(Source::Register(VRegId(leader)))
                }),
            };
            match source.filter(|&source| mover(f, vreg, source).is_some()) {
                Some(source) => moves.push((vreg, source)),
                None => {
                    is_known = false;
                    if reaching.only_definition(vreg) == Some(again.inst) {
                        of[number as usize] = vreg.0;
                    }
                }
            }
        }
        // A move may not overwrite what the next one reads.
        let reads = |vreg: VRegId| moves.iter().any(|&(_, source)| source == Source::Register(vreg));
        is_known && (moves.len() == 1 || !moves.iter().any(|&(vreg, _)| reads(vreg)))
    }

    /// Puts moves in the place of an instruction.
    fn make_moves(&self, f: &mut FunctionEditor<'_>, inst: InstId) -> Option<()> {
        let is_phi = f.head(inst).is_phi();
        let guard = f.view().guard_of(inst);
        let (block, reason) = (f.head(inst).block, reason(f, inst));
        let movers: Vec<PtxType> =
            self.moves.iter().map(|&(vreg, source)| mover(f, vreg, source).expect("it was asked before")).collect();
        if let ([(vreg, source)], false) = (&*self.moves, is_phi) {
            let form = move_form(f.forms(), movers[0]);
            let mut change = f.change_in_place(inst, reason)?;
            let operands = operands(&mut change, *vreg, *source, movers[0]);
            change.set_form(inst, form, &operands);
            return Some(());
        }
        let mut change = f.change(inst, reason)?;
        for (&(vreg, source), &ty) in self.moves.iter().zip(&movers) {
            let form = move_form(change.forms(), ty);
            let operands = operands(&mut change, vreg, source, ty);
            let before = if is_phi { change.first_after_phis(block) } else { Some(inst) };
            match before {
                Some(before) => change.insert_before(before, form, &operands, guard),
                None => change.insert_at_end(block, form, &operands, guard),
            };
        }
        change.delete(inst);
        Some(())
    }
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
            // A float in a register of bits, or the reverse.
            let has_kinds = ![ty, other].iter().any(|ty| ty.kind() == TypeKind::Predicate);
            (has_kinds && ty.bits() == other.bits()).then(|| bits_of(ty)).filter(|&bits| moved_as(bits).is_some())
        }
    }
}

/// The operands of a move of type `ty`.
fn operands(change: &mut Change<'_, '_>, vreg: VRegId, source: Source, ty: PtxType) -> [Operand; 2] {
    let moved = match source {
        Source::Register(other) => read_of(ty, other),
        Source::Constant(constant) => constant_operand(change, constant.bits(), ty),
    };
    [read_of(ty, vreg), moved]
}

/// Why an instruction becomes a move.
fn reason(f: &FunctionEditor<'_>, inst: InstId) -> &'static str {
    if f.head(inst).is_phi() {
        "the values of a phi are what is known"
    } else if f.form_of(inst).effects.contains(Effects::READ) {
        "loads what was loaded or stored before"
    } else {
        "computes what has been computed before"
    }
}
