//! Trees: instructions of one operation that read each other, in one block.

use ptxopt_components::form::{Form, FormFlags, Role};
use ptxopt_components::ids::{BlockId, FormId, Id, InstId, Span, VRegId};
use ptxopt_components::instruction::InstHead;
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Part;
use ptxopt_components::types::{PtxType, extend, truncate};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::reaching::Reaching;

/// What joins the leaves of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Sum,
    Product,
    And,
    Or,
    Xor,
}

impl Kind {
    /// What joins two values.
    pub(super) const fn operation(self) -> Operation {
        match self {
            Self::Sum => Operation::Add,
            Self::Product => Operation::Mul,
            Self::And => Operation::And,
            Self::Or => Operation::Or,
            Self::Xor => Operation::Xor,
        }
    }

    /// The constant that changes nothing.
    pub(super) const fn identity(self) -> u64 {
        match self {
            Self::Sum | Self::Or | Self::Xor => 0,
            Self::Product => 1,
            Self::And => u64::MAX,
        }
    }

    /// Two constants as one.
    pub(super) const fn join(self, one: u64, other: u64) -> u64 {
        match self {
            Self::Sum => one.wrapping_add(other),
            Self::Product => one.wrapping_mul(other),
            Self::And => one & other,
            Self::Or => one | other,
            Self::Xor => one ^ other,
        }
    }
}

/// What a leaf is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Value {
    /// A register of the function.
    Register(VRegId),
    /// The result of a planned instruction.
    Planned(u32),
}

impl Value {
    pub(super) fn register(self) -> Option<VRegId> {
        match self {
            Self::Register(vreg) => Some(vreg),
            Self::Planned(_) => None,
        }
    }
}

/// A leaf of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    pub value: Value,
    /// Of a sum: it is subtracted.
    pub is_negative: bool,
}

/// Instructions that compute one value of its leaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tree {
    pub root: InstId,
    pub block: BlockId,
    pub kind: Kind,
    pub ty: PtxType,
    /// In the order of the text.
    pub leaves: Span,
    /// Its instructions but for the root.
    pub inner: Span,
    /// All its constants joined.
    pub constant: u64,
    /// How many constants it has.
    pub constant_count: u32,
    /// Whether one of them stands in the root.
    pub has_constant_last: bool,
}

/// An instruction that may be part of a tree.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub kind: Kind,
    pub ty: PtxType,
    pub result: VRegId,
    /// The second one is subtracted.
    pub is_difference: bool,
    pub sources: [Source; 2],
}

/// What an instruction of a tree reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Register(VRegId),
    Constant(u64),
}

/// What the phase has to know of a form.
#[derive(Clone, Copy, Default)]
struct Meaning {
    /// What it joins, and whether the second one is subtracted.
    joins: Option<(Kind, bool, PtxType)>,
    /// It reads or writes memory.
    is_access: bool,
}

/// Who reads a register.
#[derive(Clone, Copy, Default)]
struct Reads {
    /// How often it is read, up to the largest number.
    count: u8,
    /// How often as an address.
    addresses: u8,
    /// Whether phis name it.
    is_in_phis: bool,
}

/// The trees of a function. Its memory is used again.
#[derive(Default)]
pub(super) struct Trees {
    meanings: Vec<Meaning>,
    reads: Vec<Reads>,
    /// By instruction: it is part of another one's tree.
    is_inner: Vec<bool>,
    /// In program order.
    pub(super) all: Vec<Tree>,
    pub(super) leaves: Vec<Leaf>,
    pub(super) inner: Vec<InstId>,
    stack: Vec<(Source, bool)>,
    /// Trees that have no more leaves because of the limit.
    pub(super) limit_hits: u64,
}

/// Leaves of a tree. Their pairs are looked up one by one.
const LEAVES_MAX: usize = 16;

impl Trees {
    /// Counts who reads each register, and says whether there may be a tree of more than one instruction.
    pub(super) fn count(&mut self, function: &FunctionView<'_>, forms: &FormTable) -> bool {
        for form in (self.meanings.len()..forms.len()).map(FormId::new) {
            self.meanings.push(meaning(forms, form));
        }
        self.reads.clear();
        self.reads.resize(function.vregs.len(), Reads::default());
        let mut node_count = 0;
        for (_, head, operands) in function.rows() {
            let meaning = self.meanings[head.form.index()];
            node_count += usize::from(meaning.joins.is_some());
            let is_phi = head.is_phi();
            for operand in operands {
                let Some(vreg) = operand.vreg() else { continue };
                let reads = &mut self.reads[vreg.index()];
                reads.count = reads.count.saturating_add(u8::from(operand.is_use()));
                reads.is_in_phis |= is_phi;
            }
            if meaning.is_access {
                for (slot, operand) in forms.slots(head.form).iter().zip(operands) {
                    if let Some(vreg) = operand.vreg().filter(|_| slot.role == Role::Address) {
                        let reads = &mut self.reads[vreg.index()];
                        reads.addresses = reads.addresses.saturating_add(1);
                    }
                }
            }
        }
        node_count > 1
    }

    /// Finds the trees of a function whose reads are counted.
    pub(super) fn find(&mut self, function: &FunctionView<'_>, forms: &FormTable, reaching: &Reaching) {
        debug_assert_eq!(self.meanings.len(), forms.len());
        self.all.clear();
        self.leaves.clear();
        self.inner.clear();
        self.limit_hits = 0;
        self.is_inner.clear();
        self.is_inner.resize(function.heads.len(), false);
        for &block in reaching.tree().preorder() {
            let first = self.all.len();
            for (inst, head, operands) in function.rows_of(block).rev() {
                if self.meanings[head.form.index()].joins.is_none() || self.is_inner[inst.index()] {
                    continue;
                }
                if let Some(node) = self.node_in(function, head, operands) {
                    self.grow(function, reaching, block, inst, node);
                }
            }
            self.all[first..].reverse();
        }
    }

    /// Grows the tree of a root.
    fn grow(
        &mut self,
        function: &FunctionView<'_>,
        reaching: &Reaching,
        block: BlockId,
        root: InstId,
        node: Node,
    ) {
        let (first_leaf, first_inner) = (self.leaves.len(), self.inner.len());
        let Node { kind, ty, .. } = node;
        let (mut constant, mut constant_count) = (kind.identity(), 0);
        let has_constant_last = node.sources.iter().any(|source| matches!(source, Source::Constant(_)));
        self.stack.clear();
        self.push(node, false);
        while let Some((source, is_negative)) = self.stack.pop() {
            match source {
                Source::Constant(bits) => {
                    let bits = if is_negative { bits.wrapping_neg() } else { bits };
                    constant = kind.join(constant, bits);
                    constant_count += 1;
                }
                Source::Register(vreg) => match self.inner_node(function, reaching, block, vreg, kind, ty) {
                    Some((inst, inner))
                        if self.leaves.len() - first_leaf + self.stack.len() + 2 <= LEAVES_MAX =>
                    {
                        self.is_inner[inst.index()] = true;
                        self.inner.push(inst);
                        self.push(inner, is_negative);
                    }
                    found => {
                        self.limit_hits += u64::from(found.is_some());
                        self.leaves.push(Leaf { value: Value::Register(vreg), is_negative });
                    }
                },
            }
        }
        self.all.push(Tree {
            root,
            block,
            kind,
            ty,
            leaves: Span::between(first_leaf, self.leaves.len()),
            inner: Span::between(first_inner, self.inner.len()),
            constant: truncate(constant, ty.bits()),
            constant_count,
            has_constant_last,
        });
    }

    fn push(&mut self, node: Node, is_negative: bool) {
        let [one, other] = node.sources;
        self.stack.push((other, is_negative != node.is_difference));
        self.stack.push((one, is_negative));
    }

    /// The instruction that computed a leaf, if it is one more of the tree.
    fn inner_node(
        &self,
        function: &FunctionView<'_>,
        reaching: &Reaching,
        block: BlockId,
        vreg: VRegId,
        kind: Kind,
        ty: PtxType,
    ) -> Option<(InstId, Node)> {
        if self.reads[vreg.index()].count != 1 {
            return None;
        }
        let inst = reaching.only_definition(vreg)?;
        let node = self.node(function, inst)?;
        let is_alike = function.heads[inst.index()].block == block && node.kind == kind;
        (is_alike && node.ty.bits() == ty.bits()).then_some((inst, node))
    }

    /// An instruction as one of a tree.
    pub(super) fn node(&self, function: &FunctionView<'_>, inst: InstId) -> Option<Node> {
        self.node_in(function, &function.heads[inst.index()], function.operands_of(inst))
    }

    fn node_in(&self, function: &FunctionView<'_>, head: &InstHead, operands: &[Operand]) -> Option<Node> {
        let (kind, is_difference, ty) = self.meanings[head.form.index()].joins?;
        if head.opcode.is_guarded() || !head.is_live() {
            return None;
        }
        let &[result, one, other] = operands else { return None };
        let is_value = |vreg: VRegId| {
            let head = function.vregs[vreg.index()];
            let element = head.ty.element();
            // No sum may read the registers of floats that bits are joined in.
            head.ty.lanes == 1 && element.bits() == ty.bits() && element.is_of_integers() && head.is_value()
        };
        let source = |operand: Operand| match operand.vreg() {
            Some(vreg) => {
                (operand == Operand::register(vreg) && is_value(vreg)).then_some(Source::Register(vreg))
            }
            None => operand.integer_bits(&function.pools.literals).map(Source::Constant),
        };
        let result = result.vreg().filter(|&vreg| is_value(vreg) && !result.is_partial())?;
        Some(Node { kind, ty, result, is_difference, sources: [source(one)?, source(other)?] })
    }

    /// Whether a register is read once.
    pub(super) fn is_read_once(&self, vreg: VRegId) -> bool {
        self.reads[vreg.index()].count == 1
    }

    /// Whether all that reads a register is accesses, as their address.
    pub(super) fn is_address(&self, vreg: VRegId) -> bool {
        let reads = self.reads[vreg.index()];
        reads.count == reads.addresses && reads.count > 0 && reads.count < u8::MAX
    }

    /// Whether phis name a register.
    pub(super) fn is_in_phis(&self, vreg: VRegId) -> bool {
        self.reads[vreg.index()].is_in_phis
    }
}

/// Whether a constant of `width` bits is one of 32 with its sign.
pub(super) fn is_short(constant: u64, width: u32) -> bool {
    i32::try_from(extend(constant, width)).is_ok()
}

fn meaning(forms: &FormTable, id: FormId) -> Meaning {
    let form = forms.get(id);
    let is_access = form.effects.intersects(Effects::READ.union(Effects::WRITE).union(Effects::ATOMIC));
    Meaning { joins: joins(forms, id, form), is_access }
}

fn joins(forms: &FormTable, id: FormId, form: &Form) -> Option<(Kind, bool, PtxType)> {
    let is_plain = FormFlags::PLAIN.union(FormFlags::MODELLED);
    if !form.flags.contains(is_plain) || !form.is_pure() {
        return None;
    }
    let description = forms.describe(id);
    let ty = description.types[0]?;
    if !ty.is_of_integers() || !matches!(ty.bits(), 16 | 32 | 64) {
        return None;
    }
    let kind = match form.operation {
        Operation::Add | Operation::Sub => Kind::Sum,
        Operation::Mul if description.qualifiers.part == Some(Part::Low) => Kind::Product,
        Operation::And => Kind::And,
        Operation::Or => Kind::Or,
        Operation::Xor => Kind::Xor,
        _ => return None,
    };
    Some((kind, form.operation == Operation::Sub, ty))
}
