//! `wmma`: load, multiply and store through memory give the product, whatever the mapping is.

use super::super::{wmma, wmma_fragment};
use super::{BF16, BIT, BYTE, F16, F32, F64, Kind, Matrix, NIBBLE, TF32, WORD, evaluate, places};
use crate::lanes::{Lanes, WARP_SIZE};

/// A matrix in memory, one number an element, columns or rows `stride` elements apart.
fn memory(matrix: &Matrix, columns: bool, stride: usize) -> Vec<i64> {
    let mut memory = vec![99; stride * matrix.rows.max(matrix.columns)];
    for row in 0..matrix.rows {
        for column in 0..matrix.columns {
            memory[if columns { column * stride + row } else { row * stride + column }] =
                matrix.at((row, column));
        }
    }
    memory
}

fn load(mnemonic: &str, matrix: &Matrix, kind: Kind, stride: usize) -> Vec<Lanes> {
    let fragment = wmma_fragment(mnemonic).unwrap_or_else(|| panic!("{mnemonic} is not known"));
    assert_eq!((fragment.rows, fragment.columns), (matrix.rows, matrix.columns));
    assert_eq!(fragment.bits as usize, kind.bits);
    let memory = memory(matrix, fragment.column_major, stride);
    let mut registers = vec![[0; WARP_SIZE]; fragment.registers()];
    for (lane, element) in places(fragment.elements) {
        let (register, shift) = fragment.register(element);
        let value = memory[fragment.offset(lane, element, stride)];
        registers[register][lane] |= (kind.encode)(value) << shift;
    }
    registers
}

struct Case {
    shape: [usize; 3],
    /// Types of A and B, C, D, and their kinds.
    types: [&'static str; 3],
    kinds: [Kind; 3],
    range: (i64, i64),
    /// Registers of A, B, C, D.
    registers: [usize; 4],
}

fn check(case: &Case, layouts: [&str; 2], mnemonic: &str) {
    let [m, n, k] = case.shape;
    let shape = format!("m{m}n{n}k{k}");
    let [source, sum, result] = case.types;
    let (low, high) = case.range;
    let (a, b) = (Matrix::random(m, k, low, high, 7), Matrix::random(k, n, low, high, 8));
    let c = Matrix::random(m, n, -20, 20, 9);
    let stride = 48.max(k);
    let [left, right] = layouts;
    let sources = [
        load(&format!("wmma.load.a.sync.aligned.{left}.{shape}.{source}"), &a, case.kinds[0], stride),
        load(&format!("wmma.load.b.sync.aligned.{right}.{shape}.global.{source}"), &b, case.kinds[0], stride),
        load(&format!("wmma.load.c.sync.aligned.col.{shape}.shared.{sum}"), &c, case.kinds[1], stride),
    ];
    let counts = sources.each_ref().map(Vec::len);
    assert_eq!(counts, case.registers[..3], "{mnemonic}");
    let evaluator =
        wmma(mnemonic, case.registers[3], counts.iter().sum()).unwrap_or_else(|| panic!("{mnemonic}"));
    let got = evaluate(&evaluator, &sources, case.registers[3]);
    let store = wmma_fragment(&format!("wmma.store.d.sync.aligned.row.{shape}.{result}")).unwrap();
    let want = a.times_plus(&b, &c);
    let mut seen = vec![false; m * n];
    for (lane, element) in places(store.elements) {
        let (register, shift) = store.register(element);
        let place = store.place(lane, element);
        let mask = u64::MAX >> (64 - store.bits);
        let bits = got[register][lane] >> shift & mask;
        assert_eq!(bits, (case.kinds[2].encode)(want.at(place)), "{mnemonic} {place:?}");
        seen[store.offset(lane, element, store.dense_stride())] = true;
    }
    assert!(seen.iter().all(|&seen| seen), "{mnemonic} stores every element");
}

const SHAPES: [([usize; 3], [usize; 2]); 3] =
    [([16, 16, 16], [8, 8]), ([32, 8, 16], [8, 8]), ([8, 32, 16], [8, 8])];

#[test]
fn halves() {
    for (shape, [left, right]) in SHAPES {
        for (d, kind, results) in [("f16", F16, 4), ("f32", F32, 8)] {
            for (c, sum, sums) in [("f16", F16, 4), ("f32", F32, 8)] {
                let registers = [left, right, sums, results];
                let case =
                    Case { shape, types: ["f16", c, d], kinds: [F16, sum, kind], range: (-3, 3), registers };
                let [m, n, k] = shape;
                for layouts in [["row", "col"], ["col", "row"], ["row", "row"], ["col", "col"]] {
                    let [a, b] = layouts;
                    check(&case, layouts, &format!("wmma.mma.sync.aligned.{a}.{b}.m{m}n{n}k{k}.{d}.{c}"));
                }
            }
        }
    }
}

#[test]
fn other_floats() {
    for (shape, registers) in
        [([16, 16, 16], [4, 4, 8, 8]), ([32, 8, 16], [8, 2, 8, 8]), ([8, 32, 16], [2, 8, 8, 8])]
    {
        let [m, n, k] = shape;
        let case =
            Case { shape, types: ["bf16", "f32", "f32"], kinds: [BF16, F32, F32], range: (-3, 3), registers };
        check(
            &case,
            ["row", "row"],
            &format!("wmma.mma.sync.aligned.row.row.m{m}n{n}k{k}.f32.bf16.bf16.f32"),
        );
    }
    let case = Case {
        shape: [16, 16, 8],
        types: ["tf32", "f32", "f32"],
        kinds: [TF32, F32, F32],
        range: (-3, 3),
        registers: [4, 4, 8, 8],
    };
    check(&case, ["row", "col"], "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32");
    let case = Case {
        shape: [8, 8, 4],
        types: ["f64", "f64", "f64"],
        kinds: [F64; 3],
        range: (-3, 3),
        registers: [1, 1, 2, 2],
    };
    check(&case, ["row", "col"], "wmma.mma.sync.aligned.row.col.m8n8k4.rn.f64.f64.f64.f64");
    check(&case, ["col", "row"], "wmma.mma.sync.aligned.col.row.m8n8k4.f64.f64.f64.f64.rn");
}

#[test]
fn integers() {
    for (shape, registers) in
        [([16, 16, 16], [2, 2, 8, 8]), ([32, 8, 16], [4, 1, 8, 8]), ([8, 32, 16], [1, 4, 8, 8])]
    {
        let [m, n, k] = shape;
        for (name, range) in [("s8", (-128, 127)), ("u8", (0, 255))] {
            let case =
                Case { shape, types: [name, "s32", "s32"], kinds: [BYTE, WORD, WORD], range, registers };
            let mnemonic = format!("wmma.mma.sync.aligned.row.col.m{m}n{n}k{k}.s32.{name}.{name}.s32");
            check(&case, ["row", "col"], &mnemonic);
            check(&case, ["col", "row"], &format!("{mnemonic}.satfinite"));
        }
    }
    let registers = [1, 1, 2, 2];
    for (name, range) in [("s4", (-8, 7)), ("u4", (0, 15))] {
        let case = Case {
            shape: [8, 8, 32],
            types: [name, "s32", "s32"],
            kinds: [NIBBLE, WORD, WORD],
            range,
            registers,
        };
        check(&case, ["row", "col"], &format!("wmma.mma.sync.aligned.row.col.m8n8k32.s32.{name}.{name}.s32"));
    }
    let kinds = [BIT, WORD, WORD];
    let case = Case { shape: [8, 8, 128], types: ["b1", "s32", "s32"], kinds, range: (0, 1), registers };
    check(&case, ["row", "col"], "wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32");
}

#[test]
fn narrow_elements_share_a_register_as_they_share_memory() {
    for (mnemonic, per_word) in [
        ("wmma.load.a.sync.aligned.row.m8n8k32.s4", 8),
        ("wmma.load.b.sync.aligned.col.m8n8k32.u4", 8),
        ("wmma.load.a.sync.aligned.row.m8n8k128.b1", 32),
        ("wmma.load.b.sync.aligned.col.m8n8k128.b1", 32),
    ] {
        let fragment = wmma_fragment(mnemonic).unwrap();
        for (lane, element) in places(fragment.elements) {
            let first = fragment.offset(lane, element - element % per_word, 128);
            assert_eq!(first % per_word, 0, "{mnemonic}");
            assert_eq!(fragment.offset(lane, element, 128), first + element % per_word, "{mnemonic}");
        }
    }
}

#[test]
fn what_does_not_exist_is_not_known() {
    assert!(wmma("wmma.mma.sync.aligned.row.col.m16n16k16.f32.s8.s8.f32", 8, 12).is_none());
    assert!(wmma("wmma.mma.sync.aligned.row.col.m16n16k8.f32.f32", 8, 24).is_none());
    assert!(wmma("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", 8, 23).is_none());
    assert!(wmma("wmma.mma.sync.aligned.row.col.m16n16k8.f16.tf32.tf32.f32", 4, 16).is_none());
    assert!(wmma("wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f16", 8, 12).is_none());
    for mnemonic in [
        "wmma.load.a.sync.aligned.row.m16n16k16.f64",
        "wmma.store.d.sync.aligned.row.m16n16k16.s8",
        "wmma.load.a.row.m16n16k16.f16",
    ] {
        assert!(wmma_fragment(mnemonic).is_none(), "{mnemonic}");
    }
}
