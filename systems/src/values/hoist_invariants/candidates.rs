//! Which instructions compute the same in each round of a loop, and may be executed before it.
//!
//! # What may move
//! ```text
//! @p bra SKIP;
//! cvta.to.global.u64 a, b;    // means something where b is a global address, which p may say
//! SKIP: ...
//! ```
//! What can neither fault nor take effect may be executed by threads that would not have come to it. Anything else that
//! computes moves only from the header of a loop, which each thread executes that enters the loop: then it stands where it
//! was executed anyway. That holds for `ld.const`, `ld.param` and `ld.global.nc`, too: an address that is never used may lie
//! outside of what is there. For `ld.global.nc` nothing in the loop may write, wait or order.
//!
//! # What does not
//! - What has a guard: where it is false, the register keeps what it held.
//! - Loads of memory that may be written by other threads, even where nothing in the loop writes: `L: ld r, [a]; @p bra L` may wait
//!   for one of them.
//! - What reads a special register that changes, or a register that is in flight or that callees see.
//! - Carry chains: none of them may be executed where it was not.
//! - What a phi reads. Its register is that of the phi where SSA form is left, written again in each round:
//!   ```text
//!   L:  add r1, r0, 4;           // hoisted, it would leave a copy where it was, and the function would have grown
//!   M:  r2 = phi {L, r1}, {M, r3};
//!       add r3, r2, 1; ... bra M; ... bra L;
//!   ```

use super::costs::{Cost, cost_of};
use super::levels::Levels;
use crate::values::movable::varies;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::form::Form;
use ptxopt_components::ids::{BlockId, Id, InstId, LoopId, NameId, VRegId};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::{Operand, OperandKind, definitions, reads};
use ptxopt_components::qualifiers::Modifiers;
use ptxopt_components::types::StateSpace;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::nest::LoopNest;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::definitions::Defined;
use ptxopt_engine::values::phis::read_by_phis;
use ptxopt_engine::values::reaching::Reaching;

/// Definitions of one register that are looked at for each of its reads. What phases write has few; more would make the reads
/// of a variable quadratic.
const DEFINITIONS_MAX: usize = 4;

/// What instructions of a loop do.
#[derive(Clone, Copy)]
struct OfLoop {
    /// Nothing writes memory, orders accesses or waits.
    is_quiet: bool,
    /// A call in the header may not return.
    calls_in_header: bool,
}

/// An instruction that may stand before a loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// It.
    pub(super) inst: InstId,
    /// The loop before which it may stand.
    pub(super) target: LoopId,
    /// What that saves a round.
    pub(super) cost: Cost,
}

/// Number of an instruction that is no candidate.
const NONE: u32 = u32::MAX;

/// The candidates of a function.
#[derive(Default)]
pub(super) struct Candidates {
    /// Definitions before what reads them.
    pub(super) all: Vec<Candidate>,
    /// By instruction: its number.
    numbers: Vec<u32>,
    /// By register: another value comes where it is read. In SSA form a phi reads it; outside of it, it is read where its
    /// only definition has not been executed.
    is_tied: Vec<bool>,
    /// Parameters that the body declares, for calls.
    of_calls: Vec<NameId>,
    /// Any name may be one.
    has_families: bool,
    /// By loop; empty before the first question about a function.
    loops: Vec<OfLoop>,
    /// Loops before which no block can stand, though something could stand there.
    pub(super) closed: Vec<LoopId>,
}

/// What is looked at.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    pub(super) function: &'a FunctionView<'a>,
    pub(super) forms: &'a FormTable,
    pub(super) nest: &'a LoopNest,
    pub(super) reaching: &'a Reaching,
    pub(super) levels: &'a Levels,
}

/// Where an instruction may be executed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Freedom {
    /// Anywhere.
    Anywhere,
    /// Where it is executed anyway.
    Anyway,
    /// There, if nothing in the loop writes.
    AnywayIfQuiet,
}

impl Candidates {
    /// The number of an instruction, if it is a candidate.
    pub(super) fn number_of(&self, inst: InstId) -> Option<usize> {
        self.numbers.get(inst.index()).filter(|&&number| number != NONE).map(|&number| number as usize)
    }

    /// The number of the candidate that alone defines a register.
    pub(super) fn of_vreg(&self, reaching: &Reaching, vreg: VRegId) -> Option<usize> {
        match reaching.definitions().defined(vreg) {
            Defined::Once(inst, _) => self.number_of(inst),
            _ => None,
        }
    }

    /// Lists the candidates of a function with loops.
    pub(super) fn find(&mut self, look: Look<'_>) {
        self.start(look);
        for &block in look.reaching.tree().reverse_postorder() {
            let Some(id) = look.nest.loop_of(block) else { continue };
            for (inst, head, operands) in look.function.rows_of(block) {
                if head.is_phi() || head.opcode.is_guarded() {
                    continue;
                }
                let form = look.forms.get(head.form);
                let Some(freedom) = self.freedom(look, form, inst, operands) else { continue };
                if !self.has_own_results(look, operands) {
                    continue;
                }
                let cost = cost_of(look.forms, head.form, operands);
                if let Some(target) = self.target(look, (block, id), freedom, cost, operands) {
                    self.numbers[inst.index()] = self.all.len() as u32;
                    self.all.push(Candidate { inst, target, cost });
                }
            }
        }
        self.closed.sort_unstable();
        self.closed.dedup();
    }

    fn start(&mut self, look: Look<'_>) {
        let Look { function, .. } = look;
        self.all.clear();
        self.closed.clear();
        self.loops.clear();
        self.numbers.clear();
        self.numbers.resize(function.heads.len(), NONE);
        self.of_calls.clear();
        let params = function.decls.iter().filter(|decl| decl.space == StateSpace::Param);
        self.of_calls.extend(params.clone().map(|decl| decl.name));
        self.of_calls.sort_unstable();
        self.has_families = params.clone().any(|decl| decl.is_family);
        self.is_tied.clear();
        self.is_tied.resize(function.vregs.len(), false);
        if function.state.flags.contains(CodeFlags::SSA) {
            read_by_phis(function).for_each(|vreg| self.is_tied[vreg.index()] = true);
        } else {
            self.find_early_reads(look);
        }
    }

    /// Outside of SSA form, the only definition of a register need not come before each read.
    fn find_early_reads(&mut self, Look { function, reaching, .. }: Look<'_>) {
        for (inst, head, operands) in function.rows() {
            for vreg in reads(operands) {
                let Defined::Once(from, block) = reaching.definitions().defined(vreg) else { continue };
                let is_after = match block == head.block {
                    true => from < inst,
                    false => reaching.tree().dominates(block, head.block),
                };
                self.is_tied[vreg.index()] |= !is_after;
            }
        }
    }

    /// Where an instruction may be executed; none where it stays.
    fn freedom(&self, look: Look<'_>, form: &Form, inst: InstId, operands: &[Operand]) -> Option<Freedom> {
        if form.is_pure() {
            if operands.iter().any(varies) || form.effects.intersects(Form::CARRY) {
                return None;
            }
            return Some(if form.is_speculatable() { Freedom::Anywhere } else { Freedom::Anyway });
        }
        self.freedom_of_load(look, form, inst, operands)
    }

    fn freedom_of_load(
        &self,
        look: Look<'_>,
        form: &Form,
        inst: InstId,
        operands: &[Operand],
    ) -> Option<Freedom> {
        if form.effects != Effects::READ
            || operands.iter().any(|operand| matches!(operand.kind(), OperandKind::Special(_)))
        {
            return None;
        }
        let has_own = look.function.state.flags.contains(CodeFlags::ENTRY) && !self.has_families;
        let qualifiers = look.forms.describe(look.function.heads[inst.index()].form).qualifiers;
        match form.space {
            StateSpace::Param => match operands.last()?.kind() {
                OperandKind::Symbol(name) if has_own && self.of_calls.binary_search(&name).is_err() => {
                    Some(Freedom::Anyway)
                }
                _ => None,
            },
            StateSpace::Const => Some(Freedom::Anyway),
            StateSpace::Global if qualifiers.modifiers.contains(Modifiers::NON_COHERENT) => {
                Some(Freedom::AnywayIfQuiet)
            }
            _ => None,
        }
    }

    /// Whether nothing but the instruction writes its results, and no other value comes where they are read.
    fn has_own_results(&self, look: Look<'_>, operands: &[Operand]) -> bool {
        let is_in_ssa = look.function.state.flags.contains(CodeFlags::SSA);
        let no_value = if is_in_ssa { VRegFlags::NO_VALUE } else { VRegFlags::SHARED };
        definitions(operands).all(|(vreg, is_partial)| {
            let defined = look.reaching.definitions().defined(vreg);
            !is_partial
                && matches!(defined, Defined::Once(..))
                && !look.function.vregs[vreg.index()].flags.intersects(no_value)
                && !self.is_tied[vreg.index()]
        })
    }

    /// The outermost loop before which an instruction may stand.
    fn target(
        &mut self,
        look: Look<'_>,
        (block, id): (BlockId, LoopId),
        freedom: Freedom,
        cost: Cost,
        operands: &[Operand],
    ) -> Option<LoopId> {
        let Look { nest, levels, reaching, .. } = look;
        let whole = levels.depth(Some(id));
        let mut depth = 0;
        for vreg in reads(operands) {
            depth = depth.max(self.depth_of(look, vreg, id)?);
            if depth == whole {
                return None;
            }
        }
        if cost == Cost::Many {
            // Where few threads come in few rounds, it would be executed more often.
            depth = depth.max(levels.steady_depth(reaching.tree(), id, block)? - 1);
        }
        if freedom != Freedom::Anywhere {
            if nest.row(id).header != block || !self.is_quiet(look, id, freedom) {
                return None;
            }
            depth = whole - 1;
        }
        self.closed.extend(levels.closed_outermost(id, depth));
        levels.outermost_open(id, depth)
    }

    /// Depth of the innermost loop around a place in `id` in which a register changes; candidates stand where they may. None
    /// where that cannot be said.
    fn depth_of(&self, look: Look<'_>, vreg: VRegId, id: LoopId) -> Option<u32> {
        let Look { function, nest, reaching, levels, .. } = look;
        if function.vregs[vreg.index()].flags.intersects(VRegFlags::WRITTEN_ELSEWHERE) {
            return None;
        }
        match reaching.definitions().defined(vreg) {
            Defined::Never => Some(0),
            Defined::Once(inst, block) => {
                let place = match self.number_of(inst) {
                    Some(number) => nest.row(self.all[number].target).parent.get(),
                    None => nest.loop_of(block),
                };
                Some(levels.common_depth(nest, place, id))
            }
            Defined::Often => {
                let definitions = reaching.definitions().of(vreg);
                let depth_at = |inst: InstId| {
                    let place = nest.loop_of(function.heads[inst.index()].block);
                    levels.common_depth(nest, place, id)
                };
                let is_looked_at = definitions.len() <= DEFINITIONS_MAX;
                is_looked_at
                    .then(|| definitions.iter().map(|definition| depth_at(definition.inst())).max())?
            }
        }
    }

    /// Whether what stands in the header of a loop may stand before it: each thread that enters goes on from its calls, and,
    /// for what memory says, nothing in the loop writes memory, orders accesses or waits.
    fn is_quiet(&mut self, look: Look<'_>, id: LoopId, freedom: Freedom) -> bool {
        let Look { function, forms, nest, .. } = look;
        if self.loops.is_empty() {
            self.loops.resize(nest.rows().len(), OfLoop { is_quiet: true, calls_in_header: false });
            for (_, head, _) in function.rows() {
                let Some(id) = nest.loop_of(head.block) else { continue };
                let effects = forms.get(head.form).effects;
                let of_loop = &mut self.loops[id.index()];
                of_loop.is_quiet &= !effects.intersects(Effects::KEEPS.difference(Effects::CONTROL));
                of_loop.calls_in_header |=
                    effects.intersects(Effects::CALL | Effects::UNKNOWN) && nest.row(id).header == head.block;
            }
            for id in nest.ids().rev() {
                if let Some(parent) = nest.row(id).parent.get() {
                    self.loops[parent.index()].is_quiet &= self.loops[id.index()].is_quiet;
                }
            }
        }
        let OfLoop { is_quiet, calls_in_header } = self.loops[id.index()];
        if freedom == Freedom::AnywayIfQuiet { is_quiet } else { !calls_in_header }
    }
}
