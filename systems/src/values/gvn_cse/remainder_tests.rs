//! Random kernels that divide 64 bits: every run on the emulator leaves the same.

use super::PHASE;
use super::tests::numbered;
use crate::check::testing::Random;
use crate::values::move_tests::{BYTES, left_by};
use std::fmt::Write;

/// Quotients and remainders of a few values, in arms of branches and under guards; some of the values change between.
fn kernel(seed: u64) -> String {
    const RESULTS: usize = 24;
    let mut random = Random(seed);
    let mut text = format!(
        ".entry k(.param .u64 p) {{ .reg .b64 %x<8>, %q<{RESULTS}>, %s<{RESULTS}>, %y, %a<3>; .reg .b32 %t<2>; .reg .pred %p<4>;\n\
         mov.u32 %t1, %tid.x; mul.wide.u32 %a1, %t1, {BYTES}; ld.param.u64 %a2, [p]; add.u64 %a1, %a1, %a2;\n"
    );
    for value in 0..8 {
        writeln!(text, "ld.global.u64 %x{value}, [%a1+{}];", 8 * value).unwrap();
    }
    // Divisors are odd.
    (4..8).for_each(|value| writeln!(text, "or.b64 %x{value}, %x{value}, 1;").unwrap());
    (0..4).for_each(|predicate| {
        writeln!(text, "setp.lt.u32 %p{predicate}, %t1, {};", 3 + 5 * predicate).unwrap()
    });
    (0..RESULTS).for_each(|result| writeln!(text, "mov.b64 %q{result}, 0; mov.b64 %s{result}, 0;").unwrap());
    let mut open = Vec::new();
    for result in 0..RESULTS {
        match random.below(8) {
            0 => {
                writeln!(text, "@%p{} bra L{result};", random.below(4)).unwrap();
                open.push(result);
            }
            1 => open.pop().into_iter().for_each(|label| writeln!(text, "L{label}:").unwrap()),
            2 => writeln!(text, "add.s64 %x{}, %q{}, 5;", random.below(4), random.below(RESULTS)).unwrap(),
            _ => {}
        }
        let operation = ["div", "rem"][random.below(2)];
        let (ty, literals) =
            [("u64", ["10", "4611686018427387905"]), ("s64", ["-7", "1000"])][random.below(2)];
        let divisor = match random.below(3) {
            0 => literals[random.below(2)].to_owned(),
            _ => format!("%x{}", 4 + random.below(2)),
        };
        let guard = if random.below(10) == 0 { "@!%p1 " } else { "" };
        let number = random.below(2);
        match random.below(8) {
            // What is left of a quotient, and a quotient by the product of the divisors or by another number.
            0 => {
                let product = [70, 60][random.below(2)];
                writeln!(
                    text,
                    "{guard}div.{ty} %s{result}, %x{number}, 7; rem.{ty} %q{result}, %s{result}, 10;\n\
                     div.{ty} %s{result}, %x{number}, {product}; add.u64 %q{result}, %q{result}, %s{result};"
                )
                .unwrap();
            }
            // A quotient of a quotient stays after that one, and goes up for one remainder at most.
            1 => {
                let last = [format!("%s{result}, 10"), format!("%x{number}, 70")];
                writeln!(
                    text,
                    "rem.{ty} %q{result}, %x{number}, 70; div.{ty} %s{result}, %x{number}, 7;\n\
                     rem.{ty} %y, %s{result}, 10; xor.b64 %q{result}, %q{result}, %y;\n\
                     div.{ty} %y, {}; add.u64 %q{result}, %q{result}, %y;",
                    last[random.below(2)]
                )
                .unwrap();
            }
            _ => writeln!(text, "{guard}{operation}.{ty} %q{result}, %x{number}, {divisor};").unwrap(),
        }
    }
    open.into_iter().rev().for_each(|label| writeln!(text, "L{label}:").unwrap());
    (0..RESULTS)
        .for_each(|result| writeln!(text, "st.global.u64 [%a1+{}], %q{result};", 8 * result).unwrap());
    text + "ret; }\n"
}

#[test]
fn remainders_are_what_products_of_quotients_leave() {
    let (mut without, mut with, mut moved) = (0, 0, 0);
    for seed in 0..300 {
        let text = kernel(seed * 7919 + 5);
        let (unchanged, changed) = (numbered(&text, &[]), numbered(&text, &[&PHASE]));
        assert!(left_by(&text) == left_by(&changed), "{text}\nbecomes\n{changed}");
        without += unchanged.matches("rem.").count();
        with += changed.matches("rem.").count();
        moved += usize::from(changed.find("div.") < unchanged.find("div."));
    }
    assert!(with + 1811 <= without && moved > 10, "{without} without, {with} with, {moved} moved");
}
