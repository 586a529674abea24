//! Emit: writes the copies of a nest down and deletes the nest.
//!
//! Copies that follow one another become one block where nothing else leads to the second. Elsewhere a jump leads on, if the copy is not
//! the next in the text.

use super::unfold::{BlockCopy, Unfolded, Way, literal_type};
use crate::ssa::moves::{move_form, moved_as, read_of};
use crate::values::general_optimize::constants;
use ahash::AHashMap;
use ptxopt_components::code_object::Room;
use ptxopt_components::ids::{BlockId, FormId, Id, InstId, VRegId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::operand::Operand;
use ptxopt_components::types::PtxType;
use ptxopt_engine::edit::{Change, FunctionEditor};
use ptxopt_engine::graph::nest::LoopNest;
use ptxopt_engine::store::view::FunctionView;

/// Writes nests of one function, one after the other.
pub(super) struct Emitter {
    /// By block: the branches that lead there.
    branches: AHashMap<BlockId, Vec<InstId>>,
    /// By header of a nest that is written: where its first round begins.
    moved: AHashMap<BlockId, BlockId>,
}

impl Emitter {
    pub(super) fn new(view: &FunctionView<'_>) -> Self {
        let mut branches: AHashMap<BlockId, Vec<InstId>> = AHashMap::default();
        for (inst, _, operands) in view.rows() {
            if let Some(block) = operands.first().and_then(|operand| operand.as_block()) {
                branches.entry(block).or_default().push(inst);
            }
        }
        Self { branches, moved: AHashMap::default() }
    }

    /// Writes a nest as one change; none where there is no room or no fuel for it.
    pub(super) fn emit(
        &mut self,
        f: &mut FunctionEditor<'_>,
        nest: &LoopNest,
        unfolded: &Unfolded,
    ) -> Option<()> {
        let view = f.view();
        let header = nest.row(unfolded.root).header;
        let layout = Layout::of(&view, &unfolded.copies);
        let room =
            Room { insts: unfolded.rows as u32, blocks: layout.heads as u32, vregs: unfolded.names as u32 };
        let offset = view.labels[header.index()].offset;
        let of_nest = |inst: &InstId| nest.holds(unfolded.root, view.heads[inst.index()].block);
        let of_header = self.branches.get(&header).into_iter().flatten().copied();
        let entries: Vec<InstId> = of_header.filter(|inst| !of_nest(inst)).collect();
        // A cycle of the text has a branch back.
        let of_branch =
            |inst: InstId| view.operands_of(inst).first()?.as_block().map(|_| view.heads[inst.index()].form);
        let blocks = nest.blocks(unfolded.root).iter();
        let bra = blocks.flat_map(|&block| view.insts_of(block)).find_map(of_branch)?;
        let reason = "a loop of a constant number of rounds is unrolled for the local array in it";
        let mut change = f.change_with_room(offset, reason, room)?;
        let bra = change.forms().without_uniform(bra);
        let mut blocks: Vec<BlockId> = vec![BlockId(0); unfolded.copies.len()];
        let mut block = header;
        for &(at, is_head) in &layout.order {
            if is_head {
                block = change.insert_block_before(header);
            }
            blocks[at] = block;
        }
        let mut writer =
            Writer { change, unfolded, blocks, bra, names: AHashMap::default(), written: Vec::new() };
        for (number, &(at, _)) in layout.order.iter().enumerate() {
            let next = layout.order.get(number + 1).map(|&(next, _)| next);
            writer.write(at, next, &self.moved);
        }
        let Writer { mut change, blocks, mut written, .. } = writer;
        for &entry in &entries {
            change.redirect(entry, blocks[0]);
        }
        change.delete_blocks(nest.blocks(unfolded.root));
        // What came after the nest may come right after its last copy now.
        let is_next = |&mut (inst, to): &mut (InstId, BlockId)| {
            let function = change.function();
            let is_last = function.insts_of(block).next_back() == Some(inst);
            is_last && function.guard_of(inst).is_none() && change.next_in_text(block) == Some(to)
        };
        if let Some((inst, _)) = written.pop_if(is_next) {
            change.delete_branch(inst);
        }
        for (inst, to) in written {
            self.branches.entry(to).or_default().push(inst);
        }
        self.moved.insert(header, blocks[0]);
        Some(())
    }
}

/// In which order copies stand in the text, and which of them begin a block.
struct Layout {
    order: Vec<(usize, bool)>,
    /// How many begin one.
    heads: usize,
}

impl Layout {
    fn of(view: &FunctionView<'_>, copies: &[BlockCopy]) -> Self {
        let mut is_placed = vec![false; copies.len()];
        let mut order: Vec<(usize, bool)> = Vec::with_capacity(copies.len());
        for first in 0..copies.len() {
            let mut at = first;
            let mut before: Option<usize> = None;
            while !std::mem::replace(&mut is_placed[at], true) {
                let joins = before.is_some_and(|before| {
                    let last = view.insts_of(copies[before].block).next_back();
                    let is_open = last.is_none_or(|last| {
                        let head = &view.heads[last.index()];
                        let leads = view
                            .operands_of(last)
                            .first()
                            .is_some_and(|operand| operand.as_block().is_some());
                        leads || !head.marks.contains(Marks::CONTROL)
                    });
                    is_open && copies[before].taken.is_none() && copies[at].entries == 1
                });
                order.push((at, !joins));
                before = Some(at);
                match copies[at].goes {
                    Some(Way::Copy(next)) => at = next,
                    _ => break,
                }
            }
        }
        let heads = order.iter().filter(|(_, is_head)| *is_head).count();
        Self { order, heads }
    }
}

/// Writes the copies of one nest.
struct Writer<'e, 'a, 'u> {
    change: Change<'e, 'a>,
    unfolded: &'u Unfolded,
    /// By copy: the block that it is in.
    blocks: Vec<BlockId>,
    bra: FormId,
    /// By register and round: its name there.
    names: AHashMap<(VRegId, u32), VRegId>,
    /// Branches out of the nest, and where they lead.
    written: Vec<(InstId, BlockId)>,
}

impl Writer<'_, '_, '_> {
    fn write(&mut self, at: usize, next: Option<usize>, moved: &AHashMap<BlockId, BlockId>) {
        let unfolded = self.unfolded;
        let (copy, block) = (&unfolded.copies[at], self.blocks[at]);
        let view = self.change.function();
        let rows: Vec<(InstId, FormId, Vec<Operand>, Option<Operand>)> = view
            .insts_of(copy.block)
            .map(|inst| {
                let guard = view.guard_of(inst);
                let operands = view.operands_of(inst);
                let operands = &operands[..operands.len() - usize::from(guard.is_some())];
                (inst, view.heads[inst.index()].form, operands.to_vec(), guard)
            })
            .collect();
        let mut constants = copy.constants.iter().peekable();
        for (inst, form, mut operands, guard) in rows {
            let known = constants.next_if(|&&(of, _)| of == inst).map(|&(_, bits)| bits);
            let is_branch = operands.first().is_some_and(|operand| operand.as_block().is_some());
            if is_branch {
                if let Some(taken) = copy.taken {
                    let guard = guard.map(|guard| self.renamed(guard, copy));
                    self.branch(block, taken, guard, moved);
                }
                continue;
            }
            let result =
                operands.first().filter(|operand| operand.is_definition()).and_then(|operand| operand.vreg());
            if result.is_some_and(|result| self.is_literal(result, copy)) {
                continue;
            }
            if known.is_some_and(|bits| self.write_constant(block, operands[0], bits)) {
                continue;
            }
            for (position, operand) in operands.iter_mut().enumerate() {
                *operand = self.read_or_written(*operand, form, position, copy, block);
            }
            let guard = guard.map(|guard| self.read_or_written(guard, form, usize::MAX, copy, block));
            self.change.insert_at_end(block, form, &operands, guard);
        }
        match copy.goes {
            Some(Way::Copy(to)) if Some(to) == next => {}
            Some(way) => self.branch(block, way, None, moved),
            None => {}
        }
    }

    fn branch(
        &mut self,
        block: BlockId,
        way: Way,
        guard: Option<Operand>,
        moved: &AHashMap<BlockId, BlockId>,
    ) {
        let to = match way {
            Way::Copy(at) => self.blocks[at],
            Way::Outside(to) => moved.get(&to).copied().unwrap_or(to),
        };
        let inst = self.change.insert_at_end(block, self.bra, &[Operand::block(to)], guard);
        self.change.redirect(inst, to);
        self.written.push((inst, to));
    }

    /// Writes a move of known bits into a register, where there is one for its type.
    fn write_constant(&mut self, block: BlockId, result: Operand, bits: u64) -> bool {
        let Some(vreg) = result.vreg() else { return false };
        let ty = self.change.function().vregs[vreg.index()].ty.element();
        let Some(ty) = moved_as(ty).filter(|&ty| ty != PtxType::Pred) else { return false };
        let form = move_form(self.change.forms(), ty);
        let constant = constants::operand(&mut self.change, bits, ty);
        self.change.insert_at_end(block, form, &[read_of(ty, vreg), constant], None);
        true
    }

    /// Whether a register is not written down in the rounds of a copy.
    fn is_literal(&self, vreg: VRegId, copy: &BlockCopy) -> bool {
        let depth = self.unfolded.renamed.get(&vreg);
        depth.is_some_and(|&depth| self.unfolded.literals.contains_key(&(vreg, copy.rounds[depth])))
    }

    /// What stands for an operand in the rounds of a copy: its register by the name there, or a literal. A literal that the slot does not
    /// take is moved into a register first.
    fn read_or_written(
        &mut self,
        operand: Operand,
        form: FormId,
        position: usize,
        copy: &BlockCopy,
        block: BlockId,
    ) -> Operand {
        let Some(bits) = self.unfolded.literal(operand, &copy.rounds) else {
            return self.renamed(operand, copy);
        };
        let slot = self.change.forms().slots(form).get(position).copied();
        if let Some(ty) = literal_type(slot.as_ref(), operand) {
            return constants::operand(&mut self.change, bits, ty);
        }
        let like = operand.vreg().expect("only registers are literals");
        let vreg = self.change.new_vreg_like(like);
        self.write_constant(block, Operand::register(vreg), bits);
        operand.with_vreg(vreg)
    }

    /// An operand with the name that its register has in the rounds of a copy.
    fn renamed(&mut self, operand: Operand, copy: &BlockCopy) -> Operand {
        let Some(vreg) = operand.vreg() else { return operand };
        let Some(&depth) = self.unfolded.renamed.get(&vreg) else { return operand };
        let change = &mut self.change;
        let name = self.names.entry((vreg, copy.rounds[depth])).or_insert_with(|| change.new_vreg_like(vreg));
        operand.with_vreg(*name)
    }
}
