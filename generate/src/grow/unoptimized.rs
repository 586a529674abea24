//! What compilers write before they optimize: variables in memory, conditions that go through it, values that are
//! extended and cut again, arithmetic on constants.

use super::{Context, Grower};
use crate::catalogue::{Op, catalogue};
use crate::options::Feature;
use crate::tree::{
    Access, Class, Cond, Def, Goto, Guard, Inst, March, MemoryOp, Node, Operand, Reg, Space, Statement,
};

/// Variables of a frame: place, type and register class. None lies where [`Grower::element`] reaches.
const SLOTS: [(u32, &str, Class); 9] = [
    (0, "u32", Class::R),
    (4, "s32", Class::R),
    (4, "b32", Class::R),
    (8, "u64", Class::L),
    (8, "f64", Class::D),
    (16, "u8", Class::H),
    (17, "u8", Class::R),
    (18, "s16", Class::H),
    (20, "f32", Class::F),
];

/// Parts of these variables, and more than one of them.
const OTHER_WIDTHS: [(u32, &str, Class); 7] = [
    (0, "u64", Class::L),
    (0, "u16", Class::H),
    (1, "s8", Class::R),
    (8, "u32", Class::R),
    (12, "b32", Class::R),
    (16, "u32", Class::R),
    (20, "b32", Class::R),
];

/// The instructions that copy a constant, by class.
const COPIES: [(Class, &str); 5] = [
    (Class::R, "mov.b32"),
    (Class::L, "mov.b64"),
    (Class::H, "mov.b16"),
    (Class::F, "mov.f32"),
    (Class::D, "mov.f64"),
];

impl Grower<'_> {
    /// Variables that are stored and loaded again, mostly as what they are, and elements of an array.
    pub fn slots(&mut self, into: &mut Vec<Statement>) {
        let space = *self.random.pick(&[Space::Local, Space::Local, Space::Spill]);
        let is_generic = self.random.chance(40);
        for _ in 0..self.random.between(1, 3) {
            let slot = *self.random.pick(&SLOTS);
            let value = self.operand(slot.2);
            into.push(access(space, is_generic, store(slot, value)));
            if self.random.chance(40) {
                self.instruction(Feature::Integer, into);
            }
            let again = if self.random.chance(75) { slot } else { *self.random.pick(&OTHER_WIDTHS) };
            let def = self.new_def(again.2);
            into.push(access(space, is_generic, load(again, def)));
        }
        if self.random.chance(50) {
            self.element(space, is_generic, into);
        }
        // Numbers of their own, so that what else a seed grows does not depend on these.
        let own = self.random.apart(3);
        let random = std::mem::replace(&mut self.random, own);
        if self.random.chance(20) {
            into.push(self.march());
        }
        self.random = random;
    }

    /// A walk through a local array, of two to four rounds.
    fn march(&mut self) -> Statement {
        let rounds = u32::try_from(self.random.between(2, 4)).expect("small");
        let is_nested = self.random.chance(30);
        let maybe = |grower: &mut Self, percent| grower.random.chance(percent).then(|| grower.guard());
        self.cost += u64::from(rounds * if is_nested { 24 } else { 8 });
        Statement::March(March {
            id: self.fresh_id(),
            rounds,
            is_nested,
            is_generic: self.random.chance(40),
            value: self.operand(Class::R),
            guard: maybe(self, 30),
            leaves: maybe(self, 30),
            def: Def::Reg(self.new_def(Class::R)),
        })
    }

    /// An element of an array, stored by an index that is a constant or is not, and another one loaded.
    fn element(&mut self, space: Space, is_generic: bool, into: &mut Vec<Statement>) {
        let start = if space == Space::Local { 28 } else { 12 };
        for is_store in [true, false] {
            let index = match self.random.below(4) {
                0 => None,
                1 => Some(Operand::Imm(self.random.below(4) as u64)),
                _ => Some(self.operand(Class::R)),
            };
            let slot = (start, "u32", Class::R);
            let op = if is_store {
                let value = self.operand(Class::R);
                store(slot, value)
            } else {
                load(slot, self.new_def(Class::R))
            };
            let (index_form, is_stored) = (self.index_form(), self.random.chance(10));
            let ops = vec![op];
            into.push(Statement::Access(Access { space, is_generic, index, index_form, is_stored, ops }));
        }
    }

    /// A comparison that becomes a number, is stored, loaded, and compared with zero before it decides.
    pub fn memory_condition(&mut self, context: &Context, into: &mut Vec<Statement>) {
        let (class, select, test, mask, slot) = if self.random.chance(50) {
            (Class::R, "selp.u32", "setp.ne.s32", "and.b32", (4, "u32", Class::R))
        } else {
            (Class::H, "selp.u16", "setp.eq.s16", "and.b16", (16, "u8", Class::H))
        };
        let bit = self.new_def(class);
        if class == Class::R && self.random.chance(40) {
            into.push(self.set(bit));
        } else {
            let (a, b) = (self.operand(Class::R), self.operand(Class::R));
            let compared = self.new_def(Class::P);
            let name = *self.random.pick(&["setp.lt.s32", "setp.ge.s32", "setp.eq.s32", "setp.lo.u32"]);
            into.push(self.named(name, &[compared], &[a, b]));
            let is_true = self.random.below(2) as u64;
            let choice = [Operand::Imm(is_true), Operand::Imm(1 - is_true), Operand::Reg(compared)];
            into.push(self.named(select, &[bit], &choice));
        }
        into.push(access(Space::Local, false, store(slot, Operand::Reg(bit))));
        if self.random.chance(30) {
            self.instruction(Feature::Integer, into);
        }
        let loaded = self.new_def(class);
        into.push(access(Space::Local, false, load(slot, loaded)));
        if self.random.chance(50) {
            into.push(self.named(mask, &[loaded], &[Operand::Reg(loaded), Operand::Imm(1)]));
        }
        let decides = self.new_def(Class::P);
        let other = if class == Class::R {
            *self.random.pick(&[0, 0, 0, 1, u64::MAX])
        } else {
            self.random.below(2) as u64
        };
        into.push(self.named(test, &[decides], &[Operand::Reg(loaded), Operand::Imm(other)]));
        let guard = Guard { index: decides.index, is_negated: self.random.chance(50) };
        self.branch_on(Cond::Pred(guard), context, into);
    }

    /// A comparison of one of the types that has a number for its result, of all ones where it holds.
    fn set(&mut self, to: Reg) -> Statement {
        let ways = [
            ("set.lt.u32.s32", Class::R),
            ("set.eq.s32.u32", Class::R),
            ("set.geu.u32.f32", Class::F),
            ("set.lt.s32.f16", Class::E),
            ("set.neu.u32.f16x2", Class::X),
        ];
        let ways = if self.has_half() { &ways[..] } else { &ways[..3] };
        let (name, class) = *self.random.pick(ways);
        let [a, b] = [(); 2].map(|()| Operand::Reg(self.reg(class)));
        self.named(name, &[to], &[a, b])
    }

    /// A narrow load, extended, computed with, cut and extended again, and used as an index.
    pub fn extensions(&mut self, into: &mut Vec<Statement>) {
        let kind = *self.random.pick(&["u8", "s8", "u16", "s16"]);
        let space = *self.random.pick(&[Space::Table, Space::State, Space::Local, Space::Const]);
        let is_narrow = self.random.chance(60);
        let class = if is_narrow { Class::H } else { Class::R };
        let narrow = self.new_def(class);
        let offset = u32::try_from(self.random.below(16)).expect("below 16");
        into.push(access(space, false, load((offset, kind, class), narrow)));
        let word = if is_narrow {
            if self.random.chance(40) {
                let other = self.operand(Class::H);
                let name = *self.random.pick(&["add.s16", "sub.s16", "mul.lo.s16", "xor.b16"]);
                into.push(self.named(name, &[narrow], &[Operand::Reg(narrow), other]));
            }
            let word = self.new_def(Class::R);
            let name = format!("cvt.{}32.{kind}", *self.random.pick(&['u', 's']));
            into.push(self.named(&name, &[word], &[Operand::Reg(narrow)]));
            word
        } else {
            narrow
        };
        let other = self.operand(Class::R);
        into.push(self.named("add.s32", &[word], &[Operand::Reg(word), other]));
        self.cut(word, into);
        let wide = self.new_def(Class::L);
        match self.random.below(4) {
            0 => into.push(self.named("cvt.s64.s32", &[wide], &[Operand::Reg(word)])),
            1 => into.push(self.named("cvt.u64.u32", &[wide], &[Operand::Reg(word)])),
            way => {
                let name = if way == 2 { "mul.wide.s32" } else { "mul.wide.u32" };
                into.push(self.named(name, &[wide], &[Operand::Reg(word), Operand::Imm(4)]));
            }
        }
        let (from, index_form) = (load((0, "b32", Class::R), self.new_def(Class::R)), self.index_form());
        let index = Some(Operand::Reg(word));
        into.push(Statement::Access(Access {
            index,
            index_form,
            ..Access::at_start(Space::Table, vec![from])
        }));
    }

    /// Cuts a word to fewer bits, in one of the ways in which that is written.
    fn cut(&mut self, word: Reg, into: &mut Vec<Statement>) {
        let value = Operand::Reg(word);
        let [byte, half, bits] = [255, 65_535, 24].map(Operand::Imm);
        match self.random.below(6) {
            0 => into.push(self.named("and.b32", &[word], &[value, byte])),
            1 => into.push(self.named("and.b32", &[word], &[value, half])),
            2 => into.push(self.named("cvt.s8.s32", &[word], &[value])),
            3 => into.push(self.named("cvt.u16.u32", &[word], &[value])),
            way => {
                let back = if way == 4 { "shr.s32" } else { "shr.u32" };
                into.push(self.named("shl.b32", &[word], &[value, bits]));
                into.push(self.named(back, &[word], &[value, bits]));
            }
        }
    }

    /// Instructions whose operands are constants, or registers that hold some.
    pub fn constants(&mut self, into: &mut Vec<Statement>) {
        use Feature::{Bits, Convert, Double, Float, Integer, Narrow, Predicates, Wide};
        let feature = *self
            .random
            .pick(&[Float, Float, Float, Double, Integer, Wide, Narrow, Convert, Predicates, Bits]);
        let fits = |(_, op): &(usize, &Op)| op.feature == feature && op.arch_min <= self.arch;
        let ops: Vec<usize> = catalogue().iter().enumerate().filter(fits).map(|(at, _)| at).collect();
        let mut known: Vec<Reg> = Vec::new();
        for _ in 0..self.random.between(1, 3) {
            let at = *self.random.pick(&ops);
            let op = &catalogue()[at];
            let uses: Vec<Class> = op.uses().map(|(class, _)| class).collect();
            let uses = uses.into_iter().map(|class| self.constant(class, &mut known, into)).collect();
            let defs: Vec<Reg> = op.defs().map(|(class, _)| self.new_def(class)).collect();
            known.extend(&defs);
            let op = u16::try_from(at).expect("a test says so");
            let defs = defs.into_iter().map(Def::Reg).collect();
            into.push(Statement::Inst(Inst { op, defs, uses, guard: None }));
        }
    }

    /// A register that holds a constant, or the constant itself.
    fn constant(&mut self, class: Class, known: &mut Vec<Reg>, into: &mut Vec<Statement>) -> Operand {
        let same: Vec<Reg> = known.iter().filter(|reg| reg.class == class).copied().collect();
        if !same.is_empty() && self.random.chance(50) {
            return Operand::Reg(*self.random.pick(&same));
        }
        let bits = Operand::Imm(self.immediate(class));
        let copy = COPIES.iter().find(|(other, _)| *other == class);
        let Some(&(_, name)) = copy.filter(|_| self.random.chance(60)) else { return bits };
        let reg = self.new_def(class);
        into.push(self.named(name, &[reg], &[bits]));
        known.push(reg);
        Operand::Reg(reg)
    }

    /// Two words become one of 64 bits and come apart again, one of them is changed, and both are packed again.
    pub fn packs(&mut self, into: &mut Vec<Statement>) {
        let (low, high) = (self.operand(Class::R), self.operand(Class::R));
        let packed = self.new_def(Class::L);
        into.push(self.named("mov.b64", &[packed], &[low, high]));
        let whole = Operand::Reg(packed);
        let parts = [self.new_def(Class::R), self.new_def(Class::R)];
        if self.random.chance(60) {
            into.push(self.named("mov.b64 {", &parts, &[whole]));
        } else {
            let shifted = self.new_def(Class::L);
            into.push(self.named("cvt.u32.u64", &parts[..1], &[whole]));
            into.push(self.named("shr.u64", &[shifted], &[whole, Operand::Imm(32)]));
            into.push(self.named("cvt.u32.u64", &parts[1..], &[Operand::Reg(shifted)]));
        }
        let [low, high] = parts.map(Operand::Reg);
        if self.random.chance(50) {
            let changed = *self.random.pick(&parts);
            let other = self.operand(Class::R);
            into.push(self.named("add.s32", &[changed], &[Operand::Reg(changed), other]));
        }
        let again = self.new_def(Class::L);
        if self.random.chance(60) {
            return into.push(self.named("mov.b64", &[again], &[low, high]));
        }
        let [one, other] = [(); 2].map(|()| self.new_def(Class::L));
        into.push(self.named("cvt.u64.u32", &[one], &[low]));
        into.push(self.named("cvt.u64.u32", &[other], &[high]));
        into.push(self.named("shl.b64", &[other], &[Operand::Reg(other), Operand::Imm(32)]));
        into.push(self.named("or.b64", &[again], &[Operand::Reg(one), Operand::Reg(other)]));
    }

    /// One register that guarded instructions set, to one thing or another, and then change under another guard.
    pub fn guard_chain(&mut self, into: &mut Vec<Statement>) {
        let (first, second) = (self.guard(), self.guard());
        let opposite = first.opposite();
        let def = self.new_def(Class::R);
        let own = Operand::Reg(def);
        for guard in [first, opposite] {
            let value = self.operand(Class::R);
            into.push(self.named_if(guard, "mov.b32", &[def], &[value]));
        }
        if self.random.chance(25) {
            let (a, b) = (self.operand(Class::R), self.operand(Class::R));
            let predicate = Reg { class: Class::P, index: first.index };
            into.push(self.named("setp.lt.s32", &[predicate], &[a, b]));
        }
        for _ in 0..self.random.between(1, 3) {
            let guard = *self.random.pick(&[second, second, first, opposite]);
            let name = *self.random.pick(&["add.s32", "add.s32", "mul.lo.u32", "xor.b32", "shl.b32"]);
            let other = *self.random.pick(&[own, Operand::Imm(3), Operand::Imm(1)]);
            into.push(self.named_if(guard, name, &[def], &[own, other]));
        }
    }

    /// A cycle of two nodes, entered at either, with registers that both write and both read.
    pub fn crossing(&mut self, into: &mut Vec<Statement>) {
        let [x, y] = [(); 2].map(|()| self.new_def(Class::R));
        let (step, other) = (self.operand(Class::R), self.operand(Class::R));
        let front = vec![
            self.named("add.s32", &[x], &[Operand::Reg(x), step]),
            self.named("xor.b32", &[y], &[Operand::Reg(y), Operand::Reg(x)]),
        ];
        let back = vec![
            self.named("mul.lo.u32", &[x], &[Operand::Reg(x), Operand::Imm(5)]),
            self.named("add.s32", &[y], &[Operand::Reg(x), other]),
        ];
        let limit = Operand::Imm(self.random.bits());
        let again = Cond::Compare("lo.u32", Operand::Reg(x), limit);
        let leaves = if self.random.chance(40) { vec![(self.any_cond(), 2)] } else { Vec::new() };
        let id = self.fresh_id();
        let fuel = u32::try_from(self.random.between(2, 6)).expect("small");
        self.cost += u64::from(fuel) * 8;
        into.push(Statement::Goto(Goto {
            id,
            fuel,
            entries: vec![(self.any_cond(), 1)],
            nodes: vec![Node { body: front, jumps: leaves }, Node { body: back, jumps: vec![(again, 0)] }],
        }));
    }

    /// A switch of which the arm is known, or whose selector is masked.
    pub fn constant_switch(&mut self, context: &Context, into: &mut Vec<Statement>) {
        let is_known = self.random.chance(60);
        let selector = if is_known {
            Operand::Imm(self.random.below(8) as u64)
        } else {
            Operand::Reg(self.reg(Class::R))
        };
        let count = self.random.between(2, 4);
        let size = if is_known { count } else { 4 };
        self.switch_on(selector, None, (count, size), context, into);
    }
}

fn access(space: Space, is_generic: bool, op: MemoryOp) -> Statement {
    Statement::Access(Access { is_generic, ..Access::at_start(space, vec![op]) })
}

fn store((offset, kind, class): (u32, &'static str, Class), value: Operand) -> MemoryOp {
    let (qualifier, defs, uses) = ("", Vec::new(), vec![value]);
    MemoryOp { is_store: true, kind, qualifier, offset, defs, uses, class, guard: None }
}

fn load((offset, kind, class): (u32, &'static str, Class), def: Reg) -> MemoryOp {
    let (qualifier, defs, uses) = ("", vec![Def::Reg(def)], Vec::new());
    MemoryOp { is_store: false, kind, qualifier, offset, defs, uses, class, guard: None }
}
