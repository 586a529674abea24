//! The `ptxopt` command. Everything is in the library: see [`ptxopt::command`].

use std::process::ExitCode;

fn main() -> ExitCode {
    ptxopt::command::main(std::env::args_os())
}
