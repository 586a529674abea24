//! Giving up on a function: something in it cannot be said by rows, or no assembler takes it, so it keeps its text.

use super::Reader;
use crate::store::left::LeftReason;

impl Reader<'_, '_> {
    /// The function at hand keeps its text, for its first reason.
    #[cold]
    pub(super) fn leave(&mut self, reason: LeftReason) {
        self.left.get_or_insert(reason);
    }

    /// As [`Self::leave`], where there is a reason.
    #[inline]
    pub(super) fn leave_if(&mut self, reason: Option<LeftReason>) {
        if let Some(reason) = reason {
            self.leave(reason);
        }
    }
}
