//! What phases pay for changing code: the editor against a copy of each changed function at the end of the phase.
//!
//! Both do the same changes to the same functions, batch by batch as a shard takes them, and must write the same text.
//! They take turns in each round, so that what else runs on the machine hits both. Times are CPU time of the thread, in
//! nanoseconds an instruction of the functions; least and median are taken over the rounds of a batch and summed over the
//! batches. Where a workload has def-use, the editor keeps it true and builds it anew after the compaction; the copy
//! builds it anew after every phase.
//!
//! ```text
//! cargo bench -p ptxopt-bench --bench edits [-- --rounds N] [-- --only editor|copy] [-- --load WORD]
//! ```
//!
//! `--only` runs one of the two without measuring, for profilers that count instructions.

use ptxopt_bench::clock::{minimum_and_median, thread_time};
use ptxopt_bench::copy_once::CopyOnce;
use ptxopt_bench::{kernels, modules};
use ptxopt_components::ids::{BlockId, CodeId, FormId, Id, InstId, VRegId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::operand::Operand;
use ptxopt_engine::edit::PlainEditor;
use ptxopt_engine::forms::{Dialect, FormTable};
use ptxopt_engine::ptx::reader::{ReaderScratch, read};
use ptxopt_engine::ptx::scan::Module;
use ptxopt_engine::ptx::writer::{WriterScratch, write_function};
use ptxopt_engine::run::batches::cut;
use ptxopt_engine::store::tables::CodeTables;
use ptxopt_engine::store::view::FunctionView;
use std::hint::black_box;

/// Instructions of a set of kernels made to size.
const MODULE_INSTS: usize = 200_000;

/// Room in percent, as a plan whose phases insert much asks for it.
const ROOM_PERCENT: u32 = 100;

/// What a run of phases changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Workload {
    Insert,
    Move,
    Hoist,
    SplitAndMerge,
    InsertTenTimes,
}

const WORKLOADS: [(Workload, &str); 5] = [
    (Workload::Insert, "insert 5 %"),
    (Workload::Move, "move 5 %"),
    (Workload::Hoist, "hoist 1 % three times"),
    (Workload::SplitAndMerge, "split 2 %, merge"),
    (Workload::InsertTenTimes, "insert 5 %, ten times"),
];

impl Workload {
    /// How many phases do it.
    fn phase_count(self) -> usize {
        match self {
            Self::Insert | Self::Move | Self::Hoist => 1,
            Self::SplitAndMerge => 2,
            Self::InsertTenTimes => 10,
        }
    }
}

/// One change, by the ids of the code before the phase.
#[derive(Clone, Copy)]
enum Edit {
    Insert { before: InstId },
    Move { inst: InstId, before: InstId },
    MoveToEnd { inst: InstId, block: BlockId },
    Split { after: InstId },
    Merge { first: InstId },
}

/// Says what a phase changes, by places in program order: the same for every numbering of the rows.
#[derive(Default)]
struct Planner {
    /// The changes of each function.
    edits: Vec<Vec<Edit>>,
    /// By function: the places after which blocks were split.
    splits: Vec<Vec<usize>>,
    order: Vec<InstId>,
}

impl Planner {
    fn plan<'v>(
        &mut self,
        functions: impl Iterator<Item = FunctionView<'v>>,
        workload: Workload,
        phase: usize,
    ) -> usize {
        let mut count = 0;
        for (code, function) in functions.enumerate() {
            if code == self.edits.len() {
                self.edits.push(Vec::new());
                self.splits.push(Vec::new());
            }
            self.order.clear();
            self.order.extend(function.block_ids().flat_map(|block| function.insts_of(block)));
            self.edits[code].clear();
            match workload {
                Workload::Insert | Workload::InsertTenTimes => self.insert(code, phase),
                Workload::Move => self.shuffle(code, &function),
                Workload::Hoist => self.hoist(code, &function),
                Workload::SplitAndMerge if phase == 0 => self.split(code, &function),
                Workload::SplitAndMerge => self.merge(code),
            }
            count += self.edits[code].len();
        }
        count
    }

    fn insert(&mut self, code: usize, phase: usize) {
        let chosen = self.order.iter().enumerate().filter(|&(at, _)| mix(code, at, phase).is_multiple_of(20));
        self.edits[code].extend(chosen.map(|(_, &before)| Edit::Insert { before }));
    }

    /// Every target is used once, and does not move itself: then the order of the moves does not matter.
    fn shuffle(&mut self, code: usize, function: &FunctionView<'_>) {
        let mut first = 0;
        for block in function.block_ids() {
            let count = function.insts_of(block).count();
            let rows = &self.order[first..first + count];
            let mut taken: Vec<usize> = Vec::new();
            for (at, &inst) in rows.iter().enumerate() {
                let hash = mix(code, first + at, 0);
                let is_chosen = hash.is_multiple_of(20) && count > 2 && !is_control(function, inst);
                let to = (at + 2 + (hash >> 8) as usize % (count.max(3) - 2)) % count;
                if is_chosen && !taken.contains(&at) && !taken.contains(&to) {
                    taken.extend([at, to]);
                    self.edits[code].push(Edit::Move { inst, before: rows[to] });
                }
            }
            first += count;
        }
    }

    /// Level by level, as a phase does that works on inner loops first.
    fn hoist(&mut self, code: usize, function: &FunctionView<'_>) {
        for level in 1..=3 {
            for (at, &inst) in self.order.iter().enumerate() {
                let block = function.heads[inst.index()].block.index();
                if block < 6 || !mix(code, at, 0).is_multiple_of(100) || is_control(function, inst) {
                    continue;
                }
                let block = BlockId::new(block - 2 * level);
                let last = function.insts_of(block).next_back();
                self.edits[code].push(match last.filter(|&last| is_control(function, last)) {
                    Some(before) => Edit::Move { inst, before },
                    None => Edit::MoveToEnd { inst, block },
                });
            }
        }
    }

    fn split(&mut self, code: usize, function: &FunctionView<'_>) {
        self.splits[code].clear();
        let mut first = 0;
        for block in function.block_ids() {
            let count = function.insts_of(block).count();
            let at = first + count / 2;
            if count > 1 && mix(code, at, 0).is_multiple_of(50) && !is_control(function, self.order[at - 1]) {
                self.splits[code].push(at - 1);
                self.edits[code].push(Edit::Split { after: self.order[at - 1] });
            }
            first += count;
        }
    }

    fn merge(&mut self, code: usize) {
        let (order, splits) = (&self.order, &self.splits[code]);
        self.edits[code].extend(splits.iter().map(|&at| Edit::Merge { first: order[at + 1] }));
    }
}

fn is_control(function: &FunctionView<'_>, inst: InstId) -> bool {
    function.heads[inst.index()].marks.contains(Marks::CONTROL)
}

/// A number that depends on all three as if at random.
fn mix(code: usize, at: usize, phase: usize) -> u64 {
    let key = (code as u64) << 40 ^ (phase as u64) << 32 ^ at as u64;
    let mut mixed = key.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (mixed ^ (mixed >> 31)) >> 8
}

/// What is measured.
#[derive(Clone, Copy)]
enum Part {
    /// The phases, with the editor.
    Edit,
    /// The compaction after the last one.
    Compact,
    /// Def-use after that, where it is kept.
    DefUse,
    /// A walk over all rows before the compaction, and after.
    WalkChained,
    WalkDense,
    /// The phases, with copies, and def-use where it is kept.
    Copy,
    /// A walk over all rows after the last copy.
    WalkCopied,
}

const PART_COUNT: usize = 7;

/// Nanoseconds by part.
type Times = [f64; PART_COUNT];

fn timed<T>(times: &mut Times, part: Part, work: impl FnOnce() -> T) -> T {
    let start = thread_time();
    let result = work();
    times[part as usize] += (thread_time() - start).as_nanos() as f64;
    result
}

fn walk<'v>(functions: impl Iterator<Item = FunctionView<'v>>) -> u64 {
    let mut sum = 0;
    for function in functions {
        for block in function.block_ids() {
            for (inst, head, operands) in function.rows_of(block) {
                sum += u64::from(inst.0) + u64::from(head.opcode.0) + operands.len() as u64;
            }
        }
    }
    sum
}

/// What both designs need beside tables.
struct Bench<'m> {
    text: &'m [u8],
    forms: FormTable,
    add: FormId,
    editor: PlainEditor,
    copies: CopyOnce,
    planner: Planner,
    writer: WriterScratch,
}

/// The operands of what is inserted.
fn added() -> [Operand; 3] {
    [Operand::register(VRegId(0)), Operand::register(VRegId(0)), Operand::int(7)]
}

impl Bench<'_> {
    fn edit(
        &mut self,
        mut tables: CodeTables,
        workload: Workload,
        has_def_use: bool,
        times: &mut Times,
    ) -> Vec<u8> {
        let Self { forms, editor, planner, .. } = self;
        let codes = (0..tables.code_spans.len()).map(CodeId::new);
        if has_def_use {
            codes.clone().for_each(|code| editor.analyze(&mut tables, code));
        }
        for phase in 0..workload.phase_count() {
            planner.plan(tables.view().functions(), workload, phase);
            timed(times, Part::Edit, || {
                editor.journal.clear();
                for code in codes.clone() {
                    change(editor, &mut tables, forms, self.add, code, &planner.edits[code.index()]);
                }
            });
        }
        timed(times, Part::WalkChained, || black_box(walk(tables.view().functions())));
        timed(times, Part::Compact, || {
            codes.clone().for_each(|code| editor.compact(&mut tables, code, |_| true));
        });
        if has_def_use {
            timed(times, Part::DefUse, || codes.for_each(|code| editor.analyze(&mut tables, code)));
        }
        timed(times, Part::WalkDense, || black_box(walk(tables.view().functions())));
        self.write(tables.view().functions())
    }

    fn copy(
        &mut self,
        tables: CodeTables,
        workload: Workload,
        has_def_use: bool,
        times: &mut Times,
    ) -> Vec<u8> {
        let mut copies = std::mem::take(&mut self.copies);
        let codes = (0..tables.code_spans.len()).map(CodeId::new);
        copies.load(tables);
        for phase in 0..workload.phase_count() {
            self.planner.plan(codes.clone().map(|code| copies.view(code)), workload, phase);
            timed(times, Part::Copy, || {
                for code in codes.clone() {
                    let edits = &self.planner.edits[code.index()];
                    record(&mut copies, &self.forms, self.add, code, edits);
                    if has_def_use && !edits.is_empty() {
                        copies.build_def_use(code);
                    }
                }
            });
        }
        timed(times, Part::WalkCopied, || black_box(walk(codes.clone().map(|code| copies.view(code)))));
        let text = self.write(codes.map(|code| copies.view(code)));
        self.copies = copies;
        text
    }

    fn write<'v>(&mut self, functions: impl Iterator<Item = FunctionView<'v>>) -> Vec<u8> {
        let mut out = Vec::new();
        for function in functions {
            write_function(&function, &self.forms, self.text, &mut self.writer, &mut out);
        }
        out
    }
}

/// Changes a function with the editor.
fn change(
    editor: &mut PlainEditor,
    tables: &mut CodeTables,
    forms: &mut FormTable,
    add: FormId,
    code: CodeId,
    edits: &[Edit],
) {
    if edits.is_empty() {
        return;
    }
    let mut f = editor.edit(tables, forms, code);
    for &edit in edits {
        let (Edit::Insert { before: at }
        | Edit::Move { inst: at, .. }
        | Edit::MoveToEnd { inst: at, .. }
        | Edit::Split { after: at }
        | Edit::Merge { first: at }) = edit;
        let mut change = f.change(at, "bench").expect("there is room");
        match edit {
            Edit::Insert { before } => {
                change.insert_before(before, add, &added(), None);
            }
            Edit::Move { inst, before } => change.move_before(inst, before),
            Edit::MoveToEnd { inst, block } => change.move_to_end(inst, block),
            Edit::Split { after } => {
                change.split_after(after);
            }
            Edit::Merge { first } => {
                let block = change.function().heads[first.index()].block;
                change.merge(block);
            }
        }
    }
}

/// Changes a function by a copy.
fn record(copies: &mut CopyOnce, forms: &FormTable, add: FormId, code: CodeId, edits: &[Edit]) {
    if edits.is_empty() {
        return;
    }
    for &edit in edits {
        match edit {
            Edit::Insert { before } => copies.insert_before(forms, code, before, add, &added()),
            Edit::Move { inst, before } => copies.move_before(code, inst, before),
            Edit::MoveToEnd { inst, block } => copies.move_to_end(code, inst, block),
            Edit::Split { after } => copies.split_after(after),
            Edit::Merge { first } => {
                let block = copies.view(code).heads[first.index()].block;
                copies.merge(block);
            }
        }
    }
    copies.commit(code);
}

/// Sums over batches, for one workload.
#[derive(Clone, Copy, Default)]
struct Sums {
    least: Times,
    median: Times,
    insts: usize,
    edits: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Only {
    Both,
    Editor,
    Copy,
}

/// Measures every workload on the functions of a module.
fn measure(text: &[u8], rounds: usize, only: Only, sums: &mut [[Sums; 2]; WORKLOADS.len()]) {
    let module = Module::scan(text).expect("the text is PTX");
    let mut forms = FormTable::default();
    let mnemonic = forms.mnemonic(b"add.u32", Dialect::default());
    let add = forms.form(mnemonic, b"#,#,#");
    let mut bench = Bench {
        text,
        forms,
        add,
        editor: PlainEditor::default(),
        copies: CopyOnce::default(),
        planner: Planner::default(),
        writer: WriterScratch::default(),
    };
    let mut reader = ReaderScratch::default();
    for functions in cut(&module.functions) {
        let mut tables = CodeTables::default();
        read(&module, functions, &mut bench.forms, &mut reader, &mut tables).expect("the text is PTX");
        tables.make_room(ROOM_PERCENT);
        if !tables.left.is_empty() || tables.code_spans.iter().any(|spans| spans.vregs.is_empty()) {
            continue;
        }
        for (&(workload, _), sums) in WORKLOADS.iter().zip(&mut *sums) {
            for (has_def_use, sums) in [false, true].into_iter().zip(sums) {
                let mut samples: Vec<Times> = Vec::new();
                for round in 0..=rounds {
                    let mut times = Times::default();
                    let mut edited = None;
                    if only != Only::Copy && round % 2 == 0 {
                        edited = Some(bench.edit(tables.clone(), workload, has_def_use, &mut times));
                    }
                    let copied = (only != Only::Editor)
                        .then(|| bench.copy(tables.clone(), workload, has_def_use, &mut times));
                    if only != Only::Copy && round % 2 == 1 {
                        edited = Some(bench.edit(tables.clone(), workload, has_def_use, &mut times));
                    }
                    if let (Some(edited), Some(copied)) = (edited, copied) {
                        assert!(edited == copied, "both write the same text after {workload:?}");
                    }
                    // The first round grows the memory of both.
                    if round > 0 {
                        samples.push(times);
                    }
                }
                for part in 0..PART_COUNT {
                    let column: Vec<f64> = samples.iter().map(|times| times[part]).collect();
                    let (least, median) = minimum_and_median(&column);
                    sums.least[part] += least;
                    sums.median[part] += median;
                }
                sums.insts += tables.code_spans.iter().map(|spans| spans.insts.len()).sum::<usize>();
                let phases = 0..workload.phase_count();
                sums.edits += phases
                    .map(|phase| bench.planner.plan(tables.view().functions(), workload, phase))
                    .sum::<usize>();
            }
        }
    }
}

fn print(name: &str, sums: &[[Sums; 2]; WORKLOADS.len()]) {
    println!("\n{name}: {} instructions", sums[0][0].insts);
    println!(
        "{:36}{:>8}{:>15}{:>15}{:>15}{:>15}{:>15}{:>15}{:>8}",
        "ns an instruction (least, median)",
        "edits",
        "edit",
        "compact",
        "def-use anew",
        "all of it",
        "copy",
        "walk",
        "copy/all"
    );
    for ((_, workload), sums) in WORKLOADS.iter().zip(sums) {
        for (has_def_use, sums) in [false, true].into_iter().zip(sums) {
            let per_inst = |ns: f64| ns / sums.insts as f64;
            let pair = |parts: &[Part]| {
                let sum = |times: &Times| per_inst(parts.iter().map(|&part| times[part as usize]).sum());
                format!("{:.2} {:.2}", sum(&sums.least), sum(&sums.median))
            };
            let all = [Part::Edit, Part::Compact, Part::DefUse];
            let least = |part: Part| sums.least[part as usize];
            let ratio = least(Part::Copy) / all.iter().map(|&part| least(part)).sum::<f64>();
            let walks = [Part::WalkChained, Part::WalkDense, Part::WalkCopied]
                .map(|part| format!("{:.2}", per_inst(least(part))))
                .join(" ");
            println!(
                "{:36}{:>7.1}%{:>15}{:>15}{:>15}{:>15}{:>15}{:>15}{:>8.2}",
                format!("{workload}{}", if has_def_use { ", def-use" } else { "" }),
                100.0 * sums.edits as f64 / sums.insts as f64,
                pair(&[Part::Edit]),
                pair(&[Part::Compact]),
                pair(&[Part::DefUse]),
                pair(&all),
                pair(&[Part::Copy]),
                walks,
                ratio
            );
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value =
        |name| arguments.iter().position(|argument| argument == name).and_then(|at| arguments.get(at + 1));
    let rounds: Option<usize> = value("--rounds").map(|rounds| rounds.parse().expect("a number of rounds"));
    let only = match value("--only").map(String::as_str) {
        Some("editor") => Only::Editor,
        Some("copy") => Only::Copy,
        _ => Only::Both,
    };
    let wanted = |name: &str| value("--load").is_none_or(|word| name.contains(word.as_str()));
    println!("walk: chained, compacted, copied");
    for inst_count in [60, 1_000, 10_000, 120_000] {
        let name = format!("functions of {inst_count} instructions");
        if wanted(&name) {
            let mut sums = Default::default();
            let text = kernels::module(MODULE_INSTS / inst_count, inst_count);
            measure(&text, rounds.unwrap_or(40), only, &mut sums);
            print(&name, &sums);
        }
    }
    if !wanted("corpus") && !wanted("wild") {
        return;
    }
    for set in modules::sets() {
        if wanted(set.name) {
            let mut sums = Default::default();
            // Rounds are many where batches are few.
            let rounds = rounds.unwrap_or(if set.bytes() > 20_000_000 { 5 } else { 20 });
            set.texts.iter().for_each(|text| measure(text, rounds, only, &mut sums));
            print(set.name, &sums);
        }
    }
}
