//! Which trees change, and how.

use super::Settings;
use super::trees::{Kind, Leaf, Tree, Trees, Value, is_short};
use crate::ssa::origins::OriginsOf;
use ahash::{AHashMap, AHashSet};
use ptxopt_components::ids::{BlockId, Id, InstId, Span, VRegId};
use ptxopt_components::operand::writes;
use ptxopt_components::operation::Operation;
use ptxopt_components::types::truncate;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::definitions::Defined;
use ptxopt_engine::values::reaching::Reaching;

/// What a planned instruction reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Other {
    Value(Value),
    Constant(u64),
}

/// A planned instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joined {
    pub operation: Operation,
    pub one: Other,
    pub other: Other,
}

/// What the root of a changed tree becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Final {
    /// The last of the planned instructions.
    Joined,
    /// A move of a value.
    Value(Value),
    /// A move of a constant.
    Constant(u64),
}

/// Why a tree changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gain {
    Fewer,
    Shared,
    Address,
    Invariant,
}

impl Gain {
    pub(super) const fn reason(self) -> &'static str {
        match self {
            Self::Fewer => "in another order it takes fewer instructions",
            Self::Shared => "what it joins first is joined later once more",
            Self::Address => "the constant of an address comes last",
            Self::Invariant => "what does not change in the loop is joined first",
        }
    }
}

/// A tree that changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rewrite {
    /// Its number.
    pub tree: usize,
    /// The planned instructions.
    pub joins: Span,
    pub is: Final,
    /// Products that go with it.
    pub products: Span,
    pub gain: Gain,
}

/// Two leaves, whichever is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Pair {
    kind: Kind,
    width: u32,
    /// One of them is subtracted.
    is_difference: bool,
    /// The smaller one.
    one: Value,
    other: Value,
}

impl Pair {
    fn of(tree: &Tree, one: Leaf, other: Leaf) -> Self {
        let (first, second) = if one.value <= other.value { (one, other) } else { (other, one) };
        Self {
            kind: tree.kind,
            width: tree.ty.bits(),
            is_difference: one.is_negative != other.is_negative,
            one: first.value,
            other: second.value,
        }
    }
}

/// Where two leaves are joined already.
#[derive(Clone, Copy)]
struct Have {
    value: Value,
    /// Of a difference: the smaller one is subtracted.
    is_reversed: bool,
    block: BlockId,
    /// The instruction, or the root before which it is planned.
    inst: InstId,
}

/// The choice for a function. Its memory is used again.
#[derive(Default)]
pub(super) struct Choice {
    pub(super) rewrites: Vec<Rewrite>,
    pub(super) joins: Vec<Joined>,
    pub(super) products: Vec<InstId>,
    have: AHashMap<Pair, Have>,
    /// By register: how often it is a leaf, up to the largest number.
    leaf_counts: Vec<u8>,
    /// By block and pair of leaves that come again: how many trees of the block that are still to come have it.
    to_come: AHashMap<(BlockId, Pair), u32>,
    /// Registers that what is planned reads or computes.
    pub(super) taken: AHashSet<VRegId>,
    /// Results of the products that go.
    gone: AHashSet<VRegId>,
    /// Results of roots that become moves, and what they move.
    same: AHashMap<VRegId, Value>,
    pub(super) work: Vec<Leaf>,
    /// Registers that stand in `work` and are no leaves of the tree.
    put_in: AHashSet<VRegId>,
    /// Registers that are read later than before, but for the leaves.
    pub(super) moved: Vec<VRegId>,
    pub(super) products_left: u32,
    pub(super) limit_hits: u64,
}

/// Rows between the first instruction of a tree and its root among which other values of the variable of a leaf are looked
/// for.
const SPAN_MAX: u32 = 256;

/// What is looked at.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    pub(super) function: &'a FunctionView<'a>,
    pub(super) trees: &'a Trees,
    pub(super) reaching: &'a Reaching,
    pub(super) origins: &'a OriginsOf,
    pub(super) settings: Settings,
}

impl Choice {
    /// Chooses for all trees of a function.
    pub(super) fn choose(
        &mut self,
        function: &FunctionView<'_>,
        trees: &Trees,
        reaching: &Reaching,
        origins: &OriginsOf,
        settings: Settings,
    ) {
        let look = Look { function, trees, reaching, origins, settings };
        self.start(settings);
        if !trees.all.iter().any(|tree| may_gain(look, tree)) {
            return;
        }
        self.leaf_counts.resize(function.vregs.len(), 0);
        for leaf in &trees.leaves {
            if let Value::Register(vreg) = leaf.value {
                let count = &mut self.leaf_counts[vreg.index()];
                *count = count.saturating_add(1);
            }
        }
        for tree in &trees.all {
            self.each_pair(trees, tree, |count| *count += 1);
        }
        let first = settings.insts_skipped;
        for (number, tree) in trees.all.iter().enumerate() {
            self.each_pair(trees, tree, |count| *count -= 1);
            if tree.root.0 < first {
                continue;
            }
            if tree.root.0 - first >= settings.insts_max {
                self.limit_hits += 1;
                continue;
            }
            if !self.visit(look, number, tree) {
                self.note_tree(look, tree);
            }
        }
    }

    fn start(&mut self, settings: Settings) {
        self.rewrites.clear();
        self.joins.clear();
        self.products.clear();
        self.have.clear();
        self.leaf_counts.clear();
        self.to_come.clear();
        self.taken.clear();
        self.gone.clear();
        self.same.clear();
        self.products_left = settings.products_max;
        self.limit_hits = 0;
    }

    fn each_pair(&mut self, trees: &Trees, tree: &Tree, mut visit: impl FnMut(&mut u32)) {
        let Self { leaf_counts, to_come, .. } = self;
        let leaves = &trees.leaves[tree.leaves.range()];
        let again = |leaf: &&Leaf| comes_again(leaf_counts, leaf);
        for (position, one) in leaves.iter().enumerate().filter(|(_, leaf)| again(leaf)) {
            for other in leaves[position + 1..].iter().filter(again) {
                visit(to_come.entry((tree.block, Pair::of(tree, *one, *other))).or_default());
            }
        }
    }

    /// Notes what the instructions of a tree that stays join.
    fn note_tree(&mut self, look: Look<'_>, tree: &Tree) {
        for &inst in look.trees.inner[tree.inner.range()].iter().chain([&tree.root]) {
            if let Some((pair, value, is_reversed)) = joined_by(look, tree, inst) {
                self.have.insert(pair, Have { value, is_reversed, block: tree.block, inst });
            }
        }
    }

    /// Plans a tree anew, and says whether that is worth it.
    fn visit(&mut self, look: Look<'_>, number: usize, tree: &Tree) -> bool {
        let (first, first_product) = (self.joins.len(), self.products.len());
        let products_left = self.products_left;
        self.work.clear();
        self.put_in.clear();
        for &leaf in &look.trees.leaves[tree.leaves.range()] {
            let same = leaf.value.register().and_then(|vreg| self.same.get(&vreg).copied());
            self.work.push(Leaf { value: same.unwrap_or(leaf.value), ..leaf });
            self.put_in.extend(same.and_then(Value::register));
        }
        self.moved.clear();
        cancel(tree.kind, &mut self.work);
        self.distribute(look, tree);
        while self.take_known(look, tree) {}
        let is_shared = self.join_what_comes_again(look, tree);
        let is_invariant = !is_shared && self.put_invariants_first(look, tree);
        let is = self.join_rest(tree);
        let cost_before = tree.inner.range().len() + 1 + (self.products.len() - first_product);
        let cost = self.joins.len() - first;
        let gain = if cost < cost_before {
            Some(Gain::Fewer)
        } else if cost > cost_before {
            None
        } else if is_shared {
            Some(Gain::Shared)
        } else if puts_offset_last(look, tree) {
            Some(Gain::Address)
        } else if is_invariant {
            Some(Gain::Invariant)
        } else {
            None
        };
        let takes_constant = look.settings.takes_large_constants
            || tree.kind != Kind::Sum
            || is_short(tree.constant, tree.ty.bits());
        let gain = gain.filter(|_| takes_constant && !self.is_disturbed(look, tree, first_product));
        let Some(gain) = gain else {
            self.joins.truncate(first);
            self.products.truncate(first_product);
            self.products_left = products_left;
            return false;
        };
        let results =
            self.products[first_product..].iter().flat_map(|&inst| writes(look.function.operands_of(inst)));
        self.gone.extend(results);
        let joins = Span::between(first, self.joins.len());
        let products = Span::between(first_product, self.products.len());
        self.rewrites.push(Rewrite { tree: number, joins, is, products, gain });
        self.note_plan(look, tree, joins, is);
        true
    }

    /// Notes what the planned instructions of a tree join, and what they read.
    fn note_plan(&mut self, look: Look<'_>, tree: &Tree, joins: Span, is: Final) {
        let result = look.function.operands_of(tree.root)[0].vreg().expect("a root has a result");
        // Its root may have been a product; the new one is no product of the function as it is.
        self.taken.insert(result);
        for number in joins.range() {
            let join = self.joins[number];
            for read in [join.one, join.other] {
                if let Other::Value(Value::Register(vreg)) = read {
                    self.taken.insert(vreg);
                }
            }
            let (Other::Value(one), Other::Value(other)) = (join.one, join.other) else { continue };
            let is_difference = join.operation == Operation::Sub;
            if !is_difference && join.operation != tree.kind.operation() {
                continue;
            }
            let leaf = |value| Leaf { value, is_negative: false };
            let pair = Pair { is_difference, ..Pair::of(tree, leaf(one), leaf(other)) };
            let is_last = number + 1 == joins.range().end && is == Final::Joined;
            let value = if is_last { Value::Register(result) } else { Value::Planned(number as u32) };
            self.have
                .insert(pair, Have { value, is_reversed: one > other, block: tree.block, inst: tree.root });
        }
        if let Final::Value(value) = is {
            if let Value::Register(vreg) = value {
                self.taken.insert(vreg);
            }
            self.same.insert(result, value);
        }
    }

    /// Makes one leaf of two that are joined already; says whether there were such.
    fn take_known(&mut self, look: Look<'_>, tree: &Tree) -> bool {
        for position in 0..self.work.len() {
            let is_put_in =
                self.work[position].value.register().is_some_and(|vreg| self.put_in.contains(&vreg));
            if !is_put_in && !comes_again(&self.leaf_counts, &self.work[position]) {
                continue;
            }
            for other in position + 1..self.work.len() {
                let pair = Pair::of(tree, self.work[position], self.work[other]);
                let Some(have) = self.have.get(&pair).copied().filter(|&have| self.reaches(look, tree, have))
                else {
                    continue;
                };
                let other = self.work.remove(other);
                let one = self.work[position];
                let first = if one.value == pair.one { one } else { other };
                let is_negative = if pair.is_difference {
                    first.is_negative != have.is_reversed
                } else {
                    first.is_negative
                };
                self.work[position] = Leaf { value: have.value, is_negative };
                self.put_in.extend(have.value.register());
                return true;
            }
        }
        false
    }

    /// Whether what joins two leaves can be read at the root of a tree.
    fn reaches(&self, look: Look<'_>, tree: &Tree, have: Have) -> bool {
        let is_near = have.inst.0.abs_diff(tree.root.0) <= look.settings.window;
        let is_before = have.block == tree.block || look.reaching.tree().dominates(have.block, tree.block);
        // The register of a phi would be written before it is read here.
        let stays = match have.value {
            Value::Register(vreg) => {
                let is_free = have.block == tree.block || !look.trees.is_in_phis(vreg);
                is_free && !self.gone.contains(&vreg)
            }
            Value::Planned(_) => true,
        };
        is_near && is_before && stays
    }

    /// Joins leaves that trees of the rest of the block have, too; says whether the tree did not do so before.
    fn join_what_comes_again(&mut self, look: Look<'_>, tree: &Tree) -> bool {
        let mut is_new = false;
        while self.work.len() > 1 {
            let mut best: Option<(u32, usize, usize, Pair)> = None;
            for position in 0..self.work.len() {
                if !comes_again(&self.leaf_counts, &self.work[position]) {
                    continue;
                }
                for other in position + 1..self.work.len() {
                    if !comes_again(&self.leaf_counts, &self.work[other]) {
                        continue;
                    }
                    let pair = Pair::of(tree, self.work[position], self.work[other]);
                    let count = self.to_come.get(&(tree.block, pair)).copied().unwrap_or_default();
                    if count > best.map_or(0, |(count, ..)| count) {
                        best = Some((count, position, other, pair));
                    }
                }
            }
            let Some((_, position, other, pair)) = best else { break };
            let is_joined = |&inst: &InstId| joined_by(look, tree, inst).is_some_and(|(own, ..)| own == pair);
            let mut insts = look.trees.inner[tree.inner.range()].iter().chain([&tree.root]);
            is_new |= !insts.any(is_joined);
            let other = self.work.remove(other);
            self.work[position] = self.join(tree.kind, self.work[position], other);
        }
        is_new
    }

    /// Puts leaves first that do not change in the innermost loop, and says whether that makes a difference.
    fn put_invariants_first(&mut self, look: Look<'_>, tree: &Tree) -> bool {
        let depth = look.function.orders[tree.block.index()].depth;
        let depth_of = |leaf: &Leaf| match leaf.value {
            Value::Register(vreg) => match look.reaching.definitions().defined(vreg) {
                Defined::Once(_, block) => look.function.orders[block.index()].depth,
                Defined::Never | Defined::Often => depth,
            },
            Value::Planned(_) => depth,
        };
        let outer = self.work.iter().filter(|leaf| depth_of(leaf) < depth).count();
        if outer < 2 || outer == self.work.len() || self.work.is_sorted_by_key(depth_of) {
            return false;
        }
        self.work.sort_by_key(depth_of);
        true
    }

    /// Joins what is left, and the constant last.
    fn join_rest(&mut self, tree: &Tree) -> Final {
        let width = tree.ty.bits();
        while self.work.len() > 1 {
            let other = self.work.remove(1);
            self.work[0] = self.join(tree.kind, self.work[0], other);
        }
        let has_constant = tree.constant != truncate(tree.kind.identity(), width);
        let Some(&leaf) = self.work.first() else { return Final::Constant(tree.constant) };
        if leaf.is_negative {
            self.push(Operation::Sub, Other::Constant(tree.constant), Other::Value(leaf.value));
        } else if has_constant {
            self.push(tree.kind.operation(), Other::Value(leaf.value), Other::Constant(tree.constant));
        } else if !self.is_last(leaf.value) {
            return Final::Value(leaf.value);
        }
        Final::Joined
    }

    /// Whether a value is the result of the planned instruction that comes last.
    fn is_last(&self, value: Value) -> bool {
        matches!(value, Value::Planned(number) if number as usize + 1 == self.joins.len())
    }

    /// Plans an instruction that joins two leaves.
    fn join(&mut self, kind: Kind, one: Leaf, other: Leaf) -> Leaf {
        let value = |leaf: Leaf| Other::Value(leaf.value);
        let value = match (one.is_negative, other.is_negative) {
            (false, true) => self.push(Operation::Sub, value(one), value(other)),
            (true, false) => self.push(Operation::Sub, value(other), value(one)),
            _ => self.push(kind.operation(), value(one), value(other)),
        };
        Leaf { value, is_negative: one.is_negative && other.is_negative }
    }

    pub(super) fn push(&mut self, operation: Operation, one: Other, other: Other) -> Value {
        self.joins.push(Joined { operation, one, other });
        Value::Planned(self.joins.len() as u32 - 1)
    }

    /// Whether a leaf would be read where the next value of its variable has been computed already: both would live at once,
    /// and a copy would keep the old one when SSA form is left.
    fn is_disturbed(&self, look: Look<'_>, tree: &Tree, first_product: usize) -> bool {
        let leaves = look.trees.leaves[tree.leaves.range()].iter();
        let registers = leaves.filter_map(|leaf| leaf.value.register());
        let has_next = |vreg: &VRegId| look.trees.is_in_phis(*vreg) || look.origins.made_for(*vreg).is_some();
        let mut registers = registers.chain(self.moved.iter().copied()).filter(has_next).peekable();
        if registers.peek().is_none() {
            return false;
        }
        let insts = look.trees.inner[tree.inner.range()].iter().chain(&self.products[first_product..]);
        let first = insts.min().copied().unwrap_or(tree.root);
        if tree.root.0 - first.0 > SPAN_MAX {
            return true;
        }
        let between =
            || (first.0..tree.root.0).map(InstId).filter(|inst| look.function.heads[inst.index()].is_live());
        registers.any(|vreg| {
            let is_next = |other: VRegId| {
                let is_of_variable = look.origins.origin(other) == look.origins.origin(vreg);
                other != vreg && (is_of_variable || look.trees.is_in_phis(other))
            };
            between().any(|inst| writes(look.function.operands_of(inst)).any(is_next))
        })
    }
}

/// Whether a leaf may be one of another tree, too.
fn comes_again(leaf_counts: &[u8], leaf: &Leaf) -> bool {
    leaf.value.register().is_none_or(|vreg| leaf_counts[vreg.index()] > 1)
}

/// Whether anything may be gained by another order.
fn may_gain(look: Look<'_>, tree: &Tree) -> bool {
    let leaves = &look.trees.leaves[tree.leaves.range()];
    let count = leaves.len() + tree.constant_count as usize;
    count > 2 || tree.kind == Kind::Sum && leaves.len() == 2 && super::products::are_products(look, leaves)
}

/// What an instruction of the function joins: two registers, what it gives, and whether it would subtract the smaller one.
fn joined_by(look: Look<'_>, tree: &Tree, inst: InstId) -> Option<(Pair, Value, bool)> {
    use super::trees::Source::Register;
    let node = look.trees.node(look.function, inst)?;
    let [Register(one), Register(other)] = node.sources else { return None };
    let [one, other] = [one, other].map(Value::Register);
    let leaf = |value, is_negative| Leaf { value, is_negative };
    let pair = Pair::of(tree, leaf(one, false), leaf(other, node.is_difference));
    Some((pair, Value::Register(node.result), one > other))
}

/// Takes away leaves that cancel each other, or say the same.
fn cancel(kind: Kind, work: &mut Vec<Leaf>) {
    let mut position = 0;
    while position < work.len() {
        let one = work[position];
        let is_twin = |other: &Leaf| match kind {
            Kind::Sum => other.value == one.value && other.is_negative != one.is_negative,
            Kind::And | Kind::Or | Kind::Xor => other.value == one.value,
            Kind::Product => false,
        };
        match work[position + 1..].iter().position(is_twin) {
            Some(twin) => {
                work.remove(position + 1 + twin);
                if matches!(kind, Kind::Sum | Kind::Xor) {
                    work.remove(position);
                }
            }
            None => position += 1,
        }
    }
}

/// Whether another order puts the constant of an address last, where accesses take it.
fn puts_offset_last(look: Look<'_>, tree: &Tree) -> bool {
    let result = look.function.operands_of(tree.root)[0].vreg();
    let is_address = || result.is_some_and(|vreg| look.trees.is_address(vreg));
    let has_offset = tree.kind == Kind::Sum && tree.ty.bits() == 64 && tree.constant != 0;
    has_offset && !tree.has_constant_last && is_short(tree.constant, 64) && is_address()
}
