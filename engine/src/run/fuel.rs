//! The bisect limit: how many changes a run may make.

use bevy_ecs::resource::Resource;

/// Counts changes and refuses them past the limit.
#[derive(Resource, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fuel {
    limit: u64,
    taken: u64,
    ran_out: bool,
}

impl Fuel {
    /// Allows `limit` changes.
    #[must_use]
    pub fn new(limit: Option<u64>) -> Self {
        Self { limit: limit.unwrap_or(u64::MAX), taken: 0, ran_out: false }
    }

    /// Asks for one change.
    #[inline]
    #[must_use]
    pub fn take(&mut self) -> bool {
        let allowed = self.taken < self.limit;
        self.taken += u64::from(allowed);
        self.ran_out |= !allowed;
        allowed
    }

    /// Number of changes made.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Whether a change was refused: what stands now lacks changes that those before it may count on.
    #[must_use]
    pub fn ran_out(&self) -> bool {
        self.ran_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_the_number_of_changes() {
        let mut fuel = Fuel::new(Some(2));
        assert_eq!([fuel.take(), fuel.take()], [true, true]);
        assert!(!fuel.ran_out());
        assert!(!fuel.take());
        assert_eq!((fuel.taken(), fuel.ran_out()), (2, true));
        assert!(Fuel::new(None).take());
    }
}
