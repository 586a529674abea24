//! Values that go from thread to thread through shared memory.
//!
//! Between exchanges a thread touches its own slot only, so an exchange is: store, barrier, load from the partner,
//! barrier. More rounds with the same partner load from one address again, with a store by another thread between.

use super::{Level, Writer, threads};
use crate::tree::{Class, Exchange};

/// Bytes of a thread's slot in shared memory.
pub(crate) const SLOT_BYTES: u32 = 16;

impl Writer<'_> {
    /// An exchange; nothing where it is not known which threads are here.
    pub fn exchange(&mut self, exchange: &Exchange) {
        let Some(lanes) = self.lanes() else { return };
        if self.function.is_some() {
            return;
        }
        let (class, kind, bytes) =
            if exchange.class == Class::L { (Class::L, "u64", 8) } else { (Class::R, "u32", 4) };
        let offset = exchange.offset % SLOT_BYTES / bytes * bytes;
        let volatile = if exchange.is_volatile { ".volatile" } else { "" };
        let own = self.base("slot");
        let partner = self.partner(exchange.distance, lanes);
        let address = self.slot_of(&partner);
        for round in &exchange.rounds {
            if let Some(value) = round.value {
                let value = self.operand(value, class, '=');
                self.line(format!("st{volatile}.shared.{kind} [{own}+{offset}], {value};"));
            }
            self.meet(round.barriers[0], lanes);
            let def = if round.def.class == class { self.reg(round.def) } else { self.temp(class) };
            self.line(format!("ld{volatile}.shared.{kind} {def}, [{address}+{offset}];"));
            self.meet(round.barriers[1], lanes);
        }
    }

    /// The number of the partner in the CTA: another thread of the CTA, or a lane that is here.
    fn partner(&mut self, distance: u32, lanes: u32) -> String {
        let thread = self.base("thread");
        let (moved, partner) = (self.temp(Class::R), self.temp(Class::R));
        if self.level == Level::Block {
            self.line(format!("add.u32 {moved}, {thread}, {distance};"));
            self.line(format!("rem.u32 {partner}, {moved}, {};", threads(self.program)));
        } else {
            self.line(format!("and.b32 {moved}, {thread}, -32;"));
            self.line(format!("add.u32 {partner}, {moved}, {};", nth_lane(lanes, distance)));
        }
        partner
    }

    fn slot_of(&mut self, thread: &str) -> String {
        let name = self.shared_variable();
        if self.has_short_addresses("shared", false) {
            let (start, address) = (self.temp(Class::R), self.temp(Class::R));
            self.line(format!("mov.u32 {start}, {name};"));
            self.line(format!("mad.lo.u32 {address}, {thread}, {SLOT_BYTES}, {start};"));
            return address;
        }
        let (start, address) = (self.temp(Class::L), self.temp(Class::L));
        self.line(format!("mov.u64 {start}, {name};"));
        self.line(format!("mad.wide.u32 {address}, {thread}, {SLOT_BYTES}, {start};"));
        address
    }

    /// The shared array, declared.
    pub fn shared_variable(&mut self) -> &'static str {
        let name = if self.program.style.has_dynamic_shared { "dynamic_slots" } else { "slots" };
        self.module.variables.insert(name);
        name
    }

    /// A barrier of those that are here, spelled in one of many ways.
    fn meet(&mut self, which: u8, lanes: u32) {
        if self.level != Level::Block {
            return self.line(format!("bar.warp.sync {lanes:#x};"));
        }
        let count = threads(self.program);
        // A barrier counts whole warps, so a part of one is not counted.
        let is_countable = count.is_multiple_of(32);
        let is_new = self.program.arch >= 70;
        match which % 8 {
            1 => self.line("barrier.sync 0;"),
            2 if is_countable => self.line(format!("bar.sync 1, {count};")),
            3 if is_new => self.line("barrier.cta.sync.aligned 2;"),
            4 => {
                // A guard that every thread passes.
                let size = self.temp(Class::R);
                self.line(format!("mov.u32 {size}, %ntid.x;"));
                let always = self.compare("ne.u32", &size, "0");
                self.line(format!("@{always} bar.sync 0;"));
            }
            5 => {
                let number = self.temp(Class::R);
                self.line(format!("mov.u32 {number}, 3;"));
                self.line(format!("bar.sync {number};"));
            }
            6 if is_new && is_countable => self.line(format!("barrier.sync 4, {count};")),
            _ => self.line("bar.sync 0;"),
        }
    }
}

/// A lane of a mask that is not empty.
pub(crate) fn nth_lane(lanes: u32, number: u32) -> u32 {
    let number = number % lanes.count_ones();
    (0..32).filter(|lane| lanes >> lane & 1 == 1).nth(number as usize).expect("fewer than lanes")
}
