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
use ahash::AHashMap;
use ptxopt_components::form::Role;
use ptxopt_components::ids::{Id, InstId, LoopId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind, reads};
use ptxopt_components::vreg::VRegFlags;
use std::collections::BTreeSet;

/// Instructions that are looked at for one access: an index is made by a few.
const LOOKS_MAX: usize = 32;

/// Loops around an access that are looked at for one register.
const DEPTH_MAX: usize = 16;

const UNKNOWN: &str = "an index of a local array is no number of rounds";

/// What accesses need, asked one by one.
pub(super) struct Needs<'a> {
    function: Function<'a>,
    /// By register that was asked for: the innermost loops in which it is written, sorted.
    written_in: AHashMap<VRegId, Vec<LoopId>>,
}

impl<'a> Needs<'a> {
    pub(super) fn new(function: Function<'a>) -> Self {
        Self { function, written_in: AHashMap::default() }
    }

    /// Adds the loops that the address of an access depends on.
    ///
    /// # Errors
    /// Where it depends on what no unrolling makes constant.
    pub(super) fn add_loops_of(
        &mut self,
        access: InstId,
        wanted: &mut BTreeSet<LoopId>,
    ) -> Result<(), &'static str> {
        let Function { view, forms, sources, tracer, .. } = self.function;
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
            if view.vregs[vreg.index()].flags.intersects(VRegFlags::UNKNOWN_AT_START) {
                return Err(UNKNOWN);
            }
            match sources.def_use.only_def(vreg).filter(|def| sources.is_before(def.inst, at)) {
                Some(def) => {
                    let head = &view.heads[def.inst.index()];
                    let is_known = forms.get(head.form).is_pure() && !head.opcode.is_guarded();
                    let operands = view.operands_of(def.inst);
                    let is_special = |operand: &Operand| matches!(operand.kind(), OperandKind::Special(_));
                    if !is_known || operands.iter().any(is_special) {
                        return Err(UNKNOWN);
                    }
                    open.extend(reads(operands).map(|vreg| (vreg, def.inst)));
                }
                None => {
                    wanted.insert(self.loop_that_writes(vreg, at).ok_or(UNKNOWN)?);
                }
            }
        }
        Ok(())
    }

    /// The innermost loop around an instruction in which a register is written: in another round, or by several instructions.
    fn loop_that_writes(&mut self, vreg: VRegId, at: InstId) -> Option<LoopId> {
        let Function { view, sources, nest, .. } = self.function;
        let loop_around = |inst: InstId| nest.loop_of(view.heads[inst.index()].block);
        let written_in = self.written_in.entry(vreg).or_insert_with(|| {
            let mut all: Vec<LoopId> =
                sources.def_use.defs(vreg).filter_map(|def| loop_around(def.inst)).collect();
            all.sort_unstable();
            all
        });
        // Loops are numbered in a preorder: those inside one follow it.
        let writes = |&id: &LoopId| {
            let first = written_in.partition_point(|&inner| inner < id);
            written_in.get(first).is_some_and(|&inner| inner <= nest.row(id).last)
        };
        let around = std::iter::successors(loop_around(at), |&id| nest.row(id).parent.get());
        around.take(DEPTH_MAX).find(writes)
    }
}
