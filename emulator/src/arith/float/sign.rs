//! Operations on the bits of a float: `abs`, `neg`, `copysign`, `testp`.
//!
//! The ISA leaves the payload of a NaN that went through `abs` or `neg` open; it is kept here, and so `neg` undoes
//! itself.

use super::format::Format;
use super::map::{FloatType, Packing, map};
use super::qualifiers::Qualifiers;
use crate::arith::{Evaluator, Request};

/// The evaluator of `abs`, `neg`, `copysign` and `testp`.
pub fn evaluator(mut qualifiers: Qualifiers, request: &Request) -> Option<Evaluator> {
    let FloatType { format, packing } = qualifiers.take_first(FloatType::parse)?;
    let wide = format.bits() >= 32 && packing == Packing::Single;
    let sign = format.sign();
    if request.results != 1 {
        return None;
    }
    match (qualifiers.root, request.sources) {
        ("abs" | "neg", 1) => {
            let flushes = request.dialect.flushes && format == Format::F32;
            let flush = qualifiers.take("ftz") || flushes;
            let negate = qualifiers.root == "neg";
            qualifiers.is_empty().then(|| {
                map(packing, move |[a]: [u64; 1]| {
                    let a = if flush { format.flush(a) } else { a & format.mask() };
                    if negate { a ^ sign } else { a & !sign }
                })
            })
        }
        ("copysign", 2) if wide && qualifiers.is_empty() => {
            Some(map(packing, move |[a, b]: [u64; 2]| a & sign | b & format.magnitude()))
        }
        ("testp", 1) if wide => {
            let test = qualifiers.take_first(test)?;
            qualifiers
                .is_empty()
                .then(|| map(packing, move |[a]: [u64; 1]| u64::from(test(format, a & format.magnitude()))))
        }
        _ => None,
    }
}

/// The property named `word`, of the magnitude of a value.
fn test(word: &str) -> Option<fn(Format, u64) -> bool> {
    Some(match word {
        "finite" => |format, magnitude| magnitude < format.infinity(),
        "infinite" => |format, magnitude| magnitude == format.infinity(),
        "number" => |format, magnitude| magnitude <= format.infinity(),
        "notanumber" => |format, magnitude| magnitude > format.infinity(),
        // Zeros count as normal numbers.
        "normal" => |format, magnitude| {
            magnitude == 0 || (format.smallest_normal()..format.infinity()).contains(&magnitude)
        },
        "subnormal" => |format, magnitude| (1..format.smallest_normal()).contains(&magnitude),
        _ => return None,
    })
}
