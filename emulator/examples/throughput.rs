//! Thread-instructions a second, of loops of arithmetic, of memory accesses and of divergent branches.
//!
//!     cargo run --release -p ptxopt-emulator --example throughput

use ptxopt_emulator::{Argument, Launch, Module, Options, run};
use std::time::Instant;

/// Integer and floating-point arithmetic in a loop that every thread runs 2,000 times, without and with divergence.
const LOOPS: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry integers(.param .u64 out, .param .u32 count)
{
    .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, 0;
again:
    mad.lo.u32 %r4, %r2, 1664525, 1013904223;
    shr.u32 %r5, %r4, 7;
    xor.b32 %r2, %r4, %r5;
    and.b32 %r6, %r2, 255;
    add.u32 %r2, %r2, %r6;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p, %r3, %r1;
    @%p bra again;
    mov.u32 %r7, %tid.x;
    mul.wide.u32 %rd2, %r7, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r2;
    ret;
}
.visible .entry reals(.param .u64 out, .param .u32 count)
{
    .reg .pred %p; .reg .b32 %r<8>; .reg .f32 %f<6>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, %tid.x;
    cvt.rn.f32.u32 %f1, %r2;
    mov.f32 %f2, 0f3F800000;
    mov.u32 %r3, 0;
again:
    fma.rn.f32 %f2, %f2, 0f3F7FFF00, %f1;
    mul.rn.f32 %f3, %f2, 0f3F000000;
    add.rn.f32 %f4, %f3, %f1;
    max.f32 %f2, %f4, %f2;
    min.f32 %f2, %f2, 0f49742400;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p, %r3, %r1;
    @%p bra again;
    mov.u32 %r7, %tid.x;
    mul.wide.u32 %rd2, %r7, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.f32 [%rd3], %f2;
    ret;
}
.visible .entry memory(.param .u64 out, .param .u32 count)
{
    .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [count];
    mov.u32 %r7, %tid.x;
    mul.wide.u32 %rd2, %r7, 4;
    add.u64 %rd3, %rd1, %rd2;
    mov.u32 %r3, 0;
again:
    ld.global.u32 %r4, [%rd3];
    add.u32 %r4, %r4, %r3;
    st.global.u32 [%rd3], %r4;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p, %r3, %r1;
    @%p bra again;
    ret;
}
.visible .entry divergent(.param .u64 out, .param .u32 count)
{
    .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, 0;
again:
    and.b32 %r4, %r2, 1;
    setp.eq.u32 %p, %r4, 0;
    @%p bra even;
    mad.lo.u32 %r2, %r2, 3, 1;
    bra.uni join;
even:
    shr.u32 %r2, %r2, 1;
join:
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p, %r3, %r1;
    @%p bra again;
    ret;
}
";

fn main() {
    let module = Module::load(LOOPS.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    for entry in module.entries() {
        let launch = Launch {
            entry: entry.name.clone(),
            grid: [64, 1, 1],
            block: [128, 1, 1],
            shared_bytes: 0,
            args: vec![Argument::Buffer(vec![0; 512]), Argument::Scalar(2000u32.to_le_bytes().to_vec())],
        };
        let start = Instant::now();
        let outcome = run(&module, &launch, &Options::default());
        let seconds = start.elapsed().as_secs_f64();
        let rate = outcome.steps as f64 / seconds / 1e6;
        println!("{:10} {rate:8.1} million thread-instructions a second, {:?}", entry.name, outcome.stop);
    }
}
