//! Def-use: who defines and who reads each register.
//!
//! Source phase  none of its own: the source keeps the lists in its registers (copy-prop-and-cse)
//! Reads         Insts
//! Writes        DefUses
//! Needs         nothing
//! Leaves        Fact::DefUse
//! Breaks        nothing
//! Cost          one pass over the operands; a comparison where the fact holds
//! Checked by    check/def_use.rs
//!
//! The lists are [`ptxopt_engine::values::def_use`]. The editor keeps them true while a phase that needs them changes a
//! function, so a chain of such phases builds them once. New instruction ids end them.

use ptxopt_engine::edit::Editor;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;

/// What gives [`Fact::DefUse`].
pub const ANALYSIS: Phase = Phase {
    name: "def_use",
    gives: &[Fact::DefUse],
    install: |slot| slot.add(|mut editor: Editor| editor.build_def_use()),
    ..Phase::NOTHING
};
