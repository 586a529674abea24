//! Two instructions that say the same with other words are one; those that nearly do are two.

use super::PHASE;
use super::tests::numbered;

/// How many of two instructions are left, which write `%R1` and `%R2` with a letter for the class of the results.
fn left(class: char, one: &str, other: &str) -> usize {
    let ty = match class {
        'p' => "pred".to_owned(),
        's' => "b16".to_owned(),
        'r' => "b32".to_owned(),
        'd' => "b64".to_owned(),
        'f' => "f32".to_owned(),
        _ => unreachable!("no class"),
    };
    let store = |result: usize| match class {
        'p' => {
            format!("selp.b32 %v, 17, 19, %R{result}; st.global.u32 [%a+{0}], %v;", 256 + 8 * result)
        }
        _ => format!("st.global.{ty} [%a+{}], %R{result};", 256 + 8 * result),
    };
    let text = format!(
        ".entry k(.param .u64 p) {{ .reg .{ty} %R<3>; .reg .pred %p<4>; .reg .b16 %s<4>; .reg .b32 %r<5>, %v; .reg .b64 %d<4>, %a;\n\
         .reg .f32 %f<4>; ld.param.u64 %a, [p]; ld.global.u16 %s1, [%a]; ld.global.u16 %s2, [%a+2];\n\
         ld.global.u32 %r1, [%a+4]; ld.global.u32 %r2, [%a+8]; ld.global.u32 %r3, [%a+12]; ld.global.u64 %d1, [%a+16];\n\
         ld.global.u64 %d2, [%a+24]; ld.global.f32 %f1, [%a+32]; ld.global.f32 %f2, [%a+36];\n\
         setp.gt.s32 %p1, %r1, 77; setp.gt.s32 %p2, %r2, 77; mov.b32 %r4, 5;\n\
         {one};\n{other};\n{}\n{} ret; }}\n",
        store(1),
        store(2)
    );
    let is_in = |text: &str, instruction: &str| {
        // What is renamed keeps its mnemonic and its sources.
        let (mnemonic, operands) = instruction.trim_start().split_once(' ').expect("it has operands");
        let sources = operands.split_once(", ").expect("it has sources").1;
        let is_it = |line: &str| line.contains(mnemonic) && line.ends_with(&format!(", {sources};"));
        text.lines().any(is_it)
    };
    let count = |text: &str| [one, other].iter().filter(|instruction| is_in(text, instruction)).count();
    assert_eq!(count(&numbered(&text, &[])), 2, "{text}");
    count(&numbered(&text, &[&PHASE]))
}

#[test]
fn what_says_the_same_is_one() {
    for (class, one, other) in [
        ('s', "add.s16 %R1, %s1, %s2", "add.u16 %R2, %s1, %s2"),
        ('r', "add.s32 %R1, %r1, %r2", "add.u32 %R2, %r1, %r2"),
        ('d', "add.s64 %R1, %d1, %d2", "add.u64 %R2, %d1, %d2"),
        ('r', "add.s32 %R1, %r1, %r2", "add.s32 %R2, %r2, %r1"),
        ('r', "sub.s32 %R1, %r1, %r2", "sub.u32 %R2, %r1, %r2"),
        ('r', "mul.lo.s32 %R1, %r1, %r2", "mul.lo.u32 %R2, %r2, %r1"),
        ('d', "mul.lo.s64 %R1, %d1, %d2", "mul.lo.u64 %R2, %d1, %d2"),
        ('r', "mad.lo.s32 %R1, %r1, %r2, %r3", "mad.lo.u32 %R2, %r2, %r1, %r3"),
        ('r', "add.s32 %R1, %r1, %r4", "add.s32 %R2, %r1, 5"),
        ('r', "add.s32 %R1, %r1, 5", "add.s32 %R2, %r1, %r4"),
        ('r', "and.b32 %R1, %r1, 4294967295", "and.b32 %R2, %r1, -1"),
        ('f', "add.f32 %R1, %f1, %f2", "add.f32 %R2, %f2, %f1"),
        ('f', "mul.rn.f32 %R1, %f1, %f2", "mul.rn.f32 %R2, %f2, %f1"),
        ('r', "selp.b32 %R1, %r1, %r2, %p1", "selp.s32 %R2, %r1, %r2, %p1"),
        ('f', "selp.f32 %R1, %f1, %f2, %p1", "selp.b32 %R2, %f1, %f2, %p1"),
        ('p', "setp.eq.s32 %R1, %r1, %r2", "setp.eq.u32 %R2, %r2, %r1"),
        ('p', "setp.ne.b64 %R1, %d1, %d2", "setp.ne.s64 %R2, %d1, %d2"),
        ('p', "setp.eq.s16 %R1, %s1, %s2", "setp.eq.b16 %R2, %s1, %s2"),
        ('p', "setp.gt.s32 %R1, %r1, %r2", "setp.lt.s32 %R2, %r2, %r1"),
        ('p', "setp.ge.f32 %R1, %f1, %f2", "setp.le.f32 %R2, %f2, %f1"),
        ('p', "setp.geu.f32 %R1, %f1, %f2", "setp.leu.f32 %R2, %f2, %f1"),
        ('p', "setp.hi.u32 %R1, %r1, %r2", "setp.lo.u32 %R2, %r2, %r1"),
        ('p', "setp.hs.u32 %R1, %r1, %r2", "setp.ls.u32 %R2, %r2, %r1"),
        ('r', "set.eq.u32.s32 %R1, %r1, %r2", "set.eq.u32.u32 %R2, %r1, %r2"),
        ('r', "set.gt.u32.s32 %R1, %r1, %r2", "set.lt.u32.s32 %R2, %r2, %r1"),
        ('p', "and.pred %R1, %p1, %p2", "and.pred %R2, %p2, %p1"),
    ] {
        assert_eq!(left(class, one, other), 1, "{one}; {other}");
    }
}

#[test]
fn what_nearly_says_the_same_is_two() {
    for (class, one, other) in [
        ('r', "sub.s32 %R1, %r1, %r2", "sub.s32 %R2, %r2, %r1"),
        ('r', "add.s32 %R1, %r1, %r2", "add.sat.s32 %R2, %r1, %r2"),
        ('r', "add.s32 %R1, %r1, %r2", "add.s32 %R2, %r1, %r3"),
        ('r', "mul.hi.s32 %R1, %r1, %r2", "mul.hi.u32 %R2, %r1, %r2"),
        ('d', "mul.wide.s32 %R1, %r1, %r2", "mul.wide.u32 %R2, %r1, %r2"),
        ('r', "mad.hi.s32 %R1, %r1, %r2, %r3", "mad.hi.u32 %R2, %r1, %r2, %r3"),
        ('r', "mad.hi.s32 %R1, %r1, %r2, %r3", "mad.hi.sat.s32 %R2, %r1, %r2, %r3"),
        ('r', "mad.lo.s32 %R1, %r1, %r2, %r3", "mad.lo.s32 %R2, %r1, %r3, %r2"),
        ('r', "shr.s32 %R1, %r1, 3", "shr.u32 %R2, %r1, 3"),
        ('r', "shl.b32 %R1, %r1, %r2", "shl.b32 %R2, %r2, %r1"),
        ('r', "min.s32 %R1, %r1, %r2", "min.u32 %R2, %r1, %r2"),
        ('r', "div.s32 %R1, %r1, %r2", "div.u32 %R2, %r1, %r2"),
        ('r', "add.s32 %R1, %r1, 5", "add.s32 %R2, %r1, -5"),
        ('f', "add.f32 %R1, %f1, %f2", "add.rn.f32 %R2, %f1, %f2"),
        ('f', "add.rn.f32 %R1, %f1, %f2", "add.rz.f32 %R2, %f1, %f2"),
        ('f', "add.rn.f32 %R1, %f1, %f2", "add.rn.ftz.f32 %R2, %f1, %f2"),
        ('f', "add.f32 %R1, %f1, 0f00000000", "add.f32 %R2, %f1, 0f80000000"),
        // A double is rounded to the slot, which is not known here.
        ('f', "add.f32 %R1, %f1, 0f3F800000", "add.f32 %R2, %f1, 0d3FF0000000000000"),
        ('f', "sub.f32 %R1, %f1, %f2", "sub.f32 %R2, %f2, %f1"),
        ('f', "fma.rn.f32 %R1, %f1, %f2, %f2", "fma.rn.f32 %R2, %f1, %f2, %f1"),
        ('r', "selp.b32 %R1, %r1, %r2, %p1", "selp.b32 %R2, %r2, %r1, %p1"),
        ('r', "selp.b32 %R1, %r1, %r2, %p1", "selp.b32 %R2, %r1, %r2, %p2"),
        ('p', "setp.lt.s32 %R1, %r1, %r2", "setp.lt.u32 %R2, %r1, %r2"),
        ('p', "setp.lt.s32 %R1, %r1, %r2", "setp.lt.s32 %R2, %r2, %r1"),
        ('p', "setp.lt.s32 %R1, %r1, %r2", "setp.le.s32 %R2, %r1, %r2"),
        ('p', "setp.lt.f32 %R1, %f1, %f2", "setp.ltu.f32 %R2, %f1, %f2"),
        ('p', "setp.lt.f32 %R1, %f1, %f2", "setp.lt.ftz.f32 %R2, %f1, %f2"),
        ('p', "setp.eq.f32 %R1, %f1, %f2", "setp.eq.b32 %R2, %f1, %f2"),
        ('p', "setp.eq.and.s32 %R1, %r1, %r2, %p1", "setp.eq.or.s32 %R2, %r1, %r2, %p1"),
        ('p', "setp.eq.and.s32 %R1, %r1, %r2, %p1", "setp.eq.and.s32 %R2, %r1, %r2, !%p1"),
        ('f', "set.eq.f32.s32 %R1, %r1, %r2", "set.ne.f32.s32 %R2, %r1, %r2"),
        ('r', "cvt.u32.u16 %R1, %s1", "cvt.s32.s16 %R2, %s1"),
        ('f', "cvt.rn.f32.s32 %R1, %r1", "cvt.rn.f32.u32 %R2, %r1"),
        ('f', "cvt.rn.f32.s32 %R1, %r1", "cvt.rz.f32.s32 %R2, %r1"),
        ('r', "prmt.b32 %R1, %r1, %r2, %r3", "prmt.b32.f4e %R2, %r1, %r2, %r3"),
        ('r', "bfe.u32 %R1, %r1, 3, 5", "bfe.s32 %R2, %r1, 3, 5"),
        ('p', "and.pred %R1, %p1, %p2", "or.pred %R2, %p1, %p2"),
    ] {
        assert_eq!(left(class, one, other), 2, "{one}; {other}");
    }
}
