//! Inspect: nothing but the verifiers that run after it.
//!
//! Source phase  0 OriCheckInitialProgram, 94 FinalInspectionPass
//! Reads         nothing
//! Writes        nothing
//! Needs         nothing
//! Leaves        everything as it is
//! Breaks        nothing
//! Cost          that of the verifiers; without `--verify`, some 9 ns an instruction
//! Checked by    check/*: this is where they run. check/inspection.rs says what is trusted

use ptxopt_engine::run::phase::{Phase, Wanted};

/// Phase 0: verifiers run where they are asked for.
pub const INITIAL: Phase = Phase {
    name: "check_initial",
    required: true,
    layout_only: true,
    wanted: Wanted::WhenShown,
    ..Phase::NOTHING
};

/// Phase 94: what has changed is always looked at, so that nothing is written that no verifier has seen
/// ([`inspection`](crate::check::inspection)).
pub const FINAL: Phase = Phase { name: "check_final", verified: true, wanted: Wanted::Always, ..INITIAL };
