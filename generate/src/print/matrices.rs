//! Products of matrices by whole warps.

use super::Writer;
use crate::tree::{Class, Def, Operand};

/// A shape of `mma.sync`.
struct Shape {
    /// What follows `mma.sync.aligned.`.
    name: &'static str,
    /// First architecture that has it.
    arch_min: u32,
    /// Registers of the two factors and of the sum.
    registers: [usize; 3],
    /// The class of the sum.
    class: Class,
}

/// Sums of integers are exact. The floats are the sixteen smallest numbers of `f16`, so that sums of their products
/// are exact too: the ISA leaves the order and the rounding of the others open.
const SHAPES: [Shape; 5] = [
    Shape { name: "m16n8k16.row.col.s32.s8.u8.s32", arch_min: 80, registers: [2, 1, 4], class: Class::R },
    Shape { name: "m8n8k16.row.col.s32.u8.s8.s32", arch_min: 75, registers: [1, 1, 2], class: Class::R },
    Shape {
        name: "m16n8k16.row.col.satfinite.s32.s8.s8.s32",
        arch_min: 80,
        registers: [2, 1, 4],
        class: Class::R,
    },
    Shape {
        name: "m16n8k256.row.col.s32.b1.b1.s32.xor.popc",
        arch_min: 80,
        registers: [4, 2, 4],
        class: Class::R,
    },
    Shape { name: "m16n8k8.row.col.f32.f16.f16.f32", arch_min: 75, registers: [2, 1, 4], class: Class::F },
];

/// The class of the results of a shape.
pub(crate) fn result_class(which: u8) -> Class {
    shape(which).class
}

fn shape(which: u8) -> &'static Shape {
    &SHAPES[usize::from(which) % SHAPES.len()]
}

impl Writer<'_> {
    /// A product; nothing where the architecture has none of the shape.
    pub fn matrix_product(&mut self, which: u8, sources: &[Operand], defs: &[Def]) {
        let Shape { name, arch_min, registers, class } = *shape(which);
        if self.program.arch < arch_min {
            return;
        }
        let mut sources = sources.iter().copied().chain(std::iter::repeat(Operand::Imm(3)));
        let [a, b, c] = registers.map(|count| sources.by_ref().take(count).collect::<Vec<Operand>>());
        let (a, b) = (self.factor(&a, class), self.factor(&b, class));
        let sum: Vec<String> = match class {
            Class::R => c.iter().map(|&operand| self.operand(operand, Class::R, '=')).collect(),
            _ => c.iter().map(|_| self.operand(Operand::Imm(0), class, '=')).collect(),
        };
        let defs: Vec<Def> =
            (0..registers[2]).map(|at| defs.get(at).copied().unwrap_or(Def::Nowhere)).collect();
        let defs = self.definitions(&defs, &vec![(class, false); registers[2]]);
        let list = |registers: &[String]| format!("{{{}}}", registers.join(", "));
        let operands = [&defs, &a, &b, &sum].map(|registers| list(registers)).join(", ");
        self.line(format!("mma.sync.aligned.{name} {operands};"));
    }

    fn factor(&mut self, operands: &[Operand], class: Class) -> Vec<String> {
        let mut registers = Vec::new();
        for &operand in operands {
            let register = self.operand(operand, Class::R, '=');
            registers.push(if class == Class::R {
                register
            } else {
                let small = self.temp(Class::R);
                self.line(format!("and.b32 {small}, {register}, 0x000f000f;"));
                small
            });
        }
        registers
    }
}
