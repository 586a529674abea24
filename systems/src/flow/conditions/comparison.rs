//! Comparisons as sets of outcomes.
//!
//! Two values compared in an [`Order`] have one of four outcomes. A `setp` is true for some of them; what is known of two
//! values is a set as well. Where all that may come out makes a `setp` true, it is true, whatever else is known.

use bitflags::bitflags;
use ptxopt_components::description::Description;
use ptxopt_components::qualifiers::{Comparison, Modifiers};
use ptxopt_components::types::{PtxType, TypeKind, extend};

bitflags! {
    /// What may come out where two values are compared.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Outcomes: u8 {
        /// The first is smaller.
        const LESS = 1 << 0;
        /// Both are the same number.
        const EQUAL = 1 << 1;
        /// The first is larger.
        const GREATER = 1 << 2;
        /// One of them is a NaN.
        const UNORDERED = 1 << 3;
        /// They are different numbers.
        const UNEQUAL = Self::LESS.bits() | Self::GREATER.bits();
        /// Both are numbers.
        const ORDERED = Self::UNEQUAL.bits() | Self::EQUAL.bits();
    }
}

impl Outcomes {
    /// What comes out where the values change places.
    pub fn mirrored(self) -> Self {
        let sides = [(Self::LESS, Self::GREATER), (Self::GREATER, Self::LESS)];
        let swapped = sides.into_iter().filter(|&(side, _)| self.contains(side)).map(|(_, other)| other);
        self.difference(Self::UNEQUAL).union(swapped.collect())
    }

    /// What comes out of two integers of `width` bits, whose upper bits are zero.
    pub fn of_constants(one: u64, other: u64, order: Order, width: u32) -> Self {
        let found = match order {
            Order::Signed => extend(one, width).cmp(&extend(other, width)),
            Order::Unsigned => one.cmp(&other),
            Order::Float { .. } => return order.all(),
        };
        match found {
            std::cmp::Ordering::Less => Self::LESS,
            std::cmp::Ordering::Equal => Self::EQUAL,
            std::cmp::Ordering::Greater => Self::GREATER,
        }
    }
}

/// By what two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Integers without a sign, and bits.
    Unsigned,
    /// Integers with a sign.
    Signed,
    /// Floats of a type, whose denormals may count as 0.
    Float {
        /// The type.
        ty: PtxType,
        /// Whether they do.
        flushes: bool,
    },
}

impl Order {
    /// All that may come out.
    pub const fn all(self) -> Outcomes {
        match self {
            Self::Unsigned | Self::Signed => Outcomes::ORDERED,
            Self::Float { .. } => Outcomes::all(),
        }
    }
}

/// What a `setp` asks of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Test {
    /// The type of both values.
    pub ty: PtxType,
    /// By what they are compared.
    pub order: Order,
    /// The outcomes for which the answer is yes.
    pub holds: Outcomes,
}

impl Test {
    /// What a `setp` with this description asks; none where it compares what has no order here.
    pub fn of(description: &Description) -> Option<Self> {
        let ty = description.types[0]?;
        let comparison = description.qualifiers.comparison?;
        if description.qualifiers.modifiers.intersects(Modifiers::FTZ.complement()) || ty.bits() > 64 {
            return None;
        }
        let order = match ty.kind() {
            TypeKind::Integer if ty.is_signed() => Order::Signed,
            TypeKind::Integer | TypeKind::Bits => Order::Unsigned,
            TypeKind::Float if ty != PtxType::F16x2 => Order::Float { ty, flushes: description.flushes() },
            TypeKind::Float | TypeKind::Packed | TypeKind::Predicate => return None,
        };
        let holds = outcomes_of(comparison, order)?;
        Some(Self { ty, order, holds })
    }

    /// The answer where these outcomes are possible, if it is the same for all of them.
    pub fn decided(&self, possible: Outcomes) -> Option<bool> {
        if self.holds.contains(possible) {
            Some(true)
        } else {
            (!self.holds.intersects(possible)).then_some(false)
        }
    }
}

/// The outcomes for which a comparison is true.
fn outcomes_of(comparison: Comparison, order: Order) -> Option<Outcomes> {
    use Comparison as C;
    let (less, equal, greater) = (Outcomes::LESS, Outcomes::EQUAL, Outcomes::GREATER);
    let ordered = match comparison {
        C::Equal => equal,
        C::NotEqual => Outcomes::UNEQUAL,
        C::Less => less,
        C::LessEqual => less | equal,
        C::Greater => greater,
        C::GreaterEqual => greater | equal,
        C::Lower if order == Order::Unsigned => less,
        C::LowerSame if order == Order::Unsigned => less | equal,
        C::Higher if order == Order::Unsigned => greater,
        C::HigherSame if order == Order::Unsigned => greater | equal,
        C::Lower | C::LowerSame | C::Higher | C::HigherSame => return None,
        _ if !matches!(order, Order::Float { .. }) => return None,
        C::EqualOrNan => equal | Outcomes::UNORDERED,
        C::NotEqualOrNan => Outcomes::UNEQUAL | Outcomes::UNORDERED,
        C::LessOrNan => less | Outcomes::UNORDERED,
        C::LessEqualOrNan => less | equal | Outcomes::UNORDERED,
        C::GreaterOrNan => greater | Outcomes::UNORDERED,
        C::GreaterEqualOrNan => greater | equal | Outcomes::UNORDERED,
        C::Numbers => Outcomes::ORDERED,
        C::AnyNan => Outcomes::UNORDERED,
    };
    Some(ordered)
}
