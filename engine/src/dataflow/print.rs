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
//!   line 9: R 2 (3) P 0 (0) before, R 3 (4) P 0 (0) behind, add.s32, last %r4
//! spill cost of %r1: 3.5 (14 accesses by weight, over 4 instructions)
//! ```
//! Registers stand in the order of their first use in the function. Slots, in brackets, have 32 bits.

use super::liveness::LiveSet;
use super::pressure::{CLASSES, Counts, Pressure};
use crate::forms::FormTable;
use crate::view::FunctionView;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::types::RegClass;
use ptxopt_components::vreg::{VRegFlags, VRegName};
use std::fmt::Write;

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
    for block in function.block_ids() {
        let mut members: Vec<VRegId> = set.live_in_vregs(block).collect();
        write_set(function, text, block, "in", &mut members, out);
        let mut members: Vec<VRegId> = set.live_out_vregs(block).collect();
        write_set(function, text, block, "out", &mut members, out);
    }
}

fn write_set(
    function: &FunctionView<'_>,
    text: &[u8],
    block: BlockId,
    side: &str,
    members: &mut [VRegId],
    out: &mut String,
) {
    members.sort_unstable();
    say(out, format_args!("{block:?} {side}:"));
    for &vreg in members.iter() {
        say(out, format_args!(" {}", register(function, text, vreg)));
    }
    out.push('\n');
}

/// One line a class of which registers live: the peak and where it is.
pub fn peaks(function: &FunctionView<'_>, text: &[u8], pressure: &Pressure, out: &mut String) {
    for (class, peak) in CLASSES.into_iter().zip(&pressure.peaks) {
        if let Some(inst) = peak.inst {
            let (count, line) = (peak.count, line(function, text, inst));
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
    text: &[u8],
    pressure: &Pressure,
    out: &mut String,
) {
    say(out, format_args!("pressure of {}\n", name(function, text)));
    peaks(function, text, pressure, out);
    let (mut line, mut behind) = (1, 0);
    for block in function.block_ids() {
        say(out, format_args!("{block:?} depth {}\n", function.orders[block.index()].depth));
        for inst in function.insts_of(block) {
            // Instructions stand in the order of the text nearly always, so lines are counted on from the last.
            let offset = (function.places[inst.index()].offset as usize).min(text.len());
            line = match text.get(behind..offset) {
                Some(between) => line + memchr::memchr_iter(b'\n', between).count(),
                None => memchr::memchr_iter(b'\n', &text[..offset]).count() + 1,
            };
            behind = offset;
            say(out, format_args!("  line {line}:"));
            write_counts(&pressure.before[inst.index()], out);
            out.push_str(" before,");
            write_counts(&pressure.behind[inst.index()], out);
            let mnemonic = String::from_utf8_lossy(forms.mnemonic_text(function.heads[inst.index()].form));
            say(out, format_args!(" behind, {mnemonic}"));
            for (number, position) in pressure.last_uses_of(inst).enumerate() {
                if let Some(vreg) = function.operands_of(inst)[position].vreg() {
                    let word = if number == 0 { ", last" } else { "" };
                    say(out, format_args!("{word} {}", register(function, text, vreg)));
                }
            }
            out.push('\n');
        }
    }
    for vreg in function.vreg_ids().filter(|vreg| pressure.weights[vreg.index()] > 0) {
        let cost = pressure.spill_cost(function, vreg);
        let (weight, length) = (pressure.weights[vreg.index()], pressure.lengths[vreg.index()]);
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
        if matches!(class, RegClass::R | RegClass::P) || count.registers > 0 {
            say(out, format_args!(" {} {} ({})", class_name(class), count.registers, count.slots));
        }
    }
}
