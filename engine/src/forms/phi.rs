//! The forms of phis. No text has them: the reader looks up mnemonics, and theirs is in no index.
//!
//! ```text
//! phi.b32 %r3, {L1, %r1}, {L2, %r2}     // as dumps print it
//! ```

use super::resolve::Mnemonic;
use super::table::{FormTable, MnemonicId};
use ahash::AHashMap;
use ptxopt_components::description::Dialect;
use ptxopt_components::form::{Accepts, FormFlags, Role, Slot};
use ptxopt_components::ids::{FormId, Span};
use ptxopt_components::opcodes::{Effects, Opcodes};
use ptxopt_components::types::PtxType;

/// The forms of phis that were asked for.
#[derive(Default)]
pub(super) struct Phis {
    /// By type: its mnemonic.
    mnemonics: Vec<(PtxType, MnemonicId)>,
    /// By type and number of pairs.
    forms: AHashMap<(PtxType, usize), FormId>,
}

impl FormTable {
    /// The form of a phi of a register of type `ty` that has `pair_count` pairs of a block and a value.
    pub fn phi(&mut self, ty: PtxType, pair_count: usize) -> FormId {
        if let Some(&form) = self.phis.forms.get(&(ty, pair_count)) {
            return form;
        }
        let known = self.phis.mnemonics.iter().find(|(of, _)| *of == ty).map(|&(_, mnemonic)| mnemonic);
        let mnemonic = known.unwrap_or_else(|| self.add_phi_mnemonic(ty));
        let shape = format!("#{}", ",{#,#}".repeat(pair_count));
        let mut form = self.pattern(mnemonic);
        form.flags = FormFlags::MODELLED | FormFlags::DEFINES;
        form.first_source = 1;
        let result = Slot { role: Role::Def, accepts: Accepts::empty(), ty: Some(ty), in_vector: false };
        let block = Slot { role: Role::Target, ty: None, ..result };
        let accepts = if ty == PtxType::Pred { Accepts::empty() } else { Accepts::IMMEDIATE };
        let value = Slot { role: Role::Use, accepts, ..result };
        let pairs = std::iter::repeat_n([block, value], pair_count).flatten();
        let slots: Vec<Slot> = std::iter::once(result).chain(pairs).collect();
        let id = self.push_form(mnemonic, form, shape.as_bytes(), &slots);
        self.phis.forms.insert((ty, pair_count), id);
        id
    }

    fn add_phi_mnemonic(&mut self, ty: PtxType) -> MnemonicId {
        let text = format!("phi.{}", ty.name());
        let mut mnemonic = Mnemonic::resolve(text.as_bytes(), Span::default(), Dialect::default());
        mnemonic.pattern.root = Opcodes::PHI_ROOT;
        mnemonic.pattern.effects = Effects::PURE;
        let id = self.push_mnemonic(text.as_bytes(), mnemonic);
        self.phis.mnemonics.push((ty, id));
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptxopt_components::form::shape;

    #[test]
    fn a_phi_has_a_slot_for_its_result_and_two_for_each_pair() {
        let mut table = FormTable::default();
        let form = table.phi(PtxType::B32, 2);
        assert_eq!(table.phi(PtxType::B32, 2), form);
        assert_ne!(table.phi(PtxType::B64, 2), form);
        assert_ne!(table.phi(PtxType::B32, 3), form);
        let roles: Vec<Role> = table.slots(form).iter().map(|slot| slot.role).collect();
        assert_eq!(roles, [Role::Def, Role::Target, Role::Use, Role::Target, Role::Use]);
        assert!(table.get(form).is_pure());
        let operand_count = table.shape(form).iter().filter(|&&code| code == shape::OPERAND).count();
        assert_eq!(operand_count, 5);
    }

    #[test]
    fn text_that_says_phi_names_no_phi() {
        let mut table = FormTable::default();
        let form = table.phi(PtxType::B32, 1);
        let mnemonic = table.mnemonic(b"phi.b32", Dialect::default());
        let shape = table.shape(form).to_vec();
        let read = table.form(mnemonic, &shape);
        assert_ne!(read, form);
        assert_eq!(table.get(read).root, Opcodes::UNKNOWN_ROOT);
    }
}
