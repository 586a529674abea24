//! The editor: the only way in which phases change code.
//!
//! ```text
//! let mut f = editor.edit(code);                       // slices that end with the function
//! let Some(mut change) = f.change(inst, "why") else { return };  // one remark, one unit of fuel
//! let copy = change.insert_before(inst, mov, &[to, from]);
//! change.set_operand(inst, 1, to);                     // visible at once, def-use kept true
//! ```
//!
//! A [`Change`] is what the bisect limit counts: all that is done with it is one change. Its calls cannot be refused, so a
//! phase never has to take half of a rewrite back.
//!
//! # What an edit costs
//! Instruction ids are stable while phases run. A function has room after its rows; a new instruction takes the next free
//! row. A block that gets or loses a row in its middle is *chained*: its rows are linked to one another from then on, and
//! all other blocks are still walked as slices. Rows are made dense again by [`compact`], and only those of functions that
//! changed. Blocks are linked in the order of the text while a function is edited, and settled when the phase lets
//! go of it: numbered in that order, with their edges built again.
//!
//! # Undo
//! What is overwritten goes to the [`Journal`], so a phase can be undone for one function.

pub mod compact;
pub mod function;
mod graph;
pub mod journal;
mod phis;
mod plain;
mod rows;
mod session;
mod settle;

#[cfg(test)]
mod tests;

pub use compact::{CompactScratch, Wear, compact as compact_rows};
pub use function::{CodeColumns, FunctionRows};
pub use journal::Journal;
pub use phis::AfterPhis;
pub use plain::PlainEditor;
pub use rows::accepts;
pub use session::{Change, FunctionEditor, SessionScratch};

use crate::forms::FormTable;
use crate::run::facts::Fact;
use crate::run::fuel::Fuel;
use crate::run::log::{Remarks, StepLog};
use crate::store::columns::CodeMut;
use crate::store::view::CodeView;
use crate::values::def_use::DefUses;
use bevy_ecs::prelude::*;
use bevy_ecs::system::SystemParam;
use ptxopt_components::code_object::{CodeFlags, Room};
use ptxopt_components::ids::{CodeId, Id};

/// Room that a function has for every change. A change that may take more asks for it
/// ([`FunctionEditor::change_with_room`]).
pub const ROOM_OF_A_CHANGE: Room = Room { insts: 8, blocks: 2, vregs: 8 };

/// Changes the functions of a batch.
#[derive(SystemParam)]
pub struct Editor<'w, 's> {
    code: CodeMut<'w, 's>,
    forms: ResMut<'w, FormTable>,
    fuel: ResMut<'w, Fuel>,
    remarks: ResMut<'w, Remarks>,
    log: ResMut<'w, StepLog>,
    journal: ResMut<'w, Journal>,
    def_uses: ResMut<'w, DefUses>,
    scratch: Local<'s, SessionScratch>,
}

impl Editor<'_, '_> {
    /// Every column of the batch, to be read.
    #[must_use]
    pub fn view(&mut self) -> CodeView<'_> {
        self.code.columns().into_view()
    }

    /// Opens a function for reading and changing. It is settled when the editor of it is dropped.
    pub fn edit(&mut self, code: CodeId) -> FunctionEditor<'_> {
        let Self { code: columns, forms, fuel, remarks, log, journal, def_uses, scratch } = self;
        let rows = columns.columns().function(code);
        let tools = session::Tools { forms, fuel, remarks, log, journal };
        open(rows, tools, def_uses, scratch)
    }

    /// Opens, one after the other, the functions that a phase works on: those that are not passed through and have `flags`.
    pub fn each(&mut self, flags: CodeFlags, mut work: impl FnMut(FunctionEditor<'_>)) {
        let Self { code: columns, forms, fuel, remarks, log, journal, def_uses, scratch } = self;
        // Once for all functions: fetching the columns costs as much as a walk over some twenty instructions.
        let mut columns = columns.columns();
        for code in (0..columns.code_states.len()).map(CodeId::new) {
            let has = columns.code_states[code.index()].flags;
            if has.contains(flags) && !has.contains(CodeFlags::LEFT) {
                let rows = columns.reborrow().function(code);
                let tools = session::Tools { forms, fuel, remarks, log, journal };
                work(open(rows, tools, def_uses, scratch));
            }
        }
    }

    /// Opens the functions for which `fact` does not hold, so that `compute` computes it.
    pub fn each_without(&mut self, fact: Fact, mut compute: impl FnMut(&FunctionEditor<'_>)) {
        self.each(CodeFlags::TERMINATORS_LAST, |mut f| {
            if !f.fact_holds(fact) {
                compute(&f);
                f.fact_computed(fact);
                f.stats().facts_computed += 1;
            }
        });
    }

    /// Builds def-use of every function for which it does not hold.
    pub fn build_def_use(&mut self) {
        let mut columns = self.code.columns();
        for code in (0..columns.code_states.len()).map(CodeId::new) {
            let rows = columns.reborrow().function(code);
            if !rows.facts.holds(Fact::DefUse, rows.state) && !rows.state.flags.contains(CodeFlags::LEFT) {
                self.def_uses.of(rows.code).build(&rows.view());
                rows.facts.computed(Fact::DefUse, rows.state);
                self.log.current().facts_computed += 1;
            }
        }
    }

    /// Makes the rows of functions dense and puts them in program order, where `wants` says so.
    ///
    /// # Panics
    /// When the step has changed something already: undoing it would take the old ids for the new ones.
    pub fn compact(&mut self, wants: impl Fn(&Wear) -> bool, scratch: &mut CompactScratch) {
        assert!(self.journal.is_empty(), "the step has changed something already");
        let mut columns = self.code.columns();
        for code in (0..columns.code_states.len()).map(CodeId::new) {
            compact_rows(columns.reborrow().function(code), &wants, scratch);
        }
    }
}

/// Opens the function with these rows.
fn open<'a>(
    rows: FunctionRows<'a>,
    tools: session::Tools<'a>,
    def_uses: &'a mut DefUses,
    scratch: &'a mut SessionScratch,
) -> FunctionEditor<'a> {
    let def_use = rows.facts.holds(Fact::DefUse, rows.state).then(|| def_uses.of(rows.code));
    FunctionEditor::new(rows, tools, def_use, scratch)
}
