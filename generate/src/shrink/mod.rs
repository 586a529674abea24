//! From a kernel that fails to a small one that fails.
//!
//! Statements go, many at once and then one by one; a region is replaced by one of its arms; what is left gets simpler
//! part by part: constants for operands, one turn for a loop, one thread for a block. This goes on until nothing that is
//! smaller fails. Every tree is valid, so every candidate is a kernel like any other; every change makes the tree smaller
//! or simpler, so it ends.

mod parts;

use crate::Kernel;
use crate::tree::{Program, Statement};
use parts::{WAYS, bodies, roots, visit};
use std::mem;
use std::ops::Range;

/// The smallest kernel that is found to fail. `fails` is asked about candidates; it must hold for `kernel` itself.
pub fn shrink(kernel: &Kernel, fails: &mut dyn FnMut(&Kernel) -> bool) -> Kernel {
    let mut shrinker = Shrinker { best: kernel.clone(), fails };
    while shrinker.round() {}
    shrinker.best
}

struct Shrinker<'a> {
    best: Kernel,
    fails: &'a mut dyn FnMut(&Kernel) -> bool,
}

impl Shrinker<'_> {
    /// Tries every way once. True when one helped.
    fn round(&mut self) -> bool {
        let mut has_helped = self.launch();
        has_helped |= self.in_chunks(count_statements, remove_statements);
        has_helped |= self.hoist();
        for way in 0..WAYS {
            has_helped |= self.in_chunks(count_parts, |program, range| simplify_parts(program, &range, way));
        }
        has_helped
    }

    /// Takes a candidate if it still fails. One with the same text and launch does what the best one does.
    fn try_program(&mut self, program: Program) -> bool {
        if program == self.best.program {
            return false;
        }
        let candidate = Kernel::new(program);
        let is_same = candidate.text == self.best.text && candidate.launch == self.best.launch;
        let is_good = is_same || (self.fails)(&candidate);
        if is_good {
            self.best = candidate;
        }
        is_good
    }

    /// Fewer blocks and threads.
    fn launch(&mut self) -> bool {
        let mut has_helped = false;
        for (grid, block) in [
            ([1, 1, 1], [1, 1, 1]),
            ([1, 1, 1], self.best.program.block),
            (self.best.program.grid, [1, 1, 1]),
            (self.best.program.grid, [32, 1, 1]),
            (self.best.program.grid, [64, 1, 1]),
        ] {
            let now = &self.best.program;
            let size = |grid: [u32; 3], block: [u32; 3]| grid.iter().chain(&block).product::<u32>();
            if size(grid, block) < size(now.grid, now.block) {
                let program = Program { grid, block, ..now.clone() };
                has_helped |= self.try_program(program);
            }
        }
        has_helped
    }

    /// Applies a change to ranges of things: all of them, halves, ..., single ones, from the end.
    fn in_chunks(
        &mut self,
        count: impl Fn(&mut Program) -> usize,
        change: impl Fn(&mut Program, Range<usize>) -> bool,
    ) -> bool {
        let mut has_helped = false;
        let mut size = count(&mut self.best.program.clone());
        while size > 0 {
            let mut end = count(&mut self.best.program.clone());
            while end > 0 {
                let start = end.saturating_sub(size);
                let mut program = self.best.program.clone();
                if change(&mut program, start..end) {
                    has_helped |= self.try_program(program);
                }
                end = start.min(count(&mut self.best.program.clone()));
            }
            size /= 2;
        }
        has_helped
    }

    /// Replaces regions by what is in one of their arms.
    fn hoist(&mut self) -> bool {
        let mut has_helped = false;
        let mut at = 0;
        while at < count_statements(&mut self.best.program.clone()) {
            let mut arm = 0;
            loop {
                let mut program = self.best.program.clone();
                if !hoist_arm(&mut program, at, arm) {
                    break;
                }
                if self.try_program(program) {
                    has_helped = true;
                    // Another statement stands here now.
                    arm = 0;
                } else {
                    arm += 1;
                }
            }
            at += 1;
        }
        has_helped
    }
}

/// Statements of a program; each counts itself and those in it.
fn count_statements(program: &mut Program) -> usize {
    roots(program).into_iter().map(|list| count_in(list)).sum()
}

fn count_in(list: &mut [Statement]) -> usize {
    list.iter_mut().map(count).sum()
}

fn count(statement: &mut Statement) -> usize {
    1 + bodies(statement).into_iter().map(|body| count_in(body)).sum::<usize>()
}

/// Removes statements by their numbers in the order of the text.
fn remove_statements(program: &mut Program, range: Range<usize>) -> bool {
    let mut number = 0;
    let mut is_changed = false;
    for list in roots(program) {
        is_changed |= remove_from(list, &range, &mut number);
    }
    is_changed
}

fn remove_from(list: &mut Vec<Statement>, range: &Range<usize>, number: &mut usize) -> bool {
    let mut is_changed = false;
    list.retain_mut(|statement| {
        if range.contains(number) {
            *number += count(statement);
            is_changed = true;
            return false;
        }
        *number += 1;
        for body in bodies(statement) {
            is_changed |= remove_from(body, range, number);
        }
        true
    });
    is_changed
}

/// Replaces the statement of a number by its arm of a number. False when it has no such arm.
fn hoist_arm(program: &mut Program, wanted: usize, arm: usize) -> bool {
    let mut number = 0;
    roots(program).into_iter().any(|list| hoist_in(list, wanted, arm, &mut number))
}

fn hoist_in(list: &mut Vec<Statement>, wanted: usize, arm: usize, number: &mut usize) -> bool {
    for at in 0..list.len() {
        if *number == wanted {
            *number += 1;
            let Some(body) = bodies(&mut list[at]).into_iter().nth(arm).map(mem::take) else { return false };
            list.splice(at..=at, body);
            return true;
        }
        *number += 1;
        if bodies(&mut list[at]).into_iter().any(|body| hoist_in(body, wanted, arm, number)) {
            return true;
        }
    }
    false
}

fn count_parts(program: &mut Program) -> usize {
    let mut count = 0;
    visit(program, &mut |_| count += 1);
    count
}

/// Makes parts simpler by their numbers, all in their `way`-th way.
fn simplify_parts(program: &mut Program, range: &Range<usize>, way: usize) -> bool {
    let (mut number, mut is_changed) = (0, false);
    visit(program, &mut |part| {
        if range.contains(&number) {
            is_changed |= part.simplify(way);
        }
        number += 1;
    });
    is_changed
}
