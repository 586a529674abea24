//! Variants: modules that real ones nearly are.
//!
//! With the inputs that are found for it, a real kernel goes one way, and what becomes of its other branches nobody sees. A
//! variant compares, counts and chooses otherwise in a few places. Launches are worked out for it as for any module, and what
//! it leaves must be the same before and after.
//!
//! # What a change keeps
//! The assembler takes a variant, and no register is read that nothing has written: what a change reads was written before in
//! its block, or in the first block of its function, on every way there.

mod changes;

use crate::mistakes::line::{Line, parse, print};
use crate::mistakes::text::Types;
use crate::modules::ModuleFile;
use crate::ptxas::is_for_debugger;
use crate::random_code::Random;
use crate::rewrite::rewrite;
use changes::CHANGES;
use ptxopt::check::{CheckOptions, Reference, Verdict, launches};
use ptxopt::{OptLevel, Options};
use std::collections::BTreeMap;

/// Modules to start from are at most this large: one of a megabyte takes as long as twenty.
const SIZE_MAX: usize = 96 << 10;

/// Changes of one variant, roughly: where they come to be is drawn by chance.
const CHANGE_COUNTS: [usize; 5] = [1, 3, 8, 20, 50];

/// Draws after which a module stays as it is.
const DRAWS_MAX: usize = 100;

/// Special registers that hold something else in a shorter kernel.
const TIMERS: [&str; 2] = ["%clock", "%globaltimer"];

/// Thread-instructions of a launch.
const STEPS_MAX: u64 = 200_000;

/// Modules to start from.
pub struct Variants {
    modules: Vec<(ModuleFile, Vec<Line>)>,
}

/// What is known where a change is made.
struct Place<'a> {
    types: &'a Types,
    /// Registers that were surely written before.
    written: Vec<&'a str>,
}

impl<'a> Place<'a> {
    fn is_written(&self, register: &str) -> bool {
        self.written.contains(&register)
    }

    /// Another register of the same type.
    fn like(&self, register: &str, random: &mut Random) -> Option<&'a str> {
        self.of_type(self.types.declared_as(register)?, random).filter(|&other| other != register)
    }

    /// A register of a type.
    fn of_type(&self, ty: &str, random: &mut Random) -> Option<&'a str> {
        let has_type = |register: &&&str| self.types.declared_as(register) == Some(ty);
        let all: Vec<&&str> = self.written.iter().filter(has_type).collect();
        (!all.is_empty()).then(|| *all[random.below(all.len())])
    }
}

/// A module with a few changes.
pub struct Variant<'v> {
    module: &'v ModuleFile,
    lines: &'v [Line],
    /// What stands for lines.
    changes: BTreeMap<usize, Vec<Line>>,
}

/// What the judge says of a variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Kernels that leave the same before and after, and those that no launch judges.
    Same(usize, usize),
    /// A kernel leaves something else, in one line.
    Wrong(String),
}

impl Variants {
    /// Those of `modules` that are not too large, read no timer, and are not for debuggers, which stay as they are.
    ///
    /// # Panics
    /// When there is none, or one that the reader refuses.
    #[must_use]
    pub fn new(modules: Vec<ModuleFile>) -> Self {
        let lines = |module: ModuleFile| {
            let text = module.text();
            if text.len() > SIZE_MAX || is_for_debugger(&text) {
                return None;
            }
            let printed = rewrite(&text).unwrap_or_else(|error| panic!("{}: {error:?}", module.name)).text;
            let printed = String::from_utf8_lossy(&printed);
            let reads_a_timer = TIMERS.iter().any(|timer| printed.contains(timer));
            (!reads_a_timer).then(|| (module, parse(&printed)))
        };
        let modules: Vec<_> = modules.into_iter().filter_map(lines).collect();
        assert!(!modules.is_empty(), "no module is small enough");
        Self { modules }
    }

    /// The variant of a seed.
    #[must_use]
    pub fn variant(&self, seed: u64) -> Variant<'_> {
        let mut random = Random::new(seed);
        let (module, lines) = &self.modules[random.below(self.modules.len())];
        let mut draws = (0..DRAWS_MAX).map(|_| changes_of(lines, &mut random));
        let changes = draws.find(|changes| !changes.is_empty()).unwrap_or_default();
        Variant { module, lines, changes }
    }
}

/// What stands for some of the instructions.
fn changes_of(lines: &[Line], random: &mut Random) -> BTreeMap<usize, Vec<Line>> {
    let inst_count = lines.iter().filter(|line| matches!(line, Line::Inst(_))).count();
    // One in so many instructions is tried, more than are wanted: not each has a place for the change that is drawn.
    let wanted = CHANGE_COUNTS[random.below(CHANGE_COUNTS.len())];
    let rarity = (inst_count / (3 * wanted)).max(1);
    let mut changes = BTreeMap::new();
    let mut types = Types::default();
    let mut walk = Written::default();
    for (at, line) in lines.iter().enumerate() {
        if matches!(line, Line::Other(text) if text.starts_with('{')) {
            types = Types::of(&lines[at..]);
        }
        if let Line::Inst(inst) = line
            && random.one_in(rarity)
        {
            let place = Place { types: &types, written: walk.all() };
            let change = CHANGES[random.below(CHANGES.len())];
            if let Some(insts) = change(inst, &place, random).filter(|insts| insts[..] != [inst.clone()]) {
                changes.insert(at, insts.into_iter().map(Line::Inst).collect());
            }
        }
        walk.pass(line);
    }
    changes
}

/// The registers that were surely written before a line.
#[derive(Default)]
struct Written<'l> {
    in_first_block: Vec<&'l str>,
    in_block: Vec<&'l str>,
    /// Braces around the line. Registers of an inner scope have names of their own.
    depth: usize,
    is_first_block: bool,
}

impl<'l> Written<'l> {
    fn all(&self) -> Vec<&'l str> {
        let mut all: Vec<&str> = self.in_first_block.iter().chain(&self.in_block).copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Goes past a line.
    fn pass(&mut self, line: &'l Line) {
        match line {
            Line::Other(text) if text.trim_start().starts_with('{') => {
                if self.depth == 0 {
                    *self = Self { is_first_block: true, ..Self::default() };
                }
                self.depth += 1;
            }
            Line::Other(text) if text.trim_start().starts_with('}') => {
                self.depth = self.depth.saturating_sub(1);
            }
            Line::Label(_) => {
                self.is_first_block = false;
                self.in_block.clear();
            }
            Line::Inst(inst) => {
                if inst.guard.is_none() && self.depth == 1 {
                    let list =
                        if self.is_first_block { &mut self.in_first_block } else { &mut self.in_block };
                    list.extend(inst.writes());
                }
                if inst.is(&["bra", "brx", "ret", "exit", "trap"]) {
                    self.is_first_block = false;
                    if inst.guard.is_none() {
                        self.in_block.clear();
                    }
                }
            }
            Line::Other(_) => {}
        }
    }
}

impl Variant<'_> {
    /// The module that it comes of.
    #[must_use]
    pub fn module(&self) -> &str {
        &self.module.name
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> String {
        let lines = self.lines.iter().enumerate();
        let changed: Vec<Line> = lines
            .flat_map(|(at, line)| self.changes.get(&at).map_or_else(|| vec![line.clone()], Clone::clone))
            .collect();
        print(&changed)
    }

    /// Runs its kernels before and after the optimizer.
    ///
    /// # Errors
    /// Text that the reader or the emulator refuses: a mistake of this module.
    pub fn judge(&self, options: &Options) -> Result<Judgement, String> {
        let optimize = |text: &[u8]| ptxopt::optimize(text, options).map(|output| output.text);
        self.judge_with(|text| optimize(text).map_err(|error| error.to_string()))
    }

    /// Runs its kernels as they are, and as `optimize` leaves them.
    fn judge_with(&self, optimize: impl Fn(&[u8]) -> Result<Vec<u8>, String>) -> Result<Judgement, String> {
        let text = self.text();
        let lines =
            launches::find(&self.module.path, text.as_bytes()).map_err(|error| format!("{error:#}"))?;
        let how = CheckOptions { seeds: 1, steps_max: STEPS_MAX, races: true };
        let reference = Reference::new(text.as_bytes(), &lines, how).map_err(|error| error.to_string())?;
        let kernels = reference.compare(&optimize(text.as_bytes())?).map_err(|error| error.to_string())?;
        let different = kernels.iter().find_map(|kernel| match &kernel.verdict {
            Verdict::Different(what) => Some(format!("{}, `{}`: {what}", self.module(), kernel.entry)),
            _ => None,
        });
        Ok(match different {
            Some(what) if !reads_what_nothing_wrote(&text) => Judgement::Wrong(what),
            _ => {
                let same = kernels.iter().filter(|kernel| kernel.verdict == Verdict::Same).count();
                Judgement::Same(same, kernels.len() - same)
            }
        })
    }

    /// The same with those changes alone without which nothing is wrong.
    #[must_use]
    pub fn shrunk(self, options: &Options) -> Self {
        self.shrunk_while(&|variant| !matches!(variant.judge(options), Ok(Judgement::Same(..))))
    }

    /// The same with those changes alone without which it is not bad.
    fn shrunk_while(mut self, is_bad: &dyn Fn(&Self) -> bool) -> Self {
        let places: Vec<usize> = self.changes.keys().copied().collect();
        for place in places {
            let Some(change) = self.changes.remove(&place) else { continue };
            if !is_bad(&self) {
                self.changes.insert(place, change);
            }
        }
        self
    }
}

/// Whether a function reads a register that nothing may have written: the module that a variant comes of may do so where its own
/// branches never lead.
fn reads_what_nothing_wrote(text: &str) -> bool {
    let options = Options { level: OptLevel::O0, remarks: true, ..Options::default() };
    let says_so = |output: ptxopt::Output| {
        output.remarks.iter().any(|remark| remark.reason.contains("may be read before it is written"))
    };
    ptxopt::optimize(text.as_bytes(), &options).is_ok_and(says_so)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mistakes::line::Inst;
    use crate::modules::corpus;

    const TEXT: &str = "\
{
\t.reg .b32 %r<9>;
\t.reg .pred %p<3>;
\tmov.b32 %r1, 1;
\tsetp.lt.s32 %p1, %r1, 5;
\t@%p1 bra L;
\tadd.s32 %r2, %r1, 7;
\t@%p1 mov.b32 %r3, 2;
\tsub.s32 %r4, %r2, %r1;
L:
\tst.global.b32 [%r1], %r1;
\tret;
}";

    /// What each change makes of an instruction behind lines, over many draws.
    fn made_of(inst: &str, change: usize) -> Vec<String> {
        let lines = parse(TEXT);
        let types = Types::of(&lines);
        let mut walk = Written::default();
        lines[..9].iter().for_each(|line| walk.pass(line));
        let place = Place { types: &types, written: walk.all() };
        let [Line::Inst(inst)] = &parse(&format!("\t{inst};"))[..] else {
            panic!("`{inst}` is no instruction")
        };
        let mut random = Random::new(1);
        let mut all: Vec<String> = (0..400)
            .filter_map(|_| CHANGES[change](inst, &place, &mut random))
            .map(|insts: Vec<Inst>| insts.iter().map(Inst::to_string).collect::<String>().replace('\t', ""))
            .collect();
        all.sort();
        all.dedup();
        all
    }

    #[test]
    fn what_was_surely_written_is_of_the_block_or_the_first_one() {
        let lines = parse(TEXT);
        let mut walk = Written::default();
        let mut at = |count: usize| {
            walk = Written::default();
            lines[..count].iter().for_each(|line| walk.pass(line));
            walk.all().join(" ")
        };
        assert_eq!(at(6), "%p1 %r1");
        assert_eq!(at(9), "%p1 %r1 %r2 %r4", "a guarded write is none");
        assert_eq!(at(10), "%p1 %r1", "a label is reached from elsewhere");
    }

    #[test]
    fn changes_make_what_their_names_say() {
        let cases: [(&str, &[&str]); 9] = [
            ("setp.lt.s32 %p1, %r1, 5", &["setp.eq.s32 %p1, %r1, 5;", "setp.lt.u32 %p1, %r1, 5;"]),
            ("add.s32 %r2, %r1, 7", &["add.s32 %r2, %r1, 6;", "add.s32 %r2, %r1, 255;"]),
            ("add.s32 %r2, %r1, 7", &["add.s32 %r2, %r2, 7;", "add.s32 %r2, %r4, 7;"]),
            ("add.s32 %r2, %r1, 7", &["add.s32 %r2, -1, 7;", "add.s32 %r2, 31, 7;"]),
            ("add.s32 %r2, %r1, 7", &["@!%p1 add.s32 %r2, %r1, 7;", "@%p1 add.s32 %r2, %r1, 7;"]),
            ("@!%p1 bra L", &["@%p1 bra L;"]),
            ("add.s32 %r2, %r1, 7", &["add.s32 %r2, %r1, 7;mov.b32 %r4, %r2;"]),
            ("and.b32 %r2, %r1, 7", &["or.b32 %r2, %r1, 7;", "xor.b32 %r2, %r1, 7;"]),
            (
                "add.s32 %r2, %r1, 7",
                &["add.s32 %r2, %r1, 7;add.s32 %r1, %r1, 7;", "add.s32 %r2, %r1, 7;add.s32 %r2, %r1, 7;"],
            ),
        ];
        for (change, (inst, wanted)) in cases.into_iter().enumerate() {
            let made = made_of(inst, change);
            for wanted in wanted {
                assert!(made.iter().any(|made| made == wanted), "{inst}: no {wanted} among {made:?}");
            }
        }
    }

    /// Makes the first sum of integers a difference.
    fn mistaken(text: &[u8]) -> Result<Vec<u8>, String> {
        Ok(String::from_utf8_lossy(text).replacen("add.s32", "sub.s32", 1).into_bytes())
    }

    #[test]
    fn a_mistake_is_seen() {
        let variants = Variants::new(corpus());
        let of_sums =
            |seed| Some(variants.variant(seed)).filter(|variant| variant.text().contains("add.s32"));
        let judged: Vec<Judgement> = (0..60)
            .filter_map(of_sums)
            .map(|variant| variant.judge_with(mistaken).expect("a variant is a module"))
            .filter(|judgement| !matches!(judgement, Judgement::Same(0, _)))
            .collect();
        let wrong = judged.iter().filter(|judgement| matches!(judgement, Judgement::Wrong(_))).count();
        assert!(judged.len() > 15 && 2 * wrong > judged.len(), "{wrong} of {}", judged.len());
    }

    #[test]
    fn what_has_nothing_to_do_with_a_mistake_is_taken_back() {
        let variants = Variants::new(corpus());
        let many = (0..).map(|seed| variants.variant(seed)).find(|variant| variant.changes.len() > 9);
        let many = many.expect("one in five has");
        let kept = *many.changes.keys().nth(4).expect("it has more than nine");
        let shrunk = many.shrunk_while(&|variant| variant.changes.contains_key(&kept));
        assert_eq!(shrunk.changes.keys().collect::<Vec<_>>(), [&kept]);
        assert!(matches!(shrunk.judge_with(|text: &[u8]| Ok(text.to_vec())), Ok(Judgement::Same(..))));
    }

    #[test]
    fn a_variant_is_another_module() {
        let variants = Variants::new(corpus());
        let is_the_same = |seed: &u64| {
            let variant = variants.variant(*seed);
            variant.text() == print(variant.lines)
        };
        assert_eq!((0..400).find(is_the_same), None);
    }

    #[test]
    fn a_variant_that_reads_what_nothing_wrote_is_none_for_the_judge() {
        let text = format!(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{TEXT}\n");
        assert!(!reads_what_nothing_wrote(&text));
        assert!(reads_what_nothing_wrote(&text.replace("mov.b32 %r1, 1", "mov.b32 %r1, %r5")));
    }

    #[test]
    fn changes_leave_alone_what_is_no_place_for_them() {
        let none: [(&str, usize); 10] = [
            ("setp.eq.b32 %p1, %r1, %r2", 1),
            ("min.relu.s32 %r2, %r1, %r4", 0),
            ("bar.sync 0", 1),
            ("bar.sync %r1", 2),
            ("selp.b32 %r2, 1, 0, %p1", 3),
            ("mov.b32 %r3, 1", 4),
            ("st.param.b32 [a], %r1", 4),
            ("bra L", 5),
            ("@%p1 add.s32 %r2, %r1, 7", 6),
            ("add.cc.s32 %r2, %r1, 7", 7),
        ];
        for (inst, change) in none {
            assert_eq!(made_of(inst, change), [""; 0], "{inst}");
        }
        let of_bits = made_of("setp.eq.b32 %p1, %r1, %r2", 0);
        assert_eq!(of_bits, ["setp.eq.b32 %p1, %r1, %r2;", "setp.ne.b32 %p1, %r1, %r2;"]);
    }
}
