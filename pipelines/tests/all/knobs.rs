//! Knobs on the command line reach the phases.

use crate::command::Place;

/// Three jumps to follow: two empty blocks in a row, and a third that stands before a return.
const CHAIN: &str = "\
.version 8.0
.target sm_80
.address_size 64

.visible .entry chain(.param .u64 data, .param .u32 which)
{
\t.reg .pred %p<3>;
\t.reg .b32 %r<3>;
\t.reg .b64 %rd<2>;
\tld.param.u64 %rd1, [data];
\tld.param.u32 %r1, [which];
\tsetp.eq.s32 %p1, %r1, 0;
\tsetp.eq.s32 %p2, %r1, 1;
\t@%p1 bra FIRST;
\t@%p2 bra SECOND;
\tst.global.u32 [%rd1], %r1;
\tret;
SECOND:
\tbra THIRD;
FIRST:
\tbra SECOND;
FOURTH:
\tret;
THIRD:
\tst.global.u32 [%rd1+4], %r1;
\tbra FOURTH;
}
";

fn output(place: &Place, knobs: &str) -> String {
    place.run(&format!("opt in.ptx -o - {knobs}")).expect(0).stdout
}

#[test]
fn a_knob_sets_how_many_empty_blocks_a_branch_is_led_through() {
    let place = Place::new(&[("in.ptx", CHAIN)]);
    assert!(output(&place, "").contains("bra THIRD;"));
    assert!(output(&place, "--knob BranchHops=2").contains("bra THIRD;"));
    assert!(!output(&place, "--knob BranchHops=2").contains("FIRST:"));
    let unthreaded = output(&place, "--knob branchhops=0");
    assert!(unthreaded.contains("bra FIRST;") && unthreaded.contains("bra SECOND;"), "{unthreaded}");
}

#[test]
fn a_knob_sets_how_often_the_branches_are_looked_at() {
    let place = Place::new(&[("in.ptx", CHAIN)]);
    let untouched = output(&place, "--knob BranchRounds=0");
    assert!(untouched.contains("bra FIRST;") && untouched.contains("FIRST:"), "{untouched}");
    assert_eq!(output(&place, "--knob BranchRounds=8"), output(&place, ""));
}

#[test]
fn a_count_that_is_none_is_an_error_with_the_name() {
    let place = Place::new(&[("in.ptx", CHAIN)]);
    for (wrong, answer) in [
        ("BranchRounds=-1", "`-1` is no value for `BranchRounds`"),
        ("BranchHops=many", "`many` is no value for `BranchHops`"),
        ("BranchHops", "`BranchHops` is a knob of kind count and needs a value"),
    ] {
        place.run(&format!("opt in.ptx -o out.ptx --knob {wrong}")).expect(2).says(answer);
    }
}
