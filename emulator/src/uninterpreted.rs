//! Effects outside memory: what instructions without a model do, and what is printed.

use crate::stop::Thread;

/// Something that a thread did, in an order that does not depend on unrelated instructions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LogEntry {
    /// The thread.
    pub thread: Thread,
    /// What was done.
    pub effect: Effect,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// An instruction without a model was executed.
    Instruction {
        /// Its mnemonic.
        mnemonic: String,
        /// The values that it read, in textual order.
        inputs: Vec<u64>,
    },
    /// A function without a body was called.
    Call {
        /// Its name.
        function: String,
        /// Its parameters, one after the other.
        parameters: Vec<u8>,
    },
    /// `vprintf`.
    Print {
        /// The format.
        format: Vec<u8>,
        /// What it prints: each argument's bits; a string by its bytes.
        arguments: Vec<PrintArgument>,
    },
}

/// An argument of `vprintf`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PrintArgument {
    /// A number's or pointer's bits.
    Bits(u64),
    /// A string.
    Text(Vec<u8>),
}
