//! The registers that a function of a batch may take.

use super::targets::{Promises, Target, budget};
use bevy_ecs::resource::Resource;
use ptxopt_components::types::RegClass;
use ptxopt_components::vreg::VRegHead;
use ptxopt_engine::store::view::FunctionView;

/// What is known beside the headers of kernels.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Most registers of a thread, as the assembler will be told; 0 where it will not.
    pub registers_max: u32,
}

/// What the header of a function says of its launches.
#[must_use]
pub fn promises_of(function: &FunctionView<'_>) -> Promises {
    let launch = function.text.launch;
    let product = |product: u32, &threads: &u32| product.checked_mul(threads.max(1));
    let named = launch.threads.iter().try_fold(1, product).filter(|_| launch.threads[0] > 0);
    let threads = named.unwrap_or(launch.threads_max);
    Promises { registers: launch.registers_max, threads, blocks: launch.ctas_min }
}

/// Most registers that a thread of a function may take.
#[must_use]
pub fn budget_of(function: &FunctionView<'_>, settings: Settings) -> u32 {
    let command_line = Some(settings.registers_max).filter(|&most| most > 0);
    budget(Target::of(function.text.sm), promises_of(function), command_line)
}

/// Whether all registers of a function together have more slots than it may take.
pub(crate) fn has_more_slots(function: &FunctionView<'_>, budget: u32) -> bool {
    let general = function.vregs.iter().filter(|vreg| vreg.class() == RegClass::R);
    general.map(VRegHead::slots).sum::<u32>() > budget
}
