//! Corpus kernels on the processor that runs the tests: compiled by clang, run as a program of their own.

use crate::say::{NO_CLANG, skipped};
use ptxopt_emulator::launch_lines::LaunchLine;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const CLANG: &str = "clang-22";

/// What the kernels are compiled with natively. `-w`: the sources are written for another target.
const NATIVE_FLAGS: &[&str] = &[
    "-std=gnu23",
    "-O2",
    "-w",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    // Halves are rounded after each operation, as on the GPU.
    "-Xclang",
    "-ffloat16-excess-precision=none",
];

/// What they are compiled to PTX with, beside the level.
const PTX_FLAGS: &[&str] = &[
    "--target=nvptx64-nvidia-cuda",
    "-march=sm_90",
    "-Xclang",
    "-target-feature",
    "-Xclang",
    "+ptx80",
    "-nogpulib",
    "-std=c23",
    "-ffreestanding",
    "-fconvergent-functions",
    "-ffp-contract=off",
    "-w",
    "-S",
    "-o",
    "-",
];

/// Kernels of the corpus whose results no two machines share, and why.
pub const ORDER_DEPENDENT: &[(&str, &str)] = &[
    ("bfs_queue", "the order of the queue is that of the threads"),
    ("hash_insert", "of two keys with one place, the first to come gets it"),
    ("union_edges", "which of several right forests comes out depends on the order of the threads"),
];

/// Exit status of a program whose kernel uses what has no native twin.
const NO_TWIN: i32 = 3;

/// The compiler, if it is installed.
#[must_use]
pub fn clang() -> Option<&'static str> {
    let version = Command::new(CLANG).arg("--version").output();
    version.is_ok_and(|output| output.status.success()).then_some(CLANG)
}

/// The compiler; without it, none and a line that says so.
#[must_use]
pub fn clang_or_skip() -> Option<&'static str> {
    let clang = clang();
    if clang.is_none() {
        skipped(NO_CLANG);
    }
    clang
}

/// One file of the corpus: its kernels and how to run them.
pub struct Source {
    /// Name without extension.
    pub name: String,
    path: PathBuf,
    kernels: Vec<Kernel>,
}

/// One kernel: how to run it, and the types of its parameters.
pub struct Kernel {
    /// How to run it.
    pub line: LaunchLine,
    parameters: Vec<String>,
}

impl Source {
    /// Reads the corpus file `path`.
    ///
    /// # Panics
    /// When it is not in the corpus's form: a launch line above each kernel.
    #[must_use]
    pub fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("the source can be read");
        let mut kernels = Vec::new();
        let mut line = None;
        for (at, row) in text.lines().enumerate() {
            if let Some(launch) = row.strip_prefix("// launch ") {
                line = Some(LaunchLine::parse(launch).expect("a launch line"));
            } else if row.starts_with("KERNEL ") {
                let rest: Vec<&str> = text.lines().skip(at).collect();
                let rest = rest.join(" ");
                let (_, list) = rest.split_once('(').expect("a kernel has parameters");
                let (list, _) = list.split_once(") {").expect("a kernel has a body");
                let parameters = list.split(',').map(type_of).collect();
                kernels.push(Kernel { line: line.take().expect("a launch line"), parameters });
            }
        }
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        Self { name, path: path.to_owned(), kernels }
    }

    /// The kernels, in textual order.
    #[must_use]
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// Compiles the file to PTX at `level` (`-O0`).
    ///
    /// # Errors
    /// What the compiler says.
    pub fn ptx(&self, clang: &str, level: &str) -> Result<Vec<u8>, String> {
        output(Command::new(clang).args(PTX_FLAGS).arg(level).arg(&self.path))
    }

    /// Compiles the file to a program in `folder`.
    ///
    /// # Errors
    /// What the compiler says.
    pub fn program(&self, clang: &str, folder: &Path) -> Result<PathBuf, String> {
        let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("native");
        let (calls, program) = (folder.join(format!("{}.c", self.name)), folder.join(&self.name));
        fs::write(&calls, self.calls()).map_err(|error| error.to_string())?;
        output(
            Command::new(clang)
                .args(NATIVE_FLAGS)
                .arg("-include")
                .arg(host.join("host.h"))
                .arg(&calls)
                .arg(host.join("host.c"))
                .args(["-lm", "-o"])
                .arg(&program),
        )?;
        Ok(program)
    }

    /// The C file that calls each kernel by its name.
    fn calls(&self) -> String {
        let mut text = format!("#include \"{}\"\n", self.path.display());
        text.push_str("int call_kernel(const char *name, void **arguments) {\n");
        for Kernel { line, parameters } in &self.kernels {
            let values = parameters.iter().enumerate().map(|(at, ty)| format!("*({ty} *)arguments[{at}]"));
            let values = values.collect::<Vec<_>>().join(", ");
            let name = &line.entry;
            let _ =
                writeln!(text, "    if (!__builtin_strcmp(name, \"{name}\")) return {name}({values}), 1;");
        }
        text.push_str("    return 0;\n}\n");
        text
    }
}

/// The type of a parameter `TYPE NAME`.
fn type_of(parameter: &str) -> String {
    let parameter = parameter.trim();
    let name = parameter.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(0, |at| at + 1);
    // A qualifier would make the copy that the call makes const; the pointer's own stays.
    parameter[..name].trim().to_owned()
}

impl Kernel {
    /// Runs the kernel in `program` with the arguments of `seed`; gives the buffers, in the order of the arguments,
    /// or none where the kernel uses what has no native twin.
    ///
    /// # Errors
    /// Why it did not end well.
    pub fn run(&self, program: &Path, seed: u64) -> Result<Option<Vec<Vec<u8>>>, String> {
        let line = &self.line;
        let extents = line.grid.iter().chain(&line.block).map(u32::to_string);
        let mut child = Command::new(program)
            .arg(&line.entry)
            .args(extents)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut input = child.stdin.take().expect("a pipe");
        let mut sizes = Vec::new();
        let mut send = || -> io::Result<()> {
            for (at, argument) in line.arguments.iter().enumerate() {
                let bytes = argument.bytes(seed, at);
                input.write_all(if argument.is_buffer { b"b" } else { b"v" })?;
                input.write_all(&(bytes.len() as u64).to_le_bytes())?;
                input.write_all(&bytes)?;
                if argument.is_buffer {
                    sizes.push(bytes.len());
                }
            }
            Ok(())
        };
        // A program that stops early closes the pipe; its status says why.
        let _ = send();
        drop(input);
        let result = child.wait_with_output().map_err(|error| error.to_string())?;
        if result.status.code() == Some(NO_TWIN) {
            return Ok(None);
        }
        if !result.status.success() {
            return Err(format!("the native program ends with {}", result.status));
        }
        let mut rest = &result.stdout[..];
        let mut buffers = Vec::new();
        for size in sizes {
            let (buffer, after) = rest.split_at_checked(size).ok_or("the native program wrote too little")?;
            buffers.push(buffer.to_vec());
            rest = after;
        }
        Ok(Some(buffers))
    }
}

fn output(command: &mut Command) -> Result<Vec<u8>, String> {
    let result = command.output().map_err(|error| error.to_string())?;
    if result.status.success() {
        Ok(result.stdout)
    } else {
        Err(String::from_utf8_lossy(&result.stderr).lines().take(3).collect::<Vec<_>>().join("\n"))
    }
}
