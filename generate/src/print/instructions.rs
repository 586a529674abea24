//! Straight-line instructions, and operands that fit their slots.

use super::Writer;
use crate::catalogue::{Piece, catalogue};
use crate::tree::{CarryKind, Class, Def, Inst, Link, Operand, Reg};

impl Writer<'_> {
    /// An instruction of the catalogue.
    pub fn inst(&mut self, inst: &Inst) {
        let op = &catalogue()[usize::from(inst.op)];
        let mut uses = inst.uses.iter();
        let mut texts = Vec::new();
        // Uses first: what makes them fit stands before the instruction, and before definitions it may not change.
        for (class, sign) in op.uses() {
            texts.push(self.operand(*uses.next().expect("one for each slot"), class, sign));
        }
        let mut slots: Vec<(Class, bool)> = op.defs().collect();
        // The assembler (release 13.0) dies of a guarded `setp` whose first result is a sink.
        if inst.guard.is_some() && slots.first() == Some(&(Class::P, true)) {
            slots[0].1 = false;
        }
        let defs = self.definitions(&inst.defs, &slots);
        let (mut uses, mut defs) = (texts.into_iter(), defs.into_iter());
        let mut text = self.guard_prefix(inst.guard);
        for piece in &op.pieces {
            match piece {
                Piece::Text(part) => text.push_str(part),
                Piece::Def { .. } => text.push_str(&defs.next().expect("one for each slot")),
                Piece::Use { .. } => text.push_str(&uses.next().expect("one for each slot")),
            }
        }
        self.line(text + ";");
    }

    /// The texts of definition slots. No register is written twice, and not every slot is a sink.
    pub fn definitions(&mut self, defs: &[Def], slots: &[(Class, bool)]) -> Vec<String> {
        let mut texts: Vec<String> = Vec::new();
        for (&def, &(class, may_sink)) in defs.iter().zip(slots) {
            let has_register = texts.iter().any(|text| text != "_");
            let is_last_chance = !has_register && texts.len() + 1 == slots.len();
            texts.push(match def {
                Def::Reg(reg) if reg.class == class => {
                    let name = self.reg(reg);
                    if texts.contains(&name) { self.temp(class) } else { name }
                }
                _ if may_sink && !is_last_chance => "_".to_owned(),
                _ => self.temp(class),
            });
        }
        texts
    }

    /// An operand in a slot, by the sign of the catalogue.
    pub fn operand(&mut self, operand: Operand, class: Class, sign: char) -> String {
        let text = match operand {
            Operand::Reg(reg) if reg.class == class => self.reg(reg),
            Operand::Counter(id) if class == Class::R && self.loops.iter().any(|frame| frame.id == id) => {
                counter_name(id)
            }
            Operand::Scalar(number) if class == Class::R && self.has_scalar(number) => {
                self.needs.scalars.insert(number);
                format!("%s{number}")
            }
            Operand::Imm(bits) => return self.immediate(bits, class, sign),
            _ => return self.immediate(0, class, sign),
        };
        self.limited(text, class, sign)
    }

    fn has_scalar(&self, number: u8) -> bool {
        self.function.is_none() && usize::from(number) < self.program.scalars.len()
    }

    fn immediate(&mut self, bits: u64, class: Class, sign: char) -> String {
        let bits = match sign {
            '/' => bits | 1,
            '+' => bits & (u64::MAX >> (65 - width(class))) | 1,
            '&' => bits & 255,
            _ => bits,
        };
        let takes_literal =
            sign != '=' && !matches!(class, Class::P | Class::E | Class::X | Class::B | Class::Y);
        if takes_literal {
            return literal(bits, class);
        }
        let register = self.temp(class);
        self.set(&register, class, bits);
        register
    }

    /// Restricts a register to what the slot's sign allows.
    fn limited(&mut self, text: String, class: Class, sign: char) -> String {
        let kind = width(class);
        match sign {
            '/' => {
                let odd = self.temp(class);
                self.line(format!("or.b{kind} {odd}, {text}, 1;"));
                odd
            }
            '+' => {
                let (positive, odd) = (self.temp(class), self.temp(class));
                let mask = literal(u64::MAX >> (65 - kind), class);
                self.line(format!("and.b{kind} {positive}, {text}, {mask};"));
                self.line(format!("or.b{kind} {odd}, {positive}, 1;"));
                odd
            }
            '&' => {
                // Within a register, around its end, or anything that the instruction looks at.
                let mask = [31, 63, 255][self.temp_count(class) as usize % 3];
                let byte = self.temp(class);
                self.line(format!("and.b{kind} {byte}, {text}, {mask};"));
                byte
            }
            _ => text,
        }
    }

    /// Sets a register to bits.
    pub fn set(&mut self, register: &str, class: Class, bits: u64) {
        match class {
            Class::P => self.line(format!("mov.pred {register}, {};", bits & 1)),
            Class::H => self.line(format!("mov.b16 {register}, {};", literal(bits, class))),
            Class::R => self.line(format!("mov.b32 {register}, {};", literal(bits, class))),
            Class::L => self.line(format!("mov.b64 {register}, {};", literal(bits, class))),
            Class::F => self.line(format!("mov.f32 {register}, {};", literal(bits, class))),
            Class::D => self.line(format!("mov.f64 {register}, {};", literal(bits, class))),
            Class::E | Class::B => self.line(format!("mov.b16 {register}, {:#x};", bits & 0xFFFF)),
            Class::X | Class::Y => self.line(format!("mov.b32 {register}, {:#x};", bits & 0xFFFF_FFFF)),
        }
    }

    /// A float whose NaNs are one: their bits differ between machines, and between folding and running.
    pub fn canonical(&mut self, source: &str, class: Class) -> String {
        let (kind, nan) =
            if class == Class::F { ("f32", "0f7FFFFFFF") } else { ("f64", "0d7FFFFFFFFFFFFFFF") };
        let is_number = self.compare(&format!("num.{kind}"), source, source);
        let canonical = self.temp(class);
        self.line(format!("selp.{kind} {canonical}, {source}, {nan}, {is_number};"));
        canonical
    }

    /// The bits of a float, into an integer register of 32 or 64 bits.
    pub fn bits_of(&mut self, source: Reg) -> (String, Class) {
        let name = self.reg(source);
        match source.class {
            Class::D => {
                let (canonical, bits) = (self.canonical(&name, Class::D), self.temp(Class::L));
                self.line(format!("mov.b64 {bits}, {canonical};"));
                (bits, Class::L)
            }
            Class::E | Class::B => (self.half_bits(&name, source.class), Class::R),
            Class::X | Class::Y => {
                let half = if source.class == Class::X { Class::E } else { Class::B };
                let (low, high) = (self.temp(half), self.temp(half));
                self.line(format!("mov.b32 {{{low}, {high}}}, {name};"));
                let (low, high) = (self.half_bits(&low, half), self.half_bits(&high, half));
                let both = self.temp(Class::R);
                self.line(format!("mad.lo.u32 {both}, {low}, 5, {high};"));
                (both, Class::R)
            }
            _ => (self.single_bits(&name), Class::R),
        }
    }

    fn single_bits(&mut self, name: &str) -> String {
        let (canonical, bits) = (self.canonical(name, Class::F), self.temp(Class::R));
        self.line(format!("mov.b32 {bits}, {canonical};"));
        bits
    }

    /// The bits of an `f16` or `bf16`, widened to `f32`.
    fn half_bits(&mut self, name: &str, class: Class) -> String {
        let single = self.temp(Class::F);
        if class == Class::E {
            self.line(format!("cvt.f32.f16 {single}, {name};"));
        } else {
            // A `bf16` is the upper half of an `f32`.
            let zeros = self.temp(Class::H);
            self.set(&zeros, Class::H, 0);
            self.line(format!("mov.b32 {single}, {{{zeros}, {name}}};"));
        }
        self.single_bits(&single)
    }

    /// The bits of a float in a register of a pool.
    pub fn float_bits(&mut self, def: Reg, source: Reg) {
        let (bits, class) = self.bits_of(source);
        let def_name = self.reg(def);
        let instruction = match (def.class, class) {
            (Class::L, Class::L) => "mov.b64",
            (Class::L, _) => "cvt.u64.u32",
            (_, Class::L) => "cvt.u32.u64",
            _ => "mov.b32",
        };
        self.line(format!("{instruction} {def_name}, {bits};"));
    }

    /// A carry chain. The first link sets the carry, the last one only reads it.
    pub fn carry(&mut self, kind: CarryKind, is_wide: bool, links: &[Link]) {
        let (class, unsigned) = if is_wide { (Class::L, "u64") } else { (Class::R, "u32") };
        for (number, link) in links.iter().enumerate() {
            let (is_first, is_last) = (number == 0, number + 1 == links.len());
            let cc = if is_last && !is_first { "" } else { ".cc" };
            let (name, count) = match (kind, is_first) {
                (CarryKind::Add, true) => ("add", 2),
                (CarryKind::Add, false) => ("addc", 2),
                (CarryKind::Sub, true) => ("sub", 2),
                (CarryKind::Sub, false) => ("subc", 2),
                (CarryKind::Mad, true) => ("mad.lo", 3),
                (CarryKind::Mad, false) => ("madc.hi", 3),
            };
            let operands: Vec<String> =
                link.uses[..count].iter().map(|&operand| self.operand(operand, class, '<')).collect();
            let def = self.definitions(&[link.def], &[(class, false)]).remove(0);
            let guard = if is_first { String::new() } else { self.guard_prefix(link.guard) };
            self.line(format!("{guard}{name}{cc}.{unsigned} {def}, {};", operands.join(", ")));
        }
    }

    /// A read of what nothing wrote, into what nothing reads.
    pub fn uninitialised(&mut self, class: Class) {
        let class = if matches!(class, Class::L) { Class::L } else { Class::R };
        let kind = width(class);
        let unwritten = self.reserved(format!("%unwritten{kind}"), class.register_type());
        let dead = self.temp(class);
        self.line(format!("xor.b{kind} {dead}, {unwritten}, 5;"));
    }
}

/// The counter of a loop.
pub(crate) fn counter_name(id: u16) -> String {
    format!("%c{id}")
}

/// Bits of a class.
pub(crate) fn width(class: Class) -> u32 {
    match class {
        Class::P => 1,
        Class::H | Class::E | Class::B => 16,
        Class::R | Class::F | Class::X | Class::Y => 32,
        Class::L | Class::D => 64,
    }
}

/// How bits are written: small numbers of either sign in decimal, floats as their bits, others in hexadecimal.
pub(crate) fn literal(bits: u64, class: Class) -> String {
    let width = width(class);
    let value = bits & (u64::MAX >> (64 - width));
    match class {
        Class::F => return format!("0f{value:08X}"),
        Class::D => return format!("0d{value:016X}"),
        _ => {}
    }
    let below_zero = (value ^ (u64::MAX >> (64 - width))).saturating_add(1);
    match value {
        0..0x1_0000 => value.to_string(),
        _ if below_zero <= 64 => format!("-{below_zero}"),
        _ => format!("{value:#x}"),
    }
}
