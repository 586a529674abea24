//! Options: everything that a caller may choose about a run.
//!
//! The defaults are those of `-O2`. [`Options::fingerprint`] is a number that changes with every option that
//! can change the output; with the version of the program it makes the key of a result cache.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use crate::knobs::{Acts, KNOBS, Knob, KnobError, Knobs, Setting, Value};
use crate::level::{OptLevel, UnknownLevel};
use crate::names::{self, NameError, Selection};
use crate::table::{self, Does, Part, PhaseNumber, PhaseRow};
use ptxopt_systems::flow::{simplify_loops, unroll_loops};
use ptxopt_systems::ssa::build_ssa;
use ptxopt_systems::structurize::{self, irreducible};
use ptxopt_systems::values::general_optimize;

/// How much the verifier looks at between phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum VerifyLevel {
    /// Nothing.
    #[default]
    Off,
    /// What costs less than the phases.
    Fast,
    /// Everything, with facts computed anew.
    Full,
}

/// What the structurizer's knob takes: the second leaves uniform regions alone.
const STRUCTURIZE_MODES: [&str; 2] = ["on", "skip-uniform-regions"];

/// What one function may cost before it is left as it was. Each limit that bites is counted and reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Milliseconds of CPU time that the phases may spend on one function. The only limit that depends on the machine, so
    /// its default is far from what any real function needs.
    pub function_time_ms: u64,
    /// Bytes that the tables of one function may take.
    pub memory: u64,
    /// Most instructions that a function may come out with, in percent of what it came in with.
    pub growth: u32,
}

impl Limits {
    /// A minute: a thousand times what the largest real function seen (118,798 instructions) is meant to
    /// take.
    pub const FUNCTION_TIME_MS: u64 = 60_000;
    /// 8 GiB: a hundred times what the tables of that function are meant to take.
    pub const MEMORY: u64 = 8 << 30;
    /// No growth: a caller is never worse off than without the optimizer.
    pub const GROWTH: u32 = 100;
    /// At the end, where passes run that add blocks: a graph of empty blocks in which every join is open takes some four
    /// instructions a block. The steps before them keep to the limit.
    pub const GROWTH_OF_PASSES: u32 = 700;
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { function_time_ms: Limits::FUNCTION_TIME_MS, memory: Limits::MEMORY, growth: Limits::GROWTH }
    }
}

/// An option whose value is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionError {
    /// There is no such optimization level.
    Level(UnknownLevel),
    /// A knob, or its value, is wrong.
    Knob(KnobError),
    /// The name of a phase is wrong.
    Name(NameError),
    /// A limit, or its value, is wrong.
    Limit {
        /// What was typed.
        text: String,
    },
    /// A phase cannot be switched off.
    Required {
        /// Its name.
        phase: &'static str,
    },
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionError::Level(error) => error.fmt(f),
            OptionError::Knob(error) => error.fmt(f),
            OptionError::Name(error) => error.fmt(f),
            OptionError::Required { phase } => {
                write!(f, "{phase} cannot be switched off: later phases would be wrong without it")
            }
            OptionError::Limit { text } => write!(
                f,
                "`{text}` is no limit; expected `time=MILLISECONDS`, `memory=BYTES` or `growth=PERCENT`"
            ),
        }
    }
}

impl std::error::Error for OptionError {}

impl From<UnknownLevel> for OptionError {
    fn from(error: UnknownLevel) -> OptionError {
        OptionError::Level(error)
    }
}

impl From<KnobError> for OptionError {
    fn from(error: KnobError) -> OptionError {
        OptionError::Knob(error)
    }
}

impl From<NameError> for OptionError {
    fn from(error: NameError) -> OptionError {
        OptionError::Name(error)
    }
}

/// Everything that a caller may choose.
/// The example of the [crate] sets some.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// How much work to put into the code.
    pub level: OptLevel,
    /// Settings of single phases.
    pub knobs: Knobs,
    /// Worker threads; 0 stands for one a core. Never changes the output.
    pub threads: usize,
    /// How much the verifier looks at between phases.
    pub verify: VerifyLevel,
    /// Make this many changes and no more, to find a guilty one by bisection.
    pub bisect: Option<u64>,
    /// Optimize modules with `.target ..., debug`, too, although their debug information names registers.
    pub force_debug: bool,
    /// Do on each target only what the sources do there, where phases have a table of that.
    pub faithful: bool,
    /// Never merge consecutive blocks.
    pub dont_merge_blocks: bool,
    /// Unroll no loop, and ask the assembler for the same by a pragma at module level.
    pub no_unroll: bool,
    /// If not empty: run these phases only, beside checks, analyses and sweeps.
    pub named_phases: Selection,
    /// Leave these phases out.
    pub disabled_phases: Selection,
    /// Dump the code after these phases. Never changes the output.
    pub dump_after: Selection,
    /// Dump the flow graph in DOT after these phases. Never changes the output.
    pub dump_cfg_after: Selection,
    /// Dump reverse postorder and back edges after these phases. Never changes the output.
    pub dump_rpo_after: Selection,
    /// Knobs, dumps and bisection touch only functions with this code fingerprint.
    pub fingerprint_filter: Option<u64>,
    /// What one function may cost.
    pub limits: Limits,
    /// Keep functions that come out larger than the growth limit allows: after a part of the pipeline, what the rest of it
    /// would make smaller. Phases keep to their limits as ever.
    pub keep_grown: bool,
    /// Collect remarks. Never changes the output.
    pub remarks: bool,
}

/// What becomes of a phase under given options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It runs.
    Runs,
    /// It has no system, for this reason.
    DoesNothing(&'static str),
    /// It does not run at this level.
    NotAtLevel,
    /// This knob vetoes it.
    Vetoed(Knob),
    /// This knob, which has to be on, is off.
    GateClosed(Knob),
    /// The caller left it out.
    Disabled,
    /// The caller named other phases.
    NotNamed,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Runs => f.write_str("runs"),
            Verdict::DoesNothing(_) => f.write_str("-"),
            Verdict::NotAtLevel => f.write_str("not at this level"),
            Verdict::Vetoed(knob) => write!(f, "vetoed by {}", knob.row().name),
            Verdict::GateClosed(knob) => write!(f, "needs {}", knob.row().name),
            Verdict::Disabled => f.write_str("disabled"),
            Verdict::NotNamed => f.write_str("not named"),
        }
    }
}

impl Options {
    /// Takes one setting as users write it: `NAME=VALUE`, `NUMBER=VALUE` or `NAME`. Lists of phases add up;
    /// of other knobs the last setting stands.
    pub fn set_knob(&mut self, text: &str) -> Result<(), OptionError> {
        for setting in Setting::parse(text)? {
            self.take(setting)?;
        }
        Ok(())
    }

    /// Puts a setting where it belongs: some knobs are options under another name.
    fn take(&mut self, setting: Setting) -> Result<(), OptionError> {
        let knob = setting.knob;
        let in_knob = |error| KnobError::BadName { knob, error };
        match (knob, &setting.value) {
            (Knob::NamedPhases | Knob::NamedPhasesFlag, Value::Text(list)) => {
                self.named_phases.extend(Selection::parse(list).map_err(in_knob)?);
            }
            (Knob::DisablePhases, Value::Text(list)) => {
                let disabled = Selection::parse(list).map_err(in_knob)?;
                let is_required = |row: &&PhaseRow| row.phase().is_some_and(|phase| phase.required);
                if let Some(row) = disabled.phases().filter_map(table::row).find(is_required) {
                    return Err(OptionError::Required { phase: row.name });
                }
                self.disabled_phases.extend(disabled);
            }
            (Knob::DumpIr, Value::Text(list)) => {
                self.dump_after.extend(Selection::parse(list).map_err(in_knob)?);
            }
            (Knob::DumpCfg, Value::Text(list)) => {
                self.dump_cfg_after.extend(Selection::parse(list).map_err(in_knob)?);
            }
            (Knob::DumpRpo, Value::Text(list)) => {
                self.dump_rpo_after.extend(Selection::parse(list).map_err(in_knob)?);
            }
            (Knob::Sh, Value::Text(text)) => {
                self.fingerprint_filter = Some(names::parse_fingerprint(text).map_err(in_knob)?);
            }
            (Knob::OptLevelFlag, Value::Int(number)) => {
                let level = OptLevel::from_number(*number);
                self.level = level.ok_or_else(|| UnknownLevel { text: number.to_string() })?;
            }
            (Knob::StructurizeCfg, Value::Text(text)) => {
                match STRUCTURIZE_MODES.iter().position(|mode| mode.eq_ignore_ascii_case(text)) {
                    Some(0) => {}
                    Some(_) => {
                        self.knobs.set(Setting { knob: Knob::SkipUniformRegions, value: Value::Bool(true) });
                    }
                    None => {
                        let (value, expected) = (text.clone(), &STRUCTURIZE_MODES);
                        return Err(KnobError::NotOneOf { knob, value, expected }.into());
                    }
                }
                self.knobs.set(setting);
            }
            (Knob::DontMergeBasicBlocks, Value::Bool(value)) => self.dont_merge_blocks = *value,
            _ => self.knobs.set(setting),
        }
        Ok(())
    }

    /// Takes one limit as users write it: `time=MILLISECONDS`, `memory=BYTES` or `growth=PERCENT`.
    pub fn set_limit(&mut self, text: &str) -> Result<(), OptionError> {
        let wrong = || OptionError::Limit { text: text.to_owned() };
        let (name, value) = text.split_once('=').ok_or_else(wrong)?;
        let value: u64 = value.trim().parse().map_err(|_| wrong())?;
        match name.trim().to_ascii_lowercase().as_str() {
            "time" => self.limits.function_time_ms = value,
            "memory" => self.limits.memory = value,
            "growth" => self.limits.growth = u32::try_from(value).map_err(|_| wrong())?,
            _ => return Err(wrong()),
        }
        Ok(())
    }

    /// What becomes of a phase.
    pub fn verdict(&self, row: &PhaseRow) -> Verdict {
        let phase = match row.does {
            Does::Runs(phase) => phase,
            Does::Nothing(reason) => return Verdict::DoesNothing(reason),
        };
        let is_single_entry = row.is(&simplify_loops::PHASE);
        let is_in = |selection: &Selection| {
            selection.contains(row.number)
                || (is_single_entry && selection.contains_part(Part::LoopMakeSingleEntry))
        };
        let has_copies =
            row.is(&general_optimize::PHASE) && self.named_phases.contains_part(Part::OriCopyProp);
        // The named ones rely on what is required.
        let is_named = self.named_phases.is_empty()
            || is_in(&self.named_phases)
            || has_copies
            || phase.required
            || table::PASSES.iter().any(|pass| pass.number == row.number);
        if !row.runs_at(self.level) {
            Verdict::NotAtLevel
        } else if let Some(gate) = self.closed_pass(row) {
            Verdict::GateClosed(gate)
        } else if let Some(veto) =
            self.knob_of(|acts| matches!(acts, Acts::Vetoes(phase) if row.is(phase)), true)
        {
            Verdict::Vetoed(veto)
        } else if is_in(&self.disabled_phases) && !phase.required
            || self.no_unroll && row.is(&unroll_loops::PHASE)
        {
            Verdict::Disabled
        } else if let Some(gate) =
            self.knob_of(|acts| matches!(acts, Acts::Opens(phase) if row.is(phase)), false)
        {
            Verdict::GateClosed(gate)
        } else if !is_named {
            Verdict::NotNamed
        } else {
            Verdict::Runs
        }
    }

    /// The knob that asks for a pass outside the pipeline, where neither that nor its name does.
    fn closed_pass(&self, row: &PhaseRow) -> Option<Knob> {
        let (knob, is_on) = if row.is(&structurize::PHASE) {
            (Knob::StructurizeCfg, self.knobs.is_set(Knob::StructurizeCfg))
        } else if row.is(&irreducible::PHASE) {
            (Knob::FixIrreducible, self.knobs.is_on(Knob::FixIrreducible))
        } else {
            return None;
        };
        (!is_on && !self.named_phases.contains(row.number)).then_some(knob)
    }

    /// What of the GeneralOptimize bundles runs. Copy propagation has a name of its own: named alone, it runs without the
    /// rules, and the rules run where it alone is disabled.
    pub(crate) fn bundles(&self) -> general_optimize::Settings {
        let bundle = |row: &&PhaseRow| row.is(&general_optimize::PHASE);
        let is_bundle_named =
            table::PHASES.iter().filter(bundle).any(|row| self.named_phases.contains(row.number));
        general_optimize::Settings {
            copies: !self.disabled_phases.contains_part(Part::OriCopyProp),
            rules: is_bundle_named || !self.named_phases.contains_part(Part::OriCopyProp),
            ..general_optimize::Settings::default()
        }
    }

    /// The first knob that acts so and is on or off, as asked.
    fn knob_of(&self, acts: impl Fn(Acts) -> bool, on: bool) -> Option<Knob> {
        let is_on = |knob| match knob {
            Knob::DontMergeBasicBlocks => self.dont_merge_blocks,
            _ => self.knobs.is_on(knob),
        };
        let mut rows = KNOBS.iter().filter(|row| acts(row.acts));
        rows.find(|row| is_on(row.knob) == on).map(|row| row.knob)
    }

    /// Whether anything is to be dumped.
    pub fn dumps(&self) -> bool {
        let flags = [Knob::OptionFlag20, Knob::OptionFlag24];
        let lists = [&self.dump_after, &self.dump_cfg_after, &self.dump_rpo_after];
        flags.into_iter().any(|flag| self.knobs.is_on(flag)) || lists.iter().any(|list| !list.is_empty())
    }

    /// Whether a phase runs.
    pub fn runs(&self, phase: PhaseNumber) -> bool {
        table::row(phase).is_some_and(|row| self.verdict(row) == Verdict::Runs)
    }

    /// What the caller asked for and does not get in this release, a sentence each: nothing is ignored in
    /// silence.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for (knob, _) in self.knobs.settings() {
            note_knob(knob, &mut notes);
        }
        for phase in self.named_phases.phases().chain(self.dump_after.phases()) {
            note_phase(phase, &mut notes);
        }
        for maker in table::PHASES.iter().filter(|row| row.is(&build_ssa::PHASE) && !self.runs(row.number)) {
            let named = self.named_phases.phases().filter(|phase| self.runs(*phase)).filter_map(table::row);
            for row in named.filter(|row| row.phase().is_some_and(|phase| phase.in_ssa)) {
                notes.push(format!(
                    "phase {} `{}` does nothing outside SSA form: name `{}`, too",
                    row.number, row.name, maker.name
                ));
            }
        }
        // A phase that is named twice, or named and dumped, is spoken of once.
        let mut said = BTreeSet::new();
        notes.retain(|note| said.insert(note.clone()));
        notes
    }

    /// A number that changes with every option that can change the output. Stable across machines and
    /// releases of the compiler that built this; not across versions of this program.
    pub fn fingerprint(&self) -> u64 {
        fnv1a(self.canonical().as_bytes())
    }

    /// The options that can change the output, as text: the same text for the same options.
    fn canonical(&self) -> String {
        // Taking the fields apart makes a field that is added and forgotten here an error.
        let Options {
            level,
            knobs,
            threads: _,
            verify,
            bisect,
            force_debug,
            faithful,
            dont_merge_blocks,
            no_unroll,
            named_phases,
            disabled_phases,
            dump_after: _,
            dump_cfg_after: _,
            dump_rpo_after: _,
            fingerprint_filter,
            limits: Limits { function_time_ms, memory, growth },
            keep_grown,
            remarks: _,
        } = self;
        let mut text = format!(
            "{level};verify={verify:?};bisect={bisect:?};debug={force_debug};faithful={faithful};\
             merge={dont_merge_blocks};unroll={no_unroll};\
             named={named_phases};disabled={disabled_phases};filter={fingerprint_filter:?};\
             limits={function_time_ms},{memory},{growth};grown={keep_grown}"
        );
        for (knob, value) in knobs.settings() {
            // A knob that is set to its default changes nothing, and neither does one that dumps.
            let dumps = matches!(knob, Knob::OptionFlag20 | Knob::OptionFlag24);
            if !dumps && knob.row().default.value().as_ref() != Some(value) {
                let _ = write!(text, ";{}={value}", knob.row().name);
            }
        }
        text
    }
}

fn note_knob(knob: Knob, notes: &mut Vec<String>) {
    if let Acts::No(reason) = knob.row().acts {
        notes.push(format!("knob `{}` changes nothing: {reason}", knob.row().name));
    }
}

fn note_phase(phase: PhaseNumber, notes: &mut Vec<String>) {
    if let Some(PhaseRow { name, does: Does::Nothing(reason), .. }) = table::row(phase) {
        notes.push(format!("phase {phase} `{name}` does nothing: {reason}"));
    }
}

/// The 64-bit FNV-1a hash: short, and the same everywhere, which the standard hasher does not promise.
fn fnv1a(bytes: &[u8]) -> u64 {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    bytes.iter().fold(OFFSET_BASIS, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn with(change: impl FnOnce(&mut Options)) -> Options {
        let mut options = Options::default();
        change(&mut options);
        options
    }

    fn with_knob(text: &str) -> Options {
        with(|options| options.set_knob(text).unwrap())
    }

    fn verdict(options: &Options, phase: u8) -> Verdict {
        options.verdict(table::row(PhaseNumber(phase)).unwrap())
    }

    #[test]
    fn hash_is_the_published_one() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn fingerprint_changes_with_each_option_that_can_change_the_output() {
        let changed = [
            Options::default(),
            with(|options| options.level = OptLevel::O0),
            with(|options| options.level = OptLevel::O1),
            with(|options| options.level = OptLevel::O3),
            with(|options| options.verify = VerifyLevel::Fast),
            with(|options| options.verify = VerifyLevel::Full),
            with(|options| options.bisect = Some(0)),
            with(|options| options.bisect = Some(1)),
            with(|options| options.force_debug = true),
            with(|options| options.faithful = true),
            with(|options| options.dont_merge_blocks = true),
            with(|options| options.no_unroll = true),
            with(|options| options.named_phases = Selection::parse("GvnCse").unwrap()),
            with(|options| options.named_phases = Selection::parse("OriCopyProp").unwrap()),
            with(|options| options.disabled_phases = Selection::parse("GvnCse").unwrap()),
            with(|options| options.fingerprint_filter = Some(0)),
            with(|options| options.limits.function_time_ms = 1),
            with(|options| options.limits.memory = 1),
            with(|options| options.limits.growth = 101),
            with(|options| options.keep_grown = true),
            with_knob("464=1"),
            with_knob("464=2"),
            with_knob("474=0.5"),
            with_knob("Knob210"),
        ];
        let fingerprints: BTreeSet<_> = changed.iter().map(Options::fingerprint).collect();
        assert_eq!(fingerprints.len(), changed.len());
    }

    #[test]
    fn fingerprint_stays_where_the_output_does() {
        let default = Options::default().fingerprint();
        assert_eq!(with(|options| options.threads = 7).fingerprint(), default);
        assert_eq!(with(|options| options.remarks = true).fingerprint(), default);
        assert_eq!(with_knob("DUMPIR=GvnCse").fingerprint(), default);
        for dumping in ["DumpCFG=GvnCse", "DumpRPO=3", "OptionFlag20", "OptionFlag24"] {
            assert_eq!(with_knob(dumping).fingerprint(), default, "{dumping}");
            assert!(with_knob(dumping).dumps() && with_knob(dumping).notes().is_empty(), "{dumping}");
        }
        assert_eq!(with_knob("474=0.25").fingerprint(), default, "the default, spelled out");
        assert_eq!(with_knob("NamedPhases=49+3").fingerprint(), with_knob("298=3+49").fingerprint());
    }

    #[test]
    fn fingerprint_is_the_same_everywhere() {
        assert_eq!(Options::default().fingerprint(), 0x82e6_3a23_8a5f_0830);
    }

    #[test]
    fn knobs_that_are_options_set_them() {
        let mut options = Options::default();
        for setting in ["opt-level=1", "--opt-level=1"] {
            let is_right = options.set_knob(setting).is_ok();
            assert_eq!(is_right, setting.starts_with("--"));
        }
        options.set_knob("--DONT-merge-basicblocks").unwrap();
        options.set_knob("sh=0xff").unwrap();
        options.set_knob("dumpir=oriperformlivedeadfirst").unwrap();
        options.set_knob("DisablePhases=10").unwrap();
        options.set_knob("DisablePhases=16").unwrap();
        assert_eq!(
            options.set_knob("DisablePhases=6"),
            Err(OptionError::Required { phase: "SetControlFlowOpLastInBB" })
        );
        assert_eq!(options.level, OptLevel::O1);
        assert!(options.dont_merge_blocks);
        assert_eq!(options.fingerprint_filter, Some(255));
        assert!(options.dump_after.contains(PhaseNumber(16)));
        assert_eq!(options.disabled_phases.to_string(), "10+16");
        assert_eq!(options.knobs.settings().count(), 0);
    }

    #[test]
    fn wrong_names_in_knobs_say_which_knob() {
        let error = Options::default().set_knob("DUMPIR=GvnCes").unwrap_err();
        assert_eq!(
            error.to_string(),
            "in `DUMPIR`: no phase is called `GvnCes`; the nearest name is `GvnCse`"
        );
        let error = Options::default().set_knob("SH=xyz").unwrap_err();
        assert!(error.to_string().starts_with("in `SH`: `xyz` is no code fingerprint"), "{error}");
        let error = Options::default().set_knob("--opt-level=9").unwrap_err();
        assert_eq!(error, OptionError::Level(UnknownLevel { text: "9".to_owned() }));
    }

    #[test]
    fn limits_are_set_by_name() {
        let mut options = Options::default();
        options.set_limit("TIME=5").unwrap();
        options.set_limit("memory=1024").unwrap();
        options.set_limit("growth = 110").unwrap();
        assert_eq!(options.limits, Limits { function_time_ms: 5, memory: 1024, growth: 110 });
        for wrong in ["time", "time=", "time=x", "speed=1", "growth=4294967296"] {
            let error = OptionError::Limit { text: wrong.to_owned() };
            assert_eq!(options.set_limit(wrong), Err(error));
        }
    }

    #[test]
    fn verdicts() {
        let default = Options::default();
        assert_eq!(verdict(&default, 16), Verdict::Runs);
        assert_eq!(verdict(&default, 49), Verdict::Runs);
        assert_eq!(verdict(&default, 24), Verdict::DoesNothing(table::NOT_YET));
        assert_eq!(verdict(&default, 22), Verdict::Runs);
        assert_eq!(verdict(&Options { no_unroll: true, ..Options::default() }, 22), Verdict::Disabled);
        let lowest = with(|options| options.level = OptLevel::O0);
        assert_eq!(verdict(&lowest, 16), Verdict::NotAtLevel);
        assert_eq!(verdict(&lowest, 3), Verdict::NotAtLevel);
        assert_eq!(verdict(&with_knob("235"), 3), Verdict::Vetoed(Knob::Knob235));
        assert_eq!(verdict(&with_knob("DisablePhases=OriPerformLiveDead"), 61), Verdict::Disabled);
        let gate = Verdict::GateClosed(Knob::LoopMakeSingleEntry);
        assert_eq!(verdict(&default, 18), gate);
        let mut open = with_knob("487");
        assert_eq!(verdict(&open, 18), Verdict::Runs);
        open.set_knob("DisablePhases=LoopMakeSingleEntry").unwrap();
        assert_eq!(verdict(&open, 18), Verdict::Disabled);
        assert_eq!(verdict(&default, 15), Verdict::Runs);
        let unmerged = with_knob("--dont-merge-basicblocks");
        assert_eq!(verdict(&unmerged, 15), Verdict::Vetoed(Knob::DontMergeBasicBlocks));
        assert!(unmerged.notes().is_empty());
        let named = with_knob("NamedPhases=33");
        assert_eq!(verdict(&named, 33), Verdict::Runs);
        assert_eq!(verdict(&named, 16), Verdict::NotNamed);
        assert_eq!(verdict(&named, 3), Verdict::Runs, "named phases rely on it");
        assert!(named.runs(PhaseNumber(33)) && !named.runs(PhaseNumber(16)));
    }

    #[test]
    fn copy_propagation_is_named_alone_or_left_out_alone() {
        let both = general_optimize::Settings::default();
        assert_eq!(Options::default().bundles(), both);
        let alone = with_knob("NamedPhases=OriCopyProp");
        assert_eq!(alone.bundles(), general_optimize::Settings { rules: false, ..both });
        assert!(alone.runs(PhaseNumber(29)) && alone.runs(PhaseNumber(37)) && !alone.runs(PhaseNumber(33)));
        assert_eq!(with_knob("NamedPhases=OriCopyProp+37").bundles(), both);
        let without = with_knob("DisablePhases=OriCopyProp");
        assert_eq!(without.bundles(), general_optimize::Settings { copies: false, ..both });
        assert!(without.runs(PhaseNumber(29)));
    }

    #[test]
    fn what_changes_nothing_is_said() {
        assert!(Options::default().notes().is_empty());
        assert!(with_knob("235").notes().is_empty());
        assert_eq!(with_knob("487").notes().len(), 1);
        let mut options = with_knob("NamedPhases=OriPipelining+OriCopyProp");
        options.set_knob("DUMPIR=OriStrengthReduce+OriPipelining").unwrap();
        let notes = options.notes();
        assert_eq!(
            notes,
            [
                "phase 24 `OriPipelining` does nothing: no system for it in this release",
                "phase 21 `OriStrengthReduce` does nothing: no system for it in this release",
            ]
        );
    }
}
