//! `run` and `check`: kernels on the emulator.

use std::fs;

use super::{KERNEL, Place, launch};

/// A kernel without an end, that has stored something first.
const ENDLESS: &str = "\
.version 8.0
.target sm_80
.address_size 64

.visible .entry spin(.param .u64 data)
{
\t.reg .b32 %r<2>;
\t.reg .b64 %rd<2>;
\tld.param.u64 %rd1, [data];
\tmov.u32 %r1, 7;
\tst.global.u32 [%rd1], %r1;
AGAIN:
\tbra AGAIN;
}
";

#[test]
fn run_stops_a_kernel_without_an_end() {
    let launch = launch("spin", r#"{"buffer": {"size": 4}}"#);
    let place = Place::new(&[("a.ptx", ENDLESS), ("l.json", &launch)]);
    for level in ["", "-O2"] {
        place.run(&format!("run a.ptx --launch l.json --output out.json --steps 1000 {level}")).expect(1);
        let outcome = place.text("out.json");
        assert!(outcome.contains("step limit: not at its end after 1000 thread-instructions"), "{outcome}");
        assert!(outcome.contains(r#""bytes_hex":"07000000""#), "{outcome}");
    }
}

#[test]
fn run_of_a_launch_that_does_not_fit_has_a_status_of_its_own() {
    let (other, many) = (launch("nobody", ""), launch("twice", ""));
    let files = [("a.ptx", KERNEL), ("other", other.as_str()), ("many", &many), ("cut", "{")];
    let place = Place::new(&files);
    for (file, reason) in [
        ("other", "`other` does not fit the kernel: no entry `nobody`"),
        ("many", "the kernel takes 1 arguments, 0 are given"),
        ("cut", "`cut`: EOF"),
    ] {
        let outcome = place.run(&format!("run a.ptx --launch {file} --output out.json")).expect(3);
        assert!(outcome.stderr.contains(reason), "{outcome:?}");
    }
    assert!(!place.path("out.json").exists());
}

#[test]
fn run_refuses_options_of_the_optimizer_without_a_level() {
    let launch = launch("twice", r#"{"buffer": {"bytes_hex": "05000000"}}"#);
    let place = Place::new(&[("a.ptx", KERNEL), ("l.json", &launch)]);
    let line = "run a.ptx --launch l.json --output out.json -j 1";
    for option in
        ["--knob 235", "--named-phases 6", "--bisect 0", "--verify", "--limit time=9", "--force-debug", "-v"]
    {
        place.run(&format!("{line} {option}")).expect(2).says("only with a level such as `-O2`");
    }
    assert!(!place.path("out.json").exists());
    place.run(line).expect(0);
    let outcome = place.run(&format!("{line} -O2 -v --knob DUMPIR=6 --stat=time")).expect(0);
    outcome.says("EarlyOriSimpleLiveDead: passed").says("// after phase 6").says("from start to end");
    assert!(place.text("out.json").contains(r#""bytes_hex":"0a000000""#));
    place.run("run --help").expect(0).says("Without `-O` the module runs as it is").says("Exit status");
}

#[test]
fn check_says_which_kernel_the_other_module_lacks() {
    let renamed = KERNEL.replace("twice", "thrice");
    let place = Place::new(&[("a.ptx", KERNEL), ("b.ptx", &renamed)]);
    let outcome = place.run("check a.ptx --against b.ptx").expect(1);
    outcome.says("a.ptx: `twice` differs: the other module has no kernel of this name");
    let wider = KERNEL.replace(".param .u64 data", ".param .u64 data, .param .u32 more");
    fs::write(place.path("b.ptx"), wider).unwrap();
    let outcome = place.run("check a.ptx --against b.ptx").expect(1);
    outcome.says("`twice` differs: it cannot be launched in the same way: the kernel takes 2 arguments");
}
