//! Registers in flight: what hardware still uses after an instruction has issued is not touched before the wait.
//!
//! Fast. One pass over instruction heads; where an instruction leaves registers in flight, a forward may-analysis over
//! the blocks, with a few bytes a register of such instructions.
//!
//! What is undefined by the ISA, and counts as a touch:
//! - `wgmma.mma_async` writes its accumulator and reads a vector A until its group has been waited for. Before that,
//!   nothing reads or writes the accumulator, and nothing writes A; another `wgmma.mma_async` may take the same
//!   accumulator on.
//! - Between another access to a register and a `wgmma.mma_async` that uses it in one of these places stands a
//!   `wgmma.fence`.
//! - `tcgen05.ld` writes its vector until `tcgen05.wait::ld`; `tcgen05.st` reads its own until `tcgen05.wait::st`.
//!
//! Other asynchronous instructions take what registers hold when they issue.
//!
//! # Only what is new
//! A module may come in with such a touch, on a path that is never taken perhaps. What the function as read has at the
//! same instruction is no violation, so nothing is said where no copy of it is kept.
//!
//! # Ages
//! A register is in flight since `k` commits. On joins the youngest use wins: it is waited for last. So an age is kept as
//! `YOUNGEST - k`, with 0 for "not in flight", and joins are maxima. Ages beyond `YOUNGEST` commits stay in flight
//! until a wait for that many groups or fewer.

use super::{Verdict, each_function, wrong_at};
use bevy_ecs::prelude::*;
use ptxopt_components::block::BlockFlags;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::opcodes::InFlight;
use ptxopt_components::operand::OperandKind;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::build::next_living;
use ptxopt_engine::run::log::Violations;
use ptxopt_engine::run::phase::{Check, Verify};
use ptxopt_engine::store::as_read::AsRead;
use ptxopt_engine::store::columns::Code;
use ptxopt_engine::store::view::FunctionView;

/// The verifier of registers in flight.
pub const CHECK: Check = Check { name: "in_flight", from: Verify::Fast, install: |slot| slot.add(run) };

/// Verifies every function of the batch of which a copy as read is kept.
pub fn run(code: Code, forms: Res<FormTable>, as_read: Res<AsRead>, mut violations: ResMut<Violations>) {
    each_function(&code, CHECK.name, &mut violations, |function| {
        as_read.function(function.code).map_or(Ok(()), |before| verify(function, &before, &forms))
    });
}

/// Verifies one function against itself as it was read.
pub fn verify(function: &FunctionView<'_>, before: &FunctionView<'_>, forms: &FormTable) -> Verdict {
    let touches = touches(function, forms);
    if touches.is_empty() {
        return Ok(());
    }
    let known: Vec<Touch> = self::touches(before, forms).into_iter().map(|(_, touch)| touch).collect();
    match touches.into_iter().find(|(_, touch)| !known.contains(touch)) {
        Some((inst, Touch { what, vreg, .. })) => {
            wrong_at(function.heads[inst.index()].block, inst.index(), format_args!("{vreg:?} {what}"))
        }
        None => Ok(()),
    }
}

/// A touch, by what stays the same from the reader to the writer: the place of its instruction in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Touch {
    what: &'static str,
    vreg: VRegId,
    offset: u32,
}

/// The age of a use that no commit has followed.
const YOUNGEST: u8 = 16;

/// What is in flight of one register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    /// Age of the youngest group that writes it.
    written: u8,
    /// Age of the youngest group that reads it.
    read: u8,
    /// A `tcgen05.ld` writes it.
    loads: bool,
    /// A `tcgen05.st` reads it.
    stores: bool,
    /// Accessed since the last fence.
    is_unfenced: bool,
}

impl State {
    fn join(self, other: Self) -> Self {
        Self {
            written: self.written.max(other.written),
            read: self.read.max(other.read),
            loads: self.loads | other.loads,
            stores: self.stores | other.stores,
            is_unfenced: self.is_unfenced | other.is_unfenced,
        }
    }

    /// What is wrong with an instruction that reads or writes the register in the ordinary way.
    fn touch(self, is_written: bool) -> Option<&'static str> {
        if self.written > 0 {
            Some("is accessed while a group writes it")
        } else if self.loads {
            Some("is accessed before the load into it was waited for")
        } else if is_written && self.read > 0 {
            Some("is written while a group reads it")
        } else if is_written && self.stores {
            Some("is written before the store of it was waited for")
        } else {
            None
        }
    }

    /// What is wrong with a `wgmma.mma_async` that uses the register.
    fn touch_of_group(self, is_accumulator: bool) -> Option<&'static str> {
        if self.is_unfenced {
            Some("is used by a group without a fence after its last access")
        } else if is_accumulator {
            Self { written: 0, ..self }.touch(true)
        } else {
            self.touch(false)
        }
    }
}

/// The touches in a function, with their instructions.
fn touches(function: &FunctionView<'_>, forms: &FormTable) -> Vec<(InstId, Touch)> {
    let tracked = tracked(function, forms);
    if tracked.iter().all(Option::is_none) {
        return Vec::new();
    }
    let count = tracked.iter().flatten().count();
    let mut walk =
        Walk { function, forms, tracked, at_start: vec![None; function.blocks.len()], found: None };
    let mut waiting = vec![BlockId(0)];
    walk.at_start[0] = Some(vec![State::default(); count]);
    while let Some(block) = waiting.pop() {
        walk.block(block, &mut waiting);
    }
    walk.found = Some(Vec::new());
    for block in
        function.block_ids().filter(|block| walk.at_start[block.index()].is_some()).collect::<Vec<_>>()
    {
        walk.block(block, &mut waiting);
    }
    walk.found.unwrap_or_default()
}

/// By register: its number among those that some instruction leaves in flight.
fn tracked(function: &FunctionView<'_>, forms: &FormTable) -> Vec<Option<u32>> {
    let mut tracked = Vec::new();
    let mut next = 0;
    for inst in (0..function.heads.len()).map(InstId::new) {
        let head = &function.heads[inst.index()];
        if !head.is_live() || !head.marks.contains(Marks::PINNED) {
            continue;
        }
        for (vreg, _) in in_flight(function, forms, inst) {
            tracked.resize(function.vregs.len(), None);
            if tracked[vreg.index()].is_none() {
                tracked[vreg.index()] = Some(next);
                next += 1;
            }
        }
    }
    tracked
}

/// The registers that an instruction leaves in flight, each with whether it is written.
fn in_flight<'a>(
    function: &FunctionView<'a>,
    forms: &FormTable,
    inst: InstId,
) -> impl Iterator<Item = (VRegId, bool)> + use<'a> + Clone {
    let id = function.heads[inst.index()].form;
    let form = forms.get(id);
    let operands = function.operands_of(inst).iter().zip(forms.slots(id));
    let taken: Vec<(VRegId, bool)> = operands
        .filter(|(_, slot)| form.leaves_in_flight(slot))
        .filter_map(|(operand, _)| Some((operand.vreg()?, operand.is_definition())))
        .collect();
    taken.into_iter()
}

/// The analysis: states at the start of blocks, and in the last round what was found.
struct Walk<'a> {
    function: &'a FunctionView<'a>,
    forms: &'a FormTable,
    tracked: Vec<Option<u32>>,
    /// By block: states of the tracked registers; nothing where it was not reached.
    at_start: Vec<Option<Vec<State>>>,
    found: Option<Vec<(InstId, Touch)>>,
}

impl Walk<'_> {
    /// Walks a block and hands the states on to wherever control goes; `waiting` gets the blocks whose states grew.
    fn block(&mut self, block: BlockId, waiting: &mut Vec<BlockId>) {
        let function = self.function;
        let mut states = self.at_start[block.index()].clone().unwrap_or_default();
        for inst in function.insts_of(block) {
            self.inst(inst, &mut states);
            let head = &function.heads[inst.index()];
            if !head.marks.contains(Marks::CONTROL) {
                continue;
            }
            for operand in function.operands_of(inst) {
                if let Some(target) = operand.as_block() {
                    self.reach(target, &states, waiting);
                } else if let Some(table) = operand.as_table() {
                    let targets = function.tables[table.index()].targets;
                    for &target in &function.pools.targets[targets.range()] {
                        self.reach(target, &states, waiting);
                    }
                }
            }
            if !head.opcode.is_guarded() {
                return;
            }
        }
        if let Some(next) = next_living(function.blocks, block) {
            self.reach(next, &states, waiting);
        }
    }

    fn reach(&mut self, block: BlockId, states: &[State], waiting: &mut Vec<BlockId>) {
        if self.function.blocks[block.index()].flags.contains(BlockFlags::DEAD) {
            return;
        }
        let Some(known) = &mut self.at_start[block.index()] else {
            self.at_start[block.index()] = Some(states.to_vec());
            waiting.push(block);
            return;
        };
        let mut has_grown = false;
        for (old, new) in known.iter_mut().zip(states) {
            let joined = old.join(*new);
            has_grown |= joined != *old;
            *old = joined;
        }
        if has_grown {
            waiting.push(block);
        }
    }

    /// What an instruction does to the states, and what is wrong with it.
    fn inst(&mut self, inst: InstId, states: &mut [State]) {
        let kind = self.forms.get(self.function.heads[inst.index()].form).in_flight;
        if kind != InFlight::UntilGroup {
            self.ordinary_accesses(inst, states);
        }
        match kind {
            InFlight::No => {}
            InFlight::UntilGroup => self.group(inst, states),
            InFlight::UntilLoadWait | InFlight::UntilStoreWait => {
                for (vreg, is_written) in in_flight(self.function, self.forms, inst) {
                    let state = &mut states[self.number(vreg)];
                    state.loads |= is_written;
                    state.stores |= !is_written;
                }
            }
            InFlight::Fence => states.iter_mut().for_each(|state| state.is_unfenced = false),
            InFlight::Commit => {
                for age in states.iter_mut().flat_map(|state| [&mut state.written, &mut state.read]) {
                    *age -= u8::from(*age > 1);
                }
            }
            InFlight::GroupWait => {
                let pending = match self.function.operands_of(inst).first().map(|operand| operand.kind()) {
                    Some(OperandKind::Int(pending)) => u8::try_from(pending).unwrap_or(u8::MAX),
                    _ => u8::MAX,
                };
                // What `k` commits have followed is done when fewer than `k` groups are pending.
                let done = YOUNGEST.saturating_sub(pending.saturating_add(1));
                for age in states.iter_mut().flat_map(|state| [&mut state.written, &mut state.read]) {
                    *age = if *age <= done { 0 } else { *age };
                }
            }
            InFlight::LoadWait => states.iter_mut().for_each(|state| state.loads = false),
            InFlight::StoreWait => states.iter_mut().for_each(|state| state.stores = false),
        }
    }

    fn ordinary_accesses(&mut self, inst: InstId, states: &mut [State]) {
        for operand in self.function.operands_of(inst) {
            let Some(vreg) = operand.vreg() else { continue };
            let Some(number) = self.tracked[vreg.index()] else { continue };
            let state = &mut states[number as usize];
            if let Some(what) = state.touch(operand.is_definition()) {
                self.note(inst, vreg, what);
            }
            state.is_unfenced = true;
        }
    }

    fn group(&mut self, inst: InstId, states: &mut [State]) {
        let registers = in_flight(self.function, self.forms, inst);
        for (vreg, is_accumulator) in registers.clone() {
            if let Some(what) = states[self.number(vreg)].touch_of_group(is_accumulator) {
                self.note(inst, vreg, what);
            }
        }
        for (vreg, is_accumulator) in registers {
            let state = &mut states[self.number(vreg)];
            *(if is_accumulator { &mut state.written } else { &mut state.read }) = YOUNGEST;
        }
    }

    fn number(&self, vreg: VRegId) -> usize {
        self.tracked[vreg.index()].expect("whatever is left in flight is tracked") as usize
    }

    fn note(&mut self, inst: InstId, vreg: VRegId, what: &'static str) {
        if let Some(found) = &mut self.found {
            let offset = self.function.places[inst.index()].offset;
            found.push((inst, Touch { what, vreg, offset }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::kernel;

    const HEAD: &str = ".reg .f32 %f<5>; .reg .b32 %r<9>; .reg .b64 %d<3>; .reg .pred %p<2>;";
    const MMA: &str = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, \
                       {%r1, %r2, %r3, %r4}, %d1, 1, 1, 1, 0;";

    /// What is found in a kernel, as messages.
    fn found(body: &str) -> Vec<&'static str> {
        let built = kernel(&format!("{HEAD} {} ret;", body.replace("MMA;", MMA)));
        touches(&built.function(), &built.forms).into_iter().map(|(_, touch)| touch.what).collect()
    }

    const FENCE: &str = "wgmma.fence.sync.aligned;";
    const COMMIT: &str = "wgmma.commit_group.sync.aligned;";

    #[test]
    fn a_group_in_order_is_fine() {
        let body = format!(
            "mov.f32 %f1, 0f00000000; {FENCE} MMA; MMA; {COMMIT} wgmma.wait_group.sync.aligned 0; \
             st.global.f32 [g], %f1; mov.b32 %r1, 7;"
        );
        assert_eq!(found(&body), [""; 0]);
    }

    #[test]
    fn accumulators_are_left_alone_until_their_group_is_done() {
        let accessed = "is accessed while a group writes it";
        for access in ["st.global.f32 [g], %f2;", "mov.f32 %f2, 0f00000000;", "@%p1 mov.f32 %f3, %f2;"] {
            let between = format!("{FENCE} MMA; {access} {COMMIT} wgmma.wait_group.sync.aligned 0;");
            assert!(found(&between).iter().all(|what| *what == accessed), "{access}");
            assert!(!found(&between).is_empty(), "{access}");
            // A wait that lets this group pend, and one for a group that is not made.
            for wait in [
                format!("{COMMIT} wgmma.wait_group.sync.aligned 1;"),
                "wgmma.wait_group.sync.aligned 0;".into(),
            ] {
                assert!(
                    found(&format!("{FENCE} MMA; {wait} {access}")).contains(&accessed),
                    "{wait} {access}"
                );
            }
        }
        // Of two groups, the first is done when one may pend.
        let second = MMA.replace("%f1, %f2, %f3, %f4", "%f0, %f0, %f0, %f0");
        let two = format!("{FENCE} MMA; {COMMIT} {second} {COMMIT} wgmma.wait_group.sync.aligned 1;");
        assert_eq!(found(&format!("{two} st.global.f32 [g], %f1;")), [""; 0]);
        assert_eq!(found(&format!("{two} st.global.f32 [g], %f0;")), [accessed]);
    }

    #[test]
    fn inputs_are_not_written_until_their_group_is_done() {
        let read = format!("{FENCE} MMA; st.global.b32 [g], %r1; {COMMIT}");
        assert_eq!(found(&read), [""; 0]);
        let written = format!("{FENCE} MMA; mov.b32 %r4, 1; {COMMIT}");
        assert_eq!(found(&written), ["is written while a group reads it"]);
        // The descriptor is read when the instruction issues.
        assert_eq!(found(&format!("{FENCE} MMA; mov.b64 %d1, 1; {COMMIT}")), [""; 0]);
    }

    #[test]
    fn a_fence_stands_after_the_last_access() {
        let unfenced = "is used by a group without a fence after its last access";
        assert_eq!(found(&format!("{FENCE} mov.f32 %f1, 0f00000000; MMA; {COMMIT}")), [unfenced]);
        assert_eq!(found(&format!("{FENCE} mov.b32 %r2, 1; MMA; {COMMIT}")), [unfenced]);
    }

    #[test]
    fn paths_meet_with_the_youngest_use() {
        let accessed = "is accessed while a group writes it";
        let body = format!(
            "{FENCE} @%p1 bra SKIP; MMA; {COMMIT} SKIP: st.global.f32 [g], %f1; wgmma.wait_group.sync.aligned 0;"
        );
        assert_eq!(found(&body), [accessed]);
        let round = format!("ROUND: {FENCE} st.global.f32 [g], %f1; MMA; {COMMIT} @%p1 bra ROUND;");
        assert!(found(&round).contains(&accessed), "round the loop");
    }

    #[test]
    fn tensor_memory_is_waited_for() {
        let load = "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r2}, [%r5];";
        let store = "tcgen05.st.sync.aligned.32x32b.x2.b32 [%r5], {%r1, %r2};";
        let wait = |what: &str| format!("tcgen05.wait::{what}.sync.aligned;");
        let early = "is accessed before the load into it was waited for";
        assert_eq!(found(&format!("{load} st.global.b32 [g], %r1;")), [early]);
        assert_eq!(found(&format!("{load} {} st.global.b32 [g], %r1;", wait("ld"))), [""; 0]);
        assert_eq!(found(&format!("{load} {} st.global.b32 [g], %r2;", wait("st"))), [early]);
        let late = "is written before the store of it was waited for";
        assert_eq!(found(&format!("{store} mov.b32 %r2, 1;")), [late]);
        assert_eq!(
            found(&format!("{store} st.global.b32 [g], %r2; {} mov.b32 %r2, 1;", wait("st"))),
            [""; 0]
        );
    }

    /// What came in is no error; what a phase adds is.
    #[test]
    fn only_what_is_new_is_wrong() {
        let body = format!("{HEAD} {FENCE} {MMA} st.global.f32 [g], %f1; {COMMIT} mov.f32 %f0, %f0; ret;");
        let before = kernel(&body);
        assert_eq!(verify(&before.function(), &before.function(), &before.forms), Ok(()));
        let mut after = kernel(&body);
        // The copy that never touched the accumulator reads it now.
        let accumulator = after.vreg("%f", 2);
        let row = after.tables.inst_heads.len() - 2;
        let operands = after.tables.inst_operands[row].get_mut(2, &mut []);
        operands[1] = operands[1].with_vreg(accumulator);
        let found = verify(&after.function(), &before.function(), &after.forms).unwrap_err();
        assert_eq!(found, format!("bix0 i{row}: {accumulator:?} is accessed while a group writes it"));
    }
}
