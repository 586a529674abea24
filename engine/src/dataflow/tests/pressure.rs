//! Pressure: what lives before and after each instruction, counted anew, and costs worked out by hand.

use super::liveness::live_in;
use super::{Built, Style, random};
use crate::dataflow::liveness::{LivenessScratch, Representation, solve_on};
use crate::dataflow::pressure::{CLASSES, Count, Counts, Pressure, place_of};
use crate::store::view::FunctionView;
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::types::RegClass;

fn measured(built: &Built) -> Pressure {
    let mut pressure = Pressure::default();
    pressure.build(&built.function(), &built.forms, &built.live_set());
    pressure
}

fn counts(function: &FunctionView<'_>, live: &[bool]) -> Counts {
    CLASSES.map(|class| {
        let mut count = Count::default();
        for vreg in function.vreg_ids().filter(|vreg| live[vreg.index()]) {
            let row = &function.vregs[vreg.index()];
            if row.class() == class {
                count.registers += 1;
                count.slots += (row.ty.element().bits() * u32::from(row.ty.lanes)).div_ceil(32).max(1);
            }
        }
        count
    })
}

fn compare(built: &Built) {
    let function = built.function();
    let into: Vec<Vec<bool>> = function.vreg_ids().map(|vreg| live_in(&function, vreg)).collect();
    let mut lengths = vec![0; function.vregs.len()];
    let mut pressures = [Pressure::default(), Pressure::default()];
    for (representation, pressure) in
        [Representation::Dense, Representation::Walks].into_iter().zip(&mut pressures)
    {
        let mut set = Default::default();
        solve_on(representation, &function, &built.forms, &mut LivenessScratch::default(), &mut set);
        pressure.build(&function, &built.forms, &set);
    }
    for block in function.block_ids().filter(|block| function.orders[block.index()].is_reachable()) {
        let is_out = |vreg: VRegId| function.succs(block).iter().any(|succ| into[vreg.index()][succ.index()]);
        let mut live: Vec<bool> = function.vreg_ids().map(is_out).collect();
        for inst in function.insts_of(block).rev() {
            let (operands, head) = (function.operands_of(inst), &function.heads[inst.index()]);
            let mut after = live.clone();
            for operand in operands.iter().filter(|operand| operand.is_definition()) {
                let vreg = operand.vreg().expect("the tests write registers only");
                after[vreg.index()] = true;
                let ends = !head.opcode.is_guarded() && !operand.is_use() && operand.selector().is_none();
                live[vreg.index()] &= !ends;
            }
            let used =
                || operands.iter().filter(|operand| operand.is_use()).filter_map(|operand| operand.vreg());
            let mut last_uses: Vec<VRegId> = used().filter(|vreg| !live[vreg.index()]).collect();
            last_uses.sort_unstable();
            last_uses.dedup();
            used().for_each(|vreg| live[vreg.index()] = true);
            // A register has lived across an instruction that it was live after, or written by though nothing reads it.
            after.iter().zip(&mut lengths).for_each(|(&is_live, length)| *length += u32::from(is_live));
            for pressure in &pressures {
                assert_eq!(pressure.before(&function, inst), counts(&function, &live), "before {inst:?}");
                assert_eq!(pressure.after(&function, inst), counts(&function, &after), "after {inst:?}");
                let positions: Vec<usize> = pressure.last_uses_of(inst).collect();
                let mut found: Vec<VRegId> =
                    positions.iter().filter_map(|&position| operands[position].vreg()).collect();
                found.sort_unstable();
                assert_eq!(found, last_uses, "last uses of {inst:?}");
                assert!(
                    (0..operands.len()).all(|at| pressure.is_last_use(inst, at) == positions.contains(&at))
                );
            }
        }
    }
    let all_reachable = function.orders.iter().all(|order| order.is_reachable());
    for pressure in pressures.iter().filter(|_| all_reachable) {
        let found: Vec<u32> = function.vreg_ids().map(|vreg| pressure.length(vreg)).collect();
        assert_eq!(found, lengths);
    }
    compare_peaks(&function, &pressures[0]);
}

/// The peaks are the most that any place has, and the first place that has it.
fn compare_peaks(function: &FunctionView<'_>, pressure: &Pressure) {
    for (class, peak) in pressure.peaks(function).iter().enumerate() {
        let at = |inst: usize| {
            let inst = InstId::new(inst);
            [pressure.before(function, inst)[class], pressure.after(function, inst)[class]]
        };
        let key = |count: &Count| (count.slots, count.registers);
        let most = (0..function.heads.len()).flat_map(at).max_by_key(key).unwrap_or_default();
        let first =
            (0..function.heads.len()).find(|&inst| at(inst).contains(&most) && most != Count::default());
        assert_eq!((peak.count, peak.inst), (most, first.map(InstId::new)), "{:?}", CLASSES[class]);
    }
}

#[test]
fn counts_are_those_of_the_definition() {
    for seed in 0..120 {
        compare(&random(seed, Style::Wild, 1 + seed as usize % 19));
    }
    for seed in 0..4 {
        compare(&random(seed, Style::Calm, 150));
    }
}

/// Everything reachable, so that lengths are compared, too.
#[test]
fn lengths_are_those_of_the_definition() {
    compare(&Built::of_module(
        ".version 8.6\n.target sm_90\n.address_size 64\n.global .u32 g;\n.entry k(.param .u32 n) {\n\
         .reg .b32 %r<9>; .reg .pred %p<3>;\n\
         mov.u32 %r1, 0; mov.u32 %r2, 5; mov.u32 %r7, 5; setp.eq.u32 %p1, %r2, 4;\n\
         L: add.u32 %r1, %r1, 1; @%p1 mov.u32 %r3, %r1; setp.lt.u32 %p2, %r1, %r2;\n\
         @%p2 bra L;\n\
         st.global.u32 [g], %r3; ret;\n}\n"
            .to_owned(),
    ));
}

#[test]
fn slots_are_those_of_the_machine() {
    let built = Built::kernel(
        "mov.u16 %h1, 1; mov.u32 %r1, 2; mov.u64 %rd1, 3; mov.b128 %q1, {%rd1, %rd1}; setp.eq.u32 %p1, %r1, 2; \
         @%p1 st.global.b128 [g], %q1; st.global.u64 [g], %rd1; st.global.u32 [g], %r1; st.global.u16 [g], %h1;",
    );
    let pressure = measured(&built);
    let (function, [general, predicates]) = (built.function(), [RegClass::R, RegClass::P].map(place_of));
    let all = pressure.before(&function, InstId(5));
    assert_eq!(all[general], Count { registers: 4, slots: 1 + 1 + 2 + 4 });
    assert_eq!(all[predicates], Count { registers: 1, slots: 1 });
    assert_eq!(pressure.peaks(&function)[general].count, all[general]);
}

/// A register that is read in two loops around one another costs a hundred times an access outside of them, over the length
/// of its range.
#[test]
fn spilling_costs_most_where_loops_are_deep() {
    let built = Built::kernel(
        "mov.u32 %r1, 1; mov.u32 %r2, 2; mov.u32 %r3, 0; \
         B1: add.u32 %r3, %r3, %r1; \
         B2: add.u32 %r3, %r3, %r2; setp.lt.u32 %p1, %r3, 9; @%p1 bra B2; \
         B3: setp.lt.u32 %p2, %r3, 99; @%p2 bra B1;",
    );
    let (function, pressure) = (built.function(), measured(&built));
    let [outer, inner] = ["%r1", "%r2"].map(|name| built.vreg(name));
    assert_eq!((pressure.weight(outer), pressure.weight(inner)), (1 + 10, 1 + 100));
    let cost = |vreg: VRegId| pressure.spill_cost(&function, vreg) * f64::from(pressure.length(vreg));
    assert_eq!((cost(outer), cost(inner)), (11.0, 101.0));
}

/// Instructions with more operands than a word has bits.
#[test]
fn last_uses_are_found_at_far_positions() {
    let defined: String = (0..130).map(|number| format!("mov.b32 %r{number}, 7;\n")).collect();
    let list =
        |from: usize| (from..from + 128).map(|number| format!("%r{number}")).collect::<Vec<_>>().join(", ");
    let store = |list: &str| format!("tcgen05.st.sync.aligned.32x32b.x128.b32 [%r129], {{{list}}};\n");
    let twice = list(0).replace("%r99,", "%r98,");
    let built = Built::of_module(format!(
        ".version 8.6\n.target sm_100a\n.address_size 64\n.entry k() {{\n.reg .b32 %r<130>;\n{defined}{}{}ret;\n}}\n",
        store(&list(1)),
        store(&twice)
    ));
    compare(&built);
    let pressure = measured(&built);
    assert_eq!(pressure.last_uses_of(InstId(130)).collect::<Vec<_>>(), [99, 128]);
    assert!(pressure.is_last_use(InstId(131), 99) && !pressure.is_last_use(InstId(131), 100));
    assert_eq!(pressure.last_uses_of(InstId(131)).count(), 128);
}

#[test]
fn registers_of_the_module_are_never_spilled() {
    let built = Built::of_module(
        ".version 3.0\n.target sm_20\n.reg .b32 %r1;\n.entry k() {\nadd.u32 %r1, %r1, 1;\nret;\n}\n"
            .to_owned(),
    );
    assert_eq!(measured(&built).spill_cost(&built.function(), VRegId(0)), f64::INFINITY);
}
