//! What `check` takes: modules under any name, and launch lines that say what they mean.

use super::{KERNEL, Place};

#[cfg(unix)]
#[test]
fn links_are_followed() {
    let place = Place::new(&[("in/a.ptx", KERNEL), ("in/b.txt", KERNEL)]);
    for (to, link) in [("in/a.ptx", "named"), ("../in/b.txt", "links/b.ptx"), ("../in", "links/folder")] {
        std::fs::create_dir_all(place.path("links")).unwrap();
        std::os::unix::fs::symlink(to, place.path(link)).unwrap();
    }
    let modules = |line: &str, count: u64| {
        let stdout = place.run(line).expect(0).stdout;
        assert!(stdout.contains(&format!(" modules                {count:>8}")), "{line}: {stdout}");
    };
    modules("check named", 1);
    modules("check links", 2);
    modules("check in/b.txt links named", 4);
    std::os::unix::fs::symlink(".", place.path("in/self")).unwrap();
    place.run("check in").expect(1).says("links lead in a circle");
}

#[test]
fn launch_lines_that_are_wrong_are_said() {
    let right = "twice grid 1,1,1 block 1,1,1 args u32[1]=bits\n";
    let place = Place::new(&[("a.ptx", KERNEL), ("b.ptx", KERNEL)]);
    let launch = |lines: &str| std::fs::write(place.path("a.launch"), lines).unwrap();
    launch(&format!("// A comment.\n\n{right}"));
    place.run("check a.ptx").expect(0);
    // What is no launch line.
    launch(&format!("{right}twice gird 1,1,1 block 1,1,1 args u32[1]=bits\n"));
    place.run("check a.ptx").expect(1).says("a.launch:2`");
    // One that the kernel does not take.
    launch("twice grid 1,1,1 block 1,1,1 args u32[1]=bits u64:0\n");
    place.run("check a.ptx").expect(1).says("`twice`: launch does not fit the kernel");
    // One of another kernel.
    launch(&format!("{right}thrice grid 1,1,1 block 1,1,1 args u32[1]=bits\n"));
    place.run("check a.ptx").expect(0).says("`thrice`");
    // In a file for several modules.
    std::fs::write(place.path("launches"), "c whatever\nb twice grid 1,1,1 block 1,1,1 args u64:0 u64:0\n")
        .unwrap();
    place.run("check b.ptx").expect(1).says("does not fit");
    std::fs::write(place.path("launches"), "b whatever\n").unwrap();
    place.run("check b.ptx").expect(1).says("launches:1`");
    // In the module.
    let text = format!("// launch twice grid 1,1,1 block 1,1,1 args whatever\n{KERNEL}");
    std::fs::write(place.path("d.ptx"), text).unwrap();
    place.run("check d.ptx").expect(1).says("line 1");
}
