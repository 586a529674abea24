//! Loads whose addresses are written in two ways: they are one where the addresses are, and both stay where they are not.

use super::PHASE;
use super::tests::numbered;

/// How many loads of a kernel are left that loads at two addresses, which `lines` compute. Its frame holds what it has loaded.
fn loads_left(lines: &str, one: &str, other: &str) -> usize {
    let text = format!(
        ".global .align 8 .u64 table[8]; .const .align 8 .u64 fixed[8];\n\
         .entry k(.param .u64 p) {{ .local .align 8 .b8 own[32]; .reg .b64 %a<9>, %x<4>; .reg .pred %p<2>;\n\
         ld.param.u64 %a1, [p]; ld.param.u64 %a2, [p];\n{lines}\n\
         ld{one}; st.global.u64 [%a1+256], %x1; ld{other}; st.global.u64 [%a1+264], %x2; ret; }}\n"
    );
    let changed = numbered(&text, &[&PHASE]);
    changed.matches("ld.").count() - changed.matches("ld.param").count()
}

#[test]
fn two_ways_to_one_address() {
    for (lines, one, other) in [
        ("add.s64 %a3, %a1, 16;", ".global.nc.u64 %x1, [%a3]", ".global.nc.u64 %x2, [%a1+16]"),
        ("add.s64 %a3, 16, %a1;", ".global.nc.u64 %x1, [%a3+8]", ".global.nc.u64 %x2, [%a1+24]"),
        ("add.u64 %a3, %a1, -16;", ".global.nc.u64 %x1, [%a3+16]", ".global.nc.u64 %x2, [%a1]"),
        ("sub.s64 %a3, %a1, 16;", ".global.nc.u64 %x1, [%a3+16]", ".global.nc.u64 %x2, [%a1]"),
        (
            "add.s64 %a3, %a1, 16; sub.s64 %a4, %a3, 8;",
            ".global.nc.u64 %x1, [%a4]",
            ".global.nc.u64 %x2, [%a1+8]",
        ),
        ("mov.b64 %a3, table;", ".global.nc.u64 %x1, [%a3+8]", ".global.nc.u64 %x2, [table+8]"),
        ("mov.b64 %a3, fixed;", ".const.u64 %x1, [%a3+8]", ".const.u64 %x2, [%a3+8]"),
        ("", ".global.nc.u8 %x1, [%a1]", ".global.nc.b8 %x2, [%a1]"),
        ("", ".global.nc.u16 %x1, [%a1]", ".global.nc.b16 %x2, [%a1]"),
        ("mov.b64 %a3, %a1;", ".global.nc.u64 %x1, [%a3+8]", ".global.nc.u64 %x2, [%a1+8]"),
        (
            "mov.b64 %a3, own; st.local.u64 [%a3], %a1; st.local.u64 [%a3+8], %a2; add.s64 %a4, %a3, 8;",
            ".local.u64 %x1, [%a4]",
            ".local.u64 %x2, [%a3+8]",
        ),
    ] {
        assert!(loads_left(lines, one, other) <= 1, "{lines}\n{one}\n{other}");
    }
}

/// What is stored in the frame by one of its spaces is loaded by the other.
#[test]
fn both_spaces_of_the_frame_are_one() {
    let lines = "mov.b64 %a3, own; cvta.local.u64 %a4, %a3; st.local.u64 [%a3+8], %a1; st.local.u64 [%a3+16], %a1;\n\
                 cvta.to.local.u64 %a5, %a4;";
    assert_eq!(loads_left(lines, ".u64 %x1, [%a4+8]", ".local.u64 %x2, [%a5+16]"), 0);
}

#[test]
fn two_addresses() {
    for (lines, one, other) in [
        ("add.s64 %a3, %a1, 16;", ".global.nc.u64 %x1, [%a3]", ".global.nc.u64 %x2, [%a1+8]"),
        ("sub.s64 %a3, %a1, 16;", ".global.nc.u64 %x1, [%a3]", ".global.nc.u64 %x2, [%a1+16]"),
        ("sub.s64 %a3, 16, %a1;", ".global.nc.u64 %x1, [%a3]", ".global.nc.u64 %x2, [%a1+16]"),
        ("", ".global.nc.u8 %x1, [%a1]", ".global.nc.s8 %x2, [%a1]"),
        ("", ".global.nc.u8 %x1, [%a1]", ".global.nc.u16 %x2, [%a1]"),
        ("neg.s64 %a3, %a1;", ".global.nc.u64 %x1, [%a3]", ".global.nc.u64 %x2, [%a1]"),
        (
            "setp.eq.u64 %p1, %a1, %a2; mov.b64 %a3, %a1; @%p1 add.s64 %a3, %a1, 16;",
            ".global.nc.u64 %x1, [%a3]",
            ".global.nc.u64 %x2, [%a1+16]",
        ),
        ("add.cc.u64 %a3, %a1, 16;", ".global.nc.u64 %x1, [%a3+8]", ".global.nc.u64 %x2, [%a1+8]"),
        ("mov.b64 %a3, table;", ".global.nc.u64 %x1, [%a3+8]", ".global.nc.u64 %x2, [table+16]"),
        ("mov.b64 %a3, own; st.local.u64 [%a3], %a1;", ".local.u64 %x1, [%a3+8]", ".local.u64 %x2, [%a3+16]"),
    ] {
        assert_eq!(loads_left(lines, one, other), 2, "{lines}\n{one}\n{other}");
    }
}
