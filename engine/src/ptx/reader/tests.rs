//! The reader against small bodies, mostly by what the writer makes of them.

use super::*;
use crate::diagnostics::{ExpressionFault, Found, NumberFault};
use crate::forms::FormTable;
use crate::ptx::writer::{WriterScratch, assemble, write_function};
use crate::store::tables::CodeTables;

/// Reads and writes a whole module.
pub(super) fn rewrite(text: &str) -> Result<String, Diagnostic> {
    let module = Module::scan(text.as_bytes())?;
    let (mut forms, mut scratch, mut tables) =
        (FormTable::default(), ReaderScratch::default(), CodeTables::default());
    read(&module, &module.functions, &mut forms, &mut scratch, &mut tables)?;
    let mut writer = WriterScratch::default();
    let functions: Vec<Vec<u8>> = tables
        .view()
        .functions()
        .map(|function| {
            let mut out = Vec::new();
            write_function(&function, &forms, module.text, &mut writer, &mut out);
            out
        })
        .collect();
    let mut out = Vec::new();
    assemble(&module, functions.iter().map(Vec::as_slice), false, &mut out);
    Ok(String::from_utf8(out).unwrap())
}

/// The body that the writer makes of `body`, after checking that a second round changes nothing.
pub(super) fn body(body: &str) -> String {
    let head = ".version 8.0\n.target sm_90\n.address_size 64\n.global .u32 g;\n.func f(.param .u32 a);\n.entry k(.param .u64 p)\n";
    let once = rewrite(&format!("{head}{{{body}}}")).unwrap_or_else(|d| panic!("{d:?}"));
    let twice = rewrite(&once).unwrap_or_else(|d| panic!("{d:?} in\n{once}"));
    assert_eq!(once, twice, "writing is not stable");
    once.strip_prefix(head).unwrap().to_owned()
}

pub(super) fn problem(body: &str) -> Problem {
    let text = format!(".version 8.0\n.target sm_90\n.entry k(.param .u64 p) {{{body}}}");
    match rewrite(&text) {
        Err(diagnostic) => diagnostic.problem,
        Ok(out) => panic!("accepted as\n{out}"),
    }
}

#[test]
fn a_plain_kernel_comes_back() {
    let text = body(
        ".reg .b32 %r<3>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; \
                     add.s32 %r2, %r1, -5; st.global.u32 [%rd1+4], %r2; ret;",
    );
    assert_eq!(
        text,
        "{\n\t.reg .b32 %r<3>;\n\t.reg .b64 %rd<2>;\n\tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %tid.x;\n\
         \tadd.s32 %r2, %r1, -5;\n\tst.global.u32 [%rd1+4], %r2;\n\tret;\n}"
    );
}

#[test]
fn inner_scopes_shadow_and_repeat() {
    let text = body(
        ".reg .u32 x; mov.u32 x, 1; { .reg .u32 x; mov.u32 x, 2; L: bra L; } \
                     { .reg .u32 x; mov.u32 x, 3; L: bra L; } st.global.u32 [g], x; ret;",
    );
    assert!(text.contains("mov.u32 x, 1;"), "{text}");
    assert!(text.contains("mov.u32 x__u32_0, 2;"), "{text}");
    assert!(text.contains("mov.u32 x__u32_1, 3;"), "{text}");
    assert!(text.contains("L:\n\tbra L;") && text.contains("L__1:\n\tbra L__1;"), "{text}");
    assert!(text.contains("st.global.u32 [g], x;"), "{text}");
}

#[test]
fn a_branch_leaves_its_scope_when_the_label_is_outside() {
    let text = body("{ bra DONE; } DONE: ret;");
    assert_eq!(text, "{\n\tbra DONE;\nDONE:\n\tret;\n}");
}

#[test]
fn call_sequences_share_their_parameters() {
    let call = "{ .param .b32 param0; st.param.b32 [param0], 1; call.uni f, (param0); }";
    let text = body(&format!("{call}{call} ret;"));
    assert_eq!(text.matches(".param .b32 param0;").count(), 1, "{text}");
    assert_eq!(text.matches("call.uni f, (param0);").count(), 2, "{text}");
}

#[test]
fn vectors_sinks_pairs_and_guards_keep_their_shape() {
    let text = body(
        ".reg .b32 %r<9>; .reg .pred %p<3>; .reg .b64 %rd<2>; \
                     ld.global.v4.b32 {%r1,_,_,%r2}, [%rd1+-16]; setp.lt.s32 %p1|%p2, %r1, %r2; \
                     @!%p1 shfl.sync.down.b32 %r3|%p2, %r1, 1, 31, -1; mov.b64 {%r4,%r5}, %rd1; \
                     vadd.u32.u32.u32 %r6, %r1.h0, %r2.b3; ret;",
    );
    for line in [
        "ld.global.v4.b32 {%r1, _, _, %r2}, [%rd1+-16];",
        "setp.lt.s32 %p1|%p2, %r1, %r2;",
        "@!%p1 shfl.sync.down.b32 %r3|%p2, %r1, 1, 31, -1;",
        "mov.b64 {%r4, %r5}, %rd1;",
        "vadd.u32.u32.u32 %r6, %r1.h0, %r2.b3;",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
}

#[test]
fn every_spelling_of_a_number_keeps_its_value() {
    let text = body(
        ".reg .b64 %rd<2>; .reg .f32 %f<2>; .reg .f64 %fd<2>; mov.u64 %rd1, 0xFFFFFFFFFFFFFFFF; \
                     mov.u64 %rd1, 0b101; mov.u64 %rd1, 017; mov.u64 %rd1, 4294967296; mov.u64 %rd1, 7U; \
                     mov.f32 %f1, 0f3F800000; mov.f64 %fd1, 0d3FF0000000000000; mov.f64 %fd1, 1.5e0; \
                     mov.u64 %rd1, (1 << 4) + 3 * 2; mov.u64 %rd1, (3 > 2) ? 5 : 6; mov.u64 %rd1, ~0; \
                     mov.u64 %rd1, -WARP_SZ; mov.u64 %rd1, !WARP_SZ + 9; ret;",
    );
    for value in [
        "0xFFFFFFFFFFFFFFFF",
        "5",
        "15",
        "4294967296",
        "7",
        "0f3F800000",
        "0d3FF0000000000000",
        "0d3FF8000000000000",
        "22",
        "5",
        "0xFFFFFFFFFFFFFFFF",
        "-32",
        "9",
    ] {
        assert!(
            text.contains(&format!(" %rd1, {value};")) || text.contains(&format!("1, {value};")),
            "{value}"
        );
    }
}

#[test]
fn registers_may_start_like_the_warp_size() {
    let text = body(".reg .s32 W, WARP_SZ1; vadd.s32.s32.s32 W, - W, -WARP_SZ1; ret;");
    assert!(text.contains("vadd.s32.s32.s32 W, -W, -WARP_SZ1;"), "{text}");
}

#[test]
fn wide_offsets_survive() {
    let text = body(
        ".reg .b64 %rd<2>; .reg .b32 %r<2>; ld.global.u32 %r1, [%rd1+4294967296]; \
                     ld.global.u32 %r1, [g+8]; ld.global.u32 %r1, [4096]; ret;",
    );
    for address in ["[%rd1+4294967296]", "[g+8]", "[4096]"] {
        assert!(text.contains(address), "{text}");
    }
}

#[test]
fn jump_tables_stand_before_their_branch() {
    let text = body(".reg .b32 %r<2>; ts: .branchtargets A, B, A; brx.idx %r1, ts; A: ret; B: exit;");
    assert!(text.contains("ts: .branchtargets A, B, A;\n\tbrx.idx %r1, ts;\nA:\n"), "{text}");
}

#[test]
fn unknown_instructions_are_copied_with_their_registers() {
    let text = body(".reg .b32 %r<3>; frob.new.v9 %r1 => <%r2, \"x;\">, 0x1F; frob2 %r1, %r2; ret;");
    assert!(text.contains("\tfrob.new.v9 %r1 => <%r2, \"x;\">, 0x1F;\n"), "{text}");
    assert!(text.contains("\tfrob2 %r1, %r2;\n"), "{text}");
}

#[test]
fn a_range_of_twenty_million_costs_what_is_used_of_it() {
    let text = body(".reg .b32 %r<20000000>; mov.u32 %r19999999, 1; mov.u32 %r0, %r19999999; ret;");
    assert!(text.contains(".reg .b32 %r<20000000>;") && text.contains("mov.u32 %r0, %r19999999;"), "{text}");
}

#[test]
fn a_range_may_have_more_than_a_thousand_million_registers() {
    let text =
        body(".reg .b32 %r<4294967295>; mov.u32 %r4294967294, 1; mov.u32 %r1000000000, %r4294967294; ret;");
    assert!(text.contains(".reg .b32 %r<4294967295>;"), "{text}");
    assert!(text.contains("mov.u32 %r1000000000, %r4294967294;"), "{text}");
}

#[test]
fn sums_of_a_register_and_a_constant_stay_sums() {
    let text = body(
        ".reg .b32 %r<3>; .reg .b64 %rd<2>; st.u64 [%rd1], %rd1 + 1; add.u32 %r1, %r2+-4, %r1 + (2 * 3); \
         mov.u64 %rd1, g + 4; ret;",
    );
    for line in ["st.u64 [%rd1], %rd1+1;", "add.u32 %r1, %r2+-4, %r1+6;", "mov.u64 %rd1, g+4;"] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
}

#[test]
fn vector_registers_have_components() {
    let text = body(
        ".reg .v4 .f32 v; .reg .v2 .u32 w<3>; ld.global.v4.f32 v, [g]; mov.f32 v.x, v.w; mov.f32 v.g, v.a; \
         ld.global.v2.u32 {w1.x, _}, [g]; mov.v2.u32 w2, w1; add.u32 w2.y, w1.r, 1; ret;",
    );
    for line in [
        ".reg .v2 .u32 w<3>;",
        ".reg .v4 .f32 v;",
        "ld.global.v4.f32 v, [g];",
        "mov.f32 v.x, v.w;",
        "mov.f32 v.g, v.a;",
        "ld.global.v2.u32 {w1.x, _}, [g];",
        "mov.v2.u32 w2, w1;",
        "add.u32 w2.y, w1.r, 1;",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
}

#[test]
fn calls_may_have_as_many_arguments_as_rows_count() {
    let arguments = vec!["q"; 5000].join(", ");
    let text = body(&format!(".param .b32 q; call f, ({arguments}); ret;"));
    assert!(text.contains(&format!("call f, ({arguments});")));
}

/// OptiX puts something in the place of these calls before an assembler sees the module.
#[test]
fn functions_of_optix_need_no_declaration() {
    let call = "call (r), _optix_get_launch_index_x, ();";
    assert!(body(&format!(".reg .b32 r; {call} ret;")).contains(call));
    let other = problem(".reg .b32 r; call (r), optix_get_launch_index_x, ();");
    assert_eq!(other, Problem::UndefinedName("optix_get_launch_index_x".into()));
}

/// `ptxas` 13.0 takes all digits off the end of a name before it looks for a range.
#[test]
fn nothing_names_a_member_of_a_prefix_that_ends_in_a_digit() {
    let ranges = ".reg .b32 %p1<5>; .reg .b32 %q<2>;";
    assert_eq!(problem(&format!("{ranges} mov.u32 %p14, 1;")), Problem::UndefinedName("%p14".into()));
    for declared in [".reg .b32 %p14;", ".reg .b32 %p<20>;"] {
        for text in [format!("{declared} {ranges}"), format!("{ranges} {declared}")] {
            let text = body(&format!("{text} mov.u32 %p14, 1; mov.u32 %q1, %p14; ret;"));
            assert!(text.contains("mov.u32 %q1, %p14;") && !text.contains("%p1<5>"), "{text}");
        }
    }
}

#[test]
fn lines_and_pragmas_stay_where_they_were() {
    let text = body(
        ".reg .b32 %r<2>; .loc 1 10 5\n mov.u32 %r1, 1; \
                     .loc 1 3 2, function_name $L__info_string0, inlined_at 1 10 5\n L: .pragma \"nounroll\"; bra L;",
    );
    assert_eq!(
        text,
        "{\n\t.reg .b32 %r<2>;\n\t.loc 1 10 5\n\tmov.u32 %r1, 1;\n\
         \t.loc 1 3 2, function_name $L__info_string0, inlined_at 1 10 5\nL:\n\t.pragma \"nounroll\";\n\tbra L;\n}"
    );
}

#[test]
fn a_pragma_that_speaks_of_nothing_goes() {
    let lines = |code: &str| {
        let text =
            body(&format!(".reg .b32 %r<3>; .reg .b64 %d<2>; .reg .pred %p; N: {code} @%p bra N; ret;"));
        text.lines().map(|line| line.trim_start().to_owned()).collect::<Vec<_>>()
    };
    let is_kept = |code: &str, pragma: &str| lines(code).contains(&pragma.to_owned());
    let (of_block, of_load) = (".pragma \"nounroll\";", ".pragma \"used_bytes_mask 0x3\";");
    // After a branch a block would begin. Without an instruction it does not, and that of the label is another one.
    for (branch, code, expected) in [
        ("bra M;", "", false),
        ("@%p bra M;", "", false),
        ("@%p bra M;", "mov.u32 %r1, 3;", true),
        ("mov.u32 %r1, 3;", "", true),
    ] {
        let code = format!("mov.u32 %r1, 1; {branch} {of_block} {code} M: mov.u32 %r2, 2; @%p bra M;");
        assert_eq!(is_kept(&code, of_block), expected, "{code}");
    }
    // Wherever it stands in its block, it comes first in it.
    let code = lines(&format!("mov.u32 %r1, 1; .loc 1 1 0\nmov.u32 %r2, 1; {of_block}"));
    let head = code.iter().position(|line| line == "N:").unwrap();
    assert_eq!(code[head + 1..][..4], [of_block, "mov.u32 %r1, 1;", ".loc 1 1 0", "mov.u32 %r2, 1;"]);
    // At a label that nothing names a block begins, if a pragma speaks of it.
    let behind_label = |rest: &str| {
        let code = lines(&format!("mov.u32 %r1, 1; M: mov.u32 %r2, 2; {rest} {of_block} mov.u32 %r1, 3;"));
        let at = code.iter().position(|line| line == of_block).unwrap();
        code[at - 1].clone()
    };
    assert_eq!(behind_label(""), "M:");
    assert_eq!(behind_label("@%p bra N;"), "@%p bra N;");
    // To a label before a load others come, too.
    for (label, rest, expected) in [("", "", true), ("M:", "", true), ("M:", "@%p bra M;", false)] {
        let code = format!("mov.u32 %r1, 1; {of_load} {label} ld.global.u32 %r2, [%d1]; {rest}");
        assert_eq!(is_kept(&code, of_load), expected, "{code}");
    }
}

#[test]
fn labels_stay_for_branches_and_debug_sections_only() {
    let text = rewrite(
        ".version 8.0\n.target sm_90\n.entry k() { unused: named: ret; }\n.section .debug_x { .b32 named\n }",
    )
    .unwrap();
    assert!(text.contains("{\nnamed:\n\tret;\n}"), "{text}");
}

#[test]
fn carry_chains_share_a_register_that_has_no_name() {
    let text = body(".reg .b32 %r<4>; add.cc.u32 %r1, %r2, %r3; addc.u32 %r1, %r2, %r3; ret;");
    assert!(text.contains("\tadd.cc.u32 %r1, %r2, %r3;\n\taddc.u32 %r1, %r2, %r3;\n"), "{text}");
    assert!(!text.contains("CC.CF"), "{text}");
}

#[test]
fn a_type_without_a_name_declares_nothing() {
    for declaration in [".reg .b32;", ".local .v2 .b32;", ".attribute(.managed) .param .b32;"] {
        assert_eq!(body(&format!("{declaration} ret;")), body("ret;"), "{declaration}");
    }
}

#[test]
fn a_prototype_in_a_body_is_taken() {
    let text = body(".extern .func (.reg .u32 o) e(.reg .u32 a, .reg .f32 b); ret;");
    assert!(text.contains("ret;"), "{text}");
}

#[test]
fn register_parameters_are_not_declared_again() {
    let text = rewrite(
        ".version 3.0\n.target sm_20\n.func (.reg .u32 rv) f (.reg .u32 a) { add.u32 rv, a, 1; ret; }",
    )
    .unwrap();
    assert!(text.contains("{\n\tadd.u32 rv, a, 1;\n\tret;\n}"), "{text}");
}

/// Each reason why a function keeps its text.
mod left {
    use super::*;
    use crate::store::left::LeftReason;

    /// The reason why the reader leaves a kernel with `body`, with whether its text is kept to the letter.
    fn reason(body: &str) -> Option<LeftReason> {
        let text = format!(".version 8.0\n.target sm_90\n.entry k() {{{body}}}");
        let module = Module::scan(text.as_bytes()).unwrap();
        let (mut forms, mut scratch, mut tables) =
            (FormTable::default(), ReaderScratch::default(), CodeTables::default());
        read(&module, &module.functions, &mut forms, &mut scratch, &mut tables).unwrap();
        let mut out = Vec::new();
        let function = tables.view().functions().next().unwrap();
        write_function(&function, &forms, module.text, &mut WriterScratch::default(), &mut out);
        let is_kept = out.ends_with(format!("{{{body}}}").as_bytes());
        let reason = tables.left.first().map(|&(_, reason)| reason);
        assert_eq!(reason.is_some(), is_kept, "{reason:?}");
        reason
    }

    #[test]
    fn copied_text_names_renamed() {
        let arrays =
            "{ .shared .b32 a[4]; st.shared.u32 a[1], 5; } { .shared .b32 a[4]; st.shared.u32 a[1], 6; }";
        assert_eq!(reason(arrays), Some(LeftReason::CopiedTextNamesRenamed));
        assert_eq!(reason(&arrays.replace("4]; st.shared.u32 a[1], 6", "4]; st.shared.u32 [a], 6")), None);
        let unknown = "{ .shared .b32 a; } { .shared .b32 a; frob => a; }";
        assert_eq!(reason(unknown), Some(LeftReason::CopiedTextNamesRenamed));
        let pointer = "{ .global .u32 x; } { .global .u32 x; .global .u64 p = x; }";
        assert_eq!(reason(pointer), Some(LeftReason::CopiedTextNamesRenamed));
    }

    #[test]
    fn table_named_by_no_branch() {
        let table = |user: &str| format!(".reg .b32 r; t: .branchtargets L; {user} L: ret;");
        assert_eq!(reason(&table("frob r, t;")), Some(LeftReason::TableNamedByNoBranch));
        assert_eq!(reason(&table("frob => t;")), Some(LeftReason::TableNamedByNoBranch));
        assert_eq!(reason(&table("brx.idx r, t;")), None);
    }

    #[test]
    fn word_captured() {
        assert_eq!(reason("{ .reg .b32 from; } frob => from;"), Some(LeftReason::WordCaptured));
        assert_eq!(reason("{ .reg .b32 from<3>; } frob => from1;"), Some(LeftReason::WordCaptured));
        assert_eq!(reason("{ .reg .b32 other; } frob => from;"), None);
    }

    #[test]
    fn family_meets_name() {
        assert_eq!(reason("{ .local .b32 v<65>; }"), Some(LeftReason::FamilyMeetsName));
        assert_eq!(reason("{ .local .b32 v1<3>; }"), Some(LeftReason::FamilyMeetsName));
        // Few members are declared one by one, and can be renamed. With zeros they have another name.
        let member = |spelled: &str| format!("{{ .local .b32 v<3>; st.local.b32 [{spelled}], 1; }}");
        assert_eq!(reason(&member("v2")), None);
        assert_eq!(reason(&member("v02")), Some(LeftReason::FamilyMeetsName));
        assert_eq!(reason(".reg .b32 v1; { .local .b32 v<3>; st.local.b32 [v1], 1; } mov.b32 v1, 1;"), None);
        assert_eq!(reason("{ .reg .b32 v<2>; } .local .b32 v<3>;"), Some(LeftReason::FamilyMeetsName));
        assert_eq!(reason("{ .reg .b32 v2; } .local .b32 v<3>;"), Some(LeftReason::FamilyMeetsName));
        // What is declared after a family can be renamed.
        assert_eq!(reason(".local .b32 v<3>; { .reg .b32 v2; mov.b32 v2, 1; } frob => v1;"), None);
    }

    #[test]
    fn numbers_exhausted() {
        let ranges = "{ .reg .b32 %r<2000000000>; }".repeat(4);
        assert_eq!(reason(&ranges), Some(LeftReason::NumbersExhausted));
        assert_eq!(reason(&ranges[..ranges.len() / 4 * 3]), None);
    }

    #[test]
    fn fresh_name_taken() {
        let repeated = "{ .reg .b32 t; } { .reg .b32 t; }";
        assert_eq!(reason(repeated), None);
        for meeting in [
            ".reg .b32 t__b32_7;",
            ".reg .b32 t__b32_<3>;",
            ".reg .b32 t__b32_7<3>;",
            "t__b32_0: bra t__b32_0;",
            "frob => t__b32_0;",
        ] {
            assert_eq!(
                reason(&format!("{meeting} {repeated}")),
                Some(LeftReason::FreshNameTaken),
                "{meeting}"
            );
            assert_eq!(
                reason(&format!("{repeated} {meeting}")),
                Some(LeftReason::FreshNameTaken),
                "{meeting}"
            );
        }
        let labels = "L: { L: bra L; } bra L;";
        assert_eq!(reason(labels), None);
        assert_eq!(reason(&format!("{labels} .reg .b32 L__<3>;")), Some(LeftReason::FreshNameTaken));
        // Known before the label is renamed: then there are other names.
        assert_eq!(reason(&format!(".reg .b32 L__<3>; {labels}")), None);
    }

    #[test]
    fn unknown_control_flow() {
        for body in ["bra;", "L: bra L, 1;", "ret 5;", "exit 1;", "L: bra.newthing L;"] {
            assert_eq!(reason(body), Some(LeftReason::UnknownControlFlow), "{body}");
        }
        assert_eq!(reason("L: bra.uni L;"), None);
    }

    /// `setp.lo.u32 %h2, ..` with a 16-bit register went through, until a phase wrote the instruction anew.
    #[test]
    fn operand_not_taken() {
        let registers = ".reg .pred p; .reg .b16 h; .reg .b32 r<3>; .reg .b64 a;";
        for wrong in [
            "setp.lo.u32 h, r1, r2;",
            "setp.lo.u32 p, p, r2;",
            "add.u32 p, r1, r2;",
            "selp.b32 r1, r1, r2, r2;",
            "add.u32 _, r1, r2;",
            "add.u32 7, r1, r2;",
            "add.u32 %ctaid.x, r1, r2;",
            "mov.u32 %laneid, r1;",
            "mov.pred %is_explicit_cluster, p;",
            "and.pred !p, p, p;",
            "st.global.u32 [a], p;",
            // The assembler takes a function's name as a number.
            "st.global.u32 [a], k;",
            "add.u32 r1, k, 1;",
        ] {
            assert_eq!(reason(&format!("{registers} {wrong}")), Some(LeftReason::OperandNotTaken), "{wrong}");
        }
        for right in [
            "setp.lo.u32 p, r1, 2;",
            "setp.lo.and.u32 p|_, r1, 2, !p;",
            "selp.b32 r1, r1, r2, p;",
            "mov.b64 {r1, _}, a;",
            // The assembler takes this one.
            "mov.b64 {%laneid, r1}, a;",
            "mov.u32 r1, %tid.x;",
            "mov.u64 a, k;",
            "call k;",
            "@!p ld.global.u32 r1, [a];",
            "frobnicate p, _, 7;",
        ] {
            assert_eq!(reason(&format!("{registers} {right}")), None, "{right}");
        }
    }

    #[test]
    fn too_many_edges() {
        let branches = |count: usize| {
            let labels: Vec<String> = (0..count).map(|label| format!("L{label}")).collect();
            let code = labels.concat().replace('L', ": brx.idx r, t; L");
            let (code, last) = (code.trim_start_matches(": brx.idx r, t; "), ": brx.idx r, t;");
            format!(".reg .b32 r; t: .branchtargets {}; {code}{last}", labels.join(", "))
        };
        assert_eq!(reason(&branches(3)), None);
        // One more than the square root of the limit.
        assert_eq!(reason(&branches(2049)), Some(LeftReason::TooManyEdges));
    }

    /// A new variant does not compile here before there is a test for it.
    #[test]
    fn none_is_forgotten() {
        let _test_of = |reason: LeftReason| match reason {
            LeftReason::CopiedTextNamesRenamed => copied_text_names_renamed(),
            LeftReason::TableNamedByNoBranch => table_named_by_no_branch(),
            LeftReason::WordCaptured => word_captured(),
            LeftReason::FamilyMeetsName => family_meets_name(),
            LeftReason::NumbersExhausted => numbers_exhausted(),
            LeftReason::FreshNameTaken => fresh_name_taken(),
            LeftReason::UnknownControlFlow => unknown_control_flow(),
            LeftReason::OperandNotTaken => operand_not_taken(),
            LeftReason::TooManyEdges => too_many_edges(),
            LeftReason::TargetInBody => target_in_body(),
            LeftReason::UnknownDirective => unknown_directive(),
        };
    }

    /// One that ended with its line had the next instruction for its text.
    #[test]
    fn unknown_directive() {
        assert_eq!(reason(".newthing 1 2 3;"), None);
        assert_eq!(
            reason(".reg .b32 r; .newthing 1 2 3\n mov.b32 r, 1;"),
            Some(LeftReason::UnknownDirective)
        );
        assert_eq!(reason(".reg .b32 r; .loc_intermediate 1 2 3\n mov.b32 r, 1;"), None);
    }

    /// It ends where its names do, without a semicolon: what comes after it is read.
    #[test]
    fn target_in_body() {
        assert_eq!(reason(".target sm_90 ret;"), Some(LeftReason::TargetInBody));
        assert_eq!(
            reason(".reg .b32 r; .target sm_90, texmode_unified L: mov.b32 r, 1; bra L;"),
            Some(LeftReason::TargetInBody)
        );
        assert_eq!(reason("target: bra target;"), None);
    }
}

#[test]
fn what_no_assembler_takes_is_refused() {
    assert_eq!(problem("mov.u32 %r1, 5;"), Problem::UndefinedName("%r1".into()));
    assert_eq!(problem("bra NOWHERE;"), Problem::UndefinedLabel("NOWHERE".into()));
    assert_eq!(problem("{ IN: ret; } bra IN;"), Problem::UndefinedLabel("IN".into()));
    assert_eq!(problem("L: L: ret;"), Problem::DuplicateName("L".into()));
    assert_eq!(problem(".reg .u32 x; .reg .s32 x;"), Problem::DuplicateName("x".into()));
    assert_eq!(problem(".reg .u33 x;"), Problem::UnknownType("u33".into()));
    let number = |text: &str| problem(&format!(".reg .u32 x; mov.u32 x, {text};"));
    let wrong_digit = NumberFault::Digit { found: 'G', radix: 16 };
    assert_eq!(number("0xGG"), Problem::MalformedNumber(wrong_digit));
    assert_eq!(number("99999999999999999999"), Problem::MalformedNumber(NumberFault::Overflow));
    assert_eq!(number("1/0"), Problem::MalformedExpression(ExpressionFault::DivisionByZero));
    let expected = |body: &str, expected: &str| match problem(body) {
        Problem::Unexpected { expected: wanted, .. } => assert_eq!(wanted, expected, "{body}"),
        other => panic!("{other:?}"),
    };
    expected(".reg .u32 x; mov.u32 x x;", "`,` or `;`");
    expected(".reg .u32 x; ld.global.u32 x, [x;", "`]`");
    expected(".reg .u32 x; mov.u32 x, ;", "an operand");
    expected("=;", "a statement");
    expected("ret;;", "a statement");
    expected(".reg .u32 x; { mov.u32 x, 1; };", "a statement");
    expected(".reg .u64 x; ld.global.u64 x, [x-16];", "`+`, which may stand before a sign");
    expected(".reg .u64 x; mov.u64 x, x - 16;", "`+`, which may stand before a sign");
    for overlapping in [
        ".reg .b32 %r<5>; .reg .b32 %r3;",
        ".reg .b32 %r3; .reg .b32 %r<5>;",
        ".reg .b32 %r<5>; .reg .b32 %r03;",
        ".reg .b32 %r<5>; .local .b32 %r3;",
        ".local .b32 %r3; .reg .b32 %r<5>;",
        ".reg .b32 p;",
        ".local .b32 p;",
    ] {
        assert!(matches!(problem(overlapping), Problem::DuplicateName(_)), "{overlapping}");
    }
    for apart in [
        ".reg .b32 %r<5>; .reg .b32 %r7;",
        ".reg .b32 %r7; .reg .b32 %r<5>;",
        ".reg .b32 %r<5>; .reg .b32 %r;",
        ".reg .b32 %r<15>; .reg .b32 %r1<2>;",
        ".reg .b32 %r<5>; { .reg .b32 %r3; }",
        ".reg .b32 %r3; { .reg .b32 %r<5>; }",
        "{ .reg .b32 %r3; } .reg .b32 %r<5>;",
        ".reg .b32 %r<5>; %r3: ret;",
        "{ .reg .b32 p; }",
    ] {
        body(apart);
    }
}

/// A mark that is missing is missed where the line ends, not where the next one starts.
#[test]
fn a_missing_mark_is_missed_at_the_end_of_its_line() {
    let check = |body: &str, token: &str, wanted: &str| {
        let marked = format!(".version 8.0\n.target sm_90\n.entry k(.param .u64 p) {{{body}}}");
        let place = marked.find('|').expect("the place is marked");
        let diagnostic = rewrite(&marked.replacen('|', "", 1)).expect_err(body);
        let found = Found::Token(token.to_owned());
        assert!(
            matches!(&diagnostic.problem, Problem::Unexpected { found: f, expected } if *f == found && *expected == wanted),
            "{diagnostic:?} in {body}"
        );
        assert_eq!(diagnostic.offset, place, "{body}");
    };
    let mark = "`,` or `;`";
    let next = "\n\t// a comment; with marks\n\n\tmov.u32 x, 2;";
    check(&format!(".reg .u32 x; mov.u32 x, 1| // why{next}"), "mov.u32", mark);
    check(&format!(".reg .u32 x|{next}"), "mov.u32", mark);
    check(&format!("ld.param.u64 p, [p|{next}"), "mov.u32", mark);
    // What is missing is not a mark, or something stands in its place.
    check("mov.u32 p,\n\t|= 2;", "=", "an operand");
    check("mov.u32 p |p\n\t, 2;", "p", mark);
}

/// Edges by block, of a kernel with this body.
pub(super) fn edges(body: &str) -> Vec<Vec<u32>> {
    let text = format!(".version 8.0\n.target sm_90\n.entry k() {{ .reg .pred %p;\n{body} }}");
    let module = Module::scan(text.as_bytes()).unwrap();
    let (mut forms, mut scratch, mut tables) =
        (FormTable::default(), ReaderScratch::default(), CodeTables::default());
    read(&module, &module.functions, &mut forms, &mut scratch, &mut tables).unwrap();
    let view = tables.view();
    let function = view.functions().next().unwrap();
    function.block_ids().map(|block| function.succs(block).iter().map(|to| to.0).collect()).collect()
}

/// Control that runs off the end past a guard leads to an empty block there.
#[test]
fn each_way_on_from_a_guarded_branch_or_return_leads_to_a_block() {
    assert_eq!(edges("bra L; L: @%p bra L;"), [vec![1], vec![1, 2], vec![]]);
    assert_eq!(edges("@%p ret;"), [vec![1], vec![]]);
    assert_eq!(edges("@%p ret; END:"), [vec![1], vec![]], "the label names no target");
    assert_eq!(edges("@%p bra END; END:"), [vec![1, 1], vec![]]);
    // Nothing runs past these, and off the end of what has no guard it runs from its own block.
    assert_eq!(edges("bra L; L: bra L;"), [vec![1], vec![1]]);
    assert_eq!(edges("ret;"), [vec![]]);
    assert_eq!(edges("bra L; L: bar.sync 0;"), [vec![1], vec![]]);
    assert_eq!(edges(""), [vec![]]);
}
