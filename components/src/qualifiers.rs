//! The words that qualify an instruction: what stands behind the dots of a mnemonic.
//!
//! A word that is not among them may mean anything, so a mnemonic with one is kept like an instruction that is not known.

use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The words of the ISA's syntax tables, PTX 1.0 to 9.0, without shapes.
const WORDS: &str = "\
    2dms L1 L1::evict_first L1::evict_last L1::evict_normal L1::evict_unchanged L1::no_allocate L2 L2::128B L2::256B \
    L2::64B L2::cache_hint L2::evict_first L2::evict_last L2::evict_normal L2::evict_unchanged NaN a a1d a2d a2dms \
    abs acc::f16 acc::f32 acq_rel acquire acube add addr_mode_0 addr_mode_1 addr_mode_2 alias aligned all alloc and \
    any approx array_size arrive arrive_drop ashift async async::generic b b1 b1024 b128 b16 b32 b4e b4x16_p64 b64 \
    b6x16_p32 b8 b8x16 ballot base bf16 bf16x2 bfly block16 block32 block_scale box_dim bulk bulk_group c ca cas cc \
    cg channel_data_type channel_order clamp cluster col collector::a::discard collector::a::fill \
    collector::a::lastuse collector::a::use collector::b0::discard collector::b0::fill collector::b0::lastuse \
    collector::b0::use collector::b1::discard collector::b1::fill collector::b1::lastuse collector::b1::use \
    collector::b2::discard collector::b2::fill collector::b2::lastuse collector::b2::use collector::b3::discard \
    collector::b3::fill collector::b3::lastuse collector::b3::use commit commit_group complete_tx const count cp \
    cp_fenceproxy cp_mask cs cta cta_group::1 cta_group::2 cube cv cvt d dealloc dec depth down e2m1 e2m1x2 e2m1x4 \
    e2m3 e2m3x2 e2m3x4 e3m2 e3m2x2 e3m2x4 e4m3 e4m3x2 e4m3x4 e5m2 e5m2x2 e5m2x4 ecl ecr element_stride elemtype eq \
    equ exch expect_tx f16 f16x2 f32 f32x2 f4e f64 fence fence::after_thread_sync fence::before_thread_sync \
    fill_mode filter_mode finite force_unnormalized_coords fractional ftz full g ge get_first_ctaid \
    get_first_ctaid::x get_first_ctaid::y get_first_ctaid::z geu gl global global_address global_dim global_stride \
    gpu grad gt gtu height hi hs idx im2col im2col::w im2col::w::128 im2col_no_offs inc infinite init \
    interleave_layout inval is_canceled kind::f16 kind::f8f6f4 kind::i8 kind::mxf4 kind::mxf4nvf4 kind::mxf8f6f4 \
    kind::tf32 l launch_dependents ld ld_reduce le leu level lo load local ls lt ltu lu mask max mbarrier \
    mbarrier::arrive::one mbarrier::complete_tx::bytes mbarrier_init memory_layout min mma mma_async mmio \
    multicast::cluster multicast::cluster::all nan nc ne neu noComplete noftz noinc normal normalized_coords \
    notanumber num num_mipmap_levels num_samples number oob or p pack pack::16b param param::entry parity \
    pending_count po popc pred prefetch proxy query_cancel r range rank rc16 rc8 read red reduce relaxed release \
    relinquish_alloc_permit relu replace rm rmi rn rna rni row rp rpi rs rz rzi s16 s16x2 s2 s32 s4 s64 s8 \
    samplerref sat satfinite sc scale_vec::1X scale_vec::2X scale_vec::4X shared shared::cluster shared::cta shift \
    shiftamt shr15 shr7 sp sp::ordered_metadata st store subnormal surfref swizzle_mode sync \
    sync_restrict::shared::cluster sync_restrict::shared::cta sys tensor tensormap tensormap::generic test_wait \
    texref tf32 tile tile::gather4 tile::scatter4 to trans trap try_cancel try_wait u16 u16x2 u2 u32 u4 u64 u8 ue4m3 \
    ue8m0 ue8m0x2 uni unified unpack::16b up v2 v4 v8 volatile wait wait::ld wait::st wait_all wait_group warp \
    warpx2::01_23 warpx2::02_13 warpx4 wb weak wide width wrap ws wt x1 x128 x16 x2 x32 x4 x64 x8 xor xorsign zero";

static KNOWN: LazyLock<BTreeSet<&'static [u8]>> =
    LazyLock::new(|| WORDS.split_ascii_whitespace().map(str::as_bytes).collect());

/// Whether the ISA has the word, as a qualifier of some instruction.
#[must_use]
pub fn is_known(word: &[u8]) -> bool {
    KNOWN.contains(word) || is_shape(word)
}

/// Extents of matrices and tiles, `m16n8k16` or `16x256b`, and of textures, `2d`.
fn is_shape(word: &[u8]) -> bool {
    let is_extent = |letters: &[u8]| {
        let is_one = |&byte: &u8| byte.is_ascii_digit() || letters.contains(&byte);
        word.iter().all(is_one) && word.iter().any(u8::is_ascii_digit)
    };
    (word.starts_with(b"m") && is_extent(b"mnk"))
        || (word.first().is_some_and(u8::is_ascii_digit) && is_extent(b"xbd"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_shapes_are_known_and_others_are_not() {
        for word in ["volatile", "f32", "L2::128B", "m16n8k16", "m64n256k8", "16x32bx2", "2d", "e4m3x2"] {
            assert!(is_known(word.as_bytes()), "{word}");
        }
        for word in ["newthing", "", "m", "x", "d2", "m16n8z4", "L2::1B", "Volatile"] {
            assert!(!is_known(word.as_bytes()), "{word}");
        }
    }
}
