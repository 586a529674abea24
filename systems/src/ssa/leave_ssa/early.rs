//! Copies that move up in their block, so that what is computed there is computed where it goes.
//!
//! ```text
//!    s = d + 1;                     e = d;
//!    ...;                           d = d + 1;
//!    e = d;  d = s;         ->      ...;
//!    @p bra L;                      @p bra L;
//! ```
//! `d` and `s` live at the same time, since the copy to `e` reads `d` at the end: that is what a loop does which keeps the value
//! of the round before. Before `s` is computed that copy is as right, where nothing from there on names `e`, or `d` after `s`.
//! Copies that read `e` go with it, and so on.

use super::Parallel;
use super::copies::Copy;
use super::webs::{Mention, Webs};
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_engine::store::view::FunctionView;

/// Copies that move up for one value. A loop that keeps the values of three rounds moves two.
const MOVED_MAX: usize = 16;

/// Operands that are looked at for where those of one instruction start and end.
const OPERANDS_MAX: usize = 64;

/// Finds such copies.
#[derive(Default)]
pub struct Early {
    /// By register that stands for nodes.
    names: Vec<Name>,
    /// By node.
    reads: Vec<Reads>,
    /// By copy: one more than the number of another one of its place that reads the same.
    next_reader: Vec<u32>,
    /// By copy: whether it is no more made where it was.
    pub is_gone: Vec<bool>,
    /// Copies that are made before an instruction.
    pub moved: Vec<(Copy, InstId)>,
    /// Results that have another name: instruction, position and operand.
    pub renamed: Vec<(InstId, usize, Operand)>,
    needed: Vec<usize>,
    /// Times that [`MOVED_MAX`] or [`OPERANDS_MAX`] kept a copy where it was in this function.
    pub limits_hit: u64,
}

/// What is known of a name.
#[derive(Clone, Copy, Default)]
struct Name {
    /// The place that what follows is about; places count from 1.
    place: u32,
    /// One more than the number of the last mention in the block.
    last_named: u32,
    /// One more than that of the last one that defines it.
    last_defined: u32,
    /// One more than the number of a copy that reads it.
    reader: u32,
}

/// What reads a node.
#[derive(Clone, Copy, Default, PartialEq)]
enum Reads {
    #[default]
    Nothing,
    /// Copies at the end of this block to this register.
    Copies(BlockId, VRegId),
    Others,
}

/// The operands of the instruction that computes what a copy reads.
struct Computed<'m> {
    definition: &'m Mention,
    /// The numbers of its first mention, and of the first one after it.
    first: usize,
    end: usize,
}

impl Computed<'_> {
    fn operand(&self, function: &FunctionView<'_>) -> Operand {
        function.operands_of(self.definition.inst)[self.definition.position as usize]
    }
}

impl Early {
    /// Finds the copies among those at the ends of blocks. `named` has the register that each node becomes; there are `count`
    /// registers, and `is_alike` says whether two have one type.
    pub fn find(
        &mut self,
        function: &FunctionView<'_>,
        webs: &Webs,
        (parallel, copies): (&[Parallel], &[Copy]),
        (named, count): (&[VRegId], usize),
        is_alike: impl Fn(VRegId, VRegId) -> bool,
    ) {
        self.is_gone.clear();
        self.is_gone.resize(copies.len(), false);
        self.moved.clear();
        self.renamed.clear();
        self.limits_hit = 0;
        let has_several = |parallel: &Parallel| parallel.is_at_end && parallel.end - parallel.first > 1;
        if !parallel.iter().any(has_several) {
            return;
        }
        self.names.clear();
        self.names.resize(count, Name::default());
        self.find_reads(webs, named);
        for (place, parallel) in parallel.iter().enumerate().filter(|(_, parallel)| has_several(parallel)) {
            let mentions = webs.mentions_in(parallel.block);
            let range = parallel.first..parallel.end;
            self.look_at(place as u32 + 1, mentions, named, (copies, range.clone()));
            for at in range {
                // It may have moved up for another one.
                if self.is_gone[at] {
                    continue;
                }
                let Copy { to, from, .. } = copies[at];
                let Some(from) = from.vreg().filter(|&from| is_alike(from, to)) else { continue };
                let Some(computed) = self.computed(from, place as u32 + 1, mentions) else { continue };
                if self.reads[computed.definition.node.index()] != Reads::Copies(parallel.block, to) {
                    continue;
                }
                let inst = computed.definition.inst;
                let is_last = function.control_of(parallel.block) == Some(inst);
                let is_whole = function.guard_of(inst).is_none() && !computed.operand(function).is_partial();
                if !is_last && is_whole && self.may_compute(to, &computed, copies) {
                    self.take(function, &computed, (at, copies));
                }
            }
        }
    }

    /// Finds what reads each node.
    fn find_reads(&mut self, webs: &Webs, named: &[VRegId]) {
        let Self { reads, .. } = self;
        reads.clear();
        reads.resize(named.len(), Reads::Nothing);
        for mention in webs.mentions.iter().filter(|mention| !mention.is_definition) {
            reads[mention.node.index()] = Reads::Others;
        }
        for pair in &webs.pairs {
            let Some(node) = pair.node else { continue };
            let copy = Reads::Copies(pair.pred, named[webs.phis[pair.phi].node.index()]);
            let reads = &mut reads[node.index()];
            *reads = if *reads == Reads::Nothing || *reads == copy { copy } else { Reads::Others };
        }
    }

    /// Notes where a block names what, and which of its copies read what.
    fn look_at(
        &mut self,
        place: u32,
        mentions: &[Mention],
        named: &[VRegId],
        (copies, range): (&[Copy], std::ops::Range<usize>),
    ) {
        let Self { names, next_reader, .. } = self;
        let fresh = |name: Name| {
            if name.place == place { name } else { Name { place, ..Name::default() } }
        };
        for (number, mention) in mentions.iter().enumerate() {
            let name = &mut names[named[mention.node.index()].index()];
            *name = fresh(*name);
            name.last_named = number as u32 + 1;
            if mention.is_definition {
                name.last_defined = number as u32 + 1;
            }
        }
        next_reader.resize(copies.len(), 0);
        for at in range {
            names[copies[at].to.index()] = fresh(names[copies[at].to.index()]);
            if let Some(from) = copies[at].from.vreg() {
                let name = &mut names[from.index()];
                *name = fresh(*name);
                next_reader[at] = std::mem::replace(&mut name.reader, at as u32 + 1);
            }
        }
    }

    /// Where the block computes what a name holds at its end.
    fn computed<'m>(&mut self, name: VRegId, place: u32, mentions: &'m [Mention]) -> Option<Computed<'m>> {
        let name = self.names[name.index()];
        let at = name.last_defined.checked_sub(1).filter(|_| name.place == place)? as usize;
        let definition = &mentions[at];
        let is_of_others = |mention: &Mention| mention.inst != definition.inst;
        let least = at.saturating_sub(OPERANDS_MAX);
        let before = mentions[least..at].iter().rposition(is_of_others);
        let first = before.map_or(least, |before| least + before + 1);
        let most = mentions.len().min(at + OPERANDS_MAX);
        let after = mentions[at..most].iter().position(is_of_others);
        let end = after.map_or(most, |after| at + after);
        let is_seen = (before.is_some() || least == 0) && (after.is_some() || most == mentions.len());
        self.limits_hit += u64::from(!is_seen);
        is_seen.then_some(Computed { definition, first, end })
    }

    /// Whether an instruction can compute `to`, and which copies move before it then.
    fn may_compute(&mut self, to: VRegId, computed: &Computed<'_>, copies: &[Copy]) -> bool {
        let Self { names, next_reader, is_gone, needed, limits_hit, .. } = self;
        let &Computed { first, end, .. } = computed;
        let name = names[to.index()];
        if name.last_named as usize > end || name.last_defined as usize > first {
            return false;
        }
        needed.clear();
        let mut seen = 0;
        let mut written = to;
        loop {
            let mut reader = names[written.index()].reader;
            while let Some(at) = reader.checked_sub(1).map(|at| at as usize) {
                let is_free = names[copies[at].to.index()].last_named as usize <= first;
                // A copy that is gone reads another register by now: what computed its source computes its destination.
                if !is_free || is_gone[at] {
                    return false;
                }
                if needed.len() == MOVED_MAX {
                    *limits_hit += 1;
                    return false;
                }
                needed.push(at);
                reader = next_reader[at];
            }
            let Some(&at) = needed.get(seen) else { return true };
            written = copies[at].to;
            seen += 1;
        }
    }

    /// Has an instruction compute what copy number `at` writes.
    fn take(&mut self, function: &FunctionView<'_>, computed: &Computed<'_>, (at, copies): (usize, &[Copy])) {
        let &Mention { inst, position, .. } = computed.definition;
        let operand = computed.operand(function).with_vreg(copies[at].to);
        self.renamed.push((inst, position as usize, operand));
        self.is_gone[at] = true;
        // What reads a register comes before what writes it, as in the sequence that they were in.
        self.needed.sort_unstable();
        for &at in &self.needed {
            self.is_gone[at] = true;
            self.moved.push((copies[at], inst));
        }
    }
}
