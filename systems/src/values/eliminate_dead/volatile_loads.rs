//! Volatile loads of which nothing reads a result: where a register of theirs is written again, they get one of their own.
//!
//! ```text
//! ld.volatile.global.u32 r1, [p];      // r3
//! add.u32 r2, r1, 1;                   // dead
//! ld.volatile.global.u32 r1, [p+4];
//! st.global.u32 [q], r1;
//! ```
//! To the ISA that is the same. But `ptxas` 13.0, asked for sm_90 from -O0 to -O3, makes nothing of a volatile load that nothing reads, nor of one
//! with `.mmio`, if its register is written again; and it keeps one that a dead instruction reads. So the load would go with the
//! instruction. It does the same with relaxed and acquiring loads, which need not be done where nobody asks for what they find.

use super::Needs;
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::instruction::{InstHead, Marks};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Modifiers, Ordering};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::reaching::Reaching;

/// Lists instruction and position of the results of volatile loads of which nothing reads a result.
pub(super) fn find_unread_loads(
    function: &FunctionView<'_>,
    forms: &FormTable,
    needs: &Needs,
    reaching: &Reaching,
    unread: &mut Vec<(InstId, usize)>,
) {
    unread.clear();
    let is_volatile = |&(_, head): &(usize, &_)| is_volatile_load(head, forms);
    for (inst, _) in function.heads.iter().enumerate().filter(is_volatile) {
        let inst = InstId::new(inst);
        let operands = function.operands_of(inst).iter().enumerate();
        let results = operands.filter(|(_, operand)| operand.is_definition());
        let mut vregs = results.clone().filter_map(|(_, operand)| operand.vreg());
        if !vregs.any(|vreg| needs.reads_result(reaching, inst, vreg)) {
            unread.extend(results.map(|(position, _)| (inst, position)));
        }
    }
}

/// Whether a register has several definitions, and may be another one.
pub(super) fn is_shared(function: &FunctionView<'_>, reaching: &Reaching, vreg: VRegId) -> bool {
    reaching.definitions().of(vreg).len() > 1 && function.vregs[vreg.index()].is_own_scalar()
}

fn is_volatile_load(head: &InstHead, forms: &FormTable) -> bool {
    let may_be = head.is_live() && head.marks.contains(Marks::KEPT | Marks::PINNED);
    may_be && {
        let description = forms.describe(head.form);
        let qualifiers = &description.qualifiers;
        let is_volatile =
            qualifiers.ordering == Some(Ordering::Volatile) || qualifiers.modifiers.contains(Modifiers::MMIO);
        description.operation == Operation::Ld && is_volatile
    }
}
