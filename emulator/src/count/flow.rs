//! The blocks of a program, and where the ways out of each reconverge: at its immediate post-dominator.
//!
//! Paper  Cooper, Harvey, Kennedy 2001, "A Simple, Fast Dominance Algorithm", on the reversed graph
//!
//! Every `ret` leads to one end, and `exit` in functions without `ret`. Elsewhere `exit` leads nowhere, and `trap` never does: a
//! thread that has ended keeps no other waiting, so an arm that ends has no say in where the others meet. Neither has the end of a
//! guarded `ret` or `exit`, nor a loop without an end.
//! ```text
//! @p bra A;  B: ...; bra J;  A: @q bra T; ...  J: ...; ret;  T: trap;     // the first branch reconverges at J
//! ```

use crate::program::{Kind, Op, Program};

/// No operation: the ways out of a block do not meet, or there is one.
pub const NOWHERE: u32 = u32::MAX;

/// The blocks of a program. A block is named by its first operation.
#[derive(Default)]
pub struct Flow {
    /// By operation: how many there are in the block that begins here; 0 where none does.
    lengths: Vec<u32>,
    /// By first operation: where the ways out of the block meet.
    meets: Vec<u32>,
}

/// Whether a block ends here.
fn is_end(op: &Op) -> bool {
    let kind = &op.kind;
    matches!(
        kind,
        Kind::Branch(_) | Kind::BranchIndexed(..) | Kind::Call(_) | Kind::Return | Kind::Exit | Kind::Trap
    )
}

impl Flow {
    /// Looks at every function.
    pub fn new(program: &Program) -> Self {
        let count = program.ops.len();
        let mut flow = Self { lengths: vec![0; count], meets: vec![NOWHERE; count] };
        for (at, function) in program.functions.iter().enumerate() {
            let end = program.functions.get(at + 1).map_or(count, |next| next.first as usize);
            flow.add(&program.ops, function.first as usize, end);
        }
        flow
    }

    /// Whether a block begins at `pc`.
    pub fn is_leader(&self, pc: u32) -> bool {
        self.lengths[pc as usize] > 0
    }

    /// Operations of the block that begins at `pc`.
    pub fn length(&self, pc: u32) -> u32 {
        self.lengths[pc as usize]
    }

    /// Where the ways out of the block that begins at `pc` meet, or [`NOWHERE`].
    pub fn meets(&self, pc: u32) -> u32 {
        self.meets[pc as usize]
    }

    /// Adds the function whose operations are `first..end`.
    fn add(&mut self, ops: &[Op], first: usize, end: usize) {
        let mut is_leader = vec![false; end - first];
        is_leader[0] = true;
        for (at, op) in ops[first..end].iter().enumerate() {
            let mut lead = |pc: u32| is_leader[pc as usize - first] = true;
            match &op.kind {
                Kind::Branch(target) => lead(*target),
                Kind::BranchIndexed(_, targets) => targets.iter().copied().for_each(&mut lead),
                _ => {}
            }
            if is_end(op) && first + at + 1 < end {
                is_leader[at + 1] = true;
            }
        }
        let leaders: Vec<usize> = (first..end).filter(|&pc| is_leader[pc - first]).collect();
        let ends = leaders.iter().skip(1).copied().chain([end]);
        let blocks: Vec<(usize, usize)> = leaders.iter().copied().zip(ends).collect();
        for &(leader, end) in &blocks {
            self.lengths[leader] = (end - leader) as u32;
        }
        let succs = successors(ops, &blocks);
        for (block, meet) in meets(&succs).into_iter().enumerate() {
            if let Some(meet) = meet {
                self.meets[blocks[block].0] = blocks[meet].0 as u32;
            }
        }
    }
}

/// By block: the blocks after it, without repetition; the number of blocks stands for the end.
fn successors(ops: &[Op], blocks: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let block_at = |pc: usize| blocks.partition_point(|&(leader, _)| leader <= pc) - 1;
    // The last operation stands for running off the end of the text: a `ret` of the program's own is another one.
    let written = &ops[blocks[0].0..blocks[blocks.len() - 1].1 - 1];
    let has_ret = written.iter().any(|op| matches!(op.kind, Kind::Return));
    let of = |(block, &(_, end)): (usize, &(usize, usize))| {
        let op = &ops[end - 1];
        let is_guarded = op.guard.slot().is_some();
        let mut succs: Vec<usize> = match &op.kind {
            Kind::Branch(target) => vec![block_at(*target as usize)],
            Kind::BranchIndexed(_, targets) => targets.iter().map(|&pc| block_at(pc as usize)).collect(),
            Kind::Return if !is_guarded => vec![blocks.len()],
            Kind::Exit if !is_guarded && !has_ret => vec![blocks.len()],
            _ => Vec::new(),
        };
        let goes_on = match &op.kind {
            Kind::Branch(_) | Kind::BranchIndexed(..) | Kind::Return | Kind::Exit | Kind::Trap => is_guarded,
            _ => true,
        };
        if goes_on && block + 1 < blocks.len() {
            succs.push(block + 1);
        }
        succs.sort_unstable();
        succs.dedup();
        succs
    };
    blocks.iter().enumerate().map(of).collect()
}

/// By block: its immediate post-dominator, if that is a block.
fn meets(succs: &[Vec<usize>]) -> Vec<Option<usize>> {
    let exit = succs.len();
    let mut preds: Vec<Vec<usize>> = vec![Vec::new(); exit + 1];
    for (block, succs) in succs.iter().enumerate() {
        succs.iter().for_each(|&succ| preds[succ].push(block));
    }
    // Postorder of the reversed graph from its root, the end.
    let mut rank = vec![usize::MAX; exit + 1];
    let mut order = Vec::new();
    let mut is_seen = vec![false; exit + 1];
    is_seen[exit] = true;
    let mut open = vec![(exit, 0)];
    while let Some((block, next)) = open.last_mut() {
        match preds[*block].get(*next) {
            Some(&pred) => {
                *next += 1;
                if !std::mem::replace(&mut is_seen[pred], true) {
                    open.push((pred, 0));
                }
            }
            None => {
                rank[*block] = order.len();
                order.push(*block);
                open.pop();
            }
        }
    }
    let mut immediate: Vec<Option<usize>> = vec![None; exit + 1];
    immediate[exit] = Some(exit);
    let mut is_changing = true;
    while is_changing {
        is_changing = false;
        for &block in order.iter().rev().skip(1) {
            let known = succs[block].iter().copied().filter(|&succ| immediate[succ].is_some());
            let meet = known.reduce(|mut one, mut other| {
                while one != other {
                    while rank[one] < rank[other] {
                        one = immediate[one].expect("it is known");
                    }
                    while rank[other] < rank[one] {
                        other = immediate[other].expect("it is known");
                    }
                }
                one
            });
            is_changing |= immediate[block] != meet;
            immediate[block] = meet;
        }
    }
    immediate.truncate(exit);
    immediate.into_iter().map(|meet| meet.filter(|&meet| meet != exit)).collect()
}

#[cfg(test)]
mod tests {
    use super::meets;

    #[test]
    fn diamonds_loops_and_ends() {
        // 0 -> 1, 2; both -> 3; 3 -> 3, 4; 4 ends.
        let diamond = [vec![1, 2], vec![3], vec![3], vec![3, 4], vec![5]];
        assert_eq!(meets(&diamond), [Some(3), Some(3), Some(3), Some(4), None]);
        // 1 leads nowhere: 0 meets what the others meet.
        assert_eq!(meets(&[vec![1, 2], vec![], vec![3], vec![4]]), [Some(2), None, Some(3), None]);
        // Two ends meet at no block.
        assert_eq!(meets(&[vec![1, 2], vec![3], vec![3]]), [None, None, None]);
        // A loop without an end.
        assert_eq!(meets(&[vec![1, 2], vec![1], vec![3]]), [Some(2), None, None]);
    }
}
