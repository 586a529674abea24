//! Bad input: each kind gives one diagnostic with a place, or is accepted; nothing panics, nothing is half written.
//!
//! Texts are given to the facade. What files become is tested in `bad_batch.rs`, with the command.

use ptxopt::{Options, Output};
use ptxopt_engine::diagnostics::{Diagnostic, ExpressionFault, Found, NumberFault, Problem};
use ptxopt_tests::modules::{expect_none, in_parallel, tests_folder};
use std::fs;
use std::sync::{Mutex, MutexGuard};

const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// Stands before the place that the diagnostic must name.
const HERE: &str = "\u{a6}";

fn optimize(text: &[u8]) -> Result<Output, Diagnostic> {
    let result = ptxopt::optimize(text, &Options::default());
    result.map_err(|mut diagnostics| {
        assert_eq!(diagnostics.0.len(), 1, "one fault, one diagnostic: {diagnostics:?}");
        diagnostics.0.remove(0)
    })
}

/// A kernel with `body`.
fn kernel(body: &str) -> String {
    format!("{HEAD}.entry k(.param .u64 p)\n{{\n{body}\n}}\n")
}

#[track_caller]
fn accepted(text: impl AsRef<[u8]>) -> Vec<u8> {
    match optimize(text.as_ref()) {
        Ok(output) => {
            assert_eq!(output.report.left, [], "left as it was");
            output.text
        }
        Err(diagnostic) => panic!("refused: {diagnostic:?}"),
    }
}

/// Checks that `marked` is refused because of `problem` at the place marked in it.
#[track_caller]
fn refused(marked: &str, problem: &Problem) {
    let offset = marked.find(HERE).expect("the place is marked");
    let text = marked.replacen(HERE, "", 1);
    let Err(diagnostic) = optimize(text.as_bytes()) else { panic!("accepted: {text}") };
    assert_eq!(&diagnostic.problem, problem, "{text}");
    assert_eq!(diagnostic.offset, offset, "{:?} stands elsewhere in {text}", diagnostic.problem);
    assert_place(text.as_bytes(), diagnostic);
}

fn unexpected(found: &str, expected: &'static str) -> Problem {
    Problem::Unexpected { found: Found::Token(found.to_owned()), expected }
}

fn text_ends(expected: &'static str) -> Problem {
    Problem::Unexpected { found: Found::End, expected }
}

/// Checks that a diagnostic, shown to a user, names line and column, and has a caret under the right byte.
#[track_caller]
fn assert_place(text: &[u8], diagnostic: Diagnostic) {
    assert!(diagnostic.offset <= text.len(), "{diagnostic:?} of {} bytes", text.len());
    assert!(diagnostic.length > 0, "{diagnostic:?}");
    let before = &text[..diagnostic.offset];
    let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
    let column = 1 + before.iter().rev().take_while(|&&byte| byte != b'\n').count();
    let diagnostics = ptxopt::Diagnostics(vec![diagnostic]);
    let summary = diagnostics.summary("a.ptx", text);
    assert!(summary.starts_with(&format!("a.ptx:{line}:{column}: ")), "{summary}");
    let rendered = diagnostics.render("a.ptx", text, false);
    assert!(rendered.contains(&format!("a.ptx:{line}")) && rendered.contains('^'), "{rendered}");
}

mod each_problem {
    use super::*;

    #[test]
    fn unexpected_byte() {
        refused(&kernel("\tmov.u32 p \u{a6}= 5;"), &unexpected("=", "`,` or `;`"));
        refused(&kernel("\t\u{a6}= 5;"), &unexpected("=", "a statement"));
        refused(&kernel("\t@\u{a6}5 ret;"), &unexpected("5", "a predicate register"));
        let of_component = "\t.reg .u32 r; mov.u32 r, %tid.x\u{a6}+4;";
        refused(&kernel(of_component), &unexpected("+", "the end of a component"));
        refused(&kernel("\tbra \u{a6}5;"), &unexpected("5", "a label"));
        refused(&kernel("\tld.param.u64 p, [p\u{a6};"), &unexpected(";", "`]`"));
        refused(&kernel("\tcall (p, p\u{a6};"), &unexpected(";", "`)`"));
        refused(&kernel("\tmov.b64 p, {p, p\u{a6}]};"), &unexpected("]", "`}`"));
        refused(&kernel("\tmov.b64 {p, p} \u{a6}{p, p};"), &unexpected("{", "`,` or `;`"));
        refused(&kernel("\tmov.u32 p, \u{a6};"), &unexpected(";", "an operand"));
        refused(&kernel("\tld.global.u32 p, [\u{a6}];"), &unexpected("]", "an operand"));
        refused(&kernel("\tmov.b64 p, {p, \u{a6}};"), &unexpected("}", "an operand"));
        refused(&kernel("\tcall (p), k, (p, \u{a6});"), &unexpected(")", "an operand"));
        refused(
            &kernel("\t\u{a6}.branchtargets a;"),
            &unexpected(".branchtargets", "a label before the table"),
        );
        refused(&kernel("\t.reg .b32 \u{a6}5;"), &unexpected("5", "a register name"));
        refused(&kernel("\t.reg .b32 %r<5\u{a6};"), &unexpected(";", "`>`"));
        refused(&kernel("\t.local .align 8 \u{a6};"), &unexpected(";", "a variable's name"));
        refused(&kernel("\t.local .b32 \u{a6}, a;"), &unexpected(",", "a variable's name"));
        refused(&kernel("\t.local .b32 a, \u{a6};"), &unexpected(";", "a variable's name"));
        refused(&kernel("\t.reg .b32 %a, \u{a6};"), &unexpected(";", "a register name"));
        refused(&format!("{HEAD}\u{a6}stray"), &unexpected("stray", "a directive"));
        refused(&format!("{HEAD}.entry k(.param .u64 p\u{a6}; {{ ret; }}"), &unexpected(";", "`)`"));
        refused(".version 8\u{a6};", &unexpected(";", "`.` and a minor version"));
        refused(".version 8.0 .target sm_90, \u{a6}, debug", &unexpected(",", "a target such as `sm_90`"));
    }

    #[test]
    fn unexpected_end() {
        refused(&format!("{HEAD}.global .u32 g\u{a6}"), &text_ends("`;`"));
        refused(&format!("{HEAD}.entry k(\u{a6}"), &text_ends("`)`"));
        refused(&format!("{HEAD}.entry k\u{a6}"), &text_ends("`{` or `;`"));
        refused(&format!("{HEAD}.visible\n\u{a6}"), &text_ends("a directive"));
        refused(".version 8.0\n.target\u{a6}", &text_ends("a target such as `sm_90`"));
    }

    #[test]
    fn unterminated_string() {
        refused(&format!("{HEAD}.file 1 \u{a6}\"x\\\""), &Problem::UnterminatedString);
        refused(&kernel("\t.pragma \u{a6}\"nounroll;"), &Problem::UnterminatedString);
    }

    #[test]
    fn unterminated_comment() {
        refused(&format!("{HEAD}\u{a6}/* /"), &Problem::UnterminatedComment);
        refused(&kernel("\tret; \u{a6}/* ;"), &Problem::UnterminatedComment);
    }

    #[test]
    fn unclosed_brace() {
        refused(&format!("{HEAD}.entry k() \u{a6}{{ ret;"), &Problem::UnclosedBrace);
        refused(&format!("{HEAD}.entry k() \u{a6}{{ {{ ret; }}"), &Problem::UnclosedBrace);
        refused(&format!("{HEAD}.global .u32 g[2] = \u{a6}{{ 1, 2"), &Problem::UnclosedBrace);
        refused(&format!("{HEAD}.section .debug_x \u{a6}{{ .b8 1"), &Problem::UnclosedBrace);
    }

    #[test]
    fn unclosed_source() {
        let section =
            ".nv_intermediate_source_section { .code_block { \u{a6}.source_begin\n x .source_end\n } }";
        refused(&format!("{HEAD}{section}"), &Problem::UnclosedSource);
    }

    #[test]
    fn no_version() {
        for text in ["\u{a6}", "\u{a6}\n\n// only a comment\n/* and another */\n", "\u{a6} \t\r\n\0"] {
            refused(text, &Problem::NoVersion);
        }
        refused("\u{a6}.target sm_90\n", &Problem::NoVersion);
        refused("// comment\n\u{a6}add.u32 a, b, c;\n", &Problem::NoVersion);
        refused("\u{a6}\u{7f}ELF\u{2}\u{1}", &Problem::NoVersion);
        refused("\u{a6}.visible .entry k() { ret; }", &Problem::NoVersion);
    }

    #[test]
    fn undefined_name() {
        let undefined = |name: &str| Problem::UndefinedName(name.to_owned());
        refused(&kernel("\tmov.u32 \u{a6}%r1, 5;"), &undefined("%r1"));
        refused(&kernel("\t.reg .b32 %r<5>; mov.u32 \u{a6}%r5, 5;"), &undefined("%r5"));
        refused(&kernel("\t{ .reg .b32 inner; }\n\tmov.u32 \u{a6}inner, 5;"), &undefined("inner"));
        refused(&kernel("\tcall \u{a6}nobody;"), &undefined("nobody"));
        refused(&kernel("\tmov.u32 p, \u{a6}%tid_x;"), &undefined("%tid_x"));
        refused(&kernel("\t@\u{a6}p ret;"), &undefined("p"));
        // A message shows the start of a long name.
        let long = "n".repeat(1000);
        let text = kernel(&format!("\tmov.u32 p, {long};"));
        let diagnostic = optimize(text.as_bytes()).unwrap_err();
        assert_eq!(diagnostic.length, long.len());
        assert_eq!(diagnostic.problem, Problem::UndefinedName(format!("{}...", "n".repeat(80))));
    }

    #[test]
    fn undefined_label() {
        let undefined = |name: &str| Problem::UndefinedLabel(name.to_owned());
        refused(&kernel("\tbra \u{a6}NOWHERE;"), &undefined("NOWHERE"));
        refused(&kernel("\t{ INNER: ret; }\n\tbra \u{a6}INNER;"), &undefined("INNER"));
        refused(&kernel("\tt: .branchtargets HERE, \u{a6}THERE;\n\tHERE: ret;"), &undefined("THERE"));
    }

    #[test]
    fn duplicate_name() {
        let duplicate = |name: &str| Problem::DuplicateName(name.to_owned());
        refused(&kernel("\t.reg .u32 x; .reg .s32 \u{a6}x;"), &duplicate("x"));
        refused(&kernel("\t.reg .u32 %r<5>; .reg .s32 \u{a6}%r<9>;"), &duplicate("%r"));
        refused(&kernel("\t.local .u32 x; .shared .b8 \u{a6}x[4];"), &duplicate("x"));
        refused(&kernel("\tL: ret;\n\t\u{a6}L: ret;"), &duplicate("L"));
    }

    #[test]
    fn unknown_type() {
        refused(&kernel("\t.reg .\u{a6}u33 x;"), &Problem::UnknownType("u33".to_owned()));
        let text = format!("{HEAD}.func f(.reg .\u{a6}word x) {{ ret; }}");
        refused(&text, &Problem::UnknownType("word".to_owned()));
    }

    #[test]
    fn malformed_number() {
        let digit = |found, radix| NumberFault::Digit { found, radix };
        for (number, fault) in [
            ("0xGG", digit('G', 16)),
            ("0x", NumberFault::NoDigits),
            ("0b2", digit('2', 2)),
            ("09", digit('9', 8)),
            ("12ab", digit('a', 10)),
            ("5u", digit('u', 10)),
            ("99999999999999999999", NumberFault::Overflow),
            ("0xFFFFFFFFFFFFFFFFF", NumberFault::Overflow),
            ("0f123", NumberFault::BitCount(8)),
            ("0d1", NumberFault::BitCount(16)),
            ("1.5e", NumberFault::Exponent),
            ("1e400", NumberFault::RealOverflow),
        ] {
            let text = kernel(&format!("\t.reg .u64 x; mov.u64 x, \u{a6}{number};"));
            refused(&text, &Problem::MalformedNumber(fault));
        }
        let count = Problem::MalformedNumber(NumberFault::Count);
        refused(&kernel("\t.reg .b32 %r<\u{a6}99999999999>;"), &count);
        refused(".version \u{a6}99999999999.0\n", &count);
        let real = Problem::MalformedNumber(NumberFault::NotAnInteger);
        refused(&kernel("\t.reg .b32 %r<\u{a6}1.5>;"), &real);
        // What is wrong is said.
        assert_eq!(
            Problem::MalformedNumber(digit('9', 8)).to_string(),
            "malformed number: `9` is no octal digit"
        );
    }

    #[test]
    fn malformed_expression() {
        for (expression, fault) in [
            ("1 / 0", ExpressionFault::DivisionByZero),
            ("1.5 % 0.5", ExpressionFault::Real),
            ("(-9223372036854775807 - 1) / -1", ExpressionFault::Overflow),
            ("1 + (.u32)1", ExpressionFault::Cast),
        ] {
            let place = expression.find("(.u32").map_or(0, |place| place + 1);
            let (before, from) = expression.split_at(place);
            let text = kernel(&format!("\t.reg .u64 x; mov.u64 x, {before}\u{a6}{from};"));
            refused(&text, &Problem::MalformedExpression(fault));
        }
    }

    /// 2^24 registers are too many when they are used; a test of its own below uses them.
    #[test]
    fn too_many() {
        let many = |what| Problem::TooMany(what);
        refused(&kernel("\t.local .b32 \u{a6}v<4000000000>;"), &many("names"));
        refused(&kernel("\tt: .branchtargets \u{a6}L<4000000000>;"), &many("branch targets"));
    }

    #[test]
    fn too_long() {
        let long = Problem::TooLong;
        let operands = vec!["p"; 4097].join(",");
        let marked = operands[..operands.len() - 1].to_owned() + HERE + "p";
        refused(&kernel(&format!("\tadd.u32 {marked};")), &long("operands in one instruction", 4096));
        // A copied statement may have more, but not more than a row counts.
        let touched = |count: usize| kernel(&format!("\t.reg .b32 r;\ttouch =>{};", " r".repeat(count)));
        let output = String::from_utf8(accepted(touched(30_000))).unwrap();
        assert_eq!(output.matches(" r").count(), 30_000 + ".reg .b32 r".matches(" r").count());
        assert_eq!(
            optimize(touched(70_000).as_bytes()).unwrap_err().problem,
            long("registers in one statement", 65_535 - 16)
        );
    }

    #[test]
    fn module_too_large() {
        // Never touched, so the system gives no memory for it.
        let text = vec![0; i32::MAX as usize];
        let diagnostic = optimize(&text).unwrap_err();
        assert_eq!((diagnostic.offset, diagnostic.problem), (0, Problem::ModuleTooLarge));
    }

    /// A new variant does not compile here before there is a test for it.
    #[test]
    fn none_is_forgotten() {
        let _test_of = |problem: &Problem| match problem {
            Problem::Unexpected { found: Found::Token(_) | Found::Byte(_), .. } => unexpected_byte(),
            Problem::Unexpected { found: Found::End, .. } => unexpected_end(),
            Problem::UnterminatedString => unterminated_string(),
            Problem::UnterminatedComment => unterminated_comment(),
            Problem::UnclosedBrace => unclosed_brace(),
            Problem::UnclosedSource => unclosed_source(),
            Problem::NoVersion => no_version(),
            Problem::UndefinedName(_) => undefined_name(),
            Problem::UndefinedLabel(_) => undefined_label(),
            Problem::DuplicateName(_) => duplicate_name(),
            Problem::UnknownType(_) => unknown_type(),
            Problem::MalformedNumber(_) => malformed_number(),
            Problem::MalformedExpression(_) => malformed_expression(),
            Problem::TooMany(_) => too_many(),
            Problem::TooLong(..) => too_long(),
            Problem::ModuleTooLarge => module_too_large(),
        };
    }
}

/// What a user sees, whole.
#[test]
fn a_diagnostic_shows_place_line_and_caret() {
    let text = kernel("\t.reg .b32 %r<4>;\n\tadd.s32 %r1, %r2 %r3;");
    let diagnostics = ptxopt::optimize(text.as_bytes(), &Options::default()).unwrap_err();
    let place = "k.ptx:7:19";
    assert_eq!(
        diagnostics.summary("k.ptx", text.as_bytes()),
        format!("{place}: found `%r3`, expected `,` or `;`")
    );
    let rendered = diagnostics.render("k.ptx", text.as_bytes(), false);
    let lines: Vec<&str> = rendered.lines().collect();
    assert!(lines[0].contains("found `%r3`, expected `,` or `;`") && rendered.contains(place), "{rendered}");
    let excerpt =
        lines.iter().position(|line| line.contains("add.s32 %r1, %r2 %r3;")).expect("the line is shown");
    assert_eq!(lines[excerpt].find("%r3"), lines[excerpt + 1].find('^'), "{rendered}");
}

/// Modules that are cut: old and new, with debug information, nested scopes, strange text.
const CUT: &[&str] = &[
    "corpus/ptx/nested_scopes.ptx",
    "corpus/ptx/lines_and_pragmas.ptx",
    "corpus/ptx/indirect_calls.ptx",
    "corpus/debug/saxpy.O0.ptx",
    "corpus/O3/function_pointers.ptx",
    "forms/odd-text.ptx",
    "forms/literals.ptx",
];

#[test]
fn a_truncated_module_is_accepted_or_refused_at_a_place_in_it() {
    /// Every byte up to here is a place to cut; after it, [`SPREAD`] places are.
    const DENSE: usize = 4 << 10;
    const SPREAD: usize = 200;
    let failures = in_parallel(CUT, |name| {
        let text = fs::read(tests_folder().join(name)).expect("the module is there");
        let spread = (0..SPREAD).map(|step| DENSE + text.len().saturating_sub(DENSE) * step / SPREAD);
        let mut refused_count = 0;
        for end in (0..DENSE).chain(spread).filter(|&end| end < text.len()) {
            let Err(diagnostic) = optimize(&text[..end]) else { continue };
            refused_count += 1;
            if diagnostic.offset > end {
                return Some(format!("{name} cut at {end}: {diagnostic:?}"));
            }
            assert_place(&text[..end], diagnostic);
        }
        // Most places lie in a body, which is then open.
        (refused_count < text.len().min(DENSE) / 2).then(|| format!("{name}: {refused_count} cuts refused"))
    });
    expect_none("modules", &failures.into_iter().flatten().collect::<Vec<_>>());
}

#[test]
fn garbage_is_refused_at_a_place_in_it() {
    let mut state = 1u64;
    let mut random = || {
        // Xorshift (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for round in 0..400 {
        let length = random() as usize % 4096;
        let garbage: Vec<u8> = (0..length).map(|_| (random() >> 32) as u8).collect();
        let diagnostic = optimize(&garbage).expect_err("garbage");
        assert_place(&garbage, diagnostic);
        // The same where the reader has begun to believe in the text.
        let body = [kernel("ret;").trim_end().trim_end_matches('}').as_bytes(), &garbage, b"\n}\n"].concat();
        if let Err(diagnostic) = optimize(&body) {
            assert_place(&body, diagnostic);
        } else {
            assert!(
                garbage.iter().all(|&byte| byte.is_ascii_whitespace() || byte == 0),
                "round {round}: {garbage:?}"
            );
        }
    }
}

#[test]
fn unclosed_everything_is_refused() {
    for open in [
        "{",
        "(",
        "[",
        "\"",
        "/*",
        "mov.b64 p, {",
        "call (",
        "ld.u32 p, [",
        "t: .branchtargets",
        ".local .b8 x[",
        ".local .b8 x[2] = {",
        ".loc 1 2 3, function_name",
        "@",
        "@!",
        ".reg",
        ".reg .b32 %r<",
        ".pragma \"",
        "L",
        "add.u32 p, (1",
        "#",
    ] {
        let text = format!("{HEAD}.entry k(.param .u64 p)\n{{\n{open}");
        let diagnostic = optimize(text.as_bytes()).expect_err(open);
        assert_place(text.as_bytes(), diagnostic);
        // Closing the body does not close what was opened inside.
        let text = format!("{text}\n}}\n");
        if let Err(diagnostic) = optimize(text.as_bytes()) {
            assert_place(text.as_bytes(), diagnostic);
        } else {
            assert_eq!(open, "#", "a line directive is a comment");
        }
    }
}

#[test]
fn line_ends_and_nul_bytes_are_blanks() {
    let plain = accepted(kernel("\t.reg .b32 %r<2>;\n\tmov.u32 %r1, 1;\n\tst.shared.u32 [0], %r1;\n\tret;"));
    let body = |text: &[u8]| {
        let text = String::from_utf8_lossy(text).replace(['\r', '\0'], "");
        text[text.find(".entry").expect("the kernel is there")..].trim_end().to_owned()
    };
    let source = kernel("\t.reg .b32 %r<2>;\n\tmov.u32 %r1, 1;\n\tst.shared.u32 [0], %r1;\n\tret;");
    for text in [
        source.replace('\n', "\r\n"),
        format!("{source}\0"),
        format!("{source}\0\0\0\n"),
        source.replace("mov.u32 ", "mov.u32\0"),
        source.replace('\t', "\u{b}\u{c} "),
    ] {
        assert_eq!(body(&accepted(&text)), body(&plain), "{text:?}");
    }
}

#[test]
fn comments_and_strings_need_not_be_text() {
    let mut text = HEAD.as_bytes().to_vec();
    text.extend_from_slice(b"// \xff\xfe\xc3\n/* \x80 */\n.file 1 \"\xff\xfe.cu\"\n.entry k() {\n// \xff\n.pragma \"\xc0\";\nret; /* \xf5 */ }\n");
    let output = accepted(&text);
    let holds = |bytes: &[u8]| output.windows(bytes.len()).any(|window| window == bytes);
    assert!(
        holds(b"// \xff\xfe\xc3\n/* \x80 */\n") && holds(b"\"\xff\xfe.cu\"") && holds(b".pragma \"\xc0\";")
    );
    let place = kernel("ret; \u{a6}").find(HERE).unwrap();
    let mut text = kernel("ret; ").into_bytes();
    text.insert(place, 0xff);
    let diagnostic = optimize(&text).unwrap_err();
    let byte = Problem::Unexpected { found: Found::Byte(0xff), expected: "a statement" };
    assert_eq!((diagnostic.offset, &diagnostic.problem), (place, &byte));
    assert_place(&text, diagnostic);
}

mod deep {
    use super::*;

    #[test]
    fn scopes() {
        for depth in [10_000, 100_000] {
            let (open, close) = ("{\n".repeat(depth), "}\n".repeat(depth));
            let output = accepted(kernel(&format!(
                "\t.reg .b32 x; {open} mov.u32 x, 1; {close}\tst.shared.u32 [0], x; ret;"
            )));
            assert!(output.len() < 1000, "scopes are flattened");
            let text = kernel(&format!("{open} ret;"));
            let diagnostic = optimize(text.as_bytes()).unwrap_err();
            assert_eq!(diagnostic.problem, Problem::UnclosedBrace);
        }
    }

    #[test]
    fn scopes_with_names() {
        const DEPTH: usize = 10_000;
        let open =
            "{ .reg .b32 x; .reg .b32 %r<9>; L: mov.u32 %r1, 1; mov.u32 x, %r1; @q bra OUT;\n".repeat(DEPTH);
        let text = kernel(&format!("\t.reg .pred q; {open}{}OUT: ret;", "}".repeat(DEPTH)));
        accepted(&text);
        let text = kernel(&format!("\t.reg .pred q; {open}{}ret;", "}".repeat(DEPTH)));
        assert_eq!(optimize(text.as_bytes()).unwrap_err().problem, Problem::UndefinedLabel("OUT".to_owned()));
    }

    /// Waiting operators are counted, so there is a limit, which is an error.
    #[test]
    fn parentheses() {
        let nested = |depth: usize| {
            let number = format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
            optimize(kernel(&format!("\t.reg .u32 x; mov.u32 x, {number};")).as_bytes())
        };
        assert!(nested(9_000).is_ok());
        for depth in [20_000, 1_000_000] {
            let too_deep = Problem::MalformedExpression(ExpressionFault::TooDeep);
            assert_eq!(nested(depth).unwrap_err().problem, too_deep);
        }
        for operator in ["-", "~", "!", "1?", "1?1:", "(.u64)", "-(~"] {
            let text = kernel(&format!("\t.reg .u32 x; mov.u32 x, {}1;", operator.repeat(100_000)));
            assert!(optimize(text.as_bytes()).is_err(), "{operator}");
        }
        // Operators of one level nest nothing.
        let sum = format!("\t.reg .u32 x; mov.u32 x, 1{};", "+1".repeat(100_000));
        accepted(kernel(&sum));
    }

    #[test]
    fn brackets() {
        for depth in [10_000, 100_000] {
            for (open, close) in [("{", "}"), ("[", "]")] {
                let text = |close: &str| {
                    let (open, close) = (open.repeat(depth), close.repeat(depth));
                    kernel(&format!("\t.reg .u32 x; mov.b32 x, {open}x{close}; ret;"))
                };
                // Not understood, so kept as it is.
                assert!(optimize(text(close).as_bytes()).is_ok());
                assert!(optimize(text("").as_bytes()).is_err());
            }
        }
    }

    #[test]
    fn initialisers() {
        const DEPTH: usize = 100_000;
        let (open, close) = ("{".repeat(DEPTH), "}".repeat(DEPTH));
        accepted(format!("{HEAD}.global .u32 g[1] = {open}1{close};\n"));
        let diagnostic = optimize(format!("{HEAD}.global .u32 g[1] = {open}1").as_bytes()).unwrap_err();
        assert_eq!(diagnostic.problem, Problem::UnclosedBrace);
    }
}

/// Tests that need gigabytes, which therefore run one at a time.
mod huge {
    use super::*;

    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    fn alone() -> MutexGuard<'static, ()> {
        // A test that failed leaves nothing behind but its guard.
        ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    const GIB: usize = 1 << 30;

    /// A module whose kernel holds `count` times `byte` in one line.
    fn line_of(before: &str, byte: u8, count: usize, after: &str) -> Vec<u8> {
        let mut text = Vec::with_capacity(count + before.len() + after.len());
        text.extend_from_slice(before.as_bytes());
        text.resize(before.len() + count, byte);
        text.extend_from_slice(after.as_bytes());
        text
    }

    /// Checks what a user sees of a diagnostic: its place, and no gigabytes.
    #[track_caller]
    fn assert_short(text: &[u8], diagnostic: Diagnostic, column: usize) {
        let diagnostics = ptxopt::Diagnostics(vec![diagnostic]);
        let rendered = diagnostics.render("a.ptx", text, false);
        assert!(rendered.len() < 2000, "{} bytes", rendered.len());
        let summary = diagnostics.summary("a.ptx", text);
        assert!(summary.contains(&format!(":{column}: ")) && summary.len() < 400, "{} bytes", summary.len());
    }

    #[test]
    fn a_comment_of_a_gibibyte() {
        let _alone = alone();
        let text = line_of(&format!("{HEAD}.entry k() {{ /*"), b'x', GIB, "*/ ret; }\n");
        let output = accepted(text);
        assert!(output.ends_with(b"ret;\n}\n") && output.len() < 200, "comments in bodies are dropped");
    }

    #[test]
    fn a_number_of_a_gibibyte() {
        let _alone = alone();
        let before = format!("{HEAD}.entry k() {{ .reg .u32 x; mov.u32 x, ");
        let text = line_of(&before, b'1', GIB, "; ret; }\n");
        let diagnostic = optimize(&text).unwrap_err();
        let overflow = Problem::MalformedNumber(NumberFault::Overflow);
        assert_eq!((diagnostic.offset, &diagnostic.problem), (before.len(), &overflow));
        assert_short(&text, diagnostic, before.len() - HEAD.len() + 1);
    }

    #[test]
    fn a_name_of_a_gibibyte() {
        let _alone = alone();
        let before = format!("{HEAD}.entry k() {{ .reg .u32 x; mov.u32 x, ");
        let text = line_of(&before, b'n', GIB, "; ret; }\n");
        let diagnostic = optimize(&text).unwrap_err();
        assert!(matches!(diagnostic.problem, Problem::UndefinedName(_)));
        assert_eq!(diagnostic.offset, before.len());
        assert_short(&text, diagnostic, before.len() - HEAD.len() + 1);
    }

    /// An unknown instruction is kept, so text and output and what lies between are there at once.
    #[test]
    fn a_mnemonic_of_a_quarter_of_it() {
        let _alone = alone();
        let output = accepted(line_of(&format!("{HEAD}.entry k() {{ "), b'm', GIB / 4, "; }\n"));
        assert!(output.len() > GIB / 4 && output.ends_with(b"mmm;\n}\n"));
    }

    #[test]
    fn a_range_of_twenty_million_registers_costs_what_is_used_of_it() {
        let output = accepted(kernel(
            "\t.reg .b32 %r<20000000>;\n\tmov.u32 %r19999999, %tid.x;\n\tst.shared.u32 [0], %r19999999;\n\tret;",
        ));
        assert!(String::from_utf8(output).unwrap().contains("%r19999999, %tid.x"));
    }

    #[test]
    fn two_to_the_24_used_registers_are_too_many() {
        const COUNT: usize = 1 << 24;
        const IN_ONE_STATEMENT: usize = 1 << 10;
        let _alone = alone();
        let mut text = kernel("").trim_end().trim_end_matches('}').as_bytes().to_vec();
        text.extend_from_slice(b".reg .b32 %r<20000000>");
        let mut last = 0;
        for number in 0..=COUNT {
            let starts_statement = number % IN_ONE_STATEMENT == 0;
            text.extend_from_slice(if starts_statement { b";\ntouch " } else { b"," });
            last = text.len();
            text.extend_from_slice(format!("%r{number}").as_bytes());
        }
        text.extend_from_slice(b";\n}\n");
        let diagnostic = optimize(&text).unwrap_err();
        assert_eq!(diagnostic.problem, Problem::TooMany("registers"));
        assert!((last..last + 12).contains(&diagnostic.offset), "{diagnostic:?}, not at {last}");
        assert_place(&text, diagnostic);
    }
}
