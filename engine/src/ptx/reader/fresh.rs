//! Fresh names: what a declaration is written with when flattening scopes would make it meet another.
//!
//! Whether two names meet is judged within their function and the words of the module-level text, never by what else is
//! in the batch: a function is written the same, whatever it is read with.

use super::Reader;
use crate::ptx::numbered::{digits_of, member_of, number_of};
use crate::store::left::LeftReason;
use ahash::AHashMap;
use ptxopt_components::ids::{Id, NameId};
use ptxopt_components::special_registers::{self, SPECIAL_REGISTERS};
use ptxopt_components::types::PackedType;

/// A family of variables, `v<3>`.
#[derive(Clone, Copy)]
pub(super) struct Family {
    count: u32,
    /// Names that were written before it was declared, as a number of [`FreshNames::written_names`].
    written_before: usize,
}

/// What is written, and what is free.
#[derive(Default)]
pub(super) struct FreshNames {
    /// By name: the function that wrote it last.
    written: Vec<u32>,
    stamp: u32,
    /// Names written in this function, in their order.
    written_names: Vec<NameId>,
    /// How many of them `least_singles` knows.
    noted: usize,
    /// Next number under each fresh prefix.
    numbers: AHashMap<NameId, u32>,
    /// By base of a fresh name: its separator, and the next number to try, so that many labels of one name stay linear.
    suffixes: AHashMap<NameId, (Vec<u8>, u32)>,
    /// Registers and variables that are written with a whole name that ends in a number: by what stands before it, the
    /// least one.
    least_singles: AHashMap<NameId, u32>,
    /// Registers and variables that open scopes declare with a whole name that ends in a number, by what stands before it: each with
    /// its place in `numbered_stems`.
    numbered: AHashMap<NameId, Vec<(usize, NameId)>>,
    /// What stands before the number of each of them, in their order.
    numbered_stems: Vec<NameId>,
    /// Words of copied statements that are bound to nothing.
    loose_words: Vec<NameId>,
    /// Prefixes of ranges and families declared in this function, with the most members that one of them has.
    prefixes: AHashMap<NameId, u32>,
    /// Families of variables declared in this function.
    families: AHashMap<NameId, Family>,
    /// Families of inner scopes whose members are declared one by one, with the most members that one of them has.
    spread: AHashMap<NameId, u32>,
}

impl FreshNames {
    pub(super) fn start_batch(&mut self) {
        self.written.clear();
        self.stamp = 0;
    }

    pub(super) fn start_function(&mut self) {
        let Self {
            written: _,
            stamp,
            written_names,
            noted,
            numbers,
            suffixes,
            least_singles,
            numbered,
            numbered_stems,
            loose_words,
            prefixes,
            families,
            spread,
        } = self;
        *stamp += 1;
        written_names.clear();
        *noted = 0;
        numbers.clear();
        suffixes.clear();
        least_singles.clear();
        numbered.clear();
        numbered_stems.clear();
        loose_words.clear();
        prefixes.clear();
        families.clear();
        spread.clear();
    }

    /// Marks `name` as written in this function; whether it was already.
    pub(super) fn mark_written(&mut self, name: NameId) -> bool {
        if self.written.len() <= name.index() {
            self.written.resize(name.index() + 1, 0);
        }
        let was_written = std::mem::replace(&mut self.written[name.index()], self.stamp) == self.stamp;
        if !was_written {
            self.written_names.push(name);
        }
        was_written
    }

    fn is_written(&self, name: NameId) -> bool {
        self.written.get(name.index()) == Some(&self.stamp)
    }

    /// How many names that end in a number the open scopes declare.
    pub(super) fn numbered_count(&self) -> usize {
        self.numbered_stems.len()
    }

    /// Forgets those that were declared since there were `count`.
    pub(super) fn forget_numbered(&mut self, count: usize) {
        for stem in self.numbered_stems.drain(count..) {
            self.numbered.get_mut(&stem).map(Vec::pop);
        }
    }

    /// What is written so far was noted name by name.
    pub(super) fn has_noted_all(&mut self) {
        self.noted = self.written_names.len();
    }

    /// Notes a word of a copied statement that is bound to nothing.
    pub(super) fn note_loose_word(&mut self, name: NameId) {
        self.loose_words.push(name);
    }
}

impl Reader<'_, '_> {
    /// Notes that the function declares `count` members after `prefix`; whether it did so before.
    pub(super) fn note_prefix(&mut self, prefix: NameId, count: u32) -> bool {
        let prefixes = &mut self.scopes.fresh.prefixes;
        let before = prefixes.get(&prefix).copied();
        prefixes.insert(prefix, count.max(before.unwrap_or(0)));
        self.out.pools.names.note_members(self.cursor.text, prefix, count);
        before.is_some()
    }

    /// Notes the register or variable that is declared, and written, with the whole name at `first..end`.
    pub(super) fn note_single(&mut self, first: usize, end: usize) {
        let text = self.cursor.text;
        let split = first + digits_of(&text[first..end]);
        if let Some(number) = number_of(&text[split..end]) {
            let stem = self.out.pools.names.intern(text, first, split);
            self.note_single_of(stem, number);
        }
    }

    /// As [`Self::note_single`], for `stem` and a number.
    pub(super) fn note_single_of(&mut self, stem: NameId, number: u32) {
        let least = self.scopes.fresh.least_singles.entry(stem).or_insert(number);
        *least = number.min(*least);
    }

    /// Notes what is written so far with a whole name that ends in a number, whatever it is: labels, tables, names of the module's.
    pub(super) fn note_written(&mut self) {
        while let Some(&name) = self.scopes.fresh.written_names.get(self.scopes.fresh.noted) {
            self.scopes.fresh.noted += 1;
            let text = self.cursor.text;
            let bytes = self.out.pools.names.bytes(text, name);
            let split = digits_of(bytes);
            if let Some(number) = number_of(&bytes[split..]) {
                let stem = bytes[..split].to_vec();
                let stem = self.out.pools.names.intern_fresh(text, &stem);
                self.note_single_of(stem, number);
            }
        }
    }

    /// Whether a range of an inner scope spells special registers, which the function may name elsewhere.
    pub(super) fn hides_special_registers(&self, first: usize, end: usize, count: u32) -> bool {
        let Some(prefix) = self.cursor.text[first..end].strip_prefix(b"%") else { return false };
        let number = |name: &str| name.as_bytes().strip_prefix(prefix).and_then(number_of);
        let mut numbers = SPECIAL_REGISTERS.iter().filter_map(|register| number(register.name));
        self.scopes.depth() > Self::BODY_DEPTH && numbers.any(|number| number < count)
    }

    /// Notes that `name`, spelled at `first..end`, is declared by its whole name.
    pub(super) fn note_numbered(&mut self, name: NameId, first: usize, end: usize) {
        let text = self.cursor.text;
        let split = first + digits_of(&text[first..end]);
        if split < end {
            let stem = self.out.pools.names.intern(text, first, split);
            self.note_numbered_of(stem, name);
        }
    }

    /// As [`Self::note_numbered`], for a name that is `stem` and a number.
    pub(super) fn note_numbered_of(&mut self, stem: NameId, name: NameId) {
        let fresh = &mut self.scopes.fresh;
        fresh.numbered.entry(stem).or_default().push((fresh.numbered_stems.len(), name));
        fresh.numbered_stems.push(stem);
    }

    /// Whether the innermost scope declares, by its whole name, one of the `count` registers of `prefix`.
    pub(super) fn holds_a_name_of_here(&self, prefix: NameId, count: u32) -> bool {
        let (text, names, numbered) = (self.cursor.text, &self.out.pools.names, &self.scopes.fresh.numbered);
        let bytes = names.bytes(text, prefix);
        let first = self.scopes.innermost_numbered();
        let mut of_here =
            numbered.get(&prefix).into_iter().flatten().rev().take_while(|&&(place, _)| place >= first);
        of_here.any(|&(_, name)| {
            let number = names.bytes(text, name).strip_prefix(bytes).and_then(number_of);
            number.is_some_and(|number| number < count) && self.scopes.is_bound_here(name)
        })
    }

    /// Whether a name that is declared or was [noted](Self::note_written) may spell one of the `count` registers of `prefix`.
    pub(super) fn meets_a_single(&self, prefix: NameId, count: u32) -> bool {
        self.scopes.fresh.least_singles.get(&prefix).is_some_and(|&least| least < count)
    }

    /// Whether a range with the prefix at `first..end` would hide members of the module's, which flattening brings into
    /// places that mean those.
    pub(super) fn hides_members_of_module(&self, first: usize, end: usize) -> bool {
        let (module, prefix) = (self.module, &self.cursor.text[first..end]);
        let is_inner = self.scopes.depth() > Self::BODY_DEPTH;
        let has_registers = !module.registers.is_empty();
        (is_inner || has_registers)
            && (module.mentions_member(prefix) || module.registers.range(prefix).is_some())
    }

    /// Whether a declaration of `name`, spelled `text`, needs another name in the flattened function. Marks it as written.
    pub(super) fn must_rename(&mut self, name: NameId, text: &[u8]) -> bool {
        let was_written = self.scopes.fresh.mark_written(name);
        let is_of_module = !self.module.registers.is_empty() && self.module.registers.single(text).is_some();
        let shadows = self.spells_ranged_register(text);
        self.scopes.has_digit_shadows |= shadows;
        let is_inner = self.scopes.depth() > Self::BODY_DEPTH;
        let is_special = is_inner && text.strip_prefix(b"%").and_then(special_registers::find).is_some();
        was_written || shadows || is_of_module || is_special
    }

    /// As [`Self::must_rename`], for what is no label:
    ///
    /// ```text
    /// .global .u32 g;
    /// .entry k() { { .reg .u32 g; } mov.u64 %rd1, g; }   // the variable, not the register
    /// ```
    ///
    /// A label keeps its name even so: debug sections may mean it, and nothing else is a branch target.
    pub(super) fn must_rename_value(&mut self, name: NameId, text: &[u8]) -> bool {
        let is_of_module = self.scopes.depth() > Self::BODY_DEPTH && self.module.mentions(text);
        self.must_rename(name, text) || is_of_module
    }

    /// Whether `name` would be taken for a member of a range or family that this function declares anywhere, or the
    /// module.
    fn spells_ranged_register(&self, name: &[u8]) -> bool {
        let (text, names, fresh) = (self.cursor.text, &self.out.pools.names, &self.scopes.fresh);
        let registers = &self.module.registers;
        let Some((split, number)) = member_of(name) else { return false };
        let prefix = &name[..split];
        let count = names.find(text, prefix).and_then(|prefix| fresh.prefixes.get(&prefix));
        let is_of_module = || registers.range(prefix).is_some_and(|(_, count)| number < count);
        count.is_some_and(|&count| number < count) || (!registers.is_empty() && is_of_module())
    }

    /// A prefix and a first number for `count` registers that cannot keep the name `base`.
    pub(super) fn fresh_numbers(&mut self, base: NameId, ty: PackedType, count: u32) -> (NameId, u32) {
        let text = self.cursor.text;
        let mut fresh = self.out.pools.names.bytes(text, base).to_vec();
        fresh.extend_from_slice(b"__");
        if ty.lanes > 1 {
            fresh.extend_from_slice(format!("v{}", ty.lanes).as_bytes());
        }
        fresh.extend_from_slice(ty.element().name().as_bytes());
        fresh.push(b'_');
        let prefix = self.out.pools.names.intern_fresh(text, &fresh);
        let next = self.scopes.fresh.numbers.entry(prefix).or_insert(0);
        let number = *next;
        match number.checked_add(count) {
            Some(end) => *next = end,
            None => self.leave(LeftReason::NumbersExhausted),
        }
        (prefix, number)
    }

    /// A name that no other declaration of the function is written with, made from `base`.
    pub(super) fn fresh_name(&mut self, base: NameId) -> NameId {
        let text = self.cursor.text;
        let bytes = self.out.pools.names.bytes(text, base).to_vec();
        let known = self.scopes.fresh.suffixes.remove(&base);
        let (mut separator, mut number) = known.unwrap_or_else(|| (self.free_separator(&bytes, b"__"), 1));
        loop {
            let fresh = [&bytes, &separator[..], number.to_string().as_bytes()].concat();
            let name = self.out.pools.names.intern_fresh(text, &fresh);
            let was_written = self.scopes.fresh.mark_written(name);
            if self.spells_ranged_register(&fresh) {
                // A range has been declared since, of which every number may be a member.
                (separator, number) = (self.free_separator(&bytes, &[&separator, &b"_"[..]].concat()), 1);
                continue;
            }
            if !was_written {
                self.scopes.fresh.suffixes.insert(base, (separator, number + 1));
                return name;
            }
            number += 1;
        }
    }

    /// What stands between `base` and a number so that no word of the module is meant, and no member of a range so far: `least`, or
    /// more.
    fn free_separator(&self, base: &[u8], least: &[u8]) -> Vec<u8> {
        let mut stem = [base, least].concat();
        while self.module.mentions_member(&stem) || self.is_prefix(&stem) {
            stem.push(b'_');
        }
        stem.split_off(base.len())
    }

    /// Whether this function declares a range or family with this prefix.
    fn is_prefix(&self, bytes: &[u8]) -> bool {
        let prefix = self.out.pools.names.find(self.cursor.text, bytes);
        prefix.is_some_and(|prefix| self.scopes.fresh.prefixes.contains_key(&prefix))
    }

    /// Why the function keeps its text after all, now that every name of it is known.
    pub(super) fn names_meet(&self) -> Option<LeftReason> {
        if !self.fresh_names_are_unique() {
            Some(LeftReason::FreshNameTaken)
        } else if self.captures_a_loose_word() {
            Some(LeftReason::WordCaptured)
        } else if self.family_meets_a_name() {
            Some(LeftReason::FamilyMeetsName)
        } else {
            None
        }
    }

    /// Fails where a fresh prefix and a number may spell a name that the source declares or uses.
    fn fresh_names_are_unique(&self) -> bool {
        let (text, names, fresh) = (self.cursor.text, &self.out.pools.names, &self.scopes.fresh);
        let suffixed = |(&base, (separator, _)): (&NameId, &(Vec<u8>, u32))| {
            self.is_prefix(&[names.bytes(text, base), separator].concat())
        };
        if fresh.suffixes.iter().any(suffixed) {
            return false;
        }
        if fresh.numbers.is_empty() {
            return true;
        }
        // Fresh prefixes end in `_`.
        let is_taken = |name: NameId| {
            let bytes = names.bytes(text, name);
            let stem = &bytes[..digits_of(bytes)];
            stem.len() < bytes.len()
                && stem.ends_with(b"_")
                && names.find(text, stem).is_some_and(|stem| fresh.numbers.contains_key(&stem))
        };
        let is_prefix = |prefix: &NameId| {
            fresh.prefixes.contains_key(prefix) || self.module.mentions_member(names.bytes(text, *prefix))
        };
        let words = fresh.written_names.iter().chain(&fresh.loose_words).chain(fresh.prefixes.keys());
        !fresh.numbers.keys().any(is_prefix) && !words.copied().any(is_taken)
    }

    /// Whether a word of a copied statement, which meant nothing there, means a register or variable now that inner
    /// scopes are flattened.
    fn captures_a_loose_word(&self) -> bool {
        let (text, names, fresh) = (self.cursor.text, &self.out.pools.names, &self.scopes.fresh);
        fresh.loose_words.iter().any(|&word| {
            let bytes = names.bytes(text, word);
            fresh.is_written(word)
                || member_of(bytes).is_some_and(|(split, _)| self.is_prefix(&bytes[..split]))
        })
    }

    /// Declares the family `prefix<count>` of variables. What is declared later and meets a member is renamed; members
    /// cannot be.
    pub(super) fn declare_family(&mut self, prefix: NameId, count: u32) {
        if self.note_prefix(prefix, count) || self.scopes.depth() > Self::BODY_DEPTH {
            self.leave(LeftReason::FamilyMeetsName);
        }
        let fresh = &mut self.scopes.fresh;
        let family = Family { count, written_before: fresh.written_names.len() };
        // Of two with one prefix the function keeps its text, and each name still means something.
        fresh
            .families
            .entry(prefix)
            .and_modify(|first| first.count = first.count.max(count))
            .or_insert(family);
    }

    /// Notes that the members of the family `prefix<count>` of an inner scope are declared one by one.
    pub(super) fn note_spread(&mut self, prefix: NameId, count: u32) {
        let most = self.scopes.fresh.spread.entry(prefix).or_insert(0);
        *most = count.max(*most);
    }

    /// Whether `name` is another spelling of a member that was declared by itself, with zeros before its number.
    pub(super) fn spells_spread_member(&self, name: &[u8]) -> bool {
        let (text, names, spread) = (self.cursor.text, &self.out.pools.names, &self.scopes.fresh.spread);
        !spread.is_empty()
            && member_of(name).is_some_and(|(split, number)| {
                let prefix = names.find(text, &name[..split]);
                prefix.and_then(|prefix| spread.get(&prefix)).is_some_and(|&count| number < count)
            })
    }

    /// The variable of a family that `name` spells, unless an inner scope declares that name.
    #[inline]
    pub(super) fn member_of_family(&mut self, name: NameId) -> Option<NameId> {
        if self.scopes.fresh.families.is_empty() { None } else { self.member_of_some_family(name) }
    }

    #[cold]
    fn member_of_some_family(&mut self, name: NameId) -> Option<NameId> {
        if self.scopes.is_bound_inside(name, Self::BODY_DEPTH as u32) {
            return None;
        }
        let text = self.cursor.text;
        let bytes = self.out.pools.names.bytes(text, name);
        let (split, number) =
            member_of(bytes).filter(|&(split, number)| self.is_in_family(&bytes[..split], number))?;
        let member = [&bytes[..split], number.to_string().as_bytes()].concat();
        Some(self.out.pools.names.intern_fresh(text, &member))
    }

    fn is_in_family(&self, prefix: &[u8], number: u32) -> bool {
        let prefix = self.out.pools.names.find(self.cursor.text, prefix);
        let family = prefix.and_then(|prefix| self.scopes.fresh.families.get(&prefix));
        family.is_some_and(|family| number < family.count)
    }

    /// Whether a member of a family has the name of something that was written before the family was declared.
    fn family_meets_a_name(&self) -> bool {
        let (text, names, fresh) = (self.cursor.text, &self.out.pools.names, &self.scopes.fresh);
        let Some(last) = fresh.families.values().map(|family| family.written_before).max() else {
            return false;
        };
        fresh.written_names[..last].iter().enumerate().any(|(place, &name)| {
            let bytes = names.bytes(text, name);
            member_of(bytes).is_some_and(|(split, number)| {
                let prefix = names.find(text, &bytes[..split]);
                let family = prefix.and_then(|prefix| fresh.families.get(&prefix));
                family.is_some_and(|family| number < family.count && place < family.written_before)
            })
        })
    }
}
