//! The closed lists of words that qualify an instruction, one type for each choice.

/// Declares enums from rows `Variant "word"`; one list feeds the enum, its words and its documentation.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident $word:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $name {
            $(#[doc = concat!("`.", $word, "`")] $variant,)*
        }

        impl $name {
            /// Every value, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];
            /// The words of the values, without dots.
            pub const WORDS: &[&str] = &[$($word,)*];

            /// The word without its dot.
            #[inline]
            #[must_use]
            pub const fn word(self) -> &'static str {
                Self::WORDS[self as usize]
            }
        }
    )*};
}

words! {
    /// Rounding: to a value of the result's float type, or (`i`) to an integer.
    Rounding {
        Nearest "rn", Zero "rz", Down "rm", Up "rp", NearestAway "rna", Stochastic "rs",
        IntegerNearest "rni", IntegerZero "rzi", IntegerDown "rmi", IntegerUp "rpi",
    }

    /// Which part of a product is the result.
    Part { Low "lo", High "hi", Wide "wide", }

    /// The comparison of two values. Without a `u` in its name, a float comparison with a NaN is false; with one it is
    /// true. `lo`, `ls`, `hi` and `hs` are the unsigned comparisons of integers.
    Comparison {
        Equal "eq", NotEqual "ne", Less "lt", LessEqual "le", Greater "gt", GreaterEqual "ge",
        Lower "lo", LowerSame "ls", Higher "hi", HigherSame "hs",
        EqualOrNan "equ", NotEqualOrNan "neu", LessOrNan "ltu", LessEqualOrNan "leu", GreaterOrNan "gtu",
        GreaterEqualOrNan "geu", Numbers "num", AnyNan "nan",
    }

    /// How the result of a comparison is combined with a predicate; the second operation of `lop3`.
    Combiner { And "and", Or "or", Xor "xor", }

    /// What becomes of a shift amount, position or length that is too large.
    Excess { Wrap "wrap", Clamp "clamp", }

    /// Where a funnel shift goes.
    Direction { Left "l", Right "r", }

    /// The modes of `prmt`; without one each selector picks its byte.
    Permutation {
        Forward4 "f4e", Backward4 "b4e", Replicate8 "rc8", EdgeLeft "ecl", EdgeRight "ecr", Replicate16 "rc16",
    }

    /// What `testp` asks of a float.
    FloatClass {
        Finite "finite", Infinite "infinite", Number "number", NotANumber "notanumber", Normal "normal",
        Subnormal "subnormal",
    }

    /// Number of elements of a vector access.
    Vector { V2 "v2", V4 "v4", V8 "v8", }

    /// The place of an access in the memory model.
    Ordering {
        Weak "weak", Volatile "volatile", Relaxed "relaxed", Acquire "acquire", Release "release",
        AcquireRelease "acq_rel", SequentiallyConsistent "sc",
    }

    /// Whose accesses an ordered one is ordered with.
    Scope { Cta "cta", Cluster "cluster", Gpu "gpu", System "sys", Global "gl", }

    /// A state space as it is written; [`Space::state_space`] says which it is.
    Space {
        Global "global", Shared "shared", SharedCta "shared::cta", SharedCluster "shared::cluster", Local "local",
        Const "const", Param "param", ParamEntry "param::entry", ParamFunc "param::func",
    }

    /// Cache operators.
    CacheOperator { All "ca", Global "cg", Streaming "cs", LastUse "lu", Volatile "cv", WriteBack "wb", WriteThrough "wt", }

    /// How long a line stays in the first cache.
    EvictionL1 {
        Normal "L1::evict_normal", Unchanged "L1::evict_unchanged", First "L1::evict_first", Last "L1::evict_last",
        NoAllocate "L1::no_allocate",
    }

    /// How long a line stays in the second cache.
    EvictionL2 {
        Normal "L2::evict_normal", First "L2::evict_first", Last "L2::evict_last", Unchanged "L2::evict_unchanged",
    }

    /// How much the second cache fetches ahead.
    PrefetchSize { Bytes64 "L2::64B", Bytes128 "L2::128B", Bytes256 "L2::256B", }

    /// A cache.
    CacheLevel { L1 "L1", L2 "L2", }

    /// The operation of an atomic access or of a reduction, and the second one of a video instruction.
    Reduction {
        Add "add", Min "min", Max "max", Inc "inc", Dec "dec", And "and", Or "or", Xor "xor", Exchange "exch",
        CompareAndSwap "cas", Popc "popc",
    }

    /// How `shfl` chooses the lane that it reads.
    ShuffleMode { Up "up", Down "down", Butterfly "bfly", Index "idx", }

    /// What `vote` and `match` find out.
    VoteMode { All "all", Any "any", Uniform "uni", Ballot "ballot", }

    /// What a barrier, a dependent grid or a register budget does.
    Action {
        Sync "sync", Arrive "arrive", Reduce "red", Wait "wait", LaunchDependents "launch_dependents", Increase "inc",
        Decrease "dec",
    }

    /// The proxies that a fence orders.
    Proxy {
        Alias "alias", Async "async", AsyncGeneric "async::generic", TensorMapGeneric "tensormap::generic",
    }

    /// What a fence or a wait restricts its effect to.
    SyncRestriction {
        Cta "sync_restrict::shared::cta", Cluster "sync_restrict::shared::cluster", Read "sync_restrict::read",
        Reads "sync_restrict::reads",
    }

    /// How an asynchronous operation says that it has ended.
    Completion {
        MbarrierBytes "mbarrier::complete_tx::bytes", BulkGroup "bulk_group", MbarrierArrive "mbarrier::arrive::one",
        Mbarrier16Bytes "mbarrier::complete_tx::16B",
    }

    /// How a barrier in memory is laid out.
    BarrierLayout { V0 "layout::v0", V1 "layout::v1", }

    /// Copies that go to several CTAs.
    Multicast { Cluster "multicast::cluster", ClusterAll "multicast::cluster::all", }

    /// How many CTAs take part in a tensor core operation.
    CtaGroup { One "cta_group::1", Two "cta_group::2", }

    /// Dimensions of a texture, surface or tensor.
    Geometry {
        D1 "1d", D2 "2d", D3 "3d", D4 "4d", D5 "5d", Array1 "a1d", Array2 "a2d", Cube "cube", CubeArray "acube",
        Multisample2 "2dms", MultisampleArray2 "a2dms",
    }

    /// The component that `tld4` gathers.
    Component { Red "r", Green "g", Blue "b", Alpha "a", }

    /// Whether a surface access converts.
    SurfaceAccess { Bytes "b", Formatted "p", }

    /// What a surface access does outside of the surface.
    Boundary { Trap "trap", Clamp "clamp", Zero "zero", }

    /// What is asked of a texture, sampler or surface.
    TextureQuery {
        Width "width", Height "height", Depth "depth", ChannelDataType "channel_data_type",
        ChannelOrder "channel_order", NormalizedCoords "normalized_coords", ArraySize "array_size",
        MipmapLevels "num_mipmap_levels", Samples "num_samples", FilterMode "filter_mode",
        AddressMode0 "addr_mode_0", AddressMode1 "addr_mode_1", AddressMode2 "addr_mode_2",
        UnnormalizedCoords "force_unnormalized_coords", MemoryLayout "memory_layout",
    }

    /// A field of a tensor map.
    TensorMapField {
        Address "global_address", Rank "rank", BoxDim "box_dim", Dim "global_dim", Stride "global_stride",
        ElementStride "element_stride", ElementType "elemtype", Interleave "interleave_layout",
        Swizzle "swizzle_mode", SwizzleAtomicity "swizzle_atomicity", Fill "fill_mode",
    }

    /// How a tensor copy walks through the tensor.
    TensorMode {
        Tile "tile", Gather4 "tile::gather4", Scatter4 "tile::scatter4", Im2col "im2col", Im2colW "im2col::w",
        Im2colW128 "im2col::w::128", Im2colNoOffsets "im2col_no_offs",
    }

    /// How a matrix lies in memory.
    Layout { Row "row", Column "col", }

    /// How often a fragment or column repeats.
    Repetition { X1 "x1", X2 "x2", X4 "x4", X8 "x8", X16 "x16", X32 "x32", X64 "x64", X128 "x128", }

    /// The element types of a matrix multiply, as a group.
    MatrixKind {
        F16 "kind::f16", Tf32 "kind::tf32", F8F6F4 "kind::f8f6f4", I8 "kind::i8", Mxf8F6F4 "kind::mxf8f6f4",
        Mxf4 "kind::mxf4", Mxf4Nvf4 "kind::mxf4nvf4",
    }

    /// How many scales a block of a scaled multiply has, or how long it is.
    ScaleVector {
        One "scale_vec::1X", Two "scale_vec::2X", Four "scale_vec::4X", Block16 "block16", Block32 "block32",
    }

    /// What becomes of the buffer that collects a matrix of `tcgen05.mma`.
    Collector {
        ADiscard "collector::a::discard", AFill "collector::a::fill", ALastUse "collector::a::lastuse",
        AUse "collector::a::use", B0Discard "collector::b0::discard", B0Fill "collector::b0::fill",
        B0LastUse "collector::b0::lastuse", B0Use "collector::b0::use", B1Discard "collector::b1::discard",
        B1Fill "collector::b1::fill", B1LastUse "collector::b1::lastuse", B1Use "collector::b1::use",
        B2Discard "collector::b2::discard", B2Fill "collector::b2::fill", B2LastUse "collector::b2::lastuse",
        B2Use "collector::b2::use", B3Discard "collector::b3::discard", B3Fill "collector::b3::fill",
        B3LastUse "collector::b3::lastuse", B3Use "collector::b3::use",
    }

    /// The warps that a copy to tensor memory goes to.
    Broadcast { Pairs02 "warpx2::02_13", Pairs01 "warpx2::01_23", All "warpx4", }

    /// A packed format, before or after it is unpacked.
    Packing { B8x16 "b8x16", B6x16P32 "b6x16_p32", B4x16P64 "b4x16_p64", }

    /// The type in which a reduction adds up.
    Accumulation { F16 "acc::f16", F32 "acc::f32", }

    /// The scaling of `vmad`.
    Scaling { Shift7 "shr7", Shift15 "shr15", }

    /// Rows and bits of an access to tensor memory.
    Tile {
        R16B64 "16x64b", R16B128 "16x128b", R16B256 "16x256b", R32B32 "32x32b", R16B32Twice "16x32bx2",
        R128B256 "128x256b", R4B256 "4x256b", R128B128 "128x128b", R64B128 "64x128b", R32B128 "32x128b",
    }
}
