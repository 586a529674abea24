//! Which candidates are worth a register.
//!
//! A candidate is a *root* if something reads it in its loop that stays there. Moving a root moves what it is computed from, and
//! takes as many registers as its results, less those of operands that nothing else reads: in
//! ```text
//! shl.b32 r2, r1, 2;  add.s32 r3, r2, 64;  add.s32 r4, r3, i;
//! ```
//! `r3` is a root and lives in the loop instead of `r1`, if nothing else reads that. A root that takes none always moves. What the
//! assembler would not hoist moves as long as the pressure stays below [`Settings::pressure_costly`], and the
//! others below [`Settings::pressure`]: pressure is the highest of the outermost loop, with what was moved before.
//!
//! What is read after the loop only stays: in the loop it takes no register.

use super::Settings;
use super::candidates::{Candidates, Look};
use super::costs::{Cost, Slots, is_made_again};
use ptxopt_components::ids::{Id, VRegId};
use ptxopt_components::operand::{reads, writes};
use ptxopt_components::operation::Operation;
use ptxopt_components::types::RegClass;
use ptxopt_engine::dataflow::liveness::LiveSet;
use ptxopt_engine::dataflow::pressure::{self, place_of};

/// Definitions that are looked through from a register to the constant or parameter of which it is a copy.
const COPIES_MAX: u32 = 4;

/// What is found out about a candidate.
#[derive(Clone, Copy, Default)]
struct Row {
    /// Something that stays in the loop reads it.
    is_root: bool,
    /// It moves.
    is_chosen: bool,
    /// The registers that its operands give back.
    given: Slots,
    /// What it costs with all that it is computed from.
    cost: Cost,
}

/// The choice.
#[derive(Default)]
pub(super) struct Choice {
    rows: Vec<Row>,
    /// By register: how often it is read, in the whole function.
    read_counts: Vec<u32>,
    /// By outermost loop: the registers that live where most do, with what is chosen. Empty until it is asked.
    pressure: Vec<Slots>,
    open: Vec<usize>,
    measured: pressure::Pressure,
    /// Candidates for which there was no register.
    pub(super) refused: Vec<usize>,
}

impl Choice {
    /// Whether candidate number `number` moves.
    pub(super) fn takes(&self, number: usize) -> bool {
        self.rows[number].is_chosen
    }

    /// Chooses among `candidates`. `live_set` gives the live sets of the function, which few functions need.
    pub(super) fn choose<'s>(
        &mut self,
        look: Look<'_>,
        settings: Settings,
        candidates: &Candidates,
        live_set: impl FnOnce() -> &'s LiveSet,
    ) {
        self.refused.clear();
        self.pressure.clear();
        self.rows.clear();
        self.rows.resize(candidates.all.len(), Row::default());
        if candidates.all.is_empty() {
            return;
        }
        self.find_roots(look, candidates);
        for number in 0..candidates.all.len() {
            self.sum_up(look, candidates, number);
        }
        let mut live_set = Some(live_set);
        for wanted in [Cost::Many, Cost::One] {
            for number in 0..candidates.all.len() {
                let row = self.rows[number];
                if !row.is_root || row.is_chosen || row.cost != wanted {
                    continue;
                }
                let mut taken = self.slots_of(look, candidates, number);
                taken.sub(row.given);
                if !taken.is_free() {
                    if let Some(live_set) = live_set.take() {
                        self.measure(look, live_set());
                    }
                    if !self.has_room(look, settings, candidates, number, taken) {
                        continue;
                    }
                }
                self.take(look, candidates, number);
            }
        }
        let is_refused = |row: &Row| row.is_root && !row.is_chosen && row.cost != Cost::Nothing;
        self.refused.extend((0..self.rows.len()).filter(|&number| is_refused(&self.rows[number])));
    }

    /// Finds what reads candidates.
    fn find_roots(&mut self, look: Look<'_>, candidates: &Candidates) {
        let Look { function, nest, reaching, .. } = look;
        self.read_counts.clear();
        self.read_counts.resize(function.vregs.len(), 0);
        for (inst, head, operands) in function.rows() {
            for vreg in reads(operands) {
                self.read_counts[vreg.index()] += 1;
                let Some(number) = candidates.of_vreg(reaching, vreg) else { continue };
                let target = candidates.all[number].target;
                let moves_along =
                    candidates.number_of(inst).is_some_and(|reader| candidates.all[reader].target == target);
                self.rows[number].is_root |= !moves_along && nest.holds(target, head.block);
            }
        }
    }

    /// Adds up what a candidate is computed from; its operands were before it.
    fn sum_up(&mut self, look: Look<'_>, candidates: &Candidates, number: usize) {
        let candidate = candidates.all[number];
        let (mut given, mut cost) = (Slots::default(), candidate.cost);
        for vreg in reads(look.function.operands_of(candidate.inst)) {
            let from = candidates
                .of_vreg(look.reaching, vreg)
                .filter(|&from| candidates.all[from].target == candidate.target);
            let is_read_once = self.read_counts[vreg.index()] == 1;
            match from.map(|from| self.rows[from]) {
                Some(row) if !row.is_root => {
                    cost = cost.max(row.cost);
                    if is_read_once {
                        given.add(row.given);
                    }
                }
                Some(_) => {}
                None if is_read_once => given.add(self.slots_of_outside(look, vreg)),
                None => {}
            }
        }
        self.rows[number] = Row { given, cost, ..self.rows[number] };
    }

    /// What a register takes that is written outside of the loop and read in it: nothing where it is a constant or a parameter,
    /// or a copy of one.
    fn slots_of_outside(&self, look: Look<'_>, vreg: VRegId) -> Slots {
        let Look { function, forms, reaching, .. } = look;
        let mut held = vreg;
        for _ in 0..COPIES_MAX {
            let Some(inst) = reaching.only_definition(held) else { break };
            let (form, operands) = (forms.get(function.heads[inst.index()].form), function.operands_of(inst));
            if is_made_again(form, operands) {
                return Slots::default();
            }
            let is_copy = matches!(form.operation, Operation::Mov | Operation::Cvta | Operation::CvtaTo);
            let mut sources = reads(operands);
            match (sources.next(), sources.next()) {
                (Some(source), None) if is_copy => held = source,
                _ => break,
            }
        }
        Slots::of(&function.vregs[vreg.index()])
    }

    /// What the results of a candidate take.
    fn slots_of(&self, look: Look<'_>, candidates: &Candidates, number: usize) -> Slots {
        let (function, inst) = (look.function, candidates.all[number].inst);
        let operands = function.operands_of(inst);
        let mut slots = Slots::default();
        if !is_made_again(look.forms.get(function.heads[inst.index()].form), operands) {
            writes(operands).for_each(|vreg| slots.add(Slots::of(&function.vregs[vreg.index()])));
        }
        slots
    }

    /// Finds the highest pressure of each outermost loop.
    fn measure(&mut self, look: Look<'_>, set: &LiveSet) {
        let Look { function, forms, nest, levels, .. } = look;
        self.measured.build(function, forms, set);
        self.pressure.resize(nest.rows().len(), Slots::default());
        for (inst, head, _) in function.rows() {
            let Some(id) = nest.loop_of(head.block) else { continue };
            let before = self.measured.before(function, inst);
            let pressure = &mut self.pressure[levels.outermost(id).index()];
            let slots_of = |class: RegClass| before[place_of(class)].slots as i32;
            pressure.registers = pressure.registers.max(slots_of(RegClass::R));
            pressure.predicates = pressure.predicates.max(slots_of(RegClass::P));
        }
    }

    /// Whether the loop of a candidate has the registers that it takes; they are its own from then on.
    fn has_room(
        &mut self,
        look: Look<'_>,
        settings: Settings,
        candidates: &Candidates,
        number: usize,
        taken: Slots,
    ) -> bool {
        let limit = match self.rows[number].cost {
            Cost::Many => settings.pressure_costly,
            _ => settings.pressure,
        };
        let pressure = &mut self.pressure[look.levels.outermost(candidates.all[number].target).index()];
        let has_registers = taken.registers <= 0 || pressure.registers + taken.registers <= limit as i32;
        let has_predicates =
            taken.predicates <= 0 || pressure.predicates + taken.predicates <= settings.predicates as i32;
        if has_registers && has_predicates {
            pressure.add(taken);
        }
        has_registers && has_predicates
    }

    /// Takes a root with all that it is computed from.
    fn take(&mut self, look: Look<'_>, candidates: &Candidates, number: usize) {
        self.open.push(number);
        while let Some(number) = self.open.pop() {
            if std::mem::replace(&mut self.rows[number].is_chosen, true) {
                continue;
            }
            let operands = look.function.operands_of(candidates.all[number].inst);
            self.open.extend(reads(operands).filter_map(|vreg| candidates.of_vreg(look.reaching, vreg)));
        }
    }
}
