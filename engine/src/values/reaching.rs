//! The value that a register has at a place: which definition of it reaches there, or where several meet.
//!
//! This is SSA form without its names, asked for register by register. Two places at which a register has the same
//! [`Value`] read the same: each value is set once before anything that it reaches, as in SSA form (Cytron et al. 1991).
//! Registers with one definition, which are nearly all, cost a comparison of two blocks.

use super::definitions::{Defined, Definition, Definitions};
use super::sites::Sites;
use crate::edit::FunctionEditor;
use crate::graph::dominator_tree::DominatorTree;
use crate::run::facts::Fact;
use crate::store::per_function::PerFunction;
use crate::store::view::FunctionView;
use bevy_ecs::resource::Resource;
use ptxopt_components::ids::{BlockId, CodeId, Id, InstId, Span, VRegId};

/// What a register holds at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// What this instruction leaves in it: where it is guarded or writes a part, something of the value before.
    Of(InstId),
    /// One of several values that meet at the start of the block.
    MeetAt(BlockId),
    /// What it held when the function was entered.
    OfEntry,
}

/// What a remark says of a function in which definitions meet too often.
pub const CUT_SHORT: &str = "definitions of registers meet in too many places to look for them all";

/// A place: before an instruction of a reachable block.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The block.
    pub block: BlockId,
    /// The instruction.
    pub before: InstId,
}

/// The answers for the functions of a batch, which phases share as long as [`Fact::Definitions`] holds.
#[derive(Resource, Default)]
pub struct ReachingValues(PerFunction<Reaching>);

impl ReachingValues {
    /// The answers for a function whose control-flow facts hold and whose instruction ids are in program order, made ready
    /// if they are not.
    pub fn of(&mut self, f: &mut FunctionEditor<'_>) -> &mut Reaching {
        let reaching = self.0.of(f.code());
        if reaching.sites.take_cut_short() {
            f.stats().limits_hit += 1;
            f.missed(f.view().text.body.first, CUT_SHORT);
        }
        if !f.fact_holds(Fact::Definitions) {
            reaching.start(&f.view());
            f.fact_computed(Fact::Definitions);
            f.stats().facts_computed += 1;
        }
        reaching
    }

    /// The answers for a function, if they were ever made ready.
    #[must_use]
    pub fn get(&self, code: CodeId) -> Option<&Reaching> {
        self.0.get(code)
    }
}

/// Answers for one function. Definitions must stay where they are while it is asked.
#[derive(Default)]
pub struct Reaching {
    tree: DominatorTree,
    definitions: Definitions,
    sites: Sites,
    /// By block: its first row, and one past its last.
    rows: Vec<Span>,
}

impl Reaching {
    /// Makes ready for a function whose control-flow facts hold and whose instruction ids are in program order.
    pub fn start(&mut self, function: &FunctionView<'_>) {
        self.tree.compute(function);
        self.definitions.collect(function);
        self.sites.start(function);
        self.rows.clear();
        self.rows.extend(function.blocks.iter().map(|block| block.insts));
    }

    /// The definitions of the function. In SSA form those of values that are gone may be among them.
    #[must_use]
    pub fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// The dominator tree of the function.
    #[must_use]
    pub fn tree(&self) -> &DominatorTree {
        &self.tree
    }

    /// The instruction that alone defines `vreg`, if there is just one.
    #[must_use]
    pub fn only_definition(&self, vreg: VRegId) -> Option<InstId> {
        self.definitions.only(vreg).map(Definition::inst)
    }

    /// Whether some instruction defines `vreg`.
    #[must_use]
    pub fn is_defined(&self, vreg: VRegId) -> bool {
        !self.definitions.of(vreg).is_empty()
    }

    /// The rows of a block when the function was made ready.
    #[must_use]
    pub fn rows_of(&self, block: BlockId) -> Span {
        self.rows[block.index()]
    }

    /// The place after the last instruction of a block.
    #[must_use]
    pub fn end_of(&self, block: BlockId) -> Place {
        Place { block, before: InstId::new(self.rows[block.index()].end()) }
    }

    /// What `vreg` holds at a place. `function` gives the function, in the few cases where it has to be looked at.
    #[inline]
    pub fn value<'f>(
        &mut self,
        vreg: VRegId,
        place: Place,
        function: impl FnOnce() -> FunctionView<'f>,
    ) -> Value {
        let Place { block, before } = place;
        match self.definitions.defined(vreg) {
            Defined::Never => return Value::OfEntry,
            Defined::Once(from, from_block) => {
                let is_before =
                    if from_block == block { from < before } else { self.tree.dominates(from_block, block) };
                if is_before {
                    return Value::Of(from);
                }
            }
            Defined::Often => {
                let first = self.rows[block.index()].first;
                if let Some(inst) = self.last_before(vreg, before).filter(|inst| inst.0 >= first) {
                    return Value::Of(inst);
                }
            }
        }
        self.at_start(&function(), vreg, block)
    }

    /// The last definition of `vreg` with a smaller id.
    fn last_before(&self, vreg: VRegId, before: InstId) -> Option<InstId> {
        let definitions = self.definitions.of(vreg);
        let at = definitions.partition_point(|definition| definition.inst() < before);
        definitions[..at].last().map(|definition| definition.inst())
    }

    fn at_start(&mut self, function: &FunctionView<'_>, vreg: VRegId, block: BlockId) -> Value {
        if !self.sites.make(function, &self.tree, vreg, self.definitions.of(vreg)) {
            // As if every block had a phi of it.
            return Value::MeetAt(block);
        }
        let is_join_here = |site: usize| {
            let site = self.sites.get(site);
            site.block == block && site.is_join
        };
        if self.sites.innermost(&self.tree, vreg, block).is_some_and(is_join_here) {
            return Value::MeetAt(block);
        }
        match function.orders[block.index()].idom.get() {
            Some(idom) => self.at_end(vreg, idom),
            None => Value::OfEntry,
        }
    }

    /// What `vreg` holds at the end of `block`; its sites are made.
    fn at_end(&self, vreg: VRegId, block: BlockId) -> Value {
        let Some(number) = self.sites.innermost(&self.tree, vreg, block) else { return Value::OfEntry };
        let site = self.sites.get(number);
        if !site.defines {
            return Value::MeetAt(site.block);
        }
        let end = InstId::new(self.rows[site.block.index()].end());
        let last = self.last_before(vreg, end).or_else(|| self.definitions.only(vreg).map(Definition::inst));
        Value::Of(last.expect("the block defines the register"))
    }
}
