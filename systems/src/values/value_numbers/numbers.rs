//! The numbers of a function, and what is found with them.

use super::around_loops::AroundLoops;
use super::frame::{Frame, Reach, address_of_load};
use super::meanings::{Meanings, Memory, Source as From};
use super::memory::{Chain, Chains, Change, Write};
use super::overwritten::Overwritten;
use super::postponed::Postponed;
use super::table::Table;
use super::walk::Walk;
use ahash::AHashMap;
use ptxopt_components::anchor::{AnchorKind, Decl};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id, InstId, NameId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::types::{StateSpace, truncate};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::dominator_tree::DominatorTree;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::reaching::{Reaching, Value};

/// An instruction whose results are known before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Again {
    /// The instruction.
    pub inst: InstId,
    /// What its results are.
    pub known: Known,
}

/// What is known of the results of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The only one has this number.
    Number(u32),
    /// They have the numbers of the results of another instruction, one by one.
    LikeResultsOf(InstId),
    /// Another instruction computed them under the same guard, and its results still hold them.
    HeldByResultsOf(InstId),
}

/// A comparison that is true exactly where another one is false.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opposed {
    /// The comparison, whose result is known from nothing else.
    pub inst: InstId,
    /// The number of what the other one leaves.
    pub number: u32,
    /// How many instructions with known results come before it.
    pub known_before: usize,
}

/// Where a value can be had from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A register.
    Register(VRegId),
    /// A constant: an operand that takes no pool, or the bits of a longer one.
    Constant(Constant),
}

/// A constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Constant {
    /// The bits, those of an integer extended with its sign.
    pub(super) bits: u64,
    /// Whether they are those of a float.
    pub(super) is_float: bool,
    /// Bits of the value.
    pub(super) width: u32,
}

impl Constant {
    /// The bits, the unused ones 0.
    #[must_use]
    pub fn bits(self) -> u64 {
        truncate(self.bits, self.width)
    }
}

/// What accesses can reach: stores, and loads.
#[derive(Default)]
pub(super) struct Reached {
    pub stores: Vec<(InstId, Reach)>,
    pub loads: Vec<(InstId, Reach)>,
}

/// A number that is no register's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Other {
    Constant(Constant),
    Variable(VRegId, Value),
}

/// The numbers of the values of a function. Its memory is used again.
#[derive(Default)]
pub struct ValueNumbers {
    pub(super) meanings: Meanings,
    pub(super) chains: Chains,
    pub(super) frame: Frame,
    pub(super) overwritten: Overwritten,
    /// By register; [`NO_NUMBER`] where it is no value.
    pub(super) numbers: Vec<u32>,
    others: Vec<Other>,
    other_numbers: AHashMap<Other, u32>,
    pub(super) table: Table,
    pub(super) around_loops: AroundLoops,
    pub(super) postponed: Postponed,
    /// Stores and loads, and what each can reach, where they are asked for.
    pub(super) reached: Option<Reached>,
    changes: Vec<Change>,
    used: Vec<Chain>,
    /// Variables of the body, and their bytes where these are known; parameters of calls among them.
    pub(super) variables: AHashMap<NameId, Option<u32>>,
    pub(super) again: Vec<Again>,
    pub(super) opposites: Vec<Opposed>,
    /// Instructions with a pragma of their own, in order: of the bytes that a `used_bytes_mask` leaves out nothing is known.
    pub(super) masked: Vec<InstId>,
    /// Whether some declaration of the body is a family, whose members are not listed.
    pub(super) has_families: bool,
    /// Whether what a move moves is not taken for the same.
    pub(super) moves_are_opaque: bool,
}

pub(super) const NO_NUMBER: u32 = u32::MAX;

impl ValueNumbers {
    /// Whether what a move moves is taken for the same from now on. It is at first.
    pub fn see_through_moves(&mut self, are_seen_through: bool) {
        self.moves_are_opaque = !are_seen_through;
    }

    /// Numbers the values of a function in SSA form whose instruction ids are in program order; with `assumes`, phis of a loop
    /// are equal unless they are seen to differ.
    pub fn find(
        &mut self,
        function: &FunctionView<'_>,
        forms: &FormTable,
        reaching: &mut Reaching,
        assumes: bool,
    ) {
        self.around_loops.start(assumes);
        self.meanings.update(forms);
        self.frame.find(function, forms, &self.meanings);
        loop {
            self.start(function);
            self.postponed.start(function);
            let local_is_private = self.list_changes(function, forms);
            self.overwritten.local_is_private = local_is_private;
            self.chains.start(function, reaching.tree(), &self.used, &self.changes, local_is_private);
            self.walk(function, forms, reaching, &mut |chains, _, block| {
                chains.enter(function, block);
                true
            });
            if self.around_loops.holds(function, &self.numbers) {
                return;
            }
        }
    }

    /// As [`Self::find`], in the blocks that are `wanted` only: each begins with memory of which nothing is known, and what is
    /// computed elsewhere is equal to nothing.
    pub fn find_in(
        &mut self,
        function: &FunctionView<'_>,
        forms: &FormTable,
        reaching: &mut Reaching,
        mut wanted: impl FnMut(&DominatorTree, BlockId) -> bool,
    ) {
        self.around_loops.start(false);
        self.meanings.update(forms);
        self.start(function);
        self.postponed.forbid();
        self.frame.forget();
        self.overwritten.local_is_private = false;
        self.chains.start_apart();
        self.walk(function, forms, reaching, &mut |chains, tree, block| {
            let is_wanted = wanted(tree, block);
            if is_wanted {
                chains.write(Write { space: None, seen_by: Reach::Anywhere });
            }
            is_wanted
        });
    }

    /// Visits the blocks that `enters` wants to go into, each after those that dominate it.
    fn walk(
        &mut self,
        function: &FunctionView<'_>,
        forms: &FormTable,
        reaching: &mut Reaching,
        enters: &mut dyn FnMut(&mut Chains, &DominatorTree, BlockId) -> bool,
    ) {
        for at in 0..reaching.tree().preorder().len() {
            let block = reaching.tree().preorder()[at];
            if !enters(&mut self.chains, reaching.tree(), block) {
                continue;
            }
            let mut walk = Walk { numbers: self, function, forms, reaching, block };
            for (inst, head, operands) in function.rows_in(function.blocks[block.index()].insts) {
                if head.is_phi() {
                    walk.visit_phi(inst, operands);
                } else {
                    let meaning = *walk.numbers.meanings.of(head.form);
                    walk.visit(inst, &meaning, head.opcode.is_guarded(), operands);
                }
                while let Some(due) = walk.numbers.postponed.take_due() {
                    walk.look_up_late(due);
                }
            }
            self.chains.leave(block);
            let is_end = function.succs(block).is_empty();
            self.overwritten.leave(is_end, self.frame.is_known_after(block));
        }
    }

    /// The instructions whose results are known before them, in the order of a preorder of the dominator tree.
    #[must_use]
    pub fn again(&self) -> &[Again] {
        &self.again
    }

    /// Comparisons that are true exactly where another one is false, in the order of a preorder of the dominator tree.
    #[must_use]
    pub fn opposites(&self) -> &[Opposed] {
        &self.opposites
    }

    /// Stores whose bytes are stored again before anything can look at them, where of the loads whose values are known only
    /// those that `stay` look.
    pub fn overwritten(&mut self, stays: impl Fn(InstId) -> bool) -> &[InstId] {
        self.overwritten.found(stays)
    }

    /// Lets the stores and loads be listed that are found to be apart: what an oracle of such answers asks.
    pub fn list_apart(&mut self) {
        self.chains.apart = Some(Vec::new());
        self.overwritten.apart = Some(Vec::new());
        self.reached = Some(Reached::default());
    }

    /// Stores and loads that were found to touch no byte in common: the last store before each load, by one thread in one call.
    pub fn apart(&self) -> impl Iterator<Item = (InstId, InstId)> {
        let by_distance = [&self.chains.apart, &self.overwritten.apart].into_iter().flatten().flatten();
        let by_reach = self.reached.iter().flat_map(|Reached { stores, loads }| {
            let pairs = stores.iter().flat_map(|store| loads.iter().map(move |load| (store, load)));
            let apart = pairs.filter(|(store, load)| !store.1.meets(load.1));
            apart.map(|(store, load)| (store.0, load.0))
        });
        by_distance.copied().chain(by_reach)
    }

    /// How many numbers there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.numbers.len() + self.others.len()
    }

    /// The number of what a register holds that is a value; of others it says nothing.
    #[must_use]
    pub fn of(&self, vreg: VRegId) -> u32 {
        self.numbers[vreg.index()]
    }

    /// Gives a register a number.
    pub(super) fn give(&mut self, vreg: VRegId, number: u32) {
        self.numbers[vreg.index()] = number;
        self.postponed.give(number);
    }

    /// Where a number can be had from without a look at where it is defined: from its first register, or it is a constant.
    #[must_use]
    pub fn source(&self, number: u32) -> Option<Source> {
        match (number as usize).checked_sub(self.numbers.len()) {
            None => Some(Source::Register(VRegId(number))),
            Some(other) => match self.others[other] {
                Other::Constant(constant) => Some(Source::Constant(constant)),
                Other::Variable(..) => None,
            },
        }
    }

    /// Looks at memory that ended at the limit, and phis that were assumed to be equal too often.
    #[must_use]
    pub fn limit_hits(&self) -> u64 {
        self.chains.limit_hits + self.around_loops.limit_hits
    }

    fn start(&mut self, function: &FunctionView<'_>) {
        self.numbers.clear();
        self.numbers.extend(
            function
                .vregs
                .iter()
                .zip(0..)
                .map(|(vreg, number)| if !vreg.is_value() { NO_NUMBER } else { number }),
        );
        self.others.clear();
        self.other_numbers.clear();
        if self.table.start(function.heads.len()) {
            self.other_numbers = AHashMap::new();
            self.variables = AHashMap::new();
        }
        self.again.clear();
        self.opposites.clear();
        self.variables.clear();
        let size = |decl: &Decl| (decl.size != 0 && !decl.is_family).then_some(decl.size);
        self.variables.extend(function.decls.iter().map(|decl| (decl.name, size(decl))));
        self.has_families = function.decls.iter().any(|decl| decl.is_family);
        let pragmas = function.anchors.iter().filter(|anchor| anchor.kind == AnchorKind::InstPragma);
        self.masked.clear();
        self.masked.extend(pragmas.map(|anchor| anchor.before));
        self.masked.sort_unstable();
        self.overwritten.start();
    }

    /// Lists what changes memory, and the chains that more than one access reads, or one that another one writes. Says whether
    /// no generic address of local memory exists: none is made in the function, which calls no other, and no other calls it.
    /// A generic access by name (`ld.u32 %r1, [depot]`) may be one of a local variable, too.
    fn list_changes(&mut self, function: &FunctionView<'_>, forms: &FormTable) -> bool {
        let Self { meanings, changes, used, frame, .. } = self;
        changes.clear();
        used.clear();
        let mut local_is_private = function.state.flags.contains(CodeFlags::ENTRY);
        let mut loads = [0u32; Chain::COUNT];
        for (inst, head) in function.heads.iter().enumerate().filter(|(_, head)| head.is_live()) {
            let meaning = meanings.of(head.form);
            if !meaning.is_of_memory {
                continue;
            }
            let (inst, block) = (InstId::new(inst), head.block);
            if let From::Load(chain) = meaning.source {
                let chain = if frame.is_unknown() {
                    chain
                } else {
                    let address = address_of_load(function.operands_of(inst));
                    let space = forms.get(head.form).space;
                    address.map_or(chain, |address| frame.chain(chain, address, space))
                };
                loads[chain as usize] += 1;
                if loads[chain as usize] == 1 {
                    used.push(chain);
                }
            }
            let is_generic = matches!(meaning.source, From::Load(Chain::Any))
                || meaning.memory == Memory::Store(StateSpace::Generic);
            local_is_private &=
                !(meaning.makes_generic || is_generic && has_name(function.operands_of(inst)));
            let space = match meaning.memory {
                Memory::Untouched | Memory::Look | Memory::ReadParameter => continue,
                Memory::WriteParameter => Some(StateSpace::Param),
                Memory::Store(space) => Some(space),
                Memory::Clobber => None,
            };
            let seen_by = if frame.is_unknown() {
                Reach::Anywhere
            } else {
                let is_store = matches!(meaning.memory, Memory::Store(_));
                let place = space.filter(|_| is_store).map(|space| (function.operands_of(inst)[0], space));
                frame.seen_by(block, inst, frame.reach(block, inst, place))
            };
            changes.push(Change { block, write: Write { space, seen_by } });
        }
        let is_store = |change: &Change| change.write.space.is_some_and(|space| space != StateSpace::Param);
        let has_stores = changes.iter().any(is_store);
        used.retain(|&chain| loads[chain as usize] > 1 || has_stores && chain != Chain::ReadOnly);
        local_is_private
    }

    /// The number of something that is no register.
    pub(super) fn number_of(&mut self, other: Other) -> u32 {
        let next = (self.numbers.len() + self.others.len()) as u32;
        let number = *self.other_numbers.entry(other).or_insert(next);
        if number == next {
            self.others.push(other);
        }
        number
    }
}

/// Whether a place is given by a name (`[depot+8]`, `depot[2]`), not by a register.
fn has_name(operands: &[Operand]) -> bool {
    operands.iter().any(|operand| matches!(operand.kind(), OperandKind::Symbol(_) | OperandKind::Text(_)))
}
