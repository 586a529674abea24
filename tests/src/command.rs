//! The `ptxopt` command, built with the tests so that they can run it.

use std::process::ExitCode;

fn main() -> ExitCode {
    ptxopt::command::main(std::env::args_os())
}
