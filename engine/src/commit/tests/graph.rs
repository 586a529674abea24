//! What updates of the flow graph do: merged blocks, redirected branches, new blocks, fresh labels.

use super::Fixture;
use crate::edits::{Place, Redirection};
use ptxopt_components::ids::{BlockId, CodeId, InstId};

impl Fixture {
    fn merge(&mut self, code: usize, block: u32) {
        self.edits.merges.push((CodeId(code as u32), BlockId(block)));
        self.edits.sweep = true;
    }

    fn redirect(&mut self, code: usize, inst: u32, to: Place) {
        self.edits.redirections.push(Redirection { code: CodeId(code as u32), inst: InstId(inst), to });
    }

    fn insert_block_before(&mut self, code: usize, block: u32) {
        self.edits.new_blocks.push((CodeId(code as u32), BlockId(block)));
    }
}

#[test]
fn a_merged_block_loses_its_label_and_its_boundary() {
    let mut fixture = Fixture::of("mov.u32 %r1, 1; bra A; A: bar.sync 0; ret;");
    fixture.delete(0, 1);
    fixture.merge(0, 1);
    fixture.commit();
    assert_eq!(fixture.listing(0), ["mov.u32 bar.sync ret ->"]);
    fixture.assert_is_dense();
}

#[test]
fn blocks_merge_across_dead_ones_and_in_a_row() {
    let body = "mov.u32 %r1, 1; bra C; A: trap; B: trap; C: bar.sync 0; bra D; D: ret; bra A; bra B;";
    let mut fixture = Fixture::of(body);
    fixture.delete(0, 1);
    fixture.delete(0, 5);
    // What stands behind the return goes, and with it what led to A and B.
    fixture.delete(0, 7);
    fixture.delete(0, 8);
    fixture.kill_block(0, 1);
    fixture.kill_block(0, 2);
    fixture.merge(0, 3);
    fixture.merge(0, 4);
    let epochs = fixture.state(0);
    fixture.commit();
    assert_eq!(fixture.listing(0), ["mov.u32 bar.sync ret ->"]);
    assert_eq!(fixture.state(0).1, epochs.1 + 1, "other blocks, other facts");
    fixture.assert_is_dense();
}

#[test]
fn anchors_of_a_dead_block_join_what_is_merged_behind_it() {
    let body = "mov.u32 %r1, 1; bra B; A: .loc 1 7 0\ntrap; B: .loc 1 8 0\nbar.sync 0; ret; bra A;";
    let mut fixture = Fixture::of(body);
    for inst in [1, 5] {
        fixture.delete(0, inst);
    }
    fixture.kill_block(0, 1);
    fixture.merge(0, 2);
    fixture.commit();
    assert_eq!(fixture.listing(0), ["mov.u32 bar.sync ret ->"]);
    let places: Vec<_> = fixture.anchors(0).iter().map(|&(_, before, block)| (before, block)).collect();
    assert_eq!(places, [(1, 0), (1, 0)]);
    fixture.assert_is_dense();
}

#[test]
#[should_panic(expected = "something branches to bix2, which was merged")]
fn a_branch_to_a_merged_block_is_refused() {
    let mut fixture = Fixture::of("@%p1 bra A; mov.u32 %r1, 1; A: ret;");
    fixture.split_after(0, 0);
    fixture.commit();
    fixture.merge(0, 2);
    fixture.commit();
}

#[test]
#[should_panic(expected = "joins a block that does not fall through to it")]
fn a_block_behind_a_branch_does_not_merge() {
    let mut fixture = Fixture::of("bra A; A: ret;");
    fixture.merge(0, 1);
    fixture.commit();
}

#[test]
fn a_redirected_branch_leads_where_its_target_comes_to_lie() {
    let mut fixture = Fixture::of("@%p1 bra A; bar.sync 0; A: ret; B: trap; bra B;");
    fixture.redirect(0, 0, Place::Block(BlockId(2)));
    // The split moves every block behind it.
    fixture.split_after(0, 0);
    fixture.commit();
    assert_eq!(fixture.listing(0), ["@bra -> 3 1", "bar.sync -> 2", "A: ret ->", "B: trap bra ->"]);
    fixture.assert_is_dense();
}

#[test]
fn of_two_redirections_the_later_stands() {
    let mut fixture = Fixture::of("@%p1 bra A; bar.sync 0; A: ret; B: trap; bra B;");
    fixture.redirect(0, 0, Place::Block(BlockId(2)));
    fixture.redirect(0, 0, Place::Block(BlockId(1)));
    fixture.commit();
    assert_eq!(fixture.listing(0)[0], "@bra bar.sync -> 1 1");
}

#[test]
fn a_new_block_takes_the_fall_and_gets_a_label_when_a_branch_names_it() {
    let mut fixture = Fixture::of("@%p1 bra A; bar.sync 0; A: @%p2 bra A; ret;");
    fixture.insert_block_before(0, 1);
    fixture.redirect(0, 0, Place::NewBefore(BlockId(1)));
    fixture.commit();
    let wanted = ["@bra bar.sync -> 1 1", "$L__ptxopt_0: -> 2", "A: @bra ret -> 2"];
    assert_eq!(fixture.listing(0), wanted);
    assert!(fixture.written(0).contains("@%p1 bra $L__ptxopt_0;"), "{}", fixture.written(0));
    fixture.assert_is_dense();
}

#[test]
fn a_new_block_that_nothing_names_has_no_label() {
    let mut fixture = Fixture::of("bar.sync 0; A: @%p2 bra A; ret;");
    fixture.insert_block_before(0, 1);
    fixture.commit();
    assert_eq!(fixture.listing(0), ["bar.sync -> 1", "-> 2", "A: @bra ret -> 2"]);
}

#[test]
fn a_branch_leads_to_the_block_that_a_split_makes() {
    let mut fixture = Fixture::of("A: @%p1 bra A; bar.sync 0; bra A;");
    fixture.split_after(0, 0);
    fixture.split_after(0, 1);
    fixture.redirect(0, 0, Place::BlockOf(InstId(2)));
    fixture.commit();
    let wanted = ["-> 1", "A: @bra -> 3 2", "bar.sync -> 3", "$L__ptxopt_0: bra -> 1"];
    assert_eq!(fixture.listing(0), wanted);
    fixture.assert_is_dense();
}

#[test]
fn each_function_gets_its_own_edits() {
    let body = "mov.u32 %r1, 1; bra A; A: bar.sync 0; ret;";
    let mut fixture = Fixture::of_bodies(&[body, body, body]);
    for code in [0, 2] {
        fixture.delete(code, 1);
        fixture.merge(code, 1);
    }
    fixture.insert_block_before(1, 1);
    fixture.redirect(1, 1, Place::NewBefore(BlockId(1)));
    let epochs: Vec<_> = (0..3).map(|code| fixture.state(code).1).collect();
    fixture.commit();
    assert_eq!(fixture.listing(0), ["mov.u32 bar.sync ret ->"]);
    assert_eq!(fixture.listing(1), ["mov.u32 bra -> 1", "$L__ptxopt_0: -> 2", "A: bar.sync ret ->"]);
    assert_eq!(fixture.listing(2), ["mov.u32 bar.sync ret ->"]);
    assert!((0..3).all(|code| fixture.state(code).1 == epochs[code] + 1));
    fixture.assert_is_dense();
}
