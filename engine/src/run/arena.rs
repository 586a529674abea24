//! The arena of a shard: memory for what is irregular and dies with a function or with a phase.
//!
//! Lists of lists, of lengths that are not known before: plans of a loop phase, worklists of sets, webs, texts. A list that
//! is there once a function and is cleared for the next one is a `Local<Vec<_>>` of its system instead: it costs the same,
//! and needs no lifetime. Decision 7 has the measurement.
//!
//! ```
//! use bevy_ecs::prelude::*;
//! use ptxopt_engine::run::arena::{Arena, ArenaMemory};
//!
//! fn phase(mut arena: Arena) {
//!     for length in [3, 5] {
//!         let bump = arena.fresh();
//!         let mut lists = bumpalo::collections::Vec::new_in(bump);
//!         lists.extend((0..length).map(|_| bumpalo::collections::Vec::<u32>::new_in(bump)));
//!         assert_eq!(lists.len(), length);
//!     }
//! }
//!
//! let mut world = World::new();
//! world.init_resource::<ArenaMemory>();
//! world.run_system_cached(phase).unwrap();
//! ```

use bevy_ecs::prelude::*;
use bevy_ecs::system::SystemParam;
use bevy_platform::cell::SyncCell;
use bumpalo::Bump;

/// The memory itself. A `Bump` is used by one thread at a time, and so is a shard.
#[derive(Resource)]
pub struct ArenaMemory(SyncCell<Bump>);

impl Default for ArenaMemory {
    fn default() -> Self {
        Self(SyncCell::new(Bump::new()))
    }
}

impl ArenaMemory {
    /// Bytes kept over the end of a step: some thousand loops. What a giant function has taken beyond is given back.
    const BYTES_KEPT_MAX: usize = 1 << 20;

    /// The runner's part: forgets what the step has put here.
    pub(crate) fn end_step(&mut self) {
        let bump = self.0.get();
        bump.reset();
        if bump.allocated_bytes() > Self::BYTES_KEPT_MAX {
            *bump = Bump::new();
        }
    }
}

/// How a phase reaches the arena. Nothing put there runs a destructor, and everything is gone at the end of the step.
#[derive(SystemParam)]
pub struct Arena<'w> {
    memory: ResMut<'w, ArenaMemory>,
}

impl Arena<'_> {
    /// The arena with what the running step has put there.
    pub fn bump(&mut self) -> &Bump {
        self.memory.0.get()
    }

    /// The arena, empty: for the next function. The memory is used again.
    pub fn fresh(&mut self) -> &Bump {
        let bump = self.memory.0.get();
        bump.reset();
        bump
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::scan::Module;
    use crate::run::phase::Phase;
    use crate::run::shard::Shard;
    use crate::run::tests::{LIMITS, plan};

    static TAKES: Phase = Phase {
        name: "takes",
        install: |slot| {
            slot.add(|mut arena: Arena| {
                arena.bump().alloc_slice_fill_copy(4 << 20, 0u8);
            });
        },
        ..Phase::NOTHING
    };

    static LOOKS: Phase = Phase {
        name: "looks",
        install: |slot| {
            slot.add(|mut arena: Arena| {
                assert!(arena.bump().allocated_bytes() <= ArenaMemory::BYTES_KEPT_MAX);
            });
        },
        ..Phase::NOTHING
    };

    #[test]
    fn the_runner_empties_it_after_each_step() {
        let plan = plan(&[&TAKES, &LOOKS], LIMITS);
        plan.check(&[]).unwrap();
        let module = Module::scan(b".version 8.0\n.target sm_90\n.entry k() { ret; }\n").unwrap();
        Shard::new(&plan).run(&module, &module.functions).unwrap();
    }

    #[test]
    fn a_fresh_arena_takes_no_more_memory() {
        let mut memory = ArenaMemory::default();
        memory.0.get().alloc_slice_fill_copy(1000, 7u8);
        memory.end_step();
        let kept = memory.0.get().allocated_bytes();
        for _ in 0..100 {
            memory.0.get().alloc_slice_fill_copy(500, 7u8);
            memory.end_step();
        }
        assert_eq!(memory.0.get().allocated_bytes(), kept);
    }

    #[test]
    fn what_a_giant_function_took_is_given_back() {
        let mut memory = ArenaMemory::default();
        memory.0.get().alloc_slice_fill_copy(4 << 20, 0u8);
        memory.end_step();
        assert!(memory.0.get().allocated_bytes() <= ArenaMemory::BYTES_KEPT_MAX);
    }
}
