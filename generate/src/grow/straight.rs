//! Straight-line statements.

use super::{Context, Grower};
use crate::catalogue::{Op, Piece, catalogue};
use crate::options::Feature;
use crate::tree::{CarryKind, Class, Def, Guard, Inst, Link, Operand, Reg, Statement};

/// Instructions that are kept to be drawn again.
const RECENT_MAX: usize = 12;

impl Grower<'_> {
    /// An instruction of a feature.
    pub fn instruction(&mut self, feature: Feature, into: &mut Vec<Statement>) {
        let arch = self.arch;
        let fits = |op: &Op| op.feature == feature && op.arch_min <= arch;
        let count = catalogue().iter().filter(|op| fits(op)).count();
        if count == 0 {
            return;
        }
        let chosen = self.random.below(count);
        let at =
            catalogue().iter().enumerate().filter(|(_, op)| fits(op)).nth(chosen).expect("counted above").0;
        let inst = self.instance(at);
        self.remember(&inst);
        into.push(Statement::Inst(inst));
    }

    fn instance(&mut self, at: usize) -> Inst {
        let op = &catalogue()[at];
        let uses = op.uses().map(|(class, _)| self.operand(class)).collect();
        let defs = op.defs().map(|(class, _)| self.def_of(op, class)).collect();
        Inst { op: u16::try_from(at).expect("a test says so"), defs, uses, guard: self.maybe_guard() }
    }

    /// Instructions with one result use it; one of several may go nowhere.
    fn def_of(&mut self, op: &Op, class: Class) -> Def {
        if op.defs().count() == 1 { Def::Reg(self.new_def(class)) } else { self.def(class) }
    }

    fn remember(&mut self, inst: &Inst) {
        self.recent.push(inst.clone());
        if self.recent.len() > RECENT_MAX {
            self.recent.remove(0);
        }
    }

    /// An instruction once more: as it was, or with another type, width, rounding, modifier, operand order or guard.
    pub fn redundant(&mut self, context: &Context, into: &mut Vec<Statement>) {
        let may_access = !self.recent_accesses.is_empty();
        if self.recent.is_empty() || may_access && self.random.chance(35) {
            return self.access_again(context, into);
        }
        let mut inst = self.random.pick(&self.recent.clone()).clone();
        match self.random.below(6) {
            0 | 1 => {}
            2 => inst.guard = if inst.guard.is_some() { None } else { Some(self.guard()) },
            3 if inst.uses.len() >= 2 && same_class(&inst, 0, 1) => inst.uses.swap(0, 1),
            _ => inst.op = self.neighbour(inst.op),
        }
        if self.random.chance(70) {
            let classes: Vec<Class> =
                catalogue()[usize::from(inst.op)].defs().map(|(class, _)| class).collect();
            inst.defs = classes.into_iter().map(|class| Def::Reg(self.new_def(class))).collect();
        }
        self.remember(&inst);
        into.push(Statement::Inst(inst));
    }

    /// An instruction that stands near in the catalogue and has the same slots.
    fn neighbour(&mut self, at: u16) -> u16 {
        let ops = catalogue();
        let signature = &ops[usize::from(at)].signature;
        let near = usize::from(at).saturating_sub(12)..(usize::from(at) + 12).min(ops.len());
        let same: Vec<usize> = near
            .filter(|&other| ops[other].signature == *signature && ops[other].arch_min <= self.arch)
            .collect();
        u16::try_from(*self.random.pick(&same)).expect("an index of the catalogue")
    }

    /// An instruction of the catalogue by its template's text, with definitions of these classes.
    pub fn named(&self, name: &str, defs: &[Reg], uses: &[Operand]) -> Statement {
        let is_named = |op: &Op| match op.pieces.first() {
            Some(Piece::Text(text)) => text.trim_end() == name,
            _ => false,
        };
        let takes = |op: &Op| {
            op.defs().map(|(class, _)| class).eq(defs.iter().map(|reg| reg.class))
                && op.uses().count() == uses.len()
                && op.uses().zip(uses).all(|((class, _), operand)| match operand {
                    Operand::Reg(reg) => reg.class == class,
                    _ => true,
                })
        };
        let at = catalogue().iter().position(|op| is_named(op) && takes(op));
        let at = at.unwrap_or_else(|| panic!("the catalogue has no `{name}` for {defs:?}, {uses:?}"));
        Statement::Inst(Inst {
            op: u16::try_from(at).expect("an index of the catalogue"),
            defs: defs.iter().copied().map(Def::Reg).collect(),
            uses: uses.to_vec(),
            guard: None,
        })
    }

    /// The same under a guard.
    pub fn named_if(
        &self,
        guard: impl Into<Option<Guard>>,
        name: &str,
        defs: &[Reg],
        uses: &[Operand],
    ) -> Statement {
        match self.named(name, defs, uses) {
            Statement::Inst(inst) => Statement::Inst(Inst { guard: guard.into(), ..inst }),
            other => other,
        }
    }

    /// Copies among registers: a swap over a third, a rotation, a copy that outlives its source.
    pub fn copies(&mut self, into: &mut Vec<Statement>) {
        let (class, name) = *self.random.pick(&[
            (Class::R, "mov.b32"),
            (Class::L, "mov.b64"),
            (Class::H, "mov.b16"),
            (Class::F, "mov.f32"),
            (Class::D, "mov.f64"),
            (Class::P, "mov.pred"),
        ]);
        let [a, b, c] = [0; 3].map(|_| self.any_reg(class));
        let guard = self.maybe_guard();
        let moves: &[(Reg, Reg)] = match self.random.below(4) {
            0 => &[(c, a), (a, b), (b, c)],
            1 => &[(a, b), (b, c), (c, a)],
            2 => &[(a, b)],
            _ => &[(c, a), (a, b), (b, c), (c, a)],
        };
        for &(to, from) in moves {
            self.note_def(to);
            into.push(self.named_if(guard, name, &[to], &[Operand::Reg(from)]));
        }
        if class == Class::R && self.random.chance(50) {
            into.push(self.named("add.s32", &[a], &[Operand::Reg(a), Operand::Imm(1)]));
        }
    }

    /// Work for registers that the output does not hold: `d = d + x`. Most of it nothing reads.
    pub fn dead(&mut self, into: &mut Vec<Statement>) {
        let index = u8::try_from(self.pool_size()).expect("pools are small");
        let dead = |class| Reg { class, index };
        match self.random.below(5) {
            0 => {
                let step = self.operand(Class::R);
                into.push(self.named("add.s32", &[dead(Class::R)], &[Operand::Reg(dead(Class::R)), step]));
            }
            1 => {
                let wide = Operand::Reg(dead(Class::L));
                into.push(self.named("add.s64", &[dead(Class::L)], &[wide, Operand::Imm(1)]));
            }
            2 => {
                let single = Operand::Reg(dead(Class::F));
                into.push(self.named("add.rn.f32", &[dead(Class::F)], &[single, Operand::Imm(0x3F80_0000)]));
            }
            3 => {
                let (word, other) = (Operand::Reg(dead(Class::R)), self.operand(Class::R));
                into.push(self.named("xor.b32", &[dead(Class::R)], &[word, other]));
                into.push(self.named("mul.wide.u32", &[dead(Class::L)], &[word, word]));
            }
            _ => {
                // The end of a chain that is not dead after all.
                let word = Operand::Reg(dead(Class::R));
                into.push(self.named("add.s32", &[dead(Class::R)], &[word, Operand::Imm(3)]));
                self.store_word(word, into);
            }
        }
    }

    /// A chain of guarded writes to one register, a guard that its own instruction overwrites, or an expression with
    /// and without a guard.
    pub fn guarded(&mut self, into: &mut Vec<Statement>) {
        let guard = self.guard();
        if self.random.chance(25) {
            return self.guarded_again(guard, into);
        }
        let def = self.new_def(Class::R);
        let choices = match self.random.below(3) {
            0 => vec![guard, guard.opposite()],
            1 => vec![guard, guard],
            _ => {
                let (a, b) = (self.operand(Class::R), self.operand(Class::R));
                let predicate = Reg { class: Class::P, index: guard.index };
                into.push(self.named_if(guard, "setp.lt.s32", &[predicate], &[a, b]));
                vec![guard]
            }
        };
        for guard in choices {
            let name = *self.random.pick(&["add.s32", "mov.b32", "mul.lo.u32", "xor.b32"]);
            let uses: Vec<Operand> =
                (0..if name == "mov.b32" { 1 } else { 2 }).map(|_| self.operand(Class::R)).collect();
            into.push(self.named_if(guard, name, &[def], &uses));
        }
    }

    /// One expression twice, the first one guarded, the second one by the opposite or not at all.
    fn guarded_again(&mut self, guard: Guard, into: &mut Vec<Statement>) {
        let name = *self.random.pick(&["add.s32", "mul.lo.u32", "xor.b32"]);
        let uses = [self.operand(Class::R), self.operand(Class::R)];
        let second = self.random.chance(50).then(|| guard.opposite());
        for guard in [Some(guard), second] {
            let def = self.new_def(Class::R);
            into.push(self.named_if(guard, name, &[def], &uses));
        }
    }

    /// The bits of a float.
    pub fn float_bits(&mut self, into: &mut Vec<Statement>) {
        let sources: &[Class] = match self.arch {
            80.. => &[Class::F, Class::D, Class::E, Class::X, Class::B, Class::Y],
            60.. => &[Class::F, Class::D, Class::E, Class::X],
            _ => &[Class::F, Class::D],
        };
        let source = *self.random.pick(sources);
        let source = self.reg(source);
        let class = *self.random.pick(&[Class::R, Class::L]);
        into.push(Statement::Bits(self.new_def(class), source));
    }

    /// A carry chain, some of whose results nothing reads.
    pub fn carry(&mut self, into: &mut Vec<Statement>) {
        let kind = *self.random.pick(&[CarryKind::Add, CarryKind::Add, CarryKind::Sub, CarryKind::Mad]);
        let is_wide = self.random.chance(30);
        let class = if is_wide { Class::L } else { Class::R };
        let links = (0..self.random.between(2, 4))
            .map(|_| Link {
                def: if self.random.chance(25) { Def::Nowhere } else { Def::Reg(self.new_def(class)) },
                uses: [0; 3].map(|_| self.operand(class)),
                guard: self.maybe_guard(),
            })
            .collect();
        into.push(Statement::Carry(kind, is_wide, links));
    }
}

/// Whether two slots take operands of one class.
fn same_class(inst: &Inst, a: usize, b: usize) -> bool {
    let classes: Vec<(Class, char)> = catalogue()[usize::from(inst.op)].uses().collect();
    classes[a] == classes[b]
}
