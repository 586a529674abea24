//! Declared ranges of registers, `%r<100>`, and which one a name means.
//!
//! A name is taken apart into prefix and number, and the innermost open range with that prefix and enough registers is
//! the one. Kernels open a handful of ranges: those are compared one after the other, by the first eight bytes of the
//! prefix. Where more are open, they are found by their prefix, and past those that are too small by jumps, so that no
//! look-up costs more than the logarithm of how deep they lie.

use super::Reader;
use crate::diagnostics::Diagnostic;
use crate::ptx::declaration::RegisterDeclarator;
use crate::ptx::numbered::{member_of, number_after};
use crate::store::names::Names;
use ahash::AHashMap;
use ptxopt_components::ids::{Maybe, NameId, VRegId};
use ptxopt_components::types::PackedType;
use ptxopt_components::vreg::{VRegFlags, VRegName};

/// Open ranges that are compared one after the other. Where more are open, hashing a prefix is cheaper.
const COMPARED_MAX: usize = 16;

/// Registers by which an array outgrows twice its length at most: a hash map serves for numbers further on, so that using the
/// last register of a range of 20 million costs an entry and not 80 MB, and using that of 20 thousand ranges not 80 MB either.
const DENSE_STEP: u32 = 1 << 10;

/// Largest register number that is looked up in an array.
const DENSE_MAX: u32 = 1 << 16;

/// A declared range of registers. Each gets an id when it is used.
struct RegisterRange {
    prefix: NameId,
    /// Number of scopes open where it was declared.
    depth: u32,
    ty: PackedType,
    flags: VRegFlags,
    /// What the writer calls them: prefix, and the number of register 0.
    written: (NameId, u32),
    /// Register by number, as far as [`DENSE_MAX`]; grows with the largest number used, by no more than [`DENSE_STEP`] allows.
    dense: Vec<Maybe<VRegId>>,
    /// The registers that were not within it when they were first used.
    sparse: AHashMap<u32, VRegId>,
    link: Link,
}

/// How an open range is linked to those around it that have the same prefix: jump pointers (Myers 1983).
#[derive(Clone, Copy, Default)]
struct Link {
    /// The next one further out.
    outer: Option<u32>,
    /// One still further out, or the same.
    jump: Option<u32>,
    /// The largest count of those that the jump skips.
    skipped_max: u32,
    /// How many are further out.
    level: u32,
}

/// What an open range is looked up by. Beside the ranges, so that a handful of them lies in a cache line or two.
#[derive(Clone, Copy)]
struct RangeKey {
    /// The first eight bytes of the prefix.
    prefix: u64,
    prefix_length: u32,
    /// How many registers it has.
    count: u32,
}

/// A range that a name may mean.
#[derive(Clone, Copy)]
enum RangeId {
    /// Of the function, open.
    Open(usize),
    /// Of the module.
    OfModule(usize),
}

/// Ranges of a function.
#[derive(Default)]
pub(super) struct Ranges {
    /// Innermost last.
    open: Vec<RegisterRange>,
    /// By open range.
    keys: Vec<RangeKey>,
    /// By prefix: the innermost open range.
    innermost: AHashMap<NameId, u32>,
    /// Ranges of the module that the function uses, and where they are by prefix.
    of_module: Vec<RegisterRange>,
    of_module_by_prefix: AHashMap<NameId, u32>,
    /// Ranges that are closed, kept for their memory.
    spare: Vec<RegisterRange>,
}

impl Ranges {
    /// Number of open ranges.
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Forgets the ranges of the function before. Its scopes are closed.
    pub(super) fn clear(&mut self) {
        debug_assert!(self.open.is_empty() && self.innermost.is_empty());
        self.spare.append(&mut self.of_module);
        self.of_module_by_prefix.clear();
    }

    /// Closes the innermost ranges, until `len` are open.
    pub(super) fn close(&mut self, len: usize) {
        while self.open.len() > len {
            let range = self.open.pop().expect("longer than that");
            self.keys.pop();
            match range.link.outer {
                Some(outer) => self.innermost.insert(range.prefix, outer),
                None => self.innermost.remove(&range.prefix),
            };
            self.spare.push(range);
        }
    }

    #[inline(always)]
    fn get(&self, id: RangeId) -> &RegisterRange {
        match id {
            RangeId::Open(index) => &self.open[index],
            RangeId::OfModule(index) => &self.of_module[index],
        }
    }

    fn get_mut(&mut self, id: RangeId) -> &mut RegisterRange {
        match id {
            RangeId::Open(index) => &mut self.open[index],
            RangeId::OfModule(index) => &mut self.of_module[index],
        }
    }

    /// Links a range of `prefix` that is about to be opened.
    fn link(&self, prefix: NameId) -> Link {
        let Some(&outer) = self.innermost.get(&prefix) else { return Link::default() };
        let parent = &self.open[outer as usize];
        let level = parent.link.level + 1;
        let range = |index: u32| &self.open[index as usize];
        let count = |index: u32| self.keys[index as usize].count;
        if let Some(jump) = parent.link.jump
            && let Some(far) = range(jump).link.jump
            && parent.link.level - range(jump).link.level == range(jump).link.level - range(far).link.level
        {
            let skipped = [count(outer), parent.link.skipped_max, count(jump), range(jump).link.skipped_max];
            let skipped_max = skipped.into_iter().fold(0, u32::max);
            return Link { outer: Some(outer), jump: Some(far), skipped_max, level };
        }
        Link { outer: Some(outer), jump: Some(outer), skipped_max: 0, level }
    }

    /// The innermost range of `prefix` that has a register `number`.
    #[cold]
    fn find_by_prefix(&self, prefix: NameId, number: u32) -> Option<usize> {
        let mut at = self.innermost.get(&prefix).copied();
        while let Some(index) = at {
            if number < self.keys[index as usize].count {
                return Some(index as usize);
            }
            at = self.outwards(index, number);
        }
        None
    }

    /// Where to look for register `number` next, when the range at `index` has too few.
    fn outwards(&self, index: u32, number: u32) -> Option<u32> {
        let link = self.open[index as usize].link;
        if number < link.skipped_max { link.outer } else { link.jump }
    }

    /// The innermost open range that holds register `number` of the prefix `text[first..split]`.
    #[inline(always)]
    fn find(&self, names: &Names, text: &[u8], first: usize, split: usize, number: u32) -> Option<usize> {
        if self.open.len() > COMPARED_MAX {
            return self.find_by_prefix(names.find(text, &text[first..split])?, number);
        }
        let key = key_of(text, first, split);
        let length = (split - first) as u32;
        for (index, range) in self.keys.iter().enumerate().rev() {
            if range.prefix != key || range.prefix_length != length || number >= range.count {
                continue;
            }
            if length <= 8 || names.bytes(text, self.open[index].prefix) == &text[first..split] {
                return Some(index);
            }
        }
        None
    }

    fn spare(&mut self, prefix: NameId, ty: PackedType, flags: VRegFlags) -> RegisterRange {
        let mut range = self.spare.pop().unwrap_or_else(|| RegisterRange {
            prefix,
            depth: 0,
            ty,
            flags,
            written: (prefix, 0),
            dense: Vec::new(),
            sparse: AHashMap::new(),
            link: Link::default(),
        });
        (range.prefix, range.ty, range.flags, range.written) = (prefix, ty, flags, (prefix, 0));
        range.dense.clear();
        range.sparse.clear();
        range
    }
}

/// The first eight bytes of `text[first..end]`, zero-padded.
#[inline]
fn key_of(text: &[u8], first: usize, end: usize) -> u64 {
    let length = end - first;
    if let Some(chunk) = text.get(first..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*chunk);
        if length >= 8 { word } else { word & ((1 << (8 * length)) - 1) }
    } else {
        let mut bytes = [0; 8];
        let kept = length.min(8);
        bytes[..kept].copy_from_slice(&text[first..first + kept]);
        u64::from_le_bytes(bytes)
    }
}

impl Reader<'_, '_> {
    /// The register that the name at `first..end` spells, if its number lies in a declared range.
    #[inline]
    pub(super) fn ranged_register(&mut self, first: usize, end: usize) -> Result<Option<VRegId>, Diagnostic> {
        let text = self.cursor.text;
        let (split, Some(number)) = number_after(text, first, end) else { return Ok(None) };
        let id = match self.scopes.ranges.find(&self.out.pools.names, text, first, split, number) {
            Some(index) => Some(RangeId::Open(index)),
            None if self.module.registers.is_empty() => None,
            None => self.range_of_module(first, split, number),
        };
        match id {
            Some(id) => self.register_unless_shadowed(id, number, first, end),
            None => Ok(None),
        }
    }

    /// The range of the module that holds register `number` of the prefix at `first..split`.
    fn range_of_module(&mut self, first: usize, split: usize, number: u32) -> Option<RangeId> {
        let text = self.cursor.text;
        let (ty, count) =
            self.module.registers.range(&text[first..split]).filter(|&(_, count)| number < count)?;
        let prefix = self.out.pools.names.intern(text, first, split);
        self.out.pools.names.note_members(text, prefix, count);
        let ranges = &mut self.scopes.ranges;
        if let Some(&index) = ranges.of_module_by_prefix.get(&prefix) {
            return Some(RangeId::OfModule(index as usize));
        }
        let mut range = ranges.spare(prefix, ty, Self::OF_MODULE);
        range.depth = Self::MODULE_DEPTH;
        let index = ranges.of_module.len();
        ranges.of_module.push(range);
        ranges.of_module_by_prefix.insert(prefix, index as u32);
        Some(RangeId::OfModule(index))
    }

    #[inline(always)]
    fn register_unless_shadowed(
        &mut self,
        id: RangeId,
        number: u32,
        first: usize,
        end: usize,
    ) -> Result<Option<VRegId>, Diagnostic> {
        if self.scopes.has_digit_shadows && self.is_shadowed(first, end, self.scopes.ranges.get(id).depth) {
            return Ok(None);
        }
        self.register_of_range(id, number).map(Some)
    }

    /// Whether an inner declaration by the whole name hides the member of a range declared at `depth`:
    ///
    /// ```text
    /// .reg .b32 r<9>; { .reg .b32 r5; mov.b32 r5, 2; }   // the inner r5, not the range's
    /// ```
    #[cold]
    fn is_shadowed(&mut self, first: usize, end: usize, depth: u32) -> bool {
        let name = self.out.pools.names.intern(self.cursor.text, first, end);
        self.scopes.is_bound_inside(name, depth)
    }

    #[inline(always)]
    fn register_of_range(&mut self, id: RangeId, number: u32) -> Result<VRegId, Diagnostic> {
        let range = self.scopes.ranges.get(id);
        match range.dense.get(number as usize).and_then(|slot| slot.get()) {
            Some(vreg) => Ok(vreg),
            None => self.new_register_of_range(id, number),
        }
    }

    /// As [`Self::register_of_range`], for what is perhaps not used yet.
    fn new_register_of_range(&mut self, id: RangeId, number: u32) -> Result<VRegId, Diagnostic> {
        let range = self.scopes.ranges.get(id);
        if let Some(&vreg) = range.sparse.get(&number) {
            return Ok(vreg);
        }
        let name = VRegName { prefix: range.written.0, number: range.written.1.saturating_add(number) };
        let (ty, flags) = (range.ty, range.flags);
        let vreg = self.new_vreg(ty, flags, name)?;
        let range = self.scopes.ranges.get_mut(id);
        if number < DENSE_MAX.min(2 * range.dense.len() as u32 + DENSE_STEP) {
            if range.dense.len() <= number as usize {
                range.dense.resize(number as usize + 1, Maybe::NONE);
            }
            range.dense[number as usize] = Maybe::some(vreg);
        } else {
            range.sparse.insert(number, vreg);
        }
        Ok(vreg)
    }

    /// Whether `name` spells a register of a range that the innermost scope declares.
    pub(super) fn is_in_range_here(&self, name: &[u8]) -> bool {
        let (text, names, ranges) = (self.cursor.text, &self.out.pools.names, &self.scopes.ranges);
        let depth = self.scopes.depth() as u32;
        let Some((split, number)) = member_of(name) else { return false };
        let range = names.find(text, &name[..split]).and_then(|prefix| ranges.innermost.get(&prefix));
        let index = range.map(|&index| index as usize);
        index.is_some_and(|index| ranges.open[index].depth == depth && number < ranges.keys[index].count)
    }

    /// Declares `count` registers after the prefix of `declarator`.
    pub(super) fn declare_range(
        &mut self,
        declarator: RegisterDeclarator,
        count: u32,
    ) -> Result<(), Diagnostic> {
        let text = self.cursor.text;
        let RegisterDeclarator { first, end, ty, .. } = declarator;
        let prefix = self.out.pools.names.intern(text, first, end);
        let depth = self.scopes.depth() as u32;
        let ranges = &self.scopes.ranges;
        let around = ranges.innermost.get(&prefix).map(|&index| &ranges.open[index as usize]);
        if around.is_some_and(|range| range.depth == depth) || self.holds_a_name_of_here(prefix, count) {
            return Err(self.duplicate(first, end));
        }
        self.note_written();
        let is_repeated = self.note_prefix(prefix, count)
            || self.meets_a_single(prefix, count)
            || self.hides_members_of_module(first, end)
            || self.hides_special_registers(first, end, count);
        let written = if is_repeated { self.fresh_numbers(prefix, ty, count) } else { (prefix, 0) };
        let ranges = &mut self.scopes.ranges;
        let mut range = ranges.spare(prefix, ty, VRegFlags::empty());
        (range.depth, range.written, range.link) = (depth, written, ranges.link(prefix));
        let key = RangeKey { prefix: key_of(text, first, end), prefix_length: (end - first) as u32, count };
        ranges.keys.push(key);
        ranges.innermost.insert(prefix, ranges.open.len() as u32);
        ranges.open.push(range);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptxopt_components::ids::Id;
    use ptxopt_components::types::PtxType;

    /// Opens ranges of one prefix with these counts, outermost first.
    fn nested(counts: &[u32]) -> Ranges {
        let (mut ranges, prefix) = (Ranges::default(), NameId::new(0));
        for &count in counts {
            let mut range = ranges.spare(prefix, PackedType::new(PtxType::B32, 1), VRegFlags::empty());
            range.link = ranges.link(prefix);
            ranges.keys.push(RangeKey { prefix: 0, prefix_length: 0, count });
            ranges.innermost.insert(prefix, ranges.open.len() as u32);
            ranges.open.push(range);
        }
        ranges
    }

    #[test]
    fn the_innermost_range_that_is_large_enough_is_found() {
        let mut state = 1u32;
        let mut random = || {
            // The minimal standard generator (Park and Miller 1988).
            state = (u64::from(state) * 48_271 % 0x7fff_ffff) as u32;
            state
        };
        for length in 1..60 {
            let counts: Vec<u32> = (0..length).map(|_| random() % 40).collect();
            let ranges = nested(&counts);
            for number in 0..42 {
                let expected = counts.iter().rposition(|&count| number < count);
                assert_eq!(ranges.find_by_prefix(NameId::new(0), number), expected, "{number} in {counts:?}");
            }
        }
    }

    #[test]
    fn closing_makes_the_outer_range_the_innermost() {
        let mut ranges = nested(&[9, 5, 7]);
        ranges.close(2);
        assert_eq!(ranges.find_by_prefix(NameId::new(0), 4), Some(1));
        assert_eq!(ranges.find_by_prefix(NameId::new(0), 6), Some(0));
        ranges.close(0);
        assert_eq!(ranges.find_by_prefix(NameId::new(0), 0), None);
    }

    /// Counts that fall outwards are what makes every jump but the longest useless, and the reverse.
    #[test]
    fn a_look_up_takes_steps_like_the_logarithm_of_the_depth() {
        let depth = 1 << 14;
        for counts in [(1..=depth).rev().collect::<Vec<u32>>(), vec![1; depth as usize]] {
            let ranges = nested(&counts);
            for number in [0, 1, depth / 3, depth - 2, depth] {
                let (mut steps, mut at) = (0, ranges.innermost.values().next().copied());
                while let Some(index) = at.filter(|&index| number >= ranges.keys[index as usize].count) {
                    at = ranges.outwards(index, number);
                    steps += 1;
                }
                // Myers: at most three steps a level of the binary representation.
                assert!(steps <= 3 * 14, "{steps} steps to {number}");
            }
        }
    }
}
