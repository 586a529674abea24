//! The form table: mnemonics and operand shapes, interned.
//!
//! A mnemonic is looked up once as a byte slice; a form is a mnemonic with a shape. A shard's table lives as long as
//! the shard: after the first modules nearly every look-up hits.
//!
//! What can be said of an instruction without its operands' values is worked out when its form is interned: the
//! signature ([`FormTable::slots`]), effects ([`FormTable::get`]), and what it computes ([`FormTable::describe`]). Phases
//! match on those, never on text, and make new forms from descriptions ([`FormTable::build`]).

mod build;
mod phi;
mod resolve;
mod signature;
mod table;

pub use ptxopt_components::description::{Description, Dialect};
pub use resolve::Operands;
pub use table::{FormTable, MnemonicId};
