//! The parts of a program, each with what may stand in its place that is simpler.

use crate::tree::{
    Access, AsyncCopy, Call, Class, Collective, Cond, Def, Exchange, Function, Guard, IndexForm, Init, Link,
    MemoryOp, Node, Operand, Program, Reg, Round, Shape, Statement, Trips,
};

/// A part that can be made simpler.
pub(crate) enum Part<'a> {
    Operand(&'a mut Operand),
    Def(&'a mut Def),
    Guard(&'a mut Option<Guard>),
    Cond(&'a mut Cond),
    Trips(&'a mut Trips),
    Shape(&'a mut Shape),
    /// A number that is simplest when 0.
    Number(&'a mut u32),
    /// A number that is simplest when 1.
    Count(&'a mut u32),
    Flag(&'a mut bool),
    Init(&'a mut Init),
    Index(&'a mut Option<Operand>),
    IndexForm(&'a mut IndexForm),
    Lanes(&'a mut Option<u32>),
    Barriers(&'a mut [u8; 2]),
    Qualifier(&'a mut &'static str),
    Defs(&'a mut Vec<Def>),
    Uses(&'a mut Vec<Operand>),
    Ops(&'a mut Vec<MemoryOp>),
    Links(&'a mut Vec<Link>),
    Rounds(&'a mut Vec<Round>),
    Copies(&'a mut Vec<AsyncCopy>),
    SourceBytes(&'a mut Option<u32>),
    Jumps(&'a mut Vec<(Cond, u8)>),
    Nodes(&'a mut Vec<Node>),
    Arms(&'a mut Vec<(Vec<Statement>, bool)>),
    Table(&'a mut Vec<u8>),
    Shadows(&'a mut Vec<(Reg, u64)>),
    Registers(&'a mut Vec<Reg>),
    Classes(&'a mut Vec<Class>),
}

impl Part<'_> {
    /// Makes the part simpler in its `way`-th way. False when there is no such way, or it changes nothing.
    pub fn simplify(self, way: usize) -> bool {
        match (self, way) {
            (Self::Operand(operand), 0 | 1) => {
                let is_simpler =
                    !matches!(operand, Operand::Imm(0)) && *operand != Operand::Imm(1 - way as u64);
                is_simpler && replace(operand, Operand::Imm(way as u64))
            }
            (Self::Def(def), 0) => replace(def, Def::Nowhere),
            (Self::Guard(guard), 0) => replace(guard, None),
            (Self::Cond(cond), 0) => replace(cond, Cond::Always),
            (Self::Trips(trips), 0) => match trips {
                Trips::Const(0 | 1) => false,
                _ => replace(trips, Trips::Const(1)),
            },
            (Self::Trips(trips), 1) => match trips {
                Trips::Const(0..=2) => false,
                _ => replace(trips, Trips::Const(2)),
            },
            (Self::Shape(shape), 0) => replace(shape, Shape::Bottom),
            (Self::Number(number), 0) => replace(number, 0),
            (Self::Count(count), 0) => replace(count, 1),
            (Self::Flag(flag), 0) => replace(flag, false),
            (Self::Init(init), 0) => replace(init, Init::Const(0)),
            (Self::Index(index), 0) => replace(index, None),
            (Self::IndexForm(form), 0) => replace(form, IndexForm::Rows),
            (Self::Lanes(lanes), 0) => replace(lanes, None),
            (Self::Barriers(barriers), 0) => replace(barriers, [0; 2]),
            (Self::Qualifier(qualifier), 0) => replace(qualifier, ""),
            // The first component stays: an access without any would be printed as nothing.
            (Self::Defs(defs), way) => defs.len() > 1 && without(defs, way),
            (Self::Uses(uses), way) => uses.len() > 1 && without(uses, way),
            (Self::Ops(ops), way) => without(ops, way),
            (Self::Links(links), way) => links.len() > 1 && without(links, way),
            (Self::Rounds(rounds), way) => without(rounds, way),
            (Self::Copies(copies), way) => without(copies, way),
            (Self::SourceBytes(bytes), 0) => replace(bytes, None),
            (Self::Jumps(jumps), way) => without(jumps, way),
            (Self::Nodes(nodes), way) => without(nodes, way),
            (Self::Arms(arms), way) => without(arms, way),
            (Self::Table(table), way) => table.len() > 1 && without(table, way),
            (Self::Shadows(shadows), way) => without(shadows, way),
            (Self::Registers(registers), way) => without(registers, way),
            (Self::Classes(classes), way) => without(classes, way),
            _ => false,
        }
    }
}

/// More ways than any part has.
pub(crate) const WAYS: usize = 8;

fn replace<T: PartialEq>(place: &mut T, simpler: T) -> bool {
    let is_new = *place != simpler;
    *place = simpler;
    is_new
}

/// Takes out one, from the end.
fn without<T>(list: &mut Vec<T>, way: usize) -> bool {
    let at = list.len().checked_sub(way + 1);
    at.map(|at| list.remove(at)).is_some()
}

/// Visits all parts of a program, always in the same order.
pub(crate) fn visit(program: &mut Program, see: &mut dyn FnMut(Part)) {
    see(Part::Registers(&mut program.outputs));
    for flag in [
        &mut program.style.has_lines,
        &mut program.style.has_inlined_lines,
        &mut program.style.is_typed,
        &mut program.style.is_listed,
        &mut program.style.has_dynamic_shared,
        &mut program.style.has_short_shared,
        &mut program.style.ends_past_a_guard,
    ] {
        see(Part::Flag(flag));
    }
    program.scalars.iter_mut().for_each(|scalar| see(Part::Number(scalar)));
    program.body.pools.iter_mut().flatten().for_each(|init| see(Part::Init(init)));
    for function in &mut program.functions {
        visit_function(function, see);
    }
    for statements in [&mut program.body.statements, &mut program.tail] {
        visit_statements(statements, see);
    }
}

fn visit_function(function: &mut Function, see: &mut dyn FnMut(Part)) {
    see(Part::Classes(&mut function.parameters));
    see(Part::Registers(&mut function.results));
    see(Part::Flag(&mut function.has_memory));
    see(Part::Flag(&mut function.is_recursive));
    see(Part::Flag(&mut function.is_convergent));
    function.body.pools.iter_mut().flatten().for_each(|init| see(Part::Init(init)));
    visit_statements(&mut function.body.statements, see);
}

fn visit_statements(statements: &mut [Statement], see: &mut dyn FnMut(Part)) {
    for statement in statements {
        visit_statement(statement, see);
        for body in bodies(statement) {
            visit_statements(body, see);
        }
    }
}

fn visit_statement(statement: &mut Statement, see: &mut dyn FnMut(Part)) {
    match statement {
        Statement::Inst(inst) => {
            see(Part::Guard(&mut inst.guard));
            inst.uses.iter_mut().for_each(|operand| see(Part::Operand(operand)));
            inst.defs.iter_mut().for_each(|def| see(Part::Def(def)));
        }
        Statement::Access(access) => visit_access(access, see),
        Statement::Wander(wander) => see(Part::Guard(&mut wander.guard)),
        Statement::March(march) => {
            see(Part::Guard(&mut march.guard));
            see(Part::Guard(&mut march.leaves));
            see(Part::Operand(&mut march.value));
            see(Part::Def(&mut march.def));
        }
        Statement::Atomic(atomic) => {
            see(Part::Guard(&mut atomic.guard));
            see(Part::Def(&mut atomic.def));
            see(Part::Operand(&mut atomic.value));
        }
        Statement::Carry(_, _, links) => {
            see(Part::Links(links));
            for link in links {
                see(Part::Guard(&mut link.guard));
                see(Part::Def(&mut link.def));
                link.uses.iter_mut().for_each(|operand| see(Part::Operand(operand)));
            }
        }
        Statement::If(cond, ..)
        | Statement::Break(cond, _)
        | Statement::Continue(cond, _)
        | Statement::Next(cond, _)
        | Statement::Return(cond) => see_cond(cond, see),
        Statement::Loop(looped) => {
            see(Part::Trips(&mut looped.trips));
            see(Part::Shape(&mut looped.shape));
            see(Part::Count(&mut looped.step));
            see(Part::Flag(&mut looped.is_nounroll));
        }
        Statement::Switch(switch) => {
            see(Part::Arms(&mut switch.arms));
            see(Part::Table(&mut switch.table));
            see(Part::Operand(&mut switch.selector));
            see(Part::Guard(&mut switch.guard));
            switch.arms.iter_mut().for_each(|(_, falls)| see(Part::Flag(falls)));
        }
        Statement::Goto(goto) => {
            see(Part::Nodes(&mut goto.nodes));
            see(Part::Count(&mut goto.fuel));
            see_jumps(&mut goto.entries, see);
            goto.nodes.iter_mut().for_each(|node| see_jumps(&mut node.jumps, see));
        }
        Statement::Scope(shadows, _) => see(Part::Shadows(shadows)),
        Statement::Exchange(exchange) => visit_exchange(exchange, see),
        Statement::Collective(collective, lanes) => {
            see(Part::Lanes(lanes));
            visit_collective(collective, see);
        }
        Statement::Call(call) => visit_call(call, see),
        Statement::Copies(copies, _) => {
            see(Part::Copies(copies));
            for copy in copies {
                see(Part::Guard(&mut copy.guard));
                see(Part::Number(&mut copy.from));
                see(Part::SourceBytes(&mut copy.source_bytes));
            }
        }
        Statement::Exit(cond, outputs) | Statement::Trap(cond, outputs) => {
            see_cond(cond, see);
            see(Part::Registers(outputs));
        }
        Statement::Bits(..) | Statement::Unreachable(_) | Statement::Uninitialised(_) => {}
    }
}

fn see_cond(cond: &mut Cond, see: &mut dyn FnMut(Part)) {
    see(Part::Cond(cond));
    match cond {
        Cond::Compare(_, a, b) => {
            see(Part::Operand(a));
            see(Part::Operand(b));
        }
        Cond::Uniform(_, value, _) => see(Part::Operand(value)),
        _ => {}
    }
}

fn see_jumps(jumps: &mut Vec<(Cond, u8)>, see: &mut dyn FnMut(Part)) {
    see(Part::Jumps(jumps));
    jumps.iter_mut().for_each(|(cond, _)| see_cond(cond, see));
}

fn visit_access(access: &mut Access, see: &mut dyn FnMut(Part)) {
    see(Part::Ops(&mut access.ops));
    see(Part::Flag(&mut access.is_generic));
    see(Part::Flag(&mut access.is_stored));
    see(Part::IndexForm(&mut access.index_form));
    see(Part::Index(&mut access.index));
    access.index.iter_mut().for_each(|index| see(Part::Operand(index)));
    for op in &mut access.ops {
        see(Part::Guard(&mut op.guard));
        see(Part::Qualifier(&mut op.qualifier));
        see(Part::Number(&mut op.offset));
        see(Part::Defs(&mut op.defs));
        see(Part::Uses(&mut op.uses));
        op.uses.iter_mut().for_each(|operand| see(Part::Operand(operand)));
        op.defs.iter_mut().for_each(|def| see(Part::Def(def)));
    }
}

fn visit_exchange(exchange: &mut Exchange, see: &mut dyn FnMut(Part)) {
    see(Part::Flag(&mut exchange.is_volatile));
    see(Part::Rounds(&mut exchange.rounds));
    for round in &mut exchange.rounds {
        see(Part::Barriers(&mut round.barriers));
        see(Part::Index(&mut round.value));
        round.value.iter_mut().for_each(|value| see(Part::Operand(value)));
    }
    see(Part::Number(&mut exchange.offset));
}

fn visit_collective(collective: &mut Collective, see: &mut dyn FnMut(Part)) {
    match collective {
        Collective::Shuffle(_, value, b, _, def, predicate) => {
            see(Part::Operand(value));
            see(Part::Number(b));
            see(Part::Def(def));
            see(Part::Def(predicate));
        }
        Collective::MatchAll(value, def, predicate) => {
            see(Part::Operand(value));
            see(Part::Def(def));
            see(Part::Def(predicate));
        }
        Collective::MatchAny(value, def) | Collective::Redux(_, value, def) => {
            see(Part::Operand(value));
            see(Part::Def(def));
        }
        Collective::Ballot(_, def)
        | Collective::Vote(_, _, def)
        | Collective::BarrierReduction(_, _, def) => {
            see(Part::Def(def));
        }
        Collective::Matrix(_, sources, defs) => {
            sources.iter_mut().for_each(|operand| see(Part::Operand(operand)));
            defs.iter_mut().for_each(|def| see(Part::Def(def)));
        }
        Collective::WarpBarrier | Collective::Elect | Collective::ActiveMask => {}
    }
}

fn visit_call(call: &mut Call, see: &mut dyn FnMut(Part)) {
    see(Part::Guard(&mut call.guard));
    see(Part::Flag(&mut call.is_indirect));
    see(Part::Number(&mut call.depth));
    call.arguments.iter_mut().for_each(|operand| see(Part::Operand(operand)));
    call.results.iter_mut().for_each(|def| see(Part::Def(def)));
}

/// The lists of statements in a statement.
pub(crate) fn bodies(statement: &mut Statement) -> Vec<&mut Vec<Statement>> {
    match statement {
        Statement::If(_, then, otherwise) => vec![then, otherwise],
        Statement::Loop(looped) => vec![&mut looped.body],
        Statement::Switch(switch) => switch.arms.iter_mut().map(|(arm, _)| arm).collect(),
        Statement::Goto(goto) => goto.nodes.iter_mut().map(|node| &mut node.body).collect(),
        Statement::Scope(_, body) | Statement::Unreachable(body) | Statement::Copies(_, body) => vec![body],
        _ => Vec::new(),
    }
}

/// The lists of statements of a program.
pub(crate) fn roots(program: &mut Program) -> Vec<&mut Vec<Statement>> {
    let mut roots = vec![&mut program.body.statements, &mut program.tail];
    roots.extend(program.functions.iter_mut().map(|function| &mut function.body.statements));
    roots
}
