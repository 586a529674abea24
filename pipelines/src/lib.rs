//! An open optimizer for PTX, the assembly language of NVIDIA GPUs.
//!
//! A module's text comes in, the text of an equivalent module that does less work goes out. What the
//! optimizer does not understand it keeps as it was, and a function that it fails on is written as it came
//! in: a caller is never worse off than without it.
//!
//! ```
#![doc = include_str!("../tests/all/example.rs")]
//! ```
//!
//! # Where to look
//! - [`optimize()`] is the library's one function; [`Options`] is what it may be told, [`ModuleReport`] what it
//!   tells.
//! - [`table`] is the pipeline: 159 phases, the levels at which they run, and what each does here.
//! - [`knobs`] are the settings of single phases, [`names`] the names by which users call all these.
//! - [`batch`] runs many modules, [`check`] runs kernels before and after, [`command`] is the program.

pub mod batch;
pub mod check;
pub mod command;
mod files;
pub mod knobs;
pub mod level;
pub mod names;
mod optimize;
pub mod options;
pub mod registers;
pub mod remarks;
pub mod report;
pub mod standard;
pub mod table;

pub use level::OptLevel;
pub use optimize::{Optimizer, Output, optimize, optimize_with_plan};
pub use options::{Limits, OptionError, Options, VerifyLevel};
pub use ptxopt_engine::diagnostics::Diagnostics;
pub use remarks::{Remark, RemarkKind, RemarkPhase, RemarkPlace};
pub use report::{FunctionLeft, ModuleReport, PhaseTime, Status, Summary, UnknownWord};
