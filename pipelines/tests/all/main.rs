//! The tests of the facade and of the command, as one program.

mod command;
mod frames;
mod knobs;
mod library;
mod pages;
mod unknown_words;
