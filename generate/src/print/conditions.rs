//! Predicates of branches, and which threads go the same way.

use super::{Level, Writer};
use crate::tree::{Class, Cond, Guard, Operand, Reg, Statement, Trips};

/// Which threads take a branch alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// All.
    Uniform,
    /// Whole warps.
    Warps,
    /// These lanes of each warp take it, the others do not.
    Lanes(u32),
    /// Unknown: threads may have parted in any way.
    Thread,
}

/// Which threads take a branch alike.
pub(crate) fn spread(cond: &Cond) -> Spread {
    match *cond {
        Cond::Always | Cond::Block(..) => Spread::Uniform,
        Cond::Uniform(_, value, _) if is_uniform(value) => Spread::Uniform,
        Cond::Warps(_) => Spread::Warps,
        Cond::Lanes(mask) => Spread::Lanes(mask),
        _ => Spread::Thread,
    }
}

/// Whether all threads that are together agree on an operand.
pub(crate) fn is_uniform(operand: Operand) -> bool {
    !matches!(operand, Operand::Reg(_))
}

/// The levels of the two arms of a branch.
pub(crate) fn arms(level: Level, spread: Spread, full: u32) -> (Level, Level) {
    match (level, spread) {
        (Level::Thread, _) | (_, Spread::Thread) => (Level::Thread, Level::Thread),
        (level, Spread::Uniform) => (level, level),
        (Level::Block, Spread::Warps) => (Level::Warp(full), Level::Warp(full)),
        (Level::Warp(mask), Spread::Warps) => (Level::Warp(mask), Level::Warp(mask)),
        (Level::Block, Spread::Lanes(lanes)) => (Level::Warp(full & lanes), Level::Warp(full & !lanes)),
        (Level::Warp(mask), Spread::Lanes(lanes)) => (Level::Warp(mask & lanes), Level::Warp(mask & !lanes)),
    }
}

/// Whether some threads of a loop's body may leave the loop, or start a turn, before the others. `depth` counts the
/// loops between the loop and the statements.
pub(crate) fn scatters(statements: &[Statement], depth: usize, is_apart: bool) -> bool {
    statements.iter().any(|statement| match statement {
        Statement::Break(cond, levels) => {
            usize::from(*levels) >= depth && (is_apart || spread(cond) != Spread::Uniform)
        }
        Statement::Continue(cond, _) => depth == 0 && (is_apart || spread(cond) != Spread::Uniform),
        Statement::If(cond, then, otherwise) => {
            let is_apart = is_apart || spread(cond) != Spread::Uniform;
            scatters(then, depth, is_apart) || scatters(otherwise, depth, is_apart)
        }
        Statement::Loop(inner) => {
            let is_apart =
                is_apart || matches!(inner.trips, Trips::Thread(..)) || scatters(&inner.body, 0, false);
            scatters(&inner.body, depth + 1, is_apart)
        }
        Statement::Switch(switch) => {
            let is_apart = is_apart || !is_uniform(switch.selector) || switch.guard.is_some();
            switch.arms.iter().any(|(arm, _)| scatters(arm, depth, is_apart))
        }
        Statement::Goto(goto) => goto.nodes.iter().any(|node| scatters(&node.body, depth, true)),
        Statement::Scope(_, body) | Statement::Unreachable(body) => scatters(body, depth, is_apart),
        _ => false,
    })
}

/// The other sense of a predicate.
pub(crate) fn negated(predicate: &str) -> String {
    predicate.strip_prefix('!').map_or_else(|| format!("!{predicate}"), str::to_owned)
}

impl Writer<'_> {
    /// A guard's predicate.
    pub fn guard(&mut self, guard: Guard) -> String {
        let name = self.reg(Reg { class: Class::P, index: guard.index });
        if guard.is_negated { format!("!{name}") } else { name }
    }

    /// The text in front of a guarded instruction.
    pub fn guard_prefix(&mut self, guard: Option<Guard>) -> String {
        guard.map_or_else(String::new, |guard| format!("@{} ", self.guard(guard)))
    }

    /// Computes a condition into a predicate, perhaps with a `!`; nothing for what is always taken.
    pub fn predicate(&mut self, cond: &Cond) -> Option<String> {
        Some(match *cond {
            Cond::Always => return None,
            Cond::Pred(guard) => self.guard(guard),
            Cond::Compare(comparison, a, b) => {
                let a = self.operand(a, Class::R, '=');
                let b = self.operand(b, Class::R, '<');
                self.compare(comparison, &a, &b)
            }
            Cond::Uniform(comparison, value, constant) => {
                let value = self.operand(value, Class::R, '=');
                self.compare(&format!("{comparison}.u32"), &value, &constant.to_string())
            }
            Cond::Block(comparison, constant) => {
                let block = self.temp(Class::R);
                self.line(format!("mov.u32 {block}, %ctaid.x;"));
                self.compare(&format!("{comparison}.u32"), &block, &constant.to_string())
            }
            Cond::Lanes(mask) => {
                let lane = self.temp(Class::R);
                self.line(format!("mov.u32 {lane}, %laneid;"));
                self.bit_of(mask, &lane)
            }
            Cond::Warps(mask) => {
                let thread = self.base("thread");
                let warp = self.temp(Class::R);
                self.line(format!("shr.u32 {warp}, {thread}, 5;"));
                self.bit_of(mask, &warp)
            }
        })
    }

    /// `setp` with a comparison and a type.
    pub fn compare(&mut self, comparison: &str, a: &str, b: &str) -> String {
        let predicate = self.temp(Class::P);
        self.line(format!("setp.{comparison} {predicate}, {a}, {b};"));
        predicate
    }

    fn bit_of(&mut self, mask: u32, index: &str) -> String {
        let (shifted, bit) = (self.temp(Class::R), self.temp(Class::R));
        self.line(format!("shr.u32 {shifted}, {mask:#x}, {index};"));
        self.line(format!("and.b32 {bit}, {shifted}, 1;"));
        self.compare("ne.s32", &bit, "0")
    }

    /// A branch. A promise that it does not diverge is made for half of those that cannot.
    pub fn jump(&mut self, predicate: Option<&str>, is_uniform: bool, label: &str) {
        let makes_promise = is_uniform && label.ends_with(['1', '3', '5', '7', '9']);
        let uni = if makes_promise { ".uni" } else { "" };
        match predicate {
            None => self.line(format!("bra{uni} {label};")),
            Some(predicate) => self.line(format!("@{predicate} bra{uni} {label};")),
        }
    }
}
