use ptxopt::{OptLevel, Options, optimize};

const KERNEL: &[u8] = br"
.version 8.0
.target sm_80
.address_size 64

.visible .entry twice(.param .u64 data)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;

    ld.param.u64 %rd1, [data];
    ld.global.u32 %r1, [%rd1];
    shl.b32 %r2, %r1, 1;
    mul.lo.s32 %r3, %r1, 12345;
    st.global.u32 [%rd1], %r2;
    ret;
}
";

fn example() {
    let mut options = Options { level: OptLevel::O3, ..Options::default() };
    let output = optimize(KERNEL, &options).expect("the kernel is valid PTX");

    // Nothing reads the product.
    let text = String::from_utf8(output.text).expect("text in, text out");
    assert!(text.contains("shl.b32") && !text.contains("12345"));
    assert_eq!((output.report.instructions_in, output.report.instructions_out), (6, 5));

    // Without the phases that remove dead code it stays.
    options
        .set_knob("DisablePhases=EarlyOriSimpleLiveDead+OriPerformLiveDead+92")
        .expect("phases have these names");
    let output = optimize(KERNEL, &options).expect("the kernel is valid PTX");
    assert_eq!((output.report.instructions_in, output.report.instructions_out), (6, 6));
}
