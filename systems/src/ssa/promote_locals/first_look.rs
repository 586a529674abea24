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
