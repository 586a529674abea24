//! `wmma`: products of matrices whose fragments the ISA leaves open.
//!
//! One mapping is used for all: the elements of A, C and D are numbered row by row, those of B column by column, and
//! each lane takes as many consecutive ones as its fragment has; where a fragment has more elements than the matrix (A
//! and B of `f16` always have 16 a lane), the numbering starts again and the elements are there several times. So
//! elements narrower than a byte share a register exactly when they share a word of memory. The mapping depends neither
//! on the memory layout nor on the type, but for the number of elements.

use super::WarpEvaluator;
use super::element::Element;
use super::fragment::{Filling, Fragment};
use super::mma::{arithmetic, parse_all, take_bit_operation, take_layout};
use super::multiply::Product;
use super::shape::Shape;
use crate::arith::float::format::Format;
use crate::arith::float::qualifiers::Qualifiers;
use crate::lanes::WARP_SIZE;

/// The role of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Left,
    Right,
    Sum,
}

/// A fragment of `wmma.load` or `wmma.store`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WmmaFragment {
    /// Rows of the matrix.
    pub rows: usize,
    /// Columns of the matrix.
    pub columns: usize,
    /// Elements of a lane.
    pub elements: usize,
    /// Bits of an element.
    pub bits: u32,
    /// Whether the matrix lies in memory column by column.
    pub column_major: bool,
    role: Role,
}

impl WmmaFragment {
    fn new(shape: Shape, role: Role, element: Element, column_major: bool) -> Option<Self> {
        let (rows, columns) = match role {
            Role::Left => (shape.rows, shape.depth),
            Role::Right => (shape.depth, shape.columns),
            Role::Sum => (shape.rows, shape.columns),
        };
        let elements = match (role, element) {
            (Role::Left | Role::Right, Element::Float(Format::F16)) => 16,
            _ => rows * columns / WARP_SIZE,
        };
        let bits = if element == Element::Bit { 1 } else { element.bits() };
        Some(Self { rows, columns, elements, bits, column_major, role })
    }

    /// Registers of a lane.
    #[must_use]
    pub fn registers(&self) -> usize {
        self.filling().registers
    }

    /// The register of element `element`, and its lowest bit in it.
    #[must_use]
    pub fn register(&self, element: usize) -> (usize, u32) {
        let Filling { per_register, stride, .. } = self.filling();
        (element / per_register, (element % per_register) as u32 * stride)
    }

    /// Row and column of element `element` of `lane`.
    #[must_use]
    pub fn place(&self, lane: usize, element: usize) -> (usize, usize) {
        let number = (lane * self.elements + element) % (self.rows * self.columns);
        match self.role {
            Role::Right => (number % self.rows, number / self.rows),
            Role::Left | Role::Sum => (number / self.columns, number % self.columns),
        }
    }

    /// Where element `element` of `lane` lies in memory, counted in elements from the address, when consecutive rows
    /// (columns, if column-major) lie `stride` elements apart.
    #[must_use]
    pub fn offset(&self, lane: usize, element: usize, stride: usize) -> usize {
        let (row, column) = self.place(lane, element);
        if self.column_major { column * stride + row } else { row * stride + column }
    }

    /// The stride where the text gives none: the matrix is dense.
    #[must_use]
    pub fn dense_stride(&self) -> usize {
        if self.column_major { self.rows } else { self.columns }
    }

    fn filling(&self) -> Filling {
        Filling::dense(self.elements, self.bits)
    }

    /// The fragment as the matrix that is multiplied. Bits are taken by the register, so that their matrices are
    /// 32 times shallower.
    fn matrix(&self) -> Fragment {
        if self.bits > 1 {
            return Fragment::new(self.rows, self.columns, self.filling(), |lane, element| {
                self.place(lane, element)
            });
        }
        let registers = Filling::dense(self.registers(), 32);
        let place = |lane: usize, register: usize| self.place(lane, 32 * register);
        match self.role {
            Role::Right => Fragment::new(self.rows / 32, self.columns, registers, |lane, register| {
                let (row, column) = place(lane, register);
                (row / 32, column)
            }),
            Role::Left | Role::Sum => {
                Fragment::new(self.rows, self.columns / 32, registers, |lane, register| {
                    let (row, column) = place(lane, register);
                    (row, column / 32)
                })
            }
        }
    }
}

/// The fragment that `wmma.load.{a,b,c}` fills or `wmma.store.d` writes.
#[must_use]
pub fn wmma_fragment(mnemonic: &str) -> Option<WmmaFragment> {
    let mut qualifiers = Qualifiers::split(mnemonic);
    if qualifiers.root != "wmma" {
        return None;
    }
    let role = match (qualifiers.take("load"), qualifiers.take("store")) {
        (true, false) => qualifiers.take_first(|word| match word {
            "a" => Some(Role::Left),
            "b" => Some(Role::Right),
            "c" => Some(Role::Sum),
            _ => None,
        })?,
        (false, true) if qualifiers.take("d") => Role::Sum,
        _ => return None,
    };
    let aligned = qualifiers.take("sync") && qualifiers.take("aligned");
    let column_major = take_layout(&mut qualifiers)?;
    let shape = qualifiers.take_first(Shape::parse)?;
    let _space = qualifiers.take_first(|word| {
        matches!(word, "global" | "shared" | "shared::cta" | "shared::cluster").then_some(word)
    });
    let element = qualifiers.take_first(Element::parse)?;
    if !aligned || !qualifiers.is_empty() {
        return None;
    }
    let known = match role {
        Role::Sum => sum_shape(shape, element),
        Role::Left | Role::Right => source_shape(shape, element),
    };
    known.then(|| WmmaFragment::new(shape, role, element, column_major))?
}

/// Whether `wmma` multiplies elements of this type in this shape.
fn source_shape(shape: Shape, element: Element) -> bool {
    let wide = shape.is(16, 16, 16) || shape.is(8, 32, 16) || shape.is(32, 8, 16);
    match element {
        Element::Float(Format::F16 | Format::BF16) | Element::Integer { bits: 8, .. } => wide,
        Element::Tf32 => shape.is(16, 16, 8),
        Element::Float(Format::F64) => shape.is(8, 8, 4),
        Element::Integer { bits: 4, .. } => shape.is(8, 8, 32),
        Element::Bit => shape.is(8, 8, 128),
        _ => false,
    }
}

/// Whether `wmma` sums in this type in this shape.
fn sum_shape(shape: Shape, element: Element) -> bool {
    let wide = shape.is(16, 16, 16) || shape.is(8, 32, 16) || shape.is(32, 8, 16);
    match element {
        Element::Float(Format::F16) => wide,
        Element::Float(Format::F32) => wide || shape.is(16, 16, 8),
        Element::Float(Format::F64) => shape.is(8, 8, 4),
        Element::Integer { bits: 32, .. } => wide || shape.is(8, 8, 32) || shape.is(8, 8, 128),
        _ => false,
    }
}

/// The evaluator of `wmma.mma.sync.aligned`, given how many registers of results and sources (A, B, C) stand in the
/// text, braces flattened. `None` where it is not known.
#[must_use]
pub fn wmma(mnemonic: &str, results: usize, sources: usize) -> Option<WarpEvaluator> {
    let mut qualifiers = Qualifiers::split(mnemonic);
    if qualifiers.root != "wmma" || !qualifiers.take("mma") {
        return None;
    }
    if !qualifiers.take("sync") || !qualifiers.take("aligned") {
        return None;
    }
    // The layouts say how the fragments were loaded, on which the mapping does not depend.
    take_layout(&mut qualifiers)?;
    take_layout(&mut qualifiers)?;
    let shape = qualifiers.take_first(Shape::parse)?;
    let rounding = qualifiers.take_rounding();
    let clamp = qualifiers.take("satfinite");
    let bits = take_bit_operation(&mut qualifiers);
    let types = match *qualifiers.rest() {
        [d, c] => ["f16", "f16", c, d],
        [d, a, b, c] => [a, b, c, d],
        _ => return None,
    };
    let elements = parse_all(types)?;
    let [a, b, c, d] = elements;
    let arithmetic = arithmetic(elements, rounding, clamp, bits)?;
    let same = a == b && source_shape(shape, a);
    if !same || !sum_shape(shape, c) || !sum_shape(shape, d) {
        return None;
    }
    let matrix = |role, element| Some(WmmaFragment::new(shape, role, element, false)?.matrix());
    let product = Product {
        left: matrix(Role::Left, a)?,
        right: matrix(Role::Right, b)?,
        sum: matrix(Role::Sum, c)?,
        result: matrix(Role::Sum, d)?,
        batches: 1,
        elements,
        scales: None,
    };
    product.evaluator(arithmetic, results, sources)
}
