//! The tests of the facade and of the command, as one program.

mod command;
mod knobs;
mod library;
mod phases_page;
mod unknown_words;
