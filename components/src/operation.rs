//! What instructions compute: one [`Operation`] for each instruction of the ISA, with its syntax.
//!
//! The syntax of an operation is what may stand after its name, in the ISA's order, which is also the order in which
//! [`crate::description::Description::write`] writes it:
//!
//! ```text
//! rounding      a field of Qualifiers, which may be absent; with ! it is always there
//! .ftz          a bit of Modifiers, which may be absent
//! type          the next type, which is always there; with ? it may be absent
//! extent        the extent of matrices
//! ```
//!
//! Which parts belong together (`.cc` and integers, `.ftz` and `.f32`) is not said: what was read is right already, and
//! who builds an instruction knows which one.

use crate::qualifiers::vocabulary::Meaning;
use crate::qualifiers::{Modifiers, Qualifiers};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Declares [`Operation`] from rows `Variant "name" "syntax"`.
macro_rules! operations {
    ($($variant:ident $name:literal $syntax:literal,)*) => {
        /// What an instruction computes. Qualifiers and types say how.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
        #[repr(u8)]
        pub enum Operation {
            /// Not in the table, or qualified in a way that the table does not know: nothing is known of its results.
            #[default]
            Unknown,
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        impl Operation {
            /// Every operation, in the order of their numbers, [`Operation::Unknown`] first.
            pub const ALL: &[Self] = &[Self::Unknown, $(Self::$variant,)*];
            const NAMES: &[&str] = &["", $($name,)*];
            const SYNTAX: &[&str] = &["", $($syntax,)*];
        }
    };
}

operations! {
    // Arithmetic.
    Add "add" ".cc rounding .ftz .sat type type?",
    Sub "sub" ".cc rounding .ftz .sat type type?",
    Addc "addc" ".cc type",
    Subc "subc" ".cc type",
    Mul "mul" "part rounding .ftz .sat type",
    Mul24 "mul24" "part! .sat type",
    Mad "mad" "part rounding .ftz .sat .cc type",
    Mad24 "mad24" "part! .sat type",
    Madc "madc" "part! .cc type",
    Fma "fma" "rounding! .ftz .sat .oob .relu type type?",
    Clmad "clmad" "part! type",
    Sad "sad" "type",
    Dp4a "dp4a" "type type",
    Dp2a "dp2a" "part! type type",
    Div "div" ".approx .full rounding .ftz type",
    Rem "rem" "type",
    Abs "abs" ".ftz type",
    Neg "neg" ".ftz type",
    Min "min" ".ftz .NaN .xorsign .abs .relu type",
    Max "max" ".ftz .NaN .xorsign .abs .relu type",
    Rcp "rcp" ".approx rounding .ftz type",
    Sqrt "sqrt" ".approx rounding .ftz type",
    Rsqrt "rsqrt" ".approx .ftz type",
    Sin "sin" ".approx .ftz type",
    Cos "cos" ".approx .ftz type",
    Lg2 "lg2" ".approx .ftz type",
    Ex2 "ex2" ".approx .ftz type",
    Tanh "tanh" ".approx type",
    Copysign "copysign" "type",
    Testp "testp" "class! type",

    // Logic, shifts, bit fields, counts.
    And "and" "type",
    Or "or" "type",
    Xor "xor" "type",
    Not "not" "type",
    Cnot "cnot" "type",
    Lop3 "lop3" "combiner type",
    Shl "shl" "type",
    Shr "shr" "type",
    Shf "shf" "direction! excess! type",
    Prmt "prmt" "type permutation",
    Bfe "bfe" "type",
    Bfi "bfi" "type",
    Bmsk "bmsk" "excess! type",
    Szext "szext" "excess! type",
    Popc "popc" "type",
    Clz "clz" "type",
    Bfind "bfind" ".shiftamt type",
    Fns "fns" "type",
    Brev "brev" "type",

    // Comparisons and selections.
    Setp "setp" "comparison! combiner .ftz type",
    Set "set" "comparison! combiner .ftz type type",
    Selp "selp" "type",
    Slct "slct" ".ftz type type",

    // Moves, conversions, addresses.
    Mov "mov" "vector type",
    // For results of eight bits the ISA writes `.satfinite` before `.relu`; the assembler takes both orders.
    Cvt "cvt" "rounding .ftz .sat .relu .satfinite type type",
    CvtPack "cvt.pack" ".sat type type type?",
    Cvta "cvta" "space! type",
    CvtaTo "cvta.to" "space! type",
    Isspacep "isspacep" "space!",
    Istypep "istypep" "type",
    Mapa "mapa" "space type",
    Getctarank "getctarank" "space type",

    // Memory.
    Ld "ld" ".mmio ordering scope space cache .nc eviction_l1 eviction_l2 .L2::cache_hint prefetch_size vector type",
    Ldu "ldu" "space vector type",
    St "st" ".mmio ordering scope space cache eviction_l1 eviction_l2 .L2::cache_hint vector type",
    StAsync "st.async" ".mmio ordering scope space completion vector type",
    StBulk "st.bulk" "ordering space",
    Prefetch "prefetch" "space level eviction_l2 .tensormap",
    Prefetchu "prefetchu" "level",
    ApplyPriority "applypriority" "space eviction_l2",
    ApplyPriorityBulk "applypriority.async.bulk" "space completion eviction_l2",
    ApplyPriorityTensor "applypriority.async.bulk.tensor" "geometry space completion tensor_mode eviction_l2",
    Discard "discard" "space level",
    CreatePolicyFractional "createpolicy.fractional" "eviction_l2 eviction_rest type",
    CreatePolicyRange "createpolicy.range" "space eviction_l2 eviction_rest type",
    CreatePolicyCvt "createpolicy.cvt" "level type",
    Alloca "alloca" "type",
    StackSave "stacksave" "type",
    StackRestore "stackrestore" "type",

    // Atomic accesses and reductions.
    Atom "atom" "ordering scope space reduction! .noftz .L2::cache_hint vector type",
    Red "red" "ordering scope space reduction! .noftz .L2::cache_hint vector type",
    RedAsync "red.async" ".mmio ordering scope space completion reduction! type",
    MultimemLoadReduce "multimem.ld_reduce" "ordering scope space reduction! accumulation vector type",
    MultimemStore "multimem.st" "ordering scope space vector type",
    MultimemReduce "multimem.red" "ordering scope space reduction! vector type",
    MultimemStoreAsync "multimem.st.async" "ordering scope space type",
    MultimemReduceAsync "multimem.red.async" "ordering scope space reduction! type",

    // Asynchronous copies.
    CopyAsync "cp.async" "cache space source_space .L2::cache_hint prefetch_size",
    CopyAsyncCommit "cp.async.commit_group" "",
    CopyAsyncWait "cp.async.wait_group" "",
    CopyAsyncWaitAll "cp.async.wait_all" "",
    CopyAsyncArrive "cp.async.mbarrier.arrive" ".noinc space type",
    CopyBulk "cp.async.bulk" "space source_space completion multicast .L2::cache_hint .cp_mask",
    MultimemCopyBulk "multimem.cp.async.bulk" "ordering scope space source_space completion .cp_mask type?",
    MultimemReduceBulk "multimem.cp.reduce.async.bulk"
        "ordering scope space source_space completion reduction! .noftz type",
    CopyBulkCommit "cp.async.bulk.commit_group" "",
    CopyBulkWait "cp.async.bulk.wait_group" ".read",
    CopyBulkPrefetch "cp.async.bulk.prefetch" "level space .L2::cache_hint",
    CopyTensor "cp.async.bulk.tensor"
        "geometry space source_space tensor_mode completion multicast cta_group .L2::cache_hint",
    CopyTensorPrefetch "cp.async.bulk.prefetch.tensor" "geometry level space tensor_mode .L2::cache_hint",
    ReduceBulk "cp.reduce.async.bulk" "space source_space completion .L2::cache_hint reduction! .noftz type",
    ReduceTensor "cp.reduce.async.bulk.tensor"
        "geometry space source_space reduction! tensor_mode completion .L2::cache_hint",

    // Barriers in memory, tensor maps, cluster launches.
    MbarrierInit "mbarrier.init" "memory_layout space type",
    MbarrierInval "mbarrier.inval" "space type",
    MbarrierExpect "mbarrier.expect_tx" "ordering scope space type",
    MbarrierComplete "mbarrier.complete_tx" "ordering scope space type",
    MbarrierArrive "mbarrier.arrive" ".expect_tx .noComplete ordering scope space type",
    MbarrierArriveDrop "mbarrier.arrive_drop" ".expect_tx .noComplete ordering scope space type",
    MbarrierCheckLayout "mbarrier.check_layout" "memory_layout! space type",
    MbarrierTestWait "mbarrier.test_wait" ".parity ordering scope space type",
    MbarrierTryWait "mbarrier.try_wait" ".parity ordering scope space type",
    MbarrierPendingCount "mbarrier.pending_count" "memory_layout type",
    TensorMapReplace "tensormap.replace" "tensor_mode map_field space type type",
    TensorMapQuery "tensormap.query.alloc_class_large" "space type",
    TensorMapCopyFence "tensormap.cp_fenceproxy" "space source_space proxy ordering scope .sync .aligned",
    LaunchTryCancel "clusterlaunchcontrol.try_cancel" ".async space completion multicast type",
    LaunchIsCanceled "clusterlaunchcontrol.query_cancel.is_canceled" "type type",
    LaunchFirstCta "clusterlaunchcontrol.query_cancel.get_first_ctaid" "vector type type",
    LaunchFirstCtaX "clusterlaunchcontrol.query_cancel.get_first_ctaid::x" "type type",
    LaunchFirstCtaY "clusterlaunchcontrol.query_cancel.get_first_ctaid::y" "type type",
    LaunchFirstCtaZ "clusterlaunchcontrol.query_cancel.get_first_ctaid::z" "type type",

    // Copies, reductions and atomic accesses over a fabric.
    FabricGet "fabric.try_get"
        ".async geometry space tensor_mode completion .mbarrier::report::fabric .L2::cache_hint ordering scope type",
    FabricPut "fabric.try_put"
        ".async .multimem space completion .mbarrier::report::fabric .counted::bytes .cp_mask ordering scope type",
    FabricReduce "fabric.try_red"
        ".async .multimem space completion .mbarrier::report::fabric .counted::bytes ordering scope reduction! type",
    FabricAtomic "fabric.try_atom" ".async space completion .mbarrier::report::fabric ordering scope reduction! type",
    FabricPullReduce "fabric.try_pullred"
        ".async .multimem space completion .mbarrier::report::fabric ordering scope reduction! accumulation type .sync",
    FabricSubmit "fabric.submit" ".op_restrict::fetching",
    FabricSubmitGroup "fabric.submit.commit_group" "",
    FabricWait "fabric.wait" "restriction!",

    // Textures and surfaces.
    Tex "tex" "geometry! vector type type",
    TexBase "tex.base" "geometry! vector type type",
    TexLevel "tex.level" "geometry! vector type type",
    TexGrad "tex.grad" "geometry! vector type type",
    Tld4 "tld4" "component geometry! vector type type",
    Txq "txq" "query! type",
    TxqLevel "txq.level" "query! type",
    Suq "suq" "query! type",
    Suld "suld" "surface! geometry cache vector type boundary",
    Sust "sust" "surface! geometry cache vector type boundary",
    Sured "sured" "surface! reduction! geometry type boundary",

    // Control.
    Bra "bra" ".uni",
    BrxIdx "brx.idx" ".uni",
    Call "call" ".uni",
    Ret "ret" ".uni",
    Exit "exit" "",
    Trap "trap" "",

    // Barriers and fences.
    Bar "bar" ".cta action! reduction .aligned type?",
    Barrier "barrier" ".cta action! reduction .aligned type?",
    BarWarpSync "bar.warp.sync" "",
    BarrierCluster "barrier.cluster" "action! ordering .aligned",
    Membar "membar" "scope",
    MembarProxy "membar.proxy" "proxy",
    Fence "fence" ".mbarrier_init ordering restriction scope",
    FenceProxy "fence.proxy" "proxy space ordering restriction scope",
    GridDependency "griddepcontrol" "action!",
    SetMaxRegisters "setmaxnreg" "action! .sync .aligned type",

    // Exchange between the threads of a warp.
    Vote "vote" ".sync vote! type",
    Shfl "shfl" ".sync shuffle! type",
    Match "match" "vote! .sync type",
    Redux "redux" ".sync reduction! .abs .NaN type",
    ActiveMask "activemask" "type",
    Elect "elect" ".sync",

    // Matrices of a warp.
    LoadMatrix "ldmatrix" ".sync .aligned extent repetition .trans space unpacked packed type?",
    StoreMatrix "stmatrix" ".sync .aligned extent repetition .trans space type",
    MoveMatrix "movmatrix" ".sync .aligned extent .trans type",
    SparseCompress "spcompress" "type type .sp::2:4 repetition",
    SparseDecompress "spdecompress" "type type .sp::2:4 repetition",
    WmmaLoadA "wmma.load.a" ".sync .aligned layout extent space type",
    WmmaLoadB "wmma.load.b" ".sync .aligned layout extent space type",
    WmmaLoadC "wmma.load.c" ".sync .aligned layout extent space type",
    WmmaStore "wmma.store.d" ".sync .aligned layout extent space type",
    WmmaMultiply "wmma.mma"
        "reduction .popc .sync .aligned layout layout_b extent rounding type type type? type? .satfinite",
    Mma "mma"
        ".sync .aligned extent layout layout_b kind .block_scale scale_vector .satfinite rounding type type type type \
         type? reduction .popc",
    MmaSparse "mma.sp"
        ".sync .aligned extent layout layout_b kind .block_scale scale_vector .satfinite type type type type type?",
    MmaSparseOrdered "mma.sp::ordered_metadata"
        ".sync .aligned extent layout layout_b kind .block_scale scale_vector .satfinite type type type type type?",

    // Tensor cores.
    WgmmaFence "wgmma.fence" ".sync .aligned",
    WgmmaCommit "wgmma.commit_group" ".sync .aligned",
    WgmmaWait "wgmma.wait_group" ".sync .aligned",
    WgmmaMultiply "wgmma.mma_async" ".sync .aligned extent type type type .satfinite reduction .popc",
    WgmmaMultiplySparse "wgmma.mma_async.sp" ".sync .aligned extent type type type .satfinite",
    TcAlloc "tcgen05.alloc" "cta_group .sync .aligned space type",
    TcDealloc "tcgen05.dealloc" "cta_group .sync .aligned type",
    TcRelinquish "tcgen05.relinquish_alloc_permit" "cta_group .sync .aligned",
    TcFenceBefore "tcgen05.fence::before_thread_sync" "",
    TcFenceAfter "tcgen05.fence::after_thread_sync" "",
    TcWaitLoad "tcgen05.wait::ld" ".sync .aligned",
    TcWaitStore "tcgen05.wait::st" ".sync .aligned",
    TcLoad "tcgen05.ld" ".sync .aligned tile repetition .pack::16b type",
    TcLoadReduce "tcgen05.ld.red" ".sync .aligned tile repetition reduction! .abs .NaN type",
    TcLoadCompress "tcgen05.ld.spcompress"
        ".sync .aligned tile repetition reduction! .sp::2:4 .abs .NaN type type",
    TcLoadReduceCompress "tcgen05.ld.red.spcompress"
        ".sync .aligned tile repetition reduction! .sp::2:4 .abs .NaN type type",
    TcStore "tcgen05.st" ".sync .aligned tile repetition .unpack::16b type",
    TcCopy "tcgen05.cp" "cta_group tile broadcast unpacked packed",
    TcShift "tcgen05.shift" "cta_group .down",
    TcCommit "tcgen05.commit" "cta_group completion space multicast type",
    TcMultiply "tcgen05.mma" "cta_group kind .block_scale scale_vector .ashift collector",
    TcMultiplySparse "tcgen05.mma.sp" "cta_group kind .block_scale scale_vector .ashift collector",
    TcMultiplyStationary "tcgen05.mma.ws" "cta_group kind collector",
    TcMultiplyStationarySparse "tcgen05.mma.ws.sp" "cta_group kind collector",

    // Video.
    Vadd "vadd" "type type type .sat reduction",
    Vsub "vsub" "type type type .sat reduction",
    Vabsdiff "vabsdiff" "type type type .sat reduction",
    Vmin "vmin" "type type type .sat reduction",
    Vmax "vmax" "type type type .sat reduction",
    Vshl "vshl" "type type type .sat excess! reduction",
    Vshr "vshr" "type type type .sat excess! reduction",
    Vset "vset" "type type comparison! reduction",
    Vmad "vmad" "type type type .po .sat scaling",
    Vadd2 "vadd2" "type type type .sat reduction",
    Vsub2 "vsub2" "type type type .sat reduction",
    Vavrg2 "vavrg2" "type type type .sat reduction",
    Vabsdiff2 "vabsdiff2" "type type type .sat reduction",
    Vmin2 "vmin2" "type type type .sat reduction",
    Vmax2 "vmax2" "type type type .sat reduction",
    Vset2 "vset2" "type type comparison! reduction",
    Vadd4 "vadd4" "type type type .sat reduction",
    Vsub4 "vsub4" "type type type .sat reduction",
    Vavrg4 "vavrg4" "type type type .sat reduction",
    Vabsdiff4 "vabsdiff4" "type type type .sat reduction",
    Vmin4 "vmin4" "type type type .sat reduction",
    Vmax4 "vmax4" "type type type .sat reduction",
    Vset4 "vset4" "type type comparison! reduction",

    // Debuggers, profilers, sleep.
    Brkpt "brkpt" "",
    Pmevent "pmevent" "",
    PmeventMask "pmevent.mask" "",
    TraceMark "trace.mark" "type?",
    Nanosleep "nanosleep" "type",
}

/// What may stand after the name of an operation, in order.
pub(crate) struct Syntax {
    /// The parts.
    pub(crate) parts: Vec<SyntaxPart>,
    /// A bit for each part that is always there, by its position.
    pub(crate) required: u32,
}

impl Syntax {
    fn parse(text: &str) -> Self {
        let tokens = || text.split_ascii_whitespace();
        let is_required = |token: &str| token.ends_with('!') || token == "type";
        let bits = tokens().enumerate().map(|(at, token)| u32::from(is_required(token)) << at);
        let required = bits.fold(0, |all, bit| all | bit);
        let parts = tokens().map(|token| SyntaxPart::parse(token.trim_end_matches(['!', '?']))).collect();
        Self { parts, required }
    }
}

/// A part of an operation's syntax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyntaxPart {
    /// The field of [`Qualifiers`] with this number.
    Field(u8),
    /// A bit.
    Modifier(Modifiers),
    /// The next type.
    Type,
    /// The extent of matrices.
    Extent,
}

impl SyntaxPart {
    fn parse(token: &str) -> Self {
        let modifier = |word| Modifiers::WORDS.iter().find(|(_, known)| *known == word).map(|&(bit, _)| bit);
        let field = |name| Qualifiers::FIELDS.iter().position(|field| field.name == name);
        match token.strip_prefix('.') {
            Some(word) => modifier(word).map(Self::Modifier),
            None if token == "type" => Some(Self::Type),
            None if token == "extent" => Some(Self::Extent),
            None => field(token).map(|number| Self::Field(number as u8)),
        }
        .unwrap_or_else(|| panic!("{token} is no part of a syntax"))
    }

    /// Whether a word with `meaning` may stand here.
    pub(crate) fn takes(self, meaning: Meaning) -> bool {
        match (self, meaning) {
            (Self::Field(wanted), Meaning::Field { field, .. }) => wanted == field,
            (Self::Modifier(wanted), Meaning::Modifier(bit)) => wanted == bit,
            (Self::Type, Meaning::Type(_)) => true,
            _ => false,
        }
    }
}

/// The table with its texts taken apart.
struct Index {
    /// By the number of the operation.
    syntax: Vec<Syntax>,
    /// By root: each operation with the words after the root, longest first.
    by_root: BTreeMap<&'static [u8], Vec<Named>>,
}

/// The words of a name after its root, and the operation that it names.
type Named = (Vec<&'static [u8]>, Operation);

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut by_root: BTreeMap<&[u8], Vec<_>> = BTreeMap::new();
    for &operation in &Operation::ALL[1..] {
        let mut words = operation.name().split('.').map(str::as_bytes);
        let root = words.next().unwrap_or_default();
        by_root.entry(root).or_default().push((words.collect::<Vec<_>>(), operation));
    }
    for candidates in by_root.values_mut() {
        candidates.sort_by_key(|(words, _)| std::cmp::Reverse(words.len()));
    }
    Index { syntax: Operation::SYNTAX.iter().map(|text| Syntax::parse(text)).collect(), by_root }
});

impl Operation {
    /// The words that name it, `cp.async.bulk`.
    #[inline]
    #[must_use]
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The operation of a mnemonic, given as its root and its qualifiers, and how many of them belong to its name: the
    /// longest name that leads the mnemonic wins.
    #[must_use]
    pub fn find(root: &[u8], qualifiers: &[&[u8]]) -> Option<(Self, usize)> {
        let candidates = INDEX.by_root.get(root)?;
        let (words, operation) = candidates.iter().find(|(words, _)| qualifiers.starts_with(words))?;
        Some((*operation, words.len()))
    }

    /// What may stand after its name, in order.
    pub(crate) fn syntax(self) -> &'static Syntax {
        &INDEX.syntax[self as usize]
    }

    /// Whether the syntax has this bit: `.ftz` of `add`, say, whatever its types.
    #[must_use]
    pub fn may_have(self, modifier: Modifiers) -> bool {
        self.syntax().parts.contains(&SyntaxPart::Modifier(modifier))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opcodes::Opcodes;
    use std::collections::BTreeSet;

    #[test]
    fn every_syntax_has_a_meaning() {
        assert!(Operation::ALL.len() <= 256);
        for &operation in Operation::ALL {
            let parts = &operation.syntax().parts;
            assert!(parts.len() <= u32::BITS as usize, "{operation:?}");
            let types = parts.iter().filter(|part| **part == SyntaxPart::Type).count();
            assert!(types <= crate::description::TYPES_MAX, "{operation:?}");
        }
    }

    #[test]
    fn the_longest_name_wins() {
        let found = |mnemonic: &str| {
            let mut words = mnemonic.split('.').map(str::as_bytes);
            Operation::find(words.next().unwrap(), &words.collect::<Vec<_>>())
        };
        assert_eq!(found("cp.async.bulk.tensor.2d"), Some((Operation::CopyTensor, 3)));
        assert_eq!(found("cp.async.ca.shared.global"), Some((Operation::CopyAsync, 1)));
        assert_eq!(found("bar.warp.sync"), Some((Operation::BarWarpSync, 2)));
        assert_eq!(found("bar.sync"), Some((Operation::Bar, 0)));
        assert_eq!(found("frobnicate.s32"), None);
        assert_eq!(found("wmma.frobnicate"), None);
    }

    /// The opcode table and this one list the same instructions.
    #[test]
    fn every_row_has_an_operation_and_every_operation_a_row() {
        let mut seen = BTreeSet::new();
        for row in Opcodes::rows() {
            let text = row.pattern.replace('*', "");
            let mut words = text.split('.').map(str::as_bytes);
            let root = words.next().unwrap();
            let found = Operation::find(root, &words.collect::<Vec<_>>());
            assert!(found.is_some(), "{}", row.pattern);
            seen.extend(found.map(|(operation, _)| operation as u8));
        }
        for &operation in &Operation::ALL[1..] {
            let mut words = operation.name().split('.').map(str::as_bytes);
            let root = words.next().unwrap();
            // The rows of `bar` say more than its name does.
            let is_found = Opcodes::get().find(root, &words.collect::<Vec<_>>()).is_some();
            assert!(is_found || seen.contains(&(operation as u8)), "{operation:?}");
        }
    }
}
