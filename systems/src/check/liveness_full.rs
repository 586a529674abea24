//! Liveness, recomputed: a register is live where a search backward from its reads comes.
//!
//! Full, where [`Fact::Liveness`] holds. One search a register, over the blocks where it
//! lives: in all as much as the sets have members.
//!
//! From each reachable block that reads the register before defining it, the search goes to the predecessors: the
//! register is live out of each, and live into those that do not define it for certain. The sets hold exactly what it
//! finds, and nothing for unreachable blocks. Unlike the equation, which too large sets solve as well (a register that
//! is live all around a loop and read nowhere), this finds the smallest.

use super::liveness::{Transfer, reads_at_ends};
use super::{Verdict, each_function, wrong_in};
use bevy_ecs::prelude::*;
use ptxopt_components::ids::{BlockId, Id, VRegId};
use ptxopt_engine::dataflow::liveness::{LiveSet, LiveSets};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::log::Violations;
use ptxopt_engine::run::phase::{Check, Verify};
use ptxopt_engine::store::columns::{Code, CodeObjects};
use ptxopt_engine::store::view::FunctionView;
use std::collections::BTreeSet;

/// The verifier of live sets that computes them again.
pub const CHECK: Check = Check {
    name: "liveness_full",
    from: Verify::Full,
    install: |slot| {
        slot.init_resource::<LiveSets>();
        slot.add(run);
    },
};

/// Verifies every function of the batch for which the fact holds.
pub fn run(
    code: Code,
    codes: CodeObjects,
    forms: Res<FormTable>,
    sets: Res<LiveSets>,
    mut violations: ResMut<Violations>,
) {
    let (_, facts, ..) = codes.columns();
    each_function(&code, CHECK.name, &mut violations, |function| {
        if !facts[function.code.index()].holds(Fact::Liveness, &function.state) {
            return Ok(());
        }
        match sets.get(function.code) {
            Some(set) => verify(function, &forms, set),
            None => Err("it has no live sets".to_owned()),
        }
    });
}

/// Where a register is read before it is defined, and where it is defined for certain.
#[derive(Clone, Default)]
struct Places {
    gens: BTreeSet<BlockId>,
    kills: BTreeSet<BlockId>,
    /// Blocks at whose ends phis read it.
    ends: BTreeSet<BlockId>,
}

/// What the blocks of a function do to its registers.
struct Blocks {
    /// By register.
    places: Vec<Places>,
    /// By block.
    is_reachable: Vec<bool>,
}

/// Where a register lives; the memory for all of them.
struct Life {
    live_in: Found,
    live_out: Found,
    waiting: Vec<BlockId>,
}

/// A set of blocks that is emptied in one step.
struct Found {
    blocks: Vec<BlockId>,
    /// By block: the number of the emptying after which it came in last.
    since: Vec<u32>,
    emptied: u32,
}

impl Found {
    fn none_of(block_count: usize) -> Self {
        Self { blocks: Vec::new(), since: vec![0; block_count], emptied: 1 }
    }

    fn clear(&mut self) {
        self.blocks.clear();
        self.emptied += 1;
    }

    fn contains(&self, block: BlockId) -> bool {
        self.since[block.index()] == self.emptied
    }

    /// Puts a block in; says whether it was not in it.
    fn insert(&mut self, block: BlockId) -> bool {
        let is_new = !self.contains(block);
        if is_new {
            self.since[block.index()] = self.emptied;
            self.blocks.push(block);
        }
        is_new
    }
}

impl Life {
    fn nowhere(block_count: usize) -> Self {
        let none = || Found::none_of(block_count);
        Self { live_in: none(), live_out: none(), waiting: Vec::new() }
    }
}

/// Verifies the sets of one function.
pub fn verify(function: &FunctionView<'_>, forms: &FormTable, set: &LiveSet) -> Verdict {
    let blocks = collect(function, forms);
    let mut life = Life::nowhere(function.blocks.len());
    let (mut in_count, mut out_count) = (0, 0);
    for vreg in function.vreg_ids() {
        search(function, &blocks, vreg, &mut life);
        let Life { live_in: Found { blocks: live_in, .. }, live_out: Found { blocks: live_out, .. }, .. } =
            &life;
        in_count += live_in.len();
        out_count += live_out.len();
        if let Some(&block) = live_in.iter().filter(|&&block| !set.is_live_in(block, vreg)).min() {
            return wrong_in(block, format_args!("{vreg:?} is live in, and the sets do not say so"));
        }
        if let Some(&block) = live_out.iter().filter(|&&block| !set.is_live_out(block, vreg)).min() {
            return wrong_in(block, format_args!("{vreg:?} is live out, and the sets do not say so"));
        }
    }
    // All that was found is in the sets, so the counts differ exactly when the sets hold more.
    let has_in = function.block_ids().map(|block| set.live_in_bits(block).count()).sum::<usize>();
    let has_out = function.block_ids().map(|block| set.live_out_bits(block).count()).sum::<usize>();
    if (has_in, has_out) == (in_count, out_count) {
        return Ok(());
    }
    verify_no_surplus(function, &blocks, set)
}

/// Works out what each reachable block does to each register.
fn collect(function: &FunctionView<'_>, forms: &FormTable) -> Blocks {
    let mut places = vec![Places::default(); function.vregs.len()];
    let (mut is_reachable, mut waiting) = (vec![false; function.blocks.len()], vec![BlockId(0)]);
    let mut transfer = Transfer::default();
    transfer.start(function);
    while let Some(block) = waiting.pop() {
        if std::mem::replace(&mut is_reachable[block.index()], true) {
            continue;
        }
        waiting.extend(function.succs(block));
        transfer.compute(function, forms, block);
        for vreg in transfer.gens() {
            places[vreg.index()].gens.insert(block);
        }
        for vreg in transfer.kills() {
            places[vreg.index()].kills.insert(block);
        }
    }
    for (block, vreg) in reads_at_ends(function).filter(|(block, _)| is_reachable[block.index()]) {
        places[vreg.index()].ends.insert(block);
    }
    Blocks { places, is_reachable }
}

/// Searches backward from the reads of `vreg`.
fn search(function: &FunctionView<'_>, blocks: &Blocks, vreg: VRegId, life: &mut Life) {
    let Places { gens, kills, ends } = &blocks.places[vreg.index()];
    let Life { live_in, live_out, waiting } = life;
    live_in.clear();
    live_out.clear();
    for &block in ends {
        live_out.insert(block);
    }
    waiting.extend(gens.iter().chain(ends.difference(kills)));
    while let Some(block) = waiting.pop() {
        if !live_in.insert(block) {
            continue;
        }
        for &pred in function.preds(block).iter().filter(|pred| blocks.is_reachable[pred.index()]) {
            if live_out.insert(pred) && !kills.contains(&pred) {
                waiting.push(pred);
            }
        }
    }
}

/// Finds the member of the sets that no search found.
fn verify_no_surplus(function: &FunctionView<'_>, blocks: &Blocks, set: &LiveSet) -> Verdict {
    let mut life = Life::nowhere(function.blocks.len());
    for vreg in function.vreg_ids() {
        search(function, blocks, vreg, &mut life);
        for block in function.block_ids() {
            if set.is_live_in(block, vreg) && !life.live_in.contains(block) {
                return wrong_in(block, format_args!("{vreg:?} is not live in, and the sets hold it"));
            }
            if set.is_live_out(block, vreg) && !life.live_out.contains(block) {
                return wrong_in(block, format_args!("{vreg:?} is not live out, and the sets hold it"));
            }
        }
    }
    Err("the sets hold bits that belong to no block or register".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::liveness::Scratch;
    use crate::check::testing::{Built, analyzed, solved};

    /// 0 -> 1 -> {1, 2}; 3 is unreachable. %r1 lives around the loop, %r2 over it.
    fn built() -> Built {
        analyzed(
            ".reg .b32 %r<9>; .reg .pred %p<2>; mov.b32 %r1, 1; mov.b32 %r2, 1; L: add.s32 %r1, %r1, 1; \
             setp.eq.s32 %p1, %r1, 9; @%p1 bra L; M: st.global.b32 [g], %r2; ret; N: st.global.b32 [g], %r1; bra N; \
             bra M;",
        )
    }

    #[track_caller]
    fn reports(message: &str, damage: impl FnOnce(&mut LiveSet, VRegId)) {
        let built = built();
        let mut set = solved(&built);
        damage(&mut set, built.vreg("%r", 2));
        let found = verify(&built.function(), &built.forms, &set).expect_err("nothing was found");
        assert!(found.contains(message), "{found}");
    }

    #[test]
    fn the_unbroken_sets_pass() {
        let built = built();
        assert_eq!(verify(&built.function(), &built.forms, &solved(&built)), Ok(()));
    }

    #[test]
    fn what_a_search_finds_is_in_the_sets() {
        reports("bix1: v1 is live in, and the sets do not say so", |set, vreg| {
            set.damage(true, BlockId(1), vreg, false)
        });
        reports("bix1: v1 is live out, and the sets do not say so", |set, vreg| {
            set.damage(false, BlockId(1), vreg, false)
        });
    }

    #[test]
    fn what_the_sets_hold_is_what_a_search_finds() {
        reports("bix0: v1 is not live in, and the sets hold it", |set, vreg| {
            set.damage(true, BlockId(0), vreg, true)
        });
        reports("bix2: v1 is not live out, and the sets hold it", |set, vreg| {
            set.damage(false, BlockId(2), vreg, true)
        });
        reports("bix3: v1 is not live in, and the sets hold it", |set, vreg| {
            set.damage(true, BlockId(3), vreg, true)
        });
    }

    #[test]
    fn a_larger_solution_of_the_equation_is_seen() {
        let built = analyzed(
            ".reg .b32 %r<9>; .reg .pred %p<2>; mov.b32 %r1, 1; st.global.b32 [g], %r1; bra B; B: @%p1 bra B; \
             A: st.global.b32 [g], %r1; bra A;",
        );
        let mut set = solved(&built);
        assert_eq!(verify(&built.function(), &built.forms, &set), Ok(()));
        // %p1 is read in the loop; %r1 after it. Now let the endless loop A hold %p1 too.
        set.damage(true, BlockId(2), built.vreg("%p", 1), true);
        set.damage(false, BlockId(2), built.vreg("%p", 1), true);
        let equation =
            crate::check::liveness::verify(&built.function(), &built.forms, &set, &mut Scratch::default());
        assert_eq!(equation, Ok(()));
        let found = verify(&built.function(), &built.forms, &set).unwrap_err();
        assert!(
            found.starts_with("bix2: ") && found.ends_with("is not live in, and the sets hold it"),
            "{found}"
        );
    }
}
