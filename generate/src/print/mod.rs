//! From the tree to PTX.
//!
//! The printer knows what is valid where. It tracks which threads are together ([`Level`]) and prints nothing for a
//! statement that needs more of them; it turns operands that a slot does not take into registers; it declares and
//! initialises what the code turned out to use, so that a body is printed before its prologue.

mod asynchronous;
mod body;
mod calls;
mod collectives;
pub(crate) mod conditions;
mod exchange;
mod instructions;
mod marches;
mod matrices;
mod memory;
mod module;
mod regions;
mod traps;

pub(crate) use matrices::result_class;
pub use module::print;

use crate::tree::{CLASSES, Class, Program, Reg, Statement};
use std::collections::BTreeSet;

/// Bytes of the input buffer.
pub(crate) const INPUT_BYTES: u32 = 512;
/// Bytes of a thread's slot in the output buffer: 64 to play with, and the results.
pub(crate) const OWN_BYTES: u32 = 80;
/// Where the results start in the slot.
pub(crate) const RESULT_OFFSET: u32 = 64;
/// Atomic counters in the global buffer, and in shared memory.
pub(crate) const COUNTERS: u32 = 8;

/// Which threads run a statement together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// All threads of the CTA.
    Block,
    /// These lanes of each warp that is here at all.
    Warp(u32),
    /// Unknown: threads may have parted in any way.
    Thread,
}

/// What a body turned out to use, by the names of reserved registers and symbols.
#[derive(Clone, Debug, Default)]
pub(crate) struct Needs {
    /// Registers of pools.
    pub registers: BTreeSet<Reg>,
    /// Reserved registers that the prologue sets: `own`, `input`, `thread`, ...
    pub bases: BTreeSet<&'static str>,
    /// Reserved registers that code sets itself, with their types.
    pub others: BTreeSet<(String, &'static str)>,
    /// Scalars.
    pub scalars: BTreeSet<u8>,
}

/// What the module turned out to use.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModuleNeeds {
    /// Variables.
    pub variables: BTreeSet<&'static str>,
    /// Parameters of the kernel.
    pub parameters: BTreeSet<&'static str>,
    /// Functions that are called.
    pub functions: BTreeSet<u8>,
}

/// A loop around the statement that is printed.
#[derive(Clone, Debug)]
pub(crate) struct LoopFrame {
    pub id: u16,
    pub counter: String,
    pub bound: String,
    pub step: u32,
    pub is_down: bool,
    pub head: String,
    pub latch: String,
    pub end: String,
    /// Whether code in front of the shared latch may jump to it: not where the test stands in the middle.
    pub has_latch: bool,
    pub is_latch_used: bool,
    pub is_end_used: bool,
}

/// Prints one body.
pub(crate) struct Writer<'a> {
    pub program: &'a Program,
    /// Which function; none: the kernel.
    pub function: Option<usize>,
    pub lines: Vec<String>,
    pub needs: Needs,
    pub module: &'a mut ModuleNeeds,
    pub level: Level,
    /// After all barriers of a kernel.
    pub is_tail: bool,
    pub loops: Vec<LoopFrame>,
    temps: [u32; CLASSES],
    /// Labels handed out, one count for each open scope.
    labels: Vec<u32>,
    shadowed: Vec<Reg>,
    source_line: u32,
}

impl<'a> Writer<'a> {
    pub fn new(program: &'a Program, function: Option<usize>, module: &'a mut ModuleNeeds) -> Self {
        let is_convergent = function.is_none_or(|index| program.functions[index].is_convergent);
        let level = match function {
            None => Level::Block,
            Some(_) if is_convergent => Level::Warp(full_mask(program)),
            Some(_) => Level::Thread,
        };
        Self {
            program,
            function,
            lines: Vec::new(),
            needs: Needs::default(),
            module,
            level,
            is_tail: false,
            loops: Vec::new(),
            temps: [0; CLASSES],
            labels: vec![0],
            shadowed: Vec::new(),
            source_line: 1,
        }
    }

    /// Writes a line.
    pub fn line(&mut self, text: impl AsRef<str>) {
        self.lines.push(format!("    {}", text.as_ref()));
    }

    /// Writes a label.
    pub fn label(&mut self, name: &str) {
        self.lines.push(format!("{name}:"));
    }

    /// A register that nothing else uses.
    pub fn temp(&mut self, class: Class) -> String {
        let number = self.temps[class as usize];
        self.temps[class as usize] += 1;
        temp_name(class, number)
    }

    /// How many such registers there are.
    pub fn temp_count(&self, class: Class) -> u32 {
        self.temps[class as usize]
    }

    /// A label that nothing else in reach has. Sibling scopes repeat labels.
    pub fn fresh_label(&mut self) -> String {
        let depth = self.labels.len() - 1;
        let count = self.labels.last_mut().expect("the body is a scope");
        *count += 1;
        if depth == 0 { format!("$L{count}") } else { format!("$S{depth}_{count}") }
    }

    /// A register of a pool.
    pub fn reg(&mut self, reg: Reg) -> String {
        if !self.shadowed.contains(&reg) {
            self.needs.registers.insert(reg);
        }
        register_name(reg)
    }

    /// A reserved register that the prologue sets.
    pub fn base(&mut self, name: &'static str) -> String {
        self.needs.bases.insert(name);
        format!("%{name}")
    }

    /// A reserved register that the code sets itself.
    pub fn reserved(&mut self, name: String, kind: &'static str) -> String {
        self.needs.others.insert((name.clone(), kind));
        name
    }

    /// The lanes that exist.
    pub fn full_mask(&self) -> u32 {
        full_mask(self.program)
    }

    /// The lanes that are together here, if that is known.
    pub fn lanes(&self) -> Option<u32> {
        match self.level {
            Level::Block => Some(self.full_mask()),
            Level::Warp(0) | Level::Thread => None,
            Level::Warp(mask) => Some(mask),
        }
    }

    /// Prints statements.
    pub fn statements(&mut self, statements: &[Statement]) {
        statements.iter().for_each(|statement| self.statement(statement));
    }

    /// Prints statements that these threads run.
    pub fn statements_at(&mut self, level: Level, statements: &[Statement]) {
        let outer = std::mem::replace(&mut self.level, level);
        self.statements(statements);
        self.level = outer;
    }

    fn statement(&mut self, statement: &Statement) {
        if self.program.style.has_lines {
            self.source_place();
        }
        match statement {
            Statement::Inst(inst) => self.inst(inst),
            Statement::Bits(def, source) => self.float_bits(*def, *source),
            Statement::Access(access) => self.access(access),
            Statement::Wander(wander) => self.wander(wander),
            Statement::March(march) => self.march(march),
            Statement::Atomic(atomic) => self.atomic(atomic),
            Statement::Carry(kind, is_wide, links) => self.carry(*kind, *is_wide, links),
            Statement::If(cond, then, otherwise) => self.branch(cond, then, otherwise),
            Statement::Loop(looped) => self.counted_loop(looped),
            Statement::Break(cond, levels) => self.leave(cond, *levels),
            Statement::Continue(cond, has_own_latch) => self.go_on(cond, *has_own_latch),
            Statement::Switch(switch) => self.switch(switch),
            Statement::Goto(goto) => self.goto(goto),
            Statement::Scope(shadows, body) => self.scope(shadows, body),
            Statement::Unreachable(body) => self.unreachable(body),
            Statement::Next(cond, count) => self.next_blocks(cond, *count),
            Statement::Exchange(exchange) => self.exchange(exchange),
            Statement::Collective(collective, lanes) => self.collective(collective, *lanes),
            Statement::Call(call) => self.call(call),
            Statement::Return(cond) => self.early_return(cond),
            Statement::Exit(cond, outputs) => self.exit(cond, outputs),
            Statement::Copies(copies, meanwhile) => self.async_copies(copies, meanwhile),
            Statement::Trap(cond, outputs) => self.trap(cond, outputs),
            Statement::Uninitialised(class) => self.uninitialised(*class),
        }
    }

    /// Where the statement comes from in the source.
    fn source_place(&mut self) {
        self.source_line += 1;
        let line = self.source_line;
        let mut place = format!(".loc 1 {line} {}", line % 7);
        if module::has_inlined_lines(self.program) && line.is_multiple_of(3) {
            // The line of the call is that of the statement before.
            let (name, call) = (module::INLINED, line - 1);
            place.push_str(&format!(", function_name {name}, inlined_at 1 {call} {}", call % 7));
        }
        self.line(place);
        if line.is_multiple_of(5) {
            self.label(&format!("$L__tmp{line}"));
        }
    }

    fn scope(&mut self, shadows: &[(Reg, u64)], body: &[Statement]) {
        self.line("{");
        let outer = self.shadowed.len();
        let mut seen = Vec::new();
        for &(reg, bits) in shadows {
            if seen.contains(&reg) {
                continue;
            }
            seen.push(reg);
            self.line(format!(".reg {} {};", reg.class.register_type(), register_name(reg)));
            self.shadowed.push(reg);
            self.set(&register_name(reg), reg.class, bits);
        }
        self.labels.push(0);
        self.statements(body);
        self.labels.pop();
        self.shadowed.truncate(outer);
        self.line("}");
    }
}

/// The lanes of a warp that exist: blocks are whole warps or less than one.
pub(crate) fn full_mask(program: &Program) -> u32 {
    let threads = threads(program);
    if threads < 32 { (1 << threads) - 1 } else { u32::MAX }
}

/// Threads of a CTA.
pub(crate) fn threads(program: &Program) -> u32 {
    program.block.iter().product()
}

/// The name of a register of a pool.
pub(crate) fn register_name(reg: Reg) -> String {
    format!("{}{}", reg.class.prefix(), reg.index)
}

/// The name of a register that one place uses.
pub(crate) fn temp_name(class: Class, number: u32) -> String {
    let letter = ["p", "h", "r", "l", "f", "d", "e", "x", "b", "y"][class as usize];
    format!("%t{letter}{number}")
}
