//! Obstacles: what keeps a loop from being copied, found in one pass over the tables of the function.

use crate::ssa::promote_locals::addresses::Tracer;
use ahash::{AHashMap, AHashSet};
use ptxopt_components::anchor::AnchorKind;
use ptxopt_components::ids::{BlockId, Id};
use ptxopt_engine::graph::nest::LoopNest;
use ptxopt_engine::store::view::FunctionView;

/// What stands in the way in a function.
#[derive(Default)]
pub(super) struct Obstacles {
    /// By block in which something cannot be copied: why.
    in_block: AHashMap<BlockId, &'static str>,
    /// Blocks that branch tables list.
    listed: AHashSet<BlockId>,
}

impl Obstacles {
    pub(super) fn find(view: &FunctionView<'_>, nest: &LoopNest, tracer: &Tracer) -> Self {
        let mut obstacles = Self::default();
        let Self { in_block, listed } = &mut obstacles;
        let kept = view.anchors.iter().filter(|anchor| anchor.kind != AnchorKind::InstPragma);
        in_block
            .extend(kept.map(|anchor| (anchor.block, "a pragma, a line or a directive stands in the loop")));
        let stores = tracer.address_stores().map(|inst| view.heads[inst.index()].block);
        in_block.extend(stores.map(|block| (block, "the loop stores the address of a local variable")));
        let irreducible = nest.irreducible_regions().flatten();
        in_block.extend(irreducible.map(|&block| (block, "a cycle with several entries is not unrolled")));
        listed.extend(view.tables.iter().flat_map(|table| &view.pools.targets[table.targets.range()]));
        obstacles
    }

    /// Why a nest with these blocks, the header first, is not copied.
    pub(super) fn of(&self, blocks: &[BlockId]) -> Option<&'static str> {
        if self.listed.contains(&blocks[0]) {
            return Some("a branch table lists the header of the loop");
        }
        blocks.iter().find_map(|block| self.in_block.get(block).copied())
    }
}
