//! Asynchronous copies from a table that nothing writes to the thread's slot in shared memory, which nothing else touches.

use super::Writer;
use super::exchange::SLOT_BYTES;
use crate::tree::{AsyncCopy, Class, Statement};

/// Bytes of the table.
const TABLE_BYTES: u32 = 64;

impl Writer<'_> {
    /// Copies, each a group of its own; instructions; for each copy its wait and a load of what it copied. Instructions
    /// touch no memory, so none looks at a copy that is on its way.
    pub fn async_copies(&mut self, copies: &[AsyncCopy], meanwhile: &[Statement]) {
        let count = u32::try_from(copies.len()).expect("few copies");
        let bytes = match count {
            1 => 16,
            2 => 8,
            _ => 4,
        };
        let can_copy = self.program.arch >= 80 && count * bytes <= SLOT_BYTES;
        let copies = if can_copy { copies } else { &[] };
        for (number, copy) in (0..).zip(copies) {
            self.start_copy(copy, number * bytes, bytes);
        }
        for statement in meanwhile.iter().filter(|statement| matches!(statement, Statement::Inst(_))) {
            self.statement(statement);
        }
        for (number, copy) in (0..).zip(copies) {
            match count - 1 - number {
                0 if copy.from.is_multiple_of(2) => self.line("cp.async.wait_all;"),
                left => self.line(format!("cp.async.wait_group {left};")),
            }
            let slot = self.base("slot");
            let def = if copy.def.class == Class::R { self.reg(copy.def) } else { self.temp(Class::R) };
            self.line(format!("ld.shared.u32 {def}, [{slot}+{}];", number * bytes));
        }
    }

    fn start_copy(&mut self, copy: &AsyncCopy, to: u32, bytes: u32) {
        let (slot, table) = (self.base("slot"), self.base("table"));
        self.declare("table");
        let from = copy.from % (TABLE_BYTES / bytes) * bytes;
        let cache = if bytes == 16 { "cg" } else { "ca" };
        let source = copy.source_bytes.map_or_else(String::new, |source| format!(", {}", source.min(bytes)));
        let guard = self.guard_prefix(copy.guard);
        self.line(format!(
            "{guard}cp.async.{cache}.shared.global [{slot}+{to}], [{table}+{from}], {bytes}{source};"
        ));
        self.line("cp.async.commit_group;");
    }
}
