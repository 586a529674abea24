//! Calls, returns and stack memory.

use super::{Exec, Next};
use crate::lanes::WARP_SIZE;
use crate::layout::{FUNCTION_STRIDE, FUNCTION_WINDOW};
use crate::memory::ALLOCA_FIRST;
use crate::memory::LOCAL_END;
use crate::program::{Actual, Call, Callee, FormalPlace, Kind, Source, Target};
use crate::stop::Stop;
use crate::warp::calls::CallTree;
use crate::warp::{Group, lanes_of};

impl Exec<'_, '_> {
    /// `call`.
    pub(super) fn call(&mut self, call: &Call, mask: u32) -> Result<Next, Stop> {
        self.split_off_unguarded(mask);
        match call.callee {
            Callee::Function(function) => self.enter(call, function)?,
            Callee::External(external) => {
                if !self.call_external(call, external)? {
                    return self.exit(self.group.mask);
                }
                self.group.pc += 1;
            }
            Callee::Address(address) => self.call_indirect(call, address)?,
        }
        Ok(Next::Choose)
    }

    /// Calls through an address: each function that lanes name gets a group of its own.
    fn call_indirect(&mut self, call: &Call, address: Source) -> Result<(), Stop> {
        let addresses = self.value(address, self.group.mask);
        let mut rest = self.group.mask;
        while rest != 0 {
            let lane = rest.trailing_zeros();
            let chosen = addresses[lane as usize];
            let same = lanes_of(rest).filter(|&lane| addresses[lane] == chosen);
            let taken = same.fold(0, |taken, lane| taken | 1 << lane);
            let number = chosen.wrapping_sub(FUNCTION_WINDOW) / FUNCTION_STRIDE;
            let is_function = chosen.is_multiple_of(FUNCTION_STRIDE)
                && number < self.program.functions.len() as u64
                && !self.program.functions[number as usize].is_entry;
            if !is_function {
                return Err(Stop::BadTarget { place: self.place(lane), value: chosen });
            }
            rest &= !taken;
            let caller = self.group;
            self.group.mask = taken;
            self.enter(call, number as u32)?;
            if rest != 0 {
                self.warp.groups.push(self.group);
                self.group = Group { mask: rest, ..caller };
            }
        }
        Ok(())
    }

    /// Enters `function` with the arguments of `call`.
    fn enter(&mut self, call: &Call, function: u32) -> Result<(), Stop> {
        let caller = self.group;
        let callee = &self.program.functions[function as usize];
        let slots = self.program.functions[caller.function as usize].slots;
        let frame_end = self.frame_end(&caller);
        let group = Group {
            pc: callee.first,
            function,
            base: caller.base + slots,
            local: frame_end.next_multiple_of(callee.local_align),
            call: self.warp.calls.enter(&caller, function),
            ..caller
        };
        self.make_frame(&group)?;
        let mut actuals = call.arguments.iter();
        for (&place, formal) in callee.parameters.iter().zip(&callee.header.parameters) {
            match place {
                FormalPlace::Register(target, count) => {
                    for cell in 0..count {
                        let Some(&actual) = actuals.next() else { return Err(self.mismatch()) };
                        let Actual::Value(source) = actual else { return Err(self.mismatch()) };
                        self.results[0] = self.value(source, caller.mask);
                        self.group = group;
                        self.write(0, nth(target, cell), caller.mask);
                        self.group = caller;
                    }
                }
                FormalPlace::Frame(offset, size) => {
                    let Some(&actual) = actuals.next() else { return Err(self.mismatch()) };
                    self.pass(actual, group.local + offset, size)?;
                    self.note_padding(group.local + offset, size, formal.align);
                }
                FormalPlace::Kernel(..) => return Err(self.mismatch()),
            }
        }
        self.group = group;
        Ok(())
    }

    /// Writes an argument to local address `to` of the callee's frame.
    fn pass(&mut self, actual: Actual, to: u64, size: u64) -> Result<(), Stop> {
        let mask = self.group.mask;
        match actual {
            Actual::Frame(offset, actual_size) if actual_size <= size => {
                self.copy_local(self.group.local + offset, to, actual_size, mask);
            }
            Actual::Value(source) if size <= 8 => {
                let value = self.value(source, mask);
                for lane in lanes_of(mask) {
                    let local = &mut self.warp.locals[lane];
                    crate::memory::put_value(
                        &mut local.stack[to as usize..(to + size) as usize],
                        value[lane],
                    );
                    if let Some(written) = &mut local.written {
                        written.note(to, size);
                    }
                }
            }
            _ => return Err(self.mismatch()),
        }
        Ok(())
    }

    /// The bytes after a parameter, up to its alignment, may be read: reading them is not reported.
    fn note_padding(&mut self, at: u64, size: u64, align: u64) {
        for lane in lanes_of(self.group.mask) {
            if let Some(written) = &mut self.warp.locals[lane].written {
                written.note(at + size, size.next_multiple_of(align) - size);
            }
        }
    }

    /// Copies bytes within the local memory of each lane; what was not written stays so.
    fn copy_local(&mut self, from: u64, to: u64, size: u64, mask: u32) {
        for lane in lanes_of(mask) {
            let local = &mut self.warp.locals[lane];
            local.stack.copy_within(from as usize..(from + size) as usize, to as usize);
            if let Some(written) = &mut local.written {
                for at in 0..size {
                    if written.holds(from + at, 1) {
                        written.note(to + at, 1);
                    }
                }
            }
        }
    }

    /// Makes room for the frame of `group` and empties it: what is read before it is written is zero, whatever ran
    /// there before.
    pub(super) fn make_frame(&mut self, group: &Group) -> Result<(), Stop> {
        let function = &self.program.functions[group.function as usize];
        let slots = group.base as usize..(group.base + function.slots) as usize;
        let top = group.local + function.local_size;
        if top > ALLOCA_FIRST || self.warp.calls.site(group.call).depth > CallTree::DEPTH_MAX {
            return Err(Stop::MemoryLimit);
        }
        let checks = self.world.options.checks.uninitialised;
        if self.warp.registers.len() < slots.end {
            let more = slots.end - self.warp.registers.len();
            self.world.charge((more * size_of::<crate::lanes::Lanes>()) as u64)?;
            self.warp.registers.resize(slots.end, [0; WARP_SIZE]);
            if checks {
                self.warp.written.resize(slots.end, 0);
            }
        }
        for register in &mut self.warp.registers[slots.clone()] {
            if group.mask == u32::MAX {
                *register = [0; WARP_SIZE];
            } else {
                lanes_of(group.mask).for_each(|lane| register[lane] = 0);
            }
        }
        if checks {
            self.warp.written[slots].iter_mut().for_each(|written| *written &= !group.mask);
            // The carry flag has no name and no declaration.
            self.warp.written[(group.base + function.slots - 1) as usize] |= group.mask;
        }
        for lane in lanes_of(group.mask) {
            let local = &mut self.warp.locals[lane];
            let before = local.stack.len();
            if before < top as usize {
                self.world.charge(top - before as u64)?;
                local.stack.resize(top as usize, 0);
            }
            local.stack[group.local as usize..top as usize].fill(0);
            if let Some(written) = &mut local.written {
                written.forget(group.local, top);
            }
            if let Some(owned) = &mut local.owned {
                owned.note(group.local, function.local_size);
                for gap in &function.gaps {
                    let first = group.local + gap.offset;
                    owned.forget(first, first + gap.size);
                }
            }
        }
        Ok(())
    }

    /// One past the frame of a group in local memory.
    pub(super) fn frame_end(&self, group: &Group) -> u64 {
        group.local + self.program.functions[group.function as usize].local_size
    }

    /// `ret`: out of the outermost frame it ends the thread.
    pub(super) fn leave(&mut self, mask: u32) -> Result<Next, Stop> {
        if self.group.call == CallTree::ROOT {
            return self.exit(mask);
        }
        self.split_off_unguarded(mask);
        let callee = self.group;
        let site = self.warp.calls.site(callee.call);
        let caller = Group {
            pc: site.return_pc,
            function: site.function,
            base: site.base,
            local: site.local,
            call: site.parent,
            ..callee
        };
        let Kind::Call(call) = &self.program.ops[site.return_pc as usize - 1].kind else {
            return Err(self.mismatch());
        };
        let mut actuals = call.results.iter();
        for &formal in &self.program.functions[callee.function as usize].results {
            let cells = if let FormalPlace::Register(_, count) = formal { count } else { 1 };
            for cell in 0..cells {
                // A call may leave the results alone.
                let Some(&actual) = actuals.next() else { break };
                self.take(formal, cell, actual, &caller)?;
            }
        }
        self.group = caller;
        Ok(Next::Choose)
    }

    /// Moves a result from the frame that returns to that of `caller`.
    fn take(&mut self, formal: FormalPlace, cell: u32, actual: Actual, caller: &Group) -> Result<(), Stop> {
        let (callee, mask) = (self.group, self.group.mask);
        match (formal, actual) {
            (_, Actual::Nothing) => {}
            (FormalPlace::Frame(from, size), Actual::Frame(to, actual_size)) => {
                self.copy_local(callee.local + from, caller.local + to, size.min(actual_size), mask);
            }
            (FormalPlace::Register(source, _), Actual::Into(target)) => {
                self.results[0] = self.value(Source::Slot(nth(source, cell).slot), mask);
                self.group = *caller;
                self.write(0, target, mask);
                self.group = callee;
            }
            (FormalPlace::Frame(from, size), Actual::Into(target)) if size <= 8 => {
                let from = callee.local + from;
                for lane in lanes_of(mask) {
                    let bytes = &self.warp.locals[lane].stack[from as usize..(from + size) as usize];
                    self.results[0][lane] = crate::memory::value_of(bytes);
                }
                self.group = *caller;
                self.write(0, target, mask);
                self.group = callee;
            }
            (FormalPlace::Register(source, _), Actual::Frame(to, size)) if size <= 8 => {
                let value = self.value(Source::Slot(source.slot), mask);
                let to = caller.local + to;
                for lane in lanes_of(mask) {
                    let local = &mut self.warp.locals[lane];
                    crate::memory::put_value(
                        &mut local.stack[to as usize..(to + size) as usize],
                        value[lane],
                    );
                    if let Some(written) = &mut local.written {
                        written.note(to, size);
                    }
                }
            }
            _ => return Err(self.mismatch()),
        }
        Ok(())
    }

    fn mismatch(&self) -> Stop {
        self.not_supported("call whose parameters do not fit its callee")
    }

    /// `alloca`.
    pub(super) fn allocate(
        &mut self,
        size: Source,
        align: u64,
        target: Target,
        mask: u32,
    ) -> Result<(), Stop> {
        let sizes = self.value(size, mask);
        for lane in lanes_of(mask) {
            let align = align.clamp(1, 1 << 16).next_power_of_two();
            let local = &mut self.warp.locals[lane];
            let first = (local.allocated.len() as u64).next_multiple_of(align);
            let end = first.saturating_add(sizes[lane]);
            if end > LOCAL_END - ALLOCA_FIRST {
                return Err(Stop::MemoryLimit);
            }
            self.world.charge(end - local.allocated.len() as u64)?;
            local.allocated.resize(end as usize, 0);
            self.results[0][lane] = ALLOCA_FIRST + first;
        }
        self.write(0, target, mask);
        Ok(())
    }

    /// `stacksave`.
    pub(super) fn stack_save(&mut self, target: Target, mask: u32) {
        for lane in lanes_of(mask) {
            self.results[0][lane] = ALLOCA_FIRST + self.warp.locals[lane].allocated.len() as u64;
        }
        self.write(0, target, mask);
    }

    /// `stackrestore`.
    pub(super) fn stack_restore(&mut self, source: Source, mask: u32) {
        let saved = self.value(source, mask);
        for lane in lanes_of(mask) {
            let end = saved[lane].saturating_sub(ALLOCA_FIRST) as usize;
            let allocated = &mut self.warp.locals[lane].allocated;
            self.world.release(allocated.len().saturating_sub(end) as u64);
            allocated.truncate(end);
        }
    }
}

/// Cell `cell` of a register.
fn nth(target: Target, cell: u32) -> Target {
    Target { slot: target.slot + cell, ..target }
}
