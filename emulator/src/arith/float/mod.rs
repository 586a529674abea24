//! The floating-point half of arithmetic.
//!
//! One rule holds for all of it: an operation computes its exact result and rounds it once. NaN results are canonical
//! (see [`format::Format::nan`]), but for operations that move bits.

mod approximate;
mod arithmetic;
mod compare;
mod convert;
pub mod exact;
mod extremes;
mod finish;
pub mod format;
mod map;
mod operation;
pub mod qualifiers;
mod sign;
#[cfg(test)]
mod tests;

use qualifiers::Qualifiers;

use super::{Evaluator, Request};

/// The evaluator of an instruction with a floating-point type in it; `None` where it has none or is not known.
///
/// `fma.oob` is not known: its result hangs on a NaN whose bits the ISA does not give.
#[must_use]
pub fn evaluator(request: &Request) -> Option<Evaluator> {
    if request.selectors.iter().any(Option::is_some) {
        return None;
    }
    let qualifiers = Qualifiers::split(request.mnemonic);
    let predicate_third = matches!(qualifiers.root, "setp" | "set");
    if (0..request.sources).any(|source| request.is_negated(source) && !(predicate_third && source == 2)) {
        return None;
    }
    let approximate = qualifiers.rest().iter().any(|&word| matches!(word, "approx" | "full"));
    match qualifiers.root {
        "add" | "sub" | "mul" | "fma" | "mad" => arithmetic::evaluator(qualifiers, request),
        "div" | "rcp" | "sqrt" if !approximate => arithmetic::evaluator(qualifiers, request),
        "div" | "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" => {
            approximate::evaluator(qualifiers, request)
        }
        "min" | "max" => extremes::evaluator(qualifiers, request),
        "abs" | "neg" | "copysign" | "testp" => sign::evaluator(qualifiers, request),
        "setp" | "set" => compare::evaluator(qualifiers, request),
        "cvt" => convert::evaluator(qualifiers, request),
        _ => None,
    }
}
