//! What special registers say.

use ptxopt_components::special_registers::SPECIAL_REGISTERS;

/// What a special register says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// `%tid`
    Tid,
    /// `%ntid`
    Ntid,
    /// `%ctaid`, `%clusterid`: each CTA is a cluster.
    Ctaid,
    /// `%nctaid`, `%nclusterid`
    Nctaid,
    /// `%laneid`
    Lane,
    /// `%warpid`
    Warp,
    /// `%nwarpid`
    Warps,
    /// `%cluster_nctaid`, `%cluster_nctarank`, `%nsmid`
    One,
    /// `%lanemask_*`: from the lane on, up or down, with or without it.
    LaneMask(LaneMask),
    /// `%clock`, `%clock64`, `%globaltimer`, ...
    Clock,
    /// `%clock_hi`, `%globaltimer_hi`
    ClockHigh,
    /// `%dynamic_smem_size`
    DynamicShared,
    /// `%total_smem_size`, `%aggr_smem_size`
    Shared,
    /// `%reserved_smem_offset_end`, `_cap`
    ReservedEnd,
    /// Everything that has nothing to say here.
    Zero,
}

/// Which lanes a mask holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneMask {
    /// The lane.
    Equal,
    /// It and those below.
    LessEqual,
    /// Those below.
    Less,
    /// It and those above.
    GreaterEqual,
    /// Those above.
    Greater,
}

/// What each row of the special registers says.
#[must_use]
pub fn table() -> Vec<Special> {
    SPECIAL_REGISTERS.iter().map(|register| meaning(register.name)).collect()
}

fn meaning(name: &str) -> Special {
    match name {
        "tid" => Special::Tid,
        "ntid" => Special::Ntid,
        "ctaid" | "clusterid" => Special::Ctaid,
        "nctaid" | "nclusterid" => Special::Nctaid,
        "laneid" => Special::Lane,
        "warpid" => Special::Warp,
        "nwarpid" => Special::Warps,
        "cluster_nctaid" | "cluster_nctarank" | "nsmid" => Special::One,
        "lanemask_eq" => Special::LaneMask(LaneMask::Equal),
        "lanemask_le" => Special::LaneMask(LaneMask::LessEqual),
        "lanemask_lt" => Special::LaneMask(LaneMask::Less),
        "lanemask_ge" => Special::LaneMask(LaneMask::GreaterEqual),
        "lanemask_gt" => Special::LaneMask(LaneMask::Greater),
        "clock" | "clock64" | "globaltimer" | "globaltimer_lo" => Special::Clock,
        "clock_hi" | "globaltimer_hi" => Special::ClockHigh,
        "dynamic_smem_size" => Special::DynamicShared,
        "total_smem_size" | "aggr_smem_size" => Special::Shared,
        "reserved_smem_offset_end" | "reserved_smem_offset_cap" => Special::ReservedEnd,
        _ => Special::Zero,
    }
}
