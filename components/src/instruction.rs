//! Instruction rows.

use crate::ids::{BlockId, FormId, InstId, Span};
use crate::opcodes::Opcodes;
use crate::operand::Operand;
use bevy_ecs::component::Component;
use bitflags::bitflags;
use bytemuck::{Pod, Zeroable};

/// Number of operands that lie in the row itself; longer lists are a span in the operand pool.
///
/// Four hold most instructions (a destination, two or three sources, a guard): a sweep over inline operands costs
/// 1.3 ns where a span into a pool costs 2.3.
pub const OPERANDS_INLINE: usize = 4;

/// Opcode word: root opcode in bits 0-11, bit 12 "has a guard".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Pod, Zeroable)]
#[repr(transparent)]
pub struct OpcodeWord(pub u32);

impl OpcodeWord {
    /// What clears the guard bit and bit 13: the documents' mask, kept in this one place.
    pub const MASK: u32 = 0xFFFF_CFFF;
    const GUARD: u32 = 1 << 12;

    /// The word of root opcode `root`.
    #[must_use]
    pub fn new(root: u16, guarded: bool) -> Self {
        debug_assert!(root < 1 << 12);
        Self(u32::from(root) | if guarded { Self::GUARD } else { 0 })
    }

    /// The root opcode: bits 0 to 11.
    #[inline]
    #[must_use]
    pub const fn root(self) -> u16 {
        (self.0 & 0xFFF) as u16
    }

    /// The word without the guard bit.
    #[inline]
    #[must_use]
    pub const fn masked(self) -> u32 {
        self.0 & Self::MASK
    }

    /// Whether the instruction has a guard, which then is its last operand.
    #[inline]
    #[must_use]
    pub const fn is_guarded(self) -> bool {
        self.0 & Self::GUARD != 0
    }
}

bitflags! {
    /// What phases note on an instruction. Bits 12 to 15 are free; 8, 9 and 10 are those that the documents give
    /// to propagated, deferred and guarded, for the phases that will set them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Pod, Zeroable)]
    #[repr(transparent)]
    pub struct Marks: u16 {
        /// Deleted; the next sweep takes the row away.
        const TOMBSTONE = 1 << 0;
        /// Its form writes another operand than the first: who looks for definitions must look at all.
        const MORE_RESULTS = 1 << 1;
        /// Nothing moves across it.
        const PINNED = 1 << 2;
        /// Other threads take part.
        const CONVERGENT = 1 << 3;
        /// Has an effect beside its results: stays although they are dead.
        const KEPT = 1 << 4;
        /// Leaves the straight line.
        const CONTROL = 1 << 5;
        /// A way out of the straight line that the threads of a warp take alike, where the fact of uniformity holds.
        const UNIFORM = 1 << 6;
        /// Form and operands are as the reader made them: the editor takes the mark from what it writes.
        const AS_READ = 1 << 7;
        /// General optimization has looked at it since form or operands were written: the editor takes the mark from what it
        /// writes.
        const SETTLED = 1 << 11;
    }
}

impl Marks {
    /// The marks that say something of form and operands as they stand.
    pub const OF_WHAT_STANDS: Self = Self::AS_READ.union(Self::SETTLED);
}

/// What most phases read of an instruction: opcode, form, block, marks.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, Default, Pod, Zeroable)]
#[repr(C)]
pub struct InstHead {
    /// Root opcode and guard bit.
    pub opcode: OpcodeWord,
    /// The interned form.
    pub form: FormId,
    /// The block it lies in.
    pub block: BlockId,
    /// What phases noted.
    pub marks: Marks,
    /// Number of operands, the guard included.
    pub operand_count: u16,
}

impl InstHead {
    /// Whether the row is live.
    #[inline]
    #[must_use]
    pub const fn is_live(&self) -> bool {
        !self.marks.contains(Marks::TOMBSTONE)
    }

    /// The operands among which all are that the instruction writes, of its `operands`: the first alone, unless
    /// [`Marks::MORE_RESULTS`] says otherwise.
    #[inline]
    #[must_use]
    pub fn results<'a>(&self, operands: &'a [Operand]) -> &'a [Operand] {
        if self.marks.contains(Marks::MORE_RESULTS) { operands } else { &operands[..operands.len().min(1)] }
    }

    /// Whether the instruction is a phi: its operands are its result, then a block and a value for each predecessor.
    #[inline]
    #[must_use]
    pub const fn is_phi(&self) -> bool {
        self.opcode.root() == Opcodes::PHI_ROOT
    }
}

/// The operands of an instruction, or where they are.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct InstOperands {
    words: [Operand; OPERANDS_INLINE],
}

impl InstOperands {
    /// Stores `operands`, in `pool` when the row is too small.
    #[inline]
    #[must_use]
    pub fn store(operands: &[Operand], pool: &mut Vec<Operand>) -> Self {
        let mut row = Self::default();
        if operands.len() <= OPERANDS_INLINE {
            row.words[..operands.len()].copy_from_slice(operands);
        } else {
            row = Self::pooled(Span::between(pool.len(), pool.len() + operands.len()));
            pool.extend_from_slice(operands);
        }
        row
    }

    /// A row whose operands are `span` of the pool.
    #[must_use]
    pub fn pooled(span: Span) -> Self {
        let mut row = Self::default();
        row.words[0] = bytemuck::cast(span);
        row
    }

    /// The first `count` operands.
    #[inline]
    #[must_use]
    pub fn get<'a>(&'a self, count: u16, pool: &'a [Operand]) -> &'a [Operand] {
        let count = count as usize;
        if count <= OPERANDS_INLINE { &self.words[..count] } else { &pool[self.span(count)] }
    }

    /// The first `count` operands, and after them what is left of the row: operands that name nothing
    /// ([`Operand::default`]).
    ///
    /// Which operands are registers, and how many there are, changes from instruction to instruction, so a branch on either is often
    /// mispredicted. Rows of one length, taken without a look at what they hold, have no such branch: a gain where a pass
    /// only counts or asks for one thing of many, a loss where it does more (docs/PERFORMANCE.md).
    #[inline]
    #[must_use]
    pub fn padded<'a>(&'a self, count: u16, pool: &'a [Operand]) -> &'a [Operand] {
        let count = count as usize;
        if count <= OPERANDS_INLINE { &self.words } else { &pool[self.span(count)] }
    }

    /// The first of `count` operands. Where there is none, one that names nothing.
    #[inline]
    #[must_use]
    pub fn first(&self, count: u16, pool: &[Operand]) -> Operand {
        let count = count as usize;
        if count <= OPERANDS_INLINE { self.words[0] } else { pool[self.span(count).start] }
    }

    /// The first `count` operands, to change in place.
    #[inline]
    #[must_use]
    pub fn get_mut<'a>(&'a mut self, count: u16, pool: &'a mut [Operand]) -> &'a mut [Operand] {
        let count = count as usize;
        if count <= OPERANDS_INLINE { &mut self.words[..count] } else { &mut pool[self.span(count)] }
    }

    /// Where in the pool the first `count` operands are; none where they lie in the row.
    #[inline]
    #[must_use]
    pub fn pool_span(&self, count: u16) -> Option<Span> {
        (count as usize > OPERANDS_INLINE).then(|| bytemuck::cast(self.words[0]))
    }

    fn span(&self, count: usize) -> std::ops::Range<usize> {
        let span: Span = bytemuck::cast(self.words[0]);
        debug_assert_eq!(span.len(), count);
        span.range()
    }
}

/// The neighbours of an instruction in a chained block ([`crate::block::BlockFlags::CHAINED`]).
///
/// The chain is a ring: the first row's `prev` is the last row, whose `next` is the first. In other blocks the rows stand
/// one after the other and their links mean nothing.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct InstLinks {
    /// The row before.
    pub prev: InstId,
    /// The row after.
    pub next: InstId,
}

/// Where an instruction comes from.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct InstPlace {
    /// Byte offset of the statement in the module's text.
    pub offset: u32,
}
