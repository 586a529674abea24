//! Integer, logic, bit, predicate, move and video instructions.
//!
//! A mnemonic is decoded once, by the function of its root, into a closure over all lanes that knows its types at
//! compile time. A qualifier, sign or selector that the function did not ask for refuses the instruction: a form that
//! is not understood whole is not evaluated at all.
//!
//! # What the ISA leaves open
//! - Division by zero: quotient and remainder are all ones; the remainder of 64 bits is the dividend, what any quotient leaves when
//!   it is multiplied with the divisor, since optimizers compute it so.
//! - The smallest number divided by -1 wraps: the quotient is the smallest number, the remainder 0.
//! - `bfind`, `fns` and others with a "not found" answer give `0xFFFFFFFF`, as the ISA says. `fns` with a base past 31
//!   finds nothing.

mod bits;
mod compare;
mod convert;
mod decoder;
mod lift;
mod logic;
mod moves;
mod packed;
mod permute;
mod products;
mod shifts;
mod sums;
mod types;
mod video;
mod video_simd;

#[cfg(test)]
mod tests;

use super::{Evaluator, Request};
use decoder::Decoder;

/// The evaluator of one instruction; `None` where it is not of this half or not legal.
pub(super) fn evaluator(request: &Request) -> Option<Evaluator> {
    let mut decoder = Decoder::new(request);
    let d = &mut decoder;
    let shaped = match d.root() {
        "add" => sums::add(d),
        "addc" => sums::add_with_carry(d),
        "sub" => sums::subtract(d),
        "subc" => sums::subtract_with_carry(d),
        "neg" => sums::negate(d),
        "abs" => sums::absolute(d),
        "sad" => sums::sum_of_difference(d),
        "min" => sums::extreme(d, true),
        "max" => sums::extreme(d, false),
        "mul" => products::multiply(d),
        "mad" => products::multiply_add(d),
        "madc" => products::multiply_add_with_carry(d),
        "mul24" => products::multiply_24(d),
        "mad24" => products::multiply_add_24(d),
        "div" => products::divide(d),
        "rem" => products::remainder(d),
        "dp4a" => products::dot_4(d),
        "dp2a" => products::dot_2(d),
        "clmad" => products::carryless(d),
        "and" => logic::and(d),
        "or" => logic::or(d),
        "xor" => logic::xor(d),
        "not" => logic::not(d),
        "cnot" => logic::logical_not(d),
        "lop3" => logic::three_inputs(d),
        "shl" => shifts::left(d),
        "shr" => shifts::right(d),
        "shf" => shifts::funnel(d),
        "prmt" => permute::bytes(d),
        "popc" => bits::population(d),
        "clz" => bits::leading_zeros(d),
        "brev" => bits::reverse(d),
        "bfind" => bits::find(d),
        "fns" => bits::find_nth(d),
        "bfe" => bits::extract(d),
        "bfi" => bits::insert(d),
        "bmsk" => bits::mask(d),
        "szext" => bits::extend(d),
        "setp" => compare::set_predicate(d),
        "set" => compare::set(d),
        "selp" => compare::select(d),
        "slct" => compare::select_by_sign(d),
        "mov" => moves::mov(d),
        "cvt" => convert::cvt(d),
        "vadd" | "vsub" | "vabsdiff" | "vmin" | "vmax" => video::arithmetic(d),
        "vshl" | "vshr" => video::shift(d),
        "vset" => video::compare(d),
        "vmad" => video::multiply_add(d),
        root if root.starts_with('v') => video_simd::parallel(d),
        _ => None,
    }?;
    let fits = shaped.results == request.results && shaped.sources == request.sources;
    (fits && decoder.is_spent()).then_some(shaped.run)
}
