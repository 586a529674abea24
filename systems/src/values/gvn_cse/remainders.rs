//! Remainders of 64 bits whose quotient is computed, too: what the product of quotient and divisor leaves.
//!
//! ```text
//! div.u64 q, a, b;                       div.u64 q, a, b;
//! rem.u64 r, a, b;                       mul.lo.u64 t, q, b;  sub.u64 r, a, t;
//!
//! rem.s64 r, a, 10;                      div.s64 q, a, 10;
//! div.s64 q, a, 10;                      mad.lo.s64 r, q, -10, a;
//! ```
//! The machine has no division. Of 64 bits `ptxas` 13.0 makes two, one for the quotient and one for the remainder. One kernel with
//! both, in machine instructions of `ptxas -O3`, filled up to 128 bytes (`sm_75`, `sm_90`, `sm_120`):
//!
//! | | quotient and remainder | with the product |
//! |---|---:|---:|
//! | `u64`, by a register | 152, 160, 144 | 88, 96, 88 |
//! | `u64`, by 10 | 136, 152, 144 | 80, 88, 88 |
//! | `s64`, by a register | 184, 192, 176 | 104, 112, 104 |
//! | `s64`, by 10 | 160, 168, 160 | 88, 96, 96 |
//!
//! Of 32 bits it finds the pair itself, and the code is as long either way.
//!
//! # Growth
//! By a register that is one instruction of PTX more, so it is done only where the function has fewer than it came with.
//!
//! # Where the remainder comes first
//! The quotient goes up to it: what divides is there, and a division, which cannot trap, was done there anyway. Where neither comes
//! before the other always, both stay. What remainder and quotient by 0 are the ISA leaves open, and the quotient of the
//! smallest number and -1.
//!
//! # Digits
//! A quotient of a quotient has become one by the product of the divisors, if there is no sign. It tells remainders of the first one:
//!
//! ```text
//! div.u64 q, a, 10;                      div.u64 q, a, 10;
//! div.u64 s, a, 100;                     div.u64 s, a, 100;
//! rem.u64 r, q, 10;                      mad.lo.u64 r, s, -10, q;
//! ```

use crate::values::general_optimize::constants::{literal_in, operand};
use ptxopt_components::code_object::Room;
use ptxopt_components::description::Description;
use ptxopt_components::form::{Form, shape};
use ptxopt_components::ids::{FormId, Id, InstId, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Part, Qualifiers};
use ptxopt_components::types::{PtxType, TypeKind};
use ptxopt_engine::edit::FunctionEditor;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::reaching::Reaching;

/// Quotients of the same operands that a remainder looks at, in the text before it and after it. None dominates another one, or it
/// would be gone.
const QUOTIENTS_MAX: usize = 8;

/// The remainders of a function that a quotient tells.
#[derive(Default)]
pub(super) struct Remainders {
    /// By form: its type, where it divides 64 bits.
    divides: Vec<Option<PtxType>>,
    /// Whether one of these forms gives remainders.
    has_remainders: bool,
    divisions: Vec<Division>,
    pairs: Vec<Pair>,
}

/// A quotient or a remainder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Division {
    /// Type, dividend and divisor; of a remainder those of the quotient that tells it.
    of: (u8, Held, Held),
    inst: InstId,
    is_remainder: bool,
}

/// What an operand holds: a register that is a value, or an integer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Held {
    Value(VRegId),
    Integer(u64),
}

/// A remainder and the quotient of the same operands.
struct Pair {
    ty: PtxType,
    remainder: InstId,
    quotient: InstId,
    /// Whether the remainder comes first.
    is_first: bool,
}

impl Remainders {
    /// Finds the remainders that a quotient tells; says how many found none among so many as are looked at. Of two instructions that
    /// divide, the one that comes first has the smaller id.
    pub(super) fn find(
        &mut self,
        function: &FunctionView<'_>,
        forms: &FormTable,
        reaching: &Reaching,
    ) -> u64 {
        self.pairs.clear();
        for id in (self.divides.len()..forms.len()).map(FormId::new) {
            let ty = divided(forms.get(id));
            self.has_remainders |= ty.is_some() && forms.get(id).operation == Operation::Rem;
            self.divides.push(ty);
        }
        if !self.has_remainders {
            return 0;
        }
        self.list(function, forms, reaching);
        self.divisions.sort_unstable();
        let is_before = |one: InstId, other: InstId| {
            let [of_one, of_other] = [one, other].map(|inst| function.heads[inst.index()].block);
            if of_one == of_other { one < other } else { reaching.tree().dominates(of_one, of_other) }
        };
        let Self { divides, divisions, pairs, .. } = self;
        let ty_of = |inst: InstId| divides[function.heads[inst.index()].form.index()].expect("it divides");
        let alike = divisions.chunk_by(|one, other| one.of == other.of);
        alike.map(|alike| pair_up(alike, is_before, ty_of, pairs)).sum()
    }

    /// Lists what divides, by what it divides.
    fn list(&mut self, function: &FunctionView<'_>, forms: &FormTable, reaching: &Reaching) {
        let Self { divides, divisions, .. } = self;
        divisions.clear();
        for (inst, head, operands) in function.rows() {
            if let Some(ty) = divides[head.form.index()]
                && !head.opcode.is_guarded()
                && let &[result, dividend, divisor] = operands
                && let Some(dividend) = held(function, dividend, ty)
                && let Some(divisor) = held(function, divisor, ty)
            {
                let is_remainder = forms.get(head.form).operation == Operation::Rem;
                let (dividend, divisor) = match (dividend, divisor) {
                    (Held::Value(quotient), Held::Integer(last)) if is_remainder => reaching
                        .only_definition(quotient)
                        .and_then(|inner| divisors(function, divides, forms, inner, ty, last))
                        .unwrap_or((dividend, divisor)),
                    operands => operands,
                };
                if is_remainder || result.vreg().is_some_and(|vreg| function.vregs[vreg.index()].is_value()) {
                    divisions.push(Division { of: (ty as u8, dividend, divisor), inst, is_remainder });
                }
            }
        }
    }

    /// Lets quotients tell remainders, as far as there is room; gives nothing where the bisect limit is reached.
    pub(super) fn replace(&self, f: &mut FunctionEditor<'_>) -> Option<()> {
        for &Pair { ty, remainder, quotient, is_first } in &self.pairs {
            if !f.head(remainder).is_live() || !f.head(quotient).is_live() {
                continue;
            }
            let &[result, dividend, divisor] = f.operands_of(remainder) else { continue };
            let Some(quotient_register) = f.operands_of(quotient)[0].vreg() else { continue };
            let literal = literal_in(divisor, ty, f.literals());
            let is_longer = literal.is_none();
            // A product with its register, and the row of a quotient that goes up.
            let room = Room {
                insts: u32::from(is_longer) + u32::from(is_first),
                blocks: 0,
                vregs: u32::from(is_longer),
            };
            let offset = f.offset_of(remainder);
            if is_longer && f.state().live_insts >= f.text().insts_in {
                f.missed(offset, "the product of quotient and divisor would make the function longer");
                continue;
            }
            if f.room().insts < room.insts || f.room().vregs < room.vregs {
                f.missed(offset, "the function has no room for the product of quotient and divisor");
                f.stats().limits_hit += 1;
                continue;
            }
            let reason = "the product of quotient and divisor leaves the remainder";
            let mut change = f.change_with_room(offset, reason, room)?;
            if is_first {
                change.move_before(quotient, remainder);
            }
            let read = Operand::register(quotient_register);
            let low = Qualifiers { part: Some(Part::Low), ..Qualifiers::default() };
            let mut form = |operation, qualifiers, count| {
                let description = Description::new(operation, qualifiers, &[ty]);
                change
                    .forms()
                    .build(&description, shape::plain(count))
                    .expect("all integers of 64 bits have it")
            };
            if let Some(literal) = literal {
                let form = form(Operation::Mad, low, 4);
                let factor = operand(&mut change, literal.wrapping_neg(), ty);
                change.set_form(remainder, form, &[result, read, factor, dividend]);
            } else {
                let [mul, sub] =
                    [form(Operation::Mul, low, 3), form(Operation::Sub, Qualifiers::default(), 3)];
                let product = Operand::register(change.new_vreg_like(quotient_register));
                change.insert_before(remainder, mul, &[product, read, divisor], None);
                change.set_form(remainder, sub, &[result, dividend, product]);
            }
        }
        Some(())
    }
}

/// Finds a quotient for each remainder of what divides alike: one that comes before it, or else one after it that goes up to it. Says
/// how many found none among so many as are looked at.
fn pair_up(
    alike: &[Division],
    is_before: impl Fn(InstId, InstId) -> bool,
    ty_of: impl Fn(InstId) -> PtxType,
    pairs: &mut Vec<Pair>,
) -> u64 {
    // And whether it goes up to a remainder.
    let mut quotients: Vec<(InstId, bool)> =
        alike.iter().filter(|one| !one.is_remainder).map(|one| (one.inst, false)).collect();
    if quotients.is_empty() {
        return 0;
    }
    let mut limits_hit = 0;
    for remainder in alike.iter().filter(|one| one.is_remainder).map(|one| one.inst) {
        let next = quotients.partition_point(|&(quotient, _)| quotient < remainder);
        let mut before = (0..next).rev().take(QUOTIENTS_MAX);
        let mut after = (next..quotients.len()).take(QUOTIENTS_MAX);
        let told = before.find(|&number| is_before(quotients[number].0, remainder));
        let is_free = |&number: &usize| {
            let (quotient, goes_up) = quotients[number];
            !goes_up && is_before(remainder, quotient)
        };
        let Some(number) = told.or_else(|| after.find(is_free)) else {
            limits_hit += u64::from(next.max(quotients.len() - next) > QUOTIENTS_MAX);
            continue;
        };
        let (quotient, goes_up) = &mut quotients[number];
        *goes_up |= told.is_none();
        pairs.push(Pair { ty: ty_of(remainder), remainder, quotient: *quotient, is_first: told.is_none() });
    }
    limits_hit
}

/// The type of a form that divides integers of 64 bits.
fn divided(form: &Form) -> Option<PtxType> {
    let divides = matches!(form.operation, Operation::Div | Operation::Rem);
    form.types[0].filter(|ty| divides && form.lanes == 1 && ty.kind() == TypeKind::Integer && ty.bits() == 64)
}

/// What a quotient of the result of `inner` by `last` divides, and by what, if `inner` is a quotient and there is no sign.
fn divisors(
    function: &FunctionView<'_>,
    divides: &[Option<PtxType>],
    forms: &FormTable,
    inner: InstId,
    ty: PtxType,
    last: u64,
) -> Option<(Held, Held)> {
    let head = function.heads[inner.index()];
    let is_quotient =
        divides[head.form.index()] == Some(ty) && forms.get(head.form).operation == Operation::Div;
    if !is_quotient || ty != PtxType::U64 {
        return None;
    }
    let &[_, dividend, first] = function.operands_of(inner) else { return None };
    let (dividend, Held::Integer(first)) = (held(function, dividend, ty)?, held(function, first, ty)?) else {
        return None;
    };
    // A quotient by 0 is undefined, but the remainder is of that very quotient.
    Some((dividend, Held::Integer(first.checked_mul(last).filter(|_| first != 0)?)))
}

/// What an operand holds, if it holds that wherever it is read.
fn held(function: &FunctionView<'_>, operand: Operand, ty: PtxType) -> Option<Held> {
    match operand.vreg() {
        Some(vreg) => {
            let is_whole = operand == Operand::register(vreg);
            (is_whole && function.vregs[vreg.index()].is_value()).then_some(Held::Value(vreg))
        }
        None => literal_in(operand, ty, &function.pools.literals).map(Held::Integer),
    }
}
