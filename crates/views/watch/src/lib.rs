//! The live view in the terminal. It draws snapshots; where they come from, a machine or a
//! recording, it does not know.
#![forbid(unsafe_code)]

mod actions;
mod answer_screen;
mod ascii;
mod columns;
mod detail_screen;
mod drawing;
mod figures;
mod help_screen;
mod input;
mod list_screen;
mod machine_screen;
mod meter;
mod moment;
mod node_table;
mod opened_tables;
mod palette;
mod plain;
mod process_table;
mod session_table;
mod subjects;
mod terminal;
mod titles;
mod tree;
mod view;
mod visible;

pub use input::{Input, Key, Mouse, Request};
pub use plain::plain_text;
pub use terminal::{Error, Screen, give_keys_back};
pub use view::{Options, Recorded, View};
