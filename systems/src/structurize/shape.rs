//! The flow graph of a function as the pass sees it: how each block ends, its edges one by one, and the loops.

use crate::flow::depends_on_convergence;
use ptxopt_components::anchor::TableKind;
use ptxopt_components::ids::{BlockId, Id, InstId, TableId};
use ptxopt_components::instruction::{InstHead, Marks};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::OperandKind;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::CacheOperator;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::store::view::FunctionView;

/// No edge, block, Flow block or position.
pub const NONE: u32 = u32::MAX;

/// How a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It falls through.
    Falls {
        /// The guarded exit at its end.
        before: Option<InstId>,
    },
    /// An unguarded direct branch.
    Jumps {
        /// The branch.
        inst: InstId,
    },
    /// A guarded direct branch; it falls through otherwise.
    Branches {
        /// The branch.
        inst: InstId,
    },
    /// An unguarded indexed branch.
    Indexed {
        /// The branch.
        inst: InstId,
        /// Its table.
        table: TableId,
    },
    /// Threads end here.
    Ends,
}

/// Which of the ways out of its block an edge is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A direct branch that is taken.
    Taken,
    /// The fall-through.
    Fall,
    /// An entry of the table of an indexed branch.
    Entry(u32),
}

/// An edge.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// Its source.
    pub from: BlockId,
    /// Its target.
    pub to: BlockId,
    /// Which way out of the source it is.
    pub way: Way,
}

/// The ends and edges of a function.
#[derive(Default)]
pub struct Shape {
    /// By block.
    pub ends: Vec<End>,
    /// Sorted by source.
    pub edges: Vec<Edge>,
    /// By block: its first edge; one more at the end.
    first_edge: Vec<u32>,
    /// Edges, sorted by target.
    into: Vec<u32>,
    /// By block: its first place in `into`; one more at the end.
    first_into: Vec<u32>,
    /// By block: threads that go there end, and do nothing before that others would do with them.
    pub is_ending: Vec<bool>,
    /// By block: threads may wait there for others.
    pub waits: Vec<Waits>,
}

/// Whether a block holds what threads wait in for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waits {
    /// Nothing of the kind.
    No,
    /// In a loop it may: an atomic, ordered or volatile access, by which threads tell one another to go on, or what is pinned, as
    /// `nanosleep` between two looks.
    InLoops,
    /// A barrier, another instruction in which several threads take part, or a call.
    Always,
}

impl Shape {
    /// Lists the ends and edges of a function.
    ///
    /// # Errors
    /// Why the pass does not take the function.
    pub fn load(&mut self, function: &FunctionView<'_>, forms: &FormTable) -> Result<(), &'static str> {
        self.ends.clear();
        self.edges.clear();
        self.first_edge.clear();
        self.is_ending.clear();
        self.waits.clear();
        for block in function.block_ids() {
            if !function.orders[block.index()].is_reachable() {
                return Err("no path leads to a block");
            }
            self.first_edge.push(self.edges.len() as u32);
            let end = self.load_end(function, forms, block)?;
            self.ends.push(end);
            self.is_ending.push(end == End::Ends && is_bare_end(function, forms, block));
            self.waits.push(waits(function, forms, block));
        }
        self.first_edge.push(self.edges.len() as u32);
        self.refuse_shared_tables()?;
        self.sort_by_target(function.blocks.len());
        Ok(())
    }

    fn load_end(
        &mut self,
        function: &FunctionView<'_>,
        forms: &FormTable,
        block: BlockId,
    ) -> Result<End, &'static str> {
        let last = function.insts_of(block).next_back();
        let control = last.filter(|&inst| function.heads[inst.index()].marks.contains(Marks::CONTROL));
        let next = function.succs(block).last().copied();
        let mut push = |to, way| self.edges.push(Edge { from: block, to, way });
        let Some(inst) = control else {
            // Control that runs off the end of the function ends there.
            let Some(next) = next else { return Ok(End::Ends) };
            push(next, Way::Fall);
            return Ok(End::Falls { before: None });
        };
        let operands = function.operands_of(inst);
        let is_guarded = function.heads[inst.index()].opcode.is_guarded();
        let has_predicate =
            function.guard_of(inst).is_none_or(|guard| matches!(guard.kind(), OperandKind::Predicate { .. }));
        if let Some(to) = operands.iter().find_map(|operand| operand.as_block()) {
            let is_branch = forms.describe(function.heads[inst.index()].form).operation == Operation::Bra;
            if !is_branch || !has_predicate {
                return Err("a branch is of a kind that is not known");
            }
            push(to, Way::Taken);
            if !is_guarded {
                return Ok(End::Jumps { inst });
            }
            push(next.ok_or("control runs off the end of the function")?, Way::Fall);
            return Ok(End::Branches { inst });
        }
        if let Some(table) = operands.iter().find_map(|operand| operand.as_table()) {
            let row = function.tables[table.index()];
            if row.kind != TableKind::Branch || is_guarded {
                return Err("an indexed branch is guarded");
            }
            for (at, &to) in function.pools.targets[row.targets.range()].iter().enumerate() {
                push(to, Way::Entry(at as u32));
            }
            return Ok(End::Indexed { inst, table });
        }
        match next {
            Some(next) if is_guarded => {
                push(next, Way::Fall);
                Ok(End::Falls { before: Some(inst) })
            }
            _ => Ok(End::Ends),
        }
    }

    fn refuse_shared_tables(&self) -> Result<(), &'static str> {
        let mut tables: Vec<TableId> = Vec::new();
        tables.extend(self.ends.iter().filter_map(|end| match *end {
            End::Indexed { table, .. } => Some(table),
            _ => None,
        }));
        let count = tables.len();
        tables.sort_unstable();
        tables.dedup();
        if tables.len() < count { Err("several branches share a table") } else { Ok(()) }
    }

    fn sort_by_target(&mut self, block_count: usize) {
        let Self { edges, into, first_into, .. } = self;
        first_into.clear();
        first_into.resize(block_count + 1, 0);
        for edge in edges.iter() {
            first_into[edge.to.index() + 1] += 1;
        }
        for block in 0..block_count {
            first_into[block + 1] += first_into[block];
        }
        into.clear();
        into.resize(edges.len(), 0);
        let mut next = first_into.clone();
        for (at, edge) in edges.iter().enumerate() {
            let slot = &mut next[edge.to.index()];
            into[*slot as usize] = at as u32;
            *slot += 1;
        }
    }

    /// The edges out of a block, as numbers.
    pub fn edges_of(&self, block: BlockId) -> std::ops::Range<u32> {
        self.first_edge[block.index()]..self.first_edge[block.index() + 1]
    }

    /// The edges into a block, as numbers.
    pub fn edges_into(&self, block: BlockId) -> &[u32] {
        &self.into[self.first_into[block.index()] as usize..self.first_into[block.index() + 1] as usize]
    }

    /// An edge.
    pub fn edge(&self, edge: u32) -> Edge {
        self.edges[edge as usize]
    }

    /// The only instruction at which a block goes several ways.
    pub fn branch_of(&self, block: BlockId) -> Option<InstId> {
        match self.ends[block.index()] {
            End::Branches { inst } | End::Indexed { inst, .. } => Some(inst),
            _ => None,
        }
    }
}

/// What threads may wait for in a block.
fn waits(function: &FunctionView<'_>, forms: &FormTable, block: BlockId) -> Waits {
    let of_inst = |head: &InstHead| {
        if depends_on_convergence(head, forms) {
            return Waits::Always;
        }
        let effects = forms.get(head.form).effects;
        // `ld.cv` asks memory each time.
        let is_asked_again = forms.describe(head.form).qualifiers.cache == Some(CacheOperator::Volatile);
        let tells =
            effects.intersects(Effects::ATOMIC | Effects::ORDER | Effects::VOLATILE | Effects::PINNED);
        if tells || is_asked_again { Waits::InLoops } else { Waits::No }
    };
    function.rows_of(block).map(|(_, head, _)| of_inst(head)).max().unwrap_or(Waits::No)
}

/// Whether a block without successors does nothing but end threads, or traps.
fn is_bare_end(function: &FunctionView<'_>, forms: &FormTable, block: BlockId) -> bool {
    let mut insts = function.insts_of(block).rev();
    let Some(last) = insts.next() else { return true };
    let head = function.heads[last.index()];
    let traps = forms.describe(head.form).operation == Operation::Trap;
    traps || head.marks.contains(Marks::CONTROL) && insts.next().is_none()
}
