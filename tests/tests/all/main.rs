//! The tests over whole modules, as one program: linked once, and what is slow in one test runs beside another.
//!
//! `cargo test -p ptxopt-tests NAME` runs one module of them, for instance `judge` or `golden`.

mod aliases;
mod bad_batch;
mod bad_input;
// The kernels of the benchmarks have a unit test. It runs here: their own crate needs a library for timing, which takes
// longer to compile than all of this program.
#[path = "../../../bench/src/kernels.rs"]
mod bench_kernels;
mod compared;
mod constants;
mod crossed_carries;
mod descriptions;
mod determinism;
mod editing;
mod fallback;
mod folding;
mod fuzz;
mod fuzz_pipeline;
mod fuzz_reader;
mod generated;
mod golden;
mod gpu;
mod growth;
mod judge;
mod known_values;
mod liveness;
mod mistakes;
mod native;
mod optimized;
mod phases;
mod pressure;
mod ptxas;
mod registers;
mod regress;
mod removed;
mod round_trip;
mod rounds;
mod rule_cases;
mod rules;
mod sink_elements;
mod sinks;
mod splitmix;
mod ssa;
mod stored_addresses;
mod uniformity;
mod variants;
