//! Shapes of matrix products: `m16n8k16`.

/// D of `rows` by `columns` is the product over `depth`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows of A, C and D.
    pub rows: usize,
    /// Columns of B, C and D.
    pub columns: usize,
    /// Columns of A and rows of B.
    pub depth: usize,
}

impl Shape {
    /// The shape named `word`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let (rows, rest) = word.strip_prefix('m')?.split_once('n')?;
        let (columns, depth) = rest.split_once('k')?;
        Some(Self { rows: rows.parse().ok()?, columns: columns.parse().ok()?, depth: depth.parse().ok()? })
    }

    /// Whether this is `mRnCkD`.
    #[must_use]
    pub fn is(self, rows: usize, columns: usize, depth: usize) -> bool {
        self == Self { rows, columns, depth }
    }
}
