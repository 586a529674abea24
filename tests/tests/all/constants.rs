//! Constant expressions: the reader's evaluator and the emulator's against a table, and both against the assembler.
//!
//! The two share no code, and both are written from the ISA's text, so a mistake in the reading of it is in both. The
//! table holds what `ptxas` makes of every operator. Where `ptxas` is installed it is asked again, about each operator
//! with each pair of edge cases, and about the type of each result.

use ptxopt_components::ids::{BlockId, Id};
use ptxopt_components::operand::OperandKind;
use ptxopt_emulator::{Argument, Launch, Options, run};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::ptx::reader::{ReaderScratch, read};
use ptxopt_engine::ptx::scan::Module;
use ptxopt_engine::store::tables::CodeTables;
use ptxopt_tests::cubin::initial_values;
use ptxopt_tests::ptxas::{Flags, Mode, Ptxas};
use ptxopt_tests::say::say;

/// -1, and other numbers by their distance from 2^64.
const M1: u64 = u64::MAX;
const M2: u64 = u64::MAX - 1;
const M3: u64 = u64::MAX - 2;
const TOP: u64 = 1 << 63;

/// Expressions and their values as `ptxas` 13.0 has them.
const TABLE: &[(&str, u64)] = &[
    // Spellings. A digit that follows a value of 2^63 or more is an error; other high bits are lost.
    ("0x7fffffffffffffff", TOP - 1),
    ("0X10", 16),
    ("0B101", 5),
    ("017", 15),
    ("017U", 15),
    ("0b11U", 3),
    ("0x10000000000000001", 1),
    ("0x10000000000000001U", 1),
    ("0x1ffffffffffffffff", M1),
    ("0x123456789abcdef01", 0x2345_6789_abcd_ef01),
    ("18446744073709551615", M1),
    ("18446744073709551616", 0),
    ("02000000000000000000001", 1),
    ("WARP_SZ", 32),
    // Signs.
    ("+5", 5),
    ("- -5", 5),
    ("--1", 1),
    ("+-+5", M1 - 4),
    ("-9223372036854775808", TOP),
    ("-WARP_SZ", M1 - 31),
    ("~0", M1),
    ("~5", M1 - 5),
    ("-~1", 2),
    ("~-1", 0),
    ("~5 >> 63", 1),
    ("~5 < 0", 0),
    ("!0", 1),
    ("!5", 0),
    ("!!5", 1),
    ("!0U", 1),
    ("-!0", M1),
    ("!WARP_SZ + 9", 9),
    // Sums and products.
    ("1 - 2", M1),
    ("1--1", 2),
    ("9223372036854775807 + 1", TOP),
    ("0x8000000000000000 * 2", 0),
    ("-3 * 5", M1 - 14),
    // Division is signed unless an operand is unsigned; it rounds to zero.
    ("-5 / 2", M2),
    ("7 / -2", M3),
    ("-7 / -2", 3),
    ("-1 / 2U", TOP - 1),
    ("-1U / 2", TOP - 1),
    ("(5U - 6) / 2", TOP - 1),
    ("0x8000000000000000 / -1", 0),
    // The remainder knows no signs, and has none.
    ("-5 % 3", 2),
    ("7 % -3", 7),
    ("~5 % 4", 2),
    ("-5U % 3", 2),
    ("(-9223372036854775807 - 1) % -1", TOP),
    ("(5 % 3 - 3) >> 63", 1),
    ("WARP_SZ % 5", 2),
    // Shifts count modulo 64 and keep the type of what is shifted.
    ("1 << 63", TOP),
    ("1 << 64", 1),
    ("1 << 65", 2),
    ("1 << -1", TOP),
    ("-1 >> 60", M1),
    ("-1 >> 64", M1),
    ("-1 >> -1", M1),
    ("-1 >> 1U", M1),
    ("-1U >> 1", TOP - 1),
    ("0xffffffffffffffff >> 63", 1),
    // Bits.
    ("12 & 10", 8),
    ("12 | 10", 14),
    ("12 ^ 10", 6),
    ("(-1 & 1U) - 2 >> 63", 1),
    // Truths are signed.
    ("2 && 3", 1),
    ("2 && 0", 0),
    ("0 || 0", 0),
    ("0 || 4", 1),
    ("5 == 5", 1),
    ("5 != 5", 0),
    ("-1 == 0xffffffffffffffff", 1),
    ("-1 < 0", 1),
    ("-1 < 0U", 0),
    ("-1 > 0U", 1),
    ("2 <= 2", 1),
    ("2 >= 3", 0),
    ("(1U == 1U) - 2 >> 63", M1),
    // Casts.
    ("(.u64)-1 >> 63", 1),
    ("( .u64 )-1 >> 63", 1),
    ("(.s64)0xffffffffffffffff >> 63", M1),
    ("(.s64)(.u64)-1 >> 63", M1),
    ("(.u64)~0 >> 63", 1),
    ("-(.u64)1 / 2", TOP - 1),
    ("(.u64)-5 % 3", 2),
    // `?:` has the type of the side that it takes.
    ("1 ? 2 : 3", 2),
    ("0 ? 2 : 3", 3),
    ("0 ? 2 : 0 ? 4 : 5", 5),
    ("1 ? 0 ? 2 : 3 : 4", 3),
    ("1 ? 2 : 3 + 4", 2),
    ("1 + 2 ? 3 : 4", 3),
    ("(1 ? -1 : 2U) >> 63", M1),
    ("(0 ? -1 : 2U) - 3 >> 63", 1),
    ("(1 ? 2U : -1) - 3 >> 63", 1),
    ("(.u64)1 ? -1 : 2", M1),
    // Reals compare to integers.
    ("1.5 < 2.5", 1),
    ("1.5 >= 2.5", 0),
    ("0.0 == -0.0", 1),
    ("0d7ff8000000000000 == 0d7ff8000000000000", 0),
    ("0d7ff8000000000000 != 0d7ff8000000000000", 1),
    ("1.5 + 1.0 <= 2.5 ? 3 : 4", 3),
    ("2.0 > 1.0 && 1.5 != 1.5", 0),
    // Binding.
    ("1 + 2 * 3", 7),
    ("(1 + 2) * 3", 9),
    ("1 << 2 + 3", 32),
    ("1 < 2 << 3", 1),
    ("5 >= 3 == 1", 1),
    ("3 & 1 == 1", 1),
    ("6 ^ 3 & 1", 7),
    ("4 | 6 ^ 2", 4),
    ("2 && 1 | 0", 1),
    ("1 || 0 && 0", 1),
    ("100 / 10 / 5", 2),
    ("100 - 10 - 5", 85),
    ("-1 + 1", 0),
    ("!0 + 1", 2),
];

/// Expressions that have no value.
const WITHOUT_VALUE: &[&str] = &[
    "1 / 0",
    "5 % 0",
    "1 ? 2 : 1 / 0",
    "0 && 1 / 0",
    "99999999999999999999",
    "0xfffffffffffffffffU",
    "0b10000000000000000000000000000000000000000000000000000000000000000",
    "07777777777777777777777777",
    "08",
    "0x",
    "0xG",
    "5u",
    "1 < 2.0",
    "1 + 2.0",
    "!1.5",
    "~1.5",
    "1.5 && 1.5",
    "1.5 % 1.0",
    "1.5 << 1",
    "(.s64)1.5",
    "(.u32)1",
    "1.0 / 0.0 > 1.0",
    "1.5 ? 2 : 3",
    "1 % (1",
    "1 ? 2",
    "1 ? : 2",
    "()",
    "1 2",
    "1! =1",
    "1 & &1",
];

/// What stands on either side of an operator.
const EDGES: &[&str] = &[
    "0",
    "1",
    "3",
    "63",
    "64",
    "65",
    "(-1)",
    "(-3)",
    "(-64)",
    "0U",
    "1U",
    "3U",
    "64U",
    "0x7fffffffffffffff",
    "0x8000000000000000",
    "(.s64)0x8000000000000000",
    "0xffffffffffffffff",
    "4294967295",
    "4294967296",
    "WARP_SZ",
];

const OPERATORS: &[&str] =
    &["+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "&&", "||", "==", "!=", "<", "<=", ">", ">="];

const SIGNS: &[&str] = &["+", "-", "~", "!", "(.s64)", "(.u64)"];

const HEAD: &str = ".version 8.8\n.target sm_90\n.address_size 64\n";

/// What the reader makes of expressions that are operands.
fn read_values(expressions: &[String]) -> Result<Vec<u64>, String> {
    let moves: String = expressions.iter().map(|one| format!("mov.u64 %rd, {one};\n")).collect();
    let text = format!("{HEAD}.visible .entry k()\n{{\n.reg .b64 %rd;\n{moves}ret;\n}}\n");
    let scanned = Module::scan(text.as_bytes()).map_err(|error| format!("{error:?}"))?;
    let (mut forms, mut tables) = (FormTable::default(), CodeTables::default());
    read(&scanned, &scanned.functions, &mut forms, &mut ReaderScratch::default(), &mut tables)
        .map_err(|error| error.problem.to_string())?;
    let function = tables.view().functions().next().expect("there is a function");
    let insts = function.insts_of(BlockId(0)).take(expressions.len());
    Ok(insts
        .map(|inst| match function.operands_of(inst)[1].kind() {
            OperandKind::Int(value) => i64::from(value) as u64,
            OperandKind::Literal(literal) => function.pools.literals[literal.index()].bits,
            other => panic!("{other:?} is no integer"),
        })
        .collect())
}

/// Expressions as the elements of a variable.
fn initialised(expressions: &[String]) -> String {
    let (count, elements) = (expressions.len(), expressions.join(",\n"));
    format!(
        "{HEAD}.visible .global .align 8 .u64 t[{count}] = {{\n{elements} }};\n.visible .entry k(.param .u64 p)\n{{ ret; }}\n"
    )
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight"))).collect()
}

/// What the emulator makes of expressions that initialise a variable.
fn emulated_values(expressions: &[String]) -> Result<Vec<u64>, String> {
    let module = ptxopt_emulator::Module::load(initialised(expressions).as_bytes())
        .map_err(|error| error.to_string())?;
    let launch = Launch {
        entry: "k".to_owned(),
        grid: [1; 3],
        block: [1; 3],
        shared_bytes: 0,
        args: vec![Argument::Scalar(vec![0; 8])],
    };
    let outcome = run(&module, &launch, &Options::default());
    assert_eq!(outcome.stop, None);
    Ok(words(&outcome.globals[0].1))
}

/// What the assembler puts into the variable.
fn assembled_values(ptxas: &Ptxas, expressions: &[String]) -> Vec<u64> {
    let text = initialised(expressions);
    let cubin = ptxas.cubin(text.as_bytes(), &Flags::of(text.as_bytes()), 600);
    let cubin = cubin.unwrap_or_else(|said| panic!("{said}"));
    words(initial_values(&cubin).expect("not all are zero"))
}

#[track_caller]
fn assert_values(who: &str, expressions: &[String], values: &[u64], expected: &[u64]) {
    assert_eq!(values.len(), expressions.len(), "{who}");
    let differ =
        expressions.iter().zip(values).zip(expected).filter(|((_, value), expected)| value != expected);
    let differ: Vec<String> =
        differ.map(|((text, value), expected)| format!("{text} is {expected:#x}, not {value:#x}")).collect();
    assert!(
        differ.is_empty(),
        "{who}: {} differ, first {:#?}",
        differ.len(),
        &differ[..differ.len().min(20)]
    );
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn table() -> (Vec<String>, Vec<u64>) {
    TABLE.iter().map(|&(text, value)| (text.to_owned(), value)).unzip()
}

#[test]
fn both_evaluators_agree_with_the_table() {
    let (expressions, expected) = table();
    assert_values("reader", &expressions, &read_values(&expressions).unwrap(), &expected);
    assert_values("emulator", &expressions, &emulated_values(&expressions).unwrap(), &expected);
}

#[test]
fn what_has_no_value_is_refused() {
    for text in owned(WITHOUT_VALUE) {
        let expression = std::slice::from_ref(&text);
        assert!(read_values(expression).is_err(), "the reader takes {text}");
        assert!(emulated_values(expression).is_err(), "the emulator takes {text}");
    }
    // The assembler dies of this one.
    let quotient = ["(-9223372036854775807 - 1) / -1".to_owned()];
    assert!(read_values(&quotient).is_err() && emulated_values(&quotient).is_err());
}

/// Each operator between each pair of edge cases, and whether the result is signed: `(E * 0 - 1) >> 63` is -1 where it is,
/// else 1.
fn grid() -> Vec<String> {
    let typed = |text: String| [format!("(({text}) * 0 - 1) >> 63"), text];
    let binary = OPERATORS.iter().flat_map(|operator| {
        let pairs = EDGES.iter().flat_map(|left| EDGES.iter().map(move |right| (left, right)));
        pairs.map(move |(left, right)| format!("{left} {operator} {right}"))
    });
    let unary = SIGNS.iter().flat_map(|sign| EDGES.iter().map(move |edge| format!("{sign}{edge}")));
    let chosen = EDGES.iter().flat_map(|then| {
        EDGES.iter().flat_map(move |other| [0, 1].map(|condition| format!("{condition} ? {then} : {other}")))
    });
    let has_value = |text: &String| {
        let divides_by_zero = ["/ 0", "% 0"]
            .iter()
            .any(|end| text.split_once(end).is_some_and(|(_, rest)| rest.is_empty() || rest == "U"));
        !divides_by_zero && text != "(.s64)0x8000000000000000 / (-1)"
    };
    binary.chain(unary).chain(chosen).filter(has_value).flat_map(typed).collect()
}

/// Two operators in a row, with operands that tell which one binds more tightly.
fn chains() -> Vec<String> {
    let operands = [("7", "2", "3"), ("-9", "5", "2"), ("1U", "(-1)", "62"), ("0", "3", "1")];
    let pairs = OPERATORS.iter().flat_map(|first| OPERATORS.iter().map(move |second| (first, second)));
    pairs
        .flat_map(|(first, second)| operands.map(|(a, b, c)| format!("{a} {first} {b} {second} {c}")))
        // A division by what may be zero is for the table.
        .filter(|text| read_values(std::slice::from_ref(text)).is_ok())
        .collect()
}

#[test]
fn both_evaluators_agree_on_every_operator() {
    let expressions: Vec<String> = grid().into_iter().chain(chains()).collect();
    let read = read_values(&expressions).unwrap();
    assert_values("emulator", &expressions, &emulated_values(&expressions).unwrap(), &read);
}

#[test]
fn the_assembler_has_the_same_values() {
    let Some(ptxas) = Ptxas::find() else { return };
    let (mut expressions, mut expected) = table();
    let assembled = assembled_values(&ptxas, &expressions);
    assert_values("table", &expressions, &expected, &assembled);
    expressions.extend(grid().into_iter().chain(chains()));
    expected = assembled_values(&ptxas, &expressions);
    assert_values("reader", &expressions, &read_values(&expressions).unwrap(), &expected);
    assert_values("emulator", &expressions, &emulated_values(&expressions).unwrap(), &expected);
    for text in owned(WITHOUT_VALUE) {
        let module = initialised(std::slice::from_ref(&text));
        let said = ptxas.accepts(module.as_bytes(), &Flags::of(module.as_bytes()), Mode::Assemble);
        assert!(said.is_err(), "the assembler takes {text}");
    }
    say(&format!("constants: {} expressions, as the assembler has them", expressions.len()));
}

/// Nothing recurses, however deep an expression nests; what the assembler holds is held here.
#[test]
fn deep_nesting_needs_no_stack() {
    let deep = |depth: usize| {
        [
            "(".repeat(depth) + "1" + &")".repeat(depth),
            "- ".repeat(depth) + "1",
            "~".repeat(depth) + "1",
            "(.u64)".repeat(depth) + "1",
            "1 ? ".repeat(depth) + "1" + &" : 0".repeat(depth),
            "0 ? 2 : ".repeat(depth) + "1",
            "0 + (".repeat(depth / 2) + "1" + &")".repeat(depth / 2),
        ]
    };
    let expected = [1, 1, 1, 1, 1, 1, 1];
    // More than the assembler takes of most.
    let expressions = deep(9000);
    assert_values("reader", &expressions, &read_values(&expressions).unwrap(), &expected);
    assert_values("emulator", &expressions, &emulated_values(&expressions).unwrap(), &expected);
    for text in deep(1_000_000) {
        let expression = std::slice::from_ref(&text);
        assert!(read_values(expression).is_err() && emulated_values(expression).is_err());
    }
    // Operators without nesting wait for nothing, so there may be any number of them.
    let sum = ["1 + ".repeat(1_000_000) + "1"];
    assert_eq!(
        (read_values(&sum).unwrap(), emulated_values(&sum).unwrap()),
        (vec![1_000_001], vec![1_000_001])
    );
}

/// A real by its bits is bits where a double is wanted: the assembler converts it to no double.
#[test]
fn single_bits_are_no_double() {
    let double = |text: &str| {
        let module =
            format!("{HEAD}.global .f64 t = {text};\n.visible .entry k(.param .u64 p)\n{{ ret; }}\n");
        let module = ptxopt_emulator::Module::load(module.as_bytes()).unwrap();
        let (entry, args) = ("k".to_owned(), vec![Argument::Scalar(vec![0; 8])]);
        let launch = Launch { entry, grid: [1; 3], block: [1; 3], shared_bytes: 0, args };
        words(&run(&module, &launch, &Options::default()).globals[0].1)[0]
    };
    assert_eq!(double("0f3f800000"), 0x3f80_0000);
    assert_eq!(double("1.0"), 1f64.to_bits());
}
