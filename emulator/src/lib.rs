//! A PTX emulator: runs kernels on the CPU, as the judge of every transformation.
//!
//! It reads modules through the engine's reader and knows instructions by their mnemonics alone: neither the opcode
//! table's roles and effects nor any evaluation code of the optimizer is used, so that one checks the other.
//!
//! [`Module::load`] decodes a module once; [`run`] launches one of its kernels and gives back everything that can be
//! seen afterwards.

pub mod arith;
mod atomics;
mod checks;
pub mod count;
mod decode;
mod exec;
pub mod lanes;
mod launch;
pub mod launch_lines;
mod layout;
mod load_error;
mod memory;
mod module;
mod observer;
mod outline;
mod program;
mod run;
mod source;
mod special;
mod stop;
pub mod tensor;
mod uninterpreted;
mod warp;
mod world;

pub use checks::{Checks, Finding, Report};
pub use count::{Count, run_counted};
pub use launch::{Argument, Launch, Limits, Options, Outcome};
pub use layout::window_of;
pub use load_error::LoadError;
pub use module::{Entry, Module, Parameter};
pub use observer::{Observer, Step};
pub use ptxopt_components::types::StateSpace;
pub use run::{run, run_observed};
pub use stop::{Access, Place, Stop, Thread};
pub use uninterpreted::{Effect, LogEntry, PrintArgument};
