//! `mov` and conversions of addresses.

use super::{Decoder, Instruction, NotModelled};
use crate::program::{Kind, RESULTS_MAX};
use ptxopt_components::operand::OperandKind;
use ptxopt_components::types::{PtxType, StateSpace};

impl Decoder<'_> {
    /// `mov`: a value, a vector, or parts of a value.
    pub(super) fn copy(&mut self, of: &Instruction<'_>) -> Result<Kind, NotModelled> {
        if of.items.len() != 2 {
            return Err(NotModelled);
        }
        let ty = of.last_type().ok_or(NotModelled)?;
        let mut targets = Vec::new();
        let mut sources = Vec::new();
        for &operand in of.item(0)? {
            targets.extend(self.targets(operand)?);
        }
        for &operand in of.item(1)? {
            if matches!(operand.kind(), OperandKind::Predicate { negated: true, .. }) {
                // No copy: the opposite is computed.
                return self.arithmetic(of);
            }
            sources.extend(self.sources(operand, Some(ty))?);
        }
        let (to, from) = (targets.len() as u32, sources.len() as u32);
        let bits = ty.bits();
        if to == from && to as usize <= RESULTS_MAX {
            return Ok(match (&sources[..], &targets[..]) {
                (&[source], &[target]) => Kind::Move(source, target),
                _ => Kind::Copy(sources.into_iter().zip(targets).collect()),
            });
        }
        match (to, from) {
            (1 | 2, _) if from > to && bits % from == 0 => {
                Ok(Kind::Pack(sources.into(), bits / from, targets.into()))
            }
            (_, 1 | 2) if to > from && bits % to == 0 => {
                Ok(Kind::Unpack(sources.into(), bits / to, targets.into()))
            }
            _ => Err(NotModelled),
        }
    }

    /// `cvta.space`, `cvta.to.space`.
    pub(super) fn convert_address(&mut self, of: &Instruction<'_>) -> Result<Kind, NotModelled> {
        let space = named_space(of).ok_or(NotModelled)?;
        let (target, operand) = (self.target(of.single(0)?)?, of.single(1)?);
        Ok(Kind::Convert(self.source(operand, None)?, target, space, of.has("to")))
    }

    /// `isspacep.space`.
    pub(super) fn is_space(&mut self, of: &Instruction<'_>) -> Result<Kind, NotModelled> {
        let space = named_space(of).ok_or(NotModelled)?;
        Ok(Kind::IsSpace(self.source(of.single(1)?, None)?, self.target(of.single(0)?)?, space))
    }

    /// `mapa d, a, rank` and `getctarank d, a`.
    pub(super) fn map_rank(&mut self, of: &Instruction<'_>) -> Result<Kind, NotModelled> {
        let target = self.target(of.single(0)?)?;
        let address = self.source(of.single(1)?, None)?;
        let rank = match of.root() {
            "mapa" => Some(self.source(of.single(2)?, None)?),
            _ => None,
        };
        Ok(Kind::MapRank(address, target, rank))
    }

    /// `createpolicy`: what comes out only goes into cache hints, which mean nothing here.
    pub(super) fn policy(&mut self, of: &Instruction<'_>) -> Result<Kind, NotModelled> {
        let zero = self.constant(0);
        Ok(Kind::Move(zero, self.target(of.single(0)?)?))
    }

    /// `alloca`, `stacksave`, `stackrestore`.
    pub(super) fn stack(&mut self, of: &Instruction<'_>) -> Result<Kind, NotModelled> {
        let operand = of.single(0)?;
        match of.root() {
            "alloca" => {
                let size = self.source(of.single(1)?, None)?;
                let align = if of.items.len() > 2 { self.literal(of.single(2)?, None)? } else { 8 };
                Ok(Kind::Allocate(size, align, self.target(operand)?))
            }
            "stacksave" => Ok(Kind::StackSave(self.target(operand)?)),
            _ => Ok(Kind::StackRestore(self.source(operand, None)?)),
        }
    }
}

/// The space that the mnemonic names.
pub(super) fn named_space(of: &Instruction<'_>) -> Option<StateSpace> {
    of.words[1..].iter().find_map(|word| StateSpace::parse(word.as_bytes()))
}

/// Whether `ty` is a signed integer.
pub(super) fn is_signed(ty: PtxType) -> bool {
    matches!(ty, PtxType::S8 | PtxType::S16 | PtxType::S32 | PtxType::S64)
}
