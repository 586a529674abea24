//! Kernels that store the address of a local variable are the same as long as the variable is.

use ptxopt::check::{CheckOptions, Reference, Verdict, launches};

const BEFORE: &str = "\
.version 8.0
.target sm_80
.address_size 64
// launch k grid 1,1,1 block 32,1,1 args u64[64]=index
.visible .entry k(.param .u64 out)
{
    .local .align 8 .b8 first[32];
    .local .align 8 .b8 own[16];
    .reg .b64 %rd<5>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 8;
    add.s64 %rd1, %rd1, %rd2;
    mov.u64 %rd3, own;
    cvta.local.u64 %rd4, %rd3;
    st.global.u64 [%rd1], %rd4;
    ret;
}
";

/// The verdict on the kernel of another text.
fn verdict(after: &str) -> Verdict {
    let lines = launches::in_text(BEFORE.as_bytes()).expect("a launch stands there");
    let reference = Reference::new(BEFORE.as_bytes(), &lines, CheckOptions::default()).expect("a module");
    reference.compare(after.as_bytes()).expect("a module").remove(0).verdict
}

#[test]
fn a_variable_lies_where_it_lay_though_another_one_goes() {
    let without_first = BEFORE.replace("    .local .align 8 .b8 first[32];\n", "");
    assert!(matches!(verdict(&without_first), Verdict::Same));
    let of_another = BEFORE.replace("mov.u64 %rd3, own", "mov.u64 %rd3, first");
    assert!(matches!(verdict(&of_another), Verdict::Different(_)));
}
