//! Large kernels, each of one shape on which a simple algorithm takes time like the square of its length.
//!
//! They end whatever they are launched with, take the address of four bytes for each thread, and write what they compute there.

mod branches;
mod loops;
mod memory;
mod tables;
mod text;
mod values;

use branches::{
    arms, beside, blocks, checks, clamps, conditions, copies, crowds, diamonds, divisions, gotos, guards,
    idle, joins, nested_ifs, reversed, scattered, truncations, webs,
};
use loops::{
    arguments, around, depths, doors, exits, halves, hollows, invariants, marches, nest, overwritten,
    pointers, preloads, rewritten, rounds, sinks, sums_from_0, tiers, twins, waits,
};
use memory::{indices, reloads, slots, stores, zeroed};
use tables::{cases, crossings, detours, joints, regions, shortcuts, ways};
use values::{chain, leaves, loaded_halves, pairs, parts, quotients, returns, scopes, straight, sums};

/// A shape.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Its name.
    pub name: &'static str,
    /// What is counted in it.
    pub of: &'static str,
    /// A size that is large: compilers have been seen to make as much.
    pub large: usize,
    /// The module with one kernel of a size.
    pub text: fn(usize) -> String,
}

/// All shapes.
pub const SHAPES: [Shape; 61] = [
    Shape { name: "nested-ifs", of: "levels", large: 10_000, text: nested_ifs },
    Shape { name: "idle", of: "levels around what nothing needs", large: 10_000, text: idle },
    Shape { name: "straight", of: "instructions", large: 90_000, text: straight },
    Shape { name: "quotients", of: "divisions", large: 15_000, text: quotients },
    Shape { name: "blocks", of: "blocks", large: 24_000, text: blocks },
    Shape { name: "joins", of: "values that meet", large: 50_000, text: joins },
    Shape { name: "gotos", of: "states", large: 2_000, text: gotos },
    Shape { name: "scattered", of: "blocks that jump to the next one", large: 12_000, text: scattered },
    Shape { name: "reversed", of: "blocks that jump to the one before", large: 12_000, text: reversed },
    Shape { name: "slots", of: "slots", large: 20_000, text: slots },
    Shape { name: "sums", of: "additions", large: 50_000, text: sums },
    Shape { name: "reloads", of: "loads", large: 20_000, text: reloads },
    Shape { name: "rounds", of: "loops", large: 10_000, text: rounds },
    Shape { name: "nest", of: "loops", large: 2_000, text: nest },
    Shape { name: "stores", of: "stores", large: 20_000, text: stores },
    Shape { name: "twins", of: "values around a loop", large: 20_000, text: twins },
    Shape { name: "leaves", of: "sums of five", large: 10_000, text: leaves },
    Shape { name: "chain", of: "sums of one tree", large: 50_000, text: chain },
    Shape { name: "arms", of: "branches", large: 8_000, text: arms },
    Shape { name: "diamonds", of: "branches", large: 12_000, text: diamonds },
    Shape { name: "clamps", of: "levels", large: 10_000, text: clamps },
    Shape { name: "invariants", of: "invariants of a loop", large: 30_000, text: invariants },
    Shape { name: "conditions", of: "levels", large: 10_000, text: conditions },
    Shape { name: "cases", of: "cases", large: 10_000, text: cases },
    Shape { name: "ways", of: "ways out of a table", large: 40_000, text: ways },
    Shape { name: "scopes", of: "scopes with registers of their own", large: 20_000, text: scopes },
    Shape { name: "copies", of: "copies that one join takes", large: 10_000, text: copies },
    Shape { name: "sinks", of: "values before a row of loops and branches", large: 8_000, text: sinks },
    Shape { name: "around", of: "values around a row of loops", large: 8_000, text: around },
    Shape { name: "exits", of: "exits of a loop", large: 5_000, text: exits },
    Shape { name: "webs", of: "registers written under guards", large: 4_000, text: webs },
    Shape { name: "preloads", of: "loads before a loop", large: 20_000, text: preloads },
    Shape { name: "pairs", of: "pairs of instructions", large: 15_000, text: pairs },
    Shape { name: "marches", of: "loops over one local array", large: 4_000, text: marches },
    Shape { name: "hollows", of: "loops in a loop over a local array", large: 2_000, text: hollows },
    Shape { name: "indices", of: "indices with constants in one address", large: 20_000, text: indices },
    Shape { name: "waits", of: "loops between a load and its read", large: 4_000, text: waits },
    Shape { name: "checks", of: "checks for overflow", large: 10_000, text: checks },
    Shape { name: "pointers", of: "loops that move a pointer", large: 4_000, text: pointers },
    Shape { name: "halves", of: "conditions of two parts in a loop", large: 4_000, text: halves },
    Shape { name: "tiers", of: "loops with conditions of two parts", large: 2_000, text: tiers },
    Shape { name: "divisions", of: "arms that divide", large: 10_000, text: divisions },
    Shape { name: "crowds", of: "joins beside values that all live at once", large: 8_000, text: crowds },
    Shape { name: "crossings", of: "targets of a table after branches", large: 16_000, text: crossings },
    Shape { name: "rewritten", of: "registers written twice before a nest", large: 10_000, text: rewritten },
    Shape { name: "overwritten", of: "registers, once more under a guard", large: 10_000, text: overwritten },
    Shape { name: "doors", of: "ways into a loop", large: 8_000, text: doors },
    Shape { name: "beside", of: "blocks beside guarded writes", large: 16_000, text: beside },
    Shape { name: "arguments", of: "arguments of a call", large: 40_000, text: arguments },
    Shape { name: "depths", of: "values read inside a deep nest", large: 32_000, text: depths },
    Shape { name: "regions", of: "branches to one join that takes many values", large: 2_000, text: regions },
    Shape { name: "shortcuts", of: "pairs of branches to one join", large: 2_000, text: shortcuts },
    Shape { name: "returns", of: "calls between reads of a value", large: 8_000, text: returns },
    Shape { name: "joints", of: "cases with a short branch", large: 2_000, text: joints },
    Shape { name: "guards", of: "guards of which each decides the next", large: 2_000, text: guards },
    Shape { name: "sums-from-0", of: "loops that start one of 64 sums", large: 8_000, text: sums_from_0 },
    Shape { name: "detours", of: "cases that ask what one block asks again", large: 2_000, text: detours },
    Shape {
        name: "truncations",
        of: "sums of which the lower half is read",
        large: 15_000,
        text: truncations,
    },
    Shape {
        name: "loaded-halves",
        of: "numbers that are loaded in two halves",
        large: 15_000,
        text: loaded_halves,
    },
    Shape { name: "parts", of: "bits that are put in one after the other", large: 15_000, text: parts },
    Shape { name: "zeroed", of: "pointers that hold zero first", large: 4_000, text: zeroed },
];
