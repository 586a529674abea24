//! A body: its code, its end, and the prologue that gives all of it what it needs.

use super::calls::is_guard_of_end;
use super::conditions::negated;
use super::exchange::SLOT_BYTES;
use super::instructions::width;
use super::{COUNTERS, INPUT_BYTES, OWN_BYTES, Writer, temp_name, threads};
use crate::tree::{Body, Class, Cond, Init, Reg};
use std::collections::BTreeSet;

/// What mixes a value into the results.
const MULTIPLIER: u64 = 0x0000_0100_0000_01B3;

impl Writer<'_> {
    /// Prints the kernel's code and end.
    pub fn kernel(&mut self) {
        let program = self.program;
        self.statements(&program.body.statements);
        let totals = if self.needs.bases.contains("totals") { self.totals() } else { Vec::new() };
        self.is_tail = true;
        self.level = super::Level::Thread;
        self.statements(&program.tail);
        self.fold(&program.outputs, totals);
        if program.style.ends_past_a_guard {
            self.end_past_a_guard(&program.outputs);
        } else {
            self.line("ret;");
        }
    }

    /// Ends past a guard, without a return: some threads are led back from there, where they may have parted before, some return,
    /// and the others run off the end.
    fn end_past_a_guard(&mut self, outputs: &[Reg]) {
        let [back, end, apart] = [(); 3].map(|()| self.fresh_label());
        let bits = self.program.seed >> 3;
        let lanes = bits.wrapping_mul(MULTIPLIER) as u32;
        let [led_back, returning] = [lanes, lanes.rotate_left(7)]
            .map(|lanes| self.predicate(&Cond::Lanes(lanes)).expect("not all lanes"));
        let (first, second) = outputs.split_at(outputs.len() / 2);
        if bits & 1 != 0 {
            self.jump(Some(&led_back), false, &apart);
            self.fold(first, Vec::new());
            self.jump(None, false, &end);
            self.label(&apart);
        }
        self.jump(None, false, &end);
        self.label(&back);
        self.fold(second, Vec::new());
        self.line("ret;");
        self.label(&end);
        self.jump(Some(&led_back), false, &back);
        if bits & 2 != 0 {
            self.line(format!("@{returning} ret;"));
        }
    }

    /// Prints a function's code and end.
    pub fn function(&mut self, index: usize) {
        let function = &self.program.functions[index];
        self.statements(&function.body.statements);
        self.hand_back(function);
        self.line("ret;");
    }

    /// Some threads end, their results stored.
    pub fn exit(&mut self, cond: &Cond, outputs: &[Reg]) {
        self.end_by(cond, outputs, if outputs.len().is_multiple_of(2) { "exit;" } else { "ret;" });
    }

    /// Some threads end by `end`, where threads may: after the last barrier.
    pub fn end_by(&mut self, cond: &Cond, outputs: &[Reg], end: &str) {
        if !self.is_tail {
            return;
        }
        let predicate = self.predicate(cond);
        match predicate {
            None => {
                self.fold(outputs, Vec::new());
                self.line(end);
            }
            Some(predicate) if is_guard_of_end(&predicate) => {
                // Results are stored by all; threads that stay store others later.
                self.fold(outputs, Vec::new());
                self.line(format!("@{predicate} {end}"));
            }
            Some(predicate) => {
                let stay = self.fresh_label();
                self.jump(Some(&negated(&predicate)), false, &stay);
                self.fold(outputs, Vec::new());
                self.line(end);
                self.label(&stay);
            }
        }
    }

    /// Mixes registers into one value and stores it.
    pub fn fold(&mut self, outputs: &[Reg], totals: Vec<(String, Class)>) {
        let mut values: Vec<(String, Class)> = Vec::new();
        for &reg in outputs {
            let value = self.output(reg);
            values.push(value);
        }
        values.extend(totals);
        if let [(value, class)] = values.as_slice() {
            return self.store_result(&value.clone(), *class);
        }
        let mut mixed: Option<String> = None;
        for (value, class) in values {
            let value = if class == Class::L {
                value
            } else {
                let wide = self.temp(Class::L);
                self.line(format!("cvt.u64.u32 {wide}, {value};"));
                wide
            };
            mixed = Some(match mixed {
                None => value,
                Some(before) => {
                    let after = self.temp(Class::L);
                    self.line(format!("mad.lo.u64 {after}, {before}, {MULTIPLIER:#x}, {value};"));
                    after
                }
            });
        }
        if let Some(mixed) = mixed {
            self.store_result(&mixed, Class::L);
        }
    }

    /// The value of a register as 32 or 64 bits.
    fn output(&mut self, reg: Reg) -> (String, Class) {
        match reg.class {
            Class::P => {
                let (name, bit) = (self.reg(reg), self.temp(Class::R));
                self.line(format!("selp.u32 {bit}, 1, 0, {name};"));
                (bit, Class::R)
            }
            Class::H => {
                let (name, wide) = (self.reg(reg), self.temp(Class::R));
                self.line(format!("cvt.u32.u16 {wide}, {name};"));
                (wide, Class::R)
            }
            Class::R | Class::L => (self.reg(reg), reg.class),
            _ => self.bits_of(reg),
        }
    }

    /// The whole body: declarations, prologue and code, without braces.
    pub fn finish(mut self, body: &Body) -> Vec<String> {
        let code = std::mem::take(&mut self.lines);
        self.initial_values(body);
        let values = std::mem::take(&mut self.lines);
        let parts: [Part; 5] = [Part::Shared, Part::Generic, Part::Memory, Part::Thread, Part::Scalars];
        // What stands later asks for what stands earlier.
        let mut groups = Vec::new();
        for part in parts {
            self.part(part);
            groups.push(std::mem::take(&mut self.lines));
        }
        groups.reverse();
        let mut lines = self.declarations();
        lines.extend(groups.into_iter().flatten());
        lines.extend(values);
        lines.extend(code);
        lines
    }

    fn initial_values(&mut self, body: &Body) {
        for reg in self.needs.registers.clone() {
            let name = super::register_name(reg);
            let pool = &body.pools[reg.class as usize];
            let init = pool.get(usize::from(reg.index)).copied().unwrap_or(Init::Const(0));
            self.initial_value(&name, reg.class, init);
        }
    }

    fn initial_value(&mut self, name: &str, class: Class, init: Init) {
        match (init, self.function) {
            (Init::Parameter(at), Some(index)) => {
                let function = &self.program.functions[index];
                let at = usize::from(at);
                if function.parameters.get(at) == Some(&class) {
                    return self.load_parameter(function, at, class, name);
                }
                self.set(name, class, 0);
            }
            (Init::Const(bits), _) => self.set(name, class, bits),
            (Init::Thread(times, plus), _) => {
                let number = self.base("grid_thread");
                let mixed = self.temp(Class::R);
                self.line(format!("mad.lo.u32 {mixed}, {number}, {times:#x}, {plus:#x};"));
                self.convert_word(name, class, &mixed);
            }
            (Init::Load(offset), None) => {
                let address = self.input_address();
                let offset = offset % (INPUT_BYTES / 2) / 8 * 8;
                self.load_initial(name, class, &format!("[{address}+{offset}]"));
            }
            _ => self.set(name, class, 0),
        }
    }

    /// The input, moved on by the number of the thread.
    fn input_address(&mut self) -> String {
        let (number, input) = (self.base("grid_thread"), self.base("input"));
        let (low, address) = (self.temp(Class::R), self.temp(Class::L));
        self.line(format!("and.b32 {low}, {number}, 31;"));
        self.line(format!("mad.wide.u32 {address}, {low}, 8, {input};"));
        address
    }

    fn load_initial(&mut self, name: &str, class: Class, at: &str) {
        match class {
            Class::P => {
                let word = self.temp(Class::R);
                self.line(format!("ld.global.s8 {word}, {at};"));
                self.line(format!("setp.lt.s32 {name}, {word}, 0;"));
            }
            Class::F | Class::D => self.line(format!("ld.global.f{} {name}, {at};", width(class))),
            _ => self.line(format!("ld.global.b{} {name}, {at};", width(class))),
        }
    }

    fn convert_word(&mut self, name: &str, class: Class, word: &str) {
        match class {
            Class::P => self.line(format!("setp.gt.s32 {name}, {word}, 7;")),
            Class::H => self.line(format!("cvt.u16.u32 {name}, {word};")),
            Class::R => self.line(format!("mov.b32 {name}, {word};")),
            Class::L => self.line(format!("mul.wide.s32 {name}, {word}, {word};")),
            // Times the root of 2, so that all bits of the mantissa are in use and sums round.
            Class::F => {
                self.line(format!("cvt.rn.f32.s32 {name}, {word};"));
                self.line(format!("mul.rn.f32 {name}, {name}, 0f3FB504F3;"));
            }
            Class::D => {
                self.line(format!("cvt.rn.f64.s32 {name}, {word};"));
                self.line(format!("mul.rn.f64 {name}, {name}, 0d3FF6A09E667F3BCD;"));
            }
            Class::E => self.line(format!("cvt.rn.f16.s32 {name}, {word};")),
            Class::B => self.line(format!("cvt.u16.u32 {name}, {word};")),
            Class::X | Class::Y => self.line(format!("and.b32 {name}, {word}, 0x3fff3fff;")),
        }
    }

    fn part(&mut self, part: Part) {
        for &name in part.names() {
            if self.needs.bases.contains(name) {
                self.set_base(name);
            }
        }
        if matches!(part, Part::Scalars) {
            for number in self.needs.scalars.clone() {
                self.line(format!("ld.param.u32 %s{number}, [scalar_{number}];"));
            }
        }
    }

    fn set_base(&mut self, name: &'static str) {
        match name {
            "thread" => self.thread_number(),
            "grid_thread" => {
                let thread = self.base("thread");
                self.line("mov.u32 %grid_thread, %ctaid.x;");
                self.line(format!(
                    "mad.lo.u32 %grid_thread, %grid_thread, {}, {thread};",
                    threads(self.program)
                ));
            }
            "input" | "counters" => self.global_pointer(name),
            "own" => self.own_pointer(),
            "state" => {
                self.module.variables.insert("state");
                let thread = self.base("grid_thread");
                self.line("mov.u64 %state, state;");
                self.line(format!("mad.wide.u32 %state, {thread}, 16, %state;"));
            }
            "table" | "constants" | "frame" | "spill" | "march" => {
                self.line(format!("mov.u64 %{name}, {name};"))
            }
            "frame_cleared" => self.clear_local("frame", 64),
            "spill_cleared" => self.clear_local("spill", 32),
            "pocket_cleared" => self.clear_local("pocket", 16),
            "march_cleared" => self.clear_local("march", 16),
            "slot" => self.slot_pointer(),
            "totals" => self.clear_totals(),
            "wanderer" => {
                self.declare("spill");
                let start = self.base("spill_generic");
                self.line(format!("mov.u64 %wanderer, {start};"));
            }
            "depth" => {
                let function = &self.program.functions[self.function.expect("kernels have no depth")];
                let at = function.parameters.len() + usize::from(function.has_memory);
                self.load_parameter(function, at, Class::R, "%depth");
            }
            _ => self.generic_pointer(name),
        }
    }

    fn clear_local(&mut self, name: &str, size: u32) {
        for offset in (0..size).step_by(16) {
            self.line(format!("st.local.v4.b32 [{name}+{offset}], {{{offset}, 5, 6, 7}};"));
        }
    }

    fn thread_number(&mut self) {
        let [_, y, z] = self.program.block;
        self.line("mov.u32 %thread, %tid.x;");
        if (y, z) == (1, 1) {
            return;
        }
        let [x, row, layer] = [0; 3].map(|_| self.temp(Class::R));
        self.line(format!("mov.u32 {x}, %ntid.x;"));
        self.line(format!("mov.u32 {row}, %tid.y;"));
        if z > 1 {
            self.line(format!("mov.u32 {layer}, %tid.z;"));
            self.line(format!("mad.lo.u32 {row}, {layer}, {y}, {row};"));
        }
        self.line(format!("mad.lo.u32 %thread, {row}, {x}, %thread;"));
    }

    fn global_pointer(&mut self, name: &'static str) {
        self.module.parameters.insert(name);
        self.line(format!("ld.param.u64 %{name}, [{name}];"));
        self.line(format!("cvta.to.global.u64 %{name}, %{name};"));
    }

    fn own_pointer(&mut self) {
        if let Some(index) = self.function {
            let function = &self.program.functions[index];
            return self.load_parameter(function, function.parameters.len(), Class::L, "%own");
        }
        self.module.parameters.insert("output");
        let thread = self.base("grid_thread");
        self.line("ld.param.u64 %own, [output];");
        self.line("cvta.to.global.u64 %own, %own;");
        self.line(format!("mad.wide.u32 %own, {thread}, {OWN_BYTES}, %own;"));
    }

    /// The thread's slot in shared memory, which starts undefined and is set here.
    fn slot_pointer(&mut self) {
        let (thread, slots) = (self.base("thread"), self.shared_variable());
        if self.has_short_addresses("shared", false) {
            self.line(format!("mov.u32 %slot, {slots};"));
            self.line(format!("mad.lo.u32 %slot, {thread}, {SLOT_BYTES}, %slot;"));
        } else {
            self.line(format!("mov.u64 %slot, {slots};"));
            self.line(format!("mad.wide.u32 %slot, {thread}, {SLOT_BYTES}, %slot;"));
        }
        self.line("st.shared.v4.b32 [%slot], {9, 8, 7, 6};");
    }

    /// The first thread clears the shared counters before all others go on.
    fn clear_totals(&mut self) {
        self.module.variables.insert("totals");
        let thread = self.base("thread");
        self.line("mov.u64 %totals, totals;");
        let is_first = self.compare("eq.u32", &thread, "0");
        for at in 0..COUNTERS {
            self.line(format!("@{is_first} st.shared.u64 [%totals+{}], 0;", at * 8));
        }
        self.line("bar.sync 0;");
    }

    fn generic_pointer(&mut self, name: &'static str) {
        let plain = name.strip_suffix("_generic").expect("other bases are named above");
        let from = self.base(plain);
        let space = match plain {
            "constants" => "const",
            "frame" | "spill" | "march" => "local",
            "slot" => "shared",
            _ => "global",
        };
        if self.has_short_addresses(space, false) {
            self.line(format!("cvt.u64.u32 %{name}, {from};"));
            return self.line(format!("cvta.shared.u64 %{name}, %{name};"));
        }
        self.line(format!("cvta.{space}.u64 %{name}, {from};"));
    }

    fn declarations(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let style = self.program.style;
        for class in Class::ALL {
            let kind = declared_type(class, style.is_typed);
            let used: BTreeSet<u8> =
                self.needs.registers.iter().filter(|reg| reg.class == class).map(|reg| reg.index).collect();
            let Some(&last) = used.last() else { continue };
            if style.is_listed {
                let names: Vec<String> =
                    used.iter().map(|&index| super::register_name(Reg { class, index })).collect();
                lines.push(format!("    .reg {kind} {};", names.join(", ")));
            } else {
                lines.push(format!("    .reg {kind} {}<{}>;", class.prefix(), u32::from(last) + 1));
            }
        }
        for class in Class::ALL {
            let count = self.temp_count(class);
            if count > 0 {
                let name = temp_name(class, 0);
                lines.push(format!(
                    "    .reg {} {}<{count}>;",
                    class.register_type(),
                    &name[..name.len() - 1]
                ));
            }
        }
        for name in &self.needs.bases {
            let is_word = matches!(*name, "thread" | "grid_thread" | "depth")
                || *name == "slot" && self.has_short_addresses("shared", false);
            if !name.ends_with("_cleared") {
                lines.push(format!("    .reg {} %{name};", if is_word { ".b32" } else { ".b64" }));
            }
        }
        for (name, kind) in &self.needs.others {
            lines.push(format!("    .reg {kind} {name};"));
        }
        for number in &self.needs.scalars {
            lines.push(format!("    .reg .b32 %s{number};"));
        }
        let locals = [
            ("frame", "frame_cleared", 64),
            ("spill", "spill_cleared", 32),
            ("pocket", "pocket_cleared", 16),
            ("march", "march_cleared", 16),
        ];
        for (name, cleared, size) in locals {
            if self.needs.bases.contains(name) || self.needs.bases.contains(cleared) {
                lines.push(format!("    .local .align 16 .b8 {name}[{size}];"));
            }
        }
        lines
    }
}

/// Groups of reserved registers, each needing only what later groups set.
#[derive(Clone, Copy)]
enum Part {
    Shared,
    Generic,
    Memory,
    Thread,
    Scalars,
}

impl Part {
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Shared => {
                &["wanderer", "totals", "frame_cleared", "spill_cleared", "pocket_cleared", "march_cleared"]
            }
            Self::Generic => &[
                "input_generic",
                "own_generic",
                "state_generic",
                "table_generic",
                "constants_generic",
                "frame_generic",
                "spill_generic",
                "march_generic",
                "slot_generic",
            ],
            Self::Memory => &[
                "input",
                "counters",
                "own",
                "state",
                "table",
                "constants",
                "frame",
                "spill",
                "march",
                "slot",
                "depth",
            ],
            Self::Thread => &["grid_thread"],
            Self::Scalars => &["thread"],
        }
    }
}

/// The type that a pool is declared with: integers may be declared as any type of their width.
fn declared_type(class: Class, is_typed: bool) -> &'static str {
    match class {
        Class::H if is_typed => ".u16",
        Class::R if is_typed => ".u32",
        Class::L if is_typed => ".u64",
        Class::F if is_typed => ".b32",
        other => other.register_type(),
    }
}
