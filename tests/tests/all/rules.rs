//! The rules of general optimization against the emulator: small kernels for each of them, with one set of operands a
//! thread, before and after.
//!
//! A kernel runs twice: with 10,240 sets of edges and random bits, and with 65,536 sets of which the first operand is each
//! number of 16 bits, repeated in the bits above. So what a rule does to one operand of 16 bits is tried on all of them.

use crate::rule_cases::cases;
use ptxopt::check::{CheckOptions, Reference, Verdict, launches};
use ptxopt::{Options, RemarkKind, optimize};
use ptxopt_systems::values::general_optimize::rules::FAMILIES;
use ptxopt_tests::modules::{expect_none, in_parallel};
use ptxopt_tests::say::say;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Sets of operands in the first launch.
const RANDOM_SETS: u64 = 10_240;
/// In the second one: each number of 16 bits.
const WHOLE_SETS: u64 = 1 << 16;

/// A kernel in which each thread applies `body` to its operands.
fn kernel(body: &str) -> String {
    let results = [("%h0", "b16", 0), ("%w0", "b32", 4), ("%d0", "b64", 8)];
    let written = results.iter().filter(|(register, ..)| body.contains(&format!(" {register},")));
    let mut stores: String =
        written.map(|(register, ty, at)| format!("st.global.{ty} [%o+{at}], {register};\n")).collect();
    if body.contains(" %p0,") {
        stores.push_str("selp.u32 %w8, 11, 22, %p0;\nst.global.u32 [%o+4], %w8;\n");
    }
    let mut loads = String::new();
    for operand in 1..=3 {
        writeln!(loads, "ld.param.u64 %q, [in{operand}];\nadd.s64 %a, %q, %i;").unwrap();
        for (register, ty) in [("h", "u16"), ("w", "u32"), ("d", "u64")] {
            writeln!(loads, "ld.global.{ty} %{register}{operand}, [%a];").unwrap();
        }
    }
    // So that what lies around the operand can be addressed by 64 bits of which nothing is known.
    loads.push_str("ld.param.u64 %q, [in1];\nadd.s64 %d9, %q, %i;\n");
    format!(
        "{}.version 8.0\n.target sm_80\n.address_size 64\n\
         .visible .entry k(.param .u64 out, .param .u64 in1, .param .u64 in2, .param .u64 in3)\n{{\n\
         .reg .b16 %h<10>;\n.reg .f32 %f<5>;\n.reg .b32 %w<10>;\n.reg .b64 %d<10>;\n.reg .pred %p<10>;\n.reg .b64 %o, %i, %a, %q;\n\
         .reg .b32 %x, %y, %z;\n\
         mov.u32 %x, %ctaid.x;\nmov.u32 %y, %ntid.x;\nmov.u32 %z, %tid.x;\nmad.lo.s32 %x, %x, %y, %z;\n\
         mul.wide.u32 %i, %x, 16;\nld.param.u64 %q, [out];\nadd.s64 %o, %q, %i;\nmul.wide.u32 %i, %x, 8;\n{loads}\
         {body}\n{stores}ret;\n}}\n",
        launch_lines()
    )
}

/// The two launches.
fn launch_lines() -> String {
    let mut random = super::splitmix::Random(7);
    let mut operands =
        || (0..RANDOM_SETS).map(|_| random.operand().to_string()).collect::<Vec<_>>().join(",");
    let n = RANDOM_SETS;
    let first = format!(
        "// launch k grid {} block 256 args u64[{}]=zero u64[{n}]=list:{} u64[{n}]=list:{} u64[{n}]=list:{}\n",
        n / 256,
        2 * n,
        operands(),
        operands(),
        operands()
    );
    let n = WHOLE_SETS;
    // 0x0001000100010001, and two odd numbers without a pattern.
    format!(
        "{first}// launch k grid {} block 256 args u64[{}]=zero u64[{n}]=step:281479271743489 \
         u64[{n}]=step:11400714819323198485 u64[{n}]=bits\n",
        n / 256,
        2 * n
    )
}

/// Runs a kernel before and after; says what is wrong.
fn judge(rule: &str, reason: &str, body: &str) -> Result<(), String> {
    let text = kernel(body);
    let options = Options { threads: 1, remarks: true, ..Options::default() };
    let after = optimize(text.as_bytes(), &options).map_err(|error| format!("{body}: {error}"))?;
    if !after.remarks.iter().any(|remark| remark.kind == RemarkKind::Passed && remark.reason == reason) {
        return Err(format!("{rule} is not applied to `{body}`: {:?}", after.remarks));
    }
    let lines = launches::in_text(text.as_bytes()).map_err(|error| error.to_string())?;
    // Threads write places of their own.
    let options = CheckOptions { seeds: 1, races: false, ..CheckOptions::default() };
    let reference = Reference::new(text.as_bytes(), &lines, options);
    let reference = reference.map_err(|error| format!("{body}: {error:?}"))?;
    for kernel in reference.compare(&after.text).map_err(|error| format!("{body}: {error:?}"))? {
        if !matches!(kernel.verdict, Verdict::Same) {
            return Err(format!("{rule} on `{body}`: {:?}", kernel.verdict));
        }
    }
    Ok(())
}

#[test]
fn every_rule_leaves_the_same_results() {
    let cases = cases();
    let rules: Vec<_> = FAMILIES.iter().flat_map(|family| family.rules).collect();
    let wanted: BTreeSet<&str> = rules.iter().map(|rule| rule.name).collect();
    let tried: BTreeSet<&str> = cases.iter().map(|&(rule, _)| rule).collect();
    assert_eq!(wanted, tried, "each rule has kernels here");
    let kernels: Vec<(&str, &str)> =
        cases.iter().flat_map(|&(rule, bodies)| bodies.iter().map(move |&body| (rule, body))).collect();
    let verdicts = in_parallel(&kernels, |&(name, body)| {
        let rule = rules.iter().find(|rule| rule.name == name).expect("compared above");
        judge(name, rule.reason, body)
    });
    say(&format!("rules: {} kernels for {} rules", kernels.len(), cases.len()));
    expect_none("rules are wrong", &verdicts.into_iter().filter_map(Result::err).collect::<Vec<_>>());
}
