//! Unfold: runs a loop with what is known of registers, and lists the copies of its blocks that a run may come through.
//!
//! A copy is a block in a round of each loop that is unrolled: `(round of the outer loop, round of the inner one, block)`. Rounds
//! only grow along a run, so copies are visited in an order in which all that leads to one comes before it, and each is visited
//! once, with what is known on all ways to it. A branch on a known predicate has one way.
//! ```text
//! round 0   L -> body            %i is 0: %i > 1 does not hold
//! round 1   L -> body            %i is 1
//! round 2   L -> D               %i is 2: the loop ends
//! ```
//! A loop inside that is not unrolled has one copy a round; what it writes is unknown from its header on.

use super::Function;
use super::entry::Entry;
use crate::ssa::moves::moved_as;
use crate::values::conditional_constants::lattice::Cell;
use crate::values::conditional_constants::transfer::Transfer;
use crate::values::literals;
use ahash::AHashMap;
use ptxopt_components::form::{Form, Slot};
use ptxopt_components::ids::{BlockId, Id, InstId, LoopId, VRegId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::operand::{Operand, OperandKind, reads, writes};
use ptxopt_components::operation::Operation;
use ptxopt_components::types::PtxType;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::graph::build::next_living;
use ptxopt_engine::values::def_use::OperandRef;
use std::collections::BTreeMap;

/// The most copies of blocks times registers that the loop writes: what is kept of copies that wait.
const STATES_MAX: usize = 1 << 18;

/// Where a copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// To another copy.
    Copy(usize),
    /// Out of the loop.
    Outside(BlockId),
}

/// Registers whose state is copied in the time in which an instruction is looked at.
const STATES_AN_INST: usize = 16;

/// A block in a round of each loop around it.
#[derive(Clone, Debug)]
pub(super) struct BlockCopy {
    pub block: BlockId,
    /// The rounds of the unrolled loops around it, by depth: a number for each combination.
    pub rounds: Vec<u32>,
    /// Results that are known and written down, in the order of its instructions.
    pub constants: Vec<(InstId, u64)>,
    /// Where its branch leads, if that is conditional still.
    pub taken: Option<Way>,
    /// Where it goes otherwise.
    pub goes: Option<Way>,
    /// How many ways lead to it.
    pub entries: u32,
}

/// A nest of loops, written out.
#[derive(Clone, Debug)]
pub(super) struct Unfolded {
    pub root: LoopId,
    /// In an order in which a copy comes after those that lead to it, the way back of a loop that stays a loop left out.
    pub copies: Vec<BlockCopy>,
    /// Registers that have a name of their own in each round of the loops around, down to this depth.
    pub renamed: AHashMap<VRegId, usize>,
    /// By register and round: what those hold that are not written down, as all that reads them knows it.
    pub literals: AHashMap<(VRegId, u32), u64>,
    /// Rows that the copies take, jumps between them included.
    pub rows: usize,
    /// Registers that they take.
    pub names: usize,
    /// Instructions that are left once what is constant is gone.
    pub insts_left: usize,
    /// Accesses to local variables, and whether the address is constant in each copy.
    accesses: AHashMap<InstId, bool>,
}

impl Unfolded {
    /// Whether all copies of an access have a constant address, and it has any.
    pub fn is_exact(&self, access: InstId) -> bool {
        self.accesses.get(&access).is_some_and(|&is_exact| is_exact)
    }

    /// What the register of an operand holds in these rounds, if it is not written down there.
    pub fn literal(&self, operand: Operand, rounds: &[u32]) -> Option<u64> {
        let vreg = operand.vreg().filter(|_| !operand.is_definition())?;
        let &depth = self.renamed.get(&vreg)?;
        self.literals.get(&(vreg, rounds[depth])).copied()
    }
}

/// The type of the literal that may stand for a register in a slot, when the register holds `bits`. Bytes are stored from
/// registers.
pub(super) fn literal_type(
    form: &Form,
    slot: Option<&Slot>,
    position: usize,
    operand: Operand,
    bits: u64,
) -> Option<PtxType> {
    let is_plain = operand.vreg().is_some_and(|vreg| operand == Operand::register(vreg));
    let slot = slot.filter(|slot| is_plain && !slot.in_vector)?;
    literals::type_at(form, slot, position, bits).filter(|ty| ty.bits() > 8)
}

/// Why a nest is not unfolded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// A round of this loop begins as the one before it.
    Endless(LoopId),
    /// Past one of the limits.
    TooLarge,
    Unfit(&'static str),
}

/// How large the copies of a nest may get.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub rows: usize,
    pub insts_left: usize,
}

/// Unfolds the `loops` of a nest, of which the first holds all others. Each copy of an instruction is taken from `work_left`.
pub(super) fn unfold<'a>(
    function: &Function<'a>,
    loops: &[LoopId],
    limits: Limits,
    work_left: &mut usize,
    entry: &mut Entry<'a, '_>,
) -> Result<Unfolded, Refusal> {
    let mut walk = Walk::new(function, loops, limits, entry);
    let looked_at = function.nest.blocks(loops[0]).len() * loops.len();
    *work_left = work_left.checked_sub(looked_at).ok_or(Refusal::TooLarge)?;
    walk.look()?;
    walk.enter();
    while let Some((key, at)) = walk.pending.pop_first() {
        *work_left = work_left.checked_sub(walk.work_at(at)).ok_or(Refusal::TooLarge)?;
        walk.visit(&key, at)?;
    }
    // Threads of one warp may be in different rounds then, and meet at one instruction.
    if walk.has_convergent && walk.unfolded.copies.iter().any(|copy| copy.taken.is_some()) {
        return Err(Refusal::Unfit(
            "threads that are in different rounds may meet at a convergent instruction",
        ));
    }
    Ok(walk.finish())
}

/// Where a copy stands in the order: round and rank by turns, those of outer loops first. The rank is that of the block, or of the
/// header of the inner loop that holds it.
type Key = Vec<u32>;

struct Walk<'a, 'e, 'r> {
    function: Function<'a>,
    entry: &'e mut Entry<'a, 'r>,
    loops: &'e [LoopId],
    limits: Limits,
    /// By block of the nest: the unrolled loops around it.
    chains: AHashMap<BlockId, Vec<LoopId>>,
    /// Registers that the nest writes, numbered.
    numbers: AHashMap<VRegId, usize>,
    /// The same, by number: what is looked at one after the other comes out the same in every run.
    written: Vec<VRegId>,
    /// What is known where each round of a loop begins.
    begins: AHashMap<Key, Vec<Cell>>,
    found: AHashMap<Key, usize>,
    pending: BTreeMap<Key, usize>,
    /// By copy, while it waits: what is known of each register.
    states: Vec<Vec<Cell>>,
    /// By copy: when it was visited.
    visited: Vec<usize>,
    rounds: AHashMap<Key, u32>,
    /// Whether an instruction is executed by the threads of a warp together.
    has_convergent: bool,
    unfolded: Unfolded,
}

impl<'a, 'e, 'r> Walk<'a, 'e, 'r> {
    fn new(
        function: &Function<'a>,
        loops: &'e [LoopId],
        limits: Limits,
        entry: &'e mut Entry<'a, 'r>,
    ) -> Self {
        let unfolded = Unfolded {
            root: loops[0],
            copies: Vec::new(),
            renamed: AHashMap::default(),
            literals: AHashMap::default(),
            rows: 0,
            names: 0,
            insts_left: 0,
            accesses: AHashMap::default(),
        };
        Self {
            function: *function,
            entry,
            loops,
            limits,
            chains: AHashMap::default(),
            numbers: AHashMap::default(),
            written: Vec::new(),
            begins: AHashMap::default(),
            found: AHashMap::default(),
            pending: BTreeMap::new(),
            states: Vec::new(),
            visited: Vec::new(),
            rounds: AHashMap::default(),
            has_convergent: false,
            unfolded,
        }
    }

    /// Looks at the nest as it is: whether it can be copied, what it writes, and what gets names of its own.
    fn look(&mut self) -> Result<(), Refusal> {
        let Function { view, nest, tracer, .. } = self.function;
        let root = self.unfolded.root;
        let blocks = nest.blocks(root);
        if let Some(reason) = self.function.obstacles.of(blocks) {
            return Err(Refusal::Unfit(reason));
        }
        for &block in blocks {
            let around = |id: &&LoopId| nest.holds(**id, block);
            self.chains.insert(block, self.loops.iter().filter(around).copied().collect());
            for inst in view.insts_of(block) {
                self.look_at(inst)?;
                self.has_convergent |= view.heads[inst.index()].marks.contains(Marks::CONVERGENT);
                for vreg in writes(view.operands_of(inst)) {
                    let number = self.written.len();
                    if *self.numbers.entry(vreg).or_insert(number) == number {
                        self.written.push(vreg);
                    }
                }
            }
        }
        for &vreg in &self.written {
            if let Some(depth) = self.depth_of_name(vreg) {
                self.unfolded.renamed.insert(vreg, depth);
            } else if tracer.address_in(vreg).is_some() {
                return Err(Refusal::Unfit(
                    "a register with the address of a local variable is read in another round",
                ));
            }
        }
        Ok(())
    }

    fn look_at(&self, inst: InstId) -> Result<(), Refusal> {
        let Function { view, forms, .. } = self.function;
        let head = &view.heads[inst.index()];
        let form = forms.get(head.form);
        let operands = view.operands_of(inst);
        let is_odd = |kind| matches!(kind, OperandKind::Text(_) | OperandKind::Table(_));
        if form.operation == Operation::Call || operands.iter().any(|operand| is_odd(operand.kind())) {
            return Err(Refusal::Unfit("a loop with a call, a branch table or copied text is not unrolled"));
        }
        if form.effects.intersects(Form::CARRY) || form.operation == Operation::Unknown {
            return Err(Refusal::Unfit(
                "a loop with a carry chain or an unknown instruction is not unrolled",
            ));
        }
        let is_branch = form.operation == Operation::Bra;
        if operands.iter().any(|operand| operand.as_block().is_some()) != is_branch {
            return Err(Refusal::Unfit("a loop with an odd branch is not unrolled"));
        }
        Ok(())
    }

    /// The depth of the loop in each round of which a register gets a name of its own: the innermost of those that are unrolled
    /// around its only definition, if all that reads it comes after that in the same round.
    fn depth_of_name(&self, vreg: VRegId) -> Option<usize> {
        let Function { view, sources, nest, .. } = self.function;
        let def = sources.def_use.only_def(vreg)?.inst;
        let head = &view.vregs[vreg.index()];
        // New names are of one element.
        let is_own = !head.flags.intersects(VRegFlags::UNKNOWN_AT_START) && head.ty.lanes == 1;
        // Under a guard it keeps what the round before has left.
        let is_own = is_own && !view.heads[def.index()].opcode.is_guarded();
        let chain = self.chains.get(&view.heads[def.index()].block)?;
        let innermost = *chain.last()?;
        let mut uses = sources.def_use.uses(vreg);
        let is_inside = |inst: InstId| nest.holds(innermost, view.heads[inst.index()].block);
        let is_same = uses.all(|at| is_inside(at.inst) && sources.is_before(def, at.inst));
        (is_own && is_same).then(|| chain.len() - 1)
    }

    fn rank(&self, block: BlockId) -> u32 {
        self.function.view.orders[block.index()].rpo
    }

    /// Reaches the header for the first time.
    fn enter(&mut self) {
        let root = self.unfolded.root;
        let header = self.function.nest.row(root).header;
        let mut state = vec![Cell::Bottom; self.numbers.len()];
        for (number, &vreg) in self.written.iter().enumerate() {
            // What is written before it is read needs no value.
            if !self.unfolded.renamed.contains_key(&vreg) {
                state[number] = self.entry.at(root, vreg);
            }
        }
        let key = vec![0, self.rank(header)];
        self.reach(key, header, &state);
    }

    /// The copy at `key`, into which `state` comes.
    fn reach(&mut self, key: Key, block: BlockId, state: &[Cell]) -> usize {
        if let Some(&at) = self.found.get(&key) {
            self.unfolded.copies[at].entries += 1;
            // A loop that stays a loop comes back to its header, which has forgotten all that it writes.
            for (known, new) in self.states[at].iter_mut().zip(state) {
                *known = known.meet(*new);
            }
            return at;
        }
        let at = self.unfolded.copies.len();
        let rounds = (0..key.len()).step_by(2).map(|end| self.round_at(&key[..=end])).collect();
        self.unfolded.copies.push(BlockCopy {
            block,
            rounds,
            constants: Vec::new(),
            taken: None,
            goes: None,
            entries: 1,
        });
        self.states.push(state.to_vec());
        self.found.insert(key.clone(), at);
        self.pending.insert(key, at);
        at
    }

    fn round_at(&mut self, key: &[u32]) -> u32 {
        let number = self.rounds.len() as u32;
        *self.rounds.entry(key.to_vec()).or_insert(number)
    }

    /// Where the edge from a copy at `key` of `from` to the block `to` leads.
    fn key_of(&self, key: &[u32], from: BlockId, to: BlockId) -> Option<Key> {
        let nest = self.function.nest;
        let (here, there) = (&self.chains[&from], self.chains.get(&to)?);
        let rank = self.rank(to);
        let innermost = there[there.len() - 1];
        if nest.row(innermost).header == to && here.contains(&innermost) {
            let depth = there.len() - 1;
            let mut next = key[..2 * depth].to_vec();
            next.extend([key[2 * depth] + 1, rank]);
            return Some(next);
        }
        let common = here.iter().zip(there).take_while(|(one, other)| one == other).count();
        let mut next = key[..2 * common - 1].to_vec();
        next.push(rank);
        if there.len() > common {
            next.extend([0, rank]);
        }
        Some(next)
    }

    /// How much there is to do at a copy, in instructions: at the header of a loop that stays a loop, all of that is looked at.
    fn work_at(&self, at: usize) -> usize {
        let Function { view, nest, .. } = self.function;
        let block = self.unfolded.copies[at].block;
        let insts = |block: BlockId| view.blocks[block.index()].insts.len();
        let kept = nest.loop_of(block).filter(|&id| nest.row(id).header == block && !self.is_unrolled(id));
        let of_loop = kept.map_or(0, |id| nest.blocks(id).iter().map(|&block| insts(block)).sum());
        insts(block) + of_loop + self.numbers.len() / STATES_AN_INST
    }

    fn is_unrolled(&self, id: LoopId) -> bool {
        self.loops.binary_search(&id).is_ok()
    }

    fn visit(&mut self, key: &Key, at: usize) -> Result<(), Refusal> {
        let Function { view, nest, .. } = self.function;
        let block = self.unfolded.copies[at].block;
        let mut state = std::mem::take(&mut self.states[at]);
        self.visited.push(at);
        if let Some(id) = nest.loop_of(block).filter(|&id| nest.row(id).header == block) {
            if self.is_unrolled(id) {
                let before = self.begins.insert(key[..key.len() - 2].to_vec(), state.clone());
                if before.is_some_and(|before| before == state) {
                    return Err(Refusal::Endless(id));
                }
            } else {
                let insts = nest.blocks(id).iter().flat_map(|&block| view.insts_of(block));
                for vreg in insts.flat_map(|inst| writes(view.operands_of(inst))) {
                    state[self.numbers[&vreg]] = Cell::Bottom;
                }
            }
        }
        for inst in view.insts_of(block) {
            self.run(inst, at, &mut state);
        }
        self.leave(key, at, &state);
        // A jump, where no copy follows.
        self.unfolded.rows += 1;
        let Unfolded { rows, insts_left, ref copies, .. } = self.unfolded;
        let has_states = copies.len() * self.numbers.len() <= STATES_MAX;
        let fits = rows <= self.limits.rows && insts_left <= self.limits.insts_left && has_states;
        if fits { Ok(()) } else { Err(Refusal::TooLarge) }
    }

    /// What is known of a register in a copy.
    fn cell(&mut self, state: &[Cell], vreg: VRegId) -> Cell {
        match self.numbers.get(&vreg) {
            Some(&number) => state[number],
            None => self.entry.at(self.unfolded.root, vreg),
        }
    }

    /// Lets an instruction happen.
    fn run(&mut self, inst: InstId, at: usize, state: &mut [Cell]) {
        let Function { view, forms, tracer, .. } = self.function;
        let operands = view.operands_of(inst);
        let operation = forms.get(view.heads[inst.index()].form).operation;
        // Branches are written where they stay, and none on a literal does.
        let is_branch = operation == Operation::Bra;
        let moves = if is_branch { 0 } else { self.moves_before(inst, at) };
        self.unfolded.rows += usize::from(!is_branch) + moves;
        self.unfolded.names +=
            moves + writes(operands).filter(|vreg| self.unfolded.renamed.contains_key(vreg)).count();
        let transfer = Transfer { function: view, forms, inst };
        let result = transfer.only_result();
        let mut goes = self.function.goes(inst);
        let known = match result {
            Some(vreg) if tracer.address_in(vreg).is_some() => {
                let is_exact = self.makes_exact_address(vreg, inst, state);
                goes |= is_exact;
                // Of an address, what is added to the start of its variable matters only: whether it is constant.
                if is_exact { Cell::Constant(0) } else { Cell::Bottom }
            }
            Some(vreg) => {
                let known = transfer.result(&mut |vreg| self.cell(state, vreg));
                if let Some(bits) = known.bits() {
                    self.note_constant(inst, vreg, at, bits);
                    goes = true;
                }
                known
            }
            None => Cell::Bottom,
        };
        for vreg in writes(operands) {
            state[self.numbers[&vreg]] = if result == Some(vreg) { known } else { Cell::Bottom };
        }
        if matches!(operation, Operation::Ld | Operation::St) {
            let address = reads(operands).find(|&vreg| tracer.address_in(vreg).is_some());
            if let Some(vreg) = address {
                let is_exact = self.is_exact_address(vreg, state);
                let known = self.unfolded.accesses.entry(inst).or_insert(true);
                *known &= is_exact;
                if is_exact {
                    goes = true;
                    // Moves under a guard stay, one for each element.
                    let head = &view.heads[inst.index()];
                    let moves = usize::from(forms.get(head.form).lanes);
                    self.unfolded.insts_left += if head.opcode.is_guarded() { moves } else { 0 };
                }
            }
        }
        self.unfolded.insts_left += usize::from(!goes);
    }

    /// Notes that an instruction leaves these bits in a register.
    fn note_constant(&mut self, inst: InstId, vreg: VRegId, at: usize, bits: u64) {
        let Function { view, sources, .. } = self.function;
        let ty = view.vregs[vreg.index()].ty.element();
        // A predicate is no literal; but a branch on one that is known is gone.
        let is_asked = |at: OperandRef| {
            let operands = view.operands_of(at.inst);
            at.position + 1 == operands.len() && operands[0].as_block().is_some()
        };
        let is_free = || match ty {
            PtxType::Pred => sources.def_use.uses(vreg).all(is_asked),
            // It may have to be moved into a register after all.
            _ => moved_as(ty).is_some(),
        };
        let copy = &mut self.unfolded.copies[at];
        match self.unfolded.renamed.get(&vreg).filter(|_| is_free()) {
            Some(&depth) => {
                self.unfolded.literals.insert((vreg, copy.rounds[depth]), bits);
                self.unfolded.rows -= 1;
                self.unfolded.names -= 1;
            }
            None => copy.constants.push((inst, bits)),
        }
    }

    /// The moves that a copy of an instruction takes before it, for literals that it does not take.
    fn moves_before(&self, inst: InstId, at: usize) -> usize {
        let Function { view, forms, .. } = self.function;
        let rounds = &self.unfolded.copies[at].rounds;
        let form = view.heads[inst.index()].form;
        let (form, slots) = (forms.get(form), forms.slots(form));
        let operands = view.operands_of(inst).iter().enumerate();
        let is_moved = |&(position, &operand): &(usize, &Operand)| {
            let literal = self.unfolded.literal(operand, rounds).filter(|_| operand.as_block().is_none());
            literal.is_some_and(|bits| {
                literal_type(form, slots.get(position), position, operand, bits).is_none()
            })
        };
        operands.filter(is_moved).count()
    }

    /// Whether a register with an address holds one that is constant.
    fn is_exact_address(&self, vreg: VRegId, state: &[Cell]) -> bool {
        let address = self.function.tracer.address_in(vreg);
        let is_exact = address.is_some_and(|address| address.offset.value().is_some());
        let in_nest = self.numbers.get(&vreg).map(|&number| state[number]);
        is_exact || in_nest.is_some_and(|known| known.bits().is_some())
    }

    /// Whether the address that an instruction makes is constant: that which it reads is, and what is added to it.
    fn makes_exact_address(&mut self, result: VRegId, inst: InstId, state: &[Cell]) -> bool {
        let Function { view, forms, tracer, .. } = self.function;
        let address = tracer.address_in(result);
        if address.is_some_and(|address| address.offset.value().is_some()) {
            return true;
        }
        // Bits that are set are no sum where the address has some of them.
        let operation = forms.get(view.heads[inst.index()].form).operation;
        matches!(
            operation,
            Operation::Add | Operation::Sub | Operation::Mov | Operation::Cvta | Operation::CvtaTo
        ) && reads(view.operands_of(inst)).all(|vreg| match tracer.address_in(vreg) {
            Some(_) => self.is_exact_address(vreg, state),
            None => self.cell(state, vreg).bits().is_some(),
        })
    }

    /// Goes the ways out of a copy.
    fn leave(&mut self, key: &Key, at: usize, state: &[Cell]) {
        let Function { view, forms, .. } = self.function;
        let block = self.unfolded.copies[at].block;
        let last = view
            .insts_of(block)
            .next_back()
            .filter(|last| view.heads[last.index()].marks.contains(Marks::CONTROL));
        let next = next_living(view.blocks, block);
        let (mut taken, mut goes) = (None, next);
        if let Some(last) = last {
            let guard = view.guard_of(last);
            let target = view.operands_of(last).first().and_then(|operand| operand.as_block());
            let truth = match guard.map(|guard| guard.kind()) {
                Some(OperandKind::Predicate { vreg, negated }) => {
                    self.cell(state, vreg).negated_if(negated).bits()
                }
                Some(_) => None,
                None => Some(1),
            };
            let is_branch = forms.get(view.heads[last.index()].form).operation == Operation::Bra;
            (taken, goes) = match truth {
                // Another way out of the function stays as it is.
                _ if !is_branch => (None, guard.and(next)),
                Some(0) => (None, next),
                Some(_) => (None, target),
                None => (target, next),
            };
            // A guard that stays is an instruction that stays.
            if is_branch && guard.is_some() && taken.is_none() {
                self.unfolded.insts_left -= 1;
            }
        }
        self.unfolded.rows += usize::from(taken.is_some());
        let taken = taken.map(|to| self.go(key, block, to, state));
        let goes = goes.map(|to| self.go(key, block, to, state));
        let copy = &mut self.unfolded.copies[at];
        (copy.taken, copy.goes) = (taken, goes);
    }

    fn go(&mut self, key: &Key, from: BlockId, to: BlockId, state: &[Cell]) -> Way {
        match self.key_of(key, from, to) {
            Some(next) => Way::Copy(self.reach(next, to, state)),
            None => Way::Outside(to),
        }
    }

    /// Numbers the copies in the order in which they were visited.
    fn finish(self) -> Unfolded {
        let Self { visited, mut unfolded, .. } = self;
        let mut place = vec![0; visited.len()];
        for (number, &at) in visited.iter().enumerate() {
            place[at] = number;
        }
        let renumber = |way: &mut Option<Way>| {
            if let Some(Way::Copy(at)) = way {
                *at = place[*at];
            }
        };
        for copy in &mut unfolded.copies {
            renumber(&mut copy.taken);
            renumber(&mut copy.goes);
        }
        let mut copies: Vec<Option<BlockCopy>> = unfolded.copies.into_iter().map(Some).collect();
        let in_order = visited.iter().map(|&at| copies[at].take().expect("each copy is visited once"));
        unfolded.copies = in_order.collect();
        unfolded
    }
}
