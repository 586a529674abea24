//! Functions without a body: what every device offers, and all others.

use super::Exec;
use crate::lanes::{Lanes, WARP_SIZE};
use crate::memory::{put_value, value_of};
use crate::program::{Actual, Call};
use crate::stop::Stop;
use crate::uninterpreted::{Effect, PrintArgument};
use crate::warp::lanes_of;

impl Exec<'_, '_> {
    /// Calls external function number `external`; whether it returns.
    pub(super) fn call_external(&mut self, call: &Call, external: u32) -> Result<bool, Stop> {
        let program = self.program;
        let header = &program.prototypes[external as usize];
        let name = header.name.as_str();
        let mut arguments = Vec::new();
        for &actual in &call.arguments {
            arguments.push(self.bytes_of(actual));
        }
        let word = |at: usize, lane: usize| {
            arguments.get(at).map_or(0, |one: &Vec<Vec<u8>>| value_of(&one[lane][..one[lane].len().min(8)]))
        };
        let mask = self.group.mask;
        let mut results: Lanes = [0; WARP_SIZE];
        match name {
            "vprintf" => {
                for lane in lanes_of(mask) {
                    let (format, list) = (word(0, lane), word(1, lane));
                    results[lane] = self.print(lane, format, list)?;
                }
            }
            "malloc" => {
                for lane in lanes_of(mask) {
                    let size = word(0, lane);
                    self.world.charge(size)?;
                    results[lane] = self.world.heap.reserve(size);
                    self.world.global.insert(results[lane], vec![0; size as usize]);
                }
            }
            "free" => {
                for lane in lanes_of(mask) {
                    let address = word(0, lane);
                    if address != 0 && !self.world.global.free(address) {
                        return Err(Stop::BadTarget { place: self.place(lane as u32), value: address });
                    }
                }
            }
            "__assertfail" => {
                let lane = mask.trailing_zeros() as usize;
                let message = String::from_utf8_lossy(&self.text_at(word(0, lane), lane)).into_owned();
                self.world.fail(Stop::Assertion { place: self.place(lane as u32), message });
                return Ok(false);
            }
            _ if self.world.options.uninterpreted => {
                self.uninterpreted_call(name, &arguments, &call.results)?;
                return Ok(!header.never_returns);
            }
            _ => return Err(self.not_supported(format!("call of {name}, which has no body"))),
        }
        if let Some(&actual) = call.results.first() {
            self.give(actual, &results);
        }
        self.event();
        Ok(!header.never_returns)
    }

    /// By lane, the bytes of an argument.
    fn bytes_of(&mut self, actual: Actual) -> Vec<Vec<u8>> {
        let mask = self.group.mask;
        let mut all = vec![Vec::new(); WARP_SIZE];
        match actual {
            Actual::Value(source) => {
                let value = self.value(source, mask);
                lanes_of(mask).for_each(|lane| all[lane] = value[lane].to_le_bytes().to_vec());
            }
            Actual::Frame(offset, size) => {
                let first = (self.group.local + offset) as usize;
                for lane in lanes_of(mask) {
                    all[lane] = self.warp.locals[lane].stack[first..first + size as usize].to_vec();
                }
            }
            Actual::Into(_) | Actual::Nothing => {}
        }
        all
    }

    /// Writes bytes into the frame of a lane.
    pub(super) fn set_frame(&mut self, lane: usize, offset: u64, bytes: &[u8]) {
        let first = self.group.local + offset;
        let local = &mut self.warp.locals[lane];
        local.stack[first as usize..first as usize + bytes.len()].copy_from_slice(bytes);
        if let Some(written) = &mut local.written {
            written.note(first, bytes.len() as u64);
        }
    }

    fn give(&mut self, actual: Actual, results: &Lanes) {
        let mask = self.group.mask;
        match actual {
            Actual::Into(target) => {
                self.results[0] = *results;
                self.write(0, target, mask);
            }
            Actual::Frame(offset, size) => {
                for lane in lanes_of(mask) {
                    let mut bytes = vec![0; size as usize];
                    let word = bytes.len().min(8);
                    put_value(&mut bytes[..word], results[lane]);
                    self.set_frame(lane, offset, &bytes);
                }
            }
            Actual::Value(_) | Actual::Nothing => {}
        }
    }

    /// `vprintf`: the format and what it prints go into the log; gives the number of arguments.
    fn print(&mut self, lane: usize, format: u64, list: u64) -> Result<u64, Stop> {
        let format = self.text_at(format, lane);
        let mut arguments = Vec::new();
        let mut at = list;
        for conversion in conversions(&format) {
            let size = if conversion == Conversion::Word { 4 } else { 8 };
            at = at.next_multiple_of(size);
            let access = self.access(ptxopt_components::types::StateSpace::Generic, at, size as u32, lane)?;
            let bits = value_of(&self.read(access, lane, super::access::READ)?[..size as usize]);
            at += size;
            arguments.push(match conversion {
                Conversion::Text => PrintArgument::Text(self.text_at(bits, lane)),
                _ => PrintArgument::Bits(bits),
            });
        }
        let count = arguments.len() as u64;
        self.log(lane, Effect::Print { format, arguments })?;
        Ok(count)
    }
}

/// What a conversion of a format takes from the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Conversion {
    Word,
    Double,
    Text,
}

/// The conversions of a format, widths and precisions given by `*` included.
fn conversions(format: &[u8]) -> Vec<Conversion> {
    let mut found = Vec::new();
    let mut bytes = format.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            continue;
        }
        let mut is_long = false;
        for byte in bytes.by_ref() {
            match byte {
                b'*' => found.push(Conversion::Word),
                b'l' | b'j' | b'z' | b't' | b'L' => is_long = true,
                b'0'..=b'9' | b'.' | b'-' | b'+' | b' ' | b'#' | b'h' => continue,
                b'%' => break,
                b's' => {
                    found.push(Conversion::Text);
                    break;
                }
                b'p' | b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => {
                    found.push(Conversion::Double);
                    break;
                }
                _ => {
                    found.push(if is_long { Conversion::Double } else { Conversion::Word });
                    break;
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_take_what_c_promotes_them_to() {
        use Conversion::{Double, Text, Word};
        assert_eq!(
            conversions(b"%d %5.2f%% %s %llx %*d %c %p"),
            [Word, Double, Text, Double, Word, Word, Word, Double]
        );
    }
}
