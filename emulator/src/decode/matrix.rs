//! Matrices of a warp.

use super::copies::named_space;
use super::{Decoder, Instruction, NotModelled};
use crate::program::{Kind, MatrixAction, MatrixOp, Source, Target};
use crate::tensor;

impl Decoder<'_> {
    /// `mma`, `wmma`, `movmatrix`, `ldmatrix`, `stmatrix`.
    pub(super) fn matrix(&mut self, of: &Instruction<'_>) -> Result<Kind, NotModelled> {
        let space = named_space(of).unwrap_or_default();
        let mnemonic = of.mnemonic;
        let (action, sources, targets) = match of.root() {
            "ldmatrix" => {
                let moves = tensor::matrix_move(mnemonic).ok_or(NotModelled)?;
                let action = MatrixAction::Rows(moves, self.address(of, 1, space)?);
                (action, Vec::new(), self.matrix_targets(of)?)
            }
            "stmatrix" => {
                let moves = tensor::matrix_move(mnemonic).ok_or(NotModelled)?;
                let action = MatrixAction::Rows(moves, self.address(of, 0, space)?);
                (action, self.matrix_sources(of, 1..2)?, Vec::new())
            }
            "wmma" if of.has("load") => {
                let fragment = tensor::wmma_fragment(mnemonic).ok_or(NotModelled)?;
                let stride = self.stride(of)?;
                let action = MatrixAction::Fragment(fragment, self.address(of, 1, space)?, stride);
                (action, Vec::new(), self.matrix_targets(of)?)
            }
            "wmma" if of.has("store") => {
                let fragment = tensor::wmma_fragment(mnemonic).ok_or(NotModelled)?;
                let stride = self.stride(of)?;
                let action = MatrixAction::Fragment(fragment, self.address(of, 0, space)?, stride);
                (action, self.matrix_sources(of, 1..2)?, Vec::new())
            }
            root => {
                let targets = self.matrix_targets(of)?;
                let sources = self.matrix_sources(of, 1..of.items.len())?;
                let find = match root {
                    "mma" => tensor::mma,
                    "wmma" => tensor::wmma,
                    _ => tensor::movmatrix,
                };
                let evaluator = find(mnemonic, targets.len(), sources.len()).ok_or(NotModelled)?;
                (MatrixAction::Evaluate(evaluator), sources, targets)
            }
        };
        let registers = match &action {
            MatrixAction::Rows(moves, _) => moves.registers,
            MatrixAction::Fragment(fragment, ..) => fragment.registers(),
            MatrixAction::Evaluate(_) => sources.len() + targets.len(),
        };
        if registers != sources.len() + targets.len() {
            return Err(NotModelled);
        }
        let (sources, targets) = (sources.into(), targets.into());
        Ok(Kind::Matrix(Box::new(MatrixOp { action, sources, targets })))
    }

    /// Elements between two rows, where the text says it.
    fn stride(&mut self, of: &Instruction<'_>) -> Result<Option<Source>, NotModelled> {
        match of.items.len() {
            2 => Ok(None),
            _ => self.source(of.single(2)?, None).map(Some),
        }
    }

    fn matrix_targets(&self, of: &Instruction<'_>) -> Result<Vec<Target>, NotModelled> {
        of.item(0)?.iter().map(|&operand| self.target(operand)).collect()
    }

    fn matrix_sources(
        &mut self,
        of: &Instruction<'_>,
        items: std::ops::Range<usize>,
    ) -> Result<Vec<Source>, NotModelled> {
        let mut sources = Vec::new();
        for at in items {
            for &operand in of.item(at)? {
                sources.push(self.source(operand, None)?);
            }
        }
        Ok(sources)
    }
}
