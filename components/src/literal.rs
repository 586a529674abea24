//! Literals that do not fit an operand: entries of the literal pool.

use bytemuck::{Pod, Zeroable};

/// A literal or text span that does not fit an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Literal {
    /// The value's bits; for text, the byte offset in the module.
    pub bits: u64,
    /// Length of a text in bytes, otherwise 0.
    pub length: u32,
    kind: u32,
}

/// What a [`Literal`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiteralKind {
    /// A signed 64-bit integer.
    Signed,
    /// An integer above the signed range.
    Unsigned,
    /// A double, by its bits.
    F64,
    /// Text of the module, by offset and length.
    Text,
}

impl Literal {
    /// A literal with the given bits.
    #[must_use]
    pub fn new(kind: LiteralKind, bits: u64) -> Self {
        debug_assert!(kind != LiteralKind::Text);
        Self { bits, length: 0, kind: kind as u32 }
    }

    /// Text of the module: `length` bytes from byte `offset`.
    #[must_use]
    pub fn text(offset: u32, length: u32) -> Self {
        Self { bits: u64::from(offset), length, kind: LiteralKind::Text as u32 }
    }

    /// What the literal holds.
    #[must_use]
    pub fn kind(&self) -> LiteralKind {
        match self.kind {
            0 => LiteralKind::Signed,
            1 => LiteralKind::Unsigned,
            2 => LiteralKind::F64,
            _ => LiteralKind::Text,
        }
    }
}
