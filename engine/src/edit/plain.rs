//! Editing tables outside a World: what tests and benches do.

use super::function::FunctionRows;
use super::session::{FunctionEditor, SessionScratch, Tools};
use super::{CompactScratch, Journal, Wear, compact_rows};
use crate::forms::FormTable;
use crate::run::facts::Fact;
use crate::run::fuel::Fuel;
use crate::run::log::{Remarks, StepLog};
use crate::store::tables::CodeTables;
use crate::values::def_use::DefUses;
use ptxopt_components::ids::CodeId;

/// What edits of plain tables write to beside them.
pub struct PlainEditor {
    /// The bisect limit.
    pub fuel: Fuel,
    /// What was remarked.
    pub remarks: Remarks,
    /// Statistics of one step.
    pub log: StepLog,
    /// What was overwritten.
    pub journal: Journal,
    /// Def-use, where it holds.
    pub def_uses: DefUses,
    scratch: SessionScratch,
    compact: CompactScratch,
}

impl Default for PlainEditor {
    fn default() -> Self {
        Self {
            fuel: Fuel::new(None),
            remarks: Remarks::default(),
            log: StepLog::new(1, 1),
            journal: Journal::default(),
            def_uses: DefUses::default(),
            scratch: SessionScratch::default(),
            compact: CompactScratch::default(),
        }
    }
}

impl PlainEditor {
    /// Opens a function of `tables`, which have links: [`CodeTables::make_room`] gives them. It is settled when the editor of
    /// it is dropped.
    pub fn edit<'a>(
        &'a mut self,
        tables: &'a mut CodeTables,
        forms: &'a mut FormTable,
        code: CodeId,
    ) -> FunctionEditor<'a> {
        let Self { fuel, remarks, log, journal, def_uses, scratch, .. } = self;
        let rows: FunctionRows<'a> = tables.columns_mut().function(code);
        let tools = Tools { forms, fuel, remarks, log, journal };
        let def_use = rows.facts.holds(Fact::DefUse, rows.state).then(|| def_uses.of(code));
        FunctionEditor::new(rows, tools, def_use, scratch)
    }

    /// Computes def-use of a function, so that the next edit keeps it.
    pub fn analyze(&mut self, tables: &mut CodeTables, code: CodeId) {
        self.def_uses.of(code).build(&tables.view().function(code));
        let CodeTables { code_facts, code_states, .. } = tables;
        code_facts[code.0 as usize].computed(Fact::DefUse, &code_states[code.0 as usize]);
    }

    /// Undoes what was edited since the last [`Self::compact`]; says whether there was anything.
    pub fn undo(&mut self, tables: &mut CodeTables, code: CodeId) -> bool {
        self.journal.undo(code, tables.columns_mut())
    }

    /// Makes the rows of a function dense, where `wants` says so. What was edited before stands.
    pub fn compact(&mut self, tables: &mut CodeTables, code: CodeId, wants: impl Fn(&Wear) -> bool) {
        self.journal.clear();
        compact_rows(tables.columns_mut().function(code), wants, &mut self.compact);
    }
}
