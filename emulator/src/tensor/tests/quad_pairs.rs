//! `m8n8k4` of halves: four products, each of eight lanes.

use super::{F16, F32, Kind, Matrix, deal, evaluate, mma};

/// The ISA's places in the product that `lane` belongs to.
fn left(lane: usize, i: usize, columns: bool) -> (usize, usize) {
    match (columns, lane < 16) {
        (false, true) => (lane % 4, i),
        (false, false) => (lane % 4 + 4, i),
        (true, true) => (i % 4, lane % 4),
        (true, false) => (i % 4 + 4, lane % 4),
    }
}

fn right(lane: usize, i: usize, columns: bool) -> (usize, usize) {
    match (columns, lane < 16) {
        (false, true) => (lane % 4, i),
        (false, false) => (lane % 4, i + 4),
        (true, true) => (i, lane % 4),
        (true, false) => (i, lane % 4 + 4),
    }
}

fn half_sum(lane: usize, i: usize) -> (usize, usize) {
    (if lane < 16 { lane % 4 } else { lane % 4 + 4 }, i)
}

fn single_sum(lane: usize, i: usize) -> (usize, usize) {
    let row = (lane & 1) + (i & 2);
    (if lane < 16 { row } else { row + 4 }, (i & 4) + (lane & 2) + (i & 1))
}

#[test]
fn four_products() {
    type Place = fn(usize, usize) -> (usize, usize);
    let sums: [(&str, Kind, Place); 2] = [("f16", F16, half_sum), ("f32", F32, single_sum)];
    for (left_name, left_columns) in [("row", false), ("col", true)] {
        for (right_name, right_columns) in [("row", false), ("col", true)] {
            for (d, result_kind, result_place) in sums {
                for (c, sum_kind, sum_place) in sums {
                    let name = format!("mma.sync.aligned.m8n8k4.{left_name}.{right_name}.{d}.f16.f16.{c}");
                    // Threads 4q to 4q + 3 and 16 + 4q to 19 + 4q compute product q.
                    let product = |lane: usize| lane % 16 / 4;
                    let a = Matrix::random(32, 4, -3, 3, 1);
                    let b = Matrix::random(16, 8, -3, 3, 2);
                    let s = Matrix::random(32, 8, -9, 9, 3);
                    let below = |(row, column), lane, height| (height * product(lane) + row, column);
                    let sources = [
                        deal(&a, F16, 4, |lane, i| below(left(lane, i, left_columns), lane, 8)),
                        deal(&b, F16, 4, |lane, i| below(right(lane, i, right_columns), lane, 4)),
                        deal(&s, sum_kind, 8, |lane, i| below(sum_place(lane, i), lane, 8)),
                    ];
                    let mut values = Vec::new();
                    for q in 0..4 {
                        let part = |matrix: &Matrix, rows: usize| Matrix {
                            rows,
                            columns: matrix.columns,
                            values: matrix.values[q * rows * matrix.columns..][..rows * matrix.columns]
                                .to_vec(),
                        };
                        values.extend(part(&a, 8).times_plus(&part(&b, 4), &part(&s, 8)).values);
                    }
                    let product = Matrix { rows: 32, columns: 8, values };
                    let want =
                        deal(&product, result_kind, 8, |lane, i| below(result_place(lane, i), lane, 8));
                    assert_eq!(
                        evaluate(&mma(&name, want.len(), &sources), &sources, want.len()),
                        want,
                        "{name}"
                    );
                }
            }
        }
    }
}
