//! Choice: the loops that are unrolled, array by array.

use super::Function;
use super::emit::Layout;
use super::entry::Entry;
use super::needs::Needs;
use super::unfold::{Limits, Refusal, Unfolded, unfold};
use crate::ssa::promote_locals::addresses::{Access, NOT_CONSTANT};
use ptxopt_components::code_object::Room;
use ptxopt_components::ids::{Id, InstId, LoopId};
use ptxopt_engine::values::reaching::Reaching;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Copies of instructions that are looked at in all, an instruction of the function.
const WORK_MAX: usize = 4;

/// How often loops around are taken in for one array: as deep as nests are.
const TRIES_MAX: usize = 4;

/// Why a loop stays that would not fit: one of the limits.
pub(super) const TOO_LARGE: &str = "unrolled, the loop would have more instructions than there is room for";

/// The loops of one nest that are unrolled, as they would come out.
pub(super) struct Plan {
    /// All of them, the outermost first.
    pub loops: Vec<LoopId>,
    pub unfolded: Unfolded,
    pub layout: Layout,
}

/// The choice of loops.
pub(super) struct Choice<'a, 'r> {
    function: Function<'a>,
    reaching: &'r mut Reaching,
    needs: Needs<'a>,
    /// By block: its instructions that are left for certain where it is not copied.
    insts_left: Vec<u32>,
    /// Rows that copies may take.
    room: Room,
    /// Copies of instructions that may still be looked at.
    work_left: usize,
    /// One for each nest, in the order of the loops.
    pub plans: Vec<Rc<Plan>>,
    /// Choices that were too large: so is each that holds one.
    too_large: Vec<BTreeSet<LoopId>>,
}

impl<'a, 'r> Choice<'a, 'r> {
    /// No loops yet, of a function that has this room left.
    pub(super) fn new(function: Function<'a>, reaching: &'r mut Reaching, room: Room) -> Self {
        let view = function.view;
        let left = |block| {
            let insts = view.insts_of(block);
            insts.filter(|&inst| !function.goes(inst)).count() as u32
        };
        // What takes the place of the array needs some, and so do later phases.
        let most = |rows: u32| rows / 4 * 3;
        Self {
            function,
            reaching,
            needs: Needs::new(function),
            insts_left: view.block_ids().map(left).collect(),
            room: Room { insts: most(room.insts), blocks: most(room.blocks), vregs: most(room.vregs) },
            work_left: WORK_MAX * view.heads.len(),
            plans: Vec::new(),
            too_large: Vec::new(),
        }
    }

    /// Adds the loops that the accesses to an array need; or says why not, and at which access.
    pub(super) fn take_in(&mut self, accesses: &[Access]) -> Result<(), (InstId, &'static str)> {
        let Some(first) = accesses.iter().find(|access| access.refusal.is_some()) else { return Ok(()) };
        let is_computed = |access: &&Access| access.refusal == Some(NOT_CONSTANT);
        if let Some(other) = accesses.iter().find(|access| access.refusal.is_some() && !is_computed(access)) {
            return Err((other.inst, "other accesses keep the local array in memory"));
        }
        let nest = self.function.nest;
        let mut wanted: BTreeSet<LoopId> =
            self.plans.iter().flat_map(|plan| plan.loops.iter().copied()).collect();
        for access in accesses.iter().filter(is_computed) {
            let found = self.needs.add_loops_of(access.inst, &mut wanted);
            found.map_err(|reason| (access.inst, reason))?;
        }
        for _ in 0..TRIES_MAX {
            let around = match self.unfold_all(&wanted) {
                Ok(plans) => {
                    let open = accesses.iter().filter(is_computed).find_map(|access| {
                        let plan = self.plan_around(&plans, access);
                        let is_exact = plan.is_some_and(|plan| plan.unfolded.is_exact(access.inst));
                        (!is_exact).then_some(plan)
                    });
                    match open {
                        // What it is added to comes from a loop around.
                        Some(plan) => plan.map(|plan| plan.loops[0]),
                        None => {
                            self.plans = plans;
                            return Ok(());
                        }
                    }
                }
                Err(Refusal::Endless(id)) => Some(id),
                Err(Refusal::TooLarge) => {
                    self.too_large.push(wanted);
                    return Err((first.inst, TOO_LARGE));
                }
                Err(Refusal::Unfit(reason)) => return Err((first.inst, reason)),
            };
            let parent = around.and_then(|id| nest.row(id).parent.get());
            if !parent.is_some_and(|parent| wanted.insert(parent)) {
                break;
            }
        }
        Err((first.inst, "no constant number of rounds makes the address of a local array constant"))
    }

    /// The plan of the nest in which an access lies.
    fn plan_around<'p>(&self, plans: &'p [Rc<Plan>], access: &Access) -> Option<&'p Plan> {
        let id = self.function.nest.loop_of(access.block)?;
        let after = plans.partition_point(|plan| plan.loops[0] <= id);
        let plan = &plans[after.checked_sub(1)?];
        (id <= self.function.nest.row(plan.loops[0]).last).then_some(plan)
    }

    /// Unfolds these loops, nest by nest.
    fn unfold_all(&mut self, wanted: &BTreeSet<LoopId>) -> Result<Vec<Rc<Plan>>, Refusal> {
        if self.too_large.iter().any(|choice| choice.is_subset(wanted)) {
            return Err(Refusal::TooLarge);
        }
        let Function { view, nest, .. } = self.function;
        let mut plans: Vec<Rc<Plan>> = Vec::new();
        let mut loops = wanted.iter().copied().peekable();
        // Loops are numbered in a preorder of the nest.
        while let Some(root) = loops.next() {
            let mut of_root = vec![root];
            while let Some(inner) = loops.next_if(|&inner| inner <= nest.row(root).last) {
                of_root.push(inner);
            }
            let known = self.plans.partition_point(|plan| plan.loops[0] < root);
            if let Some(plan) = self.plans.get(known).filter(|plan| plan.loops == of_root) {
                plans.push(Rc::clone(plan));
                continue;
            }
            let limits = Limits { rows: self.room.insts as usize, insts_left: view.text.insts_in as usize };
            let mut entry = Entry::new(self.function, self.reaching);
            let unfolded = unfold(&self.function, &of_root, limits, &mut self.work_left, &mut entry)?;
            let layout = Layout::of(view, &unfolded.copies);
            plans.push(Rc::new(Plan { loops: of_root, unfolded, layout }));
        }
        if self.fits(&plans) { Ok(plans) } else { Err(Refusal::TooLarge) }
    }

    /// Whether the function has no more instructions than it came with, once what is constant is gone, and has room for the copies.
    fn fits(&self, plans: &[Rc<Plan>]) -> bool {
        let Function { view, nest, .. } = self.function;
        let mut left: u32 = self.insts_left.iter().sum();
        let mut taken = Room::default();
        for plan in plans {
            let blocks = nest.blocks(plan.loops[0]).iter();
            left -= blocks.map(|block| self.insts_left[block.index()]).sum::<u32>();
            left += plan.unfolded.insts_left as u32;
            let room = plan.room();
            taken.insts += room.insts;
            taken.blocks += room.blocks;
            taken.vregs += room.vregs;
        }
        let has_room = taken.insts <= self.room.insts
            && taken.blocks <= self.room.blocks
            && taken.vregs <= self.room.vregs;
        left <= view.text.insts_in && has_room
    }
}

impl Plan {
    /// The rows that writing it takes.
    pub(super) fn room(&self) -> Room {
        let Unfolded { rows, names, .. } = self.unfolded;
        Room { insts: rows as u32, blocks: self.layout.block_count, vregs: names as u32 }
    }
}
