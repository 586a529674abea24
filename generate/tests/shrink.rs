//! The shrinker keeps what fails and drops the rest.

use ptxopt_generate::options::Options;
use ptxopt_generate::{Kernel, kernel, shrink};

fn lines(kernel: &Kernel) -> usize {
    kernel.text().lines().count()
}

/// Shrinks the first kernels that fail and returns the results.
fn shrunk(count: usize, fails: fn(&str) -> bool) -> Vec<Kernel> {
    let kernels = (0..4000).map(|seed| kernel(seed, &Options::for_seed(seed)));
    let found: Vec<Kernel> = kernels.filter(|kernel| fails(kernel.text())).take(count).collect();
    assert_eq!(found.len(), count, "too few kernels fail");
    found.iter().map(|kernel| shrink(kernel, &mut |candidate| fails(candidate.text()))).collect()
}

/// Whether a division stands between a label and a branch back to it, in one function.
fn has_division_in_loop(text: &str) -> bool {
    text.split("\n}\n").any(|function| {
        let lines: Vec<&str> = function.lines().map(str::trim).collect();
        lines.iter().enumerate().any(|(at, line)| {
            let Some(label) = line.strip_suffix(':') else { return false };
            let is_back = |line: &str| line.contains("bra") && line.ends_with(&format!(" {label};"));
            let Some(end) = lines[at..].iter().position(|line| is_back(line)) else { return false };
            lines[at..at + end].iter().any(|line| line.contains("div."))
        })
    })
}

#[test]
fn a_shuffle_shrinks_to_a_few_lines() {
    for kernel in shrunk(12, |text| text.contains("shfl.sync")) {
        assert!(kernel.text().contains("shfl.sync"));
        assert!(lines(&kernel) < 25, "{}", kernel.text());
        assert_eq!(kernel.launch().block.iter().product::<u32>(), 1);
    }
}

#[test]
fn a_division_in_a_loop_shrinks_to_a_few_lines() {
    for kernel in shrunk(12, has_division_in_loop) {
        assert!(has_division_in_loop(kernel.text()));
        assert!(lines(&kernel) < 25, "{}", kernel.text());
    }
}

#[test]
fn calls_and_jump_tables_shrink_to_a_few_lines() {
    for word in ["callprototype", "brx.idx", "bar.warp.sync", "addc"] {
        let fails: fn(&str) -> bool = match word {
            "callprototype" => |text| text.contains("callprototype"),
            "brx.idx" => |text| text.contains("brx.idx"),
            "bar.warp.sync" => |text| text.contains("bar.warp.sync"),
            _ => |text| text.contains("addc"),
        };
        for kernel in shrunk(4, fails) {
            assert!(lines(&kernel) < 30, "{}", kernel.text());
        }
    }
}

#[test]
fn nothing_is_left_of_a_kernel_that_always_fails() {
    let kernel = kernel(3, &Options::for_seed(3));
    let least = shrink(&kernel, &mut |_| true);
    assert!(lines(&least) <= 7, "{}", least.text());
    assert!(least.launch().arguments.is_empty());
}

#[test]
fn a_kernel_that_fails_alone_stays_as_it_is() {
    let kernel = kernel(5, &Options::for_seed(5));
    let text = kernel.text().to_owned();
    let same = shrink(&kernel, &mut |candidate| candidate.text() == text);
    assert_eq!(same.text(), text);
}
