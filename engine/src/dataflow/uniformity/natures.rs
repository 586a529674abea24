//! What an instruction makes of uniform operands: the sources of divergence.
//!
//! ```text
//! mov.u32 %r1, %tid.x;                    // a source
//! mov.u32 %r2, %ctaid.x;                  // uniform
//! ld.param.u32 %r3, [p];                  // a kernel's parameter: uniform; another function's: not
//! ld.const.u32 %r4, [%r2];                // as its address
//! ld.global.u32 %r5, [%rd2];              // as its address, where the threads came here together
//! ld.acquire.gpu.global.u32 %r6, [%rd2];  // a source: who reads later may read something else
//! atom.add.global.u32 %r7, [%rd2], 1;     // a source
//! vote.sync.ballot.b32 %r8, %p1, -1;      // uniform, if the same threads meet here (see the module above)
//! shfl.sync.idx.b32 %r9, %r1, 0, 31, -1;  // so too: everyone gets the value of lane 0
//! shfl.sync.bfly.b32 %r9, %r1, 1, 31, -1; // as the value: every lane gets another one's
//! ```

use crate::forms::{Description, FormTable};
use crate::store::view::FunctionView;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::form::{Form, Role};
use ptxopt_components::ids::{Id, InstId, NameId, VRegId};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Action, Modifiers, ShuffleMode, VoteMode};
use ptxopt_components::special_registers::{SPECIAL_REGISTERS, Shared};
use ptxopt_components::types::StateSpace;

/// How the results of a form follow from its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Uniform operands give uniform results.
    Computes,
    /// A load of what nothing writes while the kernel runs: as its address.
    ReadsConstant,
    /// A load of read-only data, which an earlier grid may still be writing before a wait for it.
    ReadsUnwritten,
    /// A plain load: as its address, where threads come together.
    Reads,
    /// A load of a parameter.
    ReadsParameter,
    /// Everyone who takes part gets the same.
    Votes(Members),
    /// Every lane gets the name of the same thread; the predicate is true in that lane only.
    Elects,
    /// All get the value of one of them.
    Shuffles {
        /// The lane is named.
        by_index: bool,
    },
    /// Threads may get different results whatever the operands are.
    Varies,
}

/// Which operands say who takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Members {
    /// All that are read but the first, the value.
    AfterFirst,
    /// All that are read but the last, the predicate.
    BeforeLast,
}

/// What the analysis asks of a form.
#[derive(Clone, Copy, Debug)]
pub struct Nature {
    /// How its results follow.
    pub kind: Kind,
    /// Threads wait here for the others of a warp or more.
    pub is_meeting: bool,
    /// The members of the meeting are named; else those that execute it together.
    pub names_members: bool,
    /// A call: threads come back when they like.
    pub is_call: bool,
    /// All threads of the warp meet here and go on together, if its only operand is a literal; a member mask must name
    /// them all.
    pub aligns: Option<Aligns>,
    /// Waits for an earlier grid.
    pub waits_for_grid: bool,
}

/// Whose meeting it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aligns {
    /// That of the CTA.
    Cta,
    /// That of the warp: the operand is the member mask.
    Warp,
}

/// The natures of the forms that a shard has met.
///
/// A form's nature never changes, so one table serves all functions whose forms are in one [`FormTable`].
#[derive(Default)]
pub struct Natures {
    rows: Vec<Nature>,
}

impl Natures {
    /// Makes sure that every form of the table has its nature.
    pub fn bring_up_to_date(&mut self, forms: &FormTable) {
        for at in self.rows.len()..forms.len() {
            let id = Id::new(at);
            self.rows.push(nature(forms.get(id), forms.describe(id)));
        }
    }

    /// The nature of an instruction.
    #[inline]
    #[must_use]
    pub fn of(&self, function: &FunctionView<'_>, inst: InstId) -> &Nature {
        &self.rows[function.heads[inst.index()].form.index()]
    }
}

fn nature(form: &Form, description: &Description) -> Nature {
    let Description { operation, qualifiers, .. } = description;
    let effects = form.effects;
    let is_barrier = matches!(
        operation,
        Operation::Bar | Operation::Barrier | Operation::BarWarpSync | Operation::BarrierCluster
    );
    Nature {
        kind: kind(form, description),
        is_meeting: effects.contains(Effects::CONVERGENT) && !effects.contains(Effects::VOLATILE),
        names_members: qualifiers.has(Modifiers::SYNC) || is_barrier,
        is_call: effects.intersects(Effects::CALL | Effects::UNKNOWN),
        aligns: match operation {
            Operation::BarWarpSync => Some(Aligns::Warp),
            Operation::Bar | Operation::Barrier if qualifiers.action == Some(Action::Sync) => {
                Some(Aligns::Cta)
            }
            _ => None,
        },
        // What is not understood may wait for anything.
        waits_for_grid: matches!(operation, Operation::GridDependency | Operation::Unknown) && !form.is_phi(),
    }
}

fn kind(form: &Form, description: &Description) -> Kind {
    let Description { operation, qualifiers, .. } = description;
    match operation {
        // Where threads come together, the search for joins says more.
        Operation::Unknown if form.is_phi() => return Kind::Computes,
        Operation::Unknown => return Kind::Varies,
        Operation::Vote | Operation::Redux => return Kind::Votes(Members::AfterFirst),
        Operation::Match if qualifiers.vote == Some(VoteMode::All) => {
            return Kind::Votes(Members::AfterFirst);
        }
        Operation::Bar | Operation::Barrier if qualifiers.action == Some(Action::Reduce) => {
            return Kind::Votes(Members::BeforeLast);
        }
        Operation::Elect => return Kind::Elects,
        Operation::Shfl => {
            return Kind::Shuffles { by_index: qualifiers.shuffle == Some(ShuffleMode::Index) };
        }
        _ => {}
    }
    let varies = Effects::ATOMIC
        | Effects::ORDER
        | Effects::CONVERGENT
        | Effects::PINNED
        | Effects::ASYNC
        | Effects::VOLATILE
        | Effects::CALL
        | Effects::TEXTURE
        | Effects::UNKNOWN;
    let is_load = matches!(operation, Operation::Ld | Operation::Ldu);
    if form.effects.intersects(varies) || form.effects.contains(Effects::READ) && !is_load {
        return Kind::Varies;
    }
    let is_unwritten = qualifiers.has(Modifiers::NON_COHERENT) || *operation == Operation::Ldu;
    match form.space {
        // The address of something that each thread has of its own.
        StateSpace::Local | StateSpace::Param if matches!(operation, Operation::Cvta | Operation::CvtaTo) => {
            Kind::Varies
        }
        _ if !is_load => Kind::Computes,
        StateSpace::Const => Kind::ReadsConstant,
        StateSpace::Param => Kind::ReadsParameter,
        StateSpace::Global if is_unwritten => Kind::ReadsUnwritten,
        StateSpace::Global | StateSpace::Shared | StateSpace::SharedCluster => Kind::Reads,
        StateSpace::Local | StateSpace::Generic => Kind::Varies,
    }
}

/// What the analysis has found out about the place of an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// Threads that execute the same instance came here by the same way since they last were together.
    pub is_together: bool,
    /// Threads meet in the order of the code: no meeting lies where only some of them go.
    pub meets_in_order: bool,
    /// No meeting is under a divergent guard.
    pub meets_unguarded: bool,
}

/// Names of a function that mean something else in each thread.
#[derive(Default)]
pub struct Private {
    /// Local variables and parameters of calls, sorted.
    names: Vec<NameId>,
    /// Any name may be one.
    is_any: bool,
    is_entry: bool,
    /// The function waits for an earlier grid.
    waits_for_grid: bool,
}

impl Private {
    /// Looks at the declarations of a function, and for waits in its code.
    pub fn compute(&mut self, function: &FunctionView<'_>, natures: &Natures) {
        let is_private = |space| matches!(space, StateSpace::Local | StateSpace::Param);
        self.names.clear();
        self.names.extend(function.decls.iter().filter(|decl| is_private(decl.space)).map(|decl| decl.name));
        self.names.sort_unstable_by_key(|name| name.0);
        self.is_any = function.decls.iter().any(|decl| is_private(decl.space) && decl.is_family);
        self.is_entry = function.state.flags.contains(CodeFlags::ENTRY);
        self.waits_for_grid = function
            .heads
            .iter()
            .enumerate()
            .any(|(at, head)| head.is_live() && natures.of(function, InstId::new(at)).waits_for_grid);
    }

    fn holds(&self, name: NameId) -> bool {
        self.is_any || self.names.binary_search_by_key(&name.0, |name| name.0).is_ok()
    }
}

/// Which results of an instruction diverge: the first, and those after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Results {
    /// The first operand.
    pub first: bool,
    /// Those after it.
    pub others: bool,
}

impl Results {
    /// Whether the result in operand `at` diverges.
    #[must_use]
    pub const fn of(self, at: usize) -> bool {
        if at == 0 { self.first } else { self.others }
    }

    const fn both(diverges: bool) -> Self {
        Self { first: diverges, others: diverges }
    }
}

/// The transfer function: which results of `inst` diverge, given the registers that do. A divergent guard makes both
/// diverge, since the old values stay where it is false.
#[must_use]
pub fn results(
    function: &FunctionView<'_>,
    forms: &FormTable,
    nature: &Nature,
    private: &Private,
    situation: Situation,
    inst: InstId,
    diverges: impl Fn(VRegId) -> bool,
) -> Results {
    if function.guard_of(inst).and_then(Operand::vreg).is_some_and(&diverges) {
        return Results::both(true);
    }
    let operands = function.operands_of(inst);
    let of = |operand: &Operand| operand_diverges(operand, private, situation, &diverges);
    let any_used = || operands.iter().filter(|operand| operand.is_use()).any(of);
    // Names in the address of a load are of the space that the load names.
    let any_address = || {
        operands.iter().filter(|operand| operand.is_use()).any(|operand| match operand.kind() {
            OperandKind::Symbol(_) => false,
            _ => of(operand),
        })
    };
    let together = situation.is_together;
    let slots = forms.slots(function.heads[inst.index()].form);
    let reads =
        || operands.iter().zip(slots).filter(|(_, slot)| slot.role == Role::Use).map(|(operand, _)| operand);
    let meets = situation.meets_unguarded && (together || nature.names_members && situation.meets_in_order);
    match nature.kind {
        Kind::Computes => Results::both(any_used()),
        Kind::ReadsConstant => Results::both(any_address()),
        Kind::ReadsUnwritten => Results::both(any_address() || private.waits_for_grid && !together),
        Kind::Reads => Results::both(any_address() || !together),
        Kind::ReadsParameter => {
            let is_private = |operand: &Operand| matches!(operand.kind(), OperandKind::Symbol(name) if private.holds(name));
            Results::both(!private.is_entry || any_address() || operands.iter().any(is_private))
        }
        Kind::Votes(Members::AfterFirst) => Results::both(!meets || reads().skip(1).any(of)),
        Kind::Votes(Members::BeforeLast) => {
            let count = reads().count();
            Results::both(!meets || reads().take(count.saturating_sub(1)).any(of))
        }
        Kind::Elects => Results { first: !meets || any_used(), others: true },
        Kind::Shuffles { by_index } => {
            let mut read = reads();
            let (Some(value), Some(lane), Some(clamp)) = (read.next(), read.next(), read.next()) else {
                return Results::both(true);
            };
            // Segments of 32 lanes, clamped at lane 31: the lane of an index is always there.
            let is_whole = matches!(clamp.kind(), OperandKind::Int(31));
            let is_named = by_index && is_whole && !of(lane);
            let goes_wrong = !meets || read.any(of);
            Results { first: goes_wrong || !is_named && of(value), others: goes_wrong || !is_named }
        }
        Kind::Varies => Results::both(true),
    }
}

/// Whether threads may see different values in an operand.
fn operand_diverges(
    operand: &Operand,
    private: &Private,
    situation: Situation,
    diverges: &impl Fn(VRegId) -> bool,
) -> bool {
    if let Some(vreg) = operand.vreg() {
        return diverges(vreg);
    }
    match operand.kind() {
        OperandKind::Special(row) => match SPECIAL_REGISTERS[row as usize].shared {
            Shared::Thread | Shared::Never => true,
            Shared::Moment => !situation.is_together,
            Shared::Warp => false,
        },
        // Of a function that is called, the name may be a parameter's: the stacks of threads may differ in depth.
        OperandKind::Symbol(name) => !private.is_entry || private.holds(name),
        _ => false,
    }
}

/// Whether the results of `inst` follow from where it stands.
#[must_use]
pub fn depends_on_situation(function: &FunctionView<'_>, nature: &Nature, inst: InstId) -> bool {
    match nature.kind {
        Kind::Reads | Kind::ReadsUnwritten | Kind::Votes(_) | Kind::Elects | Kind::Shuffles { .. } => true,
        Kind::Computes => function.operands_of(inst).iter().any(|operand| {
            operand.vreg().is_none()
                && matches!(operand.kind(), OperandKind::Special(row)
                    if SPECIAL_REGISTERS[row as usize].shared == Shared::Moment)
        }),
        _ => false,
    }
}

/// Whether all threads of the warp stand at `inst` before one of them goes on, if they meet in the order of the code.
#[must_use]
pub fn aligns(function: &FunctionView<'_>, nature: &Nature, inst: InstId) -> bool {
    let operands = function.operands_of(inst);
    match (nature.aligns, operands) {
        (Some(Aligns::Cta), [number]) => matches!(number.kind(), OperandKind::Int(_)),
        (Some(Aligns::Warp), [mask]) => match mask.kind() {
            OperandKind::Int(mask) => mask == -1,
            OperandKind::Literal(literal) => function.pools.literals[literal.index()].bits as u32 == u32::MAX,
            _ => false,
        },
        _ => false,
    }
}
