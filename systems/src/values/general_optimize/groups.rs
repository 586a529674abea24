//! Groups: numbers that belong together, found by joining two at a time.

/// To which group each of the numbers from 0 on belongs.
#[derive(Default)]
pub(super) struct Groups {
    /// By number: one of its group that is no larger; its own, where it is the least.
    before: Vec<u32>,
}

impl Groups {
    /// Forgets all numbers.
    pub(super) fn clear(&mut self) {
        self.before.clear();
    }

    /// The next number, which is a group of its own.
    pub(super) fn add(&mut self) -> u32 {
        let number = self.before.len() as u32;
        self.before.push(number);
        number
    }

    /// The least number of a group. The way to it is halved (Tarjan 1975): a chain would make it as long as itself.
    pub(super) fn first_of(&mut self, mut number: u32) -> u32 {
        let before = &mut self.before;
        while before[number as usize] != number {
            let above = before[number as usize];
            before[number as usize] = before[above as usize];
            number = before[number as usize];
        }
        number
    }

    /// Makes two groups one: its least number, and that of the other one before, which may be the same.
    pub(super) fn join(&mut self, one: u32, other: u32) -> (u32, u32) {
        let (one, other) = (self.first_of(one), self.first_of(other));
        let (first, second) = (one.min(other), one.max(other));
        self.before[second as usize] = first;
        (first, second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_joined_have_one_first() {
        let mut groups = Groups::default();
        (0..6).for_each(|number| assert_eq!(groups.add(), number));
        assert_eq!(groups.join(5, 3), (3, 5));
        assert_eq!(groups.join(1, 4), (1, 4));
        assert_eq!(groups.join(4, 5), (1, 3));
        assert_eq!(groups.join(3, 4), (1, 1), "they are one already");
        assert_eq!([0, 1, 2, 3, 4, 5].map(|number| groups.first_of(number)), [0, 1, 2, 1, 1, 1]);
        groups.clear();
        assert_eq!(groups.add(), 0);
    }
}
