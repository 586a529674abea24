//! Loads, stores and atomics, each in memory that is the thread's own, read-only, or commutative.

use super::{COUNTERS, OWN_BYTES, Writer};
use crate::tree::{
    Access, Atomic, AtomicPlace, Class, IndexForm, MemoryOp, Operand, Reg, Space, Wander, Way,
};

/// What the printer knows of a memory.
struct Place {
    /// Its name: register and symbol.
    name: &'static str,
    /// The register with its generic address.
    generic: &'static str,
    /// The state space.
    space: &'static str,
    /// Bytes that a thread may touch.
    size: u32,
    is_writable: bool,
    /// Whether it is a symbol that addresses may name directly.
    is_symbol: bool,
}

/// Where loads and stores around an address may go: so many bytes from it, which is aligned to so many.
#[derive(Clone, Copy)]
struct Window {
    limit: u32,
    align: u32,
}

/// Bytes of one step of an index.
fn step(form: IndexForm) -> u32 {
    if form == IndexForm::Rows { 16 } else { 4 }
}

fn place(space: Space) -> Place {
    let (name, generic, state_space, size, is_writable, is_symbol) = match space {
        Space::Input => ("input", "input_generic", "global", super::INPUT_BYTES, false, false),
        Space::Own => ("own", "own_generic", "global", super::RESULT_OFFSET, true, false),
        Space::State => ("state", "state_generic", "global", 16, true, false),
        Space::Table => ("table", "table_generic", "global", 64, false, true),
        Space::Const => ("constants", "constants_generic", "const", 64, false, true),
        Space::Local => ("frame", "frame_generic", "local", 64, true, true),
        Space::Spill => ("spill", "spill_generic", "local", 32, true, true),
        Space::Shared => ("slot", "slot_generic", "shared", 16, true, false),
        Space::Wanderer => ("wanderer", "wanderer", "", 16, true, false),
    };
    Place { name, generic, space: state_space, size, is_writable, is_symbol }
}

/// The counters: the operation of each never changes, so the order of threads does not matter.
const COUNTER_OPS: [(&str, Class); COUNTERS as usize] = [
    ("add.u32", Class::R),
    ("and.b32", Class::R),
    ("or.b32", Class::R),
    ("xor.b32", Class::R),
    ("min.s32", Class::R),
    ("max.u32", Class::R),
    ("add.u64", Class::L),
    ("max.s64", Class::L),
];

/// Atomics on the thread's own slots, whose results may be used.
const OWN_OPS: [(&str, Class, u32); 8] = [
    ("add.s32", Class::R, 1),
    ("exch.b32", Class::R, 1),
    ("cas.b32", Class::R, 2),
    ("min.u32", Class::R, 1),
    ("inc.u32", Class::R, 1),
    ("exch.b64", Class::L, 1),
    ("cas.b64", Class::L, 2),
    ("xor.b64", Class::L, 1),
];

impl Writer<'_> {
    /// Whether code here reaches a memory: functions get a pointer to the thread's own slots at most.
    fn reaches(&self, space: Space) -> bool {
        let Some(function) = self.function else { return true };
        match space {
            Space::Input => false,
            Space::Own => self.program.functions[function].has_memory,
            _ => true,
        }
    }

    /// A change of the wandering pointer.
    pub fn wander(&mut self, wander: &Wander) {
        let Some(to) = self.generic_start(wander.to) else { return };
        let guard = self.guard_prefix(wander.guard);
        let wanderer = self.base("wanderer");
        match wander.way {
            Way::Move => self.line(format!("{guard}mov.u64 {wanderer}, {to};")),
            Way::Stored => {
                self.declare("pocket");
                self.line(format!("st.local.u64 [pocket+8], {to};"));
                self.line(format!("{guard}ld.local.u64 {wanderer}, [pocket+8];"));
            }
            Way::Distance(from) => {
                let Some(from) = self.generic_start(from) else { return };
                let distance = self.temp(Class::L);
                self.line(format!("sub.s64 {distance}, {to}, {from};"));
                self.line(format!("{guard}add.s64 {wanderer}, {from}, {distance};"));
            }
            Way::Choice(other, choice) => {
                let Some(other) = self.generic_start(other) else { return };
                let (first, second) = if choice.is_negated { (other, to) } else { (to, other) };
                let choice = self.reg(Reg { class: Class::P, index: choice.index });
                self.line(format!("{guard}selp.b64 {wanderer}, {first}, {second}, {choice};"));
            }
        }
    }

    /// The register with the generic address of a memory that the wandering pointer may lead to.
    fn generic_start(&mut self, space: Space) -> Option<String> {
        if !self.reaches(space) {
            return None;
        }
        let place = place(space);
        if place.is_symbol {
            self.declare(place.name);
        }
        Some(self.base(place.generic))
    }

    /// Loads and stores around one address.
    pub fn access(&mut self, access: &Access) {
        if !self.reaches(access.space) {
            return;
        }
        let place = place(access.space);
        let is_generic = access.is_generic || access.space == Space::Wanderer;
        let has_window = access.index.is_some() && place.size >= 32;
        let limit = if has_window { place.size / 2 } else { place.size };
        let step = if has_window { step(access.index_form) } else { 16 };
        let mut address = self.address(access, &place, is_generic, has_window.then_some(limit / step - 1));
        if access.is_stored && !self.has_short_addresses(place.space, is_generic) {
            address = self.through_memory(&address, &place);
        }
        for op in &access.ops {
            if place.is_writable || !op.is_store {
                self.memory_op(op, &place, is_generic, &address, Window { limit, align: step });
            }
        }
    }

    /// Stores an address in a variable of its own, so that its bits reach no result, and loads it.
    fn through_memory(&mut self, address: &str, place: &Place) -> String {
        let address = if address == place.name { self.base(place.name) } else { address.to_owned() };
        self.declare("pocket");
        let again = self.temp(Class::L);
        self.line(format!("st.local.u64 [pocket], {address};"));
        self.line(format!("ld.local.u64 {again}, [pocket];"));
        again
    }

    /// The register or symbol that addresses are relative to, moved by the index.
    fn address(&mut self, access: &Access, place: &Place, is_generic: bool, window: Option<u32>) -> String {
        if place.is_symbol {
            self.declare(place.name);
        }
        if place.is_symbol && !is_generic && access.index.is_none() {
            return place.name.to_owned();
        }
        let base = self.base(if is_generic { place.generic } else { place.name });
        let (Some(index), Some(window)) = (access.index, window) else { return base };
        let index = self.operand(index, Class::R, '<');
        // All ones, so that the mask selects no more than the window.
        let mask = (1_u32 << (window + 1).ilog2()) - 1;
        if self.has_short_addresses(place.space, is_generic) {
            let (masked, address) = (self.temp(Class::R), self.temp(Class::R));
            self.line(format!("and.b32 {masked}, {index}, {mask};"));
            self.line(format!("mad.lo.u32 {address}, {masked}, {}, {base};", step(access.index_form)));
            return address;
        }
        let scaled = self.scaled(access.index_form, &index, mask);
        let address = self.temp(Class::L);
        self.line(format!("add.s64 {address}, {base}, {scaled};"));
        address
    }

    /// An index below a power of two, `mask` and one, times the bytes of a step.
    fn scaled(&mut self, form: IndexForm, index: &str, mask: u32) -> String {
        let (word, wide, scaled) = (self.temp(Class::R), self.temp(Class::L), self.temp(Class::L));
        let step = step(form);
        match form {
            IndexForm::Rows | IndexForm::Words => {
                let sign = if form == IndexForm::Rows { 'u' } else { 's' };
                self.line(format!("and.b32 {word}, {index}, {mask};"));
                self.line(format!("mul.wide.{sign}32 {scaled}, {word}, {step};"));
            }
            IndexForm::Extended => {
                self.line(format!("and.b32 {word}, {index}, {mask};"));
                self.line(format!("cvt.s64.s32 {wide}, {word};"));
                self.line(format!("shl.b64 {scaled}, {wide}, 2;"));
            }
            IndexForm::Masked => {
                self.line(format!("mov.b32 {word}, {index};"));
                self.line(format!("cvt.u64.u32 {wide}, {word};"));
                self.line(format!("and.b64 {wide}, {wide}, {mask};"));
                self.line(format!("shl.b64 {scaled}, {wide}, 2;"));
            }
            IndexForm::Remainder => {
                self.line(format!("rem.u32 {word}, {index}, {};", mask + 1));
                self.line(format!("cvt.u64.u32 {wide}, {word};"));
                self.line(format!("mul.lo.s64 {scaled}, {wide}, {step};"));
            }
        }
        scaled
    }

    /// Whether addresses of a space are 32 bits wide.
    pub fn has_short_addresses(&self, space: &str, is_generic: bool) -> bool {
        space == "shared" && !is_generic && self.program.style.has_short_shared
    }

    /// Declares a variable of the module or of the body.
    pub fn declare(&mut self, name: &'static str) {
        match name {
            "frame" => self.needs.bases.insert("frame_cleared"),
            "spill" => self.needs.bases.insert("spill_cleared"),
            "pocket" => self.needs.bases.insert("pocket_cleared"),
            "march" => self.needs.bases.insert("march_cleared"),
            _ => self.module.variables.insert(name),
        };
    }

    fn memory_op(&mut self, op: &MemoryOp, place: &Place, is_generic: bool, address: &str, window: Window) {
        let Window { limit, align } = window;
        let count = if op.is_store { op.uses.len() } else { op.defs.len() };
        let bytes = kind_bytes(op.kind) * u32::try_from(count).expect("at most four");
        if bytes == 0 || bytes > limit.min(align) {
            return;
        }
        let offset = op.offset % (limit - bytes + 1) / bytes.next_power_of_two() * bytes.next_power_of_two();
        let at = if offset == 0 { format!("[{address}]") } else { format!("[{address}+{offset}]") };
        let mnemonic = self.mnemonic(op, place, is_generic, count);
        if op.is_store {
            let values = self.stored(op);
            let guard = self.guard_prefix(op.guard);
            self.line(format!("{guard}{mnemonic} {at}, {};", braced(&values)));
        } else {
            let slots = vec![(op.class, count > 1); count];
            let defs = self.definitions(&op.defs, &slots);
            let guard = self.guard_prefix(op.guard);
            self.line(format!("{guard}{mnemonic} {}, {at};", braced(&defs)));
        }
    }

    /// `ld` or `st` with the qualifiers that are legal there; the others fall away.
    fn mnemonic(&self, op: &MemoryOp, place: &Place, is_generic: bool, count: usize) -> String {
        let space = if is_generic { String::new() } else { format!(".{}", place.space) };
        let vector = if count > 1 { format!(".v{count}") } else { String::new() };
        let name = if op.is_store { "st" } else { "ld" };
        let is_global = place.space == "global" && !is_generic;
        let is_strong = matches!(place.space, "global" | "shared");
        let (before, after) = match op.qualifier {
            "volatile" if is_strong => (".volatile".to_owned(), ""),
            "relaxed.gpu" if is_strong && self.program.arch >= 70 => (format!(".{}", op.qualifier), ""),
            "acquire.gpu" if is_strong && self.program.arch >= 70 => {
                (if op.is_store { ".release.gpu" } else { ".acquire.gpu" }.to_owned(), "")
            }
            "nc" if is_global && !op.is_store && !place.is_writable => (String::new(), ".nc"),
            "ca" if is_global && !op.is_store => (String::new(), ".ca"),
            "cg" if is_global => (String::new(), ".cg"),
            "cs" if is_global => (String::new(), ".cs"),
            _ => (String::new(), ""),
        };
        format!("{name}{before}{space}{after}{vector}.{}", op.kind)
    }

    /// The values of a store. Floats go out with their NaNs made one, since the bytes may be read as anything.
    fn stored(&mut self, op: &MemoryOp) -> Vec<String> {
        let mut values = Vec::new();
        for &operand in &op.uses {
            let value = self.operand(operand, op.class, '=');
            let is_float = matches!(op.class, Class::F | Class::D);
            values.push(if is_float { self.canonical(&value, op.class) } else { value });
        }
        values
    }

    /// An atomic operation.
    pub fn atomic(&mut self, atomic: &Atomic) {
        match atomic.place {
            AtomicPlace::Own => self.own_atomic(atomic),
            AtomicPlace::Global if self.function.is_none() => {
                let base = self.base("counters");
                self.count(atomic, "global", &base);
            }
            AtomicPlace::Shared if self.function.is_none() => {
                let base = self.base("totals");
                self.count(atomic, "shared", &base);
            }
            _ => {}
        }
    }

    fn count(&mut self, atomic: &Atomic, space: &str, base: &str) {
        let location = usize::from(atomic.location) % COUNTER_OPS.len();
        let (operation, class) = COUNTER_OPS[location];
        let value = self.operand(atomic.value, class, '=');
        let guard = self.guard_prefix(atomic.guard);
        let at = format!("[{base}+{}]", location * 8);
        if atomic.is_reduction {
            return self.line(format!("{guard}red.{space}.{operation} {at}, {value};"));
        }
        let unused = self.temp(class);
        self.line(format!("{guard}atom.{space}.{operation} {unused}, {at}, {value};"));
    }

    fn own_atomic(&mut self, atomic: &Atomic) {
        if !self.reaches(Space::Own) {
            return;
        }
        let location = u32::from(atomic.location);
        let (operation, class, count) = OWN_OPS[location as usize % OWN_OPS.len()];
        let base = self.base("own");
        let value = self.operand(atomic.value, class, '=');
        let mut operands = vec![value];
        if count == 2 {
            operands.insert(0, self.operand(Operand::Imm(u64::from(location)), class, '<'));
        }
        let def = self.definitions(&[atomic.def], &[(class, false)]).remove(0);
        let guard = self.guard_prefix(atomic.guard);
        let at = format!("[{base}+{}]", location * 8 % super::RESULT_OFFSET);
        self.line(format!("{guard}atom.global.{operation} {def}, {at}, {};", operands.join(", ")));
    }

    /// The totals of shared counters, after a barrier, in registers that are folded into the output.
    pub fn totals(&mut self) -> Vec<(String, Class)> {
        let base = self.base("totals");
        self.line("bar.sync 0;");
        let loads = COUNTER_OPS.iter().enumerate().map(|(at, &(_, class))| (at * 8, class));
        let mut totals = Vec::new();
        for (offset, class) in loads {
            let total = self.temp(class);
            let kind = if class == Class::L { "u64" } else { "u32" };
            self.line(format!("ld.shared.{kind} {total}, [{base}+{offset}];"));
            totals.push((total, class));
        }
        totals
    }

    /// Where the thread's results go.
    pub fn store_result(&mut self, value: &str, class: Class) {
        let base = self.base("own");
        let kind = if class == Class::L { "u64" } else { "u32" };
        self.line(format!("st.global.{kind} [{base}+{}], {value};", OWN_BYTES - 16));
    }
}

/// Bytes of a type in memory.
pub(crate) fn kind_bytes(kind: &str) -> u32 {
    kind[1..].parse::<u32>().map_or(0, |bits| bits / 8)
}

fn braced(texts: &[String]) -> String {
    if let [text] = texts { text.clone() } else { format!("{{{}}}", texts.join(", ")) }
}
