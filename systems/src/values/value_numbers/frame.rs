//! The frame: the `.local` variables of a function's body, while nothing else knows where they lie.
//!
//! ```text
//! mov.u64 %rd1, depot;             // an address in the frame
//! st.local.u64 [%rd1+16], %rd3;
//! call f, (%rd5);                  // knows nothing of it
//! ld.local.u64 %rd7, [%rd1+16];    // %rd3
//! st.param.b64 [p], %rd1;          // gives it away: from here on everybody may know it
//! ```
//! An address in the frame comes of the name of a variable, by moves, `cvta` and sums. What does not come of one leads
//! elsewhere, whatever it is: there is no other way to the address of a variable than its name. So calls, barriers, atomics and
//! stores elsewhere leave the frame as it is, and what is stored in it is seen nowhere else, up to the first instruction that
//! *gives an address away*: one that stores it elsewhere, hands it to a call, or does anything with it that is not listed here.
//! What no way leads to from there still knows the frame alone.
//!
//! The name may stand in text that the reader keeps: `depot[2]`, and a copied statement with `depot[%r1]`. Such text counts as bits
//! of an address, so an access by it gives the address away.
//!
//! An address that is compared with something else is given away. What is computed from its bits is no address any more; where that is
//! compared with anything, or used as an address, as in a table with an entry for each byte, the address is given away. So it is by an
//! access at an address in the frame in another space: a table may lie there.
//!
//! An address may be stored in the frame itself, as front ends do without an optimizer. Then what is loaded from the frame may be
//! one.
//!
//! # Cost
//! A look at the operands of functions that have such variables; all else is for what reads an address. The rounds that
//! addresses around loops take end after [`ROUNDS_MAX`]; then nothing is said.

use super::meanings::{Meaning, Meanings, Memory, Source};
use super::memory::Chain;
use ptxopt_components::form::{Form, FormFlags};
use ptxopt_components::ids::{BlockId, Id, InstId, NameId, VRegId};
use ptxopt_components::instruction::InstHead;
use ptxopt_components::operand::{Operand, OperandKind, writes};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Space;
use ptxopt_components::types::{PtxType, StateSpace};
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::phis::{incoming, phis_of};

/// Rounds over the instructions: addresses that go around loops of loops are rare.
const ROUNDS_MAX: usize = 6;

/// What a value is as an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// What computes it has not been looked at.
    Unset,
    /// It leads elsewhere, or is none.
    Elsewhere,
    /// It is one of the `.local` space in the frame.
    Local,
    /// It is a generic one in the frame.
    Generic,
    /// It is one of several: an address in the frame, in whatever space, or what leads elsewhere.
    Either,
    /// It may be anything.
    Unknown,
    /// It may tell some bits of an address in the frame.
    Bits,
}

impl Origin {
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unset, one) | (one, Self::Unset) => one,
            _ if self == other => self,
            (Self::Bits, _) | (_, Self::Bits) => Self::Bits,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            _ => Self::Either,
        }
    }

    /// Whether it may be an address in the frame.
    const fn may_be_frame(self) -> bool {
        matches!(self, Self::Local | Self::Generic | Self::Either | Self::Unknown | Self::Bits)
    }

    /// That of a sum, which is an address where one of the two is.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (one, Self::Elsewhere) | (Self::Elsewhere, one) => one,
            _ => Self::Bits,
        }
    }
}

/// The part of memory that an instruction can read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// The frame.
    Frame,
    /// All but the frame.
    Elsewhere,
    /// All of it.
    Anywhere,
}

impl Reach {
    /// Whether two instructions may reach one byte.
    pub(super) fn meets(self, other: Self) -> bool {
        self == other || self == Self::Anywhere || other == Self::Anywhere
    }
}

/// What has become something to be looked at in a round.
#[derive(Default)]
struct HandedOn {
    values: bool,
    /// What may be read before it is written: those who read it are looked for in another round.
    variables: bool,
}

/// What is known of the frame of a function. Its memory is used again.
#[derive(Default)]
pub(super) struct Frame {
    /// Whether there is a frame of which something is known.
    is_there: bool,
    /// By register.
    origins: Vec<Origin>,
    /// The variables, in order.
    variables: Vec<NameId>,
    /// What reads something that may be an address in the frame, in program order.
    readers: Vec<InstId>,
    /// Whether an address in the frame is stored in it.
    holds_addresses: bool,
    /// Whether bits of one are.
    holds_bits: bool,
    /// Whether some load may read the frame or something else.
    has_unknown_loads: bool,
    /// By block: whether the frame may be known elsewhere at its start.
    is_known: Vec<bool>,
    /// The first instruction of a block that gives an address away, in order.
    given_away: Vec<(BlockId, InstId)>,
    pending: Vec<BlockId>,
}

impl Frame {
    /// Says nothing of any address.
    pub(super) fn forget(&mut self) {
        self.is_there = false;
    }

    /// Looks at a function.
    pub(super) fn find(&mut self, function: &FunctionView<'_>, forms: &FormTable, meanings: &Meanings) {
        let locals = || function.decls.iter().filter(|decl| decl.space == StateSpace::Local);
        let is_odd = locals().any(|decl| decl.is_family || decl.is_named_outside);
        self.is_there = locals().next().is_some() && !is_odd;
        if !self.is_there {
            return;
        }
        self.variables.clear();
        self.variables.extend(locals().map(|decl| decl.name));
        self.variables.sort_unstable();
        self.origins.clear();
        self.origins.resize(function.vregs.len(), Origin::Elsewhere);
        (self.holds_addresses, self.holds_bits) = (false, false);
        let all_followed = (0..ROUNDS_MAX).any(|_| self.follows_all(function, forms, meanings));
        self.is_there = all_followed
            && !self.readers.is_empty()
            && (0..ROUNDS_MAX).any(|_| !self.goes_around(function, forms, meanings) && !self.has_unset());
        if self.is_there {
            self.find_what_is_known(function, forms, meanings);
        }
    }

    /// Lists what reads something that may be an address in the frame, and makes what it may hand on [`Origin::Unset`]; says
    /// whether nothing is left to follow.
    fn follows_all(&mut self, function: &FunctionView<'_>, forms: &FormTable, meanings: &Meanings) -> bool {
        let (held_addresses, mut new) = (self.holds_addresses, HandedOn::default());
        self.readers.clear();
        for (inst, head, operands) in function.rows() {
            if !operands.iter().any(|operand| self.reads_address(operand)) {
                continue;
            }
            self.readers.push(inst);
            let (form, meaning) = (forms.get(head.form), meanings.of(head.form));
            if let Memory::Store(_) = meaning.memory {
                let is_stored = operands[1..].iter().any(|operand| self.reads_address(operand));
                self.holds_addresses |= is_stored && self.reads_address(&operands[0]);
            }
            let hands_on = match meaning.source {
                Source::Load(_) => self.holds_addresses,
                _ => head.is_phi() || form.is_pure() && !is_comparison(form),
            };
            if hands_on {
                self.hand_on(function, operands, &mut new);
            }
        }
        let is_settled = || {
            // Values are read after they are written, but by phis, where blocks stand after those that dominate them.
            let is_after =
                |block: BlockId| function.orders[block.index()].idom.get().is_none_or(|idom| idom <= block);
            let is_followed = |phi: &[Operand]| {
                let reads_address = incoming(phi).any(|(_, value)| self.reads_address(&value));
                !reads_address || self.of(phi[0]) != Origin::Elsewhere
            };
            let mut phis = function.block_ids().flat_map(|block| phis_of(function, block));
            function.block_ids().all(is_after) && phis.all(|(_, phi)| is_followed(phi))
        };
        held_addresses == self.holds_addresses && !new.variables && (!new.values || is_settled())
    }

    /// Whether an operand is read that may be an address in the frame.
    fn reads_address(&self, operand: &Operand) -> bool {
        operand.is_use() && self.of(*operand) != Origin::Elsewhere
    }

    /// Makes the results of an instruction something to be looked at, and notes what is new of that.
    fn hand_on(&mut self, function: &FunctionView<'_>, operands: &[Operand], new: &mut HandedOn) {
        for vreg in writes(operands) {
            let (row, origin) = (&function.vregs[vreg.index()], &mut self.origins[vreg.index()]);
            if *origin != Origin::Elsewhere || row.ty.element() == PtxType::Pred {
                continue;
            }
            if !row.is_value() {
                // What several instructions write may be an address of one of them alone.
                *origin = Origin::Unknown;
                new.variables = true;
            } else {
                *origin = Origin::Unset;
                new.values = true;
            }
        }
    }

    /// Whether there were registers that only themselves define: they may be anything.
    fn has_unset(&mut self) -> bool {
        let unset = self.origins.iter_mut().filter(|origin| **origin == Origin::Unset);
        unset.map(|origin| *origin = Origin::Unknown).count() > 0
    }

    /// Goes over what reads an address; says whether something has changed.
    fn goes_around(&mut self, function: &FunctionView<'_>, forms: &FormTable, meanings: &Meanings) -> bool {
        let mut has_changed = false;
        for at in 0..self.readers.len() {
            let inst = self.readers[at];
            let (head, operands) = (&function.heads[inst.index()], function.operands_of(inst));
            let meaning = meanings.of(head.form);
            if let Memory::Store(_) = meaning.memory {
                let is_of_bits = |&operand: &Operand| self.of(operand) == Origin::Bits;
                let holds_bits = self.reads_address(&operands[0]) && operands[1..].iter().any(is_of_bits);
                has_changed |= holds_bits && !self.holds_bits;
                self.holds_bits |= holds_bits;
            }
            let result = if head.is_phi() {
                let values = incoming(operands).map(|(_, value)| self.of(value));
                values.fold(Origin::Unset, Origin::join)
            } else {
                self.result(function, forms, meaning, inst)
            };
            for vreg in writes(operands) {
                let origin = &mut self.origins[vreg.index()];
                let joined = origin.join(result);
                has_changed |= *origin != joined;
                *origin = joined;
            }
        }
        has_changed
    }

    /// What the results of an instruction are that is no phi.
    fn result(
        &self,
        function: &FunctionView<'_>,
        forms: &FormTable,
        meaning: &Meaning,
        inst: InstId,
    ) -> Origin {
        let (head, operands) = (&function.heads[inst.index()], function.operands_of(inst));
        let form = forms.get(head.form);
        let sources = || operands.iter().filter(|operand| operand.is_use()).map(|&operand| self.of(operand));
        if let Source::Load(_) = meaning.source {
            if !self.holds_addresses || !sources().any(Origin::may_be_frame) {
                return Origin::Elsewhere;
            }
            let is_part = writes(operands).any(|vreg| {
                form.types[0].is_none_or(|ty| ty.bits() < function.vregs[vreg.index()].ty.element().bits())
            });
            return if is_part || self.holds_bits { Origin::Bits } else { Origin::Unknown };
        }
        if !form.is_pure() || is_comparison(form) {
            return Origin::Elsewhere;
        }
        if sources().any(|origin| origin == Origin::Unset) {
            return Origin::Unset;
        }
        if !sources().any(Origin::may_be_frame) {
            return Origin::Elsewhere;
        }
        let is_local = || {
            let space = forms.describe(head.form).qualifiers.space;
            space.map(Space::state_space) == Some(StateSpace::Local)
        };
        let is_integer = form.types[0].is_some_and(PtxType::is_of_integers);
        let is_plain = is_integer && form.flags.contains(FormFlags::PLAIN);
        match (form.operation, operands) {
            (Operation::Mov, &[_, source, ..])
                if operands.len() == 2 + usize::from(head.opcode.is_guarded()) =>
            {
                self.of(source)
            }
            (Operation::Cvta, &[_, source, ..]) if is_local() && self.of(source) == Origin::Local => {
                Origin::Generic
            }
            (Operation::CvtaTo, &[_, source, ..]) if is_local() && self.of(source) == Origin::Generic => {
                Origin::Local
            }
            (Operation::Selp, &[_, one, other, ..]) => self.of(one).join(self.of(other)),
            (Operation::Add, &[_, one, other, ..]) if is_plain => {
                let [one, other] = [one, other].map(|operand| self.of(operand));
                one.with(other)
            }
            // A difference of registers may tell how two addresses lie, with no comparison of both.
            (Operation::Sub, &[_, one, other, ..]) if is_plain && other.vreg().is_none() => self.of(one),
            (Operation::Mad, &[_, one, other, addend, ..])
                if is_plain && [one, other].iter().all(|&factor| self.of(factor) == Origin::Elsewhere) =>
            {
                self.of(addend)
            }
            // Bits that are clear in an address: an addition.
            (Operation::Or, &[_, one, other, ..]) if is_plain && other.vreg().is_none() => self.of(one),
            // An address that is aligned.
            (Operation::And, &[_, one, other, ..]) if is_plain && is_negative(other) => self.of(one),
            _ => Origin::Bits,
        }
    }

    /// What an operand is as an address: a register, the name of a variable, or text in which one may stand (`depot[2]`).
    fn of(&self, operand: Operand) -> Origin {
        match operand.kind() {
            OperandKind::Symbol(name) if self.variables.binary_search(&name).is_ok() => Origin::Local,
            OperandKind::Text(_) => Origin::Bits,
            _ => operand.vreg().map_or(Origin::Elsewhere, |vreg| self.origins[vreg.index()]),
        }
    }

    /// Whether an access at an address leads into the frame for sure.
    fn leads_there(&self, address: Operand, space: StateSpace) -> bool {
        matches!(
            (self.of(address), space),
            (Origin::Local, StateSpace::Local) | (Origin::Generic, StateSpace::Generic)
        )
    }

    /// Whether an access in a space tells of an address in the frame by the place that it reads or writes.
    fn chooses_place(&self, address: Operand, space: StateSpace) -> bool {
        let is_where_frames_are = matches!(space, StateSpace::Local | StateSpace::Generic);
        match self.of(address) {
            Origin::Bits => true,
            Origin::Local => space != StateSpace::Local,
            Origin::Generic => space != StateSpace::Generic,
            Origin::Either | Origin::Unknown => !is_where_frames_are,
            Origin::Unset | Origin::Elsewhere => false,
        }
    }

    /// Finds where the frame may be known elsewhere, now that all addresses are known.
    fn find_what_is_known(&mut self, function: &FunctionView<'_>, forms: &FormTable, meanings: &Meanings) {
        self.has_unknown_loads = false;
        self.is_known.clear();
        self.is_known.resize(function.blocks.len(), false);
        self.given_away.clear();
        for &inst in &self.readers {
            let (head, operands) = (&function.heads[inst.index()], function.operands_of(inst));
            let meaning = meanings.of(head.form);
            let is_first = self.given_away.last().is_none_or(|&(block, _)| block != head.block);
            if is_first && self.gives_away(function, forms, head, meaning, operands) {
                self.given_away.push((head.block, inst));
            }
            self.has_unknown_loads |= self.may_read_both(forms.get(head.form), meaning, operands);
        }
        self.given_away.sort_unstable();
        self.given_away.dedup_by_key(|&mut (block, _)| block);
        self.pending.clear();
        self.pending.extend(self.given_away.iter().map(|&(block, _)| block));
        while let Some(block) = self.pending.pop() {
            for &succ in function.succs(block) {
                if !std::mem::replace(&mut self.is_known[succ.index()], true) {
                    self.pending.push(succ);
                }
            }
        }
    }

    /// Whether something else may know an address in the frame after an instruction.
    fn gives_away(
        &self,
        function: &FunctionView<'_>,
        forms: &FormTable,
        head: &InstHead,
        meaning: &Meaning,
        operands: &[Operand],
    ) -> bool {
        let may_be_frame = |operand: &Operand| operand.is_use() && self.of(*operand).may_be_frame();
        let form = forms.get(head.form);
        let chooses_place =
            |operand: &Operand, space| operand.is_use() && self.chooses_place(*operand, space);
        let writes_predicate =
            || writes(operands).any(|vreg| function.vregs[vreg.index()].ty.element() == PtxType::Pred);
        let is_handed_on = match meaning.memory {
            // Where it reads is not seen, but what it reads may say which of several places that was.
            _ if matches!(meaning.source, Source::Load(_)) => {
                operands.iter().any(|operand| chooses_place(operand, form.space))
            }
            Memory::Store(space) => {
                chooses_place(&operands[0], space)
                    || !self.leads_there(operands[0], space) && operands[1..].iter().any(may_be_frame)
            }
            _ if is_comparison(form) => {
                let is_register = |operand: &&Operand| {
                    operand.is_use() && matches!(operand.kind(), OperandKind::Register { .. })
                };
                let origins = || operands.iter().filter(is_register).map(|&operand| self.of(operand));
                let is_sure = |origin| matches!(origin, Origin::Local | Origin::Generic);
                // With a literal, whether there is an address at all; with another one in the frame, which comes first.
                origins().any(|origin| matches!(origin, Origin::Unknown | Origin::Bits))
                    || origins().count() > 1 && origins().any(Origin::may_be_frame) && !origins().all(is_sure)
            }
            _ if form.operation == Operation::Isspacep => false,
            _ => (!form.is_pure() || writes_predicate()) && operands.iter().any(may_be_frame),
        };
        is_handed_on
            || writes(operands).any(|vreg| {
                let is_read_elsewhere =
                    function.vregs[vreg.index()].flags.intersects(VRegFlags::READ_ELSEWHERE);
                is_read_elsewhere && self.origins[vreg.index()].may_be_frame()
            })
    }

    /// Whether a load may read the frame or something else.
    fn may_read_both(&self, form: &Form, meaning: &Meaning, operands: &[Operand]) -> bool {
        matches!(meaning.source, Source::Load(_))
            && !operands
                .iter()
                .any(|&operand| !operand.is_definition() && self.leads_there(operand, form.space))
            && operands.iter().any(|operand| operand.is_use() && self.of(*operand).may_be_frame())
    }

    /// Whether something else may know an address in the frame before `inst`, or after it.
    fn is_known(&self, block: BlockId, inst: InstId) -> bool {
        let first = self.given_away.binary_search_by_key(&block, |&(block, _)| block);
        self.is_known[block.index()] || first.is_ok_and(|at| self.given_away[at].1 <= inst)
    }

    /// Whether something else may know an address in the frame after a block.
    #[inline]
    pub(super) fn is_known_after(&self, block: BlockId) -> bool {
        self.is_unknown() || self.is_known(block, InstId(u32::MAX))
    }

    /// Whether nothing is known of a frame: everything reaches everything.
    #[inline]
    pub(super) fn is_unknown(&self) -> bool {
        !self.is_there
    }

    /// What an instruction can reach that reads or writes at an address in a space, or, without one, wherever it likes.
    #[inline]
    pub(super) fn reach(&self, block: BlockId, inst: InstId, place: Option<(Operand, StateSpace)>) -> Reach {
        if self.is_unknown() { Reach::Anywhere } else { self.reach_beside(block, inst, place) }
    }

    /// The same, where there is a frame.
    fn reach_beside(&self, block: BlockId, inst: InstId, place: Option<(Operand, StateSpace)>) -> Reach {
        if let Some((address, space)) = place {
            if self.leads_there(address, space) {
                return Reach::Frame;
            }
            let is_name_or_register =
                matches!(address.kind(), OperandKind::Symbol(_) | OperandKind::Register { .. });
            if !is_name_or_register || self.of(address).may_be_frame() {
                return Reach::Anywhere;
            }
        }
        if self.is_known(block, inst) { Reach::Anywhere } else { Reach::Elsewhere }
    }

    /// What may see what an instruction writes that can reach this.
    #[inline]
    pub(super) fn seen_by(&self, block: BlockId, inst: InstId, reach: Reach) -> Reach {
        let is_seen_elsewhere =
            reach == Reach::Frame && (self.has_unknown_loads || self.is_known(block, inst));
        if is_seen_elsewhere { Reach::Anywhere } else { reach }
    }

    /// The chain of a load that reads `chain` by its space alone.
    #[inline]
    pub(super) fn chain(&self, chain: Chain, address: Operand, space: StateSpace) -> Chain {
        let is_of_frame = self.is_there && self.leads_there(address, space);
        if is_of_frame && chain != Chain::ReadOnly { Chain::Frame } else { chain }
    }

    /// Whether an access leads into the frame for sure, and nothing else knows that.
    ///
    /// ```text
    /// ld.u64 %rd3, [%rd2];            // %rd2 was given to a function that stored %rd9 - %rd2 there
    /// add.s64 %rd4, %rd2, %rd3;       // looks like the frame with an index, and is %rd9
    /// ```
    pub(super) fn is_reached_alone(
        &self,
        block: BlockId,
        inst: InstId,
        address: Operand,
        space: StateSpace,
    ) -> bool {
        self.is_there && self.leads_there(address, space) && !self.is_known(block, inst)
    }

    /// Whether a value is an address in the frame for sure.
    #[inline]
    pub(super) fn is_address(&self, vreg: VRegId) -> bool {
        self.is_there && matches!(self.origins[vreg.index()], Origin::Local | Origin::Generic)
    }
}

/// The address of a load, which stands after its results and what it leaves out of them.
pub(super) fn address_of_load(operands: &[Operand]) -> Option<Operand> {
    let is_result = |operand: &Operand| operand.is_definition() || operand.kind() == OperandKind::Sink;
    operands.iter().copied().find(|operand| !is_result(operand))
}

/// Whether a number has all high bits set, so that it takes low ones away.
fn is_negative(operand: Operand) -> bool {
    matches!(operand.kind(), OperandKind::Int(value) if value < 0)
}

/// Whether an instruction says no more of addresses than how they compare.
fn is_comparison(form: &Form) -> bool {
    matches!(form.operation, Operation::Setp | Operation::Set)
}
