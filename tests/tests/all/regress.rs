//! One module a bug: what was wrong with it once stays mended.
//!
//! The first comment of `tests/regress/STORY.ptx` tells what happened. `// CHECK: ` lines must stand, in this order, in
//! what reader and writer make of it; `// CHECK-NOT: ` lines nowhere in it; `// CHECK-ERROR: ` is what the module is
//! refused with. That such a module does no other harm is checked by `fuzz_reader.rs`.

use ptxopt_tests::modules::{ModuleFile, expect_none, regress};
use ptxopt_tests::rewrite::rewrite;

#[test]
fn every_bug_stays_mended() {
    let faults: Vec<String> = regress().iter().filter_map(|module| check(module).err()).collect();
    expect_none("modules are as they were once", &faults);
}

fn check(module: &ModuleFile) -> Result<(), String> {
    let text = String::from_utf8(module.text()).map_err(|_| format!("{}: no text", module.name))?;
    let lines = |start: &'static str| text.lines().filter_map(move |line| line.strip_prefix(start));
    let written = match rewrite(text.as_bytes()) {
        Ok(rewritten) => String::from_utf8_lossy(&rewritten.text).into_owned(),
        Err(diagnostic) => {
            let said = diagnostic.problem.to_string();
            let is_expected = lines("// CHECK-ERROR: ").any(|expected| expected == said);
            return if is_expected { Ok(()) } else { Err(format!("{}: refused: {said}", module.name)) };
        }
    };
    if let Some(expected) = lines("// CHECK-ERROR: ").next() {
        return Err(format!("{}: accepted, and not refused with: {expected}", module.name));
    }
    // The claims stand in the text, too.
    let code: Vec<&str> = written.lines().filter(|line| !line.starts_with("//")).collect();
    let code = code.join("\n");
    let (mut rest, mut claims) = (code.as_str(), 0);
    for wanted in lines("// CHECK: ") {
        let Some((_, after)) = rest.split_once(wanted) else {
            return Err(format!("{}: no `{wanted}` here, or further down, in\n{code}", module.name));
        };
        (rest, claims) = (after, claims + 1);
    }
    if let Some(unwanted) = lines("// CHECK-NOT: ").find(|unwanted| code.contains(unwanted)) {
        return Err(format!("{}: `{unwanted}` in\n{code}", module.name));
    }
    if claims == 0 { Err(format!("{}: no claim", module.name)) } else { Ok(()) }
}
