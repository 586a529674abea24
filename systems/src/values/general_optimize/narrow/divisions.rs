//! Narrow divisions: one of 64 bits whose operands are known to fit in 32 becomes one of 32.
//!
//! # How it works
//! ```text
//! shr.s32 r1, r0, 1;
//! cvt.s64.s32 d1, r1;
//! cvt.s64.s32 d2, r2;
//! div.s64 d3, d1, d2;     ->     div.s32 r3, r1, r2;  cvt.s64.s32 d3, r3;
//! ```
//! `ptxas` 13.0.88 calls a function for 64 bits, whatever it knows of the operands: on sm_80 a kernel that stores the remainder of two
//! numbers that it has loaded and extended by `cvt.s64.s32` has 94 machine instructions, and 34 with `rem.s32` between; with
//! `cvt.u64.u32` 75 and 28.
//!
//! # What has to be known
//! - Both operands fit, with a sign or both without. With a sign, it is not the least one by -1, whose quotient does not fit.
//! - By 0 the ISA leaves the result to the machine. That gives all ones for a quotient, as many as the type has: extended with a sign
//!   they are the same, without one they are not. For a remainder of 64 bits it gives the dividend, for one of 32 all ones. So without a
//!   sign, and for a remainder, the divisor is not 0.
//!
//! # How much longer the function gets
//! One instruction becomes up to four. But extended operands are taken as they were, and what extended them for nothing else goes; and the
//! function does not come out longer than it came in.

use super::super::pattern::{Binary, integer_of};
use super::super::{Walk, constants};
use super::{count_reads, form};
use ptxopt_components::code_object::Room;
use ptxopt_components::form::Form;
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::types::{PtxType, truncate};
use ptxopt_engine::edit::Change;

const NARROWED: &str = "a division of what fits in 32 bits";
const LONGER: &str = "narrowed to 32 bits, the division would make the function longer";

/// Memory of the step.
#[derive(Default)]
pub(super) struct Divisions {
    /// Divisions of 64 bits.
    wide: Vec<InstId>,
    narrowed: Vec<Narrowed>,
    /// By register: how often it is read.
    read_count: Vec<u32>,
}

impl Divisions {
    /// Forgets the function before.
    pub(super) fn start(&mut self) {
        self.wide.clear();
    }

    /// Notes an instruction, of which all are shown.
    #[inline]
    pub(super) fn look_at(&mut self, inst: InstId, form: &Form) {
        let is_division = matches!(form.operation, Operation::Div | Operation::Rem);
        if is_division && form.types[0].is_some_and(|ty| ty.is_of_integers() && ty.bits() == 64) {
            self.wide.push(inst);
        }
    }

    /// Whether there is a division that may be narrowed.
    pub(super) fn has_some(&self) -> bool {
        !self.wide.is_empty()
    }
}

/// A division that may be narrowed.
#[derive(Clone, Copy)]
struct Narrowed {
    inst: InstId,
    operation: Operation,
    has_sign: bool,
    result: VRegId,
    operands: [Low; 2],
}

/// The lower half of an operand.
#[derive(Clone, Copy)]
enum Low {
    Literal(u64),
    /// What was extended to the operand, which is this register.
    Extended {
        from: Operand,
        to: VRegId,
    },
    /// That of a register, which is to be cut off.
    Of(Operand),
}

impl Walk<'_, '_> {
    /// Narrows the divisions that were found; says whether it did any, and gives nothing where the bisect limit is reached.
    pub(super) fn narrow_divisions(&mut self, divisions: &mut Divisions) -> Option<bool> {
        let Divisions { wide, narrowed, read_count } = divisions;
        narrowed.clear();
        narrowed.extend(wide.iter().filter_map(|&inst| self.narrowed(inst)));
        if narrowed.is_empty() {
            return Some(false);
        }
        count_reads(&self.f.view(), read_count);
        let mut has_changed = false;
        for division in narrowed {
            let growth = division.growth(read_count);
            let offset = self.f.offset_of(division.inst);
            if growth > 0 && i64::from(self.f.state().live_insts) + growth > i64::from(self.f.text().insts_in)
            {
                self.f.missed(offset, LONGER);
                continue;
            }
            let room = Room { insts: 3, vregs: 3, ..Room::default() };
            division.carry_out(&mut self.f.change_with_room(offset, NARROWED, room)?);
            has_changed = true;
        }
        Some(has_changed)
    }

    /// A division of 64 bits as one of 32, if it may be one.
    fn narrowed(&mut self, inst: InstId) -> Option<Narrowed> {
        let Binary { operation, ty, result, one, other, .. } = self.binary(inst)?;
        let [dividend, divisor] = [one, other].map(|operand| self.known(operand, 64, inst));
        let is_by_zero = divisor.contains(0);
        let fits_plain = [dividend, divisor].iter().all(|known| known.high() <= u64::from(u32::MAX));
        let fits_signed = [dividend, divisor].iter().all(|known| {
            let is_small = known.least() >= i64::from(i32::MIN) && known.most() <= i64::from(i32::MAX);
            is_small && (ty.is_signed() || known.least() >= 0)
        });
        let overflows = dividend.contains(i64::from(i32::MIN) as u64) && divisor.contains(u64::MAX);
        let has_sign = if fits_plain && !is_by_zero {
            false
        } else if fits_signed && !overflows && !(is_by_zero && operation == Operation::Rem) {
            true
        } else {
            return None;
        };
        let operands = [self.low_half(one, inst)?, self.low_half(other, inst)?];
        Some(Narrowed { inst, operation, has_sign, result, operands })
    }

    fn low_half(&mut self, operand: Operand, inst: InstId) -> Option<Low> {
        if let Some(bits) = self.literal(operand) {
            return Some(Low::Literal(truncate(bits, 32)));
        }
        let to = operand.vreg()?;
        let extension = self.extension(operand, inst).filter(|extension| {
            extension.from.bits() == 32 && extension.source.vreg().is_some_and(|vreg| self.width(vreg) == 32)
        });
        Some(extension.map_or(Low::Of(operand), |extension| Low::Extended { from: extension.source, to }))
    }
}

impl Narrowed {
    /// How many more instructions there are once nothing is dead.
    fn growth(&self, read_count: &[u32]) -> i64 {
        let of_operand = |low: &Low| match *low {
            Low::Literal(_) => 0,
            Low::Extended { to, .. } => -i64::from(read_count[to.index()] == 1),
            Low::Of(_) => 1,
        };
        1 + self.operands.iter().map(of_operand).sum::<i64>()
    }

    /// The division becomes the extension of a narrow one that stands before it.
    fn carry_out(&self, change: &mut Change<'_, '_>) {
        let narrow = integer_of(32, self.has_sign);
        let wide = integer_of(64, self.has_sign);
        let [one, other] = self.operands.map(|low| match low {
            Low::Literal(bits) => constants::operand(change, bits, narrow),
            Low::Extended { from, .. } => from,
            Low::Of(whole) => {
                let low = Operand::register(change.new_vreg(PtxType::B32));
                self.insert(change, Operation::Cvt, &[PtxType::U32, PtxType::U64], &[low, whole]);
                low
            }
        });
        let result = Operand::register(change.new_vreg(PtxType::B32));
        self.insert(change, self.operation, &[narrow], &[result, one, other]);
        let form = form(change, Operation::Cvt, &[wide, narrow], 2);
        change.set_form(self.inst, form, &[Operand::register(self.result), result]);
    }

    fn insert(
        &self,
        change: &mut Change<'_, '_>,
        operation: Operation,
        types: &[PtxType],
        operands: &[Operand],
    ) {
        let form = form(change, operation, types, operands.len());
        change.insert_before(self.inst, form, operands, None);
    }
}
