//! From a seed to a tree.
//!
//! Statements are drawn by weight. The grower tracks what the printer tracks ([`Level`], loops, functions), not for
//! validity but so that what it draws is printed rather than dropped, and how often a statement runs, so that kernels
//! end soon.

mod chains;
mod functions;
mod memory;
mod program;
mod quotients;
mod regions;
mod straight;
mod together;
mod unoptimized;
mod wanderers;

pub use program::grow;

use crate::options::{Feature, Options};
use crate::print::Level;
use crate::random::Random;
use crate::tree::{Access, Class, Cond, Def, Guard, Inst, Operand, Reg, Statement};
use std::collections::BTreeSet;

/// Turns of all loops around a statement, at most.
const TURNS_MAX: u32 = 96;
/// Statements that one thread runs, about.
const COST_MAX: u64 = 6_000;

/// Where a statement stands.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub level: Level,
    /// Counters of the loops around, innermost last.
    pub counters: Vec<u16>,
    /// Loops that a `break` can leave: those of this body.
    pub loops: usize,
    /// Whether threads may leave a loop one by one here.
    pub may_scatter: bool,
    pub depth: usize,
    /// How often this runs.
    pub turns: u32,
    pub is_tail: bool,
    /// Which function; none: the kernel.
    pub function: Option<usize>,
}

/// What calls need to know of a function.
#[derive(Clone, Debug)]
pub(crate) struct Callee {
    pub parameters: Vec<Class>,
    pub results: Vec<Class>,
    pub is_convergent: bool,
    pub has_memory: bool,
    pub is_recursive: bool,
    pub cost: u64,
}

/// Draws statements.
pub(crate) struct Grower<'a> {
    pub random: Random,
    pub options: &'a Options,
    pub arch: u32,
    pub full_mask: u32,
    pub threads: u32,
    pub scalar_count: usize,
    pub callees: Vec<Callee>,
    /// The function being grown may still call itself.
    pub may_recurse: bool,
    /// Statements left.
    pub budget: usize,
    /// Statements run so far, with the loops around them.
    pub cost: u64,
    next_id: u16,
    /// Registers that the body writes.
    written: BTreeSet<Reg>,
    /// Registers that were written and not yet read, in the order of the text. They are read soon and spared until
    /// then, or most of the code would be dead.
    unread: BTreeSet<Reg>,
    recent: Vec<Inst>,
    recent_accesses: Vec<Access>,
}

impl<'a> Grower<'a> {
    pub fn new(random: Random, options: &'a Options, arch: u32) -> Self {
        Self {
            random,
            options,
            arch,
            full_mask: u32::MAX,
            threads: 32,
            scalar_count: 0,
            callees: Vec::new(),
            may_recurse: false,
            budget: 0,
            cost: 0,
            next_id: 0,
            written: BTreeSet::new(),
            unread: BTreeSet::new(),
            recent: Vec::new(),
            recent_accesses: Vec::new(),
        }
    }

    /// Names a counter.
    pub fn fresh_id(&mut self) -> u16 {
        self.next_id += 1;
        self.next_id
    }

    /// Forgets what another body did.
    pub fn new_body(&mut self) {
        self.recent.clear();
        self.recent_accesses.clear();
        self.written.clear();
        self.unread.clear();
        self.next_id = 0;
        self.cost = 0;
    }

    /// Statements, so many at most.
    pub fn block(&mut self, context: &Context, count_max: usize) -> Vec<Statement> {
        let mut statements = Vec::new();
        for _ in 0..count_max {
            if self.budget == 0 || self.cost > COST_MAX {
                break;
            }
            self.budget -= 1;
            self.cost += u64::from(context.turns);
            self.statement(context, &mut statements);
        }
        statements
    }

    /// The statements of an arm or a body: a few, now and then none.
    pub fn arm(&mut self, context: &Context) -> Vec<Statement> {
        let count = if self.random.chance(8) { 0 } else { self.random.between(1, 7) };
        self.block(context, count)
    }

    fn statement(&mut self, context: &Context, into: &mut Vec<Statement>) {
        let weights: Vec<u32> =
            Feature::ALL.iter().map(|&feature| self.weight_here(feature, context)).collect();
        let Some(at) = self.random.weighted(weights.iter().copied()) else {
            return self.instruction(Feature::Integer, into);
        };
        let feature = Feature::ALL[at];
        match feature {
            Feature::FloatBits => self.float_bits(into),
            Feature::Redundant => self.redundant(context, into),
            Feature::FloatChains => self.float_chain(into),
            Feature::Reloads => self.reload(context, into),
            Feature::Copies => self.copies(into),
            Feature::Dead => self.dead(into),
            Feature::Guards => self.guarded(into),
            Feature::Carry => self.carry(into),
            Feature::Memory | Feature::Local | Feature::Volatile => self.accesses(feature, context, into),
            Feature::Atomics => self.atomic(context, into),
            Feature::Branches => self.branch(context, into),
            Feature::Loops => self.counted_loop(context, into),
            Feature::Leaves => self.leave(context, into),
            Feature::Switches => self.switch(context, into),
            Feature::Gotos => self.goto(context, into),
            Feature::Scopes => self.scope(context, into),
            Feature::Unreachable => self.unreachable(context, into),
            Feature::NextBlocks => self.next_blocks(context, into),
            Feature::Exchanges => self.exchange(context, into),
            Feature::Shuffles => self.shuffle(context, into),
            Feature::Votes => self.vote(context, into),
            Feature::Matrices => self.matrix_product(into),
            Feature::AsyncCopies => self.async_copies(into),
            Feature::Calls => self.call(context, into),
            Feature::Exits => self.end(context, into),
            Feature::Traps => self.trap(context, into),
            Feature::Uninitialised => into.push(Statement::Uninitialised(Class::R)),
            Feature::Slots => self.slots(into),
            Feature::MemoryConditions => self.memory_condition(context, into),
            Feature::Extensions => self.extensions(into),
            Feature::Constants => self.constants(into),
            Feature::Packs => self.packs(into),
            Feature::GuardChains => self.guard_chain(into),
            Feature::Crossings => self.crossing(into),
            Feature::ConstantSwitches => self.constant_switch(context, into),
            Feature::Wanderers => self.wanderer(context, into),
            Feature::Digits => self.digits(into),
            _ => self.instruction(feature, into),
        }
    }

    /// The weight of a feature where it can come up.
    fn weight_here(&self, feature: Feature, context: &Context) -> u32 {
        let has_room = context.depth < self.options.depth;
        let are_together = context.level != Level::Thread && context.level != Level::Warp(0);
        let is_kernel = context.function.is_none();
        let is_possible = match feature {
            Feature::Branches
            | Feature::Switches
            | Feature::Gotos
            | Feature::Scopes
            | Feature::Unreachable
            | Feature::MemoryConditions
            | Feature::ConstantSwitches => has_room,
            // Fuel ends them after so many turns.
            Feature::Crossings => context.turns < TURNS_MAX / 2,
            Feature::Loops => has_room && context.turns < TURNS_MAX / 2,
            Feature::Leaves => context.loops > 0,
            Feature::Exchanges => are_together && is_kernel,
            Feature::Shuffles | Feature::Votes => are_together,
            Feature::Exits => context.is_tail || !is_kernel && !are_together,
            Feature::Half => self.arch >= 60,
            Feature::Brain | Feature::AsyncCopies => self.arch >= 80,
            Feature::Matrices => self.arch >= 75 && self.is_whole_warp(context),
            Feature::Redundant => !self.recent.is_empty() || !self.recent_accesses.is_empty(),
            _ => true,
        };
        if is_possible { self.options.weight(feature) } else { 0 }
    }

    /// Whether instructions on `f16` come up, so that registers for it are there.
    fn has_half(&self) -> bool {
        self.arch >= 60 && self.options.weight(Feature::Half) > 0
    }

    /// Whether whole warps of 32 threads are here.
    fn is_whole_warp(&self, context: &Context) -> bool {
        self.full_mask == u32::MAX && matches!(context.level, Level::Block | Level::Warp(u32::MAX))
    }

    /// How many registers of a pool come up at random. One more is for what is dead.
    pub fn pool_size(&self) -> usize {
        self.options.registers
    }

    /// A register to read: mostly one that was written and not read yet.
    pub fn reg(&mut self, class: Class) -> Reg {
        let unread: Vec<Reg> = self.unread.iter().filter(|reg| reg.class == class).copied().collect();
        let reg = if !unread.is_empty() && self.random.chance(60) {
            *self.random.pick(&unread)
        } else {
            self.any_reg(class)
        };
        self.unread.remove(&reg);
        reg
    }

    /// Any register.
    pub fn any_reg(&mut self, class: Class) -> Reg {
        let index = self.random.below(self.pool_size());
        Reg { class, index: u8::try_from(index).expect("pools are small") }
    }

    /// A register to write.
    pub fn new_def(&mut self, class: Class) -> Reg {
        let mut reg = self.any_reg(class);
        for _ in 0..4 {
            if self.unread.contains(&reg) {
                reg = self.any_reg(class);
            }
        }
        self.note_def(reg);
        reg
    }

    /// Remembers that a register is written.
    pub fn note_def(&mut self, reg: Reg) {
        self.written.insert(reg);
        self.unread.insert(reg);
    }

    /// A definition slot, now and then not used.
    pub fn def(&mut self, class: Class) -> Def {
        if self.random.chance(10) { Def::Nowhere } else { Def::Reg(self.new_def(class)) }
    }

    /// An operand.
    pub fn operand(&mut self, class: Class) -> Operand {
        match self.random.below(20) {
            0..=2 => Operand::Imm(self.immediate(class)),
            3 if class == Class::R && self.next_id > 0 => {
                let id = self.random.between(1, usize::from(self.next_id));
                Operand::Counter(u16::try_from(id).expect("at most the last one"))
            }
            4 if class == Class::R && self.scalar_count > 0 => self.scalar(),
            _ => Operand::Reg(self.reg(class)),
        }
    }

    /// A scalar parameter.
    pub fn scalar(&mut self) -> Operand {
        Operand::Scalar(u8::try_from(self.random.below(self.scalar_count.max(1))).expect("few scalars"))
    }

    /// Bits of an immediate.
    pub fn immediate(&mut self, class: Class) -> u64 {
        match class {
            Class::F | Class::X | Class::Y => u64::from(*self.random.pick(&SINGLES)),
            Class::D => *self.random.pick(&DOUBLES),
            Class::E => *self.random.pick(&[0, 0x3C00, 0xBC00, 0x7C00, 0x0001, 0x7BFF]),
            Class::B => *self.random.pick(&[0, 0x3F80, 0xBF80, 0x7F80, 0x0001, 0x7F7F]),
            _ => self.random.bits(),
        }
    }

    /// A guard.
    pub fn guard(&mut self) -> Guard {
        Guard { index: self.reg(Class::P).index, is_negated: self.random.chance(50) }
    }

    /// A guard, as often as the weight of guards says.
    pub fn maybe_guard(&mut self) -> Option<Guard> {
        let percent = self.options.weight(Feature::Guards) as usize * 8;
        if self.random.chance(percent) { Some(self.guard()) } else { None }
    }

    /// A condition that splits threads in any way.
    pub fn any_cond(&mut self) -> Cond {
        if self.random.chance(60) {
            return Cond::Pred(self.guard());
        }
        let comparison = *self.random.pick(&["lt.s32", "ge.s32", "eq.s32", "ne.s32", "lo.u32", "hi.u32"]);
        Cond::Compare(comparison, self.operand(Class::R), self.operand(Class::R))
    }

    /// A condition on which all threads that are here agree.
    pub fn uniform_cond(&mut self, context: &Context) -> Cond {
        let comparison = *self.random.pick(&["lt", "ge", "eq", "ne"]);
        let constant = u32::try_from(self.random.below(6)).expect("below 6");
        let value = match self.random.below(4) {
            0 => return Cond::Block(comparison, constant % 3),
            1 if !context.counters.is_empty() => Operand::Counter(*self.random.pick(&context.counters)),
            _ => self.scalar(),
        };
        Cond::Uniform(comparison, value, constant)
    }

    /// A condition by which the threads that are here stay together in known groups, or any.
    pub fn cond(&mut self, context: &Context) -> Cond {
        if matches!(context.level, Level::Thread) {
            return if self.random.chance(85) { self.any_cond() } else { self.uniform_cond(context) };
        }
        match self.random.below(8) {
            0..=2 => self.any_cond(),
            3 | 4 => self.uniform_cond(context),
            5 => Cond::Warps(self.random.word() & 7),
            _ => Cond::Lanes(self.lane_mask()),
        }
    }

    /// A mask of lanes: a pattern more often than not.
    pub fn lane_mask(&mut self) -> u32 {
        let any = self.random.word();
        *self.random.pick(&[0x5555_5555, 0xAAAA_AAAA, 0xFFFF, 0xFF00_FF00, 0x0F0F_0F0F, 1, 0x7FFF_FFFF, any])
    }
}

/// Bits of `f32` numbers at the borders: zeros, ones, denormals, infinities, a NaN, powers of two that integers end at.
const SINGLES: [u32; 16] = [
    0,
    0x8000_0000,
    0x3F80_0000,
    0xBF80_0000,
    0x3F00_0000,
    0x0000_0001,
    0x807F_FFFF,
    0x0080_0000,
    0x7F80_0000,
    0xFF80_0000,
    0x7FFF_FFFF,
    0x7F7F_FFFF,
    0x4F00_0000,
    0x5F00_0000,
    0x3FC0_0000,
    0x4B80_0001,
];

/// The same for `f64`.
const DOUBLES: [u64; 12] = [
    0,
    0x8000_0000_0000_0000,
    0x3FF0_0000_0000_0000,
    0xBFF8_0000_0000_0000,
    0x0000_0000_0000_0001,
    0x0010_0000_0000_0000,
    0x7FF0_0000_0000_0000,
    0x7FFF_FFFF_FFFF_FFFF,
    0x7FEF_FFFF_FFFF_FFFF,
    0x41E0_0000_0000_0000,
    0x43E0_0000_0000_0000,
    0x36A0_0000_0000_0000,
];
