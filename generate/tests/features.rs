//! Every construct that the generator promises appears within a stated number of seeds.

use ptxopt_generate::kernel;
use ptxopt_generate::options::Options;

/// Kernels looked at.
const SEEDS: u64 = 400;

/// Texts, and in how many of the kernels each must be at least.
const PATTERNS: &[(&str, usize)] = &[
    // Control flow.
    ("brx.idx", 20),
    (".branchtargets", 20),
    ("bra.uni", 20),
    ("%fuel", 20),
    ("setp.gt.and.s32", 20),
    (".pragma \"nounroll\";", 10),
    (" exit;", 20),
    (".loc 1 ", 20),
    ("$L__tmp", 20),
    ("$S1_", 5),
    ("$S2_", 2),
    // Guards.
    ("@%p", 40),
    ("@!%p", 40),
    // Predicates and sinks.
    ("|_,", 10),
    ("{_, ", 10),
    (", _}", 10),
    (" _|%p", 5),
    (".and.s32", 10),
    ("xor.pred", 5),
    ("lop3.or.b32", 2),
    // Memory.
    ("ld.global.nc", 10),
    ("ld.volatile.global", 10),
    ("st.volatile.shared", 5),
    ("ld.relaxed.gpu", 5),
    ("st.release.gpu", 3),
    ("ld.const", 10),
    ("ld.local.u8", 5),
    ("st.local.v2", 5),
    ("st.local.b64", 5),
    ("ld.shared.v4", 3),
    ("cvta.shared", 5),
    ("cvta.local", 5),
    ("cvta.const", 5),
    (".extern .shared", 20),
    ("st.u16", 3),
    ("red.global.add.u32", 10),
    ("atom.shared.max.u32", 3),
    ("atom.global.cas.b64", 5),
    // Threads together.
    ("shfl.sync.up", 10),
    ("shfl.sync.down", 10),
    ("shfl.sync.bfly", 5),
    ("shfl.sync.idx", 20),
    ("vote.sync.ballot", 10),
    ("vote.sync.uni", 5),
    ("match.any.sync", 5),
    ("match.all.sync", 5),
    ("redux.sync", 5),
    ("bar.red.popc", 5),
    ("bar.warp.sync", 20),
    ("barrier.cta.sync.aligned", 10),
    ("elect.sync", 2),
    ("activemask", 3),
    ("fence.acq_rel", 3),
    // Calls.
    ("call.uni", 20),
    (".callprototype", 10),
    ("(.reg .b32 %result0, ", 2),
    (".param .align 8 .b8 a[", 10),
    ("%depth", 5),
    // Arithmetic.
    ("add.cc.u32", 20),
    ("addc.cc.u32", 10),
    ("subc.u64", 5),
    ("madc.hi.cc.u32", 5),
    ("div.s32", 3),
    ("rem.u64", 3),
    ("mul.wide.s16", 3),
    ("mad24.lo", 3),
    ("bfe.s64", 3),
    ("bfi.b64", 2),
    ("prmt.b32.f4e", 2),
    ("shf.r.clamp", 3),
    ("dp4a", 3),
    ("szext", 3),
    ("cvt.sat.s8", 5),
    ("cvt.rni.ftz.u32.f32", 2),
    ("cvt.pack.sat", 2),
    ("cvt.rp.f32.f64", 1),
    ("fma.rn.ftz.sat.f32", 2),
    ("add.rm.f64", 2),
    ("sqrt.r", 3),
    ("copysign.f32", 2),
    ("testp.subnormal", 2),
    ("fma.rn.f16x2", 2),
    ("fma.rn.relu.f16", 1),
    ("setp.neu.f16x2", 1),
    ("max.NaN.f32", 1),
    ("%unwritten", 20),
    // Targets and old conventions.
    (".target sm_50", 20),
    (".target sm_90", 20),
    (".func (.reg", 10),
];

#[test]
fn every_construct_appears_often_enough() {
    let mut counts = vec![0; PATTERNS.len()];
    for seed in 0..SEEDS {
        let kernel = kernel(seed, &Options::for_seed(seed));
        for (count, (pattern, _)) in counts.iter_mut().zip(PATTERNS) {
            *count += usize::from(kernel.text().contains(pattern));
        }
    }
    let rare: Vec<String> = counts
        .iter()
        .zip(PATTERNS)
        .filter(|(count, (_, least))| *count < least)
        .map(|(count, (pattern, least))| format!("{pattern:?} in {count} kernels, not {least}"))
        .collect();
    assert!(rare.is_empty(), "{}", rare.join("\n"));
}

/// A guard that its own instruction overwrites, and a register copied through a swap.
#[test]
fn guards_overwrite_themselves_and_registers_swap() {
    let (mut overwrites, mut swaps) = (0, 0);
    for seed in 0..SEEDS {
        let kernel = kernel(seed, &Options::for_seed(seed));
        let lines: Vec<&str> = kernel.text().lines().map(str::trim).collect();
        overwrites += usize::from(lines.iter().any(|line| overwrites_its_guard(line)));
        swaps += usize::from(lines.windows(3).any(is_swap));
    }
    assert!(overwrites >= 20, "only {overwrites} kernels overwrite a guard");
    assert!(swaps >= 20, "only {swaps} kernels swap registers");
}

fn overwrites_its_guard(line: &str) -> bool {
    let Some((guard, rest)) = line.split_once(' ') else { return false };
    let Some(predicate) = guard.strip_prefix('@') else { return false };
    rest.starts_with("setp") && rest.contains(&format!(" {},", predicate.trim_start_matches('!')))
}

/// `mov c, a; mov a, b; mov b, c`.
fn is_swap(lines: &[&str]) -> bool {
    let copy = |line: &&str| {
        let (name, operands) = line.split_once(' ')?;
        let (to, from) = operands.trim_end_matches(';').split_once(", ")?;
        (name.starts_with("mov.") && from.starts_with('%')).then(|| (to.to_owned(), from.to_owned()))
    };
    let copies: Vec<(String, String)> = lines.iter().filter_map(copy).collect();
    match copies.as_slice() {
        [first, second, third] => {
            third.1 == first.0 && second.0 == first.1 && third.0 == second.1 && first.0 != first.1
        }
        _ => false,
    }
}
