//! Folding of constants against arithmetic of 128 bits: every integer operation on values at the edges of its type.

use super::general_optimize;
use crate::check::tests::{plan, run_plan};
use crate::flow::split_at_control_flow;
use ptxopt_engine::run::phase::{Plan, Verify};
use std::fmt::Write;

/// An integer type of PTX.
#[derive(Clone, Copy)]
struct Integer {
    width: u32,
    is_signed: bool,
}

impl Integer {
    fn name(self) -> String {
        format!("{}{}", if self.is_signed { 's' } else { 'u' }, self.width)
    }

    /// The bits as a number.
    fn number(self, bits: u64) -> i128 {
        let number = i128::from(bits) & ((1 << self.width) - 1);
        if self.is_signed && number >> (self.width - 1) == 1 { number - (1 << self.width) } else { number }
    }

    /// Bits of the numbers at which something happens: sums carry, products overflow, shifts leave nothing.
    fn edges(self) -> [u64; 9] {
        let top = 1 << (self.width - 1);
        let all = if self.width == 64 { u64::MAX } else { (1 << self.width) - 1 };
        [0, 1, 2, 7, u64::from(self.width), top - 1, top, all - 4, all]
    }
}

const TYPES: [Integer; 6] = [
    Integer { width: 16, is_signed: false },
    Integer { width: 16, is_signed: true },
    Integer { width: 32, is_signed: false },
    Integer { width: 32, is_signed: true },
    Integer { width: 64, is_signed: false },
    Integer { width: 64, is_signed: true },
];

/// Letter of the registers of a width.
fn letter(width: u32) -> char {
    match width {
        16 => 'h',
        32 => 'r',
        _ => 'd',
    }
}

/// Instructions on constants, each followed by a store of its result, and what each stores.
#[derive(Default)]
struct Cases {
    text: String,
    /// The instruction, the width of its result, and its bits; none where the ISA does not say what they are.
    wanted: Vec<(String, u32, Option<i128>)>,
}

impl Cases {
    /// Adds `mnemonic` on constants that have a width each.
    fn add(&mut self, mnemonic: &str, sources: &[(u32, u64)], width: u32, result: Option<i128>) {
        let mut instruction = format!("{mnemonic} %{}9", letter(width));
        for (at, &(width, bits)) in sources.iter().enumerate() {
            let letter = letter(width);
            writeln!(
                self.text,
                "mov.b{width} %{letter}{at}, {:#x};",
                Integer { width, is_signed: false }.number(bits)
            )
            .unwrap();
            write!(instruction, ", %{letter}{at}").unwrap();
        }
        writeln!(self.text, "{instruction}; st.global.b{width} [g], %{}9;", letter(width)).unwrap();
        let result = result.map(|result| result & ((1 << width) - 1));
        self.wanted.push((format!("{instruction} of {sources:x?}"), width, result));
    }

    /// Runs the phase, and compares what is stored. What has no result must be left to the machine.
    fn check(&self) {
        let text = format!(
            ".version 8.0\n.target sm_80\n.global .b64 g;\n.entry k() {{ .reg .b16 %h<10>; .reg .b32 %r<10>; \
             .reg .b64 %d<10>; {} ret; }}\n",
            self.text
        );
        let plan = plan(&[&split_at_control_flow::PHASE, &general_optimize::PHASE]);
        let output = run_plan(text.as_bytes(), Plan { checks: &[], verify: Verify::Off, ..plan });
        assert_eq!(output.functions[0].left, None);
        let text = String::from_utf8(output.text).unwrap();
        let stored: Vec<&str> =
            text.lines().filter_map(|line| line.trim().strip_prefix("st.global.b")).collect();
        assert_eq!(stored.len(), self.wanted.len());
        for (stored, (instruction, width, wanted)) in stored.iter().zip(&self.wanted) {
            let (_, value) = stored.trim_end_matches(';').split_once(", ").unwrap();
            let number = match value.strip_prefix("0x") {
                Some(digits) => i128::from_str_radix(digits, 16),
                None => value.parse(),
            };
            let found = number.ok().map(|value| value & ((1 << width) - 1));
            assert_eq!(found, *wanted, "{instruction} stores {value}");
        }
    }
}

#[test]
fn sums_products_and_bits_are_those_of_the_isa() {
    let mut cases = Cases::default();
    for ty in TYPES {
        let Integer { width, .. } = ty;
        let (name, untyped) = (ty.name(), format!("b{width}"));
        for a in ty.edges() {
            for b in ty.edges() {
                let sources = [(width, a), (width, b)];
                let (x, y) = (ty.number(a), ty.number(b));
                let mut add = |mnemonic: String, result| cases.add(&mnemonic, &sources, width, Some(result));
                add(format!("add.{name}"), x + y);
                add(format!("sub.{name}"), x - y);
                add(format!("min.{name}"), x.min(y));
                add(format!("max.{name}"), x.max(y));
                add(format!("mul.lo.{name}"), x.wrapping_mul(y));
                add(format!("and.{untyped}"), x & y);
                add(format!("or.{untyped}"), x | y);
                add(format!("xor.{untyped}"), x ^ y);
                // Numbers without a sign have products past the largest `i128`.
                let high =
                    if ty.is_signed { (x * y) >> width } else { ((x as u128 * y as u128) >> width) as i128 };
                add(format!("mul.hi.{name}"), high);
                if width < 64 {
                    cases.add(&format!("mul.wide.{name}"), &sources, 2 * width, Some(x * y));
                }
                let with_sum = [(width, a), (width, b), (width, 9)];
                cases.add(
                    &format!("mad.lo.{name}"),
                    &with_sum,
                    width,
                    Some(x.wrapping_mul(y).wrapping_add(9)),
                );
            }
            let x = ty.number(a);
            cases.add(&format!("not.{untyped}"), &[(width, a)], width, Some(!x));
            if ty.is_signed {
                cases.add(&format!("neg.{name}"), &[(width, a)], width, Some(-x));
                cases.add(&format!("abs.{name}"), &[(width, a)], width, Some(x.abs()));
            }
            if width >= 32 {
                let ones = (0..width).filter(|bit| x >> bit & 1 == 1);
                let zeros = width - ones.clone().next_back().map_or(0, |bit| bit + 1);
                cases.add(&format!("popc.{untyped}"), &[(width, a)], 32, Some(ones.count() as i128));
                cases.add(&format!("clz.{untyped}"), &[(width, a)], 32, Some(i128::from(zeros)));
            }
        }
    }
    cases.check();
}

#[test]
fn quotients_are_cut_towards_zero_and_those_by_zero_are_left() {
    let mut cases = Cases::default();
    for ty in TYPES {
        let (name, width) = (ty.name(), ty.width);
        for a in ty.edges() {
            for b in ty.edges() {
                let (x, y) = (ty.number(a), ty.number(b));
                // By -1 the smallest number has no quotient; whether others are folded is not for here.
                if y == -1 {
                    continue;
                }
                let sources = [(width, a), (width, b)];
                cases.add(&format!("div.{name}"), &sources, width, x.checked_div(y));
                cases.add(&format!("rem.{name}"), &sources, width, x.checked_rem(y));
            }
            if ty.is_signed && ty.number(a) == -1 {
                let smallest = 1 << (width - 1);
                cases.add(&format!("div.{name}"), &[(width, smallest), (width, a)], width, None);
            }
        }
    }
    cases.check();
}

#[test]
fn shifts_past_the_width_leave_zero_or_the_sign() {
    let mut cases = Cases::default();
    for ty in TYPES {
        let (name, width) = (ty.name(), ty.width);
        for a in ty.edges() {
            for amount in [0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 65_536, u64::from(u32::MAX)] {
                let (x, sources) = (ty.number(a), [(width, a), (32, amount)]);
                let shift = amount.min(64) as u32;
                cases.add(&format!("shl.b{width}"), &sources, width, Some(x << shift));
                cases.add(&format!("shr.{name}"), &sources, width, Some(x >> shift));
            }
        }
    }
    cases.check();
}

#[test]
fn conversions_extend_by_the_type_of_the_source() {
    let mut cases = Cases::default();
    for from in TYPES {
        for to in TYPES {
            for bits in from.edges() {
                let mnemonic = format!("cvt.{}.{}", to.name(), from.name());
                cases.add(&mnemonic, &[(from.width, bits)], to.width, Some(from.number(bits)));
            }
        }
    }
    cases.check();
}
