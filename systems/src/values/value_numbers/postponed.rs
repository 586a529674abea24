//! Instructions that are not looked up before they have to be: nearly all compute what nothing else does.
//!
//! ```text
//! r3 = mul r1, r2;    // nothing else reads r1: nothing is equal to this before something gets the number of r1
//! ```
//! Two expressions are equal if their operands have the same numbers. So where an instruction reads a register that nothing else
//! reads, whatever is equal to it reads another register with that number. As long as none has it, the instruction waits; when one
//! gets it, the instruction is looked up, before anything can read that other register.

use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_engine::store::view::FunctionView;

/// What waits.
#[derive(Default)]
pub(super) struct Postponed {
    /// By register: how often it is read, at least [`OFTEN`] where another one has its number; or [`WAITING`] and its only reader.
    /// Empty where nothing waits.
    readers: Vec<u32>,
    /// Instructions that have to be looked up.
    due: Vec<InstId>,
}

const ONCE: u32 = 1;
const OFTEN: u32 = 2;

/// More than a register is read. Instructions have fewer bits than are left.
const WAITING: u32 = 1 << 31;

impl Postponed {
    /// Counts who reads the registers of a function.
    pub(super) fn start(&mut self, function: &FunctionView<'_>) {
        self.forbid();
        // The row after those of the registers counts what reads none.
        let nothing = function.vregs.len();
        self.readers.resize(nothing + 1, 0);
        for (.., operands) in function.padded_rows() {
            operands.iter().for_each(|operand| self.readers[operand.read_or(nothing)] += 1);
        }
        self.readers.truncate(nothing);
    }

    /// Lets nothing wait from now on.
    pub(super) fn forbid(&mut self) {
        self.readers.clear();
        self.due.clear();
    }

    /// Lets `inst` wait if nothing else reads `vreg`, whose number is its own; says whether it waits.
    #[inline]
    pub(super) fn postpone(&mut self, vreg: VRegId, inst: InstId) -> bool {
        let readers = self.readers.get_mut(vreg.index()).filter(|readers| **readers == ONCE);
        readers.map(|readers| *readers = WAITING | inst.0).is_some()
    }

    /// Notes that a register has got a number; if that is of another register, what waits for it is due.
    pub(super) fn give(&mut self, number: u32) {
        if let Some(readers) = self.readers.get_mut(number as usize) {
            let before = std::mem::replace(readers, OFTEN);
            if before >= WAITING {
                self.due.push(InstId(before - WAITING));
            }
        }
    }

    /// An instruction that is due, which is taken from the list.
    #[inline]
    pub(super) fn take_due(&mut self) -> Option<InstId> {
        self.due.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::kernel;

    const LATER: InstId = InstId(7);

    /// What a function waits with: `%r1`, that one instruction reads, `%r2`, that two read, and `%r3`, that none does.
    fn started(postponed: &mut Postponed) -> [VRegId; 3] {
        let built =
            kernel(".reg .b32 %r<9>; add.u32 %r3, %r1, %r2; st.global.u32 [g], %r2; mov.u32 %r3, 1; ret;");
        let function = built.function();
        postponed.start(&function);
        let (.., sum) = function.rows().next().unwrap();
        [sum[1], sum[2], sum[0]].map(|operand| operand.vreg().unwrap())
    }

    #[test]
    fn an_instruction_waits_for_the_register_that_it_alone_reads() {
        let mut postponed = Postponed::default();
        let [once, often, never] = started(&mut postponed);
        assert_eq!([once, often, never].map(|vreg| postponed.postpone(vreg, LATER)), [true, false, false]);
        assert_eq!(postponed.take_due(), None);
        // A second one would not be the only reader.
        assert!(!postponed.postpone(once, InstId(8)));
        postponed.give(often.0);
        assert_eq!(postponed.take_due(), None);
        postponed.give(once.0);
        assert_eq!([postponed.take_due(), postponed.take_due()], [Some(LATER), None]);
        // Two registers have the number now.
        assert!(!postponed.postpone(once, LATER));
        postponed.give(once.0);
        assert_eq!(postponed.take_due(), None);
        // Numbers of what is no register.
        postponed.give(u32::MAX);
        assert_eq!(postponed.take_due(), None);
    }

    #[test]
    fn nothing_waits_once_that_is_forbidden_or_in_the_next_function() {
        let mut postponed = Postponed::default();
        let [once, ..] = started(&mut postponed);
        assert!(postponed.postpone(once, LATER));
        postponed.forbid();
        postponed.give(once.0);
        assert_eq!(postponed.take_due(), None);
        assert!(!postponed.postpone(once, LATER));
        for is_due in [false, true] {
            let [once, ..] = started(&mut postponed);
            assert!(postponed.postpone(once, LATER));
            if is_due {
                postponed.give(once.0);
            }
            let [once, ..] = started(&mut postponed);
            assert_eq!(postponed.take_due(), None);
            postponed.give(once.0);
            assert_eq!(postponed.take_due(), None);
        }
    }
}
