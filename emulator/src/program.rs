//! A module's code, decoded: one flat list of operations over register slots.

use crate::arith::Evaluator;
use crate::atomics::Update;
use crate::lanes::Lanes;
use crate::source::headers::Header;
use crate::tensor::{MatrixMove, WarpEvaluator, WmmaFragment};
use ahash::AHashMap;
use ptxopt_components::types::StateSpace;

/// Results that an operation may have.
pub const RESULTS_MAX: usize = 64;

/// Sources of an evaluator.
pub const SOURCES_MAX: usize = 64;

/// Bytes of the widest access.
pub const ACCESS_MAX: usize = 32;

/// The barrier of the cluster, after the sixteen that programs can name.
pub const CLUSTER_BARRIER: u64 = 1 << 32;

/// The code of a module.
#[derive(Default)]
pub struct Program {
    /// Operations of all functions, each function in one piece. A pc is an index here.
    pub ops: Vec<Op>,
    /// Functions with bodies.
    pub functions: Vec<Function>,
    /// Headers of functions without.
    pub prototypes: Vec<Header>,
    /// Literals and addresses, spread over the lanes.
    pub constants: Vec<Lanes>,
    /// Registers with a constant after them that stand as values.
    pub sums: Vec<Sum>,
    /// Byte offset of each line of the text.
    pub line_starts: Vec<u32>,
}

impl Program {
    /// Line of byte `offset`, from 1.
    #[must_use]
    pub fn line(&self, offset: u32) -> u32 {
        self.line_starts.partition_point(|&start| start <= offset) as u32
    }
}

/// A function with a body.
pub struct Function {
    /// Its header.
    pub header: Header,
    /// Whether it is a kernel.
    pub is_entry: bool,
    /// Its first operation.
    pub first: u32,
    /// Register slots of a frame.
    pub slots: u32,
    /// Bytes of local memory of a frame.
    pub local_size: u64,
    /// Alignment of that memory.
    pub local_align: u64,
    /// Where arguments go.
    pub parameters: Vec<FormalPlace>,
    /// Where results are found.
    pub results: Vec<FormalPlace>,
    /// Where variables and parameters lie in the frame's local memory.
    pub places: AHashMap<String, Place>,
    /// Parts of that memory that nothing owns.
    pub gaps: Vec<Place>,
}

/// A part of a frame's local memory.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Bytes from the start of the frame.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

/// Where a parameter or result is.
#[derive(Clone, Copy, Debug)]
pub enum FormalPlace {
    /// Registers of the frame.
    Register(Target, u32),
    /// Bytes of the frame's local memory: offset and size.
    Frame(u64, u64),
    /// Bytes of the kernel's parameters: address and size.
    Kernel(u64, u64),
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A register slot of the frame.
    Slot(u32),
    /// An entry of [`Program::constants`].
    Constant(u32),
    /// A special register: its row and component.
    Special(u16, u8),
    /// The local address of byte `.0` of the frame.
    Frame(u32),
    /// An entry of [`Program::sums`].
    Sum(u32),
}

/// `r + 1` as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// The slot of the register.
    pub slot: u32,
    /// What is added.
    pub addend: u64,
    /// Ones for the register's width, at which it is added.
    pub mask: u64,
}

/// Where a value goes: a register slot and the bits that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The slot, or [`Target::SINK`].
    pub slot: u32,
    /// Ones for the register's width.
    pub mask: u64,
}

impl Target {
    /// The slot number of `_`.
    pub const SINK_SLOT: u32 = u32::MAX;
    /// The sink `_`.
    pub const SINK: Self = Self { slot: Self::SINK_SLOT, mask: 0 };
}

/// The guard of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    slot: u32,
    /// Whether `!` stands in front.
    pub negated: bool,
}

impl Guard {
    /// No guard.
    pub const NONE: Self = Self { slot: u32::MAX, negated: false };

    /// The guard in `slot`.
    #[must_use]
    pub fn new(slot: u32, negated: bool) -> Self {
        Self { slot, negated }
    }

    /// The slot, if there is a guard.
    #[inline]
    #[must_use]
    pub fn slot(self) -> Option<u32> {
        (self.slot != u32::MAX).then_some(self.slot)
    }
}

/// One operation.
pub struct Op {
    /// What it does.
    pub kind: Kind,
    /// When.
    pub guard: Guard,
    /// Byte offset of its statement in the module's text.
    pub offset: u32,
}

/// An address operand.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    /// The register or symbol.
    pub base: Source,
    /// Bytes after it.
    pub offset: i64,
    /// The bits that a sum of both keeps.
    pub mask: u64,
    /// The space that it is in.
    pub space: StateSpace,
}

/// A load.
pub struct Load {
    /// From where.
    pub address: Address,
    /// Where each element goes; two cells an element of 128 bits.
    pub targets: Box<[Target]>,
    /// Bytes of a cell in memory.
    pub cell_bytes: u8,
    /// Bytes of the whole access.
    pub bytes: u32,
    /// Whether narrow values extend their sign.
    pub is_signed: bool,
    /// Whether other threads may be waited for with it.
    pub is_ordered: bool,
}

/// A store.
pub struct Store {
    /// To where.
    pub address: Address,
    /// What; two cells an element of 128 bits.
    pub sources: Box<[Source]>,
    /// Bytes of a cell in memory.
    pub cell_bytes: u8,
    /// Bytes of the whole access.
    pub bytes: u32,
    /// Whether other threads may wait for it.
    pub is_ordered: bool,
}

/// `atom` and `red`.
pub struct Atomic {
    /// On what.
    pub address: Address,
    /// What becomes of each cell in memory.
    pub update: Update,
    /// Cells of the access: elements of a vector, or two of a 128-bit value.
    pub cells: u8,
    /// Bytes of a cell.
    pub cell_bytes: u8,
    /// Whether all cells are one value.
    pub is_whole: bool,
    /// Operand b, one a cell.
    pub b: Box<[Source]>,
    /// Operand c of `cas`, one a cell.
    pub c: Box<[Source]>,
    /// Where the old values go; empty for `red`.
    pub targets: Box<[Target]>,
}

/// An arithmetic instruction.
pub struct Evaluate {
    /// What it computes.
    pub evaluator: Evaluator,
    /// From what.
    pub sources: Box<[Source]>,
    /// Into what.
    pub targets: Box<[Target]>,
}

/// How `shfl` picks its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShuffleMode {
    /// From `lane - b`.
    Up,
    /// From `lane + b`.
    Down,
    /// From `lane ^ b`.
    Butterfly,
    /// From lane b.
    Index,
}

/// What `vote` asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VoteMode {
    /// True for all.
    All,
    /// True for some.
    Any,
    /// The same for all.
    Uniform,
    /// A bit a lane.
    Ballot,
}

/// What `redux` computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReduxMode {
    /// Sum.
    Add,
    /// Smallest and largest, signed.
    MinSigned,
    /// Largest, signed.
    MaxSigned,
    /// Smallest, unsigned.
    MinUnsigned,
    /// Largest, unsigned.
    MaxUnsigned,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Smallest or largest `f32`.
    Float {
        /// Largest.
        is_max: bool,
        /// Of absolute values.
        is_abs: bool,
        /// NaN wins.
        keeps_nan: bool,
    },
}

/// What lanes of a warp compute together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Together {
    /// `shfl`: sources a, b, c.
    Shuffle(ShuffleMode),
    /// `vote`: the predicate.
    Vote(VoteMode),
    /// `match.any`, `match.all`: the value, of 4 or 8 bytes.
    Match {
        /// Whether all must agree.
        is_all: bool,
        /// The bits that are compared.
        mask: u64,
    },
    /// `redux`: the value.
    Redux(ReduxMode),
    /// `elect`.
    Elect,
    /// `bar.warp.sync`.
    Barrier,
}

/// An instruction of several lanes of a warp.
pub struct WarpOp {
    /// What they compute.
    pub together: Together,
    /// The membermask; none where the lanes that are active take part.
    pub members: Option<Source>,
    /// Number of the mnemonic: lanes meet where it and the mask are the same.
    pub qualifiers: u32,
    /// What each lane brings.
    pub sources: Box<[Source]>,
    /// Whether `!` stands before the predicate of a vote.
    pub is_negated: bool,
    /// Result and predicate.
    pub targets: Box<[Target]>,
}

/// What a barrier does with the threads that arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierMode {
    /// Waits.
    Sync,
    /// Does not wait.
    Arrive,
    /// Waits and counts the true predicates.
    CountTrue,
    /// Waits and says whether all predicates are true.
    AllTrue,
    /// Waits and says whether some predicate is true.
    AnyTrue,
}

/// `bar`, `barrier`.
pub struct BarrierOp {
    /// What happens.
    pub mode: BarrierMode,
    /// The barrier's number.
    pub id: Source,
    /// Number of threads; none for all of the CTA.
    pub count: Option<Source>,
    /// The predicate of a reduction.
    pub predicate: Option<(Source, bool)>,
    /// Its result.
    pub target: Target,
    /// All threads of a warp must execute it together.
    pub is_aligned: bool,
}

/// An operation on an `mbarrier` object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MBarrierAction {
    /// Makes it, with an expected count.
    Init,
    /// Ends its life.
    Invalidate,
    /// Arrives, perhaps leaving for good or expecting bytes.
    Arrive {
        /// Expect fewer arrivals from the next phase on.
        drops: bool,
        /// Expect bytes first.
        expects_bytes: bool,
        /// The phase may not complete now.
        never_completes: bool,
    },
    /// Expects more bytes.
    ExpectBytes,
    /// Bytes have come.
    CompleteBytes,
    /// Whether the phase of a state, or of a parity, has completed.
    Test {
        /// The operand is a parity.
        by_parity: bool,
    },
    /// The pending count of a state.
    PendingCount,
}

/// An operation on an `mbarrier` object with its operands.
pub struct MBarrierOp {
    /// What happens.
    pub action: MBarrierAction,
    /// The object.
    pub address: Address,
    /// Count, bytes, state or parity.
    pub operand: Option<Source>,
    /// State or predicate.
    pub target: Target,
}

/// Parts of asynchronous copies.
pub enum AsyncCopy {
    /// `cp.async`: copies at the wait.
    Start {
        /// Shared memory.
        to: Address,
        /// Global memory.
        from: Address,
        /// Bytes written.
        bytes: u32,
        /// Bytes read, the others are zero.
        source_bytes: Option<Source>,
        /// Write zeros only.
        ignores_source: Option<(Source, bool)>,
    },
    /// `cp.async.commit_group`.
    Commit,
    /// `cp.async.wait_group`: all groups but the last `.0`.
    WaitGroup(Source),
    /// `cp.async.wait_all`.
    WaitAll,
    /// `cp.async.mbarrier.arrive`.
    Arrive {
        /// The object.
        address: Address,
        /// Does not count as one of the expected arrivals.
        adds_pending: bool,
    },
}

/// An argument or result of a call.
#[derive(Clone, Copy, Debug)]
pub enum Actual {
    /// A register or constant.
    Value(Source),
    /// A register that takes a result.
    Into(Target),
    /// A `.param` variable: byte offset in the frame's local memory, and bytes.
    Frame(u64, u64),
    /// `_`.
    Nothing,
}

/// The callee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callee {
    /// A function with a body.
    Function(u32),
    /// One without.
    External(u32),
    /// What has this address.
    Address(Source),
}

/// A call.
pub struct Call {
    /// The callee.
    pub callee: Callee,
    /// Arguments.
    pub arguments: Box<[Actual]>,
    /// Results.
    pub results: Box<[Actual]>,
}

/// Matrices of a warp.
pub struct MatrixOp {
    /// What happens.
    pub action: MatrixAction,
    /// Registers that are read.
    pub sources: Box<[Source]>,
    /// Registers that are written.
    pub targets: Box<[Target]>,
}

/// What happens with matrices.
pub enum MatrixAction {
    /// `mma`, `wmma.mma`, `movmatrix`.
    Evaluate(WarpEvaluator),
    /// `ldmatrix`, `stmatrix`: each row has an address.
    Rows(MatrixMove, Address),
    /// `wmma.load`, `wmma.store`: address, and elements between rows.
    Fragment(WmmaFragment, Address, Option<Source>),
}

/// An instruction without a model.
pub struct Uninterpreted {
    /// Its mnemonic.
    pub mnemonic: String,
    /// Hash of the mnemonic.
    pub hash: u64,
    /// What it reads, in textual order.
    pub sources: Box<[Source]>,
    /// What it writes.
    pub targets: Box<[Target]>,
    /// Whether it goes into the log: it may do more than write its results.
    pub is_logged: bool,
    /// Whether the same inputs give a thread the same results again.
    pub is_repeatable: bool,
    /// Whether it is copied text that names a variable: what it does there is not known, and others may look.
    pub names_memory: bool,
}

/// What an operation does.
pub enum Kind {
    /// Nothing that can be seen.
    Nothing,
    /// Arithmetic.
    Evaluate(Box<Evaluate>),
    /// `mov`: all sources are read before a target is written.
    Copy(Box<[(Source, Target)]>),
    /// `mov`: one cell.
    Move(Source, Target),
    /// `mov d, {a, b}`: parts of `.1` bits, the lowest first, into cells of 64.
    Pack(Box<[Source]>, u32, Box<[Target]>),
    /// `mov {a, b}, d`: the opposite.
    Unpack(Box<[Source]>, u32, Box<[Target]>),
    /// `cvta`: adds the window of a space, or takes it away.
    Convert(Source, Target, StateSpace, bool),
    /// `isspacep`.
    IsSpace(Source, Target, StateSpace),
    /// `mapa`, `getctarank`: of a cluster of one CTA. The address stays, or rank 0 comes out; the rank must be 0.
    MapRank(Source, Target, Option<Source>),
    /// `activemask`.
    ActiveMask(Target),
    /// A load.
    Load(Box<Load>),
    /// A store.
    Store(Box<Store>),
    /// An atomic.
    Atomic(Box<Atomic>),
    /// Lanes of a warp together.
    Warp(Box<WarpOp>),
    /// A barrier of the CTA.
    Barrier(Box<BarrierOp>),
    /// An mbarrier object.
    MBarrier(Box<MBarrierOp>),
    /// Asynchronous copies.
    AsyncCopy(Box<AsyncCopy>),
    /// Something other threads may wait for, without an effect of its own: `nanosleep`.
    Pause,
    /// `bra`.
    Branch(u32),
    /// `brx.idx`.
    BranchIndexed(Source, Box<[u32]>),
    /// `call`.
    Call(Box<Call>),
    /// `ret`.
    Return,
    /// `exit`.
    Exit,
    /// `trap`, `brkpt`.
    Trap,
    /// Stands for the body of a function that is not decoded, and says why.
    Refused(&'static str),
    /// `alloca`: bytes, alignment.
    Allocate(Source, u64, Target),
    /// `stacksave`.
    StackSave(Target),
    /// `stackrestore`.
    StackRestore(Source),
    /// Matrices.
    Matrix(Box<MatrixOp>),
    /// Without a model.
    Uninterpreted(Box<Uninterpreted>),
}
