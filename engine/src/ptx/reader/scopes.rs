//! What a name means at a place in a body: declarations, nested scopes and shadowing.
//!
//! Bodies are flattened: the writer declares everything at function level. A declaration keeps its name when nothing
//! else in the function has it; an inner one that shadows or repeats a name gets a fresh one.

use super::Reader;
use crate::diagnostics::{Diagnostic, Problem, shown_name};
use ahash::AHashMap;
use ptxopt_components::anchor::Decl;
use ptxopt_components::ids::{Id, Maybe, NameId, VRegId};
use ptxopt_components::operand::OPERAND_ID_MAX;
use ptxopt_components::types::PackedType;
use ptxopt_components::vreg::{VRegFlags, VRegHead, VRegName};

/// What an interned name is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum Binding {
    /// Nothing was declared under this name.
    #[default]
    Unbound,
    /// A register declared by its whole name: index of [`Scopes::singles`].
    Register(u32),
    /// A variable of this body, a formal parameter, or something of the module, written under this name.
    Symbol(NameId),
    /// A special register.
    Special(u32),
    /// A jump table, call-target list or prototype of this function.
    Table(u32),
}

/// A register declared by its whole name. It gets an id when it is used.
#[derive(Clone, Copy)]
pub(super) struct Single {
    name: VRegName,
    ty: PackedType,
    flags: VRegFlags,
    vreg: Maybe<VRegId>,
}

/// A declared range of registers, `%r<100>`. Each gets an id when it is used.
pub(super) struct RegisterRange {
    /// The first eight bytes of the prefix, and its whole name.
    key: u64,
    prefix: NameId,
    prefix_length: u32,
    /// Number of scopes open where it was declared.
    depth: u32,
    count: u32,
    ty: PackedType,
    flags: VRegFlags,
    /// What the writer calls them: prefix, and the number of register 0.
    written: (NameId, u32),
    /// Register by number, as far as [`DENSE_MAX`]; grows with the largest number used.
    dense: Vec<Maybe<VRegId>>,
    /// The registers above.
    sparse: AHashMap<u32, VRegId>,
}

/// Largest register number that is looked up in an array. Above, a hash map serves, so that using the last register
/// of a range of 20 million costs an entry and not 80 MB.
const DENSE_MAX: u32 = 1 << 16;

/// One past the largest number of a register that belongs to a range: names have at most nine digits behind the prefix.
const RANGED_NUMBER_END: u32 = 1_000_000_000;

/// A scope that is open.
#[derive(Clone, Copy, Default)]
struct OpenScope {
    shadowed: usize,
    ranges: usize,
    labels: usize,
    pending: usize,
    /// Byte offset of its brace.
    offset: usize,
}

/// Names of a function, innermost scope last.
#[derive(Default)]
pub(super) struct Scopes {
    /// By name: what it is bound to, and how many scopes were open when it was bound.
    bindings: Vec<(Binding, u32)>,
    pub(super) singles: Vec<Single>,
    ranges: Vec<RegisterRange>,
    /// Ranges that are closed, kept for their memory.
    spare: Vec<RegisterRange>,
    /// Ranges among `ranges` whose prefix ends in a digit: `%p1<5>` declares `%p10`.
    digit_prefixes: usize,
    shadowed: Vec<(NameId, (Binding, u32))>,
    open: Vec<OpenScope>,
    /// Names already written in this function, by the function's stamp.
    written: Vec<u32>,
    stamp: u32,
    /// Next number under each fresh prefix.
    fresh_numbers: AHashMap<NameId, u32>,
    /// Next number to try behind each base of a fresh name, so that many labels of one name stay linear.
    fresh_suffixes: AHashMap<NameId, u32>,
    /// Registers declared by a whole name that ends in a digit and is written.
    digit_singles: Vec<NameId>,
    /// Words of copied statements that are bound to nothing.
    loose_words: Vec<NameId>,
    /// `.param` variables declared in this function under their own name.
    pub(super) params: AHashMap<NameId, Decl>,
    /// Prefixes declared in this function, with the most members that one of them has.
    prefixes: AHashMap<NameId, u32>,
    /// Some name declared whole in this function may hide a member of a range.
    has_digit_shadows: bool,
}

impl Scopes {
    /// Forgets the names of a batch.
    pub(super) fn start_batch(&mut self) {
        // What a batch before left open, perhaps at an error, refers to names that are gone.
        self.shadowed.clear();
        self.close_all();
        self.bindings.clear();
        self.written.clear();
        self.stamp = 0;
    }

    /// Forgets the names of the function before.
    pub(super) fn start_function(&mut self) {
        self.close_all();
        self.singles.clear();
        self.fresh_numbers.clear();
        self.fresh_suffixes.clear();
        self.loose_words.clear();
        self.digit_singles.clear();
        self.prefixes.clear();
        self.has_digit_shadows = false;
        self.params.clear();
        self.stamp += 1;
    }

    /// Number of open scopes.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Byte offset of the innermost open brace.
    pub(super) fn innermost_offset(&self) -> usize {
        self.open.last().map_or(0, |scope| scope.offset)
    }

    pub(super) fn open(&mut self, offset: usize, labels: usize, pending: usize) {
        let (shadowed, ranges) = (self.shadowed.len(), self.ranges.len());
        self.open.push(OpenScope { shadowed, ranges, labels, pending, offset });
    }

    fn close_all(&mut self) {
        while self.depth() > 0 {
            self.close();
        }
    }

    /// Closes the innermost scope; gives where its labels and pending references start.
    pub(super) fn close(&mut self) -> (usize, usize) {
        let scope = self.open.pop().expect("every closing brace was checked against the depth");
        while self.shadowed.len() > scope.shadowed {
            let (name, binding) = self.shadowed.pop().expect("longer than the scope's start");
            self.bindings[name.index()] = binding;
        }
        while self.ranges.len() > scope.ranges {
            let range = self.ranges.pop().expect("longer than the scope's start");
            self.digit_prefixes -= usize::from(range.prefix_ends_in_digit());
            self.spare.push(range);
        }
        (scope.labels, scope.pending)
    }

    /// What `name` is bound to.
    #[inline]
    pub(super) fn binding(&self, name: NameId) -> Binding {
        self.bindings.get(name.index()).map_or(Binding::Unbound, |&(binding, _)| binding)
    }

    /// Binds `name` until the innermost scope closes.
    pub(super) fn bind(&mut self, name: NameId, binding: Binding) {
        let depth = self.open.len() as u32;
        let before = std::mem::replace(self.slot(name), (binding, depth));
        self.shadowed.push((name, before));
    }

    /// Binds `name` for the rest of the batch.
    pub(super) fn bind_for_batch(&mut self, name: NameId, binding: Binding) {
        *self.slot(name) = (binding, 0);
    }

    fn slot(&mut self, name: NameId) -> &mut (Binding, u32) {
        if self.bindings.len() <= name.index() {
            self.bindings.resize(name.index() + 1, (Binding::Unbound, 0));
        }
        &mut self.bindings[name.index()]
    }

    /// Whether `name` was bound in the innermost scope.
    pub(super) fn is_bound_here(&self, name: NameId) -> bool {
        let (binding, depth) = self.bindings.get(name.index()).copied().unwrap_or_default();
        binding != Binding::Unbound && depth as usize == self.open.len()
    }

    /// Remembers a word of a copied statement that is bound to nothing.
    pub(super) fn note_loose_word(&mut self, name: NameId) {
        self.loose_words.push(name);
    }

    /// Notes that the function declares `count` members behind `prefix`; whether it did so before.
    pub(super) fn note_prefix(&mut self, prefix: NameId, count: u32) -> bool {
        let before = self.prefixes.get(&prefix).copied();
        self.prefixes.insert(prefix, count.max(before.unwrap_or(0)));
        before.is_some()
    }

    /// Marks `name` as written in this function; whether it was already.
    pub(super) fn mark_written(&mut self, name: NameId) -> bool {
        if self.written.len() <= name.index() {
            self.written.resize(name.index() + 1, 0);
        }
        std::mem::replace(&mut self.written[name.index()], self.stamp) == self.stamp
    }
}

/// The digits of a number without the zeros before it: `%r01` is `%r1` to the assembler.
#[cold]
fn without_zeros(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    &digits[zeros.min(digits.len() - 1)..]
}

impl RegisterRange {
    fn prefix_ends_in_digit(&self) -> bool {
        let last = self.prefix_length.clamp(1, 8) - 1;
        // Only a prefix of up to eight bytes is ever asked for by number; a longer one is compared whole.
        self.prefix_length <= 8 && (self.key >> (8 * last) & 0xff) as u8 & 0xf0 == 0x30
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
        let mut digits = end;
        while digits > first && text[digits - 1].is_ascii_digit() {
            digits -= 1;
        }
        if self.scopes.digit_prefixes > 0 {
            return self.ranged_register_by_any_split(first, digits, end);
        }
        self.ranged_register_split(first, digits, end)
    }

    #[cold]
    fn ranged_register_by_any_split(
        &mut self,
        first: usize,
        digits: usize,
        end: usize,
    ) -> Result<Option<VRegId>, Diagnostic> {
        for split in digits..end {
            if let Some(vreg) = self.ranged_register_split(first, split, end)? {
                return Ok(Some(vreg));
            }
        }
        Ok(None)
    }

    /// As [`Self::ranged_register`], where the prefix ends and the number starts at `split`.
    #[inline]
    fn ranged_register_split(
        &mut self,
        first: usize,
        split: usize,
        end: usize,
    ) -> Result<Option<VRegId>, Diagnostic> {
        let text = self.cursor.text;
        let digits = &text[split..end];
        if digits.is_empty() {
            return Ok(None);
        }
        let digits = if digits[0] == b'0' { without_zeros(digits) } else { digits };
        // Up to nine digits fit.
        if digits.len() > 9 {
            return Ok(None);
        }
        let number = digits.iter().fold(0, |number, &digit| number * 10 + u32::from(digit - b'0'));
        let key = key_of(text, first, split);
        let length = (split - first) as u32;
        for index in (0..self.scopes.ranges.len()).rev() {
            let range = &self.scopes.ranges[index];
            if range.key != key || range.prefix_length != length || number >= range.count {
                continue;
            }
            if length > 8 && self.out.pools.names.bytes(text, range.prefix) != &text[first..split] {
                continue;
            }
            let depth = range.depth;
            if self.scopes.has_digit_shadows && self.is_shadowed(first, end, depth) {
                return Ok(None);
            }
            return self.register_of_range(index, number).map(Some);
        }
        Ok(None)
    }

    /// Whether an inner declaration by the whole name hides the member of a range declared at `depth`:
    ///
    /// ```text
    /// .reg .b32 r<9>; { .reg .b32 r5; mov.b32 r5, 2; }   // the inner r5, not the range's
    /// ```
    #[cold]
    fn is_shadowed(&mut self, first: usize, end: usize, depth: u32) -> bool {
        let name = self.out.pools.names.intern(self.cursor.text, first, end);
        let bound = self.scopes.bindings.get(name.index()).copied().unwrap_or_default();
        bound.0 != Binding::Unbound && bound.1 > depth
    }

    #[inline]
    fn register_of_range(&mut self, index: usize, number: u32) -> Result<VRegId, Diagnostic> {
        let range = &mut self.scopes.ranges[index];
        if let Some(vreg) = range.dense.get(number as usize).and_then(|slot| slot.get()) {
            return Ok(vreg);
        }
        if number >= DENSE_MAX
            && let Some(&vreg) = range.sparse.get(&number)
        {
            return Ok(vreg);
        }
        let name = VRegName { prefix: range.written.0, number: range.written.1.saturating_add(number) };
        let (ty, flags) = (range.ty, range.flags);
        let vreg = self.new_vreg(ty, flags, name)?;
        let range = &mut self.scopes.ranges[index];
        if number < DENSE_MAX {
            if range.dense.len() <= number as usize {
                range.dense.resize(number as usize + 1, Maybe::NONE);
            }
            range.dense[number as usize] = Maybe::some(vreg);
        } else {
            range.sparse.insert(number, vreg);
        }
        Ok(vreg)
    }

    /// The register behind [`Binding::Register`].
    pub(super) fn register_of_single(&mut self, index: u32) -> Result<VRegId, Diagnostic> {
        let single = self.scopes.singles[index as usize];
        if let Some(vreg) = single.vreg.get() {
            return Ok(vreg);
        }
        let vreg = self.new_vreg(single.ty, single.flags, single.name)?;
        self.scopes.singles[index as usize].vreg = Maybe::some(vreg);
        Ok(vreg)
    }

    /// A new register row of the function.
    pub(super) fn new_vreg(
        &mut self,
        ty: PackedType,
        flags: VRegFlags,
        name: VRegName,
    ) -> Result<VRegId, Diagnostic> {
        let id = self.out.vreg_heads.len() - self.first.vreg;
        if id > OPERAND_ID_MAX {
            return Err(Diagnostic::new(self.cursor.pos, 1, Problem::TooMany("registers")));
        }
        self.out.vreg_heads.push(VRegHead::new(ty, flags));
        self.out.vreg_names.push(name);
        Ok(VRegId::new(id))
    }

    /// Declares the register whose whole name stands at `first..end`.
    pub(super) fn declare_single(
        &mut self,
        first: usize,
        end: usize,
        ty: PackedType,
        flags: VRegFlags,
    ) -> Result<(), Diagnostic> {
        let name = self.out.pools.names.intern(self.cursor.text, first, end);
        self.refuse_duplicate(name, first, end)?;
        let needs_rename = self.must_rename_value(name, first, end);
        // A formal shadows a register of the module, and stands in the header, which is copied.
        let written = if needs_rename && !flags.contains(VRegFlags::FORMAL) {
            let (prefix, number) = self.fresh_numbers(name, ty, 1);
            VRegName { prefix, number }
        } else {
            if self.cursor.text[end - 1].is_ascii_digit() {
                self.scopes.digit_singles.push(name);
            }
            VRegName { prefix: name, number: VRegName::WHOLE }
        };
        let index = self.scopes.singles.len() as u32;
        self.scopes.singles.push(Single { name: written, ty, flags, vreg: Maybe::NONE });
        self.scopes.bind(name, Binding::Register(index));
        Ok(())
    }

    /// Declares `count` registers whose prefix stands at `first..end`.
    pub(super) fn declare_range(
        &mut self,
        first: usize,
        end: usize,
        count: u32,
        ty: PackedType,
        flags: VRegFlags,
    ) -> Result<(), Diagnostic> {
        let text = self.cursor.text;
        let prefix = self.out.pools.names.intern(text, first, end);
        let innermost = self.scopes.open.last().map_or(0, |scope| scope.ranges);
        if self.scopes.ranges[innermost..].iter().any(|range| range.prefix == prefix) {
            let name = shown_name(&text[first..end]);
            return Err(Diagnostic::new(first, end - first, Problem::DuplicateName(name)));
        }
        let hides_module =
            self.scopes.depth() > Self::BODY_DEPTH && self.module.mentions_member(&text[first..end]);
        let is_repeated =
            self.scopes.note_prefix(prefix, count) || self.holds_a_single(prefix, count) || hides_module;
        let needs_rename = is_repeated && !flags.contains(VRegFlags::FORMAL);
        let written = if needs_rename { self.fresh_numbers(prefix, ty, count) } else { (prefix, 0) };
        let mut range = self.scopes.spare.pop().unwrap_or_else(|| RegisterRange {
            key: 0,
            prefix,
            prefix_length: 0,
            depth: 0,
            count: 0,
            ty,
            flags,
            written,
            dense: Vec::new(),
            sparse: AHashMap::new(),
        });
        range.key = key_of(text, first, end);
        range.prefix = prefix;
        range.prefix_length = (end - first) as u32;
        range.depth = self.scopes.depth() as u32;
        (range.count, range.ty, range.flags, range.written) = (count, ty, flags, written);
        range.dense.clear();
        range.sparse.clear();
        self.scopes.digit_prefixes += usize::from(range.prefix_ends_in_digit());
        self.scopes.ranges.push(range);
        Ok(())
    }

    /// Whether a register declared by its whole name spells one of the `count` registers of `prefix`.
    fn holds_a_single(&self, prefix: NameId, count: u32) -> bool {
        let (text, names) = (self.cursor.text, &self.out.pools.names);
        let prefix = names.bytes(text, prefix);
        self.scopes.digit_singles.iter().any(|&single| {
            let number = names.bytes(text, single).strip_prefix(prefix);
            let number = number.and_then(|digits| std::str::from_utf8(digits).ok()?.parse::<u32>().ok());
            number.is_some_and(|number| number < count)
        })
    }

    fn refuse_duplicate(&self, name: NameId, first: usize, end: usize) -> Result<(), Diagnostic> {
        if self.scopes.is_bound_here(name) {
            let text = shown_name(&self.cursor.text[first..end]);
            return Err(Diagnostic::new(first, end - first, Problem::DuplicateName(text)));
        }
        Ok(())
    }

    /// Whether a declaration of `name` needs another name in the flattened function. Marks it as written.
    pub(super) fn must_rename(&mut self, name: NameId, first: usize, end: usize) -> bool {
        let was_written = self.scopes.mark_written(name);
        let shadows = self.spells_ranged_register(&self.cursor.text[first..end]);
        self.scopes.has_digit_shadows |= shadows;
        was_written || shadows
    }

    /// As [`Self::must_rename`], for what is no label:
    ///
    /// ```text
    /// .global .u32 g;
    /// .entry k() { { .reg .u32 g; } mov.u64 %rd1, g; }   // the variable, not the register
    /// ```
    ///
    /// A label keeps its name even so: debug sections may mean it, and nothing else is a branch target.
    pub(super) fn must_rename_value(&mut self, name: NameId, first: usize, end: usize) -> bool {
        let is_of_module =
            self.scopes.depth() > Self::BODY_DEPTH && self.module.mentions(&self.cursor.text[first..end]);
        self.must_rename(name, first, end) || is_of_module
    }

    /// Whether a word of a copied statement, which meant nothing there, means a register or variable now that inner
    /// scopes are flattened.
    pub(super) fn captures_a_loose_word(&self) -> bool {
        let (text, names, scopes) = (self.cursor.text, &self.out.pools.names, &self.scopes);
        scopes.loose_words.iter().any(|&word| {
            let bytes = names.bytes(text, word);
            let digits = bytes.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
            let is_in_range = |split: usize| {
                names.find(text, &bytes[..split]).is_some_and(|p| scopes.prefixes.contains_key(&p))
            };
            scopes.written.get(word.index()) == Some(&scopes.stamp)
                || (bytes.len() - digits..bytes.len()).any(is_in_range)
        })
    }

    /// Whether `name` would be taken for a member of a range that this function declares anywhere.
    fn spells_ranged_register(&self, name: &[u8]) -> bool {
        let (text, names) = (self.cursor.text, &self.out.pools.names);
        let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        (name.len() - digits..name.len()).any(|split| {
            let prefix = names.find(text, &name[..split]);
            let count = prefix.and_then(|prefix| self.scopes.prefixes.get(&prefix));
            let number = || std::str::from_utf8(&name[split..]).ok()?.parse::<u32>().ok();
            count.is_some_and(|&count| number().is_some_and(|number| number < count))
        })
    }

    /// A prefix and a first number for `count` registers that cannot keep the name `base`.
    fn fresh_numbers(&mut self, base: NameId, ty: PackedType, count: u32) -> (NameId, u32) {
        let text = self.cursor.text;
        let mut fresh = self.out.pools.names.bytes(text, base).to_vec();
        fresh.extend_from_slice(b"__");
        if ty.lanes > 1 {
            fresh.extend_from_slice(format!("v{}", ty.lanes).as_bytes());
        }
        fresh.extend_from_slice(ty.element().name().as_bytes());
        fresh.push(b'_');
        let prefix = self.out.pools.names.intern_fresh(text, &fresh);
        let next = self.scopes.fresh_numbers.entry(prefix).or_insert(0);
        let number = *next;
        match number.checked_add(count).filter(|&end| end <= RANGED_NUMBER_END) {
            Some(end) => *next = end,
            // There are no more numbers under this prefix: the function keeps its text.
            None => self.is_left = true,
        }
        (prefix, number)
    }

    /// A name that no other declaration of the function is written with, made from `base`.
    pub(super) fn fresh_name(&mut self, base: NameId) -> NameId {
        let text = self.cursor.text;
        let first = self.scopes.fresh_suffixes.get(&base).copied().unwrap_or(1);
        let base_bytes = self.out.pools.names.bytes(text, base).to_vec();
        for number in first.. {
            let mut fresh = base_bytes.clone();
            fresh.extend_from_slice(format!("__{number}").as_bytes());
            let name = self.out.pools.names.intern_fresh(text, &fresh);
            let is_taken = self.module.mentions(&fresh) || self.spells_ranged_register(&fresh);
            if !self.scopes.mark_written(name) && !is_taken {
                self.scopes.fresh_suffixes.insert(base, number + 1);
                return name;
            }
        }
        unreachable!("a function has fewer than 2^32 names")
    }

    /// Fails where a fresh name could be taken for one that the source declares: such a function keeps its text.
    pub(super) fn fresh_names_are_unique(&self) -> bool {
        let text = self.cursor.text;
        let names = &self.out.pools.names;
        self.scopes.fresh_numbers.keys().all(|&prefix| {
            let fresh = names.bytes(text, prefix);
            !self.scopes.prefixes.contains_key(&prefix)
                && names.iter(text).all(|(name, bytes)| name == prefix || !bytes.starts_with(fresh))
        })
    }
}
