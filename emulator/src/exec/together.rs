//! What lanes of a warp compute together: shuffles, votes, matches, reductions.
//!
//! The `.sync` forms wait until every thread of the membermask that has not exited is at an instruction with the same
//! qualifiers and the same mask, perhaps another one than this.

use super::values::bits_of;
use super::{Exec, Next};
use crate::lanes::{Lanes, WARP_SIZE};
use crate::program::{Kind, ReduxMode, ShuffleMode, Together, VoteMode, WarpOp};
use crate::stop::Stop;
use crate::warp::{Group, Wait, lanes_of};

impl Exec<'_, '_> {
    /// A form without a membermask: the lanes that are active take part.
    pub(super) fn together_now(&mut self, op: &WarpOp, mask: u32) {
        let sources = self.gather(op, mask);
        let [result, predicate] = compute(op, &sources, mask, mask);
        self.scatter(op, mask, result, predicate);
    }

    /// A `.sync` form: goes on if everyone is here, else waits.
    pub(super) fn arrive_at_members(&mut self, op: &WarpOp, mask: u32) -> Result<Next, Stop> {
        let members = match op.members {
            Some(source) => self.value(source, mask),
            None => [u64::from(mask); WARP_SIZE],
        };
        let is_split = self.split_off_unguarded(mask);
        // Parts of a warp meet under masks of their own at one instruction.
        let own = members[mask.trailing_zeros() as usize] as u32;
        let same = lanes_of(mask).filter(|&lane| members[lane] as u32 == own);
        let same = same.fold(0, |same, lane| same | 1 << lane);
        if same != mask {
            self.warp.groups.push(Group { mask: mask & !same, ..self.group });
            self.group.mask = same;
        }
        let needed = own & self.warp.live | same;
        if needed == same {
            self.together_now(op, same);
            self.note_warp_barrier(op, same);
            self.group.pc += 1;
            return Ok(if is_split || same != mask { Next::Choose } else { Next::On });
        }
        self.group.wait = Wait::Members { qualifiers: op.qualifiers, members: own };
        Ok(Next::Choose)
    }

    /// Lets the groups that wait with these qualifiers and this mask go on, if no thread is missing.
    pub(super) fn wake_members(&mut self, qualifiers: u32, members: u32) {
        let wait = Wait::Members { qualifiers, members };
        let waiting: Vec<usize> =
            (0..self.warp.groups.len()).filter(|&at| self.warp.groups[at].wait == wait).collect();
        let here = waiting.iter().fold(0, |here, &at| here | self.warp.groups[at].mask);
        if members & self.warp.live & !here != 0 {
            return;
        }
        let program = self.program;
        let op_of = |group: &Group| match &program.ops[group.pc as usize].kind {
            Kind::Warp(op) => Some(&**op),
            _ => None,
        };
        let running = self.group;
        let mut sources = [[0; WARP_SIZE]; 3];
        for &at in &waiting {
            self.group = self.warp.groups[at];
            self.offset = program.ops[self.group.pc as usize].offset;
            let Some(op) = op_of(&self.group) else { continue };
            let own = self.gather(op, self.group.mask);
            for (all, own) in sources.iter_mut().zip(&own) {
                lanes_of(self.group.mask).for_each(|lane| all[lane] = own[lane]);
            }
        }
        for &at in &waiting {
            self.group = self.warp.groups[at];
            let Some(op) = op_of(&self.group) else { continue };
            let [result, predicate] = compute(op, &sources, here, members);
            self.scatter(op, self.group.mask, result, predicate);
            self.note_warp_barrier(op, here);
            self.group.wait = Wait::Ready;
            self.group.pc += 1;
            self.warp.groups[at] = self.group;
        }
        self.group = running;
    }

    /// What the lanes bring, predicates as they are meant.
    fn gather(&mut self, op: &WarpOp, mask: u32) -> [Lanes; 3] {
        let mut sources = [[0; WARP_SIZE]; 3];
        for (value, &source) in sources.iter_mut().zip(&op.sources) {
            *value = self.value(source, mask);
            if op.is_negated {
                value.iter_mut().for_each(|value| *value ^= 1);
            }
        }
        sources
    }

    fn scatter(&mut self, op: &WarpOp, mask: u32, result: Lanes, predicate: Lanes) {
        (self.results[0], self.results[1]) = (result, predicate);
        for (at, &target) in op.targets.iter().enumerate() {
            self.write(at, target, mask);
        }
    }

    /// `bar.warp.sync` orders memory; the others only exchange values.
    fn note_warp_barrier(&mut self, op: &WarpOp, mask: u32) {
        if op.together == Together::Barrier
            && let Some(races) = &mut self.cta.races
        {
            let threads: Vec<u32> = lanes_of(mask).map(|lane| self.warp.first_thread + lane as u32).collect();
            races.join(&threads);
        }
    }
}

/// Result and predicate of each lane; `here` are the lanes that take part, `members` the mask that they name.
fn compute(op: &WarpOp, sources: &[Lanes; 3], here: u32, members: u32) -> [Lanes; 2] {
    let same = |value: u64| [value; WARP_SIZE];
    match op.together {
        Together::Barrier => [same(0); 2],
        Together::Shuffle(mode) => shuffle(mode, sources, here),
        Together::Vote(mode) => [same(vote(mode, bits_of(&sources[0]), here)), same(0)],
        Together::Match { is_all, mask } => matches(is_all, mask, &sources[0], here),
        Together::Redux(mode) => {
            let values = lanes_of(here).map(|lane| sources[0][lane] as u32);
            [
                same(u64::from(values.reduce(|a, b| mode.join(a, b)).map_or(0, |all| mode.finish(all)))),
                same(0),
            ]
        }
        Together::Elect => {
            let leader = (members & here).trailing_zeros() as usize % WARP_SIZE;
            [same(leader as u64), std::array::from_fn(|lane| u64::from(lane == leader))]
        }
    }
}

/// PTX ISA 9.0, section 9.7.9.6. A lane that does not take part has no value to give: the reader keeps its own.
fn shuffle(mode: ShuffleMode, [a, b, c]: &[Lanes; 3], here: u32) -> [Lanes; 2] {
    let mut found = [[0; WARP_SIZE]; 2];
    for lane in 0..WARP_SIZE {
        let own = lane as i64;
        let distance = (b[lane] & 0x1F) as i64;
        let clamp = (c[lane] & 0x1F) as i64;
        let segment = (c[lane] >> 8 & 0x1F) as i64;
        let last = own & segment | clamp & !segment;
        let first = own & segment;
        let (from, is_inside) = match mode {
            ShuffleMode::Up => (own - distance, own - distance >= last),
            ShuffleMode::Down => (own + distance, own + distance <= last),
            ShuffleMode::Butterfly => (own ^ distance, own ^ distance <= last),
            ShuffleMode::Index => {
                let from = first | distance & !segment;
                (from, from <= last)
            }
        };
        let from = if is_inside { from as usize & 0x1F } else { lane };
        found[0][lane] = if here >> from & 1 != 0 { a[from] } else { a[lane] };
        found[1][lane] = u64::from(is_inside);
    }
    found
}

fn vote(mode: VoteMode, truths: u32, here: u32) -> u64 {
    let truths = truths & here;
    match mode {
        VoteMode::All => u64::from(truths == here),
        VoteMode::Any => u64::from(truths != 0),
        VoteMode::Uniform => u64::from(truths == here || truths == 0),
        VoteMode::Ballot => u64::from(truths),
    }
}

fn matches(is_all: bool, mask: u64, values: &Lanes, here: u32) -> [Lanes; 2] {
    let equals = |lane: usize| {
        let same = lanes_of(here).filter(|&other| values[other] & mask == values[lane] & mask);
        same.fold(0u64, |same, other| same | 1 << other)
    };
    let all = u64::from(here);
    let of_lane = |lane: usize| match equals(lane) {
        same if !is_all => same,
        same if same == all => all,
        _ => 0,
    };
    let found: Lanes = std::array::from_fn(of_lane);
    [found, found.map(|found| u64::from(found == all))]
}

impl ReduxMode {
    fn join(self, a: u32, b: u32) -> u32 {
        match self {
            Self::Add => a.wrapping_add(b),
            Self::MinSigned => (a as i32).min(b as i32) as u32,
            Self::MaxSigned => (a as i32).max(b as i32) as u32,
            Self::MinUnsigned => a.min(b),
            Self::MaxUnsigned => a.max(b),
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
            Self::Float { is_max, is_abs, keeps_nan } => {
                let magnitude = |bits: u32| if is_abs { bits & 0x7FFF_FFFF } else { bits };
                let (a, b) = (magnitude(a), magnitude(b));
                let is_nan = |bits: u32| f32::from_bits(bits).is_nan();
                match (is_nan(a), is_nan(b)) {
                    (true, _) | (_, true) if keeps_nan => 0x7FFF_FFFF,
                    (true, true) => 0x7FFF_FFFF,
                    (true, false) => b,
                    (false, true) => a,
                    // Of reals that are no NaN, the order of bits is that of magnitudes: -0 lies below +0.
                    (false, false) => {
                        let rank = |bits: u32| if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
                        if (rank(a) > rank(b)) == is_max { a } else { b }
                    }
                }
            }
        }
    }

    /// What comes out, given what all lanes give: a single lane may hold any value.
    fn finish(self, all: u32) -> u32 {
        match self {
            Self::Float { is_abs, .. } => {
                let bits = if is_abs { all & 0x7FFF_FFFF } else { all };
                if f32::from_bits(bits).is_nan() { 0x7FFF_FFFF } else { bits }
            }
            _ => all,
        }
    }
}
