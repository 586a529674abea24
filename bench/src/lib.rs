//! What the benchmarks work on: the modules of the repository and of the user's cache folder, kernels made to size,
//! and a clock.

pub mod clock;
pub mod copy_once;
pub mod cpu_time;
pub mod kernels;
pub mod modules;
