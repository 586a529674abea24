//! Live sets: a register is live where some path leads to a read of it without a write that ends its life.

use super::{Built, Random, Style, chain, random};
use crate::dataflow::liveness::{
    LiveSet, LivenessScratch, Representation, STRIP_BITS, Side, Strip, solve_by_walks, solve_on,
};
use crate::store::view::FunctionView;
use ptxopt_components::ids::{BlockId, Id, VRegId};
use ptxopt_components::vreg::VRegFlags;

/// What a block does first with a register.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    Reads,
    Ends,
    Nothing,
}

fn first(function: &FunctionView<'_>, block: BlockId, vreg: VRegId) -> First {
    for inst in function.insts_of(block) {
        let operands = function.operands_of(inst).iter().filter(|operand| operand.vreg() == Some(vreg));
        if operands.clone().any(|operand| operand.is_use()) {
            return First::Reads;
        }
        if operands.clone().next().is_some() && !function.heads[inst.index()].opcode.is_guarded() {
            return First::Ends;
        }
    }
    First::Nothing
}

/// By block: whether `vreg` is live into it, found by a search from each block forward.
pub(super) fn live_in(function: &FunctionView<'_>, vreg: VRegId) -> Vec<bool> {
    let firsts: Vec<First> = function.block_ids().map(|block| first(function, block, vreg)).collect();
    let is_live = |start: BlockId| {
        let mut seen = vec![false; firsts.len()];
        let mut waiting = vec![start];
        while let Some(block) = waiting.pop() {
            if std::mem::replace(&mut seen[block.index()], true) {
                continue;
            }
            match firsts[block.index()] {
                First::Reads => return true,
                First::Ends => {}
                First::Nothing => waiting.extend(function.succs(block)),
            }
        }
        false
    };
    function
        .block_ids()
        .map(|block| function.orders[block.index()].is_reachable() && is_live(block))
        .collect()
}

fn compare(built: &Built, scratch: &mut LivenessScratch, sets: &mut [LiveSet; 3]) {
    let function = built.function();
    let wanted: Vec<Vec<bool>> = function.vreg_ids().map(|vreg| live_in(&function, vreg)).collect();
    let [dense, walks, bundles] = sets;
    solve_on(Representation::Dense, &function, &built.forms, scratch, dense);
    solve_on(Representation::Walks, &function, &built.forms, scratch, walks);
    solve_by_walks(&function, &built.forms, scratch, bundles, 0);
    for (representation, set) in
        [(Representation::Dense, dense), (Representation::Walks, walks), (Representation::Walks, bundles)]
    {
        assert_eq!((set.representation(), set.block_count()), (representation, function.blocks.len()));
        let reachable = |block: &BlockId| function.orders[block.index()].is_reachable();
        for block in function.block_ids().filter(reachable) {
            let into: Vec<VRegId> = sorted(set.live_in_vregs(block));
            let out_of: Vec<VRegId> = sorted(set.live_out_vregs(block));
            let is_in = |vreg: &VRegId| wanted[vreg.index()][block.index()];
            let is_out =
                |vreg: &VRegId| function.succs(block).iter().any(|succ| wanted[vreg.index()][succ.index()]);
            assert_eq!(
                into,
                function.vreg_ids().filter(is_in).collect::<Vec<_>>(),
                "{representation:?} into {block:?}"
            );
            assert_eq!(
                out_of,
                function.vreg_ids().filter(is_out).collect::<Vec<_>>(),
                "{representation:?} {block:?}"
            );
            for vreg in function.vreg_ids() {
                assert_eq!(
                    set.is_live_in(block, vreg),
                    is_in(&vreg),
                    "{representation:?} {block:?} {vreg:?}"
                );
                assert_eq!(
                    set.is_live_out(block, vreg),
                    is_out(&vreg),
                    "{representation:?} {block:?} {vreg:?}"
                );
            }
        }
        compare_runs(&function, set);
        compare_strips(set);
    }
}

/// Runs are as long as they can be, and hold each block at which a register lives once.
fn compare_runs(function: &FunctionView<'_>, set: &LiveSet) {
    for side in [Side::In, Side::Out] {
        let mut runs = Vec::new();
        set.each_run(side, |run, vreg| runs.push((vreg, run.start, run.end)));
        runs.sort_unstable();
        let is_live = |vreg: VRegId, block: usize| match side {
            Side::In => set.is_live_in(BlockId::new(block), vreg),
            Side::Out => set.is_live_out(BlockId::new(block), vreg),
        };
        let mut wanted = Vec::new();
        for vreg in function.vreg_ids() {
            let mut open = None;
            for block in 0..=function.blocks.len() {
                match (open, block < function.blocks.len() && is_live(vreg, block)) {
                    (None, true) => open = Some(block),
                    (Some(first), false) => {
                        wanted.push((vreg, first as u32, block as u32));
                        open = None;
                    }
                    _ => {}
                }
            }
        }
        assert_eq!(runs, wanted, "{side:?} {:?}", set.representation());
    }
}

/// Strips are the sets, cut into pieces by bit.
fn compare_strips(set: &LiveSet) {
    assert_eq!(set.strip_count(), set.globals().len().div_ceil(STRIP_BITS));
    let [mut into, mut out_of] = [Vec::new(), Vec::new()];
    for strip in 0..set.strip_count() {
        set.live_in_strip(strip, &mut into);
        set.live_out_strip(strip, &mut out_of);
        assert_eq!((into.len(), out_of.len()), (set.block_count(), set.block_count()));
        for (block, (into, out_of)) in into.iter().zip(&out_of).enumerate() {
            for bit in 0..STRIP_BITS {
                let has = |strip: &Strip| strip[bit / 64] >> (bit % 64) & 1 == 1;
                let vreg = set.globals().get(strip * STRIP_BITS + bit);
                let is_in = vreg.is_some_and(|&vreg| set.is_live_in(BlockId::new(block), vreg));
                let is_out = vreg.is_some_and(|&vreg| set.is_live_out(BlockId::new(block), vreg));
                assert_eq!(
                    (has(into), has(out_of)),
                    (is_in, is_out),
                    "{:?} bix{block} bit {bit}",
                    set.representation()
                );
            }
        }
    }
}

/// More registers than a strip has bits, each from one block to another.
#[test]
fn registers_of_several_strips_are_told_apart() {
    const COUNT: usize = STRIP_BITS + 200;
    let mut random = Random::new(5);
    let mut lines = vec![String::new(); 12];
    for number in 0..COUNT {
        let [first, last] = [random.below(11), random.below(11)];
        lines[first].push_str(&format!(" mov.u32 %r{number}, 1;"));
        lines[last + 1].push_str(&format!(" st.global.u32 [g], %r{number};"));
    }
    let body: Vec<String> = lines
        .iter()
        .enumerate()
        .map(|(at, line)| format!("B{at}:{line} @%p0 bra B{};", (at + 5) % 12))
        .collect();
    let built = Built::of_module(format!(
        ".version 8.6\n.target sm_90\n.global .u32 g;\n.entry k() {{ .reg .b32 %r<{COUNT}>; .reg .pred %p<1>;\n\
         {}\nret; }}\n",
        body.join("\n")
    ));
    let (mut scratch, mut sets) = (LivenessScratch::default(), Default::default());
    compare(&built, &mut scratch, &mut sets);
    assert!(sets.iter().all(|set| set.strip_count() == 2));
}

#[test]
fn small_functions_take_the_dense_road() {
    assert_eq!(random(1, Style::Calm, 190).live_set().representation(), Representation::Dense);
}

/// So many cycles with two entries each, every one inside the one before.
fn cycles(count: usize) -> Built {
    let fronts: String =
        (0..count).map(|at| format!("@%p1 bra B{at}; A{at}: add.u32 %r3, %r3, 3;\n")).collect();
    let backs: String = (0..count).rev().map(|at| format!("B{at}: @%p1 bra A{at};\n")).collect();
    Built::kernel(&format!("{fronts}{backs}add.u32 %r4, %r3, %r5;"))
}

#[test]
fn cycles_deep_in_one_another_take_the_road_of_walks() {
    let mut sets = Default::default();
    for (count, representation) in [(4, Representation::Dense), (100, Representation::Walks)] {
        let built = cycles(count);
        assert_eq!(built.live_set().representation(), representation);
        compare(&built, &mut LivenessScratch::default(), &mut sets);
    }
}

fn sorted(vregs: impl Iterator<Item = VRegId>) -> Vec<VRegId> {
    let mut vregs: Vec<VRegId> = vregs.collect();
    vregs.sort_unstable();
    vregs
}

#[test]
fn both_roads_find_what_a_search_finds() {
    let (mut scratch, mut sets) = (LivenessScratch::default(), Default::default());
    for seed in 0..150 {
        compare(&random(seed, Style::Wild, 1 + seed as usize % 23), &mut scratch, &mut sets);
    }
}

/// Several groups of 64 blocks: the walks take a whole group at once where nothing in it names the register.
#[test]
fn whole_groups_of_blocks_are_live() {
    let (mut scratch, mut sets) = (LivenessScratch::default(), Default::default());
    for seed in 0..24 {
        compare(&random(seed, Style::Calm, 190 + seed as usize * 5), &mut scratch, &mut sets);
    }
}

/// Nodes of all levels of the walks are taken as a whole, entered in the middle, and left early.
#[test]
fn lives_through_many_groups_are_found() {
    let (mut scratch, mut sets) = (LivenessScratch::default(), Default::default());
    for seed in 0..12 {
        compare(&chain(seed, 950), &mut scratch, &mut sets);
    }
}

/// One register through two groups, of which the first has an unreachable block and an entry from a later block.
#[test]
fn a_group_that_is_entered_in_the_middle_is_live_at_its_entries() {
    let mut body = String::from("mov.u32 %r1, 7; @%p1 bra B70; bra B1;\n");
    for block in 0..200 {
        let statement = match block {
            // Nothing falls into block 31 or branches to it.
            30 => "bra B32;",
            // From the second group back into the first.
            100 => "@%p2 bra B40;",
            150 => "mov.u32 %r2, %r1;",
            190 => "st.global.u32 [g], %r2;",
            _ => "",
        };
        body.push_str(&format!("B{block}: {statement}\n"));
    }
    compare(&Built::kernel(&body), &mut LivenessScratch::default(), &mut Default::default());
}

/// The way over three blocks leaves the function: the register is dead there, though it lives through the rest of the group, and
/// through all of the groups around it.
#[test]
fn a_group_with_a_way_out_is_not_live_as_a_whole() {
    for way_out in [11, 75, 139, 250] {
        let mut body = String::from("mov.u32 %r1, 7; bra B0;\n");
        for block in 0..330 {
            let statement = match block {
                _ if block == way_out => format!("@%p2 bra B{};", block + 4),
                _ if block == way_out + 3 => "ret;".to_owned(),
                329 => "st.global.u32 [g], %r1;".to_owned(),
                _ => String::new(),
            };
            body.push_str(&format!("B{block}: {statement}\n"));
        }
        let built = Built::kernel(&body);
        compare(&built, &mut LivenessScratch::default(), &mut Default::default());
        let set = walked(&built);
        let live = [0, 1, 3, 4]
            .map(|after| set.is_live_in(built.block(&format!("B{}", way_out + after)), built.vreg("%r1")));
        assert_eq!(live, [true, false, false, true], "{way_out}");
    }
}

/// Two groups of which the first does not end in the second: B168 leads there, and what comes after it in the first group leads
/// past it to where the register is dead. The entry is a block, too, so that the groups begin with B127 and B191.
#[test]
fn groups_without_a_way_between_them_are_not_live_together() {
    let mut body = String::from("mov.u32 %r1, 7; bra B0;\n");
    for block in 0..388 {
        let statement = match block {
            168 => "@%p2 bra B191;",
            190 => "bra B258;",
            254 => "bra B348;",
            328 => "ret;",
            348 => "st.global.u32 [g], %r1;",
            _ => "",
        };
        body.push_str(&format!("B{block}: {statement}\n"));
    }
    let built = Built::kernel(&body);
    compare(&built, &mut LivenessScratch::default(), &mut Default::default());
    let set = walked(&built);
    let live = ["B168", "B169", "B190", "B191", "B254"]
        .map(|name| set.is_live_in(built.block(name), built.vreg("%r1")));
    assert_eq!(live, [true, false, false, true, true]);
}

/// The live sets as the walks find them.
fn walked(built: &Built) -> LiveSet {
    let mut set = LiveSet::default();
    let scratch = &mut LivenessScratch::default();
    solve_on(Representation::Walks, &built.function(), &built.forms, scratch, &mut set);
    set
}

/// A result is read at each return, and a register of the module at calls, too.
#[test]
fn what_is_outside_reads_results_and_registers_of_the_module() {
    let text = |body: &str| {
        format!(
            ".version 8.6\n.target sm_90\n.address_size 64\n.reg .b32 m;\n.func g();\n\
             .func (.reg .b32 o) f () {{ .reg .pred p; .reg .b32 r; mov.b32 o, 1; mov.b32 m, 2;\n\
             setp.eq.b32 p, o, m;\n{body}\n}}\n"
        )
    };
    /// A block, and whether the result and the register of the module are live into it.
    type Wanted<'a> = (&'a str, bool, bool);
    let cases: [(&str, &[Wanted<'_>]); 5] = [
        ("bra A; A: call g; mov.b32 m, 3; ret;", &[("A", true, true)]),
        ("bra A; A: mov.b32 m, 3; ret;", &[("A", true, false)]),
        ("bra A; A: mov.b32 o, 3; ret;", &[("A", false, true)]),
        ("@p bra A; bra B; A: bar.sync 0; B: bar.sync 1;", &[("A", true, true), ("B", true, true)]),
        ("bra A; A: @p mov.b32 o, 3; @p mov.b32 m, 3; ret;", &[("A", true, true)]),
    ];
    for (body, blocks) in cases {
        let built = Built::of_module(text(body));
        for representation in [Representation::Dense, Representation::Walks] {
            let (mut set, scratch) = (LiveSet::default(), &mut LivenessScratch::default());
            solve_on(representation, &built.function(), &built.forms, scratch, &mut set);
            for &(name, result, of_module) in blocks {
                let live = [VRegFlags::OUTPUT, VRegFlags::MODULE].map(|flag| {
                    let function = built.function();
                    let has_flag = |vreg: &VRegId| function.vregs[vreg.index()].flags.contains(flag);
                    let vreg = function.vreg_ids().find(has_flag).expect("the function names both");
                    set.is_live_in(built.block(name), vreg)
                });
                assert_eq!(live, [result, of_module], "{name} of {body}");
            }
        }
    }
    // Where nothing crosses the boundary, the end reads nothing.
    let built = Built::of_module(
        ".version 8.6\n.target sm_90\n.entry k() { .reg .b32 r; mov.b32 r, 1; bra A; A: bar.sync 0; }\n"
            .to_owned(),
    );
    assert!(built.live_set().globals().is_empty());
}

#[test]
fn guarded_and_partial_writes_end_no_life() {
    let built = Built::kernel(
        ".reg .v2 .b32 %v<2>; mov.u32 %r1, 1; mov.u32 %r2, 1; bra B1; \
         B1: @%p1 mov.u32 %r1, 2; mov.b32 %v1.x, %r2; mov.u32 %r2, 3; bra B2; \
         B2: st.global.u32 [g], %r1; mov.b32 %r4, %v1.y; st.global.u32 [g], %r2; st.global.u32 [g], %r4;",
    );
    let (set, block) = (built.live_set(), built.block("B1"));
    let live = |name| set.is_live_in(block, built.vreg(name));
    assert_eq!(["%r1", "%v1", "%p1", "%r2"].map(live), [true; 4]);
    assert!(!live("%r4"));
    assert_eq!(
        ["%r1", "%v1", "%r2"].map(|name| set.is_live_in(built.block("B2"), built.vreg(name))),
        [true; 3]
    );
}
