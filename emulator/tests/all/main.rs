//! The tests of the emulator that run kernels, as one program.

mod corpus;
mod mechanisms;
mod support;
