//! Crowds: cheap values of one block that another block computes again, so many that to keep all of them would cost more.
//!
//! ```text
//! add.s64 rd2, rd1, rd0;  add.s64 rd3, rd2, rd0;  ...     // 128 addresses that are loaded from
//! ...
//! add.s64 rd130, rd1, rd0;  add.s64 rd131, rd130, rd0;    // and that are stored to, a long way on
//! ```
//! The assembler would keep most in registers from the first block to the other one, or spill them, where one machine instruction makes
//! each again.
//!
//! # The limit, measured
//! A module of CTranslate2 has kernels whose threads load 64 and 128 numbers and store them later. Of it `ptxas` 13.0 at -O3 spilled 3,032
//! bytes where it spilled 872 of the original, and 872 again with any limit from 8 to 128. Corpus and wild set come out the same with a
//! limit of 32 and with none; one of 16 leaves 37 instructions more in the corpus, and 1,089 in a set of cuML's modules.
//!
//! # Cost
//! A number for each value that is computed again. Where there is a crowd, values are looked for once more.

use ptxopt_components::form::FormFlags;
use ptxopt_components::ids::{BlockId, InstId};
use ptxopt_components::operation::Operation;
use ptxopt_components::types::{PtxType, TypeKind};
use ptxopt_engine::edit::FunctionEditor;

/// Registers of 32 bits that cheap values of one block may take up to another one.
const REGISTERS_MAX: u32 = 64;

/// The cheap values that are computed again, by the blocks of both computations.
#[derive(Default)]
pub(super) struct Crowds {
    /// Registers by blocks; in the end those of crowds alone, in order.
    pairs: Vec<(BlockId, BlockId, u32)>,
    is_closed: bool,
}

impl Crowds {
    /// Forgets the function before.
    pub(super) fn start(&mut self) {
        self.pairs.clear();
        self.is_closed = false;
    }

    /// Whether a value of `width` registers may be kept from one block to another; none are those of what is not cheap.
    pub(super) fn admits(&mut self, from: BlockId, to: BlockId, width: Option<u32>) -> bool {
        let Some(width) = width.filter(|_| from != to) else { return true };
        if self.is_closed {
            return self.pairs.binary_search_by_key(&(from, to), |&(from, to, _)| (from, to)).is_err();
        }
        match self.pairs.last_mut().filter(|last| (last.0, last.1) == (from, to)) {
            Some(last) => last.2 += width,
            None => self.pairs.push((from, to, width)),
        }
        true
    }

    /// Ends counting, and says whether there is a crowd.
    pub(super) fn close(&mut self) -> bool {
        self.is_closed = true;
        self.pairs.sort_unstable_by_key(|&(from, to, _)| (from, to));
        self.pairs.dedup_by(|next, kept| {
            let is_same = (next.0, next.1) == (kept.0, kept.1);
            kept.2 += if is_same { next.2 } else { 0 };
            is_same
        });
        self.pairs.retain(|&(.., registers)| registers > REGISTERS_MAX);
        !self.pairs.is_empty()
    }
}

/// Registers of what a cheap instruction computes: one that the machine makes with one or two others on integers.
pub(super) fn width(f: &FunctionEditor<'_>, inst: InstId) -> Option<u32> {
    if f.head(inst).is_phi() {
        return None;
    }
    let form = f.form_of(inst);
    let is_cheap = matches!(
        form.operation,
        Operation::Add
            | Operation::Sub
            | Operation::Mad
            | Operation::Mul
            | Operation::And
            | Operation::Or
            | Operation::Xor
            | Operation::Not
            | Operation::Shl
            | Operation::Shr
            | Operation::Cvt
            | Operation::Mov
            | Operation::Selp
            | Operation::Min
            | Operation::Max
    );
    let is_integer = form.types[0]
        .is_some_and(|ty| matches!(ty.kind(), TypeKind::Integer | TypeKind::Bits) && ty != PtxType::Pred);
    let result = f.operands_of(inst).first()?.vreg()?;
    let is_plain = is_cheap && is_integer && form.flags.contains(FormFlags::PLAIN);
    is_plain.then(|| f.vreg(result).ty.element().bits().div_ceil(32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crowds_are_of_two_blocks_and_more_registers_than_the_limit() {
        let [a, b, c] = [0, 1, 2].map(BlockId);
        let mut crowds = Crowds::default();
        crowds.start();
        for _ in 0..=REGISTERS_MAX {
            for (from, to) in [(a, b), (a, a)] {
                assert!(crowds.admits(from, to, Some(1)));
            }
            assert!(crowds.admits(a, c, None));
        }
        for _ in 0..REGISTERS_MAX / 2 {
            assert!(crowds.admits(b, c, Some(2)));
        }
        assert!(crowds.close());
        assert!(!crowds.admits(a, b, Some(1)));
        assert!(crowds.admits(a, b, None), "what is not cheap is kept");
        for (from, to) in [(b, a), (a, a), (a, c), (b, c)] {
            assert!(crowds.admits(from, to, Some(1)), "{from:?} {to:?}");
        }
        crowds.start();
        assert!(!crowds.close(), "the next function has none");
    }
}
