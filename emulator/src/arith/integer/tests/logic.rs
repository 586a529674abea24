//! Bitwise logic and predicates.

use super::*;

#[test]
fn bitwise() {
    for kind in ["b16", "b32", "b64"] {
        let (width, _) = shape(kind);
        let mask = cut(-1, width);
        check_plain(&format!("and.{kind}"), &EDGES, |[a, b]| a & b & mask);
        check_plain(&format!("or.{kind}"), &EDGES, |[a, b]| (a | b) & mask);
        check_plain(&format!("xor.{kind}"), &EDGES, |[a, b]| (a ^ b) & mask);
        check_plain(&format!("not.{kind}"), &EDGES, |[a]| !a & mask);
        check_plain(&format!("cnot.{kind}"), &EDGES, |[a]| u64::from(a & mask == 0));
    }
}

#[test]
fn predicates_with_and_without_signs() {
    for (x, y) in [(false, false), (false, true), (true, false), (true, true)] {
        let negated = [x, y];
        let pair = |mnemonic| Request { negated: &negated, ..Request::plain(mnemonic, 1, 2) };
        let read = |cell, negated| (cell != 0) ^ negated;
        check(&pair("and.pred"), &[0, 1], |[a, b]| [u64::from(read(a, x) & read(b, y))]);
        check(&pair("or.pred"), &[0, 1], |[a, b]| [u64::from(read(a, x) | read(b, y))]);
        check(&pair("xor.pred"), &[0, 1], |[a, b]| [u64::from(read(a, x) ^ read(b, y))]);
        let one = Request { negated: &negated[..1], ..Request::plain("not.pred", 1, 1) };
        check(&one, &[0, 1], |[a]| [u64::from(!read(a, x))]);
    }
    assert_eq!(once("and.pred", &[1, 7]), 1, "a literal that is not zero is true");
}

#[test]
fn lop3_is_its_truth_table() {
    let few = [0, 0xF0F0_1234, 0xCCCC_5678, 0xAAAA_9ABC, 0xFFFF_FFFF, 0xDEAD_BEEF_0F0F_3355];
    for table in 0..=255 {
        let run = known(&Request::plain("lop3.b32", 1, 4));
        for (a, b, c) in few.iter().flat_map(|&a| few.iter().flat_map(move |&b| few.map(|c| (a, b, c)))) {
            let expected = (0..32).fold(0, |all, bit| {
                let row = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | c >> bit & 1;
                all | (table >> row & 1) << bit
            });
            assert_eq!(super::run(&run, &[a, b, c, table]), [expected], "table {table:#x}");
        }
    }
    // The ISA's own examples of tables.
    assert_eq!(once("lop3.b32", &[0xF0, 0xCC, 0xAA, 0x80]), 0x80, "a & b & c");
    assert_eq!(once("lop3.b32", &[0xF0, 0xCC, 0xAA, 0xFE]), 0xFE, "a | b | c");
    assert_eq!(once("lop3.b32", &[0xF0, 0xCC, 0xAA, 0x40]), 0x40, "a & b & ~c");
    assert_eq!(once("lop3.b32", &[0xF0, 0xCC, 0xAA, 0x1A]), 0x1A, "(a & b | c) ^ a");
}

#[test]
fn lop3_with_a_predicate() {
    for not in [false, true] {
        let negated = [false, false, false, false, not];
        for (mnemonic, both) in [("lop3.and.b32", true), ("lop3.or.b32", false)] {
            let request = Request { negated: &negated, ..Request::plain(mnemonic, 2, 5) };
            let run = known(&request);
            for (a, q) in [(0, 0), (0, 1), (6, 0), (6, 1)] {
                let (value, q_holds) = (a & 3, (q != 0) ^ not);
                let p = if both { value != 0 && q_holds } else { value != 0 || q_holds };
                assert_eq!(super::run(&run, &[a, 3, 0xFFFF_FFFF, 0x80, q]), [value, u64::from(p)]);
            }
        }
    }
}
