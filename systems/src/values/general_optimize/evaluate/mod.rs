//! What operations make of constants: integers and floats, exactly as the instruction computes them.
//!
//! A value is the lowest bits of a `u64`. Those above the width of its type are zero in results and do not count in sources: a
//! negative literal has them. Each source is as wide as its slot: a shift amount has 32 bits, the addend of a wide product twice
//! those of its factors.
//!
//! Nothing here is shared with the emulator, which is what the results are compared with.
//!
//! # What is not evaluated
//! What has two results; what reads or writes the carry register, where [a rule](super::rules) says what a known carry makes of it;
//! video instructions; conversions to and from exponents alone (`.ue8m0x2`) and four floats at once, which round stochastically;
//! approximations.

mod bits;
mod compare;
mod convert;
mod float;
mod integer;
mod narrow;
mod packed;
#[cfg(test)]
mod tests;

use crate::values::known_bits::is_integer;
use ptxopt_components::description::Description;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Part;
use ptxopt_components::types::{extend, truncate};

/// The most sources of an operation that is evaluated: the elements of a vector that is packed.
pub(in crate::values) const SOURCES_MAX: usize = 4;

/// The result for these sources; none where it is not defined, or not known here. A predicate is 1 or 0.
pub(in crate::values) fn evaluate(description: &Description, sources: &[u64]) -> Option<u64> {
    let has_floats = description.types.iter().flatten().any(|&ty| !is_integer(ty));
    match description.operation {
        Operation::Setp | Operation::Set => compare::evaluate(description, sources),
        Operation::Slct => compare::choose(description, sources),
        Operation::Testp => float::classify(description, sources),
        Operation::Dp4a | Operation::Dp2a => packed::sum_of_products(description, sources),
        _ if packed::has_lanes(description) => packed::evaluate(description, sources),
        Operation::Cvt if has_floats => convert::evaluate(description, sources),
        _ if has_floats => float::evaluate(description, sources),
        Operation::Bfe
        | Operation::Bfi
        | Operation::Bfind
        | Operation::Bmsk
        | Operation::Brev
        | Operation::Clmad
        | Operation::Cnot
        | Operation::Fns
        | Operation::Lop3
        | Operation::Prmt
        | Operation::Sad
        | Operation::Shf
        | Operation::Szext => bits::evaluate(description, sources),
        _ => integer::evaluate(description, sources),
    }
}

/// A result, evaluated or cut to the width that the description says, as a register of `width` bits holds it; none where the instruction
/// does not say all of these. A conversion to a narrow integer extends it by its sign, if it has one.
pub(in crate::values) fn in_register(description: &Description, bits: u64, width: u32) -> Option<u64> {
    let (of_result, ty) = (result_width(description)?, description.types[0]?);
    let bits = truncate(bits, of_result);
    if of_result == width {
        return Some(bits);
    }
    let is_extended = description.operation == Operation::Cvt && is_integer(ty) && of_result < width;
    let extended = if ty.is_signed() { truncate(extend(bits, of_result) as u64, width) } else { bits };
    is_extended.then_some(extended)
}

/// Width of the result that a description says.
fn result_width(description: &Description) -> Option<u32> {
    let width = description.types[0]?.bits();
    Some(match (description.operation, description.qualifiers.part) {
        (Operation::Setp | Operation::Testp, _) => 1,
        (Operation::Mul | Operation::Mad, Some(Part::Wide)) => 2 * width,
        (Operation::Popc | Operation::Clz | Operation::Bfind, _) => 32,
        _ => width,
    })
}
