//! Definitions, sites and the values that reach a place, by what they say of themselves.

use super::{Built, Random, Style, leave};
use crate::graph::dominator_tree::DominatorTree;
use crate::store::view::FunctionView;
use crate::values::definitions::{Defined, Definition, Definitions};
use crate::values::reaching::{Place, Reaching, Value};
use crate::values::sites::Sites;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use std::collections::BTreeSet;
use std::fmt::Write;

/// A function in which few registers are written whole and in part, by guarded instructions, and twice by one instruction.
fn random(seed: u64) -> Built {
    let mut random = Random::new(seed);
    let (block_count, register_count) = (1 + random.below(12), 1 + random.below(5));
    let mut body = String::new();
    for block in 0..block_count {
        write!(body, "B{block}: ").expect("a string takes everything");
        for _ in 0..random.below(4) {
            let [a, b] = std::array::from_fn(|_| 1 + random.below(register_count));
            let guard = if random.below(3) == 0 { "@%p1 " } else { "" };
            let rest = match random.below(5) {
                0 => format!("mov.u32 %r{a}, 7;"),
                1 => format!("mov.b64 {{%r{a}, %r{b}}}, %rd1;"),
                2 => format!("vadd.u32.u32.u32 %r{a}.b0, %r{b}, %r{b}, %r{a};"),
                3 => format!("setp.lt.u32 %p1, %r{a}, %r{b};"),
                _ => format!("add.u32 %r{a}, %r{a}, 1;"),
            };
            writeln!(body, "{guard}{rest}").expect("a string takes everything");
        }
        leave(&mut random, Style::Wild, block, block_count, &mut body);
    }
    Built::kernel(&body)
}

/// The instructions that define `vreg`, and whether nothing is left of the value before.
fn definitions(function: &FunctionView<'_>, vreg: VRegId) -> Vec<(InstId, bool)> {
    let mut found = Vec::new();
    for (inst, head, operands) in function.rows() {
        let mut own = operands.iter().filter(|o| o.vreg() == Some(vreg) && o.is_definition()).peekable();
        if own.peek().is_some() {
            found.push((inst, !head.opcode.is_guarded() && own.any(|operand| !operand.is_partial())));
        }
    }
    found
}

fn check_definitions(function: &FunctionView<'_>, collected: &mut Definitions) {
    collected.collect(function);
    let mut numbers = Vec::new();
    for vreg in function.vreg_ids() {
        let wanted = definitions(function, vreg);
        let of: Vec<(InstId, bool)> = collected.of(vreg).iter().map(|d| (d.inst(), d.kills())).collect();
        assert_eq!(of, wanted, "{vreg:?}");
        let only = collected.only(vreg).map(|definition| (definition.inst(), definition.kills()));
        assert_eq!(only, wanted.first().copied().filter(|_| wanted.len() == 1), "{vreg:?}");
        let defined = match wanted[..] {
            [] => Defined::Never,
            [(inst, _)] => Defined::Once(inst, function.heads[inst.index()].block),
            _ => Defined::Often,
        };
        assert_eq!(collected.defined(vreg), defined, "{vreg:?}");
        if wanted.len() > 1 {
            let first = collected.number_of_first(vreg);
            numbers.extend(first..first + wanted.len());
        }
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (0..collected.several_count()).collect::<Vec<_>>());
    let results = |inst: &InstId| function.operands_of(*inst).iter().filter(|o| o.is_definition()).count();
    let several: Vec<InstId> =
        function.rows().map(|(inst, ..)| inst).filter(|inst| results(inst) > 1).collect();
    assert_eq!(collected.with_several_results(), several);
}

#[test]
fn definitions_are_those_of_the_instructions() {
    let mut collected = Definitions::default();
    for seed in 0..400 {
        check_definitions(&random(seed).function(), &mut collected);
    }
}

/// A value at the start of a block is that of all its predecessors, or several meet there; further down it is that of the
/// last definition.
fn check_values(function: &FunctionView<'_>, reaching: &mut Reaching) {
    reaching.start(function);
    let is_reachable = |block: &BlockId| function.orders[block.index()].is_reachable();
    for vreg in function.vreg_ids() {
        let mut value = |block, before| reaching.value(vreg, Place { block, before }, || *function);
        for block in function.block_ids().filter(is_reachable) {
            let insts = function.blocks[block.index()].insts;
            let at_start = value(block, InstId(insts.first));
            let preds = function.preds(block).iter().copied().filter(is_reachable);
            let incoming: Vec<Value> = preds
                .map(|pred| value(pred, InstId::new(function.blocks[pred.index()].insts.end())))
                .filter(|&incoming| incoming != Value::MeetAt(block))
                .collect();
            let wanted = match &incoming[..] {
                [] => Value::OfEntry,
                [first, others @ ..] if others.iter().all(|other| other == first) => *first,
                _ => Value::MeetAt(block),
            };
            assert_eq!(at_start, wanted, "{vreg:?} at {block:?} from {incoming:?}");
            let mut last = at_start;
            for inst in function.insts_of(block) {
                assert_eq!(value(block, inst), last, "{vreg:?} before {inst:?}");
                if definitions(function, vreg).iter().any(|&(definition, _)| definition == inst) {
                    last = Value::Of(inst);
                }
            }
        }
    }
}

#[test]
fn values_meet_where_predecessors_differ_and_nowhere_else() {
    let mut reaching = Reaching::default();
    for seed in 0..400 {
        check_values(&random(seed).function(), &mut reaching);
    }
}

/// The innermost site around a block is the last one on the way down to it; around the predecessors of a join are those of each.
fn check_sites(function: &FunctionView<'_>, sites: &mut Sites) {
    let (mut tree, mut collected) = (DominatorTree::default(), Definitions::default());
    tree.compute(function);
    collected.collect(function);
    sites.start(function);
    let reachable: Vec<BlockId> = function.block_ids().filter(|&block| tree.is_reachable(block)).collect();
    for vreg in function.vreg_ids() {
        let own: &[Definition] = collected.of(vreg);
        assert!(sites.make(function, &tree, vreg, own));
        if own.is_empty() {
            continue;
        }
        let blocks: BTreeSet<BlockId> = reachable
            .iter()
            .filter_map(|&block| sites.innermost(&tree, vreg, block))
            .map(|at| sites.get(at).block)
            .collect();
        let depth = |block: BlockId| reachable.iter().filter(|&&above| tree.dominates(above, block)).count();
        let innermost = |block: BlockId| {
            let around = blocks.iter().copied().filter(|&site| tree.dominates(site, block));
            around.max_by_key(|&site| depth(site))
        };
        for &block in &reachable {
            let found = sites.innermost(&tree, vreg, block).map(|site| sites.get(site).block);
            assert_eq!(found, innermost(block), "{vreg:?} {block:?}");
            let defines = found == Some(block)
                && sites.innermost(&tree, vreg, block).is_some_and(|site| sites.get(site).defines);
            assert_eq!(
                defines,
                own.iter().any(|d| function.heads[d.inst().index()].block == block),
                "{block:?}"
            );
        }
        for &join in &reachable {
            let preds = function.preds(join).iter().copied().filter(|&pred| tree.is_reachable(pred));
            let wanted: BTreeSet<BlockId> = preds.filter_map(innermost).collect();
            let mut found = Vec::new();
            sites.around_preds(function, &tree, vreg, join, |block| found.push(block));
            found.sort_unstable();
            assert_eq!(found, wanted.into_iter().collect::<Vec<_>>(), "{vreg:?} around {join:?}");
        }
    }
}

#[test]
fn sites_are_found_from_the_inside() {
    let mut sites = Sites::default();
    for seed in 0..400 {
        check_sites(&random(seed).function(), &mut sites);
    }
}
