//! `mma`: products of matrices whose fragments the ISA lays out.
//!
//! Sparse products (`mma.sp`) are not known.

use super::WarpEvaluator;
use super::element::Element;
use super::fragment::Filling;
use super::layout;
use super::multiply::{Arithmetic, Product, is_sum};
use super::scale::Scales;
use super::shape::Shape;
use crate::arith::float::format::{Format, Rounding};
use crate::arith::float::qualifiers::Qualifiers;

/// The evaluator of `mma.sync.aligned`, given how many registers of results and sources stand in the text, braces
/// flattened: A, B, C, then what block scaling adds. `None` where it is not known.
#[must_use]
pub fn mma(mnemonic: &str, results: usize, sources: usize) -> Option<WarpEvaluator> {
    let mut qualifiers = Qualifiers::split(mnemonic);
    if qualifiers.root != "mma" || !qualifiers.take("sync") || !qualifiers.take("aligned") {
        return None;
    }
    let shape = qualifiers.take_first(Shape::parse)?;
    let left_columns = take_layout(&mut qualifiers)?;
    let right_columns = take_layout(&mut qualifiers)?;
    let kind = qualifiers.take_first(|word| word.strip_prefix("kind::"));
    let scaled = qualifiers.take("block_scale");
    let vector = qualifiers.take_first(|word| word.strip_prefix("scale_vec::"));
    let rounding = qualifiers.take_rounding();
    let clamp = qualifiers.take("satfinite");
    let bits = take_bit_operation(&mut qualifiers);
    let (types, factor) = match *qualifiers.rest() {
        [d, a, b, c] if !scaled && vector.is_none() => ([a, b, c, d], None),
        [d, a, b, c, factor] if scaled => ([a, b, c, d], Some(factor)),
        _ => return None,
    };
    let elements = parse_all(types)?;
    let arithmetic = arithmetic(elements, rounding, clamp, bits)?;
    if kind.is_none() && !plain(elements, shape) || kind.is_some() && !narrow(elements, shape, kind?) {
        return None;
    }
    let scales = match factor {
        Some(factor) => Some(Scales::parse(kind?, vector, factor, shape)?),
        None if kind.is_none_or(|kind| kind == "f8f6f4") => None,
        None => return None,
    };
    let product = if shape.is(8, 8, 4) && elements[0] == Element::Float(Format::F16) {
        quad_pairs(elements, left_columns, right_columns)
    } else if !left_columns && right_columns {
        product(shape, elements, kind, scales)
    } else {
        return None;
    };
    product.evaluator(arithmetic, results, sources)
}

/// Takes `.row` or `.col`: whether it is the latter.
pub fn take_layout(qualifiers: &mut Qualifiers) -> Option<bool> {
    qualifiers.take_first(|word| match word {
        "row" => Some(false),
        "col" => Some(true),
        _ => None,
    })
}

/// Takes `.xor.popc` or `.and.popc`: whether it is the former.
pub fn take_bit_operation(qualifiers: &mut Qualifiers) -> Option<bool> {
    let different = qualifiers.take_first(|word| match word {
        "xor" => Some(true),
        "and" => Some(false),
        _ => None,
    })?;
    qualifiers.take("popc").then_some(different)
}

/// The element types named by `words`.
pub fn parse_all(words: [&str; 4]) -> Option<[Element; 4]> {
    let [a, b, c, d] = words.map(Element::parse);
    Some([a?, b?, c?, d?])
}

/// The arithmetic of products of `[A, B, C, D]`, if the types and modifiers go together.
pub fn arithmetic(
    elements: [Element; 4],
    rounding: Option<Rounding>,
    clamp: bool,
    bits: Option<bool>,
) -> Option<Arithmetic> {
    const DOUBLE: Element = Element::Float(Format::F64);
    const WORD: Element = Element::Integer { signed: true, bits: 32 };
    let [a, b, c, d] = elements;
    match (a, b) {
        (DOUBLE, DOUBLE) if c == DOUBLE && d == DOUBLE && !clamp && bits.is_none() => {
            Some(Arithmetic::Double(rounding.unwrap_or(Rounding::NearestEven)))
        }
        _ if rounding.is_some() => None,
        (Element::Bit, Element::Bit) if c == WORD && d == WORD && !clamp => {
            Some(Arithmetic::Bits { different: bits? })
        }
        _ if bits.is_some() => None,
        (Element::Integer { bits: left, .. }, Element::Integer { bits: right, .. })
            if left == right && left < 32 && c == WORD && d == WORD =>
        {
            Some(Arithmetic::Integer { clamp })
        }
        (Element::Float(_) | Element::Tf32, Element::Float(_) | Element::Tf32)
            if a != DOUBLE && b != DOUBLE && !clamp && is_sum(c) && is_sum(d) =>
        {
            Some(Arithmetic::Real)
        }
        _ => None,
    }
}

/// Whether a product without `.kind` of these types and shape exists.
fn plain(elements: [Element; 4], shape: Shape) -> bool {
    let [a, b, ..] = elements;
    let shapes: &[(usize, usize)] = match a {
        Element::Float(Format::F16) => &[(8, 4), (16, 8), (16, 16)],
        Element::Float(Format::BF16) => &[(16, 8), (16, 16)],
        Element::Tf32 => &[(16, 4), (16, 8)],
        Element::Float(Format::F64) => &[(8, 4), (16, 4), (16, 8), (16, 16)],
        Element::Float(Format::E4M3 | Format::E5M2) => &[(16, 16), (16, 32)],
        Element::Integer { bits: 8, .. } => &[(8, 16), (16, 16), (16, 32)],
        Element::Integer { bits: 4, .. } => &[(8, 32), (16, 32), (16, 64)],
        Element::Bit => &[(8, 128), (16, 128), (16, 256)],
        _ => &[],
    };
    let bytes = |element| matches!(element, Element::Float(Format::E4M3 | Format::E5M2));
    let integers = |element| matches!(element, Element::Integer { .. });
    let alike = a == b || bytes(a) && bytes(b) || integers(a) && integers(b);
    alike && shape.columns == 8 && shapes.contains(&(shape.rows, shape.depth))
}

/// Whether a product of these types and shape exists for `.kind::KIND`.
fn narrow(elements: [Element; 4], shape: Shape, kind: &str) -> bool {
    let [a, b, ..] = elements;
    let small = |element: Element| matches!(element, Element::Float(format) if format.bits() <= 8);
    match kind {
        "f8f6f4" | "mxf8f6f4" => small(a) && small(b) && shape.is(16, 8, 32),
        "mxf4" | "mxf4nvf4" => [a, b] == [Element::Float(Format::E2M1); 2] && shape.is(16, 8, 64),
        _ => false,
    }
}

/// How a fragment of `elements` elements a lane is filled. For `kind`s with bytes, narrower elements lie in bytes:
/// those of four bits in the middle, those of six at the bottom.
fn filling(element: Element, elements: usize, kind: Option<&str>) -> Filling {
    let bytes = kind.is_some_and(|kind| kind.ends_with("f8f6f4"));
    let padding = if bytes && element.bits() == 4 { 2 } else { 0 };
    let stride = if bytes { element.bits().max(8) } else { element.bits() };
    Filling { padding, ..Filling::dense(elements, stride) }
}

/// The product of every shape but `m8n8k4` of `f16`.
fn product(shape: Shape, elements: [Element; 4], kind: Option<&str>, scales: Option<Scales>) -> Product {
    let [a, b, c, d] = elements;
    // A register of bits is one element, so the depth counts registers.
    let depth = if a == Element::Bit { shape.depth / 32 } else { shape.depth };
    let sums = shape.rows * 8 / 32;
    Product {
        left: layout::left(shape.rows, depth, filling(a, shape.rows * depth / 32, kind)),
        right: layout::right(depth, filling(b, depth * 8 / 32, kind)),
        sum: layout::sum(shape.rows, Filling::dense(sums, c.bits())),
        result: layout::sum(shape.rows, Filling::dense(sums, d.bits())),
        batches: 1,
        elements,
        scales,
    }
}

/// The four products of `m8n8k4` of `f16`.
fn quad_pairs(elements: [Element; 4], left_columns: bool, right_columns: bool) -> Product {
    let [a, b, c, d] = elements;
    Product {
        left: layout::left_quad_pairs(Filling::dense(4, a.bits()), left_columns),
        right: layout::right_quad_pairs(Filling::dense(4, b.bits()), right_columns),
        sum: layout::sum_quad_pairs(Filling::dense(8, c.bits())),
        result: layout::sum_quad_pairs(Filling::dense(8, d.bits())),
        batches: layout::QUAD_PAIRS,
        elements,
        scales: None,
    }
}
