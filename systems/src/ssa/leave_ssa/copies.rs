//! Copies that are made at once, one after the other.
//!
//! ```text
//! (r1, r2, r3) = (r2, r1, r1)        mov r3, r1;  mov t, r1;  mov r1, r2;  mov r2, t;
//! ```
//! A copy is made as soon as nothing reads its destination any more. What is left then are cycles: one register of each goes
//! to a new register first.
//!
//! Paper: Boissinot and others 2009, section V.

use ahash::AHashMap;
use ptxopt_components::ids::VRegId;
use ptxopt_components::operand::Operand;
use ptxopt_components::types::PtxType;

/// A copy of a register or a literal to a register.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Copy {
    pub to: VRegId,
    pub from: Operand,
    pub ty: PtxType,
}

/// Puts copies in sequence.
#[derive(Default)]
pub struct Sequence {
    /// By register: the copies that read it and are not made yet.
    readers: AHashMap<VRegId, Readers>,
    /// By register: the copy that writes it.
    writer: AHashMap<VRegId, usize>,
    ready: Vec<usize>,
    is_made: Vec<bool>,
    made: Vec<Copy>,
}

/// Some copies: how many, and their numbers, of which only the last one can be told.
#[derive(Clone, Copy, Default)]
struct Readers {
    count: u32,
    numbers: usize,
}

impl Readers {
    fn add(&mut self, number: usize) {
        self.count += 1;
        self.numbers ^= number;
    }

    fn remove(&mut self, number: usize) {
        self.count -= 1;
        self.numbers ^= number;
    }
}

impl Sequence {
    /// Puts the copies from number `first` on, whose destinations are distinct and not their sources, in an order in which
    /// each reads what was there before all of them. `new` makes a register.
    pub fn order(&mut self, copies: &mut Vec<Copy>, first: usize, mut new: impl FnMut(PtxType) -> VRegId) {
        let Self { readers, writer, ready, is_made, made } = self;
        if copies.len() - first < 2 {
            return;
        }
        readers.clear();
        writer.clear();
        made.clear();
        is_made.clear();
        is_made.resize(copies.len() - first, false);
        for (number, copy) in copies[first..].iter().enumerate() {
            writer.insert(copy.to, number);
            if let Some(from) = copy.from.vreg() {
                readers.entry(from).or_default().add(number);
            }
        }
        let is_free =
            |all: &AHashMap<VRegId, Readers>, vreg| all.get(&vreg).is_none_or(|readers| readers.count == 0);
        let count = copies.len() - first;
        ready.clear();
        ready.extend((0..count).rev().filter(|&number| is_free(readers, copies[first + number].to)));
        for start in 0..count {
            loop {
                while let Some(number) = ready.pop() {
                    let copy = copies[first + number];
                    made.push(copy);
                    is_made[number] = true;
                    let Some(from) = copy.from.vreg() else { continue };
                    readers.get_mut(&from).expect("the copy reads it").remove(number);
                    if let Some(&next) = writer.get(&from).filter(|_| is_free(readers, from)) {
                        ready.push(next);
                    }
                }
                if is_made[start] {
                    break;
                }
                // Everything that is left lies on cycles, each register of which one copy reads.
                let Copy { to, ty, .. } = copies[first + start];
                let saved = new(ty);
                let reader = readers.insert(to, Readers::default()).expect("it is on a cycle").numbers;
                made.push(Copy { to: saved, from: super::operand_of(ty, to), ty });
                copies[first + reader].from = super::operand_of(ty, saved);
                readers.entry(saved).or_default().add(reader);
                ready.push(start);
            }
        }
        copies.truncate(first);
        copies.append(made);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptxopt_components::ids::Id;

    /// Every way to give each of four registers what one of them held, or a literal, at once.
    #[test]
    fn copies_in_sequence_do_what_they_do_at_once() {
        const COUNT: usize = 4;
        let mut sequence = Sequence::default();
        let mut most = 0;
        for way in 0..6_usize.pow(COUNT as u32) {
            let chosen: [usize; COUNT] = std::array::from_fn(|at| way / 6_usize.pow(at as u32) % 6);
            let mut copies = Vec::new();
            for (to, from) in chosen.into_iter().enumerate().filter(|&(to, from)| from != to && from < 5) {
                let from = if from == COUNT { Operand::int(9) } else { Operand::register(VRegId::new(from)) };
                copies.push(Copy { to: VRegId::new(to), from, ty: PtxType::B32 });
            }
            let wanted: Vec<usize> = chosen
                .into_iter()
                .enumerate()
                .map(|(to, from)| {
                    if from == COUNT {
                        9
                    } else if from > COUNT {
                        to
                    } else {
                        from
                    }
                })
                .collect();
            let mut count = COUNT;
            sequence.order(&mut copies, 0, |_| {
                count += 1;
                VRegId::new(count - 1)
            });
            let mut values: Vec<usize> = (0..2 * COUNT).collect();
            for copy in &copies {
                values[copy.to.index()] = copy.from.vreg().map_or(9, |from| values[from.index()]);
            }
            assert_eq!(values[..COUNT], wanted, "{chosen:?}");
            most = most.max(count - COUNT);
        }
        assert_eq!(most, 2, "two swaps take two more registers");
    }

    #[test]
    fn copies_before_the_first_stay() {
        let copy =
            |to, from| Copy { to: VRegId(to), from: Operand::register(VRegId(from)), ty: PtxType::B32 };
        let mut copies = vec![copy(1, 2), copy(2, 3), copy(3, 4)];
        Sequence::default().order(&mut copies, 1, |_| panic!("there is no cycle"));
        assert_eq!(copies, [copy(1, 2), copy(2, 3), copy(3, 4)]);
    }
}
