//! The mix of instructions of a function: what it does, counted on the [machine's view](super::machine).
//!
//! Of two kernels with the same pressure, the assembler gives more registers to the one with more to start early or to keep
//! apart. What makes the difference is measured, not derived: the [trees](super::trees) choose among these counts.

use super::machine::{Machine, Motion};
use ptxopt_components::form::Form;
use ptxopt_components::ids::Id;
use ptxopt_components::operation::Operation;
use ptxopt_components::types::{StateSpace, TypeKind};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::store::view::FunctionView;

/// Counts of rows, unless a field says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mix {
    /// Loads from global, constant or generic memory.
    pub loads: u32,
    /// Loads from shared memory.
    pub shared_loads: u32,
    /// Loads from local memory.
    pub local_loads: u32,
    /// Stores.
    pub stores: u32,
    /// Atomic operations.
    pub atomics: u32,
    /// What nothing moves across.
    pub fixed: u32,
    /// Arithmetic in double precision.
    pub double: u32,
    /// Arithmetic in single or half precision.
    pub single: u32,
    /// Multiplications of integers.
    pub products: u32,
    /// Divisions, remainders, roots and their reciprocals.
    pub divisions: u32,
    /// What the unit for special functions computes.
    pub special: u32,
    /// Products of matrices.
    pub matrices: u32,
    /// Exchange between threads of a warp.
    pub exchanges: u32,
    /// Comparisons and selections.
    pub choices: u32,
    /// Guarded rows.
    pub guarded: u32,
    /// Values that take two slots or more.
    pub wide: u32,
    /// Results of the widest row, in slots.
    pub widest: u32,
    /// The most that a subroutine takes beside what lives.
    pub extra: u32,
}

impl Mix {
    /// Counts a function that the machine has looked at.
    pub(super) fn of(function: &FunctionView<'_>, forms: &FormTable, machine: &Machine) -> Self {
        let mut mix = Self::default();
        for row in &machine.rows {
            let form = forms.get(function.heads[row.inst.index()].form);
            mix.count(form, row.motion);
            mix.guarded += u32::from(row.is_guarded);
            mix.extra = mix.extra.max(u32::from(row.extra));
            let slots = || machine.defs(row).iter().map(|vreg| u32::from(machine.slots[vreg.index()]));
            mix.wide += slots().filter(|&slots| slots > 1).count() as u32;
            mix.widest = mix.widest.max(slots().sum());
        }
        mix
    }

    fn count(&mut self, form: &Form, motion: Motion) {
        use Operation as Op;
        let is_wide = |ty: &ptxopt_components::types::PtxType| ty.bits() == 64;
        match motion {
            Motion::Load => {
                let of_space = match form.space {
                    StateSpace::Shared => &mut self.shared_loads,
                    StateSpace::Local => &mut self.local_loads,
                    _ => &mut self.loads,
                };
                *of_space += 1;
            }
            Motion::Store => self.stores += 1,
            Motion::Fixed => self.fixed += 1,
            Motion::Free => {}
        }
        match form.operation {
            Op::Atom | Op::Red => self.atomics += 1,
            Op::Div | Op::Rem | Op::Sqrt => self.divisions += 1,
            Op::Rcp | Op::Rsqrt | Op::Sin | Op::Cos | Op::Lg2 | Op::Ex2 | Op::Tanh => self.special += 1,
            Op::Mma | Op::MmaSparse | Op::MmaSparseOrdered | Op::WgmmaMultiply => self.matrices += 1,
            Op::Shfl | Op::Vote | Op::Match | Op::Redux => self.exchanges += 1,
            Op::Setp | Op::Set | Op::Selp | Op::Slct | Op::Min | Op::Max => self.choices += 1,
            Op::Add | Op::Sub | Op::Mul | Op::Mad | Op::Fma => {
                let ty = form.types.iter().flatten().next();
                if ty.is_some_and(|ty| ty.kind() == TypeKind::Float) {
                    *if ty.is_some_and(is_wide) { &mut self.double } else { &mut self.single } += 1;
                } else if form.operation != Op::Add && form.operation != Op::Sub {
                    self.products += 1;
                }
            }
            _ => {}
        }
    }
}
