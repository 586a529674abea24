//! Runs.

use crate::launch::{Launch, Options, Outcome};
use crate::module::Module;
use crate::stop::Stop;

/// A run.
pub struct Machine;

impl Machine {
    /// Prepares a run.
    pub fn new(_module: &Module, _launch: &Launch, _options: &Options) -> Result<Self, Stop> {
        Err(Stop::NotSupported { mnemonic: "run".to_owned(), line: 0 })
    }

    /// Runs.
    pub fn run(&mut self) -> Option<Stop> {
        None
    }

    /// The outcome.
    pub fn outcome(self, stop: Option<Stop>) -> Outcome {
        Outcome { stop, ..Outcome::default() }
    }
}
