//! Permutations of bytes: what was moved or masked by whole bytes before is moved by the permutation itself.

use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::pattern::plain;
use crate::values::general_optimize::rewrite::{New, Rewrite};
use ptxopt_components::ids::InstId;
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Qualifiers;
use ptxopt_components::types::PtxType;

pub(super) const RULES: &[Rule] = &[Rule {
    name: "permute-what-was-moved",
    operations: &[Operation::Prmt],
    pattern: "x = shr.u32 y, 16; prmt x, z, 0x1054 -> prmt y, z, 0x3254; of shl, and shifts by 8 and 24, and masks of whole bytes as well",
    reason: "the permutation takes the bytes from where they were",
    guards: &[
        Guard {
            needs: "bytes that were only moved",
            without: "shr.u32 %r3, %r1, 16; prmt.b32 %r4, %r3, %r2, 0x7652 takes a zero, and %r1 may have none",
        },
        Guard {
            needs: "a shift by whole bytes, or a mask of whole ones",
            without: "shr.u32 %r3, %r1, 4; prmt.b32 %r4, %r3, %r2, 0x7650 takes bits of two bytes",
        },
        Guard {
            needs: "a selector that is a literal, and no mode",
            without: "prmt.b32.rc8 %r4, %r3, %r2, 1 takes the second byte four times",
        },
        Guard {
            needs: "y still holds what was shifted",
            without: "shr.u32 %r3, %r1, 16; mov.u32 %r1, %r9; prmt.b32 %r4, %r3, %r2, 0x7610 is of the old %r1",
        },
    ],
    when: Clues::WITH_LITERAL,
    apply: Apply::Any(permute_what_was_moved),
}];

/// Bytes of a source.
const BYTES: usize = 4;

/// The bits of a byte's number in a selector that say which byte of a source it is; the next one says which source, and the last
/// one that its sign is repeated.
const OF_SOURCE: u64 = 3;

fn permute_what_was_moved(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let &[_, one, other, selector] = walk.f.operands_of(inst) else { return None };
    let selector = walk.literal(selector)?;
    if walk.f.description_of(inst).qualifiers != Qualifiers::default() {
        return None;
    }
    let result = walk.only_result(inst)?;
    [one, other].into_iter().enumerate().find_map(|(position, source)| {
        let moved = moved_bytes(walk, source, inst)?;
        let selector = selector_of(selector, position, moved.from)?;
        let mut sources = [one, other];
        sources[position] = moved.source;
        let [one, other] = sources.map(New::Operand);
        let operands = [New::register(result), one, other, New::Constant(selector, PtxType::B32)];
        walk.instead(inst, Operation::Prmt, Qualifiers::default(), &[PtxType::B32], &operands)
    })
}

/// What was moved by whole bytes.
struct MovedBytes {
    source: Operand,
    /// By byte of the outcome: the byte of the source that it is; none where it is zero.
    from: [Option<u64>; BYTES],
}

/// The shift or mask that computed a register, where its source still holds the same before `inst`.
fn moved_bytes(walk: &mut Walk<'_, '_>, operand: Operand, inst: InstId) -> Option<MovedBytes> {
    let definition = walk.computed_by(operand, inst)?;
    let binary = walk.binary(definition).filter(|binary| binary.width() == 32)?;
    let number = walk.literal(binary.other)?;
    let is_kept = |byte: u64| match number >> (8 * byte) & 0xFF {
        0xFF => Some(Some(byte)),
        0 => Some(None),
        _ => None,
    };
    let by = (number / 8).min(BYTES as u64);
    let moved = |byte: Option<u64>| byte.filter(|&byte| byte < BYTES as u64);
    let mut from = [None; BYTES];
    for (from, byte) in from.iter_mut().zip(0..) {
        *from = match binary.operation {
            Operation::And => is_kept(byte)?,
            Operation::Shr if number % 8 == 0 && !binary.ty.is_signed() => moved(Some(byte + by)),
            Operation::Shl if number % 8 == 0 => moved(byte.checked_sub(by)),
            _ => return None,
        };
    }
    let source = binary.one;
    let is_there = source == plain(source)
        && walk.width(source.vreg()?) == 32
        && walk.is_still(source, definition, inst);
    is_there.then_some(MovedBytes { source, from })
}

/// A selector that takes the bytes of the source at a position from where they were; none where it takes none, or a zero.
fn selector_of(selector: u64, position: usize, from: [Option<u64>; BYTES]) -> Option<u64> {
    let (mut all, mut takes_any) = (0, false);
    for at in (0..4 * BYTES).step_by(4) {
        let number = selector >> at & 0xF;
        let is_of_source = (number >> 2 & 1) as usize == position;
        let byte = if is_of_source { from[(number & OF_SOURCE) as usize]? } else { number & OF_SOURCE };
        takes_any |= is_of_source;
        all |= (number & !OF_SOURCE | byte) << at;
    }
    takes_any.then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_follows_the_bytes_of_its_source() {
        let upper = [Some(2), Some(3), None, None];
        assert_eq!(selector_of(0x1054, 0, upper), Some(0x3254));
        assert_eq!(selector_of(0x1054, 1, upper), Some(0x1076));
        assert_eq!(selector_of(0x9054, 0, upper), Some(0xB254), "a sign that is repeated");
        assert_eq!(selector_of(0x2054, 0, upper), None, "a zero");
        assert_eq!(selector_of(0x7654, 0, upper), None, "nothing of it");
    }
}
