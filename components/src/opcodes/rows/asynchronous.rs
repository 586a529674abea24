//! Asynchronous copies, barriers in memory, and tensor maps.
//!
//! A bulk copy runs in another proxy after the instruction has issued: pinned and ordered, as its completion
//! is observed through a barrier or a group. Whatever a trailing optional operand is (size, mask, policy,
//! predicate) is decided by the qualifiers, so those slots are unchecked.

use super::super::row::{Effects, Row, row};

const COPY: Effects = Effects::READ.and(Effects::WRITE).and(Effects::ASYNC);
const BULK: Effects = COPY.and(Effects::ORDER).and(Effects::PINNED);
const REDUCE: Effects = BULK.and(Effects::ATOMIC);
const WAIT: Effects = Effects::ORDER.and(Effects::PINNED);
const BARRIER: Effects = Effects::READ.and(Effects::WRITE).and(Effects::ATOMIC).and(WAIT);

pub(super) const ROWS: &[Row] = &[
    // The elder copies: destination, source, size, then a source size or an ignore predicate, then a policy.
    row("cp.async", "@ @ .b32/i .x/i!? .x/i?", COPY),
    row("cp.async.commit_group", "", WAIT),
    row("cp.async.wait_group", ".b32/i", WAIT),
    row("cp.async.wait_all", "", WAIT),
    // Makes the barrier track the copies of this thread; it arrives later.
    row("cp.async.mbarrier.arrive", "@", BARRIER.and(Effects::ASYNC)),
    // Bulk copies to shared memory: destination, source, size, barrier, then a CTA mask and a policy.
    row("cp.async.bulk", "@ @ .b32/i @ .x/i? .x/i?", BULK),
    // Bulk copies to global memory complete through a group: no barrier, then a policy and a byte mask.
    row("cp.async.bulk*.bulk_group", "@ @ .b32/i .x/i? .x/i?", BULK),
    // How many bytes at the start and at the end are left out stands before the barrier.
    row("cp.async.bulk*.ignore_oob", "@ @ .b32/i .b32/i .b32/i @ .x/i? .x/i?", BULK),
    row("multimem.cp.async.bulk", "@ @ .b32/i .x/i?", BULK),
    row("multimem.cp.reduce.async.bulk", "@ @ .b32/i .x/i?", REDUCE),
    row("cp.async.bulk.commit_group", "", WAIT),
    row("cp.async.bulk.wait_group", ".b32/i", WAIT),
    row("cp.async.bulk.prefetch", "@ .b32/i .b64/i?", BULK),
    // Tensor copies: coordinates stand in the brackets of the tensor map. Offsets of `.im2col` follow the
    // barrier, then a CTA mask and a policy.
    row("cp.async.bulk.tensor", "@ @ @ .x/iv? .x/i? .x/i?", BULK),
    row("cp.async.bulk.tensor*.bulk_group", "@ @ .b64/i?", BULK),
    row("cp.async.bulk.prefetch.tensor", "@ .x/iv? .b64/i?", BULK),
    row("cp.reduce.async.bulk", "@ @ .b32/i @", REDUCE),
    row("cp.reduce.async.bulk*.bulk_group", "@ @ .b32/i .b64/i?", REDUCE),
    row("cp.reduce.async.bulk.tensor*.bulk_group", "@ @ .b64/i?", REDUCE),
    // Asynchronous stores to the shared memory of the cluster; the `.mmio` form goes to global memory without
    // a barrier.
    row("st.async", "@ .t/iv @?", Effects::WRITE.and(Effects::ASYNC).and(Effects::PINNED)),
    // Barriers in memory. Arrivals give a state token; a remote barrier gives none, so there the sink stands.
    row("mbarrier.init", "@ .b32/i", BARRIER),
    row("mbarrier.inval", "@", BARRIER),
    // The last operand is a mask of CTAs, where several are meant.
    row("mbarrier.expect_tx", "@ .b32/i .x/i?", BARRIER),
    row("mbarrier.complete_tx", "@ .b32/i .x/i?", BARRIER),
    row("mbarrier.arrive", "=b64/_ @ .b32/i? .x/i?", BARRIER),
    row("mbarrier.arrive_drop", "=b64/_ @ .b32/i? .x/i?", BARRIER),
    row("mbarrier.check_layout", "=pred @", BARRIER),
    // Tests wait for a token, or with `.parity` for a phase; `.try_wait` may suspend the thread for a time.
    row("mbarrier.test_wait", "=pred @ .b64/i", BARRIER),
    row("mbarrier.test_wait.parity", "=pred @ .b32/i", BARRIER),
    row("mbarrier.try_wait", "=pred @ .b64/i .b32/i?", BARRIER),
    row("mbarrier.try_wait.parity", "=pred @ .b32/i .b32/i?", BARRIER),
    // With a second predicate where a report is asked for, and its value in a register where that is, too.
    row("mbarrier.test_wait*.phase_type::primary", "=pred|=pred =b8? @ .b64/i", BARRIER),
    row("mbarrier.test_wait.parity*.phase_type::primary", "=pred|=pred =b8? @ .b32/i", BARRIER),
    row("mbarrier.try_wait*.phase_type::primary", "=pred|=pred =b8? @ .b64/i .b32/i?", BARRIER),
    row("mbarrier.try_wait.parity*.phase_type::primary", "=pred|=pred =b8? @ .b32/i .b32/i?", BARRIER),
    // Only takes a token apart; what is no token has no defined count.
    row("mbarrier.pending_count", "=b32 .b64/i", Effects::PURE),
    // Rewrites a field of a tensor map: an ordinal for the fields that are arrays, then the new value.
    row("tensormap.replace", "@ .x/i? .x/i?", Effects::READ.and(Effects::WRITE).and(WAIT)),
    row("tensormap.query.alloc_class_large", "=pred @", Effects::READ),
    // Copies a tensor map between spaces and fences the proxies; the whole warp takes part.
    row(
        "tensormap.cp_fenceproxy",
        "@ @ .b32/i",
        Effects::READ.and(Effects::WRITE).and(WAIT).and(Effects::CONVERGENT),
    ),
    // Cancels a cluster that has not started: an asynchronous write of 16 bytes, which the query takes apart.
    row("clusterlaunchcontrol.try_cancel", "@ @", BULK),
    row("clusterlaunchcontrol.query_cancel.is_canceled", "=pred .b128/i", Effects::PURE),
    row("clusterlaunchcontrol.query_cancel.get_first_ctaid", "=b32/ve .b128/i", Effects::PURE),
    row("clusterlaunchcontrol.query_cancel.get_first_ctaid::x", "=b32 .b128/i", Effects::PURE),
    row("clusterlaunchcontrol.query_cancel.get_first_ctaid::y", "=b32 .b128/i", Effects::PURE),
    row("clusterlaunchcontrol.query_cancel.get_first_ctaid::z", "=b32 .b128/i", Effects::PURE),
    // Between this memory and that of others over a fabric (ISA 9.3): the far side is an endpoint and an offset in brackets.
    // Copies in, and with a tensor map without a size; copies and reductions out, with a mask of bytes or a policy.
    row("fabric.try_get", "@ @ .b32/i? @ .x/i?", BULK),
    row("fabric.try_put", "@ @ .b32/i @ .x/i? .x/i?", BULK),
    row("fabric.try_red", "@ @ .b32/i @ .x/i? .x/i?", REDUCE),
    // The old value and the operands lie in shared memory.
    row("fabric.try_atom", "@ @ @ @ .x/i?", REDUCE),
    // The whole warp takes part.
    row("fabric.try_pullred", "@ @ .b32/i @ .b32/i .x/i?", REDUCE.and(Effects::CONVERGENT)),
    row("fabric.submit", "", WAIT),
    row("fabric.submit.commit_group", "", WAIT),
    row("fabric.wait", ".b32/i?", WAIT),
];
