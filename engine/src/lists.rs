//! Lists by key, one after the other in one table: a counting sort.

/// Turns counts into ends, and gives the last of them. Filling the lists backwards then turns each end into a start.
pub(crate) fn counts_to_ends(counts: &mut [u32]) -> usize {
    let mut end = 0;
    for slot in counts.iter_mut() {
        end += *slot;
        *slot = end;
    }
    end as usize
}

/// Items by key.
#[derive(Default)]
pub(crate) struct Lists<T> {
    /// By key: where its list starts in `items`; one more entry at the end.
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy + Default> Lists<T> {
    /// Files `pairs` by key, those of one key in their order. Keys lie below `key_count`.
    pub fn fill(&mut self, key_count: usize, pairs: impl DoubleEndedIterator<Item = (u32, T)> + Clone) {
        let Self { starts, items } = self;
        starts.clear();
        starts.resize(key_count + 1, 0);
        pairs.clone().for_each(|(key, _)| starts[key as usize] += 1);
        let count = counts_to_ends(starts);
        items.clear();
        items.resize(count, T::default());
        for (key, item) in pairs.rev() {
            let slot = &mut starts[key as usize];
            *slot -= 1;
            items[*slot as usize] = item;
        }
    }

    /// Where the items of `key` are.
    #[inline]
    pub fn span(&self, key: usize) -> std::ops::Range<usize> {
        self.starts[key] as usize..self.starts[key + 1] as usize
    }

    /// The item at a place of a span.
    #[inline]
    pub fn at(&self, place: usize) -> T {
        self.items[place]
    }

    /// The items of `key`.
    #[inline]
    pub fn of(&self, key: usize) -> &[T] {
        &self.items[self.span(key)]
    }
}
