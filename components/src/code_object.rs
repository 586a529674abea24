//! Code-object rows: the functions of a batch.

use crate::ids::Span;
use bevy_ecs::component::Component;
use bitflags::bitflags;
use bytemuck::{Pod, Zeroable};

/// Rows of its archetypes that a function may still take, after those that it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Room {
    /// Instruction rows.
    pub insts: u32,
    /// Block rows.
    pub blocks: u32,
    /// Virtual-register rows.
    pub vregs: u32,
}

/// Where the rows and pool entries of a function lie in its shard.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CodeSpans {
    /// Instruction rows.
    pub insts: Span,
    /// Block rows.
    pub blocks: Span,
    /// Virtual-register rows.
    pub vregs: Span,
    /// Anchors.
    pub anchors: Span,
    /// Declarations of the body.
    pub decls: Span,
    /// Jump tables, call-target lists and prototypes.
    pub tables: Span,
    /// Free rows after those of each kind.
    pub room: Room,
}

bitflags! {
    /// State of a function. The document offset of a bit stands beside it. Documented bits without a reader here are left
    /// out: 5 and 12 are free.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Pod, Zeroable)]
    #[repr(transparent)]
    pub struct CodeFlags: u32 {
        /// The structurizer took the function.
        const STRUCTURIZED = 1 << 0;
        /// A `.local` variable stays in memory for accesses in loops at computed addresses: what phase 22 looks at.
        const COMPUTED_LOCALS = 1 << 1;
        /// A terminator leaves the kernel early (+1369 bit 7).
        const EARLY_EXIT_SEEN = 1 << 2;
        /// A pragma names an attribute with which the structurizer leaves the function alone.
        const KEEPS_FLOW = 1 << 3;
        /// A pragma marks a block as a handler of exceptions.
        const HAS_FUNCLETS = 1 << 4;
        /// Some loop's interval of ranks is not its body (+1377 bit 5).
        const RPO_VIOLATION = 1 << 6;
        /// Is an `.entry`.
        const ENTRY = 1 << 7;
        /// Is passed through unchanged: phases skip it, the writer copies its text.
        const LEFT = 1 << 8;
        /// Every control-flow instruction ends its block (phase 6 has run).
        const TERMINATORS_LAST = 1 << 9;
        /// Selected by the fingerprint filter, or no filter is set.
        const SELECTED = 1 << 10;
        /// Holds tombstones that the next sweep removes.
        const HAS_TOMBSTONES = 1 << 11;
        /// Its instruction rows are not in program order: a block is chained, or got its rows later.
        const OUT_OF_ORDER = 1 << 13;
        /// In SSA form: it may have phis, and its registers have one definition each, but for pinned ones.
        const SSA = 1 << 14;
        /// Accesses to its `.local` variables were replaced: one that nothing names any more is not declared again.
        const DROPS_LOCALS = 1 << 15;
        /// Had registers that keep several definitions in SSA form: without it, none has to be looked for.
        const HAS_VARIABLES = 1 << 16;
    }
}

impl CodeFlags {
    /// What a phase asks of a function before it changes it.
    pub const WORKED_ON: CodeFlags = CodeFlags::SELECTED.union(CodeFlags::TERMINATORS_LAST);
    /// The same of a phase that knows values by their definitions alone.
    pub const WORKED_ON_IN_SSA: CodeFlags = CodeFlags::WORKED_ON.union(CodeFlags::SSA);
}

/// State, epochs and progress of a function.
///
/// An epoch counts changes; a fact remembers the epochs that it was computed at, so "is it current" is a comparison.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CodeState {
    /// State bits.
    pub flags: CodeFlags,
    /// Counts changes of instructions.
    pub inst_epoch: u32,
    /// Counts changes of blocks and edges.
    pub cfg_epoch: u32,
    /// Counts the times that instructions were given new ids.
    pub row_epoch: u32,
    /// Counts changes of what defines registers. In SSA form the end of a value is none: nothing reads it any more.
    pub def_epoch: u32,
    /// Instructions that are not deleted.
    pub live_insts: u32,
    /// Progress in the pipeline (+1552): 9 after phase 83, 19 after phase 95. Never falls.
    pub progress: u32,
}

impl CodeState {
    /// What every epoch of a function is when it has been read.
    pub const FIRST_EPOCH: u32 = 1;

    /// Whether neither code nor graph nor ids have changed since the function was read.
    #[inline]
    #[must_use]
    pub const fn is_as_read(&self) -> bool {
        self.inst_epoch == Self::FIRST_EPOCH
            && self.row_epoch == Self::FIRST_EPOCH
            && self.has_graph_as_read()
    }

    /// Whether blocks and edges are as they were when the function was read.
    #[inline]
    #[must_use]
    pub const fn has_graph_as_read(&self) -> bool {
        self.cfg_epoch == Self::FIRST_EPOCH
    }
}

/// What the header of a kernel promises of its launches; all zeros where it promises nothing, as for device functions, which
/// any kernel may call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct LaunchLimits {
    /// The most threads of a CTA, over all dimensions (`.maxntid`).
    pub threads_max: u32,
    /// The most registers of a thread (`.maxnreg`).
    pub registers_max: u32,
    /// CTAs that an SM shall hold (`.minnctapersm`).
    pub ctas_min: u32,
    /// Threads of a CTA along `x`, `y` and `z` (`.reqntid`); zeros where any will do.
    pub threads: [u32; 3],
    /// CTAs of a cluster along `x`, `y` and `z` (`.reqnctapercluster`), as far as they are named.
    pub cluster: [u32; 3],
}

/// Where a function stands in its module, and what its header says.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CodeText {
    /// Bytes of the header, from its first directive up to the brace.
    pub header: Span,
    /// Bytes of the body, both braces included.
    pub body: Span,
    /// Bytes of the name.
    pub name: Span,
    /// Instructions as read.
    pub insts_in: u32,
    /// Blocks as read, counted as phase 6 leaves them: each ends at its first control-flow instruction.
    pub blocks_in: u32,
    /// Virtual registers as read.
    pub vregs_in: u32,
    /// Number of its module in the batch.
    pub module: u32,
    /// The processor that its module is for, 90 of `sm_90a`; 0 where none is named.
    pub sm: u32,
    /// What is known of its launches.
    pub launch: LaunchLimits,
}
