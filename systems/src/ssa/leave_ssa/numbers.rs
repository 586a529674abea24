//! Which nodes hold a number that was moved into them, and nothing else: a copy of such a node can be a move of the number.

use super::webs::{Node, Webs};
use crate::ssa::moves::moved_as;
use ptxopt_components::form::Kinds;
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::instruction::InstHead;
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::types::{PtxType, TypeKind};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::store::view::FunctionView;

/// What was moved into nodes.
#[derive(Default)]
pub struct Numbers {
    /// By node.
    holders: Vec<Holder>,
    /// The nodes whose number was taken.
    taken: Vec<Node>,
}

/// What is known of a node.
#[derive(Clone, Copy, Default)]
struct Holder {
    moved: Moved,
    /// Something reads the node, and not the number.
    is_read: bool,
}

/// What defines a node.
#[derive(Clone, Copy, Default)]
enum Moved {
    /// Nothing, or a phi.
    #[default]
    Nothing,
    /// This instruction alone, which moves a number of this type.
    Number(InstId, Operand, PtxType),
    /// Another instruction, or several.
    Other,
}

impl Numbers {
    /// Finds what was moved into the nodes of pairs, where some of them is not called what the register of its phi is called:
    /// `names` has what each node is called.
    pub fn find(&mut self, function: &FunctionView<'_>, forms: &FormTable, webs: &Webs, names: &[VRegId]) {
        let Self { holders, taken } = self;
        holders.clear();
        taken.clear();
        let is_copied = |node: Node, phi: usize| names[node.index()] != names[webs.phis[phi].node.index()];
        let mut comings = webs.pairs.iter().filter_map(|pair| Some((pair.node?, pair.phi)));
        if !comings.clone().any(|(node, phi)| is_copied(node, phi)) {
            return;
        }
        holders.resize(webs.node_count(), Holder::default());
        for mention in &webs.mentions {
            let holder = &mut holders[mention.node.index()];
            holder.is_read |= !mention.is_definition;
            if mention.is_definition {
                let head = &function.heads[mention.inst.index()];
                let number = number_in(head, function.operands_of(mention.inst), forms);
                holder.moved = match (holder.moved, number) {
                    (Moved::Nothing, Some((number, ty))) => Moved::Number(mention.inst, number, ty),
                    _ => Moved::Other,
                };
            }
        }
        webs.phis.iter().for_each(|phi| holders[phi.result.index()].moved = Moved::Other);
        for (node, phi) in comings.by_ref() {
            holders[node.index()].is_read |= !is_copied(node, phi);
        }
    }

    /// Takes the number that a node holds, where a move to a register of type `ty` takes it as it is written.
    pub fn take(&mut self, node: Node, ty: PtxType) -> Option<Operand> {
        let holder = &mut self.holders[node.index()];
        let number = match holder.moved {
            Moved::Number(_, number, moved) => Some(number).filter(|_| is_written_alike(moved_as(ty), moved)),
            Moved::Nothing | Moved::Other => None,
        };
        holder.is_read |= number.is_none();
        if number.is_some() {
            self.taken.push(node);
        }
        number
    }

    /// The instructions that moved a number into a node that nothing reads any more.
    pub fn dead(&mut self) -> impl Iterator<Item = InstId> + '_ {
        self.taken.sort_unstable();
        self.taken.dedup();
        self.taken.iter().filter_map(|node| match self.holders[node.index()] {
            Holder { moved: Moved::Number(inst, ..), is_read: false } => Some(inst),
            _ => None,
        })
    }
}

/// Whether a number that is moved as one type is written the same where it is moved as another.
fn is_written_alike(ty: Option<PtxType>, moved: PtxType) -> bool {
    let is_integer = |ty: PtxType| matches!(ty.kind(), TypeKind::Bits | TypeKind::Integer);
    ty.is_some_and(|ty| ty == moved || is_integer(ty) && is_integer(moved) && ty.bits() == moved.bits())
}

/// The number that an instruction moves into a register, and the type of the move.
fn number_in(head: &InstHead, operands: &[Operand], forms: &FormTable) -> Option<(Operand, PtxType)> {
    let form = forms.get(head.form);
    let &[_, number] = operands else { return None };
    let is_move = form.operation == Operation::Mov && !head.opcode.is_guarded();
    let ty = form.types.first().copied().flatten()?;
    (is_move && number.kinds() == Kinds::NUMBER).then_some((number, ty))
}
