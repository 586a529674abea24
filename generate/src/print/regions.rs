//! Control flow.

use super::conditions::{Spread, arms, is_uniform, negated, scatters, spread};
use super::instructions::counter_name;
use super::{Level, LoopFrame, Writer};
use crate::tree::{Class, Cond, Goto, Loop, Node, Operand, Shape, Statement, Switch, SwitchForm, Trips};

impl Writer<'_> {
    /// Two arms, in one of their layouts.
    pub fn branch(&mut self, cond: &Cond, then: &[Statement], otherwise: &[Statement]) {
        let spread = spread(cond);
        let is_uniform = matches!(spread, Spread::Uniform | Spread::Warps);
        let (then_level, else_level) = arms(self.level, spread, self.full_mask());
        let Some(predicate) = self.predicate(cond) else { return self.statements(then) };
        let end = self.fresh_label();
        if otherwise.is_empty() {
            self.jump(Some(&negated(&predicate)), is_uniform, &end);
            self.statements_at(then_level, then);
        } else if then.is_empty() {
            self.jump(Some(&predicate), is_uniform, &end);
            self.statements_at(else_level, otherwise);
        } else {
            let arm = self.fresh_label();
            // The arm that falls through is one or the other, so that both layouts come up.
            let is_then_far = arm.ends_with(['0', '2', '4', '6', '8']);
            if is_then_far {
                self.jump(Some(&predicate), is_uniform, &arm);
                self.statements_at(else_level, otherwise);
            } else {
                self.jump(Some(&negated(&predicate)), is_uniform, &arm);
                self.statements_at(then_level, then);
            }
            self.jump(None, false, &end);
            self.label(&arm);
            if is_then_far {
                self.statements_at(then_level, then);
            } else {
                self.statements_at(else_level, otherwise);
            }
        }
        self.label(&end);
    }

    /// A loop. Threads stay together in it when they turn equally often and none leaves early.
    pub fn counted_loop(&mut self, looped: &Loop) {
        let frame = self.open_loop(looped);
        let stays = !matches!(looped.trips, Trips::Thread(..)) && !scatters(&looped.body, 0, false);
        let level = if stays { self.level } else { Level::Thread };
        let outer = std::mem::replace(&mut self.level, level);
        self.loops.push(frame.clone());
        if looped.is_nounroll {
            self.line(".pragma \"nounroll\";");
        }
        self.label(&frame.head);
        match looped.shape {
            Shape::Top => {
                let is_done = self.compare("ge.u32", &frame.counter, &frame.bound);
                self.leave_by(&is_done, stays);
                self.statements(&looped.body);
                self.shared_latch();
                self.advance();
                self.jump(None, false, &frame.head);
            }
            Shape::Early => {
                let is_done = self.compare("ge.u32", &frame.counter, &frame.bound);
                self.leave_by(&is_done, stays);
                self.advance();
                self.statements(&looped.body);
                self.shared_latch();
                self.jump(None, false, &frame.head);
            }
            Shape::Bottom | Shape::Down => {
                self.statements(&looped.body);
                self.shared_latch();
                let again = self.advance_and_test();
                self.jump(Some(&again), stays, &frame.head);
            }
            Shape::Middle(at) => {
                let (front, back) = looped.body.split_at(usize::from(at).min(looped.body.len()));
                self.statements(front);
                let again = self.advance_and_test();
                self.leave_by(&negated(&again), stays);
                self.statements(back);
                self.jump(None, false, &frame.head);
            }
        }
        let frame = self.loops.pop().expect("pushed above");
        self.level = outer;
        if frame.is_end_used {
            self.label(&frame.end);
        }
    }

    /// Names of the loop's parts, and its counter and bound set.
    fn open_loop(&mut self, looped: &Loop) -> LoopFrame {
        let counter = self.reserved(counter_name(looped.id), ".b32");
        let is_down = looped.shape == Shape::Down;
        let step = looped.step.max(1);
        let bound = match looped.trips {
            Trips::Const(trips) => (trips * step).to_string(),
            Trips::Scalar(number, mask) => self.bound(Operand::Scalar(number), mask, step),
            Trips::Thread(operand, mask) => self.bound(operand, mask, step),
        };
        self.line(format!("mov.u32 {counter}, {};", if is_down { bound.as_str() } else { "0" }));
        LoopFrame {
            id: looped.id,
            counter,
            bound,
            step,
            is_down,
            head: self.fresh_label(),
            latch: self.fresh_label(),
            end: self.fresh_label(),
            has_latch: !matches!(looped.shape, Shape::Middle(_)),
            is_latch_used: false,
            is_end_used: false,
        }
    }

    fn bound(&mut self, operand: Operand, mask: u32, step: u32) -> String {
        let operand = self.operand(operand, Class::R, '<');
        let (masked, bound) = (self.temp(Class::R), self.temp(Class::R));
        self.line(format!("and.b32 {masked}, {operand}, {mask};"));
        self.line(format!("mul.lo.u32 {bound}, {masked}, {step};"));
        bound
    }

    fn frame(&mut self) -> &mut LoopFrame {
        self.loops.last_mut().expect("inside a loop")
    }

    fn leave_by(&mut self, predicate: &str, is_uniform: bool) {
        self.frame().is_end_used = true;
        let end = self.frame().end.clone();
        self.jump(Some(predicate), is_uniform, &end);
    }

    /// The label of the latch that `continue`s share, if any does.
    fn shared_latch(&mut self) {
        if self.frame().is_latch_used {
            let latch = self.frame().latch.clone();
            self.label(&latch);
        }
    }

    fn advance(&mut self) {
        let frame = self.frame().clone();
        let operation = if frame.is_down { "sub.s32" } else { "add.u32" };
        self.line(format!("{operation} {0}, {0}, {1};", frame.counter, frame.step));
    }

    /// Moves the counter on; the predicate says whether there is another turn.
    fn advance_and_test(&mut self) -> String {
        self.advance();
        let frame = self.frame().clone();
        if frame.is_down {
            self.compare("gt.s32", &frame.counter, "0")
        } else {
            self.compare("lt.u32", &frame.counter, &frame.bound)
        }
    }

    /// `break`, out of one or more loops.
    pub fn leave(&mut self, cond: &Cond, levels: u8) {
        let Some(at) = self.loops.len().checked_sub(usize::from(levels) + 1) else { return };
        let predicate = self.predicate(cond);
        self.loops[at].is_end_used = true;
        let end = self.loops[at].end.clone();
        self.jump(predicate.as_deref(), spread(cond) == Spread::Uniform, &end);
    }

    /// `continue`, to the shared latch or by a latch of its own.
    pub fn go_on(&mut self, cond: &Cond, has_own_latch: bool) {
        let Some(frame) = self.loops.last().cloned() else { return };
        let is_uniform = spread(cond) == Spread::Uniform;
        let predicate = self.predicate(cond);
        if frame.has_latch && !has_own_latch {
            self.frame().is_latch_used = true;
            return self.jump(predicate.as_deref(), is_uniform, &frame.latch);
        }
        let skip = self.fresh_label();
        if let Some(predicate) = &predicate {
            self.jump(Some(&negated(predicate)), is_uniform, &skip);
        }
        let again = self.advance_and_test();
        self.jump(Some(&again), false, &frame.head);
        self.frame().is_end_used = true;
        self.jump(None, false, &frame.end);
        if predicate.is_some() {
            self.label(&skip);
        }
    }

    /// One of several arms.
    pub fn switch(&mut self, switch: &Switch) {
        let count = switch.arms.len();
        let size = switch.table.len();
        if count == 0 || size == 0 {
            return;
        }
        let stays = is_uniform(switch.selector) && switch.guard.is_none();
        let level = if stays { self.level } else { Level::Thread };
        let labels: Vec<String> = (0..count).map(|_| self.fresh_label()).collect();
        let target = |entry: &u8| labels[usize::from(*entry) % count].as_str();
        let end = self.fresh_label();
        let selector = self.operand(switch.selector, Class::R, '<');
        let index = self.temp(Class::R);
        match switch.selector {
            Operand::Imm(bits) => self.line(format!("mov.u32 {index}, {};", bits % size as u64)),
            // Both ways to bring it into range come up.
            _ if size.is_power_of_two() && end.ends_with(['0', '2', '4', '6', '8']) => {
                self.line(format!("and.b32 {index}, {selector}, {};", size - 1));
            }
            _ => self.line(format!("rem.u32 {index}, {selector}, {size};")),
        }
        match switch.form {
            SwitchForm::Table => {
                let table = self.fresh_label();
                let targets: Vec<&str> = switch.table.iter().map(target).collect();
                self.lines.push(format!("{table}: .branchtargets {};", targets.join(", ")));
                let uni = if stays && size.is_multiple_of(2) { ".uni" } else { "" };
                let guard = self.guard_prefix(switch.guard);
                self.line(format!("{guard}brx.idx{uni} {index}, {table};"));
                if switch.guard.is_some() {
                    self.jump(None, false, &end);
                }
            }
            SwitchForm::Chain => {
                for (value, entry) in switch.table.iter().enumerate().skip(1) {
                    let is_hit = self.compare("eq.s32", &index, &value.to_string());
                    self.jump(Some(&is_hit), stays, target(entry));
                }
                self.jump(None, false, target(&switch.table[0]));
            }
        }
        for ((arm, falls), label) in switch.arms.iter().zip(&labels) {
            self.label(label);
            self.statements_at(level, arm);
            if !falls {
                self.jump(None, false, &end);
            }
        }
        self.label(&end);
    }

    /// Gotos. Each jump backwards costs fuel, so the region ends.
    pub fn goto(&mut self, goto: &Goto) {
        let is_back =
            |at: usize, node: &Node| node.jumps.iter().any(|&(_, target)| usize::from(target) <= at);
        let mut fuel = String::new();
        if goto.nodes.iter().enumerate().any(|(at, node)| is_back(at, node)) {
            fuel = self.reserved(format!("%fuel{}", goto.id), ".b32");
            self.line(format!("mov.s32 {fuel}, {};", goto.fuel));
        }
        let labels: Vec<String> = (0..=goto.nodes.len()).map(|_| self.fresh_label()).collect();
        let end = goto.nodes.len();
        for (cond, target) in &goto.entries {
            let predicate = self.predicate(cond);
            self.jump(predicate.as_deref(), false, &labels[usize::from(*target).min(end)]);
        }
        for (at, node) in goto.nodes.iter().enumerate() {
            self.label(&labels[at]);
            self.statements_at(Level::Thread, &node.body);
            for (cond, target) in &node.jumps {
                let target = usize::from(*target).min(end);
                let mut predicate = self.predicate(cond);
                if target <= at {
                    predicate = Some(self.burn(&fuel, predicate.as_deref()));
                }
                self.jump(predicate.as_deref(), false, &labels[target]);
            }
        }
        self.label(&labels[end]);
    }

    /// Takes fuel; the predicate says whether there was some and the condition holds.
    fn burn(&mut self, fuel: &str, predicate: Option<&str>) -> String {
        self.line(format!("sub.s32 {fuel}, {fuel}, 1;"));
        let Some(predicate) = predicate else { return self.compare("gt.s32", fuel, "0") };
        let both = self.temp(Class::P);
        self.line(format!("setp.gt.and.s32 {both}, {fuel}, 0, {predicate};"));
        both
    }

    /// Code after a branch around it.
    pub fn unreachable(&mut self, body: &[Statement]) {
        let end = self.fresh_label();
        self.jump(None, true, &end);
        self.statements(body);
        self.label(&end);
    }

    /// Branches to the next block, with empty blocks between.
    pub fn next_blocks(&mut self, cond: &Cond, count: u8) {
        let predicate = self.predicate(cond);
        for _ in 0..count {
            let next = self.fresh_label();
            self.jump(predicate.as_deref(), spread(cond) == Spread::Uniform, &next);
            self.label(&next);
        }
    }
}
