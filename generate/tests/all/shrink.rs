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

/// Whether a division stands between a label and a branch back to it, in one function. Sibling scopes repeat their
/// labels, so those of the outermost one count alone.
fn has_division_in_loop(text: &str) -> bool {
    text.split("\n}\n").any(|function| {
        let lines: Vec<&str> = function.lines().map(str::trim).collect();
        lines.iter().enumerate().any(|(at, line)| {
            let Some(label) = line.strip_suffix(':').filter(|label| label.starts_with("$L")) else {
                return false;
            };
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
fn each_kind_of_statement_shrinks_to_a_few_lines() {
    type Fails = fn(&str) -> bool;
    let all: [(Fails, usize); 11] = [
        (|text| text.contains("callprototype"), 30),
        (|text| text.contains("brx.idx"), 30),
        (|text| text.contains("addc"), 30),
        // With the addresses of an exchange.
        (|text| text.contains("bar.warp.sync"), 36),
        (|text| text.contains("cp.async.wait_group 2"), 36),
        (|text| text.contains("mma.sync"), 30),
        (|text| text.contains("trap;"), 30),
        (|text| text.contains("bar.red.or.pred") && text.contains("trap;"), 30),
        (|text| text.contains("bf16x2"), 30),
        (|text| text.contains("vset4"), 30),
        // With the function and the loop that it is inlined in.
        (|text| text.contains("inlined_at") && text.contains("popc.b32"), 36),
    ];
    for (fails, lines_max) in all {
        for kernel in shrunk(4, fails) {
            assert!(lines(&kernel) < lines_max, "{}", kernel.text());
        }
    }
}

/// Whether a register is loaded from twice, with a barrier and a store between.
fn loads_again_after_a_barrier(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    let address = |line: &str| {
        line.trim_start().strip_prefix("ld.shared.u32 ")?.split_once(", ").map(|(_, at)| at.to_owned())
    };
    lines.iter().enumerate().any(|(at, line)| {
        let Some(from) = address(line).filter(|from| from.starts_with("[%t")) else { return false };
        let Some(again) = lines[at + 1..].iter().position(|line| address(line).as_ref() == Some(&from))
        else {
            return false;
        };
        let between = &lines[at + 1..at + 1 + again];
        between.iter().any(|line| line.contains("st.shared"))
            && between.iter().any(|line| line.contains("bar"))
    })
}

#[test]
fn an_exchange_of_two_rounds_shrinks_to_its_loads() {
    for kernel in shrunk(4, loads_again_after_a_barrier) {
        assert!(lines(&kernel) < 34, "{}", kernel.text());
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
