//! What each block does to live sets: the registers that it reads before it defines them, and those that it defines.

use super::dense::DenseScratch;
use super::walks::WalkScratch;
use crate::forms::FormTable;
use crate::store::view::FunctionView;
use crate::values::phis::incoming;
use ptxopt_components::ids::{BlockId, Id, VRegId};
use ptxopt_components::instruction::{InstHead, Marks};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::{Operand, reads};
use ptxopt_components::vreg::VRegFlags;

/// Memory that the solver uses again.
#[derive(Default)]
pub struct LivenessScratch {
    /// By register.
    seen: Vec<Seen>,
    /// Blocks and the registers that they read before they define them, by block.
    pub(super) gens: Vec<(BlockId, VRegId)>,
    /// Blocks and the registers that they define for certain, by block.
    pub(super) kills: Vec<(BlockId, VRegId)>,
    /// Blocks and the registers that phis read at their ends.
    pub(super) ends: Vec<(BlockId, VRegId)>,
    pub(super) dense: DenseScratch,
    pub(super) walks: WalkScratch,
}

/// Where a register was last seen: one more than the block.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// Defined unguarded.
    defined: u32,
    /// Among the gens.
    exposed: u32,
}

/// Registers that something outside the function reads when it is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Boundary {
    /// Has registers that are live at every return.
    pub has_outputs: bool,
    /// Has registers of the module: live at calls, returns and exits.
    pub has_module: bool,
}

impl Boundary {
    /// The boundary of a function.
    #[must_use]
    pub fn of(function: &FunctionView<'_>) -> Self {
        let all = function.vregs.iter().fold(VRegFlags::empty(), |all, vreg| all | vreg.flags);
        Self { has_outputs: all.contains(VRegFlags::OUTPUT), has_module: all.contains(VRegFlags::MODULE) }
    }

    /// Whether nothing crosses the boundary in a register, which is so in nearly every function.
    #[must_use]
    pub fn is_empty(self) -> bool {
        !self.has_outputs && !self.has_module
    }

    /// Which registers `head` reads without naming them.
    #[must_use]
    pub fn read_by(self, head: &InstHead, forms: &FormTable) -> VRegFlags {
        if self.is_empty() || !head.marks.intersects(Marks::KEPT | Marks::CONTROL) {
            return VRegFlags::empty();
        }
        let effects = forms.get(head.form).effects;
        let mut read = VRegFlags::empty();
        if effects.contains(Effects::RETURN) {
            read |= VRegFlags::OUTPUT;
        }
        if effects.intersects(Effects::RETURN | Effects::EXIT | Effects::CALL | Effects::UNKNOWN) {
            read |= VRegFlags::MODULE;
        }
        read
    }
}

/// Whether a definition under `guarded` ends the life of the value before it.
#[inline]
#[must_use]
pub fn kills(operand: &Operand, guarded: bool) -> bool {
    operand.is_definition() && !guarded && !operand.is_partial()
}

/// The registers whose values before end with an instruction that has `operands`, under `guarded`.
#[inline]
pub fn killed(operands: &[Operand], guarded: bool) -> impl Iterator<Item = VRegId> + '_ {
    let operands = if guarded { &[] } else { operands };
    operands.iter().filter(|operand| kills(operand, false)).filter_map(|operand| operand.vreg())
}

impl LivenessScratch {
    /// Collects gens and kills of every block in one forward sweep.
    pub(super) fn collect(&mut self, function: &FunctionView<'_>, forms: &FormTable) {
        let Self { seen, gens, kills, ends, .. } = self;
        ends.clear();
        seen.clear();
        seen.resize(function.vregs.len(), Seen::default());
        gens.clear();
        kills.clear();
        let boundary = Boundary::of(function);
        for block in function.block_ids() {
            let stamp = block.0 + 1;
            let mut expose = |vreg: VRegId, seen: &mut [Seen]| {
                let seen = &mut seen[vreg.index()];
                if seen.defined != stamp && seen.exposed != stamp {
                    seen.exposed = stamp;
                    gens.push((block, vreg));
                }
            };
            for (_, head, operands) in function.rows_of(block) {
                if head.is_phi() {
                    let values = incoming(operands);
                    ends.extend(values.filter_map(|(pred, value)| Some((pred, value.vreg()?))));
                } else {
                    for vreg in reads(operands) {
                        expose(vreg, seen);
                    }
                }
                let read = boundary.read_by(head, forms);
                if !read.is_empty() {
                    for vreg in function.vreg_ids() {
                        if function.vregs[vreg.index()].flags.intersects(read) {
                            expose(vreg, seen);
                        }
                    }
                }
                for vreg in killed(operands, head.opcode.is_guarded()) {
                    if std::mem::replace(&mut seen[vreg.index()].defined, stamp) != stamp {
                        kills.push((block, vreg));
                    }
                }
            }
            // Running off the end of the function returns.
            let falls_off = function.succs(block).is_empty() && !boundary.is_empty();
            if falls_off {
                for vreg in function.vreg_ids() {
                    if function.vregs[vreg.index()].flags.intersects(VRegFlags::OUTPUT | VRegFlags::MODULE) {
                        expose(vreg, seen);
                    }
                }
            }
        }
    }
}
