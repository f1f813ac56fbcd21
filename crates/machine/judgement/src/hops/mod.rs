//! Judges measured latencies: which nodes measure alike, and where the firmware's distances
//! disagree. Pure; reads matrices that were measured elsewhere, as text.

mod asymmetry;
mod classes;
mod curve_levels;
mod distance_file;
mod figures;
mod findings;
mod firmware_table;
mod judge;
mod links;
mod local;
mod matrix_file;
mod matrix_json;
mod matrix_mlc;
mod matrix_table;
mod matrix_words;
mod pairs;
mod row_against_firmware;
mod scale;

pub use classes::{CLASS_SPREAD_SHARE, GAP_SHARE, hop_classes};
pub use curve_levels::curve_levels;
pub use distance_file::distances_of_file;
pub use findings::{FINDINGS, FindingFacts};
pub use judge::{judge, packages_by_node};
pub use links::links;
pub use matrix_file::matrix_of_file;
pub use matrix_words::MatrixFile;
