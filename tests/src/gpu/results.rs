//! What the host wrote: `results`, line by line.

use std::fs;
use std::path::Path;
use std::str::FromStr;

/// What became of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// The bytes are those of the emulator.
    Equal,
    /// It ended in a trap, as it must.
    Trapped,
    /// Other bytes.
    Differs,
    /// What the bytes must be is not known.
    Unknown,
    /// The device is older than the code.
    Newer,
    /// The driver reports an error.
    Error,
    /// It was ended after its time.
    Hung,
    /// The process that ran it ended.
    Crashed,
    /// It wrote past a buffer.
    Stray,
    /// It ended well and must end in a trap.
    Untrapped,
}

impl How {
    /// All of them, with the host's words.
    pub const ALL: [(Self, &'static str); 10] = [
        (Self::Equal, "equal"),
        (Self::Trapped, "trapped"),
        (Self::Differs, "differs"),
        (Self::Unknown, "unknown"),
        (Self::Newer, "newer"),
        (Self::Error, "error"),
        (Self::Hung, "hung"),
        (Self::Crashed, "crashed"),
        (Self::Stray, "stray"),
        (Self::Untrapped, "untrapped"),
    ];
}

impl FromStr for How {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(_, word)| *word == text);
        found.map(|&(how, _)| how).ok_or_else(|| format!("`{text}` is no result"))
    }
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its number.
    pub number: usize,
    /// The launch.
    pub launch: usize,
    /// The module.
    pub code: usize,
    /// What became of it.
    pub how: How,
    /// `cubin`, `ptx`, `ptx-O0`, or `none` where nothing was loaded.
    pub loaded: String,
    /// What else the host says.
    pub words: Vec<String>,
}

/// All that the host wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// What follows `sm_`.
    pub arch: u32,
    /// Version of the driver: 1000 times the major number plus 10 times the minor.
    pub driver: u32,
    /// Name of the device.
    pub device: String,
    /// Day of the run.
    pub date: String,
    /// The runs.
    pub runs: Vec<Run>,
    /// Run and name of each variable that the driver did not find.
    pub missing: Vec<(usize, String)>,
    /// Whether the host came to its end.
    pub is_whole: bool,
}

impl Results {
    /// Reads the results in `folder`.
    ///
    /// # Errors
    /// A file that cannot be read, or a line that is not understood.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let path = folder.join("results");
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut results = Self::default();
        for (at, line) in text.lines().enumerate() {
            let taken = results.take_line(line);
            taken.ok_or_else(|| format!("{}, line {}: not understood", path.display(), at + 1))?;
        }
        Ok(results)
    }

    fn take_line(&mut self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words[..] {
            ["device", arch, driver, ..] => {
                self.arch = arch.parse().ok()?;
                self.driver = driver.parse().ok()?;
                self.device = words[3..].join(" ");
            }
            ["date", date] => date.clone_into(&mut self.date),
            ["missing", run, name] => self.missing.push((run.parse().ok()?, name.to_owned())),
            ["run", number, launch, code, how, loaded, ..] => self.runs.push(Run {
                number: number.parse().ok()?,
                launch: launch.parse().ok()?,
                code: code.parse().ok()?,
                how: how.parse().ok()?,
                loaded: loaded.to_owned(),
                words: words[6..].iter().map(|&word| word.to_owned()).collect(),
            }),
            ["end", runs] => self.is_whole = runs.parse() == Ok(self.runs.len()),
            _ => return None,
        }
        Some(())
    }
}
