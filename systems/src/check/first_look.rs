//! The first look: says in one pass which functions have nothing wrong in their instructions.
//!
//! Fast. Nothing but a few comparisons an operand.
//!
//! Nearly every function is right, and nearly every instruction is of a form with plain operands. What such an
//! instruction must look like is worked out once a form, as a `Signature`: opcode word, marks, number of operands, and
//! for each operand the [patterns](Operand::pattern) that may stand there. Those are found by asking the verifiers
//! themselves when a pattern first comes, so they have one definition. An instruction that does not match its signature, or is of
//! a form that needs more than this, is asked about one by one. Only a function in which something is wrong is left to
//! the verifiers, which say what.
//!
//! A function passes when nothing that `rows` (of operands), `forms`, `terminators`, `tables` (of instructions) and
//! `async_registers` check is wrong with it. Those skip it then.
//!
//! # Tried and dropped
//! Comparing a row with the last one of its form that was right, in four words with masks: 30 % fewer machine instructions
//! where it is alike, which 72 % are, and 10 % more time in all. All four operands of a row without a branch: 40 % more
//! machine instructions.

use super::{Verdict, async_registers, each_function, forms as check_forms, rows, tables, terminators};
use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::form::{Form, FormFlags, Slot};
use ptxopt_components::ids::{BlockId, CodeId, Id, InstId};
use ptxopt_components::instruction::{InstHead, Marks, OpcodeWord};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::special_registers::SPECIAL_REGISTERS;
use ptxopt_components::types::{PtxType, RegClass};
use ptxopt_components::vreg::VRegHead;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::run::log::Violations;
use ptxopt_engine::run::phase::{Check, Verify};
use ptxopt_engine::store::columns::Code;
use ptxopt_engine::store::view::FunctionView;

/// The verifier of the first look: the others have nothing to say of a function that passed.
pub const CHECK: Check = Check { name: "first_look", from: Verify::Full, install: |slot| slot.add(run) };

/// Verifies every function of the batch that passed.
pub fn run(code: Code, forms: Res<FormTable>, passed: Res<Passed>, mut violations: ResMut<Violations>) {
    each_function(&code, CHECK.name, &mut violations, |function| {
        if passed.has(function.code) { verify(function, &forms) } else { Ok(()) }
    });
}

/// Asks every verifier that a first look stands for.
pub fn verify(function: &FunctionView<'_>, forms: &FormTable) -> Verdict {
    rows::verify_all_operands(function)?;
    check_forms::verify(function, forms)?;
    terminators::verify(function)?;
    tables::verify(function, forms)?;
    async_registers::verify(function, forms)
}

/// The functions of the batch in whose instructions the first look of this step found nothing wrong.
#[derive(Resource, Default)]
pub struct Passed {
    of_code: Vec<bool>,
}

impl Passed {
    /// Forgets what passed before.
    pub fn start(&mut self, code_count: usize) {
        self.of_code.clear();
        self.of_code.resize(code_count, false);
    }

    /// Notes that a function passed.
    pub fn pass(&mut self, code: CodeId) {
        self.of_code[code.index()] = true;
    }

    /// Whether a function passed.
    #[must_use]
    pub fn has(&self, code: CodeId) -> bool {
        self.of_code.get(code.index()) == Some(&true)
    }
}

/// What is left to check of an operand whose pattern was looked at: what it names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Names {
    /// A register that is no predicate.
    Register,
    /// A predicate register.
    Predicate,
    /// Nothing: a literal in the operand itself, a sink.
    Nothing,
    /// A block.
    Block,
    /// An entry of the literal pool.
    Literal,
    /// A name.
    Name,
    /// A special register.
    Special,
    /// The pattern is none that may stand here.
    Refused,
    /// No such pattern has come yet.
    Unknown,
}

impl Names {
    /// What an operand that may stand in its place names. Tables need a closer look.
    fn of(operand: Operand) -> Self {
        match operand.kind() {
            OperandKind::Register { .. } => Self::Register,
            OperandKind::Predicate { .. } => Self::Predicate,
            OperandKind::Literal(_) | OperandKind::Text(_) => Self::Literal,
            OperandKind::Symbol(_) => Self::Name,
            OperandKind::Special(_) => Self::Special,
            OperandKind::Block(_) => Self::Block,
            OperandKind::Int(_) | OperandKind::F32(_) | OperandKind::Sink => Self::Nothing,
            OperandKind::Table(_) => Self::Refused,
        }
    }
}

/// What the instructions of a form look like.
#[derive(Clone, Copy)]
struct Signature {
    /// Opcode word without the guard bit.
    opcode: u32,
    marks: Marks,
    /// Number of operands without the guard; more than any instruction has where the form needs a closer look.
    operand_count: u16,
    /// Where its slots start, that of the guard last.
    first_slot: u32,
}

/// No instruction has as many operands.
const CLOSER_LOOK: u16 = u16::MAX - 1;

/// Effects of forms that need a closer look: hidden operands, tables, registers that must be pinned.
const NEEDS_CLOSER_LOOK: Effects = Effects::CARRY_IN
    .union(Effects::CARRY_OUT)
    .union(Effects::BRANCH_INDEXED)
    .union(Effects::CALL)
    .union(Effects::ASYNC)
    .union(Effects::UNKNOWN);

/// What a pattern may stand in.
#[derive(Clone, Copy, PartialEq)]
enum SlotKind {
    /// The place of the guard.
    Guard,
    /// A slot, as far as patterns depend on it.
    Slot(Slot),
    /// A slot of a form that is not modelled.
    UnmodelledSlot(Slot),
}

/// The signatures of the forms seen so far.
#[derive(Default)]
pub struct FirstLook {
    signatures: Vec<Signature>,
    /// By slot of a form: where its kind starts in `accepted`.
    slots: Vec<u32>,
    /// By kind of slot and pattern. Most never come.
    accepted: Vec<Names>,
    /// By kind of slot. There are some dozens.
    kinds: Vec<SlotKind>,
}

impl FirstLook {
    /// Makes sure that every form of the table has its signature.
    pub fn bring_up_to_date(&mut self, forms: &FormTable) {
        for at in self.signatures.len()..forms.len() {
            let id = Id::new(at);
            let (form, first_slot) = (forms.get(id), self.slots.len());
            for slot in forms.slots(id) {
                let is_modelled = form.flags.contains(FormFlags::MODELLED);
                // Of a type no more matters than whether it is that of predicates.
                let ty = slot.ty.map(|ty| if ty == PtxType::Pred { ty } else { PtxType::B32 });
                let slot = Slot { ty, ..*slot };
                let kind = if is_modelled { SlotKind::Slot(slot) } else { SlotKind::UnmodelledSlot(slot) };
                let place = self.place_of(kind);
                self.slots.push(place);
            }
            let guard = self.place_of(SlotKind::Guard);
            self.slots.push(guard);
            self.signatures.push(Signature::of(form, forms.slots(id), first_slot));
        }
    }

    /// Where a kind of slot starts in `accepted`.
    fn place_of(&mut self, kind: SlotKind) -> u32 {
        let known = self.kinds.iter().position(|other| *other == kind);
        let number = known.unwrap_or_else(|| {
            self.kinds.push(kind);
            self.accepted.resize(self.kinds.len() * Operand::PATTERN_COUNT, Names::Unknown);
            self.kinds.len() - 1
        });
        (number * Operand::PATTERN_COUNT) as u32
    }

    /// Whether nothing is wrong with the instructions of a function, whose blocks are known to be right: with all of them, or with those
    /// that were written since the function was read and, where the graph has changed, with those that leave blocks. The others have lost
    /// nothing that they name.
    pub fn passes(&mut self, function: &FunctionView<'_>, forms: &FormTable, everything: bool) -> bool {
        let ends_blocks = function.state.flags.contains(CodeFlags::TERMINATORS_LAST);
        let has_graph_as_read = function.state.has_graph_as_read();
        let (heads, pool) = (function.heads, &function.pools.operands);
        for block in function.block_ids() {
            let mut is_left = false;
            for inst in function.all_rows_of(block) {
                let head = &heads[inst.index()];
                if !head.is_live() {
                    continue;
                }
                if is_left {
                    return false;
                }
                let is_control = head.marks.contains(Marks::CONTROL);
                is_left = ends_blocks && is_control;
                let is_as_read = head.marks.contains(Marks::AS_READ) && (has_graph_as_read || !is_control);
                if is_as_read && !everything {
                    continue;
                }
                let operands = function.operands[inst.index()].get(head.operand_count, pool);
                if !self.passes_inst(function, head, operands) && !passes_closer_look(function, forms, inst) {
                    return false;
                }
            }
        }
        true
    }

    /// Whether an instruction has the signature of its form, and what its operands name is there.
    #[inline]
    fn passes_inst(&mut self, function: &FunctionView<'_>, head: &InstHead, operands: &[Operand]) -> bool {
        let Some(signature) = self.signatures.get(head.form.index()) else { return false };
        if !signature.fits(head) {
            return false;
        }
        let first_slot = signature.first_slot as usize;
        for (at, &operand) in operands.iter().enumerate() {
            let place = self.slots[first_slot + at] as usize + operand.pattern();
            let names = self.accepted[place];
            let is_right = if names <= Names::Predicate {
                is_vreg(function, operand, names)
            } else {
                names == Names::Nothing || self.is_rare(function, operand, place)
            };
            if !is_right {
                return false;
            }
        }
        true
    }

    /// Whether an operand that names no register stands in its place, and what it names is there.
    #[inline(never)]
    fn is_rare(&mut self, function: &FunctionView<'_>, operand: Operand, place: usize) -> bool {
        if self.accepted[place] == Names::Unknown {
            let kind = self.kinds[place / Operand::PATTERN_COUNT];
            self.accepted[place] = names_in(kind, place % Operand::PATTERN_COUNT);
        }
        exists(function, operand, self.accepted[place])
    }
}

/// Whether a register is there, is a predicate or not as it should be, and has no more than an offset after it.
#[inline]
fn is_vreg(function: &FunctionView<'_>, operand: Operand, names: Names) -> bool {
    let is_predicate = |vreg: &VRegHead| matches!(vreg.class(), RegClass::P | RegClass::Up);
    let vreg = function.vregs.get(operand.id() as usize);
    vreg.is_some_and(|vreg| is_predicate(vreg) == (names == Names::Predicate)) && !operand.has_long_payload()
}

/// Whether what an operand names is there.
fn exists(function: &FunctionView<'_>, operand: Operand, names: Names) -> bool {
    let pools = function.pools;
    let is_below = |count: usize| (operand.id() as usize) < count && operand.wide_offset().is_none();
    match names {
        Names::Register | Names::Predicate => is_vreg(function, operand, names),
        Names::Nothing => true,
        Names::Block => {
            let block = BlockId(operand.id());
            is_below(function.blocks.len()) && rows::verify_target(function, block).is_ok()
        }
        Names::Literal => is_below(pools.literals.len()),
        Names::Name => is_below(pools.names.len()),
        Names::Special => is_below(SPECIAL_REGISTERS.len()),
        Names::Refused | Names::Unknown => false,
    }
}

impl Signature {
    fn of(form: &Form, slots: &[Slot], first_slot: usize) -> Self {
        let needs_more = form.effects.intersects(NEEDS_CLOSER_LOOK)
            || form.is_phi()
            || slots.len() >= CLOSER_LOOK as usize;
        Self {
            opcode: OpcodeWord::new(form.root, false).0,
            marks: check_forms::marks_of(form, slots),
            operand_count: if needs_more { CLOSER_LOOK } else { slots.len() as u16 },
            first_slot: first_slot as u32,
        }
    }

    #[inline]
    fn fits(&self, head: &InstHead) -> bool {
        let is_guarded = head.opcode.is_guarded();
        let opcode = head.opcode.0 ^ OpcodeWord::new(0, is_guarded).0;
        (opcode == self.opcode)
            & (head.marks & check_forms::MARKS_OF_FORMS == self.marks)
            & (head.operand_count == self.operand_count + u16::from(is_guarded))
    }
}

/// What an operand with this pattern names, if a verifier of forms finds nothing wrong with it there.
fn names_in(kind: SlotKind, pattern: usize) -> Names {
    let Some(operand) = Operand::of_pattern(pattern) else { return Names::Refused };
    let verdict = match kind {
        SlotKind::Guard => check_forms::verify_guard(operand),
        SlotKind::Slot(slot) => check_forms::verify_operand(operand, &slot, true),
        SlotKind::UnmodelledSlot(slot) => check_forms::verify_operand(operand, &slot, false),
    };
    if verdict.is_ok() { Names::of(operand) } else { Names::Refused }
}

/// Whether the verifiers find nothing wrong with an instruction.
#[cold]
fn passes_closer_look(function: &FunctionView<'_>, forms: &FormTable, inst: InstId) -> bool {
    rows::verify_operands(function, inst).is_ok()
        && check_forms::verify_inst(function, forms, inst).is_ok()
        && tables::verify_inst(function, forms, inst).is_ok()
        && async_registers::verify_inst(function, forms, inst).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::{Built, Random, kernel};
    use ptxopt_components::ids::{FormId, LiteralId, NameId, TableId, VRegId};
    use ptxopt_components::instruction::OPERANDS_INLINE;
    use ptxopt_components::operand::Selector;
    use ptxopt_components::vreg::VRegFlags;

    /// Instructions of every kind: literals, guards, pairs, vectors, carry, calls, tables, symbols, unknown ones.
    fn built() -> Built {
        let mut built = kernel(
            ".reg .b32 %r<9>; .reg .f64 %f<3>; .reg .pred %p<4>; .reg .b64 %d<4>; fp: .callprototype _ (); \
             ld.param.u64 %d1, [p+8]; mov.u32 %r1, %tid.x; mov.u32 %r2, g; add.s32 %r1, %r2, 3; add.s32 %r1, %r2, %r1; \
             @!%p1 setp.lt.and.s32 %p2|%p3, %r1, %r2, !%p1; @%p2 setp.lt.s32 %p1, %r1, 7; \
             ld.global.v2.b32 {%r1, _}, [%d1+0x100000000]; ld.global.v4.b32 {%r1, %r3, %r4, %r5}, [%d1+4]; \
             add.cc.u32 %r1, %r2, %r3; addc.u32 %r1, %r2, %r3; st.global.b32 [%d1+-4], 7; add.f64 %f1, %f2, 0d3ff8000000000000; \
             frobnicate %r4, %r5; selp.b32 %r4, %r1, %r2, %p2; mov.b64 %d2, f; call %d2, (), fp; \
             @%p1 bra L; N: ts: .branchtargets L, M, N; brx.idx %r1, ts; L: add.s32 %r1, %r1, 1; M: ret;",
        );
        built.tables.code_states[0].flags |= CodeFlags::TERMINATORS_LAST;
        built
    }

    fn passes(built: &Built, look: &mut FirstLook) -> bool {
        look.bring_up_to_date(&built.forms);
        look.passes(&built.function(), &built.forms, true)
    }

    impl Random {
        /// An operand of any kind; its id may be one that is not there.
        fn operand(&mut self) -> Operand {
            let id = [0, 1, 2, 5, 9, 12, 20, 1000][self.below(8)];
            let operand = match self.below(12) {
                0..=2 => Operand::register(VRegId(id)),
                3 => Operand::predicate(VRegId(id), self.below(2) == 0),
                4 => Operand::register(VRegId(id)).with_wide_offset(LiteralId(id)),
                5 => Operand::register(VRegId(id)).with_selector(Selector::parse(b"x").unwrap()),
                6 => Operand::int(id as i32 - 5),
                7 => Operand::literal(LiteralId(id)),
                8 => Operand::block(BlockId(id)),
                9 => Operand::symbol(NameId(id)),
                10 => Operand::table(TableId(id)),
                _ => [Operand::sink(), Operand::special(id as usize)][self.below(2)],
            };
            match self.below(4) {
                0 => operand.as_definition(false),
                1 => operand.as_definition(true),
                _ => operand,
            }
        }

        /// Damages one instruction, or perhaps not.
        fn damage(&mut self, built: &mut Built) {
            let tables = &mut built.tables;
            let inst = self.below(tables.inst_heads.len());
            let head = &mut tables.inst_heads[inst];
            match self.below(8) {
                0 => head.marks ^= Marks::from_bits_retain(1 << self.below(11)),
                1 => head.opcode = OpcodeWord(head.opcode.0 ^ 1 << self.below(13)),
                2 => head.form = FormId(self.below(built.forms.len() + 2) as u32),
                3 if head.operand_count < OPERANDS_INLINE as u16 => {
                    head.operand_count += 1;
                    let operands = tables.inst_operands[inst].get_mut(head.operand_count, &mut []);
                    operands[operands.len() - 1] = self.operand();
                }
                4 if (1..=OPERANDS_INLINE as u16).contains(&head.operand_count) => head.operand_count -= 1,
                5 => {
                    let vreg = self.below(tables.vreg_heads.len());
                    tables.vreg_heads[vreg].flags ^= VRegFlags::PINNED;
                }
                _ => {
                    let count = head.operand_count;
                    let operands = tables.inst_operands[inst].get_mut(count, &mut tables.pools.operands);
                    if let Some(last) = operands.len().checked_sub(1) {
                        operands[self.below(last + 1)] = self.operand();
                    }
                }
            }
        }
    }

    #[test]
    fn the_unbroken_function_passes() {
        let built = built();
        assert_eq!(verify(&built.function(), &built.forms), Ok(()));
        assert!(passes(&built, &mut FirstLook::default()));
    }

    /// One look, which remembers what it has seen, over many damaged functions.
    #[test]
    fn what_passes_is_what_the_verifiers_find_nothing_wrong_with() {
        let (mut look, mut random, mut counts) = (FirstLook::default(), Random(1), [0; 2]);
        for _ in 0..20_000 {
            let mut built = built();
            random.damage(&mut built);
            let verdict = verify(&built.function(), &built.forms);
            assert_eq!(passes(&built, &mut look), verdict.is_ok(), "{verdict:?}");
            counts[usize::from(verdict.is_ok())] += 1;
        }
        assert!(counts[0] > 5_000 && counts[1] > 2_000, "{counts:?}");
    }

    #[test]
    fn what_passed_is_forgotten_in_the_next_step() {
        let mut passed = Passed::default();
        passed.start(2);
        passed.pass(CodeId(1));
        assert!(!passed.has(CodeId(0)) && passed.has(CodeId(1)) && !passed.has(CodeId(7)));
        passed.start(2);
        assert!(!passed.has(CodeId(1)));
    }
}
