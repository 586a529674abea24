//! Addresses: where the address of each `.local` variable goes, and the accesses at the end of each way.
//!
//! A register holds an address when each of its definitions makes the same one. The tracer sees each register once, when
//! the first definition gives it an address, and counts the definitions that do; where that is not all of them, the
//! variable escapes. So no fixpoint is needed: a value that turns out wrong belongs to a variable that escapes.
//!
//! What is added to an address is bounded by what is known of it ([`numbers`](super::numbers)). Where that comes from local
//! variables, a first walk finds the accesses that are needed to know it ([`indices`](super::indices)), and a second one uses
//! it. An address with a number of which nothing is known may be anywhere in its variable: outside of it is undefined.

use super::elements::{elements, unread};
use super::indices::{Indices, KnownLeaves};
use super::numbers::Sources;
use super::pointers::Pointers;
use super::ranges::Range;
use ahash::AHashMap;
use ptxopt_components::form::{Form, Role};
use ptxopt_components::ids::{BlockId, Id, InstId, NameId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{CacheOperator, Modifiers, Ordering, Qualifiers};
use ptxopt_components::types::StateSpace;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::def_use::{DefUse, OperandRef};

/// An instruction, and why it keeps something in memory.
pub type Refusal = (InstId, &'static str);

/// A `.local` variable of the body.
pub struct Variable {
    /// Bytes.
    pub size: u32,
    /// Bytes of which its address is a multiple.
    pub align: u32,
    /// Why all of it stays in memory.
    pub escape: Option<Refusal>,
}

/// A load or store of bytes of a variable that does not escape.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The instruction.
    pub inst: InstId,
    /// Its block.
    pub block: BlockId,
    /// Its place among the rows of the function, in the order of the text.
    pub position: u32,
    /// Whether it is a load.
    pub is_load: bool,
    /// Index of the variable.
    pub variable: u32,
    /// The first byte that it may touch.
    pub low: u32,
    /// One past the last byte that it may touch.
    pub high: u32,
    /// Why it stays.
    pub refusal: Option<&'static str>,
    /// The values that are loaded and that nothing reads, as bits.
    pub unread: u8,
}

/// An address inside a variable, or near it: from `offset.low` to `offset.high` bytes from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Index of the variable.
    pub variable: u32,
    /// Local for an address in the space, generic for a generic address.
    pub space: StateSpace,
    /// The distance from its start.
    pub offset: Range,
}

impl Address {
    /// An address that may be either: nothing is said of what may be in two variables, or in two spaces.
    pub(super) fn join(self, other: Self) -> Option<Self> {
        let is_alike = (self.variable, self.space) == (other.variable, other.space);
        is_alike.then(|| Self { offset: self.offset.join(other.offset), ..self })
    }

    /// Whether whatever is the other address may be this one.
    pub(super) fn covers(self, other: Self) -> bool {
        self.join(other) == Some(self)
    }
}

/// What a walk takes for granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// Nothing: what it finds is right.
    Nothing,
    /// That accesses at computed addresses leave pointers alone.
    Computed,
}

/// Finds the accesses to the variables of a function. Its memory is used again.
#[derive(Default)]
pub struct Tracer {
    /// The variables of the body.
    pub variables: Vec<Variable>,
    /// Their accesses, those of variables that escape too.
    pub accesses: Vec<Access>,
    by_name: AHashMap<NameId, u32>,
    /// By register.
    values: Vec<Option<Address>>,
    /// By register: definitions that make that address.
    hits: Vec<u32>,
    /// Registers that hold an address.
    holders: Vec<VRegId>,
    /// The registers of those that were followed.
    followed: usize,
    /// Addresses that were stored in memory.
    pointers: Pointers,
    /// Memory of [`Sources::positions`].
    positions: Vec<u32>,
    /// Numbers that were added to addresses and are not constant.
    pub(super) addends: Vec<OperandRef>,
    indices: Indices,
    /// Why less is known of addresses than could be.
    pub limit: Option<Refusal>,
}

/// Variables that addresses are stored in one after the other: a function that was inlined into another adds one.
const POINTER_ROUNDS_MAX: u32 = 16;

/// Why an access stays that may go to several places.
pub const NOT_CONSTANT: &str = "the offset of an access to a local variable is not constant";

const OTHER_WIDTH: &str = "an access to a local variable has another width than registers have";

const UNDER_GUARD: &str = "the address of a local variable is made under a guard";

/// What a walk along the addresses reads.
struct Looks<'a> {
    sources: Sources<'a>,
    known: &'a KnownLeaves,
}

impl Tracer {
    /// Finds the variables of the function and all accesses to them.
    ///
    /// # Errors
    /// Where nothing is known of any variable.
    pub fn trace(
        &mut self,
        view: &FunctionView<'_>,
        forms: &FormTable,
        def_use: &DefUse,
    ) -> Result<(), Refusal> {
        let mut positions = std::mem::take(&mut self.positions);
        number_rows(view, &mut positions);
        let result = self.trace_in(Sources { view, forms, def_use, positions: &positions });
        self.positions = positions;
        result
    }

    fn trace_in(&mut self, sources: Sources<'_>) -> Result<(), Refusal> {
        self.limit = None;
        self.walk(sources, &KnownLeaves::default(), Trust::Nothing)?;
        if self.addends.is_empty() {
            return Ok(());
        }
        let mut indices = std::mem::take(&mut self.indices);
        let result = indices.bound(sources, self);
        self.indices = indices;
        result
    }

    /// Finds the accesses with what is known of leaves.
    pub(super) fn walk(
        &mut self,
        sources: Sources<'_>,
        known: &KnownLeaves,
        trust: Trust,
    ) -> Result<(), Refusal> {
        self.start(sources.view);
        let looks = Looks { sources, known };
        for block in sources.view.block_ids() {
            for (inst, _, operands) in sources.view.rows_of(block) {
                for (at, operand) in operands.iter().enumerate() {
                    match operand.kind() {
                        OperandKind::Symbol(name) => self.visit_symbol(&looks, inst, at, name),
                        OperandKind::Text(_) => {
                            return Err((inst, "copied text may name a local variable"));
                        }
                        _ => {}
                    }
                }
            }
        }
        self.follow(&looks);
        if !self.pointers.is_empty() {
            self.follow_pointers(&looks, trust);
        }
        for at in 0..self.holders.len() {
            let vreg = self.holders[at];
            if self.hits[vreg.index()] as usize != sources.def_use.def_count(vreg) {
                let address = self.values[vreg.index()].expect("only registers with an address are listed");
                let inst = sources.def_use.defs(vreg).next().map_or(InstId(0), |at| at.inst);
                self.escape(
                    address,
                    (inst, "a register holds the address of a local variable or something else"),
                );
            }
        }
        self.pointers.escape_with(&mut self.variables);
        for access in &mut self.accesses {
            access.position = sources.position(access.inst);
        }
        Ok(())
    }

    /// Visits the uses of registers that hold an address.
    fn follow(&mut self, looks: &Looks<'_>) {
        while let Some(&vreg) = self.holders.get(self.followed) {
            self.followed += 1;
            let address = self.values[vreg.index()].expect("only registers with an address are listed");
            for at in looks.sources.def_use.uses(vreg) {
                self.visit(looks, at, address);
            }
        }
    }

    /// Follows addresses through the local variables that they are stored in.
    fn follow_pointers(&mut self, looks: &Looks<'_>, trust: Trust) {
        let mut pointers = std::mem::take(&mut self.pointers);
        let mut loads = Vec::new();
        for _ in 0..POINTER_ROUNDS_MAX {
            pointers.find_loads(looks.sources, &self.accesses, &mut loads);
            if loads.is_empty() {
                break;
            }
            for (inst, address) in loads.drain(..) {
                let is_guarded = looks.sources.view.guard_of(inst).is_some();
                let made = if is_guarded { Err(UNDER_GUARD) } else { self.define(looks, inst, address) };
                if let Err(reason) = made {
                    self.escape(address, (inst, reason));
                }
            }
            // What the uses of the loaded addresses store comes to the list of the tracer.
            self.follow(looks);
            pointers.stored.append(&mut self.pointers.stored);
        }
        let is_strict = trust == Trust::Nothing;
        let limit = pointers.check(looks.sources, &self.accesses, &mut self.variables, is_strict);
        self.limit = self.limit.or(limit);
        self.pointers = pointers;
    }

    /// Whether addresses of local variables are stored.
    pub(super) fn has_pointers(&self) -> bool {
        !self.pointers.is_empty()
    }

    /// Number of registers that hold an address.
    #[must_use]
    pub fn address_count(&self) -> usize {
        self.holders.len()
    }

    /// The address that a register holds; none where its variable escapes.
    #[must_use]
    pub fn address_in(&self, vreg: VRegId) -> Option<Address> {
        let address = self.values[vreg.index()]?;
        self.variables[address.variable as usize].escape.is_none().then_some(address)
    }

    /// The stores of addresses of local variables.
    pub fn address_stores(&self) -> impl Iterator<Item = InstId> + '_ {
        self.pointers.stored.iter().map(|&(inst, _)| inst)
    }

    /// The places of rows in the order of the text, by instruction: what [`Sources`] asks for.
    #[must_use]
    pub fn positions(&self) -> &[u32] {
        &self.positions
    }

    fn start(&mut self, view: &FunctionView<'_>) {
        self.variables.clear();
        self.accesses.clear();
        self.by_name.clear();
        self.holders.clear();
        self.followed = 0;
        self.pointers.start(view);
        self.addends.clear();
        self.values.clear();
        self.values.resize(view.vregs.len(), None);
        self.hits.clear();
        self.hits.resize(view.vregs.len(), 0);
        for decl in view.decls {
            if decl.space == StateSpace::Local && decl.size > 0 {
                self.by_name.insert(decl.name, self.variables.len() as u32);
                self.variables.push(Variable { size: decl.size, align: decl.align, escape: None });
            }
        }
    }

    fn escape(&mut self, address: Address, why: Refusal) {
        self.variables[address.variable as usize].escape.get_or_insert(why);
    }

    fn visit_symbol(&mut self, looks: &Looks<'_>, inst: InstId, position: usize, name: NameId) {
        let Some(&variable) = self.by_name.get(&name) else { return };
        let address = Address { variable, space: StateSpace::Local, offset: Range::exact(0) };
        self.visit(looks, OperandRef { inst, position }, address);
    }

    /// Looks at an operand that names a register or symbol which is `address`.
    fn visit(&mut self, looks: &Looks<'_>, at: OperandRef, address: Address) {
        let Sources { view, forms, .. } = looks.sources;
        let operand = view.operands_of(at.inst)[at.position];
        let head = &view.heads[at.inst.index()];
        let form = forms.get(head.form);
        let found = match forms.slots(head.form).get(at.position).map(|slot| slot.role) {
            _ if operand.selector().is_some() => Err("a part of the address of a local variable is read"),
            Some(role) => {
                let address = looks.with_payload(address, operand);
                match (role, form.operation) {
                    (Role::Address, Operation::Ld | Operation::St) => self.access(looks, form, at, address),
                    (Role::Use, Operation::St) if form.space != StateSpace::Param && form.lanes == 1 => {
                        self.pointers.store(at.inst, address);
                        Ok(())
                    }
                    (Role::Use, _) => {
                        let align = self.variables[address.variable as usize].align;
                        let derived = looks.derive(form, at, address, align, &mut self.addends);
                        derived.and_then(|address| self.define(looks, at.inst, address))
                    }
                    _ => Err(other_use(form)),
                }
            }
            None => Err(other_use(form)),
        };
        if let Err(reason) = found {
            self.escape(address, (at.inst, reason));
        }
    }

    /// Notes that the result of `inst` is `address`.
    fn define(&mut self, looks: &Looks<'_>, inst: InstId, address: Address) -> Result<(), &'static str> {
        let view = looks.sources.view;
        let result = view.operands_of(inst)[0];
        let whole = looks.sources.whole_register(OperandRef { inst, position: 0 });
        let vreg = whole.filter(|_| !result.is_partial());
        let vreg = vreg.ok_or("the address of a local variable becomes part of a register")?;
        let shared = VRegFlags::UNKNOWN_AT_START | VRegFlags::FORMAL;
        if view.vregs[vreg.index()].flags.intersects(shared) {
            return Err("the address of a local variable leaves the function in a register");
        }
        match self.values[vreg.index()] {
            None => {
                self.values[vreg.index()] = Some(address);
                self.hits[vreg.index()] = 1;
                self.holders.push(vreg);
            }
            Some(known) if known == address => self.hits[vreg.index()] += 1,
            Some(known) => {
                const REASON: &str = "a register holds one of several addresses of local variables";
                self.escape(known, (inst, REASON));
                return Err(REASON);
            }
        }
        Ok(())
    }

    /// Notes the load or store through `address`.
    fn access(
        &mut self,
        looks: &Looks<'_>,
        form: &Form,
        at: OperandRef,
        address: Address,
    ) -> Result<(), &'static str> {
        let view = looks.sources.view;
        if form.space != address.space {
            return Err("the address of a local variable is used in another space");
        }
        let variable = &self.variables[address.variable as usize];
        let ty = form.types[0].ok_or("an access to a local variable has no type")?;
        let bytes = i64::from(ty.bits() / 8) * i64::from(form.lanes);
        if bytes == 0 {
            return Err(OTHER_WIDTH);
        }
        let size = i64::from(variable.size);
        let offset = if form.space == StateSpace::Local { address.offset.in_local() } else { address.offset };
        let (low, high) = (offset.low, offset.high.saturating_add(bytes));
        let is_exact = offset.low == offset.high;
        // No place where it may go is inside.
        if low > size - bytes || high < bytes {
            return Err("an access lies outside of its local variable");
        }
        let (low, high) = (low.max(0) as u32, high.min(size) as u32);
        let is_aligned = (low % bytes as u32, variable.align % bytes as u32) == (0, 0);
        let refusal = if !is_exact {
            Some(NOT_CONSTANT)
        } else if !is_plain(&looks.sources.forms.describe(view.heads[at.inst.index()].form).qualifiers) {
            Some("an access to a local variable is volatile, ordered or qualified")
        } else if !matches!(ty.bits(), 8 | 16 | 32 | 64) {
            Some(OTHER_WIDTH)
        } else if !is_aligned {
            Some("an access to a local variable is not aligned")
        } else if elements(view, looks.sources.forms, at.inst).is_none() {
            Some("an access to a local variable moves something else than whole registers and literals")
        } else {
            None
        };
        let block = view.heads[at.inst.index()].block;
        let variable = address.variable;
        let unread = unread(looks.sources, at.inst);
        self.accesses.push(Access {
            inst: at.inst,
            block,
            position: 0,
            is_load: form.operation == Operation::Ld,
            variable,
            low,
            high,
            refusal,
            unread,
        });
        Ok(())
    }
}

/// Fills in the places of rows by instruction.
fn number_rows(view: &FunctionView<'_>, positions: &mut Vec<u32>) {
    positions.clear();
    positions.resize(view.heads.len(), 0);
    let rows = view.block_ids().flat_map(|block| view.rows_of(block));
    for (position, (inst, ..)) in rows.enumerate() {
        positions[inst.index()] = position as u32;
    }
}

/// Whether qualifiers say nothing about a private variable in registers: hints, and the order that every access has.
fn is_plain(qualifiers: &Qualifiers) -> bool {
    let order = matches!(qualifiers.ordering, None | Some(Ordering::Weak));
    let cache = !matches!(qualifiers.cache, Some(CacheOperator::Volatile | CacheOperator::WriteThrough));
    order && cache && qualifiers.scope.is_none() && qualifiers.modifiers == Modifiers::empty()
}

impl Looks<'_> {
    /// The address that an operand with an offset is.
    fn with_payload(&self, address: Address, operand: Operand) -> Address {
        let wide = || Some(self.sources.view.pools.literals[operand.wide_offset()?.index()].bits as i64);
        let offset = operand.offset().map(i64::from).or_else(wide).unwrap_or(0);
        Address { offset: address.offset.plus(Range::exact(offset)), ..address }
    }

    /// The address that an instruction makes of `address`, whose variable is aligned to `align` bytes.
    fn derive(
        &self,
        form: &Form,
        at: OperandRef,
        address: Address,
        align: u32,
        addends: &mut Vec<OperandRef>,
    ) -> Result<Address, &'static str> {
        let Sources { view, forms, .. } = self.sources;
        if view.guard_of(at.inst).is_some() {
            return Err(UNDER_GUARD);
        }
        let qualifiers = &forms.describe(view.heads[at.inst.index()].form).qualifiers;
        let with_space = |space| Ok(Address { space, offset: address.offset.in_local(), ..address });
        let is_of_local = form_space(qualifiers) == Some(StateSpace::Local);
        // The width of an address: an immediate counts as a number of that width.
        let ty = form.types[0].filter(|ty| matches!(ty.bits(), 32 | 64)).ok_or_else(|| other_use(form))?;
        let mut other = || {
            let at = OperandRef { inst: at.inst, position: 3 - at.position };
            let mut known = self.known;
            let addend = self.sources.addend(&mut known, at, ty).unwrap_or(Range::ANY);
            if addend.value().is_none() {
                addends.push(at);
            }
            addend
        };
        let is_plain = *qualifiers == Qualifiers::default();
        match (form.operation, address.space) {
            (Operation::Mov, _) if is_plain && form.lanes == 1 && !self.has_vector(form, at.inst) => {
                Ok(address)
            }
            (Operation::Cvta, StateSpace::Local) if is_of_local => with_space(StateSpace::Generic),
            (Operation::CvtaTo, StateSpace::Generic) if is_of_local => with_space(StateSpace::Local),
            (Operation::Add, _) if is_plain => {
                Ok(Address { offset: address.offset.plus(other()), ..address })
            }
            (Operation::Sub, _) if is_plain && at.position == 1 => {
                Ok(Address { offset: address.offset.plus(other().negated()), ..address })
            }
            // Bits that are clear in the address: an addition.
            (Operation::Or, _) if is_plain => {
                let bits = other();
                Ok(Address { offset: with_bits(address.offset, bits, i64::from(align)), ..address })
            }
            _ => Err(other_use(form)),
        }
    }

    /// Whether the operands of a move are vectors.
    fn has_vector(&self, form: &Form, inst: InstId) -> bool {
        let Sources { view, forms, .. } = self.sources;
        let slots = forms.slots(view.heads[inst.index()].form);
        debug_assert_eq!(form.slots.len(), slots.len());
        slots.iter().any(|slot| slot.in_vector)
    }
}

/// The distance of an address from a start that is aligned to `align`, when bits are set in it.
fn with_bits(offset: Range, bits: Range, align: i64) -> Range {
    let lowest = |number: i64| number & number.wrapping_neg();
    match (offset.value(), bits.value()) {
        (Some(offset), Some(bits)) if (0..lowest(align)).contains(&bits) => Range::exact(offset | bits),
        // Bits below all that may be set.
        (Some(distance), None) if bits.low >= 0 && bits.high < lowest(distance | align) => offset.plus(bits),
        _ => Range::ANY,
    }
}

/// The space that qualifiers name.
fn form_space(qualifiers: &Qualifiers) -> Option<StateSpace> {
    qualifiers.space.map(|space| space.state_space())
}

/// Why an instruction that takes an address keeps its variable in memory.
fn other_use(form: &Form) -> &'static str {
    match form.operation {
        Operation::Call => "the address of a local variable goes to a call",
        Operation::St if form.space == StateSpace::Param => "the address of a local variable goes to a call",
        Operation::St => "the address of a local variable is stored",
        Operation::Setp | Operation::Set => "the address of a local variable is compared",
        Operation::Selp | Operation::Slct => "a register holds one of several addresses of local variables",
        Operation::Atom | Operation::Red => "a local variable is accessed by an atomic instruction",
        _ => "the address of a local variable goes to an instruction that is no plain access",
    }
}
