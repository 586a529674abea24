//! What is known of special registers (PTX ISA, section 10): the limits that hold on all targets.

use super::Known;
use ptxopt_components::special_registers::SPECIAL_REGISTERS;

/// Threads of a CTA along `x` and `y`, and along `z`.
const THREADS_MAX: u64 = 1024;
const THREADS_Z_MAX: u64 = 64;
/// CTAs of a grid along `x`, and along `y` and `z`.
const CTAS_X_MAX: u64 = (1 << 31) - 1;
const CTAS_MAX: u64 = 65_535;
/// Threads of a warp.
const LANES: u64 = 32;

/// What is known of the component `component` (`x`, `y`, `z`; none where the register has none) of the special register in
/// a row of the table; none where that is nothing.
#[must_use]
pub fn of_special_register(row: usize, component: &str) -> Option<Known> {
    let threads = if component == "z" { THREADS_Z_MAX } else { THREADS_MAX };
    let ctas = if component == "x" { CTAS_X_MAX } else { CTAS_MAX };
    let name = SPECIAL_REGISTERS.get(row)?.name;
    let (low, high) = match (name, component) {
        ("tid", "x" | "y" | "z") => (0, threads - 1),
        ("ntid", "x" | "y" | "z") => (1, threads),
        ("ctaid", "x" | "y" | "z") => (0, ctas - 1),
        ("nctaid", "x" | "y" | "z") => (1, ctas),
        ("laneid", "") => (0, LANES - 1),
        _ => return None,
    };
    Some(Known::range(low, high, 32))
}
