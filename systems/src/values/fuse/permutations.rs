//! Permutations of bytes that were moved or masked before.
//!
//! ```text
//! shr.u32 r3, r1, 16;  prmt.b32 r4, r3, r2, 0x1054;       ->   prmt.b32 r4, r1, r2, 0x3254;
//! and.b32 r3, r1, 0xFFFF;  prmt.b32 r4, r2, r3, 0x5410;   ->   prmt.b32 r4, r2, r1, 0x5410;
//! ```
//! The permutation takes the bytes from where they were; none of them is one that the shift or the mask made zero. `ptxas` 13.0.88 does not
//! do this itself: of a kernel with two shifts and two masks before three of them it makes 15 machine instructions for 18 (`compared`).

use super::super::general_optimize::rewrite::{New, instruction};
use super::{Fused, GOES_MAX, Walk};
use ptxopt_components::form::shape;
use ptxopt_components::ids::InstId;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Qualifiers;
use ptxopt_components::types::PtxType;

/// Bytes of a source.
const BYTES: usize = 4;

/// The bits of a byte's number in a selector that say which byte of a source it is; the next one says which source, and the last
/// one that its sign is repeated.
const OF_SOURCE: u64 = 3;

impl Walk<'_, '_> {
    /// What a permutation becomes with shifts and masks that computed its sources.
    pub(super) fn take_in_moves(&mut self, inst: InstId) -> Option<Fused> {
        let &[result, one, other, selector] = self.operands(inst) else { return None };
        let mut selector = self.literal(selector)?;
        if self.f.description_of(inst).qualifiers != Qualifiers::default() {
            return None;
        }
        let (mut sources, mut goes) = ([one, other], [None; GOES_MAX]);
        for position in 0..sources.len() {
            let part = self.part(sources[position]);
            let moved = part.bytes().filter(|_| part.makers[0].is_some());
            if let Some(moved) = moved.and_then(|from| selector_of(selector, position, from)) {
                selector = moved;
                sources[position] = part.source;
                goes[2 * position..][..2].copy_from_slice(&part.makers);
            }
        }
        if goes == [None; GOES_MAX] {
            return None;
        }
        let [one, other] = sources.map(New::Operand);
        let operands = [New::Operand(result), one, other, New::Constant(selector, PtxType::B32)];
        let (qualifiers, shape) = (Qualifiers::default(), shape::plain(operands.len()));
        let rewrite =
            instruction(self.f, inst, Operation::Prmt, qualifiers, &[PtxType::B32], shape, &operands)?;
        Some(Fused::new(inst, rewrite, goes, "the permutation takes the bytes from where they were"))
    }
}

/// A selector that takes the bytes of the source at a position from where they were; none where it takes none, or a zero.
fn selector_of(selector: u64, position: usize, from: [Option<u32>; BYTES]) -> Option<u64> {
    let (mut all, mut takes_any) = (0, false);
    for at in (0..4 * BYTES).step_by(4) {
        let number = selector >> at & 0xF;
        let is_of_source = (number >> 2 & 1) as usize == position;
        let byte = number & OF_SOURCE;
        let byte = if is_of_source { from[byte as usize]?.into() } else { byte };
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
