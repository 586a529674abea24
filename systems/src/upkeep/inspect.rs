//! Inspect: nothing but the verifiers that run after it.
//!
//! Source phase  0 OriCheckInitialProgram, 94 FinalInspectionPass
//! Reads         nothing
//! Writes        nothing
//! Needs         nothing
//! Leaves        everything as it is
//! Breaks        nothing
//! Cost          that of the verifiers
//! Checked by    check/*: this is where they run

use ptxopt_engine::run::phase::{Phase, Wanted};

/// Phase 0: verifiers run where they are asked for.
pub const INITIAL: Phase = Phase {
    name: "check_initial",
    required: true,
    layout_only: true,
    wanted: Wanted::WhenShown,
    ..Phase::NOTHING
};

/// Phase 94: the fast verifiers always run, so that nothing is written that they have not seen.
pub const FINAL: Phase = Phase { name: "check_final", verified: true, wanted: Wanted::Always, ..INITIAL };
