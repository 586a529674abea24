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
use ptxopt_components::ids::Id;
use ptxopt_components::operation::Operation;
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
            components.push(Component { accesses: at..at, verdict: Ok(()) });
            end = (access.variable, access.high);
        }
        let component = components.last_mut().expect("the first access is apart from all");
        component.accesses.end = at + 1;
        end.1 = end.1.max(access.high);
        if let (Some(reason), Ok(())) = (access.refusal, component.verdict) {
            component.verdict = Err((access.inst, reason));
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
    /// Its registers, as a range of all registers of the component. None where nothing reads it.
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
    values: Vec<ValueOfSlot>,
}

/// A value that an access moves.
#[derive(Clone, Copy, Debug)]
struct ValueOfSlot {
    low: u32,
    width: u32,
    held: Held,
    access: Access,
    is_load: bool,
    is_guarded: bool,
}

impl Slots {
    /// Divides a component with these accesses.
    pub fn divide(&mut self, view: &FunctionView<'_>, forms: &FormTable, accesses: &[Access]) {
        let Self { slots, registers, values } = self;
        slots.clear();
        registers.clear();
        values.clear();
        for &access in accesses {
            let head = view.heads[access.inst.index()];
            let form = forms.get(head.form);
            let width = form.types[0].map_or(0, |ty| ty.bits() / 8);
            let is_load = form.operation == Operation::Ld;
            let elements = access.elements(view, forms).filter(|element| element.held != Held::Nothing);
            values.extend(elements.map(|element| ValueOfSlot {
                low: access.low + element.offset,
                width,
                held: element.held,
                access,
                is_load,
                is_guarded: head.opcode.is_guarded(),
            }));
        }
        values
            .sort_unstable_by_key(|value| (value.low, std::cmp::Reverse(value.width), value.access.position));
        let mut rest = &values[..];
        while let Some(&ValueOfSlot { low, width, .. }) = rest.first() {
            let count = rest.iter().take_while(|value| value.low < low + width).count();
            let (own, others) = rest.split_at(count);
            debug_assert!(own.iter().all(|value| value.low + value.width <= low + width), "values overlap");
            rest = others;
            let shape = shape_of(own);
            let first = registers.len();
            if own.iter().any(|value| value.is_load) {
                add_registers(view, low, shape, own, registers);
            }
            slots.push(Slot { low, width, shape, registers: first..registers.len() });
        }
    }

    /// The slot in which the byte lies.
    #[must_use]
    pub fn slot_at(&self, byte: u32) -> &Slot {
        let next = self.slots.partition_point(|slot| slot.low <= byte);
        &self.slots[next - 1]
    }
}

fn shape_of(values: &[ValueOfSlot]) -> Shape {
    let widths = values.iter().fold(0, |all, value| all | value.width);
    let narrow = widths & !values[0].width;
    match narrow {
        0 => Shape::Whole,
        2 | 4 => Shape::Parts(narrow),
        _ => Shape::Fields,
    }
}

fn add_registers(
    view: &FunctionView<'_>,
    low: u32,
    shape: Shape,
    values: &[ValueOfSlot],
    registers: &mut Vec<SlotRegister>,
) {
    let width = values[0].width;
    let (ty, part) = match shape {
        Shape::Whole => (register_type(width, values), width),
        Shape::Parts(part) => (bits_type(part), part),
        Shape::Fields => (bits_type(width.max(4)), width),
    };
    for part_low in (low..low + width).step_by(part as usize) {
        let part_end = part_low + part;
        let inside = values.iter().filter(|value| value.low < part_end && part_low < value.low + value.width);
        let is_zeroed = is_zeroed(view, inside, part_low, part_end);
        registers.push(SlotRegister { ty, is_zeroed });
    }
}

/// Whether a read of `low..end` may come before any write of all of it.
fn is_zeroed<'a>(
    view: &FunctionView<'_>,
    values: impl Iterator<Item = &'a ValueOfSlot> + Clone,
    low: u32,
    end: u32,
) -> bool {
    let writes_all = |value: &&ValueOfSlot| {
        !value.is_load && !value.is_guarded && value.low <= low && end <= value.low + value.width
    };
    let order = |value: &ValueOfSlot| view.orders[value.access.block.index()];
    let first =
        values.clone().filter(writes_all).min_by_key(|value| (order(value).rpo, value.access.position));
    let Some(first) = first else { return true };
    let comes_first = |value: &ValueOfSlot| {
        if first.access.block == value.access.block {
            first.access.position < value.access.position
        } else {
            order(first).dominates(&order(value))
        }
    };
    // A write of a part reads the rest.
    let reads = |value: &ValueOfSlot| value.is_load || value.low > low || value.low + value.width < end;
    values.into_iter().any(|value| reads(value) && !comes_first(value))
}

/// The type for values of `width` bytes: that of the registers, where all are floats of it, so that no move changes types.
fn register_type(width: u32, values: &[ValueOfSlot]) -> PtxType {
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
