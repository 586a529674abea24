//! `ldmatrix`, `stmatrix`, `movmatrix`.

use super::super::{matrix_move, movmatrix};
use super::evaluate;
use crate::lanes::{Lanes, WARP_SIZE};

/// Loads from memory where each lane's address begins a row of its own: `row(lane, bit)` is a bit of it.
fn load(mnemonic: &str, row: impl Fn(usize, usize) -> bool) -> Vec<Lanes> {
    let moved = matrix_move(mnemonic).unwrap_or_else(|| panic!("{mnemonic} is not known"));
    let mut registers = vec![[0; WARP_SIZE]; moved.registers];
    let pieces =
        (0..WARP_SIZE).flat_map(|lane| moved.pieces(lane).into_iter().map(move |piece| (lane, piece)));
    for (lane, piece) in pieces {
        assert!(piece.address_lane < moved.addresses);
        assert!(piece.offset + piece.bits as usize <= 8 * moved.row_bytes);
        for bit in 0..piece.bits {
            let set = row(piece.address_lane, piece.offset + bit as usize);
            registers[piece.register][lane] |= u64::from(set) << (piece.shift + bit);
        }
    }
    registers
}

/// A row of halves, the half in column `c` of row `r` being `100 * r + c`.
fn halves(row: usize, bit: usize) -> bool {
    (100 * row + bit / 16) >> (bit % 16) & 1 == 1
}

fn half(row: usize, column: usize) -> u64 {
    (100 * row + column) as u64
}

#[test]
fn rows_of_halves() {
    for count in [1, 2, 4] {
        let name = format!("ldmatrix.sync.aligned.m8n8.x{count}.shared.b16");
        let registers = load(&name, halves);
        assert_eq!(registers.len(), count);
        assert_eq!(matrix_move(&name).unwrap().addresses, 8 * count);
        for (matrix, register) in registers.iter().enumerate() {
            for (lane, &cell) in register.iter().enumerate() {
                let (row, column) = (8 * matrix + lane / 4, lane % 4 * 2);
                assert_eq!(cell, half(row, column) | half(row, column + 1) << 16, "{name} {lane}");
            }
        }
        assert_eq!(matrix_move(&name.replace("ld", "st")), matrix_move(&name));
    }
}

#[test]
fn transposed_halves() {
    let registers = load("ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16", halves);
    for (matrix, register) in registers.iter().enumerate() {
        for (lane, &cell) in register.iter().enumerate() {
            let (row, column) = (8 * matrix + lane % 4 * 2, lane / 4);
            assert_eq!(cell, half(row, column) | half(row + 1, column) << 16, "{lane}");
        }
    }
}

#[test]
fn transposed_bytes() {
    // Byte c of row r is 16 * (r % 16) + c.
    let bytes = |row: usize, bit: usize| (16 * (row % 16) + bit / 8) >> (bit % 8) & 1 == 1;
    for count in [1, 2] {
        let registers = load(&format!("ldmatrix.sync.aligned.m16n16.x{count}.trans.shared.b8"), bytes);
        assert_eq!(registers.len(), 2 * count);
        for (index, register) in registers.iter().enumerate() {
            for (lane, &cell) in register.iter().enumerate() {
                // A lane has four columns of two rows of the transposed matrix.
                let (row, column) = (lane / 4 + 8 * (index % 2), lane % 4 * 4);
                let want = (0..4).fold(0, |word, e| word | ((16 * (column + e) + row) as u64) << (8 * e));
                assert_eq!(cell, want, "{index} {lane}");
            }
        }
    }
}

#[test]
fn packed_elements_become_bytes() {
    // Element c of a row is c: 16 of four bits, or 16 of six bits, packed.
    let packed = |width: usize| move |_: usize, bit: usize| (bit / width) >> (bit % width) & 1 == 1;
    let nibbles = load("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b4x16_p64", packed(4));
    let sixes = load("ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32", packed(6));
    assert_eq!((nibbles.len(), sixes.len()), (4, 1));
    for lane in 0..WARP_SIZE {
        let elements =
            |shift: usize| (0..4).fold(0, |word, e| word | ((lane % 4 * 4 + e) as u64) << (8 * e + shift));
        assert!(nibbles.iter().all(|register| register[lane] == elements(2)));
        assert_eq!(sixes[0][lane], elements(0));
    }
    let transposed = load("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16.b6x16_p32", packed(6));
    for (lane, &cell) in transposed[1].iter().enumerate() {
        assert_eq!(cell, (lane as u64 / 4 + 8) * 0x0101_0101);
    }
}

#[test]
fn transposition() {
    let source: Lanes =
        std::array::from_fn(|lane| half(lane / 4, lane % 4 * 2) | half(lane / 4, lane % 4 * 2 + 1) << 16);
    let evaluator = movmatrix("movmatrix.sync.aligned.m8n8.trans.b16", 1, 1).unwrap();
    let got = evaluate(&evaluator, &[vec![source]], 1);
    for (lane, &cell) in got[0].iter().enumerate() {
        let (row, column) = (lane / 4, lane % 4 * 2);
        assert_eq!(cell, half(column, row) | half(column + 1, row) << 16);
    }
    let again = evaluate(&evaluator, std::slice::from_ref(&got), 1);
    assert_eq!(again, [source]);
}

#[test]
fn what_does_not_exist_is_not_known() {
    for mnemonic in [
        "ldmatrix.sync.aligned.m8n8.x3.shared.b16",
        "ldmatrix.sync.aligned.m16n16.x4.trans.shared.b8",
        "ldmatrix.sync.aligned.m16n16.x1.shared.b8",
        "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8",
        "ldmatrix.sync.aligned.m8n16.x1.trans.shared.b8x16.b6x16_p32",
        "stmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32",
        "movmatrix.sync.aligned.m8n8.trans.b16",
    ] {
        assert!(matrix_move(mnemonic).is_none(), "{mnemonic}");
    }
    for (results, sources) in [(1, 2), (2, 1)] {
        assert!(movmatrix("movmatrix.sync.aligned.m8n8.trans.b16", results, sources).is_none());
    }
}
