//! Promote locals: what lies in `.local` memory at constant addresses moves to registers.
//!
//! Source phase  before 23, and ConvertMemoryToRegisterOrUniform of 37 GeneralOptimizeMid; here rows 13 and 32, and
//!               again after 22, where that has unrolled loops for it
//! Reads         Blocks, Insts, VRegs, declarations, Fact::ControlFlow, Fact::DefUse where it holds
//! Writes        loads and stores of `.local` variables of the body, registers, DROPS_LOCALS, COMPUTED_LOCALS where computed
//!               addresses in loops alone keep something in memory
//! Needs         control flow ends its block; dominators
//! Leaves        no access to a byte of a variable that does not escape and that only plain accesses at constant
//!               addresses touch, and few loads of what only such stores write; a slot has a value before it is read, whatever the
//!               way to the read
//! Breaks        liveness, uniformity, definitions, program order; leaves dead code behind for dead-code elimination
//! Cost          a pass over the operands of functions that declare `.local` variables; where one may not escape, linear in their
//!               instructions, and sorting their accesses;
//!               where indices are bounded, a bounded number of visits to their blocks; a look at the declarations of all
//!               others
//! Paper         scalar replacement; the placement of phis is left to what builds SSA (Cytron et al. 1991); Cousot and
//!               Cousot 1977 for the bounds of indices
//! Checked by    check/forms.rs, check/operand_types.rs, check/def_use.rs; the judge
//!
//! # How it works
//! 1. [`addresses`] follows the address of each variable from its name through moves, `cvta` and arithmetic, and lists the
//!    loads and stores at the end of each way. [`pointers`] follows it through variables that it is stored in, and
//!    [`indices`] bounds what is added to it, where that comes from variables.
//! 2. [`slots`] joins accesses whose bytes overlap to *components* and divides each into slots and those into registers.
//! 3. [`plan`] finds the instructions that take the place of each access.
//! 4. Each component is one change: all of its accesses are replaced, or none. Where other loads keep it in memory, loads are alone.
//!
//! ```text
//! st.b32 [%SP+8], %r1;          mov.b32 %s, %r1;
//! ld.s16 %r2, [%SP+8];    ->    cvt.s32.s16 %r2, %s;
//! ```
//! Address arithmetic without a reader is left to dead-code elimination, and so are stores to slots that are overwritten
//! before they are read. The writer leaves out variables that nothing names any more: `ptxas` gives a declaration its
//! bytes of stack whether or not anything uses it.
//!
//! # What keeps a variable in memory
//! An address that goes anywhere but into the address operand of a load or store: to a call, to other memory, into a
//! comparison, under a guard, to a register that also holds something else. PTX knows no objects inside a variable, so from an address
//! of any byte all others can be reached:
//! ```text
//! add.u64 %rd1, %SP, 16;       // the address of an array in the depot
//! st.param.b64 [p], %rd1;      // the callee may subtract 16
//! ```
//! Clang puts all variables of a function into one `__local_depot`, so this keeps the whole depot. Going outside of the
//! variable itself is undefined.
//!
//! # What keeps a component in memory
//! A volatile, ordered or 128-bit access, one that is not aligned, or one whose offset is not constant: the latter for the
//! bytes that it [may touch](numbers), so an unsigned index into an array does not disturb what lies before the array, and
//! one that a loop counts to the end of the array disturbs nothing else. An index without bounds may reach all of the
//! variable.
//!
//! # What other loads read
//! A load at an address that is not constant writes nothing, so registers may hold what its bytes do. The stores stay for it:
//! ```text
//! st.local.u32 [x+4], %r1;          mov.b32 %s, %r1; st.local.u32 [x+4], %r1;
//! ld.local.u32 %r2, [%rd1];    ->   ld.local.u32 %r2, [%rd1];
//! ld.local.u32 %r3, [x+4];          mov.b32 %r3, %s;
//! ```
//! Outside of SSA form only, where most of the moves go again, and not where phase 22 may still unroll the loop, which makes the
//! address constant. Where that phase does not run (-O1, `--no-unroll`), nothing waits for it ([`WITHOUT_UNROLLING`]).
//! Slots stay in memory that would be bit fields, or that may be read before anything was written: what is in memory then is not
//! known to a register.
//!
//! # Reads of what nothing wrote
//! Uninitialised memory holds something, the same at each read; an uninitialised register need not. So a register that
//! no unguarded store dominates is zeroed at the entry:
//! ```text
//! @p st.local.u32 [x], 1;
//! ld.local.u32 %r1, [x];       // p false: any value, but one value
//! ```
//! Dead-code elimination removes the zero where every way to a read has a store.
//!
//! # Guards
//! The replacements of a guarded access have its guard. Nothing else is needed, since a store to a register slot reads the
//! old value where it writes a part of it.
//!
//! # Def-use
//! Functions without `.local` variables are the rule in optimized code, so the phase does not need the fact, which would be
//! computed for all functions: where it does not hold, the lists of the function at hand are built for this phase alone.
//!
//! # Limits
//! [`SLOTS_MAX`]. A function that has more instructions at the end than it came with runs again, and at worst is written as it came in. So
//! a vector access becomes moves, and one of a part a field, only while the function is not much larger than it was
//! ([`Settings::extra_percent`]), those moves left out that copy propagation removes. Later copies of this phase try again.
//! Bounds of indices have limits of their own.

pub mod addresses;
mod asks;
mod elements;
mod first_look;
pub mod indices;
pub mod numbers;
pub mod plan;
#[cfg(test)]
mod pointer_tests;
pub mod pointers;
pub mod ranges;
pub mod slots;
#[cfg(test)]
mod sweep_tests;
mod sweeps;
#[cfg(test)]
mod tests;

use addresses::{Access, NOT_CONSTANT, Refusal, Tracer};
use ahash::AHashSet;
use bevy_ecs::prelude::*;
use first_look::FirstLook;
use plan::{Plan, Planned, Value};
use ptxopt_components::anchor::AnchorKind;
use ptxopt_components::code_object::{CodeFlags, Room};
use ptxopt_components::ids::{BlockId, FormId, InstId, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_components::types::{StateSpace, extend};
use ptxopt_engine::edit::{Change, Editor, FunctionEditor};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::values::def_use::DefUse;
use slots::Component;

/// Rows 13 and 32.
pub const PHASE: Phase = Phase {
    name: "promote_locals",
    needs: &[Fact::ControlFlow],
    breaks: Fact::OF_INSTRUCTIONS_AND_ORDER,
    room_percent: ROOM_PERCENT,
    install: |slot| {
        slot.init_resource::<Settings>();
        slot.add(run);
    },
    ..Phase::NOTHING
};

/// Row 13 where phase 22 does not run.
pub const WITHOUT_UNROLLING: Phase = Phase {
    install: |slot| {
        slot.init_resource::<Settings>();
        slot.add(run_without_unrolling);
    },
    ..PHASE
};

/// How far the phase goes.
#[derive(Resource, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Instructions for parts of slots that a function may have more than it came with, in percent of these: rules take most of them away
    /// again.
    pub extra_percent: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { extra_percent: 25 }
    }
}

/// A slot takes one register, and a function that stores and loads it has more than two already. A vector access of four
/// becomes four rows, of which few stay.
const ROOM_PERCENT: u32 = 100;

/// The most slots of a function that become registers: arrays of which every index is constant. More registers than that
/// only come back as the assembler's spills.
pub const SLOTS_MAX: usize = 20_000;

/// Works on every function.
pub fn run(editor: Editor, settings: Res<Settings>, scratch: Local<Scratch>) {
    promote_all(editor, CodeFlags::WORKED_ON, *settings, Loops::MayChange, scratch);
}

/// Works on every function, whose loops stay.
pub fn run_without_unrolling(editor: Editor, settings: Res<Settings>, scratch: Local<Scratch>) {
    promote_all(editor, CodeFlags::WORKED_ON, *settings, Loops::Stay, scratch);
}

/// Works on the functions of which loops may have been unrolled for it: those with [`CodeFlags::COMPUTED_LOCALS`].
pub fn run_again(editor: Editor, settings: Res<Settings>, scratch: Local<Scratch>) {
    promote_all(editor, CodeFlags::WORKED_ON | CodeFlags::COMPUTED_LOCALS, *settings, Loops::Stay, scratch);
}

fn promote_all(
    mut editor: Editor,
    flags: CodeFlags,
    settings: Settings,
    loops: Loops,
    mut scratch: Local<Scratch>,
) {
    editor.each(flags, |mut f| promote(&mut f, settings, &mut scratch, loops));
}

/// Whether phase 22 is still to come, which may unroll loops.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loops {
    MayChange,
    Stay,
}

/// Memory that is used again for each function.
#[derive(Default)]
pub struct Scratch {
    first_look: FirstLook,
    tracer: Tracer,
    /// Of a function for which nothing has computed the fact.
    def_use: DefUse,
    components: Vec<Component>,
    /// What is made of them.
    parts: Vec<Component>,
    plan: Plan,
    rewriter: Rewriter,
}

fn promote(f: &mut FunctionEditor<'_>, settings: Settings, scratch: &mut Scratch, loops: Loops) {
    let (view, forms) = f.view_and_forms();
    if !view.decls.iter().any(|decl| decl.space == StateSpace::Local) {
        return;
    }
    let Scratch { first_look, tracer, def_use, components, parts, plan, rewriter } = scratch;
    // Remarks say why each of them does.
    if !f.remarks_are_wanted() && first_look.all_escape(&view, forms) {
        return;
    }
    let def_use = if f.fact_holds(Fact::DefUse) {
        f.def_use()
    } else {
        def_use.build(&view);
        def_use
    };
    if let Err((inst, reason)) = tracer.trace(&view, forms, def_use) {
        missed(f, inst, reason);
        return;
    }
    if let Some((inst, reason)) = tracer.limit {
        f.stats().limits_hit += 1;
        missed(f, inst, reason);
    }
    rewriter.start(f);
    plan.start();
    slots::find_components(tracer, components);
    for (inst, reason) in tracer.variables.iter().filter_map(|variable| variable.escape) {
        missed(f, inst, reason);
    }
    list_parts(f, &mut tracer.accesses, components, loops, parts);
    let stays = parts.iter().any(|part| part.verdict.is_err())
        || tracer.variables.iter().any(|variable| variable.escape.is_some());
    // A register of a slot is no value in SSA form, so its copies stay there.
    let copies_go = usize::from(!f.state().flags.contains(CodeFlags::SSA));
    let (copies, of_parts, deferred, of_deferred) = Default::default();
    let extra = f.text().insts_in as usize * settings.extra_percent as usize / 100;
    let mut promotion =
        Promotion { f, plan, rewriter, copies_go, extra, of_parts, copies, deferred, of_deferred, stays };
    let (of_loads, whole): (Vec<&Component>, Vec<&Component>) =
        parts.iter().partition(|part| part.stores_stay && part.verdict.is_ok());
    let mut slot_count = 0;
    for part in whole {
        slot_count += promotion.take(&tracer.accesses[part.accesses.clone()], part.verdict, slot_count);
        if slot_count > SLOTS_MAX {
            break;
        }
    }
    promotion.take_deferred(tracer.address_count());
    for part in of_loads {
        promotion.take_loads(&tracer.accesses[part.accesses.clone()]);
    }
    promotion.finish();
}

/// Lists the components, those divided that other loads keep in memory; says where phase 22 may make the addresses of those constant.
fn list_parts(
    f: &mut FunctionEditor<'_>,
    accesses: &mut [Access],
    components: &mut Vec<Component>,
    loops: Loops,
    parts: &mut Vec<Component>,
) {
    parts.clear();
    for component in components.drain(..) {
        if component.verdict.is_ok() || f.state().flags.contains(CodeFlags::SSA) {
            parts.push(component);
        } else if loops == Loops::MayChange && waits_for_loops(f, &accesses[component.accesses.clone()]) {
            f.set_flags(CodeFlags::COMPUTED_LOCALS, true);
            parts.push(component);
        } else {
            slots::divide_from_readers(accesses, &component, parts);
        }
    }
}

/// The promotion of the components of one function.
struct Promotion<'a, 'e> {
    f: &'a mut FunctionEditor<'e>,
    plan: &'a mut Plan,
    rewriter: &'a mut Rewriter,
    /// 1 where copies of slots go again, 0 where they stay.
    copies_go: usize,
    /// Instructions for parts of slots that the function may have more than it came with.
    extra: usize,
    /// Instructions for parts of slots so far.
    of_parts: usize,
    /// Copies so far that go again.
    copies: usize,
    /// What needs room that later changes may make.
    deferred: Vec<&'a [Access]>,
    of_deferred: Growth,
    /// Whether some access stays in memory.
    stays: bool,
}

impl<'a> Promotion<'a, '_> {
    /// Makes registers of a component with these accesses beside `slot_count` other slots, or defers it; gives how many slots
    /// it has.
    fn take(&mut self, accesses: &'a [Access], verdict: Result<(), Refusal>, slot_count: usize) -> usize {
        let mut slots = 0;
        let verdict = verdict.and_then(|()| {
            let is_planned = self.plan.make(self.f, accesses, false);
            slots = self.plan.slots.slots.len();
            if slot_count + slots > SLOTS_MAX {
                self.f.stats().limits_hit += 1;
                return Err((accesses[0].inst, "the function has more slots than become registers"));
            }
            is_planned.then_some(()).ok_or((accesses[0].inst, "no instruction takes the place of an access"))
        });
        let growth = self.growth();
        match verdict {
            Ok(()) if self.fits(Growth { copies: 0, ..growth }, self.copies) => {
                self.rewriter.apply(self.f, self.plan);
                self.add(growth);
            }
            Ok(()) => {
                self.of_deferred.rows += growth.rows;
                self.of_deferred.copies += growth.copies;
                self.of_deferred.of_parts += growth.of_parts;
                self.deferred.push(accesses);
            }
            Err((inst, reason)) => {
                self.stays = true;
                missed(self.f, inst, reason);
            }
        }
        slots
    }

    /// Makes registers of what was deferred, if there is room for all of it once copies and addresses that nothing needs are gone.
    fn take_deferred(&mut self, address_count: usize) {
        let addresses_to_go = if self.stays { 0 } else { address_count };
        let is_small = self.fits(self.of_deferred, self.copies + addresses_to_go);
        for accesses in std::mem::take(&mut self.deferred) {
            if is_small && self.plan.make(self.f, accesses, false) {
                self.rewriter.apply(self.f, self.plan);
            } else {
                self.tell_of_growth(accesses);
            }
        }
        if is_small {
            self.add(self.of_deferred);
        }
    }

    /// Lets registers hold what the loads of a component read whose stores stay, if there is room for the moves beside these.
    fn take_loads(&mut self, accesses: &[Access]) {
        if !self.plan.make(self.f, accesses, true) || self.plan.replaced() == 0 {
            return;
        }
        let growth = self.growth();
        if self.fits(growth, self.copies) {
            self.rewriter.apply(self.f, self.plan);
            self.add(growth);
        } else {
            self.tell_of_growth(accesses);
        }
    }

    /// What the planned component adds.
    fn growth(&self) -> Growth {
        let Plan { copies, of_parts, .. } = *self.plan;
        Growth { rows: self.plan.growth(), copies: self.copies_go * copies, of_parts }
    }

    /// Notes what was added.
    fn add(&mut self, growth: Growth) {
        self.copies += growth.copies;
        self.of_parts += growth.of_parts;
    }

    /// Whether the phase may make the function so much larger, and it has no more instructions than it came with, but for those for parts
    /// as it may, once nothing reads the copies, nor `unread` others: copies of slots, and addresses.
    fn fits(&self, growth: Growth, unread: usize) -> bool {
        let (insts_in, insts) = (self.f.text().insts_in as usize, self.f.state().live_insts as isize);
        let of_parts = (self.of_parts + growth.of_parts).min(self.extra);
        let room = (insts_in + of_parts + unread) as isize - insts;
        let room_of_phase = (insts_in * (100 + ROOM_PERCENT as usize) / 100) as isize - insts;
        growth.rows - growth.copies as isize <= room.max(0) && growth.rows <= room_of_phase.max(0)
    }

    fn tell_of_growth(&mut self, accesses: &[Access]) {
        self.f.stats().limits_hit += 1;
        let reason = "more instructions than came in would take the place of local memory";
        missed(self.f, accesses[0].inst, reason);
    }

    fn finish(self) {
        // A slot is written wherever its variable was, so in SSA form it is no value.
        self.rewriter.variables.iter().for_each(|&vreg| self.f.set_variable(vreg, true));
    }
}

/// Whether nothing but accesses at computed addresses in loops keeps a component in memory.
fn waits_for_loops(f: &FunctionEditor<'_>, accesses: &[Access]) -> bool {
    let mut refused = accesses.iter().filter(|access| access.refusal.is_some()).peekable();
    let is_in_loop = |access: &Access| !f.order_of(access.block).loop_header.is_none();
    refused.peek().is_some()
        && refused.all(|access| access.refusal == Some(NOT_CONSTANT) && is_in_loop(access))
}

/// What components add to a function.
#[derive(Clone, Copy, Default)]
struct Growth {
    /// Rows, or fewer than before.
    rows: isize,
    /// How many of them are copies that go again.
    copies: usize,
    /// How many of them are for parts of slots, beside one for each.
    of_parts: usize,
}

fn missed(f: &mut FunctionEditor<'_>, inst: InstId, reason: &'static str) {
    let offset = f.offset_of(inst);
    f.missed(offset, reason);
}

/// Makes the changes.
#[derive(Default)]
struct Rewriter {
    /// The row at the entry before which zeros stand.
    first_row: Option<InstId>,
    /// Instructions with a pragma that is about loads and stores.
    with_pragma: AHashSet<InstId>,
    registers: Vec<VRegId>,
    /// All registers that were made in the function.
    variables: Vec<VRegId>,
    operands: Vec<Operand>,
}

impl Rewriter {
    const ENTRY: BlockId = BlockId(0);

    fn start(&mut self, f: &FunctionEditor<'_>) {
        let view = f.view();
        self.variables.clear();
        self.first_row = view.all_rows_of(Self::ENTRY).next();
        let pragmas = view.anchors.iter().filter(|anchor| anchor.kind == AnchorKind::InstPragma);
        self.with_pragma.clear();
        self.with_pragma.extend(pragmas.map(|anchor| anchor.before));
    }

    /// Replaces the accesses of a component as one change.
    fn apply(&mut self, f: &mut FunctionEditor<'_>, plan: &Plan) {
        let added = plan.replacements.iter().map(|replacement| {
            let has_own_row = !self.with_pragma.contains(&replacement.inst) && !replacement.stays;
            replacement.planned.len().saturating_sub(usize::from(has_own_row))
        });
        let insts = plan.entry.len() + added.sum::<usize>();
        let room = Room { insts: insts as u32, blocks: 0, vregs: plan.registers.len() as u32 };
        let offset = f.offset_of(plan.replacements[0].inst);
        let reason = if plan.registers.is_empty() {
            "stores to local memory that nothing reads go"
        } else if plan.replaced() < plan.replacements.len() {
            "what is loaded from local memory is in registers, too"
        } else {
            "local memory becomes registers"
        };
        let Some(mut change) = f.change_with_room(offset, reason, room) else { return };
        self.registers.clear();
        self.registers.extend(plan.registers.iter().map(|&ty| change.new_vreg(ty)));
        self.variables.extend_from_slice(&self.registers);
        for planned in &plan.planned[plan.entry.clone()] {
            let form = self.materialise(&mut change, plan, planned);
            match self.first_row {
                Some(row) => change.insert_before(row, form, &self.operands, None),
                None => change.insert_at_end(Self::ENTRY, form, &self.operands, None),
            };
        }
        for replacement in &plan.replacements {
            let guard = replacement.guard;
            let planned = &plan.planned[replacement.planned.clone()];
            let has_own_row = !self.with_pragma.contains(&replacement.inst);
            let (in_place, before) = match planned.split_last() {
                Some((last, before)) if has_own_row && !replacement.stays => (Some(last), before),
                _ => (None, planned),
            };
            for planned in before {
                let form = self.materialise(&mut change, plan, planned);
                change.insert_before(replacement.inst, form, &self.operands, guard);
            }
            match in_place {
                Some(planned) => {
                    let form = self.materialise(&mut change, plan, planned);
                    change.set_form(replacement.inst, form, &self.operands);
                }
                None if replacement.stays => {}
                None => change.delete(replacement.inst),
            }
        }
        f.set_flags(CodeFlags::DROPS_LOCALS, true);
    }

    /// Makes operands of the values of a planned instruction; gives its form.
    fn materialise(&mut self, change: &mut Change<'_, '_>, plan: &Plan, planned: &Planned) -> FormId {
        let Self { registers, operands, .. } = self;
        operands.clear();
        operands.extend(plan.operands[planned.operands.clone()].iter().map(|&value| match value {
            Value::Operand(operand) => operand,
            Value::New(number) => Operand::register(registers[number]),
            Value::Literal(bits, ty) => change.constant(extend(bits, ty.bits()) as u64, ty),
        }));
        planned.form
    }
}
