//! Places in memory: whether two accesses may touch the same byte.
//!
//! An address is a *base*, of which nothing is known but its value number, and a distance from it. From one base everything is
//! known: two accesses are apart where their bytes are. From two bases nothing is known, but for variables of the function's
//! own body, each of which has bytes of its own.
//!
//! ```text
//! st.global.u32 [%rd1], %r1;
//! st.global.u32 [%rd1+4], %r2;     // apart from the first
//! st.global.u32 [%rd2], %r3;       // perhaps not
//! ```
//! The bytes of one base lie on a circle: sums of 64 bits wrap, and so do those of 32 bits in `.shared` and `.local`. What is
//! said here of two accesses holds while the base has one value; around a loop it is a value number of another round.

use ptxopt_components::ids::NameId;
use ptxopt_components::types::StateSpace;

/// What an address is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// A value number.
    Number(u32),
    /// A name, and, of a variable of the body, its bytes.
    Symbol(NameId, Option<u32>),
    /// Nothing: the address is a constant.
    Zero,
}

/// An address: so many bytes from a base, computed with so many bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub base: Base,
    pub offset: i64,
    pub width: u32,
}

/// The bytes of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bytes {
    pub space: StateSpace,
    pub address: Address,
    pub size: u32,
}

/// Whether two accesses touch no byte in common, whatever their bases are.
pub(super) fn are_apart(one: Bytes, other: Bytes) -> bool {
    if one.space != other.space {
        return false;
    }
    match (one.address.base, other.address.base) {
        (Base::Symbol(name, size), Base::Symbol(other_name, other_size)) if name != other_name => {
            is_inside(one, size) && is_inside(other, other_size)
        }
        _ => match distance(one, other) {
            Some((forward, backward)) => {
                forward >= u64::from(one.size) && (backward >= u64::from(other.size))
            }
            None => false,
        },
    }
}

/// Whether two accesses touch the same bytes.
pub(super) fn are_same(one: Bytes, other: Bytes) -> bool {
    one.space == other.space && one.size == other.size && distance(one, other) == Some((0, 0))
}

/// Whether an access touches all bytes of the second one.
pub(super) fn covers(outer: Bytes, inner: Bytes) -> bool {
    let is_inside =
        |ahead: u64| ahead <= u64::from(outer.size) && ahead + u64::from(inner.size) <= u64::from(outer.size);
    outer.space == inner.space && distance(outer, inner).is_some_and(|(forward, _)| is_inside(forward))
}

/// How far the second access is ahead of the first, and the first of the second, on the circle of their addresses; none where
/// they have other bases, or other circles. Of addresses in `.shared` and `.local` the lower 32 bits count, whatever holds them.
fn distance(one: Bytes, other: Bytes) -> Option<(u64, u64)> {
    let is_small =
        [one, other].iter().any(|bytes| matches!(bytes.space, StateSpace::Shared | StateSpace::Local));
    let (one, other) = (one.address, other.address);
    if one.base != other.base || one.width != other.width {
        return None;
    }
    let width = if is_small { one.width.min(32) } else { one.width };
    let mask = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
    let forward = (other.offset.wrapping_sub(one.offset)) as u64 & mask;
    Some((forward, forward.wrapping_neg() & mask))
}

/// Whether an access from the start of a variable of `size` bytes stays in it.
fn is_inside(bytes: Bytes, size: Option<u32>) -> bool {
    let end = bytes.address.offset.checked_add(i64::from(bytes.size));
    bytes.address.offset >= 0 && size.zip(end).is_some_and(|(size, end)| end <= i64::from(size))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(base: Base, offset: i64, size: u32, width: u32) -> Bytes {
        Bytes { space: StateSpace::Shared, address: Address { base, offset, width }, size }
    }

    /// On a circle of 16 bytes, against the bytes themselves.
    #[test]
    fn what_is_apart_has_no_byte_in_common() {
        let bytes = |access: Bytes| -> Vec<i64> {
            (0..i64::from(access.size)).map(|byte| (access.address.offset + byte).rem_euclid(16)).collect()
        };
        for (offset, size) in (-20..20).flat_map(|offset| [1, 2, 4, 8].map(|size| (offset, size))) {
            let one = at(Base::Number(1), 3, 4, 4);
            let other = at(Base::Number(1), offset, size, 4);
            let touch = bytes(one).iter().any(|byte| bytes(other).contains(byte));
            assert_eq!(are_apart(one, other), !touch, "{offset} {size}");
            assert_eq!(are_apart(other, one), !touch, "{offset} {size}");
            let is_same = bytes(one) == bytes(other);
            assert_eq!(are_same(one, other), is_same, "{offset} {size}");
            let is_covered = bytes(other).iter().all(|byte| bytes(one).contains(byte));
            assert_eq!(covers(one, other), is_covered, "{offset} {size}");
        }
    }

    #[test]
    fn nothing_is_known_of_two_bases() {
        let (one, other) = (at(Base::Number(1), 0, 4, 64), at(Base::Number(2), 64, 4, 64));
        assert!(!are_apart(one, other) && !are_same(one, other));
        let narrow = at(Base::Number(1), 64, 4, 32);
        assert!(!are_apart(one, narrow), "sums that wrap elsewhere");
        let global = Bytes { space: StateSpace::Global, ..at(Base::Number(1), 64, 4, 64) };
        assert!(!are_apart(one, global) && !are_same(one, global));
    }

    #[test]
    fn small_spaces_end_after_32_bits_of_an_address() {
        let (one, far) = (at(Base::Number(1), 4, 4, 64), at(Base::Number(1), 4 + (1 << 32), 4, 64));
        assert!(are_same(one, far) && !are_apart(one, far) && covers(one, far));
        let in_space = |bytes: Bytes, space| Bytes { space, ..bytes };
        for (space, is_small) in
            [(StateSpace::Local, true), (StateSpace::Global, false), (StateSpace::Generic, false)]
        {
            let (one, far) = (in_space(one, space), in_space(far, space));
            assert_eq!((are_same(one, far), are_apart(one, far)), (is_small, !is_small), "{space:?}");
        }
        assert!(are_apart(one, at(Base::Number(1), (1 << 32) - 4, 4, 64)), "eight bytes before");
    }

    #[test]
    fn variables_have_bytes_of_their_own_inside_their_bounds() {
        let variable = |name: u32, offset, size| at(Base::Symbol(NameId(name), size), offset, 4, 32);
        let one = variable(1, 4, Some(8));
        assert!(are_apart(one, variable(2, 0, Some(4))));
        assert!(!are_apart(one, variable(2, 2, Some(4))), "past the end");
        assert!(!are_apart(one, variable(2, -4, Some(4))), "before the start");
        assert!(!are_apart(one, variable(2, 0, None)), "of unknown size");
        assert!(!are_apart(variable(1, 0, None), variable(2, 0, Some(4))));
        assert!(are_apart(one, variable(1, 0, Some(8))), "one variable");
    }
}
