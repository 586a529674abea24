//! The asynchronous tensor core instructions: `wgmma` of sm_90a and `tcgen05` of sm_100a and up.
//!
//! They run beside the program until a wait. Registers they name are in use until then: accumulators and
//! results are written late, and the register sources of `wgmma` are read late. Matrices are in memory, named
//! by descriptors, so every multiply also reads memory.

use super::super::row::{Effects, InFlight, Row, row};

const SYNC: Effects = Effects::CONVERGENT.and(Effects::ORDER).and(Effects::PINNED);
const MULTIPLY: Effects = Effects::CONVERGENT.and(Effects::ASYNC).and(Effects::PINNED).and(Effects::READ);
const TENSOR: Effects = MULTIPLY.and(Effects::WRITE);
const TENSOR_LOAD: Effects = MULTIPLY;
const TENSOR_STORE: Effects = TENSOR;

pub(super) const ROWS: &[Row] = &[
    row("wgmma.fence", "", SYNC).with(InFlight::Fence),
    row("wgmma.commit_group", "", SYNC).with(InFlight::Commit),
    row("wgmma.wait_group", ".b32/i", SYNC).with(InFlight::GroupWait),
    // Accumulator, A (descriptor or registers), descriptor of B, whether to add to the accumulator, then
    // literals that scale and transpose A and B. Sparse forms name metadata and selector before the
    // predicate.
    row("wgmma.mma_async", "~x/v .x/iv .b64/i .pred/i! .x/i? .x/i? .x/i? .x/i?", MULTIPLY)
        .with(InFlight::UntilGroup),
    row("wgmma.mma_async.sp", "~x/v .x/iv .b64/i .b32 .x/i .pred/i! .x/i? .x/i? .x/i? .x/i?", MULTIPLY)
        .with(InFlight::UntilGroup),
    // Tensor memory is allocated at run time; the address is written to shared memory.
    row("tcgen05.alloc", "@ .b32/i", SYNC.and(Effects::WRITE)),
    row("tcgen05.dealloc", ".b32/i .b32/i", SYNC),
    row("tcgen05.relinquish_alloc_permit", "", SYNC),
    row("tcgen05.fence::before_thread_sync", "", SYNC),
    row("tcgen05.fence::after_thread_sync", "", SYNC),
    row("tcgen05.wait::ld", "", SYNC).with(InFlight::LoadWait),
    row("tcgen05.wait::st", "", SYNC).with(InFlight::StoreWait),
    // The address is one of tensor memory. The shape `.16x32bx2` has two halves and names the offset of the
    // second.
    row("tcgen05.ld", "=b32/v @", TENSOR_LOAD).with(InFlight::UntilLoadWait),
    row("tcgen05.ld*.16x32bx2", "=b32/v @ .b32/i", TENSOR_LOAD).with(InFlight::UntilLoadWait),
    // The reducing load has a second result, the minimum or maximum over what it loaded.
    row("tcgen05.ld.red", "=t/v =t @", TENSOR_LOAD).with(InFlight::UntilLoadWait),
    row("tcgen05.ld.red*.16x32bx2", "=t/v =t @ .b32/i", TENSOR_LOAD).with(InFlight::UntilLoadWait),
    // Two of four elements, and which (ISA 9.4).
    row("tcgen05.ld.spcompress", "=b32/v =b32/v @ .b32/i?", TENSOR_LOAD).with(InFlight::UntilLoadWait),
    row("tcgen05.ld.red.spcompress", "=b32/v =b32/v =t @ .b32/i?", TENSOR_LOAD).with(InFlight::UntilLoadWait),
    row("tcgen05.st", "@ .b32/v", TENSOR_STORE).with(InFlight::UntilStoreWait),
    row("tcgen05.st*.16x32bx2", "@ .b32/i .b32/v", TENSOR_STORE).with(InFlight::UntilStoreWait),
    row("tcgen05.cp", "@ .b64/i", TENSOR),
    row("tcgen05.shift", "@", TENSOR),
    // Makes a barrier track what was issued before; the mask names the CTAs of a multicast.
    row("tcgen05.commit", "@ .x?", SYNC.and(TENSOR)),
    // D, A (descriptor or tensor memory), descriptor of B, instruction descriptor, lanes to leave alone (a
    // vector, may be absent), whether to add to D, scale of D (may be absent).
    row("tcgen05.mma", "@ .x/i .b64/i .b32/i .x/iv!*", TENSOR),
    row("tcgen05.mma.sp", "@ .x/i .b64/i @ .b32/i .x/iv!*", TENSOR),
    // Block scaling names the scales of A and B in tensor memory.
    row("tcgen05.mma*.block_scale", "@ .x/i .b64/i .b32/i @ @ .pred/i!", TENSOR),
    row("tcgen05.mma.sp*.block_scale", "@ .x/i .b64/i @ .b32/i @ @ .pred/i!", TENSOR),
    // Weight-stationary forms may end with a mask of zero columns.
    // A table in tensor memory decompresses the second matrix (ISA 9.4).
    row("tcgen05.mma*.decompress::lut::b", "@ .x/i .b64/i @ .b32/i .x/iv!*", TENSOR),
    row("tcgen05.mma*.block_scale.decompress::lut::b", "@ .x/i .b64/i @ .b32/i @ @ .pred/i!", TENSOR),
    row("tcgen05.mma.ws", "@ .x/i .b64/i .b32/i .pred/i! .b64/i?", TENSOR),
    row("tcgen05.mma.ws.sp", "@ .x/i .b64/i @ .b32/i .pred/i! .b64/i?", TENSOR),
];
