//! Emit: writes the copies of a nest down and deletes the nest.
//!
//! Copies that follow one another become one block where nothing else leads to the second. Elsewhere a jump leads on, if the copy
//! is not the next in the text.

use super::choice::Plan;
use super::unfold::{BlockCopy, Unfolded, Way, literal_type};
use crate::ssa::moves::{move_form, moved_as, operand_of};
use crate::values::general_optimize::constants;
use ahash::AHashMap;
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
    /// Blocks that the function had before.
    block_count: usize,
}

impl Emitter {
    pub(super) fn new(view: &FunctionView<'_>) -> Self {
        let mut branches: AHashMap<BlockId, Vec<InstId>> = AHashMap::default();
        for (inst, _, operands) in view.rows() {
            if let Some(block) = target(operands) {
                branches.entry(block).or_default().push(inst);
            }
        }
        Self { branches, moved: AHashMap::default(), block_count: view.blocks.len() }
    }

    /// Writes a nest as one change; none where there is no room or no fuel for it.
    pub(super) fn emit(&mut self, f: &mut FunctionEditor<'_>, nest: &LoopNest, plan: &Plan) -> Option<()> {
        let Plan { unfolded, layout, .. } = plan;
        let view = f.view();
        let header = nest.row(unfolded.root).header;
        let offset = view.labels[header.index()].offset;
        // Blocks that were written for another nest lie in none.
        let is_entry = |inst: &InstId| {
            let head = &view.heads[inst.index()];
            let is_new = head.block.index() >= self.block_count;
            head.is_live() && (is_new || !nest.holds(unfolded.root, head.block))
        };
        let of_header = self.branches.get(&header).into_iter().flatten().copied();
        let entries: Vec<InstId> = of_header.filter(is_entry).collect();
        // A cycle of the text has a branch back.
        let form = |inst: InstId| target(view.operands_of(inst)).map(|_| view.heads[inst.index()].form);
        let blocks = nest.blocks(unfolded.root).iter();
        let bra = blocks.flat_map(|&block| view.insts_of(block)).find_map(form)?;
        let reason = "a loop of a constant number of rounds is unrolled for the local array in it";
        let mut change = f.change_with_room(offset, reason, plan.room())?;
        let bra = change.forms().without_uniform(bra);
        let mut blocks: Vec<BlockId> = vec![BlockId(0); unfolded.copies.len()];
        let mut jumps: AHashMap<usize, BlockId> = AHashMap::default();
        let mut last = header;
        for &Placed { at, is_head, has_jump } in &layout.order {
            if is_head {
                last = change.insert_block_before(header);
            }
            blocks[at] = last;
            if has_jump {
                last = change.insert_block_before(header);
                jumps.insert(at, last);
            }
        }
        let mut writer =
            Writer { change, unfolded, blocks, jumps, bra, names: AHashMap::default(), written: Vec::new() };
        for (number, placed) in layout.order.iter().enumerate() {
            let next = layout.order.get(number + 1).map(|next| next.at);
            writer.write(placed.at, next, &self.moved);
        }
        let Writer { mut change, blocks, mut written, .. } = writer;
        for &entry in &entries {
            change.redirect(entry, blocks[0]);
        }
        change.delete_blocks(nest.blocks(unfolded.root));
        // What came after the nest may come right after its last copy now.
        let is_next = |&mut (inst, to): &mut (InstId, BlockId)| {
            let function = change.function();
            let is_last = function.insts_of(last).next_back() == Some(inst);
            is_last && function.guard_of(inst).is_none() && change.next_in_text(last) == Some(to)
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

/// A copy in the text.
#[derive(Clone, Copy, Debug)]
struct Placed {
    at: usize,
    /// Whether it begins a block.
    is_head: bool,
    /// Whether a jump after it needs a block of its own: a branch ends the copy's.
    has_jump: bool,
}

/// In which order copies stand in the text.
pub(super) struct Layout {
    order: Vec<Placed>,
    /// Blocks that they take.
    pub block_count: u32,
}

impl Layout {
    pub(super) fn of(view: &FunctionView<'_>, copies: &[BlockCopy]) -> Self {
        let is_open = |copy: &BlockCopy| {
            let last = view.insts_of(copy.block).next_back();
            let ends = |last: InstId| {
                let is_control = view.heads[last.index()].marks.contains(Marks::CONTROL);
                is_control && target(view.operands_of(last)).is_none()
            };
            copy.taken.is_none() && !last.is_some_and(ends)
        };
        let mut is_placed = vec![false; copies.len()];
        let mut order: Vec<Placed> = Vec::with_capacity(copies.len());
        for first in 0..copies.len() {
            let (mut at, mut joins) = (first, false);
            while !std::mem::replace(&mut is_placed[at], true) {
                let next = match copies[at].goes {
                    Some(Way::Copy(next)) if !is_placed[next] => Some(next),
                    _ => None,
                };
                let is_open = is_open(&copies[at]);
                let has_jump = copies[at].goes.is_some() && next.is_none() && !is_open;
                order.push(Placed { at, is_head: !joins || copies[at].entries > 1, has_jump });
                let Some(next) = next else { break };
                (at, joins) = (next, is_open);
            }
        }
        let blocks = order.iter().map(|placed| u32::from(placed.is_head) + u32::from(placed.has_jump));
        Self { block_count: blocks.sum(), order }
    }
}

/// Where a branch leads.
fn target(operands: &[Operand]) -> Option<BlockId> {
    operands.first().and_then(|operand| operand.as_block())
}

/// Writes the copies of one nest.
struct Writer<'e, 'a, 'u> {
    change: Change<'e, 'a>,
    unfolded: &'u Unfolded,
    /// By copy: the block that it is in.
    blocks: Vec<BlockId>,
    /// By copy: the block of the jump after it, where that is not the same.
    jumps: AHashMap<usize, BlockId>,
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
            Some(way) => {
                let block = self.jumps.get(&at).copied().unwrap_or(block);
                self.branch(block, way, None, moved);
            }
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
        self.change.insert_at_end(block, form, &[operand_of(ty, vreg), constant], None);
        true
    }

    /// Whether a register is not written down in the rounds of a copy.
    fn is_literal(&self, vreg: VRegId, copy: &BlockCopy) -> bool {
        let depth = self.unfolded.renamed.get(&vreg);
        depth.is_some_and(|&depth| self.unfolded.literals.contains_key(&(vreg, copy.rounds[depth])))
    }

    /// What stands for an operand in the rounds of a copy: its register by the name there, or a literal. A literal that the slot
    /// does not take is moved into a register first.
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
        let forms = self.change.forms();
        let slot = forms.slots(form).get(position);
        if let Some(ty) = literal_type(forms.get(form), slot, position, operand, bits) {
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
