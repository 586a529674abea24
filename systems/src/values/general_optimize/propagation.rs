//! How far copies are propagated: what the knobs of copy propagation say.

use super::Walk;
use super::constants::moved_bits;
use super::copies::Source;
use ptxopt_components::form::Role;
use ptxopt_components::ids::{InstId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::types::PtxType;
use ptxopt_engine::values::reaching::Value;

/// How far copies are propagated in one run over a function. The knobs are named after the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Propagation {
    /// `CopyPropBudget`: the most instructions that read copies and are looked at.
    pub insts_max: u32,
    /// `CopyPropGlobalBudget`: the most uses of copies that lie in another block.
    pub across_blocks_max: u32,
    /// `CopyPropForceGlobal`: whether that limit says nothing.
    pub is_forced_across_blocks: bool,
    /// `CopyPropAddr`: whether addresses take what was copied.
    pub into_addresses: bool,
    /// `CopyPropUseReachingDefs`: whether registers with several definitions take part.
    pub by_reaching_definitions: bool,
    /// `CopyPropNoWriteNonRR`: whether constants stay where they are.
    pub registers_only: bool,
    /// `CopyPropNonRegMultiDef`: whether constants are propagated from registers with several definitions.
    pub constants_of_variables: bool,
    /// `LateCopyPropComplPred`: whether a reader under a guard sees what was copied under that guard.
    pub under_guards: bool,
}

impl Propagation {
    /// Everything that is certain and costs little.
    const UNLIMITED: Self = Self {
        insts_max: u32::MAX,
        across_blocks_max: u32::MAX,
        is_forced_across_blocks: false,
        into_addresses: true,
        by_reaching_definitions: true,
        registers_only: false,
        constants_of_variables: true,
        under_guards: false,
    };
}

impl Default for Propagation {
    fn default() -> Self {
        Self::UNLIMITED
    }
}

/// What of the limits was used on a function.
#[derive(Default)]
pub(super) struct Spent {
    insts: u32,
    across_blocks: u32,
}

/// Writes under other guards that a reader looks past.
const COMPLEMENTS_MAX: u32 = 4;

impl Walk<'_, '_> {
    /// Whether one more instruction that reads copies may be looked at; counts it.
    pub(super) fn may_look(&mut self) -> bool {
        let may = self.spent.insts < self.settings.propagation.insts_max;
        self.spent.insts += u32::from(may);
        may
    }

    /// Whether an operand that reads `vreg` may read `source` instead; counts it.
    pub(super) fn may_propagate(
        &mut self,
        inst: InstId,
        position: usize,
        vreg: VRegId,
        source: Source,
    ) -> bool {
        let limits = self.settings.propagation;
        if limits == Propagation::UNLIMITED {
            return true;
        }
        let is_address = self.f.slots_of(inst).get(position).is_some_and(|slot| slot.role == Role::Address);
        if is_address && !limits.into_addresses {
            return false;
        }
        let is_often = |walk: &Self, vreg: VRegId| walk.reaching.only_definition(vreg).is_none();
        let is_fit = match source {
            Source::Constant(_) => {
                !limits.registers_only && (limits.constants_of_variables || !is_often(self, vreg))
            }
            Source::Register(operand, _) => {
                limits.by_reaching_definitions || operand.vreg().is_some_and(|source| !is_often(self, source))
            }
        };
        if !is_fit || !limits.by_reaching_definitions && is_often(self, vreg) {
            return false;
        }
        let Value::Of(definition) = self.value(vreg, inst) else { return false };
        self.f.head(definition).block == self.f.head(inst).block || self.may_cross()
    }

    /// Whether a phi may read what was copied: it stands in another block than the copy, but for loops of one block.
    pub(super) fn may_propagate_to_phi(&mut self) -> bool {
        self.settings.propagation == Propagation::UNLIMITED || self.may_cross()
    }

    /// Whether one more use in another block may read what was copied; counts it.
    fn may_cross(&mut self) -> bool {
        let limits = self.settings.propagation;
        let may = limits.is_forced_across_blocks || self.spent.across_blocks < limits.across_blocks_max;
        self.spent.across_blocks += u32::from(may);
        may
    }

    /// Whether an instruction has a guard under which copies are looked for.
    pub(super) fn reads_under_guard(&self, inst: InstId) -> bool {
        self.settings.propagation.under_guards && self.f.head(inst).opcode.is_guarded()
    }

    /// What a register holds for a reader under a guard, past writes that have the complementary one.
    ///
    /// ```text
    /// @p mov.b32 r2, r1;
    /// @!p mov.b32 r2, 5;
    /// @p add.s32 r4, r2, 1;      // add r4, r1, 1: where it is done, p holds, and the second move was not
    /// ```
    /// All three read one value of the predicate, and nothing has changed `r1` since.
    pub(super) fn source_under_guard(&mut self, vreg: VRegId, inst: InstId) -> Option<Source> {
        if !self.reads_under_guard(inst) {
            return None;
        }
        let (guard, is_negated) = self.guard(inst)?;
        let holds = self.value(guard, inst);
        let mut reader = inst;
        for _ in 0..COMPLEMENTS_MAX {
            let Value::Of(definition) = self.value(vreg, reader) else { return None };
            let source = match self.guard(definition) {
                None => self.copy_in(vreg, definition)?,
                Some((other, _)) if other != guard || self.value(guard, definition) != holds => return None,
                Some((_, is_other)) if is_other != is_negated => {
                    reader = definition;
                    continue;
                }
                Some(_) => self.moved_under_guard(vreg, definition)?,
            };
            if let Source::Register(operand, value) = source {
                return (self.value(operand.vreg()?, inst) == value).then_some(source);
            }
            return Some(source);
        }
        None
    }

    /// The predicate of an instruction's guard, and whether it is negated.
    fn guard(&self, inst: InstId) -> Option<(VRegId, bool)> {
        match self.f.guard_of(inst)?.kind() {
            OperandKind::Predicate { vreg, negated } => Some((vreg, negated)),
            _ => None,
        }
    }

    /// What a move leaves in `vreg` where its guard holds.
    fn moved_under_guard(&mut self, vreg: VRegId, definition: InstId) -> Option<Source> {
        let form = self.f.form_of(definition);
        let (operation, lanes, moved) = (form.operation, form.lanes, form.types[0]?);
        let &[result, source, _] = self.f.operands_of(definition) else { return None };
        let ty = self.f.vreg(vreg).ty.element();
        let is_whole = result.vreg() == Some(vreg) && result.selector().is_none();
        let is_plain = operation == Operation::Mov && lanes == 1 && is_whole;
        if !is_plain || !self.is_own(vreg) || ty == PtxType::Pred || moved.bits() != ty.bits() {
            return None;
        }
        match source.vreg() {
            Some(from) => {
                let fits = source == Operand::register(from) && from != vreg;
                let is_free = self.is_own(from) && self.width(from) == ty.bits();
                (fits && is_free).then(|| Source::Register(source, self.value(from, definition)))
            }
            None => moved_bits(source, moved, ty.bits(), self.f.literals()).map(Source::Constant),
        }
    }
}
