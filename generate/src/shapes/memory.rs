//! Shapes of loads and stores: variables of a frame, addresses, and what is loaded again.

use super::text::{each, kernel};
use std::fmt::Write;

/// Variables in one frame, each stored, and loaded after a branch.
pub(super) fn slots(count: usize) -> String {
    let head = format!(".local .align 4 .b8 frame[{}];\n.reg .b64 %SP;", 4 * count);
    let body = each(count, |text, n| {
        writeln!(text, "st.u32 [%SP+{}], %r1;\nsetp.eq.u32 %p0, %r0, {n};\n@%p0 bra L{n};", 4 * n)?;
        writeln!(text, "add.u32 %r1, %r1, {n};\nL{n}: ld.u32 %r2, [%SP+{}];", 4 * (n * 7919 % (n + 1)))?;
        writeln!(text, "xor.b32 %r1, %r1, %r2;")
    });
    kernel(&head, &("mov.u64 %SP, frame;\ncvta.local.u64 %SP, %SP;\n".to_owned() + &body))
}

/// One address of many indices, a constant added to each, the last ones first. What is loaded there is loaded under a guard
/// that no thread has.
pub(super) fn indices(count: usize) -> String {
    let start = "ld.global.u32 %r1, [%d0];\ncvt.u64.u32 %u, %r1;\nsetp.eq.u32 %q, %r1, 0x9E3779B9;\n";
    let indices = each(count, |text, n| {
        writeln!(text, "xor.b64 %v{n}, %u, {};\nadd.s64 %t{n}, %v{n}, {};", 8 * n + 1, n % 7 + 1)
    });
    let sums = each(count - 1, |text, n| writeln!(text, "add.s64 %s{}, %s{n}, %t{};", n + 1, count - 2 - n));
    let head = format!(
        ".reg .pred %q;\n.reg .b64 %u;\n.reg .b64 %v<{count}>;\n.reg .b64 %t<{count}>;\n.reg .b64 %s<{count}>;"
    );
    let last = count - 1;
    let load = format!("@%q ld.global.u32 %r2, [%s{last}];\nadd.u32 %r1, %r1, %r2;\nadd.u32 %r1, %r1, 1;\n");
    kernel(&head, &format!("{start}{indices}mov.u64 %s0, %t{last};\n{sums}{load}"))
}

/// One place that is loaded again and again, and stored to now and then.
pub(super) fn reloads(count: usize) -> String {
    let body = each(count, |text, n| {
        writeln!(text, "ld.global.u32 %v{n}, [%d0];\nadd.u32 %r1, %r1, %v{n};")?;
        if n % 64 == 63 { writeln!(text, "st.global.u32 [%d0], %r1;") } else { Ok(()) }
    });
    kernel(&format!(".reg .b32 %v<{count}>;"), &body)
}

/// Stores and loads in turn, in memory of the thread. Each load looks past more stores than phases look at.
pub(super) fn stores(count: usize) -> String {
    const PLACES: usize = 200;
    let access = |n: usize| format!("[%d1+{}]", 4 * (n % PLACES));
    let start = each(PLACES, |text, n| writeln!(text, "st.local.u32 {}, %r0;", access(n)));
    let body = each(count, |text, n| {
        writeln!(text, "st.local.u32 {}, %r1;\nld.local.u32 %v{n}, {};", access(n), access(n + 1))?;
        writeln!(text, "xor.b32 %r1, %r1, %v{n};")
    });
    let head = format!(".reg .b32 %v<{count}>;\n.local .align 4 .b8 own[{}];", 8 * PLACES);
    // The start is not known, so that the places stay in memory.
    let own = "mov.u64 %d1, own;\nand.b32 %r2, %r0, 7;\nmad.wide.u32 %d1, %r2, 4, %d1;\n";
    kernel(&head, &(own.to_owned() + &start + &body))
}

/// Addresses of a variable that are stored over zeros at the start, and loaded again after as many branches.
pub(super) fn zeroed(count: usize) -> String {
    let place = |n: usize| 8 * n + 8;
    let start =
        each(count, |text, n| writeln!(text, "st.u64 [%SP+{0}], 0;\nst.u64 [%SP+{0}], %SP;", place(n)));
    let branches = each(count, |text, n| {
        writeln!(text, "setp.eq.u32 %p0, %r0, {n};\n@%p0 bra L{n};\nadd.u32 %r1, %r1, {n};\nL{n}:")
    });
    let end = each(count, |text, n| writeln!(text, "ld.u64 %q, [%SP+{}];\nst.u32 [%q], %r1;", place(n)));
    let head = format!(".local .align 8 .b8 frame[{}];\n.reg .b64 %SP, %q;", place(count));
    let frame = "mov.u64 %SP, frame;\ncvta.local.u64 %SP, %SP;\n";
    kernel(&head, &format!("{frame}{start}{branches}{end}ld.u32 %r1, [%SP];\n"))
}
