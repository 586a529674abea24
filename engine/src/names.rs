//! Names: interned once a batch, so that a label, symbol or register prefix is four bytes everywhere else.

use ahash::RandomState;
use hashbrown::HashTable;
use ptxopt_components::anchor::NameText;
use ptxopt_components::ids::{Id, NameId, Span};

/// The names of a batch. A name is bytes of the module's text, or of a buffer for names made by the optimizer.
pub struct Names {
    texts: Vec<NameText>,
    fresh: Vec<u8>,
    table: HashTable<u32>,
    hasher: RandomState,
}

impl Default for Names {
    fn default() -> Self {
        Self {
            texts: Vec::new(),
            fresh: Vec::new(),
            table: HashTable::new(),
            // Fixed seeds: nothing may depend on the run, not even the time a probe takes.
            hasher: RandomState::with_seeds(0x70_74_78, 0x6f_70_74, 0x6e_61_6d, 0x65_73),
        }
    }
}

impl Names {
    /// Forgets every name and keeps the memory.
    pub fn clear(&mut self) {
        self.texts.clear();
        self.fresh.clear();
        self.table.clear();
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
        let Self { texts, fresh, table, hasher } = self;
        let hash = hasher.hash_one(bytes);
        let same = |&id: &u32| texts[id as usize].bytes(module, fresh) == bytes;
        if let Some(&id) = table.find(hash, same) {
            return NameId(id);
        }
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
        let first = self.fresh.len();
        self.fresh.extend_from_slice(bytes);
        let id = self.texts.len() as u32;
        self.texts.push(NameText::fresh(Span::between(first, self.fresh.len())));
        let Self { texts, fresh, table, hasher } = self;
        let hash = hasher.hash_one(bytes);
        table.insert_unique(hash, id, |&id| hasher.hash_one(texts[id as usize].bytes(module, fresh)));
        NameId(id)
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
