//! Operands: registers become slots, literals and addresses constants.

use super::{Decoder, Instruction, NotModelled};
use crate::layout::{Symbol, space_address};
use crate::program::{Address, Source, Sum, Target};
use crate::source::expressions::integer;
use crate::source::tokens::Tokens;
use ptxopt_components::ids::{Id, LiteralId, NameId, Span};
use ptxopt_components::operand::{LiteralKind, Operand, OperandKind};
use ptxopt_components::types::{PtxType, StateSpace};

impl Decoder<'_> {
    /// The cells that an operand is read from; `ty` says what a real literal is.
    pub(super) fn sources(
        &mut self,
        operand: Operand,
        ty: Option<PtxType>,
    ) -> Result<Vec<Source>, NotModelled> {
        Ok(match operand.kind() {
            OperandKind::Register { vreg, .. } if self.offset(operand) != 0 => {
                vec![self.sum(operand, vreg.index())?]
            }
            OperandKind::Register { vreg, .. } | OperandKind::Predicate { vreg, .. } => {
                let (first, count) = self.cells_of(operand, vreg.index())?;
                (first..first + count).map(Source::Slot).collect()
            }
            OperandKind::Special(row) => {
                let component = match operand.selector().map(|selector| selector.text()) {
                    None => 0,
                    Some(text) => component(&text).ok_or(NotModelled)?,
                };
                vec![Source::Special(row as u16, component as u8)]
            }
            OperandKind::Symbol(_) | OperandKind::Text(_) => {
                let (symbol, offset) = self.symbol_operand(operand)?;
                vec![self.address_of(symbol, offset)?]
            }
            _ => {
                let bits = self.literal(operand, ty)?;
                // Every literal but 0 is true, in the machine code of `ptxas` as well.
                let is_true = || u64::from(bits != 0);
                vec![self.constant(if ty == Some(PtxType::Pred) { is_true() } else { bits })]
            }
        })
    }

    /// A register with a constant after it, as a value. `ptxas` computes it where the register holds one integer, and gives
    /// up where it holds something else.
    fn sum(&mut self, operand: Operand, vreg: usize) -> Result<Source, NotModelled> {
        let register = self.frame.vregs[vreg];
        let element = self.view.vregs[vreg].ty.element();
        let is_real = element.name().contains('f');
        if is_real || register.lanes * register.cells != 1 {
            return Err(NotModelled);
        }
        let sum = Sum { slot: register.slot, addend: self.offset(operand) as u64, mask: register.mask };
        self.program.sums.push(sum);
        Ok(Source::Sum(self.program.sums.len() as u32 - 1))
    }

    /// The cell that an operand is read from.
    pub(super) fn source(&mut self, operand: Operand, ty: Option<PtxType>) -> Result<Source, NotModelled> {
        match self.sources(operand, ty)?[..] {
            [source] => Ok(source),
            _ => Err(NotModelled),
        }
    }

    /// A predicate that is read, and whether `!` stands before it.
    pub(super) fn predicate(&mut self, operand: Operand) -> Result<(Source, bool), NotModelled> {
        let is_negated = matches!(operand.kind(), OperandKind::Predicate { negated: true, .. });
        Ok((self.source(operand, None)?, is_negated))
    }

    /// The cells that an operand is written to.
    pub(super) fn targets(&self, operand: Operand) -> Result<Vec<Target>, NotModelled> {
        match operand.kind() {
            OperandKind::Sink => Ok(vec![Target::SINK]),
            OperandKind::Register { vreg, .. } | OperandKind::Predicate { vreg, .. } => {
                let (first, count) = self.cells_of(operand, vreg.index())?;
                let mask = self.frame.vregs[vreg.index()].mask;
                Ok((first..first + count).map(|slot| Target { slot, mask }).collect())
            }
            _ => Err(NotModelled),
        }
    }

    /// The cell that an operand is written to.
    pub(super) fn target(&self, operand: Operand) -> Result<Target, NotModelled> {
        match self.targets(operand)?[..] {
            [target] => Ok(target),
            _ => Err(NotModelled),
        }
    }

    /// First slot and number of cells of a register operand, its component chosen.
    fn cells_of(&self, operand: Operand, vreg: usize) -> Result<(u32, u32), NotModelled> {
        let register = self.frame.vregs[vreg];
        match operand.selector().map(|selector| selector.text()) {
            Some(text) if register.lanes > 1 => {
                let component = component(&text).filter(|&at| at < register.lanes).ok_or(NotModelled)?;
                Ok((register.slot + component * register.cells, register.cells))
            }
            _ => Ok((register.slot, register.lanes * register.cells)),
        }
    }

    /// The bits of a literal.
    pub(super) fn literal(&self, operand: Operand, ty: Option<PtxType>) -> Result<u64, NotModelled> {
        match operand.kind() {
            OperandKind::Int(value) => Ok(i64::from(value) as u64),
            // Bits, in a slot for doubles too: `ptxas` makes no double of a single.
            OperandKind::F32(bits) => Ok(u64::from(bits)),
            OperandKind::Literal(literal) => {
                let literal = self.view.pools.literals[literal.index()];
                Ok(match (literal.kind(), ty.map(PtxType::bits)) {
                    (LiteralKind::F64, Some(32)) => {
                        u64::from((f64::from_bits(literal.bits) as f32).to_bits())
                    }
                    _ => literal.bits,
                })
            }
            _ => Err(NotModelled),
        }
    }

    pub(super) fn name(&self, name: NameId) -> String {
        String::from_utf8_lossy(self.view.pools.names.bytes(self.scanned.text, name)).into_owned()
    }

    pub(super) fn text(&self, literal: LiteralId) -> &[u8] {
        let literal = self.view.pools.literals[literal.index()];
        let span = Span { first: literal.bits as u32, count: literal.length };
        &self.scanned.text[span.range()]
    }

    /// A symbol operand, or `array[3]`, with the bytes after it.
    fn symbol_operand(&self, operand: Operand) -> Result<(Symbol, i64), NotModelled> {
        match operand.kind() {
            OperandKind::Symbol(name) => {
                let symbol = self.symbol(&self.name(name)).ok_or(NotModelled)?;
                Ok((symbol, self.offset(operand)))
            }
            OperandKind::Text(literal) => {
                let text = self.text(literal);
                let mut tokens = Tokens::new(text, 0, text.len());
                let name = tokens.word().map_err(|_| NotModelled)?;
                let symbol = self.symbol(&String::from_utf8_lossy(name)).ok_or(NotModelled)?;
                tokens.expect(b'[').map_err(|_| NotModelled)?;
                let index = integer(&mut tokens).map_err(|_| NotModelled)?;
                let (Symbol::Variable { element, .. } | Symbol::Frame { element, .. }) = symbol else {
                    return Err(NotModelled);
                };
                Ok((symbol, index.wrapping_mul(element) as i64))
            }
            _ => Err(NotModelled),
        }
    }

    /// The bytes after a register or symbol.
    fn offset(&self, operand: Operand) -> i64 {
        match operand.wide_offset() {
            Some(literal) => self.view.pools.literals[literal.index()].bits as i64,
            None => i64::from(operand.offset().unwrap_or(0)),
        }
    }

    /// The address of a symbol in its own space, `offset` bytes on.
    fn address_of(&mut self, symbol: Symbol, offset: i64) -> Result<Source, NotModelled> {
        let address = space_address(symbol).wrapping_add(offset as u64);
        match symbol {
            Symbol::Frame { .. } => u32::try_from(address).map(Source::Frame).map_err(|_| NotModelled),
            _ => Ok(self.constant(address)),
        }
    }

    /// The address of item `at`, in `space` or in that of its symbol.
    pub(super) fn address(
        &mut self,
        of: &Instruction<'_>,
        at: usize,
        space: StateSpace,
    ) -> Result<Address, NotModelled> {
        if !of.items.get(at).is_some_and(|item| item.is_address) {
            return Err(NotModelled);
        }
        let operand = of.single(at)?;
        match operand.kind() {
            OperandKind::Register { vreg, .. } => {
                let base = Source::Slot(self.frame.vregs[vreg.index()].slot);
                // Parameters of a device function are in its frame, those of a kernel have an arena of their own.
                let is_frame = space == StateSpace::Param && (!self.frame.is_entry || of.has("param::func"));
                let space = if is_frame { StateSpace::Local } else { space };
                // `ptxas` makes one access of a sum of 32 bits and an access to a window, and of an access with an offset.
                let is_narrow = self.view.vregs[vreg.index()].ty.element().bits() == 32;
                let is_window =
                    matches!(space, StateSpace::Shared | StateSpace::SharedCluster | StateSpace::Local);
                let mask = if is_narrow && is_window { u64::from(u32::MAX) } else { u64::MAX };
                Ok(Address { base, offset: self.offset(operand), mask, space })
            }
            OperandKind::Symbol(_) | OperandKind::Text(_) => {
                let (symbol, offset) = self.symbol_operand(operand)?;
                let own = match symbol {
                    Symbol::Variable { space, .. } => space,
                    Symbol::Frame { .. } => StateSpace::Local,
                    Symbol::Function(_) | Symbol::External(_) => StateSpace::Generic,
                };
                // A place before the frame is no place, but an address that is refused when something goes there.
                let is_frame = matches!(symbol, Symbol::Frame { .. });
                let (inside, outside) = if is_frame { (0, offset) } else { (offset, 0) };
                let base = self.address_of(symbol, inside)?;
                // A generic access by name means the variable's generic address: its space is known.
                let is_named = matches!(space, StateSpace::Generic | StateSpace::Param)
                    || own == StateSpace::Local && space == StateSpace::Local;
                let space = if is_named { own } else { space };
                Ok(Address { base, offset: outside, mask: u64::MAX, space })
            }
            _ => {
                let bits = self.literal(operand, None)?;
                Ok(Address { base: self.constant(bits), offset: 0, mask: u64::MAX, space })
            }
        }
    }
}

/// The component that a selector names.
fn component(selector: &str) -> Option<u32> {
    Some(match selector {
        "x" | "r" => 0,
        "y" | "g" => 1,
        "z" | "b" => 2,
        "w" | "a" => 3,
        _ => return None,
    })
}
