//! What is looked at again after an earlier walk: instructions that were written since, and what is computed of them.
//!
//! Rules follow definitions some steps backwards, so an instruction that was written is felt as many steps onwards. It is the
//! mark [`Marks::SETTLED`] that tells what was written; a walk that finds no mark looks at everything.

use ptxopt_components::ids::Id;
use ptxopt_components::instruction::{InstHead, Marks};
use ptxopt_components::operand::{Operand, reads, writes};

/// Registers near what was written.
#[derive(Default)]
pub(super) struct Stirred {
    /// By register: the steps that it is still felt.
    near: Vec<u8>,
    /// Whether some instruction has the mark: else nothing asks what is near.
    is_asked: bool,
    is_any: bool,
}

impl Stirred {
    /// Steps that an instruction which was written is felt: those that known bits follow, the longest that a rule looks.
    pub(super) const WRITTEN: u8 = 4;

    /// Forgets the function before; this one has these rows and `vreg_count` registers.
    pub(super) fn start(&mut self, heads: &[InstHead], vreg_count: usize) {
        self.near.clear();
        self.near.resize(vreg_count, 0);
        self.is_asked = heads.iter().any(|head| head.marks.contains(Marks::SETTLED));
        self.is_any = false;
    }

    /// Whether it is asked what is near anything.
    #[inline]
    pub(super) fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// The steps that the results of an instruction are felt; none where it need not be looked at.
    #[inline]
    pub(super) fn near(&self, head: &InstHead, operands: &[Operand]) -> Option<u8> {
        if !head.marks.contains(Marks::SETTLED) {
            return Some(Self::WRITTEN);
        }
        if !self.is_any {
            return None;
        }
        reads(operands).fold(0, |near, vreg| near.max(self.near[vreg.index()])).checked_sub(1)
    }

    /// Notes that the results of an instruction are felt for some steps.
    #[inline]
    pub(super) fn stir(&mut self, head: &InstHead, operands: &[Operand], steps: u8) {
        self.is_any = true;
        for vreg in writes(head.results(operands)) {
            let near = &mut self.near[vreg.index()];
            *near = steps.max(*near);
        }
    }
}
