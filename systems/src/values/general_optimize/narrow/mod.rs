//! Narrow arithmetic: what is known to fit in 32 bits, or of which no more is read, is computed in 32.
//!
//! Source phase  45 MidExpansion, in the place of its machine instructions (the sources give its name and place only)
//! Reads         Blocks, Insts, VRegs, Fact::ControlFlow
//! Writes        forms, operands, new rows
//! Needs         SSA form; control flow ends its block
//! Leaves        no division of 64 bits of which one of 32 is known to say the same, where the function has room for that; no two halves
//!               that are loaded, shifted and put together, and read nowhere else; no group of registers of 64 bits of which only
//!               lower halves are read, where 32 bits take fewer instructions
//! Breaks        liveness, uniformity, definitions, program order
//! Cost          a look at each head; where a division or an integer of 64 bits is computed, or halves are shifted, passes over all
//!               operands
//! Papers        none: what is known is that of general optimization
//! Checked by    check/ssa.rs, check/definitions.rs, check/operand_types.rs; division_tests.rs and low_half_tests.rs on the emulator; the judge
//!
//! Divisions come first: the lower halves that they take are read by nothing else, as a rule. A step after one that has changed something
//! looks at the heads again.

#[cfg(test)]
mod division_tests;
mod divisions;
mod loaded_halves;
#[cfg(test)]
mod low_half_tests;
mod low_halves;

use super::{Noted, Settings};
use crate::ssa::origins::{Origins, OriginsOf};
use bevy_ecs::prelude::*;
use divisions::Divisions;
use loaded_halves::LoadedHalves;
use low_halves::LowHalves;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::description::Description;
use ptxopt_components::form::shape;
use ptxopt_components::ids::{FormId, Id, InstId};
use ptxopt_components::operand::reads;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Qualifiers;
use ptxopt_components::types::PtxType;
use ptxopt_engine::edit::{Change, Editor, FunctionEditor};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::reaching::ReachingValues;

/// Phase 45.
pub const PHASE: Phase = Phase {
    name: "narrow",
    needs: &[Fact::ProgramOrder, Fact::ControlFlow],
    in_ssa: true,
    breaks: Fact::OF_INSTRUCTIONS_AND_ORDER,
    room_percent: 10,
    install: |slot| {
        slot.init_resource::<Origins>();
        slot.add(run);
    },
    ..Phase::NOTHING
};

/// Works on every function in SSA form.
pub fn run(
    mut editor: Editor,
    origins: Res<Origins>,
    mut values: ResMut<ReachingValues>,
    mut scratch: Local<Scratch>,
) {
    editor.each(CodeFlags::WORKED_ON_IN_SSA, |mut f| {
        let origins = origins.get(f.code()).unwrap_or(OriginsOf::NONE);
        // It ends early where the bisect limit is reached.
        let _ = narrow(&mut f, origins, &mut values, &mut scratch);
    });
}

/// Memory of the phase.
#[derive(Default)]
pub struct Scratch {
    noted: Noted,
    divisions: Divisions,
    loaded_halves: LoadedHalves,
    low_halves: LowHalves,
}

impl Scratch {
    /// Lists what the steps start from, in one pass over the heads.
    fn find(&mut self, f: &FunctionEditor<'_>) {
        let (function, forms) = f.view_and_forms();
        self.divisions.start();
        self.loaded_halves.start();
        self.low_halves.start();
        for (at, head) in function.heads.iter().enumerate().filter(|(_, head)| head.is_live()) {
            let (inst, form) = (InstId::new(at), forms.get(head.form));
            self.divisions.look_at(inst, form);
            self.loaded_halves.look_at(&function, inst, form);
            self.low_halves.look_at(&function, inst, form);
        }
    }
}

fn narrow(
    f: &mut FunctionEditor<'_>,
    origins: &OriginsOf,
    values: &mut ReachingValues,
    scratch: &mut Scratch,
) -> Option<()> {
    let settings = Settings::default();
    scratch.find(f);
    if scratch.divisions.has_some() {
        let reaching = values.of(f);
        let mut walk = scratch.noted.walk(f, reaching, origins, settings);
        if walk.narrow_divisions(&mut scratch.divisions)? {
            scratch.find(f);
        }
    }
    if scratch.loaded_halves.has_some() {
        let reaching = values.of(f);
        let mut walk = scratch.noted.walk(f, reaching, origins, settings);
        if walk.pack_loaded_halves(&mut scratch.loaded_halves)? {
            scratch.find(f);
        }
    }
    if scratch.low_halves.has_some() {
        let reaching = values.of(f);
        let mut walk = scratch.noted.walk(f, reaching, origins, settings);
        walk.compute_low_halves(&mut scratch.low_halves)?;
    }
    Some(())
}

/// Counts by register how often it is read.
fn count_reads(function: &FunctionView<'_>, counts: &mut Vec<u32>) {
    counts.clear();
    counts.resize(function.vregs.len(), 0);
    for (_, _, operands) in function.rows() {
        reads(operands).for_each(|vreg| counts[vreg.index()] += 1);
    }
}

/// A form without qualifiers that takes registers.
fn form(change: &mut Change<'_, '_>, operation: Operation, types: &[PtxType], count: usize) -> FormId {
    let description = Description::new(operation, Qualifiers::default(), types);
    change.forms().build(&description, shape::plain(count)).expect("all integers have it")
}
