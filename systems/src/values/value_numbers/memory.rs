//! Versions of memory: which write a load may see the result of.
//!
//! Memory is divided into [chains](Chain) by what can write what a load reads. A chain is memory in SSA form: each store and
//! each fence makes a new version of it, and where versions meet, a version begins that is none of them. The version at the
//! start of any other block is the one at the end of its immediate dominator.
//!
//! A load looks back along its chain, past stores to [other places](super::places), and stops at the version that it may
//! see. Two loads of one address that stop at the same version read the same.
//!
//! Papers: Cytron et al. 1991 (versions and where they meet); Novillo 2007, "Memory SSA".

use super::frame::Reach;
use super::places::{Bytes, are_apart, are_same};
use ptxopt_components::ids::{BlockId, Id, InstId};
use ptxopt_components::types::StateSpace;
use ptxopt_engine::graph::dominator_tree::DominatorTree;
use ptxopt_engine::graph::iterated_frontier::IteratedFrontier;
use ptxopt_engine::store::view::FunctionView;

/// Memory that is written by the same instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Chain {
    /// `.global`.
    Global,
    /// `.shared` of the own CTA.
    Shared,
    /// `.local`.
    Local,
    /// The [frame](super::frame) of the function, through addresses that lead there for sure.
    Frame,
    /// What a generic address may reach.
    Any,
    /// What nothing writes while the kernel runs, as `.nc` and textures promise; fences bound it still.
    ReadOnly,
}

impl Chain {
    pub(super) const COUNT: usize = 6;
    const ALL: [Self; Self::COUNT] =
        [Self::Global, Self::Shared, Self::Local, Self::Frame, Self::Any, Self::ReadOnly];

    /// The chain of loads from a space; none where other CTAs write there, or no load is looked at.
    pub(super) const fn of(space: StateSpace) -> Option<Self> {
        match space {
            StateSpace::Global => Some(Self::Global),
            StateSpace::Shared => Some(Self::Shared),
            StateSpace::Local => Some(Self::Local),
            StateSpace::Generic => Some(Self::Any),
            StateSpace::SharedCluster | StateSpace::Const | StateSpace::Param => None,
        }
    }

    /// Whether `write` may write what its loads read; `local_is_private` where no generic address of local memory exists.
    fn is_written_by(self, write: Write, local_is_private: bool) -> bool {
        let part = if self == Self::Frame { Reach::Frame } else { Reach::Elsewhere };
        let is_written_at = |space| self.is_written_at(space, local_is_private);
        write.seen_by.meets(part) && write.space.is_none_or(is_written_at)
    }

    /// Whether a store to `space` may write what its loads read.
    const fn is_written_at(self, space: StateSpace, local_is_private: bool) -> bool {
        match self {
            Self::Frame => true,
            Self::Global => matches!(space, StateSpace::Global | StateSpace::Generic),
            Self::Shared => matches!(space, StateSpace::Shared | StateSpace::Generic),
            // A parameter whose address is taken lies in local memory (PTX ISA, "Parameter State Space").
            Self::Local if local_is_private => matches!(space, StateSpace::Local | StateSpace::Param),
            Self::Local => matches!(space, StateSpace::Local | StateSpace::Generic | StateSpace::Param),
            Self::Any => !(local_is_private && matches!(space, StateSpace::Local)),
            Self::ReadOnly => false,
        }
    }
}

/// A version of a chain, among all versions of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version(pub u32);

/// What began a version.
#[derive(Clone, Copy, Debug)]
enum Began {
    /// The start of the function or a place where versions meet, or an instruction that may have changed anything.
    Anyhow,
    /// A store of these bytes by this instruction; perhaps, where it has a guard.
    Store(InstId, bool, Bytes),
}

/// What a load sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// What was there in a version.
    Version(Version),
    /// What this instruction stored: just the bytes that are read.
    Stored(InstId),
}

/// What changes memory: the block of an instruction, and what it writes.
#[derive(Clone, Copy)]
pub(super) struct Change {
    pub block: BlockId,
    pub write: Write,
}

/// What an instruction may write.
#[derive(Clone, Copy)]
pub(super) struct Write {
    /// Where it is a store, the space; none where it may change anything.
    pub space: Option<StateSpace>,
    /// What may see it.
    pub seen_by: Reach,
}

/// Versions that a load looks past. Code that was unrolled stores some dozens of values in a row.
const STEPS_MAX: u32 = 256;

/// The chains of a function.
#[derive(Default)]
pub(super) struct Chains {
    /// The version before each one, and what began it.
    versions: Vec<(Version, Began)>,
    /// Those that something is loaded from.
    used: [bool; Chain::COUNT],
    current: [u32; Chain::COUNT],
    /// By block: the versions at its end.
    at_end: Vec<[u32; Chain::COUNT]>,
    /// By block: the chains of which versions meet at its start, as bits.
    meets: Vec<u8>,
    frontier: IteratedFrontier,
    changing: Vec<BlockId>,
    /// Stores and loads that were found to be apart, where they are asked for.
    pub(super) apart: Option<Vec<(InstId, InstId)>>,
    /// Whether no generic address of local memory exists in the function.
    local_is_private: bool,
    /// Looks that ended at the limit.
    pub(super) limit_hits: u64,
}

impl Chains {
    /// Makes ready for a function in which `changes` change memory, in program order, and loads read `used` chains.
    pub(super) fn start(
        &mut self,
        function: &FunctionView<'_>,
        tree: &DominatorTree,
        used: &[Chain],
        changes: &[Change],
        local_is_private: bool,
    ) {
        self.start_apart();
        self.local_is_private = local_is_private;
        self.used = [false; Chain::COUNT];
        used.iter().for_each(|&chain| self.used[chain as usize] = true);
        if used.is_empty() {
            return;
        }
        self.meets.resize(function.blocks.len(), 0);
        self.at_end.resize(function.blocks.len(), [0; Chain::COUNT]);
        self.frontier.start();
        for chain in Chain::ALL.into_iter().filter(|&chain| self.used[chain as usize]) {
            let changing =
                changes.iter().filter(|change| chain.is_written_by(change.write, local_is_private));
            self.changing.clear();
            self.changing.extend(changing.map(|change| change.block));
            self.changing.dedup();
            let Self { meets, frontier, changing, .. } = self;
            frontier.find(function, tree, changing.iter().copied(), |join| {
                meets[join.index()] |= 1 << chain as u8;
                true
            });
        }
    }

    /// Makes ready for blocks of which each begins with [`Self::clobber`].
    pub(super) fn start_apart(&mut self) {
        self.local_is_private = false;
        self.limit_hits = 0;
        // Each chain begins with a version of its own: a store may be one of the chain that it is seen in and not of another.
        self.current = std::array::from_fn(|chain| chain as u32);
        self.versions.clear();
        self.versions.extend(self.current.map(|version| (Version(version), Began::Anyhow)));
        self.used = [true; Chain::COUNT];
        self.meets.clear();
        self.at_end.clear();
    }

    /// Goes to the start of a block, after all blocks that dominate it.
    pub(super) fn enter(&mut self, function: &FunctionView<'_>, block: BlockId) {
        if self.at_end.is_empty() {
            return;
        }
        if let Some(idom) = function.orders[block.index()].idom.get() {
            self.current = self.at_end[idom.index()];
        }
        let meets = self.meets[block.index()];
        for chain in Chain::ALL.into_iter().filter(|&chain| meets & 1 << chain as u8 != 0) {
            self.begin(chain, Began::Anyhow);
        }
    }

    /// Leaves a block at its end.
    pub(super) fn leave(&mut self, block: BlockId) {
        if !self.at_end.is_empty() {
            self.at_end[block.index()] = self.current;
        }
    }

    /// Goes past an instruction that writes something, not known where.
    pub(super) fn write(&mut self, write: Write) {
        self.begin_each(write, Began::Anyhow);
    }

    /// Goes past a store of `bytes`.
    pub(super) fn store(&mut self, inst: InstId, is_guarded: bool, bytes: Bytes, write: Write) {
        self.begin_each(write, Began::Store(inst, is_guarded, bytes));
    }

    /// Begins a version of each chain that is written.
    fn begin_each(&mut self, write: Write, began: Began) {
        for chain in Chain::ALL {
            if self.used[chain as usize] && chain.is_written_by(write, self.local_is_private) {
                self.begin(chain, began);
            }
        }
    }

    fn begin(&mut self, chain: Chain, began: Began) {
        let before = std::mem::replace(&mut self.current[chain as usize], self.versions.len() as u32);
        self.versions.push((Version(before), began));
    }

    /// The version here.
    pub(super) fn current(&self, chain: Chain) -> Version {
        Version(self.current[chain as usize])
    }

    /// What `load`, of `bytes` from `chain`, sees here.
    pub(super) fn seen(&mut self, load: InstId, chain: Chain, bytes: Bytes) -> Seen {
        let mut version = Version(self.current[chain as usize]);
        for _ in 0..STEPS_MAX {
            match self.versions[version.0 as usize] {
                (before, Began::Store(store, _, stored)) if are_apart(stored, bytes) => {
                    version = before;
                    self.apart.iter_mut().for_each(|apart| apart.push((store, load)));
                }
                (_, Began::Store(inst, false, stored)) if are_same(stored, bytes) => {
                    return Seen::Stored(inst);
                }
                _ => return Seen::Version(version),
            }
        }
        self.limit_hits += 1;
        Seen::Version(version)
    }
}
