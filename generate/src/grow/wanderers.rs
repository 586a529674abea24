//! A pointer that leads now to a local variable and now elsewhere, and accesses through it beside others to the same memory.

use super::{Context, Grower};
use crate::tree::{Access, Class, Def, Loop, MemoryOp, Shape, Space, Statement, Trips, Wander, Way};

/// Where it may lead: memory that belongs to the thread.
const GOALS: [Space; 7] =
    [Space::Local, Space::Local, Space::Spill, Space::Spill, Space::Own, Space::State, Space::Shared];

impl Grower<'_> {
    /// Accesses through the pointer and beside it, before and after it has moved, in a loop now and then.
    pub fn wanderer(&mut self, context: &Context, into: &mut Vec<Statement>) {
        match self.random.below(4) {
            0 => into.push(self.wander()),
            1 if context.depth < self.options.depth && context.turns < super::TURNS_MAX / 4 => {
                let turns = if self.random.chance(50) { 2 } else { 3 };
                let inner = Context { turns: context.turns * turns, ..context.clone() };
                let mut body = Vec::new();
                self.visit(&inner, &mut body);
                into.push(Statement::Loop(Loop {
                    id: self.fresh_id(),
                    trips: Trips::Const(turns),
                    step: 1,
                    shape: *self.random.pick(&[Shape::Top, Shape::Bottom]),
                    is_nounroll: false,
                    body,
                }));
            }
            _ => self.visit(context, into),
        }
    }

    /// A store to a memory, an access through the pointer, and a load from the memory; the pointer moves in between.
    fn visit(&mut self, context: &Context, into: &mut Vec<Statement>) {
        let space = *self.random.pick(&GOALS);
        let offset = u32::try_from(self.random.below(16)).expect("below 16");
        let beside = |op| Statement::Access(Access::at_start(space, vec![op]));
        let first = self.store_at(offset);
        let mut again = self.load_op(offset);
        if self.random.chance(50) {
            (again.kind, again.class) = (first.kind, first.class);
            again.defs = vec![Def::Reg(self.new_def(first.class))];
        }
        into.push(beside(first));
        if self.random.chance(50) {
            into.push(self.wander());
        }
        for _ in 0..self.random.between(1, 2) {
            let op = if self.random.chance(70) { self.store_at(offset) } else { self.load_op(offset) };
            into.push(self.through(op));
        }
        into.push(beside(again));
        if self.random.chance(50) {
            into.push(self.wander());
        }
        self.cost += 4 * u64::from(context.turns);
    }

    fn through(&mut self, op: MemoryOp) -> Statement {
        let index = if self.random.chance(20) { Some(self.operand(Class::R)) } else { None };
        Statement::Access(Access { index, ..Access::at_start(Space::Wanderer, vec![op]) })
    }

    fn wander(&mut self) -> Statement {
        let [to, other] = [(); 2].map(|()| *self.random.pick(&GOALS));
        let way = match self.random.below(6) {
            0 => Way::Stored,
            1 => Way::Distance(other),
            2 => Way::Choice(other, self.guard()),
            _ => Way::Move,
        };
        let guard = if self.random.chance(30) { Some(self.guard()) } else { None };
        Statement::Wander(Wander { to, way, guard })
    }
}
