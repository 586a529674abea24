//! What a processor has of registers, warps and blocks, and how many registers a kernel may take there.
//!
//! Sources: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" (warps and blocks per SM, 64 K
//! registers of 32 bits); the four partitions of an SM and the order of the rules below are measured with `ptxas` 13.0.88,
//! as its figures for `.maxntid 96, .minnctapersm 7` fit a quarter of the registers for a quarter of the warps only.

/// Threads of a warp.
pub const WARP_THREADS: u32 = 32;
/// Most registers of a thread.
pub const REGISTERS_MAX: u32 = 255;
/// Registers of a thread are allocated in this step: 256 a warp.
const STEP: u32 = 8;
/// Parts of an SM, each with its registers and its warps.
const PARTITIONS: u32 = 4;
/// Registers of a part.
const PARTITION_REGISTERS: u32 = 64 * 1024 / PARTITIONS;
/// Fewest registers that the command line may ask for: below, `ptxas` warns and takes these.
const COMMAND_LINE_MIN: u32 = 24;

/// A processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Warps that an SM holds.
    pub warps_max: u32,
    /// Blocks that an SM holds.
    pub blocks_max: u32,
}

impl Target {
    /// The processor of compute capability `sm`, 90 for 9.0. What is not listed has the limits of the last before it.
    #[must_use]
    pub const fn of(sm: u32) -> Self {
        let (warps_max, blocks_max) = match sm {
            0..75 => (64, 32),
            75..80 => (32, 16),
            80..86 => (64, 32),
            86..89 => (48, 16),
            89 => (48, 24),
            90..110 => (64, 32),
            _ => (48, 24),
        };
        Self { warps_max, blocks_max }
    }

    /// Registers that a thread may take so that an SM holds `warps`.
    #[must_use]
    pub const fn registers_for(self, warps: u32) -> u32 {
        let registers = PARTITION_REGISTERS / (warps.div_ceil(PARTITIONS) * WARP_THREADS);
        let whole = registers / STEP * STEP;
        if whole < REGISTERS_MAX { whole } else { REGISTERS_MAX }
    }

    /// Registers that a thread may take without keeping a warp from an SM that is full otherwise.
    #[must_use]
    pub const fn registers_when_full(self) -> u32 {
        self.registers_for(self.warps_max)
    }

    /// Warps that an SM holds of blocks of `threads` threads that take `registers` each; no shared memory is counted.
    #[must_use]
    pub fn resident_warps(self, registers: u32, threads: u32) -> u32 {
        let of_block = threads.div_ceil(WARP_THREADS).max(1);
        let of_warp = registers.max(1).next_multiple_of(STEP) * WARP_THREADS;
        let by_registers = PARTITION_REGISTERS / of_warp * PARTITIONS;
        let blocks = (by_registers.min(self.warps_max) / of_block).min(self.blocks_max);
        blocks * of_block
    }
}

/// What the header of a kernel says of its launches; zeros where it says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Promises {
    /// `.maxnreg`
    pub registers: u32,
    /// Threads of a block: `.reqntid`, or at most, `.maxntid`.
    pub threads: u32,
    /// `.minnctapersm`
    pub blocks: u32,
}

/// Most registers that a thread of a kernel may take, by the rules of `ptxas`:
///
/// 1. `.maxnreg` stands over everything.
/// 2. `.reqntid` or `.maxntid`, with `.minnctapersm` where an SM holds so many threads (it is ignored otherwise, and without
///    the other two): what that many warps leave each. The command line is ignored then.
/// 3. The command line, `--maxrregcount`.
#[must_use]
pub fn budget(target: Target, promises: Promises, command_line: Option<u32>) -> u32 {
    if promises.registers > 0 {
        return promises.registers.min(REGISTERS_MAX);
    }
    if promises.threads > 0 {
        let of_block = promises.threads.div_ceil(WARP_THREADS);
        let asked = of_block.saturating_mul(promises.blocks.max(1));
        return target.registers_for(if asked <= target.warps_max {
            asked
        } else {
            of_block.min(target.warps_max)
        });
    }
    command_line.map_or(REGISTERS_MAX, |limit| limit.clamp(COMMAND_LINE_MIN, REGISTERS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn promises(threads: u32, blocks: u32, registers: u32) -> Promises {
        Promises { registers, threads, blocks }
    }

    /// What `ptxas -v` 13.0.88 reports of a kernel with 150 and more live values, where it does not give up on the limit.
    #[test]
    fn budgets_are_those_of_the_assembler() {
        let of = |sm: u32, promises| budget(Target::of(sm), promises, None);
        for sm in [75, 80, 86, 89, 90, 100, 103, 120] {
            for (threads, blocks, limit, registers) in [
                (0, 0, 0, 255),
                (1024, 0, 0, 64),
                (768, 0, 0, 80),
                (512, 0, 0, 128),
                (384, 0, 0, 168),
                (256, 0, 0, 255),
                (256, 1, 0, 255),
                (256, 2, 0, 128),
                (256, 3, 0, 80),
                (16 * 16, 4, 0, 64),
                (96, 7, 0, 80),
                (0, 4, 0, 255),
                (0, 0, 77, 77),
                (1024, 0, 100, 100),
                (512, 0, 40, 40),
            ] {
                let promises = promises(threads, blocks, limit);
                assert_eq!(of(sm, promises), registers, "sm_{sm} {promises:?}");
            }
        }
        // Blocks that an SM does not hold are ignored.
        for (sm, blocks, registers) in [
            (75, 5, 255),
            (75, 8, 255),
            (80, 5, 48),
            (80, 6, 40),
            (80, 8, 32),
            (86, 6, 40),
            (86, 8, 255),
            (90, 8, 32),
            (120, 8, 255),
        ] {
            assert_eq!(of(sm, promises(256, blocks, 0)), registers, "sm_{sm} {blocks}");
        }
    }

    #[test]
    fn the_command_line_stands_below_the_header() {
        let of = |promises, limit: u32| budget(Target::of(90), promises, Some(limit));
        let nothing = promises(0, 0, 0);
        assert_eq!([32, 33, 7, 300].map(|limit| of(nothing, limit)), [32, 33, 24, 255]);
        assert_eq!([of(promises(0, 0, 50), 32), of(promises(256, 4, 0), 32)], [50, 64]);
        assert_eq!(of(promises(0, 4, 0), 32), 32);
    }

    #[test]
    fn occupancy_is_that_of_the_tables() {
        let warps = |sm: u32, registers: u32, threads: u32| Target::of(sm).resident_warps(registers, threads);
        assert_eq!([warps(80, 32, 128), warps(80, 33, 128), warps(80, 255, 128)], [64, 48, 8]);
        assert_eq!([warps(75, 64, 128), warps(86, 40, 128), warps(120, 41, 128)], [32, 48, 40]);
        assert_eq!([warps(90, 32, 32), warps(86, 32, 32), warps(90, 64, 1024)], [32, 16, 32]);
        assert_eq!(warps(90, 80, 1024), 0, "such a block does not start");
        assert_eq!(
            [75, 80, 86, 90, 120].map(|sm| Target::of(sm).registers_when_full()),
            [64, 32, 40, 32, 40]
        );
    }
}
