//! Large kernels, each of one shape on which a simple algorithm takes time like the square of its length.
//!
//! They end whatever they are launched with, take the address of four bytes for each thread, and write what they compute there.

mod tables;
mod text;

use std::fmt::Write;
use tables::{cases, crossings, detours, joints, regions, shortcuts, ways};
use text::{Sequence, each, kernel, kernel_of, list, reader};

/// A shape.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Its name.
    pub name: &'static str,
    /// What is counted in it.
    pub of: &'static str,
    /// A size that is large: compilers have been seen to make as much.
    pub large: usize,
    /// The module with one kernel of a size.
    pub text: fn(usize) -> String,
}

/// All shapes.
pub const SHAPES: [Shape; 59] = [
    Shape { name: "nested-ifs", of: "levels", large: 10_000, text: nested_ifs },
    Shape { name: "idle", of: "levels around what nothing needs", large: 10_000, text: idle },
    Shape { name: "straight", of: "instructions", large: 90_000, text: straight },
    Shape { name: "quotients", of: "divisions", large: 15_000, text: quotients },
    Shape { name: "blocks", of: "blocks", large: 24_000, text: blocks },
    Shape { name: "joins", of: "values that meet", large: 50_000, text: joins },
    Shape { name: "gotos", of: "states", large: 2_000, text: gotos },
    Shape { name: "scattered", of: "blocks that jump to the next one", large: 12_000, text: scattered },
    Shape { name: "reversed", of: "blocks that jump to the one before", large: 12_000, text: reversed },
    Shape { name: "slots", of: "slots", large: 20_000, text: slots },
    Shape { name: "sums", of: "additions", large: 50_000, text: sums },
    Shape { name: "reloads", of: "loads", large: 20_000, text: reloads },
    Shape { name: "rounds", of: "loops", large: 10_000, text: rounds },
    Shape { name: "nest", of: "loops", large: 2_000, text: nest },
    Shape { name: "stores", of: "stores", large: 20_000, text: stores },
    Shape { name: "twins", of: "values around a loop", large: 20_000, text: twins },
    Shape { name: "leaves", of: "sums of five", large: 10_000, text: leaves },
    Shape { name: "chain", of: "sums of one tree", large: 50_000, text: chain },
    Shape { name: "arms", of: "branches", large: 8_000, text: arms },
    Shape { name: "diamonds", of: "branches", large: 12_000, text: diamonds },
    Shape { name: "clamps", of: "levels", large: 10_000, text: clamps },
    Shape { name: "invariants", of: "invariants of a loop", large: 30_000, text: invariants },
    Shape { name: "conditions", of: "levels", large: 10_000, text: conditions },
    Shape { name: "cases", of: "cases", large: 10_000, text: cases },
    Shape { name: "ways", of: "ways out of a table", large: 40_000, text: ways },
    Shape { name: "scopes", of: "scopes with registers of their own", large: 20_000, text: scopes },
    Shape { name: "copies", of: "copies that one join takes", large: 10_000, text: copies },
    Shape { name: "sinks", of: "values before a row of loops and branches", large: 8_000, text: sinks },
    Shape { name: "around", of: "values around a row of loops", large: 8_000, text: around },
    Shape { name: "exits", of: "exits of a loop", large: 5_000, text: exits },
    Shape { name: "webs", of: "registers written under guards", large: 4_000, text: webs },
    Shape { name: "preloads", of: "loads before a loop", large: 20_000, text: preloads },
    Shape { name: "pairs", of: "pairs of instructions", large: 15_000, text: pairs },
    Shape { name: "marches", of: "loops over one local array", large: 4_000, text: marches },
    Shape { name: "hollows", of: "loops in a loop over a local array", large: 2_000, text: hollows },
    Shape { name: "indices", of: "indices with constants in one address", large: 20_000, text: indices },
    Shape { name: "waits", of: "loops between a load and its read", large: 4_000, text: waits },
    Shape { name: "checks", of: "checks for overflow", large: 10_000, text: checks },
    Shape { name: "pointers", of: "loops that move a pointer", large: 4_000, text: pointers },
    Shape { name: "halves", of: "conditions of two parts in a loop", large: 4_000, text: halves },
    Shape { name: "tiers", of: "loops with conditions of two parts", large: 2_000, text: tiers },
    Shape { name: "divisions", of: "arms that divide", large: 10_000, text: divisions },
    Shape { name: "crowds", of: "joins beside values that all live at once", large: 8_000, text: crowds },
    Shape { name: "crossings", of: "targets of a table after branches", large: 16_000, text: crossings },
    Shape { name: "rewritten", of: "registers written twice before a nest", large: 10_000, text: rewritten },
    Shape { name: "overwritten", of: "registers, once more under a guard", large: 10_000, text: overwritten },
    Shape { name: "doors", of: "ways into a loop", large: 8_000, text: doors },
    Shape { name: "beside", of: "blocks beside guarded writes", large: 16_000, text: beside },
    Shape { name: "arguments", of: "arguments of a call", large: 40_000, text: arguments },
    Shape { name: "depths", of: "values read inside a deep nest", large: 32_000, text: depths },
    Shape { name: "regions", of: "branches to one join that takes many values", large: 2_000, text: regions },
    Shape { name: "shortcuts", of: "pairs of branches to one join", large: 2_000, text: shortcuts },
    Shape { name: "returns", of: "calls between reads of a value", large: 8_000, text: returns },
    Shape { name: "joints", of: "cases with a short branch", large: 2_000, text: joints },
    Shape { name: "guards", of: "guards of which each decides the next", large: 2_000, text: guards },
    Shape { name: "sums-from-0", of: "loops that start one of 64 sums", large: 8_000, text: sums_from_0 },
    Shape { name: "detours", of: "cases that ask what one block asks again", large: 2_000, text: detours },
    Shape {
        name: "truncations",
        of: "sums of which the lower half is read",
        large: 15_000,
        text: truncations,
    },
    Shape { name: "zeroed", of: "pointers that hold zero first", large: 4_000, text: zeroed },
];

/// Values that meet at each join of [`joins`].
const VALUES: usize = 100;

/// Each inside the one before: a dominator tree as deep as there are levels, and a join for each.
fn nested_ifs(levels: usize) -> String {
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
fn idle(levels: usize) -> String {
    let down = each(levels, |out, level| {
        writeln!(out, "setp.lt.u32 %p1, %r0, {level};\n@%p1 bra E{level};\nadd.u32 %r2, %r2, {level};")
    });
    let up = each(levels, |out, level| writeln!(out, "E{}:\nadd.u32 %r3, %r3, %r2;", levels - 1 - level));
    kernel("", &(down + &up))
}

/// One block. Most operands were computed shortly before, some long ago.
fn straight(insts: usize) -> String {
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
fn quotients(count: usize) -> String {
    let body = each(count, |text, n| {
        writeln!(text, "and.b64 %q1, %q0, 65535;\nor.b64 %q2, %q0, {};", 2 * n + 1)?;
        writeln!(text, "and.b64 %q3, %q2, 65535;\nrem.u64 %q4, %q1, %q3;\nadd.s64 %q0, %q0, %q4;")
    });
    kernel(".reg .b64 %q<5>;", &format!("cvt.u64.u32 %q0, %r0;\n{body}cvt.u32.u64 %r1, %q0;\n"))
}

/// One branch after the other, three blocks each, every fourth the end of a loop.
fn blocks(count: usize) -> String {
    let body = each(count / 3, |text, n| {
        writeln!(text, "H{n}: add.u32 %r2, %r2, 1;\nsetp.eq.u32 %p0, %r1, {n};\n@%p0 bra A{n};")?;
        writeln!(text, "add.u32 %r1, %r1, {n};\nbra B{n};\nA{n}: xor.b32 %r1, %r1, %r0;\nB{n}:")?;
        if n % 4 == 3 { writeln!(text, "setp.lt.u32 %p1, %r2, {n};\n@%p1 bra H{};", n - 3) } else { Ok(()) }
    });
    kernel("", &body)
}

/// Two arms that each change a hundred values, which meet after them.
fn joins(count: usize) -> String {
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
fn gotos(states: usize) -> String {
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
fn scattered(blocks: usize) -> String {
    let body = each(blocks, |text, place| {
        let n = place * 7919 % blocks;
        writeln!(text, "L{n}: mad.lo.u32 %r1, %r1, %r0, {n};\nsetp.eq.u32 %p0, %r1, 99;\n@%p0 bra END;")?;
        writeln!(text, "xor.b32 %r1, %r1, {n};\nbra L{};", n + 1)
    });
    kernel("", &format!("bra L0;\n{body}L{blocks}: add.u32 %r1, %r1, 1;\nEND:\n"))
}

/// Blocks that run one after the other, the last one first in the text: all become one.
fn reversed(blocks: usize) -> String {
    let body = each(blocks, |text, place| {
        let n = blocks - 1 - place;
        writeln!(text, "L{n}: mad.lo.u32 %r1, %r1, %r0, {n};\nxor.b32 %r1, %r1, {n};\nbra L{};", n + 1)
    });
    kernel("", &format!("bra L0;\n{body}L{blocks}: add.u32 %r1, %r1, 1;\n"))
}

/// Variables in one frame, each stored, and loaded after a branch.
fn slots(count: usize) -> String {
    let head = format!(".local .align 4 .b8 frame[{}];\n.reg .b64 %SP;", 4 * count);
    let body = each(count, |text, n| {
        writeln!(text, "st.u32 [%SP+{}], %r1;\nsetp.eq.u32 %p0, %r0, {n};\n@%p0 bra L{n};", 4 * n)?;
        writeln!(text, "add.u32 %r1, %r1, {n};\nL{n}: ld.u32 %r2, [%SP+{}];", 4 * (n * 7919 % (n + 1)))?;
        writeln!(text, "xor.b32 %r1, %r1, %r2;")
    });
    kernel(&head, &("mov.u64 %SP, frame;\ncvta.local.u64 %SP, %SP;\n".to_owned() + &body))
}

/// A constant added again and again, with copies between.
fn sums(count: usize) -> String {
    let body = each(count, |text, n| {
        writeln!(text, "mov.u32 %c{n}, %v{n};\nadd.s32 %v{}, %c{n}, {};", n + 1, n % 7 + 1)
    });
    let head = format!(".reg .b32 %v<{}>;\n.reg .b32 %c<{count}>;", count + 1);
    kernel(&head, &format!("mov.u32 %v0, %r0;\n{body}mov.u32 %r1, %v{count};\n"))
}

/// One address of many indices, a constant added to each, the last ones first. What is loaded there is loaded under a guard
/// that no thread has.
fn indices(count: usize) -> String {
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
fn reloads(count: usize) -> String {
    let body = each(count, |text, n| {
        writeln!(text, "ld.global.u32 %v{n}, [%d0];\nadd.u32 %r1, %r1, %v{n};")?;
        if n % 64 == 63 { writeln!(text, "st.global.u32 [%d0], %r1;") } else { Ok(()) }
    });
    kernel(&format!(".reg .b32 %v<{count}>;"), &body)
}

/// Stores and loads in turn, in memory of the thread. Each load looks past more stores than phases look at.
fn stores(count: usize) -> String {
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

/// Each sum is checked for overflow and compared with one value on the way to the next: what is known there rests on what passed
/// all the comparisons before.
fn checks(count: usize) -> String {
    let body = each(count, |text, n| {
        writeln!(text, "setp.gt.u32 %p0, %r0, {};\n@%p0 bra OUT;", 3_000_000_000 - n)?;
        writeln!(text, "add.u32 %v{}, %v{n}, %r0;", n + 1)?;
        writeln!(text, "setp.lt.u32 %p0, %v{}, %v{n};\n@%p0 bra OUT;\nadd.u32 %r1, %r1, %v{n};", n + 1)
    });
    kernel(&format!(".reg .b32 %v<{}>;", count + 1), &format!("mov.u32 %v0, 0;\n{body}OUT:\n"))
}

/// A pointer into an array of the thread is moved by a row of loops, the last of which stands first. Each loop ends early
/// where others may know the pointer.
fn pointers(count: usize) -> String {
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

/// Addresses of a variable that are stored over zeros at the start, and loaded again after as many branches.
fn zeroed(count: usize) -> String {
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

/// Values that go into a loop alike, and go around it by as many steps.
fn twins(count: usize) -> String {
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
fn rounds(loops: usize) -> String {
    let body = each(loops, |text, n| {
        writeln!(text, "H{n}: and.b32 %r2, %r2, 7;\nadd.u32 %r1, %r1, %r2;\nadd.u32 %r3, %r3, 1;")?;
        writeln!(text, "setp.lt.u32 %p0, %r3, {};\n@%p0 bra H{n};", 2 * n)
    });
    let end = format!("add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r3, {};\n@%p1 bra ALL;\n", 3 * loops);
    kernel("", &format!("ALL:\n{body}{end}"))
}

/// Loops in a row, each with a sum that starts at 0. The register of the sum was last written 64 loops before, or was it?
fn sums_from_0(loops: usize) -> String {
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
fn nest(loops: usize) -> String {
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
fn invariants(count: usize) -> String {
    let body = each(count, |text, n| {
        writeln!(text, "mad.lo.u32 %v{n}, %r0, {}, %r2;\nadd.u32 %r1, %r1, %v{n};", n + 3)
    });
    let end = "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p0, %r3, 2;\n@%p0 bra ROUND;\n";
    kernel(&format!(".reg .b32 %v<{count}>;"), &format!("ld.global.u32 %r2, [%d0];\nROUND:\n{body}{end}"))
}

/// Trees of sums of a few values, each in another order: every pair of leaves comes again and again.
fn leaves(count: usize) -> String {
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
fn chain(count: usize) -> String {
    let body = each(count, |text, n| {
        let operation = ["add", "sub"][n % 3 / 2];
        writeln!(text, "ld.global.u32 %v{n}, [%d0];\n{operation}.u32 %r1, %r1, %v{n};")
    });
    kernel(&format!(".reg .b32 %v<{count}>;"), &body)
}

/// Branches whose arms compute the same, store it, and differ in one instruction.
fn arms(count: usize) -> String {
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
fn guards(count: usize) -> String {
    let body = each(count, |text, n| {
        writeln!(text, "setp.lt.u32 %g{n}, %r0, {n};\n@%g{n} bra G{n};")?;
        writeln!(text, "setp.eq.u32 %p1, %r1, {n};\n@%p1 bra A{n};\nred.global.add.u32 [%d0], {n};")?;
        writeln!(text, "A{n}: st.volatile.global.u32 [%d0], {n};\nG{n}:")
    });
    kernel(&format!(".reg .pred %g<{count}>;"), &body)
}

/// Arms that all divide one number by ten. Every third has remainder and quotient, the others one of both; none comes before another
/// one always.
fn divisions(count: usize) -> String {
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
fn truncations(count: usize) -> String {
    let body = each(count, |text, n| {
        writeln!(text, "cvt.u64.u32 %d3, %r1;\nsetp.lt.u32 %p0, %r1, {n};\n@%p0 bra A{n};")?;
        writeln!(text, "mad.lo.s64 %d2, %d2, {n}, %d3;\nA{n}: cvt.u32.u64 %r2, %d2;\nxor.b32 %r1, %r1, %r2;")
    });
    kernel(".reg .b64 %d2, %d3;\n", &format!("cvt.u64.u32 %d2, %r0;\n{body}"))
}

/// Branches with two short arms, one after the other, each of which a selection can replace.
fn diamonds(count: usize) -> String {
    let body = each(count, |text, n| {
        writeln!(text, "setp.lt.u32 %p0, %r1, {n};\n@%p0 bra A{n};\nadd.u32 %r2, %r1, {n};\nbra B{n};")?;
        writeln!(text, "A{n}: xor.b32 %r2, %r1, {n};\nB{n}: add.u32 %r1, %r1, %r2;")
    });
    kernel("", &body)
}

/// Values that are computed first, and read one after the other in loops in a row and where arms in a row meet.
fn sinks(count: usize) -> String {
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
fn around(count: usize) -> String {
    let front = each(count, |text, n| {
        writeln!(text, "mad.lo.s32 %v{n}, %r0, %r0, {};\nst.global.u32 [%d0], %v{n};", 2 * n + 3)
    });
    let back = each(count, |text, n| {
        writeln!(text, "H{n}: add.u32 %r1, %r1, %r3;\nadd.u32 %r3, %r3, 1;")?;
        writeln!(text, "setp.lt.u32 %p0, %r3, {};\n@%p0 bra H{n};\nadd.u32 %r1, %r1, %v{n};", 2 * n)
    });
    kernel(&format!(".reg .b32 %v<{count}>;"), &(front + &back + "add.u32 %r1, %r1, %r0;\n"))
}

/// Branches around one instruction and the next branch, all to one place: what is left of each is an arm of the one before.
fn clamps(levels: usize) -> String {
    let heads = each(levels, |text, n| {
        writeln!(text, "setp.lt.u32 %p0, %r1, {n};\n@%p0 bra B{n};\nadd.u32 %r1, %r1, {n};")
    });
    let ends = each(levels, |text, n| writeln!(text, "B{}:", levels - 1 - n));
    kernel("", &(heads + &ends))
}

/// Each inside the one before, with two conditions that lead to one `else`: ways of branches cross at each level.
fn conditions(levels: usize) -> String {
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

/// Conditions of two parts in one loop, that bound an index of a local array by what lies beside it.
fn halves(count: usize) -> String {
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
fn marches(loops: usize) -> String {
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
fn hollows(loops: usize) -> String {
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
fn tiers(loops: usize) -> String {
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

/// Scopes with a range of registers each, beside as many registers that are declared by their whole names, and begin like them.
fn scopes(count: usize) -> String {
    let singles = each(count, |text, n| writeln!(text, ".reg .b32 t{n};"));
    let scopes = each(count, |text, n| {
        writeln!(text, "{{ .reg .b32 t<4>;\nadd.u32 t3, %r1, {n};\nxor.b32 %r1, t3, %r0;\n}}")
    });
    kernel(&singles, &scopes)
}

/// Cases each of which copies a value of its own into one variable.
fn copies(count: usize) -> String {
    let declarations = format!(".reg .b32 %v<{count}>;\n");
    let cases = each(count, |text, n| {
        writeln!(text, "setp.ne.u32 %p0, %r0, {n};\n@%p0 bra L{n};\nmul.lo.u32 %v{n}, %r0, {};", 2 * n + 3)?;
        writeln!(text, "xor.b32 %r2, %v{n}, %r0;\nmov.u32 %r1, %v{n};\nbra END;\nL{n}:")
    });
    kernel(&declarations, &(cases + "END:\n"))
}

/// A loop that is left for many places.
fn exits(count: usize) -> String {
    let leave = each(count, |text, n| writeln!(text, "setp.eq.u32 %p0, %r2, {};\n@%p0 bra X{n};", 7 * n));
    let after = each(count, |text, n| writeln!(text, "X{n}: add.u32 %r1, %r1, {n};\nbra END;"));
    let round = "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 3;\n@%p1 bra H;\nbra END;\n";
    kernel("", &format!("mov.u32 %r2, %r0;\nH: xor.b32 %r1, %r1, %r2;\n{leave}{round}{after}END:\n"))
}

/// Registers that guarded instructions write. Each lives through a row of branches, and gets a value that has nothing to do with
/// that after it, once more under a guard.
fn webs(count: usize) -> String {
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

/// Loads of memory that nothing writes, all of which live through one loop and are read after it, for more registers than there
/// are.
fn preloads(count: usize) -> String {
    let loads = each(count, |text, n| writeln!(text, "ld.global.nc.u32 %v{n}, [%d1+{}];", 4 * n));
    let round = "H: xor.b32 %r1, %r1, %r3;\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p0, %r3, 9;\n@%p0 bra H;\n";
    let reads = each(count, |text, n| writeln!(text, "mad.lo.u32 %r1, %r1, 3, %v{n};"));
    reader(count, &format!(".reg .b32 %v<{count}>;"), &format!("{loads}{round}{reads}"))
}

/// One block of products and sums, comparisons that are combined, and halves that are unpacked one by one.
fn pairs(count: usize) -> String {
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

/// Loops in a row that all have too few registers, each with a load of its own that is read right after it.
fn waits(count: usize) -> String {
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

/// A switch whose cases each give eighty registers a value of their own, all of which live at once, and then joins of two
/// values that live at once.
fn crowds(count: usize) -> String {
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

/// Registers that are written twice before a nest of loops, each read past a branch after it.
fn rewritten(count: usize) -> String {
    before_nest(count, "")
}

/// The same where the second time is under a guard.
fn overwritten(count: usize) -> String {
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
fn doors(count: usize) -> String {
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

/// A register that is written under guards in blocks inside one another, each of which may leave, and read in others beside them.
fn beside(count: usize) -> String {
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

/// A call in a loop whose arguments change with a number that is a constant before it.
fn arguments(count: usize) -> String {
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
fn depths(count: usize) -> String {
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

/// Values that are read again and again, then live across calls that keep too few registers, and are read once more.
fn returns(count: usize) -> String {
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
