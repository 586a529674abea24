//! Shapes of branches: deep and long control flow, conditions that decide one another, joins.

use super::text::{Sequence, each, kernel, list};
use std::fmt::Write;

/// Values that meet at each join of [`joins`].
pub(super) const VALUES: usize = 100;

/// Each inside the one before: a dominator tree as deep as there are levels, and a join for each.
pub(super) fn nested_ifs(levels: usize) -> String {
    let front = each(levels, |text, n| {
        writeln!(text, "setp.gt.u32 %p0, %r0, {n};\n@!%p0 bra E{n};\nadd.u32 %r1, %r1, {n};")
    });
    let back = each(levels, |text, n| {
        let level = levels - 1 - n;
        writeln!(text, "E{level}:\nxor.b32 %r1, %r1, {level};")
    });
    kernel("", &(front + &back))
}

/// Branches in one another, in whose arms is nothing that is needed: each block is decided about by all branches around it.
pub(super) fn idle(levels: usize) -> String {
    let down = each(levels, |out, level| {
        writeln!(out, "setp.lt.u32 %p1, %r0, {level};\n@%p1 bra E{level};\nadd.u32 %r2, %r2, {level};")
    });
    let up = each(levels, |out, level| writeln!(out, "E{}:\nadd.u32 %r3, %r3, %r2;", levels - 1 - level));
    kernel("", &(down + &up))
}

/// One branch after the other, three blocks each, every fourth the end of a loop.
pub(super) fn blocks(count: usize) -> String {
    let body = each(count / 3, |text, n| {
        writeln!(text, "H{n}: add.u32 %r2, %r2, 1;\nsetp.eq.u32 %p0, %r1, {n};\n@%p0 bra A{n};")?;
        writeln!(text, "add.u32 %r1, %r1, {n};\nbra B{n};\nA{n}: xor.b32 %r1, %r1, %r0;\nB{n}:")?;
        if n % 4 == 3 { writeln!(text, "setp.lt.u32 %p1, %r2, {n};\n@%p1 bra H{};", n - 3) } else { Ok(()) }
    });
    kernel("", &body)
}

/// Two arms that each change a hundred values, which meet after them.
pub(super) fn joins(count: usize) -> String {
    let start = each(VALUES, |text, v| writeln!(text, "add.u32 %v{v}, %r0, {v};"));
    let body = each(count / VALUES, |text, n| {
        writeln!(text, "setp.lt.u32 %p0, %v{}, {n};\n@%p0 bra A{n};", n % VALUES)?;
        for v in 0..VALUES {
            writeln!(text, "add.u32 %v{v}, %v{v}, {};", n + 1)?;
        }
        writeln!(text, "bra B{n};\nA{n}:")?;
        for v in 0..VALUES {
            writeln!(text, "xor.b32 %v{v}, %v{v}, %v{};", (v + n) % VALUES)?;
        }
        writeln!(text, "B{n}:")
    });
    let end = each(VALUES, |text, v| writeln!(text, "add.u32 %r1, %r1, %v{v};"));
    kernel(&format!(".reg .b32 %v<{VALUES}>;"), &(start + &body + &end))
}

/// States that go to one of two others, without an order: one irreducible cycle. Fuel ends it.
pub(super) fn gotos(states: usize) -> String {
    let mut random = Sequence(1);
    let body = each(states, |text, n| {
        let [one, other] = [(); 2].map(|()| random.below(states));
        writeln!(text, "S{n}: add.u32 %r1, %r1, {n};\nxor.b32 %r3, %r3, %r1;\nadd.u32 %r2, %r2, 1;")?;
        writeln!(text, "setp.gt.u32 %p0, %r2, 100;\n@%p0 bra END;")?;
        writeln!(text, "setp.lt.u32 %p1, %r1, %r3;\n@%p1 bra S{one};\nbra S{other};")
    });
    kernel("", &(body + "END: add.u32 %r1, %r1, %r3;\n"))
}

/// Blocks in the order in which they run, which stand in another one.
pub(super) fn scattered(blocks: usize) -> String {
    let body = each(blocks, |text, place| {
        let n = place * 7919 % blocks;
        writeln!(text, "L{n}: mad.lo.u32 %r1, %r1, %r0, {n};\nsetp.eq.u32 %p0, %r1, 99;\n@%p0 bra END;")?;
        writeln!(text, "xor.b32 %r1, %r1, {n};\nbra L{};", n + 1)
    });
    kernel("", &format!("bra L0;\n{body}L{blocks}: add.u32 %r1, %r1, 1;\nEND:\n"))
}

/// Blocks that run one after the other, the last one first in the text: all become one.
pub(super) fn reversed(blocks: usize) -> String {
    let body = each(blocks, |text, place| {
        let n = blocks - 1 - place;
        writeln!(text, "L{n}: mad.lo.u32 %r1, %r1, %r0, {n};\nxor.b32 %r1, %r1, {n};\nbra L{};", n + 1)
    });
    kernel("", &format!("bra L0;\n{body}L{blocks}: add.u32 %r1, %r1, 1;\n"))
}

/// Each sum is checked for overflow and compared with one value on the way to the next: what is known there rests on what passed
/// all the comparisons before.
pub(super) fn checks(count: usize) -> String {
    let body = each(count, |text, n| {
        writeln!(text, "setp.gt.u32 %p0, %r0, {};\n@%p0 bra OUT;", 3_000_000_000 - n)?;
        writeln!(text, "add.u32 %v{}, %v{n}, %r0;", n + 1)?;
        writeln!(text, "setp.lt.u32 %p0, %v{}, %v{n};\n@%p0 bra OUT;\nadd.u32 %r1, %r1, %v{n};", n + 1)
    });
    kernel(&format!(".reg .b32 %v<{}>;", count + 1), &format!("mov.u32 %v0, 0;\n{body}OUT:\n"))
}

/// Branches whose arms compute the same, store it, and differ in one instruction.
pub(super) fn arms(count: usize) -> String {
    let body = each(count, |text, n| {
        writeln!(text, "setp.lt.u32 %p0, %r1, {n};\n@%p0 bra A{n};")?;
        writeln!(
            text,
            "mul.lo.u32 %r2, %r1, %r0;\nadd.u32 %r3, %r2, {n};\nst.global.u32 [%d0], %r3;\nbra B{n};"
        )?;
        writeln!(text, "A{n}: mul.lo.u32 %r2, %r1, %r0;\nadd.u32 %r3, %r2, {n};\nst.global.u32 [%d0], %r2;")?;
        writeln!(text, "B{n}: add.u32 %r1, %r1, %r3;")
    });
    kernel("", &body)
}

/// Guards each of which holds where the one before does, around a branch around one access.
pub(super) fn guards(count: usize) -> String {
    let body = each(count, |text, n| {
        writeln!(text, "setp.lt.u32 %g{n}, %r0, {n};\n@%g{n} bra G{n};")?;
        writeln!(text, "setp.eq.u32 %p1, %r1, {n};\n@%p1 bra A{n};\nred.global.add.u32 [%d0], {n};")?;
        writeln!(text, "A{n}: st.volatile.global.u32 [%d0], {n};\nG{n}:")
    });
    kernel(&format!(".reg .pred %g<{count}>;"), &body)
}

/// Arms that all divide one number by ten. Every third has remainder and quotient, the others one of both; none comes before another
/// one always.
pub(super) fn divisions(count: usize) -> String {
    let body = each(count, |text, n| {
        writeln!(text, "setp.lt.u32 %p0, %r0, {n};\n@%p0 bra A{n};")?;
        for (operation, other_arms) in [("rem", 1), ("div", 2)] {
            if n % 3 != other_arms {
                writeln!(
                    text,
                    "{operation}.u64 %d2, %d1, 10;\ncvt.u32.u64 %r2, %d2;\nxor.b32 %r1, %r1, %r2;"
                )?;
            }
        }
        writeln!(text, "A{n}:")
    });
    kernel(".reg .b64 %d2;\n", &body)
}

/// Sums of 64 bits under branches, each of the one before, of which lower halves are read.
pub(super) fn truncations(count: usize) -> String {
    let body = each(count, |text, n| {
        writeln!(text, "cvt.u64.u32 %d3, %r1;\nsetp.lt.u32 %p0, %r1, {n};\n@%p0 bra A{n};")?;
        writeln!(text, "mad.lo.s64 %d2, %d2, {n}, %d3;\nA{n}: cvt.u32.u64 %r2, %d2;\nxor.b32 %r1, %r1, %r2;")
    });
    kernel(".reg .b64 %d2, %d3;\n", &format!("cvt.u64.u32 %d2, %r0;\n{body}"))
}

/// Branches with two short arms, one after the other, each of which a selection can replace.
pub(super) fn diamonds(count: usize) -> String {
    let body = each(count, |text, n| {
        writeln!(text, "setp.lt.u32 %p0, %r1, {n};\n@%p0 bra A{n};\nadd.u32 %r2, %r1, {n};\nbra B{n};")?;
        writeln!(text, "A{n}: xor.b32 %r2, %r1, {n};\nB{n}: add.u32 %r1, %r1, %r2;")
    });
    kernel("", &body)
}

/// Branches around one instruction and the next branch, all to one place: what is left of each is an arm of the one before.
pub(super) fn clamps(levels: usize) -> String {
    let heads = each(levels, |text, n| {
        writeln!(text, "setp.lt.u32 %p0, %r1, {n};\n@%p0 bra B{n};\nadd.u32 %r1, %r1, {n};")
    });
    let ends = each(levels, |text, n| writeln!(text, "B{}:", levels - 1 - n));
    kernel("", &(heads + &ends))
}

/// Each inside the one before, with two conditions that lead to one `else`: ways of branches cross at each level.
pub(super) fn conditions(levels: usize) -> String {
    let front = each(levels, |text, n| {
        writeln!(text, "setp.gt.u32 %p0, %r0, {n};\n@!%p0 bra E{n};\nadd.u32 %r1, %r1, {n};")?;
        writeln!(text, "setp.eq.u32 %p1, %r1, {n};\n@%p1 bra E{n};")
    });
    let back = each(levels, |text, n| {
        let level = levels - 1 - n;
        writeln!(
            text,
            "add.u32 %r1, %r1, 1;\nbra J{level};\nE{level}:\nxor.b32 %r1, %r1, {level};\nJ{level}:"
        )
    });
    kernel("", &(front + &back))
}

/// Cases each of which copies a value of its own into one variable.
pub(super) fn copies(count: usize) -> String {
    let declarations = format!(".reg .b32 %v<{count}>;\n");
    let cases = each(count, |text, n| {
        writeln!(text, "setp.ne.u32 %p0, %r0, {n};\n@%p0 bra L{n};\nmul.lo.u32 %v{n}, %r0, {};", 2 * n + 3)?;
        writeln!(text, "xor.b32 %r2, %v{n}, %r0;\nmov.u32 %r1, %v{n};\nbra END;\nL{n}:")
    });
    kernel(&declarations, &(cases + "END:\n"))
}

/// Registers that guarded instructions write. Each lives through a row of branches, and gets a value that has nothing to do with
/// that after it, once more under a guard.
pub(super) fn webs(count: usize) -> String {
    let front = each(count, |text, n| {
        writeln!(text, "setp.lt.u32 %p0, %r0, {n};\nmov.u32 %v{n}, {n};\n@%p0 mov.u32 %v{n}, %r0;")
    });
    let row = each(count, |text, n| {
        writeln!(text, "setp.lt.u32 %p0, %r1, {n};\n@%p0 bra A{n};\nadd.u32 %r1, %r1, {n};\nA{n}:")
    });
    let back = each(count, |text, n| {
        writeln!(text, "add.u32 %r1, %r1, %v{n};\nsetp.lt.u32 %p0, %r1, {n};\nmul.lo.u32 %v{n}, %r1, 3;")?;
        writeln!(text, "@%p0 mov.u32 %v{n}, %r0;\nxor.b32 %r1, %r1, %v{n};")
    });
    kernel(&format!(".reg .b32 %v<{count}>;"), &(front + &row + &back))
}

/// A switch whose cases each give eighty registers a value of their own, all of which live at once, and then joins of two
/// values that live at once.
pub(super) fn crowds(count: usize) -> String {
    const REGISTERS: usize = 80;
    let cases = count / 20;
    let labels = list(cases, "C");
    let values = each(cases * REGISTERS, |text, n| writeln!(text, "ld.volatile.global.u32 %v{n}, [%d0];"));
    let bodies = each(cases, |text, n| {
        writeln!(text, "C{n}: st.volatile.global.u32 [%d0], {n};")?;
        for register in 0..REGISTERS {
            writeln!(text, "mov.u32 %j{register}, %v{};", register * cases + n)?;
        }
        writeln!(text, "bra J;")
    });
    let reads = each(REGISTERS, |text, n| writeln!(text, "st.volatile.global.u32 [%d0], %j{n};"));
    let joins = each(count, |text, n| {
        writeln!(text, "ld.volatile.global.u32 %a{n}, [%d0];\nld.volatile.global.u32 %b{n}, [%d0];")?;
        writeln!(text, "mov.u32 %c{n}, %b{n};\nsetp.eq.u32 %p0, %r0, {n};\n@%p0 bra D{n};")?;
        writeln!(text, "st.volatile.global.u32 [%d0], 1;\nmov.u32 %c{n}, %a{n};\nD{n}:")?;
        writeln!(text, "xor.b32 %r1, %r1, %c{n};\nadd.u32 %r1, %r1, %b{n};\nxor.b32 %r1, %r1, %a{n};")
    });
    let head = format!(
        ".reg .b32 %v<{}>, %j<{REGISTERS}>, %a<{count}>, %b<{count}>, %c<{count}>;",
        cases * REGISTERS
    );
    let switch = format!("ways: .branchtargets {labels};\nrem.u32 %r2, %r0, {cases};\nbrx.idx %r2, ways;\n");
    kernel(&head, &format!("{values}{switch}{bodies}J:\n{reads}{joins}"))
}

/// A register that is written under guards in blocks inside one another, each of which may leave, and read in others beside them.
pub(super) fn beside(count: usize) -> String {
    let levels = count / 2;
    let nested = each(levels, |text, n| {
        writeln!(text, "A{n}: ld.volatile.global.u32 %u{n}, [%d0];\nsetp.eq.u32 %p0, %u{n}, 1;")?;
        writeln!(
            text,
            "@%p0 add.u32 %r2, %u{n}, {};\nsetp.eq.u32 %p1, %u{n}, 2;\n@%p1 bra A{};",
            n + 7,
            n + 1
        )?;
        writeln!(text, "st.global.u32 [%d0], %r2;\nret;")
    });
    let others = each(count, |text, n| {
        writeln!(text, "ld.volatile.global.u32 %r3, [%d0];\nsetp.eq.u32 %p0, %r3, {n};\n@%p0 bra B{n};")?;
        writeln!(text, "mul.hi.u32 %r1, %r2, {};\nst.volatile.global.u32 [%d0], %r1;\nB{n}:", n + 3)
    });
    let start = "setp.eq.u32 %p0, %r0, 5;\nmov.u32 %r2, %r0;\n@%p0 bra OTHERS;\n";
    let body = format!("{start}{nested}A{levels}: st.global.u32 [%d0], %r2;\nret;\nOTHERS:\n{others}");
    kernel(&format!(".reg .b32 %u<{levels}>;"), &body)
}
