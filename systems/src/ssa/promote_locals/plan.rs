//! Plans: the instructions that take the place of the accesses of a component.
//!
//! Everything is known before the change begins, forms included, so that a change is never taken back. Registers that do
//! not exist yet are numbers until then.

use super::addresses::Access;
use super::elements::{Held, is_float};
use super::slots::{Moved, Shape, Slot, Slots, bits_type};
use ptxopt_components::description::{Description, Dialect};
use ptxopt_components::form::shape;
use ptxopt_components::ids::{FormId, Id, InstId};
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Qualifiers;
use ptxopt_components::types::PtxType;
use ptxopt_engine::edit::FunctionEditor;
use ptxopt_engine::forms::FormTable;
use std::ops::Range;

/// An operand of a planned instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// One that is there already.
    Operand(Operand),
    /// The new register with this number.
    New(usize),
    /// A literal, by its bits, for a slot of this type.
    Literal(u64, PtxType),
}

/// An instruction to be.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Its form.
    pub form: FormId,
    /// Its operands, as a range of the plan's.
    pub operands: Range<usize>,
}

/// What becomes of an access.
#[derive(Clone, Debug)]
pub struct Replacement {
    /// The access.
    pub inst: InstId,
    /// Its guard.
    pub guard: Option<Operand>,
    /// Whether it stays, after what is planned.
    pub stays: bool,
    /// What takes its place, as a range of the plan's instructions.
    pub planned: Range<usize>,
}

/// What becomes of a component. Its memory is used again.
#[derive(Default)]
pub struct Plan {
    /// The slots.
    pub slots: Slots,
    /// The types of the new registers: those of the slots first.
    pub registers: Vec<PtxType>,
    /// Instructions at the entry.
    pub entry: Range<usize>,
    /// The accesses.
    pub replacements: Vec<Replacement>,
    /// The instructions.
    pub planned: Vec<Planned>,
    /// How many of them are copies of a register of a slot, or into one that nothing else writes, and of the same type:
    /// copy propagation leaves them without a use.
    pub copies: usize,
    /// How many of them there are for parts of slots beside one for each: rules make less of most of these.
    pub of_parts: usize,
    /// Their operands.
    pub operands: Vec<Value>,
    writes: Vec<Writes>,
    forms: KnownForms,
}

/// What writes a register of a slot.
#[derive(Clone, Copy, Default)]
struct Writes {
    all: u32,
    copies: u32,
}

impl Writes {
    /// Whether a copy writes it, and nothing else.
    fn is_a_copy(self) -> bool {
        self.all == 1 && self.copies == 1
    }
}

/// The forms that were asked for in a function: a handful, which are found by comparing faster than by hashing.
#[derive(Default)]
struct KnownForms(Vec<(KnownForm, FormId)>);

/// Operation, types and shape.
type KnownForm = (Operation, [Option<PtxType>; 2], &'static [u8]);

impl Plan {
    /// Forgets what it knows of the module's forms.
    pub fn start(&mut self) {
        self.forms.0.clear();
    }

    /// How many instructions more there are than before, or fewer.
    #[must_use]
    pub fn growth(&self) -> isize {
        self.planned.len() as isize - self.replaced() as isize
    }

    /// How many accesses go.
    #[must_use]
    pub fn replaced(&self) -> usize {
        self.replacements.iter().filter(|replacement| !replacement.stays).count()
    }

    /// Plans what becomes of a component with these accesses; says whether there is an instruction for everything.
    pub fn make(&mut self, f: &mut FunctionEditor<'_>, accesses: &[Access], stores_stay: bool) -> bool {
        let (view, forms) = f.view_and_forms();
        self.slots.divide(&view, forms, accesses, stores_stay);
        self.registers.clear();
        self.registers.extend(self.slots.registers.iter().map(|register| register.ty));
        self.replacements.clear();
        self.planned.clear();
        self.copies = 0;
        self.of_parts = 0;
        self.operands.clear();
        self.replacements.extend(accesses.iter().map(|&Access { inst, .. }| Replacement {
            inst,
            guard: view.guard_of(inst),
            stays: stores_stay,
            planned: 0..0,
        }));
        if stores_stay {
            self.choose_loads(accesses);
        }
        let dialect = forms.describe(view.heads[accesses[0].inst.index()].form).dialect;
        self.plan_all(f.forms(), dialect).is_some()
    }

    /// Takes the loads that read nothing but registers of slots from those accesses that stay.
    fn choose_loads(&mut self, accesses: &[Access]) {
        let Self { slots, replacements, .. } = self;
        for values in slots.values.chunk_by(|one, other| one.access == other.access) {
            let access = values[0].access as usize;
            let has_register = |value: &Moved| !slots.slot_at(value.low).registers.is_empty();
            replacements[access].stays = !(accesses[access].is_load && values.iter().all(has_register));
        }
    }

    fn plan_all(&mut self, forms: &mut FormTable, dialect: Dialect) -> Option<()> {
        let Self {
            slots,
            registers,
            entry,
            replacements,
            planned,
            copies,
            of_parts,
            operands,
            writes,
            forms: known,
        } = self;
        writes.clear();
        writes.resize(slots.registers.len(), Writes::default());
        let mut writer = Writer { forms, known, dialect, registers, planned, operands };
        for (number, register) in
            slots.registers.iter().enumerate().filter(|(_, register)| register.is_zeroed)
        {
            writes[number].all = 1;
            writer.mov(register.ty, Value::New(number), Value::Literal(0, register.ty))?;
        }
        *entry = 0..writer.planned.len();
        for &Moved { low, ty, held, access, is_load, is_guarded, .. } in &slots.values {
            let slot = slots.slot_at(low);
            if slot.registers.is_empty() || is_load && replacements[access as usize].stays {
                continue;
            }
            let first = writer.planned.len();
            let place = Place { slot, offset: low - slot.low, ty };
            let register = |vreg, ty| Typed { value: Value::Operand(Operand::register(vreg)), ty };
            match held {
                Held::Register(vreg, have) if is_load => {
                    writer.load(&place, register(vreg, have))?;
                    *copies += usize::from(!is_guarded && writer.copy_of(first, have).is_some());
                }
                Held::Register(vreg, have) => {
                    writer.store(&place, register(vreg, have))?;
                    writes[place.registers()].iter_mut().for_each(|written| written.all += 1);
                    if let Some(number) = writer.copy_into(first, have).filter(|_| !is_guarded) {
                        writes[number].copies += 1;
                    }
                }
                Held::Literal(bits) => {
                    writer.store_literal(&place, bits)?;
                    writes[place.registers()].iter_mut().for_each(|written| written.all += 1);
                }
                Held::Nothing => {}
            }
            if slot.shape != Shape::Whole {
                *of_parts += (writer.planned.len() - first).saturating_sub(1);
            }
            let planned = &mut replacements[access as usize].planned;
            let first = if planned.end == 0 { first } else { planned.start };
            *planned = first..writer.planned.len();
        }
        *copies += writes.iter().filter(|written| written.is_a_copy()).count();
        Some(())
    }
}

/// Where a value of an access lies.
struct Place<'a> {
    slot: &'a Slot,
    /// Its first byte in the slot.
    offset: u32,
    /// Its type.
    ty: PtxType,
}

impl Place<'_> {
    fn width(&self) -> u32 {
        self.ty.bits() / 8
    }

    /// The new register of the slot that holds it, or the first of those that do.
    fn register(&self, part: u32) -> usize {
        self.slot.registers.start + (self.offset / part) as usize
    }

    /// The new registers of the slot that hold it.
    fn registers(&self) -> Range<usize> {
        match self.slot.shape {
            Shape::Whole | Shape::Fields => self.slot.registers.clone(),
            Shape::Parts(part) => {
                let first = self.register(part);
                first..first + (self.width() / part) as usize
            }
        }
    }
}

/// A register and its type.
#[derive(Clone, Copy)]
struct Typed {
    value: Value,
    ty: PtxType,
}

impl Typed {
    fn width(self) -> u32 {
        self.ty.bits() / 8
    }
}

/// Writes planned instructions. All of its functions give nothing where there is no form.
struct Writer<'a> {
    forms: &'a mut FormTable,
    known: &'a mut KnownForms,
    dialect: Dialect,
    registers: &'a mut Vec<PtxType>,
    planned: &'a mut Vec<Planned>,
    operands: &'a mut Vec<Value>,
}

impl Writer<'_> {
    /// Writes what loads the value at `place` into `to`, which may be wider.
    fn load(&mut self, place: &Place<'_>, to: Typed) -> Option<()> {
        let is_signed = signed(place.width()) == place.ty;
        match place.slot.shape {
            Shape::Whole => self.extend(self.whole(place), place.width(), is_signed, to),
            Shape::Parts(part) if part == place.width() => {
                let from = self.new_typed(place.register(part));
                self.extend(from, part, is_signed, to)
            }
            Shape::Parts(part) => {
                let all = self.at_width(place.width(), to);
                let parts = self.parts(place, part);
                self.pack(all, &parts)?;
                if all.value == to.value { Some(()) } else { self.extend(all, place.width(), is_signed, to) }
            }
            Shape::Fields => self.load_field(place, is_signed, to),
        }
    }

    /// The new register of type `ty` of which the instructions from `first` on are a copy.
    fn copy_of(&self, first: usize, ty: PtxType) -> Option<usize> {
        match *self.only_move(first)? {
            [_, Value::New(number)] if self.registers[number] == ty => Some(number),
            _ => None,
        }
    }

    /// The new register of type `ty` that the instructions from `first` on copy a register into.
    fn copy_into(&self, first: usize, ty: PtxType) -> Option<usize> {
        match *self.only_move(first)? {
            [Value::New(number), Value::Operand(_)] if self.registers[number] == ty => Some(number),
            _ => None,
        }
    }

    /// The operands of the move that the instructions from `first` on are.
    fn only_move(&self, first: usize) -> Option<&[Value]> {
        let [planned] = &self.planned[first..] else { return None };
        let is_move = self.forms.get(planned.form).operation == Operation::Mov;
        is_move.then(|| &self.operands[planned.operands.clone()])
    }

    /// Writes what stores `from`, which may be wider, at `place`.
    fn store(&mut self, place: &Place<'_>, from: Typed) -> Option<()> {
        match place.slot.shape {
            Shape::Whole => self.truncate(self.whole(place), place.width(), from),
            Shape::Parts(part) if part == place.width() => {
                let to = self.new_typed(place.register(part));
                self.truncate(to, part, from)
            }
            Shape::Parts(part) => {
                let all = self.at_width(place.width(), from);
                if all.value != from.value {
                    self.truncate(all, place.width(), from)?;
                }
                let parts = self.parts(place, part);
                self.unpack(&parts, all)
            }
            Shape::Fields => self.store_field(place, from),
        }
    }

    /// Writes what stores a literal at `place`.
    fn store_literal(&mut self, place: &Place<'_>, bits: u64) -> Option<()> {
        match place.slot.shape {
            Shape::Fields if place.width() < place.slot.width => {
                let all = self.whole(place);
                self.insert(all, Value::Literal(bits, all.ty), place)
            }
            Shape::Parts(part) => {
                let first = place.register(part);
                for at in 0..place.width() / part {
                    let to = self.new_typed(first + at as usize);
                    let mask = u64::MAX >> (64 - 8 * part);
                    let literal = Value::Literal(bits >> (8 * part * at) & mask, to.ty);
                    self.mov(to.ty, to.value, literal)?;
                }
                Some(())
            }
            Shape::Whole | Shape::Fields => {
                let to = self.whole(place);
                self.mov(to.ty, to.value, Value::Literal(bits, to.ty))
            }
        }
    }

    /// Writes what loads a value out of the register of a slot with bit fields.
    fn load_field(&mut self, place: &Place<'_>, is_signed: bool, to: Typed) -> Option<()> {
        let from = self.whole(place);
        if place.width() == place.slot.width || place.offset == 0 && !is_float(to.ty) {
            return self.extend(from, place.width(), is_signed, to);
        }
        if place.slot.width == 8 && place.width() == 4 && to.width() == 4 {
            let other = self.temporary(PtxType::B32);
            let halves = if place.offset == 0 { [to, other] } else { [other, to] };
            return self.unpack(&halves, from);
        }
        if is_float(to.ty) {
            let bits = self.temporary(bits_type(to.width()));
            self.load_field(place, is_signed, bits)?;
            return self.mov(bits.ty, to.value, bits.value);
        }
        let (offset, count) = (8 * place.offset, 8 * place.width());
        let literal = |bits: u32| Value::Literal(u64::from(bits), PtxType::U32);
        if to.width() == from.width() {
            let ty = if is_signed { signed(to.width()) } else { unsigned(to.width()) };
            return self.add(Operation::Bfe, &[ty], &[to.value, from.value, literal(offset), literal(count)]);
        }
        let shifted = self.temporary(from.ty);
        self.add(Operation::Shr, &[unsigned(from.width())], &[shifted.value, from.value, literal(offset)])?;
        self.extend(shifted, place.width(), is_signed, to)
    }

    /// Writes what stores a register into the register of a slot with bit fields.
    fn store_field(&mut self, place: &Place<'_>, from: Typed) -> Option<()> {
        let to = self.whole(place);
        if place.width() == place.slot.width {
            return self.truncate(to, place.width(), from);
        }
        let mut field = from;
        if field.width() != to.width() {
            if is_float(field.ty) {
                field = self.temporary(bits_type(from.width()));
                self.mov(field.ty, field.value, from.value)?;
            }
            let narrow = std::mem::replace(&mut field, self.temporary(to.ty));
            self.convert(unsigned(to.width()), unsigned(narrow.width()), field.value, narrow.value)?;
        }
        self.insert(to, field.value, place)
    }

    fn insert(&mut self, to: Typed, field: Value, place: &Place<'_>) -> Option<()> {
        let literal = |bits: u32| Value::Literal(u64::from(bits), PtxType::U32);
        let (offset, count) = (literal(8 * place.offset), literal(8 * place.width()));
        self.add(Operation::Bfi, &[to.ty], &[to.value, field, to.value, offset, count])
    }

    /// Writes what makes `to` of the low `width` bytes of `from`; `to` has at least as many.
    fn extend(&mut self, from: Typed, width: u32, is_signed: bool, to: Typed) -> Option<()> {
        if to.width() == width && from.width() == width {
            return self.mov(moved(from.ty, to.ty), to.value, from.value);
        }
        let kind = if is_signed { signed } else { unsigned };
        if is_float(to.ty) {
            let bits = self.temporary(bits_type(to.width()));
            self.convert(kind(to.width()), kind(width), bits.value, from.value)?;
            return self.mov(bits.ty, to.value, bits.value);
        }
        // As wide as the value: the rest of the source is cut off.
        let source = if to.width() == width { unsigned(from.width()) } else { kind(width) };
        self.convert(kind(to.width()), source, to.value, from.value)
    }

    /// Writes what puts the low `width` bytes of `from` into those of `to`.
    fn truncate(&mut self, to: Typed, width: u32, from: Typed) -> Option<()> {
        debug_assert!(from.width() >= width);
        if to.width() == from.width() {
            return self.mov(moved(to.ty, from.ty), to.value, from.value);
        }
        let mut from = from;
        if is_float(from.ty) {
            let bits = self.temporary(bits_type(from.width()));
            self.mov(bits.ty, bits.value, from.value)?;
            from = bits;
        }
        self.convert(unsigned(to.width()), unsigned(from.width()), to.value, from.value)
    }

    fn mov(&mut self, ty: PtxType, to: Value, from: Value) -> Option<()> {
        self.add(Operation::Mov, &[ty], &[to, from])
    }

    fn convert(&mut self, to_ty: PtxType, from_ty: PtxType, to: Value, from: Value) -> Option<()> {
        self.add(Operation::Cvt, &[to_ty, from_ty], &[to, from])
    }

    fn pack(&mut self, to: Typed, parts: &[Typed]) -> Option<()> {
        let codes: &'static [u8] = if parts.len() == 2 { b"#,{#,#}" } else { b"#,{#,#,#,#}" };
        let operands = std::iter::once(to.value).chain(parts.iter().map(|part| part.value));
        self.add_shaped(Operation::Mov, &[bits_type(to.width())], codes, operands)
    }

    fn unpack(&mut self, parts: &[Typed], from: Typed) -> Option<()> {
        let codes: &'static [u8] = if parts.len() == 2 { b"{#,#},#" } else { b"{#,#,#,#},#" };
        let operands = parts.iter().map(|part| part.value).chain([from.value]);
        self.add_shaped(Operation::Mov, &[bits_type(from.width())], codes, operands)
    }

    fn add(&mut self, operation: Operation, types: &[PtxType], operands: &[Value]) -> Option<()> {
        self.add_shaped(operation, types, shape::plain(operands.len()), operands.iter().copied())
    }

    fn add_shaped(
        &mut self,
        operation: Operation,
        types: &[PtxType],
        codes: &'static [u8],
        operands: impl Iterator<Item = Value>,
    ) -> Option<()> {
        // `.target sm_1x` has no bit fields.
        if self.dialect.flushes && matches!(operation, Operation::Bfe | Operation::Bfi) {
            return None;
        }
        let key = (operation, [types.first().copied(), types.get(1).copied()], codes);
        let form = match self.known.0.iter().find(|(known, _)| *known == key) {
            Some(&(_, form)) => form,
            None => {
                let description = Description::new(operation, Qualifiers::default(), types);
                let form = self.forms.build(&Description { dialect: self.dialect, ..description }, codes)?;
                self.known.0.push((key, form));
                form
            }
        };
        let first = self.operands.len();
        self.operands.extend(operands);
        self.planned.push(Planned { form, operands: first..self.operands.len() });
        Some(())
    }

    /// The only register of the slot.
    fn whole(&self, place: &Place<'_>) -> Typed {
        self.new_typed(place.slot.registers.start)
    }

    /// The registers that hold the value at `place`, so many bytes each.
    fn parts(&self, place: &Place<'_>, part: u32) -> Vec<Typed> {
        debug_assert_eq!(place.slot.shape, Shape::Parts(part));
        place.registers().map(|number| self.new_typed(number)).collect()
    }

    fn new_typed(&self, number: usize) -> Typed {
        Typed { value: Value::New(number), ty: self.registers[number] }
    }

    fn temporary(&mut self, ty: PtxType) -> Typed {
        self.registers.push(ty);
        self.new_typed(self.registers.len() - 1)
    }

    /// `register` if it has `width` bytes, else one that has.
    fn at_width(&mut self, width: u32, register: Typed) -> Typed {
        if register.width() == width { register } else { self.temporary(bits_type(width)) }
    }
}

/// The type of a move between registers of these types.
fn moved(one: PtxType, other: PtxType) -> PtxType {
    if one == other { one } else { bits_type(one.bits() / 8) }
}

fn unsigned(width: u32) -> PtxType {
    match width {
        1 => PtxType::U8,
        2 => PtxType::U16,
        4 => PtxType::U32,
        _ => PtxType::U64,
    }
}

fn signed(width: u32) -> PtxType {
    match width {
        1 => PtxType::S8,
        2 => PtxType::S16,
        4 => PtxType::S32,
        _ => PtxType::S64,
    }
}
