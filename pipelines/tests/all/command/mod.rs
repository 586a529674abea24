//! The `ptxopt` command, run as a user runs it.

mod analyze;
#[cfg(unix)]
mod assembler;
mod batch;
mod check;
mod files;
mod issued;
mod listing;
mod messages;
mod opt;
mod place;
mod remarks;
mod run;

pub(crate) use place::Place;

/// Six instructions; nothing reads the product.
const KERNEL: &str = "\
.version 8.0
.target sm_80
.address_size 64

.visible .entry twice(.param .u64 data)
{
\t.reg .b32 %r<4>;
\t.reg .b64 %rd<2>;

\tld.param.u64 %rd1, [data];
\tld.global.u32 %r1, [%rd1];
\tshl.b32 %r2, %r1, 1;
\tmul.lo.s32 %r3, %r1, 12345;
\tst.global.u32 [%rd1], %r2;
\tret;
}
";

/// Not PTX from its second line on.
const BROKEN: &str = ".version 8.0\n.tarpit sm_80\n";

/// A loop.
const LOOP: &str = "\
.version 8.0
.target sm_80
.address_size 64

.visible .entry spin(.param .u64 data)
{
\t.reg .pred %p<2>;
\t.reg .b32 %r<2>;
\tmov.u32 %r1, 0;
AGAIN:
\tadd.u32 %r1, %r1, 1;
\tsetp.lt.u32 %p1, %r1, 9;
\t@%p1 bra AGAIN;
\tret;
}
";

fn launch(entry: &str, args: &str) -> String {
    format!(r#"{{"entry": "{entry}", "grid": [1, 1, 1], "block": [1, 1, 1], "args": [{args}]}}"#)
}
