//! Live sets and needs against naive definitions, on functions made at random.
//!
//! Both are computed here a second time, instruction by instruction and register by register, in rounds over all
//! blocks until nothing changes: no row of bits, no order of blocks, no definition lists. Functions come as phase 6
//! leaves them, unreachable blocks included, and once more as dead-code elimination leaves them.

use bevy_ecs::prelude::*;
use ptxopt::{OptLevel, Options, Status, optimize_with_plan, standard};
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::Operand;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::dataflow::liveness::{LiveSet, LivenessScratch, Representation, Side, solve_on};
use ptxopt_engine::dataflow::pressure::{CLASSES, Pressure};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::dominator_tree::DominatorTree;
use ptxopt_engine::graph::iterated_frontier::IteratedFrontier;
use ptxopt_engine::ptx::scan::Module;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::{Phase, Plan, Step, Verify};
use ptxopt_engine::store::columns::Code;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::reaching::Reaching;
use ptxopt_systems::values::eliminate_dead::{Needs, find_unread_results};
use ptxopt_tests::modules::{expect_none, in_parallel};
use ptxopt_tests::random_code;
use ptxopt_tests::say::say;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Functions that went through the oracle.
static CHECKED: AtomicUsize = AtomicUsize::new(0);

static ORACLE: Phase = Phase {
    name: "oracle",
    needs: &[Fact::ControlFlow],
    install: |slot| slot.add(compare_all),
    ..Phase::NOTHING
};

static FIXPOINT: Phase = Phase {
    name: "fixpoint",
    needs: &[Fact::ControlFlow],
    install: |slot| slot.add(expect_nothing_dead),
    ..Phase::NOTHING
};

fn compare_all(code: Code, forms: Res<FormTable>, mut scratch: Local<Scratch>) {
    for function in code.view().functions() {
        compare(&function, &forms, &mut scratch);
        CHECKED.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct Scratch {
    solver: LivenessScratch,
    sets: [LiveSet; 2],
    pressure: Pressure,
    reaching: Reaching,
    needs: Needs,
    needs_by_walks: Needs,
    tree: DominatorTree,
    iterated: [IteratedFrontier; 2],
}

fn compare(function: &FunctionView<'_>, forms: &FormTable, scratch: &mut Scratch) {
    let naive = Naive::solve(function, forms, Strength::Plain);
    for (representation, set) in
        [Representation::Dense, Representation::Walks].into_iter().zip(&mut scratch.sets)
    {
        solve_on(representation, function, forms, &mut scratch.solver, set);
        compare_sets(function, &naive, set);
        scratch.pressure.build(function, forms, set);
        for (at, head) in function.heads.iter().enumerate().filter(|(_, head)| head.is_live()) {
            if naive.is_reachable[head.block.index()] {
                let pressure = &scratch.pressure;
                let registers = pressure.before(function, InstId::new(at)).map(|count| count.registers);
                assert_eq!(registers, naive.before[at], "registers before instruction {at}");
                assert_eq!(pressure.last_uses_of(InstId::new(at)).count(), naive.last_uses[at], "at {at}");
            }
        }
    }
    compare_frontiers(function, scratch);
    let strong = Naive::solve(function, forms, Strength::Strong);
    scratch.needs_by_walks.walk_always();
    scratch.reaching.start(function);
    for needs in [&mut scratch.needs, &mut scratch.needs_by_walks] {
        needs.find(function, &scratch.reaching);
        compare_needs(function, &strong, needs, &scratch.reaching);
    }
}

fn compare_needs(function: &FunctionView<'_>, strong: &Naive, needs: &Needs, reaching: &Reaching) {
    for (at, head) in function.heads.iter().enumerate().filter(|(_, head)| head.is_live()) {
        let inst = InstId::new(at);
        assert_eq!(needs.needs(inst), strong.is_needed[at], "{:?} {inst:?} is needed", head.block);
        for vreg in definitions(function, inst) {
            let is_read = strong.results_read.contains(&(inst, vreg));
            assert_eq!(needs.reads_result(reaching, inst, vreg), is_read, "{inst:?} writes {vreg:?}");
        }
    }
}

/// The iterated frontier of every third block, by listed frontiers and by a walk.
fn compare_frontiers(function: &FunctionView<'_>, scratch: &mut Scratch) {
    let Scratch { tree, iterated, .. } = scratch;
    tree.compute(function);
    iterated[1].walk_always();
    iterated.iter_mut().for_each(IteratedFrontier::start);
    for first in 0..3 {
        let from = || function.block_ids().skip(first).step_by(3).filter(|&block| tree.is_reachable(block));
        let [listed, walked] = iterated.each_mut().map(|frontier| {
            let mut found = Vec::new();
            frontier.find(function, tree, from(), |join| {
                found.push(join);
                true
            });
            found.sort_unstable();
            found
        });
        assert_eq!(listed, walked);
        assert!(listed.windows(2).all(|pair| pair[0] < pair[1]), "a join comes once");
    }
}

fn compare_sets(function: &FunctionView<'_>, naive: &Naive, set: &LiveSet) {
    for block in function.block_ids() {
        let (mut wanted_in, mut wanted_out) = (Vec::new(), Vec::new());
        for vreg in function.vreg_ids().filter(|_| naive.is_reachable[block.index()]) {
            let is_live = |side: &[Vec<bool>]| side[block.index()][vreg.index()];
            if is_live(&naive.live_in) {
                wanted_in.push(vreg);
            }
            if is_live(&naive.live_out) {
                wanted_out.push(vreg);
            }
        }
        let sorted = |members: &mut dyn Iterator<Item = VRegId>| {
            let mut members: Vec<VRegId> = members.collect();
            members.sort();
            members
        };
        let representation = set.representation();
        for (side, wanted) in [(Side::In, &wanted_in), (Side::Out, &wanted_out)] {
            let mut found = Vec::new();
            set.each_run(side, |blocks, vreg| found.extend(blocks.contains(&block.0).then_some(vreg)));
            assert_eq!(
                &sorted(&mut found.into_iter()),
                wanted,
                "{representation:?}: runs of {side:?} {block:?}"
            );
        }
        assert_eq!(
            sorted(&mut set.live_in_vregs(block)),
            wanted_in,
            "{representation:?}: live into {block:?}"
        );
        assert_eq!(
            sorted(&mut set.live_out_vregs(block)),
            wanted_out,
            "{representation:?}: live out of {block:?}"
        );
        for vreg in function.vreg_ids() {
            assert_eq!(
                set.is_live_in(block, vreg),
                wanted_in.contains(&vreg),
                "{representation:?} {block:?} {vreg:?}"
            );
            assert_eq!(
                set.is_live_out(block, vreg),
                wanted_out.contains(&vreg),
                "{representation:?} {block:?} {vreg:?}"
            );
        }
    }
}

/// Which instructions count as readers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strength {
    /// All.
    Plain,
    /// Those with an effect, and those with a result that such a one reads.
    Strong,
}

/// What the rounds found.
struct Naive {
    is_reachable: Vec<bool>,
    live_in: Vec<Vec<bool>>,
    live_out: Vec<Vec<bool>>,
    /// By instruction: registers that live before it, by class.
    before: Vec<[u32; CLASSES.len()]>,
    /// By instruction: registers that it reads and whose value nothing reads after it.
    last_uses: Vec<usize>,
    is_needed: Vec<bool>,
    results_read: std::collections::HashSet<(InstId, VRegId)>,
}

fn definitions<'a>(function: &FunctionView<'a>, inst: InstId) -> impl Iterator<Item = VRegId> + use<'a> {
    function.operands_of(inst).iter().filter(|operand| operand.is_definition()).filter_map(|o| o.vreg())
}

impl Naive {
    fn solve(function: &FunctionView<'_>, forms: &FormTable, strength: Strength) -> Self {
        let nothing = vec![vec![false; function.vregs.len()]; function.blocks.len()];
        let mut naive = Self {
            is_reachable: reachable(function),
            live_in: nothing.clone(),
            live_out: nothing,
            before: vec![Default::default(); function.heads.len()],
            last_uses: vec![0; function.heads.len()],
            is_needed: vec![false; function.heads.len()],
            results_read: Default::default(),
        };
        loop {
            let before = naive.live_in.clone();
            for block in function.block_ids() {
                naive.visit(function, forms, strength, block);
            }
            if naive.live_in == before {
                return naive;
            }
        }
    }

    fn visit(&mut self, function: &FunctionView<'_>, forms: &FormTable, strength: Strength, block: BlockId) {
        let mut live = vec![false; function.vregs.len()];
        if self.is_reachable[block.index()] {
            for succ in function.succs(block) {
                live.iter_mut().zip(&self.live_in[succ.index()]).for_each(|(live, of_succ)| *live |= of_succ);
            }
        }
        self.live_out[block.index()].clone_from(&live);
        let outside = VRegFlags::OUTPUT | VRegFlags::MODULE;
        let is_strong = strength == Strength::Strong;
        let read_outside = |live: &mut Vec<bool>, which: VRegFlags| {
            for vreg in function.vreg_ids() {
                live[vreg.index()] |= !is_strong && function.vregs[vreg.index()].flags.intersects(which);
            }
        };
        if function.succs(block).is_empty() {
            read_outside(&mut live, outside);
        }
        for inst in function.insts_of(block).rev() {
            let (head, operands) = (&function.heads[inst.index()], function.operands_of(inst));
            if is_strong {
                let always = outside | VRegFlags::PINNED;
                let mut is_needed = head.marks.contains(Marks::KEPT);
                for vreg in definitions(function, inst) {
                    let is_read = live[vreg.index()] || function.vregs[vreg.index()].flags.intersects(always);
                    if is_read {
                        self.results_read.insert((inst, vreg));
                    }
                    is_needed |= is_read;
                }
                self.is_needed[inst.index()] = is_needed;
                if !is_needed {
                    continue;
                }
            }
            let replaces = |operand: &&Operand| {
                operand.is_definition()
                    && !operand.is_use()
                    && operand.selector().is_none()
                    && !head.opcode.is_guarded()
            };
            operands
                .iter()
                .filter(replaces)
                .filter_map(|o| o.vreg())
                .for_each(|vreg| live[vreg.index()] = false);
            let is_read = |vreg: &VRegId| operands.iter().any(|o| o.is_use() && o.vreg() == Some(*vreg));
            let is_last = |vreg: &VRegId| is_read(vreg) && !live[vreg.index()];
            self.last_uses[inst.index()] = function.vreg_ids().filter(is_last).count();
            function.vreg_ids().filter(is_read).for_each(|vreg| live[vreg.index()] = true);
            let effects = forms.get(head.form).effects;
            if effects.contains(Effects::RETURN) {
                read_outside(&mut live, outside);
            } else if effects.intersects(Effects::EXIT | Effects::CALL | Effects::UNKNOWN) {
                read_outside(&mut live, VRegFlags::MODULE);
            }
            self.before[inst.index()] = CLASSES.map(|class| {
                let is_counted = |vreg: &VRegId| {
                    let row = &function.vregs[vreg.index()];
                    live[vreg.index()] && row.class() == class && !row.flags.contains(VRegFlags::CARRY)
                };
                function.vreg_ids().filter(is_counted).count() as u32
            });
        }
        self.live_in[block.index()] = live;
    }
}

fn reachable(function: &FunctionView<'_>) -> Vec<bool> {
    let mut is_reachable = vec![false; function.blocks.len()];
    let mut waiting = vec![BlockId(0)];
    while let Some(block) = waiting.pop() {
        if !std::mem::replace(&mut is_reachable[block.index()], true) {
            waiting.extend(function.succs(block));
        }
    }
    is_reachable
}

fn expect_nothing_dead(code: Code, forms: Res<FormTable>, mut needs: Local<Needs>) {
    let mut unread = Vec::new();
    let mut reaching = Reaching::default();
    for function in code.view().functions() {
        reaching.start(&function);
        needs.find(&function, &reaching);
        find_unread_results(&function, &forms, &needs, &reaching, &mut unread);
        assert_eq!((needs.unneeded(), &unread[..]), (&[][..], &[][..]), "a second run finds more");
    }
}

/// Phase 6, the oracle, dead-code elimination, the sweep, the oracle, and the fixpoint.
fn plan(text: &[u8]) -> Plan {
    let options = Options { level: OptLevel::O2, ..Options::default() };
    let module = Module::scan(text).unwrap_or_else(|error| panic!("{error:?}"));
    let standard = standard::plan(&options, module.is_debug);
    let step =
        |number: u16| *standard.steps.iter().find(|step| step.number == number).expect("it runs at -O2");
    let own = |number, name, phase| Step { number, name, phase, dump: false, verified: false };
    let steps = vec![
        step(6),
        own(200, "oracle", &ORACLE),
        step(84),
        step(76),
        own(201, "oracle", &ORACLE),
        own(202, "fixpoint", &FIXPOINT),
    ];
    Plan { steps, verify: Verify::Full, ..standard }
}

fn check(text: &str) -> Result<(), String> {
    let output =
        optimize_with_plan(text.as_bytes(), &plan(text.as_bytes())).map_err(|error| error.to_string())?;
    if output.report.status == Status::Ok {
        Ok(())
    } else {
        Err(format!("{:?} {:?}", output.report.left, output.report.undone))
    }
}

/// Makes a module: seed, number of functions, most blocks of one.
type Make = fn(u64, usize, usize) -> String;

fn check_modules(make: Make, seeds: std::ops::Range<u64>, function_count: usize, block_count_max: usize) {
    let seeds: Vec<u64> = seeds.collect();
    let failures = in_parallel(&seeds, |&seed| {
        check(&make(seed, function_count, block_count_max))
            .map_err(|said| format!("seed {seed}, {block_count_max} blocks: {said}"))
    });
    expect_none("modules fail", &failures.into_iter().filter_map(Result::err).collect::<Vec<_>>());
}

#[test]
fn sets_and_needs_are_those_of_the_definition() {
    check_modules(random_code::module, 0..420, 50, 24);
    check_modules(random_code::module, 1_000..1_030, 10, 300);
    check_modules(random_code::module, 2_000..2_004, 3, 2_000);
    check_modules(random_code::module_of_hubs, 3_000..3_060, 5, 60);
    let checked = CHECKED.load(Ordering::Relaxed);
    say(&format!("liveness: {} functions, each before and after dead-code elimination", checked / 2));
    assert!(checked >= 2 * 20_000);
}
