//! Random functions: the plain way to the same cells, and runs, in which a register never holds anything else than its constant.

use super::lattice::Cell;
use super::solve::Solver;
use super::{Scratch, filter, replace};
use crate::check::ssa;
use crate::check::testing::{Built, Random, labelled};
use crate::flow::predicate;
use crate::ssa::build_ssa;
use crate::ssa::origins::OriginsOf;
use crate::values::{general_optimize, move_tests};
use ptxopt_components::ids::{BlockId, CodeId, Id, InstId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind, definitions};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Comparison;
use ptxopt_components::types::PtxType;
use ptxopt_engine::edit::PlainEditor;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::phis::{incoming, phis_of};
use ptxopt_engine::values::reaching::Reaching;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const CODE: CodeId = CodeId(0);
const BLOCKS_MAX: usize = 9;

/// A kernel of up to nine blocks. Most of its six registers and three predicates start as constants, and some stay unwritten.
pub(in crate::values) fn random_body(random: &mut Random) -> String {
    let mut body = ".reg .b32 %r<7>; .reg .pred %p<4>;".to_owned();
    for register in 1..=6 {
        match random.below(8) {
            0..5 => write!(body, " mov.u32 %r{register}, {};", random.below(3)).unwrap(),
            5..7 => write!(body, " ld.global.u32 %r{register}, [g];").unwrap(),
            _ => {}
        }
    }
    for predicate in 1..=3 {
        write!(body, " setp.ne.u32 %p{predicate}, %r{predicate}, {};", random.below(2)).unwrap();
    }
    let count = 2 + random.below(BLOCKS_MAX - 1);
    for block in 0..count {
        write!(body, " {}:", label(block)).unwrap();
        for _ in 0..random.below(4) {
            write!(body, " {}", random_instruction(random)).unwrap();
        }
        let target = label(random.below(count));
        let predicate = 1 + random.below(3);
        match random.below(12) {
            0..2 => write!(body, " bra {target};").unwrap(),
            2..9 => write!(body, " @%p{predicate} bra {target};").unwrap(),
            9 => write!(
                body,
                " t{block}: .branchtargets {target}, {}; brx.idx %r{}, t{block};",
                label(random.below(count)),
                1 + random.below(6)
            )
            .unwrap(),
            _ => {}
        }
    }
    body += " Z:";
    for register in 1..=6 {
        write!(body, " st.global.u32 [g], %r{register};").unwrap();
    }
    body + " ret;"
}

fn random_instruction(random: &mut Random) -> String {
    let [to, one, other] = [(); 3].map(|()| 1 + random.below(6));
    let [set, read, second] = [(); 3].map(|()| 1 + random.below(3));
    let constant = ["0", "1", "2", "-1"][random.below(4)];
    let guard = if random.below(12) == 0 { format!("@%p{read} ") } else { String::new() };
    let operations =
        ["add.u32", "sub.u32", "xor.b32", "or.b32", "and.b32", "mul.lo.u32", "shl.b32", "shr.u32"];
    let operation = operations[random.below(operations.len())];
    let logic = ["and.pred", "or.pred", "xor.pred"][random.below(3)];
    let compared = ["eq", "ne", "lt", "ge"][random.below(4)];
    match random.below(12) {
        0 => format!("{guard}mov.u32 %r{to}, {constant};"),
        1..3 => format!("{guard}mov.u32 %r{to}, %r{one};"),
        3 => format!("{guard}{operation} %r{to}, %r{one}, %r{other};"),
        4..6 => format!("{guard}{operation} %r{to}, %r{one}, {constant};"),
        6 => format!("selp.u32 %r{to}, %r{one}, %r{other}, %p{read};"),
        7..9 => format!("{guard}setp.{compared}.u32 %p{set}, %r{one}, {constant};"),
        9 => format!("{logic} %p{set}, %p{read}, %p{second};"),
        10 => format!("not.pred %p{set}, %p{read};"),
        _ => format!("st.global.u32 [g], %r{one};"),
    }
}

fn label(block: usize) -> char {
    (b'A' + block as u8) as char
}

/// A function in SSA form, its rows in program order.
pub(in crate::values) fn in_ssa(body: &str) -> Built {
    let mut built = labelled(body);
    built.tables.make_room(400);
    built.analyze();
    let mut editor = PlainEditor::default();
    let mut origins = OriginsOf::default();
    let mut scratch = build_ssa::Scratch::default();
    build_ssa::build(&mut editor.edit(&mut built.tables, &mut built.forms, CODE), &mut origins, &mut scratch);
    editor.compact(&mut built.tables, CODE, |_| true);
    built.analyze();
    built
}

/// What an instruction computes of numbers; a predicate is 1 or 0. None for what is not computed here.
fn computed(built: &Built, inst: InstId, sources: &[u64]) -> Option<u64> {
    let form = built.function().heads[inst.index()].form;
    let description = built.forms.describe(form);
    let is_predicate = description.types[0] == Some(PtxType::Pred);
    let number = |result: u64| if is_predicate { result & 1 } else { result & 0xFFFF_FFFF };
    Some(number(match (description.operation, sources) {
        (Operation::Mov, &[source]) => source,
        (Operation::Not, &[source]) => !source,
        (Operation::Add, &[one, other]) => one + other,
        (Operation::Sub, &[one, other]) => one.wrapping_sub(other),
        (Operation::Xor, &[one, other]) => one ^ other,
        (Operation::Or, &[one, other]) => one | other,
        (Operation::And, &[one, other]) => one & other,
        (Operation::Mul, &[one, other]) => one * other,
        (Operation::Shl, &[one, other]) => u64::from((one as u32).checked_shl(other as u32).unwrap_or(0)),
        (Operation::Shr, &[one, other]) => u64::from((one as u32).checked_shr(other as u32).unwrap_or(0)),
        (Operation::Selp, &[one, other, choice]) => [other, one][choice as usize],
        (Operation::Setp, &[one, other]) => u64::from(match description.qualifiers.comparison? {
            Comparison::Equal => one == other,
            Comparison::NotEqual => one != other,
            Comparison::Less => one < other,
            Comparison::GreaterEqual => one >= other,
            _ => return None,
        }),
        _ => return None,
    }))
}

/// An operand by what registers hold.
fn read<T>(operand: Operand, of: impl Fn(VRegId) -> T, number: impl Fn(u64) -> T) -> T {
    match operand.kind() {
        OperandKind::Int(value) => number(u64::from(value as u32)),
        _ => of(operand.vreg().expect("a register or a literal")),
    }
}

/// What a run does, with numbers from `random` where the function loads one, and where it reads what was never written.
struct Run {
    stored: Vec<u64>,
    written: Vec<(VRegId, u64)>,
    blocks: BTreeSet<BlockId>,
}

fn run(built: &Built, random: u64) -> Run {
    let function = built.function();
    let mut values: Vec<u64> = function.vreg_ids().map(|vreg| u64::from(vreg.0) * random % 5).collect();
    let mut loads = Random(random);
    let mut run = Run { stored: Vec::new(), written: Vec::new(), blocks: BTreeSet::new() };
    let (mut block, mut from) = (BlockId(0), BlockId(0));
    for _ in 0..60 {
        run.blocks.insert(block);
        let arriving: Vec<(VRegId, u64)> = phis_of(&function, block)
            .map(|(_, operands)| {
                let (_, value) =
                    incoming(operands).find(|&(pred, _)| pred == from).expect("it names the way");
                (operands[0].vreg().unwrap(), read(value, |vreg| values[vreg.index()], |number| number))
            })
            .collect();
        let mut next = function.succs(block).last().copied();
        for &(vreg, value) in &arriving {
            values[vreg.index()] = value;
            run.written.push((vreg, value));
        }
        for (inst, head, operands) in function.rows_of(block).filter(|(_, head, _)| !head.is_phi()) {
            let holds = function.guard_of(inst).is_none_or(|guard| {
                let OperandKind::Predicate { vreg, negated } = guard.kind() else { panic!("a guard") };
                (values[vreg.index()] & 1 != 0) != negated
            });
            if !holds {
                continue;
            }
            let count = operands.len() - usize::from(head.opcode.is_guarded());
            let read = |at: usize| read(operands[at], |vreg| values[vreg.index()], |number| number);
            let result = match built.forms.get(head.form).operation {
                Operation::St => {
                    run.stored.push(read(count - 1));
                    continue;
                }
                Operation::Bra => {
                    next = operands[0].as_block();
                    continue;
                }
                Operation::BrxIdx => {
                    let targets = function.tables[operands[1].as_table().unwrap().index()].targets;
                    let target = function.pools.targets[targets.range()].get(read(0) as usize);
                    let Some(&target) = target else { return run };
                    next = Some(target);
                    continue;
                }
                Operation::Ret => return run,
                Operation::Ld => loads.below(4) as u64,
                _ => {
                    let sources: Vec<u64> = (1..count).map(read).collect();
                    computed(built, inst, &sources).expect("the test knows the operation")
                }
            };
            let vreg = operands[0].vreg().unwrap();
            values[vreg.index()] = result;
            run.written.push((vreg, result));
        }
        (from, block) = (block, next.expect("a block goes on or returns"));
    }
    run
}

/// The plain way: everything again and again until nothing changes.
#[derive(Clone, PartialEq)]
struct Naive {
    cells: BTreeMap<VRegId, Cell>,
    ways: BTreeSet<(BlockId, BlockId)>,
    blocks: BTreeSet<BlockId>,
}

impl Naive {
    fn solve(built: &Built) -> Self {
        let function = built.function();
        let is_defined = |vreg: VRegId| {
            function.rows().any(|(_, _, operands)| definitions(operands).any(|(defined, _)| defined == vreg))
        };
        let starts = |vreg: VRegId| {
            let is_value = function.vregs[vreg.index()].is_value();
            if is_value && is_defined(vreg) { Cell::Top } else { Cell::Bottom }
        };
        let cells = function.vreg_ids().map(|vreg| (vreg, starts(vreg))).collect();
        let mut naive = Self { cells, ways: BTreeSet::new(), blocks: BTreeSet::from([BlockId(0)]) };
        loop {
            let before = naive.clone();
            for block in before.blocks.iter().copied() {
                naive.go_over(built, block);
            }
            if naive == before {
                return naive;
            }
        }
    }

    fn cell(&self, operand: Operand) -> Cell {
        read(operand, |vreg| self.cells[&vreg], Cell::Constant)
    }

    fn go_over(&mut self, built: &Built, block: BlockId) {
        let function = built.function();
        for (_, operands) in phis_of(&function, block) {
            let taken = incoming(operands).filter(|&(from, _)| self.ways.contains(&(from, block)));
            let met = taken.fold(Cell::Top, |met, (_, value)| met.meet(self.cell(value)));
            self.lower(operands[0].vreg().unwrap(), met);
        }
        let mut targets: Vec<BlockId> = function.succs(block).to_vec();
        for (inst, head, operands) in function.rows_of(block).filter(|(_, head, _)| !head.is_phi()) {
            let operation = built.forms.get(head.form).operation;
            if operation == Operation::Ret {
                break;
            } else if matches!(operation, Operation::Bra | Operation::BrxIdx) {
                targets = self.targets(&function, inst, operation);
            } else if let Some(vreg) = operands.first().filter(|first| first.is_definition()) {
                let count = operands.len() - usize::from(head.opcode.is_guarded());
                let result = self.result(built, inst, operation, &operands[1..count]);
                self.lower(vreg.vreg().unwrap(), result);
            }
        }
        for target in targets {
            self.ways.insert((block, target));
            self.blocks.insert(target);
        }
    }

    fn lower(&mut self, vreg: VRegId, to: Cell) {
        let cell = self.cells.get_mut(&vreg).unwrap();
        *cell = cell.meet(to);
    }

    fn targets(&self, function: &FunctionView<'_>, inst: InstId, operation: Operation) -> Vec<BlockId> {
        let operands = function.operands_of(inst);
        let succs = function.succs(function.heads[inst.index()].block);
        let guard = function.guard_of(inst).map(|guard| match guard.kind() {
            OperandKind::Predicate { vreg, negated } => (self.cells[&vreg], negated),
            _ => panic!("a guard"),
        });
        let is_taken = match guard {
            None => true,
            Some((Cell::Top, _)) => return Vec::new(),
            Some((Cell::Bottom, _)) => return succs.to_vec(),
            Some((Cell::Constant(truth), negated)) => (truth == 1) != negated,
        };
        match (is_taken, operation) {
            (false, _) => vec![*succs.last().unwrap()],
            (true, Operation::Bra) => vec![operands[0].as_block().unwrap()],
            (true, _) => {
                let targets = function.tables[operands[1].as_table().unwrap().index()].targets;
                let targets = &function.pools.targets[targets.range()];
                match self.cell(operands[0]) {
                    Cell::Top => Vec::new(),
                    Cell::Constant(index) => {
                        targets.get(index as usize).map_or(succs.to_vec(), |&target| vec![target])
                    }
                    Cell::Bottom => succs.to_vec(),
                }
            }
        }
    }

    /// What comes of each number that an operand may be.
    fn result(&self, built: &Built, inst: InstId, operation: Operation, sources: &[Operand]) -> Cell {
        if operation == Operation::Ld {
            return Cell::Bottom;
        }
        let cells: Vec<Cell> = sources.iter().map(|&source| self.cell(source)).collect();
        let is_decided_early = match operation {
            Operation::And | Operation::Or | Operation::Mul | Operation::Selp => true,
            Operation::Shl | Operation::Shr => cells[0] == Cell::Constant(0),
            _ => false,
        };
        let may_be = |at: usize| -> Vec<u64> {
            let is_predicate = matches!(sources[at].kind(), OperandKind::Predicate { .. });
            match cells[at] {
                Cell::Constant(bits) => vec![bits],
                _ if is_predicate => vec![0, 1],
                // No two of the registers of a choice are known to be equal.
                _ => vec![at as u64 + 3, 0, 0xFFFF_FFFF],
            }
        };
        let is_known = cells.iter().all(|cell| cell.bits().is_some());
        let mut results = BTreeSet::new();
        if is_known || is_decided_early {
            let mut all: Vec<Vec<u64>> = vec![Vec::new()];
            for at in 0..cells.len() {
                let next = may_be(at);
                let with_each =
                    |so_far: Vec<u64>| next.iter().map(move |&next| [&so_far[..], &[next]].concat());
                all = all.into_iter().flat_map(with_each).collect();
            }
            results.extend(all.iter().map(|sources| computed(built, inst, sources).unwrap()));
        }
        match results.len() {
            1 => Cell::Constant(*results.first().unwrap()),
            _ if cells.contains(&Cell::Top) => Cell::Top,
            _ => Cell::Bottom,
        }
    }
}

fn solved(built: &Built) -> Solver {
    let mut solver = Solver::default();
    solver.solve(&built.function(), &built.forms, BlockId(0));
    solver
}

#[test]
fn cells_and_ways_are_those_of_the_plain_way() {
    let (mut constant_phis, mut never_reached) = (0, 0);
    for seed in 0..3000 {
        let body = random_body(&mut Random(seed));
        let built = in_ssa(&body);
        let function = built.function();
        let (solver, naive) = (solved(&built), Naive::solve(&built));
        for vreg in function.vreg_ids() {
            assert_eq!(solver.cell(vreg), naive.cells[&vreg], "seed {seed}: {vreg:?} of {body}");
        }
        for block in function.block_ids() {
            assert_eq!(
                solver.is_reached(block),
                naive.blocks.contains(&block),
                "seed {seed}: {block:?} of {body}"
            );
            let is_reachable = function.orders[block.index()].is_reachable();
            never_reached += usize::from(is_reachable && !solver.is_reached(block));
            for (_, operands) in phis_of(&function, block) {
                constant_phis += usize::from(solver.cell(operands[0].vreg().unwrap()).bits().is_some());
            }
        }
    }
    assert!(constant_phis > 500 && never_reached > 500, "{constant_phis} phis, {never_reached} blocks");
}

#[test]
fn runs_see_the_constants_and_no_other_blocks() {
    let mut seen = 0;
    for seed in 0..1500 {
        let body = random_body(&mut Random(seed));
        let built = in_ssa(&body);
        let solver = solved(&built);
        for random in [1, 7, 23, 1 << 20] {
            let run = run(&built, random);
            assert!(run.blocks.iter().all(|&block| solver.is_reached(block)), "seed {seed}: {body}");
            for (vreg, value) in run.written {
                if let Some(bits) = solver.cell(vreg).bits() {
                    assert_eq!(value, bits, "seed {seed}: {vreg:?} of {body}");
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 10_000, "{seen} constants were written");
}

#[test]
fn what_is_replaced_computes_the_same() {
    let (mut changed, mut found, mut missed) = (0, 0, 0);
    let (mut scratch, mut reaching) = (Scratch::default(), Reaching::default());
    for seed in 0..3000 {
        let body = random_body(&mut Random(seed));
        let mut built = in_ssa(&body);
        let stored = |built: &Built| [1, 7, 23, 1 << 20].map(|random| run(built, random).stored);
        let before = stored(&built);
        reaching.start(&built.function());
        let solver = solved(&built);
        let is_constant = |vreg: VRegId| solver.cell(vreg).bits().is_some();
        let finds = built.function().rows().any(|(_, head, operands)| {
            head.is_phi() && solver.is_reached(head.block) && is_constant(operands[0].vreg().unwrap())
        });
        let promises = filter::may_find(&built.function(), &built.forms, &reaching, &mut Vec::new());
        found += usize::from(finds);
        missed += usize::from(finds && !promises);
        let mut editor = PlainEditor::default();
        let has_changed =
            replace(&mut editor.edit(&mut built.tables, &mut built.forms, CODE), &reaching, &mut scratch);
        assert!(has_changed.is_some(), "there is no limit");
        changed += usize::from(has_changed == Some(true));
        built.analyze();
        assert_eq!(
            ssa::verify(&built.function(), true, &mut ssa::Scratch::default()),
            Ok(()),
            "{seed}: {body}"
        );
        assert_eq!(stored(&built), before, "seed {seed}: {body}");
        // What is known once is known the next time, and there is less to compute.
        let again = solved(&built);
        for vreg in built.function().vreg_ids() {
            let (was, is) = (solver.cell(vreg), again.cell(vreg));
            assert!(was.bits().is_none() || was == is || is == Cell::Top, "seed {seed}: {vreg:?} of {body}");
        }
    }
    assert!(changed > 500, "{changed} functions changed");
    // These functions are full of branches that folding decides, and of copies, which the filter leaves to the rounds after that.
    assert!(2 * missed < found, "the filter sees nothing in {missed} of {found} functions");
}

#[test]
fn an_operation_of_four_sources_is_evaluated() {
    let built = in_ssa(
        ".reg .b32 %r<4>; mov.u32 %r1, 1; mov.u32 %r2, 0x7702; bfi.b32 %r3, %r1, %r2, 0, 8; st.global.u32 [g], %r3; ret;",
    );
    assert_eq!(solved(&built).cell(built.vreg("%r", 3)), Cell::Constant(0x7701));
}

/// The rules tell that the loop counts to eight only after its phis were looked at, and nothing but the branch's arm is written
/// before they are looked at again.
#[test]
fn what_a_rule_says_of_a_branch_is_heard_the_next_time() {
    let text = ".entry k(.param .u64 p) { .reg .b32 %v<9>; .reg .b64 %a<2>; .reg .pred %p<3>;
        ld.param.u64 %a1, [p]; ld.global.u32 %v1, [%a1]; mov.u32 %v2, 0; mov.u32 %v3, %v1;
        and.b32 %v4, %v1, 7; shr.u32 %v4, %v4, 3; add.u32 %v4, %v4, 8; setp.lt.u32 %p2, %v1, 5;
        L: st.global.u32 [%a1+4], %v2; add.u32 %v2, %v2, 8; setp.eq.u32 %p1, %v2, %v4; @!%p1 bra L;
        @%p2 bra M; add.u32 %v3, %v1, 3; M: st.global.u32 [%a1+8], %v3; ret; }\n";
    let is_known = |phases: &[&'static Phase]| move_tests::after(text, phases).contains("[%a1+4], 0;");
    assert!(!is_known(&[]));
    assert!(!is_known(&[&predicate::PHASE]));
    assert!(is_known(&[&predicate::PHASE, &general_optimize::PHASE]));
}
