//! What the code of a kernel says about its parameters: which bytes it loads with which type, and which of them reach an
//! address.
//!
//! A parameter is loaded by its name, or through a register that holds its address. What is loaded is followed through
//! moves, sums and conversions of addresses, and through variables on the stack, by their address operand: a guess, which
//! running confirms or not.

use ptxopt_components::form::Role;
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::types::PtxType;
use ptxopt_emulator::Entry;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::ptx::reader::{ReaderScratch, read};
use ptxopt_engine::ptx::scan;
use ptxopt_engine::store::tables::CodeTables;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::def_use::{DefUse, OperandRef};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of the parameters: the name and the offset.
pub type Place = (String, usize);

/// What is known of the parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// What is loaded, with its type.
    pub fields: BTreeMap<Place, PtxTypeName>,
    /// What reaches an address.
    pub pointers: BTreeSet<Place>,
}

/// A type by its name and bytes: types have no order.
pub type PtxTypeName = (&'static str, usize);

/// What `entry` of the module `text` does with its parameters; nothing where its text is not understood.
#[must_use]
pub fn of(text: &[u8], entry: &Entry) -> Uses {
    let Ok(module) = scan::Module::scan(text) else { return Uses::default() };
    let (mut forms, mut tables) = (FormTable::default(), CodeTables::default());
    let is_entry = |place: &&scan::FunctionText| text[place.name.range()] == *entry.name.as_bytes();
    let Some(place) = module.functions.iter().find(is_entry) else { return Uses::default() };
    let functions = std::slice::from_ref(place);
    if read(&module, functions, &mut forms, &mut ReaderScratch::default(), &mut tables).is_err() {
        return Uses::default();
    }
    tables.view().functions().next().map_or_else(Uses::default, |function| {
        let walk = Walk::new(&function, &forms, text);
        let mut uses = Uses { fields: walk.fields(), pointers: walk.pointers() };
        let is_parameter = |name: &String| entry.parameters.iter().any(|parameter| parameter.name == *name);
        uses.fields.retain(|(name, _), _| is_parameter(name));
        uses.pointers.retain(|(name, _)| is_parameter(name));
        uses
    })
}

/// A function, with who defines which register.
struct Walk<'a> {
    function: &'a FunctionView<'a>,
    forms: &'a FormTable,
    text: &'a [u8],
    def_use: DefUse,
    /// Stores, by the register and offset that they go to.
    stores: BTreeMap<(u32, i64), Vec<InstId>>,
}

impl<'a> Walk<'a> {
    fn new(function: &'a FunctionView<'a>, forms: &'a FormTable, text: &'a [u8]) -> Self {
        let mut def_use = DefUse::default();
        def_use.build(function);
        let mut walk = Self { function, forms, text, def_use, stores: BTreeMap::new() };
        for inst in walk.insts() {
            if matches!(walk.operation(inst), Operation::St | Operation::StAsync | Operation::StBulk)
                && let Some(address) = walk.address(inst)
                && let Some(vreg) = address.vreg()
            {
                walk.stores.entry((vreg.0, walk.offset(address))).or_default().push(inst);
            }
        }
        walk
    }

    fn insts(&self) -> impl Iterator<Item = InstId> + use<> {
        (0..self.function.heads.len()).map(InstId::new)
    }

    fn operation(&self, inst: InstId) -> Operation {
        self.forms.get(self.function.heads[inst.index()].form).operation
    }

    /// The operand that is the address of an access.
    fn address(&self, inst: InstId) -> Option<Operand> {
        let slots = self.forms.slots(self.function.heads[inst.index()].form);
        let operands = self.function.operands_of(inst).iter().zip(slots);
        operands.filter(|(_, slot)| slot.role == Role::Address).map(|(operand, _)| *operand).next()
    }

    fn offset(&self, operand: Operand) -> i64 {
        match operand.wide_offset() {
            Some(literal) => self.function.pools.literals[literal.index()].bits as i64,
            None => operand.offset().map_or(0, i64::from),
        }
    }

    /// The bytes of the parameters that an address names: by name, or through registers that are written once.
    fn place(&self, address: Operand) -> Option<Place> {
        let mut offset = self.offset(address);
        let mut operand = address;
        // As many steps as there are instructions: a chain that is longer is none.
        for _ in 0..self.function.heads.len() {
            match operand.kind() {
                OperandKind::Symbol(name) => {
                    let name = String::from_utf8_lossy(self.function.pools.names.bytes(self.text, name));
                    return Some((name.into_owned(), usize::try_from(offset).ok()?));
                }
                OperandKind::Register { vreg, .. } => {
                    let inst = self.def_use.only_def(vreg)?.inst;
                    let operands = self.function.operands_of(inst);
                    match (self.operation(inst), operands) {
                        (Operation::Mov | Operation::Cvta | Operation::CvtaTo, &[_, from]) => {
                            offset = offset.checked_add(self.offset(from))?;
                            operand = from;
                        }
                        (Operation::Add, &[_, from, by]) => {
                            let OperandKind::Int(by) = by.kind() else { return None };
                            offset = offset.checked_add(i64::from(by))?;
                            operand = from;
                        }
                        _ => return None,
                    }
                }
                _ => return None,
            }
        }
        None
    }

    /// What a load from a parameter loads: the bytes and type of each of its results.
    fn loaded(&self, inst: InstId) -> Vec<(Operand, Place, PtxType)> {
        let form = self.forms.get(self.function.heads[inst.index()].form);
        let (Some(ty), Some(address)) = (form.types[0], self.address(inst)) else { return Vec::new() };
        if !matches!(form.operation, Operation::Ld | Operation::Ldu) {
            return Vec::new();
        }
        let Some((name, first)) = self.place(address) else { return Vec::new() };
        let results = self.function.operands_of(inst).iter().take(usize::from(form.lanes)).enumerate();
        let bytes = (ty.bits() / 8) as usize;
        results.map(|(lane, operand)| (*operand, (name.clone(), first + lane * bytes), ty)).collect()
    }

    fn fields(&self) -> BTreeMap<Place, PtxTypeName> {
        let loaded = self.insts().flat_map(|inst| self.loaded(inst));
        loaded.map(|(_, place, ty)| (place, (ty.name(), (ty.bits() / 8) as usize))).collect()
    }

    /// What a definition of a register takes its value from. A load takes it from a parameter, which is one of the `places` then, or from
    /// what was stored there.
    fn sources(&self, inst: InstId, vreg: VRegId, places: &mut BTreeSet<Place>) -> Vec<Operand> {
        let operands = self.function.operands_of(inst);
        match self.operation(inst) {
            Operation::Ld | Operation::Ldu => {
                let loaded =
                    self.loaded(inst).into_iter().filter(|(operand, ..)| operand.vreg() == Some(vreg));
                places.extend(loaded.map(|(_, place, _)| place));
                let key = self.address(inst).and_then(|at| Some((at.vreg()?.0, self.offset(at))));
                let stores = key.and_then(|key| self.stores.get(&key)).into_iter().flatten();
                stores.flat_map(|&store| self.function.operands_of(store).iter().skip(1)).copied().collect()
            }
            Operation::Mov
            | Operation::Add
            | Operation::Sub
            | Operation::Cvta
            | Operation::CvtaTo
            | Operation::Selp => operands.iter().filter(|operand| operand.is_use()).copied().collect(),
            // The addend; the product is an offset.
            Operation::Mad => operands.get(3).copied().into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Follows addresses back to the parameters that they come from.
    fn pointers(&self) -> BTreeSet<Place> {
        let mut is_address = vec![false; self.function.vregs.len()];
        let mut waiting: Vec<VRegId> = Vec::new();
        let mut reach = |operand: Operand, waiting: &mut Vec<VRegId>| {
            if let Some(vreg) = operand.vreg()
                && !std::mem::replace(&mut is_address[vreg.index()], true)
            {
                waiting.push(vreg);
            }
        };
        for inst in self.insts() {
            let slots = self.forms.slots(self.function.heads[inst.index()].form);
            let operands = self.function.operands_of(inst).iter().zip(slots);
            for (operand, _) in operands.filter(|(_, slot)| slot.role == Role::Address) {
                reach(*operand, &mut waiting);
            }
        }
        let mut places = BTreeSet::new();
        while let Some(vreg) = waiting.pop() {
            for OperandRef { inst, .. } in self.def_use.defs(vreg) {
                let sources = self.sources(inst, vreg, &mut places);
                sources.into_iter().for_each(|source| reach(source, &mut waiting));
            }
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptxopt_emulator::Module;

    fn uses(body: &str) -> Uses {
        let head = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .align 8 \
                    .b8 s[32])\n{\n.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<3>; .local .align 8 .b8 depot[16];\n";
        let text = format!("{head}{body}\nret;\n}}\n");
        let module = Module::load(text.as_bytes()).expect("a test's module is well-formed");
        of(text.as_bytes(), &module.entries()[0])
    }

    fn pointers(body: &str) -> Vec<(String, usize)> {
        uses(body).pointers.into_iter().collect()
    }

    #[test]
    fn fields_have_the_types_of_their_loads() {
        let found =
            uses("ld.param.u64 %d1, [s]; ld.param.v2.u32 {%r1, %r2}, [s+8]; ld.param.f32 %f1, [s+16];");
        let expected = [(0, ("u64", 8)), (8, ("u32", 4)), (12, ("u32", 4)), (16, ("f32", 4))];
        let expected = expected.map(|(at, ty)| (("s".to_owned(), at), ty));
        assert_eq!(found.fields.into_iter().collect::<Vec<_>>(), expected);
        assert!(found.pointers.is_empty());
    }

    #[test]
    fn addresses_are_followed_to_their_field() {
        let s = |at| vec![("s".to_owned(), at)];
        assert_eq!(pointers("ld.param.u64 %d1, [s+8]; ld.global.u32 %r1, [%d1];"), s(8));
        let summed = "ld.param.v2.u64 {%d1, %d2}, [s]; mad.lo.u64 %d3, %d1, 4, %d2; st.global.u32 [%d3], 1;";
        assert_eq!(pointers(summed), s(8));
        let by_register =
            "mov.b64 %d1, s; add.s64 %d2, %d1, 16; ld.param.u64 %d3, [%d2+8]; st.global.u32 [%d3], 1;";
        assert_eq!(pointers(by_register), s(24));
        let by_stack = "mov.u64 %d1, depot; ld.param.u64 %d2, [s+8]; st.local.u64 [%d1+8], %d2; \
                        ld.local.u64 %d3, [%d1+8]; ld.global.u32 %r1, [%d3];";
        assert_eq!(pointers(by_stack), s(8));
        assert_eq!(pointers("ld.param.u64 %d1, [p]; ld.global.u32 %r1, [%d1];"), [("p".to_owned(), 0)]);
    }
}
