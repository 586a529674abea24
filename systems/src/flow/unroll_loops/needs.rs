//! Needs: the loops that change what is added to the address of a local array.
//!
//! ```text
//! mov.b32 %r1, %i;               // %i is written before the loop and in it: the loop is needed
//! cvt.u64.u32 %rd1, %r1;
//! shl.b64 %rd2, %rd1, 2;
//! add.s64 %rd3, %frame, %rd2;
//! st.local.b32 [%rd3], %r2;
//! ```

use super::Function;
use crate::ssa::promote_locals::numbers::SHARED;
use ptxopt_components::form::Role;
use ptxopt_components::ids::{Id, InstId, LoopId, VRegId};
use ptxopt_components::operand::{OperandKind, reads};
use std::collections::BTreeSet;

/// Instructions that are looked at for one access: an index is made by a few.
const LOOKS_MAX: usize = 32;

const UNKNOWN: &str = "an index of a local array is no number of rounds";

/// Adds the loops that the address of an access depends on.
///
/// # Errors
/// Where it depends on what no unrolling makes constant.
pub(super) fn loops_of(
    function: &Function<'_>,
    access: InstId,
    wanted: &mut BTreeSet<LoopId>,
) -> Result<(), &'static str> {
    let Function { view, forms, sources, nest, tracer } = *function;
    let head = &view.heads[access.index()];
    let slots = forms.slots(head.form);
    let address = view.operands_of(access).iter().zip(slots).find(|(_, slot)| slot.role == Role::Address);
    let address = address.and_then(|(operand, _)| operand.vreg()).ok_or(UNKNOWN)?;
    let mut open: Vec<(VRegId, InstId)> = vec![(address, access)];
    let mut looks_left = LOOKS_MAX;
    while let Some((vreg, at)) = open.pop() {
        looks_left = looks_left.checked_sub(1).ok_or(UNKNOWN)?;
        if tracer.address_in(vreg).is_some_and(|address| address.offset.value().is_some()) {
            continue;
        }
        if view.vregs[vreg.index()].flags.intersects(SHARED) {
            return Err(UNKNOWN);
        }
        match sources.def_use.only_def(vreg).filter(|def| sources.is_before(def.inst, at)) {
            Some(def) => {
                let head = &view.heads[def.inst.index()];
                let is_known = forms.get(head.form).is_pure() && !head.opcode.is_guarded();
                let operands = view.operands_of(def.inst);
                let is_special =
                    operands.iter().any(|operand| matches!(operand.kind(), OperandKind::Special(_)));
                if !is_known || is_special {
                    return Err(UNKNOWN);
                }
                open.extend(reads(operands).map(|vreg| (vreg, def.inst)));
            }
            // Written in another round, or by several instructions.
            None => {
                let mut around = nest.loop_of(view.heads[at.index()].block);
                let is_written_in = |id: LoopId| {
                    let mut defs = sources.def_use.defs(vreg);
                    defs.any(|def| nest.holds(id, view.heads[def.inst.index()].block))
                };
                while let Some(id) = around.filter(|&id| !is_written_in(id)) {
                    around = nest.row(id).parent.get();
                }
                wanted.insert(around.ok_or(UNKNOWN)?);
            }
        }
    }
    Ok(())
}
