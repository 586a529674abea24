//! The emulator against a GPU, and kernels before against after on it.
//!
//! Three steps, so that the machine with the GPU needs its driver and nothing else:
//!
//! 1. [`prepare`] makes a folder: modules before and after, assembled where the assembler is installed, launches, and
//!    the bytes that the emulator says they leave.
//! 2. `tests/gpu/host.c`, compiled into the folder by [`host`], runs it all and writes down what differs.
//! 3. [`record`] sorts the differences by cause and writes a page.

pub mod causes;
pub mod elements;
pub mod folder;
pub mod host;
pub mod prepare;
pub mod record;
pub mod results;
pub mod rounding;
pub mod vectors;
