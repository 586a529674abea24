//! Value numbers before a naive algorithm: all blocks in reverse postorder, over and over, until nothing changes, every phi equal
//! to what is known of its values so far (Simpson 1996, the simple variant). What ours calls equal, the naive one calls equal.
//!
//! What is loaded is no business of the naive one, which takes ours for it.
//!
//! What waits until something could be equal to it (`postponed`) is compared with numbers for which nothing waits.

use super::meanings::{Meaning, Source as From};
use super::numbers::{Again, NO_NUMBER, Source, ValueNumbers};
use crate::check::tests::run;
use crate::flow::split_at_control_flow;
use crate::ssa::build_ssa;
use crate::values::general_optimize::constants::bits_in;
use crate::values::gvn_cse::{PHASE, tests::Kernel};
use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::types::truncate;
use ptxopt_engine::edit::Editor;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::phis::incoming;
use ptxopt_engine::values::reaching::{Place, Reaching, ReachingValues};
use std::cell::RefCell;
use std::collections::HashMap;

/// What was found over all functions.
#[derive(Default)]
struct Found {
    values: usize,
    /// Values that ours finds equal to one before them, and those that the naive one does.
    ours: usize,
    naive: usize,
    wrong: Vec<String>,
}

thread_local! {
    static FOUND: RefCell<Found> = RefCell::default();
}

static LISTEN: Phase = Phase { name: "listen", install: |slot| slot.add(listen::<false>), ..PHASE };
static LISTEN_AROUND_LOOPS: Phase =
    Phase { name: "listen", install: |slot| slot.add(listen::<true>), ..PHASE };

fn listen<const ASSUMES: bool>(mut editor: Editor, mut values: ResMut<ReachingValues>) {
    editor.each(CodeFlags::SSA, |mut f| {
        let reaching = values.of(&mut f);
        let (function, forms) = f.view_and_forms();
        let mut numbers = ValueNumbers::default();
        numbers.find(&function, forms, reaching, ASSUMES);
        let mut in_blocks = ValueNumbers::default();
        in_blocks.find_in(&function, forms, reaching, |_, _| true);
        let naive = Naive { numbers: &numbers, function, forms, reaching }.find();
        FOUND.with_borrow_mut(|found| {
            compare(&numbers, &naive, found);
            compare_with_less_memory(&numbers, &in_blocks, found);
        });
    });
}

fn compare(numbers: &ValueNumbers, naive: &[Option<String>], found: &mut Found) {
    let (mut by_ours, mut by_naive) = (HashMap::new(), HashMap::new());
    for (at, name) in naive.iter().enumerate() {
        let number = numbers.of(VRegId::new(at));
        let Some(name) = name.as_ref().filter(|_| number != NO_NUMBER) else { continue };
        found.values += 1;
        let (one, other) = (by_ours.get(&number), by_naive.insert(name.clone(), at));
        found.ours += usize::from(one.is_some());
        found.naive += usize::from(other.is_some());
        let (first, first_name) = one.copied().unwrap_or((at, name));
        if first_name != name {
            found.wrong.push(format!("v{first} = {first_name} and v{at} = {name}"));
        }
        by_ours.entry(number).or_insert((at, name));
    }
}

/// Where nothing waits and memory is forgotten at each block, nothing is found that is not found otherwise.
fn compare_with_less_memory(numbers: &ValueNumbers, in_blocks: &ValueNumbers, found: &mut Found) {
    let is_missed = |again: &&Again| numbers.again().iter().all(|other| other.inst != again.inst);
    let missed = in_blocks.again().iter().filter(is_missed);
    found.wrong.extend(missed.map(|again| format!("{:?} is equal to one before", again.inst)));
}

struct Naive<'a> {
    numbers: &'a ValueNumbers,
    function: FunctionView<'a>,
    forms: &'a FormTable,
    reaching: &'a mut Reaching,
}

impl Naive<'_> {
    /// By register: a name that equal ones have in common; none for what is not defined or no value.
    fn find(mut self) -> Vec<Option<String>> {
        let mut names: Vec<Option<String>> = vec![None; self.function.vregs.len()];
        loop {
            let mut table: HashMap<String, String> = HashMap::new();
            let before = names.clone();
            for block in self.reaching.tree().reverse_postorder().to_vec() {
                let rows: Vec<InstId> = self.function.insts_of(block).collect();
                for inst in rows {
                    self.visit(inst, &mut names, &mut table);
                }
            }
            if names == before {
                return names;
            }
        }
    }

    fn visit(&mut self, inst: InstId, names: &mut [Option<String>], table: &mut HashMap<String, String>) {
        let operands = self.function.operands_of(inst);
        let results: Vec<VRegId> = operands
            .iter()
            .filter(|operand| operand.is_definition())
            .filter_map(|operand| operand.vreg())
            .filter(|&vreg| self.numbers.of(vreg) != NO_NUMBER)
            .collect();
        let key = self.key(inst, names);
        for (at, &vreg) in results.iter().enumerate() {
            let own = format!("v{}", vreg.0);
            let name = match &key {
                Some(Key::Is(name)) => name.clone(),
                Some(Key::Computes(key)) => table.entry(format!("{key}#{at}")).or_insert(own).clone(),
                None => self.as_ours(vreg, names).unwrap_or(own),
            };
            names[vreg.index()] = Some(name);
        }
    }

    /// What ours says that a register is, of which the naive one knows nothing.
    fn as_ours(&self, vreg: VRegId, names: &[Option<String>]) -> Option<String> {
        let number = self.numbers.of(vreg);
        match self.numbers.source(number) {
            Some(Source::Register(other)) if other != vreg => names[other.index()].clone(),
            Some(Source::Register(_)) => None,
            Some(Source::Constant(constant)) => Some(format!("c{}:{}", constant.bits(), constant.width)),
            None => Some(format!("o{number}")),
        }
    }

    fn key(&mut self, inst: InstId, names: &[Option<String>]) -> Option<Key> {
        let head = self.function.heads[inst.index()];
        let operands = self.function.operands_of(inst).to_vec();
        let vregs = self.function.vregs;
        let width = |vreg: VRegId| vregs[vreg.index()].ty.element().bits();
        if head.is_phi() {
            let values = incoming(&operands)
                .map(|(_, value)| names[value.vreg().expect("a register").index()].clone());
            let values: Vec<Option<String>> = values.collect();
            let mut known: Vec<&String> = values.iter().flatten().collect();
            known.sort();
            known.dedup();
            return Some(match known[..] {
                [only] => Key::Is(only.clone()),
                _ => Key::Computes(format!("phi {:?} {} {values:?}", head.block, width(operands[0].vreg()?))),
            });
        }
        let &Meaning { class, source, commutes, mirrored, .. } = self.numbers.meanings.of(head.form);
        let form = self.forms.get(head.form);
        let is_computed = matches!(source, From::Operands | From::Move) && form.operation != Operation::Ld;
        if !is_computed || head.opcode.is_guarded() {
            return None;
        }
        let mut words = Vec::new();
        let mut widths = Vec::new();
        for (position, &operand) in operands.iter().enumerate() {
            if operand.is_definition() {
                widths.push(width(operand.vreg()?));
            } else {
                words.push(self.word(inst, position, operand, names)?);
            }
        }
        if source == From::Move && operands.len() == 2 && !words[0].contains('/') {
            let is_whole = operands[1].vreg().is_none_or(|vreg| width(vreg) == widths[0]);
            if is_whole {
                return Some(Key::Is(words[0].clone()));
            }
        }
        let first = operands.len() - words.len();
        if let Some(at) = mirrored {
            words.swap(usize::from(at) - first, usize::from(at) + 1 - first);
        } else if let Some(at) = commutes {
            words[usize::from(at) - first..usize::from(at) + 2 - first].sort();
        }
        Some(Key::Computes(format!("{class} {widths:?} {words:?}")))
    }

    fn word(
        &mut self,
        inst: InstId,
        position: usize,
        operand: Operand,
        names: &[Option<String>],
    ) -> Option<String> {
        let Some(vreg) = operand.vreg() else {
            let head = self.function.heads[inst.index()];
            let ty = self.forms.slots(head.form).get(position)?.ty;
            return match operand.kind() {
                OperandKind::Special(_) | OperandKind::Symbol(_) => Some(format!("/{operand:?}")),
                _ => {
                    let ty = ty?;
                    let bits = bits_in(operand, ty, &self.function.pools.literals)?;
                    Some(format!("c{}:{}", truncate(bits, ty.bits()), ty.bits()))
                }
            };
        };
        let name = if self.numbers.of(vreg) == NO_NUMBER {
            let place = Place { block: self.function.heads[inst.index()].block, before: inst };
            let function = self.function;
            let value = self.reaching.value(vreg, place, || function);
            format!("x{} {value:?}", vreg.0)
        } else {
            names[vreg.index()].clone()?
        };
        let is_plain = operand == Operand::register(vreg) || operand == Operand::predicate(vreg, false);
        Some(if is_plain { name } else { format!("{name}/{:?}", operand.with_vreg(VRegId(0))) })
    }
}

enum Key {
    /// Equal to what has this name.
    Is(String),
    /// Equal to what else has this key, result by result.
    Computes(String),
}

fn listen_to(listen: &'static Phase, kernel: &str) {
    let text = format!(".version 8.6\n.target sm_90\n.address_size 64\n{kernel}");
    run(text.as_bytes(), &[&split_at_control_flow::PHASE, &build_ssa::PHASE, listen]);
}

fn found_by(listen: &'static Phase, seeds: u64, finish: fn(Kernel) -> String) -> Found {
    FOUND.take();
    for seed in 0..seeds {
        listen_to(listen, &finish(Kernel::new(seed * 7919 + 3)));
    }
    let found = FOUND.take();
    let Found { values, ours, naive, .. } = &found;
    println!("{values} values, of which ours finds {ours} equal to one before, the naive algorithm {naive}");
    found
}

#[test]
fn what_is_equal_is_so_for_a_naive_algorithm() {
    let found = found_by(&LISTEN, 150, Kernel::finish);
    assert_eq!(found.wrong, [""; 0]);
    assert!(found.ours > 1000 && found.naive >= found.ours);
}

#[test]
fn what_is_equal_around_loops_is_so_for_a_naive_algorithm() {
    let [found, without] =
        [&LISTEN_AROUND_LOOPS, &LISTEN].map(|listen| found_by(listen, 150, Kernel::finish_short));
    assert_eq!(found.wrong, [""; 0]);
    assert!(found.ours > without.ours && found.naive >= found.ours);
}

/// Each sum is read once, so its reader waits until the second sum has the number of the first; and so on.
#[test]
fn what_waits_is_found_as_soon_as_something_is_equal() {
    let computed = |a: &str| {
        format!(
            "add.s32 %{a}1, %x, 1; mul.lo.s32 %{a}2, %{a}1, 3; xor.b32 %{a}3, 5, %{a}2; st.global.u32 [%p], %{a}3;"
        )
    };
    let text = format!(
        ".entry k(.param .u64 p) {{ .reg .b32 %x, %a<4>, %b<4>; .reg .b64 %p;\n\
         ld.param.u64 %p, [p]; ld.global.u32 %x, [%p]; {} {} ret; }}",
        computed("a"),
        computed("b")
    );
    FOUND.take();
    listen_to(&LISTEN, &text);
    let found = FOUND.take();
    assert_eq!(found.wrong, [""; 0]);
    assert_eq!((found.ours, found.naive), (3, 3));
}
