//! Names: interned once a batch, so that a label, symbol or register prefix is four bytes everywhere else.

use ahash::RandomState;
use hashbrown::HashTable;
use ptxopt_components::anchor::NameText;
use ptxopt_components::ids::{Id, NameId, Span};
use ptxopt_components::types::PackedType;

/// The names of a batch. A name is bytes of its module's text, or of a buffer for names made by the optimizer.
///
/// Where a batch holds functions of several modules, the reader goes from one to the next: a name is found again in its own
/// module only, and what is made here is numbered within each module, as if it were alone.
#[derive(Clone)]
pub struct Names {
    texts: Vec<NameText>,
    fresh: Vec<u8>,
    table: HashTable<u32>,
    hasher: RandomState,
    /// By module of the batch, one at least; the last one is being read.
    made: Vec<Made>,
}

/// What is known of the names made for a module.
#[derive(Clone, Default)]
struct Made {
    /// Number of the next fresh label: above those that the text holds.
    next_label: u64,
    /// Number in the next fresh prefix of registers: above those that the text holds.
    next_prefix: u64,
    /// Number of the next label of a Flow block: above those that the text holds.
    next_flow: u64,
    /// The prefixes of registers made so far, by type.
    prefixes: Vec<(PackedType, NameId)>,
}

impl Made {
    /// Notes a name that the text holds, or a member of a family in it: what is made here gets greater numbers.
    fn note(&mut self, name: &[u8]) {
        if let Some(number) = name.strip_prefix(FRESH_LABEL) {
            self.next_label = self.next_label.max(after_number(number));
        } else if let Some(number) = name.strip_prefix(FRESH_PREFIX) {
            self.next_prefix = self.next_prefix.max(after_number(number));
        } else if let Some(number) = name.strip_prefix(FLOW_LABEL) {
            self.next_flow = self.next_flow.max(after_number(number).max(1));
        }
    }
}

/// What the name of a label made here starts with. A number follows.
const FRESH_LABEL: &[u8] = b"$L__ptxopt_";

/// What the label of a Flow block starts with. Nothing follows, or a number.
const FLOW_LABEL: &[u8] = b"Flow";

/// What the name of a register made here starts with. A number and the type follow.
const FRESH_PREFIX: &[u8] = b"%opt";

impl Default for Names {
    fn default() -> Self {
        Self {
            texts: Vec::new(),
            fresh: Vec::new(),
            table: HashTable::new(),
            // Fixed seeds: nothing may depend on the run, not even the time a probe takes.
            hasher: RandomState::with_seeds(0x70_74_78, 0x6f_70_74, 0x6e_61_6d, 0x65_73),
            made: vec![Made::default()],
        }
    }
}

impl Names {
    /// Forgets every name and keeps the memory.
    pub fn clear(&mut self) {
        self.texts.clear();
        self.fresh.clear();
        self.table.clear();
        self.made.truncate(1);
        let Made { next_label, next_prefix, next_flow, prefixes } = &mut self.made[0];
        (*next_label, *next_prefix, *next_flow) = (0, 0, 0);
        prefixes.clear();
    }

    /// Goes on to the next module of the batch: the names of those before stay, and are not found any more.
    pub(crate) fn start_next_module(&mut self) {
        self.table.clear();
        self.made.push(Made::default());
    }

    /// Number of names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there is no name.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The name that stands at `first..end` of `module`.
    #[inline]
    pub fn intern(&mut self, module: &[u8], first: usize, end: usize) -> NameId {
        let bytes = &module[first..end];
        let Self { texts, fresh, table, hasher, made } = self;
        let hash = hasher.hash_one(bytes);
        let same = |&id: &u32| texts[id as usize].bytes(module, fresh) == bytes;
        if let Some(&id) = table.find(hash, same) {
            return NameId(id);
        }
        made.last_mut().expect("there is one at least").note(bytes);
        let id = texts.len() as u32;
        texts.push(NameText::in_module(Span::between(first, end)));
        table.insert_unique(hash, id, |&id| hasher.hash_one(texts[id as usize].bytes(module, fresh)));
        NameId(id)
    }

    /// The name `bytes`, which need not stand in `module`.
    pub fn intern_fresh(&mut self, module: &[u8], bytes: &[u8]) -> NameId {
        if let Some(id) = self.find(module, bytes) {
            return id;
        }
        self.made.last_mut().expect("there is one at least").note(bytes);
        let first = self.fresh.len();
        self.fresh.extend_from_slice(bytes);
        let id = self.texts.len() as u32;
        self.texts.push(NameText::fresh(Span::between(first, self.fresh.len())));
        let Self { texts, fresh, table, hasher, .. } = self;
        let hash = hasher.hash_one(bytes);
        table.insert_unique(hash, id, |&id| hasher.hash_one(texts[id as usize].bytes(module, fresh)));
        NameId(id)
    }

    /// Notes that `prefix` and numbers below `count` are names, too: fresh labels have greater numbers.
    pub(crate) fn note_members(&mut self, module: &[u8], prefix: NameId, count: u32) {
        let bytes = self.bytes(module, prefix);
        let is_near = |label: &[u8]| bytes.starts_with(label);
        if count == 0 || !is_near(FRESH_LABEL) && !is_near(FLOW_LABEL) {
            return;
        }
        let last = [bytes, (count - 1).to_string().as_bytes()].concat();
        self.made.last_mut().expect("there is one at least").note(&last);
    }

    /// A name for a label, which no function of module number `module` of the batch holds. It is not found by its bytes.
    pub fn fresh_label(&mut self, module: u32) -> NameId {
        let Made { next_label, .. } = &mut self.made[module as usize];
        let first = self.fresh.len();
        self.fresh.extend_from_slice(FRESH_LABEL);
        self.fresh.extend_from_slice(itoa::Buffer::new().format(*next_label).as_bytes());
        *next_label += 1;
        self.texts.push(NameText::fresh(Span::between(first, self.fresh.len())));
        NameId::new(self.texts.len() - 1)
    }

    /// As [`Names::fresh_label`], for a Flow block: `Flow`, `Flow1`, ...
    pub fn fresh_flow_label(&mut self, module: u32) -> NameId {
        let Made { next_flow, .. } = &mut self.made[module as usize];
        let first = self.fresh.len();
        self.fresh.extend_from_slice(FLOW_LABEL);
        if *next_flow > 0 {
            self.fresh.extend_from_slice(itoa::Buffer::new().format(*next_flow).as_bytes());
        }
        *next_flow += 1;
        self.texts.push(NameText::fresh(Span::between(first, self.fresh.len())));
        NameId::new(self.texts.len() - 1)
    }

    /// The prefix of the registers of type `ty` that are made here for module number `module` of the batch. No register of it
    /// starts with that.
    pub fn fresh_prefix(&mut self, module: u32, ty: PackedType) -> NameId {
        let Made { next_prefix, prefixes, .. } = &mut self.made[module as usize];
        if let Some(&(_, name)) = prefixes.iter().find(|(made, _)| *made == ty) {
            return name;
        }
        let first = self.fresh.len();
        self.fresh.extend_from_slice(FRESH_PREFIX);
        self.fresh.extend_from_slice(itoa::Buffer::new().format(*next_prefix).as_bytes());
        self.fresh.extend_from_slice(ty.element().name().as_bytes());
        self.fresh.push(b'_');
        self.texts.push(NameText::fresh(Span::between(first, self.fresh.len())));
        let name = NameId::new(self.texts.len() - 1);
        self.made[module as usize].prefixes.push((ty, name));
        name
    }

    /// The name `bytes`, if it was interned.
    #[must_use]
    pub fn find(&self, module: &[u8], bytes: &[u8]) -> Option<NameId> {
        let hash = self.hasher.hash_one(bytes);
        let same = |&id: &u32| self.texts[id as usize].bytes(module, &self.fresh) == bytes;
        self.table.find(hash, same).map(|&id| NameId(id))
    }

    /// The bytes of a name.
    #[inline]
    #[must_use]
    pub fn bytes<'a>(&'a self, module: &'a [u8], name: NameId) -> &'a [u8] {
        self.texts[name.index()].bytes(module, &self.fresh)
    }
}

/// One more than the number that `text` starts with; 0 where none does that one could be added to.
fn after_number(text: &[u8]) -> u64 {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = std::str::from_utf8(&text[..digits]).ok().and_then(|digits| digits.parse::<u64>().ok());
    number.and_then(|number| number.checked_add(1)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptxopt_components::types::PtxType;

    #[test]
    fn fresh_labels_are_not_in_the_text() {
        let text = b"$L__ptxopt_3 $L__ptxopt_x $L__ptxopt_99999999999999999999";
        let mut names = Names::default();
        assert_eq!(names.fresh_label(0), NameId(0));
        assert_eq!(names.bytes(text, NameId(0)), b"$L__ptxopt_0");
        names.intern(text, 0, 12);
        names.intern(text, 13, 25);
        names.intern(text, 26, text.len());
        let fresh = names.fresh_label(0);
        assert_eq!(names.bytes(text, fresh), b"$L__ptxopt_4");
    }

    #[test]
    fn fresh_labels_are_no_members_of_ranges() {
        let text = b"Flow Flow1 $L__ptxopt_ %r";
        let mut names = Names::default();
        let (flow, flow_1) = (names.intern(text, 0, 4), names.intern(text, 5, 10));
        let (label, register) = (names.intern(text, 11, 22), names.intern(text, 23, 25));
        let next = |names: &mut Names| {
            let made = [names.fresh_flow_label(0), names.fresh_label(0)];
            made.map(|name| String::from_utf8(names.bytes(text, name).to_vec()).unwrap())
        };
        names.note_members(text, register, 100);
        assert_eq!(next(&mut names), ["Flow2", "$L__ptxopt_0"]);
        names.note_members(text, flow, 5);
        names.note_members(text, label, 7);
        names.note_members(text, label, 0);
        assert_eq!(next(&mut names), ["Flow5", "$L__ptxopt_7"]);
        names.note_members(text, flow_1, 3);
        names.note_members(text, label, 4);
        assert_eq!(next(&mut names), ["Flow13", "$L__ptxopt_8"]);
        // So is a member that is declared by itself.
        names.intern_fresh(text, b"Flow20");
        names.intern_fresh(text, b"$L__ptxopt_30");
        assert_eq!(next(&mut names), ["Flow21", "$L__ptxopt_31"]);
    }

    #[test]
    fn registers_made_here_have_a_prefix_a_type_that_the_text_does_not_use() {
        let text = b"%opt3b32_ %option %opt17";
        let mut names = Names::default();
        names.intern(text, 0, 9);
        names.intern(text, 10, 17);
        names.intern(text, 18, text.len());
        let of = |names: &mut Names, ty| {
            let name = names.fresh_prefix(0, PackedType::new(ty, 1));
            String::from_utf8(names.bytes(text, name).to_vec()).unwrap()
        };
        assert_eq!(of(&mut names, PtxType::B32), "%opt18b32_");
        assert_eq!(of(&mut names, PtxType::Pred), "%opt18pred_");
        assert_eq!(of(&mut names, PtxType::B32), "%opt18b32_");
    }

    #[test]
    fn each_module_has_its_own_names() {
        let (first, second) = (b"$L__ptxopt_7 shared", b"shared %opt2x");
        let mut names = Names::default();
        names.intern(first, 0, 12);
        let of_first = names.intern(first, 13, 19);
        names.start_next_module();
        let of_second = names.intern(second, 0, 6);
        names.intern(second, 7, 13);
        assert_ne!(of_first, of_second);
        assert_eq!(
            (names.bytes(first, of_first), names.bytes(second, of_second)),
            (&b"shared"[..], &b"shared"[..])
        );
        let label = |names: &mut Names, module| {
            let label = names.fresh_label(module);
            String::from_utf8(names.bytes(b"", label).to_vec()).unwrap()
        };
        let labels = [0, 1, 0, 1].map(|module| label(&mut names, module));
        assert_eq!(labels, ["$L__ptxopt_8", "$L__ptxopt_0", "$L__ptxopt_9", "$L__ptxopt_1"]);
        let prefix = |names: &mut Names, module| {
            let prefix = names.fresh_prefix(module, PackedType::new(PtxType::B32, 1));
            String::from_utf8(names.bytes(b"", prefix).to_vec()).unwrap()
        };
        assert_eq!(
            [0, 1, 0].map(|module| prefix(&mut names, module)),
            ["%opt0b32_", "%opt3b32_", "%opt0b32_"]
        );
        names.clear();
        assert_eq!(label(&mut names, 0), "$L__ptxopt_0");
    }
}
