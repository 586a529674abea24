//! Conditions: what predicates hold at a place, by how they are made and by the branches on the way there.
//!
//! No phase: what the phases on branches ask. A predicate is followed to the `mov`, `setp` or logic that defines it, by
//! [reaching values](ptxopt_engine::values::reaching), and a source to the constant that was moved into it.
//!
//! # What a way says
//! ```text
//!     setp.lt.s32 %p, %r1, 8;
//! @%p bra A;                   // at A, if nothing else leads there: %p holds, and %r1 < 8
//!     ...                      // here: %p does not hold, and %r1 >= 8
//! ```
//! A walk in a preorder of the dominator tree ([`Conditions::enter`]) knows in each block what the edges that dominate it
//! say, and forgets it where it leaves them. The edges are those of when the walk began. What phases change meanwhile
//! leaves all that true: they delete edges that are never taken, and lead branches past blocks that do nothing, so that
//! every run comes by the places that it came by before.
//!
//! # Why values and not registers
//! A fact is about a register and one of its [values](Value), which are the names of SSA form: the definition of a value
//! dominates the edge, the edge dominates the place, so the last execution of the definition before the place comes
//! before the last way over the edge. A register that was written since has another value there.
//!
//! # Cost
//! A few lookups a question; definitions are followed [`DEPTH_MAX`] deep, copies [`COPIES_MAX`]; of
//! tables so many targets are looked at in one function as [`TARGETS_MAX`] says.

pub mod comparison;
pub mod facts;
#[cfg(test)]
mod tests;

use comparison::{Order, Outcomes, Test};
use facts::{Facts, Held};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::form::{FormFlags, Role};
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::instruction::{InstHead, Marks};
use ptxopt_components::literal::LiteralKind;
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Combiner;
use ptxopt_components::types::{PtxType, TypeKind, truncate};
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::edit::FunctionEditor;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::phis::incoming;
use ptxopt_engine::values::reaching::{Place, Reaching, Value};
use std::ops::Range;

/// Definitions that one predicate is followed through: each may have two sources.
pub const DEPTH_MAX: usize = 4;
/// Copies that one source is followed through.
pub const COPIES_MAX: usize = 4;

/// Targets of tables that are looked at in one function: each way out of a table asks where among all of them it stands. Tables of a
/// thousand targets and less have room for each of theirs; where there is none, an index is not known after its branch.
pub const TARGETS_MAX: usize = 1 << 20;

/// What a source is: a number, or what a register held when it had this value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Term {
    /// These bits, none above the width of the type.
    Constant(u64),
    /// What the register held.
    Held(VRegId, Value),
}

/// What the ways into blocks are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learns {
    /// Nothing: predicates are followed to constants only.
    Nothing,
    /// How integers compare with constants.
    Numbers,
    /// All that predicates and comparisons say.
    Everything,
}

/// What a predicate is made of: one condition, or two that are combined.
struct Made {
    first: Leaf,
    /// The predicate is the contrary of the first condition.
    is_negated: bool,
    second: Option<(Combiner, Operand)>,
}

/// A condition.
enum Leaf {
    Constant(bool),
    Predicate(Operand),
    Test(Test, [Operand; 2]),
}

/// A block and what it dominates, while the walk is inside.
struct Scope {
    block: BlockId,
    mark: usize,
}

/// Answers for one function. Definitions must stay where they are while it is asked; what is deleted stays as a tombstone.
pub struct Conditions<'c> {
    reaching: &'c mut Reaching,
    memory: &'c mut Memory,
    learns: Learns,
}

/// What the answers are made of, kept from one function to the next.
#[derive(Default)]
pub struct Memory {
    facts: Facts,
    scopes: Vec<Scope>,
    /// The live instructions that are guarded or end a block, in program order.
    deciding: Vec<InstId>,
    /// Targets of tables that may still be looked at, of [`TARGETS_MAX`]; none once a table had more.
    targets_left: Option<usize>,
}

impl<'c> Conditions<'c> {
    /// Makes ready for a function whose definitions `reaching` knows, and whose instructions are in program order: their places
    /// among the rows say what comes before what.
    pub fn start(
        memory: &'c mut Memory,
        reaching: &'c mut Reaching,
        function: &FunctionView<'_>,
        learns: Learns,
    ) -> Self {
        debug_assert!(!function.state.flags.contains(CodeFlags::OUT_OF_ORDER), "places tell no order");
        memory.facts.clear();
        memory.scopes.clear();
        memory.targets_left = Some(TARGETS_MAX);
        let decides = |head: &InstHead| {
            head.is_live() && (head.opcode.is_guarded() || head.marks.contains(Marks::CONTROL))
        };
        let rows = function.heads.iter().enumerate().filter(|(_, head)| decides(head));
        memory.deciding.clear();
        memory.deciding.extend(rows.map(|(inst, _)| InstId::new(inst)));
        Self { reaching, memory, learns }
    }

    /// Places in the list of instructions that were guarded or ended a block when the walk began: those of `block`.
    pub fn deciding_in(&self, block: BlockId) -> Range<usize> {
        let rows = self.reaching.rows_of(block);
        let place = |row: usize| self.memory.deciding.partition_point(|inst| inst.index() < row);
        place(rows.first as usize)..place(rows.end())
    }

    /// The instruction at a place of that list.
    pub fn deciding(&self, place: usize) -> InstId {
        self.memory.deciding[place]
    }

    /// Whether a table had too many ways out for those after it to say anything of the index.
    pub fn has_missed_an_index(&self) -> bool {
        self.memory.targets_left.is_none()
    }

    /// Reachable blocks, each before those that it dominates: the order in which they are to be [entered](Self::enter).
    pub fn preorder(&self) -> &[BlockId] {
        self.reaching.tree().preorder()
    }

    /// Goes to a block: forgets what is not known there, and learns what the way into it says.
    pub fn enter(&mut self, f: &FunctionEditor<'_>, block: BlockId) {
        while let Some(scope) = self.memory.scopes.last()
            && !self.reaching.tree().dominates(scope.block, block)
        {
            self.memory.facts.forget(scope.mark);
            self.memory.scopes.pop();
        }
        self.memory.scopes.push(Scope { block, mark: self.memory.facts.mark() });
        if self.learns == Learns::Nothing {
            return;
        }
        let Some(from) = self.only_way(f, block) else { return };
        self.learn_edge(f, from, block);
    }

    /// The block from which all edges come that lead to `block` from outside of what it dominates.
    fn only_way(&self, f: &FunctionEditor<'_>, block: BlockId) -> Option<BlockId> {
        let from = f.order_of(block).idom.get()?;
        let tree = self.reaching.tree();
        let is_around =
            |&&pred: &&BlockId| pred != from && !tree.dominates(block, pred) && tree.is_reachable(pred);
        f.preds(block).iter().find(is_around).is_none().then_some(from)
    }

    /// Learns what it says that control comes from `from` to `block` over an edge, until the facts are forgotten.
    fn learn_edge(&mut self, f: &FunctionEditor<'_>, from: BlockId, block: BlockId) {
        let Some(last) = self.deciding_in(from).next_back().map(|place| self.deciding(place)) else { return };
        let head = f.head(last);
        if !head.is_live() || !head.marks.contains(Marks::CONTROL) {
            return;
        }
        let place = Place { block: from, before: last };
        let falls = head.opcode.is_guarded() && f.next_in_text(from) == Some(block);
        if let Some(table) = f.operands_of(last).iter().find_map(|operand| operand.as_table()) {
            if !falls {
                let function = f.view();
                let targets = function.tables[table.index()].targets;
                self.learn_index(f, last, &function.pools.targets[targets.range()], block);
            }
            return;
        }
        let Some(&guard) = f.operands_of(last).last().filter(|_| head.opcode.is_guarded()) else { return };
        let target = f.operands_of(last).first().and_then(|operand| operand.as_block());
        let is_taken = target == Some(block);
        // Of two ways to one block one may have been led elsewhere since: who went it comes to what the block dominates, too.
        let were_apart = target.is_none() || matches!(f.succs(from), [one, other] if one != other);
        if falls != is_taken && were_apart {
            self.learn(f, guard, place, is_taken, DEPTH_MAX);
        }
    }

    /// Learns that an indexed branch went to `block`.
    fn learn_index(&mut self, f: &FunctionEditor<'_>, branch: InstId, targets: &[BlockId], block: BlockId) {
        let Some(&index) = f.operands_of(branch).first() else { return };
        let place = Place { block: f.head(branch).block, before: branch };
        let Some(Term::Held(vreg, value)) = self.term(f, index, PtxType::U32, place) else { return };
        let left = self.memory.targets_left.and_then(|left| left.checked_sub(targets.len()));
        self.memory.targets_left = left;
        if left.is_none() {
            return;
        }
        let first = targets.iter().position(|&target| target == block);
        let last = targets.iter().rposition(|&target| target == block);
        if let (Some(first), Some(last)) = (first, last) {
            self.memory.facts.learn_between((vreg, value), 32, first as u64, last as u64);
        }
    }

    /// Does something with what is known where control goes from `from` to `to`, and forgets that again.
    pub fn along<R>(
        &mut self,
        f: &FunctionEditor<'_>,
        [from, to]: [BlockId; 2],
        work: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let mark = self.memory.facts.mark();
        self.learn_edge(f, from, to);
        let result = work(self);
        self.memory.facts.forget(mark);
        result
    }

    /// The place after the last instruction of a block.
    pub fn end_of(&self, block: BlockId) -> Place {
        self.reaching.end_of(block)
    }

    /// What `vreg` holds at a place.
    pub fn value(&mut self, f: &FunctionEditor<'_>, vreg: VRegId, place: Place) -> Value {
        self.reaching.value(vreg, place, || f.view())
    }

    /// Whether a predicate holds at a place, where that is known.
    pub fn holds(&mut self, f: &FunctionEditor<'_>, predicate: Operand, place: Place) -> Option<bool> {
        self.truth(f, predicate, place, DEPTH_MAX)
    }

    /// Whether a test of two sources succeeds at a place, where that is known.
    pub fn succeeds(
        &mut self,
        f: &FunctionEditor<'_>,
        test: Test,
        sources: [Operand; 2],
        place: Place,
    ) -> Option<bool> {
        let [one, other] = sources.map(|source| self.term(f, source, test.ty, place));
        test.decided(self.outcomes(test, one?, other?))
    }

    /// The number that an index of 32 bits is at a place, where that is known.
    pub fn index(&mut self, f: &FunctionEditor<'_>, operand: Operand, place: Place) -> Option<u64> {
        match self.term(f, operand, PtxType::U32, place)? {
            Term::Constant(bits) => Some(bits),
            Term::Held(vreg, value) => self.memory.facts.range((vreg, value), 32).only(),
        }
    }

    fn outcomes(&self, test: Test, one: Term, other: Term) -> Outcomes {
        let Test { ty, order, .. } = test;
        let is_float = matches!(order, Order::Float { .. });
        match (one, other) {
            (Term::Constant(one), Term::Constant(other)) => {
                Outcomes::of_constants(one, other, order, ty.bits())
            }
            (Term::Held(vreg, value), Term::Constant(constant)) if !is_float => {
                self.memory.facts.outcomes_with((vreg, value), constant, order, ty.bits())
            }
            (Term::Constant(constant), Term::Held(vreg, value)) if !is_float => {
                self.memory.facts.outcomes_with((vreg, value), constant, order, ty.bits()).mirrored()
            }
            _ => self.memory.facts.outcomes_of(order, one, other),
        }
    }

    fn truth(
        &mut self,
        f: &FunctionEditor<'_>,
        predicate: Operand,
        place: Place,
        depth: usize,
    ) -> Option<bool> {
        let OperandKind::Predicate { vreg, negated } = predicate.kind() else { return None };
        let held = self.held(f, vreg, place)?;
        if let Some(known) = self.memory.facts.predicate(held) {
            return Some(known != negated);
        }
        let (depth, Value::Of(inst)) = (depth.checked_sub(1)?, held.1) else { return None };
        let truth = if f.head(inst).is_phi() {
            self.truth_of_phi(f, inst, depth)
        } else {
            let made = made_of(f, inst, vreg)?;
            self.truth_of(f, &made, inst, depth)
        };
        truth.map(|truth| truth != negated)
    }

    fn truth_of(&mut self, f: &FunctionEditor<'_>, made: &Made, inst: InstId, depth: usize) -> Option<bool> {
        let place = Place { block: f.head(inst).block, before: inst };
        let first = match made.first {
            Leaf::Constant(constant) => Some(constant),
            Leaf::Predicate(predicate) => self.truth(f, predicate, place, depth),
            Leaf::Test(test, sources) => self.succeeds(f, test, sources, place),
        };
        let first = first.map(|truth| truth != made.is_negated);
        let Some((combiner, second)) = made.second else { return first };
        let second = self.truth(f, second, place, depth);
        match (combiner, first, second) {
            (Combiner::And, Some(false), _) | (Combiner::And, _, Some(false)) => Some(false),
            (Combiner::Or, Some(true), _) | (Combiner::Or, _, Some(true)) => Some(true),
            (Combiner::And | Combiner::Or, Some(first), Some(_)) => Some(first),
            (Combiner::Xor, Some(first), Some(second)) => Some(first != second),
            _ => None,
        }
    }

    /// What all values that meet in a phi hold. One may be of another round of a loop than the facts are about.
    fn truth_of_phi(&mut self, f: &FunctionEditor<'_>, phi: InstId, depth: usize) -> Option<bool> {
        let function = f.view();
        let pairs = incoming(function.operands_of(phi));
        if pairs.len() > PAIRS_MAX {
            return None;
        }
        let facts = std::mem::take(&mut self.memory.facts);
        let mut truths = pairs.map(|(from, value)| {
            let end = self.end_of(from);
            if self.reaching.tree().is_reachable(from) { self.truth(f, value, end, depth) } else { None }
        });
        let first = truths.next().flatten();
        let is_one = first.is_some() && truths.all(|truth| truth == first);
        self.memory.facts = facts;
        first.filter(|_| is_one)
    }

    /// Learns that a predicate holds, or does not, and what follows for what it is made of.
    fn learn(&mut self, f: &FunctionEditor<'_>, predicate: Operand, place: Place, truth: bool, depth: usize) {
        let OperandKind::Predicate { vreg, negated } = predicate.kind() else { return };
        let Some(held) = self.held(f, vreg, place) else { return };
        let truth = truth != negated;
        if self.learns == Learns::Everything && !self.memory.facts.learn_predicate(held, truth) {
            return;
        }
        let (Some(depth), Value::Of(inst)) = (depth.checked_sub(1), held.1) else { return };
        let Some(made) = made_of(f, inst, vreg) else { return };
        let place = Place { block: f.head(inst).block, before: inst };
        match made.second {
            None => {}
            Some((Combiner::And, second)) if truth => self.learn(f, second, place, true, depth),
            Some((Combiner::Or, second)) if !truth => self.learn(f, second, place, false, depth),
            Some(_) => return,
        }
        let truth = truth != made.is_negated;
        match made.first {
            Leaf::Constant(_) => {}
            Leaf::Predicate(predicate) => self.learn(f, predicate, place, truth, depth),
            Leaf::Test(test, sources) => self.learn_test(f, test, sources, place, truth),
        }
    }

    fn learn_test(
        &mut self,
        f: &FunctionEditor<'_>,
        test: Test,
        sources: [Operand; 2],
        place: Place,
        truth: bool,
    ) {
        let Test { ty, order, holds } = test;
        let outcomes = if truth { holds } else { order.all().difference(holds) };
        let [Some(one), Some(other)] = sources.map(|source| self.term(f, source, ty, place)) else { return };
        let is_float = matches!(order, Order::Float { .. });
        match (one, other) {
            (Term::Constant(_), Term::Constant(_)) => {}
            (Term::Held(vreg, value), Term::Constant(constant)) if !is_float => {
                self.memory.facts.learn_with((vreg, value), constant, order, ty.bits(), outcomes);
            }
            (Term::Constant(constant), Term::Held(vreg, value)) if !is_float => {
                self.memory.facts.learn_with((vreg, value), constant, order, ty.bits(), outcomes.mirrored());
            }
            _ if self.learns == Learns::Everything => self.memory.facts.learn_of(order, one, other, outcomes),
            _ => {}
        }
    }

    /// A register and its value at a place, where nothing else than the function's instructions gives it one.
    fn held(&mut self, f: &FunctionEditor<'_>, vreg: VRegId, place: Place) -> Option<Held> {
        let row = f.vreg(vreg);
        let is_own = row.ty.lanes == 1 && !row.flags.intersects(VRegFlags::WRITTEN_ELSEWHERE);
        is_own.then(|| (vreg, self.value(f, vreg, place)))
    }

    /// What a source operand of type `ty` is at a place.
    fn term(&mut self, f: &FunctionEditor<'_>, source: Operand, ty: PtxType, place: Place) -> Option<Term> {
        let OperandKind::Register { vreg, minus: false } = source.kind() else {
            return bits_of(f, source, ty).map(Term::Constant);
        };
        let mut held = self.held(f, vreg, place).filter(|_| !source.has_payload())?;
        for _ in 0..COPIES_MAX {
            if f.vreg(held.0).ty.element().bits() != ty.bits() {
                return None;
            }
            let Value::Of(copy) = held.1 else { break };
            let Some((source, of)) = copied(f, copy, held.0) else { break };
            if let Some(constant) = bits_of(f, source, of) {
                return Some(Term::Constant(constant));
            }
            let OperandKind::Register { vreg, minus: false } = source.kind() else { break };
            let place = Place { block: f.head(copy).block, before: copy };
            let is_whole = !source.has_payload() && f.vreg(vreg).ty.element().bits() == ty.bits();
            let Some(next) = self.held(f, vreg, place).filter(|_| is_whole) else { break };
            held = next;
        }
        Some(Term::Held(held.0, held.1))
    }
}

/// Values of one phi that are compared.
const PAIRS_MAX: usize = 8;

/// The bits of a literal in a slot of type `ty`. `1.5` is written as a double: a slot of 32 bits takes it rounded, which is
/// not known here.
fn bits_of(f: &FunctionEditor<'_>, operand: Operand, ty: PtxType) -> Option<u64> {
    let is_float = ty.kind() == TypeKind::Float;
    match operand.kind() {
        OperandKind::F32(bits) => (ty.bits() == 32).then_some(u64::from(bits)),
        OperandKind::Literal(literal) if f.literals()[literal.index()].kind() == LiteralKind::F64 => {
            (ty.bits() == 64).then_some(f.literals()[literal.index()].bits)
        }
        _ if is_float => None,
        _ => operand.integer_bits(f.literals()).map(|bits| truncate(bits, ty.bits())),
    }
}

/// The source of an instruction that copies it into the whole of `to`, and the type of the copy.
fn copied(f: &FunctionEditor<'_>, inst: InstId, to: VRegId) -> Option<(Operand, PtxType)> {
    let (head, form) = (f.head(inst), f.form_of(inst));
    if form.operation != Operation::Mov || head.opcode.is_guarded() || !head.is_live() {
        return None;
    }
    let &[result, source] = f.operands_of(inst) else { return None };
    let ty = form.types[0].filter(|ty| ty.bits() == f.vreg(to).ty.element().bits())?;
    (result.vreg() == Some(to) && !result.is_partial()).then_some((source, ty))
}

/// What an instruction makes the predicate `vreg` of, where that is known here.
fn made_of(f: &FunctionEditor<'_>, inst: InstId, vreg: VRegId) -> Option<Made> {
    let (head, form) = (f.head(inst), f.form_of(inst));
    if head.opcode.is_guarded() || !head.is_live() || !form.flags.contains(FormFlags::MODELLED) {
        return None;
    }
    let operands = f.operands_of(inst);
    let position =
        operands.iter().position(|operand| operand.is_definition() && operand.vreg() == Some(vreg))?;
    let is_predicate = |operand: Operand| matches!(operand.kind(), OperandKind::Predicate { .. });
    let plain = |first, is_negated| Some(Made { first, is_negated, second: None });
    let combiner = match form.operation {
        Operation::And => Combiner::And,
        Operation::Or => Combiner::Or,
        Operation::Xor => Combiner::Xor,
        Operation::Mov => {
            let &[_, source] = operands else { return None };
            if is_predicate(source) {
                return plain(Leaf::Predicate(source), false);
            }
            return match source.integer_bits(f.literals())? {
                0 => plain(Leaf::Constant(false), false),
                1 | u64::MAX => plain(Leaf::Constant(true), false),
                _ => None,
            };
        }
        Operation::Not => {
            let &[_, source] = operands else { return None };
            return plain(Leaf::Predicate(source), true);
        }
        Operation::Setp => return made_by_setp(f, inst, position),
        _ => return None,
    };
    let &[_, one, other] = operands else { return None };
    let second = Some((combiner, other));
    is_predicate(one).then_some(Made { first: Leaf::Predicate(one), is_negated: false, second })
}

/// What a `setp` makes its result at `position` of: the second one is of the contrary.
fn made_by_setp(f: &FunctionEditor<'_>, inst: InstId, position: usize) -> Option<Made> {
    let description = f.description_of(inst);
    let test = Test::of(description)?;
    let combiner = description.qualifiers.combiner;
    let result_count = f.slots_of(inst).iter().filter(|slot| slot.role == Role::Def).count();
    let sources = f.operands_of(inst).get(result_count..)?;
    let (first, second) = match (sources, combiner) {
        (&[one, other], None) => ([one, other], None),
        (&[one, other, third], Some(combiner)) => ([one, other], Some((combiner, third))),
        _ => return None,
    };
    Some(Made { first: Leaf::Test(test, first), is_negated: position == 1, second })
}

/// The test of a `setp` that has one result and combines that with nothing, and its sources.
pub fn test_of(f: &FunctionEditor<'_>, inst: InstId, vreg: VRegId) -> Option<(Test, [Operand; 2], bool)> {
    match made_of(f, inst, vreg)? {
        Made { first: Leaf::Test(test, sources), is_negated, second: None } => {
            Some((test, sources, is_negated))
        }
        _ => None,
    }
}
