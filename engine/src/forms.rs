//! The form table: mnemonics and operand shapes, interned.
//!
//! A mnemonic is looked up once as a byte slice; a form is a mnemonic with a shape. A shard's table lives as long as
//! the shard: after the first modules nearly every look-up hits.

use ahash::RandomState;
use bevy_ecs::resource::Resource;
use hashbrown::HashTable;
use ptxopt_components::form::{Accepts, Form, FormFlags, Role, Slot, shape};
use ptxopt_components::ids::{FormId, Id, Maybe, Span};
use ptxopt_components::opcodes::{Effects, InFlight, Opcodes, Row};
use ptxopt_components::qualifiers;
use ptxopt_components::types::{PtxType, StateSpace};

/// What stands elsewhere and changes the meaning of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub struct Dialect {
    /// Plain `f32` arithmetic flushes denormals (`.target sm_1x`).
    pub flushes: bool,
    /// A call of a function that never returns (`.noreturn`).
    pub never_returns: bool,
}

/// How the reader takes the operands of a mnemonic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// Registers, literals, symbols, addresses, vectors.
    General,
    /// The first operand is a label.
    Branch,
    /// Parenthesised parameter lists.
    Call,
    /// The root is unknown: taken as general where that fits, else copied through.
    Unknown,
}

/// Number of an interned mnemonic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MnemonicId(u32);

/// An interned mnemonic with everything that its text alone says.
struct Mnemonic {
    text: Span,
    dialect: Dialect,
    /// None too where a qualifier is not known: it may say anything about the operands.
    row: Option<&'static Row>,
    operands: Operands,
    /// The form that its qualifiers make; shape and slots are filled in for each shape.
    pattern: Form,
    /// The forms seen so far, as a list through [`FormTable::next`].
    first_form: Maybe<FormId>,
}

/// Mnemonics and forms of a shard.
#[derive(Resource)]
pub struct FormTable {
    text: Vec<u8>,
    mnemonics: Vec<Mnemonic>,
    by_text: HashTable<u32>,
    hasher: RandomState,
    forms: Vec<Form>,
    next: Vec<Maybe<FormId>>,
    shapes: Vec<u8>,
    slots: Vec<Slot>,
}

impl Default for FormTable {
    fn default() -> Self {
        Self {
            text: Vec::new(),
            mnemonics: Vec::new(),
            by_text: HashTable::new(),
            hasher: RandomState::with_seeds(0x66, 0x6f, 0x72, 0x6d),
            forms: Vec::new(),
            next: Vec::new(),
            shapes: Vec::new(),
            slots: Vec::new(),
        }
    }
}

impl FormTable {
    /// The mnemonic `text`, interned.
    #[inline]
    pub fn mnemonic(&mut self, text: &[u8], dialect: Dialect) -> MnemonicId {
        let hash = self.hasher.hash_one(text);
        let same = |&id: &u32| {
            let mnemonic = &self.mnemonics[id as usize];
            &self.text[mnemonic.text.range()] == text && mnemonic.dialect == dialect
        };
        match self.by_text.find(hash, same) {
            Some(&id) => MnemonicId(id),
            None => self.add_mnemonic(text, dialect, hash),
        }
    }

    #[cold]
    fn add_mnemonic(&mut self, text: &[u8], dialect: Dialect, hash: u64) -> MnemonicId {
        let span = Span::between(self.text.len(), self.text.len() + text.len());
        self.text.extend_from_slice(text);
        let id = self.mnemonics.len() as u32;
        self.mnemonics.push(Mnemonic::resolve(text, span, dialect));
        let Self { mnemonics, text, hasher, by_text, .. } = self;
        by_text.insert_unique(hash, id, |&id| hasher.hash_one(&text[mnemonics[id as usize].text.range()]));
        MnemonicId(id)
    }

    /// The call `mnemonic` of a function that never returns: control ends there.
    #[cold]
    pub fn never_returning(&mut self, mnemonic: MnemonicId) -> MnemonicId {
        let Mnemonic { text, dialect, .. } = self.mnemonics[mnemonic.0 as usize];
        let text = self.text[text.range()].to_vec();
        self.mnemonic(&text, Dialect { never_returns: true, ..dialect })
    }

    /// How to take the operands of `mnemonic`.
    #[inline]
    #[must_use]
    pub fn operands(&self, mnemonic: MnemonicId) -> Operands {
        self.mnemonics[mnemonic.0 as usize].operands
    }

    /// The form of `mnemonic` with operands in `shape`.
    #[inline]
    pub fn form(&mut self, mnemonic: MnemonicId, shape: &[u8]) -> FormId {
        let mut candidate = self.mnemonics[mnemonic.0 as usize].first_form;
        while let Some(form) = candidate.get() {
            if &self.shapes[self.forms[form.index()].shape.range()] == shape {
                return form;
            }
            candidate = self.next[form.index()];
        }
        self.add_form(mnemonic, shape)
    }

    #[cold]
    fn add_form(&mut self, mnemonic: MnemonicId, shape: &[u8]) -> FormId {
        let entry = &mut self.mnemonics[mnemonic.0 as usize];
        let mut form = entry.pattern;
        let operand_count =
            shape.iter().filter(|&&code| matches!(code, shape::OPERAND | shape::INDEXED)).count();
        let slots = entry.row.filter(|_| shape.first() != Some(&shape::VERBATIM)).and_then(|row| {
            if row.signature == "call" { call_slots(shape) } else { fit(row.signature, shape, &form) }
        });
        form.flags.set(FormFlags::MODELLED, slots.is_some());
        let slots = slots.unwrap_or_else(|| {
            form.effects |=
                Effects::UNKNOWN | Effects::PINNED | Effects::ORDER | Effects::READ | Effects::WRITE;
            let in_vector = false;
            vec![Slot { role: Role::DefUse, accepts: Accepts::all(), ty: None, in_vector }; operand_count]
        });
        debug_assert_eq!(slots.len(), operand_count);
        let writes = |slot: &Slot| matches!(slot.role, Role::Def | Role::DefUse);
        form.flags.set(FormFlags::DEFINES, slots.iter().any(writes));
        form.shape = Span::between(self.shapes.len(), self.shapes.len() + shape.len());
        form.slots = Span::between(self.slots.len(), self.slots.len() + slots.len());
        self.shapes.extend_from_slice(shape);
        self.slots.extend(slots);
        let id = FormId::new(self.forms.len());
        self.forms.push(form);
        self.next.push(entry.first_form);
        entry.first_form = Maybe::some(id);
        id
    }

    /// Number of forms.
    #[must_use]
    pub fn len(&self) -> usize {
        self.forms.len()
    }

    /// Whether no form was interned.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// The form with number `form`.
    #[inline]
    #[must_use]
    pub fn get(&self, form: FormId) -> &Form {
        &self.forms[form.index()]
    }

    /// What the form says about each operand, the guard excluded.
    #[inline]
    #[must_use]
    pub fn slots(&self, form: FormId) -> &[Slot] {
        &self.slots[self.forms[form.index()].slots.range()]
    }

    /// The punctuation of the form, as [`shape`] codes.
    #[inline]
    #[must_use]
    pub fn shape(&self, form: FormId) -> &[u8] {
        &self.shapes[self.forms[form.index()].shape.range()]
    }

    /// The mnemonic of the form.
    #[inline]
    #[must_use]
    pub fn mnemonic_text(&self, form: FormId) -> &[u8] {
        &self.text[self.forms[form.index()].mnemonic.range()]
    }

    /// The form without `.uni`: what becomes of a branch for which the promise is not known to hold.
    pub fn without_uniform(&mut self, form: FormId) -> FormId {
        if !self.forms[form.index()].flags.contains(FormFlags::UNIFORM) {
            return form;
        }
        let parts = self.mnemonic_text(form).split(|&byte| byte == b'.').map(<[u8]>::trim_ascii);
        let text = parts.filter(|&part| part != b"uni").collect::<Vec<_>>().join(&b'.');
        let flushes = self.forms[form.index()].flags.contains(FormFlags::FLUSHES);
        let mnemonic = self.mnemonic(&text, Dialect { flushes, never_returns: false });
        let shape = self.shape(form).to_vec();
        self.form(mnemonic, &shape)
    }
}

impl Mnemonic {
    fn resolve(text: &[u8], span: Span, dialect: Dialect) -> Self {
        let mut parts = text.split(|&byte| byte == b'.').map(<[u8]>::trim_ascii);
        let root = parts.next().unwrap_or_default();
        let words: Vec<&[u8]> = parts.collect();
        let found = Opcodes::get().find(root, &words);
        let mut effects = found.map_or(Effects::UNKNOWN | Effects::PINNED, |(_, row)| row.effects);
        effects.set(Effects::EXIT, effects.contains(Effects::EXIT) || dialect.never_returns);
        let mut types = [None; 4];
        let mut type_count = 0;
        let mut flags = FormFlags::empty();
        let mut space = StateSpace::Generic;
        let mut lanes = 1;
        for &qualifier in &words {
            match qualifier {
                b"volatile" | b"relaxed" | b"acquire" | b"release" | b"acq_rel" | b"mmio"
                    if effects.intersects(Effects::READ | Effects::WRITE) =>
                {
                    effects |= Effects::ORDER | Effects::PINNED;
                }
                b"cc" => effects |= Effects::CARRY_OUT,
                b"uni" => flags |= FormFlags::UNIFORM,
                b"v2" => lanes = 2,
                b"v4" => lanes = 4,
                b"v8" => lanes = 8,
                _ => {}
            }
            if let Some(named) = StateSpace::parse(qualifier)
                && space == StateSpace::Generic
            {
                space = named;
            }
            if let Some(ty) = PtxType::parse(qualifier)
                && type_count < types.len()
            {
                types[type_count] = Some(ty);
                type_count += 1;
            }
        }
        flags.set(FormFlags::FLUSHES, dialect.flushes);
        flags.set(FormFlags::CONVERTS, root == Opcodes::CONVERSION.as_bytes());
        let operands = match found {
            None => Operands::Unknown,
            Some((_, row)) if row.effects.contains(Effects::CALL) => Operands::Call,
            Some((_, row)) if row.effects.contains(Effects::BRANCH) => Operands::Branch,
            Some(_) => Operands::General,
        };
        let pattern = Form {
            root: found.map_or(Opcodes::UNKNOWN_ROOT, |(root, _)| root),
            effects,
            in_flight: found.map_or(InFlight::No, |(_, row)| row.in_flight),
            flags,
            space,
            types,
            lanes,
            mnemonic: span,
            shape: Span::default(),
            slots: Span::default(),
        };
        Self {
            text: span,
            dialect,
            row: found.map(|(_, row)| row).filter(|_| words.iter().all(|word| qualifiers::is_known(word))),
            operands,
            pattern,
            first_form: Maybe::NONE,
        }
    }
}

/// A top-level operand of a shape: the parts of a pair, each with what encloses it.
struct Item {
    parts: Vec<Part>,
}

/// One part: how many operands it has and what encloses them.
#[derive(Clone, Copy, Default)]
struct Part {
    operand_count: usize,
    bracketed: bool,
    /// `array[3]`: an address, or the address of an element.
    indexed: bool,
    braced: bool,
}

/// Takes a shape apart at its top-level commas and pipes; `None` when brackets do not match.
fn items(shape: &[u8]) -> Option<Vec<Item>> {
    let mut items = vec![Item { parts: vec![Part::default()] }];
    let mut open = Vec::new();
    for &code in shape {
        let part = items.last_mut()?.parts.last_mut()?;
        match code {
            shape::OPERAND => part.operand_count += 1,
            shape::INDEXED => {
                part.operand_count += 1;
                part.indexed |= open.is_empty();
            }
            shape::BRACKET_OPEN | shape::BRACE_OPEN | shape::PAREN_OPEN => {
                if open.is_empty() {
                    part.bracketed |= code == shape::BRACKET_OPEN;
                    part.braced |= code == shape::BRACE_OPEN;
                }
                open.push(code);
            }
            shape::BRACKET_CLOSE | shape::BRACE_CLOSE | shape::PAREN_CLOSE => {
                open.pop()?;
            }
            shape::COMMA if open.is_empty() => items.push(Item { parts: vec![Part::default()] }),
            shape::PIPE if open.is_empty() => items.last_mut()?.parts.push(Part::default()),
            _ => {}
        }
    }
    if shape.is_empty() {
        items.clear();
    }
    open.is_empty().then_some(items)
}

/// A slot of a signature: its parts, and how often it may stand.
struct Expected<'a> {
    parts: Vec<&'a str>,
    optional: bool,
    repeated: bool,
}

/// Fits a shape to a signature: one [`Slot`] an operand, or `None` where they do not fit.
///
/// Optional slots are skipped when fewer items than slots are left, or when one wants brackets and the item has none.
fn fit(signature: &str, shape: &[u8], form: &Form) -> Option<Vec<Slot>> {
    let items = items(shape)?;
    let expected: Vec<Expected> = signature
        .split_ascii_whitespace()
        .map(|text| {
            let bare = text.trim_end_matches(['?', '*']);
            Expected {
                parts: bare.split('|').collect(),
                optional: bare.len() != text.len(),
                repeated: text.ends_with('*'),
            }
        })
        .collect();
    let mut slots = Vec::new();
    let mut next = 0;
    for (position, item) in items.iter().enumerate() {
        loop {
            let slot = expected.get(next)?;
            let required_behind = expected[next + 1..].iter().filter(|slot| !slot.optional).count();
            let needed_elsewhere = items.len() - position <= required_behind;
            let (wanted, item_is) = (slot.parts[0], item.parts[0]);
            let kind_differs = if wanted.starts_with('@') {
                !item_is.bracketed && !item_is.indexed
            } else {
                // What is unchecked may be an address: `tcgen05.mma` takes its A from a descriptor or from memory.
                item_is.bracketed && !wanted.starts_with(".x")
            };
            if slot.optional && (needed_elsewhere || kind_differs) {
                next += 1;
                continue;
            }
            if kind_differs || item.parts.len() > slot.parts.len() {
                return None;
            }
            break;
        }
        let slot = &expected[next];
        for (part, text) in item.parts.iter().zip(&slot.parts) {
            push_slots(text, *part, form, &mut slots);
        }
        if !slot.repeated {
            next += 1;
        }
    }
    expected[next..].iter().all(|slot| slot.optional).then_some(slots)
}

/// Appends the slots of one part: `text` is `role type [/ accepts]`.
fn push_slots(text: &str, part: Part, form: &Form, slots: &mut Vec<Slot>) {
    let (head, accepts) = text.split_once('/').unwrap_or((text, ""));
    let (role, ty) = head.split_at(1);
    let role = match role {
        _ if part.bracketed || part.indexed => Role::Address,
        "=" => Role::Def,
        "~" => Role::DefUse,
        "^" => Role::Target,
        "&" => Role::Name,
        _ => Role::Use,
    };
    let ty = match ty {
        "t" => form.types[0],
        "t2" => form.types[1],
        "t3" => form.types[2],
        "t4" => form.types[3],
        "w" => form.types[0].map(PtxType::doubled),
        named => PtxType::parse(named.as_bytes()),
    };
    let accepts = accepts.bytes().fold(Accepts::empty(), |all, letter| {
        all | match letter {
            b'i' => Accepts::IMMEDIATE,
            b'_' => Accepts::SINK,
            b'v' => Accepts::VECTOR,
            b'e' => Accepts::SINK_ELEMENT,
            b'!' => Accepts::NEGATION,
            b's' => Accepts::SELECTOR,
            b'n' => Accepts::MINUS,
            b'a' => Accepts::SYMBOL,
            _ => Accepts::empty(),
        }
    });
    slots.extend(std::iter::repeat_n(Slot { role, accepts, ty, in_vector: part.braced }, part.operand_count));
}

/// The slots of a call: results in the first list when it comes first, then the callee, arguments, and a table.
fn call_slots(shape: &[u8]) -> Option<Vec<Slot>> {
    let slot = |role| Slot { role, accepts: Accepts::all(), ty: None, in_vector: false };
    let mut slots = Vec::new();
    let mut depth = 0usize;
    let mut in_results = false;
    let mut callee_seen = false;
    for &code in shape {
        match code {
            shape::PAREN_OPEN => {
                depth += 1;
                in_results = !callee_seen;
            }
            shape::PAREN_CLOSE => {
                depth = depth.checked_sub(1)?;
                in_results = false;
            }
            shape::OPERAND if in_results => slots.push(slot(Role::Def)),
            shape::OPERAND if depth > 0 => slots.push(slot(Role::Use)),
            shape::OPERAND if callee_seen => slots.push(slot(Role::Name)),
            shape::OPERAND => {
                callee_seen = true;
                slots.push(slot(Role::Use));
            }
            _ => {}
        }
    }
    (callee_seen && depth == 0).then_some(slots)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(table: &mut FormTable, mnemonic: &str, shape: &str) -> String {
        let mnemonic = table.mnemonic(mnemonic.as_bytes(), Dialect::default());
        let form = table.form(mnemonic, shape.as_bytes());
        table
            .slots(form)
            .iter()
            .map(|slot| match slot.role {
                Role::Use => '.',
                Role::Def => '=',
                Role::DefUse => '~',
                Role::Address => '@',
                Role::Target => '^',
                Role::Name => '&',
            })
            .collect()
    }

    #[test]
    fn roles_follow_the_signature() {
        let mut table = FormTable::default();
        assert_eq!(roles(&mut table, "add.s32", "#,#,#"), "=..");
        assert_eq!(roles(&mut table, "ld.global.v4.f32", "{#,#,#,#},[#]"), "====@");
        assert_eq!(roles(&mut table, "st.global.v2.f32", "[#],{#,#}"), "@..");
        assert_eq!(roles(&mut table, "setp.lt.s32", "#|#,#,#"), "==..");
        assert_eq!(roles(&mut table, "bra", "#"), "^");
        assert_eq!(roles(&mut table, "call.uni", "(#),#,(#,#)"), "=...");
        assert_eq!(roles(&mut table, "call", "(#),#,(#),#"), "=..&");
    }

    #[test]
    fn unknown_roots_read_and_write_all_they_name() {
        let mut table = FormTable::default();
        assert_eq!(roles(&mut table, "frobnicate.u32", "#,[#]"), "~~");
        let mnemonic = table.mnemonic(b"frobnicate.u32", Dialect::default());
        let form = table.form(mnemonic, b"#,[#]");
        assert!(table.get(form).effects.contains(Effects::PINNED | Effects::UNKNOWN));
        assert!(!table.get(form).flags.contains(FormFlags::MODELLED));
    }

    #[test]
    fn a_shape_that_fits_no_signature_is_kept_and_pinned() {
        let mut table = FormTable::default();
        assert_eq!(roles(&mut table, "add.s32", "#,#,#,#,#"), "~~~~~");
    }

    #[test]
    fn equal_text_and_shape_give_equal_ids() {
        let mut table = FormTable::default();
        let mnemonic = table.mnemonic(b"add.s32", Dialect::default());
        assert_eq!(table.mnemonic(b"add.s32", Dialect::default()), mnemonic);
        let form = table.form(mnemonic, b"#,#,#");
        assert_eq!(table.form(mnemonic, b"#,#,#"), form);
        assert_ne!(table.mnemonic(b"add.s32", Dialect { flushes: true, ..Dialect::default() }), mnemonic);
    }

    #[test]
    fn a_promise_can_be_taken_back() {
        let mut table = FormTable::default();
        let mnemonic = table.mnemonic(b"bra.uni", Dialect::default());
        let promised = table.form(mnemonic, b"#");
        let plain = table.without_uniform(promised);
        assert_eq!(table.mnemonic_text(plain), b"bra");
        assert_eq!((table.shape(plain), table.get(plain).effects), (&b"#"[..], Effects::BRANCH));
        assert_eq!(table.without_uniform(plain), plain);
    }

    #[test]
    fn ordered_accesses_are_pinned() {
        let mut table = FormTable::default();
        let mnemonic = table.mnemonic(b"ld.volatile.global.u32", Dialect::default());
        let volatile = table.form(mnemonic, b"#,[#]");
        assert!(table.get(volatile).effects.contains(Effects::PINNED | Effects::ORDER));
        let mnemonic = table.mnemonic(b"ld.global.u32", Dialect::default());
        let plain = table.form(mnemonic, b"#,[#]");
        assert!(!table.get(plain).effects.intersects(Effects::KEEPS));
        assert_eq!(table.get(plain).space, StateSpace::Global);
    }
}
