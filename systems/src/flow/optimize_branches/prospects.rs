//! Prospects: whether a guard or an index could be a constant at all.
//!
//! Most functions have none that is, and to find that out guard by guard takes lists of definitions and the dominator tree. One pass over
//! the text sees what a constant has to come from:
//! ```text
//! mov.pred p, 1;                       // a predicate
//! mov.u32 r, 7; setp.gt.u32 p, r, 3;   // or numbers that are compared
//! mov.u32 r, 2; brx.idx r, {A, B, C};
//! ```
//! A register counts as a constant from the first move of one to it on, so what a loop brings back to an earlier place is not
//! seen. It costs time where it sees too much, and a branch that stays where it sees too little.

use ptxopt_components::ids::Id;
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::store::view::FunctionView;

/// Whether some guard or index may be decided. `is_constant` is memory that is used again.
pub fn may_decide(function: &FunctionView<'_>, forms: &FormTable, is_constant: &mut Vec<bool>) -> bool {
    is_constant.clear();
    is_constant.resize(function.vregs.len(), false);
    for (_, head, operands) in function.rows() {
        let form = forms.get(head.form);
        let is_known = |operand: Operand| match operand.kind() {
            OperandKind::Int(_) | OperandKind::F32(_) | OperandKind::Literal(_) => true,
            OperandKind::Register { vreg, .. } => is_constant[vreg.index()],
            _ => false,
        };
        match form.operation {
            Operation::Mov => {
                let &[result, source] = operands else { continue };
                if !is_known(source) {
                    continue;
                }
                match result.kind() {
                    OperandKind::Predicate { .. } => return true,
                    OperandKind::Register { vreg, .. } => is_constant[vreg.index()] = true,
                    _ => {}
                }
            }
            Operation::Setp => {
                let sources = operands.get(form.first_source as usize..).unwrap_or_default();
                let &[one, other, ..] = sources else { continue };
                let is_same = one.vreg().is_some() && one.vreg() == other.vreg();
                if is_same || is_known(one) && is_known(other) {
                    return true;
                }
            }
            Operation::BrxIdx if operands.first().is_some_and(|&index| is_known(index)) => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::check::testing::kernel;

    fn may_decide(body: &str) -> bool {
        let registers = ".reg .b32 %r<9>; .reg .f32 %f; .reg .b64 %d<9>; .reg .pred %p<9>;";
        let built = kernel(&format!("{registers} {body} L: ret;"));
        // What the function before left: each of its registers was a constant.
        super::may_decide(&built.function(), &built.forms, &mut vec![true; 40])
    }

    #[test]
    fn constants_are_prospects() {
        assert!(may_decide("mov.pred %p1, 1; @%p1 bra L;"));
        assert!(may_decide("mov.u32 %r1, 7; mov.b32 %r2, %r1; setp.gt.u32 %p1, %r2, 3; @%p1 bra L;"));
        assert!(may_decide("mov.u32 %r1, 7; mov.u32 %r2, 8; setp.gt.u32 %p1|%p2, %r2, %r1; @%p1 bra L;"));
        assert!(may_decide("mov.f32 %f, 0f40490FDB; setp.gt.f32 %p1, %f, 0f3F800000; @%p1 bra L;"));
        assert!(may_decide("mov.u64 %d1, 0x123456789A; setp.gt.u64 %p1, %d1, 3; @%p1 bra L;"));
        assert!(may_decide("setp.ne.u32 %p1, %r1, %r1; @%p1 bra L;"));
        assert!(may_decide("mov.u32 %r1, 1; t: .branchtargets L, M; brx.idx %r1, t; M: ret;"));
    }

    #[test]
    fn what_is_read_or_computed_is_none() {
        assert!(!may_decide("setp.gt.u32 %p1, %r2, 3; @%p1 bra L;"));
        assert!(!may_decide("mov.u32 %r1, 7; setp.gt.u32 %p1, %r2, %r1; @%p1 bra L;"));
        assert!(!may_decide("setp.gt.u64 %p1, g, 3; @%p1 bra L;"));
        assert!(!may_decide("mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 3; mov.pred %p2, %p1; @%p2 bra L;"));
        assert!(!may_decide(
            "mov.u32 %r1, 1; add.u32 %r2, %r1, 1; t: .branchtargets L, M; brx.idx %r2, t; M: ret;"
        ));
    }
}
