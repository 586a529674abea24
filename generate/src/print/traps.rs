//! Traps, which end the whole grid: by the emulator once all other threads have ended, too.

use super::calls::is_guard_of_end;
use super::conditions::negated;
use super::{Level, Writer};
use crate::tree::{Class, Cond, Reg};

impl Writer<'_> {
    /// A trap. One that no thread comes to may stand anywhere. One that may happen stands where all threads of the only
    /// CTA are together, who store their results and end alike, or where threads may end one by one.
    pub fn trap(&mut self, cond: &Cond, outputs: &[Reg]) {
        let blocks: u32 = self.program.grid.iter().product();
        if matches!(*cond, Cond::Block("ge", first) if first >= blocks) {
            let predicate = self.predicate(cond).expect("it depends on the block");
            return self.trap_if(&predicate);
        }
        if self.function.is_some() {
            return;
        }
        if self.level != Level::Block || blocks > 1 {
            return self.end_by(cond, outputs, "trap;");
        }
        self.fold(outputs, Vec::new());
        let Some(predicate) = self.predicate(cond) else {
            self.line("bar.sync 0;");
            return self.line("trap;");
        };
        let any = self.temp(Class::P);
        self.line(format!("bar.red.or.pred {any}, 0, {predicate};"));
        self.trap_if(&any);
    }

    fn trap_if(&mut self, predicate: &str) {
        if is_guard_of_end(predicate) {
            return self.line(format!("@{predicate} trap;"));
        }
        let stay = self.fresh_label();
        self.jump(Some(&negated(predicate)), false, &stay);
        self.line("trap;");
        self.label(&stay);
    }
}
