//! Random edits of random functions, against a model that knows only a list of instructions.

use super::Fixture;
use crate::commit::*;
use crate::view::FunctionView;
use proptest::prelude::*;
use ptxopt_components::operand::Operand;
use std::fmt::Write;

/// A statement of a random body. Numbers are taken modulo the number of blocks.
#[derive(Clone, Debug)]
enum Statement {
    Plain(u8),
    Branch { is_guarded: bool, target: u8 },
    Indexed { targets: Vec<u8> },
    Return { is_guarded: bool },
    Line,
    Pragma,
    Mask,
}

fn statement() -> impl Strategy<Value = Statement> {
    prop_oneof![
        6 => any::<u8>().prop_map(Statement::Plain),
        2 => (any::<bool>(), any::<u8>()).prop_map(|(is_guarded, target)| Statement::Branch { is_guarded, target }),
        1 => prop::collection::vec(any::<u8>(), 1..4).prop_map(|targets| Statement::Indexed { targets }),
        1 => any::<bool>().prop_map(|is_guarded| Statement::Return { is_guarded }),
        2 => Just(Statement::Line),
        1 => Just(Statement::Pragma),
        1 => Just(Statement::Mask),
    ]
}

/// A body: the statements of each block, which are labelled `L0`, `L1`, ...
fn body_of(blocks: &[Vec<Statement>]) -> String {
    let mut body = String::new();
    let label = |number: u8| format!("L{}", usize::from(number) % blocks.len());
    let mut count = 0;
    for (number, statements) in blocks.iter().enumerate() {
        writeln!(body, "L{number}:").unwrap();
        for statement in statements {
            count += 1;
            let guard = |is_guarded: bool| if is_guarded { "@%p1 " } else { "" };
            match statement {
                Statement::Plain(kind) => match kind % 3 {
                    0 => writeln!(body, "add.u32 %r1, %r2, {count};"),
                    1 => writeln!(body, "st.global.v4.u32 [%rd1+{count}], {{%r1, %r2, %r1, %r2}};"),
                    _ => writeln!(body, "@!%p1 ld.global.u32 %r2, [%rd1+{count}];"),
                },
                Statement::Branch { is_guarded, target } => {
                    writeln!(body, "{}bra {};", guard(*is_guarded), label(*target))
                }
                Statement::Indexed { targets } => {
                    let names: Vec<_> = targets.iter().map(|&target| label(target)).collect();
                    writeln!(body, "T{count}: .branchtargets {};\nbrx.idx %r1, T{count};", names.join(", "))
                }
                Statement::Return { is_guarded } => writeln!(body, "{}ret;", guard(*is_guarded)),
                Statement::Line => writeln!(body, ".loc 1 {count} 0"),
                Statement::Pragma => writeln!(body, ".pragma \"nounroll\";"),
                Statement::Mask => writeln!(body, ".pragma \"used_bytes_mask {count}\";"),
            }
            .unwrap();
        }
    }
    body
}

/// Random numbers that [`make_edits`] turns into edits of what is there.
#[derive(Clone, Debug)]
struct RandomEdits {
    deletions: Vec<u16>,
    killings: Vec<u16>,
    splits: Vec<u16>,
    insertions: Vec<(u16, u16)>,
    sweep: bool,
}

fn random_edits() -> impl Strategy<Value = RandomEdits> {
    let numbers = || prop::collection::vec(any::<u16>(), 0..5);
    let pairs = prop::collection::vec((any::<u16>(), any::<u16>()), 0..5);
    (numbers(), numbers(), numbers(), pairs, any::<bool>()).prop_map(
        |(deletions, killings, splits, insertions, sweep)| RandomEdits {
            deletions,
            killings,
            splits,
            insertions,
            sweep,
        },
    )
}

/// Marks an inserted row by a place that no text reaches.
const INSERTED: u32 = 1 << 30;

/// Makes edits of function `code`, and gives the places that its instructions must have afterwards, in order.
fn make_edits(fixture: &mut Fixture, code: usize, random: &RandomEdits) -> Vec<u32> {
    let (inst_count, block_count) = (fixture.function(code).heads.len(), fixture.function(code).blocks.len());
    let at = |number: u16, count: usize| usize::from(number) % count;
    for &number in random.deletions.iter().filter(|_| inst_count > 0) {
        fixture.delete(code, at(number, inst_count));
    }
    for &number in &random.killings {
        let block = at(number, block_count);
        if block > 0 && !is_target(&fixture.function(code), BlockId::new(block)) {
            fixture.kill_block(code, block);
        }
    }
    let mut splits: Vec<usize> =
        random.splits.iter().filter(|_| inst_count > 0).map(|&number| at(number, inst_count)).collect();
    splits.sort_unstable();
    splits.dedup();
    splits.iter().for_each(|&inst| fixture.split_after(code, inst));
    let mut inserted: Vec<(usize, usize, u32)> = Vec::new();
    let models: Vec<usize> =
        (0..inst_count).filter(|&inst| !fixture.inst(code, inst).marks.contains(Marks::CONTROL)).collect();
    for (order, &(number, model)) in random.insertions.iter().enumerate().filter(|_| !models.is_empty()) {
        let block = at(number, block_count);
        let insts = fixture.function(code).blocks[block].insts;
        let before = insts.first as usize + at(number / 7, insts.len() + 1);
        let model = models[at(model, models.len())];
        fixture.insert(code, (block, before), model, INSERTED + order as u32);
        let insertion = fixture.edits.insertions.last_mut().expect("just made");
        insertion.head.marks -= Marks::TOMBSTONE;
        inserted.push((block, before, INSERTED + order as u32));
    }
    expected_places(fixture, code, &inserted, random.sweep)
}

/// Whether a live branch or table leads to `block`.
fn is_target(function: &FunctionView<'_>, block: BlockId) -> bool {
    let in_tables =
        function.tables.iter().any(|table| function.pools.targets[table.targets.range()].contains(&block));
    let leads = |operand: &Operand| operand.as_block() == Some(block);
    in_tables
        || (0..function.heads.len()).any(|inst| function.operands_of(InstId::new(inst)).iter().any(leads))
}

/// The model: for each block in order, what is inserted before each row, the row, and what is inserted at the end.
fn expected_places(
    fixture: &Fixture,
    code: usize,
    inserted: &[(usize, usize, u32)],
    sweep: bool,
) -> Vec<u32> {
    let function = fixture.function(code);
    let mut places = Vec::new();
    for (block, head) in function.blocks.iter().enumerate() {
        if sweep && head.flags.contains(BlockFlags::DEAD) {
            continue;
        }
        for before in head.insts.first as usize..=head.insts.end() {
            places.extend(inserted.iter().filter(|i| (i.0, i.1) == (block, before)).map(|i| i.2));
            if before < head.insts.end() && (function.heads[before].is_live() || !sweep) {
                places.push(function.places[before].offset);
            }
        }
    }
    places
}

/// The instructions and anchors of a written function in order, a branch target as the number of the instruction that
/// it leads to. Labels that nothing names, and two labels of one place, are the same to it.
fn canonical(text: &str) -> Vec<String> {
    let body = &text[text.find('{').expect("it has a body")..];
    let is_label = |line: &str| line.ends_with(':');
    let mut targets = Vec::new();
    let mut count = 0;
    for line in body.lines() {
        if is_label(line) {
            targets.push((line.trim_end_matches(':'), count));
        }
        count += usize::from(line.ends_with(';') && line.starts_with('\t') && !line.starts_with("\t."));
    }
    let resolve = |word: &str| {
        let name = word.trim_matches([',', ';']);
        let target = targets.iter().find(|(label, _)| *label == name);
        target.map_or_else(|| word.to_owned(), |(_, inst)| format!("#{inst}"))
    };
    let lines = body.lines().filter(|line| !is_label(line));
    lines.map(|line| line.split_whitespace().map(resolve).collect::<Vec<_>>().join(" ")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_commits_keep_what_is_always_true(
        functions in prop::collection::vec(
            (prop::collection::vec(prop::collection::vec(statement(), 0..6), 1..6), random_edits()),
            1..4,
        ),
    ) {
        let bodies: Vec<String> = functions.iter().map(|(blocks, _)| body_of(blocks)).collect();
        let mut fixture = Fixture::of_bodies(&bodies.iter().map(String::as_str).collect::<Vec<_>>());
        // A commit sweeps all functions or none.
        let sweep = functions[0].1.sweep;
        let mut expected = Vec::new();
        for (code, (_, random)) in functions.iter().enumerate() {
            expected.push(make_edits(&mut fixture, code, &RandomEdits { sweep, ..random.clone() }));
        }
        fixture.edits.sweep = sweep;
        let lines = |fixture: &Fixture, code| {
            fixture.anchors(code).iter().filter(|anchor| anchor.0 == AnchorKind::Loc).count()
        };
        let line_counts: Vec<usize> = (0..functions.len()).map(|code| lines(&fixture, code)).collect();
        fixture.commit();
        fixture.assert_is_dense();
        let read_again = Fixture::of_module(fixture.written_module());
        for code in 0..functions.len() {
            let places: Vec<u32> = fixture.function(code).places.iter().map(|place| place.offset).collect();
            prop_assert_eq!(&places, &expected[code]);
            prop_assert_eq!(lines(&fixture, code), line_counts[code], "every line has a place");
            prop_assert_eq!(canonical(&fixture.written(code)), canonical(&read_again.written(code)));
            let roots = |fixture: &Fixture| {
                let heads = fixture.function(code).heads.iter().filter(|head| head.is_live());
                heads.map(|head| head.opcode).collect::<Vec<_>>()
            };
            prop_assert_eq!(roots(&fixture), roots(&read_again));
        }
    }
}
