//! A first look: whether every local variable escapes.
//!
//! In optimized code most do: their addresses go to calls, or are compared, or meet. One pass over the text tells, without lists of
//! definitions and uses, and with nothing known of numbers.
//! ```text
//! cvta.local.u64 %rd1, frame;      // %rd1 belongs to `frame`
//! add.u64 %rd2, %rd1, %rd9;        // and so does %rd2
//! st.param.u64 [arg], %rd2;        // `frame` escapes
//! ```
//! What it calls escaped the [tracer](super::addresses) does, too: a register that belongs to a variable either holds an address
//! of it, or what makes it hold one lets the variable escape. It misses what text order hides from it.

use ahash::AHashMap;
use ptxopt_components::form::Role;
use ptxopt_components::ids::{Id, NameId};
use ptxopt_components::operand::OperandKind;
use ptxopt_components::operation::Operation;
use ptxopt_components::types::StateSpace;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::store::view::FunctionView;

/// Memory that is used again for each function.
#[derive(Default)]
pub struct FirstLook {
    /// Numbers of the variables of the body.
    by_name: AHashMap<NameId, u32>,
    /// By register: one more than the number of the variable that it belongs to; zero for none.
    variable_of: Vec<u32>,
    /// By variable.
    escapes: Vec<bool>,
}

impl FirstLook {
    /// Whether all local variables of the function escape.
    pub fn all_escape(&mut self, view: &FunctionView<'_>, forms: &FormTable) -> bool {
        let Self { by_name, variable_of, escapes } = self;
        by_name.clear();
        variable_of.clear();
        variable_of.resize(view.vregs.len(), 0);
        escapes.clear();
        for decl in view.decls.iter().filter(|decl| decl.space == StateSpace::Local && decl.size > 0) {
            by_name.insert(decl.name, escapes.len() as u32);
            escapes.push(false);
        }
        let mut left = escapes.len();
        for (_, head, operands) in view.rows() {
            for (position, operand) in operands.iter().enumerate() {
                let variable = match operand.kind() {
                    OperandKind::Symbol(name) => by_name.get(&name).copied(),
                    _ if operand.is_definition() => None,
                    _ => operand.vreg().and_then(|vreg| variable_of[vreg.index()].checked_sub(1)),
                };
                let Some(variable) = variable else { continue };
                let form = forms.get(head.form);
                let is_traced = match forms.slots(head.form).get(position).map(|slot| slot.role) {
                    Some(Role::Address) => matches!(form.operation, Operation::Ld | Operation::St),
                    Some(Role::Use) if form.operation == Operation::St => form.space != StateSpace::Param,
                    Some(Role::Use) if makes_address(form.operation) => {
                        if let Some(vreg) = operands[0].vreg() {
                            variable_of[vreg.index()] = variable + 1;
                        }
                        true
                    }
                    _ => false,
                };
                if !is_traced && !std::mem::replace(&mut escapes[variable as usize], true) {
                    left -= 1;
                }
            }
        }
        left == 0
    }
}

/// Whether the result may be an address of the variable of which a source is one.
fn makes_address(operation: Operation) -> bool {
    use Operation::{Add, Cvta, CvtaTo, Mov, Or, Sub};
    matches!(operation, Mov | Cvta | CvtaTo | Add | Sub | Or)
}

#[cfg(test)]
mod tests {
    use super::super::addresses::Tracer;
    use super::*;
    use crate::check::testing::kernel;
    use ptxopt_engine::values::def_use::DefUse;

    const DECLARED: &str = ".local .align 8 .b8 a[64], b[64]; .reg .b64 %d<9>; .reg .b32 %r<9>; .reg .pred %p<2>; .param .b64 arg;";

    /// What was looked at before: `g` is a variable, too, and `%d4` belongs to `b`, which does not escape.
    const BEFORE: &str = ".local .b8 g[8]; mov.u64 %d1, a; setp.eq.s64 %p1, %d1, 0; mov.u64 %d4, b;";

    /// Whether all variables of a body escape, by the first look and by the tracer.
    fn escape(body: &str) -> (bool, bool) {
        let [before, built] = [BEFORE, body].map(|body| kernel(&format!("{DECLARED} {body} ret;")));
        let view = built.function();
        let mut def_use = DefUse::default();
        def_use.build(&view);
        let mut tracer = Tracer::default();
        tracer.trace(&view, &built.forms, &def_use).expect("nothing is copied");
        let all_traced = tracer.variables.iter().all(|variable| variable.escape.is_some());
        let mut look = FirstLook::default();
        assert!(!look.all_escape(&before.function(), &before.forms));
        (look.all_escape(&view, &built.forms), all_traced)
    }

    const BOTH: (bool, bool) = (true, true);

    #[test]
    fn addresses_that_go_elsewhere_escape() {
        let first = "mov.u64 %d1, a; mov.u64 %d2, b; cvta.local.u64 %d3, %d1; ";
        let others = [
            "st.param.b64 [arg], %d3; st.param.b64 [arg], %d2;",
            "add.s64 %d4, %d3, %d9x; setp.eq.s64 %p1, %d4, 0; selp.b64 %d5, %d2, 0, %p1;",
            "or.b64 %d4, %d1, 4; sub.s64 %d5, %d4, 8; mul.lo.s64 %d6, %d5, 3; shl.b64 %d7, %d2, 1;",
            "atom.local.add.u32 %r1, [%d1], 1; cvt.u32.u64 %r2, %d2;",
        ];
        for other in others {
            assert_eq!(escape(&format!("{first}{}", other.replace("%d9x", "%d8"))), BOTH, "{other}");
        }
    }

    #[test]
    fn accesses_and_stored_addresses_are_for_the_tracer() {
        let one_escapes = "mov.u64 %d1, a; mov.u64 %d2, b; setp.eq.s64 %p1, %d1, 0;";
        assert_eq!(escape(one_escapes), (false, false));
        // It escapes once, however often; and so does what is not of the function.
        assert_eq!(escape(&format!("{one_escapes} setp.ne.s64 %p1, %d1, 0;")), (false, false));
        let other = "mov.u64 %d1, b; mov.u64 %d2, g; st.param.b64 [arg], %d1; st.param.b64 [arg], %d2;";
        assert_eq!(escape(other), (false, false));
        assert_eq!(
            escape("mov.u64 %d1, a; ld.local.u32 %r1, [%d1+4]; st.local.u32 [b], %r1;"),
            (false, false)
        );
        assert_eq!(escape("mov.u64 %d1, a; st.local.u64 [b], %d1;"), (false, false));
        // What text order hides: the address comes to %d3 further down.
        let hidden = "setp.eq.s64 %p1, %d3, 0; mov.u64 %d3, a; setp.eq.s64 %p1, %d3, 0; bra L; L: \
                      setp.eq.s64 %p1, %d4, 0; mov.u64 %d4, b;";
        assert_eq!(escape(hidden), (false, true));
    }

    /// An address of one that is taken for one of the other is none of it: the first look may not say more than the tracer.
    #[test]
    fn a_register_of_two_variables_lets_both_escape() {
        let two = "mov.u64 %d1, a; @%p1 mov.u64 %d1, b; setp.eq.s64 %p1, %d1, 0;";
        assert!(escape(two).1);
    }
}
