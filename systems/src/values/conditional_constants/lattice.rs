//! The lattice: what is known of a register while constants are looked for.
//!
//! A cell starts at the top and only falls, so it changes twice at most.

/// What is known of a register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cell {
    /// Nothing that runs has given it a value yet.
    #[default]
    Top,
    /// It holds these bits whenever it is written; of a predicate 1 or 0.
    Constant(u64),
    /// It may hold anything.
    Bottom,
}

impl Cell {
    /// A predicate that holds, or does not.
    pub(crate) fn of_truth(truth: bool) -> Self {
        Self::Constant(u64::from(truth))
    }

    /// A constant where there is one.
    pub(crate) fn of(bits: Option<u64>) -> Self {
        bits.map_or(Self::Bottom, Self::Constant)
    }

    /// What is known of a register that holds the one or the other.
    pub(crate) fn meet(self, other: Self) -> Self {
        match (self, other) {
            (Self::Top, known) | (known, Self::Top) => known,
            (Self::Constant(one), Self::Constant(two)) if one == two => self,
            _ => Self::Bottom,
        }
    }

    /// The contrary of a predicate, if asked for.
    pub(crate) fn negated_if(self, is_negated: bool) -> Self {
        match self {
            Self::Constant(bits) => Self::of_truth((bits != 0) != is_negated),
            _ => self,
        }
    }

    /// Its bits, if it is a constant.
    pub(crate) fn bits(self) -> Option<u64> {
        match self {
            Self::Constant(bits) => Some(bits),
            Self::Top | Self::Bottom => None,
        }
    }
}
