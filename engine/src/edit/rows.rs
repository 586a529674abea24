//! Changes of instructions, operands and registers.

use super::session::{Change, FunctionEditor};
use crate::forms::FormTable;
use crate::values::def_use::OperandRef;
use ptxopt_components::anchor::Anchor;
use ptxopt_components::block::BlockFlags;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::form::{Accepts, Form, FormFlags, Role, Slot};
use ptxopt_components::ids::{BlockId, FormId, Id, InstId, LiteralId, Maybe, Span, VRegId};
use ptxopt_components::instruction::{InstHead, InstLinks, InstOperands, InstPlace, Marks, OpcodeWord};
use ptxopt_components::operand::{Literal, LiteralKind, Operand, OperandKind, definitions, writes};
use ptxopt_components::types::{PackedType, PtxType, RegClass};
use ptxopt_components::vreg::{VRegFlags, VRegHead, VRegName};

/// Operands of an instruction that is rewritten among which a name is looked for.
const LOOKED_AT: usize = 8;

/// Whether `slot` takes `operand`, as far as kinds go: what the verifier of forms asks too.
#[must_use]
pub fn accepts(slot: &Slot, operand: Operand) -> bool {
    if slot.role == Role::Address {
        return true;
    }
    let kind = operand.kind();
    if (slot.role == Role::Target) != matches!(kind, OperandKind::Block(_)) {
        return false;
    }
    let is_literal = matches!(kind, OperandKind::Int(_) | OperandKind::F32(_) | OperandKind::Literal(_));
    let wanted = match kind {
        OperandKind::Sink if slot.in_vector => Accepts::SINK_ELEMENT,
        OperandKind::Sink => Accepts::SINK,
        // Letters say what was tried with the whole slot; compilers write literals as elements of untyped vectors.
        _ if is_literal && slot.in_vector && slot.ty.is_none() => Accepts::empty(),
        _ if is_literal => Accepts::IMMEDIATE,
        OperandKind::Predicate { negated: true, .. } => Accepts::NEGATION,
        _ => Accepts::empty(),
    };
    let is_predicate = matches!(kind, OperandKind::Predicate { .. });
    let fits_type = match (operand.vreg(), slot.ty) {
        (Some(_), Some(ty)) => (ty == PtxType::Pred) == is_predicate,
        _ => true,
    };
    slot.accepts.contains(wanted) && fits_type
}

impl Change<'_, '_> {
    /// Inserts an instruction before `before`, in its block. `operands` are those of the form, and the guard last where
    /// there is one; definition bits and marks follow from the form. It gets the place in the text of `before`.
    pub fn insert_before(
        &mut self,
        before: InstId,
        form: FormId,
        operands: &[Operand],
        guard: Option<Operand>,
    ) -> InstId {
        let place = self.f.rows.places[before.index()];
        let block = self.f.rows.heads[before.index()].block;
        let inst = self.new_row(block, form, operands, guard, place);
        self.f.link_before(block, inst, Some(before));
        inst
    }

    /// Inserts an instruction at the end of a block. It gets the place in the text of the row before it.
    pub fn insert_at_end(
        &mut self,
        block: BlockId,
        form: FormId,
        operands: &[Operand],
        guard: Option<Operand>,
    ) -> InstId {
        let last = self.f.rows.rows_of(block).next_back();
        let place = match last {
            Some(last) => self.f.rows.places[last.index()],
            None => InstPlace { offset: self.f.rows.labels[block.index()].offset },
        };
        let inst = self.new_row(block, form, operands, guard, place);
        self.f.link_before(block, inst, None);
        inst
    }

    /// Moves an instruction before another one. Both keep their ids. Lines and labels before it stay where they are; a pragma
    /// that belongs to it goes: it is a hint.
    pub fn move_before(&mut self, inst: InstId, before: InstId) {
        assert_ne!(inst, before, "an instruction cannot stand before itself");
        let block = self.f.rows.heads[before.index()].block;
        self.f.unlink(inst);
        self.f.link_before(block, inst, Some(before));
        self.f.set_block(inst, block);
        self.f.note_all_reused(inst);
    }

    /// Moves an instruction to the end of a block.
    pub fn move_to_end(&mut self, inst: InstId, block: BlockId) {
        self.f.unlink(inst);
        self.f.link_before(block, inst, None);
        self.f.set_block(inst, block);
        self.f.note_all_reused(inst);
    }

    /// Deletes an instruction: it becomes a tombstone.
    pub fn delete(&mut self, inst: InstId) {
        let f = &mut *self.f;
        let is_value = |vreg: VRegId| f.is_in_ssa() && f.rows.vregs[vreg.index()].is_value();
        if !writes(f.rows.operands_of(inst)).all(is_value) {
            f.rows.state.def_epoch += 1;
        }
        debug_assert!(f.rows.heads[inst.index()].is_live());
        f.tools.journal.save_head(&f.rows, inst);
        if let Some(def_use) = f.def_use.as_deref_mut() {
            def_use.remove(inst, f.rows.operands_of(inst));
        }
        f.rows.heads[inst.index()].marks |= Marks::TOMBSTONE;
        f.rows.state.flags |= CodeFlags::HAS_TOMBSTONES;
        f.rows.state.live_insts -= 1;
    }

    /// Makes an instruction one of another form, with the operands of that form. Its guard stays.
    pub fn set_form(&mut self, inst: InstId, form: FormId, operands: &[Operand]) {
        let guard = self.f.guard_of(inst);
        self.f.rewrite(inst, form, operands, guard);
    }

    /// Replaces an operand. Whether it is written follows from what stood there.
    ///
    /// # Panics
    /// Where the slot does not take the operand.
    pub fn set_operand(&mut self, inst: InstId, position: usize, operand: Operand) {
        let f = &mut *self.f;
        let head = f.rows.heads[inst.index()];
        let slots = f.tools.forms.slots(head.form);
        if let Some(slot) = slots.get(position) {
            assert!(accepts(slot, operand), "{inst:?} takes no {operand:?} as operand {position}");
        }
        let old = f.rows.operands_of(inst)[position];
        if operand.vreg() != old.vreg() {
            f.note_reused(operand);
            if head.is_phi() {
                f.note_reused(f.rows.operands_of(inst)[0]);
            }
        }
        let is_written = operand.vreg().is_some() && old.is_definition();
        let new = if is_written { operand.as_definition(old.is_use()) } else { operand };
        f.replace_operand(inst, position, new);
    }

    /// Gives operands the names of other registers of the same type: each instruction and position with its new name, those
    /// of an instruction one after the other. The caller knows that the registers hold the same there: SSA form takes no
    /// notice.
    pub fn rename_each(&mut self, renamed: impl Iterator<Item = (InstId, usize, VRegId)>) {
        let f = &mut *self.f;
        let mut last = None;
        for (inst, position, vreg) in renamed {
            if last.replace(inst) != Some(inst) {
                f.tools.journal.save_operands(&f.rows, inst);
                f.note_changed(inst);
            }
            let old = f.rows.operands_of(inst)[position];
            debug_assert!(
                old.vreg().is_some_and(|old| f.rows.vregs[old.index()].ty == f.rows.vregs[vreg.index()].ty)
            );
            let named = old.with_vreg(vreg);
            let new = if old.is_definition() { named.as_definition(old.is_use()) } else { named };
            f.put_operand(OperandRef { inst, position }, new);
        }
    }

    /// Replaces every read of `old` by `new`, where all slots take it; says whether.
    ///
    /// `new` is a register of the same class, or a literal. Offsets, selectors, signs and negations stay as they are; a
    /// literal replaces plain operands only. Operands that read and write `old` are not replaced, and keep the others from
    /// being.
    pub fn replace_uses(&mut self, old: VRegId, new: Operand) -> bool {
        let f = &*self.f;
        let uses: Vec<OperandRef> = f.def_use().uses(old).collect();
        let replaced = |at: OperandRef| -> Option<Operand> {
            let operand = f.rows.operands_of(at.inst)[at.position];
            let slots = f.tools.forms.slots(f.rows.heads[at.inst.index()].form);
            if operand.is_definition() {
                return None;
            }
            let operand = match new.vreg() {
                Some(vreg) => operand.with_vreg(vreg),
                None if operand.has_payload() || operand != Operand::register(old) => return None,
                None => new,
            };
            // The guard and the carry have no slot, and take registers only.
            let fits = slots.get(at.position).map_or(operand.vreg().is_some(), |slot| accepts(slot, operand));
            fits.then_some(operand)
        };
        let Some(operands) = uses.iter().map(|&at| replaced(at)).collect::<Option<Vec<_>>>() else {
            return false;
        };
        for (at, operand) in uses.into_iter().zip(operands) {
            self.set_operand(at.inst, at.position, operand);
        }
        true
    }

    /// A new register, which nothing names yet.
    pub fn new_vreg(&mut self, ty: PtxType) -> VRegId {
        let f = &mut *self.f;
        let id = VRegId::new(f.rows.spans.vregs.len());
        assert!(f.rows.spans.room.vregs > 0, "no room for another register");
        f.rows.state.def_epoch += 1;
        f.rows.spans.vregs.count += 1;
        f.rows.spans.room.vregs -= 1;
        let ty = PackedType::new(ty, 1);
        let number = id.0 - f.rows.text.vregs_in;
        f.rows.vregs[id.index()] = VRegHead::new(ty, VRegFlags::empty());
        f.rows.vreg_names[id.index()] =
            VRegName { prefix: f.rows.pools.names.fresh_prefix(f.rows.text.module, ty), number };
        if let Some(def_use) = f.def_use.as_deref_mut() {
            def_use.add_vreg();
        }
        id
    }

    /// A new register of the type of `like`, which nothing names yet.
    ///
    /// # Panics
    /// When `like` is a vector.
    pub fn new_vreg_like(&mut self, like: VRegId) -> VRegId {
        let ty = self.f.rows.vregs[like.index()].ty;
        assert_eq!(ty.lanes, 1, "new registers are of one element");
        self.new_vreg(ty.element())
    }

    /// A literal with these bits, as an operand for a slot of type `ty`.
    pub fn constant(&mut self, bits: u64, ty: PtxType) -> Operand {
        let pool = &mut self.f.rows.pools.literals;
        let mut pooled = |kind: LiteralKind| {
            pool.push(Literal::new(kind, bits));
            Operand::literal(LiteralId::new(pool.len() - 1))
        };
        match ty {
            PtxType::F32 => Operand::f32_bits(bits as u32),
            PtxType::F64 => pooled(LiteralKind::F64),
            _ => match i32::try_from(bits as i64) {
                Ok(value) => Operand::int(value),
                // As the reader takes it: its digits without the sign fit no signed integer.
                Err(_) if bits == 1 << 63 => pooled(LiteralKind::Unsigned),
                Err(_) => pooled(LiteralKind::Signed),
            },
        }
    }

    /// A row for a new instruction of `block`, in no place yet.
    fn new_row(
        &mut self,
        block: BlockId,
        form: FormId,
        operands: &[Operand],
        guard: Option<Operand>,
        place: InstPlace,
    ) -> InstId {
        let f = &mut *self.f;
        let inst = f.take_row();
        f.rows.places[inst.index()] = place;
        f.rows.heads[inst.index()] = InstHead { block, ..InstHead::default() };
        f.write_row(inst, form, operands, guard);
        f.note_all_reused(inst);
        f.rows.state.def_epoch += 1;
        f.rows.state.live_insts += 1;
        inst
    }

    /// Gives an instruction another guard, or none.
    pub(super) fn set_guard(&mut self, inst: InstId, guard: Option<Operand>) {
        let f = &*self.f;
        let form = f.rows.heads[inst.index()].form;
        let slot_count = f.tools.forms.slots(form).len();
        let operands: Vec<Operand> = f.rows.operands_of(inst)[..slot_count].to_vec();
        self.f.rewrite(inst, form, &operands, guard);
    }
}

impl FunctionEditor<'_> {
    /// Takes the marks from an instruction that say what its operands are: they are about to be others.
    fn note_changed(&mut self, inst: InstId) {
        if self.rows.heads[inst.index()].marks.intersects(Marks::OF_WHAT_STANDS) {
            self.tools.journal.save_head(&self.rows, inst);
            self.rows.heads[inst.index()].marks -= Marks::OF_WHAT_STANDS;
        }
    }

    /// Replaces an operand by one that fits, and that is written where the old one is.
    pub(super) fn replace_operand(&mut self, inst: InstId, position: usize, new: Operand) {
        self.tools.journal.save_operand(&self.rows, inst, position);
        self.note_changed(inst);
        self.put_operand(OperandRef { inst, position }, new);
    }

    /// Replaces an operand by one that fits; the row is saved.
    fn put_operand(&mut self, at: OperandRef, new: Operand) {
        let old = std::mem::replace(&mut self.rows.operands_mut(at.inst)[at.position], new);
        self.rows.state.def_epoch += u32::from(old.is_definition());
        if let Some(def_use) = self.def_use.as_deref_mut() {
            def_use.replace(at, old, new);
        }
    }

    /// Makes a row one of another form with other operands.
    pub(super) fn rewrite(
        &mut self,
        inst: InstId,
        form: FormId,
        operands: &[Operand],
        guard: Option<Operand>,
    ) {
        self.tools.journal.save_head(&self.rows, inst);
        self.tools.journal.save_operands(&self.rows, inst);
        let was_guarded = self.rows.heads[inst.index()].opcode.is_guarded();
        let slots = self.tools.forms.slots(form);
        let is_written = |(slot, _): &(&Slot, &Operand)| matches!(slot.role, Role::Def | Role::DefUse);
        let new = slots.iter().zip(operands).filter(is_written).filter_map(|(_, operand)| operand.vreg());
        let old = self.rows.operands_of(inst);
        let is_partial = definitions(old).any(|(_, is_partial)| is_partial);
        if is_partial || was_guarded != guard.is_some() || !writes(old).eq(new) {
            self.rows.state.def_epoch += 1;
        }
        if let Some(def_use) = self.def_use.as_deref_mut() {
            def_use.remove(inst, self.rows.operands_of(inst));
        }
        for operand in operands.iter().copied().chain(guard) {
            let is_named = |old: &Operand| old.vreg() == operand.vreg();
            let old = self.rows.operands_of(inst);
            if !old[..old.len().min(LOOKED_AT)].iter().any(is_named) {
                self.note_reused(operand);
            }
        }
        self.write_row(inst, form, operands, guard);
    }

    /// Notes that the register of an operand, if it has one, is named at another place.
    fn note_reused(&mut self, operand: Operand) {
        if let Some(vreg) = operand.vreg().filter(|_| self.is_in_ssa()) {
            self.set_vreg_flags(vreg, VRegFlags::REUSED, true);
        }
    }

    /// Notes that the registers of an instruction are named at another place.
    pub(super) fn note_all_reused(&mut self, inst: InstId) {
        if self.is_in_ssa() {
            for at in 0..self.rows.operands_of(inst).len() {
                self.note_reused(self.rows.operands_of(inst)[at]);
            }
        }
    }

    /// A register as an operand, which says whether it is a predicate.
    pub(super) fn register(&self, vreg: VRegId) -> Operand {
        match self.rows.vregs[vreg.index()].class() {
            RegClass::P | RegClass::Up => Operand::predicate(vreg, false),
            _ => Operand::register(vreg),
        }
    }

    /// The next free row.
    pub(super) fn take_row(&mut self) -> InstId {
        let spans = &mut *self.rows.spans;
        assert!(spans.room.insts > 0, "no room for another instruction");
        let inst = InstId::new(spans.insts.len());
        spans.insts.count += 1;
        spans.room.insts -= 1;
        inst
    }

    /// Writes form, operands and marks of a row. Its place, block and links are set already. A form that reads or writes the carry
    /// register stands where one did.
    fn write_row(&mut self, inst: InstId, form: FormId, operands: &[Operand], guard: Option<Operand>) {
        let forms: &FormTable = self.tools.forms;
        let (description, slots) = (forms.get(form), forms.slots(form));
        assert_eq!(operands.len(), slots.len(), "the form has another number of operands");
        let all = &mut self.scratch.operands;
        all.clear();
        for (position, (&operand, slot)) in operands.iter().zip(slots).enumerate() {
            let is_modelled = description.flags.contains(FormFlags::MODELLED);
            assert!(
                !is_modelled || accepts(slot, operand),
                "{inst:?} takes no {operand:?} as operand {position}"
            );
            let is_written = operand.vreg().is_some() && matches!(slot.role, Role::Def | Role::DefUse);
            all.push(if is_written { operand.as_definition(slot.role == Role::DefUse) } else { operand });
        }
        if description.effects.intersects(Form::CARRY) {
            let carry = self.rows.carry_of(inst).expect("no instruction joins a carry chain");
            all.push(description.carry(carry));
        }
        all.extend(guard);
        self.rows.operands[inst.index()] = InstOperands::store(all, &mut self.rows.pools.operands);
        let head = &mut self.rows.heads[inst.index()];
        *head = InstHead {
            opcode: OpcodeWord::new(description.root, guard.is_some()),
            form,
            block: head.block,
            marks: description.marks,
            operand_count: all.len() as u16,
        };
        if let Some(def_use) = self.def_use.as_deref_mut() {
            def_use.add(inst, all);
        }
    }

    fn set_block(&mut self, inst: InstId, block: BlockId) {
        self.tools.journal.save_head(&self.rows, inst);
        self.rows.heads[inst.index()].block = block;
        self.rows.state.def_epoch += 1;
    }

    /// Links the rows of a block to one another.
    pub(super) fn chain(&mut self, block: BlockId) {
        let head = self.rows.blocks[block.index()];
        if head.flags.contains(BlockFlags::CHAINED) {
            return;
        }
        self.save_block_once(block);
        if let Some(saved) = self.scratch.saved.get_mut(block.index()) {
            saved.links = true;
        }
        let range = head.insts.range();
        let (first, last) = (head.insts.first, (range.end as u32).wrapping_sub(1));
        for (inst, links) in (first..).zip(&mut self.rows.links[range]) {
            *links = InstLinks { prev: InstId(inst.wrapping_sub(1)), next: InstId(inst + 1) };
        }
        if !head.insts.is_empty() {
            self.rows.links[first as usize].prev = InstId(last);
            self.rows.links[last as usize].next = InstId(first);
        }
        self.rows.blocks[block.index()].flags |= BlockFlags::CHAINED;
        self.rows.state.flags |= CodeFlags::OUT_OF_ORDER;
    }

    /// Saves the head of a block, if this edit has not.
    fn save_block_once(&mut self, block: BlockId) {
        let saved = self.scratch.saved.get_mut(block.index());
        let is_saved = saved.is_some_and(|saved| std::mem::replace(&mut saved.head, true));
        if !is_saved {
            self.tools.journal.save_block(&self.rows, block);
        }
    }

    /// Saves the links of rows of a chained block, where they meant anything when the edit began.
    fn save_links_in(&mut self, block: BlockId, rows: &[InstId]) {
        if self.scratch.saved.get(block.index()).is_some_and(|saved| saved.links) {
            return;
        }
        for &row in rows {
            if row.0 < self.rows_before {
                self.tools.journal.save_links(&self.rows, row);
            }
        }
    }

    /// Notes that rows of another block come to a block: their links may not be saved.
    pub(super) fn links_matter(&mut self, block: BlockId) {
        if let Some(saved) = self.scratch.saved.get_mut(block.index()) {
            saved.links = false;
        }
    }

    /// Puts a row that is in no block before `before`, or at the end of `block`.
    pub(super) fn link_before(&mut self, block: BlockId, inst: InstId, before: Option<InstId>) {
        assert!(block.index() < self.rows.spans.blocks.len(), "{block:?} does not exist");
        self.index_anchors();
        self.rows.state.flags |= CodeFlags::OUT_OF_ORDER;
        let head = self.rows.blocks[block.index()];
        let is_chained = head.flags.contains(BlockFlags::CHAINED);
        let follows_last = before.is_none() && !is_chained && head.insts.end() == inst.index();
        if head.insts.is_empty() || follows_last {
            // It is alone, or stands right after the last row: no chain is needed.
            self.save_block_once(block);
            let row = &mut self.rows.blocks[block.index()];
            if head.insts.is_empty() {
                row.insts = Span { first: inst.0, count: 1 };
                row.flags -= BlockFlags::CHAINED;
            } else {
                row.insts.count += 1;
            }
            return;
        }
        self.chain(block);
        self.save_block_once(block);
        let first = InstId(head.insts.first);
        // The ring closes at the first row: before it is the end, and the beginning where it is named.
        let next = before.unwrap_or(first);
        let prev = self.rows.links[next.index()].prev;
        self.save_links_in(block, &[prev, next, inst]);
        self.rows.links[inst.index()] = InstLinks { prev, next };
        self.rows.links[prev.index()].next = inst;
        self.rows.links[next.index()].prev = inst;
        let insts = &mut self.rows.blocks[block.index()].insts;
        insts.count += 1;
        if before == Some(first) {
            insts.first = inst.0;
        }
    }

    /// Takes a row out of its block. A tombstone stays for the anchors before it.
    fn unlink(&mut self, inst: InstId) {
        let block = self.rows.heads[inst.index()].block;
        self.index_anchors();
        self.chain(block);
        self.leave_place(inst);
        self.save_block_once(block);
        let InstLinks { prev, next } = self.rows.links[inst.index()];
        self.save_links_in(block, &[prev, next, inst]);
        self.rows.links[prev.index()].next = next;
        self.rows.links[next.index()].prev = prev;
        let insts = &mut self.rows.blocks[block.index()].insts;
        insts.count -= 1;
        if insts.first == inst.0 {
            insts.first = next.0;
        }
    }

    /// A tombstone that stands for a place in `block`, in none yet.
    pub(super) fn take_tombstone(&mut self, block: BlockId, offset: u32) -> InstId {
        let tombstone = self.take_row();
        self.rows.heads[tombstone.index()] =
            InstHead { marks: Marks::TOMBSTONE, block, ..InstHead::default() };
        self.rows.operands[tombstone.index()] = InstOperands::default();
        self.rows.places[tombstone.index()].offset = offset;
        self.rows.state.flags |= CodeFlags::HAS_TOMBSTONES;
        tombstone
    }

    /// Puts a tombstone before an instruction that is about to move, where anchors stand before it: they stay.
    fn leave_place(&mut self, inst: InstId) {
        let index = self.scratch.first_anchor.get(inst.index()).filter(|_| self.has_anchor_index);
        let first = index.and_then(|first| first.get());
        let joint = if self.has_order { self.scratch.joined_by.remove(&inst) } else { None };
        if first.is_none() && joint.is_none() {
            return;
        }
        let block = self.rows.heads[inst.index()].block;
        let tombstone = self.take_tombstone(block, self.rows.places[inst.index()].offset);
        self.link_before(block, tombstone, Some(inst));
        if let Some(joint) = joint {
            self.scratch.joined[joint.index()] = Maybe::some(tombstone);
            self.scratch.joined_by.insert(tombstone, joint);
        }
        let Some(first) = first else { return };
        let end = self.rows.spans.anchors.end();
        let mut at = first.index();
        while at < end {
            let anchor = self.rows.pools.anchors[at];
            if anchor.before == inst {
                self.tools.journal.save_anchor(&self.rows, at);
                self.rows.pools.anchors[at].before = tombstone;
            } else if !self.is_of_dead_block(&anchor) {
                break;
            }
            at += 1;
        }
        self.scratch.first_anchor[inst.index()] = Maybe::NONE;
    }

    /// Whether an anchor stands in a block that is gone. Such ones may lie between those of one instruction.
    fn is_of_dead_block(&self, anchor: &Anchor) -> bool {
        let row = self.rows.heads[..self.rows.spans.insts.len()].get(anchor.before.index());
        let home = row.filter(|_| !anchor.is_of_block()).map_or(anchor.block, |head| head.block);
        self.rows.blocks[home.index()].flags.contains(BlockFlags::DEAD)
    }

    /// Notes, where the function has anchors, which of them stand before an instruction and which at the end of a block:
    /// the row after a block's end will not be that for long.
    pub(super) fn index_anchors(&mut self) {
        if self.has_anchor_index || self.rows.spans.anchors.is_empty() {
            return;
        }
        self.has_anchor_index = true;
        let (first_anchor, ends) = (&mut self.scratch.first_anchor, &mut self.scratch.end_anchors);
        first_anchor.clear();
        first_anchor.resize(self.rows.spans.insts.len(), Maybe::NONE);
        ends.clear();
        ends.resize(self.rows.spans.blocks.len(), Span::default());
        for at in self.rows.spans.anchors.range() {
            let anchor = self.rows.pools.anchors[at];
            if anchor.is_of_block() {
                continue;
            }
            let Anchor { before, block, .. } = anchor;
            let head = &self.rows.blocks[block.index()];
            let is_inside = if head.flags.contains(BlockFlags::CHAINED) {
                before != Anchor::END
            } else {
                head.insts.range().contains(&before.index())
            };
            if is_inside {
                let first = &mut first_anchor[before.index()];
                if first.is_none() {
                    *first = Maybe::some(InstId::new(at));
                }
            } else {
                if before != Anchor::END {
                    self.tools.journal.save_anchor(&self.rows, at);
                    self.rows.pools.anchors[at].before = Anchor::END;
                }
                let end = &mut ends[block.index()];
                *end = if end.is_empty() {
                    Span::between(at, at + 1)
                } else {
                    Span::between(end.first as usize, at + 1)
                };
            }
        }
    }
}
