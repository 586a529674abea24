//! The carry that one instruction leaves and another of the other direction reads: the emulator has what the machine has.
//!
//! A subtraction is `a + ~b + 1` there, and its carry is set where nothing is borrowed. The table was read from the machine
//! code of `ptxas`. It folds a reader whose carry is 0, so where it is installed it is asked about those again.

use ptxopt_emulator::{Argument, Launch, Module, Options, run};
use ptxopt_tests::ptxas::{Flags, Ptxas};

/// Instructions that leave a carry, with it. `T` stands for the type, `TOP` for the largest number.
const WRITERS: &[(&str, bool)] = &[
    ("add.cc.T x, 1, 2;", false),
    ("add.cc.T x, TOP, 1;", true),
    ("add.cc.T y, TOP, 1; addc.cc.T x, 1, 2;", false),
    ("sub.cc.T x, 5, 3;", true),
    ("sub.cc.T x, 3, 3;", true),
    ("sub.cc.T x, 3, 5;", false),
    ("sub.cc.T y, 3, 5; subc.cc.T x, 3, 3;", false),
    ("sub.cc.T y, 5, 3; subc.cc.T x, 3, 3;", true),
    ("add.cc.T y, 1, 2; subc.cc.T x, 3, 3;", false),
    ("sub.cc.T y, 5, 3; addc.cc.T x, TOP, 0;", true),
    ("sub.cc.T y, 3, 5; addc.cc.T x, TOP, 0;", false),
    ("mad.lo.cc.T x, 2, 3, 4;", false),
    ("mad.lo.cc.T x, TOP, 1, 1;", true),
    ("mad.hi.cc.T x, 2, 3, 4;", false),
    ("mad.hi.cc.T x, TOP, TOP, 5;", true),
    ("sub.cc.T y, 5, 3; madc.lo.cc.T x, TOP, 1, 0;", true),
    ("sub.cc.T y, 3, 5; madc.lo.cc.T x, TOP, 1, 0;", false),
];

/// Instructions that read it, with their results where it is not set and where it is.
const READERS: &[(&str, [u64; 2])] = &[
    ("addc.T y, 100, 20;", [120, 121]),
    ("subc.T y, 100, 20;", [79, 80]),
    ("madc.lo.T y, 10, 7, 3;", [73, 74]),
    ("madc.hi.T y, TOP, 7, 3;", [9, 10]),
];

fn kernel(bits: u32, code: &str) -> String {
    let top = (u64::MAX >> (64 - bits)).to_string();
    let code = code.replace("TOP", &top).replace(".T ", &format!(".u{bits} "));
    format!(
        ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n.reg .b64 a; \
         .reg .b{bits} x, y;\nld.param.u64 a, [p];\n{code}\nst.global.b{bits} [a], y;\nret;\n}}\n"
    )
}

fn emulated(text: &str) -> u64 {
    let launch = Launch {
        entry: "k".to_owned(),
        grid: [1; 3],
        block: [1; 3],
        shared_bytes: 0,
        args: vec![Argument::Buffer(vec![0; 8])],
    };
    let outcome = run(&Module::load(text.as_bytes()).unwrap(), &launch, &Options::default());
    assert_eq!(outcome.stop, None);
    u64::from_le_bytes(outcome.buffers[0][..].try_into().unwrap())
}

/// Kernels with what they store, and whether their carry is set.
fn crossings() -> impl Iterator<Item = (u32, String, u64, bool)> {
    [32, 64].into_iter().flat_map(|bits| {
        WRITERS.iter().flat_map(move |&(writer, is_set)| {
            READERS.iter().map(move |&(reader, results)| {
                let result = results[usize::from(is_set)];
                // `TOP * 7` has 6 above the word, and 9 is that and the addend.
                (bits, kernel(bits, &format!("{writer} {reader}")), result, is_set)
            })
        })
    })
}

#[test]
fn the_emulator_carries_as_the_machine_does() {
    for (_, text, expected, _) in crossings() {
        assert_eq!(emulated(&text), expected, "{text}");
    }
}

#[test]
fn the_assembler_folds_what_is_not_carried() {
    let Some(ptxas) = Ptxas::find() else { return };
    // One writer of each kind is enough; the assembler folds in 32 bits only, and no high products.
    let folded = ["add.cc.u32 x, 1", "sub.cc.u32 x, 3, 5"];
    let mut count = 0;
    for (bits, text, expected, is_set) in crossings() {
        let is_folded = bits == 32 && !is_set && folded.iter().any(|writer| text.contains(writer));
        if !is_folded || text.contains("hi.") {
            continue;
        }
        let flags = Flags::of(text.as_bytes());
        let constant = |value: u64| kernel(bits, &format!("mov.b32 y, {value};"));
        let is_same = |value| ptxas.makes_same_code(text.as_bytes(), constant(value).as_bytes(), &flags);
        assert_eq!(is_same(expected), Ok(true), "{text}");
        assert_eq!(is_same(expected + 1), Ok(false), "{text}");
        count += 1;
    }
    assert_eq!(count, 6);
}
