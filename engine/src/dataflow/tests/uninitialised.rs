//! Registers that may be read before they are written: what is found, and what is not.

use super::Built;
use crate::dataflow::uninitialised::find;
use ptxopt_components::ids::Id;

/// The registers found in a kernel with `body`, by number, with the instruction that reads them.
fn found(body: &str) -> Vec<(usize, usize)> {
    let built = Built::kernel(body);
    let set = built.live_set();
    let is_counted = |number: &u32| *number > 0;
    let number = |vreg| built.tables.vreg_names[Id::index(vreg)].number;
    let all = find(&built.function(), &set);
    all.iter()
        .map(|one| (number(one.vreg), one.inst))
        .filter(|(number, _)| is_counted(number))
        .map(|(number, inst)| (number as usize, inst.index()))
        .collect()
}

#[test]
fn a_read_before_any_write_is_found_where_it_is() {
    assert_eq!(found("mov.u32 %r1, 3; add.u32 %r2, %r1, %r3; st.global.u32 [g], %r3;"), [(3, 1)]);
    assert_eq!(found("mov.u32 %r1, 3; add.u32 %r2, %r1, %r1; st.global.u32 [g], %r2;"), []);
}

#[test]
fn a_write_on_one_way_only_is_not_enough() {
    let body = "ld.param.u32 %r1, [n]; setp.eq.u32 %p1, %r1, 0; @%p1 bra B1; \
                B2: mov.u32 %r2, 1; B1: st.global.u32 [g], %r2;";
    assert_eq!(found(body), [(2, 4)]);
    let body = "ld.param.u32 %r1, [n]; setp.eq.u32 %p1, %r1, 0; @%p1 bra B1; \
                B2: mov.u32 %r2, 1; bra B3; B1: mov.u32 %r2, 2; B3: st.global.u32 [g], %r2;";
    assert_eq!(found(body), []);
}

#[test]
fn writes_under_a_guard_and_its_opposite_are_one() {
    let pair = "setp.eq.u32 %p1, 1, 2; @%p1 mov.u32 %r1, 1; @!%p1 mov.u32 %r1, 2; st.global.u32 [g], %r1;";
    assert_eq!(found(pair), []);
    let same = "setp.eq.u32 %p1, 1, 2; @%p1 mov.u32 %r1, 1; @%p1 mov.u32 %r1, 2; st.global.u32 [g], %r1;";
    assert_eq!(found(same), [(1, 3)]);
    let other = "setp.eq.u32 %p1, 1, 2; setp.eq.u32 %p2, 1, 2; @%p1 mov.u32 %r1, 1; @!%p2 mov.u32 %r1, 2; \
                 st.global.u32 [g], %r1;";
    assert_eq!(found(other), [(1, 4)]);
    let changed = "setp.eq.u32 %p1, 1, 2; @%p1 mov.u32 %r1, 1; setp.ne.u32 %p1, 1, 2; @!%p1 mov.u32 %r1, 2; \
                   st.global.u32 [g], %r1;";
    assert_eq!(found(changed), [(1, 4)]);
}

#[test]
fn a_read_under_the_guard_of_the_write_is_none() {
    let body = "setp.eq.u32 %p1, 1, 2; @%p1 mov.u32 %r1, 1; @%p1 st.global.u32 [g], %r1;";
    assert_eq!(found(body), []);
    let body = "setp.eq.u32 %p1, 1, 2; @%p1 mov.u32 %r1, 1; @!%p1 st.global.u32 [g], %r1;";
    assert_eq!(found(body), [(1, 2)]);
}

#[test]
fn the_first_read_in_the_text_is_named() {
    let body = "ld.param.u32 %r1, [n]; setp.eq.u32 %p1, %r1, 0; @%p1 bra B1; \
                B2: st.global.u32 [g], %r2; ret; B1: st.global.u32 [g], %r2;";
    assert_eq!(found(body), [(2, 3)]);
    let body = "bra B1; B2: st.global.u32 [g], %r2; ret; B1: st.global.u32 [g], %r2;";
    assert_eq!(found(body), [(2, 3)], "nothing leads to the first");
}

/// Registers are searched for 64 at once: each has its own way through the blocks, around the loop, too. Of three early ones two are
/// written on some condition, and the third on a condition and its opposite.
#[test]
fn many_registers_are_told_apart() {
    let write = |number: usize| {
        let guards: &[&str] = [&["@%p1", "@!%p1"][..], &["@%p1"], &["@%p2"]][number % 3];
        guards.iter().map(|guard| format!("{guard} mov.u32 %r{number}, 1;")).collect::<String>()
    };
    let read = |number: usize| format!("st.global.u32 [g], %r{number};");
    let (early, late) = (1..150, 150..290);
    let body = format!(
        "setp.eq.u32 %p1, 1, 2; setp.eq.u32 %p2, 1, 2; {} @%p1 bra B1; B2: {} B1: {} {} @%p2 bra B2;",
        early.clone().map(write).collect::<String>(),
        late.clone().map(|number| format!("mov.u32 %r{number}, 1;")).collect::<String>(),
        early.clone().map(read).collect::<String>(),
        late.clone().filter(|number| number % 2 == 0).map(read).collect::<String>(),
    );
    let wanted: Vec<usize> =
        early.filter(|number| number % 3 != 0).chain(late.filter(|number| number % 2 == 0)).collect();
    assert_eq!(found(&body).iter().map(|&(number, _)| number).collect::<Vec<_>>(), wanted);
}
