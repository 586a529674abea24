//! Loads, stores and atomics.

use super::copies::{is_signed, named_space};
use super::{Decoder, Instruction, NotModelled};
use crate::atomics::Update;
use crate::program::{ACCESS_MAX, Atomic, Kind, Load, Source, Store, Target};
use ptxopt_components::types::{PtxType, StateSpace};

/// Qualifiers that order an access against those of other threads.
const ORDERED: [&str; 6] = ["volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"];

/// Cells of a memory access.
struct Cells {
    count: u32,
    bytes: u8,
    ty: PtxType,
}

impl Cells {
    /// The cells that the mnemonic's vector length and type say.
    fn of(of: &Instruction<'_>) -> Result<Self, NotModelled> {
        let ty = of.last_type().ok_or(NotModelled)?;
        let lanes = match () {
            () if of.has("v2") => 2,
            () if of.has("v4") => 4,
            () if of.has("v8") => 8,
            () => 1,
        };
        match ty.bits() {
            128 => Ok(Self { count: lanes * 2, bytes: 8, ty }),
            bits @ (8 | 16 | 32 | 64) => Ok(Self { count: lanes, bytes: (bits / 8) as u8, ty }),
            _ => Err(NotModelled),
        }
        .and_then(
            |cells: Self| if cells.whole() as usize > ACCESS_MAX { Err(NotModelled) } else { Ok(cells) },
        )
    }

    fn whole(&self) -> u32 {
        self.count * u32::from(self.bytes)
    }
}

fn is_ordered(of: &Instruction<'_>) -> bool {
    ORDERED.iter().any(|word| of.has(word))
}

impl Decoder<'_> {
    /// `ld`, `ldu`.
    pub(super) fn load(&mut self, of: &Instruction<'_>) -> Result<Kind, NotModelled> {
        let cells = Cells::of(of)?;
        let mut targets = Vec::new();
        for &operand in of.item(0)? {
            let cell = self.targets(operand)?;
            // A sink stands for the whole element.
            let is_double_sink = cell == [Target::SINK] && cells.ty.bits() == 128;
            targets.extend(std::iter::repeat_n(cell, if is_double_sink { 2 } else { 1 }).flatten());
        }
        if targets.len() as u32 != cells.count {
            return Err(NotModelled);
        }
        let address = self.address(of, 1, named_space(of).unwrap_or_default())?;
        Ok(Kind::Load(Box::new(Load {
            address,
            targets: targets.into(),
            cell_bytes: cells.bytes,
            bytes: cells.whole(),
            is_signed: is_signed(cells.ty),
            is_ordered: is_ordered(of),
        })))
    }

    /// `st`.
    pub(super) fn store(&mut self, of: &Instruction<'_>) -> Result<Kind, NotModelled> {
        let cells = Cells::of(of)?;
        let sources = self.cells_read(of, 1, cells.ty)?;
        if sources.len() as u32 != cells.count {
            return Err(NotModelled);
        }
        let address = self.address(of, 0, named_space(of).unwrap_or_default())?;
        Ok(Kind::Store(Box::new(Store {
            address,
            sources: sources.into(),
            cell_bytes: cells.bytes,
            bytes: cells.whole(),
            is_ordered: is_ordered(of),
        })))
    }

    /// `atom d, [a], b {, c}` and `red [a], b`.
    pub(super) fn atomic(&mut self, of: &Instruction<'_>, has_result: bool) -> Result<Kind, NotModelled> {
        let space = named_space(of).unwrap_or_default();
        let operation = of.words[1..].iter().find(|word| Update::NAMES.contains(word)).ok_or(NotModelled)?;
        let cells = Cells::of(of)?;
        let address = self.address(of, usize::from(has_result), space)?;
        let is_shared = address.space == StateSpace::Shared;
        let update = Update::parse(operation, cells.ty, is_shared).ok_or(NotModelled)?;
        let at = usize::from(has_result);
        let b = self.cells_read(of, at + 1, cells.ty)?;
        let c = match update {
            Update::CompareAndSwap => self.cells_read(of, at + 2, cells.ty)?,
            _ => Vec::new(),
        };
        let mut targets = Vec::new();
        if has_result {
            for &operand in of.item(0)? {
                targets.extend(self.targets(operand)?);
            }
            if targets[..] == [Target::SINK] {
                targets.clear();
            }
        }
        let fits = |cell_count: usize| cell_count == 0 || cell_count as u32 == cells.count;
        if b.is_empty() || !fits(b.len()) || !fits(c.len()) || !fits(targets.len()) {
            return Err(NotModelled);
        }
        Ok(Kind::Atomic(Box::new(Atomic {
            address,
            update,
            cells: cells.count as u8,
            cell_bytes: cells.bytes,
            is_whole: cells.ty.bits() == 128,
            b: b.into(),
            c: c.into(),
            targets: targets.into(),
        })))
    }

    /// All cells that item `at` is read from.
    fn cells_read(
        &mut self,
        of: &Instruction<'_>,
        at: usize,
        ty: PtxType,
    ) -> Result<Vec<Source>, NotModelled> {
        let mut cells = Vec::new();
        for &operand in of.item(at)? {
            let read = self.sources(operand, Some(ty))?;
            // A 128-bit literal has no high half to speak of.
            if ty.bits() == 128 && read.len() == 1 {
                return Err(NotModelled);
            }
            cells.extend(read);
        }
        Ok(cells)
    }
}
