//! Instructions and functions without a model.
//!
//! What comes out is a hash of the mnemonic, of the values that go in, and of how often this thread has executed that
//! mnemonic with those values before: nothing in it depends on register numbers, lines or other instructions. Conversions and
//! reads of textures are not counted: the same place shows the same.

use super::Exec;
use crate::lanes::{Lanes, WARP_SIZE};
use crate::program::{Actual, Target, Uninterpreted};
use crate::stop::Stop;
use crate::uninterpreted::{Effect, LogEntry};
use crate::warp::lanes_of;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

impl Exec<'_, '_> {
    /// An instruction without a model.
    pub(super) fn uninterpreted(&mut self, op: &Uninterpreted, mask: u32) -> Result<(), Stop> {
        if !self.world.options.uninterpreted || op.names_memory {
            return Err(self.not_supported(op.mnemonic.clone()));
        }
        let inputs: Vec<Lanes> = op.sources.iter().map(|&source| self.value(source, mask)).collect();
        let mut hashes = [0; WARP_SIZE];
        for lane in lanes_of(mask) {
            let read: Vec<u64> = inputs.iter().map(|input| input[lane]).collect();
            let hash = hash_of(op.hash, &read);
            hashes[lane] = if op.is_repeatable { hash } else { self.counted(lane, hash) };
            if op.is_logged {
                self.log(lane, Effect::Instruction { mnemonic: op.mnemonic.clone(), inputs: read })?;
            }
        }
        for (at, &target) in op.targets.iter().enumerate() {
            self.hash_into(&hashes, at as u64, target, mask);
        }
        // What only writes its results may be deleted: it must not count.
        if op.is_logged {
            self.event();
        }
        Ok(())
    }

    /// A hash of `hash`, and of how often the thread asked for it.
    fn counted(&mut self, lane: usize, hash: u64) -> u64 {
        let times = self.occurrence(lane, hash);
        xxh3_64_with_seed(&times.to_le_bytes(), hash)
    }

    /// How often the thread of `lane` asked for `hash` before.
    pub(super) fn occurrence(&mut self, lane: usize, hash: u64) -> u64 {
        let thread = self.warp.threads[lane];
        let times = self.world.occurrences.entry((thread, hash)).or_insert(0);
        *times += 1;
        *times - 1
    }

    fn hash_into(&mut self, hashes: &Lanes, result: u64, target: Target, mask: u32) {
        self.results[0] = hashes.map(|hash| xxh3_64_with_seed(&result.to_le_bytes(), hash));
        self.write(0, target, mask);
    }

    /// Adds to the log.
    pub(super) fn log(&mut self, lane: usize, effect: Effect) -> Result<(), Stop> {
        if self.world.log.len() >= self.world.options.limits.log_entries {
            return Err(Stop::LogLimit);
        }
        let thread = self.warp.threads[lane];
        self.world.log.push(LogEntry { thread, effect });
        Ok(())
    }

    /// A call of a function without a body: its results are a hash of its arguments.
    pub(super) fn uninterpreted_call(
        &mut self,
        name: &str,
        arguments: &[Vec<Vec<u8>>],
        results: &[Actual],
    ) -> Result<(), Stop> {
        let mask = self.group.mask;
        let mut hashes = [0; WARP_SIZE];
        for lane in lanes_of(mask) {
            let parameters: Vec<u8> = arguments.iter().flat_map(|one| one[lane].iter().copied()).collect();
            let hash = hash_of(xxh3_64(name.as_bytes()), &[xxh3_64(&parameters)]);
            hashes[lane] = self.counted(lane, hash);
            self.log(lane, Effect::Call { function: name.to_owned(), parameters })?;
        }
        for (at, &actual) in results.iter().enumerate() {
            match actual {
                Actual::Into(target) => self.hash_into(&hashes, at as u64, target, mask),
                Actual::Frame(offset, size) => {
                    for lane in lanes_of(mask) {
                        let seed = hashes[lane];
                        let bytes: Vec<u8> = (0..size.div_ceil(8))
                            .flat_map(|word| xxh3_64_with_seed(&word.to_le_bytes(), seed).to_le_bytes())
                            .take(size as usize)
                            .collect();
                        self.set_frame(lane, offset, &bytes);
                    }
                }
                Actual::Value(_) | Actual::Nothing => {}
            }
        }
        self.event();
        Ok(())
    }
}

/// A hash of `seed` and `inputs`.
fn hash_of(seed: u64, inputs: &[u64]) -> u64 {
    let bytes: Vec<u8> = inputs.iter().flat_map(|input| input.to_le_bytes()).collect();
    xxh3_64_with_seed(&bytes, seed)
}
