//! Matrices of a warp: all of its threads take part.

use super::access::{READ, WRITE};
use super::{Exec, Next};
use crate::lanes::{Lanes, WARP_SIZE};
use crate::memory::{put_value, value_of};
use crate::program::{ACCESS_MAX, Address, MatrixAction, MatrixOp, Source};
use crate::stop::{Access, Stop};
use crate::tensor::{MatrixMove, WmmaFragment};
use crate::warp::{Wait, lanes_of};

impl Exec<'_, '_> {
    /// A matrix instruction: waits until all threads of the warp that have not exited are here.
    pub(super) fn matrix(&mut self, op: &MatrixOp, mask: u32) -> Result<Next, Stop> {
        let is_split = self.split_off_unguarded(mask);
        if mask != self.warp.live {
            self.group.wait = Wait::WholeWarp;
            return Ok(Next::Choose);
        }
        let sources: Vec<Lanes> = op.sources.iter().map(|&source| self.value(source, mask)).collect();
        match &op.action {
            MatrixAction::Evaluate(evaluator) => {
                let read: Vec<&Lanes> = sources.iter().collect();
                evaluator(&read, &mut self.results[..op.targets.len()]);
            }
            MatrixAction::Rows(moves, address) => self.rows(moves, address, &sources, mask)?,
            MatrixAction::Fragment(fragment, address, stride) => {
                self.fragment(fragment, address, *stride, &sources, mask)?;
            }
        }
        for (at, &target) in op.targets.iter().enumerate() {
            self.write(at, target, mask);
        }
        self.group.pc += 1;
        Ok(if is_split { Next::Choose } else { Next::On })
    }

    /// Lets group `at` go on if it is the whole warp.
    pub(super) fn wake_whole(&mut self, at: usize) {
        let group = &mut self.warp.groups[at];
        if group.mask == self.warp.live {
            group.wait = Wait::Ready;
        }
    }

    /// `ldmatrix` where there are no sources, else `stmatrix`.
    fn rows(
        &mut self,
        moves: &MatrixMove,
        address: &Address,
        sources: &[Lanes],
        mask: u32,
    ) -> Result<(), Stop> {
        let addresses = self.addresses(address, mask);
        let mut rows = [[0; ACCESS_MAX]; WARP_SIZE];
        let (is_load, bytes) = (sources.is_empty(), moves.row_bytes);
        if is_load {
            for lane in 0..moves.addresses {
                let access = self.access(address.space, addresses[lane], bytes as u32, lane)?;
                rows[lane] = self.read(access, lane, READ)?;
            }
            self.results[..moves.registers].fill([0; WARP_SIZE]);
        }
        for lane in lanes_of(mask) {
            for piece in moves.pieces(lane) {
                let row = &mut rows[piece.address_lane];
                for bit in 0..piece.bits as usize {
                    let (byte, place) = ((piece.offset + bit) / 8, (piece.offset + bit) % 8);
                    let shift = piece.shift + bit as u32;
                    if is_load {
                        self.results[piece.register][lane] |= u64::from(row[byte] >> place & 1) << shift;
                    } else {
                        row[byte] |= ((sources[piece.register][lane] >> shift & 1) as u8) << place;
                    }
                }
            }
        }
        if !is_load {
            for lane in 0..moves.addresses {
                let access = self.access(address.space, addresses[lane], bytes as u32, lane)?;
                self.write_bytes(access, lane, &rows[lane][..bytes], WRITE)?;
            }
        }
        Ok(())
    }

    /// `wmma.load` where there are no sources, else `wmma.store`.
    fn fragment(
        &mut self,
        fragment: &WmmaFragment,
        address: &Address,
        stride: Option<Source>,
        sources: &[Lanes],
        mask: u32,
    ) -> Result<(), Stop> {
        let addresses = self.addresses(address, mask);
        let strides = stride.map(|stride| self.value(stride, mask));
        let is_load = sources.is_empty();
        if is_load {
            self.results[..fragment.registers()].fill([0; WARP_SIZE]);
        }
        let bytes = fragment.bits.div_ceil(8);
        let ones = super::values::ones(fragment.bits);
        for lane in lanes_of(mask) {
            let stride = strides.map_or(fragment.dense_stride(), |strides| strides[lane] as u32 as usize);
            for element in 0..fragment.elements {
                let bit = fragment.offset(lane, element, stride) as u64 * u64::from(fragment.bits);
                let access =
                    self.access(address.space, addresses[lane].wrapping_add(bit / 8), bytes, lane)?;
                let (register, shift) = fragment.register(element);
                if is_load {
                    let value = value_of(&self.read(access, lane, READ)?[..bytes as usize]);
                    self.results[register][lane] |= (value >> (bit % 8) & ones) << shift;
                } else {
                    self.store_element(access, lane, sources[register][lane] >> shift & ones)?;
                }
            }
        }
        Ok(())
    }

    fn store_element(&mut self, access: Access, lane: usize, value: u64) -> Result<(), Stop> {
        let mut bytes = [0; 8];
        put_value(&mut bytes[..access.bytes as usize], value);
        self.write_bytes(access, lane, &bytes[..access.bytes as usize], WRITE)
    }
}
