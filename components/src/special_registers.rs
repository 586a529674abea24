//! Special registers (PTX ISA 9.5, section 10).

/// How a special register behaves when it is read twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The same value for the whole life of the thread.
    Fixed,
    /// May differ at each read: clocks, counters, what the scheduler may change.
    Varying,
}

/// Which threads read the same value from a special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shared {
    /// Each thread of a warp has its own.
    Thread,
    /// The threads of a warp read the same, whenever they do.
    Warp,
    /// The threads of a warp that read together read the same: where the warp runs, which may change.
    Moment,
    /// Any two reads may differ.
    Never,
}

/// A special register.
#[derive(Clone, Copy, Debug)]
pub struct SpecialRegister {
    /// Its name, without `%`.
    pub name: &'static str,
    /// How it behaves when read twice.
    pub reading: Reading,
    /// Who reads the same.
    pub shared: Shared,
}

const fn fixed(name: &'static str) -> SpecialRegister {
    SpecialRegister { name, reading: Reading::Fixed, shared: Shared::Warp }
}

const fn of_thread(name: &'static str) -> SpecialRegister {
    SpecialRegister { name, reading: Reading::Fixed, shared: Shared::Thread }
}

const fn of_place(name: &'static str) -> SpecialRegister {
    SpecialRegister { name, reading: Reading::Varying, shared: Shared::Moment }
}

const fn varying(name: &'static str) -> SpecialRegister {
    SpecialRegister { name, reading: Reading::Varying, shared: Shared::Never }
}

/// Every special register; numbered families are listed one by one. An operand holds the row number.
pub const SPECIAL_REGISTERS: &[SpecialRegister] = &[
    of_thread("tid"),
    fixed("ntid"),
    fixed("ctaid"),
    fixed("nctaid"),
    of_thread("laneid"),
    of_place("warpid"),
    of_place("nwarpid"),
    of_place("smid"),
    of_place("nsmid"),
    of_place("locality_domain_id"),
    of_place("locality_domain_supplemental_sm"),
    fixed("gridid"),
    fixed("is_explicit_cluster"),
    fixed("clusterid"),
    fixed("nclusterid"),
    fixed("cluster_ctaid"),
    fixed("cluster_nctaid"),
    fixed("cluster_ctarank"),
    fixed("cluster_nctarank"),
    of_thread("lanemask_eq"),
    of_thread("lanemask_le"),
    of_thread("lanemask_lt"),
    of_thread("lanemask_ge"),
    of_thread("lanemask_gt"),
    varying("clock"),
    varying("clock_hi"),
    varying("clock64"),
    varying("globaltimer"),
    varying("globaltimer_lo"),
    varying("globaltimer_hi"),
    fixed("reserved_smem_offset_begin"),
    fixed("reserved_smem_offset_end"),
    fixed("reserved_smem_offset_cap"),
    fixed("reserved_smem_offset_0"),
    fixed("reserved_smem_offset_1"),
    fixed("total_smem_size"),
    fixed("aggr_smem_size"),
    fixed("dynamic_smem_size"),
    fixed("perctamemoryoffset"),
    fixed("perctamemorysize"),
    fixed("current_graph_exec"),
    varying("pm0"),
    varying("pm1"),
    varying("pm2"),
    varying("pm3"),
    varying("pm4"),
    varying("pm5"),
    varying("pm6"),
    varying("pm7"),
    varying("pm0_64"),
    varying("pm1_64"),
    varying("pm2_64"),
    varying("pm3_64"),
    varying("pm4_64"),
    varying("pm5_64"),
    varying("pm6_64"),
    varying("pm7_64"),
    fixed("envreg0"),
    fixed("envreg1"),
    fixed("envreg2"),
    fixed("envreg3"),
    fixed("envreg4"),
    fixed("envreg5"),
    fixed("envreg6"),
    fixed("envreg7"),
    fixed("envreg8"),
    fixed("envreg9"),
    fixed("envreg10"),
    fixed("envreg11"),
    fixed("envreg12"),
    fixed("envreg13"),
    fixed("envreg14"),
    fixed("envreg15"),
    fixed("envreg16"),
    fixed("envreg17"),
    fixed("envreg18"),
    fixed("envreg19"),
    fixed("envreg20"),
    fixed("envreg21"),
    fixed("envreg22"),
    fixed("envreg23"),
    fixed("envreg24"),
    fixed("envreg25"),
    fixed("envreg26"),
    fixed("envreg27"),
    fixed("envreg28"),
    fixed("envreg29"),
    fixed("envreg30"),
    fixed("envreg31"),
];

/// The row of the special register called `name` (without `%`).
#[must_use]
pub fn find(name: &[u8]) -> Option<usize> {
    SPECIAL_REGISTERS.iter().position(|register| register.name.as_bytes() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_finds_its_own_row() {
        for (row, register) in SPECIAL_REGISTERS.iter().enumerate() {
            assert_eq!(find(register.name.as_bytes()), Some(row));
        }
        assert_eq!(find(b"r1"), None);
    }
}
