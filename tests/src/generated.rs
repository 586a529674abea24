//! Generated kernels before the judge: each as the pipeline leaves it, after every phase that changes it.

use ptxopt::Options;
use ptxopt::check::phases::{PhaseCheck, check};
use ptxopt::check::{CheckOptions, Reference, Verdict};
use ptxopt_emulator::{Argument, Launch};
use ptxopt_generate::launch::Argument as GeneratedArgument;
use ptxopt_generate::{Kernel, kernel, options::Options as GeneratorOptions, shrink};

/// Thread-instructions of one kernel. The generator's kernels take a hundredth.
const STEPS_MAX: u64 = 20_000_000;

/// The kernel of `seed`, with options that vary with it.
#[must_use]
pub fn generated(seed: u64) -> Kernel {
    kernel(seed, &GeneratorOptions::for_seed(seed))
}

/// The launch of a generated kernel, as the emulator takes it.
#[must_use]
pub fn launch_of(kernel: &Kernel) -> Launch {
    let launch = kernel.launch();
    let argument = |argument: &GeneratedArgument| match argument {
        GeneratedArgument::Buffer(bytes) => Argument::Buffer(bytes.clone()),
        GeneratedArgument::Scalar(value) => Argument::Scalar(value.to_le_bytes().into()),
    };
    Launch {
        entry: launch.entry.clone(),
        grid: launch.grid,
        block: launch.block,
        shared_bytes: launch.shared_bytes.into(),
        args: launch.arguments.iter().map(argument).collect(),
    }
}

/// What a generated kernel does.
///
/// # Errors
/// Text that the emulator does not load, or a kernel that judges nothing: both are mistakes of the generator.
pub fn reference_of(kernel: &Kernel) -> Result<Reference, String> {
    let how = CheckOptions { seeds: 1, steps_max: STEPS_MAX, races: false };
    let reference = Reference::of_launch(kernel.text().as_bytes(), launch_of(kernel), how)
        .map_err(|error| error.to_string())?;
    if reference.judged_count() == 0 {
        return Err(format!("the kernel judges nothing: {}", reference.reason()));
    }
    Ok(reference)
}

/// What the judge says of `kernel` after each phase, in one line where something is wrong.
///
/// # Errors
/// The kernel, the optimizer or the judge fails.
pub fn judge(kernel: &Kernel, options: &Options) -> Result<Option<String>, String> {
    let reference = reference_of(kernel)?;
    let PhaseCheck { kernels, guilty, .. } =
        check(kernel.text().as_bytes(), &reference, options).map_err(|error| format!("{error:#}"))?;
    let different = kernels.into_iter().find_map(|kernel| match kernel.verdict {
        Verdict::Different(text) => Some(text),
        _ => None,
    });
    Ok(different.map(|text| match guilty {
        Some(guilty) => {
            format!("{text}; after phase {} {}, change {}", guilty.number, guilty.name, guilty.change)
        }
        None => text,
    }))
}

/// The smallest kernel that is found to be judged as badly as `kernel`.
#[must_use]
pub fn shrunk(kernel: &Kernel, options: &Options) -> Kernel {
    let is_bad = |candidate: &Kernel| !matches!(judge(candidate, options), Ok(None));
    shrink(kernel, &mut |candidate| is_bad(candidate))
}
