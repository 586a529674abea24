//! Forms made from descriptions: how a phase gets the form of an instruction that it changes or makes.
//!
//! ```text
//! let swapped = forms.with_comparison(setp, comparison.mirrored())?;
//! let sum = forms.build(&Description::new(Operation::Add, Qualifiers::default(), &[PtxType::S32]), shape::plain(3))?;
//! ```
//!
//! The mnemonic is written once for each description and shape; after that, one hash finds the form. What has no
//! mnemonic, or does not fit its operands, has no form: the answer is `None`, and the phase leaves the instruction alone.
//!
//! # What is not checked
//! Which qualifiers and types the ISA allows together, and from which target on. `and.f32` has a form.

use super::table::FormTable;
use ahash::RandomState;
use hashbrown::HashTable;
use ptxopt_components::description::Description;
use ptxopt_components::form::FormFlags;
use ptxopt_components::ids::FormId;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Comparison, Modifiers};
use ptxopt_components::types::PtxType;

/// The forms that were asked for, by description and shape.
pub(super) struct Built {
    forms: HashTable<FormId>,
    hasher: RandomState,
}

impl Default for Built {
    fn default() -> Self {
        Self { forms: HashTable::new(), hasher: RandomState::with_seeds(0x62, 0x75, 0x69, 0x6c) }
    }
}

impl Built {
    fn hash(&self, description: &Description, shape: &[u8]) -> u64 {
        self.hasher.hash_one((description, shape))
    }
}

impl FormTable {
    /// The form of what `description` says with operands in `shape`; `None` where no mnemonic says it, or where the
    /// instruction takes its operands in another shape.
    ///
    /// The dialect is part of the description: a phase that makes an instruction of nothing takes it from one of the
    /// same function.
    pub fn build(&mut self, description: &Description, shape: &[u8]) -> Option<FormId> {
        let hash = self.built.hash(description, shape);
        self.find_built(description, shape, hash).or_else(|| self.add_built(description, shape, hash))
    }

    fn find_built(&self, description: &Description, shape: &[u8], hash: u64) -> Option<FormId> {
        let same = |&form: &FormId| self.describe(form) == description && self.shape(form) == shape;
        self.built.forms.find(hash, same).copied()
    }

    #[cold]
    fn add_built(&mut self, description: &Description, shape: &[u8], hash: u64) -> Option<FormId> {
        let mut text = Vec::new();
        if !description.write(&mut text) {
            return None;
        }
        let mnemonic = self.mnemonic(&text, description.dialect);
        let form = self.form(mnemonic, shape);
        if !self.get(form).flags.contains(FormFlags::MODELLED) {
            return None;
        }
        debug_assert_eq!(self.describe(form), description);
        let mut forms = std::mem::take(&mut self.built.forms);
        forms.insert_unique(hash, form, |&form| self.built.hash(self.describe(form), self.shape(form)));
        self.built.forms = forms;
        Some(form)
    }

    /// The form with another description and the same shape.
    ///
    /// `None` where there is no such form, and where nothing is known of what the form computes.
    pub fn derive(&mut self, form: FormId, change: impl FnOnce(&mut Description)) -> Option<FormId> {
        let mut description = *self.describe(form);
        if description.operation == Operation::Unknown {
            return None;
        }
        change(&mut description);
        let shape = self.shape(form);
        let hash = self.built.hash(&description, shape);
        self.find_built(&description, shape, hash).or_else(|| {
            let shape = self.shape(form).to_vec();
            self.add_built(&description, &shape, hash)
        })
    }

    /// The form that computes `operation` instead, with the same qualifiers and types: `add.s32` for `sub.s32`.
    pub fn with_operation(&mut self, form: FormId, operation: Operation) -> Option<FormId> {
        self.derive(form, |description| description.operation = operation)
    }

    /// The form with `ty` as its type number `position`: 0 is the result's, or the only one.
    pub fn with_type(&mut self, form: FormId, position: usize, ty: PtxType) -> Option<FormId> {
        self.derive(form, |description| description.types[position] = Some(ty))
    }

    /// The form that compares in another way.
    pub fn with_comparison(&mut self, form: FormId, comparison: Comparison) -> Option<FormId> {
        self.derive(form, |description| description.qualifiers.comparison = Some(comparison))
    }

    /// The form that says the same of operands in another shape: without the second result of a pair, say.
    pub fn with_shape(&mut self, form: FormId, shape: &[u8]) -> Option<FormId> {
        let description = *self.describe(form);
        self.build(&description, shape)
    }

    /// The form without `.uni`: what becomes of a branch for which the promise is not known to hold.
    ///
    /// # Panics
    /// When the form makes the promise and is not modelled: no phase touches such a branch.
    pub fn without_uniform(&mut self, form: FormId) -> FormId {
        if !self.get(form).flags.contains(FormFlags::UNIFORM) {
            return form;
        }
        let plain = self.derive(form, |description| description.qualifiers.modifiers -= Modifiers::UNIFORM);
        plain.expect("what may say `.uni` may leave it out")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptxopt_components::description::Dialect;
    use ptxopt_components::form::shape;
    use ptxopt_components::opcodes::Effects;
    use ptxopt_components::qualifiers::{Part, Qualifiers, Rounding};

    fn read(table: &mut FormTable, mnemonic: &str, shape: &str) -> FormId {
        let mnemonic = table.mnemonic(mnemonic.as_bytes(), Dialect::default());
        table.form(mnemonic, shape.as_bytes())
    }

    fn text(table: &FormTable, form: Option<FormId>) -> String {
        form.map_or("none".to_owned(), |form| String::from_utf8_lossy(table.mnemonic_text(form)).into_owned())
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
    fn a_call_that_never_returns_keeps_that_without_its_promise() {
        let mut table = FormTable::default();
        let mnemonic = table.mnemonic(b"call.uni", Dialect { never_returns: true, ..Dialect::default() });
        let promised = table.form(mnemonic, b"#");
        let plain = table.without_uniform(promised);
        assert_eq!(table.mnemonic_text(plain), b"call");
        assert!(table.get(plain).effects.contains(Effects::EXIT | Effects::CALL));
    }

    #[test]
    fn what_is_built_is_what_is_read() {
        let mut table = FormTable::default();
        let add = read(&mut table, "add.s32", "#,#,#");
        let description = Description::new(Operation::Add, Qualifiers::default(), &[PtxType::S32]);
        assert_eq!(*table.describe(add), description);
        assert_eq!(table.build(&description, shape::plain(3)), Some(add));
        assert_eq!(table.build(&description, shape::plain(3)), Some(add));
        // Another order of the same words is another form, and is built in the usual one.
        let odd = read(&mut table, "max.NaN.ftz.f32", "#,#,#");
        let built = table.with_shape(odd, shape::plain(3));
        assert_eq!(text(&table, built), "max.ftz.NaN.f32");
        assert_eq!(table.describe(built.unwrap()), table.describe(odd));
    }

    #[test]
    fn many_are_found_again() {
        let mut table = FormTable::default();
        let mut all = Vec::new();
        for operation in [Operation::Add, Operation::Sub, Operation::Mul, Operation::Min, Operation::Rem] {
            for rounding in [None, Some(Rounding::Nearest), Some(Rounding::Zero)] {
                for ty in [PtxType::S32, PtxType::U32, PtxType::S64, PtxType::U64, PtxType::U16, PtxType::S16]
                {
                    let qualifiers = Qualifiers { rounding, ..Qualifiers::default() };
                    let description = Description::new(operation, qualifiers, &[ty]);
                    all.push((description, table.build(&description, shape::plain(3))));
                }
            }
        }
        let count = table.len();
        // Integers have no rounding to the reader either, but only remainders and minima have no place for one.
        assert_eq!(all.iter().filter(|(_, form)| form.is_some()).count(), count);
        assert_eq!((count, table.built.forms.len()), (3 * 18 + 2 * 6, count));
        for (description, form) in all {
            assert_eq!(table.build(&description, shape::plain(3)), form);
            assert!(form.is_none_or(|form| *table.describe(form) == description));
        }
        assert_eq!((table.len(), table.built.forms.len()), (count, count), "each is kept once");
    }

    #[test]
    fn parts_are_exchanged() {
        let mut table = FormTable::default();
        let sub = read(&mut table, "sub.rn.ftz.f32", "#,#,#");
        let add = table.with_operation(sub, Operation::Add);
        assert_eq!(text(&table, add), "add.rn.ftz.f32");
        let wide = table.with_type(sub, 0, PtxType::F32x2);
        assert_eq!(text(&table, wide), "sub.rn.ftz.f32x2");
        let setp = read(&mut table, "setp.lt.and.s32", "#|#,#,#,#");
        let less = table.describe(setp).qualifiers.comparison.unwrap();
        let mirrored = table.with_comparison(setp, less.mirrored());
        assert_eq!(text(&table, mirrored), "setp.gt.and.s32");
        assert_eq!(table.shape(mirrored.unwrap()), table.shape(setp));
        let mad = read(&mut table, "mad.lo.u32", "#,#,#,#");
        let product = *table.describe(mad);
        let mul = table.build(&Description { operation: Operation::Mul, ..product }, shape::plain(3));
        assert_eq!(text(&table, mul), "mul.lo.u32");
        let high = table.derive(mad, |description| description.qualifiers.part = Some(Part::High));
        assert_eq!(text(&table, high), "mad.hi.u32");
        assert_eq!(table.derive(mad, |_| ()), Some(mad));
        let one = table.with_shape(setp, b"#,#,#,#");
        assert_eq!(text(&table, one), "setp.lt.and.s32");
    }

    #[test]
    fn the_dialect_stays() {
        let mut table = FormTable::default();
        let old = Dialect { flushes: true, ..Dialect::default() };
        let mnemonic = table.mnemonic(b"sub.f32", old);
        let sub = table.form(mnemonic, shape::plain(3));
        let add = table.with_operation(sub, Operation::Add).unwrap();
        assert!(table.describe(add).flushes());
        let new = table
            .build(&Description { dialect: Dialect::default(), ..*table.describe(add) }, shape::plain(3));
        assert!(new.is_some_and(|new| new != add && !table.describe(new).flushes()));
    }

    #[test]
    fn what_does_not_exist_is_not_built() {
        let mut table = FormTable::default();
        let add = read(&mut table, "add.s32", "#,#,#");
        assert_eq!(table.with_comparison(add, Comparison::Less), None);
        assert_eq!(table.with_operation(add, Operation::Exit), None);
        assert_eq!(table.with_operation(add, Operation::Unknown), None);
        assert_eq!(table.with_shape(add, b"#"), None);
        let unknown = read(&mut table, "frobnicate.s32", "#,#,#");
        assert_eq!(table.with_operation(unknown, Operation::Add), None);
        assert_eq!(table.derive(unknown, |_| ()), None);
        assert_eq!(table.with_shape(unknown, b"#,#,#"), None);
    }
}
