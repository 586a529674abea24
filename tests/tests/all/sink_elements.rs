//! Where the opcode table lets an element of a vector result be a sink, the assembler takes one.
//!
//! Every instruction of `tests/forms` that gives a vector, with each of its elements dead, on each architecture that takes
//! the module. `sinks.rs` asks about statements of its own, also those that are refused.

use ptxopt_components::form::{Accepts, Role};
use ptxopt_components::ids::{BlockId, Id};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::ptx::reader::{ReaderScratch, read};
use ptxopt_engine::ptx::scan::Module;
use ptxopt_engine::store::tables::CodeTables;
use ptxopt_tests::modules::{ModuleFile, expect_none, forms, in_parallel};
use ptxopt_tests::ptxas::{Flags, Mode, Ptxas};
use ptxopt_tests::say::say;
use std::ops::Range;

/// Architectures beside the one that a module names.
const ARCHS: [&str; 4] = ["75", "90", "100a", "121"];

/// The elements of the braces that open first in `text[from..]`, each with its blanks.
fn elements(text: &[u8], from: usize) -> Vec<Range<usize>> {
    let find =
        |byte: u8, from: usize| from + text[from..].iter().position(|&other| other == byte).unwrap_or(0);
    let first = find(b'{', from) + 1;
    let end = find(b'}', first);
    let mut elements = Vec::new();
    let mut at = first;
    while at < end {
        let comma = find(b',', at).min(end);
        elements.push(at..if comma <= at { end } else { comma });
        at = elements[elements.len() - 1].end + 1;
    }
    elements
}

/// The module with element `dead` of each vector result a sink where the table allows that, and how many those are.
fn with_sinks(text: &[u8], dead: usize) -> (Vec<u8>, usize) {
    let scanned = Module::scan(text).unwrap_or_else(|error| panic!("{error:?}"));
    let (mut forms, mut tables) = (FormTable::default(), CodeTables::default());
    read(&scanned, &scanned.functions, &mut forms, &mut ReaderScratch::default(), &mut tables)
        .unwrap_or_else(|error| panic!("{error:?}"));
    let mut places = Vec::new();
    for function in tables.view().functions() {
        let blocks = (0..function.blocks.len()).map(BlockId::new);
        for inst in blocks.flat_map(|block| function.insts_of(block)) {
            let slots = forms.slots(function.heads[inst.index()].form);
            let results: Vec<bool> = slots
                .iter()
                .zip(function.operands_of(inst))
                .take_while(|(slot, _)| slot.in_vector && slot.role == Role::Def)
                .map(|(slot, operand)| {
                    operand.vreg().is_some() && slot.accepts.contains(Accepts::SINK_ELEMENT)
                })
                .collect();
            let offset = function.places[inst.index()].offset as usize;
            let kept = results.iter().enumerate().any(|(place, &is_register)| place != dead && is_register);
            let elements = elements(text, offset);
            if kept && results.get(dead) == Some(&true) && elements.len() >= results.len() {
                places.push(elements[dead].clone());
            }
        }
    }
    places.sort_by_key(|place| std::cmp::Reverse(place.start));
    let mut with_sinks = text.to_vec();
    for place in &places {
        with_sinks.splice(place.clone(), *b" _");
    }
    (with_sinks, places.len())
}

/// How many sinks the assembler took.
fn check(ptxas: &Ptxas, module: &ModuleFile) -> Result<usize, String> {
    let text = module.text();
    let own = Flags::of(&text);
    let others = ARCHS.iter().filter(|&&arch| arch != own.arch);
    let all = others.map(|&arch| Flags { arch: arch.to_owned(), ..own.clone() });
    let mut count = 0;
    for flags in std::iter::once(own.clone()).chain(all) {
        if ptxas.accepts(&text, &flags, Mode::Assemble).is_err() {
            continue;
        }
        for dead in 0..8 {
            let (changed, sinks) = with_sinks(&text, dead);
            if sinks == 0 {
                continue;
            }
            count += sinks;
            ptxas
                .accepts(&changed, &flags, Mode::Assemble)
                .map_err(|said| format!("{}, sm_{}, element {dead}: {said}", module.name, flags.arch))?;
        }
    }
    Ok(count)
}

#[test]
fn the_assembler_takes_each_element_as_a_sink() {
    let Some(ptxas) = Ptxas::find() else { return };
    let modules = forms();
    let checked = in_parallel(&modules, |module| check(&ptxas, module));
    let count: usize = checked.iter().filter_map(|checked| checked.as_ref().ok()).sum();
    expect_none("modules are refused", &checked.into_iter().filter_map(Result::err).collect::<Vec<_>>());
    assert!(count > 500, "only {count} sinks were tried");
    say(&format!("sinks: {count} elements of vector results, as the assembler has them"));
}
