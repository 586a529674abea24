//! Control flow.

use super::{Context, Grower, TURNS_MAX};
use crate::options::Feature;
use crate::print::Level;
use crate::print::conditions::{arms, is_uniform, spread};
use crate::tree::{
    Class, Cond, Goto, Guard, Loop, Node, Operand, Reg, Shape, Statement, Switch, SwitchForm, Trips,
};

impl Context {
    /// The same place, one region deeper.
    fn inside(&self) -> Self {
        Self { depth: self.depth + 1, ..self.clone() }
    }

    /// An arm at a level.
    fn arm(&self, level: Level) -> Self {
        Self { level, ..self.inside() }
    }
}

impl Grower<'_> {
    /// Two arms.
    pub fn branch(&mut self, context: &Context, into: &mut Vec<Statement>) {
        let cond = self.cond(context);
        let cond = self.in_two_parts(cond, into);
        self.branch_on(cond, context, into);
    }

    /// Now and then a predicate that is a literal, or what a comparison finds where `cond` holds: how front ends write a condition of
    /// two parts, the second of which is computed only if the first does not decide.
    fn in_two_parts(&mut self, cond: Cond, into: &mut Vec<Statement>) -> Cond {
        // Numbers of their own, so that what else a seed grows does not depend on these.
        let mut own = self.random.apart(1);
        if !own.chance(20) {
            return cond;
        }
        std::mem::swap(&mut self.random, &mut own);
        let found = self.new_def(Class::P);
        let literal = Operand::Imm(self.random.below(2) as u64);
        into.push(self.named("mov.pred", &[found], &[literal]));
        let mut second = Vec::new();
        if self.random.chance(30) {
            self.instruction(Feature::Integer, &mut second);
        }
        let name = *self.random.pick(&["setp.lt.s32", "setp.ge.s32", "setp.eq.s32", "setp.lo.u32"]);
        let [a, b] = [(); 2].map(|()| self.operand(Class::R));
        second.push(self.named(name, &[found], &[a, b]));
        into.push(Statement::If(cond, second, Vec::new()));
        let is_negated = self.random.chance(50);
        std::mem::swap(&mut self.random, &mut own);
        Cond::Pred(Guard { index: found.index, is_negated })
    }

    /// Two arms between which `cond` decides.
    pub fn branch_on(&mut self, cond: Cond, context: &Context, into: &mut Vec<Statement>) {
        let (then_level, else_level) = arms(context.level, spread(&cond), self.full_mask);
        let is_apart = spread(&cond) != crate::print::conditions::Spread::Uniform;
        let mut then_context = context.arm(then_level);
        then_context.loops = if is_apart && !context.may_scatter { 0 } else { context.loops };
        let mut else_context = context.arm(else_level);
        else_context.loops = then_context.loops;
        let then = self.arm(&then_context);
        let otherwise = if self.random.chance(50) { self.arm(&else_context) } else { Vec::new() };
        into.push(Statement::If(cond, then, otherwise));
    }

    /// A loop. In half of those that could keep threads together, threads may leave one by one.
    pub fn counted_loop(&mut self, context: &Context, into: &mut Vec<Statement>) {
        let id = self.fresh_id();
        let trips_max = (TURNS_MAX / context.turns).clamp(1, 9);
        let mask = if trips_max >= 7 { 7 } else { 3 };
        let drawn = u32::try_from(self.random.between(0, trips_max as usize)).expect("small");
        let trips = match self.random.below(6) {
            0 if self.scalar_count > 0 => match self.scalar() {
                Operand::Scalar(number) => Trips::Scalar(number, mask),
                _ => Trips::Const(drawn),
            },
            1 | 2 => Trips::Thread(self.operand(Class::R), mask),
            _ => Trips::Const(drawn),
        };
        let shape = match self.random.below(5) {
            0 => Shape::Top,
            1 => Shape::Early,
            2 => Shape::Bottom,
            3 => Shape::Down,
            _ => Shape::Middle(u8::try_from(self.random.below(4)).expect("below 4")),
        };
        let may_scatter = context.level == Level::Thread || self.random.chance(50);
        let stays = !matches!(trips, Trips::Thread(..)) && !may_scatter;
        let mut counters = context.counters.clone();
        counters.push(id);
        let inner = Context {
            level: if stays { context.level } else { Level::Thread },
            counters,
            loops: if context.may_scatter || context.loops == 0 || stays { context.loops + 1 } else { 1 },
            may_scatter: !stays,
            turns: context.turns * trips_max.max(1),
            ..context.inside()
        };
        let mut body = self.arm(&inner);
        if shape == Shape::Early && self.options.weight(Feature::Leaves) > 0 {
            self.leave_at_the_end(&inner, &mut body);
        }
        let step = u32::try_from(self.random.between(1, 3)).expect("small");
        into.push(Statement::Loop(Loop {
            id,
            trips,
            step,
            shape,
            is_nounroll: self.random.chance(10),
            body,
        }));
    }

    /// A `continue`, and a `break` as the last statement: a branch around the jump back, to which another branch leads.
    fn leave_at_the_end(&mut self, context: &Context, body: &mut Vec<Statement>) {
        // Numbers of their own, so that what else a seed grows does not depend on these.
        let own = self.random.apart(2);
        let random = std::mem::replace(&mut self.random, own);
        let [goes_on, leaves] =
            [(); 2].map(|()| if context.may_scatter { self.any_cond() } else { self.uniform_cond(context) });
        let at = self.random.below(body.len() + 1);
        self.random = random;
        body.insert(at, Statement::Continue(goes_on, false));
        body.push(Statement::Break(leaves, 0));
    }

    /// `break` or `continue`.
    pub fn leave(&mut self, context: &Context, into: &mut Vec<Statement>) {
        let cond = match self.random.below(20) {
            0 => Cond::Always,
            1..=5 => self.uniform_cond(context),
            _ if context.may_scatter => self.any_cond(),
            _ => self.uniform_cond(context),
        };
        // Several loops are left at once only where threads are apart in all of them, or by all.
        let levels = self.random.below(context.loops);
        into.push(if self.random.chance(60) {
            Statement::Break(cond, u8::try_from(levels).expect("few loops"))
        } else {
            Statement::Continue(cond, self.random.chance(40))
        });
    }

    /// Several arms.
    pub fn switch(&mut self, context: &Context, into: &mut Vec<Statement>) {
        let guard = self.maybe_guard();
        let is_uniform = guard.is_none() && self.random.chance(40);
        let selector = if !is_uniform {
            Operand::Reg(self.reg(Class::R))
        } else if !context.counters.is_empty() && self.random.chance(60) {
            Operand::Counter(*self.random.pick(&context.counters))
        } else {
            self.scalar()
        };
        let count = self.random.between(1, 5);
        let size = count + self.random.below(3);
        self.switch_on(selector, guard, (count, size), context, into);
    }

    /// So many arms, of a table of so many.
    pub fn switch_on(
        &mut self,
        selector: Operand,
        guard: Option<Guard>,
        (count, size): (usize, usize),
        context: &Context,
        into: &mut Vec<Statement>,
    ) {
        let is_uniform = guard.is_none() && is_uniform(selector);
        let level = if is_uniform { context.level } else { Level::Thread };
        let mut inner = context.arm(level);
        inner.loops = if is_uniform || context.may_scatter { context.loops } else { 0 };
        let arms: Vec<_> = (0..count).map(|_| (self.arm(&inner), self.random.chance(25))).collect();
        let table = (0..size)
            .map(|at| u8::try_from(if at < count { at } else { self.random.below(count) }).expect("few arms"))
            .collect();
        let form = if self.random.chance(65) { SwitchForm::Table } else { SwitchForm::Chain };
        into.push(Statement::Switch(Switch { selector, form, guard, table, arms }));
    }

    /// Gotos: every node may jump to every other one.
    pub fn goto(&mut self, context: &Context, into: &mut Vec<Statement>) {
        let id = self.fresh_id();
        let fuel = u32::try_from(self.random.between(1, 9)).expect("small");
        let count = self.random.between(2, 5);
        let mut inner = context.arm(Level::Thread);
        inner.turns = context.turns * (fuel / 2).max(1);
        inner.loops = if context.may_scatter { context.loops } else { 0 };
        let nodes = (0..count)
            .map(|_| {
                let body = self.arm(&inner);
                let jumps =
                    (0..self.random.below(3)).map(|_| (self.any_cond(), self.target(count))).collect();
                let mut node = Node { body, jumps };
                if self.random.chance(25) {
                    node.jumps.push((Cond::Always, self.target(count)));
                }
                node
            })
            .collect();
        let entries = (0..self.random.below(3)).map(|_| (self.any_cond(), self.target(count))).collect();
        into.push(Statement::Goto(Goto { id, fuel, entries, nodes }));
    }

    /// A node of a region, or its end.
    fn target(&mut self, count: usize) -> u8 {
        u8::try_from(self.random.below(count + 1)).expect("few nodes")
    }

    /// A scope with registers of its own.
    pub fn scope(&mut self, context: &Context, into: &mut Vec<Statement>) {
        let shadows = (0..self.random.between(1, 3))
            .map(|_| {
                let class = *self.random.pick(&[Class::R, Class::L, Class::F, Class::P, Class::H]);
                let bits = self.immediate(class);
                (self.any_reg(class), bits)
            })
            .collect::<Vec<(Reg, u64)>>();
        let body = self.arm(&context.inside());
        into.push(Statement::Scope(shadows, body));
    }

    /// Code that nothing reaches.
    pub fn unreachable(&mut self, context: &Context, into: &mut Vec<Statement>) {
        let body = self.arm(&context.inside());
        into.push(Statement::Unreachable(body));
    }

    /// Branches to the next block.
    pub fn next_blocks(&mut self, context: &Context, into: &mut Vec<Statement>) {
        let cond = if self.random.chance(40) { Cond::Always } else { self.cond(context) };
        into.push(Statement::Next(cond, u8::try_from(self.random.between(1, 3)).expect("small")));
    }

    /// A trap: mostly one that no thread comes to.
    pub fn trap(&mut self, context: &Context, into: &mut Vec<Statement>) {
        if self.random.chance(70) {
            // There are three CTAs at most.
            return into.push(Statement::Trap(Cond::Block("ge", 3), Vec::new()));
        }
        let cond = if self.random.chance(60) { self.uniform_cond(context) } else { self.any_cond() };
        let outputs = (0..self.random.between(1, 4)).map(|_| self.reg(Class::R)).collect();
        into.push(Statement::Trap(cond, outputs));
    }

    /// The end of some threads: of the kernel after its barriers, or a return from a function.
    pub fn end(&mut self, context: &Context, into: &mut Vec<Statement>) {
        let cond = if self.random.chance(5) { Cond::Always } else { self.any_cond() };
        if context.function.is_some() {
            return into.push(Statement::Return(cond));
        }
        let classes: &[Class] = if self.has_half() {
            &[Class::R, Class::L, Class::P, Class::F, Class::E]
        } else {
            &[Class::R, Class::L, Class::P, Class::H, Class::D]
        };
        let outputs = (0..self.random.between(1, 4))
            .map(|_| {
                let class = *self.random.pick(classes);
                self.reg(class)
            })
            .collect();
        into.push(Statement::Exit(cond, outputs));
    }
}
