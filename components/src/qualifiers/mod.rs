//! What stands after the dots of a mnemonic, as enums and bits.
//!
//! [`Qualifiers`] has a field for each choice that the ISA gives and a bit for each word that is there or not. Each
//! field has one list of words, in `words`; `vocabulary` is the inverse. Which of them an instruction takes, and
//! in which order it writes them, is said by [`crate::operation`].

pub(crate) mod vocabulary;
mod words;

pub use vocabulary::is_known;
pub use words::*;

use crate::types::{PtxType, StateSpace, TypeKind};
use bitflags::bitflags;
use std::num::NonZeroU16;

bitflags! {
    /// Qualifiers that are there or not.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct Modifiers: u64 {
        /// `.sat`: integers clamp to the range of the result's type, floats to 0 to 1.
        const SAT = 1 << 0;
        /// `.satfinite`: what is too large becomes the largest finite value.
        const SATFINITE = 1 << 1;
        /// `.relu`: negative results become 0.
        const RELU = 1 << 2;
        /// `.ftz`: denormals become 0, in sources and results.
        const FTZ = 1 << 3;
        /// `.noftz`: denormals stay.
        const NOFTZ = 1 << 4;
        /// `.approx`: a fast approximation.
        const APPROX = 1 << 5;
        /// `.full`: an approximation over the full range.
        const FULL = 1 << 6;
        /// `.cc`: writes the carry register.
        const CARRY_OUT = 1 << 7;
        /// `.NaN`: a NaN among the sources is the result.
        const NAN = 1 << 8;
        /// `.xorsign`: the sign is the exclusive or of the sources' signs.
        const XORSIGN = 1 << 9;
        /// `.abs`: of the absolute values.
        const ABS = 1 << 10;
        /// `.oob`: a certain NaN stands for what lies outside of a tensor.
        const OUT_OF_BOUNDS = 1 << 11;
        /// `.shiftamt`: the shift amount instead of the position.
        const SHIFT_AMOUNT = 1 << 12;
        /// `.po`: plus one.
        const PLUS_ONE = 1 << 13;
        /// `.uni`: all threads of the warp go the same way.
        const UNIFORM = 1 << 14;
        /// `.sync`: waits for the threads that take part.
        const SYNC = 1 << 15;
        /// `.aligned`: all threads of the warp execute the same instruction.
        const ALIGNED = 1 << 16;
        /// `.nc`: through the cache of what nothing writes.
        const NON_COHERENT = 1 << 17;
        /// `.mmio`: exactly once and as written.
        const MMIO = 1 << 18;
        /// `.L2::cache_hint`: the last operand is a cache policy.
        const CACHE_HINT = 1 << 19;
        /// `.tensormap`: a tensor map is prefetched.
        const TENSOR_MAP = 1 << 20;
        /// `.cta` of a barrier, which means nothing.
        const CTA = 1 << 21;
        /// `.trans`: transposed.
        const TRANSPOSED = 1 << 22;
        /// `.popc`: of a product of bits, the set bits are counted.
        const POPC = 1 << 23;
        /// `.block_scale`: blocks have scales.
        const BLOCK_SCALE = 1 << 24;
        /// `.ashift`: the rows of A move by one.
        const SHIFT_A = 1 << 25;
        /// `.pack::16b`
        const PACK = 1 << 26;
        /// `.unpack::16b`
        const UNPACK = 1 << 27;
        /// `.down`
        const DOWN = 1 << 28;
        /// `.expect_tx`: expects bytes before arriving.
        const EXPECT_BYTES = 1 << 29;
        /// `.noComplete`: the arrival does not complete the phase.
        const NO_COMPLETE = 1 << 30;
        /// `.noinc`: the pending count is not increased before the arrival.
        const NO_INCREMENT = 1 << 31;
        /// `.parity`: waits for a phase by its parity.
        const PARITY = 1 << 32;
        /// `.read`: waits for the reads of the sources only.
        const READ = 1 << 33;
        /// `.cp_mask`: the last operand masks bytes.
        const COPY_MASK = 1 << 34;
        /// `.async`
        const ASYNC = 1 << 35;
        /// `.mbarrier_init`: orders the initialisation of barriers only.
        const MBARRIER_INIT = 1 << 36;
        /// `.sp::2:4`: two of four elements are there.
        const TWO_OF_FOUR = 1 << 37;
        /// `.multimem`: the far side is several devices.
        const MULTIMEM = 1 << 38;
        /// `.mbarrier::report::fabric`: what went wrong is reported to the barrier.
        const FABRIC_REPORT = 1 << 39;
        /// `.counted::bytes`: a counter on the far side counts the bytes.
        const COUNTED = 1 << 40;
        /// `.op_restrict::fetching`: only what fetches is submitted.
        const FETCHING = 1 << 41;
    }
}

impl Modifiers {
    /// The word of each bit, without its dot.
    pub const WORDS: &[(Self, &str)] = &[
        (Self::SAT, "sat"),
        (Self::SATFINITE, "satfinite"),
        (Self::RELU, "relu"),
        (Self::FTZ, "ftz"),
        (Self::NOFTZ, "noftz"),
        (Self::APPROX, "approx"),
        (Self::FULL, "full"),
        (Self::CARRY_OUT, "cc"),
        (Self::NAN, "NaN"),
        (Self::XORSIGN, "xorsign"),
        (Self::ABS, "abs"),
        (Self::OUT_OF_BOUNDS, "oob"),
        (Self::SHIFT_AMOUNT, "shiftamt"),
        (Self::PLUS_ONE, "po"),
        (Self::UNIFORM, "uni"),
        (Self::SYNC, "sync"),
        (Self::ALIGNED, "aligned"),
        (Self::NON_COHERENT, "nc"),
        (Self::MMIO, "mmio"),
        (Self::CACHE_HINT, "L2::cache_hint"),
        (Self::TENSOR_MAP, "tensormap"),
        (Self::CTA, "cta"),
        (Self::TRANSPOSED, "trans"),
        (Self::POPC, "popc"),
        (Self::BLOCK_SCALE, "block_scale"),
        (Self::SHIFT_A, "ashift"),
        (Self::PACK, "pack::16b"),
        (Self::UNPACK, "unpack::16b"),
        (Self::DOWN, "down"),
        (Self::EXPECT_BYTES, "expect_tx"),
        (Self::NO_COMPLETE, "noComplete"),
        (Self::NO_INCREMENT, "noinc"),
        (Self::PARITY, "parity"),
        (Self::READ, "read"),
        (Self::COPY_MASK, "cp_mask"),
        (Self::ASYNC, "async"),
        (Self::MBARRIER_INIT, "mbarrier_init"),
        (Self::TWO_OF_FOUR, "sp::2:4"),
        (Self::MULTIMEM, "multimem"),
        (Self::FABRIC_REPORT, "mbarrier::report::fabric"),
        (Self::COUNTED, "counted::bytes"),
        (Self::FETCHING, "op_restrict::fetching"),
    ];
}

/// The extent of a matrix, `m16n8k16`; `k` is 0 where it is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// Rows.
    pub m: NonZeroU16,
    /// Columns.
    pub n: u16,
    /// Length of the sums.
    pub k: u16,
}

impl Extent {
    /// The extent that `word` writes, if it is one.
    #[must_use]
    pub fn parse(word: &[u8]) -> Option<Self> {
        let word = std::str::from_utf8(word).ok()?;
        let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k').map_or((rest, None), |(n, k)| (n, Some(k)));
        // Only what is written again as it was: `+8` and `08` are no numbers here.
        let number = |text: &str| {
            let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
            text.parse::<NonZeroU16>().ok().filter(|_| is_plain)
        };
        let k = k.map_or(Some(0), |k| number(k).map(NonZeroU16::get))?;
        Some(Self { m: number(m)?, n: number(n)?.get(), k })
    }
}

impl std::fmt::Display for Extent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "m{}n{}", self.m, self.n)?;
        if self.k == 0 { Ok(()) } else { write!(f, "k{}", self.k) }
    }
}

/// A field of [`Qualifiers`], for what goes through all of them.
pub(crate) struct Field {
    /// Its name, as the syntax of operations uses it.
    pub(crate) name: &'static str,
    /// The words of its values, by number.
    pub(crate) words: &'static [&'static str],
    /// The word of its value.
    pub(crate) get: fn(&Qualifiers) -> Option<&'static str>,
    /// Gives it the value with a number.
    pub(crate) put: fn(&mut Qualifiers, usize),
}

/// Declares [`Qualifiers`] from rows `field: Type`, and lists its fields.
macro_rules! qualifiers {
    ($($(#[$doc:meta])* $field:ident: $words:ident,)*) => {
        /// Everything that qualifies an instruction, its types excepted. What is not written is `None` or a clear bit.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
        pub struct Qualifiers {
            $($(#[$doc])* pub $field: Option<$words>,)*
            /// What is there or not.
            pub modifiers: Modifiers,
            /// Extent of the matrices.
            pub extent: Option<Extent>,
        }

        impl Qualifiers {
            pub(crate) const FIELDS: &[Field] = &[$(Field {
                name: stringify!($field),
                words: $words::WORDS,
                get: |qualifiers| qualifiers.$field.map($words::word),
                put: |qualifiers, number| qualifiers.$field = Some($words::ALL[number]),
            },)*];
        }
    };
}

qualifiers! {
    /// Rounding.
    rounding: Rounding,
    /// Which part of a product is the result.
    part: Part,
    /// The comparison.
    comparison: Comparison,
    /// What combines its result with a predicate.
    combiner: Combiner,
    /// What becomes of a shift amount that is too large.
    excess: Excess,
    /// Where a funnel shift goes.
    direction: Direction,
    /// The mode of `prmt`.
    permutation: Permutation,
    /// What `testp` asks.
    class: FloatClass,
    /// Number of elements.
    vector: Vector,
    /// Order of an access.
    ordering: Ordering,
    /// Scope of the order.
    scope: Scope,
    /// State space of the first address.
    space: Space,
    /// State space of the second address, that of the source of a copy.
    source_space: Space,
    /// Cache operator.
    cache: CacheOperator,
    /// Priority in the first cache.
    eviction_l1: EvictionL1,
    /// Priority in the second cache.
    eviction_l2: EvictionL2,
    /// Priority of those accesses to which the first one does not apply.
    eviction_rest: EvictionL2,
    /// How much is fetched ahead.
    prefetch_size: PrefetchSize,
    /// The cache that is meant.
    level: CacheLevel,
    /// Operation of an atomic access or reduction.
    reduction: Reduction,
    /// How the lane is chosen.
    shuffle: ShuffleMode,
    /// What is found out.
    vote: VoteMode,
    /// What a barrier does.
    action: Action,
    /// Proxies that are ordered.
    proxy: Proxy,
    /// Restriction of a fence or wait.
    restriction: SyncRestriction,
    /// How the end is told.
    completion: Completion,
    /// Layout of a barrier in memory.
    memory_layout: BarrierLayout,
    /// Several destinations.
    multicast: Multicast,
    /// CTAs that take part.
    cta_group: CtaGroup,
    /// Dimensions.
    geometry: Geometry,
    /// Component that is gathered.
    component: Component,
    /// Whether a surface access converts.
    surface: SurfaceAccess,
    /// What happens outside.
    boundary: Boundary,
    /// What is asked.
    query: TextureQuery,
    /// Field of a tensor map.
    map_field: TensorMapField,
    /// Walk through a tensor.
    tensor_mode: TensorMode,
    /// Layout of the only matrix, or of A.
    layout: Layout,
    /// Layout of B.
    layout_b: Layout,
    /// Repetitions.
    repetition: Repetition,
    /// Element types as a group.
    kind: MatrixKind,
    /// Scales of a block.
    scale_vector: ScaleVector,
    /// Use of the collector buffer.
    collector: Collector,
    /// Warps that are written.
    broadcast: Broadcast,
    /// Format after unpacking.
    unpacked: Packing,
    /// Format before unpacking.
    packed: Packing,
    /// Type of the sum.
    accumulation: Accumulation,
    /// Scaling of the result.
    scaling: Scaling,
    /// Rows and bits.
    tile: Tile,
}

impl Qualifiers {
    /// Qualifiers that are bits only.
    #[must_use]
    pub fn of(modifiers: Modifiers) -> Self {
        Self { modifiers, ..Self::default() }
    }

    /// Whether every one of `modifiers` is there.
    #[inline]
    #[must_use]
    pub const fn has(&self, modifiers: Modifiers) -> bool {
        self.modifiers.contains(modifiers)
    }

    /// How many qualifiers are there.
    #[must_use]
    pub fn count(&self) -> usize {
        Self::FIELDS.iter().filter(|field| (field.get)(self).is_some()).count()
            + self.modifiers.bits().count_ones() as usize
            + usize::from(self.extent.is_some())
    }
}

impl Vector {
    /// Number of elements.
    #[inline]
    #[must_use]
    pub const fn lanes(self) -> u8 {
        2 << self as u8
    }
}

impl Space {
    /// The state space that is meant.
    #[inline]
    #[must_use]
    pub const fn state_space(self) -> StateSpace {
        match self {
            Self::Global => StateSpace::Global,
            Self::Shared | Self::SharedCta => StateSpace::Shared,
            Self::SharedCluster => StateSpace::SharedCluster,
            Self::Local => StateSpace::Local,
            Self::Const => StateSpace::Const,
            Self::Param | Self::ParamEntry | Self::ParamFunc => StateSpace::Param,
        }
    }
}

impl Rounding {
    /// Whether the result is a whole number.
    #[inline]
    #[must_use]
    pub const fn is_to_integer(self) -> bool {
        matches!(self, Self::IntegerNearest | Self::IntegerZero | Self::IntegerDown | Self::IntegerUp)
    }
}

impl Comparison {
    /// The comparison of values of type `ty` that is true exactly where this one is false. Of integers that is another one than
    /// of what may be a NaN, as a packed float may be, too: `!(a < b)` is `a >= b` of the former, `geu` of the latter.
    #[must_use]
    pub const fn negated(self, ty: PtxType) -> Self {
        match (self, !matches!(ty.kind(), TypeKind::Integer | TypeKind::Bits)) {
            (Self::Equal, false) => Self::NotEqual,
            (Self::NotEqual, false) => Self::Equal,
            (Self::Less, false) => Self::GreaterEqual,
            (Self::LessEqual, false) => Self::Greater,
            (Self::Greater, false) => Self::LessEqual,
            (Self::GreaterEqual, false) => Self::Less,
            (Self::Equal, true) => Self::NotEqualOrNan,
            (Self::NotEqual, true) => Self::EqualOrNan,
            (Self::Less, true) => Self::GreaterEqualOrNan,
            (Self::LessEqual, true) => Self::GreaterOrNan,
            (Self::Greater, true) => Self::LessEqualOrNan,
            (Self::GreaterEqual, true) => Self::LessOrNan,
            (Self::Lower, _) => Self::HigherSame,
            (Self::LowerSame, _) => Self::Higher,
            (Self::Higher, _) => Self::LowerSame,
            (Self::HigherSame, _) => Self::Lower,
            (Self::EqualOrNan, _) => Self::NotEqual,
            (Self::NotEqualOrNan, _) => Self::Equal,
            (Self::LessOrNan, _) => Self::GreaterEqual,
            (Self::LessEqualOrNan, _) => Self::Greater,
            (Self::GreaterOrNan, _) => Self::LessEqual,
            (Self::GreaterEqualOrNan, _) => Self::Less,
            (Self::Numbers, _) => Self::AnyNan,
            (Self::AnyNan, _) => Self::Numbers,
        }
    }

    /// The comparison of `b` with `a` that is true exactly where this one of `a` with `b` is.
    #[must_use]
    pub const fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::Greater => Self::Less,
            Self::GreaterEqual => Self::LessEqual,
            Self::Lower => Self::Higher,
            Self::LowerSame => Self::HigherSame,
            Self::Higher => Self::Lower,
            Self::HigherSame => Self::LowerSame,
            Self::LessOrNan => Self::GreaterOrNan,
            Self::LessEqualOrNan => Self::GreaterEqualOrNan,
            Self::GreaterOrNan => Self::LessOrNan,
            Self::GreaterEqualOrNan => Self::LessEqualOrNan,
            Self::Equal
            | Self::NotEqual
            | Self::EqualOrNan
            | Self::NotEqualOrNan
            | Self::Numbers
            | Self::AnyNan => self,
        }
    }

    /// Whether the sources may change places.
    #[inline]
    #[must_use]
    pub const fn is_symmetric(self) -> bool {
        self.mirrored() as u8 == self as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_turn_back_when_turned_twice() {
        for &comparison in Comparison::ALL {
            assert_eq!(comparison.mirrored().mirrored(), comparison);
            let is_unsigned = matches!(
                comparison,
                Comparison::Lower | Comparison::LowerSame | Comparison::Higher | Comparison::HigherSame
            );
            let ty = if is_unsigned { PtxType::U32 } else { PtxType::F32 };
            assert_eq!(comparison.negated(ty).negated(ty), comparison);
        }
        assert!(Comparison::Numbers.is_symmetric() && !Comparison::Less.is_symmetric());
    }

    /// Each comparison against what it means, with a NaN among the values.
    #[test]
    fn comparisons_turn_into_what_they_mean() {
        fn holds(comparison: Comparison, a: f64, b: f64) -> bool {
            let any_nan = a.is_nan() || b.is_nan();
            match comparison {
                Comparison::Equal => a == b,
                Comparison::NotEqual => a != b && !any_nan,
                Comparison::Less | Comparison::Lower => a < b,
                Comparison::LessEqual | Comparison::LowerSame => a <= b,
                Comparison::Greater | Comparison::Higher => a > b,
                Comparison::GreaterEqual | Comparison::HigherSame => a >= b,
                Comparison::EqualOrNan => a == b || any_nan,
                Comparison::NotEqualOrNan => a != b,
                Comparison::LessOrNan => a < b || any_nan,
                Comparison::LessEqualOrNan => a <= b || any_nan,
                Comparison::GreaterOrNan => a > b || any_nan,
                Comparison::GreaterEqualOrNan => a >= b || any_nan,
                Comparison::Numbers => !any_nan,
                Comparison::AnyNan => any_nan,
            }
        }
        let values = [-1.0, 0.0, 2.0, f64::NAN];
        for &comparison in Comparison::ALL {
            let is_unsigned = matches!(
                comparison,
                Comparison::Lower | Comparison::LowerSame | Comparison::Higher | Comparison::HigherSame
            );
            for (a, b) in values.iter().flat_map(|&a| values.map(|b| (a, b))) {
                let is = holds(comparison, a, b);
                assert_eq!(holds(comparison.mirrored(), b, a), is, "{comparison:?} {a} {b}");
                if !is_unsigned {
                    for ty in [PtxType::F64, PtxType::F16, PtxType::F16x2, PtxType::Bf16, PtxType::Bf16x2] {
                        assert_eq!(holds(comparison.negated(ty), a, b), !is, "{comparison:?} {ty:?} {a} {b}");
                    }
                }
                let is_float_only = comparison as u8 >= Comparison::EqualOrNan as u8;
                if !is_float_only && !a.is_nan() && !b.is_nan() {
                    for ty in [PtxType::S32, PtxType::U16, PtxType::B64] {
                        assert_eq!(holds(comparison.negated(ty), a, b), !is, "{comparison:?} {ty:?} {a} {b}");
                    }
                }
            }
        }
    }

    #[test]
    fn extents_are_read_as_they_are_written() {
        for word in ["m16n8k16", "m64n256k8", "m8n8", "m16n8k256"] {
            assert_eq!(Extent::parse(word.as_bytes()).unwrap().to_string(), word);
        }
        for word in ["m16", "m16n", "m16n8k", "n8k16", "m016n8", "m0n8", "m16n+8", "m16n8k16x", "m99999n8"] {
            assert_eq!(Extent::parse(word.as_bytes()), None, "{word}");
        }
    }

    #[test]
    fn every_bit_has_one_word() {
        let all = Modifiers::WORDS.iter().fold(Modifiers::empty(), |all, &(bit, _)| {
            assert!(bit.bits().is_power_of_two() && !all.contains(bit));
            all | bit
        });
        assert_eq!(all, Modifiers::all());
    }

    #[test]
    fn a_vector_knows_its_length() {
        assert_eq!(Vector::ALL.iter().map(|vector| vector.lanes()).collect::<Vec<_>>(), [2, 4, 8]);
    }

    /// Forms keep one for each of them: a cache line holds it with its operation and types.
    #[test]
    fn qualifiers_fit_a_cache_line() {
        assert!(size_of::<Qualifiers>() <= 64, "{}", size_of::<Qualifiers>());
    }
}
