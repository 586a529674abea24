//! Corners of the reader: names that meet across scopes, text that is copied, headers, and what ends where.

use super::tests::{body, edges, problem, rewrite};
use super::*;
use crate::diagnostics::ExpressionFault;
use crate::forms::FormTable;
use crate::ptx::writer::has_unnamed_locals;
use crate::store::tables::CodeTables;
use crate::store::view::FunctionView;
use ptxopt_components::code_object::CodeFlags;

const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// What `look` sees of the last function of a module, and whether the function keeps its text.
fn last<T>(text: &str, look: impl FnOnce(&FunctionView<'_>) -> T) -> (T, bool) {
    let text = format!("{HEAD}{text}");
    let module = Module::scan(text.as_bytes()).unwrap_or_else(|error| panic!("{error:?} in {text}"));
    let (mut forms, mut scratch, mut tables) =
        (FormTable::default(), ReaderScratch::default(), CodeTables::default());
    read(&module, &module.functions, &mut forms, &mut scratch, &mut tables).unwrap();
    let view = tables.view();
    let seen = look(&view.functions().last().expect("it has one"));
    (seen, !tables.left.is_empty())
}

/// What is written of a module.
fn module(text: &str) -> String {
    rewrite(&format!("{HEAD}{text}")).unwrap_or_else(|error| panic!("{error:?} in {text}"))
}

/// Asserts that each of `lines` is written, and none of `others`.
fn check(written: &str, lines: &[&str], others: &[&str]) {
    for line in lines {
        assert!(written.contains(line), "{line} in\n{written}");
    }
    for other in others {
        assert!(!written.contains(other), "{other} in\n{written}");
    }
}

#[test]
fn reals_are_computed_and_negated() {
    let text = body(
        ".reg .f32 f; .reg .f64 d; mov.f32 f, -0f3F800000; mov.f64 d, 7.0 / 2.0 - 0.25 * 2.0; \
         mov.f64 d, (.5 + .25); mov.f64 d, -(1.5 + 1.0); ret;",
    );
    let values = ["0fBF800000", "0d4008000000000000", "0d3FE8000000000000", "0dC004000000000000"];
    check(&text, &values.map(|value| value), &[]);
    let by_zero = problem(".reg .f64 d; mov.f64 d, 1.0 / 0.0;");
    assert_eq!(by_zero, Problem::MalformedExpression(ExpressionFault::DivisionByZero));
}

#[test]
fn what_one_pragma_says_no_other_takes_back() {
    let flags = |pragmas: &str| {
        let text = format!(".entry k() {{ L: {pragmas} bra L; }}");
        last(&text, |function| function.state.flags & (CodeFlags::KEEPS_FLOW | CodeFlags::HAS_FUNCLETS)).0
    };
    let (keeps, funclet, other) = (".pragma \"optnone\";", ".pragma \"ehfunclet\";", ".pragma \"nounroll\";");
    assert_eq!(flags(other), CodeFlags::empty());
    for pragmas in [format!("{keeps}{other}"), format!("{other}{keeps}")] {
        assert_eq!(flags(&pragmas), CodeFlags::KEEPS_FLOW);
    }
    for pragmas in [format!("{funclet}{other}"), format!("{other}{funclet}")] {
        assert_eq!(flags(&pragmas), CodeFlags::HAS_FUNCLETS);
    }
}

#[test]
fn a_line_does_not_end_with_a_comma_or_a_sum() {
    for line in [".loc 1 2 3,", ".loc 1 2 3, function_name L +"] {
        let found = problem(&format!("{line}\n ret;"));
        let wanted = "a number or a label";
        assert!(matches!(&found, Problem::Unexpected { expected, .. } if *expected == wanted), "{found:?}");
    }
    let line = ".loc 1 2 3, function_name L + 4, inlined_at 1 2 3";
    check(&body(&format!("{line}\n ret;")), &[&format!("\t{line}\n")], &[]);
}

#[test]
fn special_registers_are_hidden_by_the_body_and_not_by_what_is_inside() {
    let own = body(".reg .b32 %envreg<4>; mov.u32 %envreg1, 1; ret;");
    check(&own, &[".reg .b32 %envreg<2>;", "mov.u32 %envreg1, 1;"], &[]);
    // A range that holds some of them, and one that holds all.
    for count in [4, 40] {
        let inner = body(&format!(
            ".reg .b32 r; {{ .reg .b32 %envreg<{count}>; mov.u32 %envreg1, 1; }} mov.u32 r, %envreg1; ret;"
        ));
        check(&inner, &["mov.u32 r, %envreg1;"], &["mov.u32 %envreg1, 1;"]);
    }
}

#[test]
fn vectors_that_are_renamed_keep_their_length_in_the_name() {
    let scope = "{ .reg .v2 .u32 w<2>; mov.v2.u32 w1, w0; }";
    check(
        &body(&format!("{scope}{scope} ret;")),
        &["mov.v2.u32 w1, w0;", "mov.v2.u32 w__v2u32_1, w__v2u32_0;"],
        &[],
    );
}

#[test]
fn a_family_has_the_members_that_it_counts() {
    let text = body(".local .b32 v<3>; .local .b32 v07; st.local.b32 [v07], 1; st.local.b32 [v02], 1; ret;");
    check(&text, &["[v07]", "[v2]"], &["[v7]", "[v02]"]);
}

#[test]
fn a_variable_with_a_number_keeps_its_name_from_a_range_inside() {
    let text = body(".local .b32 v3; { .reg .b32 v<5>; mov.b32 v3, 1; } st.local.b32 [v3], 1; ret;");
    check(&text, &["st.local.b32 [v3], 1;"], &["mov.b32 v3, 1;"]);
}

#[test]
fn prefixes_that_begin_alike_are_told_apart() {
    // Eight bytes are compared at once: one prefix is those, one begins with them, and one differs after them.
    let text = body(
        ".reg .b32 %longnam<5>; .reg .b64 %longname<5>; .reg .b16 %longnamf<5>; mov.u32 %longnam3, 1; \
         mov.u64 %longname3, 2; mov.u16 %longnamf3, 3; ret;",
    );
    check(&text, &["mov.u32 %longnam3, 1;", "mov.u64 %longname3, 2;", "mov.u16 %longnamf3, 3;"], &[]);
}

#[test]
fn ranges_of_the_module_end_where_they_say() {
    let kernel = |code: &str| format!(".reg .b32 v<3>;\n.reg .b32 s;\n.entry k() {{ {code} ret; }}");
    check(&module(&kernel("mov.u32 v2, s;")), &["mov.u32 v2, s;"], &[]);
    assert!(!last(&kernel("mov.u32 v2, s;"), |_| ()).1);
    assert!(last(&kernel("mov.u32 v3, s;"), |_| ()).1, "it is some word of the module, and no register");
    let inner = module(&kernel("{ .reg .b32 v2; mov.u32 v2, 2; } mov.u32 v2, 3;"));
    check(&inner, &["mov.u32 v2, 3;"], &["mov.u32 v2, 2;"]);
    let hidden = module(&kernel("mov.u32 v1, 5; .reg .b32 v<3>; mov.u32 v1, 2;"));
    check(&hidden, &["mov.u32 v1, 5;"], &["mov.u32 v1, 2;"]);
}

#[test]
fn a_range_may_hide_variables_of_the_module_in_a_body_but_not_inside_it() {
    let kernel = |code: &str| format!(".global .u32 v1;\n.entry k() {{ {code} ret; }}");
    check(&module(&kernel(".reg .b32 v<3>; mov.u32 v1, 2;")), &["mov.u32 v1, 2;"], &[]);
    let inner = module(&kernel("{ .reg .b32 v<3>; mov.u32 v1, 2; } st.global.u32 [v1], 1;"));
    check(&inner, &["st.global.u32 [v1], 1;"], &["mov.u32 v1, 2;"]);
}

#[test]
fn a_fresh_prefix_is_no_word_of_the_module() {
    let scopes = "{ .reg .b32 t; mov.u32 t, 1; } { .reg .b32 t; mov.u32 t, 2; }";
    let is_left = |module: &str| last(&format!("{module}\n.entry k() {{ {scopes} }}"), |_| ()).1;
    assert!(!is_left(".global .u32 other;"));
    assert!(is_left(".global .u32 t__b32_0;"));
}

#[test]
fn headers_say_what_they_promise_of_launches() {
    let launch =
        |header: &str| last(&format!(".entry k() {header} {{ ret; }}"), |function| function.text.launch).0;
    let nothing = launch("");
    assert_eq!(launch(".maxntid 64, 2").threads_max, 128);
    assert_eq!(launch(".maxntid 64, 2, 2 .maxnreg 40").threads_max, 256);
    assert_eq!(launch(".maxntid 64 .maxnreg 40").registers_max, 40);
    assert_eq!(launch(".minnctapersm 3").ctas_min, 3);
    assert_eq!(launch(".reqntid 32, 4").threads, [32, 4, 1]);
    assert_eq!(launch(".reqntid 96").threads, [96, 1, 1]);
    assert_eq!(launch(".reqnctapercluster 2, 1, 4").cluster, [2, 1, 4]);
    // Neither a product that is too large nor what is no plain number promises anything.
    for header in
        [".maxntid 65536, 65536", ".maxntid 010", ".maxntid 0x10", ".reqntid 32+1", ".maxnreg 4 + 4"]
    {
        assert_eq!(launch(header), nothing, "{header}");
    }
    // A function is not launched.
    assert_eq!(last(".func f() .maxntid 64 { ret; }", |function| function.text.launch).0, nothing);
}

#[test]
fn only_an_address_is_unified() {
    let text = body(".reg .b32 x; .reg .b64 a; ld.global.u32 x, [a].unified; ret;");
    check(&text, &["ld.global.u32 x, [a].unified;"], &[]);
    let other = problem(".reg .b32 x; call (x).unified, k;");
    assert!(matches!(other, Problem::Unexpected { .. }), "{other:?}");
}

#[test]
fn copied_text_may_hold_braces() {
    let text = body(".reg .b32 r; frob => {1, {r}}, \"a}b\" /* ; } */; ret;");
    check(&text, &["frob => {1, {r}}, \"a}b\""], &[]);
    let open = problem("frob => { 1; }");
    assert!(matches!(&open, Problem::Unexpected { expected: "`}`", .. }), "{open:?}");
}

#[test]
fn tables_of_another_function_are_not_meant() {
    let first = ".entry j() { .reg .b32 r; t: .branchtargets L; brx.idx r, t; L: ret; }";
    let prototypes = "p: .callprototype _ (.param .b32 a); q: .callprototype _ (.param .b64 a);";
    let second = format!(".entry k() {{ {prototypes} frob => q; ret; }}");
    assert!(!last(&format!("{first}\n{second}"), |_| ()).1);
}

#[test]
fn a_prototype_is_written_once_and_as_what_it_is() {
    let text = body(
        ".reg .b64 a; .param .b32 x; t: .callprototype _ (.param .b32 y); call a, (x), t; call a, (x), t; ret;",
    );
    assert_eq!(text.matches("t: .callprototype _ (.param .b32 y);").count(), 1, "{text}");
    check(&text, &[], &["branchtargets"]);
}

#[test]
fn what_only_an_unnamed_table_names_is_no_target() {
    let code = ".reg .b32 r; t: .branchtargets A; u: .branchtargets B; w: .branchtargets A; brx.idx r, u; \
                bar.sync 0; A: bar.sync 1; ret; B: exit;";
    assert_eq!(edges(code), [vec![2], vec![], vec![]]);
    assert_eq!(edges(&code.replace("brx.idx r, u;", "brx.idx r, w;")).len(), 4);
}

#[test]
fn variables_that_nothing_names_are_seen() {
    let is_seen = |code: &str| {
        last(&format!(".entry k() {{ .reg .b32 r; .local .b8 a[4]; {code} ret; }}"), has_unnamed_locals).0
    };
    assert!(is_seen(""));
    assert!(is_seen(".local .b8 b[4]; st.local.u8 [a], r;"));
    assert!(!is_seen("st.local.u8 [a], r;"));
    assert!(!is_seen("frob => a;"), "copied text may name anything");
    assert!(!is_seen(".shared .b8 s[4]; st.local.u8 [a], r;"), "others see it");
    let named = ".entry k() { .local .b8 a[4]; ret; }\n.section .debug_x { .b64 a\n }";
    assert!(!last(named, has_unnamed_locals).0, "a debug section names it");
    let shared = ".entry k() { .shared .b8 s[4]; ret; }";
    assert!(!last(shared, has_unnamed_locals).0, "others see it");
}

#[test]
fn a_variable_that_a_debug_section_names_is_named_outside() {
    let outside = |section: &str| {
        let text =
            format!(".entry k() {{ .local .b8 depot[4]; ret; }}\n.section .debug_x {{ .b64 {section}\n }}");
        last(&text, |function| function.decls[0].is_named_outside).0
    };
    assert!(outside("depot"));
    assert!(!outside("other"));
}

#[test]
fn strings_end() {
    for text in [".file 1 \"a", ".file 1 \"a\\", ".file 1 \"a\\\""] {
        let error = Module::scan(format!("{HEAD}{text}").as_bytes()).err().expect(text);
        assert_eq!(error.problem, Problem::UnterminatedString, "{text}");
    }
}

#[test]
fn headers_end_at_their_bodies() {
    let names = |text: &str| -> Vec<String> {
        let text = format!("{HEAD}{text}");
        let module = Module::scan(text.as_bytes()).unwrap();
        module.functions.iter().map(|function| text[function.name.range()].to_owned()).collect()
    };
    assert_eq!(names(".extern .func p (.reg .u32 a);\n.func q () { ret; }"), ["q"]);
    assert_eq!(names(".func q () .abi_preserve 8 { ret; }"), ["q"]);
    assert_eq!(names(".func p (.reg .u32 a) .abi_preserve 8;\n.func q () { ret; }"), ["q"]);
}

#[test]
fn a_module_is_kept_rolled_where_one_pragma_says_so() {
    let is_kept = |text: &str| Module::scan(format!("{HEAD}{text}").as_bytes()).unwrap().is_kept_rolled;
    assert!(is_kept(".pragma \"nounroll\";\n.pragma \"other\";"));
    assert!(!is_kept(".pragma \"other\";"));
}

#[test]
fn numbers_are_no_words_of_the_module() {
    let text = format!("{HEAD}.global .u32 g[2] = {{ 0xabc, 7 }};");
    let module = Module::scan(text.as_bytes()).unwrap();
    assert!(module.mentions(b"g") && !module.mentions(b"u32"));
    assert!(!module.mentions(b"xabc") && !module.mentions(b"abc"));
}

/// What is marked in a body by `|` before and after is what the diagnostic points at.
#[test]
fn diagnostics_are_as_long_as_what_is_wrong() {
    for marked in [
        ".reg .u32 xyz; .reg .s32 |xyz|;",
        ".reg .u32 x; add.u32 x, x, (|.u32|)5;",
        ".reg .u32 x; st.u32 [x+|1.5|], x;",
        ".reg .u32 x<|4294967296|>;",
        ".reg .u32 x; mov.u32 x, |99999999999999999999|;",
    ] {
        let text = format!("{HEAD}.entry k() {{{marked}}}");
        let first = text.find('|').expect("where it begins");
        let length = text[first + 1..].find('|').expect("where it ends");
        match rewrite(&text.replace('|', "")) {
            Err(diagnostic) => {
                assert_eq!(
                    (diagnostic.offset, diagnostic.length),
                    (first, length),
                    "{marked}: {diagnostic:?}"
                );
            }
            Ok(written) => panic!("accepted {marked}\n{written}"),
        }
    }
}

#[test]
fn unknown_directives_are_copied_whole() {
    let text = body(".reg .b32 r; .newthing a, {b;c}, \"x;\"; mov.u32 r, 1; ret;");
    check(&text, &["\t.newthing a, {b;c}, \"x;\";\n\tmov.u32 r, 1;\n"], &[]);
    let nameless = problem(". ret;");
    assert!(matches!(&nameless, Problem::Unexpected { expected: "a directive", .. }), "{nameless:?}");
}

#[test]
fn ranges_and_names_beside_them_may_touch() {
    for apart in [
        ".reg .b32 %r5; .reg .b32 %r<5>;",
        ".reg .b32 %r<5>; .reg .b32 %r5;",
        // The number of `%clock64` is the first that the range does not have.
        "{ .reg .b32 %clock<64>; mov.u32 %clock1, 1; }",
    ] {
        check(&body(&format!("{apart} ret;")), &[], &["__"]);
    }
    check(&body("{ .reg .b32 %clock<65>; mov.u32 %clock1, 1; } ret;"), &[], &["mov.u32 %clock1, 1;"]);
    let overlapping = problem(".reg .b32 %x1; .reg .b32 %r3; .reg .b32 %r<5>;");
    assert_eq!(overlapping, Problem::DuplicateName("%r".into()));
}

/// The range is declared after the first name was made: no number is left that it does not have.
#[test]
fn a_fresh_name_gives_way_to_a_range_of_all_numbers() {
    let text = body("x: bra x; { x: bra x; } .reg .b32 x__<4000000000>; { x: bra x; } { x: bra x; } ret;");
    check(&text, &["bra x;", "bra x__1;", "bra x___1;", "bra x___2;"], &[]);
}

#[test]
fn a_line_of_the_preprocessor_holds_no_brace() {
    let text = body(".reg .b32 r;\n# }\nmov.b32 r, 1; ret;");
    check(&text, &["mov.b32 r, 1;"], &["#"]);
}

#[test]
fn parentheses_of_an_attribute_nest() {
    let text = body(".global .attribute(.unified(1, 2)) .b32 g; ret;");
    check(&text, &[".global .attribute(.unified(1, 2)) .b32 g;"], &[]);
}

#[test]
fn a_label_may_end_like_the_word_before_it() {
    let line = ".loc 1 2 3, function_name my_function_name, inlined_at 1 2 3";
    check(&body(&format!("{line}\n ret;")), &[line], &[]);
}

#[test]
fn a_table_lists_no_more_labels_than_a_text_can_hold() {
    let many = problem(".reg .b32 r; t: .branchtargets A<16000000>; brx.idx r, t;");
    assert_eq!(many, Problem::TooMany("branch targets"));
}

#[test]
fn a_special_register_is_hidden_by_a_name_of_the_body() {
    let own = body(".reg .b32 %envreg3; mov.u32 %envreg3, 1; ret;");
    check(&own, &["mov.u32 %envreg3, 1;"], &["__"]);
    let inner = body(".reg .b32 r; { .reg .b32 %envreg3; mov.u32 %envreg3, 1; } mov.u32 r, %envreg3; ret;");
    check(&inner, &["mov.u32 r, %envreg3;"], &["mov.u32 %envreg3, 1;"]);
}

#[test]
fn labels_give_way_to_registers_of_the_module_alone() {
    let kernel = |code: &str| module(&format!(".reg .b32 v<3>;\n.reg .b32 s;\n.entry k() {{ {code} }}"));
    check(&kernel(".reg .b32 q; L: mov.u32 q, s; bra L;"), &["mov.u32 q, s;", "bra L;"], &["__"]);
    check(&kernel("s: bra s;"), &["bra s__1;"], &["bra s;"]);
    check(&kernel("v2: bra v2;"), &["bra v2__1;"], &["bra v2;"]);
    check(&kernel("v3: bra v3;"), &["bra v3;"], &["__"]);
}

#[test]
fn fresh_labels_are_no_members_of_a_range_and_no_words_of_the_module() {
    let labels = "{ L: bra L; }".repeat(12);
    let text = body(&format!(".reg .b32 L__<11>; mov.u32 L__10, 5; {labels}"));
    check(&text, &["mov.u32 L__10, 5;", "L___9:", "bra L___9;"], &["L__9:", "bra L__9;"]);
    let named = module(".global .u32 L__1;\n.entry k() { L: { L: bra L; } bra L; }");
    check(&named, &["L:"], &["L__1:"]);
}

#[test]
fn words_without_a_number_are_no_members() {
    let kernel = |variable: &str| {
        module(&format!(
            ".global .u32 {variable};\n.entry k() {{ {{ .reg .b32 v<3>; mov.u32 v1, 2; }} ret; }}"
        ))
    };
    check(&kernel("v"), &["mov.u32 v1, 2;"], &[]);
    check(&kernel("v9"), &[], &["mov.u32 v1, 2;"]);
    // A family of the module has its members only.
    let beside = module(".global .u32 w<2>;\n.entry k() { { .reg .b32 q; mov.u32 q, 1; } ret; }");
    check(&beside, &["mov.u32 q, 1;"], &[]);
}

#[test]
fn members_of_inner_families_are_told_from_others() {
    let left = |code: &str| last(&format!(".entry k() {{ {code} ret; }}"), |_| ()).1;
    assert!(!left("{ .local .b32 v<3>; .local .b32 v03; st.local.b32 [v03], 1; }"));
    assert!(!left("{ .local .b32 v<3>; .local .b32 w7; st.local.b32 [w7], 1; }"));
    assert!(left("{ .local .b32 v<3>; st.local.b32 [v02], 1; }"));
    assert!(!left("{ .reg .b32 v7; mov.u32 v7, 1; } .local .b32 v<3>;"));
}

#[test]
fn the_ends_of_what_64_bits_hold_keep_their_values() {
    let text = body(
        ".reg .b64 d; mov.u64 d, 9223372036854775807U; mov.u64 d, 9223372036854775808; \
         mov.u64 d, -9223372036854775808; mov.u64 d, -9223372036854775807; ret;",
    );
    check(&text, &["d, 9223372036854775807;", "d, -9223372036854775807;"], &["-9223372036854775808"]);
    assert_eq!(text.matches("d, 0x8000000000000000;").count(), 2, "{text}");
}

#[test]
fn strings_of_a_header_promise_nothing() {
    let header = ".entry k() .pragma \"a .maxntid 5 \"; { ret; }";
    assert_eq!(last(header, |function| function.text.launch.threads_max).0, 0);
}

#[test]
fn results_stand_before_the_name_and_arguments_after_it() {
    use ptxopt_components::vreg::VRegFlags;
    let text = ".func (.reg .u32 o) f (.reg .u32 i) { add.u32 o, i, 1; ret; }";
    let roles = VRegFlags::INPUT | VRegFlags::OUTPUT;
    let flags =
        last(text, |function| function.vregs.iter().map(|vreg| vreg.flags & roles).collect::<Vec<_>>()).0;
    assert_eq!(flags, [VRegFlags::OUTPUT, VRegFlags::INPUT]);
}

#[test]
fn a_function_after_another_has_blocks_and_registers_of_its_own() {
    let text = ".reg .b32 v<3>;\n.entry j() { mov.u32 v1, 1; bra L; L: ret; }\n\
                .entry k() { mov.u32 v2, v1; bra M; M: ret; }";
    let sizes = last(text, |function| (function.blocks.len(), function.vregs.len())).0;
    assert_eq!(sizes, (2, 2));
    check(&module(text), &["mov.u32 v1, 1;", "mov.u32 v2, v1;", "bra M;"], &[]);
}

#[test]
fn only_the_tables_that_a_branch_names_have_targets() {
    let code = ".reg .b32 r; t: .branchtargets A; u: .branchtargets B; brx.idx r, t; \
                bar.sync 0; A: bar.sync 1; ret; bar.sync 2; B: exit;";
    assert_eq!(edges(code), [vec![2], vec![2], vec![], vec![]], "the second is named by nothing");
}

#[test]
fn an_index_is_a_constant_or_a_register() {
    let text = body(".shared .b32 a[4]; .reg .b32 r; st.shared.u32 a[ 3 ], 5; st.shared.u32 a[r], 5; ret;");
    check(&text, &["a[ 3 ], 5;", "a[r], 5;"], &[]);
    for open in [".shared .b32 a[4]; st.shared.u32 a[1; ret;", ".shared .b32 a[4]; st.shared.u32 a[{1}], 5;"]
    {
        let found = problem(open);
        assert!(matches!(&found, Problem::Unexpected { expected: "`]`", .. }), "{found:?}");
    }
}

#[test]
fn digits_of_copied_text_are_no_names() {
    let scope = "{ .reg .b32 x1F; mov.u32 x1F, 1; frob => 0x1F, .x1F; }";
    let text = body(&format!("{scope}{scope} ret;"));
    assert_eq!(text.matches("frob => 0x1F, .x1F;").count(), 2, "{text}");
}

#[test]
fn parameters_of_an_inner_scope_are_not_those_around_it() {
    let text = body(
        ".param .b32 q; st.param.b32 [q], 1; { .param .b32 q; st.param.b32 [q], 2; call f, (q); } call f, (q); ret;",
    );
    check(&text, &["st.param.b32 [q], 1;"], &["st.param.b32 [q], 2;"]);
}

#[test]
fn words_of_lines_are_known_and_those_of_strings_are_not() {
    let text = format!("{HEAD}.loc 1 2 3, function_name Lx\n.global .b8 s[7] = \"inside {{\";");
    let module = Module::scan(text.as_bytes()).unwrap();
    assert!(module.mentions(b"Lx") && module.mentions(b"function_name"));
    assert!(module.mentions(b"s") && !module.mentions(b"inside"));
}

#[test]
fn an_entry_without_a_body_ends_at_its_semicolon() {
    let text = format!("{HEAD}.entry k ();\n.func q () {{ ret; }}");
    let module = Module::scan(text.as_bytes()).unwrap();
    assert_eq!(module.functions.iter().map(|function| function.is_entry).collect::<Vec<_>>(), [false]);
}

#[test]
fn a_call_ends_its_block_where_the_callee_never_returns() {
    let text = |call: &str| {
        format!(
            ".func die() .noreturn {{ exit; }}\n.func (.param .b32 r) f();\n\
             .entry k() {{ .param .b32 die0; {call} bar.sync 0; ret; }}"
        )
    };
    let blocks = |call: &str| last(&text(call), |function| function.blocks.len()).0;
    assert_eq!(blocks("call die;"), 2);
    assert_eq!(blocks("call (die0), f, ();"), 1);
    // A result may have the name of such a function.
    assert_eq!(
        last(&text("call (die), f, ();").replace("die0", "die"), |function| function.blocks.len()).0,
        1
    );
}

#[test]
fn a_guard_is_a_predicate() {
    assert_eq!(problem(".reg .b32 r; @r ret;"), Problem::UndefinedName("r".into()));
    check(&body(".reg .pred r; @r ret; @!r ret;"), &["@r ret;", "@!r ret;"], &[]);
}
