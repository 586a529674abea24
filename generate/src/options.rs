//! What kernels are made of, and how much of it.

use crate::random::Random;

macro_rules! features {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// A kind of construct that kernels may hold. Expands to the enum and the list of all of it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Feature { $($(#[$doc])* $name),* }

        impl Feature {
            /// All features.
            pub const ALL: &[Self] = &[$(Self::$name),*];
        }
    };
}

features! {
    /// 32-bit integers.
    Integer,
    /// 16-bit integers.
    Narrow,
    /// 64-bit integers.
    Wide,
    /// Bit fields, permutations, funnel shifts, dot products.
    Bits,
    /// Comparisons into predicates, and their logic.
    Predicates,
    /// Copies and special registers.
    Moves,
    /// Packing and unpacking.
    Vectors,
    /// Conversions.
    Convert,
    /// `f32`.
    Float,
    /// `f64`.
    Double,
    /// `f16` and `f16x2`.
    Half,
    /// `bf16` and `bf16x2`.
    Brain,
    /// Video instructions.
    Video,
    /// Fences.
    Fences,
    /// The bits of floats as integers.
    FloatBits,
    /// The same or nearly the same once more.
    Redundant,
    /// Sums and products in more than one order, with and without contraction.
    FloatChains,
    /// A load again, after a store that hits or misses it; a load of what was just stored.
    Reloads,
    /// Swaps and rotations.
    Copies,
    /// Chains and cycles that nothing reads.
    Dead,
    /// `@p` on instructions.
    Guards,
    /// Carry chains.
    Carry,
    /// Loads and stores.
    Memory,
    /// Local memory, with widths mixed.
    Local,
    /// `.volatile` accesses.
    Volatile,
    /// Commutative atomics.
    Atomics,
    /// Two arms.
    Branches,
    /// Loops.
    Loops,
    /// `break` and `continue`, many levels and many latches.
    Leaves,
    /// Several arms, by table or by chain.
    Switches,
    /// Gotos.
    Gotos,
    /// Scopes with registers that shadow.
    Scopes,
    /// Unreachable code.
    Unreachable,
    /// Empty blocks and branches to the next.
    NextBlocks,
    /// Shared memory between barriers.
    Exchanges,
    /// Shuffles.
    Shuffles,
    /// Votes, matches, reductions of a warp.
    Votes,
    /// Products of matrices.
    Matrices,
    /// Asynchronous copies.
    AsyncCopies,
    /// Calls.
    Calls,
    /// Several ends.
    Exits,
    /// Traps.
    Traps,
    /// Reads of what nothing wrote, into what nothing reads.
    Uninitialised,
    /// Variables in local memory, stored and loaded as compilers do without optimization.
    Slots,
    /// Conditions that go through memory on their way to a branch.
    MemoryConditions,
    /// Narrow loads, chains of conversions, and addresses made of extended values.
    Extensions,
    /// Arithmetic on constants, of floats with every rounding.
    Constants,
    /// Packing, unpacking, shifting and packing again.
    Packs,
    /// Guarded writes of one register that change it in turn.
    GuardChains,
    /// Cycles with two entries whose registers are written on both ways.
    Crossings,
    /// Switches whose selector is a constant, or masked.
    ConstantSwitches,
    /// A pointer that leads now to a local variable and now elsewhere.
    Wanderers,
    /// Quotients and remainders of the same operands, and of quotients.
    Digits,
}

/// Sizes and weights of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Statements in all.
    pub statements: usize,
    /// Registers of each class: 1 to 200.
    pub registers: usize,
    /// How deep regions nest.
    pub depth: usize,
    /// Device functions, 200 at most.
    pub functions: usize,
    /// Threads of the grid at most; at least 32.
    pub threads_max: u32,
    /// How often each feature comes up, in the order of [`Feature::ALL`].
    pub weights: Vec<u32>,
}

impl Options {
    /// Options that vary with the seed, so that kernels differ in what they are full of and what they lack.
    #[must_use]
    pub fn for_seed(seed: u64) -> Self {
        let mut random = Random::new(seed, 1);
        let statements = match random.below(10) {
            0 => random.between(3, 8),
            9 => random.between(90, 160),
            _ => random.between(12, 80),
        };
        let weights = Feature::ALL
            .iter()
            .map(|&feature| {
                let scale = if is_region(feature) { 2 } else { 4 };
                if random.chance(30) { 0 } else { u32::try_from(random.between(1, scale)).expect("small") }
            })
            .collect();
        Self {
            statements,
            registers: random.between(2, 8),
            depth: random.between(1, 5),
            functions: random.below(4),
            threads_max: *random.pick(&[32, 64, 128, 256]),
            weights,
        }
    }

    /// The weight of a feature.
    #[must_use]
    pub fn weight(&self, feature: Feature) -> u32 {
        self.weights[feature as usize]
    }

    /// Changes the weight of a feature.
    pub fn set_weight(&mut self, feature: Feature, weight: u32) {
        self.weights[feature as usize] = weight;
    }
}

/// Features that hold other statements: they eat the budget fast.
fn is_region(feature: Feature) -> bool {
    matches!(
        feature,
        Feature::Branches
            | Feature::Loops
            | Feature::Switches
            | Feature::Gotos
            | Feature::Scopes
            | Feature::Unreachable
            | Feature::MemoryConditions
            | Feature::ConstantSwitches
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_vary_with_the_seed_and_only_with_it() {
        assert_eq!(Options::for_seed(5), Options::for_seed(5));
        let many: Vec<Options> = (0..50).map(Options::for_seed).collect();
        for &feature in Feature::ALL {
            assert!(many.iter().any(|options| options.weight(feature) == 0), "{feature:?} is always there");
            assert!(many.iter().any(|options| options.weight(feature) > 0), "{feature:?} is never there");
        }
    }
}
