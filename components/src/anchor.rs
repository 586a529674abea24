//! Anchors, declarations and tables: what a body holds beside instructions.

use crate::ids::{BlockId, InstId, NameId, Span};
use crate::types::StateSpace;
use bytemuck::{Pod, Zeroable};

/// What an [`Anchor`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnchorKind {
    /// A `.loc` line, perhaps with an inline site.
    Loc,
    /// A label that no branch names, but debug sections do.
    DebugLabel,
    /// A pragma that belongs to its block (`nounroll`), wherever in it it stood, and goes with it.
    BlockPragma,
    /// A pragma that belongs to the next instruction (`used_bytes_mask`).
    InstPragma,
    /// Any other directive in statement position, copied through.
    Directive,
}

/// Something bound to a place in the code.
///
/// Anchors of a function are sorted by place and written before the instruction at that place, in their order.
/// Sweeping an instruction moves its anchors to the next surviving place. Pragmas of a block come first in it: the PTX ISA,
/// "Pragma Strings", knows "nounroll" at its head alone, and `ptxas` heeds it anywhere in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// What it is.
    pub kind: AnchorKind,
    /// The instruction before which it stands. At the end of its block: the row after the block, or [`Anchor::END`]. Nothing of
    /// a pragma of a block.
    pub before: InstId,
    /// The block it stands in.
    pub block: BlockId,
    /// Its bytes in the module's text.
    pub text: Span,
}

impl Anchor {
    /// At the end of its block, whatever rows the block will hold.
    pub const END: InstId = InstId(u32::MAX);

    /// Whether it belongs to its block rather than to a place among the rows.
    #[must_use]
    pub fn is_of_block(&self) -> bool {
        self.kind == AnchorKind::BlockPragma
    }

    /// Whether its block is to stay a block of its own.
    #[must_use]
    pub fn pins_block(&self) -> bool {
        matches!(self.kind, AnchorKind::BlockPragma | AnchorKind::Directive)
    }
}

/// A variable declared in a body (`.local`, `.shared`, `.param`, ...).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decl {
    /// Bytes of the directives in front of the name.
    pub directives: Span,
    /// The name it is written with: another one where flattening scopes would make two meet.
    pub name: NameId,
    /// Bytes after the name: dimensions and initialiser.
    pub rest: Span,
    /// The space that it lies in; generic where the directives name none.
    pub space: StateSpace,
    /// Whether the name stands for a family, `name<8>`.
    pub is_family: bool,
    /// Whether the module names it outside of its functions too, as debug sections do.
    pub is_named_outside: bool,
    /// Bytes that it takes; 0 where the declaration does not say so in plain numbers.
    pub size: u32,
    /// Bytes of which its address is a multiple.
    pub align: u32,
}

/// What a [`Table`] lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// `.branchtargets`: blocks, in the target pool.
    Branch,
    /// `.calltargets`, copied through.
    Calls,
    /// `.callprototype`, copied through.
    Prototype,
}

/// A labelled list that branches or calls refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// What it lists.
    pub kind: TableKind,
    /// The label it is written with.
    pub name: NameId,
    /// Of a branch table: its blocks in the target pool.
    pub targets: Span,
    /// Otherwise: its bytes, from the directive up to the semicolon.
    pub text: Span,
}

/// A name: bytes of the module's text, or of the fresh-name buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Pod, Zeroable)]
#[repr(C)]
pub struct NameText {
    first: u32,
    length: u32,
}

impl NameText {
    const FRESH: u32 = 1 << 31;

    /// Bytes of the module's text.
    #[must_use]
    pub fn in_module(span: Span) -> Self {
        Self { first: span.first, length: span.count }
    }

    /// Bytes of the fresh-name buffer.
    #[must_use]
    pub fn fresh(span: Span) -> Self {
        Self { first: span.first, length: span.count | Self::FRESH }
    }

    /// The bytes, given both buffers.
    #[inline]
    #[must_use]
    pub fn bytes<'a>(self, module: &'a [u8], fresh: &'a [u8]) -> &'a [u8] {
        let buffer = if self.length & Self::FRESH == 0 { module } else { fresh };
        let first = self.first as usize;
        &buffer[first..first + (self.length & !Self::FRESH) as usize]
    }
}
