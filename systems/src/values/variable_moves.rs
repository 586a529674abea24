//! Moves to variables, registers that keep several definitions in SSA form, and to any register outside it.
//!
//! No phase: what phases 52, 62 and 81 look at. What a move writes is a register, a predicate or a constant that nothing but
//! the function's own instructions changes; special registers and addresses of symbols are left out.

use crate::ssa::moves::moved_as;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind, writes};
use ptxopt_components::operation::Operation;
use ptxopt_components::types::PtxType;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::edit::FunctionEditor;
use ptxopt_engine::store::view::FunctionView;

/// What a move writes: two moves with the same source write the same where its register holds the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The type at which it is moved: bits, a float or a predicate.
    pub ty: PtxType,
    /// The kind of operand.
    pattern: usize,
    /// Number of the register, or the bits of the constant.
    number: u64,
}

impl Source {
    /// The same, to be put in an order.
    #[must_use]
    pub const fn key(self) -> (u8, usize, u64) {
        (self.ty as u8, self.pattern, self.number)
    }
}

/// A `mov` of a whole register, perhaps under a guard.
#[derive(Clone, Copy, Debug)]
pub struct Move {
    /// The instruction.
    pub inst: InstId,
    /// The block of the instruction.
    pub block: BlockId,
    /// The register that it writes.
    pub to: VRegId,
    /// What it writes there, as an operand.
    pub operand: Operand,
    /// The same, to be compared.
    pub source: Source,
    /// The guard.
    pub guard: Option<Operand>,
}

impl Move {
    /// An instruction as a move, if it is one.
    #[must_use]
    pub fn of(f: &FunctionEditor<'_>, inst: InstId) -> Option<Self> {
        let guard = f.guard_of(inst);
        let form = f.form_of(inst);
        let ty = form.types[0].filter(|_| form.operation == Operation::Mov && form.lanes == 1)?;
        let (result, operand) = match *f.operands_of(inst) {
            [result, operand] if guard.is_none() => (result, operand),
            [result, operand, _] if guard.is_some() => (result, operand),
            _ => return None,
        };
        let to = result.vreg().filter(|_| result.is_definition() && !result.is_partial())?;
        let fits =
            |vreg: VRegId| f.vreg(vreg).is_own_scalar() && f.vreg(vreg).ty.element().bits() == ty.bits();
        let guard_is_own =
            guard.is_none_or(|guard| guard.vreg().is_some_and(|vreg| f.vreg(vreg).is_own_scalar()));
        let number = match operand.kind() {
            OperandKind::Register { vreg, minus: false } if fits(vreg) && !operand.has_payload() => {
                vreg.0.into()
            }
            OperandKind::Predicate { vreg, .. } if fits(vreg) => vreg.0.into(),
            OperandKind::Int(value) => i64::from(value) as u64,
            OperandKind::F32(bits) => bits.into(),
            OperandKind::Literal(literal) => f.literals()[literal.index()].bits,
            _ => return None,
        };
        let source = Source { ty: moved_as(ty)?, pattern: operand.pattern(), number };
        let block = f.head(inst).block;
        (fits(to) && guard_is_own).then_some(Self { inst, block, to, operand, source, guard })
    }

    /// `mov v, v`, but not `mov.pred v, !v`.
    #[must_use]
    pub fn is_of_itself(&self) -> bool {
        let is_negated = matches!(self.operand.kind(), OperandKind::Predicate { negated: true, .. });
        !is_negated && self.operand.vreg() == Some(self.to)
    }

    /// The registers that it reads.
    pub fn read(&self) -> impl Iterator<Item = VRegId> + Clone + use<> {
        [Some(self.operand), self.guard].into_iter().flatten().filter_map(Operand::vreg)
    }
}

/// The moves to the variables of a function.
#[derive(Default)]
pub struct VariableMoves {
    /// In the order of the text.
    pub all: Vec<Move>,
    /// By register: how many instructions define it, counted for variables only.
    pub definition_counts: Vec<u32>,
}

impl VariableMoves {
    /// Lists the moves of a function whose instruction ids are in program order and whose ranks hold. One without variables
    /// costs nothing.
    pub fn collect(&mut self, f: &FunctionEditor<'_>) {
        self.all.clear();
        if !f.state().flags.contains(CodeFlags::HAS_VARIABLES) {
            return;
        }
        let function = f.view();
        let candidates = function.rows().filter(|(_, head, operands)| {
            let result = operands.first().filter(|operand| operand.is_definition());
            result.and_then(|operand| operand.vreg()).is_some_and(|vreg| is_variable(&function, vreg))
                && function.orders[head.block.index()].is_reachable()
        });
        self.all.extend(candidates.filter_map(|(inst, ..)| Move::of(f, inst)));
    }

    /// Lists all moves of a function whose instruction ids are in program order and whose ranks hold.
    pub fn collect_all(&mut self, f: &FunctionEditor<'_>) {
        let (function, forms) = f.view_and_forms();
        let candidates = function.rows().filter(|(_, head, _)| {
            forms.get(head.form).operation == Operation::Mov
                && function.orders[head.block.index()].is_reachable()
        });
        self.all.clear();
        self.all.extend(candidates.filter_map(|(inst, ..)| Move::of(f, inst)));
    }

    /// Counts the definitions of each variable.
    pub fn count_definitions(&mut self, function: &FunctionView<'_>) {
        self.definition_counts.clear();
        self.definition_counts.resize(function.vregs.len(), 0);
        for (_, _, operands) in function.rows() {
            for vreg in writes(operands).filter(|&vreg| is_variable(function, vreg)) {
                self.definition_counts[vreg.index()] += 1;
            }
        }
    }
}

fn is_variable(function: &FunctionView<'_>, vreg: VRegId) -> bool {
    function.vregs[vreg.index()].flags.contains(VRegFlags::VARIABLE)
}

/// Lists the moves of which another one has the same key, in the order of the text. A move of a register to itself is none of them.
pub fn find_repeated<K: Ord>(
    moves: &[Move],
    key: impl Fn(&Move) -> K,
    sorted: &mut Vec<Move>,
    repeated: &mut Vec<Move>,
) {
    sorted.clear();
    sorted.extend(moves.iter().filter(|found| !found.is_of_itself()));
    sorted.sort_by_key(&key);
    repeated.clear();
    for alike in sorted.chunk_by(|one, other| key(one) == key(other)).filter(|alike| alike.len() > 1) {
        repeated.extend(alike);
    }
    repeated.sort_by_key(|found| found.inst);
}

/// Rows that may lie between two moves that belong together: compilers write them side by side.
pub const DISTANCE_MAX: u32 = 16;

/// Whether of two instructions of a block the first comes before the second, not far away, and what is between them writes
/// none of `unchanged` and does not name any of `untouched`.
#[must_use]
pub fn are_side_by_side(
    f: &FunctionEditor<'_>,
    first: InstId,
    second: InstId,
    unchanged: impl Iterator<Item = VRegId> + Clone,
    untouched: &[VRegId],
) -> bool {
    if f.head(first).block != f.head(second).block || second.0.saturating_sub(first.0) > DISTANCE_MAX {
        return false;
    }
    let mut between = (first.index() + 1..second.index()).map(InstId::new);
    between.all(|inst| {
        let is_quiet = |operand: &Operand| {
            let is = |vreg: VRegId| operand.vreg() == Some(vreg);
            let is_changed = operand.is_definition() && unchanged.clone().any(is);
            !is_changed && !untouched.iter().copied().any(is)
        };
        !f.head(inst).is_live() || f.operands_of(inst).iter().all(is_quiet)
    })
}
