//! `ldmatrix`, `stmatrix` and `movmatrix`: matrices between shared memory and fragments, and transposed.
//!
//! Every row of a matrix in memory has an address of its own, which a lane gives: lane `8 * j + r` row `r` of matrix `j`
//! of eight rows, lane `16 * j + r` of one of 16 rows. The pieces of a [`MatrixMove`] say for each lane which bits,
//! counted from which lane's address, are which bits of its registers.
//!
//! Elements of four bits (`b4x16_p64`) and six bits (`b6x16_p32`) lie packed from the address on and become bytes: six
//! bits at the bottom, four in the middle, where `mma` expects them.
//!
//! `stmatrix` of `.m16n8` is not known: its fragment layout stands in a figure alone.

use super::WarpEvaluator;
use crate::arith::float::qualifiers::Qualifiers;

/// Bits of a row in memory that are bits of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixPiece {
    /// The lane whose address is meant.
    pub address_lane: usize,
    /// The first bit, counted from the address; bit `8 * n` is the lowest of byte `n`.
    pub offset: usize,
    /// How many bits. Of pieces narrower than a byte, some lie across a byte's end.
    pub bits: u32,
    /// The register.
    pub register: usize,
    /// The lowest bit in the register.
    pub shift: u32,
}

/// What `ldmatrix` or `stmatrix` moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixMove {
    /// Registers of a lane.
    pub registers: usize,
    /// Bytes of a row in memory, padding included; addresses are multiples of it.
    pub row_bytes: usize,
    /// Lanes whose address is used, from the first.
    pub addresses: usize,
    kind: Kind,
}

/// How a matrix lies in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Eight rows of eight elements of 16 bits: a lane has two elements of a row, or, transposed, of a column.
    Halves { transposed: bool },
    /// 16 rows of 16 elements, transposed: a lane has four elements of two columns.
    Columns { bits: u32 },
    /// Eight rows of 16 elements: a lane has four elements of a row.
    Rows { bits: u32 },
}

impl MatrixMove {
    /// The pieces of `lane`, which together fill its registers; bits that no piece fills are zero.
    #[must_use]
    pub fn pieces(&self, lane: usize) -> Vec<MatrixPiece> {
        let (group, thread) = (lane / 4, lane % 4);
        let mut pieces = Vec::new();
        for register in 0..self.registers {
            match self.kind {
                Kind::Halves { transposed: false } => pieces.push(MatrixPiece {
                    address_lane: 8 * register + group,
                    offset: 32 * thread,
                    bits: 32,
                    register,
                    shift: 0,
                }),
                Kind::Halves { transposed: true } => pieces.extend((0..2).map(|half| MatrixPiece {
                    address_lane: 8 * register + 2 * thread + half,
                    offset: 16 * group,
                    bits: 16,
                    register,
                    shift: 16 * half as u32,
                })),
                Kind::Columns { bits } => pieces.extend((0..4).map(|element| MatrixPiece {
                    address_lane: 16 * (register / 2) + 4 * thread + element,
                    offset: (group + 8 * (register % 2)) * bits as usize,
                    bits,
                    register,
                    shift: byte_shift(element, bits),
                })),
                Kind::Rows { bits } => pieces.extend((0..4).map(|element| MatrixPiece {
                    address_lane: 8 * register + group,
                    offset: (4 * thread + element) * bits as usize,
                    bits,
                    register,
                    shift: byte_shift(element, bits),
                })),
            }
        }
        pieces
    }
}

/// The lowest bit of an element of `bits` bits in byte `byte` of a register.
fn byte_shift(byte: usize, bits: u32) -> u32 {
    8 * byte as u32 + if bits == 4 { 2 } else { 0 }
}

/// What `ldmatrix` or `stmatrix` moves; `None` where it is not known.
#[must_use]
pub fn matrix_move(mnemonic: &str) -> Option<MatrixMove> {
    let mut qualifiers = Qualifiers::split(mnemonic);
    let loads = match qualifiers.root {
        "ldmatrix" => true,
        "stmatrix" => false,
        _ => return None,
    };
    if !qualifiers.take("sync") || !qualifiers.take("aligned") {
        return None;
    }
    let shape = qualifiers.take_first(|word| matches!(word, "m8n8" | "m16n16" | "m8n16").then_some(word))?;
    let count: usize = qualifiers.take_first(|word| word.strip_prefix('x')?.parse().ok())?;
    let transposed = qualifiers.take("trans");
    let _space = qualifiers.take_first(|word| matches!(word, "shared" | "shared::cta").then_some(word));
    let (kind, rows, registers) = match (shape, qualifiers.rest()) {
        ("m8n8", ["b16"]) => (Kind::Halves { transposed }, 8, 1),
        ("m16n16", types) if loads && transposed && count <= 2 => {
            (Kind::Columns { bits: bytes(types)? }, 16, 2)
        }
        ("m8n16", types @ [_, _]) if loads && !transposed => (Kind::Rows { bits: bytes(types)? }, 8, 1),
        _ => return None,
    };
    let known = matches!(count, 1 | 2 | 4);
    known.then(|| MatrixMove { registers: registers * count, row_bytes: 16, addresses: rows * count, kind })
}

/// The bits in memory of elements that are bytes in registers.
fn bytes(types: &[&str]) -> Option<u32> {
    match types {
        ["b8"] => Some(8),
        ["b8x16", "b6x16_p32"] => Some(6),
        ["b8x16", "b4x16_p64"] => Some(4),
        _ => None,
    }
}

/// The evaluator of `movmatrix`: one register in, the transposed matrix in one register out.
#[must_use]
pub fn movmatrix(mnemonic: &str, results: usize, sources: usize) -> Option<WarpEvaluator> {
    let known = mnemonic == "movmatrix.sync.aligned.m8n8.trans.b16" && results == 1 && sources == 1;
    known.then(|| -> WarpEvaluator {
        Box::new(|sources, results| {
            // Element (row, column) lies in lane `4 * row + column / 2`, in the half that `column` is odd or even for.
            let element =
                |row: usize, column: usize| sources[0][4 * row + column / 2] >> (16 * (column % 2)) & 0xFFFF;
            for (lane, result) in results[0].iter_mut().enumerate() {
                let (row, column) = (lane / 4, 2 * (lane % 4));
                *result = element(column, row) | element(column + 1, row) << 16;
            }
        })
    })
}
