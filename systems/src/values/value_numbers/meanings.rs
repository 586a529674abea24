//! What forms have in common: two that compute the same of the same operands are of one *class*.
//!
//! ```text
//! add.s32, add.u32, add.b32            one class: the low half of a sum has no sign
//! setp.gt.s32 p, a, b                  the class of setp.lt.s32, with its sources the other way round
//! setp.gt.s32 p, a, 31                 31 < a: the class of setp.le.s32, with 32 for 31
//! ld.global.L1::evict_last.f32         the class of ld.global.b32: hints say nothing about the value
//! ```
//! Worked out once a form.

use super::comparisons::{Compares, Next, Opposite, opposite, with_next_constant};
use super::memory::Chain;
use ahash::AHashMap;
use ptxopt_components::description::Description;
use ptxopt_components::form::{Form, FormFlags, shape};
use ptxopt_components::ids::{FormId, Id};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{CacheOperator, Comparison, Modifiers, Ordering, Part};
use ptxopt_components::types::{PtxType, StateSpace, TypeKind};
use ptxopt_engine::forms::FormTable;

/// What value numbering has to know of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meaning {
    /// The same for forms that compute the same.
    pub class: u32,
    /// Where its results come from.
    pub source: Source,
    /// What it does to memory.
    pub memory: Memory,
    /// Whether it may make a generic address of local memory, itself or by a call.
    pub makes_generic: bool,
    /// Whether it reads or changes memory whose versions are told apart, or makes such an address.
    pub is_of_memory: bool,
    /// The position of the first of two operands that may change places.
    pub commutes: Option<u8>,
    /// The position of the first of two operands that do change places, to make it one of its class.
    pub mirrored: Option<u8>,
    /// Of a comparison that has a predicate as its only result: its number among what is known of comparisons.
    pub comparison: Option<u16>,
}

/// Where the results of an instruction come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Not known, or from other threads, or they differ at each execution.
    Elsewhere,
    /// From the operands alone.
    Operands,
    /// From the operands alone: a move of one of them.
    Move,
    /// From a parameter of the kernel.
    Parameter,
    /// From memory that is read.
    Load(Chain),
}

/// What an instruction does to what is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    /// Nothing.
    Untouched,
    /// It reads, at addresses that are not looked at.
    Look,
    /// It writes at the address that is its first operand.
    Store(StateSpace),
    /// It reads a parameter: in a function that is called, one may lie in local memory.
    ReadParameter,
    /// It writes a parameter.
    WriteParameter,
    /// It may change anything, or let other threads do so.
    Clobber,
}

impl Memory {
    /// Whether something is written.
    const fn is_changed(self) -> bool {
        matches!(self, Self::Store(_) | Self::WriteParameter | Self::Clobber)
    }
}

impl Meaning {
    const NOTHING: Self = Self {
        class: 0,
        source: Source::Elsewhere,
        memory: Memory::Untouched,
        makes_generic: false,
        is_of_memory: false,
        commutes: None,
        mirrored: None,
        comparison: None,
    };
}

/// The meanings of the forms of a table.
#[derive(Default)]
pub(super) struct Meanings {
    /// By form.
    of: Vec<Meaning>,
    classes: AHashMap<(Description, Box<[u8]>), u32>,
    comparisons: Vec<Compares>,
}

impl Meanings {
    /// Works out the meanings of the forms that came since the last time.
    pub(super) fn update(&mut self, forms: &FormTable) {
        for form in (self.of.len()..forms.len()).map(FormId::new) {
            let meaning = self.meaning(forms, form);
            self.of.push(meaning);
        }
    }

    #[inline]
    pub(super) fn of(&self, form: FormId) -> &Meaning {
        &self.of[form.index()]
    }

    fn meaning(&mut self, forms: &FormTable, id: FormId) -> Meaning {
        let (form, mut description) = (forms.get(id), *forms.describe(id));
        let source = source(form, &description);
        let memory = memory(form, source);
        let makes_generic = makes_generic(form);
        let is_of_memory = makes_generic || matches!(source, Source::Load(_)) || memory.is_changed();
        if source == Source::Elsewhere {
            return Meaning { memory, makes_generic, is_of_memory, ..Meaning::NOTHING };
        }
        let is_mirrored = normalise(&mut description);
        // Which of two NaNs a double has as its sum depends on their order.
        let commutes = form.swappable().filter(|_| !description.types.contains(&Some(PtxType::F64)));
        let class = self.class(description, forms.shape(id));
        let is_plain = form.operation == Operation::Setp && forms.shape(id) == shape::plain(3);
        let comparison = if is_plain { self.comparison(description, forms.shape(id)) } else { None };
        Meaning {
            class,
            source,
            memory,
            makes_generic,
            is_of_memory,
            commutes: commutes.map(|[first, _]| first as u8),
            mirrored: is_mirrored.then_some(form.first_source),
            comparison,
        }
    }

    /// What is known of a comparison whose description is normal.
    fn comparison(&mut self, description: Description, shape: &[u8]) -> Option<u16> {
        let number = u16::try_from(self.comparisons.len()).ok()?;
        let (opposite, is_mirrored) = opposite(description)?;
        let opposite = Opposite { class: self.class(opposite, shape), is_mirrored };
        let next = with_next_constant(description).map(|(next, constant, greatest)| Next {
            class: self.class(next, shape),
            constant,
            greatest,
        });
        self.comparisons.push(Compares { opposite, next });
        Some(number)
    }

    /// What is known of the comparison that has a number.
    pub(super) fn compares(&self, number: u16) -> Compares {
        self.comparisons[usize::from(number)]
    }

    fn class(&mut self, description: Description, shape: &[u8]) -> u32 {
        let next = self.classes.len() as u32;
        *self.classes.entry((description, shape.into())).or_insert(next)
    }
}

/// What keeps two executions with the same operands from having the same results.
const DIFFERS: Effects = Effects::KEEPS.union(Effects::VOLATILE).union(Form::CARRY);

fn source(form: &Form, description: &Description) -> Source {
    let is_known = form.flags.contains(FormFlags::MODELLED) && form.operation != Operation::Unknown;
    if !is_known || form.effects.intersects(DIFFERS) {
        Source::Elsewhere
    } else if form.is_pure() {
        if form.operation == Operation::Mov && form.lanes == 1 { Source::Move } else { Source::Operands }
    } else if form.effects.contains(Effects::READ) {
        load(form, description)
    } else {
        Source::Elsewhere
    }
}

fn load(form: &Form, description: &Description) -> Source {
    let qualifiers = &description.qualifiers;
    match form.operation {
        // What a texture shows is not written while the kernel runs.
        Operation::Tex | Operation::TexBase | Operation::Tld4 | Operation::Ldu => {
            Source::Load(Chain::ReadOnly)
        }
        Operation::Ld => {
            if matches!(qualifiers.cache, Some(CacheOperator::Volatile | CacheOperator::LastUse))
                || !matches!(qualifiers.ordering, None | Some(Ordering::Weak))
                || qualifiers.has(Modifiers::MMIO)
            {
                return Source::Elsewhere;
            }
            match form.space {
                StateSpace::Const => Source::Operands,
                StateSpace::Param => Source::Parameter,
                _ if qualifiers.has(Modifiers::NON_COHERENT) => Source::Load(Chain::ReadOnly),
                space => Chain::of(space).map_or(Source::Elsewhere, Source::Load),
            }
        }
        _ => Source::Elsewhere,
    }
}

/// What bounds the life of what was read: anything that other threads may be waited for with, and writes whose place is not
/// looked at.
const CLOBBERS: Effects = Effects::WRITE
    .union(Effects::ATOMIC)
    .union(Effects::ORDER)
    .union(Effects::PINNED)
    .union(Effects::ASYNC)
    .union(Effects::CALL)
    .union(Effects::UNKNOWN);

/// Whether an instruction may make a generic address of local memory: there is no other way to one than `cvta`, here or
/// in a function that is called.
fn makes_generic(form: &Form) -> bool {
    let is_known = form.flags.contains(FormFlags::MODELLED) && form.operation != Operation::Unknown;
    let converts = form.operation == Operation::Cvta && form.space == StateSpace::Local;
    let branches = form.effects.intersects(Effects::CALL | Effects::UNKNOWN);
    converts || branches || !is_known && form.effects.intersects(CLOBBERS)
}

fn memory(form: &Form, source: Source) -> Memory {
    let is_access = form.effects.intersects(Effects::READ.union(Effects::WRITE));
    let is_volatile = is_access && form.effects.contains(Effects::VOLATILE);
    if !form.effects.intersects(CLOBBERS) && !is_volatile {
        let is_load =
            matches!(source, Source::Load(_)) && matches!(form.operation, Operation::Ld | Operation::Ldu);
        match form.space {
            _ if is_load || !form.effects.contains(Effects::READ) => Memory::Untouched,
            StateSpace::Const => Memory::Untouched,
            StateSpace::Param => Memory::ReadParameter,
            _ => Memory::Look,
        }
    } else if form.operation == Operation::St
        && form.flags.contains(FormFlags::MODELLED)
        && form.effects == Effects::WRITE
    {
        match form.space {
            // The arguments of calls, and the results of functions.
            StateSpace::Param => Memory::WriteParameter,
            StateSpace::SharedCluster => Memory::Clobber,
            space => Memory::Store(space),
        }
    } else {
        Memory::Clobber
    }
}

/// Makes descriptions that mean the same equal; says whether the sources have to change places for it.
pub(super) fn normalise(description: &mut Description) -> bool {
    let qualifiers = &mut description.qualifiers;
    let is_plain = qualifiers.modifiers.is_empty();
    match description.operation {
        Operation::Add | Operation::Sub if is_plain => forget_sign(&mut description.types),
        Operation::Mul | Operation::Mad if is_plain && qualifiers.part == Some(Part::Low) => {
            forget_sign(&mut description.types);
        }
        Operation::Selp | Operation::Mov => {
            forget_sign(&mut description.types);
            forget_float(&mut description.types);
        }
        Operation::Setp | Operation::Set => {
            use Comparison as C;
            if matches!(qualifiers.comparison, Some(C::Equal | C::NotEqual)) && is_plain {
                forget_sign(if description.operation == Operation::Set {
                    &mut description.types[1..]
                } else {
                    &mut description.types
                });
            }
            if let Some(comparison) = qualifiers.comparison.filter(|comparison| {
                matches!(
                    comparison,
                    C::Greater
                        | C::GreaterEqual
                        | C::Higher
                        | C::HigherSame
                        | C::GreaterOrNan
                        | C::GreaterEqualOrNan
                )
            }) {
                qualifiers.comparison = Some(comparison.mirrored());
                return true;
            }
        }
        Operation::Ld => {
            qualifiers.cache = None;
            qualifiers.eviction_l1 = None;
            qualifiers.eviction_l2 = None;
            qualifiers.prefetch_size = None;
            qualifiers.ordering = None;
            // Narrow values are extended to the register: with a sign, if they have one.
            let ty = description.types[0];
            description.types[0] = ty.map(|ty| if ty.is_signed() { ty } else { bits_of(ty) });
        }
        _ => {}
    }
    false
}

/// Makes integer types bits.
fn forget_sign(types: &mut [Option<PtxType>]) {
    for ty in types.iter_mut().flatten().filter(|ty| ty.kind() == TypeKind::Integer) {
        *ty = bits_of(*ty);
    }
}

/// Makes the types of floats bits.
fn forget_float(types: &mut [Option<PtxType>]) {
    for ty in types.iter_mut().flatten().filter(|ty| ty.kind() == TypeKind::Float) {
        *ty = bits_of(*ty);
    }
}

/// The type of as many bits that says nothing else.
pub(in crate::values) fn bits_of(ty: PtxType) -> PtxType {
    match (ty.kind(), ty.bits()) {
        (TypeKind::Predicate | TypeKind::Packed, _) => ty,
        (_, 8) => PtxType::B8,
        (_, 16) => PtxType::B16,
        (_, 32) => PtxType::B32,
        (_, 64) => PtxType::B64,
        _ => ty,
    }
}
