//! Shards that are used again: to make one takes longer than a small module does.

use ptxopt_engine::run::shard::{BatchError, Shard};
use std::sync::{LazyLock, Mutex};
use std::thread::available_parallelism;

/// Shards kept for the next call, for each thread that the machine runs at once: whoever checks every phase of one kernel after the
/// other has as many pipelines under way as a pipeline has steps, and would find none of them again if fewer were kept.
const SHARDS_KEPT_PER_THREAD: usize = 64;

static SHARDS_KEPT_MAX: LazyLock<usize> =
    LazyLock::new(|| SHARDS_KEPT_PER_THREAD * available_parallelism().map_or(1, usize::from));

/// Rows of a shard that is still kept. What a larger function has blown up is given back.
const SHARD_ROWS_KEPT_MAX: usize = 1 << 20;

/// Shards that wait for the next batch, by what they were made for; the one that has waited longest comes first, and goes
/// first where there are too many.
pub(super) struct ShardPool(Mutex<Vec<(u64, Shard)>>);

pub(super) static SHARDS: ShardPool = ShardPool(Mutex::new(Vec::new()));

impl ShardPool {
    /// Runs something in a shard that was made for `key`, a new one where none waits, and keeps the shard for the next run.
    pub(super) fn run<T>(
        &self,
        key: Option<u64>,
        make: impl FnOnce() -> Shard,
        run: impl FnOnce(&mut Shard) -> Result<T, BatchError>,
    ) -> Result<T, BatchError> {
        let mut shard = self.take(key).unwrap_or_else(make);
        let result = run(&mut shard);
        // What failed has left the shard in pieces.
        if !matches!(result, Err(BatchError::Failed { .. })) {
            self.give_back(key, shard);
        }
        result
    }

    pub(super) fn take(&self, key: Option<u64>) -> Option<Shard> {
        let mut shards = self.0.lock().ok()?;
        let at = shards.iter().rposition(|&(made_for, _)| Some(made_for) == key)?;
        Some(shards.remove(at).1)
    }

    fn give_back(&self, key: Option<u64>, mut shard: Shard) {
        if let Some(key) = key
            && shard.pool_rows() <= SHARD_ROWS_KEPT_MAX
            && let Ok(mut shards) = self.0.lock()
        {
            if shards.len() >= *SHARDS_KEPT_MAX {
                shards.remove(0);
            }
            shards.push((key, shard));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::standard;
    use ptxopt_engine::run::phase::Plan;

    /// What was used last is kept, however many other options came before.
    #[test]
    fn the_shard_that_waits_longest_goes_first() {
        let pool = ShardPool(Mutex::new(Vec::new()));
        let plan = Plan { steps: Vec::new(), ..standard::plan(&Options::default(), false) };
        let give = |key| pool.give_back(Some(key), Shard::new(&plan));
        let waiting = || pool.0.lock().unwrap().iter().map(|&(key, _)| key).collect::<Vec<u64>>();
        let most = *SHARDS_KEPT_MAX as u64;
        (0..most).for_each(give);
        let again = pool.take(Some(1)).expect("it waits");
        pool.give_back(Some(1), again);
        assert_eq!(waiting(), std::iter::once(0).chain(2..most).chain([1]).collect::<Vec<_>>());
        give(most);
        assert_eq!(waiting(), (2..most).chain([1, most]).collect::<Vec<_>>());
        assert!(pool.take(Some(0)).is_none() && pool.take(None).is_none());
    }
}
