//! What all shapes are written with: the kernel around them, pieces in a row, numbers without an order.

use std::fmt::Write;

/// A kernel with few registers, around code that may load words from `%d1` on, `count` of them and one for each thread.
pub(super) fn reader(count: usize, declarations: &str, body: &str) -> String {
    let table = format!(".global .align 4 .b8 words[{}];\n", 4 * count + 4096);
    let address = "mov.u64 %d2, words;\nadd.u64 %d1, %d1, %d2;\n";
    let declarations = format!(".reg .b64 %d2;\n{declarations}");
    kernel_of(&table, ".maxnreg 32\n", &declarations, &(address.to_owned() + body))
}

/// A kernel around code that changes `%r1`, and may use the thread's number `%r0`.
pub(super) fn kernel(declarations: &str, body: &str) -> String {
    kernel_of("", "", declarations, body)
}

/// The same with variables of the module and directives of the kernel. `%d1` is four times the thread's number.
pub(super) fn kernel_of(variables: &str, directives: &str, declarations: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n{variables}.visible .entry k(.param .u64 out)\n{directives}{{\n\
         .reg .pred %p<2>;\n.reg .b32 %r<4>;\n.reg .b64 %d<2>;\n{declarations}\n\
         ld.param.u64 %d0, [out];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %d1, %r0, 4;\nadd.u64 %d0, %d0, %d1;\n\
         mov.u32 %r1, 0;\nmov.u32 %r2, 0;\nmov.u32 %r3, 0;\n{body}st.global.u32 [%d0], %r1;\nret;\n}}\n"
    )
}

/// `piece(0)`, `piece(1)`, ... in a row.
pub(super) fn each(count: usize, mut piece: impl FnMut(&mut String, usize) -> std::fmt::Result) -> String {
    let mut text = String::new();
    (0..count).for_each(|number| piece(&mut text, number).expect("a string takes everything"));
    text
}

/// Names that end in 0, 1, ..., with commas between.
pub(super) fn list(count: usize, name: &str) -> String {
    each(count, |text, n| write!(text, "{}{name}{n}", if n > 0 { ", " } else { "" }))
}

/// Numbers without an order.
pub(super) struct Sequence(pub u64);

impl Sequence {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}
