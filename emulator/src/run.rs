//! A run: memory made, CTAs started and taken in turns, the outcome collected.

use crate::exec::{BARRIERS, Barrier, Cta, Exec, Pause};
use crate::lanes::{Lanes, WARP_SIZE};
use crate::launch::{Argument, Launch, Options, Outcome};
use crate::layout::ALLOCATION_ALIGN;
use crate::memory::byte_set::ByteSet;
use crate::memory::races::Races;
use crate::memory::{Local, put_value};
use crate::module::Module;
use crate::observer::Observer;
use crate::program::{FormalPlace, RESULTS_MAX};
use crate::stop::{Place, Stop};
use crate::warp::calls::CallTree;
use crate::warp::{Group, Wait, Warp};
use crate::world::World;
use ptxopt_components::types::StateSpace;
use std::collections::VecDeque;

/// Runs a kernel.
///
/// A run depends on its arguments alone: CTAs start in the order of their ids, warps and lanes take turns in order,
/// and switch only where memory or synchronisation makes their order visible.
#[must_use]
pub fn run(module: &Module, launch: &Launch, options: &Options) -> Outcome {
    run_machine(Machine::new(module, launch, options, None))
}

/// Runs a kernel while `observer` looks on.
#[must_use]
pub fn run_observed(
    module: &Module,
    launch: &Launch,
    options: &Options,
    observer: &mut dyn Observer,
) -> Outcome {
    run_machine(Machine::new(module, launch, options, Some(observer)))
}

fn run_machine(machine: Result<Machine<'_>, Stop>) -> Outcome {
    match machine {
        Ok(mut machine) => {
            let stop = machine.run();
            machine.outcome(stop)
        }
        Err(stop) => Outcome { stop: Some(stop), ..Outcome::default() },
    }
}

/// Turns of all its warps after which a CTA lets another one start: it may wait for that one.
const ROUNDS_PER_CTA: u32 = 64;

/// A CTA with its warps.
struct Running {
    cta: Cta,
    warps: Vec<Warp>,
}

impl Running {
    /// Bytes that were counted for it: shared memory, registers, stacks.
    fn held(&self) -> u64 {
        let of_warp = |warp: &Warp| {
            let stacks: usize =
                warp.locals.iter().map(|local| local.stack.len() + local.allocated.len()).sum();
            warp.registers.len() * size_of::<Lanes>() + stacks
        };
        (self.cta.shared.len() + self.warps.iter().map(of_warp).sum::<usize>()) as u64
    }
}

/// A run of a kernel.
pub struct Machine<'m> {
    world: World<'m>,
    function: u32,
    buffers: Vec<u64>,
}

/// The stop that the launch does not fit.
fn bad(reason: impl Into<String>) -> Stop {
    Stop::BadLaunch(reason.into())
}

impl<'m> Machine<'m> {
    /// Prepares a run: checks the launch and makes memory.
    ///
    /// # Errors
    /// A launch that does not fit the kernel, or memory beyond the limit.
    pub fn new(
        module: &'m Module,
        launch: &Launch,
        options: &Options,
        observer: Option<&'m mut dyn Observer>,
    ) -> Result<Self, Stop> {
        let function = module
            .program
            .functions
            .iter()
            .position(|function| function.is_entry && function.header.name == launch.entry)
            .ok_or_else(|| bad(format!("no entry `{}`", launch.entry)))?;
        let world = World::new(module, launch, options, observer);
        let mut machine = Self { world, function: function as u32, buffers: Vec::new() };
        machine.check_shape(launch)?;
        machine.make_variables()?;
        machine.make_arguments(launch)?;
        Ok(machine)
    }

    fn check_shape(&self, launch: &Launch) -> Result<(), Stop> {
        const THREADS_MAX: u64 = 1024;
        // Of every device, by the CUDA programming guide's table of technical specifications.
        const GRID_MAX: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
        const BLOCK_MAX: [u32; 3] = [1024, 1024, 64];
        let exceeds =
            |extent: [u32; 3], most: [u32; 3]| extent.iter().zip(most).any(|(&dim, most)| dim > most);
        if exceeds(launch.grid, GRID_MAX) || exceeds(launch.block, BLOCK_MAX) {
            return Err(bad("grid or block of an impossible size"));
        }
        let threads: u64 = launch.block.iter().map(|&dim| u64::from(dim)).product();
        let header = &self.world.module.program.functions[self.function as usize].header;
        if launch.grid.contains(&0) || threads == 0 || threads > THREADS_MAX {
            return Err(bad("grid or block of an impossible size"));
        }
        if header.required_block != [0; 3] && header.required_block != launch.block {
            return Err(bad(format!("the kernel requires blocks of {:?}", header.required_block)));
        }
        let most = header.maximal_block.iter().fold(1, |all: u64, &dim| all.saturating_mul(dim.into()));
        if header.maximal_block != [0; 3] && threads > most {
            return Err(bad(format!("the kernel takes blocks of at most {most} threads")));
        }
        if header.cluster > 1 && !self.world.options.uninterpreted {
            let program = &self.world.module.program;
            let first = program.functions[self.function as usize].first as usize;
            let line = program.line(program.ops[first].offset);
            return Err(Stop::NotSupported { mnemonic: "cluster of several CTAs".to_owned(), line });
        }
        // `%dynamic_smem_size` has 32 bits.
        if launch.shared_bytes > u64::from(u32::MAX) {
            return Err(bad("more shared memory than can be asked for"));
        }
        if header.parameters.len() != launch.args.len() {
            let (takes, given) = (header.parameters.len(), launch.args.len());
            return Err(bad(format!("the kernel takes {takes} arguments, {given} are given")));
        }
        Ok(())
    }

    /// Makes global and constant variables.
    fn make_variables(&mut self) -> Result<(), Stop> {
        let layout = &self.world.module.layout;
        self.world.charge(layout.const_end)?;
        for placed in &layout.placed {
            let variable = &placed.variable;
            let size = variable.size.unwrap_or(0);
            self.world.charge(size)?;
            let mut bytes = vec![0; size as usize];
            for piece in &variable.initial {
                let bits = layout.bits(piece).map_err(|name| {
                    bad(format!("the initialiser of `{}` names `{name}`, which is unknown", variable.name))
                })?;
                let range = piece.at as usize..(piece.at + piece.size) as usize;
                match bytes.get_mut(range) {
                    Some(to) => put_value(&mut to[..piece.size.min(8) as usize], bits),
                    None => return Err(bad(format!("the initialiser of `{}` is too long", variable.name))),
                }
            }
            if variable.space == StateSpace::Const {
                let first = placed.address as usize;
                self.world.constants[first..first + bytes.len()].copy_from_slice(&bytes);
            } else {
                self.world.global.insert(placed.address, bytes);
            }
        }
        Ok(())
    }

    /// Makes buffers, and writes the parameters.
    fn make_arguments(&mut self, launch: &Launch) -> Result<(), Stop> {
        let function = &self.world.module.program.functions[self.function as usize];
        let mut next = self.world.module.layout.map.buffers;
        for ((argument, &place), formal) in
            launch.args.iter().zip(&function.parameters).zip(&function.header.parameters)
        {
            let FormalPlace::Kernel(address, size) = place else {
                return Err(bad("a kernel parameter in a register"));
            };
            let bytes = match argument {
                Argument::Buffer(bytes) => {
                    let address = self.make_buffer(bytes, &mut next)?;
                    address.to_le_bytes()[..size.min(8) as usize].to_vec()
                }
                Argument::Scalar(bytes) => bytes.clone(),
                Argument::Structure(bytes, buffers) => {
                    let mut bytes = bytes.clone();
                    for (at, buffer) in buffers {
                        let address = self.make_buffer(buffer, &mut next)?;
                        let Some(to) = bytes.get_mut(*at..).and_then(|rest| rest.get_mut(..8)) else {
                            return Err(bad(format!(
                                "parameter `{}` has no room for an address at {at}",
                                formal.name
                            )));
                        };
                        to.copy_from_slice(&address.to_le_bytes());
                    }
                    bytes
                }
            };
            if bytes.len() as u64 != size {
                let (name, given) = (&formal.name, bytes.len());
                return Err(bad(format!("parameter `{name}` has {size} bytes, {given} are given")));
            }
            // Compilers read a structure of 12 bytes as a vector of 16, as far as its alignment goes.
            let end = address + size.next_multiple_of(formal.align);
            let params = &mut self.world.params;
            params.resize(params.len().max(end as usize), 0);
            params[address as usize..(address + size) as usize].copy_from_slice(&bytes);
        }
        Ok(())
    }

    /// Makes a buffer at `next` or after it, and moves `next` on.
    fn make_buffer(&mut self, bytes: &[u8], next: &mut u64) -> Result<u64, Stop> {
        let address = next.next_multiple_of(ALLOCATION_ALIGN);
        *next = self.world.module.layout.map.after(address, bytes.len() as u64);
        self.world.charge(bytes.len() as u64)?;
        self.world.global.insert(address, bytes.to_vec());
        self.buffers.push(address);
        Ok(address)
    }

    /// Runs the grid: CTAs in the order of their ids, one at a time unless they wait for one another.
    pub fn run(&mut self) -> Option<Stop> {
        let mut results = vec![[0; WARP_SIZE]; RESULTS_MAX];
        let [x, y, z] = self.world.grid;
        let mut ids = (0..z).flat_map(|z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z])));
        let mut waiting: VecDeque<Running> = VecDeque::new();
        loop {
            let next = match ids.next() {
                Some(id) => self.start(id),
                None => match waiting.pop_front() {
                    Some(running) => Ok(running),
                    None => return self.world.failure.take(),
                },
            };
            let mut running = match next {
                Ok(running) => running,
                Err(stop) => return Some(stop),
            };
            match self.turns(&mut running, &mut results) {
                Ok(true) => self.world.release(running.held()),
                Ok(false) => waiting.push_back(running),
                Err(stop) => return Some(stop),
            }
        }
    }

    /// Runs a CTA until it is done or has had its turns; whether it is done.
    fn turns(&mut self, running: &mut Running, results: &mut [Lanes]) -> Result<bool, Stop> {
        for _ in 0..ROUNDS_PER_CTA {
            let mut is_done = true;
            let before = self.world.steps;
            for warp in &mut running.warps {
                let pause = Exec::new(&mut self.world, &mut running.cta, warp, results).run()?;
                is_done &= pause == Pause::Done;
            }
            if is_done {
                return Ok(true);
            }
            if self.world.steps == before {
                for warp in &mut running.warps {
                    Exec::new(&mut self.world, &mut running.cta, warp, results).report_arrivals();
                }
                let failed = self.world.failure.take();
                return Err(failed.unwrap_or_else(|| Stop::Deadlock { place: self.one_that_waits(running) }));
            }
        }
        Ok(false)
    }

    fn one_that_waits(&self, running: &Running) -> Place {
        let program = &self.world.module.program;
        let waits = running.warps.iter().find_map(|warp| {
            let group = warp.groups.first()?;
            let thread = warp.threads[group.mask.trailing_zeros() as usize];
            Some(Place { thread, line: program.line(program.ops[group.pc as usize].offset) })
        });
        waits.unwrap_or_default()
    }

    /// Makes a CTA with its warps.
    fn start(&mut self, id: [u32; 3]) -> Result<Running, Stop> {
        let checks = self.world.options.checks;
        let threads = self.world.threads_of_cta();
        let layout = &self.world.module.layout;
        let shared = match self.world.shared_bytes {
            0 => layout.shared_end,
            dynamic => layout.dynamic_shared + dynamic,
        };
        self.world.charge(shared)?;
        let mut cta = Cta {
            id,
            live: threads,
            shared: vec![0; shared as usize],
            written: checks.uninitialised.then(|| ByteSet::new(shared as usize)),
            races: checks.races.then(|| Races::new(threads as usize)),
            barriers: (0..BARRIERS).map(|_| Barrier::default()).collect(),
        };
        let mut results = [[0; WARP_SIZE]];
        let mut warps = Vec::new();
        for first in (0..threads).step_by(WARP_SIZE) {
            let mut warp = self.warp(id, first, threads);
            let group = warp.groups[0];
            Exec::new(&mut self.world, &mut cta, &mut warp, &mut results).start(&group)?;
            warps.push(warp);
        }
        Ok(Running { cta, warps })
    }

    fn warp(&self, id: [u32; 3], first: u32, threads: u32) -> Warp {
        let count = (threads - first).min(WARP_SIZE as u32);
        let mask = if count == 32 { u32::MAX } else { (1 << count) - 1 };
        let wants_written = self.world.options.checks.uninitialised;
        let function = &self.world.module.program.functions[self.function as usize];
        let layout = &self.world.module.layout;
        let owned = || {
            let mut owned = ByteSet::default();
            owned.note(0, layout.local_end);
            owned
        };
        let local = || Local {
            written: wants_written.then(ByteSet::default),
            owned: layout.is_apart.then(owned),
            ..Local::default()
        };
        Warp {
            first_thread: first,
            live: mask,
            registers: Vec::new(),
            written: Vec::new(),
            groups: vec![Group {
                mask,
                pc: function.first,
                function: self.function,
                base: 0,
                local: self.world.module.layout.local_end.next_multiple_of(function.local_align),
                call: CallTree::ROOT,
                wait: Wait::Ready,
                turn: 0,
            }],
            calls: CallTree::new(),
            locals: (0..WARP_SIZE).map(|_| local()).collect(),
            threads: (first..first + count).map(|number| self.world.thread(id, number)).collect(),
            copies: Vec::new(),
            arrivals: Vec::new(),
            commits: [0; WARP_SIZE],
            clock: 0,
            turns: 0,
            patience: 0,
            favoured: None,
        }
    }

    /// What comes out of the run.
    #[must_use]
    pub fn outcome(self, stop: Option<Stop>) -> Outcome {
        let World { module, global, log, steps, reports, reports_dropped, .. } = self.world;
        let bytes_at = |address| global.starting_at(address).map_or_else(Vec::new, |one| one.bytes.clone());
        let variables = module.layout.placed.iter();
        let globals = variables
            .filter(|placed| placed.variable.space == StateSpace::Global)
            .map(|placed| (placed.variable.name.clone(), bytes_at(placed.address)));
        Outcome {
            buffers: self.buffers.iter().map(|&address| bytes_at(address)).collect(),
            globals: globals.collect(),
            log,
            stop,
            steps,
            reports,
            reports_dropped,
        }
    }
}
