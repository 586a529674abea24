//! An open optimizer for PTX, the assembly language of NVIDIA GPUs.
//!
//! A module's text comes in, the text of an equivalent module that does less work goes out. What the
//! optimizer does not understand it keeps as it was, and a function that it fails on is written as it came
//! in: a caller is never worse off than without it.
//!
//! ```
//! let kernel = br"
//! .version 8.0
//! .target sm_80
//! .address_size 64
//!
//! .visible .entry twice(.param .u64 data)
//! {
//!     .reg .b32 %r<4>;
//!     .reg .b64 %rd<2>;
//!
//!     ld.param.u64 %rd1, [data];
//!     ld.global.u32 %r1, [%rd1];
//!     shl.b32 %r2, %r1, 1;
//!     mul.lo.s32 %r3, %r1, 12345;
//!     st.global.u32 [%rd1], %r2;
//!     ret;
//! }
//! ";
//! let output = ptxopt::optimize(kernel, &ptxopt::Options::default()).expect("the kernel is valid PTX");
//!
//! // Nobody reads the product.
//! let text = String::from_utf8(output.text).expect("text in, text out");
//! assert!(text.contains("shl.b32") && !text.contains("12345"));
//! assert_eq!((output.report.instructions_in, output.report.instructions_out), (6, 5));
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
pub mod names;
mod optimize;
pub mod options;
pub mod report;
pub mod standard;
pub mod table;

pub use optimize::{Optimizer, Output, optimize, optimize_with_plan};
pub use options::{Limits, OptLevel, OptionError, Options, VerifyLevel};
pub use ptxopt_engine::diagnostics::Diagnostics;
pub use report::{FunctionLeft, ModuleReport, PhaseTime, Status, Summary};
