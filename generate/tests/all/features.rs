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
    (", inlined_at 1 ", 10),
    ("$L__tmp", 20),
    ("$S1_", 5),
    ("$S2_", 2),
    (" trap;", 20),
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
    ("ld.volatile.shared.u32 %r", 20),
    ("ld.relaxed.gpu", 5),
    ("st.release.gpu", 3),
    ("ld.const", 10),
    ("ld.local.u8", 5),
    ("st.local.v2", 5),
    ("st.local.b64", 5),
    ("ld.shared.v4", 3),
    ("cvta.shared", 5),
    ("cvta.local", 5),
    (".b8 spill[32];", 10),
    ("cvta.const", 5),
    ("st.local.u64 [pocket]", 20),
    ("%wanderer", 60),
    ("selp.b64 %wanderer", 10),
    ("add.s64 %wanderer", 10),
    ("st.local.u64 [pocket+8]", 10),
    ("mul.lo.s64 %tl", 20),
    ("cvt.s64.s32 %tl", 20),
    ("ld.local.f64", 5),
    ("ld.s16 %h", 3),
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
    ("mma.sync.aligned.m16n8k16.row.col.s32", 5),
    ("mma.sync.aligned.m8n8k16", 5),
    ("mma.sync.aligned.m16n8k256", 3),
    ("mma.sync.aligned.m16n8k8.row.col.f32", 5),
    ("cp.async.ca.shared.global", 20),
    ("cp.async.cg.shared.global", 10),
    ("cp.async.wait_group 3;", 3),
    ("cp.async.wait_all;", 10),
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
    ("div.u64", 60),
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
    ("fma.rn.bf16x2", 2),
    ("fma.rn.relu.bf16 ", 2),
    ("max.NaN.bf16 ", 2),
    ("cvt.rz.bf16.f32", 2),
    ("add.rn.bf16 ", 1),
    ("setp.nan.bf16", 1),
    ("vadd.s32", 2),
    ("vabsdiff.", 2),
    ("vsub.s32", 2),
    ("vmad.", 2),
    ("vset.", 1),
    ("vshr.", 1),
    ("vadd2.", 1),
    ("vabsdiff4.", 1),
    ("vset4.", 1),
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

/// A branch around the jump back of a loop, to which another branch leads: what must not become a branch back.
#[test]
fn branches_lead_around_shared_latches() {
    let mut count = 0;
    for seed in 0..SEEDS {
        let kernel = kernel(seed, &Options::for_seed(seed));
        let lines: Vec<&str> = kernel.text().lines().map(str::trim).collect();
        let target = |line: &str| Some(line.trim_end_matches(';').rsplit_once(' ')?.1.to_owned());
        let is_around = |lines: &[&str]| {
            let is_branch =
                lines[0].starts_with('@') && lines[0].contains(" bra ") && lines[2].starts_with("bra ");
            is_branch
                && target(lines[0]).is_some_and(|end| lines[3] == format!("{end}:"))
                && lines[1].ends_with(':')
        };
        count += usize::from(lines.windows(4).any(is_around));
    }
    assert!(count >= 20, "only {count} kernels branch around a shared latch");
}

/// Pairs of instructions that look like one to who is careless: in how many kernels each is at least.
#[test]
fn what_looks_redundant_appears_often_enough() {
    let mut counts = [0; 7];
    for seed in 0..SEEDS {
        let kernel = kernel(seed, &Options::for_seed(seed));
        let lines: Vec<Vec<&str>> = kernel.text().lines().map(words).collect();
        let near = |is_pair: fn(&[Vec<&str>]) -> bool| usize::from(lines.windows(8).any(is_pair));
        let seen = [
            near(sums_twice),
            near(multiplies_and_adds),
            near(|lines| loads_again(lines, |line| line[0].starts_with("bar"))),
            near(|lines| {
                loads_again(lines, |line| line[0].starts_with("st.") && line[1].contains("generic"))
            }),
            near(|lines| is_forwarded(lines, |store, load| store == load)),
            near(|lines| is_forwarded(lines, |store, load| store != load)),
            usize::from(kernel.text().contains(".local") && kernel.text().matches("    .local ").count() > 1),
        ];
        counts.iter_mut().zip(seen).for_each(|(count, seen)| *count += seen);
    }
    let least = [40, 30, 40, 15, 20, 20, 10];
    assert!(counts.iter().zip(least).all(|(&count, least)| count >= least), "{counts:?}, at least {least:?}");
}

/// What compilers write before they optimize: in how many kernels each is at least.
#[test]
fn what_compilers_leave_to_optimizers_appears_often_enough() {
    let mut counts = [0; 7];
    for seed in 0..SEEDS {
        let kernel = kernel(seed, &Options::for_seed(seed));
        let texts: Vec<&str> = kernel.text().lines().map(str::trim).collect();
        let lines: Vec<Vec<&str>> = texts.iter().map(|line| guarded_words(line)).collect();
        let near = |is_seen: fn(&[Vec<&str>]) -> bool| usize::from(lines.windows(14).any(is_seen));
        let seen = [
            near(decides_by_memory),
            near(extends_an_index),
            near(packs_and_unpacks),
            near(computes_with_a_constant),
            near(chooses_by_a_constant),
            near(crosses),
            usize::from(texts.windows(3).any(changes_what_guards_set)),
        ];
        counts.iter_mut().zip(seen).for_each(|(count, seen)| *count += seen);
    }
    let least = [100, 140, 100, 60, 50, 110, 120];
    assert!(counts.iter().zip(least).all(|(&count, least)| count >= least), "{counts:?}, at least {least:?}");
}

/// `selp t, ..., p; st [a], t; ld u, [a]; setp q, u, ...; @q bra`, others between.
fn decides_by_memory(lines: &[Vec<&str>]) -> bool {
    let [select, store, rest @ ..] = lines else { return false };
    let is_stored =
        select[0].starts_with("selp.u") && store[0].starts_with("st.local") && store[2] == select[1];
    let Some(load) = rest.iter().find(|line| line[0].starts_with("ld.local") && line[2] == store[1]) else {
        return false;
    };
    let test = rest.iter().find(|line| line[0].starts_with("setp.") && line[2] == load[1]);
    is_stored && test.is_some_and(|test| rest.iter().any(|line| line[0] == "bra" && line[7] == test[1]))
}

/// `cvt.s64.s32 w, i; shl.b64 s, w, 2; add.s64 a, b, s`.
fn extends_an_index(lines: &[Vec<&str>]) -> bool {
    let [extend, scale, add, ..] = lines else { return false };
    (extend[0], scale[0], add[0]) == ("cvt.s64.s32", "shl.b64", "add.s64")
        && scale[2] == extend[1]
        && add[3] == scale[1]
}

/// `mov.b64 l, {a, b}; mov.b64 {c, d}, l`.
fn packs_and_unpacks(lines: &[Vec<&str>]) -> bool {
    let [pack, unpack, ..] = lines else { return false };
    let are_moves = pack[0] == "mov.b64" && unpack[0] == "mov.b64";
    are_moves && pack[2].starts_with('{') && unpack[1].starts_with('{') && unpack[3] == pack[1]
}

/// `mov.f32 f, 0f...`, and an instruction with a rounding that reads it.
fn computes_with_a_constant(lines: &[Vec<&str>]) -> bool {
    let copy = &lines[0];
    let is_rounded = |name: &str| [".rn.", ".rz.", ".rm.", ".rp."].iter().any(|round| name.contains(round));
    copy[0] == "mov.f32"
        && copy[2].starts_with("0f")
        && lines[1..4].iter().any(|line| is_rounded(line[0]) && line[2..5].contains(&copy[1]))
}

/// `mov.u32 i, 3; t: .branchtargets ...; brx.idx i, t`.
fn chooses_by_a_constant(lines: &[Vec<&str>]) -> bool {
    let [set, _, branch, ..] = lines else { return false };
    set[0] == "mov.u32"
        && set[2].parse::<u32>().is_ok()
        && branch[0].starts_with("brx.idx")
        && branch[1] == set[1]
}

/// Two nodes of a cycle that both write one register, and read what the other wrote.
fn crosses(lines: &[Vec<&str>]) -> bool {
    let [add, mix, rest @ ..] = lines else { return false };
    let is_front = add[0] == "add.s32" && add[1] == add[2] && mix[0] == "xor.b32" && mix[3] == add[1];
    let back = rest.iter().position(|line| line[0] == "mul.lo.u32" && line[1] == add[1] && line[3] == "5");
    is_front && back.is_some_and(|at| rest[..at].iter().any(|line| line[0].ends_with(':')))
}

/// `@p mov d, a; @!p mov d, b; @q add d, d, ...`.
fn changes_what_guards_set(lines: &[&str]) -> bool {
    let guard = |line: &str| Some(line.strip_prefix('@')?.split_once(' ')?.0.to_owned());
    let guards: Vec<String> = lines.iter().filter_map(|line| guard(line)).collect();
    let [first, second, third] = [words(lines[0]), words(lines[1]), words(lines[2])];
    let are_opposite =
        guards.len() == 3 && guards[0].trim_start_matches('!') == guards[1].trim_start_matches('!');
    are_opposite
        && guards[0] != guards[1]
        && (first[0], second[0]) == ("mov.b32", "mov.b32")
        && first[1] == second[1]
        && third[1..3] == [first[1], first[1]]
}

/// Mnemonic and operands, and at the end the register of the guard.
fn guarded_words(line: &str) -> Vec<&str> {
    let guard = line.strip_prefix('@').and_then(|rest| rest.split_once(' ')).map_or("", |(guard, _)| guard);
    let mut words = words(line);
    words.resize(8, "");
    words[7] = guard.trim_start_matches('!');
    words
}

/// Mnemonic and operands, without a guard.
fn words(line: &str) -> Vec<&str> {
    let line = line.trim().trim_end_matches(';');
    let line = if line.starts_with('@') { line.split_once(' ').map_or("", |(_, rest)| rest) } else { line };
    line.split([' ', ',']).filter(|word| !word.is_empty()).chain(["", "", "", ""]).take(8).collect()
}

/// `t = a + b; d = t + c; u = b + c; e = a + u`.
fn sums_twice(lines: &[Vec<&str>]) -> bool {
    let [one, two, three, four, ..] = lines else { return false };
    let is_sum = |line: &Vec<&str>| line[0].starts_with("add.rn.f");
    [one, two, three, four].into_iter().all(is_sum)
        && (two[2], three[2], three[3], four[2]) == (one[1], one[3], two[3], one[2])
        && four[3] == three[1]
}

/// `t = a * b; d = t + c; e = a * b + c`.
fn multiplies_and_adds(lines: &[Vec<&str>]) -> bool {
    let [one, two, three, ..] = lines else { return false };
    let is_chain =
        one[0].starts_with("mul.rn.f") && two[0].starts_with("add.rn.f") && three[0].starts_with("fma.rn.f");
    is_chain && two[2] == one[1] && three[2..5] == [one[2], one[3], two[3]]
}

/// A load, something that may change what is there, the same load.
fn loads_again(lines: &[Vec<&str>], is_between: fn(&Vec<&str>) -> bool) -> bool {
    let first = &lines[0];
    let again = lines[1..].iter().position(|line| line[0] == first[0] && line[2] == first[2]);
    first[0].starts_with("ld.") && again.is_some_and(|again| lines[1..=again].iter().any(is_between))
}

/// A store, and a load of the same address by another instruction or the one that fits.
fn is_forwarded(lines: &[Vec<&str>], is_wanted: fn(&str, &str) -> bool) -> bool {
    let store = &lines[0];
    let Some(kind) = store[0].strip_prefix("st.") else { return false };
    lines[1..].iter().any(|load| {
        load[0].strip_prefix("ld.").is_some_and(|other| load[2] == store[1] && is_wanted(kind, other))
    })
}
