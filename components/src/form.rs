//! Forms: what a mnemonic means together with the shape of its operands.
//!
//! Real code has about a thousand distinct forms, so whatever can be said of an instruction without its operands'
//! values is worked out once, here, and every phase asks the form. Nothing else in the workspace knows an opcode.

use crate::ids::{Span, VRegId};
use crate::instruction::Marks;
use crate::opcodes::{Effects, InFlight, Opcodes};
use crate::operand::Operand;
use crate::operation::Operation;
use crate::types::{PtxType, StateSpace};
use bitflags::bitflags;

/// Punctuation between the operands of an instruction. A shape is a list of these bytes.
///
/// `ld.v2 {%r1, %r2}, [%rd1]` has the shape `{ # , # } , [ # ]` where `#` is an operand.
pub mod shape {
    /// An operand.
    pub const OPERAND: u8 = b'#';
    /// An operand that is an address without brackets, `array[3]`.
    pub const INDEXED: u8 = b'x';
    /// Between operands.
    pub const COMMA: u8 = b',';
    /// Between the results of a pair, `d|p`.
    pub const PIPE: u8 = b'|';
    /// Opens a vector.
    pub const BRACE_OPEN: u8 = b'{';
    /// Closes a vector.
    pub const BRACE_CLOSE: u8 = b'}';
    /// Opens an address.
    pub const BRACKET_OPEN: u8 = b'[';
    /// Closes an address.
    pub const BRACKET_CLOSE: u8 = b']';
    /// `.unified` after an address: what it points to has been allocated in unified memory.
    pub const UNIFIED: u8 = b'u';
    /// Opens a call's parameter list.
    pub const PAREN_OPEN: u8 = b'(';
    /// Closes a call's parameter list.
    pub const PAREN_CLOSE: u8 = b')';
    /// Operands follow one another as text chunks: a statement that is copied through.
    pub const VERBATIM: u8 = b'"';

    /// The shape of `count` operands with commas between them, up to eight: `d, a, b` is 3.
    ///
    /// # Panics
    /// When there are more.
    #[must_use]
    pub const fn plain(count: usize) -> &'static [u8] {
        const EIGHT: &[u8] = b"#,#,#,#,#,#,#,#";
        EIGHT.split_at((count * 2).saturating_sub(1)).0
    }
}

/// What an operand is to its instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Role {
    /// Read.
    Use,
    /// Written.
    Def,
    /// Read and written: accumulators, tied operands, everything an unknown instruction names.
    DefUse,
    /// Part of an address: read.
    Address,
    /// A branch target.
    Target,
    /// A function, table, texture or other name.
    Name,
}

bitflags! {
    /// What an operand slot accepts beside registers of its type.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct Accepts: u8 {
        /// A literal.
        const IMMEDIATE = 1 << 0;
        /// The sink `_`.
        const SINK = 1 << 1;
        /// A vector in braces.
        const VECTOR = 1 << 2;
        /// The sink as an element of a vector.
        const SINK_ELEMENT = 1 << 3;
        /// A negated predicate.
        const NEGATION = 1 << 4;
        /// A component selector.
        const SELECTOR = 1 << 5;
        /// A minus sign.
        const MINUS = 1 << 6;
        /// A symbol's address.
        const SYMBOL = 1 << 7;
    }
}

bitflags! {
    /// Kinds of operands, as far as a slot takes them or not. Each operand [is of one](crate::operand::Operand::kinds).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Kinds: u8 {
        /// A register that is no predicate.
        const REGISTER = 1 << 0;
        /// A predicate register.
        const PREDICATE = 1 << 1;
        /// A negated predicate register.
        const NEGATED = 1 << 2;
        /// A number.
        const NUMBER = 1 << 3;
        /// The sink `_`.
        const SINK = 1 << 4;
        /// A branch target.
        const BLOCK = 1 << 5;
        /// A variable or function, by its name.
        const SYMBOL = 1 << 6;
        /// A special register, a branch table, or text.
        const OTHER = 1 << 7;
    }
}

/// What a form says about one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// What the operand is to the instruction.
    pub role: Role,
    /// What else the slot accepts.
    pub accepts: Accepts,
    /// The type it works on; none where the table leaves it unchecked.
    pub ty: Option<PtxType>,
    /// Whether the operand is an element of a brace vector.
    pub in_vector: bool,
}

impl Slot {
    /// The kinds of operands that may stand here in a form that is modelled. An address takes all of them.
    ///
    /// The element of a vector without a type takes numbers, whatever its letters say: those say what was tried with the
    /// whole slot, and compilers write numbers where only an element may be one.
    /// ```text
    /// mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f1, f2, f3, f4}, {..}, {..}, {0f00000000, f5, f6, f7};
    /// mma.sync...block_scale... {..}, {..}, {..}, {..}, r1, {0, 1}, r2, {0, 0};     // byte and thread of the scales
    /// ```
    /// A special register is no result, but `ptxas` takes it for an element of one: `mov.b64 {%laneid, r2}, d1`.
    #[must_use]
    pub fn takes(&self) -> Kinds {
        match self.role {
            Role::Address => return Kinds::all(),
            Role::Target => return Kinds::BLOCK,
            _ => {}
        }
        let mut kinds = Kinds::empty();
        kinds.set(Kinds::OTHER, self.role != Role::Def || self.in_vector);
        kinds.set(Kinds::REGISTER, self.ty != Some(PtxType::Pred));
        kinds.set(Kinds::PREDICATE, matches!(self.ty, None | Some(PtxType::Pred)));
        let is_negatable = kinds.contains(Kinds::PREDICATE) && self.accepts.contains(Accepts::NEGATION);
        kinds.set(Kinds::NEGATED, is_negatable);
        let is_untyped_element = self.in_vector && self.ty.is_none();
        kinds.set(Kinds::NUMBER, is_untyped_element || self.accepts.contains(Accepts::IMMEDIATE));
        let sink = if self.in_vector { Accepts::SINK_ELEMENT } else { Accepts::SINK };
        kinds.set(Kinds::SINK, self.accepts.contains(sink));
        let is_symbol = self.role == Role::Name || self.accepts.contains(Accepts::SYMBOL);
        kinds.set(Kinds::SYMBOL, is_symbol);
        kinds
    }
}

bitflags! {
    /// Facts about a form that are no effects.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct FormFlags: u8 {
        /// The table's signature fits the operands. Where it does not, the instruction is kept and pinned.
        const MODELLED = 1 << 0;
        /// `.uni`: a promise that the branch or call is uniform.
        const UNIFORM = 1 << 1;
        /// Has a slot that is written.
        const DEFINES = 1 << 2;
        /// A conversion: it takes registers that are wider than its types, and special registers.
        const CONVERTS = 1 << 3;
        /// Has no qualifier, but for the part of a product (`.lo`, `.hi`, `.wide`).
        const PLAIN = 1 << 4;
    }
}

/// An interned form.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Root opcode: row of [`crate::opcodes::Opcodes::roots`].
    pub root: u16,
    /// What it computes; unknown where a qualifier is not understood, and where the form is not modelled.
    pub operation: Operation,
    /// Position of the first source among the slots, if there is one.
    pub first_source: u8,
    /// What executing it does beside writing results.
    pub effects: Effects,
    /// The marks of its instructions.
    pub marks: Marks,
    /// What it has to do with registers in flight.
    pub in_flight: InFlight,
    /// Facts.
    pub flags: FormFlags,
    /// The state space that the mnemonic names.
    pub space: StateSpace,
    /// The type suffixes, in textual order; at most four matter.
    pub types: [Option<PtxType>; 4],
    /// Vector length of the mnemonic (`.v2`, `.v4`, `.v8`), else 1.
    pub lanes: u8,
    /// Bytes of the mnemonic in the form table's text.
    pub mnemonic: Span,
    /// Bytes of the shape in the form table's shape pool.
    pub shape: Span,
    /// One slot an operand, the guard excluded, in the form table's slot pool.
    pub slots: Span,
}

impl Form {
    /// The effects that are none: they say what may be done with the instruction.
    const PERMISSIONS: Effects = Effects::COMMUTES.union(Effects::SPECULATABLE);
    /// The carry register is an operand of the row, hidden after those of the form.
    pub const CARRY: Effects = Effects::CARRY_IN.union(Effects::CARRY_OUT);

    /// The carry register as an operand of a form that reads or writes it.
    #[must_use]
    pub fn carry(&self, register: VRegId) -> Operand {
        let operand = Operand::register(register);
        if self.effects.contains(Effects::CARRY_OUT) {
            operand.as_definition(self.effects.contains(Effects::CARRY_IN))
        } else {
            operand
        }
    }

    /// Whether the results follow from the operands alone, and nothing else happens. Two instructions of one form with
    /// the same operands have the same results, wherever they stand.
    ///
    /// Not asked is what an operand brings: `mov.u32 %r1, %clock` reads a special register that changes.
    #[inline]
    #[must_use]
    pub const fn is_pure(&self) -> bool {
        self.flags.contains(FormFlags::MODELLED)
            && self.effects.difference(Self::PERMISSIONS).difference(Self::CARRY).is_empty()
    }

    /// Whether it is that of a phi.
    #[inline]
    #[must_use]
    pub const fn is_phi(&self) -> bool {
        self.root == Opcodes::PHI_ROOT
    }

    /// Whether hardware uses the registers in one of its slots after the instruction has issued, until something is waited for.
    #[must_use]
    pub fn leaves_in_flight(&self, slot: &Slot) -> bool {
        match self.in_flight {
            // The registers beside the vectors of sparse forms hold metadata, of which the ISA says neither.
            InFlight::UntilGroup => slot.in_vector || slot.ty == Some(PtxType::B32),
            InFlight::UntilLoadWait => slot.role == Role::Def,
            InFlight::UntilStoreWait => slot.role == Role::Use,
            _ => false,
        }
    }

    /// Whether something may use the registers in one of its slots after the instruction has issued. Of an unknown instruction
    /// nothing is sure but that it reads addresses when it issues, as all do.
    #[must_use]
    pub fn may_use_later(&self, slot: &Slot) -> bool {
        self.leaves_in_flight(slot) || self.effects.contains(Effects::UNKNOWN) && slot.role != Role::Address
    }

    /// Whether the instruction may run where it did not run before: it can neither fault nor take effect.
    #[inline]
    #[must_use]
    pub const fn is_speculatable(&self) -> bool {
        self.effects.contains(Effects::SPECULATABLE)
    }

    /// The positions of the two operands that may change places.
    #[inline]
    #[must_use]
    pub const fn swappable(&self) -> Option<[usize; 2]> {
        let first = self.first_source as usize;
        if self.effects.contains(Effects::COMMUTES) { Some([first, first + 1]) } else { None }
    }
}
