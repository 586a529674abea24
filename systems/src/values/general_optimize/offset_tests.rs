//! Offsets and counters on the emulator: indices at the edges of their types, and loops with any bounds.

use crate::check::testing::Random;
use crate::values::move_tests::{HEAD, after};
use ptxopt_emulator::{Argument, Launch, Module, Options};

pub(super) const THREADS: usize = 32;

/// Bytes of a thread: what its index is made of, what leads back to its own bytes, and what it leaves there.
const BYTES: usize = 32;

/// What a kernel leaves in its buffer; it must not stop.
pub(super) fn left_by(text: &str, buffer: &[u8]) -> Vec<u8> {
    let module = Module::load(format!("{HEAD}{text}").as_bytes()).unwrap();
    let launch = Launch {
        entry: "k".to_owned(),
        grid: [1; 3],
        block: [THREADS as u32, 1, 1],
        shared_bytes: 0,
        args: vec![Argument::Buffer(buffer.to_vec())],
    };
    let outcome = ptxopt_emulator::run(&module, &launch, &Options::default());
    assert_eq!(outcome.stop, None, "{text}");
    outcome.buffers.into_iter().next().unwrap()
}

/// How an index is made of a number, and of the index the sum, as instructions and as what they compute.
struct Sum {
    index: String,
    of_index: fn(u32, u32) -> u32,
    by: u32,
    sum: String,
    of_sum: fn(u32, u32) -> u32,
    constant: u32,
}

pub(super) fn pick<T: Copy>(random: &mut Random, from: &[T]) -> T {
    from[random.below(from.len())]
}

fn sum(random: &mut Random) -> Sum {
    let (index, of_index): (&str, fn(u32, u32) -> u32) = pick(
        random,
        &[
            ("shl.b32", |value, by| value << (by & 31)),
            ("shr.u32", |value, by| value >> (by & 31)),
            ("shr.s32", |value, by| (value as i32 >> (by & 31)) as u32),
            ("and.b32", |value, by| value & by),
            ("or.b32", |value, by| value | by),
            ("min.s32", |value, by| (value as i32).min(by as i32) as u32),
            ("max.u32", u32::max),
        ],
    );
    let mut by = pick(random, &[1, 2, 3, 4, 29, 1020, 0x7FFF_FFF0, 0x7FFF_FFFF, 0xFFFF_FFF8, 0x8000_0000]);
    if index.starts_with("sh") {
        by &= 31;
    }
    let (sum, of_sum): (&str, fn(u32, u32) -> u32) = pick(
        random,
        &[
            ("add.s32", u32::wrapping_add),
            ("add.u32", u32::wrapping_add),
            ("sub.s32", u32::wrapping_sub),
            ("or.b32", |value, by| value | by),
        ],
    );
    let constant = pick(random, &[1, 3, 4, 7, 8, 15, 100, 0x10_0000, u32::MAX, u32::MAX - 7, 1 << 31]);
    Sum {
        index: format!("{index} %r2, %r1, {by};"),
        of_index,
        by,
        sum: format!("{sum} %r3, %r2, {constant};"),
        of_sum,
        constant,
    }
}

/// Each thread comes back to its own bytes, whatever its index is: an offset that is another one leads out of the buffer or
/// into what another thread reads.
#[test]
fn offsets_lead_where_sums_led() {
    let mut changed = 0;
    for seed in 0..600 {
        let mut random = Random(seed * 7919 + 1);
        let sum = sum(&mut random);
        let is_signed = random.below(2) == 0;
        let factor = pick(&mut random, &[1_i64, 4, 8, 12]);
        let letter = if is_signed { 's' } else { 'u' };
        let address = match random.below(4) {
            0 => format!("mad.wide.{letter}32 %d4, %r3, {factor}, %d2;"),
            1 => format!("mul.wide.{letter}32 %d3, %r3, {factor}; add.s64 %d4, %d2, %d3;"),
            2 => format!("cvt.{letter}64.{letter}32 %d3, %r3; mad.lo.s64 %d4, %d3, {factor}, %d2;"),
            _ => format!(
                "cvt.{letter}64.{letter}32 %d3, %r3; mul.lo.s64 %d3, %d3, {factor}; add.s64 %d4, %d3, %d2;"
            ),
        };
        let text = format!(
            ".entry k(.param .u64 p) {{ .reg .b32 %r<9>; .reg .b64 %d<9>;\n\
             mov.u32 %r4, %tid.x; mul.wide.u32 %d1, %r4, {BYTES}; ld.param.u64 %d2, [p]; add.s64 %d1, %d1, %d2;\n\
             ld.global.u32 %r1, [%d1]; ld.global.u64 %d5, [%d1+8]; add.s64 %d2, %d1, %d5;\n\
             {} {} {address}\n\
             st.global.u32 [%d4+16], %r1; ld.global.u32 %r5, [%d4]; st.global.u32 [%d4+20], %r5; ret; }}\n",
            sum.index, sum.sum
        );
        let mut buffer = Vec::new();
        for thread in 0..THREADS as u32 {
            let near = pick(&mut random, &[0, 1 << 31, u32::MAX, 0x7FFF_FFFF, 1 << 20]);
            let value = match thread % 3 {
                0 => random.below(1 << 32) as u32,
                1 => near.wrapping_add(random.below(16) as u32),
                _ => near.wrapping_sub(random.below(16) as u32),
            };
            let index = (sum.of_sum)((sum.of_index)(value, sum.by), sum.constant);
            let index = if is_signed { i64::from(index as i32) } else { i64::from(index) };
            buffer.extend(u64::from(value).to_le_bytes());
            buffer.extend((-factor * index).to_le_bytes());
            buffer.resize(buffer.len() + BYTES - 16, 0);
        }
        let optimized = after(&text, &[]);
        changed += usize::from(!optimized.contains("[%d4+16]"));
        let (before, after) = (left_by(&text, &buffer), left_by(&optimized, &buffer));
        assert!(before == after, "{text}\nbecomes\n{optimized}");
    }
    assert!(changed > 100, "{changed} with other offsets");
}

/// A loop with any bound, which ends after 20 rounds in any case; what is known of its counter decides the rest.
#[test]
fn counters_are_what_is_known_of_them() {
    const EDGES: [i32; 14] = [0, 1, 2, 3, 5, 9, 10, 12, -1, -2, -8, i32::MAX, i32::MAX - 1, i32::MIN];
    let (mut shorter, mut rounds) = (0, 0);
    for seed in 0..1500 {
        let mut random = Random(seed * 104_729 + 5);
        let [start, bound] = [pick(&mut random, &EDGES), pick(&mut random, &EDGES)];
        let step = pick(&mut random, &[1, 1, 1, 2, 3, 4, -1, i32::MAX]);
        let comparison = pick(
            &mut random,
            &["lt.s", "le.s", "ne.s", "gt.s", "ge.s", "eq.s", "lt.u", "le.u", "ge.u", "ne.b"],
        );
        let first = match random.below(3) {
            0 => format!("and.b32 %r2, %r1, 3; add.s32 %r2, %r2, {start};"),
            _ => format!("mov.u32 %r2, {start};"),
        };
        // Front ends that do not optimize copy what they use.
        let (counter, compared_with) = match random.below(2) {
            0 => ("%r2", bound.to_string()),
            _ => ("%r3", "%r8".to_owned()),
        };
        let compared = |register: &str| {
            format!("mov.u32 %r8, {bound}; setp.{comparison}32 %p1, {register}, {compared_with};")
        };
        let add = format!("add.s32 %r0, {counter}, {step}; mov.b32 %r2, %r0;");
        let (top, end) = match random.below(4) {
            0 => (format!("{} @%p1 bra E;", compared(counter)), format!("{add} bra L;")),
            1 => (format!("{} @!%p1 bra E;", compared(counter)), format!("{add} bra L;")),
            2 => (String::new(), format!("{add} {} @%p1 bra L;", compared("%r2"))),
            _ => (String::new(), format!("{add} {} @!%p1 bra L;", compared("%r2"))),
        };
        let near: Vec<i32> =
            [start, bound, 0].iter().map(|edge| edge.wrapping_add(random.below(5) as i32 - 2)).collect();
        let body: String = near
            .iter()
            .map(|edge| {
                format!(
                    "setp.lt.s32 %p2, %r2, {edge}; selp.b32 %r5, 1, 2, %p2; mad.lo.s32 %r4, %r4, 3, %r5;\n\
                     max.u32 %r5, %r2, {edge}; mad.lo.s32 %r4, %r4, 3, %r5;\n"
                )
            })
            .collect();
        let text = format!(
            ".entry k(.param .u64 p) {{ .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<4>;\n\
             mov.u32 %r6, %tid.x; mul.wide.u32 %d1, %r6, {BYTES}; ld.param.u64 %d2, [p]; add.s64 %d1, %d1, %d2;\n\
             ld.global.u32 %r1, [%d1]; ld.global.u32 %r7, [%d1+4]; mov.u32 %r4, 0; {first}\n\
             L: mov.b32 %r3, %r2; {top} sub.u32 %r7, %r7, 1; setp.eq.u32 %p3, %r7, 0; @%p3 bra E;\n\
             {body} shr.s32 %r5, %r2, 4; xor.b32 %r4, %r4, %r5; {end}\n\
             E: st.global.u32 [%d1+8], %r4; st.global.u32 [%d1+12], %r7; ret; }}\n"
        );
        let mut buffer = vec![0; THREADS * BYTES];
        for thread in buffer.chunks_exact_mut(BYTES) {
            thread[0] = random.below(256) as u8;
            thread[4] = 1 + random.below(20) as u8;
        }
        let optimized = after(&text, &[]);
        let count = |text: &str| text.matches(';').count();
        shorter += usize::from(count(&optimized) + 4 < count(&text));
        let (before, after) = (left_by(&text, &buffer), left_by(&optimized, &buffer));
        assert!(before == after, "{text}\nbecomes\n{optimized}");
        rounds +=
            before.chunks_exact(BYTES).map(|thread| 20 - usize::from(thread[12].min(20))).sum::<usize>();
    }
    println!("{shorter} shorter, {rounds} rounds");
    assert!(shorter > 100 && rounds > 10_000, "{shorter} shorter, {rounds} rounds");
}
