//! Live sets and pressure as text.
//!
//! ```text
//! liveness of kernel: 3 of 9 registers live across blocks
//! bix0 in:
//! bix0 out: %r1 %rd2
//!
//! pressure of kernel
//! R at most 5 in 7 slots, line 14
//! P at most 1 in 1 slots, line 12
//! bix0 depth 0
//!   line 9: R 2 (3) P 0 (0) before, R 3 (4) P 0 (0) after, add.s32, last %r4
//! spill cost of %r1: 3.5 (14 accesses by weight, over 4 instructions)
//! ```
//! Registers stand in the order of their first use in the function. Slots, in brackets, have 32 bits. Of a set of more than
//! [`SHOWN_MAX`] registers the others are counted, so that a text is as long as its function.

use super::liveness::{LiveSet, Side};
use super::pressure::{CLASSES, Counts, Pressure};
use crate::forms::FormTable;
use crate::store::view::FunctionView;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::types::RegClass;
use ptxopt_components::vreg::{VRegFlags, VRegName};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Registers of one set that are named. More than a thread has, so that only sets that no hardware holds are cut.
pub const SHOWN_MAX: usize = 256;

/// The name of a register as the module's `text` spells it.
#[must_use]
pub fn register(function: &FunctionView<'_>, text: &[u8], vreg: VRegId) -> String {
    if function.vregs[vreg.index()].flags.contains(VRegFlags::CARRY) {
        return "the carry register".to_owned();
    }
    let name = function.vreg_names[vreg.index()];
    let mut spelled = String::from_utf8_lossy(function.pools.names.bytes(text, name.prefix)).into_owned();
    if name.number != VRegName::WHOLE {
        say(&mut spelled, format_args!("{}", name.number));
    }
    spelled
}

/// The line of an instruction in the module's `text`, counted from 1.
#[must_use]
pub fn line(function: &FunctionView<'_>, text: &[u8], inst: InstId) -> usize {
    let offset = function.places[inst.index()].offset as usize;
    memchr::memchr_iter(b'\n', &text[..offset.min(text.len())]).count() + 1
}

/// Where the lines of a text start: what many places are looked up in, where [`line()`] would read the text for each.
pub struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    /// The lines of `text`.
    #[must_use]
    pub fn of(text: &[u8]) -> Self {
        let after_breaks = memchr::memchr_iter(b'\n', text).map(|at| at + 1);
        Self { starts: std::iter::once(0).chain(after_breaks).collect() }
    }

    /// The line of an instruction, counted from 1.
    #[must_use]
    pub fn line(&self, function: &FunctionView<'_>, inst: InstId) -> usize {
        let offset = function.places[inst.index()].offset as usize;
        self.starts.partition_point(|&start| start <= offset)
    }
}

fn name(function: &FunctionView<'_>, text: &[u8]) -> String {
    String::from_utf8_lossy(&text[function.text.name.range()]).into_owned()
}

fn say(out: &mut String, what: std::fmt::Arguments<'_>) {
    out.write_fmt(what).expect("a string takes everything");
}

/// The short name of a class.
#[must_use]
pub fn class_name(class: RegClass) -> &'static str {
    match class {
        RegClass::R => "R",
        RegClass::Ur => "UR",
        RegClass::P => "P",
        RegClass::Up => "UP",
        RegClass::B => "B",
    }
}

/// Writes the live sets of a function.
pub fn liveness(function: &FunctionView<'_>, text: &[u8], set: &LiveSet, out: &mut String) {
    let (name, all, global) = (name(function, text), function.vregs.len(), set.globals().len());
    say(out, format_args!("liveness of {name}: {global} of {all} registers live across blocks\n"));
    let (mut live_in, mut live_out) = (Sweep::new(set, Side::In), Sweep::new(set, Side::Out));
    for block in function.block_ids() {
        write_set(function, text, block, "in", live_in.set_of(block), out);
        write_set(function, text, block, "out", live_out.set_of(block), out);
    }
}

fn write_set(
    function: &FunctionView<'_>,
    text: &[u8],
    block: BlockId,
    side: &str,
    members: &BTreeSet<VRegId>,
    out: &mut String,
) {
    say(out, format_args!("{block:?} {side}:"));
    for &vreg in members.iter().take(SHOWN_MAX) {
        say(out, format_args!(" {}", register(function, text, vreg)));
    }
    if members.len() > SHOWN_MAX {
        say(out, format_args!(" and {} more", members.len() - SHOWN_MAX));
    }
    out.push('\n');
}

/// The live sets of one side, block after block. Costs what changes between neighbours, not what the sets hold: a register
/// that lives everywhere is put in once.
struct Sweep {
    /// What begins to live at a block, and what has ceased to before it; the last blocks first.
    begins: Vec<(u32, VRegId)>,
    ends: Vec<(u32, VRegId)>,
    living: BTreeSet<VRegId>,
}

impl Sweep {
    fn new(set: &LiveSet, side: Side) -> Self {
        let (mut begins, mut ends) = (Vec::new(), Vec::new());
        set.each_run(side, |blocks, vreg| {
            begins.push((blocks.start, vreg));
            ends.push((blocks.end, vreg));
        });
        for list in [&mut begins, &mut ends] {
            list.sort_unstable_by(|a, b| b.cmp(a));
        }
        Self { begins, ends, living: BTreeSet::new() }
    }

    /// The set of a block, which is the one after that of the last call, or the first.
    fn set_of(&mut self, block: BlockId) -> &BTreeSet<VRegId> {
        while let Some((_, vreg)) = self.ends.pop_if(|&mut (end, _)| end <= block.0) {
            self.living.remove(&vreg);
        }
        while let Some((_, vreg)) = self.begins.pop_if(|&mut (first, _)| first <= block.0) {
            self.living.insert(vreg);
        }
        &self.living
    }
}

/// One line a class of which registers live: the peak and where it is.
pub fn peaks(function: &FunctionView<'_>, lines: &Lines, pressure: &Pressure, out: &mut String) {
    for (class, peak) in CLASSES.into_iter().zip(pressure.peaks(function)) {
        if let Some(inst) = peak.inst {
            let (count, line) = (peak.count, lines.line(function, inst));
            say(
                out,
                format_args!(
                    "{} at most {} in {} slots, line {line}\n",
                    class_name(class),
                    count.registers,
                    count.slots
                ),
            );
        }
    }
}

/// Writes the pressure of a function: peaks, then each instruction, then what spilling each register would cost.
pub fn pressure(
    function: &FunctionView<'_>,
    forms: &FormTable,
    (text, lines): (&[u8], &Lines),
    pressure: &Pressure,
    out: &mut String,
) {
    say(out, format_args!("pressure of {}\n", name(function, text)));
    peaks(function, lines, pressure, out);
    for block in function.block_ids() {
        say(out, format_args!("{block:?} depth {}\n", function.orders[block.index()].depth));
        for inst in function.insts_of(block) {
            say(out, format_args!("  line {}:", lines.line(function, inst)));
            write_counts(&pressure.before(function, inst), out);
            out.push_str(" before,");
            write_counts(&pressure.after(function, inst), out);
            let mnemonic = String::from_utf8_lossy(forms.mnemonic_text(function.heads[inst.index()].form));
            say(out, format_args!(" after, {mnemonic}"));
            for (number, position) in pressure.last_uses_of(inst).enumerate() {
                if let Some(vreg) = function.operands_of(inst)[position].vreg() {
                    let word = if number == 0 { ", last" } else { "" };
                    say(out, format_args!("{word} {}", register(function, text, vreg)));
                }
            }
            out.push('\n');
        }
    }
    for vreg in function.vreg_ids().filter(|vreg| pressure.weight(*vreg) > 0) {
        let cost = pressure.spill_cost(function, vreg);
        let (weight, length) = (pressure.weight(vreg), pressure.length(vreg));
        say(
            out,
            format_args!(
                "spill cost of {}: {cost:.1} ({weight} accesses by weight, over {length} instructions)\n",
                register(function, text, vreg)
            ),
        );
    }
}

fn write_counts(counts: &Counts, out: &mut String) {
    for (class, count) in CLASSES.into_iter().zip(counts) {
        say(out, format_args!(" {} {} ({})", class_name(class), count.registers, count.slots));
    }
}
