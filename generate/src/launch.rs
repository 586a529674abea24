//! How a generated kernel is launched.

use serde_json::{Value, json};

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A pointer to global memory that holds these bytes.
    Buffer(Vec<u8>),
    /// A number of type `u32`.
    Scalar(u32),
}

/// All that a kernel needs to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Name of the kernel.
    pub entry: String,
    /// CTAs in each dimension.
    pub grid: [u32; 3],
    /// Threads of a CTA in each dimension.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
    /// Arguments in the order of the parameters.
    pub arguments: Vec<Argument>,
}

impl Launch {
    /// The launch file that `ptxopt run --launch` reads.
    #[must_use]
    pub fn to_json(&self) -> String {
        let arguments: Vec<Value> = self.arguments.iter().map(argument_json).collect();
        json!({
            "entry": self.entry,
            "grid": self.grid,
            "block": self.block,
            "shared_bytes": self.shared_bytes,
            "args": arguments,
        })
        .to_string()
    }
}

fn argument_json(argument: &Argument) -> Value {
    match argument {
        Argument::Buffer(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({"buffer": {"bytes_hex": hex}})
        }
        Argument::Scalar(value) => json!({"scalar": {"type": "u32", "value": value}}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_file_holds_every_field() {
        let launch = Launch {
            entry: "k".to_owned(),
            grid: [2, 1, 1],
            block: [32, 1, 1],
            shared_bytes: 16,
            arguments: vec![Argument::Buffer(vec![0, 171]), Argument::Scalar(5)],
        };
        let value: Value = serde_json::from_str(&launch.to_json()).expect("it is JSON");
        let expected = json!({
            "entry": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "shared_bytes": 16,
            "args": [{"buffer": {"bytes_hex": "00ab"}}, {"scalar": {"type": "u32", "value": 5}}],
        });
        assert_eq!(value, expected);
    }
}
