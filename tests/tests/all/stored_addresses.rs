//! Addresses of local variables that lie in local variables: kernels of random stores and loads of them compute the same
//! before and after.
//!
//! Each kernel has one variable: four words of data, and four places that hold zero, numbers and addresses of the words in turn. What
//! is loaded from a place is accessed where it is an address, by what the emulator says: a kernel that goes elsewhere is left
//! out.

use crate::splitmix::Random;
use ptxopt::{Options, optimize};
use ptxopt_emulator::{Argument, Launch, Module, Options as RunOptions, run};
use ptxopt_tests::modules::{expect_none, in_parallel};
use std::fmt::Write;

/// Random kernels, and how many of them at least go nowhere else and lose all their accesses.
const KERNELS: u64 = 3_000;
const RUN_MIN: usize = 1_000;
const PROMOTED_MIN: usize = 300;

/// Blocks of a kernel, each of which goes to a later one, the last one back to the first for two rounds more.
const BLOCKS: usize = 4;
/// The first byte of the places.
const PLACES: usize = 16;

const HEAD: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
.local .align 16 .b8 depot[48];
.reg .b64 %SP, %SPL, %out, %d<9>;
.reg .b32 %r<9>;
.reg .pred %p<3>;
mov.u64 %SPL, depot;
cvta.local.u64 %SP, %SPL;
ld.param.u64 %out, [p];
ld.global.u32 %r1, [%out];
mov.u32 %r2, 0;
";

const TAIL: &str = "\
add.u32 %r2, %r2, 1;
setp.lt.u32 %p1, %r2, 3;
@%p1 bra B0;
ld.u32 %r3, [%SP];
ld.u32 %r4, [%SP+4];
ld.u32 %r5, [%SP+8];
ld.u32 %r6, [%SP+12];
st.global.v4.u32 [%out], {%r3, %r4, %r5, %r6};
ret;
}
";

/// What bit 0 to 7 of the input decides.
fn ask(random: &mut Random) -> String {
    format!("and.b32 %r3, %r1, {};\nsetp.eq.u32 %p0, %r3, 0;\n", 1 << random.below(8))
}

fn statement(random: &mut Random, text: &mut String) {
    let place = PLACES + 8 * random.below(4);
    let word = 4 * random.below(4);
    let guard = if random.below(8) == 0 { "@%p0 " } else { "" };
    if !guard.is_empty() {
        *text += &ask(random);
    }
    let line = match random.below(16) {
        0..=4 => format!("add.u64 %d1, %SP, {word};\n{guard}st.u64 [%SP+{place}], %d1;"),
        5 => format!("{guard}st.u64 [%SP+{place}], 0;"),
        6 => format!("st.v2.u64 [%SP+{}], {{0, 7}};", place & !15),
        7 => format!("{guard}st.u32 [%SP+{}], %r2;", place + word % 8),
        8 => format!("ld.u64 %d2, [%SP+{place}];\nst.u64 [%SP+{}], %d2;", PLACES + 8 * random.below(4)),
        9 | 10 => format!("{guard}st.u32 [%SP+{word}], {};", random.below(100)),
        11..=13 => format!("ld.u64 %d3, [%SP+{place}];\n{guard}st.u32 [%d3], {};", 100 + random.below(100)),
        _ => format!(
            "ld.u64 %d4, [%SP+{place}];\nld.u32 %r4, [%d4];\nadd.u32 %r4, %r4, 1;\nst.u32 [%SP+{word}], %r4;"
        ),
    };
    writeln!(text, "{line}").expect("a string takes everything");
}

fn kernel(seed: u64) -> String {
    let mut random = Random(seed);
    let mut text = HEAD.to_owned();
    (0..4).for_each(|word| {
        writeln!(text, "st.u32 [%SP+{}], {word};", 4 * word).expect("a string takes everything")
    });
    // Most places hold an address from the start.
    for place in (PLACES..PLACES + 32).step_by(8) {
        let (zero, address) = (format!("st.u64 [%SP+{place}], 0;\n"), 4 * random.below(4));
        text += &zero;
        if random.below(4) > 0 {
            write!(text, "add.u64 %d1, %SP, {address};\nst.u64 [%SP+{place}], %d1;\n")
                .expect("a string takes everything");
        }
    }
    for block in 0..BLOCKS {
        writeln!(text, "B{block}:").expect("a string takes everything");
        (0..1 + random.below(3)).for_each(|_| statement(&mut random, &mut text));
        if random.below(2) == 0 {
            let to = block + 1 + random.below(BLOCKS - block);
            writeln!(text, "{}@%p0 bra B{to};", ask(&mut random)).expect("a string takes everything");
        }
    }
    write!(text, "B{BLOCKS}:\n{TAIL}").expect("a string takes everything");
    text
}

/// What a kernel stores for an input; none where it does not come to its end.
fn stored(text: &[u8], input: u32) -> Option<Vec<u8>> {
    let mut bytes = vec![0; 16];
    bytes[..4].copy_from_slice(&input.to_le_bytes());
    let args = vec![Argument::Buffer(bytes)];
    let launch = Launch { entry: "k".to_owned(), grid: [1; 3], block: [1; 3], shared_bytes: 0, args };
    let outcome = run(&Module::load(text).expect("it is valid"), &launch, &RunOptions::default());
    outcome.stop.is_none().then(|| outcome.buffers[0].clone())
}

/// Whether a kernel loses all its accesses; none where it does not come to its end for any input.
fn judge(seed: u64) -> Result<Option<bool>, String> {
    let text = kernel(seed);
    let after = optimize(text.as_bytes(), &Options::default()).expect("it is valid").text;
    let mut has_run = false;
    for input in (0..8).map(|bit| 0x1F3 << bit).chain([0, 255]) {
        let Some(before) = stored(text.as_bytes(), input) else { continue };
        has_run = true;
        if stored(&after, input).as_ref() != Some(&before) {
            return Err(format!("{input:#x} of\n{text}\nbecomes\n{}", String::from_utf8_lossy(&after)));
        }
    }
    Ok(has_run.then(|| !String::from_utf8_lossy(&after).contains("depot")))
}

#[test]
fn random_kernels_with_stored_addresses_compute_the_same() {
    let seeds: Vec<u64> = (0..KERNELS).collect();
    let judged = in_parallel(&seeds, |&seed| judge(seed));
    let (ran, promoted) = judged
        .iter()
        .flatten()
        .flatten()
        .fold((0, 0), |(ran, promoted), &is_promoted| (ran + 1, promoted + usize::from(is_promoted)));
    let wrong: Vec<String> = judged.into_iter().filter_map(Result::err).collect();
    expect_none("kernels store what they did", &wrong[..wrong.len().min(3)]);
    assert!(ran >= RUN_MIN && promoted >= PROMOTED_MIN, "{ran} ran, {promoted} were promoted");
}
