//! Far values: what is cheap and computed again a long way on stays, where many registers live in between.
//!
//! ```text
//! add.s32 r5, r1, r2; st.global.u32 [rd1], r5;
//! ...                                                 // a hundred instructions on thirty registers
//! add.s32 r9, r1, r2; st.global.u32 [rd2], r9;        // r5 need not live that long
//! ```
//! One machine instruction makes such a value again; kept, it takes a register all the way. Front ends that count registers
//! compute it twice for that reason, special registers and indices above all, and the assembler does not part again what has
//! one name.
//!
//! A value that lives there anyway is kept, and so is one that takes more to compute.
//!
//! # How registers are counted
//! As a linear scan does: a register lives from its first definition to its last reading in the order of the rows, ways around
//! loops left aside (Poletto and Sarkar 1999, "Linear Scan Register Allocation"). Parameters and constants are operands of the
//! machine and take none.
//!
//! # The limits, measured
//! Registers of kernels as `ptxas` 13.0 at -O3 reports them, after and before (`compared`, geometric means), and instructions that
//! `ptxopt batch` leaves. Without limits: wild set 0.9872 and 1,303,055, 493 modules of other front ends and releases 0.9940 and
//! 590,791, corpus at -O0 0.9760 and 14,185. As it is: 0.9837 and 1,305,186, 0.9934 and 591,908, 0.9760 and 14,196. With 50 rows as
//! the only limit: 0.9837 and 1,305,852, 0.9926 and 593,139, 0.9693 and 14,599: kernels with fewer than 32 registers have room
//! for more. Of the wild set the gain is the same from 10 rows to 50 and from 16 slots to 32, and less above; of the others 0.0005 more
//! with 16 slots. To let comparisons and sums of floats stay, too, gained nothing.
//! To count what is computed again for the operands, too, and to keep a value where that comes to more than three instructions, took 613
//! instructions out of the wild set and 2,656 (0.8 %) out of NCCL, and gave 395 kernels of 56 modules 1.0092 times the registers (`compared`
//! on the outputs with and without).
//!
//! Of a module of CTranslate2, whose threads load 128 numbers and store them later, `ptxas` spilled 872 bytes, and 3,032 where
//! the addresses of the stores were those of the loads.

use crate::values::movable::{is_operand, slots_of};
use ptxopt_components::form::FormFlags;
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::operand::definitions;
use ptxopt_components::operation::Operation;
use ptxopt_components::types::PtxType;
use ptxopt_engine::edit::FunctionEditor;

/// Most rows from a value to where it is read instead of another one, however many registers live there.
const ROWS_MAX: u32 = 50;

/// Slots of 32 bits that live where a value more may cost something: with up to 32 registers a thread, an SM is full.
const SLOTS_MANY: i32 = 32;

/// A mark of registers in the list of last readings: a definition was met.
const IS_DEFINED: u32 = 1 << 31;

/// Where many registers live in a function. It is found out where something is far.
#[derive(Default)]
pub(super) struct Crowded {
    is_known: bool,
    /// By row: one more than the last row up to it after which many registers live; 0 where there is none.
    since: Vec<u32>,
    /// By register: the row that reads it last.
    last_reads: Vec<u32>,
    /// By row: slots that live after it more than before it.
    rises: Vec<i32>,
}

impl Crowded {
    /// Forgets the function before.
    pub(super) fn start(&mut self) {
        self.is_known = false;
    }

    /// Whether `inst` computes something cheap, too far from `maker` to keep `held`, which holds the same.
    pub(super) fn lies_between(
        &mut self,
        f: &FunctionEditor<'_>,
        (maker, held): (InstId, VRegId),
        inst: InstId,
    ) -> bool {
        let (first, last) = (maker.min(inst), maker.max(inst));
        if last.0 - first.0 <= ROWS_MAX || !is_cheap(f, inst) {
            return false;
        }
        if !self.is_known {
            self.find(f);
            self.is_known = true;
        }
        self.since[last.index() - 1] > first.0 + 1 && self.last_reads[held.index()] & !IS_DEFINED < last.0
    }

    fn find(&mut self, f: &FunctionEditor<'_>) {
        let Self { since, last_reads, rises, .. } = self;
        let function = f.view();
        let nothing = function.vregs.len();
        last_reads.clear();
        last_reads.resize(nothing + 1, 0);
        function.padded_rows().for_each(|(inst, _, operands)| {
            operands.iter().for_each(|operand| last_reads[operand.read_or(nothing)] = inst.0);
        });
        rises.clear();
        rises.resize(function.heads.len(), 0);
        for (inst, head, operands) in function.rows() {
            if !head.is_phi() && is_operand(f.form(head.form), operands) {
                continue;
            }
            for (vreg, _) in definitions(operands) {
                let last = &mut last_reads[vreg.index()];
                // Of a variable the first definition counts, and one that is not read any more does not.
                if *last > inst.0 && *last & IS_DEFINED == 0 {
                    let slots = slots_of(&function.vregs[vreg.index()]) as i32;
                    rises[inst.index()] += slots;
                    rises[*last as usize] -= slots;
                }
                *last |= IS_DEFINED;
            }
        }
        since.clear();
        let (mut live, mut last) = (0, 0);
        since.extend(rises.iter().zip(1..).map(|(rise, next)| {
            live += rise;
            if live >= SLOTS_MANY {
                last = next;
            }
            last
        }));
    }
}

/// Whether the machine makes the result with an instruction or two on integers.
fn is_cheap(f: &FunctionEditor<'_>, inst: InstId) -> bool {
    if f.head(inst).is_phi() {
        return false;
    }
    let form = f.form_of(inst);
    let is_simple = matches!(
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
    let is_integer = form.types[0].is_some_and(PtxType::is_of_integers);
    is_simple && is_integer && form.flags.contains(FormFlags::PLAIN)
}
