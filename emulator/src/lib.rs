//! A PTX emulator: runs kernels on the CPU, as the judge of every transformation.
//!
//! It reads modules through the engine's reader and knows instructions by their mnemonics alone: neither the opcode
//! table's roles and effects nor any evaluation code of the optimizer is used, so that one checks the other.

pub mod arith;
pub mod lanes;
pub mod tensor;
