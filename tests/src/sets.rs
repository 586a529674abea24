//! Modules that were assembled, and those that were not.

/// What became of a module.
pub enum Fate<R> {
    /// It is for debuggers, and the optimizer leaves it as it is.
    ForDebugger,
    /// The assembler refuses it as it comes.
    Refused,
    /// The assembler refuses it after the optimizer only: its name, and the assembler's words.
    Spoilt(String, String),
    /// It was assembled before and after.
    Assembled(R),
}

/// The modules of a set.
pub struct Set<R> {
    /// Those that were assembled.
    pub rows: Vec<R>,
    /// How many are for debuggers.
    pub for_debuggers: u32,
    /// How many the assembler refuses as they come.
    pub refused: u32,
    /// Those that it refuses after the optimizer only, with its words.
    pub spoilt: Vec<(String, String)>,
}

impl<R> FromIterator<Fate<R>> for Set<R> {
    fn from_iter<I: IntoIterator<Item = Fate<R>>>(fates: I) -> Self {
        let mut set = Self { rows: Vec::new(), for_debuggers: 0, refused: 0, spoilt: Vec::new() };
        for fate in fates {
            match fate {
                Fate::ForDebugger => set.for_debuggers += 1,
                Fate::Refused => set.refused += 1,
                Fate::Spoilt(name, words) => set.spoilt.push((name, words)),
                Fate::Assembled(row) => set.rows.push(row),
            }
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fate_is_counted_once() {
        let spoilt = |name: &str| Fate::Spoilt(name.to_owned(), "words".to_owned());
        let fates = [
            Fate::Assembled(1),
            Fate::Refused,
            spoilt("a"),
            Fate::ForDebugger,
            Fate::Refused,
            Fate::Assembled(2),
        ];
        let set: Set<u32> = fates.into_iter().collect();
        assert_eq!((set.rows.as_slice(), set.for_debuggers, set.refused), ([1, 2].as_slice(), 1, 2));
        assert_eq!(set.spoilt, [("a".to_owned(), "words".to_owned())]);
    }
}
