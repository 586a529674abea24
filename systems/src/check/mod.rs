//! Verifiers: one invariant a file, run after each step when asked for.
//!
//! A fast verifier is a pass over the tables, at most with a sort of the edges. A full one computes the same thing
//! again in the slow, obvious way. Each is a pure function from a function's rows to a [`Verdict`], and a small system
//! around it.
//!
//! # Cost
//! Nanoseconds an instruction in a release build over 12,452 functions of the corpus and the wild set, the quieter of
//! two runs on a busy two-core machine: `rows` 20, `forms` 26, `edges` 6, `tables` 2, `control_flow` 2,
//! `async_registers` 2, `liveness` 34; `control_flow_full` 30, `liveness_full` 200. The functions were as read, where
//! `terminators` has nothing to look at. `operand_types` and `uniformity` were not measured alone. Those that compare with the
//! function as read (`in_flight`, `call_sequences`, `anchors`) cost nothing where no copy of it is kept.
//!
//! That is what they take where they look. In a shard [`first_look`] looks in place of most of them, and they only where it
//! sees something. They run when they are asked for. At the end of every other pipeline [`inspection`] looks at what has
//! changed since the functions were read; `docs/PERFORMANCE.md` says what that takes.
//!
//! # Order
//! A verifier trusts what those before it in [`ALL`] have established, and skips a function in which one of them has
//! found something: `edges` follows block ids that `rows` has seen to be in range.

pub mod anchors;
pub mod async_registers;
pub mod breaks;
pub mod call_sequences;
pub mod control_flow;
pub mod control_flow_full;
pub mod dead_code;
pub mod def_use;
pub mod definitions;
pub mod edges;
pub mod first_look;
pub mod forms;
pub mod in_flight;
pub mod inspection;
pub mod liveness;
pub mod liveness_full;
pub mod operand_types;
pub mod rows;
pub mod ssa;
pub mod structure;
pub mod tables;
pub mod terminators;
pub mod uniformity;
pub mod uniformity_full;

#[cfg(test)]
mod heard;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
pub(crate) mod tests;
#[cfg(test)]
pub(crate) mod updates;

use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, CodeId, Id, InstId};
use ptxopt_engine::run::log::Violations;
use ptxopt_engine::run::phase::Check;
use ptxopt_engine::store::columns::Code;
use ptxopt_engine::store::view::FunctionView;

/// Every verifier, those first on which others rely.
pub const ALL: &[Check] = &[
    rows::CHECK,
    first_look::CHECK,
    forms::CHECK,
    operand_types::CHECK,
    edges::CHECK,
    terminators::CHECK,
    tables::CHECK,
    async_registers::CHECK,
    in_flight::CHECK,
    call_sequences::CHECK,
    anchors::CHECK,
    control_flow::CHECK,
    control_flow_full::CHECK,
    liveness::CHECK,
    liveness_full::CHECK,
    uniformity::CHECK,
    uniformity_full::CHECK,
    ssa::CHECK,
    structure::CHECK,
    dead_code::CHECK,
    def_use::CHECK,
    definitions::CHECK,
    breaks::CHECK,
    inspection::CHECK,
];

/// What a verifier says of a function: the first thing that is wrong, with its block and its row.
pub type Verdict = Result<(), String>;

/// Asks `verify` about each function that phases work on and in which no earlier verifier found anything.
fn each_function(
    code: &Code<'_, '_>,
    name: &'static str,
    violations: &mut Violations,
    mut verify: impl FnMut(&FunctionView<'_>) -> Verdict,
) {
    let view = code.view();
    for id in (0..view.code_spans.len()).map(CodeId::new) {
        let is_left = view.code_states[id.index()].flags.contains(CodeFlags::LEFT);
        if is_left || violations.all.iter().any(|(code, ..)| *code == id) {
            continue;
        }
        if let Err(what) = verify(&view.function(id)) {
            violations.all.push((id, name, what));
        }
    }
}

/// Asks `verify` about each instruction of a function, and says where the first one is with which something is wrong.
fn each_inst(function: &FunctionView<'_>, mut verify: impl FnMut(InstId) -> Verdict) -> Verdict {
    for block in function.block_ids() {
        for inst in function.insts_of(block) {
            verify(inst).or_else(|what| wrong_at(block, inst.index(), what))?;
        }
    }
    Ok(())
}

/// Fails with a message that starts with the place: a block and an instruction row of it.
fn wrong_at(block: BlockId, row: usize, what: impl std::fmt::Display) -> Verdict {
    Err(format!("{block:?} i{row}: {what}"))
}

/// Fails with a message that starts with a block.
fn wrong_in(block: BlockId, what: impl std::fmt::Display) -> Verdict {
    Err(format!("{block:?}: {what}"))
}
