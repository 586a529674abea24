//! Loads, stores and atomics.

use super::{Context, Grower};
use crate::options::Feature;
use crate::print::Level;
use crate::tree::{
    Access, Atomic, AtomicPlace, Class, Collective, Def, IndexForm, MemoryOp, Operand, Space, Statement,
};

/// Accesses that are kept to be drawn again.
const RECENT_MAX: usize = 8;

/// Types in memory, and the register classes that hold them.
const KINDS: &[(&str, &[Class])] = &[
    ("u8", &[Class::H, Class::R, Class::L]),
    ("s8", &[Class::H, Class::R, Class::L]),
    ("b8", &[Class::H, Class::R]),
    ("u16", &[Class::H, Class::R, Class::L]),
    ("s16", &[Class::H, Class::R, Class::L]),
    ("b16", &[Class::H, Class::E, Class::B]),
    ("u32", &[Class::R, Class::L]),
    ("s32", &[Class::R, Class::L]),
    ("b32", &[Class::R, Class::X, Class::Y]),
    ("u64", &[Class::L]),
    ("b64", &[Class::L]),
    ("f32", &[Class::F]),
    ("f64", &[Class::D]),
];

const QUALIFIERS: [&str; 9] = ["", "", "", "ca", "cg", "cs", "nc", "relaxed.gpu", "acquire.gpu"];

impl Grower<'_> {
    /// Loads and stores around one address.
    pub fn accesses(&mut self, feature: Feature, context: &Context, into: &mut Vec<Statement>) {
        let spaces: &[Space] = match feature {
            Feature::Local => &[Space::Local, Space::Local, Space::Spill],
            _ if context.function.is_some() => {
                &[Space::Own, Space::State, Space::Table, Space::Const, Space::Shared]
            }
            _ => &[
                Space::Input,
                Space::Own,
                Space::Own,
                Space::State,
                Space::Table,
                Space::Const,
                Space::Shared,
            ],
        };
        let space = *self.random.pick(spaces);
        let index = if self.random.chance(40) { Some(self.operand(Class::R)) } else { None };
        let is_generic = self.random.chance(25);
        let is_volatile = feature == Feature::Volatile;
        let count = self.random.between(1, 4);
        let ops = (0..count).map(|_| self.memory_op(is_writable(space), is_volatile)).collect();
        let index_form = self.index_form();
        let is_stored = self.random.chance(4);
        let access = Access { space, is_generic, index, index_form, is_stored, ops };
        self.keep(&access);
        into.push(Statement::Access(access));
    }

    /// How an index moves an address: by words, in one of the ways in which compilers extend it, or by 16 bytes.
    pub fn index_form(&mut self) -> IndexForm {
        use IndexForm::{Extended, Masked, Remainder, Rows, Words};
        *self.random.pick(&[Rows, Rows, Words, Extended, Masked, Remainder])
    }

    fn keep(&mut self, access: &Access) {
        self.recent_accesses.push(access.clone());
        if self.recent_accesses.len() > RECENT_MAX {
            self.recent_accesses.remove(0);
        }
    }

    fn memory_op(&mut self, is_writable: bool, is_volatile: bool) -> MemoryOp {
        let (kind, classes) = *self.random.pick(KINDS);
        let class = *self.random.pick(classes);
        let is_half = matches!(class, Class::E | Class::X | Class::B | Class::Y);
        let is_store = is_writable && !is_half && self.random.chance(50);
        let is_long = kind.ends_with("64");
        let count = match self.random.below(6) {
            0 => 2,
            1 if !is_long => 4,
            _ => 1,
        };
        let qualifier = if is_volatile { "volatile" } else { *self.random.pick(&QUALIFIERS) };
        MemoryOp {
            is_store,
            kind,
            qualifier,
            offset: u32::try_from(self.random.below(64)).expect("below 64"),
            defs: if is_store { Vec::new() } else { self.components(class, count) },
            uses: if is_store { (0..count).map(|_| self.operand(class)).collect() } else { Vec::new() },
            class,
            guard: self.maybe_guard(),
        }
    }

    /// The results of a load; some components of a vector go nowhere.
    fn components(&mut self, class: Class, count: usize) -> Vec<Def> {
        if count == 1 {
            return vec![Def::Reg(self.new_def(class))];
        }
        (0..count)
            .map(|_| if self.random.chance(30) { Def::Nowhere } else { Def::Reg(self.new_def(class)) })
            .collect()
    }

    /// An access once more: as it was, or through another kind of address, moved, narrowed, or after a store.
    pub fn access_again(&mut self, context: &Context, into: &mut Vec<Statement>) {
        let mut access = self.random.pick(&self.recent_accesses.clone()).clone();
        if self.random.chance(40) && is_writable(access.space) {
            // A store in front, which may hit what the access reads.
            let op = self.store_op();
            let index = if self.random.chance(50) { access.index } else { None };
            let space = if self.random.chance(70) { access.space } else { Space::Own };
            let is_generic = self.random.chance(40);
            let access = Access { space, is_generic, ops: vec![op], ..access.clone() };
            into.push(Statement::Access(Access { index, ..access }));
        }
        match self.random.below(5) {
            0 => access.is_generic = !access.is_generic,
            1 => access.ops.iter_mut().for_each(|op| op.offset = (op.offset + 4) % 64),
            2 if context.function.is_none() && self.random.chance(40) => {
                access.space = if access.space == Space::Own { Space::State } else { Space::Own };
            }
            3 => access.ops.iter_mut().for_each(|op| op.kind = other_sign(op.kind)),
            _ => {}
        }
        for at in 0..access.ops.len() {
            let (class, count) = (access.ops[at].class, access.ops[at].defs.len());
            if self.random.chance(70) {
                access.ops[at].defs = self.components(class, count);
            }
        }
        self.keep(&access);
        into.push(Statement::Access(access));
    }

    /// A load or store, perhaps another store that hits or misses it, and a load of the same place.
    pub fn reload(&mut self, context: &Context, into: &mut Vec<Statement>) {
        let spaces = [Space::Shared, Space::Shared, Space::Own, Space::State, Space::Local, Space::Spill];
        let space = *self.random.pick(&spaces);
        let offset = u32::try_from(self.random.below(16)).expect("below 16");
        let first = if self.random.chance(50) { self.load_op(offset) } else { self.store_at(offset) };
        let mut again = self.load_op(offset);
        if self.random.chance(60) {
            (again.kind, again.class) = (first.kind, first.class);
            again.defs = vec![Def::Reg(self.new_def(first.class))];
        }
        let access = |space, is_generic, op| {
            Statement::Access(Access { is_generic, ..Access::at_start(space, vec![op]) })
        };
        into.push(access(space, false, first));
        match self.random.below(8) {
            0 | 1 => into.push(access(space, true, self.store_at(offset))),
            2 => into.push(access(space, false, self.store_at(offset))),
            3 => into.push(access(space, true, self.store_op())),
            4 => into.push(access(*self.random.pick(&spaces), true, self.store_op())),
            5 | 6 if context.level == Level::Block && context.function.is_none() => {
                let reduction = Collective::BarrierReduction("or", self.guard(), self.def(Class::P));
                into.push(Statement::Collective(reduction, None));
            }
            _ => {}
        }
        into.push(access(space, false, again));
    }

    pub fn load_op(&mut self, offset: u32) -> MemoryOp {
        let (kind, classes) = *self.random.pick(KINDS);
        let class = *self.random.pick(classes);
        let defs = vec![Def::Reg(self.new_def(class))];
        MemoryOp { is_store: false, kind, qualifier: "", offset, defs, uses: Vec::new(), class, guard: None }
    }

    pub fn store_at(&mut self, offset: u32) -> MemoryOp {
        MemoryOp { offset, ..self.store_op() }
    }

    fn store_op(&mut self) -> MemoryOp {
        let (kind, class) =
            *self.random.pick(&[("u8", Class::R), ("u16", Class::H), ("u32", Class::R), ("b64", Class::L)]);
        MemoryOp {
            is_store: true,
            kind,
            qualifier: "",
            offset: u32::try_from(self.random.below(64)).expect("below 64"),
            defs: Vec::new(),
            uses: vec![self.operand(class)],
            class,
            guard: self.maybe_guard(),
        }
    }

    /// A store of a word to the thread's own slot.
    pub fn store_word(&mut self, value: Operand, into: &mut Vec<Statement>) {
        let op = MemoryOp { uses: vec![value], class: Class::R, kind: "u32", guard: None, ..self.store_op() };
        into.push(Statement::Access(Access::at_start(Space::Own, vec![op])));
    }

    /// An atomic.
    pub fn atomic(&mut self, context: &Context, into: &mut Vec<Statement>) {
        let places: &[AtomicPlace] = if context.is_tail {
            // The totals in shared memory are read before the tail.
            &[AtomicPlace::Global, AtomicPlace::Own]
        } else {
            &[AtomicPlace::Global, AtomicPlace::Shared, AtomicPlace::Own]
        };
        let place = *self.random.pick(places);
        let location = u8::try_from(self.random.below(8)).expect("below 8");
        // Locations 6 and 7 of the counters, and the last three of a thread's own, are 64 bits wide.
        let is_wide = if place == AtomicPlace::Own { location >= 5 } else { location >= 6 };
        let class = if is_wide { Class::L } else { Class::R };
        into.push(Statement::Atomic(Atomic {
            place,
            location,
            is_reduction: self.random.chance(60),
            def: self.def(class),
            value: self.operand(class),
            guard: self.maybe_guard(),
        }));
    }
}

fn is_writable(space: Space) -> bool {
    matches!(space, Space::Own | Space::State | Space::Local | Space::Spill | Space::Shared)
}

/// The type of the same width and the other sign.
fn other_sign(kind: &'static str) -> &'static str {
    match kind {
        "u8" => "s8",
        "s8" => "u8",
        "u16" => "s16",
        "s16" => "u16",
        "u32" => "s32",
        "s32" => "u32",
        other => other,
    }
}
