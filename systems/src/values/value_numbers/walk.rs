//! The walk that gives numbers.

use super::meanings::{Meaning, Meanings, Memory, Source as From};
use super::memory::{Chain, Chains, Change, Seen};
use super::overwritten::Overwritten;
use super::places::{Address, Base, Bytes};
use crate::values::general_optimize::constants::{bits_in, extend, truncate};
use ahash::{AHashMap, RandomState};
use hashbrown::HashTable;
use ptxopt_components::anchor::{AnchorKind, Decl};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::form::{Form, FormFlags, Slot};
use ptxopt_components::ids::{BlockId, Id, InstId, NameId, Span, VRegId};
use ptxopt_components::operand::{OPERAND_ID_MAX, Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::special_registers::{Reading, SPECIAL_REGISTERS};
use ptxopt_components::types::{PtxType, StateSpace, TypeKind};
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::phis::{NO_VALUE, incoming};
use ptxopt_engine::values::reaching::{Place, Reaching, Value};

/// An instruction whose results are known before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Again {
    /// The instruction.
    pub inst: InstId,
    /// What its results are.
    pub known: Known,
}

/// What is known of the results of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The only one has this number.
    Number(u32),
    /// They have the numbers of the results of another instruction, one by one.
    LikeResultsOf(InstId),
    /// Another instruction computed them under the same guard, and its results still hold them.
    HeldByResultsOf(InstId),
}

/// Where a value can be had from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A register.
    Register(VRegId),
    /// A constant: an operand that takes no pool, or the bits of a longer one.
    Constant(Constant),
}

/// A constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Constant {
    /// The bits, those of an integer extended with its sign.
    bits: u64,
    /// Whether they are those of a float.
    is_float: bool,
    /// Bits of the value.
    width: u32,
}

impl Constant {
    /// The bits, the unused ones 0.
    #[must_use]
    pub fn bits(self) -> u64 {
        truncate(self.bits, self.width)
    }
}

/// A number that is no register's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Other {
    Constant(Constant),
    Variable(VRegId, Value),
}

/// An expression of the table.
struct Entry {
    key: Span,
    /// The instruction that computed it first.
    inst: InstId,
}

/// The numbers of the values of a function. Its memory is used again.
#[derive(Default)]
pub struct ValueNumbers {
    meanings: Meanings,
    chains: Chains,
    overwritten: Overwritten,
    /// By register; [`NO_NUMBER`] where it is no value.
    numbers: Vec<u32>,
    others: Vec<Other>,
    other_numbers: AHashMap<Other, u32>,
    table: HashTable<Entry>,
    keys: Vec<u64>,
    hasher: Hasher,
    changes: Vec<Change>,
    used: Vec<Chain>,
    /// Variables of the body, and their bytes where these are known; parameters of calls among them.
    variables: AHashMap<NameId, Option<u32>>,
    again: Vec<Again>,
    /// Instructions with a pragma of their own, in order: of the bytes that a `used_bytes_mask` leaves out nothing is known.
    masked: Vec<InstId>,
    /// Whether some declaration of the body is a family, whose members are not listed.
    has_families: bool,
}

/// Hashes keys the same way in every run.
struct Hasher(RandomState);

impl Default for Hasher {
    fn default() -> Self {
        Self(RandomState::with_seeds(0x6e_75, 0x6d_62, 0x65_72, 0x73))
    }
}

impl Hasher {
    fn hash_one(&self, key: &[u64]) -> u64 {
        self.0.hash_one(key)
    }
}

const NO_NUMBER: u32 = u32::MAX;

/// The table has at most so many times the room that a function needs that has at least so many instructions.
const ROOM_MAX: usize = 8;
const ROOM_LEAST: usize = 256;

/// Additions that an address is followed back through.
const ADDRESS_STEPS_MAX: u32 = 8;

impl ValueNumbers {
    /// Numbers the values of a function in SSA form whose instruction ids are in program order.
    pub fn find(&mut self, function: &FunctionView<'_>, forms: &FormTable, reaching: &mut Reaching) {
        self.start(function, forms, reaching);
        for at in 0..reaching.tree().preorder().len() {
            let block = reaching.tree().preorder()[at];
            self.chains.enter(function, block);
            let mut walk = Walk { numbers: self, function, forms, reaching, block };
            for (inst, head, operands) in function.rows_of(block) {
                if head.is_phi() {
                    walk.visit_phi(inst, operands);
                } else {
                    let meaning = *walk.numbers.meanings.of(head.form);
                    walk.visit(inst, &meaning, head.opcode.is_guarded(), operands);
                }
            }
            self.chains.leave(block);
            self.overwritten.look_at_all();
        }
    }

    /// The instructions whose results are known before them, in the order of a preorder of the dominator tree.
    #[must_use]
    pub fn again(&self) -> &[Again] {
        &self.again
    }

    /// Stores whose bytes are stored again before anything can look at them.
    #[must_use]
    pub fn overwritten(&self) -> &[InstId] {
        &self.overwritten.found
    }

    /// How many numbers there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.numbers.len() + self.others.len()
    }

    /// The number of what a register holds that is a value; of others it says nothing.
    #[must_use]
    pub fn of(&self, vreg: VRegId) -> u32 {
        self.numbers[vreg.index()]
    }

    /// Where a number can be had from without a look at where it is defined: from its first register, or it is a constant.
    #[must_use]
    pub fn source(&self, number: u32) -> Option<Source> {
        match (number as usize).checked_sub(self.numbers.len()) {
            None => Some(Source::Register(VRegId(number))),
            Some(other) => match self.others[other] {
                Other::Constant(constant) => Some(Source::Constant(constant)),
                Other::Variable(..) => None,
            },
        }
    }

    /// Looks at memory that ended at the limit.
    #[must_use]
    pub fn limit_hits(&self) -> u64 {
        self.chains.limit_hits
    }

    fn start(&mut self, function: &FunctionView<'_>, forms: &FormTable, reaching: &Reaching) {
        self.meanings.update(forms);
        self.numbers.clear();
        self.numbers.extend(
            function
                .vregs
                .iter()
                .zip(0..)
                .map(|(vreg, number)| if vreg.flags.intersects(NO_VALUE) { NO_NUMBER } else { number }),
        );
        self.others.clear();
        self.other_numbers.clear();
        // A table that was made for a large function takes as long to clear as that one had instructions, and one that
        // grows hashes all again.
        let count = function.live_inst_count().max(ROOM_LEAST);
        if self.table.capacity() < count || self.table.capacity() > ROOM_MAX * count {
            self.table = HashTable::with_capacity(count);
            self.other_numbers = AHashMap::new();
            self.variables = AHashMap::new();
        }
        self.table.clear();
        self.keys.clear();
        self.again.clear();
        self.variables.clear();
        let size = |decl: &Decl| (decl.size != 0 && !decl.is_family).then_some(decl.size);
        self.variables.extend(function.decls.iter().map(|decl| (decl.name, size(decl))));
        self.has_families = function.decls.iter().any(|decl| decl.is_family);
        let pragmas = function.anchors.iter().filter(|anchor| anchor.kind == AnchorKind::InstPragma);
        self.masked.clear();
        self.masked.extend(pragmas.map(|anchor| anchor.before));
        self.masked.sort_unstable();
        self.overwritten.start();
        self.list_changes(function);
        self.chains.start(function, reaching.tree(), &self.used, &self.changes);
    }

    /// Lists what changes memory, and the chains that more than one access reads, or one that another one writes.
    fn list_changes(&mut self, function: &FunctionView<'_>) {
        let Self { meanings, changes, used, .. } = self;
        changes.clear();
        used.clear();
        let mut loads = [0u32; 5];
        for (_, head, _) in function.rows() {
            let meaning = meanings.of(head.form);
            if let From::Load(chain) = meaning.source {
                loads[chain as usize] += 1;
                if loads[chain as usize] == 1 {
                    used.push(chain);
                }
            }
            match meaning.memory {
                Memory::Untouched | Memory::Look => {}
                Memory::Store(space) => changes.push(Change { block: head.block, space: Some(space) }),
                Memory::Clobber => changes.push(Change { block: head.block, space: None }),
            }
        }
        let has_stores = changes.iter().any(|change| change.space.is_some());
        used.retain(|&chain| loads[chain as usize] > 1 || has_stores && chain != Chain::ReadOnly);
    }

    /// The number of something that is no register.
    fn number_of(&mut self, other: Other) -> u32 {
        let next = (self.numbers.len() + self.others.len()) as u32;
        let number = *self.other_numbers.entry(other).or_insert(next);
        if number == next {
            self.others.push(other);
        }
        number
    }
}

/// What becomes of an instruction's results.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Results {
    /// Values, which get numbers.
    Values,
    /// A variable is among them: only what another instruction has computed is of use.
    Variables,
}

/// The walk in a block.
struct Walk<'w, 'v> {
    numbers: &'w mut ValueNumbers,
    function: &'w FunctionView<'v>,
    forms: &'w FormTable,
    reaching: &'w mut Reaching,
    block: BlockId,
}

impl<'w> Walk<'w, '_> {
    fn visit(&mut self, inst: InstId, meaning: &Meaning, is_guarded: bool, operands: &[Operand]) {
        if let From::Load(_) = meaning.source {
            self.look(inst, operands);
        }
        if meaning.source != From::Elsewhere {
            let (guard, operands) = match operands.split_last() {
                Some((&guard, rest)) if is_guarded => (Some(guard), rest),
                _ => (None, operands),
            };
            let _ = self.number(inst, meaning, guard, operands);
        }
        match meaning.memory {
            Memory::Untouched => {}
            Memory::Look => self.numbers.overwritten.look_at_all(),
            Memory::Clobber => {
                self.numbers.chains.clobber();
                self.numbers.overwritten.look_at_all();
            }
            Memory::Store(space) => self.store(inst, space, is_guarded, operands),
        }
    }

    /// Notes what a load looks at.
    fn look(&mut self, inst: InstId, operands: &[Operand]) {
        if self.numbers.overwritten.is_empty() {
            return;
        }
        let form = self.form(inst);
        let address = operands.iter().copied().find(|operand| !operand.is_definition());
        let is_plain = matches!(form.operation, Operation::Ld | Operation::Ldu);
        match address.filter(|_| is_plain).and_then(|address| self.bytes(inst, form.space, address)) {
            Some(bytes) => self.numbers.overwritten.look_at(bytes),
            None => self.numbers.overwritten.look_at_all(),
        }
    }

    fn store(&mut self, inst: InstId, space: StateSpace, is_guarded: bool, operands: &[Operand]) {
        let Some(bytes) = self.bytes(inst, space, operands[0]) else {
            self.numbers.chains.clobber();
            self.numbers.overwritten.look_at_all();
            return;
        };
        self.numbers.chains.store((!is_guarded).then_some(inst), bytes);
        // A sink among the elements leaves its bytes as they are.
        let has_sinks = operands.iter().any(|operand| operand.kind() == OperandKind::Sink);
        self.numbers.overwritten.store(inst, bytes, is_guarded || has_sinks);
    }

    /// Looks an instruction up; gives nothing where it has no number.
    fn number(
        &mut self,
        inst: InstId,
        meaning: &Meaning,
        guard: Option<Operand>,
        operands: &[Operand],
    ) -> Option<()> {
        let results = self.results(operands)?;
        if meaning.source == From::Move {
            if guard.is_some() || results == Results::Variables {
                // Nothing is cheaper than a move.
                return None;
            }
            if let Some(number) = self.moved(inst, operands) {
                self.numbers.numbers[operands[0].vreg()?.index()] = number;
                return Some(());
            }
        }
        if let From::Load(_) = meaning.source
            && self.numbers.masked.binary_search(&inst).is_ok()
        {
            return None;
        }
        if meaning.source == From::Parameter && !self.is_kernel_parameter(operands) {
            return None;
        }
        let first = self.numbers.keys.len();
        let is_kept = self
            .push_key(inst, meaning, operands)
            .is_some_and(|()| self.look_up(inst, meaning, guard, results, operands, first));
        if !is_kept {
            self.numbers.keys.truncate(first);
        }
        Some(())
    }

    /// What its results are; nothing where something else may look at them, or not all of them are written.
    fn results(&self, operands: &[Operand]) -> Option<Results> {
        let mut results = Results::Values;
        for operand in operands.iter().take_while(|operand| operand.is_definition()) {
            let vreg = operand.vreg()?;
            if operand.is_partial() {
                return None;
            }
            if self.numbers.of(vreg) == NO_NUMBER {
                self.is_variable(vreg).then_some(())?;
                results = Results::Variables;
            }
        }
        operands.first().filter(|operand| operand.is_definition())?;
        Some(results)
    }

    /// The number of what a move moves, if nothing is lost on the way.
    fn moved(&mut self, inst: InstId, operands: &[Operand]) -> Option<u32> {
        let &[result, source] = operands else { return None };
        let slots = self.slots(inst);
        let ty = slots[1].ty?;
        let width = |vreg: VRegId| {
            let ty = self.function.vregs[vreg.index()].ty;
            ty.element().bits() * u32::from(ty.lanes)
        };
        if width(result.vreg()?) != ty.bits() {
            return None;
        }
        match source.kind() {
            OperandKind::Register { vreg, minus: false } if !source.has_payload() => {
                (width(vreg) == ty.bits()).then(|| self.register(vreg, inst)).flatten()
            }
            OperandKind::Predicate { vreg, negated: false } => self.register(vreg, inst),
            OperandKind::Int(_) | OperandKind::F32(_) | OperandKind::Literal(_) => {
                let constant = self.constant(source, ty)?;
                Some(self.numbers.number_of(Other::Constant(constant)))
            }
            _ => None,
        }
    }

    /// Whether a load reads a parameter of the kernel by its name: nobody writes those.
    fn is_kernel_parameter(&self, operands: &[Operand]) -> bool {
        let is_own = |name: NameId| !self.numbers.variables.contains_key(&name);
        self.function.state.flags.contains(CodeFlags::ENTRY)
            && !self.numbers.has_families
            && operands.iter().filter(|operand| !operand.is_definition()).all(|operand| {
                match operand.kind() {
                    OperandKind::Symbol(name) => is_own(name),
                    _ => false,
                }
            })
    }

    /// Appends the key of an instruction, but for its guard.
    fn push_key(&mut self, inst: InstId, meaning: &Meaning, operands: &[Operand]) -> Option<()> {
        let mut widths = 0u64;
        let mut result_count = 0;
        for operand in operands.iter().take_while(|operand| operand.is_definition()) {
            let ty = self.function.vregs[operand.vreg()?.index()].ty;
            widths = widths << 8 | u64::from(ty.element().bits() & 0xFF);
            result_count += 1;
        }
        if result_count > 4 {
            return None;
        }
        self.numbers.keys.push(widths << 32 | u64::from(meaning.class) << 1);
        let sources = self.numbers.keys.len();
        let mut rest = result_count;
        if let From::Load(chain) = meaning.source {
            let words = self.load_words(inst, chain, operands[result_count], result_count)?;
            self.numbers.keys.extend(words);
            rest += 1;
        }
        for (position, &operand) in operands.iter().enumerate().skip(rest) {
            if operand.is_definition() {
                return None;
            }
            let word = self.word(inst, operand, position)?;
            self.numbers.keys.push(word);
        }
        let at = |position: u8| sources + usize::from(position) - result_count;
        if let Some(first) = meaning.mirrored {
            self.numbers.keys.swap(at(first), at(first) + 1);
        } else if let Some(first) = meaning.commutes {
            self.numbers.keys[at(first)..=at(first) + 1].sort_unstable();
        }
        Some(())
    }

    /// What stands in a key for the address of a load and the memory that it sees.
    fn load_words(
        &mut self,
        inst: InstId,
        chain: Chain,
        operand: Operand,
        position: usize,
    ) -> Option<[u64; 3]> {
        let form = self.form(inst);
        if !matches!(form.operation, Operation::Ld | Operation::Ldu) {
            // What names a texture is no address.
            let word = self.word(inst, operand, position)?;
            return Some([u64::from(self.numbers.chains.current(chain).0), TEXTURE, word]);
        }
        let bytes = self.bytes(inst, form.space, operand)?;
        let seen = match self.numbers.chains.seen(chain, bytes) {
            Seen::Version(version) => u64::from(version.0),
            Seen::Stored(store) => STORED | u64::from(store.0),
        };
        let address = bytes.address;
        let (base, offset) = match address.base {
            // Sums of 32 bits wrap where those of the access may not: only what is written alike is one address.
            _ if address.width < 64 => (ALIKE, self.word(inst, operand, position)?),
            Base::Number(number) => (u64::from(number), address.offset as u64),
            Base::Symbol(name, _) => (SYMBOL | u64::from(name.0), address.offset as u64),
            Base::Zero => (CONSTANT, address.offset as u64),
        };
        Some([seen, base, offset])
    }

    /// Looks up the key from `first` on, and says whether it was put into the table.
    fn look_up(
        &mut self,
        inst: InstId,
        meaning: &Meaning,
        guard: Option<Operand>,
        results: Results,
        operands: &[Operand],
        first: usize,
    ) -> bool {
        if matches!(meaning.source, From::Load(_))
            && let seen = self.numbers.keys[first + 1]
            && seen & STORED != 0
            && let Some(number) = self.stored(inst, InstId(seen as u32), operands)
        {
            self.take(inst, Known::Number(number), operands, results);
            return false;
        }
        let hash = self.hash(first);
        if let Some(known) = self.known(hash, first) {
            self.take(inst, Known::LikeResultsOf(known), operands, results);
            return false;
        }
        let Some(guard) = guard else {
            if results == Results::Values {
                self.insert(inst, hash, first);
            }
            return results == Results::Values;
        };
        // Not known always; perhaps under this guard.
        let Some(word) = self.word(inst, guard, operands.len()) else { return false };
        self.numbers.keys[first] |= 1;
        self.numbers.keys.push(word);
        let hash = self.hash(first);
        match self.known(hash, first) {
            Some(known) if self.holds_still(known, inst) => {
                self.numbers.again.push(Again { inst, known: Known::HeldByResultsOf(known) });
                false
            }
            Some(_) => {
                self.replace_known(inst, hash, first);
                false
            }
            None => {
                self.insert(inst, hash, first);
                true
            }
        }
    }

    /// Gives the results of an instruction the numbers that are known of them.
    fn take(&mut self, inst: InstId, known: Known, operands: &[Operand], results: Results) {
        self.numbers.again.push(Again { inst, known });
        if results == Results::Variables {
            return;
        }
        for (position, operand) in
            operands.iter().enumerate().take_while(|(_, operand)| operand.is_definition())
        {
            let number = match known {
                Known::Number(number) => number,
                Known::LikeResultsOf(other) | Known::HeldByResultsOf(other) => {
                    let result = self.function.operands_of(other)[position].vreg();
                    self.numbers.of(result.expect("what is in the table has registers as results"))
                }
            };
            if let Some(vreg) = operand.vreg() {
                self.numbers.numbers[vreg.index()] = number;
            }
        }
    }

    /// Whether the results of `known`, which is guarded, still hold before `inst` what it gave them.
    fn holds_still(&mut self, known: InstId, inst: InstId) -> bool {
        let place = Place { block: self.block, before: inst };
        let results = self.function.operands_of(known).iter().take_while(|operand| operand.is_definition());
        results.filter_map(|operand| operand.vreg()).all(|vreg| {
            let value = self.reaching.value(vreg, place, || *self.function);
            value == Value::Of(known)
        })
    }

    /// The number of what `store` stored, if it fills the only result of a load.
    fn stored(&mut self, load: InstId, store: InstId, operands: &[Operand]) -> Option<u32> {
        let width = |vreg: VRegId| {
            let ty = self.function.vregs[vreg.index()].ty;
            (ty.lanes == 1).then(|| ty.element().bits())
        };
        let [loaded, stored] = [load, store].map(|inst| self.form(inst));
        let bits = loaded.types[0]?.bits();
        let &[_, value] = self.function.operands_of(store) else { return None };
        if loaded.lanes != 1 || stored.lanes != 1 || stored.types[0]?.bits() != bits {
            return None;
        }
        if operands[0].vreg().and_then(width) != Some(bits) {
            return None;
        }
        match value.vreg() {
            Some(vreg) => (value == Operand::register(vreg) && width(vreg) == Some(bits))
                .then(|| self.register(vreg, store))
                .flatten(),
            None => {
                let constant = self.constant(value, stored.types[0]?)?;
                Some(self.numbers.number_of(Other::Constant(constant)))
            }
        }
    }

    /// A phi of one number has that number; others are looked up like other instructions.
    fn visit_phi(&mut self, phi: InstId, operands: &[Operand]) {
        let Some(result) = operands[0].vreg() else { return };
        let own = self.numbers.of(result);
        let first = self.numbers.keys.len();
        let ty = self.function.vregs[result.index()].ty.element();
        self.numbers.keys.push(PHI | u64::from(self.block.0) << 8 | u64::from(ty.bits()));
        let mut only = None;
        let mut is_one = true;
        for (_, value) in incoming(operands) {
            let Some(vreg) = value.vreg() else {
                self.numbers.keys.truncate(first);
                return;
            };
            let number = self.numbers.of(vreg);
            self.numbers.keys.push(u64::from(number));
            if number != own {
                is_one &= only.replace(number).is_none_or(|other| other == number);
            }
        }
        let hash = self.hash(first);
        let known = match only.filter(|_| is_one) {
            Some(number) => Some(Known::Number(number)),
            None => self.known(hash, first).map(Known::LikeResultsOf),
        };
        match known {
            Some(known) => {
                self.take(phi, known, operands, Results::Values);
                self.numbers.keys.truncate(first);
            }
            None => self.insert(phi, hash, first),
        }
    }

    /// The number of what a register holds before `inst`; none where something else may write it.
    fn register(&mut self, vreg: VRegId, inst: InstId) -> Option<u32> {
        let number = self.numbers.of(vreg);
        if number != NO_NUMBER {
            return Some(number);
        }
        self.is_variable(vreg).then_some(())?;
        let block = self.function.heads[inst.index()].block;
        let value = self.reaching.value(vreg, Place { block, before: inst }, || *self.function);
        Some(self.numbers.number_of(Other::Variable(vreg, value)))
    }

    /// Whether the register keeps several definitions, and only the function's own instructions write it.
    fn is_variable(&self, vreg: VRegId) -> bool {
        let flags = self.function.vregs[vreg.index()].flags;
        !flags.intersects(NO_VALUE.difference(VRegFlags::VARIABLE))
    }

    /// A constant in a slot of type `ty`.
    fn constant(&self, operand: Operand, ty: PtxType) -> Option<Constant> {
        let bits = bits_in(operand, ty, &self.function.pools.literals)?;
        let is_float = operand.integer_bits(&self.function.pools.literals).is_none();
        let width = ty.bits();
        let bits = if is_float || width > 64 { bits } else { extend(truncate(bits, width), width) as u64 };
        (width <= 64).then_some(Constant { bits, is_float, width })
    }

    /// What stands for an operand in a key: that at `position`, or the guard.
    fn word(&mut self, inst: InstId, operand: Operand, position: usize) -> Option<u64> {
        let word = |operand: Operand| u64::from(operand.modifiers()) << 32 | u64::from(operand.word());
        if let Some(vreg) = operand.vreg() {
            let number = self.register(vreg, inst)?;
            if number as usize >= self.numbers.numbers.len() {
                let is_plain = operand == Operand::register(vreg);
                if let Some(Source::Constant(constant)) = self.numbers.source(number).filter(|_| is_plain) {
                    return Some(self.constant_word(constant));
                }
            }
            let is_whole = number as usize <= OPERAND_ID_MAX && operand.wide_offset().is_none();
            return is_whole.then(|| word(operand.with_vreg(VRegId(number))));
        }
        match operand.kind() {
            OperandKind::Int(_) | OperandKind::F32(_) | OperandKind::Literal(_) => {
                let constant = self.constant(operand, self.slots(inst).get(position)?.ty?)?;
                Some(self.constant_word(constant))
            }
            OperandKind::Special(row) => {
                (SPECIAL_REGISTERS[row as usize].reading == Reading::Fixed).then(|| word(operand))
            }
            OperandKind::Symbol(_) => operand.wide_offset().is_none().then(|| word(operand)),
            _ => None,
        }
    }

    /// What stands for a constant in a key.
    fn constant_word(&mut self, constant: Constant) -> u64 {
        match i32::try_from(constant.bits as i64) {
            Ok(value) if !constant.is_float => CONSTANT | u64::from(value as u32),
            _ => CONSTANT | LONG | u64::from(self.numbers.number_of(Other::Constant(constant))),
        }
    }

    /// The bytes of a load or store at `address`.
    fn bytes(&mut self, inst: InstId, space: StateSpace, address: Operand) -> Option<Bytes> {
        let form = self.form(inst);
        let size = form.types[0]?.bits() / 8 * u32::from(form.lanes);
        Some(Bytes { space, address: self.address(inst, address)?, size })
    }

    /// Follows an address back through sums with constants.
    fn address(&mut self, inst: InstId, operand: Operand) -> Option<Address> {
        let offset = match operand.wide_offset() {
            Some(literal) => self.function.pools.literals[literal.index()].bits as i64,
            None => i64::from(operand.offset().unwrap_or(0)),
        };
        match operand.kind() {
            OperandKind::Symbol(name) => {
                let base = Base::Symbol(name, self.numbers.variables.get(&name).copied().flatten());
                Some(Address { base, offset, width: 64 })
            }
            OperandKind::Register { vreg, minus: false } if operand.selector().is_none() => {
                let width = self.function.vregs[vreg.index()].ty.element().bits();
                let number = self.register(vreg, inst)?;
                Some(self.base(Address { base: Base::Number(number), offset, width }))
            }
            OperandKind::Int(_) | OperandKind::Literal(_) => {
                let bits = operand.integer_bits(&self.function.pools.literals)?;
                Some(Address { base: Base::Zero, offset: bits as i64, width: 64 })
            }
            _ => None,
        }
    }

    /// The same address, counted from further back.
    fn base(&self, mut address: Address) -> Address {
        for _ in 0..ADDRESS_STEPS_MAX {
            let Base::Number(number) = address.base else { break };
            let Some(next) = self.step(number, address) else { break };
            address = next;
        }
        address
    }

    fn step(&self, number: u32, address: Address) -> Option<Address> {
        let vreg = match self.numbers.source(number)? {
            Source::Register(vreg) => vreg,
            Source::Constant(constant) => {
                let offset = address.offset.wrapping_add(constant.bits as i64);
                return Some(Address { base: Base::Zero, offset, ..address });
            }
        };
        let inst = self.reaching.only_definition(vreg)?;
        let head = &self.function.heads[inst.index()];
        let form = self.forms.get(head.form);
        if head.opcode.is_guarded() || form.types[0]?.bits() != address.width {
            return None;
        }
        let operands = self.function.operands_of(inst);
        let literal = |operand: Operand| operand.integer_bits(&self.function.pools.literals);
        let plain = |operand: Operand| {
            let vreg = operand.vreg().filter(|&vreg| operand == Operand::register(vreg))?;
            let head = self.function.vregs[vreg.index()];
            let number = self.numbers.of(vreg);
            (number != NO_NUMBER && head.ty.element().bits() == address.width).then_some(number)
        };
        let is_plain = form.flags.contains(FormFlags::PLAIN)
            && matches!(form.types[0]?.kind(), TypeKind::Integer | TypeKind::Bits);
        let (base, added) = match (form.operation, operands) {
            (Operation::Add, &[_, one, other]) if is_plain => match (plain(one), plain(other)) {
                (Some(number), None) => (number, literal(other)? as i64),
                (None, Some(number)) => (number, literal(one)? as i64),
                _ => return None,
            },
            (Operation::Sub, &[_, one, other]) if is_plain => {
                (plain(one)?, (literal(other)? as i64).wrapping_neg())
            }
            (Operation::Mov, &[_, source]) if form.lanes == 1 => {
                let OperandKind::Symbol(name) = source.kind() else { return None };
                if source.wide_offset().is_some() {
                    return None;
                }
                let base = Base::Symbol(name, self.numbers.variables.get(&name).copied().flatten());
                let offset = address.offset.wrapping_add(i64::from(source.offset().unwrap_or(0)));
                return Some(Address { base, offset, ..address });
            }
            _ => return None,
        };
        Some(Address { base: Base::Number(base), offset: address.offset.wrapping_add(added), ..address })
    }

    /// The instruction that has the key from `first` on, with its hash.
    fn known(&self, hash: u64, first: usize) -> Option<InstId> {
        let ValueNumbers { table, keys, .. } = &*self.numbers;
        let (kept, key) = keys.split_at(first);
        table.find(hash, |entry| &kept[entry.key.range()] == key).map(|entry| entry.inst)
    }

    fn hash(&self, first: usize) -> u64 {
        self.numbers.hasher.hash_one(&self.numbers.keys[first..])
    }

    /// Lets another instruction stand for the key from `first` on.
    fn replace_known(&mut self, inst: InstId, hash: u64, first: usize) {
        let ValueNumbers { table, keys, .. } = &mut *self.numbers;
        let (kept, key) = keys.split_at(first);
        if let Some(entry) = table.find_mut(hash, |entry| &kept[entry.key.range()] == key) {
            entry.inst = inst;
        }
    }

    fn insert(&mut self, inst: InstId, hash: u64, first: usize) {
        let ValueNumbers { table, keys, hasher, .. } = &mut *self.numbers;
        let key = Span::between(first, keys.len());
        table.insert_unique(hash, Entry { key, inst }, |entry| hasher.hash_one(&keys[entry.key.range()]));
    }

    fn form(&self, inst: InstId) -> &'w Form {
        let forms = self.forms;
        forms.get(self.function.heads[inst.index()].form)
    }

    fn slots(&self, inst: InstId) -> &'w [Slot] {
        let forms = self.forms;
        forms.slots(self.function.heads[inst.index()].form)
    }
}

/// The bit of a version in a key that is a store of just the bytes that are read.
const STORED: u64 = 1 << 32;

/// The class of phis in a key: above those of forms.
const PHI: u64 = 1 << 63;

/// What a word of a key is that is no operand's: a constant, the number of a long one, a name.
const CONSTANT: u64 = 1 << 62;
const LONG: u64 = 1 << 61;
const SYMBOL: u64 = 1 << 60;

/// In the place of a base: the word of the address follows, or what names a texture.
const ALIKE: u64 = 1 << 59;
const TEXTURE: u64 = 1 << 58;
