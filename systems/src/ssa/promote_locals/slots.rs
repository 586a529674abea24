//! Slots: the bytes of a variable that are accessed together, and the registers that they become.
//!
//! Accesses whose bytes overlap make a *component*, which is promoted as a whole. An access is aligned to its own width, so
//! of two values in a component one lies in the other, or they have no byte in common: a component falls into *slots*, each
//! as wide as the widest value there. How a slot becomes registers follows from the widths of its values:
//!
//! | widths | registers | a narrow value |
//! |---|---|---|
//! | one | one | |
//! | two, both of 16 bits or more | one for each narrow value | is a register |
//! | others | one for all | is a bit field of it |

use super::addresses::{Access, Refusal, Tracer};
use super::elements::Held;
use ptxopt_components::ids::{BlockId, Id};
use ptxopt_components::types::PtxType;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::store::view::FunctionView;
use std::ops::Range;

/// Accesses whose bytes overlap, directly or through others.
pub struct Component {
    /// Its accesses, as a range of the tracer's.
    pub accesses: Range<usize>,
    /// Why it stays in memory.
    pub verdict: Result<(), Refusal>,
    /// Whether what is stored must be in memory, too, for loads that are not among its accesses.
    pub stores_stay: bool,
}

/// Sorts the accesses to variables that do not escape by their bytes, and finds the components.
pub fn find_components(tracer: &mut Tracer, components: &mut Vec<Component>) {
    components.clear();
    let Tracer { variables, accesses, .. } = tracer;
    accesses.retain(|access| variables[access.variable as usize].escape.is_none());
    accesses.sort_unstable_by_key(|access| (access.variable, access.low, access.position));
    let mut end = (u32::MAX, 0);
    for (at, access) in accesses.iter().enumerate() {
        let is_apart = access.variable != end.0 || access.low >= end.1;
        if is_apart {
            components.push(Component::new(at));
            end = (access.variable, access.high);
        }
        components.last_mut().expect("the first access is apart from all").add(access);
        end.1 = end.1.max(access.high);
    }
}

/// Divides a component that stays in memory: into the loads that keep it there, and what overlaps without them.
pub fn divide_from_readers(accesses: &mut [Access], component: &Component, parts: &mut Vec<Component>) {
    let own = &mut accesses[component.accesses.clone()];
    let is_reader = |access: &Access| access.is_load && access.refusal.is_some();
    own.sort_by_key(|access| !is_reader(access));
    let readers = own.partition_point(is_reader);
    let mut end = 0;
    for (number, access) in own.iter().enumerate() {
        let is_apart = number >= readers && access.low >= end;
        if number == 0 || number == readers || is_apart {
            let part = Component::new(component.accesses.start + number);
            parts.push(Component { stores_stay: number >= readers, ..part });
            end = 0;
        }
        parts.last_mut().expect("the first access begins a part").add(access);
        end = end.max(access.high);
    }
}

impl Component {
    /// A component whose accesses will begin with that at `first`.
    fn new(first: usize) -> Self {
        Self { accesses: first..first, verdict: Ok(()), stores_stay: false }
    }

    /// Adds the next access.
    fn add(&mut self, access: &Access) {
        self.accesses.end += 1;
        if let (Some(reason), Ok(())) = (access.refusal, self.verdict) {
            self.verdict = Err((access.inst, reason));
        }
    }
}

/// How the values of a slot lie in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// All have the width of the slot.
    Whole,
    /// A register for each so many bytes.
    Parts(u32),
    /// One register, in which narrow values are bit fields.
    Fields,
}

/// A slot.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Its first byte in the variable.
    pub low: u32,
    /// Its bytes.
    pub width: u32,
    /// How it becomes registers.
    pub shape: Shape,
    /// Its registers, as a range of all registers of the component. None where nothing reads it, or where it stays in memory.
    pub registers: Range<usize>,
}

/// A register that takes the place of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotRegister {
    /// Its type.
    pub ty: PtxType,
    /// Whether it is read somewhere where nothing may have been written.
    pub is_zeroed: bool,
}

/// The slots of a component.
#[derive(Default)]
pub struct Slots {
    /// In the order of their bytes.
    pub slots: Vec<Slot>,
    /// The registers of all of them.
    pub registers: Vec<SlotRegister>,
    /// What the accesses move, in their order and in that of their lanes; without sinks.
    pub values: Vec<Moved>,
    /// The same, sorted.
    sorted: Vec<Moved>,
}

/// A value that an access moves.
#[derive(Clone, Copy, Debug)]
pub struct Moved {
    /// Its first byte in the variable.
    pub low: u32,
    /// Its type in memory.
    pub ty: PtxType,
    /// What stands for it.
    pub held: Held,
    /// The access, by its place in the component.
    pub access: u32,
    /// Whether it is loaded.
    pub is_load: bool,
    /// Whether it has a guard.
    pub is_guarded: bool,
    block: BlockId,
    position: u32,
}

impl Moved {
    fn width(&self) -> u32 {
        self.ty.bits() / 8
    }

    fn end(&self) -> u32 {
        self.low + self.width()
    }
}

impl Slots {
    /// Divides a component with these accesses. Where its `stores_stay`, only slots become registers of which each load is
    /// that of a register which has been written, and each store a move to one.
    pub fn divide(
        &mut self,
        view: &FunctionView<'_>,
        forms: &FormTable,
        accesses: &[Access],
        stores_stay: bool,
    ) {
        let Self { slots, registers, values, sorted } = self;
        slots.clear();
        registers.clear();
        values.clear();
        for (number, access) in accesses.iter().enumerate() {
            let head = view.heads[access.inst.index()];
            let form = forms.get(head.form);
            let Some(ty) = form.types[0] else { continue };
            let elements = access.elements(view, forms).filter(|element| element.held != Held::Nothing);
            values.extend(elements.map(|element| Moved {
                low: access.low + element.offset,
                ty,
                held: element.held,
                access: number as u32,
                is_load: access.is_load,
                is_guarded: head.opcode.is_guarded(),
                block: access.block,
                position: access.position,
            }));
        }
        sorted.clear();
        sorted.extend_from_slice(values);
        sorted.sort_unstable_by_key(|value| (value.low, std::cmp::Reverse(value.width()), value.position));
        let mut rest = &sorted[..];
        while let Some(first) = rest.first() {
            let (low, end) = (first.low, first.end());
            let count = rest.iter().take_while(|value| value.low < end).count();
            let (own, others) = rest.split_at(count);
            debug_assert!(own.iter().all(|value| value.end() <= end), "values overlap in part");
            rest = others;
            let shape = shape_of(own);
            let first = registers.len();
            if own.iter().any(|value| value.is_load) {
                add_registers(view, shape, own, registers);
                let is_known = registers[first..].iter().all(|register| !register.is_zeroed);
                if stores_stay && !(is_known && shape != Shape::Fields) {
                    registers.truncate(first);
                }
            }
            slots.push(Slot { low, width: end - low, shape, registers: first..registers.len() });
        }
    }

    /// The slot in which the byte lies.
    #[must_use]
    pub fn slot_at(&self, byte: u32) -> &Slot {
        let next = self.slots.partition_point(|slot| slot.low <= byte);
        &self.slots[next - 1]
    }
}

fn shape_of(values: &[Moved]) -> Shape {
    let widths = values.iter().fold(0, |all, value| all | value.width());
    let narrow = widths & !values[0].width();
    match narrow {
        0 => Shape::Whole,
        2 | 4 => Shape::Parts(narrow),
        _ => Shape::Fields,
    }
}

/// Adds the registers of the slot with these values, of which the first is as wide as the slot.
fn add_registers(view: &FunctionView<'_>, shape: Shape, values: &[Moved], registers: &mut Vec<SlotRegister>) {
    let (low, width) = (values[0].low, values[0].width());
    let (ty, part) = match shape {
        Shape::Whole => (register_type(width, values), width),
        Shape::Parts(part) => (bits_type(part), part),
        Shape::Fields => (bits_type(width.max(4)), width),
    };
    for part_low in (low..low + width).step_by(part as usize) {
        let is_zeroed = is_zeroed(view, values, part_low, part_low + part);
        registers.push(SlotRegister { ty, is_zeroed });
    }
}

/// Whether a read of `low..end` may come before any write of all of it.
fn is_zeroed(view: &FunctionView<'_>, values: &[Moved], low: u32, end: u32) -> bool {
    let inside = || values.iter().filter(|value| value.low < end && low < value.end());
    let is_whole = |value: &Moved| value.low <= low && end <= value.end();
    let order = |value: &Moved| &view.orders[value.block.index()];
    let writes = inside().filter(|value| !value.is_load && !value.is_guarded && is_whole(value));
    let Some(first) = writes.min_by_key(|value| (order(value).rpo, value.position)) else { return true };
    let comes_before = |value: &Moved| {
        if first.block == value.block {
            first.position < value.position
        } else {
            order(first).dominates(order(value))
        }
    };
    // A write of a part reads the rest.
    inside().any(|value| (value.is_load || !is_whole(value)) && !comes_before(value))
}

/// The type for values of `width` bytes: that of the registers, where all are floats of it, so that no move changes types.
fn register_type(width: u32, values: &[Moved]) -> PtxType {
    let float = match width {
        4 => PtxType::F32,
        8 => PtxType::F64,
        _ => return bits_type(width.max(2)),
    };
    let mut types = values.iter().filter_map(|value| match value.held {
        Held::Register(_, ty) => Some(ty),
        _ => None,
    });
    if types.all(|ty| ty == float) { float } else { bits_type(width) }
}

/// The type of `width` bytes without a kind.
#[must_use]
pub fn bits_type(width: u32) -> PtxType {
    match width {
        1 => PtxType::B8,
        2 => PtxType::B16,
        4 => PtxType::B32,
        _ => PtxType::B64,
    }
}
