//! Random kernels that hand addresses of `.local` variables about: by moves, sums and both spaces, through memory, calls and bits of
//! them, and read and write by them. Every run on the emulator leaves the same.

use super::PHASE;
use super::tests::numbered;
use crate::check::testing::Random;
use crate::values::move_tests::{BYTES, left_by};
use std::fmt::Write;

/// Registers of each kind of address: of the `.local` space (`%l`), generic in the frame (`%g`), generic anywhere (`%x`).
const ADDRESSES: usize = 4;
/// Registers of what is read and written (`%v`).
const VALUES: usize = 6;

/// Where a thread's block holds a generic address, and the same as bits that are no address.
const HELD: usize = 192;
const HIDDEN: usize = 200;
/// What hides an address.
const MASK: u64 = 0x5A5A_0000_5A5A_0000;
/// The ways of [`Kernel::hand_on`].
const WAYS: usize = 8;
/// Where results go.
const RESULTS: usize = 256;

/// Addresses lead to one of the first four doublewords of a variable of nine, or of a thread's block; an access adds no more than four,
/// and the last of the second variable holds an address.
struct Kernel {
    random: Random,
    text: String,
    /// The ways in which it hands addresses on.
    ways: Vec<usize>,
}

impl Kernel {
    fn new(seed: u64) -> Self {
        let mut text = format!(
            ".func helper(.param .b64 a, .param .b64 b) {{ .reg .b64 %c<4>; ld.param.b64 %c1, [a]; ld.param.b64 %c2, [b];\n\
             st.u64 [%c1+8], %c2; ld.u64 %c3, [%c2+{HELD}]; st.u64 [%c3], %c1; ret; }}\n\
             .entry k(.param .u64 p) {{ .local .align 16 .b8 one[72]; .local .align 16 .b8 two[72]; .param .b64 q; .param .b64 s;\n\
             .reg .b64 %l<{ADDRESSES}>, %g<{ADDRESSES}>, %x<{ADDRESSES}>, %v<{VALUES}>, %a<3>, %i, %b, %h, %n; .reg .b32 %t<4>;\n\
             .reg .pred %p<5>;\n\
             mov.u32 %t1, %tid.x; mul.wide.u32 %a2, %t1, {BYTES}; ld.param.u64 %a1, [p]; add.u64 %a1, %a1, %a2;\n\
             and.b32 %t0, %t1, 1; mul.wide.u32 %i, %t0, 8; mov.b64 %n, 0;\n"
        );
        for predicate in 0..4 {
            writeln!(text, "and.b32 %t0, %t1, {}; setp.ne.u32 %p{predicate}, %t0, 0;", 1 << predicate)
                .unwrap();
        }
        for value in 0..VALUES {
            writeln!(text, "ld.global.u64 %v{value}, [%a1+{}];", 8 * value).unwrap();
        }
        for place in 0..9 {
            let value = place % VALUES;
            writeln!(
                text,
                "st.local.u64 [one+{0}], %v{value}; st.local.u64 [two+{0}], %v{value};",
                8 * place
            )
            .unwrap();
        }
        for number in 0..ADDRESSES {
            writeln!(
                text,
                "mov.u64 %l{number}, one; cvta.local.u64 %g{number}, %l{number}; cvta.global.u64 %x{number}, %a1;"
            )
            .unwrap();
        }
        writeln!(text, "st.local.u64 [two+64], %x0; st.global.u64 [%a1+{HELD}], %x0;").unwrap();
        writeln!(text, "xor.b64 %h, %x0, {MASK}; st.global.u64 [%a1+{HIDDEN}], %h; mov.u32 %t2, 0;\nROUND:")
            .unwrap();
        let mut random = Random(seed);
        let ways = (0..random.below(4)).map(|_| random.below(WAYS)).collect();
        Self { random, text, ways }
    }

    fn line(&mut self, line: &str) {
        self.text += line;
        self.text.push('\n');
    }

    fn guard(&mut self) -> String {
        match self.random.below(16) {
            0..12 => String::new(),
            number => format!("@{}%p{}", ["", "!"][self.random.below(2)], number - 12),
        }
    }

    /// A register of a kind to read: mostly one of two, so that some accesses are alike.
    fn number(&mut self) -> usize {
        let number = self.random.below(3 * ADDRESSES);
        if number < ADDRESSES { number } else { number % 2 }
    }

    /// A register to write, and the guard that it is written under: the last one alone, which stays a variable.
    fn result(&mut self) -> (usize, String) {
        let guard = self.guard();
        if guard.is_empty() { (self.random.below(ADDRESSES - 1), guard) } else { (ADDRESSES - 1, guard) }
    }

    /// Makes an address of the `.local` space.
    fn local(&mut self) {
        let ((to, guard), from, other) = (self.result(), self.number(), self.number());
        let (name, predicate) = (["one", "two"][self.random.below(2)], self.random.below(4));
        let place = 8 * self.random.below(4);
        let line = match self.random.below(10) {
            0 | 1 => format!("{guard} mov.u64 %l{to}, {name};"),
            2 => format!("mov.u64 %b, {name}; {guard} add.u64 %l{to}, %b, {place};"),
            3 => format!("mov.u64 %b, {name}; {guard} add.u64 %l{to}, %i, %b;"),
            4 => {
                format!("mov.u64 %b, {name}; add.u64 %b, %b, 32; {guard} sub.u64 %l{to}, %b, {};", place + 8)
            }
            5 => format!("mov.u64 %b, {name}; {guard} mad.lo.u64 %l{to}, %i, 2, %b;"),
            6 => format!("mov.u64 %b, {name}; {guard} or.b64 %l{to}, %b, 8;"),
            7 => format!("{guard} and.b64 %l{to}, %l{from}, -16;"),
            8 => format!("{guard} selp.b64 %l{to}, %l{from}, %l{other}, %p{predicate};"),
            _ => format!("{guard} cvta.to.local.u64 %l{to}, %g{from};"),
        };
        self.line(&line);
    }

    /// Makes a generic address in the frame, or anywhere.
    fn generic(&mut self) {
        let ((to, guard), from, other) = (self.result(), self.number(), self.number());
        let predicate = self.random.below(4);
        let kinds = ["g", "x"];
        let (kind, source) = (self.random.below(2), self.random.below(2));
        let of = kinds[kind];
        // What leads anywhere is no address of the frame for sure.
        let (one, another) = (kinds[source.min(kind)], kinds[kind]);
        let line = match self.random.below(6) {
            0 | 1 => format!("{guard} cvta.local.u64 %{of}{to}, %l{from};"),
            2 => format!("{guard} mov.b64 %{of}{to}, %{one}{from};"),
            3 => format!("{guard} selp.b64 %{of}{to}, %{one}{from}, %{another}{other}, %p{predicate};"),
            4 => format!("{guard} and.b64 %{of}{to}, %{one}{from}, -16;"),
            _ => format!("cvta.global.u64 %b, %a1; {guard} add.u64 %x{to}, %b, 16;"),
        };
        self.line(&line);
    }

    /// Hands an address on through memory, to a function, or by its bits.
    fn hand_on(&mut self) {
        if self.ways.is_empty() {
            return;
        }
        let (from, value) = (self.number(), self.random.below(VALUES));
        let kind = ["g", "x"][self.random.below(2)];
        let (to, guard) = self.result();
        let way = self.ways[self.random.below(self.ways.len())];
        let gives = self.random.below(2) == 0;
        let line = match way {
            0 if gives => format!("st.local.u64 [two+64], %{kind}{from};"),
            0 => format!("{guard} ld.local.u64 %x{to}, [two+64];"),
            1 if gives => format!("{guard} st.global.u64 [%a1+{HELD}], %{kind}{from};"),
            1 => format!("{guard} ld.global.u64 %x{to}, [%a1+{HELD}];"),
            2 if gives => format!("xor.b64 %h, %{kind}{from}, {MASK}; st.global.u64 [%a1+{HIDDEN}], %h;"),
            2 => format!("ld.global.u64 %h, [%a1+{HIDDEN}]; {guard} xor.b64 %x{to}, %h, {MASK};"),
            3 => format!("xor.b64 %h, %{kind}{from}, {MASK}; {guard} xor.b64 %x{to}, %h, {MASK};"),
            4 => format!("st.param.b64 [q], %{kind}{from}; st.param.b64 [s], %a1; call.uni helper, (q, s);"),
            5 => {
                format!("and.b64 %h, %{kind}{from}, 24; add.u64 %h, %h, %a1; st.global.u64 [%h], %v{value};")
            }
            6 => format!(
                "st.local.u64 [two+64], %{kind}{from}; ld.local.u32 %t0, [two+64]; cvt.u64.u32 %h, %t0;\n\
                 and.b64 %h, %h, 24; add.u64 %h, %h, %a1; ld.global.u64 %v{value}, [%h];"
            ),
            _ => format!("cvt.u32.u64 %t0, %{kind}{from}; shr.u32 %t0, %t0, 3; cvt.u64.u32 %v{value}, %t0;"),
        };
        self.line(&line);
    }

    /// Reads or writes.
    fn access(&mut self) {
        let (guard, address, value) = (self.guard(), self.number(), self.random.below(VALUES));
        let place = [0, 0, 8, 16][self.random.below(4)];
        let (space, base) = match self.random.below(8) {
            0..3 => (".local", format!("%l{address}")),
            3 | 4 => ("", format!("%g{address}")),
            5 => ("", format!("%x{address}")),
            6 => (".local", ["one", "two"][self.random.below(2)].to_owned()),
            _ => (".global", "%a1".to_owned()),
        };
        let line = match self.random.below(12) {
            0..4 => format!("{guard} st{space}.u64 [{base}+{place}], %v{value};"),
            4 => format!("{guard} st{space}.u8 [{base}+{place}], %v{value};"),
            5 => {
                format!("atom{}.add.u64 %v{value}, [%a1+{place}], 3;", [".global", ""][self.random.below(2)])
            }
            6 => "membar.cta;".to_owned(),
            _ => {
                self.line(&format!("{guard} ld{space}.u64 %v{value}, [{base}+{place}];"));
                format!("mad.lo.u64 %n, %n, 31, %v{value};")
            }
        };
        self.line(&line);
    }

    fn statement(&mut self) {
        match self.random.below(24) {
            0 | 1 => self.local(),
            2 | 3 => self.generic(),
            4 | 5 => self.hand_on(),
            _ => self.access(),
        }
    }

    fn finish(mut self) -> String {
        for block in 0..4 {
            (0..10).for_each(|_| self.statement());
            let predicate = self.random.below(4);
            self.line(&format!("@%p{predicate} bra B{block};"));
            (0..1 + self.random.below(6)).for_each(|_| self.statement());
            if self.random.below(2) == 0 {
                self.line(&format!("bra C{block};\nB{block}:"));
                (0..1 + self.random.below(6)).for_each(|_| self.statement());
                self.line(&format!("C{block}:"));
            } else {
                self.line(&format!("B{block}:"));
            }
        }
        self.line("add.u32 %t2, %t2, 1; setp.lt.u32 %p4, %t2, 2; @%p4 bra ROUND;");
        for place in 0..8 {
            let name = ["one", "two"][place % 2];
            self.line(&format!("ld.local.u64 %b, [{name}+{}]; mad.lo.u64 %n, %n, 31, %b;", 8 * place));
        }
        self.line(&format!("st.global.u64 [%a1+{RESULTS}], %n; ret; }}"));
        self.text
    }
}

#[test]
fn what_is_read_by_addresses_of_the_frame_is_what_was() {
    let (mut without, mut with) = (0, 0);
    for seed in 0..400 {
        let text = Kernel::new(seed * 7919 + 5).finish();
        let (unchanged, changed) = (numbered(&text, &[]), numbered(&text, &[&PHASE]));
        assert!(left_by(&text) == left_by(&changed), "{text}\nbecomes\n{changed}");
        let accesses = |text: &str| text.matches("ld.").count() + text.matches("st.").count();
        without += accesses(&unchanged);
        with += accesses(&changed);
    }
    println!("{without} accesses, of which {with} are left");
    // As many as when this was written: what knows less of the frame finds fewer.
    assert!(without >= with + 687);
}
