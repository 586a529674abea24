//! Typed row numbers.
//!
//! An id is the row of its entity, counted from the first row of its function. Column access by id is plain
//! indexing; a wrong table is a type error. `Maybe<Id>` is the packed "perhaps an id".

use bytemuck::{Pod, Zeroable};
use std::fmt;
use std::marker::PhantomData;

/// A typed row number.
pub trait Id: Copy + Eq {
    /// The id of row `index`.
    fn new(index: usize) -> Self;
    /// The row number.
    fn index(self) -> usize;
}

/// Declares `u32` newtypes that implement [`Id`]; the second argument is the prefix that dumps print.
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident, $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Pod, Zeroable)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl Id for $name {
            #[inline(always)]
            fn new(index: usize) -> Self {
                debug_assert!(index < u32::MAX as usize);
                Self(index as u32)
            }
            #[inline(always)]
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    )*};
}

ids! {
    /// A function ("code object"), counted within its batch.
    CodeId, "code";
    /// An instruction, counted within its function.
    InstId, "i";
    /// A basic block, counted within its function (`bix`).
    BlockId, "bix";
    /// A virtual register, counted within its function.
    VRegId, "v";
    /// An interned instruction form.
    FormId, "form";
    /// An interned name.
    NameId, "name";
    /// An entry of the literal pool.
    LiteralId, "lit";
    /// A jump table, counted within its function.
    TableId, "table";
    /// A natural loop, counted within its function in a preorder of the nest.
    LoopId, "loop";
}

/// Perhaps an id, in four bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(transparent)]
pub struct Maybe<I>(u32, PhantomData<I>);

impl<I: Id> Maybe<I> {
    /// No id.
    pub const NONE: Self = Self(u32::MAX, PhantomData);

    /// Holds `id`.
    #[inline]
    #[must_use]
    pub fn some(id: I) -> Self {
        Self(id.index() as u32, PhantomData)
    }

    /// The id, if there is one.
    #[inline]
    #[must_use]
    pub fn get(self) -> Option<I> {
        (self.0 != u32::MAX).then(|| I::new(self.0 as usize))
    }

    /// Whether there is no id.
    #[inline]
    #[must_use]
    pub fn is_none(self) -> bool {
        self.0 == u32::MAX
    }
}

impl<I: Id> Default for Maybe<I> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<I: Id + fmt::Debug> fmt::Debug for Maybe<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Some(id) => id.fmt(f),
            None => f.write_str("none"),
        }
    }
}

/// A run of rows or pool entries: `first..first + count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Span {
    /// Index of the first entry.
    pub first: u32,
    /// Number of entries.
    pub count: u32,
}

impl Span {
    /// The entries `first..end`.
    #[inline]
    #[must_use]
    pub fn between(first: usize, end: usize) -> Self {
        debug_assert!(first <= end);
        Self { first: first as u32, count: (end - first) as u32 }
    }

    /// As an index range.
    #[inline]
    #[must_use]
    pub fn range(self) -> std::ops::Range<usize> {
        self.first as usize..self.end()
    }

    /// One past the last entry.
    #[inline]
    #[must_use]
    pub fn end(self) -> usize {
        self.first as usize + self.count as usize
    }

    /// Number of entries.
    #[inline]
    #[must_use]
    pub fn len(self) -> usize {
        self.count as usize
    }

    /// Whether there is no entry.
    #[inline]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.count == 0
    }
}
