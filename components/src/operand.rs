//! Operands: eight bytes each.
//!
//! ```text
//! word       31   definition
//!            28-30 tag: 1 register, 2 immediate, 3 literal, 4 block, 5 predicate or constant reference
//!            27   names a virtual register (tag 1, and tag 5 where it is a predicate)
//!            24-26 sub-kind, its meaning by tag
//!            0-23 id
//! modifiers  29-31 what the payload is: nothing, offset, wide offset, selector
//!            28   a definition that also reads the old value
//!            0-27 payload            (a whole i32 or f32 where the tag is 2)
//! ```
//!
//! Brackets, braces and commas are no operands: they are the *shape* of the instruction's form, so `[%rd1+16]` is
//! one register operand with an offset, and `{%f1, %f2}` is two operands.

use crate::form::Kinds;
use crate::ids::{BlockId, Id, LiteralId, NameId, TableId, VRegId};
pub use crate::literal::{Literal, LiteralKind};
use crate::special_registers::SPECIAL_REGISTERS;
use bytemuck::{Pod, Zeroable};
use std::hint::select_unpredictable;

/// Largest id that fits an operand word. A function that uses more registers, names or literals is an error.
pub const OPERAND_ID_MAX: usize = (1 << 24) - 1;

const DEFINITION: u32 = 1 << 31;
const VREG: u32 = 1 << 27;
const SUB_SHIFT: u32 = 24;
const SUB_MASK: u32 = 7 << SUB_SHIFT;
const TAG_SHIFT: u32 = 28;
const TAG_MASK: u32 = 7 << TAG_SHIFT;
const ID_MASK: u32 = (1 << 24) - 1;

const TAG_REG: u32 = 1;
const TAG_IMM: u32 = 2;
const TAG_LITERAL: u32 = 3;
const TAG_BLOCK: u32 = 4;
const TAG_REF: u32 = 5;

const SUB_PLAIN: u32 = 0;
const SUB_MINUS: u32 = 1;
const SUB_F32: u32 = 1;
const SUB_PRED: u32 = 0;
const SUB_NOT_PRED: u32 = 1;
const SUB_SYMBOL: u32 = 2;
const SUB_SPECIAL: u32 = 3;
const SUB_SINK: u32 = 4;
const SUB_TABLE: u32 = 5;
const SUB_TEXT: u32 = 6;

const KIND_SHIFT: u32 = 29;
const KIND_OFFSET: u32 = 1;
const KIND_OFFSET_WIDE: u32 = 2;
const KIND_SELECTOR: u32 = 3;
const ALSO_READ_SHIFT: u32 = 28;
const ALSO_READ: u32 = 1 << ALSO_READ_SHIFT;
const PAYLOAD_MASK: u32 = (1 << 28) - 1;

/// One operand of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Pod, Zeroable, Default)]
#[repr(C)]
pub struct Operand {
    word: u32,
    modifiers: u32,
}

/// What an operand is, unpacked for code that wants to match on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OperandKind {
    /// A register that is no predicate; `minus` is the sign that `vmad` allows in front.
    Register {
        /// The register.
        vreg: VRegId,
        /// Whether a minus sign stands in front.
        minus: bool,
    },
    /// A predicate register, perhaps negated.
    Predicate {
        /// The register.
        vreg: VRegId,
        /// Whether `!` stands in front.
        negated: bool,
    },
    /// An integer literal.
    Int(i32),
    /// An `f32` literal, by its bits.
    F32(u32),
    /// A literal of the literal pool.
    Literal(LiteralId),
    /// A branch target.
    Block(BlockId),
    /// A variable, parameter or function by name.
    Symbol(NameId),
    /// A special register: row of [`crate::special_registers::SPECIAL_REGISTERS`].
    Special(u32),
    /// The sink `_`.
    Sink,
    /// A jump table, call-target list or prototype of this function.
    Table(TableId),
    /// Text copied through: a span in the literal pool.
    Text(LiteralId),
}

impl Operand {
    const fn pack(tag: u32, sub: u32, id: u32, extra: u32) -> Self {
        Self { word: tag << TAG_SHIFT | sub << SUB_SHIFT | id | extra, modifiers: 0 }
    }

    fn id_bits(index: usize) -> u32 {
        debug_assert!(index <= OPERAND_ID_MAX);
        index as u32 & ID_MASK
    }

    /// A register operand that is read.
    #[inline]
    #[must_use]
    pub fn register(vreg: VRegId) -> Self {
        Self::pack(TAG_REG, 0, Self::id_bits(vreg.index()), VREG)
    }

    /// A predicate operand that is read.
    #[inline]
    #[must_use]
    pub fn predicate(vreg: VRegId, negated: bool) -> Self {
        let sub = if negated { SUB_NOT_PRED } else { SUB_PRED };
        Self::pack(TAG_REF, sub, Self::id_bits(vreg.index()), VREG)
    }

    /// An integer literal that fits 32 bits.
    #[inline]
    #[must_use]
    pub fn int(value: i32) -> Self {
        Self { word: TAG_IMM << TAG_SHIFT, modifiers: value as u32 }
    }

    /// An `f32` literal.
    #[inline]
    #[must_use]
    pub fn f32_bits(bits: u32) -> Self {
        Self { word: TAG_IMM << TAG_SHIFT | SUB_F32 << SUB_SHIFT, modifiers: bits }
    }

    /// A literal of the literal pool.
    #[inline]
    #[must_use]
    pub fn literal(literal: LiteralId) -> Self {
        Self::pack(TAG_LITERAL, 0, Self::id_bits(literal.index()), 0)
    }

    /// A branch target.
    #[inline]
    #[must_use]
    pub fn block(block: BlockId) -> Self {
        Self::pack(TAG_BLOCK, 0, Self::id_bits(block.index()), 0)
    }

    /// A variable, parameter or function by name.
    #[inline]
    #[must_use]
    pub fn symbol(name: NameId) -> Self {
        Self::pack(TAG_REF, SUB_SYMBOL, Self::id_bits(name.index()), 0)
    }

    /// A special register by its row in the special-register table.
    #[inline]
    #[must_use]
    pub fn special(row: usize) -> Self {
        Self::pack(TAG_REF, SUB_SPECIAL, Self::id_bits(row), 0)
    }

    /// The sink `_`.
    #[inline]
    #[must_use]
    pub const fn sink() -> Self {
        Self::pack(TAG_REF, SUB_SINK, 0, 0)
    }

    /// A jump table, call-target list or prototype.
    #[inline]
    #[must_use]
    pub fn table(table: TableId) -> Self {
        Self::pack(TAG_REF, SUB_TABLE, Self::id_bits(table.index()), 0)
    }

    /// Text that is copied through.
    #[inline]
    #[must_use]
    pub fn text(literal: LiteralId) -> Self {
        Self::pack(TAG_REF, SUB_TEXT, Self::id_bits(literal.index()), 0)
    }

    fn with_payload(self, kind: u32, payload: u32) -> Self {
        debug_assert!(payload <= PAYLOAD_MASK);
        let kept = self.modifiers & ALSO_READ;
        Self { word: self.word, modifiers: kind << KIND_SHIFT | kept | payload }
    }

    /// With a byte offset after it, if the offset fits 28 bits; otherwise it belongs into the literal pool and
    /// [`Operand::with_wide_offset`].
    #[inline]
    #[must_use]
    pub fn with_offset(self, offset: i64) -> Option<Self> {
        let fits = (-(1 << 27)..1 << 27).contains(&offset);
        fits.then(|| {
            if offset == 0 { self } else { self.with_payload(KIND_OFFSET, offset as u32 & PAYLOAD_MASK) }
        })
    }

    /// With a byte offset that stands in the literal pool.
    #[inline]
    #[must_use]
    pub fn with_wide_offset(self, literal: LiteralId) -> Self {
        self.with_payload(KIND_OFFSET_WIDE, Self::id_bits(literal.index()))
    }

    /// With a component or lane selector (`.x`, `.h0`, `.b3210`).
    #[inline]
    #[must_use]
    pub fn with_selector(self, selector: Selector) -> Self {
        self.with_payload(KIND_SELECTOR, selector.0)
    }

    /// With a minus sign in front.
    #[inline]
    #[must_use]
    pub fn with_minus(self) -> Self {
        debug_assert!(self.tag() == TAG_REG);
        Self { word: self.word | SUB_MINUS << SUB_SHIFT, ..self }
    }

    /// As a definition; `also_read` where the old value is an input as well (accumulators, unknown instructions).
    #[inline]
    #[must_use]
    pub fn as_definition(self, also_read: bool) -> Self {
        let modifiers = if also_read { self.modifiers | ALSO_READ } else { self.modifiers };
        Self { word: self.word | DEFINITION, modifiers }
    }

    /// The same operand for another register of the same class.
    #[inline]
    #[must_use]
    pub fn with_vreg(self, vreg: VRegId) -> Self {
        debug_assert!(self.vreg().is_some());
        Self { word: self.word & !ID_MASK | Self::id_bits(vreg.index()), ..self }
    }

    /// The same operand for another branch target.
    #[inline]
    #[must_use]
    pub fn with_block(self, block: BlockId) -> Self {
        debug_assert!(self.tag() == TAG_BLOCK);
        Self { word: self.word & !ID_MASK | Self::id_bits(block.index()), ..self }
    }

    #[inline]
    const fn tag(self) -> u32 {
        (self.word & TAG_MASK) >> TAG_SHIFT
    }

    #[inline]
    const fn sub(self) -> u32 {
        (self.word & SUB_MASK) >> SUB_SHIFT
    }

    /// The packed word, for hashing and dumps.
    #[inline]
    #[must_use]
    pub const fn word(self) -> u32 {
        self.word
    }

    /// The packed modifiers, for hashing and dumps.
    #[inline]
    #[must_use]
    pub const fn modifiers(self) -> u32 {
        self.modifiers
    }

    /// Number of [patterns](Operand::pattern).
    pub const PATTERN_COUNT: usize = 512;

    /// What the operand is, without the id and the payload: tag, sub-kind, whether it is written and also read.
    #[inline]
    #[must_use]
    pub const fn pattern(self) -> usize {
        (self.word >> SUB_SHIFT | (self.modifiers & ALSO_READ) >> (ALSO_READ_SHIFT - 8)) as usize
    }

    /// An operand with this pattern, id 0 and no payload; none where no operand is like that.
    #[must_use]
    pub const fn of_pattern(pattern: usize) -> Option<Self> {
        let (word, also_read) = ((pattern as u32 & 0xFF) << SUB_SHIFT, pattern as u32 >> 8);
        let operand = Self { word, modifiers: also_read << ALSO_READ_SHIFT };
        let is_vreg = word & VREG != 0;
        let has_meaning = match (operand.tag(), operand.sub()) {
            (TAG_REG, SUB_PLAIN | SUB_MINUS) | (TAG_REF, SUB_PRED | SUB_NOT_PRED) => is_vreg,
            (TAG_IMM, SUB_PLAIN | SUB_F32) | (TAG_LITERAL | TAG_BLOCK, SUB_PLAIN) => !is_vreg,
            (TAG_REF, SUB_SYMBOL | SUB_SPECIAL | SUB_SINK | SUB_TABLE | SUB_TEXT) => !is_vreg,
            _ => false,
        };
        if has_meaning { Some(operand) } else { None }
    }

    /// The kind that a slot takes or not.
    #[inline]
    #[must_use]
    pub fn kinds(self) -> Kinds {
        /// By tag and sub-kind.
        const OF_TAG: [Kinds; 64] = {
            let mut kinds = [Kinds::OTHER; 64];
            let mut sub = 0;
            while sub < 8 {
                kinds[(TAG_REG << 3 | sub) as usize] = Kinds::REGISTER;
                kinds[(TAG_IMM << 3 | sub) as usize] = Kinds::NUMBER;
                kinds[(TAG_LITERAL << 3 | sub) as usize] = Kinds::NUMBER;
                kinds[(TAG_BLOCK << 3 | sub) as usize] = Kinds::BLOCK;
                sub += 1;
            }
            kinds[(TAG_REF << 3 | SUB_PRED) as usize] = Kinds::PREDICATE;
            kinds[(TAG_REF << 3 | SUB_NOT_PRED) as usize] = Kinds::NEGATED;
            kinds[(TAG_REF << 3 | SUB_SINK) as usize] = Kinds::SINK;
            kinds[(TAG_REF << 3 | SUB_SYMBOL) as usize] = Kinds::SYMBOL;
            kinds
        };
        OF_TAG[(self.tag() << 3 | self.sub()) as usize]
    }

    /// The id in the word, whatever it counts.
    #[inline]
    #[must_use]
    pub const fn id(self) -> u32 {
        self.word & ID_MASK
    }

    /// The register that the operand names: predicate or not, read or written.
    #[inline]
    #[must_use]
    pub fn vreg(self) -> Option<VRegId> {
        (self.word & VREG != 0).then_some(VRegId(self.word & ID_MASK))
    }

    /// The index of the register that the operand names; `other` where it names none. It takes no branch: see
    /// [`InstOperands::padded`](crate::instruction::InstOperands::padded).
    #[inline]
    #[must_use]
    pub fn vreg_or(self, other: usize) -> usize {
        select_unpredictable(self.word & VREG != 0, self.id() as usize, other)
    }

    /// The index of the register that the operand reads, without a branch; `other` where it reads none.
    #[inline]
    #[must_use]
    pub fn read_or(self, other: usize) -> usize {
        select_unpredictable(self.reads_vreg(), self.id() as usize, other)
    }

    /// Whether it names a register that is read. A register's modifiers hold the bit in its definitions only.
    #[inline]
    const fn reads_vreg(self) -> bool {
        (self.word & VREG != 0) & ((self.word & DEFINITION == 0) | (self.modifiers & ALSO_READ != 0))
    }

    /// Whether the operand is written.
    #[inline]
    #[must_use]
    pub const fn is_definition(self) -> bool {
        self.word & DEFINITION != 0
    }

    /// Whether the operand is read; a definition is when the old value flows in.
    #[inline]
    #[must_use]
    pub const fn is_use(self) -> bool {
        (self.word & DEFINITION == 0) | ((self.modifiers & ALSO_READ != 0) & (self.tag() != TAG_IMM))
    }

    /// Whether a written operand keeps part of its old value: one component of a vector register, a selected lane,
    /// or a tied accumulator.
    #[inline]
    #[must_use]
    pub fn is_partial(self) -> bool {
        // What is written is no number, whose modifiers would be its value.
        let keeps_part = self.modifiers & ALSO_READ != 0 || self.modifiers >> KIND_SHIFT == KIND_SELECTOR;
        !self.is_definition() || keeps_part
    }

    /// The branch target, if it is one.
    #[inline]
    #[must_use]
    pub fn as_block(self) -> Option<BlockId> {
        (self.tag() == TAG_BLOCK).then_some(BlockId(self.word & ID_MASK))
    }

    /// The jump table, if it is one.
    #[inline]
    #[must_use]
    pub fn as_table(self) -> Option<TableId> {
        (self.tag() == TAG_REF && self.sub() == SUB_TABLE).then_some(TableId(self.word & ID_MASK))
    }

    /// The bits of an integer literal in 64 bits, if it is one; `literals` is the pool that it may lie in.
    #[must_use]
    pub fn integer_bits(self, literals: &[Literal]) -> Option<u64> {
        match self.kind() {
            OperandKind::Int(value) => Some(i64::from(value) as u64),
            OperandKind::Literal(literal) => {
                let literal = literals[literal.index()];
                let is_integer = matches!(literal.kind(), LiteralKind::Signed | LiteralKind::Unsigned);
                is_integer.then_some(literal.bits)
            }
            _ => None,
        }
    }

    /// Whether an offset or a selector follows.
    #[inline]
    #[must_use]
    pub const fn has_payload(self) -> bool {
        self.tag() != TAG_IMM && self.modifiers >> KIND_SHIFT != 0
    }

    /// Whether the payload, of a register, is more than an offset that fits it: a wide one or a selector.
    #[inline]
    #[must_use]
    pub const fn has_long_payload(self) -> bool {
        self.modifiers >> KIND_SHIFT & KIND_OFFSET_WIDE != 0
    }

    /// The payload as a byte offset, if it is one that fits the operand.
    #[inline]
    #[must_use]
    pub fn offset(self) -> Option<i32> {
        let is_offset = self.tag() != TAG_IMM && self.modifiers >> KIND_SHIFT == KIND_OFFSET;
        is_offset.then_some((self.modifiers << 4) as i32 >> 4)
    }

    /// The literal that holds a wide offset, if there is one.
    #[inline]
    #[must_use]
    pub fn wide_offset(self) -> Option<LiteralId> {
        let is_wide = self.tag() != TAG_IMM && self.modifiers >> KIND_SHIFT == KIND_OFFSET_WIDE;
        is_wide.then_some(LiteralId(self.modifiers & PAYLOAD_MASK))
    }

    /// The component or lane selector, if there is one.
    #[inline]
    #[must_use]
    pub fn selector(self) -> Option<Selector> {
        let is_selector = self.tag() != TAG_IMM && self.modifiers >> KIND_SHIFT == KIND_SELECTOR;
        is_selector.then_some(Selector(self.modifiers & PAYLOAD_MASK))
    }

    /// What the operand is.
    ///
    /// # Panics
    /// On a word that no constructor makes.
    #[must_use]
    pub fn kind(self) -> OperandKind {
        let id = self.word & ID_MASK;
        match (self.tag(), self.sub()) {
            (TAG_REG, sub) => OperandKind::Register { vreg: VRegId(id), minus: sub & SUB_MINUS != 0 },
            (TAG_IMM, SUB_F32) => OperandKind::F32(self.modifiers),
            (TAG_IMM, _) => OperandKind::Int(self.modifiers as i32),
            (TAG_LITERAL, _) => OperandKind::Literal(LiteralId(id)),
            (TAG_BLOCK, _) => OperandKind::Block(BlockId(id)),
            (TAG_REF, SUB_PRED) => OperandKind::Predicate { vreg: VRegId(id), negated: false },
            (TAG_REF, SUB_NOT_PRED) => OperandKind::Predicate { vreg: VRegId(id), negated: true },
            (TAG_REF, SUB_SYMBOL) => OperandKind::Symbol(NameId(id)),
            (TAG_REF, SUB_SPECIAL) => OperandKind::Special(id),
            (TAG_REF, SUB_SINK) => OperandKind::Sink,
            (TAG_REF, SUB_TABLE) => OperandKind::Table(TableId(id)),
            (TAG_REF, SUB_TEXT) => OperandKind::Text(LiteralId(id)),
            _ => panic!("operand word {:#010x} has no meaning", self.word),
        }
    }
}

/// The operand in words, for messages. Registers are told apart by their rows: their names are in the text of the module.
impl std::fmt::Display for Operand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kind() {
            OperandKind::Register { vreg, minus: false } => write!(f, "register {vreg:?}")?,
            OperandKind::Register { vreg, minus: true } => write!(f, "minus register {vreg:?}")?,
            OperandKind::Predicate { vreg, negated: false } => write!(f, "predicate {vreg:?}")?,
            OperandKind::Predicate { vreg, negated: true } => write!(f, "negated predicate {vreg:?}")?,
            OperandKind::Int(value) => write!(f, "number {value}")?,
            OperandKind::F32(bits) => write!(f, "number 0f{bits:08X}")?,
            OperandKind::Literal(_) => f.write_str("number of 64 bits")?,
            OperandKind::Block(block) => write!(f, "block {block:?}")?,
            OperandKind::Symbol(_) => f.write_str("symbol")?,
            OperandKind::Special(row) => match SPECIAL_REGISTERS.get(row as usize) {
                Some(register) => write!(f, "special register %{}", register.name)?,
                None => write!(f, "special register number {row}")?,
            },
            OperandKind::Sink => f.write_str("sink `_`")?,
            OperandKind::Table(_) => f.write_str("table")?,
            OperandKind::Text(_) => f.write_str("text")?,
        }
        match (self.is_definition(), self.is_use()) {
            (true, true) => f.write_str(", written and read"),
            (true, false) => f.write_str(", written"),
            (false, _) => Ok(()),
        }
    }
}

impl std::fmt::Debug for Operand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_definition() {
            f.write_str(if self.is_use() { "~" } else { "=" })?;
        }
        write!(f, "{:?}", self.kind())?;
        if let Some(offset) = self.offset() {
            write!(f, "{offset:+}")?;
        }
        if let Some(selector) = self.selector() {
            write!(f, ".{}", selector.text())?;
        }
        Ok(())
    }
}

/// The registers that `operands` read, in order; one that stands twice comes twice.
#[inline]
pub fn reads(operands: &[Operand]) -> impl Iterator<Item = VRegId> + '_ {
    operands.iter().filter(|operand| operand.reads_vreg()).map(|operand| VRegId(operand.word & ID_MASK))
}

/// The registers that `operands` write, in order; one that stands twice comes twice.
#[inline]
pub fn writes(operands: &[Operand]) -> impl Iterator<Item = VRegId> + '_ {
    let is_written = |o: &&Operand| o.word & (VREG | DEFINITION) == VREG | DEFINITION;
    operands.iter().filter(is_written).map(|operand| VRegId(operand.word & ID_MASK))
}

/// The registers that `operands` write, in order, and whether part of the old value is kept; one that stands twice comes
/// twice.
#[inline]
pub fn definitions(operands: &[Operand]) -> impl Iterator<Item = (VRegId, bool)> + '_ {
    let is_written = |o: &&Operand| o.word & (VREG | DEFINITION) == VREG | DEFINITION;
    let is_partial = |o: &Operand| o.modifiers & ALSO_READ != 0 || o.modifiers >> KIND_SHIFT == KIND_SELECTOR;
    operands.iter().filter(is_written).map(move |o| (VRegId(o.word & ID_MASK), is_partial(o)))
}

/// A component or lane selector of up to five letters and digits, packed in base 37.
///
/// Base 37 because that is enough for `[a-z0-9]` and "no character", and five of them fit the 28-bit payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Selector(u32);

impl Selector {
    const LENGTH_MAX: usize = 5;

    /// Packs `text` (without its dot), if it is a selector at all.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        if text.is_empty() || text.len() > Self::LENGTH_MAX {
            return None;
        }
        let mut packed = 0;
        for &byte in text.iter().rev() {
            let digit = match byte {
                b'a'..=b'z' => byte - b'a' + 1,
                b'0'..=b'9' => byte - b'0' + 27,
                _ => return None,
            };
            packed = packed * 37 + u32::from(digit);
        }
        Some(Self(packed))
    }

    /// The text without its dot.
    #[must_use]
    pub fn text(self) -> String {
        let mut rest = self.0;
        let mut text = String::new();
        while rest != 0 {
            let digit = (rest % 37) as u8;
            text.push(char::from(if digit <= 26 { b'a' + digit - 1 } else { b'0' + digit - 27 }));
            rest /= 37;
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_keep_their_sign_and_their_register() {
        for offset in [-(1 << 27), -16, 0, 1, (1 << 27) - 1] {
            let operand = Operand::register(VRegId(77)).with_offset(offset).unwrap();
            assert_eq!(i64::from(operand.offset().unwrap_or(0)), offset);
            assert_eq!(operand.vreg(), Some(VRegId(77)));
        }
        assert_eq!(Operand::register(VRegId(0)).with_offset(1 << 27), None);
    }

    #[test]
    fn immediates_are_never_taken_for_payloads() {
        for value in [i32::MIN, -1, 0, 1 << 28, 3 << 29, i32::MAX] {
            let operand = Operand::int(value);
            assert_eq!(operand.kind(), OperandKind::Int(value));
            assert_eq!((operand.offset(), operand.wide_offset(), operand.selector()), (None, None, None));
            assert!(operand.is_use());
        }
    }

    #[test]
    fn definitions_say_whether_the_old_value_flows_in() {
        let plain = Operand::register(VRegId(3)).as_definition(false);
        assert!(plain.is_definition() && !plain.is_use() && !plain.is_partial());
        let tied = Operand::register(VRegId(3)).as_definition(true);
        assert!(tied.is_definition() && tied.is_use() && tied.is_partial());
        let lane = Operand::register(VRegId(3)).with_selector(Selector::parse(b"x").unwrap());
        assert!(lane.as_definition(false).is_partial());
    }

    #[test]
    fn what_is_read_and_written_is_told_apart() {
        let vreg = |index| Operand::register(VRegId(index));
        let operands = [
            vreg(1).as_definition(false),
            vreg(2).as_definition(true),
            vreg(3).with_selector(Selector::parse(b"y").unwrap()).as_definition(false),
            Operand::sink().as_definition(false),
            Operand::int(-1),
            Operand::f32_bits(u32::MAX),
            vreg(4).with_offset(-8).unwrap(),
            Operand::special(1),
            Operand::predicate(VRegId(5), true),
            vreg(4),
        ];
        assert_eq!(reads(&operands).map(|vreg| vreg.0).collect::<Vec<_>>(), [2, 4, 5, 4]);
        assert_eq!(writes(&operands).map(|vreg| vreg.0).collect::<Vec<_>>(), [1, 2, 3]);
        let parts: Vec<(u32, bool)> =
            definitions(&operands).map(|(vreg, is_partial)| (vreg.0, is_partial)).collect();
        assert_eq!(parts, [(1, false), (2, true), (3, true)]);
        for operand in operands.iter().filter(|operand| operand.vreg().is_some() && operand.is_definition()) {
            let is_partial =
                definitions(std::slice::from_ref(operand)).next().map(|(_, is_partial)| is_partial);
            assert_eq!(is_partial, Some(operand.is_partial()));
        }
    }

    #[test]
    fn patterns_keep_all_but_ids_and_payloads() {
        let vreg = Operand::register(VRegId(77)).with_offset(-16).unwrap();
        let operands = [
            vreg,
            vreg.with_minus(),
            vreg.as_definition(false),
            vreg.as_definition(true),
            Operand::predicate(VRegId(5), true),
            Operand::int(0),
            Operand::f32_bits(0),
            Operand::literal(LiteralId(3)),
            Operand::block(BlockId(3)),
            Operand::symbol(NameId(9)),
            Operand::special(2),
            Operand::sink().as_definition(false),
            Operand::table(TableId(1)),
            Operand::text(LiteralId(1)),
        ];
        for operand in operands {
            let twin = Operand::of_pattern(operand.pattern()).unwrap();
            assert_eq!(twin.pattern(), operand.pattern());
            assert_eq!(std::mem::discriminant(&twin.kind()), std::mem::discriminant(&operand.kind()));
            let roles =
                |operand: Operand| (operand.is_definition(), operand.is_use(), operand.vreg().is_some());
            assert_eq!(roles(twin), roles(operand));
        }
        assert_eq!(vreg.id(), 77);
        let meaningful = (0..Operand::PATTERN_COUNT).filter_map(Operand::of_pattern);
        assert!(
            meaningful.filter(|operand| operand.kind() == OperandKind::Sink).count() >= 2,
            "read and written"
        );
    }

    #[test]
    fn selectors_round_trip() {
        for text in ["x", "h1", "b3", "b3210", "b7654", "a9z0b"] {
            assert_eq!(Selector::parse(text.as_bytes()).unwrap().text(), text);
        }
        assert_eq!(Selector::parse(b"toolong"), None);
        assert_eq!(Selector::parse(b""), None);
    }
}
