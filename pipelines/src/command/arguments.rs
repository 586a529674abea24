//! The command line: what may be written on it, and the options that it means.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::level::OptLevel;
use crate::names::Selection;
use crate::options::{OptionError, Options, VerifyLevel};

/// Long options that users of the assembler write with one dash, and what they stand for.
const ALIASES: [(&str, &str); 1] = [("-no-bb-merge", "--dont-merge-basicblocks")];

/// Replaces the one-dash aliases, which a parser of short options would take apart. What follows `--` is no
/// option.
pub fn long_forms(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    let options = arguments.iter_mut().skip(1).take_while(|argument| *argument != "--");
    for argument in options {
        if let Some((_, long)) = ALIASES.iter().find(|(alias, _)| *argument == *alias) {
            *argument = OsString::from(long);
        }
    }
    arguments
}

/// An open optimizer for PTX, the assembly language of NVIDIA GPUs
#[derive(Debug, Parser)]
#[command(name = "ptxopt", disable_version_flag = true)]
pub struct Arguments {
    /// Print the version; with any option, its fingerprint too: together they are a cache key
    #[arg(short = 'V', long)]
    pub version: bool,

    /// The flags.
    #[command(flatten)]
    pub flags: Flags,

    /// The subcommand.
    #[command(subcommand)]
    pub action: Option<Action>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Optimize one module
    Opt(OptArguments),
    /// Optimize files and folders into a folder of the same shape
    Batch(BatchArguments),
    /// Run a kernel on the emulator, as it is or optimized
    ///
    /// Without `-O` the module runs as it is, and options of the optimizer are refused. With `-O`, at any level, it is
    /// optimized first.
    ///
    /// Exit status: 0, the kernel has ended; 1, the module is no PTX, or the kernel trapped, which `trap` of the output
    /// says; 3, the launch is wrong or does not fit the kernel, and there is no output.
    Run(RunArguments),
    /// Run every kernel before and after, on the same inputs, and compare what they leave
    ///
    /// With `-v`, kernels that are set aside are named with the reason, and of the others what they issue before and after:
    /// warp instructions, and active lanes of each in the mean.
    Check(CheckArguments),
    /// Print what is known of a module's functions: flow graph, ranks, dominators, loops, liveness
    Analyze(AnalyzeArguments),
    /// Draw where the time goes, optimizing modules over and over
    Profile(ProfileArguments),
    /// List the phases, with what runs at the given level and options
    Phases,
    /// List the knobs, with their values and what acts in this release
    Knobs,
}

/// One module.
#[derive(Debug, Args)]
pub struct OptArguments {
    /// The PTX file to read; `-` is standard input
    pub input: PathBuf,

    /// The PTX file to write; `-` is standard output
    #[arg(short, long)]
    pub output: PathBuf,

    /// Write remarks here, one JSON object a change that was made or missed, or a finding; `-` is standard output
    #[arg(long, value_name = "FILE.jsonl")]
    pub remarks: Option<PathBuf>,
}

/// Many modules.
#[derive(Debug, Args)]
pub struct BatchArguments {
    /// PTX files, and folders whose `.ptx` files are taken
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,

    /// The folder to write into
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,

    /// Write a report here, one JSON object a module
    #[arg(long, value_name = "FILE.jsonl")]
    pub report: Option<PathBuf>,

    /// Write remarks here, one JSON object a change that was made or missed, or a finding
    #[arg(long, value_name = "FILE.jsonl")]
    pub remarks: Option<PathBuf>,
}

/// One launch of one kernel.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// The PTX file to read; `-` is standard input. Runs as it is, unless a level (`-O2`) is given
    pub input: PathBuf,

    /// Thread-instructions after which the kernel is stopped, which is a trap
    #[arg(long, value_name = "N", default_value_t = 1_000_000_000, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub steps: u64,

    /// Count the warp instructions that are issued and their active lanes; `count` of the output says them
    #[arg(long)]
    pub count: bool,

    /// The launch, as JSON
    #[arg(long, value_name = "LAUNCH.json")]
    pub launch: PathBuf,

    /// Where the buffers and the trap go, as JSON; `-` is standard output
    #[arg(long, value_name = "OUT.json")]
    pub output: PathBuf,
}

/// What to compare, and how.
#[derive(Debug, Args)]
pub struct CheckArguments {
    /// PTX files, and folders whose `.ptx` files are taken
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,

    /// Compare with this module; otherwise with what the optimizer makes at the given level
    #[arg(long, value_name = "B.ptx", conflicts_with = "each_phase")]
    pub against: Option<PathBuf>,

    /// Compare after each phase that changes something; name the first phase and change that differ
    #[arg(long)]
    pub each_phase: bool,

    /// Inputs to try for each kernel
    #[arg(long, value_name = "N", default_value_t = 2, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub seeds: u64,

    /// Thread-instructions of one launch, after which it is set aside
    #[arg(long, value_name = "N", default_value_t = 50_000_000, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub steps: u64,
}

/// What to print of a module.
#[derive(Debug, Args)]
pub struct AnalyzeArguments {
    /// The PTX file to read; `-` is standard input
    pub input: PathBuf,

    /// Only the functions of this name
    #[arg(long, value_name = "NAME")]
    pub function: Option<String>,

    /// What to print of each function, in this order; the table of registers is one of the module and comes first
    #[arg(long, required = true, value_name = "WHAT", value_delimiter = ',', ignore_case = true)]
    pub print: Vec<Print>,

    /// Most registers of a thread, for `registers`: what the assembler will be told
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub maxrregcount: Option<u32>,
}

/// What to profile, and where the drawing goes.
#[derive(Debug, Args)]
pub struct ProfileArguments {
    /// PTX files, and folders whose `.ptx` files are taken
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,

    /// Where the flame graph goes
    #[arg(long, value_name = "OUT.svg")]
    pub flamegraph: PathBuf,

    /// How long to go on, at least; each module is optimized once in any case
    #[arg(long, value_name = "N", default_value_t = 10, allow_negative_numbers = true)]
    pub seconds: u64,

    /// How many files and functions to list
    #[arg(long, value_name = "N", default_value_t = 20, allow_negative_numbers = true)]
    pub top: usize,
}

/// Something that can be printed of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Print {
    /// The edges of the flow graph
    Cfg,
    /// Reverse postorder and back edges
    Rpo,
    /// The dominator tree
    Dominators,
    /// The loop nest, and irreducible regions
    Loops,
    /// The registers that are live at both ends of each block
    Liveness,
    /// Register pressure at each instruction, its peaks, and spill costs
    Pressure,
    /// Kernels with the registers, spills and occupancy that the assembler will come to, as the module stands
    Registers,
    /// The registers and branches that are the same for all threads of a warp, and the blocks that some of them pass by
    Uniformity,
    /// The branches that threads of a warp take different ways, those that cost most first
    Divergence,
    /// The flow graph in Graphviz's DOT
    Dot,
    /// The code, each control-flow instruction the last of its block
    Ori,
}

/// Figures to print on standard error after the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stat {
    /// Time by stage
    Time,
    /// Memory at the peak
    Memory,
    /// Time and changes by phase
    PhaseWise,
}

/// What the verifier looks at between phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Verify {
    /// Nothing
    Off,
    /// What costs less than the phases
    Fast,
    /// Everything
    Full,
}

/// The options that every subcommand takes.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub struct Flags {
    /// Optimization level, 0 to 3; 4 and 5 are 3 [default: 2]
    #[arg(short = 'O', long, global = true, value_name = "N", overrides_with = "opt_level")]
    #[arg(allow_negative_numbers = true)]
    opt_level: Option<OptLevel>,

    /// Set a knob, by name or number; a bare name switches it on. May be repeated
    #[arg(long, global = true, value_name = "NAME=VALUE", allow_hyphen_values = true)]
    knob: Vec<String>,

    /// Run these phases only, beside checks, analyses and sweeps
    #[arg(long, global = true, value_name = "A+B")]
    named_phases: Vec<String>,

    /// Make the first N changes only, to find a guilty one
    #[arg(long, global = true, value_name = "N", overrides_with = "bisect", allow_negative_numbers = true)]
    bisect: Option<u64>,

    /// Verify between phases
    #[arg(long, global = true, value_name = "LEVEL", ignore_case = true, overrides_with = "verify")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "fast")]
    verify: Option<Verify>,

    /// Change what one function may cost: `time=MILLISECONDS`, `memory=BYTES`, `growth=PERCENT`
    #[arg(long, global = true, value_name = "NAME=VALUE")]
    limit: Vec<String>,

    /// Optimize modules with `.target ..., debug`, too
    #[arg(long, global = true, overrides_with = "force_debug")]
    force_debug: bool,

    /// Do on each target only what the sources do there
    #[arg(long, global = true, overrides_with = "faithful")]
    faithful: bool,

    /// Never merge consecutive blocks; also written `-no-bb-merge`
    #[arg(long = "dont-merge-basicblocks", global = true, overrides_with = "dont_merge_blocks")]
    dont_merge_blocks: bool,

    /// Unroll no loop, and ask the assembler for the same: less code, less time to assemble, perhaps slower kernels
    #[arg(long, global = true, overrides_with = "no_unroll")]
    no_unroll: bool,

    /// Let the ways of divergent branches meet in Flow blocks, where they do not
    #[arg(long, global = true, overrides_with = "structurize")]
    structurize: bool,

    /// Give cycles with several entries one, a dispatch block
    #[arg(long, global = true, overrides_with = "fix_irreducible")]
    fix_irreducible: bool,

    /// Worker threads; 0 is one a core
    #[arg(
        short = 'j',
        long,
        global = true,
        value_name = "N",
        default_value_t = 0,
        value_parser = clap::value_parser!(u16).range(0..=1024),
        allow_negative_numbers = true,
        overrides_with = "threads",
    )]
    threads: u16,

    /// Print figures on standard error at the end
    #[arg(long, global = true, value_name = "WHAT", value_delimiter = ',', ignore_case = true)]
    pub stat: Vec<Stat>,

    /// Print remarks on standard error
    #[arg(short, long, global = true, overrides_with = "verbose")]
    pub verbose: bool,
}

impl Action {
    /// Where remarks are to be written, beside standard error.
    pub fn remarks(&self) -> Option<&Path> {
        match self {
            Action::Opt(OptArguments { remarks, .. }) | Action::Batch(BatchArguments { remarks, .. }) => {
                remarks.as_deref()
            }
            _ => None,
        }
    }
}

impl Flags {
    /// Whether an optimization level is given.
    pub fn is_level_given(&self) -> bool {
        self.opt_level.is_some()
    }

    /// What is given and says something of an optimization only: the options as they are written.
    pub fn of_optimizer(&self) -> Vec<&'static str> {
        // Taking the fields apart makes a field that is added and forgotten here an error.
        let Flags {
            opt_level,
            knob,
            named_phases,
            bisect,
            verify,
            limit,
            force_debug,
            faithful,
            dont_merge_blocks,
            no_unroll,
            structurize,
            fix_irreducible,
            threads: _,
            stat,
            verbose,
        } = self;
        let given = [
            ("-O", opt_level.is_some()),
            ("--knob", !knob.is_empty()),
            ("--named-phases", !named_phases.is_empty()),
            ("--bisect", bisect.is_some()),
            ("--verify", verify.is_some()),
            ("--limit", !limit.is_empty()),
            ("--force-debug", *force_debug),
            ("--faithful", *faithful),
            ("--dont-merge-basicblocks", *dont_merge_blocks),
            ("--no-unroll", *no_unroll),
            ("--structurize", *structurize),
            ("--fix-irreducible", *fix_irreducible),
            ("--stat", !stat.is_empty()),
            ("--verbose", *verbose),
        ];
        given.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect()
    }

    /// Whether any flag is given.
    pub fn are_given(&self) -> bool {
        *self != Flags::default()
    }

    /// The options that the flags mean. A knob stands over the flag that says the same.
    pub fn options(&self) -> Result<Options, OptionError> {
        let mut options = Options {
            level: self.opt_level.unwrap_or_default(),
            threads: self.threads.into(),
            verify: self.verify.map_or(VerifyLevel::Off, Verify::level),
            bisect: self.bisect,
            force_debug: self.force_debug,
            faithful: self.faithful,
            dont_merge_blocks: self.dont_merge_blocks,
            no_unroll: self.no_unroll,
            remarks: self.verbose,
            ..Options::default()
        };
        for list in &self.named_phases {
            options.named_phases.extend(Selection::parse(list)?);
        }
        for limit in &self.limit {
            options.set_limit(limit)?;
        }
        for (is_given, knob) in
            [(self.structurize, "structurizecfg=on"), (self.fix_irreducible, "fix-irreducible")]
        {
            if is_given {
                options.set_knob(knob)?;
            }
        }
        for knob in &self.knob {
            options.set_knob(knob)?;
        }
        Ok(options)
    }
}

impl Verify {
    const fn level(self) -> VerifyLevel {
        match self {
            Verify::Off => VerifyLevel::Off,
            Verify::Fast => VerifyLevel::Fast,
            Verify::Full => VerifyLevel::Full,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parse(line: &str) -> Arguments {
        let words = line.split(' ').map(OsString::from);
        Arguments::try_parse_from(long_forms(words)).unwrap_or_else(|error| panic!("{error}"))
    }

    fn options(line: &str) -> Options {
        parse(line).flags.options().unwrap()
    }

    #[test]
    fn the_parser_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn one_dash_aliases_become_long_options() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(long_forms(words("p opt -no-bb-merge x")), words("p opt --dont-merge-basicblocks x"));
        assert_eq!(long_forms(words("p opt -- -no-bb-merge")), words("p opt -- -no-bb-merge"));
        assert_eq!(long_forms(words("-no-bb-merge opt")), words("-no-bb-merge opt"), "the program's name");
        assert!(options("p opt x -o y -no-bb-merge").dont_merge_blocks);
    }

    #[test]
    fn levels_are_written_as_on_the_assembler() {
        for (line, level) in [
            ("p opt x -o y", OptLevel::O2),
            ("p opt x -o y -O0", OptLevel::O0),
            ("p -O1 opt x -o y", OptLevel::O1),
            ("p opt -O 3 x -o y", OptLevel::O3),
            ("p opt x -o y --opt-level 5", OptLevel::O3),
            ("p opt x -o y --opt-level=4", OptLevel::O3),
            ("p opt x -o y -O3 --knob --opt-level=1", OptLevel::O1),
        ] {
            assert_eq!(options(line).level, level, "{line}");
        }
        assert!(Arguments::try_parse_from(["p", "phases", "-O6"]).is_err());
    }

    #[test]
    fn of_what_is_said_twice_the_last_stands() {
        for (line, level) in [
            ("p opt x -o y -O2 -O3", OptLevel::O3),
            ("p opt x -o y -O3 --opt-level=1", OptLevel::O1),
            ("p -O3 opt x -o y -O1", OptLevel::O1),
        ] {
            assert_eq!(options(line).level, level, "{line}");
        }
        let twice = options(
            "p opt x -o y -v -v -j 2 -j 3 --bisect 1 --bisect 2 --verify --verify=full --force-debug \
             --force-debug --faithful --faithful --dont-merge-basicblocks -no-bb-merge",
        );
        assert!(twice.remarks && twice.force_debug && twice.faithful && twice.dont_merge_blocks);
        assert_eq!((twice.threads, twice.bisect, twice.verify), (3, Some(2), VerifyLevel::Full));
        let lists =
            options("p opt x -o y --knob 235 --knob DisablePhases=NOP --named-phases 3 --named-phases 6");
        assert_eq!((lists.knobs.settings().count(), lists.named_phases.phases().count()), (1, 2));
    }

    #[test]
    fn verify_takes_its_level_after_an_equals_sign_only() {
        assert_eq!(options("p opt --verify x -o y").verify, VerifyLevel::Fast);
        assert_eq!(options("p opt --verify=FULL x -o y").verify, VerifyLevel::Full);
        assert_eq!(options("p opt --verify=off x -o y").verify, VerifyLevel::Off);
    }

    #[test]
    fn stat_is_a_list() {
        let stat = parse("p --stat=time,MEMORY,phase-wise opt x -o y").flags.stat;
        assert_eq!(stat, [Stat::Time, Stat::Memory, Stat::PhaseWise]);
    }

    #[test]
    fn every_flag_reaches_its_option() {
        let options = options(
            "p opt - -o - --bisect 7 --force-debug -j 3 -v --limit time=9 \
             --named-phases GvnCse+3 --named-phases 6 --knob 235 --knob DisablePhases=NOP",
        );
        assert_eq!(options.bisect, Some(7));
        assert!(options.force_debug && options.remarks);
        assert_eq!(options.threads, 3);
        assert_eq!(options.limits.function_time_ms, 9);
        assert_eq!(options.named_phases.to_string(), "3+6+49");
        assert_eq!(options.disabled_phases.to_string(), "158");
        assert_eq!(options.knobs.settings().count(), 1);
    }

    #[test]
    fn nothing_given_is_the_default() {
        assert_eq!(options("p phases"), Options::default());
        assert!(!parse("p phases").flags.are_given());
        assert!(parse("p --version -O2").flags.are_given());
    }

    #[test]
    fn wrong_names_are_errors() {
        let error = parse("p opt x -o y --named-phases GvnCes").flags.options().unwrap_err();
        assert!(error.to_string().contains("`GvnCse`"), "{error}");
    }
}
