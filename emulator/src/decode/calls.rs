//! Branches and calls.

use super::{Decoder, Instruction, NotModelled};
use crate::layout::Symbol;
use crate::program::{Actual, Callee, Kind};
use crate::source::headers::Formal;
use ptxopt_components::anchor::TableKind;
use ptxopt_components::ids::Id;
use ptxopt_components::operand::{Operand, OperandKind};

impl Decoder<'_> {
    /// `bra`, `brx.idx`, `call`. Targets are block numbers until the function is complete.
    pub(super) fn control(&mut self, of: &Instruction<'_>) -> Result<Kind, NotModelled> {
        match of.root() {
            "bra" => {
                let target = of.single(0)?.as_block().ok_or(NotModelled)?;
                Ok(Kind::Branch(target.0))
            }
            "brx" => {
                let index = self.source(of.single(0)?, None)?;
                let table = of.single(1)?.as_table().ok_or(NotModelled)?;
                let table = self.view.tables[table.index()];
                if table.kind != TableKind::Branch {
                    return Err(NotModelled);
                }
                let targets = &self.view.pools.targets[table.targets.range()];
                Ok(Kind::BranchIndexed(index, targets.iter().map(|block| block.0).collect()))
            }
            _ => self.call(of),
        }
    }

    /// `call (results), callee, (arguments) {, table}`.
    fn call(&mut self, of: &Instruction<'_>) -> Result<Kind, NotModelled> {
        let has_results = of.items.first().is_some_and(|item| item.is_list);
        let at = usize::from(has_results);
        let operand = of.single(at)?;
        let mut formals: &[Formal] = &[];
        let callee = match operand.kind() {
            OperandKind::Symbol(name) => {
                let name = self.name(name);
                formals = self.outline.header(&name).map_or(&[], |header| &header.parameters);
                match self.symbol(&name).ok_or(NotModelled)? {
                    Symbol::Function(number) => Callee::Function(number),
                    Symbol::External(number) => Callee::External(number),
                    _ => return Err(NotModelled),
                }
            }
            _ => Callee::Address(self.source(operand, None)?),
        };
        let mut results = Vec::new();
        if has_results {
            for &operand in of.item(0)? {
                results.extend(self.actual(operand, None, true)?);
            }
        }
        let mut arguments = Vec::new();
        if of.items.get(at + 1).is_some_and(|item| item.is_list) {
            for (index, &operand) in of.item(at + 1)?.iter().enumerate() {
                arguments.extend(self.actual(operand, formals.get(index), false)?);
            }
        }
        Ok(Kind::Call(Box::new(crate::program::Call {
            callee,
            arguments: arguments.into(),
            results: results.into(),
        })))
    }

    /// An argument or result; a register of several cells gives several.
    fn actual(
        &mut self,
        operand: Operand,
        formal: Option<&Formal>,
        is_result: bool,
    ) -> Result<Vec<Actual>, NotModelled> {
        Ok(match operand.kind() {
            OperandKind::Sink => vec![Actual::Nothing],
            OperandKind::Symbol(name) => match self.symbol(&self.name(name)) {
                Some(Symbol::Frame { offset, .. }) => {
                    vec![Actual::Frame(offset, self.size_of(&self.name(name)))]
                }
                _ if is_result => return Err(NotModelled),
                _ => vec![Actual::Value(self.source(operand, None)?)],
            },
            _ if is_result => self.targets(operand)?.into_iter().map(Actual::Into).collect(),
            _ => {
                let cells = self.sources(operand, formal.map(|formal| formal.ty))?;
                cells.into_iter().map(Actual::Value).collect()
            }
        })
    }

    /// Bytes of the frame's variable called `name`.
    fn size_of(&self, name: &str) -> u64 {
        self.frame.places.get(name).map_or(0, |place| place.size)
    }
}
