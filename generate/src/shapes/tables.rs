//! Shapes around a table of branches: switches with many cases, and the joins after them.

use super::branches::VALUES;
use super::text::{each, kernel, list};
use std::fmt::Write;

/// A `switch` most of whose cases fall into the next one.
pub(super) fn cases(count: usize) -> String {
    let labels = list(count, "C");
    let bodies = each(count, |text, n| {
        writeln!(text, "C{n}: add.u32 %r1, %r1, {n};")?;
        if n % 4 == 3 { writeln!(text, "bra END;") } else { Ok(()) }
    });
    let start = format!("ways: .branchtargets {labels};\nrem.u32 %r2, %r0, {count};\nbrx.idx %r2, ways;\n");
    kernel("", &(start + &bodies + "END:\n"))
}

/// Cases of a switch, each of which ends by itself and reads the index.
pub(super) fn ways(count: usize) -> String {
    let labels = list(count, "C");
    let bodies = each(count, |text, n| writeln!(text, "C{n}: add.u32 %r1, %r2, {n};\nbra END;"));
    let start = format!("ways: .branchtargets {labels};\nrem.u32 %r2, %r0, {count};\nbrx.idx %r2, ways;\n");
    kernel("", &(start + &bodies + "END:\n"))
}

/// Branches on one predicate after another, and a table, all in one loop: each asks what the branch before has decided.
pub(super) fn crossings(count: usize) -> String {
    let branches = count / 200;
    let labels = list(count, "H");
    let crossings = each(branches, |text, n| {
        writeln!(text, "ld.volatile.global.u32 %r2, [%d0];\nsetp.eq.u32 %q{n}, %r2, {n};\n@%q{n} bra C{n};")?;
        writeln!(text, "st.volatile.global.u32 [%d0], {n};\nC{n}: @!%q{n} bra L;")?;
        writeln!(text, "ld.volatile.global.u32 %r2, [%d0];\nsetp.eq.u32 %p0, %r2, {n};\n@%p0 bra X;")
    });
    let cases = each(count, |text, n| writeln!(text, "H{n}: st.volatile.global.u32 [%d0], {n};\nbra L;"));
    let head = format!(".reg .pred %q<{branches}>;");
    let start = "L: add.u32 %r3, %r3, 1;\nsetp.gt.u32 %p0, %r3, 9;\n@%p0 bra OUT;\n";
    let table =
        format!("ways: .branchtargets {labels};\nX: rem.u32 %r2, %r0, {count};\nbrx.idx %r2, ways;\n");
    kernel(&head, &format!("{start}{crossings}{table}{cases}OUT:\n"))
}

/// Branches around one instruction, to which a table leads, and one join of all of them with a hundred values.
pub(super) fn regions(count: usize) -> String {
    let labels = list(count, "H");
    let loads = each(VALUES, |text, v| writeln!(text, "ld.volatile.global.u32 %v{v}, [%d0];"));
    let cases = each(count, |text, n| {
        let value = n % VALUES;
        writeln!(text, "H{n}: setp.lt.u32 %p0, %r2, {n};\n@%p0 bra M;\nadd.u32 %v{value}, %r2, {n};\nbra M;")
    });
    let reads = each(VALUES, |text, v| writeln!(text, "xor.b32 %r1, %r1, %v{v};"));
    let table = format!("ways: .branchtargets {labels};\nrem.u32 %r2, %r0, {count};\nbrx.idx %r2, ways;\n");
    kernel(&format!(".reg .b32 %v<{VALUES}>;"), &format!("{loads}{table}{cases}M:\n{reads}"))
}

/// Pairs of branches to one join, which takes a hundred values from each; one of the values changes after a pair.
pub(super) fn shortcuts(count: usize) -> String {
    let loads = each(VALUES, |text, v| writeln!(text, "ld.volatile.global.u32 %v{v}, [%d0];"));
    let pairs = each(count, |text, n| {
        let value = n % VALUES;
        writeln!(text, "setp.eq.u32 %p0, %r0, {};\n@%p0 bra M;", 2 * n)?;
        writeln!(text, "setp.eq.u32 %p1, %r0, {};\n@%p1 bra M;", 2 * n + 1)?;
        writeln!(text, "ld.volatile.global.u32 %v{value}, [%d0];")
    });
    let reads = each(VALUES, |text, v| writeln!(text, "xor.b32 %r1, %r1, %v{v};"));
    kernel(&format!(".reg .b32 %v<{VALUES}>;"), &format!("{loads}{pairs}M:\n{reads}"))
}

/// Values that all cases of [`joints`] and [`detours`] change.
const CHANGED: usize = 20;

/// Cases with a branch around one instruction, whose blocks are one in the end, and a join of all cases that takes many values.
pub(super) fn joints(count: usize) -> String {
    changing(count, "", |text, n| {
        writeln!(text, "setp.eq.u32 %q{n}, %r2, {n};\n@%q{n} bra D{n};\nadd.u32 %v0, %r2, {n};\nD{n}:")
    })
}

/// Cases that branch to a block which asks what they have asked, and from there to a join that takes many values.
pub(super) fn detours(count: usize) -> String {
    changing(count, "S: @%p1 bra M;\nst.volatile.global.u32 [%d0], 1;\nbra OUT;\n", |text, n| {
        writeln!(text, "st.volatile.global.u32 [%d0], {n};\n@%p1 bra S;")
    })
}

/// Cases that begin in one way and change values by registers of their own, with code after them, and a join.
fn changing(count: usize, after: &str, begin: impl Fn(&mut String, usize) -> std::fmt::Result) -> String {
    let labels = list(count, "H");
    let moves = each(CHANGED, |text, v| writeln!(text, "mov.u32 %v{v}, {v};"));
    let cases = each(count, |text, n| {
        writeln!(text, "H{n}: ld.volatile.global.u32 %r2, [%d0];")?;
        begin(text, n)?;
        for v in 1..CHANGED {
            let own = n * CHANGED + v;
            writeln!(text, "mad.lo.s32 %t{own}, %r2, %r0, {own};\nxor.b32 %v{v}, %t{own}, %r0;")?;
        }
        writeln!(text, "st.volatile.global.u32 [%d0], %r2;\nbra M;")
    });
    let table = format!("ways: .branchtargets {labels};\nrem.u32 %r2, %r0, {count};\nbrx.idx %r2, ways;\n");
    let asked = "ld.volatile.global.u32 %r3, [%d0];\nsetp.eq.u32 %p1, %r3, 5;\n";
    let reads = each(CHANGED, |text, v| writeln!(text, "xor.b32 %r1, %r1, %v{v};"));
    let declarations = format!(".reg .b32 %v<{CHANGED}>, %t<{}>;\n.reg .pred %q<{count}>;", count * CHANGED);
    kernel(&declarations, &format!("{moves}{asked}{table}{cases}{after}M:\n{reads}OUT:\n"))
}
