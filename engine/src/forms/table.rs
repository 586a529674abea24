//! The table itself: look-ups that hit are a hash of the mnemonic and a walk over its shapes.

use super::build::Built;
use super::phi::Phis;
use super::resolve::{Mnemonic, Operands};
use super::signature::{call_slots, fit};
use ahash::RandomState;
use bevy_ecs::resource::Resource;
use hashbrown::HashTable;
use ptxopt_components::description::{Description, Dialect};
use ptxopt_components::form::{Accepts, Form, FormFlags, Kinds, Role, Slot, shape};
use ptxopt_components::ids::{FormId, Id, Maybe, Span};
use ptxopt_components::instruction::Marks;
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operation::Operation;

/// Number of an interned mnemonic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MnemonicId(u32);

/// Mnemonics and forms of a shard.
#[derive(Resource)]
pub struct FormTable {
    text: Vec<u8>,
    mnemonics: Vec<Mnemonic>,
    by_text: HashTable<u32>,
    hasher: RandomState,
    forms: Vec<Form>,
    next: Vec<Maybe<FormId>>,
    /// What each form computes: beside the forms, as the reader copies those and never looks here.
    descriptions: Vec<Description>,
    shapes: Vec<u8>,
    slots: Vec<Slot>,
    /// By slot: what it takes.
    takes: Vec<Kinds>,
    /// The forms that were made from descriptions.
    pub(super) built: Built,
    pub(super) phis: Phis,
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
            descriptions: Vec::new(),
            shapes: Vec::new(),
            slots: Vec::new(),
            takes: Vec::new(),
            built: Built::default(),
            phis: Phis::default(),
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
        let id = self.push_mnemonic(text, Mnemonic::resolve(text, Span::default(), dialect));
        let Self { mnemonics, text, hasher, by_text, .. } = self;
        by_text.insert_unique(hash, id.0, |&id| hasher.hash_one(&text[mnemonics[id as usize].text.range()]));
        id
    }

    /// Adds a mnemonic that no text finds.
    pub(super) fn push_mnemonic(&mut self, text: &[u8], mut mnemonic: Mnemonic) -> MnemonicId {
        let span = Span::between(self.text.len(), self.text.len() + text.len());
        self.text.extend_from_slice(text);
        (mnemonic.text, mnemonic.pattern.mnemonic) = (span, span);
        self.mnemonics.push(mnemonic);
        MnemonicId(self.mnemonics.len() as u32 - 1)
    }

    /// The form that the qualifiers of a mnemonic make, without shape and slots.
    pub(super) fn pattern(&self, mnemonic: MnemonicId) -> Form {
        self.mnemonics[mnemonic.0 as usize].pattern
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
        match self.find_form(mnemonic, shape) {
            Some(form) => form,
            None => self.add_form(mnemonic, shape),
        }
    }

    #[inline]
    pub(super) fn find_form(&self, mnemonic: MnemonicId, shape: &[u8]) -> Option<FormId> {
        let mut candidate = self.mnemonics[mnemonic.0 as usize].first_form;
        while let Some(form) = candidate.get() {
            if &self.shapes[self.forms[form.index()].shape.range()] == shape {
                return Some(form);
            }
            candidate = self.next[form.index()];
        }
        None
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
        let mut description = entry.description;
        let slots = slots.unwrap_or_else(|| {
            form.effects |=
                Effects::UNKNOWN | Effects::PINNED | Effects::ORDER | Effects::READ | Effects::WRITE;
            // What row and qualifiers say, they say of another instruction than this one.
            form.effects -= Effects::COMMUTES | Effects::SPECULATABLE;
            form.operation = Operation::Unknown;
            description = Description::default();
            let in_vector = false;
            vec![Slot { role: Role::DefUse, accepts: Accepts::all(), ty: None, in_vector }; operand_count]
        });
        debug_assert_eq!(slots.len(), operand_count);
        let writes = |slot: &Slot| matches!(slot.role, Role::Def | Role::DefUse);
        form.flags.set(FormFlags::DEFINES, slots.iter().any(writes));
        let first_source = slots.iter().position(|slot| slot.role == Role::Use).unwrap_or_default();
        form.first_source = u8::try_from(first_source).unwrap_or_default();
        // What changes places must stand in both.
        let swaps = matches!(slots.get(first_source..), Some([one, other, ..]) if one == other);
        form.effects.set(Effects::COMMUTES, swaps && form.effects.contains(Effects::COMMUTES));
        let id = self.push_form(mnemonic, form, shape, &slots);
        self.descriptions[id.index()] = description;
        id
    }

    /// Adds a form of which nothing is known that it computes.
    pub(super) fn push_form(
        &mut self,
        mnemonic: MnemonicId,
        mut form: Form,
        shape: &[u8],
        slots: &[Slot],
    ) -> FormId {
        form.marks = marks_of(form.effects, slots);
        form.shape = Span::between(self.shapes.len(), self.shapes.len() + shape.len());
        form.slots = Span::between(self.slots.len(), self.slots.len() + slots.len());
        self.shapes.extend_from_slice(shape);
        self.slots.extend_from_slice(slots);
        let is_modelled = form.flags.contains(FormFlags::MODELLED);
        self.takes.extend(slots.iter().map(|slot| if is_modelled { slot.takes() } else { Kinds::all() }));
        let id = FormId::new(self.forms.len());
        self.forms.push(form);
        self.descriptions.push(Description::default());
        let first_form = &mut self.mnemonics[mnemonic.0 as usize].first_form;
        self.next.push(*first_form);
        *first_form = Maybe::some(id);
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

    /// What an instruction of the form computes, and how: unknown where its mnemonic is not understood whole, and where
    /// the form is not modelled. So the operands are those that the ISA gives the operation.
    #[inline]
    #[must_use]
    pub fn describe(&self, form: FormId) -> &Description {
        &self.descriptions[form.index()]
    }

    /// What the form says about each operand, the guard excluded.
    #[inline]
    #[must_use]
    pub fn slots(&self, form: FormId) -> &[Slot] {
        &self.slots[self.forms[form.index()].slots.range()]
    }

    /// The kinds of operands that each slot takes; all of them where the form is not modelled.
    #[inline]
    #[must_use]
    pub fn takes(&self, form: FormId) -> &[Kinds] {
        &self.takes[self.forms[form.index()].slots.range()]
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
}

/// What effects and slots mean to the phases that only look at an instruction's row.
fn marks_of(effects: Effects, slots: &[Slot]) -> Marks {
    let is_written = |slot: &Slot| matches!(slot.role, Role::Def | Role::DefUse);
    let mut marks = Marks::empty();
    marks.set(Marks::KEPT, effects.intersects(Effects::KEEPS));
    marks.set(Marks::CONTROL, effects.intersects(Effects::CONTROL));
    marks.set(Marks::CONVERGENT, effects.contains(Effects::CONVERGENT));
    marks.set(Marks::PINNED, effects.intersects(Effects::PINNED | Effects::ASYNC | Effects::UNKNOWN));
    // The carry register is an operand after those of the form.
    let has_more = effects.contains(Effects::CARRY_OUT) || slots.iter().skip(1).any(is_written);
    marks.set(Marks::MORE_RESULTS, has_more);
    marks
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptxopt_components::types::StateSpace;

    fn form(table: &mut FormTable, mnemonic: &str, shape: &str) -> Form {
        let mnemonic = table.mnemonic(mnemonic.as_bytes(), Dialect::default());
        let id = table.form(mnemonic, shape.as_bytes());
        *table.get(id)
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

    #[test]
    fn sources_that_may_change_places_are_named() {
        let mut table = FormTable::default();
        let mut swappable = |mnemonic, shape| form(&mut table, mnemonic, shape).swappable();
        assert_eq!(swappable("add.s32", "#,#,#"), Some([1, 2]));
        assert_eq!(swappable("fma.rn.f32", "#,#,#,#"), Some([1, 2]));
        assert_eq!(swappable("setp.eq.s32", "#,#,#"), Some([1, 2]));
        assert_eq!(swappable("setp.neu.and.f32", "#|#,#,#,#"), Some([2, 3]));
        assert_eq!(swappable("setp.num.f32", "#,#,#"), Some([1, 2]));
        assert_eq!(swappable("set.eq.u32.f32", "#,#,#"), Some([1, 2]));
        assert_eq!(swappable("dp4a.u32.u32", "#,#,#,#"), Some([1, 2]));
        for (mnemonic, shape) in [
            ("sub.s32", "#,#,#"),
            ("setp.lt.s32", "#,#,#"),
            ("set.lt.u32.f32", "#,#,#"),
            ("dp4a.u32.s32", "#,#,#,#"),
            ("add.f32.f16", "#,#,#"),
            ("shl.b32", "#,#,#"),
            ("mov.b32", "#,#"),
            // Not what the row means: another number of operands, a word that is not known.
            ("add.s32", "#,#,#,#,#"),
            ("add.newthing.s32", "#,#,#"),
        ] {
            assert_eq!(swappable(mnemonic, shape), None, "{mnemonic}");
        }
    }

    #[test]
    fn what_may_be_moved_and_merged_is_said() {
        let mut table = FormTable::default();
        let mut what = |mnemonic, shape| {
            let form = form(&mut table, mnemonic, shape);
            (form.is_pure(), form.is_speculatable(), form.effects.contains(Effects::CONVERGENT))
        };
        for (mnemonic, shape) in [("div.s32", "#,#,#"), ("setp.lt.f32", "#,#,#"), ("mov.b64", "#,{#,#}")] {
            assert_eq!(what(mnemonic, shape), (true, true, false), "{mnemonic}");
        }
        // The carry is an operand: what writes it computes, but not where it did not before.
        for (mnemonic, shape) in
            [("add.cc.s32", "#,#,#"), ("madc.hi.cc.u32", "#,#,#,#"), ("cvta.to.global.u64", "#,#")]
        {
            assert_eq!(what(mnemonic, shape), (true, false, false), "{mnemonic}");
        }
        for (mnemonic, shape) in
            [("ld.global.u32", "#,[#]"), ("st.global.u32", "[#],#"), ("exit", ""), ("txq.width.b32", "#,[#]")]
        {
            assert_eq!(what(mnemonic, shape), (false, false, false), "{mnemonic}");
        }
        for (mnemonic, shape) in
            [("shfl.sync.idx.b32", "#,#,#,#,#"), ("activemask.b32", "#"), ("bar.sync", "#")]
        {
            assert_eq!(what(mnemonic, shape), (false, false, true), "{mnemonic}");
        }
        for (mnemonic, shape) in [
            ("add.s32", "#,#,#,#,#"),
            ("add.newthing.s32", "#,#,#"),
            ("and.cc.b32", "#,#,#"),
            ("frobnicate", "#,#"),
        ] {
            assert_eq!(what(mnemonic, shape), (false, false, false), "{mnemonic}");
        }
    }

    /// A qualifier that is not understood may change everything: no rule may take the instruction for the plain one.
    #[test]
    fn what_is_not_understood_whole_has_no_operation() {
        let mut table = FormTable::default();
        assert_eq!(form(&mut table, "add.s32", "#,#,#").operation, Operation::Add);
        for mnemonic in ["add.newthing.s32", "add.s32.s32.s32", "add.lt.s32", "and.cc.b32"] {
            assert_eq!(form(&mut table, mnemonic, "#,#,#").operation, Operation::Unknown, "{mnemonic}");
        }
        assert!(!form(&mut table, "bra.cc", "#").flags.contains(FormFlags::MODELLED));
        assert_eq!(form(&mut table, "add.s32", "#,#,#,#,#").operation, Operation::Unknown);
    }

    /// `vote.uni` asks whether a predicate is uniform; it promises nothing.
    #[test]
    fn only_branches_promise_to_be_uniform() {
        let mut table = FormTable::default();
        assert!(form(&mut table, "bra.uni", "#").flags.contains(FormFlags::UNIFORM));
        assert!(form(&mut table, "call.uni", "#").flags.contains(FormFlags::UNIFORM));
        assert!(!form(&mut table, "vote.sync.uni.pred", "#,#,#").flags.contains(FormFlags::UNIFORM));
    }
}
