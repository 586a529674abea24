//! Shapes within blocks: long chains and trees of computations, and registers in masses.

use super::text::{Sequence, each, kernel, kernel_of};
use std::fmt::Write;

/// One block. Most operands were computed shortly before, some long ago.
pub(super) fn straight(insts: usize) -> String {
    let mut random = Sequence(1);
    let body = each(insts, |text, n| {
        let near = n.saturating_sub(1 + random.below(6));
        let far = random.below(n.max(1));
        match (n, n % 8) {
            (0, _) => writeln!(text, "mov.u32 %v0, %r0;"),
            (_, 0) => writeln!(text, "shl.b32 %v{n}, %v{near}, {};", far % 31),
            (_, 1 | 2) => writeln!(text, "add.s32 %v{n}, %v{near}, {far};"),
            (_, 3) => writeln!(text, "mul.lo.s32 %v{n}, %v{near}, %v{far};"),
            (_, 4) => writeln!(text, "and.b32 %v{n}, %v{near}, 65535;"),
            (_, 5) => writeln!(text, "sub.s32 %v{n}, %v{near}, %v{far};"),
            (_, 6) => writeln!(text, "mov.u32 %v{n}, %v{near};"),
            _ => writeln!(text, "xor.b32 %v{n}, %v{near}, %v{far};"),
        }
    });
    let end = format!("add.s32 %r1, %v{}, %v{};\n", insts - 1, insts / 2);
    kernel(&format!(".reg .b32 %v<{insts}>;"), &(body + &end))
}

/// Divisions of 64 bits in a chain, each of which may be one of 32.
pub(super) fn quotients(count: usize) -> String {
    let body = each(count, |text, n| {
        writeln!(text, "and.b64 %q1, %q0, 65535;\nor.b64 %q2, %q0, {};", 2 * n + 1)?;
        writeln!(text, "and.b64 %q3, %q2, 65535;\nrem.u64 %q4, %q1, %q3;\nadd.s64 %q0, %q0, %q4;")
    });
    kernel(".reg .b64 %q<5>;", &format!("cvt.u64.u32 %q0, %r0;\n{body}cvt.u32.u64 %r1, %q0;\n"))
}

/// A constant added again and again, with copies between.
pub(super) fn sums(count: usize) -> String {
    let body = each(count, |text, n| {
        writeln!(text, "mov.u32 %c{n}, %v{n};\nadd.s32 %v{}, %c{n}, {};", n + 1, n % 7 + 1)
    });
    let head = format!(".reg .b32 %v<{}>;\n.reg .b32 %c<{count}>;", count + 1);
    kernel(&head, &format!("mov.u32 %v0, %r0;\n{body}mov.u32 %r1, %v{count};\n"))
}

/// Trees of sums of a few values, each in another order: every pair of leaves comes again and again.
pub(super) fn leaves(count: usize) -> String {
    let mut random = Sequence(1);
    let start = each(12, |text, v| writeln!(text, "xor.b32 %v{v}, %r0, {v};"));
    let body = each(count, |text, n| {
        writeln!(text, "add.u32 %t{n}, %v{}, {n};", random.below(12))?;
        for _ in 0..4 {
            writeln!(text, "add.u32 %t{n}, %t{n}, %v{};", random.below(12))?;
        }
        writeln!(text, "xor.b32 %r1, %r1, %t{n};")
    });
    kernel(&format!(".reg .b32 %v<12>, %t<{count}>;"), &(start + &body))
}

/// One tree: sums and differences of what is loaded.
pub(super) fn chain(count: usize) -> String {
    let body = each(count, |text, n| {
        let operation = ["add", "sub"][n % 3 / 2];
        writeln!(text, "ld.global.u32 %v{n}, [%d0];\n{operation}.u32 %r1, %r1, %v{n};")
    });
    kernel(&format!(".reg .b32 %v<{count}>;"), &body)
}

/// Scopes with a range of registers each, beside as many registers that are declared by their whole names, and begin like them.
pub(super) fn scopes(count: usize) -> String {
    let singles = each(count, |text, n| writeln!(text, ".reg .b32 t{n};"));
    let scopes = each(count, |text, n| {
        writeln!(text, "{{ .reg .b32 t<4>;\nadd.u32 t3, %r1, {n};\nxor.b32 %r1, t3, %r0;\n}}")
    });
    kernel(&singles, &scopes)
}

/// One block of products and sums, comparisons that are combined, and halves that are unpacked one by one.
pub(super) fn pairs(count: usize) -> String {
    let body = each(count, |text, n| {
        writeln!(text, "mul.lo.u32 %v{n}, %r1, 5;\nadd.u32 %r1, %v{n}, {n};")?;
        writeln!(text, "setp.lt.u32 %q{n}, %r1, {n};\nxor.pred %p0, %p0, %q{n};")?;
        writeln!(
            text,
            "mul.wide.u32 %w{n}, %r1, %r1;\nmov.b64 {{%l{n}, _}}, %w{n};\nxor.b32 %r1, %r1, %l{n};"
        )?;
        writeln!(text, "mov.b64 {{_, %h{n}}}, %w{n};\nadd.u32 %r1, %r1, %h{n};")
    });
    let registers = format!(".reg .b32 %v<{count}>, %l<{count}>, %h<{count}>;\n.reg .b64 %w<{count}>;");
    let start = "setp.lt.u32 %p0, %r0, 3;\n";
    let end = "@%p0 add.u32 %r1, %r1, 1;\n";
    kernel(&format!("{registers}\n.reg .pred %q<{count}>;"), &format!("{start}{body}{end}"))
}

/// Values that are read again and again, then live across calls that keep too few registers, and are read once more.
pub(super) fn returns(count: usize) -> String {
    const VALUES: usize = 30;
    let loads = each(VALUES, |text, v| writeln!(text, "ld.volatile.global.u32 %u{v}, [%d0];"));
    let values = each(VALUES, |text, v| {
        writeln!(text, "mad.lo.s32 %v{v}, %r0, %u{}, {};", VALUES - 1, v + 7)?;
        (0..count / 8).try_for_each(|_| writeln!(text, "st.volatile.global.u32 [%d0], %v{v};"))
    });
    let calls = each(count, |text, _| writeln!(text, "call.uni f, ();"));
    let reads = each(VALUES, |text, v| {
        writeln!(text, "xor.b32 %r1, %r1, %u{v};\nst.volatile.global.u32 [%d0], %v{v};")
    });
    let callee = ".func f() { ret; }\n";
    let declarations = format!(".reg .b32 %u<{VALUES}>, %v<{VALUES}>;");
    kernel_of(callee, ".maxnreg 24\n", &declarations, &format!("{loads}{values}{calls}{reads}"))
}

/// Numbers of 64 bits that are loaded in two halves, put together by a shift, and stored where they stood.
pub(super) fn loaded_halves(count: usize) -> String {
    let declarations = format!(".reg .b64 %l<{count}>, %h<{count}>, %s<{count}>, %w<{count}>;");
    let body = each(count, |text, n| {
        writeln!(text, "ld.volatile.global.u32 %l{n}, [%d0];\nld.volatile.global.u32 %h{n}, [%d0];")?;
        writeln!(text, "shl.b64 %s{n}, %h{n}, 32;\nor.b64 %w{n}, %s{n}, %l{n};")?;
        writeln!(
            text,
            "mov.b64 {{%r2, %r3}}, %w{n};\nxor.b32 %r1, %r2, %r3;\nst.volatile.global.u32 [%d0], %r1;"
        )
    });
    kernel(&declarations, &body)
}

/// Bytes that are put into a register of which nothing else is known, each in the place of the one before; after each a part of it is
/// taken out and stored.
pub(super) fn parts(count: usize) -> String {
    let declarations =
        format!(".reg .b32 %w<{}>, %v<{count}>, %x<{count}>, %y<{count}>, %z<{count}>;", count + 1);
    let body = each(count, |text, n| {
        let next = n + 1;
        writeln!(text, "ld.volatile.global.u32 %v{n}, [%d0];\nshl.b32 %x{n}, %v{n}, {};", n % 32)?;
        writeln!(text, "and.b32 %y{n}, %w{n}, {};\nor.b32 %w{next}, %y{n}, %x{n};", !(1_u32 << (n % 32)))?;
        writeln!(text, "bfe.u32 %z{n}, %w{next}, 8, 8;\nst.volatile.global.u32 [%d0], %z{n};")
    });
    kernel(&declarations, &format!("ld.volatile.global.u32 %w0, [%d0];\n{body}"))
}
