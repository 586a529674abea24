//! Rematerialization on random kernels: what each read sees is what it saw before, by the symbolic checker and on the emulator.

use super::super::chains::looks_max;
use super::super::rematerialize::{PHASE, Scratch, work};
use super::{CODE, label, read_ready, symbolic};
use crate::check::testing::{Built, Random};
use crate::registers::Settings;
use crate::values::gvn_cse::tests::Kernel;
use crate::values::move_tests::{after, left_by};
use crate::values::{gvn_cse, hoist_invariants};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::Id;
use ptxopt_components::operand::writes;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::edit::PlainEditor;
use ptxopt_engine::graph::edges::Graph;
use ptxopt_engine::graph::nest::{LoopNest, NestScratch, build_nest};
use ptxopt_engine::values::reaching::ReachingValues;
use std::fmt::Write;

/// Sums in the loops, arms and around the calls of [`random_values`]: with them, 24 registers are too few.
const SUMS: usize = 24;

/// Values that a kernel reads from memory, and that it computes from those and from one another.
const LOADED: usize = 4;

/// A kernel that computes values first and reads them before, in, between and after loops, arms and calls. Each register is a value
/// or, as the sums and counters are, a variable.
fn random_values(random: &mut Random) -> String {
    let mut body = format!(
        ".reg .b32 %r<9>, %v<60>; .reg .b64 %rd<9>; .reg .f32 %f<{SUMS}>; .reg .pred %p<9>; ld.param.u64 %rd1, [p]; \
         mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; setp.lt.u32 %p1, %r1, 7;"
    );
    for value in 0..LOADED {
        write!(body, " ld.global.u32 %v{value}, [%rd3+{value}00];").unwrap();
    }
    for sum in 0..SUMS {
        write!(body, " mov.f32 %f{sum}, 0f00000000; ld.global.f32 %f{sum}, [%rd3+{}];", 4 * sum).unwrap();
    }
    let mut values = LOADED;
    for _ in 0..3 + random.below(6) {
        compute(&mut body, random, &mut values);
    }
    read(&mut body, random, values);
    let has_outer = random.below(4) == 0;
    if has_outer {
        body.push_str(" mov.u32 %r7, 0; M:");
        read(&mut body, random, values);
    }
    for number in 0..1 + random.below(3) {
        let name = label(number);
        match random.below(3) {
            0 => {
                write!(body, " mov.u32 %r2, 0; {name}:").unwrap();
                sums(&mut body);
                inside(&mut body, random, values);
                write!(body, " add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 9; @%p2 bra {name};").unwrap();
            }
            1 => {
                write!(body, " @%p1 bra {name}; X{name}:").unwrap();
                sums(&mut body);
                inside(&mut body, random, values);
                write!(body, " {name}:").unwrap();
            }
            _ => {
                sums(&mut body);
                body.push_str(" call f;");
            }
        }
        write!(body, " Z{name}:").unwrap();
        if random.below(2) == 0 {
            compute(&mut body, random, &mut values);
        }
        read(&mut body, random, values);
        if random.below(3) == 0 {
            write!(body, " @%p1 bra Y{name};").unwrap();
            read(&mut body, random, values);
            write!(body, " Y{name}:").unwrap();
        }
    }
    if has_outer {
        body.push_str(" add.u32 %r7, %r7, 1; setp.lt.u32 %p3, %r7, 5; @%p3 bra M;");
    }
    read(&mut body, random, values);
    for sum in 0..SUMS {
        write!(body, " st.global.f32 [%rd3+{}], %f{sum};", 4 * sum).unwrap();
    }
    body + " ret;"
}

/// One more value, of those that there are.
fn compute(body: &mut String, random: &mut Random, values: &mut usize) {
    let [one, other] = [(); 2].map(|()| random.below(*values));
    let to = *values;
    let number = random.below(30);
    match random.below(9) {
        0 => write!(body, " add.s32 %v{to}, %v{one}, %v{other};"),
        1 => write!(body, " mad.lo.s32 %v{to}, %v{one}, %v{other}, {number};"),
        2 => write!(body, " shl.b32 %v{to}, %v{one}, {number};"),
        3 => write!(body, " xor.b32 %v{to}, %v{one}, %v{other};"),
        4 => write!(body, " selp.b32 %v{to}, %v{one}, %v{other}, %p1;"),
        5 => write!(body, " div.s32 %v{to}, %v{one}, {};", number + 1),
        6 => write!(body, " ld.global.u32 %v{to}, [%rd3+{number}00];"),
        7 => write!(body, " max.s32 %v{to}, %v{one}, %r1;"),
        _ => write!(body, " sub.s32 %v{to}, {number}, %v{one};"),
    }
    .unwrap();
    *values += 1;
}

/// Up to four reads.
fn read(body: &mut String, random: &mut Random, values: usize) {
    for at in 0..random.below(5) {
        let guard = if random.below(5) == 0 { "@%p1 " } else { "" };
        write!(body, " {guard}st.global.u32 [%rd3+{at}000], %v{};", random.below(values)).unwrap();
    }
}

fn sums(body: &mut String) {
    for sum in 0..SUMS {
        let [one, other] = [1, 7].map(|step| (sum + step) % SUMS);
        write!(body, " fma.rn.f32 %f{sum}, %f{one}, %f{other}, %f{sum};").unwrap();
    }
}

fn inside(body: &mut String, random: &mut Random, values: usize) {
    if random.below(4) == 0 {
        write!(body, " st.global.u32 [%rd3], %v{};", random.below(values)).unwrap();
    }
}

/// A kernel in which registers with one definition are values, as in SSA form, and may become as much longer as it is.
fn values_ready(body: &str) -> Built {
    let mut built = read_ready(body);
    let mut counts = vec![0; built.tables.vreg_heads.len()];
    for (_, _, operands) in built.function().rows() {
        writes(operands).for_each(|vreg| counts[vreg.index()] += 1);
    }
    for (vreg, count) in built.tables.vreg_heads.iter_mut().zip(counts) {
        vreg.flags.set(VRegFlags::VARIABLE, count > 1);
    }
    built.tables.code_states[0].flags |= CodeFlags::SSA;
    built.tables.code_texts[0].insts_in *= 2;
    built
}

/// Computes values again for 24 registers; gives how many instructions came, and how often a limit stopped it.
fn rematerialize(built: &mut Built) -> (usize, u64) {
    let before = built.tables.clone();
    let mut nest = LoopNest::default();
    let function = built.function();
    let graph = Graph { edges: function.edges, pool: &function.pools.edges };
    build_nest(graph, function.blocks, function.orders, &mut NestScratch::default(), &mut nest);
    let mut editor = PlainEditor::default();
    let Built { tables, forms, .. } = &mut *built;
    let mut f = editor.edit(tables, forms, CODE);
    let settings = Settings { registers_max: 24 };
    work(&mut f, &nest, settings, &mut ReachingValues::default(), &mut Scratch::default());
    let limits_hit = f.stats().limits_hit;
    drop(f);
    built.analyze();
    (symbolic::made(&before.view().function(CODE), &built.function()), limits_hit)
}

#[test]
fn what_is_computed_again_is_what_was_computed() {
    let (mut made, mut functions) = (0, 0);
    for seed in 0..400 {
        let body = random_values(&mut Random(seed));
        let mut built = values_ready(&body);
        let before = built.tables.clone();
        let (count, limits_hit) = rematerialize(&mut built);
        let found = symbolic::check(before.view().function(CODE), built.function(), &built.forms);
        assert_eq!((found, limits_hit), (Ok(()), 0), "seed {seed}: {body}");
        made += count;
        functions += usize::from(count > 0);
    }
    println!("{made} instructions in {functions} functions");
    assert!(made > 150 && functions > 100, "{made} instructions in {functions} functions");
}

/// On the emulator, with phis, in kernels that go round three times.
#[test]
fn kernels_leave_what_they_left() {
    let mut changed_count = 0;
    for seed in 0..150 {
        let text = Kernel::new(seed * 7919 + 3).finish().replacen(") {", ") .maxnreg 16 {", 1);
        let before = [&gvn_cse::PHASE, &hoist_invariants::PHASE];
        let (unchanged, changed) = (after(&text, &before), after(&text, &[before[0], before[1], &PHASE]));
        changed_count += usize::from(changed != unchanged);
        if changed != unchanged {
            assert!(left_by(&text) == left_by(&changed), "seed {seed}\n{text}\nbecomes\n{changed}");
        }
    }
    println!("{changed_count} kernels changed");
    assert!(changed_count > 40, "{changed_count} kernels changed");
}

/// Many values that live through many blocks: the phase stops, says so, and what it has done is right.
#[test]
fn the_limit_bites_where_many_values_live_through_many_blocks() {
    let (values, blocks) = (60, 400);
    let mut body = format!(
        ".reg .b32 %r<9>, %v<99>; .reg .f32 %f<{SUMS}>; .reg .pred %p<2>; .reg .b64 %rd<9>; ld.param.u64 %rd3, [p]; \
         mov.u32 %r1, %tid.x; ld.global.u32 %r3, [%rd3]; setp.lt.u32 %p1, %r3, 7;"
    );
    for sum in 0..SUMS {
        write!(body, " mov.f32 %f{sum}, 0f00000000; ld.global.f32 %f{sum}, [%rd3+{}];", 4 * sum).unwrap();
    }
    for value in 0..values {
        write!(body, " mad.lo.s32 %v{value}, %r3, %r1, {value}; st.global.u32 [%rd3], %v{value};").unwrap();
    }
    for block in 0..blocks {
        let name: String = [26 * 26, 26, 1].map(|digit| label(block / digit % 26)).iter().collect();
        write!(body, " {name}: @%p1 bra {name};").unwrap();
    }
    sums(&mut body);
    for sum in 0..SUMS {
        write!(body, " st.global.f32 [%rd3], %f{sum};").unwrap();
    }
    for value in 0..values {
        write!(body, " st.global.u32 [%rd3+{value}00], %v{value};").unwrap();
    }
    let mut built = values_ready(&(body + " st.global.u32 [%rd3], %r3; st.global.u32 [%rd3], %r1; ret;"));
    let looks = looks_max(built.function().heads.len());
    assert!(looks < values * blocks, "{looks}");
    let before = built.tables.clone();
    let (count, limits_hit) = rematerialize(&mut built);
    assert!(0 < count && count < values && limits_hit == 1, "{count} values, {limits_hit} limits");
    assert_eq!(symbolic::check(before.view().function(CODE), built.function(), &built.forms), Ok(()));
}
