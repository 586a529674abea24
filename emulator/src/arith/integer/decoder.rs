//! Reading a request piece by piece: what is taken is gone, so that what was not understood remains.

use super::super::{Dialect, Request};
use super::types::Type;

/// The parts of a request that are not yet understood.
pub(super) struct Decoder<'a> {
    root: &'a str,
    words: Vec<&'a str>,
    results: usize,
    sources: usize,
    negated: Vec<bool>,
    selectors: Vec<Option<&'a str>>,
    dialect: Dialect,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(request: &Request<'a>) -> Self {
        let mut words: Vec<&str> = request.mnemonic.split('.').collect();
        let root = words.remove(0);
        Self {
            root,
            words,
            results: request.results,
            sources: request.sources,
            negated: request.negated.to_vec(),
            selectors: request.selectors.to_vec(),
            dialect: request.dialect,
        }
    }

    pub(super) fn root(&self) -> &'a str {
        self.root
    }

    /// Results in the text.
    pub(super) fn results(&self) -> usize {
        self.results
    }

    /// Sources in the text.
    pub(super) fn sources(&self) -> usize {
        self.sources
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Takes the qualifier `word`, wherever it stands: the ISA's own examples do not agree on an order.
    pub(super) fn take(&mut self, word: &str) -> bool {
        let place = self.words.iter().position(|&it| it == word);
        place.map(|place| self.words.remove(place)).is_some()
    }

    /// Takes the first qualifier that `meaning` knows.
    pub(super) fn take_known<T>(&mut self, meaning: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (place, found) =
            self.words.iter().enumerate().find_map(|(place, word)| Some((place, meaning(word)?)))?;
        self.words.remove(place);
        Some(found)
    }

    /// Takes the first type.
    pub(super) fn take_type(&mut self) -> Option<Type> {
        self.take_known(Type::named)
    }

    /// Takes the minus sign or `!` before a source.
    pub(super) fn take_negated(&mut self, source: usize) -> bool {
        self.negated.get_mut(source).is_some_and(std::mem::take)
    }

    /// Takes the selector after a result.
    pub(super) fn take_result_selector(&mut self, result: usize) -> Option<&'a str> {
        self.selectors.get_mut(result).and_then(Option::take)
    }

    /// Takes the selector after a source.
    pub(super) fn take_source_selector(&mut self, source: usize) -> Option<&'a str> {
        self.selectors.get_mut(self.results + source).and_then(Option::take)
    }

    /// Whether everything has been taken.
    pub(super) fn is_spent(&self) -> bool {
        self.words.is_empty() && !self.negated.contains(&true) && self.selectors.iter().all(Option::is_none)
    }
}
