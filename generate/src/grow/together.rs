//! What threads do together: exchanges, collectives, and calls.

use super::{COST_MAX, Context, Grower};
use crate::options::Feature;
use crate::print::{Level, result_class};
use crate::tree::{AsyncCopy, Call, Class, Collective, Def, Exchange, Operand, Round, Statement};

impl Grower<'_> {
    /// An exchange through shared memory, often of two rounds.
    pub fn exchange(&mut self, _context: &Context, into: &mut Vec<Statement>) {
        let distance = u32::try_from(self.random.below(self.threads as usize)).expect("few threads");
        let class = if self.random.chance(30) { Class::L } else { Class::R };
        let offset = u32::try_from(self.random.below(16)).expect("below 16");
        let mut rounds = Vec::new();
        for _ in 0..self.random.between(1, 2) {
            let value = if self.random.chance(85) { Some(self.operand(class)) } else { None };
            let barriers = [0; 2].map(|_| u8::try_from(self.random.below(8)).expect("below 8"));
            rounds.push(Round { value, def: self.new_def(class), barriers });
        }
        let is_volatile = self.random.chance(25);
        into.push(Statement::Exchange(Exchange { class, offset, distance, is_volatile, rounds }));
    }

    /// Asynchronous copies, with instructions between their start and their waits.
    pub fn async_copies(&mut self, into: &mut Vec<Statement>) {
        let mut copies = Vec::new();
        for _ in 0..*self.random.pick(&[1, 1, 2, 3, 4]) {
            copies.push(AsyncCopy {
                from: self.random.word() & 15,
                def: self.new_def(Class::R),
                source_bytes: *self.random.pick(&[None, None, None, Some(0), Some(2), Some(4), Some(11)]),
                guard: self.maybe_guard(),
            });
        }
        let mut meanwhile = Vec::new();
        for _ in 0..self.random.below(4) {
            let feature = *self.random.pick(&[Feature::Integer, Feature::Moves, Feature::Predicates]);
            self.instruction(feature, &mut meanwhile);
        }
        into.push(Statement::Copies(copies, meanwhile));
    }

    /// A product of matrices, of one of the shapes.
    pub fn matrix_product(&mut self, into: &mut Vec<Statement>) {
        let which = u8::try_from(self.random.below(5)).expect("below 5");
        let sources = (0..10).map(|_| self.operand(Class::R)).collect();
        let defs = (0..4).map(|_| self.def(result_class(which))).collect();
        into.push(Statement::Collective(Collective::Matrix(which, sources, defs), None));
    }

    /// A shuffle, now and then of some lanes only.
    pub fn shuffle(&mut self, _context: &Context, into: &mut Vec<Statement>) {
        let mode = *self.random.pick(&["up", "down", "bfly", "idx"]);
        let b = self.random.word() & 31;
        let segment = *self.random.pick(&[0, 0, 0, 0x10, 0x18, 0x1E]);
        let clamp = if mode == "up" { 0 } else { 31 };
        let predicate = if self.random.chance(40) { Def::Reg(self.new_def(Class::P)) } else { Def::Nowhere };
        let shuffle = Collective::Shuffle(
            mode,
            self.operand(Class::R),
            b,
            segment << 8 | clamp,
            self.def(Class::R),
            predicate,
        );
        let some = self.some_lanes();
        into.push(Statement::Collective(shuffle, some));
    }

    fn some_lanes(&mut self) -> Option<u32> {
        if self.random.chance(25) { Some(self.lane_mask()) } else { None }
    }

    /// Votes, matches, reductions, barriers.
    pub fn vote(&mut self, context: &Context, into: &mut Vec<Statement>) {
        let value = self.operand(Class::R);
        let collective = match self.random.below(12) {
            0 | 1 => Collective::Ballot(self.guard(), self.def(Class::R)),
            2 | 3 => {
                let mode = *self.random.pick(&["all", "any", "uni"]);
                Collective::Vote(mode, self.guard(), self.def(Class::P))
            }
            4 if self.arch >= 70 => Collective::MatchAny(value, self.def(Class::R)),
            5 if self.arch >= 70 => Collective::MatchAll(value, self.def(Class::R), self.def(Class::P)),
            6 if self.arch >= 80 => {
                let operation = *self
                    .random
                    .pick(&["add.u32", "min.s32", "max.u32", "min.u32", "and.b32", "or.b32", "xor.b32"]);
                Collective::Redux(operation, value, self.def(Class::R))
            }
            7 | 10 if context.level == Level::Block && context.function.is_none() => {
                let (operation, class) =
                    *self.random.pick(&[("popc", Class::R), ("and", Class::P), ("or", Class::P)]);
                Collective::BarrierReduction(operation, self.guard(), self.def(class))
            }
            8 if self.arch >= 90 => Collective::Elect,
            9 if self.random.chance(30) => Collective::ActiveMask,
            _ => Collective::WarpBarrier,
        };
        let is_block_wide = matches!(collective, Collective::BarrierReduction(..));
        let some = if is_block_wide { None } else { self.some_lanes() };
        into.push(Statement::Collective(collective, some));
    }

    /// A call of a function that may be called here.
    pub fn call(&mut self, context: &Context, into: &mut Vec<Statement>) {
        let is_whole = match context.level {
            Level::Block => true,
            Level::Warp(mask) => mask == self.full_mask,
            Level::Thread => false,
        };
        let caller_has_memory = context.function.is_none_or(|caller| self.callees[caller].has_memory);
        let left = COST_MAX.saturating_sub(self.cost);
        let is_callable = |(index, callee): &(usize, &super::Callee)| {
            let is_self = context.function == Some(*index);
            let is_known =
                context.function.is_none_or(|caller| *index < caller) || is_self && callee.is_recursive;
            let is_cheap = callee.cost * u64::from(context.turns) * 4 < left;
            let may_recurse = !is_self || self.may_recurse && context.turns == 1;
            is_known
                && is_cheap
                && may_recurse
                && (is_whole || !callee.is_convergent)
                && (caller_has_memory || !callee.has_memory)
        };
        let callable: Vec<usize> =
            self.callees.iter().enumerate().filter(is_callable).map(|(index, _)| index).collect();
        if callable.is_empty() {
            return;
        }
        let index = *self.random.pick(&callable);
        let callee = self.callees[index].clone();
        if context.function == Some(index) {
            self.may_recurse = false;
        }
        let depth = u32::try_from(self.random.below(4)).expect("below 4");
        self.cost += callee.cost * u64::from(context.turns) * u64::from(depth + 1);
        let arguments: Vec<Operand> = callee.parameters.iter().map(|&class| self.operand(class)).collect();
        let results = callee.results.iter().map(|&class| self.def(class)).collect();
        into.push(Statement::Call(Call {
            function: u8::try_from(index).expect("few functions"),
            arguments,
            results,
            depth,
            is_indirect: self.random.chance(20),
            guard: self.maybe_guard(),
        }));
    }
}
