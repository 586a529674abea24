//! The full verifier against the analysis, on random functions.

use super::*;
use crate::check::testing::{Built, Random, analyzed, labelled, module, verdicts};
use ptxopt_components::operand::Operand;
use ptxopt_engine::dataflow::uniformity::count;
use ptxopt_engine::edit::PlainEditor;
use std::fmt::Write;

/// A kernel with `body`. A module of two functions is taken as it is read, with a block's end at each branch.
fn two_functions(body: &str) -> Built {
    let head = ".version 8.6\n.target sm_90\n.address_size 64\n.global .u32 g;";
    let mut built = module(format!("{head}\n.entry k() {{ {body} }}\n.entry other() {{ ret; }}"));
    built.analyze();
    built
}

/// A kernel of up to 11 blocks. %p0 and %p1 start uniform, %p2 and %p3 divergent.
fn random_kernel(seed: u64) -> Built {
    let mut random = Random(seed << 32);
    let mut body = ".reg .b32 %r<8>; .reg .pred %p<4>; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, 2; \
                    mov.u32 %r3, 3; mov.u32 %r4, 4; mov.u32 %r5, 5; mov.u32 %r6, 6; mov.u32 %r7, 7; \
                    setp.lt.u32 %p0, %r1, 7; setp.lt.u32 %p1, %r1, 9; setp.lt.u32 %p2, %r0, 7; setp.lt.u32 %p3, %r0, 9;"
        .to_owned();
    let count = 2 + random.below(10);
    for block in 0..count {
        write!(body, " B{block}:").unwrap();
        for _ in 0..random.below(4) {
            let [a, b] = [2 + random.below(6), 1 + random.below(7)];
            let guard = if random.below(6) == 0 { format!("@%p{} ", random.below(4)) } else { String::new() };
            let p = random.below(4);
            match random.below(14) {
                0..5 => write!(body, " {guard}mov.u32 %r{a}, {block};"),
                5..7 => write!(body, " {guard}add.u32 %r{a}, %r{a}, %r{b};"),
                7..9 => write!(body, " {guard}st.global.u32 [g], %r{b};"),
                9 => write!(body, " {guard}ld.global.u32 %r{a}, [g];"),
                10 => write!(body, " setp.lt.u32 %p{p}, %r{b}, 5;"),
                11 => write!(body, " {guard}vote.sync.ballot.b32 %r{a}, %p{p}, -1;"),
                12 => write!(body, " bar.sync 0;"),
                _ => write!(body, " {guard}activemask.b32 %r{a};"),
            }
            .unwrap();
        }
        let near = (block + random.below(6)).saturating_sub(2).min(count - 1);
        let target = if random.below(4) == 0 { random.below(count) } else { near };
        match random.below(10) {
            0..6 => write!(body, " @%p{} bra B{target};", random.below(4)),
            6 => write!(body, " bra B{};", (block + 1 + random.below(3)).min(count - 1)),
            7 => write!(body, " @%p{} exit;", random.below(4)),
            8 => {
                // Often two edges of one branch lead to one block.
                let (other, index) = ((block + 1).min(count - 1), random.below(8));
                let targets = format!("B{target}, B{other}, B{other}");
                write!(body, " T{block}: .branchtargets {targets}; brx.idx %r{index}, T{block};")
            }
            _ => Ok(()),
        }
        .unwrap();
    }
    two_functions(&format!("{body} ret;"))
}

/// The registers and branches that are found divergent.
fn again(built: &Built, nest: &LoopNest, set: &LiveSet) -> (Vec<bool>, Vec<bool>) {
    let (mut natures, mut private) = (Natures::default(), Private::default());
    natures.bring_up_to_date(&built.forms);
    let function = built.function();
    private.compute(&function, &natures);
    let mut again = Again::new(&function, &built.forms, &natures, nest, set, private);
    while again.round() {}
    (again.divergent, again.splits)
}

/// Two ways to work out the same. What is found nowhere but by the analysis is what it is more cautious about: as much as
/// one of the two has lost since, if it is more than it was.
#[test]
fn both_find_the_same_on_random_functions() {
    const CAUTIOUS_MAX: usize = 86;
    let [mut seen, mut found, mut cautious] = [0; 3];
    for seed in 0..1_500 {
        let built = random_kernel(seed);
        let (nest, set, verdicts) = verdicts(&built);
        if nest.irreducible_regions().next().is_some() {
            continue;
        }
        seen += 1;
        let (divergent, splits) = again(&built, &nest, &set);
        let function = built.function();
        let text = String::from_utf8_lossy(&built.text);
        for vreg in function.vreg_ids().filter(|&vreg| verdicts.is_uniform(vreg)) {
            assert!(!divergent[vreg.index()], "{vreg:?} in\n{text}");
        }
        for inst in (0..splits.len()).map(InstId::new).filter(|inst| splits[inst.index()]) {
            assert!(!verdicts.branch_is_uniform(&function, inst), "{inst:?} in\n{text}");
        }
        let is_found = |vreg: &VRegId| !verdicts.is_uniform(*vreg);
        found += function.vreg_ids().filter(is_found).count();
        cautious += function.vreg_ids().filter(is_found).filter(|vreg| !divergent[vreg.index()]).count();
    }
    assert!(seen > 1_000 && found > 5_000, "{seen} functions, {found} registers");
    assert!(cautious <= CAUTIOUS_MAX, "{cautious} of {found} registers");
}

/// Threads come to the second loop in different rounds of the first, and count there from the same number on.
#[test]
fn what_a_loop_counts_is_alike_whenever_the_loop_before_it_was_left() {
    let built = two_functions(
        ".reg .b32 %r<4>; .reg .pred %p<3>; mov.u32 %r1, %tid.x; mov.u32 %r2, 0; \
         A: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 40; @%p1 bra A; \
         B: add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 40; @%p2 bra B; st.global.u32 [g], %r2; ret;",
    );
    let (nest, set, verdicts) = verdicts(&built);
    let (divergent, _) = again(&built, &nest, &set);
    let r2 = built.vreg("%r", 2);
    assert!(verdicts.is_uniform(r2) && !divergent[r2.index()] && divergent[built.vreg("%r", 1).index()]);
}

#[test]
fn nodes_that_do_not_fit_a_word_are_left_alone() {
    let loops: String =
        (0..NODES_MAX - 28).map(|number| format!("L{number}: @%p1 bra L{number}; ")).collect();
    let built = analyzed(&format!(".reg .pred %p<2>; {loops} ret;"));
    let (nest, set, verdicts) = verdicts(&built);
    assert!(nest.rows().len() == 100 && built.function().blocks.len() < NODES_MAX);
    let mut natures = Natures::default();
    natures.bring_up_to_date(&built.forms);
    assert_eq!(verify(&built.function(), &built.forms, &natures, &nest, &set, &verdicts), Ok(()));
}

#[test]
fn what_a_phi_chooses_in_a_function_with_a_cycle_of_two_entries_is_divergent() {
    // C and D are the cycle. M takes 1 from one side and 2 from the other.
    let mut built = labelled(
        ".reg .b32 %r<9>; .reg .pred %p<4>; mov.u32 %r1, %tid.x; setp.eq.s32 %p1, %r1, 0; @%p1 bra B; \
         A: bra M; B: bra M; M: st.global.u32 [g], %r2; ld.param.u32 %r3, [p]; setp.eq.s32 %p2, %r3, 0; \
         @%p2 bra D; C: st.global.u32 [g], %r3; D: @%p2 bra C; E: ret;",
    );
    let chosen = built.vreg("%r", 2);
    built.tables.make_room(100);
    let mut editor = PlainEditor::default();
    let Built { tables, forms, .. } = &mut built;
    let mut f = editor.edit(tables, forms, Id::new(0));
    let mut change = f.required_change();
    change.set_ssa(true);
    change.phi(BlockId(3), chosen, &[(BlockId(1), Operand::int(1)), (BlockId(2), Operand::int(2))]);
    drop(f);
    built.analyze();
    let (_, set, verdicts) = verdicts(&built);
    assert!(set.bit_of(chosen).is_none(), "it lives in its block only");
    assert!(!verdicts.is_uniform(chosen));
    assert!(count(&built.function(), &built.forms, &verdicts).is_tangled);
}
