//! Shapes around loops: many in a row, around one another, and values that live through them.

use super::text::{each, kernel, kernel_of, list, reader};
use std::fmt::Write;

/// A pointer into an array of the thread is moved by a row of loops, the last of which stands first. Each loop ends early
/// where others may know the pointer.
pub(super) fn pointers(count: usize) -> String {
    let body = each(count, |text, n| {
        let round = count - 1 - n;
        writeln!(text, "L{round}:\nst.u32 [%q+4], %r0;\nst.u32 [%q], %r1;\nld.u32 %r2, [%q+4];")?;
        writeln!(text, "add.u32 %r1, %r1, %r2;\nadd.u32 %r1, %r1, 1;\nand.b32 %r3, %r1, 1;")?;
        writeln!(text, "mad.wide.u32 %q, %r3, 4, %q;\nsetp.eq.u32 %p0, %r1, {n};")?;
        writeln!(
            text,
            "@%p0 bra L{round};\nsetp.eq.u32 %p0, %r1, -{};\n@%p0 bra GIVEN;\nbra L{};",
            n + 1,
            round + 1
        )
    });
    let head = ".reg .b64 %q;\n.local .align 4 .b8 own[4096];";
    let start = "mov.u64 %q, own;\ncvta.local.u64 %q, %q;\nbra L0;\n";
    kernel(head, &format!("{start}{body}GIVEN:\nst.global.u64 [%d0], %q;\nL{count}:\n"))
}

/// Values that go into a loop alike, and go around it by as many steps.
pub(super) fn twins(count: usize) -> String {
    let start = each(count, |text, n| writeln!(text, "mov.u32 %v{n}, 0;"));
    let body = each(count, |text, n| {
        writeln!(
            text,
            "add.u32 %v{n}, %v{n}, %r{};\nxor.b32 %r1, %r1, %v{n};",
            if n % 2 == 0 { 0 } else { 3 }
        )
    });
    let end = "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p0, %r3, 2;\n@%p0 bra ROUND;\n";
    kernel(&format!(".reg .b32 %v<{count}>;"), &format!("{start}ROUND:\n{body}{end}"))
}

/// Loops in a row, in a loop around them all. Each keeps the constant that goes in, until the way around all of them brings another.
pub(super) fn rounds(loops: usize) -> String {
    let body = each(loops, |text, n| {
        writeln!(text, "H{n}: and.b32 %r2, %r2, 7;\nadd.u32 %r1, %r1, %r2;\nadd.u32 %r3, %r3, 1;")?;
        writeln!(text, "setp.lt.u32 %p0, %r3, {};\n@%p0 bra H{n};", 2 * n)
    });
    let end = format!("add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r3, {};\n@%p1 bra ALL;\n", 3 * loops);
    kernel("", &format!("ALL:\n{body}{end}"))
}

/// Loops in a row, each with a sum that starts at 0. The register of the sum was last written 64 loops before, or was it?
pub(super) fn sums_from_0(loops: usize) -> String {
    let body = each(loops, |text, n| {
        let sum = n % 64;
        writeln!(text, "mov.u32 %v{sum}, 0;\nH{n}: mad.lo.u32 %v{sum}, %v{sum}, %r0, {n};")?;
        writeln!(
            text,
            "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p0, %r3, %r0;\n@%p0 bra H{n};\nxor.b32 %r1, %r1, %v{sum};"
        )
    });
    kernel(".reg .b32 %v<64>;", &body)
}

/// Loops, each inside the one before. The innermost computes what is the same in one more of them each.
pub(super) fn nest(loops: usize) -> String {
    let heads = each(loops, |text, n| writeln!(text, "mov.u32 %c{n}, 0;\nH{n}:"));
    let body = each(loops, |text, n| {
        writeln!(text, "mad.lo.u32 %v{}, %v{n}, %r0, %c{n};\nadd.u32 %r1, %r1, %v{n};", n + 1)
    });
    let ends = each(loops, |text, n| {
        let n = loops - 1 - n;
        writeln!(text, "add.u32 %c{n}, %c{n}, 1;\nsetp.lt.u32 %p0, %c{n}, 1;\n@%p0 bra H{n};")
    });
    let head = format!(".reg .b32 %v<{}>;\n.reg .b32 %c<{loops}>;", loops + 1);
    kernel(&head, &format!("mov.u32 %v0, %r0;\n{heads}{body}{ends}"))
}

/// A loop in which everything but a sum is the same in each round.
pub(super) fn invariants(count: usize) -> String {
    let body = each(count, |text, n| {
        writeln!(text, "mad.lo.u32 %v{n}, %r0, {}, %r2;\nadd.u32 %r1, %r1, %v{n};", n + 3)
    });
    let end = "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p0, %r3, 2;\n@%p0 bra ROUND;\n";
    kernel(&format!(".reg .b32 %v<{count}>;"), &format!("ld.global.u32 %r2, [%d0];\nROUND:\n{body}{end}"))
}

/// Values that are computed first, and read one after the other in loops in a row and where arms in a row meet.
pub(super) fn sinks(count: usize) -> String {
    let front = each(count, |text, n| {
        writeln!(text, "mul.lo.s32 %v{n}, %r0, {};\nmul.lo.s32 %w{n}, %r0, {};", 2 * n + 3, 4 * n + 5)
    });
    let back = each(count, |text, n| {
        writeln!(text, "H{n}: add.u32 %r1, %r1, %v{n};\nadd.u32 %r3, %r3, 1;")?;
        writeln!(text, "setp.lt.u32 %p0, %r3, {};\n@%p0 bra H{n};", 2 * n)?;
        writeln!(text, "setp.lt.u32 %p0, %r1, {n};\n@%p0 bra A{n};\nadd.u32 %r2, %r1, {n};\nbra B{n};")?;
        writeln!(text, "A{n}: xor.b32 %r2, %r1, {n};\nB{n}: add.u32 %r1, %r1, %w{n};\nadd.u32 %r1, %r1, %r2;")
    });
    kernel(&format!(".reg .b32 %v<{count}>, %w<{count}>;"), &(front + &back))
}

/// Values that are read before loops in a row, and again after one of them each: all of them wait.
pub(super) fn around(count: usize) -> String {
    let front = each(count, |text, n| {
        writeln!(text, "mad.lo.s32 %v{n}, %r0, %r0, {};\nst.global.u32 [%d0], %v{n};", 2 * n + 3)
    });
    let back = each(count, |text, n| {
        writeln!(text, "H{n}: add.u32 %r1, %r1, %r3;\nadd.u32 %r3, %r3, 1;")?;
        writeln!(text, "setp.lt.u32 %p0, %r3, {};\n@%p0 bra H{n};\nadd.u32 %r1, %r1, %v{n};", 2 * n)
    });
    kernel(&format!(".reg .b32 %v<{count}>;"), &(front + &back + "add.u32 %r1, %r1, %r0;\n"))
}

/// Conditions of two parts in one loop, that bound an index of a local array by what lies beside it.
pub(super) fn halves(count: usize) -> String {
    let head = format!(
        ".local .align 4 .b8 frame[72];\n.reg .b64 %SP, %i<{}>;\n.reg .b32 %k<{}>;\n.reg .pred %q<{count}>;",
        3 * count,
        5 * count
    );
    let body = each(count, |text, n| {
        let (k, i) = (5 * n, 3 * n);
        writeln!(
            text,
            "ld.u32 %k{k}, [%SP+64];\nsetp.eq.u32 %p0, %k{k}, 0;\nmov.pred %q{n}, 0;\n@%p0 bra J{n};"
        )?;
        writeln!(
            text,
            "setp.ne.u32 %q{n}, %r0, {n};\nJ{n}: @!%q{n} bra N{n};\nsub.u32 %k{}, %k{k}, 1;",
            k + 1
        )?;
        writeln!(text, "cvt.u64.u32 %i{i}, %k{};\nshl.b64 %i{}, %i{i}, 2;", k + 1, i + 1)?;
        writeln!(text, "add.u64 %i{}, %SP, %i{};\nst.u32 [%i{}], %r1;", i + 2, i + 1, i + 2)?;
        writeln!(text, "ld.u32 %k{}, [%SP+64];\nsub.u32 %k{}, %k{}, 1;", k + 2, k + 3, k + 2)?;
        writeln!(text, "st.u32 [%SP+64], %k{};\nN{n}: ld.u32 %k{}, [%SP+4];", k + 3, k + 4)?;
        writeln!(text, "xor.b32 %r1, %r1, %k{};", k + 4)
    });
    let start = "mov.u64 %SP, frame;\ncvta.local.u64 %SP, %SP;\nst.u32 [%SP+4], 1;\nst.u32 [%SP+64], 15;\n";
    let round = "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 3;\n@%p1 bra H;\n";
    kernel(&head, &format!("{start}H:\n{body}{round}"))
}

/// Loops of two rounds over one local array, one after the other, beside copies that make room for them.
pub(super) fn marches(loops: usize) -> String {
    let head = format!(
        ".local .align 4 .b8 frame[16];\n.reg .b64 %SP, %i<{}>;\n.reg .b32 %k<{}>;\n.reg .pred %q<{loops}>;",
        2 * loops,
        5 * loops
    );
    let body = each(loops, |text, n| {
        let (k, i) = (5 * n, 2 * n);
        writeln!(
            text,
            "mov.u32 %r2, 0;\nH{n}: mul.wide.u32 %i{i}, %r2, 4;\nadd.s64 %i{}, %SP, %i{i};",
            i + 1
        )?;
        writeln!(text, "ld.u32 %k{k}, [%i{}];\nxor.b32 %k{}, %k{k}, %r1;", i + 1, k + 1)?;
        writeln!(text, "st.u32 [%i{}], %k{};\nmov.u32 %k{}, %k{};", i + 1, k + 1, k + 2, k + 1)?;
        writeln!(text, "mov.u32 %k{}, %k{};\nmov.u32 %k{}, %k{};", k + 3, k + 2, k + 4, k + 3)?;
        writeln!(text, "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %q{n}, %r2, 2;\n@%q{n} bra H{n};")
    });
    let start = "mov.u64 %SP, frame;\ncvta.local.u64 %SP, %SP;\nst.u32 [%SP], 1;\nst.u32 [%SP+4], 2;\n";
    let end = "ld.u32 %k0, [%SP];\nld.u32 %k1, [%SP+4];\nxor.b32 %r1, %k0, %k1;\n";
    kernel(&head, &format!("{start}{body}{end}"))
}

/// A loop of three rounds over a local array, around loops around one another that nothing is known of.
pub(super) fn hollows(loops: usize) -> String {
    let head = ".local .align 4 .b8 frame[16];\n.reg .b64 %SP, %i<2>;\n.reg .b32 %k;";
    let front = each(loops, |text, n| writeln!(text, "mov.u32 %r2, 0;\nL{n}: xor.b32 %r1, %r1, {n};"));
    let back = each(loops, |text, n| {
        let level = loops - 1 - n;
        writeln!(text, "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p0, %r2, %r0;\n@%p0 bra L{level};")
    });
    let start = "mov.u64 %SP, frame;\ncvta.local.u64 %SP, %SP;\nmov.u32 %k, 0;\nH: mul.wide.u32 %i0, %k, 4;\n\
                 add.s64 %i1, %SP, %i0;\nst.u32 [%i1], %r1;\n";
    let end = "add.u32 %k, %k, 1;\nsetp.lt.u32 %p1, %k, 3;\n@%p1 bra H;\nld.u32 %k, [%SP+4];\nxor.b32 %r1, %r1, %k;\n";
    kernel(head, &format!("{start}{front}{back}{end}"))
}

/// Loops around one another, each of which ends by a condition of two parts.
pub(super) fn tiers(loops: usize) -> String {
    let front = each(loops, |text, n| {
        writeln!(text, "H{n}: setp.ge.u32 %p0, %r2, 3;\nmov.pred %q{n}, 0;\n@%p0 bra J{n};")?;
        writeln!(text, "setp.ne.u32 %q{n}, %r0, {n};\nJ{n}: @!%q{n} bra E{n};\nadd.u32 %r1, %r1, {n};")
    });
    let back = each(loops, |text, n| {
        let level = loops - 1 - n;
        writeln!(text, "add.u32 %r2, %r2, 1;\nbra H{level};\nE{level}: xor.b32 %r1, %r1, {level};")
    });
    kernel(&format!(".reg .pred %q<{loops}>;\n"), &(front + &back))
}

/// A loop that is left for many places.
pub(super) fn exits(count: usize) -> String {
    let leave = each(count, |text, n| writeln!(text, "setp.eq.u32 %p0, %r2, {};\n@%p0 bra X{n};", 7 * n));
    let after = each(count, |text, n| writeln!(text, "X{n}: add.u32 %r1, %r1, {n};\nbra END;"));
    let round = "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 3;\n@%p1 bra H;\nbra END;\n";
    kernel("", &format!("mov.u32 %r2, %r0;\nH: xor.b32 %r1, %r1, %r2;\n{leave}{round}{after}END:\n"))
}

/// Loads of memory that nothing writes, all of which live through one loop and are read after it, for more registers than there
/// are.
pub(super) fn preloads(count: usize) -> String {
    let loads = each(count, |text, n| writeln!(text, "ld.global.nc.u32 %v{n}, [%d1+{}];", 4 * n));
    let round = "H: xor.b32 %r1, %r1, %r3;\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p0, %r3, 9;\n@%p0 bra H;\n";
    let reads = each(count, |text, n| writeln!(text, "mad.lo.u32 %r1, %r1, 3, %v{n};"));
    reader(count, &format!(".reg .b32 %v<{count}>;"), &format!("{loads}{round}{reads}"))
}

/// Loops in a row that all have too few registers, each with a load of its own that is read right after it.
pub(super) fn waits(count: usize) -> String {
    const SUMS: usize = 40;
    let start = each(SUMS, |text, n| writeln!(text, "ld.global.nc.u32 %s{n}, [%d1+{}];", 4 * n));
    let body = each(count, |text, n| {
        let (one, other) = (n % SUMS, (7 * n + 3) % SUMS);
        writeln!(text, "ld.global.nc.u32 %v{n}, [%d1+{}];\nmov.u32 %r3, 0;", 4 * (n + SUMS))?;
        writeln!(text, "H{n}: mad.lo.u32 %s{one}, %s{other}, 3, %r3;\nadd.u32 %r3, %r3, 1;")?;
        writeln!(text, "setp.lt.u32 %p0, %r3, 2;\n@%p0 bra H{n};\nadd.u32 %s{other}, %s{other}, %v{n};")
    });
    let end = each(SUMS, |text, n| writeln!(text, "xor.b32 %r1, %r1, %s{n};"));
    reader(count + SUMS, &format!(".reg .b32 %v<{count}>, %s<{SUMS}>;"), &(start + &body + &end))
}

/// Registers that are written twice before a nest of loops, each read past a branch after it.
pub(super) fn rewritten(count: usize) -> String {
    before_nest(count, "")
}

/// The same where the second time is under a guard.
pub(super) fn overwritten(count: usize) -> String {
    before_nest(count, "@%p1 ")
}

fn before_nest(count: usize, guard: &str) -> String {
    let loops = count.min(1_600);
    let first = each(count, |text, n| writeln!(text, "ld.volatile.global.u32 %v{n}, [%d0];"));
    let second = each(count, |text, n| writeln!(text, "{guard}mul.hi.u32 %v{n}, %v{n}, %r0;"));
    let front = each(loops, |text, n| writeln!(text, "st.volatile.global.u32 [%d0], 0;\nL{n}:"));
    let back = each(loops, |text, n| {
        let level = loops - 1 - n;
        writeln!(text, "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p0, %r3, 7;\n@%p0 bra L{level};")
    });
    let reads = each(count, |text, n| {
        writeln!(text, "ld.volatile.global.u32 %r2, [%d0];\nsetp.eq.u32 %p0, %r2, {n};\n@%p0 bra K{n};")?;
        writeln!(text, "xor.b32 %r1, %r1, %v{n};\nst.volatile.global.u32 [%d0], %r1;\nK{n}:")
    });
    let start = "setp.eq.u32 %p1, %r0, 5;\n";
    kernel(&format!(".reg .b32 %v<{count}>;"), &format!("{start}{first}{second}{front}{back}{reads}"))
}

/// A loop over a local array into which a table leads, and which changes as many registers as there are ways into it.
pub(super) fn doors(count: usize) -> String {
    let labels = list(count, "C");
    let loads = each(count, |text, n| writeln!(text, "ld.volatile.global.u32 %v{n}, [%d0];"));
    let cases = each(count, |text, n| writeln!(text, "C{n}: st.volatile.global.u32 [%d0], {n};\nbra L;"));
    let changes = each(count, |text, n| writeln!(text, "add.u32 %v{n}, %v{n}, %r3;"));
    let reads = each(count, |text, n| writeln!(text, "xor.b32 %r1, %r1, %v{n};"));
    let table = format!("ways: .branchtargets {labels};\nrem.u32 %r2, %r0, {count};\nbrx.idx %r2, ways;\n");
    let step = "L: mul.wide.u32 %i, %r3, 4;\nadd.u64 %i, %SP, %i;\nst.local.u32 [%i], %r0;\n";
    let end = "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p0, %r3, 2;\n@%p0 bra L;\nld.local.u32 %r1, [%SP+4];\n";
    let head = format!(".local .align 4 .b8 frame[32];\n.reg .b64 %SP, %i;\n.reg .b32 %v<{count}>;");
    kernel(&head, &format!("mov.u64 %SP, frame;\n{loads}{table}{cases}{step}{changes}{end}{reads}"))
}

/// A call in a loop whose arguments change with a number that is a constant before it.
pub(super) fn arguments(count: usize) -> String {
    let parameters = each(count, |text, n| write!(text, "{}.reg .b32 a{n}", if n > 0 { ", " } else { "" }));
    let loads = each(count, |text, n| writeln!(text, "ld.volatile.global.u32 %v{n}, [%d0];"));
    let products = each(count, |text, n| writeln!(text, "mul.hi.u32 %w{n}, %v{n}, %r2;"));
    let call = format!("call.uni f, ({});\n", list(count, "%w"));
    let start = "L: mul.lo.u32 %r2, %r2, 3;\nst.volatile.global.u32 [%d0], %r2;\n";
    let end = "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p0, %r3, 3;\n@%p0 bra L;\n";
    let head = format!(".reg .b32 %v<{count}>, %w<{count}>;");
    kernel_of(
        &format!(".func f({parameters})\n{{\nret;\n}}\n"),
        "",
        &head,
        &format!("{loads}{start}{products}{call}{end}"),
    )
}

/// Values that are computed before loops around one another and read in the innermost.
pub(super) fn depths(count: usize) -> String {
    let loops = count / 4;
    let values = each(count, |text, n| {
        writeln!(text, "ld.volatile.global.u32 %r2, [%d0];\nmul.hi.u32 %v{n}, %r2, {};", n + 3)
    });
    let front = each(loops, |text, n| writeln!(text, "L{n}:"));
    let reads = each(count, |text, n| writeln!(text, "st.volatile.global.u32 [%d0], %v{n};"));
    let back = each(loops, |text, n| {
        let level = loops - 1 - n;
        writeln!(text, "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p0, %r3, 7;\n@%p0 bra L{level};")
    });
    kernel(&format!(".reg .b32 %v<{count}>;"), &format!("{values}{front}{reads}{back}"))
}
