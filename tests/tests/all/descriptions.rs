//! What instructions compute, read from their mnemonics and written again.
//!
//! Every form that occurs anywhere is understood, and the form that is built from its description is the form itself,
//! unless its qualifiers stand in another order than the ISA's. Then the assembler decides whether it says the same.

use ptxopt_components::form::{FormFlags, Role, Slot};
use ptxopt_components::ids::{FormId, Id};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operation::Operation;
use ptxopt_components::types::PtxType;
use ptxopt_emulator::arith::{Request, evaluator};
use ptxopt_emulator::lanes::Lanes;
use ptxopt_engine::forms::{Description, FormTable};
use ptxopt_engine::ptx::reader::{ReaderScratch, read};
use ptxopt_engine::ptx::scan::Module;
use ptxopt_engine::ptx::writer::{WriterScratch, assemble, write_function};
use ptxopt_engine::store::tables::CodeTables;
use ptxopt_tests::modules::{ModuleFile, all, corpus, expect_none, forms, in_parallel};
use ptxopt_tests::ptxas::{Flags, Ptxas};
use ptxopt_tests::say::say;
use std::collections::BTreeSet;

/// Reads a module with a form table of its own.
fn read_module(text: &[u8]) -> (Module<'_>, FormTable, CodeTables) {
    let module = Module::scan(text).expect("the module is read elsewhere");
    let (mut forms, mut tables) = (FormTable::default(), CodeTables::default());
    read(&module, &module.functions, &mut forms, &mut ReaderScratch::default(), &mut tables)
        .expect("the module is read elsewhere");
    (module, forms, tables)
}

/// The forms of a table that the opcode table describes.
fn modelled(forms: &FormTable) -> Vec<FormId> {
    let is_modelled = |form: &FormId| forms.get(*form).flags.contains(FormFlags::MODELLED);
    (0..forms.len()).map(FormId::new).filter(is_modelled).collect()
}

/// The form built from the description of `form`.
fn built_again(forms: &mut FormTable, form: FormId) -> Option<FormId> {
    let (description, shape) = (*forms.describe(form), forms.shape(form).to_vec());
    forms.build(&description, &shape)
}

fn text(forms: &FormTable, form: FormId) -> String {
    String::from_utf8_lossy(forms.mnemonic_text(form)).into_owned()
}

/// Of what PTX ISA 9.1 to 9.5 added, the opcode table knows operands and effects; the syntax of operations has only part of it.
fn is_newer_than_the_syntax(module: &ModuleFile) -> bool {
    module.name.starts_with("forms/recent-")
}

#[test]
fn every_form_is_understood_and_built_again() {
    let modules = all();
    let verdicts = in_parallel(&modules, |module| {
        let (_, mut forms, _) = read_module(&module.text());
        let (mut wrong, mut seen, mut reordered) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        for form in modelled(&forms) {
            let mnemonic = text(&forms, form);
            if is_newer_than_the_syntax(module) && forms.describe(form).operation == Operation::Unknown {
                continue;
            }
            seen.insert(forms.describe(form).operation as u8);
            match built_again(&mut forms, form) {
                Some(built) if built == form => {}
                Some(built) if forms.describe(built) == forms.describe(form) => {
                    reordered.insert((mnemonic, text(&forms, built)));
                }
                built => wrong.push(format!("{}: {mnemonic} {built:?}", module.name)),
            }
        }
        if wrong.is_empty() { Ok((seen, reordered)) } else { Err(wrong.join(", ")) }
    });
    let (mut seen, mut reordered) = (BTreeSet::<u8>::new(), BTreeSet::new());
    for (operations, others) in verdicts.iter().flatten() {
        seen.extend(operations);
        reordered.extend(others);
    }
    for (mnemonic, built) in &reordered {
        let words = |text: &str| text.split('.').map(str::to_owned).collect::<BTreeSet<String>>();
        assert_eq!(words(mnemonic), words(built), "the same words in another order");
    }
    say(&format!("descriptions: {} of the forms are written in another order", reordered.len()));
    let wrong: Vec<String> = verdicts.into_iter().filter_map(Result::err).collect();
    expect_none("modules hold what is not understood", &wrong);
    let unseen: Vec<_> =
        Operation::ALL.iter().skip(1).filter(|operation| !seen.contains(&(**operation as u8))).collect();
    assert!(unseen.is_empty(), "no module uses {unseen:?}");
    assert!(!seen.contains(&(Operation::Unknown as u8)));
}

/// Each instruction of a module gets the form that is built from its description.
#[test]
fn the_order_of_the_isa_gives_the_same_machine_code() {
    let Some(ptxas) = Ptxas::find() else { return };
    let modules = [corpus(), forms()].concat();
    let verdicts = in_parallel(&modules, |file| {
        let source = file.text();
        let (module, mut forms, mut tables) = read_module(&source);
        let canonical: Vec<Option<FormId>> =
            (0..forms.len()).map(|form| built_again(&mut forms, FormId::new(form))).collect();
        let mut is_other = false;
        for head in &mut tables.inst_heads {
            let built = canonical[head.form.index()].unwrap_or(head.form);
            is_other |= built != std::mem::replace(&mut head.form, built);
        }
        if !is_other {
            return Ok(false);
        }
        let write = |function| {
            let mut out = Vec::new();
            write_function(&function, &forms, &source, &mut WriterScratch::default(), &mut out);
            out
        };
        let functions: Vec<Vec<u8>> = tables.view().functions().map(write).collect();
        let mut written = Vec::new();
        assemble(&module, functions.iter().map(Vec::as_slice), false, &mut written);
        match ptxas.makes_same_code(&source, &written, &Flags::of(&source)) {
            Ok(true) => Ok(true),
            Ok(false) => Err(format!("{}: other code", file.name)),
            Err(said) => Err(format!("{}: {said}", file.name)),
        }
    });
    let asked = verdicts.iter().filter(|verdict| **verdict == Ok(true)).count();
    assert!(asked > 0, "no module has another order: nothing was compared");
    say(&format!("descriptions: {asked} modules assembled in the order of the ISA"));
    let wrong: Vec<String> = verdicts.into_iter().filter_map(Result::err).collect();
    expect_none("modules give other machine code", &wrong);
}

/// What is asked of the emulator: a mnemonic with as many results and sources as it has without carry.
struct Asked {
    mnemonic: String,
    results: usize,
    sources: usize,
}

impl Asked {
    /// The arithmetic that a form is, if its operands are neither vectors nor addresses.
    fn of(forms: &FormTable, form: FormId) -> Option<Self> {
        let slots = forms.slots(form);
        let is_simple = |slot: &Slot| matches!(slot.role, Role::Def | Role::Use) && !slot.in_vector;
        let results = slots.iter().filter(|slot| slot.role == Role::Def).count();
        let sources = slots.len() - results;
        slots.iter().all(is_simple).then(|| Self { mnemonic: text(forms, form), results, sources })
    }

    /// Its results for `sources`; one more source if it reads the carry, one more result if it writes it.
    fn results(&self, forms: &FormTable, form: FormId, sources: &[Lanes]) -> Option<Vec<Lanes>> {
        let evaluate = evaluator(&Request::plain(&self.mnemonic, self.results, self.sources))?;
        let effects = forms.get(form).effects;
        let count = self.results + usize::from(effects.contains(Effects::CARRY_OUT));
        let mut results = vec![Lanes::default(); count];
        let read = self.sources + usize::from(effects.contains(Effects::CARRY_IN));
        evaluate(&sources.iter().take(read).collect::<Vec<_>>(), &mut results);
        Some(results)
    }
}

/// Sources whose lanes are drawn from what arithmetic treats specially, and from everything.
fn random_sources(seed: &mut u64) -> Vec<Lanes> {
    const SPECIAL: [u64; 20] = [
        0,
        1,
        2,
        31,
        32,
        0x7f,
        0x80,
        0xff,
        0x8000,
        0x7c00,
        0x7e00_7e00,
        0x3c00_bc00,
        0x8000_0000,
        0x7fff_ffff,
        0x7f80_0000,
        0x7fc0_0001,
        0x3f80_0000,
        0x8000_0000_0000_0000,
        0x7ff0_0000_0000_0000,
        0x7ff8_0000_0000_0001,
    ];
    let mut next = || {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        *seed
    };
    let mut value = || {
        let drawn = next();
        if drawn % 3 == 0 { next() } else { SPECIAL[(drawn >> 8) as usize % SPECIAL.len()] }
    };
    let mut sources = vec![Lanes::default(); 6];
    sources.iter_mut().flatten().for_each(|cell| *cell = value());
    sources
}

/// Whether two results are the same; of a NaN the ISA does not say which one it is.
fn agree(description: &Description, one: u64, other: u64) -> bool {
    let is_nan = |bits: u64| f64::from_bits(bits).is_nan();
    one == other || description.ty() == Some(PtxType::F64) && is_nan(one) && is_nan(other)
}

/// What the table lets change places gives the same results when it has, says the emulator, which shares nothing with it.
#[test]
fn sources_that_may_change_places_do_so_without_effect() {
    let (mut seed, mut compared) = (0x9e37_79b9_7f4a_7c15, BTreeSet::new());
    for module in forms() {
        let (_, forms, _) = read_module(&module.text());
        for form in modelled(&forms) {
            let Some([one, other]) = forms.get(form).swappable() else { continue };
            let Some(asked) = Asked::of(&forms, form) else { continue };
            for _ in 0..8 {
                let sources = random_sources(&mut seed);
                let Some(straight) = asked.results(&forms, form, &sources) else { break };
                let mut swapped = sources.clone();
                swapped.swap(one - asked.results, other - asked.results);
                let swapped = asked.results(&forms, form, &swapped).expect("it was known before");
                let pairs = straight.iter().flatten().zip(swapped.iter().flatten());
                for (lane, (straight, swapped)) in pairs.enumerate() {
                    assert!(
                        agree(forms.describe(form), *straight, *swapped),
                        "{}, lane {lane}: {straight:#x} against {swapped:#x}",
                        asked.mnemonic
                    );
                }
                compared.insert(asked.mnemonic.clone());
            }
        }
    }
    say(&format!("descriptions: {} mnemonics with sources changed places", compared.len()));
    assert!(compared.len() > 250, "only {} were compared", compared.len());
}

/// The negated and the mirrored comparison of every form, against the emulator.
#[test]
fn comparisons_are_negated_and_mirrored_as_the_emulator_computes_them() {
    let (mut seed, mut compared) = (0x0dd0_5eed, 0);
    for module in forms() {
        let (_, mut forms, _) = read_module(&module.text());
        for form in modelled(&forms) {
            let Description { operation, qualifiers, .. } = *forms.describe(form);
            let (Operation::Setp, Some(comparison), None) =
                (operation, qualifiers.comparison, qualifiers.combiner)
            else {
                continue;
            };
            let ty = forms.describe(form).ty().expect("a comparison has a type");
            let negated = forms.with_comparison(form, comparison.negated(ty)).expect("it exists");
            let mirrored = forms.with_comparison(form, comparison.mirrored()).expect("it exists");
            let [asked, negated_asked, mirrored_asked] =
                [form, negated, mirrored].map(|form| Asked::of(&forms, form).expect("it has no vectors"));
            let sources = random_sources(&mut seed);
            let Some(results) = asked.results(&forms, form, &sources) else { continue };
            let mut swapped = sources.clone();
            swapped.swap(0, 1);
            let contrary = negated_asked.results(&forms, negated, &sources).expect("it is known");
            let same = mirrored_asked.results(&forms, mirrored, &swapped).expect("it is known");
            for lane in 0..sources[0].len() {
                let mnemonic = &asked.mnemonic;
                assert_eq!(contrary[0][lane] & 1, !results[0][lane] & 1, "{mnemonic}, negated");
                assert_eq!(same[0][lane] & 1, results[0][lane] & 1, "{mnemonic}, mirrored");
            }
            compared += 1;
        }
    }
    assert!(compared > 80, "only {compared} were compared");
}
