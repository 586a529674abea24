//! The way of a thread: what tells it from threads of its warp that are elsewhere.
//!
//! A stack. Each entry is a part of the code between a branch and its reconvergence, and a hash of the blocks that the thread has
//! entered in it; what lies in inner parts is forgotten when they end:
//! ```text
//! A: @p bra C;      [A]            the outermost part
//! B: ...            [A] [B]        a part that ends at D
//! C: ...            [A] [C]        the same for others
//! D: ...            [A D]          for all
//! ```

use super::flow::{Flow, NOWHERE};

/// A part of the code that a thread is in.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Where it ends: the first operation of a block.
    meets: u32,
    /// The frame that it is in: first register slot and function.
    frame: (u32, u32),
    /// The block that was entered last.
    block: u32,
    /// Hash of the blocks that were entered here, after those of the parts around.
    hash: u64,
}

/// The way of a thread.
#[derive(Clone, Debug, Default)]
pub struct Way {
    parts: Vec<Part>,
    /// The operation that the thread was seen at, and its frame.
    at: Option<(u32, u32)>,
}

/// The way on from one with `hash` to `step`. Two ways of a warp with one hash would be taken for one: at 64 bits that happens
/// once in about 2^30 launches of 2^17 blocks.
fn mix(hash: u64, step: u64) -> u64 {
    let mixed = (hash ^ step).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ mixed >> 29).wrapping_mul(0x94d0_49bb_1331_11eb) ^ hash.rotate_left(23)
}

impl Way {
    /// Notes that the thread is at `pc`; whether it was not before.
    pub fn moves_to(&mut self, pc: u32, base: u32) -> bool {
        self.at.replace((pc, base)) != Some((pc, base))
    }

    /// Enters the block that begins at `pc`; gives the way to it.
    pub fn enter(&mut self, flow: &Flow, pc: u32, base: u32, function: u32) -> u64 {
        let frame = (base, function);
        self.find_frame(frame, pc);
        let top = self.parts[self.parts.len() - 1];
        let meets = if top.block == NOWHERE { NOWHERE } else { flow.meets(top.block) };
        if meets != NOWHERE && meets != top.meets {
            self.parts.push(Part { meets, ..top });
        }
        while let Some(part) = self.parts.last()
            && part.meets == pc
            && part.frame == frame
        {
            self.parts.pop();
        }
        let part = self.parts.last_mut().expect("the outermost part of a frame meets nowhere");
        part.hash = mix(part.hash, u64::from(pc));
        part.block = pc;
        part.hash
    }

    /// Leaves the parts of functions that have returned, or begins one of a function that was called.
    fn find_frame(&mut self, frame: (u32, u32), pc: u32) {
        let is_called = |part: &Part| frame.0 > part.frame.0;
        let around = self.parts.iter().rposition(|part| part.frame == frame || is_called(part));
        match around {
            Some(at) if self.parts[at].frame == frame => self.parts.truncate(at + 1),
            _ => {
                // A caller without registers has the first slot of its callee: then nothing tells that it was left.
                let hash = self.parts.last().map_or(0, |part| part.hash);
                let hash = mix(hash, u64::from(pc) << 32);
                self.parts.push(Part { meets: NOWHERE, frame, block: NOWHERE, hash });
            }
        }
    }
}
