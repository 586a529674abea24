//! The tests of the generator that make many kernels, as one program.

mod determinism;
mod features;
mod runs;
mod shrink;
