//! Facts and their epochs.
//!
//! A fact remembers the epochs of its function at which it was computed. The runner computes a stale one before the
//! phase that needs it and leaves a fresh one alone, so asking for a fact that holds costs a comparison.

use bevy_ecs::component::Component;
use ptxopt_components::code_object::{CodeFlags, CodeState};

/// Something that phases compute once and others use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Fact {
    /// Ranks, dominators, natural loops and their flags on blocks.
    ControlFlow,
    /// The loop nest as a table.
    Loops,
    /// The post-dominator tree.
    PostDominators,
    /// Live-in and live-out sets of blocks.
    Liveness,
    /// Which registers and branches are uniform in a warp.
    Uniformity,
    /// The operands that define and read each register.
    DefUse,
    /// Where each register is defined, and the dominator tree: what [`Reaching`](crate::values::reaching::Reaching) answers by.
    Definitions,
    /// Instruction ids are in program order: of two in a block the smaller one comes first, and blocks follow one another.
    ProgramOrder,
}

impl Fact {
    /// Every fact.
    pub const ALL: [Self; 8] = [
        Self::ControlFlow,
        Self::Loops,
        Self::PostDominators,
        Self::Liveness,
        Self::Uniformity,
        Self::DefUse,
        Self::Definitions,
        Self::ProgramOrder,
    ];

    /// Whether the fact says something about instructions, and not only about blocks and edges.
    const fn follows_instructions(self) -> bool {
        matches!(self, Self::Liveness | Self::Uniformity | Self::DefUse)
    }

    /// What a phase breaks that writes or deletes instructions.
    pub const OF_INSTRUCTIONS: &[Self] = &[Self::Liveness, Self::Uniformity, Self::Definitions];

    /// What a phase breaks that adds or moves instructions, too.
    pub const OF_INSTRUCTIONS_AND_ORDER: &[Self] =
        &[Self::Liveness, Self::Uniformity, Self::Definitions, Self::ProgramOrder];

    /// What a phase breaks that changes edges.
    pub const OF_EDGES: &[Self] = &[
        Self::ControlFlow,
        Self::Loops,
        Self::PostDominators,
        Self::Liveness,
        Self::Uniformity,
        Self::Definitions,
    ];

    /// What a phase breaks that changes edges, and adds or moves instructions.
    pub const OF_EDGES_AND_ORDER: &[Self] = &[
        Self::ControlFlow,
        Self::Loops,
        Self::PostDominators,
        Self::Liveness,
        Self::Uniformity,
        Self::Definitions,
        Self::ProgramOrder,
    ];

    /// Whether the fact says something about blocks and edges.
    const fn follows_blocks(self) -> bool {
        !matches!(self, Self::DefUse)
    }

    /// Whether the fact names instructions by their ids.
    const fn names_instructions(self) -> bool {
        matches!(self, Self::DefUse | Self::Definitions)
    }

    /// Whether the fact says something about definitions, and not about reads.
    const fn follows_definitions(self) -> bool {
        matches!(self, Self::Definitions)
    }

    /// Whether nothing that the fact follows has changed from one set of epochs to the other.
    const fn is_unchanged(self, before: Computed, after: Computed) -> bool {
        (!self.follows_blocks() || before.cfg_epoch == after.cfg_epoch)
            && (!self.follows_instructions() || before.inst_epoch == after.inst_epoch)
            && (!self.names_instructions() || before.row_epoch == after.row_epoch)
            && (!self.follows_definitions() || before.def_epoch == after.def_epoch)
    }

    /// Whether the fact, had it held for a function in state `before`, would hold for it in state `after` without being computed
    /// again.
    #[must_use]
    pub const fn outlasts(self, before: &CodeState, after: &CodeState) -> bool {
        if matches!(self, Self::ProgramOrder) {
            return before.flags.contains(CodeFlags::OUT_OF_ORDER)
                || !after.flags.contains(CodeFlags::OUT_OF_ORDER);
        }
        self.is_unchanged(Computed::of(before), Computed::of(after))
    }
}

/// What a phase remembers of a function: that it found nothing more to do. Nothing else builds on it, so it is no fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Memo {
    /// Nothing is dead: no instruction, no cycle, no block.
    NothingDead,
    /// No definition is overwritten in its block before a read, or read nowhere.
    NothingUnread,
    /// No use reads a copy or a constant that could be read directly, and no rule applies.
    NothingToPropagate,
    /// No branch can be decided, led past an empty block or deleted, and no block merged.
    NoBranchToOptimize,
    /// What stood in arms of branches stands in one block, and equal values have not been looked for since.
    ArmsAreJoined,
}

impl Memo {
    const COUNT: usize = 5;
}

/// Epochs at which a fact was computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Computed {
    inst_epoch: u32,
    cfg_epoch: u32,
    row_epoch: u32,
    def_epoch: u32,
}

impl Computed {
    const fn of(state: &CodeState) -> Self {
        let &CodeState { inst_epoch, cfg_epoch, row_epoch, def_epoch, .. } = state;
        Self { inst_epoch, cfg_epoch, row_epoch, def_epoch }
    }
}

/// The facts of a function.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeFacts {
    computed: [Computed; Fact::ALL.len()],
    remembered: [Computed; Memo::COUNT],
}

impl CodeFacts {
    /// Whether `fact` still holds for a function in `state`.
    #[must_use]
    pub fn holds(&self, fact: Fact, state: &CodeState) -> bool {
        if fact == Fact::ProgramOrder {
            return !state.flags.contains(CodeFlags::OUT_OF_ORDER);
        }
        let computed = self.computed[fact as usize];
        computed.inst_epoch != 0 && fact.is_unchanged(computed, Computed::of(state))
    }

    /// Whether nothing has changed in a function in `state` since `memo` was noted.
    #[must_use]
    pub fn remembers(&self, memo: Memo, state: &CodeState) -> bool {
        let noted = self.remembered[memo as usize];
        noted.inst_epoch != 0 && (noted.inst_epoch, noted.cfg_epoch) == (state.inst_epoch, state.cfg_epoch)
    }

    /// Notes `memo` for a function in `state`.
    pub fn remember(&mut self, memo: Memo, state: &CodeState) {
        self.remembered[memo as usize] = Computed::of(state);
    }

    /// Notes that `fact` was computed for a function in `state`.
    pub fn computed(&mut self, fact: Fact, state: &CodeState) {
        self.computed[fact as usize] = Computed::of(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memo_is_forgotten_when_anything_changes() {
        let mut state = CodeState { inst_epoch: 1, cfg_epoch: 1, ..CodeState::default() };
        let mut facts = CodeFacts::default();
        assert!(!facts.remembers(Memo::NothingDead, &state));
        facts.remember(Memo::NothingDead, &state);
        assert!(!facts.remembers(Memo::NothingToPropagate, &state), "each on its own");
        state.row_epoch += 1;
        assert!(facts.remembers(Memo::NothingDead, &state), "it names no instruction");
        for change in
            [|state: &mut CodeState| state.inst_epoch += 1, |state: &mut CodeState| state.cfg_epoch += 1]
        {
            let mut changed = state;
            change(&mut changed);
            assert!(!facts.remembers(Memo::NothingDead, &changed));
        }
    }

    #[test]
    fn a_fact_holds_until_its_epoch_passes() {
        let mut state = CodeState { inst_epoch: 1, cfg_epoch: 1, ..CodeState::default() };
        let mut facts = CodeFacts::default();
        assert!(!facts.holds(Fact::ControlFlow, &state));
        facts.computed(Fact::ControlFlow, &state);
        facts.computed(Fact::Liveness, &state);
        state.inst_epoch += 1;
        assert!(facts.holds(Fact::ControlFlow, &state), "deleting an instruction moves no edge");
        assert!(!facts.holds(Fact::Liveness, &state));
        state.cfg_epoch += 1;
        assert!(!facts.holds(Fact::ControlFlow, &state));
        facts.computed(Fact::DefUse, &state);
        facts.computed(Fact::Loops, &state);
        facts.computed(Fact::Definitions, &state);
        state.inst_epoch += 1;
        assert!(facts.holds(Fact::Definitions, &state), "what is read changed");
        for change in [
            |state: &mut CodeState| state.def_epoch += 1,
            |state: &mut CodeState| state.row_epoch += 1,
            |state: &mut CodeState| state.cfg_epoch += 1,
        ] {
            let mut changed = state;
            change(&mut changed);
            assert!(!facts.holds(Fact::Definitions, &changed));
        }
        facts.computed(Fact::DefUse, &state);
        state.row_epoch += 1;
        assert!(!facts.holds(Fact::DefUse, &state), "its instructions have other ids now");
        assert!(facts.holds(Fact::Loops, &state), "it names blocks only");
    }

    /// A change of a state, and the facts that do not outlast it.
    type Case = (fn(&mut CodeState), &'static [Fact]);

    #[test]
    fn a_fact_outlasts_what_it_does_not_follow() {
        let before =
            CodeState { inst_epoch: 1, cfg_epoch: 1, row_epoch: 1, def_epoch: 1, ..CodeState::default() };
        let changes: [Case; 5] = [
            (|_| (), &[]),
            (|state| state.inst_epoch += 1, &[Fact::Liveness, Fact::Uniformity, Fact::DefUse]),
            (
                |state| state.cfg_epoch += 1,
                &[
                    Fact::ControlFlow,
                    Fact::Loops,
                    Fact::PostDominators,
                    Fact::Liveness,
                    Fact::Uniformity,
                    Fact::Definitions,
                ],
            ),
            (|state| state.row_epoch += 1, &[Fact::DefUse, Fact::Definitions]),
            (|state| state.def_epoch += 1, &[Fact::Definitions]),
        ];
        for (change, broken) in changes {
            let mut after = before;
            change(&mut after);
            for fact in Fact::ALL {
                assert_eq!(fact.outlasts(&before, &after), !broken.contains(&fact), "{fact:?}, {after:?}");
            }
        }
        let out_of_order = CodeState { flags: CodeFlags::OUT_OF_ORDER, ..before };
        assert!(!Fact::ProgramOrder.outlasts(&before, &out_of_order));
        assert!(Fact::ProgramOrder.outlasts(&out_of_order, &out_of_order), "it did not hold");
        assert!(Fact::ProgramOrder.outlasts(&out_of_order, &before));
        assert!(Fact::Liveness.outlasts(&before, &out_of_order));
    }
}
