//! What the threads of a warp do together: shuffles, votes, matches, reductions, barriers that reduce.

use super::exchange::nth_lane;
use super::{Level, Writer};
use crate::tree::{Class, Collective, Def, Guard};

impl Writer<'_> {
    /// A collective of the lanes that are here, or of some of them: those that `some` selects, under a guard.
    pub fn collective(&mut self, collective: &Collective, some: Option<u32>) {
        let Some(here) = self.lanes() else { return };
        let lanes = some.map_or(here, |some| here & some);
        if lanes == 0 {
            return;
        }
        let is_block_wide = matches!(collective, Collective::BarrierReduction(..));
        if is_block_wide && (self.level != Level::Block || lanes != here || self.function.is_some()) {
            return;
        }
        let guard = if lanes == here { String::new() } else { self.lane_guard(lanes) };
        let mask = self.mask(lanes);
        match collective {
            Collective::Shuffle(mode, value, b, c, def, predicate) => {
                let value = self.operand(*value, Class::R, '=');
                let (mode, b, c) = fitting_shuffle(mode, *b, *c, lanes);
                let def = self.definitions(&[*def], &[(Class::R, false)]).remove(0);
                let defs = self.second_predicate(def, *predicate);
                self.line(format!("{guard}shfl.sync.{mode}.b32 {defs}, {value}, {b}, {c:#x}, {mask};"));
            }
            Collective::Ballot(predicate, def) => {
                let predicate = self.guard(*predicate);
                self.gather("vote.sync.ballot.b32", &guard, *def, Class::R, &predicate, &mask);
            }
            Collective::Vote(mode, predicate, def) => {
                let predicate = self.guard(*predicate);
                self.gather(&format!("vote.sync.{mode}.pred"), &guard, *def, Class::P, &predicate, &mask);
            }
            Collective::MatchAny(value, def) if self.program.arch >= 70 => {
                let value = self.operand(*value, Class::R, '=');
                self.gather("match.any.sync.b32", &guard, *def, Class::R, &value, &mask);
            }
            Collective::MatchAll(value, def, predicate) if self.program.arch >= 70 => {
                let value = self.operand(*value, Class::R, '=');
                let def = self.definitions(&[*def], &[(Class::R, false)]).remove(0);
                let defs = self.second_predicate(def, *predicate);
                self.line(format!("{guard}match.all.sync.b32 {defs}, {value}, {mask};"));
            }
            Collective::Redux(operation, value, def) if self.program.arch >= 80 => {
                let value = self.operand(*value, Class::R, '=');
                self.gather(&format!("redux.sync.{operation}"), &guard, *def, Class::R, &value, &mask);
            }
            Collective::BarrierReduction(operation, predicate, def) => {
                self.barrier_reduction(operation, *predicate, *def);
            }
            Collective::WarpBarrier => self.line(format!("{guard}bar.warp.sync {mask};")),
            Collective::Elect if self.program.arch >= 90 && self.function.is_none() => {
                self.elect(&guard, &mask)
            }
            Collective::Matrix(which, sources, defs) if lanes == u32::MAX => {
                self.matrix_product(*which, sources, defs);
            }
            Collective::ActiveMask => {
                let unused = self.temp(Class::R);
                self.line(format!("{guard}activemask.b32 {unused};"));
            }
            _ => {}
        }
    }

    fn gather(&mut self, name: &str, guard: &str, def: Def, class: Class, value: &str, mask: &str) {
        let def = self.definitions(&[def], &[(class, false)]).remove(0);
        self.line(format!("{guard}{name} {def}, {value}, {mask};"));
    }

    /// `d`, `d|p` or `d|_`.
    fn second_predicate(&mut self, def: String, predicate: Def) -> String {
        match predicate {
            Def::Reg(reg) if reg.class == Class::P => format!("{def}|{}", self.reg(reg)),
            _ if self.temp_count(Class::R).is_multiple_of(2) => format!("{def}|_"),
            _ => def,
        }
    }

    /// A guard that the lanes of a mask pass.
    fn lane_guard(&mut self, lanes: u32) -> String {
        let predicate = self.predicate(&crate::tree::Cond::Lanes(lanes)).expect("it depends on the lane");
        format!("@{predicate} ")
    }

    /// A member mask: mostly as a number.
    fn mask(&mut self, lanes: u32) -> String {
        if !self.temp_count(Class::R).is_multiple_of(5) {
            return format!("{lanes:#x}");
        }
        let register = self.temp(Class::R);
        self.line(format!("mov.u32 {register}, {lanes:#x};"));
        register
    }

    fn barrier_reduction(&mut self, operation: &str, predicate: Guard, def: Def) {
        let predicate = self.guard(predicate);
        let class = if operation == "popc" { Class::R } else { Class::P };
        let kind = if class == Class::R { "u32" } else { "pred" };
        let def = self.definitions(&[def], &[(class, false)]).remove(0);
        self.line(format!("bar.red.{operation}.{kind} {def}, 0, {predicate};"));
    }

    /// Which thread is elected is not known; that it is one, the counter tells.
    fn elect(&mut self, guard: &str, mask: &str) {
        let counters = self.base("counters");
        let elected = self.temp(Class::P);
        // Where the guard fails, no thread is elected.
        self.set(&elected, Class::P, 0);
        self.line(format!("{guard}elect.sync _|{elected}, {mask};"));
        self.line(format!("@{elected} red.global.add.u32 [{counters}], 3;"));
    }
}

/// The shuffle, or one from a lane of the mask where a lane would read from a lane outside of it, which is undefined.
fn fitting_shuffle(mode: &str, b: u32, c: u32, lanes: u32) -> (&str, u32, u32) {
    let (b, c) = (b & 31, c & 0x1F1F);
    let is_defined = (0..32)
        .filter(|lane| lanes >> lane & 1 == 1)
        .all(|lane| lanes >> source_lane(mode, lane, b, c) & 1 == 1);
    if is_defined { (mode, b, c) } else { ("idx", nth_lane(lanes, b), 31) }
}

/// The lane that a lane reads from, by the ISA's definition of `shfl`.
fn source_lane(mode: &str, lane: u32, b: u32, c: u32) -> u32 {
    let (clamp, segment) = (c & 31, c >> 8 & 31);
    let last = lane & segment | clamp & !segment & 31;
    let first = lane & segment;
    let (source, is_in_range) = match mode {
        "up" => {
            let source = lane.wrapping_sub(b);
            // The comparison is a signed one: lane minus b may be negative.
            (source, source.cast_signed() >= last.cast_signed())
        }
        "down" => (lane + b, lane + b <= last),
        "bfly" => (lane ^ b, lane ^ b <= last),
        _ => {
            let source = first | b & !segment & 31;
            (source, source <= last)
        }
    };
    if is_in_range { source & 31 } else { lane }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the ISA's text: `up` with clamp 0, `down` and `bfly` with clamp 31, segments of eight.
    #[test]
    fn shuffles_read_from_the_lane_that_the_isa_says() {
        assert_eq!(source_lane("up", 5, 1, 0), 4);
        assert_eq!(source_lane("up", 0, 1, 0), 0);
        assert_eq!(source_lane("down", 31, 1, 31), 31);
        assert_eq!(source_lane("down", 30, 1, 31), 31);
        assert_eq!(source_lane("bfly", 3, 16, 31), 19);
        assert_eq!(source_lane("idx", 9, 2, 0x181F), 10);
        assert_eq!(source_lane("up", 8, 1, 0x1800), 8);
    }

    #[test]
    fn no_lane_reads_from_outside_the_mask() {
        assert_eq!(fitting_shuffle("bfly", 1, 31, 0x5555), ("idx", 2, 31));
        assert_eq!(fitting_shuffle("bfly", 2, 31, 0x5555), ("bfly", 2, 31));
        assert_eq!(fitting_shuffle("down", 1, 31, u32::MAX), ("down", 1, 31));
    }
}
