//! Executing operations: one warp at a time, one group of its threads at a time.

mod access;
mod asynchronous;
mod barriers;
mod calls;
mod control;
mod matrix;
mod mbarriers;
mod memory;
mod quick;
mod reports;
mod special;
mod system_calls;
mod together;
mod uninterpreted;
mod values;

pub use barriers::{BARRIERS, Barrier};

use crate::lanes::Lanes;
use crate::memory::byte_set::ByteSet;
use crate::memory::races::Races;
use crate::observer::Step;
use crate::program::{Kind, Program};
use crate::stop::Stop;
use crate::warp::{Group, Wait, Warp};
use crate::world::World;

/// Events after which a warp lets others run: what other threads may wait for, and no optimizer removes.
const EVENTS_PER_TURN: u32 = 32;

/// Plain loads that count as an event: a thread may wait with them, but an optimizer may remove some, so they count
/// little.
const LOADS_PER_EVENT: u32 = 1 << 14;

/// What the threads of a CTA share.
pub struct Cta {
    /// Its number in the grid.
    pub id: [u32; 3],
    /// Threads that have not exited.
    pub live: u32,
    /// Shared memory, static then dynamic.
    pub shared: Vec<u8>,
    /// Which bytes of it were written, where that is asked for.
    pub written: Option<ByteSet>,
    /// Accesses, where races are looked for.
    pub races: Option<Races>,
    /// The named barriers, and that of the cluster.
    pub barriers: Vec<Barrier>,
}

/// Why a warp stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// All its threads have exited.
    Done,
    /// All its groups wait.
    Blocked,
    /// Others have their turn.
    Turn,
}

/// What follows an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The operation after it.
    On,
    /// The group has gone elsewhere, perhaps in parts: choose again.
    Choose,
}

/// A warp that runs.
pub struct Exec<'r, 'm> {
    world: &'r mut World<'m>,
    cta: &'r mut Cta,
    warp: &'r mut Warp,
    program: &'m Program,
    /// The group that runs.
    group: Group,
    /// Byte offset of the operation in the text.
    offset: u32,
    /// Results of the operation.
    results: &'r mut [Lanes],
    events: u32,
    /// Plain loads since the last one that counted as an event.
    loads: u32,
}

impl<'r, 'm> Exec<'r, 'm> {
    /// Prepares to run `warp`; `results` holds as many lanes as an operation has results.
    pub fn new(
        world: &'r mut World<'m>,
        cta: &'r mut Cta,
        warp: &'r mut Warp,
        results: &'r mut [Lanes],
    ) -> Self {
        let program = &world.module.program;
        // No thread runs yet; a group is chosen first.
        let group = Group { mask: 0, ..Group::default() };
        Self { world, cta, warp, program, group, offset: 0, results, events: 0, loads: 0 }
    }

    /// Makes the outermost frame, of `group`.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn start(&mut self, group: &Group) -> Result<(), Stop> {
        self.make_frame(group)
    }

    /// Runs the warp until it is done, waits, or has had its turn.
    ///
    /// # Errors
    /// What ends the whole run.
    pub fn run(&mut self) -> Result<Pause, Stop> {
        loop {
            if self.warp.groups.len() > 1 {
                self.warp.merge();
            }
            self.wake()?;
            if self.warp.groups.is_empty() {
                return Ok(Pause::Done);
            }
            let Some(at) = self.warp.pick() else { return Ok(Pause::Blocked) };
            let meeting = self.warp.meeting(at);
            self.group = self.warp.groups.swap_remove(at);
            let result = match self.world.observer {
                None => self.run_group::<false>(meeting),
                Some(_) => self.run_group::<true>(meeting),
            };
            if self.group.mask != 0 {
                self.warp.groups.push(self.group);
            }
            result?;
            if self.events >= EVENTS_PER_TURN {
                return Ok(Pause::Turn);
            }
        }
    }

    /// Runs the group until it meets another, splits, waits, or the warp's turn ends.
    /// With `WATCHED` the observer sees each operation.
    fn run_group<const WATCHED: bool>(&mut self, meeting: u32) -> Result<(), Stop> {
        let program = self.program;
        let is_alone = self.warp.groups.is_empty();
        let limit = self.world.options.limits.steps;
        loop {
            let op = &program.ops[self.group.pc as usize];
            self.offset = op.offset;
            self.world.steps += u64::from(self.group.mask.count_ones());
            if self.world.steps > limit {
                return Err(Stop::StepLimit);
            }
            let mask = match op.guard.slot() {
                None => self.group.mask,
                Some(slot) => self.guarded(slot, op.guard.negated),
            };
            if WATCHED {
                self.show(mask);
            }
            let next = match &op.kind {
                _ if mask == 0 => {
                    self.group.pc += 1;
                    Next::On
                }
                Kind::Evaluate(evaluate) => {
                    self.evaluate(evaluate, mask);
                    self.group.pc += 1;
                    Next::On
                }
                Kind::Branch(target) => self.branch(*target, mask, is_alone),
                kind => self.other(kind, mask)?,
            };
            let is_over = self.events >= EVENTS_PER_TURN;
            if next == Next::Choose || self.group.pc == meeting || is_over || self.group.mask == 0 {
                return Ok(());
            }
        }
    }

    /// Shows the operation to the observer.
    fn show(&mut self, mask: u32) {
        let Group { function, base, pc, mask: lanes, .. } = self.group;
        let slots = self.program.functions[function as usize].slots;
        let registers = &self.warp.registers[base as usize..(base + slots) as usize];
        let (ctaid, first_thread) = (self.cta.id, self.warp.first_thread);
        if let Some(observer) = &mut self.world.observer {
            let (offset, guarded) = (self.offset, mask);
            observer.step(Step {
                ctaid,
                first_thread,
                function,
                base,
                pc,
                offset,
                lanes,
                guarded,
                registers,
            });
        }
    }

    /// Everything but arithmetic and direct branches. `mask` is not empty.
    fn other(&mut self, kind: &'m Kind, mask: u32) -> Result<Next, Stop> {
        match kind {
            Kind::BranchIndexed(index, targets) => return self.branch_indexed(*index, targets, mask),
            Kind::Call(call) => return self.call(call, mask),
            Kind::Return => return self.leave(mask),
            Kind::Exit => return self.exit(mask),
            Kind::Refused(what) => return Err(self.not_supported(*what)),
            Kind::Trap => {
                self.world.fail(Stop::Trap { place: self.place(mask.trailing_zeros()) });
                return self.exit(mask);
            }
            Kind::Warp(op) if op.members.is_some() => return self.arrive_at_members(op, mask),
            Kind::Matrix(op) => return self.matrix(op, mask),
            Kind::Barrier(barrier) => return self.arrive_at_barrier(barrier, mask),
            Kind::Warp(op) => self.together_now(op, mask),
            Kind::Move(source, target) => self.copy(*source, *target, mask),
            Kind::Copy(pairs) => self.copy_all(pairs, mask),
            Kind::Pack(parts, bits, targets) => self.pack(parts, *bits, targets, mask),
            Kind::Unpack(sources, bits, targets) => self.unpack(sources, *bits, targets, mask),
            Kind::Convert(source, target, space, is_to) => {
                self.convert_address((*source, *target), *space, *is_to, mask);
            }
            Kind::IsSpace(source, target, space) => self.is_space(*source, *target, *space, mask),
            Kind::MapRank(address, target, rank) => self.map_rank(*address, *target, *rank, mask)?,
            Kind::ActiveMask(target) => {
                self.results[0] = [u64::from(mask); 32];
                self.write(0, *target, mask);
            }
            Kind::Load(load) => self.load(load, mask)?,
            Kind::Store(store) => self.store(store, mask)?,
            Kind::Atomic(atomic) => self.atomic(atomic, mask)?,
            Kind::MBarrier(op) => self.mbarrier(op, mask)?,
            Kind::AsyncCopy(copy) => self.async_copy(copy, mask)?,
            Kind::Pause => self.event(),
            Kind::Allocate(size, align, target) => self.allocate(*size, *align, *target, mask)?,
            Kind::StackSave(target) => self.stack_save(*target, mask),
            Kind::StackRestore(source) => self.stack_restore(*source, mask),
            Kind::Uninterpreted(op) => self.uninterpreted(op, mask)?,
            Kind::Nothing | Kind::Evaluate(_) | Kind::Branch(_) => {}
        }
        self.group.pc += 1;
        Ok(Next::On)
    }

    /// Notes that something happened which other threads may wait for.
    fn event(&mut self) {
        self.events += 1;
        if !self.warp.groups.is_empty() {
            self.warp.patience += 1;
        }
    }

    /// Notes a plain load.
    fn plain_load(&mut self) {
        self.loads += 1;
        if self.loads == LOADS_PER_EVENT {
            self.loads = 0;
            self.event();
        }
    }

    /// Splits the group: lanes outside `mask` go on after the operation. Whether there are any.
    fn split_off_unguarded(&mut self, mask: u32) -> bool {
        let rest = self.group.mask & !mask;
        if rest != 0 {
            self.warp.groups.push(Group { mask: rest, pc: self.group.pc + 1, ..self.group });
            self.group.mask = mask;
        }
        rest != 0
    }

    /// Lets groups go on whose wait is over.
    fn wake(&mut self) -> Result<(), Stop> {
        if !self.warp.arrivals.is_empty() {
            self.judge_arrivals();
        }
        for at in 0..self.warp.groups.len() {
            match self.warp.groups[at].wait {
                Wait::Ready => {}
                Wait::WholeWarp => self.wake_whole(at),
                Wait::Barrier { id, phase } => self.wake_from_barrier(at, id, phase),
                Wait::Members { qualifiers, members } => self.wake_members(qualifiers, members),
            }
        }
        Ok(())
    }
}
