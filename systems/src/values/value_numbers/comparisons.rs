//! Comparisons that say the same with other words, and those that say the opposite.
//!
//! ```text
//! setp.gt.s32 p, a, 31; setp.ge.s32 q, a, 32;      one key: an order with a constant is `a < c` or `c <= a`
//! setp.lt.f32 p, a, b;  setp.geu.f32 q, a, b;      q is what p is not
//! ```
//! An order whose constant comes first, `c < a`, is `c + 1 <= a`, and `a <= c` is `a < c + 1`, where there is a `c + 1`.

use super::keys::CONSTANT;
use super::meanings::normalise;
use super::numbers::{Opposed, ValueNumbers};
use super::walk::Walk;
use ptxopt_components::description::Description;
use ptxopt_components::ids::{Id, InstId};
use ptxopt_components::qualifiers::Comparison;
use ptxopt_components::types::{PtxType, TypeKind};

/// What is known of a comparison of two operands that has a predicate as its only result.
#[derive(Clone, Copy)]
pub(super) struct Compares {
    /// What is true exactly where it is false.
    pub opposite: Opposite,
    /// What it is with the next constant.
    pub next: Option<Next>,
}

/// The class of a comparison.
#[derive(Clone, Copy)]
pub(super) struct Opposite {
    /// The class.
    pub class: u32,
    /// Whether its two operands stand the other way round in a key.
    pub is_mirrored: bool,
}

/// The class of an order of integers that says the same with the next constant.
#[derive(Clone, Copy)]
pub(super) struct Next {
    /// The class.
    pub class: u32,
    /// Which of the two operands of the key is the constant.
    pub constant: u8,
    /// The constant that has no next one, extended with its sign.
    pub greatest: i32,
}

impl Walk<'_, '_> {
    /// Gives an order of integers, whose sources have their words from `sources` on, the next constant, if it has one that has one.
    pub(super) fn take_next_constant(&mut self, comparison: u16, sources: usize) {
        let ValueNumbers { meanings, table, .. } = &mut *self.numbers;
        let Some(next) = meanings.compares(comparison).next else { return };
        let constant = &mut table.words[sources + usize::from(next.constant)];
        let value = *constant as u32 as i32;
        let is_short = *constant == CONSTANT | u64::from(value as u32);
        if let Some(greater) = value.checked_add(1).filter(|_| is_short && value != next.greatest) {
            *constant = CONSTANT | u64::from(greater as u32);
            table.words[sources - 1] = with_class(table.words[sources - 1], next.class);
        }
    }

    /// Notes whether the opposite of a comparison is known, whose key is that from `first` on and comes back as it was.
    pub(super) fn look_up_opposite(&mut self, inst: InstId, comparison: u16, class: u32, first: usize) {
        let ValueNumbers { meanings, table, opposites, again, numbers, .. } = &mut *self.numbers;
        let &[own, one, other] = &table.words[first..] else { return };
        let opposite = if class_of(own) == class {
            meanings.compares(comparison).opposite
        } else {
            // Of `c + 1 <= a`, which was `c < a`, it is `a < c + 1`.
            Opposite { class, is_mirrored: true }
        };
        let sources = if opposite.is_mirrored { [other, one] } else { [one, other] };
        table.words[first] = with_class(own, opposite.class);
        table.words[first + 1..].copy_from_slice(&sources);
        if let Some(known) = table.known(table.hash(first), first) {
            let result =
                self.function.operands_of(known)[0].vreg().expect("what is in the table leaves registers");
            let number = numbers[result.index()];
            opposites.push(Opposed { inst, number, known_before: again.len() });
        }
        table.words[first..].copy_from_slice(&[own, one, other]);
    }
}

/// What is true exactly where a comparison is false, and whether its sources stand the other way round; `description` is normal, and
/// so is what comes out.
pub(super) fn opposite(mut description: Description) -> Option<(Description, bool)> {
    let comparison = description.qualifiers.comparison?;
    description.qualifiers.comparison = Some(comparison.negated(description.types[0]?));
    let is_mirrored = normalise(&mut description);
    Some((description, is_mirrored))
}

/// What says the same of the next constant, which of its operands that is, and the greatest constant of those that are tried;
/// `description` is normal, and so is what comes out.
pub(super) fn with_next_constant(mut description: Description) -> Option<(Description, u8, i32)> {
    use Comparison as C;
    let ty = description.types[0].filter(|ty| ty.kind() == TypeKind::Integer)?;
    let comparison = description.qualifiers.comparison?;
    let (next, constant) = match comparison {
        C::Less => (C::LessEqual, 0),
        C::LessEqual => (C::Less, 1),
        C::Lower => (C::LowerSame, 0),
        C::LowerSame => (C::Lower, 1),
        _ => return None,
    };
    let greatest = match ty {
        PtxType::S16 => i32::from(i16::MAX),
        _ if ty.is_signed() && matches!(comparison, C::Less | C::LessEqual) => i32::MAX,
        _ => -1,
    };
    description.qualifiers.comparison = Some(next);
    Some((description, constant, greatest))
}

/// The class in the first word of a key without a guard.
fn class_of(word: u64) -> u32 {
    word as u32 >> 1
}

/// Such a word with another class.
fn with_class(word: u64, class: u32) -> u64 {
    word & !0 << 32 | u64::from(class) << 1
}
