//! What is kept for each function of a batch.

use bevy_ecs::resource::Resource;
use ptxopt_components::ids::{CodeId, Id};

/// A fact or the memory of a phase, by function; longer than the batch where an earlier one was. The epochs of a function say
/// whether its fact holds.
#[derive(Resource)]
pub struct PerFunction<T: Send + Sync + 'static> {
    functions: Vec<T>,
}

impl<T: Send + Sync> Default for PerFunction<T> {
    fn default() -> Self {
        Self { functions: Vec::new() }
    }
}

impl<T: Default + Send + Sync> PerFunction<T> {
    /// That of a function, made if it does not exist.
    pub fn of(&mut self, code: CodeId) -> &mut T {
        if self.functions.len() <= code.index() {
            self.functions.resize_with(code.index() + 1, T::default);
        }
        &mut self.functions[code.index()]
    }

    /// That of a function, if it was ever made.
    #[must_use]
    pub fn get(&self, code: CodeId) -> Option<&T> {
        self.functions.get(code.index())
    }
}
