//! Loaded halves: what is loaded in two halves and put together by a shift and a sum is packed.
//!
//! ```text
//! ld.b32 d1, [a];                ld.b32 r1, [a];
//! ld.b32 d2, [a+4];              ld.b32 r2, [a+4];
//! shl.b64 d3, d2, 32;            mov.b64 d4, {r1, r2};
//! or.b64 d4, d3, d1;      ->
//! ```
//! clang copies structures of numbers of 32 bits eight bytes at a time, where the memory is aligned to four, and takes them apart again. Rules
//! see through the pack, and not through the sum.
//!
//! # What has to be known
//! The lower half is loaded without a sign, or extended without one. The upper half is loaded in any way: the shift drops what is above it.
//! What is shifted and what is loaded is read once, here, so the loads can leave their values in registers of 32 bits, and the shift goes.
//! Conversions and stores of 32 bits or less may read what is loaded, too: they take a narrow register as well. At least one of the halves
//! is loaded: [rules](super::super::rules) pack two that are extended.

use super::super::Walk;
use super::super::rules::stored_bits;
use super::count_reads;
use ptxopt_components::code_object::Room;
use ptxopt_components::description::Description;
use ptxopt_components::form::Form;
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Qualifiers;
use ptxopt_components::types::{PtxType, truncate};
use ptxopt_engine::store::view::FunctionView;

const REASON: &str = "two halves are loaded and put together";

/// Memory of the step.
#[derive(Default)]
pub(super) struct LoadedHalves {
    /// Shifts of 64 bits to the left by 32; in the order of their ids.
    shifts: Vec<InstId>,
    /// What may put two halves together.
    sums: Vec<InstId>,
    /// Registers of which the lower 32 bits are read at most, what reads them, and where it names them; sorted.
    cuts: Vec<(VRegId, InstId, usize)>,
    /// By register: how often anything else reads it.
    read_count: Vec<u32>,
}

/// Where a half comes from.
#[derive(Clone, Copy)]
enum Half {
    /// What loads it to a register of 64 bits, and that.
    Loaded(InstId, VRegId),
    /// A register of 32 bits.
    Of(Operand),
}

impl LoadedHalves {
    /// Forgets the function before.
    pub(super) fn start(&mut self) {
        self.shifts.clear();
        self.sums.clear();
    }

    /// Notes an instruction, of which all are shown.
    #[inline]
    pub(super) fn look_at(&mut self, function: &FunctionView<'_>, inst: InstId, form: &Form) {
        if !matches!(form.operation, Operation::Shl | Operation::Or | Operation::Add | Operation::Xor)
            || form.types[0].is_none_or(|ty| ty.bits() != 64)
        {
            return;
        }
        if form.operation != Operation::Shl {
            self.sums.push(inst);
        } else if let &[_, _, amount] = function.operands_of(inst)
            && amount.integer_bits(&function.pools.literals).is_some_and(|bits| truncate(bits, 32) == 32)
        {
            self.shifts.push(inst);
        }
    }

    /// Whether something is shifted that something else may be put to.
    pub(super) fn has_some(&self) -> bool {
        !self.shifts.is_empty() && !self.sums.is_empty()
    }
}

impl Walk<'_, '_> {
    /// Packs halves that are loaded; says whether there were any, and gives nothing where the bisect limit is reached.
    pub(super) fn pack_loaded_halves(&mut self, halves: &mut LoadedHalves) -> Option<bool> {
        let LoadedHalves { shifts, sums, cuts, read_count } = halves;
        self.find_cuts(cuts, read_count);
        let mut has_changed = false;
        for &sum in &*sums {
            let Some((result, shift, [low, high])) = self.loaded_halves(sum, shifts, read_count) else {
                continue;
            };
            let room = Room { vregs: 2, ..Room::default() };
            let mut change = self.f.change_with_room(self.f.offset_of(sum), REASON, room)?;
            let [low, high] = [low, high].map(|half| match half {
                Half::Of(operand) => operand,
                Half::Loaded(load, wide) => {
                    let narrow = Operand::register(change.new_vreg(PtxType::B32));
                    change.set_operand(load, 0, narrow);
                    let first = cuts.partition_point(|&(vreg, ..)| vreg < wide);
                    for &(_, cut, position) in cuts[first..].iter().take_while(|&&(vreg, ..)| vreg == wide) {
                        change.set_operand(cut, position, narrow);
                    }
                    narrow
                }
            });
            let pack = Description::new(Operation::Mov, Qualifiers::default(), &[PtxType::B64]);
            let form = change.forms().build(&pack, b"#,{#,#}").expect("two halves can be packed");
            change.set_form(sum, form, &[Operand::register(result), low, high]);
            change.delete(shift);
            has_changed = true;
        }
        Some(has_changed)
    }

    /// Counts what reads each register, without what takes a narrow one as well, and lists that.
    fn find_cuts(&self, cuts: &mut Vec<(VRegId, InstId, usize)>, read_count: &mut Vec<u32>) {
        let (function, forms) = self.f.view_and_forms();
        count_reads(&function, read_count);
        cuts.clear();
        for (inst, head, operands) in function.rows() {
            let form = forms.get(head.form);
            let place = match form.operation {
                Operation::Cvt => {
                    form.types[1].filter(|from| from.is_of_integers()).map(|from| (1, from.bits()))
                }
                Operation::St => stored_bits(self, inst),
                _ => None,
            };
            let Some((position, _)) = place.filter(|&(_, bits)| bits <= 32) else { continue };
            let source = operands[position];
            if let Some(vreg) = source.vreg().filter(|&vreg| source == Operand::register(vreg)) {
                cuts.push((vreg, inst, position));
                read_count[vreg.index()] -= 1;
            }
        }
        cuts.sort_unstable();
    }

    /// The result of a sum that puts two halves together, the shift of the upper one, and the halves.
    fn loaded_halves(
        &mut self,
        sum: InstId,
        shifts: &[InstId],
        read_count: &[u32],
    ) -> Option<(VRegId, InstId, [Half; 2])> {
        let binary = self.binary(sum)?;
        let mut shift_of = |operand: Operand| {
            let shift = self.computed_by(operand, sum)?;
            (shifts.binary_search(&shift).is_ok() && read_count[operand.vreg()?.index()] == 1)
                .then_some(shift)
        };
        let (low, shift) = match shift_of(binary.other) {
            Some(shift) => (binary.one, shift),
            None => (binary.other, shift_of(binary.one)?),
        };
        let shifted = self.binary(shift)?.one;
        let low = self.half(low, sum, read_count, true)?;
        let high = self.half(shifted, shift, read_count, false)?;
        let high_stands = match high {
            Half::Of(operand) => self.is_still(operand, shift, sum),
            Half::Loaded(..) => true,
        };
        let is_loaded = [low, high].iter().any(|half| matches!(half, Half::Loaded(..)));
        (is_loaded && high_stands).then_some((binary.result, shift, [low, high]))
    }

    /// What an operand of 64 bits has in its lower half; of a lower half nothing is above that.
    fn half(&mut self, operand: Operand, before: InstId, read_count: &[u32], is_low: bool) -> Option<Half> {
        let definition = self.computed_by(operand, before)?;
        let fits = |ty: PtxType| ty.is_of_integers() && !(is_low && ty.is_signed());
        if self.f.form_of(definition).operation == Operation::Ld {
            let description = self.f.description_of(definition);
            let is_narrow = description.types[0].is_some_and(|ty| fits(ty) && ty.bits() <= 32);
            let vreg = operand.vreg()?;
            let is_one = description.lanes() == 1 && read_count[vreg.index()] == 1;
            let is_only = self.reaching.only_definition(vreg).is_some();
            return (is_narrow && is_one && is_only).then_some(Half::Loaded(definition, vreg));
        }
        // A load that was narrowed since leaves a register of which nothing is known.
        self.conversion(definition)?.source.vreg().filter(|vreg| vreg.index() < read_count.len())?;
        let extension = self.extension(operand, before)?;
        let is_whole = extension.from.bits() == 32 && self.width(extension.source.vreg()?) == 32;
        (is_whole && fits(extension.from)).then_some(Half::Of(extension.source))
    }
}
