//! The phases on random functions and on modules: what each read sees is what it saw before.

mod symbolic;
mod values;

use super::chains::looks_max;
use super::{split_high_pressure, split_ranges};
use crate::check::testing::{Built, Random, labelled};
use crate::registers::Settings;
use ptxopt_components::ids::{CodeId, Id, InstId, VRegId};
use ptxopt_components::operand::{definitions, reads};
use ptxopt_engine::edit::PlainEditor;
use ptxopt_engine::ptx::reader::{ReaderScratch, read};
use ptxopt_engine::ptx::scan::Module;
use ptxopt_engine::values::reaching::ReachingValues;
use std::collections::BTreeSet;
use std::fmt::Write;

const CODE: CodeId = CodeId(0);

fn make_ready(body: &str) -> Built {
    let mut built = labelled(body);
    built.tables.make_room(200);
    built.analyze();
    built
}

/// As [`make_ready`], with blocks as the reader ends them.
fn read_ready(body: &str) -> Built {
    let head = ".version 8.6\n.target sm_90a\n.address_size 64\n.extern .func f();\n.global .u32 g;\n.const .align 4 .b8 table[4096];";
    let text = format!("{head}\n.entry k(.param .u64 p) {{{body}}}").into_bytes();
    let mut built = Built { text, ..Built::default() };
    let module = Module::scan(&built.text).expect("the module is well-formed");
    read(&module, &module.functions, &mut built.forms, &mut ReaderScratch::default(), &mut built.tables)
        .expect("the function is well-formed");
    built.tables.make_room(200);
    built.analyze();
    built
}

/// Splits the registers of a function; gives how many new ones came, and how often a limit stopped it.
fn split(built: &mut Built) -> (usize, u64) {
    let before = built.function().vregs.len();
    let mut editor = PlainEditor::default();
    let Built { tables, forms, .. } = &mut *built;
    let mut f = editor.edit(tables, forms, CODE);
    split_ranges::split(&mut f, &mut split_ranges::Scratch::default());
    let limits_hit = f.stats().limits_hit;
    drop(f);
    built.analyze();
    (built.function().vregs.len() - before, limits_hit)
}

/// A kernel of up to nine blocks with four registers and two predicates, many of whose definitions are guarded.
fn random_body(random: &mut Random) -> String {
    let mut body = ".reg .b32 %r<5>; .reg .pred %p<3>;".to_owned();
    for register in 1..=4 {
        if random.below(3) > 0 {
            write!(body, " mov.u32 %r{register}, {register}0;").unwrap();
        }
    }
    body.push_str(" setp.lt.u32 %p1, %r1, %r3; setp.lt.u32 %p2, %r2, %r3;");
    let count = 2 + random.below(8);
    for block in 0..count {
        write!(body, " {}:", label(block)).unwrap();
        for _ in 0..random.below(7) {
            let [to, one, other] = [(); 3].map(|()| 1 + random.below(4));
            let predicate = 1 + random.below(2);
            let guard = match random.below(5) {
                0 => format!("@%p{predicate} "),
                1 => format!("@!%p{predicate} "),
                _ => String::new(),
            };
            match random.below(8) {
                0..3 => write!(body, " {guard}mov.u32 %r{to}, {one};").unwrap(),
                3..5 => write!(body, " {guard}add.u32 %r{to}, %r{one}, %r{other};").unwrap(),
                5 => write!(body, " {guard}setp.lt.u32 %p{predicate}, %r{one}, %r{other};").unwrap(),
                _ => write!(body, " {guard}st.global.u32 [g], %r{one};").unwrap(),
            }
        }
        let target = label(random.below(count));
        match random.below(6) {
            0 => write!(body, " bra {target};").unwrap(),
            1..4 => write!(body, " @%p{} bra {target};", 1 + random.below(2)).unwrap(),
            _ => {}
        }
    }
    body + " st.global.u32 [g], %r1; ret;"
}

fn label(block: usize) -> char {
    (b'A' + block as u8) as char
}

#[test]
fn what_is_read_after_splits_is_what_was_read_before() {
    let (mut made, mut functions, mut limits) = (0, 0, 0);
    for seed in 0..2000 {
        let body = random_body(&mut Random(seed));
        let mut built = make_ready(&body);
        let before = built.tables.clone();
        let (count, limits_hit) = split(&mut built);
        let found = symbolic::check(before.view().function(CODE), built.function(), &built.forms);
        assert_eq!(found, Ok(()), "seed {seed}: {body}");
        assert_eq!(symbolic::made(&before.view().function(CODE), &built.function()), 0);
        // Once is enough, where there is room.
        assert!(limits_hit > 0 || split(&mut built) == (0, 0), "seed {seed}: {body}");
        limits += limits_hit;
        made += count;
        functions += usize::from(count > 0);
    }
    assert!(
        made > 1000 && functions > 700 && limits < 20,
        "{made} in {functions} functions, {limits} limits"
    );
}

/// The checker bites: a split that gives one more operand the new register is found wherever that operand can be reached.
#[test]
fn the_checker_finds_operands_of_another_register() {
    let (mut tried, mut found) = (0, 0);
    for seed in 0..400 {
        let mut random = Random(seed);
        let body = random_body(&mut random);
        let mut built = make_ready(&body);
        let before = built.tables.clone();
        if split(&mut built).0 == 0 {
            continue;
        }
        let function = built.function();
        let reachable =
            |inst: InstId| function.orders[function.heads[inst.index()].block.index()].is_reachable();
        let mut renamed: Vec<(InstId, usize, VRegId)> = Vec::new();
        for (inst, _, operands) in function.rows().filter(|&(inst, ..)| reachable(inst)) {
            let was = before.view().function(CODE).operands_of(inst);
            for (position, operand) in operands.iter().enumerate().filter(|(_, operand)| operand.is_use()) {
                let is_renamed = operand.vreg() != was[position].vreg();
                renamed
                    .extend(was[position].vreg().filter(|_| is_renamed).map(|vreg| (inst, position, vreg)));
            }
        }
        if renamed.is_empty() {
            continue;
        }
        let (inst, position, vreg) = renamed[random.below(renamed.len())];
        let mut editor = PlainEditor::default();
        let mut f = editor.edit(&mut built.tables, &mut built.forms, CODE);
        let operand = f.operands_of(inst)[position].with_vreg(vreg);
        f.required_change().set_operand(inst, position, operand);
        drop(f);
        tried += 1;
        let checked = symbolic::check(before.view().function(CODE), built.function(), &built.forms);
        found += usize::from(checked.is_err());
    }
    // What is left reads what nothing has written on any way.
    assert!(tried > 150 && found * 20 >= tried * 19, "{found} of {tried}");
}

/// The sets of operands of a register, by hand: operands that share a definition that reaches them.
#[test]
fn a_guarded_write_keeps_the_web_of_what_it_may_leave() {
    let both = |between: &str| {
        let body = format!(
            ".reg .b32 %r<3>; .reg .pred %p<2>; setp.eq.u32 %p1, 1, 0; mov.u32 %r1, 1; {between} \
             @%p1 mov.u32 %r1, 2; st.global.u32 [g], %r1; ret;"
        );
        split(&mut make_ready(&body)).0
    };
    assert_eq!(both(""), 0);
    assert_eq!(both("st.global.u32 [g], %r1; mov.u32 %r1, 3;"), 1);
    assert_eq!(both("st.global.u32 [g], %r1; @%p1 mov.u32 %r1, 3;"), 0);
}

#[test]
fn registers_without_guarded_writes_are_left_to_ssa_form() {
    let body = ".reg .b32 %r<3>; mov.u32 %r1, 1; st.global.u32 [g], %r1; mov.u32 %r1, 2; st.global.u32 [g], %r1; ret;";
    assert_eq!(split(&mut make_ready(body)).0, 0);
}

#[test]
fn vectors_and_what_is_in_flight_stay() {
    let vector = ".reg .v2 .b32 %v; .reg .pred %p<2>; setp.eq.u32 %p1, 1, 0; mov.u32 %v.x, 1; \
                  @%p1 mov.u32 %v.x, 2; st.global.u32 [g], %v.x; mov.u32 %v.x, 3; st.global.u32 [g], %v.x; ret;";
    assert_eq!(split(&mut make_ready(vector)).0, 0);
}

#[test]
fn each_loop_keeps_what_goes_around_it() {
    let body = ".reg .b32 %r<4>; .reg .pred %p<3>; setp.eq.u32 %p2, 1, 0; mov.u32 %r1, 0; A: @%p2 add.u32 %r1, %r1, 1; \
                setp.lt.u32 %p1, %r1, 9; @%p1 bra A; B: mov.u32 %r1, 5; C: add.u32 %r1, %r1, 2; \
                setp.lt.u32 %p1, %r1, 90; @%p1 bra C; D: st.global.u32 [g], %r1; ret;";
    let mut built = make_ready(body);
    assert_eq!(split(&mut built).0, 1);
    let function = built.function();
    let r1 = built.vreg("%r", 1);
    let named: BTreeSet<u32> = function
        .rows()
        .filter(|(_, _, operands)| {
            definitions(operands).any(|(vreg, _)| vreg == r1) || reads(operands).any(|vreg| vreg == r1)
        })
        .map(|(_, head, _)| head.block.0)
        .collect();
    assert!(named.iter().all(|&block| block <= 1), "{named:?}");
}

/// Too many blocks for too many registers: the phase stops, says so, and what it has done is right.
#[test]
fn the_limit_bites_where_many_registers_live_through_many_blocks() {
    let (registers, blocks) = (120, 400);
    let mut body = format!(".reg .b32 %r<{}>; .reg .pred %p<2>; setp.eq.u32 %p1, 1, 0;", registers + 1);
    let each = |text: &str| (1..=registers).map(|at| text.replace('#', &at.to_string())).collect::<String>();
    body += &each(" mov.u32 %r#, 1; @%p1 mov.u32 %r#, 2;");
    for block in 0..blocks {
        let name: String = [26 * 26, 26, 1].map(|digit| label(block / digit % 26)).iter().collect();
        write!(body, " {name}: @%p1 bra {name};").unwrap();
    }
    body += &each(" st.global.u32 [g], %r#;");
    body += &each(" mov.u32 %r#, 3; st.global.u32 [g], %r#;");
    body += " ret;";
    let mut built = read_ready(&body);
    let insts = built.function().heads.len();
    let looks = looks_max(insts);
    assert!(looks < registers * blocks * 4, "{looks}");
    let (count, limits_hit) = split(&mut built);
    assert!(0 < count && count < registers && limits_hit == 1, "{count} registers, {limits_hit} limits");
}

/// Accumulators of the loops of [`random_loops`]: more than 24 registers hold.
const SUMS: usize = 40;

/// An instruction that nothing needs.
const IDLE: &str = " mov.u32 %r39, 0;";

/// A kernel with loads before up to three loops, one of them perhaps around another, and reads of what was loaded anywhere, after
/// six instructions that nothing needs.
fn random_loops(random: &mut Random) -> String {
    let mut body = format!(
        ".reg .b32 %r<40>; .reg .b64 %rd<40>; .reg .f32 %f<{}>; .reg .pred %p<9>; {} ld.param.u64 %rd1, [p]; \
         mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; mov.u64 %rd4, table; \
         setp.lt.u32 %p1, %r1, 7;",
        100 + SUMS,
        IDLE.repeat(6)
    );
    for sum in 0..SUMS {
        write!(body, " ld.global.f32 %f{}, [%rd3+{}];", 100 + sum, 4 * sum).unwrap();
    }
    let loads = 3 + random.below(8);
    for load in 0..loads {
        let address = 10 + load;
        match random.below(4) {
            0 => write!(body, " add.s64 %rd{address}, %rd4, %rd2; ld.const.f32 %f{load}, [%rd{address}];"),
            1 => write!(
                body,
                " mad.wide.u32 %rd{address}, %r1, {load}, %rd1; ld.global.nc.f32 %f{load}, [%rd{address}];"
            ),
            2 => write!(body, " @%p1 ld.global.nc.f32 %f{load}, [%rd3+{load}00];"),
            _ => write!(body, " ld.global.nc.f32 %f{load}, [%rd3+{load}00];"),
        }
        .unwrap();
    }
    let reads = |body: &mut String, random: &mut Random| {
        for _ in 0..random.below(4) {
            let (sum, load) = (100 + random.below(SUMS), random.below(loads));
            let guard = if random.below(4) == 0 { "@%p1 " } else { "" };
            write!(body, " {guard}add.f32 %f{sum}, %f{sum}, %f{load};").unwrap();
        }
    };
    let has_outer = random.below(3) == 0;
    if has_outer {
        body.push_str(" mov.u32 %r9, 0; M:");
        reads(&mut body, random);
    }
    for number in 0..1 + random.below(3) {
        let name = label(number);
        write!(body, " mov.u32 %r2, 0; {name}:").unwrap();
        for sum in 0..SUMS {
            let [one, other] = [1, 7].map(|step| 100 + (sum + step) % SUMS);
            write!(body, " fma.rn.f32 %f{}, %f{one}, %f{other}, %f{}; ", 100 + sum, 100 + sum).unwrap();
        }
        match random.below(9) {
            0 => body.push_str(" st.global.f32 [%rd3], %f100;"),
            1 => body.push_str(" bar.sync 0;"),
            2 => body.push_str(" add.s64 %rd3, %rd3, 4;"),
            3 => reads(&mut body, random),
            4 => write!(body, " @%p1 bra EXIT;").unwrap(),
            _ => {}
        }
        write!(body, " add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 9; @%p2 bra {name}; X{name}:").unwrap();
        reads(&mut body, random);
        if random.below(3) == 0 {
            write!(body, " @%p1 bra Y{name}; Z{name}:").unwrap();
            reads(&mut body, random);
            write!(body, " Y{name}:").unwrap();
        }
    }
    if has_outer {
        body.push_str(" add.u32 %r9, %r9, 1; setp.lt.u32 %p3, %r9, 5; @%p3 bra M; N:");
    }
    reads(&mut body, random);
    body.push_str(" EXIT:");
    reads(&mut body, random);
    for sum in 0..SUMS {
        write!(body, " st.global.f32 [%rd3+{}], %f{};", 4 * sum, 100 + sum).unwrap();
    }
    body + " ret;"
}

/// Splits ranges for 24 registers; gives how many instructions came, and how often a limit stopped it.
fn relieve(built: &mut Built) -> (usize, u64) {
    let before = built.tables.clone();
    let mut editor = PlainEditor::default();
    let Built { tables, forms, .. } = &mut *built;
    let mut f = editor.edit(tables, forms, CODE);
    let settings = Settings { registers_max: 24 };
    let mut scratch = split_high_pressure::Scratch::default();
    split_high_pressure::work(&mut f, settings, &mut ReachingValues::default(), &mut scratch);
    let limits_hit = f.stats().limits_hit;
    drop(f);
    built.analyze();
    let (before, after) = (before.view().function(CODE), built.function());
    (symbolic::made(&before, &after), limits_hit)
}

/// Deletes the first instructions: the phase may make a function as long again.
fn spare(built: &mut Built, count: usize) {
    let insts: Vec<InstId> = built.function().rows().map(|(inst, ..)| inst).take(count).collect();
    let mut editor = PlainEditor::default();
    let mut f = editor.edit(&mut built.tables, &mut built.forms, CODE);
    insts.into_iter().for_each(|inst| f.required_change().delete(inst));
    drop(f);
    built.analyze();
}

#[test]
fn what_is_loaded_again_is_what_was_loaded() {
    let (mut made, mut functions) = (0, 0);
    for seed in 0..300 {
        let body = random_loops(&mut Random(seed));
        let mut built = read_ready(&body);
        spare(&mut built, seed as usize % 7);
        let before = built.tables.clone();
        let (count, _) = relieve(&mut built);
        let found = symbolic::check(before.view().function(CODE), built.function(), &built.forms);
        assert_eq!(found, Ok(()), "seed {seed}: {body}");
        made += count;
        functions += usize::from(count > 0);
    }
    assert!(made > 150 && functions > 60, "{made} instructions in {functions} functions");
}

/// A kernel with a loop that has too few registers: `%f1` is loaded before it from what `address` says, and read after it. It may
/// grow by four instructions.
fn one_loop(address: &str) -> Built {
    let each = |text: &str| -> String {
        let numbers = |sum: usize| {
            text.replace("#1", &(100 + (sum + 1) % SUMS).to_string())
                .replace("#4", &(4 * sum).to_string())
                .replace('#', &(100 + sum).to_string())
        };
        (0..SUMS).map(numbers).collect()
    };
    let body = format!(
        ".reg .b16 %h<9>; .reg .b32 %r<40>; .reg .b64 %rd<40>; .reg .f32 %f<{}>; .reg .pred %p<9>; {} ld.param.u64 %rd1, [p]; \
         mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; setp.lt.u32 %p1, %r1, 7; {} \
         {address} mov.u32 %r2, 0; A: {} add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 9; @%p2 bra A; B: \
         add.f32 %f100, %f100, %f1; st.global.u32 [%rd3], %r1; {} ret;",
        100 + SUMS,
        IDLE.repeat(4),
        each("ld.global.f32 %f#, [%rd3+#4]; "),
        each("fma.rn.f32 %f#, %f#, %f#1, %f#; "),
        each("st.global.f32 [%rd3+#4], %f#; "),
    );
    let mut built = read_ready(&body);
    spare(&mut built, 4);
    built
}

/// Splits ranges of [`one_loop`]; gives how many instructions came.
fn made_for(address: &str) -> usize {
    let mut built = one_loop(address);
    let before = built.tables.clone();
    let (count, _) = relieve(&mut built);
    let found = symbolic::check(before.view().function(CODE), built.function(), &built.forms);
    assert_eq!(found, Ok(()), "{address}");
    count
}

/// `%rd3` and `%r1` live through the loop, and a parameter is an operand. Nothing else may come to live through it.
#[test]
fn an_address_is_computed_again_by_two_instructions_at_most() {
    let load = "ld.global.nc.f32 %f1, [%rd9];";
    for (address, count) in [
        ("add.s64 %rd9, %rd3, 0;", 2),
        ("mul.wide.u32 %rd8, %r1, 12; add.s64 %rd9, %rd1, %rd8;", 3),
        ("mov.u32 %r8, %tid.y; mul.wide.u32 %rd9, %r8, 4;", 3),
        ("shl.b32 %r8, %r1, 3; mul.wide.u32 %rd8, %r8, 12; add.s64 %rd9, %rd1, %rd8;", 0),
        ("mov.u32 %r8, %clock; mul.wide.u32 %rd9, %r8, 4;", 0),
        ("cvt.u16.u32 %h1, %r1; mul.wide.u16 %r8, %h1, 4; cvt.u64.u32 %rd9, %r8;", 0),
        ("div.s64 %rd9, %rd3, 3;", 0),
        ("@%p1 add.s64 %rd9, %rd3, 400;", 0),
        ("add.cc.s64 %rd9, %rd3, 400;", 0),
    ] {
        assert_eq!(made_for(&format!("{address} {load}")), count, "{address}");
    }
}

/// One load of a vector would be several.
#[test]
fn one_element_of_a_vector_is_not_loaded_again() {
    assert_eq!(made_for("ld.global.nc.f32 %f1, [%rd3+400];"), 1);
    assert_eq!(made_for("ld.global.nc.v2.f32 {%f1, _}, [%rd3+400];"), 0);
}

/// What does not fit the room of a function is left, and nothing else happens.
#[test]
fn a_split_takes_no_more_room_than_there_is() {
    for room in 0..5 {
        for is_of_insts in [true, false] {
            let mut built = one_loop(
                "mul.wide.u32 %rd8, %r1, 12; add.s64 %rd9, %rd1, %rd8; ld.global.nc.f32 %f1, [%rd9];",
            );
            let has = &mut built.tables.code_spans[0].room;
            *(if is_of_insts { &mut has.insts } else { &mut has.vregs }) = room;
            let before = built.tables.clone();
            let (count, limits_hit) = relieve(&mut built);
            let found = symbolic::check(before.view().function(CODE), built.function(), &built.forms);
            assert_eq!(found, Ok(()), "room for {room}");
            assert!(count == 0 && limits_hit == 1 || count == 3 && room >= 3, "room for {room}: {count}");
        }
    }
}

/// A kernel with `loads` loads before a row of loops, and one of constant memory after them; all are read after the loops. Gives how
/// often a limit stopped the phase, how many loads it has made, and whether the last one stayed.
fn many_loads(loads: u32, loops: usize) -> (u64, usize, bool) {
    let each = |text: &str| (1..=loads).map(|at| text.replace('#', &at.to_string())).collect::<String>();
    let mut body = format!(
        ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<{}>; .reg .pred %p<3>; ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; \
         mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; setp.eq.u32 %p1, %r1, 0;",
        loads + 2
    );
    body += &each(" ld.global.nc.f32 %f#, [%rd3+#00];");
    write!(body, " ld.const.f32 %f{}, [%rd2];", loads + 1).unwrap();
    for block in 0..loops {
        let name: String = [26 * 26, 26, 1].map(|digit| label(block / digit % 26)).iter().collect();
        write!(body, " {name}: @%p1 bra {name};").unwrap();
    }
    body += &each(" st.global.f32 [%rd3+#], %f#;");
    write!(body, " st.global.f32 [%rd3], %f{}; st.global.u32 [%rd2], %r1; ret;", loads + 1).unwrap();
    let mut built = read_ready(&body);
    let last = built.vreg("%f", loads + 1);
    let (count, limits_hit) = relieve(&mut built);
    let mut rows = built.function().rows();
    let is_kept = rows.any(|(_, _, operands)| definitions(operands).any(|(vreg, _)| vreg == last));
    (limits_hit, count, is_kept)
}

/// Too many blocks between too many loads and their reads: from the limit on no load is looked at, even where none would have to be.
/// For each instruction eight blocks are no limit.
#[test]
fn the_limit_bites_where_many_loads_are_read_many_blocks_later() {
    let (limits_hit, count, is_kept) = many_loads(120, 400);
    assert!(0 < count && count < 120 && limits_hit == 1 && is_kept, "{count} loads, {limits_hit} limits");
    // Each block of a loop is looked at as its own predecessor, too.
    let (loads, loops) = (40, 60);
    assert!(4096 + 4 * loads < 2 * loads * loops && 2 * loads * loops < 4096 + 8 * (2 * loads + loops));
    let (limits_hit, count, is_kept) = many_loads(loads as u32, loops);
    assert!(0 < count && limits_hit == 0 && !is_kept, "{count} loads, {limits_hit} limits");
}
