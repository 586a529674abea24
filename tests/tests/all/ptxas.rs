//! The assembler accepts what we make of every module that it accepts.
//!
//! All modules are checked at `-O0` and `-O2` in its mode that makes no code. Those of `ptxas-subset.txt` are assembled,
//! too: together they use every form of corpus and forms. `BLESS=1` writes that list anew.

use ptxopt::{OptLevel, Options};
use ptxopt_tests::blessed::is_blessing;
use ptxopt_tests::modules::{ModuleFile, all, corpus, expect_none, forms, in_parallel, tests_folder};
use ptxopt_tests::ptxas::{Flags, Mode, Ptxas};
use ptxopt_tests::rewrite::rewrite;
use ptxopt_tests::say::say;
use std::collections::BTreeSet;
use std::fs;

/// The list of modules that are assembled.
const SUBSET: &str = "ptxas-subset.txt";

/// What became of a module.
enum Verdict {
    /// The assembler accepts what came in and what went out.
    Accepted,
    /// It does not accept what came in.
    NeverGood(String),
    /// It does not accept what went out, or we did not accept what came in.
    Spoilt(String),
}

fn verdict(module: &ModuleFile, ptxas: &Ptxas, mode: Mode) -> Verdict {
    let text = module.text();
    let flags = Flags::of(&text);
    if let Err(said) = ptxas.accepts(&text, &flags, mode) {
        return Verdict::NeverGood(format!("{}: {said}", module.name));
    }
    for level in [OptLevel::O0, OptLevel::O2] {
        let output = match ptxopt::optimize(&text, &Options { level, ..Options::default() }) {
            Ok(output) => output,
            Err(diagnostics) => return Verdict::Spoilt(diagnostics.summary(&module.name, &text)),
        };
        if let Err(said) = ptxas.accepts(&output.text, &flags, mode) {
            return Verdict::Spoilt(format!("{} at -{level}: {said}", module.name));
        }
    }
    Verdict::Accepted
}

fn expect_accepted(modules: &[ModuleFile], mode: Mode) {
    let Some(ptxas) = Ptxas::find() else { return };
    let (mut accepted, mut never_good, mut spoilt) = (0, Vec::new(), Vec::new());
    for verdict in in_parallel(modules, |module| verdict(module, &ptxas, mode)) {
        match verdict {
            Verdict::Accepted => accepted += 1,
            Verdict::NeverGood(said) => never_good.push(said),
            Verdict::Spoilt(said) => spoilt.push(said),
        }
    }
    say(&format!("ptxas, {mode:?}: accepted {accepted}, rejected originals {}", never_good.len()));
    never_good.iter().for_each(|said| say(&format!("  {said}")));
    expect_none("modules are spoilt", &spoilt);
}

#[test]
fn every_output_is_accepted() {
    expect_accepted(&all(), Mode::Check);
}

#[test]
fn every_form_is_assembled() {
    expect_accepted(&subset(&[corpus(), forms()].concat()), Mode::Assemble);
}

/// Those of `modules` that are on the list.
fn subset(modules: &[ModuleFile]) -> Vec<ModuleFile> {
    let path = tests_folder().join(SUBSET);
    let list =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    let names: BTreeSet<&str> = list.lines().filter(|line| !line.starts_with('#')).collect();
    let subset: Vec<ModuleFile> =
        modules.iter().filter(|module| names.contains(module.name.as_str())).cloned().collect();
    assert_eq!(subset.len(), names.len(), "{SUBSET} names modules that are gone");
    subset
}

#[test]
fn the_subset_covers_every_form() {
    let modules = [corpus(), forms()].concat();
    let forms_of: Vec<BTreeSet<String>> = in_parallel(&modules, |module| {
        let rewritten = rewrite(&module.text()).unwrap_or_else(|error| panic!("{}: {error:?}", module.name));
        rewritten.forms.into_iter().collect()
    });
    if is_blessing() {
        let chosen = cover(&modules, &forms_of);
        let head = "# Modules that together use every form of corpus and forms. Written by `BLESS=1 cargo test -p ptxopt-tests\n\
                    # ptxas`, which takes the module with the most new forms a byte, again and again.\n";
        let list: String = chosen.iter().map(|&index| format!("{}\n", modules[index].name)).collect();
        fs::write(tests_folder().join(SUBSET), head.to_owned() + &list).expect("the list can be written");
    }
    let chosen = subset(&modules);
    let is_chosen = |index: &usize| chosen.contains(&modules[*index]);
    let covered: BTreeSet<&String> =
        (0..modules.len()).filter(is_chosen).flat_map(|index| &forms_of[index]).collect();
    let missing: Vec<String> =
        forms_of.iter().flatten().filter(|form| !covered.contains(form)).cloned().collect();
    say(&format!("ptxas: {} modules of {} have all {} forms", chosen.len(), modules.len(), covered.len()));
    expect_none("forms are not covered (BLESS=1 writes the list anew)", &missing);
}

/// Indices of modules that cover every form: greedily, by new forms a byte, since time goes with bytes.
fn cover(modules: &[ModuleFile], forms_of: &[BTreeSet<String>]) -> BTreeSet<usize> {
    let sizes: Vec<usize> = modules.iter().map(|module| module.text().len()).collect();
    let mut missing: BTreeSet<&String> = forms_of.iter().flatten().collect();
    let mut chosen = BTreeSet::new();
    while !missing.is_empty() {
        let gain = |index: usize| forms_of[index].iter().filter(|form| missing.contains(form)).count();
        let best = (0..modules.len()).max_by(|&one, &other| {
            (gain(one) * sizes[other]).cmp(&(gain(other) * sizes[one])).then(other.cmp(&one))
        });
        let best = best.expect("what is missing is in some module");
        chosen.insert(best);
        missing.retain(|form| !forms_of[best].contains(*form));
    }
    chosen
}
