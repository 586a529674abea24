//! Sums of products with a common factor: `a*b + a*c` is `a*(b + c)`.
//!
//! ```text
//! mul.lo.s32 r3, r1, r2;          add.s32 r6, r2, r4;
//! mul.lo.s32 r5, r1, r4;    ->    mul.lo.s32 r7, r1, r6;
//! add.s32 r7, r3, r5;
//! ```
//! The two products are read nowhere else, so that they go: one product less, or two where both other factors are constants.

use super::choice::{Choice, Look, Other};
use super::trees::{Kind, Leaf, Node, Source, Tree, Value};
use ptxopt_components::ids::{Id, InstId};
use ptxopt_components::operation::Operation;
use ptxopt_components::types::truncate;

/// Two products of a tree with a common factor.
struct Common {
    /// Their positions among the leaves.
    positions: [usize; 2],
    products: [InstId; 2],
    factor: Source,
    others: [Source; 2],
}

impl Choice {
    /// Takes common factors out of the products among the leaves of a sum.
    pub(super) fn distribute(&mut self, look: Look<'_>, tree: &Tree) {
        if tree.kind != Kind::Sum {
            return;
        }
        while let Some(common) = self.find_common(look, tree) {
            if self.products_left == 0 {
                self.limit_hits += 1;
                return;
            }
            self.products_left -= 1;
            self.take_out(tree, &common);
        }
    }

    fn find_common(&self, look: Look<'_>, tree: &Tree) -> Option<Common> {
        let width = tree.ty.bits();
        let product = |leaf: Leaf| self.product(look, tree, leaf);
        for (position, &leaf) in self.work.iter().enumerate() {
            let Some((inst, one)) = product(leaf) else { continue };
            for (second, &leaf) in self.work.iter().enumerate().skip(position + 1) {
                let Some((other_inst, other)) = product(leaf).filter(|&(other, _)| other != inst) else {
                    continue;
                };
                let same = |one: Source, other: Source| match (one, other) {
                    (Source::Constant(one), Source::Constant(other)) => {
                        truncate(one, width) == truncate(other, width)
                    }
                    _ => one == other,
                };
                for (mine, theirs) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    let others = [one.sources[1 - mine], other.sources[1 - theirs]];
                    if same(one.sources[mine], other.sources[theirs]) {
                        return Some(Common {
                            positions: [position, second],
                            products: [inst, other_inst],
                            factor: one.sources[mine],
                            others,
                        });
                    }
                }
            }
        }
        None
    }

    /// The product that a leaf is, if nothing else reads it.
    fn product(&self, look: Look<'_>, tree: &Tree, leaf: Leaf) -> Option<(InstId, Node)> {
        let (inst, node) = product_of(look, leaf)?;
        let is_here = look.function.heads[inst.index()].block == tree.block;
        let is_free = is_here && node.ty.bits() == tree.ty.bits() && !self.taken.contains(&node.result);
        is_free.then_some((inst, node))
    }

    fn take_out(&mut self, tree: &Tree, common: &Common) {
        let [first, second] = common.positions.map(|position| self.work[position].is_negative);
        let [one, other] = common.others;
        // The signs of the products: what both have stays with the leaf.
        let sum = match (one, other) {
            (Source::Constant(one), Source::Constant(other)) => {
                let other = if first == second { other } else { other.wrapping_neg() };
                Other::Constant(truncate(one.wrapping_add(other), tree.ty.bits()))
            }
            (Source::Constant(_), _) if first == second => {
                Other::Value(self.push(Operation::Add, as_read(other), as_read(one)))
            }
            _ if first == second => Other::Value(self.push(Operation::Add, as_read(one), as_read(other))),
            _ => Other::Value(self.push(Operation::Sub, as_read(one), as_read(other))),
        };
        let factor = as_read(common.factor);
        let value = match (factor, sum) {
            (Other::Constant(_), _) => self.push(Operation::Mul, sum, factor),
            _ => self.push(Operation::Mul, factor, sum),
        };
        self.work[common.positions[0]] = Leaf { value, is_negative: first };
        self.work.remove(common.positions[1]);
        self.products.extend(common.products);
        let registers = [common.factor, one, other].into_iter().filter_map(|source| match source {
            Source::Register(vreg) => Some(vreg),
            Source::Constant(_) => None,
        });
        self.moved.extend(registers);
    }
}

/// Whether two of these leaves are products, which may have a common factor.
pub(super) fn are_products(look: Look<'_>, leaves: &[Leaf]) -> bool {
    leaves.iter().filter(|&&leaf| product_of(look, leaf).is_some()).count() > 1
}

fn product_of(look: Look<'_>, leaf: Leaf) -> Option<(InstId, Node)> {
    let Value::Register(vreg) = leaf.value else { return None };
    let inst = look.reaching.only_definition(vreg).filter(|_| look.trees.is_read_once(vreg))?;
    let node = look.trees.node(look.function, inst)?;
    (node.kind == Kind::Product).then_some((inst, node))
}

const fn as_read(source: Source) -> Other {
    match source {
        Source::Register(vreg) => Other::Value(Value::Register(vreg)),
        Source::Constant(bits) => Other::Constant(bits),
    }
}
