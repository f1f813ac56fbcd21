//! The screens as a terminal would show them, in ratatui's test terminal.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod arbitrary;
mod machines;
mod screens;
