//! Variables that are always equal: moves write both, pair by pair the same.

use crate::values::variable_moves::{Move, VariableMoves, are_side_by_side};
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_engine::edit::FunctionEditor;
use std::ops::Range;

/// A variable that is always equal to another one.
struct Twin {
    vreg: VRegId,
    same_as: VRegId,
    /// Its moves, in the sorted list.
    moves: Range<usize>,
}

/// Memory of the search.
#[derive(Default)]
pub(super) struct Twins {
    /// The moves by variable, and in the order of the text.
    sorted: Vec<Move>,
    /// The moves of each variable that nothing else writes, in the sorted list; those that may be equal together.
    variables: Vec<Range<usize>>,
    /// By register.
    found: Vec<Twin>,
    /// Reads of twins: the number in `found`, the instruction and the position.
    reads: Vec<(usize, InstId, usize)>,
}

impl Twins {
    /// Lets one variable stand for all that are always equal to it, and says whether there are any; gives nothing where the
    /// bisect limit is reached.
    pub(super) fn replace(&mut self, f: &mut FunctionEditor<'_>, moves: &VariableMoves) -> Option<bool> {
        self.list(moves);
        self.find(f);
        if self.found.is_empty() {
            return Some(false);
        }
        self.find_reads(f);
        let mut reads = self.reads.chunk_by(|one, other| one.0 == other.0).peekable();
        for (number, twin) in self.found.iter().enumerate() {
            let moves = &self.sorted[twin.moves.clone()];
            let mut change =
                f.change_in_place(moves[0].inst, "a variable that is always equal to another")?;
            for &(_, inst, position) in reads.next_if(|reads| reads[0].0 == number).unwrap_or_default() {
                let operand = change.operands_of(inst)[position];
                change.set_operand(inst, position, operand.with_vreg(twin.same_as));
            }
            moves.iter().for_each(|found| change.delete(found.inst));
        }
        Some(true)
    }

    /// Lists the variables that only moves write.
    fn list(&mut self, moves: &VariableMoves) {
        let Self { sorted, variables, .. } = self;
        sorted.clear();
        sorted.extend(&moves.all);
        sorted.sort_by_key(|found| found.to);
        variables.clear();
        let mut first = 0;
        for of_one in sorted.chunk_by(|one, other| one.to == other.to) {
            let range = first..first + of_one.len();
            first = range.end;
            if moves.definition_counts[of_one[0].to.index()] as usize == of_one.len() {
                variables.push(range);
            }
        }
        let moves_of = |range: &Range<usize>| &sorted[range.clone()];
        variables.sort_by(|one, other| {
            let (one, other) = (moves_of(one), moves_of(other));
            one.iter().map(key).cmp(other.iter().map(key)).then(one[0].inst.cmp(&other[0].inst))
        });
    }

    fn find(&mut self, f: &FunctionEditor<'_>) {
        let Self { sorted, variables, found, .. } = self;
        found.clear();
        let Some((mut nearest, others)) = variables.split_first() else { return };
        for other in others {
            let (one, twin) = (&sorted[nearest.clone()], &sorted[other.clone()]);
            if are_twins(f, one, twin) {
                found.push(Twin { vreg: twin[0].to, same_as: one[0].to, moves: other.clone() });
            } else {
                nearest = other;
            }
        }
        found.sort_unstable_by_key(|twin| twin.vreg);
    }

    fn find_reads(&mut self, f: &FunctionEditor<'_>) {
        let Self { found, reads, .. } = self;
        reads.clear();
        for (inst, _, operands) in f.view().rows() {
            for (position, operand) in operands.iter().enumerate().filter(|(_, operand)| operand.is_use()) {
                let Some(vreg) = operand.vreg() else { continue };
                if let Ok(number) = found.binary_search_by_key(&vreg, |twin| twin.vreg) {
                    reads.push((number, inst, position));
                }
            }
        }
        reads.sort_unstable();
    }
}

/// What is the same of two moves that belong together: their block, source and guard.
type Key = (BlockId, (u8, usize, u64), Option<(u32, u32)>);

fn key(found: &Move) -> Key {
    (found.block, found.source.key(), found.guard.map(|guard| (guard.word(), guard.modifiers())))
}

/// Whether two lists of moves write the same to two variables, pair by pair.
fn are_twins(f: &FunctionEditor<'_>, one: &[Move], other: &[Move]) -> bool {
    let variables = [one[0].to, other[0].to];
    let is_pair = |(one, other): (&Move, &Move)| {
        key(one) == key(other)
            && one.read().all(|vreg| !variables.contains(&vreg))
            && are_side_by_side(f, one.inst.min(other.inst), one.inst.max(other.inst), one.read(), &variables)
    };
    let have_one_type = f.vreg(variables[0]).ty == f.vreg(variables[1]).ty;
    have_one_type && one.len() == other.len() && one.iter().zip(other).all(is_pair)
}
