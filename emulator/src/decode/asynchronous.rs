//! `cp.async` and what waits for it.

use super::copies::named_space;
use super::{Decoder, Instruction, NotModelled};
use crate::program::{AsyncCopy, Kind};
use ptxopt_components::operand::OperandKind;
use ptxopt_components::types::StateSpace;

impl Decoder<'_> {
    /// `cp.async`, but for its bulk forms.
    pub(super) fn async_copy(&mut self, of: &Instruction<'_>) -> Result<Kind, NotModelled> {
        let copy = match *of.words.get(2).ok_or(NotModelled)? {
            "commit_group" => AsyncCopy::Commit,
            "wait_group" => AsyncCopy::WaitGroup(self.source(of.single(0)?, None)?),
            "wait_all" => AsyncCopy::WaitAll,
            "mbarrier" => AsyncCopy::Arrive {
                address: self.address(of, 0, named_space(of).unwrap_or_default())?,
                adds_pending: !of.has("noinc"),
            },
            "ca" | "cg" => self.async_copy_start(of)?,
            _ => return Err(NotModelled),
        };
        Ok(Kind::AsyncCopy(Box::new(copy)))
    }

    /// `cp.async.ca.shared.global [dst], [src], bytes {, source bytes | ignore} {, policy}`.
    fn async_copy_start(&mut self, of: &Instruction<'_>) -> Result<AsyncCopy, NotModelled> {
        let bytes = match self.literal(of.single(2)?, None)? {
            bytes @ (4 | 8 | 16) => bytes as u32,
            _ => return Err(NotModelled),
        };
        let mut source_bytes = None;
        let mut ignores_source = None;
        if of.item_count() > 3 {
            let operand = of.single(3)?;
            match operand.kind() {
                OperandKind::Predicate { .. } => ignores_source = Some(self.predicate(operand)?),
                _ => source_bytes = Some(self.source(operand, None)?),
            }
        }
        Ok(AsyncCopy::Start {
            to: self.address(of, 0, StateSpace::Shared)?,
            from: self.address(of, 1, StateSpace::Global)?,
            bytes,
            source_bytes,
            ignores_source,
        })
    }
}
