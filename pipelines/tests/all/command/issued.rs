//! What divergent threads cost: issued instructions are counted, branches are listed.

use super::Place;

/// Threads below 8 go through two instructions more.
const SPLIT: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry split(.param .u64 out) {
    .reg .b32 %r<3>; .reg .b64 %d<3>; .reg .pred %p;
    ld.param.u64 %d1, [out];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %d2, %r1, 4, %d1;
    setp.ge.u32 %p, %r1, 8;
@%p bra DONE;
    st.volatile.global.u32 [%d2], 1;
    st.volatile.global.u32 [%d2], 2;
DONE:
    ret;
}
";

#[test]
fn what_is_issued_is_counted_on_request() {
    let launch =
        r#"{"entry": "split", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [{"buffer": {"size": 128}}]}"#;
    let place = Place::new(&[("a.ptx", SPLIT), ("l.json", launch)]);
    place.run("run a.ptx --launch l.json --output out.json").expect(0);
    assert!(!place.text("out.json").contains("count"));
    place.run("run a.ptx --launch l.json --output out.json --count").expect(0);
    let counted = r#""count":{"warp_instructions":8,"active_lanes":208}"#;
    assert!(place.text("out.json").contains(counted), "{}", place.text("out.json"));
    // Two inputs, two CTAs of two warps each: the first warp of a CTA splits, the second branches.
    let outcome = place.run("check a.ptx -v").expect(0);
    outcome.says("a.ptx: `split` issues ").says(" lanes, before 56 with ");
    place.run("check a.ptx --each-phase -v").expect(0).says(" lanes, before 56 with ");
}

#[test]
fn divergent_branches_are_listed_by_what_they_cost() {
    let place = Place::new(&[("a.ptx", SPLIT)]);
    let listed = place.run("analyze a.ptx --print divergence").expect(0).stdout;
    let line = "bix0: line 10, bra, entry, 2 instructions, reconverges at bix2";
    assert_eq!(listed, format!("divergence of split: 1 of 1 branches\n{line}\n"));
}
