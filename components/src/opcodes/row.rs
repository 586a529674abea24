//! One row of the opcode table, and the effects a row can state.
//!
//! A row pairs a mnemonic pattern with an operand signature. The signature language is small on purpose, so that
//! a row reads like the line of the PTX ISA manual it stands for:
//!
//! ```text
//! signature = slot { " " slot }          the top-level, comma-separated operands in textual order
//! slot      = part [ "|" part ] [ "?" | "*" ]   a pair d|p; "?" may be absent; "*" any number
//! part      = role type [ "/" accept+ ]
//! role      = "=" written  "~" read and written  "." read  "@" address in brackets
//!             "^" branch target  "&" a bare name
//! type      = "t" first type suffix, "t2" second ..., "w" twice the width of t, "x" unchecked,
//!             or a fundamental type (b32, pred, ...)
//! accept    = i immediate, _ sink, v vector, e sink as vector element, ! negated predicate,
//!             s component selector, n unary minus, a a symbol's address
//! ```

use bitflags::bitflags;

bitflags! {
    /// What executing an instruction does beside writing its register results.
    ///
    /// Stated by a table row, and completed by the engine's forms from the qualifiers of the mnemonic (`.volatile`,
    /// `.relaxed`, `.cc`, ...), which no row repeats.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct Effects: u32 {
        /// Reads memory.
        const READ = 1 << 0;
        /// Writes memory.
        const WRITE = 1 << 1;
        /// An atomic read-modify-write.
        const ATOMIC = 1 << 2;
        /// Bounds the motion of memory operations: fences, barriers, ordered accesses.
        const ORDER = 1 << 3;
        /// Other threads of the warp, CTA or cluster take part.
        const CONVERGENT = 1 << 4;
        /// Has an effect that is not in its results: never removed, moved or duplicated.
        const PINNED = 1 << 5;
        /// Results are still being written after the instruction issues.
        const ASYNC = 1 << 6;
        /// Two executions may differ in their results.
        const VOLATILE = 1 << 7;
        /// A direct branch; conditional when guarded.
        const BRANCH = 1 << 8;
        /// A branch through a table of targets.
        const BRANCH_INDEXED = 1 << 9;
        /// A call.
        const CALL = 1 << 10;
        /// Returns to the caller.
        const RETURN = 1 << 11;
        /// Ends the thread.
        const EXIT = 1 << 12;
        /// Stops the kernel with an error.
        const TRAP = 1 << 13;
        /// Reads the carry register.
        const CARRY_IN = 1 << 14;
        /// Writes the carry register (`.cc`).
        const CARRY_OUT = 1 << 15;
        /// The first two sources may change places.
        const COMMUTES = 1 << 16;
        /// Reads through a texture or surface.
        const TEXTURE = 1 << 17;
        /// Can neither fault nor take effect: may run where it did not run before.
        const SPECULATABLE = 1 << 18;
        /// Not in the table: every register it names is read and written.
        const UNKNOWN = 1 << 19;
        /// Only computes its results.
        const PURE = 0;
        /// Any way of leaving the straight line. `CALL` returns and is not among them.
        const CONTROL = Self::BRANCH.bits() | Self::BRANCH_INDEXED.bits() | Self::RETURN.bits()
            | Self::EXIT.bits() | Self::TRAP.bits();
        /// What forbids removing an instruction whose results are dead.
        const KEEPS = Self::WRITE.bits() | Self::ATOMIC.bits() | Self::ORDER.bits() | Self::CONVERGENT.bits()
            | Self::PINNED.bits() | Self::ASYNC.bits() | Self::CALL.bits() | Self::CONTROL.bits()
            | Self::UNKNOWN.bits();
    }
}

impl Effects {
    /// Both sets of effects: the `|` of constant tables.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        self.union(other)
    }
}

/// What an instruction has to do with registers that hardware uses after an instruction has issued (ISA, `wgmma` and
/// `tcgen05` families: such a register is not accessed before the wait).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum InFlight {
    /// Nothing.
    #[default]
    No,
    /// Its vectors of registers are in use until its group has been waited for (`wgmma.mma_async`).
    UntilGroup,
    /// Its vector is written until `tcgen05.wait::ld`.
    UntilLoadWait,
    /// Its vector is read until `tcgen05.wait::st`.
    UntilStoreWait,
    /// Orders register accesses before it with the groups after it (`wgmma.fence`).
    Fence,
    /// Makes a group of what was issued and is in none yet.
    Commit,
    /// Waits until at most as many groups are pending as its operand says.
    GroupWait,
    /// Waits for every load.
    LoadWait,
    /// Waits for every store.
    StoreWait,
}

/// A row of the opcode table: the instructions that match `pattern` take `signature` and have `effects`.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Root and required qualifiers, `mul*.wide` for a qualifier at any later place.
    pub pattern: &'static str,
    /// The operands, in the language of this module.
    pub signature: &'static str,
    /// What it does beside writing its results.
    pub effects: Effects,
    /// What it has to do with registers in flight.
    pub in_flight: InFlight,
}

impl Row {
    /// The row, with what it has to do with registers in flight.
    #[must_use]
    pub const fn with(self, in_flight: InFlight) -> Self {
        Self { in_flight, ..self }
    }
}

/// Writes a [`Row`] in table position.
#[must_use]
pub const fn row(pattern: &'static str, signature: &'static str, effects: Effects) -> Row {
    Row { pattern, signature, effects, in_flight: InFlight::No }
}
