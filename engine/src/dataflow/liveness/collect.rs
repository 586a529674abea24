//! What each block does to live sets: the registers that it reads before it defines them, and those that it defines.

use super::dense::DenseScratch;
use super::walks::WalkScratch;
use crate::forms::FormTable;
use crate::view::FunctionView;
use ptxopt_components::ids::{BlockId, Id, VRegId};
use ptxopt_components::instruction::{InstHead, Marks};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::Operand;
use ptxopt_components::vreg::VRegFlags;

/// Memory that the solver uses again.
#[derive(Default)]
pub struct LivenessScratch {
    /// By register: one more than the last block that defined it unguarded.
    defined_in: Vec<u32>,
    /// By register: one more than the last block that has it among its gens.
    exposed_in: Vec<u32>,
    /// Blocks and the registers that they read before they define them, by block.
    pub(super) gens: Vec<(BlockId, VRegId)>,
    /// Blocks and the registers that they define for certain, by block.
    pub(super) kills: Vec<(BlockId, VRegId)>,
    pub(super) dense: DenseScratch,
    pub(super) walks: WalkScratch,
}

/// Registers that something outside the function reads when it is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
        let any = |flag| function.vregs.iter().any(|vreg| vreg.flags.contains(flag));
        Self { has_outputs: any(VRegFlags::OUTPUT), has_module: any(VRegFlags::MODULE) }
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

impl LivenessScratch {
    /// Collects gens and kills of every block in one forward sweep.
    pub(super) fn collect(&mut self, function: &FunctionView<'_>, forms: &FormTable) {
        let Self { defined_in, exposed_in, gens, kills: killed, .. } = self;
        for stamps in [&mut *defined_in, &mut *exposed_in] {
            stamps.clear();
            stamps.resize(function.vregs.len(), 0);
        }
        gens.clear();
        killed.clear();
        let boundary = Boundary::of(function);
        for block in function.block_ids() {
            let stamp = block.0 + 1;
            let mut expose = |vreg: VRegId, defined_in: &[u32]| {
                let at = vreg.index();
                if defined_in[at] != stamp && exposed_in[at] != stamp {
                    exposed_in[at] = stamp;
                    gens.push((block, vreg));
                }
            };
            for inst in function.insts_of(block) {
                let head = &function.heads[inst.index()];
                let operands = function.operands_of(inst);
                for operand in operands.iter().filter(|operand| operand.is_use()) {
                    if let Some(vreg) = operand.vreg() {
                        expose(vreg, defined_in);
                    }
                }
                let read = boundary.read_by(head, forms);
                if !read.is_empty() {
                    for vreg in function.vreg_ids() {
                        if function.vregs[vreg.index()].flags.intersects(read) {
                            expose(vreg, defined_in);
                        }
                    }
                }
                let guarded = head.opcode.is_guarded();
                for operand in operands.iter().filter(|operand| kills(operand, guarded)) {
                    if let Some(vreg) = operand.vreg()
                        && defined_in[vreg.index()] != stamp
                    {
                        defined_in[vreg.index()] = stamp;
                        killed.push((block, vreg));
                    }
                }
            }
            // Running off the end of the function returns.
            let falls_off = function.succs(block).is_empty() && !boundary.is_empty();
            if falls_off {
                for vreg in function.vreg_ids() {
                    if function.vregs[vreg.index()].flags.intersects(VRegFlags::OUTPUT | VRegFlags::MODULE) {
                        expose(vreg, defined_in);
                    }
                }
            }
        }
    }
}
