//! The operations against a set of positions, every kernel against plain words, the matrix against a list of
//! sets.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Long enough for two rounds of the widest kernel, single vectors and words after them.
const WORD_COUNT_MAX: usize = 85;

/// Words that make tests fail: sparse, full, empty and random ones side by side.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        3 => Just(0),
        2 => Just(u64::MAX),
        3 => any::<u64>(),
        3 => (0..64_u32).prop_map(|bit| 1 << bit),
        1 => (0..64_u32).prop_map(|bit| !(1 << bit)),
    ]
}

fn words(word_count: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(word(), word_count)
}

/// Any length, and often one that has a loop of its own.
fn length() -> impl Strategy<Value = usize> {
    prop_oneof![2 => 0..=WORD_COUNT_MAX, 1 => prop::sample::select(vec![1, 4, 8, 16, 64])]
}

/// Four rows of one length, and for each how many words past a cache line it starts.
fn equal_rows() -> impl Strategy<Value = [Placed; 4]> {
    length().prop_flat_map(|word_count| {
        let placed =
            || (words(word_count), 0..8_usize).prop_map(|(words, offset)| Placed::new(&words, offset));
        [placed(), placed(), placed(), placed()]
    })
}

/// Four rows, each of its own length.
fn unequal_rows() -> impl Strategy<Value = [Vec<u64>; 4]> {
    let row = || length().prop_flat_map(words);
    [row(), row(), row(), row()]
}

/// A row at a chosen distance from a cache line.
#[derive(Clone, Debug)]
struct Placed {
    slab: BitMatrix,
    offset: usize,
    word_count: usize,
}

impl Placed {
    fn new(words: &[u64], offset: usize) -> Self {
        let mut slab = BitMatrix::with_shape(1, (words.len() + offset) * WORD_BITS + 512);
        slab.row_mut(0)[offset..][..words.len()].copy_from_slice(words);
        Placed { slab, offset, word_count: words.len() }
    }

    fn row(&self) -> &[u64] {
        &self.slab.row(0)[self.offset..][..self.word_count]
    }

    fn row_mut(&mut self) -> &mut [u64] {
        &mut self.slab.row_mut(0)[self.offset..][..self.word_count]
    }

    /// Everything, so that a store outside of the row shows.
    fn whole(&self) -> &[u64] {
        self.slab.row(0)
    }
}

impl std::fmt::Debug for BitMatrix {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.rows()).finish()
    }
}

/// The operations that write a row, by name; `None` for those that do not say whether something changed.
type Update = fn(Kernel, &mut [u64], &[u64], &[u64], &[u64]) -> Option<bool>;
const UPDATES: [(&str, Update); 10] = [
    ("or", |kernel, dst, a, _, _| {
        kernel.or(dst, a);
        None
    }),
    ("or_if_changed", |kernel, dst, a, _, _| Some(kernel.or_if_changed(dst, a))),
    ("and", |kernel, dst, a, _, _| {
        kernel.and(dst, a);
        None
    }),
    ("and_if_changed", |kernel, dst, a, _, _| Some(kernel.and_if_changed(dst, a))),
    ("and_not", |kernel, dst, a, _, _| {
        kernel.and_not(dst, a);
        None
    }),
    ("xor", |kernel, dst, a, _, _| {
        kernel.xor(dst, a);
        None
    }),
    ("assign_and", |kernel, dst, a, b, _| {
        kernel.assign_and(dst, a, b);
        None
    }),
    ("or_and_not", |kernel, dst, a, b, c| {
        kernel.or_and_not(dst, a, b, c);
        None
    }),
    ("or_and_not_if_changed", |kernel, dst, a, b, c| Some(kernel.or_and_not_if_changed(dst, a, b, c))),
    ("transfer_if_changed", |kernel, dst, a, b, c| Some(kernel.transfer_if_changed(dst, a, b, c))),
];

/// The same as functions of this module, which choose by width.
type FreeUpdate = fn(&mut [u64], &[u64], &[u64], &[u64]) -> Option<bool>;
const FREE_UPDATES: [(&str, FreeUpdate); 10] = [
    ("or", |dst, a, _, _| {
        or(dst, a);
        None
    }),
    ("or_if_changed", |dst, a, _, _| Some(or_if_changed(dst, a))),
    ("and", |dst, a, _, _| {
        and(dst, a);
        None
    }),
    ("and_if_changed", |dst, a, _, _| Some(and_if_changed(dst, a))),
    ("and_not", |dst, a, _, _| {
        and_not(dst, a);
        None
    }),
    ("xor", |dst, a, _, _| {
        xor(dst, a);
        None
    }),
    ("assign_and", |dst, a, b, _| {
        assign_and(dst, a, b);
        None
    }),
    ("or_and_not", |dst, a, b, c| {
        or_and_not(dst, a, b, c);
        None
    }),
    ("or_and_not_if_changed", |dst, a, b, c| Some(or_and_not_if_changed(dst, a, b, c))),
    ("transfer_if_changed", |dst, a, b, c| Some(transfer_if_changed(dst, a, b, c))),
];

type Set = BTreeSet<usize>;

/// Bit by bit, on purpose: shares nothing with what it is compared with.
fn set_of(row: &[u64]) -> Set {
    (0..row.len() * 64).filter(|bit| (row[bit / 64] >> (bit % 64)) & 1 == 1).collect()
}

/// What `operation` makes of the sets, as mathematics has it.
fn model(operation: &str, dst: &Set, a: &Set, b: &Set, c: &Set) -> Set {
    match operation {
        "or" | "or_if_changed" => dst | a,
        "and" | "and_if_changed" => dst & a,
        "and_not" => dst - a,
        "xor" => dst ^ a,
        "assign_and" => a & b,
        "or_and_not" | "or_and_not_if_changed" => &(dst | a) | &(b - c),
        "transfer_if_changed" => a | &(b - c),
        _ => unreachable!("{operation} has no model"),
    }
}

/// Checks one result: what the model has, cut to the row, and the flag.
fn check_update(
    operation: &str,
    before: &[u64],
    after: &[u64],
    answer: Option<bool>,
    [a, b, c]: [&[u64]; 3],
) -> Result<(), TestCaseError> {
    let mut expected = model(operation, &set_of(before), &set_of(a), &set_of(b), &set_of(c));
    expected.retain(|&bit| bit < before.len() * 64);
    prop_assert_eq!(set_of(after), expected, "{}", operation);
    prop_assert_eq!(answer.is_some(), operation.ends_with("if_changed"));
    if let Some(changed) = answer {
        prop_assert_eq!(changed, before != after, "{}: the answer", operation);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// The twin test: on rows of one length, at any alignment, each kernel does to the row and its
    /// surroundings what plain words do. Run twice, so that the answer "unchanged" occurs as well.
    #[test]
    fn kernels_agree_with_plain_words([dst, a, b, c] in equal_rows()) {
        let kernels = Kernel::available();
        prop_assert_eq!(kernels[0].name(), "scalar");
        for (operation, update) in UPDATES {
            let mut expected = dst.clone();
            let first = update(kernels[0], expected.row_mut(), a.row(), b.row(), c.row());
            let mut expected_again = expected.clone();
            let again = update(kernels[0], expected_again.row_mut(), a.row(), b.row(), c.row());
            check_update(operation, dst.row(), expected.row(), first, [a.row(), b.row(), c.row()])?;
            for &kernel in &kernels[1..] {
                let mut actual = dst.clone();
                let answer = update(kernel, actual.row_mut(), a.row(), b.row(), c.row());
                prop_assert_eq!(actual.whole(), expected.whole(), "{:?} {}", kernel, operation);
                prop_assert_eq!(answer, first, "{:?} {}", kernel, operation);
                let answer = update(kernel, actual.row_mut(), a.row(), b.row(), c.row());
                prop_assert_eq!(actual.whole(), expected_again.whole(), "{:?} {} again", kernel, operation);
                prop_assert_eq!(answer, again, "{:?} {} again", kernel, operation);
            }
        }
    }

    /// One bit anywhere in the row is enough for the answer "changed", wherever a vector, a round or the
    /// words after them begin.
    #[test]
    fn one_bit_is_a_change(word_count in 1..=WORD_COUNT_MAX, seed in any::<prop::sample::Index>()) {
        let bit = seed.index(word_count * WORD_BITS);
        let mut one = vec![0; word_count];
        set(&mut one, bit);
        let (empty, full) = (vec![0; word_count], vec![u64::MAX; word_count]);
        let mut all_but_one = full.clone();
        clear(&mut all_but_one, bit);
        for kernel in Kernel::available() {
            prop_assert!(kernel.or_if_changed(&mut empty.clone(), &one));
            prop_assert!(!kernel.or_if_changed(&mut one.clone(), &one));
            prop_assert!(kernel.and_if_changed(&mut full.clone(), &all_but_one));
            prop_assert!(!kernel.and_if_changed(&mut one.clone(), &full));
            prop_assert!(kernel.or_and_not_if_changed(&mut empty.clone(), &empty, &one, &empty));
            prop_assert!(!kernel.or_and_not_if_changed(&mut empty.clone(), &empty, &one, &one));
            prop_assert!(kernel.transfer_if_changed(&mut one.clone(), &empty, &full, &full));
            prop_assert!(!kernel.transfer_if_changed(&mut one.clone(), &empty, &one, &all_but_one));
            prop_assert_eq!(kernel.popcount(&one), 1);
            prop_assert!(kernel.is_subset_of(&one, &one) && !kernel.is_subset_of(&one, &all_but_one));
            prop_assert!(kernel.intersects(&one, &full) && !kernel.intersects(&one, &all_but_one));
            prop_assert_eq!(kernel.first_common(&one, &full), Some(bit));
            prop_assert_eq!(kernel.first_common(&one, &all_but_one), None);
        }
    }

    /// Rows of different lengths: a shorter one is zero past its end, and the destination does not grow.
    #[test]
    fn unequal_lengths_extend_with_zero([dst, a, b, c] in unequal_rows()) {
        for kernel in Kernel::available() {
            for (operation, update) in UPDATES {
                let mut actual = dst.clone();
                let answer = update(kernel, &mut actual, &a, &b, &c);
                check_update(operation, &dst, &actual, answer, [&a, &b, &c])?;
            }
        }
        for (operation, update) in FREE_UPDATES {
            let mut actual = dst.clone();
            let answer = update(&mut actual, &a, &b, &c);
            check_update(operation, &dst, &actual, answer, [&a, &b, &c])?;
        }
        let mut copied = dst.clone();
        copy(&mut copied, &a);
        prop_assert_eq!(set_of(&copied), set_of(&a[..a.len().min(dst.len())]));
    }

    /// The functions that choose by width, where all rows have it.
    #[test]
    fn functions_of_all_widths([dst, a, b, c] in equal_rows()) {
        for (operation, update) in FREE_UPDATES {
            let mut actual = dst.clone();
            let answer = update(actual.row_mut(), a.row(), b.row(), c.row());
            check_update(operation, dst.row(), actual.row(), answer, [a.row(), b.row(), c.row()])?;
        }
    }

    /// What only looks, on rows of one length and of two, as functions and on each kernel.
    #[test]
    fn questions([a, b, _, _] in unequal_rows(), [placed_a, placed_b, _, _] in equal_rows()) {
        for (a, b) in [(&a[..], &b[..]), (placed_a.row(), placed_b.row()), (placed_a.row(), placed_a.row())] {
            let (set_a, set_b) = (set_of(a), set_of(b));
            let shared = set_a.intersection(&set_b).next().copied();
            prop_assert_eq!(popcount(a), set_a.len());
            prop_assert_eq!(is_subset_of(a, b), set_a.is_subset(&set_b));
            prop_assert_eq!(intersects(a, b), shared.is_some());
            prop_assert_eq!(first_common(a, b), shared);
            for kernel in Kernel::available() {
                prop_assert_eq!(kernel.popcount(a), set_a.len(), "{:?}", kernel);
                prop_assert_eq!(kernel.is_subset_of(a, b), set_a.is_subset(&set_b), "{:?}", kernel);
                prop_assert_eq!(kernel.intersects(a, b), shared.is_some(), "{:?}", kernel);
                prop_assert_eq!(kernel.first_common(a, b), shared, "{:?}", kernel);
            }
        }
    }

    /// A subset that is one, which random rows never are.
    #[test]
    fn subsets_are_found([a, b, _, _] in unequal_rows()) {
        let mut part = a.clone();
        and(&mut part, &b);
        for kernel in Kernel::available() {
            prop_assert!(kernel.is_subset_of(&part, &a) && kernel.is_subset_of(&part, &b), "{:?}", kernel);
        }
    }

    #[test]
    fn positions(row in words(0..12_usize), start in 0..900_usize) {
        let set = set_of(&row);
        prop_assert_eq!(ones(&row).collect::<Vec<_>>(), set.iter().copied().collect::<Vec<_>>());
        let expected: Vec<_> = set.range(start..).copied().collect();
        prop_assert_eq!(ones_from(&row, start).collect::<Vec<_>>(), expected);
        prop_assert_eq!(first_one(&row, start), set.range(start..).next().copied());
        prop_assert_eq!(test(&row, start), set.contains(&start));
        let (low, high) = ones_from(&row, start).size_hint();
        let count = ones_from(&row, start).count();
        prop_assert!(low <= count && high.is_some_and(|high| count <= high));
    }

    #[test]
    fn extracts(
        row in words(0..6_usize),
        out in words(0..6_usize),
        start in 0..400_usize,
        end in 0..400_usize,
    ) {
        let expected: Set = set_of(&row)
            .into_iter()
            .filter(|bit| (start..end).contains(bit))
            .map(|bit| bit - start)
            .filter(|&bit| bit < out.len() * 64)
            .collect();
        let mut actual = out;
        extract_bits(&mut actual, &row, start, end);
        prop_assert_eq!(set_of(&actual), expected);
    }

    /// Filling, flipping and cutting keep the bits past the end at zero.
    #[test]
    fn ends(row in words(1..6_usize), seed in any::<prop::sample::Index>()) {
        let bit_count = seed.index(row.len() * 64 + 1);
        let below: Set = (0..bit_count).collect();
        let mut actual = row.clone();
        fill(&mut actual, bit_count);
        prop_assert_eq!(set_of(&actual), below.clone());
        prop_assert_eq!(popcount(&actual), bit_count);
        actual.clone_from(&row);
        complement(&mut actual, bit_count);
        prop_assert_eq!(set_of(&actual), &below - &set_of(&row));
        actual.clone_from(&row);
        clear_past(&mut actual, bit_count);
        prop_assert_eq!(set_of(&actual), &below & &set_of(&row));
    }

    /// The matrix through any sequence of shapes and writes, against a list of sets.
    #[test]
    fn matrix_keeps_its_rows(steps in prop::collection::vec(
        (0..7_u8, 0..12_usize, 0..1_100_usize, any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        1..40,
    )) {
        let mut matrix = BitMatrix::new();
        let (mut rows, mut bit_count): (Vec<Set>, usize) = (Vec::new(), 0);
        for (action, new_rows, new_bits, row_seed, bit_seed) in steps {
            if action == 0 {
                matrix.reset(new_rows, new_bits);
                (rows, bit_count) = (vec![Set::new(); new_rows], new_bits);
            } else if action == 1 {
                matrix.grow(new_rows, new_bits);
                rows.resize(rows.len().max(new_rows), Set::new());
                bit_count = bit_count.max(new_bits);
            } else if action == 6 {
                // Into one that was larger or smaller before.
                let mut copy = BitMatrix::with_shape(new_rows, new_bits);
                (0..new_rows).for_each(|row| copy.fill_row(row));
                copy.copy_from(&matrix);
                matrix = copy;
            } else if !rows.is_empty() && bit_count > 0 {
                let (row, bit) = (row_seed.index(rows.len()), bit_seed.index(bit_count));
                let other = bit_seed.index(rows.len());
                match action {
                    2 => {
                        matrix.set(row, bit);
                        rows[row].insert(bit);
                    }
                    3 => {
                        matrix.clear(row, bit);
                        rows[row].remove(&bit);
                    }
                    4 => {
                        matrix.complement_row(row);
                        rows[row] = (0..bit_count).filter(|bit| !rows[row].contains(bit)).collect();
                    }
                    _ => {
                        let union = &rows[row] | &rows[other];
                        prop_assert_eq!(matrix.union_rows_if_changed(row, other), union != rows[row]);
                        rows[row] = union;
                    }
                }
                prop_assert_eq!(matrix.test(row, bit), rows[row].contains(&bit));
            }
            prop_assert_eq!((matrix.row_count(), matrix.bit_count()), (rows.len(), bit_count));
            prop_assert!(matrix.tails_are_zero());
            prop_assert_eq!(matrix.rows().map(set_of).collect::<Vec<_>>(), rows.clone());
        }
    }
}

#[test]
fn strides_are_those_of_the_fixed_loops_or_whole_lines() {
    let strides = [0, 1, 64, 65, 256, 257, 512, 513, 1_024, 1_025].map(BitMatrix::stride_for);
    assert_eq!(strides, [1, 1, 1, 4, 4, 8, 8, 16, 16, 24]);
    assert_eq!(BitMatrix::byte_count_for(3, 1), Some(64));
    assert_eq!(BitMatrix::byte_count_for(24_578, 24_600), Some(24_578 * 392 * 8));
    assert_eq!(BitMatrix::byte_count_for(usize::MAX, 100), None);
}

#[test]
fn rows_start_on_lines() {
    for bit_count in [257, 512, 1_000, 5_000] {
        let matrix = BitMatrix::with_shape(5, bit_count);
        for row in matrix.rows() {
            assert_eq!(row.as_ptr().addr() % 64, 0, "{bit_count} bits");
            assert_eq!(row.len() % 8, 0, "{bit_count} bits");
        }
    }
}

#[test]
fn a_smaller_shape_reuses_the_slab() {
    let mut matrix = BitMatrix::with_shape(10, 1_000);
    matrix.fill_row(9);
    let slab = matrix.row(0).as_ptr();
    matrix.reset(160, 64);
    assert_eq!(matrix.row(0).as_ptr(), slab);
    assert!(matrix.rows().all(|row| row == [0]));
    // The slab after the 160 rows still has what row 9 was; a larger shape may not show it.
    matrix.grow(10, 1_000);
    assert!(matrix.rows().flatten().all(|&word| word == 0));
}

#[test]
fn rows_of_a_known_width_are_the_rows() {
    let mut matrix = BitMatrix::with_shape(3, 200);
    matrix.rows_fixed_mut::<4>()[1] = [1, 2, 3, 4];
    assert_eq!(matrix.row(1), [1, 2, 3, 4]);
    assert_eq!(matrix.rows_fixed::<4>(), [[0; 4], [1, 2, 3, 4], [0; 4]]);
    let [first, last] = matrix.rows_disjoint_mut([0, 2]);
    first[0] = 5;
    last[3] = 6;
    matrix.rows_mut().for_each(|row| row[1] = 7);
    assert_eq!(matrix.rows_fixed::<4>(), [[5, 7, 0, 0], [1, 7, 3, 4], [0, 7, 0, 6]]);
    clear_all(matrix.row_mut(1));
    assert_eq!(matrix.row(1), [0; 4]);
}

#[test]
#[should_panic(expected = "differ")]
fn one_row_is_not_handed_out_twice() {
    BitMatrix::with_shape(3, 10).rows_disjoint_mut([1, 1]);
}

#[test]
#[should_panic(expected = "bit 70 of 70")]
fn padding_is_not_set() {
    BitMatrix::with_shape(1, 70).set(0, 70);
}

#[test]
#[should_panic(expected = "the rows have 4 words")]
fn a_wrong_width_is_refused() {
    BitMatrix::with_shape(1, 70).rows_fixed::<8>();
}

#[test]
#[should_panic(expected = "out of range")]
fn no_row_past_the_shape_though_the_slab_has_it() {
    let mut matrix = BitMatrix::with_shape(9, 600);
    matrix.reset(2, 600);
    matrix.row(2);
}

#[test]
fn tails_that_are_not_zero_are_found() {
    let mut matrix = BitMatrix::with_shape(2, 70);
    matrix.row_mut(1)[1] = 1 << 6;
    assert!(!matrix.tails_are_zero());
    matrix.row_mut(1)[1] = 1 << 5;
    assert!(matrix.tails_are_zero());
    matrix.row_mut(1)[3] = 1;
    assert!(!matrix.tails_are_zero());
}

#[test]
fn single_bits() {
    let mut row = [0_u64; 2];
    assert!(set_if_changed(&mut row, 65));
    assert!(!set_if_changed(&mut row, 65));
    set(&mut row, 0);
    assert_eq!(row, [1, 2]);
    clear(&mut row, 65);
    clear(&mut row, 128);
    assert_eq!(row, [1, 0]);
    assert!(test(&row, 0) && !test(&row, 65) && !test(&row, 128));
}

#[test]
fn the_best_kernel_is_the_widest() {
    let names: Vec<_> = Kernel::available().iter().map(|kernel| kernel.name()).collect();
    assert_eq!(names, ["scalar", "sse2", "avx2", "avx512"][..names.len()]);
    assert_eq!(Some(&Kernel::best().name()), names.last());
}
