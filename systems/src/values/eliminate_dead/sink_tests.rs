//! Results that may become sinks, instruction by instruction.

use super::Needs;
use super::sinks::{find_unread_results, retain_upper_parts};
use crate::check::testing::analyzed;
use ptxopt_components::ids::{Id, InstId};
use ptxopt_engine::values::reaching::Reaching;

/// Instructions and positions of results.
type Results = Vec<(usize, usize)>;

/// Which results of a kernel's instructions may become sinks in the end, and which of them at once.
fn unread(body: &str) -> (Results, Results) {
    let registers = ".reg .b16 %h<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d<9>; .reg .pred %p<9>;";
    let built = analyzed(&format!("{registers}{body} ret;"));
    let (mut reaching, mut needs, mut found) = <(Reaching, Needs, Vec<(InstId, usize)>)>::default();
    let function = built.function();
    reaching.start(&function);
    needs.find(&function, &reaching);
    let numbers = |found: &[(InstId, usize)]| found.iter().map(|&(inst, at)| (inst.index(), at)).collect();
    find_unread_results(&function, &built.forms, &needs, &reaching, &mut found);
    let all = numbers(&found);
    retain_upper_parts(&function, &built.forms, &reaching, &mut found);
    (all, numbers(&found))
}

#[test]
fn parts_above_the_lowest_become_sinks_at_once() {
    let both = |results: &[(usize, usize)]| (results.to_vec(), results.to_vec());
    let halves = "mov.b32 {%h1, %h2}, %r1;";
    assert_eq!(unread(&format!("{halves} st.global.u16 [g], %h1;")), both(&[(0, 1)]));
    // The upper part alone is read.
    assert_eq!(unread(&format!("{halves} st.global.u16 [g], %h2;")), (vec![(0, 0)], vec![]));
    assert_eq!(unread(&format!("{halves} st.global.v2.u16 [g], {{%h1, %h2}};")), both(&[]));
    // A guard leaves the old values where it is false.
    assert_eq!(unread(&format!("@%p1 {halves} st.global.u16 [g], %h1;")), (vec![(0, 1)], vec![]));
    // A float is no integer whose lowest part a conversion takes.
    assert_eq!(unread("mov.b32 {%h1, %h2}, %f1; st.global.u16 [g], %h1;"), (vec![(0, 1)], vec![]));
    // A load unpacks nothing.
    assert_eq!(unread("ld.global.v2.u16 {%h1, %h2}, [g]; st.global.u16 [g], %h1;"), (vec![(0, 1)], vec![]));
}

#[test]
fn all_parts_above_the_lowest_become_sinks_together() {
    let quarters = "mov.b64 {%h1, %h2, %h3, %h4}, %d1; st.global.u16 [g], %h1;";
    let upper = vec![(0, 1), (0, 2), (0, 3)];
    assert_eq!(unread(quarters), (upper.clone(), upper));
    let one_more = format!("{quarters} st.global.u16 [g], %h2;");
    assert_eq!(unread(&one_more), (vec![(0, 2), (0, 3)], vec![]));
    // One is a sink already.
    let upper = vec![(0, 1), (0, 3)];
    assert_eq!(unread(&quarters.replace("%h3", "_")), (upper.clone(), upper));
}

/// `%r1` and `%r3` are unpacked twice, so that two instructions may be equal; `%r2` once.
#[test]
fn what_is_unpacked_twice_keeps_its_parts() {
    let unpack = |source: usize| format!("mov.b32 {{%h1, %h2}}, %r{source}; st.global.u16 [g], %h1;");
    let body: String = [3, 1, 2, 1, 3].map(unpack).concat();
    let all = [0, 2, 4, 6, 8].map(|inst| (inst, 1)).to_vec();
    assert_eq!(unread(&body), (all, vec![(4, 1)]));
}

#[test]
fn a_vector_keeps_one_register() {
    let texel = "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}|%p1, [%d1, {%f5, %f6}]; @%p1 st.global.u32 [g], 1;";
    assert_eq!(unread(texel).0, [(0, 0), (0, 1), (0, 2)]);
    let read = format!("{texel} st.global.f32 [g], %f2;");
    assert_eq!(unread(&read).0, [(0, 0), (0, 2), (0, 3)]);
}

/// `ptxas` 13.0 ends with a segmentation fault where the first predicate of a guarded pair is a sink.
#[test]
fn the_first_predicate_of_a_guarded_pair_stays() {
    let pair = "setp.lt.s32 %p1|%p2, %r1, %r2;";
    assert_eq!(unread(&format!("{pair} @%p1 st.global.u32 [g], 1;")).0, [(0, 1)]);
    assert_eq!(unread(&format!("{pair} @%p2 st.global.u32 [g], 1;")).0, [(0, 0)]);
    assert_eq!(unread(&format!("@%p3 {pair} @%p1 st.global.u32 [g], 1;")).0, [(0, 1)]);
    assert_eq!(unread(&format!("@%p3 {pair} @%p2 st.global.u32 [g], 1;")).0, []);
}

#[test]
fn what_others_look_at_keeps_its_results() {
    let kept = [
        // What all threads of a warp compute together.
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%r3];",
        "ld.volatile.global.v2.u32 {%r1, %r2}, [g];",
    ];
    for inst in kept {
        assert_eq!(unread(&format!("{inst} st.global.u32 [g], %r1;")).0, [], "{inst}");
    }
    // Nothing of it is read: it stays for its effect, if at all.
    assert_eq!(unread("ld.volatile.global.v2.u32 {%r1, %r2}, [g];").0, []);
}
